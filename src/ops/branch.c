/* xt_cond and xt_while: functions that run or do not, and one that runs until something holds (loop.h). */
#include <xtrain/loop.h>

#include "lazy/places.h"
#include "ops/functions.h"

/* x, one element, as a scalar bool; NULL after an error. */
static ir_value *truth(const xt_src *src, const char *what, const char *which, xt_tensor x) {
    ir_builder *b = lazy_begin(src);
    ir_value *v = lazy_value(x);
    ops_text text;
    if (!v) return NULL;
    if (v->type->count != 1) {
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: %s is %s: expected one element (xt_any or xt_all of it)", what, which,
                   ops_shape(v->type, &text));
        return NULL;
    }
    return ops_bool(b, ir_reshape(b, v, 0, NULL));
}

static void drop(ir_block *block) {
    if (!block) return;
    lazy_bounds_forget(block);
    while (block->last) ir_erase(block->last);
}

static bool same_type(const xt_src *src, const char *what, int k, const char *one, const ir_type *a, const char *other,
                      const ir_type *b) {
    if (a == b) return true;
    str text = STR_INIT;
    str_printf(&text, "%s %d is ", what, k);
    ir_type_print(a, &text);
    str_printf(&text, " %s and ", one);
    ir_type_print(b, &text);
    lazy_error(src, XT_INVALID_ARGUMENT, "%s %s: shapes and dtypes must be the same (xt_cast, xt_reshape)",
               str_cstr(&text), other);
    str_free(&text);
    return false;
}

/* --- xt_cond --- */
typedef struct cond {
    const xt_src *src;
    void *user;
    int n_in, n_out;
    const xt_tensor *in;
    xt_tensor *out; /* inside */
    ir_block *blocks[2];
    ir_value **values; /* of both branches: outputs, then outermost indices (XT_DEBUG=bounds) of this and the other */
    size_t n_bounds[2];
} cond;

static bool record_branch(cond *c, int r, xt_fn fn) {
    lazy_loop branch;
    xt_status st = lazy_branch_begin(&branch, "xt_cond", c->src);
    if (st) {
        lazy_fail(status_at(st, c->src));
        return false;
    }
    bool ok = function_call(c->src, "xt_cond", fn, c->user, c->in, c->n_out, c->out);
    lazy_begin(c->src);
    for (int k = 0; ok && k < c->n_out; k++) ok = (c->values[r * c->n_out + k] = lazy_value(c->out[k])) != NULL;
    lazy_begin(c->src);
    st = lazy_loop_end(&branch);
    if (st) lazy_fail(status_at(st, c->src));
    c->blocks[r] = branch.body;
    c->n_bounds[r] = lazy_bounds_count(branch.body);
    return ok && !st && !lazy_pending();
}

/* Each branch gives its own outermost indices, and zeros, which are no mistake, for those of the other. */
static void end_branch(cond *c, int r) {
    ir_builder *b = lazy_begin(c->src), in = ir_at_end(b->m, c->blocks[r]);
    size_t n = (size_t)c->n_out, more = c->n_bounds[0] + c->n_bounds[1];
    int64_t two = 2;
    in.src = b->src;
    in.path = b->path;
    ir_value **all = arena_alloc(b->m->mem, (n + more + 1) * sizeof *all);
    if (!all) return;
    memcpy(all, c->values + r * c->n_out, n * sizeof *all);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < c->n_bounds[k]; i++)
            all[n++] = k == r ? *lazy_bounds_in(c->blocks[r], i) : ir_splat(&in, ir_tensor(XT_I64, 1, &two), 0);
    ir_return(&in, n, all);
    if (in.status && !b->status)
        b->status = in.status;
    else
        xt_status_free(in.status);
}

