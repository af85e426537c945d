/* Shape refinement: programs of dynamic shapes run for given inputs on the interpreter, or say what cannot be known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"

#include <xtrain/program.h>

#define N "tensor<?xf32>"
#define I "tensor<1xi32>"
#define SIZE_OF_A                                                                                  \
    "%d = stablehlo.get_dimension_size %a, dim = 0 : (" N ") -> tensor<i32>\n"                     \
    "%s = stablehlo.reshape %d : (tensor<i32>) -> " I "\n%zero = stablehlo.constant dense<0> : " I \
    "\n%one = stablehlo.constant dense<1> : " I "\n"

/* Bodies over %a = [1, 2, 3, 4] and a scalar %k = 2; the first result's elements, or words of the message. */
static const struct row {
    const char *name, *result, *body;
    int n;
    float want[12];
    const char *message;
} rows[] = {
    {"elementwise", N, "%y = stablehlo.add %a, %a : " N, 4, {2, 4, 6, 8}, NULL},
    {"broadcast",
     N,
     SIZE_OF_A "%c = stablehlo.constant dense<5.0> : tensor<f32>\n"
               "%y = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<f32>, " I ") -> " N,
     4,
     {5, 5, 5, 5},
     NULL},
    {"iota of twice the size",
     N,
     SIZE_OF_A "%t = stablehlo.add %s, %s : " I "\n%y = stablehlo.dynamic_iota %t, dim = 0 : (" I ") -> " N,
     8,
     {0, 1, 2, 3, 4, 5, 6, 7},
     NULL},
    {"reshape",
     "tensor<?x2xf32>",
     SIZE_OF_A "%two = stablehlo.constant dense<2> : " I "\n%h = stablehlo.divide %s, %two : " I
               "\n%t = stablehlo.concatenate %h, %two, dim = 0 : (" I ", " I ") -> tensor<2xi32>\n"
               "%y = stablehlo.dynamic_reshape %a, %t : (" N ", tensor<2xi32>) -> tensor<?x2xf32>",
     4,
     {1, 2, 3, 4},
     NULL},
    {"slice",
     N,
     SIZE_OF_A "%l = stablehlo.subtract %s, %one : " I "\n%y = stablehlo.real_dynamic_slice %a, %one, %l, %one : (" N
               ", " I ", " I ", " I ") -> " N,
     2,
     {2, 3},
     NULL},
    {"pad",
     N,
     SIZE_OF_A "%c = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "%y = stablehlo.dynamic_pad %a, %c, %one, %zero, %one : (" N ", tensor<f32>, " I ", " I ", " I ") -> " N,
     8,
     {0, 1, 0, 2, 0, 3, 0, 4},
     NULL},
    {"a size that is an input",
     N,
     "%s = stablehlo.reshape %k : (tensor<i32>) -> " I "\n%y = stablehlo.dynamic_iota %s, dim = 0 : (" I ") -> " N,
     2,
     {0, 1},
     NULL},
    {"a loop hands the size on",
     N,
     SIZE_OF_A "%i0 = stablehlo.constant dense<0> : tensor<i32>\n"
               "%r:3 = stablehlo.while(%i = %i0, %t = %s, %x = %a) : tensor<i32>, " I ", " N " cond {\n"
               "%c = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "stablehlo.return %c : tensor<i1>\n"
               "} do {\n"
               "%e = stablehlo.constant dense<1> : tensor<i32>\n"
               "%j = stablehlo.add %i, %e : tensor<i32>\n"
               "%q = stablehlo.dynamic_iota %t, dim = 0 : (" I ") -> " N "\n%z = stablehlo.add %x, %q : " N
               "\nstablehlo.return %j, %t, %z : tensor<i32>, " I ", " N "\n}\n%y = stablehlo.negate %r#2 : " N,
     4,
     {-1, -4, -7, -10},
     NULL},
    {"a call", N, "%y = func.call @twice(%a) : (" N ") -> " N, 4, {2, 4, 6, 8}, NULL},
    {"a true assertion",
     N,
     SIZE_OF_A "%p = stablehlo.compare EQ, %d, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "stablehlo.custom_call @shape_assertion(%p) "
               "{error_message = \"never\", has_side_effect = true} : (tensor<i1>) -> ()\n"
               "%y = stablehlo.negate %a : " N,
     4,
     {-1, -2, -3, -4},
     NULL},
    {"a false assertion",
     N,
     SIZE_OF_A "%p = stablehlo.compare LT, %d, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "stablehlo.custom_call @shape_assertion(%p) "
               "{error_message = \"n is too large\", has_side_effect = true} : (tensor<i1>) -> ()\n"
               "%y = stablehlo.negate %a : " N,
     0,
     {0},
     "n is too large"},
    {"a size made of data",
     N,
     "%f = stablehlo.convert %a : (" N
     ") -> tensor<?xi32>\n%s = \"stablehlo.slice\"(%f) {start_indices = array<i64: 0>, limit_indices = array<i64: 1>, "
     "strides = array<i64: 1>} : (tensor<?xi32>) -> " I "\n%y = stablehlo.dynamic_iota %s, dim = 0 : (" I ") -> " N,
     0,
     {0},
     "dynamic_iota depends on more than the inputs' shapes"},
    {"a negative size",
     N,
     SIZE_OF_A "%t = stablehlo.negate %s : " I "\n%y = stablehlo.dynamic_iota %t, dim = 0 : (" I ") -> " N,
     0,
     {0},
     "not valid"},
};

static xt_status run_row(const struct row *r, xt_array *out) {
    str text = STR_INIT;
    float a[] = {1, 2, 3, 4};
    int32_t k = 2;
    xt_array in[] = {{.dtype = XT_F32, .rank = 1, .dims = {4}, .data = a, .bytes = sizeof a},
                     {.dtype = XT_I32, .data = &k, .bytes = sizeof k}};
    xt_program *p = NULL;
    str_printf(&text, "func.func @main(%%a: " N ", %%k: tensor<i32>) -> %s {\n", r->result);
    str_append(&text, r->body);
    str_printf(&text,
               "\nreturn %%y : %s\n}\nfunc.func private @twice(%%a: " N ") -> " N
               " {\n%%y = stablehlo.add %%a, %%a : " N "\nreturn %%y : " N "\n}\n",
               r->result);
    xt_status s = xt_program_parse(str_cstr(&text), text.len, r->name, &p);
    if (!s) s = xt_program_run(p, "interpreter", in, 2, out, 1);
    xt_program_free(p);
    str_free(&text);
    return s;
}

static void programs(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const struct row *r = &rows[i];
        xt_array out = {0};
        xt_status s = run_row(r, &out);
        if (r->message) {
            if (!s || !strstr(xt_status_message(s), r->message))
                fail_msg("%s: %s", r->name, s ? xt_status_message(s) : "it ran");
            xt_status_free(s);
            continue;
        }
        if (s) fail_msg("%s: %s", r->name, xt_status_message(s));
        if (out.bytes != (size_t)r->n * sizeof(float) || memcmp(out.data, r->want, out.bytes) != 0)
            fail_msg("%s: another result", r->name);
        xt_array_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
