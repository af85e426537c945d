/* Dynamic loss scaling (Micikevicius et al. 2018), with torch.amp.GradScaler's numbers. The scale, the count of good
 * steps and the decision to skip are data on the device; the program is the same whether a step is skipped or not. */
#include <math.h>

#include "base/handle.h"
#include "lazy/step/swept.h"
#include "ops/ops.h"
#include "optim/optim.h"

static void free_scaler(void *s) {
    xt_loss_scaler_free(s);
}

static xt_tensor number(const xt_src *src, const char *name, float v) {
    return lazy_state_new(src, LAZY_OPTIMIZER, name, XT_F32, 0, NULL, &v);
}

xt_loss_scaler *xt_loss_scaler_opt(const xt_src *src, xt_loss_scaler_opts p) {
    static const option_row rows[] = {
        OPTIM_ROW(xt_loss_scaler_opts, init_scale, 1e-30, 1e30, "scale at the beginning"),
        OPTIM_ROW(xt_loss_scaler_opts, growth_factor, 1.0000001, 1e6, "factor after growth_interval good steps"),
        OPTIM_ROW(xt_loss_scaler_opts, backoff_factor, 1e-6, 0.9999999, "factor after a step with infinities"),
        {"growth_interval", "good steps in a row", OPTION_I64, offsetof(xt_loss_scaler_opts, growth_interval), 1, 1e7,
         NULL},
        OPTIM_SWITCH(xt_loss_scaler_opts, enabled, "off: passes everything through"),
    };
    xt_status e = options_check(rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_loss_scaler_opts), "xt_loss_scaler_new");
    xt_loss_scaler *s = e ? NULL : handle_new(HANDLE_loss_scaler, sizeof *s);
    if (!e && (!s || !lazy_own(s, free_scaler))) e = status_oom(sizeof *s, "a loss scaler");
    if (e) {
        handle_free(s);
        lazy_fail(status_at(e, src));
        return NULL;
    }
    live_add(LIVE_optimizer, 1);
    s->initial = p.init_scale;
    s->growth = p.growth_factor;
    s->backoff = p.backoff_factor;
    s->interval = (double)p.growth_interval;
    s->enabled = p.enabled != XT_OFF;
    s->scale = number(src, "loss_scaler.scale", (float)(s->enabled ? p.init_scale : 1));
    s->tracker = number(src, "loss_scaler.growth_tracker", 0);
    return s;
}

void xt_loss_scaler_free(xt_loss_scaler *s) {
    if (!s) return;
    lazy_disown(s);
    if (lazy_type(s->scale)) xt_drop_at(XT_HERE, s->scale);
    if (lazy_type(s->tracker)) xt_drop_at(XT_HERE, s->tracker);
    scaler_forget_found(&s->found);
    handle_free(s);
    live_add(LIVE_optimizer, -1);
}

/* --- what loaded states have for it --- */
const char *const scaler_names[2] = {"loss_scaler.scale", "loss_scaler.growth_tracker"};
static __thread xt_optimizer *unmet; /* those of this thread whose state has one for a scaler that they have not met */
static __thread int64_t waited; /* so often one came in here */

static bool waiting(const xt_optimizer *o, float out[2]) {
    const void *data;
    for (int i = 0; i < 2; i++) {
        if (optim_waiting(o, scaler_names[i], &data) != ir_scalar(XT_F32)) return false;
        memcpy(&out[i], data, sizeof out[i]);
    }
    return true;
}

void scaler_waits(xt_optimizer *o) {
    float unused[2];
    if (!waiting(o, unused)) return;
    scaler_forget_waiting(o);
    o->next_unmet = unmet;
    unmet = o;
    waited++;
}

/* Behind the last; an optimizer that another thread has freed ends the list too. */
static bool is_end(const xt_optimizer *o) {
    handle_state s = handle_look(HANDLE_optimizer, o);
    return s == HANDLE_NULL || s == HANDLE_FREED || s == HANDLE_FINISHED;
}

void scaler_forget_waiting(xt_optimizer *o) {
    xt_optimizer **at = &unmet;
    while (!is_end(*at) && *at != o) at = &(*at)->next_unmet;
    *at = *at == o ? o->next_unmet : NULL;
}

