/* The executor: functions, blocks, control flow; interp_table.c has the function of every other op.
 *
 * A function or region becomes a block_plan: its values are numbered, each step knows which of its operands die with
 * it. A frame holds the numbered values of one running plan; regions of while, if and case run in the frame of the
 * function around them, so captured values are just numbers. Invariants:
 *  1. A frame's value is owned (freed or moved on) or borrowed (arguments of the caller, constants, captured values):
 *     borrowed ones are copied where ownership is needed.
 *  2. An owned operand that dies at a step may give its memory to the step's result (in-place elementwise ops, reshape,
 *     loop state).
 *  3. After a block has run, every value defined in it is gone; a loop's memory does not grow with its trip count.
 * Memory of dead values goes to a pool of the run and is reused by size, since fresh pages cost more than most ops. */
#include "ir/interp_plan.h"

/* --- The pool: memory of dead values, newest first --- */
enum { POOL_SLOTS = 64 };
static const size_t pool_limit = (size_t)512 << 20; /* bytes kept for reuse; more goes back to the system */
struct interp_pool {
    struct {
        void *data;
        size_t bytes;
    } free[POOL_SLOTS];
    size_t n, bytes;
};

static size_t pool_size(const ir_type *t) {
    size_t n = ir_type_bytes(t);
    return n < 64 ? 64 : (n + 63) & ~(size_t)63;
}

static xt_status value_new(interp *c, const ir_type *type, array *out) {
    if (type->kind != IR_TENSOR || type->count < 0) return array_new_raw(type, out);
    size_t bytes = pool_size(type);
    interp_pool *p = c->pool;
    for (size_t i = p ? p->n : 0; i-- > 0;) {
        if (p->free[i].bytes != bytes) continue;
        *out = (array){type, p->free[i].data};
        p->free[i] = p->free[--p->n];
        p->bytes -= bytes;
        live_add(LIVE_array, 1);
        return NULL;
    }
    *out = (array){type, base_aligned(64, bytes)};
    if (!out->data) return status_oom(bytes, "an array");
    live_add(LIVE_array, 1);
    return NULL;
}

static void value_free(interp *c, array *a) {
    interp_pool *p = c->pool;
    if (!a->data || !p || a->type->kind != IR_TENSOR) {
        array_free(a);
        return;
    }
    size_t bytes = pool_size(a->type);
    if (p->n == POOL_SLOTS || p->bytes + bytes > pool_limit) {
        array_free(a);
        return;
    }
    p->free[p->n].data = a->data;
    p->free[p->n++].bytes = bytes;
    p->bytes += bytes;
    a->data = NULL;
    live_add(LIVE_array, -1);
}

static void pool_free(interp_pool *p) {
    for (size_t i = 0; p && i < p->n; i++) base_free(p->free[i].data);
    base_free(p);
}

/* Plans of the functions called in a run. */
struct interp_plans {
    struct interp_plans *next;
    const ir_func *func;
    block_plan *plan;
};

/* --- Running --- */
typedef struct frame {
    interp c; /* the run's context with this frame's values as `outer` */
    const block_plan *root;
    slot *slots;
    interp *up;
} frame;

static const array *frame_lookup(void *env, const ir_value *v) {
    const frame *f = env;
    uint32_t s;
    if (plan_slot_of(&f->root->num, v, &s) && f->slots[s].a.type) return &f->slots[s].a;
    return f->up->outer ? f->up->outer(f->up->env, v) : NULL;
}

static void drop(frame *f, uint32_t s) {
    if (f->slots[s].owned) value_free(&f->c, &f->slots[s].a);
    f->slots[s] = (slot){0};
}

static bool dies(const step *st, uint32_t s) {
    for (uint32_t i = 0; i < st->n_dead; i++)
        if (st->dead[i] == s) return true;
    return false;
}

/* The value of a slot as one's own: moved when it may be, else copied. */
static xt_status take(frame *f, uint32_t s, bool may_move, array *out) {
    slot *v = &f->slots[s];
    if (may_move && v->owned) {
        *out = v->a;
        *v = (slot){0};
        return NULL;
    }
    if (v->a.type->kind != IR_TENSOR) return array_copy(&v->a, out);
    XT_TRY(value_new(&f->c, v->a.type, out));
    memcpy(out->data, v->a.data, ir_type_bytes(v->a.type));
    return NULL;
}

