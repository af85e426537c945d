/* A label that is no class is an error with the loss's line, in the step that would train on it: labels are looked at
 * on the host, where they come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { SAMPLES = 12, BATCH = 4, CLASSES = 3, WRONG = 9 };
static int line; /* of the loss */

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, CLASSES);
}

static void expect(const char *const *words, int n) {
    const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
    for (int i = 0; i < n; i++)
        if (!strstr(text, words[i])) fail_msg("expected \"%s\" in: %s", words[i], text);
}
#define EXPECT(...) \
    expect((const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static void expect_line(void) {
    char here[64];
    snprintf(here, sizeof here, "test_data_labels.c:%d", line);
    EXPECT(here);
}

static void done(void) {
    static const char *const kinds[] = {"tensor", "buffer", "loader", "dataset", "step"};
    xt_clear_error();
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (xt_live_objects(kinds[i]))
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

/* Labels 0, 1, 2, ... but for one sample. */
static xt_loader *data(int64_t wrong, xt_loader_opts o) {
    static float both_x[2][SAMPLES][2]; /* a fit has two loaders at a time, and a dataset borrows its arrays */
    static int32_t both_y[2][SAMPLES];
    static int calls;
    float(*x)[2] = both_x[calls % 2];
    int32_t *y = both_y[calls++ % 2];
    for (int i = 0; i < SAMPLES; i++) x[i][0] = (float)i, x[i][1] = 1, y[i] = i % CLASSES;
    y[WRONG] = (int32_t)wrong;
    o.batch = BATCH;
    return xt_loader_opt(XT_HERE, xt_array_dataset(x, (xt_spec){XT_F32, {2}}, y, (xt_spec){XT_I32, {0}}, SAMPLES), o);
}

static xt_tensor loss_of(xt_module *m, xt_tensor x, xt_tensor y) {
    xt_tensor out = xt_forward(m, x);
    line = __LINE__ + 1;
    return xt_cross_entropy(out, xt_reshape(xt_cast(y, XT_I64), xt_dim(y, 0)), .ignore_index = 7);
}

/* A plain loop: batches before the one with the wrong label train, and the loop ends there. */
static int train(xt_loader *l, xt_step *compiled, xt_module *m) {
    int n = 0;
    for (xt_batch b; xt_next(l, &b); n++) {
        if (compiled)
            xt_call(compiled, b.x, b.y);
        else
            xt_backward(loss_of(m, b.x, b.y));
    }
    return n;
}

static void a_plain_loop_ends_with_the_sample(void **state) {
    (void)state;
    for (int shuffled = 0; shuffled < 2; shuffled++)
        for (int wrong = -1; wrong <= CLASSES; wrong += CLASSES + 1) {
            xt_module *m = xt_module_new(net, NULL);
            xt_loader *l = data(wrong, XT_OPTS(xt_loader_opts, .shuffle = shuffled ? XT_ON : XT_DEFAULT, .seed = 3));
            int steps = train(l, NULL, m);
            /* the loss of the third fails, and its boundary says so */
            if (!shuffled) assert_int_equal(steps, WRONG / BATCH + 1);
            expect_line();
            EXPECT("xt_cross_entropy", wrong < 0 ? "label -1 (sample 9 of " : "label 3 (sample 9 of ", "outside 0..2",
                   "3 classes", "or 7, which is ignored");
            xt_loader_free(l);
            xt_module_free(m);
            done();
        }
}

static void good_and_ignored_labels_pass(void **state) {
    (void)state;
    for (int wrong = 2; wrong <= 7; wrong += 5) {
        xt_module *m = xt_module_new(net, NULL);
        xt_loader *l = data(wrong, XT_OPTS(xt_loader_opts, .shuffle = XT_ON));
        assert_int_equal(train(l, NULL, m), SAMPLES / BATCH);
        assert_null(xt_error());
        xt_loader_free(l);
        xt_module_free(m);
        done();
    }
}

static void two_labels_beyond_the_ignored_one(void **state) { /* the ignored one hides neither */
    (void)state;
    xt_tensor scores = xt_zeros(XT_F32, 4, 3);
    xt_cross_entropy(scores, xt_from_array(((int64_t[4]){255, 4, 255, 0}), XT_I64, 4), .ignore_index = 255);
    EXPECT("label 4 (element 1)");
    xt_clear_error();
    xt_mark_step();
    xt_clear_error();
    scores = xt_zeros(XT_F32, 4, 3);
    xt_nll_loss(scores, xt_from_array(((int64_t[4]){-100, 1, -2, 0}), XT_I64, 4));
    EXPECT("label -2 (element 2)");
    xt_clear_error();
    xt_mark_step();
    xt_clear_error();
    /* computed: nothing is known of it */
    xt_tensor shifted = xt_add_scalar(xt_from_array(((int32_t[3]){1, 2, 3}), XT_I32, 3), -1);
    xt_when_ready(xt_multi_margin_loss(xt_zeros(XT_F32, 3, 3), shifted), NULL, NULL);
    assert_true(xt_mark_step());
    xt_multi_margin_loss(xt_zeros(XT_F32, 3, 3), xt_from_array(((int32_t[3]){1, 2, 3}), XT_I32, 3));
    EXPECT("xt_multi_margin_loss", "label 3 (element 2)");
    done();
}

#define INTS(...) xt_from_array(((int32_t[]){__VA_ARGS__}), XT_I32, 2)

/* Rows that end at a negative label, targets of an alignment, and how long sequences are. */
static void labels_of_several_kinds(void **state) {
    (void)state;
    for (int k = 0; k < 5; k++) {
        xt_tensor steps = xt_log_softmax(xt_zeros(XT_F32, 5, 2, 3), -1),
                  targets = xt_from_array(((int64_t[4]){1, 2, k == 1 ? 3 : 1, 0}), XT_I64, 2, 2);
        if (k == 0)
            xt_multilabel_margin_loss(xt_zeros(XT_F32, 1, 3), xt_from_array(((int64_t[3]){1, 3, -1}), XT_I64, 1, 3));
        else
            xt_ctc_loss(steps, targets, INTS(5, k == 2 ? 6 : 5), INTS(k == 3 ? 3 : 2, k == 4 ? -1 : 1));
        static const char *const says[] = {"label 3 (element 1) is outside 0..2", "label 3 (element 2) is outside 0..2",
                                           "length 6 (element 1) is outside 0..5",
                                           "length 3 (element 0) is outside 0..2",
                                           "length -1 (element 1) is outside 0..2"};
        EXPECT(k ? "xt_ctc_loss" : "xt_multilabel_margin_loss", says[k]);
        xt_clear_error();
        xt_mark_step();
        xt_clear_error();
    }
    xt_when_ready(
        xt_multilabel_margin_loss(xt_zeros(XT_F32, 1, 3), xt_from_array(((int64_t[3]){2, -7, 9}), XT_I64, 1, 3)), NULL,
        NULL);
    EXPECT("xt_multilabel_margin_loss", "label 9 (element 2)"); /* behind the end: no class either */
    done();
}

/* A cast that wraps a number around makes it another: nothing is known of it, neither as an error nor as
 * what is ignored. */
static void casts_that_wrap_say_nothing(void **state) {
    (void)state;
    static const struct {
        xt_dtype from, to;
        int64_t ignore;
        union {
            uint8_t u8[4];
            int8_t i8[4];
            uint16_t u16[4];
            uint32_t u32[4];
            int64_t i64[4];
        } labels;
    } rows[] = {
        {XT_U8, XT_I8, -1, {.u8 = {0, 255, 2, 1}}},
        {XT_I8, XT_U8, 255, {.i8 = {0, -1, 2, 1}}},
        {XT_U16, XT_I16, -1, {.u16 = {0, 65535, 2, 1}}},
        {XT_U32, XT_I32, -100, {.u32 = {0, 4294967196u, 2, 1}}},
        {XT_I64, XT_I32, -100, {.i64 = {0, 4294967196ll, 2, 1}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        xt_tensor y = xt_cast(xt_from_array(&rows[i].labels, rows[i].from, 4), rows[i].to);
        float loss = xt_item(xt_cross_entropy(xt_zeros(XT_F32, 4, 3), y, .ignore_index = rows[i].ignore));
        if (xt_error() || !(loss > 1.09f && loss < 1.1f))
            fail_msg("row %zu: %g %s", i, (double)loss, xt_error() ? xt_status_message(xt_error()) : "");
        xt_mark_step();
    }
    /* kept by the cast: known */
    xt_cross_entropy(xt_zeros(XT_F32, 4, 3), xt_cast(xt_from_array(((int64_t[4]){0, 100, 2, 1}), XT_I64, 4), XT_I8));
    EXPECT("label 100 (element 1)");
    done();
}

static xt_tensor step(const xt_tensor *in, int n, void *user) {
    (void)n;
    return loss_of(user, in[0], in[1]);
}

static void a_compiled_step_looks_at_each_call(void **state) {
    (void)state;
    for (int resident = 0; resident < 2; resident++) {
        xt_module *m = xt_module_new(net, NULL);
        xt_loader *l = data(5, XT_OPTS(xt_loader_opts, .on_device = resident ? XT_ON : XT_DEFAULT));
        xt_step *f = xt_compile(step, .user = m);
        int steps = train(l, f, m);
        /* recorded, replayed, refused */
        if (!resident)
            assert_int_equal(steps, WRONG / BATCH + 1), assert_int_equal(xt_step_replays(f), 1);
        else
            assert_int_equal(steps, 1); /* of a set that lies on the device, the first step knows */
        expect_line();
        EXPECT("label 5 (sample 9 of ");
        xt_step_free(f);
        xt_loader_free(l);
        xt_module_free(m);
        done();
    }
}

/* --- the Trainer --- */
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return loss_of(m, b.x, b.y);
}
static void validation_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", loss_of(m, b.x, b.y));
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}

static char told[8192];
static void sink(xt_severity severity, const char *text, size_t length, void *user) {
    (void)user, (void)severity, (void)length;
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s\n", text);
}

static void a_fit_fails_in_training_and_in_validation(void **state) {
    (void)state;
    xt_task task = {.net = net,
                    .training_step = training_step,
                    .validation_step = validation_step,
                    .configure_optimizers = configure};
    for (int where = 0; where < 3; where++) {
        xt_trainer *t = xt_trainer_new(.max_epochs = 1, .fast_dev_run = where == 2 ? 1 : 3, .progress_bar = XT_OFF);
        told[0] = 0;
        xt_set_sink(sink, NULL);
        xt_loader *train = data(where == 0 ? 3 : 0, XT_OPTS(xt_loader_opts, )),
                  *val = data(where == 1 ? 3 : 0, XT_OPTS(xt_loader_opts, ));
        int code = xt_fit(t, &task, train, val);
        xt_set_sink(NULL, NULL);
        char here[64];
        snprintf(here, sizeof here, "test_data_labels.c:%d", line);
        assert_int_equal(code, where < 2);
        if (where < 2 && (!strstr(told, here) || !strstr(told, "label 3 (sample 9 of ")))
            fail_msg("%d: %s", where, told);
        xt_loader_free(train);
        xt_loader_free(val);
        xt_trainer_free(t);
        xt_clear_error();
    }
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_loop_ends_with_the_sample),
        cmocka_unit_test(good_and_ignored_labels_pass),
        cmocka_unit_test(two_labels_beyond_the_ignored_one),
        cmocka_unit_test(labels_of_several_kinds),
        cmocka_unit_test(casts_that_wrap_say_nothing),
        cmocka_unit_test(a_compiled_step_looks_at_each_call),
        cmocka_unit_test(a_fit_fails_in_training_and_in_validation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
