/* Ops that are none where a number has been 0 or 1 all along. */
#ifndef XT_SRC_OPS_OPTIONAL_H
#define XT_SRC_OPS_OPTIONAL_H

#include "ops/ops.h"

/* x with elements dropped by chance and the others scaled up; x itself where p is 0, or x has no elements. */
xt_tensor ops_dropped(const xt_src *src, const char *what, xt_tensor x, double p);
/* alpha x; x itself where alpha is 1. */
xt_tensor ops_by_alpha(const xt_src *src, xt_tensor x, double alpha);
/* beta c, of which nothing stays where beta is 0, whatever c holds; its gradient is zeros then, not none. */
xt_tensor ops_by_beta(const xt_src *src, xt_tensor c, double beta);

#endif
