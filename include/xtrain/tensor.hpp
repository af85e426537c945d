/* Tensors in C++: libtorch's methods by their names. Those that libtorch has and that cannot be here say
 * at compile time what stands in their place. A part of xtrain.hpp. */
#ifndef XTRAIN_TENSOR_HPP
#define XTRAIN_TENSOR_HPP

#include <xtrain/errors.hpp>

namespace xt {

/* --- Tensors --- */
/* The dtype of T's numbers; none: T has bits of any. */
template <class T> constexpr xt_dtype number_dtype_() {
    if constexpr (std::is_same_v<T, float>) return XT_F32;
    if constexpr (std::is_same_v<T, double>) return XT_F64;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 2) return XT_I16;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4) return XT_I32;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8) return XT_I64;
    return XT_DTYPE_NONE;
}
/* Functions of one tensor: methods, x.exp(), and functions, xt::exp(x). */
/* clang-format off */
#define XT_HPP_EACH_(M) \
    M(abs) M(acos) M(acosh) M(all) M(any) M(asin) M(asinh) M(atan) M(atanh) M(bernoulli) M(bitwise_not) M(ceil) \
    M(conj) M(cos) M(cosh) M(deg2rad) M(det) M(detach) M(digamma) M(erf) M(erfc) M(i0) M(imag) M(inverse) \
    M(corrcoef) M(count_nonzero) M(isneginf) M(isposinf) M(logdet) M(logit) M(sgn) \
    M(nan_to_num) M(nanmedian) M(rad2deg) M(real) M(signbit) M(sinc) M(tanhshrink) M(trace) \
    M(erfinv) M(exp) M(exp2) M(expm1) M(floor) M(frac) M(gelu_erf) M(hardsigmoid) M(hardswish) \
    M(isfinite) M(isinf) M(isnan) M(lgamma) M(log10) M(log1p) M(log2) M(logical_not) M(logsigmoid) M(max) \
    M(mean) M(median) M(min) M(mish) M(neg) M(prod) M(reciprocal) M(relu) M(relu6) M(round) M(rsqrt) \
    M(selu) M(sigmoid) M(sign) M(silu) M(sin) M(sinh) M(softsign) M(sqrt) M(square) M(std) M(sum) M(tan) \
    M(tanh) M(trunc) M(var)
/* clang-format on */
/* Along one axis or several, which go away or with keepdim stay with one element: x.amax(-1, true), xt::amax(x, {0,
 * 1}). R(name, the function behind it) */
#define XT_HPP_ALONG_(R)     \
    R(any, xt_any_axes_at)   \
    R(all, xt_all_axes_at)   \
    R(amax, xt_amax_axes_at) \
    R(amin, xt_amin_axes_at) \
    R(logsumexp, xt_logsumexp_axes_at)
/* Those that also take the dtype that x is cast to first: x.sum(xt::kDouble), x.sum(0, false, xt::kDouble). */
#define XT_HPP_ALONG_OF_(R)  \
    R(sum, xt_sum_axes_at)   \
    R(mean, xt_mean_axes_at) \
    R(prod, xt_prod_axes_at)
/* Spread, divided by the count less one, or with `unbiased` false by the count itself: x.var(), x.var(false),
 * x.var({0, 1}), x.var(0, false), x.var(0, true, true), whose last is keepdim. R(name, the function behind it) */
#define XT_HPP_SPREAD_(R)  \
    R(std, xt_std_axes_at) \
    R(var, xt_var_axes_at)
/* Along one axis, the values and where they were: auto [v, i] = x.max(1). R(name, the function behind it) */
#define XT_HPP_WHERE_(R)         \
    R(max, xt_max_with_index_at) \
    R(min, xt_min_with_index_at) \
    R(median, xt_median_axis_at) \
    R(nanmedian, xt_nanmedian_axis_at)
/* Along one axis, of x cast to a dtype first: x.softmax(1), x.softmax(1, xt::kDouble). R(name, the function behind it)
 */
#define XT_HPP_AXIS_OF_(R)            \
    R(softmax, xt_softmax_at)         \
    R(log_softmax, xt_log_softmax_at) \
    R(cumsum, xt_cumsum_at)           \
    R(cumprod, xt_cumprod_at)
/* clang-format off */
/* Of x and a tensor: x.mm(y), xt::mm(x, y). */
#define XT_HPP_WITH_(M) \
    M(atan2) M(bmm) M(dot) M(expand_as) M(kron) M(logical_and) M(logical_or) M(logical_xor) M(matmul) M(mm) M(mv) \
    M(outer) M(view_as) M(bitwise_and) M(bitwise_or) M(bitwise_xor) M(copysign) M(floor_divide) M(gcd) M(heaviside) \
    M(hypot) M(inner) M(lcm) M(logaddexp) M(nextafter) M(xlogy)
/* Of x and a tensor or a number: x.add(2), xt::add(x, y). M(name, the function behind it) */
#define XT_HPP_BOTH_(M) \
    M(add, xt_add) M(sub, xt_sub_) M(mul, xt_mul) M(div, xt_div) M(fmod, xt_fmod) M(remainder, xt_remainder) \
    M(maximum, xt_maximum) M(minimum, xt_minimum) M(lt, xt_lt) M(le, xt_le) M(gt, xt_gt) M(ge, xt_ge) \
    M(eq, xt_eq) M(ne, xt_ne)
