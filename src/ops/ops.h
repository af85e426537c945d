/* What the public tensor ops share: operands, dtype promotion, broadcasting, axes, shapes in messages.
 *
 * An op opens with ops_begin, reads its operands with lazy_value (NULL for a bad one: then it records nothing), and
 * closes with lazy_wrap. What the user got wrong is found before anything is recorded and named with function, shapes
 * and a way out. Ops record through the ir_* builders only. */
#ifndef XT_SRC_OPS_OPS_H
#define XT_SRC_OPS_OPS_H

#include <xtrain/ops.h>

#include "lazy/lazy.h"

/* A shape as text, "[128,320]". Several may stand in one message: each has a buffer of its own. */
typedef struct ops_text {
    char s[XT_MAX_RANK * 21 + 3];
} ops_text;
const char *ops_shape(const ir_type *t, ops_text *buf);
/* A number of a list as the caller gave it: in the macros' lists something else stands in place of a 0. */
static inline int64_t ops_given(int64_t n) {
    return n == XT_DIMS_END_ ? 0 : n;
}
const char *ops_dims(size_t rank, const int64_t *dims, ops_text *buf);

/* Negative axes count from the end. False after an error that names `what`, the axis and the shape; the error
 * tensor is *out. */
bool ops_axis(const xt_src *src, const char *what, const ir_type *t, int axis, int64_t *out_axis, xt_tensor *out);
/* The rank of a list of dims that ends at its first 0. */
int ops_rank(const int64_t *dims);

/* PyTorch's promotion: the higher category (bool, integer, float, complex) wins, and among equals the wider type; a
 * tensor without dims only counts by its category. */
xt_dtype ops_promote(const ir_type *a, const ir_type *b);
/* x as a float: itself, or f32. */
ir_value *ops_float(ir_builder *b, ir_value *x);
/* x in f32 when it is a narrower float, else itself; and back to t. */
ir_value *ops_widen(ir_builder *b, ir_value *x);
ir_value *ops_narrow(ir_builder *b, ir_value *x, xt_dtype t);
/* x as truth values: itself, or x != 0. */
ir_value *ops_bool(ir_builder *b, ir_value *x);

/* The common shape of two by NumPy's rule, into dims[XT_MAX_RANK]; false when there is none (*bad: the result's dim
 * where they differ). */
bool ops_common_dims(const ir_type *a, const ir_type *b, size_t *rank, int64_t *dims, size_t *bad);
/* x itself when it has those dims */
ir_value *ops_broadcast(ir_builder *b, ir_value *x, size_t rank, const int64_t *dims);
/* Brings x and y to one shape and dtype (XT_DTYPE_NONE: the promoted one). False after an error, which is *out then. */
bool ops_meet(const xt_src *src, const char *what, ir_builder *b, xt_dtype dtype, ir_value **x, ir_value **y,
              xt_tensor *out);

/* The same value as a node of its own: what an op gives that has nothing to do. A tensor never shares its value with
 * another one. */
ir_value *ops_copy(ir_builder *b, ir_value *x);

/* What an elementwise op accepts and computes on. A binary op first brings its operands to one shape and dtype. */
typedef enum ops_operand {
    OPS_AS_IS,
    OPS_AS_FLOAT, /* integers and truth values become f32 */
    /* likewise, and floats narrower than f32 are computed in f32: formulas of several ops, which round
     * once, at the end */
    OPS_AS_WIDE,
    OPS_AS_REAL, /* as wide, and no complex numbers */
    OPS_AS_NUMBER, /* anything but bool */
    OPS_AS_ORDER, /* anything but complex numbers */
    OPS_AS_BITS, /* integers and bool */
    OPS_AS_INT
} ops_operand;
typedef ir_value *(*ops_unary_fn)(ir_builder *b, ir_value *x);
typedef ir_value *(*ops_binary_fn)(ir_builder *b, ir_value *x, ir_value *y);
xt_tensor ops_unary(const xt_src *src, const char *what, ops_operand kind, ops_unary_fn make, xt_tensor x);
xt_tensor ops_binary(const xt_src *src, const char *what, ops_operand kind, ops_binary_fn make, xt_tensor x,
                     xt_tensor y);
