/* Shardings along equal factors: what one tensor of an op says about a factor, the others hear, as far as their own
 * axes are free. Values whose sharding the program states never change. A value that several neighbours would divide in
 * different ways keeps what came first; resharding at the op then makes up for it.
 *
 * Order matters where axes compete, so there are three stages. First only first dims speak to first dims: by custom
 * they are the batch, which shall win over the dims along which parameters are divided for storage. Then all dims, but
 * broadcasts to something larger hear from their users before they speak: a bias that is divided is cheap to join, what
 * is made of it is not. Then everything. */
#include "pass/spmd.h"

enum { MOST_ROUNDS = 32 };
typedef enum stage { FIRST_DIMS, USERS_FIRST, EVERYTHING, STAGES } stage;

spmd_assign spmd_assign_none(void) {
    spmd_assign a;
    memset(a.factor, -1, sizeof a.factor);
    memset(a.pos, 0, sizeof a.pos);
    return a;
}

int spmd_assign_axes(const spmd_assign *a, int factor, int8_t out[IR_SHARD_AXES]) {
    int n = 0;
    for (int x = 0; x < IR_SHARD_AXES; x++)
        if (a->factor[x] == factor) {
            out[a->pos[x]] = (int8_t)x;
            n++;
        }
    return n;
}

spmd_assign spmd_project(const ir_grid *g, const spmd_rule *r, size_t tensor, const ir_sharding *s) {
    spmd_assign a = spmd_assign_none();
    const ir_type *t = r->types[tensor];
    for (uint32_t d = 0; t->kind == IR_TENSOR && d < t->rank; d++) {
        const spmd_dim *dim = &r->dims[tensor][d];
        int8_t axes[IR_SHARD_AXES];
        int n = dim->n ? ir_sharding_axes(s, (int)d, axes) : 0, k = 0, pos = 0;
        int64_t used = 1, parts = ir_sharding_parts(g, s, (int)d);
        if (dim->n == 1 && spmd_may_divide(&r->factors[dim->factor[0]], parts)) {
            for (; pos < n; pos++) {
                a.factor[axes[pos]] = dim->factor[0];
                a.pos[axes[pos]] = (uint8_t)pos;
            }
            continue;
        }
        for (int i = 0; i < n && k < dim->n; i++) {
            int64_t size = r->factors[dim->factor[k]].size;
            if (size % (used * g->size[axes[i]])) break;
            a.factor[axes[i]] = dim->factor[k];
            a.pos[axes[i]] = (uint8_t)pos++;
            used *= g->size[axes[i]];
            if (used < size) continue;
            k++;
            used = 1;
            pos = 0;
        }
    }
    return a;
}

ir_sharding spmd_unproject(const ir_grid *g, const spmd_rule *r, size_t tensor, const spmd_assign *a) {
    ir_sharding s = ir_sharding_none();
    const ir_type *t = r->types[tensor];
    for (uint32_t d = 0; t->kind == IR_TENSOR && d < t->rank; d++) {
        const spmd_dim *dim = &r->dims[tensor][d];
        for (int k = 0; k < dim->n; k++) {
            int8_t axes[IR_SHARD_AXES];
            int n = spmd_assign_axes(a, dim->factor[k], axes);
            int64_t parts = 1;
            for (int i = 0; i < n; i++) {
                if (s.dim[axes[i]] < 0) ir_sharding_add(&s, axes[i], (int)d);
                parts *= g->size[axes[i]];
            }
            if (parts < r->factors[dim->factor[k]].size) break; /* tiles go no further */
        }
    }
    return s;
}

/* --- one op --- */
static bool in_first_dim(const spmd_rule *r, size_t t, size_t f) {
    const spmd_dim *d = r->types[t]->kind == IR_TENSOR && r->types[t]->rank ? &r->dims[t][0] : NULL;
    for (int k = 0; d && k < d->n; k++)
        if (d->factor[k] == (int)f) return true;
    return false;
}

/* Adds what tensor t says to what is said already: a list of axes that goes on where the known one ends. */
static void hear(const spmd *s, const spmd_rule *r, size_t t, stage now, spmd_assign *known) {
    spmd_assign a = spmd_project(&s->grid, r, t, &spmd_value_of(s, r->values[t])->want);
    for (size_t f = 0; f < r->n_factors; f++) {
        if (now == FIRST_DIMS && !in_first_dim(r, t, f)) continue;
        int8_t mine[IR_SHARD_AXES], theirs[IR_SHARD_AXES];
        int n = spmd_assign_axes(&a, (int)f, mine), k = spmd_assign_axes(known, (int)f, theirs);
        bool goes_on = n > k && memcmp(mine, theirs, (size_t)k) == 0;
        for (int i = k; i < n && goes_on; i++)
            if (known->factor[mine[i]] >= 0) goes_on = false; /* divides another factor already */
        for (int i = k; i < n && goes_on; i++) {
            known->factor[mine[i]] = (int16_t)f;
            known->pos[mine[i]] = (uint8_t)i;
        }
    }
}

