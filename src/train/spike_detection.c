/* Spikes of the loss, judged on the device. Three states go with the step's program: the last good losses [window], how
 * many good ones and how many spikes there were [2], and the micro-batches of the last spikes [ring]. The count of
 * spikes travels with the row of logs, so watching costs no read; only when it has grown is the ring read. A spike does
 * not enter the mean. The states of all ranks are in checkpoints, so that a resumed run judges as the unbroken one
 * does. Rank 0's list of spikes is there as text; another rank's is what its ring still has. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "base/saved.h"
#include "coll/coll.h"
#include "train/train_int.h"

/* Rows may come late, by some hundred steps where the machine is busy, and each spike in between is listed. RING_WAS
 * and f32: of files of versions before. */
enum { RING = 1024, RING_WAS = 64, NOT_KNOWN = -1 };
typedef struct detector {
    xt_spike_detection_opts o;
    xt_tensor losses, counts, ring;
    int64_t seen; /* spikes reported */
    str batches; /* "12, 345", for the file */
    bool anew; /* the checkpoint's losses are of another window */
    bool own; /* this rank's own states were in it */
} detector;

static void free_detector(void *user) {
    detector *d = user;
    const xt_tensor states[] = {d->losses, d->counts, d->ring};
    for (size_t i = 0; i < BASE_COUNT(states); i++)
        if (lazy_type(states[i])) xt_drop_at(XT_HERE, states[i]);
    str_free(&d->batches);
    base_free(d);
}

/* --- on the device --- */
static xt_tensor number(double v) {
    return xt_full_at(XT_HERE, v, XT_F32, XT_DIMS_(1, 0));
}
/* [n] without its first element, with `last` at the end. */
static xt_tensor push(xt_tensor row, int64_t n, xt_tensor last) {
    return xt_concat_at(XT_HERE, 2, (xt_tensor[]){xt_slice_at(XT_HERE, row, 0, 1, n), last}, 0);
}
static void assign(xt_tensor state, xt_tensor value) {
    if (lazy_type(value)) lazy_assign(state, value);
}

static void make_states(detector *d) {
    int64_t losses = d->o.window, two = 2, ring = RING;
    if (d->losses.slot) return;
    d->losses = lazy_state_new(XT_HERE, LAZY_LOG, "spike detection: losses", XT_F32, 1, &losses, NULL);
    d->counts = lazy_state_new(XT_HERE, LAZY_LOG, "spike detection: counts", XT_F32, 1, &two, NULL);
    d->ring = lazy_state_new(XT_HERE, LAZY_LOG, "spike detection: batches", XT_I64, 1, &ring, NULL);
}

