/* Reading a convolution. */
#include "cpu/kernel/conv_read.h"

static void ints_or(const ir_op *op, ir_attr_key k, int n, int64_t fallback, int64_t *out) {
    size_t have;
    const int64_t *v = ir_get_ints(op, k, &have);
    for (int i = 0; i < n; i++) out[i] = v && (size_t)i < have ? v[i] : fallback;
}

bool conv_read(const ir_op *op, conv *c) {
    size_t n, np;
    c->lhs_s = ir_get_ints(op, IR_A_input_spatial_dimensions, &n);
    c->rhs_s = ir_get_ints(op, IR_A_kernel_spatial_dimensions, &np);
    c->out_s = ir_get_ints(op, IR_A_output_spatial_dimensions, &np);
    if (n < 1 || n > SPATIAL_MAX) return false;
    c->n = (int)n;
    c->lhs_b = ir_get_int(op, IR_A_input_batch_dimension, 0);
    c->lhs_f = ir_get_int(op, IR_A_input_feature_dimension, 0);
    c->rhs_i = ir_get_int(op, IR_A_kernel_input_feature_dimension, 0);
    c->rhs_o = ir_get_int(op, IR_A_kernel_output_feature_dimension, 0);
    c->out_b = ir_get_int(op, IR_A_output_batch_dimension, 0);
    c->out_f = ir_get_int(op, IR_A_output_feature_dimension, 0);
    c->groups = ir_get_int(op, IR_A_feature_group_count, 1);
    c->batch_groups = ir_get_int(op, IR_A_batch_group_count, 1);
    ints_or(op, IR_A_window_strides, c->n, 1, c->stride);
    ints_or(op, IR_A_lhs_dilation, c->n, 1, c->lhs_dil);
    ints_or(op, IR_A_rhs_dilation, c->n, 1, c->rhs_dil);
    const int64_t *pad = ir_get_ints(op, IR_A_padding, &np), *rev = ir_get_ints(op, IR_A_window_reversal, &n);
    for (int i = 0; i < c->n; i++) {
        c->low[i] = pad ? pad[2 * i] : 0;
        c->high[i] = pad ? pad[2 * i + 1] : 0;
        c->reverse[i] = rev && rev[i];
    }
    c->lhs = op->in[0]->type;
    c->rhs = op->in[1]->type;
    c->out = op->out[0].type;
    return view_dense(c->lhs, &c->lv) && view_dense(c->rhs, &c->rv) && view_dense(c->out, &c->ov) &&
           c->lhs->count > 0 && c->rhs->count > 0 && c->out->count > 0;
}

const ir_value *conv_unreversed(const conv *c, const ir_value *rhs) {
    if (!rhs->def || rhs->def->code != OP_reverse) return NULL;
    size_t n;
    const int64_t *dims = ir_get_ints(rhs->def, IR_A_dimensions, &n);
    for (size_t k = 0; k < n; k++) {
        bool spatial = false;
        for (int i = 0; i < c->n; i++) spatial = spatial || dims[k] == c->rhs_s[i];
        if (!spatial) return NULL;
    }
    for (int i = 0; i < c->n; i++) {
        bool flipped = c->rhs->dims[c->rhs_s[i]] == 1;
        for (size_t k = 0; k < n; k++) flipped = flipped || dims[k] == c->rhs_s[i];
        if (!flipped) return NULL;
    }
    return rhs->def->in[0];
}

bool conv_is_reversed(const conv *c) {
    for (int i = 0; i < c->n; i++)
        if (!c->reverse[i] && c->rhs->dims[c->rhs_s[i]] > 1) return false;
    return true;
}
bool conv_is_straight(const conv *c) {
    for (int i = 0; i < c->n; i++)
        if (c->reverse[i] && c->rhs->dims[c->rhs_s[i]] > 1) return false;
    return true;
}
