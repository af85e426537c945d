/* pass_lower_chlo by its numbers: each function against SciPy's values in f64, f32 against f64, the narrow types
 * against f32; complex functions against C's own; shapes of the broadcasting ops; top_k with ties and NaN. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ir/interp.h"
#include "pass/pass.h"

/* --- scipy.special and numpy at these points --- */
static const double wide[] = {
    -30.0, -12.5, -6.0,  -3.7, -2.5, -1.0, -0.75, -0.3, -0.001, 0.0,   0.001,
    0.2,   0.5,   0.999, 1.0,  1.5,  2.0,  4.2,   9.5,  25.0,   100.0,
};
static const double unit[] = {
    -1.0, -0.999, -0.9, -0.5, -0.001, 0.0, 1e-05, 0.3, 0.77, 0.99999, 1.0,
};
static const double above_one[] = {
    1.0, 1.000001, 1.5, 3.0, 50.0, 10000000000.0,
};
static const double erf_values[] = {
    -1.0,
    -1.0,
    -1.0,
    -0.9999998328489421,
    -0.999593047982555,
    -0.8427007929497148,
    -0.7111556336535151,
    -0.3286267594591274,
    -0.0011283787909692363,
    0.0,
    0.0011283787909692363,
    0.22270258921047845,
    0.5204998778130465,
    0.8422852702064969,
    0.8427007929497148,
    0.9661051464753108,
    0.9953222650189527,
    0.9999999971445058,
    1.0,
    1.0,
    1.0,
};
static const double erfc_values[] = {
    2.0,
    2.0,
    2.0,
    1.9999998328489421,
    1.999593047982555,
    1.8427007929497148,
    1.7111556336535152,
    1.3286267594591274,
    1.0011283787909693,
    1.0,
    0.9988716212090307,
    0.7772974107895215,
    0.4795001221869535,
    0.1577147297935031,
    0.15729920705028516,
    0.03389485352468927,
    0.004677734981047266,
    2.855494179592188e-09,
    3.7692144856548797e-41,
    8.300172571196523e-274,
    0.0,
};
static const double lgamma_values[] = {
    INFINITY,
    -20.1153462703953,
    INFINITY,
    -1.3797399049658245,
    -0.05624371649767401,
    INFINITY,
    1.5757045971498584,
    1.4648400508576027,
    6.908333317515028,
    INFINITY,
    6.907178885383853,
    1.5240638224307845,
    0.5723649429247,
    0.0005780385328917337,
    0.0,
    -0.12078223763524526,
    0.0,
    2.04855563696059,
    11.689333420797269,
    54.78472939811232,
    359.1342053695754,
};
static const double digamma_values[] = {
    NAN,
    2.565195651274912,
    NAN,
    -0.8450768588704185,
    1.1031566406452433,
    NAN,
    -2.894120200042932,
    2.1133097796353972,
    999.4211381978913,
    NAN,
    -1000.5755719318103,
    -5.289039896592189,
    -1.9635100260214235,
    -0.5788618021086455,
    -0.5772156649015329,
    0.03648997397857652,
    0.42278433509846713,
    1.3113388912865998,
    2.1977378764029494,
    3.198742512851974,
    4.600161852738088,
};
static const double bessel_i1e_values[] = {
    -0.07191633059864755,  -0.10936143099065089, -0.1520514593085058,  -0.18383785802735622,   -0.20658464953126654,
    -0.2079104153497085,   -0.189887793304855,   -0.11237756063983881, -0.0004995003123542213, 0.0,
    0.0004995003123542213, 0.08228312352881216,  0.15642080318487173,  0.20786040161604669,    0.2079104153497085,
    0.21903938742092574,   0.2152692892489377,   0.17553252608646178,  0.1241382476548818,     0.07857611331929278,
    0.03974415302513025,
};
static const double sinh_values[] = {
    -5343237290762.231,     -134168.6432585739, -201.71315737027922, -20.21129041679853,    -6.0502044810397875,
    -1.1752011936438014,    -0.82231673193583,  -0.3045202934471426, -0.001000000166666675, 0.0,
    0.001000000166666675,   0.201336002541094,  0.5210953054937474,  1.173658700352452,     1.1752011936438014,
    2.1292794550948173,     3.6268604078470186, 33.335667732052336,  6679.863377405021,     36002449668.69294,
    1.3440585709080678e+43,
};
static const double cosh_values[] = {
    5343237290762.231,      134168.64326230055, 201.7156361224559,  20.23601394326887,  6.132289479663686,
    1.5430806348152437,     1.2946832846768448, 1.0453385141288605, 1.0000005000000418, 1.0,
    1.0000005000000418,     1.020066755619076,  1.1276259652063807, 1.5419062049661147, 1.5430806348152437,
    2.352409615243247,      3.7621956910836314, 33.35066330887282,  6679.863452256851,  36002449668.69294,
    1.3440585709080678e+43,
};
static const double asinh_values[] = {
    -4.09462222433053,     -3.220471998464453,  -2.4917798526449118,  -2.0192606561549606,    -1.6472311463710958,
    -0.881373587019543,    -0.6931471805599453, -0.29567304756342244, -0.0009999998333334083, 0.0,
    0.0009999998333334083, 0.19869011034924142, 0.48121182505960347,  0.8806663034322094,     0.881373587019543,
    1.1947632172871092,    1.4436354751788103,  2.1421119082369056,   2.947197622570033,      3.9124227656412556,
    5.298342365610589,
};
static const double atan_values[] = {
    -1.5374753309166493,   -1.4909663410826592, -1.4056476493802699, -1.3068326031691921,    -1.1902899496825317,
    -0.7853981633974483,   -0.6435011087932844, -0.2914567944778671, -0.0009999996666668668, 0.0,
    0.0009999996666668668, 0.19739555984988078, 0.4636476090008061,  0.784897913314115,      0.7853981633974483,
    0.982793723247329,     1.1071487177940904,  1.3370531459259951,  1.4659193880646628,     1.5308176396716067,
    1.5607966601082315,
};
static const double square_values[] = {
    900.0,   156.25,   36.0,   13.690000000000001,
    6.25,    1.0,      0.5625, 0.09,
    1e-06,   0.0,      1e-06,  0.04000000000000001,
    0.25,    0.998001, 1.0,    2.25,
    4.0,     17.64,    90.25,  625.0,
    10000.0,
};
static const double erf_inv_values[] = {
    -INFINITY, -2.326753765513524,    -1.1630871536766743, -0.4769362762044699, -0.000886227157466552,
    0.0,       8.862269254759592e-06, 0.2724627147267544,  0.8487818883709608,  3.123413274341571,
    INFINITY,
};
static const double asin_values[] = {
    -1.5707963267948966,    -1.526071239626163,  -1.1197695149986342, -0.5235987755982989, -0.0010000001666667416, 0.0,
    1.0000000000166668e-05, 0.30469265401539747, 0.8788411516685797,  1.5663241871131188,  1.5707963267948966,
};
static const double acos_values[] = {
    3.141592653589793,
    3.09686756642106,
    2.6905658417935308,
    2.0943951023931957,
    1.5717963269615634,
    1.5707963267948966,
    1.5707863267948965,
    1.2661036727794992,
    0.6919551751263169,
    0.0044721396817777506,
    0.0,
};
static const double atanh_values[] = {
    -INFINITY, -3.8002011672501994,    -1.4722194895832204, -0.5493061443340549, -0.0010000003333335333,
    0.0,       1.0000000000333334e-05, 0.3095196042031117,  1.0203277583223398,  6.1030338227611125,
    INFINITY,
};
static const double acosh_values[] = {
    0.0, 0.00141421344446382, 0.9624236501192069, 1.762747174039086, 4.6050701709847575, 23.7189981105004,
};

