/* Derivatives of matrix products and convolutions, in the forms that JAX writes, so that compilers which recognise
 * those recognise these. Source of the convolution formulas: the transposition rules of
 * jax.lax.conv_general_dilated. */
#include "grad/grad_int.h"

static ir_precision precision_of(const ir_op *op) {
    size_t n;
    const int64_t *p = ir_get_ints(op, IR_A_precision_config, &n);
    return n ? (ir_precision)p[0] : IR_PREC_DEFAULT;
}

/* --- dot_general --- */
/* The dims of one operand by what becomes of them. */
typedef struct dot_side {
    ir_value *v;
    size_t n_batch, n_contract, n_kept;
    const int64_t *batch, *contract;
    int64_t *kept;
    int64_t first_kept; /* position of its kept dims in the result */
} dot_side;

static bool listed(const int64_t *dims, size_t n, int64_t dim) {
    for (size_t i = 0; i < n; i++)
        if (dims[i] == dim) return true;
    return false;
}

static xt_status side_of(grad_call *c, size_t operand, ir_attr_key batch, ir_attr_key contract, dot_side *s) {
    s->v = c->op->in[operand];
    s->batch = ir_get_ints(c->op, batch, &s->n_batch);
    s->contract = ir_get_ints(c->op, contract, &s->n_contract);
    XT_TRY(grad_ints(c, s->v->type->rank, &s->kept));
    for (int64_t i = 0; i < (int64_t)s->v->type->rank; i++)
        if (!listed(s->batch, s->n_batch, i) && !listed(s->contract, s->n_contract, i)) s->kept[s->n_kept++] = i;
    return NULL;
}

/* d contracted with `other` over the dims that `other` alone gave to the result; what is left are batch dims, then dims
 * of `self`: its kept ones (in d) and its contracted ones (in `other`, in the order in which they stand there). The
 * order depends on which of d and `other` is the left operand; d always is, as in JAX. A final transpose puts them
 * where `self` has them. */
static xt_status dot_side_gradient(grad_call *c, const dot_side *self, const dot_side *other, ir_value **out) {
    size_t rank = self->v->type->rank;
    int64_t *d_batch, *d_contract, *place, *perm;
    XT_TRY(grad_ints(c, self->n_batch, &d_batch));
    XT_TRY(grad_ints(c, other->n_kept, &d_contract));
    XT_TRY(grad_ints(c, rank, &place));
    XT_TRY(grad_ints(c, rank, &perm));
    for (size_t i = 0; i < self->n_batch; i++) d_batch[i] = (int64_t)i;
    for (size_t i = 0; i < other->n_kept; i++) d_contract[i] = other->first_kept + (int64_t)i;
    /* a product may be wider than its operands */
    ir_value *d = c->d_out[0], *with = ir_convert(c->b, other->v, d->type->dtype);
    ir_value *r = ir_dot_general(c->b, d, with, self->n_batch, d_batch, other->batch, other->n_kept, d_contract,
                                 other->kept, precision_of(c->op));
    /* place[k]: the dim of `self` that dim k of r is. */
    size_t k = 0;
    for (size_t i = 0; i < self->n_batch; i++) place[k++] = self->batch[i];
    for (size_t i = 0; i < self->n_kept; i++) place[k++] = self->kept[i];
    for (int64_t dim = 0; dim < (int64_t)other->v->type->rank; dim++)
        for (size_t i = 0; i < other->n_contract; i++)
            if (other->contract[i] == dim) place[k++] = self->contract[i];
    bool in_order = true;
    for (size_t i = 0; i < rank; i++) {
        perm[place[i]] = (int64_t)i;
        in_order &= place[i] == (int64_t)i;
    }
    if (r && !in_order) r = ir_transpose(c->b, r, rank, perm);
    *out = r ? ir_convert(c->b, r, self->v->type->dtype) : NULL;
    return NULL;
}

xt_status grad_dot_general(grad_call *c) {
    dot_side x = {0}, y = {0};
    XT_TRY(side_of(c, 0, IR_A_lhs_batching_dimensions, IR_A_lhs_contracting_dimensions, &x));
    XT_TRY(side_of(c, 1, IR_A_rhs_batching_dimensions, IR_A_rhs_contracting_dimensions, &y));
    x.first_kept = (int64_t)x.n_batch;
    y.first_kept = (int64_t)(x.n_batch + x.n_kept);
    if (c->want[0]) XT_TRY(dot_side_gradient(c, &x, &y, &c->d_in[0]));
    if (c->want[1]) XT_TRY(dot_side_gradient(c, &y, &x, &c->d_in[1]));
    return NULL;
}

