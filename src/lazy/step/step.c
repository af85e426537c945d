/* xt_compile and xt_call: which recording of a step function fits a call, and recording one when none does. */
#include "base/handle.h"
#include "lazy/core/labels.h"
#include "lazy/core/left.h"
#include "lazy/step/step.h"
#include "lazy/step/within.h"

static void step_free(void *p) {
    xt_step_free(p);
}

/* The thread goes before its functions do: they are no longer of any. */
static void thread_freed(lazy_ctx *c) {
    for (xt_step *f = c->steps; f; f = f->next) f->ctx = NULL;
    for (size_t i = 0; i < c->n_steps_gone; i++) base_free(c->steps_gone[i].calls.at);
    base_free(c->steps_gone);
    c->steps_gone = NULL;
    c->n_steps_gone = c->cap_steps_gone = 0;
}

static const lazy_guest guest = {.freed = thread_freed};

/* --- steps that are compiled in a loop --- */
/* Taken out of those that are kept. */
static lazy_step_calls take_gone(lazy_ctx *c, size_t i) {
    lazy_step_calls calls = c->steps_gone[i].calls;
    memmove(&c->steps_gone[i], &c->steps_gone[i + 1], (--c->n_steps_gone - i) * sizeof *c->steps_gone);
    return calls;
}

/* Those that are compiled before any of them is called are used beside each other. */
static void go_on_with_calls(lazy_ctx *c, xt_step *f) {
    for (size_t i = 0; i < c->n_steps_gone; i++) {
        if (c->steps_gone[i].fn != f->fn || c->steps_gone[i].where != f->where) continue;
        f->calls = take_gone(c, i);
        return;
    }
    for (xt_step *old = c->steps; old; old = old->next) {
        if (old->fn != f->fn || old->where != f->where || !old->calls.n) continue;
        f->calls = old->calls;
        old->calls = (lazy_step_calls){0};
        return;
    }
}

/* Without memory, the loop that compiles the next one there keeps more alive. */
static void leave_calls(lazy_ctx *c, xt_step *f) {
    lazy_step_gone gone = {f->fn, f->where, f->calls};
    if (c && c->n_steps_gone == LAZY_STEPS_GONE) base_free(take_gone(c, 0).at);
    if (!c || !f->calls.n || !VEC_PUSH(c->steps_gone, c->n_steps_gone, c->cap_steps_gone, gone)) base_free(f->calls.at);
}

xt_step *xt_compile_at(const xt_src *src, xt_step_fn fn, xt_compile_opts o) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return NULL;
    if (!fn || o.max_programs < 0) {
        lazy_fail(fn ? status_new(XT_INVALID_ARGUMENT, src,
                                  "xt_compile: max_programs is %lld; 0 (no limit) or more is needed",
                                  (long long)o.max_programs)
                     : status_new(XT_INVALID_ARGUMENT, src, "xt_compile: the function is NULL"));
        return NULL;
    }
    char at[256], name[300];
    snprintf(name, sizeof name, "compiled at %s", src_text(src_intern(src), at, sizeof at));
    xt_step *f = handle_new(HANDLE_step, sizeof *f);
    if (f) f->name = base_strdup(o.name && *o.name ? o.name : name);
    if (!f || !f->name || !lazy_own(f, step_free)) {
        if (f) base_free(f->name);
        handle_free(f);
        lazy_fail(status_oom(sizeof *f, "a compiled step function"));
        return NULL;
    }
    f->ctx = c;
    f->fn = fn;
    f->user = o.user;
    f->where = src_intern(src);
    f->max_programs = o.max_programs;
    lazy_attend(c, &guest);
    go_on_with_calls(c, f);
    f->next = c->steps;
    c->steps = f;
    live_add(LIVE_step, 1);
    return f;
}

void xt_step_free(xt_step *f) {
    if (!f) return;
    lazy_disown(f);
    for (xt_step **p = f->ctx ? &f->ctx->steps : NULL; p && *p; p = &(*p)->next)
        if (*p == f) {
            *p = f->next;
            break;
        }
    for (size_t i = 0; i < f->n_plans; i++) lazy_plan_free(f->plans[i]);
    base_free(f->plans);
    base_free(f->keys);
    leave_calls(f->ctx, f);
    base_free(f->name);
    handle_free(f);
    live_add(LIVE_step, -1);
}

int64_t xt_step_traces(const xt_step *f) {
    return f ? f->traces : 0;
}
int64_t xt_step_replays(const xt_step *f) {
    return f ? f->replays : 0;
}
int64_t xt_step_programs(const xt_step *f) {
    return f ? (int64_t)f->n_keys : 0;
}
const char *xt_step_reason(const xt_step *f) {
    return f ? f->reason : "";
}

