/* Gradients of what a loop's body reads from outside, summed over the iterations: loop.h says how. */
#include "grad/loop.h"

enum { MOST_STEPS = 4 }; /* transposes, reshapes and converts between a product and what it is a gradient of */

/* --- what an iteration's part is made of --- */
static bool in_back(const loop *l, const ir_value *v) {
    return v->block == l->back;
}

static bool is_zeros(const ir_value *v) {
    double zero;
    return ir_is_constant(v, &zero) && zero == 0;
}

static bool rearranges(const ir_op *op) {
    return op && (op->code == OP_transpose || op->code == OP_reshape || op->code == OP_convert);
}

/* The product that g is, seen through what only rearranges it. */
static const ir_op *product_of(const loop *l, const ir_value *g) {
    for (int k = 0; k <= MOST_STEPS && g->def && in_back(l, g); k++) {
        if (g->def->code == OP_dot_general) return g->def;
        if (!rearranges(g->def)) return NULL;
        g = g->def->in[0];
    }
    return NULL;
}

/* Finds v stacked already: kept by the forward loop, a row of an input, or a row that another term gathers. */
static void find_stack(const loop *l, loop_side *s) {
    const ir_op *cut = s->v->def && s->v->def->code == OP_reshape ? s->v->def->in[0]->def : NULL;
    for (size_t k = 0; k < l->n_kept && !s->order; k++) {
        const loop_kept *kept = &l->kept[k];
        if (s->v != (kept->row ? kept->row : l->back->args[kept->value->index])) continue;
        s->stack = kept->stack;
        s->order = LOOP_ROW_UP;
    }
    if (!s->order && cut && cut->code == OP_dynamic_slice && !grad_within(cut->in[0], l->back) &&
        loop_is_row_type(cut->out[0].type, s->v->type)) {
        s->order = loop_row(l, cut->in[0]->type, cut->out[0].type, cut->in + 1, l->back);
        if (s->order) s->stack = cut->in[0];
    }
    for (size_t t = 0; t < l->n_terms && !s->order; t++) {
        const loop_term *row = &l->terms[t];
        const ir_op *grown = row->kind == LOOP_ROW && row->order ? row->op->in[1]->def : NULL;
        if (!grown || grown->code != OP_reshape || grown->in[0] != s->v ||
            !loop_is_row_type(grown->out[0].type, s->v->type))
            continue;
        s->row_term = t;
        s->order = row->order;
    }
}

/* A product whose operands, where they must be stacked, are no larger than itself. */
static bool take_product(const loop *l, loop_term *t) {
    const ir_op *dot = l->trips > 0 ? product_of(l, t->g) : NULL;
    int64_t room = dot ? dot->out[0].type->count : 0;
    for (int i = 0; i < 2 && dot; i++) {
        t->side[i] = (loop_side){.v = dot->in[i], .row_term = SIZE_MAX, .state = SIZE_MAX};
        if (!in_back(l, dot->in[i])) return false;
        find_stack(l, &t->side[i]);
        if (!t->side[i].order) room -= dot->in[i]->type->count;
    }
    t->op = dot;
    return dot && room >= 0;
}

static xt_status add_terms(loop *l, size_t *cap, size_t captured, ir_value *g, int depth) {
    const ir_op *op = in_back(l, g) ? g->def : NULL;
    if (op && op->code == OP_add && depth < 8) {
        XT_TRY(add_terms(l, cap, captured, op->in[0], depth + 1));
        return add_terms(l, cap, captured, op->in[1], depth + 1);
    }
    loop_term t = {.captured = captured, .g = g};
    if (op && op->code == OP_dynamic_update_slice && is_zeros(op->in[0])) {
        t.kind = LOOP_ROW;
        t.op = op;
        t.order = loop_row(l, g->type, op->in[1]->type, op->in + 2, l->back);
    }
    if (l->n_terms == *cap) {
        size_t more = *cap ? 2 * *cap : 8;
        loop_term *grown = arena_alloc(l->c->b->m->mem, more * sizeof *grown);
        if (!grown) return status_oom(more * sizeof *grown, "gradients");
        if (l->n_terms) memcpy(grown, l->terms, l->n_terms * sizeof *grown);
        l->terms = grown;
        *cap = more;
    }
    l->terms[l->n_terms++] = t;
    return NULL;
}

