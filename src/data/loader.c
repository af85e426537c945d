/* Loaders, the loop's side: options, batches as tensors, epochs. The order of an epoch is a permutation drawn from
 * (seed, epoch), the same on every rank; the global batch is world consecutive ones of it, and each rank reads its
 * part. All ranks have the same number of batches: what does not divide is left out, or with .pad_last filled up. An
 * error in a sample travels to xt_next with the sample's index. */
#include "base/handle.h"
#include "data/loader_int.h"
#include "lazy/core/noted.h"
#include "lazy/mesh/mesh.h"

static void free_loader(void *l) {
    xt_loader_free(l);
}

/* xt_reinitialize: what is ready is thrown away and read again, from the batch that is next. */
static void let_go(void *user) {
    xt_loader *l = user;
    loader_stop(l);
    for (int k = 0; k < DATA_FIELDS; k++) {
        device_buffer_release(l->samples[k]);
        l->samples[k] = NULL;
    }
    device_buffer_release(l->ones);
    l->ones = NULL;
}

static const ir_type *batched(const ir_type *sample, int64_t n) {
    int64_t dims[XT_MAX_RANK];
    if (!sample || sample->rank + 1 > XT_MAX_RANK) return NULL;
    dims[0] = n;
    for (uint32_t i = 0; i < sample->rank; i++) dims[i + 1] = sample->dims[i];
    return ir_tensor(sample->dtype, sample->rank + 1, dims);
}

xt_loader *loader_new(void) {
    xt_loader *l = handle_new(HANDLE_loader, sizeof *l);
    if (!l) {
        lazy_fail(status_oom(sizeof *l, "a loader"));
        return NULL;
    }
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    lazy_batch_part(&l->part, &l->parts);
    live_add(LIVE_loader, 1);
    lazy_own(l, free_loader);
    lazy_on_reset(let_go, l);
    return l;
}

xt_loader *xt_sample_loader_opt(const xt_src *src, xt_sample_loader_opts o) {
    SRC_CALLED_FROM(src);
    int64_t n = o.batch;
    if (o.count == XT_UNSET) {
        lazy_fail(
            status_new(XT_INVALID_ARGUMENT, NULL, "xt_sample_loader: .count, the batches of an epoch, is needed"));
        return NULL;
    }
    const ir_type *x = batched(data_spec_type(&o.x), n), *y = o.y.dtype ? batched(data_spec_type(&o.y), n) : NULL;
    if (!x || n < 1 || o.count < 1 || (o.y.dtype && !y)) {
        lazy_fail(status_new(
            XT_INVALID_ARGUMENT, NULL,
            "xt_sample_loader: batch %lld, count %lld: both must be positive, and .x a known dtype with positive dims",
            (long long)o.batch, (long long)o.count));
        return NULL;
    }
    xt_loader *l = loader_new();
    if (!l) return NULL;
    l->types[0] = x;
    l->types[1] = y;
    l->batches = o.count;
    l->o.batch = n;
    return l;
}

static const option_row rows[] = {
    {"batch", "samples a step and rank", OPTION_I64, offsetof(xt_loader_opts, batch), 1, 1e9, NULL},
    {"workers", "reading threads", OPTION_INT, offsetof(xt_loader_opts, workers), 1, 64, NULL},
    {"prefetch", "batches read ahead", OPTION_INT, offsetof(xt_loader_opts, prefetch), 1, 1024, NULL},
    {"limit", "batches of an epoch; -1 = all", OPTION_I64, offsetof(xt_loader_opts, limit), 1, 1e15, NULL},
};

static xt_status check_sampler(const xt_dataset *ds, const xt_loader_opts *o) {
    const char *why = !o->sampler           ? NULL
                      : ds->d.count < 0     ? "a stream has an order of its own"
                      : o->shuffle == XT_ON ? "it says the order, so .shuffle = XT_ON cannot"
                                            : NULL;
    return why ? status_new(XT_INVALID_ARGUMENT, NULL, "xt_loader_new: the sampler of %s: %s", ds->name, why) : NULL;
}