static const struct row {
    const char *name;
    const double *x, *y;
    int64_t n;
} rows[] = {
    {"erf", wide, erf_values, BASE_COUNT(wide)},
    {"erfc", wide, erfc_values, BASE_COUNT(wide)},
    {"lgamma", wide, lgamma_values, BASE_COUNT(wide)},
    {"digamma", wide, digamma_values, BASE_COUNT(wide)},
    {"bessel_i1e", wide, bessel_i1e_values, BASE_COUNT(wide)},
    {"sinh", wide, sinh_values, BASE_COUNT(wide)},
    {"cosh", wide, cosh_values, BASE_COUNT(wide)},
    {"asinh", wide, asinh_values, BASE_COUNT(wide)},
    {"atan", wide, atan_values, BASE_COUNT(wide)},
    {"square", wide, square_values, BASE_COUNT(wide)},
    {"erf_inv", unit, erf_inv_values, BASE_COUNT(unit)},
    {"asin", unit, asin_values, BASE_COUNT(unit)},
    {"acos", unit, acos_values, BASE_COUNT(unit)},
    {"atanh", unit, atanh_values, BASE_COUNT(unit)},
    {"acosh", above_one, acosh_values, BASE_COUNT(above_one)},
};

static ir_module *lowered(const char *text) {
    ir_module *m = NULL;
    xt_status s = ir_parse(text, strlen(text), "test", &m);
    if (!s) s = ir_verify(m);
    if (!s) s = pass_expand_chlo(m);
    if (!s) s = ir_verify(m);
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
    str out = STR_INIT;
    assert_null(ir_print(m, 0, &out));
    if (strstr(str_cstr(&out), "chlo.")) fail_msg("a chlo op is left:\n%s", str_cstr(&out));
    str_free(&out);
    return m;
}

