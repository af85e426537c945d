/* Names and host sizes of the element types, one row each, and the version of the library. */
#include "base/base.h"

typedef struct dtype_row {
    const char *name;
    unsigned char size;
} dtype_row;

static const dtype_row rows[XT_DTYPE_COUNT] = {
    [XT_DTYPE_NONE] = {"none", 0},
    [XT_BOOL] = {"bool", 1},
    [XT_I1] = {"i1", 1},
    [XT_I2] = {"i2", 1},
    [XT_I4] = {"i4", 1},
    [XT_I8] = {"i8", 1},
    [XT_I16] = {"i16", 2},
    [XT_I32] = {"i32", 4},
    [XT_I64] = {"i64", 8},
    [XT_U1] = {"u1", 1},
    [XT_U2] = {"u2", 1},
    [XT_U4] = {"u4", 1},
    [XT_U8] = {"u8", 1},
    [XT_U16] = {"u16", 2},
    [XT_U32] = {"u32", 4},
    [XT_U64] = {"u64", 8},
    [XT_F16] = {"f16", 2},
    [XT_F32] = {"f32", 4},
    [XT_F64] = {"f64", 8},
    [XT_BF16] = {"bf16", 2},
    [XT_C64] = {"c64", 8},
    [XT_C128] = {"c128", 16},
    [XT_F8E5M2] = {"f8e5m2", 1},
    [XT_F8E4M3] = {"f8e4m3", 1},
    [XT_F8E3M4] = {"f8e3m4", 1},
    [XT_F8E4M3FN] = {"f8e4m3fn", 1},
    [XT_F8E4M3B11FNUZ] = {"f8e4m3b11fnuz", 1},
    [XT_F8E5M2FNUZ] = {"f8e5m2fnuz", 1},
    [XT_F8E4M3FNUZ] = {"f8e4m3fnuz", 1},
    [XT_F8E8M0FNU] = {"f8e8m0fnu", 1},
    [XT_F6E2M3FN] = {"f6e2m3fn", 1},
    [XT_F6E3M2FN] = {"f6e3m2fn", 1},
    [XT_F4E2M1FN] = {"f4e2m1fn", 1},
    [XT_TOKEN] = {"token", 0},
};

static const dtype_row *row_of(xt_dtype t) {
    return (unsigned)t < XT_DTYPE_COUNT ? &rows[t] : &rows[XT_DTYPE_NONE];
}

XT_API const char *xt_dtype_name(xt_dtype t) {
    return row_of(t)->name;
}

XT_API size_t xt_dtype_size(xt_dtype t) {
    return row_of(t)->size;
}

XT_API const char *xt_version(void) {
    return XT_VERSION;
}
