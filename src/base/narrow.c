/* The two forms of integers of less than a byte: one pass over their bytes each. */
#include "base/narrow.h"

unsigned narrow_bits(xt_dtype t) {
    return t == XT_I4 || t == XT_U4 ? 15 : t == XT_I2 || t == XT_U2 ? 3 : 255;
}

void narrow_mask(xt_dtype t, void *data, size_t n) {
    unsigned bits = narrow_bits(t);
    uint8_t *v = data;
    for (size_t i = 0; bits != 255 && i < n; i++) v[i] &= (uint8_t)bits;
}

void narrow_extend(xt_dtype t, void *data, size_t n) {
    unsigned sign = t == XT_I4 ? 8 : t == XT_I2 ? 2 : 0;
    uint8_t *v = data;
    narrow_mask(t, data, n);
    for (size_t i = 0; sign && i < n; i++) v[i] = (uint8_t)((v[i] ^ sign) - sign);
}
