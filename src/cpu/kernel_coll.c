/* Collectives. The whole run reduced by a known op goes straight to coll_all_reduce; everything else (sub-groups, scatter, permute) is made
 * from one exchange in which every rank sees the others' tensors, then computed locally in rank order, so all ranks get the same bits. */
#include "cpu/kernel_coll.h"
#include "ir/interp_collective.h"

static int rank_of(const cpu_device *d) {
    return d->group ? coll_rank(d->group) : 0;
}
static int size_of(const cpu_device *d) {
    return d->group ? coll_size(d->group) : 1;
}

/* Devices are numbered partition by partition, the replicas of one side by side; the specification counts processes replica by replica. */
static int64_t process_of(const cpu_device *d, int rank) {
    return (int64_t)(rank % d->replicas) * d->partitions + rank / d->replicas;
}

/* The ranks of a partitioned program's group. */
static xt_status group_of_processes(const cpu_device *d, const ir_op *op, int *members, int *out_n, int *out_me) {
    process_grid g = {d->replicas, d->partitions};
    int size = size_of(d), self = rank_of(d);
    if (d->replicas * d->partitions != size)
        return status_new(XT_INVALID_ARGUMENT, NULL, "a program of %d replicas and %d partitions runs on a run of %d devices", d->replicas, d->partitions, size);
    int64_t *ids = base_malloc((size_t)size * sizeof *ids);
    size_t n = 0;
    xt_status s = ids ? collective_members(op, &g, process_of(d, self), ids, &n) : status_oom((size_t)size * sizeof *ids, "a collective");
    *out_n = (int)n;
    *out_me = -1;
    for (size_t i = 0; i < n && !s; i++) {
        members[i] = (int)(ids[i] % g.partitions * g.replicas + ids[i] / g.partitions);
        if (members[i] == self) *out_me = (int)i;
    }
    base_free(ids);
    return s;
}

/* The ranks of this rank's replica group, in order. `members` has room for `size` of them. */
static xt_status group_of(const ir_op *op, int rank, int size, int *members, int *out_n, int *out_me) {
    const ir_attr *a = ir_attr_find(op, IR_A_replica_groups);
    if (!a || a->n == 0) {
        for (int i = 0; i < size; i++) members[i] = i;
        *out_n = size;
        *out_me = rank;
        return NULL;
    }
    size_t width = a->rank2 ? a->rank2 : a->n;
    for (size_t g = 0; g + width <= a->n; g += width) {
        int n = 0, me = -1;
        for (size_t i = 0; i < width; i++) {
            int64_t id = a->v.ints[g + i];
            if (id < 0) continue;
            if (id >= size)
                return status_new(
                    XT_INVALID_ARGUMENT, NULL,
                    "stablehlo.%s names replica %lld, but the run has %d rank(s): compile the program for the number of ranks it runs on",
                    ir_op_infos[op->code].name, (long long)id, size);
            if (id == rank) me = n;
            members[n++] = (int)id;
        }
        if (me >= 0) {
            *out_n = n;
            *out_me = me;
            return NULL;
        }
    }
    *out_n = 0;
    *out_me = -1;
    return NULL;
}

static bool combine_of(const ir_op *op, coll_op *out) {
    if (op->n_regions < 1 || !op->regions[0].block) return false;
    const ir_block *b = op->regions[0].block;
    const ir_op *o = b->first;
    if (!o || o->n_in != 2 || !o->next || o->next->n_in != 1 || o->next->in[0] != &o->out[0] || b->n_args != 2) return false;
    if (!((o->in[0] == b->args[0] && o->in[1] == b->args[1]) || (o->in[0] == b->args[1] && o->in[1] == b->args[0]))) return false;
    switch ((int)o->code) {
    case OP_add: *out = COLL_SUM; return true;
    case OP_multiply: *out = COLL_PROD; return true;
    case OP_minimum: *out = COLL_MIN; return true;
    case OP_maximum: *out = COLL_MAX; return true;
    case OP_and: *out = COLL_AND; return true;
    case OP_or: *out = COLL_OR; return true;
    default: return false;
    }
}

static xt_status unsupported(const ir_op *op, const char *what) {
    return status_new(XT_UNIMPLEMENTED, NULL, "stablehlo.%s %s on the CPU device", ir_op_infos[op->code].name, what);
}

