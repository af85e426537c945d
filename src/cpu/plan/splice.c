/* See splice.h. */
#include "cpu/plan/splice.h"
#include "cpu/plan/captured.h"

static void unlink_op(ir_op *op) {
    ir_block *b = op->block;
    *(op->prev ? &op->prev->next : &b->first) = op->next;
    *(op->next ? &op->next->prev : &b->last) = op->prev;
}
static void link_behind(ir_op *op, ir_op *at) {
    op->prev = at;
    op->next = at->next;
    *(at->next ? &at->next->prev : &at->block->last) = op;
    at->next = op;
}

xt_status cpu_move_readers(ir_op *call) {
    uint64_t epoch = ir_new_epoch();
    captured read = {0};
    ir_op *behind = call;
    bool ok = true;
    for (uint32_t i = 0; i < call->n_out; i++) call->out[i].mark = epoch;
    for (ir_op *op = call->block->first, *next; op != call && ok; op = next) {
        next = op->next;
        bool reads = false;
        for (uint32_t i = 0; i < op->n_in; i++) reads |= op->in[i]->mark == epoch;
        read.n = 0;
        if (op->n_regions) ok = captured_collect(op, &read);
        for (size_t i = 0; i < read.n; i++) reads |= read.values[i]->mark == epoch;
        if (!reads) continue;
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = epoch;
        unlink_op(op);
        link_behind(op, behind);
        behind = op;
    }
    base_free(read.values);
    return ok ? NULL : status_oom(0, "moving ops");
}
