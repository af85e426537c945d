/* Samplers: the order of an epoch. Each order depends on (seed, epoch) alone, so that every rank computes the same one
 * and a resumed run goes on with it. What a sampler gives is looked at before anything is read by it. */
#include <math.h>
#include <stdlib.h>

#include "base/handle.h"
#include "data/loader_int.h"

sampler *sampler_hold(const xt_sampler *s) {
    if (!s) return NULL;
    atomic_fetch_add(&s->of->owners, 1);
    return s->of;
}

void sampler_let_go(sampler *s) {
    if (!s || atomic_fetch_sub(&s->owners, 1) > 1) return;
    lazy_inside_fn call;
    lazy_enter(&call, "a sampler's free_user", NULL);
    if (s->d.free_user) s->d.free_user(s->d.user);
    lazy_leave(&call);
    base_free(s);
    live_add(LIVE_sampler, -1);
}

void xt_sampler_free(xt_sampler *s) {
    if (!s) return;
    sampler *of = s->of;
    lazy_disown(s);
    handle_free(s);
    sampler_let_go(of);
}

static void free_sampler(void *s) {
    xt_sampler_free(s);
}

/* NULL: memory has run out, and the user is the caller's still. */
static xt_status make(const xt_sampler_desc *d, xt_sampler **out) {
    xt_sampler *s = handle_new(HANDLE_sampler, sizeof *s);
    sampler *of = base_malloc(sizeof *of);
    if (!s || !of || !lazy_own(s, free_sampler)) {
        base_free(of);
        handle_free(s);
        return status_oom(sizeof *of, "a sampler");
    }
    *of = (sampler){.d = *d, .owners = 1};
    s->of = of;
    live_add(LIVE_sampler, 1);
    *out = s;
    return NULL;
}

xt_status sampler_make(xt_sampler_desc d, xt_sampler **out) {
    xt_status s = make(&d, out);
    if (s) d.free_user(d.user);
    return s;
}

xt_sampler *xt_sampler_new_at(const xt_src *src, const xt_sampler_desc *given) {
    SRC_CALLED_FROM(src);
    xt_sampler_desc d = {0};
    xt_sampler *out = NULL;
    if (given) memcpy(&d, given, given->struct_size && given->struct_size < sizeof d ? given->struct_size : sizeof d);
    const char *why = !d.order      ? "an order function is needed"
                      : d.count < 0 ? "the count is negative"
                      : !d.count    ? "its count is 0; say how many samples an epoch has"
                                    : NULL;
    xt_status s = why ? status_new(XT_INVALID_ARGUMENT, NULL, "xt_sampler_new: %s", why) : make(&d, &out);
    if (s) lazy_fail(s);
    return out;
}

bool loader_ordered(const xt_loader *l) {
    return l->o.shuffle == XT_ON || l->sampler;
}

/* The user's function, which may draw. */
static xt_status order(const xt_loader *l, int64_t epoch, int64_t *out) {
    const xt_epoch e = {l->o.seed, epoch, l->count, l->o.batch * l->parts, l->parts};
    const xt_sampler_desc *s = &l->sampler->d;
    data_draw_begin(l->o.seed, epoch, -1);
    lazy_called call;
    lazy_call_begin(&call, "a sampler's order", l);
    xt_status bad = lazy_call_end(&call, s->order(s->user, &e, out));
    data_draw_end();
    return status_context(bad, "the sampler of %s, epoch %lld", l->ds->name, (long long)epoch);
}

xt_status loader_order(const xt_loader *l, int64_t epoch, int64_t *out) {
    int64_t n = l->count;
    if (!l->sampler) {
        for (int64_t i = 0; i < n; i++) out[i] = i;
        if (l->o.shuffle == XT_ON) data_permute(out, n, l->o.seed, 0x73687566u + (uint64_t)epoch);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) out[i] = -1;
    XT_TRY(order(l, epoch, out));
    for (int64_t i = 0; i < n; i++)
        if (out[i] < 0 || out[i] >= l->ds->d.count)
            return status_new(
                XT_OUT_OF_RANGE, NULL,
                "the sampler of %s: place %lld of %lld in epoch %lld is sample %lld%s; the dataset has %lld",
                l->ds->name, (long long)i, (long long)n, (long long)epoch, (long long)out[i],
                out[i] == -1 ? ", as where nothing was filled in" : "", (long long)l->ds->d.count);
    return NULL;
}

int64_t loader_longest(const xt_loader *l, const int64_t *order, int64_t index) {
    const xt_sampler_desc *s = l->sampler ? &l->sampler->d : &(xt_sampler_desc){0};
    int64_t all = l->o.batch * l->parts, most = 0;
    for (int64_t i = index * all; s->bound && order && i < l->count && i < (index + 1) * all; i++) {
        lazy_inside_fn call;
        lazy_enter(&call, "a sampler's bound", l);
        int64_t b = s->bound(s->user, order[i]);
        lazy_leave(&call);
        if (b > most) most = b;
    }
    return most;
}

