/* The narrow floats against ml_dtypes: every code's value, and the code of numbers on, beside and between representable
 * ones, from f32 and f64. tests/parity/narrow_floats.py made the reference. */
#include "parity.h"

#include "ir/interp_int.h"

static const struct narrow {
    const char *name;
    xt_dtype dtype;
} types[] = {
    {"float8_e3m4", XT_F8E3M4},
    {"float8_e4m3", XT_F8E4M3},
    {"float8_e4m3fn", XT_F8E4M3FN},
    {"float8_e4m3fnuz", XT_F8E4M3FNUZ},
    {"float8_e4m3b11fnuz", XT_F8E4M3B11FNUZ},
    {"float8_e5m2", XT_F8E5M2},
    {"float8_e5m2fnuz", XT_F8E5M2FNUZ},
    {"float8_e8m0fnu", XT_F8E8M0FNU},
    {"float4_e2m1fn", XT_F4E2M1FN},
    {"float6_e2m3fn", XT_F6E2M3FN},
    {"float6_e3m2fn", XT_F6E3M2FN},
    {"bfloat16", XT_BF16},
    {"float16", XT_F16},
};

static const parity_tensor *find(const parity_file *f, const char *type, const char *what) {
    char name[96];
    snprintf(name, sizeof name, "%s/%s", type, what);
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->tensors[i].name, name)) return &f->tensors[i];
    fail_msg("%s is not in the file", name);
    return NULL;
}

static void every_code_decodes(void **state) {
    parity_file *f = *state;
    for (size_t k = 0; k < BASE_COUNT(types); k++) {
        const parity_tensor *codes = find(f, types[k].name, "codes"), *want = find(f, types[k].name, "decode");
        size_t size = xt_dtype_size(types[k].dtype);
        for (int64_t i = 0; i < codes->type->count; i++) {
            float got, w = ((const float *)want->data)[i];
            double wide;
            convert_elems(1, types[k].dtype, (const char *)codes->data + (size_t)i * size, XT_F32, &got);
            convert_elems(1, types[k].dtype, (const char *)codes->data + (size_t)i * size, XT_F64, &wide);
            bool same = (isnan(w) && isnan(got) && isnan(wide)) || (memcmp(&got, &w, 4) == 0 && wide == (double)w);
            if (!same)
                fail_msg("%s code number %lld: %g and %g, ml_dtypes has %g", types[k].name, (long long)i, (double)got,
                         wide, (double)w);
        }
    }
}

/* A NaN may have any NaN's code. */
static bool same_code(xt_dtype t, const void *a, const void *b) {
    float x, y;
    if (!memcmp(a, b, xt_dtype_size(t))) return true;
    convert_elems(1, t, a, XT_F32, &x);
    convert_elems(1, t, b, XT_F32, &y);
    return isnan(x) && isnan(y);
}

static void numbers_round_as_they_should(void **state) {
    parity_file *f = *state;
    for (size_t k = 0; k < BASE_COUNT(types); k++) {
        const parity_tensor *x = find(f, types[k].name, "near"), *want = find(f, types[k].name, "encode");
        size_t size = xt_dtype_size(types[k].dtype);
        for (int64_t i = 0; i < x->type->count; i++) {
            float v = ((const float *)x->data)[i];
            double wide = (double)v;
            uint16_t got = 0, from_wide = 0, code = 0;
            convert_elems(1, XT_F32, &v, types[k].dtype, &got);
            convert_elems(1, XT_F64, &wide, types[k].dtype, &from_wide);
            memcpy(&code, (const char *)want->data + (size_t)i * size, size);
            if (!same_code(types[k].dtype, &got, &code) || !same_code(types[k].dtype, &from_wide, &code))
                fail_msg("%s of %a: code 0x%x, from f64 0x%x, ml_dtypes has 0x%x", types[k].name, wide, got, from_wide,
                         code);
        }
    }
}

static int open_file(void **state) {
    *state = parity_open("narrow_floats");
    return 0;
}
static int close_file(void **state) {
    parity_close_file(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_code_decodes),
                                       cmocka_unit_test(numbers_round_as_they_should)};
    return cmocka_run_group_tests(tests, open_file, close_file);
}
