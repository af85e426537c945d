/* All-reduces over the same devices that do not need each other become one: a rendezvous costs more than a
 * few kilobytes.
 *
 * First, those that no product or convolution waits for (gradients on their way to the optimizer, losses) are put off,
 * with all that depends on them, until nothing else is left to do. Then, in the order of the program, each all-reduce
 * waits for others of its kind until a result is read or the bundle is large. All devices run the same program, so all
 * agree on the bundles. */
#include "pass/spmd.h"

enum { BUNDLES = 8 };
static const double most_bytes = 4 << 20;

/* --- putting off --- */
typedef struct order {
    ir_op **ops, **now, **later; /* the block as it was; in the new order; what waits */
    char *needed; /* a product or convolution depends on it */
    char *waits;
    size_t n, n_now, n_later;
} order;

/* op->user is its place + 1 while the order is made. The sources of an op are the ops of main it reads from, also in
 * its regions. */
static bool any_source(const order *o, const ir_op *op, const char *set) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->def && op->in[i]->def->user && set[op->in[i]->def->user - 1]) return true;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            if (any_source(o, in, set)) return true;
    return false;
}
static void mark_sources(const order *o, const ir_op *op, char *set) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->def && op->in[i]->def->user) set[op->in[i]->def->user - 1] = 1;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            mark_sources(o, in, set);
}

static bool is_heavy(const ir_op *op) {
    ir_class c = ir_op_infos[op->code].cls;
    if (ir_op_infos[op->code].flags & IR_TERMINATOR) return false;
    return c == IR_CLASS_CONTRACT || c == IR_CLASS_LINALG || op->code == OP_while || op->code == OP_if ||
           op->code == OP_case || (!ir_op_is_pure(op) && c != IR_CLASS_COLLECTIVE);
}

static bool mergeable(const ir_op *op) {
    return op->code == OP_all_reduce && op->n_in == 1 && spmd_region_op(op) != OP_COUNT;
}

/* One level: what depends on the all-reduces that are put off waits for the next. */
static void one_level(order *o, ir_op **list, size_t n) {
    size_t first_off = o->n_later;
    for (size_t i = 0; i < n; i++) {
        size_t k = (size_t)list[i]->user - 1;
        o->waits[k] = any_source(o, list[i], o->waits) || (mergeable(list[i]) && !o->needed[k]);
        if (o->waits[k])
            o->later[o->n_later++] = list[i];
        else
            o->now[o->n_now++] = list[i];
    }
    size_t kept = first_off; /* all-reduces whose operands are there go now, side by side */
    for (size_t i = first_off; i < o->n_later; i++) {
        ir_op *op = o->later[i];
        size_t k = (size_t)op->user - 1;
        bool ready = mergeable(op) && !any_source(o, op, o->waits);
        if (ready) o->waits[k] = 2; /* still not to be read in this level */
    }
    for (size_t i = first_off; i < o->n_later; i++) {
        ir_op *op = o->later[i];
        if (o->waits[op->user - 1] == 2)
            o->now[o->n_now++] = op;
        else
            o->later[kept++] = op;
    }
    o->n_later = kept;
    memset(o->waits, 0, o->n);
}

static xt_status put_off(spmd *s) {
    ir_block *b = s->f->body;
    order o = {0};
    for (const ir_op *op = b->first; op; op = op->next) o.n++;
    o.ops = arena_alloc(s->mem, o.n * sizeof *o.ops);
    o.now = arena_alloc(s->mem, o.n * sizeof *o.now);
    o.later = arena_alloc(s->mem, 2 * o.n * sizeof *o.later);
    o.needed = arena_alloc(s->mem, o.n);
    o.waits = arena_alloc(s->mem, o.n);
    if (!o.ops || !o.now || !o.later || !o.needed || !o.waits) return status_oom(o.n * sizeof *o.ops, "partitioning");
    size_t n = 0;
    for (ir_op *op = b->first; op; op = op->next) {
        o.ops[n++] = op;
        op->user = n;
    }
    for (size_t i = n; i-- > 0;)
        if (o.needed[i] || is_heavy(o.ops[i])) mark_sources(&o, o.ops[i], o.needed);
    ir_op **list = o.ops, **spare = o.later + o.n;
    for (size_t left = n - 1; left; left = o.n_later, o.n_later = 0) { /* the return stays last */
        one_level(&o, list, left);
        memcpy(spare, o.later, o.n_later * sizeof *spare);
        list = spare;
    }
    o.now[o.n_now++] = o.ops[n - 1];
    for (size_t i = 0; i < n; i++) {
        o.now[i]->user = 0;
        o.now[i]->prev = i ? o.now[i - 1] : NULL;
        o.now[i]->next = i + 1 < n ? o.now[i + 1] : NULL;
    }
    b->first = o.now[0];
    b->last = o.now[n - 1];
    return NULL;
}

