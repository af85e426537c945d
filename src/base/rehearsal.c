/* Rehearsals: a program that runs on the dry device computes zeros, so nothing that it saves may reach the disk: a file
 * of the user's would be replaced by zeros. Whoever writes results asks rehearsal_on; dumps for `xtrain plan` go
 * through file_dump, which writes all the same. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/base.h"

static _Atomic int devices; /* dry devices that are open in this process */

bool rehearsal_is(const char *spec) {
    return spec && strncmp(spec, "dry", 3) == 0 && (!spec[3] || spec[3] == ':');
}

void rehearsal_device(int by) {
    atomic_fetch_add(&devices, by);
}

bool rehearsal_on(void) {
    const char *spec = env_get("XT_DEVICE");
    return atomic_load(&devices) > 0 || rehearsal_is(spec ? spec : getenv("PJRT_DEVICE"));
}

bool rehearsal_skips(void) {
    if (!rehearsal_on()) return false;
    log_once("rehearsal", XT_SEV_INFO,
             "rehearsal: nothing is computed or written, and values that the program reads are zeros");
    return true;
}
