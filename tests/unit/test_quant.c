/* Quantized tensors: the interpreter, by the specification's rules, beside the CPU compiler, by integers; text and
 * bytecode, and types that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cpu_differential.h"
#include "format/bytecode.h"
#include "ir/quant.h"
#include "pass/pass.h"
#include <xtrain/program.h>

/* --- Programs: main takes f32 arguments; what it gives is compared, integers within `off` of each other --- */
typedef struct shape {
    int rank;
    int64_t dims[4];
} shape;

static void fill(xt_array *a, const shape *s, uint64_t seed) {
    int64_t n = 1;
    *a = (xt_array){.dtype = XT_F32, .rank = s->rank};
    for (int d = 0; d < s->rank; d++) n *= a->dims[d] = s->dims[d];
    a->bytes = (size_t)n * sizeof(float);
    float *v = base_malloc(a->bytes + 1);
    for (int64_t i = 0; i < n; i++) v[i] = (float)(rng_bits(seed, 1, (uint64_t)i) >> 40) / 4194304.0f - 2.0f;
    if (n > 3) v[0] = 1e9f, v[1] = -1e9f, v[2] = 0; /* beyond what any storage type holds */
    a->data = v;
}

static void compare(const char *text, const xt_array *want, const xt_array *got, double off) {
    int64_t n = 1;
    assert_int_equal(want->dtype, got->dtype);
    for (int d = 0; d < want->rank; d++) n *= want->dims[d];
    const ir_type *t = ir_tensor(want->dtype, (size_t)want->rank, want->dims);
    for (int64_t i = 0; i < n; i++) {
        double w = array_get(&(array){t, want->data}, i), g = array_get(&(array){t, got->data}, i);
        if (!(fabs(w - g) <= off) && !(isnan(w) && isnan(g)))
            fail_msg("element %lld: interpreter %.9g, CPU %.9g in\n%s", (long long)i, w, g, text);
    }
}

static void same(const char *text, int n_in, const shape *shapes, double off) {
    xt_program *p = NULL;
    xt_array in[4], want[4], got[4];
    expect_ok(xt_program_parse(text, strlen(text), "quant.mlir", &p), text);
    int n_out = (int)xt_program_outputs(p);
    for (int i = 0; i < n_in; i++) fill(&in[i], &shapes[i], 7 + (uint64_t)i);
    expect_ok(xt_program_run(p, "interpreter", in, n_in, want, n_out), text);
    expect_ok(xt_program_run(p, "CPU", in, n_in, got, n_out), text);
    for (int i = 0; i < n_out; i++) {
        compare(text, &want[i], &got[i], off);
        xt_array_free(&want[i]);
        xt_array_free(&got[i]);
    }
    for (int i = 0; i < n_in; i++) base_free((void *)(uintptr_t)in[i].data);
    xt_program_free(p);
}

/* In `body`, Q0 to Q9 and T are replaced: by the quantized types of the row and the storage type; E by the expressed.
 */
typedef struct family {
    const char *storage, *expressed, *q[4];
} family;
static const family families[] = {
    {"i8",
     "f32",
     {"!quant.uniform<i8:f32, 0.02:-5>", "!quant.uniform<i8:f32, 0.03:11>", "!quant.uniform<i8:f32, 0.05>"}},
    {"ui8",
     "f32",
     {"!quant.uniform<u8:f32, 0.02:128>", "!quant.uniform<ui8:f32, 0.03:90>", "!quant.uniform<u8:f32, 0.1>"}},
    {"i4", "f32", {"!quant.uniform<i4:f32, 0.3:-2>", "!quant.uniform<i4:f32, 0.5:1>", "!quant.uniform<i4:f32, 0.4>"}},
    {"ui4", "f32", {"!quant.uniform<u4:f32, 0.3:8>", "!quant.uniform<u4:f32, 0.5:6>", "!quant.uniform<u4:f32, 0.4>"}},
    {"i8",
     "f32",
     {"!quant.uniform<i8<-100:90>:f32, 0.02:3>", "!quant.uniform<i8<-100:90>:f32, 0.03:11>",
      "!quant.uniform<i8<-100:90>:f32, 0.05>"}},
    {"i16",
     "f32",
     {"!quant.uniform<i16:f32, 0.001:99>", "!quant.uniform<i16:f32, 0.002>", "!quant.uniform<i16:f32, 0.001>"}},
    {"i8",
     "f64",
     {"!quant.uniform<i8:f64, 0.02:-5>", "!quant.uniform<i8:f64, 0.03:11>", "!quant.uniform<i8:f64, 0.05>"}},
    {"i8",
     "bf16",
     {"!quant.uniform<i8:bf16, 0.02:-5>", "!quant.uniform<i8:bf16, 0.03:11>", "!quant.uniform<i8:bf16, 0.05>"}},
    {"i8",
     "f16",
     {"!quant.uniform<i8:f16, 0.02:-5>", "!quant.uniform<i8:f16, 0.03:11>", "!quant.uniform<i8:f16, 0.05>"}},
    {"i32",
     "f32",
     {"!quant.uniform<i32:f32, 0.001:7>", "!quant.uniform<i32:f32, 0.002>", "!quant.uniform<i32:f32, 0.001>"}},
};

