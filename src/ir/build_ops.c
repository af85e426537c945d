/* Typed builders: one call per op, result values back, NULL after a failure. Builders of ops that carry dimension
 * numbers or regions are in build_contract.c and build_regions.c. */
#include "ir/build.h"
#include "ir/interp.h"
#include "ir/types.h"

#define OP(name, ...)
#define UNARY_OP(name, ...)                           \
    ir_value *ir_##name(ir_builder *b, ir_value *x) { \
        return ir_unary(b, OP_##name, x);             \
    }
#define BINARY_OP(name, ...)                                       \
    ir_value *ir_##name(ir_builder *b, ir_value *x, ir_value *y) { \
        return ir_binary(b, OP_##name, x, y);                      \
    }
#include "ir/ops.def"
#undef OP

ir_value *build_one(ir_builder *b, ir_opcode code, size_t n_in, ir_value *const *in, size_t n_attrs,
                    const ir_attr *attrs, const ir_type *type) {
    ir_op *op = ir_build(b, code, n_in, in, n_attrs, attrs, 0, NULL, type ? 1 : 0, type ? &type : NULL);
    return op ? &op->out[0] : NULL;
}

ir_value *ir_unary(ir_builder *b, ir_opcode code, ir_value *x) {
    return build_one(b, code, 1, &x, 0, NULL, NULL);
}

ir_value *ir_binary(ir_builder *b, ir_opcode code, ir_value *x, ir_value *y) {
    return build_one(b, code, 2, (ir_value *[]){x, y}, 0, NULL, NULL);
}

/* A type that could not be made is the caller's mistake or a lack of memory; it becomes the builder's failure. */
bool build_has_type(ir_builder *b, const ir_type *t, const char *op) {
    if (t && t->kind == IR_TENSOR) return true;
    if (!b->status && !t) b->status = ir_type_oom(op);
    if (!b->status)
        b->status = status_new(XT_INVALID_ARGUMENT, b->src ? src_get(b->src) : NULL,
                               "%s: the result type is no tensor, has a bad shape or is too large", op);
    return false;
}

static ir_value *constant(ir_builder *b, const ir_type *t, const void *data, bool splat) {
    if (b->status || !build_has_type(b, t, "constant")) return NULL;
    ir_attr value = ir_attr_dense(b, IR_A_value, t, data, splat);
    return build_one(b, OP_constant, 0, NULL, 1, &value, NULL);
}

ir_value *ir_constant(ir_builder *b, const ir_type *t, const void *data) {
    return constant(b, t, data, t && t->count == 1);
}

ir_value *ir_splat(ir_builder *b, const ir_type *t, double v) {
    uint64_t element[2] = {0}; /* room for the largest, complex<f64> */
    if (b->status || !build_has_type(b, t, "constant")) return NULL;
    array one = {.type = ir_scalar(t->dtype), .data = element};
    if (!one.type) {
        b->status = status_oom(sizeof *one.type, "a type");
        return NULL;
    }
    if (t->dtype == XT_F32)
        memcpy(element, &(float){(float)v}, sizeof(float));
    else
        array_set(&one, 0, v);
    return constant(b, t, element, true);
}

ir_value *ir_compare(ir_builder *b, ir_cmp_dir dir, ir_value *x, ir_value *y) {
    if (!x || !y) return NULL;
    xt_dtype t = x->type->dtype;
    ir_cmp_type type = IR_CMP_UNSIGNED;
    if (ir_dtype_is_float(t) || ir_dtype_is_complex(t))
        type = IR_CMP_FLOAT;
    else if (ir_dtype_is_int(t) && ir_dtype_is_signed(t))
        type = IR_CMP_SIGNED;
    ir_attr attrs[] = {ir_attr_enum(IR_A_comparison_direction, dir), ir_attr_enum(IR_A_compare_type, type)};
    return build_one(b, OP_compare, 2, (ir_value *[]){x, y}, 2, attrs, NULL);
}

ir_value *ir_select(ir_builder *b, ir_value *pred, ir_value *on_true, ir_value *on_false) {
    return build_one(b, OP_select, 3, (ir_value *[]){pred, on_true, on_false}, 0, NULL, NULL);
}

ir_value *ir_clamp(ir_builder *b, ir_value *lo, ir_value *x, ir_value *hi) {
    return build_one(b, OP_clamp, 3, (ir_value *[]){lo, x, hi}, 0, NULL, NULL);
}

