/* In a build for coverage, linked into each program and library: offers its counters to tools/coverage/preload.c. Each
 * of them has a __gcov_dump of its own, which writes what was counted there alone. */
#include <dlfcn.h>

extern void __gcov_dump(void);
typedef void (*offer_fn)(void (*dump)(void));

static void tell(const char *name) {
    offer_fn fn = (offer_fn)dlsym(RTLD_DEFAULT, name);
    if (fn) fn(__gcov_dump);
}

__attribute__((constructor)) static void offer(void) {
    tell("coverage_offer");
}

__attribute__((destructor)) static void withdraw(void) {
    tell("coverage_withdraw");
}
