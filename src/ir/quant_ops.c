/* What quant.def says of ops on quantized tensors, and such an op as it is on floats. */
#include "ir/quant.h"

static const struct {
    quant_kind kind;
    unsigned takes;
} ops[OP_COUNT] = {
#define QUANT(op, kind, takes) [OP_##op] = {QUANT_##kind, takes},
#include "ir/quant.def"
};

quant_kind quant_kind_of(ir_opcode code) {
    return ops[code].kind;
}

bool quant_takes(const ir_op *op, size_t i) {
    if (op->code == OP_scatter) return i != op->n_in / 2; /* the indices stand in the middle */
    return i >= 32 ? ops[op->code].takes == ~0u : (ops[op->code].takes >> i & 1) != 0;
}

bool quant_in_op(const ir_op *op) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->type->quant) return true;
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i].type->quant) return true;
    for (uint32_t r = 0; r < op->n_regions; r++) {
        const ir_block *b = op->regions[r].block;
        for (size_t i = 0; b && i < b->n_args; i++)
            if (b->args[i]->type->quant) return true;
        const ir_op *ret = b ? ir_block_return(b) : NULL;
        for (uint32_t i = 0; ret && i < ret->n_in; i++)
            if (ret->in[i]->type->quant) return true;
    }
    return false;
}

bool quant_computes(const ir_op *op) {
    quant_kind k = quant_kind_of(op->code);
    return k >= QUANT_FLOAT && k < QUANT_CAST && quant_in_op(op);
}

xt_status quant_shadow_of(const ir_op *op, quant_shadow *out) {
    bool ok = op->n_in <= QUANT_VALUES && op->n_out <= QUANT_VALUES;
    out->op = *op;
    out->op.in = out->operands;
    out->op.out = out->out;
    for (uint32_t i = 0; ok && i < op->n_in; i++) {
        out->in[i] = *op->in[i];
        out->operands[i] = &out->in[i];
        ok = (out->in[i].type = ir_expressed(op->in[i]->type)) != NULL;
    }
    for (uint32_t i = 0; ok && i < op->n_out; i++) {
        out->out[i] = op->out[i];
        ok = (out->out[i].type = ir_expressed(op->out[i].type)) != NULL;
    }
    return ok ? NULL : status_oom(sizeof(ir_type), "the types of an op on quantized tensors");
}
