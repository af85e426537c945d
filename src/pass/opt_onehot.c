/* needs: nothing. keeps: meaning; of sums over a one-hot row, whose other terms are zeros, each bit but a zero's sign.
 *
 * Cross entropy and its gradient select by comparing a class number with an iota over all classes. Over a vocabulary of 50,257 words that is four
 * passes over memory for one number a row. Here
 *  1. the sum over classes of select(index == iota, x, 0) becomes x at the index, 0 where the index is no class; x is followed back through
 *     elementwise ops and broadcasts, so that only what somebody has to compute anyway is gathered from;
 *  2. what compares 64-bit numbers with an iota compares 32-bit ones: the index is cut to [-1, classes] while it is still small. */
#include "pass/pass.h"

enum { DEPTH = 6 }; /* of expressions that are followed back */

typedef struct onehot { /* compare(EQ, broadcast(index), iota): its last dim is the classes' */
    ir_op *compare;
    ir_value *index; /* [rows...], what is broadcast; an integer */
    int64_t classes;
} onehot;

static bool broadcasts_rows(const ir_op *op, uint32_t rank) { /* dims 0 to rank - 2 of the operand are those of the result */
    size_t n;
    if (!op || op->code != OP_broadcast_in_dim) return false;
    const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    if (n + 1 != rank || op->out[0].type->rank != rank) return false;
    for (size_t i = 0; i < n; i++)
        if (dims[i] != (int64_t)i || op->in[0]->type->dims[i] != op->out[0].type->dims[i]) return false;
    return true;
}

static bool is_class_iota(const ir_op *op, uint32_t rank) {
    return op && op->code == OP_iota && ir_get_int(op, IR_A_iota_dimension, -1) == (int64_t)rank - 1;
}

static bool match_compare(const ir_value *v, onehot *out) {
    ir_op *c = v->def;
    const ir_type *t = v->type;
    if (!c || c->code != OP_compare || t->rank < 2 || t->count <= 0 || ir_get_int(c, IR_A_comparison_direction, IR_EQ) != IR_EQ) return false;
    xt_dtype d = c->in[0]->type->dtype;
    if (d != XT_I64 && d != XT_I32) return false;
    for (int i = 0; i < 2; i++) {
        const ir_op *wide = c->in[i]->def;
        if (!broadcasts_rows(wide, t->rank) || !is_class_iota(c->in[1 - i]->def, t->rank)) continue;
        *out = (onehot){c, wide->in[0], t->dims[t->rank - 1]};
        return out->classes < INT32_MAX;
    }
    return false;
}

static const ir_literal *splat_of(const ir_value *v) {
    while (v->def && (v->def->code == OP_broadcast_in_dim || v->def->code == OP_reshape)) v = v->def->in[0];
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    return l && (l->splat || l->type->count == 1) ? l : NULL;
}

static bool is_zero(const ir_value *v) {
    static const char zeros[16];
    const ir_literal *l = splat_of(v);
    size_t elem = xt_dtype_size(v->type->dtype);
    return l && elem <= sizeof zeros && !memcmp(l->data, zeros, elem);
}

/* --- x at the index ----------------------------------------------------------------------------------------------------------------------------- */
static const ir_type *rows_type(const ir_type *t, xt_dtype d) {
    return ir_tensor(d, t->rank - 1, t->dims);
}

/* x[rows..., index[rows...]]; recorded right behind x where that can be, so that x need not live on. */
static ir_value *gather(ir_builder *b, ir_value *x, ir_value *index) {
    ir_builder here = *b;
    if (x->def && !index->def && x->def->block == b->block && x->def->next) here = ir_before(b->m, x->def->next);
    int64_t batch[IR_MAX_RANK], ones[IR_MAX_RANK], last = (int64_t)x->type->rank - 1;
    for (uint32_t i = 0; i < x->type->rank; i++) batch[i] = i, ones[i] = 1;
    ir_gather_dims d = {.n_collapsed = 1, .collapsed = &last, .n_operand_batching = (size_t)last, .operand_batching = batch, .n_start_batching = (size_t)last,
                        .start_batching = batch, .n_index_map = 1, .index_map = &last, .index_vector_dim = last};
    ir_value *v = ir_gather(&here, x, index, &d, ones, false);
    if (here.status && !b->status)
        b->status = here.status;
    else
        xt_status_free(here.status);
    return v;
}

static bool can_follow(const ir_op *op) {
    return op && (ir_op_infos[op->code].flags & IR_ELEMENTWISE) && op->n_in <= 2 && op->n_out == 1 && op->n_regions == 0 && op->n_attrs == 0;
}

