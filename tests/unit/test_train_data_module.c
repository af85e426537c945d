/* Data modules: what is called when and how often, errors of each function, state in checkpoints; token counts. */
#include "train_test.h"

enum { SAMPLES = 40, WIDTH = 4 };
static float x[SAMPLES * WIDTH];
static int64_t y[SAMPLES];
static str calls = STR_INIT;
static int offset; /* the module's state: which samples come first */
static const char *fails; /* the function that fails */

static xt_tensor net(xt_module *m, xt_tensor in, void *user) {
    (void)user;
    return xt_linear(m, "fc", in, 3);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_cross_entropy(xt_forward(m, b.x), b.y);
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", xt_cross_entropy(xt_forward(m, b.x), b.y));
}
static xt_tensor predict_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_forward(m, b.x);
}
static xt_optimizer *adam(xt_module *m, void *user) {
    (void)user;
    return xt_adamw(m, .lr = 0.05);
}
static const xt_task task = {.net = net,
                             .training_step = train_step,
                             .validation_step = val_step,
                             .predict_step = predict_step,
                             .configure_optimizers = adam};

static xt_status call(const char *what, const char *stage) {
    str_printf(&calls, "%s%s%s ", what, stage ? ":" : "", stage ? stage : "");
    return fails && strcmp(fails, what) == 0 ? xt_status_new(XT_NOT_FOUND, "no such place") : NULL;
}
static xt_status prepare(void *user) {
    (void)user;
    return call("prepare", NULL);
}
static xt_status setup(xt_trainer *t, const char *stage, void *user) {
    (void)t;
    (void)user;
    for (int i = 0; i < SAMPLES * WIDTH; i++) x[i] = (float)sin(i * i + 1);
    for (int i = 0; i < SAMPLES; i++) y[i] = i * 7 % 3;
    return call("setup", stage);
}
static void teardown(xt_trainer *t, const char *stage, void *user) {
    (void)t;
    (void)user;
    xt_status_free(call("teardown", stage));
}
static xt_loader *loader(const char *what) {
    xt_status s = call(what, NULL);
    if (s) {
        xt_status_free(s);
        return NULL;
    }
    return xt_loader_new(
        xt_array_dataset(x + offset * WIDTH, (xt_spec){XT_F32, {WIDTH}}, y + offset, (xt_spec){XT_I64}, SAMPLES / 2),
        .batch = 4, .shuffle = XT_ON);
}
static xt_loader *train(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    return loader("train");
}
static xt_loader *val(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    return loader("val");
}
static xt_loader *test(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    return loader("test");
}
static xt_loader *predict(xt_trainer *t, void *user) {
    (void)t;
    (void)user;
    return loader("predict");
}
/* Longer than the room that is tried first. */
static size_t save_state(char *buf, size_t n, void *user) {
    (void)user;
    return (size_t)snprintf(buf, n, "{\"offset\": %d, \"filler\": \"%0700d\"}", offset, 0);
}
static xt_status load_state(const char *json, void *user) {
    (void)user;
    if (sscanf(json, "{\"offset\": %d", &offset) != 1) return xt_status_new(XT_DATA_LOSS, "no offset");
    return call("load", NULL);
}
static const xt_data_module module = {.struct_size = sizeof(xt_data_module),
                                      .prepare = prepare,
                                      .setup = setup,
                                      .train = train,
                                      .val = val,
                                      .test = test,
                                      .predict = predict,
                                      .teardown = teardown,
                                      .save_state = save_state,
                                      .load_state = load_state};

static void called(const char *want) {
    if (strcmp(str_cstr(&calls), want) != 0) fail_msg("called: %s\nwanted: %s", str_cstr(&calls), want);
    str_clear(&calls);
}

static void in_their_order(void **state) {
    (void)state;
    fails = NULL;
    offset = 0;
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF);
    assert_int_equal(xt_fit_data(t, &task, &module), 0);
    called("prepare setup:fit train val teardown:fit ");
    assert_int_equal(xt_validate_data(t, &task, &module), 0);
    called("setup:validate val teardown:validate "); /* prepared once for a trainer */
    assert_int_equal(xt_test_data(t, &task, &module), 0);
    called("setup:test test teardown:test ");
    assert_int_equal(xt_predict_data(t, &task, &module, NULL, NULL), 0);
    called("setup:predict predict teardown:predict ");
    assert_int_equal(xt_live_objects("loader"), 0); /* freed behind each call */
    xt_task blind = task;
    blind.validation_step = NULL;
    assert_int_equal(xt_fit_data(t, &blind, &module), 0); /* no epochs are left, and nobody asks for val */
    called("setup:fit train teardown:fit ");
}

