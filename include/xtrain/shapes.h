/* Tensors cut, joined, turned, padded, made, and read and written at indices. What ops.h says of all holds here. */
#ifndef XTRAIN_SHAPES_H
#define XTRAIN_SHAPES_H

#include <xtrain/functional.h>
#include <xtrain/lists.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Shapes --- */
/* x[start, start + length) along the axis */
#define xt_narrow(x, axis, start, length) \
    xt_narrow_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(start), XT_NUMBER_(length))
#define xt_select(x, axis, index) \
    xt_select_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(index)) /* x[..., index, ...]: one dim less */
#define xt_slice_step(x, axis, start, stop, step)                                                                      \
    xt_slice_step_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(step)) /* step >= 1 \
                                                                                                           */
XT_API xt_tensor xt_narrow_at(const xt_src *src, xt_tensor x, int axis, int64_t start, int64_t length);
XT_API xt_tensor xt_select_at(const xt_src *src, xt_tensor x, int axis, int64_t index);
XT_API xt_tensor xt_slice_step_at(const xt_src *src, xt_tensor x, int axis, int64_t start, int64_t stop, int64_t step);
/* x with part of it replaced, as x[..., start:stop:step, ...] = y and x[..., index, ...] = y do. */
#define xt_slice_scatter(x, y, axis, start, stop, step) \
    xt_slice_scatter_at(XT_HERE, x, y, XT_NUMBER_(axis), XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(step))
/* x with slice number index of the axis replaced */
#define xt_select_scatter(x, y, axis, index) xt_select_scatter_at(XT_HERE, x, y, XT_NUMBER_(axis), XT_NUMBER_(index))
XT_API xt_tensor xt_slice_scatter_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis, int64_t start, int64_t stop,
                                     int64_t step);
XT_API xt_tensor xt_select_scatter_at(const xt_src *src, xt_tensor x, xt_tensor y, int axis, int64_t index);
/* Parts into `out`; they give the number of parts, 0 after an error (which is in every part). `max`: room in out. */
/* parts of `size`, the last one smaller */
#define xt_split(x, size, axis, max, out) \
    xt_split_at(XT_HERE, x, XT_NUMBER_(size), XT_NUMBER_(axis), XT_NUMBER_(max), out)