/* $a, $b, $c: the quantized types; $s, $e: storage, expressed. */
static void expand(str *out, const char *body, const family *f) {
    for (; *body; body++) {
        const char *with = *body != '$'     ? NULL
                           : body[1] == 's' ? f->storage
                           : body[1] == 'e' ? f->expressed
                                            : f->q[body[1] - 'a'];
        if (with)
            str_append(out, with), body++;
        else
            str_putc(out, *body);
    }
}

/* A body that takes %x, %y of 4x6 quantized as $a, and makes %r of $c, of 4x6. */
static void check_body(const char *body, double off) {
    static const shape shapes[] = {{2, {4, 6}}, {2, {4, 6}}};
    for (size_t i = 0; i < BASE_COUNT(families); i++) {
        str s = STR_INIT;
        expand(&s,
               "func.func @main(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) -> (tensor<4x6x$s>, tensor<4x6x$e>) {\n"
               "  %c = stablehlo.convert %a : (tensor<4x6xf32>) -> tensor<4x6x$e>\n"
               "  %d = stablehlo.convert %b : (tensor<4x6xf32>) -> tensor<4x6x$e>\n"
               "  %x = stablehlo.uniform_quantize %c : (tensor<4x6x$e>) -> tensor<4x6x$a>\n"
               "  %y = stablehlo.uniform_quantize %d : (tensor<4x6x$e>) -> tensor<4x6x$b>\n",
               &families[i]);
        expand(&s, body, &families[i]);
        expand(&s,
               "\n  %s = stablehlo.bitcast_convert %r : (tensor<4x6x$c>) -> tensor<4x6x$s>\n"
               "  %t = stablehlo.uniform_dequantize %r : (tensor<4x6x$c>) -> tensor<4x6x$e>\n"
               "  return %s, %t : tensor<4x6x$s>, tensor<4x6x$e>\n}\n",
               &families[i]);
        same(str_cstr(&s), 2, shapes, off);
        str_free(&s);
    }
}

static void elementwise_ops_give_the_same(void **state) {
    static const char *const exact[] = {"abs",  "ceil", "floor", "negate", "round_nearest_afz", "round_nearest_even",
                                        "sign", "sqrt"},
                             *const near[] = {"cbrt",     "cosine", "exponential", "exponential_minus_one",
                                              "logistic", "sine",   "tanh",        "tan",
                                              "rsqrt",    "log",    "log_plus_one"},
                             *const pairs[] = {"add",    "subtract",  "multiply", "maximum", "minimum",
                                               "divide", "remainder", "atan2",    "power"};
    (void)state;
    char body[200];
    for (size_t i = 0; i < BASE_COUNT(exact); i++) {
        snprintf(body, sizeof body, "%%r = stablehlo.%s %%x : (tensor<4x6x$a>) -> tensor<4x6x$c>", exact[i]);
        check_body(body, 0);
    }
    for (size_t i = 0; i < BASE_COUNT(near); i++) {
        snprintf(body, sizeof body, "%%r = stablehlo.%s %%x : (tensor<4x6x$a>) -> tensor<4x6x$c>", near[i]);
        check_body(body, 1);
    }
    for (size_t i = 0; i < BASE_COUNT(pairs); i++) {
        snprintf(body, sizeof body, "%%r = stablehlo.%s %%x, %%y : (tensor<4x6x$a>, tensor<4x6x$b>) -> tensor<4x6x$c>",
                 pairs[i]);
        check_body(body, i < 7 ? 0 : 1);
    }
}

