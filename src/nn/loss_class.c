/* Losses over classes: negative log likelihood, cross entropy (integer labels or probabilities), margins between
 * classes. Labels become a mask by comparison with an iota along the class axis, so the gradient needs no scatter. With
 * V the labels that are not ignored,
 *   nll = sum_V w[y] (-x[y]) / sum_V w[y]
 *   cross entropy = (1 - s) nll + s / C * sum_V sum_c w[c] (-x[c]) / sum_V w[y]   for smoothing s. */
#include <math.h>

#include "lazy/core/labels.h"
#include "nn/loss.h"

typedef struct classes {
    loss l;
    ir_value *x, *labels, *weight; /* weight [C] at x's shape, or NULL */
    int64_t axis, count; /* the class axis of x and its size */
    ex_number rest, share; /* of the label and of each class, when labels are smoothed */
    bool smooths;
} classes;

static bool without_axis(const ir_type *x, const ir_type *labels, int64_t axis) {
    if (axis < 0 || axis >= (int64_t)x->rank || labels->rank + 1 != x->rank) return false;
    for (uint32_t i = 0; i < labels->rank; i++)
        if (labels->dims[i] != x->dims[i < axis ? i : i + 1]) return false;
    return true;
}

static bool wrong_shapes(classes *c, const ir_type *x, const ir_type *labels, const char *why) {
    ops_text sx, sl;
    c->l.failed = lazy_error(c->l.src, XT_INVALID_ARGUMENT, "%s: scores are %s %s and labels %s %s: %s", c->l.what,
                             xt_dtype_name(x->dtype), ops_shape(x, &sx), xt_dtype_name(labels->dtype),
                             ops_shape(labels, &sl), why);
    return false;
}

static bool find_axis(classes *c, const ir_type *x, const ir_type *labels, bool probabilities, int asked) {
    int64_t rank = (int64_t)x->rank;
    if (rank < 1 || x->count == 0)
        return wrong_shapes(c, x, labels, "there must be at least one score and a class axis");
    bool says = asked != XT_AXIS_AUTO;
    if (says) {
        if (!ops_axis(c->l.src, c->l.what, x, asked, &c->axis, &c->l.failed)) return false;
    } else
        c->axis = rank == 1 ? 0 : 1;
    if (probabilities) {
        if (labels->rank == x->rank && memcmp(labels->dims, x->dims, x->rank * sizeof *x->dims) == 0) return true;
        return wrong_shapes(c, x, labels,
                            "float labels are probabilities and have the scores' shape; class numbers are integers, "
                            "xt_cast them to XT_I64");
    }
    bool first = without_axis(x, labels, c->axis), last = without_axis(x, labels, rank - 1);
    if (!says && rank > 2 && first && last)
        return wrong_shapes(c, x, labels, "the classes may be dim 1 or the last dim; say .axis = 1 or .axis = -1");
    if (!first && !says && last) {
        c->axis = rank - 1;
        return true;
    }
    return first || wrong_shapes(c, x, labels,
                                 "labels have the scores' shape without the class axis, which is dim 1 ([N,C,d1,...]) "
                                 "or the last one ([N,T,C])");
}

static bool open_classes(classes *c, const xt_src *src, const char *what, xt_tensor scores, xt_tensor labels,
                         xt_tensor weight, int axis, bool probabilities_too) {
    xt_tensor in[2] = {scores, weight};
    ir_value *v[2] = {NULL, NULL};
    const ir_type *tx = lazy_type(scores);
    if (tx && !ir_dtype_is_float(tx->dtype)) {
        c->l.failed = lazy_error(src, XT_INVALID_ARGUMENT, "%s: scores are %s; floats are needed", what,
                                 xt_dtype_name(tx->dtype));
        return false;
    }
    if (!loss_open(&c->l, src, what, xt_is_none(weight) ? 1 : 2, in, v)) return false;
    c->x = v[0];
    c->labels = lazy_value(labels);
    if (!c->labels) {
        c->l.failed = lazy_wrap(NULL, what);
        return false;
    }
    const ir_type *tl = c->labels->type;
    bool probabilities = ir_dtype_is_float(tl->dtype);
    if (!ir_dtype_is_int(tl->dtype) && !(probabilities && probabilities_too))
        return wrong_shapes(c, v[0]->type, tl, "class numbers are integers, xt_cast them to XT_I64");
    if (!find_axis(c, v[0]->type, tl, probabilities, axis)) return false;
    c->count = v[0]->type->dims[c->axis];
    if (probabilities) c->labels = ir_convert(c->l.b, c->labels, v[0]->type->dtype);
    if (v[1] && (v[1]->type->rank != 1 || v[1]->type->dims[0] != c->count)) {
        ops_text sw;
        c->l.failed = lazy_error(src, XT_INVALID_ARGUMENT, "%s: .weight is %s; one factor a class is needed, [%lld]",
                                 what, ops_shape(v[1]->type, &sw), (long long)c->count);
        return false;
    }
    c->weight = v[1] ? ir_broadcast_in_dim(c->l.b, v[1], v[0]->type, 1, &c->axis) : NULL;
    return true;
}

