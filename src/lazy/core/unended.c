/* See unended.h. */
#include "lazy/core/unended.h"

#include <stdatomic.h>

#include "lazy/core/ctx.h"

/* How often in one step makes a loop of it, and what is said then. */
static const struct {
    int a_loop;
    const char *found, *cure;
} kinds[] = {
    [LAZY_REPEATED_BACKWARD] = {100,
                                "xt_backward was called %d times and nothing has ended the step: all of it becomes "
                                "one program, and each call takes longer than the one before",
                                "; gradients add up over it until xt_optimizer_step takes them"},
    [LAZY_REPEATED_READ] = {500,
                            "values were read %d times and nothing has ended the step: all that was recorded stays in "
                            "it, and each read takes longer than the one before",
                            ""},
    [LAZY_REPEATED_ASSIGN] = {200,
                              "xt_assign has set the same state %d times and nothing has ended the step: all of it "
                              "becomes one program",
                              "; states keep their values"},
    [LAZY_REPEATED_LOG] = {200,
                           "a name was logged again %d times and nothing has ended the step: all of it becomes one "
                           "program, which takes far longer than the steps of its iterations would",
                           "; means and sums go on over them"},
};

void lazy_repeats(lazy_repeated what, int64_t step, xt_tensor of, const xt_src *src) {
    typedef struct counted {
        int64_t step;
        int times;
        xt_tensor of;
    } counted;
    static _Thread_local counted here[BASE_COUNT(kinds)];
    static atomic_bool told[BASE_COUNT(kinds)];
    if (lazy_pending()) return; /* nothing is recorded then */
    counted *c = &here[what];
    if (c->step != step || c->times == 0) *c = (counted){step, 0, of};
    if (c->of.slot != of.slot || c->of.generation != of.generation) return;
    if (++c->times != kinds[what].a_loop || world_get()->rank != 0 || lazy_rehearsing()) return;
    if (atomic_exchange(&told[what], true)) return;
    str text = STR_INIT;
    str_printf(&text, "%s:%d: ", src ? src->file : "?", src ? src->line : 0);
    str_printf(&text, kinds[what].found, kinds[what].a_loop);
    log_msg(XT_SEV_WARNING, "%s. xt_mark_step() at the end of the loop's body ends a step%s", str_cstr(&text),
            kinds[what].cure);
    str_free(&text);
}
