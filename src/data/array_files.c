/* Datasets of arrays in files (.npy, safetensors) and of a text's bytes. The arrays are read whole; dim 0
 * counts samples. */
#include "data/data.h"
#include "format/npy.h"
#include "format/safetensors.h"

/* --- arrays --- */
typedef struct owned {
    void *x, *y;
    size_t x_bytes, y_bytes; /* of a sample */
} owned;

static void owned_free(void *user) {
    owned *o = user;
    base_free(o->x);
    base_free(o->y);
    base_free(o);
}

static xt_status owned_get(void *user, int64_t i, void *x, void *y) {
    const owned *o = user;
    memcpy(x, (char *)o->x + (size_t)i * o->x_bytes, o->x_bytes);
    if (y) memcpy(y, (char *)o->y + (size_t)i * o->y_bytes, o->y_bytes);
    return NULL;
}

typedef struct loaded {
    xt_dtype dtype;
    int rank;
    const int64_t *dims;
    void *data; /* taken over */
} loaded;

static xt_status check_array(const char *where, const char *what, const loaded *a) {
    bool ok = a->rank >= 1 && a->rank <= XT_MAX_RANK;
    for (int k = 0; ok && k < a->rank; k++) ok = a->dims[k] > 0;
    return ok ? NULL
              : status_new(XT_INVALID_ARGUMENT, NULL,
                           "%s: %s has rank %d; samples along dim 0 and positive dims are needed, at most %d", where,
                           what, a->rank, XT_MAX_RANK);
}

/* Takes over x and y's data. y->data NULL: no labels. */
static xt_dataset *of_arrays(const char *where, loaded *x, loaded *y) {
    bool labels = y->data != NULL;
    xt_status s = check_array(where, "x", x);
    if (!s && labels) s = check_array(where, "y", y);
    if (!s && labels && x->dims[0] != y->dims[0])
        s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: x has %lld samples, y has %lld", where, (long long)x->dims[0],
                       (long long)y->dims[0]);
    owned *o = s ? NULL : base_calloc(1, sizeof *o);
    if (!o) {
        base_free(x->data);
        base_free(y->data);
        return data_fail(s ? s : status_oom(sizeof *o, "a dataset"), NULL);
    }
    xt_spec xs = data_spec(x->dtype, (size_t)x->rank - 1, x->dims + 1),
            ys = labels ? data_spec(y->dtype, (size_t)y->rank - 1, y->dims + 1) : (xt_spec){0};
    *o = (owned){x->data, y->data, data_spec_bytes(&xs), data_spec_bytes(&ys)};
    return data_make((xt_dataset_desc){
        .count = x->dims[0], .x = xs, .y = ys, .get = owned_get, .free_user = owned_free, .user = o, .name = where});
}

static xt_status read_npy(const char *path, xt_array *out) {
    char *data = NULL;
    size_t n = 0;
    XT_TRY(file_read_all(path, &data, &n));
    xt_status s = npy_decode(data, n, path, out);
    base_free(data);
    return s;
}

xt_dataset *xt_npy_dataset_at(const xt_src *src, const char *x_path, const char *y_path) {
    SRC_CALLED_FROM(src);
    if (!x_path)
        return data_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_npy_dataset: a path for x is needed"), NULL);
    xt_array x = {0}, y = {0};
    xt_status s = read_npy(x_path, &x);
    if (!s && y_path) s = read_npy(y_path, &y);
    if (s) {
        base_free(x.data);
        return data_fail(status_context(s, "xt_npy_dataset"), NULL);
    }
    return of_arrays(x_path, &(loaded){x.dtype, x.rank, x.dims, x.data}, &(loaded){y.dtype, y.rank, y.dims, y.data});
}

static xt_status read_tensor(st_file *f, const char *path, const char *name, loaded *out) {
    const st_entry *e = st_find(f, name);
    if (!e) return status_new(XT_NOT_FOUND, NULL, "%s has no tensor %s", path, name);
    size_t n = (size_t)(e->end - e->begin);
    *out = (loaded){e->dtype, e->rank, e->dims, base_malloc(n ? n : 1)};
    return out->data ? st_read(f, e, out->data, n) : status_oom(n, name);
}

xt_dataset *xt_safetensors_dataset_at(const xt_src *src, const char *path, const char *x_name, const char *y_name) {
    SRC_CALLED_FROM(src);
    if (!path || !x_name)
        return data_fail(
            status_new(XT_INVALID_ARGUMENT, NULL, "xt_safetensors_dataset: a path and the name of x are needed"), NULL);
    st_file *f;
    xt_status s = st_open(path, &f);
    if (s) return data_fail(status_context(s, "xt_safetensors_dataset"), NULL);
    loaded x = {0}, y = {0};
    s = read_tensor(f, path, x_name, &x);
    if (!s && y_name) s = read_tensor(f, path, y_name, &y);
    xt_dataset *d = NULL;
    if (s) {
        base_free(x.data);
        base_free(y.data);
        data_fail(status_context(s, "xt_safetensors_dataset"), NULL);
    } else
        d = of_arrays(path, &x, &y);
    st_close(f); /* the dims are the file's */
    return d;
}

/* --- text --- */
typedef struct text {
    char *bytes;
    int64_t seq, stride;
} text;

static void text_free(void *user) {
    text *t = user;
    base_free(t->bytes);
    base_free(t);
}

static xt_status text_get(void *user, int64_t i, void *x, void *y) {
    const text *t = user;
    const uint8_t *from = (const uint8_t *)t->bytes + i * t->stride;
    int64_t *tokens = x, *next = y;
    for (int64_t k = 0; k < t->seq; k++) {
        tokens[k] = from[k];
        if (next) next[k] = from[k + 1];
    }
    return NULL;
}

xt_dataset *xt_text_dataset_at(const xt_src *src, const char *path, int64_t seq, int64_t stride) {
    SRC_CALLED_FROM(src);
    if (!path || seq < 1 || stride < 0)
        return data_fail(
            status_new(
                XT_INVALID_ARGUMENT, NULL,
                "xt_text_dataset: seq %lld, stride %lld; a path, seq of at least 1 and no negative stride are needed",
                (long long)seq, (long long)stride),
            NULL);
    text *t = base_calloc(1, sizeof *t);
    if (!t) return data_fail(status_oom(sizeof *t, "a dataset"), NULL);
    size_t n = 0;
    xt_status s = file_read_all(path, &t->bytes, &n);
    if (!s && n < (size_t)seq + 1)
        s = status_new(XT_INVALID_ARGUMENT, NULL, "%s has %zu bytes; a window of %lld and the byte after it do not fit",
                       path, n, (long long)seq);
    if (s) {
        text_free(t);
        return data_fail(status_context(s, "xt_text_dataset"), NULL);
    }
    t->seq = seq;
    t->stride = stride ? stride : seq;
    xt_spec spec = {XT_I64, {seq}};
    xt_dataset *out = data_make((xt_dataset_desc){.count = ((int64_t)n - seq - 1) / t->stride + 1,
                                                  .x = spec,
                                                  .y = spec,
                                                  .get = text_get,
                                                  .free_user = text_free,
                                                  .user = t,
                                                  .name = path});
    if (out) out->tokens = seq;
    return out;
}