static void begin_as(xt_loss_scaler *s, const float loaded[2]) {
    const xt_tensor states[2] = {s->scale, s->tracker};
    memcpy(s->loaded, loaded, sizeof s->loaded);
    s->begun = SCALER_LOADED;
    for (int i = 0; i < 2; i++) {
        xt_status e = lazy_state_write(states[i], &loaded[i], sizeof loaded[i]);
        if (e) lazy_fail(e);
    }
}

/* Whose scaler a new one is shows when an optimizer steps with it; where all states that wait have the same for
 * theirs, it is that. */
static void look_for_loaded(xt_loss_scaler *s) {
    float first[2], other[2];
    bool any = false;
    if (s->scales || s->looked == waited) return;
    s->looked = waited;
    for (const xt_optimizer *o = unmet; !is_end(o); o = o->next_unmet) {
        if (!waiting(o, any ? other : first)) continue;
        if (any && memcmp(first, other, sizeof first) != 0) return;
        any = true;
    }
    if (any) begin_as(s, first);
}

/* Gradients have the scale that their loss was given, so what comes behind that is for the next step. */
void scaler_attach(xt_optimizer *o, xt_loss_scaler *s) {
    float loaded[2];
    bool has = waiting(o, loaded);
    o->scaler = s;
    scaler_forget_waiting(o);
    for (int i = 0; i < 2; i++) optim_forget_waiting(o, scaler_names[i]);
    if (!has || (s->begun != SCALER_OWN && memcmp(loaded, s->loaded, sizeof loaded) == 0)) return;
    if (!s->scales) {
        begin_as(s, loaded);
        return;
    }
    memcpy(s->loaded, loaded, sizeof loaded);
    s->begun = SCALER_LATE;
}

xt_tensor xt_loss_scale(const xt_loss_scaler *s) {
    if (!s) return (xt_tensor){0};
    look_for_loaded((xt_loss_scaler *)s);
    return s->scale;
}

/* In the loss's own type, which must not be narrower than f32: 65536 is infinite in f16. */
xt_tensor xt_scale_loss_at(const xt_src *src, xt_loss_scaler *s, xt_tensor loss) {
    const ir_type *t = lazy_type(loss);
    if (!s) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_scale_loss: the scaler is NULL");
    if (!s->enabled) return loss;
    look_for_loaded(s);
    s->scales = true;
    if (t && ir_dtype_is_float(t->dtype) && xt_dtype_size(t->dtype) < 4) loss = xt_cast_at(src, loss, XT_F32);
    return xt_mul_at(src, loss, s->scale);
}

/* What was found goes with the gradients, which live over ends of steps too. */
static void keep_found(const xt_src *src, xt_tensor *found, ir_value *v, const char *what) {
    scaler_forget_found(found);
    *found = xt_keep_at(src, lazy_wrap(v, what));
}

void scaler_forget_found(xt_tensor *found) {
    if (lazy_is_kept(*found)) xt_drop_at(XT_HERE, *found);
    *found = (xt_tensor){0};
}

bool scaler_unscale(const xt_src *src, xt_loss_scaler *s, gradients *g, ir_value **out_skip) {
    ir_builder *b = lazy_begin(src);
    ir_value *scale = lazy_value(s->scale);
    if (!scale) return false;
    ir_value *inverse = ir_divide(b, ir_splat(b, scale->type, 1), scale);
    /* before unscaling: the smallest could become 0, none finite becomes infinite */
    *out_skip = gradients_not_finite(b, g);
    for (size_t i = 0; i < g->n; i++) g->values[i] = optim_scale(b, g->values[i], inverse);
    ir_value *found = *out_skip;
    if (lazy_type(s->found)) /* of another optimizer; of none where its step was dropped */
        found = ir_or(b, found, lazy_value(s->found));
    else
        found = ops_copy(b, found);
    keep_found(src, &s->found, found, "xt_scaler_step");
    return *out_skip != NULL;
}

bool scaler_not_mixed(const xt_src *src, const char *what, const xt_optimizer *o) {
    char unscaled[256], swept[256];
    src_id at = 0;
    for (int i = 0; i < xt_module_tensors(o->net) && o->unscaled && !at; i++)
        if (optim_has(o, i)) at = lazy_swept_since(xt_module_tensor(o->net, i), o->unscaled_calls);
    if (!at) return true;
    lazy_fail(
        status_new(XT_FAILED_PRECONDITION, src,
                   "%s: xt_scaler_unscale at %s has divided the gradients by the scale, and xt_backward at %s has "
                   "added others since, which the scale is in; xt_scaler_unscale comes once a step, behind its "
                   "last xt_backward",
                   what, src_text(o->unscaled_at, unscaled, sizeof unscaled), src_text(at, swept, sizeof swept)));
    return false;
}