/* room for `parts`; may give fewer */
#define xt_chunk(x, parts, axis, out) xt_chunk_at(XT_HERE, x, XT_NUMBER_(parts), XT_NUMBER_(axis), out)
/* exactly `parts`, sizes as equal as can be */
#define xt_tensor_split(x, parts, axis, out) xt_tensor_split_at(XT_HERE, x, XT_NUMBER_(parts), XT_NUMBER_(axis), out)
/* (x, n, sizes, axis, out) */
#define xt_split_sizes(x, n, ...)                                                              \
    (XT_GIVEN_(#__VA_ARGS__, "xt_split_sizes(x, n, sizes, axis, out, ...): sizes is missing"), \
     XT_NO_DTYPE_(__VA_ARGS__), xt_split_sizes_at(XT_HERE, x, XT_NUMBER_(n), __VA_ARGS__))
/* slices without that axis */
#define xt_unbind(x, axis, max, out) xt_unbind_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(max), out)
XT_API int xt_split_at(const xt_src *src, xt_tensor x, int64_t size, int axis, int max, xt_tensor *out);
XT_API int xt_chunk_at(const xt_src *src, xt_tensor x, int parts, int axis, xt_tensor *out);
XT_API int xt_tensor_split_at(const xt_src *src, xt_tensor x, int parts, int axis, xt_tensor *out);
XT_API int xt_split_sizes_at(const xt_src *src, xt_tensor x, int n, const int64_t *sizes, int axis, xt_tensor *out);
XT_API int xt_unbind_at(const xt_src *src, xt_tensor x, int axis, int max, xt_tensor *out);
/* (n, tensors, axis): along a new axis; xt_concat: along an old one */
#define xt_stack(n, ...)                                                                                        \
    (XT_GIVEN_(#__VA_ARGS__, "xt_stack(n, tensors, axis, ...): tensors is missing"), XT_NO_DTYPE_(__VA_ARGS__), \
     xt_stack_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
/* xt_repeat(x, XT_LIST(2, 3)): a number for every dim, more in front */
/* xt_repeat(x, 2, 1) or (x, XT_LIST(2, 1)): how often along each dim; of xt_tile a short list is for the last dims */
#define xt_repeat(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_repeat(x, times, ...): times is missing"), \
     xt_repeat_at(XT_HERE, x, XT_TIMES_(__VA_ARGS__)))
#define xt_tile(x, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_tile(x, times, ...): times is missing"), \
     xt_tile_at(XT_HERE, x, XT_TIMES_(__VA_ARGS__)))
#define XT_TIMES_(...) \
    XT_HOW_MANY_(__VA_ARGS__, XT_LIST, XT_LIST, XT_LIST, XT_LIST, XT_LIST, XT_LIST, XT_LIST, XT_AXES_OF_, )(__VA_ARGS__)
#define xt_repeat_interleave(x, times, axis) xt_repeat_interleave_at(XT_HERE, x, XT_NUMBER_(times), XT_NUMBER_(axis))
/* counts [n] of integers, one for each slice; output_size says how many there are in all: slices behind their sum are
 * zeros, what is behind output_size is left out */
#define xt_repeat_interleave_counts(x, counts, axis, output_size) \
    xt_repeat_interleave_counts_at(XT_HERE, x, counts, XT_NUMBER_(axis), XT_NUMBER_(output_size))
XT_API xt_tensor xt_repeat_interleave_counts_at(const xt_src *src, xt_tensor x, xt_tensor counts, int axis,
                                                int64_t output_size);
#define xt_flip(x, axes) xt_flip_at(XT_HERE, x, XT_AXES_OF_(axes)) /* the elements of the axes in reverse order */
/* one shift and XT_ALL_AXES: over all elements in a row */
#define xt_roll(x, shifts, axes) xt_roll_at(XT_HERE, x, XT_AXES_OF_(shifts), XT_AXES_OF_(axes))
/* k quarter turns from axis a towards b */
/* xt_rot90(x, k = 1, a = 0, b = 1) */
#define xt_rot90(...) XT_FILL3_(XT_ROT90_, 1, 0, 1, __VA_ARGS__)
#define XT_ROT90_(x, k, a, b, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_rot90_at(XT_HERE, x, XT_NUMBER_(k), XT_NUMBER_(a), XT_NUMBER_(b)))
/* xt_movedim(x, 0, -1), xt_movedim(x, XT_AXES(0, 1), XT_AXES(-2, -1)) */
#define xt_movedim(x, from, to) xt_movedim_at(XT_HERE, x, XT_AXES_OF_(from), XT_AXES_OF_(to))
/* one dim may be -1 */
#define xt_unflatten(x, axis, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_unflatten(x, axis, dims, ...): dims is missing"), \
     xt_unflatten_at(XT_HERE, x, XT_NUMBER_(axis), XT_DIMS_(__VA_ARGS__, 0)))
#define xt_view_as(x, other) xt_view_as_at(XT_HERE, x, other) /* reshape to other's dims */
/* repeated to other's dims, where its own are 1 or missing */
#define xt_expand_as(x, other) xt_expand_as_at(XT_HERE, x, other)
XT_API xt_tensor xt_stack_at(const xt_src *src, int n, const xt_tensor *tensors, int axis);
XT_API xt_tensor xt_repeat_at(const xt_src *src, xt_tensor x, xt_list times);
XT_API xt_tensor xt_tile_at(const xt_src *src, xt_tensor x, xt_list times);
XT_API xt_tensor xt_repeat_interleave_at(const xt_src *src, xt_tensor x, int64_t times, int axis);
XT_API xt_tensor xt_flip_at(const xt_src *src, xt_tensor x, xt_list axes);
XT_API xt_tensor xt_roll_at(const xt_src *src, xt_tensor x, xt_list shifts, xt_list axes);
XT_API xt_tensor xt_rot90_at(const xt_src *src, xt_tensor x, int k, int a, int b);
XT_API xt_tensor xt_movedim_at(const xt_src *src, xt_tensor x, xt_list from, xt_list to);
XT_API xt_tensor xt_unflatten_at(const xt_src *src, xt_tensor x, int axis, const int64_t *dims);
XT_API xt_tensor xt_view_as_at(const xt_src *src, xt_tensor x, xt_tensor other);
XT_API xt_tensor xt_expand_as_at(const xt_src *src, xt_tensor x, xt_tensor other);
/* n tensors at their common shape; coordinates of a grid ("ij": out[i] varies along axis i; xy: the first two axes
 * swapped). False after an error. */
