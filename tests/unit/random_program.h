/* Random programs: a few shapes, any mix of elementwise ops, broadcasts, reshapes, transposes, slices, reductions and
 * products over them, some arguments donated to results of their type. */
#ifndef XT_TESTS_RANDOM_PROGRAM_H
#define XT_TESTS_RANDOM_PROGRAM_H

#include "cpu_differential.h"

enum { SHAPES = 6, VALUES = 48 };
static const char *const shapes[SHAPES] = {"4x6xf32", "6x4xf32", "24xf32", "4xf32", "6xf32", "f32"};
enum { S46, S64, S24, S4, S6, S0 };

typedef struct maker {
    str text;
    uint64_t seed, at;
    int shape[VALUES];
    int n;
} maker;
static inline int pick(maker *m, int n) {
    return (int)(rng_bits(m->seed, 7, m->at++) % (uint64_t)n);
}
/* A value of the shape, the later ones rather than the earlier; -1 when there is none. */
static inline int value_of(maker *m, int shape) {
    for (int tries = 0; tries < 40; tries++) {
        int v = pick(m, 2) ? m->n - 1 - pick(m, m->n < 6 ? m->n : 6) : pick(m, m->n);
        if (m->shape[v] == shape) return v;
    }
    return -1;
}
static inline void add(maker *m, int shape) {
    m->shape[m->n++] = shape;
}

static inline void elementwise(maker *m) {
    static const char *const unary[] = {"abs", "negate", "tanh", "logistic", "floor", "sign", "cosine"};
    static const char *const binary[] = {"add", "subtract", "multiply", "maximum", "minimum"};
    int x = pick(m, m->n), s = m->shape[x], y = value_of(m, s), z = value_of(m, s);
    if (y < 0 || z < 0) return;
    switch (pick(m, 4)) {
    case 0:
        str_printf(&m->text, "%%%d = stablehlo.%s %%%d : tensor<%s>\n", m->n, unary[pick(m, 7)], x, shapes[s]);
        break;
    case 1: {
        str_printf(&m->text,
                   "%%p%d = stablehlo.compare LT, %%%d, %%%d, FLOAT : (tensor<%s>, tensor<%s>) -> tensor<%.*si1>\n",
                   m->n, x, y, shapes[s], shapes[s], (int)strlen(shapes[s]) - 3, shapes[s]);
        str_printf(&m->text, "%%%d = stablehlo.select %%p%d, %%%d, %%%d : tensor<%.*si1>, tensor<%s>\n", m->n, m->n, y,
                   z, (int)strlen(shapes[s]) - 3, shapes[s], shapes[s]);
        break;
    }
    default:
        str_printf(&m->text, "%%%d = stablehlo.%s %%%d, %%%d : tensor<%s>\n", m->n, binary[pick(m, 5)], x, y,
                   shapes[s]);
    }
    add(m, s);
}

static inline void reshaping(maker *m) {
    static const struct {
        int from, to;
        const char *op;
    } moves[] = {
        {S46, S24, "stablehlo.reshape %%%d : (tensor<4x6xf32>) -> tensor<24xf32>"},
        {S24, S46, "stablehlo.reshape %%%d : (tensor<24xf32>) -> tensor<4x6xf32>"},
        {S24, S64, "stablehlo.reshape %%%d : (tensor<24xf32>) -> tensor<6x4xf32>"},
        {S64, S46, "stablehlo.reshape %%%d : (tensor<6x4xf32>) -> tensor<4x6xf32>"},
        {S46, S64, "stablehlo.transpose %%%d, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>"},
        {S64, S46, "stablehlo.transpose %%%d, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>"},
        {S4, S46, "stablehlo.broadcast_in_dim %%%d, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>"},
        {S6, S46, "stablehlo.broadcast_in_dim %%%d, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>"},
        {S4, S64, "stablehlo.broadcast_in_dim %%%d, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>"},
        {S0, S24, "stablehlo.broadcast_in_dim %%%d, dims = [] : (tensor<f32>) -> tensor<24xf32>"},
        {S0, S4, "stablehlo.broadcast_in_dim %%%d, dims = [] : (tensor<f32>) -> tensor<4xf32>"},
        {S24, S6, "stablehlo.slice %%%d [3:21:3] : (tensor<24xf32>) -> tensor<6xf32>"},
        {S24, S4, "stablehlo.slice %%%d [4:8] : (tensor<24xf32>) -> tensor<4xf32>"},
        {S46, S46, "stablehlo.reverse %%%d, dims = [1] : tensor<4x6xf32>"},
        {S46, S6,
         "stablehlo.reduce(%%%d init: %%z) applies stablehlo.add across dimensions = [0] : (tensor<4x6xf32>, "
         "tensor<f32>) -> tensor<6xf32>"},
        {S46, S4,
         "stablehlo.reduce(%%%d init: %%z) applies stablehlo.maximum across dimensions = [1] : (tensor<4x6xf32>, "
         "tensor<f32>) -> tensor<4xf32>"},
        {S24, S0,
         "stablehlo.reduce(%%%d init: %%z) applies stablehlo.add across dimensions = [0] : (tensor<24xf32>, "
         "tensor<f32>) -> tensor<f32>"},
    };
    int k = pick(m, (int)BASE_COUNT(moves)), v = value_of(m, moves[k].from);
    if (v < 0) return;
    str_printf(&m->text, "%%%d = ", m->n);
    const char *where = strstr(moves[k].op, "%%%d");
    str_appendn(&m->text, moves[k].op, (size_t)(where - moves[k].op));
    str_printf(&m->text, "%%%d", v);
    for (const char *p = where + 4; *p; p++) /* the rows are written as formats */
        if (p[0] != '%' || p[1] != '%') str_putc(&m->text, *p);
    str_append(&m->text, "\n");
    add(m, moves[k].to);
}

