/* Samplers and combined loaders: what an epoch has, in what order, by whom it is read, and how it is resumed. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "data/data.h"
#include <xtrain/xtrain.h>

enum { SAMPLES = 64, MOST = 4096 };

static xt_status number(void *user, int64_t i, void *x, void *y) {
    *(float *)x = (float)(i + *(int64_t *)user);
    if (y) *(int64_t *)y = i;
    return NULL;
}
/* Sample i is the number `from` + i. */
static xt_dataset *numbers(int64_t count, int64_t *from) {
    return xt_dataset_new(&(xt_dataset_desc){
        .count = count, .x = {XT_F32, {0}}, .y = {XT_I64, {0}}, .get = number, .user = from, .name = "numbers"});
}
static int64_t zero, thousand = 1000;

static int finish(void **state) {
    (void)state;
    xt_clear_error();
    xt_finish();
    return xt_live_objects("loader") || xt_live_objects("sampler") || xt_live_objects("dataset") ||
           xt_live_objects("buffer");
}

static void refused(const char *part) {
    const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
    if (!strstr(text, part)) fail_msg("no \"%s\" in: %s", part, text);
    xt_clear_error();
}

/* The samples of the coming epoch, as read from x; how many. */
static int64_t epoch_of(xt_loader *l, int64_t *out, int64_t *longest) {
    int64_t n = 0;
    static float x[MOST];
    for (xt_batch b; xt_next(l, &b);) {
        assert_true(n + b.size <= MOST && xt_read(b.x, x, (size_t)b.size * sizeof *x));
        for (int64_t i = 0; i < b.size; i++) out[n + i] = (int64_t)x[i];
        if (longest) longest[b.index] = b.longest;
        n += b.size;
    }
    assert_null(xt_error());
    return n;
}

static void weighted_draws(void **state) {
    (void)state;
    static int64_t got[MOST], again[MOST];
    double weights[4] = {1, 0, 2, 5};
    int64_t count[4] = {0};
    for (int resident = 0; resident < 2; resident++) {
        xt_loader *l = xt_loader_new(numbers(4, &zero), .batch = 8, .workers = 1 + 2 * !resident, .seed = 3,
                                     .on_device = resident ? XT_ON : XT_OFF,
                                     .sampler = xt_weighted_sampler(weights, 4, .count = 4000));
        assert_int_equal(xt_loader_batches(l), 500);
        assert_int_equal(epoch_of(l, resident ? again : got, NULL), 4000);
        xt_loader_free(l);
    }
    assert_memory_equal(got, again, sizeof got); /* by whichever threads, and on the device */
    for (int i = 0; i < 4000; i++) count[got[i]]++;
    for (int k = 0; k < 4; k++) { /* within five deviations of a binomial */
        double p = weights[k] / 8, far = 5 * sqrt(4000 * p * (1 - p));
        if (fabs((double)count[k] - 4000 * p) > far) fail_msg("sample %d came %lld times", k, (long long)count[k]);
    }
}

static void weighted_draws_without_replacement(void **state) {
    (void)state;
    int64_t first[3] = {0}, got[3];
    double weights[4] = {1, 0, 2, 5};
    xt_loader *l = xt_loader_new(numbers(4, &zero), .batch = 3, .seed = 4,
                                 .sampler = xt_weighted_sampler(weights, 4, .count = 3, .replacement = XT_OFF));
    for (int e = 0; e < 400; e++) {
        assert_int_equal(epoch_of(l, got, NULL), 3);
        assert_int_equal(got[0] + got[1] + got[2], 5); /* 0, 2 and 3, each once */
        first[got[0] == 0 ? 0 : got[0] == 2 ? 1 : 2]++;
    }
    for (int k = 0; k < 3; k++) {
        double p = (const double[]){1, 2, 5}[k] / 8, far = 5 * sqrt(400 * p * (1 - p));
        if (fabs((double)first[k] - 400 * p) > far) fail_msg("%d was first %lld times", k, (long long)first[k]);
    }
}

static void wrong_weights(void **state) {
    (void)state;
    assert_null(xt_weighted_sampler(((double[]){1, -1}), 2));
    refused("weight 1 is -1");
    assert_null(xt_weighted_sampler(((double[]){NAN, 1}), 2));
    refused("weight 0 is nan");
    assert_null(xt_weighted_sampler(((double[]){0, 0}), 2));
    refused("all 2 weights are 0");
    assert_null(xt_weighted_sampler(((double[]){0, 1}), 2, .replacement = XT_OFF));
    refused("2 draws of 1 samples");
    assert_null(xt_weighted_sampler(((double[]){0, 1}), 2, .count = 0));
    refused(".count 0; expected");
    assert_null(xt_bucket_sampler(((int64_t[]){3, 9}), 2, 2, ((int64_t[]){4, 8})));
    refused("length of sample 1 is 9");
    assert_null(xt_bucket_sampler(((int64_t[]){3, 9}), 2, 2, ((int64_t[]){4, 4})));
    refused("ascending");
}