/* --- before the call --- */
static bool check_inputs(lazy_ctx *c, const xt_src *src, const xt_step *f, int n, const xt_tensor *in) {
    for (int i = 0; i < n; i++) {
        const lazy_slot *s = lazy_slot_of(c, in[i]);
        if (s && !s->failed) continue;
        char what[400];
        snprintf(what, sizeof what, "input %d of %s", i, f->name);
        if (!s)
            lazy_dead_error(c, in[i], src, what);
        else if (!c->error)
            lazy_fail(status_new(XT_FAILED_PRECONDITION, src, "%s is the result of an op that failed", what));
        return false;
    }
    return true;
}

/* Ends the step that was being recorded, if anything was; inputs recorded in it get their values. */
static bool end_recorded(lazy_ctx *c, const xt_src *src, int n, const xt_tensor *in) {
    lazy_call_parts_loops(c, src);
    c->in_boundary = true;
    lazy_observe_before(LAZY_CALL); /* values logged since the last boundary are recorded here */
    c->in_boundary = false;
    if (c->error) return false;
    if (!c->b.block->first && !c->n_leaves && !c->n_requests) return true;
    for (int i = 0; i < n; i++) {
        lazy_slot *s = lazy_slot_of(c, in[i]);
        if (!s->value || s->persistent || s->outlives_step) continue;
        lazy_request q = {.t = in[i], .value = s->value, .to_slot = true, .asked = {"xt_call", src_intern(src)}};
        if (!VEC_PUSH(c->requests, c->n_requests, c->cap_requests, q)) {
            lazy_fail(status_oom(sizeof q, "the inputs of a compiled step function"));
            return false;
        }
        s->outlives_step = true; /* asked for once, also if it is given twice */
    }
    lazy_hold_in_step(c, LAZY_CALL, src);
    return lazy_end_step(c, LAZY_CALL, src, LAZY_KEEP_ALL);
}

/* States and tensors with gradients are themselves; everything else is a value. */
static bool is_itself(const lazy_slot *s) {
    return s->is_state || (s->requires_grad && !s->detached) || s->grad.slot;
}

typedef struct call { /* the signature of a call; `in` may lie in `small` */
    lazy_signature sig;
    char small[16 * sizeof(((lazy_signature *)0)->in[0])];
} call;

static bool sign(lazy_ctx *c, int n, const xt_tensor *in, lazy_signature *sig) {
    sig->n = (size_t)n;
    sig->no_grad = c->no_grad > 0;
    sig->autocast = c->autocast;
    sig->mode = c->mode;
    const lazy_position *at = lazy_position_of_thread();
    sig->batch_size = at->padded ? 0 : at->batch_size; /* logs take it as data where it may change */
    for (int i = 0; i < n; i++) {
        const lazy_slot *s = lazy_slot_of(c, in[i]);
        if (!s) return false;
        sig->in[i].type = s->type;
        sig->in[i].layout = s->layout;
        sig->in[i].slot = is_itself(s) ? in[i].slot : 0;
        sig->in[i].generation = is_itself(s) ? in[i].generation : 0;
    }
    return true;
}

/* --- recording --- */
static bool log_begin(lazy_ctx *c, lazy_replay_log *t, int n, const xt_tensor *in) {
    t->sig.in = base_calloc((size_t)n + 1, sizeof *t->sig.in);
    t->in = base_calloc((size_t)n + 1, sizeof *t->in);
    t->n_entry = c->n_slots;
    t->entry = base_calloc(c->n_slots, sizeof *t->entry);
    if (!t->sig.in || !t->in || !t->entry || !sign(c, n, in, &t->sig)) return false;
    for (size_t i = 0; i < c->n_slots; i++) {
        const lazy_slot *s = &c->slots[i];
        t->entry[i] = (struct lazy_entry){s->generation, s->live, s->requires_grad, s->grad_leaf, s->grad};
    }
    for (int i = 0; i < n; i++) { /* values get handles of their own, so that the same tensor may be given twice */
        t->in[i] = in[i];
        lazy_slot *s = lazy_slot_of(c, in[i]), *copy;
        if (t->sig.in[i].slot) continue;
        lazy_slot from = *s;
        t->in[i] = lazy_slot_new(c, from.type, from.src, &copy);
        if (!copy) return false;
        copy->role = from.role;
        copy->path = from.path;
        copy->name = from.name;
        copy->buf = from.buf;
        copy->layout = from.layout;
        copy->extremes = lazy_extremes_retain(from.extremes);
        lazy_buf_retain(copy->buf);
    }
    return true;
}

static void log_end(lazy_ctx *c, lazy_replay_log *t) {
    c->replay_log = NULL;
    for (size_t i = 0; i < t->n_items; i++)
        if (t->items[i].kind == LAZY_REPLAY_ACTION && t->items[i].action.release)
            t->items[i].action.release(t->items[i].action.user);
    base_free(t->items);
    base_free(t->sig.in);
    base_free(t->in);
    base_free(t->entry);
    base_free(t->asked);
    base_free(t->labels);
    lazy_program_release(t->program);
    base_free(t);
}

