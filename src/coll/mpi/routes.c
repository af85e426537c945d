/* What each kind of collective does in the stages of a pipe (pipe.h). Ranks lie in buffers host after host
 * (mpi_hosts.order), so that what goes to a host is one part.
 *
 * all_reduce: small ones are gathered and folded on each host. Larger ones are MPI's own where its reduction means what
 * ours does: not for f16 and bf16, which are to be added up in f32, nor for minima and maxima of floats, which are NaN
 * where one is, nor for integers of one or two bytes, whose sums saturate in Open MPI's vector code. These go as parts
 * to the host that folds them and come back. So does reduce_scatter, where that is all that is needed: each host gets
 * the parts of its own ranks, once from each host. */
#include "coll/mpi/mpi_int.h"

static size_t elem_of(const coll_job *j) {
    return xt_dtype_size(j->dtype);
}

static char *at_of(const void *p, const flight *f) {
    return (char *)p + f->at * elem_of(f->job);
}

static size_t bytes_of(const flight *f) {
    return f->n * elem_of(f->job);
}

static bool speaks(const mpi_pipe *p) { /* for its host */
    return p->hosts.place == 0;
}

static void copy(void *to, const void *from, size_t n) {
    if (n && to != from) memcpy(to, from, n);
}

static size_t unit_one(const mpi_pipe *p, const coll_job *j) {
    (void)p;
    return elem_of(j);
}

static xt_status post_nothing(mpi_pipe *p, flight *f) {
    (void)p, (void)f;
    return NULL;
}

static void take_nothing(mpi_pipe *p, flight *f) {
    (void)p, (void)f;
}

static bool spread_bytes(mpi_pipe *p, flight *f, void *to, size_t n) {
    f->work = (shm_work){.how = SHM_SPREAD, .data = speaks(p) ? f->out : to, .count = n};
    return p->hosts.here > 1;
}

static xt_status posted(mpi_pipe *p, flight *f, int code) {
    XT_TRY(mpi_lib_check(p->s->mpi, code, call_kind_name((unsigned)f->job->kind)));
    f->posted = true;
    return NULL;
}

/* `bytes` of give from each host to all, into take */
static xt_status gather_all(mpi_pipe *p, flight *f, size_t bytes, mpi_comm comm) {
    const mpi_lib *m = p->s->mpi;
    return posted(p, f, m->Iallgather(f->give, (int)bytes, m->byte, f->take, (int)bytes, m->byte, comm, &f->request));
}

/* Of each host's part of give, which lie host after host, `unit` bytes for each of its ranks, to that host; from each
 * host, `unit` bytes for each of `ranks`, or of its own ranks. */
static xt_status exchange_by_host(mpi_pipe *p, flight *f, const char *give, char *take, size_t unit, bool own_ranks) {
    const mpi_lib *m = p->s->mpi;
    const mpi_hosts *h = &p->hosts;
    int *n = f->counts, *at = n + h->n, *n_in = at + h->n, *at_in = n_in + h->n;
    for (int k = 0; k < h->n; k++) {
        size_t ranks = (size_t)(h->begins[k + 1] - h->begins[k]), in = own_ranks ? ranks : (size_t)h->here;
        n[k] = (int)(ranks * unit);
        at[k] = (int)((size_t)h->begins[k] * unit);
        n_in[k] = (int)(in * unit);
        at_in[k] = (int)((own_ranks ? (size_t)h->begins[k] : (size_t)k * in) * unit);
    }
    return posted(p, f, m->Ialltoallv(give, n, at, m->byte, take, n_in, at_in, m->byte, h->parts, &f->request));
}

/* take holds `n` elements of each host, stride bytes apart. */
static xt_status fold_hosts(mpi_pipe *p, flight *f, size_t n, size_t stride) {
    const void **src = base_malloc((size_t)p->hosts.n * sizeof *src);
    if (!src) return status_oom((size_t)p->hosts.n * sizeof *src, "a collective");
    for (int k = 0; k < p->hosts.n; k++) src[k] = f->take + (size_t)k * stride;
    if (n) reduce_fold(f->job->op, f->job->dtype, f->give, src, p->hosts.n, n);
    base_free(src);
    f->out = f->give;
    return NULL;
}

