/* Rules of quantized tensors. An op on them is judged by its own rule, on the floats or the integers that they stand
 * for or are made of, and then by what the specification says of their scales and zero points. */
#include "ir/infer.h"
#include "ir/quant.h"

RULE(uniform_quantize) {
    XT_TRY(infer_need_stated(op, 1));
    const ir_type *x = infer_in(op, 0), *t = infer_stated(op, 0);
    if (!x->quant && !ir_dtype_is_float(x->dtype))
        return infer_fail(op, -1, "element type is %s, expected a float or a quantized type", ir_dtype_mlir(x->dtype));
    if (t->kind != IR_TENSOR || !t->quant) return infer_fail(op, 0, "the result must be a quantized tensor");
    if (!infer_same_shape(x, t)) return infer_fail(op, 1, "the result must have the operand's shape");
    xt_dtype from = x->quant ? x->quant->expressed : x->dtype;
    if (from != t->quant->expressed)
        return infer_fail(op, 2, "the result stands for numbers of %s, the operand for numbers of %s",
                          ir_dtype_mlir(t->quant->expressed), ir_dtype_mlir(from));
    return infer_one(out, n_out, t);
}

RULE(uniform_dequantize) {
    const ir_type *x = infer_in(op, 0), *t = infer_stated(op, 0);
    if (!x->quant) return infer_fail(op, -1, "the operand must be a quantized tensor");
    if (t && (t->kind != IR_TENSOR || !infer_same_shape(x, t)))
        return infer_fail(op, 1, "the result must have the operand's shape");
    if (t && (t->quant || t->dtype != x->quant->expressed))
        return infer_fail(op, 2, "the result must be of %s, what the operand stands for",
                          ir_dtype_mlir(x->quant->expressed));
    return infer_one_tensor(op, x->quant->expressed, x->rank, x->dims, out, n_out);
}

/* Quantized tensors stand where they may, with scales along an axis where the op can have them. */
static xt_status check_places(const ir_op *op, quant_kind kind) {
    bool axes = kind == QUANT_ADD || kind == QUANT_PRODUCT || kind == QUANT_SHAPE;
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_quant *q = infer_in(op, i)->quant;
        if (!q) continue;
        if (!quant_takes(op, i)) return infer_fail(op, -(int)(i + 1), "operand %u may not be a quantized tensor", i);
        if (q->axis >= 0 && (!axes || (kind == QUANT_PRODUCT && i == 0)))
            return infer_fail(op, -(int)(i + 1), "operand %u has scales along an axis, expected one scale", i);
    }
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i].type->quant && op->out[i].type->quant->axis >= 0 && !axes)
            return infer_fail(op, 0, "result %u has scales along an axis, expected one scale", i);
    return NULL;
}

/* The op's own rule, on floats: the shapes of its results. */
static xt_status on_floats(const ir_op *op, const ir_type **out, size_t *n_out) {
    quant_shadow s;
    XT_TRY(quant_shadow_of(op, &s));
    return ir_op_infos[op->code].infer(&s.op, out, n_out);
}

/* The results' shapes are inferred, what their elements stand for is stated. */
static xt_status stated_elements(const ir_op *op, const ir_type **out, size_t n) {
    XT_TRY(infer_need_stated(op, n));
    for (size_t i = 0; i < n; i++) {
        const ir_type *t = op->out[i].type;
        if (t->kind != IR_TENSOR || !infer_same_shape(t, out[i]))
            return infer_fail(op, infer_stated_rule(op, (uint32_t)i, false), "result %zu should be of shape %s", i,
                              infer_dims(out[i]->rank, out[i]->dims).text);
        out[i] = ir_with_quant(ir_with_dtype(out[i], t->dtype), t->quant);
        if (!out[i]) return infer_fail(op, 0, "result %zu is of a type that does not fit its scales", i);
    }
    return NULL;
}

/* The constraint that operands, and results, are alike but for their scales and zero points. */
static int base_rule(ir_opcode code) {
    switch (code) {
    case OP_select:
    case OP_batch_norm_grad:
    case OP_batch_norm_inference:
    case OP_batch_norm_training: return 2;
    case OP_clamp: return 3;
    default: return 1;
    }
}

