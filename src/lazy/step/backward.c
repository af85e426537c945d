/* xt_backward and xt_grad_of: the reverse sweep over this step's trace, and the gradients it leaves on the tensors that
 * want them, or gives. A gradient is a state of its own: it lives until the optimizer consumes it, over as many
 * micro-batches as that takes, and adding to it in a later step happens in place.
 *
 * Rules of src/grad are derivatives without conjugation, as in JAX; users get PyTorch's, which are conjugated: this
 * file turns complex gradients around on their way in and out. */
#include "lazy/core/left.h"
#include "lazy/core/layout.h"
#include "lazy/core/noted.h"
#include "lazy/core/unended.h"
#include "lazy/step/step.h"
#include "lazy/step/swept.h"
#include "grad/grad.h"

/* The tensor, or an error in its place. */
static xt_tensor require_grad(const xt_src *src, xt_tensor t, bool on, bool *out_news) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    *out_news = false;
    if (!s) {
        if (c) lazy_dead_error(c, t, src, "xt_requires_grad");
        return t;
    }
    if (s->failed) return t;
    if (on && !grad_differentiable(s->type))
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "xt_requires_grad: a %s tensor has no gradient; only floating-point and complex tensors can require one",
            xt_dtype_name(s->type->dtype));
    ir_value *v = s->value ? s->value : s->leaf;
    bool inner = s->value && !s->grad_leaf && lazy_v_needs_grad(s->value);
    s->detached = false; /* asked either way, a tensor of a detached step is a tensor of its own from here on */
    if (on && inner) return t; /* an inner node of a differentiated graph: gradients flow through it already */
    if (inner)
        return lazy_error(src, XT_FAILED_PRECONDITION,
                          "xt_requires_grad: this tensor is the result of an op on tensors that require gradients, so "
                          "it cannot stop to; use xt_detach for "
                          "its value without a gradient");
    if (c->replay_log && s->persistent && s->requires_grad != on) lazy_replay_log_asked(c, t.slot);
    *out_news = s->role == LAZY_PARAMETER && s->requires_grad != on && (v || s->buf);
    if (*out_news) c->frozen ^= hash_mix((hash128){t.slot, t.generation}, (hash128){1, 2}).lo;
    s->requires_grad = s->grad_leaf = on;
    if (v && on) v->user |= LAZY_V_GRAD;
    if (v && !on) v->user &= ~(uint64_t)LAZY_V_GRAD;
    return t;
}

xt_tensor xt_requires_grad_at(const xt_src *src, xt_tensor t, bool on) {
    bool news;
    xt_tensor out = require_grad(src, t, on, &news);
    const lazy_slot *s = news ? lazy_slot_of(lazy_ctx_get(), t) : NULL;
    if (s) lazy_note_freeze(src, "xt_requires_grad", s->name ? intern_text(s->name) : NULL);
    return out;
}

bool lazy_trains(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    const lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s && s->requires_grad;
}

bool lazy_train(const xt_src *src, xt_tensor t, bool on) {
    bool news;
    require_grad(src, t, on, &news);
    return news;
}

xt_tensor xt_retain_grad_at(const xt_src *src, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    if (!s) {
        if (c) lazy_dead_error(c, t, src, "xt_retain_grad");
        return t;
    }
    if (s->failed) return t;
    if (!s->requires_grad)
        return lazy_error(src, XT_FAILED_PRECONDITION,
                          "xt_retain_grad: this tensor does not require a gradient, so it will never have one");
    s->retain_grad = true;
    return t;
}

xt_tensor lazy_grad(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    if (s && c->replay_log) lazy_replay_log_asked(c, t.slot);
    return s && lazy_slot_of(c, s->grad) ? s->grad : (xt_tensor){0};
}

xt_tensor xt_grad_at(const xt_src *src, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (c && !lazy_slot_of(c, t)) lazy_dead_error(c, t, src, "xt_grad");
    xt_tensor grad = lazy_grad(t);
    if (grad.slot || !c || !lazy_slot_of(c, t)) return grad;
    char at[256] = "a line without a name";
    if (src) snprintf(at, sizeof at, "%s:%d", src->file, src->line);
    return lazy_none(
        "xt_grad at %s: no xt_backward has reached that tensor since its gradient was last taken (xt_optimizer_step, "
        "xt_zero_grad), or it is the result of an op (xt_retain_grad)",
        at);
}

