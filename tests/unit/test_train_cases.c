/* Cases of other trainers' own tests that no other file holds: what the throughput monitor refuses and what its
 * clock does, which batches a resumed fit gets, what a sanity check leaves behind, one profile at a time, limits
 * that make no sense. */
#include <signal.h>

#include "train_test.h"

#include <xtrain/diag.h>

#include "device/device.h"
#include "train/throughput_window.h"

static const int64_t SECOND = 1000000000;

/* --- throughput --- */
static void refused(const xt_callback *c, const char *part) {
    assert_null(c);
    assert_non_null(xt_error());
    if (!strstr(xt_status_message(xt_error()), part))
        fail_msg("\"%s\" is not in: %s", part, xt_status_message(xt_error()));
    assert_non_null(strstr(xt_status_message(xt_error()), "test_train_cases.c:"));
    xt_clear_error();
}

/* Lightning's monitor is given samples and lengths by the program and refuses fewer samples than batches, fewer lengths
 * than samples, and lengths that come and go. Here the trainer counts them; what a program gives is a sample's length,
 * once for all, and that is where the refusals are. */
static void counts_that_cannot_be(void **state) {
    (void)state;
    refused(xt_throughput_monitor(.items_per_sample = -1), "items_per_sample = -1");
    refused(xt_throughput_monitor(.window = -2), "window = -2");
    refused(xt_throughput_monitor(.peak_flops = -1), "peak_flops = -1");
    const char *names[THR_VALUES];
    double values[THR_VALUES];
    thr_stats s = {.n = 1, .batches_per_s = 2, .samples_per_s = 4};
    int without = thr_values(&s, 1, 0, 0, false, names, values), with = thr_values(&s, 1, 0, 2, false, names, values);
    assert_int_equal(with, without + 2); /* in every row, or in none */
    for (int i = 0; i < with; i++)
        if (strcmp(names[i], "throughput/items_per_sec") == 0) assert_true(values[i] == 8);
}

/* A completion that is told after a later one (they come from several threads) is a batch more and no time less: a rate
 * never comes from a clock that went back. A monitor of a new fit begins at any time. */
static void the_clock_never_goes_back(void **state) {
    (void)state;
    thr_window w;
    thr_stats s;
    assert_null(thr_init(&w, 3));
    for (int i = 1; i <= 3; i++) thr_done(&w, thr_begin(&w, 2), i * SECOND);
    thr_done(&w, thr_begin(&w, 2), 2 * SECOND);
    assert_int_equal(w.clock_ns, 3 * SECOND);
    assert_int_equal(w.batches, 4);
    assert_int_equal(w.samples, 8);
    assert_true(thr_get(&w, &s));
    assert_int_equal(s.n, 3);
    assert_float_equal(s.batches_per_s, 1.5, 1e-9); /* three batches in the two seconds from 1 to 3 */
    thr_resume(&w, 2 * SECOND);
    assert_int_equal(w.clock_ns, 3 * SECOND);
    thr_done(&w, thr_begin(&w, 2), 4 * SECOND); /* its time is from 3 on */
    assert_true(thr_get(&w, &s));
    assert_float_equal(s.batches_per_s, 1.5, 1e-9); /* 1 + 0 + 1 seconds */
    thr_done(&w, w.next_seq + 5, 9 * SECOND); /* of no batch that began */
    assert_int_equal(w.batches, 5);
    thr_deinit(&w);
    assert_null(thr_init(&w, 3));
    thr_done(&w, thr_begin(&w, 2), 2 * SECOND);
    assert_int_equal(w.clock_ns, 2 * SECOND);
    assert_int_equal(w.batches, 1);
    thr_deinit(&w);
}

/* --- which batches a fit gets --- */
static str order = STR_INIT;
static int steps, cut_after;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (++steps == cut_after) raise(SIGTERM);
    return xt_mean(xt_forward(m, b.x));
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", xt_mean(xt_forward(m, b.x)), .on_step = XT_ON, .on_epoch = XT_ON);
}
static bool note(xt_module *m, const xt_batch *b, void *user) {
    float x[8];
    (void)m;
    (void)user;
    assert_true(xt_read(b->x, x, (size_t)b->size * sizeof *x));
    str_append(&order, "(");
    for (int64_t i = 0; i < b->size; i++) str_printf(&order, "%s%g", i ? "," : "", x[i]);
    if (b->y.slot) {
        int64_t y[8];
        assert_true(xt_read(b->y, y, (size_t)b->size * sizeof *y));
        for (int64_t i = 0; i < b->size; i++) str_printf(&order, ",%lld", (long long)y[i]);
    }
    str_append(&order, ")");
    return false;
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static const xt_task task = {.net = net,
                             .training_step = train_step,
                             .validation_step = val_step,
                             .configure_optimizers = sgd,
                             .on_train_batch_start = note};

typedef struct source {
    int64_t first, count, batch, labels_from; /* labels_from 0: none */
    xt_switch shuffle;
    int workers;
} source;
static xt_loader *loader(const source *s) {
    static float x[16];
    static int64_t y[16];
    for (int64_t i = 0; i < s->count; i++) x[i] = (float)(s->first + i), y[i] = s->labels_from + i;
    xt_spec of_y = s->labels_from ? (xt_spec){XT_I64, {0}} : (xt_spec){0};
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1}}, s->labels_from ? y : NULL, of_y, s->count),
                         .batch = s->batch, .shuffle = s->shuffle, .workers = s->workers ? s->workers : 1);
}

