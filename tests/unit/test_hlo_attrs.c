/* Attributes of HLO's instructions, a row each: the fields as xla/service/hlo.proto numbers them, and how the op that
 * is read prints, or what is said of fields that are wrong. */
#include "hlo_made.h"

#include <stdlib.h>

enum { PRED = 1, S32 = 4, U32 = 8, U64 = 9, F64 = 12 };

typedef struct array_shape {
    int type;
    size_t rank;
    int64_t dims[4];
} array_shape;
typedef enum body { NO_BODY, SUM, LESS, AT_LEAST } body; /* what field 38 calls as computation 2, of two scalars */

typedef struct row {
    const char *op;
    size_t n, outs;
    array_shape in[5], out[2];
    const char *fields; /* 20=[1,2] packed, 26=7, 24=~0.5 a float's bits, 28='text', 30{...} a message */
    body body;
    const char *says[3];
} row;

/* Appends the fields of the text to a message; gives where it stopped: its end, or a closing brace. */
static const char *fields(const char *p, str *out) {
    while (*p && *p != '}') {
        char *end;
        uint32_t number = (uint32_t)strtoul(p, &end, 10);
        assert_true(end != p);
        p = end;
        if (*p == '{') {
            str inner = STR_INIT;
            p = fields(p + 1, &inner);
            assert_true(*p++ == '}');
            proto_message(out, number, &inner);
            str_free(&inner);
        } else if (strncmp(p, "=[", 2) == 0) {
            int64_t v[8];
            size_t n = 0;
            for (p += 2; *p != ']'; p += *p == ',') v[n++] = strtoll(p, &end, 10), p = end;
            packed(out, number, n, v);
            p++;
        } else if (strncmp(p, "='", 2) == 0) {
            const char *close = strchr(p + 2, '\'');
            proto_bytes(out, number, p + 2, (size_t)(close - p - 2));
            p = close + 1;
        } else if (strncmp(p, "=~", 2) == 0) {
            proto_float(out, number, strtof(p + 2, &end));
            p = end;
        } else {
            proto_int(out, number, strtoll(p + 1, &end, 10));
            p = end;
        }
        while (*p == ' ') p++;
    }
    return p;
}

static str shape_of(const array_shape *s) {
    return shape(s->type, s->rank, s->dims, NULL);
}

/* Of two scalars of the first operand's type. */
static str called_of(const row *r) {
    str insts = STR_INIT, program = STR_INIT, more = STR_INIT, in = shape(r->in[0].type, 0, NULL, NULL),
        out = shape(r->body == SUM ? r->in[0].type : PRED, 0, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        add(&insts, (inst){"parameter", &in, .id = 11 + i, .number = i});
        proto_message(&program, 1, &in);
    }
    if (r->body != SUM) proto_bytes(&more, 63, r->body == LESS ? "LT" : "GE", 2);
    add(&insts, (inst){r->body == SUM ? "add" : "compare", &out, .id = 13, .n = 2, .operands = (int64_t[]){11, 12},
                       .more = &more});
    proto_message(&program, 2, &out);
    str comp = computation(2, &insts, 13, &program);
    str_free(&program);
    str_free(&more);
    str_free(&in);
    str_free(&out);
    return comp;
}

static str text_of_row(const row *r) {
    str ins[5], outs[2], tuple = STR_INIT, insts = STR_INIT, more = STR_INIT, called = STR_INIT;
    const str *params[5];
    int64_t operands[5];
    for (size_t i = 0; i < r->n; i++) {
        ins[i] = shape_of(&r->in[i]);
        params[i] = &ins[i];
        operands[i] = (int64_t)i + 1;
        add(&insts, (inst){"parameter", &ins[i], .id = (int64_t)i + 1, .number = (int64_t)i});
    }
    for (size_t i = 0; i < r->outs; i++) outs[i] = shape_of(&r->out[i]);
    if (r->outs == 2) tuple = pair_of(&outs[0], &outs[1]);
    const str *result = r->outs == 2 ? &tuple : &outs[0];
    assert_true(!*fields(r->fields, &more));
    if (r->body) called = called_of(r);
    add(&insts, (inst){r->op, result, .id = 9, .n = r->n, .operands = operands, .more = &more});
    str text = text_with(r->body ? &called : NULL, &insts, 9, result, r->n, params);
    for (size_t i = 0; i < r->n; i++) str_free(&ins[i]);
    for (size_t i = 0; i < r->outs; i++) str_free(&outs[i]);
    str_free(&tuple);
    str_free(&more);
    str_free(&called);
    return text;
}

