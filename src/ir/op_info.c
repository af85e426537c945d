/* The table of ops.def, and what follows from it. */
#include "ir/infer.h"

/* Ops of other dialects are spelt "chlo_square" in the table and "square" in text. func.call is its own name;
 * "stablehlo" rows have no prefix. An address of a literal plus a constant is a constant, so the table needs no
 * initialisation. */
#define TEXT_NAME(name, dialect) \
    (&#name[sizeof(dialect) == sizeof("stablehlo") || sizeof(#name) <= sizeof(dialect) ? 0 : sizeof(dialect)])

const ir_op_info ir_op_infos[OP_COUNT] = {
#define OP(name, dialect, cls, nin, nout, nregions, rule, flags, meaning, derivative, text, properties, since, doc) \
    [OP_##name] = {TEXT_NAME(name, dialect), dialect, IR_CLASS_##cls, nin, nout, nregions,                          \
                   ir_infer_##rule,          flags,   properties,     doc},
#include "ir/ops.def"
#undef OP
};

/* A linear search: the first character decides nearly always, and only the parser asks. */
bool ir_opcode_from_name(const char *dialect, const char *name, ir_opcode *out) {
    for (int i = 0; i < OP_COUNT; i++) {
        const ir_op_info *info = &ir_op_infos[i];
        if (info->name[0] != name[0] || strcmp(info->name, name) != 0 || strcmp(info->dialect, dialect) != 0) continue;
        *out = (ir_opcode)i;
        return true;
    }
    return false;
}

static bool block_is_pure(const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next)
        if (!(ir_op_infos[op->code].flags & IR_TERMINATOR) && !ir_op_is_pure(op)) return false;
    return true;
}

/* Regions nest only as deep as the program's text, which the parser bounds; so this may recurse. */
bool ir_op_is_pure(const ir_op *op) {
    if (op->code == OP_custom_call) return !ir_get_bool(op, IR_A_has_side_effect, false);
    if (!(ir_op_infos[op->code].flags & IR_PURE)) return false;
    for (uint32_t i = 0; i < op->n_regions; i++)
        if (!block_is_pure(op->regions[i].block)) return false;
    return true;
}
