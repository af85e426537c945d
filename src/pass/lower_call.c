/* needs: nothing. keeps: meaning, source ids of inlined ops; functions that are too large to inline are still called.
 * Puts the body of a called function in place of each func.call. Callees are treated before their callers, so one copy of a body is final; a
 * budget bounds programs whose calls double at each level. */
#include "pass/rewrite.h"

enum { MOST_OPS = 1 << 16 }; /* in all copies together */

typedef struct inliner {
    pass_ctx *c;
    ir_module *m;
    rewriter r;
    map *done; /* functions whose own calls are inlined, by name */
    size_t copied;
    ir_op **replaced; /* calls that have no readers once the walk of their block is done */
    size_t n_replaced, cap_replaced;
} inliner;

static size_t block_ops(const ir_block *b) {
    size_t n = 0;
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        n++;
        for (uint32_t r = 0; r < op->n_regions; r++) n += block_ops(op->regions[r].block);
    }
    return n;
}

static xt_status inline_func(inliner *t, ir_func *f);

static xt_status inline_call(inliner *t, ir_op *call) {
    ir_func *f = ir_func_find(t->m, ir_get_string(call, IR_A_callee));
    if (!f || !f->body) return NULL;
    XT_TRY(inline_func(t, f));
    const ir_op *ret = ir_block_return(f->body);
    size_t n = block_ops(f->body);
    if (!ret || ret->n_in != call->n_out || t->copied + n > MOST_OPS) return NULL;
    ir_value *small[16], **results = ret->n_in <= 16 ? small : base_calloc(ret->n_in, sizeof *results);
    xt_status s = results ? ir_inline_body(t->m, f->body, call, results) : status_oom(ret->n_in * sizeof *results, "inlining");
    for (uint32_t i = 0; !s && i < ret->n_in; i++)
        if (!rewrite_value(&t->r, &call->out[i], results[i])) s = status_oom(sizeof *results, "inlining");
    if (results != small) base_free(results);
    if (!s && !VEC_PUSH(t->replaced, t->n_replaced, t->cap_replaced, call)) s = status_oom(sizeof call, "inlining");
    t->copied += n;
    t->c->changed = true;
    return s;
}

static xt_status inline_block(inliner *t, ir_block *b) {
    size_t outer = t->n_replaced;
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        rewrite_operands(&t->r, op);
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(inline_block(t, op->regions[r].block));
        if (op->code == OP_call) XT_TRY(inline_call(t, op));
    }
    while (t->n_replaced > outer) ir_erase(t->replaced[--t->n_replaced]);
    return NULL;
}

static xt_status inline_func(inliner *t, ir_func *f) {
    size_t n = strlen(f->name);
    if (map_get(t->done, f->name, n)) return NULL;
    if (!map_put(t->done, f->name, n, f, NULL)) return status_oom(n, "inlining");
    return inline_block(t, f->body);
}

xt_status pass_lower_call(pass_ctx *c, ir_module *m) {
    inliner t = {.c = c, .m = m, .r = REWRITER_INIT, .done = map_new()};
    xt_status s = t.done ? NULL : status_oom(sizeof t, "inlining");
    for (ir_func *f = m->funcs; !s && f; f = f->next) s = inline_func(&t, f);
    base_free(t.replaced);
    map_free(t.done, NULL);
    rewriter_deinit(&t.r);
    return s;
}