static ir_op *make_if(cond *c, ir_value *pred) {
    for (int k = 0; k < c->n_out; k++)
        if (!same_type(c->src, "xt_cond: output", k, "where the condition holds", c->values[k]->type, "where not",
                       c->values[c->n_out + k]->type))
            return NULL;
    end_branch(c, 0);
    end_branch(c, 1);
    ir_builder *b = lazy_begin(c->src);
    ir_op *op = ir_build(b, OP_if, 1, &pred, 0, NULL, 2, c->blocks, 0, NULL);
    size_t at = (size_t)c->n_out;
    for (int r = 0; op && r < 2; r++) {
        for (size_t i = 0; i < c->n_bounds[r]; i++) *lazy_bounds_in(c->blocks[r], 0) = &op->out[at++];
        lazy_bounds_forget(c->blocks[r]);
    }
    return op;
}

bool xt_cond_at(const xt_src *src, xt_tensor pred, xt_fn on_true, xt_fn on_false, int n_in, const xt_tensor *in,
                int n_out, xt_tensor *out, void *user) {
    function_arg args[] = {{"inputs", n_in, 0, in, NULL}, {"outputs", n_out, 1, out, out}};
    lazy_begin(src);
    if (!function_args_fit(src, "xt_cond",
                           !on_true    ? "on_true"
                           : !on_false ? "on_false"
                                       : NULL,
                           BASE_COUNT(args), args))
        return false;
    cond c = {.src = src, .user = user, .n_in = n_in, .n_out = n_out, .in = in};
    c.values = base_calloc(2 * (size_t)n_out, sizeof *c.values);
    c.out = base_calloc((size_t)n_out, sizeof *c.out);
    ir_op *op = NULL;
    ir_value *p = truth(src, "xt_cond", "the condition", pred);
    if (!c.values || !c.out)
        lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_cond: no memory for %d tensors", n_out);
    else if (p && record_branch(&c, 0, on_true) && record_branch(&c, 1, on_false))
        op = make_if(&c, p);
    for (int r = 0; !op && r < 2; r++) drop(c.blocks[r]);
    lazy_begin(src);
    for (int k = 0; k < n_out; k++) out[k] = lazy_wrap(op ? &op->out[k] : NULL, "xt_cond");
    base_free(c.values);
    base_free(c.out);
    return op != NULL;
}

/* --- xt_while --- */
typedef struct until {
    const xt_src *src;
    xt_while_cond_fn more;
    xt_while_fn step;
    void *user;
    int n;
    ir_value **init, **next;
    xt_tensor *state; /* inside */
    ir_block *blocks[2]; /* condition, body */
    ir_value **bounds; /* of the body, in an iteration */
    size_t n_bounds;
} until;

/* Opens the condition or the body, over [i, states, bounds so far]. */
static bool begin_block(until *u, lazy_loop *loop, bool wants) {
    ir_builder *b = lazy_begin(u->src);
    xt_status st = lazy_loop_begin(loop, "xt_while", u->src, 0);
    for (int k = 0; !st && k < u->n; k++) {
        ir_value *arg = ir_block_arg(b->m, loop->body, u->init[k]->type);
        if (arg && wants) lazy_want_grad(arg);
        if (!arg) st = status_oom(sizeof *arg, "xt_while");
    }
    if (st) lazy_fail(status_at(st, u->src));
    for (int k = 0; !st && k < u->n; k++) {
        lazy_begin(u->src);
        u->state[k] = lazy_wrap(loop->body->args[1 + k], "xt_while");
    }
    return !st && !lazy_pending();
}

static bool end_block(until *u, lazy_loop *loop, int which, bool ok) {
    u->blocks[which] = loop->body;
    if (!loop->body) return false;
    xt_status st = lazy_loop_end(loop);
    if (st) lazy_fail(status_at(st, u->src));
    return ok && !st && !lazy_pending();
}

static bool record_condition(until *u) {
    lazy_loop loop = {0};
    bool ok = begin_block(u, &loop, false);
    if (ok) {
        lazy_inside_fn call;
        lazy_enter(&call, "the function of xt_while", NULL);
        xt_tensor more = u->more(u->state, u->user);
        lazy_leave(&call);
        ir_value *v = lazy_pending() ? NULL : truth(u->src, "xt_while", "the condition", more);
        ir_builder *b = lazy_begin(u->src);
        ok = v != NULL;
        if (ok) ir_return(b, 1, &v);
    }
    return end_block(u, &loop, 0, ok);
}

