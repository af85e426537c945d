/* The run's mesh: axes, layouts made from axis lists, a loader's batches, annotations in the trace. One mesh a
 * process. */
#include "base/handle.h"
#include "lazy/mesh/mesh.h"

#include "lazy/core/ctx.h"

#include <ctype.h>

struct xt_mesh {
    int n_axes;
    char *names[XT_MESH_AXES];
    int64_t sizes[XT_MESH_AXES], at[XT_MESH_AXES], strides[XT_MESH_AXES];
    int64_t devices;
    uint32_t batch_axes; /* interned list */
};

static xt_mesh *of_run;

bool lazy_mesh_is(const xt_mesh *m) {
    return m && m == of_run;
}
xt_mesh *lazy_mesh_of_run(void) {
    return of_run;
}

/* --- axis lists --- */
/* The axes of "data+tensor" in order, appended to list; `used` has a bit per axis that stands somewhere already. */
static xt_status read_axes(const xt_mesh *m, const char *text, unsigned *used, int *list, int *n) {
    for (const char *p = text ? text : ""; *p;) {
        size_t len = strcspn(p, "+");
        int k = 0;
        while (k < m->n_axes && !(strlen(m->names[k]) == len && memcmp(m->names[k], p, len) == 0)) k++;
        if (k == m->n_axes) {
            str known = STR_INIT;
            for (int i = 0; i < m->n_axes; i++) str_printf(&known, "%s\"%s\"", i ? ", " : "", m->names[i]);
            xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "the mesh has no axis \"%.*s\"; it has %s", (int)len, p,
                                     str_cstr(&known));
            str_free(&known);
            return s;
        }
        if (*used & 1u << k)
            return status_new(XT_INVALID_ARGUMENT, NULL, "axis \"%s\" stands twice; an axis divides one dim, once",
                              m->names[k]);
        *used |= 1u << k;
        list[(*n)++] = k;
        p += len;
        if (*p == '+') p++;
    }
    return NULL;
}

xt_status lazy_mesh_axes(const xt_mesh *m, const char *axes) {
    unsigned used = 0;
    int list[XT_MESH_AXES], n = 0;
    return read_axes(m, axes, &used, list, &n);
}

const char *lazy_mesh_batch_axes(void) {
    return of_run ? intern_text(of_run->batch_axes) : "";
}

bool lazy_mesh_has_axes(const char *list, const char *axes) {
    unsigned in = 0, of = 0;
    int unused[XT_MESH_AXES], n = 0, k = 0;
    xt_status s = of_run ? read_axes(of_run, list, &in, unused, &n) : NULL, bad = NULL;
    if (of_run && !s) bad = read_axes(of_run, axes, &of, unused, &k);
    bool has = of_run && !s && !bad && !(of & ~in);
    xt_status_free(s);
    xt_status_free(bad);
    return has;
}

/* Devices along the list and this rank's place there. */
static bool along(const xt_mesh *m, const char *axes, int64_t *size, int64_t *at) {
    unsigned used = 0;
    int list[XT_MESH_AXES], n = 0;
    xt_status s = read_axes(m, axes, &used, list, &n);
    *size = 1;
    *at = 0;
    for (int i = 0; i < n && !s; i++) {
        *size *= m->sizes[list[i]];
        *at = *at * m->sizes[list[i]] + m->at[list[i]];
    }
    bool ok = !s;
    xt_status_free(s);
    return ok;
}

int64_t xt_mesh_size(const xt_mesh *m, const char *axes) {
    int64_t size, at;
    if (!m && !(m = of_run)) return 0;
    if (!axes) return m->devices;
    return along(m, axes, &size, &at) ? size : 0;
}

int64_t xt_mesh_coordinate(const xt_mesh *m, const char *axes) {
    int64_t size, at;
    return m && along(m, axes, &size, &at) ? at : -1;
}

void lazy_batch_part(int64_t *index, int64_t *count) {
    const world *w = world_get();
    *index = w->rank;
    *count = w->size;
    if (of_run) along(of_run, intern_text(of_run->batch_axes), count, index);
}

