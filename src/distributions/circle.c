/* Von Mises: angles around loc, the narrower the larger the concentration. Draws: Best and Fisher 1979, rounds of one
 * loop. In f64, as PyTorch's are: for small concentrations the proposal would lose its digits. */
#include "distributions/dist.h"
#include "ops/special.h"

#define LOC a->p[0]
#define KAPPA a->p[1]

typedef struct proposal {
    ir_value *kappa, *r;
} proposal;

/* state: done, the angle from loc. */
static void circle_round(ir_builder *b, ir_value *words, ir_value *round, ir_value *const *state, ir_value **out,
                         void *user) {
    const proposal *g = user;
    xt_dtype t = g->r->type->dtype;
    (void)round;
    ir_value *u = dist_word_uniform(b, words, 0, t), *v = dist_word_uniform(b, words, 1, t);
    ir_value *w = dist_word_uniform(b, words, 2, t), *z = u ? ir_cosine(b, ex_times(b, u, M_PI)) : NULL;
    ir_value *f = ir_divide(b, ex_plus(b, ir_multiply(b, g->r, z), 1), ir_add(b, g->r, z));
    ir_value *c = ir_multiply(b, g->kappa, ir_subtract(b, g->r, f));
    ir_value *quick = ir_multiply(b, c, ex_plus(b, ir_negate(b, c), 2));
    ir_value *slow = ir_subtract(b, ex_plus(b, v ? ir_log(b, ir_divide(b, c, v)) : NULL, 1), c);
    ir_value *taken = ir_or(b, quick && v ? ir_compare(b, IR_GT, quick, v) : NULL, ex_is(b, slow, IR_GE, 0));
    ir_value *inside = ir_minimum(b, ir_maximum(b, f, ex_num(b, f, -1)), ex_num(b, f, 1));
    ir_value *angle = ir_multiply(b, ir_sign(b, ex_plus(b, w, -0.5)), ir_chlo_acos(b, inside));
    ir_value *fresh = ir_and(b, taken, ir_not(b, state[0]));
    out[0] = ir_or(b, state[0], taken);
    out[1] = ex_pick(b, fresh, angle, state[1]);
}

static ir_value *circle_draw(dist_args *a, bool grad) {
    ir_builder *b = a->b;
    (void)grad;
    ir_value *kappa = ir_convert(b, ex_detach(b, KAPPA), XT_F64);
    ir_value *square = ex_plus(b, ex_times(b, ir_multiply(b, kappa, kappa), 4), 1);
    ir_value *tau = ex_plus(b, ir_sqrt(b, square), 1);
    ir_value *rho = ir_subtract(b, tau, ir_sqrt(b, ex_times(b, tau, 2)));
    rho = ir_divide(b, rho, ex_times(b, kappa, 2));
    ir_value *r = ir_divide(b, ex_plus(b, ir_multiply(b, rho, rho), 1), ex_times(b, rho, 2));
    ir_value *series = kappa ? ir_add(b, ir_divide(b, ex_num(b, kappa, 1), kappa), kappa) : NULL;
    proposal g = {kappa, ex_pick(b, ex_is(b, kappa, IR_LT, 1e-5), series, r)};
    int64_t dims[XT_MAX_RANK] = {3};
    if (!g.r || a->t->rank + 1 > XT_MAX_RANK) return NULL;
    memcpy(dims + 1, a->t->dims, a->t->rank * sizeof *dims);
    ir_value *state[2] = {ir_splat(b, ir_with_dtype(a->t, XT_BOOL), 0), ex_num(b, g.r, 0)};
    dist_rounds rounds = {.n = 2,
                          .state = state,
                          .most = 96, /* a round takes 0.65 or more */
                          .word_type = ir_tensor(XT_U32, a->t->rank + 1, dims),
                          .next = circle_round,
                          .user = &g};
    if (!dist_rounds_run(a, &rounds)) return NULL;
    b = a->b;
    ir_value *x = ir_add(b, state[1], ir_convert(b, ex_detach(b, LOC), XT_F64));
    ir_value *turns = ir_floor(b, ex_plus(b, ex_times(b, x, 0.5 / M_PI), 0.5)); /* into [-pi,pi) */
    x = ir_subtract(b, x, ex_times(b, turns, 2 * M_PI));
    return x ? ir_convert(b, x, a->t->dtype) : NULL;
}
static ir_value *circle_log_prob(dist_args *a, ir_value *x) {
    ir_builder *b = a->b;
    /* log I0(k) = k + log(e^-k I0(k)) */
    ir_value *turn = ir_multiply(b, KAPPA, ex_plus(b, ir_cosine(b, ir_subtract(b, x, LOC)), -1));
    ir_value *l = ir_subtract(b, turn, ir_log(b, ops_bessel_ie(b, KAPPA, 0)));
    return ex_plus(b, l, -log(2 * M_PI));
}
static ir_value *circle_mean(dist_args *a) {
    return ops_copy(a->b, LOC);
}
static ir_value *circle_variance(dist_args *a) { /* the circular one */
    ir_builder *b = a->b;
    ir_value *ratio = ir_divide(b, ops_bessel_ie(b, KAPPA, 1), ops_bessel_ie(b, KAPPA, 0));
    return ir_subtract(b, ex_num(b, KAPPA, 1), ratio);
}
const dist_kind dist_von_mises = {.name = "VonMises",
                                  .n_params = 2,
                                  .draw = circle_draw,
                                  .log_prob = circle_log_prob,
                                  .mean = circle_mean,
                                  .variance = circle_variance};
