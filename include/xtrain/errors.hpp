/* Lines, errors and shapes of the C++ functions: what the other parts of xtrain.hpp stand on. A part of xtrain.hpp. */
#ifndef XTRAIN_ERRORS_HPP
#define XTRAIN_ERRORS_HPP

#include <algorithm>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtrain/xtrain.h>

namespace xt {

/* --- Lines, errors --- */
/* The caller's place: XT_HPP_HERE_ is a default argument, whose line is that of the call. */
struct place : xt_src {
    /* file, line, function */
    place(const char *f, int l, const char *fn) : xt_src{f, l, fn} {}
};
#define XT_HPP_HERE_ ::xt::place(__builtin_FILE(), __builtin_LINE(), __builtin_FUNCTION())

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

/* What libtorch has and this does not: who calls it is told at compile time what to do. */
template <class...> inline constexpr bool never_ = false;

/* Arguments that are told apart by what they are: a bool is no axis, a dtype, which C counts as a number, is none. */
template <class T> using if_bool_ = std::enable_if_t<std::is_same_v<T, bool>, int>;
template <class T> using if_number_ = std::enable_if_t<std::is_arithmetic_v<T>, int>;
template <class T> using if_axis_ = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int>;

inline void check_rank_(size_t rank, const place &w) {
    if (rank > XT_MAX_RANK)
        check(xt_status_new(XT_INVALID_ARGUMENT, "%s:%d: a shape of %d dims; a tensor has at most %d", w.file, w.line,
                            static_cast<int>(rank), XT_MAX_RANK));
}
/* Up to XT_MAX_RANK dims as the C functions take them; more of them throw. */
struct shape {
    int64_t d[XT_MAX_RANK + 1]; /* ends with 0 */
    /* {2, 3}; a dim of 0 is an error of what takes the shape */
    shape(std::initializer_list<int64_t> dims, place w = XT_HPP_HERE_) {
        check_rank_(dims.size(), w);
        int n = 0;
        for (int64_t x : dims) d[n++] = x ? x : XT_DIMS_END_;
        d[n] = 0;
    }
    /* one dim: x.view(-1) */
    template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
    shape(T dim, place w = XT_HPP_HERE_) : shape({static_cast<int64_t>(dim)}, w) {}
    operator const int64_t *() const { return d; } /* ends with 0 */
};

/* Up to XT_MAX_RANK axes, negative ones from the end: x.sum({0, 1}); more of them throw. */
struct axes {
    xt_list list{}; /* as the C functions take them */
    /* any number of them */
    axes(std::initializer_list<int> of, place w = XT_HPP_HERE_) {
        check_rank_(of.size(), w);
        for (int axis : of) list.v[list.n++] = axis;
    }
    /* one */
    template <class T, if_axis_<T> = 0> axes(T axis) { list.v[list.n++] = static_cast<int>(axis); }
};

} /* namespace xt */

#endif