int64_t lazy_share_of(int64_t samples) {
    int64_t ranks = lazy_spmd() ? of_run->devices : 1;
    return (samples + ranks - 1) / ranks;
}

int64_t lazy_share_of_part(int64_t n) {
    int64_t index, count;
    lazy_batch_part(&index, &count);
    return lazy_spmd() ? n * count / of_run->devices : n;
}

/* --- making a mesh --- */
static bool good_name(const char *s) {
    if (!*s || strlen(s) > 40) return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_') return false;
    return true;
}

static xt_status check_axes(const xt_axis *axes, int *out_n) {
    int n = 0, open = -1;
    for (; n < XT_MESH_AXES && axes[n].name; n++) {
        if (!good_name(axes[n].name))
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "xt_mesh_new: \"%s\" is no name of an axis; letters, digits and '_' are needed",
                              axes[n].name);
        if (axes[n].size < 0 || axes[n].size > IR_SHARD_DEVICES)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "xt_mesh_new: axis \"%s\" has size %lld; 1 to %d are possible, or 0 for what is left",
                              axes[n].name, (long long)axes[n].size, IR_SHARD_DEVICES);
        for (int k = 0; k < n; k++)
            if (strcmp(axes[k].name, axes[n].name) == 0)
                return status_new(XT_INVALID_ARGUMENT, NULL, "xt_mesh_new: axis \"%s\" stands twice", axes[n].name);
        if (axes[n].size == 0 && open >= 0)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "xt_mesh_new: axes \"%s\" and \"%s\" both have size 0; one axis may take what is left",
                              axes[open].name, axes[n].name);
        if (axes[n].size == 0) open = n;
    }
    if (n == 0) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_mesh_new: no axis; write xt_mesh_new({\"data\", 0})");
    *out_n = n;
    return NULL;
}

/* Sizes that make up the devices of the run. */
static xt_status fit(const xt_axis *axes, int n, int64_t devices, int64_t *sizes) {
    /* a rehearsal is on the devices of what is planned for */
    const char *what = lazy_rehearsing() ? "topology" : "run";
    int64_t fixed = 1;
    int open = -1;
    str text = STR_INIT;
    for (int i = 0; i < n; i++) {
        str_printf(&text, "%s%s=%lld", i ? "," : "", axes[i].name, (long long)axes[i].size);
        if (axes[i].size == 0)
            open = i;
        else if (fixed <= IR_SHARD_DEVICES)
            fixed *= axes[i].size;
        sizes[i] = axes[i].size;
    }
    xt_status s = NULL;
    if (fixed > devices)
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_mesh_new: the mesh %s needs %lld devices, the %s has %lld; %s, or make axes smaller",
                       str_cstr(&text), (long long)fixed, what, (long long)devices,
                       lazy_rehearsing() ? "take a larger one"
                                         : "start it on more (CPU_NUM_DEVICES, xtrain launch -n)");
    else if (devices % fixed || (open < 0 && fixed != devices))
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_mesh_new: the mesh %s has %lld devices%s, the %s has %lld: a mesh takes all of them; give "
                       "one axis size 0 for what is left",
                       str_cstr(&text), (long long)fixed, open < 0 ? "" : " times what is left", what,
                       (long long)devices);
    else if (open >= 0)
        sizes[open] = devices / fixed;
    str_free(&text);
    return s;
}

static void free_mesh(void *m) {
    xt_mesh_free(m);
}

static void default_batch_axes(xt_mesh *m) {
    static const char *const usual[] = {"data", "fsdp", "expert"};
    char list[32] = "";
    for (int i = 0; i < m->n_axes; i++)
        for (size_t k = 0; k < BASE_COUNT(usual); k++)
            if (strcmp(m->names[i], usual[k]) == 0)
                snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? "+" : "", usual[k]);
    m->batch_axes = intern(list);
}

