/* Running a plan: a compiled step function's known program with this call's inputs, and what the host did when it
 * was recorded. */
#include "lazy/core/layout.h"
#include "lazy/step/step.h"

/* --- may it run? --- */
static bool has_grad(lazy_ctx *c, const lazy_slot *s) {
    return s->grad.slot && lazy_slot_of(c, s->grad);
}

static void say(str *why, const char *fmt, ...) BASE_PRINTF(2, 3);
static void say(str *why, const char *fmt, ...) {
    if (!why) return;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(why, fmt, ap);
    va_end(ap);
}

static void say_type(str *why, size_t i, const ir_type *now, const ir_type *before) {
    if (!why) return;
    str_printf(why, "input %zu is ", i);
    ir_type_print(now, why);
    str_append(why, " instead of ");
    ir_type_print(before, why);
}

static bool same_signature(const lazy_signature *a, const lazy_signature *known, str *why) {
    if (a->n != known->n) return say(why, "%zu inputs instead of %zu", a->n, known->n), false;
    for (size_t i = 0; i < a->n; i++) {
        if (a->in[i].type != known->in[i].type) return say_type(why, i, a->in[i].type, known->in[i].type), false;
        if (a->in[i].layout != known->in[i].layout)
            return say(why, "input %zu is divided in another way over the mesh", i), false;
        if (a->in[i].slot != known->in[i].slot || a->in[i].generation != known->in[i].generation)
            return say(why, "input %zu is another state, or another tensor that requires a gradient", i), false;
    }
    if (a->mode != known->mode) return say(why, "a module is in another mode (xt_train, xt_eval)"), false;
    if (a->no_grad != known->no_grad) return say(why, "xt_no_grad is %s", a->no_grad ? "on" : "off"), false;
    if (a->autocast != known->autocast)
        return say(why, "autocast is %s", a->autocast ? xt_dtype_name(a->autocast) : "off"), false;
    if (a->batch_size != known->batch_size)
        return say(why, "the loader's batch has %lld samples instead of %lld", (long long)a->batch_size,
                   (long long)known->batch_size),
               false;
    return true;
}

bool lazy_plan_fits(lazy_ctx *c, const lazy_plan *p, const lazy_signature *sig, str *why, bool *out_stale) {
    *out_stale = false;
    for (size_t i = 0; i < p->n_guards; i++) {
        const lazy_guard *g = &p->guards[i];
        const lazy_slot *s = &c->slots[g->slot];
        if (s->live && s->generation == g->generation) continue;
        char at[256];
        *out_stale = true;
        src_id made = s->generation == g->generation ? s->src : 0;
        return say(why, "a tensor that it used, made at %s, is gone (its step ended, or it was dropped)",
                   src_text(made, at, sizeof at)),
               false;
    }
    if (!same_signature(sig, &p->sig, why)) return false;
    for (size_t i = 0; i < p->n_guards; i++) {
        const lazy_guard *g = &p->guards[i];
        const lazy_slot *s = &c->slots[g->slot];
        const char *name = s->name ? intern_text(s->name) : "a tensor";
        if (s->requires_grad != g->requires_grad || s->grad_leaf != g->grad_leaf)
            return say(why, "%s %s a gradient now", name, s->requires_grad ? "requires" : "does not require"), false;
        if (s->layout != g->layout) return say(why, "%s is divided in another way over the mesh", name), false;
        if (has_grad(c, s) != g->has_grad)
            return say(why, "%s %s", name,
                       g->has_grad ? "has no gradient at the begin of the call" : "has a gradient already"),
                   false;
        if (!s->buf && !s->is_state) return say(why, "%s has no value", name), false;
    }
    for (size_t i = 0; i < p->n_items; i++) {
        const lazy_replay *a = &p->items[i].action;
        if (p->items[i].kind == LAZY_REPLAY_ACTION && a->valid && !a->valid(a->user))
            return say(why, "what it logged belonged to another stage, or to a step whose row was due where this one's "
                            "is not"),
                   false;
    }
    return true;
}

/* --- running --- */
/* The slot a buffer comes from; NULL for what is no slot. */
static lazy_slot *slot_of(lazy_ctx *c, const lazy_origin *o, const xt_tensor *in) {
    switch (o->from) {
    case LAZY_FROM_SLOT: return lazy_slot_of(c, (xt_tensor){o->slot, o->generation});
    case LAZY_FROM_GRAD: return lazy_slot_of(c, c->slots[o->slot].grad);
    case LAZY_FROM_INPUT: return lazy_slot_of(c, in[o->index]);
    default: return NULL;
    }
}

static lazy_buf *buffer_of(lazy_ctx *c, const lazy_origin *o, const xt_tensor *in) {
    if (o->from == LAZY_FROM_HELD) return o->held;
    if (o->from == LAZY_FROM_PACK) return c->packs[o->index].buf;
    const lazy_slot *s = slot_of(c, o, in);
    return s ? s->buf : NULL;
}

