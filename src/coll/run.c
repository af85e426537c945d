/* The group of the run this process belongs to. Its name comes from the first of:
 *  - XT_RENDEZVOUS, set by our launcher (or by hand, by Ray);
 *  - more than one host: MPI;
 *  - one host under a foreign launcher: a word made of that launcher's job variables, equal in all ranks and different
 *    between jobs. */
#include <stdlib.h>

#include "coll/open.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static coll_group *run;
static xt_status failed;

static xt_status open_run(const world *w, double seconds) {
    const char *given = env_get("XT_RENDEZVOUS");
    bool far = w->size > 1 && w->local_size < w->size;
    if (far && given && !transport_for(given, w->size)->across_hosts)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "this run has %d ranks, %d of them on this host, but XT_RENDEZVOUS='%s' is shared memory, "
                          "which ends at the host; more than one "
                          "host needs MPI: unset XT_RENDEZVOUS and start by mpirun or xtrain launch --host",
                          w->size, w->local_size, given);
    if (given || w->size == 1) return coll_open(given, w->rank, w->size, seconds, &run);
    char *name = NULL;
    XT_TRY(transport_run_name(far, &name));
    xt_status st = coll_open(name, w->rank, w->size, seconds, &run);
    base_free(name);
    return st;
}

xt_status coll_run_group(coll_group **out) {
    return coll_run_group_within(0, out);
}

xt_status coll_run_group_within(double seconds, coll_group **out) {
    static bool at_exit;
    pthread_mutex_lock(&lock);
    if (!run && !failed) {
        failed = status_context(open_run(world_get(), seconds), "joining the other ranks");
        if (run && run->ops->tell_notes) run->ops->tell_notes(run);
        if (run && !at_exit) at_exit = atexit(coll_run_group_close) == 0;
    }
    *out = run;
    xt_status st = failed ? status_clone(failed) : NULL;
    pthread_mutex_unlock(&lock);
    return st;
}

void coll_run_note(const char *doing) {
    pthread_mutex_lock(&lock);
    if (run) coll_note(run, doing);
    pthread_mutex_unlock(&lock);
}

bool coll_run_last_note(int rank, char *out, size_t n) {
    pthread_mutex_lock(&lock);
    bool seen = run && run->ops->peer_note && run->ops->peer_note(run, rank, out, n);
    pthread_mutex_unlock(&lock);
    return seen;
}

bool coll_run_claim(const char *what, int seconds) {
    char text[32], *value = NULL;
    struct timespec now;
    size_t n;
    clock_gettime(CLOCK_REALTIME, &now); /* hosts' clocks differ by less than this is about */
    pthread_mutex_lock(&lock);
    coll_group *g = run;
    xt_status st = g ? coll_get(g, what, strlen(what), 0, &value, &n) : NULL;
    bool ours = !value || strtoll(value, NULL, 10) + seconds <= (long long)now.tv_sec;
    snprintf(text, sizeof text, "%lld", (long long)now.tv_sec);
    if (g && ours) {
        xt_status_free(st);
        st = coll_put(g, what, strlen(what), text, strlen(text));
    }
    pthread_mutex_unlock(&lock);
    xt_status_free(st); /* a group that has failed has no store: then all speak */
    base_free(value);
    return ours;
}

void coll_run_leaving(coll_end end, const char *how) {
    pthread_mutex_lock(&lock);
    if (run && run->ops->leaving) run->ops->leaving(run, end, how);
    pthread_mutex_unlock(&lock);
}

void coll_run_exits(str *out) {
    pthread_mutex_lock(&lock);
    if (run && run->ops->exits) run->ops->exits(run, out);
    pthread_mutex_unlock(&lock);
}

void coll_run_give_up(const char *why) {
    pthread_mutex_lock(&lock);
    coll_group *g = run;
    pthread_mutex_unlock(&lock);
    if (g) group_give_up(g, why);
}

void coll_run_group_close(void) {
    char how[COLL_END_SIZE];
    snprintf(how, sizeof how, "has ended, without xt_finish(), after %lld steps",
             (long long)counter_get(COUNTER_steps));
    coll_run_leaving(COLL_OWN_END, how); /* unless it has said more */
    pthread_mutex_lock(&lock);
    coll_close(run);
    run = NULL;
    xt_status_free(failed);
    failed = NULL;
    pthread_mutex_unlock(&lock);
}

void coll_run_group_forget(void) {
    run = NULL;
    failed = NULL;
}
