/* Every pass and stage of the CPU compiler can be left out: programs mean the same without any one of them, and
 * without all. */
#include "pass/pass.h"
#include "random_program.h"

static const struct {
    const char *name, *text;
    double tol;
} programs[] = {
    {"a layer and its loss",
     "func.func private @relu(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {\n"
     "%z = stablehlo.constant dense<0.0> : tensor<8x16xf32>\n"
     "%r = stablehlo.maximum %x, %z : tensor<8x16xf32>\nreturn %r : tensor<8x16xf32>\n}\n"
     "func.func @main(%x: tensor<8x12xf32>, %w: tensor<12x16xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<16xf32>) "
     "-> (tensor<f32>, tensor<12x16xf32>) {\n"
     "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%one = stablehlo.constant dense<1.0> : tensor<8x16xf32>\n"
     "%lr = stablehlo.constant dense<0.25> : tensor<12x16xf32>\n"
     "%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x12xf32>, tensor<12x16xf32>) -> "
     "tensor<8x16xf32>\n"
     "%1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>\n"
     "%2 = stablehlo.add %0, %1 : tensor<8x16xf32>\n"
     "%3 = func.call @relu(%2) : (tensor<8x16xf32>) -> tensor<8x16xf32>\n"
     "%4 = stablehlo.multiply %3, %one : tensor<8x16xf32>\n"
     "%5 = stablehlo.exponential %4 : tensor<8x16xf32>\n"
     "%55 = stablehlo.exponential %3 : tensor<8x16xf32>\n"
     "%6 = stablehlo.add %5, %55 : tensor<8x16xf32>\n"
     "%7 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, "
     "tensor<f32>) -> tensor<f32>\n"
     "%8 = stablehlo.dot_general %x, %6, contracting_dims = [0] x [0] : (tensor<8x12xf32>, tensor<8x16xf32>) -> "
     "tensor<12x16xf32>\n"
     "%9 = stablehlo.multiply %8, %lr : tensor<12x16xf32>\n%10 = stablehlo.subtract %w, %9 : tensor<12x16xf32>\n"
     "return %7, %10 : tensor<f32>, tensor<12x16xf32>\n}\n",
     1e-4},
    {"moving, windows, integers",
     "func.func @main(%a: tensor<6x8xf32>, %i: tensor<5x1xi32>, %p: tensor<f32>) -> (tensor<5x8xf32>, tensor<3x4xf32>, "
     "tensor<8x6xi32>, tensor<9x9xf32>) {\n"
     "%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
     "collapsed_slice_dims = [0], start_index_map = [0], "
     "index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<6x8xf32>, tensor<5x1xi32>) -> tensor<5x8xf32>\n"
     "%1 = stablehlo.slice %a [0:6:2, 1:8:2] : (tensor<6x8xf32>) -> tensor<3x4xf32>\n"
     "%2 = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>\n"
     "%3 = stablehlo.convert %2 : (tensor<8x6xf32>) -> tensor<8x6xi32>\n"
     "%4 = stablehlo.add %3, %3 : tensor<8x6xi32>\n"
     "%5 = stablehlo.pad %a, %p, low = [1, 0], high = [2, 1], interior = [0, 0] : (tensor<6x8xf32>, tensor<f32>) -> "
     "tensor<9x9xf32>\n"
     "return %0, %1, %4, %5 : tensor<5x8xf32>, tensor<3x4xf32>, tensor<8x6xi32>, tensor<9x9xf32>\n}\n",
     0},
    {"other names of what a loop makes",
     "func.func @main(%a: tensor<4x6xf32>) -> tensor<6x4xf32> {\n"
     "%0 = stablehlo.reverse %a, dims = [1] : tensor<4x6xf32>\n%1 = stablehlo.add %a, %0 : tensor<4x6xf32>\n"
     "%2 = stablehlo.reshape %1 : (tensor<4x6xf32>) -> tensor<2x2x6xf32>\n"
     "%3 = stablehlo.transpose %2, dims = [1, 0, 2] : (tensor<2x2x6xf32>) -> tensor<2x2x6xf32>\n"
     "%4 = stablehlo.reshape %3 : (tensor<2x2x6xf32>) -> tensor<6x4xf32>\nreturn %4 : tensor<6x4xf32>\n}\n",
     0},
};

