/* Shardy's dialect: shardings over named axes as texts; manual computations run on four devices by the interpreter's
 * grid of processes, written in the pretty and in the generic form; what is wrong in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/interp.h"
#include "ir/sdy.h"
#include "ir/sharding.h"
#include "pass/pass.h"

static void ok(xt_status s, const char *text) {
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
}

static ir_module *parsed(const char *text) {
    ir_module *m = NULL;
    ok(ir_parse(text, strlen(text), "test", &m), text);
    ok(ir_verify(m), text);
    return m;
}

/* --- texts --- */
#define MESHES                                                            \
    "sdy.mesh @m = <[\"x\"=2, \"y\"=4]> {stablehlo.mesh = {axes = []}}\n" \
    "sdy.mesh @turned = <[\"x\"=2, \"y\"=2], device_ids=[0, 2, 1, 3]>\n"  \
    "sdy.mesh @one = <[], device_ids=[3]>\nfunc.func public @main() { return }"

static void texts(void **state) {
    (void)state;
    static const struct {
        const char *sharding, *only, *text;
        bool even;
    } rows[] = {
        {"#sdy.sharding<@m, [{\"x\"}, {}]>", NULL, "{devices=[2,1,4]<=[8] last_tile_dim_replicate}", false},
        {"<@m, [{\"x\"}, {\"y\"}]>", NULL, "{devices=[2,4]<=[8]}", false},
        {"<@m, [{\"y\"}, {\"x\"}]>", NULL, "{devices=[4,2]<=[2,4]T(1,0)}", false},
        {"<@m, [{\"y\", \"x\"}p1, {?}]>", NULL, "{devices=[8,1]<=[2,4]T(1,0)}", false},
        {"<@m, [{\"y\":(1)2}, {\"x\", ?}], replicated={\"y\":(2)2}>", NULL,
         "{devices=[2,2,2]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}", false},
        {"<@m, [{\"y\":(2)2}, {}]>", NULL, "{devices=[2,1,4]<=[2,2,2]T(2,0,1) last_tile_dim_replicate}", false},
        {"<@m, [{}, {}]>", NULL, "{replicated}", false},
        {"<@m, [{\"x\"}, {\"y\"}]>", "#sdy<manual_axes{\"y\"}>",
         "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", false},
        /* 12 rows: no 8 parts */
        {"<@m, [{\"x\", \"y\"}, {}]>", NULL, "{devices=[2,1,4]<=[8] last_tile_dim_replicate}", true},
        {"<@turned, [{\"x\"}, {\"y\"}]>", NULL, "{devices=[2,2]0,2,1,3}", false},
        {"<@turned, [{\"y\"}, {}]>", NULL, "{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}", false},
        {"<mesh<[\"a\"=4]>, [{}, {\"a\"}]>", NULL, "{devices=[1,4]<=[4]}", false},
        {"<@m, [{\"x\"}, {}], unreduced={\"y\":(1)2}>", NULL,
         "{devices=[2,1,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={replicated, unreduced}}", false},
        {"<@m, [{\"y\"}, {}], unreduced={\"x\"}>", NULL, "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={unreduced}}",
         false},
        {"<@one, [{}, {}]>", NULL, "{replicated}", false},
    };
    ir_module *m = parsed(MESHES);
    const ir_type *t = ir_tensor(XT_F32, 2, (const int64_t[]){12, 8});
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str s = STR_INIT;
        sdy_form form;
        ok(ir_sdy_text(m, rows[i].sharding, t, &(sdy_wish){.only = rows[i].only, .even = rows[i].even}, &form, &s),
           rows[i].sharding);
        assert_string_equal(str_cstr(&s), rows[i].text);
        str_free(&s);
    }
    static const char *const wrong[] = {"<@m, [{\"z\"}, {}]>",
                                        "<@n, [{}, {}]>",
                                        "<@m, [{\"x\"}]>",
                                        "<@m, [{\"x\"}, {\"x\"}]>",
                                        "<@m, [{\"y\":(3)2}, {}]>",
                                        "<@m",
                                        "",
                                        "<@m, [{\"x\"},"};
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) {
        str s = STR_INIT;
        sdy_form form;
        xt_status st = ir_sdy_text(m, wrong[i], t, &(sdy_wish){0}, &form, &s);
        if (!st) fail_msg("'%s' was read as %s", wrong[i], str_cstr(&s));
        xt_status_free(st);
        str_free(&s);
    }
    ir_module_free(m);
}

