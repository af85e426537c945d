/* Tensors from nothing: constants, counts, random numbers.
 *
 * Random: Philox 4x32-10 (Salmon et al. 2011) as ui32 ops, so every device draws the same bits. Key = seed, counter
 * = (block, stream, step); the element's index names block and word: element i is word i mod 4 of block i / 4, as
 * in base/rng.c. */
#include <math.h>

#include "ops/number.h"

bool ops_new_type(const xt_src *src, const char *what, xt_dtype dtype, const int64_t *dims, const ir_type **type,
                  xt_tensor *out) {
    int rank = ops_rank(dims);
    ops_text shape;
    *type = xt_dtype_size(dtype) && dtype != XT_TOKEN ? ir_tensor(dtype, (size_t)rank, dims) : NULL;
    for (int i = 0; i < rank && *type; i++)
        if (dims[i] < 0) *type = NULL;
    if (*type) return true;
    *out = lazy_error(
        src, XT_INVALID_ARGUMENT,
        "%s: dtype %s, shape %s: a dtype of numbers, dims of at least 1 and a size that fits memory are needed", what,
        xt_dtype_name(dtype), ops_dims((size_t)rank, dims, &shape));
    return false;
}

xt_tensor xt_full_at(const xt_src *src, double value, xt_dtype dtype, const int64_t *dims) {
    const ir_type *t;
    xt_tensor failed;
    if (!ops_new_type(src, "xt_full", dtype, dims, &t, &failed)) return failed;
    if (!ops_number_fits(src, "xt_full", dtype, value, true, &failed)) return failed;
    bool constant;
    ir_value *v = ops_number(src, "xt_full", dtype, value, &constant);
    ir_builder *b = lazy_begin(src);
    if (constant) v = ops_splat(b, t, value);
    return lazy_wrap(v && !constant ? ops_broadcast(b, v, t->rank, t->dims) : v, "xt_full");
}

static xt_tensor filled(const xt_src *src, const char *what, double value, xt_dtype dtype, const int64_t *dims) {
    const ir_type *t;
    xt_tensor failed;
    if (!ops_new_type(src, what, dtype, dims, &t, &failed)) return failed;
    return lazy_wrap(ops_splat(lazy_begin(src), t, value), what);
}
xt_tensor xt_zeros_at(const xt_src *src, xt_dtype dtype, const int64_t *dims) {
    return filled(src, "xt_zeros", 0, dtype, dims);
}
xt_tensor xt_ones_at(const xt_src *src, xt_dtype dtype, const int64_t *dims) {
    return filled(src, "xt_ones", 1, dtype, dims);
}

