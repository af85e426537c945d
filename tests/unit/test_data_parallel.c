/* Plain data parallel training: the MNIST network and a small GPT on 1, 2 and 4 ranks with the same global batches, a
 * short last one among them, also one that ranks share unevenly, give the same losses and parameters to 1e-5 although
 * every rank began with numbers of its own and one parameter is not used; copies that grow apart are named. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include "models/models.h"

#include "launched.h"

enum { SAMPLES = 20, GLOBAL = 8, STEPS = 6, SEQ = 8, SUMS = 64 }; /* batches of 8, 8 and 4 samples, twice */
#define CHECK(cond)                                                                    \
    do {                                                                               \
        if (!(cond)) {                                                                 \
            fprintf(stderr, "rank %d, line %d: %s (%s)\n", xt_rank(), __LINE__, #cond, \
                    xt_error() ? xt_status_message(xt_error()) : "no error");          \
            _exit(99);                                                                 \
        }                                                                              \
    } while (0)

typedef struct result { /* in memory that all ranks share */
    double loss[STEPS], sums[SUMS];
    int n_steps, n_sums;
} result;
static result *shared;
static bool text;
static bool padded; /* the short batch has 3 samples, which ranks share unevenly: it is filled up */
static bool compiled; /* the step is a compiled function: its first call, too, begins with the values of rank 0 */
static int64_t bucket; /* bytes of gradients averaged together; 0 = the default: one bucket here */

/* The MNIST network without its batch norms, whose statistics are those of each rank; "spare" is never used. */
static xt_tensor digits(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_linear(m, "spare", xt_zeros(XT_F32, 1, 3), 2);
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 10, 5), 2));
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv2", x, 20, 5), 2));
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 50));
    return xt_log_softmax(xt_linear(m, "fc2", x, 10), 1);
}

static xt_dataset *sentences(void) {
    static int64_t x[SAMPLES][SEQ], y[SAMPLES][SEQ];
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < SEQ; k++) x[i][k] = (i * 7 + k * k) % 32, y[i][k] = (i * 7 + (k + 1) * (k + 1)) % 32;
    return xt_array_dataset(x, (xt_spec){XT_I64, {SEQ}}, y, (xt_spec){XT_I64, {SEQ}}, SAMPLES);
}

typedef struct trained {
    xt_module *net;
    xt_optimizer *opt;
} trained;
static xt_tensor one_step(const xt_tensor *in, int n, void *user) {
    const trained *t = user;
    xt_tensor out = xt_forward(t->net, in[0]), loss;
    if (n == 3)
        loss = xt_div(xt_sum(xt_mul(xt_nll_loss(out, in[1], .reduction = XT_NONE), in[2])),
                      xt_all_reduce(xt_sum(in[2]), .op = XT_MEAN));
    else
        loss = text ? model_gpt2_tiny.loss(out, in[1]) : xt_nll_loss(out, in[1]);
    xt_backward(loss);
    xt_tensor mean = xt_cast(xt_all_reduce(loss, .op = XT_MEAN), XT_F64);
    xt_optimizer_step(t->opt);
    return mean;
}

