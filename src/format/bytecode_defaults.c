/* Attributes that vhlo must say and StableHLO leaves out. The reader drops them, the writer puts them in. */
#include "format/bytecode_int.h"

const bc_default bc_defaults[] = {
    {IR_A_has_dynamic_root, BC_IF_FALSE, 0, OP_COUNT},
    {IR_A_lower, BC_IF_FALSE, 0, OP_cholesky},
    {IR_A_compare_type, BC_IF_ZERO, 0, OP_COUNT},
    {IR_A_version, BC_IF_ZERO, 0, OP_composite},
    {IR_A_composite_attributes, BC_IF_EMPTY, 0, OP_COUNT},
    {IR_A_window_strides, BC_IF_ALL, 1, OP_COUNT},
    {IR_A_padding, BC_IF_ALL, 0, OP_COUNT},
    {IR_A_lhs_dilation, BC_IF_ALL, 1, OP_COUNT},
    {IR_A_rhs_dilation, BC_IF_ALL, 1, OP_COUNT},
    {IR_A_base_dilations, BC_IF_ALL, 1, OP_COUNT},
    {IR_A_window_dilations, BC_IF_ALL, 1, OP_COUNT},
    {IR_A_window_reversal, BC_IF_ALL, 0, OP_COUNT},
    {IR_A_precision_config, BC_IF_ALL, IR_PREC_DEFAULT, OP_COUNT},
    {IR_A_has_side_effect, BC_IF_FALSE, 0, OP_COUNT},
    {IR_A_backend_config, BC_IF_EMPTY, 0, OP_COUNT},
    {IR_A_api_version, BC_IF_ZERO, 1, OP_COUNT},
    {IR_A_called_computations, BC_IF_EMPTY, 0, OP_COUNT},
    {IR_A_output_operand_aliases, BC_IF_EMPTY, 0, OP_COUNT},
    {IR_A_known_expanding_dimensions, BC_IF_EMPTY, 0, OP_COUNT},
    {IR_A_known_nonexpanding_dimensions, BC_IF_EMPTY, 0, OP_COUNT},
    {IR_A_indices_are_sorted, BC_IF_FALSE, 0, OP_COUNT},
    {IR_A_unique_indices, BC_IF_FALSE, 0, OP_COUNT},
    {IR_A_infeed_config, BC_IF_EMPTY, 0, OP_COUNT},
    {IR_A_outfeed_config, BC_IF_EMPTY, 0, OP_COUNT},
    {IR_A_layout, BC_IF_EMPTY, 0, OP_infeed},
    {IR_A_is_host_transfer, BC_IF_FALSE, 0, OP_COUNT},
    {IR_A_source_target_pairs, BC_IF_EMPTY, 0, OP_send},
    {IR_A_source_target_pairs, BC_IF_EMPTY, 0, OP_recv},
    {IR_A_dimension, BC_IF_ZERO, -1, OP_sort},
    {IR_A_is_stable, BC_IF_FALSE, 0, OP_COUNT},
    {IR_A_result_accuracy, BC_IF_UNIT, 0, OP_COUNT},
};
const size_t bc_n_defaults = BASE_COUNT(bc_defaults);

const bc_default *bc_default_of(ir_opcode op, ir_attr_key key) {
    for (size_t i = 0; i < BASE_COUNT(bc_defaults); i++)
        if (bc_defaults[i].key == key && (bc_defaults[i].op == OP_COUNT || bc_defaults[i].op == op))
            return &bc_defaults[i];
    return NULL;
}

static bool is_list(const ir_attr *a) {
    return a->kind == IR_AK_INTS || a->kind == IR_AK_BOOLS || a->kind == IR_AK_ENUMS;
}

static bool all_equal(const ir_attr *a, int64_t v) {
    if (!is_list(a)) return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->v.ints[i] != v) return false;
    return a->n > 0 || a->kind == IR_AK_ENUMS;
}

bool bc_is_default(const bc_default *d, const ir_attr *a) {
    switch (d->when) {
    case BC_IF_FALSE: return a->kind == IR_AK_BOOL && !a->v.b;
    case BC_IF_ZERO: return (a->kind == IR_AK_INT || a->kind == IR_AK_ENUM) && a->v.i == d->value;
    case BC_IF_EMPTY:
        return (is_list(a) || a->kind == IR_AK_ARRAY || a->kind == IR_AK_DICT || a->kind == IR_AK_STRING) && a->n == 0;
    case BC_IF_ALL: return all_equal(a, d->value);
    case BC_IF_UNIT: return a->kind == IR_AK_UNIT;
    }
    return false;
}

static ir_attr *find(ir_attr *items, size_t n, ir_attr_key k) {
    for (size_t i = 0; i < n; i++)
        if (k ? items[i].key == k : !items[i].key && strcmp(items[i].name, "result_tilings") == 0) return &items[i];
    return NULL;
}

static bool is_empty_array(const ir_attr *a) {
    return a && a->kind == IR_AK_ARRAY && a->n == 0;
}

void bc_drop_defaults(ir_opcode code, ir_attr *items, size_t *n) {
    for (size_t i = 0; i < bc_n_defaults; i++) {
        ir_attr *a =
            bc_defaults[i].op == OP_COUNT || bc_defaults[i].op == code ? find(items, *n, bc_defaults[i].key) : NULL;
        if (a && bc_is_default(&bc_defaults[i], a)) *a = items[--*n];
    }
    if (is_empty_array(find(items, *n, IR_A_operand_layouts)) && is_empty_array(find(items, *n, IR_A_result_layouts))) {
        *find(items, *n, IR_A_operand_layouts) = items[*n - 1], --*n;
        *find(items, *n, IR_A_result_layouts) = items[*n - 1], --*n;
    }
    ir_attr *tilings = find(items, *n, IR_A_none);
    if (is_empty_array(tilings)) *tilings = items[--*n];
}

/* vhlo has a channel's number, 0 for none, and not its type. */
static void drop_channel_type(ir_attr *items, size_t *n) {
    ir_attr *id = find(items, *n, IR_A_channel_id);
    bool none = id && id->v.i == 0;
    if (none) *id = items[--*n];
    ir_attr *type = find(items, *n, IR_A_channel_type);
    if (type) type->v.i = 0;
    if (type && none) *type = items[--*n];
}

static void drop_in_block(const ir_block *b) {
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        size_t n = op->n_attrs;
        bc_drop_defaults(op->code, op->attrs, &n);
        if (op->code != OP_send && op->code != OP_recv) drop_channel_type(op->attrs, &n);
        op->n_attrs = (uint32_t)n;
        for (uint32_t i = 0; i < op->n_regions; i++) drop_in_block(op->regions[i].block);
    }
}

void program_drop_defaults(ir_module *m) {
    for (ir_func *f = m->funcs; f; f = f->next) drop_in_block(f->body);
}
