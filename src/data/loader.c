/* Loaders: order, shards, batches, and a background thread that reads samples and puts batches onto the device ahead of the loop.
 *
 * The order of an epoch is a permutation drawn from (seed, epoch): the same on every rank, so rank r takes batches r, r+world, ... and all ranks
 * have the same number of batches (what does not divide is left out). An error in a sample travels to xt_next with the sample's index.
 * The worker belongs to one epoch position: set_epoch and free stop it and drop what it had ready. */
#include "data/data.h"
#include "lazy/mesh.h"

#include <pthread.h>

typedef struct ready {
    device_buffer *x, *y;
    int64_t size, index, epoch;
    xt_status error;
} ready;

struct xt_loader {
    xt_dataset *ds;     /* NULL: a sample loader */
    xt_loader_opts o;
    const ir_type *x_type, *y_type;
    int64_t batches;    /* per epoch */
    int64_t part, parts; /* which part of a global batch is loaded here: by rank, or by the batch axes of the mesh */
    int64_t epoch, next; /* of the next batch xt_next gives */
    device_buffer *sample_x, *sample_y;
    /* worker */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool running, stop;
    ready *queue;
    int n_ready, head, capacity;
    int64_t *order;
    int64_t order_epoch;
    bool told_short;
};

static void free_loader(void *l) { xt_loader_free(l); }

static const ir_type *batched(const ir_type *sample, int64_t n) {
    int64_t dims[XT_MAX_RANK];
    if (!sample || sample->rank + 1 > XT_MAX_RANK) return NULL;
    dims[0] = n;
    for (uint32_t i = 0; i < sample->rank; i++) dims[i + 1] = sample->dims[i];
    return ir_tensor(sample->dtype, sample->rank + 1, dims);
}

static xt_loader *loader_new(void) {
    xt_loader *l = base_calloc(1, sizeof *l);
    if (!l) {
        lazy_fail(status_oom(sizeof *l, "a loader"));
        return NULL;
    }
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    l->order_epoch = -1;
    lazy_batch_part(&l->part, &l->parts);
    live_add(LIVE_loader, 1);
    lazy_own(l, free_loader);
    return l;
}

xt_loader *xt_sample_loader_opt(xt_sample_loader_opts o) {
    int64_t n = o.batch ? o.batch : 1;
    size_t rx = 0, ry = 0;
    while (rx < XT_MAX_RANK && o.x.dims[rx]) rx++;
    while (ry < XT_MAX_RANK && o.y.dims[ry]) ry++;
    const ir_type *x = o.x.dtype ? batched(ir_tensor(o.x.dtype, rx, o.x.dims), n) : NULL;
    const ir_type *y = o.y.dtype ? batched(ir_tensor(o.y.dtype, ry, o.y.dims), n) : NULL;
    if (!x || n < 1 || o.count < 0 || (o.y.dtype && !y)) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_sample_loader: batch %lld, count %lld: both must be positive, and .x a known dtype with positive dims", (long long)o.batch, (long long)o.count));
        return NULL;
    }
    xt_loader *l = loader_new();
    if (!l) return NULL;
    l->x_type = x;
    l->y_type = y;
    l->batches = o.count;
    l->o.batch = n;
    return l;
}

static const option_row rows[] = {
    {"batch", "samples a step and rank", OPTION_I64, offsetof(xt_loader_opts, batch), 1, 1, 1e9, NULL},
    {"workers", "reading threads", OPTION_INT, offsetof(xt_loader_opts, workers), 1, 1, 64, NULL},
    {"prefetch", "batches read ahead", OPTION_INT, offsetof(xt_loader_opts, prefetch), 2, 1, 1024, NULL},
    {"limit", "batches of an epoch; 0 = all", OPTION_I64, offsetof(xt_loader_opts, limit), 0, 0, 1e15, NULL},
};

xt_loader *xt_loader_opt(xt_dataset *ds, xt_loader_opts o) {
    if (!ds) return NULL; /* its own error is pending */
    xt_status s = options_check(rows, BASE_COUNT(rows), &o, "xt_loader_new");
    int64_t part, ranks;
    lazy_batch_part(&part, &ranks);
    if (o.shard == XT_OFF && !lazy_spmd()) ranks = 1;
    int64_t whole = s ? 0 : ds->d.count / (o.batch * ranks);
    bool keep_short = o.drop_last == XT_OFF && !s && ds->d.count % (o.batch * ranks) >= ranks;
    if (!s && whole + keep_short == 0)
        s = status_new(XT_INVALID_ARGUMENT, NULL, "xt_loader_new: %s has %lld samples, fewer than one batch of %lld on %lld rank%s; use a smaller .batch or .drop_last = XT_OFF", ds->name,
                       (long long)ds->d.count, (long long)o.batch, (long long)ranks, ranks == 1 ? "" : "s");
    if (!s && (!batched(ds->x_type, o.batch) || (ds->y_type && !batched(ds->y_type, o.batch)))) s = status_new(XT_INVALID_ARGUMENT, NULL, "xt_loader_new: a batch of %lld does not fit", (long long)o.batch);
    xt_loader *l = s ? NULL : loader_new();
    if (!l) {
        if (s) lazy_fail(s);
        xt_dataset_free(ds);
        return NULL;
    }
    l->ds = ds;
    l->o = o;
    if (!o.seed) l->o.seed = lazy_seed();
    l->batches = whole + keep_short;
    if (ranks == 1) l->part = 0, l->parts = 1;
    if (o.limit && o.limit < l->batches) l->batches = o.limit;
    l->x_type = batched(ds->x_type, o.batch);
    l->y_type = ds->y_type ? batched(ds->y_type, o.batch) : NULL;
    l->capacity = o.prefetch;
    l->queue = base_calloc((size_t)l->capacity, sizeof *l->queue);
    if (!l->queue) {
        lazy_fail(status_oom((size_t)l->capacity * sizeof *l->queue, "a loader"));
        xt_loader_free(l);
        return NULL;
    }
    return l;
}

