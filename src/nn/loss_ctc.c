/* Connectionist temporal classification (Graves et al. 2006): the forward recursion over the labels with blanks between
 * them, in logarithms, one recorded step a time. The derivative is the recursion's own; "impossible" is a large
 * negative number, so that nothing subtracts infinities. */
#include <math.h>

#include "lazy/core/labels.h"
#include "nn/loss.h"

static const double IMPOSSIBLE = -1e30;

typedef struct ctc {
    loss l;
    int64_t steps, batch, classes, labels, width; /* width: 2 labels + 1 */
    ir_value *targets, *input_lengths, *target_lengths; /* of i32 */
} ctc;

static ir_value *ints(ctc *c, xt_tensor t) {
    ir_value *v = lazy_value(t);
    return v && ir_dtype_is_int(v->type->dtype) ? ir_convert(c->l.b, v, XT_I32) : NULL;
}

static bool values_fit(const ctc *c, const ir_type *x) {
    const lazy_classes classes = {
        .what = c->l.what, .src = src_intern(c->l.src), .count = x->dims[2], .ignore = INT64_MIN};
    return lazy_labels_fit(&classes, c->targets) &&
           lazy_lengths_fit(c->l.src, c->l.what, x->dims[0], c->input_lengths) &&
           lazy_lengths_fit(c->l.src, c->l.what, c->targets->type->dims[1], c->target_lengths);
}

static bool fits(ctc *c, const ir_type *x, xt_tensor targets, xt_tensor input_lengths, xt_tensor target_lengths,
                 int64_t blank) {
    c->targets = ints(c, targets);
    c->input_lengths = ints(c, input_lengths);
    c->target_lengths = ints(c, target_lengths);
    bool ok = c->targets && c->input_lengths && c->target_lengths && x->rank == 3 && c->targets->type->rank == 2 &&
              c->input_lengths->type->rank == 1 && c->target_lengths->type->rank == 1 && x->count > 0 &&
              c->targets->type->count > 0;
    ok = ok && c->targets->type->dims[0] == x->dims[1] && c->input_lengths->type->dims[0] == x->dims[1] &&
         c->target_lengths->type->dims[0] == x->dims[1];
    if (!ok)
        c->l.failed = lazy_error(c->l.src, XT_INVALID_ARGUMENT,
                                 "xt_ctc_loss: log_probs with %d dims: float [T,N,C], int targets [N,S], input_lengths "
                                 "[N] and target_lengths [N] are needed",
                                 (int)x->rank);
    else if (blank < 0 || blank >= x->dims[2]) {
        c->l.failed = lazy_error(c->l.src, XT_OUT_OF_RANGE, "xt_ctc_loss.blank = %lld of %lld classes",
                                 (long long)blank, (long long)x->dims[2]);
        ok = false;
    } else if (!values_fit(c, x)) {
        c->l.failed = lazy_failed_tensor(c->l.src);
        ok = false;
    }
    return ok;
}

static ir_value *full(ir_builder *b, xt_dtype t, size_t rank, const int64_t *dims, double v) {
    return ir_splat(b, ir_tensor(t, rank, dims), v);
}

/* [N,S] -> blank, label, blank, label, ..., blank: [N,width] */
static ir_value *with_blanks(const ctc *c, double blank) {
    ir_builder *b = c->l.b;
    int64_t column[3] = {c->batch, c->labels, 1}, flat[2] = {c->batch, 2 * c->labels}, last[2] = {c->batch, 1};
    ir_value *pair[2] = {full(b, XT_I32, 3, column, blank), ir_reshape(b, c->targets, 3, column)};
    ir_value *parts[2] = {ir_reshape(b, ir_concatenate(b, 2, pair, 2), 2, flat), full(b, XT_I32, 2, last, blank)};
    return ir_concatenate(b, 2, parts, 1);
}

/* x [N,width] moved by `by` to the right, `fill` coming in. */
static ir_value *shifted(const ctc *c, ir_value *x, int64_t by, double fill) {
    ir_builder *b = c->l.b;
    int64_t start[2] = {0, 0}, limit[2] = {c->batch, c->width - by}, edge[2] = {c->batch, by};
    if (!x) return NULL;
    ir_value *parts[2] = {full(b, x->type->dtype, 2, edge, fill), ir_slice(b, x, start, limit, NULL)};
    return ir_concatenate(b, 2, parts, 1);
}

/* Where a label may follow the one before it without a blank between. */
static ir_value *may_skip(const ctc *c, ir_value *extended, double blank) {
    ir_builder *b = c->l.b;
    ir_value *other = ir_compare(b, IR_NE, extended, shifted(c, extended, 2, blank));
    return ir_and(b, other, ir_compare(b, IR_NE, extended, loss_splat(b, extended, blank)));
}

