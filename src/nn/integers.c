/* An entry that becomes integers with factors beside it: by xt_quantize, or because a file that is loaded has its
 * weight so, as xt_save writes a module that was quantised. */
#include "format/safetensors.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"

/* A state with the value, which is taken, or read from its file at the first use. */
static xt_tensor state_of(const xt_src *src, const char *name, const ir_type *type, nn_loaded *l) {
    lazy_source from;
    xt_status s = l->file ? nn_stored_source(l, &from) : nn_loaded_fetch(l);
    if (!s && !l->file) s = nn_convert(l, type);
    if (s) {
        lazy_fail(status_at(s, src));
        return lazy_failed_tensor(src);
    }
    if (l->file) return lazy_state_from(src, LAZY_BUFFER, name, type, from);
    void *data = l->data;
    l->data = NULL;
    return lazy_state_take(src, LAZY_BUFFER, name, type->dtype, (int)type->rank, type->dims, data);
}

bool nn_become_integers(const xt_src *src, nn_root *r, const char *weight, int bits, nn_loaded *q, nn_loaded *factors) {
    const ir_type *type = q->type, *scales = ir_with_dtype(factors->type, XT_F32);
    nn_entry more = {.name = nn_scale_name(weight), .type = scales, .src = nn_find(r, weight)->src};
    if (!scales || !more.name || !nn_list(r, more)) {
        base_free(more.name);
        lazy_fail(status_at(status_oom(sizeof more, "a quantised weight"), src));
        return false;
    }
    nn_entry *e = nn_find(r, weight), *f = &r->entries[r->n - 1];
    if (e->t.slot) xt_drop_at(src, e->t);
    e->type = type;
    e->is_param = false;
    e->bits = bits;
    nn_taken(r, e);
    e->t = state_of(src, e->name, type, q);
    f->t = state_of(src, f->name, scales, factors);
    return !lazy_is_error(e->t) && !lazy_is_error(f->t);
}

/* --- turned around --- */
/* The name of the weight whose factors a tensor of this name may be; false: of none. */
static bool weight_of_factors(const char *name, char *out, size_t size) {
    static const char end[] = "_scale";
    size_t n = strlen(name), k = sizeof end - 1;
    if (n <= k || n - k >= size || strcmp(name + n - k, end) != 0) return false;
    snprintf(out, size, "%.*s", (int)(n - k), name);
    return true;
}

static bool is_integers(const st_file *f, const char *weight) {
    const st_entry *q = st_find(f, weight);
    char *scale = q && (q->dtype == XT_I8 || q->dtype == XT_U8) ? nn_scale_name(weight) : NULL;
    bool is = scale && st_find(f, scale);
    base_free(scale);
    return is;
}

bool nn_file_has_integers(const st_file *f, const char *name) {
    char weight[1024];
    return is_integers(f, name) || (weight_of_factors(name, weight, sizeof weight) && is_integers(f, weight));
}

bool nn_has_integers(const nn_root *r, const char *name) {
    char weight[1024];
    const nn_entry *e = nn_find(r, weight_of_factors(name, weight, sizeof weight) ? weight : name);
    return e && e->bits;
}

/* A factor is one for some numbers of a row, which are in as many rows of the other matrix. */
xt_status nn_check_turned(const char *pattern, const char *name, bool is_of_integers, const char *path) {
    if (!pattern || !is_of_integers || !nn_matches(pattern, name)) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "%s: %s is kept as integers with a factor for each group of a row's numbers, and is not turned "
                      "around (\"%s\"); turn the floats that they are made of, and make integers of those",
                      path, name, pattern);
}

/* --- at the first call --- */
/* Takes what a file has of a weight that the module has not made yet. */
static nn_entry *take(const xt_src *src, nn_root *r, const char *weight, int64_t rows, int64_t columns) {
    char *scale = r->loaded && !nn_parametrized(r, weight) ? nn_scale_name(weight) : NULL;
    nn_loaded *q = scale ? map_get(r->loaded, weight, strlen(weight)) : NULL,
              *f = q ? map_get(r->loaded, scale, strlen(scale)) : NULL;
    int bits = f ? nn_integer_bits(q->type, f->type, rows, columns) : 0;
    if (bits && lazy_spmd()) {
        lazy_error(src, XT_UNIMPLEMENTED,
                   "%s is integers in %s, and the module is divided over ranks; load it on a process alone", weight,
                   q->path ? q->path : "what was loaded");
        bits = 0;
    }
    if (bits) {
        map_remove(r->loaded, weight, strlen(weight));
        map_remove(r->loaded, scale, strlen(scale));
        nn_entry e = {.name = base_strdup(weight), .type = q->type, .src = src_intern(src)};
        bool listed = e.name && nn_list(r, e);
        if (listed) nn_become_integers(src, r, weight, bits, q, f);
        if (!listed) base_free(e.name);
        if (!listed) lazy_fail(status_at(status_oom(sizeof e, weight), src));
        nn_loaded_free(q);
        nn_loaded_free(f);
    }
    base_free(scale);
    return bits ? nn_find(r, weight) : NULL;
}

nn_entry *nn_integers(const xt_src *src, nn_root *r, const char *weight, int64_t rows, int64_t columns) {
    nn_entry *e = nn_find(r, weight);
    if (!e) e = take(src, r, weight, rows, columns);
    return e && e->bits ? e : NULL;
}