/* (n, tensors, out) */
#define xt_broadcast_tensors(n, ...)                                                            \
    (XT_GIVEN_(#__VA_ARGS__, "xt_broadcast_tensors(n, tensors, out, ...): tensors is missing"), \
     xt_broadcast_tensors_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
/* (n, tensors, xy, out) */
#define xt_meshgrid(n, ...)                                                                \
    (XT_GIVEN_(#__VA_ARGS__, "xt_meshgrid(n, tensors, xy, out, ...): tensors is missing"), \
     xt_meshgrid_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
XT_API bool xt_broadcast_tensors_at(const xt_src *src, int n, const xt_tensor *tensors, xt_tensor *out);
XT_API bool xt_meshgrid_at(const xt_src *src, int n, const xt_tensor *tensors, bool xy, xt_tensor *out);
#define XT_DEFAULTS_xt_pad_opts(is)
typedef struct XT_OPTIONS_ xt_pad_opts {
    size_t struct_size XT_SIZE(xt_pad_opts);
    xt_pad_mode mode XT_ZERO; /* default XT_PAD_CONSTANT */
    double value XT_ZERO; /* of constant padding */
} xt_pad_opts;
/* xt_pad(x, XT_LIST(1, 2, 3, 4)): 1 before and 2 after the last axis, 3 and 4 around the one before it; negative
 * amounts cut (constant mode only). */
#define xt_pad(x, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_pad(x, amounts, ...): amounts is missing"), \
     XT_OPT2L_(xt_pad_at, xt_pad_opts, x, __VA_ARGS__, ))
XT_API xt_tensor xt_pad_at(const xt_src *src, xt_tensor x, xt_list amounts, xt_pad_opts o);
#define XT_DEFAULTS_xt_pad_sequence_opts(is)
typedef struct XT_OPTIONS_ xt_pad_sequence_opts {
    size_t struct_size XT_SIZE(xt_pad_sequence_opts);
    bool batch_first XT_ZERO; /* [n,T,...]; default [T,n,...] */
    double padding_value XT_ZERO; /* behind the end of shorter sequences */
} xt_pad_sequence_opts;
/* n sequences [T_i,...] of one dtype as one tensor, T the longest: xt_pad_sequence(3, parts, .batch_first = true) */
#define xt_pad_sequence(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_pad_sequence(n, tensors, ...): tensors is missing"), \
     XT_OPT2_(xt_pad_sequence_at, xt_pad_sequence_opts, XT_NUMBER_(n), __VA_ARGS__, ))
XT_API xt_tensor xt_pad_sequence_at(const xt_src *src, int n, const xt_tensor *tensors, xt_pad_sequence_opts o);
#define XT_DEFAULTS_xt_unfold_opts(is) is(stride, 1) is(dilation, 1)
XT_DEFAULTS_OF(xt_unfold_opts)
typedef struct XT_OPTIONS_ xt_unfold_opts {
    size_t struct_size XT_SIZE(xt_unfold_opts);
    int stride XT_IS(xt_unfold_opts, stride); /* from one place to the next, in both dims */
    int padding XT_ZERO; /* zeros on each side */
    int dilation XT_IS(xt_unfold_opts, dilation); /* from one element of a place to the next */
    /* one a dim, of height and width, in place of the option without the s */
    int strides[2] XT_ZERO, paddings[2] XT_ZERO, dilations[2] XT_ZERO;
} xt_unfold_opts;
/* [N,C,H,W] -> [N, C KH KW, places] */
#define xt_unfold(x, kernel_h, ...)                                                         \
    (XT_GIVEN_(#__VA_ARGS__, "xt_unfold(x, kernel_h, kernel_w, ...): kernel_w is missing"), \
     XT_UNFOLD_(x, kernel_h, __VA_ARGS__, ))
#define XT_UNFOLD_(x, kernel_h, kernel_w, ...) \
    xt_unfold_at(XT_HERE, x, XT_NUMBER_(kernel_h), XT_NUMBER_(kernel_w), XT_OPTS(xt_unfold_opts, __VA_ARGS__))
/* The way back, places that overlap added: [N, C KH KW, places] -> [N,C,height,width]. */
#define xt_fold(x, height, width, kernel_h, ...)                                                         \
    (XT_GIVEN_(#__VA_ARGS__, "xt_fold(x, height, width, kernel_h, kernel_w, ...): kernel_w is missing"), \
     XT_FOLD_(x, height, width, kernel_h, __VA_ARGS__, ))
#define XT_FOLD_(x, height, width, kernel_h, kernel_w, ...)                                                   \
    xt_fold_at(XT_HERE, x, XT_NUMBER_(height), XT_NUMBER_(width), XT_NUMBER_(kernel_h), XT_NUMBER_(kernel_w), \
               XT_OPTS(xt_unfold_opts, __VA_ARGS__))
XT_API xt_tensor xt_fold_at(const xt_src *src, xt_tensor x, int64_t height, int64_t width, int kernel_h, int kernel_w,
                            xt_unfold_opts o);
/* Tensor.unfold: windows, their elements as a last dim */
#define xt_unfold_axis(x, axis, size, step) \
    xt_unfold_axis_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(size), XT_NUMBER_(step))
XT_API xt_tensor xt_unfold_at(const xt_src *src, xt_tensor x, int kernel_h, int kernel_w, xt_unfold_opts o);
XT_API xt_tensor xt_unfold_axis_at(const xt_src *src, xt_tensor x, int axis, int64_t size, int64_t step);
/* What xt_grid_sample sees outside of the picture. */
typedef enum xt_grid_padding {
    XT_GRID_ZEROS, /* zeros */
    XT_GRID_BORDER, /* the nearest pixel of the edge */
    XT_GRID_REFLECTION /* the picture in a mirror at its edge: the corner pixels' centres with .align_corners, else
                          their outer edges */
} xt_grid_padding;
#define XT_DEFAULTS_xt_grid_opts(is)
typedef struct XT_OPTIONS_ xt_grid_opts {
    size_t struct_size XT_SIZE(xt_grid_opts);
    xt_grid_padding padding XT_ZERO; /* what is seen outside: default zeros */
    bool nearest XT_ZERO; /* default bilinear */
    bool align_corners XT_ZERO; /* -1 and 1 are the centres of the corner pixels; default their outer edges */
    bool bicubic XT_ZERO; /* cubic convolution over 4x4 pixels (a = -0.75), of [N,C,H,W] */
} xt_grid_opts;
/* x [N,C,H,W] at places grid [N,P,Q,2], (x, y) from -1 to 1 -> [N,C,P,Q], or volumes [N,C,D,H,W] at [N,P,Q,R,3],
 * (x, y, z) -> [N,C,P,Q,R]; the grid of affine maps theta [N,2,3] -> [N,height,width,2]. */
#define xt_grid_sample(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_grid_sample(x, grid, ...): grid is missing"), \
     XT_OPT2_(xt_grid_sample_at, xt_grid_opts, x, __VA_ARGS__, ))
/* theta [N,2,3]: for each of height x width places of a picture where xt_grid_sample is to read, [N,height,width,2]:
 * xt_affine_grid(theta, height, width, align_corners = false) */
#define xt_affine_grid(theta, height, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_affine_grid(theta, height, width, ...): width is missing"), \
     XT_AFFINE_GRID_(theta, height, __VA_ARGS__, false, ))
#define XT_AFFINE_GRID_(theta, height, width, align_corners, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_affine_grid_at(XT_HERE, theta, XT_NUMBER_(height), XT_NUMBER_(width), align_corners))
XT_API xt_tensor xt_grid_sample_at(const xt_src *src, xt_tensor x, xt_tensor grid, xt_grid_opts o);
XT_API xt_tensor xt_affine_grid_at(const xt_src *src, xt_tensor theta, int64_t height, int64_t width,
                                   bool align_corners);
/* Triangles and diagonals; k counts diagonals to the right of the main one. */
/* The lower triangle of [...,n,m], 0 above it: xt_tril(x, k = 0) */
#define xt_tril(...) XT_TRIL_(__VA_ARGS__, 0, )
#define XT_TRIL_(x, k, ...) (XT_LAST_(1, __VA_ARGS__), xt_tril_at(XT_HERE, x, XT_NUMBER_(k)))
/* The upper triangle of [...,n,m], 0 below it: xt_triu(x, k = 0) */
#define xt_triu(...) XT_TRIU_(__VA_ARGS__, 0, )
#define XT_TRIU_(x, k, ...) (XT_LAST_(1, __VA_ARGS__), xt_triu_at(XT_HERE, x, XT_NUMBER_(k)))
/* xt_diag(x, k = 0): [n] -> [n,n]; [n,m] -> its diagonal */
#define xt_diag(...) XT_DIAG_(__VA_ARGS__, 0, )
#define XT_DIAG_(x, k, ...) (XT_LAST_(1, __VA_ARGS__), xt_diag_at(XT_HERE, x, XT_NUMBER_(k)))
/* xt_diagonal(x, k = 0, a = 0, b = 1): of axes a and b, as a last dim */
#define xt_diagonal(...) XT_FILL3_(XT_DIAGONAL_, 0, 0, 1, __VA_ARGS__)
#define XT_DIAGONAL_(x, k, a, b, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_diagonal_at(XT_HERE, x, XT_NUMBER_(k), XT_NUMBER_(a), XT_NUMBER_(b)))
/* xt_diag_embed(x, k = 0, a = -2, b = -1): the last dim along a diagonal of two, which are axes a and b of the result
 */
#define xt_diag_embed(...) XT_FILL3_(XT_DIAG_EMBED_, 0, -2, -1, __VA_ARGS__)
#define XT_DIAG_EMBED_(x, k, a, b, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_diag_embed_at(XT_HERE, x, XT_NUMBER_(k), XT_NUMBER_(a), XT_NUMBER_(b)))
/* (n, tensors): matrices along a diagonal of zeros */
#define xt_block_diag(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_block_diag(n, tensors, ...): tensors is missing"), \
     xt_block_diag_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
XT_API xt_tensor xt_block_diag_at(const xt_src *src, int n, const xt_tensor *tensors);
#define xt_trace(x) xt_trace_at(XT_HERE, x) /* [n,m]: the sum of the diagonal, a scalar */
XT_API xt_tensor xt_tril_at(const xt_src *src, xt_tensor x, int64_t k);
XT_API xt_tensor xt_triu_at(const xt_src *src, xt_tensor x, int64_t k);
XT_API xt_tensor xt_diag_at(const xt_src *src, xt_tensor x, int64_t k);
XT_API xt_tensor xt_diagonal_at(const xt_src *src, xt_tensor x, int64_t k, int a, int b);
XT_API xt_tensor xt_diag_embed_at(const xt_src *src, xt_tensor x, int64_t k, int a, int b);
XT_API xt_tensor xt_trace_at(const xt_src *src, xt_tensor x);

#define xt_channel_shuffle(x, groups) \
    xt_channel_shuffle_at(XT_HERE, x, XT_NUMBER_(groups)) /* [N,C,...]: groups divides C */
XT_API xt_tensor xt_channel_shuffle_at(const xt_src *src, xt_tensor x, int64_t groups);

/* --- Making --- */
/* i64 [2,n]: rows and columns of the places on and below (above) diagonal k of a matrix, row by row */
/* xt_tril_indices(rows, columns, k = 0) */
#define xt_tril_indices(rows, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_tril_indices(rows, columns, ...): columns is missing"), \
     XT_TRIL_INDICES_(rows, __VA_ARGS__, 0, ))
