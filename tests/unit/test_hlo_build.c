/* The HLO reader on programs made here field by field: what PyTorch/XLA's SPMD says of shardings, literals that are
 * tuples, of 4-bit integers or in a layout of their own, all-to-all with an operand for each member, and opcodes that
 * are refused by name. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../fuzz/fuzz_hlo.c"
#include "hlo_made.h"

/* {devices=[2,1,2]<=[2,2] last_tile_dim_replicate} */
static str by_rows(void) {
    str s = STR_INIT;
    proto_int(&s, 1, 3);
    packed(&s, 3, 3, (int64_t[]){2, 1, 2});
    proto_int(&s, 6, 1);
    packed(&s, 9, 2, (int64_t[]){2, 2});
    packed(&s, 10, 2, (int64_t[]){1, 0});
    return s;
}

static void test_shardings(void **state) {
    (void)state;
    str rows = by_rows(), whole = STR_INIT, both = STR_INIT, insts = STR_INIT,
        s = shape(F32, 2, (int64_t[]){4, 8}, (int64_t[]){0, 1}), two = pair_of(&s, &s);
    proto_int(&both, 1, 2);
    proto_message(&both, 5, &rows);
    proto_message(&both, 5, &whole);
    add(&insts, (inst){"parameter", &s, .id = 1, .sharding = &rows});
    add(&insts, (inst){"negate", &s, .id = 2, .n = 1, .operands = (int64_t[]){1}, .sharding = &rows});
    add(&insts, (inst){"tuple", &two, .id = 3, .n = 2, .operands = (int64_t[]){2, 1}, .sharding = &both});
    str text = text_of(&insts, 3, &two, 1, &s);
    static const char rows_text[] = "mhlo.sharding = \"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}\"";
    has(&text, "%arg0: tensor<4x8xf32> {mhlo.sharding = \"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}\"}");
    has(&text, "custom_call @Sharding(%0)");
    has(&text, rows_text);
    has(&text, "tensor<4x8xf32> {mhlo.sharding = \"{replicated}\"}");
    str_free(&text);
    str_free(&rows);
    str_free(&both);
    str_free(&s);
    str_free(&two);
}

static void test_literals(void **state) {
    (void)state;
    str nibbles = shape(S4, 1, (int64_t[]){3}, NULL), columns = shape(F32, 2, (int64_t[]){2, 3}, (int64_t[]){0, 1}),
        two = pair_of(&nibbles, &columns);
    str a = STR_INIT, b = STR_INIT, literal = STR_INIT, insts = STR_INIT;
    proto_message(&a, 1, &nibbles);
    proto_bytes(&a, 21, "\1\x0c\7", 3);
    proto_message(&b, 1, &columns);
    proto_bytes(&b, 8, (const float[]){1, 4, 2, 5, 3, 6}, 24);
    proto_message(&literal, 1, &two);
    proto_message(&literal, 10, &a);
    proto_message(&literal, 10, &b);
    add(&insts, (inst){"constant", &two, .id = 1, .literal = &literal});
    str text = text_of(&insts, 1, &two, 0, NULL);
    has(&text, "dense<[1, -4, 7]> : tensor<3xi4>");
    has(&text, "dense<[[1.000000e+00, 2.000000e+00, 3.000000e+00], [4.000000e+00, 5.000000e+00, 6.000000e+00]]> : "
               "tensor<2x3xf32>");
    str_free(&text);
    str_free(&nibbles);
    str_free(&columns);
    str_free(&two);
    str_free(&a);
    str_free(&b);
    str_free(&literal);
}

static void test_all_to_all(void **state) {
    (void)state;
    str s = shape(F32, 1, (int64_t[]){3}, NULL), two = pair_of(&s, &s), group = STR_INIT, more = STR_INIT,
        insts = STR_INIT;
    packed(&group, 1, 2, (int64_t[]){0, 1});
    proto_message(&more, 49, &group);
    add(&insts, (inst){"parameter", &s, .id = 1});
    add(&insts, (inst){"negate", &s, .id = 2, .n = 1, .operands = (int64_t[]){1}});
    add(&insts, (inst){"all-to-all", &two, .id = 3, .n = 2, .operands = (int64_t[]){1, 2}, .more = &more});
    str text = text_of(&insts, 3, &two, 1, &s);
    has(&text, "concatenate");
    has(&text, "(tensor<2x3xf32>) -> tensor<2x3xf32>");
    has(&text, "split_count = 2");
    str_free(&text);
    add(&insts, (inst){"parameter", &s, .id = 1}); /* no groups: one of all, as many as operands */
    add(&insts, (inst){"all-to-all", &two, .id = 3, .n = 2, .operands = (int64_t[]){1, 1}});
    text = text_of(&insts, 3, &two, 1, &s);
    has(&text, "split_count = 2");
    has(&text, "dense<[[0, 1]]>");
    str_free(&text);
    add(&insts, (inst){"parameter", &s, .id = 1});
    add(&insts, (inst){"all-to-all", &s, .id = 3, .n = 1, .operands = (int64_t[]){1}, .more = &more});
    text = text_of(&insts, 3, &s, 1, &s);
    has(&text, "an operand for each member");
    str_free(&text);
    str_free(&s);
    str_free(&two);
    str_free(&group);
    str_free(&more);
}

