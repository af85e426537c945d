/* Factorisations that other files go on with. */
#ifndef XT_SRC_OPS_FACTOR_H
#define XT_SRC_OPS_FACTOR_H

#include "ops/ops.h"

/* P^T a = L U of a [...,m,n], f32 or f64 or complex: L below the diagonal and U packed into one matrix, the row that
 * each step exchanged its own with (i32 [...,k]), and the row of a that each row of L U is (i32 [...,m]). */
typedef struct ops_lu {
    ir_value *packed, *pivots, *rows;
} ops_lu;
ops_lu ops_lu_of(ir_builder *b, ir_value *a);
/* x with a x = y, of a's factors; y [...,n,k] of a's batch. */
ir_value *ops_lu_solve(ir_builder *b, const ops_lu *lu, ir_value *y);

#endif