static xt_status check_bases(const ir_op *op, bool results) {
    const ir_quant *first = NULL;
    int c = base_rule(op->code);
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_quant *q = infer_in(op, i)->quant;
        if (!quant_takes(op, i)) continue;
        if (!q) return infer_fail(op, c, "operand %u is not quantized, as others are", i);
        if (!first) first = q;
        if (!ir_quant_same_base(q, first))
            return infer_fail(op, c, "operand %u has another storage or expressed type than the others", i);
    }
    for (uint32_t i = 0; results && i < op->n_out; i++)
        if (!op->out[i].type->quant || !ir_quant_same_base(op->out[i].type->quant, first))
            return infer_fail(op, infer_stated_rule(op, i, true),
                              "result %u must be quantized with the operands' storage and expressed type", i);
    return NULL;
}

static xt_status judge_float(const ir_op *op, bool test, const ir_type **out, size_t *n_out) {
    XT_TRY(check_bases(op, false));
    XT_TRY(on_floats(op, out, n_out));
    if (test) return NULL;
    XT_TRY(stated_elements(op, out, *n_out));
    return check_bases(op, true);
}

static xt_status judge_add(const ir_op *op, const ir_type **out, size_t *n_out) {
    XT_TRY(infer_need_stated(op, 1));
    const ir_quant *x = infer_in(op, 0)->quant, *y = infer_in(op, 1)->quant, *r = op->out[0].type->quant;
    if (!x || !y || !r) return infer_fail(op, 2, "both operands and the result must be quantized, or none");
    if (x->storage != y->storage || x->storage != r->storage)
        return infer_fail(op, 3, "operands and result must have one storage type");
    if (x->expressed != y->expressed || x->expressed != r->expressed)
        return infer_fail(op, 4, "operands and result must have one expressed type");
    if ((x->axis >= 0 || y->axis >= 0) != (r->axis >= 0))
        return infer_fail(op, 5, "the result has scales along an axis when an operand has, and not else");
    if (x->axis >= 0 && x->axis != r->axis)
        return infer_fail(op, 6, "scales go along dim %lld of lhs and dim %lld of the result", (long long)x->axis,
                          (long long)r->axis);
    if (y->axis >= 0 && y->axis != r->axis)
        return infer_fail(op, 7, "scales go along dim %lld of rhs and dim %lld of the result", (long long)y->axis,
                          (long long)r->axis);
    XT_TRY(on_floats(op, out, n_out));
    return stated_elements(op, out, 1);
}

/* What products have in common; `c`: the number of the first constraint on quantized tensors, which come in this order
 * but for those that only one of the ops has. */
typedef struct product_rules {
    int quantized, storage, expressed, granularity, hybrid;
} product_rules;
static xt_status check_product(const ir_op *op, const product_rules *c) {
    const ir_type *x = infer_in(op, 0), *y = infer_in(op, 1), *r = op->out[0].type;
    const ir_quant *qx = x->quant, *qy = y->quant, *qr = r->quant;
    if (!qy || !qx != !qr)
        return infer_fail(op, c->quantized, "rhs must be quantized, and lhs when the result is, and only then");
    if (!qx)
        return x->dtype == qy->expressed && r->dtype == x->dtype
                   ? NULL
                   : infer_fail(op, c->hybrid, "lhs and the result must be of %s, what rhs stands for",
                                ir_dtype_mlir(qy->expressed));
    if (qx->storage != qy->storage) return infer_fail(op, c->storage, "lhs and rhs must have one storage type");
    if (qx->expressed != qy->expressed || qx->expressed != qr->expressed)
        return infer_fail(op, c->expressed, "lhs, rhs and the result must have one expressed type");
    if (qy->axis < 0 && qr->axis >= 0)
        return infer_fail(op, c->granularity, "the result has scales along an axis, which rhs has not");
    return NULL;
}

