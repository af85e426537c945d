/* Losses of distances and margins: cosine similarity and embedding, ranking, triplets. Formulas:
 * torch.nn.functional. */
#include <math.h>

#include "nn/loss.h"

xt_tensor xt_cosine_similarity_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_cosine_opts o) {
    loss l;
    ir_value *v[2];
    int64_t axis;
    if (!loss_open(&l, src, "xt_cosine_similarity", 2, (xt_tensor[]){x, y}, v) || !loss_number(&l, "eps", o.eps, 0, 1))
        return l.failed;
    ir_builder *b = l.b;
    if (!ops_meet(src, l.what, b, v[0]->type->dtype, &v[0], &v[1], &l.failed) ||
        !ops_axis(src, l.what, v[0]->type, o.axis, &axis, &l.failed))
        return l.failed;
    ex_number eps = loss_given(&l, v[0], o.eps);
    ir_value *dot = loss_sum_axis(b, ir_multiply(b, v[0], v[1]), axis), *norm[2];
    for (int i = 0; i < 2; i++) {
        ir_value *s = loss_sum_axis(b, ir_multiply(b, v[i], v[i]), axis);
        norm[i] = loss_raise(b, loss_root(b, s), eps);
    }
    return lazy_wrap(ir_divide(b, dot, ir_multiply(b, norm[0], norm[1])), l.what);
}

xt_tensor xt_cosine_embedding_loss_at(const xt_src *src, xt_tensor x1, xt_tensor x2, xt_tensor y, xt_margin_opts o) {
    loss l;
    ir_value *v[3];
    const double tiny = 1e-12f, margin = o.margin == XT_AUTO ? 0 : o.margin; /* tiny: PyTorch's, a float there */
    ops_text s1, s2, s3;
    if (!loss_open(&l, src, "xt_cosine_embedding_loss", 3, (xt_tensor[]){x1, x2, y}, v) ||
        !loss_same_shape(&l, v[0], v[1], "x1", "x2"))
        return l.failed;
    const ir_type *t = v[0]->type, *ty = v[2]->type;
    if (t->rank < 1 || t->rank > 2 || ty->rank + 1 != t->rank || (ty->rank && ty->dims[0] != t->dims[0]))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: x1 %s, x2 %s, y %s: [N,D], [N,D], [N] (or [D], [D], []) are needed", l.what,
                          ops_shape(t, &s1), ops_shape(v[1]->type, &s2), ops_shape(ty, &s3));
    ir_builder *b = l.b;
    int64_t axis = (int64_t)t->rank - 1;
    ir_value *dot = loss_sum_axis(b, ir_multiply(b, v[0], v[1]), axis), *square[2];
    for (int i = 0; i < 2; i++) square[i] = loss_plus(b, loss_sum_axis(b, ir_multiply(b, v[i], v[i]), axis), tiny);
    ir_value *cosine = ir_divide(b, dot, ir_sqrt(b, ir_multiply(b, square[0], square[1])));
    ir_value *zero = loss_splat(b, cosine, 0), *same = loss_plus(b, ir_negate(b, cosine), 1),
             *other = loss_positive(b, ir_add(b, cosine, ex_of(b, cosine, loss_made(&l, cosine, margin, -margin))));
    return loss_close(&l,
                      ir_add(b, loss_where(b, IR_EQ, v[2], 1, same, zero), loss_where(b, IR_EQ, v[2], -1, other, zero)),
                      o.reduction);
}

xt_tensor xt_margin_ranking_loss_at(const xt_src *src, xt_tensor x1, xt_tensor x2, xt_tensor y, xt_margin_opts o) {
    loss l;
    ir_value *v[3];
    if (!loss_open(&l, src, "xt_margin_ranking_loss", 3, (xt_tensor[]){x1, x2, y}, v) ||
        !loss_same_shape(&l, v[0], v[1], "x1", "x2") || !loss_same_shape(&l, v[0], v[2], "x1", "y"))
        return l.failed;
    ir_builder *b = l.b;
    double margin = o.margin == XT_AUTO ? 0 : o.margin;
    ir_value *gap = ir_multiply(b, ir_negate(b, v[2]), ir_subtract(b, v[0], v[1]));
    return loss_close(&l, loss_positive(b, ir_add(b, gap, ex_of(b, gap, loss_given(&l, gap, margin)))), o.reduction);
}

/* |x - y + eps|_p along the last dim. */
typedef struct distance_numbers {
    ex_norm p;
    ex_number eps;
} distance_numbers;
static ir_value *distance(ir_builder *b, ir_value *x, ir_value *y, const distance_numbers *n) {
    ir_value *d = ir_subtract(b, x, y);
    d = ir_add(b, d, ex_of(b, d, n->eps));
    int64_t axis = x ? (int64_t)x->type->rank - 1 : 0;
    return ex_norm_of(b, d, 1, &axis, &n->p);
}

xt_tensor xt_triplet_margin_loss_at(const xt_src *src, xt_tensor anchor, xt_tensor positive, xt_tensor negative,
                                    xt_triplet_opts o) {
    loss l;
    ir_value *v[3];
    if (!loss_open(&l, src, "xt_triplet_margin_loss", 3, (xt_tensor[]){anchor, positive, negative}, v) ||
        !loss_same_shape(&l, v[0], v[1], "anchor", "positive") ||
        !loss_same_shape(&l, v[0], v[2], "anchor", "negative") || !loss_number(&l, "margin", o.margin, 0, 1e30) ||
        !loss_number(&l, "p", o.p, 1e-3, INFINITY) || !loss_number(&l, "eps", o.eps, 0, 1))
        return l.failed;
    if (v[0]->type->rank < 1)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: the anchor has no dims; [D] or [N,D] is needed", l.what);
    distance_numbers n = {ex_norm_given(src, l.what, v[0]->type->dtype, o.p), loss_given(&l, v[0], o.eps)};
    ir_builder *b = l.b;
    ir_value *near = distance(b, v[0], v[1], &n), *far = distance(b, v[0], v[2], &n);
    if (o.swap == XT_ON) far = ir_minimum(b, far, distance(b, v[1], v[2], &n));
    ir_value *gap = ir_subtract(b, near, far);
    return loss_close(&l, loss_positive(b, ir_add(b, gap, ex_of(b, gap, loss_given(&l, gap, o.margin)))), o.reduction);
}
