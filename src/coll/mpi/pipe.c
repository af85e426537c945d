/* Moving pieces through a pipe, and waiting for them: see pipe.h. */
#include "coll/mpi/pipe.h"

#include "coll/mpi/exchange.h"

#define WAIT_TOLD_NS 500000000 /* a rank that has waited so long tells the others */
#define GRACE_NS 1000000000 /* the others began to wait at another time */
#define LOOK_NS 200000000 /* so often at the processes of this host */
#define REST_NS 10000000 /* so often a sleeper looks at what other hosts say */
enum { NAMED = 16 /* hosts: up to here each learns what each of the others calls, above it whether they agree */ };

static bool speaks(const mpi_pipe *p) {
    return p->hosts.place == 0;
}

static flight *piece(mpi_pipe *p, size_t number) {
    return &p->flights[number % MPI_FLIGHTS];
}

/* --- life --- */

xt_status mpi_pipe_open(mpi_pipe *p, coll_group *g, mpi_state *s) {
    p->g = g;
    p->s = s;
    p->buffer = MPI_PIECE;
    return NULL;
}

void mpi_pipe_close(mpi_pipe *p) {
    for (size_t k = p->first; k < p->network; k++) p->broken |= piece(p, k)->posted || piece(p, k)->meeting;
    for (int i = 0; i < MPI_FLIGHTS && !p->broken; i++) {
        flight *f = &p->flights[i];
        base_free(f->give);
        base_free(f->take);
        base_free(f->calls);
        base_free(f->counts);
    }
    mpi_hosts_close(&p->hosts);
}

static size_t room(const mpi_pipe *p) { /* of a buffer: parts may be rounded up, or gathered from all hosts */
    return p->buffer + MPI_GATHERED + (size_t)p->hosts.n * 16;
}

static xt_status need_buffers(mpi_pipe *p, flight *f) {
    size_t n = (size_t)p->hosts.n;
    if (!f->give) f->give = base_malloc(room(p));
    if (!f->take) f->take = base_malloc(room(p));
    if (!f->calls) f->calls = base_malloc((n + 2) * sizeof *f->calls);
    if (!f->counts) f->counts = base_malloc(4 * n * sizeof *f->counts);
    return f->give && f->take && f->calls && f->counts ? NULL : status_oom(2 * room(p), "a collective");
}

/* Where even one element of a job needs more than the buffers hold (thousands of ranks). Between jobs only. */
static void grow_buffers(mpi_pipe *p, size_t unit) {
    if (unit <= p->buffer) return;
    p->buffer = unit;
    for (int i = 0; i < MPI_FLIGHTS; i++) {
        base_free(p->flights[i].give);
        base_free(p->flights[i].take);
        p->flights[i].give = p->flights[i].take = NULL;
    }
}

void mpi_pipe_name(mpi_pipe *p, coll_job *j) {
    j->id = p->g->parent ? ((uint32_t)(p->g->key >> 32) + ++p->calls) | 0x80000000u : ++p->s->calls;
}

/* --- what the hosts say that they call --- */

static call_desc call_of(const coll_job *j) {
    return (call_desc){.kind = (uint8_t)j->kind,
                       .op = (uint8_t)j->op,
                       .dtype = (uint8_t)j->dtype,
                       .root = (uint32_t)j->root,
                       .bytes = j->count * xt_dtype_size(j->dtype),
                       .tag = j->tag};
}

static uint64_t hash_of(const call_desc *c) {
    return hash_bytes(c, sizeof *c, (hash128){c->tag, c->bytes}).lo;
}

/* Of many hosts the largest hash, and the largest of its complement: those of this call where all agree. */
static xt_status post_calls(mpi_pipe *p, flight *f) {
    const mpi_lib *m = p->s->mpi;
    int n = p->hosts.n;
    uint64_t *give = (uint64_t *)(void *)(f->calls + n), *take = give + 2;
    f->own = call_of(f->job);
    give[0] = hash_of(&f->own);
    give[1] = ~give[0];
    int code = n <= NAMED ? m->Iallgather(&f->own, (int)sizeof f->own, m->byte, f->calls, (int)sizeof f->own, m->byte,
                                          p->hosts.parts, &f->meet)
                          : m->Iallreduce(give, take, 2, m->whole[0][3], m->ops[COLL_MAX], p->hosts.parts, &f->meet);
    XT_TRY(mpi_lib_check(m, code, call_kind_name(f->own.kind)));
    f->meeting = true;
    return NULL;
}

static int first_rank(const mpi_pipe *p, int host) { /* of the run */
    int r = p->hosts.order[p->hosts.begins[host]];
    return p->g->members ? p->g->members[r] : r;
}