/* Runs main of `text`, whose chlo ops are taken apart, on host arrays. */
static void run(const char *text, size_t n_in, const array *in, size_t n_out, array *out) {
    ir_module *m = lowered(text);
    xt_status s = interp_run(m, "main", NULL, n_in, in, n_out, out);
    if (s) fail_msg("%s\n%s", xt_status_message(s), text);
    ir_module_free(m);
}

static array unary(const char *op, xt_dtype t, int64_t n, const double *x, xt_dtype result) {
    array in, out;
    str text = STR_INIT;
    const char *from = ir_dtype_mlir(t), *to = ir_dtype_mlir(result);
    str_printf(&text,
               "func.func @main(%%a: tensor<%lldx%s>) -> tensor<%lldx%s> {\n"
               "  %%0 = chlo.%s %%a : tensor<%lldx%s> -> tensor<%lldx%s>\n"
               "  return %%0 : "
               "tensor<%lldx%s>\n}",
               (long long)n, from, (long long)n, to, op, (long long)n, from, (long long)n, to, (long long)n, to);
    assert_null(array_new(ir_tensor(t, 1, &n), &in));
    for (int64_t i = 0; i < n; i++) array_set(&in, i, x[i]);
    run(str_cstr(&text), 1, &in, 1, &out);
    array_free(&in);
    str_free(&text);
    return out;
}

static void near(const char *op, double x, double got, double want, double rtol, double atol) {
    if (got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= atol + rtol * fabs(want)) return;
    fail_msg("%s(%.17g) is %.17g, expected %.17g", op, x, got, want);
}

static void values_in_f64(void **state) {
    (void)state;
    for (size_t k = 0; k < BASE_COUNT(rows); k++) {
        array y = unary(rows[k].name, XT_F64, rows[k].n, rows[k].x, XT_F64);
        for (int64_t i = 0; i < rows[k].n; i++)
            near(rows[k].name, rows[k].x[i], array_get(&y, i), rows[k].y[i], 2e-13, 2e-14);
        array_free(&y);
    }
}

/* The reference is the f64 formula at the same (rounded) points. */
static void check_narrow(xt_dtype t, double rtol, double atol) {
    for (size_t k = 0; k < BASE_COUNT(rows); k++) {
        double x[32], cell[2];
        for (int64_t i = 0; i < rows[k].n; i++) {
            array one = {ir_scalar(t), cell};
            array_set(&one, 0, rows[k].x[i]);
            x[i] = array_get(&one, 0);
        }
        array y = unary(rows[k].name, t, rows[k].n, x, t), exact = unary(rows[k].name, XT_F64, rows[k].n, x, XT_F64);
        for (int64_t i = 0; i < rows[k].n; i++) {
            array one = {ir_scalar(t), cell};
            array_set(&one, 0, array_get(&exact, i)); /* overflow in the narrow type is right */
            near(rows[k].name, x[i], array_get(&y, i), array_get(&one, 0), rtol, atol);
        }
        array_free(&y);
        array_free(&exact);
    }
}

