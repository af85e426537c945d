/* Loaders: order with several workers, shuffling, short and padded last batches, streams, errors with their sample,
 * resuming, samples on the device, further fields, and that nothing stays alive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "data/loader_int.h"
#include "patience.h"

enum { SAMPLES = 50 };
static float xs[SAMPLES][2];
static int64_t ys[SAMPLES];

static int begin(void **state) {
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        xs[i][0] = (float)i;
        xs[i][1] = (float)-i;
        ys[i] = i;
    }
    xt_seed(11);
    return 0;
}

static int end(void **state) {
    (void)state;
    xt_clear_error();
    xt_finish();
    if (live_get(LIVE_loader) || live_get(LIVE_dataset))
        print_error("%lld loaders and %lld datasets are left\n", (long long)live_get(LIVE_loader),
                    (long long)live_get(LIVE_dataset));
    return live_get(LIVE_loader) != 0 || live_get(LIVE_dataset) != 0;
}

static xt_dataset *arrays(void) {
    return xt_array_dataset(xs, (xt_spec){XT_F32, {2}}, ys, (xt_spec){XT_I64, {0}}, SAMPLES);
}

/* A dataset whose samples take longer or shorter by turns, so that workers overtake each other. */
static xt_status uneven(void *user, int64_t i, void *x, void *y) {
    (void)user;
    usleep((unsigned)(i * 7919 % 5) * 200);
    memcpy(x, xs[i], sizeof xs[i]);
    *(int64_t *)y = ys[i];
    return NULL;
}
static xt_dataset *slow(void) {
    return xt_dataset_new(&(xt_dataset_desc){.struct_size = sizeof(xt_dataset_desc),
                                             .count = SAMPLES,
                                             .x = {XT_F32, {2}},
                                             .y = {XT_I64, {0}},
                                             .get = uneven,
                                             .name = "slow"});
}

/* The labels of `epochs` epochs one after the other; gives how many. A batch's x must be that of its y. */
static int labels_of(xt_loader *l, int epochs, int64_t *out) {
    int n = 0;
    for (int e = 0; e < epochs; e++) {
        int64_t index = 0;
        for (xt_batch b; xt_next(l, &b); index++) {
            int64_t rows = xt_dim(b.y, 0), y[SAMPLES];
            float x[SAMPLES][2], mask[SAMPLES];
            assert_int_equal(b.index, index);
            assert_int_equal(b.epoch, e);
            assert_true(xt_read(b.y, y, (size_t)rows * sizeof *y) && xt_read(b.x, x, (size_t)rows * sizeof *x));
            bool padded = !xt_is_none(b.mask);
            if (padded) assert_true(xt_read(b.mask, mask, (size_t)rows * sizeof *mask));
            for (int64_t i = 0; i < rows; i++) {
                assert_true(x[i][0] == (float)y[i] && x[i][1] == (float)-y[i]);
                if (padded) assert_true(mask[i] == (i < b.size ? 1 : 0));
                if (i < b.size) out[n++] = y[i];
            }
        }
        if (xt_error()) fail_msg("%s", xt_status_message(xt_error()));
    }
    return n;
}

static void workers_keep_the_order(void **state) {
    (void)state;
    static int64_t one[3 * SAMPLES], many[3 * SAMPLES];
    xt_loader *l = xt_loader_new(slow(), .batch = 7, .shuffle = XT_ON, .seed = 5);
    int n = labels_of(l, 3, one);
    assert_int_equal(n, 3 * 49);
    xt_loader_free(l);
    for (int workers = 2; workers <= 5; workers += 3) {
        l = xt_loader_new(slow(), .batch = 7, .shuffle = XT_ON, .seed = 5, .workers = workers, .prefetch = workers);
        assert_int_equal(labels_of(l, 3, many), n);
        assert_memory_equal(one, many, (size_t)n * sizeof *one);
        xt_loader_free(l);
    }
    assert_true(memcmp(one, one + 49, 49 * sizeof *one) != 0); /* each epoch has an order of its own */
}