#define XT_TRIL_INDICES_(rows, columns, k, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_tril_indices_at(XT_HERE, XT_NUMBER_(rows), XT_NUMBER_(columns), XT_NUMBER_(k)))
/* xt_triu_indices(rows, columns, k = 0) */
/* i64 [2,n]: rows and columns of the upper triangle */
#define xt_triu_indices(rows, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_triu_indices(rows, columns, ...): columns is missing"), \
     XT_TRIU_INDICES_(rows, __VA_ARGS__, 0, ))
#define XT_TRIU_INDICES_(rows, columns, k, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_triu_indices_at(XT_HERE, XT_NUMBER_(rows), XT_NUMBER_(columns), XT_NUMBER_(k)))
XT_API xt_tensor xt_tril_indices_at(const xt_src *src, int64_t rows, int64_t columns, int64_t k);
XT_API xt_tensor xt_triu_indices_at(const xt_src *src, int64_t rows, int64_t columns, int64_t k);
/* torch.arange(start, stop, step) */
#define xt_range(start, stop, step, dtype) \
    xt_range_at(XT_HERE, XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(step), XT_DTYPE_(dtype))
/* both ends included */
/* xt_linspace(start, stop, n, dtype = XT_F32) */
#define xt_linspace(start, stop, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_linspace(start, stop, n, ...): n is missing"), \
     XT_LINSPACE_(start, stop, __VA_ARGS__, XT_F32, ))
