/* What programs over narrow weights (integers of 8 and 4 bits, bf16) need beside them: a few rows widen nothing, many
 * rows some rows of a matrix at a time, in the backward pass too, and an embedding the rows that it looks up. The
 * counter is the most that any program took so far, so the cases stand in the order of their bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"

typedef enum kind { FORWARD, TRAIN, EMBED } kind;
typedef struct memory_case {
    const char *name;
    kind kind;
    int bits; /* 16: bf16 */
    int64_t layers, width, out, rows; /* layers of [width,width], the last [out,width] */
    double most; /* MiB of temporaries */
} memory_case;

/* A wide matrix of 1024 x 1024 has 4 MiB, one of 16384 x 1024 has 64, a tile 16, and the table 64. */
static const memory_case cases[] = {
    {"int8, 3 rows", FORWARD, 8, 6, 1024, 1024, 3, 0.5},
    {"int4, 3 rows", FORWARD, 4, 6, 1024, 1024, 3, 0.5},
    {"bf16, 3 rows", FORWARD, 16, 6, 1024, 1024, 3, 0.5},
    {"int8 table", EMBED, 8, 0, 512, 32768, 3, 2},
    {"int4 table", EMBED, 4, 0, 512, 32768, 3, 2},
    {"bf16, 40 rows", FORWARD, 16, 6, 1024, 1024, 40, 6},
    {"int8, 40 rows, backward", TRAIN, 8, 6, 1024, 1024, 40, 12},
    {"int4, 40 rows, backward", TRAIN, 4, 6, 1024, 1024, 40, 12},
    {"int8, a large matrix", FORWARD, 8, 1, 1024, 16384, 40, 24},
    {"int4, a large matrix", FORWARD, 4, 1, 1024, 16384, 40, 24},
    {"int8, a large matrix, backward", TRAIN, 8, 1, 1024, 16384, 40, 40},
    {"int4, a large matrix, backward", TRAIN, 4, 1, 1024, 16384, 40, 40},
};

static xt_tensor network(xt_module *m, xt_tensor x, void *user) {
    const memory_case *c = user;
    if (c->kind == EMBED) {
        x = xt_embedding(m, "table", x, c->out, c->width);
        return xt_matmul(x, xt_transpose(xt_param(m, "table.weight", "normal", 1, XT_F32, c->out, c->width), 0, 1));
    }
    for (int i = 0; i < c->layers; i++)
        x = xt_tanh(xt_linear(xt_sub(m, "layers", i), "a", x, c->width, .bias = XT_OFF));
    return xt_linear(m, "last", x, c->out, .bias = XT_OFF);
}

static xt_module *make(memory_case *c, xt_spec in) {
    xt_module *m = xt_module_new(network, c);
    if (c->bits == 16) assert_null(xt_module_set_dtype(m, XT_BF16));
    assert_null(xt_module_build(m, in));
    if (c->bits < 16) assert_true(xt_quantize(m, "*.weight", .bits = c->bits) >= 1);
    if (c->kind == TRAIN) assert_true(xt_lora(m, "*.weight", .r = 2));
    return m;
}

static void run(xt_module *m, const memory_case *c) {
    if (c->kind == EMBED) {
        xt_no_grad_begin();
        assert_true(xt_item(xt_max(xt_forward(m, xt_arange(c->rows, XT_I64)))) > -1e9);
        xt_no_grad_end();
        return;
    }
    xt_tensor x = xt_full(0.25, XT_F32, c->rows, c->width);
    if (c->kind == FORWARD) {
        xt_eval(m);
        xt_no_grad_begin();
        assert_true(xt_item(xt_max(xt_forward(m, x))) > -1e9);
        xt_no_grad_end();
        return;
    }
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    xt_backward(xt_mean(xt_square(xt_forward(m, x))));
    xt_optimizer_step(o);
    assert_true(xt_mark_step());
    xt_optimizer_free(o);
}

static void nothing_is_wide_at_once(void **state) {
    (void)state;
    int64_t before = 0;
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        memory_case c = cases[i];
        xt_seed(1);
        xt_module *m = make(&c, c.kind == EMBED ? (xt_spec){XT_I64, {1}} : (xt_spec){XT_F32, {1, c.width}});
        run(m, &c);
        assert_null(xt_error());
        before = xt_counter("program_temp_bytes");
        if (!((double)before <= c.most * 1048576))
            fail_msg("%s: %.2f MiB of temporaries, %.2f at most", c.name, (double)before / 1048576, c.most);
        xt_module_free(m);
    }
    assert_true(before > 0);
}

static int end(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_wide_at_once)};
    return cmocka_run_group_tests(tests, NULL, end);
}
