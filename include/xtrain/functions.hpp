/* Making tensors in C++, and libtorch's functions of tensors by their names. A part of xtrain.hpp. */
#ifndef XTRAIN_FUNCTIONS_HPP
#define XTRAIN_FUNCTIONS_HPP

#include <xtrain/operators.hpp>

namespace xt {

/* --- The methods as functions: xt::relu(x), xt::softmax(x, -1) --- */
#define XT_HPP_FUNCTION_(name)                                    \
    inline tensor name(const tensor &x, place w = XT_HPP_HERE_) { \
        return x.name(w);                                         \
    }
XT_HPP_EACH_(XT_HPP_FUNCTION_)
XT_HPP_FUNCTION_(log)
XT_HPP_FUNCTION_(argmax)
XT_HPP_FUNCTION_(argmin)
#undef XT_HPP_FUNCTION_
#define XT_HPP_FUNCTION_(name, fn)                                                                 \
    inline tensor name(const tensor &x, axes over, bool keepdim = false, place w = XT_HPP_HERE_) { \
        return x.name(over, keepdim, w);                                                           \
    }
XT_HPP_ALONG_(XT_HPP_FUNCTION_)
#undef XT_HPP_FUNCTION_
#define XT_HPP_FUNCTION_(name, fn)                                                                       \
    inline tensor name(const tensor &x, axes over, bool keepdim = false, xt_dtype dtype = XT_DTYPE_NONE, \
                       place w = XT_HPP_HERE_) {                                                         \
        return x.name(over, keepdim, dtype, w);                                                          \
    }                                                                                                    \
    inline tensor name(const tensor &x, xt_dtype dtype, place w = XT_HPP_HERE_) {                        \
        return x.name(dtype, w);                                                                         \
    } /* a dtype is no flag */                                                                           \
    tensor name(const tensor &x, axes over, xt_dtype dtype) = delete;
XT_HPP_ALONG_OF_(XT_HPP_FUNCTION_)
#undef XT_HPP_FUNCTION_
#define XT_HPP_FUNCTION_(name, fn)                                                                                  \
    inline tensor name(const tensor &x, axes over, bool unbiased = true, bool keepdim = false,                      \
                       place w = XT_HPP_HERE_) {                                                                    \
        return x.name(over, unbiased, keepdim, w);                                                                  \
    }                                                                                                               \
    template <class Flag, if_bool_<Flag> = 0> tensor name(const tensor &x, Flag unbiased, place w = XT_HPP_HERE_) { \
        return x.name(unbiased, w);                                                                                 \
    }
XT_HPP_SPREAD_(XT_HPP_FUNCTION_)
#undef XT_HPP_FUNCTION_
#define XT_HPP_FUNCTION_(name, fn)                                                                                    \
    inline std::tuple<tensor, tensor> name(const tensor &x, int axis, bool keepdim = false, place w = XT_HPP_HERE_) { \
        return x.name(axis, keepdim, w);                                                                              \
    }
XT_HPP_WHERE_(XT_HPP_FUNCTION_)
#undef XT_HPP_FUNCTION_
#define XT_HPP_FUNCTION_(name, fn)                                                                          \
    inline tensor name(const tensor &x, int axis, xt_dtype dtype = XT_DTYPE_NONE, place w = XT_HPP_HERE_) { \
        return x.name(axis, dtype, w);                                                                      \
    }
XT_HPP_AXIS_OF_(XT_HPP_FUNCTION_)
#undef XT_HPP_FUNCTION_
#define XT_HPP_FUNCTION_(name)                                                     \
    inline tensor name(const tensor &x, const tensor &y, place w = XT_HPP_HERE_) { \
        return x.name(y, w);                                                       \
    }
XT_HPP_WITH_(XT_HPP_FUNCTION_)
#undef XT_HPP_FUNCTION_
#undef XT_HPP_EACH_
#undef XT_HPP_ALONG_
#undef XT_HPP_ALONG_OF_
#undef XT_HPP_SPREAD_
#undef XT_HPP_WHERE_
#undef XT_HPP_AXIS_OF_
#undef XT_HPP_WITH_
#undef XT_HPP_BOTH_
#undef XT_HPP_IN_PLACE_
#undef XT_HPP_ELSEWHERE_
/* Whatever the method takes behind x: xt::gather(x, 1, i), xt::flip(x, {0}). */
inline tensor gather(const tensor &x, int axis, const tensor &i, place w = XT_HPP_HERE_) {
    return x.gather(axis, i, w);
}
inline tensor index_select(const tensor &x, int axis, const tensor &i, place w = XT_HPP_HERE_) {
    return x.index_select(axis, i, w);
}
inline tensor masked_fill(const tensor &x, const tensor &mask, double v, place w = XT_HPP_HERE_) {
    return x.masked_fill(mask, v, w);
}
inline tensor masked_select(const tensor &x, const tensor &mask, place w = XT_HPP_HERE_) {
    return x.masked_select(mask, w);
}
inline tensor argsort(const tensor &x, int axis = -1, xt_sort_opts o = {}, place w = XT_HPP_HERE_) {
    return x.argsort(axis, o, w);
}
inline tensor argsort(const tensor &x, int axis, bool descending, place w = XT_HPP_HERE_) {
    return x.argsort(axis, descending, w);
}
/* the same, largest first where asked */
template <class Flag, if_bool_<Flag> = 0>
tensor argsort(const tensor &x, Flag stable, int axis = -1, bool descending = false, place w = XT_HPP_HERE_) {
    return x.argsort(stable, axis, descending, w);
}
/* values and indices: auto [v, i] = xt::sort(x) */
inline std::tuple<tensor, tensor> sort(const tensor &x, int axis = -1, xt_sort_opts o = {}, place w = XT_HPP_HERE_) {
    return x.sort(axis, o, w);
}
/* largest first, where asked */
inline std::tuple<tensor, tensor> sort(const tensor &x, int axis, bool descending, place w = XT_HPP_HERE_) {
    return x.sort(axis, descending, w);
}
/* the k largest, and where they are */
inline std::tuple<tensor, tensor> topk(const tensor &x, int64_t k, int axis = -1, xt_topk_opts o = {},
                                       place w = XT_HPP_HERE_) {
    return x.topk(k, axis, o, w);
}
/* the k smallest, where largest is false */
inline std::tuple<tensor, tensor> topk(const tensor &x, int64_t k, int axis, bool largest, bool sorted = true,
                                       place w = XT_HPP_HERE_) {
    return x.topk(k, axis, largest, sorted, w);
}
/* the root of the sum of squares */
inline tensor norm(const tensor &x, place w = XT_HPP_HERE_) {
    return x.norm(w);
}
/* sum(|x|^p)^(1/p) of all */
template <class Number, if_number_<Number> = 0> tensor norm(const tensor &x, Number p, place w = XT_HPP_HERE_) {
    return x.norm(p, w);
}
/* the same of x as a dtype */
template <class Number, if_number_<Number> = 0>
tensor norm(const tensor &x, Number p, xt_dtype dtype, place w = XT_HPP_HERE_) {
    return x.norm(p, dtype, w);
}
/* the same along axes */
template <class Number, if_number_<Number> = 0>
tensor norm(const tensor &x, Number p, axes over, bool keepdim = false, xt_dtype dtype = XT_DTYPE_NONE,
            place w = XT_HPP_HERE_) {
    return x.norm(p, over, keepdim, dtype, w);
}
inline tensor gelu(const tensor &x, const char *approximate = "none", place w = XT_HPP_HERE_) {
    return x.gelu(approximate, w);
}
/* parts of that size, the last one smaller */
inline std::vector<tensor> split(const tensor &x, int64_t size, int axis = 0, place w = XT_HPP_HERE_) {
    return x.split(size, axis, w);
}
/* at most so many parts of one size */
inline std::vector<tensor> chunk(const tensor &x, int parts, int axis = 0, place w = XT_HPP_HERE_) {
    return x.chunk(parts, axis, w);
}
/* the slices along an axis, without it */
inline std::vector<tensor> unbind(const tensor &x, int axis = 0, place w = XT_HPP_HERE_) {
    return x.unbind(axis, w);
}
inline tensor permute(const tensor &x, std::initializer_list<int> axes, place w = XT_HPP_HERE_) {
    return x.permute(axes, w);
}
inline tensor movedim(const tensor &x, axes from, axes to, place w = XT_HPP_HERE_) {
    return x.movedim(from, to, w);
}
inline tensor flip(const tensor &x, axes over, place w = XT_HPP_HERE_) {
    return x.flip(over, w);
}
inline tensor roll(const tensor &x, axes shifts, axes over, place w = XT_HPP_HERE_) {
    return x.roll(shifts, over, w);
}
inline tensor tril(const tensor &x, int64_t k = 0, place w = XT_HPP_HERE_) {
    return x.tril(k, w);
}
inline tensor triu(const tensor &x, int64_t k = 0, place w = XT_HPP_HERE_) {
    return x.triu(k, w);
}
inline tensor diag(const tensor &x, int64_t k = 0, place w = XT_HPP_HERE_) {
    return x.diag(k, w);
}
inline tensor lerp(const tensor &x, const tensor &y, double weight, place w = XT_HPP_HERE_) {
    return x.lerp(y, weight, w);
}
inline tensor multinomial(const tensor &x, int64_t n, bool replacement = false, place w = XT_HPP_HERE_) {
    return x.multinomial(n, replacement, w);
}
inline tensor leaky_relu(const tensor &x, double slope = 0.01, place w = XT_HPP_HERE_) {
    return x.leaky_relu(slope, w);
}
inline tensor elu(const tensor &x, double alpha = 1, place w = XT_HPP_HERE_) {
    return x.elu(alpha, w);
}
inline tensor softplus(const tensor &x, xt_softplus_opts o = {}, place w = XT_HPP_HERE_) {
    return x.softplus(o, w);
}
inline bool equal(const tensor &x, const tensor &y, place w = XT_HPP_HERE_) {
    return x.equal(y, w);
}
inline bool allclose(const tensor &x, const tensor &y, xt_close_opts o = {}, place w = XT_HPP_HERE_) {
    return x.allclose(y, o, w);
}
inline tensor max(const tensor &x, const tensor &y, place w = XT_HPP_HERE_) {
    return xt_maximum_at(&w, x, y);
}
inline tensor min(const tensor &x, const tensor &y, place w = XT_HPP_HERE_) {
    return xt_minimum_at(&w, x, y);
}
inline tensor squeeze(const tensor &x, place w = XT_HPP_HERE_) {
    return x.squeeze(w);
}
inline tensor argmax(const tensor &x, int axis, bool keepdim = false, place w = XT_HPP_HERE_) {
    return x.argmax(axis, keepdim, w);
}
inline tensor argmin(const tensor &x, int axis, bool keepdim = false, place w = XT_HPP_HERE_) {
    return x.argmin(axis, keepdim, w);
}
inline tensor pow(operand x, operand y) {
    if (y.is_number) return xt_pow_scalar_at(&y.at, x.t, y.number);
    return x.is_number ? xt_pow_of_scalar_at(&x.at, x.number, y.t) : xt_pow_at(&x.at, x.t, y.t);
}
inline tensor clamp(const tensor &x, double lo, double hi = __builtin_inf(), place w = XT_HPP_HERE_) {
    return x.clamp(lo, hi, w);
}
inline tensor reshape(const tensor &x, shape dims, place w = XT_HPP_HERE_) {
    return x.reshape(dims, w);
}
inline tensor flatten(const tensor &x, int from = 0, int to = -1, place w = XT_HPP_HERE_) {
    return x.flatten(from, to, w);
}
inline tensor transpose(const tensor &x, int a, int b, place w = XT_HPP_HERE_) {
    return x.transpose(a, b, w);
}
inline tensor unsqueeze(const tensor &x, int axis, place w = XT_HPP_HERE_) {
    return x.unsqueeze(axis, w);
}
inline tensor squeeze(const tensor &x, int axis, place w = XT_HPP_HERE_) {
    return x.squeeze(axis, w);
}
inline tensor isclose(const tensor &x, const tensor &y, xt_close_opts o = {}, place w = XT_HPP_HERE_) {
    return x.isclose(y, o, w);
}
/* the k-th smallest, from 1 on, and where it is */
inline std::tuple<tensor, tensor> kthvalue(const tensor &x, int64_t k, int axis = -1, place w = XT_HPP_HERE_) {
    return x.kthvalue(k, axis, w);
}
/* what is there most often, and where */
inline std::tuple<tensor, tensor> mode(const tensor &x, int axis = -1, place w = XT_HPP_HERE_) {
    return x.mode(axis, w);
}
inline tensor swapdims(const tensor &x, int a, int b, place w = XT_HPP_HERE_) {
    return x.swapdims(a, b, w);
}
/* parts of those sizes */
inline std::vector<tensor> split(const tensor &x, shape sizes, int axis = 0, place w = XT_HPP_HERE_) {
    return x.split(sizes, axis, w);
}
/* the same */
inline std::vector<tensor> split_with_sizes(const tensor &x, shape sizes, int axis = 0, place w = XT_HPP_HERE_) {
    return x.split_with_sizes(sizes, axis, w);
}
inline tensor slice(const tensor &x, int axis, int64_t start, place w = XT_HPP_HERE_) {
    return x.slice(axis, start, w);
}
inline tensor index_copy(const tensor &x, int axis, const tensor &i, const tensor &y, place w = XT_HPP_HERE_) {
    return x.index_copy(axis, i, y, w);
}
inline tensor index_fill(const tensor &x, int axis, const tensor &i, double v, place w = XT_HPP_HERE_) {
    return x.index_fill(axis, i, v, w);
}
inline tensor masked_scatter(const tensor &x, const tensor &mask, const tensor &y, place w = XT_HPP_HERE_) {
    return x.masked_scatter(mask, y, w);
}
inline tensor diff(const tensor &x, int64_t n = 1, int axis = -1, place w = XT_HPP_HERE_) {
    return x.diff(n, axis, w);
}
inline tensor matrix_power(const tensor &x, int64_t n, place w = XT_HPP_HERE_) {
    return x.matrix_power(n, w);
}
inline tensor cholesky(const tensor &x, bool upper = false, place w = XT_HPP_HERE_) {
    return x.cholesky(upper, w);
}
inline tensor new_full(const tensor &x, shape dims, double v, place w = XT_HPP_HERE_) {
    return x.new_full(dims, v, w);
}
inline int64_t size(const tensor &x, int i) {
    return x.size(i);
}
inline bool is_floating_point(const tensor &x) {
    return x.is_floating_point();
}
inline tensor clone(const tensor &x) {
    return x.clone();
}
inline int64_t numel(const tensor &x) {
    return x.numel();
}
/* its one number; waits */
inline double item(const tensor &x, place w = XT_HPP_HERE_) {
    return x.item(w);
}
/* as a T, which may round it */
template <class T> T item(const tensor &x, place w = XT_HPP_HERE_) {
    return x.item<T>(w);
}
inline tensor clip(const tensor &x, double lo, double hi = __builtin_inf(), place w = XT_HPP_HERE_) {
    return x.clip(lo, hi, w);
}
inline tensor clamp_min(const tensor &x, double lo, place w = XT_HPP_HERE_) {
    return x.clamp_min(lo, w);
}
inline tensor clamp_max(const tensor &x, double hi, place w = XT_HPP_HERE_) {
    return x.clamp_max(hi, w);
}
inline tensor hardtanh(const tensor &x, double lo = -1, double hi = 1, place w = XT_HPP_HERE_) {
    return x.hardtanh(lo, hi, w);
}
inline tensor to(const tensor &x, xt_dtype dtype, place w = XT_HPP_HERE_) {
    return x.to(dtype, w);
}
inline tensor to(const tensor &x, const tensor &like, place w = XT_HPP_HERE_) {
    return x.to(like, w);
}
inline tensor toType(const tensor &x, xt_dtype dtype, place w = XT_HPP_HERE_) {
    return x.toType(dtype, w);
}
inline tensor type_as(const tensor &x, const tensor &like, place w = XT_HPP_HERE_) {
    return x.type_as(like, w);
}
inline tensor add(const tensor &x, operand y, double alpha) {
    return x.add(y, alpha);
}
inline tensor sub(const tensor &x, operand y, double alpha) {
    return x.sub(y, alpha);
}
inline tensor reshape_as(const tensor &x, const tensor &like, place w = XT_HPP_HERE_) {
    return x.reshape_as(like, w);
}
/* c + a b */
inline tensor addmm(const tensor &c, const tensor &a, const tensor &b, xt_addmm_opts o = {}, place w = XT_HPP_HERE_) {
    return c.addmm(a, b, o, w);
}
/* c + a b of each matrix */
inline tensor baddbmm(const tensor &c, const tensor &a, const tensor &b, xt_addmm_opts o = {}, place w = XT_HPP_HERE_) {
    return c.baddbmm(a, b, o, w);
}
inline tensor nonzero(const tensor &x, place w = XT_HPP_HERE_) {
    return x.nonzero(w);
}
inline tensor view(const tensor &x, shape dims, place w = XT_HPP_HERE_) {
    return x.view(dims, w);
}
inline tensor broadcast_to(const tensor &x, shape dims, place w = XT_HPP_HERE_) {
    return x.broadcast_to(dims, w);
}
inline tensor t(const tensor &x, place w = XT_HPP_HERE_) {
    return x.t(w);
}
inline tensor expand(const tensor &x, shape dims, place w = XT_HPP_HERE_) {
    return x.expand(dims, w);
}
inline tensor unflatten(const tensor &x, int axis, shape dims, place w = XT_HPP_HERE_) {
    return x.unflatten(axis, dims, w);
}
inline tensor swapaxes(const tensor &x, int a, int b, place w = XT_HPP_HERE_) {
    return x.swapaxes(a, b, w);
}
inline tensor mT(const tensor &x, place w = XT_HPP_HERE_) {
    return x.mT(w);
}
inline tensor repeat(const tensor &x, axes times, place w = XT_HPP_HERE_) {
    return x.repeat(times, w);
}
inline tensor tile(const tensor &x, axes times, place w = XT_HPP_HERE_) {
    return x.tile(times, w);
}
inline tensor repeat_interleave(const tensor &x, int64_t times, place w = XT_HPP_HERE_) {
    return x.repeat_interleave(times, w);
}
inline tensor repeat_interleave(const tensor &x, int64_t times, int axis, place w = XT_HPP_HERE_) {
    return x.repeat_interleave(times, axis, w);
}
inline tensor diagonal(const tensor &x, int64_t k = 0, int a = 0, int b = 1, place w = XT_HPP_HERE_) {
    return x.diagonal(k, a, b, w);
}
inline tensor slice(const tensor &x, int axis, int64_t start, int64_t stop, place w = XT_HPP_HERE_) {
    return x.slice(axis, start, stop, w);
}
inline tensor select(const tensor &x, int axis, int64_t i, place w = XT_HPP_HERE_) {
    return x.select(axis, i, w);
}
inline tensor narrow(const tensor &x, int axis, int64_t start, int64_t length, place w = XT_HPP_HERE_) {
    return x.narrow(axis, start, length, w);
}
inline tensor scatter(const tensor &x, int axis, const tensor &i, const tensor &y, place w = XT_HPP_HERE_) {
    return x.scatter(axis, i, y, w);
}
inline tensor scatter_add(const tensor &x, int axis, const tensor &i, const tensor &y, place w = XT_HPP_HERE_) {
    return x.scatter_add(axis, i, y, w);
}
inline tensor index_add(const tensor &x, int axis, const tensor &i, const tensor &y, double alpha = 1,
                        place w = XT_HPP_HERE_) {
    return x.index_add(axis, i, y, alpha, w);
}
inline tensor quantile(const tensor &x, double q, place w = XT_HPP_HERE_) {
    return x.quantile(q, w);
}
inline tensor quantile(const tensor &x, double q, int axis, bool keepdim = false, place w = XT_HPP_HERE_) {
    return x.quantile(q, axis, keepdim, w);
}
inline tensor unfold(const tensor &x, int axis, int64_t size, int64_t step, place w = XT_HPP_HERE_) {
    return x.unfold(axis, size, step, w);
}
inline tensor renorm(const tensor &x, double p, int axis, double most, place w = XT_HPP_HERE_) {
    return x.renorm(p, axis, most, w);
}
inline tensor histc(const tensor &x, int64_t bins, double lo, double hi, place w = XT_HPP_HERE_) {
    return x.histc(bins, lo, hi, w);
}
inline tensor cross(const tensor &x, const tensor &y, place w = XT_HPP_HERE_) {
    return x.cross(y, w);
}
inline tensor cross(const tensor &x, const tensor &y, int axis, place w = XT_HPP_HERE_) {
    return x.cross(y, axis, w);
}
inline tensor new_zeros(const tensor &x, shape dims, place w = XT_HPP_HERE_) {
    return x.new_zeros(dims, w);
}
inline tensor new_ones(const tensor &x, shape dims, place w = XT_HPP_HERE_) {
    return x.new_ones(dims, w);
}

/* --- Making tensors, and functions of several --- */
template <class T> constexpr xt_dtype dtype_of() {
    if constexpr (std::is_same_v<T, float>) return XT_F32;
    if constexpr (std::is_same_v<T, double>) return XT_F64;
    if constexpr (std::is_same_v<T, int64_t>) return XT_I64;
    if constexpr (std::is_same_v<T, int32_t>) return XT_I32;
    if constexpr (std::is_same_v<T, uint8_t>) return XT_U8;
    if constexpr (std::is_same_v<T, bool>) return XT_BOOL;
    return XT_DTYPE_NONE;
}
/* Copies: xt::from(v.data(), {2, 3}). The number of elements is the dims' product. */
template <class T> tensor from(const T *data, shape dims, place w = XT_HPP_HERE_) {
    static_assert(dtype_of<T>() != XT_DTYPE_NONE, "xt::from takes float, double, int64_t, int32_t, uint8_t or bool");
    return xt_from_array_at(&w, data, dtype_of<T>(), dims);
}
/* --- Dtypes by libtorch's names --- */
inline constexpr xt_dtype kFloat = XT_F32; /* f32 */
inline constexpr xt_dtype kFloat32 = XT_F32; /* f32 */
inline constexpr xt_dtype kDouble = XT_F64; /* f64 */
inline constexpr xt_dtype kFloat64 = XT_F64; /* f64 */
inline constexpr xt_dtype kHalf = XT_F16; /* f16 */
inline constexpr xt_dtype kFloat16 = XT_F16; /* f16 */
inline constexpr xt_dtype kBFloat16 = XT_BF16; /* bf16 */
inline constexpr xt_dtype kLong = XT_I64; /* i64 */
inline constexpr xt_dtype kInt64 = XT_I64; /* i64 */
inline constexpr xt_dtype kInt = XT_I32; /* i32 */
inline constexpr xt_dtype kInt32 = XT_I32; /* i32 */
inline constexpr xt_dtype kShort = XT_I16; /* i16 */
inline constexpr xt_dtype kInt16 = XT_I16; /* i16 */
inline constexpr xt_dtype kChar = XT_I8; /* i8 */
inline constexpr xt_dtype kInt8 = XT_I8; /* i8 */
inline constexpr xt_dtype kByte = XT_U8; /* u8 */
inline constexpr xt_dtype kUInt8 = XT_U8; /* u8 */
inline constexpr xt_dtype kBool = XT_BOOL; /* bool */

/* The dtype stands first, or behind the dims as in libtorch: xt::zeros({2, 3}), xt::zeros({2, 3}, XT_F64). */
template <class T, if_number_<T> = 0> tensor full(shape dims, T value, xt_dtype dtype, place w = XT_HPP_HERE_) {
    return xt_full_at(&w, static_cast<double>(value), dtype, dims);
}
/* of the number's own dtype: bool, i64 of whole ones, f32 */
template <class T, if_number_<T> = 0> tensor full(shape dims, T value, place w = XT_HPP_HERE_) {
    return full(dims, value, operand(value).kind, w);
}
inline tensor zeros(shape dims, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) {
    return xt_full_at(&w, 0, dtype, dims);
}
inline tensor ones(shape dims, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) {
    return xt_full_at(&w, 1, dtype, dims);
}
inline tensor empty(shape dims, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) { /* zeros */
    return xt_full_at(&w, 0, dtype, dims);
}
inline tensor rand(shape dims, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) {
    return xt_rand_at(&w, dtype, dims);
}
inline tensor randn(shape dims, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) {
    return xt_randn_at(&w, dtype, dims);
}
inline tensor normal(double mean, double std, shape dims, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) {
    return xt_normal_at(&w, mean, std, dtype, dims);
}
inline tensor randint(int64_t lo, int64_t hi, shape dims, xt_dtype dtype = XT_I64, place w = XT_HPP_HERE_) {
    return xt_randint_at(&w, lo, hi, dtype, dims);
}
inline tensor randint(int64_t hi, shape dims, xt_dtype dtype = XT_I64, place w = XT_HPP_HERE_) {
    return xt_randint_at(&w, 0, hi, dtype, dims);
}
inline tensor randperm(int64_t n, place w = XT_HPP_HERE_) {
    return xt_randperm_at(&w, n);
}
inline tensor full_like(tensor x, double value, place w = XT_HPP_HERE_) {
    return xt_full_like_at(&w, x, value);
}
inline tensor zeros_like(tensor x, place w = XT_HPP_HERE_) {
    return xt_full_like_at(&w, x, 0);
}
inline tensor ones_like(tensor x, place w = XT_HPP_HERE_) {
    return xt_full_like_at(&w, x, 1);
}
inline tensor empty_like(tensor x, place w = XT_HPP_HERE_) { /* zeros */
    return xt_full_like_at(&w, x, 0);
}
inline tensor rand_like(tensor x, place w = XT_HPP_HERE_) {
    return xt_rand_like_at(&w, x);
}
inline tensor eye(int64_t n, int64_t m, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) {
    return xt_eye_at(&w, n, m, dtype);
}
inline tensor eye(int64_t n, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) {
    return xt_eye_at(&w, n, n, dtype);
}
inline tensor linspace(double start, double stop, int64_t n, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) {
    return xt_linspace_at(&w, start, stop, n, dtype);
}
inline tensor logspace(double start, double stop, int64_t n, double base = 10, xt_dtype dtype = XT_F32,
                       place w = XT_HPP_HERE_) {
    return xt_logspace_at(&w, start, stop, n, base, dtype);
}
inline tensor full(double value, xt_dtype dtype, shape dims, place w = XT_HPP_HERE_) {
    return xt_full_at(&w, value, dtype, dims);
}
inline tensor zeros(xt_dtype dtype, shape dims, place w = XT_HPP_HERE_) {
    return xt_full_at(&w, 0, dtype, dims);
}
inline tensor ones(xt_dtype dtype, shape dims, place w = XT_HPP_HERE_) {
    return xt_full_at(&w, 1, dtype, dims);
}
inline tensor rand(xt_dtype dtype, shape dims, place w = XT_HPP_HERE_) {
    return xt_rand_at(&w, dtype, dims);
}
inline tensor randn(xt_dtype dtype, shape dims, place w = XT_HPP_HERE_) {
    return xt_randn_at(&w, dtype, dims);
}
inline tensor randn_like(tensor x, place w = XT_HPP_HERE_) {
    return xt_randn_like_at(&w, x);
}
/* start, start + step, ... below stop: i64 of whole numbers, else f32, or the dtype named */
template <class A, class B, class C, if_number_<A> = 0, if_number_<B> = 0, if_number_<C> = 0>
tensor arange(A start, B stop, C step, xt_dtype dtype, place w = XT_HPP_HERE_) {
    return xt_range_at(&w, static_cast<double>(start), static_cast<double>(stop), static_cast<double>(step), dtype);
}
/* the same, of their own dtype */
template <class A, class B, class C, if_number_<A> = 0, if_number_<B> = 0, if_number_<C> = 0>
tensor arange(A start, B stop, C step, place w = XT_HPP_HERE_) {
    bool whole = std::is_integral_v<A> && std::is_integral_v<B> && std::is_integral_v<C>;
    return arange(start, stop, step, whole ? XT_I64 : XT_F32, w);
}
/* one apart */
template <class A, class B, if_number_<A> = 0, if_number_<B> = 0>
tensor arange(A start, B stop, xt_dtype dtype, place w = XT_HPP_HERE_) {
    return arange(start, stop, 1, dtype, w);
}
/* the same, of their own dtype */
template <class A, class B, if_number_<A> = 0, if_number_<B> = 0>
tensor arange(A start, B stop, place w = XT_HPP_HERE_) {
    return arange(start, stop, 1, w);
}
/* from 0 */
template <class B, if_number_<B> = 0> tensor arange(B stop, xt_dtype dtype, place w = XT_HPP_HERE_) {
    return arange(0, stop, 1, dtype, w);
}
/* the same, of their own dtype */
template <class B, if_number_<B> = 0> tensor arange(B stop, place w = XT_HPP_HERE_) {
    return arange(0, stop, 1, w);
}
inline tensor scalar(double value, xt_dtype dtype = XT_F32,
                     place w = XT_HPP_HERE_) { /* data: changing it never recompiles */
    return xt_scalar_at(&w, value, dtype);
}
inline tensor scalar_tensor(double value, xt_dtype dtype = XT_F32, place w = XT_HPP_HERE_) {
    return xt_scalar_at(&w, value, dtype);
}
inline tensor state(const char *name, xt_dtype dtype, shape dims, place w = XT_HPP_HERE_) {
    return xt_state_at(&w, name, dtype, dims);
}
/* Copies, as xt::from. */
template <class T> tensor from_blob(const T *data, shape dims, place w = XT_HPP_HERE_) {
    return from(data, dims, w);
}
inline tensor cat(const std::vector<tensor> &parts, int axis = 0, place w = XT_HPP_HERE_) {
    std::vector<xt_tensor> t(parts.begin(), parts.end());
    return xt_concat_at(&w, static_cast<int>(t.size()), t.data(), axis);
}
/* the same as cat */
inline tensor concat(const std::vector<tensor> &parts, int axis = 0, place w = XT_HPP_HERE_) {
    return cat(parts, axis, w);
}
inline tensor hstack(const std::vector<tensor> &parts, place w = XT_HPP_HERE_) {
    std::vector<xt_tensor> t(parts.begin(), parts.end());
    return xt_hstack_at(&w, static_cast<int>(t.size()), t.data());
}
inline tensor vstack(const std::vector<tensor> &parts, place w = XT_HPP_HERE_) {
    std::vector<xt_tensor> t(parts.begin(), parts.end());
    return xt_vstack_at(&w, static_cast<int>(t.size()), t.data());
}
inline tensor einsum(const char *spec, const std::vector<tensor> &operands, place w = XT_HPP_HERE_) {
    std::vector<xt_tensor> t(operands.begin(), operands.end());
    return xt_einsum_at(&w, spec, static_cast<int>(t.size()), t.data());
}
/* of n rows n tensors with all their pairs; xy: the first two axes change places */
inline std::vector<tensor> meshgrid(const std::vector<tensor> &rows, bool xy = false, place w = XT_HPP_HERE_) {
    std::vector<xt_tensor> t(rows.begin(), rows.end()), out(rows.size());
    xt_meshgrid_at(&w, static_cast<int>(t.size()), t.data(), xy, out.data());
    return std::vector<tensor>(out.begin(), out.end());
}
/* "ij", or "xy" as above */
inline std::vector<tensor> meshgrid(const std::vector<tensor> &rows, const char *indexing, place w = XT_HPP_HERE_) {
    std::string how = indexing;
    if (how != "ij" && how != "xy")
        check(xt_status_new(XT_INVALID_ARGUMENT, "%s:%d: meshgrid: \"%s\" is neither \"ij\" nor \"xy\"", w.file, w.line,
                            indexing));
    return meshgrid(rows, how == "xy", w);
}
inline tensor stack(const std::vector<tensor> &parts, int axis = 0, place w = XT_HPP_HERE_) {
    std::vector<xt_tensor> t(parts.begin(), parts.end());
    return xt_stack_at(&w, static_cast<int>(t.size()), t.data(), axis);
}
/* x where the condition holds, else y; either or both may be numbers  */
inline tensor where_(tensor condition, operand x, operand y, place w = XT_HPP_HERE_) {
    if (x.is_number && y.is_number)
        return xt_where_numbers_at(&w, condition, x.number, y.number,
                                   x.kind == y.kind                       ? x.kind
                                   : x.kind == XT_F32 || y.kind == XT_F32 ? XT_F32
                                                                          : XT_I64);
    if (y.is_number) return xt_where_scalar_at(&w, condition, x.t, y.number);
    return x.is_number ? xt_where_of_scalar_at(&w, condition, x.number, y.t) : xt_where_at(&w, condition, x.t, y.t);
}
/* the same */
inline tensor where(tensor condition, operand x, operand y, place w = XT_HPP_HERE_) {
    return where_(condition, x, y, w);
}
inline tensor one_hot(tensor labels, int64_t classes, xt_dtype dtype = XT_I64, place w = XT_HPP_HERE_) {
    return xt_one_hot_at(&w, labels, classes, dtype);
}
inline tensor pad(tensor x, axes amounts, xt_pad_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_pad_at(&w, x, amounts.list, o);
}
inline tensor normalize(tensor x, int axis = 1, xt_normalize_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_normalize_at(&w, x, axis, o);
}
inline tensor interpolate(tensor x, xt_interpolate_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_interpolate_at(&w, x, o);
}
/* One number for both dims, or one a dim. */
inline void per_dim_(axes of, int &both, int (&each)[3]) {
    if (of.list.n == 1) both = static_cast<int>(of.list.v[0]);
    for (int i = 0; i < of.list.n && of.list.n > 1 && i < 3; i++) each[i] = static_cast<int>(of.list.v[i]);
}
inline tensor pool2d_(bool average, tensor x, axes kernel, axes stride, axes padding, xt_pool_opts o, place w) {
    int both = 0;
    per_dim_(kernel, both, o.kernels);
    per_dim_(stride, o.stride, o.strides);
    per_dim_(padding, o.padding, o.paddings);
    return xt_pool_at(&w, average, 2, x, both, o);
}
inline tensor max_pool2d_(tensor x, axes kernel, axes stride, axes padding, axes dilation, bool ceil_mode, place w) {
    xt_pool_opts o{};
    o.ceil_mode = ceil_mode ? XT_ON : XT_OFF;
    per_dim_(dilation, o.dilation, o.dilations);
    return pool2d_(false, x, kernel, stride, padding, o, w);
}
inline tensor avg_pool2d_(tensor x, axes kernel, axes stride, axes padding, bool ceil_mode, bool count_include_pad,
                          int divisor, place w) {
    xt_pool_opts o{};
    o.divisor = divisor;
    o.ceil_mode = ceil_mode ? XT_ON : XT_OFF;
    o.count_include_pad = count_include_pad ? XT_ON : XT_OFF;
    return pool2d_(true, x, kernel, stride, padding, o, w);
}
/* xt::max_pool2d(x, 2, {.stride = 1}), or with libtorch's arguments: xt::max_pool2d(x, 3, 2, 1), xt::max_pool2d(x,
 * {2, 3}, {1, 2}). A list is told from options by its own type: {1, 2} would fill an option struct's fields. */
inline tensor max_pool2d(tensor x, int kernel, xt_pool_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_pool_at(&w, false, 2, x, kernel, o);
}
/* the same, with strides and so on */
inline tensor max_pool2d(tensor x, int kernel, std::initializer_list<int> stride, axes padding = 0, axes dilation = 1,
                         bool ceil_mode = false, place w = XT_HPP_HERE_) {
    return max_pool2d_(x, kernel, stride, padding, dilation, ceil_mode, w);
}
/* the same, with strides and so on */
inline tensor max_pool2d(tensor x, int kernel, int stride, axes padding = 0, axes dilation = 1, bool ceil_mode = false,
                         place w = XT_HPP_HERE_) {
    return max_pool2d_(x, kernel, stride, padding, dilation, ceil_mode, w);
}
/* the same, with strides and so on */
inline tensor max_pool2d(tensor x, std::initializer_list<int> kernel, axes stride = {}, axes padding = 0,
                         axes dilation = 1, bool ceil_mode = false, place w = XT_HPP_HERE_) {
    return max_pool2d_(x, kernel, stride, padding, dilation, ceil_mode, w);
}
inline tensor avg_pool2d(tensor x, int kernel, xt_pool_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_pool_at(&w, true, 2, x, kernel, o);
}
/* the same, with strides and so on */
inline tensor avg_pool2d(tensor x, int kernel, std::initializer_list<int> stride, axes padding = 0,
                         bool ceil_mode = false, bool count_include_pad = true, int divisor = -1,
                         place w = XT_HPP_HERE_) {
    return avg_pool2d_(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor, w);
}
/* the same, with strides and so on */
inline tensor avg_pool2d(tensor x, int kernel, int stride, axes padding = 0, bool ceil_mode = false,
                         bool count_include_pad = true, int divisor = -1, place w = XT_HPP_HERE_) {
    return avg_pool2d_(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor, w);
}
/* the same, with strides and so on */
inline tensor avg_pool2d(tensor x, std::initializer_list<int> kernel, axes stride = {}, axes padding = 0,
                         bool ceil_mode = false, bool count_include_pad = true, int divisor = -1,
                         place w = XT_HPP_HERE_) {
    return avg_pool2d_(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor, w);
}
inline tensor adaptive_avg_pool2d(tensor x, shape sizes, place w = XT_HPP_HERE_) {
    return xt_adaptive_pool_at(&w, true, 2, x, sizes);
}
inline tensor scaled_dot_product_attention(tensor q, tensor k, tensor v, xt_sdpa_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_scaled_dot_product_attention_at(&w, q, k, v, o);
}
/* x weight^T + bias, of weights as a tensor; m.linear("fc", x, out) is the layer */
inline tensor linear(tensor x, tensor weight, tensor bias = {}, place w = XT_HPP_HERE_) {
    xt_tensor y = xt_matmul_at(&w, x, xt_transpose_at(&w, weight, 0, 1));
    return bias.is_none() ? y : xt_add_at(&w, y, bias);
}
inline tensor nll_loss(tensor log_probs, tensor labels, xt_class_loss_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_nll_loss_at(&w, log_probs, labels, o);
}
inline tensor l1_loss(tensor x, tensor y, xt_loss_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_l1_loss_at(&w, x, y, o);
}
inline tensor smooth_l1_loss(tensor x, tensor y, xt_smooth_l1_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_smooth_l1_loss_at(&w, x, y, o);
}
inline tensor huber_loss(tensor x, tensor y, xt_huber_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_huber_loss_at(&w, x, y, o);
}
inline tensor kl_div(tensor log_probs, tensor y, xt_kl_div_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_kl_div_at(&w, log_probs, y, o);
}
inline tensor binary_cross_entropy(tensor x, tensor y, xt_bce_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_binary_cross_entropy_at(&w, x, y, o);
}
inline tensor binary_cross_entropy_with_logits(tensor x, tensor y, xt_bce_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_bce_with_logits_at(&w, x, y, o);
}
inline void manual_seed(uint64_t seed) {
    xt_seed(seed);
}
/* Functions whose weights libtorch's caller has: here layers have names, and make them. */
#define XT_HPP_LAYER_(name, instead)                            \
    template <class... A> tensor name(A &&...) {                \
        static_assert(never_<A...>, "xt::" #name ": " instead); \
        return {};                                              \
    }
XT_HPP_LAYER_(conv2d, "a layer has a name and makes its weights: m.conv2d(\"c1\", x, out, kernel)")
XT_HPP_LAYER_(embedding, "a layer has a name and makes its weights: m.embedding(\"e\", i, vocab, dim); of a table: "
                         "table.index_select(0, i)")
template <class T = void> tensor layer_norm(const tensor &, shape) {
    static_assert(never_<T>, "xt::layer_norm: a layer has a name and makes its weights: m.layer_norm(\"ln\", x)");
    return {};
}
XT_HPP_LAYER_(batch_norm, "a layer has a name and makes its weights: m.batch_norm(\"bn\", x)")
XT_HPP_LAYER_(dropout, "it knows whether its module trains: m.dropout(x, p)")
#undef XT_HPP_LAYER_
inline tensor cross_entropy(tensor logits, tensor labels, xt_class_loss_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_cross_entropy_at(&w, logits, labels, o);
}
inline tensor mse_loss(tensor x, tensor y, xt_loss_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_mse_loss_at(&w, x, y, o);
}
inline tensor bce_with_logits(tensor x, tensor y, xt_bce_opts o = {}, place w = XT_HPP_HERE_) {
    return xt_bce_with_logits_at(&w, x, y, o);
}
inline bool mark_step(place w = XT_HPP_HERE_) {
    return xt_mark_step_at(&w);
}
inline void wait(place w = XT_HPP_HERE_) {
    xt_wait_at(&w);
}
/* Until the end of the block: what is recorded has no gradient. */
struct no_grad {
    place at; /* the block's line */
    explicit no_grad(place w = XT_HPP_HERE_) : at(w) { xt_no_grad_begin(); }
    ~no_grad() { xt_no_grad_end_at(&at); }
    no_grad(const no_grad &) = delete;
    no_grad &operator=(const no_grad &) = delete;
};

} /* namespace xt */

#endif
