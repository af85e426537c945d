/* How tensors lie over the ranks: layouts, interned for the whole process so that a state never points at one that is
 * gone, and the arithmetic between the whole and a rank's part. Which layout a tensor gets is decided above (mesh.c).
 */
#include "lazy/core/layout.h"

#include "coll/coll.h"
#include "lazy/core/ctx.h"

static struct {
    pthread_mutex_t lock;
    lazy_layout *layouts;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic int64_t partitions = 1, pretended;

void lazy_set_partitions(int64_t devices) {
    atomic_store_explicit(&partitions, devices, memory_order_relaxed);
}
int64_t lazy_partitions(void) {
    return atomic_load_explicit(&partitions, memory_order_relaxed);
}
const lazy_layout *lazy_layout_of_state(const lazy_slot *param) {
    return param->of_state ? param->of_state : param->layout;
}
bool lazy_spmd(void) {
    return lazy_partitions() > 1;
}
void lazy_mesh_pretend(int64_t devices) {
    atomic_store(&pretended, devices);
}
int64_t lazy_pretended_devices(void) {
    return atomic_load(&pretended);
}

const lazy_layout *lazy_layout_intern(const ir_grid *g, const ir_sharding *s, uint32_t rank) {
    if (ir_sharding_is_none(s)) return NULL;
    lazy_layout l = {.grid = *g, .sharding = *s, .rank = rank};
    str text = STR_INIT;
    ir_sharding_print(g, s, rank, &text);
    l.text = intern(str_cstr(&text));
    str_free(&text);
    for (uint32_t d = 0; d < rank; d++) {
        int8_t axes[IR_SHARD_AXES];
        int n = ir_sharding_axes(s, (int)d, axes);
        l.parts[d] = 1;
        for (int i = 0; i < n; i++) {
            l.parts[d] *= g->size[axes[i]];
            l.index[d] = l.index[d] * g->size[axes[i]] + world_get()->rank / g->stride[axes[i]] % g->size[axes[i]];
        }
    }
    pthread_mutex_lock(&table.lock);
    lazy_layout *found = table.layouts;
    while (found && !(found->rank == rank && found->grid.devices == g->devices && found->text == l.text &&
                      memcmp(found->index, l.index, sizeof l.index) == 0))
        found = found->next;
    if (!found && (found = base_malloc(sizeof *found))) {
        *found = l;
        found->next = table.layouts;
        table.layouts = found;
    }
    pthread_mutex_unlock(&table.lock);
    return found;
}

const ir_type *lazy_layout_local(const lazy_layout *l, const ir_type *type) {
    int64_t dims[XT_MAX_RANK];
    if (!l) return type;
    for (uint32_t d = 0; d < type->rank; d++) dims[d] = (type->dims[d] + l->parts[d] - 1) / l->parts[d];
    return ir_tensor(type->dtype, type->rank, dims);
}

/* Copies the part at `index` between the whole and a dense array of its own. What fills a part up behind the end of a
 * dim becomes zero, and goes nowhere. */
static void copy_part(const lazy_layout *l, const int64_t *index, const ir_type *type, char *whole, char *part,
                      bool into_whole) {
    size_t elem = xt_dtype_size(type->dtype);
    uint32_t rank = type->rank;
    int64_t stride[XT_MAX_RANK], local[XT_MAX_RANK], there[XT_MAX_RANK], at[XT_MAX_RANK] = {0}, s = 1, rows = 1;
    for (uint32_t d = rank; d-- > 0; s *= type->dims[d]) stride[d] = s;
    for (uint32_t d = 0; d < rank; d++) {
        local[d] = (type->dims[d] + l->parts[d] - 1) / l->parts[d];
        there[d] = type->dims[d] - index[d] * local[d]; /* elements of the whole from the part's first on */
        if (d + 1 < rank) rows *= local[d];
    }
    int64_t last = there[rank - 1] < local[rank - 1] ? there[rank - 1] : local[rank - 1];
    size_t run = (size_t)local[rank - 1] * elem, full = last > 0 ? (size_t)last * elem : 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = index[rank - 1] * local[rank - 1];
        size_t n = full;
        for (uint32_t d = 0; d + 1 < rank; d++) {
            if (at[d] >= there[d]) n = 0;
            from += (index[d] * local[d] + at[d]) * stride[d];
        }
        char *row = part + (size_t)r * run;
        if (n && into_whole) memcpy(whole + (size_t)from * elem, row, n);
        if (n && !into_whole) memcpy(row, whole + (size_t)from * elem, n);
        if (!into_whole) memset(row + n, 0, run - n);
        for (uint32_t d = rank - 1; d-- > 0;) {
            if (++at[d] < local[d]) break;
            at[d] = 0;
        }
    }
}

