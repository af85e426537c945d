/* Random image networks and their gradients (random_graph.h), interpreter against compiler in each layout. XT_TEST_SEED
 * and XT_TEST_COUNT choose others than the usual ones (tests/slow/layouts.sh); a seed that fails is told with its
 * program. */
#include <stdio.h>

#include "cpu_layouts.h"
#include "random_graph.h"

static long number_from(const char *name, long fallback) {
    const char *v = getenv(name);
    return v ? strtol(v, NULL, 10) : fallback;
}

/* Where rounding lets a mask fall the other way, single elements differ by all that they are; a fault differs with any
 * inputs. So inputs are drawn three times before a program is called wrong. */
static bool seed_agrees(uint64_t seed) {
    str text = STR_INIT, name = STR_INIT;
    bool half = false, same = false;
    str_printf(&name, "seed %llu", (unsigned long long)seed);
    expect_ok(random_graph(seed, &text, &half), str_cstr(&name));
    /* f32: sums of up to some thousand products in another order, through up to nine layers and back. */
    layout_terms c = {.tol = half ? 0.2 : 3e-4,
                      .by_norm = half,
                      .n_layouts = BASE_COUNT(image_layouts),
                      .threads = 1 + (int)(seed % 2)};
    for (; c.draw < 3 && !same; c.draw++) same = layouts_agree(str_cstr(&name), str_cstr(&text), &c);
    if (!same) fprintf(stderr, "%s\n", str_cstr(&text));
    str_free(&text);
    str_free(&name);
    return same;
}

static void graphs_agree(void **state) {
    (void)state;
    long first = number_from("XT_TEST_SEED", 1), count = number_from("XT_TEST_COUNT", 200), failed = 0;
    for (long i = 0; i < count; i++) failed += !seed_agrees((uint64_t)(first + i));
    if (failed) fail_msg("%ld of %ld programs give something else than the interpreter", failed, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
