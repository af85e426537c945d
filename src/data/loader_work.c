/* The loader's threads: each claims the next batch number, reads its samples, puts it onto the device, and leaves it
 * in the ring. Batches are claimed and taken in order, so neither the number of threads nor their speed shows in what
 * the loop sees. */
#include "data/loader_int.h"
#include "base/cpus.h"

xt_status loader_put(const ir_type *type, int64_t n, const void *data, device_buffer **out) {
    int64_t dims[XT_MAX_RANK];
    memcpy(dims, type->dims, type->rank * sizeof *dims);
    dims[0] = n;
    device_client *c;
    XT_TRY(lazy_device(&c));
    return device_upload(c, type->dtype, type->rank, dims, data, out);
}

void ready_free(ready *r) {
    for (int k = 0; k < DATA_FIELDS; k++) {
        device_buffer_release(r->fields[k]);
        lazy_extremes_release(r->extremes[k]);
    }
    device_buffer_release(r->mask);
    xt_status_free(r->error);
    memset(r, 0, sizeof *r);
}

/* --- order --- */
/* Under the lock. */
static void order_release(batch_order *b) {
    if (b && --b->refs == 0) base_free(b);
}

xt_status loader_order_new(const xt_loader *l, int64_t epoch, batch_order **out) {
    size_t bytes;
    bool fits = size_mul((size_t)l->count, sizeof *(*out)->at, &bytes) && bytes < SIZE_MAX / 2;
    *out = fits ? base_malloc(sizeof **out + bytes) : NULL;
    if (!*out)
        return status_new(XT_RESOURCE_EXHAUSTED, NULL, "%s: no memory for the order of an epoch of %lld samples",
                          l->ds->name, (long long)l->count);
    **out = (batch_order){.epoch = epoch, .refs = 1};
    return NULL;
}

static xt_status make_order(xt_loader *l, int64_t epoch, batch_order **out) {
    batch_order *b;
    XT_TRY(loader_order_new(l, epoch, &b));
    l->making = b; /* loader_stop frees it, where a sampler ends the thread */
    xt_status s = loader_order(l, epoch, b->at);
    l->making = NULL;
    if (s)
        base_free(b);
    else
        *out = b;
    return s;
}

static xt_status thread_ended(const xt_loader *l) {
    return status_new(XT_ABORTED, NULL,
                      "%s: the loader's thread ended while it made a batch: a function that reads samples has left by "
                      "pthread_exit; it must return",
                      l->ds->name);
}

/* One thread makes an epoch's order, outside of the lock, as a sampler may be the user's function; the others wait. */
static xt_status order_of(xt_loader *l, int64_t epoch, batch_order **out) {
    *out = NULL;
    if (!loader_ordered(l)) return NULL;
    xt_status s = NULL;
    pthread_mutex_lock(&l->lock);
    while (l->ordering && !l->closed) pthread_cond_wait(&l->changed, &l->lock);
    if (l->ordering) /* the one that made it, whose batch may come behind this one */
        s = thread_ended(l);
    else if (!l->order || l->order->epoch != epoch) {
        batch_order *b = NULL;
        l->ordering = true;
        pthread_mutex_unlock(&l->lock);
        s = make_order(l, epoch, &b);
        pthread_mutex_lock(&l->lock);
        l->ordering = false;
        if (b) {
            order_release(l->order);
            l->order = b;
        }
        pthread_cond_broadcast(&l->changed);
    }
    if (!s) {
        l->order->refs++;
        *out = l->order;
    }
    pthread_mutex_unlock(&l->lock);
    return s;
}

void loader_share(const xt_loader *l, int64_t index, int64_t *out_first, int64_t *out_size) {
    int64_t all = l->o.batch * l->parts, first = index * all, left = l->count - first, size = l->o.batch, more = 0;
    if (left < all) { /* padded, nothing is left out, and the first parts have one more; else all have the same */
        size = left / l->parts;
        more = l->o.pad_last == XT_ON ? left % l->parts : 0;
    }
    *out_first = first + l->part * size + (l->part < more ? l->part : more);
    *out_size = size + (l->part < more);
}

/* --- reading --- */
typedef struct worker {
    xt_loader *l;
    char *rows[DATA_FIELDS]; /* host memory of a batch, used again for each */
    float *mask;
    size_t bytes[DATA_FIELDS]; /* of a sample */
} worker;

static void worker_free(worker *w) {
    for (int k = 0; k < DATA_FIELDS; k++) base_free(w->rows[k]);
    base_free(w->mask);
}

