/* What the files of the distributions share: the table of kinds, formulas' arguments, loops over rounds.
 *
 * A formula gets its parameters and the value at one shape and one dtype (f32 or f64), so it is plain arithmetic;
 * dist_load brings them there. Kinds with vectors have them as last dims. Everything gives NULL after a failure, which
 * whoever wraps the result reports. */
#ifndef XT_SRC_DISTRIBUTIONS_DIST_H
#define XT_SRC_DISTRIBUTIONS_DIST_H

#include <math.h>

#include <xtrain/distributions.h>

#include "ops/expr.h"

/* dist.kind; 0 is no distribution. */
typedef enum dist_kind_id {
    DIST_NONE,
#define DIST(id) DIST_##id,
#include "distributions/kinds.def"
#undef DIST
    DIST_COUNT
} dist_kind_id;

/* Where a density or probability is not zero. What lies outside is replaced by `dist_inside` before the formula sees
 * it, so that no derivative is NaN there. */
typedef enum dist_support {
    DIST_REAL,
    DIST_NONNEGATIVE,
    DIST_POSITIVE,
    DIST_UNIT, /* [0,1] */
    DIST_COUNTS, /* 0, 1, 2, ... up to args.count where that is above 0 */
    DIST_OWN /* the formula's own affair */
} dist_support;

typedef struct dist_args {
    const xt_src *src;
    const char *what; /* the public function, for messages */
    ir_builder *b;
    ir_value *p[XT_DIST_PARAMS];
    const ir_type *t; /* of what a draw gives, before its event dims are dropped (categorical) */
    int64_t count;
} dist_args;
typedef ir_value *(*dist_of_fn)(dist_args *a); /* mean, variance, entropy */
typedef ir_value *(*dist_at_fn)(dist_args *a, ir_value *x); /* log_prob, cdf, icdf */
typedef ir_value *(*dist_draw_fn)(dist_args *a, bool grad); /* grad: with gradients to the parameters */
typedef ir_value *(*dist_kl_fn)(dist_args *p, dist_args *q);
typedef struct dist_kind {
    const char *name; /* PyTorch's */
    const char
        *transformed; /* and what PyTorch calls it under the layer that it is always given; NULL: it is given none */
    int n_params;
    int dims[XT_DIST_PARAMS]; /* last dims of each parameter that are none of the batch */
    int event;
    dist_support support;
    bool reparameterized;
    dist_draw_fn draw;
    dist_at_fn log_prob, cdf, icdf; /* NULL: it has none, as in PyTorch */
    dist_of_fn mean, variance, entropy;
    dist_kl_fn kl;
} dist_kind;

/* --- make.c --- */
/* A distribution of a kind, of parameters that are checked by bringing them together once; after an error, which is its
 * first parameter, whatever is asked of it hands that on. */
xt_dist dist_make(const xt_src *src, const char *what, dist_kind_id kind, int n, const xt_tensor *tensors);

/* --- load.c --- */
/* The parameters of d's kind (and *x, a value, where x is not NULL) at their common batch shape, in one of f32 and f64;
 * `prefix` dims stand before the batch where n_prefix is above 0. *out_dtype: what the result is rounded to. False
 * after an error. Layers are not looked at. */
typedef struct dist_load {
    const xt_src *src;
    const char *what;
    xt_dtype dtype, result; /* computed in; rounded to */
    bool failed; /* with an error that is pending */
} dist_load;
bool dist_load_kind(dist_load *l, const xt_dist *d, ir_value **x, int n_prefix, const int64_t *prefix, dist_args *out);
/* Two of one kind at their common batch shape. */
bool dist_load_pair(dist_load *l, const dist_kind *k, dist_args *p, dist_args *q);
ir_value *dist_value(dist_load *l, xt_tensor t); /* a float of l->dtype; NULL, noted, when t is an error */

