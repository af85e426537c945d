/* Which tiles of a chain (attn.h) need less than all columns: where a mask made of positions (iotas, comparisons,
 * constants) hides the last columns of all rows of a tile; or, where there is none, which operand may hide some when
 * the program runs. How values that are made of positions only lie between bounds over a block of rows and columns is
 * interval arithmetic; a mask is told by what it decides there, not by its form, so that iotas of two dims, of one dim
 * and broadcast, with offsets, and masks that are added are all the same. */
#include <math.h>

#include "cpu/plan/attention/attn.h"
#include "ir/interp.h"

enum { STEPS = 400, COLUMN_STEP = 16 };
/* A mask of this much hides: a softmax gives exp(-1e4 + ...) = 0. Whether that holds is looked at when the
 * program runs. */
static const double hides = -1e4;

typedef struct walk {
    const attn_block *in;
    int steps; /* left: masks are small */
} walk;
static bool range_of(walk *w, const ir_value *v, const attn_tags *g, attn_range *out);

/* Numbers that wrap around are not in order any more; larger ones of 32 and 64 bits than positions are not needed. */
static bool fits(xt_dtype t, const attn_range *r) {
    if (isnan(r->lo) || isnan(r->hi)) return false;
    if (ir_dtype_is_float(t) || t == XT_BOOL) return true;
    double most = xt_dtype_size(t) >= 4 ? 2147483647.0 : xt_dtype_size(t) == 2 ? 32767 : 127;
    return ir_dtype_is_int(t) && r->lo >= (ir_dtype_is_signed(t) ? -most : 0) && r->hi <= most;
}

static bool range_of_iota(const walk *w, const ir_op *op, const attn_tags *g, attn_range *out) {
    int64_t dim = ir_get_int(op, IR_A_iota_dimension, 0), tag = g->at[dim];
    if (attn_flat(tag)) return false;
    *out = tag == ATTN_ROW   ? (attn_range){(double)w->in->row, (double)(w->in->row_end - 1)}
           : tag == ATTN_COL ? (attn_range){(double)w->in->col, (double)(w->in->col_end - 1)}
                             : (attn_range){0, (double)(op->out[0].type->dims[dim] - 1)};
    return true;
}

/* Of an array that is written in the program: its elements in the block. */
static bool range_of_constant(walk *w, const ir_op *op, const attn_tags *g, attn_range *out) {
    const ir_literal *l = ir_get_literal(op);
    const ir_type *t = l ? l->type : NULL;
    if (!l || ir_dtype_is_complex(t->dtype)) return false;
    array a = {.type = t, .data = (void *)(uintptr_t)l->data};
    if (l->splat || t->count == 1) {
        array one = {.type = ir_scalar(t->dtype), .data = a.data};
        if (one.type) out->lo = out->hi = array_get(&one, 0);
        return one.type != NULL;
    }
    int64_t from[IR_MAX_RANK], to[IR_MAX_RANK], at[IR_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t tag = g->at[d];
        if (attn_flat(tag)) return false;
        at[d] = from[d] = tag == ATTN_ROW ? w->in->row : tag == ATTN_COL ? w->in->col : 0;
        to[d] = tag == ATTN_ROW ? w->in->row_end : tag == ATTN_COL ? w->in->col_end : t->dims[d];
    }
    *out = (attn_range){INFINITY, -INFINITY};
    for (;;) {
        int64_t i = 0;
        for (uint32_t k = 0; k < t->rank; k++) i = i * t->dims[k] + at[k];
        double x = array_get(&a, i);
        if (isnan(x)) return false;
        if (x < out->lo) out->lo = x;
        if (x > out->hi) out->hi = x;
        uint32_t d = t->rank;
        while (d-- > 0 && ++at[d] == to[d]) at[d] = from[d];
        if (d == UINT32_MAX) return true;
    }
}

static attn_range truth(bool lo, bool hi) {
    return (attn_range){lo ? 1 : 0, hi ? 1 : 0};
}

static bool compare(const ir_op *op, const attn_range *a, const attn_range *b, attn_range *out) {
    switch ((ir_cmp_dir)ir_get_int(op, IR_A_comparison_direction, IR_EQ)) {
    case IR_GE: *out = truth(a->lo >= b->hi, a->hi >= b->lo); return true;
    case IR_GT: *out = truth(a->lo > b->hi, a->hi > b->lo); return true;
    case IR_LE: *out = truth(a->hi <= b->lo, a->lo <= b->hi); return true;
    case IR_LT: *out = truth(a->hi < b->lo, a->lo < b->hi); return true;
    case IR_EQ:
        *out = truth(a->lo == a->hi && b->lo == b->hi && a->lo == b->lo, a->lo <= b->hi && b->lo <= a->hi);
        return true;
    case IR_NE:
        *out = truth(a->hi < b->lo || b->hi < a->lo, !(a->lo == a->hi && b->lo == b->hi && a->lo == b->lo));
        return true;
    default: return false;
    }
}

