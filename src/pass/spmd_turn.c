/* Dims that are turned: concatenate(x[n-k..n], x[0..n-k]) puts what is at place i to place i + k. Where x is divided
 * along the dim and k is a number of whole parts, each device sends its part on: a collective_permute, where the two
 * slices alone would join the dim. It is how a program for all devices hands values round (layers_attention_ring.c;
 * jnp.roll); XLA's partitioner knows the same pattern. */
#include "pass/spmd.h"

static xt_status oom(void) {
    return status_oom(0, "partitioning");
}

/* op is x[from..to] along dim, all else whole, of the type of x otherwise. */
static const ir_value *slice_of(const ir_value *v, int64_t dim, int64_t *from, int64_t *to) {
    const ir_op *op = v->def;
    size_t n, k, j;
    if (!op || op->code != OP_slice) return NULL;
    const int64_t *start = ir_get_ints(op, IR_A_start_indices, &n), *limit = ir_get_ints(op, IR_A_limit_indices, &k),
                  *stride = ir_get_ints(op, IR_A_strides, &j);
    const ir_type *x = op->in[0]->type;
    for (size_t d = 0; d < x->rank; d++) {
        if (d >= n || d >= k || (d < j && stride[d] != 1)) return NULL;
        if ((int64_t)d != dim && (start[d] != 0 || limit[d] != x->dims[d])) return NULL;
    }
    *from = start[dim];
    *to = limit[dim];
    return op->in[0];
}

/* What op turns along *dim by *by places, or NULL. */
static ir_value *turned(const ir_op *op, int64_t *dim, int64_t *by) {
    int64_t a, b, c, d;
    if (op->code != OP_concatenate || op->n_in != 2) return NULL;
    *dim = ir_get_int(op, IR_A_dimension, 0);
    const ir_value *x = slice_of(op->in[0], *dim, &a, &b), *y = slice_of(op->in[1], *dim, &c, &d);
    int64_t n = op->out[0].type->dims[*dim];
    if (!x || x != y || x->type != op->out[0].type || b != n || c != 0 || a != d) return NULL;
    *by = n - a;
    return op->in[0]->def->in[0];
}

static void count_uses(const spmd *s, const ir_block *b, uint32_t *uses) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++) {
            const spmd_value *v = spmd_value_of(s, op->in[i]);
            if (v) uses[v - s->values]++;
        }
        for (uint32_t r = 0; r < op->n_regions; r++) count_uses(s, op->regions[r].block, uses);
    }
}

/* The slices are skipped, so only those count that nothing else reads. */
xt_status spmd_find_turns(spmd *s) {
    uint32_t *uses = arena_alloc(s->mem, (s->n_values + 1) * sizeof *uses);
    if (!uses) return oom();
    memset(uses, 0, (s->n_values + 1) * sizeof *uses);
    count_uses(s, s->f->body, uses);
    for (size_t k = 0; k < s->n_ops; k++) {
        spmd_op *o = &s->ops[k];
        int64_t dim, by;
        ir_value *x = o->manual ? NULL : turned(o->op, &dim, &by);
        if (!x || !spmd_value_of(s, x)) continue;
        bool alone = true;
        for (int i = 0; i < 2; i++) {
            const spmd_value *v = spmd_value_of(s, o->op->in[i]);
            alone = alone && v && uses[v - s->values] == 1;
        }
        if (!alone) continue;
        o->ties = arena_alloc(s->mem, sizeof *o->ties);
        if (!o->ties) return oom();
        XT_TRY(spmd_rule_tie(s->mem, 2, (const ir_value *const[]){x, &o->op->out[0]}, o->ties));
        o->n_ties = 1;
        o->turns = true;
        o->rule->known = false; /* the tie says more */
        size_t left = 2;
        for (size_t i = k; i-- > 0 && left;)
            for (int j = 0; j < 2; j++)
                if (s->ops[i].op == o->op->in[j]->def) {
                    s->ops[i].skipped = true;
                    s->ops[i].rule->known = false;
                    left--;
                }
    }
    return NULL;
}

/* The dim is whole here. */
static ir_value *turn_here(spmd *s, ir_value *v, int64_t dim, int64_t by) {
    int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK], cut[IR_MAX_RANK] = {0};
    memcpy(high, v->type->dims, v->type->rank * sizeof *high);
    cut[dim] = high[dim] - by;
    ir_value *last = ir_slice(&s->b, v, cut, high, NULL);
    high[dim] -= by;
    ir_value *both[] = {last, ir_slice(&s->b, v, low, high, NULL)};
    return both[0] && both[1] ? ir_concatenate(&s->b, 2, both, dim) : NULL;
}

/* Each device's part goes on by `steps` parts. */
static ir_value *send_on(spmd *s, ir_value *v, const ir_sharding *form, int64_t dim, int64_t steps) {
    int8_t axes[IR_SHARD_AXES];
    int n = ir_sharding_axes(form, (int)dim, axes);
    const ir_grid *g = &s->grid;
    int64_t parts = ir_sharding_parts(g, form, (int)dim);
    int64_t *pairs = arena_alloc(s->mem, 2 * (size_t)g->devices * sizeof *pairs);
    if (!pairs) {
        if (!s->b.status) s->b.status = oom();
        return NULL;
    }
    for (int64_t k = 0; k < g->devices; k++) {
        int64_t at = 0, to = k;
        for (int i = 0; i < n; i++) {
            int64_t digit = k / g->stride[axes[i]] % g->size[axes[i]];
            at = at * g->size[axes[i]] + digit;
            to -= digit * g->stride[axes[i]];
        }
        at = (at + steps) % parts;
        for (int i = n; i-- > 0; at /= g->size[axes[i]]) to += at % g->size[axes[i]] * g->stride[axes[i]];
        pairs[2 * k] = k;
        pairs[2 * k + 1] = to;
    }
    return spmd_permute(s, v, pairs);
}

xt_status spmd_emit_turn(spmd *s, spmd_op *o) {
    const ir_op *op = o->op;
    int64_t dim = 0, by = 0;
    ir_value *x = turned(op, &dim, &by);
    spmd_value *out = spmd_value_of(s, &op->out[0]);
    ir_sharding form = out->want;
    for (int a = 0; a < IR_SHARD_AXES; a++)
        if (form.dim[a] == IR_SHARD_SUMMANDS) form.dim[a] = -1;
    int64_t n = op->out[0].type->dims[dim], parts = ir_sharding_parts(&s->grid, &form, (int)dim);
    if (n % parts || by % (n / parts)) {
        ir_sharding_drop(&form, (int)dim);
        parts = 1;
    }
    ir_value *v = x ? spmd_in_form(s, x, &form) : NULL;
    if (v) v = parts > 1 ? send_on(s, v, &form, dim, by / (n / parts)) : turn_here(s, v, dim, by);
    out->now = v;
    out->have = form;
    s->emitted++;
    return v ? NULL : s->b.status ? s->b.status : oom();
}
