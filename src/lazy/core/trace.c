/* The trace of the current step: ops are appended to the main function of a module; buffers enter as its arguments at
 * their first use. */
#include "lazy/core/ctx.h"
#include "lazy/core/left.h"

#include "base/fault.h"

int64_t lazy_step_began(void) {
    lazy_ctx *c = lazy_ctx_get();
    return c ? c->step_began_ns : clock_ns();
}

int64_t lazy_step(void) {
    lazy_ctx *c = lazy_ctx_get();
    return c ? c->step : 0;
}

/* --- recording --- */
/* Another thread asks for the line (the watchdog, a crash's report), so what the id names is published with it. */
static _Atomic src_id recorded_last;
src_id lazy_recording_at(void) {
    return atomic_load_explicit(&recorded_last, memory_order_acquire);
}

ir_builder *lazy_begin(const xt_src *src) {
    static __thread ir_builder nowhere; /* only without memory for a context: every builder call on it fails */
    lazy_ctx *c = lazy_ctx_get();
    if (!c) {
        memset(&nowhere, 0, sizeof nowhere);
        nowhere.status = status_oom(sizeof(lazy_ctx), "the front end's context");
        return &nowhere;
    }
    c->b.src = src_intern(src);
    lazy_forget_left(c);
    atomic_store_explicit(&recorded_last, c->b.src, memory_order_release);
    c->b.path = c->path;
    c->operand_failed = false;
    return &c->b;
}

bool lazy_v_needs_grad(const ir_value *v) {
    return (v->user & LAZY_V_GRAD) != 0;
}

void lazy_want_grad(ir_value *v) {
    if (grad_differentiable(v->type)) v->user |= LAZY_V_GRAD;
}

bool lazy_needs_grad(const ir_value *v) {
    lazy_ctx *c = lazy_ctx_get();
    if (c) lazy_settle(c);
    return lazy_v_needs_grad(v);
}

static const uint64_t NO_GRAD_MARK = (uint64_t)1 << 32;

void lazy_no_grad_value(ir_value *v) {
    if (v) v->user = NO_GRAD_MARK;
}

bool lazy_v_no_grad(const ir_value *v) {
    return (v->user & NO_GRAD_MARK) != 0;
}

bool lazy_op_reads(const ir_op *op, uint64_t bit) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->user & bit) return true;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            if (lazy_op_reads(in, bit)) return true;
    return false;
}

/* Needs-gradient flows from operands to results. Composite ops record several ops between lazy_begin and lazy_wrap, so
 * the flags of what was recorded since the last call are settled here, in order. Copies that a backward pass made come
 * with theirs. */
void lazy_settle(lazy_ctx *c) {
    for (ir_op *op = c->settled ? c->settled->next : c->b.block->first; op; op = op->next) {
        c->settled = op;
        if (op->user) continue;
        op->user = c->no_grad ? LAZY_OP_NO_GRAD : LAZY_OP_SETTLED;
        if (c->no_grad || !lazy_op_reads(op, LAZY_V_GRAD)) continue;
        c->grads_recorded = true;
        for (uint32_t i = 0; i < op->n_out; i++)
            if (!lazy_v_no_grad(&op->out[i]) && grad_differentiable(op->out[i].type)) op->out[i].user |= LAZY_V_GRAD;
    }
}

void lazy_note_replayed(const ir_op *from, ir_op *before) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || !from->user) return;
    for (ir_op *op = before ? before->next : c->b.block->first; op; op = op->next)
        if (!op->user && from->user == LAZY_OP_NO_GRAD) op->user = LAZY_OP_NO_GRAD;
}

static void note_regions(const ir_op *from, ir_op *copy) {
    for (uint32_t r = 0; r < from->n_regions; r++) {
        const ir_op *a = from->regions[r].block ? from->regions[r].block->first : NULL;
        ir_op *b = a ? copy->regions[r].block->first : NULL;
        for (; a && b; a = a->next, b = b->next) lazy_note_copy(a, b, true);
    }
}

void lazy_note_copy(const ir_op *from, ir_op *copy, bool in_region) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    note_regions(from, copy);
    for (uint32_t i = 0; i < from->n_out; i++) {
        if (in_region)
            copy->out[i].user = from->out[i].user;
        else
            lazy_note_value(&from->out[i], &copy->out[i]);
    }
    if (in_region || from->user == LAZY_OP_NO_GRAD) {
        copy->user = from->user;
        return;
    }
    lazy_settle(c);
    if (copy->user != LAZY_OP_NO_GRAD) copy->user |= from->user & ~(uint64_t)(LAZY_OP_CUSTOM - 1);
}

void lazy_note_value(const ir_value *v, ir_value *to) {
    if (to && lazy_v_no_grad(v)) lazy_no_grad_value(to);
}

bool lazy_grad_on(void) {
    const lazy_ctx *c = lazy_ctx_get();
    return c && !c->no_grad;
}

int lazy_grad_allow(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return 0;
    lazy_settle(c);
    int was = c->no_grad;
    c->no_grad = 0;
    return was;
}

void lazy_grad_as_before(int was) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    lazy_settle(c);
    c->no_grad = was;
}

