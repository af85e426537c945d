/* Rules of contractions: dot products and convolutions. A caller may state a result of another element type than the
 * operands' (a wider accumulator kept, as bf16 x bf16 -> f32), of the same sort of number; JAX's convolutions also of
 * integers with a float result. */
#include "ir/infer.h"

#include <stdlib.h>

static bool small_float(xt_dtype t) {
    return ir_dtype_is_float(t) && xt_dtype_size(t) == 1;
}

static bool is_real(xt_dtype t) {
    return ir_dtype_is_float(t) || ir_dtype_is_int(t);
}

/* Operands agree in element type (8-bit floats mix); the result's is stated or theirs. Front ends also write products
 * of two types of which one is stated for the result (f32 x i64 -> f32): the other operand is meant to be converted,
 * which pass_lower_chlo does. */
static xt_status result_dtype(const ir_op *op, int c, xt_dtype *out) {
    xt_dtype x = infer_in(op, 0)->dtype, y = infer_in(op, 1)->dtype;
    const ir_type *stated = infer_stated(op, 0);
    bool to_result = op->code == OP_dot_general && stated && stated->kind == IR_TENSOR && is_real(x) && is_real(y) &&
                     (stated->dtype == x || stated->dtype == y) && ir_dtype_is_float(stated->dtype);
    if (x != y && to_result) {
        *out = stated->dtype;
        return NULL;
    }
    if (x != y && !(small_float(x) && small_float(y)))
        return infer_fail(op, c, "element types differ: lhs is %s, rhs is %s; convert one of them", ir_dtype_mlir(x),
                          ir_dtype_mlir(y));
    *out = stated && stated->kind == IR_TENSOR ? stated->dtype : x;
    bool alike = *out == x || (ir_dtype_is_float(*out) && ir_dtype_is_float(x)) ||
                 (ir_dtype_is_int(*out) && ir_dtype_is_int(x)) ||
                 (ir_dtype_is_complex(*out) && ir_dtype_is_complex(x)) ||
                 /* operands converted by pass_lower_chlo */
                 (op->code == OP_convolution && ir_dtype_is_float(*out) && ir_dtype_is_int(x));
    if (!alike)
        return infer_fail(op, c, "a result of %s cannot come from operands of %s", ir_dtype_mlir(*out),
                          ir_dtype_mlir(x));
    return NULL;
}

RULE(dot) {
    const ir_type *x = infer_in(op, 0), *y = infer_in(op, 1);
    xt_dtype t;
    int64_t dims[2];
    size_t n = 0;
    XT_TRY(result_dtype(op, 0, &t));
    XT_TRY(infer_precision(op, 0));
    if (!x->rank || !y->rank || x->rank > 2 || y->rank > 2)
        return infer_fail(op, 0, "operands must be vectors or matrices");
    if (!infer_dim_eq(x->dims[x->rank - 1], y->dims[0]))
        return infer_fail(op, 0, "the last dim of lhs is %lld, the first of rhs %lld", (long long)x->dims[x->rank - 1],
                          (long long)y->dims[0]);
    if (x->rank == 2) dims[n++] = x->dims[0];
    if (y->rank == 2) dims[n++] = y->dims[1];
    return infer_one_tensor(op, t, n, dims, out, n_out);
}

/* The axes of one operand: batching and contracting lists in range, and no axis in both or twice. */
static xt_status check_dot_axes(const ir_op *op, size_t side, const int64_t *batch, size_t nb, const int64_t *contract,
                                size_t nc) {
    ir_attr_key kb = side ? IR_A_rhs_batching_dimensions : IR_A_lhs_batching_dimensions;
    ir_attr_key kc = side ? IR_A_rhs_contracting_dimensions : IR_A_lhs_contracting_dimensions;
    int64_t rank = infer_in(op, side)->rank;
    XT_TRY(infer_axes(op, side ? 7 : 5, kb, batch, nb, rank));
    XT_TRY(infer_axes(op, side ? 8 : 6, kc, contract, nc, rank));
    XT_TRY(infer_unique(op, side ? 4 : 3, kb, batch, nb));
    XT_TRY(infer_unique(op, side ? 4 : 3, kc, contract, nc));
    for (size_t i = 0; i < nb; i++)
        if (infer_has(contract, nc, batch[i]))
            return infer_fail(op, side ? 4 : 3, "dim %lld of %s is both batching and contracting", (long long)batch[i],
                              side ? "rhs" : "lhs");
    return NULL;
}

