/* One name logged again in one step, by another line or the same: each call's value counts, in means with its weight,
 * in sums, in the least and the most, as those of several steps do in an epoch. Two values become one of the two
 * weights together. Numbers stay numbers of the host; where one of the two is a tensor, a few ops of the step make one
 * of them. */
#include <math.h>

#include <xtrain/ops.h>

#include "metrics/log_int.h"

static bool is_of_host(const log_pending *p) {
    return p->is_number && (p->weigh == LOG_WEIGH_CONSTANT || p->weigh == LOG_WEIGH_NUMBER);
}

/* Of a batch whose end may be padding: that which the call was at; in a compiled function each call's own number. */
static void settle_samples(log_pending *p) {
    if (p->weigh == LOG_WEIGH_SAMPLES && !lazy_tracing()) p->weigh = LOG_WEIGH_NUMBER;
}

static double less_of(double a, double b) {
    return isnan(a) || a < b ? a : b;
}

static void merge_numbers(xt_reduce reduce, log_pending *into, const log_pending *p) {
    double weight = into->weight_value + p->weight_value;
    if (reduce == XT_SUM) {
        into->number += p->number;
        return;
    }
    if (reduce == XT_MIN)
        into->number = less_of(into->number, p->number);
    else if (reduce == XT_MAX)
        into->number = -less_of(-into->number, -p->number);
    else if (into->weight_value == p->weight_value)
        into->number = into->number / 2 + p->number / 2;
    else
        into->number = (into->number * into->weight_value + p->number * p->weight_value) / weight;
    into->weight_value = weight;
    if (p->weigh == LOG_WEIGH_NUMBER) into->weigh = LOG_WEIGH_NUMBER;
}

/* --- tensors --- */
static xt_tensor value_of(const xt_src *src, const log_pending *p, int64_t count) {
    if (p->is_number) return lazy_scalar(src, XT_F32, p->number);
    xt_tensor f = xt_cast_at(src, p->value, XT_F32);
    return xt_reshape_at(src, f, count == 1 ? XT_DIMS_(0) : XT_DIMS_(count, 0));
}

static xt_tensor weight_of(const xt_src *src, const log_pending *p) {
    switch (p->weigh) {
    case LOG_WEIGH_TENSOR: return xt_reshape_at(src, xt_cast_at(src, p->weight, XT_F32), XT_DIMS_(0));
    case LOG_WEIGH_NUMBER: return lazy_scalar(src, XT_F32, p->weight_value);
    case LOG_WEIGH_SAMPLES: return log_samples(src, &log_engine_peek()->sets[log_engine_peek()->stage]);
    default: return xt_full_at(src, p->weight_value, XT_F32, XT_DIMS_(0));
    }
}

/* Weights that are nobody's data: the mean of two of the same weight, or of two constants. */
static xt_tensor mean_of_constants(const xt_src *src, xt_tensor a, xt_tensor b, double of_a, double of_b) {
    double all = of_a + of_b;
    if (all <= 0) return b;
    return xt_add_at(src, xt_mul_at(src, a, xt_full_at(src, of_a / all, XT_F32, XT_DIMS_(0))),
                     xt_mul_at(src, b, xt_full_at(src, of_b / all, XT_F32, XT_DIMS_(0))));
}

static void merge_tensors(const xt_src *src, const log_metric *m, log_pending *into, const log_pending *p) {
    xt_tensor a = value_of(src, into, m->kind.count), b = value_of(src, p, m->kind.count);
    xt_tensor weight = {0};
    log_pending both = *into;
    both.is_number = false;
    both.weight_value = into->weight_value + p->weight_value;
    if (m->kind.finish || (m->o.reduce == XT_SUM && !m->kind.share)) { /* both have the weight 1 */
        both.value = xt_add_at(src, a, b);
        both.weight_value = 1;
    } else if (m->o.reduce == XT_MIN || m->o.reduce == XT_MAX) {
        both.value = (m->o.reduce == XT_MIN ? xt_minimum_at : xt_maximum_at)(src, a, b);
        both.weigh = LOG_WEIGH_CONSTANT;
        both.weight_value = 1; /* they are the value's, whatever its weight */
    } else if (into->weigh == LOG_WEIGH_CONSTANT && p->weigh == LOG_WEIGH_CONSTANT)
        both.value = mean_of_constants(src, a, b, into->weight_value, p->weight_value);
    else {
        xt_tensor of_a = weight_of(src, into), of_b = weight_of(src, p);
        weight = xt_add_at(src, of_a, of_b);
        xt_tensor some = xt_maximum_at(src, weight, xt_full_at(src, 1e-30, XT_F32, XT_DIMS_(0)));
        both.value = xt_div_at(src, xt_add_at(src, xt_mul_at(src, a, of_a), xt_mul_at(src, b, of_b)), some);
        both.weigh = LOG_WEIGH_TENSOR;
    }
    both.weight = weight;
    both.held = false;
    log_pending_drop(into);
    *into = both;
}

void log_again(const xt_src *src, const log_metric *m, log_pending *into, log_pending *p) {
    if (m->o.reduce == XT_LAST) {
        log_pending_drop(into);
        *into = *p;
        return;
    }
    settle_samples(into);
    settle_samples(p);
    if (is_of_host(into) && is_of_host(p)) {
        merge_numbers(m->o.reduce, into, p);
        return;
    }
    xt_no_grad_begin();
    lazy_path_push("log");
    merge_tensors(src, m, into, p);
    lazy_path_pop();
    xt_no_grad_end_at(NULL);
    log_pending_drop(p);
}