static int train(int rank, void *arg) {
    (void)arg;
    char why[256];
    model_options o = {.seq = SEQ, .context = SEQ, .vocab = 32, .layers = 2, .width = 16, .heads = 2};
    if (text) CHECK(model_settle(&model_gpt2_tiny, &o, why, sizeof why));
    xt_seed(100 + (uint64_t)rank);
    xt_module *net = xt_module_new(text ? model_gpt2_tiny.net : digits, text ? (void *)&o : NULL);
    xt_optimizer *opt = text ? xt_adamw(net, .lr = 1e-3) : xt_sgd(net, .lr = 0.05, .momentum = 0.5);
    xt_optimizer_check_replicas(opt, 2);
    xt_optimizer_bucket(opt, bucket);
    xt_loader *l = xt_loader_new(text ? sentences() : xt_drawn_digits(padded ? SAMPLES - 1 : SAMPLES, 3),
                                 .batch = GLOBAL / xt_world_size(), .shuffle = XT_ON, .drop_last = XT_OFF,
                                 .pad_last = padded ? XT_ON : XT_DEFAULT, .seed = 5);
    trained t = {net, opt};
    xt_step *step = xt_compile(one_step, .user = &t);
    int n = 0;
    for (int epoch = 0; epoch < 2; epoch++)
        for (xt_batch b; xt_next(l, &b);) {
            double v = 0;
            xt_tensor mean = xt_keep(compiled ? xt_call(step, b.x, b.y)
                                              : one_step((xt_tensor[]){b.x, b.y, b.mask}, padded ? 3 : 2, &t));
            CHECK(xt_read(mean, &v, sizeof v));
            xt_drop(mean);
            CHECK(n < STEPS);
            if (rank == 0) shared->loss[n] = v;
            n++;
        }
    CHECK(!xt_error() && n == STEPS);
    for (int i = 0; rank == 0 && i < xt_module_tensors(net) && shared->n_sums < SUMS; i++) {
        static float w[1 << 16];
        size_t bytes = ir_type_bytes(lazy_type(xt_module_tensor(net, i)));
        if (!xt_module_tensor_is_param(net, i) || bytes > sizeof w) continue;
        double sum = 0;
        CHECK(!lazy_state_read(xt_module_tensor(net, i), w, bytes));
        for (size_t k = 0; k < bytes / 4; k++) sum += w[k] * cos((double)k);
        shared->sums[shared->n_sums++] = sum;
    }
    if (rank == 0) shared->n_steps = n;
    return xt_finish();
}

static int ranks(int n, xt_rank_fn fn) {
    memset(shared, 0, sizeof *shared);
    return launched(n, fn, NULL);
}

static void equal(bool of_text) {
    result alone;
    text = of_text;
    assert_int_equal(ranks(1, train), 0);
    alone = *shared;
    assert_int_equal(alone.n_steps, STEPS);
    assert_true(alone.n_sums >= 8);
    for (int n = 2; n <= 6; n += 2) { /* 2 and 4 ranks, and 2 with many buckets */
        bucket = n == 6 ? 3000 : 0;
        assert_int_equal(ranks(n == 6 ? 2 : n, train), 0);
        assert_int_equal(shared->n_sums, alone.n_sums);
        for (int i = 0; i < STEPS; i++)
            if (!(fabs(shared->loss[i] - alone.loss[i]) <= 1e-5))
                fail_msg("%d ranks, step %d: loss %.8f, alone %.8f", n, i, shared->loss[i], alone.loss[i]);
        for (int i = 0; i < alone.n_sums; i++)
            if (!(fabs(shared->sums[i] - alone.sums[i]) <= 2e-5 * (1 + fabs(alone.sums[i]))))
                fail_msg("%d ranks, parameter %d: %.8f, alone %.8f", n, i, shared->sums[i], alone.sums[i]);
    }
}
static void digits_equal(void **state) {
    (void)state;
    equal(false);
}
static void compiled_equal(void **state) {
    (void)state;
    compiled = true;
    equal(false);
    compiled = false;
}
static void padded_equal(void **state) {
    (void)state;
    padded = true;
    equal(false);
    padded = false;
}
static void text_equal(void **state) {
    (void)state;
    equal(true);
}

