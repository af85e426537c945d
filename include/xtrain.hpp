/* xtrain in C++17 and later: handles that free themselves, operators, lambdas as forwards and steps. Header only, over
 * <xtrain/xtrain.h>, whose functions and macros work beside it: xt::tensor and xt_tensor turn into each other.
 *
 *     xt::module net([](xt::scope m, xt::tensor x) { return m.linear("fc2", m.linear("fc1", x, 32).relu(), 1); });
 *     xt::optimizer adam = xt::adam(net, {.lr = 1e-3});                 // C++17: xt_adamw_opts o{}; o.lr = 1e-3;
 *     for (xt_batch &b : loader) {
 *         xt::tensor loss = (net(b.x) - b.y).square().mean();
 *         loss.backward();
 *         adam.step();
 *     }
 *     return xt::finish();
 *
 * A tensor is a value that lives until its step ends, as in C (xtrain/tensor.h); copying one copies a handle. a += b is
 * a = a + b, another value under the same name: what a was stays as it is for whoever has a copy of it. So it is with a
 * parameter or a state too, which only assign changes: w.assign(w - 0.1 * w.grad()). Modules,
 * optimizers, loaders and steps can be moved and not copied; what is destroyed after xt::finish has been freed by it.
 * Errors of tensors travel and are met at the step's end, as in C; a status throws xt::error. An exception that a
 * lambda of xt::module or xt::step throws leaves the call that ran it, and one of xt::dataset or of a function in
 * xt::caught<> is a status; base.h says what happens to others. Lines in messages are those of the program. */
#ifndef XTRAIN_HPP
#define XTRAIN_HPP

#include <algorithm>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtrain/xtrain.h>

namespace xt {

/* --- Lines, errors --- */
/* The caller's place: XT_HPP_HERE_ is a default argument, whose line is that of the call. */
struct where : xt_src {
    /* file, line, function */
    where(const char *f, int l, const char *fn) : xt_src{f, l, fn} {}
};
#define XT_HPP_HERE_ ::xt::where(__builtin_FILE(), __builtin_LINE(), __builtin_FUNCTION())

/* What functions of this header throw: the message, and what kind of error it is. */
struct error : std::runtime_error {
    xt_code code; /* the status's */
    /* the status stays the caller's */
    explicit error(xt_status s) : std::runtime_error(xt_status_message(s)), code(xt_status_code(s)) {}
};
/* Throws what the status says and frees it; NULL is OK. */
inline void check(xt_status s) {
    if (!s) return;
    error e(s);
    xt_status_free(s);
    throw e;
}

/* What is being thrown, as a status; in a catch (...). */
inline xt_status thrown_status() {
    try {
        throw;
    } catch (const error &e) {
        return xt_status_new(e.code, "%s", e.what());
    } catch (const std::exception &e) {
        return xt_status_new(XT_INTERNAL, "%s", e.what());
    } catch (...) {
        return xt_status_new(XT_INTERNAL, "an exception that is no std::exception was thrown");
    }
}
/* A function that gives a status and may throw, for the C structs: desc.get = xt::caught<my_get>; what it throws is its
 * status. */
template <auto fn> struct caught_;
template <class... A, xt_status (*fn)(A...)> struct caught_<fn> {
    static xt_status call(A... a) {
        try {
            return fn(a...);
        } catch (...) {
            return thrown_status();
        }
    }
};
/* xt::caught<fn>: fn as a function that C may call, whose exceptions become statuses. */
template <auto fn> inline constexpr auto caught = &caught_<fn>::call;
/* Goes on with what a lambda has thrown below a call of C, which does not let it through. */
inline void rethrow_(std::exception_ptr &thrown) {
    if (!thrown) return;
    xt_clear_error();
    std::rethrow_exception(std::exchange(thrown, nullptr));
}

inline void check_rank_(size_t rank, const where &w) {
    if (rank > XT_MAX_RANK)
        check(xt_status_new(XT_INVALID_ARGUMENT, "%s:%d: a shape of %d dims; a tensor has at most %d", w.file, w.line,
                            static_cast<int>(rank), XT_MAX_RANK));
}
/* Up to XT_MAX_RANK dims as the C functions take them; more of them throw. */
struct shape {
    int64_t d[XT_MAX_RANK + 1]; /* ends with 0 */
    /* {2, 3}; a dim of 0 is an error of what takes the shape */
    shape(std::initializer_list<int64_t> dims, where w = XT_HPP_HERE_) {
        check_rank_(dims.size(), w);
        int n = 0;
        for (int64_t x : dims) d[n++] = x ? x : XT_DIMS_END_;
        d[n] = 0;
    }
    operator const int64_t *() const { return d; } /* ends with 0 */
};

/* Up to XT_MAX_RANK axes, negative ones from the end: x.sum({0, 1}); more of them throw. */
struct axes {
    xt_list list{}; /* as the C functions take them */
    /* any number of them */
    axes(std::initializer_list<int> of, where w = XT_HPP_HERE_) {
        check_rank_(of.size(), w);
        for (int axis : of) list.v[list.n++] = axis;
    }
    /* one */
    axes(int axis) { list.v[list.n++] = axis; }
};

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
    M(abs) M(acos) M(all) M(any) M(asin) M(atan) M(ceil) M(cos) M(cosh) M(detach) M(digamma) M(erf) M(erfc) \
    M(erfinv) M(exp) M(exp2) M(expm1) M(floor) M(frac) M(gelu) M(gelu_erf) M(hardsigmoid) M(hardswish) \
    M(isfinite) M(isinf) M(isnan) M(lgamma) M(log10) M(log1p) M(log2) M(logical_not) M(logsigmoid) M(max) \
    M(mean) M(median) M(min) M(mish) M(neg) M(norm) M(prod) M(reciprocal) M(relu) M(relu6) M(round) M(rsqrt) \
    M(selu) M(sigmoid) M(sign) M(silu) M(sin) M(sinh) M(softsign) M(sqrt) M(square) M(std) M(sum) M(tan) \
    M(tanh) M(trunc) M(var)
/* clang-format on */
/* Along one axis or several, which go away or with keepdim stay with one element: x.sum(-1, true), xt::sum(x, {0, 1}).
 * R(name, the function behind it, its options) */
#define XT_HPP_ALONG_(R)                               \
    R(sum, xt_sum_axes_at, xt_reduce_opts)             \
    R(mean, xt_mean_axes_at, xt_reduce_opts)           \
    R(prod, xt_prod_axes_at, xt_reduce_opts)           \
    R(any, xt_any_axes_at, xt_reduce_opts)             \
    R(all, xt_all_axes_at, xt_reduce_opts)             \
    R(amax, xt_amax_axes_at, xt_reduce_opts)           \
    R(amin, xt_amin_axes_at, xt_reduce_opts)           \
    R(max, xt_amax_axes_at, xt_reduce_opts)            \
    R(min, xt_amin_axes_at, xt_reduce_opts)            \
    R(logsumexp, xt_logsumexp_axes_at, xt_reduce_opts) \
    R(std, xt_std_axes_at, xt_var_opts)                \
    R(var, xt_var_axes_at, xt_var_opts)                \
    R(norm, xt_norm_axes_at, xt_vector_norm_opts)
class tensor;
/* What stands beside an operator: a tensor or a number, and the line. */
struct operand {
    xt_tensor t{}; /* none where it is a number */
    double number = 0; /* as the caller wrote it, in double */
    bool is_number = false; /* which of the two it is */
    xt_dtype kind = XT_DTYPE_NONE; /* a number's own: bool, i64 of whole ones, f32 */
    where at; /* the line of the operator */
    operand(const tensor &x, where w = XT_HPP_HERE_); /* a tensor */
    operand(xt_tensor x, where w = XT_HPP_HERE_) : t(x), at(w) {} /* one of C's */
    /* a number */
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    operand(T v, where w = XT_HPP_HERE_)
        : number(static_cast<double>(v)), is_number(true), kind(std::is_same_v<T, bool> ? XT_BOOL
                                                                : std::is_integral_v<T> ? XT_I64
                                                                                        : XT_F32),
          at(w) {}
};
/* An index, x[3], with its line; the last is x[-1]. */
struct position {
    int64_t i; /* negative counts from the end */
    where at; /* the line of the brackets */
    /* any whole number */
    template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
    position(T v, where w = XT_HPP_HERE_) : i(static_cast<int64_t>(v)), at(w) {}
};

/* A tensor of C's with operators and methods; copied as a number is, and alive as long as C's (tensor.h). */
class tensor {
    xt_tensor t_{};