static xt_status check_stream(const xt_dataset *ds, const xt_loader_opts *o, int64_t ranks) {
    if (ds->d.count >= 0) return NULL;
    const char *why = o->shuffle == XT_ON     ? "cannot be shuffled; shuffle in its own functions"
                      : o->on_device == XT_ON ? "cannot be put on the device as a whole"
                      : o->workers > 1        ? "is read in its own order by one thread; leave .workers out"
                      : ranks > 1 && o->limit < 0
                          ? "has no agreed length: with several ranks give .limit, the batches of an epoch on each"
                          : NULL;
    return why ? status_new(XT_INVALID_ARGUMENT, NULL, "xt_loader_new: the stream %s %s", ds->name, why) : NULL;
}

/* Samples of an epoch; -1: a stream. */
static int64_t samples_of(const xt_dataset *ds, const xt_loader_opts *o) {
    return o->sampler ? o->sampler->of->d.count : ds->d.count;
}

static xt_status check(const xt_dataset *ds, xt_loader_opts *o, int64_t ranks, int64_t *out_batches) {
    int64_t count = samples_of(ds, o);
    XT_TRY(options_check(rows, BASE_COUNT(rows), o, OPTION_DEFAULTS(xt_loader_opts), "xt_loader_new"));
    XT_TRY(check_sampler(ds, o));
    XT_TRY(check_stream(ds, o, ranks));
    if (o->pad_last == XT_ON && o->drop_last == XT_ON)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "xt_loader_new: .drop_last and .pad_last are both on; one of them says what becomes of the last batch");
    if (o->on_device == XT_ON && (ranks > 1 || lazy_spmd()))
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_loader_new: .on_device is for one device");
    for (int k = 0; k < DATA_FIELDS; k++)
        if (ds->types[k] && !batched(ds->types[k], o->batch))
            return status_new(XT_INVALID_ARGUMENT, NULL, "xt_loader_new: a batch of %lld does not fit",
                              (long long)o->batch);
    *out_batches = -1;
    if (count >= 0) {
        int64_t all = o->batch * ranks, rest = count % all;
        bool one_more = o->pad_last == XT_ON ? rest > 0 : o->drop_last == XT_OFF && rest >= ranks;
        *out_batches = count / all + one_more;
    }
    if (*out_batches == 0)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_loader_new: %s%s %s %lld sample%s, fewer than one batch of %lld on %lld rank%s; use a "
                          "smaller .batch, .pad_last = XT_ON "
                          "or .drop_last = XT_OFF",
                          o->sampler ? "the sampler of " : "", ds->name, o->sampler ? "gives" : "has", (long long)count,
                          count == 1 ? "" : "s", (long long)o->batch, (long long)ranks, ranks == 1 ? "" : "s");
    if (o->limit > 0 && (*out_batches < 0 || o->limit < *out_batches)) *out_batches = o->limit;
    return NULL;
}

/* With several ranks, once a dataset: who reads what, as a loader that does not shard trains every rank on the same
 * samples, and nothing else shows it. */