static xt_status differing(const mpi_pipe *p, const flight *f, int host) {
    str text = STR_INIT;
    mpi_state *s = p->s;
    int own = first_rank(p, p->hosts.own), other = host < 0 ? -1 : first_rank(p, host);
    call_differs_text(own, &f->own, other, host < 0 ? NULL : &f->calls[host], &text);
    str_printf(&text, "; rank %d is at %s", own, s->note[0] ? s->note : "no line that is known");
    pthread_mutex_lock(&s->io);
    if (other >= 0 && s->peers[other].note.len)
        str_printf(&text, "; rank %d, last seen at %s", other, str_cstr(&s->peers[other].note));
    pthread_mutex_unlock(&s->io);
    xt_status st = status_new(XT_FAILED_PRECONDITION, NULL, "%s", str_cstr(&text));
    str_free(&text);
    return st;
}

static xt_status compare_calls(const mpi_pipe *p, const flight *f) {
    const uint64_t *give = (const uint64_t *)(const void *)(f->calls + p->hosts.n), *take = give + 2;
    if (p->hosts.n > NAMED) return take[0] == give[0] && take[1] == give[1] ? NULL : differing(p, f, -1);
    for (int k = 0; k < p->hosts.n; k++)
        if (memcmp(&f->calls[k], &f->own, sizeof f->own) != 0) return differing(p, f, k);
    return NULL;
}

/* --- stages --- */

/* One more piece, of the first job that has any left. */
static xt_status add_piece(mpi_pipe *p, coll_job *jobs, bool *moved) {
    coll_job *j = jobs;
    while (j && (j->done || j->taken)) j = j->next;
    if (!j || p->added - p->first == MPI_FLIGHTS) return NULL;
    size_t unit = route_of(j)->unit(p, j);
    if (unit > p->buffer && p->added != p->first) return NULL;
    grow_buffers(p, unit);
    flight *f = piece(p, p->added);
    XT_TRY(need_buffers(p, f));
    size_t n = p->buffer / unit, left = j->count - j->turn;
    *f = (flight){.job = j,
                  .at = j->turn,
                  .n = n < left ? n : left,
                  .give = f->give,
                  .take = f->take,
                  .calls = f->calls,
                  .counts = f->counts};
    j->turn += f->n;
    j->taken = j->turn == j->count;
    p->added++;
    *moved = true;
    return NULL;
}

/* Whether the stage's part in shared memory is done. */
static xt_status share_memory(flight *f, coll_group *local, bool *out_done) {
    if (f->has_work && !f->work.done) {
        f->work.call = call_of(f->job);
        XT_TRY(shm_advance_work(local, &f->work, 0));
    }
    *out_done = !f->has_work || f->work.done;
    return NULL;
}

static void begin_spread(mpi_pipe *p, flight *f) {
    f->stage = STAGE_SPREAD;
    f->has_work = route_of(f->job)->spread(p, f);
}

static xt_status move_host(mpi_pipe *p, bool *moved) {
    if (p->network == p->added) return NULL;
    flight *f = piece(p, p->network);
    bool done;
    if (!f->begun) f->has_work = route_of(f->job)->host(p, f);
    f->begun = true;
    XT_TRY(share_memory(f, p->hosts.sum, &done));
    if (!done) return NULL;
    *moved = true;
    p->network++;
    if (!speaks(p)) {
        begin_spread(p, f);
        return NULL;
    }
    f->stage = STAGE_NETWORK;
    if (f->at == 0) XT_TRY(post_calls(p, f));
    return route_of(f->job)->post(p, f);
}

static xt_status test(const mpi_pipe *p, mpi_request *request, bool *open, bool *moved) {
    int done = 0;
    if (*open) XT_TRY(mpi_lib_check(p->s->mpi, p->s->mpi->Test(request, &done, NULL), "MPI_Test"));
    if (done) *open = false, *moved = true;
    return NULL;
}

static xt_status test_calls(const mpi_pipe *p, flight *f, bool *moved) {
    bool open = f->meeting;
    XT_TRY(test(p, &f->meet, &f->meeting, moved));
    return open && !f->meeting ? compare_calls(p, f) : NULL;
}

/* Where the ranks make different calls MPI may find that first, in the sizes: their words for it say more. */
static xt_status test_bytes(const mpi_pipe *p, flight *f, bool *moved) {
    xt_status st = test(p, &f->request, &f->posted, moved);
    int64_t until = coll_now() + 1000000000;
    for (int turn = 0; st && f->meeting && coll_now() < until; mpi_backoff(&turn)) {
        xt_status calls = test_calls(p, f, moved);
        if (!calls) continue;
        xt_status_free(st);
        return calls;
    }
    return st;
}