/* --- Formulas' parts (parts.c) --- */
/* A sum over the last n dims. */
ir_value *dist_sum_last(ir_builder *b, ir_value *x, int n);
/* log(1 + e^x), for any x; both choices by one comparison, so that the derivative at 0 is a half. */
static inline ir_value *dist_softplus(ir_builder *b, ir_value *x) {
    ir_value *above = ex_is(b, x, IR_GT, 0);
    ir_value *e = ir_exponential(b, ex_pick(b, above, ir_negate(b, x), x));
    return ir_add(b, ex_pick(b, above, x, ex_num(b, x, 0)), ir_log_plus_one(b, e));
}
/* x log(y), 0 where x is 0. */
static inline ir_value *dist_xlogy(ir_builder *b, ir_value *x, ir_value *y) {
    ir_value *zero = ir_and(b, ex_is(b, x, IR_EQ, 0), ex_is(b, y, IR_EQ, 0));
    return ir_multiply(b, x, ir_log(b, ex_keep(b, ir_not(b, zero), y, 1)));
}
/* x, of [batch, event dims], where no number of the last n dims of p, [batch, n dims], is NaN; else NaN, or -1 of whole
 * numbers, which is no class. Choices and rejections compare, and hide what arithmetic would carry. */
ir_value *dist_known(ir_builder *b, ir_value *x, ir_value *p, int n);
static inline ir_value *dist_standard(ir_builder *b, ir_value *x, ir_value *loc, ir_value *scale) {
    return ir_divide(b, ir_subtract(b, x, loc), scale);
}

/* --- draw.c --- */
ir_value *dist_uniforms(dist_args *a); /* in (0,1), both ends open, of a->t */
ir_value *dist_normals(dist_args *a);
/* A loop of masked rounds: `next` gives the state after a round, in which element i of state[0], bool, says that i is
 * done. Ends when all are, after `most` rounds at the latest. `words` are fresh random words for the round, of type
 * `word_type` (NULL: none). */
typedef struct dist_rounds {
    int n; /* states */
    ir_value **state; /* in: the first; out: the last */
    int64_t most;
    const ir_type *word_type;
    void (*next)(ir_builder *b, ir_value *words, ir_value *round, ir_value *const *state, ir_value **out, void *user);
    void *user;
} dist_rounds;
bool dist_rounds_run(dist_args *a, dist_rounds *r);
/* Words [k, ...] as k tensors of uniform numbers in (0,1), or pairs of them as normals. */
ir_value *dist_word_uniform(ir_builder *b, ir_value *words, int64_t k, xt_dtype t);
ir_value *dist_word_normal(ir_builder *b, ir_value *words, int64_t k, xt_dtype t); /* of words k and k + 1 */
/* v with derivatives of the parameters as given: v + sum of slope[i] (p[i] - p[i]), the slopes being numbers. */
ir_value *dist_with_slopes(ir_builder *b, ir_value *v, int n, ir_value *const *slope, ir_value *const *p);

/* --- gamma.c --- */
/* log of a standard gamma draw, of a's shape; grad: with its implicit derivative. */
ir_value *dist_log_gamma_draw(dist_args *a, ir_value *concentration, bool grad);
/* log(a) - digamma(a), whose terms cancel for large a. */
ir_value *dist_log_less_digamma(ir_builder *b, ir_value *x);
/* The smallest normal number of the dtype, which a draw that underflows becomes, as in PyTorch. */
static inline double dist_smallest(xt_dtype t) {
    return t == XT_F64 ? 0x1p-1022 : 0x1p-126;
}
/* The regularised lower incomplete gamma function P(shape, x), with both derivatives. */
ir_value *dist_igamma(dist_args *a, ir_value *shape, ir_value *x);

/* --- beta.c --- */
/* Implicit derivatives of the logit of a beta draw in its two concentrations, at the logit. */
bool dist_beta_slopes(dist_args *a, ir_value *one, ir_value *other, ir_value *logit, ir_value *slopes[2]);

/* --- kinds --- */
#define DIST(id) extern const dist_kind dist_##id;
#include "distributions/kinds.def"
#undef DIST
extern const dist_kind *const dist_kinds[DIST_COUNT]; /* load.c; NULL for no distribution */

#endif
