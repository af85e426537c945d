/* Special functions that have no op, as formulas for other files; x is f32 or f64. */
#ifndef XT_SRC_OPS_SPECIAL_H
#define XT_SRC_OPS_SPECIAL_H

#include "ops/ops.h"

/* Modified Bessel functions of order 0 or 1 for any x, times e^-|x|. */
ir_value *ops_bessel_ie(ir_builder *b, ir_value *x, int order);

/* Chebyshev series, computed by tools/special_tables.py: which of what stands there. */
typedef struct ops_table {
    int n;
    double c[96];
} ops_table;
/* Sum of c[k] T_k(t). */
ir_value *ops_series(ir_builder *b, ir_value *t, const ops_table *s);
#define TABLE(name, ...) extern const ops_table ops_table_##name;
#include "ops/special.def"
#undef TABLE

#endif
