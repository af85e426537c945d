/* convolution with every dimension number, dilation, group and reversal, and dynamic_conv.
 *
 * Both sides are packed in the type of the sums, the left as [batch, channel, space], the kernel as [out, in, space].
 * For each image and group the places under the kernel are laid out as a matrix [channel x kernel place, output
 * place], a block at a time, and multiplied by the kernel; padding and the holes of the left side's dilation are
 * zeros in it. */
#include "ir/interp_gemm.h"

enum { BLOCK_ROWS = 256, BLOCK_COLS = 1024 };

typedef struct conv {
    size_t rank; /* spatial dims */
    int64_t in[INTERP_MAX_RANK], kernel[INTERP_MAX_RANK], out[INTERP_MAX_RANK];
    int64_t stride[INTERP_MAX_RANK], low[INTERP_MAX_RANK], in_dilation[INTERP_MAX_RANK],
        kernel_dilation[INTERP_MAX_RANK];
    bool reversed[INTERP_MAX_RANK];
    int64_t batch, in_channels, group_channels, out_channels, feature_groups, batch_groups;
    int64_t n_in, n_kernel, n_out; /* places in each space */
    int64_t lhs_perm[INTERP_MAX_RANK], rhs_perm[INTERP_MAX_RANK], out_perm[INTERP_MAX_RANK];
} conv;

/* first, second, then the spatial dims. */
static void set_perm(const ir_op *op, ir_attr_key first, ir_attr_key second, ir_attr_key spatial, int64_t *perm) {
    size_t n;
    const int64_t *s = ir_get_ints(op, spatial, &n);
    perm[0] = ir_get_int(op, first, 0);
    perm[1] = ir_get_int(op, second, 1);
    for (size_t d = 0; d < n; d++) perm[2 + d] = s[d];
}

static void conv_init(conv *v, const ir_op *op, const array *in, const array *out) {
    const int64_t *lhs = in[0].type->dims, *rhs = in[1].type->dims, *res = out->type->dims;
    size_t n;
    v->rank = in[0].type->rank - 2;
    set_perm(op, IR_A_input_batch_dimension, IR_A_input_feature_dimension, IR_A_input_spatial_dimensions, v->lhs_perm);
    set_perm(op, IR_A_kernel_output_feature_dimension, IR_A_kernel_input_feature_dimension,
             IR_A_kernel_spatial_dimensions, v->rhs_perm);
    set_perm(op, IR_A_output_batch_dimension, IR_A_output_feature_dimension, IR_A_output_spatial_dimensions,
             v->out_perm);
    const int64_t *stride = ir_get_ints(op, IR_A_window_strides, &n), *pad = ir_get_ints(op, IR_A_padding, &n);
    const int64_t *in_dil = ir_get_ints(op, IR_A_lhs_dilation, &n), *k_dil = ir_get_ints(op, IR_A_rhs_dilation, &n);
    const int64_t *reversed = ir_get_ints(op, IR_A_window_reversal, &n);
    v->n_in = v->n_kernel = v->n_out = 1;
    for (size_t d = 0; d < v->rank; d++) {
        v->n_in *= v->in[d] = lhs[v->lhs_perm[2 + d]];
        v->n_kernel *= v->kernel[d] = rhs[v->rhs_perm[2 + d]];
        v->n_out *= v->out[d] = res[v->out_perm[2 + d]];
        v->stride[d] = stride ? stride[d] : 1;
        v->low[d] = op->code == OP_dynamic_conv ? (int64_t)array_get(&in[2], (int64_t)(2 * d)) : pad ? pad[2 * d] : 0;
        v->in_dilation[d] = in_dil ? in_dil[d] : 1;
        v->kernel_dilation[d] = k_dil ? k_dil[d] : 1;
        v->reversed[d] = reversed && reversed[d];
    }
    v->batch = lhs[v->lhs_perm[0]];
    v->in_channels = lhs[v->lhs_perm[1]];
    v->out_channels = rhs[v->rhs_perm[0]];
    v->group_channels = rhs[v->rhs_perm[1]];
    v->feature_groups = ir_get_int(op, IR_A_feature_group_count, 1);
    v->batch_groups = ir_get_int(op, IR_A_batch_group_count, 1);
}

/* Input index in dim d under kernel place k of output place o; false in padding and holes. */
static bool conv_place(const conv *v, size_t d, int64_t o, int64_t k, int64_t *out) {
    int64_t at = v->reversed[d] ? v->kernel[d] - 1 - k : k;
    int64_t p = o * v->stride[d] + at * v->kernel_dilation[d] - v->low[d];
    if (p < 0 || (v->in_dilation[d] != 1 && p % v->in_dilation[d])) return false;
    *out = p / v->in_dilation[d];
    return *out < v->in[d];
}