static void batch_end(xt_trainer *t, const xt_batch *b, void *user) {
    detector *d = user;
    (void)b;
    if (!lazy_type(t->step_loss) || lazy_pending()) return;
    make_states(d);
    xt_no_grad_begin();
    xt_tensor v =
        xt_reshape_at(XT_HERE, xt_cast_at(XT_HERE, xt_detach_at(XT_HERE, t->step_loss), XT_F32), XT_DIMS_(1, 0));
    xt_tensor good = xt_slice_at(XT_HERE, d->counts, 0, 0, 1), spikes = xt_slice_at(XT_HERE, d->counts, 0, 1, 2);
    xt_tensor mean = xt_div_at(XT_HERE, xt_reshape_at(XT_HERE, xt_sum_at(XT_HERE, d->losses), XT_DIMS_(1, 0)),
                               xt_maximum_at(XT_HERE, good, number(1)));
    xt_tensor limit = xt_add_at(XT_HERE, mean, xt_mul_scalar_at(XT_HERE, xt_abs_at(XT_HERE, mean), d->o.rtol));
    xt_tensor high = xt_logical_and_at(XT_HERE, xt_ge_at(XT_HERE, good, number(d->o.warmup > 1 ? d->o.warmup : 1)),
                                       xt_gt_at(XT_HERE, v, limit));
    xt_tensor bad = xt_logical_or_at(XT_HERE, high, xt_logical_not_at(XT_HERE, xt_isfinite_at(XT_HERE, v)));
    xt_tensor one = xt_cast_at(XT_HERE, bad, XT_F32);
    xt_tensor more_good =
        xt_minimum_at(XT_HERE, xt_add_at(XT_HERE, good, xt_sub__at(XT_HERE, number(1), one)), number(d->o.window));
    xt_tensor index = xt_reshape_at(XT_HERE, lazy_scalar(XT_HERE, XT_I64, (double)t->position.batches), XT_DIMS_(1, 0));
    xt_tensor all = xt_add_at(XT_HERE, spikes, one);
    assign(d->ring, xt_where_at(XT_HERE, bad, push(d->ring, RING, index), d->ring));
    assign(d->losses, xt_where_at(XT_HERE, bad, d->losses, push(d->losses, d->o.window, v)));
    assign(d->counts, xt_concat_at(XT_HERE, 2, (xt_tensor[]){more_good, all}, 0));
    xt_log_at(XT_HERE, "spikes", all,
              XT_OPTS(xt_log_opts, .on_step = XT_ON, .on_epoch = XT_OFF, .reduce = XT_LAST, .batch_size = 1));
    xt_no_grad_end_at(NULL);
}

/* --- on the host --- */
/* `lists`: "12, 345" of each rank; one rank's is a list, those of several an object. */
static void write_list(const xt_trainer *t, const char *const *lists, int n) {
    char *path = path_join(t->run_dir ? t->run_dir : ".", "skip_batches.json");
    str text = STR_INIT;
    if (n == 1) str_printf(&text, "[%s]\n", lists[0]);
    for (int r = 0; r < n && n > 1; r++)
        str_printf(&text, "%s\"rank %d\": [%s]%s", r ? ", " : "{", r, lists[r], r + 1 == n ? "}\n" : "");
    xt_status s =
        path && !text.failed ? file_write_all(path, str_cstr(&text), text.len) : status_oom(64, "skip_batches.json");
    if (s) log_msg(XT_SEV_WARNING, "the list of spikes was not written: %s", status_message(s));
    xt_status_free(s);
    str_free(&text);
    base_free(path);
}

/* Each rank judges its own batches; at the end of the fit rank 0 writes down all. */
static void write_all_ranks(const xt_trainer *t, const detector *d) {
    int n = world_get()->size;
    uint64_t own = d->batches.len, room = 0, *lengths = base_calloc((size_t)n, sizeof *lengths);
    const char **lists = base_calloc((size_t)n, sizeof *lists);
    char *mine = NULL, *all = NULL;
    coll_group *g;
    xt_status s = lengths && lists ? coll_run_group(&g) : status_oom((size_t)n * sizeof *lists, "spikes");
    if (!s) s = coll_all_gather(g, &own, sizeof own, lengths);
    for (int r = 0; r < n && !s; r++) room = lengths[r] > room ? lengths[r] : room;
    bool any = room > 0;
    room++; /* each ends with a 0 */
    if (!s && any && (!(mine = base_calloc(1, room)) || !(all = base_calloc((size_t)n, room))))
        s = status_oom((size_t)n * room, "spikes");
    if (!s && any && own) memcpy(mine, str_cstr(&d->batches), own);
    if (!s && any) s = coll_all_gather(g, mine, room, all);
    for (int r = 0; r < n && !s && any; r++) lists[r] = all + (size_t)r * room;
    if (!s && any && world_get()->rank == 0) write_list(t, lists, n);
    if (s) lazy_fail(status_context(s, "gathering the ranks' spikes"));
    base_free(mine);
    base_free(all);
    base_free(lists);
    base_free(lengths);
}

/* The row that told of a spike is older than the states, which later steps may have moved on: the ring is read with the
 * count that belongs to it. */