xt_status loader_count_tokens(const xt_loader *l, int64_t sample, void *const *fields, int64_t *total) {
    int64_t n = l->ds->tokens;
    bool asked = l->o.tokens || (l->sampler && l->sampler->d.length);
    lazy_inside_fn call;
    if (asked) lazy_enter(&call, "a loader's count of tokens", l);
    if (l->o.tokens)
        n = l->o.tokens(l->o.tokens_user, fields[0], fields[1], fields + 2);
    else if (asked)
        n = l->sampler->d.length(l->sampler->d.user, sample);
    if (asked) lazy_leave(&call);
    if (n < 0)
        return status_new(XT_OUT_OF_RANGE, NULL, "%s: sample %lld is said to have %lld tokens", l->ds->name,
                          (long long)sample, (long long)n);
    *total += n;
    return NULL;
}

/* --- weighted --- */
typedef struct weighted {
    int64_t n;
    bool replacement;
    double sum[]; /* of the weights up to each */
} weighted;

/* Element k of the stream of an epoch, in [0,1). */
static double uniform(const xt_epoch *e, uint64_t stream, uint64_t k) {
    return (double)(rng_bits(e->seed, stream + (uint64_t)e->epoch, k) >> 11) * 0x1p-53;
}

/* The first sample whose sum is above v: one of weight 0 has the sum of the one before it and is never the first. */
static int64_t find(const weighted *w, double v) {
    int64_t lo = 0, hi = w->n - 1;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (w->sum[mid] > v)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

typedef struct keyed {
    double key;
    int64_t i;
} keyed;
static int by_key(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    return x->key != y->key ? x->key < y->key ? -1 : 1 : x->i < y->i ? -1 : x->i > y->i;
}

/* Without replacement: the samples whose exponential clocks of rate w ring first (Efraimidis and Spirakis 2006). */
static xt_status draw_once(const weighted *w, const xt_epoch *e, int64_t *out) {
    keyed *k = base_malloc((size_t)w->n * sizeof *k);
    if (!k) return status_oom((size_t)w->n * sizeof *k, "a weighted draw");
    for (int64_t i = 0; i < w->n; i++) {
        double weight = w->sum[i] - (i ? w->sum[i - 1] : 0);
        k[i] = (keyed){weight > 0 ? -log1p(-uniform(e, 0x77657831u, (uint64_t)i)) / weight : INFINITY, i};
    }
    qsort(k, (size_t)w->n, sizeof *k, by_key);
    for (int64_t i = 0; i < e->count; i++) out[i] = k[i].i;
    base_free(k);
    return NULL;
}

static xt_status weighted_order(void *user, const xt_epoch *e, int64_t *out) {
    const weighted *w = user;
    if (!w->replacement) return draw_once(w, e, out);
    for (int64_t i = 0; i < e->count; i++) out[i] = find(w, uniform(e, 0x77656967u, (uint64_t)i) * w->sum[w->n - 1]);
    return NULL;
}

static xt_status sum_weights(weighted *w, const double *weights, int64_t *out_possible) {
    double sum = 0;
    int64_t possible = 0;
    for (int64_t i = 0; i < w->n; i++) {
        if (!(weights[i] >= 0) || !isfinite(sum + weights[i]))
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "xt_weighted_sampler: weight %lld is %g; expected numbers that are not negative, with a "
                              "finite sum",
                              (long long)i, weights[i]);
        w->sum[i] = sum += weights[i];
        possible += weights[i] > 0;
    }
    *out_possible = possible;
    return possible
               ? NULL
               : status_new(XT_INVALID_ARGUMENT, NULL, "xt_weighted_sampler: all %lld weights are 0", (long long)w->n);
}

static xt_status make_weighted(const double *weights, int64_t n, const xt_weighted_sampler_opts *o, xt_sampler **out) {
    size_t bytes;
    if (n < 1 || (o->count < 1 && o->count != -1) || !size_mul((size_t)n, sizeof(double), &bytes))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_weighted_sampler: %lld weights, .count %lld; expected at least one weight, and a count "
                          "of at least 1, or -1 for as many as there are weights",
                          (long long)n, (long long)o->count);
    weighted *w = base_malloc(sizeof *w + bytes);
    if (!w) return status_oom(bytes, "weights");
    *w = (weighted){.n = n, .replacement = o->replacement != XT_OFF};
    int64_t possible = 0, count = o->count == -1 ? n : o->count;
    xt_status s = sum_weights(w, weights, &possible);
    if (!s && !w->replacement && count > possible)
        s = status_new(
            XT_INVALID_ARGUMENT, NULL,
            "xt_weighted_sampler: %lld draws of %lld samples with a weight above 0: without .replacement each "
            "is drawn once at most",
            (long long)count, (long long)possible);
    if (!s)
        return sampler_make(
            (xt_sampler_desc){.count = count, .order = weighted_order, .free_user = base_free, .user = w}, out);
    base_free(w);
    return s;
}

xt_sampler *xt_weighted_sampler_opt(const xt_src *src, const double *weights, int64_t n, xt_weighted_sampler_opts o) {
    SRC_CALLED_FROM(src);
    xt_sampler *out = NULL;
    xt_status s = make_weighted(weights, n, &o, &out);
    if (s) lazy_fail(status_at(s, src));
    return out;
}