/* Operand j of a step, moved if this is its last use and no other operand of the step is the same value. */
static xt_status take_operand(frame *f, const step *st, uint32_t j, array *out) {
    bool last = dies(st, st->in[j]) && !(st->captured && st->captured[j]);
    for (uint32_t k = j + 1; k < st->op->n_in && last; k++) last = st->in[k] != st->in[j];
    return take(f, st->in[j], last, out);
}

static xt_status run_steps(frame *f, const block_plan *p);

/* Runs a region's block: `args` are moved in (owned) and gone afterwards; `out` gets n_results new arrays. */
static xt_status run_region(frame *f, const block_plan *p, array *args, bool owned, array *out) {
    for (size_t j = 0; j < p->n_args; j++) {
        f->slots[p->args[j]] = (slot){.a = args[j], .owned = owned};
        if (owned) args[j] = (array){0};
    }
    xt_status s = run_steps(f, p);
    for (size_t j = 0; j < p->n_results && !s; j++) {
        uint32_t r = p->results[j];
        bool mine = r >= p->slot_lo && r < p->slot_hi;
        for (size_t k = j + 1; k < p->n_results && mine; k++) mine = p->results[k] != r;
        s = take(f, r, mine, &out[j]);
        if (s)
            for (size_t k = 0; k < j; k++) value_free(&f->c, &out[k]);
    }
    for (uint32_t k = p->slot_lo; k < p->slot_hi; k++)
        if (!f->slots[k].pinned) drop(f, k);
    return s;
}

static void free_all(frame *f, array *a, size_t n) {
    for (size_t j = 0; a && j < n; j++) value_free(&f->c, &a[j]);
}

static xt_status run_while(frame *f, const step *st) {
    const ir_op *op = st->op;
    uint32_t n = op->n_in;
    const block_plan *cond = st->regions[0], *body = st->regions[1];
    array *state = base_calloc(2 * (n + 1), sizeof *state), *next = state + n + 1;
    if (!state) return status_oom(2 * n * sizeof *state, "a loop's state");
    xt_status s = NULL;
    interp_loop here = {.op = op, .up = f->c.loops};
    for (uint32_t j = 0; j < n && !s; j++) s = take_operand(f, st, j, &state[j]);
    f->c.loops = &here;
    for (; !s; here.iteration++) {
        array flag = {0};
        s = run_region(f, cond, state, false, &flag);
        if (s) break;
        bool go = *(const uint8_t *)flag.data;
        value_free(&f->c, &flag);
        if (!go) break;
        s = run_region(f, body, state, true, next);
        if (s) break;
        memcpy(state, next, n * sizeof *state);
        memset(next, 0, n * sizeof *next);
    }
    f->c.loops = here.up;
    if (s) free_all(f, state, n);
    for (uint32_t j = 0; j < n && !s; j++) f->slots[st->out[j]] = (slot){.a = state[j], .owned = true};
    base_free(state);
    return s;
}

static xt_status run_branch(frame *f, const step *st) {
    const ir_op *op = st->op;
    const array *which = &f->slots[st->in[0]].a;
    uint32_t k;
    if (op->code == OP_if) {
        k = *(const uint8_t *)which->data ? 0 : 1;
    } else {
        int32_t index = *(const int32_t *)which->data;
        k = index >= 0 && (uint32_t)index < op->n_regions ? (uint32_t)index : op->n_regions - 1;
    }
    array *out = base_calloc(op->n_out + 1, sizeof *out);
    if (!out) return status_oom(op->n_out * sizeof *out, "a branch's results");
    xt_status s = run_region(f, st->regions[k], NULL, false, out);
    for (uint32_t j = 0; j < op->n_out && !s; j++) f->slots[st->out[j]] = (slot){.a = out[j], .owned = true};
    base_free(out);
    return s;
}

static const ir_func *callee_of(const interp *c, const ir_op *op) {
    const char *name = ir_get_string(op, op->code == OP_composite ? IR_A_decomposition : IR_A_callee);
    return name && c->m ? ir_func_find(c->m, name) : NULL;
}

static xt_status no_callee(const ir_op *op) {
    const char *name = ir_get_string(op, op->code == OP_composite ? IR_A_decomposition : IR_A_callee);
    return status_new(XT_NOT_FOUND, NULL, "%s names @%s, which is no function with a body in this module",
                      ir_op_infos[op->code].name, name ? name : "?");
}