static void report(xt_trainer *t, detector *d) {
    int64_t ring[RING];
    float counts[2];
    xt_status s = lazy_state_read(d->ring, ring, sizeof ring);
    if (!s) s = lazy_state_read(d->counts, counts, sizeof counts);
    if (s) {
        xt_status_free(s);
        return;
    }
    int64_t count = (int64_t)counts[1], fresh = count - d->seen < RING ? count - d->seen : RING,
            lost = count - d->seen - fresh;
    d->seen = count;
    str now = STR_INIT, missing = STR_INIT;
    for (int64_t i = RING - fresh; i < RING; i++) str_printf(&now, "%s%lld", now.len ? ", " : "", (long long)ring[i]);
    str_printf(&d->batches, "%s%s", d->batches.len ? ", " : "", str_cstr(&now));
    if (lost)
        str_printf(&missing,
                   "; of %lld before these, more than %d since the row before, the numbers are not known: a smaller "
                   ".log_every_n_steps keeps them",
                   (long long)lost, RING);
    log_msg(XT_SEV_WARNING, "the loss spiked in micro-batch%s %s (counted over the run; %lld spike%s so far%s)",
            fresh == 1 ? "" : "es", str_cstr(&now), (long long)count, count == 1 ? "" : "s",
            lost ? str_cstr(&missing) : "");
    str_free(&missing);
    if (world_get()->size == 1) write_list(t, (const char *[]){str_cstr(&d->batches)}, 1);
    str_free(&now);
    if (d->o.stop == XT_ON) xt_trainer_stop(t);
}

/* Looks at what has arrived, without waiting; at the end of an epoch at everything. */
static void look(xt_trainer *t, detector *d) {
    double count;
    if (log_find(t->log, "spikes", &count) && isfinite(count) && (int64_t)count > d->seen) report(t, d);
}

static void step_end(xt_trainer *t, void *user) {
    look(t, user);
}

static void fit_end(xt_trainer *t, bool ok, void *user) {
    detector *d = user;
    float counts[2];
    if (!ok || !lazy_type(d->counts)) return;
    xt_status s = lazy_state_read(d->counts, counts, sizeof counts);
    if (!s && (int64_t)counts[1] > d->seen) report(t, d);
    xt_status_free(s);
    if (world_get()->size > 1) write_all_ranks(t, d);
}

/* --- checkpoints --- */
static size_t save_state(char *buf, size_t n, void *user) {
    const detector *d = user;
    return (size_t)snprintf(buf, n, "{\"reported\": %lld, \"batches\": \"%s\"}", (long long)d->seen,
                            d->batches.len ? str_cstr(&d->batches) : "");
}

static xt_status load_state(const char *json, void *user) {
    detector *d = user;
    cJSON *o = cJSON_Parse(json);
    const cJSON *reported = cJSON_GetObjectItemCaseSensitive(o, "reported");
    xt_status s = NULL;
    const char *batches = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "batches"));
    if (world_get()->rank == 0 || !d->own) { /* what is told here is rank 0's */
        if (cJSON_IsNumber(reported)) s = saved_number("reported", reported->valuedouble, 0, SAVED_COUNT, &d->seen);
        str_clear(&d->batches);
        if (batches && world_get()->rank == 0) str_append(&d->batches, batches);
    }
    cJSON_Delete(o);
    return s;
}

/* in the order of files: whether the losses fit is known before the counts are taken */
static const char *const state_names[] = {"losses", "counts", "ring"};

static xt_tensor tensor_at(int i, char *name, size_t n, void *user) {
    const detector *d = user;
    const xt_tensor states[] = {d->losses, d->counts, d->ring};
    if (i >= (int)BASE_COUNT(states)) return (xt_tensor){0};
    snprintf(name, n, "%s", state_names[i]);
    return states[i];
}

/* A rank other than 0 has told of all spikes its counts know, and its list is in its ring. The counts come
 * before the ring. */