/* dot: the last dim of x with the first of y, where each is a vector or a matrix. */
xt_status grad_dot(grad_call *c) {
    static const int64_t zero[1] = {0}, one[1] = {1};
    const ir_type *tx = c->op->in[0]->type, *ty = c->op->in[1]->type;
    dot_side x = {.v = c->op->in[0],
                  .n_contract = 1,
                  .contract = tx->rank == 2 ? one : zero,
                  .n_kept = tx->rank - 1,
                  .first_kept = 0};
    dot_side y = {
        .v = c->op->in[1], .n_contract = 1, .contract = zero, .n_kept = ty->rank - 1, .first_kept = tx->rank - 1};
    XT_TRY(grad_ints(c, 1, &x.kept));
    XT_TRY(grad_ints(c, 1, &y.kept));
    y.kept[0] = 1;
    if (c->want[0]) XT_TRY(dot_side_gradient(c, &x, &y, &c->d_in[0]));
    if (c->want[1]) XT_TRY(dot_side_gradient(c, &y, &x, &c->d_in[1]));
    return NULL;
}

/* --- convolution --- */
/* The forward convolution with everything spelled out, and the sizes that the paddings of the gradients are made of: of
 * the dilated input, the dilated kernel and the output dilated by the strides. */
typedef struct conv {
    ir_conv_dims d;
    const int64_t *reversal;
    int64_t *low, *in_size, *kernel_size, *out_size;
    int64_t *new_low, *new_high;
} conv;

static int64_t dilated(int64_t n, int64_t by) {
    return n ? (n - 1) * by + 1 : 0;
}

static xt_status ints_or(grad_call *c, ir_attr_key k, size_t n, int64_t fallback, const int64_t **out) {
    size_t have;
    *out = ir_get_ints(c->op, k, &have);
    if (have) return NULL;
    int64_t *own;
    XT_TRY(grad_ints(c, n, &own));
    for (size_t i = 0; i < n; i++) own[i] = fallback;
    *out = own;
    return NULL;
}

static xt_status read_conv(grad_call *c, conv *v) {
    const ir_op *op = c->op;
    size_t n, n_pad;
    v->d = (ir_conv_dims){
        .lhs_batch = ir_get_int(op, IR_A_input_batch_dimension, 0),
        .lhs_feature = ir_get_int(op, IR_A_input_feature_dimension, 0),
        .rhs_in = ir_get_int(op, IR_A_kernel_input_feature_dimension, 0),
        .rhs_out = ir_get_int(op, IR_A_kernel_output_feature_dimension, 0),
        .out_batch = ir_get_int(op, IR_A_output_batch_dimension, 0),
        .out_feature = ir_get_int(op, IR_A_output_feature_dimension, 0),
        .feature_groups = ir_get_int(op, IR_A_feature_group_count, 1),
        .batch_groups = ir_get_int(op, IR_A_batch_group_count, 1),
    };
    v->d.lhs_spatial = ir_get_ints(op, IR_A_input_spatial_dimensions, &n);
    v->d.rhs_spatial = ir_get_ints(op, IR_A_kernel_spatial_dimensions, &n);
    v->d.out_spatial = ir_get_ints(op, IR_A_output_spatial_dimensions, &n);
    v->d.n_spatial = n;
    XT_TRY(ints_or(c, IR_A_window_strides, n, 1, &v->d.strides));
    XT_TRY(ints_or(c, IR_A_lhs_dilation, n, 1, &v->d.lhs_dilation));
    XT_TRY(ints_or(c, IR_A_rhs_dilation, n, 1, &v->d.rhs_dilation));
    XT_TRY(ints_or(c, IR_A_window_reversal, n, 0, &v->reversal));
    int64_t **arrays[] = {&v->low, &v->in_size, &v->kernel_size, &v->out_size, &v->new_low, &v->new_high};
    for (size_t i = 0; i < BASE_COUNT(arrays); i++) XT_TRY(grad_ints(c, n, arrays[i]));
    const int64_t *pad = ir_get_ints(op, IR_A_padding, &n_pad);
    for (size_t i = 0; i < n; i++) {
        v->low[i] = n_pad ? pad[2 * i] : 0;
        v->in_size[i] = dilated(op->in[0]->type->dims[v->d.lhs_spatial[i]], v->d.lhs_dilation[i]);
        v->kernel_size[i] = dilated(op->in[1]->type->dims[v->d.rhs_spatial[i]], v->d.rhs_dilation[i]);
        v->out_size[i] = dilated(op->out[0].type->dims[v->d.out_spatial[i]], v->d.strides[i]);
    }
    return NULL;
}

/* Splits the dim `axis` of x into [groups, rest] and moves the groups in front of dim `into`, where they become one dim
 * with it. `into` counts without the groups' own dim. */
static xt_status move_groups(grad_call *c, ir_value *x, int64_t groups, int64_t axis, int64_t into, ir_value **out) {
    if (!x) return NULL;
    size_t rank = x->type->rank;
    int64_t *split, *perm, *joined;
    XT_TRY(grad_ints(c, rank + 1, &split));
    XT_TRY(grad_ints(c, rank + 1, &perm));
    XT_TRY(grad_ints(c, rank, &joined));
    for (size_t i = 0, k = 0; i < rank; i++) {
        joined[i] = x->type->dims[i];
        if ((int64_t)i == axis) split[k++] = groups;
        split[k++] = (int64_t)i == axis ? x->type->dims[i] / groups : x->type->dims[i];
    }
    joined[axis] /= groups;
    joined[into] *= groups;
    for (int64_t i = 0, k = 0; i < (int64_t)rank; i++) {
        if (i == into) perm[k++] = axis;
        perm[k++] = i < axis ? i : i + 1;
    }
    x = ir_reshape(c->b, x, rank + 1, split);
    if (x) x = ir_transpose(c->b, x, rank + 1, perm);
    if (x) x = ir_reshape(c->b, x, rank, joined);
    *out = x;
    return NULL;
}