/* --- copies that grow apart --- */
static void listen(xt_severity sev, const char *line, size_t n, void *user) {
    (void)sev, (void)line, (void)n, (void)user;
}
static xt_tensor line(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc2", xt_linear(m, "fc1", x, 3), 1);
}
static int apart(int rank, void *arg) {
    (void)arg;
    xt_set_sink(listen, NULL);
    xt_module *net = xt_module_new(line, NULL);
    xt_optimizer *opt = xt_sgd(net, .lr = 0.01);
    xt_optimizer_check_replicas(opt, 2);
    for (int step = 0; step < 5; step++) {
        CHECK(!xt_error());
        xt_backward(xt_sum(xt_forward(net, xt_ones(XT_F32, 4, 2))));
        xt_optimizer_step(opt);
        if (step == 4) break; /* the copies were compared in this call */
        xt_mark_step();
        float w[3] = {7, 7, 7};
        int i = xt_module_next(net, "fc1.bias", 0);
        if (step == 2 && rank == 1) CHECK(i >= 0 && !lazy_state_write(xt_module_tensor(net, i), w, sizeof w));
    }
    const char *said = xt_error() ? xt_status_message(xt_error()) : "";
    CHECK(strstr(said, "test_data_parallel.c:") && strstr(said, "after step 4") &&
          strstr(said, "fc1.bias has one value on rank 0, 2 and another on rank 1;"));
    xt_clear_error();
    xt_optimizer_check_replicas(opt, -1);
    CHECK(xt_error());
    xt_clear_error();
    xt_optimizer_bucket(opt, -1);
    CHECK(xt_error());
    xt_clear_error();
    return xt_finish();
}
static xt_tensor wider(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc1", x, 2 + xt_rank());
}
static int other_shapes(int rank, void *arg) {
    (void)arg, (void)rank;
    xt_set_sink(listen, NULL);
    xt_module *net = xt_module_new(wider, NULL);
    xt_optimizer *opt = xt_sgd(net, .lr = 0.01);
    xt_backward(xt_sum(xt_forward(net, xt_ones(XT_F32, 4, 2))));
    xt_optimizer_step(opt);
    CHECK(xt_error() &&
          strstr(xt_status_message(xt_error()), "rank 1 has another network than rank 0; first difference: rank 0 has "
                                                "fc1.weight f32 2x2, rank 1 has fc1.weight f32 3x2;"));
    xt_clear_error();
    return xt_finish();
}
/* Numbers of optimizers that ranks have otherwise: an error that shows both, before the first step or soon after the
 * step in which they part. */
static int other_numbers(int rank, void *arg) {
    const char *how = arg;
    int64_t told_at = 0;
    double by_rank = rank == 1;
    xt_set_sink(listen, NULL);
    xt_module *net = xt_module_new(line, NULL);
    xt_optimizer *opt = *how == 'l'   ? xt_sgd(net, .lr = 0.01 + by_rank)
                        : *how == 'd' ? xt_adamw(net, .weight_decay = 0.01 + by_rank)
                        : *how == 'e' ? xt_adam(net, .eps = 1e-8 + by_rank / 2)
                        : *how == 'n' ? xt_sgd(net, .lr = 0.01, .clip_norm = 1 + by_rank)
                        : *how == 'o' ? xt_adam(net, .clip_norm = 1 - by_rank)
                        : *how == 'p' ? xt_adam(net, .clip_norm = by_rank, .amsgrad = XT_ON)
                                      : xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    if (*how == 'g') xt_optimizer_group(opt, "*bias", .lr = 0.5 + by_rank);
    for (int step = 1; step <= 64 && !xt_error(); step++) {
        if (*how == 'm' && step == 3) xt_optimizer_set_momentum(opt, 0.25 + by_rank / 2);
        if (*how == 's' && step == 3) xt_optimizer_set_lr(opt, 0.25 + by_rank);
        xt_tensor y = xt_dropout(net, xt_forward(net, xt_ones(XT_F32, 4, 2)), rank ? 0.5 : 0.25);
        xt_backward(xt_sum(xt_mul_scalar(y, 1e-4 * (rank + 1)))); /* draws and losses are each rank's own */
        if (*how == 'c') xt_clip_grad_norm(opt, 1 + by_rank);
        if (*how == 'v') xt_clip_grad_value(opt, 1 + by_rank);
        xt_optimizer_step(opt);
        if (xt_error()) told_at = step;
        if (xt_error()) break;
        CHECK(xt_wait() && !xt_barrier(20));
        if (rank == 0 && strchr("ms", *how) && step == 4) break; /* the others look at what it has left */
    }
    const char *said = xt_error() ? xt_status_message(xt_error()) : "";
    static const struct {
        char how;
        const char *said;
        int64_t from, to; /* the step in which it is told */
    } rows[] = {{'l', "step 1: rank 0 has lr 0.01 (", 1, 1},
                {'d', "rank 0 has weight_decay 0.01 (", 1, 1},
                {'e', "rank 0 has eps 1e-08 (", 1, 1},
                {'n', "rank 0 has clip_norm 1 (", 1, 1},
                {'o', "rank 0 has clip_norm 1 (", 1, 1},
                {'o', "rank 1 has no clip_norm (", 1, 1},
                {'p', "rank 0 has no clip_norm (", 1, 1},
                {'p', "rank 1 has clip_norm 1 (", 1, 1},
                {'g', "rank 0 has lr 0.5 (", 1, 1},
                {'c', "rank 0 has xt_clip_grad_norm 1 (", 1, 1},
                {'v', "rank 0 has xt_clip_grad_value 1 (", 1, 1},
                {'m', "step 4: rank 0 has momentum 0.25 (", 4, 6},
                {'s', "step 4: rank 0 has lr 0.25 (", 4, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].how != *how || (rows[i].to > 1 && rank == 0)) continue; /* rank 0's note is looked at by others */
        CHECK(strstr(said, "test_data_parallel.c:") && strstr(said, "the ranks step with other numbers") &&
              strstr(said, rows[i].said) && strstr(said, "rank 1 has "));
        CHECK(told_at >= rows[i].from && told_at <= rows[i].to);
    }
    if (*how == '-') CHECK(!xt_error());
    xt_clear_error();
    CHECK(!xt_barrier(20));
    xt_finish();
    return 0;
}

