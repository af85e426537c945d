/* The calls of user functions that are under way. Such a function may be left by longjmp. Its call is on a part of the
 * stack then that is not in use any more, which the next look finds by the addresses: the stack grows downwards. */
#include "base/handle.h"
#include "lazy/lazy.h"

enum { DEEPEST = 64 }; /* deeper ones are not noted: whoever asks is told of the 64th */

typedef struct running_fn {
    const char *what;
    const void *held;
    const char *frame;
    bool whole;
} running_fn;
static _Thread_local running_fn running[DEEPEST];
static _Thread_local int depth;

static void drop_to(int to) {
    while (depth > to) {
        depth--;
        if (depth < DEEPEST) handle_unpin(running[depth].held);
    }
}

static void enter(lazy_inside_fn *call, const running_fn *fn) {
    lazy_inside(); /* forgets what was left by longjmp */
    call->depth = depth;
    if (depth < DEEPEST) {
        running[depth] = *fn;
        handle_pin(fn->held);
    }
    depth++;
}

__attribute__((noinline)) void lazy_enter(lazy_inside_fn *call, const char *what, const void *held) {
    enter(call, &(running_fn){.what = what, .held = held, .frame = __builtin_frame_address(0)});
}

__attribute__((noinline)) void lazy_enter_whole(lazy_inside_fn *call, const char *what) {
    enter(call, &(running_fn){.what = what, .frame = __builtin_frame_address(0), .whole = true});
}

void lazy_leave(const lazy_inside_fn *call) {
    drop_to(call->depth);
}

/* Whoever asks is called, however deep, by the function that runs: its frame lies below that of lazy_enter's caller. */
__attribute__((noinline)) const char *lazy_inside(void) {
    const char *here = __builtin_frame_address(0);
    while (depth > 0 && depth <= DEEPEST && here > running[depth - 1].frame) drop_to(depth - 1);
    return depth ? running[(depth < DEEPEST ? depth : DEEPEST) - 1].what : NULL;
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
