/* Collectives between their start and the first thunk that reads their results: the thunk only starts one, the run
 * polls those under way between thunks and finishes each before its first reader. */
#include "cpu/run/pending.h"

bool cpu_coll_fold_of(const ir_op *op, coll_op *out) {
    if (op->n_regions < 1 || !op->regions[0].block) return false;
    const ir_block *b = op->regions[0].block;
    const ir_op *o = b->first;
    if (!o || o->n_in != 2 || !o->next || o->next->n_in != 1 || o->next->in[0] != &o->out[0] || b->n_args != 2)
        return false;
    if (!((o->in[0] == b->args[0] && o->in[1] == b->args[1]) || (o->in[0] == b->args[1] && o->in[1] == b->args[0])))
        return false;
    switch ((int)o->code) {
    case OP_add: *out = COLL_SUM; return true;
    case OP_multiply: *out = COLL_PROD; return true;
    case OP_minimum: *out = COLL_MIN; return true;
    case OP_maximum: *out = COLL_MAX; return true;
    case OP_and: *out = COLL_AND; return true;
    case OP_or: *out = COLL_OR; return true;
    default: return false;
    }
}

typedef struct cpu_pending {
    coll_job job;
    const cpu_thunk *thunk;
    void **out; /* where the parts of `packed` go; NULL: the job works in its result */
    size_t cap_out;
    char *packed;
    size_t cap_packed;
} cpu_pending;

static size_t in_bytes(const ir_op *op) {
    size_t all = 0;
    for (uint32_t i = 0; i < op->n_in; i++) all += ir_type_bytes(op->in[i]->type);
    return all;
}

bool cpu_can_start(const cpu_exec *e, const cpu_thunk *t) {
    const ir_op *op = t->op;
    coll_op c;
    if (op->code != OP_all_reduce || t->n_ops != 1 || t->n_in != op->n_in || e->opts.num_partitions > 1 ||
        !cpu_coll_fold_of(op, &c))
        return false;
    const ir_attr *groups = ir_attr_find(op, IR_A_replica_groups);
    /* all replicas in one group, or sub-groups: those meet at once */
    if (groups && groups->n && groups->n != groups->rank2) return false;
    for (uint32_t i = 1; i < op->n_in; i++)
        if (op->in[i]->type->dtype != op->in[0]->type->dtype) return false;
    return op->n_in == 1 || in_bytes(op) <= CPU_COLL_PACKED_BYTES;
}

xt_status cpu_pending_room(cpu_device *d, const cpu_exec *e) {
    d->n_pending = d->n_finished = 0;
    d->running = e;
    if (e->n_starts <= d->cap_pending) return NULL;
    cpu_pending *p = base_calloc(e->n_starts, sizeof *p);
    if (!p) return status_oom(e->n_starts * sizeof *p, "the collectives of a program");
    if (d->cap_pending) memcpy(p, d->pending, d->cap_pending * sizeof *p); /* none is under way */
    base_free(d->pending);
    d->pending = p;
    d->cap_pending = e->n_starts;
    return NULL;
}

void cpu_pending_free(cpu_device *d) {
    for (uint32_t i = 0; i < d->cap_pending; i++) {
        base_free(d->pending[i].out);
        base_free(d->pending[i].packed);
    }
    base_free(d->pending);
}

static xt_status room_to_pack(cpu_pending *p, size_t bytes, size_t n) {
    if (bytes > p->cap_packed) {
        base_free(p->packed);
        p->packed = base_aligned(CPU_ALIGN, bytes);
        p->cap_packed = p->packed ? bytes : 0;
    }
    if (n > p->cap_out) {
        base_free(p->out);
        p->out = base_malloc(n * sizeof *p->out);
        p->cap_out = p->out ? n : 0;
    }
    return p->packed && p->out ? NULL : status_oom(bytes, "a collective");
}

void cpu_coll_note(const cpu_device *d, const cpu_thunk *t) {
    char name[96];
    cpu_thunk_name(t, name, sizeof name);
    coll_note(d->group, name);
}

xt_status cpu_pending_start(const cpu_call *c) {
    const ir_op *op = c->thunk->op;
    cpu_device *d = c->device;
    cpu_pending *p = &d->pending[d->n_pending];
    xt_dtype t = op->in[0]->type->dtype;
    size_t bytes = in_bytes(op), at = 0;
    coll_op how = COLL_SUM;
    char *data = c->out[0];
    cpu_coll_fold_of(op, &how);
    p->thunk = c->thunk;
    if (op->n_in > 1) {
        XT_TRY(room_to_pack(p, bytes ? bytes : 1, op->n_in));
        data = p->packed;
        memcpy(p->out, c->out, op->n_in * sizeof *p->out);
    }
    for (uint32_t i = 0; i < op->n_in; at += ir_type_bytes(op->in[i++]->type))
        if (data + at != c->in[i] && ir_type_bytes(op->in[i]->type))
            memcpy(data + at, c->in[i], ir_type_bytes(op->in[i]->type));
    d->n_pending++;
    cpu_coll_note(d, c->thunk);
    return coll_start(d->group, how, t, data, bytes / xt_dtype_size(t), &p->job);
}

/* The collective that was waited for, or made progress, when s happened. */
static xt_status name_first_pending(const cpu_device *d, xt_status s) {
    char name[96];
    if (!s) return NULL;
    cpu_thunk_name(d->pending[d->n_finished].thunk, name, sizeof name);
    return status_context(s, "op %s", name);
}

xt_status cpu_pending_poll(cpu_device *d) {
    return name_first_pending(d, coll_poll(d->group));
}

xt_status cpu_pending_finish(cpu_device *d, uint32_t until) {
    for (; d->n_finished < until && d->n_finished < d->n_pending; d->n_finished++) {
        cpu_pending *p = &d->pending[d->n_finished];
        const ir_op *op = p->thunk->op;
        if (!p->job.done) cpu_coll_note(d, p->thunk);
        XT_TRY(name_first_pending(d, coll_finish(d->group, &p->job)));
        size_t at = 0;
        for (uint32_t i = 0; op->n_in > 1 && i < op->n_in; at += ir_type_bytes(op->in[i++]->type))
            memcpy(p->out[i], p->packed + at, ir_type_bytes(op->in[i]->type));
    }
    return NULL;
}
