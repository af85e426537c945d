/* What an entry says of arguments that it does not let through: what was found, what was expected, and where. */
#include "api/entry.h"
#include "lazy/lazy.h"

static const char NEVER_MADE[] = "; making it failed, it was never made, or in C++ it was moved from";

static const xt_src *line_of(const api_call *call) {
    return call->src ? call->src : src_get(src_from_return_address(call->returns_to));
}

static const char *article(const char *word) {
    return strchr("aeiou", *word) ? "an" : "a";
}

/* " (at train.c:12)"; nothing where nobody noted it */
static const char *freed_at(const void *p, char *buf, size_t n) {
    char at[256];
    src_id id = src_from_return_address(handle_freed_from(p));
    *buf = '\0';
    if (id && src_get(id)->line > 0) snprintf(buf, n, " (at %s)", src_text(id, at, sizeof at));
    return buf;
}

xt_status api_bad_handle(const api_call *call, handle_kind kind, const void *p, const char *argument) {
    const char *word = handle_word(kind), *other = handle_word(handle_kind_of(p));
    const xt_src *src = line_of(call);
    char at[300];
    switch (handle_look(kind, p)) {
    case HANDLE_NULL: return status_new(XT_INVALID_ARGUMENT, src, "%s: the %s is NULL%s", call->name, word, NEVER_MADE);
    case HANDLE_FREED:
        return status_new(
            XT_FAILED_PRECONDITION, src,
            "%s: the %s (`%s`) was freed before%s%s; a handle is not to be used after that, nor freed again",
            call->name, word, argument, freed_at(p, at, sizeof at), handle_advice(kind));
    case HANDLE_FINISHED:
        return status_new(XT_FAILED_PRECONDITION, src,
                          "%s: the %s (`%s`) was freed by xt_finish; make another one for what comes after it",
                          call->name, word, argument);
    case HANDLE_ORPHAN:
        other = handle_word(handle_needed_kind(p));
        return status_new(XT_FAILED_PRECONDITION, src, "%s: the %s of this %s was freed (`%s`); free the %s first",
                          call->name, other, word, argument, word);
    case HANDLE_ELSEWHERE:
        return status_new(XT_FAILED_PRECONDITION, src,
                          "%s: the %s (`%s`) belongs to another thread, where its parameters were made; use it there, "
                          "or make one in this thread",
                          call->name, word, argument);
    case HANDLE_OTHER_KIND:
        return status_new(XT_INVALID_ARGUMENT, src, "%s: `%s` is %s %s; %s %s is expected", call->name, argument,
                          article(other), other, article(word), word);
    case HANDLE_LIVES:
    case HANDLE_FOREIGN: break;
    }
    return status_new(XT_INVALID_ARGUMENT, src,
                      "%s: `%s` is %p, which is no handle of this library (a variable without a value?); %s %s is "
                      "expected",
                      call->name, argument, p, article(word), word);
}

xt_status api_null(const api_call *call, const char *argument) {
    return status_new(XT_INVALID_ARGUMENT, line_of(call), "%s: `%s` is NULL, which is not possible here", call->name,
                      argument);
}

xt_status api_null_list(const api_call *call, const char *argument, int64_t n) {
    return status_new(XT_INVALID_ARGUMENT, line_of(call), "%s: `%s` is NULL; an array of %lld is expected", call->name,
                      argument, (long long)n);
}

xt_status api_bad_length(const api_call *call, const char *argument, int n) {
    return status_new(XT_INVALID_ARGUMENT, line_of(call), "%s: `%s` is a list of %d numbers; 0 to %d are possible",
                      call->name, argument, n, 2 * XT_MAX_RANK);
}

xt_status api_bad_struct(const api_call *call, const char *argument, size_t size, size_t known) {
    return status_new(XT_INVALID_ARGUMENT, line_of(call),
                      "%s: `%s` is %zu, which no version of that struct is: sizeof gives its size, %zu here",
                      call->name, argument, size, known);
}

bool api_silent_slowly(xt_tensor given) {
    (void)given;
    return !lazy_pending();
}

bool api_tell_tensors(const api_call *call, int64_t n, const xt_tensor *tensors, bool lenient) {
    const xt_tensor *dead = NULL, *none = NULL;
    int64_t nones = 0;
    for (int64_t i = 0; tensors && i < n; i++) {
        if (lazy_has_failed(tensors[i])) return true;
        if (xt_is_none(tensors[i]))
            none = &tensors[i], nones++;
        else if (!dead && !lazy_type(tensors[i]))
            dead = &tensors[i];
    }
    if (!dead && (!lenient || nones == n)) dead = none;
    if (dead) lazy_tell_dead(call->src, call->name, *dead);
    return dead != NULL;
}