void lazy_layout_slice(const lazy_layout *l, const ir_type *type, const void *whole, void *part) {
    if (type->count > 0) copy_part(l, l->index, type, (char *)(uintptr_t)whole, part, false);
}

int64_t lazy_layout_pack(const lazy_layout *l, const ir_type *type, void *part) {
    size_t elem = xt_dtype_size(type->dtype);
    int64_t local[XT_MAX_RANK], at[XT_MAX_RANK] = {0}, elements = 1, kept = 0;
    for (uint32_t d = 0; d < type->rank; d++) {
        local[d] = (type->dims[d] + l->parts[d] - 1) / l->parts[d];
        elements *= local[d];
    }
    for (int64_t i = 0; i < elements; i++) {
        bool there = true;
        for (uint32_t d = 0; d < type->rank; d++) there = there && l->index[d] * local[d] + at[d] < type->dims[d];
        if (there) memmove((char *)part + (size_t)kept++ * elem, (char *)part + (size_t)i * elem, elem);
        for (uint32_t d = type->rank; d-- > 0;) {
            if (++at[d] < local[d]) break;
            at[d] = 0;
        }
    }
    return kept;
}

/* The part that rank r has goes to its place. */
static void place_part(const lazy_layout *l, const ir_type *type, int r, const char *part, char *whole) {
    int64_t index[XT_MAX_RANK] = {0};
    for (uint32_t d = 0; d < type->rank; d++) {
        int8_t axes[IR_SHARD_AXES];
        int n = ir_sharding_axes(&l->sharding, (int)d, axes);
        for (int i = 0; i < n; i++)
            index[d] = index[d] * l->grid.size[axes[i]] + r / l->grid.stride[axes[i]] % l->grid.size[axes[i]];
    }
    copy_part(l, index, type, whole, (char *)(uintptr_t)part, true);
}

xt_status lazy_gather_parts(const lazy_layout *l, const ir_type *type, const void *part, void *whole) {
    coll_group *group;
    const ir_type *local = lazy_layout_local(l, type);
    size_t bytes = local ? ir_type_bytes(local) : 0, total;
    if (type->count == 0) return NULL;
    XT_TRY(coll_run_group(&group));
    if (!local || !size_mul(bytes, (size_t)coll_size(group), &total)) return status_oom(bytes, "the parts of a tensor");
    char *all = base_malloc(total);
    xt_status s = all ? coll_all_gather(group, part, bytes, all) : status_oom(total, "the parts of a tensor");
    for (int r = 0; r < coll_size(group) && !s; r++) place_part(l, type, r, all + (size_t)r * bytes, whole);
    base_free(all);
    return s;
}

xt_status lazy_gather_parts_to(int rank, const lazy_layout *l, const ir_type *type, const void *part, void *whole) {
    coll_group *group;
    const ir_type *local = lazy_layout_local(l, type);
    size_t bytes = local ? ir_type_bytes(local) : 0;
    if (type->count == 0) return NULL;
    XT_TRY(coll_run_group(&group));
    int me = coll_rank(group);
    char *one = local && me == rank ? base_malloc(bytes) : NULL;
    xt_status s = local && (one || me != rank) ? NULL : status_oom(bytes, "a part of a tensor");
    if (!s && me == rank) place_part(l, type, rank, part, whole);
    for (int r = 0; r < coll_size(group) && !s; r++) {
        if (r == rank) continue;
        s = coll_permute(group, me == r ? rank : -1, me == rank ? r : -1, part, bytes, one);
        if (!s && me == rank) place_part(l, type, r, one, whole);
    }
    base_free(one);
    return s;
}

const void *lazy_part_of(const lazy_slot *s) {
    return s->buf ? (const void *)s->buf : s->has_host && s->host_part ? s->host : NULL;
}

lazy_whole *lazy_whole_of(const lazy_slot *s) {
    return s->whole && s->whole_of == lazy_part_of(s) ? s->whole : NULL;
}

void lazy_whole_release(lazy_whole *w) {
    if (w && --w->refs == 0) base_free(w);
}
