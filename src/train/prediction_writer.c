/* Predictions as one .npy file. Batches arrive in order on the reader thread and are appended behind a header of fixed
 * length, whose count is filled in at the end; then the file takes its name. */
#include <pthread.h>

#include "base/private_file.h"
#include "coll/coll.h"
#include "format/npy.h"
#include "lazy/mesh/mesh.h"
#include "train/train_int.h"

typedef struct writer {
    const char *given; /* interned; NULL = in the run's folder */
    char *path;
    file_writer *file;
    pthread_mutex_t lock;
    xt_dtype dtype;
    int rank;
    int64_t dims[XT_MAX_RANK], samples;
    size_t header, sample_bytes;
    xt_status failed;
} writer;
typedef struct chunk { /* a batch on its way */
    writer *w;
    int64_t samples; /* those that count; padding follows */
} chunk;

static void close_file(writer *w) {
    file_writer_abandon(w->file);
    w->file = NULL;
    base_free(w->path);
    w->path = NULL;
}

static void free_writer(void *user) {
    writer *w = user;
    close_file(w);
    xt_status_free(w->failed);
    pthread_mutex_destroy(&w->lock);
    base_free(w);
}

/* The file is made beside its place and takes it: what is no file there (a device, a pipe) would be replaced. */
static xt_status kind_of_target(const char *path, const char *given) {
    struct stat st;
    const char *why = stat(path, &st) == 0 ? file_kind_problem(&st) : NULL;
    return !why ? NULL
                : status_new(XT_INVALID_ARGUMENT, NULL,
                             "cannot write predictions to %s: %s; they need a regular file, name another", given, why);
}

/* The run's, which rank 0 alone has made: all parts of a prediction lie in one folder. "": there is none. */
static xt_status folder_of_run(const xt_trainer *t, char *out, size_t size) {
    coll_group *g;
    int n = snprintf(out, size, "%s", t->run_dir ? t->run_dir : "");
    if (n < 0 || (size_t)n >= size) out[0] = '\0';
    if (world_get()->size == 1) return NULL;
    XT_TRY(coll_run_group(&g));
    XT_TRY(coll_broadcast(g, 0, out, size));
    return *out ? file_make_dirs(out, 0755) : NULL; /* on another host */
}

static xt_status name_files(const xt_trainer *t, writer *w) {
    str name = STR_INIT;
    const world *r = world_get();
    char folder[4096] = "";
    if (w->given)
        str_append(&name, w->given);
    else {
        XT_TRY(folder_of_run(t, folder, sizeof folder));
        str_printf(&name, "%s%spredictions.npy", folder, *folder ? "/" : "");
    }
    if (r->size > 1) {
        size_t n = name.len >= 4 && strcmp(str_cstr(&name) + name.len - 4, ".npy") == 0 ? name.len - 4 : name.len;
        str ranked = STR_INIT;
        str_printf(&ranked, "%.*s.rank%d.npy", (int)n, str_cstr(&name), r->rank);
        str_free(&name);
        name = ranked;
    }
    xt_status s = name.failed ? status_oom(64, "predictions") : file_output_target(str_cstr(&name), &w->path);
    if (!s) s = kind_of_target(w->path, str_cstr(&name));
    str_free(&name);
    return s;
}

static void predict_start(xt_trainer *t, void *user) {
    writer *w = user;
    close_file(w);
    xt_status_free(w->failed);
    w->failed = NULL;
    w->samples = 0;
    xt_status s = name_files(t, w);
    if (s) lazy_fail(s);
}

/* numpy reads a header padded with blanks, so the count may grow within it. */
static xt_status write_header(writer *w) {
    str head = STR_INIT;
    xt_array a = {.dtype = w->dtype, .rank = w->rank};
    memcpy(a.dims, w->dims, sizeof(int64_t) * (size_t)w->rank);
    a.dims[0] = w->samples ? w->samples : INT64_C(999999999999999);
    xt_status s = npy_header(&a, &head);
    if (!s && head.len < w->header) { /* blanks before the line's end */
        int blanks = (int)(w->header - head.len);
        head.data[head.len - 1] = ' ';
        str_printf(&head, "%*s", blanks, "\n");
    }
    if (!s && head.failed) s = status_oom(w->header, "an npy header");
    if (!s && w->header) {
        size_t text = w->header - 10; /* magic, version, length of the text */
        head.data[8] = (char)(text & 255);
        head.data[9] = (char)(text >> 8);
    }
    if (!s)
        s = w->header ? file_writer_patch(w->file, 0, str_cstr(&head), head.len)
                      : file_writer_write(w->file, str_cstr(&head), head.len);
    if (!s) w->header = head.len;
    str_free(&head);
    return s;
}

