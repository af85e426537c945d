/* One loader in several passes at a time, as one DataLoader is: each pass has its own iteration of the samples. A fit
 * that validates within an epoch over its own training loader, a callback's pass over it, the program's own xt_next in
 * a hook, and passes of the trainer within a loop of the program's own: all end, train each batch once an epoch, and
 * see each batch of what they go over. */
#include "train_test.h"

enum { BATCHES = 4, EPOCHS = 2, MOST = 200 }; /* MOST: what ends a test that would have no end */

static int n_trained, n_seen;
static int64_t trained[MOST], seen[MOST]; /* epoch * 100 + batch; batches of the inner pass */
static xt_trainer *trainer;
static xt_loader *shared;
static enum inner { VALIDATES, PREDICTS, READS, READS_ONE } inner;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}
static xt_tensor loss_of(xt_module *m, xt_batch b) {
    return xt_mean(xt_square(xt_forward(m, b.n_parts ? b.parts[0].x : b.x)));
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (n_trained < MOST) trained[n_trained++] = 100 * b.epoch + b.index;
    if (n_trained == MOST) xt_trainer_stop(trainer);
    return loss_of(m, b);
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (n_seen < MOST) seen[n_seen++] = b.index;
    if (n_seen == MOST) xt_trainer_stop(trainer);
    xt_log("val/loss", loss_of(m, b));
}
static xt_tensor predict_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (n_seen < MOST) seen[n_seen++] = b.index;
    return xt_forward(m, b.x);
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static const xt_task plain = {.net = net,
                              .training_step = train_step,
                              .validation_step = val_step,
                              .predict_step = predict_step,
                              .configure_optimizers = sgd};

/* Samples on the device as a whole are a loader of another kind inside. */
static xt_loader *data(xt_switch on_device) {
    static float x[2 * BATCHES][3];
    for (int i = 0; i < 2 * BATCHES; i++)
        for (int k = 0; k < 3; k++) x[i][k] = sinf((float)(3 * i + k));
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {3}}, NULL, (xt_spec){0}, 2 * BATCHES), .batch = 2,
                         .shuffle = XT_ON, .on_device = on_device);
}

static void each_was_trained_once(const char *what) {
    bool right = n_trained == EPOCHS * BATCHES;
    for (int i = 0; right && i < n_trained; i++) right = trained[i] == i / BATCHES * 100 + i % BATCHES;
    if (!right) fail_msg("%s: %d batches were trained", what, n_trained);
}

static void passes_were_whole(const char *what, int passes) {
    bool right = n_seen == passes * BATCHES;
    for (int i = 0; right && i < n_seen; i++) right = seen[i] == i % BATCHES;
    if (!right) fail_msg("%s: %d batches in %d passes", what, n_seen, passes);
}

static xt_trainer *new_trainer(const char *val_every) {
    n_trained = n_seen = 0;
    return trainer = TEST_TRAINER(.max_epochs = EPOCHS, .val_every = val_every, .num_sanity_val_steps = 0,
                                  .checkpointing = XT_OFF, .logger = XT_OFF);
}

static void a_fit_validates_over_its_own(void **state) {
    (void)state;
    for (int on_device = 0; on_device < 2; on_device++) {
        xt_trainer *t = new_trainer("3steps");
        shared = data(on_device ? XT_ON : XT_OFF);
        assert_int_equal(xt_fit(t, &plain, shared, shared), 0);
        each_was_trained_once("validation within epochs");
        passes_were_whole("validation within epochs", 2);
        assert_int_equal(xt_trainer_global_step(t), EPOCHS * BATCHES);
        xt_trainer_free(t);
    }
}

/* A part of what is trained on, and a whole of which it is a part. */
static void combined_loaders(void **state) {
    (void)state;
    xt_loader *a = data(XT_OFF), *b = data(XT_OFF), *both = xt_combined_loader(2, ((xt_loader *[]){a, b}));
    xt_trainer *t = new_trainer("3steps");
    assert_int_equal(xt_fit(t, &plain, both, a), 0);
    each_was_trained_once("over a part");
    passes_were_whole("over a part", 2);
    xt_trainer_free(t);
    t = new_trainer("3steps");
    assert_int_equal(xt_fit(t, &plain, a, both), 0);
    each_was_trained_once("over a whole");
    passes_were_whole("over a whole", 2);
    xt_trainer_free(t);
}

/* --- inner passes of the program --- */
static void pass(void) {
    xt_trainer *own = inner < READS ? TEST_TRAINER(.logger = XT_OFF, .checkpointing = XT_OFF) : NULL;
    xt_task task = plain;
    if (inner == PREDICTS) assert_int_equal(xt_predict(own, &task, shared, NULL, NULL), 0);
    if (inner == VALIDATES) assert_int_equal(xt_validate(own, &task, shared), 0);
    if (inner == READS)
        for (xt_batch b; n_seen < MOST && xt_next(shared, &b);) seen[n_seen++] = b.index;
    xt_batch one;
    if (inner == READS_ONE && xt_next(shared, &one)) n_seen++;
    xt_trainer_free(own);
}

static void in_hook(xt_module *m, const xt_batch *b, xt_tensor loss, void *user) {
    (void)m, (void)loss, (void)user;
    if (b->index == 1) pass();
}

static void hooks_read_what_is_trained_on(void **state) {
    (void)state;
    static const char *const names[] = {"xt_validate", "xt_predict", "xt_next", "one xt_next"};
    for (inner = VALIDATES; inner <= READS_ONE; inner++) {
        xt_trainer *t = new_trainer(NULL);
        xt_task task = plain;
        task.on_train_batch_end = in_hook;
        shared = data(XT_OFF);
        assert_int_equal(xt_fit(t, &task, shared, NULL), 0);
        each_was_trained_once(names[inner]);
        /* xt_next goes on from where the fit stands: what is left of its epoch */
        if (inner < READS) passes_were_whole(names[inner], EPOCHS);
        xt_trainer_free(t);
    }
}

static void loops_of_ones_own(void **state) {
    (void)state;
    for (inner = VALIDATES; inner <= PREDICTS; inner++) {
        n_trained = n_seen = 0;
        shared = data(XT_OFF);
        for (int epoch = 0; epoch < EPOCHS; epoch++)
            for (xt_batch b; n_trained < MOST && xt_next(shared, &b);) {
                trained[n_trained++] = 100 * b.epoch + b.index;
                if (b.index == 1) pass();
            }
        each_was_trained_once("a loop");
        passes_were_whole("a loop", EPOCHS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fit_validates_over_its_own, begin, end),
        cmocka_unit_test_setup_teardown(combined_loaders, begin, end),
        cmocka_unit_test_setup_teardown(hooks_read_what_is_trained_on, begin, end),
        cmocka_unit_test_setup_teardown(loops_of_ones_own, begin, end),
    };
    return cmocka_run_group_tests_name("train_shared_loader", tests, NULL, NULL);
}