  public:
    tensor() = default; /* none */
    tensor(xt_tensor t) : t_(t) {} /* one of C's; takes nothing over */
    operator xt_tensor() const { return t_; }

    bool is_none() const { return xt_is_none(t_); }
    bool is_error() const { return xt_is_error(t_); }
    xt_dtype dtype() const { return xt_dtype_of(t_); }
    int rank() const { return xt_rank_of(t_); }
    int64_t dim(int i) const { return xt_dim(t_, i); } /* negative counts from the end */
    int64_t size(int i) const { return xt_dim(t_, i); } /* PyTorch's name of it */
    int64_t numel() const { return xt_numel(t_); }

    tensor keep(where w = XT_HPP_HERE_) const { return xt_keep_at(&w, t_); }
    void drop(where w = XT_HPP_HERE_) const { xt_drop_at(&w, t_); }
    void assign(tensor value, where w = XT_HPP_HERE_) const { xt_assign_at(&w, t_, value.t_); } /* of a state */
    double item(where w = XT_HPP_HERE_) const { return xt_item_at(&w, t_); } /* waits */
    /* All elements, row by row; waits. T is the dtype's own (double for XT_F64, int64_t for XT_I64); unsigned integers,
     * bytes and types that the library does not know take the bits of whatever has their size. Another T throws. */
    template <class T> std::vector<T> read(where w = XT_HPP_HERE_) const {
        check_is(number_dtype_<T>(), w);
        std::vector<T> v(static_cast<size_t>(xt_numel(t_)));
        if (!xt_read_at(&w, t_, v.data(), v.size() * sizeof(T))) check_pending();
        return v;
    }
    void backward(where w = XT_HPP_HERE_) const { xt_backward_at(&w, t_); }
    tensor grad(where w = XT_HPP_HERE_) const { return xt_grad_at(&w, t_); }
    tensor requires_grad(bool on = true, where w = XT_HPP_HERE_) const { return xt_requires_grad_at(&w, t_, on); }