/* The batches of a fit, after which it gives `code`; valid until the next call. */
static const char *fit(const char *run, const char *resume, const source *s, int64_t epochs, int cut, int code) {
    static char got[512];
    cut_after = cut;
    steps = 0;
    str_clear(&order);
    xt_trainer *t =
        TEST_TRAINER(.max_epochs = epochs, .seed = resume ? XT_SEED_OF_RUN : 5, .run_name = run, .resume = resume);
    int came = xt_fit(t, &task, loader(s), NULL);
    if (came != code) fail_msg("%s: %d, not %d: %s", run, came, code, str_cstr(&said));
    cut_after = 0;
    xt_finish();
    snprintf(got, sizeof got, "%s", str_cstr(&order));
    str_free(&order);
    return got;
}

/* Cut within an epoch, a fit goes on with the batches that the epoch still has, shuffled or not, of one
 * field or two. */
static void a_resumed_fit_gets_the_rest(void **state) {
    (void)state;
    static const struct {
        source s;
        const char *before, *after;
    } rows[] = {{{0, 8, 2, 0, XT_OFF, 0}, "(0,1)(2,3)", "(4,5)(6,7)"},
                {{0, 8, 2, 0, XT_OFF, 2}, "(0,1)(2,3)", "(4,5)(6,7)"},
                {{3, 4, 1, 1, XT_OFF, 0}, "(3,1)(4,2)", "(5,3)(6,4)"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char run[16];
        snprintf(run, sizeof run, "plain%zu", i);
        assert_string_equal(fit(run, NULL, &rows[i].s, 1, 2, 128 + SIGTERM), rows[i].before);
        assert_string_equal(fit(run, "last", &rows[i].s, 1, 0, 0), rows[i].after);
    }
    for (int workers = 0; workers <= 2; workers += 2) {
        const source s = {0, 8, 2, 1, XT_ON, workers};
        char whole[512], cut[512], run[16];
        snprintf(whole, sizeof whole, "%s", fit("whole", NULL, &s, 2, 0, 0));
        assert_null(strstr(whole, "(0,1,1,2)(2,3,3,4)(4,5,5,6)(6,7,7,8)")); /* shuffled, each x with its y */
        for (int at = 1; at < 8; at++) { /* in either epoch, and between them */
            snprintf(run, sizeof run, "cut%d-%d", workers, at);
            snprintf(cut, sizeof cut, "%s", fit(run, NULL, &s, 2, at, 128 + SIGTERM));
            size_t n = strlen(cut);
            assert_memory_equal(cut, whole, n);
            assert_string_equal(fit(run, "last", &s, 2, 0, 0), whole + n);
        }
    }
}

/* --- sanity checks --- */
static int looked;
static void nothing_is_known(xt_trainer *t, void *user) {
    (void)user;
    looked++;
    assert_true(isnan(xt_trainer_metric(t, "val/loss", true)) && isnan(xt_trainer_metric(t, "val/loss", false)));
}
static void sanity_changes_neither_order_nor_metrics(void **state) {
    (void)state;
    static const xt_callback_desc desc = {.struct_size = sizeof(xt_callback_desc),
                                          .name = "looks",
                                          .sanity_end = nothing_is_known,
                                          .epoch_start = nothing_is_known};
    const source s = {0, 8, 2, 0, XT_ON, 0};
    char orders[2][128];
    for (int i = 0; i < 2; i++) {
        looked = 0;
        str_clear(&order);
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .num_sanity_val_steps = i ? 2 : 0, .seed = 5, .logger = XT_OFF,
                                     .checkpointing = XT_OFF);
        xt_trainer_add(t, xt_callback_new(&desc, NULL));
        assert_int_equal(xt_fit(t, &task, loader(&s), loader(&s)), 0);
        assert_int_equal(looked, 1 + i);
        snprintf(orders[i], sizeof orders[i], "%s", str_cstr(&order));
        xt_finish();
    }
    assert_string_equal(orders[0], orders[1]);
    assert_int_equal(strlen(orders[0]), 4 * strlen("(0,1)"));
    str_free(&order);
}