static xt_status worker_init(worker *w, xt_loader *l) {
    *w = (worker){.l = l};
    for (int k = 0; k < DATA_FIELDS; k++) {
        if (!l->types[k]) continue;
        w->bytes[k] = ir_type_bytes(l->ds->types[k]);
        if (!(w->rows[k] = base_malloc(ir_type_bytes(l->types[k]) + 1)))
            return status_oom(ir_type_bytes(l->types[k]), "a batch");
    }
    w->mask = base_malloc((size_t)l->o.batch * sizeof *w->mask);
    return w->mask ? NULL : status_oom((size_t)l->o.batch * sizeof *w->mask, "a batch's mask");
}

static void row_fields(const worker *w, int64_t row, void *fields[DATA_FIELDS]) {
    for (int k = 0; k < DATA_FIELDS; k++) fields[k] = w->rows[k] ? w->rows[k] + (size_t)row * w->bytes[k] : NULL;
}

/* tokens: the sum that the sample's are added to; NULL: it is padding. */
static xt_status read_row(worker *w, int64_t epoch, int64_t sample, int64_t row, int64_t *tokens) {
    void *fields[DATA_FIELDS];
    row_fields(w, row, fields);
    data_draw_begin(w->l->o.seed, epoch, sample);
    xt_status s = data_get(w->l->ds, sample, fields);
    data_draw_end();
    return s || !tokens ? s : loader_count_tokens(w->l, sample, fields, tokens);
}

/* Rows from n on repeat the samples before them: numbers that any model can stand, and the mask leaves out. */
static void pad(worker *w, int64_t n) {
    for (int64_t i = n; i < w->l->o.batch; i++)
        for (int k = 0; k < DATA_FIELDS; k++)
            if (w->rows[k])
                memcpy(w->rows[k] + (size_t)i * w->bytes[k], w->rows[k] + (size_t)(i - n) * w->bytes[k], w->bytes[k]);
    for (int64_t i = 0; i < w->l->o.batch; i++) w->mask[i] = i < n ? 1.0f : 0.0f;
}

lazy_extremes *loader_extremes(const xt_loader *l, int k, const void *rows, int64_t n) {
    const ir_type *t = l->ds->types[k];
    bool image = k == 0 && t && xt_dtype_size(t->dtype) == 1; /* x holds no labels, and tokens are wider than bytes */
    lazy_extremes *e = t && !image ? lazy_extremes_of(t->dtype, rows, n * t->count) : NULL;
    if (!e) return NULL;
    e->set = l->name;
    for (int i = 0; i < LAZY_EXTREMES; i++) e->at[i] /= t->count;
    return e;
}

/* first: of the samples in the epoch's order. */
static void note_labels(const worker *w, const batch_order *order, int64_t first, ready *r) {
    for (int k = 0; k < DATA_FIELDS; k++) {
        lazy_extremes *e = w->rows[k] ? loader_extremes(w->l, k, w->rows[k], r->size) : NULL;
        for (int i = 0; e && i < LAZY_EXTREMES; i++) e->at[i] = order ? order->at[first + e->at[i]] : first + e->at[i];
        r->extremes[k] = e;
    }
}

static xt_status put_batch(worker *w, ready *r) {
    xt_loader *l = w->l;
    bool padded = l->o.pad_last == XT_ON && r->size < l->o.batch;
    int64_t rows = padded ? l->o.batch : r->size;
    for (int k = 0; k < DATA_FIELDS; k++)
        if (l->types[k]) XT_TRY(loader_put(l->types[k], rows, w->rows[k], &r->fields[k]));
    return padded ? loader_put(ir_tensor(XT_F32, 1, &l->o.batch), l->o.batch, w->mask, &r->mask) : NULL;
}

static xt_status read_batch(worker *w, int64_t epoch, int64_t index, const batch_order *order, ready *r) {
    int64_t first;
    loader_share(w->l, index, &first, &r->size);
    r->longest = loader_longest(w->l, order ? order->at : NULL, index);
    for (int64_t i = 0; i < r->size; i++)
        XT_TRY(read_row(w, epoch, order ? order->at[first + i] : first + i, i, &r->tokens));
    note_labels(w, order, first, r);
    if (w->l->o.pad_last == XT_ON && r->size < w->l->o.batch) {
        if (r->size == 0) XT_TRY(read_row(w, epoch, 0, 0, NULL)); /* this rank has none at all */
        pad(w, r->size ? r->size : 1);
        if (r->size == 0) w->mask[0] = 0;
    }
    return put_batch(w, r);
}

/* --- streams --- */
static void stream_close(xt_loader *l) {
    lazy_inside_fn call;
    lazy_enter(&call, "a stream's close", l);
    if (l->stream) l->ds->stream.close(l->stream);
    lazy_leave(&call);
    l->stream = NULL;
}

