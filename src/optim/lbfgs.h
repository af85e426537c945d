/* L-BFGS: what its two files share. All of it is arithmetic of doubles on the host; what is evaluated, and where, is
 * the caller's. */
#ifndef XT_SRC_OPTIM_LBFGS_H
#define XT_SRC_OPTIM_LBFGS_H

#include <stdbool.h>
#include <stddef.h>

/* The loss and its gradient at x + t d, both of n numbers. False: it failed, and says why itself. */
typedef struct lbfgs_function {
    bool (*at)(void *user, double t, const double *d, double *loss, double *gradient);
    void *user;
    size_t n;
} lbfgs_function;

double lbfgs_dot(size_t n, const double *a, const double *b);
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
