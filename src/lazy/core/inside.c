/* The calls of user functions that are under way. Such a function may be left by longjmp. Its call is on a part of the
 * stack then that is not in use any more, which the next look finds by the addresses: the stack grows downwards. */
#include "base/ending.h"
#include "base/handle.h"
#include "lazy/core/ctx.h"
#include "lazy/core/left.h"

#include <unistd.h>

enum { DEEPEST = 64 }; /* deeper ones are not noted: whoever asks is told of the 64th */

typedef struct running_fn {
    const char *what;
    const void *held;
    const char *frame;
    bool whole, pinned;
    int no_grad; /* how often gradients were off when it was called */
    size_t autocasts; /* and how many xt_autocast_begin were open */
} running_fn;
static _Thread_local running_fn running[DEEPEST];
static _Thread_local int depth;

static void drop_to(int to) {
    while (depth > to) {
        depth--;
        frames_noted--;
        if (depth < DEEPEST && running[depth].pinned) handle_unpin(running[depth].held);
    }
}

static const char *thread_calls(const char *what);

static void enter(lazy_inside_fn *call, const running_fn *fn) {
    lazy_inside(); /* forgets what was left by longjmp */
    *call = (lazy_inside_fn){depth, thread_calls(fn->what)};
    if (depth < DEEPEST) {
        const lazy_ctx *c = lazy_ctx_there();
        running[depth] = *fn;
        running[depth].no_grad = c ? c->no_grad : 0;
        running[depth].autocasts = c ? c->n_autocasts : 0;
        /* who frees what a thread of the library's is at waits for it: only the function itself must not */
        if ((running[depth].pinned = !call->before)) handle_pin(fn->held);
    }
    depth++;
    frames_noted++;
}

bool lazy_holds(const void *p) {
    for (int i = 0; i < depth && i < DEEPEST; i++)
        if (running[i].held == p) return true;
    return false;
}

__attribute__((noinline)) void lazy_enter(lazy_inside_fn *call, const char *what, const void *held) {
    enter(call, &(running_fn){.what = what, .held = held, .frame = __builtin_frame_address(0)});
}

__attribute__((noinline)) void lazy_enter_whole(lazy_inside_fn *call, const char *what) {
    enter(call, &(running_fn){.what = what, .frame = __builtin_frame_address(0), .whole = true});
}

/* Gradients that such a function leaves off would be off for all that follows, and nothing would say so. */
static void check_gradients(const running_fn *fn) {
    lazy_ctx *c = lazy_ctx_there();
    if (!c || c->no_grad == fn->no_grad) return;
    bool off = c->no_grad > fn->no_grad;
    c->no_grad = fn->no_grad;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL,
                         "%s has called %s without the %s that belongs to it; both stand in the same function",
                         fn->what, off ? "xt_no_grad_begin" : "xt_no_grad_end",
                         off ? "xt_no_grad_end" : "xt_no_grad_begin"));
}

/* So would a narrower type be. Fewer than before: it has ended its caller's, which the caller's own end tells. */
static void check_autocast(const running_fn *fn) {
    lazy_ctx *c = lazy_ctx_there();
    char at[256];
    src_id left = 0;
    if (c) lazy_autocasts_end(c, fn->autocasts, &left);
    if (left)
        lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL,
                             "%s has called xt_autocast_begin at %s without the xt_autocast_end that belongs to it; "
                             "both stand in the same function",
                             fn->what, src_text(left, at, sizeof at)));
}

void lazy_leave(const lazy_inside_fn *call) {
    drop_to(call->depth + 1); /* deeper ones have been left */
    if (depth > call->depth && call->depth < DEEPEST) {
        check_gradients(&running[call->depth]);
        check_autocast(&running[call->depth]);
    }
    drop_to(call->depth);
    thread_calls(call->before);
}