/* What changes a tensor in place there: R(name, what stands in its place) */
#define XT_HPP_IN_PLACE_(R) \
    R(zero_, "x = xt::zeros_like(x)") R(fill_, "x = xt::full_like(x, v)") R(copy_, "x = y") \
    R(clamp_, "x = x.clamp(lo, hi)") R(clip_, "x = x.clip(lo, hi)") R(pow_, "x = x.pow(y)") \
    R(masked_fill_, "x = x.masked_fill(mask, v)") R(masked_scatter_, "x = x.masked_scatter(mask, y)") \
    R(scatter_, "x = x.scatter(axis, i, y)") R(scatter_add_, "x = x.scatter_add(axis, i, y)") \
    R(index_add_, "x = x.index_add(axis, i, y)") R(index_copy_, "x = x.index_copy(axis, i, y)") \
    R(index_fill_, "x = x.index_fill(axis, i, v)") R(put_, "x = xt_put(x, i, y)") \
    R(uniform_, "x = xt::rand_like(x)") R(normal_, "x = xt::randn_like(x)") R(squeeze_, "x = x.squeeze()") \
    R(unsqueeze_, "x = x.unsqueeze(axis)")
/* Other methods that are not here: R(name, why, and what stands in its place) */
#define XT_HPP_ELSEWHERE_(R) \
    R(cuda, "one device per process, XT_DEVICE=cuda names it; nothing is moved by hand") \
    R(device, "one device per process, XT_DEVICE names it") \
    R(options, "x.dtype() is all there is: one device per process, no strides") \
    R(data_ptr, "the numbers lie on the device: x.read<float>() copies all of them, x.item() one") \
    R(is_cuda, "one device per process, XT_DEVICE names it") \
    R(requires_grad, "no tensor is asked whether it does; x.requires_grad_(), x.requires_grad_(false) set it") \
    R(get_device, "one device per process, XT_DEVICE names it") \
    R(T, "x.t() of two axes, x.mT() of the last two, x.permute({...}) of any") \
    R(data, "x.detach() has its value, and x.assign(y) gives a state another one") \
    R(type, "x.dtype()") \
    R(storage, "the numbers lie on the device, and there are no strides") \
    R(stride, "there are no strides: no tensor is a view of another") \
    R(strides, "there are no strides: no tensor is a view of another") \
    R(is_leaf, "each tensor that requires_grad_() was called for is one") \
    R(is_sparse, "no tensor is: xt_sparse_csr and xt_sparse_coo of C are matrices of their own") \
    R(take, "x.flatten().index_select(0, i) takes of all elements") \
    R(bincount, "xt_bincount(x, bins, weights) of C says how many bins there are") \
    R(register_hook, "work on x.grad() behind backward(), and x.retain_grad() keeps that of a result") \
    R(unique, "xt_unique(x, size) of C says how many there can be")
/* clang-format on */
class tensor;
/* What stands beside an operator: a tensor or a number, and the line. */
struct operand {
    xt_tensor t{}; /* none where it is a number */
    double number = 0; /* as the caller wrote it, in double */
    bool is_number = false; /* which of the two it is */
    xt_dtype kind = XT_DTYPE_NONE; /* a number's own: bool, i64 of whole ones, f32 */
    place at; /* the line of the operator */
    operand(const tensor &x, place w = XT_HPP_HERE_); /* a tensor */
    operand(xt_tensor x, place w = XT_HPP_HERE_) : t(x), at(w) {} /* one of C's */
    /* a number */
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    operand(T v, place w = XT_HPP_HERE_)
        : number(static_cast<double>(v)), is_number(true), kind(std::is_same_v<T, bool> ? XT_BOOL
                                                                : std::is_integral_v<T> ? XT_I64
                                                                                        : XT_F32),
          at(w) {}
};
/* An index, x[3], with its line; the last is x[-1]. */
struct position {
    int64_t i; /* negative counts from the end */
    place at; /* the line of the brackets */
    /* any whole number */
    template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
    position(T v, place w = XT_HPP_HERE_) : i(static_cast<int64_t>(v)), at(w) {}
};
/* Indices or a mask, x[i], with their line. */
struct indices {
    xt_tensor t; /* whole numbers, or bools */
    place at; /* the line of the brackets */
    indices(const tensor &x, place w = XT_HPP_HERE_); /* a tensor */
};

/* A tensor of C's with operators and methods; copied as a number is, and alive as long as C's (tensor.h). */
class tensor {
    xt_tensor t_{};

  public:
    tensor() = default; /* none */
    tensor(xt_tensor t) : t_(t) {} /* one of C's; takes nothing over */
    /* Numbers, as data: xt::tensor(1.5), xt::tensor({1, 2, 3}). Whole ones are i64, others f32, as in libtorch. */
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    explicit tensor(T v, place w = XT_HPP_HERE_)
        : t_(xt_scalar_at(&w, static_cast<double>(v),
                          std::is_same_v<T, bool> ? XT_BOOL
                          : std::is_integral_v<T> ? XT_I64
                                                  : XT_F32)) {}
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    explicit tensor(std::initializer_list<T> v, place w = XT_HPP_HERE_) {
        using each = std::conditional_t<std::is_same_v<T, bool>, uint8_t,
                                        std::conditional_t<std::is_integral_v<T>, int64_t, float>>;
        std::vector<each> all;
        for (T x : v) all.push_back(static_cast<each>(x));
        t_ = xt_from_array_at(&w, all.data(),
                              std::is_same_v<T, bool> ? XT_BOOL
                              : std::is_integral_v<T> ? XT_I64
                                                      : XT_F32,
                              shape(static_cast<int64_t>(all.size()), w));
    }
    operator xt_tensor() const { return t_; }