/* --- all_reduce --- */

/* MPI's type and operation, where they do what reduce_fold does; each element is *parts of that type. */
static bool native(const mpi_lib *m, coll_op op, xt_dtype t, mpi_type *type, mpi_op *how, size_t *parts) {
    static const int8_t width[XT_DTYPE_COUNT] = {[XT_BOOL] = 1, [XT_I8] = 1,  [XT_I16] = 2, [XT_I32] = 3, [XT_I64] = 4,
                                                 [XT_U8] = 1,   [XT_U16] = 2, [XT_U32] = 3, [XT_U64] = 4};
    bool is_signed = t == XT_I8 || t == XT_I16 || t == XT_I32 || t == XT_I64, orders = op == COLL_MIN || op == COLL_MAX;
    bool complex = t == XT_C64 || t == XT_C128;
    *parts = complex ? 2 : 1;
    *how = m->ops[op];
    if (t == XT_BOOL) *how = m->ops[op == COLL_SUM || op == COLL_MAX || op == COLL_OR ? COLL_OR : COLL_AND];
    if (width[t]) {
        if (width[t] <= 2 && *how != m->ops[COLL_AND] && *how != m->ops[COLL_OR]) return false;
        *type = m->whole[is_signed && orders][width[t] - 1]; /* unsigned sums wrap */
        return true;
    }
    *type = m->floating[t == XT_F64 || t == XT_C128];
    return t == XT_F32 || t == XT_F64 || complex ? !orders : false;
}

static bool sum_host(mpi_pipe *p, flight *f) {
    f->work = (shm_work){
        .how = SHM_REDUCE, .op = f->job->op, .dtype = f->job->dtype, .data = at_of(f->job->data, f), .count = f->n};
    return p->hosts.here > 1;
}

typedef enum way { GATHERED, NATIVE, SHARES } way;

static way way_of(const mpi_pipe *p, const flight *f, mpi_type *type, mpi_op *how, size_t *parts) {
    if (bytes_of(f) * (size_t)p->hosts.n <= MPI_GATHERED) return GATHERED;
    bool many = p->hosts.n >= MPI_NATIVE;
    return many && native(p->s->mpi, f->job->op, f->job->dtype, type, how, parts) ? NATIVE : SHARES;
}

static size_t share_of(const mpi_pipe *p, const flight *f) { /* elements that a host folds */
    return (f->n + (size_t)p->hosts.n - 1) / (size_t)p->hosts.n;
}

static xt_status post_sum(mpi_pipe *p, flight *f) {
    const mpi_lib *m = p->s->mpi;
    size_t bytes = bytes_of(f), share = share_of(p, f) * elem_of(f->job), parts;
    mpi_type type;
    mpi_op how;
    copy(f->give, at_of(f->job->data, f), bytes);
    switch (way_of(p, f, &type, &how, &parts)) {
    case GATHERED: return gather_all(p, f, bytes, p->hosts.parts);
    case NATIVE:
        return posted(p, f,
                      m->Iallreduce(f->give, f->take, (int)(f->n * parts), type, how, p->hosts.parts, &f->request));
    case SHARES: break;
    }
    memset(f->give + bytes, 0, share * (size_t)p->hosts.n - bytes);
    return posted(
        p, f, m->Ialltoall(f->give, (int)share, m->byte, f->take, (int)share, m->byte, p->hosts.parts, &f->request));
}

static xt_status arrived_sum(mpi_pipe *p, flight *f) {
    mpi_type type;
    mpi_op how;
    size_t parts, share = share_of(p, f), elem = elem_of(f->job);
    f->out = f->take;
    switch (way_of(p, f, &type, &how, &parts)) {
    case GATHERED: return fold_hosts(p, f, f->n, bytes_of(f));
    case NATIVE: return NULL;
    case SHARES: break;
    }
    if (f->arrived) return NULL;
    XT_TRY(fold_hosts(p, f, share, share * elem));
    return gather_all(p, f, share * elem, p->hosts.joins);
}

static bool spread_sum(mpi_pipe *p, flight *f) {
    return spread_bytes(p, f, at_of(f->job->data, f), bytes_of(f));
}