static void values_in_narrow_types(void **state) {
    (void)state;
    /* digamma loses digits to cancellation between its terms near zeros */
    check_narrow(XT_F32, 4e-6, 2e-6);
    check_narrow(XT_BF16, 1e-2, 1e-5);
    check_narrow(XT_F16, 2e-3, 1e-5);
}

/* Near its zeros, 1 and 2, lgamma keeps its digits in f32 too, and so it does where its forms meet. */
static void lgamma_of_f32(void **state) {
    (void)state;
    enum { N = 30, RUNS = 60 };
    for (int k = 0; k < RUNS; k++) {
        double x[N];
        for (int i = 0; i < N; i++) x[i] = (float)(0.02 + 0.007 * (i + N * k));
        array y = unary("lgamma", XT_F32, N, x, XT_F32);
        for (int i = 0; i < N; i++) near("lgamma", x[i], array_get(&y, i), lgamma(x[i]), 3e-7, 3e-7);
        array_free(&y);
    }
}

static void predicates(void **state) {
    (void)state;
    static const double x[] = {INFINITY, -INFINITY, NAN, 1};
    static const struct {
        const char *op;
        int want[4];
    } p[] = {{"is_inf", {1, 1, 0, 0}}, {"is_pos_inf", {1, 0, 0, 0}}, {"is_neg_inf", {0, 1, 0, 0}}};
    for (size_t k = 0; k < BASE_COUNT(p); k++) {
        array y = unary(p[k].op, XT_F32, 4, x, XT_BOOL);
        for (int i = 0; i < 4; i++) assert_int_equal(((uint8_t *)y.data)[i], p[k].want[i]);
        array_free(&y);
    }
}

static void complex_functions(void **state) {
    (void)state;
    static const double complex z[] = {0.3 + 0.4 * I, -1.2 + 0.5 * I, 2 - 3 * I, 0.1 - 0.9 * I};
    static const struct {
        const char *op;
        double complex (*fn)(double complex);
    } f[] = {{"asin", casin},   {"acos", cacos}, {"atan", catan}, {"asinh", casinh}, {"acosh", cacosh},
             {"atanh", catanh}, {"sinh", csinh}, {"cosh", ccosh}, {"tan", ctan},     {"conj", conj}};
    int64_t n = BASE_COUNT(z);
    for (size_t k = 0; k < BASE_COUNT(f); k++) {
        str text = STR_INIT;
        array in = {ir_tensor(XT_C128, 1, &n), (void *)z}, out;
        str_printf(&text,
                   "func.func @main(%%a: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {\n"
                   "  %%0 = chlo.%s %%a : tensor<4xcomplex<f64>> -> "
                   "tensor<4xcomplex<f64>>\n"
                   "  return %%0 : tensor<4xcomplex<f64>>\n}",
                   f[k].op);
        run(str_cstr(&text), 1, &in, 1, &out);
        const double complex *got = out.data;
        for (int64_t i = 0; i < n; i++)
            if (cabs(got[i] - f[k].fn(z[i])) > 1e-12 * (1 + cabs(f[k].fn(z[i]))))
                fail_msg("%s: %g%+gi, expected %g%+gi", f[k].op, creal(got[i]), cimag(got[i]), creal(f[k].fn(z[i])),
                         cimag(f[k].fn(z[i])));
        array_free(&out);
        str_free(&text);
    }
}

