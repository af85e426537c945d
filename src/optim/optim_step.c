/* The optimizer step: gradients averaged over ranks by one all-reduce of all of them, unscaled and clipped if asked,
 * one update a parameter, gradients consumed. With a loss scaler each new value is selected on the device: the old one
 * stays when a gradient was not finite. */
#include <math.h>

#include "lazy/core/noted.h"
#include "lazy/mesh/mesh.h"
#include "lazy/step/swept.h"
#include "nn/nn.h"
#include "optim/optim.h"

static void step_error(const xt_src *src, const char *what, const xt_optimizer *o) {
    const lazy_swept *swept = lazy_swept_here();
    char taken[256], at[256];
    if (o->taken.by && o->taken.calls == swept->calls) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "%s: no parameter has a gradient: %s at %s took what xt_backward at %s had left, and no "
                             "backward pass has followed; each update needs an xt_backward(loss) behind that and in "
                             "front of it",
                             what, o->taken.by, src_text(o->taken.at, taken, sizeof taken),
                             src_text(swept->at, at, sizeof at)));
        return;
    }
    lazy_fail(status_new(
        XT_FAILED_PRECONDITION, src,
        "%s: no parameter has a gradient; call xt_backward(loss) before it, on a loss made with this module", what));
}

/* --- parameters --- */
static bool state_waits(const xt_optimizer *o, const char *param) {
    char full[1024];
    for (int k = 0; o->loaded && k < o->kind->n_states; k++) {
        snprintf(full, sizeof full, "%s.%s", param, o->kind->state_names[k]);
        if (optim_waiting(o, full, NULL)) return true;
    }
    return false;
}

/* The states that are used and not there yet: all at the first step, and that of a momentum when one is set later. */
static void make_states(xt_optimizer *o, const xt_src *src, optim_param *p, const ir_type *t) {
    for (int k = 0; k < o->kind->n_states; k++) {
        const ir_type *st = p->state[k].slot ? NULL : optim_state_type(o, p, k, t);
        if (!st) continue;
        char full[1024];
        snprintf(full, sizeof full, "%s.%s", p->name, o->kind->state_names[k]);
        p->state[k] =
            optim_new_state(src, o, full, st, o->kind->initial ? o->kind->initial(&o->groups[p->group].h, k) : 0);
        xt_status s =
            ir_with_dtype(st, t->dtype) == t ? lazy_state_lay_out(p->state[k], lazy_optimizer_layout(p->param)) : NULL;
        if (s) lazy_fail(status_at(s, src));
    }
}

optim_param *optim_param_of(xt_optimizer *o, const xt_src *src, int i) {
    while (o->n_slots <= (size_t)i)
        if (!VEC_PUSH(o->slots, o->n_slots, o->cap_slots, (int){-1})) return NULL;
    if (o->slots[i] >= 0) {
        optim_param *there = &o->params[o->slots[i]];
        /* a layer that asks for another dtype than a file's has made another */
        there->param = xt_module_tensor(o->net, i);
        const ir_type *type = lazy_type(there->param);
        if (type) make_states(o, src, there, type);
        return there;
    }
    const char *name = xt_module_tensor_name(o->net, i);
    optim_param p = {.param = xt_module_tensor(o->net, i),
                     .name = base_strdup(name),
                     .group = optim_group_of(o, name),
                     .counter = optim_counter_loaded(o, name, state_waits(o, name))};
    const ir_type *t = lazy_type(p.param);
    if (p.name && t) make_states(o, src, &p, t);
    if (p.name && t && VEC_PUSH(o->params, o->n, o->cap, p)) {
        o->slots[i] = (int)o->n - 1;
        return &o->params[o->n - 1];
    }
    base_free(p.name);
    return NULL;
}