/* A gradient that the program kept is a tensor like others once it is nobody's gradient. */
static void let_go(lazy_ctx *c, xt_tensor old) {
    lazy_slot *s = lazy_slot_of(c, old);
    if (!s) return;
    if (!s->kept) {
        lazy_slot_free(c, old.slot, c->b.src);
        return;
    }
    s->role = LAZY_ACTIVATION;
    if (c->replay_log) lazy_replay_log_volatile(c, s->kept, "the function keeps a gradient");
}

void lazy_set_grad(xt_tensor t, xt_tensor g) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    if (!s) return;
    if (c->replay_log) lazy_replay_log_asked(c, t.slot);
    xt_tensor old = s->grad;
    s->grad = g;
    if (g.slot) {
        lazy_slot_persist(c, g);
        lazy_slot *gs = lazy_slot_of(c, g);
        if (gs) gs->role = LAZY_GRADIENT;
    }
    if (old.slot && (old.slot != g.slot || old.generation != g.generation)) let_go(c, old);
}

ir_value *lazy_conjugate(ir_builder *b, ir_value *x) {
    return x && ir_dtype_is_complex(x->type->dtype) ? ir_complex(b, ir_real(b, x), ir_negate(b, ir_imag(b, x))) : x;
}

/* A gradient of an earlier step and of another line, and an optimizer has stepped in between. */
static void note_mixed(const lazy_ctx *c, uint32_t slot, const lazy_slot *old) {
    lazy_swept *w = lazy_swept_here();
    if (old->src == c->b.src || old->step >= c->step || w->updated < old->step || w->mixed_step == c->step) return;
    w->mixed = (xt_tensor){slot, c->slots[slot].generation};
    w->mixed_by = old->src;
    w->mixed_step = c->step;
}

static void note_swept(lazy_slot *gradient) {
    gradient->swept = lazy_swept_here()->calls;
    gradient->swept_at = lazy_swept_here()->at;
}

static void add_gradient(lazy_ctx *c, uint32_t slot, ir_value *g) {
    xt_tensor old = c->slots[slot].grad;
    g = lazy_conjugate(&c->b, g);
    if (lazy_slot_of(c, old)) {
        note_mixed(c, slot, lazy_slot_of(c, old));
        note_swept(lazy_slot_of(c, old));
        ir_value *sum = ir_add(&c->b, lazy_value(old), g);
        lazy_assign(old, lazy_wrap(sum, "xt_backward"));
        return;
    }
    xt_tensor fresh = lazy_wrap(g, "xt_backward");
    lazy_slot *s = lazy_slot_of(c, fresh);
    if (!s || s->failed) return;
    s->path = c->slots[slot].name ? c->slots[slot].name : c->slots[slot].path;
    s->name = s->path;
    s->requires_grad = false;
    note_swept(s);
    s->layout = lazy_layout_of_state(&c->slots[slot]); /* as the optimizer will read it: summed into parts at once */
    lazy_set_grad((xt_tensor){slot, c->slots[slot].generation}, fresh);
}

/* --- the sweep --- */
typedef struct leaves {
    /* values whose gradients are wanted, and for which tensor; a tensor may have had several in this trace */
    lazy_slot_value *at;
    size_t n, cap;
} leaves;

static bool add_leaf(leaves *l, const lazy_ctx *c, uint32_t slot, ir_value *v) {
    lazy_slot_value at = {slot, c->slots[slot].generation, v};
    return !v || VEC_PUSH(l->at, l->n, l->cap, at);
}

static bool add_pasts(leaves *l, const lazy_ctx *c, uint32_t slot) {
    for (size_t i = 0; i < c->n_pasts; i++)
        if (c->pasts[i].slot == slot && c->pasts[i].generation == c->slots[slot].generation &&
            !add_leaf(l, c, slot, c->pasts[i].value))
            return false;
    return true;
}