static void two_operands(void **state) {
    (void)state;
    static const double n[] = {0, 1, 2, 3, 4, 1}, x[] = {0.3, 0.3, 2.5, 7, 1, -1.5};
    static const double poly[] = {-3.502524222200133,   12.245364546107734, -0.23620405164172736,
                                  0.007198198563125444, -24.88626612344089, 9.379246644989124};
    static const double s[] = {1.5, 2, 3, 10, 1.1, 1}, q[] = {0.5, 1, 2.5, 1, 30, 1};
    static const double zeta[] = {4.776537947554834,  1.6449340668482266, 0.11810202582086368,
                                  1.0009945751278182, 7.128784913990907,  INFINITY};
    static const double from[] = {0, 1, -1, 1, 2, NAN}, to[] = {1, 2, -2, 0, 2, 1};
    const double next[] = {5e-324, 1 + 0x1p-52, -1 - 0x1p-52, 1 - 0x1p-53, 2, NAN};
    static const struct {
        const char *op;
        const double *a, *b;
    } f[] = {{"polygamma", n, x}, {"zeta", s, q}, {"next_after", from, to}};
    const double *want[] = {poly, zeta, next};
    int64_t count = 6;
    for (size_t k = 0; k < BASE_COUNT(f); k++) {
        str text = STR_INIT;
        array in[2] = {{ir_tensor(XT_F64, 1, &count), (void *)f[k].a}, {ir_tensor(XT_F64, 1, &count), (void *)f[k].b}},
              out;
        str_printf(&text,
                   "func.func @main(%%a: tensor<6xf64>, %%b: tensor<6xf64>) -> tensor<6xf64> {\n"
                   "  %%0 = chlo.%s %%a, %%b : tensor<6xf64>, "
                   "tensor<6xf64> -> tensor<6xf64>\n"
                   "  return %%0 : tensor<6xf64>\n}",
                   f[k].op);
        run(str_cstr(&text), 2, in, 1, &out);
        for (int i = 0; i < 6; i++) near(f[k].op, f[k].a[i], array_get(&out, i), want[k][i], k == 2 ? 0 : 1e-12, 0);
        array_free(&out);
        str_free(&text);
    }
}

static void upper_half_of_products(void **state) {
    (void)state;
    static const int64_t a[] = {INT64_MIN, -1, 123456789012345, INT64_MAX},
                         b[] = {INT64_MIN, 1, -987654321098765, INT64_MAX};
    int64_t n = 4;
    array in[2] = {{ir_tensor(XT_I64, 1, &n), (void *)a}, {ir_tensor(XT_I64, 1, &n), (void *)b}}, out;
    run("func.func @main(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {\n"
        "  %0 = chlo.mulhi %a, %b : tensor<4xi64>, tensor<4xi64> -> "
        "tensor<4xi64>\n"
        "  return %0 : tensor<4xi64>\n}",
        2, in, 1, &out);
    for (int i = 0; i < 4; i++) assert_true(((int64_t *)out.data)[i] == (int64_t)((__int128)a[i] * b[i] >> 64));
    array_free(&out);
    for (int i = 0; i < 2; i++) in[i].type = ir_tensor(XT_U64, 1, &n);
    run("func.func @main(%a: tensor<4xui64>, %b: tensor<4xui64>) -> tensor<4xui64> {\n"
        "  %0 = chlo.mulhi %a, %b : tensor<4xui64>, tensor<4xui64> -> "
        "tensor<4xui64>\n"
        "  return %0 : tensor<4xui64>\n}",
        2, in, 1, &out);
    for (int i = 0; i < 4; i++)
        assert_true(((uint64_t *)out.data)[i] == (uint64_t)((unsigned __int128)(uint64_t)a[i] * (uint64_t)b[i] >> 64));
    array_free(&out);
}