    /* Of each element, and over all of them. */
#define XT_HPP_METHOD_(name)                    \
    tensor name(where w = XT_HPP_HERE_) const { \
        return xt_##name##_at(&w, t_);          \
    }
    XT_HPP_EACH_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
    tensor log(where w = XT_HPP_HERE_) const {
        return xt_log_e_at(&w, t_);
    }
    tensor pow(double v, where w = XT_HPP_HERE_) const {
        return xt_pow_scalar_at(&w, t_, v);
    }
    tensor pow(tensor y, where w = XT_HPP_HERE_) const {
        return xt_pow_at(&w, t_, y.t_);
    }
    tensor clamp(double lo, double hi, where w = XT_HPP_HERE_) const {
        return xt_clamp_at(&w, t_, lo, hi);
    }
    tensor to(xt_dtype dtype, where w = XT_HPP_HERE_) const {
        return xt_cast_at(&w, t_, dtype);
    }

    /* Along an axis or several, which go away; with keepdim they stay with one element. */
#define XT_HPP_METHOD_(name, fn, opts)                                                      \
    tensor name(axes over, bool keepdim = false, where w = XT_HPP_HERE_) const {            \
        opts o{};                                                                           \
        o.keepdim = keepdim;                                                                \
        return fn(&w, t_, over.list, o);                                                    \
    }                                                                                       \
    template <class T, class = std::enable_if_t<std::is_integral_v<T>>> /* {0} is a list */ \
    tensor name(T axis, bool keepdim = false, where w = XT_HPP_HERE_) const {               \
        return name(axes(static_cast<int>(axis)), keepdim, w);                              \
    }
    XT_HPP_ALONG_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
    /* of all; false: divided by the count itself */
    tensor std(bool unbiased, where w = XT_HPP_HERE_) const {
        xt_var_opts o{};
        o.correction = unbiased;
        return xt_std_axes_at(&w, t_, XT_ALL_AXES, o);
    }
    tensor var(bool unbiased, where w = XT_HPP_HERE_) const {
        xt_var_opts o{};
        o.correction = unbiased;
        return xt_var_axes_at(&w, t_, XT_ALL_AXES, o);
    }
    /* the place of the first of equals, i64; without an axis as x lies, row by row */
    tensor argmax(where w = XT_HPP_HERE_) const {
        return xt_argmax_at(&w, xt_flatten_at(&w, t_, 0, -1), 0);
    }
    /* along an axis, which goes away or stays with one element */
    tensor argmax(int axis, bool keepdim = false, where w = XT_HPP_HERE_) const {
        xt_tensor y = xt_argmax_at(&w, t_, axis);
        return keepdim ? xt_unsqueeze_at(&w, y, axis) : y;
    }
    tensor argmin(where w = XT_HPP_HERE_) const {
        return xt_argmin_at(&w, xt_flatten_at(&w, t_, 0, -1), 0);
    }
    /* along an axis, which goes away or stays with one element */
    tensor argmin(int axis, bool keepdim = false, where w = XT_HPP_HERE_) const {
        xt_tensor y = xt_argmin_at(&w, t_, axis);
        return keepdim ? xt_unsqueeze_at(&w, y, axis) : y;
    }
    tensor softmax(int axis, where w = XT_HPP_HERE_) const {
        return xt_softmax_at(&w, t_, axis);
    }
    tensor log_softmax(int axis, where w = XT_HPP_HERE_) const {
        return xt_log_softmax_at(&w, t_, axis);
    }

    /* Shapes and places. */
    tensor reshape(shape dims, where w = XT_HPP_HERE_) const {
        return xt_reshape_at(&w, t_, dims);
    } /* one dim may be -1 */
    tensor view(shape dims, where w = XT_HPP_HERE_) const {
        return xt_reshape_at(&w, t_, dims);
    } /* the same: there are no strides */
    tensor broadcast_to(shape dims, where w = XT_HPP_HERE_) const {
        return xt_broadcast_to_at(&w, t_, dims);
    }
    tensor flatten(int from = 0, int to = -1, where w = XT_HPP_HERE_) const {
        return xt_flatten_at(&w, t_, from, to);
    }
    tensor transpose(int a, int b, where w = XT_HPP_HERE_) const {
        return xt_transpose_at(&w, t_, a, b);
    }
    tensor t(where w = XT_HPP_HERE_) const {
        return xt_transpose_at(&w, t_, 0, 1);
    }
    tensor permute(std::initializer_list<int> axes, where w = XT_HPP_HERE_) const {
        return xt_permute_at(&w, t_, static_cast<int>(axes.size()), axes.begin());
    }
    tensor unsqueeze(int axis, where w = XT_HPP_HERE_) const {
        return xt_unsqueeze_at(&w, t_, axis);
    }
    tensor squeeze(int axis, where w = XT_HPP_HERE_) const {
        return xt_squeeze_at(&w, t_, axis);
    }
    tensor slice(int axis, int64_t start, int64_t stop, where w = XT_HPP_HERE_) const {
        return xt_slice_at(&w, t_, axis, start, stop);
    }
    tensor select(int axis, int64_t i, where w = XT_HPP_HERE_) const {
        return xt_select_at(&w, t_, axis, i);
    }
    tensor index_select(int axis, tensor i, where w = XT_HPP_HERE_) const {
        return xt_index_select_at(&w, t_, axis, i.t_);
    }
    tensor operator[](position p) const {
        return xt_select_at(&p.at, t_, 0, p.i);
    }

