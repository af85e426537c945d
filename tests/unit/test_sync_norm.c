/* Batch norm over ranks that train copies: after xt_sync_batch_norm losses, running statistics and the evaluated
 * network on 2, 4 and 8 ranks are those of one device with the whole batch, and each layer's statistics cost one
 * exchange forward and one backward. A layer that says .sync = XT_OFF, one that is frozen, and a module that was not
 * asked, have none. Then one layer of each rank of input: outputs and gradients, in f32 and under autocast, and of
 * ranks with batches of two sizes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "lazy/lazy.h"

#include "launched.h"

enum { GLOBAL = 16, STEPS = 5, LAYERS = 3, C = 6, MOST = 8 };
typedef enum asked { WHOLE_NET, ONE_CHILD, EACH_LAYER, NOTHING } asked;
typedef struct job { /* in memory that all ranks share */
    asked how;
    bool compiled;
    int off; /* this layer says .sync = XT_OFF; -1: none does */
    bool frozen; /* the first layer's module evaluates while the others train */
    double loss[STEPS], evaluated, mean[LAYERS][C], var[LAYERS][C]; /* of rank 0 */
    int gathers, sums; /* recorded in the first step, before gradients are averaged */
} job;

static xt_tensor part(xt_module *m, xt_tensor x, const job *j, int layer) {
    bool off = j->off == layer;
    xt_switch sync = off ? XT_OFF : j->how == EACH_LAYER ? XT_ON : XT_DEFAULT;
    return xt_tanh(xt_batch_norm(m, "bn", xt_conv2d(m, "conv", x, C, 3), .momentum = 0.5, .sync = sync));
}
static xt_tensor net_of(xt_module *m, xt_tensor x, void *user) {
    const job *j = user;
    for (int i = 0; i < LAYERS; i++) x = part(xt_sub(m, i ? "b" : "a", i), x, j, i);
    return xt_log_softmax(xt_linear(m, "fc", xt_flatten(x, 1), 10), 1);
}

typedef struct trained {
    xt_module *net;
    xt_optimizer *opt;
    job *j;
} trained;

static int count(const ir_builder *b, ir_opcode code) {
    int n = 0;
    for (const ir_op *op = b->block->first; op; op = op->next) n += op->code == code;
    return n;
}

/* Pixels away from zero; not for a frozen layer, which does not bring them back. */
static double offset(const job *j) {
    return j->frozen ? 0 : 4;
}
static xt_tensor step(const xt_tensor *in, int n, void *user) {
    const trained *t = user;
    (void)n;
    xt_tensor loss = xt_nll_loss(xt_forward(t->net, xt_add_scalar(in[0], offset(t->j))), in[1]);
    xt_backward(loss);
    const ir_builder *b = lazy_begin(NULL);
    if (!t->j->gathers) t->j->gathers = count(b, OP_all_gather), t->j->sums = count(b, OP_all_reduce);
    xt_tensor mean = xt_cast(xt_all_reduce(loss, .op = XT_MEAN), XT_F64);
    xt_optimizer_step(t->opt);
    return mean;
}

static bool statistics(const xt_module *net, const char *what, int layer, double *out) {
    char name[64];
    float v[C];
    snprintf(name, sizeof name, "%s.%d.bn.running_%s", layer ? "b" : "a", layer, what);
    bool ok = xt_read(xt_module_find(net, name), v, sizeof v);
    for (int i = 0; ok && i < C; i++) out[i] = v[i];
    return ok;
}

static int train(int rank, void *arg) {
    job all = *(job *)arg, *out = rank ? &all : arg; /* the others' is thrown away */
    xt_seed(4);
    trained t = {.net = xt_module_new(net_of, &all), .j = out};
    if (all.how == WHOLE_NET) xt_sync_batch_norm(t.net);
    if (all.how == ONE_CHILD) xt_sync_batch_norm(xt_sub(t.net, "a", 0));
    if (all.frozen) xt_eval(xt_sub(t.net, "a", 0));
    t.opt = xt_sgd(t.net, .lr = 0.02, .momentum = 0.5);
    xt_loader *l =
        xt_loader_new(xt_drawn_digits(STEPS * GLOBAL, 3), .batch = GLOBAL / xt_world_size(), .shuffle = XT_ON);
    xt_step *compiled = xt_compile(step, .user = &t);
    xt_batch b;
    for (int i = 0; i < STEPS && xt_next(l, &b); i++) {
        xt_tensor loss = all.compiled ? xt_call(compiled, b.x, b.y) : step((xt_tensor[]){b.x, b.y}, 2, &t);
        out->loss[i] = xt_item(loss);
    }
    xt_eval(t.net);
    float image[28 * 28];
    for (int i = 0; i < 28 * 28; i++) image[i] = (float)offset(&all) + (float)(i * 37 % 101) / 100;
    out->evaluated = xt_item(xt_mean(xt_square(xt_forward(t.net, xt_from_array(image, XT_F32, 1, 1, 28, 28)))));
    bool ok = true;
    for (int i = 0; i < LAYERS; i++)
        ok = ok && statistics(t.net, "mean", i, out->mean[i]) && statistics(t.net, "var", i, out->var[i]);
    return xt_finish() || !ok;
}