/* What the loaded state does not have is as it was before the first step. */
static void begin_unsaid(xt_optimizer *o, optim_param *p) {
    for (int k = 0; k < o->kind->n_states; k++) {
        const ir_type *t = p->unsaid & 1u << k && p->state[k].slot ? lazy_type(p->state[k]) : NULL;
        array first = {0};
        xt_status s = t ? array_new(t, &first) : NULL;
        double fill = o->kind->initial ? o->kind->initial(&o->groups[p->group].h, k) : 0;
        for (int64_t i = 0; first.data && i < t->count; i++) array_set(&first, i, fill);
        if (first.data) s = lazy_state_write(p->state[k], first.data, ir_type_bytes(t));
        if (first.data) array_free(&first);
        if (s) lazy_fail(s);
    }
    p->unsaid = 0;
}

bool optim_take_loaded(const xt_src *src, xt_optimizer *o) {
    int n = xt_module_tensors(o->net);
    if (!o->loaded || o->lbfgs || o->loaded_for == n) return true;
    o->loaded_for = n;
    if (!optim_counters_loaded(src, o)) return false;
    for (size_t i = 0; i < o->n; i++) {
        optim_param *p = &o->params[i];
        bool has_state = false;
        for (int k = 0; k < o->kind->n_states; k++) has_state |= p->state[k].slot && !(p->unsaid & 1u << k);
        if (p->counter < 0) p->counter = optim_counter_loaded(o, p->name, has_state);
        begin_unsaid(o, p);
    }
    for (int i = 0; i < n; i++) {
        const char *name = optim_has(o, i) ? xt_module_tensor_name(o->net, i) : NULL;
        if (name && state_waits(o, name) && !optim_param_of(o, src, i)) {
            lazy_fail(status_oom(sizeof(optim_param), "an optimizer's state"));
            return false;
        }
    }
    return !lazy_pending();
}

bool optim_activate(xt_optimizer *o, const xt_src *src, const gradients *g) {
    if (!optim_take_loaded(src, o)) return false;
    for (size_t i = 0; i < o->n; i++) o->params[i].active = false;
    for (size_t i = 0; i < g->n; i++) {
        optim_param *p = optim_param_of(o, src, g->index[i]);
        if (!p) {
            lazy_fail(status_oom(sizeof *p, "an optimizer's state"));
            return false;
        }
        p->active = true;
    }
    return true;
}

/* A pattern that names nothing is a mistake that would otherwise show only in the result. */
static void check_patterns(xt_optimizer *o) {
    char at[256];
    if (o->patterns_checked || o->n_groups == 1) return;
    o->patterns_checked = true;
    for (size_t i = 0; i < o->n_groups; i++) o->groups[i].members = 0;
    for (int i = 0; i < xt_module_tensors(o->net); i++)
        if (optim_has(o, i)) o->groups[optim_group_of(o, xt_module_tensor_name(o->net, i))].members++;
    for (size_t i = 1; i < o->n_groups; i++)
        if (o->groups[i].members == 0)
            log_msg(XT_SEV_WARNING,
                    "%s: xt_optimizer_group: no parameter is in the group \"%s\": the pattern matches none, or later "
                    "groups take them all; names are as %s",
                    src_text(o->groups[i].made, at, sizeof at), o->groups[i].pattern,
                    xt_module_tensors(o->net) ? xt_module_tensor_name(o->net, 0) : "fc1.weight");
}

/* --- one parameter --- */
/* Updates are computed in f32, those of f64 parameters in f64, and so are the numbers in them. */
enum { SINGLE, DOUBLE, WIDTHS };
typedef struct group_data { /* a group's numbers that are data; lr NULL: not made yet */
    ir_value *lr, *momentum, *rest, *log_m;
} group_data;
typedef struct shared_values { /* of a group, a counter and a width */
    bool made;
    ir_value *v[OPTIM_MAX_SHARED];
} shared_values;
typedef struct step {
    const xt_src *src;
    xt_optimizer *o;
    ir_value *skip; /* i1 scalar or NULL */
    group_data (*groups)[WIDTHS];
    shared_values (*shared)[WIDTHS]; /* [groups, counters] */
} step;