/* Whoever asks is called, however deep, by the function that runs: its frame lies below that of lazy_enter's caller. */
__attribute__((noinline)) const char *lazy_inside(void) {
    const char *here = __builtin_frame_address(0);
    while (depth > 0 && depth <= DEEPEST && here > running[depth - 1].frame) drop_to(depth - 1);
    if (depth) return running[(depth < DEEPEST ? depth : DEEPEST) - 1].what;
    return lazy_in_handler() ? "the handler of xt_on_error" : NULL;
}

/* --- what calls use --- */
enum { MOST_USED = 128 /* more are not pinned */, MOST_CALLS = 24 /* of more it is not known how things were */ };
/* What a call may have switched for the functions that it calls, as it was before. */
typedef struct around {
    int no_grad;
    size_t autocasts;
    const xt_src *called_from;
    lazy_calling calling;
    lazy_draw_mark draws;
} around;
static _Thread_local struct used {
    const char *call, *frame;
    const void *held; /* NULL: the call itself */
} used[MOST_USED];
static _Thread_local around before_calls[MOST_CALLS]; /* a thread's stack may be small, and its variables lie in it */
static _Thread_local int n_used, n_calls;

static around as_it_is(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return (around){.no_grad = c ? c->no_grad : 0,
                    .autocasts = c ? c->n_autocasts : 0,
                    .called_from = src_called_from,
                    .calling = lazy_called_now,
                    .draws = lazy_draws_mark()};
}

static void put_back(const around *a) {
    lazy_ctx *c = lazy_ctx_there();
    src_id began;
    if (c) c->no_grad = a->no_grad;
    if (c && c->n_autocasts > a->autocasts) lazy_autocasts_end(c, a->autocasts, &began);
    src_called_from = a->called_from;
    lazy_called_now = a->calling;
    if (lazy_draws_mark().step != a->draws.step) lazy_draws_return(a->draws);
}

void lazy_used(int mark) {
    while (n_used > mark) {
        const void *held = used[--n_used].held;
        used[n_used].held = NULL;
        frames_noted--;
        if (held)
            handle_unpin(held);
        else
            n_calls--;
    }
}

/* Calls whose part of the stack is free again were left. */
static void forget_used(const char *here) {
    while (n_used > 0 && here >= used[n_used - 1].frame) {
        bool call = !used[n_used - 1].held;
        lazy_used(n_used - 1);
        if (call && n_calls < MOST_CALLS) put_back(&before_calls[n_calls]);
    }
}

void lazy_forget_left_calls(const char *frame) {
    while (depth > 0 && depth <= DEEPEST && frame > running[depth - 1].frame) drop_to(depth - 1);
    forget_used(frame);
    log_forget_left(frame);
}

int lazy_uses(const char *call, const char *frame) {
    forget_used(frame);
    int mark = n_used;
    if (n_used == MOST_USED) return mark;
    used[n_used++] = (struct used){call, frame, NULL};
    if (n_calls < MOST_CALLS) before_calls[n_calls] = as_it_is();
    n_calls++;
    frames_noted++;
    return mark;
}

/* What is left for the innermost function, and for the way back. A stack that the program has made by itself says
 * nothing of its end. */
enum { LEFT_OF_STACK = 256 << 10, FEW = MOST_USED / 4 };
static bool stack_is_short(const char *here) {
    static _Thread_local const char *lowest, *enough;
    pthread_attr_t attr;
    void *from = NULL;
    size_t size = 0;
    if (!lowest && pthread_getattr_np(pthread_self(), &attr) == 0) {
        if (pthread_attr_getstack(&attr, &from, &size) == 0 && from) {
            lowest = from;
            enough = lowest + (size / 4 < LEFT_OF_STACK ? size / 4 : LEFT_OF_STACK);
        }
        pthread_attr_destroy(&attr);
    }
    return here > lowest && here < enough;
}

bool lazy_too_deep(void) {
    return __builtin_expect(n_used >= FEW, false) && stack_is_short(__builtin_frame_address(0));
}