static void tell_shards(const xt_loader *l) {
    const world *w = world_get();
    char key[160], samples[64], batches[64] = "", lost[128] = "";
    if (w->size == 1 || w->rank != 0) return;
    snprintf(key, sizeof key, "loader shards %s %d", l->ds->name, l->parts > 1);
    if (l->parts == 1) {
        log_once(key, XT_SEV_INFO, "loader of %s: sharding is off (%s), each of the %d ranks reads every sample",
                 l->ds->name, l->o.shard == XT_OFF ? ".shard = XT_OFF" : "the mesh does not divide batches", w->size);
        return;
    }
    int64_t left_out = loader_left_out(l);
    int64_t odd = l->count > 0 && l->o.limit < 0 && l->o.drop_last == XT_OFF && l->o.pad_last != XT_ON
                      ? l->count % (l->o.batch * l->parts) % l->parts
                      : 0;
    if (left_out) snprintf(lost, sizeof lost, ", the last, incomplete one left out (.pad_last = XT_ON keeps it)");
    if (odd)
        snprintf(
            lost, sizeof lost,
            ", the last %lld of the order, which they cannot share evenly, left out (.pad_last = XT_ON keeps them)",
            (long long)odd);
    snprintf(samples, sizeof samples, "%lld samples", (long long)l->count);
    if (l->batches >= 0) snprintf(batches, sizeof batches, ", %lld batches an epoch on each", (long long)l->batches);
    if (l->ds->d.count < 0) { /* whoever opens the stream divides it */
        log_once(key, XT_SEV_INFO, "loader of %s: a stream, whose own functions pick each rank's share of it%s",
                 l->ds->name, batches);
        return;
    }
    log_once(key, XT_SEV_INFO,
             "loader of %s: %s, sharded over %lld %s: of every %lld in the epoch's order each reads its %lld%s%s; "
             ".shard = XT_OFF gives every rank all",
             l->ds->name, samples, (long long)l->parts, lazy_spmd() ? "parts of the mesh" : "ranks",
             (long long)(l->o.batch * l->parts), (long long)l->o.batch, batches, lost);
}

xt_loader *xt_loader_opt(const xt_src *src, xt_dataset *ds, xt_loader_opts given) {
    SRC_CALLED_FROM(src);
    xt_loader_opts o = XT_OPTS(xt_loader_opts, );
    memcpy(&o, &given, given.struct_size && given.struct_size < sizeof o ? given.struct_size : sizeof o);
    /* the first error wins: usually that of what should have made the dataset */
    xt_status s = ds ? data_take(ds, "xt_loader_new")
                     : status_new(XT_INVALID_ARGUMENT, NULL, "xt_loader_new: the dataset is NULL");
    if (s) {
        lazy_fail(s);
        return NULL;
    }
    int64_t part, ranks, batches;
    lazy_batch_part(&part, &ranks);
    if (o.shard == XT_OFF && !lazy_spmd()) ranks = 1;
    s = check(ds, &o, ranks, &batches);
    xt_loader *l = s ? NULL : loader_new();
    if (!l) {
        data_fail(s, ds);
        return NULL;
    }
    l->ds = ds;
    l->name = intern(ds->name);
    l->made = src_intern(src);
    l->o = o;
    l->sampler = sampler_hold(o.sampler);
    l->o.sampler = NULL;
    if (o.seed == XT_SEED_OF_RUN) l->o.seed = lazy_seed();
    l->count = samples_of(ds, &o);
    l->batches = batches;
    if (ranks == 1) l->part = 0, l->parts = 1;
    for (int k = 0; k < DATA_FIELDS; k++) l->types[k] = ds->types[k] ? batched(ds->types[k], o.batch) : NULL;
    l->capacity = (o.prefetch == -1 ? 2 : o.prefetch) + o.workers - 1;
    l->ring = base_calloc((size_t)l->capacity, sizeof *l->ring);
    l->threads = base_calloc((size_t)o.workers, sizeof *l->threads);
    if (!l->ring || !l->threads) {
        lazy_fail(status_oom((size_t)l->capacity * sizeof *l->ring, "a loader"));
        xt_loader_free(l);
        return NULL;
    }
    tell_shards(l);
    return l;
}

void xt_loader_free(xt_loader *l) {
    if (!l) return;
    if (lazy_thread_in()) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL,
                             "xt_loader_free inside %s: it waits for the loader's threads, and this may be one of "
                             "them; free it after that has returned",
                             lazy_thread_in()));
        return;
    }
    if (l->owned) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL,
                             "xt_loader_free: the loader is part of a combined one, which frees it"));
        return;
    }
    handle_pin(l); /* whoever frees it: what the program's functions do meanwhile comes to no half of it */
    lazy_pass_over(l);
    combined_free(l);
    lazy_disown(l);
    lazy_reset_forget(l);
    loader_stop(l);
    sampler_let_go(l->sampler);
    data_drop(l->ds);
    base_free(l->kept);
    for (int k = 0; k < DATA_FIELDS; k++) {
        device_buffer_release(l->samples[k]);
        lazy_extremes_release(l->resident_extremes[k]);
        if (!xt_is_none(l->resident[k])) xt_drop_at(XT_HERE, l->resident[k]);
    }
    device_buffer_release(l->ones);
    base_free(l->resident_tokens);
    base_free(l->order);
    base_free(l->ring);
    base_free(l->threads);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    handle_free(l);
    live_add(LIVE_loader, -1);
}