static xt_status run_call(frame *f, const step *st) {
    const ir_op *op = st->op;
    const ir_func *callee = callee_of(&f->c, op);
    if (!callee || !callee->body) return no_callee(op);
    array *in = base_calloc(op->n_in + op->n_out + 1, sizeof *in), *out = in + op->n_in;
    if (!in) return status_oom(op->n_in * sizeof *in, "a call's arguments");
    for (uint32_t j = 0; j < op->n_in; j++) in[j] = f->slots[st->in[j]].a;
    xt_status s = interp_func(&f->c, callee, op->n_in, in, op->n_out, out);
    for (uint32_t j = 0; j < op->n_out && !s; j++) f->slots[st->out[j]] = (slot){.a = out[j], .owned = true};
    base_free(in);
    return s;
}

/* Ops whose results are their operands: no copy when an operand dies here. */
static bool is_identity(const ir_op *op) {
    switch (op->code) {
    case OP_reshape:
    case OP_dynamic_reshape:
    case OP_optimization_barrier:
    case OP_sdy_sharding_constraint:
    case OP_sdy_reshard:
    case OP_sdy_propagation_barrier:
    case OP_set_dimension_size: return true;
    case OP_convert:
    case OP_broadcast_in_dim: return op->in[0]->type == op->out[0].type;
    case OP_bitcast_convert:
        return op->in[0]->type->kind == IR_TENSOR && ir_type_bytes(op->in[0]->type) == ir_type_bytes(op->out[0].type) &&
               !dtype_is_subbyte(op->in[0]->type->dtype) && !dtype_is_subbyte(op->out[0].type->dtype);
    default: return false;
    }
}

static xt_status run_identity(frame *f, const step *st) {
    for (uint32_t j = 0; j < st->op->n_out; j++) {
        array a;
        XT_TRY(take_operand(f, st, j, &a));
        a.type = st->op->out[j].type;
        f->slots[st->out[j]] = (slot){.a = a, .owned = true};
    }
    return NULL;
}

/* An operand whose memory the one result may take over: an elementwise op's, or what an updating op updates. */
static int in_place_operand(frame *f, const step *st) {
    const ir_op *op = st->op;
    bool elementwise = ir_op_infos[op->code].flags & IR_ELEMENTWISE;
    bool updates = op->code == OP_dynamic_update_slice || (op->code == OP_scatter && op->n_in == 3);
    if (op->n_out != 1 || op->out[0].type->kind != IR_TENSOR || (!elementwise && !updates)) return -1;
    for (uint32_t j = 0; j < (updates ? 1 : op->n_in); j++) {
        uint32_t s = st->in[j];
        const ir_type *t = op->in[j]->type;
        if (!f->slots[s].owned || !dies(st, s) || t->kind != IR_TENSOR) continue;
        if (t->count != op->out[0].type->count || xt_dtype_size(t->dtype) != xt_dtype_size(op->out[0].type->dtype))
            continue;
        if (updates && t != op->out[0].type) continue;
        int seen = 0;
        for (uint32_t k = 0; k < op->n_in; k++) seen += st->in[k] == s;
        if (seen == 1) return (int)j;
    }
    return -1;
}

/* Any other op: results allocated here, operands borrowed from the frame. */
static xt_status run_plain(frame *f, const step *st) {
    const ir_op *op = st->op;
    array few[16], *in = few, *out;
    if (op->n_in + op->n_out > 16 && !(in = base_calloc(op->n_in + op->n_out, sizeof *in)))
        return status_oom(op->n_in * sizeof *in, "an op's operands");
    out = in + op->n_in;
    for (uint32_t j = 0; j < op->n_in; j++) in[j] = f->slots[st->in[j]].a;
    for (uint32_t j = 0; j < op->n_out; j++) out[j] = (array){0};
    xt_status s = NULL;
    bool watched = f->c.hooks && f->c.hooks->computed;
    int reuse = watched ? -1 : in_place_operand(f, st); /* who looks on sees operands too */
    if (reuse >= 0) {
        out[0] = (array){op->out[0].type, in[reuse].data};
        f->slots[st->in[reuse]].owned = false; /* the result owns the memory now */
    }
    for (uint32_t j = reuse >= 0 ? 1 : 0; j < op->n_out && !s; j++) s = value_new(&f->c, op->out[j].type, &out[j]);
    if (!s) s = interp_dispatch(&f->c, op, in, out);
    if (!s && watched) s = f->c.hooks->computed(f->c.hooks->user, op, f->c.loops, in, out);
    if (s) free_all(f, out, op->n_out);
    for (uint32_t j = 0; j < op->n_out && !s; j++) f->slots[st->out[j]] = (slot){.a = out[j], .owned = true};
    if (in != few) base_free(in);
    return s;
}