static void buckets_of_lengths(void **state) {
    (void)state;
    int64_t lengths[SAMPLES], got[SAMPLES], other[SAMPLES], longest[SAMPLES / 4], seen[SAMPLES] = {0};
    const int64_t bounds[3] = {8, 16, 32};
    for (int i = 0; i < SAMPLES; i++) lengths[i] = 1 + (i * 7) % 32;
    xt_loader *l =
        xt_loader_new(numbers(SAMPLES, &zero), .batch = 4, .sampler = xt_bucket_sampler(lengths, SAMPLES, 3, bounds));
    assert_int_equal(epoch_of(l, got, longest), SAMPLES);
    int changes = 0;
    for (int i = 0; i < SAMPLES; i++) {
        int64_t most = longest[i / 4];
        assert_true(most == 8 || most == 16 || most == 32);
        assert_true(lengths[got[i]] <= most); /* 16 samples a bucket, or 32: whole batches */
        assert_true(most == 8 || lengths[got[i]] > most / 2);
        seen[got[i]]++;
        changes += i >= 4 && i % 4 == 0 && longest[i / 4] != longest[i / 4 - 1];
    }
    for (int i = 0; i < SAMPLES; i++) assert_int_equal(seen[i], 1);
    assert_true(changes > 3); /* batches of all buckets are mixed */
    assert_int_equal(epoch_of(l, other, NULL), SAMPLES);
    assert_true(memcmp(got, other, sizeof got) != 0);
}

/* --- a sampler of one's own --- */
static xt_status odd_ones(void *user, const xt_epoch *e, int64_t *out) {
    ++*(int *)user;
    int64_t from = (int64_t)(xt_sample_uniform() * 8);
    assert_int_equal(e->batch, 4);
    for (int64_t i = 0; i < e->count; i++) out[i] = (2 * (from + i) + 1) % SAMPLES;
    return NULL;
}
static void freed(void *user) {
    *(int *)user = -1;
}

static void one_of_ones_own(void **state) {
    (void)state;
    int calls = 0;
    int64_t got[12], again[12];
    xt_sampler_desc d = {.count = 12, .order = odd_ones, .free_user = freed, .user = &calls};
    xt_sampler *s = xt_sampler_new(&d);
    xt_loader *l = xt_loader_new(numbers(SAMPLES, &zero), .batch = 4, .workers = 3, .seed = 9, .sampler = s);
    assert_int_equal(xt_loader_batches(l), 3);
    assert_int_equal(epoch_of(l, got, NULL), 12);
    for (int i = 0; i < 12; i++) assert_int_equal(got[i], (got[0] + 2 * i) % SAMPLES);
    xt_loader_set_epoch(l, 0, 1); /* resumed within the epoch: the same draws */
    assert_int_equal(epoch_of(l, again, NULL), 8);
    assert_memory_equal(got + 4, again, 8 * sizeof *got);
    assert_true(calls >= 2);
    xt_loader_free(l);
    l = xt_loader_new(numbers(4, &zero), .batch = 4, .sampler = s);
    xt_batch b;
    assert_false(xt_next(l, &b));
    refused("the dataset has 4");
    xt_loader_free(l);
    assert_null(xt_loader_new(numbers(8, &zero), .batch = 4, .shuffle = XT_ON, .sampler = s));
    refused("says the order");
    assert_true(calls >= 2); /* it is still the caller's */
    xt_sampler_free(s);
    assert_int_equal(calls, -1);
    d.order = NULL;
    assert_null(xt_sampler_new(&d));
    refused("an order function is needed");
    d = (xt_sampler_desc){.order = odd_ones};
    assert_null(xt_sampler_new(&d));
    refused("say how many samples an epoch has");
}

/* --- one for several loaders --- */
/* As a WeightedRandomSampler of PyTorch's: at once, one after the other, behind a loader that was refused, and freed
 * before those that use it. */