xt_mesh *xt_mesh_new_at(const xt_src *src, const xt_axis *axes) {
    int n = 0;
    int64_t sizes[XT_MESH_AXES];
    const world *w = world_get();
    int64_t devices = lazy_pretended_devices() > 0 ? lazy_pretended_devices() : w->size;
    const char *device = env_get("XT_DEVICE");
    /* a wrong number is refused when the device is opened */
    if (device && strncmp(device, "dry:", 4) == 0) parse_i64(device + 4, &devices);
    xt_status s =
        of_run ? status_new(XT_FAILED_PRECONDITION, NULL,
                            "xt_mesh_new: the run has a mesh already; a run has one (xt_mesh_free gives it back)")
               : check_axes(axes, &n);
    if (!s) s = fit(axes, n, devices, sizes);
    xt_mesh *m = s ? NULL : handle_new(HANDLE_mesh, sizeof *m);
    if (!s && !m) s = status_oom(sizeof *m, "a mesh");
    if (s) {
        lazy_fail(status_at(s, src));
        return NULL;
    }
    m->devices = devices;
    int64_t stride = 1;
    for (int i = n; i-- > 0; stride *= sizes[i]) {
        m->strides[i] = stride;
        m->sizes[i] = sizes[i];
        m->at[i] = w->rank / stride % sizes[i];
        if (!(m->names[i] = base_strdup(axes[i].name))) s = status_oom(8, "a mesh");
    }
    m->n_axes = n;
    of_run = m;
    lazy_set_partitions(devices);
    live_add(LIVE_mesh, 1);
    if (s || !lazy_own(m, free_mesh)) {
        xt_mesh_free(m);
        lazy_fail(s ? s : status_oom(sizeof *m, "a mesh"));
        return NULL;
    }
    default_batch_axes(m);
    return m;
}

void xt_mesh_free(xt_mesh *m) {
    if (!m) return;
    lazy_disown(m);
    if (of_run == m) {
        of_run = NULL;
        lazy_set_partitions(1);
    }
    for (int i = 0; i < m->n_axes; i++) base_free(m->names[i]);
    handle_free(m);
    live_add(LIVE_mesh, -1);
}

static bool usable(const xt_src *src, const xt_mesh *m, const char *what) {
    if (lazy_mesh_is(m)) return true;
    lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "%s: %s", what,
                         m ? "this mesh was given back"
                           : "the mesh is NULL; making it failed, it was never made, or in C++ it was moved from"));
    return false;
}

void xt_mesh_batch_at(const xt_src *src, xt_mesh *m, const char *axes) {
    if (!usable(src, m, "xt_mesh_batch")) return;
    xt_status s = lazy_mesh_axes(m, axes);
    if (s)
        lazy_fail(status_at(status_context(s, "xt_mesh_batch"), src));
    else
        m->batch_axes = intern(axes ? axes : "");
}

/* --- layouts --- */
/* The mesh as a grid: its axes in order, those of one device left out. */
static ir_grid grid_of(const xt_mesh *m, int8_t place[XT_MESH_AXES]) {
    ir_grid g = {.devices = m->devices};
    for (int i = 0; i < m->n_axes; i++) {
        place[i] = -1;
        if (m->sizes[i] == 1) continue;
        place[i] = (int8_t)g.n_axes;
        g.size[g.n_axes] = m->sizes[i];
        g.stride[g.n_axes++] = m->strides[i];
    }
    return g;
}

static xt_status too_small(const ir_type *type, int dim, const char *axes, int64_t parts, const char *what) {
    str t = STR_INIT;
    ir_type_print(type, &t);
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL,
                             "%s: dim %d of %s is %lld, so some of the %lld devices along \"%s\" would have nothing of "
                             "it; divide a larger dim, or along fewer devices",
                             what, dim, str_cstr(&t), (long long)type->dims[dim], (long long)parts, axes);
    str_free(&t);
    return s;
}

xt_status lazy_layout_make(const xt_mesh *m, const ir_type *type, int n, const char *const *axes, const char *what,
                           const lazy_layout **out) {
    unsigned used = 0;
    int8_t place[XT_MESH_AXES];
    ir_grid g = grid_of(m, place);
    ir_sharding s = ir_sharding_none();
    *out = NULL;
    if (n > (int)type->rank)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: %d axis lists for a tensor of %u dims", what, n, type->rank);
    for (int d = 0; d < n; d++) {
        int list[XT_MESH_AXES], k = 0;
        XT_TRY(status_context(read_axes(m, axes[d], &used, list, &k), "%s, dim %d", what, d));
        int64_t parts = 1;
        for (int i = 0; i < k; i++) {
            parts *= m->sizes[list[i]];
            if (place[list[i]] >= 0) ir_sharding_add(&s, place[list[i]], d);
        }
        if (type->dims[d] < parts && type->dims[d] > 0) return too_small(type, d, axes[d], parts, what);
    }
    *out = lazy_layout_intern(&g, &s, type->rank);
    return NULL;
}

