/* Which ranks of an MPI group share a host, and the shared memory between them. MPI says who shares memory (its own
 * division, so two network namespaces that mpirun takes for two hosts are two); the segment's name carries the leader's
 * rank, the first of its host, which makes it different on each host of a job. All ranks take part in each step here,
 * and all agree on the result. Where one host cannot have its segment, or all ranks share one (tests of MPI alone),
 * each rank counts as a host of its own. */
#include "coll/mpi/hosts.h"

#include <stdlib.h>

#include "coll/shm/shm.h"

enum { TYPE_SHARED = 0, UNDEFINED_COLOR = -32766 }; /* MPI_COMM_TYPE_SHARED, MPI_UNDEFINED of Open MPI */
enum { TAG_PARTS = 20, TAG_JOINS = 21 };
#define SPREAD_KEY 0x9e3779b97f4a7c15u /* tells a group's second segment from its first */

static xt_status wait(const mpi_lib *m, mpi_request *request, int64_t deadline, const char *what) {
    for (int done = 0, turn = 0;; mpi_backoff(&turn)) {
        XT_TRY(mpi_lib_check(m, m->Test(request, &done, NULL), what));
        if (done) return NULL;
        if (coll_now() > deadline)
            return status_new(XT_DEADLINE_EXCEEDED, NULL, "%s: not all ranks came within the time limit", what);
    }
}

/* One number of each rank of comm, by rank; base_free. */
static xt_status gather_numbers(const mpi_lib *m, mpi_comm comm, int size, int own, int64_t deadline, const char *what,
                                int **out) {
    int *list = base_calloc((size_t)size + 1, sizeof *list); /* left to MPI when the wait fails */
    mpi_request request;
    if (!list) return status_oom((size_t)size * sizeof *list, "a group of ranks");
    list[size] = own;
    XT_TRY(mpi_lib_check(
        m, m->Iallgather(list + size, (int)sizeof *list, m->byte, list, (int)sizeof *list, m->byte, comm, &request),
        "MPI_Iallgather"));
    XT_TRY(wait(m, &request, deadline, what));
    *out = list;
    return NULL;
}

static xt_status all_agree(const mpi_lib *m, mpi_comm comm, int size, bool yes, int64_t deadline, bool *out) {
    int *votes = NULL;
    XT_TRY(gather_numbers(m, comm, size, yes, deadline, "agreeing on shared memory", &votes));
    *out = true;
    for (int r = 0; r < size; r++) *out &= votes[r] != 0;
    base_free(votes);
    return NULL;
}

/* XT_RANK_HOSTS, "0,0,1,1": the host of each rank. False when it is not set; a rank that it does not name is alone. */
static bool told_host(int rank, int size, int *out_lead) {
    const char *list = env_get("XT_RANK_HOSTS");
    if (!list) return false;
    long own = -1;
    *out_lead = rank;
    for (int pass = 0; pass < 2; pass++) {
        const char *at = list;
        for (int r = 0; r < size && *at; r++) {
            long host = strtol(at, NULL, 10);
            if (pass == 0 && r == rank) own = host;
            if (pass == 1 && host == own) return *out_lead = r, true;
            at += strcspn(at, ",");
            at += *at == ',';
        }
        if (own < 0) return true;
    }
    return true;
}

/* The first rank on this rank's host, of those that share memory by MPI's word. */
static xt_status find_lead(const mpi_lib *m, mpi_comm comm, int rank, int size, int64_t deadline, int *out_lead) {
    mpi_comm node = NULL;
    int here, *ranks = NULL;
    XT_TRY(mpi_lib_check(m, m->Comm_split_type(comm, TYPE_SHARED, rank, m->info_null, &node), "MPI_Comm_split_type"));
    XT_TRY(mpi_lib_check(m, m->Comm_size(node, &here), "MPI_Comm_size"));
    XT_TRY(gather_numbers(m, node, here, rank, deadline, "finding the ranks of a host", &ranks));
    *out_lead = ranks[0];
    base_free(ranks);
    told_host(rank, size, out_lead);
    return NULL;
}

