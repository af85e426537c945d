/* Broken text never crashes the parser: the fuzz corpus is replayed, some programs are cut at every byte and have bits
 * flipped; and the programs of tests/conformance print to a fixed point in both forms and verify. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ir/ir.h"
#include "pass/pass.h"

#include "../fuzz/fuzz_parse.c"

static void each_file(const char *folder, const char *below, void (*fn)(const char *path, const char *text, size_t n),
                      int *out_count) {
    DIR *d = opendir(folder);
    if (!d) fail_msg("the folder %s is missing", folder);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        char path[1024], *text;
        size_t n;
        snprintf(path, sizeof path, "%s/%s%s", folder, e->d_name, below);
        xt_status s = file_read_all(path, &text, &n);
        if (s) fail_msg("%s", xt_status_message(s));
        fn(path, text, n);
        base_free(text);
        ++*out_count;
    }
    closedir(d);
}

static void replay(const char *path, const char *text, size_t n) {
    (void)path;
    LLVMFuzzerTestOneInput((const uint8_t *)text, n);
}

static void the_corpus_is_harmless(void **state) {
    (void)state;
    int count = 0;
    each_file("tests/fuzz/corpus/parse", "", replay, &count);
    assert_true(count >= 10);
}

static void cut_everywhere(const char *path, const char *text, size_t n) {
    (void)path;
    if (n > 3000) return;
    for (size_t k = 0; k < n; k++) {
        char *copy = malloc(k + 1); /* exact size: a sanitizer sees reads beyond the end */
        memcpy(copy, text, k);
        ir_module *m = NULL;
        xt_status s = ir_parse(copy, k, "cut", &m);
        xt_status_free(s);
        ir_module_free(m);
        free(copy);
    }
}

static void programs_cut_at_every_byte(void **state) {
    (void)state;
    int count = 0;
    each_file("tests/fuzz/corpus/parse", "", cut_everywhere, &count);
}

static void flip_bits(const char *path, const char *text, size_t n) {
    (void)path;
    char *copy = malloc(n + 1);
    uint64_t seed = 12345;
    for (int round = 0; n && round < 600; round++) {
        memcpy(copy, text, n);
        for (int k = 0; k < 1 + round % 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            copy[(seed >> 20) % n] ^= (char)(1 << (seed >> 60 & 7));
        }
        LLVMFuzzerTestOneInput((const uint8_t *)copy, n);
    }
    free(copy);
}

static void programs_with_flipped_bits(void **state) {
    (void)state;
    int count = 0;
    each_file("tests/fuzz/corpus/parse", "", flip_bits, &count);
}

static void check_program(const char *path, const char *text, size_t n) {
    ir_module *m = NULL, *again = NULL;
    xt_status s = ir_parse(text, n, path, &m);
    if (!s) s = ir_verify(m);
    for (unsigned form = 0; !s && form < 2; form++) {
        str one = STR_INIT, two = STR_INIT;
        s = ir_print(m, form, &one);
        if (!s) s = ir_parse(str_cstr(&one), one.len, "printed", &again);
        if (!s) s = ir_print(again, form, &two);
        if (!s) assert_string_equal(str_cstr(&one), str_cstr(&two));
        ir_module_free(again);
        again = NULL;
        str_free(&one);
        str_free(&two);
    }
    if (!s) s = pass_expand_chlo(m);
    if (!s) s = ir_verify(m);
    if (s) fail_msg("%s: %s", path, xt_status_message(s));
    ir_module_free(m);
}

static void conformance_programs_print_to_a_fixed_point(void **state) {
    (void)state;
    int count = 0;
    each_file("tests/conformance/programs", "/prog.mlir", check_program, &count);
    assert_true(count >= 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_corpus_is_harmless), cmocka_unit_test(programs_cut_at_every_byte),
        cmocka_unit_test(programs_with_flipped_bits), cmocka_unit_test(conformance_programs_print_to_a_fixed_point)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