static double lr_of(void *group) {
    return ((const optim_group *)group)->h.lr;
}
static double momentum_of(void *group) {
    return ((const optim_group *)group)->h.momentum;
}
static double rest_of(void *group) {
    return 1 - momentum_of(group);
}
static double log_m_of(void *group) {
    return momentum_of(group) > 0 ? log(momentum_of(group)) : -800; /* exp(-800) is 0 in f64 too */
}

static ir_value *number(const step *s, double (*value)(void *), optim_group *g, xt_dtype dtype) {
    xt_tensor t = lazy_scalar_from(s->src, dtype, value, g);
    return lazy_value(t);
}

static bool step_open(step *s) {
    xt_optimizer *o = s->o;
    s->groups = base_calloc(o->n_groups, sizeof *s->groups);
    s->shared = base_calloc(o->n_groups * (o->n_counters + 1), sizeof *s->shared);
    if (!s->groups || !s->shared) {
        lazy_fail(status_oom(o->n_groups * sizeof *s->groups, "an optimizer's step"));
        return false;
    }
    return true;
}

/* Made for the first parameter of the group that is updated in this width. */
static const group_data *numbers_of(step *s, int group, xt_dtype dtype) {
    group_data *d = &s->groups[group][dtype == XT_F64 ? DOUBLE : SINGLE];
    optim_group *g = &s->o->groups[group];
    if (d->lr) return d;
    d->lr = number(s, lr_of, g, dtype);
    if (!g->h.momentum_moves) return d;
    d->momentum = number(s, momentum_of, g, dtype);
    d->rest = number(s, rest_of, g, dtype);
    d->log_m = number(s, log_m_of, g, dtype);
    return d;
}

static void step_close(step *s) {
    base_free(s->groups);
    base_free(s->shared);
}

/* new where the step counts, old where it is skipped. */
static ir_value *unless_skipped(const step *s, ir_builder *b, ir_value *old, ir_value *new_value) {
    if (!s->skip || !old || !new_value) return new_value;
    return ir_select(b, ir_broadcast_scalar(b, s->skip, ir_with_dtype(old->type, XT_BOOL)), old, new_value);
}

static void set(const step *s, ir_builder *b, xt_tensor state, ir_value *old, ir_value *new_value) {
    if (old && new_value) new_value = ir_convert(b, new_value, old->type->dtype);
    lazy_assign(state, lazy_wrap(unless_skipped(s, b, old, new_value), "xt_optimizer_step"));
}

/* Parameters and states of 16 bits are updated in f32 and rounded once: in bf16, 1 - 0.999 of a second moment would be
 * nothing at all. */
static ir_value *widened(ir_builder *b, ir_value *v) {
    return v && ir_dtype_is_float(v->type->dtype) && xt_dtype_size(v->type->dtype) < 4 ? ir_convert(b, v, XT_F32) : v;
}

static void share(step *s, optim_update *u, const optim_param *p) {
    const xt_optimizer *o = s->o;
    if (!o->kind->begin) return;
    int width = u->lr && u->lr->type->dtype == XT_F64 ? DOUBLE : SINGLE;
    shared_values *v = &s->shared[(size_t)p->group * (o->n_counters + 1) + (size_t)(p->counter + 1)][width];
    if (!v->made) {
        o->kind->begin(u);
        memcpy(v->v, u->shared, sizeof v->v);
        v->made = true;
    }
    memcpy(u->shared, v->v, sizeof v->v);
}

