/* Builders of contractions: dot_general and convolution with their dimension numbers. */
#include "ir/build.h"

static ir_attr precision_config(ir_builder *b, ir_precision p) {
    return ir_attr_ints(b, IR_A_precision_config, 2, (const int64_t[]){p, p});
}

ir_value *ir_dot_general(ir_builder *b, ir_value *x, ir_value *y, size_t n_batch, const int64_t *x_batch,
                         const int64_t *y_batch, size_t n_contract, const int64_t *x_contract,
                         const int64_t *y_contract, ir_precision prec) {
    if (!x || !y) return NULL;
    ir_attr attrs[] = {ir_attr_ints(b, IR_A_lhs_batching_dimensions, n_batch, x_batch),
                       ir_attr_ints(b, IR_A_rhs_batching_dimensions, n_batch, y_batch),
                       ir_attr_ints(b, IR_A_lhs_contracting_dimensions, n_contract, x_contract),
                       ir_attr_ints(b, IR_A_rhs_contracting_dimensions, n_contract, y_contract),
                       precision_config(b, prec)};
    return build_one(b, OP_dot_general, 2, (ir_value *[]){x, y}, BASE_COUNT(attrs), attrs, NULL);
}

ir_value *ir_convolution(ir_builder *b, ir_value *x, ir_value *w, const ir_conv_dims *d, ir_precision prec) {
    size_t n = d->n_spatial;
    int64_t ones[IR_MAX_RANK], pad[2 * IR_MAX_RANK], reverse[IR_MAX_RANK];
    if (!x || !w) return NULL;
    if (n > IR_MAX_RANK) {
        if (!b->status)
            b->status =
                status_new(XT_INVALID_ARGUMENT, b->src ? src_get(b->src) : NULL, "convolution: %zu spatial dims", n);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        ones[i] = 1;
        pad[2 * i] = d->pad_low ? d->pad_low[i] : 0;
        pad[2 * i + 1] = d->pad_high ? d->pad_high[i] : 0;
        reverse[i] = d->reverse ? d->reverse[i] : 0;
    }
    ir_attr attrs[] = {
        ir_attr_ints(b, IR_A_window_strides, n, d->strides ? d->strides : ones),
        ir_attr_ints2(b, IR_A_padding, n, 2, pad),
        ir_attr_ints(b, IR_A_lhs_dilation, n, d->lhs_dilation ? d->lhs_dilation : ones),
        ir_attr_ints(b, IR_A_rhs_dilation, n, d->rhs_dilation ? d->rhs_dilation : ones),
        ir_attr_ints(b, IR_A_window_reversal, n, reverse),
        ir_attr_int(IR_A_input_batch_dimension, d->lhs_batch),
        ir_attr_int(IR_A_input_feature_dimension, d->lhs_feature),
        ir_attr_ints(b, IR_A_input_spatial_dimensions, n, d->lhs_spatial),
        ir_attr_int(IR_A_kernel_input_feature_dimension, d->rhs_in),
        ir_attr_int(IR_A_kernel_output_feature_dimension, d->rhs_out),
        ir_attr_ints(b, IR_A_kernel_spatial_dimensions, n, d->rhs_spatial),
        ir_attr_int(IR_A_output_batch_dimension, d->out_batch),
        ir_attr_int(IR_A_output_feature_dimension, d->out_feature),
        ir_attr_ints(b, IR_A_output_spatial_dimensions, n, d->out_spatial),
        ir_attr_int(IR_A_feature_group_count, d->feature_groups ? d->feature_groups : 1),
        ir_attr_int(IR_A_batch_group_count, d->batch_groups ? d->batch_groups : 1),
        precision_config(b, prec),
    };
    return build_one(b, OP_convolution, 2, (ir_value *[]){x, w}, BASE_COUNT(attrs), attrs, NULL);
}