static xt_status labels_fit(lazy_ctx *c, const lazy_plan *p, const xt_tensor *in) {
    for (size_t i = 0; i < p->n_labels; i++) {
        const lazy_slot *s = lazy_slot_of(c, in[p->labels[i].input]);
        XT_TRY(s ? lazy_labels_check(&p->labels[i].classes, s->extremes) : NULL);
    }
    return NULL;
}

static xt_status perform(lazy_ctx *c, const lazy_plan *p) {
    for (size_t i = 0; i < p->n_packs; i++)
        if (p->pack_words[i]) c->packs[i].n = p->pack_words[i];
    for (size_t i = 0; i < p->n_items; i++) {
        const lazy_replay_item *it = &p->items[i];
        switch (it->kind) {
        case LAZY_REPLAY_ACTION:
            if (it->action.before) it->action.before(it->action.user);
            break;
        case LAZY_REPLAY_SCALAR: lazy_pack_scalar(&c->packs[it->pack], it->at, it->value(it->user)); break;
        case LAZY_REPLAY_RNG: lazy_pack_rng(c, &c->packs[it->pack], it->at, it->draw); break;
        case LAZY_REPLAY_DONE: lazy_when_step_done(it->done, it->user); break;
        }
    }
    xt_status s = NULL;
    for (size_t i = 0; i < p->n_packs && !s; i++)
        if (p->pack_words[i]) s = lazy_upload_pack(c, &c->packs[i]);
    for (size_t i = 0; i < c->n_packs; i++) c->packs[i].n = 0;
    return s;
}

/* held: what each input is, retained, for the plan that has room for it. */
static xt_status gather(lazy_ctx *c, lazy_plan *p, const lazy_program *g, const xt_tensor *in, lazy_buf **held) {
    for (size_t k = 0; k < p->n_inputs; k++) {
        const lazy_origin *o = &p->inputs[k];
        if (o->from == LAZY_FROM_SLOT && !c->slots[o->slot].buf) XT_TRY(lazy_upload_state(c, &c->slots[o->slot]));
        lazy_buf *b = buffer_of(c, o, in);
        if (!b) return status_new(XT_INTERNAL, NULL, "input %zu of a compiled step function has no buffer", k);
        bool ours = o->from == LAZY_FROM_SLOT || o->from == LAZY_FROM_GRAD; /* one reference is the slot's */
        p->in[k] = b->dev;
        if (held) lazy_buf_retain(held[k] = b);
        p->keep[k] = !g->donates[k] || !ours || atomic_load(&b->refs) != 1 + atomic_load(&b->detached) + (held != NULL);
    }
    return NULL;
}

static void put_in_slot(lazy_slot *s, lazy_buf *b) {
    lazy_buf_release(s->buf);
    s->buf = b;
    lazy_buf_kept(b, s->kept, s->which);
    lazy_host_drop(s);
}

static void new_gradient(lazy_ctx *c, const lazy_target *t, lazy_buf *b) {
    lazy_slot *s;
    xt_tensor g = lazy_slot_new(c, t->type, t->src, &s);
    if (!s) {
        lazy_buf_release(b);
        return;
    }
    s->name = s->path = t->path;
    s->buf = b;
    s->layout = b ? b->layout : NULL;
    lazy_set_grad((xt_tensor){t->slot, t->generation}, g);
}

/* Takes over p->out. */
static xt_status hand_over(lazy_ctx *c, lazy_plan *p, lazy_request *requests, const xt_src *src, xt_tensor *result) {
    xt_status first = NULL;
    for (size_t i = 0; i < p->n_consumed; i++)
        lazy_set_grad((xt_tensor){p->consumed[i].slot, p->consumed[i].generation}, (xt_tensor){0});
    for (size_t i = 0; i < p->n_outputs; i++) {
        const lazy_target *t = &p->outputs[i];
        lazy_slot *s = t->to == LAZY_TO_SLOT   ? &c->slots[t->slot]
                       : t->to == LAZY_TO_GRAD ? lazy_slot_of(c, c->slots[t->slot].grad)
                                               : NULL;
        lazy_role role = s ? s->role : t->to == LAZY_TO_NEW_GRAD ? LAZY_GRADIENT : LAZY_VALUE;
        lazy_buf *b = lazy_buf_new(p->out[i], t->src, t->path, role, t->type, c->step);
        if (!b && !first) first = status_oom(sizeof *b, "a result of a step");
        bool fresh = !s && t->to == LAZY_TO_NEW_GRAD;
        if (b) b->layout = s ? s->layout : fresh ? lazy_layout_of_state(&c->slots[t->slot]) : NULL;
        if (t->to == LAZY_TO_NEW_GRAD)
            new_gradient(c, t, b);
        else if (t->to == LAZY_TO_REQUEST)
            requests[t->request].buf = b;
        else if (s)
            put_in_slot(s, b);
        else if (t->to == LAZY_TO_RESULT) {
            *result = lazy_slot_new(c, t->type, t->src, &s);
            if (s)
                s->buf = b;
            else
                lazy_buf_release(b);
        } else
            lazy_buf_release(b);
    }
    (void)src;
    return first;
}

