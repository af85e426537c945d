/* Running a program: arguments from the leaves, outputs for the roots, at most XT_IN_FLIGHT steps started and not
 * finished. A program that fails after it was started (out of memory on the device, a dead rank) is remembered and
 * surfaces at the next boundary. */
#include <ctype.h>
#include <stdlib.h>

#include "lazy/core/listeners.h"
#include "lazy/core/memory_limit.h"
#include "lazy/program/program.h"
#include "lazy/core/replay_log.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int in_flight;
    int64_t last_done_ns;
    xt_status failed;
} rt = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static lazy_listeners listeners = LAZY_LISTENERS_INIT;
typedef struct event_listener {
    lazy_event_fn fn;
    void *user;
} event_listener;

void lazy_on_event(lazy_event_fn fn, void *user) {
    if (!lazy_listen(&listeners, &(event_listener){fn, user}, sizeof(event_listener)))
        lazy_fail(status_oom(sizeof(event_listener), "a listener to compiles and executions"));
}

void lazy_emit_event(const lazy_event *e) {
    for (const lazy_listener *i = lazy_listener_first(&listeners); i; i = lazy_listener_next(i)) {
        const event_listener *l = (const event_listener *)(const void *)i->data;
        l->fn(l->user, e);
    }
}

static _Atomic int64_t peak_step;
int64_t lazy_peak_step(void) {
    return atomic_load_explicit(&peak_step, memory_order_relaxed);
}

int lazy_in_flight(void) {
    pthread_mutex_lock(&rt.lock);
    int n = rt.in_flight;
    pthread_mutex_unlock(&rt.lock);
    return n;
}

xt_status lazy_take_async_error(void) {
    pthread_mutex_lock(&rt.lock);
    xt_status s = rt.failed;
    rt.failed = NULL;
    pthread_mutex_unlock(&rt.lock);
    return s;
}

/* After a failure: what was started on its results fails too, and says nothing new. */
void lazy_quiesce(void) {
    if (lazy_is_forked()) return; /* what is in flight is so in the parent, and never ends here */
    pthread_mutex_lock(&rt.lock);
    while (rt.in_flight > 0) pthread_cond_wait(&rt.changed, &rt.lock);
    xt_status_free(rt.failed);
    rt.failed = NULL;
    pthread_mutex_unlock(&rt.lock);
}

typedef struct flight { /* what a completion needs to know */
    int64_t step, shown_step, started_ns; /* shown_step: what reports call it */
    double flops;
    src_id src;
    lazy_origins *origins;
    lazy_done_fn *fns;
    void **users;
    size_t n_fns;
} flight;

/* The number after `word` at p, when it stands there as a word of its own: "n17", "argument 3". Gives what follows
 * it, or NULL. */