static xt_status stream_row(worker *w, int64_t row, bool *end) {
    lazy_called call;
    lazy_call_begin(&call, "a stream's next", w->l);
    xt_status s = w->l->ds->stream.next(w->l->stream, w->rows[0] + (size_t)row * w->bytes[0],
                                        w->rows[1] ? w->rows[1] + (size_t)row * w->bytes[1] : NULL, end);
    s = lazy_call_end(&call, s);
    return s ? status_context(s, "%s", w->l->ds->name) : NULL;
}

static xt_status stream_open(worker *w, int64_t epoch, int64_t skip) {
    xt_loader *l = w->l;
    lazy_called call;
    lazy_call_begin(&call, "a stream's open", l);
    xt_status bad = lazy_call_end(&call, l->ds->stream.open(l->ds->stream.user, epoch, &l->stream));
    XT_TRY(status_context(bad, "%s: opening epoch %lld", l->ds->name, (long long)epoch));
    bool end = false;
    for (int64_t i = 0; i < skip && !end; i++) XT_TRY(stream_row(w, 0, &end));
    return NULL;
}

/* The stream has no batch `index`, of which it gave `rows` samples. The other ranks' may have one, and they would wait
 * for this one in it. An epoch without any batch is none: nothing would be trained, or measured, and nobody told. */
static xt_status stream_over(const xt_loader *l, int64_t epoch, int64_t index, int64_t rows, ready *r) {
    if (index == 0 && rows > 0)
        return status_new(XT_OUT_OF_RANGE, NULL,
                          "the stream %s ended after %lld sample%s of epoch %lld, fewer than one batch of %lld; use a "
                          "smaller .batch, .pad_last = XT_ON or .drop_last = XT_OFF",
                          l->ds->name, (long long)rows, rows == 1 ? "" : "s", (long long)epoch, (long long)l->o.batch);
    if (index == 0)
        return status_new(XT_OUT_OF_RANGE, NULL,
                          "the stream %s had no batch in epoch %lld: its open function must begin it anew for each "
                          "epoch, or no more epochs are asked for than it has",
                          l->ds->name, (long long)epoch);
    if (l->o.limit > 0 && l->parts > 1)
        return status_new(XT_OUT_OF_RANGE, NULL,
                          "%s ended in batch %lld of %lld on this rank; all ranks need .limit batches", l->ds->name,
                          (long long)index, (long long)l->o.limit);
    r->end = true;
    return NULL;
}

static xt_status stream_batch(worker *w, int64_t epoch, int64_t index, ready *r) {
    xt_loader *l = w->l;
    if (l->stream_ended) {
        l->stream_ended = false;
        return stream_over(l, epoch, index, 0, r);
    }
    if (!l->stream) XT_TRY(stream_open(w, epoch, index * l->o.batch));
    bool end = false;
    while (r->size < l->o.batch && !end) {
        data_draw_begin(l->o.seed, epoch, index * l->o.batch + r->size);
        xt_status s = stream_row(w, r->size, &end);
        data_draw_end();
        void *fields[DATA_FIELDS];
        row_fields(w, r->size, fields);
        if (!s && !end) s = loader_count_tokens(l, index * l->o.batch + r->size, fields, &r->tokens);
        if (s) return status_context(s, "sample %lld of the epoch", (long long)(index * l->o.batch + r->size));
        r->size += !end;
    }
    bool keep = r->size == l->o.batch || (r->size > 0 && (l->o.pad_last == XT_ON || l->o.drop_last == XT_OFF));
    if (end) stream_close(l);
    l->stream_ended = end && keep;
    if (!keep) return stream_over(l, epoch, index, r->size, r);
    note_labels(w, NULL, index * l->o.batch, r);
    if (r->size < l->o.batch) pad(w, r->size);
    return put_batch(w, r);
}

/* --- threads --- */
typedef struct claimed { /* the batch that the thread makes, for whoever waits when the user's function ends the thread
                          */
    worker *w;
    batch_order *order;
    int64_t number;
} claimed;

static void never_filled(void *p) {
    const claimed *c = p;
    xt_loader *l = c->w->l;
    pthread_mutex_lock(&l->lock);
    order_release(c->order);
    l->closed = true;
    l->ring[c->number % l->capacity] = (ready){.filled = true, .error = thread_ended(l)};
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    worker_free(c->w);
}

/* Calls what the user gave, which may end the thread. */
static void fill(claimed *c, int64_t epoch, int64_t index, ready *r) {
    pthread_cleanup_push(never_filled, c);
    if (!r->error && c->w->l->ds->d.count < 0)
        r->error = stream_batch(c->w, epoch, index, r);
    else if (!r->error && !(r->error = order_of(c->w->l, epoch, &c->order)))
        r->error = read_batch(c->w, epoch, index, c->order, r);
    pthread_cleanup_pop(0);
}