/* --- batches --- */
static xt_status sample(xt_loader *l, ready *out) {
    for (int k = 0; k < DATA_FIELDS; k++) {
        if (!l->types[k]) continue;
        const void *zeros = base_zeros(ir_type_bytes(l->types[k]) + 1);
        if (!zeros) return status_oom(ir_type_bytes(l->types[k]), "a batch");
        if (!l->samples[k]) XT_TRY(loader_put(l->types[k], l->o.batch, zeros, &l->samples[k]));
        device_buffer_retain(out->fields[k] = l->samples[k]);
    }
    out->size = l->o.batch;
    return NULL;
}

static xt_status full_mask(xt_loader *l, device_buffer **out) {
    if (!l->ones) {
        float *ones = base_malloc((size_t)l->o.batch * sizeof *ones);
        if (!ones) return status_oom((size_t)l->o.batch * sizeof *ones, "a batch's mask");
        for (int64_t i = 0; i < l->o.batch; i++) ones[i] = 1;
        xt_status s = loader_put(ir_tensor(XT_F32, 1, &l->o.batch), l->o.batch, ones, &l->ones);
        base_free(ones);
        XT_TRY(s);
    }
    device_buffer_retain(*out = l->ones);
    return NULL;
}

/* A mesh made after the loader would divide batches in another way than it does. */
bool loader_fits_mesh(const xt_src *src, const xt_loader *l) {
    int64_t part, parts;
    lazy_batch_part(&part, &parts);
    if (!lazy_spmd() || parts == l->parts) return true;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                         "xt_next: the loader was made when batches had %lld part%s, the mesh divides them into %lld; "
                         "make the mesh (and "
                         "xt_mesh_batch) before the loader",
                         (long long)l->parts, l->parts == 1 ? "" : "s", (long long)parts));
    return false;
}

static void tell_short(xt_loader *l, int64_t size) {
    if (size == l->o.batch || l->told_short || l->o.pad_last == XT_ON) return;
    l->told_short = true;
    log_msg(XT_SEV_INFO,
            "the last batch of an epoch has %lld samples instead of %lld: one more program is compiled for it "
            "(.drop_last = XT_ON leaves it out, "
            ".pad_last = XT_ON fills it up)",
            (long long)size, (long long)l->o.batch);
}

static void tell_ended(xt_loader *l) {
    if (l->batches < 0 || l->told_ended) return;
    l->told_ended = true;
    log_msg(XT_SEV_WARNING,
            "the stream %s ended after %lld batches of epoch %lld, before .limit = %lld was reached: the epoch is as "
            "long as the stream (said once)",
            l->ds->name, (long long)l->next, (long long)l->epoch, (long long)l->o.limit);
}

static bool end_epoch(xt_loader *l) {
    l->next = 0;
    l->epoch++;
    lazy_pass_ends(l);
    return false;
}

int64_t loader_full_size(const xt_loader *l) {
    return l->o.batch * (lazy_spmd() ? l->parts : 1);
}

/* Of the batch that is next: x and y are the whole batch on a mesh, of which this rank has read `own`. */
static int64_t samples_in(const xt_loader *l, int64_t own) {
    int64_t all = loader_full_size(l), left = l->count - l->next * all;
    if (all == l->o.batch) return own;
    if (!l->ds || l->ds->d.count < 0) return own * l->parts;
    return left >= all ? all : l->o.pad_last == XT_ON ? left : left / l->parts * l->parts;
}

