/* Folding updates into an array at computed places, for every element type: shared by scatter's ways of walking. */
#ifndef XT_SRC_CPU_VECTOR_INDEX_FOLD_H
#define XT_SRC_CPU_VECTOR_INDEX_FOLD_H

#include "cpu/vector/move.h"
#include "cpu/vector/simd.h"
#include "cpu/vector/vprog.h"

/* dst[at[j]] = fold(dst[at[j]], src[j * step]) for the places with low <= at[j] < high, in order. */
typedef void (*index_scatter_fn)(void *dst, const void *src, int64_t step, const int64_t *at, int64_t n, int64_t low,
                                 int64_t high);
/* The same at the places index[j * index_step] * stride + j * along, indices above limit (negative ones
 * too) left out. */
typedef struct index_line {
    const void *index;
    int64_t index_step, stride, along, step, n; /* step: of src */
    uint64_t limit;
} index_line;
typedef void (*index_direct_fn)(void *dst, const void *src, const index_line *l);
typedef struct index_fold {
    index_scatter_fn scatter;
    index_direct_fn from_i32, from_i64; /* by the index's type; NULL */
    bool sums; /* of numbers: parts may be summed apart */
    /* the same for neighbours, as a vector loop: d[i] = fold(a[i], b[i]); NULL where elements are narrower than
     * what folds them */
    vprog_fn row;
    simd_fold_at rows; /* many such rows at once; NULL where there is none */
    size_t elem;
} index_fold;

/* The fold of a region that is one known op on its two arguments; false for other regions and types. */
bool index_fold_of(const ir_region *r, xt_dtype t, index_fold *out);
/* Every element of the window; w is collapsed. */
void index_fold_window(const index_fold *f, const cpu_move *w, void *dst, const void *src);

#endif