static void errors_of_each_function(void **state) {
    (void)state;
    static const struct {
        const char *fails, *said, *calls;
    } rows[] = {{"prepare", "the data module's prepare: no such place", "prepare "},
                {"setup", "the data module's setup: no such place", "prepare setup:fit teardown:fit "},
                {"train", "the data module's train gave no loader", "prepare setup:fit train teardown:fit "},
                {"val", "the data module's val gave no loader", "prepare setup:fit train val teardown:fit "}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        fails = rows[i].fails;
        str_clear(&said);
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF);
        assert_int_equal(xt_fit_data(t, &task, &module), 1);
        says(rows[i].said);
        says("test_train_data_module.c:");
        called(rows[i].calls);
        xt_trainer_free(t);
    }
    fails = NULL;
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1, .logger = XT_OFF);
    assert_int_equal(xt_fit_data(t, &task, &(xt_data_module){.struct_size = sizeof module, .val = val}), 1);
    says("the data module has no .train");
    assert_int_equal(xt_fit_data(t, &task, &(xt_data_module){.train = train}), 1);
    says(".struct_size is 0");
    assert_int_equal(xt_test_data(t, &task, NULL), 1);
    says("xt_test_data: `data` is NULL");
    called("");
}

static void weights_of(xt_trainer *t, float *out) {
    assert_true(xt_read(xt_module_find(xt_trainer_module(t), "fc.weight"), out, 3 * WIDTH * sizeof *out));
}

/* A run that is cut within its second epoch and goes on from the file has the unbroken one's weights to the bit, with
 * the module's own state back before its loaders are made. */
static void resumed_to_the_bit(void **state) {
    (void)state;
    float whole[3 * WIDTH], again[3 * WIDTH];
    fails = NULL;
    offset = 7;
    xt_trainer *t = TEST_TRAINER(.max_epochs = 3, .seed = 5, .logger = XT_OFF, .checkpointing = XT_OFF);
    assert_int_equal(xt_fit_data(t, &task, &module), 0);
    weights_of(t, whole);
    xt_trainer_free(t);
    t = TEST_TRAINER(.max_epochs = 3, .max_steps = 8, .seed = 5, .run_name = "cut");
    assert_int_equal(xt_fit_data(t, &task, &module), 0);
    xt_trainer_free(t);
    xt_finish();
    offset = 0;
    str_clear(&calls);
    t = TEST_TRAINER(.max_epochs = 3, .seed = 5, .run_name = "cut", .resume = "last");
    assert_int_equal(xt_fit_data(t, &task, &module), 0);
    called("prepare setup:fit load train val teardown:fit ");
    assert_int_equal(offset, 7);
    weights_of(t, again);
    assert_memory_equal(whole, again, sizeof whole);
    /* a program without the state's reader goes on without it */
    xt_data_module plain = module;
    plain.load_state = NULL;
    xt_trainer *u = TEST_TRAINER(.max_epochs = 3, .run_name = "cut", .resume = "last");
    assert_int_equal(xt_fit_data(u, &task, &plain), 0);
    called("prepare setup:fit train val teardown:fit ");
}

/* Two of each sample's four numbers are tokens. */
static int64_t count(void *user, const void *in, const void *label, void *const *more) {
    (void)more;
    (void)in;
    return *(const int64_t *)label >= 0 ? *(int64_t *)user : 0;
}

static int64_t last_tokens;
static void keep_tokens(xt_trainer *t, const xt_batch *b, void *user) {
    (void)t;
    (void)user;
    last_tokens = b->tokens;
}
static const xt_callback_desc keeps = {
    .struct_size = sizeof(xt_callback_desc), .name = "keeps", .batch_end = keep_tokens};