ir_value *lazy_new_leaf(lazy_ctx *c, const ir_type *type, lazy_leaf leaf) {
    ir_value *v = ir_func_arg(c->func, type);
    if (!v || !VEC_PUSH(c->leaves, c->n_leaves, c->cap_leaves, leaf)) {
        lazy_fail(status_oom(sizeof(lazy_leaf), "an argument of the step"));
        lazy_buf_release(leaf.buf);
        return NULL;
    }
    return v;
}

ir_value *lazy_leaf_of(lazy_ctx *c, uint32_t index) {
    lazy_slot *s = &c->slots[index];
    bool wanted = !(c->building && s->from);
    /* A build that another step goes on with has left arguments without values (lazy_fill_leaves). */
    if (s->leaf && !(wanted && s->from)) return s->leaf;
    if (!s->buf && wanted && (s->is_state || s->has_host)) {
        xt_status st = lazy_upload_state(c, s);
        if (st) {
            lazy_fail(st);
            return NULL;
        }
    }
    if (!s->buf && wanted) return NULL;
    if (s->leaf) return s->leaf;
    if (s->buf) lazy_buf_retain(s->buf);
    s->leaf = lazy_new_leaf(
        c, s->type,
        (lazy_leaf){.buf = s->buf, .pack = -1, .slot = index, .generation = s->generation, .layout = s->layout});
    if (s->leaf && !lazy_older_read(c, index)) {
        s->leaf = NULL;
        lazy_fail(status_oom(sizeof index, "an argument of the step"));
    }
    if (s->leaf && s->requires_grad) s->leaf->user |= LAZY_V_GRAD;
    return s->leaf;
}

xt_status lazy_leaf_gone(void) {
    return status_new(
        XT_INVALID_ARGUMENT, NULL,
        "a value of a module's build is read after the module was freed: its parameters are gone; keep the "
        "module until the value is read");
}

xt_status lazy_fill_leaves(lazy_ctx *c, size_t *out_gone) {
    *out_gone = 0;
    for (size_t i = 0; i < c->n_leaves; i++) {
        lazy_leaf *l = &c->leaves[i];
        if (l->buf || l->pack >= 0) continue;
        lazy_slot *s = &c->slots[l->slot];
        if (!s->live || s->generation != l->generation) {
            ++*out_gone;
            continue;
        }
        if (!s->buf) XT_TRY(lazy_upload_state(c, s));
        lazy_buf_retain(l->buf = s->buf);
    }
    return NULL;
}

ir_value *lazy_value(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return NULL;
    lazy_slot *s = lazy_slot_of(c, t);
    ir_value *v = NULL;
    if (!s)
        lazy_dead_error(c, t, src_get(c->b.src), "use of a tensor");
    else if (s->failed) {
        char at[256];
        if (!c->error) /* the first error was cleared, but its tensors live on */
            lazy_fail(status_new(XT_FAILED_PRECONDITION, src_get(c->b.src),
                                 "this tensor is the result of an op that failed at %s",
                                 src_text(s->src, at, sizeof at)));
    } else
        v = s->value ? s->value : lazy_leaf_of(c, t.slot);
    if (!v) c->operand_failed = true;
    return v;
}

enum { MANY_OPS = 200000 };

/* A loop without a step boundary records for ever and runs nothing. */
static void tell_many(src_id src) {
    char at[256];
    log_msg(XT_SEV_WARNING,
            "%d ops are recorded since the last step boundary, the last at %s, and nothing has run: the graph grows "
            "until xt_mark_step (or xt_next, xt_wait) ends the step [XT209]",
            (int)MANY_OPS, src_text(src, at, sizeof at));
}

static void (*recorded)(lazy_ctx *c, xt_tensor t, const xt_src *src);
void lazy_on_recorded(void (*fn)(lazy_ctx *c, xt_tensor t, const xt_src *src)) {
    recorded = fn;
}

/* Builders give nothing where memory ran out, from wherever in them, or where something before gave nothing. */
static xt_status why_nothing(const lazy_ctx *c, const char *what) {
    base_failed f = base_failed_here();
    return f.count != c->failed_allocations ? status_oom(f.bytes, what)
                                            : status_new(XT_INTERNAL, NULL, "%s recorded nothing", what);
}

xt_tensor lazy_wrap(ir_value *v, const char *what) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return (xt_tensor){0};
    src_id src = c->b.src;
    lazy_settle(c);
    if (c->b.status) {
        xt_status s = c->b.status;
        c->b.status = NULL;
        if (c->operand_failed)
            xt_status_free(s); /* a consequence: the operand's own error is already pending */
        else
            lazy_fail(status_at(status_context(s, "%s", what), src_get(src)));
        v = NULL;
    }
    if (!v) {
        if (!c->operand_failed && !c->error) lazy_fail(status_at(why_nothing(c, what), src_get(src)));
        return lazy_error_slot(c, src);
    }
    if (++c->n_recorded == MANY_OPS) tell_many(src);
    lazy_slot *s;
    xt_tensor t = lazy_slot_new(c, v->type, src, &s);
    if (s) {
        s->value = v;
        s->requires_grad = lazy_v_needs_grad(v);
    }
    if (c->eager && !c->loop && recorded) recorded(c, t, src_get(src));
    return t;
}