xt_status loader_fill(const xt_src *src, xt_loader *l, xt_batch *out, bool *end) {
    if (l->combined) return combined_fill(src, l, out);
    if (l->o.on_device == XT_ON) return resident_next(src, l, out);
    ready r = {0};
    xt_status s = l->ds ? loader_take(l, &r) : sample(l, &r);
    *end = !s && r.end;
    if (!s && !*end && l->o.pad_last == XT_ON && !r.mask) s = full_mask(l, &r.mask);
    if (s || *end) {
        ready_free(&r);
        return s;
    }
    tell_short(l, r.size);
    out->size = samples_in(l, r.size);
    out->longest = r.longest;
    out->tokens = r.tokens;
    xt_tensor *places[DATA_FIELDS] = {&out->x, &out->y};
    for (int k = 2; k < DATA_FIELDS; k++) places[k] = &out->more[k - 2];
    for (int k = 0; k < DATA_FIELDS; k++)
        if (r.fields[k]) {
            *places[k] = lazy_from_batch(src, r.fields[k]);
            lazy_note_extremes(*places[k], r.extremes[k]);
        }
    if (r.mask) out->mask = lazy_from_batch(src, r.mask);
    return NULL;
}

static lazy_shard shard_of(const xt_loader *l) {
    if (!l->ds || l->ds->d.count < 0) return (lazy_shard){.parts = 1};
    return (lazy_shard){.parts = l->parts,
                        .samples = l->ds->d.count,
                        .batch = l->o.batch,
                        .batches = l->batches,
                        .seed = l->o.seed,
                        .shuffle = l->o.shuffle == XT_ON,
                        .made = l->made};
}

/* An evaluation that is left early goes on behind the training that follows, where PyTorch's begins anew. */
static void tell_left(const xt_src *src, xt_loader *l) {
    int64_t updates = (int64_t)lazy_draws_now().updates, then = l->updates;
    l->updates = updates;
    if (!l->next || then < 0 || then == updates || !lazy_evaluates() || l->told_left || world_get()->rank) return;
    l->told_left = true;
    log_msg(XT_SEV_WARNING,
            "%s:%d: this evaluation goes on with batch %lld of a pass over the loader that was left early, before the "
            "training behind it: it sees other samples than the one before. xt_loader_set_epoch(loader, "
            "xt_loader_epoch(loader), 0) begins a pass anew, and .limit = %lld ends each there",
            src ? src->file : "?", src ? src->line : 0, (long long)l->next, (long long)l->next);
}

static bool next(const xt_src *src, xt_loader *l, xt_batch *out) {
    lazy_end_if_unseen("xt_next", src);
    lazy_pass_goes_on(l);
    bool ok = lazy_boundary(LAZY_LOADER, src), end = false;
    lazy_end_if_lost("xt_next", src);
    if (!ok || !loader_fits_mesh(src, l)) return false;
    if (l->batches >= 0 && l->next >= l->batches) return end_epoch(l);
    tell_left(src, l);
    out->index = l->next;
    out->epoch = l->epoch;
    lazy_begin(src);
    xt_status s = loader_fill(src, l, out, &end);
    if (s) {
        loader_stop(l);
        combined_each(l, loader_stop);
        lazy_fail(status_at(s, src));
        return false;
    }
    if (end) {
        tell_ended(l);
        return end_epoch(l);
    }
    if (!l->combined) lazy_note_batch(l, out->size < loader_full_size(l));
    lazy_position *at = lazy_position_of_thread();
    int64_t ours = lazy_share_of(out->size),
            trained = lazy_evaluates() ? 0 : ours; /* a validation's are none of the run's */
    const lazy_pass around = {at->loader, at->batch_size, at->batch, at->epoch, at->padded, 0};
    at->batch_size = out->size;
    at->batch = l->next;
    at->epoch = l->epoch;
    at->samples += trained;
    at->padded = l->o.pad_last == XT_ON;
    at->loader = l;
    at->shard = shard_of(l);
    at->uncounted = ours - trained;
    lazy_batch_given(around);
    l->next++;
    return !lazy_pending();
}

/* A loader's batches are one sequence, with places that one thread takes in turn; two threads at once would take the
 * same place, or hand it back while the other reads it. */
