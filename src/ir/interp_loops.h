/* The loops of elementwise kernels: LOOPn(name, element type, result type, expr) defines an ew_fn of n operands; expr
 * is in a, b, c. WIDE1 and WIDE2 take the type that a and b are converted to as well. */
#ifndef XT_SRC_IR_INTERP_LOOPS_H
#define XT_SRC_IR_INTERP_LOOPS_H

#include "ir/interp_int.h"

#define WIDE1(name, T, W, R, expr)                                               \
    static void name(const ew *e, int64_t n, const void *const *in, void *out) { \
        (void)e;                                                                 \
        const T *x = in[0];                                                      \
        R *r = out;                                                              \
        INTERP_IVDEP                                                             \
        for (int64_t i = 0; i < n; i++) {                                        \
            W a = x[i];                                                          \
            r[i] = (R)(expr);                                                    \
        }                                                                        \
    }
#define WIDE2(name, T, W, R, expr)                                               \
    static void name(const ew *e, int64_t n, const void *const *in, void *out) { \
        (void)e;                                                                 \
        const T *x = in[0], *y = in[1];                                          \
        R *r = out;                                                              \
        INTERP_IVDEP                                                             \
        for (int64_t i = 0; i < n; i++) {                                        \
            W a = x[i], b = y[i];                                                \
            r[i] = (R)(expr);                                                    \
        }                                                                        \
    }
#define LOOP3(name, T, R, expr)                                                  \
    static void name(const ew *e, int64_t n, const void *const *in, void *out) { \
        (void)e;                                                                 \
        const T *x = in[0], *y = in[1], *z = in[2];                              \
        R *r = out;                                                              \
        INTERP_IVDEP                                                             \
        for (int64_t i = 0; i < n; i++) {                                        \
            T a = x[i], b = y[i], c = z[i];                                      \
            r[i] = (R)(expr);                                                    \
        }                                                                        \
    }
#define LOOP1(name, T, R, expr) WIDE1(name, T, T, R, expr)
#define LOOP2(name, T, R, expr) WIDE2(name, T, T, R, expr)

#endif
