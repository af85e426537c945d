/* Data modules: prepare, setup, loaders, and their end, around a fit or a pass. */
#include "train/train_int.h"

typedef enum data_stage { DATA_FIT, DATA_VALIDATE, DATA_TEST, DATA_PREDICT, DATA_STAGES } data_stage;
static const char *const stage_names[DATA_STAGES] = {"fit", "validate", "test", "predict"};

typedef struct call { /* one of the four */
    const xt_src *src;
    xt_trainer *t;
    const xt_task *task;
    size_t task_size;
    data_stage stage;
    xt_prediction_fn fn;
    void *user;
    bool set_up;
    xt_loader *loader, *val;
} call;

static xt_status take(call *c, const xt_data_module *data) {
    char who[32];
    snprintf(who, sizeof who, "xt_%s_data", stage_names[c->stage]);
    xt_data_module *d = &c->t->data;
    if (data->struct_size == 0)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s: the data module's .struct_size is 0; expected sizeof(xt_data_module)", who);
    *d = (xt_data_module){0};
    memcpy(d, data, data->struct_size < sizeof *d ? data->struct_size : sizeof *d);
    bool there[DATA_STAGES] = {d->train, d->val, d->test, d->predict};
    static const char *const members[DATA_STAGES] = {".train", ".val", ".test", ".predict"};
    return there[c->stage]
               ? NULL
               : status_new(XT_INVALID_ARGUMENT, NULL, "%s: the data module has no %s, which makes the loader", who,
                            members[c->stage]);
}

/* What is left pending counts as the function's own answer. */
static xt_status answer(xt_status given, const char *what) {
    given = lazy_returned(given, "it");
    xt_status s = given ? given : lazy_pending() ? status_clone(lazy_pending()) : NULL;
    return status_context(s, "the data module's %s", what);
}

static xt_status prepare(xt_trainer *t) {
    const xt_data_module *d = &t->data;
    const world *w = world_get();
    if (!d->prepare || (t->prepared == d->prepare && t->prepared_user == d->user)) return NULL;
    if ((d->prepare_per_host ? w->local_rank : w->rank) == 0) XT_TRY(answer(d->prepare(d->user), "prepare"));
    if (w->size > 1) XT_TRY(xt_barrier(0));
    t->prepared = d->prepare;
    t->prepared_user = d->user;
    return NULL;
}

/* Before the loaders are made, which may depend on it. */
static xt_status restore(xt_trainer *t) {
    char *state = NULL;
    if (!t->data.load_state) return NULL;
    XT_TRY(checkpoint_resume_meta(t, "data", true, &state));
    lazy_inside_fn inside;
    lazy_enter(&inside, "a data module's load_state", t);
    xt_status s = state ? answer(t->data.load_state(state, t->data.user), "load_state") : NULL;
    lazy_leave(&inside);
    base_free(state);
    return s;
}

static xt_status make(call *c, xt_loader *(*fn)(xt_trainer *, void *), const char *what, xt_loader **out) {
    *out = fn ? fn(c->t, c->t->data.user) : NULL;
    lazy_use(*out); /* until this call frees it */
    if (!fn || (*out && !lazy_pending())) return NULL;
    return lazy_pending() ? answer(NULL, what)
                          : status_new(XT_INVALID_ARGUMENT, NULL, "the data module's %s gave no loader", what);
}

static xt_status begin(call *c, const xt_data_module *data) {
    xt_trainer *t = c->t;
    XT_TRY(take(c, data));
    if (lazy_pending()) return status_clone(lazy_pending());
    XT_TRY(train_settle(t));
    XT_TRY(prepare(t));
    const xt_data_module *d = &t->data;
    c->set_up = true;
    if (d->setup) XT_TRY(answer(d->setup(t, stage_names[c->stage], d->user), "setup"));
    xt_loader *(*const makers[DATA_STAGES])(xt_trainer *, void *) = {d->train, d->val, d->test, d->predict};
    static const char *const names[DATA_STAGES] = {"train", "val", "test", "predict"};
    if (c->stage == DATA_FIT) XT_TRY(restore(t));
    XT_TRY(make(c, makers[c->stage], names[c->stage], &c->loader));
    return c->stage == DATA_FIT && c->task && c->task->validation_step ? make(c, d->val, "val", &c->val) : NULL;
}

static int go(const call *c) {
    switch (c->stage) {
    case DATA_FIT: return xt_fit_at(c->src, c->t, c->task, c->task_size, c->loader, c->val);
    case DATA_VALIDATE: return xt_validate_at(c->src, c->t, c->task, c->task_size, c->loader);
    case DATA_TEST: return xt_test_at(c->src, c->t, c->task, c->task_size, c->loader);
    default: return xt_predict_at(c->src, c->t, c->task, c->task_size, c->loader, c->fn, c->user);
    }
}

/* Runs whatever became of the call; an error of its own makes that fail, too. */
static int end(call *c, int code) {
    const xt_data_module *d = &c->t->data;
    if (c->set_up && d->teardown) d->teardown(c->t, stage_names[c->stage], d->user);
    xt_loader_free(c->loader);
    xt_loader_free(c->val);
    return lazy_pending() && !code ? train_report(NULL) : code;
}

static int with_data(call c, const xt_data_module *data) {
    if (c.t->help) return go(&c);
    lazy_hold hold = {.tells = true};
    lazy_hold_errors(&hold);
    xt_status s = begin(&c, data);
    int code = s ? train_report(status_at(s, c.src)) : 0;
    lazy_release_errors(&hold);
    if (!s) code = go(&c);
    hold = (lazy_hold){.tells = true};
    lazy_hold_errors(&hold);
    code = end(&c, code);
    lazy_release_errors(&hold);
    /* a stage that never began has failed as one that did */
    static const lazy_call kinds[DATA_STAGES] = {LAZY_CALL_FIT, LAZY_CALL_VALIDATE, LAZY_CALL_TEST, LAZY_CALL_PREDICT};
    if (code == 1) lazy_call_ended(kinds[c.stage], c.src, true);
    return code;
}

int xt_fit_data_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                   const xt_data_module *data) {
    return with_data((call){.src = src, .t = t, .task = task, .task_size = task_size, .stage = DATA_FIT}, data);
}

int xt_validate_data_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                        const xt_data_module *data) {
    return with_data((call){.src = src, .t = t, .task = task, .task_size = task_size, .stage = DATA_VALIDATE}, data);
}

int xt_test_data_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                    const xt_data_module *data) {
    return with_data((call){.src = src, .t = t, .task = task, .task_size = task_size, .stage = DATA_TEST}, data);
}

int xt_predict_data_at(const xt_src *src, xt_trainer *t, const xt_task *task, size_t task_size,
                       const xt_data_module *data, xt_prediction_fn fn, void *user) {
    return with_data(
        (call){.src = src, .t = t, .task = task, .task_size = task_size, .stage = DATA_PREDICT, .fn = fn, .user = user},
        data);
}