    bool is_none() const { return xt_is_none(t_); }
    bool is_error() const { return xt_is_error(t_); }
    xt_dtype dtype() const { return xt_dtype_of(t_); }
    int rank() const { return xt_rank_of(t_); }
    int dim() const { return xt_rank_of(t_); } /* libtorch's names of rank */
    int ndimension() const { return xt_rank_of(t_); }
    int64_t dim(int i) const { return xt_dim(t_, i); } /* negative counts from the end */
    int64_t size(int i) const { return xt_dim(t_, i); } /* PyTorch's name of it */
    /* all dims */
    std::vector<int64_t> sizes() const {
        std::vector<int64_t> all;
        for (int i = 0; i < rank(); i++) all.push_back(dim(i));
        return all;
    }
    xt_dtype scalar_type() const { return dtype(); } /* libtorch's name of dtype */
    bool defined() const { return !is_none(); }
    bool is_floating_point() const { /* f32, f64, f16, bf16, f8... */
        const char *name = xt_dtype_name(dtype());
        return name[0] == 'f' || (name[0] == 'b' && name[1] == 'f');
    }
    int64_t element_size() const { return static_cast<int64_t>(xt_dtype_size(dtype())); } /* bytes */
    int64_t itemsize() const { return element_size(); } /* the same */
    int64_t nbytes() const { return numel() * element_size(); }
    tensor clone() const { return t_; } /* a value never changes: it is as good as a copy */
    tensor contiguous() const { return t_; } /* there are no strides */
    bool is_contiguous() const { return true; }
    tensor cpu() const { return t_; } /* read and item bring the numbers, wherever they lie */
    int64_t numel() const { return xt_numel(t_); }

    tensor keep(place w = XT_HPP_HERE_) const { return xt_keep_at(&w, t_); }
    void drop(place w = XT_HPP_HERE_) const { xt_drop_at(&w, t_); }
    void assign(tensor value, place w = XT_HPP_HERE_) const { xt_assign_at(&w, t_, value.t_); } /* of a state */
    double item(place w = XT_HPP_HERE_) const { return xt_item_at(&w, t_); } /* waits */
    /* as a T, which may round it */
    template <class T> T item(place w = XT_HPP_HERE_) const { return static_cast<T>(xt_item_at(&w, t_)); }
    void print(const char *name = "tensor", place w = XT_HPP_HERE_) const { xt_print_at(&w, name, t_); } /* waits */
    /* All elements, row by row; waits. T is the dtype's own (double for XT_F64, int64_t for XT_I64); unsigned integers,
     * bytes and types that the library does not know take the bits of whatever has their size. Another T throws. */
    template <class T> std::vector<T> read(place w = XT_HPP_HERE_) const {
        check_is(number_dtype_<T>(), w);
        std::vector<T> v(static_cast<size_t>(xt_numel(t_)));
        if (!xt_read_at(&w, t_, v.data(), v.size() * sizeof(T))) check_pending();
        return v;
    }
    void backward(place w = XT_HPP_HERE_) const { xt_backward_at(&w, t_); }
    tensor grad(place w = XT_HPP_HERE_) const { return xt_grad_at(&w, t_); }
    tensor requires_grad_(bool on = true, place w = XT_HPP_HERE_) const { return xt_requires_grad_at(&w, t_, on); }
    tensor set_requires_grad(bool on, place w = XT_HPP_HERE_) const { return requires_grad_(on, w); }
    tensor retain_grad(place w = XT_HPP_HERE_) const { return xt_retain_grad_at(&w, t_); }

    /* Of each element, and over all of them. */
#define XT_HPP_METHOD_(name)                    \
    tensor name(place w = XT_HPP_HERE_) const { \
        return xt_##name##_at(&w, t_);          \
    }
    XT_HPP_EACH_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
    tensor log(place w = XT_HPP_HERE_) const {
        return xt_log_e_at(&w, t_);
    }
    tensor pow(double v, place w = XT_HPP_HERE_) const {
        return xt_pow_scalar_at(&w, t_, v);
    }
    tensor pow(tensor y, place w = XT_HPP_HERE_) const {
        return xt_pow_at(&w, t_, y.t_);
    }
    /* between both; of one number, not below it */
    tensor clamp(double lo, double hi = __builtin_inf(), place w = XT_HPP_HERE_) const {
        return xt_clamp_at(&w, t_, lo, hi);
    }
    tensor clip(double lo, double hi = __builtin_inf(), place w = XT_HPP_HERE_) const {
        return xt_clamp_at(&w, t_, lo, hi);
    }
    tensor clamp_min(double lo, place w = XT_HPP_HERE_) const {
        return xt_clamp_at(&w, t_, lo, __builtin_inf());
    }
    tensor clamp_max(double hi, place w = XT_HPP_HERE_) const {
        return xt_clamp_at(&w, t_, -__builtin_inf(), hi);
    }
    tensor hardtanh(double lo = -1, double hi = 1, place w = XT_HPP_HERE_) const {
        return xt_hardtanh_at(&w, t_, lo, hi);
    }
    tensor leaky_relu(double slope = 0.01, place w = XT_HPP_HERE_) const {
        return xt_leaky_relu_at(&w, t_, slope);
    }
    tensor elu(double alpha = 1, place w = XT_HPP_HERE_) const {
        return xt_elu_at(&w, t_, alpha);
    }
    tensor softplus(xt_softplus_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_softplus_at(&w, t_, o);
    }
    tensor lerp(tensor y, double weight, place w = XT_HPP_HERE_) const {
        return xt_lerp_scalar_at(&w, t_, y.t_, weight);
    }
    tensor to(xt_dtype dtype, place w = XT_HPP_HERE_) const {
        return xt_cast_at(&w, t_, dtype);
    }
    tensor to(tensor like, place w = XT_HPP_HERE_) const {
        return xt_cast_at(&w, t_, like.dtype());
    } /* its dtype */
    /* as a dtype: to(dtype) */
    tensor toType(xt_dtype dtype, place w = XT_HPP_HERE_) const {
        return to(dtype, w);
    }
    /* of that one's dtype */
    tensor type_as(tensor like, place w = XT_HPP_HERE_) const {
        return to(like, w);
    }