#define A(type, ...)                                                \
    {                                                               \
        type, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), { \
            __VA_ARGS__                                             \
        }                                                           \
    }
#define SCALAR(type) \
    {                \
        type, 0, {   \
            0        \
        }            \
    }
#define IN(count, ...) .n = (count), .in = {__VA_ARGS__}
#define OUT(...) .outs = 1, .out = {__VA_ARGS__}
static const row rows[] = {
    {"dot",
     IN(2, A(F32, 5, 2, 3), A(F32, 5, 3, 4)),
     OUT(A(F32, 5, 2, 4)),
     "30{1=[2] 2=[1] 3=[0] 4=[0]} 51{1=[2,1]}",
     NO_BODY,
     {"batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGH] :"}},
    {"convolution",
     IN(2, A(F32, 1, 8, 3), A(F32, 3, 3, 4)),
     OUT(A(F32, 1, 4, 4)),
     "15{1{1=3 2=2 3=1 4=0 5=1 6=1 7=1}} 16{7=0 8=2 11=[1] 3=1 4=2 6=[0] 9=0 10=2 12=[1]} 50=1 58=1",
     NO_BODY,
     {"dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f]",
      "stride = [2], pad = [[1, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [true]"}},
    {"convolution",
     IN(2, A(F32, 2, 3, 4), A(F32, 3, 2, 4)),
     OUT(A(F32, 2, 3, 4)),
     "15{1{1=3 2=1 3=2 4=2 5=2 6=1}} 16{7=0 8=2 11=[1] 3=1 4=2 6=[0] 9=0 10=2 12=[1]} 50=2 51{1=[7,2]}",
     NO_BODY,
     {"stride = [1], pad = [[2, 2]], lhs_dilate = [1], rhs_dilate = [2], reverse = [false]",
      "feature_group_count = 2 : i64", "[#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]"}},
    {"reduce-window",
     IN(2, A(F32, 7), SCALAR(F32)),
     OUT(A(F32, 6)),
     "15{1{1=3 2=2 3=1 4=2 5=2 6=2}} 38=[2]",
     SUM,
     {"base_dilations = array<i64: 2>", "padding = dense<[[1, 2]]>", "window_dilations = array<i64: 2>"}},
    {"select-and-scatter",
     IN(3, A(S32, 4), A(S32, 2), SCALAR(S32)),
     OUT(A(S32, 4)),
     "15{1{1=2 2=2}} 38=[2,2]",
     AT_LEAST,
     {"number 0 is (tensor<i32>, tensor<i32>) -> tensor<i1> (select_and_scatter_c10)"}},
    {"gather",
     IN(2, A(F32, 4, 5), A(S32, 3, 1)),
     OUT(A(F32, 3, 5)),
     "33{1=[1] 2=[0] 3=[0] 4=1} 34=[1,5] 67=1",
     NO_BODY,
     {"#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>",
      "indices_are_sorted = true, slice_sizes = array<i64: 1, 5>"}},
    {"gather",
     IN(2, A(F32, 2, 4, 5), A(S32, 2, 3, 1)),
     OUT(A(F32, 2, 3, 5)),
     "33{1=[2] 2=[1] 3=[1] 4=2 5=[0] 6=[0]} 34=[1,1,5]",
     NO_BODY,
     {"operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2",
      "indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 5>"}},
    {"scatter",
     IN(3, A(F32, 4, 5), A(S32, 3, 1), A(F32, 3, 5)),
     OUT(A(F32, 4, 5)),
     "48{1=[1] 2=[0] 3=[0] 4=1} 67=1 69=1 38=[2]",
     SUM,
     {"update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
      "indices_are_sorted = true", "unique_indices = true"}},
    {"slice",
     IN(1, A(F32, 8, 6)),
     OUT(A(F32, 3, 6)),
     "17{1=1 2=7 3=2} 17{2=6}",
     NO_BODY,
     {"stablehlo.slice %arg0 [1:7:2, 0:6] :"}},
    {"pad",
     IN(2, A(F32, 3, 2), SCALAR(F32)),
     OUT(A(F32, 8, 1)),
     "21{1{1=1 2=2 3=1} 1{2=-1}}",
     NO_BODY,
     {"low = [1, 0], high = [2, -1], interior = [1, 0] :"}},
    {"dynamic-slice",
     IN(3, A(F32, 4, 5), SCALAR(S32), SCALAR(S32)),
     OUT(A(F32, 2, 3)),
     "20=[2,3]",
     NO_BODY,
     {"sizes = [2, 3] :"}},
    {"sort",
     IN(1, A(F32, 4, 5)),
     OUT(A(F32, 4, 5)),
     "14=[1] 60=1 38=[2]",
     LESS,
     {"<{dimension = 1 : i64, is_stable = true}>", "compare LT"}},
    {"batch-norm-inference",
     IN(5, A(F32, 4, 3), A(F32, 3), A(F32, 3), A(F32, 3), A(F32, 3)),
     OUT(A(F32, 4, 3)),
     "24=~0.5 25=1",
     NO_BODY,
     {"<{epsilon = 5.000000e-01 : f32, feature_index = 1 : i64}>"}},
    {"reduce-precision", IN(1, A(F32, 3)), OUT(A(F32, 3)), "18=5 19=10", NO_BODY, {"format = e5m10"}},
    {"compare",
     IN(2, A(F32, 3), A(F32, 3)),
     OUT(A(PRED, 3)),
     "63='LE' 72='TOTALORDER'",
     NO_BODY,
     {"compare LE, %arg0, %arg1, TOTALORDER :"}},
    {"compare", IN(2, A(S32, 3), A(S32, 3)), OUT(A(PRED, 3)), "63='NE'", NO_BODY, {"compare NE, %arg0, %arg1 :"}},
    {"compare", IN(2, A(S32, 3), A(S32, 3)), OUT(A(PRED, 3)), "63='LS'", NO_BODY, {"'LS' is no comparison_direction"}},
    {"rng",
     IN(2, SCALAR(F32), SCALAR(F32)),
     OUT(A(F32, 3, 2)),
     "23=2",
     NO_BODY,
     {"dense<[3, 2]> : tensor<2xi64>", "distribution = NORMAL :"}},
    {"rng", IN(2, SCALAR(F32), SCALAR(F32)), OUT(A(F32, 3, 2)), "23=9", NO_BODY, {"9 is no rng_distribution"}},
    {"rng", IN(1, SCALAR(F32)), OUT(A(F32, 3, 2)), "23=1", NO_BODY, {"1 operands, expected 2"}},
    {"rng-bit-generator",
     IN(1, A(U64, 2)),
     .outs = 2,
     .out = {A(U64, 2), A(U32, 5)},
     "70=1",
     NO_BODY,
     {"algorithm = THREE_FRY :"}},
    {"fft", IN(1, A(F32, 3, 8)), OUT(A(15, 3, 5)), "31=2 32=[8]", NO_BODY, {"type = RFFT, length = [8] :"}},
    {"cholesky", IN(1, A(F64, 3, 3)), OUT(A(F64, 3, 3)), "62{1=1}", NO_BODY, {"lower = true :"}},
    {"triangular-solve",
     IN(2, A(F32, 3, 3), A(F32, 3, 2)),
     OUT(A(F32, 3, 2)),
     "59{1=1 2=1 3=0 4=2}",
     NO_BODY,
     {"<{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}>"}},
    {"triangular-solve",
     IN(2, A(F32, 3, 3), A(F32, 3, 2)),
     OUT(A(F32, 3, 2)),
     "59{1=1 4=8}",
     NO_BODY,
     {"8 is no transpose_a"}},
    {"all-reduce",
     IN(1, A(F32, 3)),
     OUT(A(F32, 3)),
     "26=4 49{1=[0,2]} 49{1=[1,3]} 71=1 38=[2]",
     SUM,
     {"channel_handle<handle = 4, type = 1>", "dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids"}},
    {"all-reduce",
     IN(1, A(F32, 3)),
     OUT(A(F32, 3)),
     "49{1=[0,2,4]} 49{1=[1,3]} 38=[2]",
     SUM,
     {"replica group 1 has 2 members, the first 3: groups must be of one size"}},
    {"all-reduce",
     IN(1, A(F32, 3)),
     OUT(A(F32, 3)),
     "87{1{1=[0,1]}} 38=[2]",
     SUM,
     {"<{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>"}},
    {"all-gather",
     IN(1, A(F32, 3)),
     OUT(A(F32, 6)),
     "14=[0] 49{1=[0,1]}",
     NO_BODY,
     {"<{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>"}},
    {"collective-permute",
     IN(1, A(F32, 3)),
     OUT(A(F32, 3)),
     "26=2 52{1=0 2=1} 52{1=1 2=0}",
     NO_BODY,
     {"channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]>"}},
    {"custom-call",
     IN(1, A(F32, 3)),
     OUT(A(F32, 3)),
     "28='mine' 65=1 43='how'",
     NO_BODY,
     {"custom_call @mine(%arg0) {backend_config = \"how\", has_side_effect = true} :"}},
    {"custom-call",
     IN(1, A(F32, 4)),
     OUT(A(F32, 4)),
     "28='Sharding' 40{1=3 3=[2] 4=[0,1]}",
     NO_BODY,
     {"has_side_effect = false, mhlo.sharding = \"{devices=[2]0,1}\""}},
    {"transpose", IN(1, A(F32, 3, 4)), OUT(A(F32, 4, 3)), "14=[1,0]", NO_BODY, {"dims = [1, 0] :"}},
    {"concatenate", IN(2, A(F32, 3, 4), A(F32, 3, 1)), OUT(A(F32, 3, 5)), "14=[1]", NO_BODY, {"dim = 1 :"}},
    {"iota", .n = 0, OUT(A(S32, 3, 4)), "14=[1]", NO_BODY, {"iota dim = 1 :"}},
    {"reduce",
     IN(2, A(F32, 3, 4), SCALAR(F32)),
     OUT(A(F32, 3)),
     "14=[1] 38=[2]",
     SUM,
     {"applies stablehlo.add across dimensions = [1] :"}},
    {"map", IN(2, A(F32, 3), A(F32, 3)), OUT(A(F32, 3)), "14=[0] 38=[2]", SUM, {"<{dimensions = array<i64: 0>}>"}},
    {"call",
     IN(2, SCALAR(F32), SCALAR(F32)),
     OUT(SCALAR(F32)),
     "38=[2]",
     SUM,
     {"func.call @computation_2(%arg0, %arg1) :"}},
    {"call",
     IN(2, SCALAR(F32), SCALAR(F32)),
     OUT(SCALAR(F32)),
     "38=[2,2]",
     SUM,
     {"2 computations are called, expected 1"}},
    {"while", IN(1, SCALAR(F32)), OUT(SCALAR(F32)), "38=[2]", SUM, {"1 computations are called, expected 2"}},
    {"conditional",
     IN(2, SCALAR(PRED), SCALAR(F32)),
     OUT(SCALAR(F32)),
     "38=[2,2]",
     SUM,
     {"2 operands for 2 branches and what chooses"}},
};

static void attributes(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str text = text_of_row(&rows[i]);
        for (int k = 0; k < 3 && rows[i].says[k]; k++)
            if (!strstr(str_cstr(&text), rows[i].says[k]))
                fail_msg("row %zu, %s: no '%s' in\n%s", i, rows[i].op, rows[i].says[k], str_cstr(&text));
        str_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(attributes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