/* The first whole dim that the parts divide evenly; where there is none the largest, whose last parts are filled up by
 * the smallest share. -1: all are smaller than the number of parts. */
static int dim_to_divide(const lazy_layout *base, const ir_type *type, int64_t parts) {
    int largest = -1;
    for (int d = 0; d < (int)type->rank; d++) {
        if (base && base->parts[d] > 1) continue;
        if (type->dims[d] % parts == 0) return d;
        if (type->dims[d] > parts && (largest < 0 || type->dims[d] > type->dims[largest])) largest = d;
    }
    return largest;
}

const lazy_layout *lazy_layout_add(const xt_mesh *m, const lazy_layout *base, const ir_type *type, const char *axes) {
    unsigned used = 0;
    int8_t place[XT_MESH_AXES];
    int list[XT_MESH_AXES], k = 0;
    ir_grid g = grid_of(m, place);
    ir_sharding s = base ? base->sharding : ir_sharding_none();
    xt_status bad = read_axes(m, axes, &used, list, &k);
    int64_t parts = 1;
    bool fresh = !bad;
    for (int i = 0; i < k && fresh; i++) {
        parts *= m->sizes[list[i]];
        if (place[list[i]] >= 0 && s.dim[place[list[i]]] >= 0) fresh = false; /* a rule uses the axis already */
    }
    xt_status_free(bad);
    if (!fresh) return base;
    int at = dim_to_divide(base, type, parts);
    for (int i = 0; i < k && at >= 0; i++)
        if (place[list[i]] >= 0) ir_sharding_add(&s, place[list[i]], at);
    return at >= 0 ? lazy_layout_intern(&g, &s, type->rank) : base;
}

xt_status lazy_batch_layout(const ir_type *type, const lazy_layout **out) {
    *out = NULL;
    return of_run ? lazy_layout_make(of_run, type, 1, (const char *const[]){intern_text(of_run->batch_axes)}, "a batch",
                                     out)
                  : NULL;
}

xt_tensor lazy_from_batch(const xt_src *src, device_buffer *dev) {
    int64_t dims[XT_MAX_RANK];
    size_t rank = device_buffer_rank(dev);
    if (!lazy_spmd() || rank == 0) return lazy_from_buffer(src, LAZY_BATCH, dev);
    memcpy(dims, device_buffer_dims(dev), rank * sizeof *dims);
    const lazy_layout *layout = NULL;
    int64_t index, count;
    lazy_batch_part(&index, &count);
    dims[0] *= count;
    const ir_type *type = ir_tensor(device_buffer_dtype(dev), rank, dims);
    xt_status s = type ? lazy_batch_layout(type, &layout) : status_oom(rank, "a batch");
    if (s) lazy_fail(status_at(s, src));
    return lazy_from_laid_out(src, LAZY_BATCH, type, layout, dev);
}

/* --- annotations --- */
xt_tensor xt_shard_at(const xt_src *src, xt_tensor t, xt_mesh *m, int n, const char *const *axes) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(t);
    if (!usable(src, m, "xt_shard")) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_shard without a mesh");
    if (!v) return lazy_wrap(NULL, "xt_shard");
    const lazy_layout *l;
    xt_status s = lazy_layout_make(m, v->type, n, axes, "xt_shard", &l);
    if (s) {
        xt_tensor bad = lazy_error(src, status_code(s), "%s", status_text(s));
        xt_status_free(s);
        return bad;
    }
    if (m->devices == 1) return t;
    return lazy_wrap(ir_annotate_sharding(b, v, l ? intern_text(l->text) : "{replicated}"), "xt_shard");
}
