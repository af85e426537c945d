/* Handles of every kind: NULL, freed, freed twice, of another kind, never made; what is freed inside a function that
 * uses it; frees after xt_finish. What each public function does with them: tests/cli/every_function.sh. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <xtrain/xtrain.h>

#include "base/handle.h"

static char told[1024];
static void note(xt_status s, void *user) {
    (void)user;
    snprintf(told, sizeof told, "%s", xt_status_message(s));
}

static void expect(int line, const char *a, const char *b) {
    char here[64];
    snprintf(here, sizeof here, "test_handles.c:%d: ", line);
    if (!xt_error() || !strstr(told, here) || !strstr(told, a) || !strstr(told, b))
        fail_msg("expected \"%s\", \"%s\" and \"%s\" in: %s", here, a, b, xt_error() ? told : "no error");
    xt_clear_error();
    *told = '\0';
}

static void rest(void) {
    assert_null(xt_error());
    assert_int_equal(xt_finish(), 0);
    static const char *const kinds[] = {"tensor",  "module",   "optimizer", "loader", "dataset",
                                        "trainer", "callback", "step",      "mesh",   "metric"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i])) fail_msg("%lld of kind %s live", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}
static xt_tensor input(void) {
    return xt_ones(XT_F32, 2, 3);
}

static void null_is_named(void **state) {
    (void)state;
    assert_true(xt_is_error(xt_forward(NULL, input())));
    expect(__LINE__ - 1, "xt_forward", "the module is NULL");
    xt_optimizer_step(NULL);
    expect(__LINE__ - 1, "xt_optimizer_step", "the optimizer is NULL");
    assert_int_equal(xt_module_tensors(NULL), 0);
    expect(__LINE__ - 1, "xt_module_tensors", "the module is NULL");
    xt_module_free(NULL);
    xt_loader_free(NULL);
    xt_dataset_free(NULL);
    rest();
}

static void freed_is_named(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_forward(m, input());
    xt_module_free(m);
    int freed = __LINE__ - 1;
    char at[64];
    snprintf(at, sizeof at, "(at ../tests/unit/test_handles.c:%d)", freed);
    assert_true(xt_is_error(xt_forward(m, input())));
    expect(__LINE__ - 1, "the module", at);
    xt_module_free(m);
    expect(__LINE__ - 1, "xt_module_free", at);
    xt_module *next = xt_module_new(net, NULL); /* its address is another */
    assert_ptr_not_equal(m, next);
    assert_int_equal(xt_module_param_count(m), 0);
    expect(__LINE__ - 1, "xt_module_param_count", "was freed before");
    rest();
}

static void another_kind_is_named(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    void *any = o;
    assert_true(xt_is_error(xt_forward(any, input())));
    expect(__LINE__ - 1, "is an optimizer", "a module is expected");
    any = m;
    xt_loader_free(any);
    expect(__LINE__ - 1, "is a module", "a loader is expected");
    double x = 1;
    any = &x;
    xt_zero_grad(any);
    expect(__LINE__ - 1, "no handle of this library", "an optimizer is expected");
    any = (char *)m + 8;
    xt_eval(any);
    expect(__LINE__ - 1, "no handle of this library", "a module is expected");
    any = (void *)0x5555555555555555; /* no address at all */
    xt_eval(any);
    expect(__LINE__ - 1, "no handle of this library", "a module is expected");
    rest();
}

static void an_optimizer_outlives_its_module_to_be_freed(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adam(m, .lr = 0.1);
    xt_backward(xt_sum(xt_forward(m, input())));
    xt_optimizer_step(o);
    assert_true(xt_mark_step());
    xt_module_free(m);
    xt_zero_grad(o);
    expect(__LINE__ - 1, "the module of this optimizer", "was freed");
    xt_optimizer_free(o);
    rest();
}

static xt_tensor frees_itself(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_module_free(m);
    return xt_linear(m, "fc", x, 2);
}
static void what_runs_is_not_freed(void **state) {
    (void)state;
    xt_module *m = xt_module_new(frees_itself, NULL);
    xt_forward(m, input());
    if (!strstr(told, "xt_module_free: the module is in use")) fail_msg("%s", told);
    xt_clear_error();
    xt_module_free(m);
    rest();
}