    /* With another one. */
#define XT_HPP_METHOD_(name)                              \
    tensor name(tensor y, place w = XT_HPP_HERE_) const { \
        return xt_##name##_at(&w, t_, y.t_);              \
    }
    XT_HPP_WITH_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
#define XT_HPP_METHOD_(name, fn) tensor name(operand y) const;
    XT_HPP_BOTH_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
    tensor add(operand y, double alpha) const; /* x + alpha y */
    tensor sub(operand y, double alpha) const; /* x - alpha y */
    /* of that one's dims */
    tensor reshape_as(tensor like, place w = XT_HPP_HERE_) const {
        return view_as(like, w);
    }
    /* c.addmm(x, y): c + x y */
    tensor addmm(tensor x, tensor y, xt_addmm_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_addmm_at(&w, t_, x.t_, y.t_, o);
    }
    tensor baddbmm(tensor x, tensor y, xt_addmm_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_baddbmm_at(&w, t_, x.t_, y.t_, o);
    }
    /* whether all numbers are, which waits */
    bool equal(tensor y, place w = XT_HPP_HERE_) const {
        return xt_item_at(&w, xt_equal_at(&w, t_, y.t_)) != 0;
    }
    /* of each element */
    tensor isclose(tensor y, xt_close_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_isclose_at(&w, t_, y.t_, o);
    }
    bool allclose(tensor y, xt_close_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_item_at(&w, xt_allclose_at(&w, t_, y.t_, o)) != 0;
    }
    /* x where the condition holds, else y */
    tensor where(tensor condition, tensor y, place w = XT_HPP_HERE_) const {
        return xt_where_at(&w, condition.t_, t_, y.t_);
    }
    tensor masked_fill(tensor mask, double v, place w = XT_HPP_HERE_) const {
        return xt_masked_fill_at(&w, t_, mask.t_, v);
    }
    /* those where the mask holds, as many as there are, which waits */
    tensor masked_select(tensor mask, place w = XT_HPP_HERE_) const {
        return xt_masked_select_at(&w, t_, mask.t_, -1, nullptr);
    }
    tensor nonzero(place w = XT_HPP_HERE_) const {
        return xt_nonzero_at(&w, t_, -1, nullptr);
    } /* where they are, [count,dims]; waits */

