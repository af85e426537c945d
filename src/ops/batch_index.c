/* Gathers and scatters of all examples at once: the examples are a batching dim of both operand and indices where both
 * differ, else a dim of the windows (of the operand alone) or of the list of places (of the indices alone). */
#include "ops/batch.h"

static ir_attr plus_one(batch_call *c, ir_attr_key key) {
    return batch_ints(c, key, -1, 1);
}

static ir_attr as_is(batch_call *c, ir_attr_key key) {
    return batch_ints(c, key, -1, 0);
}

static ir_attr number_plus(batch_call *c, ir_attr_key key, int64_t plus) {
    return ir_attr_int(key, ir_get_int(c->op, key, 0) + plus);
}

bool batch_gather(batch_call *c) {
    bool x = c->in[0].batched, at = c->in[1].batched;
    ir_attr a[] = {x && !at ? batch_ints(c, IR_A_offset_dims, 0, 1) : plus_one(c, IR_A_offset_dims),
                   x ? plus_one(c, IR_A_collapsed_slice_dims) : as_is(c, IR_A_collapsed_slice_dims),
                   x ? plus_one(c, IR_A_start_index_map) : as_is(c, IR_A_start_index_map),
                   x && at ? batch_ints(c, IR_A_operand_batching_dims, 0, 1)
                   : x     ? plus_one(c, IR_A_operand_batching_dims)
                           : as_is(c, IR_A_operand_batching_dims),
                   x && at ? batch_ints(c, IR_A_start_indices_batching_dims, 0, 1)
                   : at    ? plus_one(c, IR_A_start_indices_batching_dims)
                           : as_is(c, IR_A_start_indices_batching_dims),
                   number_plus(c, IR_A_index_vector_dim, at),
                   x ? batch_ints(c, IR_A_slice_sizes, at ? 1 : c->t->n, 0) : as_is(c, IR_A_slice_sizes),
                   ir_attr_bool(IR_A_indices_are_sorted, !at && ir_get_bool(c->op, IR_A_indices_are_sorted, false))};
    return batch_build(c, 2, (ir_value *[]){c->in[0].v, c->in[1].v}, BASE_COUNT(a), a);
}

bool batch_scatter(batch_call *c) {
    if (c->op->n_in != 3) return false;
    bool at = c->in[1].batched;
    ir_value *in[3] = {batch_all(c->t, c->in[0]), c->in[1].v, batch_all(c->t, c->in[2])};
    ir_attr a[] = {at ? plus_one(c, IR_A_update_window_dims) : batch_ints(c, IR_A_update_window_dims, 0, 1),
                   plus_one(c, IR_A_inserted_window_dims),
                   plus_one(c, IR_A_scatter_dims_to_operand_dims),
                   at ? batch_ints(c, IR_A_input_batching_dims, 0, 1) : plus_one(c, IR_A_input_batching_dims),
                   at ? batch_ints(c, IR_A_scatter_indices_batching_dims, 0, 1)
                      : as_is(c, IR_A_scatter_indices_batching_dims),
                   number_plus(c, IR_A_index_vector_dim, at),
                   ir_attr_bool(IR_A_indices_are_sorted, !at && ir_get_bool(c->op, IR_A_indices_are_sorted, false))};
    return batch_build(c, 3, in, BASE_COUNT(a), a);
}
