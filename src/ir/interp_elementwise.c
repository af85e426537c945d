/* Which kernel an elementwise op runs, and the op functions around the kernels.
 *
 * Dtypes the machine lacks run through one it has, a row of INTERP_CHUNK elements at a time: narrow floats compute in
 * f32 and round once per op; integers of less than a byte compute in i8 or u8 and wrap. */
#include "ir/interp_int.h"
#include "ir/quant.h"

/* --- Kernels that convert on the way --- */
static void through_float(const ew *e, int64_t n, const void *const *in, void *out) {
    float rows[3][INTERP_CHUNK], result[INTERP_CHUNK];
    const void *row_ptrs[3] = {rows[0], rows[1], rows[2]};
    size_t out_size = xt_dtype_size(e->out);
    for (int64_t at = 0; at < n; at += INTERP_CHUNK) {
        int64_t k = n - at < INTERP_CHUNK ? n - at : INTERP_CHUNK;
        for (int j = 0; j < e->n_in; j++)
            convert_elems(k, e->in[j], (const char *)in[j] + (size_t)at * xt_dtype_size(e->in[j]), XT_F32, rows[j]);
        char *dst = (char *)out + (size_t)at * out_size;
        if (e->out == XT_BOOL) {
            e->inner(e, k, row_ptrs, dst);
        } else {
            e->inner(e, k, row_ptrs, result);
            convert_elems(k, XT_F32, result, e->out, dst);
        }
    }
}

/* Ops that look at the bits above the value need them clear, the arithmetic shift needs copies of the top bit there, of
 * unsigned values too; the others see the byte as it is. */
static void through_byte(const ew *e, int64_t n, const void *const *in, void *out) {
    int8_t rows[3][INTERP_CHUNK];
    const void *row_ptrs[3] = {rows[0], rows[1], rows[2]};
    int bits = ir_dtype_bits(e->in[0]), mask = (1 << bits) - 1;
    bool clear = e->code == OP_shift_right_logical || e->code == OP_count_leading_zeros || e->code == OP_popcnt,
         extend = e->code == OP_shift_right_arithmetic;
    int sign = 1 << (bits - 1);
    for (int64_t at = 0; at < n; at += INTERP_CHUNK) {
        int64_t k = n - at < INTERP_CHUNK ? n - at : INTERP_CHUNK;
        for (int j = 0; j < e->n_in; j++)
            for (int64_t i = 0; i < k; i++) {
                int8_t v = ((const int8_t *)in[j])[at + i];
                rows[j][i] = j > 0 ? v : clear ? (int8_t)(v & mask) : extend ? (int8_t)(((v & mask) ^ sign) - sign) : v;
            }
        int8_t *dst = (int8_t *)out + at;
        e->inner(e, k, row_ptrs, dst);
        if (e->out == XT_BOOL) continue;
        for (int64_t i = 0; i < k; i++) {
            int v = dst[i];
            if (e->code == OP_count_leading_zeros) v -= 8 - bits;
            /* The high half of a product of two small values lies inside the byte product. */
            if (e->code == OP_chlo_mulhi) v = rows[0][i] * rows[1][i] >> bits;
            dst[i] = wrap_subbyte(e->out, v);
        }
    }
}

static void run_convert(const ew *e, int64_t n, const void *const *in, void *out) {
    convert_elems(n, e->in[0], in[0], e->out, out);
}
static void run_copy(const ew *e, int64_t n, const void *const *in, void *out) {
    if (in[0] != out) memmove(out, in[0], (size_t)n * xt_dtype_size(e->out));
}
static void run_zero(const ew *e, int64_t n, const void *const *in, void *out) {
    (void)in;
    memset(out, 0, (size_t)n * xt_dtype_size(e->out));
}

/* --- select: moves bytes, so it is chosen by element size --- */
typedef struct elem16 {
    uint64_t a, b;
} elem16;
#define SELECT(T)                                                                      \
    static void select_##T(const ew *e, int64_t n, const void *const *in, void *out) { \
        (void)e;                                                                       \
        const uint8_t *p = in[0];                                                      \
        const T *x = in[1], *y = in[2];                                                \
        T *r = out;                                                                    \
        INTERP_IVDEP                                                                   \
        for (int64_t i = 0; i < n; i++) {                                              \
            T a = x[i], b = y[i];                                                      \
            r[i] = p[i] ? a : b;                                                       \
        }                                                                              \
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif
SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)
SELECT(elem16)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