/* A value without the class axis at x's shape. */
static ir_value *spread(const classes *c, ir_value *v) {
    int64_t axes[XT_MAX_RANK];
    size_t n = 0;
    if (!v) return NULL;
    for (int64_t i = 0; i < (int64_t)c->x->type->rank; i++)
        if (i != c->axis) axes[n++] = i;
    return ir_broadcast_in_dim(c->l.b, v, ir_with_dtype(c->x->type, v->type->dtype), n, axes);
}

static bool labels_fit(const classes *c, int64_t ignore) {
    return lazy_labels_fit(
        &(lazy_classes){.what = c->l.what, .src = src_intern(c->l.src), .count = c->count, .ignore = ignore},
        c->labels);
}

/* Where the class is the label's. */
static ir_value *mask_of(const classes *c) {
    ir_value *wide = spread(c, c->labels);
    return wide ? ir_compare(c->l.b, IR_EQ, wide, ir_iota(c->l.b, wide->type, c->axis)) : NULL;
}

static ir_value *masked_sum(const classes *c, ir_value *mask, ir_value *v) {
    return loss_sum_axis(c->l.b, ir_select(c->l.b, mask, v, loss_splat(c->l.b, v, 0)), c->axis);
}

/* 1 where a label counts, 0 where it is ignored; NULL when no label of this type can be the ignored one. */
static ir_value *counted(classes *c, int64_t ignore) {
    xt_dtype t = c->labels->type->dtype;
    if (ignore < 0 && !ir_dtype_is_signed(t)) return NULL;
    ex_number given = loss_given(&c->l, c->labels, (double)ignore);
    ir_value *is = ir_compare(c->l.b, IR_NE, c->labels, ex_of(c->l.b, c->labels, given));
    return ir_convert(c->l.b, is, c->x->type->dtype);
}

/* Labels that name no class are an error where the host has seen them (lazy/core/labels.h). Others, computed on the
 * device, give NaN: the number says it without a read. */
static ir_value *refuse_unknown(const classes *c, ir_value *each, ir_value *keep) {
    ir_builder *b = c->l.b;
    const ir_type *t = c->labels->type;
    ir_value *wrong = ir_compare(b, IR_GE, c->labels, ir_splat(b, t, (double)c->count));
    if (ir_dtype_is_signed(t->dtype)) wrong = ir_or(b, wrong, ir_compare(b, IR_LT, c->labels, ir_splat(b, t, 0)));
    if (keep) wrong = ir_and(b, wrong, ir_compare(b, IR_NE, keep, loss_splat(b, keep, 0)));
    return ir_select(b, wrong, loss_splat(b, each, NAN), each);
}

/* The end for integer labels: log_probs are given; see the top. */
static xt_tensor from_labels(classes *c, ir_value *log_probs, const xt_class_loss_opts *o) {
    ir_builder *b = c->l.b;
    int64_t ignore = o->ignore_index;
    if (!labels_fit(c, ignore)) return lazy_failed_tensor(c->l.src);
    ir_value *mask = mask_of(c), *keep = counted(c, ignore);
    ir_value *own = c->weight ? masked_sum(c, mask, c->weight) : NULL; /* w[y] */
    if (own && keep) own = ir_multiply(b, own, keep);
    ir_value *each = ir_negate(b, masked_sum(c, mask, c->weight ? ir_multiply(b, log_probs, c->weight) : log_probs));
    if (keep) /* by selection: 0 * inf is no 0 */
        each = loss_where(b, IR_NE, keep, 0, each, loss_splat(b, each, 0));
    if (c->smooths) {
        ir_value *all =
            ir_negate(b, loss_sum_axis(b, c->weight ? ir_multiply(b, log_probs, c->weight) : log_probs, c->axis));
        if (keep) all = loss_where(b, IR_NE, keep, 0, all, loss_splat(b, all, 0));
        each = ir_add(b, ir_multiply(b, each, ex_of(b, each, c->rest)), ir_multiply(b, all, ex_of(b, all, c->share)));
    }
    each = refuse_unknown(c, each, keep);
    if (o->reduction == XT_NONE || o->reduction == XT_SUM || (!own && !keep))
        return loss_close(&c->l, each, o->reduction);
    return lazy_wrap(ir_divide(b, loss_sum_all(b, each), loss_sum_all(b, own ? own : keep)), c->l.what);
}

