/* Derivatives of the user's own (xt_custom_grad).
 *
 * The forward function's ops are recorded without gradients, and behind them stands one optimization_barrier over the
 * inputs, what was saved and the outputs, whose results the user gets. The number of the derivative is noted in the
 * word of the op, which copies of it keep: the walk that meets the barrier, in whatever block, calls the function
 * there, with the op's own operands for what was saved. So nothing is remembered beside the op but the function.
 *
 * A barrier of that kind costs nothing on the CPU: it is another name for its operands. */
#include "lazy/step/step.h"
#include "grad/grad.h"
#include "lazy/places.h"

bool lazy_is_custom(const ir_op *op) {
    return op->code == OP_optimization_barrier && op->user / LAZY_OP_CUSTOM != 0;
}

static size_t number_of(lazy_ctx *c, const lazy_custom *g) {
    for (size_t i = 0; i < c->n_customs; i++) {
        const lazy_custom *k = &c->customs[i];
        if (k->fn == g->fn && k->user_fn == g->user_fn && k->user == g->user && k->src == g->src &&
            k->n_in == g->n_in && k->n_saved == g->n_saved && k->n_out == g->n_out)
            return i + 1;
    }
    return VEC_PUSH(c->customs, c->n_customs, c->cap_customs, *g) ? c->n_customs : 0;
}

ir_op *lazy_custom_op(const lazy_custom *g, ir_value *const *values) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return NULL;
    size_t n = (size_t)g->n_in + (size_t)g->n_saved + (size_t)g->n_out, number = number_of(c, g);
    if (!number) lazy_fail(status_oom(sizeof *g, "xt_custom_grad"));
    for (size_t i = 0; i < n; i++)
        if (!values[i]) return NULL;
    ir_op *op = number ? ir_build(&c->b, OP_optimization_barrier, n, values, 0, NULL, 0, NULL, 0, NULL) : NULL;
    lazy_settle(c);
    if (op && op->user != LAZY_OP_NO_GRAD) op->user |= (uint64_t)number * LAZY_OP_CUSTOM;
    return op;
}

/* --- the walk meets it --- */
typedef struct at_work {
    lazy_ctx *c;
    const lazy_custom *g;
    grad_call *call;
    xt_tensor *saved, *d_out, *d_in;
} at_work;

/* What was saved, as it stands now: an output is the op's result, so that gradients of gradients come back here. */
static ir_value *saved_value(const grad_call *call, const lazy_custom *g, int k) {
    ir_value *v = call->op->in[g->n_in + k];
    for (int i = 0; i < g->n_out; i++) {
        int at = g->n_in + g->n_saved + i;
        if (call->op->in[at] == v) return &((ir_op *)(uintptr_t)call->op)->out[at];
    }
    return v;
}

static xt_tensor handle_of(const at_work *w, ir_value *v) {
    lazy_begin(src_get(w->g->src));
    return lazy_wrap(v, "xt_custom_grad");
}

static xt_status given(const at_work *w, int k) {
    grad_call *call = w->call;
    const ir_value *in = call->op->in[k];
    if (!call->want[k] || xt_is_none(w->d_in[k])) return NULL;
    ir_builder *b = lazy_begin(src_get(w->g->src));
    ir_value *d = lazy_value(w->d_in[k]);
    if (!d) return NULL; /* its error is pending */
    if (d->type != in->type) {
        str want = STR_INIT, got = STR_INIT;
        ir_type_print(in->type, &want);
        ir_type_print(d->type, &got);
        xt_status st =
            status_new(XT_INVALID_ARGUMENT, src_get(w->g->src),
                       "xt_custom_grad: the backward function gives %s as the gradient of input %d, which "
                       "is %s: a gradient has the shape and dtype of what it belongs to (xt_cast, xt_sum_axes)",
                       str_cstr(&got), k, str_cstr(&want));
        str_free(&got);
        str_free(&want);
        return st;
    }
    call->d_in[k] = lazy_conjugate(b, d);
    return NULL;
}

static xt_status run(at_work *w) {
    const lazy_custom *g = w->g;
    grad_call *call = w->call;
    for (int k = 0; k < g->n_saved; k++) w->saved[k] = handle_of(w, saved_value(call, g, k));
    for (int k = 0; k < g->n_out; k++) {
        int at = g->n_in + g->n_saved + k;
        ir_builder *b = lazy_begin(src_get(g->src));
        ir_value *d = call->d_out[at];
        w->d_out[k] = handle_of(w, d ? lazy_conjugate(b, d) : ir_splat(b, call->op->out[at].type, 0));
    }
    if (lazy_pending()) return NULL;
    lazy_inside_fn inside;
    lazy_enter_whole(&inside, "the backward function of xt_custom_grad");
    bool ok = g->fn(g->user_fn, g->user, src_get(g->src), w->saved, w->d_out, w->d_in);
    lazy_leave(&inside);
    ok = ok &&
         lazy_places_kept(src_get(g->src), "the backward function of xt_custom_grad", "d_in", "n_in", g->n_in, w->d_in);
    for (int k = 0; ok && k < g->n_in; k++) XT_TRY(given(w, k));
    return NULL;
}

/* The builder that the walk uses takes the place of this thread's, where it is another one: in a region. */
static xt_status run_here(at_work *w) {
    lazy_ctx *c = w->c;
    ir_builder *b = w->call->b;
    if (b == &c->b) return run(w);
    lazy_loop inner;
    ir_builder around = c->b;
    XT_TRY(lazy_branch_begin(&inner, "xt_custom_grad", src_get(w->g->src)));
    inner.body = b->block;
    c->b = *b;
    c->settled = b->block->last; /* what stands there is not this function's, and may be differentiated yet */
    xt_status st = run(w);
    lazy_settle(c);
    *b = c->b;
    c->b.status = NULL;
    xt_status recorded = lazy_loop_end(&inner);
    c->b = around;
    if (st) xt_status_free(recorded);
    return st ? st : recorded;
}

xt_status lazy_custom_rule(grad_call *call, bool *out_done) {
    lazy_ctx *c = lazy_ctx_get();
    *out_done = lazy_is_custom(call->op);
    if (!c || !*out_done) return NULL;
    lazy_custom g = c->customs[call->op->user / LAZY_OP_CUSTOM - 1]; /* the table may move while the function runs */
    xt_tensor *handles = base_calloc((size_t)(g.n_in + g.n_saved + g.n_out) + LAZY_SPARE, sizeof *handles);
    if (!handles) return status_oom(sizeof *handles, "xt_custom_grad");
    at_work w = {c, &g, call, handles, handles + g.n_saved, handles + g.n_saved + g.n_out};
    bool was_pending = lazy_pending() != NULL;
    xt_status st = was_pending ? NULL : run_here(&w);
    base_free(handles);
    if (!st && lazy_pending())
        st = status_new(XT_FAILED_PRECONDITION, src_get(g.src), "the backward function of xt_custom_grad failed");
    return st;
}