static void choices_and_moves_give_the_same(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "%r = stablehlo.uniform_quantize %x : (tensor<4x6x$a>) -> tensor<4x6x$c>",
        "%p = stablehlo.compare LT, %x, %y : (tensor<4x6x$a>, tensor<4x6x$b>) -> tensor<4x6xi1>\n"
        "%r = \"stablehlo.select\"(%p, %x, %y) : (tensor<4x6xi1>, tensor<4x6x$a>, tensor<4x6x$b>) -> tensor<4x6x$c>",
        "%l = stablehlo.constant dense<1> : tensor<$a>\n%h = stablehlo.constant dense<3> : tensor<$a>\n"
        "%r = \"stablehlo.clamp\"(%l, %y, %h) : (tensor<$a>, tensor<4x6x$b>, tensor<$a>) -> tensor<4x6x$c>",
        "%r = stablehlo.iota dim = 1 : tensor<4x6x$c>",
        "%f = stablehlo.is_finite %x : (tensor<4x6x$a>) -> tensor<4x6xi1>\n"
        "%g = stablehlo.convert %f : (tensor<4x6xi1>) -> tensor<4x6x$e>\n"
        "%r = stablehlo.uniform_quantize %g : (tensor<4x6x$e>) -> tensor<4x6x$c>",
        "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6x$a>) -> tensor<6x4x$a>\n"
        "%1 = stablehlo.reshape %0 : (tensor<6x4x$a>) -> tensor<4x6x$a>\n"
        "%2 = stablehlo.reverse %1, dims = [1] : tensor<4x6x$a>\n"
        "%3 = stablehlo.slice %2 [0:4, 1:5] : (tensor<4x6x$a>) -> tensor<4x4x$a>\n"
        "%z = stablehlo.constant dense<2> : tensor<$a>\n"
        "%4 = stablehlo.pad %3, %z, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<4x4x$a>, tensor<$a>) -> "
        "tensor<4x6x$a>\n"
        "%5 = stablehlo.concatenate %4, %4, dim = 0 : (tensor<4x6x$a>, tensor<4x6x$a>) -> tensor<8x6x$a>\n"
        "%6 = stablehlo.constant dense<[1, 6, 3, 0]> : tensor<4xi32>\n"
        "%7 = \"stablehlo.gather\"(%5, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : "
        "(tensor<8x6x$a>, tensor<4xi32>) -> tensor<4x6x$a>\n"
        "%8 = stablehlo.optimization_barrier %7 : tensor<4x6x$a>\n"
        "%r = stablehlo.uniform_quantize %8 : (tensor<4x6x$a>) -> tensor<4x6x$c>",
        "%0 = \"stablehlo.sort\"(%x) <{dimension = 1 : i64}> ({\n^bb0(%p: tensor<$a>, %q: tensor<$a>):\n"
        "%s = stablehlo.compare LT, %p, %q : (tensor<$a>, tensor<$a>) -> tensor<i1>\n"
        "stablehlo.return %s : tensor<i1>\n}) : (tensor<4x6x$a>) -> tensor<4x6x$a>\n"
        "%r = stablehlo.uniform_quantize %0 : (tensor<4x6x$a>) -> tensor<4x6x$c>",
        "%z = stablehlo.constant dense<1> : tensor<$a>\n"
        "%0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<4x6x$a>, "
        "tensor<$a>) -> tensor<6x$a>\n"
        "%1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<6x$a>) -> tensor<4x6x$a>\n"
        "%r = stablehlo.uniform_quantize %1 : (tensor<4x6x$a>) -> tensor<4x6x$c>",
        "%z = stablehlo.constant dense<0> : tensor<$a>\n"
        "%0 = \"stablehlo.reduce_window\"(%x, %z) <{window_dimensions = array<i64: 1, 3>, padding = dense<[[0, 0], [1, "
        "1]]> : tensor<2x2xi64>}> ({\n^bb0(%p: tensor<$a>, %q: tensor<$a>):\n"
        "%s = stablehlo.maximum %p, %q : tensor<$a>\nstablehlo.return %s : tensor<$a>\n}) : (tensor<4x6x$a>, "
        "tensor<$a>) -> tensor<4x6x$a>\n"
        "%r = stablehlo.uniform_quantize %0 : (tensor<4x6x$a>) -> tensor<4x6x$c>",
        "%i = stablehlo.constant dense<[[1], [3], [1]]> : tensor<3x1xi32>\n"
        "%u = stablehlo.slice %x [0:3, 0:6] : (tensor<4x6x$a>) -> tensor<3x6x$a>\n"
        "%0 = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = "
        "[1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
        "^bb0(%p: tensor<$a>, %q: tensor<$a>):\n%s = stablehlo.add %p, %q : tensor<$a>\n"
        "stablehlo.return %s : tensor<$a>\n}) : (tensor<4x6x$a>, tensor<3x1xi32>, tensor<3x6x$a>) -> tensor<4x6x$a>\n"
        "%r = stablehlo.uniform_quantize %0 : (tensor<4x6x$a>) -> tensor<4x6x$c>",
        "%i = stablehlo.constant dense<0> : tensor<i32>\n%n = stablehlo.constant dense<3> : tensor<i32>\n"
        "%one = stablehlo.constant dense<1> : tensor<i32>\n"
        "%0:2 = stablehlo.while(%k = %i, %v = %x) : tensor<i32>, tensor<4x6x$a>\n cond {\n"
        "%p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %p : tensor<i1>\n} do {\n"
        "%q = stablehlo.add %v, %y : (tensor<4x6x$a>, tensor<4x6x$b>) -> tensor<4x6x$a>\n"
        "%j = stablehlo.add %k, %one : tensor<i32>\n stablehlo.return %j, %q : tensor<i32>, tensor<4x6x$a>\n}\n"
        "%r = stablehlo.uniform_quantize %0#1 : (tensor<4x6x$a>) -> tensor<4x6x$c>",
    };
    for (size_t i = 0; i < BASE_COUNT(bodies); i++) check_body(bodies[i], 0);
}

