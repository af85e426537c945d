/* Every numbered constraint of the StableHLO specification (docs/spec.md, 1.13) has a program that breaks it and an
 * error that names it, or a reason why no text can break it here. The rows stand in infer_rows_ops.h,
 * infer_rows_results.h, infer_rows_more.h and infer_rows_quant.h; this file counts them, and judges the last two. */
#include "infer_rows_ops.h"
#include "infer_rows_quant.h"

#define BIT(n) (1ull << (n))

/* Constraints are numbered 1 to n. `running`: about the number of replicas and partitions, or a value, that only a run
 * knows. */
static const struct {
    const char *op;
    int n;
    unsigned long long running;
} constraints[] = {
    {"abs", 2, 0},
    {"add", 7, 0},
    {"all_gather", 6, BIT(3)},
    {"all_reduce", 7, BIT(2)},
    {"all_to_all", 9, BIT(6)},
    {"and", 1, 0},
    {"async_done", 1, 0},
    {"async_start", 4, 0},
    {"atan2", 1, 0},
    {"batch_norm_grad", 5, 0},
    {"batch_norm_inference", 7, 0},
    {"batch_norm_training", 7, 0},
    {"bitcast_convert", 2, 0},
    {"broadcast_in_dim", 6, 0},
    {"case", 4, 0},
    {"cbrt", 1, 0},
    {"ceil", 1, 0},
    {"cholesky", 3, 0},
    {"clamp", 4, 0},
    {"collective_broadcast", 6, BIT(6)},
    {"collective_permute", 5, 0},
    {"collective_reduce", 4, 0},
    {"compare", 3, 0},
    {"complex", 3, 0},
    {"composite", 4, 0},
    {"concatenate", 6, 0},
    {"constant", 1, 0},
    {"convert", 1, 0},
    {"convolution", 34, 0},
    {"cosine", 1, 0},
    {"count_leading_zeros", 1, 0},
    {"divide", 1, 0},
    {"dot_general", 24, 0},
    {"dynamic_broadcast_in_dim", 10, 0},
    {"dynamic_conv", 34, 0},
    {"dynamic_gather", 14, 0},
    {"dynamic_iota", 2, 0},
    {"dynamic_pad", 4, 0},
    {"dynamic_reshape", 4, 0},
    {"dynamic_slice", 5, 0},
    {"dynamic_update_slice", 6, 0},
    {"exponential", 1, 0},
    {"exponential_minus_one", 1, 0},
    {"fft", 5, 0},
    {"floor", 1, 0},
    {"gather", 23, 0},
    {"get_dimension_size", 1, 0},
    {"get_tuple_element", 2, 0},
    {"if", 3, 0},
    {"imag", 2, 0},
    {"infeed", 3, 0},
    {"iota", 1, 0},
    {"is_finite", 1, 0},
    {"log", 1, 0},
    {"log_plus_one", 1, 0},
    {"logistic", 1, 0},
    {"map", 4, 0},
    {"maximum", 1, 0},
    {"minimum", 1, 0},
    {"multiply", 1, 0},
    {"negate", 1, 0},
    {"not", 1, 0},
    {"optimization_barrier", 1, 0},
    {"or", 1, 0},
    {"pad", 4, 0},
    {"popcnt", 1, 0},
    {"power", 1, 0},
    {"real", 2, 0},
    {"recv", 5, 0},
    {"reduce", 8, 0},
    {"reduce_precision", 3, 0},
    {"reduce_scatter", 9, BIT(4)},
    {"reduce_window", 16, 0},
    {"remainder", 1, 0},
    {"reshape", 3, 0},
    {"reverse", 3, 0},
    {"rng", 3, 0},
    {"rng_bit_generator", 2, 0},
    {"round_nearest_afz", 1, 0},
    {"round_nearest_even", 1, 0},
    {"rsqrt", 1, 0},
    {"scatter", 25, 0},
    {"select", 2, 0},
    {"select_and_scatter", 12, 0},
    {"send", 5, 0},
    {"shift_left", 1, 0},
    {"shift_right_arithmetic", 1, 0},
    {"shift_right_logical", 1, 0},
    {"sign", 1, 0},
    {"sine", 1, 0},
    {"slice", 5, 0},
    {"sort", 5, 0},
    {"sqrt", 1, 0},
    {"subtract", 1, 0},
    {"tan", 1, 0},
    {"tanh", 1, 0},
    {"transpose", 4, 0},
    {"triangular_solve", 4, 0},
    {"tuple", 1, 0},
    {"uniform_dequantize", 2, 0},
    {"uniform_quantize", 2, 0},
    {"while", 3, 0},
    {"xor", 1, 0},
};

static bool breaks(const row *rows, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (rows[i].constraint && strcmp(rows[i].constraint, name) == 0) return true;
    return false;
}

static void every_constraint_is_broken_by_a_row(void **state) {
    (void)state;
    int missing = 0, idle = 0;
    for (size_t i = 0; i < BASE_COUNT(constraints); i++)
        for (int k = 1; k <= constraints[i].n; k++) {
            char name[64];
            snprintf(name, sizeof name, "%s_c%d", constraints[i].op, k);
            bool has = breaks(rows_of_ops, BASE_COUNT(rows_of_ops), name) ||
                       breaks(rows_of_others, BASE_COUNT(rows_of_others), name) ||
                       breaks(rows_of_results, BASE_COUNT(rows_of_results), name) ||
                       breaks(rows_of_more, BASE_COUNT(rows_of_more), name) ||
                       breaks(rows_of_quantized, BASE_COUNT(rows_of_quantized), name);
            bool excused = (constraints[i].running >> k & 1) != 0;
            if (!has && !excused) print_error("%s has no row\n", name), missing++;
            if (has && excused) print_error("%s has a row and an excuse\n", name), idle++;
        }
    assert_int_equal(missing, 0);
    assert_int_equal(idle, 0);
}

static void rows_are_judged_as_they_say(void **state) {
    (void)state;
    judge_rows(rows_of_more, BASE_COUNT(rows_of_more));
    judge_rows(rows_of_quantized, BASE_COUNT(rows_of_quantized));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_constraint_is_broken_by_a_row),
                                       cmocka_unit_test(rows_are_judged_as_they_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
