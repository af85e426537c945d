/* The shape of a reduction as its kernels see it: dims of size 1 gone, neighbours that are both kept or both reduced
 * merged into one. */
#ifndef XT_CPU_FOLD_AXES_H
#define XT_CPU_FOLD_AXES_H

#include "cpu/vector/view.h"
#include "ir/ir.h"

typedef struct fold_axes {
    bool inner_reduced; /* is the innermost merged dim, `run`, reduced? A scalar counts as one. */
    int n_keep, n_red; /* the other merged dims of each kind, outermost first */
    /* strides in elements */
    int64_t keep_dims[VIEW_MAX], keep_strides[VIEW_MAX], red_dims[VIEW_MAX], red_strides[VIEW_MAX];
    int64_t run, keep, red; /* length of the innermost merged dim; products of the other ones of each kind */
} fold_axes;

/* `dims`: the reduced dims of a static, non-empty operand of type t, of rank VIEW_MAX at most. */
void cpu_fold_axes(const ir_type *t, const int64_t *dims, size_t n_dims, fold_axes *out);
/* Offset in elements of the index-th element, in row-major order, of a space of n dims. */
int64_t cpu_fold_at(int64_t index, int n, const int64_t *dims, const int64_t *strides);

#endif