static const char *numbered(const char *text, const char *p, const char *word, size_t *out) {
    size_t n = strlen(word);
    if (strncmp(p, word, n) != 0 || !isdigit((unsigned char)p[n])) return NULL;
    if (p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_')) return NULL;
    char *end;
    *out = strtoul(p + n, &end, 10);
    return isalpha((unsigned char)*end) || *end == '_' ? NULL : end;
}

static void append_input(str *out, const lazy_live *b) {
    char at[256];
    if (!b->type) {
        str_append(out, "the step's scalars");
        return;
    }
    str_printf(out, "%s  %s", lazy_role_name(b->role), src_text(b->src, at, sizeof at));
    if (b->path) str_printf(out, " (%s)", intern_text(b->path));
}

/* A device's text names ops as n17 and inputs by number: the user's lines take their places. */
static void explain_memory(str *out, const flight *f, const char *text) {
    const lazy_origins *o = f->origins;
    char at[256];
    size_t k;
    for (const char *p = text, *after; *p;) {
        if ((after = numbered(text, p, "n", &k)) && k < o->n_ordinals) {
            str_append(out, src_text(o->ordinals[k], at, sizeof at));
            if (o->ordinal_paths[k]) str_printf(out, " (%s)", intern_text(o->ordinal_paths[k]));
            p = after;
        } else if ((after = numbered(text, p, "argument ", &k)) && k < o->n_inputs) {
            append_input(out, &o->inputs[k]);
            p = after;
        } else
            str_putc(out, *p++);
    }
}

static xt_status enrich(const flight *f, xt_status s) {
    char at[256];
    str text = STR_INIT;
    str_printf(&text, "the program of step %lld, started at %s, failed: ", (long long)f->shown_step,
               src_text(f->src, at, sizeof at));
    explain_memory(&text, f, status_text(s));
    if (status_code(s) == XT_RESOURCE_EXHAUSTED) {
        lazy_append_ledger(&text, 8);
        str_append(&text, "\n"
                          "what helps: a smaller batch, gradient accumulation, activation checkpointing "
                          "(xt_checkpoint_block), bf16 (--precision bf16), a mesh that divides parameters or batch "
                          "(xt_mesh_new), xt_drop of tensors kept too long, or ");
        lazy_append_memory_limit(&text, status_text(s));
        str_append(&text, "; xtrain plan measures what each would save");
    }
    xt_status e = status_new(status_code(s), src_get(f->src), "%s", str_cstr(&text));
    str_free(&text);
    xt_status_free(s);
    return e;
}

static void flight_free(flight *f) {
    if (!f) return;
    lazy_origins_release(f->origins);
    base_free(f->fns);
    base_free(f->users);
    base_free(f);
}

static void finished(void *user, xt_status error, int64_t finished_ns) {
    flight *f = user;
    bool failed = error != NULL;
    if (failed) error = enrich(f, error);
    for (size_t i = 0; i < f->n_fns; i++) f->fns[i](f->users[i], f->step, finished_ns);
    pthread_mutex_lock(&rt.lock);
    /* Device time: from when the device could begin (start, or the end of the program before) to the completion. */
    int64_t from = f->started_ns > rt.last_done_ns ? f->started_ns : rt.last_done_ns;
    if (finished_ns > from) counter_add(COUNTER_execute_ns, finished_ns - from);
    rt.last_done_ns = finished_ns;
    if (error && !rt.failed)
        rt.failed = error;
    else
        xt_status_free(error);
    if (f->flops > 0 && !failed) counter_add(COUNTER_flops, (int64_t)f->flops);
    rt.in_flight--;
    pthread_cond_broadcast(&rt.changed);
    pthread_mutex_unlock(&rt.lock);
    flight_free(f);
}

/* Takes a place among the XT_IN_FLIGHT (2) steps that may be in flight, as soon as there is one, for one more; true
 * when it had to wait. Who asks and takes in two steps may find that another thread has taken it in between. The
 * variable is looked up only when it matters. */
static bool take_place(void) {
    int64_t limit = 2;
    pthread_mutex_lock(&rt.lock);
    if (rt.in_flight > 0) env_int("XT_IN_FLIGHT", 1, &limit);
    bool full = rt.in_flight >= limit;
    if (full) {
        int64_t began = clock_ns();
        while (rt.in_flight >= limit) pthread_cond_wait(&rt.changed, &rt.lock);
        counter_add(COUNTER_queue_wait_ns, clock_ns() - began);
    }
    rt.in_flight++;
    counter_max(COUNTER_in_flight_peak, rt.in_flight);
    pthread_mutex_unlock(&rt.lock);
    return full;
}

/* For a program that was not started after all: `finished` will not be called. */
static void give_place_back(void) {
    pthread_mutex_lock(&rt.lock);
    rt.in_flight--;
    pthread_cond_broadcast(&rt.changed);
    pthread_mutex_unlock(&rt.lock);
}

bool lazy_drain(void) {
    lazy_wait_idle();
    lazy_reader_drain();
    xt_status s = lazy_take_async_error();
    if (s) lazy_fail(s);
    return !lazy_pending();
}

void lazy_roots_free(lazy_roots *r) {
    base_free(r->values);
    base_free(r->alias_leaf);
    base_free(r->requesters);
    base_free(r->layouts);
    memset(r, 0, sizeof *r);
}

static flight *flight_new(lazy_ctx *c, const lazy_program *p, src_id src, bool forced) {
    flight *f = base_calloc(1, sizeof *f);
    if (!f) return NULL;
    f->step = c->step;
    f->shown_step = lazy_shown_step(c->step);
    f->src = src;
    f->flops = p->stats.flops;
    f->origins = lazy_origins_retain(p->origins);
    if (!forced && c->n_done) {
        f->fns = c->done_fns;
        f->users = c->done_users;
        f->n_fns = c->n_done;
        c->done_fns = NULL;
        c->done_users = NULL;
        c->n_done = c->n_done_users = c->cap_done = c->cap_done_users = 0;
    }
    return f;
}

/* The slot (if it lives) and the list of leaves hold one reference each; a reader or another tensor that holds more
 * keeps the buffer from being taken over in this execution. */
static bool held_elsewhere(const lazy_ctx *c, const lazy_leaf *leaf) {
    if (!leaf->buf) return true;
    const lazy_slot *s = &c->slots[leaf->slot];
    bool lives = s->live && s->generation == leaf->generation && s->buf == leaf->buf;
    return atomic_load(&leaf->buf->refs) != (lives ? 2 + atomic_load(&leaf->buf->detached) : 1);
}

/* --- memory: a program that cannot fit is found before it takes anything over --- */
/* Parameters are updated in place, so a program that fails for memory after it was started would leave none behind. One
 * that is near the limit waits until nothing else is in flight; if there is still not room for it, it runs with all
 * inputs kept, and its failure (with the device's own report) is this step's: the states are as they were, and the
 * process can go on with a smaller batch. */
void lazy_wait_idle(void) {
    if (lazy_is_forked()) return;
    pthread_mutex_lock(&rt.lock);
    while (rt.in_flight > 0) pthread_cond_wait(&rt.changed, &rt.lock);
    pthread_mutex_unlock(&rt.lock);
}

static bool has_room(const lazy_program *p) {
    device_client *client;
    device_memory m = {0};
    int64_t limit = lazy_memory_limit();
    if (limit < 0) return true;
    const device_exec_stats *t = &p->stats;
    int64_t needs = (t->temp_bytes > 0 ? t->temp_bytes : 0) + (t->output_bytes > 0 ? t->output_bytes : 0) -
                    (t->alias_bytes > 0 ? t->alias_bytes : 0);
    if (counter_get(COUNTER_device_bytes) + needs + counter_get(COUNTER_program_temp_bytes) <= limit) return true;
    lazy_wait_idle();
    xt_status s = lazy_device(&client);
    if (!s) s = device_memory_stats(client, &m);
    bool fits = s || m.in_use < 0 || m.in_use + needs <= limit;
    xt_status_free(s);
    return fits;
}

static void note_peak(const lazy_ctx *c, const lazy_program *p) {
    int64_t peak = counter_get(COUNTER_device_bytes) + (p->stats.temp_bytes > 0 ? p->stats.temp_bytes : 0);
    if (peak > counter_get(COUNTER_device_peak_bytes)) atomic_store_explicit(&peak_step, c->step, memory_order_relaxed);
    counter_max(COUNTER_device_peak_bytes, peak);
}

/* Runs p on in[]; keep[i]: this input's buffer is not to be taken over. */
xt_status lazy_execute(lazy_ctx *c, lazy_program *p, lazy_cause cause, bool forced, const xt_src *src,
                       device_buffer **in, bool *keep, device_buffer **out) {
    bool doubtful = c->nan || c->bounds || !has_room(p);
    for (size_t i = 0; doubtful && i < p->n_inputs; i++) keep[i] = true;
    flight *f = flight_new(c, p, src_intern(src), forced);
    if (!f) return status_oom(sizeof *f, "a step in flight");
    if (doubtful) c->now_ns = 0; /* it may have waited */
    if (take_place()) {
        c->now_ns = 0;
        /* what it waited for has failed: nothing more is started, and nobody goes on to wait elsewhere */
        xt_status late = lazy_take_async_error();
        if (late) {
            give_place_back();
            lazy_quiesce();
            flight_free(f);
            return late;
        }
    }
    f->started_ns = lazy_take_now(c);
    xt_status s = device_execute(p->exec, p->n_inputs, in, keep, out, finished, f);
    if (s) {
        give_place_back();
        s = enrich(f, s);
        flight_free(f);
    } else {
        counter_add(COUNTER_executions, 1);
        if (!doubtful) note_peak(c, p);
        if (forced) counter_add(COUNTER_forced_executions, 1);
    }
    (void)cause;
    if (s || !doubtful) return s;
    lazy_wait_idle();
    s = lazy_take_async_error();
    if (!s) note_peak(c, p); /* one that failed for memory never had it */
    for (size_t i = 0; s && i < p->n_outputs; i++) {
        device_buffer_release(out[i]);
        out[i] = NULL;
    }
    return s;
}

static xt_status start(lazy_ctx *c, lazy_program *p, lazy_cause cause, bool forced, const xt_src *src,
                       device_buffer **out) {
    device_buffer **in = base_malloc((p->n_inputs + 1) * sizeof *in);
    bool *keep = base_malloc((p->n_inputs + 1) * sizeof *keep);
    xt_status s = in && keep ? NULL : status_oom(p->n_inputs * sizeof *in, "the arguments of a step");
    for (size_t k = 0; !s && k < p->n_inputs; k++) {
        const lazy_leaf *leaf = &c->leaves[lazy_place(c, p, k)];
        in[k] = (leaf->pack >= 0 ? c->packs[leaf->pack].buf : leaf->buf)->dev;
        keep[k] = !p->donates[k] || held_elsewhere(c, leaf);
    }
    lazy_rehearse_run(c, p);
    if (!s) s = lazy_execute(c, p, cause, forced, src, in, keep, out);
    base_free(in);
    base_free(keep);
    return s;
}

static _Thread_local bool ran_together;
bool lazy_ran_together(void) {
    return ran_together;
}

xt_status lazy_run_sought(lazy_ctx *c, const lazy_roots *r, lazy_sought *w, lazy_cause cause, bool forced,
                          const xt_src *src, device_buffer **out) {
    XT_TRY(lazy_forked("a step", src));
    lazy_event ev = {.cause = cause,
                     .forced = forced,
                     .debugs = c->in_debug_run,
                     .src = src_intern(src),
                     .path = c->path,
                     .step = c->step,
                     .reason = "",
                     .advice = ""};
    lazy_program *p = NULL;
    int64_t began = w->began_ns, now = w->program && !c->n_packs ? began + w->hash_ns : 0;
    xt_status s = lazy_upload_packs(c);
    if (!s) s = status_at(lazy_program_get(c, r, w, &ev, &p), src);
    lazy_sought_free(w);
    c->now_ns = now;
    if (!s) s = status_at(lazy_rank_check(c, p, forced, src), src);
    if (!s) s = start(c, p, cause, forced, src, out);
    if (!s) ran_together = p->uses_collectives || p->partitioned;
    ev.at_ns = clock_ns();
    c->now_ns = 0;
    c->step_began_ns += ev.at_ns - began; /* compiling and starting is not recording time */
    if (!s && c->replay_log && !forced) /* the step's, none that looks for NaN or reads within it */
        c->replay_log->program = p;
    else
        lazy_program_release(p);
    if (s) return s;
    ev.number = counter_get(COUNTER_executions);
    lazy_emit_event(&ev);
    return NULL;
}

xt_status lazy_run(lazy_ctx *c, const lazy_roots *r, lazy_cause cause, bool forced, const xt_src *src,
                   device_buffer **out) {
    lazy_sought w;
    XT_TRY(status_at(lazy_program_seek(c, r, &w), src));
    return lazy_run_sought(c, r, &w, cause, forced, src, out);
}