static void cell(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)x, (void)y, (void)user;
    carry[0] = xt_add(carry[0], carry[0]);
    xt_finish();
}
static xt_tensor finishes(xt_module *m, xt_tensor x, void *user) {
    xt_batch b;
    if (user)
        assert_false(xt_next((xt_loader *)user, &b));
    else
        assert_int_equal(xt_finish(), 1);
    return xt_linear(m, "fc", x, 2);
}
static xt_status get_and_finish(void *user, int64_t i, void *x, void *y) {
    (void)i, (void)y;
    memset(x, 0, sizeof(float));
    xt_batch b;
    if (*(void **)user)
        xt_next(*(xt_loader **)user, &b);
    else
        xt_finish();
    return xt_error() ? xt_status_new(XT_ABORTED, "refused") : NULL;
}

static void nothing_ends_a_step_from_inside(void **state) {
    (void)state;
    xt_tensor h = input(), xs = xt_ones(XT_F32, 5, 2, 3);
    xt_scan(cell, 1, &h, 1, &xs, 0, NULL);
    if (!strstr(told, "xt_finish inside the function of xt_scan")) fail_msg("%s", told);
    xt_clear_error();
    xt_forward(xt_module_new(finishes, NULL), input());
    if (!strstr(told, "xt_finish inside the function of xt_forward")) fail_msg("%s", told);
    xt_clear_error();
    xt_loader *l = xt_sample_loader(.batch = 1, .count = 3, .x = {XT_F32, {2}});
    xt_forward(xt_module_new(finishes, l), input());
    if (!strstr(told, "xt_next inside the function of xt_forward")) fail_msg("%s", told);
    xt_clear_error();
    for (int k = 0; k < 2; k++) {
        void *user = NULL;
        xt_dataset_desc d = {.count = 4, .x = {XT_F32, {1}}, .get = get_and_finish, .user = &user};
        xt_loader *own = xt_loader_new(xt_dataset_new(&d), .batch = 2);
        if (k) user = own;
        xt_batch b;
        assert_false(xt_next(own, &b));
        assert_non_null(xt_error());
        xt_clear_error();
    }
    *told = '\0';
    rest();
}

static xt_status zeros(void *user, int64_t i, void *x, void *y) {
    (void)user, (void)i, (void)y;
    memset(x, 0, sizeof(float));
    return NULL;
}
static xt_dataset *dataset(void) {
    xt_dataset_desc d = {.count = 4, .x = {XT_F32, {1}}, .get = zeros};
    return xt_dataset_new(&d);
}

static void what_a_loader_took_is_its_own(void **state) {
    (void)state;
    xt_dataset *d = dataset();
    xt_loader *l = xt_loader_new(d, .batch = 2);
    xt_dataset_free(d);
    expect(__LINE__ - 1, "xt_dataset_free", "belongs to the loader");
    xt_batch b;
    assert_true(xt_next(l, &b));
    rest();
}

static void a_callback_has_one_trainer(void **state) {
    (void)state;
    xt_trainer *one = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF);
    xt_trainer *two = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF);
    xt_callback *c = xt_lr_monitor();
    xt_trainer_add(one, c);
    assert_null(xt_error());
    for (int i = 0; i < 2; i++) {
        xt_trainer_add(i ? one : two, c);
        if (!xt_error() || !strstr(told, "was added to a trainer before")) fail_msg("%s", told);
        xt_clear_error();
    }
    *told = '\0';
    xt_trainer_free(one);
    xt_trainer_free(two);
    rest();
}

