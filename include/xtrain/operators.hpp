/* Operators of tensors in C++, and the methods that take what operators do. A part of xtrain.hpp. */
#ifndef XTRAIN_OPERATORS_HPP
#define XTRAIN_OPERATORS_HPP

#include <xtrain/tensor.hpp>

namespace xt {

/* No stream takes a tensor: x.print() writes its numbers, x.read<float>() gives them. */
template <class S, class = decltype(std::declval<S &>().rdbuf())> S &operator<<(S &stream, const tensor &) {
    static_assert(never_<S>, "a tensor goes into no stream: x.print() writes its numbers, x.read<float>() gives them");
    return stream;
}

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

#define XT_HPP_METHOD_(name, fn)                                                                 \
    inline tensor tensor::name(operand y) const {                                                \
        return y.is_number ? fn##_scalar_at(&y.at, t_, y.number) : fn##_at(&y.at, t_, y.t);      \
    }                                                                                            \
    inline tensor name(operand x, operand y) {                                                   \
        if (y.is_number) return fn##_scalar_at(&y.at, x.t, y.number);                            \
        return x.is_number ? fn##_of_scalar_at(&x.at, x.number, y.t) : fn##_at(&x.at, x.t, y.t); \
    }
XT_HPP_BOTH_(XT_HPP_METHOD_)
#undef XT_HPP_METHOD_
/* alpha y, of a number too */
inline operand scaled_(operand y, double alpha) {
    if (y.is_number)
        y.number *= alpha;
    else if (alpha != 1)
        y.t = y * alpha;
    return y;
}
inline tensor tensor::add(operand y, double alpha) const {
    return add(scaled_(y, alpha));
}
inline tensor tensor::sub(operand y, double alpha) const {
    return sub(scaled_(y, alpha));
}

} /* namespace xt */

#endif