xt_tensor xt_arange_at(const xt_src *src, int64_t n, xt_dtype dtype) {
    ir_builder *b = lazy_begin(src);
    if (n < 0 || dtype == XT_BOOL || dtype == XT_TOKEN || !xt_dtype_size(dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_arange: %lld numbers of dtype %s: at least 0, of a dtype of numbers", (long long)n,
                          xt_dtype_name(dtype));
    return lazy_wrap(ir_iota(b, ir_tensor(dtype, 1, &n), 0), "xt_arange");
}

/* --- random --- */
typedef struct draw {
    ir_builder *b;
    const ir_type *words, *wide; /* ui32 and ui64, one element a block */
} draw;

static ir_value *word(draw *d, double v) {
    return ir_splat(d->b, d->words, v);
}

/* The upper and lower half of a 64-bit product. */
static void multiply_wide(draw *d, ir_value *x, uint32_t by, ir_value **high, ir_value **low) {
    ir_builder *b = d->b;
    ir_value *p = ir_multiply(b, ir_convert(b, x, XT_U64), ir_splat(b, d->wide, by));
    *low = p ? ir_convert(b, p, XT_U32) : NULL;
    p = ir_shift_right_logical(b, p, ir_splat(b, d->wide, 32));
    *high = p ? ir_convert(b, p, XT_U32) : NULL;
}

/* Element k of the key, in every block. */
static ir_value *key_word(draw *d, ir_value *key, int64_t k) {
    int64_t limit = k + 1;
    ir_value *v = ir_slice(d->b, key, &k, &limit, NULL);
    v = v ? ir_reshape(d->b, v, 0, NULL) : NULL;
    return v ? ir_broadcast_scalar(d->b, v, d->words) : NULL;
}

/* The four words of blocks `block`; round: which numbers of the same draw, NULL = the first. */
static bool philox_of(draw *d, ir_value *key, ir_value *block, ir_value *round, ir_value *c[4]) {
    ir_builder *b = d->b;
    ir_value *k0 = key_word(d, key, 0), *k1 = key_word(d, key, 1);
    c[0] = block;
    c[1] = round ? ir_broadcast_scalar(b, round, d->words) : word(d, 0);
    c[2] = key_word(d, key, 2);
    c[3] = key_word(d, key, 3);
    for (int i = 0; i < 10 && c[0] && c[2]; i++) {
        ir_value *p_high, *p_low, *q_high, *q_low;
        multiply_wide(d, c[0], 0xD2511F53u, &p_high, &p_low);
        multiply_wide(d, c[2], 0xCD9E8D57u, &q_high, &q_low);
        ir_value *next0 = ir_xor(b, ir_xor(b, q_high, c[1]), k0), *next2 = ir_xor(b, ir_xor(b, p_high, c[3]), k1);
        c[0] = next0;
        c[1] = q_low;
        c[2] = next2;
        c[3] = p_low;
        k0 = ir_add(b, k0, word(d, 0x9E3779B9u));
        k1 = ir_add(b, k1, word(d, 0xBB67AE85u));
    }
    return c[0] && c[1] && c[2] && c[3];
}

/* Those of blocks 0 .. n-1. */
static bool philox(draw *d, ir_value *key, ir_value *round, ir_value *c[4]) {
    return philox_of(d, key, ir_iota(d->b, d->words, 0), round, c);
}

/* A word as a fraction in [0, 1): its upper 24 bits, which f32 holds exactly. */
static ir_value *fraction(draw *d, ir_value *w) {
    ir_value *f = ir_convert(d->b, ir_shift_right_logical(d->b, w, word(d, 8)), XT_F32);
    return f ? ir_multiply(d->b, f, ir_splat(d->b, f->type, 0x1p-24)) : NULL;
}

/* Two words to two normals (Box-Muller). */
static void normals(draw *d, ir_value *u, ir_value *w, ir_value **out0, ir_value **out1) {
    ir_builder *b = d->b;
    const ir_type *t = ir_with_dtype(d->words, XT_F32);
    ir_value *open = ir_multiply(b, ir_add(b, ir_convert(b, u, XT_F32), ir_splat(b, t, 0.5)), ir_splat(b, t, 0x1p-32));
    /* A word near 2^32 rounds up to 1, whose logarithm is a proper zero: the radius needs no guard. */
    ir_value *radius = ir_sqrt(b, ir_multiply(b, ir_log(b, open), ir_splat(b, t, -2)));
    ir_value *angle = ir_multiply(b, ir_convert(b, w, XT_F32), ir_splat(b, t, 2 * M_PI * 0x1p-32));
    *out0 = ir_multiply(b, radius, ir_cosine(b, angle));
    *out1 = ir_multiply(b, radius, ir_sine(b, angle));
}

/* Four values a block, laid out as elements of t's dims. */
static ir_value *lay_out(draw *d, ir_value *v[4], const ir_type *t) {
    ir_builder *b = d->b;
    int64_t blocks = d->words->count, column[2] = {blocks, 1}, all = 4 * blocks, zero = 0;
    for (int i = 0; i < 4; i++) v[i] = v[i] ? ir_reshape(b, v[i], 2, column) : NULL;
    if (!v[0] || !v[1] || !v[2] || !v[3]) return NULL;
    ir_value *flat = ir_concatenate(b, 4, v, 1);
    flat = flat ? ir_reshape(b, flat, 1, &all) : NULL;
    if (flat && t->count != all) flat = ir_slice(b, flat, &zero, &t->count, NULL);
    return flat ? ir_reshape(b, flat, t->rank, t->dims) : NULL;
}

static ir_value *words_of(const xt_src *src, const ir_type *t, xt_tensor key) {
    ir_builder *b = lazy_begin(src);
    ir_value *k = lazy_value(key), *c[4];
    int64_t blocks = (t->count + 3) / 4;
    draw d = {b, ir_tensor(XT_U32, 1, &blocks), ir_tensor(XT_U64, 1, &blocks)};
    return k && philox(&d, k, NULL, c) ? lay_out(&d, c, t) : NULL;
}

ir_value *ops_random_words(const xt_src *src, const ir_type *t) {
    if (t) return words_of(src, t, lazy_rng_key(src));
    lazy_error(src, XT_INVALID_ARGUMENT, "random numbers: so many elements fit no array; ask for fewer");
    return NULL;
}

ir_value *ops_random_words_idle(const xt_src *src, const ir_type *t) {
    return words_of(src, t, lazy_rng_key_idle(src));
}

ir_value *ops_random_words_of(ir_builder *b, ir_value *key, const ir_type *t, ir_value *round) {
    int64_t blocks = (t->count + 3) / 4;
    draw d = {b, ir_tensor(XT_U32, 1, &blocks), ir_tensor(XT_U64, 1, &blocks)};
    ir_value *c[4];
    return key && round && philox(&d, key, round, c) ? lay_out(&d, c, t) : NULL;
}

typedef enum sort_of_draw { UNIFORM, NORMAL, IDLE /* uniform, and not counted */ } sort_of_draw;
static xt_tensor random_tensor(const xt_src *src, const char *what, sort_of_draw sort, xt_dtype dtype,
                               const int64_t *dims) {
    const ir_type *t;
    xt_tensor failed;
    if (!ops_new_type(src, what, dtype, dims, &t, &failed)) return failed;
    if (!ir_dtype_is_float(dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: dtype %s: random numbers are floats; xt_cast the result for integers", what,
                          xt_dtype_name(dtype));
    xt_tensor key = sort == IDLE ? lazy_rng_key_idle(src) : lazy_rng_key(src);
    ir_builder *b = lazy_begin(src);
    ir_value *k = lazy_value(key), *c[4];
    int64_t blocks = (t->count + 3) / 4;
    draw d = {b, ir_tensor(XT_U32, 1, &blocks), ir_tensor(XT_U64, 1, &blocks)};
    if (!k || !philox(&d, k, NULL, c)) return lazy_wrap(NULL, what);
    ir_value *v[4];
    if (sort == NORMAL) {
        normals(&d, c[0], c[1], &v[0], &v[1]);
        normals(&d, c[2], c[3], &v[2], &v[3]);
    } else
        for (int i = 0; i < 4; i++) v[i] = fraction(&d, c[i]);
    ir_value *r = lay_out(&d, v, t);
    return lazy_wrap(r ? ir_convert(b, r, dtype) : NULL, what);
}

xt_tensor xt_rand_at(const xt_src *src, xt_dtype dtype, const int64_t *dims) {
    return random_tensor(src, "xt_rand", UNIFORM, dtype, dims);
}
xt_tensor ops_rand_idle(const xt_src *src, const int64_t *dims) {
    return random_tensor(src, "xt_rand", IDLE, XT_F32, dims);
}
xt_tensor xt_randn_at(const xt_src *src, xt_dtype dtype, const int64_t *dims) {
    return random_tensor(src, "xt_randn", NORMAL, dtype, dims);
}

/* --- rows of a draw --- */
/* The place of each block among all, [...,t,blocks of a row]: rows first, first + 1, ... of `rows`. */
static ir_value *places_of_rows(ir_builder *b, const ir_type *t, int64_t rows, ir_value *first) {
    int64_t row = (int64_t)t->rank - 2, stride = 1;
    ir_value *place = ops_broadcast(b, ir_convert(b, first, XT_U64), t->rank, t->dims);
    place = ir_add(b, place, ir_iota(b, t, row));
    place = place ? ir_multiply(b, place, ir_splat(b, t, (double)t->dims[row + 1])) : NULL;
    place = place ? ir_add(b, place, ir_iota(b, t, row + 1)) : NULL;
    stride = rows * t->dims[row + 1];
    for (int64_t i = row - 1; i >= 0; stride *= t->dims[i--])
        place = place ? ir_add(b, place, ir_multiply(b, ir_iota(b, t, i), ir_splat(b, t, (double)stride))) : NULL;
    return place;
}

/* Word `place` mod 4 of c. */
static ir_value *word_at(ir_builder *b, ir_value *c[4], ir_value *place) {
    ir_value *k = ir_and(b, place, ir_splat(b, place->type, 3));
    ir_value *upper = k ? ir_compare(b, IR_GE, k, ir_splat(b, k->type, 2)) : NULL;
    ir_value *odd = k ? ir_compare(b, IR_EQ, ir_and(b, k, ir_splat(b, k->type, 1)), ir_splat(b, k->type, 1)) : NULL;
    if (!upper || !odd) return NULL;
    return ir_select(b, upper, ir_select(b, odd, c[3], c[2]), ir_select(b, odd, c[1], c[0]));
}

xt_tensor ops_rand_rows(const xt_src *src, xt_tensor key, const ir_type *t, int64_t rows, xt_tensor first) {
    ir_builder *b = lazy_begin(src);
    ir_value *k = lazy_value(key), *from = lazy_value(first), *c[4], *u = NULL;
    uint32_t last = t->rank - 1;
    bool whole = t->dims[last] % 4 == 0; /* then a row is so many blocks, else each element finds its word */
    int64_t dims[XT_MAX_RANK + 1];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[last] = whole ? dims[last] / 4 : dims[last];
    draw d = {b, ir_tensor(XT_U32, t->rank, dims), ir_tensor(XT_U64, t->rank, dims)};
    ir_value *place = k && from ? places_of_rows(b, d.wide, rows, from) : NULL;
    ir_value *block = place && !whole ? ir_shift_right_logical(b, place, ir_splat(b, d.wide, 2)) : place;
    if (!block || !philox_of(&d, k, ir_convert(b, block, XT_U32), NULL, c)) return lazy_wrap(NULL, "xt_rand");
    if (whole) {
        dims[t->rank] = 1;
        for (int i = 0; i < 4; i++) c[i] = ir_reshape(b, fraction(&d, c[i]), t->rank + 1, dims);
        if (c[0] && c[1] && c[2] && c[3])
            u = ir_reshape(b, ir_concatenate(b, 4, c, (int64_t)t->rank), t->rank, t->dims);
    } else {
        ir_value *w = word_at(b, c, place);
        u = w ? fraction(&d, w) : NULL;
    }
    return lazy_wrap(u, "xt_rand");
}