static bool multiply(const attn_range *a, const attn_range *b, attn_range *out) {
    double p[4] = {a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi};
    *out = (attn_range){p[0], p[0]};
    for (int i = 0; i < 4; i++) {
        if (isnan(p[i])) return false;
        if (p[i] < out->lo) out->lo = p[i];
        if (p[i] > out->hi) out->hi = p[i];
    }
    return true;
}

static bool combine(const ir_op *op, const attn_range x[3], attn_range *out) {
    bool logic = op->out[0].type->dtype == XT_BOOL;
    const attn_range *a = &x[0], *b = &x[1];
    switch ((int)op->code) {
    case OP_compare: return compare(op, a, b, out);
    case OP_add:
        *out = logic ? truth(a->lo || b->lo, a->hi || b->hi) : (attn_range){a->lo + b->lo, a->hi + b->hi};
        return true;
    case OP_subtract: *out = (attn_range){a->lo - b->hi, a->hi - b->lo}; return !logic;
    case OP_multiply: return multiply(a, b, out);
    case OP_negate: *out = (attn_range){-a->hi, -a->lo}; return true;
    case OP_maximum: *out = (attn_range){fmax(a->lo, b->lo), fmax(a->hi, b->hi)}; return true;
    case OP_minimum: *out = (attn_range){fmin(a->lo, b->lo), fmin(a->hi, b->hi)}; return true;
    case OP_and: *out = truth(a->lo && b->lo, a->hi && b->hi); return logic;
    case OP_or: *out = truth(a->lo || b->lo, a->hi || b->hi); return logic;
    case OP_not: *out = truth(!a->hi, !a->lo); return logic;
    case OP_convert:
        *out = logic ? truth(a->lo > 0 || a->hi < 0, a->lo != 0 || a->hi != 0) : *a;
        return logic || ir_dtype_is_float(op->out[0].type->dtype) || !ir_dtype_is_float(op->in[0]->type->dtype);
    default: return false;
    }
}

static bool range_of_select(walk *w, const ir_op *op, const attn_tags *g, attn_range *out) {
    attn_range p, a, b;
    attn_tags t;
    if (!attn_tags_back(op, 0, g, &t) || !range_of(w, op->in[0], &t, &p)) return false;
    bool may_be_true = p.hi > 0, may_be_false = p.lo == 0;
    if (may_be_true && (!attn_tags_back(op, 1, g, &t) || !range_of(w, op->in[1], &t, &a))) return false;
    if (may_be_false && (!attn_tags_back(op, 2, g, &t) || !range_of(w, op->in[2], &t, &b))) return false;
    *out = !may_be_false ? a : !may_be_true ? b : (attn_range){fmin(a.lo, b.lo), fmax(a.hi, b.hi)};
    return true;
}

static bool range_of_op(walk *w, const ir_op *op, const attn_tags *g, attn_range *out) {
    attn_range x[3];
    attn_tags t;
    switch ((int)op->code) {
    case OP_iota: return range_of_iota(w, op, g, out);
    case OP_constant: return range_of_constant(w, op, g, out);
    case OP_select: return range_of_select(w, op, g, out);
    default: break;
    }
    bool moves = op->code == OP_broadcast_in_dim || op->code == OP_reshape || op->code == OP_transpose;
    if (op->n_in > BASE_COUNT(x) || (!moves && !(ir_op_infos[op->code].flags & IR_ELEMENTWISE))) return false;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!attn_tags_back(op, i, g, &t) || !range_of(w, op->in[i], &t, &x[i])) return false;
    if (moves) *out = x[0];
    return moves || combine(op, x, out);
}

static bool range_of(walk *w, const ir_value *v, const attn_tags *g, attn_range *out) {
    const ir_op *op = v->def;
    if (v == w->in->mask.value && attn_tags_equal(v->type, g, &w->in->mask.tags)) {
        *out = w->in->mask.hides;
        return true;
    }
    bool tensor = v->type->kind == IR_TENSOR;
    if (op && op->n_out == 1 && tensor && --w->steps >= 0 && range_of_op(w, op, g, out) && fits(v->type->dtype, out))
        return true;
    *out = (attn_range){0, 1};
    return tensor && v->type->dtype == XT_BOOL; /* whatever it is made of */
}

bool attn_range_of(const ir_value *v, const attn_tags *g, const attn_block *in, attn_range *out) {
    walk w = {in, STEPS};
    return range_of(&w, v, g, out);
}

/* --- tiles --- */
/* op, in the chain, gives the same whatever its operand of the chain is, and what a softmax makes nothing of; without a
 * softmax: zero. */
