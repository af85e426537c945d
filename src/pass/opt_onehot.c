/* needs: nothing. keeps: meaning; of sums over a one-hot row, whose other terms are zeros, each bit but a zero's sign,
 * and the order of sums over rows.
 *
 * Cross entropy and its gradient select by comparing a class number with an iota over all classes, or scatter
 * one number a row into zeros. Over a vocabulary of 50,257 words that is up to ten passes over memory for one
 * number a row. Here
 *  1. a scatter of one number a row into zeros becomes select(index == iota, number, 0), which loops over elements
 *     compute as they go;
 *  2. a sum over classes whose terms are zeros where index != iota becomes the one term where it is, 0 where the index
 *     is no class. The term is an expression at one element (pick.h), so that only what somebody has to compute anyway
 *     is gathered from. Zeros may be divided by what is one number for a row: then what they are (0, or NaN) is
 *     computed for the row and added;
 *  3. what compares 64-bit numbers with an iota compares 32-bit ones: the index is cut to [-1, classes] while it is
 *     still small. */
#include "ir/interp.h"
#include "pass/pick.h"

enum { DEPTH = 10, MOST_LOOKS = 256 }; /* of expressions that are followed back */

typedef struct onehot { /* compare(EQ, broadcast(index), iota): its last dim is the classes' */
    ir_op *compare;
    ir_value *index; /* [rows...], what is broadcast; an integer */
    int64_t classes;
} onehot;

static bool broadcasts_rows(const ir_op *op, uint32_t rank) {
    /* dims 0 to rank - 2 of the operand are those of the result */
    size_t n;
    if (!op || op->code != OP_broadcast_in_dim) return false;
    const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    if (n + 1 != rank || op->out[0].type->rank != rank) return false;
    for (size_t i = 0; i < n; i++)
        if (dims[i] != (int64_t)i || op->in[0]->type->dims[i] != op->out[0].type->dims[i]) return false;
    return true;
}

/* An iota along the last of `rank` dims; PyTorch/XLA's counts in [1, classes] and is spread over the rows. */
static bool is_class_iota(const ir_value *v, uint32_t rank) {
    const ir_op *op = v->def;
    size_t n;
    if (!op || v->type->rank != rank) return false;
    if (op->code == OP_iota) return ir_get_int(op, IR_A_iota_dimension, -1) == (int64_t)rank - 1;
    if (op->code != OP_broadcast_in_dim) return false;
    const int64_t *dims = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    const ir_value *x = op->in[0];
    int64_t classes = v->type->dims[rank - 1];
    if (n == 0 || dims[n - 1] != (int64_t)rank - 1 || x->type->count != classes || x->type->dims[n - 1] != classes)
        return false;
    if (x->def && x->def->code == OP_reshape) x = x->def->in[0];
    uint32_t last = x->type->rank - 1;
    return x->type->rank > 0 && x->type->dims[last] == classes && x->def && x->def->code == OP_iota &&
           ir_get_int(x->def, IR_A_iota_dimension, -1) == (int64_t)last;
}

static bool match_compare(const ir_value *v, onehot *out) {
    ir_op *c = v->def;
    const ir_type *t = v->type;
    if (!c || c->code != OP_compare || t->rank < 2 || t->count <= 0 ||
        ir_get_int(c, IR_A_comparison_direction, IR_EQ) != IR_EQ)
        return false;
    xt_dtype d = c->in[0]->type->dtype;
    if (d != XT_I64 && d != XT_I32) return false;
    for (int i = 0; i < 2; i++) {
        const ir_op *wide = c->in[i]->def;
        if (!broadcasts_rows(wide, t->rank) || !is_class_iota(c->in[1 - i], t->rank)) continue;
        *out = (onehot){c, wide->in[0], t->dims[t->rank - 1]};
        return out->classes < INT32_MAX;
    }
    return false;
}

static bool is_zero(const ir_value *v) {
    static const char zeros[16];
    const ir_literal *l = pick_splat(v);
    size_t elem = xt_dtype_size(v->type->dtype);
    return l && elem <= sizeof zeros && !memcmp(l->data, zeros, elem);
}

/* --- what a term is where the index is another class --- */
typedef enum rest_kind { REST_ANY, REST_FINITE, REST_ZERO_OR_NAN, REST_IS } rest_kind;
typedef struct rest {
    rest_kind kind;
    double is; /* REST_IS: 0, 1 or -1; a zero's sign does not count */
} rest;
static const rest any = {REST_ANY, 0}, some_number = {REST_FINITE, 0}, zero_or_nan = {REST_ZERO_OR_NAN, 0};