static ir_value *pick(ir_builder *b, ir_value *x, ir_value *index, int depth) {
    const ir_type *small = rows_type(x->type, x->type->dtype);
    const ir_literal *splat = splat_of(x);
    if (!small) return NULL;
    if (splat && splat->type->dtype == x->type->dtype) {
        ir_attr value = ir_attr_dense(b, IR_A_value, small, splat->data, true);
        ir_op *made = ir_build(b, OP_constant, 0, NULL, 1, &value, 0, NULL, 1, &small);
        return made ? &made->out[0] : NULL;
    }
    if (broadcasts_rows(x->def, x->type->rank)) return x->def->in[0];
    if (depth == 0 || !can_follow(x->def) || x->def->in[0]->type->rank != x->type->rank) return gather(b, x, index);
    ir_value *in[2];
    for (uint32_t i = 0; i < x->def->n_in; i++)
        if (!(in[i] = pick(b, x->def->in[i], index, depth - 1))) return NULL;
    ir_op *made = ir_build(b, x->def->code, x->def->n_in, in, 0, NULL, 0, NULL, 1, &small);
    return made ? &made->out[0] : NULL;
}

/* 0 where the index is no class, else v. */
static ir_value *where_class(ir_builder *b, const onehot *h, ir_value *v) {
    const ir_type *t = h->index->type;
    ir_value *zero = ir_splat(b, t, 0), *end = ir_splat(b, t, (double)h->classes);
    if (!zero || !end) return NULL;
    ir_value *below = ir_compare(b, IR_LT, h->index, end), *above = ir_compare(b, IR_GE, h->index, zero);
    ir_value *inside = below && above ? ir_and(b, above, below) : NULL;
    return inside && v ? ir_select(b, inside, v, ir_splat(b, v->type, 0)) : NULL;
}

static bool sums_classes(const ir_op *op) {
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    const ir_op *o = op->regions[0].block ? op->regions[0].block->first : NULL;
    return op->n_in == 2 && n == 1 && dims[0] == (int64_t)op->in[0]->type->rank - 1 && is_zero(op->in[1]) && o && o->code == OP_add &&
           o->next == op->regions[0].block->last && o->in[0] != o->in[1] && !o->in[0]->def && !o->in[1]->def && o->next->in[0] == &o->out[0];
}

static xt_status replace_sum(pass_ctx *c, ir_module *m, ir_op *op) {
    if (op->in[0]->type->rank < 2 || !ir_dtype_is_float(op->in[0]->type->dtype) || !sums_classes(op)) return NULL;
    ir_op *s = op->in[0]->def;
    bool negated = s && s->code == OP_negate;
    onehot h;
    if (negated) s = s->in[0]->def;
    if (!s || s->code != OP_select || !is_zero(s->in[2]) || !match_compare(s->in[0], &h)) return NULL;
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *v = pick(&b, s->in[1], h.index, DEPTH);
    if (v) v = where_class(&b, &h, v);
    if (v && negated) v = ir_negate(&b, v);
    if (!v || b.status) return b.status ? b.status : status_oom(0, "a rewrite");
    ir_replace_uses(m, &op->out[0], v);
    ir_erase(op);
    c->changed = true;
    return NULL;
}

/* --- narrower comparisons -------------------------------------------------------------------------------------------------------------------------- */
static xt_status narrow(pass_ctx *c, ir_module *m, ir_op *op) {
    onehot h;
    if (op->in[0]->type->dtype != XT_I64 || !match_compare(&op->out[0], &h)) return NULL;
    ir_builder b = ir_before(m, op);
    const ir_type *t = h.index->type, *wide = ir_with_dtype(op->in[0]->type, XT_I32);
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = i;
    ir_value *most = ir_splat(&b, ir_scalar(XT_I64), (double)h.classes), *least = ir_splat(&b, ir_scalar(XT_I64), -1);
    ir_value *cut = most && least ? ir_clamp(&b, least, h.index, most) : NULL;
    ir_value *index = cut ? ir_broadcast_in_dim(&b, ir_convert(&b, cut, XT_I32), wide, t->rank, dims) : NULL;
    ir_value *v = index ? ir_compare(&b, IR_EQ, index, ir_iota(&b, wide, (int64_t)wide->rank - 1)) : NULL;
    if (!v || b.status) return b.status ? b.status : status_oom(0, "a rewrite");
    ir_replace_uses(m, &op->out[0], v);
    ir_erase(op);
    c->changed = true;
    return NULL;
}

static xt_status walk(pass_ctx *c, ir_module *m, ir_block *b, bool sums) {
    for (ir_op *op = b->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) XT_TRY(walk(c, m, op->regions[r].block, sums));
        if (sums && op->code == OP_reduce)
            XT_TRY(replace_sum(c, m, op));
        else if (!sums && op->code == OP_compare)
            XT_TRY(narrow(c, m, op));
    }
    return NULL;
}

xt_status pass_opt_onehot(pass_ctx *c, ir_module *m) {
    for (int sums = 1; sums >= 0; sums--)
        for (ir_func *f = m->funcs; f; f = f->next)
            if (f->body) XT_TRY(walk(c, m, f->body, sums));
    return NULL;
}