static void scales_along_an_axis_give_the_same(void **state) {
    (void)state;
#define Q6 "!quant.uniform<i8:f32:1, {0.01, 0.02:3, 0.03:-4, 0.04, 0.05:100, 0.06:-100}>"
#define Q6_FIRST "!quant.uniform<i8:f32:0, {0.01, 0.02:3, 0.03:-4, 0.04, 0.05:100, 0.06:-100}>"
    static const shape shapes[] = {{2, {4, 6}}, {2, {4, 6}}};
    same("func.func @main(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) -> (tensor<4x6xi8>, tensor<6x4xf32>, tensor<4x6xi8>"
         ") {\n"
         "  %x = stablehlo.uniform_quantize %a : (tensor<4x6xf32>) -> tensor<4x6x" Q6 ">\n"
         "  %y = stablehlo.uniform_quantize %b : (tensor<4x6xf32>) -> tensor<4x6x!quant.uniform<i8:f32, 0.02:5>>\n"
         "  %s = stablehlo.add %x, %y : (tensor<4x6x" Q6
         ">, tensor<4x6x!quant.uniform<i8:f32, 0.02:5>>) -> tensor<4x6x" Q6 ">\n"
         "  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6x" Q6 ">) -> tensor<6x4x" Q6_FIRST ">\n"
         "  %u = stablehlo.uniform_dequantize %t : (tensor<6x4x" Q6_FIRST ">) -> tensor<6x4xf32>\n"
         "  %v = stablehlo.uniform_quantize %x : (tensor<4x6x" Q6 ">) -> tensor<4x6x!quant.uniform<i8:f32, 0.02:5>>\n"
         "  %w = stablehlo.bitcast_convert %s : (tensor<4x6x" Q6 ">) -> tensor<4x6xi8>\n"
         "  %z = stablehlo.bitcast_convert %v : (tensor<4x6x!quant.uniform<i8:f32, 0.02:5>>) -> tensor<4x6xi8>\n"
         "  return %w, %u, %z : tensor<4x6xi8>, tensor<6x4xf32>, tensor<4x6xi8>\n}\n",
         2, shapes, 0);
}

