/* The reverse walk: cotangents flow from the root back through the block, op by op.
 *
 * The ops of a block stand in the order in which they were recorded, and an operand is always recorded before its reader. So walking the list
 * backwards from the root visits every op after all of its readers: no sort, no recursion, and depth costs nothing.
 *
 * Invariants:
 *  1. A value's cotangent is complete when the walk reaches the op that defines it.
 *  2. Contributions are added in the order of the walk (readers last to first, operands left to right): the sum is the same in every run.
 *  3. Each cotangent has the type of its value; a rule that breaks this is a bug of ours and is reported as one.
 *  4. `value.mark` names a slot of this walk only if that slot names the value too, so marks need no clearing, and each is put back at the end:
 *     a rule may run a walk of its own inside another. */
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

static bool differentiable(const ir_type *t) {
    return t->kind == IR_TENSOR && (ir_dtype_is_float(t->dtype) || ir_dtype_is_complex(t->dtype));
}

static xt_status check_types(const ir_op *op, ir_value *const *d_in) {
    for (size_t i = 0; i < op->n_in; i++) {
        if (!d_in[i] || d_in[i]->type == op->in[i]->type) continue;
        str got = STR_INIT, want = STR_INIT;
        ir_type_print(d_in[i]->type, &got);
        ir_type_print(op->in[i]->type, &want);
        xt_status st = status_new(XT_INTERNAL, src_get(op->src), "derivative of %s: operand %zu is %s, its gradient came out as %s",
                                  ir_op_infos[op->code].name, i, str_cstr(&want), str_cstr(&got));
        str_free(&got);
        str_free(&want);
        return st;
    }
    return NULL;
}

/* Runs the rule of one op whose results have cotangents and hands what it gives to the operands. */
static xt_status step(sweep *s, const ir_op *op, bool (*needs)(const ir_value *, void *), void *user) {
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
        d_out[i] = at ? at->cotangent : NULL;
        any_out |= at != NULL;
    }
    if (!any_out) return NULL;
    for (size_t i = 0; i < op->n_in; i++) any_want |= want[i] = differentiable(op->in[i]->type) && needs(op->in[i], user);
    const grad_rule *rule = &grad_rules[op->code];
    if (!any_want || rule->zero) return NULL;
    grad_call call = {s->b, op, d_out, want, d_in};
    if (!rule->fn) return grad_refuse(&call, rule->why ? rule->why : "it has no rule");

    s->b->src = op->src;
    s->b->path = op->path;
    XT_TRY(rule->fn(&call));
    XT_TRY(take_status(s->b));
    XT_TRY(check_types(op, d_in));
    for (size_t i = 0; i < op->n_in; i++)
        if (want[i] && d_in[i]) XT_TRY(contribute(s, op->in[i], d_in[i]));
    return take_status(s->b);
}

xt_status grad_sweep(ir_builder *b, const ir_op *stop, size_t n_roots, ir_value *const *roots, ir_value *const *seeds, size_t n,
                     ir_value *const *leaves, bool (*needs)(const ir_value *, void *), void *user, ir_value **out) {
    sweep s = {.b = b};
    src_id src = b->src;
    uint32_t path = b->path;
    xt_status st = take_status(b);
    /* The last op there is now: what the rules append comes after it and is not walked. */
    const ir_op *op = b->before ? b->before->prev : b->block->last;
    for (size_t i = 0; !st && i < n_roots; i++) {
        ir_value *seed = seeds && seeds[i] ? seeds[i] : ir_splat(b, roots[i]->type, 1);
        st = b->status ? take_status(b) : contribute(&s, roots[i], seed);
    }
    for (; !st && op && op != stop; op = op->prev) st = step(&s, op, needs, user);
    for (size_t i = 0; i < n; i++) {
        slot *at = st ? NULL : slot_of(&s, leaves[i]);
        out[i] = at ? at->cotangent : NULL;
    }
    for (size_t i = s.n; i-- > 0;) s.slots[i].value->mark = s.slots[i].saved_mark;
    base_free(s.slots);
    base_free(s.scratch);
    b->src = src;
    b->path = path;
    return st;
}

xt_status grad_reverse(ir_builder *b, ir_value *root, ir_value *seed, size_t n, ir_value *const *leaves, bool (*needs)(const ir_value *, void *),
                       void *user, ir_value **out) {
    if (!root) return status_new(XT_INVALID_ARGUMENT, NULL, "gradient of no value");
    const xt_src *where = root->def ? src_get(root->def->src) : NULL;
    if (!differentiable(root->type)) {
        str t = STR_INIT;
        ir_type_print(root->type, &t);
        xt_status st = status_new(XT_INVALID_ARGUMENT, where, "gradient of a value of type %s: only floating-point values have one", str_cstr(&t));
        str_free(&t);
        return st;
    }
    if (seed && seed->type != root->type) return status_new(XT_INVALID_ARGUMENT, where, "the seed of a gradient must have the type of its root");
    return grad_sweep(b, NULL, 1, &root, &seed, n, leaves, needs, user, out);
}