static bool is(rest r, double x) {
    return r.kind == REST_IS && r.is == x;
}
static bool is_no_number_but_zero(rest r) {
    return is(r, 0) || r.kind == REST_ZERO_OR_NAN;
}
static rest number(double x) {
    return x == 0 || x == 1 || x == -1 ? (rest){REST_IS, x} : any;
}

static rest either(rest a, rest b) {
    if (a.kind == REST_IS && b.kind == REST_IS && a.is == b.is) return a;
    if (is_no_number_but_zero(a) && is_no_number_but_zero(b)) return zero_or_nan;
    bool both = (a.kind == REST_IS || a.kind == REST_FINITE) && (b.kind == REST_IS || b.kind == REST_FINITE);
    return both ? some_number : any;
}

static rest times(rest a, rest b) {
    if (a.kind == REST_IS && b.kind == REST_IS) return number(a.is * b.is);
    if (is(b, 0) || !is_no_number_but_zero(a)) {
        rest swapped = a;
        a = b, b = swapped;
    }
    if (!is_no_number_but_zero(a)) return any;
    return is(a, 0) && b.kind == REST_FINITE ? a : zero_or_nan;
}

static rest of_constant(const ir_value *v, const ir_literal *l) {
    array one = {.type = ir_scalar(v->type->dtype), .data = (void *)(uintptr_t)l->data};
    if (l->type->dtype != v->type->dtype || ir_dtype_is_complex(v->type->dtype)) return any;
    double x = array_get(&one, 0);
    return x == 0 || x == 1 || x == -1 ? number(x) : x - x == 0 ? some_number : any;
}

static rest rest_of(const ir_value *v, const ir_value *mask, int depth, int *looks);

static rest of_compare(const ir_op *op, rest a, rest b) {
    int64_t dir = ir_get_int(op, IR_A_comparison_direction, IR_EQ);
    if (a.kind != REST_IS || b.kind != REST_IS || (dir != IR_EQ && dir != IR_NE)) return any;
    /* By total order zeros of both signs differ. */
    if (ir_get_int(op, IR_A_compare_type, IR_CMP_NOTYPE) == IR_CMP_TOTALORDER && a.is == 0 && b.is == 0) return any;
    return number((a.is == b.is) == (dir == IR_EQ));
}

static rest of_op(const ir_op *op, const ir_value *mask, int depth, int *looks) {
    rest in[3];
    if (op->n_in > 3) return any;
    for (uint32_t i = 0; i < op->n_in; i++) in[i] = rest_of(op->in[i], mask, depth - 1, looks);
    switch ((int)op->code) {
    case OP_select: return is(in[0], 1) ? in[1] : is(in[0], 0) ? in[2] : either(in[1], in[2]);
    case OP_compare: return of_compare(op, in[0], in[1]);
    case OP_negate: return in[0].kind == REST_IS ? number(-in[0].is) : in[0];
    case OP_multiply: return times(in[0], in[1]);
    case OP_divide:
        if (in[1].kind == REST_IS && in[1].is != 0) return times(in[0], in[1]);
        return is_no_number_but_zero(in[0]) ? zero_or_nan : any;
    case OP_add:
    case OP_subtract:
        if (in[0].kind == REST_IS && in[1].kind == REST_IS)
            return number(op->code == OP_add ? in[0].is + in[1].is : in[0].is - in[1].is);
        return is_no_number_but_zero(in[0]) && is_no_number_but_zero(in[1]) ? zero_or_nan : any;
    case OP_and: return is(in[0], 0) ? in[0] : is(in[1], 0) ? in[1] : any;
    case OP_convert: {
        xt_dtype to = op->out[0].type->dtype, from = op->in[0]->type->dtype;
        bool same = (ir_dtype_is_float(from) || from == XT_BOOL) &&
                    (to == XT_F32 || to == XT_F64 || to == XT_BF16 || to == XT_F16);
        return same && in[0].kind != REST_FINITE ? in[0] : any;
    }
    default: return any;
    }
}

static rest rest_of(const ir_value *v, const ir_value *mask, int depth, int *looks) {
    const ir_literal *l = pick_splat(v);
    if (v == mask) return number(0);
    if (l) return of_constant(v, l);
    if (!v->def || depth == 0 || ++*looks > MOST_LOOKS || !(ir_op_infos[v->def->code].flags & IR_ELEMENTWISE))
        return any;
    return of_op(v->def, mask, depth, looks);
}

/* The comparison that says for each term of a sum whether it counts: the first that is found. */
static bool find_mask(const ir_value *v, int depth, int *looks, onehot *out) {
    if (match_compare(v, out)) return true;
    if (!v->def || depth == 0 || ++*looks > MOST_LOOKS || !(ir_op_infos[v->def->code].flags & IR_ELEMENTWISE))
        return false;
    for (uint32_t i = 0; i < v->def->n_in; i++)
        if (find_mask(v->def->in[i], depth - 1, looks, out)) return true;
    return false;
}

