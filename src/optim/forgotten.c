/* What a loop around an optimizer leaves out, and nothing else would tell: its step, or the zeroing of gradients that
 * another loss left; parameters that get gradients and have no optimizer, parameters of an optimizer that no gradient
 * reaches, and training mode behind an evaluation. Each is said once, when it is certain: a loop may gather gradients
 * over many steps, alternate between networks, keep parts frozen (xt_freeze, a frozen group, xt_no_grad_begin,
 * xt_detach) or call a layer now and then, and none of that is one of these. */
#include <pthread.h>

#include "lazy/step/swept.h"
#include "nn/nn.h"
#include "optim/optim.h"

enum {
    CERTAIN = 100, /* steps after which something that never happened is taken for forgotten */
    LONGEST = 1000, /* calls of xt_backward that nobody gathers for one step */
    MIXED = 3,
    NAMED = 3
};

/* All of the process, as one thread may free what another made; each looks at its own. The lock is held from the first
 * look to the last, so that none goes in between; a message may lead back here. */
static xt_optimizer *all;
static pthread_mutex_t lock;
static _Thread_local int64_t seen, passes; /* calls of xt_backward; ended passes over loaders */
static _Thread_local bool any; /* this thread has made one; its address tells threads apart */

static bool is_ours(const xt_optimizer *o) {
    return o->forgets.thread == &any;
}

static bool tells(void) {
    return world_get()->rank == 0 && !lazy_pending() && !lazy_rehearsing();
}

static const char *at_line(src_id id, char *buf, size_t n) {
    char text[256];
    *buf = 0;
    if (id) snprintf(buf, n, " at %s", src_text(id, text, sizeof text));
    return buf;
}

/* --- no step --- */
static bool has_gradient(const xt_optimizer *o) {
    for (int i = 0; lazy_owns(o->root) && i < xt_module_tensors(o->net); i++)
        if (optim_has(o, i) && lazy_has_gradient(xt_module_tensor(o->net, i))) return true;
    return false;
}

static void tell_waiting(xt_optimizer *o) {
    char made[300], swept[300];
    o->forgets.told_waiting = true;
    log_msg(
        XT_SEV_WARNING,
        "the optimizer xt_%s made%s has not stepped, though xt_backward%s has left gradients for it %lld times: its "
        "parameters are as they were at the beginning, and the gradients are added up. xt_optimizer_step(optimizer) "
        "behind xt_backward updates them",
        o->name->name, at_line(o->forgets.made, made, sizeof made), at_line(lazy_swept_here()->at, swept, sizeof swept),
        (long long)o->forgets.waiting);
}

/* Another optimizer of the thread has stepped: of this one's module, or of any. Then this one may be for later. */
static bool steps_without(const xt_optimizer *o, bool of_any) {
    for (const xt_optimizer *p = all; p; p = p->next_there)
        if (p != o && is_ours(p) && p->updater.steps && (of_any || p->forgets.network == o->forgets.network))
            return true;
    return false;
}

/* Calls of xt_backward since the last look. */
static void count_waiting(void) {
    int64_t fresh = lazy_swept_here()->calls - seen;
    seen += fresh;
    if (!fresh || lazy_draw_step_given()) return; /* the Trainer's windows are its own */
    for (xt_optimizer *o = all; o; o = o->next_there) {
        if (!is_ours(o) || o->updater.steps || o->lbfgs || o->forgets.told_waiting || !has_gradient(o)) continue;
        if (!o->forgets.waiting) o->forgets.passes = passes;
        o->forgets.waiting += fresh;
        /* gradients of a whole pass are for a step behind it, not for one within the next */
        bool late = o->forgets.waiting >= CERTAIN && passes > o->forgets.passes;
        if ((late || o->forgets.waiting >= LONGEST) && !steps_without(o, true) && tells()) tell_waiting(o);
    }
}

/* --- another's --- */
bool optim_is_anothers(const xt_optimizer *o, int i) {
    bool found = false;
    pthread_mutex_lock(&lock);
    for (const xt_optimizer *p = all; p && !found; p = p->next_there)
        found = p != o && is_ours(p) && lazy_owns(p->root) && p->root == o->root && optim_has(p, i) &&
                !p->groups[optim_group_of(p, xt_module_tensor_name(p->net, i))].frozen;
    pthread_mutex_unlock(&lock);
    return found;
}

/* --- nobody's --- */
typedef struct others {
    int64_t n;
    str names;
    src_id made;
} others;

