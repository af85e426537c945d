/* Verification of a whole module. What a builder cannot see when it makes one op is checked here: that every operand is
 * defined before its use and in scope, that blocks end in the right terminator and only there, that calls have callees
 * of the right signature and do not recurse, that use counts are right; and inference is asked again, since passes
 * change ops in place.
 *
 * A value is in scope while its mark is the epoch; leaving a block takes its values out of scope again. */
#include "ir/infer.h"

typedef struct func_state {
    const ir_func *func;
    bool entered, checked; /* on the current path of calls; known not to recurse */
} func_state;
typedef struct verifier {
    const ir_module *m;
    map *funcs; /* name -> func_state */
    const ir_func *func;
    uint64_t epoch;
    const ir_type **types; /* room for one op's inferred types */
    size_t cap_types;
} verifier;

static xt_status verify_block(verifier *v, const ir_block *b, ir_opcode terminator);

static xt_status fail(const verifier *v, const ir_op *op, const char *what) {
    str line = STR_INIT;
    ir_op_print(op, &line);
    xt_status s = status_new(XT_INVALID_ARGUMENT, op->src ? src_get(op->src) : NULL, "function '%s': %s: %s",
                             v->func->name, what, str_cstr(&line));
    str_free(&line);
    return s;
}

static xt_status infer_again(verifier *v, const ir_op *op) {
    size_t n, room = infer_room(op);
    if (room > v->cap_types && !vec_grow((void **)&v->types, &v->cap_types, room, sizeof *v->types))
        return status_oom(room, "verification");
    return status_context(ir_infer(op, v->types, &n), "function '%s'", v->func->name);
}

/* Calls: the callee must be there, since the program is complete now. */
static xt_status verify_callee(const verifier *v, const ir_op *op, ir_attr_key k) {
    const char *name = ir_get_string(op, k);
    if (name && map_get(v->funcs, name, strlen(name))) return NULL;
    str what = STR_INIT;
    str_printf(&what, "no function is called '%s'", name ? name : "");
    if (op->code == OP_composite) str_append(&what, " (composite_c2)");
    xt_status s = fail(v, op, str_cstr(&what));
    str_free(&what);
    return s;
}

/* run_parallel: rows of programs, one a replica, whose operands and results follow each other; functions that feed
 * infeed return one tensor each. */
static xt_status verify_grid(const verifier *v, const ir_op *op) {
    const ir_attr *rows = ir_attr_find(op, IR_A_programs), *feed = ir_attr_find(op, IR_A_infeed);
    size_t n_in = 0, n_out = 0;
    if (!rows || rows->kind != IR_AK_ARRAY || !rows->n) return fail(v, op, "'programs' must be rows of functions");
    for (size_t r = 0; r < rows->n; r++) {
        const ir_attr *row = &rows->v.list[r];
        if (row->kind != IR_AK_ARRAY || row->n != rows->v.list[0].n)
            return fail(v, op, "the rows of 'programs' must be equally long");
        for (size_t i = 0; i < row->n; i++) {
            const ir_attr *name = &row->v.list[i];
            const func_state *f = name->kind == IR_AK_SYMBOL ? map_get(v->funcs, name->v.s, strlen(name->v.s)) : NULL;
            if (!f || !f->func->body) return fail(v, op, "'programs' names a function that is not there");
            n_in += f->func->body->n_args;
            n_out += f->func->n_results;
        }
    }
    if (n_in != op->n_in) return fail(v, op, "the programs together take another number of operands");
    if (n_out != op->n_out) return fail(v, op, "the programs together have another number of results");
    if (feed && (feed->kind != IR_AK_ARRAY || !feed->n)) return fail(v, op, "'infeed' must name functions");
    for (size_t i = 0; feed && i < feed->n; i++) {
        const ir_attr *name = &feed->v.list[i];
        const func_state *f = name->kind == IR_AK_SYMBOL ? map_get(v->funcs, name->v.s, strlen(name->v.s)) : NULL;
        if (!f || !f->func->body) return fail(v, op, "'infeed' names a function that is not there");
        if (f->func->n_results != 1 || f->func->result_types[0]->kind != IR_TENSOR)
            return fail(v, op, "a function of 'infeed' must return one tensor");
    }
    return NULL;
}

static xt_status verify_op(verifier *v, const ir_op *op, const ir_block *b) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->mark != v->epoch)
            return fail(v, op, "an operand is used before it is defined, or out of its scope");
    for (uint32_t r = 0; r < op->n_regions; r++) {
        if (!op->regions[r].block) continue;
        if (op->regions[r].block->owner != op) return fail(v, op, "a region belongs to another op");
        XT_TRY(
            verify_block(v, op->regions[r].block, op->code == OP_sdy_manual_computation ? OP_sdy_return : OP_return));
    }
    if (op->block != b) return fail(v, op, "an op does not know its block");
    XT_TRY(infer_again(v, op));
    if (op->code == OP_call) XT_TRY(verify_callee(v, op, IR_A_callee));
    if (op->code == OP_composite) XT_TRY(verify_callee(v, op, IR_A_decomposition));
    if (op->code == OP_interpreter_run_parallel) XT_TRY(verify_grid(v, op));
    for (uint32_t i = 0; i < op->n_out; i++) {
        if (op->out[i].block != b || op->out[i].def != op) return fail(v, op, "a result does not know its op or block");
        op->out[i].mark = v->epoch;
    }
    return NULL;
}