/* The result leaves the step: a node's value becomes its buffer. A state or an input stays what it is, and its value
 * gets a handle (below). */
static void ask_result(lazy_ctx *c, lazy_replay_log *t) {
    lazy_slot *s = lazy_slot_of(c, t->result);
    if (!t->result.slot || c->error) return;
    if (!s) {
        lazy_dead_error(c, t->result, t->src, "the result of a compiled step function");
        return;
    }
    if (s->failed || s->persistent || !s->value) return;
    lazy_request q = {.t = t->result, .value = s->value, .to_slot = true, .asked = {"xt_call", src_intern(t->src)}};
    if (!VEC_PUSH(c->requests, c->n_requests, c->cap_requests, q))
        lazy_fail(status_oom(sizeof q, "the result of a compiled step function"));
}

static xt_tensor alias_of(lazy_ctx *c, lazy_buf *b, src_id src) {
    lazy_slot *s = NULL;
    xt_tensor t = b ? lazy_slot_new(c, b->info.type, src, &s) : (xt_tensor){0};
    if (s) { /* the reference goes along */
        s->buf = b;
        s->layout = b->layout;
    } else
        lazy_buf_release(b);
    return t;
}

static void keep_plan(lazy_ctx *c, xt_step *f, lazy_replay_log *t) {
    if (t->plan && !VEC_PUSH(f->plans, f->n_plans, f->cap_plans, t->plan)) {
        lazy_plan_free(t->plan);
        t->plan = NULL;
    }
    if (t->plan || !t->volatile_what || f->told_volatile || c->error) return;
    char at[256];
    f->told_volatile = true;
    log_msg(XT_SEV_WARNING,
            "%s is recorded again at every call: %s at %s. Numbers that change come in as inputs, or with "
            "xt_scalar_ref, or are used outside of the function",
            f->name, t->volatile_what, src_text(t->volatile_src, at, sizeof at));
}

/* A compiled step function may be limited to some programs; what it knows already is admitted. */
static xt_status admit(lazy_replay_log *t, hash128 key, const lazy_event *ev) {
    xt_step *f = t->step;
    for (size_t i = 0; i < f->n_keys; i++)
        if (hash_equal(f->keys[i], key)) return NULL;
    if (f->max_programs > 0 && (int64_t)f->n_keys >= f->max_programs)
        return status_new(XT_FAILED_PRECONDITION, t->src,
                          "%s has %zu programs and needs another, but .max_programs is %lld; recorded again because: "
                          "%s; the program differs: %s",
                          f->name, f->n_keys, (long long)f->max_programs, f->reason,
                          *ev->reason ? ev->reason : "it is known, but not as one of this function");
    return VEC_PUSH(f->keys, f->n_keys, f->cap_keys, key) ? NULL : status_oom(sizeof key, "a compiled step function");
}

/* The function of xt_call was left by longjmp. */
static void recording_left(lazy_ctx *c, lazy_replay_log *t) {
    lazy_plan_free(t->plan);
    log_end(c, t);
}

/* In a frame of its own, which lies deep enough to tell that it is gone (left.h). */
__attribute__((noinline)) static xt_tensor record(lazy_ctx *c, const xt_src *src, xt_step *f, int n,
                                                  const xt_tensor *in) {
    lazy_inside_fn inside;
    lazy_replay_log *t = base_calloc(1, sizeof *t);
    xt_tensor out = {0};
    if (!t) return lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_call: no memory for the recording of %s", f->name);
    *t = (lazy_replay_log){
        .step = f, .admit = admit, .src = src, .frame = (const char *)&inside, .left = recording_left, .in_fn = true};
    size_t n_kept = c->n_step_slots;
    f->traces++;
    counter_add(COUNTER_recordings, 1);
    if (env_has_word("XT_DEBUG", "compile")) {
        char at[256];
        log_msg(XT_SEV_INFO, "%s: recorded at the call at %s (recording %lld): %s", f->name,
                src_text(src_intern(src), at, sizeof at), (long long)f->traces, f->reason);
    }
    bool ready = log_begin(c, t, n, in);
    c->replay_log = t;
    if (ready) {
        lazy_enter(&inside, "the function of xt_call", f);
        t->result = f->fn(t->in, n, f->user);
        lazy_leave(&inside);
    } else
        lazy_fail(status_oom(sizeof *t, "a compiled step function"));
    t->in_fn = false;
    ask_result(c, t);
    lazy_slot *s = lazy_slot_of(c, t->result);
    bool own = s && !s->failed && !s->persistent && s->value; /* a node: its handle survives */
    lazy_buf *held = s && !own && !s->failed && !s->value ? s->buf : NULL;
    lazy_buf_retain(held);
    bool persistent = s && s->persistent && s->value;
    bool ok = lazy_end_step(c, LAZY_CALL, src, n_kept);
    if (ok && own)
        out = t->result;
    else if (ok && persistent && (s = lazy_slot_of(c, t->result))) {
        lazy_buf_retain(s->buf);
        out = alias_of(c, s->buf, s->src);
    } else if (ok && held) {
        out = alias_of(c, held, src_intern(src));
        held = NULL;
    }
    lazy_buf_release(held);
    if (ok)
        keep_plan(c, f, t);
    else
        lazy_plan_free(t->plan);
    log_end(c, t);
    c->call_ended_step = true;
    lazy_end_if_lost("xt_call", src); /* what went wrong in the function is the caller's to look at first */
    return ok ? out : lazy_failed_tensor(src);
}

