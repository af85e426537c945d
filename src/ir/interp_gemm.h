/* Matrix products of the interpreter, shared by dot_general and convolution. */
#ifndef XT_SRC_IR_INTERP_GEMM_H
#define XT_SRC_IR_INTERP_GEMM_H

#include "ir/interp_int.h"

/* What products and sums of a contraction are calculated in: f32 for floats up to f32 (bf16 and f16 accumulate in f32),
 * f64, 32- or 64-bit wrapping integers (bool counts matches), c64, c128. */
xt_dtype gemm_dtype(xt_dtype lhs, xt_dtype rhs, xt_dtype out);
/* c[m,n] += a[m,k] b[k,n], row-major with leading dims, all of type gemm_dtype. Sums of 256 products each are formed
 * apart, then added. */
void gemm(xt_dtype t, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, void *c,
          int64_t ldc);
/* `src` with its dims in the order `perm`, packed, as elements of `t`; base_free. */
xt_status gemm_pack(const array *src, const int64_t *perm, xt_dtype t, void *out_ptr);

#endif
