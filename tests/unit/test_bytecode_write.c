/* The bytecode writer: what it writes is read back as the same program, for every op of the conformance programs and of
 * the fuzzers' corpora, in the newest version of StableHLO, the usual one and the oldest; what a version does not have
 * is refused by name. Larger programs and other readers: tests/slow/bytecode.sh. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/bytecode.h"
#include "pass/pass.h"

static char *text_of(const ir_module *m) {
    str s = STR_INIT;
    assert_null(ir_print(m, IR_PRINT_GENERIC, &s));
    return s.data;
}

/* True when the version has all that the program needs. */
static bool round_trip(ir_module *m, const char *name, int version, bool may_refuse) {
    str bytes = STR_INIT;
    ir_module *back = NULL;
    char *before = text_of(m);
    xt_status s = bytecode_write(m, &(bytecode_opts){.version = version}, &bytes);
    bool refused = s && may_refuse;
    if (s && !refused) fail_msg("%s: %s", name, xt_status_message(s));
    if (!s) {
        s = bytecode_read(bytes.data, bytes.len, name, &back);
        if (!s) s = ir_verify(back);
        if (s) fail_msg("%s as %d: %s", name, version, xt_status_message(s));
        char *after = text_of(back);
        if (strcmp(before, after)) fail_msg("%s as %d:\n%s\n%s", name, version, before, after);
        base_free(after);
    }
    xt_status_free(s);
    base_free(before);
    str_free(&bytes);
    ir_module_free(back);
    return !refused;
}

static ir_module *parsed(const char *text, size_t n, const char *name) {
    ir_module *m = NULL;
    xt_status s = program_read(text, n, name, &m);
    if (s) fail_msg("%s: %s", name, xt_status_message(s));
    program_drop_defaults(m);
    return m;
}

static void each_file(const char *dir, const char *file, size_t *n) {
    char path[512], *data;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", dir, file);
    xt_status s = file_read_all(path, &data, &size);
    if (!s) {
        ir_module *m = parsed(data, size, path);
        round_trip(m, path, BYTECODE_NEWEST, false);
        round_trip(m, path, 0, false);
        *n += round_trip(m, path, BYTECODE_OLDEST, true);
        ir_module_free(m);
        base_free(data);
    }
    xt_status_free(s);
}

static void test_programs(void **state) {
    (void)state;
    static const char root[] = "tests/conformance/programs";
    size_t n = 0;
    DIR *d = opendir(root);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/prog.mlir", e->d_name);
        each_file(root, path, &n);
    }
    closedir(d);
    assert_true(n > 50);
}

static void test_corpus(void **state) {
    (void)state;
    static const char root[] = "tests/fuzz/corpus/bytecode";
    size_t n = 0;
    DIR *d = opendir(root);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len > 3 && strcmp(e->d_name + len - 3, ".bc") == 0) each_file(root, e->d_name, &n);
    }
    closedir(d);
    assert_true(n > 5);
}