static void update_one(step *s, optim_param *p, ir_value *grad) {
    const xt_optimizer *o = s->o;
    const ir_type *type = lazy_type(p->param);
    xt_dtype computed = type && type->dtype == XT_F64 ? XT_F64 : XT_F32;
    const group_data *g = numbers_of(s, p->group, computed);
    const optim_hyper *h = &o->groups[p->group].h;
    optim_update u = {
        .b = lazy_begin(s->src), .h = h, .lr = g->lr, .momentum = g->momentum, .rest = g->rest, .log_m = g->log_m};
    u.step = p->counter >= 0 ? ir_convert(u.b, o->counters[p->counter].now, computed) : NULL;
    share(s, &u, p);
    lazy_path_push(p->name);
    u.b = lazy_begin(s->src);
    ir_value *old = lazy_value(p->param), *old_state[OPTIM_MAX_STATES];
    u.param = widened(u.b, old);
    for (int k = 0; k < o->kind->n_states; k++) {
        old_state[k] = p->state[k].slot ? lazy_value(p->state[k]) : NULL;
        u.state[k] = widened(u.b, old_state[k]);
    }
    if (u.param && grad) {
        u.grad = ir_convert(u.b, grad, u.param->type->dtype);
        if (h->maximize) u.grad = ir_negate(u.b, u.grad);
        o->kind->update(&u);
        set(s, u.b, p->param, old, u.new_param);
        for (int k = 0; k < o->kind->n_states; k++)
            if (p->state[k].slot && u.new_state[k]) set(s, u.b, p->state[k], old_state[k], u.new_state[k]);
    }
    lazy_path_pop();
}

/* --- the step --- */
/* The gradients as they are before clipping, for xt_grad_norm. */
static void remember(xt_optimizer *o, const gradients *g) {
    ir_value **last = base_realloc(o->last, (g->n + 1) * sizeof *last);
    o->n_last = 0;
    o->last_step = -1;
    if (!last) return; /* xt_grad_norm says that there are none */
    o->last = last;
    memcpy(last, g->values, g->n * sizeof *last);
    o->n_last = g->n;
    o->last_step = lazy_step();
}

void optim_update_params(const xt_src *src, xt_optimizer *o, size_t n, const int *tensors, ir_value *const *grads,
                         ir_value *skip) {
    step s = {.src = src, .o = o, .skip = skip};
    if (step_open(&s))
        for (size_t i = 0; i < n; i++) {
            optim_param *p = optim_param_of(o, src, tensors[i]);
            if (p) update_one(&s, p, grads[i]);
        }
    step_close(&s);
}

static void update_all(const xt_src *src, xt_optimizer *o, gradients *g, ir_value *skip) {
    if (!optim_activate(o, src, g) || !optim_count(src, o, skip)) return;
    if (o->offload)
        optim_offload_step(src, o, g, skip);
    else
        optim_update_params(src, o, g->n, g->index, g->values, skip);
}

static void consume(const gradients *g) {
    for (size_t i = 0; i < g->n; i++) lazy_set_grad(g->params[i], (xt_tensor){0});
}

/* What a step is to the host; compiled step functions do it again at each call. */
void optim_count_step(xt_optimizer *o, bool recorded) {
    o->reduced = o->unscaled = false;
    optim_watch_finite(o);
    lazy_count_update(&o->updater, recorded);
    lazy_module_now(nn_network(o->root), LAZY_MODULE_STEPPED);
    nn_updated(o->net->root);
}
static void count_step(void *user) {
    optim_count_step(user, true);
}
static void poll_again(void *user) {
    schedule_poll(user);
    numbers_check(NULL, user, NULL);
    replicas_check(NULL, user);
    pace_check(NULL, user);
}

/* In a loop without boundaries nothing else would end a program whose first iterations fail: no update is made that
 * shows the loop. */
static void look_at_refused(const xt_src *src, const char *what, xt_optimizer *o) {
    enum { A_LOOP = 3 };
    if (!lazy_pending() || o->refused_in != lazy_step()) o->refused = 0;
    if (!lazy_pending()) return;
    o->refused_in = lazy_step();
    if (++o->refused >= A_LOOP) lazy_end_if_unseen(what, src);
}

/* No update is made, and none is counted: the gradients go, as with any step that is dropped, and what was drawn for
 * them with them. */
static void refuse(xt_optimizer *o, gradients *g) {
    consume(g);
    gradients_free(g);
    o->reduced = o->unscaled = false;
    scaler_forget_found(&o->found);
    lazy_draws_refused();
}

