/* The table of transports, and groups by name: what is asked for goes to the row that serves the name. */
#include "coll/open.h"

#include "coll/mpi/mpi.h"
#include "coll/shm/shm.h"

/* In the order in which they are asked: shared memory takes any name that is left. */
static const coll_transport *const transports[] = {&alone_transport, &mpi_transport, &shm_transport};

const coll_transport *transport_for(const char *name, int size) {
    size_t i = 0;
    while (i + 1 < BASE_COUNT(transports) && !transports[i]->serves(name, size)) i++;
    return transports[i];
}

xt_status transport_run_name(bool across_hosts, char **out_name) {
    for (size_t i = 0; i < BASE_COUNT(transports); i++)
        if (transports[i]->run_name && transports[i]->across_hosts == across_hosts)
            return transports[i]->run_name(out_name);
    return status_new(XT_INTERNAL, NULL, "no transport names a run %s",
                      across_hosts ? "of several hosts" : "of a host");
}

xt_status coll_create(int size, char **out_name) {
    *out_name = NULL;
    for (size_t i = 0; i < BASE_COUNT(transports); i++)
        if (transports[i]->creates && transports[i]->creates(size)) return transports[i]->create(size, out_name);
    return status_new(XT_INTERNAL, NULL, "no transport makes the rendezvous of %d ranks", size);
}

static xt_status open_named(const char *name, int rank, int size, bool later, double timeout, coll_group **out) {
    *out = NULL;
    if (size < 1 || rank < 0 || rank >= size)
        return status_new(XT_INVALID_ARGUMENT, NULL, "rank %d of %d; ranks go from 0 to size - 1", rank, size);
    if (size > 1 && (!name || !name[0]))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "rank %d of %d has no rendezvous: XT_RENDEZVOUS is empty; start the ranks by xt_launch, "
                          "xtrain launch or mpirun, or give all of them the same word in XT_RENDEZVOUS",
                          rank, size);
    return group_open(transport_for(name, size), name, rank, size, later, coll_deadline(timeout), out);
}

xt_status coll_open(const char *name, int rank, int size, double timeout, coll_group **out) {
    return open_named(name, rank, size, false, timeout, out);
}

xt_status coll_duplicate(coll_group *g, const char *tag, double timeout, coll_group **out) {
    char *name = NULL;
    *out = NULL;
    XT_TRY(g->transport->duplicate_name(g, tag, coll_deadline(timeout), &name));
    xt_status st = open_named(name, g->rank, g->size, true, timeout, out);
    if (g->rank == 0 || st) coll_destroy(name); /* all are in, or will not come */
    base_free(name);
    return st;
}

void coll_destroy(const char *name) {
    const coll_transport *t = name ? transport_for(name, 0) : NULL;
    if (t && t->destroy) t->destroy(name);
}

void coll_announce(const char *name, int rank, int pid) {
    const coll_transport *t = name ? transport_for(name, 0) : NULL;
    if (t && t->announce) t->announce(name, rank, pid);
}

void coll_announce_end(const char *name, int rank, const char *how) {
    const coll_transport *t = name ? transport_for(name, 0) : NULL;
    if (t && t->announce_end) t->announce_end(name, rank, how);
}

bool coll_last_note(const char *name, int rank, char *out, size_t n) {
    const coll_transport *t = name ? transport_for(name, 0) : NULL;
    if (n) out[0] = 0;
    return t && t->last_note && t->last_note(name, rank, out, n);
}
