/* Datasets: a description with functions, counted; and the one over C arrays. */
#include <pthread.h>

#include "base/handle.h"
#include "data/data.h"

const ir_type *data_spec_type(const xt_spec *s) {
    size_t rank = 0;
    while (rank < XT_MAX_RANK && s->dims[rank]) rank++;
    return s->dtype ? ir_tensor(s->dtype, rank, s->dims) : NULL;
}

/* "{f32, {28, 28}}" with all that was written, also behind a 0. */
static void spec_print(str *t, const xt_spec *s) {
    int last = 0;
    for (int k = 0; k < XT_MAX_RANK; k++)
        if (s->dims[k]) last = k;
    str_printf(t, "{%s, {", s->dtype && xt_dtype_size(s->dtype) ? xt_dtype_name(s->dtype) : "no dtype");
    for (int k = 0; k <= last; k++) str_printf(t, "%s%lld", k ? ", " : "", (long long)s->dims[k]);
    str_append(t, "}}");
}

xt_status data_spec_check(const char *who, const char *what, const xt_spec *s) {
    const char *why = NULL;
    bool ended = false;
    for (int k = 0; k < XT_MAX_RANK; k++) {
        if (s->dims[k] < 0) why = "a dim is negative";
        if (ended && s->dims[k] && !why) why = "a dim of 0 ends the dims, and there are more behind it";
        ended = ended || s->dims[k] == 0;
    }
    if (!s->dtype || !xt_dtype_size(s->dtype)) why = "it has no dtype that holds numbers";
    if (!why && data_spec_type(s)) return NULL;
    str found = STR_INIT;
    spec_print(&found, s);
    xt_status e = status_new(XT_INVALID_ARGUMENT, NULL,
                             "%s: the spec of %s is %s: %s; expected the dtype and dims of one sample, without the "
                             "batch's: (xt_spec){XT_F32, {1, 28, 28}}, or (xt_spec){XT_I64} for one number",
                             who, what, found.failed ? "" : str_cstr(&found), why ? why : "it is too large");
    str_free(&found);
    return e;
}

xt_spec data_spec(xt_dtype t, size_t rank, const int64_t *dims) {
    xt_spec s = {.dtype = t};
    if (rank) memcpy(s.dims, dims, rank * sizeof *dims);
    return s;
}

size_t data_spec_bytes(const xt_spec *s) {
    const ir_type *t = data_spec_type(s);
    return t ? ir_type_bytes(t) : 0;
}

xt_dataset *data_fail(xt_status s, xt_dataset *over) {
    if (s) lazy_fail(s);
    data_drop(over);
    return NULL;
}

/* --- owners --- */
static pthread_mutex_t owners = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static bool is_living(const xt_dataset *d) {
    return handle_look(HANDLE_dataset, d) == HANDLE_LIVES;
}

/* A reference less. What the dataset was made of is freed outside of the lock, as that drops datasets itself. */
static void let_go(xt_dataset *d, bool was_taken) {
    pthread_mutex_lock(&owners);
    if (was_taken) d->taken--;
    bool last = --d->refs == 0;
    pthread_mutex_unlock(&owners);
    if (!last) return;
    lazy_inside_fn call;
    lazy_enter(&call, "a dataset's free_user", d);
    if (d->d.free_user) d->d.free_user(d->d.user);
    lazy_leave(&call);
    base_free(d->name);
    handle_free(d);
    live_add(LIVE_dataset, -1);
}

/* One dataset in two loaders is the rule elsewhere, so it needs no word here: without a reference that is left for it,
 * a taker makes its own. A caller who retained for each but one has made just as many as are taken. */
xt_status data_take(xt_dataset *d, const char *who) {
    pthread_mutex_lock(&owners);
    bool lives = is_living(d);
    if (lives && d->refs <= d->taken) d->refs++;
    if (lives) d->taken++;
    pthread_mutex_unlock(&owners);
    return lives ? NULL
                 : status_new(XT_FAILED_PRECONDITION, NULL,
                              "%s: the dataset was freed with the loader (or the dataset) that it was given to: "
                              "xt_dataset_retain(ds) keeps it for another",
                              who);
}

void data_drop(xt_dataset *d) {
    if (d) let_go(d, true);
}