/* The values asked for in the recording, asked for again; those that are buffers already are taken before the program
 * may consume them. */
static void renew(lazy_ctx *c, const lazy_plan *p, lazy_request *requests, const xt_tensor *in) {
    for (size_t j = 0; j < p->n_requests; j++) {
        requests[j] = p->requests[j].q;
        if (requests[j].again) requests[j].user = requests[j].again(requests[j].again_user);
        if (p->requests[j].has_origin) lazy_buf_retain(requests[j].buf = buffer_of(c, &p->requests[j].origin, in));
    }
}

static xt_status deliver(const lazy_plan *p, lazy_request *requests) {
    xt_status first = NULL;
    for (size_t j = 0; j < p->n_requests; j++) {
        lazy_request *q = &requests[j];
        if (q->to_slot) continue;
        xt_status s = q->buf && q->fn ? lazy_reader_add(q->buf, q) : NULL;
        if ((s || !q->buf) && q->failed) q->failed(q->user);
        lazy_buf_release(q->buf);
        if (!first)
            first = s;
        else
            xt_status_free(s);
    }
    return first;
}

static xt_tensor alias(lazy_ctx *c, const lazy_plan *p, const xt_tensor *in) {
    lazy_buf *b = buffer_of(c, &p->result, in);
    lazy_slot *s = NULL;
    xt_tensor t = b ? lazy_slot_new(c, b->info.type, p->result_src, &s) : (xt_tensor){0};
    if (s) {
        lazy_buf_retain(s->buf = b);
        s->layout = b->layout;
    }
    return t;
}

static xt_status run(lazy_ctx *c, lazy_plan *p, lazy_program *g, const xt_src *src, const xt_tensor *in,
                     lazy_request *requests, xt_tensor *out) {
    xt_status late = lazy_take_async_error();
    if (late) {
        lazy_quiesce();
        return late;
    }
    XT_TRY(labels_fit(c, p, in));
    XT_TRY(perform(c, p));
    renew(c, p, requests, in);
    /* without memory its result cannot be differentiated */
    lazy_buf **held = p->graph ? base_calloc(p->n_inputs + 1, sizeof *held) : NULL;
    xt_status s = gather(c, p, g, in, held);
    if (!s) s = lazy_rank_check(c, g, false, src);
    if (!s) s = lazy_execute(c, g, LAZY_CALL, false, src, p->in, p->keep, p->out);
    if (!s) s = hand_over(c, p, requests, src, out);
    xt_status told = deliver(p, requests); /* also after a failure: those who wait hear of it */
    for (size_t i = 0; i < p->n_items; i++)
        if (p->items[i].kind == LAZY_REPLAY_ACTION && p->items[i].action.after)
            p->items[i].action.after(p->items[i].action.user);
    if (!s)
        s = told;
    else
        xt_status_free(told);
    if (!s && p->result_is_origin) *out = alias(c, p, in);
    if (c->detached[0]) lazy_detached_age(c);
    if (!s && held) lazy_detached_replayed(c, p, held, src, *out);
    for (size_t k = 0; held && k < p->n_inputs; k++) lazy_buf_release(held[k]);
    base_free(held);
    return s;
}

bool lazy_replay_run(lazy_ctx *c, xt_step *step, lazy_plan *p, lazy_program *g, const xt_src *src, const xt_tensor *in,
                     xt_tensor *out) {
    lazy_request small[8],
        *requests = p->n_requests <= BASE_COUNT(small) ? small : base_malloc(p->n_requests * sizeof *requests);
    c->in_boundary = true;
    xt_status s = requests ? run(c, p, g, src, in, requests, out)
                           : status_oom(p->n_requests * sizeof *requests, "the values a step gives out");
    if (requests != small) base_free(requests);
    c->step_began_ns = clock_ns();
    if (s)
        lazy_fail(status_at(s, src));
    else {
        step->replays++;
        counter_add(COUNTER_replays, 1);
        lazy_event ev = {.cause = LAZY_CALL,
                         .source = LAZY_FROM_MEMORY,
                         .src = src_intern(src),
                         .path = c->path,
                         .step = c->step,
                         .reason = "",
                         .advice = "",
                         .program = g->number,
                         .key = p->key,
                         .ops = g->n_nodes,
                         .inputs = p->n_inputs,
                         .outputs = p->n_outputs,
                         .at_ns = c->step_began_ns,
                         .stats = g->stats,
                         .number = counter_get(COUNTER_executions)};
        lazy_emit_event(&ev);
    }
    c->n_done = c->n_done_users = 0;
    lazy_step_passed(c, LAZY_CALL, true, !s && !c->error);
    c->call_ended_step = true;
    c->in_boundary = false;
    return !s && !c->error;
}