/* Sums that no storage type cuts off are the same in any order; the computation may be of a wider type. */
static void sums_give_the_same(void **state) {
    (void)state;
#define WIDE "!quant.uniform<i32:f32, 0.01:7>"
#define NARROW "!quant.uniform<i16:f32, 0.01:7>"
    static const shape shapes[] = {{2, {4, 6}}};
    same("func.func @main(%a: tensor<4x6xf32>) -> (tensor<6xi32>, tensor<6xi32>) {\n"
         "  %l = stablehlo.constant dense<-2.0> : tensor<f32>\n  %h = stablehlo.constant dense<2.0> : tensor<f32>\n"
         "  %c = stablehlo.clamp %l, %a, %h : (tensor<f32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
         "  %x = stablehlo.uniform_quantize %c : (tensor<4x6xf32>) -> tensor<4x6x" WIDE ">\n"
         "  %z = stablehlo.constant dense<9> : tensor<" WIDE ">\n"
         "  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x6x" WIDE
         ">, tensor<" WIDE ">) -> tensor<6x" WIDE ">\n"
         "  %y = stablehlo.uniform_quantize %c : (tensor<4x6xf32>) -> tensor<4x6x" NARROW ">\n"
         "  %w = stablehlo.constant dense<7> : tensor<" NARROW ">\n"
         "  %t = stablehlo.reduce(%y init: %w) across dimensions = [0] : (tensor<4x6x" NARROW ">, tensor<" NARROW
         ">) -> tensor<6x" WIDE ">\n"
         "   reducer(%p: tensor<" WIDE ">, %q: tensor<" WIDE ">) {\n"
         "    %0 = stablehlo.add %p, %q : tensor<" WIDE ">\n    stablehlo.return %0 : tensor<" WIDE ">\n  }\n"
         "  %u = stablehlo.bitcast_convert %s : (tensor<6x" WIDE ">) -> tensor<6xi32>\n"
         "  %v = stablehlo.bitcast_convert %t : (tensor<6x" WIDE ">) -> tensor<6xi32>\n"
         "  return %u, %v : tensor<6xi32>, tensor<6xi32>\n}\n",
         1, shapes, 0);
}

/* --- Products --- */
static void product(const char *op, const char *attrs, const char *x, const char *y, const char *r, const char *qx,
                    const char *qy, const char *qr, const shape *shapes, double off) {
    char xs[64], ys[64];
    str s = STR_INIT;
    bool hybrid = !*qx;
    snprintf(xs, sizeof xs, "tensor<%sxf32>", x);
    snprintf(ys, sizeof ys, "tensor<%sxf32>", y);
    str_printf(&s, "func.func @main(%%a: %s, %%b: %s) -> tensor<%sxf32> {\n", xs, ys, r);
    if (!hybrid) str_printf(&s, "  %%x = stablehlo.uniform_quantize %%a : (%s) -> tensor<%sx%s>\n", xs, x, qx);
    str_printf(&s, "  %%y = stablehlo.uniform_quantize %%b : (%s) -> tensor<%sx%s>\n", ys, y, qy);
    str_printf(&s, "  %%r = \"stablehlo.%s\"(%s, %%y) <{%s}> : (tensor<%sx%s>, tensor<%sx%s>) -> tensor<%sx%s>\n", op,
               hybrid ? "%a" : "%x", attrs, x, hybrid ? "f32" : qx, y, qy, r, hybrid ? "f32" : qr);
    if (!hybrid)
        str_printf(&s, "  %%s = stablehlo.uniform_dequantize %%r : (tensor<%sx%s>) -> tensor<%sxf32>\n", r, qr, r);
    str_printf(&s, "  return %s : tensor<%sxf32>\n}\n", hybrid ? "%r" : "%s", r);
    same(str_cstr(&s), 2, shapes, off);
    str_free(&s);
}

#define DOTS(lb, rb, lc, rc)                                                                                    \
    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [" lb "], rhs_batching_dimensions = [" rb \
    "], lhs_contracting_dimensions = [" lc "], rhs_contracting_dimensions = [" rc "]>"
#define STEP 0.001
#define SUMS "!quant.uniform<i32:f32, 0.001:3>"

