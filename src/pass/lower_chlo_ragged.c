/* chlo.ragged_dot from masked products: the lhs is repeated once a group with zeros outside the group's stretch of the
 * ragged dim, so rows beyond the last group give zeros. A correct form of any size; a device that has grouped products
 * may recognise the op before it comes here. */
#include "pass/lower_chlo_int.h"

/* [g, lhs dims]: the lhs where position r of `dim` lies in group g, else 0. */
static value masked(ir_builder *b, value x, value sizes, int64_t dim) {
    const ir_type *t = x->type;
    int64_t groups = sizes->type->dims[0], square[] = {groups, groups}, table[] = {groups, t->dims[dim]},
            dims[IR_MAX_RANK + 1], axes[IR_MAX_RANK];
    const ir_type *counts = ir_tensor(XT_I64, 2, square), *places = ir_tensor(XT_I64, 2, table);
    if (!counts || !places || t->rank >= IR_MAX_RANK) return NULL;
    /* starts[g] = the sizes of the groups before g */
    value all = ir_broadcast_in_dim(b, ir_convert(b, sizes, XT_I64), counts, 1, (int64_t[]){1});
    value before = ir_compare(b, IR_LT, ir_iota(b, counts, 1), ir_iota(b, counts, 0));
    value starts = ir_reduce(b, OP_add, ir_select(b, before, all, ir_splat(b, counts, 0)), 1, (int64_t[]){1});
    value from = ir_broadcast_in_dim(b, starts, places, 1, (int64_t[]){0});
    value to = ir_add(b, from, ir_broadcast_in_dim(b, ir_convert(b, sizes, XT_I64), places, 1, (int64_t[]){0}));
    value at = ir_iota(b, places, 1);
    value inside = ir_and(b, ir_compare(b, IR_GE, at, from), ir_compare(b, IR_LT, at, to));
    dims[0] = groups;
    for (uint32_t i = 0; i < t->rank; i++) {
        dims[i + 1] = t->dims[i];
        axes[i] = i + 1;
    }
    const ir_type *spread = ir_tensor(t->dtype, t->rank + 1, dims);
    if (!spread) return NULL;
    value mask = ir_broadcast_in_dim(b, inside, ir_with_dtype(spread, XT_BOOL), 2, (int64_t[]){0, dim + 1});
    return ir_select(b, mask, ir_broadcast_in_dim(b, x, spread, t->rank, axes), ir_splat(b, spread, 0));
}

static bool has(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

value chlo_ragged_dot(ir_builder *b, const ir_op *op) {
    value x = op->in[0], y = op->in[1], sizes = op->in[2];
    size_t nb, nc, nr, ng;
    const int64_t *xb = ir_get_ints(op, IR_A_lhs_batching_dimensions, &nb),
                  *yb = ir_get_ints(op, IR_A_rhs_batching_dimensions, &nb);
    const int64_t *xc = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &nc),
                  *yc = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nc);
    const int64_t *ragged = ir_get_ints(op, IR_A_lhs_ragged_dimensions, &nr),
                  *group = ir_get_ints(op, IR_A_rhs_group_dimensions, &ng);
    int64_t batch[2][IR_MAX_RANK + 1], contract[IR_MAX_RANK], perm[IR_MAX_RANK];
    bool batched = has(xb, nb, ragged[0]), contracted = has(xc, nc, ragged[0]);
    if (batched)
        return ir_convert(b, ir_dot_general(b, x, y, nb, xb, yb, nc, xc, yc, IR_PREC_DEFAULT), op->out[0].type->dtype);
    value grouped = masked(b, x, sizes, ragged[0]);
    if (!grouped) return NULL;
    for (size_t i = 0; i < nc; i++) contract[i] = xc[i] + 1;
    if (contracted) { /* the group is a free dim of the lhs: [b, g, m, n], then g goes first */
        for (size_t i = 0; i < nb; i++) batch[0][i] = xb[i] + 1;
        value r = ir_dot_general(b, grouped, y, nb, batch[0], yb, nc, contract, yc, IR_PREC_DEFAULT);
        if (!r) return NULL;
        for (size_t i = 0; i < r->type->rank; i++) perm[i] = i == 0 ? (int64_t)nb : (int64_t)(i <= nb ? i - 1 : i);
        return ir_convert(b, ir_transpose(b, r, r->type->rank, perm), op->out[0].type->dtype);
    }
    batch[0][0] = 0, batch[1][0] = group[0];
    for (size_t i = 0; i < nb; i++) batch[0][i + 1] = xb[i] + 1, batch[1][i + 1] = yb[i];
    value r = ir_dot_general(b, grouped, y, nb + 1, batch[0], batch[1], nc, contract, yc, IR_PREC_DEFAULT);
    return r ? ir_convert(b, ir_reduce(b, OP_add, r, 1, (int64_t[]){0}), op->out[0].type->dtype) : NULL;
}
