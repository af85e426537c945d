/* A function of the user's that is recorded (of xt_scan, of xt_call) and does not return: it was left by longjmp, and
 * the calls of the library around it are gone with their part of the stack. What the context knows of them is found by
 * the addresses: whoever asks is called, however deep, by the function that runs, and the stack grows downwards. */
#ifndef XT_SRC_LAZY_LEFT_H
#define XT_SRC_LAZY_LEFT_H

#include "lazy/core/ctx.h"

void lazy_forget_left_now(lazy_ctx *c);
/* Before the loop or the recording that is under way is looked at: if it was left, it is under way no more, and that is
 * the pending error. */
static inline void lazy_forget_left(lazy_ctx *c) {
    if (__builtin_expect(c->loop != NULL || c->replay_log != NULL, false)) lazy_forget_left_now(c);
}
/* A call that holds the errors of this thread (lazy_hold_errors: a pass of the Trainer) is under way, and has not been
 * left. */
bool lazy_errors_held(void);
void lazy_pass_ends_with_thread(void); /* this thread ends: it is in no such call any more */
bool lazy_in_handler(void); /* this thread is in the program's function of xt_on_error */

#endif