/* Everything alive that wants a gradient and takes part in this trace. */
static bool wanted(leaves *l, const lazy_ctx *c) {
    for (uint32_t i = 1; i < c->n_slots; i++) {
        const lazy_slot *s = &c->slots[i];
        if (!s->live || s->failed || !s->requires_grad || !(s->grad_leaf || s->retain_grad)) continue;
        if (!add_leaf(l, c, i, s->value ? s->value : s->leaf) || !add_pasts(l, c, i)) return false;
    }
    return true;
}

static bool needs(const ir_value *v, void *bit) {
    return (v->user & *(const uint64_t *)bit) != 0;
}

/* Detached values, and what was recorded under xt_no_grad_begin, may be leaves; what made them is not
 * differentiated. */
static bool flows(const ir_value *result, void *bit) {
    (void)bit;
    return !lazy_v_no_grad(result) && result->def->user != LAZY_OP_NO_GRAD;
}

/* grads[i] is the gradient of l->at[i], NULL when there is none. The status names `what`. */
static xt_status sweep(lazy_ctx *c, ir_value *root, ir_value *seed, const leaves *l, uint64_t bit, bool create_graph,
                       const char *what, const xt_src *src, ir_value **grads) {
    ir_builder *b = &c->b;
    ir_value **values = base_malloc((l->n + 1) * sizeof *values);
    if (!values) return status_oom(l->n * sizeof *values, what);
    for (size_t i = 0; i < l->n; i++) values[i] = l->at[i].value;
    grad_walk w = {.n_roots = 1,
                   .roots = &root,
                   .seeds = &seed,
                   .n_leaves = l->n,
                   .leaves = values,
                   .needs = needs,
                   .flows = flows,
                   .user = &bit,
                   .custom = lazy_custom_rule,
                   .regions = c->regions,
                   .n_regions = c->n_regions};
    src_id here = b->src;
    uint32_t path = b->path;
    const ir_op *forward = lazy_recorded_last();
    lazy_settle(c);
    c->no_grad += !create_graph;
    xt_status s = grad_sweep(b, &w, grads);
    if (!create_graph) lazy_note_derived(forward);
    lazy_settle(c);
    c->no_grad -= !create_graph;
    b->src = here;
    b->path = path;
    base_free(values);
    return s ? status_at(status_context(s, "%s", what), src) : NULL;
}

static bool one_element(const ir_value *root, const xt_src *src, const char *what, const char *instead) {
    if (root->type->count == 1) return true;
    str t = STR_INIT;
    ir_type_print(root->type, &t);
    lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "%s: the loss is %s, but it must have one element; %s", what,
                         str_cstr(&t), instead));
    str_free(&t);
    return false;
}

/* The value to differentiate; that of a detached step is recorded again. */
static ir_value *root_of(lazy_ctx *c, const xt_src *src, const char *what, xt_tensor t) {
    ir_value *again;
    if (lazy_detached_value(c, src, what, t, &again)) {
        if (!again) c->operand_failed = true;
        return again;
    }
    return lazy_value(t);
}

bool lazy_steps_for_caller(bool on) {
    lazy_ctx *c = lazy_ctx_get();
    bool before = c && c->steps_for_caller;
    if (c) c->steps_for_caller = on;
    return before;
}

bool lazy_refuse_second_step(const xt_src *src, const char *what) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || !c->steps_for_caller) return false;
    if (!lazy_errors_held()) { /* the trainer's pass was left by longjmp out of training_step */
        c->steps_for_caller = false;
        return false;
    }
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                         "%s in training_step: the trainer calls xt_backward and xt_optimizer_step itself on the loss "
                         "that training_step returns, and a second call would count every gradient "
                         "twice. Only return the loss, or set .manual_optimization = true in the task and call both "
                         "here; for the gradient of one tensor: xt_grad_of",
                         what));
    return true;
}

