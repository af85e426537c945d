/* Losses of element against element: regression, binary cross entropy, divergences, likelihoods. Formulas:
 * torch.nn.functional. */
#include <math.h>

#include "nn/loss.h"

typedef ir_value *(*each_fn)(ir_builder *b, ir_value *x, ir_value *y, const void *numbers);

static xt_tensor pointwise(loss *l, ir_value *const v[2], xt_reduce r, each_fn each, const void *numbers) {
    if (!loss_same_shape(l, v[0], v[1], "x", "y")) return l->failed;
    return loss_close(l, each(l->b, v[0], v[1], numbers), r);
}

static ir_value *squared(ir_builder *b, ir_value *x, ir_value *y, const void *unused) {
    (void)unused;
    ir_value *d = ir_subtract(b, x, y);
    return ir_multiply(b, d, d);
}
static ir_value *absolute(ir_builder *b, ir_value *x, ir_value *y, const void *unused) {
    (void)unused;
    return ir_abs(b, ir_subtract(b, x, y));
}
static ir_value *soft_margin(ir_builder *b, ir_value *x, ir_value *y, const void *unused) {
    (void)unused;
    return loss_softplus(b, ir_negate(b, ir_multiply(b, x, y)));
}
/* numbers: beta, 0.5 / beta, -0.5 beta */
static ir_value *smooth(ir_builder *b, ir_value *x, ir_value *y, const void *numbers) {
    const ex_number *n = numbers;
    ir_value *d = ir_subtract(b, x, y), *a = ir_abs(b, d), *square = ir_multiply(b, d, d);
    return ir_select(b, ir_compare(b, IR_LT, a, ex_of(b, a, n[0])), ir_multiply(b, square, ex_of(b, square, n[1])),
                     ir_add(b, a, ex_of(b, a, n[2])));
}
/* numbers: delta, -0.5 delta */
static ir_value *huber(ir_builder *b, ir_value *x, ir_value *y, const void *numbers) {
    const ex_number *n = numbers;
    ir_value *d = ir_subtract(b, x, y), *a = ir_abs(b, d), *delta = ex_of(b, a, n[0]);
    return ir_select(b, ir_compare(b, IR_LE, a, delta), loss_times(b, ir_multiply(b, d, d), 0.5),
                     ir_multiply(b, ir_add(b, a, ex_of(b, a, n[1])), delta));
}
/* numbers: the margin */
static ir_value *hinge(ir_builder *b, ir_value *x, ir_value *y, const void *numbers) {
    ir_value *zero = loss_splat(b, x, 0), *less = ir_negate(b, x);
    ir_value *far = loss_positive(b, ir_add(b, less, ex_of(b, less, *(const ex_number *)numbers)));
    return ir_add(b, loss_where(b, IR_NE, y, 1, far, zero), loss_where(b, IR_NE, y, -1, x, zero));
}