void lazy_use(const void *handle) {
    if (!handle || !n_used || n_used == MOST_USED) return;
    struct used one = {used[n_used - 1].call, used[n_used - 1].frame, handle};
    used[n_used++] = one;
    frames_noted++;
    handle_pin(handle);
}

__attribute__((noinline)) const char *lazy_in_use(void) {
    forget_used(__builtin_frame_address(0));
    return n_used ? used[n_used - 1].call : NULL;
}

/* The main thread ends in the middle of a call, which is lost: an error, and the end of a program that has nobody to go
 * on. The stack is empty by now, and says nothing of what was left before. */
static void end_left_call(void) {
    const char *what = n_used ? used[n_used - 1].call : NULL;
    if (depth) what = running[(depth < DEEPEST ? depth : DEEPEST) - 1].what;
    if (!what || gettid() != getpid()) return;
    xt_status s = status_new(XT_ABORTED, NULL,
                             "the main thread has left %s by pthread_exit: the functions that the library calls must "
                             "return (xt_trainer_stop ends a fit)",
                             what);
    lazy_tell(s);
    xt_status_free(s);
    if (lazy_error_handled() && lazy_ctx_count() > 1) return;
    log_msg(XT_SEV_ERROR, "this ends the program with exit code 1");
    lazy_exit(1);
}

/* --- what threads of the library call --- */
/* Not thread-local storage: where a library was opened at run time, a thread's first look at its own may allocate, and
 * a signal handler looks. NULL: a thread of the program's, which may leave a function by longjmp or an exception, so
 * that nobody would take the name back. */
static pthread_key_t thread_in;
static bool thread_in_made;
static const char nothing[] = "";

__attribute__((constructor)) static void begin(void) {
    thread_in_made = pthread_key_create(&thread_in, NULL) == 0;
    lazy_at_thread_end(end_left_call);
}

void lazy_thread_is_ours(void) {
    ending_exempts_thread();
    if (thread_in_made && !pthread_getspecific(thread_in)) pthread_setspecific(thread_in, nothing);
}

/* NULL: the call has returned. Gives what the thread was in before. */
static const char *thread_calls(const char *what) {
    const char *before = thread_in_made ? pthread_getspecific(thread_in) : NULL;
    if (before) pthread_setspecific(thread_in, what ? what : nothing);
    return before;
}

xt_status lazy_returned(xt_status s, const char *what) {
    if (s && s == lazy_pending()) return status_clone(s); /* xt_error's stays the library's */
    handle_state state = s ? handle_look(HANDLE_status, s) : HANDLE_LIVES;
    if (state == HANDLE_LIVES) return s;
    bool was_freed = state == HANDLE_FREED || state == HANDLE_FINISHED;
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "%s gave %s; it gives NULL, or a status that nobody else frees, as xt_status_new makes one", what,
                      was_freed ? "a status that was freed before" : "a pointer that is no status");
}

xt_status lazy_call_end(lazy_called *c, xt_status s) {
    lazy_aside left = {0};
    s = lazy_returned(s, c->what);
    lazy_leave(&c->inside);
    if (!c->inside.before) return s;
    lazy_set_aside(&left);
    lazy_release_errors(&c->hold);
    if (!s && !left.seen) return left.error;
    xt_status_free(left.error);
    return s;
}

const char *lazy_thread_in(void) {
    const char *what = thread_in_made ? pthread_getspecific(thread_in) : NULL;
    return what && *what ? what : NULL;
}

bool lazy_in_whole(const xt_src *src, const char *what) {
    if (!lazy_inside()) return false;
    for (int i = depth < DEEPEST ? depth : DEEPEST; i-- > 0;) {
        if (!running[i].whole) continue;
        lazy_fail(
            status_new(XT_FAILED_PRECONDITION, src,
                       "%s inside %s: it would end the step, and what that function has computed is needed in it; "
                       "give it out and do this after it",
                       what, running[i].what));
        return true;
    }
    return false;
}