bool scaler_not_clipped(const xt_src *src, const char *what, const xt_optimizer *o) {
    char clipped[256];
    src_id at = 0;
    for (int i = 0; i < xt_module_tensors(o->net) && !o->unscaled && !at; i++)
        if (optim_has(o, i)) at = lazy_clipped_at(xt_module_tensor(o->net, i));
    if (!at) return true;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                         "%s: the gradients were clipped at %s while the scale was in them, so the limit was for "
                         "numbers that many times as large; xt_scaler_unscale(scaler, optimizer) comes before clipping",
                         what, src_text(at, clipped, sizeof clipped)));
    return false;
}

void xt_scaler_unscale_at(const xt_src *src, xt_loss_scaler *s, xt_optimizer *o) {
    static const char what[] = "xt_scaler_unscale";
    gradients g;
    char at[256];
    if (!s || !o || !s->enabled) return;
    if (o->scaler != s) scaler_attach(o, s);
    if (!scaler_not_mixed(src, what, o) || !scaler_not_clipped(src, what, o)) return;
    if (o->unscaled) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "%s: the gradients of this step are unscaled already, at %s; once a step is right", what,
                             src_text(o->unscaled_at, at, sizeof at)));
        return;
    }
    xt_reduce_gradients_at(src, o);
    if (!gradients_get(o, &g)) return;
    if (!g.n && !lazy_pending())
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "%s: no parameter has a gradient; its place is between xt_backward and xt_scaler_step",
                             what));
    o->unscaled_at = src_intern(src);
    o->unscaled_calls = lazy_swept_here()->calls;
    xt_no_grad_begin();
    ir_value *skip;
    if (g.n && scaler_unscale(src, s, &g, &skip)) {
        ir_builder *b = lazy_begin(src);
        keep_found(src, &o->found, ops_copy(b, skip), "xt_scaler_unscale");
        gradients_assign(&g, "xt_scaler_unscale");
        o->unscaled = true;
    }
    xt_no_grad_end_at(NULL);
    gradients_free(&g);
}

/* As PyTorch's _amp_update_scale_: a scale that would become infinite does not grow. */
static void next_scale(ir_builder *b, const xt_loss_scaler *s, ir_value *found, ir_value *scale, ir_value *tracker,
                       ir_value *out[2]) {
    const ir_type *f = scale->type;
    ir_value *count = ir_add(b, tracker, ir_splat(b, f, 1)), *zero = ir_splat(b, f, 0);
    ir_value *full = ir_compare(b, IR_GE, count, ir_splat(b, f, s->interval));
    ir_value *grown = optim_times(b, scale, s->growth);
    ir_value *after_good = ir_select(b, ir_and(b, full, ir_is_finite(b, grown)), grown, scale);
    out[0] = ir_select(b, found, optim_times(b, scale, s->backoff), after_good);
    out[1] = ir_select(b, ir_or(b, found, full), zero, count);
}

void xt_scaler_update_at(const xt_src *src, xt_loss_scaler *s) {
    if (!s || !s->enabled) return;
    ir_builder *b = lazy_begin(src);
    s->updates++;
    if (!lazy_type(s->found)) {
        if (!lazy_pending())
            lazy_fail(status_new(
                XT_FAILED_PRECONDITION, src,
                "xt_scaler_update: no xt_scaler_step or xt_scaler_unscale since the xt_scaler_update before"));
        return;
    }
    xt_no_grad_begin();
    xt_tensor from[2] = {s->scale, s->tracker};
    for (int i = 0; i < 2 && s->begun == SCALER_LATE; i++) from[i] = lazy_scalar(src, XT_F32, s->loaded[i]);
    if (s->begun == SCALER_LATE) s->begun = SCALER_LOADED;
    ir_value *found = lazy_value(s->found), *scale = lazy_value(from[0]), *tracker = lazy_value(from[1]), *next[2];
    if (found && scale && tracker) {
        next_scale(b, s, found, scale, tracker, next);
        lazy_assign(s->scale, lazy_wrap(next[0], "xt_scaler_update"));
        lazy_assign(s->tracker, lazy_wrap(next[1], "xt_scaler_update"));
    }
    scaler_forget_found(&s->found);
    xt_no_grad_end_at(NULL);
}