    /* Along an axis or several, which go away; with keepdim they stay with one element. A number is one axis, {0} and
     * {0, 1} are lists. */
#define XT_HPP_METHOD_(name, fn)                                                 \
    tensor name(axes over, bool keepdim = false, place w = XT_HPP_HERE_) const { \
        xt_reduce_opts o{};                                                      \
        o.keepdim = keepdim;                                                     \
        return fn(&w, t_, over.list, o);                                         \
    }
    XT_HPP_ALONG_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
#define XT_HPP_METHOD_(name, fn)                                                                                 \
    tensor name(axes over, bool keepdim = false, xt_dtype dtype = XT_DTYPE_NONE, place w = XT_HPP_HERE_) const { \
        xt_reduce_opts o{};                                                                                      \
        o.keepdim = keepdim, o.dtype = dtype;                                                                    \
        return fn(&w, t_, over.list, o);                                                                         \
    }                                                                                                            \
    tensor name(xt_dtype dtype, place w = XT_HPP_HERE_) const {                                                  \
        return name(axes({}), false, dtype, w);                                                                  \
    } /* a dtype is no flag */                                                                                   \
    tensor name(axes over, xt_dtype dtype) const = delete;
    XT_HPP_ALONG_OF_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
#define XT_HPP_METHOD_(name, fn)                                                                         \
    tensor name(axes over, bool unbiased = true, bool keepdim = false, place w = XT_HPP_HERE_) const {   \
        xt_var_opts o{};                                                                                 \
        o.correction = unbiased, o.keepdim = keepdim;                                                    \
        return fn(&w, t_, over.list, o);                                                                 \
    }                                                                                                    \
    template <class Flag, if_bool_<Flag> = 0> tensor name(Flag unbiased, place w = XT_HPP_HERE_) const { \
        return name(axes({}), unbiased, false, w);                                                       \
    }
    XT_HPP_SPREAD_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
#define XT_HPP_METHOD_(name, fn)                                                                    \
    std::tuple<tensor, tensor> name(int axis, bool keepdim = false, place w = XT_HPP_HERE_) const { \
        xt_tensor v, i;                                                                             \
        fn(&w, t_, axis, &v, &i);                                                                   \
        if (!keepdim) return {v, i};                                                                \
        return {xt_unsqueeze_at(&w, v, axis), xt_unsqueeze_at(&w, i, axis)};                        \
    }
    XT_HPP_WHERE_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
#define XT_HPP_METHOD_(name, fn)                                                          \
    tensor name(int axis, xt_dtype dtype = XT_DTYPE_NONE, place w = XT_HPP_HERE_) const { \
        return fn(&w, dtype == XT_DTYPE_NONE ? t_ : xt_cast_at(&w, t_, dtype), axis);     \
    }
    XT_HPP_AXIS_OF_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
    /* element by element: of x and y the larger, the smaller */
    tensor max(tensor y, place w = XT_HPP_HERE_) const {
        return xt_maximum_at(&w, t_, y.t_);
    }
    tensor min(tensor y, place w = XT_HPP_HERE_) const {
        return xt_minimum_at(&w, t_, y.t_);
    }
    /* sum(|x|^p)^(1/p) over all: x.norm(), x.norm(1); along axes: x.norm(2, 1), x.norm(1, {0, 1}, true) */
    tensor norm(place w = XT_HPP_HERE_) const {
        return xt_norm_at(&w, t_);
    }
    /* the same, with p */
    template <class Number, if_number_<Number> = 0> tensor norm(Number p, place w = XT_HPP_HERE_) const {
        return norm(p, axes({}), false, XT_DTYPE_NONE, w);
    }
    /* of x as a dtype */
    template <class Number, if_number_<Number> = 0>
    tensor norm(Number p, xt_dtype dtype, place w = XT_HPP_HERE_) const {
        return norm(p, axes({}), false, dtype, w);
    }
    template <class Number, if_number_<Number> = 0>
    tensor norm(Number p, axes over, bool keepdim = false, xt_dtype dtype = XT_DTYPE_NONE,
                place w = XT_HPP_HERE_) const {
        xt_vector_norm_opts o{};
        o.p = static_cast<double>(p), o.keepdim = keepdim;
        return xt_norm_axes_at(&w, dtype == XT_DTYPE_NONE ? t_ : xt_cast_at(&w, t_, dtype), over.list, o);
    }
    /* x times the normal distribution function, by erf ("none") or by GPT-2's tanh ("tanh") */
    tensor gelu(const char *approximate = "none", place w = XT_HPP_HERE_) const {
        std::string how = approximate;
        if (how == "tanh") return xt_gelu_at(&w, t_);
        if (how != "none")
            check(xt_status_new(XT_INVALID_ARGUMENT, "%s:%d: gelu: \"%s\" is neither \"none\" (erf) nor \"tanh\"",
                                w.file, w.line, approximate));
        return xt_gelu_erf_at(&w, t_);
    }
    /* the place of the first of equals, i64; without an axis as x lies, row by row */
    tensor argmax(place w = XT_HPP_HERE_) const {
        return xt_argmax_at(&w, xt_flatten_at(&w, t_, 0, -1), 0);
    }
    /* along an axis, which goes away or stays with one element */
    tensor argmax(int axis, bool keepdim = false, place w = XT_HPP_HERE_) const {
        xt_tensor y = xt_argmax_at(&w, t_, axis);
        return keepdim ? xt_unsqueeze_at(&w, y, axis) : y;
    }
    tensor argmin(place w = XT_HPP_HERE_) const {
        return xt_argmin_at(&w, xt_flatten_at(&w, t_, 0, -1), 0);
    }
    /* along an axis, which goes away or stays with one element */
    tensor argmin(int axis, bool keepdim = false, place w = XT_HPP_HERE_) const {
        xt_tensor y = xt_argmin_at(&w, t_, axis);
        return keepdim ? xt_unsqueeze_at(&w, y, axis) : y;
    }
    /* i64, in ascending or descending order; equal ones keep theirs, so that `stable` changes nothing */
    tensor argsort(int axis = -1, xt_sort_opts o = {}, place w = XT_HPP_HERE_) const {
        return xt_argsort_at(&w, t_, axis, o);
    }
    /* the same, largest first where asked */
    tensor argsort(int axis, bool descending, place w = XT_HPP_HERE_) const {
        xt_sort_opts o{};
        o.descending = descending;
        return argsort(axis, o, w);
    }
    /* the same, largest first where asked */
    template <class Flag, if_bool_<Flag> = 0>
    tensor argsort(Flag, int axis = -1, bool descending = false, place w = XT_HPP_HERE_) const {
        return argsort(axis, descending, w);
    }
    /* values and indices: auto [v, i] = x.sort() */
    std::tuple<tensor, tensor> sort(int axis = -1, xt_sort_opts o = {}, place w = XT_HPP_HERE_) const {
        xt_tensor v, i;
        xt_sort_at(&w, t_, axis, o, &v, &i);
        return {v, i};
    }
    /* largest first, where asked */
    std::tuple<tensor, tensor> sort(int axis, bool descending, place w = XT_HPP_HERE_) const {
        xt_sort_opts o{};
        o.descending = descending;
        return sort(axis, o, w);
    }
    /* the k-th smallest, from 1 on, and where it is */
    std::tuple<tensor, tensor> kthvalue(int64_t k, int axis = -1, place w = XT_HPP_HERE_) const {
        xt_tensor v, i;
        xt_kthvalue_at(&w, t_, k, axis, &v, &i);
        return {v, i};
    }
    /* what is there most often, and where */
    std::tuple<tensor, tensor> mode(int axis = -1, place w = XT_HPP_HERE_) const {
        xt_tensor v, i;
        xt_mode_at(&w, t_, axis, &v, &i);
        return {v, i};
    }
    /* the k largest, and where they are */
    std::tuple<tensor, tensor> topk(int64_t k, int axis = -1, xt_topk_opts o = {}, place w = XT_HPP_HERE_) const {
        xt_tensor v, i;
        xt_topk_at(&w, t_, k, axis, o, &v, &i);
        return {v, i};
    }
    /* always sorted, what is asked for or not */
    std::tuple<tensor, tensor> topk(int64_t k, int axis, bool largest, bool sorted = true,
                                    place w = XT_HPP_HERE_) const {
        (void)sorted;
        xt_topk_opts o{};
        o.smallest = !largest;
        return topk(k, axis, o, w);
    }