/* One of each kind of attribute, type and nesting that the files above have not. */
static const char kinds[] =
    "module @kinds attributes {mhlo.num_partitions = 4 : i32, a.list = [1 : i64, \"two\", @main, array<i64: 3, 4>], "
    "a.flag} {\n"
    "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
    "  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}, %arg1: "
    "tensor<?x3xbf16>, %arg2: tensor<3xi4>, %arg3: tensor<2xcomplex<f64>>) -> (tensor<4x4xf32> {jax.result_info = "
    "\"\"}) {\n"
    "    %0 = sdy.sharding_constraint %arg0 <@mesh, [{\"x\"}, {\"y\"}]> : tensor<4x4xf32>\n"
    "    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{\"x\"}, {}]>] out_shardings=[<@mesh, [{\"x\"}, {}]>] "
    "manual_axes={\"x\"} (%arg4: tensor<2x4xf32>) {\n"
    "      %9 = stablehlo.add %arg4, %arg4 : tensor<2x4xf32>\n"
    "      sdy.return %9 : tensor<2x4xf32>\n"
    "    } : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "    %2 = stablehlo.constant dense<[true, false, true, true, false, true, true, true, false, true]> : "
    "tensor<10xi1>\n"
    "    %3 = stablehlo.constant dense<[-1, 7, -8]> : tensor<3xi4>\n"
    "    %4 = stablehlo.constant dense<true> : tensor<9xi1>\n"
    "    %5 = stablehlo.create_token : !stablehlo.token\n"
    "    %6 = stablehlo.tuple %5, %2 : tuple<!stablehlo.token, tensor<10xi1>>\n"
    "    %7 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, "
    "rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
    "num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x4xf32>, tensor<4x4xf32>) -> "
    "tensor<4x4xf32>\n"
    "    %12 = stablehlo.dot_general %7, %1, contracting_dims = [1] x [0], precision = [HIGH, HIGHEST] : "
    "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "    %8 = stablehlo.exponential %12 {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = "
    "#stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x4xf32>\n"
    "    %10 = chlo.square %8 : tensor<4x4xf32> -> tensor<4x4xf32>\n"
    "    %11 = stablehlo.custom_call @f(%10) {api_version = 4 : i32, backend_config = {k = 3 : i64, s = \"x\"}, "
    "operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>], "
    "output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, "
    "operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "    return %11 : tensor<4x4xf32>\n"
    "  }\n"
    "}\n";

static void test_kinds(void **state) {
    (void)state;
    ir_module *m = parsed(kinds, sizeof kinds - 1, "kinds");
    assert_true(round_trip(m, "kinds", BYTECODE_NEWEST, false));
    assert_true(round_trip(m, "kinds", 0, false));
    ir_module_free(m);
}

/* A unit that is a boolean in vhlo, and a structure that was laid out over lines. */
static void test_flags(void **state) {
    (void)state;
    static const char text[] =
        "module {\n"
        "  func.func public @main(%a: tensor<1x2xi64>, %root: tensor<1xi32>, %b: tensor<2x2xf32>) -> (tensor<1x2xi64>, "
        "tensor<2x2xf32>) {\n"
        "    %0 = \"stablehlo.collective_broadcast\"(%a, %root) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, "
        "has_dynamic_root} : (tensor<1x2xi64>, tensor<1xi32>) -> tensor<1x2xi64>\n"
        "    %1 = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0], algorithm = <\n"
        "      lhs_precision_type = tf32,\n"
        "      rhs_precision_type = tf32, accumulation_type = f32,\n"
        "      lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1,\n"
        "      allow_imprecise_accumulation = false\n"
        "    > : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>\n"
        "    return %0, %1 : tensor<1x2xi64>, tensor<2x2xf32>\n  }\n}\n";
    ir_module *m = parsed(text, sizeof text - 1, "flags");
    assert_true(round_trip(m, "flags", BYTECODE_NEWEST, false));
    ir_module_free(m);
}

static void refused(const char *body, const char *type, int version, const char *word) {
    str text = STR_INIT, bytes = STR_INIT;
    str_append(&text, "before");
    str_printf(&bytes,
               "func.func @main(%%x: tensor<4x%s>) -> tensor<4x%s> {\n"
               "  %%0 = %s\n"
               "  return %%0 : tensor<4x%s>\n"
               "}\n",
               type, type, body, type);
    ir_module *m = parsed(bytes.data, bytes.len, "refused");
    xt_status s = bytecode_write(m, &(bytecode_opts){.version = version}, &text);
    assert_non_null(s);
    if (!strstr(xt_status_message(s), word)) fail_msg("'%s' does not mention %s", xt_status_message(s), word);
    assert_string_equal(str_cstr(&text), "before");
    xt_status_free(s);
    str_free(&text);
    str_free(&bytes);
    ir_module_free(m);
}

static void test_refused(void **state) {
    (void)state;
    refused("stablehlo.tan %x : tensor<4xf32>", "f32", 103, "stablehlo.tan");
    refused("stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = "
            "#stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>",
            "f32", 108, "result_accuracy");
    refused("stablehlo.add %x, %x : tensor<4xf8E3M4>", "f8E3M4", 106, "f8E3M4");
    refused("stablehlo.add %x, %x : tensor<4xf32>", "f32", 121, "1.21");
}

/* A device that knows 1.13 gets an artefact, one that says nothing gets text, and so does one whose version
 * lacks something. */
static void test_for_devices(void **state) {
    (void)state;
    static const char tan[] = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                              "  %0 = stablehlo.tan %x : tensor<4xf32>\n"
                              "  return %0 : tensor<4xf32>\n"
                              "}\n";
    ir_module *m = parsed(tan, sizeof tan - 1, "tan");
    static const struct {
        int64_t version[3];
        bool binary;
    } cases[] = {{{1, 13, 3}, true}, {{0, 0, 0}, false}, {{1, 0, 0}, false}, {{1, 20, 0}, false}, {{2, 0, 0}, false}};
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        str s = STR_INIT;
        assert_null(program_print(m, cases[i].version, 0, &s));
        assert_int_equal(bytecode_is(s.data, s.len), cases[i].binary);
        str_free(&s);
    }
    ir_module_free(m);
}

/* Locations come back as they were printed; equal programs give equal bytes. */
static void test_locations(void **state) {
    (void)state;
    static const char text[] = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                               "  %0 = stablehlo.add %x, %x : tensor<4xf32> loc(\"layer\"(\"train.c\":41:1))\n"
                               "  return %0 : tensor<4xf32>\n"
                               "}\n";
    ir_module *m = parsed(text, sizeof text - 1, "loc"), *back;
    str a = STR_INIT, b = STR_INIT, c = STR_INIT;
    assert_null(bytecode_write(m, &(bytecode_opts){.locs = IR_PRINT_LOC_SOURCE | IR_PRINT_LOC_ORDINAL}, &a));
    assert_null(bytecode_write(m, &(bytecode_opts){.locs = IR_PRINT_LOC_SOURCE | IR_PRINT_LOC_ORDINAL}, &b));
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_null(bytecode_read(a.data, a.len, "loc", &back));
    assert_null(ir_print(back, IR_PRINT_LOC_SOURCE, &c));
    assert_non_null(strstr(str_cstr(&c), "loc(\"layer/n0\"(\"train.c\":41:1))"));
    str_free(&a);
    str_free(&b);
    str_free(&c);
    ir_module_free(m);
    ir_module_free(back);
}

/* The n-th allocation fails: a status, and nothing left. */
static void test_no_memory(void **state) {
    (void)state;
    ir_module *m = parsed(kinds, sizeof kinds - 1, "kinds");
    for (int n = 1;; n++) {
        str s = STR_INIT;
        base_fail_alloc_after(n);
        xt_status st = bytecode_write(m, NULL, &s);
        base_fail_alloc_after(-1);
        str_free(&s);
        if (!st) break;
        assert_int_equal(xt_status_code(st), XT_RESOURCE_EXHAUSTED);
        xt_status_free(st);
        assert_true(n < 100000);
    }
    ir_module_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs),  cmocka_unit_test(test_corpus),
                                       cmocka_unit_test(test_kinds),     cmocka_unit_test(test_flags),
                                       cmocka_unit_test(test_refused),   cmocka_unit_test(test_for_devices),
                                       cmocka_unit_test(test_locations), cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
