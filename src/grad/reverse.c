/* The reverse walk: cotangents flow from the root back through the block, op by op.
 *
 * The ops of a block stand in the order in which they were recorded, and an operand is always recorded before its
 * reader. So walking the list backwards from the root visits every op after all of its readers: no sort, no recursion,
 * and depth costs nothing.
 *
 * Invariants:
 *  1. A value's cotangent is complete when the walk reaches the op that defines it.
 *  2. Contributions are added in the order of the walk (readers last to first, operands left to right): the sum is the
 *     same in every run.
 *  3. Each cotangent has the type of its value; a rule that breaks this is a bug of ours and is reported as one.
 *  4. `value.mark` names a slot of this walk only if that slot names the value too, so marks need no clearing, and each
 *     is put back at the end: a rule may run a walk of its own inside another.
 *  5. A region is stepped over as if it were one op, which recompute.c differentiates. */
#include "grad/grad_int.h"

typedef struct slot {
    ir_value *value, *cotangent;
    uint64_t saved_mark;
} slot;

typedef struct sweep {
    ir_builder *b;
    slot *slots;
    size_t n, cap;
    void *scratch; /* per op: d_out, d_in, want */
    size_t scratch_bytes;
} sweep;

static slot *slot_of(const sweep *s, const ir_value *v) {
    return v->mark && v->mark <= s->n && s->slots[v->mark - 1].value == v ? &s->slots[v->mark - 1] : NULL;
}

static xt_status contribute(sweep *s, ir_value *v, ir_value *d) {
    slot *found = slot_of(s, v);
    if (found) {
        found->cotangent = ir_add(s->b, found->cotangent, d);
        return NULL;
    }
    slot fresh = {v, d, v->mark};
    if (!VEC_PUSH(s->slots, s->n, s->cap, fresh)) return status_oom(sizeof fresh, "gradients");
    v->mark = s->n;
    return NULL;
}

static xt_status take_status(ir_builder *b) {
    xt_status st = b->status;
    b->status = NULL;
    return st;
}

bool grad_differentiable(const ir_type *t) {
    return t->kind == IR_TENSOR && (ir_dtype_is_float(t->dtype) || ir_dtype_is_complex(t->dtype));
}

static xt_status check_types(const ir_op *op, ir_value *const *d_in) {
    for (size_t i = 0; i < op->n_in; i++) {
        if (!d_in[i] || d_in[i]->type == op->in[i]->type) continue;
        str got = STR_INIT, want = STR_INIT;
        ir_type_print(d_in[i]->type, &got);
        ir_type_print(op->in[i]->type, &want);
        xt_status st = status_new(XT_INTERNAL, src_get(op->src),
                                  "derivative of %s: operand %zu is %s, its gradient came out as %s",
                                  ir_op_infos[op->code].name, i, str_cstr(&want), str_cstr(&got));
        str_free(&got);
        str_free(&want);
        return st;
    }
    return NULL;
}

/* Runs the rule of one op whose results have cotangents and hands what it gives to the operands. */
static xt_status step(sweep *s, const ir_op *op, const grad_walk *w) {
    size_t bytes = ((size_t)op->n_out + op->n_in) * sizeof(ir_value *) + op->n_in * sizeof(bool);
    if (bytes > s->scratch_bytes) {
        void *p = base_realloc(s->scratch, bytes);
        if (!p) return status_oom(bytes, "gradients");
        s->scratch = p;
        s->scratch_bytes = bytes;
    }
    memset(s->scratch, 0, bytes);
    ir_value **d_out = s->scratch, **d_in = d_out + op->n_out;
    bool *want = (bool *)(d_in + op->n_in), any_out = false, any_want = false;
    for (size_t i = 0; i < op->n_out; i++) {
        slot *at = slot_of(s, &op->out[i]);
        if (!at || (w->flows && !w->flows(&op->out[i], w->user))) continue;
        d_out[i] = at->cotangent;
        any_out = true;
    }
    if (!any_out) return NULL;
    for (size_t i = 0; i < op->n_in; i++)
        any_want |= want[i] = grad_differentiable(op->in[i]->type) && w->needs(op->in[i], w->user);
    const grad_rule *rule = &grad_rules[op->code];
    if (op->n_regions && !any_want) any_want = grad_reads_wanted(op, w);
    if (!any_want || rule->zero) return NULL;
    grad_call call = {.b = s->b, .op = op, .d_out = d_out, .want = want, .d_in = d_in, .walk = w};
    if (!rule->fn) return grad_refuse(&call, rule->why ? rule->why : "it has no rule");

    s->b->src = op->src;
    s->b->path = op->path;
    bool done = false;
    if (w->custom && op->code == OP_optimization_barrier) XT_TRY(w->custom(&call, &done));
    if (!done) XT_TRY(rule->fn(&call));
    XT_TRY(take_status(s->b));
    XT_TRY(check_types(op, d_in));
    for (size_t i = 0; i < op->n_in; i++)
        if (want[i] && d_in[i]) XT_TRY(contribute(s, op->in[i], d_in[i]));
    for (size_t i = 0; i < call.n_captured; i++)
        if (call.d_captured[i]) XT_TRY(contribute(s, call.captured[i], call.d_captured[i]));
    return take_status(s->b);
}

