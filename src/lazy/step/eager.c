/* XT_DEBUG=eager: every op runs by itself when it is recorded, so that a debugger stands at the line whose op fails.
 * What an op reads has been computed before and is an argument of its program; so a step of n ops runs n small
 * programs, most of them known from the step before. The step's own program runs at the boundary as always: states
 * change there, and nothing of what is seen here depends on the switch.
 *
 * On a mesh what an op gives is whole on every device (a program's results without a layout are), so that the next one
 * can read it; only the step's own inputs are divided.
 *
 * Ops that one call records (a sum and the constant it starts from) are one program. What backward records runs when
 * something reads it. */

#include "lazy/step/step.h"
#include <stdlib.h>

static void release(void *buf) {
    lazy_buf_release(buf);
}

static void trace_gone(lazy_ctx *c) {
    if (!c->computed) return;
    map_free(c->computed, release);
    c->computed = NULL;
}

static const lazy_guest guest = {.trace_cleared = trace_gone};

static lazy_buf *known(const lazy_ctx *c, const ir_value *v) {
    return c->computed ? map_get(c->computed, &v, sizeof v) : NULL;
}

static bool is_leaf(const ir_value *v, void *user) {
    return !v->def || known(user, v);
}

/* The trace as the program of one op sees it: its module, and what stands for its arguments. */
typedef struct side {
    ir_builder b;
    ir_func *func;
    lazy_leaf *leaves;
    size_t n, cap;
} side;

static void swap_trace(lazy_ctx *c, side *s) {
    side mine = *s;
    *s = (side){c->b, c->func, c->leaves, c->n_leaves, c->cap_leaves};
    c->b = mine.b;
    c->func = mine.func;
    c->leaves = mine.leaves;
    c->n_leaves = mine.n;
    c->cap_leaves = mine.cap;
}

/* The leaves of the side trace: computed values, and leaves of the step itself. References are borrowed: they
 * outlive the run. */
static bool fill_leaves(const lazy_ctx *c, ir_value *const *from, size_t n, side *s) {
    for (size_t i = 0; i < n; i++) {
        lazy_buf *b = known(c, from[i]);
        lazy_leaf l = b ? (lazy_leaf){.buf = b, .pack = -1, .slot = 0, .generation = 0} : c->leaves[from[i]->index];
        if (!VEC_PUSH(s->leaves, s->n, s->cap, l)) return false;
    }
    return true;
}

static xt_status keep_results(lazy_ctx *c, ir_op *op, device_buffer **out) {
    xt_status s = NULL;
    for (uint32_t i = 0; i < op->n_out; i++) {
        ir_value *v = &op->out[i];
        lazy_buf *b = lazy_buf_new(out[i], op->src, op->path, LAZY_VALUE, v->type, c->step);
        void *old = NULL;
        if (b && map_put(c->computed, &v, sizeof v, b, &old)) {
            lazy_buf_release(old);
            continue;
        }
        lazy_buf_release(b);
        s = status_oom(sizeof *b, "a value");
    }
    return s;
}

/* Runs the program of one op and what it needs that has no value yet. */
static xt_status run_op(lazy_ctx *c, ir_op *op) {
    uint32_t n = op->n_out;
    ir_value **roots = base_malloc((n + 1) * sizeof *roots), **from = NULL;
    lazy_roots r = {.n = n,
                    .cap = n,
                    .values = roots,
                    .alias_leaf = base_malloc((n + 1) * sizeof *r.alias_leaf),
                    .requesters = base_calloc(n + 1, sizeof *r.requesters)};
    device_buffer **out = base_calloc(n + 1, sizeof *out);
    ir_module *m = NULL;
    size_t n_from = 0;
    side s = {.n = 0};
    xt_status st = roots && r.alias_leaf && r.requesters && out
                       ? NULL
                       : status_oom(n * sizeof *roots, "an op that runs by itself");
    for (uint32_t i = 0; !st && i < n; i++) {
        roots[i] = &op->out[i];
        r.alias_leaf[i] = -1;
        r.requesters[i] = (lazy_requester){"XT_DEBUG=eager", op->src};
    }
    if (!st) st = ir_extract(n, roots, "op", is_leaf, c, &m, &from, &n_from);
    if (!st && !fill_leaves(c, from, n_from, &s))
        st = status_oom(n_from * sizeof *s.leaves, "an op that runs by itself");
    if (!st) {
        s.func = m->funcs;
        s.b = ir_at_end(m, m->funcs->body);
        s.b.src = op->src;
        const ir_op *ret = ir_block_return(s.b.block);
        for (uint32_t i = 0; i < n; i++) roots[i] = ret->in[i];
        swap_trace(c, &s);
        st = lazy_run(c, &r, LAZY_READ, true, src_get(op->src), out);
        swap_trace(c, &s);
        if (!st) st = keep_results(c, op, out);
        if (!st) st = device_buffer_wait(known(c, &op->out[0])->dev);
    }
    base_free(s.leaves);
    ir_module_free(m);
    base_free(roots);
    base_free(r.alias_leaf);
    base_free(r.requesters);
    base_free(out);
    return st;
}

/* Other calls' ops come first, each by itself: a depth-first walk over what has no value yet. */
typedef struct frame {
    ir_op *op;
    bool expanded;
} frame;

static xt_status compute(lazy_ctx *c, ir_value *root) {
    frame *stack = NULL;
    size_t n = 0, cap = 0;
    xt_status s = NULL;
    bool ok = VEC_PUSH(stack, n, cap, ((frame){root->def, false}));
    while (n && ok && !s) {
        frame *top = &stack[n - 1];
        ir_op *op = top->op;
        if (known(c, &op->out[0])) {
            n--;
        } else if (top->expanded) {
            n--;
            bool inlined = n > 0 && stack[n - 1].op->src == op->src && op != root->def; /* a part of the op below it */
            if (!inlined) s = run_op(c, op);
        } else {
            top->expanded = true;
            for (uint32_t i = 0; ok && i < op->n_in; i++) {
                ir_value *v = op->in[i];
                if (v->def && v->def->n_out && !known(c, v)) ok = VEC_PUSH(stack, n, cap, ((frame){v->def, false}));
            }
        }
    }
    base_free(stack);
    return ok ? s : status_oom(cap * sizeof *stack, "an op that runs by itself");
}

void lazy_run_eagerly(lazy_ctx *c, xt_tensor t, const xt_src *src) {
    if (c->in_debug_run || c->in_boundary || c->replay_log || c->error) return;
    lazy_slot *slot = lazy_slot_of(c, t);
    ir_value *v = slot->value;
    c->in_debug_run = true;
    xt_status s = NULL;
    if (!v || !v->def) {
        s = lazy_compute_now(c, t, src);
    } else {
        lazy_attend(c, &guest);
        if (!c->computed) c->computed = map_new();
        s = c->computed ? compute(c, v) : status_oom(sizeof v, "an op that runs by itself");
        slot = lazy_slot_of(c, t);
        lazy_buf *b = s ? NULL : known(c, v);
        if (b && !slot->read_buf) {
            lazy_buf_retain(b);
            slot->read_buf = b;
        }
    }
    c->in_debug_run = false;
    if (s) lazy_fail(status_at(s, src));
}