static bool is_anybodys(xt_tensor t) {
    for (const xt_optimizer *o = all; o; o = o->next_there) {
        if (!is_ours(o) || !lazy_owns(o->root)) continue;
        const nn_root *r = o->net->root;
        for (size_t i = 0; i < r->n; i++)
            if (r->entries[i].t.slot == t.slot && r->entries[i].t.generation == t.generation && optim_has(o, (int)i))
                return true;
    }
    return false;
}

static void list_other(void *user, xt_tensor param, const char *name, src_id made) {
    others *found = user;
    if (is_anybodys(param)) return;
    if (!found->n) found->made = made;
    if (found->n++ < NAMED) str_printf(&found->names, "%s%s", found->n > 1 ? ", " : "", name);
}

static void look_for_others(xt_optimizer *o) {
    others found = {.names = STR_INIT};
    char made[300], swept[300];
    if (o->updater.steps < CERTAIN || o->forgets.told_others) return;
    o->forgets.told_others = true;
    lazy_each_gradient(list_other, &found);
    if (found.n && tells())
        log_msg(XT_SEV_WARNING,
                "xt_backward%s computes gradients of %lld parameter%s (%s%s, made%s) that no optimizer has: %s not "
                "trained unless the program does it itself. An optimizer of the module trains %s, xt_freeze(module, "
                "\"*\") leaves the gradients uncomputed",
                at_line(lazy_swept_here()->at, swept, sizeof swept), (long long)found.n, found.n == 1 ? "" : "s",
                str_cstr(&found.names), found.n > NAMED ? ", ..." : "", at_line(found.made, made, sizeof made),
                found.n == 1 ? "it is" : "they are", found.n == 1 ? "it" : "them");
    str_free(&found.names);
}

/* --- what no gradient reaches --- */
static bool never_had(const xt_optimizer *o, int i) {
    return optim_has(o, i) && ((size_t)i >= o->n_slots || o->slots[i] < 0) &&
           !lazy_has_gradient(xt_module_tensor(o->net, i)) &&
           !o->groups[optim_group_of(o, xt_module_tensor_name(o->net, i))].frozen;
}

static void tell_unreached(const xt_src *src, const xt_optimizer *o, lazy_unreached why, src_id at, int first,
                           int64_t n) {
    char text[300];
    bool ends = why == LAZY_NO_DERIVATIVE;
    log_msg(XT_SEV_WARNING,
            "%s:%d: in %lld steps %s%s never had a gradient, so %s: %s%s%s. xt_freeze or xt_detach tells that this is "
            "meant",
            src ? src->file : "?", src ? src->line : 0, (long long)o->updater.steps + 1,
            xt_module_tensor_name(o->net, first), n > 1 ? " and others" : "",
            n > 1 ? "they were not trained" : "it was not trained", ends ? "the op" : "what is computed of it",
            at_line(at, text, sizeof text),
            ends ? ", which leads from it to the loss, has no derivative" : " is no part of the loss");
}

static void look_for_unreached(const xt_src *src, xt_optimizer *o) {
    lazy_unreached first_why = LAZY_NOT_READ;
    src_id first_at = 0;
    int first = -1;
    int64_t n = 0;
    if (o->updater.steps + 1 < CERTAIN || o->forgets.told_unreached) return;
    o->forgets.told_unreached = true;
    for (int i = 0; i < xt_module_tensors(o->net); i++) {
        src_id at;
        lazy_unreached why = never_had(o, i) ? lazy_why_unreached(xt_module_tensor(o->net, i), &at) : LAZY_NOT_READ;
        if (why == LAZY_NOT_READ || n++) continue;
        first = i;
        first_why = why;
        first_at = at;
    }
    if (n && tells()) tell_unreached(src, o, first_why, first_at, first, n);
}

/* --- gradients of two losses --- */
static const xt_optimizer *that_stepped_for(src_id backward, const xt_optimizer *but) {
    for (const xt_optimizer *o = all; o; o = o->next_there)
        if (o != but && is_ours(o) && o->forgets.stepped_for == backward) return o;
    return NULL;
}

static bool among(xt_tensor t, const gradients *g) {
    for (size_t i = 0; i < g->n; i++)
        if (g->params[i].slot == t.slot && g->params[i].generation == t.generation) return true;
    return false;
}