/* --- the one term that counts --- */
/* x[rows..., index[rows...]]; recorded right behind x where that can be, so that x need not live on. */
static ir_value *gather(pick *p, ir_value *x) {
    const onehot *h = p->user;
    ir_builder *b = p->b, here = *b;
    if (x->def && !h->index->def && x->def->block == b->block && x->def->next) here = ir_before(b->m, x->def->next);
    int64_t batch[IR_MAX_RANK], ones[IR_MAX_RANK], last = (int64_t)x->type->rank - 1;
    for (uint32_t i = 0; i < x->type->rank; i++) batch[i] = i, ones[i] = 1;
    ir_gather_dims d = {.n_collapsed = 1,
                        .collapsed = &last,
                        .n_operand_batching = (size_t)last,
                        .operand_batching = batch,
                        .n_start_batching = (size_t)last,
                        .start_batching = batch,
                        .n_index_map = 1,
                        .index_map = &last,
                        .index_vector_dim = last};
    ir_value *v = ir_gather(&here, x, h->index, &d, ones, false);
    if (here.status && !b->status)
        b->status = here.status;
    else if (here.status != b->status)
        xt_status_free(here.status);
    return v;
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

/* A sum over the classes, and perhaps over rows too. */
static bool sums_classes(const ir_op *op, const int64_t **out_dims, size_t *out_n) {
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, out_n);
    const ir_op *o = op->regions[0].block ? op->regions[0].block->first : NULL;
    bool last = false;
    for (size_t i = 0; i < *out_n; i++) last |= dims[i] == (int64_t)op->in[0]->type->rank - 1;
    *out_dims = dims;
    return op->n_in == 2 && last && is_zero(op->in[1]) && o && o->code == OP_add &&
           o->next == op->regions[0].block->last && o->in[0] != o->in[1] && !o->in[0]->def && !o->in[1]->def &&
           o->next->in[0] == &o->out[0];
}

/* The sum over classes of `terms`, one number a row; NULL when it cannot be told from a few elements. */
static ir_value *sum_of_row(ir_builder *b, ir_value *terms, onehot *h, rest others) {
    int64_t to[IR_MAX_RANK], rank = (int64_t)terms->type->rank;
    for (int64_t i = 0; i < rank; i++) to[i] = i + 1 < rank ? i : -1;
    pick p = {.b = b, .to = to, .leaf = gather, .user = h, .mask = &h->compare->out[0], .mask_is = true};
    p.rows = ir_tensor(terms->type->dtype, (size_t)rank - 1, terms->type->dims);
    ir_value *v = p.rows ? pick_value(&p, terms) : NULL;
    if (!v || others.kind == REST_IS) return where_class(b, h, v);
    p.mask_is = false;
    p.leaf = NULL;
    ir_value *zeros = pick_value(&p, terms);
    if (zeros) return ir_add(b, where_class(b, h, v), zeros);
    pick_undo(&p, 0);
    return NULL;
}

static xt_status replace_sum(pass_ctx *c, ir_module *m, ir_op *op) {
    ir_value *terms = op->in[0];
    const int64_t *dims;
    size_t n;
    onehot h;
    int looks = 0, found = 0;
    if (terms->type->rank < 2 || !ir_dtype_is_float(terms->type->dtype) || !sums_classes(op, &dims, &n) ||
        !find_mask(terms, DEPTH, &found, &h))
        return NULL;
    rest others = rest_of(terms, &h.compare->out[0], DEPTH, &looks);
    if (!is(others, 0) && (others.kind != REST_ZERO_OR_NAN || h.classes < 2)) return NULL;
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *v = sum_of_row(&b, terms, &h, others);
    if (!v) return b.status;
    int64_t rows[IR_MAX_RANK];
    size_t n_rows = 0;
    for (size_t i = 0; i < n; i++)
        if (dims[i] != (int64_t)terms->type->rank - 1) rows[n_rows++] = dims[i];
    if (n_rows) v = ir_reduce(&b, OP_add, v, n_rows, rows);
    if (!v) return b.status ? b.status : status_oom(0, "a rewrite");
    ir_replace_uses(m, &op->out[0], v);
    ir_erase(op);
    c->changed = true;
    return NULL;
}

