/* Modes are the user's: what xt_eval and xt_train said of each module holds in every training step, and again behind
 * everything of the library that evaluates or trains for a while. */
#include "train_test.h"

enum { MODULES = 5 }; /* the network, block, block.frozen, block.free, head */
typedef enum how { AS_IT_IS, EVALUATES, TRAINS } how;

static xt_module *module_of(xt_module *m, int i) {
    if (i == 0) return m;
    if (i == 4) return xt_sub(m, "head", -1);
    xt_module *block = xt_sub(m, "block", -1);
    return i == 1 ? block : xt_sub(block, i == 2 ? "frozen" : "free", -1);
}
static unsigned modes(xt_module *m) { /* a bit each: trains */
    unsigned all = 0;
    for (int i = 0; i < MODULES; i++) all |= (unsigned)xt_is_training(module_of(m, i)) << i;
    return all;
}
static void set(xt_module *m, const how *h) {
    xt_train(m);
    for (int i = 0; i < MODULES; i++) {
        if (h[i] == EVALUATES) xt_eval(module_of(m, i));
        if (h[i] == TRAINS) xt_train(module_of(m, i));
    }
}

static unsigned want; /* modes of training steps */
static int trained, evaluated, sampled;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_batch_norm(m, "block.frozen", x);
    x = xt_batch_norm(m, "block.free", x);
    return xt_linear(m, "head", x, 1);
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    trained++;
    if (modes(m) != want) fail_msg("a training step has modes %x, not %x", modes(m), want);
    return xt_mean(xt_forward(m, b.x));
}
static void looks(xt_module *m, xt_batch b, void *user) {
    (void)user;
    evaluated++;
    assert_int_equal(modes(m), 0);
    xt_log("value", xt_mean(xt_forward(m, b.x)));
}
static xt_tensor predicts(xt_module *m, xt_batch b, void *user) {
    (void)user;
    assert_int_equal(modes(m), 0);
    return xt_forward(m, b.x);
}
static void samples(xt_module *m, int64_t at, const char *path, void *user) {
    (void)at, (void)path, (void)user;
    sampled++;
    assert_int_equal(modes(m), 0);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}
static xt_loader *data(void) {
    static float rows[32];
    for (int i = 0; i < 32; i++) rows[i] = (float)(i * i % 7);
    return xt_loader_new(xt_array_dataset(rows, (xt_spec){XT_F32, {4}}, NULL, (xt_spec){0}, 8), .batch = 2);
}
static xt_trainer *trainer(void) {
    xt_trainer *t = TEST_TRAINER(.max_epochs = 2, .logger = XT_OFF, .checkpointing = XT_OFF, .val_every_n_batches = 2,
                                 .num_sanity_val_steps = 1);
    xt_trainer_add(t, xt_sample_writer(.sample = samples, .every = "2steps"));
    return t;
}

/* All that evaluates or trains for a while, one after the other. */
static void use_all(xt_module *m) {
    xt_loader *train = data(), *val = data();
    xt_task task = {.module = m,
                    .training_step = training_step,
                    .validation_step = looks,
                    .predict_step = predicts,
                    .configure_optimizers = configure};
    xt_trainer *t = trainer();
    want = modes(m);
    assert_int_equal(xt_fit(t, &task, train, val), 0);
    assert_int_equal(modes(m), want);
    assert_int_equal(xt_validate(t, &task, val), 0);
    assert_int_equal(modes(m), want);
    assert_int_equal(xt_test(t, &task, val), 0);
    assert_int_equal(modes(m), want);
    assert_int_equal(xt_predict(t, &task, val, NULL, NULL), 0);
    assert_int_equal(modes(m), want);
    assert_null(xt_update_batch_norms(m, train));
    assert_int_equal(modes(m), want);
    for (int i = 0; i < MODULES; i++) {
        xt_eval_begin(m);
        xt_eval_begin(module_of(m, i));
        xt_train(module_of(m, i)); /* within it: forgotten with it */
        xt_eval(module_of(m, i));
        xt_train(module_of(m, i == 1 ? 3 : i));
        xt_eval_end(module_of(m, i));
        assert_int_equal(modes(m), 0);
        xt_eval_end(m);
        assert_int_equal(modes(m), want);
    }
    xt_optimizer_free(xt_trainer_optimizer(t));
    xt_trainer_free(t);
    xt_loader_free(train);
    xt_loader_free(val);
}