/* Probabilities: -sum_c w[c] p[c] x[c], the mean over places. */
static xt_tensor from_probabilities(classes *c, ir_value *log_probs, const xt_class_loss_opts *o) {
    ir_builder *b = c->l.b;
    ir_value *p = c->labels;
    if (c->smooths) {
        p = ir_multiply(b, p, ex_of(b, p, c->rest));
        p = ir_add(b, p, ex_of(b, p, c->share));
    }
    ir_value *each = ir_multiply(b, log_probs, p);
    if (c->weight) each = ir_multiply(b, each, c->weight);
    return loss_close(&c->l, ir_negate(b, loss_sum_axis(b, each, c->axis)), o->reduction);
}

xt_tensor xt_nll_loss_at(const xt_src *src, xt_tensor log_probs, xt_tensor labels, xt_class_loss_opts o) {
    classes c = {0};
    if (!open_classes(&c, src, "xt_nll_loss", log_probs, labels, o.weight, o.axis, false) ||
        !loss_reduction(&c.l, o.reduction, false))
        return c.l.failed;
    if (o.label_smoothing != 0)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_nll_loss: .label_smoothing = %g is an option of xt_cross_entropy", o.label_smoothing);
    return from_labels(&c, c.x, &o);
}

xt_tensor xt_cross_entropy_at(const xt_src *src, xt_tensor logits, xt_tensor labels, xt_class_loss_opts o) {
    classes c = {0};
    if (!open_classes(&c, src, "xt_cross_entropy", logits, labels, o.weight, o.axis, true) ||
        !loss_reduction(&c.l, o.reduction, false) || !loss_number(&c.l, "label_smoothing", o.label_smoothing, 0, 1))
        return c.l.failed;
    bool probabilities = ir_dtype_is_float(c.labels->type->dtype);
    if (probabilities && o.ignore_index >= 0)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_cross_entropy: .ignore_index = %lld, and labels %s are probabilities, none of which it "
                          "can be: leave it out, or give integer labels",
                          (long long)o.ignore_index, xt_dtype_name(c.labels->type->dtype));
    ex_number smoothing = loss_given(&c.l, c.x, o.label_smoothing);
    xt_dtype t = c.x ? c.x->type->dtype : XT_F32;
    c.rest = ex_derived(src, t, smoothing.data, 1 - o.label_smoothing);
    c.share = ex_derived(src, t, smoothing.data, o.label_smoothing / (double)c.count);
    c.l.b = lazy_begin(src);
    c.smooths = !ex_always(smoothing, 0);
    ir_value *log_probs = c.x ? ops_log_softmax(c.l.b, c.x, c.axis) : NULL;
    return probabilities ? from_probabilities(&c, log_probs, &o) : from_labels(&c, log_probs, &o);
}

/* max(0, x) without a slope at 0, as PyTorch's kernels of these two have it; a NaN stays. */
static ir_value *above(ir_builder *b, ir_value *x) {
    return loss_where(b, IR_LE, x, 0, loss_splat(b, x, 0), x);
}

xt_tensor xt_multi_margin_loss_at(const xt_src *src, xt_tensor x, xt_tensor labels, xt_multi_margin_opts o) {
    classes c = {0};
    if (!open_classes(&c, src, "xt_multi_margin_loss", x, labels, o.weight, XT_AXIS_AUTO, false) ||
        !loss_reduction(&c.l, o.reduction, false) || !loss_number(&c.l, "margin", o.margin, -1e30, 1e30))
        return c.l.failed;
    if (o.p != 1 && o.p != 2)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_multi_margin_loss: .p = %d is out of range: expected 1 or 2 (default 1)", o.p);
    if (!labels_fit(&c, INT64_MIN)) return lazy_failed_tensor(src);
    ir_builder *b = c.l.b;
    ir_value *mask = mask_of(&c), *own = spread(&c, masked_sum(&c, mask, c.x));
    ir_value *gap = ir_subtract(b, c.x, own);
    ir_value *short_by = above(b, ir_add(b, gap, ex_of(b, gap, loss_given(&c.l, gap, o.margin))));
    if (o.p == 2) short_by = ir_multiply(b, short_by, short_by);
    if (c.weight) short_by = ir_multiply(b, short_by, spread(&c, masked_sum(&c, mask, c.weight)));
    ir_value *each = loss_sum_axis(b, ir_select(b, mask, loss_splat(b, short_by, 0), short_by), c.axis);
    return loss_close(&c.l, loss_times(b, each, 1.0 / (double)c.count), o.reduction);
}

