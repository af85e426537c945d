/* The pending error of a thread: the first one stays until it is cleared, and says the line, and for memory who holds
 * it. Tensors of a failed op carry it along.
 *
 * The life of an error
 *  1. It arises (lazy_fail): it is printed, with its line, or given to the program's handler. Once: what follows from
 *     it says nothing.
 *  2. The program looks at it (xt_error, or the public readers of a status that is a copy of it): from then on it is
 *     the program's own business.
 *  3. A step ends and nobody has looked: the process ends with exit code 1. A rank that was lost is told at once by all
 *     who meet it, so there it ends at once.
 * A pass of the Trainer has told its error and cleared it, and its result says that it has failed. Whether the program
 * looks at that is not to be seen, but its exit code is: unless it looks at errors (xt_error, xt_clear_error) or the
 * same call succeeds later, xt_finish gives 1 and an exit code of 0 becomes 1 (lazy_call_ended).
 * A status that a public function returns is the program's, which has looked at it when it has read or freed it. One
 * that it has not is the pending error when the step ends (lazy_fail_by_unseen): that a pointer was compared with NULL
 * is not to be seen, but whoever goes on behind that has something to free.
 * With a handler nothing is printed and the process goes on. The library's own callers who look at errors themselves
 * (the Trainer) hold them. */
#include "base/handle.h"
#include "crash/crash.h"
#include "coll/coll.h"
#include "lazy/core/ctx.h"
#include "lazy/core/left.h"
#include "lazy/core/memory_limit.h"

#include <stdlib.h>

/* Memory that runs out outside of a program (an upload, a read) gets the same explanation as a failed step: who holds
 * it, and what helps. */
static const char ADVICE[] = "what helps: ";
static void explain_memory(lazy_ctx *c) {
    str text = STR_INIT;
    str_append(&text, status_text(c->error));
    lazy_append_ledger(&text, 8);
    str_printf(&text, "\n%sa smaller batch, gradient accumulation, bf16, xt_drop of tensors kept too long, or ",
               ADVICE);
    lazy_append_memory_limit(&text, status_text(c->error));
    xt_status more =
        text.failed ? NULL : status_new(XT_RESOURCE_EXHAUSTED, status_where(c->error), "%s", str_cstr(&text));
    str_free(&text);
    if (!more) return;
    xt_status_free(c->error);
    c->error = more;
}

/* Constructors say who called them; calls that take no line (switches, settings of an optimizer) get the one that made
 * them, from debug information. */
static xt_status with_line(xt_status s) {
    const xt_src *caller = status_where(s) ? NULL : src_called_from ? src_called_from : src_get(src_from_caller());
    return caller && caller->line > 0 ? status_at(s, caller) : s;
}

static _Thread_local lazy_hold *hold;
static _Thread_local const char *below; /* what the innermost holder calls has its frames from here on down */
static _Thread_local bool in_pass; /* counted in */
static atomic_int passes; /* threads that are in a pass */

static void note_pass(bool on) {
    if (in_pass == on) return;
    in_pass = on;
    atomic_fetch_add(&passes, on ? 1 : -1);
}

bool lazy_passes_elsewhere(void) {
    return atomic_load(&passes) > in_pass;
}

void lazy_pass_ends_with_thread(void) {
    note_pass(false);
}

/* The innermost hold of a call that is under way. One that was left by longjmp is none, and its memory is gone. */
__attribute__((noinline)) static lazy_hold *held(void) {
    if (hold && (const char *)__builtin_frame_address(0) > below) {
        hold = NULL;
        note_pass(false);
    }
    return hold;
}

bool lazy_errors_held(void) {
    return held() != NULL;
}

static bool in_trial(void) {
    for (const lazy_hold *h = held(); h; h = h->outer)
        if (h->trial) return true;
    return false;
}

/* The report is on disk whatever the program does with the error: once, and not for failures before anything ran. */
static void keep_memory_report(const lazy_ctx *c) {
    static atomic_bool kept;
    if (in_trial()) return;
    blackbox_report(status_text(c->error));
    if (counter_get(COUNTER_executions) == 0 || atomic_exchange(&kept, true)) return;
    const char *folder = blackbox_dump("out of memory");
    if (folder)
        log_msg(XT_SEV_WARNING,
                "out of memory: the report is in %s; `xtrain postmortem %s` shows it with the last events", folder,
                folder);
}

/* --- who is told --- */
static struct {
    pthread_mutex_t lock;
    xt_error_fn fn;
    void *user;
} handler = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local const char *handler_below; /* the handler that runs has its frames from here on down */

void xt_on_error(xt_error_fn fn, void *user) {
    pthread_mutex_lock(&handler.lock);
    handler.fn = fn;
    handler.user = user;
    pthread_mutex_unlock(&handler.lock);
}