static void shared(void **state) {
    (void)state;
    static double weights[SAMPLES];
    int64_t got[2][SAMPLES], alone[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) weights[i] = 1 + i % 3;
    xt_sampler *s = xt_weighted_sampler(weights, SAMPLES);
    xt_loader *l = xt_loader_new(numbers(SAMPLES, &zero), .batch = 8, .seed = 4, .sampler = s);
    assert_int_equal(epoch_of(l, alone, NULL), SAMPLES);
    xt_loader_free(l);
    assert_null(xt_loader_new(numbers(SAMPLES, &zero), .batch = -3, .sampler = s));
    refused("batch");
    assert_null(xt_loader_new(NULL, .batch = 8, .sampler = s));
    refused("the dataset is NULL");
    xt_loader *both[2];
    for (int k = 0; k < 2; k++)
        both[k] = xt_loader_new(numbers(SAMPLES, &zero), .batch = 8, .workers = 1 + 2 * k, .seed = 4 + k, .sampler = s);
    xt_sampler_free(s);
    assert_int_equal(xt_live_objects("sampler"), 1);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(epoch_of(both[k], got[k], NULL), SAMPLES);
        xt_loader_free(both[k]);
    }
    assert_memory_equal(got[0], alone, sizeof alone);
    assert_memory_not_equal(got[1], alone, sizeof alone);
    assert_int_equal(xt_live_objects("sampler"), 0);
    xt_sampler_free(s);
    refused("xt_sampler_free: the sampler (`sampler`) was freed before (at ");
    assert_null(xt_loader_new(numbers(SAMPLES, &zero), .batch = 8, .sampler = s));
    refused("the sampler (`.sampler`) was freed before");
    assert_null(xt_loader_new(numbers(SAMPLES, &zero), .batch = 8, .sampler = (xt_sampler *)weights));
    refused("is no handle of this library");
    l = xt_loader_new(numbers(SAMPLES, &zero), .batch = 8);
    assert_null(xt_loader_new(numbers(SAMPLES, &zero), .batch = 8, .sampler = (xt_sampler *)l));
    refused("`.sampler` is a loader");
    xt_loader_free(l);
    s = xt_weighted_sampler(weights, SAMPLES); /* left to xt_finish */
}

static xt_status leaves(void *user, const xt_epoch *e, int64_t *out) {
    (void)user, (void)e, (void)out;
    pthread_exit(NULL);
}
static xt_status fails(void *user, const xt_epoch *e, int64_t *out) {
    (void)user, (void)out;
    return xt_status_new(XT_DATA_LOSS, "no order for epoch %lld", (long long)e->epoch);
}

static void samplers_that_fail(void **state) {
    (void)state;
    xt_batch b;
    for (int k = 0; k < 2; k++) {
        xt_sampler_desc d = {.count = 8, .order = k ? leaves : fails};
        xt_loader *l = xt_loader_new(numbers(8, &zero), .batch = 4, .workers = 2, .sampler = xt_sampler_new(&d));
        assert_false(xt_next(l, &b));
        refused(k ? "ended" : "the sampler of numbers, epoch 0: no order for epoch 0");
        xt_loader_free(l);
    }
    double weights[3] = {1, 1, 1};
    assert_null(xt_loader_new(numbers(20, &zero), .batch = 4, .sampler = xt_weighted_sampler(weights, 3)));
    refused("the sampler of numbers gives 3 samples, fewer than one batch of 4");
}

/* --- combined loaders --- */
static xt_loader *pair(xt_combined_mode mode) { /* 4 batches of 0 .., 2 of 1000 .. */
    return xt_combined_loader(
        2,
        ((xt_loader *[]){xt_loader_new(numbers(8, &zero), .batch = 2, .shuffle = XT_ON, .seed = 5),
                         xt_loader_new(numbers(6, &thousand), .batch = 3, .shuffle = XT_ON)}),
        .mode = mode);
}

/* What a combined epoch gives, a number a part and step: the first of its samples; -1 where there is
 * none. from: the first step's number. */
static int64_t steps_of(xt_loader *l, int64_t *out, int64_t from) {
    int64_t n = 0;
    float x[3];
    for (xt_batch b; xt_next(l, &b); n++) {
        assert_int_equal(b.index, from + n);
        const xt_batch *parts = b.parts ? b.parts : &b;
        for (int k = 0; k < (b.parts ? b.n_parts : 1); k++) {
            out[2 * n + k] = -1;
            if (xt_is_none(parts[k].x)) continue;
            assert_true(xt_read(parts[k].x, x, (size_t)parts[k].size * sizeof *x));
            out[2 * n + k] = (int64_t)x[0];
        }
        if (!b.parts) out[2 * n + 1] = b.loader;
    }
    assert_null(xt_error());
    return n;
}

