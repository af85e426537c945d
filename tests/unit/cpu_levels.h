/* The tests of a program once more with the code that other processors get: a last test, `other_instruction_sets`,
 * whose program sets `self` to argv[0]. A set that this machine lacks is the best that it has. */
#ifndef XT_TESTS_CPU_LEVELS_H
#define XT_TESTS_CPU_LEVELS_H

#include <stdio.h>
#include <stdlib.h>

static const char *self;
static inline void other_instruction_sets(void **state) {
    (void)state;
    static const char *const sets[] = {"avx2", "base"};
#if !defined(__x86_64__)
    return; /* one set, which is what has run */
#endif
    if (getenv("XT_CPU_FEATURES")) return;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char command[4200];
        int n = snprintf(command, sizeof command, "XT_CPU_FEATURES=%s '%s' 2>&1", sets[i], self);
        assert_true(n > 0 && (size_t)n < sizeof command);
        if (system(command)) fail_msg("%s fails", command);
    }
}

#endif