/* Every rank's `bytes` at src, side by side in rank order. base_free. */
static xt_status gather_all(const cpu_device *d, const void *src, size_t bytes, char **out) {
    size_t total;
    if (!size_mul(bytes, (size_t)size_of(d), &total)) return status_oom(SIZE_MAX, "a collective");
    char *all = base_aligned(CPU_ALIGN, total ? total : 1);
    if (!all) return status_oom(total, "a collective");
    xt_status s = NULL;
    if (!d->group || bytes == 0)
        memcpy(all, src, bytes);
    else
        s = coll_all_gather(d->group, src, bytes, all);
    if (s)
        base_free(all);
    else
        *out = all;
    return s;
}

/* dst = members[0] op members[1] op ..., n elements each, taken at `stride` bytes from one rank to the next. */
static xt_status fold_members(const ir_op *op, xt_dtype t, const char *all, size_t stride, const int *members, int n_members, int64_t n, void *dst) {
    coll_op c;
    if (!combine_of(op, &c)) return unsupported(op, "with a computation that is not one of add, multiply, minimum, maximum, and, or");
    const void **src = base_malloc((size_t)n_members * sizeof *src);
    if (!src) return status_oom((size_t)n_members * sizeof *src, "a collective");
    for (int m = 0; m < n_members; m++) src[m] = all + (size_t)members[m] * stride;
    xt_status s = coll_fold(c, t, dst, src, n_members, (size_t)n);
    base_free(src);
    return s;
}

/* Copies `part` of `parts` equal slabs along dim of `whole` to or from a dense array of the slab's shape. */
static void move_slab(const ir_type *whole, int64_t dim, int64_t part, int64_t parts, char *whole_data, char *slab, bool into_whole) {
    size_t elem = xt_dtype_size(whole->dtype);
    int64_t outer = 1, inner = 1;
    for (int64_t i = 0; i < dim; i++) outer *= whole->dims[i];
    for (uint32_t i = (uint32_t)dim + 1; i < whole->rank; i++) inner *= whole->dims[i];
    size_t run = (size_t)(whole->dims[dim] / parts * inner) * elem, row = (size_t)(whole->dims[dim] * inner) * elem;
    for (int64_t o = 0; o < outer; o++) {
        char *w = whole_data + (size_t)o * row + (size_t)part * run, *p = slab + (size_t)o * run;
        if (into_whole)
            memcpy(w, p, run);
        else
            memcpy(p, w, run);
    }
}

static xt_status all_reduce(const cpu_device *d, const ir_op *op, const int *members, int n, xt_dtype t, int64_t count, const void *in, void *out) {
    size_t bytes = (size_t)count * xt_dtype_size(t);
    coll_op c;
    if (n == size_of(d) && combine_of(op, &c)) {
        if (out != in && bytes) memcpy(out, in, bytes);
        return d->group && n > 1 ? coll_all_reduce(d->group, c, t, out, (size_t)count) : NULL;
    }
    char *all;
    XT_TRY(gather_all(d, in, bytes, &all));
    xt_status s = fold_members(op, t, all, bytes, members, n, count, out);
    base_free(all);
    return s;
}

enum { PACKED_BYTES = 8 << 20 };

/* Operands of one type, if they are not large, travel together: ranks meet once, not once an operand. *out_n: how many were reduced, 0 when packing does
 * not pay. */
static xt_status all_reduce_packed(const cpu_device *d, const ir_op *op, const int *members, int n, size_t first, const array *in, array *out, size_t *out_n) {
    xt_dtype t = in[first].type->dtype;
    size_t k = 0, bytes = 0, at = 0;
    while (first + k < op->n_out && in[first + k].type->dtype == t && bytes + ir_type_bytes(in[first + k].type) <= PACKED_BYTES) bytes += ir_type_bytes(in[first + k++].type);
    *out_n = k > 1 ? k : 0;
    if (k < 2 || bytes == 0) return NULL;
    char *tmp = base_aligned(CPU_ALIGN, bytes);
    if (!tmp) return status_oom(bytes, "a collective");
    for (size_t i = first; i < first + k; at += ir_type_bytes(in[i++].type)) memcpy(tmp + at, in[i].data, ir_type_bytes(in[i].type));
    xt_status s = all_reduce(d, op, members, n, t, (int64_t)(bytes / xt_dtype_size(t)), tmp, tmp);
    at = 0;
    for (size_t i = first; i < first + k; at += ir_type_bytes(in[i++].type)) memcpy(out[i].data, tmp + at, ir_type_bytes(in[i].type));
    base_free(tmp);
    return s;
}

