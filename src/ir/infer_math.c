/* Rules of normalisation, linear algebra and random numbers. */
#include "ir/infer.h"

/* --- Batch normalisation --- */
/* Operands [from, to) are vectors along the feature dim; the k-th failing has constraint c + k when `each`, else c, or
 * c - 1 where the first does fit. */
static xt_status feature_vectors(const ir_op *op, size_t from, size_t to, int c, bool each,
                                 const ir_type **out_vector) {
    const ir_type *x = infer_in(op, 0);
    int64_t feature;
    XT_TRY(infer_int(op, IR_A_feature_index, &feature));
    XT_TRY(infer_axis(op, 1, IR_A_feature_index, feature, x->rank));
    if (!ir_attr_find(op, IR_A_epsilon)) return infer_fail(op, 0, "attribute 'epsilon' is missing");
    if (!ir_dtype_is_float(x->dtype))
        return infer_fail(op, -1, "element type is %s, expected a float", ir_dtype_mlir(x->dtype));
    for (size_t i = from; i < to; i++) {
        const ir_type *v = infer_in(op, i);
        if (v->dtype != x->dtype)
            return infer_fail(op, 2, "operand %zu is of %s, the first operand of %s", i, ir_dtype_mlir(v->dtype),
                              ir_dtype_mlir(x->dtype));
        if (v->rank != 1 || !infer_dim_eq(v->dims[0], x->dims[feature]))
            return infer_fail(op,
                              each       ? c + (int)(i - from)
                              : i > from ? c - 1
                                         : c,
                              "operand %zu must be a vector of %lld", i, (long long)x->dims[feature]);
    }
    return infer_tensor(op, x->dtype, 1, &x->dims[feature], out_vector);
}

RULE(batch_norm_training) {
    XT_TRY(feature_vectors(op, 1, 3, 3, true, &out[1]));
    out[0] = infer_in(op, 0);
    out[2] = out[1];
    *n_out = 3;
    return NULL;
}

RULE(batch_norm_inference) {
    const ir_type *vector;
    XT_TRY(feature_vectors(op, 1, 5, 3, true, &vector));
    return infer_one(out, n_out, infer_in(op, 0));
}

RULE(batch_norm_grad) {
    const ir_type *x = infer_in(op, 0), *d_out = infer_in(op, 4);
    XT_TRY(feature_vectors(op, 1, 4, 5, false, &out[1]));
    if (d_out->dtype != x->dtype) return infer_fail(op, 2, "grad_output must have the operand's element type");
    if (!infer_same_shape(x, d_out)) return infer_fail(op, 3, "grad_output must have the operand's shape");
    out[0] = x;
    out[2] = out[1];
    *n_out = 3;
    return NULL;
}

/* --- Linear algebra --- */
static xt_status need_float(const ir_op *op, size_t i) {
    xt_dtype t = infer_in(op, i)->dtype;
    if (ir_dtype_is_float(t) || ir_dtype_is_complex(t)) return NULL;
    return infer_fail(op, -(int)(i + 1), "element type is %s, expected a float or complex", ir_dtype_mlir(t));
}

RULE(cholesky) {
    const ir_type *a = infer_in(op, 0);
    XT_TRY(need_float(op, 0));
    if (a->rank < 2) return infer_fail(op, 2, "the operand has %u dims, expected at least 2", a->rank);
    if (!infer_dim_eq(a->dims[a->rank - 2], a->dims[a->rank - 1]))
        return infer_fail(op, 3, "matrices are %lld by %lld, expected square ones", (long long)a->dims[a->rank - 2],
                          (long long)a->dims[a->rank - 1]);
    return infer_one(out, n_out, a);
}

RULE(triangular_solve) {
    const ir_type *a = infer_in(op, 0), *b = infer_in(op, 1);
    uint32_t rank = a->rank;
    static const ir_attr_key needed[] = {IR_A_left_side, IR_A_lower, IR_A_unit_diagonal};
    for (size_t i = 0; i < BASE_COUNT(needed); i++)
        if (!ir_attr_find(op, needed[i]))
            return infer_fail(op, 0, "attribute '%s' is missing", ir_attr_key_name(needed[i]));
    XT_TRY(need_float(op, 0));
    if (a->dtype != b->dtype) return infer_fail(op, 1, "a and b must have the same element type");
    if (rank < 2 || b->rank != rank)
        return infer_fail(op, 2, "a has %u dims, b %u; expected the same number, at least 2", rank, b->rank);
    bool fits = infer_dim_eq(a->dims[rank - 2], a->dims[rank - 1]) &&
                infer_dim_eq(a->dims[rank - 1], b->dims[ir_get_bool(op, IR_A_left_side, false) ? rank - 2 : rank - 1]);
    for (uint32_t i = 0; fits && i + 2 < rank; i++) fits = infer_dim_eq(a->dims[i], b->dims[i]);
    if (!fits)
        return infer_fail(op, 3, "a of %s cannot be solved for b of %s", infer_dims(rank, a->dims).text,
                          infer_dims(rank, b->dims).text);
    int64_t transpose;
    XT_TRY(infer_int(op, IR_A_transpose_a, &transpose));
    if (transpose == IR_TRANSPOSE_INVALID)
        return infer_fail(op, -6, "transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT");
    return infer_one(out, n_out, b);
}