static ew_fn select_by_size(size_t size) {
    switch (size) {
    case 1: return select_uint8_t;
    case 2: return select_uint16_t;
    case 4: return select_uint32_t;
    case 8: return select_uint64_t;
    case 16: return select_elem16;
    default: return NULL;
    }
}

/* --- Choosing --- */
/* Fills fn and inner for arithmetic on `t`. */
static bool choose(ew *e, xt_dtype t, int cmp, bool total_order) {
    if (e->code == OP_complex || ir_dtype_is_complex(t)) {
        e->fn = ew_complex(e->code, t, cmp);
        return e->fn != NULL;
    }
    xt_dtype native = dtype_compute(t);
    bool is_float = ir_dtype_is_float(native);
    ew_fn f = is_float ? ew_float(e->code, native, cmp, total_order) : ew_int(e->code, native, cmp);
    e->inner = f;
    e->fn = native == t ? f : is_float ? through_float : through_byte;
    return f != NULL;
}

static bool same_bits(xt_dtype a, xt_dtype b) {
    return xt_dtype_size(a) == xt_dtype_size(b) && ir_dtype_bits(a) == 8 * (int)xt_dtype_size(a) &&
           ir_dtype_bits(b) == 8 * (int)xt_dtype_size(b);
}

bool ew_init(ew *e, const ir_op *op) {
    if (quant_computes(op)) return false;
    if (op->n_out != 1 || op->n_in < 1 || op->n_in > 3 || op->out[0].type->kind != IR_TENSOR) return false;
    *e = (ew){.code = op->code, .out = op->out[0].type->dtype, .n_in = (int)op->n_in};
    for (uint32_t j = 0; j < op->n_in; j++) {
        if (op->in[j]->type->kind != IR_TENSOR) return false;
        e->in[j] = op->in[j]->type->dtype;
    }
    switch (op->code) {
    case OP_convert: e->fn = run_convert; return true;
    case OP_bitcast_convert: e->fn = same_bits(e->in[0], e->out) ? run_copy : NULL; return e->fn != NULL;
    case OP_real:
    case OP_chlo_conj:
        if (ir_dtype_is_complex(e->in[0])) break;
        e->fn = run_copy;
        return true;
    case OP_imag:
        if (ir_dtype_is_complex(e->in[0])) break;
        e->fn = run_zero;
        return true;
    case OP_select: e->fn = select_by_size(xt_dtype_size(e->out)); return e->fn != NULL;
    case OP_compare: {
        int64_t type = ir_get_int(op, IR_A_compare_type, IR_CMP_NOTYPE);
        return choose(e, e->in[0], (int)ir_get_int(op, IR_A_comparison_direction, IR_EQ), type == IR_CMP_TOTALORDER);
    }
    case OP_reduce_precision:
        e->exponent_bits = (int)ir_get_int(op, IR_A_exponent_bits, 8);
        e->mantissa_bits = (int)ir_get_int(op, IR_A_mantissa_bits, 23);
        break;
    default:
        if (!(ir_op_infos[op->code].flags & IR_ELEMENTWISE)) return false;
    }
    return choose(e, op->code == OP_clamp ? e->in[1] : e->in[0], -1, false);
}

bool ew_init_binary(ew *e, ir_opcode code, xt_dtype t) {
    *e = (ew){.code = code, .in = {t, t}, .out = t, .n_in = 2};
    return choose(e, t, -1, false);
}

/* --- Op functions --- */
xt_status interp_elementwise(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    ew e;
    if (!ew_init(&e, op)) return interp_unsupported(op, "this element type");
    const void *ptrs[3] = {NULL};
    for (uint32_t j = 0; j < op->n_in; j++) ptrs[j] = in[j].data;
    ew_run(&e, out->type->count, ptrs, out->data);
    return NULL;
}

/* The predicate may be one element for all. */
xt_status interp_select(interp *c, const ir_op *op, const array *in, array *out) {
    if (in[0].type->count == out->type->count) return interp_elementwise(c, op, in, out);
    const array *from = *(const uint8_t *)in[0].data ? &in[1] : &in[2];
    if (out->data != from->data) memcpy(out->data, from->data, ir_type_bytes(out->type));
    return NULL;
}