static void broadcasting(void **state) {
    (void)state;
    static const float a[] = {1, 2, 3}, b[] = {10, 20};
    int64_t da = 3, db[] = {2, 1};
    array in[2] = {{ir_tensor(XT_F32, 1, &da), (void *)a}, {ir_tensor(XT_F32, 2, db), (void *)b}}, out[3];
    run("func.func @main(%a: tensor<3xf32>, %b: tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xf32>) "
        "{\n"
        "  %0 = chlo.broadcast_subtract %b, %a : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>\n"
        "  %1 = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction LT>} : "
        "(tensor<3xf32>, tensor<2x1xf32>) -> "
        "tensor<2x3xi1>\n"
        "  %2 = \"chlo.broadcast_select\"(%1, %a, %b) : (tensor<2x3xi1>, tensor<3xf32>, tensor<2x1xf32>) -> "
        "tensor<2x3xf32>\n"
        "  %3 = \"chlo.constant_like\"(%2) <{value = dense<2.5> : tensor<f32>}> : (tensor<2x3xf32>) -> "
        "tensor<2x3xf32>\n"
        "  %4 = stablehlo.multiply %2, %3 : tensor<2x3xf32>\n"
        "  return %0, %1, %4 : tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xf32>\n}",
        2, in, 3, out);
    for (int i = 0; i < 6; i++) {
        assert_true(((float *)out[0].data)[i] == b[i / 3] - a[i % 3]);
        assert_int_equal(((uint8_t *)out[1].data)[i], 1);
        assert_true(((float *)out[2].data)[i] == 2.5f * a[i % 3]);
    }
    for (int i = 0; i < 3; i++) array_free(&out[i]);
}

static void largest_k(void **state) {
    (void)state;
    static const float x[] = {3, 1, 3, 7, NAN, -INFINITY, 0, 0, 5, 5};
    static const int32_t at[] = {4, 3, 0, 3, 4, 1};
    static const float top[] = {0, 7, 3, 5, 5, 0};
    int64_t d[] = {2, 5};
    array in = {ir_tensor(XT_F32, 2, d), (void *)x}, out[2];
    run("func.func @main(%a: tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {\n"
        "  %v, %i = chlo.top_k(%a, k = 3) : tensor<2x5xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)\n"
        "  return %v, %i : tensor<2x3xf32>, tensor<2x3xi32>\n}",
        1, &in, 2, out);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(((int32_t *)out[1].data)[i], at[i]);
        if (i) assert_true(((float *)out[0].data)[i] == top[i]);
    }
    assert_true(isnan(((float *)out[0].data)[0])); /* NaN comes first, as in NumPy's order */
    for (int i = 0; i < 2; i++) array_free(&out[i]);
}

/* Rows in groups, a contracted dim in groups, a batching dim in groups; what lies beyond the last group gives zeros. */
static void ragged_products(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, y[] = {1, 0, 0, 1, 10, 0, 0, 10};
    static const int32_t sizes[] = {1, 2};
    static const float rows_want[] = {1, 2, 30, 40, 50, 60, 0, 0}, inner_want[] = {1, 3, 5, 7, 0, 0, 0, 0};
    array in[] = {{ir_tensor(XT_F32, 2, (int64_t[]){4, 2}), (void *)x},
                  {ir_tensor(XT_F32, 3, (int64_t[]){2, 2, 2}), (void *)y},
                  {ir_tensor(XT_I32, 1, (int64_t[]){2}), (void *)sizes}},
          out;
    run("func.func @main(%x: tensor<4x2xf32>, %y: tensor<2x2x2xf32>, %g: tensor<2xi32>) -> tensor<4x2xf32> {\n"
        "%0 = \"chlo.ragged_dot\"(%x, %y, %g) {ragged_dot_dimension_numbers = "
        "#chlo.ragged_dot<lhs_contracting_dimensions = [1], "
        "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : "
        "(tensor<4x2xf32>, tensor<2x2x2xf32>, tensor<2xi32>) -> tensor<4x2xf32>\nreturn %0 : tensor<4x2xf32>\n}",
        3, in, 1, &out);
    assert_memory_equal(out.data, rows_want, sizeof rows_want);
    array_free(&out);
    in[1] = (array){ir_tensor(XT_F32, 2, (int64_t[]){2, 1}), (void *)y};
    in[2].data = (int32_t[]){1, 0};
    run("func.func @main(%x: tensor<4x2xf32>, %y: tensor<2x1xf32>, %g: tensor<2xi32>) -> tensor<2x4x1xf32> {\n"
        "%0 = \"chlo.ragged_dot\"(%x, %y, %g) {ragged_dot_dimension_numbers = "
        "#chlo.ragged_dot<lhs_contracting_dimensions = [1], "
        "rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1], rhs_group_dimensions = []>} : "
        "(tensor<4x2xf32>, tensor<2x1xf32>, tensor<2xi32>) -> tensor<2x4x1xf32>\nreturn %0 : tensor<2x4x1xf32>\n}",
        3, in, 1, &out);
    assert_memory_equal(out.data, inner_want, sizeof inner_want);
    array_free(&out);
}

