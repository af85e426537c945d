/* svd, eigh and qr beside their parity files: larger, narrow and complex matrices multiplied out again; what has no
 * derivative; devices that have no such call (so this is not one of the tests that run on every device). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/text.h"
#include "lazy/program/program.h"
#include <xtrain/xtrain.h>

static xt_tensor matrix(xt_dtype t, int64_t m, int64_t n) {
    xt_tensor x = xt_sin(xt_mul_scalar(xt_add_scalar(xt_arange(2 * m * n, XT_F32), 1), 1.7));
    return xt_cast(xt_reshape(x, 2, m, n), t);
}

static xt_tensor turned(xt_tensor x) {
    return xt_conj(xt_transpose(x, -1, -2));
}

/* The largest element of |x - y|. */
static void near(const char *what, xt_tensor x, xt_tensor y, double most) {
    double d = xt_item(xt_max(xt_cast(xt_abs(xt_sub_(x, y)), XT_F32)));
    if (xt_error()) fail_msg("%s: %s", what, xt_status_message(xt_error()));
    if (!(d <= most)) fail_msg("%s: off by %g", what, d);
}

static xt_tensor complex_matrix(int64_t m, int64_t n) {
    xt_tensor x = matrix(XT_F32, m, n);
    return xt_complex(x, xt_sub_(xt_mul(x, x), xt_sin(xt_mul_scalar(x, 5))));
}

static void multiplied_out_again(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{70, 40}, {40, 70}, {33, 33}, {1, 5}, {5, 1}};
    for (size_t i = 0; i < BASE_COUNT(sizes); i++)
        for (int kind = 0; kind < 3; kind++) {
            int64_t m = sizes[i][0], n = sizes[i][1];
            xt_tensor x = kind == 0   ? matrix(XT_F32, m, n)
                          : kind == 1 ? matrix(XT_F64, m, n)
                                      : complex_matrix(m, n),
                      u, s, vh, q, r;
            xt_linalg_svd(x, &u, &s, &vh, .full_matrices = XT_OFF);
            near("svd", xt_matmul(xt_mul(u, xt_unsqueeze(s, -2)), vh), x, 1e-4);
            xt_linalg_qr(x, &q, &r);
            near("qr", xt_matmul(q, r), x, 1e-4);
            xt_linalg_qr(x, &q, &r, .complete = true);
            near("complete qr", xt_matmul(q, r), x, 1e-4);
            near("columns of a complete q", xt_matmul(turned(q), q), xt_cast(xt_eye(m, 0, XT_F32), xt_dtype_of(x)),
                 1e-4);
            xt_linalg_svd(x, &u, &s, &vh);
            near("columns of a whole u", xt_matmul(turned(u), u), xt_cast(xt_eye(m, 0, XT_F32), xt_dtype_of(x)), 1e-4);
            if (m != n) continue;
            xt_tensor h = xt_add(x, turned(x)), w, v;
            xt_linalg_eigh(h, &w, &v);
            near("eigh", xt_matmul(xt_mul(v, xt_unsqueeze(w, -2)), turned(v)), h, 1e-4);
            near("eigvalsh", xt_linalg_eigvalsh(h, .upper = true), w, 1e-4);
        }
    assert_true(xt_mark_step());
}

static void narrow_floats(void **state) {
    (void)state;
    xt_tensor x = matrix(XT_BF16, 6, 4), u, s, vh;
    xt_linalg_svd(x, &u, &s, &vh, .full_matrices = XT_OFF);
    assert_int_equal(xt_dtype_of(u), XT_BF16);
    assert_int_equal(xt_dtype_of(s), XT_BF16);
    near("bf16", xt_matmul(xt_mul(u, xt_unsqueeze(s, -2)), vh), x, 0.05);
    assert_true(xt_mark_step());
}

static void refused(xt_tensor loss, const char *why) {
    xt_backward(loss);
    if (!xt_error() || !strstr(xt_status_message(xt_error()), why) ||
        !strstr(xt_status_message(xt_error()), "test_linalg.c"))
        fail_msg("wanted '%s' with its line: %s", why, xt_error() ? xt_status_message(xt_error()) : "no error");
    xt_clear_error();
    lazy_reset_thread();
}

static void what_has_no_derivative(void **state) {
    (void)state;
    xt_tensor x = xt_keep(matrix(XT_F32, 5, 3)), q, r;
    xt_requires_grad(x, true);
    xt_linalg_qr(x, &q, &r, .complete = true);
    refused(xt_sum(q), "leave .complete out");
    xt_tensor y = xt_keep(matrix(XT_F32, 3, 3)), w, v;
    xt_requires_grad(y, true);
    xt_linalg_eigh(xt_complex(y, y), &w, &v);
    refused(xt_sum(w), "real matrices");
}

static void devices_without_factorisations(void **state) {
    (void)state;
    static const struct {
        const char *target, *results, *platform, *says; /* says NULL: the device is asked */
    } rows[] = {
        {"Eigh", "(tensor<3x3xf32>, tensor<3xf32>)", "cpu", "xt_linalg_eigh is not known to the device cpu"},
        {"Eigh", "(tensor<3x3xf32>, tensor<3xf32>)", "tpu", NULL},
        {"Eigh", "(tensor<3x3xf32>, tensor<3xf32>)", "xtrain_cpu", NULL},
        {"Qr", "(tensor<3x3xf32>, tensor<3xf32>)", "cuda", "xt_linalg_qr is not known to the device cuda"},
        {"lapack_sgesdd_ffi", "(tensor<3x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<i32>)", "tpu",
         "xt_linalg_svd is not known to the device tpu"},
        {"somebodys", "(tensor<3x3xf32>, tensor<3xf32>)", "cpu", NULL},
        {"Eigh", "(tensor<3x3xf32>, tensor<3xf32>)", "a new device", NULL},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str text = STR_INIT;
        ir_module *m = NULL;
        str_printf(&text,
                   "func.func @main(%%x: tensor<3x3xf32>) -> tensor<3xf32> {\n"
                   "%%r:%s = stablehlo.custom_call @%s(%%x) : (tensor<3x3xf32>) -> %s\n"
                   "return %%r#1 : tensor<3xf32>\n"
                   "}\n",
                   strstr(rows[i].target, "lapack") ? "5" : "2", rows[i].target, rows[i].results);
        xt_status s = ir_parse(str_cstr(&text), text.len, "calls", &m);
        if (s) fail_msg("%s", xt_status_message(s));
        s = lazy_refuse_factorisations(m, rows[i].platform);
        if (!s != !rows[i].says || (s && !strstr(xt_status_message(s), rows[i].says)))
            fail_msg("@%s on %s: %s", rows[i].target, rows[i].platform, s ? xt_status_message(s) : "nothing said");
        xt_status_free(s);
        ir_module_free(m);
        str_free(&text);
    }
}

static int finish(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplied_out_again),
        cmocka_unit_test(narrow_floats),
        cmocka_unit_test(what_has_no_derivative),
        cmocka_unit_test(devices_without_factorisations),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
