/* The n-th allocation fails, for every n: parsing, checking, printing and copying a program end in a status and leave
 * nothing behind, or do without. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/ir.h"

enum { MAX_TEXT = 6000, STRIDE_ABOVE = 400 };

static char *read_file(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    char *text = malloc(MAX_TEXT + 1);
    *n = f ? fread(text, 1, MAX_TEXT + 1, f) : 0;
    if (f) fclose(f);
    return text;
}

static bool is_about_memory(xt_status s) {
    return xt_status_code(s) == XT_RESOURCE_EXHAUSTED;
}

/* Everything once; the status of the first part that fails. */
static xt_status pass_through(const char *text, size_t n) {
    ir_module *m = NULL, *copy = NULL;
    str out = STR_INIT;
    xt_status s = ir_parse(text, n, "program", &m);
    if (!s) s = ir_verify(m);
    if (!s) s = ir_print(m, 0, &out);
    if (!s) s = ir_module_clone(m, &copy);
    str_free(&out);
    ir_module_free(copy);
    ir_module_free(m);
    return s;
}

/* How often it allocates: the least n whose failure nobody meets. */
static void sweep(const char *path) {
    size_t n;
    char *text = read_file(path, &n);
    xt_status plain = n && n <= MAX_TEXT ? pass_through(text, n) : status_oom(0, "too long for this test");
    bool fit = !plain;
    xt_status_free(plain);
    int64_t before = live_get(LIVE_graph), statuses = live_get(LIVE_status);
    for (int64_t k = 1, quiet = 0; fit && quiet<8; k += k> STRIDE_ABOVE ? 37 : 1) {
        base_fail_alloc_after(k);
        xt_status s = pass_through(text, n);
        base_fail_alloc_after(-1);
        if (s && !is_about_memory(s)) fail_msg("%s, allocation %lld: %s", path, (long long)k, xt_status_message(s));
        quiet = s ? 0 : quiet + 1;
        xt_status_free(s);
        if (live_get(LIVE_graph) != before) fail_msg("%s, allocation %lld: a module is left", path, (long long)k);
        if (live_get(LIVE_status) != statuses) fail_msg("%s, allocation %lld: a status is left", path, (long long)k);
    }
    free(text);
}

static void programs(void **state) {
    (void)state;
    static const char folder[] = "tests/conformance/programs";
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort), swept = 0;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s/prog.mlir", folder, list[i]->d_name);
        if (list[i]->d_name[0] != '.') sweep(path), swept++;
        free(list[i]);
    }
    free(list);
    assert_true(swept > 5);
}

/* Types are kept by the process: each attempt has some that nobody has seen. */
static void new_types(void **state) {
    (void)state;
    static const char program[] =
        "func.func @main(%%a: tensor<%dx3xf32>) -> (tensor<%dxf32>, tensor<%dx3xi1>, tuple<tensor<%dxi8>>) {\n"
        "  %%c = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %%s = stablehlo.reduce(%%a init: %%c) applies stablehlo.add across dimensions = [1] : (tensor<%dx3xf32>, "
        "tensor<f32>) -> tensor<%dxf32>\n"
        "  %%z = stablehlo.constant dense<1.0> : tensor<%dx3xf32>\n"
        "  %%p = stablehlo.compare GT, %%a, %%z : (tensor<%dx3xf32>, tensor<%dx3xf32>) -> tensor<%dx3xi1>\n"
        "  %%i = stablehlo.constant dense<1> : tensor<%dxi8>\n"
        "  %%t = stablehlo.tuple %%i : tuple<tensor<%dxi8>>\n"
        "  return %%s, %%p, %%t : tensor<%dxf32>, tensor<%dx3xi1>, tuple<tensor<%dxi8>>\n"
        "}\n";
    int failed = 0;
    for (int k = 1, quiet = 0; quiet < 8; k++) {
        char text[2000];
        int d = 100000 + k;
        snprintf(text, sizeof text, program, d, d, d, d, d, d, d, d, d, d, d, d, d, d, d);
        base_fail_alloc_after(k);
        xt_status s = pass_through(text, strlen(text));
        base_fail_alloc_after(-1);
        if (s && !is_about_memory(s)) fail_msg("allocation %d: %s", k, xt_status_message(s));
        quiet = s ? 0 : quiet + 1;
        failed += s != NULL;
        xt_status_free(s);
    }
    if (failed < 40) fail_msg("%d allocations failed", failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs), cmocka_unit_test(new_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