static xt_status check_dot_pairs(const ir_op *op, int c, const char *what, const int64_t *x_axes, const int64_t *y_axes,
                                 size_t n) {
    const ir_type *x = infer_in(op, 0), *y = infer_in(op, 1);
    for (size_t i = 0; i < n; i++)
        if (!infer_dim_eq(x->dims[x_axes[i]], y->dims[y_axes[i]]))
            return infer_fail(op, c, "%s dims differ: lhs dim %lld is %lld, rhs dim %lld is %lld", what,
                              (long long)x_axes[i], (long long)x->dims[x_axes[i]], (long long)y_axes[i],
                              (long long)y->dims[y_axes[i]]);
    return NULL;
}

/* `word = value` in the text of #stablehlo.dot_algorithm<...>. */
static const char *algorithm_member(const ir_attr *a, const char *word, size_t *n) {
    const char *s = a->v.s, *end = s + a->n;
    size_t len = strlen(word);
    for (; s + len < end; s++) {
        if (memcmp(s, word, len) != 0) continue;
        for (s += len; s < end && (*s == ' ' || *s == '='); s++) {
        }
        for (*n = 0; s + *n < end && !strchr(",> ", s[*n]); ++*n) {
        }
        return s;
    }
    *n = 0;
    return "";
}

/* The combinations of types and counts that some hardware has (the project's own list). */
static xt_status check_algorithm(const ir_op *op) {
    static const struct {
        const char *precision, *accumulation;
        int operations; /* number of primitive operations, as bits 1 << n */
        bool imprecise;
    } known[] = {{"f8", "f32", 1 << 1, true},
                 {"f16", "f16", 1 << 1, false},
                 {"f16", "f32", 1 << 1, false},
                 {"bf16", "bf16", 1 << 1, false},
                 {"bf16", "f32", 1 << 1 | 1 << 3 | 1 << 6 | 1 << 9, false},
                 {"tf32", "f32", 1 << 1 | 1 << 3, false},
                 {"f32", "f32", 1 << 1, false},
                 {"f64", "f64", 1 << 1, false},
                 {"i8", "i32", 1 << 1, false}};
    const ir_attr *a = ir_attr_find(op, IR_A_algorithm);
    size_t nx, ny, na, n;
    if (!a || a->kind != IR_AK_OPAQUE) return NULL;
    const int64_t *precision = ir_get_ints(op, IR_A_precision_config, &n);
    for (size_t i = 0; precision && i < n; i++)
        if (precision[i] != IR_PREC_DEFAULT)
            return infer_fail(op, 21, "an algorithm goes with the default precision_config only");
    const char *x = algorithm_member(a, "lhs_precision_type", &nx), *y = algorithm_member(a, "rhs_precision_type", &ny);
    const char *acc = algorithm_member(a, "accumulation_type", &na);
    long lhs = strtol(algorithm_member(a, "lhs_component_count", &n), NULL, 10),
         rhs = strtol(algorithm_member(a, "rhs_component_count", &n), NULL, 10);
    long operations = strtol(algorithm_member(a, "num_primitive_operations", &n), NULL, 10);
    bool imprecise = *algorithm_member(a, "allow_imprecise_accumulation", &n) == 't';
    if (lhs < 1) return infer_fail(op, 22, "lhs_component_count is %ld, expected at least 1", lhs);
    if (rhs < 1) return infer_fail(op, 23, "rhs_component_count is %ld, expected at least 1", rhs);
    if (operations < 1) return infer_fail(op, 24, "num_primitive_operations is %ld, expected at least 1", operations);
    for (size_t i = 0; i < BASE_COUNT(known); i++) {
        size_t np = strlen(known[i].precision);
        bool small = !strcmp(known[i].precision, "f8"); /* any two of the 8-bit floats */
        bool types =
            small ? nx > 2 && ny > 2 && !memcmp(x, "f8", 2) && !memcmp(y, "f8", 2)
                  : nx == np && ny == np && !memcmp(x, known[i].precision, np) && !memcmp(y, known[i].precision, np);
        if (types && na == strlen(known[i].accumulation) && !memcmp(acc, known[i].accumulation, na) && lhs == 1 &&
            rhs == 1 && operations < 16 && (known[i].operations >> operations & 1) &&
            (!imprecise || known[i].imprecise))
            return NULL;
    }
    return infer_fail(op, 0, "no hardware is known to have the algorithm %.*s", (int)(a->n < 300 ? a->n : 300), a->v.s);
}