static void last_batches(void **state) {
    (void)state;
    int64_t got[2 * SAMPLES];
    const struct {
        xt_loader_opts o;
        int batches, samples;
    } rows[] = {
        {XT_OPTS(xt_loader_opts, .batch = 8), 6, 48},
        {XT_OPTS(xt_loader_opts, .batch = 8, .drop_last = XT_OFF), 7, 50},
        {XT_OPTS(xt_loader_opts, .batch = 8, .pad_last = XT_ON), 7, 50},
        {XT_OPTS(xt_loader_opts, .batch = 8, .pad_last = XT_ON, .workers = 3), 7, 50},
        {XT_OPTS(xt_loader_opts, .batch = 64, .pad_last = XT_ON), 1, 50},
        {XT_OPTS(xt_loader_opts, .batch = 10, .pad_last = XT_ON), 5, 50},
        {XT_OPTS(xt_loader_opts, .batch = 8, .pad_last = XT_ON, .on_device = XT_ON), 7, 50},
        {XT_OPTS(xt_loader_opts, .batch = 8, .drop_last = XT_OFF, .on_device = XT_ON), 7, 50},
        {XT_OPTS(xt_loader_opts, .batch = 8, .limit = 2), 2, 16},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_loader_opts o = rows[i].o;
        if (o.batch > SAMPLES) continue;
        xt_loader *l = xt_loader_opt(XT_HERE, arrays(), o);
        assert_int_equal(xt_loader_batches(l), rows[i].batches);
        assert_int_equal(labels_of(l, 2, got), 2 * rows[i].samples);
        for (int k = 0; k < rows[i].samples; k++) assert_int_equal(got[k], k);
        xt_loader_free(l);
    }
    assert_null(xt_loader_new(arrays(), .pad_last = XT_ON, .drop_last = XT_ON));
    assert_non_null(strstr(xt_status_message(xt_error()), ".drop_last and .pad_last"));
}

/* A padded batch gives the mean of its samples, in the one program of all batches. */
static void padding_is_masked(void **state) {
    (void)state;
    int64_t compiles = 0;
    xt_loader *l = xt_loader_new(arrays(), .batch = 8, .pad_last = XT_ON);
    xt_tensor means[7];
    int n = 0;
    for (xt_batch b; xt_next(l, &b); n++) {
        if (n == 2) compiles = xt_counter("compiles");
        means[n] = xt_keep(xt_masked_mean(xt_square(b.x), b.mask));
    }
    assert_int_equal(n, 7);
    assert_int_equal(xt_counter("compiles"), compiles);
    double want = (48 * 48 + 49 * 49) / 2.0;
    assert_true(xt_item(means[6]) == want);
    for (int i = 0; i < 7; i++) xt_drop(means[i]);
    xt_loader_free(l);
}

static void resuming_gives_the_same_batches(void **state) {
    (void)state;
    int64_t all[2 * SAMPLES], rest[2 * SAMPLES];
    xt_loader *l = xt_loader_new(arrays(), .batch = 5, .shuffle = XT_ON, .workers = 2);
    assert_int_equal(labels_of(l, 2, all), 100);
    xt_loader_set_epoch(l, 1, 4);
    int n = 0;
    for (xt_batch b; xt_next(l, &b); n += 5) {
        assert_int_equal(b.index, 4 + n / 5);
        assert_true(xt_read(b.y, rest + n, 5 * sizeof *rest));
    }
    assert_int_equal(n, 30);
    assert_memory_equal(rest, all + 50 + 20, 30 * sizeof *rest);
    xt_loader_free(l);
}

static xt_status broken(void *user, int64_t i, void *x, void *y) {
    return i == 23 ? status_new(XT_DATA_LOSS, NULL, "the disk said no") : uneven(user, i, x, y);
}

static void errors_name_the_sample_and_come_in_order(void **state) {
    (void)state;
    for (int workers = 1; workers <= 4; workers += 3) {
        xt_dataset *d = xt_dataset_new(&(xt_dataset_desc){.struct_size = sizeof(xt_dataset_desc),
                                                          .count = SAMPLES,
                                                          .x = {XT_F32, {2}},
                                                          .y = {XT_I64, {0}},
                                                          .get = broken,
                                                          .name = "bad disk"});
        xt_loader *l = xt_loader_new(d, .batch = 5, .workers = workers);
        int n = 0;
        for (xt_batch b; xt_next(l, &b);) n++;
        assert_int_equal(n, 4); /* all batches before the one with the error */
        const char *text = xt_status_message(xt_error());
        if (!strstr(text, "bad disk: sample 23") || !strstr(text, "the disk said no") ||
            !strstr(text, "test_data_loader.c"))
            fail_msg("%s", text);
        xt_clear_error();
        xt_loader_free(l);
    }
}