/* What was recorded without gradients depends on nothing, whatever the program can see of it. */
static const char *why_not(const ir_value *root) {
    if (!root->def || root->def->user != LAZY_OP_NO_GRAD) return "";
    return " (gradients were off where it was recorded: behind xt_no_grad_begin, or in the backward function of "
           "xt_custom_grad, where xt_vjp and xt_grad_fn differentiate all the same)";
}

void xt_backward_at(const xt_src *src, xt_tensor loss) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || lazy_refuse_second_step(src, "xt_backward") || lazy_in_loop(c, src, "xt_backward")) return;
    lazy_begin(src);
    c->used.backward = true;
    c->used.backward_at = src_intern(src);
    ir_value *root = root_of(c, src, "xt_backward", loss);
    if (!root || !one_element(root, src, "xt_backward", "take xt_mean or xt_sum of it")) return;
    const lazy_slot *from = lazy_slot_of(c, loss);
    if (from && !lazy_v_needs_grad(root) && !from->value && !from->is_state && from->step < c->step) {
        /* a kept tensor: its value is there, what it was computed from is not */
        char made[256];
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "xt_backward: this loss was made at %s in step %lld, and step %lld is being recorded: the "
                             "graph that led to it ended with its step, in which xt_backward "
                             "was called for another loss, and only steps without xt_backward are kept; call "
                             "xt_backward on both before the boundary. Reading the value (xt_item) does "
                             "not end a step",
                             src_text(from->src, made, sizeof made), (long long)from->step, (long long)c->step));
        return;
    }
    if (!lazy_v_needs_grad(root) && (!from || from->detached)) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "xt_backward: this loss is of a step that has ended, and the tensors that required "
                             "gradients in it are dead: call xt_keep on them, or xt_backward before "
                             "the boundary"));
        return;
    }
    if (!lazy_v_needs_grad(root)) {
        const char *why = why_not(root);
        lazy_fail(status_new(
            XT_FAILED_PRECONDITION, src,
            "xt_backward: nothing that requires a gradient leads to this loss (%s) in this step%s",
            xt_dtype_name(root->type->dtype),
            *why ? why
                 : "; was it made under xt_no_grad_begin, from detached or integer tensors, or in an earlier step?"));
        return;
    }
    if (!lazy_detached_graft(c, src, "xt_backward", root)) return;
    c->swept = true;
    c->n_swept = c->n_step_slots;
    lazy_swept_count(src);
    if (c->used.updates == 0) lazy_repeats(LAZY_REPEATED_BACKWARD, c->step, (xt_tensor){0}, src);
    lazy_iteration_swept(c, root);
    if (lazy_slot_of(c, loss)) lazy_slot_of(c, loss)->is_loss = true;
    leaves l = {0};
    ir_value **grads = NULL;
    bool ok = wanted(&l, c) && (grads = base_calloc(l.n + 1, sizeof *grads));
    if (ok) {
        xt_status s = sweep(c, root, NULL, &l, LAZY_V_GRAD, false, "xt_backward", src, grads);
        c->no_grad++;
        for (size_t i = 0; i < l.n && !s; i++)
            if (grads[i]) add_gradient(c, l.at[i].slot, grads[i]);
        c->no_grad--;
        if (s) lazy_fail(s);
    } else
        lazy_fail(status_oom(l.n * sizeof *l.at, "xt_backward"));
    base_free(grads);
    base_free(l.at);
}

/* --- xt_grad_of --- */
/* The marks of one query: what depends on its leaves. The backward function of xt_custom_grad may ask while a walk is
 * under way, so a query sets the marks of the one around it aside, and puts them back. */
typedef struct asking {
    ir_block *block, *around; /* where its marks are, and those of the query around it; NULL: there is none */
    ir_value **aside; /* had marks in the block around */
    size_t n, cap;
} asking;

static bool take_aside(asking *a, ir_value *v) {
    if (!(v->user & LAZY_V_ASKED)) return true;
    v->user &= ~(uint64_t)LAZY_V_ASKED;
    return VEC_PUSH(a->aside, a->n, a->cap, v);
}