static void every_mode_outlasts_passes(void **state) {
    (void)state;
    for (int n = 0; n < 12; n++) {
        how h[MODULES];
        for (int i = 0, k = n * 41; i < MODULES; i++, k /= 3) h[i] = (how)(k % 3);
        trained = evaluated = sampled = 0;
        xt_module *m = xt_module_new(net, NULL);
        set(m, h);
        use_all(m);
        assert_int_equal(trained, 8);
        assert_int_equal(evaluated, 1 + 4 * 4 + 4 + 4);
        assert_int_equal(sampled, 4);
        xt_module_free(m);
    }
}

/* A frozen batch norm keeps its statistics through a fit that validates; its neighbour's move. */
static double first_mean(xt_module *m, const char *name) {
    float v[4];
    assert_true(xt_read(xt_module_find(m, name), v, sizeof v));
    return v[0];
}
static void frozen_statistics_stay(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_eval(module_of(m, 2));
    want = modes(m);
    xt_loader *train = data(), *val = data();
    xt_task task = {
        .module = m, .training_step = training_step, .validation_step = looks, .configure_optimizers = configure};
    xt_trainer *t = trainer();
    assert_int_equal(xt_fit(t, &task, train, val), 0);
    assert_true(first_mean(m, "block.frozen.running_mean") == 0);
    assert_true(first_mean(m, "block.free.running_mean") != 0);
    xt_optimizer_free(xt_trainer_optimizer(t));
    xt_trainer_free(t);
    xt_loader_free(train);
    xt_loader_free(val);
    xt_module_free(m);
}

/* A fit of a network in evaluation mode trains in it, and says so. */
static void fits_that_evaluate_are_told(void **state) {
    (void)state;
    for (int evaluates = 0; evaluates < 2; evaluates++) {
        xt_module *m = xt_module_new(net, NULL);
        if (evaluates) xt_eval_at(XT_HERE, m);
        want = modes(m);
        str_clear(&said);
        xt_loader *train = data();
        xt_task task = {.module = m, .training_step = training_step, .configure_optimizers = configure};
        xt_trainer *t = trainer();
        assert_int_equal(xt_fit(t, &task, train, NULL), 0);
        if (evaluates) says("in evaluation mode (since ");
        if (evaluates) says("test_train_modes.c:");
        assert_int_equal(evaluates, strstr(str_cstr(&said), "evaluation mode") != NULL);
        xt_optimizer_free(xt_trainer_optimizer(t));
        xt_trainer_free(t);
        xt_loader_free(train);
        xt_module_free(m);
    }
}

/* Ends that do not fit their begins are errors. */
static void ends_fit_begins(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL), *head = module_of(m, 4);
    xt_eval_end(head);
    assert_non_null(strstr(xt_status_message(xt_error()), "xt_eval_end of head without xt_eval_begin"));
    xt_clear_error();
    xt_eval_begin(m);
    xt_eval_end(head);
    assert_non_null(strstr(xt_status_message(xt_error()), "xt_eval_begin before it is of the network"));
    xt_clear_error();
    xt_eval_end(m);
    assert_true(xt_is_training(m));
    xt_module_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_mode_outlasts_passes, begin, end),
        cmocka_unit_test_setup_teardown(frozen_statistics_stay, begin, end),
        cmocka_unit_test_setup_teardown(fits_that_evaluate_are_told, begin, end),
        cmocka_unit_test_setup_teardown(ends_fit_begins, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