/* --- streams --- */
typedef struct counting {
    int64_t at, epoch;
} counting;
static int open_streams;
static int64_t only_epoch = -1; /* of a source that can be read once; -1: of any */

static xt_status counting_open(void *user, int64_t epoch, void **out) {
    counting *c = calloc(1, sizeof *c);
    (void)user;
    c->epoch = epoch;
    open_streams++;
    *out = c;
    return NULL;
}
static xt_status counting_next(void *state, void *x, void *y, bool *at_end) {
    counting *c = state;
    /* epochs of different length */
    if ((*at_end = c->at == 20 + c->epoch || (only_epoch >= 0 && c->epoch != only_epoch))) return NULL;
    memcpy(x, xs[c->at], sizeof xs[0]);
    *(int64_t *)y = c->at++;
    return NULL;
}
static void counting_close(void *state) {
    open_streams--;
    free(state);
}
static xt_dataset *stream(void) {
    return xt_stream_dataset(&(xt_stream_desc){.struct_size = sizeof(xt_stream_desc),
                                               .x = {XT_F32, {2}},
                                               .y = {XT_I64, {0}},
                                               .open = counting_open,
                                               .next = counting_next,
                                               .close = counting_close});
}

static void streams_end_when_they_end(void **state) {
    (void)state;
    int64_t got[3 * SAMPLES];
    xt_loader *l = xt_loader_new(stream(), .batch = 4, .pad_last = XT_ON);
    assert_int_equal(xt_loader_batches(l), -1);
    assert_int_equal(labels_of(l, 3, got), 20 + 21 + 22);
    for (int i = 0; i < 22; i++) assert_int_equal(got[41 + i], i);
    xt_loader_free(l);
    l = xt_loader_new(stream(), .batch = 4); /* the short one is dropped */
    assert_int_equal(labels_of(l, 3, got), 3 * 20);
    xt_loader_set_epoch(l, 1, 3);
    xt_batch b;
    assert_true(xt_next(l, &b));
    assert_int_equal(xt_read(b.y, got, 4 * sizeof *got), 1);
    assert_int_equal(got[0], 12);
    xt_loader_free(l);
    l = xt_loader_new(stream(), .batch = 4, .limit = 2);
    assert_int_equal(labels_of(l, 3, got), 3 * 8);
    assert_int_equal(got[8], 0); /* each epoch begins the stream again */
    xt_loader_free(l);
    assert_int_equal(open_streams, 0);
    assert_null(xt_loader_new(stream(), .shuffle = XT_ON));
    assert_non_null(strstr(xt_status_message(xt_error()), "cannot be shuffled"));
}

/* An epoch without a batch would train nothing, and say nothing of it: an error, with what the stream had. One epoch of
 * a source that is read once is none, though the loader reads ahead into the next. */