xt_status loop_terms_find(loop *l, ir_value *const *grads) {
    size_t cap = 0;
    for (size_t i = 0; i < l->n_captured; i++)
        if (grads[i]) XT_TRY(add_terms(l, &cap, i, grads[i], 0));
    for (size_t k = 0; k < l->n_terms; k++) {
        loop_term *t = &l->terms[k];
        if (t->kind == LOOP_SUM && take_product(l, t)) t->kind = LOOP_PRODUCT;
        t->result = l->n_results;
        t->state = l->n_states;
        if (t->kind != LOOP_PRODUCT) {
            l->n_results += t->kind == LOOP_ROW ? t->op->n_in - 1 : 1;
            l->n_states++;
            continue;
        }
        for (int i = 0; i < 2; i++) {
            if (t->side[i].order) continue;
            t->side[i].state = l->n_states++;
            l->n_results++;
        }
    }
    return NULL;
}

void loop_terms_results(const loop *l, ir_value **out) {
    for (size_t k = 0; k < l->n_terms; k++) {
        const loop_term *t = &l->terms[k];
        size_t at = t->result;
        if (t->kind == LOOP_SUM) out[at] = t->g;
        for (uint32_t i = 1; t->kind == LOOP_ROW && i < t->op->n_in; i++) out[at++] = t->op->in[i];
        for (int i = 0; t->kind == LOOP_PRODUCT && i < 2; i++)
            if (t->side[i].state != SIZE_MAX) out[at++] = t->side[i].v;
    }
}

/* --- the loop backwards --- */
xt_status loop_terms_begin(loop *l, ir_value **init) {
    ir_builder *b = l->c->b;
    for (size_t k = 0; k < l->n_terms; k++) {
        const loop_term *t = &l->terms[k];
        if (t->kind != LOOP_PRODUCT) init[t->state] = grad_zeros(b, t->g->type);
        for (int i = 0; t->kind == LOOP_PRODUCT && i < 2; i++) {
            const ir_type *x = t->side[i].v->type;
            ir_value **start;
            int64_t *dims;
            if (t->side[i].state == SIZE_MAX) continue;
            XT_TRY(loop_box(l, x, b, NULL, &dims, &start));
            dims[0] = l->trips;
            init[t->side[i].state] = ir_splat(b, ir_tensor(x->dtype, x->rank + 1, dims), 0);
        }
    }
    return NULL;
}

xt_status loop_terms_step(loop *l, ir_builder *b, ir_value *j, ir_value *const *results, ir_value *const *states,
                          ir_value **next) {
    for (size_t k = 0; k < l->n_terms; k++) {
        const loop_term *t = &l->terms[k];
        ir_value *const *r = results + t->result;
        if (t->kind == LOOP_SUM) next[t->state] = ir_add(b, states[t->state], r[0]);
        if (t->kind == LOOP_ROW) {
            size_t rank = t->op->n_in - 2;
            ir_value *row =
                t->order ? r[0] : ir_add(b, ir_dynamic_slice(b, states[t->state], rank, r + 1, r[0]->type->dims), r[0]);
            next[t->state] = ir_dynamic_update_slice(b, states[t->state], row, rank, r + 1);
        }
        for (int i = 0; t->kind == LOOP_PRODUCT && i < 2; i++) {
            size_t at = t->side[i].state;
            ir_value **start;
            int64_t *dims;
            if (at == SIZE_MAX) continue;
            const ir_type *x = (*r)->type;
            XT_TRY(loop_box(l, x, b, j, &dims, &start));
            next[at] =
                ir_dynamic_update_slice(b, states[at], ir_reshape(b, *r++, x->rank + 1, dims), x->rank + 1, start);
        }
    }
    return grad_builder_status(b);
}