static inline void others(maker *m) {
    int a = value_of(m, S46), b = value_of(m, S64), c = value_of(m, S24);
    if (a < 0 || b < 0 || c < 0) return;
    switch (pick(m, 3)) {
    case 0: /* 4x6 . 6x4 . 4x6 */
        str_printf(&m->text,
                   "%%d%d = stablehlo.dot_general %%%d, %%%d, contracting_dims = [1] x [0] : (tensor<4x6xf32>, "
                   "tensor<6x4xf32>) -> tensor<4x4xf32>\n",
                   m->n, a, b);
        str_printf(&m->text, "%%e%d = stablehlo.tanh %%d%d : tensor<4x4xf32>\n", m->n, m->n);
        str_printf(&m->text,
                   "%%%d = stablehlo.dot_general %%e%d, %%%d, contracting_dims = [0] x [1] : (tensor<4x4xf32>, "
                   "tensor<6x4xf32>) -> tensor<4x6xf32>\n",
                   m->n, m->n, b);
        break;
    case 1:
        str_printf(&m->text, "%%o%d = stablehlo.constant dense<2> : tensor<i32>\n", m->n);
        str_printf(&m->text,
                   "%%%d = stablehlo.dynamic_update_slice %%%d, %%%d, %%o%d : (tensor<24xf32>, tensor<4xf32>, "
                   "tensor<i32>) -> tensor<24xf32>\n",
                   m->n, c, S4, m->n); /* argument 3 */
        add(m, S24);
        return;
    default: str_printf(&m->text, "%%%d = stablehlo.optimization_barrier %%%d : tensor<4x6xf32>\n", m->n, a);
    }
    add(m, S46);
}

/* The program of a seed, in text. */
static inline str random_program(uint64_t seed) {
    maker m = {.seed = seed};
    int results[5];
    for (int s = 0; s < SHAPES; s++) add(&m, s);
    str body = STR_INIT;
    int ops = 4 + pick(&m, 34);
    for (int i = 0; i < ops && m.n < VALUES - 1; i++) {
        int k = pick(&m, 10);
        if (k < 6)
            elementwise(&m);
        else if (k < 9)
            reshaping(&m);
        else
            others(&m);
    }
    body = m.text;
    m.text = (str)STR_INIT;
    for (int j = 0; j < 5; j++) results[j] = pick(&m, 4) ? m.n - 1 - pick(&m, m.n < 8 ? m.n : 8) : pick(&m, m.n);
    str_append(&m.text, "func.func @main(");
    for (int i = 0; i < SHAPES; i++) {
        int to = -1;
        for (int j = 0; j < 5; j++)
            if (m.shape[results[j]] == i) to = j;
        str_printf(&m.text, "%s%%%d: tensor<%s>", i ? ", " : "", i, shapes[i]);
        if (to >= 0) str_printf(&m.text, " {tf.aliasing_output = %d : i32}", to);
    }
    str_append(&m.text, ") -> (");
    for (int j = 0; j < 5; j++) str_printf(&m.text, "%stensor<%s>", j ? ", " : "", shapes[m.shape[results[j]]]);
    str_append(&m.text, ") {\n%z = stablehlo.constant dense<0.0> : tensor<f32>\n");
    str_append(&m.text, str_cstr(&body));
    str_append(&m.text, "return ");
    for (int j = 0; j < 5; j++) str_printf(&m.text, "%s%%%d", j ? ", " : "", results[j]);
    str_append(&m.text, " : ");
    for (int j = 0; j < 5; j++) str_printf(&m.text, "%stensor<%s>", j ? ", " : "", shapes[m.shape[results[j]]]);
    str_append(&m.text, "\n}\n");
    str_free(&body);
    return m.text;
}

#endif
