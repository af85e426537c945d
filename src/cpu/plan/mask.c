/* relu's gradient asks where its operand was positive; relu's result is positive in the same places (a NaN is positive
 * in neither). So the mask is taken from the result, which the next layer keeps alive anyway, and the operand need not
 * outlive relu. */
#include "cpu/plan/layout.h"
#include "cpu/plan/stages.h"

bool layout_is_zero(const ir_value *v) {
    while (v->def &&
           (v->def->code == OP_broadcast_in_dim || v->def->code == OP_broadcast || v->def->code == OP_reshape))
        v = v->def->in[0];
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    if (!l || !(l->splat || l->type->count == 1)) return false;
    if (l->type->dtype == XT_F32) return *(const float *)l->data == 0.0f;
    if (l->type->dtype == XT_BF16) return (*(const uint16_t *)l->data & 0x7fff) == 0;
    return false;
}

const ir_value *layout_relu_of(const ir_op *op) {
    if (op->code != OP_maximum || op->in[0]->type != op->in[1]->type) return NULL;
    return layout_is_zero(op->in[1]) ? op->in[0] : layout_is_zero(op->in[0]) ? op->in[1] : NULL;
}

const ir_value *layout_mask_of(const ir_op *op) {
    bool positive = op->code == OP_compare && ir_get_int(op, IR_A_comparison_direction, IR_EQ) == IR_GT &&
                    ir_get_int(op, IR_A_compare_type, IR_CMP_NOTYPE) != IR_CMP_TOTALORDER && layout_is_zero(op->in[1]);
    return positive ? op->in[0] : NULL;
}

static void move_after(ir_op *op, ir_op *other) {
    ir_block *b = op->block;
    if (op->prev)
        op->prev->next = op->next;
    else
        b->first = op->next;
    op->next->prev = op->prev; /* never the terminator */
    op->prev = other;
    op->next = other->next;
    other->next->prev = op;
    other->next = op;
}

/* The value's mark becomes the number of the op that reads it first, itself or in one of its regions; ops
 * count from 1. */
static void note_reads(const ir_block *b, uint64_t at, bool own) {
    uint64_t n = at;
    for (const ir_op *op = b->first; op; op = op->next) {
        if (own) n++;
        for (uint32_t i = 0; i < op->n_in; i++)
            if (!op->in[i]->mark) op->in[i]->mark = n;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) note_reads(op->regions[r].block, n, false);
    }
}
static void clear_marks(const ir_block *b) {
    for (size_t i = 0; i < b->n_args; i++) b->args[i]->mark = 0;
    for (const ir_op *op = b->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = 0;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) clear_marks(op->regions[r].block);
    }
}

static void take_masks_from_results(const ir_func *f) {
    clear_marks(f->body);
    note_reads(f->body, 0, true);
    uint64_t n = 0;
    for (ir_op *op = f->body->first; op; op = op->next) {
        op->user = ++n;
        for (uint32_t i = 0; i < op->n_in; i++) op->in[i]->user = 0;
    }
    for (ir_op *relu = f->body->first; relu; relu = relu->next) {
        for (uint32_t i = 0; i < relu->n_in; i++) {
            const ir_value *s = layout_relu_of(relu);
            if (relu->in[i] == s) relu->in[i]->user = (uintptr_t)relu;
        }
    }
    for (ir_op *mask = f->body->first, *next; mask; mask = next) {
        next = mask->next;
        const ir_value *s = layout_mask_of(mask);
        ir_op *relu = s && s->user ? (ir_op *)(uintptr_t)s->user : NULL;
        if (!relu || relu == mask || layout_relu_of(relu) != s) continue;
        bool before = mask->user < relu->user;
        if (before && mask->out[0].mark && mask->out[0].mark <= relu->user) continue; /* somebody needs it earlier */
        ir_set_operand(mask, 0, &relu->out[0]);
        if (before) move_after(mask, relu);
    }
    clear_marks(f->body);
    for (ir_op *op = f->body->first; op; op = op->next) {
        op->user = 0;
        for (uint32_t i = 0; i < op->n_in; i++) op->in[i]->user = 0;
    }
}

xt_status cpu_stage_masks(cpu_builder *b) {
    take_masks_from_results(b->exec->main);
    return NULL;
}
