/* Activation checkpointing: the same numbers bit for bit on our CPU, each block computed again behind a barrier, and
 * less memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

static void nothing_left(void) {
    static const char *const kinds[] = {"tensor", "buffer",    "executable", "client", "graph",
                                        "module", "optimizer", "loader",     "dataset"};
    assert_int_equal(xt_finish(), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

enum { BATCH = 64, WIDTH = 32, BLOCKS = 6, MAX_TENSORS = 64 };
enum { PLAIN, CHECKPOINTED, NESTED };

/* --- a net with everything that could go wrong: random draws, running statistics, a tensor read from outside, blocks
 * in blocks --- */
typedef struct config {
    int mode;
    xt_tensor gain; /* wants a gradient, and is not the module's */
} config;

static xt_tensor call(int on, xt_module_fn fn, xt_module *m, xt_tensor x, void *user) {
    return on ? xt_checkpoint_block(fn, m, x, user) : fn(m, x, user);
}

static xt_tensor inner(xt_module *m, xt_tensor x, void *user) {
    const config *c = user;
    return xt_mul(xt_dropout(m, xt_gelu(xt_linear(m, "fc2", x, WIDTH)), 0.2), c->gain);
}

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const config *c = user;
    xt_tensor h = xt_dropout(m, xt_relu(xt_batch_norm(m, "bn", xt_linear(m, "fc1", x, 4 * WIDTH))), 0.1);
    return xt_add(x, call(c->mode == NESTED, inner, m, h, user));
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    const config *c = user;
    for (int i = 0; i < BLOCKS; i++) x = call(c->mode != PLAIN, block, xt_sub(m, "h", i), x, user);
    return xt_linear(m, "out", x, 3);
}

typedef struct result {
    float loss;
    size_t n;
    float *grads[MAX_TENSORS], *tensors[MAX_TENSORS];
    size_t bytes[MAX_TENSORS];
    float gain[WIDTH];
    int64_t temp_bytes;
} result;

static void note(void *user, const lazy_event *e) {
    *(int64_t *)user = e->stats.temp_bytes;
}
static int64_t last_temp_bytes;

static float *read_of(xt_tensor t, size_t bytes) {
    float *p = malloc(bytes + 1);
    assert_non_null(p);
    assert_true(xt_read(t, p, bytes));
    return p;
}

/* Gradients of two backward passes through the same graph, and the states afterwards. */
static void run(int mode, bool eval, result *r) {
    float x[BATCH][WIDTH], ones[WIDTH];
    int64_t y[BATCH];
    for (int i = 0; i < BATCH; i++) {
        y[i] = i % 3;
        for (int k = 0; k < WIDTH; k++) x[i][k] = (float)((i * 37 + k * 11) % 29) / 29 - 0.5f;
    }
    for (int k = 0; k < WIDTH; k++) ones[k] = 1 + (float)k / WIDTH;
    config c = {.mode = mode, .gain = xt_requires_grad(xt_keep(xt_from_array(ones, XT_F32, WIDTH)), true)};
    xt_module *m = xt_module_new(net, &c);
    if (eval) xt_eval(m);
    xt_tensor loss = xt_keep(
        xt_cross_entropy(xt_forward(m, xt_from_array(x, XT_F32, BATCH, WIDTH)), xt_from_array(y, XT_I64, BATCH)));
    xt_backward(loss);
    xt_backward(loss);
    assert_true(xt_mark_step());
    r->temp_bytes = last_temp_bytes;
    r->loss = (float)xt_item(loss);
    r->n = (size_t)xt_module_tensors(m);
    assert_true(r->n <= MAX_TENSORS);
    for (size_t i = 0; i < r->n; i++) {
        xt_tensor t = xt_module_tensor(m, (int)i);
        size_t bytes = r->bytes[i] = (size_t)xt_numel(t) * xt_dtype_size(xt_dtype_of(t));
        r->tensors[i] = read_of(t, bytes);
        r->grads[i] = NULL;
        if (!xt_module_tensor_is_param(m, (int)i)) continue;
        if (xt_is_none(xt_grad(t))) fail_msg("%s has no gradient", xt_module_tensor_name(m, (int)i));
        r->grads[i] = read_of(xt_grad(t), bytes);
    }
    assert_true(xt_read(xt_grad(c.gain), r->gain, sizeof r->gain));
    xt_drop(loss);
    xt_drop(c.gain);
    nothing_left();
}

static void drop(result *r) {
    for (size_t i = 0; i < r->n; i++) {
        free(r->grads[i]);
        free(r->tensors[i]);
    }
}

static void same(const result *a, const result *b) {
    assert_true(a->loss == b->loss);
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_memory_equal(a->tensors[i], b->tensors[i], a->bytes[i]);
        if (a->grads[i]) assert_memory_equal(a->grads[i], b->grads[i], a->bytes[i]);
    }
    assert_memory_equal(a->gain, b->gain, sizeof a->gain);
}

