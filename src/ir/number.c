/* Floating-point numbers as MLIR spells them: always with a point, exponent of at least two digits, bits in hexadecimal
 * where no decimal number exists. */
#include "ir/interp.h"
#include "ir/text.h"

void number_print(xt_dtype t, const void *bits, str *out) {
    size_t size = xt_dtype_size(t);
    array one = {ir_scalar(t), (void *)bits};
    double v = array_get(&one, 0);
    char buf[40];
    uint64_t again[2] = {0};
    array back = {one.type, again};
    static const int digits[] = {6, 8, 16};
    for (size_t i = 0; v - v == 0 && i < BASE_COUNT(digits); i++) {
        number_format(buf, sizeof buf, digits[i], v);
        array_set(&back, 0, number_parse(buf, strlen(buf)));
        if (memcmp(again, bits, size) == 0) {
            str_append(out, buf);
            return;
        }
    }
    uint64_t raw = 0;
    memcpy(&raw, bits, size < sizeof raw ? size : sizeof raw);
    str_printf(out, "0x%0*llX", (int)(2 * size), (unsigned long long)raw);
}