/* The interpreter sums floats, the compiler integers: the results are a step apart at most. */
static void products_give_nearly_the_same(void **state) {
    (void)state;
    static const char *const lhs[] = {"!quant.uniform<i8:f32, 0.02:-5>", "!quant.uniform<i8:f32, 0.02>",
                                      "!quant.uniform<i4:f32, 0.3:2>", "!quant.uniform<u8:f32, 0.02:128>",
                                      "!quant.uniform<i16:f32, 0.001:9>"},
                             *const rhs[] = {"!quant.uniform<i8:f32, 0.01>", "!quant.uniform<i8<-127:127>:f32, 0.01>",
                                             "!quant.uniform<i4:f32, 0.2>", "!quant.uniform<u8:f32, 0.01>",
                                             "!quant.uniform<i16:f32, 0.001>"};
    static const shape plain[] = {{2, {5, 7}}, {2, {7, 3}}}, batched[] = {{3, {5, 2, 7}}, {3, {7, 3, 2}}},
                       image[] = {{3, {2, 8, 3}}, {3, {3, 3, 4}}}, grouped[] = {{3, {2, 8, 4}}, {3, {3, 2, 6}}};
    for (size_t i = 0; i < BASE_COUNT(lhs); i++) {
        product("dot_general", DOTS("", "", "1", "0"), "5x7", "7x3", "5x3", lhs[i], rhs[i], SUMS, plain, 1.5 * STEP);
        product("dot_general", DOTS("1", "2", "2", "0"), "5x2x7", "7x3x2", "2x5x3", lhs[i], rhs[i], SUMS, batched,
                1.5 * STEP);
    }
    product("dot_general", DOTS("", "", "1", "0"), "5x7", "7x3", "5x3", lhs[0],
            "!quant.uniform<i8:f32:1, {0.01, 0.02, 0.03}>", SUMS, plain, 1.5 * STEP);
    product("dot_general", DOTS("1", "2", "2", "0"), "5x2x7", "7x3x2", "2x5x3", lhs[0],
            "!quant.uniform<i8:f32:2, {0.01, 0.02}>", "!quant.uniform<i32:f32:0, {0.001, 0.001:2}>", batched,
            1.5 * STEP);
    product("dot_general", DOTS("", "", "1", "0"), "5x7", "7x3", "5x3", "",
            "!quant.uniform<i8:f32:1, {0.01, 0.02, 0.03}>", "", plain, 2e3); /* an operand of 1e9 */
#define CONV(pad, more)                                                                                            \
    "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, padding = " \
    "dense<[[" pad "]]> : tensor<1x2xi64>" more
    static const char *const kernels[] = {"!quant.uniform<i8:f32, 0.01>", "!quant.uniform<i8:f32, 0.01:9>",
                                          "!quant.uniform<i8:f32:2, {0.01, 0.02, 0.03:4, 0.04}>"};
    for (size_t i = 0; i < BASE_COUNT(kernels); i++) {
        product("convolution", CONV("1, 1", ", feature_group_count = 1 : i64"), "2x8x3", "3x3x4", "2x8x4", lhs[0],
                kernels[i], SUMS, image, 1.5 * STEP);
        product("convolution", CONV("2, 0", ", feature_group_count = 1 : i64, lhs_dilation = array<i64: 2>"), "2x8x3",
                "3x3x4", "2x15x4", lhs[0], kernels[i], SUMS, image, 1.5 * STEP);
        product("convolution", CONV("1, 1", ", feature_group_count = 1 : i64"), "2x8x3", "3x3x4", "2x8x4", "",
                kernels[i], "", image, 2e3);
    }
    product("convolution", CONV("1, 1", ", feature_group_count = 2 : i64"), "2x8x4", "3x2x6", "2x8x6", lhs[0],
            kernels[0], SUMS, grouped, 1.5 * STEP);
}

/* Arguments and results of quantized types are their integers outside; dims may be known only then. */
static void integers_go_in_and_out(void **state) {
    (void)state;
    static const char text[] =
        "!q = !quant.uniform<i8:f32, 0.5:2>\n"
        "func.func @main(%a: tensor<?x!q>, %b: tensor<?x!q>) -> (tensor<?x!q>, tensor<?xi1>, tensor<?x!q>) {\n"
        "  %0 = stablehlo.multiply %a, %b : tensor<?x!q>\n"
        "  %1 = stablehlo.compare GT, %a, %b : (tensor<?x!q>, tensor<?x!q>) -> tensor<?xi1>\n"
        "  %2 = stablehlo.concatenate %a, %0, dim = 0 : (tensor<?x!q>, tensor<?x!q>) -> tensor<?x!q>\n"
        "  return %0, %1, %2 : tensor<?x!q>, tensor<?xi1>, tensor<?x!q>\n}\n";
    int8_t a[] = {4, 2, -128}, b[] = {5, 7, 127};
    xt_array in[2] = {{.dtype = XT_I8, .rank = 1, .dims = {3}, .data = a, .bytes = 3},
                      {.dtype = XT_I8, .rank = 1, .dims = {3}, .data = b, .bytes = 3}},
             out[3];
    for (int i = 0; i < 2; i++) {
        xt_program *p = NULL;
        expect_ok(xt_program_parse(text, strlen(text), "q.mlir", &p), "parse");
        expect_ok(xt_program_run(p, i ? "CPU" : "interpreter", in, 2, out, 3), "run");
        assert_int_equal(out[2].dims[0], 6);
        const int8_t *r = out[0].data, *joined = out[2].data;
        assert_int_equal(r[0], 5); /* 1 * 1.5 / 0.5 + 2 */
        assert_int_equal(r[1], 2);
        assert_int_equal(r[2], -128); /* -65 * 62.5, cut off */
        assert_int_equal(((const uint8_t *)out[1].data)[0], 0);
        assert_int_equal(joined[0], 4);
        assert_int_equal(joined[5], -128);
        for (int k = 0; k < 3; k++) xt_array_free(&out[k]);
        xt_program_free(p);
    }
}