/* --- limits --- */
static void limits_that_make_no_sense(void **state) {
    (void)state;
    const struct {
        xt_trainer_opts o;
        const char *says;
    } rows[] = {{XT_OPTS(xt_trainer_opts, .max_steps = -2), "max_steps = -2"},
                {XT_OPTS(xt_trainer_opts, .max_epochs = -2), "max_epochs = -2"},
                {XT_OPTS(xt_trainer_opts, .accumulate_grad_batches = 0), "accumulate_grad_batches = 0"},
                {XT_OPTS(xt_trainer_opts, .log_every_n_steps = 0), "log_every_n_steps = 0"},
                {XT_OPTS(xt_trainer_opts, .fast_dev_run = -1), "fast_dev_run = -1"}};
    const source s = {0, 8, 2, 0, XT_OFF, 0};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        xt_trainer_opts o = rows[i].o;
        o.struct_size = sizeof o, o.runs_dir = dir, o.logger = o.checkpointing = o.progress_bar = XT_OFF;
        str_clear(&said);
        steps = 0;
        assert_int_equal(xt_fit(xt_trainer_opt(XT_HERE, o), &task, loader(&s), NULL), 1);
        assert_int_equal(steps, 0);
        says(rows[i].says);
        xt_finish();
    }
    str_free(&order);
}

/* --- batches left out --- */
/* y = w x with w = 1 at first, the loss is w x and x is 1: a step takes the rate times the part of the window's
 * micro-batches that have a loss. */
static unsigned left_out; /* bits of batches */
static xt_tensor scale(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static xt_tensor some_have_none(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_mean(xt_forward(m, b.x));
    return left_out >> b.index & 1 ? (xt_tensor){0} : loss;
}
static xt_optimizer *with_momentum(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1, .momentum = 0.5);
}
static void a_batch_without_a_loss_is_left_out(void **state) {
    (void)state;
    static const struct {
        unsigned without;
        int window, rc;
        double w;
    } rows[] = {
        {0, 1, 0, 1 - 0.1 * (1 + 1.5 + 1.75 + 1.875)},
        {1 << 1, 1, 0, 1 - 0.1 * (1 + 1.5 + 1.75)},
        {1 << 0 | 1 << 3, 1, 0, 1 - 0.1 * (1 + 1.5)},
        {1 << 1, 2, 0, 1 - 0.1 * (0.5 + 1.25)}, /* of a window one micro-batch */
        {1 << 2 | 1 << 3, 2, 0, 1 - 0.1}, /* and a whole window */
        {15, 1, 1, 1},
        {15, 2, 1, 1},
    };
    static float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const xt_task leaves = {.net = scale, .training_step = some_have_none, .configure_optimizers = with_momentum};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        left_out = rows[i].without;
        str_clear(&said);
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF,
                                     .accumulate_grad_batches = rows[i].window);
        xt_loader *l = xt_loader_new(xt_array_dataset(ones, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 8), .batch = 2);
        assert_int_equal(xt_fit(t, &leaves, l, NULL), rows[i].rc);
        assert_int_equal(xt_trainer_global_step(t), 4 / rows[i].window);
        float w;
        assert_true(xt_read(xt_module_find(xt_trainer_module(t), "w"), &w, sizeof w));
        assert_true(fabs(w - rows[i].w) < 1e-6);
        if (rows[i].without) says("training_step gave no loss ({0}) for batch");
        if (rows[i].rc) says("training_step gave no loss ({0}) for any batch of epoch 0");
        xt_finish();
    }
}

/* --- profiles --- */
/* A second profile is refused while one is to come or under way, by name of the first; when that is complete the next
 * may begin. One that never began says so. */
static void one_profile_at_a_time(void **state) {
    (void)state;
    char first[256], second[256], late[256];
    snprintf(first, sizeof first, "%s", in_dir("first.json"));
    snprintf(second, sizeof second, "%s", in_dir("second.json"));
    snprintf(late, sizeof late, "%s", in_dir("late.json"));
    const source s = {0, 8, 2, 0, XT_OFF, 0};
    assert_null(xt_profile(first, .steps = 2));
    for (int i = 0; i < 2; i++) { /* before a step, and within the profile */
        xt_status again = xt_profile(second);
        assert_non_null(again);
        assert_int_equal(xt_status_code(again), XT_FAILED_PRECONDITION);
        assert_non_null(strstr(xt_status_message(again), "first.json is not complete yet"));
        xt_status_free(again);
        if (i == 0) assert_true(xt_mark_step());
    }
    assert_int_equal(
        xt_fit(TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF), &task, loader(&s), NULL), 0);
    assert_true(file_exists(first) && !file_exists(second));
    assert_null(xt_profile(second, .steps = 1));
    assert_int_equal(
        xt_fit(TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF), &task, loader(&s), NULL), 0);
    assert_true(file_exists(second));
    assert_null(xt_profile(late, .first = 1000000));
    xt_finish();
    says("late.json is empty: the run ended before step 1000000");
    assert_false(file_exists(late));
    char *data = (char *)first;
    size_t n = 1;
    assert_null(device_profile_stop(NULL, &data, &n)); /* nothing was started: nothing to write, and no error */
    assert_true(!data && n == 0);
    str_free(&order);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {T(counts_that_cannot_be),
                                       cmocka_unit_test(the_clock_never_goes_back),
                                       T(a_resumed_fit_gets_the_rest),
                                       T(sanity_changes_neither_order_nor_metrics),
                                       T(limits_that_make_no_sense),
                                       T(one_profile_at_a_time),
                                       T(a_batch_without_a_loss_is_left_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