static void modes_of_combined_loaders(void **state) {
    (void)state;
    int64_t got[12];
    const int64_t batches[4] = {2, 4, 4, 6};
    for (int mode = XT_MIN_SIZE; mode <= XT_SEQUENTIAL; mode++) {
        xt_loader *l = pair((xt_combined_mode)mode);
        assert_int_equal(xt_loader_batches(l), batches[mode]);
        for (int epoch = 0; epoch < 2; epoch++) {
            assert_int_equal(steps_of(l, got, 0), batches[mode]);
            for (int64_t i = 0; i < batches[mode]; i++)
                if (mode == XT_SEQUENTIAL) {
                    assert_int_equal(got[2 * i + 1], i >= 4);
                    assert_int_equal(got[2 * i] >= 1000, i >= 4);
                } else {
                    assert_in_range(got[2 * i], 0, 7);
                    assert_int_equal(got[2 * i + 1] < 0, mode == XT_MAX_SIZE && i >= 2);
                }
        }
        xt_loader_free(l);
    }
}

/* Epochs 0 to 2 as one piece, and again from each batch on. */
static void combined_loaders_are_resumed(void **state) {
    (void)state;
    int64_t whole[36], again[36];
    for (int mode = XT_MIN_SIZE; mode <= XT_SEQUENTIAL; mode++) {
        xt_loader *l = pair((xt_combined_mode)mode);
        int64_t n = xt_loader_batches(l);
        for (int e = 0; e < 3; e++) assert_int_equal(steps_of(l, whole + 2 * n * e, 0), n);
        bool others = false; /* epochs are shuffled anew */
        for (int64_t i = 0; i < n; i++) others = others || whole[2 * i] != whole[2 * (n + i)];
        assert_true(others);
        for (int64_t at = 0; at < 3 * n; at++) {
            xt_loader_set_epoch(l, at / n, at % n);
            int64_t left = steps_of(l, again, at % n);
            assert_int_equal(left, n - at % n);
            assert_memory_equal(again, whole + 2 * at, (size_t)(2 * left) * sizeof *again);
        }
        if (mode == XT_MAX_SIZE_CYCLE) { /* the shorter one is shuffled anew when it begins again */
            bool anew = false;
            for (int e = 0; e < 3; e++)
                for (int i = 0; i < 2; i++) anew = anew || whole[8 * e + 2 * i + 1] != whole[8 * e + 2 * (i + 2) + 1];
            assert_true(anew);
        }
        xt_loader_free(l);
    }
}

static void wrong_combinations(void **state) {
    (void)state;
    xt_loader *l = xt_loader_new(numbers(8, &zero), .batch = 2);
    assert_null(xt_combined_loader(2, ((xt_loader *[]){l, l})));
    refused("twice");
    assert_int_equal(xt_live_objects("loader"), 0); /* taken over, and freed */
    assert_null(xt_combined_loader(0, ((xt_loader *[]){NULL})));
    refused("at least one");
    l = xt_loader_new(numbers(8, &zero), .batch = 2);
    assert_null(xt_combined_loader(1, ((xt_loader *[]){l}), .mode = (xt_combined_mode)9));
    refused("mode = 9 is none of its words: XT_MIN_SIZE, ");
    assert_int_equal(xt_live_objects("loader"), 0);
    assert_null(xt_loader_new(numbers(8, &zero), .shuffle = (xt_switch)9));
    refused("shuffle = 9 is none of its words: XT_OFF, XT_ON, XT_DEFAULT");
    assert_int_equal(xt_live_objects("dataset"), 0);
    l = pair(XT_MIN_SIZE);
    xt_loader *all = xt_combined_loader(2, ((xt_loader *[]){l, xt_loader_new(numbers(8, &zero), .batch = 2)}));
    assert_non_null(all); /* combined of combined */
    xt_loader_free(l);
    refused("part of a combined one");
    xt_batch b;
    assert_true(xt_next(all, &b));
    assert_int_equal(b.parts[0].n_parts, 2);
    assert_int_equal(b.size, 7);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_unsqueeze(xt_mul_scalar(x, 1e-3), -1), 1);
}
static int steps;
static xt_tensor both(xt_module *m, xt_batch b, void *user) {
    (void)user;
    steps++;
    assert_int_equal(b.n_parts, 2);
    xt_share(m, "fc");
    return xt_add(xt_mean(xt_square(xt_forward(m, b.parts[0].x))), xt_mean(xt_square(xt_forward(m, b.parts[1].x))));
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}