/* --- Text and bytecode --- */
static char *printed(const ir_module *m) {
    str s = STR_INIT;
    expect_ok(ir_print(m, 0, &s), "printing");
    return s.data;
}

static void types_come_back(void **state) {
    (void)state;
    static const char text[] =
        "!q = !quant.uniform<u8<1:200>:bf16, 0.5:7>\n"
        "func.func @main(%a: tensor<2x!q>, %b: tensor<?x3x!quant.uniform<i4:f64:1, {0.1:-3, 0.2, 1.0e-300}>>, "
        "%c: tensor<!quant.uniform<ui32:f32, 3.0>>, %d: tuple<tensor<2x!quant.uniform<i16:f16, 0.25:-5>>>) -> "
        "tensor<2x!quant.uniform<u8<1:200>:bf16, 0.5:7>> {\n"
        "  %0 = stablehlo.constant dense<[3, 199]> : tensor<2x!q>\n"
        "  %1 = stablehlo.add %0, %a : tensor<2x!quant.uniform<u8<1:200>:bf16, 0.5:7>>\n"
        "  return %1 : tensor<2x!q>\n}\n";
    ir_module *m = NULL, *again = NULL, *binary = NULL;
    str bytes = STR_INIT;
    expect_ok(ir_parse(text, strlen(text), "types", &m), "types");
    expect_ok(ir_verify(m), "types");
    char *once = printed(m);
    assert_non_null(strstr(once, "!quant.uniform<u8<1:200>:bf16, 5.000000e-01:7>"));
    assert_non_null(strstr(once, "tensor<?x3x!quant.uniform<i4:f64:1, {1.000000e-01:-3,2.000000e-01,1.000000e-300}>>"));
    assert_non_null(strstr(once, "tensor<!quant.uniform<u32:f32, 3.000000e+00>>"));
    expect_ok(ir_parse(once, strlen(once), "again", &again), once);
    char *twice = printed(again);
    assert_string_equal(once, twice);
    expect_ok(bytecode_write(m, &(bytecode_opts){0}, &bytes), "bytecode");
    expect_ok(bytecode_read(bytes.data, bytes.len, "bytecode", &binary), "bytecode");
    char *back = printed(binary);
    assert_string_equal(once, back);
    for (size_t n = 0; n < bytes.len; n++) { /* cut anywhere: an error, nothing else */
        ir_module *cut = NULL;
        xt_status s = bytecode_read(bytes.data, n, "cut", &cut);
        if (!s) ir_module_free(cut);
        xt_status_free(s);
    }
    base_free(once), base_free(twice), base_free(back);
    str_free(&bytes);
    ir_module_free(m), ir_module_free(again), ir_module_free(binary);
}