xt_tensor xt_mse_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_loss_opts o) {
    loss l;
    ir_value *v[2];
    return loss_open(&l, src, "xt_mse_loss", 2, (xt_tensor[]){x, y}, v) ? pointwise(&l, v, o.reduction, squared, NULL)
                                                                        : l.failed;
}
xt_tensor xt_l1_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_loss_opts o) {
    loss l;
    ir_value *v[2];
    return loss_open(&l, src, "xt_l1_loss", 2, (xt_tensor[]){x, y}, v) ? pointwise(&l, v, o.reduction, absolute, NULL)
                                                                       : l.failed;
}
xt_tensor xt_soft_margin_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_loss_opts o) {
    loss l;
    ir_value *v[2];
    return loss_open(&l, src, "xt_soft_margin_loss", 2, (xt_tensor[]){x, y}, v)
               ? pointwise(&l, v, o.reduction, soft_margin, NULL)
               : l.failed;
}
xt_tensor xt_smooth_l1_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_smooth_l1_opts o) {
    loss l;
    ir_value *v[2];
    if (!loss_open(&l, src, "xt_smooth_l1_loss", 2, (xt_tensor[]){x, y}, v) ||
        !loss_number(&l, "beta", o.beta, 0, 1e30))
        return l.failed;
    /* Among data 0 is a number as others: nothing is below it, and what would be has a finite derivative. */
    ex_number n[] = {loss_given(&l, v[0], o.beta), loss_made(&l, v[0], o.beta, o.beta > 0 ? 0.5 / o.beta : 0),
                     loss_made(&l, v[0], o.beta, -0.5 * o.beta)};
    return ex_always(n[0], 0) ? pointwise(&l, v, o.reduction, absolute, NULL)
                              : pointwise(&l, v, o.reduction, smooth, n);
}
xt_tensor xt_huber_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_huber_opts o) {
    loss l;
    ir_value *v[2];
    if (!loss_open(&l, src, "xt_huber_loss", 2, (xt_tensor[]){x, y}, v) ||
        !loss_number(&l, "delta", o.delta, 1e-30, 1e30))
        return l.failed;
    return pointwise(&l, v, o.reduction, huber,
                     (ex_number[]){loss_given(&l, v[0], o.delta), loss_made(&l, v[0], o.delta, -0.5 * o.delta)});
}
xt_tensor xt_hinge_embedding_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_margin_opts o) {
    loss l;
    ir_value *v[2];
    double margin = o.margin == XT_AUTO ? 1 : o.margin;
    if (!loss_open(&l, src, "xt_hinge_embedding_loss", 2, (xt_tensor[]){x, y}, v) ||
        !loss_number(&l, "margin", margin, -1e30, 1e30))
        return l.failed;
    return pointwise(&l, v, o.reduction, hinge, (ex_number[]){loss_given(&l, v[0], margin)});
}

/* --- binary cross entropy --- */
/* max(log x, -100), with PyTorch's derivative: where x (1 - x) < 1e-12 that is (1 - x) / 1e-12 in place of 1 / x. */
static ir_value *cut_log(ir_builder *b, ir_value *x) {
    const double tiny = 1e-12;
    ir_value *x0 = loss_detach(b, x), *rest = ir_subtract(b, loss_splat(b, x, 1), x0);
    ir_value *edge = ir_compare(b, IR_LT, ir_multiply(b, x0, rest), loss_splat(b, x, tiny));
    ir_value *inside = ir_log(b, ir_select(b, edge, loss_splat(b, x, 0.5), x));
    ir_value *value = ir_log(b, x0);
    if (value) lazy_no_grad_value(value);
    value = ir_maximum(b, value, loss_splat(b, x, -100));
    return ir_select(b, edge, ir_add(b, value, ir_multiply(b, loss_times(b, rest, 1 / tiny), ir_subtract(b, x, x0))),
                     inside);
}

/* What is no probability (a sigmoid that was forgotten) is NaN, so that its gradient is too: the weights tell of it,
 * where a loss that nobody prints would not. */
static ir_value *probability(ir_builder *b, ir_value *x) {
    ir_value *low = ir_compare(b, IR_LT, x, loss_splat(b, x, 0)), *high = ir_compare(b, IR_GT, x, loss_splat(b, x, 1));
    return ir_multiply(b, x, ir_select(b, ir_or(b, low, high), loss_splat(b, x, NAN), loss_splat(b, x, 1)));
}

xt_tensor xt_binary_cross_entropy_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_bce_opts o) {
    loss l;
    bool weighted = !xt_is_none(o.weight);
    ir_value *v[3];
    if (!loss_open(&l, src, "xt_binary_cross_entropy", 2 + weighted, (xt_tensor[]){x, y, o.weight}, v) ||
        !loss_same_shape(&l, v[0], v[1], "x", "y"))
        return l.failed;
    if (!xt_is_none(o.pos_weight))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_binary_cross_entropy: .pos_weight is an option of xt_bce_with_logits; use .weight here");
    if (weighted && !loss_fit(&l, &v[2], v[0], "weight")) return l.failed;
    ir_builder *b = l.b;
    ir_value *x0 = probability(b, v[0]), *one = loss_splat(b, x0, 1), *yes = ir_multiply(b, v[1], cut_log(b, x0));
    ir_value *no = ir_multiply(b, ir_subtract(b, one, v[1]), cut_log(b, ir_subtract(b, one, x0)));
    ir_value *each = ir_negate(b, ir_add(b, yes, no));
    return loss_close(&l, weighted ? ir_multiply(b, each, v[2]) : each, o.reduction);
}