static void a_fit_with_two_loaders(void **state) {
    (void)state;
    xt_trainer *t = xt_trainer_new(.max_epochs = 3, .logger = XT_OFF, .checkpointing = XT_OFF, .progress_bar = XT_OFF,
                                   .model_summary = XT_OFF);
    xt_task task = {.net = net, .training_step = both, .configure_optimizers = sgd};
    steps = 0;
    assert_int_equal(xt_fit(t, &task, pair(XT_MAX_SIZE_CYCLE)), 0);
    assert_int_equal(xt_trainer_result(t).steps, 12);
    assert_int_equal(steps, 12);
    xt_trainer_free(t);
}

static void mean_of(xt_module *m, xt_batch b, void *user) {
    (void)m, (void)user;
    xt_log("x", xt_mean(b.x));
}
static double predicted;
static xt_tensor number_of(xt_module *m, xt_batch b, void *user) {
    (void)m, (void)user;
    predicted += 10 * b.loader + 1;
    return b.x;
}

/* A test of several loaders: values of each by its number; predictions go through them in turn. */
static void tests_of_several_loaders(void **state) {
    (void)state;
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF, .progress_bar = XT_OFF,
                                   .model_summary = XT_OFF);
    xt_task task = {.net = net,
                    .training_step = both,
                    .configure_optimizers = sgd,
                    .test_step = mean_of,
                    .validation_step = mean_of,
                    .predict_step = number_of};
    xt_loader *l = pair(XT_SEQUENTIAL);
    assert_int_equal(xt_test(t, &task, l), 0);
    assert_float_equal(xt_trainer_metric(t, "x/dataloader_idx_0", true), 3.5, 1e-6);
    assert_float_equal(xt_trainer_metric(t, "x/dataloader_idx_1", true), 1002.5, 1e-3);
    assert_int_equal(xt_validate(t, &task, l), 0);
    assert_float_equal(xt_trainer_metric(t, "x/dataloader_idx_1", true), 1002.5, 1e-3);
    predicted = 0;
    assert_int_equal(xt_predict(t, &task, l, NULL, NULL), 0);
    assert_float_equal(predicted, 4 + 2 * 11, 0);
    xt_trainer_free(t);
}

/* Each is a loader of its own: limits are of each, numbers of batches begin at 0 in each, and each tells what it leaves
 * out. */
static int64_t places[64];
static size_t n_places;
static void take_place(const xt_batch *b, xt_tensor out, void *user) {
    (void)out;
    (void)user;
    if (n_places < 64) places[n_places++] = 100 * b->loader + b->index;
}
static void heard(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev;
    str_appendn(user, text, n);
}
static void parts_are_loaders_of_their_own(void **state) {
    (void)state;
    static int64_t far = 1000;
    xt_task task = {.net = net,
                    .training_step = both,
                    .configure_optimizers = sgd,
                    .validation_step = mean_of,
                    .predict_step = number_of};
    static const struct {
        double limit;
        int dev;
        const char *places;
    } rows[] = {{-1, 0, " 0 1 2 100 101 102 103 104"},
                {2, 0, " 0 1 100 101"},
                {4, 0, " 0 1 2 100 101 102 103"},
                {0.5, 0, " 0 100 101"},
                {-1, 1, " 0 100"},
                {0, 0, ""}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str text = STR_INIT, said = STR_INIT;
        xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF,
                                       .progress_bar = XT_OFF, .model_summary = XT_OFF, .fast_dev_run = rows[i].dev,
                                       .limit_predict_batches = rows[i].limit, .limit_test_batches = rows[i].limit);
        xt_loader *l = xt_combined_loader(2,
                                          ((xt_loader *[]){xt_loader_new(numbers(7, &zero), .batch = 2),
                                                           xt_loader_new(numbers(11, &far), .batch = 2)}),
                                          .mode = XT_SEQUENTIAL);
        n_places = 0;
        xt_set_sink(heard, &said);
        assert_int_equal(xt_predict(t, &task, l, take_place, NULL), 0);
        for (int k = 0; k < 2; k++) {
            const char *who = k ? "xt_test" : "xt_predict";
            char first[80], second[80];
            snprintf(first, sizeof first, "%s, loader 0: the last 1 sample fills no batch", who);
            snprintf(second, sizeof second, "%s, loader 1: the last 1 sample fills no batch", who);
            if (!strstr(str_cstr(&said), first) || !strstr(str_cstr(&said), second))
                fail_msg("%zu: %s", i, str_cstr(&said));
            if (k == 0) assert_int_equal(xt_test(t, &task, l), 0);
        }
        xt_set_sink(NULL, NULL);
        for (size_t k = 0; k < n_places; k++) str_printf(&text, " %lld", (long long)places[k]);
        assert_string_equal(str_cstr(&text), rows[i].places);
        xt_trainer_free(t);
        str_free(&text);
        str_free(&said);
    }
}