RULE(dot_general) {
    const ir_type *x = infer_in(op, 0), *y = infer_in(op, 1);
    size_t nb, nyb, nc, nyc, n = 0;
    const int64_t *xb = ir_get_ints(op, IR_A_lhs_batching_dimensions, &nb),
                  *yb = ir_get_ints(op, IR_A_rhs_batching_dimensions, &nyb);
    const int64_t *xc = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &nc),
                  *yc = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nyc);
    if (nb != nyb) return infer_fail(op, 1, "lhs has %zu batching dims, rhs %zu", nb, nyb);
    if (nc != nyc) return infer_fail(op, 2, "lhs has %zu contracting dims, rhs %zu", nc, nyc);
    XT_TRY(check_dot_axes(op, 0, xb, nb, xc, nc));
    XT_TRY(check_dot_axes(op, 1, yb, nb, yc, nc));
    XT_TRY(check_dot_pairs(op, 9, "batching", xb, yb, nb));
    XT_TRY(check_dot_pairs(op, 10, "contracting", xc, yc, nc));
    XT_TRY(infer_precision(op, 11));
    XT_TRY(check_algorithm(op));
    xt_dtype t;
    XT_TRY(result_dtype(op, 13, &t));
    int64_t dims[2 * IR_MAX_RANK];
    for (size_t i = 0; i < nb; i++) dims[n++] = x->dims[xb[i]] == IR_DYNAMIC ? y->dims[yb[i]] : x->dims[xb[i]];
    for (uint32_t i = 0; i < x->rank; i++)
        if (!infer_has(xb, nb, i) && !infer_has(xc, nc, i)) dims[n++] = x->dims[i];
    for (uint32_t i = 0; i < y->rank; i++)
        if (!infer_has(yb, nb, i) && !infer_has(yc, nc, i)) dims[n++] = y->dims[i];
    if (n > IR_MAX_RANK) return infer_fail(op, 12, "the result would have %zu dims, the limit is %d", n, IR_MAX_RANK);
    return infer_one_tensor(op, t, n, dims, out, n_out);
}

/* --- Index expressions: one lower- or upper-case letter per dim, "ab,bc->ac". --- */
static xt_status bind_letters(const ir_op *op, const char **p, size_t operand, int64_t sizes[128]) {
    const ir_type *t = infer_in(op, operand);
    uint32_t i = 0;
    for (; **p && **p != ',' && **p != '-'; ++*p, i++) {
        unsigned char c = (unsigned char)**p;
        if (c >= 128 || !((c | 32) >= 'a' && (c | 32) <= 'z'))
            return infer_fail(op, 0, "einsum_config may have letters only, found '%c'", c);
        if (i >= t->rank) return infer_fail(op, 0, "einsum_config names more dims than operand %zu has", operand);
        if (sizes[c] >= 0 && !infer_dim_eq(sizes[c], t->dims[i]))
            return infer_fail(op, 0, "index '%c' is %lld and %lld", c, (long long)sizes[c], (long long)t->dims[i]);
        sizes[c] = t->dims[i];
    }
    if (i != t->rank)
        return infer_fail(op, 0, "einsum_config names %u dims of operand %zu, which has %u", i, operand, t->rank);
    return NULL;
}