static void tokens_of_a_fit(void **state) {
    (void)state;
    int64_t two = 2;
    assert_null(setup(NULL, "fit", NULL));
    for (int on_device = 0; on_device < 2; on_device++) {
        xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {WIDTH}}, y, (xt_spec){XT_I64}, SAMPLES - 1),
                                     .batch = 4, .pad_last = XT_ON, .tokens = count, .tokens_user = &two,
                                     .on_device = on_device ? XT_ON : XT_OFF);
        xt_trainer *t = TEST_TRAINER(.max_epochs = 1);
        xt_trainer_add(t, xt_throughput_monitor(.window = 4, .peak_flops = 1e9));
        xt_trainer_add(t, xt_callback_new(&keeps, NULL));
        str_clear(&said);
        assert_int_equal(xt_fit(t, &task, l, NULL), 0);
        assert_int_equal(last_tokens, 6); /* of the last batch's three samples: padding has none */
        xt_fit_result r = xt_trainer_result(t);
        assert_true(r.tokens_per_s > 0);
        assert_float_equal(r.tokens_per_s / r.samples_per_s, 2, 1e-9);
        says(" tokens/s");
        assert_true(!isnan(xt_trainer_metric(t, "throughput/tokens_per_sec", true)));
        xt_trainer_free(t);
    }
    /* without a count nothing is said of tokens */
    xt_loader *l =
        xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {WIDTH}}, y, (xt_spec){XT_I64}, SAMPLES), .batch = 4);
    xt_trainer *t = TEST_TRAINER(.max_epochs = 1);
    str_clear(&said);
    xt_trainer_add(t, xt_throughput_monitor(.window = 4, .peak_flops = 1e9));
    assert_int_equal(xt_fit(t, &task, l, NULL), 0);
    assert_true(xt_trainer_result(t).tokens_per_s == 0);
    assert_null(strstr(str_cstr(&said), "tokens/s"));
}

static void tokens_of_batches(void **state) {
    (void)state;
    int64_t lengths[SAMPLES], n = 0, minus = -1;
    assert_null(setup(NULL, "fit", NULL));
    for (int i = 0; i < SAMPLES; i++) lengths[i] = 1 + i % 9;
    xt_dataset *d = xt_array_dataset(x, (xt_spec){XT_F32, {WIDTH}}, y, (xt_spec){XT_I64}, SAMPLES);
    xt_loader *l = xt_loader_new(xt_dataset_retain(d), .batch = 8,
                                 .sampler = xt_bucket_sampler(lengths, SAMPLES, 2, (int64_t[]){4, 9}));
    for (xt_batch b; xt_next(l, &b); n += b.tokens) assert_true(b.tokens > 0 && b.tokens <= 8 * b.longest);
    assert_int_equal(n, 4 * 45 + 1 + 2 + 3 + 4); /* real lengths, not the boundaries */
    xt_loader *two = xt_combined_loader(
        2, ((xt_loader *[]){
               xt_loader_new(xt_dataset_retain(d), .batch = 4, .tokens = count, .tokens_user = &(int64_t){3}),
               xt_loader_new(xt_dataset_retain(d), .batch = 2, .tokens = count, .tokens_user = &(int64_t){5})}));
    xt_batch b;
    assert_true(xt_next(two, &b));
    assert_true(b.tokens == 22 && b.parts[1].tokens == 10);
    l = xt_loader_new(d, .batch = 4, .tokens = count, .tokens_user = &minus);
    assert_false(xt_next(l, &b));
    assert_non_null(strstr(xt_status_message(xt_error()), "is said to have -1 tokens"));
    xt_clear_error();
    static const uint16_t file[20] = {1, 2, 3};
    assert_null(file_write_all(in_dir("t.bin"), (const char *)file, sizeof file));
    l = xt_loader_new(xt_token_dataset(in_dir("t.bin"), 6), .batch = 2);
    assert_true(xt_next(l, &b));
    assert_int_equal(b.tokens, 12);
}

static int forget(void **state) {
    str_free(&calls);
    return end(state);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, forget)
    const struct CMUnitTest tests[] = {T(in_their_order), T(errors_of_each_function), T(resumed_to_the_bit),
                                       T(tokens_of_a_fit), T(tokens_of_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