static xt_status check_dot(const ir_op *op) {
    XT_TRY(check_product(op, &(product_rules){14, 17, 18, 19, 20}));
    const ir_quant *q = infer_in(op, 1)->quant;
    for (size_t i = 0; i < q->n; i++)
        if (q->zeros[i])
            return infer_fail(op, 15, "zero point %zu of rhs is %lld, expected 0", i, (long long)q->zeros[i]);
    size_t n;
    const int64_t *contracting = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &n);
    if (q->axis >= 0 && infer_has(contracting, n, q->axis))
        return infer_fail(op, 16, "scales of rhs go along dim %lld, which is contracted", (long long)q->axis);
    return NULL;
}

static xt_status check_conv(const ir_op *op) {
    XT_TRY(check_product(op, &(product_rules){28, 31, 32, 33, 34}));
    const ir_quant *q = infer_in(op, 1)->quant, *r = op->out[0].type->quant;
    int64_t kernel = ir_get_int(op, IR_A_kernel_output_feature_dimension, -1),
            features = ir_get_int(op, IR_A_output_feature_dimension, -1);
    if (q->axis >= 0 && q->axis != kernel)
        return infer_fail(op, 29, "scales of rhs go along dim %lld, expected kernel_output_feature_dimension = %lld",
                          (long long)q->axis, (long long)kernel);
    if (r && r->axis >= 0 && r->axis != features)
        return infer_fail(op, 30, "scales of the result go along dim %lld, expected output_feature_dimension = %lld",
                          (long long)r->axis, (long long)features);
    return NULL;
}

static xt_status judge_product(const ir_op *op, const ir_type **out, size_t *n_out) {
    XT_TRY(infer_need_stated(op, 1));
    XT_TRY(op->code == OP_dot_general ? check_dot(op) : check_conv(op));
    XT_TRY(on_floats(op, out, n_out));
    return stated_elements(op, out, 1);
}

/* --- Integers as they are --- */
static xt_status no_type(const ir_op *op) {
    return infer_fail(op, 0, "a result's type does not fit its scales");
}

static xt_status judge_move(const ir_op *op, bool each, const ir_type **out, size_t *n_out) {
    XT_TRY(ir_op_infos[op->code].infer(op, out, n_out));
    const ir_quant *first = infer_in(op, 0)->quant;
    for (uint32_t i = 1; !each && i < op->n_in; i++)
        if (quant_takes(op, i) && infer_in(op, i)->quant != first)
            return infer_fail(op, op->code == OP_dynamic_update_slice ? 2 : 1,
                              "operand %u has another element type than operand 0", i);
    for (size_t i = 0; i < *n_out; i++) {
        const ir_quant *q = each ? infer_in(op, i)->quant : first;
        if (!(out[i] = ir_with_quant(out[i], q))) return no_type(op);
    }
    return NULL;
}

static int64_t product(const int64_t *dims, int64_t begin, int64_t end) {
    int64_t n = 1;
    for (int64_t i = begin; i < end; i++)
        if (dims[i] == IR_DYNAMIC || __builtin_mul_overflow(n, dims[i], &n)) return IR_DYNAMIC;
    return n;
}

static bool same_scales(const ir_quant *a, const ir_quant *b) {
    return a->n == b->n && !memcmp(a->scales, b->scales, a->n * sizeof *a->scales) &&
           !memcmp(a->zeros, b->zeros, a->n * sizeof *a->zeros);
}

static xt_status check_reshape(const ir_op *op, const ir_type *x, const ir_type *t) {
    int64_t a = x->quant->axis, b = t->quant->axis;
    if (!infer_dim_eq(product(x->dims, 0, a), product(t->dims, 0, b)) || !infer_dim_eq(x->dims[a], t->dims[b]) ||
        !infer_dim_eq(product(x->dims, a + 1, x->rank), product(t->dims, b + 1, t->rank)))
        return infer_fail(op, 3,
                          "dim %lld of the operand, along which the scales go, is not dim %lld of the result with as "
                          "many elements before and behind it",
                          (long long)a, (long long)b);
    return NULL;
}