/* Of two operands each is scattered for itself. */
static void test_reduce_scatter(void **state) {
    (void)state;
    str scalar = shape(F32, 0, NULL, NULL), whole = shape(F32, 1, (int64_t[]){6}, NULL),
        part = shape(F32, 1, (int64_t[]){3}, NULL), two = pair_of(&part, &part);
    str program = STR_INIT, group = STR_INIT, more = STR_INIT, insts = STR_INIT;
    for (int i = 0; i < 2; i++) {
        add(&insts, (inst){"parameter", &scalar, .id = 11 + i, .number = i});
        proto_message(&program, 1, &scalar);
    }
    add(&insts, (inst){"add", &scalar, .id = 13, .n = 2, .operands = (int64_t[]){11, 12}});
    proto_message(&program, 2, &scalar);
    str sum = computation(2, &insts, 13, &program);
    packed(&group, 1, 2, (int64_t[]){0, 1});
    packed(&more, 14, 1, (int64_t[]){0});
    packed(&more, 38, 1, (int64_t[]){2});
    proto_message(&more, 49, &group);
    insts = (str)STR_INIT;
    add(&insts, (inst){"parameter", &whole, .id = 1});
    add(&insts, (inst){"negate", &whole, .id = 2, .n = 1, .operands = (int64_t[]){1}});
    add(&insts, (inst){"reduce-scatter", &two, .id = 3, .n = 2, .operands = (int64_t[]){1, 2}, .more = &more});
    str text = text_calling(&sum, &insts, 3, &two, 1, &whole);
    has(&text, "(%arg0)");
    const char *first = strstr(str_cstr(&text), "stablehlo.reduce_scatter");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "stablehlo.reduce_scatter"));
    str_free(&text);
    str *all[] = {&scalar, &whole, &part, &two, &program, &group, &more, &sum};
    for (size_t i = 0; i < BASE_COUNT(all); i++) str_free(all[i]);
}

static void test_refused(void **state) {
    (void)state;
    static const char *const ops[] = {"infeed", "outfeed", "send", "recv", "send-done", "recv-done"};
    str s = shape(F32, 1, (int64_t[]){3}, NULL);
    for (size_t i = 0; i < BASE_COUNT(ops); i++) {
        str insts = STR_INIT;
        add(&insts, (inst){"parameter", &s, .id = 1});
        add(&insts, (inst){ops[i], &s, .id = 2, .n = 1, .operands = (int64_t[]){1}});
        str text = text_of(&insts, 2, &s, 1, &s);
        has(&text, ops[i]);
        has(&text, "not known here");
        str_free(&text);
    }
    str_free(&s);
}

/* The fuzzer's files, whole, cut at every byte and with bits flipped. */
static void test_corpus(void **state) {
    (void)state;
    static const char root[] = "tests/fuzz/corpus/hlo";
    DIR *d = opendir(root);
    size_t files = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512], *data;
        size_t n;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", root, e->d_name);
        assert_null(file_read_all(path, &data, &n));
        for (size_t k = 0; k <= n; k++) {
            LLVMFuzzerTestOneInput((const uint8_t *)data, k);
            if (k == n) break;
            data[k] ^= (char)(1 << k % 8);
            LLVMFuzzerTestOneInput((const uint8_t *)data, n);
            data[k] ^= (char)(1 << k % 8);
        }
        base_free(data);
        files++;
    }
    closedir(d);
    assert_true(files >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shardings),  cmocka_unit_test(test_literals),
                                       cmocka_unit_test(test_all_to_all), cmocka_unit_test(test_reduce_scatter),
                                       cmocka_unit_test(test_refused),    cmocka_unit_test(test_corpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
