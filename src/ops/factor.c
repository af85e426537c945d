/* Factorisations of whole matrices: svd, eigh, qr with torch.linalg's meanings. They are recorded as the custom calls
 * that JAX's programs use for them, which xtrain's CPU compiler and interpreter know (LAPACK; a TPU knows Eigh and Qr
 * too); what a device lacks is told with the line before it compiles (cache.c). Derivatives: grad/rules_factor.c. Batch
 * dims come first. Floats of 16 bits are factored in f32. */
#include "ops/factor.h"

/* The operand as the call takes it; NULL after an error: *out. */
static ir_value *matrix_of(const xt_src *src, const char *what, ir_builder *b, xt_tensor x, bool square,
                           xt_tensor *out) {
    ir_value *v = lazy_value(x);
    ops_text shape;
    if (!v) {
        *out = lazy_wrap(NULL, what);
        return NULL;
    }
    const ir_type *t = v->type;
    bool fits = t->rank >= 2 && t->count > 0 && (ir_dtype_is_float(t->dtype) || ir_dtype_is_complex(t->dtype));
    if (!fits || (square && t->dims[t->rank - 1] != t->dims[t->rank - 2])) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: %s %s: %s of floats or complex numbers are needed, [...,%s], without dims of size 0",
                          what, xt_dtype_name(t->dtype), ops_shape(t, &shape), square ? "square matrices" : "matrices",
                          square ? "n,n" : "m,n");
        return NULL;
    }
    bool narrow = ir_dtype_is_float(t->dtype) && xt_dtype_size(t->dtype) < 4;
    ir_value *m = narrow ? ir_convert(b, v, XT_F32) : v;
    if (!m) *out = lazy_wrap(NULL, what);
    return m;
}

static xt_dtype real_of(xt_dtype t) {
    return t == XT_C64 ? XT_F32 : t == XT_C128 ? XT_F64 : t;
}

/* [batch of x..., rows, columns]; rows 0: a vector. */
static const ir_type *shaped(const ir_type *x, xt_dtype t, int64_t rows, int64_t columns) {
    int64_t dims[XT_MAX_RANK];
    size_t n = x->rank - 2;
    memcpy(dims, x->dims, n * sizeof *dims);
    if (rows) dims[n++] = rows;
    dims[n++] = columns;
    return ir_tensor(t, n, dims);
}

static ir_op *call(ir_builder *b, const char *target, const char *config, ir_value *x, size_t n_out,
                   const ir_type *const *types) {
    ir_attr attrs[2] = {ir_attr_string(b, IR_A_call_target_name, target)};
    if (config) attrs[1] = ir_attr_string(b, IR_A_backend_config, config);
    return ir_build(b, OP_custom_call, 1, &x, config ? 2 : 1, attrs, 0, NULL, n_out, types);
}

/* Result i of the call in the caller's type. */
static xt_tensor result(ir_builder *b, ir_op *op, uint32_t i, xt_tensor x, const char *what) {
    const ir_type *t = lazy_type(x);
    if (!op || !t) return lazy_wrap(NULL, what);
    bool narrow = ir_dtype_is_float(t->dtype) && xt_dtype_size(t->dtype) < 4;
    return lazy_wrap(narrow ? ir_convert(b, &op->out[i], t->dtype) : &op->out[i], what);
}

static int64_t least_side(const ir_type *t) {
    int64_t m = t->dims[t->rank - 2], n = t->dims[t->rank - 1];
    return m < n ? m : n;
}

void xt_linalg_svd_at(const xt_src *src, xt_tensor x, xt_svd_opts o, xt_tensor *out_u, xt_tensor *out_s,
                      xt_tensor *out_vh) {
    static const char what[] = "xt_linalg_svd";
    ir_builder *b = lazy_begin(src);
    xt_tensor failed;
    ir_value *v = matrix_of(src, what, b, x, false, &failed);
    if (!v) {
        *out_u = *out_s = *out_vh = failed;
        return;
    }
    xt_dtype t = v->type->dtype;
    const char *target = t == XT_F32   ? "lapack_sgesdd_ffi"
                         : t == XT_F64 ? "lapack_dgesdd_ffi"
                         : t == XT_C64 ? "lapack_cgesdd_ffi"
                                       : "lapack_zgesdd_ffi";
    int64_t m = v->type->dims[v->type->rank - 2], n = v->type->dims[v->type->rank - 1], k = least_side(v->type);
    bool whole = o.full_matrices != XT_OFF;
    const ir_type *types[] = {v->type, shaped(v->type, real_of(t), 0, k), shaped(v->type, t, m, whole ? m : k),
                              shaped(v->type, t, whole ? n : k, n),
                              ir_tensor(XT_I32, v->type->rank - 2, v->type->dims)};
    ir_op *op = call(b, target, NULL, v, BASE_COUNT(types), types);
    *out_u = result(b, op, 2, x, what);
    *out_s = result(b, op, 1, x, what);
    *out_vh = result(b, op, 3, x, what);
}
xt_tensor xt_linalg_svdvals_at(const xt_src *src, xt_tensor x) {
    xt_tensor u, s, vh;
    xt_linalg_svd_at(src, x, (xt_svd_opts){.full_matrices = XT_OFF}, &u, &s, &vh);
    return s;
}