/* Pieces whose bytes have come go on in order, as what they then begin meets its like on the other hosts. */
static xt_status move_network(mpi_pipe *p, bool *moved) {
    bool in_order = true;
    for (size_t k = p->first; k < p->network; k++) {
        flight *f = piece(p, k);
        if (f->stage != STAGE_NETWORK) continue;
        XT_TRY(test_calls(p, f, moved));
        XT_TRY(test_bytes(p, f, moved));
        if (!f->posted && f->arrived < 2 && (in_order || f->arrived)) {
            XT_TRY(route_of(f->job)->arrived(p, f));
            f->arrived = f->posted ? 1 : 2;
        }
        in_order &= f->arrived > 0;
        if (f->arrived < 2 || f->meeting) continue;
        XT_TRY(mpi_pump(p->s)); /* what the others had put before is there for the host's ranks, too */
        begin_spread(p, f);
    }
    return NULL;
}

static xt_status move_spread(mpi_pipe *p, bool *moved) {
    bool done = false;
    if (p->first == p->network || piece(p, p->first)->stage != STAGE_SPREAD) return NULL;
    flight *f = piece(p, p->first);
    XT_TRY(share_memory(f, p->hosts.spread, &done));
    if (!done) return NULL;
    route_of(f->job)->take(p, f);
    if (f->at + f->n == f->job->count) f->job->done = true;
    p->first++;
    *moved = true;
    return NULL;
}

xt_status mpi_pipe_advance(mpi_pipe *p, coll_job *jobs) {
    for (bool moved = true; moved;) {
        moved = false;
        XT_TRY(add_piece(p, jobs, &moved));
        XT_TRY(move_host(p, &moved));
        XT_TRY(move_network(p, &moved));
        XT_TRY(move_spread(p, &moved));
    }
    return NULL;
}

/* --- waiting --- */

typedef struct patience {
    int64_t began, deadline, looked, since, gone;
    bool told;
    int turn;
} patience;

static participants everyone(const mpi_pipe *p, const coll_job *j) {
    return (participants){
        .ranks = p->g->members, .n = p->g->size, .kind = (call_kind)j->kind, .id = j->id, .what = j->what};
}

/* Has a rank ended that this one waits for in shared memory? */
static xt_status look_here(mpi_pipe *p, patience *w, int64_t now) {
    if (now - w->looked < LOOK_NS || p->first == p->added) return NULL;
    w->looked = now;
    flight *f = piece(p, p->first);
    return f->has_work && !f->work.done && f->stage != STAGE_NETWORK
               ? shm_check_work(f->stage == STAGE_HOST ? p->hosts.sum : p->hosts.spread, &f->work, &w->since)
               : NULL;
}

/* Who does not speak for its host has nothing to ask MPI for: with one piece under way it sleeps until the ranks of its
 * host have come, which leaves the cores to those that do. *out_came: something goes on. */
static bool rest_here(mpi_pipe *p, bool *out_came) {
    flight *f = piece(p, p->first);
    if (speaks(p) || p->added - p->first != 1 || !f->has_work || f->work.done || !f->work.posted) return false;
    *out_came = shm_rest(f->stage == STAGE_HOST ? p->hosts.sum : p->hosts.spread, &f->work, REST_NS);
    return true;
}

static xt_status wait_a_little(mpi_pipe *p, const coll_job *j, patience *w) {
    mpi_state *s = p->s;
    coll_group *run = group_whole(p->g);
    bool came = false, rested = rest_here(p, &came);
    if (!rested) mpi_backoff(&w->turn);
    if (came || (!rested && w->turn % 64 != 63 && w->turn <= 1000)) return NULL;
    XT_TRY(mpi_pump(s));
    XT_TRY(mpi_other_failure(s));
    int64_t now = coll_now();
    XT_TRY(look_here(p, w, now));
    if (!w->told && (now - w->began > WAIT_TOLD_NS || now - w->began > (w->deadline - w->began) / 4)) {
        w->told = true;
        XT_TRY(mpi_tell_waiting(run));
    }
    participants who = everyone(p, j);
    if (now <= w->deadline + GRACE_NS && !exchange_gone(run, &who, now, &w->gone)) return NULL;
    return exchange_missing(run, &who);
}

xt_status mpi_pipe_finish(mpi_pipe *p, coll_job *jobs, coll_job *j, int64_t deadline) {
    patience w = {.began = coll_now(), .deadline = deadline};
    p->s->waits = j->id;
    for (size_t first = p->first;;) {
        XT_TRY(mpi_pipe_advance(p, jobs));
        if (j->done) { /* one that came, waited for us and gave up has told us so before it left */
            XT_TRY(mpi_pump(p->s));
            return mpi_other_failure(p->s);
        }
        if (p->first != first) w.turn = 0;
        first = p->first;
        XT_TRY(wait_a_little(p, j, &w));
    }
}
