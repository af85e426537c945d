/* The short forms of functions: numbers for tensors, axes that may be left out, one axis for a list; each equals the
 * long form. What numbers give beside each dtype: test_beside_numbers.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

static void same_at(int line, xt_tensor got, xt_tensor want) {
    static double a[64], b[64];
    if (xt_error()) fail_msg("line %d: %s", line, xt_status_message(xt_error()));
    int64_t n = xt_numel(want);
    if (xt_dtype_of(got) != xt_dtype_of(want) || xt_rank_of(got) != xt_rank_of(want) || xt_numel(got) != n || n > 64)
        fail_msg("line %d: %s of %lld elements in %d dims, expected %s of %lld in %d", line,
                 xt_dtype_name(xt_dtype_of(got)), (long long)xt_numel(got), xt_rank_of(got),
                 xt_dtype_name(xt_dtype_of(want)), (long long)n, xt_rank_of(want));
    got = xt_keep(xt_cast(got, XT_F64)), want = xt_keep(xt_cast(want, XT_F64));
    assert_true(xt_read(got, a, (size_t)n * sizeof *a) && xt_read(want, b, (size_t)n * sizeof *b));
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            fail_msg("line %d: element %lld is %g, expected %g", line, (long long)i, a[i], b[i]);
    xt_drop(got);
    xt_drop(want);
}
#define same(got, want) same_at(__LINE__, got, want)

static xt_tensor numbers(void) {
    return xt_from_array(((float[]){3, -1, 0.5F, 2, 7, -4, 0, 1, 9, 2.5F, -8, 6}), XT_F32, 2, 3, 2);
}

static void axes(void **state) {
    (void)state;
    xt_tensor x = numbers(), above = xt_gt(x, xt_zeros(XT_F32));
    xt_list one = XT_AXES(1), all = XT_ALL_AXES, two = XT_AXES(0, -1);
#define EACH(short_name, long_name, t)                                            \
    same(short_name(t), long_name(t, all));                                       \
    same(short_name(t, 1), long_name(t, one));                                    \
    same(short_name(t, -2, .keepdim = true), long_name(t, one, .keepdim = true)); \
    same(short_name(t, two), long_name(t, two));                                  \
    same(short_name(t, XT_AXES(0, -1), .keepdim = true), long_name(t, two, .keepdim = true));
    EACH(xt_sum, xt_sum_axes, x)
    EACH(xt_mean, xt_mean_axes, x)
    EACH(xt_prod, xt_prod_axes, x)
    EACH(xt_max, xt_amax_axes, x)
    EACH(xt_min, xt_amin_axes, x)
    EACH(xt_var, xt_var_axes, x)
    EACH(xt_std, xt_std_axes, x)
    EACH(xt_logsumexp, xt_logsumexp_axes, x)
    EACH(xt_count_nonzero, xt_count_nonzero_axes, x)
    EACH(xt_any, xt_any_axes, above)
    EACH(xt_all, xt_all_axes, above)
#undef EACH
    same(xt_sum(x, 0, .dtype = XT_F64), xt_sum_axes(x, XT_AXES(0), .dtype = XT_F64));
    same(xt_std(x, 1, .population = true), xt_std_axes(x, one, .population = true));
    same(xt_norm(x), xt_norm_axes(x, all));
    same(xt_norm(x, 1), xt_norm_axes(x, all, .p = 1));
    same(xt_norm(x, 3, 1), xt_norm_axes(x, one, .p = 3));
    same(xt_norm(x, INFINITY, two, .keepdim = true), xt_norm_axes(x, two, .p = INFINITY, .keepdim = true));
    same(xt_flip(x, 1), xt_flip(x, one));
    same(xt_roll(x, 1, 0), xt_roll(x, XT_LIST(1), XT_AXES(0)));
    same(xt_argmax(x), xt_scalar(8, XT_I64));
    same(xt_argmin(x), xt_scalar(10, XT_I64));
    same(xt_argmax(x, 1), xt_argmax(x, -2));
}

/* Each argument is evaluated once, whatever form is chosen. */
static int calls;
static xt_tensor counted(xt_tensor x) {
    calls++;
    return x;
}
static double counted_number(double v) {
    calls++;
    return v;
}
static int counted_axis(int axis) {
    calls++;
    return axis;
}

