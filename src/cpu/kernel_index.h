/* Folding updates into an array at computed places, for every element type: shared by scatter's ways of walking. */
#ifndef XT_SRC_CPU_KERNEL_INDEX_H
#define XT_SRC_CPU_KERNEL_INDEX_H

#include "cpu/cpu_int.h"
#include "cpu/kernel_copy.h"

/* dst[at[j]] = fold(dst[at[j]], src[j * step]) for the places with low <= at[j] < high, in order. */
typedef void (*index_scatter_fn)(void *dst, const void *src, int64_t step, const int64_t *at, int64_t n, int64_t low, int64_t high);
typedef struct index_fold {
    index_scatter_fn scatter;
    tape_fn row; /* the same for neighbours, as a vector loop: d[i] = fold(a[i], b[i]); NULL where elements are narrower than what folds them */
    size_t elem;
} index_fold;

/* The fold of a region that is one known op on its two arguments; false for other regions and types. */
bool index_fold_of(const ir_region *r, xt_dtype t, index_fold *out);
/* Every element of the window; w is collapsed. */
void index_fold_window(const index_fold *f, const cpu_move *w, void *dst, const void *src);

#endif
