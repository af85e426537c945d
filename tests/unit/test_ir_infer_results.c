/* Results as they are stated: of another shape than the rule gives, and of another element type. The message
 * ends in the number of the specification's constraint on that op's result. And constraints that
 * infer_rows_ops.h has no row for. */
#include "infer_rows_results.h"

static void results_are_what_the_rule_gives(void **state) {
    (void)state;
    judge_rows(rows_of_results, BASE_COUNT(rows_of_results));
}

static void other_constraints(void **state) {
    (void)state;
    judge_rows(rows_of_others, BASE_COUNT(rows_of_others));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_constraints),
                                       cmocka_unit_test(results_are_what_the_rule_gives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