/* (1 - y) x + (1 + (pos_weight - 1) y) log(1 + exp(-x)). */
static ir_value *with_logits(ir_builder *b, ir_value *x, ir_value *y, ir_value *pos_weight) {
    ir_value *one = loss_splat(b, x, 1), *soft = loss_softplus(b, ir_negate(b, x));
    if (pos_weight) soft = ir_multiply(b, soft, ir_add(b, one, ir_multiply(b, ir_subtract(b, pos_weight, one), y)));
    return ir_add(b, ir_multiply(b, ir_subtract(b, one, y), x), soft);
}

xt_tensor xt_bce_with_logits_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_bce_opts o) {
    loss l;
    ir_value *v[4];
    xt_tensor in[4] = {x, y};
    int n = 2, weight = 0, pos = 0;
    if (!xt_is_none(o.weight)) in[weight = n++] = o.weight;
    if (!xt_is_none(o.pos_weight)) in[pos = n++] = o.pos_weight;
    if (!loss_open(&l, src, "xt_bce_with_logits", n, in, v) || !loss_same_shape(&l, v[0], v[1], "x", "y"))
        return l.failed;
    if (weight && !loss_fit(&l, &v[weight], v[0], "weight")) return l.failed;
    if (pos && !loss_fit(&l, &v[pos], v[0], "pos_weight")) return l.failed;
    ir_value *each = with_logits(l.b, v[0], v[1], pos ? v[pos] : NULL);
    return loss_close(&l, weight ? ir_multiply(l.b, each, v[weight]) : each, o.reduction);
}

xt_tensor xt_multilabel_soft_margin_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_multilabel_opts o) {
    loss l;
    bool weighted = !xt_is_none(o.weight);
    ir_value *v[3];
    if (!loss_open(&l, src, "xt_multilabel_soft_margin_loss", 2 + weighted, (xt_tensor[]){x, y, o.weight}, v) ||
        !loss_same_shape(&l, v[0], v[1], "x", "y"))
        return l.failed;
    const ir_type *t = v[0]->type;
    if (t->rank < 1)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_multilabel_soft_margin_loss: x has no dims; [C] or [N,C] is needed");
    if (weighted && !loss_fit(&l, &v[2], v[0], "weight")) return l.failed;
    ir_value *each = with_logits(l.b, v[0], v[1], NULL);
    if (weighted) each = ir_multiply(l.b, each, v[2]);
    each = loss_sum_axis(l.b, each, (int64_t)t->rank - 1);
    return loss_close(&l, loss_times(l.b, each, 1.0 / (double)t->dims[t->rank - 1]), o.reduction);
}

/* --- divergences and likelihoods --- */
xt_tensor xt_kl_div_at(const xt_src *src, xt_tensor log_probs, xt_tensor y, xt_kl_div_opts o) {
    loss l;
    ir_value *v[2];
    if (!loss_open(&l, src, "xt_kl_div", 2, (xt_tensor[]){log_probs, y}, v) ||
        !loss_same_shape(&l, v[0], v[1], "log_probs", "y") || !loss_reduction(&l, o.reduction, true))
        return l.failed;
    ir_builder *b = l.b;
    ir_value *each;
    if (o.log_target == XT_ON)
        each = ir_multiply(b, ir_exponential(b, v[1]), ir_subtract(b, v[1], v[0]));
    else { /* 0 log 0 = 0 */
        ir_value *safe = loss_where(b, IR_EQ, v[1], 0, loss_splat(b, v[1], 1), v[1]);
        ir_value *own = loss_where(b, IR_EQ, v[1], 0, loss_splat(b, v[1], 0), ir_multiply(b, v[1], ir_log(b, safe)));
        each = ir_subtract(b, own, ir_multiply(b, v[1], v[0]));
    }
    if (o.reduction != XT_BATCH_MEAN) return loss_close(&l, each, o.reduction);
    const ir_type *t = v[0]->type;
    return lazy_wrap(loss_times(b, loss_sum_all(b, each), t->rank ? 1.0 / (double)t->dims[0] : 1), l.what);
}

