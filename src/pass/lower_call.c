/* needs: nothing. keeps: meaning, source ids of inlined ops; functions that are too large to inline are still called.
 * Puts the body of a called function in place of each func.call. Callees are treated before their callers, so one copy
 * of a body is final; a budget bounds programs whose calls double at each level.
 *
 * A collective that async_start begins stands there by itself afterwards, and where async_done waited for it its result
 * is read: the plan starts collectives early and waits for them late on its own account (cpu/schedule.c). Futures of
 * one tensor, which loops may carry, become that tensor. */
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

static const ir_type *of_future(const ir_type *t) {
    return t->kind == IR_FUTURE && t->rank == 1 ? t->elems[0] : t;
}

static xt_status replace(inliner *t, ir_op *op, ir_value *const *results) {
    for (uint32_t i = 0; i < op->n_out; i++)
        if (!rewrite_value(&t->r, &op->out[i], results[i])) return status_oom(sizeof *results, "inlining");
    if (!VEC_PUSH(t->replaced, t->n_replaced, t->cap_replaced, op)) return status_oom(sizeof op, "inlining");
    t->c->changed = true;
    return NULL;
}

static xt_status inline_start(inliner *t, ir_op *op) {
    ir_value *result;
    if (op->out[0].type->rank != 1) return NULL;
    XT_TRY(ir_inline_body(t->m, op->regions[0].block, op, &result));
    return replace(t, op, &result);
}

static xt_status inline_done(inliner *t, ir_op *op) {
    return op->in[0]->type->kind == IR_FUTURE ? NULL : replace(t, op, op->in);
}

/* JAX's wish that one value be computed before another. The plan has an order of its own. */
static bool is_wish(const ir_op *op) {
    const char *target = op->code == OP_custom_call && op->n_out == 0 ? ir_get_string(op, IR_A_call_target_name) : NULL;
    return target && strcmp(target, "control_dep") == 0;
}

static xt_status inline_call(inliner *t, ir_op *call) {
    ir_func *f = ir_func_find(t->m, ir_get_string(call, IR_A_callee));
    if (!f || !f->body) return NULL;
    XT_TRY(inline_func(t, f));
    const ir_op *ret = ir_block_return(f->body);
    size_t n = block_ops(f->body);
    if (!ret || ret->n_in != call->n_out || t->copied + n > MOST_OPS) return NULL;
    ir_value *small[16], **results = ret->n_in <= 16 ? small : base_calloc(ret->n_in, sizeof *results);
    xt_status s =
        results ? ir_inline_body(t->m, f->body, call, results) : status_oom(ret->n_in * sizeof *results, "inlining");
    if (!s) s = replace(t, call, results);
    if (results != small) base_free(results);
    t->copied += n;
    return s;
}

static xt_status inline_block(inliner *t, ir_block *b) {
    size_t outer = t->n_replaced;
    for (size_t i = 0; b && i < b->n_args; i++) b->args[i]->type = of_future(b->args[i]->type);
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        rewrite_operands(&t->r, op);
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(inline_block(t, op->regions[r].block));
        if (op->code == OP_call) XT_TRY(inline_call(t, op));
        if (op->code == OP_async_start) {
            XT_TRY(inline_start(t, op));
            continue;
        }
        if (is_wish(op)) XT_TRY(replace(t, op, NULL));
        if (op->code == OP_async_done) XT_TRY(inline_done(t, op));
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].type = of_future(op->out[i].type);
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