/* Public functions that a builder makes, named in full so that a search finds them: OPS_UNARY(xt_cbrt, xt_cbrt_at,
 * REAL, ir_cbrt). The first is the one for function pointers and other languages, which finds its line from the return
 * address. */
#define OPS_UNARY(name, function, kind, make)                 \
    xt_tensor function(const xt_src *src, xt_tensor x) {      \
        return ops_unary(src, #name, OPS_AS_##kind, make, x); \
    }                                                         \
    OPS_PLAIN_UNARY(name, function)
#define OPS_BINARY(name, function, kind, make)                        \
    xt_tensor function(const xt_src *src, xt_tensor x, xt_tensor y) { \
        return ops_binary(src, #name, OPS_AS_##kind, make, x, y);     \
    }                                                                 \
    OPS_PLAIN_BINARY(name, function)
#define OPS_PLAIN_UNARY(name, function)                 \
    xt_tensor(name)(xt_tensor x) {                      \
        return function(src_get(src_from_caller()), x); \
    }
#define OPS_PLAIN_BINARY(name, function)                   \
    xt_tensor(name)(xt_tensor x, xt_tensor y) {            \
        return function(src_get(src_from_caller()), x, y); \
    }

/* start..stop of one axis, the others whole. */
ir_value *ops_part(ir_builder *b, ir_value *x, int64_t axis, int64_t start, int64_t stop);
/* x at `to`'s shape, its dims being those of `to` without `axis`. */
ir_value *ops_spread(ir_builder *b, ir_value *x, const ir_type *to, int64_t axis);
bool ops_same_dims(const ir_type *a, const ir_type *b);
/* Positions 0, 1, ... along an axis of t's shape, as an index type that holds them. */
ir_value *ops_positions(ir_builder *b, const ir_type *t, int64_t axis);
ir_value *ops_unsqueeze(ir_builder *b, ir_value *x, int64_t axis); /* a dim of 1 more, or less */
ir_value *ops_squeeze(ir_builder *b, ir_value *x, int64_t axis);
/* Sums of integers are i64, means of integers f32; narrow floats are summed in f32. MAX and MIN need elements. */
typedef enum ops_reduction { OPS_SUM, OPS_MEAN, OPS_MAX, OPS_MIN } ops_reduction;
ir_value *ops_reduce(ir_builder *b, ops_reduction kind, ir_value *x, size_t n, const int64_t *axes);
/* Where along the axis the largest (least: the smallest) element is: the first of equals, NaN before all. i32, or i64
 * for long axes. */
ir_value *ops_arg_extreme(ir_builder *b, ir_value *x, int64_t axis, bool least);
/* Lists of axes, each once; an empty list means all. False after an error, which is *out. */
bool ops_axes(const xt_src *src, const char *what, const ir_type *t, xt_list axes, size_t *n, int64_t *out_axes,
              xt_tensor *out);
/* The axes of a Fourier transform and the size of each (-1: its own), from .s, or .n for all. */
bool ops_fft_axes(const xt_src *src, const char *what, const ir_type *t, xt_list axes, const xt_fft_opts *o, size_t *n,
                  int64_t *out_axes, int64_t *out_sizes, xt_tensor *out);
/* [like..., rank] start indices into x: positions along every axis but one, where `index` (of like's dims) says. */
ir_value *ops_places(ir_builder *b, const ir_type *like, const ir_type *x, int64_t axis, ir_value *index);
/* stablehlo.gather, of arrays without elements too. */
ir_value *ops_gather(ir_builder *b, ir_value *x, ir_value *index, const ir_gather_dims *d, const int64_t *sizes);
/* The elements of x that index names along an axis; index has x's dims except in that axis, or smaller ones. */
ir_value *ops_gather_axis(ir_builder *b, ir_value *x, int64_t axis, ir_value *index);

/* xt_one_hot and xt_take for `what`: class numbers that are none give rows of zeros; indices are those of the user. */
xt_tensor ops_one_hot(const xt_src *src, xt_tensor labels, int64_t classes, xt_dtype dtype);
xt_tensor ops_take(const xt_src *src, const char *what, xt_tensor table, xt_tensor indices);

/* The diagonal of axes a and c, shifted to the right by offset, as a new last axis (diagonal.c). */
ir_value *ops_diagonal(ir_builder *b, ir_value *x, int64_t a, int64_t c, int64_t offset);
/* Unsigned words from Philox, [n], one for each element's index; NULL after a failure (make.c). The draw is counted
 * as any other. */
ir_value *ops_random_words(const xt_src *src, const ir_type *t);
/* The same, and xt_rand of f32, made of the next draw without counting it (lazy_rng_key_idle): one program with those,
 * and the draws behind them as if there were none. */
ir_value *ops_random_words_idle(const xt_src *src, const ir_type *t);
xt_tensor ops_rand_idle(const xt_src *src, const int64_t *dims);
/* What xt_rand, drawing with that key, would give rows `first`, first + 1, ... of [...,rows,S]: t is [...,t,S], of rank
 * 2 to XT_MAX_RANK - 1, first an integer scalar. For loops over rows of a draw that is never there as a whole. */
xt_tensor ops_rand_rows(const xt_src *src, xt_tensor key, const ir_type *t, int64_t rows, xt_tensor first);
/* More words of one draw, whose key is from lazy_rng_key: others for each `round`, a ui32 scalar. For rounds of a loop.
 */
ir_value *ops_random_words_of(ir_builder *b, ir_value *key, const ir_type *t, ir_value *round);
/* The type of a new tensor; false after an error. */
bool ops_new_type(const xt_src *src, const char *what, xt_dtype dtype, const int64_t *dims, const ir_type **type,
                  xt_tensor *out);

/* Matmul and convolution under autocast: casts f32 operands to the autocast dtype; gives the dtype the result
 * must be cast to. */
xt_dtype ops_autocast(ir_builder *b, ir_value **x, ir_value **y);
ir_precision ops_precision(xt_dtype t);
ir_value *ops_sum(ir_builder *b, ir_value *x, size_t n, const int64_t *axes); /* narrow floats are summed in f32 */
ir_value *ops_log_softmax(ir_builder *b, ir_value *x, int64_t axis);

/* --- spatial ops: convolution, pooling, padding, resizing --- */
enum { OPS_SPATIAL = 3 };
/* What an option says of spatial dim i: its own number, else the one for all, else the default. */
static inline int64_t ops_per_dim(int all, const int *each, int i) {
    return each[i] ? each[i] : all;
}
/* Puts a batch dim of 1 in front of an unbatched x ([C, n spatial dims]); *out_added says whether. */
ir_value *ops_batched(ir_builder *b, ir_value *x, int n_spatial, bool *out_added);
ir_value *ops_unbatched(ir_builder *b, ir_value *x, bool added);
/* n dims from `first` on grow by low and high; reflected padding must be less than the dim, circular at most the dim,
 * zeros may be negative. value: a scalar for the new elements of XT_PAD_ZEROS; NULL: zero. */
ir_value *ops_pad(ir_builder *b, ir_value *x, size_t first, size_t n, const int64_t *low, const int64_t *high,
                  xt_pad_mode mode, ir_value *value);
bool ops_pad_fits(const xt_src *src, const char *what, const ir_type *x, size_t first, size_t n, const int64_t *low,
                  const int64_t *high, xt_pad_mode mode, xt_tensor *out);

/* A number of the caller's as a scalar value of dtype t. It is a constant of the graph; once it has changed between two
 * steps at this place of the program it is data (one notice), so that a schedule never recompiles. Call before
 * ops_begin's builder records the op itself. */
ir_value *ops_number(const xt_src *src, const char *what, xt_dtype t, double v, bool *out_constant);
/* What the host makes of the caller's number v, which is the one that is told. */
ir_value *ops_made_number(const xt_src *src, const char *what, xt_dtype t, double v, double made, bool *out_constant);
/* Whether it is data, for ops that are others where a number is 0: the place is known in such a step, too. */
bool ops_number_moves(const xt_src *src, const char *what, double v);
/* The same of a number that decides a shape, and within it something else: with another `size` it is another one. */
bool ops_sized_number_moves(const xt_src *src, const char *what, int64_t size, double v);
static inline int64_t ops_sizes(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * 0x9e3779b97f4a7c15u ^ (uint64_t)b);
}
/* A shift, a diagonal: such a number v, a whole one, of a program for axes of `size`. NULL while it is a constant; then
 * what comes of it, `made`, as i64 data. */
ir_value *ops_place(const xt_src *src, const char *what, int64_t v, int64_t size, int64_t made);

#endif