/* All values of a region that something has flowed into take part at once; afterwards the values outside have what the
 * region gives them. */
static xt_status step_region(sweep *s, const grad_walk *w, size_t k) {
    ir_value **at = NULL, **d = NULL;
    size_t n = 0, cap = 0, n_d = 0, cap_d = 0;
    bool ok = true;
    for (const ir_op *op = w->regions[k].first; ok; op = op->next) {
        for (size_t i = 0; ok && i < op->n_out; i++) {
            const slot *found = slot_of(s, &op->out[i]);
            if (found) ok = VEC_PUSH(at, n, cap, found->value) && VEC_PUSH(d, n_d, cap_d, found->cotangent);
        }
        if (op == w->regions[k].last) break;
    }
    grad_recomputed r = {0};
    xt_status st = ok ? NULL : status_oom(n * sizeof *at, "gradients");
    if (!st && n) st = grad_recompute(s->b, w, k, n, at, d, &r);
    base_free(at);
    base_free(d);
    for (size_t i = 0; !st && i < r.n; i++)
        if (r.d_in[i]) st = contribute(s, r.in[i], r.d_in[i]);
    for (size_t i = 0; !st && r.d_leaf && i < w->n_leaves; i++) {
        if (!r.d_leaf[i]) continue;
        slot *leaf = slot_of(s, w->leaves[i]); /* what had come from outside is in the sum already */
        if (leaf)
            leaf->cotangent = r.d_leaf[i];
        else
            st = contribute(s, w->leaves[i], r.d_leaf[i]);
    }
    return st ? st : take_status(s->b);
}

static xt_status walk_back(sweep *s, const grad_walk *w, const ir_op *op) {
    size_t k = w->n_regions;
    for (; op && op != w->stop; op = op->prev) {
        if (k && w->regions[k - 1].last == op) {
            k--;
            XT_TRY(step_region(s, w, k));
            op = w->regions[k].first;
            k = w->regions[k].inside;
        } else
            XT_TRY(step(s, op, w));
    }
    return NULL;
}

xt_status grad_sweep(ir_builder *b, const grad_walk *w, ir_value **out) {
    sweep s = {.b = b};
    src_id src = b->src;
    uint32_t path = b->path;
    xt_status st = take_status(b);
    /* The last op there is now: what the rules append comes after it and is not walked. */
    const ir_op *op = b->before ? b->before->prev : b->block->last;
    for (size_t i = 0; !st && i < w->n_roots; i++) {
        ir_value *seed = w->seeds && w->seeds[i] ? w->seeds[i] : ir_splat(b, w->roots[i]->type, 1);
        st = b->status ? take_status(b) : contribute(&s, w->roots[i], seed);
    }
    if (!st) st = walk_back(&s, w, op);
    for (size_t i = 0; i < w->n_leaves; i++) {
        slot *at = st ? NULL : slot_of(&s, w->leaves[i]);
        out[i] = at ? at->cotangent : NULL;
    }
    for (size_t i = s.n; i-- > 0;) s.slots[i].value->mark = s.slots[i].saved_mark;
    base_free(s.slots);
    base_free(s.scratch);
    b->src = src;
    b->path = path;
    return st;
}

xt_status grad_reverse(ir_builder *b, ir_value *root, ir_value *seed, size_t n, ir_value *const *leaves,
                       bool (*needs)(const ir_value *, void *), void *user, ir_value **out) {
    if (!root) return status_new(XT_INVALID_ARGUMENT, NULL, "gradient of no value");
    const xt_src *where = root->def ? src_get(root->def->src) : NULL;
    if (!grad_differentiable(root->type)) {
        str t = STR_INIT;
        ir_type_print(root->type, &t);
        xt_status st = status_new(XT_INVALID_ARGUMENT, where,
                                  "gradient of a value of type %s: only floating-point values have one", str_cstr(&t));
        str_free(&t);
        return st;
    }
    if (seed && seed->type != root->type)
        return status_new(XT_INVALID_ARGUMENT, where, "the seed of a gradient must have the type of its root");
    grad_walk w = {
        .n_roots = 1, .roots = &root, .seeds = &seed, .n_leaves = n, .leaves = leaves, .needs = needs, .user = user};
    return grad_sweep(b, &w, out);
}