#define XT_LINSPACE_(start, stop, n, dtype, ...) \
    (XT_LAST_(1, __VA_ARGS__),                   \
     xt_linspace_at(XT_HERE, XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(n), XT_DTYPE_(dtype)))
/* base^start .. base^stop */
#define xt_logspace(start, stop, n, base, dtype) \
    xt_logspace_at(XT_HERE, XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(n), XT_NUMBER_(base), XT_DTYPE_(dtype))
/* xt_eye(n), xt_eye(n, dtype), xt_eye(rows, columns, dtype); columns 0: as many as rows; dtype: XT_F32 */
#define xt_eye(...) XT_FILL_BY_(__VA_ARGS__, , , XT_EYE_, XT_EYE_SQUARE_, XT_EYE_F32_, )(__VA_ARGS__)
#define XT_EYE_F32_(n) XT_EYE_(n, 0, XT_F32)
#define XT_EYE_SQUARE_(n, dtype) XT_EYE_(n, 0, dtype)
#define XT_EYE_(rows, columns, dtype) xt_eye_at(XT_HERE, XT_NUMBER_(rows), XT_NUMBER_(columns), XT_DTYPE_(dtype))
#define xt_full_like(x, value) xt_full_like_at(XT_HERE, x, XT_NUMBER_(value)) /* of x's dtype and dims, all `value` */
#define xt_zeros_like(x) xt_full_like_at(XT_HERE, x, 0)
#define xt_ones_like(x) xt_full_like_at(XT_HERE, x, 1)
XT_API xt_tensor xt_range_at(const xt_src *src, double start, double stop, double step, xt_dtype dtype);
XT_API xt_tensor xt_linspace_at(const xt_src *src, double start, double stop, int64_t n, xt_dtype dtype);
XT_API xt_tensor xt_logspace_at(const xt_src *src, double start, double stop, int64_t n, double base, xt_dtype dtype);
XT_API xt_tensor xt_eye_at(const xt_src *src, int64_t rows, int64_t columns, xt_dtype dtype);
XT_API xt_tensor xt_full_like_at(const xt_src *src, xt_tensor x, double value);