static void gradients_are_the_same_bits(void **state) {
    (void)state;
    for (int eval = 0; eval < 2; eval++) {
        result plain, once, nested;
        run(PLAIN, eval, &plain);
        run(CHECKPOINTED, eval, &once);
        run(NESTED, eval, &nested);
        same(&plain, &once);
        same(&plain, &nested);
        drop(&plain);
        drop(&once);
        drop(&nested);
    }
}

/* --- memory: a deep chain of wide blocks needs a part of what it needed --- */
static xt_tensor wide(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor h = xt_tanh(xt_linear(m, "fc1", x, 256));
    for (int i = 0; i < 4; i++) h = xt_tanh(xt_linear(xt_sub(m, "mid", i), "fc", h, 256));
    return xt_linear(m, "fc2", h, WIDTH);
}

static xt_tensor deep(xt_module *m, xt_tensor x, void *user) {
    for (int i = 0; i < 12; i++) x = xt_add(x, call(user != NULL, wide, xt_sub(m, "h", i), x, NULL));
    return x;
}

static int64_t deep_temp_bytes(bool on) {
    static float x[512 * WIDTH];
    int flag = 1;
    xt_module *m = xt_module_new(deep, on ? &flag : NULL);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.1);
    xt_backward(xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, 512, WIDTH)))));
    xt_optimizer_step(opt);
    assert_true(xt_mark_step());
    int64_t bytes = last_temp_bytes;
    nothing_left();
    return bytes;
}

static void memory_falls(void **state) {
    (void)state;
    int64_t plain = deep_temp_bytes(false), less = deep_temp_bytes(true);
    print_message("temporaries: %lld KiB, checkpointed %lld KiB\n", (long long)plain / 1024, (long long)less / 1024);
    assert_true(plain > 0 && less * 3 < plain);
}

/* --- what is recorded --- */
static xt_tensor square(xt_module *m, xt_tensor x, void *user) {
    (void)m;
    if (user) *(int *)user += 1;
    return xt_mul(xt_sin(x), xt_sin(x));
}

static void works_without_gradients(void **state) {
    (void)state;
    float a[2] = {0.5f, 1};
    int calls = 0;
    xt_tensor x = xt_requires_grad(xt_from_array(a, XT_F32, 2), true);
    xt_no_grad_begin();
    xt_tensor y = xt_checkpoint_block(square, NULL, x, &calls);
    xt_no_grad_end();
    assert_int_equal(calls, 1);
    float got[2];
    assert_true(xt_read(y, got, sizeof got));
    assert_true(got[0] > 0.229f && got[0] < 0.230f);
    assert_true(xt_is_error(xt_checkpoint_block(NULL, NULL, x, NULL)));
    xt_clear_error();
    nothing_left();
}

/* Second derivatives go through the copy; a tensor from inside the block can be asked about as well. */
static xt_tensor middle;
static xt_tensor cube(xt_module *m, xt_tensor x, void *user) {
    (void)m;
    (void)user;
    middle = xt_mul(x, x);
    return xt_mul(middle, x);
}

static void derivatives_of_blocks(void **state) {
    (void)state;
    float a[2] = {2, 3}, got[2];
    xt_tensor x = xt_requires_grad(xt_from_array(a, XT_F32, 2), true), g[2], h;
    xt_tensor y = xt_sum(xt_checkpoint_block(cube, NULL, x, NULL));
    xt_tensor by[2] = {x, middle};
    assert_true(xt_grad_of(y, 2, by, g, .create_graph = XT_ON));
    assert_true(xt_read(g[0], got, sizeof got));
    assert_true(got[0] == 12 && got[1] == 27);
    assert_true(xt_read(g[1], got, sizeof got));
    assert_true(got[0] == 2 && got[1] == 3);
    assert_true(xt_grad_of(xt_sum(g[0]), 1, &x, &h));
    assert_true(xt_read(h, got, sizeof got));
    assert_true(got[0] == 12 && got[1] == 18);
    nothing_left();
}

/* A step that ends inside a block leaves nothing of the block behind; gradients still flow through what
 * was kept of it. */
static xt_tensor interrupted(xt_module *m, xt_tensor x, void *user) {
    (void)m;
    (void)user;
    x = xt_keep(xt_sin(x));
    assert_true(xt_mark_step());
    return x;
}

static void a_step_may_end_inside(void **state) {
    (void)state;
    float a[2] = {0, 1}, got[2];
    xt_tensor w = xt_requires_grad(xt_keep(xt_from_array(a, XT_F32, 2)), true);
    xt_tensor x = xt_checkpoint_block(interrupted, NULL, w, NULL);
    xt_backward(xt_sum(xt_mul(x, w)));
    assert_true(xt_read(xt_grad(w), got, sizeof got));
    assert_true(got[0] == 0 && fabsf(got[1] - (sinf(1) + cosf(1))) < 1e-6f);
    xt_drop(x);
    xt_drop(w);
    nothing_left();
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    lazy_on_event(note, &last_temp_bytes);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_the_same_bits), cmocka_unit_test(memory_falls),
        cmocka_unit_test(works_without_gradients),     cmocka_unit_test(derivatives_of_blocks),
        cmocka_unit_test(a_step_may_end_inside),
    };
    return cmocka_run_group_tests_name("grad_checkpoint", tests, NULL, NULL);
}