static void take_sum(mpi_pipe *p, flight *f) {
    if (speaks(p)) copy(at_of(f->job->data, f), f->out, bytes_of(f));
}

/* --- reduce_scatter: count elements for each rank --- */

static size_t unit_parts(const mpi_pipe *p, const coll_job *j) {
    size_t ranks = (size_t)p->g->size, in = (size_t)p->hosts.n * (size_t)p->hosts.most;
    return elem_of(j) * (ranks > in ? ranks : in);
}

static bool host_parts(mpi_pipe *p, flight *f) {
    const coll_job *j = f->job;
    size_t part = j->count * elem_of(j), n = bytes_of(f);
    for (int i = 0; i < p->g->size; i++)
        copy(f->give + (size_t)i * n, at_of((const char *)j->src + (size_t)p->hosts.order[i] * part, f), n);
    f->work = (shm_work){
        .how = SHM_REDUCE, .op = j->op, .dtype = j->dtype, .data = f->give, .count = f->n * (size_t)p->g->size};
    return p->hosts.here > 1;
}

static xt_status post_parts(mpi_pipe *p, flight *f) {
    return exchange_by_host(p, f, f->give, f->take, bytes_of(f), false);
}

static xt_status arrived_parts(mpi_pipe *p, flight *f) {
    size_t n = f->n * (size_t)p->hosts.here;
    return fold_hosts(p, f, n, n * elem_of(f->job));
}

static bool spread_parts(mpi_pipe *p, flight *f) {
    return spread_bytes(p, f, f->give, bytes_of(f) * (size_t)p->hosts.here);
}

static void take_part(mpi_pipe *p, flight *f) {
    copy(at_of(f->job->data, f), f->give + (size_t)p->hosts.place * bytes_of(f), bytes_of(f));
}

/* --- all_gather --- */

static bool host_gather(mpi_pipe *p, flight *f) {
    f->work = (shm_work){.how = SHM_GATHER, .src = at_of(f->job->src, f), .data = f->give, .count = bytes_of(f)};
    if (p->hosts.here == 1) copy(f->give, f->work.src, bytes_of(f));
    return p->hosts.here > 1;
}

static xt_status post_gather(mpi_pipe *p, flight *f) {
    const mpi_lib *m = p->s->mpi;
    const mpi_hosts *h = &p->hosts;
    int *n = f->counts, *at = n + h->n;
    for (int k = 0; k < h->n; k++) {
        n[k] = (int)((size_t)(h->begins[k + 1] - h->begins[k]) * bytes_of(f));
        at[k] = (int)((size_t)h->begins[k] * bytes_of(f));
    }
    return posted(p, f, m->Iallgatherv(f->give, n[h->own], m->byte, f->take, n, at, m->byte, h->parts, &f->request));
}

static xt_status arrived_taken(mpi_pipe *p, flight *f) {
    (void)p;
    f->out = f->take;
    return NULL;
}

static bool spread_gathered(mpi_pipe *p, flight *f) {
    return spread_bytes(p, f, f->take, bytes_of(f) * (size_t)p->g->size);
}

static void take_gathered(mpi_pipe *p, flight *f) {
    size_t part = f->job->count * elem_of(f->job), n = bytes_of(f);
    for (int i = 0; i < p->g->size; i++)
        copy(at_of((char *)f->job->data + (size_t)p->hosts.order[i] * part, f), f->take + (size_t)i * n, n);
}

/* --- broadcast --- */

static bool on_root_host(const mpi_pipe *p, const flight *f, int *out_host, int *out_place) {
    *out_host = mpi_hosts_of(&p->hosts, f->job->root, out_place);
    return *out_host == p->hosts.own;
}

static bool host_broadcast(mpi_pipe *p, flight *f) {
    int host, place;
    if (!on_root_host(p, f, &host, &place) || p->hosts.here == 1) return false;
    f->work = (shm_work){.how = SHM_SPREAD, .root = place, .data = at_of(f->job->data, f), .count = bytes_of(f)};
    return true;
}