    tensor matmul(tensor y, where w = XT_HPP_HERE_) const {
        return xt_matmul_at(&w, t_, y.t_);
    }
    tensor eq(operand y) const {
        return y.is_number ? xt_eq_scalar_at(&y.at, t_, y.number) : xt_eq_at(&y.at, t_, y.t);
    }
    tensor ne(operand y) const {
        return y.is_number ? xt_ne_scalar_at(&y.at, t_, y.number) : xt_ne_at(&y.at, t_, y.t);
    }

    tensor &operator+=(operand y); /* another value under this name: a = a + y */
    tensor &operator-=(operand y); /* a = a - y */
    tensor &operator*=(operand y); /* a = a * y */
    tensor &operator/=(operand y); /* a = a / y */
    tensor &operator%=(operand y); /* a = a % y */

    /* Of a tensor that is one: errors are met where it is used. */
    void check_is(xt_dtype wanted, const where &w) const {
        xt_dtype d = dtype();
        if (wanted == XT_DTYPE_NONE || d == XT_DTYPE_NONE || d == wanted) return;
        check(xt_status_new(XT_INVALID_ARGUMENT,
                            "%s:%d: xt::tensor::read: the tensor is %s, the numbers asked for are %s; ask for its own, "
                            "or take .to(...) first",
                            w.file, w.line, xt_dtype_name(d), xt_dtype_name(wanted)));
    }
    static void check_pending() {
        if (xt_status s = xt_error()) {
            error e(s);
            xt_clear_error();
            throw e;
        }
    }
};

inline operand::operand(const tensor &x, where w) : t(x), at(w) {}

/* Either side may be a number, as in xt_add(x, 2). */
#define XT_HPP_OPERATOR_(op, fn)                                                                 \
    inline tensor operator op(operand x, operand y) {                                            \
        if (y.is_number) return fn##_scalar_at(&y.at, x.t, y.number);                            \
        return x.is_number ? fn##_of_scalar_at(&x.at, x.number, y.t) : fn##_at(&x.at, x.t, y.t); \
    }
XT_HPP_OPERATOR_(+, xt_add)
XT_HPP_OPERATOR_(-, xt_sub_)
XT_HPP_OPERATOR_(*, xt_mul)
XT_HPP_OPERATOR_(/, xt_div)
XT_HPP_OPERATOR_(%, xt_remainder)
XT_HPP_OPERATOR_(<, xt_lt)
XT_HPP_OPERATOR_(<=, xt_le)
XT_HPP_OPERATOR_(>, xt_gt)
XT_HPP_OPERATOR_(>=, xt_ge)
XT_HPP_OPERATOR_(==, xt_eq)
XT_HPP_OPERATOR_(!=, xt_ne)
XT_HPP_OPERATOR_(&, xt_bitwise_and)
XT_HPP_OPERATOR_(|, xt_bitwise_or)
XT_HPP_OPERATOR_(^, xt_bitwise_xor)
#undef XT_HPP_OPERATOR_
/* of each element */
inline tensor operator-(operand x) {
    return xt_neg_at(&x.at, x.t);
}
inline tensor operator!(operand x) {
    return xt_logical_not_at(&x.at, x.t);
}
inline tensor operator~(operand x) {
    return xt_bitwise_not_at(&x.at, x.t);
}
inline xt_tensor truth_(const operand &x) {
    return x.is_number ? xt_scalar_at(&x.at, x.number != 0, XT_BOOL) : x.t;
}
/* of each element too: both sides are computed, whatever the first is */
inline tensor operator&&(operand x, operand y) {
    return xt_logical_and_at(&y.at, truth_(x), truth_(y));
}
inline tensor operator||(operand x, operand y) {
    return xt_logical_or_at(&y.at, truth_(x), truth_(y));
}
#define XT_HPP_COMPOUND_(op)                           \
    inline tensor &tensor::operator op##=(operand y) { \
        return *this = operand(*this, y.at) op y;      \
    }
XT_HPP_COMPOUND_(+)
XT_HPP_COMPOUND_(-)
XT_HPP_COMPOUND_(*)
XT_HPP_COMPOUND_(/)
XT_HPP_COMPOUND_(%)
#undef XT_HPP_COMPOUND_

/* --- The methods as functions: xt::relu(x), xt::softmax(x, -1) --- */
#define XT_HPP_FUNCTION_(name)                                    \
    inline tensor name(const tensor &x, where w = XT_HPP_HERE_) { \
        return x.name(w);                                         \
    }
XT_HPP_EACH_(XT_HPP_FUNCTION_)
XT_HPP_FUNCTION_(log)
XT_HPP_FUNCTION_(argmax)
XT_HPP_FUNCTION_(argmin)
#undef XT_HPP_FUNCTION_
#define XT_HPP_FUNCTION_(name, fn, opts)                                                           \
    inline tensor name(const tensor &x, axes over, bool keepdim = false, where w = XT_HPP_HERE_) { \
        return x.name(over, keepdim, w);                                                           \
    }                                                                                              \
    template <class T, class = std::enable_if_t<std::is_integral_v<T>>>                            \
    tensor name(const tensor &x, T axis, bool keepdim = false, where w = XT_HPP_HERE_) {           \
        return x.name(axis, keepdim, w);                                                           \
    }
