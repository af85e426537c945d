/* Quotients of integers by constants: by the upper half of a product with a number that stands for the reciprocal, and
 * shifts (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994; the search for the number
 * as in Warren, Hacker's Delight, 10-1 and 10-9). Exact for every dividend. Processors have no vectors of quotients of
 * integers, and one quotient takes as long as some ten products. */
#include "cpu/vector/vprog.h"

typedef unsigned __int128 wide;
typedef struct reciprocal {
    uint64_t factor; /* as many low bits as the type has */
    int shift;
    bool beyond; /* the factor has one bit more, which is set */
} reciprocal;

/* Of |d| >= 2 in numbers of `bits` bits with a sign: x * factor >> (bits + shift), rounded down, is x / |d| or, below
 * 0, 1 less. */
static reciprocal of_signed(int bits, int64_t d) {
    uint64_t size = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
    uint64_t end = ((uint64_t)1 << (bits - 1)) + (d < 0), largest = end - 1 - end % size;
    int p = bits;
    while ((wide)1 << p <= (wide)largest * (size - (uint64_t)(((wide)1 << p) % size))) p++;
    uint64_t factor = (uint64_t)((((wide)1 << p) + (size - (uint64_t)(((wide)1 << p) % size))) / size);
    return (reciprocal){d < 0 ? 0 - factor : factor, p - bits, false};
}

/* Of d >= 2; false: it does not fit. */
static bool of_unsigned(int bits, uint64_t d, reciprocal *out) {
    uint64_t all = UINT64_MAX >> (64 - bits), largest = all - (all - d + 1) % d;
    int p = bits;
    while (p < 127 && (wide)1 << p <= (wide)largest * (d - 1 - (uint64_t)((((wide)1 << p) - 1) % d))) p++;
    wide power = (wide)1 << p, factor = (power + (d - 1) - (power - 1) % d) / d;
    *out = (reciprocal){(uint64_t)factor & all, p - bits, factor > all};
    return power > (wide)largest * (d - 1 - (uint64_t)((power - 1) % d));
}

static int once(vprog_builder *b, vprog_op op, vprog_type t, int x, int y) {
    int there = vprog_find(b, op, t, x, y);
    return there >= 0 ? there : vprog_emit(b, op, t, x, y, -1);
}
static int with_number(vprog_builder *b, vprog_op op, vprog_type t, int x, uint64_t number) {
    return once(b, op, t, x, vprog_constant(b, t, &number)); /* little endian: the low bits come first */
}

static int signed_quotient(vprog_builder *b, vprog_type t, int bits, int x, int64_t d) {
    reciprocal r = of_signed(bits, d);
    bool negative = r.factor >> (bits - 1) & 1;
    int q = with_number(b, VPROG_MUL_HIGH, t, x, r.factor);
    if (d > 0 && negative) q = once(b, VPROG_ADD, t, q, x);
    if (d < 0 && !negative) q = once(b, VPROG_SUB, t, q, x);
    if (r.shift) q = with_number(b, VPROG_SHRA, t, q, (uint64_t)r.shift);
    return once(b, VPROG_ADD, t, q, with_number(b, VPROG_SHRL, t, q, (uint64_t)bits - 1));
}

static int unsigned_quotient(vprog_builder *b, vprog_type t, int x, const reciprocal *r) {
    int q = with_number(b, VPROG_MUL_HIGH, t, x, r->factor);
    if (!r->beyond) return r->shift ? with_number(b, VPROG_SHRL, t, q, (uint64_t)r->shift) : q;
    int half = with_number(b, VPROG_SHRL, t, once(b, VPROG_SUB, t, x, q), 1);
    q = once(b, VPROG_ADD, t, half, q);
    return r->shift > 1 ? with_number(b, VPROG_SHRL, t, q, (uint64_t)r->shift - 1) : q;
}

int vprog_emit_quotient(vprog_builder *b, vprog_type t, int x, int y) {
    uint64_t bits = 0;
    reciprocal r;
    bool narrow = t == VPROG_I32 || t == VPROG_U32;
    if ((narrow || t == VPROG_I64 || t == VPROG_U64) && vprog_splat(b, y, &bits)) {
        int64_t d = t == VPROG_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
        if ((t == VPROG_I32 || t == VPROG_I64) && (d < -1 || d > 1))
            return signed_quotient(b, t, narrow ? 32 : 64, x, d);
        if ((t == VPROG_U32 || t == VPROG_U64) && bits > 1 && of_unsigned(narrow ? 32 : 64, bits, &r))
            return unsigned_quotient(b, t, x, &r);
    }
    return once(b, VPROG_DIV, t, x, y);
}
