/* Makes main one flat list of ops: bodies of called functions and decompositions of composites take the place of the
 * calls, ops whose results nobody reads go. Calls inside regions stay; the interpreter, which runs those regions,
 * follows them. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/stages.h"
#include "pass/pass.h"

typedef struct inliner {
    ir_module *m;
    ir_builder b;
} inliner;

static ir_block *copy_block(inliner *c, const ir_block *from);

/* While a body is copied, a value's mark is its copy; values from outside have none and stand for themselves. */
static ir_value *copied(const ir_value *v) {
    return v->mark ? (ir_value *)(uintptr_t)v->mark : (ir_value *)(uintptr_t)v;
}

static bool copy_op(inliner *c, const ir_op *op) {
    ir_value **in = arena_alloc(c->m->mem, (op->n_in + 1) * sizeof *in);
    ir_block **blocks = arena_alloc(c->m->mem, (op->n_regions + 1) * sizeof *blocks);
    const ir_type **types = arena_alloc(c->m->mem, (op->n_out + 1) * sizeof *types);
    if (!in || !blocks || !types) {
        if (!c->b.status) c->b.status = status_oom(0, "inlining a call");
        return false;
    }
    for (uint32_t i = 0; i < op->n_in; i++) in[i] = copied(op->in[i]);
    for (uint32_t i = 0; i < op->n_out; i++) types[i] = op->out[i].type;
    for (uint32_t i = 0; i < op->n_regions; i++)
        if (op->regions[i].block && !(blocks[i] = copy_block(c, op->regions[i].block))) return false;
    c->b.src = op->src;
    c->b.path = op->path;
    ir_op *made =
        ir_build(&c->b, op->code, op->n_in, in, op->n_attrs, op->attrs, op->n_regions, blocks, op->n_out, types);
    if (!made) return false;
    for (uint32_t i = 0; i < op->n_out; i++) ((ir_op *)(uintptr_t)op)->out[i].mark = (uintptr_t)&made->out[i];
    return true;
}

static ir_block *copy_block(inliner *c, const ir_block *from) {
    ir_block *into = ir_block_new(c->m);
    ir_builder outer = c->b;
    for (size_t i = 0; into && i < from->n_args; i++) {
        ir_value *a = ir_block_arg(c->m, into, from->args[i]->type);
        if (!a) return NULL;
        from->args[i]->mark = (uintptr_t)a;
    }
    if (!into) return NULL;
    c->b = ir_at_end(c->m, into);
    bool ok = true;
    for (const ir_op *op = from->first; op && ok; op = op->next) ok = copy_op(c, op);
    xt_status s = c->b.status;
    c->b = outer;
    if (s) c->b.status = s;
    return ok ? into : NULL;
}

static void clear_marks(const ir_block *b) {
    for (size_t i = 0; i < b->n_args; i++) b->args[i]->mark = 0;
    for (ir_op *op = b->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = 0;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (op->regions[i].block) clear_marks(op->regions[i].block);
    }
}

static const ir_func *callee_of(const ir_module *m, const ir_op *op) {
    const char *name = op->code == OP_call        ? ir_get_string(op, IR_A_callee)
                       : op->code == OP_composite ? ir_get_string(op, IR_A_decomposition)
                                                  : NULL;
    const ir_func *f = name ? ir_func_find(m, name) : NULL;
    return f && f->body && f->body->n_args == op->n_in ? f : NULL;
}

static xt_status inline_one(ir_module *m, ir_op *call, const ir_func *f) {
    inliner c = {.m = m, .b = ir_before(m, call)};
    clear_marks(f->body);
    for (size_t i = 0; i < f->body->n_args; i++) f->body->args[i]->mark = (uintptr_t)call->in[i];
    for (const ir_op *op = f->body->first; op; op = op->next) {
        if (ir_op_infos[op->code].flags & IR_TERMINATOR) {
            for (uint32_t i = 0; i < call->n_out && i < op->n_in; i++)
                ir_replace_uses(m, &call->out[i], copied(op->in[i]));
        } else if (!copy_op(&c, op)) {
            return c.b.status ? c.b.status : status_oom(0, "inlining a call");
        }
    }
    clear_marks(f->body);
    ir_erase(call);
    return c.b.status;
}

/* A whole number that is written in the program. */
static bool is_number(const ir_value *v) {
    return v->def && v->def->code == OP_constant && v->type->count == 1 && ir_dtype_is_int(v->type->dtype);
}