/* --- buckets of lengths --- */
typedef struct buckets {
    int64_t n;
    int n_boundaries;
    int64_t *boundaries;
    int64_t bound[]; /* of each sample: the boundary that it belongs to; behind all of them their lengths */
} buckets;

static void buckets_free(void *user) {
    buckets *b = user;
    base_free(b->boundaries);
    base_free(b);
}

static int64_t bound_of(void *user, int64_t i) {
    return ((const buckets *)user)->bound[i];
}

static int64_t length_of(void *user, int64_t i) {
    const buckets *b = user;
    return b->bound[b->n + i];
}

/* The shuffled samples bucket by bucket, so that each batch but those that end a bucket has one bound; then the batches
 * in random order. The last, short batch stays last, where a loader expects it. */
static xt_status bucket_order(void *user, const xt_epoch *e, int64_t *out) {
    const buckets *b = user;
    int64_t whole = e->count / e->batch, at = 0;
    int64_t *shuffled = base_malloc(((size_t)b->n + (size_t)whole + 1) * sizeof *shuffled), *batches = shuffled + b->n;
    if (!shuffled) return status_oom((size_t)b->n * sizeof *shuffled, "the order of buckets");
    int64_t *sorted = base_malloc((size_t)b->n * sizeof *sorted);
    if (!sorted) {
        base_free(shuffled);
        return status_oom((size_t)b->n * sizeof *sorted, "the order of buckets");
    }
    for (int64_t i = 0; i < b->n; i++) shuffled[i] = i;
    data_permute(shuffled, b->n, e->seed, 0x62756b31u + (uint64_t)e->epoch);
    for (int k = 0; k < b->n_boundaries; k++)
        for (int64_t i = 0; i < b->n; i++)
            if (b->bound[shuffled[i]] == b->boundaries[k]) sorted[at++] = shuffled[i];
    for (int64_t i = 0; i < whole; i++) batches[i] = i;
    data_permute(batches, whole, e->seed, 0x62756b32u + (uint64_t)e->epoch);
    for (int64_t i = 0; i < whole; i++)
        memcpy(out + i * e->batch, sorted + batches[i] * e->batch, (size_t)e->batch * sizeof *out);
    memcpy(out + whole * e->batch, sorted + whole * e->batch, (size_t)(e->count - whole * e->batch) * sizeof *out);
    base_free(sorted);
    base_free(shuffled);
    return NULL;
}

static xt_status put_in_buckets(buckets *b, const int64_t *lengths) {
    for (int k = 1; k < b->n_boundaries; k++)
        if (b->boundaries[k] <= b->boundaries[k - 1])
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "xt_bucket_sampler: boundary %d is %lld behind %lld; expected ascending numbers", k,
                              (long long)b->boundaries[k], (long long)b->boundaries[k - 1]);
    for (int64_t i = 0; i < b->n; i++) {
        int k = 0;
        while (k < b->n_boundaries && lengths[i] > b->boundaries[k]) k++;
        if (k == b->n_boundaries || lengths[i] < 0)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "xt_bucket_sampler: the length of sample %lld is %lld; the boundaries are for 0 to %lld",
                              (long long)i, (long long)lengths[i], (long long)b->boundaries[b->n_boundaries - 1]);
        b->bound[i] = b->boundaries[k];
    }
    return NULL;
}

static xt_status make_buckets(const int64_t *lengths, int64_t n, int n_boundaries, const int64_t *boundaries,
                              xt_sampler **out) {
    size_t bytes;
    if (n < 1 || n_boundaries < 1 || !size_mul((size_t)n, sizeof *lengths, &bytes))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_bucket_sampler: %lld lengths and %d boundaries; expected at least one of each",
                          (long long)n, n_boundaries);
    buckets *b = bytes <= SIZE_MAX / 4 ? base_malloc(sizeof *b + 2 * bytes) : NULL;
    int64_t *own = base_malloc((size_t)n_boundaries * sizeof *own);
    if (!b || !own) {
        base_free(b);
        base_free(own);
        return status_oom(bytes, "the lengths of samples");
    }
    *b = (buckets){.n = n, .n_boundaries = n_boundaries, .boundaries = own};
    memcpy(own, boundaries, (size_t)n_boundaries * sizeof *own);
    memcpy(b->bound + n, lengths, bytes);
    xt_status s = put_in_buckets(b, lengths);
    if (!s)
        return sampler_make((xt_sampler_desc){.count = n,
                                              .order = bucket_order,
                                              .bound = bound_of,
                                              .length = length_of,
                                              .free_user = buckets_free,
                                              .user = b},
                            out);
    buckets_free(b);
    return s;
}

xt_sampler *xt_bucket_sampler_at(const xt_src *src, const int64_t *lengths, int64_t n, int n_boundaries,
                                 const int64_t *boundaries) {
    SRC_CALLED_FROM(src);
    xt_sampler *out = NULL;
    xt_status s = make_buckets(lengths, n, n_boundaries, boundaries, &out);
    if (s) lazy_fail(status_at(s, src));
    return out;
}