/* --- Reading and writing at indices ---
 * Indices are integers. One that is outside is an error where the host has seen it (small arrays of xt_from_array, a
 * loader's batches), and under XT_DEBUG=bounds, at the step, where the device computes it; else it reads the nearest
 * element and writes nothing: the device cannot stop for it. A list of writes to one place adds up where the name says
 * so, else one of them wins. x itself is never changed: the result is a new tensor. */
/* r[i][j] = x[index[i][j]][j] for axis 0; dims of index */
#define xt_gather(x, axis, index) xt_gather_at(XT_HERE, x, XT_NUMBER_(axis), index)
/* as gather, the other dims broadcast */
#define xt_take_along_axis(x, index, axis) xt_take_along_axis_at(XT_HERE, x, index, XT_NUMBER_(axis))
#define xt_index_select(x, axis, index)                                          \
    xt_index_select_at(XT_HERE, x, XT_NUMBER_(axis), index) /* slices, index [n] \
                                                             */
/* x[i, j, ...] with n index tensors for the first n axes; negative: from the end */
#define xt_index(x, n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_index(x, n, indices, ...): indices is missing"), \
     xt_index_at(XT_HERE, x, XT_NUMBER_(n), __VA_ARGS__))
XT_API xt_tensor xt_gather_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index);
XT_API xt_tensor xt_take_along_axis_at(const xt_src *src, xt_tensor x, xt_tensor index, int axis);
XT_API xt_tensor xt_index_select_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index);
XT_API xt_tensor xt_index_at(const xt_src *src, xt_tensor x, int n, const xt_tensor *indices);
/* r[index[i][j]][j] = updates[i][j] for axis 0; updates: at least index's dims, or without dims: the same for all. */
#define xt_scatter(x, axis, index, updates) xt_scatter_at(XT_HERE, x, XT_NUMBER_(axis), index, updates)
#define xt_scatter_add(x, axis, index, updates) xt_scatter_add_at(XT_HERE, x, XT_NUMBER_(axis), index, updates)
XT_API xt_tensor xt_scatter_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates);
XT_API xt_tensor xt_scatter_add_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates);
/* How xt_scatter_reduce puts together what comes to one place. */
typedef enum xt_reduction {
    XT_REDUCE_SUM, /* the sum */
    XT_REDUCE_PROD, /* the product */
    XT_REDUCE_MEAN, /* the mean */
    XT_REDUCE_AMAX, /* the largest */
    XT_REDUCE_AMIN /* the smallest */
} xt_reduction;
#define XT_DEFAULTS_xt_scatter_opts(is)
typedef struct XT_OPTIONS_ xt_scatter_opts {
    size_t struct_size XT_SIZE(xt_scatter_opts);
    bool exclude_self XT_ZERO; /* what x holds where updates go does not count */
} xt_scatter_opts;
/* As xt_scatter, but what comes to one place, and what x holds there, are put together as `how` says (xt_reduction):
 * xt_scatter_reduce(x, 0, index, updates, XT_REDUCE_MEAN, .exclude_self = true) */