typedef struct poisson_numbers {
    bool log_input, full;
    ex_number eps;
} poisson_numbers;

static ir_value *poisson(ir_builder *b, ir_value *x, ir_value *y, const void *numbers) {
    const poisson_numbers *n = numbers;
    ir_value *each = n->log_input ? ir_subtract(b, ir_exponential(b, x), ir_multiply(b, y, x))
                                  : ir_subtract(b, x, ir_multiply(b, y, ir_log(b, ir_add(b, x, ex_of(b, x, n->eps)))));
    if (!n->full) return each;
    ir_value *zero = loss_splat(b, y, 0), *big = loss_where(b, IR_GT, y, 1, y, loss_splat(b, y, 1));
    ir_value *stirling = ir_add(b, ir_subtract(b, ir_multiply(b, big, ir_log(b, big)), big),
                                loss_times(b, ir_log(b, loss_times(b, big, 2 * M_PI)), 0.5));
    return ir_add(b, each, loss_where(b, IR_GT, y, 1, stirling, zero));
}

xt_tensor xt_poisson_nll_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_poisson_nll_opts o) {
    loss l;
    ir_value *v[2];
    poisson_numbers n = {o.log_input != XT_OFF, o.full == XT_ON, ex_constant(o.eps)};
    if (!loss_open(&l, src, "xt_poisson_nll_loss", 2, (xt_tensor[]){x, y}, v) || !loss_number(&l, "eps", o.eps, 0, 1))
        return l.failed;
    if (!n.log_input) n.eps = loss_given(&l, v[0], o.eps);
    return pointwise(&l, v, o.reduction, poisson, &n);
}

xt_tensor xt_gaussian_nll_loss_at(const xt_src *src, xt_tensor x, xt_tensor y, xt_tensor variance,
                                  xt_gaussian_nll_opts o) {
    loss l;
    ir_value *v[3];
    if (!loss_open(&l, src, "xt_gaussian_nll_loss", 3, (xt_tensor[]){x, y, variance}, v) ||
        !loss_same_shape(&l, v[0], v[1], "x", "y") || !loss_number(&l, "eps", o.eps, 0, 1e30))
        return l.failed;
    ir_builder *b = l.b;
    const ir_type *t = v[0]->type, *tv = v[2]->type;
    if (t->rank && tv->rank + 1 == t->rank &&
        (tv->rank == 0 || memcmp(tv->dims, t->dims, tv->rank * sizeof *t->dims) == 0)) { /* one variance a row */
        int64_t dims[XT_MAX_RANK];
        memcpy(dims, tv->dims, tv->rank * sizeof *dims);
        dims[tv->rank] = 1;
        v[2] = ir_reshape(b, v[2], t->rank, dims);
    }
    if (!v[2] || !loss_fit(&l, &v[2], v[0], "variance")) return v[2] ? l.failed : lazy_wrap(NULL, l.what);
    ir_value *var = loss_raise(b, v[2], loss_given(&l, v[2], o.eps));
    ir_value *d = ir_subtract(b, v[0], v[1]);
    ir_value *each = loss_times(b, ir_add(b, ir_log(b, var), ir_divide(b, ir_multiply(b, d, d), var)), 0.5);
    return loss_close(&l, o.full == XT_ON ? loss_plus(b, each, 0.5 * log(2 * M_PI)) : each, o.reduction);
}
