/* Remedies for device memory: optimizer state in host memory and xt_reinitialize give the same bits, and the ledger
 * shows what they take off the device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "lazy/lazy.h"

#include "bytes_of_role.h"

enum { STEPS = 5, WIDE = 96, MOST = 16384 };

static int end(void **state) {
    (void)state;
    xt_finish();
    return !(live_get(LIVE_tensor) == 0 && live_get(LIVE_buffer) == 0 && live_get(LIVE_optimizer) == 0);
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    for (int i = 0; i < 3; i++) x = xt_gelu(xt_linear(xt_sub(m, "h", i), "fc", x, WIDE));
    return xt_linear(m, "out", x, 4);
}

static xt_tensor batch(int step) {
    static float x[8][WIDE];
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < WIDE; k++) x[i][k] = (float)((i * 31 + k * 7 + step * 13) % 17) / 8 - 1;
    return xt_from_array(x, XT_F32, 8, WIDE);
}

typedef struct run_opts {
    bool offload, late, scaler, reinit, accumulate, again;
    int64_t group; /* 0: the default */
    xt_optimizer *(*make)(xt_module *m);
    const char *save, *load;
} run_opts;
typedef struct outcome {
    float losses[STEPS], weight[WIDE * WIDE], second[WIDE * WIDE];
    int64_t optimizer_bytes; /* most after a step */
    int64_t compiles_late; /* after the second step */
} outcome;

static xt_optimizer *adamw(xt_module *m) {
    return xt_adamw(m, .lr = 0.01, .clip_norm = 1);
}
static xt_optimizer *sgd(xt_module *m) {
    return xt_sgd(m, .lr = 0.05, .momentum = 0.9);
}

static void run(run_opts o, outcome *out) {
    memset(out, 0, sizeof *out);
    xt_seed(3);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *opt = o.make(m);
    xt_loss_scaler *scaler = o.scaler ? xt_loss_scaler_new(.init_scale = 16, .growth_interval = 2) : NULL;
    if (o.offload && !o.late) xt_optimizer_offload(opt, .group_bytes = o.group ? o.group : 64 << 20);
    if (o.load) assert_null(xt_optimizer_load(opt, o.load));
    int64_t compiles = 0;
    xt_tensor kept = {0};
    for (int s = 0; s < STEPS; s++) {
        if (o.late && s == 2) xt_optimizer_offload(opt, .group_bytes = o.group ? o.group : 64 << 20);
        if (s == 3) compiles = xt_counter("compiles") + xt_counter("disk_hits");
        xt_tensor x = batch(s), loss = xt_mean(xt_square(xt_forward(m, x)));
        xt_backward(scaler ? xt_scale_loss(scaler, loss) : loss);
        if (o.accumulate) {
            kept = xt_keep(loss);
            xt_mark_step();
            xt_backward(xt_mean(xt_square(xt_forward(m, batch(s + 100)))));
            loss = kept;
        }
        if (scaler) {
            xt_scaler_step(scaler, opt);
            xt_scaler_update(scaler);
        } else
            xt_optimizer_step(opt);
        xt_zero_grad(opt); /* the gradients are the update's by now */
        out->losses[s] = (float)xt_item(loss);
        if (!xt_is_none(kept)) xt_drop(kept);
        xt_mark_step();
        assert_null(xt_error());
        if (bytes_of("optimizer") > out->optimizer_bytes && !(o.late && s < 2))
            out->optimizer_bytes = bytes_of("optimizer");
        if (o.reinit && s % 2) {
            assert_true(xt_reinitialize());
            assert_int_equal(xt_memory().live_bytes, 0);
            assert_int_equal(live_get(LIVE_buffer), 0);
            assert_false(lazy_device_is_open(NULL));
        }
    }
    out->compiles_late = xt_counter("compiles") + xt_counter("disk_hits") - compiles;
    if (o.save) assert_null(xt_optimizer_save(opt, o.save));
    for (int i = 0; i < xt_module_tensors(m); i++)
        if (strcmp(xt_module_tensor_name(m, i), "h.1.fc.weight") == 0)
            assert_true(xt_read(xt_module_tensor(m, i), out->weight, sizeof out->weight));
    for (int i = 0; i < xt_optimizer_tensors(opt); i++)
        if (strncmp(xt_optimizer_tensor_name(opt, i), "h.1.fc.weight.", 14) == 0)
            assert_true(xt_read(xt_optimizer_tensor(opt, i), out->second, sizeof out->second));
    assert_null(xt_error());
    xt_optimizer_free(opt);
    xt_loss_scaler_free(scaler);
    xt_module_free(m);
}

static void same(const outcome *a, const outcome *b) {
    assert_memory_equal(a->losses, b->losses, sizeof a->losses);
    assert_memory_equal(a->weight, b->weight, sizeof a->weight);
    assert_memory_equal(a->second, b->second, sizeof a->second);
}