static bool set_aside(asking *a) {
    bool ok = true;
    for (size_t i = 0; i < a->around->n_args; i++) ok &= take_aside(a, a->around->args[i]);
    for (ir_op *op = a->around->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++) ok &= take_aside(a, &op->out[i]);
    return ok;
}

/* Marks what depends on the leaves, in the order of recording; ops recorded under xt_no_grad_begin pass nothing on. */
static bool ask(lazy_ctx *c, const leaves *l, asking *out) {
    *out = (asking){.block = c->b.block, .around = c->asked_in};
    if (out->around && !set_aside(out)) return false;
    c->asked_in = out->block;
    for (size_t i = 0; i < l->n; i++) l->at[i].value->user |= LAZY_V_ASKED;
    for (ir_op *op = c->b.block->first; op; op = op->next) {
        if (op->user == LAZY_OP_NO_GRAD || !lazy_op_reads(op, LAZY_V_ASKED)) continue;
        for (uint32_t i = 0; i < op->n_out; i++)
            if (!lazy_v_no_grad(&op->out[i]) && grad_differentiable(op->out[i].type)) op->out[i].user |= LAZY_V_ASKED;
    }
    return true;
}

static void answered(lazy_ctx *c, asking *a) {
    for (size_t i = 0; i < a->block->n_args; i++) a->block->args[i]->user &= ~(uint64_t)LAZY_V_ASKED;
    for (ir_op *op = a->block->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].user &= ~(uint64_t)LAZY_V_ASKED;
    for (size_t i = 0; i < a->n; i++) a->aside[i]->user |= LAZY_V_ASKED;
    base_free(a->aside);
    c->asked_in = a->around;
}

/* The tensors to differentiate by: first[k] is the first leaf of tensor k. */
static bool asked_for(lazy_ctx *c, const xt_src *src, int n, const xt_tensor *tensors, leaves *l, size_t *first) {
    for (int k = 0; k < n; k++) {
        ir_value *v = lazy_value(tensors[k]);
        first[k] = l->n;
        if (!v) return false;
        if (!grad_differentiable(v->type)) {
            lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                                 "xt_grad_of: tensor %d is %s; only floating-point and complex tensors have gradients",
                                 k, xt_dtype_name(v->type->dtype)));
            return false;
        }
        /* A walk stays in its block: what lies outside is read by every run of the body. */
        if (c->loop && v->block != c->loop->body) {
            lazy_in_loop(c, src, "xt_grad_of by a tensor from outside (xt_vjp by what is handed to it can be done)");
            return false;
        }
        if (!add_leaf(l, c, tensors[k].slot, v) || !add_pasts(l, c, tensors[k].slot)) {
            lazy_fail(status_oom(sizeof *l->at, "xt_grad_of"));
            return false;
        }
    }
    first[n] = l->n;
    return true;
}

static ir_value *seed_of(lazy_ctx *c, const xt_src *src, const ir_value *root, xt_tensor given) {
    ir_builder *b = &c->b;
    if (!given.slot) return ir_splat(b, root->type, 1);
    ir_value *seed = lazy_value(given);
    if (!seed) return NULL;
    if (!grad_differentiable(seed->type) || ir_with_dtype(seed->type, root->type->dtype) != root->type ||
        ir_dtype_is_complex(seed->type->dtype) > ir_dtype_is_complex(root->type->dtype)) {
        str want = STR_INIT, got = STR_INIT;
        ir_type_print(root->type, &want);
        ir_type_print(seed->type, &got);
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "xt_grad_of: .grad_output is %s, but it must have the shape of what is differentiated, %s",
                             str_cstr(&got), str_cstr(&want)));
        str_free(&want);
        str_free(&got);
        return NULL;
    }
    return lazy_conjugate(b, ir_convert(b, seed, root->type->dtype));
}