#define xt_scatter_reduce(x, axis, index, updates, ...) XT_SCATTER_REDUCE_(x, axis, index, updates, __VA_ARGS__, )
#define XT_SCATTER_REDUCE_(x, axis, index, updates, how, ...)                                       \
    xt_scatter_reduce_at(XT_HERE, x, XT_NUMBER_(axis), index, updates, XT_WORD_(xt_reduction, how), \
                         XT_OPTS(xt_scatter_opts, __VA_ARGS__))
XT_API xt_tensor xt_scatter_reduce_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates,
                                      xt_reduction how, xt_scatter_opts o);
/* slices times alpha added */
/* xt_index_add(x, axis, index, updates, alpha = 1) */
#define xt_index_add(x, axis, index, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_index_add(x, axis, index, updates, ...): updates is missing"), \
     XT_INDEX_ADD_(x, axis, index, __VA_ARGS__, 1, ))
#define XT_INDEX_ADD_(x, axis, index, updates, alpha, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_index_add_at(XT_HERE, x, XT_NUMBER_(axis), index, updates, XT_NUMBER_(alpha)))
/* x with the slices of index replaced by those of source */
#define xt_index_copy(x, axis, index, updates) xt_index_copy_at(XT_HERE, x, XT_NUMBER_(axis), index, updates)
/* x with the slices of index all `value` */
#define xt_index_fill(x, axis, index, value) xt_index_fill_at(XT_HERE, x, XT_NUMBER_(axis), index, XT_NUMBER_(value))
/* Slices folded in as `how` says: xt_index_reduce(x, 0, index, updates, XT_REDUCE_PROD, .exclude_self = true);
 * PyTorch's include_self=False */
#define xt_index_reduce(x, axis, index, updates, ...) XT_INDEX_REDUCE_(x, axis, index, updates, __VA_ARGS__, )
#define XT_INDEX_REDUCE_(x, axis, index, updates, how, ...)                                       \
    xt_index_reduce_at(XT_HERE, x, XT_NUMBER_(axis), index, updates, XT_WORD_(xt_reduction, how), \
                       XT_OPTS(xt_scatter_opts, __VA_ARGS__))
XT_API xt_tensor xt_index_reduce_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates,
                                    xt_reduction how, xt_scatter_opts o);
XT_API xt_tensor xt_index_add_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates,
                                 double alpha);