static outcome plain, other; /* too large for a stack */

static void test_offload_bits(void **state) {
    (void)state;
    static const struct {
        const char *name;
        run_opts o;
        int64_t left; /* bytes of optimizer state on the device after a step: step count, loss scale */
    } cases[] = {
        {"adamw", {.make = adamw}, 4},
        {"adamw, a group a parameter", {.make = adamw, .group = 1}, 4},
        {"sgd with momentum", {.make = sgd}, 0},
        {"begun after two steps", {.make = adamw, .late = true}, 4},
        {"with a loss scaler", {.make = adamw, .scaler = true}, 12},
        {"accumulated", {.make = adamw, .accumulate = true}, 4},
        {"and reinitialized", {.make = adamw, .reinit = true}, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_opts o = cases[i].o;
        o.late = o.reinit = false;
        o.group = 0;
        run(o, &plain);
        int64_t parameters = 3 * (WIDE * WIDE + WIDE) + 4 * WIDE + 4;
        assert_true(plain.optimizer_bytes >= 4 * parameters);
        o = cases[i].o;
        o.offload = true;
        run(o, &other);
        print_message("%s\n", cases[i].name);
        same(&plain, &other);
        assert_int_equal(other.optimizer_bytes, cases[i].left);
        if (!o.reinit) assert_int_equal(other.compiles_late, 0);
    }
}

static void test_reinitialize_bits(void **state) {
    (void)state;
    run((run_opts){.make = adamw}, &plain);
    run((run_opts){.make = adamw, .reinit = true}, &other);
    same(&plain, &other);
    assert_true(xt_counter("reinitializations") >= 2);
}

/* A checkpoint of one kind continues the other. */
static void test_offload_checkpoints(void **state) {
    (void)state;
    char path[] = "/tmp/xt_offload_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    run((run_opts){.make = adamw, .offload = true, .save = path}, &plain);
    run((run_opts){.make = adamw, .load = path}, &plain);
    run((run_opts){.make = adamw, .load = path, .offload = true}, &other);
    same(&plain, &other);
    unlink(path);
}

static void test_kept_tensors_survive(void **state) {
    (void)state;
    xt_tensor a = xt_keep(xt_mul_scalar(xt_ones(XT_F32, 3), 2));
    xt_tensor s = xt_state("sum", XT_F32, 3);
    xt_assign(s, a);
    assert_true(xt_reinitialize());
    assert_int_equal(xt_memory().live_bytes, 0);
    assert_true(xt_item(xt_sum(xt_add(a, s))) == 12);
    xt_drop(a);
    xt_drop(s);
    assert_true(xt_reinitialize()); /* with nothing to keep */
    assert_int_equal(xt_memory().live_bytes, 0);
}

/* Steps that do not use what went to the host leave it there: kept tensors, gradients of a window. */
static void test_unused_steps_pass(void **state) {
    (void)state;
    double sums[2];
    for (int k = 0; k < 2; k++) {
        xt_seed(3);
        xt_module *m = xt_module_new(net, NULL);
        xt_optimizer *o = xt_adam(m, .lr = 0.01);
        xt_tensor kept = xt_keep(xt_sum(batch(7)));
        for (int i = 0; i < 4; i++) {
            xt_backward(xt_mean(xt_square(xt_forward(m, batch(i)))));
            if (k) assert_true(xt_reinitialize());
            if (k) assert_true(xt_mark_step());
            if (k) assert_true(isfinite(xt_item(xt_sum(batch(9)))) && xt_mark_step());
            if (i % 2) xt_optimizer_step(o);
            assert_true(xt_mark_step());
        }
        sums[k] = xt_item(kept);
        for (int i = 0; i < xt_module_tensors(m); i++) sums[k] += xt_item(xt_sum(xt_square(xt_module_tensor(m, i))));
        xt_drop(kept);
        xt_optimizer_free(o);
        xt_module_free(m);
        xt_mark_step();
    }
    assert_true(fabs(sums[0] - sums[1]) <= 1e-6 * fabs(sums[0])); /* the update is in a program of its own */
}

/* A loader reads again what it had read ahead. */
static void test_loader_goes_on(void **state) {
    (void)state;
    static float x[64], seen[2][64];
    for (int i = 0; i < 64; i++) x[i] = (float)i;
    for (int k = 0; k < 2; k++) {
        xt_loader *l =
            xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {0}}, NULL, (xt_spec){XT_DTYPE_NONE, {0}}, 64),
                          .batch = 8, .shuffle = XT_ON, .seed = 5, .workers = 2);
        int n = 0;
        for (xt_batch b; xt_next(l, &b); n++) {
            if (k && n % 3 == 1) assert_true(xt_reinitialize()); /* the batch is still there */
            assert_true(xt_read(b.x, seen[k] + 8 * n, 8 * sizeof(float)));
        }
        assert_int_equal(n, 8);
        assert_null(xt_error());
        xt_loader_free(l);
    }
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
}