/* --- behind it --- */
static ir_value *whole_side(const loop *l, const loop_side *s, ir_value *states) {
    int64_t first = 0;
    ir_value *v = s->stack ? s->stack : &states[s->row_term != SIZE_MAX ? l->terms[s->row_term].state : s->state];
    return s->order == LOOP_ROW_DOWN ? ir_reverse(l->c->b, v, 1, &first) : v;
}

/* [trips, n, ...] as [trips * n, ...]. */
static ir_value *merged(ir_builder *b, ir_value *x, int64_t *dims) {
    dims[0] = x->type->dims[0] * x->type->dims[1];
    for (uint32_t i = 2; i < x->type->rank; i++) dims[i - 1] = x->type->dims[i];
    return ir_reshape(b, x, x->type->rank - 1, dims);
}

/* The product of the stacks: the dims move by one, and dim 0 of both is contracted too (one dim with the next where
 * that is what is contracted). */
static xt_status product(loop *l, const loop_term *t, ir_value *states, ir_value **out) {
    static const ir_attr_key batch_keys[2] = {IR_A_lhs_batching_dimensions, IR_A_rhs_batching_dimensions};
    static const ir_attr_key contract_keys[2] = {IR_A_lhs_contracting_dimensions, IR_A_rhs_contracting_dimensions};
    ir_value *whole[2] = {whole_side(l, &t->side[0], states), whole_side(l, &t->side[1], states)};
    int64_t *batch[2], *contract[2], *dims;
    size_t n_batch = 0, n_contract = 0, n_precision;
    const int64_t *precision = ir_get_ints(t->op, IR_A_precision_config, &n_precision);
    bool merge = whole[0] && whole[1];
    for (int i = 0; i < 2; i++) {
        const int64_t *from_batch = ir_get_ints(t->op, batch_keys[i], &n_batch),
                      *from = ir_get_ints(t->op, contract_keys[i], &n_contract);
        merge &= n_batch == 0 && n_contract == 1 && from[0] == 0;
        XT_TRY(grad_ints(l->c, n_batch, &batch[i]));
        XT_TRY(grad_ints(l->c, n_contract + 1, &contract[i]));
        for (size_t k = 0; k < n_batch; k++) batch[i][k] = from_batch[k] + 1;
        for (size_t k = 0; k < n_contract; k++) contract[i][k + 1] = from[k] + 1;
    }
    for (int i = 0; i < 2 && merge; i++) {
        XT_TRY(grad_ints(l->c, whole[i]->type->rank, &dims));
        whole[i] = merged(l->c->b, whole[i], dims);
    }
    *out = ir_dot_general(l->c->b, whole[0], whole[1], n_batch, batch[0], batch[1], merge ? 1 : n_contract + 1,
                          contract[0], contract[1], n_precision ? (ir_precision)precision[0] : IR_PREC_DEFAULT);
    return grad_builder_status(l->c->b);
}

/* What lay between the product and the gradient, on v. */
static ir_value *rearranged(ir_builder *b, const ir_value *g, const ir_op *dot, ir_value *v) {
    if (g->def == dot) return v;
    v = rearranged(b, g->def->in[0], dot, v);
    ir_op *op = v ? ir_build(b, g->def->code, 1, &v, g->def->n_attrs, g->def->attrs, 0, NULL, 1, &g->type) : NULL;
    return op ? &op->out[0] : NULL;
}

xt_status loop_terms_end(loop *l, ir_value *states, ir_value **out) {
    ir_builder *b = l->c->b;
    for (size_t k = 0; k < l->n_terms; k++) {
        const loop_term *t = &l->terms[k];
        ir_value *v = &states[t->state];
        if (t->kind == LOOP_PRODUCT) {
            XT_TRY(product(l, t, states, &v));
            v = rearranged(b, t->g, t->op, v);
        }
        out[t->captured] = out[t->captured] ? ir_add(b, out[t->captured], v) : v;
    }
    return grad_builder_status(b);
}