static xt_status infer_einsum(const ir_op *op, xt_dtype t, const ir_type **out, size_t *n_out) {
    const char *p = ir_get_string(op, IR_A_einsum_config);
    int64_t sizes[128], dims[IR_MAX_RANK];
    size_t n = 0;
    if (!p) return infer_fail(op, 0, "attribute 'einsum_config' is missing");
    for (size_t i = 0; i < 128; i++) sizes[i] = -1;
    for (size_t i = 0; i < op->n_in; i++) {
        if (i && *p++ != ',') return infer_fail(op, 0, "einsum_config has no ',' between the operands");
        XT_TRY(bind_letters(op, &p, i, sizes));
    }
    if (strncmp(p, "->", 2) != 0) return infer_fail(op, 0, "einsum_config has no '->'");
    for (p += 2; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c >= 128 || (sizes[c] < 0 && sizes[c] != IR_DYNAMIC))
            return infer_fail(op, 0, "the result's index '%c' is in no operand", c);
        if (n == IR_MAX_RANK) return infer_fail(op, 0, "the result has too many dims");
        dims[n++] = sizes[c];
    }
    return infer_one_tensor(op, t, n, dims, out, n_out);
}

RULE(einsum) {
    xt_dtype t;
    XT_TRY(result_dtype(op, 0, &t));
    return infer_einsum(op, t, out, n_out);
}
RULE(unary_einsum) {
    return infer_einsum(op, infer_in(op, 0)->dtype, out, n_out);
}

/* --- Convolution --- */
typedef struct conv_axes {
    int64_t batch, feature; /* kernel: input and output feature */
    const int64_t *spatial;
} conv_axes;

/* One operand's dimension numbers: N - 2 spatial ones (constraint c_size), all together a permutation of the
 * axes (c_unique). */
static xt_status conv_axes_of(const ir_op *op, size_t rank, int c_size, int c_unique, ir_attr_key kb, ir_attr_key kf,
                              ir_attr_key ks, conv_axes *a) {
    size_t n;
    int64_t all[IR_MAX_RANK + 2];
    XT_TRY(infer_int(op, kb, &a->batch));
    XT_TRY(infer_int(op, kf, &a->feature));
    XT_TRY(infer_ints(op, ks, &a->spatial, &n));
    if (n != rank - 2)
        return infer_fail(op, c_size, "%s has %zu entries, expected %zu", ir_attr_key_name(ks), n, rank - 2);
    memcpy(all + 2, a->spatial, n * sizeof *all);
    all[0] = a->batch, all[1] = a->feature;
    XT_TRY(infer_axes(op, c_unique, ks, all, rank, (int64_t)rank));
    return infer_unique(op, c_unique, ks, all, rank);
}

static xt_status conv_divides(const ir_op *op, int c, const char *what, int64_t dim, int64_t groups) {
    if (dim == IR_DYNAMIC || dim % groups == 0) return NULL;
    return infer_fail(op, c, "%s is %lld, which %lld groups do not divide", what, (long long)dim, (long long)groups);
}

static xt_status conv_groups(const ir_op *op, const conv_axes *in, const conv_axes *kernel, int64_t *batch_groups) {
    const ir_type *x = infer_in(op, 0), *w = infer_in(op, 1);
    int64_t fg = ir_get_int(op, IR_A_feature_group_count, 1), bg = ir_get_int(op, IR_A_batch_group_count, 1);
    if (fg < 1) return infer_fail(op, 21, "feature_group_count is %lld, expected at least 1", (long long)fg);
    if (bg < 1) return infer_fail(op, 22, "batch_group_count is %lld, expected at least 1", (long long)bg);
    if (fg > 1 && bg > 1)
        return infer_fail(op, 23, "feature_group_count is %lld and batch_group_count %lld, one must be 1",
                          (long long)fg, (long long)bg);
    int64_t features = x->dims[in->feature], in_per_group = w->dims[kernel->batch];
    XT_TRY(conv_divides(op, 10, "the batch", x->dims[in->batch], bg));
    XT_TRY(conv_divides(op, 11, "the input feature dim", features, fg));
    if (features != IR_DYNAMIC && !infer_dim_eq(features / fg, in_per_group))
        return infer_fail(op, 14, "the kernel takes %lld input features per group, the input has %lld in %lld groups",
                          (long long)in_per_group, (long long)features, (long long)fg);
    XT_TRY(conv_divides(op, 15, "the kernel's output feature dim", w->dims[kernel->feature], bg));
    XT_TRY(conv_divides(op, 16, "the kernel's output feature dim", w->dims[kernel->feature], fg));
    *batch_groups = bg;
    return NULL;
}