bool lazy_error_handled(void) {
    pthread_mutex_lock(&handler.lock);
    bool set = handler.fn != NULL;
    pthread_mutex_unlock(&handler.lock);
    return set;
}

__attribute__((noinline)) void lazy_tell(xt_status s) {
    pthread_mutex_lock(&handler.lock);
    xt_error_fn fn = handler.fn;
    void *user = handler.user;
    pthread_mutex_unlock(&handler.lock);
    if (!fn) {
        log_msg(XT_SEV_ERROR, "%s", status_message(s));
        return;
    }
    const char *outer = lazy_in_handler() ? handler_below : NULL;
    handler_below = __builtin_frame_address(0);
    handle_pin(s);
    fn(s, user);
    handle_unpin(s);
    handler_below = outer;
}

/* One that was left by longjmp runs no more. */
__attribute__((noinline)) bool lazy_in_handler(void) {
    if ((const char *)__builtin_frame_address(0) > handler_below) handler_below = NULL;
    return handler_below != NULL;
}

void lazy_tell_pending(void) {
    lazy_ctx *c = lazy_ctx_there();
    if (!c || !c->error || c->error_told) return;
    c->error_told = true;
    lazy_tell(c->error);
}

bool lazy_error_told(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return c && c->error && c->error_told;
}

__attribute__((noinline)) void lazy_hold_errors(lazy_hold *h) {
    if (hold && hold <= h) hold = NULL; /* an outer one that lives lies above; this one was left by longjmp */
    h->outer = hold;
    hold = h;
    below = __builtin_frame_address(0);
    note_pass(in_pass || !h->of_function);
}

void lazy_release_errors(lazy_hold *h) {
    hold = h->outer;
    below = (const char *)hold;
    note_pass(in_pass && hold);
    lazy_ctx *c = lazy_ctx_there();
    if (!hold && c && !c->error_seen && !status_was_looked_at()) lazy_tell_pending();
}

bool lazy_tell_at_once(bool on) {
    bool was = held() && hold->tells;
    if (hold) hold->tells = on;
    return was;
}

/* --- an error arises --- */
/* A rank that died or left says, or its launcher does, how it ended and where it was: that is the cause, before what
 * this rank was waiting in. */
static xt_status name_lost(xt_status s) {
    str exits = STR_INIT;
    coll_run_exits(&exits);
    if (exits.len && !exits.failed)
        s = status_context(s, "%s; rank %d is at step %lld", str_cstr(&exits), world_get()->rank,
                           (long long)lazy_shown_step(counter_get(COUNTER_steps)));
    str_free(&exits);
    return s;
}

_Thread_local lazy_calling lazy_called_now;

/* The name that a text begins with is the called one, or that with its number of dims: xt_conv2d for xt_conv. */
static bool names_it(const char *text, const char *name) {
    size_t n = strlen(name);
    if (strncmp(text, name, n) != 0) return false;
    text += n;
    if (*text >= '1' && *text <= '9' && text[1] == 'd') text += 2;
    return *text != '_' && !(*text >= 'a' && *text <= 'z') && !(*text >= '0' && *text <= '9');
}

const char *lazy_made_for(const xt_src *at, const char *text) {
    const lazy_calling *call = &lazy_called_now;
    bool here = at && call->name && at->line == call->line && strcmp(at->file, call->file) == 0;
    return here && strncmp(text, "xt_", 3) == 0 && !names_it(text, call->name) ? call->name : NULL;
}

static xt_status in_the_name_called(xt_status s) {
    const char *called = lazy_made_for(status_where(s), status_text(s));
    return called ? status_context(s, "%s", called) : s;
}

void lazy_fail(xt_status s) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || c->error) {
        /* the handler is told of nothing within itself, and what it has done is no consequence of what it was told */
        if (lazy_in_handler()) log_msg(XT_SEV_ERROR, "%s", status_message(s));
        xt_status_free(s);
        return;
    }
    c->error = s = in_the_name_called(with_line(s));
    if (status_code(s) == XT_RESOURCE_EXHAUSTED && lazy_device_is_open(NULL) && !strstr(status_text(s), ADVICE))
        explain_memory(c);
    if (status_code(c->error) == XT_RESOURCE_EXHAUSTED && lazy_device_is_open(NULL)) keep_memory_report(c);
    c->error_step = counter_get(COUNTER_steps);
    c->error_lost = status_code(c->error) == XT_ABORTED && world_get()->size > 1;
    if (c->error_lost) c->error = name_lost(c->error);
    c->error_seen = c->error_told = false;
    status_watch(c->error);
    if (!held() || hold->tells) lazy_tell_pending();
    lazy_watch_late_error();
}

void lazy_set_aside(lazy_aside *a) {
    lazy_ctx *c = lazy_ctx_there();
    *a = (lazy_aside){0};
    if (!c || !c->error) return;
    *a = (lazy_aside){c->error, c->error_step, c->error_seen || status_was_looked_at(), c->error_told, c->error_lost};
    c->error = NULL;
    c->error_told = c->error_seen = c->error_lost = false;
    status_watch(NULL);
}

