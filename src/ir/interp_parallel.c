/* interpreter.run_parallel: functions of the module as the processes of a replica x partition grid, a thread each. A
 * collective is a rendezvous of its group: everyone leaves its operands, all compute their own results, nobody goes on
 * before the last one has (the operands are borrowed). send and recv pass messages by channel, in order; infeed takes
 * the results of the next function of a list.
 *
 * The first process that fails ends the waiting of all others; a wait that lasts a minute is a deadlock of the program
 * and an error. */
#include "ir/interp_collective.h"
#include "base/cpus.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { WAIT_SECONDS = 60 };

typedef struct rendezvous {
    struct rendezvous *next;
    hash128 key; /* the op and the members */
    const array **in;
    size_t arrived, left;
    bool full; /* all are here, and not all have left */
    uint64_t rounds; /* completed ones */
} rendezvous;
typedef struct message {
    struct message *next;
    int64_t channel;
    array *values;
    size_t n;
} message;
typedef struct world_run {
    interp *c;
    process_grid grid;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    rendezvous *all_rendezvous;
    message *messages; /* oldest first */
    const ir_attr *infeed;
    size_t infeed_at;
    bool failed;
} world_run;
typedef struct process {
    world_run *w;
    int64_t number;
    const char *program;
    size_t n_in, n_out;
    const array *in;
    array *out; /* of this process's own */
    xt_status status;
} process;

/* Under the lock: until `*flag`, or a failure elsewhere, or a minute. */
static xt_status wait_for(world_run *w, const bool *flag, const uint64_t *round, uint64_t last_round,
                          const char *what) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_SECONDS;
    while (!w->failed && (flag ? !*flag : *round == last_round))
        if (pthread_cond_timedwait(&w->changed, &w->lock, &until) == ETIMEDOUT) {
            w->failed = true;
            pthread_cond_broadcast(&w->changed);
            return status_new(XT_DEADLINE_EXCEEDED, NULL, "%s waited %d seconds for the other processes of its group",
                              what, WAIT_SECONDS);
        }
    return w->failed ? status_new(XT_ABORTED, NULL, "%s: another process of the grid failed", what) : NULL;
}

static rendezvous *rendezvous_of(world_run *w, const ir_op *op, const int64_t *members, size_t n) {
    int64_t id[2] = {op->code, ir_get_int(op, IR_A_channel_id, 0)};
    hash128 key =
        hash_mix(hash_bytes(id, sizeof id, (hash128){0, 0}), hash_bytes(members, n * sizeof *members, (hash128){1, n}));
    for (rendezvous *m = w->all_rendezvous; m; m = m->next)
        if (hash_equal(m->key, key)) return m;
    rendezvous *m = base_calloc(1, sizeof *m);
    if (m) m->in = base_calloc(n, sizeof *m->in);
    if (!m || !m->in) {
        base_free(m);
        return NULL;
    }
    m->key = key;
    m->next = w->all_rendezvous;
    w->all_rendezvous = m;
    return m;
}

/* One round of a rendezvous. */
static xt_status meet(process *p, const ir_op *op, const int64_t *members, size_t n, size_t me, const array *in,
                      array *out) {
    world_run *w = p->w;
    const char *what = ir_op_infos[op->code].name;
    pthread_mutex_lock(&w->lock);
    rendezvous *m = rendezvous_of(w, op, members, n);
    xt_status s = m ? NULL : status_oom(sizeof *m, "a rendezvous of processes");
    /* a fast member: the round before is not over */
    if (!s && m->full) s = wait_for(w, NULL, &m->rounds, m->rounds, what);
    uint64_t round = m ? m->rounds : 0;
    if (!s) {
        m->in[me] = in;
        if (++m->arrived == n) {
            m->full = true;
            pthread_cond_broadcast(&w->changed);
        } else {
            s = wait_for(w, &m->full, NULL, 0, what);
        }
    }
    pthread_mutex_unlock(&w->lock);
    if (s) return s;
    interp c = {.m = w->c->m};
    s = collective_compute(&c, op, n, m->in, me, out);
    pthread_mutex_lock(&w->lock);
    if (s) w->failed = true;
    if (++m->left == n) {
        m->arrived = m->left = 0;
        m->full = false;
        m->rounds++;
    }
    pthread_cond_broadcast(&w->changed);
    if (!s && m->rounds == round) s = wait_for(w, NULL, &m->rounds, round, what);
    pthread_mutex_unlock(&w->lock);
    return s;
}

static xt_status run_collective(process *p, const ir_op *op, const array *in, array *out) {
    const process_grid *g = &p->w->grid;
    int64_t *members = base_malloc((size_t)(g->replicas * g->partitions) * sizeof *members);
    size_t n = 0, me = 0;
    if (!members) return status_oom(sizeof *members, "a process group");
    xt_status s = collective_members(op, g, p->number, members, &n);
    while (me < n && members[me] != p->number) me++;
    if (!s) s = n ? meet(p, op, members, n, me, in, out) : collective_compute(p->w->c, op, 0, NULL, 0, out);
    base_free(members);
    return s;
}