/* --- what a fit uses is not freed by functions that it calls --- */
static struct fit {
    xt_trainer *t;
    xt_loader *train, *val;
    xt_module *net;
    xt_optimizer *opt;
    int refused; /* frees */
    bool frees_own; /* configure_optimizers gives one that it has freed */
} fit;
/* Within a fit an error is told when it ends. */
static void expect_pending(const char *text) {
    const char *is = xt_error() ? xt_status_message(xt_error()) : "no error";
    if (!strstr(is, text)) fail_msg("expected \"%s\" in: %s", text, is);
    xt_clear_error();
}
static void free_one(const char *word) {
    char text[80];
    snprintf(text, sizeof text, "the %s is in use by a call that is still under way", word);
    expect_pending(text);
    fit.refused++;
}
static void free_all(xt_module *m, void *user) {
    (void)user;
    xt_trainer_free(fit.t), free_one("trainer");
    xt_loader_free(fit.train), free_one("loader");
    xt_loader_free(fit.val), free_one("loader");
    xt_module_free(m), free_one("module");
    xt_optimizer_free(fit.opt), free_one("optimizer");
    assert_int_equal(xt_finish(), 1);
    expect_pending("xt_finish inside xt_fit");
}
static xt_tensor fit_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_flatten(x, 1), 2);
}
static xt_tensor fit_loss(xt_module *m, xt_batch b, void *user) {
    free_all(m, user);
    return xt_mean(xt_square(xt_forward(m, b.x)));
}
static void fit_values(xt_module *m, xt_batch b, void *user) {
    (void)b;
    free_all(m, user);
}
static double fit_rate(int64_t epoch, void *user) {
    (void)epoch, (void)user;
    xt_optimizer_free(fit.opt), free_one("optimizer");
    return 1;
}
static xt_optimizer *fit_optimizer(xt_module *m, void *user) {
    (void)user;
    fit.opt = xt_sgd(m, .lr = 0.1);
    xt_lambda_schedule(fit.opt, fit_rate, .interval = XT_EACH_STEP);
    if (fit.frees_own) xt_optimizer_free(fit.opt);
    return fit.opt;
}
static xt_status fit_starts(xt_trainer *t, void *user) {
    free_all(xt_trainer_module(t), user);
    return NULL;
}
static void what_a_fit_uses_is_not_freed(void **state) {
    (void)state;
    xt_callback_desc d = {.struct_size = sizeof d, .name = "frees", .fit_start = fit_starts};
    xt_task task = {.net = fit_net,
                    .training_step = fit_loss,
                    .validation_step = fit_values,
                    .configure_optimizers = fit_optimizer,
                    .on_after_backward = free_all,
                    .on_before_optimizer_step = free_all};
    fit = (struct fit){.t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF,
                                           .progress_bar = XT_OFF, .model_summary = XT_OFF),
                       .train = xt_loader_new(xt_drawn_digits(4, 0), .batch = 2),
                       .val = xt_loader_new(xt_drawn_digits(4, 0), .batch = 2)};
    xt_trainer_add(fit.t, xt_callback_new(&d, NULL));
    assert_int_equal(xt_fit(fit.t, &task, fit.train, fit.val), 0);
    assert_null(xt_error());
    if (fit.refused < 40) fail_msg("%d frees were refused", fit.refused);
    xt_optimizer_free(fit.opt); /* the next fit makes another */
    fit.frees_own = true;
    assert_int_equal(xt_fit(fit.t, &task, fit.train, fit.val), 1);
    if (!strstr(told, "configure_optimizers: the optimizer that it gave is none that lives")) fail_msg("%s", told);
    xt_clear_error();
    xt_loader_free(fit.val);
    xt_loader_free(fit.train);
    xt_module *m = xt_trainer_module(fit.t);
    xt_trainer_free(fit.t);
    xt_module_free(m);
    assert_null(xt_error());
    *told = '\0';
    rest();
}

static xt_tensor step(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return xt_add(in[0], in[0]);
}

/* As destructors of C++ do: after xt_finish, in any order. */
static void frees_after_finish_do_nothing(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adam(m, .lr = 0.1);
    xt_dataset *taken = dataset(), *own = dataset();
    xt_loader *l = xt_loader_new(taken, .batch = 2);
    xt_step *f = xt_compile(step);
    xt_running *r = xt_running_new(4);
    xt_loss_scaler *s = xt_loss_scaler_new();
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF);
    xt_axis axes[] = {{"data", 0}, {NULL, 0}};
    xt_mesh *mesh = xt_mesh_new_at(XT_HERE, axes);
    xt_backward(xt_sum(xt_forward(m, input())));
    xt_optimizer_step(o);
    xt_call(f, input());
    assert_int_equal(xt_finish(), 0);
    for (int twice = 0; twice < 2; twice++) {
        xt_module_free(m);
        xt_optimizer_free(o);
        xt_dataset_free(taken);
        xt_loader_free(l);
        xt_step_free(f);
        xt_running_free(r);
        xt_loss_scaler_free(s);
        xt_trainer_free(t);
        xt_mesh_free(mesh);
    }
    xt_dataset_free(own);
    assert_null(xt_error());
    assert_true(xt_is_error(xt_forward(m, (xt_tensor){0})));
    expect(__LINE__ - 1, "the module", "was freed by xt_finish");
    rest();
}