xt_dataset *xt_dataset_retain(xt_dataset *d) {
    pthread_mutex_lock(&owners);
    if (is_living(d)) d->refs++; /* whoever takes one that is gone says so, with a line */
    pthread_mutex_unlock(&owners);
    return d;
}

/* The references that are left may all be those of loaders: what they read is not the caller's to free. */
void xt_dataset_free(xt_dataset *d) {
    if (!d) return;
    pthread_mutex_lock(&owners);
    bool own = d->refs > d->taken;
    pthread_mutex_unlock(&owners);
    if (own)
        let_go(d, false);
    else
        lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL,
                             "xt_dataset_free: the dataset %s belongs to the loader (or the dataset) that took it, and "
                             "is freed with that; xt_dataset_retain(ds) before makes a reference of one's own",
                             d->name));
}

/* --- a description with functions --- */

static xt_dataset *allocate(const char *name) {
    xt_dataset *ds = handle_new(HANDLE_dataset, sizeof *ds);
    if (!ds || !(ds->name = base_strdup(name ? name : "dataset"))) {
        if (ds) base_free(ds->name);
        handle_free(ds);
        return data_fail(status_oom(sizeof *ds, "a dataset"), NULL);
    }
    ds->refs = 1;
    live_add(LIVE_dataset, 1);
    return ds;
}

xt_dataset *xt_dataset_new_at(const xt_src *src, const xt_dataset_desc *given) {
    SRC_CALLED_FROM(src);
    xt_dataset_desc d = {0};
    if (given) memcpy(&d, given, given->struct_size && given->struct_size < sizeof d ? given->struct_size : sizeof d);
    const char *why = !d.get                           ? "a get function is needed"
                      : d.count < 0                    ? "the count is negative"
                      : d.more[0].dtype && !d.get_more ? ".more needs a get_more function"
                                                       : NULL;
    xt_status s = why ? status_new(XT_INVALID_ARGUMENT, NULL, "xt_dataset_new: %s", why)
                      : data_spec_check("xt_dataset_new", "x", &d.x);
    if (!s && d.y.dtype) s = data_spec_check("xt_dataset_new", "y", &d.y);
    for (int k = 0; !s && k < XT_MORE_FIELDS && d.more[k].dtype; k++)
        s = data_spec_check("xt_dataset_new", "one of .more", &d.more[k]);
    if (s) return data_fail(s, NULL);
    xt_dataset *ds = allocate(d.name);
    if (!ds) return NULL;
    ds->d = d;
    ds->types[0] = data_spec_type(&d.x);
    ds->types[1] = d.y.dtype ? data_spec_type(&d.y) : NULL;
    for (int k = 0; k < XT_MORE_FIELDS && d.more[k].dtype; k++) ds->types[2 + k] = data_spec_type(&d.more[k]);
    return ds;
}

xt_dataset *data_make(xt_dataset_desc d) {
    d.struct_size = sizeof d;
    xt_dataset *ds = xt_dataset_new_at(NULL, &d);
    if (!ds && d.free_user) d.free_user(d.user);
    return ds;
}

xt_dataset *xt_stream_dataset_at(const xt_src *src, const xt_stream_desc *d) {
    SRC_CALLED_FROM(src);
    xt_status s = !d || !d->open || !d->next || !d->close
                      ? status_new(XT_INVALID_ARGUMENT, NULL, "xt_stream_dataset: open, next and close are needed")
                      : data_spec_check("xt_stream_dataset", "x", &d->x);
    if (!s && d->y.dtype) s = data_spec_check("xt_stream_dataset", "y", &d->y);
    if (s) return data_fail(s, NULL);
    xt_dataset *ds = allocate(d->name ? d->name : "stream");
    if (!ds) return NULL;
    ds->stream = *d;
    ds->d = (xt_dataset_desc){
        .struct_size = sizeof ds->d, .count = -1, .x = d->x, .y = d->y, .free_user = d->free_user, .user = d->user};
    ds->types[0] = data_spec_type(&d->x);
    ds->types[1] = d->y.dtype ? data_spec_type(&d->y) : NULL;
    return ds;
}