/* --- Messages --- */
static void message_free(message *m) {
    for (size_t j = 0; m && m->values && j < m->n; j++) array_free(&m->values[j]);
    if (m) base_free(m->values);
    base_free(m);
}

static xt_status run_send(process *p, const ir_op *op, const array *in) {
    message *m = base_calloc(1, sizeof *m);
    if (m) m->values = base_calloc(op->n_in, sizeof *m->values);
    xt_status s = m && m->values ? NULL : status_oom(sizeof *m, "a message");
    for (; !s && m->n + 1 < op->n_in; m->n++) s = array_copy(&in[m->n], &m->values[m->n]); /* the token stays */
    if (s) {
        message_free(m);
        return s;
    }
    m->channel = ir_get_int(op, IR_A_channel_id, 0);
    pthread_mutex_lock(&p->w->lock);
    message **at = &p->w->messages;
    while (*at) at = &(*at)->next;
    *at = m;
    pthread_cond_broadcast(&p->w->changed);
    pthread_mutex_unlock(&p->w->lock);
    return NULL;
}

static xt_status copy_values(const array *from, size_t n, array *out) {
    for (size_t j = 0; j < n; j++) {
        if (from[j].type != out[j].type)
            return status_new(XT_INVALID_ARGUMENT, NULL, "value %zu arrives with another type than the program expects",
                              j);
        memcpy(out[j].data, from[j].data, ir_type_bytes(out[j].type));
    }
    return NULL;
}

static xt_status run_recv(process *p, const ir_op *op, array *out) {
    int64_t channel = ir_get_int(op, IR_A_channel_id, 0);
    world_run *w = p->w;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_SECONDS;
    message *got = NULL;
    bool late = false;
    pthread_mutex_lock(&w->lock);
    while (!got && !w->failed && !late) {
        message **at = &w->messages;
        while (*at && (*at)->channel != channel) at = &(*at)->next;
        got = *at;
        if (got)
            *at = got->next;
        else
            late = pthread_cond_timedwait(&w->changed, &w->lock, &until) == ETIMEDOUT;
    }
    pthread_mutex_unlock(&w->lock);
    if (!got) return status_new(XT_ABORTED, NULL, "recv on channel %lld: nobody sent", (long long)channel);
    xt_status s = got->n + 1 == op->n_out ? copy_values(got->values, got->n, out)
                                          : status_new(XT_INVALID_ARGUMENT, NULL,
                                                       "recv expects %u values, %zu were sent", op->n_out - 1, got->n);
    message_free(got);
    return s;
}

static xt_status run_infeed(process *p, const ir_op *op, array *out) {
    world_run *w = p->w;
    pthread_mutex_lock(&w->lock);
    size_t k = w->infeed_at++;
    pthread_mutex_unlock(&w->lock);
    if (!w->infeed || k >= w->infeed->n)
        return status_new(XT_OUT_OF_RANGE, NULL, "infeed: the program reads more than the %zu values it was given", k);
    size_t n = op->n_out - 1;
    array *values = base_calloc(n + 1, sizeof *values);
    if (!values) return status_oom(n * sizeof *values, "an infeed");
    xt_status s = interp_run(w->c->m, w->infeed->v.list[k].v.s, NULL, 0, NULL, n, values);
    if (!s) s = copy_values(values, n, out);
    for (size_t j = 0; j < n; j++) array_free(&values[j]);
    base_free(values);
    return s;
}

static xt_status run_hook(void *user, const ir_op *op, const array *in, array *out) {
    process *p = user;
    uint32_t id;
    switch (op->code) {
    case OP_replica_id: id = (uint32_t)(p->number / p->w->grid.partitions); break;
    case OP_partition_id: id = (uint32_t)(p->number % p->w->grid.partitions); break;
    case OP_send: return run_send(p, op, in);
    case OP_recv: return run_recv(p, op, out);
    case OP_infeed: return run_infeed(p, op, out);
    case OP_outfeed: return NULL; /* nobody listens; the token is all it gives */
    default: return run_collective(p, op, in, out);
    }
    memcpy(out->data, &id, sizeof id);
    return NULL;
}