    /* Shapes and places. */
    tensor reshape(shape dims, place w = XT_HPP_HERE_) const {
        return xt_reshape_at(&w, t_, dims);
    } /* one dim may be -1 */
    tensor view(shape dims, place w = XT_HPP_HERE_) const {
        return xt_reshape_at(&w, t_, dims);
    } /* the same: there are no strides */
    tensor broadcast_to(shape dims, place w = XT_HPP_HERE_) const {
        return xt_broadcast_to_at(&w, t_, dims);
    }
    tensor flatten(int from = 0, int to = -1, place w = XT_HPP_HERE_) const {
        return xt_flatten_at(&w, t_, from, to);
    }
    tensor transpose(int a, int b, place w = XT_HPP_HERE_) const {
        return xt_transpose_at(&w, t_, a, b);
    }
    tensor t(place w = XT_HPP_HERE_) const {
        return xt_transpose_at(&w, t_, 0, 1);
    }
    tensor permute(std::initializer_list<int> axes, place w = XT_HPP_HERE_) const {
        return xt_permute_at(&w, t_, static_cast<int>(axes.size()), axes.begin());
    }
    tensor expand(shape dims, place w = XT_HPP_HERE_) const {
        return xt_broadcast_to_at(&w, t_, dims);
    } /* -1 keeps a dim */
    tensor unflatten(int axis, shape dims, place w = XT_HPP_HERE_) const {
        return xt_unflatten_at(&w, t_, axis, dims);
    }
    tensor swapdims(int a, int b, place w = XT_HPP_HERE_) const { /* the same */
        return xt_transpose_at(&w, t_, a, b);
    }
    tensor swapaxes(int a, int b, place w = XT_HPP_HERE_) const {
        return xt_transpose_at(&w, t_, a, b);
    }
    tensor mT(place w = XT_HPP_HERE_) const {
        return xt_transpose_at(&w, t_, -2, -1);
    }
    tensor movedim(axes from, axes to, place w = XT_HPP_HERE_) const {
        return xt_movedim_at(&w, t_, from.list, to.list);
    }
    tensor flip(axes over, place w = XT_HPP_HERE_) const {
        return xt_flip_at(&w, t_, over.list);
    }
    tensor roll(axes shifts, axes over, place w = XT_HPP_HERE_) const {
        return xt_roll_at(&w, t_, shifts.list, over.list);
    }
    tensor repeat(axes times, place w = XT_HPP_HERE_) const {
        return xt_repeat_at(&w, t_, times.list);
    }
    tensor tile(axes times, place w = XT_HPP_HERE_) const {
        return xt_tile_at(&w, t_, times.list);
    }
    /* without an axis of x as it lies, row by row */
    tensor repeat_interleave(int64_t times, place w = XT_HPP_HERE_) const {
        return xt_repeat_interleave_at(&w, xt_flatten_at(&w, t_, 0, -1), times, 0);
    }
    tensor repeat_interleave(int64_t times, int axis, place w = XT_HPP_HERE_) const {
        return xt_repeat_interleave_at(&w, t_, times, axis);
    }
    tensor tril(int64_t k = 0, place w = XT_HPP_HERE_) const {
        return xt_tril_at(&w, t_, k);
    }
    tensor triu(int64_t k = 0, place w = XT_HPP_HERE_) const {
        return xt_triu_at(&w, t_, k);
    }
    tensor diag(int64_t k = 0, place w = XT_HPP_HERE_) const {
        return xt_diag_at(&w, t_, k);
    }
    tensor diagonal(int64_t k = 0, int a = 0, int b = 1, place w = XT_HPP_HERE_) const {
        return xt_diagonal_at(&w, t_, k, a, b);
    }
    /* parts of that size, the last one smaller */
    std::vector<tensor> split(int64_t size, int axis = 0, place w = XT_HPP_HERE_) const {
        int64_t n = size > 0 ? (dim(axis) + size - 1) / size : 1;
        return parts_(n, [&](xt_tensor *out) { return xt_split_at(&w, t_, size, axis, static_cast<int>(n), out); });
    }
    /* parts of those sizes */
    std::vector<tensor> split(shape sizes, int axis = 0, place w = XT_HPP_HERE_) const {
        return split_with_sizes(sizes, axis, w);
    }
    /* the same as split */
    std::vector<tensor> split_with_sizes(shape sizes, int axis = 0, place w = XT_HPP_HERE_) const {
        int n = 0;
        while (sizes.d[n]) n++;
        return parts_(n, [&](xt_tensor *out) { return xt_split_sizes_at(&w, t_, n, sizes.d, axis, out); });
    }
    /* at most so many parts of one size */
    std::vector<tensor> chunk(int parts, int axis = 0, place w = XT_HPP_HERE_) const {
        return parts_(parts, [&](xt_tensor *out) { return xt_chunk_at(&w, t_, parts, axis, out); });
    }
    /* the slices along an axis, without it */
    std::vector<tensor> unbind(int axis = 0, place w = XT_HPP_HERE_) const {
        int64_t n = dim(axis);
        return parts_(n, [&](xt_tensor *out) { return xt_unbind_at(&w, t_, axis, static_cast<int>(n), out); });
    }
    /* all dims of 1 go */
    tensor squeeze(place w = XT_HPP_HERE_) const {
        return xt_squeeze_all_at(&w, t_);
    }
    tensor unsqueeze(int axis, place w = XT_HPP_HERE_) const {
        return xt_unsqueeze_at(&w, t_, axis);
    }
    tensor squeeze(int axis, place w = XT_HPP_HERE_) const {
        return xt_squeeze_at(&w, t_, axis);
    }
    tensor slice(int axis, int64_t start, place w = XT_HPP_HERE_) const { /* to the end */
        return slice(axis, start, INT64_MAX, w);
    }
    tensor slice(int axis, int64_t start, int64_t stop, place w = XT_HPP_HERE_) const {
        return xt_slice_at(&w, t_, axis, start, stop);
    }
    tensor select(int axis, int64_t i, place w = XT_HPP_HERE_) const {
        return xt_select_at(&w, t_, axis, i);
    }
    tensor index_select(int axis, tensor i, place w = XT_HPP_HERE_) const {
        return xt_index_select_at(&w, t_, axis, i.t_);
    }
    tensor narrow(int axis, int64_t start, int64_t length, place w = XT_HPP_HERE_) const {
        return xt_narrow_at(&w, t_, axis, start, length);
    }
    tensor gather(int axis, tensor i, place w = XT_HPP_HERE_) const {
        return xt_gather_at(&w, t_, axis, i.t_);
    }
    tensor scatter(int axis, tensor i, tensor y, place w = XT_HPP_HERE_) const {
        return xt_scatter_at(&w, t_, axis, i.t_, y.t_);
    }
    tensor scatter_add(int axis, tensor i, tensor y, place w = XT_HPP_HERE_) const {
        return xt_scatter_add_at(&w, t_, axis, i.t_, y.t_);
    }
    tensor index_add(int axis, tensor i, tensor y, double alpha = 1, place w = XT_HPP_HERE_) const {
        return xt_index_add_at(&w, t_, axis, i.t_, y.t_, alpha);
    }
    tensor index_copy(int axis, tensor i, tensor y, place w = XT_HPP_HERE_) const {
        return xt_index_copy_at(&w, t_, axis, i.t_, y.t_);
    }
    tensor index_fill(int axis, tensor i, double v, place w = XT_HPP_HERE_) const {
        return xt_index_fill_at(&w, t_, axis, i.t_, v);
    }
    tensor masked_scatter(tensor mask, tensor y, place w = XT_HPP_HERE_) const {
        return xt_masked_scatter_at(&w, t_, mask.t_, y.t_);
    }
    tensor diff(int64_t n = 1, int axis = -1, place w = XT_HPP_HERE_) const {
        return xt_diff_at(&w, t_, static_cast<int>(n), axis);
    }
    tensor matrix_power(int64_t n, place w = XT_HPP_HERE_) const {
        return xt_matrix_power_at(&w, t_, static_cast<int>(n));
    }
    tensor cholesky(bool upper = false, place w = XT_HPP_HERE_) const {
        return xt_cholesky_at(&w, t_, upper);
    }
    tensor multinomial(int64_t n, bool replacement = false, place w = XT_HPP_HERE_) const {
        return xt_multinomial_at(&w, t_, n, replacement);
    }
    /* of all; along an axis, which goes away */
    tensor quantile(double q, place w = XT_HPP_HERE_) const {
        return xt_quantile_at(&w, xt_flatten_at(&w, t_, 0, -1), q, 0, {});
    }
    tensor quantile(double q, int axis, bool keepdim = false, place w = XT_HPP_HERE_) const {
        xt_tensor y = xt_quantile_at(&w, t_, q, axis, {});
        return keepdim ? xt_unsqueeze_at(&w, y, axis) : y;
    }
    /* windows of so many elements along an axis, `step` apart; their own axis stands last */
    tensor unfold(int axis, int64_t size, int64_t step, place w = XT_HPP_HERE_) const {
        return xt_unfold_axis_at(&w, t_, axis, size, step);
    }
    tensor renorm(double p, int axis, double most, place w = XT_HPP_HERE_) const {
        return xt_renorm_at(&w, t_, p, axis, most);
    }
    tensor histc(int64_t bins, double lo, double hi, place w = XT_HPP_HERE_) const {
        return xt_histc_at(&w, t_, bins, lo, hi);
    }
    /* along the first axis of three elements, or along the one named */
    tensor cross(tensor y, place w = XT_HPP_HERE_) const {
        int axis = 0;
        while (axis + 1 < rank() && dim(axis) != 3) axis++;
        return xt_cross_at(&w, t_, y.t_, axis);
    }
    tensor cross(tensor y, int axis, place w = XT_HPP_HERE_) const {
        return xt_cross_at(&w, t_, y.t_, axis);
    }
    tensor new_zeros(shape dims, place w = XT_HPP_HERE_) const {
        return xt_full_at(&w, 0, dtype(), dims);
    }
    tensor new_full(shape dims, double v, place w = XT_HPP_HERE_) const {
        return xt_full_at(&w, v, dtype(), dims);
    }
    tensor new_ones(shape dims, place w = XT_HPP_HERE_) const {
        return xt_full_at(&w, 1, dtype(), dims);
    }
    tensor operator[](position p) const {
        return xt_select_at(&p.at, t_, 0, p.i);
    }
    /* x[i]: the rows of those numbers, in i's dims; x[mask]: those where it holds, as many as there are, which waits */
    tensor operator[](indices i) const;

