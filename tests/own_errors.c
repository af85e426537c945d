/* Unit tests make mistakes on purpose and look at them themselves: errors are printed as ever, but no test ends its
 * process by one. A test of what happens without a handler takes it away: xt_on_error(NULL, NULL). */
#include <xtrain/tensor.h>

#include "base/base.h"

static void print(xt_status error, void *user) {
    (void)user;
    log_msg(XT_SEV_ERROR, "%s", status_message(error));
}

__attribute__((constructor)) static void errors_are_the_tests_own(void) {
    xt_on_error(print, NULL);
}
