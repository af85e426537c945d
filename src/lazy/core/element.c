/* One element of a tensor, of whatever type, as a number of the host's. */
#include <math.h>

#include "lazy/lazy.h"

static float half_bits(uint32_t h) {
    uint32_t sign = (h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 1023, bits;
    if (e == 31)
        bits = sign | 0x7f800000u | m << 13;
    else if (e)
        bits = sign | (e + 112) << 23 | m << 13;
    else {
        float f = (float)m * 0x1p-24f;
        return sign ? -f : f;
    }
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

double lazy_as_double(const void *p, xt_dtype t) {
#define CASE(tag, ctype)         \
    case tag: {                  \
        ctype v;                 \
        memcpy(&v, p, sizeof v); \
        return (double)v;        \
    }
    switch (t) {
        CASE(XT_F32, float)
        CASE(XT_F64, double)
        CASE(XT_I8, int8_t)
        CASE(XT_I16, int16_t)
        CASE(XT_I32, int32_t)
        CASE(XT_I64, int64_t)
        CASE(XT_BOOL, uint8_t)
        CASE(XT_U8, uint8_t)
        CASE(XT_U16, uint16_t)
        CASE(XT_U32, uint32_t)
        CASE(XT_U64, uint64_t)
        CASE(XT_C64, float)
        CASE(XT_C128, double)
    case XT_BF16:
    case XT_F16: {
        uint16_t h;
        memcpy(&h, p, 2);
        if (t == XT_F16) return half_bits(h);
        uint32_t bits = (uint32_t)h << 16;
        float f;
        memcpy(&f, &bits, 4);
        return f;
    }
    default: return NAN;
    }
#undef CASE
}