/* A literal that is written out in full is read where it lies. */
static bool run_constant(frame *f, const step *st) {
    const ir_literal *lit = st->op->code == OP_constant ? ir_get_literal(st->op) : NULL;
    if (!lit || (lit->splat && st->op->out[0].type->count != 1)) return false;
    f->slots[st->out[0]] = (slot){.a = {st->op->out[0].type, (void *)(uintptr_t)lit->data}};
    return true;
}

static xt_status run_step(frame *f, const step *st) {
    switch (st->op->code) {
    case OP_while: return run_while(f, st);
    case OP_if:
    case OP_case: return run_branch(f, st);
    case OP_call:
    case OP_composite: return run_call(f, st);
    default: break;
    }
    if (run_constant(f, st)) return NULL;
    return is_identity(st->op) ? run_identity(f, st) : run_plain(f, st);
}

static xt_status run_steps(frame *f, const block_plan *p) {
    for (size_t i = 0; i < p->n_steps; i++) {
        const step *st = &p->steps[i];
        xt_status s = run_step(f, st);
        if (s) return st->op->src ? status_at(s, src_get(st->op->src)) : s;
        for (uint32_t k = 0; k < st->n_dead; k++) drop(f, st->dead[k]);
    }
    return NULL;
}

xt_status interp_block_run(interp *c, block_plan *p, size_t n_in, const array *in, size_t n_out, array *out) {
    if (n_in != p->n_args || n_out != p->n_results)
        return status_new(XT_INTERNAL, NULL, "a block of %zu arguments and %zu results was run with %zu and %zu",
                          p->n_args, p->n_results, n_in, n_out);
    bool own_frame = p->busy;
    slot *slots = own_frame ? base_calloc(p->num.n_slots + 1, sizeof *slots) : p->frame;
    if (!slots) return status_oom(p->num.n_slots * sizeof *slots, "a frame");
    frame f = {.c = *c, .root = p, .slots = slots, .up = c};
    f.c.outer = frame_lookup;
    f.c.env = &f;
    p->busy = true;
    xt_status s = NULL;
    for (size_t j = 0; j < p->num.n_captured && !s; j++) {
        const array *a = c->outer ? c->outer(c->env, p->num.captured[j].value) : NULL;
        if (a)
            slots[p->num.captured[j].slot] = (slot){.a = *a, .pinned = true};
        else
            s = status_new(XT_INTERNAL, NULL, "a region reads a value that its surroundings do not have");
    }
    if (!s) s = run_region(&f, p, (array *)(uintptr_t)in, false, out);
    c->plans = f.c.plans; /* functions planned on the way stay known */
    for (uint32_t k = 0; k < p->num.n_slots; k++) drop(&f, k);
    if (own_frame)
        base_free(slots);
    else
        p->busy = false;
    return s;
}

xt_status interp_func(interp *c, const ir_func *fn, size_t n_in, const array *in, size_t n_out, array *out) {
    if (c->depth >= INTERP_MAX_DEPTH)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "@%s is called through more than %d calls; StableHLO has no recursion", fn->name,
                          INTERP_MAX_DEPTH);
    struct interp_plans *known = c->plans;
    while (known && known->func != fn) known = known->next;
    if (!known) {
        known = base_calloc(1, sizeof *known);
        if (!known) return plan_oom();
        known->func = fn;
        known->next = c->plans;
        c->plans = known;
        XT_TRY(interp_block_plan(c, fn->body, &known->plan));
    }
    c->depth++;
    interp_lookup outer = c->outer;
    c->outer = NULL; /* functions capture nothing */
    xt_status s = interp_block_run(c, known->plan, n_in, in, n_out, out);
    c->outer = outer;
    c->depth--;
    return s;
}

static void plans_free(struct interp_plans *p) {
    while (p) {
        struct interp_plans *next = p->next;
        interp_block_plan_free(p->plan);
        base_free(p);
        p = next;
    }
}