static void what_is_no_type_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *type, *message;
    } bad[] = {
        {"2x!quant.uniform<i64:f32, 0.5>", "quantized_element_c1"},
        {"2x!quant.uniform<i1:f32, 0.5>", "quantized_element_c1"},
        {"2x!quant.uniform<f32:f32, 0.5>", "quantized_element_c1"},
        {"2x!quant.uniform<i8<-129:5>:f32, 0.5>", "quantized_element_c3"},
        {"2x!quant.uniform<i8<0:128>:f32, 0.5>", "quantized_element_c3"},
        {"2x!quant.uniform<u8<-1:5>:f32, 0.5>", "quantized_element_c3"},
        {"2x!quant.uniform<i8<5:5>:f32, 0.5:5>", "quantized_element_c3"},
        {"2x!quant.uniform<i8:i32, 0.5>", "quantized_element_c4"},
        {"2x!quant.uniform<i8:f8E5M2, 0.5>", "quantized_element_c4"},
        {"2x!quant.uniform<i8:f16, 105504.0>", "quantized_element_c4"},
        {"2x!quant.uniform<i8:f16, 4.960464e-08>", "quantized_element_c4"},
        {"2x!quant.uniform<i8:f32, 0.0>", "quantized_element_c5"},
        {"2x!quant.uniform<i8:f32, -0.5>", "quantized_element_c5"},
        {"2x!quant.uniform<i8:f32, 0x7FC00000>", "quantized_element_c6"},
        {"2x!quant.uniform<i8:f32, 0x7F800000>", "quantized_element_c6"},
        {"2x!quant.uniform<i8:f32, 1.0e999>", "quantized_element_c6"},
        {"2x!quant.uniform<i8:f32, 0.5:128>", "quantized_element_c7"},
        {"2x!quant.uniform<i8<-5:5>:f32, 0.5:6>", "quantized_element_c7"},
        {"2x!quant.uniform<i8:f32, {0.5, 0.25}>", "quantized_element_c10"},
        {"2x!quant.uniform<i8:f32:-1, {0.5, 0.25}>", "quantized_element_c11"},
        {"2x!quant.uniform<i8:f32:1, {0.5, 0.25}>", "quantized_tensor_c12"},
        {"!quant.uniform<i8:f32:0, {0.5}>", "quantized_tensor_c12"},
        {"3x!quant.uniform<i8:f32:0, {0.5, 0.25}>", "quantized_tensor_c13"},
        {"2x!quant.uniform<i8:f32:0, {}>", "expected a scale"},
        {"2x!quant.uniform<i8:f32:0, 0.5>", "expected '{'"},
        {"2x!quant.uniform<i8:f32:99999999999999999999, {0.5}>", "does not fit in 64 bits"},
        {"2x!quant.uniform<i8:f32, 0.5", "expected '>'"},
        {"2x!quant.any<i8>", "expected an element type"},
    };
    for (size_t i = 0; i < BASE_COUNT(bad); i++) {
        str s = STR_INIT;
        ir_module *m = NULL;
        str_printf(&s, "func.func @main(%%a: tensor<%s>) {\n  return\n}\n", bad[i].type);
        xt_status st = ir_parse(str_cstr(&s), s.len, "bad", &m);
        if (!st || !strstr(xt_status_message(st), bad[i].message))
            fail_msg("%s: %s, expected %s", bad[i].type, st ? xt_status_message(st) : "no error", bad[i].message);
        xt_status_free(st);
        str_free(&s);
    }
}

/* --- The pass --- */
static void nothing_is_left_for_devices(void **state) {
    (void)state;
    static const char text[] =
        "func.func private @half(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>> "
        "{\n"
        "  %0 = stablehlo.multiply %x, %x : tensor<4x!quant.uniform<i8:f32, 0.5>>\n"
        "  return %0 : tensor<4x!quant.uniform<i8:f32, 0.5>>\n}\n"
        "func.func public @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>> {\n"
        "  %0 = call @half(%x) : (tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>>\n"
        "  return %0 : tensor<4x!quant.uniform<i8:f32, 0.5>>\n}\n";
    ir_module *m = NULL;
    expect_ok(ir_parse(text, strlen(text), "pass", &m), "pass");
    assert_true(pass_has_quantized(m));
    pass_ctx c = PASS_CTX_INIT;
    c.verify = true;
    expect_ok(pass_run(&c, pass_find("lower_quant"), m), "pass");
    assert_true(c.changed);
    assert_false(pass_has_quantized(m));
    char *after = printed(m);
    assert_null(strstr(after, "quant"));
    assert_non_null(strstr(after, "tensor<4xi8>"));
    expect_ok(pass_run(&c, pass_find("lower_quant"), m), "pass");
    assert_false(c.changed);
    base_free(after);
    ir_module_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_come_back),
        cmocka_unit_test(what_is_no_type_is_refused),
        cmocka_unit_test(nothing_is_left_for_devices),
        cmocka_unit_test(elementwise_ops_give_the_same),
        cmocka_unit_test(choices_and_moves_give_the_same),
        cmocka_unit_test(scales_along_an_axis_give_the_same),
        cmocka_unit_test(sums_give_the_same),
        cmocka_unit_test(integers_go_in_and_out),
        cmocka_unit_test(products_give_nearly_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