static void groups(void **state) {
    (void)state;
    ir_module *m = parsed(MESHES);
    int64_t n, members, *ids;
    ok(ir_sdy_groups(m, "@m", "[\"x\"]", &n, &members, &ids), "x");
    assert_int_equal(n, 4);
    assert_int_equal(members, 2);
    assert_memory_equal(ids, ((const int64_t[]){0, 4, 1, 5, 2, 6, 3, 7}), 8 * sizeof *ids);
    base_free(ids);
    ok(ir_sdy_groups(m, "#sdy.mesh<[\"x\"=2, \"y\"=4]>", "[\"y\":(2)2, \"x\"]", &n, &members, &ids), "yx");
    assert_int_equal(members, 4);
    assert_memory_equal(ids, ((const int64_t[]){0, 4, 1, 5, 2, 6, 3, 7}), 8 * sizeof *ids);
    base_free(ids);
    xt_status st = ir_sdy_groups(m, "@m", "[\"z\"]", &n, &members, &ids);
    assert_non_null(st);
    xt_status_free(st);
    ir_module_free(m);
}

/* --- programs --- */
#define PROGRAM(body)                         \
    "sdy.mesh @mesh = <[\"a\"=2, \"b\"=2]>\n" \
    "func.func public @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {\n" body "\n}\n"
#define MANUAL(in, out, axes, arg, local, ops)                                                   \
    "sdy.manual_computation(" arg ") in_shardings=[<@mesh, " in ">] out_shardings=[<@mesh, " out \
    ">] manual_axes={" axes "} (%p: " local ") {\n" ops "\n}"
#define SWAP                                                                                                    \
    "\"stablehlo.collective_permute\"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, " \
    "source_target_pairs = dense<[[0, 2], [2, 0], [1, 3], [3, 1]]> : tensor<4x2xi64>}> : "

static const struct {
    const char *text;
    float want[8]; /* of 0, 1, ..., 7 */
} programs[] = {
    {PROGRAM("%0 = sdy.sharding_constraint %x <@mesh, [{\"a\"}, {\"b\"}]> : tensor<4x2xf32>\n"
             "%1 = stablehlo.add %0, %0 : tensor<4x2xf32>\n"
             "return %1 : tensor<4x2xf32>"),
     {0, 2, 4, 6, 8, 10, 12, 14}},
    /* rows 2, 3 before rows 0, 1 */
    {PROGRAM("%0 = " MANUAL("[{\"a\"}, {\"b\"}]", "[{\"a\"}, {\"b\"}]", "\"a\", \"b\"", "%x", "tensor<2x1xf32>",
                            "%q = " SWAP "(tensor<2x1xf32>) -> tensor<2x1xf32>\n"
                            "sdy.return %q : tensor<2x1xf32>") " : (tensor<4x2xf32>) -> tensor<4x2xf32>\n"
                                                               "return %0 : tensor<4x2xf32>"),
     {4, 5, 6, 7, 0, 1, 2, 3}},
    /* b is left to the compiler */
    {PROGRAM("%0 = " MANUAL(
         "[{\"a\", ?}, {\"b\", ?}]", "[{\"a\", ?}, {?}]", "\"a\"", "%x", "tensor<2x2xf32>",
         "%r = sdy.sharding_constraint %p <@mesh, [{}, {\"b\"}]> : tensor<2x2xf32>\n"
         "%q = stablehlo.negate %r : tensor<2x2xf32>\n"
         "sdy.return %q : tensor<2x2xf32>") " : (tensor<4x2xf32>) -> tensor<4x2xf32>\nreturn %0 : tensor<4x2xf32>"),
     {-0.f, -1, -2, -3, -4, -5, -6, -7}},
    /* without an operand: each device's number */
    {PROGRAM("%0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{\"a\", \"b\"}, {}]>] "
             "manual_axes={\"a\", \"b\"} () {\n"
             "%i = stablehlo.partition_id : tensor<ui32>\n"
             "%f = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>\n"
             "%q = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<1x2xf32>\n"
             "sdy.return %q : tensor<1x2xf32>\n"
             "}"
             " : () -> tensor<4x2xf32>\nreturn %0 : tensor<4x2xf32>"),
     {0, 0, 1, 1, 2, 2, 3, 3}},
    /* in a branch, and one in another: the partitioner keeps values whole there */
    {PROGRAM("%t = stablehlo.constant dense<true> : tensor<i1>\n"
             "%0 = \"stablehlo.if\"(%t) ({\n"
             "%1 = " MANUAL("[{\"a\"}, {}]", "[{\"a\"}, {}]", "\"a\"", "%x", "tensor<2x2xf32>",
                            "%2 = sdy.manual_computation(%p) in_shardings=[<@mesh, [{\"b\"}, {}]>] "
                            "out_shardings=[<@mesh, [{\"b\"}, {}]>] manual_axes={\"b\"} (%s: tensor<1x2xf32>) {\n"
                            "%i = stablehlo.partition_id : tensor<ui32>\n"
                            "%f = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>\n"
                            "%h = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<1x2xf32>\n"
                            "%k = stablehlo.add %s, %h : tensor<1x2xf32>\n"
                            "sdy.return %k : tensor<1x2xf32>\n"
                            "} : (tensor<2x2xf32>) -> tensor<2x2xf32>\n"
                            "sdy.return %2 : tensor<2x2xf32>") " : (tensor<4x2xf32>) -> tensor<4x2xf32>\n"
                                                               "stablehlo.return %1 : tensor<4x2xf32>\n"
                                                               "}, {\n"
                                                               "stablehlo.return %x : tensor<4x2xf32>\n"
                                                               "}) : (tensor<i1>) -> tensor<4x2xf32>\n"
                                                               "return %0 : tensor<4x2xf32>"),
     {0, 1, 3, 4, 6, 7, 9, 10}},
    {PROGRAM("%0 = sdy.reshard %x <@mesh, [{\"b\"}, {}]> : tensor<4x2xf32>\n"
             "sdy.sharding_group %0 group_id=3 : tensor<4x2xf32>\n"
             "%1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<4x2xf32>\n"
             "return %1 : tensor<4x2xf32>"),
     {0, 1, 2, 3, 4, 5, 6, 7}},
};