bool xt_next_at(const xt_src *src, xt_loader *l, xt_batch *out) {
    memset(out, 0, sizeof *out);
    if (atomic_flag_test_and_set(&l->in_next)) {
        lazy_fail(
            status_new(XT_FAILED_PRECONDITION, src,
                       "xt_next: another thread is in xt_next of this loader; a loader belongs to one thread at a "
                       "time, so give each thread a loader of its own"));
        return false;
    }
    bool more = next(src, l, out);
    atomic_flag_clear(&l->in_next);
    return more;
}

bool loader_pass_next(const xt_src *src, loader_pass *p, xt_batch *out) {
    xt_loader *l = p->l;
    if (p->next >= 0 && (l->next != p->next || l->epoch != p->epoch)) xt_loader_set_epoch(l, p->epoch, p->next);
    bool more = xt_next_at(src, l, out);
    p->epoch = l->epoch;
    p->next = l->next;
    return more;
}

loader_pass loader_mark(xt_loader *l) {
    return l ? (loader_pass){l, l->epoch, l->next} : (loader_pass){0};
}

void loader_return(const loader_pass *p) {
    if (p->l && p->next > 0 && (p->l->next != p->next || p->l->epoch != p->epoch))
        xt_loader_set_epoch(p->l, p->epoch, p->next);
}

int64_t xt_loader_batches(const xt_loader *l) {
    return l ? l->batches : 0;
}
int64_t xt_loader_batch_size(const xt_loader *l) {
    return l ? combined_first(l)->o.batch : 0;
}
int64_t xt_loader_epoch(const xt_loader *l) {
    return l ? l->epoch : 0;
}

/* The pass of this thread's loop, which a pass in between has put back where it was. */
static bool goes_on(const xt_loader *l) {
    const lazy_position *at = lazy_position_of_thread();
    for (int i = 0; i < at->n_open; i++) {
        const lazy_pass *p = &at->open[i].at;
        if (p->loader == l && p->epoch == l->epoch && p->batch + 1 == l->next) return true;
    }
    return false;
}

void xt_loader_set_epoch(xt_loader *l, int64_t epoch, int64_t batch) {
    if (!l) return;
    loader_stop(l);
    combined_each(l, loader_stop);
    l->epoch = epoch < 0 ? 0 : epoch;
    l->next = batch < 0 ? 0 : batch;
    l->updates = -1;
    if (!goes_on(l)) lazy_pass_over(l);
}

int64_t loader_readers(const xt_loader *l) {
    return l ? l->parts : 1;
}

int64_t loader_left_out(const xt_loader *l) {
    if (!l || !l->ds || l->batches < 0 || l->o.limit >= 0 || l->o.drop_last == XT_OFF || l->o.pad_last == XT_ON)
        return 0;
    return l->count % (l->o.batch * l->parts);
}

xt_spec loader_x(const xt_loader *l) {
    l = combined_first(l);
    xt_spec x = {.dtype = l->types[0]->dtype};
    memcpy(x.dims, l->types[0]->dims, l->types[0]->rank * sizeof *x.dims);
    return x;
}

void loader_set_sequential(xt_loader *l) {
    if (!l) return;
    combined_each(l, loader_set_sequential);
    loader_stop(l);
    l->o.shuffle = XT_OFF;
    sampler_let_go(l->sampler);
    l->sampler = NULL;
}

xt_tensor xt_masked_mean_at(const xt_src *src, xt_tensor values, xt_tensor mask) {
    xt_tensor m = mask;
    int64_t each = 1; /* values of one sample */
    for (int i = 1; i < xt_rank_of(values); i++) {
        m = xt_unsqueeze_at(src, m, -1);
        each *= xt_dim(values, i);
    }
    xt_tensor count = xt_maximum_at(src, xt_sum_at(src, mask), xt_full_at(src, 1, XT_F32, (const int64_t[]){0}));
    return xt_div_at(src, xt_sum_at(src, xt_mul_at(src, values, m)), xt_mul_scalar_at(src, count, (double)each));
}