xt_status cpu_region_program(const ir_block *from, size_t n_captured, const ir_value *const *captured,
                             ir_module **out) {
    ir_module *m = *out = ir_module_new();
    ir_func *f = m ? ir_func_new(m, "main", true) : NULL;
    if (!f) return status_oom(0, "a region's program");
    inliner c = {.m = m, .b = ir_at_end(m, ir_func_block(f))};
    ir_block *block = (ir_block *)(uintptr_t)from;
    clear_marks(block);
    bool ok = true;
    for (size_t i = 0; i < from->n_args + n_captured && ok; i++) {
        ir_value *v = i < from->n_args ? from->args[i] : (ir_value *)(uintptr_t)captured[i - from->n_args],
                 *a = ir_func_arg(f, v->type);
        v->mark = (uintptr_t)a;
        ok = a != NULL;
    }
    for (size_t i = 0; i < n_captured && ok; i++)
        if (is_number(captured[i])) ok = copy_op(&c, captured[i]->def);
    for (const ir_op *op = from->first; op && ok; op = op->next) {
        if (!(ir_op_infos[op->code].flags & IR_TERMINATOR)) {
            ok = copy_op(&c, op);
            continue;
        }
        ir_value **results = arena_alloc(m->mem, (op->n_in + 1) * sizeof *results);
        for (uint32_t i = 0; results && i < op->n_in; i++) results[i] = copied(op->in[i]);
        if (results) ir_return(&c.b, op->n_in, results);
        ok = results != NULL;
    }
    clear_marks(block);
    for (size_t i = 0; i < n_captured; i++) ((ir_value *)(uintptr_t)captured[i])->mark = 0;
    if (!ok && !c.b.status) c.b.status = status_oom(0, "a region's program");
    if (c.b.status) return c.b.status;
    cpu_drop_dead(f->body);
    return NULL;
}

void cpu_drop_dead(ir_block *b) {
    for (ir_op *op = b->last, *prev; op; op = prev) {
        prev = op->prev;
        bool used = (ir_op_infos[op->code].flags & IR_TERMINATOR) || !ir_op_is_pure(op);
        for (uint32_t i = 0; i < op->n_out && !used; i++) used = op->out[i].uses > 0;
        if (!used) ir_erase(op);
    }
}

static xt_status inline_calls(ir_module *m, ir_func *f) {
    for (ir_op *op = f->body->first; op;) {
        const ir_func *g = callee_of(m, op);
        if (!g || g == f) {
            op = op->next;
            continue;
        }
        ir_op *before = op->prev; /* the copy may hold calls of its own: go on with its first op */
        XT_TRY(inline_one(m, op, g));
        op = before ? before->next : f->body->first;
    }
    cpu_drop_dead(f->body);
    return NULL;
}

/* --- how many ops there will be --- */
enum { MOST_OPS = 1 << 22 }; /* some gigabyte of them */

static int64_t ops_in(const ir_block *b) {
    int64_t n = 0;
    for (const ir_op *op = b->first; op && n < MOST_OPS; op = op->next) {
        n++;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (op->regions[i].block) n += ops_in(op->regions[i].block);
    }
    return n;
}

/* Of f once all calls are copies; each function is counted once, so that finding out stays cheap where the result is
 * not. Functions do not call themselves, and calls are nested as deep as the verifier allows. MOST_OPS + 1: more. */
static int64_t ops_of(const ir_module *m, const ir_func *f, map *known, bool *out_oom) {
    int64_t n = (int64_t)(uintptr_t)map_get(known, &f, sizeof f);
    if (n) return n;
    for (const ir_op *op = f->body->first; op && n <= MOST_OPS; op = op->next) {
        const ir_func *g = callee_of(m, op);
        n += g && g != f ? ops_of(m, g, known, out_oom) : 1;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (op->regions[i].block) n += ops_in(op->regions[i].block);
    }
    if (n > MOST_OPS) n = MOST_OPS + 1;
    if (!map_put(known, &f, sizeof f, (void *)(uintptr_t)n, NULL)) *out_oom = true;
    return n;
}

static xt_status not_too_many(const ir_module *m, const ir_func *f) {
    map *known = map_new();
    bool oom = known == NULL;
    int64_t n = oom ? 0 : ops_of(m, f, known, &oom);
    map_free(known, NULL);
    if (oom) return status_oom(0, "inlining calls");
    if (n <= MOST_OPS) return NULL;
    return status_new(XT_UNIMPLEMENTED, NULL,
                      "function '%s' would be more than %d ops with the functions that it calls in the place of the "
                      "calls; functions that call others several times grow so with every level: make loops of them",
                      f->name, MOST_OPS);
}

xt_status cpu_stage_inline(cpu_builder *b) {
    b->exec->passes->changed = true;
    XT_TRY(not_too_many(b->exec->module, b->exec->main));
    return inline_calls(b->exec->module, b->exec->main);
}
