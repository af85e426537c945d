/* A strided window on a dense array: what broadcasts, slices, reversals and transposes are. Counts and strides are
 * in elements. */
#ifndef XT_SRC_CPU_VECTOR_VIEW_H
#define XT_SRC_CPU_VECTOR_VIEW_H

#include "ir/ir.h"

#define VIEW_MAX 16
typedef struct view {
    int n;
    int64_t offset;
    int64_t dims[VIEW_MAX], strides[VIEW_MAX];
} view;

bool view_dense(const ir_type *t, view *out); /* false: rank too high */
int64_t view_count(const view *v);
void view_rows(view *v); /* keeps the dims; the elements lie row-major from 0 */
bool view_is_dense(const view *v); /* row-major without holes; the offset may be anything */
void view_collapse(view *v); /* same elements in the same order, fewest dims, no dims of size 1 */
void view_collapse2(view *a, view *b); /* the same for two views of equal dims at once */
/* v as seen through one StableHLO shape op whose operand is v: broadcast_in_dim, broadcast, slice, reverse, transpose.
 * false: not such an op. */
bool view_through(const ir_op *op, const view *v, view *out);

#endif