/* Clipping averages over the ranks: in front of the backward pass there is nothing to average, and what a later pass
 * adds is averaged with the rest. Weights are those of plain descent along the mean gradient. */
static xt_tensor slope(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1, .bias = XT_OFF);
}
static int clipped(int rank, void *arg) {
    const char *how = arg;
    enum { TIMES = 6 };
    xt_set_sink(listen, NULL);
    xt_module *net = xt_module_new(slope, NULL);
    xt_init_zeros(net, "*");
    xt_optimizer *opt = xt_sgd(net, .lr = 0.5);
    double passes = 0, sum = 0;
    for (int i = 0; i < TIMES; i++) {
        xt_tensor norm = {0};
        passes = 0;
        for (const char *c = how; *c; c++) {
            /* the gradient is rank + 1: 1.5 as a mean of two ranks */
            if (*c == 'b') xt_backward(xt_sum(xt_mul_scalar(xt_forward(net, xt_ones(XT_F32, 1, 1)), rank + 1)));
            if (*c == 'c') xt_clip_grad_norm(opt, 1e6);
            if (*c == 'v') xt_clip_grad_value(opt, 1e6);
            if (*c == 'r') xt_reduce_gradients(opt);
            if (*c == 'n') norm = xt_grad_norm(opt), sum = 1.5 * passes;
            passes += *c == 'b';
        }
        bool here = !xt_is_none(norm);
        xt_tensor norms[2] = {here ? xt_keep(norm) : norm};
        xt_optimizer_step(opt);
        norms[1] = xt_keep(xt_grad_norm(opt));
        CHECK(xt_mark_step());
        CHECK(!here || fabs(xt_item(norms[0]) - sum) < 1e-5);
        CHECK(fabs(xt_item(norms[1]) - 1.5 * passes) < 1e-5);
        for (int k = !here; k < 2; k++) xt_drop(norms[k]);
    }
    CHECK(fabs(xt_item(xt_sum(xt_module_find(net, "fc.weight"))) + 0.5 * 1.5 * passes * TIMES) < 1e-4);
    return xt_finish();
}
static void clipping_anywhere(void **state) {
    (void)state;
    static const char *const ways[] = {"b", "bc", "cb", "vb", "rb", "bcb", "bcbc", "brcbv", "bn", "bnbn", "bcnb"};
    for (size_t i = 0; i < BASE_COUNT(ways); i++) {
        memset(shared, 0, sizeof *shared);
        if (launched(2, clipped, (void *)(uintptr_t)ways[i])) fail_msg("\"%s\": other weights", ways[i]);
    }
}
static void named(void **state) {
    (void)state;
    assert_int_equal(ranks(3, apart), 0);
}
static void other_networks(void **state) {
    (void)state;
    assert_int_equal(ranks(2, other_shapes), 0);
    static const char *const how[] = {"-", "l", "d", "e", "n", "o", "p", "g", "c", "v", "m", "s"};
    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++)
        if (launched(2, other_numbers, (void *)(uintptr_t)how[i])) fail_msg("numbers: %s", how[i]);
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_CACHE", "off", 1);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_equal),     cmocka_unit_test(text_equal), cmocka_unit_test(compiled_equal),
        cmocka_unit_test(padded_equal),     cmocka_unit_test(named),      cmocka_unit_test(other_networks),
        cmocka_unit_test(clipping_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
