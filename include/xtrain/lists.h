/* Lists of axes, numbers and tensors as arguments, and how the macros of the tensor functions take options. */
#ifndef XTRAIN_LISTS_H
#define XTRAIN_LISTS_H

#include <xtrain/tensor.h>

#define XT_NAME_AS_AXES_                                                                                        \
    "a name stands where the axis does, which has none: xt_sum(x, 1), xt_sum(x, XT_AXES(0, 1)); options stand " \
    "behind it, as in xt_sum(x, XT_ALL_AXES, .keepdim = true)"
/* Numbers by value (xt_list), and an array of tensors: xt_stack(2, XT_TENSORS(x, y), 0). */
#ifdef __cplusplus
struct xt_numbers_ {
    xt_number_ given[2 * XT_MAX_RANK];
    xt_list list() const {
        xt_list l = {0, {}};
        for (; l.n < 2 * XT_MAX_RANK && given[l.n] != INT64_MIN; l.n++) l.v[l.n] = given[l.n];
        return l;
    }
};
/* numbers as one argument */
#define XT_LIST(...) (xt_numbers_{{__VA_ARGS__}}.list())
/* every axis: an empty list */
#define XT_ALL_AXES (xt_list{})
/* One axis is a list of one. */
inline xt_list xt_axes_of_(xt_list axes) {
    return axes;
}
inline xt_list xt_axes_of_(int64_t axis) {
    return {1, {axis}};
}
void xt_axes_of_(xt_dtype) = delete; /* a dtype stands where a number belongs */
void xt_axes_of_(xt_tensor) = delete; /* a tensor stands where a number belongs */
#define XT_AXES_OF_(axes) (XT_UNNAMED_(axes, XT_NAME_AS_AXES_), xt_axes_of_(axes))
template <int N> struct xt_tensor_array_ { xt_tensor d[N]; };
template <class... T> inline xt_tensor_array_<sizeof...(T)> xt_tensor_array_of_(T... v) {
    return {{v...}};
}
#define XT_TENSORS(...) (xt_tensor_array_of_(__VA_ARGS__).d)
#else
#define XT_LIST(...) \
    (XT_NUMBERS_(__VA_ARGS__), (xt_list){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define XT_ALL_AXES ((xt_list){.n = 0})
/* One axis is a list of one. */
static inline xt_list xt_axes_(xt_list axes) {
    return axes;
}
static inline xt_list xt_axis_(int64_t axis) {
    return (xt_list){.n = 1, .v = {axis}};
}
#define XT_AXES_OF_(axes)                                                                      \
    (XT_UNNAMED_(axes, XT_NAME_AS_AXES_), XT_CHECK_(!XT_IS_DTYPE_(axes), XT_DTYPE_AS_NUMBER_), \
     _Generic((axes), xt_list                                                                  \
              : xt_axes_, default                                                              \
              : xt_axis_)(axes))
#define XT_TENSORS(...) ((const xt_tensor[]){__VA_ARGS__})
#endif
/* several axes as one argument: xt_sum(x, XT_AXES(0, 2)) */
#define XT_AXES(...) XT_LIST(__VA_ARGS__)

/* How the macros of tensor functions put options into a struct, after one to four arguments. */
#define XT_OPT1_(f, opts, a, ...) f(XT_HERE, a, XT_OPTS(opts, __VA_ARGS__))
#define XT_OPT2_(f, opts, a, b, ...) f(XT_HERE, a, b, XT_OPTS(opts, __VA_ARGS__))
/* l: a list, or a number, which is a list of one */
#define XT_OPT2L_(f, opts, a, l, ...) f(XT_HERE, a, XT_AXES_OF_(l), XT_OPTS(opts, __VA_ARGS__))
#define XT_OPT2N_(f, opts, a, n, ...) f(XT_HERE, a, XT_NUMBER_(n), XT_OPTS(opts, __VA_ARGS__)) /* n: a number */
#define XT_OPT3_(f, opts, a, b, c, ...) f(XT_HERE, a, b, c, XT_OPTS(opts, __VA_ARGS__))
#define XT_OPT4_(f, opts, a, b, c, d, ...) f(XT_HERE, a, b, c, d, XT_OPTS(opts, __VA_ARGS__))
#endif