ir_value *ir_convert(ir_builder *b, ir_value *x, xt_dtype t) {
    if (!x || x->type->dtype == t) return x;
    const ir_type *type = ir_with_dtype(x->type, t);
    return build_has_type(b, type, "convert") ? build_one(b, OP_convert, 1, &x, 0, NULL, type) : NULL;
}

/* --- Shapes --- */
ir_value *ir_reshape(ir_builder *b, ir_value *x, size_t rank, const int64_t *dims) {
    if (!x) return NULL;
    const ir_type *type = ir_tensor(x->type->dtype, rank, dims);
    if (type == x->type) return x;
    return build_has_type(b, type, "reshape") ? build_one(b, OP_reshape, 1, &x, 0, NULL, type) : NULL;
}

ir_value *ir_broadcast_in_dim(ir_builder *b, ir_value *x, const ir_type *to, size_t n, const int64_t *dims) {
    if (!x || !build_has_type(b, to, "broadcast_in_dim")) return NULL;
    ir_attr attr = ir_attr_ints(b, IR_A_broadcast_dimensions, n, dims);
    return build_one(b, OP_broadcast_in_dim, 1, &x, 1, &attr, to);
}

ir_value *ir_broadcast_scalar(ir_builder *b, ir_value *scalar, const ir_type *to) {
    if (!scalar || scalar->type == to) return scalar;
    return ir_broadcast_in_dim(b, scalar, to, 0, NULL);
}

ir_value *ir_transpose(ir_builder *b, ir_value *x, size_t n, const int64_t *perm) {
    if (!x) return NULL;
    ir_attr attr = ir_attr_ints(b, IR_A_permutation, n, perm);
    return build_one(b, OP_transpose, 1, &x, 1, &attr, NULL);
}

ir_value *ir_slice(ir_builder *b, ir_value *x, const int64_t *start, const int64_t *limit, const int64_t *stride) {
    int64_t ones[IR_MAX_RANK];
    if (!x) return NULL;
    size_t rank = x->type->rank;
    for (size_t i = 0; i < rank && !stride; i++) ones[i] = 1;
    ir_attr attrs[] = {ir_attr_ints(b, IR_A_start_indices, rank, start),
                       ir_attr_ints(b, IR_A_limit_indices, rank, limit),
                       ir_attr_ints(b, IR_A_strides, rank, stride ? stride : ones)};
    return build_one(b, OP_slice, 1, &x, 3, attrs, NULL);
}

ir_value *ir_pad(ir_builder *b, ir_value *x, ir_value *value, const int64_t *low, const int64_t *high,
                 const int64_t *interior) {
    static const int64_t zeros[IR_MAX_RANK];
    if (!x) return NULL;
    size_t rank = x->type->rank;
    ir_attr attrs[] = {ir_attr_ints(b, IR_A_edge_padding_low, rank, low ? low : zeros),
                       ir_attr_ints(b, IR_A_edge_padding_high, rank, high ? high : zeros),
                       ir_attr_ints(b, IR_A_interior_padding, rank, interior ? interior : zeros)};
    return build_one(b, OP_pad, 2, (ir_value *[]){x, value}, 3, attrs, NULL);
}

ir_value *ir_concatenate(ir_builder *b, size_t n, ir_value *const *x, int64_t dim) {
    ir_attr attr = ir_attr_int(IR_A_dimension, dim);
    return build_one(b, OP_concatenate, n, x, 1, &attr, NULL);
}

ir_value *ir_reverse(ir_builder *b, ir_value *x, size_t n, const int64_t *dims) {
    if (!x) return NULL;
    ir_attr attr = ir_attr_ints(b, IR_A_dimensions, n, dims);
    return build_one(b, OP_reverse, 1, &x, 1, &attr, NULL);
}

ir_value *ir_iota(ir_builder *b, const ir_type *t, int64_t dim) {
    if (!build_has_type(b, t, "iota")) return NULL;
    ir_attr attr = ir_attr_int(IR_A_iota_dimension, dim);
    return build_one(b, OP_iota, 0, NULL, 1, &attr, t);
}

