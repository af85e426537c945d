/* The table of pretty forms: one row per op that has clauses and types of a regular shape. Printer and parser read the
 * same rows, so that they cannot disagree. Ops with a syntax of their own (reduce, while, convolution, ...) are
 * functions in print_op.c and parse_pretty_*.c; ops in neither place are written in generic form. Source: the assembly
 * formats of the StableHLO dialect. */
#include "ir/text.h"

#define K(name) IR_A_##name
const pretty_row pretty_rows[OP_COUNT] = {
    [OP_abs] = {TYPES_SAME},
    [OP_cbrt] = {TYPES_SAME},
    [OP_ceil] = {TYPES_SAME},
    [OP_convert] = {TYPES_SAME},
    [OP_cosine] = {TYPES_SAME},
    [OP_count_leading_zeros] = {TYPES_SAME},
    [OP_exponential] = {TYPES_SAME},
    [OP_exponential_minus_one] = {TYPES_SAME},
    [OP_floor] = {TYPES_SAME},
    [OP_imag] = {TYPES_FUNCTION},
    [OP_is_finite] = {TYPES_FUNCTION},
    [OP_log] = {TYPES_SAME},
    [OP_log_plus_one] = {TYPES_SAME},
    [OP_logistic] = {TYPES_SAME},
    [OP_negate] = {TYPES_SAME},
    [OP_not] = {TYPES_SAME},
    [OP_popcnt] = {TYPES_SAME},
    [OP_real] = {TYPES_FUNCTION},
    [OP_round_nearest_afz] = {TYPES_SAME},
    [OP_round_nearest_even] = {TYPES_SAME},
    [OP_rsqrt] = {TYPES_SAME},
    [OP_sign] = {TYPES_SAME},
    [OP_sine] = {TYPES_SAME},
    [OP_sqrt] = {TYPES_SAME},
    [OP_tan] = {TYPES_SAME},
    [OP_tanh] = {TYPES_SAME},
    [OP_reduce_precision] = {TYPES_SAME, {{"format", CLAUSE_FORMAT, K(exponent_bits), K(mantissa_bits), false}}},

    [OP_add] = {TYPES_SAME},
    [OP_and] = {TYPES_SAME},
    [OP_atan2] = {TYPES_SAME},
    [OP_complex] = {TYPES_RESULT},
    [OP_divide] = {TYPES_SAME},
    [OP_maximum] = {TYPES_SAME},
    [OP_minimum] = {TYPES_SAME},
    [OP_multiply] = {TYPES_SAME},
    [OP_or] = {TYPES_SAME},
    [OP_power] = {TYPES_SAME},
    [OP_remainder] = {TYPES_SAME},
    [OP_shift_left] = {TYPES_SAME},
    [OP_shift_right_arithmetic] = {TYPES_SAME},
    [OP_shift_right_logical] = {TYPES_SAME},
    [OP_subtract] = {TYPES_SAME},
    [OP_xor] = {TYPES_SAME},
    [OP_clamp] = {TYPES_SAME},
    [OP_select] = {TYPES_SELECT},

    [OP_iota] = {TYPES_RESULT, {{"dim", CLAUSE_INT, K(iota_dimension), 0, false}}},
    [OP_dynamic_iota] = {TYPES_FUNCTION, {{"dim", CLAUSE_INT, K(iota_dimension), 0, false}}},
    [OP_bitcast_convert] = {TYPES_FUNCTION},
    [OP_broadcast] = {TYPES_FUNCTION, {{"sizes", CLAUSE_INTS, K(broadcast_sizes), 0, false}}},
    [OP_broadcast_in_dim] = {TYPES_FUNCTION, {{"dims", CLAUSE_INTS, K(broadcast_dimensions), 0, false}}},
    [OP_dynamic_broadcast_in_dim] = {TYPES_FUNCTION, {{"dims", CLAUSE_INTS, K(broadcast_dimensions), 0, false}}},
    [OP_concatenate] = {TYPES_FUNCTION, {{"dim", CLAUSE_INT, K(dimension), 0, false}}},
    [OP_get_dimension_size] = {TYPES_FUNCTION, {{"dim", CLAUSE_INT, K(dimension), 0, false}}},
    [OP_set_dimension_size] = {TYPES_FUNCTION, {{"dim", CLAUSE_INT, K(dimension), 0, false}}},
    [OP_pad] = {TYPES_FUNCTION,
                {{"low", CLAUSE_INTS, K(edge_padding_low), 0, false},
                 {"high", CLAUSE_INTS, K(edge_padding_high), 0, false},
                 {"interior", CLAUSE_INTS, K(interior_padding), 0, false}}},
    [OP_dynamic_pad] = {TYPES_FUNCTION},
    [OP_reshape] = {TYPES_FUNCTION},
    [OP_dynamic_reshape] = {TYPES_FUNCTION},
    [OP_real_dynamic_slice] = {TYPES_FUNCTION},
    [OP_reverse] = {TYPES_SAME, {{"dims", CLAUSE_INTS, K(dimensions), 0, false}}},
    [OP_transpose] = {TYPES_FUNCTION, {{"dims", CLAUSE_INTS, K(permutation), 0, false}}},
    [OP_dynamic_slice] = {TYPES_FUNCTION, {{"sizes", CLAUSE_INTS, K(slice_sizes), 0, false}}},
    [OP_dynamic_update_slice] = {TYPES_FUNCTION},

    [OP_dot] = {TYPES_FUNCTION, {{"precision", CLAUSE_ENUMS, K(precision_config), 0, true}}},
    [OP_dot_general] = {TYPES_FUNCTION,
                        {{"batching_dims", CLAUSE_PAIR, K(lhs_batching_dimensions), K(rhs_batching_dimensions), true},
                         {"contracting_dims", CLAUSE_PAIR, K(lhs_contracting_dimensions), K(rhs_contracting_dimensions),
                          false},
                         {"precision", CLAUSE_ENUMS, K(precision_config), 0, true},
                         {"algorithm", CLAUSE_STRUCT, K(algorithm), 0, true}}},
    [OP_einsum] = {TYPES_FUNCTION, {{"config", CLAUSE_STRING, K(einsum_config), 0, false}}},
    [OP_unary_einsum] = {TYPES_FUNCTION, {{"config", CLAUSE_STRING, K(einsum_config), 0, false}}},

    [OP_cholesky] = {TYPES_SAME, {{"lower", CLAUSE_BOOL, K(lower), 0, false}}},
    [OP_fft] = {TYPES_FUNCTION,
                {{"type", CLAUSE_ENUM, K(fft_type), 0, false}, {"length", CLAUSE_INTS, K(fft_length), 0, false}}},
    [OP_rng] = {TYPES_FUNCTION, {{"distribution", CLAUSE_ENUM, K(rng_distribution), 0, false}}},
    [OP_rng_bit_generator] = {TYPES_FUNCTION, {{"algorithm", CLAUSE_ENUM, K(rng_algorithm), 0, false}}},

    [OP_optimization_barrier] = {TYPES_OPERANDS},
    [OP_return] = {TYPES_OPERANDS},
    [OP_sdy_return] = {TYPES_OPERANDS},
    [OP_func_return] = {TYPES_OPERANDS},
    [OP_tuple] = {TYPES_RESULT},
    [OP_after_all] = {TYPES_RESULT},
    [OP_create_token] = {TYPES_RESULT},
    [OP_partition_id] = {TYPES_RESULT},
    [OP_replica_id] = {TYPES_RESULT},
};
#undef K

bool pretty_has_key(const pretty_row *row, ir_attr_key key) {
    for (size_t i = 0; i < PRETTY_CLAUSES && row->clauses[i].word; i++)
        if (row->clauses[i].key == key || row->clauses[i].key2 == key) return key != IR_A_none;
    return false;
}

bool text_key_is_i32(ir_attr_key key) {
    return key == IR_A_index || key == IR_A_exponent_bits || key == IR_A_mantissa_bits || key == IR_A_api_version ||
           key == IR_A_version;
}

bool text_key_is_matrix(ir_attr_key key) {
    return key == IR_A_padding || key == IR_A_replica_groups || key == IR_A_source_target_pairs;
}