static bool give(lazy_ctx *c, const xt_src *src, const ir_value *root, int n, const size_t *first,
                 ir_value *const *grads, const xt_grad_of_opts *o, xt_tensor *out) {
    for (int k = 0; k < n; k++) {
        ir_value *g = NULL;
        for (size_t i = first[k]; i < first[k + 1]; i++)
            if (grads[i]) g = g ? ir_add(&c->b, g, grads[i]) : grads[i];
        if (!g && o->allow_unused == XT_ON) continue;
        if (!g) {
            lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                                 "xt_grad_of: what is differentiated does not depend on tensor %d%s; .allow_unused = "
                                 "XT_ON gives none for such tensors",
                                 k, why_not(root)));
            return false;
        }
        c->no_grad += o->create_graph != XT_ON;
        out[k] = lazy_wrap(lazy_conjugate(&c->b, g), "xt_grad_of");
        c->no_grad -= o->create_graph != XT_ON;
        if (xt_is_error(out[k])) return false;
    }
    return true;
}

bool xt_grad_of_at(const xt_src *src, xt_tensor root_tensor, int n, const xt_tensor *tensors, xt_tensor *out_grads,
                   xt_grad_of_opts o) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || n < 1 || !tensors || !out_grads) {
        if (c)
            lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                                 "xt_grad_of: %d tensors; at least one is needed, and room for its gradient", n));
        return false;
    }
    memset(out_grads, 0, (size_t)n * sizeof *out_grads);
    lazy_forget_left(c);
    c->used.backward = true;
    c->used.backward_at = src_intern(src);
    lazy_begin(src);
    leaves l = {0};
    size_t *first = base_calloc((size_t)n + 1, sizeof *first);
    ir_value **grads = NULL, *root = root_of(c, src, "xt_grad_of", root_tensor), *seed = NULL;
    bool ok = false;
    if (!first) lazy_fail(status_oom((size_t)n * sizeof *first, "xt_grad_of"));
    if (!first || !root ||
        (!o.grad_output.slot && !one_element(root, src, "xt_grad_of", "give .grad_output, or take xt_sum of it")))
        goto done;
    if (!c->loop && !lazy_detached_graft(c, src, "xt_grad_of", root)) goto done;
    if (!asked_for(c, src, n, tensors, &l, first) || !(seed = seed_of(c, src, root, o.grad_output))) goto done;
    if (!(grads = base_calloc(l.n + 1, sizeof *grads))) {
        lazy_fail(status_oom(l.n * sizeof *grads, "xt_grad_of"));
        goto done;
    }
    if (o.create_graph != XT_ON) {
        c->swept = true;
        c->n_swept = c->n_step_slots;
    }
    lazy_settle(c);
    asking a;
    xt_status s = ask(c, &l, &a) ? NULL : status_oom(a.n * sizeof *a.aside, "xt_grad_of");
    if (!s && root->user & LAZY_V_ASKED)
        s = sweep(c, root, seed, &l, LAZY_V_ASKED, o.create_graph == XT_ON, "xt_grad_of", src, grads);
    answered(c, &a);
    if (s) {
        lazy_fail(s);
        goto done;
    }
    ok = give(c, src, root, n, first, grads, &o, out_grads);
done:
    for (int k = 0; k < n && !ok; k++) {
        c->operand_failed = true; /* the error is pending */
        out_grads[k] = lazy_wrap(NULL, "xt_grad_of");
    }
    base_free(first);
    base_free(grads);
    base_free(l.at);
    return ok;
}

/* --- checkpointed blocks --- */
lazy_block lazy_block_begin(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || c->no_grad || c->loop) return (lazy_block){0}; /* a loop computes its body again anyway */
    return (lazy_block){.on = true, .step = c->step, .before = c->b.block->last, .inside = c->n_regions};
}

void lazy_block_end(lazy_block k) {
    lazy_ctx *c = lazy_ctx_get();
    /* the step ended inside: there is nothing left to compute again */
    if (!c || !k.on || k.step != c->step || c->loop) return;
    const ir_op *first = k.before ? k.before->next : c->b.block->first;
    if (!first) return;
    lazy_settle(c);
    grad_region r = {first, c->b.block->last, k.inside};
    if (!VEC_PUSH(c->regions, c->n_regions, c->cap_regions, r)) lazy_fail(status_oom(sizeof r, "xt_checkpoint_block"));
}
