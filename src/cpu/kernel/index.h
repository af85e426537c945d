/* Slices at computed places: shared by gather and scatter's ways of walking. */
#ifndef XT_SRC_CPU_KERNEL_INDEX_H
#define XT_SRC_CPU_KERNEL_INDEX_H

#include "cpu/kernel/kernel.h"
#include "cpu/vector/index_fold.h"

typedef struct slices {
    int n_batch; /* dims of the index array but the vector's */
    /* of the index array; of the gathered or update array */
    int64_t batch_dims[VIEW_MAX], index_strides[VIEW_MAX], array_strides[VIEW_MAX];
    int64_t batch_operand[VIEW_MAX]; /* stride in the operand of a dim that pairs with an operand batching dim */
    int n_start;
    /* per component: operand stride, last valid start */
    int64_t vector_stride, start_strides[VIEW_MAX], limit[VIEW_MAX];
    xt_dtype index_type;
    int64_t count; /* slices */
    size_t elem;
    bool has_window;
    cpu_move window; /* gather: operand to result; scatter: update to operand */
    bool replace, unique;
    bool
        /* a scatter whose windows are no rows: runs of indices along the last batch dim by the same functions, for each
         * of the window's places */
        lines;
    bool line; /* a scatter of single elements along one run of indices: index_fold's from_i32, from_i64 */
    int64_t chunks; /* of such a run that are summed apart */
    index_fold fold;
} slices;

enum { SLICES_RUN = 256 };
typedef struct run_of_slices { /* up to SLICES_RUN neighbours along the last batch dim */
    int64_t n;
    int64_t operand[SLICES_RUN]; /* element offset of each slice; -1: outside */
    int64_t array, step; /* of the first in the gathered or update array, and from one to the next */
} run_of_slices;
typedef void (*slices_fn)(void *ctx, const run_of_slices *r);
/* Calls fn for the slices whose coordinate along batch dim `dim` lies in [begin, end), in order; `dim` -1: those with
 * numbers in [begin, end). */
void slices_walk(const slices *s, const void *indices, bool clamp, int dim, int64_t begin, int64_t end, slices_fn fn,
                 void *ctx);
bool slices_of_scatter(const ir_op *op, slices *s);

#endif
