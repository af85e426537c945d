/* The order of tar shards: indices only, so that the loader divides, resumes and checks it as any other sampler's. */
#include "data/loader_int.h"
#include "data/tar_shards.h"

typedef struct order_of_shards {
    int64_t n, buffer; /* shards; samples of a rank's buffer */
    bool shuffled;
    int64_t first[]; /* n + 1: samples */
} order_of_shards;

typedef struct stream { /* a rank's: its shards one after the other, through its buffer */
    const order_of_shards *of;
    const int64_t *shards; /* all, in the epoch's order */
    int64_t part, parts;
    int64_t shard, next; /* place in `shards` of the one that is read, and its next sample */
    int64_t left; /* samples not yet given */
    int64_t *held, n_held;
    uint64_t drawn;
} stream;

/* The next sample as it lies; -1: there are no more. */
static int64_t read_next(stream *s) {
    while (s->shard < s->of->n) {
        int64_t k = s->shards[s->shard];
        if (s->next < s->of->first[k + 1] - s->of->first[k]) return s->of->first[k] + s->next++;
        s->shard += s->parts;
        s->next = 0;
    }
    return -1;
}

static void fill(stream *s) {
    while (s->n_held < s->of->buffer) {
        int64_t i = read_next(s);
        if (i < 0) return;
        s->held[s->n_held++] = i;
    }
}

static int64_t draw(stream *s, const xt_epoch *e) {
    fill(s);
    uint64_t key = (uint64_t)s->part << 40 | s->drawn++;
    double u = (double)(rng_bits(e->seed, 0x74617262u + (uint64_t)e->epoch, key) >> 11) * 0x1p-53;
    int64_t at = (int64_t)(u * (double)s->n_held), out = s->held[at];
    /* without a buffer to speak of the order stays: what is held is one sample */
    s->held[at] = s->held[--s->n_held];
    s->left--;
    return out;
}

/* Whose sample it is, or, where that rank has none left, of the one that has most. */
static stream *stream_for(stream *all, int64_t parts, int64_t part) {
    stream *best = &all[part];
    for (int64_t p = 0; p < parts && all[part].left == 0; p++)
        if (all[p].left > best->left) best = &all[p];
    return best;
}

/* Place i of the epoch's order is read by: a run of the batch each, of the last, shorter batch as equal as they come.
 */
static int64_t reader_of(const xt_epoch *e, int64_t i) {
    int64_t first = i / e->batch * e->batch, n = e->count - first < e->batch ? e->count - first : e->batch;
    int64_t size = n / e->parts, more = n % e->parts, at = i - first;
    int64_t longer = more * (size + 1);
    return at < longer ? at / (size + 1) : size ? more + (at - longer) / size : 0;
}

static void fill_order(const order_of_shards *o, const xt_epoch *e, const int64_t *order, stream *all, int64_t *out) {
    for (int64_t p = 0; p < e->parts; p++) {
        stream *s = &all[p];
        int64_t *held = s->held;
        *s = (stream){.of = o, .shards = order, .part = p, .parts = e->parts, .shard = p, .held = held};
        for (int64_t k = p; k < o->n; k += e->parts) s->left += o->first[order[k] + 1] - o->first[order[k]];
    }
    for (int64_t i = 0; i < e->count; i++) out[i] = draw(stream_for(all, e->parts, reader_of(e, i)), e);
}

static xt_status tar_order(void *user, const xt_epoch *e, int64_t *out) {
    const order_of_shards *o = user;
    int64_t *order = base_malloc((size_t)o->n * sizeof *order);
    stream *all = base_calloc((size_t)e->parts, sizeof *all);
    bool memory = order && all;
    for (int64_t p = 0; memory && p < e->parts; p++)
        memory = (all[p].held = base_malloc((size_t)o->buffer * sizeof *all[p].held)) != NULL;
    if (memory) {
        for (int64_t k = 0; k < o->n; k++) order[k] = k;
        if (o->shuffled) data_permute(order, o->n, e->seed, 0x74617273u + (uint64_t)e->epoch);
        fill_order(o, e, order, all, out);
    }
    for (int64_t p = 0; all && p < e->parts; p++) base_free(all[p].held);
    base_free(all);
    base_free(order);
    return memory ? NULL : status_oom((size_t)o->buffer * 8, "the order of shards");
}

xt_sampler *xt_tar_sampler_opt(const xt_src *src, const xt_dataset *d, xt_tar_sampler_opts given) {
    SRC_CALLED_FROM(src);
    int64_t n = xt_tar_shards(d), samples = n ? tar_shard_first(d, n) : 0;
    xt_status s = NULL;
    if (d && !n)
        s = status_new(XT_INVALID_ARGUMENT, src, "xt_tar_sampler: %s is no tar dataset (xt_tar_dataset)", d->name);
    else if (!d)
        s = status_new(XT_INVALID_ARGUMENT, src, "xt_tar_sampler: the dataset is NULL");
    else if (given.buffer < 1)
        s = status_new(XT_INVALID_ARGUMENT, src, "xt_tar_sampler: .buffer = %lld; at least 1 sample is needed",
                       (long long)given.buffer);
    order_of_shards *o = s ? NULL : base_malloc(sizeof *o + ((size_t)n + 1) * sizeof *o->first);
    if (!s && !o) s = status_oom((size_t)n * sizeof *o->first, "a sampler");
    xt_sampler *out = NULL;
    if (!s) {
        *o = (order_of_shards){n, given.buffer < samples ? given.buffer : samples, given.shuffle_shards != XT_OFF};
        for (int64_t k = 0; k <= n; k++) o->first[k] = tar_shard_first(d, k);
        s = sampler_make((xt_sampler_desc){.count = samples, .order = tar_order, .free_user = base_free, .user = o},
                         &out);
    }
    if (s) lazy_fail(s);
    return out;
}