static xt_status begin_file(writer *w, const ir_type *type) {
    XT_TRY(file_writer_open(w->path, &w->file));
    w->dtype = type->dtype;
    w->rank = (int)type->rank;
    w->header = 0;
    memcpy(w->dims, type->dims, type->rank * sizeof *w->dims);
    w->sample_bytes = ir_type_bytes(type) / (size_t)type->dims[0];
    return write_header(w);
}

static void arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    chunk *c = user;
    writer *w = c->w;
    (void)dtype;
    pthread_mutex_lock(&w->lock);
    size_t n = (size_t)c->samples * w->sample_bytes;
    if (!w->failed && w->file) {
        w->failed = n > bytes ? status_new(XT_INTERNAL, NULL, "%s: a batch of %zu bytes has %zu", w->path, n, bytes)
                              : file_writer_write(w->file, data, n);
        if (!w->failed) w->samples += c->samples;
    }
    pthread_mutex_unlock(&w->lock);
    base_free(c);
}

static void never(void *user) {
    base_free(user);
}

/* On a mesh a batch is all ranks', and the padding of each lies behind its own samples: samples first. */
static xt_tensor samples_first(const xt_batch *b, xt_tensor out) {
    const ir_type *type = lazy_type(out), *mask = lazy_type(b->mask);
    if (!lazy_spmd() || !mask || !type || type->rank < 1 || type->dims[0] != mask->dims[0]) return out;
    xt_tensor order = xt_argsort_at(XT_HERE, b->mask, 0, XT_OPTS(xt_sort_opts, .descending = true));
    return xt_index_select_at(XT_HERE, out, 0, order);
}

static void predict_batch_end(xt_trainer *t, const xt_batch *b, xt_tensor out, void *user) {
    writer *w = user;
    out = samples_first(b, out);
    const ir_type *type = lazy_type(out);
    (void)t;
    if (!type) return;
    pthread_mutex_lock(&w->lock);
    xt_status s = NULL;
    if (type->rank < 1 || type->dims[0] < b->size) {
        str text = STR_INIT;
        ir_type_print(type, &text);
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "predict_step gave %s for a batch of %lld samples; the prediction writer needs one row a sample",
                       str_cstr(&text), (long long)b->size);
        str_free(&text);
    } else if (!w->file)
        s = begin_file(w, type);
    else if (type->dtype != w->dtype || (int)type->rank != w->rank ||
             memcmp(type->dims + 1, w->dims + 1, (type->rank - 1) * sizeof *w->dims) != 0)
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "predict_step gave another type than for the first batch; the prediction writer needs one");
    pthread_mutex_unlock(&w->lock);
    chunk *c = s ? NULL : base_calloc(1, sizeof *c);
    if (!s && !c) s = status_oom(sizeof *c, "predictions");
    if (s) {
        lazy_fail(s);
        return;
    }
    *c = (chunk){w, b->size};
    lazy_request_value(XT_HERE, "xt_prediction_writer", out, arrived, never, c);
}

static void predict_end(xt_trainer *t, void *user) {
    writer *w = user;
    (void)t;
    xt_status s = w->failed;
    w->failed = NULL;
    if (!s && w->file && !rehearsal_on()) {
        s = write_header(w);
        if (!s) {
            s = file_writer_commit(w->file);
            w->file = NULL;
        }
        if (!s) log_msg(XT_SEV_INFO, "%lld predictions are in %s", (long long)w->samples, w->path);
    }
    close_file(w);
    if (s) lazy_fail(s);
}

/* After a prediction that failed nothing of it stays. */
static void teardown(xt_trainer *t, const char *stage, void *user) {
    (void)t;
    (void)stage;
    close_file(user);
}

static const xt_callback_desc desc = {.struct_size = sizeof(xt_callback_desc),
                                      .name = "prediction_writer",
                                      .predict_start = predict_start,
                                      .predict_batch_end = predict_batch_end,
                                      .predict_end = predict_end,
                                      .teardown = teardown,
                                      .free_user = free_writer};

xt_callback *xt_prediction_writer_opt(const xt_src *src, xt_prediction_writer_opts o) {
    SRC_CALLED_FROM(src);
    writer *w = base_calloc(1, sizeof *w);
    if (!w) {
        lazy_fail(status_oom(sizeof *w, "a callback"));
        return NULL;
    }
    w->given = o.path ? intern_text(intern(o.path)) : NULL;
    pthread_mutex_init(&w->lock, NULL);
    return callback_make(&desc, w);
}