/* Who stands where, from lead. */
static xt_status arrange(mpi_hosts *h, int rank, int size) {
    size_t bytes = ((size_t)size + 1) * sizeof(int);
    if (!h->order) h->order = base_malloc(bytes);
    if (!h->begins) h->begins = base_malloc(bytes);
    if (!h->order || !h->begins) return status_oom(2 * bytes, "a group of ranks");
    h->n = h->most = h->begins[0] = 0;
    for (int first = 0, at = 0; first < size; first++) {
        if (h->lead[first] != first) continue;
        for (int r = first; r < size; r++) {
            if (h->lead[r] != first) continue;
            if (r == rank) {
                h->own = h->n;
                h->place = at - h->begins[h->n];
            }
            h->order[at++] = r;
        }
        h->begins[++h->n] = at;
        int count = at - h->begins[h->n - 1];
        if (count > h->most) h->most = count;
    }
    h->here = h->begins[h->own + 1] - h->begins[h->own];
    return NULL;
}

int mpi_hosts_of(const mpi_hosts *h, int rank, int *out_place) {
    int host = 0, at = 0;
    while (h->order[at] != rank) at++;
    while (h->begins[host + 1] <= at) host++;
    if (out_place) *out_place = at - h->begins[host];
    return host;
}

static xt_status open_sum(mpi_hosts *h, const char *tag, int64_t deadline) {
    str name = STR_INIT;
    char *job = NULL;
    XT_TRY(job_word(&job));
    str_printf(&name, "%s.%s.host%d", job, tag, h->order[h->begins[h->own]]);
    base_free(job);
    int64_t soonest = coll_now() + 1000000000;
    xt_status st = group_open(&shm_transport, str_cstr(&name), h->place, h->here, true,
                              deadline > soonest ? deadline : soonest, &h->sum);
    str_free(&name);
    return st;
}

static xt_status open_spread(mpi_hosts *h, int64_t deadline) {
    int *ranks = base_malloc((size_t)h->here * sizeof *ranks);
    if (!ranks) return status_oom((size_t)h->here * sizeof *ranks, "a group of ranks");
    for (int i = 0; i < h->here; i++) ranks[i] = i;
    return shm_side_group(h->sum, ranks, h->place, h->here, SPREAD_KEY, deadline, &h->spread);
}

static void close_memory(mpi_hosts *h) {
    coll_close(h->spread);
    coll_close(h->sum);
    h->spread = h->sum = NULL;
}

/* Where one host fails nobody uses any. */
static xt_status open_memory(const mpi_lib *m, mpi_comm comm, const char *tag, int rank, int size, int64_t deadline,
                             mpi_hosts *h) {
    bool use;
    xt_status st = h->here > 1 ? open_sum(h, tag, deadline) : NULL;
    if (!st && h->sum) shm_rename_ranks(h->sum, h->order + h->begins[h->own]);
    if (!st && h->sum) st = open_spread(h, deadline);
    if (st)
        log_msg(XT_SEV_WARNING,
                "the ranks of this host cannot share memory, so all they say to each other goes by MPI: %s",
                status_message(st));
    xt_status agreed = all_agree(m, comm, size, !st, deadline, &use);
    xt_status_free(st);
    if (agreed || use) return agreed;
    close_memory(h);
    for (int r = 0; r < size; r++) h->lead[r] = r;
    return arrange(h, rank, size);
}

static xt_status return_errors(const mpi_lib *m, mpi_hosts *h) {
    XT_TRY(mpi_lib_check(m, m->Comm_set_errhandler(h->parts, m->errors_return), "MPI_Comm_set_errhandler"));
    return mpi_lib_check(m, m->Comm_set_errhandler(h->joins, m->errors_return), "MPI_Comm_set_errhandler");
}

xt_status mpi_hosts_open(const mpi_lib *m, mpi_comm comm, const char *tag, int rank, int size, int64_t deadline,
                         mpi_hosts *out) {
    int lead;
    *out = (mpi_hosts){0};
    XT_TRY(find_lead(m, comm, rank, size, deadline, &lead));
    XT_TRY(gather_numbers(m, comm, size, lead, deadline, "finding the hosts of the run", &out->lead));
    XT_TRY(arrange(out, rank, size));
    if (out->n == 1) {
        for (int r = 0; r < size; r++) out->lead[r] = r;
        XT_TRY(arrange(out, rank, size));
    }
    XT_TRY(open_memory(m, comm, tag, rank, size, deadline, out));
    int color = out->place == 0 ? 0 : UNDEFINED_COLOR;
    XT_TRY(mpi_lib_check(m, m->Comm_split(comm, color, rank, &out->parts), "MPI_Comm_split"));
    XT_TRY(mpi_lib_check(m, m->Comm_split(comm, color, rank, &out->joins), "MPI_Comm_split"));
    return out->place == 0 ? return_errors(m, out) : NULL;
}

