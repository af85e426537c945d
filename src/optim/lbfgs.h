/* L-BFGS: what its two files share. All of it is arithmetic of doubles on the host; what is evaluated, and where, is
 * the caller's. */
#ifndef XT_SRC_OPTIM_LBFGS_H
#define XT_SRC_OPTIM_LBFGS_H

#include <stdbool.h>
#include <stddef.h>

#include <xtrain/optim.h>

/* How the state of an optimizer of this kind is listed: the first member of what xt_optimizer.lbfgs points to. The
 * other files know it by this alone. */
typedef struct lbfgs_listing {
    int (*tensors)(const xt_optimizer *o);
    xt_tensor (*tensor)(const xt_optimizer *o, int i, char *name, size_t n);
    void (*forget)(xt_optimizer *o);
    void (*free)(xt_optimizer *o);
} lbfgs_listing;

/* The loss and its gradient at x + t d, both of n numbers. False: it failed, and says why itself. */
typedef struct lbfgs_function {
    bool (*at)(void *user, double t, const double *d, double *loss, double *gradient);
    void *user;
    size_t n;
} lbfgs_function;

double lbfgs_dot(size_t n, const double *a, const double *b);
void lbfgs_add(size_t n, double *q, double w, const double *a); /* q += w a */
double lbfgs_largest(size_t n, const double *a); /* magnitude */

/* A step length that fulfils the strong Wolfe conditions along d, from a first one. loss and gradient come in as those
 * of t = 0 and go out as those of *t. */
typedef struct lbfgs_search {
    double t, loss;
    double *gradient;
    int evaluations;
} lbfgs_search;
bool lbfgs_strong_wolfe(const lbfgs_function *f, const double *d, double slope, double tolerance_change,
                        lbfgs_search *s);

#endif