/* n places of the last spatial dim from `o` on, under kernel place k, of the row `x`. dst is zeroed already. */
static void last_places(const conv *v, const char *x, int64_t o, int64_t n, int64_t k, char *dst, size_t size) {
    size_t d = v->rank - 1;
    int64_t s = v->stride[d], dil = v->in_dilation[d], one = 1;
    int64_t first = o * s + (v->reversed[d] ? v->kernel[d] - 1 - k : k) * v->kernel_dilation[d] - v->low[d];
    if (dil != 1) {
        for (int64_t i = 0; i < n; i++) {
            int64_t p = first + i * s;
            if (p >= 0 && p % dil == 0 && p / dil < v->in[d])
                memcpy(dst + (size_t)i * size, x + (size_t)(p / dil) * size, size);
        }
        return;
    }
    int64_t lo = first < 0 ? (-first + s - 1) / s : 0, hi = first >= v->in[d] ? 0 : (v->in[d] - 1 - first) / s + 1;
    if (hi > n) hi = n;
    int64_t count = hi - lo;
    if (count > 0)
        copy_strided(1, &count, dst + (size_t)lo * size, &one, x + (size_t)(first + lo * s) * size, &s, size);
}

/* One row of the matrix: what kernel place `place` sees of channel `x` at output places [at, at + n). */
static void place_row(const conv *v, const char *x, const int64_t *place, int64_t at, int64_t n, char *dst,
                      size_t size) {
    memset(dst, 0, (size_t)n * size);
    if (v->rank == 0) {
        memcpy(dst, x, size);
        return;
    }
    size_t last = v->rank - 1;
    int64_t width = v->out[last];
    while (n > 0) {
        int64_t col = at % width, row = at / width, run = width - col < n ? width - col : n, base = 0,
                step = v->in[last];
        bool inside = true;
        for (size_t d = last; d-- > 0 && inside;) {
            int64_t p;
            inside = conv_place(v, d, row % v->out[d], place[d], &p);
            row /= v->out[d];
            if (inside) base += p * step;
            step *= v->in[d];
        }
        if (inside) last_places(v, x + (size_t)base * size, col, run, place[last], dst, size);
        dst += (size_t)run * size;
        at += run;
        n -= run;
    }
}

/* sums[out channel of the group, output place] += kernel x image, for one image and group. */
static void conv_image(const conv *v, xt_dtype t, const char *image, const char *kernel, int64_t channels, int64_t outs,
                       char *sums, char *block) {
    size_t size = xt_dtype_size(t);
    int64_t depth = channels * v->n_kernel;
    for (int64_t col = 0; col < v->n_out; col += BLOCK_COLS) {
        int64_t cols = v->n_out - col < BLOCK_COLS ? v->n_out - col : BLOCK_COLS, place[INTERP_MAX_RANK] = {0},
                channel = 0;
        for (int64_t row = 0; row < depth; row += BLOCK_ROWS) {
            int64_t rows = depth - row < BLOCK_ROWS ? depth - row : BLOCK_ROWS;
            for (int64_t r = 0; r < rows; r++) {
                place_row(v, image + (size_t)(channel * v->n_in) * size, place, col, cols,
                          block + (size_t)(r * cols) * size, size);
                if (!index_next(v->rank, v->kernel, place)) channel++;
            }
            gemm(t, outs, cols, rows, kernel + (size_t)row * size, depth, block, cols, sums + (size_t)col * size,
                 v->n_out);
        }
    }
}

xt_status interp_convolution(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    conv v;
    conv_init(&v, op, in, out);
    xt_dtype t = gemm_dtype(in[0].type->dtype, in[1].type->dtype, out->type->dtype);
    size_t size = xt_dtype_size(t), out_size = xt_dtype_size(out->type->dtype);
    char *lhs = NULL, *rhs = NULL, *sums = NULL, *block = NULL;
    xt_status s = gemm_pack(&in[0], v.lhs_perm, t, &lhs);
    if (!s) s = gemm_pack(&in[1], v.rhs_perm, t, &rhs);
    if (!s) s = interp_temp((size_t)out->type->count, size, &sums);
    if (!s) s = interp_temp(BLOCK_ROWS * BLOCK_COLS, size, &block);
    if (!s) memset(sums, 0, (size_t)out->type->count * size);
    int64_t groups = v.feature_groups * v.batch_groups, batch = v.batch / v.batch_groups,
            outs = v.out_channels / groups;
    for (int64_t b = 0; b < batch && !s; b++)
        for (int64_t g = 0; g < groups; g++) {
            int64_t image = v.batch_groups > 1 ? g * batch + b : b,
                    channel = v.feature_groups > 1 ? g * v.group_channels : 0;
            conv_image(&v, t, lhs + (size_t)((image * v.in_channels + channel) * v.n_in) * size,
                       rhs + (size_t)(g * outs * v.group_channels * v.n_kernel) * size, v.group_channels, outs,
                       sums + (size_t)((b * v.out_channels + g * outs) * v.n_out) * size, block);
        }
    if (!s && out->type->count) {
        /* [batch, out channel, space] to the result's order of dims, in place of the scratch */
        convert_elems(out->type->count, t, sums, out->type->dtype, sums);
        int64_t dims[INTERP_MAX_RANK], from[INTERP_MAX_RANK], strides[INTERP_MAX_RANK], dst[INTERP_MAX_RANK];
        strides_of(out->type->rank, out->type->dims, strides);
        for (uint32_t d = 0; d < out->type->rank; d++) {
            dims[d] = out->type->dims[v.out_perm[d]];
            dst[d] = strides[v.out_perm[d]];
        }
        strides_of(out->type->rank, dims, from);
        copy_strided(out->type->rank, dims, out->data, dst, sums, from, out_size);
    }
    base_free(lhs);
    base_free(rhs);
    base_free(sums);
    base_free(block);
    return s;
}