static xt_status check_broadcast(const ir_op *op, const ir_type *x, const ir_type *t) {
    size_t n;
    const ir_quant *from = x->quant, *to = t->quant;
    const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    if (to->axis != dims[from->axis])
        return infer_fail(op, 6, "scales go along dim %lld of the result, expected broadcast_dimensions[%lld] = %lld",
                          (long long)to->axis, (long long)from->axis, (long long)dims[from->axis]);
    for (size_t i = 0; x->dims[from->axis] == 1 && i < to->n; i++)
        if (to->scales[i] != from->scales[0] || to->zeros[i] != from->zeros[0])
            return infer_fail(op, 6, "scale or zero point %zu of the result is not the operand's only one", i);
    return NULL;
}

static xt_status check_transpose(const ir_op *op, const ir_type *x, const ir_type *t) {
    size_t n;
    const int64_t *perm = ir_get_ints(op, IR_A_permutation, &n);
    if (perm[t->quant->axis] == x->quant->axis) return NULL;
    return infer_fail(op, 4, "scales go along dim %lld of the result, which is dim %lld of the operand, not dim %lld",
                      (long long)t->quant->axis, (long long)perm[t->quant->axis], (long long)x->quant->axis);
}

static xt_status judge_shape(const ir_op *op, const ir_type **out, size_t *n_out) {
    XT_TRY(infer_need_stated(op, 1));
    XT_TRY(ir_op_infos[op->code].infer(op, out, n_out));
    const ir_type *x = infer_in(op, 0), *t = op->out[0].type;
    const ir_quant *from = x->quant, *to = t->quant;
    bool broadcasts = op->code == OP_broadcast_in_dim || op->code == OP_dynamic_broadcast_in_dim;
    if (!infer_same_shape(t, out[0]))
        return infer_fail(op, infer_stated_rule(op, 0, false), "the result should be of shape %s",
                          infer_dims(out[0]->rank, out[0]->dims).text);
    bool alike = from && to && (from->axis < 0 ? from == to : to->axis >= 0);
    if (alike && from->axis >= 0) {
        ir_quant moved = *from;
        moved.axis = to->axis;
        alike = ir_quant_same_base(&moved, to) && (broadcasts || same_scales(from, to));
    }
    if (!alike)
        return infer_fail(op, 1, "the result must have the operand's element type, but for the axis of its scales");
    out[0] = t;
    if (from->axis < 0) return NULL;
    return broadcasts                 ? check_broadcast(op, x, t)
           : op->code == OP_transpose ? check_transpose(op, x, t)
                                      : check_reshape(op, x, t);
}

/* Computations: result i is what theirs returns. */
static xt_status judge_region(const ir_op *op, const ir_type **out, size_t *n_out) {
    XT_TRY(ir_op_infos[op->code].infer(op, out, n_out));
    const ir_op *ret = ir_block_return(op->regions[op->n_regions - 1].block);
    for (size_t i = 0; i < *n_out; i++) /* a collective has one computation for all */
        if (!(out[i] = ir_with_quant(out[i], ret->in[i < ret->n_in ? i : 0]->type->quant))) return no_type(op);
    return NULL;
}

static xt_status judge(const ir_op *op, const ir_type **out, size_t *n_out) {
    quant_kind kind = quant_kind_of(op->code);
    if (kind == QUANT_NONE) return infer_fail(op, 0, "the op takes and gives no quantized tensors; dequantize first");
    if (kind == QUANT_ANY || kind == QUANT_CAST) return ir_op_infos[op->code].infer(op, out, n_out);
    XT_TRY(check_places(op, kind));
    switch (kind) {
    case QUANT_FLOAT: return judge_float(op, false, out, n_out);
    case QUANT_TEST: return judge_float(op, true, out, n_out);
    case QUANT_ADD: return judge_add(op, out, n_out);
    case QUANT_PRODUCT: return judge_product(op, out, n_out);
    case QUANT_MOVE: return judge_move(op, false, out, n_out);
    case QUANT_MOVE_EACH: return judge_move(op, true, out, n_out);
    case QUANT_SHAPE: return judge_shape(op, out, n_out);
    case QUANT_REGION: return judge_region(op, out, n_out);
    default: return ir_op_infos[op->code].infer(op, out, n_out);
    }
}

xt_status infer_rule(const ir_op *op, const ir_type **out, size_t *n_out) {
    return quant_in_op(op) ? judge(op, out, n_out) : ir_op_infos[op->code].infer(op, out, n_out);
}
