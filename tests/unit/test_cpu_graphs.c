/* Random networks over images (random_graph.h) and sequences (random_sequence.h) with their gradients, interpreter
 * against compiler in each layout; of sequences with XT_CPU_SMALL, too. XT_TEST_SEED and XT_TEST_COUNT choose others
 * than the usual ones (tests/slow/layouts.sh); a seed that fails is told with its program. */
#include <stdio.h>

#include "cpu_layouts.h"
#include "random_sequence.h"

#include "cpu/run/plan.h"
#include "cpu/vector/packed.h"

static long number_from(const char *name, long fallback) {
    const char *v = getenv(name);
    return v ? strtol(v, NULL, 10) : fallback;
}

/* Where rounding lets a mask fall the other way, single elements differ by all that they are; a fault differs with any
 * inputs. So inputs are drawn three times before a program is called wrong. */
static bool seed_agrees(uint64_t seed, xt_status (*make)(uint64_t, str *, bool *), size_t n_layouts) {
    str text = STR_INIT, name = STR_INIT;
    bool half = false, same = false;
    str_printf(&name, "seed %llu", (unsigned long long)seed);
    expect_ok(make(seed, &text, &half), str_cstr(&name));
    /* f32: sums of up to some thousand products in another order, through up to nine layers and back. */
    layout_terms c = {
        .tol = half ? 0.2 : 3e-4, .by_norm = half, .n_layouts = n_layouts, .threads = 1 + (int)(seed % 2)};
    for (; c.draw < 3 && !same; c.draw++) same = layouts_agree(str_cstr(&name), str_cstr(&text), &c);
    if (!same) fprintf(stderr, "%s\n", str_cstr(&text));
    str_free(&text);
    str_free(&name);
    return same;
}

static void agree(const char *what, long usual, xt_status (*make)(uint64_t, str *, bool *), size_t n_layouts) {
    long first = number_from("XT_TEST_SEED", 1), count = number_from("XT_TEST_COUNT", usual), failed = 0;
    for (long i = 0; i < count; i++) failed += !seed_agrees((uint64_t)(first + i), make, n_layouts);
    if (failed) fail_msg("%ld of %ld programs (%s) give something else than the interpreter", failed, count, what);
}

static void images_agree(void **state) {
    (void)state;
    agree("images", 200, random_graph, BASE_COUNT(image_layouts));
}

static void sequences_agree(void **state) {
    (void)state;
    agree("sequences", 100, random_sequence, 1);
    setenv("XT_CPU_SMALL", "1", 1);
    agree("sequences, small ones as large ones", 100, random_sequence, 1);
    unsetenv("XT_CPU_SMALL");
}

static size_t count_kernels(const cpu_exec *e, const char *name) {
    size_t n = 0;
    for (size_t t = 0; t < e->plan.n_thunks; t++) n += strcmp(e->plan.thunks[t].kernel->name, name) == 0;
    return n;
}

/* What is compared above are the kernels that it is meant for. */
static void small_ones_are_tiled_and_packed(void **state) {
    (void)state;
    size_t tiles[2] = {0}, packed[2] = {0}, loops[2] = {0}, chains[2] = {0};
    for (int small = 0; small < 2; small++) {
        if (small) setenv("XT_CPU_SMALL", "1", 1);
        for (uint64_t seed = 1; seed <= 40; seed++) {
            str text = STR_INIT;
            bool half;
            cpu_exec *e = NULL;
            expect_ok(random_sequence(seed, &text, &half), "a sequence");
            expect_ok(cpu_compile(str_cstr(&text), text.len, &(cpu_compile_opts){.threads = 2}, &e), "compile");
            tiles[small] += count_kernels(e, "attention");
            chains[small] += count_kernels(e, "row-blocks");
            packed[small] += count_kernels(e, "packed-matmul");
            loops[small] += count_kernels(e, "while") + count_kernels(e, "scan");
            cpu_exec_free(e);
            str_free(&text);
        }
        unsetenv("XT_CPU_SMALL");
    }
    print_message("%zu chains in tiles, %zu in blocks of rows, %zu packed products, %zu loops\n", tiles[1], chains[1],
                  packed[1], loops[1]);
    assert_true(tiles[0] == 0 && tiles[1] >= 12);
    assert_true(chains[0] == 0 && chains[1] >= 12);
    if (packed_get()) assert_true(packed[0] == 0 && packed[1] >= 20);
    assert_true(loops[1] >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(images_agree), cmocka_unit_test(sequences_agree),
                                       cmocka_unit_test(small_ones_are_tiled_and_packed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