static xt_status slow(void *user, int64_t i, void *x, void *y) {
    usleep(20000);
    return zeros(user, i, x, y);
}
static _Atomic int refused;
static void *reads(void *user) {
    xt_batch b;
    while (xt_next((xt_loader *)user, &b)) continue;
    if (xt_error()) refused += strstr(xt_status_message(xt_error()), "another thread is in xt_next") != NULL;
    xt_clear_error();
    return NULL;
}
static void two_threads_in_one_loader_is_an_error(void **state) {
    (void)state;
    xt_dataset_desc d = {.count = 50, .x = {XT_F32, {1}}, .get = slow};
    xt_loader *l = xt_loader_new(xt_dataset_new(&d), .batch = 5);
    pthread_t a, b;
    assert_int_equal(pthread_create(&a, NULL, reads, l), 0);
    usleep(30000);
    assert_int_equal(pthread_create(&b, NULL, reads, l), 0);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert_true(refused > 0);
    rest();
}

/* Memory of what was freed goes back, and a full chunk's too. */
static void many_are_made_and_freed(void **state) {
    (void)state;
    void *first = NULL;
    for (int i = 0; i < 20000; i++) {
        xt_module *m = xt_module_new(net, NULL);
        if (!first) first = m;
        assert_int_equal(handle_look(HANDLE_module, m), HANDLE_LIVES);
        xt_module_free(m);
        assert_int_equal(handle_look(HANDLE_module, m), HANDLE_FREED);
    }
    assert_int_equal(handle_look(HANDLE_module, first), HANDLE_FREED);
    rest();
}

/* --- statuses --- */
static void a_freed_status_is_named(void **state) {
    (void)state;
    xt_status s = xt_status_new(XT_ABORTED, "one");
    xt_status_free(s);
    int freed = __LINE__ - 1;
    char at[64];
    snprintf(at, sizeof at, "(at ../tests/unit/test_handles.c:%d)", freed);
    xt_status_free(s);
    expect(__LINE__ - 1, "xt_status_free: the status", at);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    expect(__LINE__ - 1, "xt_status_code", "was freed before");
    assert_string_not_equal(xt_status_message(s), "");
    expect(__LINE__ - 1, "xt_status_message", "was freed before");
    assert_string_equal(xt_status_id(s), "");
    expect(__LINE__ - 1, "xt_status_id", "was freed before");
    xt_status_free(NULL);
    assert_int_equal(xt_status_code(NULL), XT_OK);
    rest();
}

static void what_is_no_status_is_named(void **state) {
    (void)state;
    double x = 1;
    xt_module *m = xt_module_new(net, NULL);
    void *any = &x;
    xt_status_free(any);
    expect(__LINE__ - 1, "no handle of this library", "a status is expected");
    any = m;
    assert_int_equal(xt_status_code(any), XT_INVALID_ARGUMENT);
    expect(__LINE__ - 1, "is a module", "a status is expected");
    rest();
}

/* What is pending is the library's, and so is what it shows to a function. */
static void frees_what_it_is_told(xt_status s, void *user) {
    xt_status_free(s);
    note(s, user);
}
static void a_borrowed_status_is_not_freed(void **state) {
    (void)state;
    xt_on_error(frees_what_it_is_told, NULL);
    xt_module_free(xt_module_new(NULL, NULL));
    assert_true(xt_is_error(xt_forward(NULL, input())));
    xt_status_free(xt_error());
    expect(__LINE__ - 2, "xt_forward", "the module is NULL");
    xt_on_error(note, NULL);
    rest();
}

/* Their places are used again, but not soon. */
static void many_statuses_are_made_and_freed(void **state) {
    (void)state;
    enum { N = 1024 };
    static xt_status last[N];
    for (int i = 0; i < 20 * N; i++) {
        xt_status s = xt_status_new(XT_ABORTED, "%d", i);
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        assert_string_equal(xt_status_message(s), text);
        if (i >= 4 * N) assert_ptr_equal(s, last[i % N]);
        for (int k = 1; k < N && i >= 19 * N; k++)
            assert_int_equal(handle_look(HANDLE_status, last[(i + k) % N]), HANDLE_FREED);
        xt_status_free(s);
        last[i % N] = s;
    }
    rest();
}

