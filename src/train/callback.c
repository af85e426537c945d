/* Callbacks: made, ordered, freed. Checkpoints come last, so that they save what the others have decided. */
#include "base/handle.h"
#include "train/train_int.h"

xt_callback *callback_make(const xt_callback_desc *d, void *user) {
    xt_callback *c = handle_new(HANDLE_callback, sizeof *c);
    if (!c) {
        lazy_fail(status_oom(sizeof *c, "a callback"));
        if (d->free_user) d->free_user(user);
        return NULL;
    }
    /* an older program's struct is shorter */
    size_t n = d->struct_size && d->struct_size < sizeof c->d ? d->struct_size : sizeof c->d;
    memcpy(&c->d, d, n);
    c->d.name = intern_text(intern(d->name ? d->name : "callback"));
    c->user = user;
    c->made = src_intern(src_called_from);
    live_add(LIVE_callback, 1);
    return c;
}

const xt_src *callback_enters(const xt_trainer *t, const xt_callback *c) {
    const xt_src *outer = src_called_from;
    src_id line = c->made ? c->made : t->src;
    if (!c->own && line) src_called_from = src_get(line);
    return outer;
}

xt_callback *xt_callback_new(const xt_callback_desc *d, void *user) {
    if (d) {
        xt_callback *c = callback_make(d, user);
        if (c) c->own = true;
        return c;
    }
    lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_callback_new: the description is NULL"));
    return NULL;
}

void callback_free(xt_callback *c) {
    if (!c) return;
    lazy_inside_fn call;
    lazy_enter(&call, "a callback's free_user", c);
    if (c->d.free_user) c->d.free_user(c->user);
    lazy_leave(&call);
    handle_free(c);
    live_add(LIVE_callback, -1);
}

const char *const callback_modes[] = {"default", "mean", "sum", "min", "max", NULL};

xt_callback *callback_watching(xt_callback *c, const char *monitor, xt_reduce mode) {
    char text[300];
    snprintf(text, sizeof text, "%s %s", mode == XT_MAX ? "max" : "min", monitor ? monitor : "");
    if (c) c->watches = intern_text(intern(text));
    return c;
}

/* A smoke run has none of its own accord. */
xt_status callback_needs_logger(const xt_trainer *t, const char *who) {
    if (t->o.logger != XT_OFF || t->o.fast_dev_run) return NULL;
    return status_new(
        XT_FAILED_PRECONDITION, NULL,
        "%s: the trainer has no logger (%s), so nobody would have its rows; %s, or do not add the callback", who,
        t->o.barebones == XT_ON ? "barebones" : "logger = XT_OFF",
        t->o.barebones == XT_ON ? "train without barebones" : "leave the logger on");
}

/* Two kinds never share both the name and the function that frees them. */
bool callback_is(const xt_callback *c, const xt_callback_desc *kind) {
    return strcmp(c->d.name, kind->name) == 0 && c->d.free_user == kind->free_user;
}

bool callback_leads(const xt_trainer *t, const xt_callback_desc *kind, const void *user) {
    for (size_t i = 0; i < t->n_callbacks; i++)
        if (!t->callbacks[i]->own && callback_is(t->callbacks[i], kind)) return t->callbacks[i]->user == user;
    return true;
}

void callback_insert(xt_trainer *t, xt_callback *c) {
    size_t at = t->n_callbacks;
    if (c->taken) {
        lazy_fail(
            status_new(XT_FAILED_PRECONDITION, NULL,
                       "xt_trainer_add: the callback \"%s\" was added to a trainer before, and is freed with that "
                       "one; make another for each trainer",
                       c->d.name));
        return;
    }
    c->taken = true;
    if (!c->saves)
        while (at > 0 && t->callbacks[at - 1]->saves) at--;
    if (!VEC_PUSH(t->callbacks, t->n_callbacks, t->cap_callbacks, c)) {
        lazy_fail(status_oom(sizeof c, "a callback"));
        callback_free(c);
        return;
    }
    memmove(&t->callbacks[at + 1], &t->callbacks[at], (t->n_callbacks - 1 - at) * sizeof *t->callbacks);
    t->callbacks[at] = c;
}

/* A smoke run leaves no files and is not stopped early. Outside a fit only a program's own callbacks are called, and
 * those for predictions: the library's are about training. */
bool callback_rests(const xt_trainer *t, const xt_callback *c) {
    if (!t->fitting && !c->own && !c->d.predict_batch_end) return true;
    return t->o.fast_dev_run && (c->saves || c->stops);
}
