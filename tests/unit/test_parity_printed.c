/* Arrays as text, to the byte as PyTorch prints them (but for what it writes around them). */
#include "parity.h"

#include "lazy/core/array_text.h"

static void as_pytorch_prints(void **state) {
    (void)state;
    parity_file *f = parity_open("printed");
    size_t cases = 0;
    for (size_t i = 0; i < f->n; i++) {
        const parity_tensor *x = &f->tensors[i];
        size_t length = strcspn(x->name, "/");
        bool parts = strcmp(x->name + length, "/c0") == 0;
        if (!parts && strcmp(x->name + length, "/x0") != 0) continue;
        const parity_tensor *want = parity_find(f, "%.*s/text", (int)length, x->name);
        assert_non_null(want);
        str text = STR_INIT;
        array_text(&text, x->data, parts ? XT_C64 : x->type->dtype, x->type->dims, (int)x->type->rank - parts);
        if (text.len != (size_t)want->type->count || memcmp(text.data, want->data, text.len) != 0)
            fail_msg("%s:\n%s\nPyTorch:\n%.*s", x->name, text.data, (int)want->type->count, (const char *)want->data);
        str_free(&text);
        cases++;
    }
    assert_true(cases > 35);
    parity_close_file(f);
}

/* What PyTorch has no form of: one element is a number, not a tensor; none are none. */
static void ones_and_none(void **state) {
    (void)state;
    static const struct {
        const char *want;
        xt_dtype dtype;
        int rank;
        int64_t dims[2];
        union {
            float f;
            int64_t i;
            float c[2];
            double d[2];
        } v;
    } rows[] = {
        {"0.25", XT_F32, 0, {0}, {.f = 0.25F}},
        {"1e-05", XT_F32, 2, {1, 1}, {.f = 1e-5F}},
        {"-123456789", XT_I64, 1, {1}, {.i = -123456789}},
        {"18446744073709551615", XT_U64, 0, {0}, {.i = -1}},
        {"1", XT_BOOL, 0, {0}, {.i = 1}},
        {"nan", XT_F32, 0, {0}, {.f = NAN}},
        {"[]", XT_F32, 2, {0, 3}, {.f = 0}},
        {"1.5000-2.j", XT_C64, 0, {0}, {.c = {1.5F, -2}}},
        {"[1.5000-2.j]", XT_C128, 1, {1}, {.d = {1.5, -2}}},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        str text = STR_INIT;
        array_text(&text, &rows[i].v, rows[i].dtype, rows[i].dims, rows[i].rank);
        assert_string_equal(str_cstr(&text), rows[i].want);
        str_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_pytorch_prints), cmocka_unit_test(ones_and_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