static xt_module *step_net;
static xt_optimizer *step_opt;
static xt_tensor step_fn(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    xt_tensor loss = xt_mean(xt_square(xt_forward(step_net, in[0])));
    xt_backward(loss);
    xt_optimizer_step(step_opt);
    return loss;
}

static void test_step_functions(void **state) {
    (void)state;
    float losses[3][STEPS];
    for (int k = 0; k < 3; k++) {
        xt_seed(3);
        step_net = xt_module_new(net, NULL);
        step_opt = adamw(step_net);
        if (k == 1) xt_optimizer_offload(step_opt);
        xt_step *step = xt_compile(step_fn);
        for (int s = 0; s < STEPS; s++) {
            xt_tensor loss = xt_call(step, batch(s));
            if (k == 2 && s == 2) assert_true(xt_reinitialize());
            losses[k][s] = (float)xt_item(loss);
            xt_mark_step();
            assert_null(xt_error());
        }
        xt_step_free(step);
        xt_optimizer_free(step_opt);
        xt_module_free(step_net);
    }
    assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
    assert_memory_equal(losses[0], losses[2], sizeof losses[0]);
}

static xt_tensor fit_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_square(xt_forward(m, b.x)));
}
static xt_optimizer *fit_optimizer(xt_module *m, void *user) {
    (void)user;
    return adamw(m);
}
static void silent(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev, (void)text, (void)n, (void)user;
}

static void test_in_a_fit(void **state) {
    (void)state;
    static float x[32][WIDE];
    double last[3];
    for (int i = 0; i < 32; i++)
        for (int k = 0; k < WIDE; k++) x[i][k] = (float)((i * 31 + k * 7) % 17) / 8 - 1;
    xt_set_sink(silent, NULL);
    for (int k = 0; k < 3; k++) {
        int64_t before = xt_counter("reinitializations");
        xt_seed(3);
        xt_task task = {.net = net, .training_step = fit_step, .configure_optimizers = fit_optimizer};
        xt_trainer *t =
            xt_trainer_new(.max_epochs = 2, .logger = XT_OFF, .checkpointing = XT_OFF, .progress_bar = XT_OFF,
                           .model_summary = XT_OFF, .offload_optimizer = k == 1 ? XT_ON : XT_OFF,
                           .reinitialize_every_n_steps = k == 2 ? 3 : 0);
        assert_int_equal(xt_fit(t, &task,
                                xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {WIDE}}, NULL,
                                                               (xt_spec){XT_DTYPE_NONE, {0}}, 32),
                                              .batch = 8)),
                         0);
        last[k] = xt_trainer_result(t).loss_last;
        assert_int_equal(xt_counter("reinitializations") - before, k == 2 ? 2 : 0);
        if (k == 1) assert_int_equal(bytes_of("optimizer"), 4);
        xt_finish();
    }
    xt_set_sink(NULL, NULL);
    assert_true(last[0] > 0 && last[0] == last[1] && last[0] == last[2]);
}

static void test_mistakes(void **state) {
    (void)state;
    xt_optimizer_offload(NULL);
    assert_non_null(strstr(xt_status_message(xt_error()), "optimizer is NULL"));
    assert_false(xt_reinitialize()); /* an error is pending */
    xt_clear_error();
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *opt = adamw(m);
    xt_optimizer_offload(opt, .group_bytes = -5);
    assert_non_null(strstr(xt_status_message(xt_error()), "group_bytes"));
    xt_clear_error();
    xt_optimizer_offload(opt);
    xt_backward(xt_mean(xt_forward(m, batch(0))));
    xt_optimizer_step(opt);
    xt_backward(xt_mean(xt_forward(m, batch(1))));
    xt_optimizer_step(opt);
    assert_non_null(strstr(xt_status_message(xt_error()), "twice in one step"));
    xt_clear_error();
    xt_mark_step();
    xt_backward(xt_mean(xt_forward(m, batch(1))));
    xt_optimizer_step(opt);
    xt_optimizer_free(opt); /* with its update still to come */
    xt_mark_step();
    assert_null(xt_error());
    xt_module_free(m);
}

int main(void) {
    setenv("XT_CACHE", "off", 0);
    setenv("XT_SUMMARY", "off", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_offload_bits, end),
        cmocka_unit_test_teardown(test_reinitialize_bits, end),
        cmocka_unit_test_teardown(test_offload_checkpoints, end),
        cmocka_unit_test_teardown(test_kept_tensors_survive, end),
        cmocka_unit_test_teardown(test_unused_steps_pass, end),
        cmocka_unit_test_teardown(test_loader_goes_on, end),
        cmocka_unit_test_teardown(test_step_functions, end),
        cmocka_unit_test_teardown(test_in_a_fit, end),
        cmocka_unit_test_teardown(test_mistakes, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