/* --- The op --- */
static void *run_process(void *arg) {
    process *p = arg;
    world_run *w = p->w;
    interp_hooks hooks = {.user = p, .collective = run_hook};
    p->status = interp_run(w->c->m, p->program, &hooks, p->n_in, p->in, p->n_out, p->out);
    if (p->status) {
        pthread_mutex_lock(&w->lock);
        w->failed = true;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

/* The grid of the op's programs and each process's share of operands and results. */
static xt_status lay_out(world_run *w, const ir_op *op, const array *in, array *results, process **out) {
    const ir_attr *programs = ir_attr_find(op, IR_A_programs);
    bool ok = programs && programs->kind == IR_AK_ARRAY && programs->n > 0 && programs->v.list[0].kind == IR_AK_ARRAY &&
              programs->v.list[0].n > 0;
    if (!ok) return status_new(XT_INVALID_ARGUMENT, NULL, "run_parallel needs programs = [[@f, ...], ...]");
    w->grid = (process_grid){(int64_t)programs->n, (int64_t)programs->v.list[0].n};
    process *ps = *out = base_calloc((size_t)(w->grid.replicas * w->grid.partitions), sizeof *ps);
    if (!ps) return status_oom(sizeof *ps, "the processes of a grid");
    size_t in_at = 0, out_at = 0;
    for (int64_t k = 0; k < w->grid.replicas * w->grid.partitions; k++) {
        const ir_attr *row = &programs->v.list[k / w->grid.partitions];
        const ir_attr *name = row->kind == IR_AK_ARRAY && (int64_t)row->n == w->grid.partitions
                                  ? &row->v.list[k % w->grid.partitions]
                                  : NULL;
        const ir_func *f = name && (name->kind == IR_AK_SYMBOL || name->kind == IR_AK_STRING)
                               ? ir_func_find(w->c->m, name->v.s)
                               : NULL;
        if (!f || !f->body)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "run_parallel: process %lld has no program of that name in the module", (long long)k);
        const ir_op *ret = ir_block_return(f->body);
        ps[k] = (process){.w = w,
                          .number = k,
                          .program = f->name,
                          .n_in = f->body->n_args,
                          .n_out = ret ? ret->n_in : 0,
                          .in = in + in_at,
                          .out = results + out_at};
        in_at += ps[k].n_in;
        out_at += ps[k].n_out;
        if (in_at > op->n_in || out_at > op->n_out) break;
    }
    if (in_at != op->n_in || out_at != op->n_out)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "run_parallel has %u operands and %u results, its programs do not add up to that", op->n_in,
                          op->n_out);
    return NULL;
}

/* The failure that came first is the cause; "another process failed" is not. */
static xt_status first_failure(process *ps, int64_t n) {
    xt_status cause = NULL;
    for (int64_t k = 0; k < n; k++) {
        if (!ps[k].status) continue;
        bool better = !cause || (status_code(cause) == XT_ABORTED && status_code(ps[k].status) != XT_ABORTED);
        if (better) xt_status_free(cause);
        if (better)
            cause = status_context(ps[k].status, "process %lld", (long long)k);
        else
            xt_status_free(ps[k].status);
    }
    return cause;
}

xt_status interp_run_parallel(interp *c, const ir_op *op, const array *in, array *out) {
    world_run w = {.c = c, .infeed = ir_attr_find(op, IR_A_infeed)};
    process *ps = NULL;
    array *results = base_calloc(op->n_out + 1, sizeof *results);
    xt_status s = results ? lay_out(&w, op, in, results, &ps) : status_oom(op->n_out * sizeof *results, "results");
    int64_t n = s ? 0 : w.grid.replicas * w.grid.partitions, started = 0;
    pthread_t *threads = base_calloc((size_t)n + 1, sizeof *threads);
    if (!s && !threads) s = status_oom(sizeof *threads, "threads");
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    for (int error; started < n && !s; started++)
        if ((error = cpus_start(&threads[started], "a thread of the interpreter", run_process, &ps[started])) != 0) {
            s = status_context(status_no_thread(error, "its thread"), "process %lld of %lld", (long long)started,
                               (long long)n);
            pthread_mutex_lock(&w.lock);
            w.failed = true;
            pthread_cond_broadcast(&w.changed);
            pthread_mutex_unlock(&w.lock);
            break;
        }
    for (int64_t k = 0; k < started; k++) pthread_join(threads[k], NULL);
    xt_status cause = first_failure(ps, started);
    if (s)
        xt_status_free(cause);
    else
        s = cause;
    for (uint32_t j = 0; j < op->n_out && !s; j++) {
        if (results[j].type != out[j].type)
            s = status_new(XT_INVALID_ARGUMENT, NULL,
                           "run_parallel: result %u of the programs has another type than the op states", j);
        else if (out[j].type->kind == IR_TENSOR)
            memcpy(out[j].data, results[j].data, ir_type_bytes(out[j].type));
    }
    for (uint32_t j = 0; results && j < op->n_out; j++) array_free(&results[j]);
    while (w.messages) {
        message *m = w.messages;
        w.messages = m->next;
        message_free(m);
    }
    while (w.all_rendezvous) {
        rendezvous *m = w.all_rendezvous;
        w.all_rendezvous = m->next;
        base_free(m->in);
        base_free(m);
    }
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    base_free(threads);
    base_free(ps);
    base_free(results);
    return s;
}