/* --- several labels a row --- */
/* [N,K,C]: whether the k-th entry of the row, before the first negative one, is class c. */
static ir_value *entries(ir_builder *b, ir_value *labels) {
    const ir_type *t = labels->type;
    int64_t n = t->dims[0], k = t->dims[1], one = 1, cube[3] = {n, k, k}, rows[2] = {0, 1}, row = 0;
    ir_value *at = ir_iota(b, t, 1);
    ir_value *negative = ir_compare(b, IR_LT, labels, ir_splat(b, t, 0));
    ir_value *first = ir_reduce(b, OP_minimum, ir_select(b, negative, at, ir_splat(b, t, (double)k)), 1, &one);
    ir_value *valid = first ? ir_compare(b, IR_LT, at, ir_broadcast_in_dim(b, first, t, 1, &row)) : NULL;
    ir_value *named = ir_select(b, valid, labels, ir_splat(b, t, -1));
    const ir_type *full = ir_tensor(t->dtype, 3, cube);
    return named && full ? ir_compare(b, IR_EQ, ir_broadcast_in_dim(b, named, full, 2, rows), ir_iota(b, full, 2))
                         : NULL;
}

xt_tensor xt_multilabel_margin_loss_at(const xt_src *src, xt_tensor x, xt_tensor labels, xt_multilabel_opts o) {
    loss l;
    ir_value *v[1], *y;
    ops_text sx, sy;
    if (!loss_open(&l, src, "xt_multilabel_margin_loss", 1, &x, v) || !loss_reduction(&l, o.reduction, false))
        return l.failed;
    if (!(y = lazy_value(labels))) return lazy_wrap(NULL, l.what);
    const ir_type *t = v[0]->type;
    bool one_row = t->rank == 1 && y->type->rank == 1;
    if (one_row) {
        v[0] = ir_reshape(l.b, v[0], 2, (int64_t[]){1, t->dims[0]});
        y = ir_reshape(l.b, y, 2, (int64_t[]){1, y->type->dims[0]});
        if (!v[0] || !y) return lazy_wrap(NULL, l.what);
        t = v[0]->type;
    }
    if (t->rank != 2 || y->type->rank != 2 || memcmp(t->dims, y->type->dims, 2 * sizeof *t->dims) != 0 ||
        !ir_dtype_is_signed(y->type->dtype) || ir_dtype_is_float(y->type->dtype) || t->count == 0)
        return lazy_error(
            src, XT_INVALID_ARGUMENT,
            "%s: x %s and labels %s %s: both [N,C] or [C], labels signed integers that end at a negative one", l.what,
            ops_shape(t, &sx), xt_dtype_name(y->type->dtype), ops_shape(y->type, &sy));
    const lazy_classes known = {
        .what = l.what, .src = src_intern(src), .first = INT64_MIN, .count = t->dims[1], .ignore = INT64_MIN};
    if (!lazy_labels_fit(&known, y)) return lazy_failed_tensor(src);
    ir_builder *b = l.b;
    int64_t k = t->dims[1], cube[3] = {t->dims[0], k, k}, last[2] = {0, 2}, middle[2] = {0, 1}, two = 2, one = 1,
            both[2] = {1, 2};
    const ir_type *full = ir_tensor(t->dtype, 3, cube);
    ir_value *hit = entries(b, y), *wide = ir_broadcast_in_dim(b, v[0], full, 2, last), *zero = ir_splat(b, full, 0);
    ir_value *flag = ir_convert(b, hit, t->dtype);
    if (!flag || !wide) return lazy_wrap(NULL, l.what);
    ir_value *own = ir_reduce(b, OP_add, ir_select(b, hit, wide, zero), 1, &two); /* [N,K]: x of the entry */
    ir_value *used = ir_reduce(b, OP_add, flag, 1, &two); /* [N,K]: the entry counts */
    ir_value *target = ir_reduce(b, OP_maximum, flag, 1, &one); /* [N,C]: the class is one of the row's */
    ir_value *gap = ir_subtract(b, ir_add(b, wide, ir_splat(b, full, 1)),
                                own ? ir_broadcast_in_dim(b, own, full, 2, middle) : NULL);
    ir_value *counts =
        used && target
            ? ir_multiply(b, ir_broadcast_in_dim(b, used, full, 2, middle),
                          ir_subtract(b, ir_splat(b, full, 1), ir_broadcast_in_dim(b, target, full, 2, last)))
            : NULL;
    ir_value *terms = ir_multiply(b, above(b, gap), counts);
    ir_value *each = terms ? ir_reduce(b, OP_add, terms, 2, both) : NULL;
    if (one_row && each) each = ir_reshape(b, each, 0, NULL);
    return loss_close(&l, loss_times(b, each, 1.0 / (double)k), o.reduction);
}