static void agree(const char *switches) {
    setenv("XT_PASSES", switches, 1);
    for (size_t i = 0; i < BASE_COUNT(programs); i++)
        differ(programs[i].name, programs[i].text, programs[i].tol, 2, true);
    for (uint64_t seed = 1001; seed < 1009; seed++) {
        str text = random_program(seed);
        differ(switches, str_cstr(&text), 2e-4, 1, true);
        str_free(&text);
    }
    unsetenv("XT_PASSES");
}

static void each_pass_off(void **state) {
    (void)state;
    for (size_t i = 0; i < pass_switch_count; i++) {
        char one[64];
        snprintf(one, sizeof one, "-%s", pass_switch_names[i]);
        agree(one);
    }
}

static void all_passes_off(void **state) {
    (void)state;
    agree("-all");
    for (size_t i = 0; i < pass_switch_count; i++) { /* each alone */
        char one[64];
        snprintf(one, sizeof one, "-all,+%s", pass_switch_names[i]);
        agree(one);
    }
}

/* What is switched off is really not done: the plan and the program text are those of a compiler without it. */
static void off_means_off(void **state) {
    (void)state;
    const char *text = "func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
                       "%0 = stablehlo.negate %x : tensor<64xf32>\n"
                       "%1 = stablehlo.negate %0 : tensor<64xf32>\n"
                       "%2 = stablehlo.add %1, %1 : tensor<64xf32>\n"
                       "return %2 : tensor<64xf32>\n"
                       "}\n";
    cpu_exec *e = NULL;
    size_t n;
    expect_ok(cpu_compile(text, strlen(text), NULL, &e), "on");
    if (strstr(cpu_exec_text(e, &n), "negate")) fail_msg("%s", cpu_exec_text(e, &n));
    cpu_exec_free(e);
    setenv("XT_PASSES", "-opt_simplify", 1);
    expect_ok(cpu_compile(text, strlen(text), NULL, &e), "off");
    unsetenv("XT_PASSES");
    assert_non_null(strstr(cpu_exec_text(e, &n), "negate"));
    cpu_exec_free(e);
}

static void unknown_names_are_refused(void **state) {
    (void)state;
    const char *text = "func.func @main() {\nreturn\n}\n";
    static const struct {
        const char *switches, *says;
    } rows[] = {{"-opt_cs", "'opt_cs' is no pass; there are lower_quant, lower_chlo, "},
                {"fuse", "write -fuse"},
                {"-opt_cse,-", "'' is no pass"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        cpu_exec *e = NULL;
        setenv("XT_PASSES", rows[i].switches, 1);
        xt_status s = cpu_compile(text, strlen(text), NULL, &e);
        unsetenv("XT_PASSES");
        assert_non_null(s);
        if (!strstr(xt_status_message(s), rows[i].says)) fail_msg("%s: %s", rows[i].switches, xt_status_message(s));
        xt_status_free(s);
    }
}

/* A program that needs a pass says so without it. */
static void needed_passes(void **state) {
    (void)state;
    const char *text = "func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32> {\n"
                       "%0 = stablehlo.uniform_dequantize %x : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> "
                       "tensor<2xf32>\nreturn %0 : tensor<2xf32>\n}\n";
    for (int off = 0; off < 3; off++) {
        cpu_exec *e = NULL;
        if (off) setenv("XT_PASSES", off == 1 ? "-lower_quant" : "-all", 1);
        xt_status s = cpu_compile(text, strlen(text), NULL, &e);
        unsetenv("XT_PASSES");
        assert_int_equal(s != NULL, off > 0);
        if (s && !strstr(xt_status_message(s), "lower_quant")) fail_msg("%s", xt_status_message(s));
        xt_status_free(s);
        cpu_exec_free(e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(needed_passes), cmocka_unit_test(each_pass_off),
                                       cmocka_unit_test(all_passes_off), cmocka_unit_test(off_means_off),
                                       cmocka_unit_test(unknown_names_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