/* Nothing behind the state; false with a pending error as well. */
static bool state_kept(const until *u, const xt_tensor *state) {
    return !lazy_pending() && lazy_places_kept(u->src, "the function of xt_while", "state", "n", u->n, state);
}

static bool record_step(until *u, bool wants) {
    lazy_loop loop = {0};
    bool ok = begin_block(u, &loop, wants);
    if (ok) {
        lazy_inside_fn call;
        lazy_enter(&call, "the function of xt_while", NULL);
        u->step(u->state, u->user);
        lazy_leave(&call);
        lazy_begin(u->src);
        ok = state_kept(u, u->state);
    }
    for (int k = 0; ok && k < u->n; k++)
        ok = (u->next[k] = lazy_value(u->state[k])) != NULL &&
             same_type(u->src, "xt_while: state", k, "before a step", u->init[k]->type, "behind it", u->next[k]->type);
    return end_block(u, &loop, 1, ok);
}

/* The outermost indices of all iterations: each widens what there was. */
static ir_value *widened(ir_builder *b, ir_value *old, ir_value *now) {
    int64_t from[2] = {0, 1}, to[2] = {1, 2};
    ir_value *ends[2];
    for (int i = 0; i < 2; i++) {
        ir_value *a = ir_slice(b, old, &from[i], &to[i], NULL), *c = ir_slice(b, now, &from[i], &to[i], NULL);
        ends[i] = i ? ir_maximum(b, a, c) : ir_minimum(b, a, c);
    }
    return ends[0] && ends[1] ? ir_concatenate(b, 2, ends, 0) : NULL;
}

static ir_op *make_while(until *u) {
    ir_builder *b = lazy_begin(u->src), in = ir_at_end(b->m, u->blocks[1]);
    size_t n = 1 + (size_t)u->n, more = lazy_bounds_count(u->blocks[1]);
    ir_value **state = arena_alloc(b->m->mem, 2 * (n + more) * sizeof *state), **next = state + n + more;
    int64_t two = 2;
    if (!state) return NULL;
    in.src = b->src;
    in.path = b->path;
    state[0] = ir_splat(b, ir_scalar(XT_I64), 0);
    next[0] = ir_add(&in, u->blocks[1]->args[0], ir_splat(&in, ir_scalar(XT_I64), 1));
    for (int k = 0; k < u->n; k++) state[1 + k] = u->init[k], next[1 + k] = u->next[k];
    for (size_t i = 0; i < more; i++) {
        const ir_type *t = ir_tensor(XT_I64, 1, &two);
        ir_value *so_far = ir_block_arg(b->m, u->blocks[1], t);
        if (!ir_block_arg(b->m, u->blocks[0], t) || !so_far) return NULL;
        state[n + i] = ir_splat(b, t, 0);
        next[n + i] = widened(&in, so_far, *lazy_bounds_in(u->blocks[1], i));
    }
    ir_return(&in, n + more, next);
    if (in.status && !b->status)
        b->status = in.status;
    else
        xt_status_free(in.status);
    ir_op *op = ir_build(b, OP_while, n + more, state, 0, NULL, 2, u->blocks, 0, NULL);
    for (size_t i = 0; op && i < more; i++) *lazy_bounds_in(u->blocks[1], 0) = &op->out[n + i];
    lazy_bounds_forget(u->blocks[0]);
    lazy_bounds_forget(u->blocks[1]);
    return op;
}

static bool unbounded(until *u, xt_tensor *state) {
    bool ok = true, wants = false;
    lazy_begin(u->src);
    for (int k = 0; ok && k < u->n; k++) {
        ok = (u->init[k] = lazy_value(state[k])) != NULL;
        wants |= ok && lazy_needs_grad(u->init[k]);
    }
    ir_op *op = ok && record_condition(u) && record_step(u, wants) ? make_while(u) : NULL;
    for (int r = 0; !op && r < 2; r++) drop(u->blocks[r]);
    lazy_begin(u->src);
    for (int k = 0; k < u->n; k++) state[k] = lazy_wrap(op ? &op->out[1 + k] : NULL, "xt_while");
    return op != NULL;
}