/* --- Entry points --- */
static xt_status wrong_input(const char *entry, size_t j, const ir_type *want, const ir_type *got) {
    str w = STR_INIT, g = STR_INIT;
    ir_type_print(want, &w);
    if (got) ir_type_print(got, &g);
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "input %zu of @%s is %s, the program expects %s", j, entry,
                             str_cstr(&g), str_cstr(&w));
    str_free(&w);
    str_free(&g);
    return s;
}

xt_status interp_run(const ir_module *m, const char *entry, const interp_hooks *hooks, size_t n_in, const array *in,
                     size_t n_out, array *out) {
    if (!entry) entry = "main";
    const ir_func *f = ir_func_find(m, entry);
    if (!f || !f->body) return status_new(XT_NOT_FOUND, NULL, "the module has no function @%s with a body", entry);
    if (f->body->n_args != n_in)
        return status_new(XT_INVALID_ARGUMENT, NULL, "@%s takes %zu inputs, %zu were given", entry, f->body->n_args,
                          n_in);
    for (size_t j = 0; j < n_in; j++)
        if (in[j].type != f->body->args[j]->type) return wrong_input(entry, j, f->body->args[j]->type, in[j].type);
    const ir_op *ret = ir_block_return(f->body);
    size_t n_results = ret ? ret->n_in : 0;
    if (n_results != n_out)
        return status_new(XT_INVALID_ARGUMENT, NULL, "@%s has %zu results, %zu were asked for", entry, n_results,
                          n_out);
    interp c = {.m = m, .hooks = hooks, .pool = base_calloc(1, sizeof(interp_pool))};
    if (!c.pool) return status_oom(sizeof *c.pool, "the interpreter's pool");
    for (size_t j = 0; j < n_out; j++) out[j] = (array){0};
    xt_status s = interp_func(&c, f, n_in, in, n_out, out);
    plans_free(c.plans);
    pool_free(c.pool);
    return s;
}

/* Control flow outside a frame: a block of one op is run by hand in a plan made for its regions. */
static xt_status control_alone(interp *c, const ir_op *op, const array *in, array *out) {
    block_plan *root = base_calloc(1, sizeof *root);
    xt_status s = NULL;
    slot *slots = NULL;
    step st = {0};
    if (!root || !(root->mem = arena_new())) s = plan_oom();
    if (!s) s = plan_step(root, op, &st);
    if (!s && !(slots = base_calloc(root->num.n_slots + 1, sizeof *slots))) s = plan_oom();
    frame f = {.c = *c, .root = root, .slots = slots, .up = c};
    f.c.outer = frame_lookup;
    f.c.env = &f;
    for (uint32_t j = 0; !s && j < op->n_in; j++) slots[st.in[j]] = (slot){.a = in[j], .pinned = true};
    for (size_t j = 0; !s && j < root->num.n_captured; j++) {
        const captured *v = &root->num.captured[j];
        if (slots[v->slot].a.type) continue; /* the op's own operands count as captured too */
        const array *a = c->outer ? c->outer(c->env, v->value) : NULL;
        if (a)
            slots[v->slot] = (slot){.a = *a, .pinned = true};
        else
            s = status_new(XT_INTERNAL, NULL, "a region of %s reads a value that its surroundings do not have",
                           ir_op_infos[op->code].name);
    }
    if (!s) s = run_step(&f, &st);
    for (uint32_t j = 0; !s && j < op->n_out; j++) {
        const array *a = &slots[st.out[j]].a;
        if (a->type->kind == IR_TENSOR) memcpy(out[j].data, a->data, ir_type_bytes(a->type));
    }
    c->plans = f.c.plans;
    for (uint32_t k = 0; slots && k < root->num.n_slots; k++) drop(&f, k);
    base_free(slots);
    interp_block_plan_free(root);
    return s;
}

xt_status interp_op(const ir_module *m, const ir_op *op, const interp_hooks *hooks, const array *in, array *out,
                    interp_lookup outer, void *env) {
    interp c = {.m = m, .hooks = hooks, .outer = outer, .env = env};
    xt_status s;
    if (is_control(op->code) || op->code == OP_call || op->code == OP_composite) {
        c.pool = base_calloc(1, sizeof *c.pool); /* without it a loop is slower, nothing else */
        s = control_alone(&c, op, in, out);
    } else {
        s = interp_dispatch(&c, op, in, out);
    }
    plans_free(c.plans);
    pool_free(c.pool);
    return s && op->src ? status_at(s, src_get(op->src)) : s;
}
