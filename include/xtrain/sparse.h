/* Products of sparse matrices with dense ones, with gradients: torch.sparse.mm of COO and CSR.
 *
 * A sparse matrix is a small value that names the tensors of its elements; it owns nothing and is good until the step
 * ends in which it was made, as its tensors are. Elements at the same place add up. A product gathers rows of the dense
 * matrix and adds them where they belong, so any device can run it; its memory is elements times columns.
 *
 *     xt_sparse a = xt_sparse_coo(row, column, weight, nodes, nodes);   // i64 [E], i64 [E], f32 [E]
 *     xt_tensor h = xt_relu(xt_sparse_mm(a, xt_linear(m, "conv1", x, 16))); // [nodes,16], with gradients to weight too
 *
 * Mistakes are error tensors with this line, which the product hands on. Columns outside of the matrix are found as
 * xt_index_select finds them (XT_DEBUG=bounds). Nothing waits. */
#ifndef XTRAIN_SPARSE_H
#define XTRAIN_SPARSE_H

#include <xtrain/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sparse matrix: where its elements are, and what they are. */
typedef struct xt_sparse {
    int64_t rows, columns; /* of the matrix */
    xt_tensor row, column, values; /* [elements] each: places, of integers, and numbers */
} xt_sparse;

/* places and numbers of the elements, [n] each, in any order */
#define xt_sparse_coo(row, column, values, rows, columns) \
    xt_sparse_coo_at(XT_HERE, row, column, values, XT_NUMBER_(rows), XT_NUMBER_(columns))
/* crow [rows + 1]: where the elements of each row begin, and n; column and values [n] */
#define xt_sparse_csr(crow, column, values, columns) \
    xt_sparse_csr_at(XT_HERE, crow, column, values, XT_NUMBER_(columns))
XT_API xt_sparse xt_sparse_coo_at(const xt_src *src, xt_tensor row, xt_tensor column, xt_tensor values, int64_t rows,
                                  int64_t columns);
XT_API xt_sparse xt_sparse_csr_at(const xt_src *src, xt_tensor crow, xt_tensor column, xt_tensor values,
                                  int64_t columns);

#define xt_sparse_mm(a, x) xt_sparse_mm_at(XT_HERE, a, x) /* x [columns,k] or [columns] -> [rows,k] or [rows] */
#define xt_sparse_to_dense(a) xt_sparse_to_dense_at(XT_HERE, a) /* [rows,columns] */
XT_API xt_tensor xt_sparse_mm_at(const xt_src *src, xt_sparse a, xt_tensor x);
XT_API xt_tensor xt_sparse_to_dense_at(const xt_src *src, xt_sparse a);
/* The same elements, rows and columns exchanged; costs nothing. */
XT_API xt_sparse xt_sparse_transpose(xt_sparse a);

#ifdef __cplusplus
}
#endif
#endif