/* --- scatters of one number a row --- */
/* True when all readers of v are loops over elements, and sums, in its own block. */
static bool is_read_by_loops(const ir_value *v) {
    uint32_t n = 0;
    for (const ir_op *op = v->def->next; op && n < v->uses; op = op->next)
        for (uint32_t i = 0; i < op->n_in; i++)
            if (op->in[i] == v) {
                if (op->code != OP_reduce && !(ir_op_infos[op->code].flags & IR_ELEMENTWISE)) return false;
                n++;
            }
    return n > 0 && n == v->uses;
}

static bool sums_or_replaces(const ir_op *op) {
    const ir_block *b = op->regions[0].block;
    const ir_op *first = b->first, *last = b->last;
    if (first == last) return !last->in[0]->def && last->in[0]->index == 1; /* the number replaces the zero */
    return first->code == OP_add && first->next == last && first->in[0] != first->in[1] && !first->in[0]->def &&
           !first->in[1]->def && last->in[0] == &first->out[0];
}

/* The dim of the classes when op puts one number a row into zeros, else -1. */
static int64_t scatters_numbers(const ir_op *op) {
    const ir_type *t = op->out[0].type;
    size_t n_window, n_inserted, n_batch, n_at, n_map;
    if (op->n_in != 3 || t->rank < 2 || t->count <= 0 || !ir_dtype_is_float(t->dtype) || !is_zero(op->in[0]) ||
        !sums_or_replaces(op))
        return -1;
    ir_get_ints(op, IR_A_update_window_dims, &n_window);
    const int64_t *inserted = ir_get_ints(op, IR_A_inserted_window_dims, &n_inserted),
                  *to = ir_get_ints(op, IR_A_scatter_dims_to_operand_dims, &n_map);
    const int64_t *at = ir_get_ints(op, IR_A_scatter_indices_batching_dims, &n_at);
    ir_get_ints(op, IR_A_input_batching_dims, &n_batch);
    if (n_window || n_inserted != 1 || n_map != 1 || to[0] != inserted[0] || n_batch + 1 != t->rank) return -1;
    for (size_t i = 1; i < n_at; i++)
        if (at[i] < at[i - 1]) return -1;
    xt_dtype d = op->in[1]->type->dtype;
    bool one =
        op->in[2]->type->count == t->count / t->dims[inserted[0]] && op->in[1]->type->count == op->in[2]->type->count;
    return one && (d == XT_I32 || d == XT_I64) && t->dims[inserted[0]] < INT32_MAX && is_read_by_loops(&op->out[0])
               ? inserted[0]
               : -1;
}

static xt_status replace_scatter(pass_ctx *c, ir_module *m, ir_op *op) {
    int64_t classes = scatters_numbers(op), dims[IR_MAX_RANK], at[IR_MAX_RANK];
    if (classes < 0) return NULL;
    const ir_type *t = op->out[0].type, *counts = ir_with_dtype(t, op->in[1]->type->dtype);
    size_t n = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if (i != classes) dims[n] = t->dims[i], at[n++] = i;
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *index = ir_broadcast_in_dim(&b, ir_reshape(&b, op->in[1], n, dims), counts, n, at);
    ir_value *mask = ir_compare(&b, IR_EQ, index, ir_iota(&b, counts, classes));
    ir_value *update = ir_reshape(&b, op->in[2], n, dims);
    bool adds = op->regions[0].block->first->code == OP_add;
    if (adds) update = ir_add(&b, ir_splat(&b, ir_tensor(t->dtype, n, dims), 0), update); /* 0 + -0 is 0 */
    update = ir_broadcast_in_dim(&b, update, t, n, at);
    ir_value *v = ir_select(&b, mask, update, ir_splat(&b, t, 0));
    if (!v) return b.status ? b.status : status_oom(0, "a rewrite");
    ir_replace_uses(m, &op->out[0], v);
    ir_erase(op);
    c->changed = true;
    return NULL;
}

/* --- narrower comparisons --- */
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

typedef xt_status (*visit_op)(pass_ctx *c, ir_module *m, ir_op *op);
static xt_status walk(pass_ctx *c, ir_module *m, ir_block *b, ir_opcode code, visit_op visit) {
    for (ir_op *op = b->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) XT_TRY(walk(c, m, op->regions[r].block, code, visit));
        if (op->code == code) XT_TRY(visit(c, m, op));
    }
    return NULL;
}

xt_status pass_opt_onehot(pass_ctx *c, ir_module *m) {
    static const struct {
        ir_opcode code;
        visit_op visit;
    } steps[] = {{OP_scatter, replace_scatter}, {OP_reduce, replace_sum}, {OP_compare, narrow}};
    for (size_t i = 0; i < BASE_COUNT(steps); i++)
        for (ir_func *f = m->funcs; f; f = f->next)
            if (f->body) XT_TRY(walk(c, m, f->body, steps[i].code, steps[i].visit));
    return NULL;
}