static xt_status verify_ops(verifier *v, const ir_block *b, ir_opcode terminator) {
    for (const ir_op *op = b->first; op; op = op->next) {
        bool ends = ir_op_infos[op->code].flags & IR_TERMINATOR;
        if (ends && op->next) return fail(v, op, "ops follow a return");
        if (ends && op->code != terminator)
            return fail(v, op,
                        terminator == OP_func_return ? "a function must end in func.return"
                        : terminator == OP_return    ? "a region must end in stablehlo.return"
                                                     : "a manual computation must end in sdy.return");
        if (!ends && !op->next) return fail(v, op, "a block must end in a return, its last op is");
        XT_TRY(verify_op(v, op, b));
    }
    return NULL;
}

static xt_status verify_block(verifier *v, const ir_block *b, ir_opcode terminator) {
    if (!b->first)
        return status_new(XT_INVALID_ARGUMENT, NULL, "function '%s': an empty block; it must end in a return",
                          v->func->name);
    for (size_t i = 0; i < b->n_args; i++) b->args[i]->mark = v->epoch;
    xt_status s = verify_ops(v, b, terminator);
    for (size_t i = 0; i < b->n_args; i++) b->args[i]->mark = 0;
    for (const ir_op *op = b->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = 0;
    return s;
}

/* --- Use counts: recounted in the marks. --- */
static void count_uses(const ir_block *b) {
    for (const ir_op *op = b->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++) op->in[i]->mark++;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) count_uses(op->regions[r].block);
    }
}

static xt_status check_uses(const verifier *v, const ir_block *b) {
    for (size_t i = 0; i < b->n_args; i++)
        if (b->args[i]->mark != b->args[i]->uses)
            return status_new(XT_INTERNAL, NULL, "function '%s': argument %zu has %llu uses, %u are counted",
                              v->func->name, i, (unsigned long long)b->args[i]->mark, b->args[i]->uses);
    for (const ir_op *op = b->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_out; i++)
            if (op->out[i].mark != op->out[i].uses)
                return status_context(fail(v, op, "a result's uses are counted wrong"), "internal error");
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) XT_TRY(check_uses(v, op->regions[r].block));
    }
    return NULL;
}

/* --- Functions: names and recursion. --- */
enum { CALL_DEPTH = 256 };

static xt_status check_calls(verifier *v, size_t depth, const ir_block *b);

static xt_status enter(verifier *v, size_t depth, const ir_op *op, const char *name) {
    func_state *f = map_get(v->funcs, name, strlen(name));
    if (f->entered) return fail(v, op, "functions may not call themselves, directly or through others");
    if (depth > CALL_DEPTH) return fail(v, op, "calls are nested too deep");
    if (f->checked || !f->func->body) return NULL;
    f->entered = true;
    XT_TRY(check_calls(v, depth + 1, f->func->body));
    f->entered = false;
    f->checked = true;
    return NULL;
}

static xt_status check_calls(verifier *v, size_t depth, const ir_block *b) {
    for (const ir_op *op = b->first; op; op = op->next) {
        if (op->code == OP_call) XT_TRY(enter(v, depth, op, ir_get_string(op, IR_A_callee)));
        if (op->code == OP_composite) XT_TRY(enter(v, depth, op, ir_get_string(op, IR_A_decomposition)));
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) XT_TRY(check_calls(v, depth, op->regions[r].block));
    }
    return NULL;
}

static xt_status name_funcs(verifier *v) {
    for (const ir_func *f = v->m->funcs; f; f = f->next) {
        size_t n = strlen(f->name);
        if (map_get(v->funcs, f->name, n))
            return status_new(XT_INVALID_ARGUMENT, NULL, "two functions are called '%s'", f->name);
        func_state *state = base_calloc(1, sizeof *state);
        if (state) state->func = f;
        if (!state || !map_put(v->funcs, f->name, n, state, NULL)) {
            base_free(state);
            return status_oom(sizeof *state, "verification");
        }
    }
    return NULL;
}

static xt_status verify_func(verifier *v) {
    const ir_func *f = v->func;
    if (!f->body)
        return f->is_public ? status_new(XT_INVALID_ARGUMENT, NULL, "public function '%s' has no body", f->name) : NULL;
    XT_TRY(verify_block(v, f->body, OP_func_return));
    count_uses(f->body);
    return check_uses(v, f->body);
}

/* Calls of all functions are looked at only after every callee is known to exist. */
static xt_status verify_module(verifier *v) {
    XT_TRY(name_funcs(v));
    for (v->func = v->m->funcs; v->func; v->func = v->func->next) XT_TRY(verify_func(v));
    for (v->func = v->m->funcs; v->func; v->func = v->func->next) {
        func_state *f = map_get(v->funcs, v->func->name, strlen(v->func->name));
        if (f->checked || !v->func->body) continue;
        f->entered = true;
        XT_TRY(check_calls(v, 0, v->func->body));
        f->entered = false;
        f->checked = true;
    }
    return NULL;
}

xt_status ir_verify(const ir_module *m) {
    verifier v = {.m = m, .epoch = ir_new_epoch(), .funcs = map_new()};
    xt_status s = v.funcs ? verify_module(&v) : status_oom(sizeof(func_state), "verification");
    map_free(v.funcs, base_free);
    base_free(v.types);
    return s;
}