static job run_job(int ranks, job what) {
    job *j = mmap(NULL, sizeof *j, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(j != MAP_FAILED);
    *j = what;
    assert_int_equal(launched(ranks, train, j), 0);
    job got = *j;
    munmap(j, sizeof *j);
    return got;
}

static job run(int ranks, asked how, int off, bool compiled) {
    return run_job(ranks, (job){.how = how, .off = off, .compiled = compiled});
}

/* The largest difference, of losses and of statistics, in parts of the value. */
static double apart(const job *a, const job *b) {
    double most = fabs(a->evaluated - b->evaluated) / fabs(b->evaluated);
    for (int i = 0; i < STEPS; i++) most = fmax(most, fabs(a->loss[i] - b->loss[i]) / fabs(b->loss[i]));
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < C; k++) {
            most = fmax(most, fabs(a->mean[i][k] - b->mean[i][k]) / (1 + fabs(b->mean[i][k])));
            most = fmax(most, fabs(a->var[i][k] - b->var[i][k]) / (1 + fabs(b->var[i][k])));
        }
    return most;
}

static void whole_batches(void **state) {
    (void)state;
    job one = run(1, NOTHING, -1, false);
    assert_true(one.loss[0] > 1 && one.loss[STEPS - 1] < one.loss[0]);
    for (int ranks = 2; ranks <= MOST; ranks *= 2)
        for (int compiled = 0; compiled < 2; compiled++) {
            job got = run(ranks, compiled ? EACH_LAYER : WHOLE_NET, -1, compiled);
            double most = apart(&got, &one);
            if (!(most <= 1e-5)) fail_msg("%d ranks%s: %g apart", ranks, compiled ? ", compiled" : "", most);
            assert_int_equal(got.gathers, LAYERS);
            assert_int_equal(got.sums, LAYERS);
        }
}

static void only_where_asked(void **state) {
    (void)state;
    job one = run(1, NOTHING, -1, false), none = run(2, NOTHING, -1, false);
    assert_true(apart(&none, &one) > 1e-4);
    assert_int_equal(none.gathers + none.sums, 0);
    job child = run(2, ONE_CHILD, -1, false), but = run(2, WHOLE_NET, 1, false);
    assert_int_equal(child.gathers, 1);
    assert_int_equal(child.sums, 1);
    assert_int_equal(but.gathers, LAYERS - 1);
    assert_int_equal(but.sums, LAYERS - 1);
}

static void a_frozen_layer(void **state) {
    (void)state;
    job one = run_job(1, (job){.how = NOTHING, .off = -1, .frozen = true});
    job two = run_job(2, (job){.how = WHOLE_NET, .off = -1, .frozen = true});
    assert_true(apart(&two, &one) <= 1e-5);
    assert_true(one.mean[0][0] == 0 && one.var[0][0] == 1 && two.mean[0][0] == 0 && two.var[0][0] == 1);
    assert_int_equal(two.gathers, LAYERS - 1);
    assert_int_equal(two.sums, LAYERS - 1);
}

/* --- one layer --- */
enum { BATCH = 8, MOST_ELEMENTS = BATCH * C * 12 };
typedef struct layer {
    int64_t dims[5]; /* of all ranks' rows */
    int rank;
    bool half; /* under autocast, with an input of bf16 */
    bool uneven; /* rank 1 has half as many rows */
    int64_t rows; /* that there are; 0: BATCH */
    int64_t elements;
    float y[MOST_ELEMENTS], dx[MOST_ELEMENTS], dw[MOST][C], mean[C], var[C];
} layer;

static xt_tensor one_norm(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_batch_norm(m, "bn", x);
}

/* Rows of the input, or of the gradient that flows to the output. */
static xt_tensor rows_of(const layer *l, int64_t first, int64_t rows, bool gradient) {
    float v[MOST_ELEMENTS];
    int64_t per_row = l->elements / BATCH, dims[6] = {0};
    for (int64_t i = 0; i < rows * per_row; i++) {
        int64_t at = first * per_row + i;
        v[i] = gradient ? (float)(at * 42 % 101) / 50 - 1 : (float)((at * 37 + at / 7 * 11) % 101) / 25 + 6;
    }
    memcpy(dims, l->dims, sizeof l->dims);
    dims[0] = rows;
    return xt_from_array_at(XT_HERE, v, XT_F32, dims);
}