XT_API xt_tensor xt_index_copy_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, xt_tensor updates);
XT_API xt_tensor xt_index_fill_at(const xt_src *src, xt_tensor x, int axis, xt_tensor index, double value);
#define XT_DEFAULTS_xt_index_put_opts(is)
typedef struct XT_OPTIONS_ xt_index_put_opts {
    size_t struct_size XT_SIZE(xt_index_put_opts);
    bool accumulate XT_ZERO; /* add instead of replace */
} xt_index_put_opts;
/* x[i, j, ...] = values; indices XT_TENSORS(i, j) */
#define xt_index_put(x, n, indices, ...)                                                     \
    (XT_GIVEN_(#__VA_ARGS__, "xt_index_put(x, n, indices, values, ...): values is missing"), \
     XT_OPT4_(xt_index_put_at, xt_index_put_opts, x, XT_NUMBER_(n), indices, __VA_ARGS__, ))
XT_API xt_tensor xt_index_put_at(const xt_src *src, xt_tensor x, int n, const xt_tensor *indices, xt_tensor values,
                                 xt_index_put_opts o);
/* value where the bool mask is true */
#define xt_masked_fill(x, mask, value) xt_masked_fill_at(XT_HERE, x, mask, XT_NUMBER_(value))
/* source's elements in order where the mask is true */
#define xt_masked_scatter(x, mask, source) xt_masked_scatter_at(XT_HERE, x, mask, source)
/* counts in equal bins from lo to hi, as x's dtype; others are not counted */
#define xt_histc(x, bins, lo, hi) xt_histc_at(XT_HERE, x, XT_NUMBER_(bins), XT_NUMBER_(lo), XT_NUMBER_(hi))
XT_API xt_tensor xt_masked_scatter_at(const xt_src *src, xt_tensor x, xt_tensor mask, xt_tensor source);
XT_API xt_tensor xt_histc_at(const xt_src *src, xt_tensor x, int64_t bins, double lo, double hi);
/* How xt_embedding_bag makes one row of several. */
typedef enum xt_bag_mode {
    XT_BAG_MEAN, /* the mean */
    XT_BAG_SUM, /* the sum, weighted where there are weights */
    XT_BAG_MAX /* the largest of each element */
} xt_bag_mode;
#define XT_DEFAULTS_xt_embedding_bag_opts(is) is(padding_idx, XT_UNSET)
XT_DEFAULTS_OF(xt_embedding_bag_opts)
typedef struct XT_OPTIONS_ xt_embedding_bag_opts {
    size_t struct_size XT_SIZE(xt_embedding_bag_opts);
    /* integers [B], of indices [n]: where each bag begins, ascending from 0; a bag ends where the next one begins, and
     * one of no elements is zeros */
    xt_tensor offsets XT_ZERO;
    /* this row counts for nothing and gets no gradient; negative counts from the end; XT_UNSET: there is none */
    int64_t padding_idx XT_IS(xt_embedding_bag_opts, padding_idx);
    bool include_last_offset XT_ZERO; /* offsets are [B+1], the last one is where the last bag ends */
} xt_embedding_bag_opts;
/* Rows of a table [V,D] reduced over the last axis of indices [...,n] -> [...,D], or with .offsets over parts of
 * indices [n] -> [B,D]; weights (sum only) like indices, or none. */
#define xt_embedding_bag(indices, table, mode, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_embedding_bag(indices, table, mode, weights, ...): weights is missing"), \
     XT_OPT4_(xt_embedding_bag_at, xt_embedding_bag_opts, indices, table, XT_WORD_(xt_bag_mode, mode), __VA_ARGS__, ))
XT_API xt_tensor xt_embedding_bag_at(const xt_src *src, xt_tensor indices, xt_tensor table, xt_bag_mode mode,
                                     xt_tensor weights, xt_embedding_bag_opts o);
/* [n] -> [bins]; weights may be none; others are not counted */
#define xt_bincount(x, bins, weights) xt_bincount_at(XT_HERE, x, XT_NUMBER_(bins), weights)
XT_API xt_tensor xt_masked_fill_at(const xt_src *src, xt_tensor x, xt_tensor mask, double value);
XT_API xt_tensor xt_bincount_at(const xt_src *src, xt_tensor x, int64_t bins, xt_tensor weights);

#ifdef __cplusplus
}
#endif
#endif