static ir_value *log_sum(ir_builder *b, size_t n, ir_value *const *x) {
    ir_value *top = x[0], *sum = NULL;
    for (size_t i = 1; i < n; i++) top = ir_maximum(b, top, x[i]);
    top = loss_detach(b, top);
    for (size_t i = 0; i < n; i++) {
        ir_value *e = ir_exponential(b, ir_subtract(b, x[i], top));
        sum = sum ? ir_add(b, sum, e) : e;
    }
    return ir_add(b, ir_log(b, sum), top);
}

/* scores[t] of [T,N,width] as [N,width] */
static ir_value *at_time(const ctc *c, ir_value *scores, int64_t t) {
    int64_t start[3] = {t, 0, 0}, limit[3] = {t + 1, c->batch, c->width}, dims[2] = {c->batch, c->width};
    return ir_reshape(c->l.b, ir_slice(c->l.b, scores, start, limit, NULL), 2, dims);
}

/* [N] along the width, or the step against [N] lengths: broadcast to [N,width]. */
static ir_value *wide(const ctc *c, ir_value *v) {
    int64_t axis = 0, dims[2] = {c->batch, c->width};
    return v ? ir_broadcast_in_dim(c->l.b, v, ir_tensor(v->type->dtype, 2, dims), 1, &axis) : NULL;
}

static ir_value *forward(const ctc *c, ir_value *scores, ir_value *skip) {
    ir_builder *b = c->l.b;
    ir_value *first = at_time(c, scores, 0);
    if (!first) return NULL;
    ir_value *place = ir_iota(b, ir_with_dtype(first->type, XT_I32), 1), *never = loss_splat(b, first, IMPOSSIBLE);
    ir_value *alpha = loss_where(b, IR_LT, place, 2, first, never);
    for (int64_t t = 1; t < c->steps; t++) {
        ir_value *from[3] = {alpha, shifted(c, alpha, 1, IMPOSSIBLE),
                             ir_select(b, skip, shifted(c, alpha, 2, IMPOSSIBLE), never)};
        ir_value *next = ir_add(b, log_sum(b, 3, from), at_time(c, scores, t));
        ir_value *running = ir_compare(b, IR_GT, c->input_lengths, loss_splat(b, c->input_lengths, (double)t));
        alpha = ir_select(b, wide(c, running), next, alpha);
    }
    return alpha;
}

/* The entry of alpha at 2 lengths + offset, IMPOSSIBLE below 0: [N] */
static ir_value *ending(const ctc *c, ir_value *alpha, double offset) {
    ir_builder *b = c->l.b;
    ir_value *at = loss_plus(b, loss_times(b, c->target_lengths, 2), offset);
    if (!alpha || !at) return NULL;
    ir_value *here = ir_compare(b, IR_EQ, ir_iota(b, ir_with_dtype(alpha->type, XT_I32), 1), wide(c, at));
    ir_value *v = loss_sum_axis(b, ir_select(b, here, alpha, loss_splat(b, alpha, 0)), 1);
    return v ? loss_where(b, IR_LT, at, 0, loss_splat(b, v, IMPOSSIBLE), v) : NULL;
}

xt_tensor xt_ctc_loss_at(const xt_src *src, xt_tensor log_probs, xt_tensor targets, xt_tensor input_lengths,
                         xt_tensor target_lengths, xt_ctc_opts o) {
    ctc c = {0};
    ir_value *x;
    if (!loss_open(&c.l, src, "xt_ctc_loss", 1, &log_probs, &x) || !loss_reduction(&c.l, o.reduction, false) ||
        !fits(&c, x->type, targets, input_lengths, target_lengths, o.blank))
        return c.l.failed;
    c.steps = x->type->dims[0];
    c.batch = x->type->dims[1];
    c.classes = x->type->dims[2];
    c.labels = c.targets->type->dims[1];
    c.width = 2 * c.labels + 1;
    ir_builder *b = c.l.b;
    ir_value *extended = with_blanks(&c, (double)o.blank);
    int64_t cube[3] = {c.steps, c.batch, c.width}, axes[2] = {1, 2};
    ir_value *index = extended ? ir_broadcast_in_dim(b, extended, ir_tensor(XT_I32, 3, cube), 2, axes) : NULL;
    ir_value *scores = index ? ops_gather_axis(b, x, 2, index) : NULL; /* [T,N,width] */
    ir_value *alpha = forward(&c, scores, may_skip(&c, extended, (double)o.blank));
    ir_value *ends[2] = {ending(&c, alpha, 0), ending(&c, alpha, -1)};
    ir_value *each = ends[0] && ends[1] ? ir_negate(b, log_sum(b, 2, ends)) : NULL;
    each = loss_where(b, IR_GT, each, -IMPOSSIBLE / 10, loss_splat(b, each, o.zero_infinity == XT_ON ? 0 : INFINITY),
                      each);
    if (o.reduction == XT_SUM || o.reduction == XT_NONE || !each) return loss_close(&c.l, each, o.reduction);
    ir_value *length =
        ir_convert(b, ir_maximum(b, c.target_lengths, loss_splat(b, c.target_lengths, 1)), each->type->dtype);
    return loss_close(&c.l, ir_divide(b, each, length), XT_MEAN);
}
