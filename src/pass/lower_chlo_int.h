/* Shared by the files of lower_chlo: a small language for arithmetic on whole tensors. Every function returns NULL
 * after a failure, which the builder keeps, so formulas need no checks. */
#ifndef XT_SRC_PASS_LOWER_CHLO_INT_H
#define XT_SRC_PASS_LOWER_CHLO_INT_H

#include "pass/pass.h"

typedef struct chlo {
    ir_builder *b;
    const ir_op *op;
    const ir_type *t; /* type that formulas compute in: the operand's, f32 in place of narrower floats */
    ir_value *in[3]; /* operands in that type */
} chlo;
typedef ir_value *value;

static inline value num(chlo *c, double v) {
    return ir_splat(c->b, c->t, v);
}
static inline value add(chlo *c, value x, value y) {
    return ir_add(c->b, x, y);
}
static inline value sub(chlo *c, value x, value y) {
    return ir_subtract(c->b, x, y);
}
static inline value mul(chlo *c, value x, value y) {
    return ir_multiply(c->b, x, y);
}
static inline value quo(chlo *c, value x, value y) {
    return ir_divide(c->b, x, y);
}
static inline value add_num(chlo *c, value x, double v) {
    return ir_add(c->b, x, num(c, v));
}
static inline value mul_num(chlo *c, value x, double v) {
    return ir_multiply(c->b, x, num(c, v));
}
static inline value neg(chlo *c, value x) {
    return ir_negate(c->b, x);
}
static inline value cmp_num(chlo *c, ir_cmp_dir d, value x, double v) {
    return ir_compare(c->b, d, x, num(c, v));
}
static inline value pick(chlo *c, value p, value yes, value no) {
    return ir_select(c->b, p, yes, no);
}
static inline bool is_f64(const chlo *c) {
    return c->t->dtype == XT_F64;
}
static inline bool is_complex(const chlo *c) {
    return ir_dtype_is_complex(c->t->dtype);
}
value chlo_poly(chlo *c, value x, const double *coeffs, size_t n); /* highest power first */
#define POLY(c, x, table) chlo_poly(c, x, table, BASE_COUNT(table))

/* lower_chlo_trig.c */
value chlo_acos(chlo *c, value x);
value chlo_acosh(chlo *c, value x);
value chlo_asin(chlo *c, value x);
value chlo_asinh(chlo *c, value x);
value chlo_atan(chlo *c, value x);
value chlo_atanh(chlo *c, value x);
value chlo_cosh(chlo *c, value x);
value chlo_sinh(chlo *c, value x);
/* lower_chlo_complex.c */
value chlo_complex_acos(chlo *c, value z);
value chlo_complex_acosh(chlo *c, value z);
value chlo_complex_asin(chlo *c, value z);
value chlo_complex_asinh(chlo *c, value z);
value chlo_complex_atan(chlo *c, value z);
value chlo_complex_atanh(chlo *c, value z);
value chlo_complex_square(chlo *c, value z);
/* lower_chlo_erf.c */
value chlo_erf(chlo *c, value x);
value chlo_erfc(chlo *c, value x);
value chlo_erf_inv(chlo *c, value x);
value chlo_bessel_i1e(chlo *c, value x);
/* lower_chlo_gamma.c */
value chlo_lgamma(chlo *c, value x);
value chlo_digamma(chlo *c, value x);
value chlo_zeta(chlo *c, value x, value q);
value chlo_polygamma(chlo *c, value n, value x);

/* lower_chlo_ragged.c */
value chlo_ragged_dot(ir_builder *b, const ir_op *op);
/* lower_chlo_named.c: custom calls that mean an op of chlo. True when `op` is one; then out[] are its results, or NULL
 * after a failure. */
bool chlo_named_call(ir_builder *b, const ir_op *op, value out[2]);

/* lower_chlo_scan.c: out has op->n_out values. */
bool chlo_scan(ir_builder *b, const ir_op *op, value *out);

#endif