/* d convolved with the spatially reversed kernel, its feature dims swapped: strides and input dilation
 * change places. */
static xt_status conv_input_gradient(grad_call *c, const conv *v, ir_value **out) {
    const ir_conv_dims *d = &v->d;
    int64_t groups = d->feature_groups > 1 ? d->feature_groups : d->batch_groups, *turned;
    ir_value *w = ir_convert(c->b, c->op->in[1], c->d_out[0]->type->dtype);
    if (!w) return NULL;
    if (groups > 1) XT_TRY(move_groups(c, w, groups, d->rhs_out, d->rhs_in, &w));
    XT_TRY(grad_ints(c, d->n_spatial, &turned));
    size_t n_turned = 0;
    for (size_t i = 0; i < d->n_spatial; i++) {
        if (!v->reversal[i]) turned[n_turned++] = d->rhs_spatial[i];
        v->new_low[i] = v->kernel_size[i] - v->low[i] - 1;
        v->new_high[i] = v->in_size[i] + v->kernel_size[i] - v->out_size[i] - v->new_low[i] - 1;
    }
    if (w) w = grad_reverse_dims(c->b, w, n_turned, turned);
    ir_conv_dims t = {
        .lhs_batch = d->out_batch,
        .lhs_feature = d->out_feature,
        .lhs_spatial = d->out_spatial,
        .rhs_in = d->rhs_out,
        .rhs_out = d->rhs_in,
        .rhs_spatial = d->rhs_spatial,
        .out_batch = d->lhs_batch,
        .out_feature = d->lhs_feature,
        .out_spatial = d->lhs_spatial,
        .n_spatial = d->n_spatial,
        .strides = d->lhs_dilation,
        .lhs_dilation = d->strides,
        .rhs_dilation = d->rhs_dilation,
        .pad_low = v->new_low,
        .pad_high = v->new_high,
        .feature_groups = groups,
        .batch_groups = 1,
    };
    ir_value *dx = ir_convolution(c->b, c->d_out[0], w, &t, precision_of(c->op));
    if (d->batch_groups > 1) XT_TRY(move_groups(c, dx, groups, d->lhs_feature, d->lhs_batch, &dx));
    *out = dx ? ir_convert(c->b, dx, c->op->in[0]->type->dtype) : NULL;
    return NULL;
}

/* The input convolved with d as the kernel, batch and feature dims changing roles: strides and kernel dilation
 * change places. */
static xt_status conv_weight_gradient(grad_call *c, const conv *v, ir_value **out) {
    const ir_conv_dims *d = &v->d;
    int64_t *turned;
    XT_TRY(grad_ints(c, d->n_spatial, &turned));
    size_t n_turned = 0;
    for (size_t i = 0; i < d->n_spatial; i++) {
        if (v->reversal[i]) turned[n_turned++] = d->rhs_spatial[i];
        v->new_low[i] = v->low[i];
        v->new_high[i] = v->out_size[i] - v->in_size[i] + v->kernel_size[i] - v->low[i] - 1;
    }
    ir_conv_dims t = {
        .lhs_batch = d->lhs_feature,
        .lhs_feature = d->lhs_batch,
        .lhs_spatial = d->lhs_spatial,
        .rhs_in = d->out_batch,
        .rhs_out = d->out_feature,
        .rhs_spatial = d->out_spatial,
        .out_batch = d->rhs_in,
        .out_feature = d->rhs_out,
        .out_spatial = d->rhs_spatial,
        .n_spatial = d->n_spatial,
        .strides = d->rhs_dilation,
        .lhs_dilation = d->lhs_dilation,
        .rhs_dilation = d->strides,
        .pad_low = v->new_low,
        .pad_high = v->new_high,
        .feature_groups = d->batch_groups,
        .batch_groups = d->feature_groups,
    };
    ir_value *dw = ir_convolution(c->b, ir_convert(c->b, c->op->in[0], c->d_out[0]->type->dtype), c->d_out[0], &t,
                                  precision_of(c->op));
    if (dw) dw = grad_reverse_dims(c->b, dw, n_turned, turned);
    *out = dw ? ir_convert(c->b, dw, c->op->in[1]->type->dtype) : NULL;
    return NULL;
}

xt_status grad_convolution(grad_call *c) {
    const ir_op *op = c->op;
    if (op->out[0].type->count == 0 || op->in[0]->type->count == 0 || op->in[1]->type->count == 0) return NULL;
    conv v = {0};
    XT_TRY(read_conv(c, &v));
    if (c->want[0]) XT_TRY(conv_input_gradient(c, &v, &c->d_in[0]));
    if (c->want[1]) XT_TRY(conv_weight_gradient(c, &v, &c->d_in[1]));
    return NULL;
}