static xt_loader *many(int n) {
    static const int64_t far[9] = {0, 1000, 5000, 5000, 5000, 5000, 5000, 5000, 5000};
    xt_loader *all[9];
    for (int i = 0; i < n; i++) all[i] = xt_loader_new(numbers(2, (int64_t *)&far[i]), .batch = 2);
    return xt_combined_loader(n, all, .mode = XT_SEQUENTIAL);
}

/* The same of a fit's validations, with a further loader behind; there is room for eight, in each fit anew. */
static void validations_of_several_loaders(void **state) {
    (void)state;
    static int64_t last = 7000;
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF, .progress_bar = XT_OFF,
                                   .model_summary = XT_OFF);
    xt_task task = {.net = net, .training_step = both, .configure_optimizers = sgd, .validation_step = mean_of};
    xt_trainer_add_val_loader(t, xt_loader_new(numbers(2, &last), .batch = 2));
    assert_int_equal(xt_fit(t, &task, pair(XT_MIN_SIZE), pair(XT_SEQUENTIAL)), 0);
    assert_float_equal(xt_trainer_metric(t, "x/dataloader_idx_0", true), 3.5, 1e-6);
    assert_float_equal(xt_trainer_metric(t, "x/dataloader_idx_1", true), 1002.5, 1e-3);
    assert_float_equal(xt_trainer_metric(t, "x/dataloader_idx_2", true), 7000.5, 1e-2);
    assert_true(isnan(xt_trainer_metric(t, "x", true)));
    for (int i = 0; i < 2; i++) assert_int_equal(xt_fit(t, &task, pair(XT_MIN_SIZE), many(7)), 0);
    assert_int_equal(xt_fit(t, &task, pair(XT_MIN_SIZE), many(8)), 1);
    xt_trainer_free(t);
}

/* A combined one that is given as a further one has its parts passed over, too; there is room for as many. */
static void combined_loader_as_a_further_one(void **state) {
    (void)state;
    static int64_t last = 7000;
    xt_task task = {.net = net, .training_step = both, .configure_optimizers = sgd, .validation_step = mean_of};
    for (int n = 2; n <= 8; n += 6) {
        xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF,
                                       .progress_bar = XT_OFF, .model_summary = XT_OFF);
        xt_trainer_add_val_loader(t, many(n));
        assert_int_equal(xt_fit(t, &task, pair(XT_MIN_SIZE), xt_loader_new(numbers(2, &last), .batch = 2)), n == 8);
        if (n == 2) {
            assert_float_equal(xt_trainer_metric(t, "x/dataloader_idx_0", true), 7000.5, 1e-2);
            assert_float_equal(xt_trainer_metric(t, "x/dataloader_idx_1", true), 0.5, 1e-6);
            assert_float_equal(xt_trainer_metric(t, "x/dataloader_idx_2", true), 1000.5, 1e-3);
        }
        xt_trainer_free(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(weighted_draws, finish),
        cmocka_unit_test_teardown(weighted_draws_without_replacement, finish),
        cmocka_unit_test_teardown(wrong_weights, finish),
        cmocka_unit_test_teardown(buckets_of_lengths, finish),
        cmocka_unit_test_teardown(one_of_ones_own, finish),
        cmocka_unit_test_teardown(shared, finish),
        cmocka_unit_test_teardown(samplers_that_fail, finish),
        cmocka_unit_test_teardown(modes_of_combined_loaders, finish),
        cmocka_unit_test_teardown(combined_loaders_are_resumed, finish),
        cmocka_unit_test_teardown(wrong_combinations, finish),
        cmocka_unit_test_teardown(a_fit_with_two_loaders, finish),
        cmocka_unit_test_teardown(tests_of_several_loaders, finish),
        cmocka_unit_test_teardown(parts_are_loaders_of_their_own, finish),
        cmocka_unit_test_teardown(validations_of_several_loaders, finish),
        cmocka_unit_test_teardown(combined_loader_as_a_further_one, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