static void look_for_mixed(const xt_src *src, xt_optimizer *o, const gradients *g) {
    const lazy_swept *w = lazy_swept_here();
    char by[256], now[256], update[256];
    if (w->mixed_step != lazy_step() || o->forgets.told_mixed || !among(w->mixed, g)) return;
    const xt_optimizer *other = that_stepped_for(w->mixed_by, o);
    if (!other || ++o->forgets.mixed < MIXED || !tells()) return;
    o->forgets.told_mixed = true;
    log_msg(
        XT_SEV_WARNING,
        "%s:%d: the optimizer steps with gradients of two losses: xt_backward at %s, and what xt_backward at %s had "
        "left for it before the update at %s. xt_zero_grad(optimizer) before the backward pass leaves that out",
        src ? src->file : "?", src ? src->line : 0, src_text(w->at, now, sizeof now),
        src_text(w->mixed_by, by, sizeof by), src_text(other->updater.at, update, sizeof update));
}

/* --- xt_train behind an evaluation --- */
static void look_at_mode(const xt_src *src, xt_optimizer *o) {
    const nn_root *r = o->net->root;
    char said[300];
    bool trains = r->module->mode == NN_TRAINING;
    o->forgets.trained = o->forgets.trained || trains;
    o->forgets.evaluating = trains ? 0 : o->forgets.evaluating + 1;
    if (o->forgets.evaluating < 2 || !o->forgets.trained || !r->by_mode || o->forgets.told_mode || !tells()) return;
    o->forgets.told_mode = true;
    log_msg(XT_SEV_WARNING,
            "%s:%d: the optimizer trains a network that xt_eval%s has put into evaluation mode: nothing is dropped "
            "(dropout), and running statistics are used and stay as they are (batch norm). xt_train(net) behind the "
            "evaluation ends it, or xt_eval_begin and xt_eval_end around it; a part that is to stay so is put there by "
            "itself (xt_eval of a child)",
            src ? src->file : "?", src ? src->line : 0, at_line(r->module->mode_said, said, sizeof said));
}

/* --- when --- */
static void before_boundary(void *user, lazy_cause cause) {
    (void)user, (void)cause;
    if (!any) return;
    pthread_mutex_lock(&lock);
    count_waiting();
    for (xt_optimizer *o = all; o; o = o->next_there)
        if (is_ours(o)) look_for_others(o);
    pthread_mutex_unlock(&lock);
}

static void pass_ended(void *user, const void *loader, const lazy_pass *outer) {
    (void)outer;
    (void)user, (void)loader;
    passes++;
}

static void observe(void) {
    pthread_mutexattr_t again;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &again);
    pthread_mutexattr_destroy(&again);
    xt_status s = lazy_observe(&(lazy_observer){.before = before_boundary, .pass_ended = pass_ended});
    if (s) lazy_fail(s);
}

void forgotten_begin(xt_optimizer *o) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, observe);
    if (!any) seen = lazy_swept_here()->calls;
    any = true;
    o->forgets.thread = &any;
    o->forgets.made = src_intern(src_called_from);
    o->forgets.network = nn_network(o->root);
    pthread_mutex_lock(&lock);
    o->next_there = all;
    all = o;
    pthread_mutex_unlock(&lock);
}

void forgotten_look(const xt_src *src, xt_optimizer *o, const gradients *g) {
    pthread_mutex_lock(&lock);
    look_for_mixed(src, o, g);
    look_for_unreached(src, o);
    look_at_mode(src, o);
    if (!o->updater.steps) o->forgets.first_passes = passes;
    o->forgets.in_fit = o->forgets.in_fit || lazy_draw_step_given();
    schedule_watch_update(src, o);
    pthread_mutex_unlock(&lock);
    lazy_swept_here()->updated = lazy_step();
    o->forgets.stepped_for = lazy_swept_here()->at;
}

void forgotten_end(xt_optimizer *o) {
    if (!o->forgets.thread) return; /* making it failed before */
    pthread_mutex_lock(&lock);
    xt_optimizer **at = &all;
    if (is_ours(o)) count_waiting();
    if (is_ours(o) && !o->updater.steps && o->forgets.waiting > 1 && !o->forgets.told_waiting &&
        !steps_without(o, false) && tells())
        tell_waiting(o);
    if (is_ours(o)) schedule_watch_end(o, passes - o->forgets.first_passes);
    while (*at && *at != o) at = &(*at)->next_there;
    if (*at) *at = o->next_there;
    pthread_mutex_unlock(&lock);
}