/* The whole run's sum, of which each keeps its slab: one reduction, no copy of everybody's tensor. */
static xt_status reduce_scatter_all(const cpu_device *d, const ir_op *op, coll_op c, int me, int n, const array *in, array *out) {
    size_t bytes = ir_type_bytes(in->type);
    char *tmp = base_aligned(CPU_ALIGN, bytes ? bytes : 1);
    if (!tmp) return status_oom(bytes, "a collective");
    memcpy(tmp, in->data, bytes);
    xt_status s = coll_all_reduce(d->group, c, in->type->dtype, tmp, (size_t)in->type->count);
    if (!s) move_slab(in->type, ir_get_int(op, IR_A_scatter_dimension, 0), me, n, tmp, out->data, false);
    base_free(tmp);
    return s;
}

static bool in_rank_order(const int *members, int n) {
    for (int i = 0; i < n; i++)
        if (members[i] != i) return false;
    return true;
}

static xt_status from_all(const cpu_device *d, const ir_op *op, const int *members, int n, int me, size_t i, const array *in, array *out) {
    size_t bytes = ir_type_bytes(in[i].type), slab_bytes = ir_type_bytes(out[i].type);
    char *all, *tmp = NULL;
    xt_status s = NULL;
    coll_op c;
    if (op->code == OP_reduce_scatter && d->group && n == size_of(d) && n > 1 && in_rank_order(members, n) && combine_of(op, &c))
        return reduce_scatter_all(d, op, c, me, n, &in[i], &out[i]);
    XT_TRY(gather_all(d, in[i].data, bytes, &all));
    switch ((int)op->code) {
    case OP_all_gather: {
        int64_t dim = ir_get_int(op, IR_A_all_gather_dim, 0);
        for (int m = 0; m < n; m++) move_slab(out[i].type, dim, m, n, out[i].data, all + (size_t)members[m] * bytes, true);
        break;
    }
    case OP_collective_broadcast: memcpy(out[i].data, all + (size_t)members[0] * bytes, bytes); break;
    case OP_collective_reduce: /* the first of a group gets it, the others zeros */
        if (me == 0)
            s = fold_members(op, in[i].type->dtype, all, bytes, members, n, in[i].type->count, out[i].data);
        else
            memset(out[i].data, 0, slab_bytes);
        break;
    case OP_reduce_scatter: {
        int64_t dim = ir_get_int(op, IR_A_scatter_dimension, 0);
        tmp = base_aligned(CPU_ALIGN, bytes ? bytes : 1);
        s = tmp ? fold_members(op, in[i].type->dtype, all, bytes, members, n, in[i].type->count, tmp) : status_oom(bytes, "a collective");
        if (!s) move_slab(in[i].type, dim, me, n, tmp, out[i].data, false);
        break;
    }
    case OP_all_to_all: {
        int64_t split = ir_get_int(op, IR_A_split_dimension, 0), concat = ir_get_int(op, IR_A_concat_dimension, 0);
        size_t part = slab_bytes / (size_t)n;
        tmp = base_malloc(part ? part : 1);
        if (!tmp) s = status_oom(part, "a collective");
        for (int m = 0; m < n && !s; m++) {
            move_slab(in[i].type, split, me, n, all + (size_t)members[m] * bytes, tmp, false);
            move_slab(out[i].type, concat, m, n, out[i].data, tmp, true);
        }
        break;
    }
    case OP_collective_permute: /* zeros where nobody sends */
        memset(out[i].data, 0, slab_bytes);
        {
            size_t np;
            const int64_t *pairs = ir_get_ints(op, IR_A_source_target_pairs, &np);
            for (size_t k = 0; k + 1 < np; k += 2)
                if (pairs[k + 1] == rank_of(d) && pairs[k] >= 0 && pairs[k] < size_of(d)) memcpy(out[i].data, all + (size_t)pairs[k] * bytes, bytes);
        }
        break;
    default: s = unsupported(op, "is no collective"); break;
    }
    base_free(tmp);
    base_free(all);
    return s;
}