/* Every device has the whole argument and gives the whole result. */
static void run_on_four(ir_module *m, const float *want, const char *text) {
    enum { N = 4 };
    pass_ctx c = {.partitions = N, .verify = true};
    ok(pass_optimize(&c, m), text);
    ir_func *part = ir_func_find(m, "main"), *f;
    ir_func_rename(part, "part");
    f = ir_func_new(m, "main", true);
    const ir_type *t = part->body->args[0]->type, *types[N] = {t, t, t, t};
    ir_value *args[N], *results[N];
    ir_attr row[N], rows = {.kind = IR_AK_ARRAY, .n = N, .v.list = row};
    for (size_t k = 0; k < N; k++)
        args[k] = ir_func_arg(f, t), row[k] = (ir_attr){.kind = IR_AK_SYMBOL, .n = 4, .v.s = "part"};
    ir_attr all = {.key = IR_A_programs, .kind = IR_AK_ARRAY, .name = "programs", .n = 1, .v.list = &rows};
    ir_builder b = ir_at_end(m, ir_func_block(f));
    ir_op *op = ir_build(&b, OP_interpreter_run_parallel, N, args, 1, &all, 0, NULL, N, types);
    for (size_t k = 0; op && k < N; k++) results[k] = &op->out[k];
    if (op) ir_return(&b, N, results);
    ok(b.status, text);
    float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    array in[N], out[N];
    for (size_t k = 0; k < N; k++) in[k] = (array){t, data};
    ok(interp_run(m, "main", NULL, N, in, N, out), text);
    for (size_t k = 0; k < N; k++) {
        for (size_t i = 0; i < 8; i++)
            if (((const float *)out[k].data)[i] != want[i])
                fail_msg("device %zu: element %zu is %g, expected %g\n%s", k, i,
                         (double)((const float *)out[k].data)[i], (double)want[i], text);
        array_free(&out[k]);
    }
}

static void run_programs(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(programs); i++)
        for (unsigned flags = 0; flags < 2; flags++) { /* as written, and as printed in the generic form */
            ir_module *m = parsed(programs[i].text), *again;
            str s = STR_INIT;
            ok(ir_print(m, flags ? IR_PRINT_GENERIC : 0, &s), programs[i].text);
            again = parsed(str_cstr(&s));
            run_on_four(again, programs[i].want, str_cstr(&s));
            ir_module_free(again);
            ok(ir_module_clone(m, &again), "clone");
            assert_int_equal(again->n_meshes, m->n_meshes);
            ir_module_free(again);
            ir_module_free(m);
            str_free(&s);
        }
}