static struct gives {
    xt_status status;
    const char *want;
} gives;
static xt_status give_it(void) {
    return gives.status;
}
static xt_status get_gives(void *user, int64_t i, void *x, void *y) {
    (void)user, (void)i, (void)y;
    memset(x, 0, sizeof(float));
    return give_it();
}
static xt_status map_gives(void *user, int64_t i, const void *x_in, const void *y_in, void *x, void *y) {
    (void)x_in, (void)y_in;
    return get_gives(user, i, x, y);
}
static xt_status open_gives(void *user, int64_t epoch, void **out_state) {
    (void)user, (void)epoch, (void)out_state;
    return give_it();
}
static xt_status next_gives(void *user, void *x, void *y, bool *end) {
    *end = false;
    return get_gives(user, 0, x, y);
}
static xt_status open_well(void *user, int64_t epoch, void **out_state) {
    (void)user, (void)epoch;
    *out_state = &gives;
    return NULL;
}
static void close_stream(void *state) {
    (void)state;
}
static xt_loader *make_no_loader(xt_trainer *t, void *user) {
    (void)t, (void)user;
    return NULL;
}
static xt_status order_gives(void *user, const xt_epoch *e, int64_t *out) {
    (void)user;
    for (int64_t i = 0; i < e->count; i++) out[i] = i;
    return give_it();
}
static xt_status data_gives(void *user) {
    (void)user;
    return give_it();
}
static xt_status starts_with(xt_trainer *t, void *user) {
    (void)t, (void)user;
    return give_it();
}
static void in_a_pass(xt_loader *l, const char *what) {
    xt_batch b;
    assert_false(xt_next(l, &b));
    if (!xt_error() || !strstr(told, what) || !strstr(told, gives.want)) fail_msg("%s: %s", what, told);
    xt_clear_error();
    xt_loader_free(l);
}
static void what_functions_give_is_a_status(void **state) {
    (void)state;
    xt_status freed = xt_status_new(XT_ABORTED, "one");
    xt_status_free(freed);
    for (int k = 0; k < 2; k++) {
        static double no_status[8];
        gives = k ? (struct gives){(void *)no_status, "a pointer that is no status"}
                  : (struct gives){freed, "a status that was freed before"};
        xt_dataset_desc d = {.count = 4, .x = {XT_F32, {1}}, .get = get_gives};
        in_a_pass(xt_loader_new(xt_dataset_new(&d), .batch = 2), "a dataset's get");
        in_a_pass(xt_loader_new(xt_map_dataset(dataset(), ((xt_spec){XT_F32, {1}}), ((xt_spec){0}), map_gives, NULL),
                                .batch = 2),
                  "the function of xt_map_dataset");
        xt_stream_desc stream = {.x = {XT_F32, {1}}, .open = open_gives, .next = next_gives, .close = close_stream};
        in_a_pass(xt_loader_new(xt_stream_dataset(&stream), .batch = 2), "a stream's open");
        stream.open = open_well;
        in_a_pass(xt_loader_new(xt_stream_dataset(&stream), .batch = 2), "a stream's next");
        xt_sampler *s = xt_sampler_new(&(xt_sampler_desc){.count = 4, .order = order_gives});
        in_a_pass(xt_loader_new(dataset(), .batch = 2, .sampler = s), "a sampler's order");
        xt_sampler_free(s);
        xt_task task = {.net = fit_net, .training_step = fit_loss, .configure_optimizers = fit_optimizer};
        xt_callback_desc c = {.struct_size = sizeof c, .name = "starts", .fit_start = starts_with};
        fit = (struct fit){.t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF)};
        xt_trainer_add(fit.t, xt_callback_new(&c, NULL));
        fit.train = xt_loader_new(xt_drawn_digits(4, 0), .batch = 2);
        assert_int_equal(xt_fit(fit.t, &task, fit.train, NULL), 1);
        if (!strstr(told, "a callback's fit_start") || !strstr(told, gives.want)) fail_msg("%s", told);
        xt_data_module module = {.struct_size = sizeof module, .prepare = data_gives, .train = make_no_loader};
        assert_int_equal(xt_fit_data(fit.t, &task, &module), 1);
        if (!strstr(told, "the data module's prepare") || !strstr(told, gives.want)) fail_msg("%s", told);
        xt_clear_error();
        xt_loader_free(fit.train);
        xt_trainer_free(fit.t);
        *told = '\0';
    }
    rest();
}