XT_HPP_ALONG_(XT_HPP_FUNCTION_)
#undef XT_HPP_FUNCTION_
#undef XT_HPP_EACH_
#undef XT_HPP_ALONG_
inline tensor argmax(const tensor &x, int axis, bool keepdim = false, where w = XT_HPP_HERE_) {
    return x.argmax(axis, keepdim, w);
}
inline tensor argmin(const tensor &x, int axis, bool keepdim = false, where w = XT_HPP_HERE_) {
    return x.argmin(axis, keepdim, w);
}
inline tensor softmax(const tensor &x, int axis, where w = XT_HPP_HERE_) {
    return x.softmax(axis, w);
}
inline tensor log_softmax(const tensor &x, int axis, where w = XT_HPP_HERE_) {
    return x.log_softmax(axis, w);
}
inline tensor pow(operand x, operand y) {
    if (y.is_number) return xt_pow_scalar_at(&y.at, x.t, y.number);
    return x.is_number ? xt_pow_of_scalar_at(&x.at, x.number, y.t) : xt_pow_at(&x.at, x.t, y.t);
}
inline tensor maximum(operand x, operand y) {
    if (y.is_number) return xt_maximum_scalar_at(&y.at, x.t, y.number);
    return x.is_number ? xt_maximum_of_scalar_at(&x.at, x.number, y.t) : xt_maximum_at(&x.at, x.t, y.t);
}
inline tensor minimum(operand x, operand y) {
    if (y.is_number) return xt_minimum_scalar_at(&y.at, x.t, y.number);
    return x.is_number ? xt_minimum_of_scalar_at(&x.at, x.number, y.t) : xt_minimum_at(&x.at, x.t, y.t);
}
inline tensor clamp(const tensor &x, double lo, double hi, where w = XT_HPP_HERE_) {
    return x.clamp(lo, hi, w);
}
inline tensor matmul(const tensor &x, const tensor &y, where w = XT_HPP_HERE_) {
    return x.matmul(y, w);
}
inline tensor reshape(const tensor &x, shape dims, where w = XT_HPP_HERE_) {
    return x.reshape(dims, w);
}
inline tensor flatten(const tensor &x, int from = 0, int to = -1, where w = XT_HPP_HERE_) {
    return x.flatten(from, to, w);
}
inline tensor transpose(const tensor &x, int a, int b, where w = XT_HPP_HERE_) {
    return x.transpose(a, b, w);
}
inline tensor unsqueeze(const tensor &x, int axis, where w = XT_HPP_HERE_) {
    return x.unsqueeze(axis, w);
}
inline tensor squeeze(const tensor &x, int axis, where w = XT_HPP_HERE_) {
    return x.squeeze(axis, w);
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
template <class T> tensor from(const T *data, shape dims, where w = XT_HPP_HERE_) {
    static_assert(dtype_of<T>() != XT_DTYPE_NONE, "xt::from takes float, double, int64_t, int32_t, uint8_t or bool");
    return xt_from_array_at(&w, data, dtype_of<T>(), dims);
}
inline tensor full(double value, xt_dtype dtype, shape dims, where w = XT_HPP_HERE_) {
    return xt_full_at(&w, value, dtype, dims);
}
inline tensor zeros(xt_dtype dtype, shape dims, where w = XT_HPP_HERE_) {
    return xt_full_at(&w, 0, dtype, dims);
}
inline tensor ones(xt_dtype dtype, shape dims, where w = XT_HPP_HERE_) {
    return xt_full_at(&w, 1, dtype, dims);
}
inline tensor rand(xt_dtype dtype, shape dims, where w = XT_HPP_HERE_) {
    return xt_rand_at(&w, dtype, dims);
}
inline tensor randn(xt_dtype dtype, shape dims, where w = XT_HPP_HERE_) {
    return xt_randn_at(&w, dtype, dims);
}
inline tensor randn_like(tensor x, where w = XT_HPP_HERE_) {
    return xt_randn_like_at(&w, x);
}
inline tensor arange(int64_t n, xt_dtype dtype = XT_I64, where w = XT_HPP_HERE_) {
    return xt_arange_at(&w, n, dtype);
}
inline tensor scalar(double value, xt_dtype dtype = XT_F32,
                     where w = XT_HPP_HERE_) { /* data: changing it never recompiles */
    return xt_scalar_at(&w, value, dtype);
}
inline tensor state(const char *name, xt_dtype dtype, shape dims, where w = XT_HPP_HERE_) {
    return xt_state_at(&w, name, dtype, dims);
}
inline tensor cat(const std::vector<tensor> &parts, int axis, where w = XT_HPP_HERE_) {
    std::vector<xt_tensor> t(parts.begin(), parts.end());
    return xt_concat_at(&w, static_cast<int>(t.size()), t.data(), axis);
}
inline tensor stack(const std::vector<tensor> &parts, int axis, where w = XT_HPP_HERE_) {
    std::vector<xt_tensor> t(parts.begin(), parts.end());
    return xt_stack_at(&w, static_cast<int>(t.size()), t.data(), axis);
}
/* x where the condition holds, else y; either or both may be numbers (xt::where is a line) */
inline tensor where_(tensor condition, operand x, operand y, where w = XT_HPP_HERE_) {
    if (x.is_number && y.is_number)
        return xt_where_numbers_at(&w, condition, x.number, y.number,
                                   x.kind == y.kind                       ? x.kind
                                   : x.kind == XT_F32 || y.kind == XT_F32 ? XT_F32
                                                                          : XT_I64);
    if (y.is_number) return xt_where_scalar_at(&w, condition, x.t, y.number);
    return x.is_number ? xt_where_of_scalar_at(&w, condition, x.number, y.t) : xt_where_at(&w, condition, x.t, y.t);
}
inline tensor cross_entropy(tensor logits, tensor labels, xt_class_loss_opts o = {}, where w = XT_HPP_HERE_) {
    return xt_cross_entropy_at(&w, logits, labels, o);
}
inline tensor mse_loss(tensor x, tensor y, xt_loss_opts o = {}, where w = XT_HPP_HERE_) {
    return xt_mse_loss_at(&w, x, y, o);
}
inline tensor bce_with_logits(tensor x, tensor y, xt_bce_opts o = {}, where w = XT_HPP_HERE_) {
    return xt_bce_with_logits_at(&w, x, y, o);
}
inline bool mark_step(where w = XT_HPP_HERE_) {
    return xt_mark_step_at(&w);
}
inline void wait(where w = XT_HPP_HERE_) {
    xt_wait_at(&w);
}
/* Until the end of the block: what is recorded has no gradient. */
struct no_grad {
    where at; /* the block's line */
    explicit no_grad(where w = XT_HPP_HERE_) : at(w) { xt_no_grad_begin(); }
    ~no_grad() { xt_no_grad_end_at(&at); }
    no_grad(const no_grad &) = delete;
    no_grad &operator=(const no_grad &) = delete;
};

/* --- Handles --- */
inline bool &finished_() {
    static bool f = false;
    return f;
}
/* Ends the program, as xt_finish; what is destroyed later has been freed by it. */
inline int finish(where w = XT_HPP_HERE_) {
    finished_() = true;
    return xt_finish_at(&w);
}
template <auto free_handle> struct free_ {
    template <class T> void operator()(T *p) const {
        if (!finished_()) free_handle(p);
    }
};

/* --- Modules --- */
/* A module, or a child of one, as layers see it: borrowed. */
class scope {
    xt_module *m_;

  public:
    scope(xt_module *m) : m_(m) {}
    operator xt_module *() const { return m_; }
    scope sub(const char *name, int index = -1) const { return (xt_sub)(m_, name, index); }
    scope share(const char *pattern) const { return xt_share(m_, pattern), *this; }
    scope sync_batch_norm(where w = XT_HPP_HERE_) const { return xt_sync_batch_norm_at(&w, m_), *this; }
    tensor find(const char *name) const { return xt_module_find(m_, name); }
    bool is_training() const { return xt_is_training(m_); }

    tensor linear(const char *name, tensor x, int64_t out, xt_linear_opts o = {}, where w = XT_HPP_HERE_) const {
        return xt_linear_at(&w, m_, name, x, out, o);
    }
    tensor embedding(const char *name, tensor i, int64_t vocab, int64_t dim, xt_embedding_opts o = {},
                     where w = XT_HPP_HERE_) const {
        return xt_embedding_at(&w, m_, name, i, vocab, dim, o);
    }
    tensor conv2d(const char *name, tensor x, int64_t out, int kernel, xt_conv_opts o = {},
                  where w = XT_HPP_HERE_) const {
        return xt_conv_at(&w, 2, false, m_, name, x, out, kernel, o);
    }
    tensor conv_transpose2d(const char *name, tensor x, int64_t out, int kernel, xt_conv_opts o = {},
                            where w = XT_HPP_HERE_) const {
        return xt_conv_at(&w, 2, true, m_, name, x, out, kernel, o);
    }
    tensor batch_norm(const char *name, tensor x, xt_norm_opts o = {}, where w = XT_HPP_HERE_) const {
        return xt_batch_norm_at(&w, m_, name, x, o);
    }
    tensor layer_norm(const char *name, tensor x, xt_norm_opts o = {}, where w = XT_HPP_HERE_) const {
        return xt_layer_norm_at(&w, m_, name, x, o);
    }
    tensor rms_norm(const char *name, tensor x, xt_norm_opts o = {}, where w = XT_HPP_HERE_) const {
        return xt_rms_norm_at(&w, m_, name, x, o);
    }
    tensor dropout(tensor x, double p, where w = XT_HPP_HERE_) const { return xt_dropout_at(&w, m_, x, p); }
    tensor self_attention(const char *name, tensor x, xt_attention_opts o, where w = XT_HPP_HERE_) const {
        return xt_self_attention_at(&w, m_, name, x, o);
    }
    xt_rnn_out lstm(const char *name, tensor x, int64_t hidden, xt_rnn_opts o = {}, where w = XT_HPP_HERE_) const {
        return xt_rnn_at(&w, XT_RNN_LSTM, m_, name, x, hidden, o);
    }
    xt_rnn_out gru(const char *name, tensor x, int64_t hidden, xt_rnn_opts o = {}, where w = XT_HPP_HERE_) const {
        return xt_rnn_at(&w, XT_RNN_GRU, m_, name, x, hidden, o);
    }
};

/* A network with a lambda for its forward: of a tensor, xt::module([](xt::scope m, xt::tensor x) { ... }), or of
 * several inputs and outputs, xt::module(2, 1, [](xt::scope m, const xt::tensor *in, xt::tensor *out) { ... }). */
class module {
  public:
    using one_fn = std::function<tensor(scope, tensor)>; /* x -> y */
    using many_fn = std::function<void(scope, const tensor *, tensor *)>; /* in[n_in] -> out[n_out], to be filled */
    explicit module(one_fn fn) : body_(new body{std::move(fn), {}, 1, 1, {}}) {
        m_.reset(xt_module_new(call_one, body_.get()));
        if (!m_) tensor::check_pending();
    }
    module(int n_in, int n_out, many_fn fn) :body_(new body{{}, std::move(fn), n_in, n_out, {}}) {
        m_.reset(xt_module_new_many(call_many, n_in, n_out, body_.get()));
        if (!m_) tensor::check_pending();
    }
    operator xt_module *() const { return m_.get(); }
    operator scope() const { return m_.get(); }
    scope root() const { return m_.get(); }
    tensor operator()(tensor x, where w = XT_HPP_HERE_) const {
        tensor y = xt_forward_at(&w, m_.get(), x);
        rethrow();
        return y;
    }
    /* of a module of several inputs and outputs */
    std::vector<tensor> operator()(const std::vector<tensor> &in, where w = XT_HPP_HERE_) const {
        std::vector<xt_tensor> x(in.begin(), in.end()), y(static_cast<size_t>(body_ ? body_->n_out : 0));
        xt_forward_many_at(&w, m_.get(), static_cast<int>(x.size()), x.data(), static_cast<int>(y.size()), y.data());
        rethrow();
        return std::vector<tensor>(y.begin(), y.end());
    }
    /* the same of two: m(a, b) */
    std::vector<tensor> operator()(tensor a, tensor b, where w = XT_HPP_HERE_) const {
        return (*this)(std::vector<tensor>{a, b}, w);
    }
    /* and of three */
    std::vector<tensor> operator()(tensor a, tensor b, tensor c, where w = XT_HPP_HERE_) const {
        return (*this)(std::vector<tensor>{a, b, c}, w);
    }
    /* The parameters, without data: xt::spec(XT_F32, {64, 1, 28, 28}) of each input. */
    void build(std::initializer_list<xt_spec> in) const {
        xt_status s = xt_module_build_many(m_.get(), static_cast<int>(in.size()), in.begin());
        if (body_ && body_->thrown) xt_status_free(s);
        rethrow();
        check(s);
    }
    void train(where w = XT_HPP_HERE_) const { xt_train_at(&w, m_.get()); }
    void eval(where w = XT_HPP_HERE_) const { xt_eval_at(&w, m_.get()); }
    void save(const char *path, where w = XT_HPP_HERE_) const { check(xt_save_at(&w, m_.get(), path)); }
    void load(const char *path, where w = XT_HPP_HERE_) const { check(xt_load_at(&w, m_.get(), path)); }
    tensor find(const char *name) const { return xt_module_find(m_.get(), name); }
    int64_t param_count() const { return xt_module_param_count(m_.get()); }

  private:
    struct body {
        one_fn one;
        many_fn many;
        int n_in, n_out;
        std::exception_ptr thrown; /* C does not let it through: it goes on behind the call */
    };
    /* What has thrown gives an input for an output, which nobody sees: C would tell that there is none. */
    static xt_tensor call_one(xt_module *m, xt_tensor x, void *user) {
        body *b = static_cast<body *>(user);
        try {
            return b->one(m, x);
        } catch (...) {
            b->thrown = std::current_exception();
            return x;
        }
    }
    static void call_many(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
        body *b = static_cast<body *>(user);
        try {
            std::vector<tensor> x(in, in + b->n_in), y(static_cast<size_t>(b->n_out));
            b->many(m, x.data(), y.data());
            for (size_t i = 0; i < y.size(); i++) out[i] = y[i];
        } catch (...) {
            b->thrown = std::current_exception();
            std::fill(out, out + b->n_out, in[0]);
        }
    }
    void rethrow() const {
        if (body_) rethrow_(body_->thrown);
    }
    std::unique_ptr<body> body_;
    std::unique_ptr<xt_module, free_<xt_module_free>> m_;
};
/* Evaluation mode until the end of the block; then each module has the mode it had. */
struct evaluating {
    where at; /* the block's line */
    scope m; /* with all below it */
    explicit evaluating(scope m_, where w = XT_HPP_HERE_) : at(w), m(m_) { xt_eval_begin_at(&at, m); }
    ~evaluating() { xt_eval_end_at(&at, m); }
    evaluating(const evaluating &) = delete;
    evaluating &operator=(const evaluating &) = delete;
};
/* A dtype and dims, as xt_spec of C: what a dataset's samples or a module's input are. */
inline xt_spec spec(xt_dtype dtype, std::initializer_list<int64_t> dims, where w = XT_HPP_HERE_) {
    xt_spec s{};
    int n = 0;
    s.dtype = dtype;
    check_rank_(dims.size(), w);
    for (int64_t d : dims) s.dims[n++] = d;
    return s;
}

/* --- Optimizers --- */
class optimizer {
    std::unique_ptr<xt_optimizer, free_<xt_optimizer_free>> o_;

  public:
    explicit optimizer(xt_optimizer *o) : o_(o) { /* takes it over: of any xt_NAME(module, ...) */
        if (!o) tensor::check_pending();
    }
    operator xt_optimizer *() const { return o_.get(); }
    void step(where w = XT_HPP_HERE_) const { xt_optimizer_step_at(&w, o_.get()); }
    void zero_grad(where w = XT_HPP_HERE_) const { xt_zero_grad_at(&w, o_.get()); }
};
inline optimizer sgd(const module &m, xt_sgd_opts o = {}, where w = XT_HPP_HERE_) {
    return optimizer(xt_sgd_opt(&w, m, o));
}
inline optimizer adam(const module &m, xt_adamw_opts o = {}, where w = XT_HPP_HERE_) {
    return optimizer(xt_adam_opt(&w, m, o));
}
inline optimizer adamw(const module &m, xt_adamw_opts o = {}, where w = XT_HPP_HERE_) {
    return optimizer(xt_adamw_opt(&w, m, o));
}

/* --- Data --- */
/* A dataset of a lambda, which fills sample i; owned by whoever gets it, as a loader does:
 *     xt::loader loader(xt::dataset(1000, x_spec, y_spec, [](int64_t i, void *x, void *y) { ... }), {.batch = 32});
 * Threads of the loader call it, several at a time; what it throws is the error of xt_next, with the sample. */
inline xt_dataset *dataset(int64_t count, xt_spec x, xt_spec y, std::function<void(int64_t, void *, void *)> fn,
                           where w = XT_HPP_HERE_) {
    using get = std::function<void(int64_t, void *, void *)>;
    xt_dataset_desc d{};
    d.struct_size = sizeof d;
    d.count = count;
    d.x = x;
    d.y = y;
    d.name = "xt::dataset";
    d.user = new get(std::move(fn));
    d.free_user = [](void *user) { delete static_cast<get *>(user); };
    d.get = [](void *user, int64_t i, void *to_x, void *to_y) -> xt_status {
        try {
            (*static_cast<get *>(user))(i, to_x, to_y);
            return nullptr;
        } catch (...) {
            return thrown_status();
        }
    };
    xt_dataset *made = xt_dataset_new_at(&w, &d);
    if (!made) d.free_user(d.user); /* which stays the caller's where none is made */
    return made;
}
/* for (xt_batch &b : loader) is an epoch: each ++ ends a step and begins one. */
class loader {
    std::unique_ptr<xt_loader, free_<xt_loader_free>> l_;

  public:
    explicit loader(xt_loader *l) : l_(l) { /* takes it over */
        if (!l) tensor::check_pending();
    }
    explicit loader(xt_dataset *d, xt_loader_opts o = {}, where w = XT_HPP_HERE_) : loader(xt_loader_opt(&w, d, o)) {}
    operator xt_loader *() const { return l_.get(); }
    bool next(xt_batch &b, where w = XT_HPP_HERE_) const { return xt_next_at(&w, l_.get(), &b); }
    int64_t batches() const { return xt_loader_batches(l_.get()); }
    class iterator {
        xt_loader *l_;
        where at_;
        xt_batch b_{};
        void next() {
            if (!xt_next_at(&at_, l_, &b_)) l_ = nullptr; /* of a loader that was moved from: the error says so */
        }

      public:
        explicit iterator(where w) : l_(nullptr), at_(w) {} /* the end */
        iterator(xt_loader *l, where w) : l_(l), at_(w) { next(); }
        xt_batch &operator*() { return b_; }
        xt_batch *operator->() { return &b_; }
        iterator &operator++() { return next(), *this; }
        bool operator!=(const iterator &o) const { return l_ != o.l_; }
    };
    /* The next epoch's batches: for (xt_batch &b : loader). */
    iterator begin(where w = XT_HPP_HERE_) const { return iterator(l_.get(), w); }
    iterator end(where w = XT_HPP_HERE_) const { return iterator(w); } /* behind the last batch */
};

/* --- Compiled steps --- */
/* xt::step step([&](const xt::tensor *in, int n) { ... return loss; }); step({x, y}) runs the program that the first
 * call recorded (xtrain/step.h). */
class step {
  public:
    using fn = std::function<tensor(const tensor *, int)>; /* in[n] -> the result, or none */
    /* f is called while the first call is recorded, and again where another shape asks for another program. */
    explicit step(fn f, where w = XT_HPP_HERE_) : body_(new body{std::move(f), {}}), made_(w) {
        make();
        if (!s_) tensor::check_pending();
    }
    tensor operator()(const std::vector<tensor> &in, where w = XT_HPP_HERE_) const {
        std::vector<xt_tensor> x(in.begin(), in.end());
        tensor y = xt_call_at(&w, s_.get(), static_cast<int>(x.size()), x.data());
        if (body_ && body_->thrown) {
            make(); /* what was recorded until then is no step */
            rethrow_(body_->thrown);
        }
        return y;
    }
    /* For functions of C; stays this object's. Another one behind a call whose lambda threw. */
    operator xt_step *() const { return s_.get(); }

  private:
    void make() const {
        xt_compile_opts o{};
        o.struct_size = sizeof o;
        o.user = body_.get();
        s_.reset(xt_compile_at(&made_, call, o));
    }
    struct body {
        fn f;
        std::exception_ptr thrown;
    };
    static xt_tensor call(const xt_tensor *in, int n, void *user) {
        body *b = static_cast<body *>(user);
        try {
            std::vector<tensor> x(in, in + n);
            return b->f(x.data(), n);
        } catch (...) {
            b->thrown = std::current_exception();
            return xt_tensor{};
        }
    }
    std::unique_ptr<body> body_;
    where made_;
    mutable std::unique_ptr<xt_step, free_<xt_step_free>> s_;
};

#undef XT_HPP_HERE_
} /* namespace xt */

#endif