void xt_linalg_eigh_at(const xt_src *src, xt_tensor x, xt_eigh_opts o, xt_tensor *out_values, xt_tensor *out_vectors) {
    static const char what[] = "xt_linalg_eigh";
    ir_builder *b = lazy_begin(src);
    xt_tensor failed;
    ir_value *v = matrix_of(src, what, b, x, true, &failed);
    if (!v) {
        *out_values = *out_vectors = failed;
        return;
    }
    const ir_type *types[] = {v->type, shaped(v->type, real_of(v->type->dtype), 0, v->type->dims[v->type->rank - 1])};
    /* triangle, sorted, sweeps and tolerance of those who iterate */
    ir_op *op = call(b, "Eigh", o.upper ? "0,1,100,1e-6" : "1,1,100,1e-6", v, BASE_COUNT(types), types);
    *out_values = result(b, op, 1, x, what);
    *out_vectors = result(b, op, 0, x, what);
}
xt_tensor xt_linalg_eigvalsh_at(const xt_src *src, xt_tensor x, xt_eigh_opts o) {
    xt_tensor w, v;
    xt_linalg_eigh_at(src, x, o, &w, &v);
    return w;
}

void xt_linalg_qr_at(const xt_src *src, xt_tensor x, xt_qr_opts o, xt_tensor *out_q, xt_tensor *out_r) {
    static const char what[] = "xt_linalg_qr";
    ir_builder *b = lazy_begin(src);
    xt_tensor failed;
    ir_value *v = matrix_of(src, what, b, x, false, &failed);
    if (!v) {
        *out_q = *out_r = failed;
        return;
    }
    int64_t m = v->type->dims[v->type->rank - 2], n = v->type->dims[v->type->rank - 1],
            k = o.complete ? m : least_side(v->type);
    const ir_type *types[] = {shaped(v->type, v->type->dtype, m, k), shaped(v->type, v->type->dtype, k, n)};
    /* one op for its derivative; lower_chlo_named.c takes it apart */
    ir_op *op = call(b, "xtrain.qr", NULL, v, BASE_COUNT(types), types);
    *out_q = result(b, op, 0, x, what);
    *out_r = result(b, op, 1, x, what);
}

/* --- LU --- */
ops_lu ops_lu_of(ir_builder *b, ir_value *a) {
    if (!a) return (ops_lu){NULL, NULL, NULL};
    const ir_type *t = a->type;
    const ir_type *types[] = {t, shaped(t, XT_I32, 0, least_side(t)), shaped(t, XT_I32, 0, t->dims[t->rank - 2])};
    ir_op *op = call(b, "LuDecomposition", NULL, a, BASE_COUNT(types), types);
    return op ? (ops_lu){&op->out[0], &op->out[1], &op->out[2]} : (ops_lu){NULL, NULL, NULL};
}
static ir_value *triangular(ir_builder *b, ir_value *a, ir_value *y, bool lower) {
    if (!a || !y) return NULL;
    ir_attr attrs[] = {ir_attr_bool(IR_A_left_side, true), ir_attr_bool(IR_A_lower, lower),
                       ir_attr_bool(IR_A_unit_diagonal, lower), ir_attr_enum(IR_A_transpose_a, IR_NO_TRANSPOSE)};
    ir_op *op = ir_build(b, OP_triangular_solve, 2, (ir_value *[]){a, y}, BASE_COUNT(attrs), attrs, 0, NULL, 0, NULL);
    return op ? &op->out[0] : NULL;
}
ir_value *ops_lu_solve(ir_builder *b, const ops_lu *lu, ir_value *y) {
    if (!lu->packed || !lu->rows || !y) return NULL;
    int64_t row = (int64_t)y->type->rank - 2;
    ir_value *at = ops_spread(b, lu->rows, ir_with_dtype(y->type, XT_I32), row + 1);
    ir_value *exchanged = at ? ops_gather_axis(b, y, row, at) : NULL;
    return triangular(b, lu->packed, triangular(b, lu->packed, exchanged, true), false);
}
