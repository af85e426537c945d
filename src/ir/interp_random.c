/* rng_bit_generator, bit for bit as XLA generates: Philox 4x32-10 and ThreeFry 2x32-20 (Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", 2011), and rng from the process's own counter.
 *
 * State of PHILOX: {key, low, high} or {key, low}, where the shorter one starts its high half at the key; every 128-bit
 * counter value gives four words in a row. State of THREE_FRY: {key, counter}; 64-bit results take one counter each,
 * shorter ones are made in halves along the first even dim (else the longest), whose elements alternate. DEFAULT is
 * PHILOX. Types of less than 32 bits keep the low bits of a word each. */
#include "ir/interp_int.h"

#include <math.h>
#include <stdatomic.h>

enum { RNG_DEFAULT, RNG_THREE_FRY, RNG_PHILOX };
enum { RNG_UNIFORM = 1, RNG_NORMAL = 2 };

static void store_word(char *dst, int64_t i, size_t size, uint64_t word) {
    switch (size) {
    case 1: ((uint8_t *)dst)[i] = (uint8_t)word; break;
    case 2: ((uint16_t *)dst)[i] = (uint16_t)word; break;
    case 4: ((uint32_t *)dst)[i] = (uint32_t)word; break;
    default: ((uint64_t *)dst)[i] = word; break;
    }
}

static void philox(const uint64_t *state, size_t n_state, array *out_state, array *out) {
    size_t size = xt_dtype_size(out->type->dtype);
    uint64_t key = state[0], low = state[1], high = n_state >= 3 ? state[2] : state[0];
    int64_t n = out->type->count, words_each = size == 8 ? 2 : 1, blocks = (n * words_each + 3) / 4;
    for (int64_t b = 0; b < blocks; b++) {
        uint32_t w[4];
        uint64_t lo = low + (uint64_t)b;
        philox4x32(key, lo, high + (lo < low), w);
        for (int64_t k = 0; k < 4 / words_each && b * 4 / words_each + k < n; k++)
            store_word(out->data, b * 4 / words_each + k, size,
                       words_each == 2 ? w[2 * k] | (uint64_t)w[2 * k + 1] << 32 : w[k]);
    }
    uint64_t *next = out_state->data, lo = low + (uint64_t)blocks;
    next[0] = key;
    next[1] = lo;
    if (n_state >= 3) next[2] = high + (lo < low);
}

static uint64_t three_fry(uint64_t key, uint64_t count) {
    static const unsigned char turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t ks[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0}, x = (uint32_t)count, y = (uint32_t)(count >> 32);
    ks[2] = ks[0] ^ ks[1] ^ 0x1BD11BDA;
    x += ks[0];
    y += ks[1];
    for (uint32_t group = 0; group < 5; group++) {
        for (int i = 0; i < 4; i++) {
            unsigned r = turns[group & 1][i];
            x += y;
            y = (y << r | y >> (32 - r)) ^ x;
        }
        x += ks[(group + 1) % 3];
        y += ks[(group + 2) % 3] + group + 1;
    }
    return x | (uint64_t)y << 32;
}

static void three_fry_fill(const uint64_t *state, array *out_state, array *out) {
    const ir_type *t = out->type;
    size_t size = xt_dtype_size(t->dtype);
    uint64_t *next = out_state->data;
    next[0] = state[0];
    if (size == 8) {
        for (int64_t i = 0; i < t->count; i++) ((uint64_t *)out->data)[i] = three_fry(state[0], state[1] + (uint64_t)i);
        next[1] = state[1] + (uint64_t)t->count;
        return;
    }
    uint32_t split = 0;
    for (uint32_t d = 1; d < t->rank; d++)
        if (t->dims[d] > t->dims[split]) split = d;
    for (uint32_t d = t->rank; d-- > 0;)
        if (t->dims[d] % 2 == 0) split = d;
    int64_t n = t->rank ? t->dims[split] : 1, half = (n + 1) / 2, inner = 1, outer = 1;
    for (uint32_t d = split + 1; d < t->rank; d++) inner *= t->dims[d];
    for (uint32_t d = 0; d < split; d++) outer *= t->dims[d];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t h = 0; h < half; h++)
            for (int64_t i = 0; i < inner; i++) {
                uint64_t pair = three_fry(state[0], state[1] + (uint64_t)((o * half + h) * inner + i));
                store_word(out->data, (o * n + 2 * h) * inner + i, size, (uint32_t)pair);
                if (2 * h + 1 < n) store_word(out->data, (o * n + 2 * h + 1) * inner + i, size, pair >> 32);
            }
    next[1] = state[1] + (uint64_t)(outer * half * inner);
}

/* The state may come as ui64 or as pairs of ui32. */
xt_status interp_rng_bit_generator(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    int64_t algorithm = ir_get_int(op, IR_A_rng_algorithm, RNG_DEFAULT);
    size_t n_state = ir_type_bytes(in->type) / sizeof(uint64_t);
    if (n_state < 2 || (algorithm == RNG_THREE_FRY && n_state != 2))
        return interp_unsupported(op, "a state of this size");
    uint64_t state[3];
    memcpy(state, in->data, (n_state < 3 ? n_state : 3) * sizeof *state);
    if (out[0].data != in->data) memcpy(out[0].data, in->data, ir_type_bytes(in->type));
    if (algorithm == RNG_THREE_FRY)
        three_fry_fill(state, &out[0], &out[1]);
    else
        philox(state, n_state, &out[0], &out[1]);
    if (dtype_is_subbyte(out[1].type->dtype))
        for (int64_t i = 0; i < out[1].type->count; i++)
            ((int8_t *)out[1].data)[i] = wrap_subbyte(out[1].type->dtype, ((int8_t *)out[1].data)[i]);
    if (out[1].type->dtype == XT_BOOL)
        for (int64_t i = 0; i < out[1].type->count; i++) ((uint8_t *)out[1].data)[i] &= 1;
    return NULL;
}

/* Every call of the process draws from a stream of its own. */
xt_status interp_rng(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    static _Atomic uint64_t calls;
    uint64_t stream = atomic_fetch_add(&calls, 1);
    double a = array_get(&in[0], 0), b = array_get(&in[1], 0);
    xt_dtype t = out->type->dtype;
    bool normal = ir_get_int(op, IR_A_rng_distribution, RNG_UNIFORM) == RNG_NORMAL;
    for (int64_t i = 0; i < out->type->count; i++) {
        if (normal) {
            array_set(out, i, a + b * (double)rng_normal(0, stream, (uint64_t)i));
        } else if (ir_dtype_is_float(t)) {
            double v = a + (b - a) * (double)rng_uniform(0, stream, (uint64_t)i);
            array_set(out, i, v);
            if (array_get(out, i) >= b && b > a) array_set(out, i, a); /* rounding may reach the open end */
        } else {
            int64_t lo, hi;
            convert_elems(1, t, in[0].data, XT_I64, &lo);
            convert_elems(1, t, in[1].data, XT_I64, &hi);
            uint64_t range = (uint64_t)hi - (uint64_t)lo,
                     v = (uint64_t)lo + (range ? rng_bits(0, stream, (uint64_t)i) % range : 0);
            int64_t as_signed = (int64_t)v;
            convert_elems(1, XT_I64, &as_signed, t, (char *)out->data + (size_t)i * xt_dtype_size(t));
        }
    }
    return NULL;
}