/* Values of one group are divided alike: a value that nothing else divides, one whose op could not be divided so, and
 * an argument that comes whole, of which only what is given back may be divided. A group of its own says nothing. */
static void alike(void **state) {
    (void)state;
#define ALIKE(arg, ops)                                                                                        \
    "sdy.mesh @mesh = <[\"a\"=2, \"b\"=2]>\n"                                                                  \
    "func.func public @main(%x: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}, {\"b\"}]>}" arg \
    ") -> tensor<4x2xf32> {\n" ops "return %0 : tensor<4x2xf32>\n}\n"
#define GROUP(v, id) "sdy.sharding_group %" v " group_id=" id " : tensor<4x2xf32>\n"
    static const struct {
        const char *text, *result;
    } rows[] = {
        {ALIKE("", "%i = stablehlo.iota dim = 0 : tensor<8xf32>\n"
                   "%0 = stablehlo.reshape %i : (tensor<8xf32>) -> tensor<4x2xf32>\n" GROUP("x", "0") GROUP("0", "0")),
         "{devices=[2,2]<=[4]}"},
        {ALIKE("", "%i = stablehlo.iota dim = 0 : tensor<8xf32>\n"
                   "%0 = stablehlo.reshape %i : (tensor<8xf32>) -> tensor<4x2xf32>\n" GROUP("x", "0") GROUP("0", "1")),
         "{replicated}"},
        {ALIKE(", %y: tensor<4x2xf32>", GROUP("x", "0") GROUP("y", "0") "%0 = stablehlo.negate %y : tensor<4x2xf32>\n"),
         "{devices=[2,2]<=[4]}"},
        {ALIKE(", %y: tensor<4x2xf32>", GROUP("x", "0") "%0 = stablehlo.negate %y : tensor<4x2xf32>\n"),
         "{replicated}"},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        ir_module *m = parsed(rows[i].text);
        pass_ctx c = {.partitions = 4, .keep_divided = true, .verify = true};
        ok(pass_optimize(&c, m), rows[i].text);
        const ir_func *f = ir_func_find(m, "main");
        assert_string_equal(ir_sharding_text(f->n_result_attrs[0], f->result_attrs[0]), rows[i].result);
        str s = STR_INIT;
        ok(ir_print(m, 0, &s), rows[i].text);
        assert_null(strstr(str_cstr(&s), "sdy.sharding_group"));
        str_free(&s);
        ir_module_free(m);
    }
}

static void wrong_programs(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
        int partitions;
    } rows[] = {
        {PROGRAM("%0 = " MANUAL("[{\"a\"}, {}]", "[{\"a\"}, {}]", "\"a\"", "%x", "tensor<4x2xf32>",
                                "sdy.return %p : tensor<4x2xf32>") " : (tensor<4x2xf32>) -> tensor<4x2xf32>\n"
                                                                   "return %0 : tensor<4x2xf32>"),
         "are not the whole and the part", 4},
        {PROGRAM("%0 = sdy.sharding_constraint %x <@mush, [{}, {}]> : tensor<4x2xf32>\n"
                 "return %0 : tensor<4x2xf32>"),
         "@mush is not in the program", 4},
        {PROGRAM("%0 = sdy.sharding_constraint %x <@mesh, [{\"a\"}, {}]> : tensor<4x2xf32>\n"
                 "return %0 : tensor<4x2xf32>"),
         "over a mesh of 4 devices, the program is compiled for 8", 8},
        {PROGRAM("%0 = sdy.manual_computation(%x) in_shardings=[] out_shardings=[<@mesh, [{}, {}]>] "
                 "manual_axes={\"a\"} (%p: tensor<4x2xf32>) {\n"
                 "sdy.return %p : tensor<4x2xf32>\n"
                 "}"
                 " : (tensor<4x2xf32>) -> tensor<4x2xf32>\nreturn %0 : tensor<4x2xf32>"),
         "operand 0 of a manual computation has no sharding", 4},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        ir_module *m = parsed(rows[i].text);
        pass_ctx c = {.partitions = rows[i].partitions};
        xt_status s = pass_optimize(&c, m);
        if (!s || !strstr(xt_status_message(s), rows[i].words))
            fail_msg("\"%s\" has no \"%s\"", xt_status_message(s), rows[i].words);
        xt_status_free(s);
        ir_module_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(groups),
                                       cmocka_unit_test(run_programs), cmocka_unit_test(alike),
                                       cmocka_unit_test(wrong_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