static void streams_without_a_batch(void **state) {
    (void)state;
    static const struct {
        int64_t batch;
        xt_switch drop, pad;
        int batches;
        const char *says;
    } rows[] = {{32, XT_ON, XT_OFF, 0, "ended after 20 samples of epoch 0, fewer than one batch of 32"},
                {32, XT_OFF, XT_OFF, 1, NULL},
                {32, XT_OFF, XT_ON, 1, NULL},
                {21, XT_ON, XT_OFF, 0, "ended after 20 samples of epoch 0, fewer than one batch of 21"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n = 0;
        xt_loader *l =
            xt_loader_new(stream(), .batch = rows[i].batch, .drop_last = rows[i].drop, .pad_last = rows[i].pad);
        for (xt_batch b; xt_next(l, &b);) n++;
        assert_int_equal(n, rows[i].batches);
        const char *text = xt_status_message(xt_error());
        if (rows[i].says ? !strstr(text, rows[i].says) : xt_error() != NULL) fail_msg("row %zu: %s", i, text);
        xt_clear_error();
        xt_loader_free(l);
    }
    only_epoch = 0;
    xt_loader *l = xt_loader_new(stream(), .batch = 4);
    int n = 0;
    for (xt_batch b; xt_next(l, &b);) n++;
    assert_int_equal(n, 5);
    assert_null(xt_error());
    xt_batch b;
    assert_false(xt_next(l, &b));
    assert_non_null(strstr(xt_status_message(xt_error()), "had no batch in epoch 1: its open function"));
    xt_clear_error();
    xt_loader_free(l);
    only_epoch = -1;
}

/* The other ranks may have the batches that this one's stream has not, and would wait for it: wherever in a batch it
 * ends, it is an error, and at .limit none. */
static void streams_of_ranks_have_their_limit(void **state) {
    (void)state;
    static const struct {
        int64_t batch, limit;
        xt_switch drop, pad;
        int fits; /* batches before the error; -1: none */
    } rows[] = {{4, 6, XT_OFF, XT_OFF, 5}, {8, 5, XT_OFF, XT_OFF, 3},  {8, 5, XT_ON, XT_OFF, 2},
                {8, 5, XT_OFF, XT_ON, 3},  {8, 3, XT_OFF, XT_OFF, -1}, {4, 5, XT_OFF, XT_OFF, -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        xt_loader *l = xt_loader_new(stream(), .batch = rows[i].batch, .limit = rows[i].limit,
                                     .drop_last = rows[i].drop, .pad_last = rows[i].pad);
        l->parts = 2;
        int n = 0;
        for (xt_batch b; xt_next(l, &b);) n++;
        assert_int_equal(n, rows[i].fits < 0 ? rows[i].limit : rows[i].fits);
        const char *text = xt_status_message(xt_error());
        char want[64];
        snprintf(want, sizeof want, "ended in batch %d of %d on this rank", rows[i].fits, (int)rows[i].limit);
        if (rows[i].fits < 0 ? xt_error() != NULL : !strstr(text, want)) fail_msg("%s", text);
        xt_clear_error();
        xt_loader_free(l);
    }
}

/* --- further fields --- */
static xt_status weight_of(void *user, int64_t i, void *const *more) {
    (void)user;
    if (more[0]) *(float *)more[0] = (float)i / 2;
    if (more[1]) ((int32_t *)more[1])[0] = (int32_t)i, ((int32_t *)more[1])[1] = -1;
    return NULL;
}

static void further_fields(void **state) {
    (void)state;
    xt_dataset_desc d = {.struct_size = sizeof d,
                         .count = SAMPLES,
                         .x = {XT_F32, {2}},
                         .y = {XT_I64, {0}},
                         .get = uneven,
                         .more = {{XT_F32, {0}}, {XT_I32, {2}}},
                         .get_more = weight_of};
    int64_t last[] = {SAMPLES - 2, SAMPLES - 1};
    xt_loader *l = xt_loader_new(xt_subset(xt_dataset_new(&d), last, 2), .batch = 2);
    xt_batch b;
    assert_true(xt_next(l, &b));
    float w[2];
    int32_t pairs[2][2];
    assert_true(xt_read(b.more[0], w, sizeof w) && xt_read(b.more[1], pairs, sizeof pairs));
    assert_true(w[0] == 24 && w[1] == 24.5f && pairs[0][0] == 48 && pairs[1][0] == 49 && pairs[1][1] == -1);
    assert_true(xt_is_none(b.more[2]) && xt_is_none(b.mask));
    xt_loader_free(l);
    d.get_more = NULL;
    assert_null(xt_dataset_new(&d));
}

/* --- ranks --- */
/* The parts of a batch lie side by side; padded, they hold every sample; else all ranks have the same number. */
static void ranks_share_batches(void **state) {
    (void)state;
    for (int64_t parts = 1; parts <= 5; parts++)
        for (int64_t count = parts; count < 40; count++)
            for (int pad = 0; pad < 2; pad++) {
                xt_dataset ds = {.d.count = count};
                xt_loader l = {
                    .ds = &ds, .o = {.batch = 3, .pad_last = pad ? XT_ON : XT_OFF}, .count = count, .parts = parts};
                int64_t at = 0, batches = pad ? (count + 3 * parts - 1) / (3 * parts) : count / (3 * parts);
                for (int64_t b = 0; b < batches; b++)
                    for (l.part = 0; l.part < parts; l.part++) {
                        int64_t first, size;
                        loader_share(&l, b, &first, &size);
                        assert_int_equal(first, at);
                        assert_true(size >= 0 && size <= 3 && (pad || size == 3));
                        at += size;
                    }
                assert_int_equal(at, pad ? count : batches * 3 * parts);
            }
}

/* --- throughput --- */
static xt_status sleeping(void *user, int64_t i, void *x, void *y) {
    usleep(2000);
    return uneven(user, i - i % 5, x, y);
}

/* Samples that wait (a disk, the network) come twice as fast by two workers; four times by four. */
static void workers_add_up(void **state) {
    (void)state;
    static const int workers[] = {1, 2, 4};
    double seconds[3];
    for (int k = 0; k < 3; k++) {
        xt_dataset *d = xt_dataset_new(&(xt_dataset_desc){.struct_size = sizeof(xt_dataset_desc),
                                                          .count = 48,
                                                          .x = {XT_F32, {2}},
                                                          .y = {XT_I64, {0}},
                                                          .get = sleeping});
        xt_loader *l = xt_loader_new(d, .batch = 4, .workers = workers[k]);
        double began = monotonic_now();
        int n = 0;
        for (xt_batch b; xt_next(l, &b);) n++;
        seconds[k] = monotonic_now() - began;
        assert_int_equal(n, 12);
        xt_loader_free(l);
    }
    print_message("12 batches of 4 samples of 2 ms: %.0f batches/s by 1 worker, %.0f by 2, %.0f by 4\n",
                  12 / seconds[0], 12 / seconds[1], 12 / seconds[2]);
    assert_true(seconds[2] < seconds[0] * 0.75);
    assert_true(xt_counter("loader_wait_ns") > 0);
    assert_true(xt_counter("loader_workers") >= 4);
}

/* --- ahead, and from the same memory --- */
static _Atomic int64_t reads;
static xt_status counted(void *user, int64_t i, void *x, void *y) {
    (void)user, (void)y;
    memset(x, (int)(i & 1), 256 << 10);
    reads++;
    return NULL;
}
static xt_loader *large(int prefetch) { /* batches of 1 MiB */
    xt_dataset *d = xt_dataset_new(&(xt_dataset_desc){
        .struct_size = sizeof(xt_dataset_desc), .count = 2000, .x = {XT_F32, {64 << 10}}, .get = counted});
    return xt_loader_new(d, .batch = 4, .prefetch = prefetch);
}

/* With .prefetch = 3 three batches wait for the loop, and no more are read. */
static void prefetch_is_what_is_read_ahead(void **state) {
    (void)state;
    for (int prefetch = 1; prefetch <= 5; prefetch += 2) {
        xt_batch b;
        reads = 0;
        xt_loader *l = large(prefetch);
        assert_true(xt_next(l, &b));
        for (int i = 0; i < 5000 && reads < 4 * (1 + prefetch); i++) usleep(1000);
        usleep(20000);
        assert_int_equal(reads, 4 * (1 + prefetch));
        xt_loader_free(l);
    }
}

/* A batch's host memory is its worker's for good, and the device gives the memory of a batch that is gone to
 * a later one. */
static void batches_come_from_a_pool(void **state) {
    (void)state;
    xt_loader *l = large(2);
    int64_t before = 0, n = 0;
    for (xt_batch b; n < 400 && xt_next(l, &b); n++)
        if (n == 20) before = base_rss_own();
    assert_int_equal(n, 400);
    int64_t grown = base_rss_own() - before;
    if (grown > 4 << 20) fail_msg("380 batches of 1 MiB took %lld more bytes", (long long)grown);
    xt_loader_free(l);
}

static char said[8192];
static void listen(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev;
    (void)user;
    size_t at = strlen(said);
    if (at + n < sizeof said) memcpy(said + at, text, n), said[at + n] = 0;
}

/* The loop of workers_add_up has waited for its loader most of the time: the cost summary says what to do. */
static void the_summary_suggests_workers(void **state) {
    (void)state;
    xt_dataset *d = xt_dataset_new(&(xt_dataset_desc){.struct_size = sizeof(xt_dataset_desc),
                                                      .count = SAMPLES,
                                                      .x = {XT_F32, {2}},
                                                      .y = {XT_I64, {0}},
                                                      .get = sleeping});
    xt_loader *l = xt_loader_new(d, .batch = 1);
    for (int e = 0; e < 8; e++)
        for (xt_batch b; xt_next(l, &b);) continue;
    xt_loader_free(l);
    counter_add(COUNTER_optimizer_steps, 1); /* a loop that trains */
    xt_set_sink(listen, NULL);
    xt_cost_summary();
    xt_set_sink(NULL, NULL);
    if (!strstr(said, " (the loader's .workers)")) fail_msg("no advice in:\n%s", said);
}

/* What a loader holds does not depend on how long it runs: each worker reads into the same host memory, and the blocks
 * of batches that are done serve the next ones. */
enum { WIDE = 1 << 18, POOL_BATCH = 2, POOL_WORKERS = 2 };
static atomic_long rows_read;
static void *rows_seen[64];

static xt_status wide(void *user, int64_t i, void *x, void *y) {
    (void)user;
    memset(x, 0, WIDE * sizeof(float));
    ((float *)x)[0] = (float)i;
    *(int64_t *)y = i;
    long k = atomic_fetch_add(&rows_read, 1);
    if (k < 64) rows_seen[k] = x;
    return NULL;
}

static int distinct(void *const *p, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < i && p[k] != p[i]) k++;
        count += k == i;
    }
    return count;
}