xt_status api_too_many(const api_call *call, const char *argument, int64_t n) {
    return status_new(XT_INVALID_ARGUMENT, line_of(call), "%s: `%s` is %lld; at most %d are possible", call->name,
                      argument, (long long)n, API_MOST);
}

xt_status api_bad_word(const api_call *call, const char *option, int given, const char *known) {
    return status_new(XT_INVALID_ARGUMENT, line_of(call),
                      "%s: %s = %d is none of its words: %s; without the option it is the default", call->name, option,
                      given, known);
}

xt_status api_unread(const api_call *call, const char *option, const char *instead) {
    return status_new(XT_INVALID_ARGUMENT, line_of(call), "%s: .%s would change nothing here: %s", call->name, option,
                      instead);
}

bool api_bad_list(handle_kind kind, const void *const *list, int64_t n, const void **out_bad) {
    for (int64_t i = 0; list && i < n; i++)
        if (api_bad(kind, *out_bad = list[i])) return true;
    return false;
}

/* Hooks of the Trainer may end steps of their own, but not the run. */
xt_status api_inside(const api_call *call) {
    const char *what = lazy_inside();
    if (!what) what = lazy_thread_in(); /* a loader's thread would wait for itself */
    if (!what && log_in_sink()) what = "the sink of xt_set_sink";
    if (!what && strcmp(call->name, "xt_finish") == 0) what = lazy_in_use();
    XT_TRY(lazy_forked(call->name, line_of(call)));
    return what ? status_new(XT_FAILED_PRECONDITION, line_of(call),
                             "%s inside %s: it would end what is under way there; call it after that has returned",
                             call->name, what)
                : NULL;
}

xt_status api_too_deep(const api_call *call) {
    if (__builtin_expect(!lazy_too_deep(), true)) return NULL;
    return status_new(XT_FAILED_PRECONDITION, line_of(call),
                      "%s: functions that the library calls have called it again, one within the other, until the "
                      "stack is nearly full: does a function call itself without an end, as one that calls xt_forward "
                      "on its own module does? If it has an end, more stack is needed (ulimit -s)",
                      call->name);
}

xt_status api_refused(const api_call *call) {
    xt_status s = lazy_refusal();
    return s ? status_at(s, line_of(call)) : NULL;
}

bool api_may_free(const api_call *call, handle_kind kind, const void *p) {
    handle_state state = handle_look(kind, p);
    if (state == HANDLE_NULL || state == HANDLE_FINISHED) return false;
    if (p == lazy_pending()) return false; /* xt_clear_error ends it, and until then it is there for all who ask */
    if (state != HANDLE_LIVES && state != HANDLE_ORPHAN && state != HANDLE_ELSEWHERE) {
        lazy_fail(api_bad_handle(call, kind, p, handle_word(kind)));
        return false;
    }
    /* In a forked process nothing is taken apart: the threads that would be waited for did not come along, and locks
     * may be held by them for good. The memory goes with the process. Statuses have no part in any thread. */
    if (kind != HANDLE_status && lazy_is_forked()) return false;
    lazy_inside(), lazy_in_use(); /* forget what was left by longjmp */
    if (log_in_sink()) { /* whoever speaks is in the middle of something, with it perhaps */
        lazy_fail(status_new(XT_FAILED_PRECONDITION, line_of(call),
                             "%s inside the sink of xt_set_sink: what is under way may need the %s; free it after "
                             "that has returned",
                             call->name, handle_word(kind)));
        return false;
    }
    if (!handle_is_pinned(p) && !lazy_holds(p)) return true;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, line_of(call),
                         "%s: the %s is in use by a call that is still under way; free it after that has returned",
                         call->name, handle_word(kind)));
    return false;
}

/* The line of a call that nobody noted comes from debug information; without any, "binary+0x1234" would say nothing. */
xt_status api_given(const api_call *call, xt_status s) {
    const xt_src *at = s && !status_where(s) ? line_of(call) : NULL;
    if (at && at->line > 0) s = status_at(s, at);
    if (s) lazy_give_status(s, call->name, call->src, call->returns_to);
    return s;
}

xt_tensor api_failed_tensor(const api_call *call, xt_status s) {
    lazy_fail(s);
    return lazy_failed_tensor(call->src);
}

xt_tensor api_without_memory(const api_call *call, uint64_t before) {
    if (lazy_pending() || api_failed_allocations() == before) return (xt_tensor){0};
    return api_failed_tensor(call,
                             status_new(XT_RESOURCE_EXHAUSTED, line_of(call), "%s: out of host memory", call->name));
}