static void list_again(detector *d, const int64_t *ring) {
    int64_t n = d->seen < RING ? d->seen : RING;
    str_clear(&d->batches);
    for (int64_t i = RING - n; i < RING; i++)
        if (ring[i] != NOT_KNOWN) str_printf(&d->batches, "%s%lld", d->batches.len ? ", " : "", (long long)ring[i]);
}

/* With another window the mean begins anew; what was counted stays. */
static xt_status restore(const char *name, xt_dtype dtype, int rank, const int64_t *dims, const void *data, bool own,
                         void *user) {
    detector *d = user;
    make_states(d);
    const xt_tensor states[] = {d->losses, d->counts, d->ring};
    const ir_type *given = ir_tensor(dtype, (size_t)rank, dims);
    for (size_t i = 0; i < BASE_COUNT(states); i++) {
        const ir_type *type = lazy_type(states[i]);
        if (strcmp(name, state_names[i]) != 0 || !type) continue;
        int64_t ring[RING];
        if (i == 2 && rank == 1 && dtype == XT_F32 && dims[0] == RING_WAS) {
            for (int k = 0; k < RING; k++)
                ring[k] = k < RING - RING_WAS ? NOT_KNOWN : (int64_t)((const float *)data)[k - (RING - RING_WAS)];
            data = ring;
            given = type;
        }
        if (i == 0) d->anew = type != given;
        if (type != given)
            return i == 0 ? NULL
                          : status_new(XT_DATA_LOSS, NULL, "spike detection's %s have another shape in the checkpoint",
                                       name);
        float counts[2];
        if (i == 1) memcpy(counts, data, sizeof counts);
        if (i == 1 && d->anew) counts[0] = 0;
        d->own = d->own || own;
        if (own && world_get()->rank != 0 && i == 1) d->seen = (int64_t)counts[1];
        if (own && world_get()->rank != 0 && i == 2) list_again(d, data);
        return lazy_state_write(states[i], i == 1 ? counts : data, ir_type_bytes(type));
    }
    return NULL;
}

static const callback_tensors tensors = {tensor_at, restore, .of_ranks = true};
static const xt_callback_desc desc = {.struct_size = sizeof(xt_callback_desc),
                                      .name = "spike_detection",
                                      .batch_end = batch_end,
                                      .step_end = step_end,
                                      .fit_end = fit_end,
                                      .save_state = save_state,
                                      .load_state = load_state,
                                      .free_user = free_detector};

static const option_row rows[] = {
    {"window", "losses of the running mean", OPTION_INT, offsetof(xt_spike_detection_opts, window), 2, 1e6, NULL},
    {"warmup", "losses before the first judgement", OPTION_INT, offsetof(xt_spike_detection_opts, warmup), 0, 1e6,
     NULL},
    {"rtol", "how far above the mean a spike is, in means", OPTION_DOUBLE, offsetof(xt_spike_detection_opts, rtol), 0,
     1e9, NULL},
    {"stop", "the fit ends at a spike", OPTION_SWITCH, offsetof(xt_spike_detection_opts, stop), 0, 0, NULL},
};

xt_callback *xt_spike_detection_opt(const xt_src *src, xt_spike_detection_opts o) {
    SRC_CALLED_FROM(src);
    xt_status s =
        options_check(rows, BASE_COUNT(rows), &o, OPTION_DEFAULTS(xt_spike_detection_opts), "xt_spike_detection");
    if (!s && o.warmup < 0) o.warmup = o.window;
    if (!s && o.warmup > o.window)
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_spike_detection.warmup = %d is more than window = %d: it would never be reached", o.warmup,
                       o.window);
    detector *d = s ? NULL : base_calloc(1, sizeof *d);
    if (!s && !d) s = status_oom(sizeof *d, "a callback");
    if (s) {
        lazy_fail(s);
        return NULL;
    }
    d->o = o;
    xt_callback *c = callback_make(&desc, d);
    if (c) c->tensors = &tensors;
    return c;
}