static void buffers_are_a_pool(void **state) {
    (void)state;
    const int64_t batch_bytes = (int64_t)POOL_BATCH * WIDE * 4;
    xt_dataset *ds = xt_dataset_new(&(xt_dataset_desc){.struct_size = sizeof(xt_dataset_desc),
                                                       .count = 80,
                                                       .x = {XT_F32, {WIDE}},
                                                       .y = {XT_I64, {0}},
                                                       .get = wide,
                                                       .name = "wide"});
    xt_loader *l = xt_loader_new(ds, .batch = POOL_BATCH, .workers = POOL_WORKERS, .prefetch = 2);
    atomic_store(&rows_read, 0);
    int64_t most_live = 0, most_held = 0;
    for (xt_batch b; xt_next(l, &b);) {
        assert_true(xt_item(xt_sum(b.x)) == (double)(4 * b.index + 1)); /* of samples 2i and 2i + 1 */
        xt_memory_info m = xt_memory();
        if (m.live_bytes > most_live) most_live = m.live_bytes;
        if (m.reserved_bytes > most_held) most_held = m.reserved_bytes;
    }
    assert_null(xt_error());
    assert_true(atomic_load(&rows_read) >= 80); /* the next epoch is begun ahead */
    assert_in_range(distinct(rows_seen, 64), 1, POOL_BATCH * POOL_WORKERS); /* host memory: a batch a worker */
    /* ready, and being uploaded; the loop's, and those of steps under way */
    int64_t ahead = 2 + POOL_WORKERS - 1 + POOL_WORKERS, here = 3;
    assert_in_range(most_live, batch_bytes, (ahead + here) * batch_bytes);
    assert_in_range(most_held, batch_bytes, (ahead + here) * batch_bytes + (1 << 20));
    xt_loader_free(l);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(buffers_are_a_pool),
        TEST(workers_keep_the_order),
        TEST(last_batches),
        TEST(padding_is_masked),
        TEST(resuming_gives_the_same_batches),
        TEST(errors_name_the_sample_and_come_in_order),
        TEST(streams_end_when_they_end),
        TEST(streams_without_a_batch),
        TEST(streams_of_ranks_have_their_limit),
        TEST(further_fields),
        TEST(ranks_share_batches),
        TEST(prefetch_is_what_is_read_ahead),
        TEST(batches_come_from_a_pool),
        TEST(workers_add_up),
        TEST(the_summary_suggests_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