/* --- the call --- */
static void to_front(xt_step *f, size_t i) {
    lazy_plan *p = f->plans[i];
    memmove(&f->plans[1], &f->plans[0], i * sizeof *f->plans);
    f->plans[0] = p;
}

/* The plan that may run now, with its program; plans that never will again are dropped. Without one, f->reason says
 * what the nearest lacks. */
static lazy_plan *find_plan(lazy_ctx *c, xt_step *f, const lazy_signature *sig, lazy_program **out) {
    bool stale;
    for (size_t i = 0; i < f->n_plans; i++) {
        if (!lazy_plan_fits(c, f->plans[i], sig, NULL, &stale)) continue;
        *out = lazy_program_find(f->plans[i]->key);
        if (!*out) break;
        to_front(f, i);
        return f->plans[0];
    }
    str why = STR_INIT;
    if (f->traces == 0) str_append(&why, "first call");
    for (size_t i = 0; i < f->n_plans;) {
        str *ask = why.len ? NULL : &why;
        bool fits = lazy_plan_fits(c, f->plans[i], sig, ask, &stale);
        if (fits && ask) str_append(&why, "its program was evicted (XT_CACHE_ENTRIES)");
        if (!fits && !stale) {
            i++;
            continue;
        }
        lazy_plan_free(f->plans[i]);
        memmove(&f->plans[i], &f->plans[i + 1], (--f->n_plans - i) * sizeof *f->plans);
    }
    if (!why.len) str_append(&why, "the last recording could not be kept");
    snprintf(f->reason, sizeof f->reason, "%s", str_cstr(&why));
    str_free(&why);
    return NULL;
}

xt_tensor xt_call_at(const xt_src *src, xt_step *f, int n, const xt_tensor *in) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return (xt_tensor){0};
    lazy_end_if_unseen("xt_call", src);
    if (!f)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_call: the step function is NULL; xt_compile failed, or was not called");
    if (f->ctx != c)
        return lazy_error(src, XT_FAILED_PRECONDITION,
                          "xt_call: %s was made by another thread; a step function belongs to the thread that made it",
                          f->name);
    if (n < 0 || (n > 0 && !in)) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_call: %d inputs of %s", n, f->name);
    if (c->error || !check_inputs(c, src, f, n, in)) return lazy_failed_tensor(src);
    lazy_forget_left(c);
    if (c->replay_log && c->replay_log->in_fn) return f->fn(in, n, f->user);
    if (lazy_in_loop(c, src, "xt_call") || lazy_in_whole(src, "xt_call")) return lazy_failed_tensor(src);
    if (c->in_boundary)
        return lazy_error(src, XT_FAILED_PRECONDITION, "xt_call: %s is called while a step ends (from a callback?)",
                          f->name);
    if (!end_recorded(c, src, n, in)) return lazy_failed_tensor(src);
    call_path way = lazy_call_comes_round(c, f, src, n, in);
    call k = {.sig = {.in = (void *)k.small}};
    if (n > 16 && !(k.sig.in = base_malloc((size_t)n * sizeof *k.sig.in)))
        return lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_call: no memory for %d inputs", n);
    xt_tensor out = {0};
    lazy_program *g = NULL;
    lazy_plan *p = sign(c, n, in, &k.sig) && !c->nan && !c->bounds ? find_plan(c, f, &k.sig, &g) : NULL;
    if (n > 16) base_free(k.sig.in);
    bool ok = true;
    if (p) {
        ok = lazy_replay_run(c, f, p, g, src, in, &out);
        lazy_program_release(g);
        lazy_end_if_lost("xt_call", src);
    } else
        out = record(c, src, f, n, in);
    lazy_slot *s = ok ? lazy_slot_of(c, out) : NULL;
    if (s && !s->persistent) s->way = way, s->result = true;
    return ok ? out : lazy_failed_tensor(src);
}