static bool decides(const attn_chain *c, const ir_op *op, const attn_block *in, bool softmax) {
    const attn_value *v = attn_info(c, &op->out[0]);
    attn_range r, p;
    attn_tags t;
    if (op->code == OP_select) {
        if (!attn_tags_back(op, 0, &v->tags, &t) || !attn_range_of(op->in[0], &t, in, &p) || p.lo != p.hi) return false;
        uint32_t i = p.lo > 0 ? 1 : 2;
        return attn_tags_back(op, i, &v->tags, &t) && attn_range_of(op->in[i], &t, in, &r) &&
               (softmax ? r.hi <= hides : r.lo == 0 && r.hi == 0);
    }
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!attn_tags_back(op, i, &v->tags, &t) || !attn_range_of(op->in[i], &t, in, &r)) continue;
        if (op->code == OP_add && softmax && r.hi <= hides) return true;
        if (op->code == OP_multiply && !softmax && r.lo == 0 && r.hi == 0) return true;
    }
    return false;
}

static bool any_decides(const attn_chain *c, const attn_block *in, bool softmax) {
    for (size_t i = 0; i < c->n_values; i++) {
        const attn_value *v = &c->values[i];
        const ir_op *op = v->value->def;
        if (v->kind != ATTN_FULL || !v->chained || !op ||
            (op->code != OP_select && op->code != OP_add && op->code != OP_multiply))
            continue;
        if (decides(c, op, in, softmax)) return true;
    }
    return false;
}

/* --- masks that are given --- */
/* Each of its elements in a tile has a row or none, and a column. */
static bool lies_as_mask(const ir_type *t, const attn_tags *g) {
    if (t->kind != IR_TENSOR || t->rank > ATTN_RANK ||
        (t->dtype != XT_BOOL && t->dtype != XT_F32 && t->dtype != XT_BF16))
        return false;
    for (uint32_t d = 0; d < t->rank; d++)
        if (attn_flat(g->at[d]) || (g->at[d] == ATTN_ALL && t->dims[d] > 1)) return false;
    return attn_tags_have(t, g, ATTN_COL);
}

/* What the mask may be where it hides: false or true, an added number that leaves nothing, 0 or 1. */
static bool hides_by(attn_chain *c, const ir_value *v, const attn_tags *tags, bool softmax) {
    static const attn_range of_bool[] = {{0, 0}, {1, 1}}, of_number[] = {{-INFINITY, -1e4}, {0, 0}, {1, 1}};
    bool is_bool = v->type->dtype == XT_BOOL;
    const attn_range *r = is_bool ? of_bool : of_number;
    size_t n = is_bool ? BASE_COUNT(of_bool) : BASE_COUNT(of_number);
    for (size_t i = 0; i < n; i++) {
        attn_block all = {.row_end = c->rows, .col_end = c->cols, .mask = {v, *tags, r[i]}};
        if (!any_decides(c, &all, softmax)) continue;
        c->mask = all.mask;
        return true;
    }
    return false;
}

static void find_given_mask(attn_chain *c, bool softmax) {
    for (const ir_op *op = c->body->first; op; op = op->next) {
        if (op->n_out != 1 || attn_kind_of(c, &op->out[0]) != ATTN_FULL) continue;
        for (uint32_t i = 0; i < op->n_in; i++) {
            attn_tags t;
            if (op->code == OP_dot_general || attn_kind_of(c, op->in[i]) == ATTN_FULL ||
                attn_kind_of(c, op->in[i]) == ATTN_ROWS)
                continue;
            attn_chain_operand(c, op, i, &t);
            if (lies_as_mask(op->in[i]->type, &t) && hides_by(c, op->in[i], &t, softmax)) return;
        }
    }
}

static void cut_by_given_mask(attn_chain *c) {
    enum { PARTS = ATTN_SKIPS };
    for (int64_t k = 1; k < PARTS; k++)
        c->skips[c->n_skips++] = (attn_skip){.cols = c->cols * k / PARTS / COLUMN_STEP * COLUMN_STEP};
}

void attn_find_skips(attn_chain *c) {
    int64_t full = c->rows / c->tile_rows, n = full < ATTN_SKIPS ? full : ATTN_SKIPS;
    bool softmax = false;
    for (size_t i = 0; i < c->n_values; i++) {
        const attn_value *v = &c->values[i];
        softmax |= v->kind == ATTN_FULL && v->chained && v->value->def && v->value->def->code == OP_exponential;
    }
    for (int64_t k = 0; k < n; k++) {
        attn_skip skip = {.first = full * k / n, .last = full * (k + 1) / n};
        attn_block hidden = {.row = skip.first * c->tile_rows, .row_end = skip.last * c->tile_rows, .col_end = c->cols};
        /* the fewest steps of columns that suffice; all do */
        int64_t low = 1, high = (c->cols + COLUMN_STEP - 1) / COLUMN_STEP;
        while (low < high) {
            int64_t mid = (low + high) / 2;
            hidden.col = mid * COLUMN_STEP;
            if (any_decides(c, &hidden, softmax))
                high = mid;
            else
                low = mid + 1;
        }
        skip.cols = low * COLUMN_STEP;
        if (skip.cols * 10 <= c->cols * 9) c->skips[c->n_skips++] = skip;
    }
    if (c->n_skips || !full) return;
    find_given_mask(c, softmax);
    if (c->mask.value) cut_by_given_mask(c);
}