/* Tensor t takes over what it has no contradiction to. */
static bool speak(const spmd *s, const spmd_rule *r, size_t t, stage now, const spmd_assign *known) {
    spmd_value *v = spmd_value_of(s, r->values[t]);
    if (v->fixed && !v->open_dims) return false;
    ir_sharding next = spmd_unproject(&s->grid, r, t, known), merged = v->want;
    bool changed = false;
    const ir_type *type = r->types[t];
    for (uint32_t d = 0; type->kind == IR_TENSOR && d < (now == FIRST_DIMS && type->rank ? 1 : type->rank); d++) {
        int8_t old[IR_SHARD_AXES], new[IR_SHARD_AXES];
        int n = ir_sharding_axes(&v->want, (int)d, old), k = ir_sharding_axes(&next, (int)d, new);
        if (k <= n || memcmp(old, new, (size_t)n) != 0 || (v->fixed && !(v->open_dims & 1u << d))) continue;
        for (int i = n; i < k && merged.dim[new[i]] == -1; i++) {
            ir_sharding_add(&merged, new[i], (int)d);
            changed = true;
        }
    }
    if (changed) v->want = merged;
    return changed;
}

static bool grows(const ir_op *op) {
    return op->code == OP_broadcast_in_dim && op->out[0].type->count > op->in[0]->type->count;
}

/* --- summands --- */
static bool want_summands(const spmd *s, const ir_value *v, unsigned axes) {
    spmd_value *x = spmd_value_of(s, v);
    bool changed = false;
    for (int a = 0; a < s->grid.n_axes && !x->fixed; a++)
        if (axes & 1u << a && x->want.dim[a] == -1) {
            x->want.dim[a] = IR_SHARD_SUMMANDS;
            changed = true;
        }
    return changed;
}
static unsigned summands_of(const spmd *s, const ir_value *v) {
    return ir_sharding_summands(&spmd_value_of(s, v)->want);
}

/* Summands pass through an annotation or a linear op: backward when its result is wanted so (what is the only such
 * operand of a product is known forward only), forward when all operands are, or the rows that replace others. */
static bool pass_summands(const spmd *s, const ir_op *op) {
    spmd_linear l = ir_is_sharding(op) ? (spmd_linear){1, false} : spmd_linear_of(op);
    if (!l.operands) return false;
    unsigned out = summands_of(s, &op->out[0]), all = ~0u, some = 0;
    bool changed = false;
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!(l.operands & 1u << i)) continue;
        if (!l.one && out) changed |= want_summands(s, op->in[i], out);
        unsigned mine = summands_of(s, op->in[i]);
        all &= mine;
        some |= mine;
    }
    bool loosely = l.one || op->code == OP_dynamic_update_slice;
    return want_summands(s, &op->out[0], loosely ? some : all) || changed;
}

static bool tie(const spmd *s, const spmd_rule *r, stage now) {
    spmd_assign known = spmd_assign_none();
    bool changed = false;
    unsigned sums = 0;
    for (size_t t = 0; t < r->n_tensors; t++) {
        hear(s, r, t, now, &known);
        sums |= summands_of(s, r->values[t]);
    }
    for (size_t t = 0; t < r->n_tensors; t++) {
        changed |= speak(s, r, t, now, &known);
        changed |= sums && want_summands(s, r->values[t], sums);
    }
    return changed;
}

static bool visit(spmd *s, size_t k, bool forward, stage now) {
    const spmd_op *o = &s->ops[k];
    const spmd_rule *r = o->rule;
    spmd_assign known = spmd_assign_none();
    bool hears_operands = !(now < EVERYTHING && grows(o->op)), changed = false;
    size_t n_in = o->op->n_in, n = r->n_tensors;
    for (size_t t = 0; t < o->n_ties; t++) changed |= o->ties[t]->known && tie(s, o->ties[t], now);
    if (!o->manual && o->op->n_out) changed |= pass_summands(s, o->op);
    if (!r->known) return changed;
    for (size_t i = 0; i < n; i++) {
        size_t t = forward ? i : (i < n - n_in ? n_in + i : i - (n - n_in)); /* backward: results first */
        if (t >= n_in || hears_operands) hear(s, r, t, now, &known);
    }
    for (size_t t = 0; t < n; t++) changed |= speak(s, r, t, now, &known);
    return changed;
}

xt_status spmd_propagate(spmd *s) {
    for (stage now = FIRST_DIMS; now < STAGES; now++) {
        bool changed = true;
        for (int round = 0; changed && round < MOST_ROUNDS; round++) {
            changed = false;
            for (size_t k = 0; k < s->n_ops; k++) changed |= visit(s, k, true, now);
            for (size_t k = s->n_ops; k-- > 0;) changed |= visit(s, k, false, now);
        }
    }
    return NULL;
}