    /* Not here: they say at compile time what to do. */
#define XT_HPP_METHOD_(name, instead)                                                                      \
    template <class... A> tensor name(A &&...) const {                                                     \
        static_assert(never_<A...>, #name ": a value never changes; " instead " is another one under the " \
                                          "name, and w.assign(...) changes a parameter or a state");       \
        return t_;                                                                                         \
    }
    XT_HPP_IN_PLACE_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
#define XT_HPP_METHOD_(name, ...)                                                                                    \
    template <class... A> tensor name##_(A &&...) const {                                                            \
        static_assert(never_<A...>, #name "_: a value never changes; x = x." #name "(...) is another one under the " \
                                          "name, and w.assign(...) changes a parameter or a state");                 \
        return t_;                                                                                                   \
    }
    XT_HPP_EACH_(XT_HPP_METHOD_)
    XT_HPP_WITH_(XT_HPP_METHOD_)
    XT_HPP_BOTH_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
#define XT_HPP_METHOD_(name, instead)                                  \
    template <class N = void, class... A> tensor name(A &&...) const { \
        static_assert(never_<N, A...>, #name ": " instead);            \
        return t_;                                                     \
    }
    XT_HPP_ELSEWHERE_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
    /* not here: it takes a list */
    template <class T = void> tensor index(std::initializer_list<operand>) const {
        static_assert(never_<T>,
                      "index: x[i], x.select(axis, i), x.slice(axis, start, stop) and x.index_select(axis, i) "
                      "read parts");
        return t_;
    }
    /* not here: the numbers lie on the device */
    template <class T, int n> tensor accessor() const {
        static_assert(never_<T>,
                      "accessor: the numbers lie on the device: x.read<float>() copies all of them, x.item() "
                      "one");
        return t_;
    }
    template <class T = void> tensor index_put_(std::initializer_list<operand>, operand) const {
        static_assert(never_<T>, "index_put_: a value never changes; x = xt_index_put(x, ...) is another one under the "
                                 "name");
        return t_;
    }

    tensor &operator+=(operand y); /* another value under this name: a = a + y */
    tensor &operator-=(operand y); /* a = a - y */
    tensor &operator*=(operand y); /* a = a * y */
    tensor &operator/=(operand y); /* a = a / y */
    tensor &operator%=(operand y); /* a = a % y */

    /* Of a tensor that is one: errors are met where it is used. */
    void check_is(xt_dtype wanted, const place &w) const {
        xt_dtype d = dtype();
        if (wanted == XT_DTYPE_NONE || d == XT_DTYPE_NONE || d == wanted) return;
        check(xt_status_new(XT_INVALID_ARGUMENT,
                            "%s:%d: xt::tensor::read: the tensor is %s, the numbers asked for are %s; ask for its own, "
                            "or take .to(...) first",
                            w.file, w.line, xt_dtype_name(d), xt_dtype_name(wanted)));
    }
    template <class F> static std::vector<tensor> parts_(int64_t room, F fill) {
        std::vector<xt_tensor> out(static_cast<size_t>(room > 0 ? room : 1));
        int n = fill(out.data());
        return std::vector<tensor>(out.begin(), out.begin() + (n > 0 ? n : 1));
    }
    static void check_pending() {
        if (xt_status s = xt_error()) {
            error e(s);
            xt_clear_error();
            throw e;
        }
    }
};

inline operand::operand(const tensor &x, place w) : t(x), at(w) {}
inline indices::indices(const tensor &x, place w) : t(x), at(w) {}
inline tensor tensor::operator[](indices i) const {
    tensor at = i.t;
    if (at.dtype() == XT_BOOL) {
        tensor rows = at.rank() > 1 ? flatten(0, at.rank() - 1, i.at) : *this;
        return rows.index_select(0, at.flatten(0, -1, i.at).nonzero(i.at).flatten(0, -1, i.at), i.at);
    }
    tensor rows = index_select(0, at.flatten(0, -1, i.at), i.at);
    if (at.rank() == 1) return rows;
    std::vector<int64_t> dims = at.sizes(), rest = rows.sizes();
    if (rest.empty()) return rows; /* an error */
    dims.insert(dims.end(), rest.begin() + 1, rest.end());
    dims.push_back(0);
    return xt_reshape_at(&i.at, rows, dims.data());
}

} /* namespace xt */

#endif