static xt_dtype complex_of(xt_dtype t) {
    return t == XT_F32 ? XT_C64 : t == XT_F64 ? XT_C128 : XT_DTYPE_NONE;
}
static xt_dtype real_of(xt_dtype t) {
    return t == XT_C64 ? XT_F32 : XT_F64;
}

RULE(fft) {
    const ir_type *x = infer_in(op, 0);
    const int64_t *length;
    int64_t type, dims[IR_MAX_RANK];
    size_t n;
    XT_TRY(infer_int(op, IR_A_fft_type, &type));
    XT_TRY(infer_ints(op, IR_A_fft_length, &length, &n));
    if (n < 1 || n > 3) return infer_fail(op, 3, "fft_length has %zu entries, expected 1 to 3", n);
    if (n > x->rank) return infer_fail(op, 1, "fft_length has %zu entries, the operand %u dims", n, x->rank);
    bool real_input = type == IR_RFFT;
    xt_dtype t = real_input ? complex_of(x->dtype) : x->dtype;
    if (t == XT_DTYPE_NONE || !ir_dtype_is_complex(t))
        return infer_fail(op, 2, "%s cannot take %s", ir_enum_name(IR_A_fft_type, type), ir_dtype_mlir(x->dtype));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    int64_t *tail = dims + x->rank - n, last = length[n - 1];
    for (size_t i = 0; i < n; i++) {
        bool halved = type == IR_IRFFT && i == n - 1;
        int64_t want = halved ? (last ? last / 2 + 1 : 0) : length[i];
        if (!infer_dim_eq(tail[i], want))
            return infer_fail(op, halved ? 5 : 4, "dim %zu is %lld, fft_length asks for %lld", x->rank - n + i,
                              (long long)tail[i], (long long)want);
    }
    if (real_input) tail[n - 1] = last ? last / 2 + 1 : 0;
    if (type == IR_IRFFT) tail[n - 1] = last, t = real_of(x->dtype);
    return infer_one_tensor(op, t, x->rank, dims, out, n_out);
}

/* --- Random numbers --- */
RULE(rng) {
    const ir_type *a = infer_in(op, 0), *b = infer_in(op, 1), *shape = infer_in(op, 2);
    int64_t distribution;
    XT_TRY(infer_need_stated(op, 1));
    XT_TRY(infer_int(op, IR_A_rng_distribution, &distribution));
    const ir_type *t = infer_stated(op, 0);
    if (a->rank || a != b || t->kind != IR_TENSOR || t->dtype != a->dtype)
        return infer_fail(op, 1, "a and b must be scalars of the result's element type");
    if (distribution == IR_RNG_NORMAL && !ir_dtype_is_float(a->dtype))
        return infer_fail(op, 2, "NORMAL needs floats, found %s", ir_dtype_mlir(a->dtype));
    if (shape->rank != 1 || !ir_dtype_is_int(shape->dtype) || !infer_dim_eq(shape->dims[0], t->rank))
        return infer_fail(op, 3, "the shape must be a list of %u integers", t->rank);
    int64_t known[IR_MAX_RANK];
    size_t n;
    if (infer_known(op, 2, known, IR_MAX_RANK, &n)) XT_TRY(infer_known_shape(op, 3, n, known));
    return infer_one(out, n_out, t);
}

RULE(rng_bit_generator) {
    const ir_type *state = infer_in(op, 0);
    int64_t algorithm;
    XT_TRY(infer_need_stated(op, 2));
    XT_TRY(infer_int(op, IR_A_rng_algorithm, &algorithm));
    if (state->rank != 1 || !ir_dtype_is_int(state->dtype))
        return infer_fail(op, -2, "the state must be a list of ui64");
    if (infer_stated(op, 0) != state) return infer_fail(op, 1, "the next state must have the state's type");
    int64_t n = state->dims[0];
    if (state->dtype == XT_U64 && n != IR_DYNAMIC &&
        ((algorithm == IR_RNG_THREE_FRY && n != 2) || (algorithm == IR_RNG_PHILOX && n != 2 && n != 3)))
        return infer_fail(op, 2, "a state of %lld numbers does not fit %s", (long long)n,
                          ir_enum_name(IR_A_rng_algorithm, algorithm));
    out[0] = state;
    out[1] = infer_stated(op, 1);
    if (out[1]->kind != IR_TENSOR) return infer_fail(op, 0, "the second result must be a tensor");
    *n_out = 2;
    return NULL;
}
