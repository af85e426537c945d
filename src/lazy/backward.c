/* xt_backward: the reverse sweep over this step's trace, and the gradients it leaves on the tensors that want them.
 * A gradient is a state of its own: it lives until the optimizer consumes it, over as many micro-batches as that takes, and adding to it in a
 * later step happens in place. */
#include "grad/grad.h"
#include "lazy/ctx.h"

static bool needs(const ir_value *v, void *user) {
    (void)user;
    return lazy_v_needs_grad(v);
}

xt_tensor xt_requires_grad_at(const xt_src *src, xt_tensor t, bool on) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    if (!s) {
        if (c) lazy_dead_error(c, t, src, "xt_requires_grad");
        return t;
    }
    if (s->failed) return t;
    if (on && !ir_dtype_is_float(s->type->dtype))
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_requires_grad: a %s tensor has no gradient; only floating-point tensors can require one",
                          xt_dtype_name(s->type->dtype));
    if (on && s->value && s->value->def && lazy_v_needs_grad(s->value))
        return t; /* an inner node of a differentiated graph: gradients flow through it already */
    s->requires_grad = on;
    s->no_grad_leaf = !on;
    ir_value *v = s->value ? s->value : s->leaf;
    if (v && on) v->user |= LAZY_V_GRAD;
    if (v && !on) v->user &= ~(uint64_t)LAZY_V_GRAD;
    return t;
}

xt_tensor lazy_grad(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s && lazy_slot_of(c, s->grad) ? s->grad : (xt_tensor){0};
}

xt_tensor xt_grad_at(const xt_src *src, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (c && !lazy_slot_of(c, t)) lazy_dead_error(c, t, src, "xt_grad");
    return lazy_grad(t);
}

void lazy_set_grad(xt_tensor t, xt_tensor g) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    if (!s) return;
    xt_tensor old = s->grad;
    s->grad = g;
    if (g.slot) {
        lazy_slot_persist(c, g);
        lazy_slot *gs = lazy_slot_of(c, g);
        if (gs) gs->role = LAZY_GRADIENT;
    }
    if (old.slot && (old.slot != g.slot || old.generation != g.generation) && lazy_slot_of(c, old)) lazy_slot_free(c, old.slot, c->b.src);
}

static void add_gradient(lazy_ctx *c, uint32_t slot, ir_value *g, const xt_src *src) {
    xt_tensor old = c->slots[slot].grad;
    lazy_slot *os = lazy_slot_of(c, old);
    if (!os) {
        xt_tensor fresh = lazy_wrap(g, "xt_backward");
        lazy_slot *s = lazy_slot_of(c, fresh);
        if (!s || s->failed) return;
        s->path = c->slots[slot].name ? c->slots[slot].name : c->slots[slot].path;
        s->name = s->path;
        s->requires_grad = false;
        lazy_set_grad((xt_tensor){slot, c->slots[slot].generation}, fresh);
        return;
    }
    (void)src;
    ir_value *sum = ir_add(&c->b, lazy_value(old), g);
    xt_tensor total = lazy_wrap(sum, "xt_backward");
    lazy_assign(old, total);
}

/* Everything alive that wants a gradient and takes part in this trace. */
static size_t wanted(lazy_ctx *c, ir_value *root, uint32_t *slots, ir_value **values) {
    size_t n = 0;
    for (uint32_t i = 1; i < c->n_slots; i++) {
        lazy_slot *s = &c->slots[i];
        if (!s->live || s->failed || !s->requires_grad) continue;
        ir_value *v = s->value ? s->value : s->leaf;
        if (!v || v == root) continue;
        bool leaf = !v->def || s->is_state || s->buf; /* an inner node gets no gradient of its own, as in PyTorch */
        if (!leaf) continue;
        if (slots) {
            slots[n] = i;
            values[n] = v;
        }
        n++;
    }
    return n;
}

void xt_backward_at(const xt_src *src, xt_tensor loss) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    ir_builder *b = lazy_begin(src);
    ir_value *root = lazy_value(loss);
    if (!root) return;
    if (root->type->count != 1) {
        str t = STR_INIT;
        ir_type_print(root->type, &t);
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_backward: the loss is %s, but it must have one element; take xt_mean or xt_sum of it", str_cstr(&t)));
        str_free(&t);
        return;
    }
    if (!lazy_v_needs_grad(root)) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "xt_backward: nothing that requires a gradient leads to this loss in this step; was it made under xt_no_grad_begin, "
                             "from detached tensors, or in an earlier step?"));
        return;
    }
    size_t n = wanted(c, root, NULL, NULL);
    uint32_t *slots = base_malloc((n + 1) * sizeof *slots);
    ir_value **values = base_malloc((n + 1) * sizeof *values), **grads = base_calloc(n + 1, sizeof *grads);
    if (slots && values && grads) {
        n = wanted(c, root, slots, values);
        c->no_grad++; /* first derivatives are not differentiated again unless asked */
        src_id here = b->src;
        uint32_t path = b->path;
        xt_status s = grad_reverse(b, root, NULL, n, values, needs, NULL, grads);
        b->src = here;
        b->path = path;
        if (s) lazy_fail(status_at(status_context(s, "xt_backward"), src));
        for (size_t i = 0; i < n && !s; i++)
            if (grads[i]) add_gradient(c, slots[i], grads[i], src);
        c->no_grad--;
    } else
        lazy_fail(status_oom(n * sizeof *values, "xt_backward"));
    base_free(slots);
    base_free(values);
    base_free(grads);
}