static xt_status post_broadcast(mpi_pipe *p, flight *f) {
    const mpi_lib *m = p->s->mpi;
    int host, place;
    if (on_root_host(p, f, &host, &place)) copy(f->give, at_of(f->job->data, f), bytes_of(f));
    return posted(p, f, m->Ibcast(f->give, (int)bytes_of(f), m->byte, host, p->hosts.parts, &f->request));
}

static xt_status arrived_given(mpi_pipe *p, flight *f) {
    (void)p;
    f->out = f->give;
    return NULL;
}

static bool spread_broadcast(mpi_pipe *p, flight *f) {
    int host, place;
    return !on_root_host(p, f, &host, &place) && spread_sum(p, f);
}

static void take_broadcast(mpi_pipe *p, flight *f) {
    int host, place;
    if (!on_root_host(p, f, &host, &place)) take_sum(p, f);
}

/* --- all_to_all of few bytes: one message from host to host instead of one from each rank to each --- */

static size_t unit_square(const mpi_pipe *p, const coll_job *j) {
    (void)j;
    return (size_t)p->g->size * (size_t)p->hosts.most;
}

static bool host_rows(mpi_pipe *p, flight *f) {
    size_t n = bytes_of(f);
    char *row = p->hosts.here == 1 ? f->give : f->take;
    for (int i = 0; i < p->g->size; i++)
        copy(row + (size_t)i * n, at_of((const char *)f->job->src + (size_t)p->hosts.order[i] * f->job->count, f), n);
    f->work = (shm_work){.how = SHM_GATHER, .src = row, .data = f->give, .count = n * (size_t)p->g->size};
    return p->hosts.here > 1;
}

/* give: [rank here][rank of the group] to take: [host][rank here][its rank]. */
static xt_status post_rows(mpi_pipe *p, flight *f) {
    const mpi_hosts *h = &p->hosts;
    size_t n = bytes_of(f), here = (size_t)h->here;
    char *to = f->take;
    for (int k = 0; k < h->n; k++) {
        size_t bytes = (size_t)(h->begins[k + 1] - h->begins[k]) * n;
        for (size_t r = 0; r < here; r++, to += bytes)
            copy(to, f->give + (r * (size_t)p->g->size + (size_t)h->begins[k]) * n, bytes);
    }
    return exchange_by_host(p, f, f->take, f->give, n * here, true);
}

static bool spread_rows(mpi_pipe *p, flight *f) {
    return spread_bytes(p, f, f->give, bytes_of(f) * (size_t)p->g->size * (size_t)p->hosts.here);
}

/* give: [rank of the group][rank here] */
static void take_rows(mpi_pipe *p, flight *f) {
    size_t n = bytes_of(f), here = (size_t)p->hosts.here, place = (size_t)p->hosts.place;
    for (int i = 0; i < p->g->size; i++)
        copy(at_of((char *)f->job->data + (size_t)p->hosts.order[i] * f->job->count, f),
             f->give + ((size_t)i * here + place) * n, n);
}

/* --- barrier: the stages without bytes; what crosses the network is that all have come --- */

static bool spread_nothing(mpi_pipe *p, flight *f) {
    return spread_bytes(p, f, NULL, 0);
}

static bool host_come(mpi_pipe *p, flight *f) {
    f->work = (shm_work){.how = SHM_GATHER};
    return p->hosts.here > 1;
}

const route *route_of(const coll_job *j) {
    static const route routes[] = {
        [CALL_BARRIER] = {unit_one, host_come, post_nothing, arrived_given, spread_nothing, take_nothing},
        [CALL_ALL_REDUCE] = {unit_one, sum_host, post_sum, arrived_sum, spread_sum, take_sum},
        [CALL_ALL_GATHER] = {unit_parts, host_gather, post_gather, arrived_taken, spread_gathered, take_gathered},
        [CALL_BROADCAST] = {unit_one, host_broadcast, post_broadcast, arrived_given, spread_broadcast, take_broadcast},
        [CALL_ALL_TO_ALL] = {unit_square, host_rows, post_rows, arrived_given, spread_rows, take_rows},
        [CALL_REDUCE_SCATTER] = {unit_parts, host_parts, post_parts, arrived_parts, spread_parts, take_part},
    };
    return &routes[j->kind];
}
