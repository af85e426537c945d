/* needs: nothing. keeps: meaning, effects, functions that can be reached from public ones. Removes ops without effect
 * whose results nobody reads, last op first, so one walk suffices; then functions that nothing reachable names. */
#include "pass/pass.h"

static bool unused(const ir_op *op) {
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i].uses) return false;
    return !(ir_op_infos[op->code].flags & IR_TERMINATOR) && ir_op_is_pure(op);
}

static void sweep(pass_ctx *c, ir_block *b) {
    for (ir_op *op = b ? b->last : NULL, *prev; op; op = prev) {
        prev = op->prev;
        if (unused(op)) {
            ir_erase(op);
            c->changed = true;
            continue;
        }
        for (uint32_t r = 0; r < op->n_regions; r++) sweep(c, op->regions[r].block);
    }
}

/* --- Functions --- */
typedef struct reach {
    const ir_module *m;
    map *seen; /* by name */
    const ir_func **todo;
    size_t n, cap;
    bool dropped;
} reach;

static bool reach_name(reach *r, const char *name) {
    if (map_get(r->seen, name, strlen(name))) return true;
    ir_func *f = ir_func_find(r->m, name);
    if (!f) return true;
    const ir_func *found = f;
    return map_put(r->seen, name, strlen(name), f, NULL) && VEC_PUSH(r->todo, r->n, r->cap, found);
}

/* Any symbol in any attribute counts: callee, decomposition, called_computations, programs. */
static bool reach_attr(reach *r, const ir_attr *a) {
    if (a->kind == IR_AK_SYMBOL) return reach_name(r, a->v.s);
    if (a->kind != IR_AK_ARRAY && a->kind != IR_AK_DICT) return true;
    for (size_t i = 0; i < a->n; i++)
        if (!reach_attr(r, &a->v.list[i])) return false;
    return true;
}

static bool reach_block(reach *r, const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_attrs; i++)
            if (!reach_attr(r, &op->attrs[i])) return false;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (!reach_block(r, op->regions[i].block)) return false;
    }
    return true;
}

static bool is_unreached(const ir_func *f, void *reached) {
    reach *r = reached;
    bool unreached = !f->is_public && !map_get(r->seen, f->name, strlen(f->name));
    r->dropped |= unreached;
    return unreached;
}

static xt_status sweep_funcs(pass_ctx *c, ir_module *m) {
    reach r = {.m = m, .seen = map_new()};
    bool good = r.seen, any_public = false;
    for (const ir_func *f = m->funcs; good && f; f = f->next) {
        any_public |= f->is_public;
        if (f->is_public) good = reach_name(&r, f->name);
    }
    while (good && r.n) good = reach_block(&r, r.todo[--r.n]->body);
    if (good && any_public) ir_funcs_drop(m, is_unreached, &r);
    c->changed |= r.dropped;
    base_free(r.todo);
    map_free(r.seen, NULL);
    return good ? NULL : status_oom(sizeof r, "dead code elimination");
}

xt_status pass_opt_dce(pass_ctx *c, ir_module *m) {
    for (ir_func *f = m->funcs; f; f = f->next) sweep(c, f->body);
    return m->funcs && m->funcs->next ? sweep_funcs(c, m) : NULL;
}