static int one_layer(int rank, void *arg) {
    layer *l = arg;
    int ranks = xt_world_size();
    int64_t share = (l->rows ? l->rows : BATCH) / ranks, first = rank * share, per_row = l->elements / BATCH;
    int64_t rows = share / (l->uneven && rank == 1 ? 2 : 1), n = rows * per_row;
    xt_module *m = xt_module_new(one_norm, NULL);
    xt_sync_batch_norm(m);
    xt_tensor x = xt_keep(rows_of(l, first, rows, false));
    xt_requires_grad(x, true);
    if (l->half) xt_autocast_begin(XT_BF16);
    xt_tensor y = xt_forward(m, l->half ? xt_cast(x, XT_BF16) : x);
    if (l->half) xt_autocast_end();
    y = xt_keep(xt_cast(y, XT_F32));
    xt_backward(xt_sum(xt_mul(y, rows_of(l, first, rows, true))));
    bool ok = xt_mark_step() && xt_read(y, l->y + first * per_row, (size_t)n * sizeof *l->y) &&
              xt_read(xt_grad(x), l->dx + first * per_row, (size_t)n * sizeof *l->dx) &&
              xt_read(xt_grad(xt_module_find(m, "bn.weight")), l->dw[rank], sizeof l->dw[rank]);
    if (ok && rank == 0)
        ok = xt_read(xt_module_find(m, "bn.running_mean"), l->mean, sizeof l->mean) &&
             xt_read(xt_module_find(m, "bn.running_var"), l->var, sizeof l->var);
    return xt_finish() || !ok;
}

static layer *new_layer(const layer *what) {
    layer *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(l != MAP_FAILED);
    *l = *what;
    l->elements = 1;
    while (l->rank < 5 && l->dims[l->rank]) l->elements *= l->dims[l->rank++];
    assert_true(l->elements <= MOST_ELEMENTS);
    return l;
}

static void near(const float *got, const float *want, int64_t n, double tolerance, const layer *l, const char *what) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * (1 + fabs((double)want[i]))))
            fail_msg("%s[%d] of rank %d%s is %g, one device has %g", what, (int)i, l->rank, l->half ? " in bf16" : "",
                     (double)got[i], (double)want[i]);
}

static void shapes(void **state) {
    (void)state;
    static const layer rows[] = {{.dims = {BATCH, C}},
                                 {.dims = {BATCH, C, 5}},
                                 {.dims = {BATCH, C, 3, 4}},
                                 {.dims = {BATCH, C, 2, 3, 2}},
                                 {.dims = {BATCH, C, 3, 4}, .half = true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        layer *one = new_layer(&rows[i]);
        assert_int_equal(launched(1, one_layer, one), 0);
        for (int ranks = 2; ranks <= MOST; ranks *= 2) {
            layer *l = new_layer(&rows[i]);
            double tolerance = l->half ? 0.01 : 1e-5; /* y and dx are rounded to bf16, statistics are not */
            assert_int_equal(launched(ranks, one_layer, l), 0);
            for (int k = 1; k < ranks; k++)
                for (int c = 0; c < C; c++) l->dw[0][c] += l->dw[k][c];
            near(l->y, one->y, l->elements, tolerance, l, "y");
            near(l->dx, one->dx, l->elements, tolerance, l, "dx");
            near(l->dw[0], one->dw[0], C, tolerance, l, "d_weight");
            near(l->mean, one->mean, C, 1e-5, l, "running_mean");
            near(l->var, one->var, C, 1e-5, l, "running_var");
            munmap(l, sizeof *l);
        }
        munmap(one, sizeof *one);
    }
}

/* The second rank has half as many rows as the first: each element counts once. */
static void another_batch_size(void **state) {
    (void)state;
    enum { FIRST = 4, SECOND = 2, ROW = C * 3 };
    layer *one = new_layer(&(layer) {
        .dims = {BATCH, C, 3}, .rows = FIRST
        +SECOND
    });
    layer *two = new_layer(&(layer){.dims = {BATCH, C, 3}, .uneven = true});
    assert_int_equal(launched(1, one_layer, one), 0);
    assert_int_equal(launched(2, one_layer, two), 0);
    for (int c = 0; c < C; c++) two->dw[0][c] += two->dw[1][c];
    near(two->y, one->y, (FIRST + SECOND) * ROW, 1e-5, two, "y");
    near(two->dx, one->dx, (FIRST + SECOND) * ROW, 1e-5, two, "dx");
    near(two->dw[0], one->dw[0], C, 1e-5, two, "d_weight");
    near(two->mean, one->mean, C, 1e-5, two, "running_mean");
    near(two->var, one->var, C, 1e-5, two, "running_var");
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_PROGRESS", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_batches), cmocka_unit_test(only_where_asked),
                                       cmocka_unit_test(a_frozen_layer), cmocka_unit_test(shapes),
                                       cmocka_unit_test(another_batch_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
