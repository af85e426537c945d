/* Programs that are done soon: small tensors, few ops, no loops. What a fuzz target runs. */
#ifndef XT_TESTS_FUZZ_SMALL_H
#define XT_TESTS_FUZZ_SMALL_H

#include "ir/ir.h"

enum { MOST_ELEMENTS = 1 << 14, MOST_WORK = 1 << 22 };

static inline bool small_type(const ir_type *t) {
    if (t->kind != IR_TENSOR) return t->kind == IR_TOKEN;
    return t->count >= 0 && t->count <= MOST_ELEMENTS;
}

/* The work of windows and products grows with sizes that no type shows. */
static inline bool small_attrs(const ir_op *op) {
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        int64_t product = 1;
        if (op->attrs[i].key != IR_A_window_dimensions) continue;
        for (size_t k = 0; k < op->attrs[i].n; k++)
            if (__builtin_mul_overflow(product, op->attrs[i].v.ints[k], &product) ||
                product > MOST_WORK / MOST_ELEMENTS)
                return false;
    }
    return true;
}

static inline bool small_block(const ir_block *b, int *ops) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        if (++*ops > 200 || op->code == OP_while || op->code == OP_interpreter_run_parallel || !small_attrs(op))
            return false;
        for (uint32_t i = 0; i < op->n_out; i++)
            if (!small_type(op->out[i].type)) return false;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (!small_block(op->regions[r].block, ops)) return false;
    }
    return true;
}

static inline bool small_module(const ir_module *m) {
    int ops = 0;
    for (const ir_func *f = m->funcs; f; f = f->next) {
        if (!f->body || !small_block(f->body, &ops)) return false;
        for (size_t i = 0; i < f->body->n_args; i++)
            if (!small_type(f->body->args[i]->type) || f->body->args[i]->type->kind != IR_TENSOR) return false;
    }
    return true;
}

#endif
