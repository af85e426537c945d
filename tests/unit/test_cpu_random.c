/* Random programs: what fusion, lazy windows and buffer sharing get wrong shows up here. SEED=n runs one, PROGRAMS=n
 * more of them. */
#include "random_program.h"

static void one_program(uint64_t seed, bool print) {
    str text = random_program(seed);
    char name[64];
    snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
    if (print) print_message("%s", str_cstr(&text));
    differ(name, str_cstr(&text), 2e-4, 1, true);
    differ(name, str_cstr(&text), 2e-4, 2, false);
    str_free(&text);
}

static void random_programs_agree(void **state) {
    (void)state;
    const char *seed = getenv("SEED"), *count = getenv("PROGRAMS");
    uint64_t n = count ? strtoull(count, NULL, 10) : 150;
    if (seed) one_program(strtoull(seed, NULL, 10), true);
    for (uint64_t s = 1; !seed && s <= n; s++) one_program(s, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