int64_t xt_dataset_count(const xt_dataset *d) {
    return d ? d->d.count : 0;
}
xt_spec xt_dataset_x(const xt_dataset *d) {
    return d ? d->d.x : (xt_spec){0};
}
xt_spec xt_dataset_y(const xt_dataset *d) {
    return d ? d->d.y : (xt_spec){0};
}

/* --- random numbers of a sample --- */
static _Thread_local struct {
    bool loading;
    uint64_t seed, at;
    int64_t epoch, sample;
} draw;

void data_draw_begin(uint64_t seed, int64_t epoch, int64_t sample) {
    draw.loading = true;
    draw.seed = seed;
    draw.epoch = epoch;
    draw.sample = sample;
    draw.at = 0;
}

void data_draw_end(void) {
    draw.loading = false;
}

double xt_sample_uniform(void) {
    uint64_t bits = rng_bits(draw.seed ^ ((uint64_t)draw.epoch * 0x9E3779B97F4A7C15u),
                             0x73616d70u + (uint64_t)draw.sample, draw.at++);
    return (double)(bits >> 11) * 0x1p-53;
}

void data_permute(int64_t *order, int64_t n, uint64_t seed, uint64_t stream) {
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(rng_bits(seed, stream, (uint64_t)i) % (uint64_t)(i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* --- samples --- */
xt_status data_get(xt_dataset *d, int64_t i, void *const *fields) {
    if (d->d.count < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s is a stream: its samples have no numbers", d->name);
    if (i < 0 || i >= d->d.count)
        return status_new(XT_OUT_OF_RANGE, NULL, "%s: sample %lld of %lld", d->name, (long long)i,
                          (long long)d->d.count);
    bool alone = !draw.loading; /* asked for outside a loader */
    if (alone) data_draw_begin(0, 0, i);
    lazy_called call;
    lazy_call_begin(&call, "a dataset's get", d);
    xt_status s = d->d.get(d->d.user, i, fields[0], fields[1]);
    if (!s && d->types[2]) {
        bool wanted = false;
        for (int k = 2; k < DATA_FIELDS; k++) wanted |= fields[k] != NULL;
        if (wanted) s = d->d.get_more(d->d.user, i, fields + 2);
    }
    s = lazy_call_end(&call, s);
    if (alone) data_draw_end();
    return s ? status_context(s, "%s: sample %lld", d->name, (long long)i) : NULL;
}

xt_status xt_dataset_get(xt_dataset *d, int64_t i, void *x, void *y) {
    if (!d) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_dataset_get: the dataset is NULL");
    void *fields[DATA_FIELDS] = {x, y};
    return data_get(d, i, fields);
}

/* --- C arrays --- */
typedef struct arrays {
    const char *x, *y;
    size_t x_bytes, y_bytes;
} arrays;

static xt_status get_row(void *user, int64_t i, void *x, void *y) {
    const arrays *a = user;
    memcpy(x, a->x + (size_t)i * a->x_bytes, a->x_bytes);
    if (y && a->y) memcpy(y, a->y + (size_t)i * a->y_bytes, a->y_bytes);
    return NULL;
}

xt_dataset *xt_array_dataset_at(const xt_src *src, const void *x, xt_spec x_spec, const void *y, xt_spec y_spec,
                                int64_t count) {
    SRC_CALLED_FROM(src);
    xt_status s = x ? data_spec_check("xt_array_dataset", "x", &x_spec)
                    : status_new(XT_INVALID_ARGUMENT, NULL,
                                 "xt_array_dataset: x is NULL; an array of %lld samples is expected", (long long)count);
    if (!s && (y || y_spec.dtype))
        s = y ? data_spec_check("xt_array_dataset", "y", &y_spec)
              : status_new(XT_INVALID_ARGUMENT, NULL,
                           "xt_array_dataset: y has a spec and is NULL; give its array, or (xt_spec){0} where there "
                           "are no labels");
    arrays *a = s ? NULL : base_calloc(1, sizeof *a);
    if (!a) return data_fail(s ? s : status_oom(sizeof *a, "a dataset"), NULL);
    *a = (arrays){x, y, data_spec_bytes(&x_spec), data_spec_bytes(&y_spec)};
    return data_make((xt_dataset_desc){
        .count = count, .x = x_spec, .y = y_spec, .get = get_row, .free_user = base_free, .user = a, .name = "array"});
}