/* --- bundles --- */
typedef struct bundle {
    ir_op **ops;
    size_t n, cap;
    double bytes;
} bundle;
typedef struct merger {
    spmd *s;
    bundle open[BUNDLES];
} merger;

static bool same_kind(const ir_op *a, const ir_op *b) {
    const ir_attr *x = ir_attr_find(a, IR_A_replica_groups), *y = ir_attr_find(b, IR_A_replica_groups);
    bool same_ids =
        (ir_get_int(a, IR_A_channel_id, 0) > 0) == (ir_get_int(b, IR_A_channel_id, 0) > 0) &&
        ir_get_bool(a, IR_A_use_global_device_ids, false) == ir_get_bool(b, IR_A_use_global_device_ids, false);
    return same_ids && a->in[0]->type->dtype == b->in[0]->type->dtype && spmd_region_op(a) == spmd_region_op(b) &&
           x->n == y->n && x->rank2 == y->rank2 && memcmp(x->v.ints, y->v.ints, x->n * sizeof *x->v.ints) == 0;
}

/* Builds the bundle's one op before `at` and empties it. op->user of members is their bundle's number + 1. */
static xt_status close_bundle(merger *m, bundle *b, ir_op *at) {
    size_t n = b->n;
    b->n = 0;
    b->bytes = 0;
    for (size_t i = 0; i < n; i++) b->ops[i]->user = 0;
    if (n < 2) return NULL;
    ir_builder build = ir_before(m->s->m, at);
    build.src = b->ops[n - 1]->src;
    build.path = b->ops[n - 1]->path;
    ir_value **in = arena_alloc(m->s->mem, n * sizeof *in);
    ir_block *region = b->ops[0]->regions[0].block;
    if (!in) return status_oom(n * sizeof *in, "partitioning");
    for (size_t i = 0; i < n; i++) in[i] = b->ops[i]->in[0];
    region->owner = NULL; /* moves to the new op */
    ir_op *made = ir_build(&build, OP_all_reduce, n, in, b->ops[0]->n_attrs, b->ops[0]->attrs, 1, &region, 0, NULL);
    if (!made) return build.status ? build.status : status_oom(n * sizeof *in, "partitioning");
    b->ops[0]->n_regions = 0;
    for (size_t i = 0; i < n; i++) {
        ir_replace_uses(m->s->m, &b->ops[i]->out[0], &made->out[i]);
        ir_erase(b->ops[i]);
    }
    m->s->stats->all_reduce -= n - 1;
    return NULL;
}

/* Closes what `op` reads results of, inside its regions too; `at` is the op of main's block around it. */
static xt_status close_read(merger *m, const ir_op *op, ir_op *at) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->def && op->in[i]->def->user) XT_TRY(close_bundle(m, &m->open[op->in[i]->def->user - 1], at));
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *inner = op->regions[r].block ? op->regions[r].block->first : NULL; inner; inner = inner->next)
            XT_TRY(close_read(m, inner, at));
    return NULL;
}

static xt_status take(merger *m, ir_op *op) {
    size_t k = 0;
    while (k < BUNDLES && m->open[k].n && !same_kind(m->open[k].ops[0], op)) k++;
    if (k == BUNDLES) return NULL;
    bundle *b = &m->open[k];
    double bytes = (double)op->in[0]->type->count * (double)xt_dtype_size(op->in[0]->type->dtype);
    if (b->bytes + bytes > most_bytes) XT_TRY(close_bundle(m, b, op));
    if (!VEC_PUSH(b->ops, b->n, b->cap, op)) return status_oom(sizeof op, "partitioning");
    b->bytes += bytes;
    op->user = k + 1;
    return NULL;
}

xt_status spmd_merge(spmd *s) {
    merger m = {.s = s};
    xt_status st = s->stats->all_reduce > 1 ? put_off(s) : NULL;
    for (ir_op *op = s->f->body->first; op && !st; op = op->next) {
        st = close_read(&m, op, op);
        if (!st && mergeable(op)) st = take(&m, op);
    }
    for (size_t k = 0; k < BUNDLES; k++) {
        for (size_t i = 0; i < m.open[k].n; i++) m.open[k].ops[i]->user = 0; /* after a failure */
        base_free(m.open[k].ops);
    }
    return st;
}