/* --- of some ranks of such a group --- */

static xt_status lead_of_some(const mpi_hosts *all, const coll_group *sub, mpi_hosts *out) {
    size_t n = (size_t)sub->size;
    out->lead = base_malloc(n * sizeof *out->lead);
    if (!out->lead) return status_oom(n * sizeof *out->lead, "a group of ranks");
    for (int i = 0; i < sub->size; i++) {
        int first = 0;
        while (all->lead[sub->members[first]] != all->lead[sub->members[i]]) first++;
        out->lead[i] = first;
    }
    return arrange(out, sub->rank, sub->size);
}

/* The members on this host, as ranks of its shared memory; base_free. */
static int *places_here(const mpi_hosts *all, const coll_group *sub, const mpi_hosts *h) {
    int *places = base_malloc((size_t)h->here * sizeof *places);
    for (int i = 0; i < h->here && places; i++)
        mpi_hosts_of(all, sub->members[h->order[h->begins[h->own] + i]], &places[i]);
    return places;
}

static xt_status open_side(const mpi_hosts *all, const coll_group *sub, mpi_hosts *h, uint64_t key, int64_t deadline,
                           coll_group **out) {
    int *places = places_here(all, sub, h);
    if (!places) return status_oom((size_t)h->here * sizeof *places, "a group of ranks");
    return shm_side_group(all->sum, places, h->place, h->here, key, deadline, out);
}

static xt_status make_leaders(const mpi_lib *m, mpi_comm comm, const coll_group *sub, mpi_hosts *h) {
    mpi_group all = NULL, some = NULL;
    int *ranks = base_malloc((size_t)h->n * sizeof *ranks);
    if (!ranks) return status_oom((size_t)h->n * sizeof *ranks, "a group of ranks");
    for (int i = 0; i < h->n; i++) ranks[i] = sub->members[h->order[h->begins[i]]];
    xt_status st = mpi_lib_check(m, m->Comm_group(comm, &all), "MPI_Comm_group");
    if (!st) st = mpi_lib_check(m, m->Group_incl(all, h->n, ranks, &some), "MPI_Group_incl");
    if (!st) st = mpi_lib_check(m, m->Comm_create_group(comm, some, TAG_PARTS, &h->parts), "MPI_Comm_create_group");
    if (!st) st = mpi_lib_check(m, m->Comm_create_group(comm, some, TAG_JOINS, &h->joins), "MPI_Comm_create_group");
    if (!st) st = return_errors(m, h);
    if (some) m->Group_free(&some);
    if (all) m->Group_free(&all);
    base_free(ranks);
    return st;
}

xt_status mpi_hosts_open_some(const mpi_lib *m, mpi_comm comm, const mpi_hosts *all, const coll_group *sub,
                              int64_t deadline, mpi_hosts *out) {
    *out = (mpi_hosts){0};
    XT_TRY(lead_of_some(all, sub, out));
    if (out->here > 1) {
        XT_TRY(open_side(all, sub, out, sub->key, deadline, &out->sum));
        XT_TRY(open_side(all, sub, out, sub->key ^ SPREAD_KEY, deadline, &out->spread));
    }
    return out->place == 0 ? make_leaders(m, comm, sub, out) : NULL;
}

void mpi_hosts_close(mpi_hosts *h) {
    close_memory(h);
    base_free(h->order);
    base_free(h->begins);
    base_free(h->lead);
    *h = (mpi_hosts){0};
}

void mpi_hosts_note(mpi_hosts *h, const char *doing) {
    if (h->sum) h->sum->ops->note(h->sum, doing);
}

void mpi_hosts_fail(mpi_hosts *h, const char *why) {
    if (h->sum) h->sum->ops->fail(h->sum, why);
    if (h->spread) h->spread->ops->fail(h->spread, why);
}