/* --- with a largest number of steps: a scan of so many, in which those behind the last do nothing. What its backward
 * pass needs is kept, where a loop of unknown length would have to be run again from its beginning for every step. ---
 */
static void one_step(const xt_tensor *in, xt_tensor *out, void *user) {
    const until *u = user;
    for (int k = 0; k < u->n; k++) out[k] = in[k];
    u->step(out, u->user); /* out has places behind it: xt_cond's */
    state_kept(u, out);
}

static void no_step(const xt_tensor *in, xt_tensor *out, void *user) {
    const until *u = user;
    for (int k = 0; k < u->n; k++) out[k] = in[k];
}

/* The first carry: it is still running. */
static void scanned(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)x, (void)y;
    const until *u = user;
    xt_tensor more = u->more(carry + 1, u->user);
    ir_value *v = lazy_pending() ? NULL : truth(u->src, "xt_while", "the condition", more);
    if (!v) return;
    carry[0] = xt_logical_and_at(u->src, carry[0], lazy_wrap(v, "xt_while"));
    memcpy(u->state, carry + 1, (size_t)u->n * sizeof *carry);
    xt_cond_at(u->src, carry[0], one_step, no_step, u->n, u->state, u->n, carry + 1, user);
}

static bool bounded(until *u, xt_tensor *state, int64_t most) {
    xt_tensor *carry = base_calloc((size_t)u->n + 1, sizeof *carry);
    ir_builder *b = lazy_begin(u->src);
    if (!carry) lazy_error(u->src, XT_RESOURCE_EXHAUSTED, "xt_while: no memory for %d tensors", u->n);
    bool ok = carry != NULL;
    if (ok) {
        carry[0] = lazy_wrap(ir_splat(b, ir_scalar(XT_BOOL), 1), "xt_while");
        memcpy(carry + 1, state, (size_t)u->n * sizeof *carry);
        ok = xt_scan_at(u->src, scanned, u->n + 1, carry, 0, NULL, 0, NULL, (xt_scan_opts){.length = most, .user = u});
        memcpy(state, carry + 1, (size_t)u->n * sizeof *carry);
    }
    base_free(carry);
    return ok;
}

bool xt_while_at(const xt_src *src, xt_while_cond_fn cond_fn, xt_while_fn fn, int n, xt_tensor *state,
                 xt_while_opts o) {
    function_arg args[] = {{"states", n, 1, state, state}};
    lazy_begin(src);
    if (!function_args_fit(src, "xt_while", !cond_fn ? "cond" : !fn ? "fn" : NULL, BASE_COUNT(args), args))
        return false;
    bool ok = o.max_steps == -1 || (o.max_steps >= 1 && o.max_steps <= INT32_MAX);
    if (!ok)
        lazy_error(src, XT_INVALID_ARGUMENT, "xt_while: .max_steps = %lld is out of range: expected 1 to %d, or -1",
                   (long long)o.max_steps, INT32_MAX);
    until u = {.src = src, .more = cond_fn, .step = fn, .user = o.user, .n = n};
    u.init = base_calloc(2 * (size_t)n, sizeof *u.init);
    u.state = base_calloc((size_t)n + LAZY_SPARE, sizeof *u.state);
    if (ok && (!u.init || !u.state)) {
        lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_while: no memory for %d tensors", n);
        ok = false;
    }
    u.next = u.init ? u.init + n : NULL;
    ok = ok && (o.max_steps < 0 ? unbounded(&u, state) : bounded(&u, state, o.max_steps));
    if (!ok) function_failed(src, "xt_while", n, state);
    base_free(u.init);
    base_free(u.state);
    return ok;
}