xt_status cpu_coll_hook(void *user, const ir_op *op, const array *in, array *out) {
    const cpu_device *d = user;
    int rank = rank_of(d), size = size_of(d);
    if (op->code == OP_replica_id || op->code == OP_partition_id) {
        uint32_t id = op->code == OP_replica_id ? (uint32_t)rank : 0;
        if (d->partitions > 1) id = (uint32_t)(op->code == OP_replica_id ? rank % d->replicas : rank / d->replicas);
        *(uint32_t *)out[0].data = id;
        return NULL;
    }
    if (ir_get_bool(op, IR_A_has_dynamic_root, false)) return unsupported(op, "with a root known only when running is not there");
    int *members = base_malloc((size_t)size * sizeof *members), n = 0, me = -1;
    if (!members) return status_oom(0, "a collective");
    xt_status s = d->partitions > 1 && op->code != OP_collective_permute ? group_of_processes(d, op, members, &n, &me) : group_of(op, rank, size, members, &n, &me);
    for (uint32_t i = 0; i < op->n_out && !s; i++) {
        bool permute = op->code == OP_collective_permute;
        size_t packed = 0;
        if (op->code == OP_all_reduce && n > 0 && size > 1) s = all_reduce_packed(d, op, members, n, i, in, out, &packed);
        if (s) break;
        if (packed)
            i += (uint32_t)packed - 1;
        else if (op->code == OP_all_reduce && n > 0)
            s = all_reduce(d, op, members, n, in[i].type->dtype, in[i].type->count, in[i].data, out[i].data);
        else if (n > 0 || permute)
            s = from_all(d, op, members, permute ? 1 : n, me, i, in, out);
        else
            s = unsupported(op, "on a rank that is in none of its replica_groups has no meaning");
    }
    base_free(members);
    return s;
}

/* --- started now, finished before the first reader ---------------------------------------------------------------------------------------------- */
typedef struct cpu_pending {
    coll_job job;
    const cpu_thunk *thunk;
    void **out; /* where the parts of `packed` go; NULL: the job works in its result */
    size_t cap_out;
    char *packed;
    size_t cap_packed;
} cpu_pending;

static size_t in_bytes(const ir_op *op) {
    size_t all = 0;
    for (uint32_t i = 0; i < op->n_in; i++) all += ir_type_bytes(op->in[i]->type);
    return all;
}

bool cpu_can_start(const cpu_exec *e, const cpu_thunk *t) {
    const ir_op *op = t->op;
    coll_op c;
    if (op->code != OP_all_reduce || t->n_ops != 1 || t->n_in != op->n_in || e->opts.num_partitions > 1 || !combine_of(op, &c)) return false;
    const ir_attr *groups = ir_attr_find(op, IR_A_replica_groups);
    if (groups && groups->n && groups->n != groups->rank2) return false; /* all replicas in one group, or sub-groups: those meet at once */
    for (uint32_t i = 1; i < op->n_in; i++)
        if (op->in[i]->type->dtype != op->in[0]->type->dtype) return false;
    return op->n_in == 1 || in_bytes(op) <= PACKED_BYTES;
}

xt_status cpu_pending_room(cpu_device *d, const cpu_exec *e) {
    d->n_pending = d->n_finished = 0;
    d->running = e;
    if (e->n_starts <= d->cap_pending) return NULL;
    cpu_pending *p = base_calloc(e->n_starts, sizeof *p);
    if (!p) return status_oom(e->n_starts * sizeof *p, "the collectives of a program");
    if (d->cap_pending) memcpy(p, d->pending, d->cap_pending * sizeof *p); /* none is under way */
    base_free(d->pending);
    d->pending = p;
    d->cap_pending = e->n_starts;
    return NULL;
}

void cpu_pending_free(cpu_device *d) {
    for (uint32_t i = 0; i < d->cap_pending; i++) {
        base_free(d->pending[i].out);
        base_free(d->pending[i].packed);
    }
    base_free(d->pending);
}