/* --- Computed positions --- */
/* Operands [head..., start...] in a row; more than a maximal rank of starts cannot be right. */
static ir_value *with_starts(ir_builder *b, ir_opcode code, size_t n_head, ir_value *const *head, size_t n,
                             ir_value *const *start, size_t n_attrs, const ir_attr *attrs) {
    ir_value *in[2 + IR_MAX_RANK];
    if (n > IR_MAX_RANK) n = IR_MAX_RANK;
    memcpy(in, head, n_head * sizeof *in);
    memcpy(in + n_head, start, n * sizeof *in);
    return build_one(b, code, n_head + n, in, n_attrs, attrs, NULL);
}

ir_value *ir_dynamic_slice(ir_builder *b, ir_value *x, size_t n, ir_value *const *start, const int64_t *sizes) {
    if (!x) return NULL;
    ir_attr attr = ir_attr_ints(b, IR_A_slice_sizes, x->type->rank, sizes);
    return with_starts(b, OP_dynamic_slice, 1, &x, n, start, 1, &attr);
}

ir_value *ir_dynamic_update_slice(ir_builder *b, ir_value *x, ir_value *update, size_t n, ir_value *const *start) {
    return with_starts(b, OP_dynamic_update_slice, 2, (ir_value *[]){x, update}, n, start, 0, NULL);
}

ir_value *ir_gather(ir_builder *b, ir_value *x, ir_value *indices, const ir_gather_dims *d, const int64_t *slice_sizes,
                    bool sorted) {
    if (!x || !indices) return NULL;
    ir_attr attrs[] = {ir_attr_ints(b, IR_A_offset_dims, d->n_offset, d->offset),
                       ir_attr_ints(b, IR_A_collapsed_slice_dims, d->n_collapsed, d->collapsed),
                       ir_attr_ints(b, IR_A_operand_batching_dims, d->n_operand_batching, d->operand_batching),
                       ir_attr_ints(b, IR_A_start_indices_batching_dims, d->n_start_batching, d->start_batching),
                       ir_attr_ints(b, IR_A_start_index_map, d->n_index_map, d->index_map),
                       ir_attr_int(IR_A_index_vector_dim, d->index_vector_dim),
                       ir_attr_ints(b, IR_A_slice_sizes, x->type->rank, slice_sizes),
                       ir_attr_bool(IR_A_indices_are_sorted, sorted)};
    return build_one(b, OP_gather, 2, (ir_value *[]){x, indices}, BASE_COUNT(attrs), attrs, NULL);
}

/* --- Normalisation --- */
static bool batch_norm(ir_builder *b, ir_opcode code, size_t n_in, ir_value *const *in, float epsilon, int64_t feature,
                       size_t n_out, ir_value **out) {
    ir_attr attrs[] = {ir_attr_float(IR_A_epsilon, XT_F32, epsilon), ir_attr_int(IR_A_feature_index, feature)};
    ir_op *op = ir_build(b, code, n_in, in, 2, attrs, 0, NULL, 0, NULL);
    for (size_t i = 0; i < n_out; i++) out[i] = op ? &op->out[i] : NULL;
    return op;
}

bool ir_batch_norm_training(ir_builder *b, ir_value *x, ir_value *scale, ir_value *offset, float epsilon,
                            int64_t feature, ir_value *out[3]) {
    return batch_norm(b, OP_batch_norm_training, 3, (ir_value *[]){x, scale, offset}, epsilon, feature, 3, out);
}

bool ir_batch_norm_grad(ir_builder *b, ir_value *x, ir_value *scale, ir_value *mean, ir_value *var, ir_value *d_out,
                        float epsilon, int64_t feature, ir_value *out[3]) {
    return batch_norm(b, OP_batch_norm_grad, 5, (ir_value *[]){x, scale, mean, var, d_out}, epsilon, feature, 3, out);
}

ir_value *ir_batch_norm_inference(ir_builder *b, ir_value *x, ir_value *scale, ir_value *offset, ir_value *mean,
                                  ir_value *var, float epsilon, int64_t feature) {
    ir_value *out;
    batch_norm(b, OP_batch_norm_inference, 5, (ir_value *[]){x, scale, offset, mean, var}, epsilon, feature, 1, &out);
    return out;
}

void ir_return(ir_builder *b, size_t n, ir_value *const *v) {
    bool function = b->block->func && !b->block->owner;
    ir_build(b, function ? OP_func_return : OP_return, n, v, 0, NULL, 0, NULL, 0, NULL);
}
