/* The public matrix products by PyTorch's rules. f32 products carry precision HIGHEST; under autocast f32 operands are
 * cast down, the device accumulates wider, and the result comes back as f32. */
#include "ops/ops.h"

/* --- matmul --- */
/* x[..., n, k] times y[..., k, m]; a 1-D operand is a row or a column that disappears from the result. */
static bool matmul_fits(const xt_src *src, const ir_type *x, const ir_type *y, xt_tensor *out) {
    ops_text sx, sy;
    if (x->rank == 0 || y->rank == 0) {
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_matmul: x %s and y %s: both need at least one dim; xt_mul multiplies by a scalar",
                          ops_shape(x, &sx), ops_shape(y, &sy));
        return false;
    }
    int64_t inner_x = x->dims[x->rank - 1], inner_y = y->dims[y->rank == 1 ? 0 : y->rank - 2];
    if (inner_x != inner_y) {
        /* The transpose is worth a hint only where it would help. */
        bool hint = y->rank > 1 && y->dims[y->rank - 1] == inner_x;
        char text[64] = "";
        if (hint) snprintf(text, sizeof text, "; xt_transpose(y, %d, %d)?", (int)y->rank - 2, (int)y->rank - 1);
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "xt_matmul: x %s and y %s: inner sizes %lld and %lld differ%s",
                          ops_shape(x, &sx), ops_shape(y, &sy), (long long)inner_x, (long long)inner_y, text);
        return false;
    }
    return true;
}

/* Both have batch dims that differ: brings them to their common batch. False after an error. */
static bool meet_batches(const xt_src *src, ir_builder *b, ir_value **x, ir_value **y, xt_tensor *out) {
    const ir_type *tx = (*x)->type, *ty = (*y)->type;
    const ir_type *bx = ir_tensor(tx->dtype, tx->rank - 2, tx->dims),
                  *by = ir_tensor(ty->dtype, ty->rank - 2, ty->dims);
    size_t rank, bad;
    int64_t dims[XT_MAX_RANK + 2];
    if (!ops_common_dims(bx, by, &rank, dims, &bad)) {
        ops_text sx, sy;
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "xt_matmul: x %s and y %s: batch dims %s and %s do not broadcast",
                          ops_shape(tx, &sx), ops_shape(ty, &sy), ops_shape(bx, &(ops_text){""}),
                          ops_shape(by, &(ops_text){""}));
        return false;
    }
    memcpy(dims + rank, tx->dims + tx->rank - 2, 2 * sizeof *dims);
    *x = ops_broadcast(b, *x, rank + 2, dims);
    memcpy(dims + rank, ty->dims + ty->rank - 2, 2 * sizeof *dims);
    *y = ops_broadcast(b, *y, rank + 2, dims);
    return true;
}

xt_tensor xt_matmul_at(const xt_src *src, xt_tensor x, xt_tensor y) {
    ir_builder *b = lazy_begin(src);
    ir_value *vx = lazy_value(x), *vy = lazy_value(y);
    xt_tensor failed;
    if (!vx || !vy) return lazy_wrap(NULL, "xt_matmul");
    if (!matmul_fits(src, vx->type, vy->type, &failed)) return failed;
    xt_dtype t = ops_promote(ir_with_dtype(ir_tensor(XT_F32, 1, (int64_t[]){1}), vx->type->dtype),
                             ir_with_dtype(ir_tensor(XT_F32, 1, (int64_t[]){1}), vy->type->dtype));
    if (t == XT_BOOL)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_matmul: x and y are bool, numbers are needed; xt_cast one of them first");
    vx = ir_convert(b, vx, t);
    vy = ir_convert(b, vy, t);
    if (!vx || !vy) return lazy_wrap(NULL, "xt_matmul");
    xt_dtype result = ops_autocast(b, &vx, &vy);
    if (!vx || !vy) return lazy_wrap(NULL, "xt_matmul");

    size_t n_batch = 0;
    /* A y without batch dims meets all rows of x at once; otherwise both carry the common batch. */
    if (vy->type->rank > 2 && vx->type->rank == 1) {
        /* [k] @ [..., k, m]: the batch and m stay, in this order, with y on the left. */
        int64_t k = (int64_t)vy->type->rank - 2, zero = 0;
        ir_value *r = ir_dot_general(b, vy, vx, 0, NULL, NULL, 1, &k, &zero, ops_precision(vx->type->dtype));
        return lazy_wrap(r ? ir_convert(b, r, result) : NULL, "xt_matmul");
    }
    if (vy->type->rank > 2) {
        if (!meet_batches(src, b, &vx, &vy, &failed)) return failed;
        if (!vx || !vy) return lazy_wrap(NULL, "xt_matmul");
        n_batch = vx->type->rank - 2;
    }
    int64_t batch[XT_MAX_RANK], inner_x = (int64_t)vx->type->rank - 1,
                                inner_y = vy->type->rank == 1 ? 0 : (int64_t)vy->type->rank - 2;
    for (size_t i = 0; i < n_batch; i++) batch[i] = (int64_t)i;
    ir_value *r =
        ir_dot_general(b, vx, vy, n_batch, batch, batch, 1, &inner_x, &inner_y, ops_precision(vx->type->dtype));
    return lazy_wrap(r ? ir_convert(b, r, result) : NULL, "xt_matmul");
}
