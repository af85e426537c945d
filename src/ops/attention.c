/* Scaled dot-product attention in PyTorch's meaning: softmax(q k^T scale + mask) v. A row that may look at nothing
 * gives zeros. */
#include <math.h>

#include "ops/expr.h"
#include "ops/optional.h"

static bool attention_fits(const xt_src *src, const char *what, const ir_type *q, const ir_type *k, const ir_type *v,
                           const xt_sdpa_opts *o, xt_tensor *out) {
    ops_text sq, sk, sv;
    uint32_t r = q->rank;
    bool fits = r >= 2 && k->rank == r && v->rank == r && ir_dtype_is_float(q->dtype) && k->dtype == q->dtype &&
                v->dtype == q->dtype;
    fits = fits && q->dims[r - 1] == k->dims[r - 1] && k->dims[r - 2] == v->dims[r - 2];
    for (uint32_t i = 0; fits && i + 2 < r; i++) {
        bool heads = o->enable_gqa && i + 3 == r;
        fits = heads ? k->dims[i] > 0 && v->dims[i] == k->dims[i] && q->dims[i] % k->dims[i] == 0
                     : k->dims[i] == v->dims[i] && (q->dims[i] == k->dims[i] || q->dims[i] == 1 || k->dims[i] == 1);
    }
    if (fits) return true;
    *out = lazy_error(src, XT_INVALID_ARGUMENT,
                      "%s: q %s %s, k %s %s, v %s %s: floats of one dtype, [...,L,E], [...,S,E] and [...,S,F] with the "
                      "same dims in front%s",
                      what, xt_dtype_name(q->dtype), ops_shape(q, &sq), xt_dtype_name(k->dtype), ops_shape(k, &sk),
                      xt_dtype_name(v->dtype), ops_shape(v, &sv),
                      o->enable_gqa ? "; .enable_gqa: heads of q a multiple of those of k and v" : "");
    return false;
}

/* Truth values of what may be seen, or numbers to be added; false after an error. */
static bool apply_mask(const xt_src *src, const char *what, ir_builder *b, ir_value **scores, ir_value *mask,
                       ir_value **seen, xt_tensor *out) {
    ir_value *s = *scores;
    size_t rank = 0, bad;
    int64_t dims[XT_MAX_RANK];
    ops_text sm, ss;
    if (!ops_common_dims(s->type, mask->type, &rank, dims, &bad) || rank != s->type->rank ||
        memcmp(dims, s->type->dims, rank * sizeof *dims)) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s: .mask %s does not broadcast to the scores %s", what,
                          ops_shape(mask->type, &sm), ops_shape(s->type, &ss));
        return false;
    }
    if (mask->type->dtype == XT_BOOL) {
        *seen = ops_broadcast(b, mask, rank, dims);
        return true;
    }
    if (!ir_dtype_is_float(mask->type->dtype)) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: .mask is %s; bool (true: may be seen) or floats to be added are needed", what,
                          xt_dtype_name(mask->type->dtype));
        return false;
    }
    *scores = ir_add(b, s, ops_broadcast(b, ir_convert(b, mask, s->type->dtype), rank, dims));
    return true;
}

/* Softmax over the last axis of what is seen. The largest score is no part of the derivative (it cancels), and where
 * there is none it counts as 0. */
static ir_value *safe_softmax(ir_builder *b, ir_value *s, ir_value *seen) {
    if (seen) s = ex_keep(b, seen, s, -INFINITY);
    if (!s) return NULL;
    int64_t last = (int64_t)s->type->rank - 1;
    ir_value *m = ir_reduce(b, OP_maximum, s, 1, &last);
    m = ex_detach(b, ex_keep(b, ex_is(b, m, IR_NE, -INFINITY), m, 0));
    ir_value *full = ops_spread(b, m, s->type, last);
    lazy_no_grad_value(full);
    ir_value *e = ir_exponential(b, ir_subtract(b, s, full)), *sum = e ? ir_reduce(b, OP_add, e, 1, &last) : NULL;
    sum = ex_keep(b, ex_is(b, sum, IR_NE, 0), sum, 1);
    return e ? ir_divide(b, e, ops_spread(b, sum, s->type, last)) : NULL;
}

xt_tensor xt_scaled_dot_product_attention_at(const xt_src *src, xt_tensor q, xt_tensor k, xt_tensor v, xt_sdpa_opts o) {
    const char *what = "xt_scaled_dot_product_attention";
    const ir_type *tq = lazy_type(q), *tk = lazy_type(k), *tv = lazy_type(v);
    xt_tensor failed;
    if (tq && tk && tv && !attention_fits(src, what, tq, tk, tv, &o, &failed)) return failed;
    if (!(o.dropout >= 0 && o.dropout <= 1))
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: .dropout is %g: a probability from 0 to 1 is needed", what,
                          o.dropout);
    if (o.causal == XT_ON && !xt_is_none(o.mask))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s: .causal and .mask are both given; put the causal part into the mask", what);
    if (tq && tk && o.enable_gqa && tq->rank > 2) {
        int64_t times = tq->dims[tq->rank - 3] / tk->dims[tk->rank - 3];
        if (times > 1) {
            k = xt_repeat_interleave_at(src, k, times, -3);
            v = xt_repeat_interleave_at(src, v, times, -3);
        }
    }
    double scale = o.scale != XT_AUTO ? o.scale : tq && tq->rank ? 1 / sqrt((double)tq->dims[tq->rank - 1]) : 1;
    bool plain = o.causal != XT_ON && xt_is_none(o.mask);
    xt_tensor scores = xt_matmul_at(src, xt_mul_scalar_at(src, q, scale), xt_transpose_at(src, k, -2, -1)), p;
    if (plain)
        p = xt_softmax_at(src, scores, -1);
    else {
        ir_builder *b = lazy_begin(src);
        ir_value *s = lazy_value(scores), *mask = xt_is_none(o.mask) ? NULL : lazy_value(o.mask), *seen = NULL;
        if (!s || (!mask && o.causal != XT_ON)) return lazy_wrap(NULL, what);
        xt_dtype t = s->type->dtype;
        if (xt_dtype_size(t) < 4) s = ir_convert(b, s, XT_F32);
        if (s && mask && !apply_mask(src, what, b, &s, mask, &seen, &failed)) return failed;
        if (s && o.causal == XT_ON) { /* query i sees keys 0 .. i */
            const ir_type *index = ir_with_dtype(s->type, XT_I32);
            seen = ir_compare(b, IR_GE, ir_iota(b, index, (int64_t)index->rank - 2),
                              ir_iota(b, index, (int64_t)index->rank - 1));
        }
        ir_value *r = safe_softmax(b, s, seen);
        p = lazy_wrap(r ? ir_convert(b, r, t) : NULL, what);
    }
    return xt_matmul_at(src, ops_dropped(src, what, p, o.dropout), v);
}