static void *work(void *p) {
    xt_loader *l = p;
    worker w;
    xt_status memory = worker_init(&w, l);
    lazy_thread_is_ours();
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (l->closed || l->claimed - l->taken >= l->capacity) {
            pthread_cond_wait(&l->changed, &l->lock);
            continue;
        }
        int64_t number = l->claimed++, epoch = l->claim_epoch, index = l->claim_index++;
        bool last = l->batches >= 0 && l->claim_index >= l->batches;
        if (last) {
            l->claim_index = 0;
            l->claim_epoch++;
        }
        claimed c = {&w, NULL, number};
        ready r = {.error = memory};
        memory = NULL;
        pthread_mutex_unlock(&l->lock);
        fill(&c, epoch, index, &r);
        if (l->ds->d.count < 0 && last) { /* .limit ends the epoch */
            stream_close(l);
            l->stream_ended = false;
        }
        pthread_mutex_lock(&l->lock);
        order_release(c.order);
        if (r.error) l->closed = true;
        if (r.end) {
            l->claim_index = 0;
            l->claim_epoch = epoch + 1;
        }
        r.filled = true;
        l->ring[number % l->capacity] = r;
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    worker_free(&w);
    xt_status_free(memory);
    return NULL;
}

xt_status loader_start(xt_loader *l) {
    if (l->running) return NULL;
    device_client *c;
    XT_TRY(lazy_device(&c)); /* opened here, so that its line is the user's */
    l->claim_epoch = l->epoch;
    l->claim_index = l->next;
    l->claimed = l->taken = 0;
    l->closed = false;
    counter_max(COUNTER_loader_workers, l->o.workers);
    int error = 0;
    while (l->running < l->o.workers && !(error = cpus_start(&l->threads[l->running], "a thread of a loader", work, l)))
        l->running++;
    return l->running ? NULL : status_no_thread(error, "the loader's thread");
}

/* --- as full as it can be --- */
void loader_keep_full(xt_loader *l) {
    int64_t in_flight = 2;
    if (!l || l->kept) return;
    env_int("XT_IN_FLIGHT", 1, &in_flight);
    l->n_kept = 1 + (in_flight < 64 ? in_flight : 64); /* that of the step being recorded, too */
    l->kept = base_calloc((size_t)l->n_kept, sizeof *l->kept);
}

static void let_go_of(struct loader_kept *k) {
    for (int i = 0; i <= DATA_FIELDS; i++) device_buffer_release(k->fields[i]);
    *k = (struct loader_kept){0};
}

static void keep(xt_loader *l, int64_t number, const ready *r) {
    struct loader_kept *k = &l->kept[number % l->n_kept];
    let_go_of(k);
    for (int i = 0; i <= DATA_FIELDS; i++) {
        k->fields[i] = i < DATA_FIELDS ? r->fields[i] : r->mask;
        if (k->fields[i]) device_buffer_retain(k->fields[i]);
    }
}

/* Waits for the places, under the lock. What one of them could not be filled for is the answer now: the trial may end
 * before its batch. */
static xt_status wait_full(xt_loader *l) {
    for (;;) {
        int filled = 0;
        for (int i = 0; i < l->capacity; i++) {
            if (l->ring[i].filled && l->ring[i].error) return status_clone(l->ring[i].error);
            filled += l->ring[i].filled;
        }
        if (filled == l->capacity || l->closed) return NULL;
        pthread_cond_wait(&l->changed, &l->lock);
    }
}

void loader_stop(xt_loader *l) {
    for (int64_t i = 0; l->kept && i < l->n_kept; i++) let_go_of(&l->kept[i]);
    if (!l->running || lazy_is_forked()) return; /* its threads stayed with the parent, and nothing is read here */
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    while (l->running > 0) pthread_join(l->threads[--l->running], NULL);
    l->stop = false;
    for (int i = 0; i < l->capacity; i++) ready_free(&l->ring[i]);
    order_release(l->order);
    l->order = NULL;
    l->ordering = false;
    base_free(l->making);
    l->making = NULL;
    stream_close(l);
    l->stream_ended = false;
}

xt_status loader_take(xt_loader *l, ready *out) {
    XT_TRY(loader_start(l));
    pthread_mutex_lock(&l->lock);
    ready *r = &l->ring[l->taken % l->capacity];
    if (!r->filled) {
        int64_t began = clock_ns();
        while (!r->filled) pthread_cond_wait(&l->changed, &l->lock);
        counter_add(COUNTER_loader_wait_ns, clock_ns() - began);
        lazy_not_recording(clock_ns() - began);
    }
    *out = *r;
    memset(r, 0, sizeof *r);
    int64_t number = l->taken++;
    pthread_cond_broadcast(&l->changed);
    xt_status s = out->error;
    out->error = NULL;
    if (l->kept && !s) {
        keep(l, number, out);
        s = wait_full(l);
    }
    pthread_mutex_unlock(&l->lock);
    return s;
}