/* Custom calls that mean an op of chlo. */
static void named_calls(void **state) {
    (void)state;
    static const float x[] = {3, 1, 4, 1, 5}, want[] = {5, 4};
    array in = {ir_tensor(XT_F32, 1, (int64_t[]){5}), (void *)x}, out[2];
    run("func.func @main(%a: tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>) {\n"
        "%0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = "
        "1 : i64} : "
        "(tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>)\nreturn %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>\n}",
        1, &in, 2, out);
    assert_memory_equal(out[0].data, want, sizeof want);
    for (int i = 0; i < 2; i++) array_free(&out[i]);
    /* With aggregate_to_topk = false more than k may be asked for: as many as the result holds. */
    static const float sorted[] = {5, 4, 3};
    run("func.func @more(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {\n"
        "%0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\nreturn %0 : tensor<i1>\n}\n"
        "func.func public @main(%a: tensor<5xf32>) -> (tensor<3xf32>, tensor<3xi32>) {\n"
        "%i = stablehlo.iota dim = 0 : tensor<5xi32>\n"
        "%m = stablehlo.constant dense<-1> : tensor<i32>\n"
        "%n = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "%0:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %n, %m) {called_computations = [@more], mhlo.backend_config "
        "= {aggregate_to_topk = false, is_fallback = true, recall_target = 0.95 : f32, "
        "reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}} : (tensor<5xf32>, "
        "tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)\n"
        "return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>\n}",
        1, &in, 2, out);
    assert_memory_equal(out[0].data, sorted, sizeof sorted);
    assert_memory_equal(out[1].data, ((const int32_t[]){4, 2, 0}), 3 * sizeof(int32_t));
    for (int i = 0; i < 2; i++) array_free(&out[i]);
    run("func.func @main(%a: tensor<5xf32>) -> tensor<5xf32> {\n"
        "%0 = stablehlo.custom_call @mhlo.erf(%a) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<5xf32>) -> "
        "tensor<5xf32>\n"
        "return %0 : tensor<5xf32>\n}",
        1, &in, 1, out);
    for (int i = 0; i < 5; i++) assert_true(fabsf(((float *)out[0].data)[i] - erff(x[i])) < 1e-6f);
    array_free(&out[0]);
}

/* They wait for pass_refine, which makes the shapes static. */
static void dynamic_shapes_are_left_and_refined(void **state) {
    (void)state;
    static const char text[] = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
                               "  %0 = chlo.erf %a : tensor<?xf32> -> tensor<?xf32>\n"
                               "  return %0 : tensor<?xf32>\n"
                               "}";
    ir_module *m;
    assert_null(ir_parse(text, sizeof text - 1, "dyn.mlir", &m));
    assert_null(pass_expand_chlo(m));
    assert_int_equal(m->funcs->body->first->code, OP_chlo_erf);
    assert_true(pass_is_dynamic(m));
    array in = {ir_tensor(XT_F32, 1, (int64_t[]){3}), NULL};
    assert_null(pass_refine(m, "main", 1, &in));
    assert_false(pass_is_dynamic(m));
    for (const ir_op *op = m->funcs->body->first; op; op = op->next) assert_int_not_equal(op->code, OP_chlo_erf);
    ir_module_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_in_f64),
        cmocka_unit_test(values_in_narrow_types),
        cmocka_unit_test(lgamma_of_f32),
        cmocka_unit_test(predicates),
        cmocka_unit_test(complex_functions),
        cmocka_unit_test(two_operands),
        cmocka_unit_test(upper_half_of_products),
        cmocka_unit_test(broadcasting),
        cmocka_unit_test(largest_k),
        cmocka_unit_test(dynamic_shapes_are_left_and_refined),
        cmocka_unit_test(ragged_products),
        cmocka_unit_test(named_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
