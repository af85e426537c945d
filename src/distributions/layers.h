/* Layers over a distribution: independent dims, a mixture, and changes of variables y = f(x). */
#ifndef XT_SRC_DISTRIBUTIONS_LAYERS_H
#define XT_SRC_DISTRIBUTIONS_LAYERS_H

#include "distributions/dist.h"

typedef enum layer_kind {
    LAYER_INDEPENDENT, /* n: how many batch dims */
    LAYER_MIXTURE, /* a: logarithms of the weights [...,K] */
    LAYER_AFFINE, /* a + b x */
    LAYER_EXP,
    LAYER_SIGMOID,
    LAYER_TANH,
    LAYER_SOFTPLUS,
    LAYER_POWER /* x^a, x above 0 */
} layer_kind;
const char *layer_name(int kind);
typedef struct dist_text {
    char text[256];
} dist_text;
const char *dist_name_of(const xt_dist *d, int n,
                         dist_text *out); /* "TanhTransform of Normal", under the first n layers */
int dist_event_of(const xt_dist *d, int n); /* event dims under the first n layers */

/* Of changes of variables. x of y, and log |dy/dx| at x: infinite where no x has that y, so that a density there is 0;
 * y of x; a distribution function, turned round where f falls, and 0 and 1 beyond the ends of what f gives. */
ir_value *layer_inverse(dist_load *l, const xt_dist_layer *f, ir_value *y, ir_value **out_log_slope);
ir_value *layer_forward(dist_load *l, const xt_dist_layer *f, ir_value *x);
ir_value *layer_turned(dist_load *l, const xt_dist_layer *f, ir_value *p);
ir_value *layer_beyond(ir_builder *b, const xt_dist_layer *f, ir_value *y, ir_value *p);
/* Whether both are one f, whose inverse each undoes: with the very same tensors, where it has any. */
bool layer_same(const xt_dist_layer *f, const xt_dist_layer *g);
/* x, which has no dims but the batch's, at f's batch dims too. */
ir_value *layer_spread(dist_load *l, const xt_dist_layer *f, ir_value *x);
/* x - y, broadcast: a slope may have more batch dims than the density, or fewer. */
ir_value *layer_minus(ir_builder *b, ir_value *x, ir_value *y);

/* Of mixtures: log of the weighted sum of e^p over the last dim; the weighted sum of x, K standing before `event` last
 * dims; one of K drawn. */
ir_value *layer_log_mixed(dist_load *l, const xt_dist_layer *m, ir_value *p);
ir_value *layer_mixed(dist_load *l, const xt_dist_layer *m, ir_value *x, int event);
ir_value *layer_choose(dist_load *l, const xt_dist_layer *m, ir_value *x, int event);

#endif