/* --- the worker ---------------------------------------------------------------------------------------------------------------------------- */
/* Fisher-Yates from Philox: element k of an epoch's draw depends on (seed, epoch, k) only. */
static xt_status make_order(xt_loader *l, int64_t epoch) {
    int64_t n = l->ds->d.count;
    if (l->order_epoch == epoch) return NULL;
    if (!l->order && !(l->order = base_malloc((size_t)n * sizeof *l->order))) return status_oom((size_t)n * 8, "the order of an epoch");
    for (int64_t i = 0; i < n; i++) l->order[i] = i;
    if (l->o.shuffle == XT_ON)
        for (int64_t i = n - 1; i > 0; i--) {
            int64_t j = (int64_t)(rng_bits(l->o.seed, 0x73687566u + (uint64_t)epoch, (uint64_t)i) % (uint64_t)(i + 1)), t = l->order[i];
            l->order[i] = l->order[j];
            l->order[j] = t;
        }
    l->order_epoch = epoch;
    return NULL;
}

static xt_status put(const ir_type *type, int64_t n, const void *data, device_buffer **out) {
    int64_t dims[XT_MAX_RANK];
    memcpy(dims, type->dims, type->rank * sizeof *dims);
    dims[0] = n;
    device_client *c;
    XT_TRY(lazy_device(&c));
    return device_upload(c, type->dtype, type->rank, dims, data, out);
}

/* Reads batch `index` of `epoch`: with shards, the global batch is world consecutive ones, and this rank's part is one of them. */
static xt_status load(xt_loader *l, int64_t epoch, int64_t index, char *x, char *y, ready *out) {
    XT_TRY(make_order(l, epoch));
    int64_t ranks = l->parts, rank = l->part, batch = l->o.batch;
    int64_t first = index * batch * ranks, left = l->ds->d.count - first, size = batch;
    if (left < batch * ranks) size = left / ranks;
    first += rank * size;
    size_t xb = ir_type_bytes(l->ds->x_type), yb = l->ds->y_type ? ir_type_bytes(l->ds->y_type) : 0;
    for (int64_t i = 0; i < size; i++)
        XT_TRY(xt_dataset_get(l->ds, l->order[first + i], x + (size_t)i * xb, yb ? y + (size_t)i * yb : NULL));
    out->size = size;
    out->index = index;
    out->epoch = epoch;
    XT_TRY(put(l->x_type, size, x, &out->x));
    return yb ? put(l->y_type, size, y, &out->y) : NULL;
}

static void ready_free(ready *r) {
    device_buffer_release(r->x);
    device_buffer_release(r->y);
    xt_status_free(r->error);
    memset(r, 0, sizeof *r);
}