/* xt_error() is the library's, and it may be given all the same: what a get function has met. */
static xt_status get_gives_error(void *user, int64_t i, void *x, void *y) {
    (void)user, (void)i, (void)y;
    memset(x, 0, sizeof(float));
    xt_forward(NULL, (xt_tensor){0});
    return xt_error();
}
static void the_pending_error_may_be_given(void **state) {
    (void)state;
    for (int workers = 1; workers < 3; workers++) {
        xt_dataset_desc d = {.count = 4, .x = {XT_F32, {1}}, .get = get_gives_error};
        xt_loader *l = xt_loader_new(xt_dataset_new(&d), .batch = 2, .workers = workers);
        xt_batch b;
        assert_false(xt_next(l, &b));
        if (!strstr(told, "the module is NULL")) fail_msg("%s", told);
        xt_clear_error();
        xt_loader_free(l);
    }
    *told = '\0';
    rest();
}

/* --- sizes and counts that callers give --- */
static void sizes_of_structs_are_looked_at(void **state) {
    (void)state;
    static const size_t bad[] = {1, 4, sizeof(void *) + 4, sizeof(xt_task) - 1, SIZE_MAX, SIZE_MAX - 7};
    xt_task task = {.net = fit_net, .training_step = fit_loss, .configure_optimizers = fit_optimizer};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF);
    xt_loader *l = xt_loader_new(xt_drawn_digits(4, 0), .batch = 2);
    xt_data_module module = {.struct_size = sizeof module, .train = make_no_loader};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(xt_predict_at(XT_HERE, t, &task, bad[i], l, NULL, NULL), 1);
        expect(__LINE__ - 1, "xt_predict: `task_size` is", "sizeof gives its size");
        assert_int_equal(xt_fit_data_at(XT_HERE, t, &task, bad[i], &module), 1);
        expect(__LINE__ - 1, "xt_fit_data: `task_size` is", "sizeof gives its size");
        xt_dataset_desc d = {.struct_size = bad[i], .count = 4, .x = {XT_F32, {1}}, .get = zeros};
        assert_null(xt_dataset_new(&d));
        expect(__LINE__ - 1, "`d->struct_size` is", "sizeof gives its size");
        xt_callback_desc c = {.struct_size = bad[i], .name = "starts", .fit_start = starts_with};
        assert_null(xt_callback_new(&c, NULL));
        expect(__LINE__ - 1, "`d->struct_size` is", "sizeof gives its size");
    }
    xt_loader_free(l);
    xt_trainer_free(t);
    rest();
}

static void counts_beyond_all_memory_are_refused(void **state) {
    (void)state;
    xt_tensor h = input(), xs = xt_ones(XT_F32, 5, 2, 3), y;
    assert_false(xt_scan_at(XT_HERE, cell, INT32_MAX, &h, 1, &xs, 0, NULL, (xt_scan_opts){.length = -1}));
    expect(__LINE__ - 1, "xt_scan: `n_carry` is 2147483647", "at most");
    assert_false(xt_scan_at(XT_HERE, cell, 1, &h, 1, &xs, INT32_MAX, &y, (xt_scan_opts){.length = -1}));
    expect(__LINE__ - 1, "xt_scan: `n_y` is 2147483647", "at most");
    assert_true(xt_is_error(xt_concat_at(XT_HERE, INT32_MAX, &h, 0)));
    expect(__LINE__ - 1, "is 2147483647", "at most");
    rest();
}

int main(void) {
    xt_on_error(note, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_named),
        cmocka_unit_test(freed_is_named),
        cmocka_unit_test(another_kind_is_named),
        cmocka_unit_test(an_optimizer_outlives_its_module_to_be_freed),
        cmocka_unit_test(what_runs_is_not_freed),
        cmocka_unit_test(nothing_ends_a_step_from_inside),
        cmocka_unit_test(what_a_loader_took_is_its_own),
        cmocka_unit_test(a_callback_has_one_trainer),
        cmocka_unit_test(what_a_fit_uses_is_not_freed),
        cmocka_unit_test(frees_after_finish_do_nothing),
        cmocka_unit_test(two_threads_in_one_loader_is_an_error),
        cmocka_unit_test(many_are_made_and_freed),
        cmocka_unit_test(a_freed_status_is_named),
        cmocka_unit_test(what_is_no_status_is_named),
        cmocka_unit_test(a_borrowed_status_is_not_freed),
        cmocka_unit_test(many_statuses_are_made_and_freed),
        cmocka_unit_test(what_functions_give_is_a_status),
        cmocka_unit_test(the_pending_error_may_be_given),
        cmocka_unit_test(sizes_of_structs_are_looked_at),
        cmocka_unit_test(counts_beyond_all_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
