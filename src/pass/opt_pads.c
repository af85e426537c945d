/* needs: nothing. keeps: meaning but for a zero's sign.
 *
 * The gradient of slices that divide an array (queries, keys and values of one projection) is recorded as a sum of
 * pads, one a slice. When the pads lie side by side along one dim and leave no gap, that sum is their concatenation:
 * each element is written once. */
#include "pass/pass.h"

enum { MOST = 16, MOST_SUMS = 4 * MOST }; /* of a chain of sums no more is looked at: each of its ops is a root */
typedef struct piece {
    ir_value *value;
    int64_t at, size;
} piece;
typedef struct pieces {
    piece p[MOST];
    size_t n, sums;
    int64_t dim; /* -1: not known yet */
} pieces;

static bool is_zero(const ir_value *v) {
    static const char zeros[16];
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    size_t elem = xt_dtype_size(v->type->dtype);
    return l && elem <= sizeof zeros && !memcmp(l->data, zeros, elem);
}

/* v as a pad of zeros along one dim, or as a sum of such pads that nobody else reads. */
static bool collect(const ir_value *v, pieces *out, bool root) {
    const ir_op *op = v->def;
    size_t n;
    if (!op || (!root && v->uses != 1)) return false;
    if (op->code == OP_add)
        return out->sums++ < MOST_SUMS && collect(op->in[0], out, false) && collect(op->in[1], out, false);
    if (op->code != OP_pad || out->n == MOST || !is_zero(op->in[1])) return false;
    const int64_t *low = ir_get_ints(op, IR_A_edge_padding_low, &n),
                  *high = ir_get_ints(op, IR_A_edge_padding_high, &n);
    const int64_t *interior = ir_get_ints(op, IR_A_interior_padding, &n);
    for (size_t i = 0; i < n; i++) {
        if (low[i] < 0 || high[i] < 0 || interior[i]) return false;
        if (!low[i] && !high[i]) continue;
        if (out->dim >= 0 && out->dim != (int64_t)i) return false;
        out->dim = (int64_t)i;
    }
    if (out->dim < 0) return false;
    out->p[out->n++] = (piece){op->in[0], low[out->dim], op->in[0]->type->dims[out->dim]};
    return true;
}

/* Orders the pieces; true when each begins where the one before ends, from the first element to the last. */
static bool side_by_side(pieces *s, int64_t size) {
    int64_t at = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t next = i;
        while (next < s->n && s->p[next].at != at) next++;
        if (next == s->n) return false;
        piece found = s->p[next];
        s->p[next] = s->p[i];
        s->p[i] = found;
        at += found.size;
    }
    return at == size;
}

static xt_status join(pass_ctx *c, ir_module *m, ir_op *op) {
    pieces s = {.dim = -1};
    ir_value *in[MOST];
    if (op->out[0].type->count <= 0 || !collect(&op->out[0], &s, true) || s.n < 2 ||
        !side_by_side(&s, op->out[0].type->dims[s.dim]))
        return NULL;
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    for (size_t i = 0; i < s.n; i++) in[i] = s.p[i].value;
    ir_value *v = ir_concatenate(&b, s.n, in, s.dim);
    if (!v || b.status) return b.status;
    ir_replace_uses(m, &op->out[0], v);
    ir_erase(op);
    c->changed = true;
    return NULL;
}

/* Last op first: a sum of sums is met at its root. */
static xt_status walk(pass_ctx *c, ir_module *m, ir_block *b) {
    for (ir_op *op = b->last, *prev; op; op = prev) {
        prev = op->prev;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) XT_TRY(walk(c, m, op->regions[r].block));
        if (op->code == OP_add) XT_TRY(join(c, m, op));
    }
    return NULL;
}

xt_status pass_opt_pads(pass_ctx *c, ir_module *m) {
    for (ir_func *f = m->funcs; f; f = f->next)
        if (f->body) XT_TRY(walk(c, m, f->body));
    return NULL;
}
