/* needs: nothing. keeps: meaning bit for bit. A gather of a few elements from an expression over a large array that
 * nobody else reads becomes that expression of what is gathered: of the log-probabilities of 50,257 words cross entropy
 * wants one a row, and they need not be in memory for that. At most one array that is no argument is gathered from, so
 * that nothing lives longer than the expression's result did. */
#include "pass/pick.h"
#include "pass/rewrite.h"

enum { MANY = 16 }; /* so many times more elements than are gathered */

typedef struct places {
    ir_op *gather;
    size_t in_memory; /* arrays gathered from that are no arguments */
} places;

static bool has(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

/* Which dim of the result each dim of the operand is as a whole; -1: a part of it is taken. */
static void map_dims(const ir_op *op, int64_t *to) {
    size_t n_offset, n_collapsed, n_batch, n, window = 0;
    const int64_t *offset = ir_get_ints(op, IR_A_offset_dims, &n_offset),
                  *collapsed = ir_get_ints(op, IR_A_collapsed_slice_dims, &n_collapsed);
    const int64_t *batch = ir_get_ints(op, IR_A_operand_batching_dims, &n_batch),
                  *at = ir_get_ints(op, IR_A_start_indices_batching_dims, &n);
    const int64_t *sizes = ir_get_ints(op, IR_A_slice_sizes, &n);
    const ir_type *x = op->in[0]->type;
    int64_t vector = ir_get_int(op, IR_A_index_vector_dim, 0);
    for (uint32_t i = 0; i < x->rank; i++) {
        to[i] = -1;
        if (has(collapsed, n_collapsed, i)) continue;
        if (!has(batch, n_batch, i)) {
            if (sizes[i] == x->dims[i]) to[i] = offset[window];
            window++;
            continue;
        }
        size_t k = 0;
        while (batch[k] != (int64_t)i) k++;
        int64_t left = at[k] - (at[k] > vector); /* its place among the result's dims that are not offset dims */
        for (to[i] = 0; has(offset, n_offset, to[i]) || left-- > 0;) to[i]++;
    }
}

static ir_value *gather(pick *p, ir_value *x) {
    places *all = p->user;
    const ir_op *op = all->gather;
    if (x->def && all->in_memory++) return NULL;
    const ir_type *t = ir_with_dtype(p->rows, x->type->dtype);
    ir_op *made =
        t ? ir_build(p->b, OP_gather, 2, (ir_value *[]){x, op->in[1]}, op->n_attrs, op->attrs, 0, NULL, 1, &t) : NULL;
    return made ? &made->out[0] : NULL;
}

static xt_status visit(rewriter *r, pass_ctx *c, ir_op *op, void *module) {
    (void)c;
    if (op->code != OP_gather) return NULL;
    ir_value *x = op->in[0];
    const ir_type *t = op->out[0].type;
    if (!x->def || x->uses != 1 || !(ir_op_infos[x->def->code].flags & IR_ELEMENTWISE) || t->count < 0 ||
        x->type->count / MANY < t->count)
        return NULL;
    int64_t to[IR_MAX_RANK];
    map_dims(op, to);
    ir_builder b = ir_before(module, op);
    b.src = op->src;
    b.path = op->path;
    places all = {.gather = op};
    pick p = {.b = &b, .rows = t, .to = to, .leaf = gather, .user = &all};
    ir_value *v = pick_value(&p, x);
    if (!v) return b.status;
    return rewrite_value(r, &op->out[0], v) ? NULL : status_oom(sizeof v, "a rewrite");
}

xt_status pass_opt_gather(pass_ctx *c, ir_module *m) {
    rewriter r = REWRITER_INIT;
    xt_status s = rewrite_module(&r, c, m, visit, m);
    rewriter_deinit(&r);
    return s;
}