/* Either bound may be one element for all. */
xt_status interp_clamp(interp *c, const ir_op *op, const array *in, array *out) {
    int64_t n = out->type->count;
    if (in[0].type->count == n && in[2].type->count == n) return interp_elementwise(c, op, in, out);
    ew e;
    if (!ew_init(&e, op)) return interp_unsupported(op, "this element type");
    size_t size = xt_dtype_size(out->type->dtype);
    uint64_t rows[2][INTERP_CHUNK];
    bool whole[2] = {in[0].type->count == n, in[2].type->count == n};
    for (int k = 0; k < 2; k++)
        if (!whole[k]) fill_elems(rows[k], INTERP_CHUNK, in[2 * k].data, size);
    for (int64_t at = 0; at < n; at += INTERP_CHUNK) {
        size_t byte = (size_t)at * size;
        const void *ptrs[3] = {whole[0] ? (const void *)((const char *)in[0].data + byte) : rows[0],
                               (const char *)in[1].data + byte,
                               whole[1] ? (const void *)((const char *)in[2].data + byte) : rows[1]};
        ew_run(&e, n - at < INTERP_CHUNK ? n - at : INTERP_CHUNK, ptrs, (char *)out->data + byte);
    }
    return NULL;
}

/* Element i of a packed string of `bits`-wide values, lowest bits first. */
static unsigned bits_at(const uint8_t *p, int64_t i, int bits) {
    return p[i * bits / 8] >> (i * bits % 8) & ((1u << bits) - 1);
}

/* Same memory under another type, but for types stored with unused bits: those pass through a packed copy. */
xt_status interp_bitcast_convert(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    (void)op;
    xt_dtype from = in[0].type->dtype, to = out->type->dtype;
    int from_bits = ir_dtype_bits(from), to_bits = ir_dtype_bits(to);
    bool from_packed = from_bits == 8 * (int)xt_dtype_size(from), to_packed = to_bits == 8 * (int)xt_dtype_size(to);
    const uint8_t *src = in[0].data;
    uint8_t *dst = out->data;
    if (from == to || (from_packed && to_packed)) {
        if (dst != src) memcpy(dst, src, ir_type_bytes(out->type));
    } else if (from_packed) { /* one wide element to several narrow ones */
        for (int64_t i = 0; i < out->type->count; i++) {
            unsigned v = bits_at(src, i, to_bits);
            dst[i] = dtype_is_subbyte(to) ? (uint8_t)wrap_subbyte(to, (int)v) : (uint8_t)v;
        }
    } else if (to_packed) {
        memset(dst, 0, ir_type_bytes(out->type));
        for (int64_t i = 0; i < in[0].type->count; i++)
            dst[i * from_bits / 8] |= (uint8_t)((src[i] & ((1u << from_bits) - 1)) << (i * from_bits % 8));
    } else if (from_bits == to_bits) {
        for (int64_t i = 0; i < out->type->count; i++) {
            unsigned v = src[i] & ((1u << from_bits) - 1);
            dst[i] = dtype_is_subbyte(to) ? (uint8_t)wrap_subbyte(to, (int)v) : (uint8_t)v;
        }
    } else { /* i4 and i2: regroup bits within a byte */
        int64_t ratio = from_bits > to_bits ? from_bits / to_bits : to_bits / from_bits;
        for (int64_t i = 0; i < out->type->count; i++) {
            unsigned v = 0;
            if (from_bits > to_bits)
                v = src[i / ratio] >> (i % ratio * to_bits);
            else
                for (int64_t k = 0; k < ratio; k++)
                    v |= (src[i * ratio + k] & ((1u << from_bits) - 1)) << (k * from_bits);
            v &= (1u << to_bits) - 1;
            dst[i] = dtype_is_subbyte(to) ? (uint8_t)wrap_subbyte(to, (int)v) : (uint8_t)v;
        }
    }
    return NULL;
}

/* Rows of all operands through the region. A region that wants to see more than scalars runs per element
 * all the same. */
xt_status interp_map(interp *c, const ir_op *op, const array *in, array *out) {
    region_eval *r;
    XT_TRY(region_eval_new(c, op->regions[0].block, 0, NULL, &r));
    const void **ptrs = base_calloc(op->n_in, sizeof *ptrs);
    xt_status s = ptrs ? NULL : status_oom(op->n_in * sizeof *ptrs, "map's operands");
    int64_t n = out->type->count;
    for (int64_t at = 0; at < n && !s; at += INTERP_CHUNK) {
        for (uint32_t j = 0; j < op->n_in; j++)
            ptrs[j] = (const char *)in[j].data + (size_t)at * xt_dtype_size(in[j].type->dtype);
        void *result = (char *)out->data + (size_t)at * xt_dtype_size(out->type->dtype);
        s = region_eval_run(r, n - at < INTERP_CHUNK ? n - at : INTERP_CHUNK, ptrs, &result);
    }
    base_free(ptrs);
    region_eval_free(r);
    return s;
}