static void *work(void *p) {
    xt_loader *l = p;
    char *x = base_malloc(ir_type_bytes(l->x_type) + 1), *y = base_malloc(l->y_type ? ir_type_bytes(l->y_type) + 1 : 1);
    int64_t epoch = l->epoch, index = l->next;
    bool failed = false;
    pthread_mutex_lock(&l->lock);
    while (!l->stop && !failed) {
        if (l->n_ready == l->capacity) {
            pthread_cond_wait(&l->changed, &l->lock);
            continue;
        }
        pthread_mutex_unlock(&l->lock);
        ready r = {0};
        r.error = x && y ? load(l, epoch, index, x, y, &r) : status_oom(ir_type_bytes(l->x_type), "a batch");
        failed = r.error != NULL;
        if (++index >= l->batches) {
            index = 0;
            epoch++;
        }
        pthread_mutex_lock(&l->lock);
        l->queue[(l->head + l->n_ready++) % l->capacity] = r;
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    base_free(x);
    base_free(y);
    return NULL;
}

static void stop_worker(xt_loader *l) {
    if (!l->running) return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    l->running = l->stop = false;
    while (l->n_ready) {
        ready_free(&l->queue[l->head]);
        l->head = (l->head + 1) % l->capacity;
        l->n_ready--;
    }
    l->head = 0;
}

void xt_loader_free(xt_loader *l) {
    if (!l) return;
    lazy_disown(l);
    stop_worker(l);
    xt_dataset_free(l->ds);
    device_buffer_release(l->sample_x);
    device_buffer_release(l->sample_y);
    base_free(l->queue);
    base_free(l->order);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    base_free(l);
    live_add(LIVE_loader, -1);
}

/* --- the loop's side -------------------------------------------------------------------------------------------------------------------------- */
static xt_status sample(xt_loader *l, ready *out) {
    if (!l->sample_x) {
        size_t n = ir_type_bytes(l->x_type), m = l->y_type ? ir_type_bytes(l->y_type) : 0;
        void *zeros = base_calloc(1, (n > m ? n : m) + 1);
        if (!zeros) return status_oom(n, "a batch");
        xt_status s = put(l->x_type, l->o.batch, zeros, &l->sample_x);
        if (!s && l->y_type) s = put(l->y_type, l->o.batch, zeros, &l->sample_y);
        base_free(zeros);
        XT_TRY(s);
    }
    device_buffer_retain(l->sample_x);
    if (l->sample_y) device_buffer_retain(l->sample_y);
    *out = (ready){.x = l->sample_x, .y = l->sample_y, .size = l->o.batch, .index = l->next, .epoch = l->epoch};
    return NULL;
}

static xt_status take(xt_loader *l, ready *out) {
    if (!l->ds) return sample(l, out);
    if (!l->running) {
        device_client *c;
        XT_TRY(lazy_device(&c)); /* opened here, so that its line is the user's */
        if (pthread_create(&l->thread, NULL, work, l) != 0) return status_new(XT_UNAVAILABLE, NULL, "the loader's thread could not be started");
        l->running = true;
    }
    pthread_mutex_lock(&l->lock);
    int64_t began = clock_ns();
    bool waited = l->n_ready == 0;
    while (l->n_ready == 0) pthread_cond_wait(&l->changed, &l->lock);
    if (waited) {
        counter_add(COUNTER_loader_wait_ns, clock_ns() - began);
        lazy_not_recording(clock_ns() - began);
    }
    *out = l->queue[l->head];
    l->head = (l->head + 1) % l->capacity;
    l->n_ready--;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    xt_status s = out->error;
    out->error = NULL;
    return s;
}

/* A mesh made after the loader would divide batches in another way than it does. */
static bool fits_mesh(const xt_src *src, const xt_loader *l) {
    int64_t part, parts;
    lazy_batch_part(&part, &parts);
    if (!lazy_spmd() || parts == l->parts) return true;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src, "xt_next: the loader was made when batches had %lld part%s, the mesh divides them into %lld; make the mesh (and xt_mesh_batch) before the loader",
                         (long long)l->parts, l->parts == 1 ? "" : "s", (long long)parts));
    return false;
}

bool xt_next_at(const xt_src *src, xt_loader *l, xt_batch *out) {
    memset(out, 0, sizeof *out);
    bool ok = lazy_boundary(LAZY_LOADER, src);
    if (!l) lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_next: the loader is NULL; making it failed, or it was never made"));
    if (!ok || !l || !fits_mesh(src, l)) return false;
    if (l->next >= l->batches) {
        l->next = 0;
        l->epoch++;
        return false;
    }
    ready r = {0};
    lazy_begin(src);
    xt_status s = take(l, &r);
    if (s) {
        ready_free(&r);
        stop_worker(l);
        lazy_fail(status_at(s, src));
        return false;
    }
    if (r.size < l->o.batch && !l->told_short) {
        l->told_short = true;
        log_msg(XT_SEV_INFO, "the last batch of an epoch has %lld samples instead of %lld: one more program is compiled for it (.drop_last = XT_ON leaves it out)", (long long)r.size, (long long)l->o.batch);
    }
    out->size = r.size;
    out->index = l->next;
    out->epoch = l->epoch;
    out->x = lazy_from_batch(src, r.x);
    if (r.y) out->y = lazy_from_batch(src, r.y);
    lazy_position *at = lazy_position_of_thread();
    *at = (lazy_position){r.size, l->next, l->epoch, at->samples + (lazy_spmd() ? r.size * l->parts / world_get()->size : r.size)};
    l->next++;
    return !xt_error();
}

int64_t xt_loader_batches(const xt_loader *l) { return l ? l->batches : 0; }
int64_t xt_loader_batch_size(const xt_loader *l) { return l ? l->o.batch : 0; }
int64_t xt_loader_epoch(const xt_loader *l) { return l ? l->epoch : 0; }

void xt_loader_set_epoch(xt_loader *l, int64_t epoch, int64_t batch) {
    if (!l) return;
    stop_worker(l);
    l->epoch = epoch < 0 ? 0 : epoch;
    l->next = batch < 0 ? 0 : batch;
}