xt_status infer_conv(const ir_op *op, bool dynamic, const ir_type **out) {
    const ir_type *x = infer_in(op, 0), *w = infer_in(op, 1);
    size_t rank = x->rank;
    if (rank != w->rank || rank < 2)
        return infer_fail(op, 1, "lhs has %u dims, rhs %u; expected the same number, at least 2", x->rank, w->rank);
    size_t n = rank - 2, n_pad;
    const int64_t *reversal, *pad = dynamic ? NULL : ir_get_ints(op, IR_A_padding, &n_pad);
    int64_t sizes[IR_MAX_RANK], dims[IR_MAX_RANK], batch_groups;
    infer_window win = {.size = sizes, .pad = pad};
    XT_TRY(infer_list(op, 2, IR_A_window_strides, n, &win.stride));
    XT_TRY(infer_at_least(op, 3, IR_A_window_strides, win.stride, n, 1));
    if (pad && n_pad != 2 * n) return infer_fail(op, 4, "padding has %zu numbers, expected %zu pairs", n_pad, n);
    XT_TRY(infer_list(op, 5, IR_A_lhs_dilation, n, &win.base_dilation));
    XT_TRY(infer_at_least(op, 6, IR_A_lhs_dilation, win.base_dilation, n, 1));
    XT_TRY(infer_list(op, 7, IR_A_rhs_dilation, n, &win.window_dilation));
    XT_TRY(infer_at_least(op, 8, IR_A_rhs_dilation, win.window_dilation, n, 1));
    XT_TRY(infer_list(op, 9, IR_A_window_reversal, n, &reversal));
    conv_axes in, kernel, result;
    XT_TRY(conv_axes_of(op, rank, 12, 13, IR_A_input_batch_dimension, IR_A_input_feature_dimension,
                        IR_A_input_spatial_dimensions, &in));
    XT_TRY(conv_axes_of(op, rank, 17, 18, IR_A_kernel_input_feature_dimension, IR_A_kernel_output_feature_dimension,
                        IR_A_kernel_spatial_dimensions, &kernel));
    XT_TRY(conv_axes_of(op, rank, 19, 20, IR_A_output_batch_dimension, IR_A_output_feature_dimension,
                        IR_A_output_spatial_dimensions, &result));
    XT_TRY(conv_groups(op, &in, &kernel, &batch_groups));
    XT_TRY(infer_precision(op, 24));
    xt_dtype t;
    XT_TRY(result_dtype(op, 27, &t));
    int64_t batch = x->dims[in.batch];
    dims[result.batch] = batch == IR_DYNAMIC ? batch : batch / batch_groups;
    dims[result.feature] = w->dims[kernel.feature];
    for (size_t i = 0; i < n; i++) {
        sizes[i] = w->dims[kernel.spatial[i]];
        if (sizes[i] == 0) return infer_fail(op, 25, "window dim %zu is 0", i);
        dims[result.spatial[i]] = dynamic ? IR_DYNAMIC : infer_window_dim(&win, i, x->dims[in.spatial[i]]);
    }
    return infer_tensor(op, t, rank, dims, out);
}

RULE(convolution) {
    *n_out = 1;
    return infer_conv(op, false, out);
}

RULE(dynamic_conv) {
    const ir_type *pad = infer_in(op, 2), *x = infer_in(op, 0);
    if (pad->rank != 2 || !ir_dtype_is_int(pad->dtype) || !infer_dim_eq(pad->dims[0], (int64_t)x->rank - 2) ||
        !infer_dim_eq(pad->dims[1], 2))
        return infer_fail(op, 4, "the padding must be integers of shape [%d, 2]", (int)x->rank - 2);
    *n_out = 1;
    return infer_conv(op, true, out);
}