static xt_status room_to_pack(cpu_pending *p, size_t bytes, size_t n) {
    if (bytes > p->cap_packed) {
        base_free(p->packed);
        p->packed = base_aligned(CPU_ALIGN, bytes);
        p->cap_packed = p->packed ? bytes : 0;
    }
    if (n > p->cap_out) {
        base_free(p->out);
        p->out = base_malloc(n * sizeof *p->out);
        p->cap_out = p->out ? n : 0;
    }
    return p->packed && p->out ? NULL : status_oom(bytes, "a collective");
}

static void note_collective(const cpu_device *d, const cpu_thunk *t) {
    char name[96];
    cpu_thunk_name(t, name, sizeof name);
    coll_note(d->group, name);
}

static xt_status start(const cpu_call *c, cpu_device *d) {
    const ir_op *op = c->thunk->op;
    cpu_pending *p = &d->pending[d->n_pending];
    xt_dtype t = op->in[0]->type->dtype;
    size_t bytes = in_bytes(op), at = 0;
    coll_op how = COLL_SUM;
    char *data = c->out[0];
    combine_of(op, &how);
    p->thunk = c->thunk;
    if (op->n_in > 1) {
        XT_TRY(room_to_pack(p, bytes ? bytes : 1, op->n_in));
        data = p->packed;
        memcpy(p->out, c->out, op->n_in * sizeof *p->out);
    }
    for (uint32_t i = 0; i < op->n_in; at += ir_type_bytes(op->in[i++]->type))
        if (data + at != c->in[i] && ir_type_bytes(op->in[i]->type)) memcpy(data + at, c->in[i], ir_type_bytes(op->in[i]->type));
    d->n_pending++;
    note_collective(d, c->thunk);
    return coll_start(d->group, how, t, data, bytes / xt_dtype_size(t), &p->job);
}

/* The collective that was waited for, or made progress, when s happened. */
static xt_status name_first_pending(const cpu_device *d, xt_status s) {
    char name[96];
    if (!s) return NULL;
    cpu_thunk_name(d->pending[d->n_finished].thunk, name, sizeof name);
    return status_context(s, "op %s", name);
}

xt_status cpu_pending_poll(cpu_device *d) { return name_first_pending(d, coll_poll(d->group)); }

xt_status cpu_pending_finish(cpu_device *d, uint32_t until) {
    for (; d->n_finished < until && d->n_finished < d->n_pending; d->n_finished++) {
        cpu_pending *p = &d->pending[d->n_finished];
        const ir_op *op = p->thunk->op;
        if (!p->job.done) note_collective(d, p->thunk);
        XT_TRY(name_first_pending(d, coll_finish(d->group, &p->job)));
        size_t at = 0;
        for (uint32_t i = 0; op->n_in > 1 && i < op->n_in; at += ir_type_bytes(op->in[i++]->type)) memcpy(p->out[i], p->packed + at, ir_type_bytes(op->in[i]->type));
    }
    return NULL;
}

static xt_status collective_run(const cpu_call *c) {
    const ir_op *op = c->thunk->op;
    if (c->thunk->start && c->device->running == c->exec && c->device->group && coll_size(c->device->group) > 1) return start(c, c->device);
    array *a = base_calloc(op->n_in + op->n_out + 1, sizeof *a);
    if (!a) return status_oom(0, "a collective");
    for (uint32_t i = 0; i < op->n_in; i++) a[i] = (array){op->in[i]->type, c->in[i]};
    for (uint32_t i = 0; i < op->n_out; i++) a[op->n_in + i] = (array){op->out[i].type, c->out[i]};
    if (c->device->group) note_collective(c->device, c->thunk);
    xt_status s = cpu_coll_hook(c->device, op, a, a + op->n_in);
    base_free(a);
    return s;
}
static const cpu_kernel collective_kernel = {"collective", collective_run, NULL};

CPU_LOWER(collective) {
    uint64_t *over = base_calloc(op->n_out + 1, sizeof *over);
    if (!over) return status_oom(0, "a plan");
    if (op->code == OP_all_reduce) /* reduced in place where the operand dies */
        for (uint32_t i = 0; i < op->n_out && i < 64; i++) over[i] = UINT64_C(1) << i;
    cpu_thunk_desc d = {.kernel = &collective_kernel, .op = op, .n_in = op->n_in, .n_out = op->n_out, .over = over};
    xt_status s = cpu_build_thunk(b, &d);
    base_free(over);
    *out_done = true;
    return s;
}