void lazy_put_back(lazy_aside *a) {
    lazy_ctx *c = lazy_ctx_there();
    if (!c || !a->error) return;
    xt_status_free(c->error);
    c->error = a->error;
    c->error_step = a->step;
    c->error_seen = a->seen;
    c->error_told = a->told;
    c->error_lost = a->lost;
    status_watch(c->error);
}

/* --- the program looks --- */
/* Of the last call of each kind: its line, where it has failed. A process's, as its exit code is. */
static _Atomic int64_t failed_calls[LAZY_CALLS]; /* src_id + 1; 0: it has not failed */

void lazy_call_ended(lazy_call call, const xt_src *src, bool failed) {
    atomic_store(&failed_calls[call], failed && !lazy_error_handled() ? (int64_t)src_intern(src) + 1 : 0);
}

bool lazy_failed_call(src_id *out_src) {
    int64_t failed = 0;
    for (int i = 0; i < LAZY_CALLS && !failed; i++) failed = atomic_load(&failed_calls[i]);
    *out_src = failed ? (src_id)(failed - 1) : 0;
    return failed != 0;
}

static void look_at_calls(void) {
    for (int i = 0; i < LAZY_CALLS; i++) atomic_store(&failed_calls[i], 0);
}

xt_status lazy_pending(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return c ? c->error : NULL;
}

xt_status xt_error(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (c && c->error) c->error_seen = true;
    look_at_calls();
    return c ? c->error : NULL;
}

void xt_clear_error(void) {
    if (lazy_in_handler()) return; /* the call that failed is still under way, and must find that it did */
    look_at_calls();
    status_all_seen();
    lazy_forget_error();
}

void lazy_forget_error(void) {
    lazy_ctx *c = lazy_ctx_there();
    if (!c) return;
    xt_status_free(c->error);
    c->error = NULL;
    c->error_told = c->error_seen = c->error_lost = false;
    status_watch(NULL);
}

/* --- a step ends and nobody has looked --- */
int64_t lazy_error_step(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return c && c->error ? c->error_step : counter_get(COUNTER_steps);
}

static void (*ender)(const char *what, const xt_src *src);
void lazy_end_by(void (*fn)(const char *what, const xt_src *src)) {
    ender = fn;
}

static void (*leave)(int code) = exit;
void lazy_exit_by(void (*fn)(int code)) {
    leave = fn;
}
void lazy_exit(int code) {
    leave(code);
}

bool lazy_error_ends(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return c && c->error && !c->error_seen && !status_was_looked_at() && !held() && !lazy_error_handled();
}

void lazy_give_status(xt_status s, const char *name, const xt_src *src, const void *returns_to) {
    lazy_watch_exit(); /* nothing else may have been called that would */
    status_give(s, name, src, returns_to);
}

void lazy_fail_by_unseen(bool any_thread) {
    for (xt_status s; (s = status_take_unseen(any_thread));) {
        xt_status pending = lazy_pending();
        if (!pending) {
            lazy_fail(s);
            continue;
        }
        if (status_number(s) != status_number(pending)) lazy_tell(s); /* another error is pending: this one is told */
        xt_status_free(s);
    }
}

void lazy_end_if_unseen(const char *what, const xt_src *src) {
    const lazy_ctx *c = lazy_ctx_there();
    if (c && (c->in_boundary || c->replay_log || c->loop)) return;
    lazy_fail_by_unseen(false);
    c = lazy_ctx_there();
    if (!c || !c->error) return;
    if (held() && hold->end && !c->error_seen && !status_was_looked_at()) hold->end(hold->user);
    if (!lazy_error_ends()) return;
    if (ender) ender(what, src);
    leave(1);
}

void lazy_end_if_lost(const char *what, const xt_src *src) {
    const lazy_ctx *c = lazy_ctx_there();
    if (c && c->error && c->error_lost) lazy_end_if_unseen(what, src);
}

xt_tensor lazy_error_slot(lazy_ctx *c, src_id src) {
    lazy_slot *s;
    xt_tensor t = lazy_slot_new(c, NULL, src, &s);
    if (s) s->failed = true;
    return t;
}

xt_tensor lazy_error(const xt_src *src, xt_code code, const char *fmt, ...) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return (xt_tensor){0};
    va_list ap;
    va_start(ap, fmt);
    lazy_fail(status_newv(code, src, fmt, ap));
    va_end(ap);
    return lazy_error_slot(c, src_intern(src));
}

xt_tensor lazy_failed_tensor(const xt_src *src) {
    lazy_ctx *c = lazy_ctx_get();
    return c ? lazy_error_slot(c, src_intern(src)) : (xt_tensor){0};
}