static void once(void **state) {
    (void)state;
    xt_tensor x = numbers(), two = xt_scalar(2, XT_F32);
    calls = 0;
    same(xt_mul(counted(x), counted_number(2)), xt_mul(x, two));
    assert_int_equal(calls, 2);
    same(xt_minus(counted_number(2), counted(x)), xt_minus(two, x));
    assert_int_equal(calls, 4);
    same(xt_add(counted(xt_mul(counted(x), counted(x))), counted(x)), xt_add(xt_mul(x, x), x));
    assert_int_equal(calls, 8);
    same(xt_where(xt_gt(counted(x), 0), counted(x), counted_number(0)), xt_relu(x));
    assert_int_equal(calls, 11);
    same(xt_sum(counted(x), counted_axis(1)), xt_sum_axis(x, 1));
    assert_int_equal(calls, 13);
    same(xt_norm(counted(x), counted_number(1), counted_axis(0)), xt_norm_axes(x, XT_AXES(0), .p = 1));
    assert_int_equal(calls, 16);
}

/* Beside numbers as beside tensors of one element. */
static void numbers_for_tensors(void **state) {
    (void)state;
    xt_tensor x = numbers(), n = xt_scalar(2.5, XT_F32);
#define BOTH(fn)                \
    same(fn(x, 2.5), fn(x, n)); \
    same(fn(2.5, x), fn(n, x));
    BOTH(xt_add)
    BOTH(xt_minus)
    BOTH(xt_sub_)
    BOTH(xt_mul)
    BOTH(xt_div)
    BOTH(xt_pow)
    BOTH(xt_maximum)
    BOTH(xt_minimum)
    BOTH(xt_remainder)
    BOTH(xt_fmod)
    BOTH(xt_floor_divide)
    BOTH(xt_eq)
    BOTH(xt_ne)
    BOTH(xt_lt)
    BOTH(xt_le)
    BOTH(xt_gt)
    BOTH(xt_ge)
#undef BOTH
    xt_tensor above = xt_gt(x, 1), whole = xt_cast(x, XT_I32);
    same(xt_where(above, x, 2.5), xt_where(above, x, n));
    same(xt_where(above, 2.5, x), xt_where(above, n, x));
    int eight = 8;
    size_t nine = 9;
    same(xt_maximum(whole, eight), xt_maximum(whole, xt_scalar(8, XT_I32)));
    same(xt_minimum(nine, whole), xt_minimum(xt_scalar(9, XT_I32), whole));
    same(xt_add(xt_add(xt_add(xt_add(xt_add(xt_add(xt_add(xt_add(x, 1), 1), 1), 1), 1), 1), 1), 1), xt_add(x, 8));
}

/* They stay integers beside integers, beyond 2^53 too, where f32 would be millions away. */
static void large_whole_numbers(void **state) {
    (void)state;
    static const int64_t some[3] = {3, -5, INT64_C(1) << 61}, large = INT64_C(1152921504606846976); /* 2^60 */
    xt_tensor x = xt_from_array(some, XT_I64, 3), n = xt_scalar((double)large, XT_I64);
    same(xt_add(x, large), xt_add(x, n));
    same(xt_sub_(large, x), xt_sub_(n, x));
    same(xt_maximum(x, large), xt_maximum(x, n));
    same(xt_floor_divide(x, large), xt_floor_divide(x, n));
    same(xt_clamp(x, -1e18, 1e18), xt_maximum(xt_minimum(x, xt_scalar(1e18, XT_I64)), xt_scalar(-1e18, XT_I64)));
    assert_int_equal(xt_dtype_of(xt_add(x, 1e18)), XT_I64);
    assert_int_equal(xt_dtype_of(xt_add(x, 1e19)), XT_F32); /* beyond i64 */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(axes), cmocka_unit_test(once),
                                       cmocka_unit_test(numbers_for_tensors), cmocka_unit_test(large_whole_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