/* s NULL: no loss scaler. */
static void take_step(const xt_src *src, const char *what, xt_optimizer *o, struct xt_loss_scaler *s) {
    gradients g;
    if (!o) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "%s: the optimizer is NULL", what));
        return;
    }
    if (o->lbfgs) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "%s: LBFGS evaluates the loss several times a step: call xt_optimizer_step_closure(opt, "
                             "closure, user), whose function computes it",
                             what));
        return;
    }
    if (lazy_refuse_second_step(src, what)) return;
    look_at_refused(src, what, o);
    schedule_poll(o);
    lazy_on_replay(&(lazy_replay){.before = poll_again, .user = o});
    lazy_begin(src);
    if (!gradients_get(o, &g)) return;
    if (g.n == 0 && !lazy_pending()) step_error(src, what, o);
    if (lazy_pending()) {
        refuse(o, &g);
        return;
    }
    check_patterns(o);
    forgotten_look(src, o, &g);
    if (!scaler_not_mixed(src, what, o) || (s && s->enabled && !scaler_not_clipped(src, what, o)) ||
        !lazy_update_begin(src, what, &o->updater) || !numbers_check(src, o, s) || !replicas_begin(src, what, o) ||
        !replicas_check(src, o)) {
        refuse(o, &g);
        return;
    }
    pace_check(src, o);
    const ir_op *before = lazy_recorded_last();
    xt_no_grad_begin();
    ir_builder *b = lazy_begin(src);
    ir_value *skip = NULL;
    bool ok = optim_is_reduced(o) || gradients_average(b, &g, o->bucket_bytes);
    if (ok && s && s->enabled && o->unscaled)
        skip = lazy_value(o->found);
    else if (ok && s && s->enabled)
        ok = scaler_unscale(src, s, &g, &skip);
    remember(o, &g);
    b = lazy_begin(src);
    if (ok && o->clip_norm > 0)
        gradients_clip_norm(b, &g, gradients_norm(b, g.values, g.n, o->clip_norm_type),
                            gradients_limit(src, "clip_norm", &g, o->clip_norm));
    if (ok && o->clip_value > 0) gradients_clip_value(b, &g, gradients_limit(src, "clip_value", &g, o->clip_value));
    if (ok) update_all(src, o, &g, skip);
    consume(&g);
    scaler_forget_found(&o->found);
    optim_taken(src, what, o);
    lazy_begin(src);
    lazy_note_derived(before);
    xt_no_grad_end_at(NULL);
    optim_count_step(o, true); /* before: the network trains, whatever its mode */
    lazy_on_replay(&(lazy_replay){.before = count_step, .user = o});
    lazy_update_end(src, &o->updater);
    lazy_note_optimizer(o->name->name, o->forgets.made);
    gradients_free(&g);
}

void xt_optimizer_step_at(const xt_src *src, xt_optimizer *o) {
    take_step(src, "xt_optimizer_step", o, NULL);
}

/* The scale is that of the gradients until the update, which counts each step once. */
static bool steps_once(const xt_src *src, const xt_loss_scaler *s, xt_optimizer *o) {
    char at[256];
    bool again = o->stepped.by == s && o->stepped.updates == s->updates;
    if (again && !lazy_pending())
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "xt_scaler_step: the scaler has stepped this optimizer at %s already, and no "
                             "xt_scaler_update(scaler) has followed; it comes once behind the steps of all optimizers",
                             src_text(o->stepped.at, at, sizeof at)));
    o->stepped.by = s;
    o->stepped.at = src_intern(src);
    o->stepped.updates = s->updates;
    return !again;
}

void xt_scaler_step_at(const xt_src *src, xt_loss_scaler *s, xt_optimizer *o) {
    if (!s)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_scaler_step: the scaler is NULL"));
    else {
        if (o && o->scaler != s) scaler_attach(o, s);
        if (!o || !s->enabled || steps_once(src, s, o)) take_step(src, "xt_scaler_step", o, s);
    }
}
