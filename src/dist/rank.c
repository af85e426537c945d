/* Who this process is, and the barrier. */
#include <stdlib.h>
#include <unistd.h>

#include "coll/coll.h"
#include "dist/dist_int.h"

int xt_rank(void) {
    return world_get()->rank;
}
int xt_local_rank(void) {
    return world_get()->local_rank;
}
int xt_world_size(void) {
    return world_get()->size;
}

#define LEAST_WAIT 1e-3 /* seconds: 0 would mean the default */

xt_status xt_barrier_at(const xt_src *src, double seconds) {
    char what[256], line[512];
    coll_group *g = NULL;
    const char *at = src_text(src_intern(src), line, sizeof line);
    snprintf(what, sizeof what, "xt_barrier at %s", at);
    int64_t began = clock_ns();
    /* the first barrier of a run may be where the ranks join */
    XT_TRY(status_at(coll_run_group_within(seconds, &g), src));
    if (seconds > 0) {
        seconds -= (double)(clock_ns() - began) * 1e-9;
        if (seconds < LEAST_WAIT) seconds = LEAST_WAIT;
    }
    coll_note(g, what);
    return status_at(coll_barrier(g, seconds, what), src);
}

/* Started by our launcher, stdout is a pipe to it, which the C library would buffer by pages: lines would come late,
 * and be lost when the rank is killed. A terminal would show them at once, so that is what users expect. */
__attribute__((constructor)) static void buffer_lines(void) {
    const char *name = getenv("XT_RENDEZVOUS");
    if (getenv("XT_RANK") && name && strncmp(name, "/proc/", 6) == 0) setvbuf(stdout, NULL, _IOLBF, 0);
}
