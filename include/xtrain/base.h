/* What every other public header needs: versions, dtypes, source positions, status, switches, the output sink.
 *
 * Conventions of the whole library, said once:
 *  - Sizes are bytes, times are seconds (double) unless a name says otherwise (`_ms`, `_ns`), dims are int64_t.
 *  - Strings are UTF-8 and NUL-terminated; a `const char *` argument is copied unless the comment says it is kept.
 *  - `X_create`/`X_new` give a handle that is yours, a getter gives one that is borrowed, `release`/`free` accept NULL.
 *  - Nothing in the library aborts on a user's error. An error that no function could return (of a tensor, of a step)
 *    is printed once, when it arises, through xt_set_sink's sink; where nobody has looked at it when the step ends, the
 *    process exits with code 1 (tensor.h). A status that a function returns is the caller's: one that was neither read
 *    (xt_status_message, xt_status_code) nor freed when the step ends is such an error then. xt_on_error is for
 *    programs that embed the library and must go on.
 *  - Options have names: xt_sgd(net, .lr = 0.1). A value without one does not compile, or is an error.
 *  - Option structs start with `struct_size`; the macros fill it; in a struct you fill by hand (xt_dataset_desc) 0
 *    means this header's.
 *     .struct_size: sizeof the struct as the program knows it, by which older and newer libraries tell its fields
 *     .user: what the struct's functions get as their `user`; the library hands it on and never looks into it
 *     .free_user: called with `user` when its owner is gone; NULL: nothing is to be freed
 *  - An explicit 0 is 0. What a call with named options leaves out has the default that the struct's list
 *    (XT_DEFAULTS_...) says, 0 or NULL where the list has none. Who calls a function behind a macro (X_at, X_opt) with
 * a struct made by hand says all of it: begin with XT_OPTS(xt_adamw_opts, .lr = 0.1), for a field that such a struct
 *    leaves out is 0. In C++ `xt_adamw_opts o;` has the defaults too. */
#ifndef XTRAIN_BASE_H
#define XTRAIN_BASE_H

/* An older language meets hundreds of errors in what follows: one sentence, and a file that is not there ends it. */
#if defined(__cplusplus) ? __cplusplus < 201703L : !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "xtrain's headers need C11 or C++17: -std=c11, -std=c++17 or later"
#include <xtrain needs -std=c11 or -std=c++17>
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of these headers; xt_version() is the library's. */
#define XT_VERSION_MAJOR 0
#define XT_VERSION_MINOR 1
#define XT_VERSION_PATCH 0
#define XT_VERSION "0.1.0"

#if defined(XT_BUILDING) && (defined(__GNUC__) || defined(__clang__))
#define XT_API __attribute__((visibility("default")))
#else
#define XT_API
#endif
/* A result that says whether the call has done its work: the compiler warns where nobody looks at it. */
#if defined(__GNUC__) || defined(__clang__)
#define XT_CHECK __attribute__((warn_unused_result))
#else
#define XT_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- Source positions ---
 * Every graph-building name is a macro that passes XT_HERE, so every report can name the caller's own line without
 * debug information. The struct is read during the call only. */
/* A line of the program: where a call stands. */
typedef struct xt_src {
    const char *file; /* as __FILE__ has it; kept as it is */
    int line; /* from 1; 0 = not known */
    const char *func; /* the function around the call, __func__ */
} xt_src;

#ifdef __cplusplus
} /* a C++ temporary lives to the end of the full expression, as a C compound literal does at least */
struct xt_src_here_ : xt_src {
    operator const xt_src *() const { return this; }
};
/* The caller's own line, as an argument: what the macros pass to the functions behind them. */
#define XT_HERE (static_cast<const xt_src *>(xt_src_here_{{__FILE__, __LINE__, __func__}}))
extern "C" {
#else
#define XT_HERE (&(const xt_src){__FILE__, __LINE__, __func__})
#endif

/* --- Arguments that a call needs ---
 * A macro that is called without one does not compile, and one line says what is missing. */
#ifdef __cplusplus
#define XT_OR_0_(number) xt_or_0_(number)
#define XT_CHECK_BOTH_(a, a_text, b, b_text) \
    ((void)[] {                              \
        static_assert(a, a_text);            \
        static_assert(b, b_text);            \
    })
/* A lambda that nobody calls: before C++20 sizeof takes none. */
#define XT_CHECK_(condition, text) ((void)[] { static_assert(condition, text); })
#else
#define XT_CHECK_(condition, text)       \
    ((void)sizeof(struct {               \
        _Static_assert(condition, text); \
        int unused;                      \
    }))
#define XT_CHECK_BOTH_(a, a_text, b, b_text) \
    ((void)sizeof(struct {                   \
        _Static_assert(a, a_text);           \
        _Static_assert(b, b_text);           \
        int unused;                          \
    }))
#define XT_OR_0_(number) (((const int64_t[1]){number})[0])
#endif
/* `number` may be empty, and is then 0 */
#ifdef __cplusplus
#define XT_NEEDED_(number, text) (XT_CHECK_(sizeof(#number) > 1, text), XT_OR_0_(number))
#else
#define XT_NEEDED_(number, text)                                                                        \
    (XT_CHECK_(sizeof(#number) > 1, text), XT_CHECK_(!XT_IS_DTYPE_TEXT_(#number), XT_DTYPE_AS_NUMBER_), \
     XT_OR_0_(number))
#endif

/* The same of the arguments behind the last one that the preprocessor counts, as the program writes them: there is
 * none, or the first is an option. (Behind macros the text would be what nested calls have become.) */
#define XT_GIVEN_(given, text) XT_CHECK_(sizeof(given) > 1 && !XT_HAS_NAME_(given), text)
#define XT_HAS_NAME_(text) (__builtin_strncmp(text, ".", 1) == 0 && __builtin_strncmp(text, ".9", 2) > 0)
/* A name in front of an argument that is known by its place (xt_softmax(x, .dim = -1), where PyTorch has dim=-1) makes
 * it no expression: this sentence stands before what the compiler says of that. */
#define XT_UNNAMED_(argument, text) XT_CHECK_(!XT_HAS_NAME_(#argument), text)
#define XT_NAME_IN_PLACE_                                                                                    \
    "a name (.dim = 1) stands before an argument that is known by its place: the value alone stands there, " \
    "xt_softmax(x, -1), xt_dropout(m, x, 0.1)"

/* --- Arguments that may be left out ---
 * The last ones, as in PyTorch: xt_tril(x) is xt_tril(x, 0). The defaults stand behind what the call gives, and what is
 * left over of them shows whether it gave too much. */
#define XT_LAST_(most, ...)                                                      \
    XT_CHECK_(XT_HOW_MANY_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, ) <= (most) + 1, \
              "the call has more arguments than the function takes")
#define XT_HOW_MANY_(a, b, c, d, e, f, g, h, n, ...) n
/* Two or three defaults that differ: f with x, what is given of the numbers behind it, and the defaults of the others.
 * A default that is put in its place by position alone would be taken for another number. */
#define XT_FILL2_(f, d1, d2, ...)                                                                          \
    XT_FILL_BY_(__VA_ARGS__, XT_FILL2_ALL_, XT_FILL2_ALL_, XT_FILL2_ALL_, XT_FILL2_ONE_, XT_FILL2_NONE_, ) \
    (f, d1, d2, __VA_ARGS__)
#define XT_FILL3_(f, d1, d2, d3, ...)                                                                      \
    XT_FILL_BY_(__VA_ARGS__, XT_FILL3_ALL_, XT_FILL3_ALL_, XT_FILL3_TWO_, XT_FILL3_ONE_, XT_FILL3_NONE_, ) \
    (f, d1, d2, d3, __VA_ARGS__)
#define XT_FILL_BY_(a, b, c, d, e, n, ...) n
#define XT_FILL2_NONE_(f, d1, d2, x) f(x, d1, d2, )
#define XT_FILL2_ONE_(f, d1, d2, x, a) f(x, a, d2, )
#define XT_FILL2_ALL_(f, d1, d2, ...) f(__VA_ARGS__, )
#define XT_FILL3_NONE_(f, d1, d2, d3, x) f(x, d1, d2, d3, )
#define XT_FILL3_ONE_(f, d1, d2, d3, x, a) f(x, a, d2, d3, )
#define XT_FILL3_TWO_(f, d1, d2, d3, x, a, b) f(x, a, b, d3, )
#define XT_FILL3_ALL_(f, d1, d2, d3, ...) f(__VA_ARGS__, )

/* --- Options have names ---
 * `text` is a call's options as they are written, behind macros: each begins with its name (.lr = 0.1), so a value
 * alone (xt_sgd(m, 0.1)) is a mistake. C++ looks at all of them while it compiles; in C the first is looked at then,
 * gcc looks at the others, and with clang the call itself does: an error that is pending. */
#define XT_TEXT_(...) #__VA_ARGS__
#define XT_NAMED_TEXT_ "options are named, as in .lr = 0.1: a value without its name says nothing of what it is for"
#ifdef __cplusplus
constexpr const char *xt_past_quoted_(const char *at, char quote) {
    while (*at && *at != quote) at += *at == '\\' && at[1] ? 2 : 1;
    return at;
}
/* Whether one of the arguments, as they are written, begins so. */
constexpr bool xt_any_argument_(const char *text, bool (*begins)(const char *)) {
    int depth = 0;
    for (bool first = true; *text; text++) {
        if (first && *text == ' ') continue;
        if (first && begins(text)) return true;
        first = depth == 0 && *text == ',';
        if (*text == '(' || *text == '{' || *text == '[') depth++;
        if (*text == ')' || *text == '}' || *text == ']') depth--;
        if (*text == '"' || *text == '\'') text = xt_past_quoted_(text + 1, *text);
        if (!*text) return false;
    }
    return false;
}
constexpr bool xt_name_begins_(const char *text) { /* .5 is a number */
    return *text == '.' && (text[1] < '0' || text[1] > '9');
}
constexpr bool xt_value_begins_(const char *text) {
    return *text != ',' && !xt_name_begins_(text);
}
constexpr bool xt_named_(const char *text) {
    return !xt_any_argument_(text, xt_value_begins_);
}
#define XT_NAMED_(text) XT_CHECK_(xt_named_(text), XT_NAMED_TEXT_)
#else
#define XT_NAMED_(text)                                                                                     \
    (sizeof(struct {                                                                                        \
         _Static_assert(sizeof(text) == 1 || __builtin_strncmp(text, ",", 1) == 0 ||                        \
                            (__builtin_strncmp(text, ".", 1) == 0 && __builtin_strncmp(text, ".9", 2) > 0), \
                        XT_NAMED_TEXT_);                                                                    \
         int unused;                                                                                        \
     }) > 0)
#endif
#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#define XT_OPTIONS_ __attribute__((designated_init))
#else
#define XT_OPTIONS_
#endif
/* What the macros put into struct_size with clang: gives `size`, and leaves an error pending where an option in `text`
 * (a call's options as above, behind macros) has no name. Does not wait. */
XT_API size_t xt_named_size_at(const xt_src *src, size_t size, const char *text);

/* --- Options ---
 * Each option struct has one list of its defaults, XT_DEFAULTS_<struct>(is): is(field, value) for every field whose
 * default is not 0. The macros put it in front of the caller's fields; in C++, where a field can be named once only,
 * the members are initialised from it. The library's checks, --help and configuration files read the same lists. */
#define XT_AUTO (-__builtin_huge_val()) /* a double that the function chooses by itself, as its comment says */
#define XT_UNSET INT64_MIN /* the same, a whole number */
#define XT_AXIS_AUTO INT32_MIN /* the same, an axis */
#define XT_SEED_OF_RUN UINT64_MAX
/* XT_OPTS(xt_adamw_opts, .lr = 0.1): a struct of options, all others as by default. */
#if defined(__GNUC__) && !defined(__clang__)
/* Warnings that are none of the caller's (fields said twice in C, fields left out in C++) are off from one statement
 * expression, which is only looked at for its size, to the other. The caller's own initialisers keep theirs. */
#ifdef __cplusplus
#define XT_STRICT_
#else /* what C takes for an option: one without a name, and a constant of another enum */
#define XT_STRICT_                                                                                              \
    _Pragma("GCC diagnostic error \"-Wdesignated-init\"") _Pragma("GCC diagnostic error \"-Wenum-conversion\"") \
        _Pragma("GCC diagnostic ignored \"-Woverlength-strings\"")                                              \
            _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")
#endif
#define XT_QUIET_BEGIN_(warning) __extension__({ _Pragma("GCC diagnostic push") _Pragma(warning) XT_STRICT_ 0; })
#define XT_QUIET_END_ __extension__({ _Pragma("GCC diagnostic pop") 0; })
#endif
#ifdef __cplusplus
#define XT_OPTS_(type, ...)                      \
    type {                                       \
        .struct_size = sizeof(type), __VA_ARGS__ \
    }
#ifdef XT_QUIET_END_
} /* no template has C linkage */
template <class T> constexpr T xt_options_(size_t, const T &o, size_t) {
    return o;
}
extern "C" {
#define XT_OPTS(type, ...)                                                                           \
    (XT_NAMED_(XT_TEXT_(__VA_ARGS__)),                                                               \
     xt_options_(sizeof(XT_QUIET_BEGIN_("GCC diagnostic ignored \"-Wmissing-field-initializers\"")), \
                 XT_OPTS_(type, __VA_ARGS__), sizeof(XT_QUIET_END_)))
#else
#define XT_OPTS(type, ...)                                                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")( \
        XT_NAMED_(XT_TEXT_(__VA_ARGS__)), XT_OPTS_(type, __VA_ARGS__)) _Pragma("GCC diagnostic pop")
#endif
#define XT_DEFAULT_(field, value) static constexpr auto field = value;
#define XT_DEFAULTS_OF(type)            \
    struct type##_defaults_ {           \
        XT_DEFAULTS_##type(XT_DEFAULT_) \
    };
/* in C++ the field's default from its struct's list, in C nothing: the macros of the calls have it there */
#define XT_IS(type, field) = type##_defaults_::field
/* the same of struct_size, which has the struct's size */
#define XT_SIZE(type) = sizeof(type)
/* 0, NULL or none: with it g++ has nothing to say of fields that a program leaves out */
#define XT_ZERO = {}
#else
#define XT_DEFAULTS_OF(type)
#define XT_IS(type, field)
#define XT_SIZE(type)
#define XT_ZERO
#define XT_DEFAULT_(field, value) .field = value,
#define XT_OPTS_(type, ...) XT_SIZED_OPTS_(type, sizeof(type), __VA_ARGS__)
#define XT_SIZED_OPTS_(type, size, ...) ((type){.struct_size = size, XT_DEFAULTS_##type(XT_DEFAULT_) __VA_ARGS__})
#if defined(__clang__)
#define XT_OPTS(type, ...)                                                                                             \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Winitializer-overrides\"")                   \
        _Pragma("clang diagnostic ignored \"-Woverlength-strings\"")                                                   \
            _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"")                                       \
                _Pragma("clang diagnostic error \"-Wenum-conversion\"") __builtin_choose_expr(                         \
                    XT_NAMED_(XT_TEXT_(__VA_ARGS__)),                                                                  \
                    XT_SIZED_OPTS_(type, xt_named_size_at(XT_HERE, sizeof(type), XT_TEXT_(__VA_ARGS__)), __VA_ARGS__), \
                    0) _Pragma("clang diagnostic pop")
#elif defined(__GNUC__)
#define XT_OPTS(type, ...)                                                                             \
    __builtin_choose_expr(sizeof(XT_QUIET_BEGIN_("GCC diagnostic ignored \"-Woverride-init\"")) > 0 && \
                              XT_NAMED_(XT_TEXT_(__VA_ARGS__)),                                        \
                          XT_OPTS_(type, __VA_ARGS__), XT_QUIET_END_)
#else
#define XT_OPTS(type, ...) XT_OPTS_(type, __VA_ARGS__)
#endif
#endif
/* An argument that is one of an enum's words: another enum's does not compile (in C++ it never does). */
#if defined(__cplusplus) || !defined(__GNUC__)
#define XT_WORD_(type, word) (word)
#elif defined(__clang__)
#define XT_WORD_(type, word)                                                                               \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic error \"-Wenum-conversion\"")((type){word}) \
        _Pragma("clang diagnostic pop")
#else
#define XT_WORD_(type, word)                                                                                         \
    __builtin_choose_expr(sizeof(XT_QUIET_BEGIN_("GCC diagnostic ignored \"-Woverride-init\"")) > 0, ((type){word}), \
                          XT_QUIET_END_)
#endif

/* The highest rank of a front-end tensor (the IR itself has no limit). */
#define XT_MAX_RANK 8
/* Up to 16 numbers by value: XT_AXES(0, 2), XT_LIST(1, 1) of lists.h. */
typedef struct xt_list {
    int n; /* how many; of axes 0: all */
    int64_t v[2 * XT_MAX_RANK]; /* the first n of them */
} xt_list;

/* --- Element types: the numbers are PJRT_Buffer_Type's, so the device boundary needs no translation. --- */
/* The type of a tensor's elements. The host has one byte for a bool and for each type of fewer than 8 bits. */
typedef enum xt_dtype {
    XT_DTYPE_NONE = 0, /* no dtype: of {0}, and of options that leave the choice to the function */
    XT_BOOL = 1, /* 0 or 1 */
    XT_I8 = 2, /* int8_t */
    XT_I16 = 3, /* int16_t */
    XT_I32 = 4, /* int32_t */
    XT_I64 = 5, /* int64_t: indices and labels */
    XT_U8 = 6, /* uint8_t: pictures */
    XT_U16 = 7, /* uint16_t */
    XT_U32 = 8, /* uint32_t */
    XT_U64 = 9, /* uint64_t */
    XT_F16 = 10, /* IEEE half: 5 bits of exponent, 10 of mantissa */
    XT_F32 = 11, /* float */
    XT_F64 = 12, /* double */
    XT_BF16 = 13, /* bfloat16: float's 8 bits of exponent, 7 of mantissa */
    XT_C64 = 14, /* complex of two floats */
    XT_C128 = 15, /* complex of two doubles */
    XT_F8E5M2 = 16, /* 8 bits: 5 of exponent, 2 of mantissa, with infinities (gradients) */
    XT_F8E4M3FN = 17, /* 8 bits: 4 of exponent, 3 of mantissa, NaN but no infinity (weights) */
    XT_F8E4M3B11FNUZ = 18, /* as XT_F8E4M3FNUZ, exponent bias 11 */
    XT_F8E5M2FNUZ = 19, /* as XT_F8E5M2 without infinities and -0, bias 16 */
    XT_F8E4M3FNUZ = 20, /* as XT_F8E4M3FN without -0, bias 8 */
    XT_I4 = 21, /* -8 to 7 */
    XT_U4 = 22, /* 0 to 15 */
    XT_TOKEN = 23, /* no number: the order of effects in a StableHLO program; no tensor has it */
    XT_I2 = 24, /* -2 to 1 */
    XT_U2 = 25, /* 0 to 3 */
    XT_F8E4M3 = 26, /* as XT_F8E4M3FN with infinities (IEEE's way) */
    XT_F8E3M4 = 27, /* 8 bits: 3 of exponent, 4 of mantissa, with infinities */
    XT_F8E8M0FNU = 28, /* 8 bits of exponent alone: a power of two, the scale of a block of numbers */
    XT_F4E2M1FN = 29, /* 4 bits: 2 of exponent, 1 of mantissa; no NaN, no infinity */
    XT_I1 = 30, /* -1 and 0 */
    XT_U1 = 31, /* 0 and 1 */
    XT_F6E2M3FN = 32, /* 6 bits: 2 of exponent, 3 of mantissa; no NaN, no infinity */
    XT_F6E3M2FN = 33, /* 6 bits: 3 of exponent, 2 of mantissa; no NaN, no infinity */
    XT_DTYPE_COUNT /* how many there are: no dtype */
} xt_dtype;
#ifdef __cplusplus
#define XT_DTYPE_(dtype) (dtype)
#else
/* C takes any number for an enum, and its constants for ints. With their type they can be told from numbers: in place
 * of a dtype one is a mistake (xt_zeros(2, 3) is no tensor of 2 x 3). */
#define XT_BOOL ((xt_dtype)XT_BOOL)
#define XT_I8 ((xt_dtype)XT_I8)
#define XT_I16 ((xt_dtype)XT_I16)
#define XT_I32 ((xt_dtype)XT_I32)
#define XT_I64 ((xt_dtype)XT_I64)
#define XT_U8 ((xt_dtype)XT_U8)
#define XT_U16 ((xt_dtype)XT_U16)
#define XT_U32 ((xt_dtype)XT_U32)
#define XT_U64 ((xt_dtype)XT_U64)
#define XT_F16 ((xt_dtype)XT_F16)
#define XT_F32 ((xt_dtype)XT_F32)
#define XT_F64 ((xt_dtype)XT_F64)
#define XT_BF16 ((xt_dtype)XT_BF16)
#define XT_C64 ((xt_dtype)XT_C64)
#define XT_C128 ((xt_dtype)XT_C128)
#define XT_F8E5M2 ((xt_dtype)XT_F8E5M2)
#define XT_F8E4M3FN ((xt_dtype)XT_F8E4M3FN)
#define XT_F8E4M3B11FNUZ ((xt_dtype)XT_F8E4M3B11FNUZ)
#define XT_F8E5M2FNUZ ((xt_dtype)XT_F8E5M2FNUZ)
#define XT_F8E4M3FNUZ ((xt_dtype)XT_F8E4M3FNUZ)
#define XT_I4 ((xt_dtype)XT_I4)
#define XT_U4 ((xt_dtype)XT_U4)
#define XT_TOKEN ((xt_dtype)XT_TOKEN)
#define XT_I2 ((xt_dtype)XT_I2)
#define XT_U2 ((xt_dtype)XT_U2)
#define XT_F8E4M3 ((xt_dtype)XT_F8E4M3)
#define XT_F8E3M4 ((xt_dtype)XT_F8E3M4)
#define XT_F8E8M0FNU ((xt_dtype)XT_F8E8M0FNU)
#define XT_F4E2M1FN ((xt_dtype)XT_F4E2M1FN)
#define XT_I1 ((xt_dtype)XT_I1)
#define XT_U1 ((xt_dtype)XT_U1)
#define XT_F6E2M3FN ((xt_dtype)XT_F6E2M3FN)
#define XT_F6E3M2FN ((xt_dtype)XT_F6E3M2FN)
#define XT_DTYPE_(dtype)                                                                                            \
    (XT_UNNAMED_(dtype, XT_NAME_IN_PLACE_),                                                                         \
     XT_CHECK_(                                                                                                     \
         _Generic((dtype), xt_dtype : 1, default : 0),                                                              \
         "a number stands where a dtype belongs (XT_F32, XT_I64, ..., (xt_dtype)n), as in xt_zeros(XT_F32, 2, 3)"), \
     (dtype))
#endif

/* A dtype where a number belongs (a dim, a count, an axis, a factor: xt_linear(m, "fc", x, XT_F32)) would be its
 * number: a mistake as well, as is a tensor (xt_concat(x, y, 0)). XT_NUMBER_ gives its argument, XT_NUMBERS_ looks at
 * the first ten of a list, and XT_NO_DTYPE_AMONG_ at those of a call that takes lists in place, by their texts: none of
 * them is the name of a dtype. */
#ifdef __cplusplus
}
struct xt_tensor;
template <class T> constexpr T xt_number_of_(T number) {
    return number;
}
int xt_number_of_() = delete; /* a number is missing: a dim, a count, an axis or a factor */
int xt_number_of_(xt_dtype) = delete; /* a dtype stands where a number belongs */
int xt_number_of_(const xt_tensor &) = delete; /* a tensor stands where a number belongs */
int xt_number_of_(const xt_list &) = delete; /* a list stands where plain numbers belong */
template <class T> constexpr int64_t xt_or_0_(T number) {
    return static_cast<int64_t>(number);
}
constexpr int64_t xt_or_0_() {
    return 0;
}
int64_t xt_or_0_(xt_dtype) = delete; /* a dtype stands where a number belongs */
struct xt_number_ { /* a dim or an axis as the caller gives it; INT64_MIN: none */
    int64_t n;
    constexpr xt_number_() : n(INT64_MIN) {}
    template <class T> constexpr xt_number_(T number) : n(static_cast<int64_t>(number)) {}
    xt_number_(xt_dtype) = delete; /* a dtype stands where a number belongs */
    xt_number_(xt_tensor) = delete; /* a tensor stands where a number belongs */
    xt_number_(const xt_list &) = delete; /* a list stands where plain numbers belong: xt_expand(x, 2, 3) */
    xt_number_(float) = delete; /* a fraction stands where a dim or an axis belongs */
    xt_number_(double) = delete; /* a fraction stands where a dim or an axis belongs */
    constexpr operator int64_t() const { return n; }
};
/* Whether a dtype's name is all of an argument: XT_, letters, a digit. */
constexpr bool xt_dtype_begins_(const char *text) {
    if (text[0] != 'X' || text[1] != 'T' || text[2] != '_') return false;
    for (text += 3; *text >= 'A' && *text <= 'Z'; text++) {
    }
    if (*text < '0' || *text > '9') return false;
    for (; (*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z'); text++) {
    }
    return *text == 0 || *text == ',' || *text == ' ';
}
#define XT_ANY_NAME_(...) xt_any_argument_(XT_TEXT_(__VA_ARGS__), xt_name_begins_)
#define XT_NO_NAMES_(...) XT_CHECK_(!XT_ANY_NAME_(__VA_ARGS__), XT_NAME_IN_PLACE_)
#define XT_DTYPE_AS_NUMBER_ "a dtype stands where a number belongs: a dim, a count, an axis or a factor"
#define XT_NUMBER_(number) (XT_UNNAMED_(number, XT_NAME_IN_PLACE_), xt_number_of_(number))
#define XT_ANY_DTYPE_(...) xt_any_argument_(XT_TEXT_(__VA_ARGS__), xt_dtype_begins_)
extern "C" {
#else
/* An unsigned number has the type of every enum for _Generic, an xt_dtype that of itself alone. */
typedef enum xt_no_dtype_ { XT_NONE_OF_THEM_ } xt_no_dtype_;
typedef int64_t xt_number_;
#define XT_IS_DTYPE_(number) \
    _Generic((number), xt_no_dtype_ : 0, default : _Generic((number), xt_dtype : 1, default : 0))
#define XT_IS_DTYPE_TEXT_(text) (__builtin_strncmp(text, "((xt_dtype)", 11) == 0)
#define XT_DTYPE_AS_NUMBER_                                                                               \
    "a dtype stands where a number belongs: a dim, a count, an axis or a factor; xt_zeros(XT_F32, 2, 3) " \
    "and xt_from_array(data, XT_F32, 2, 3) take the dtype first"
#define XT_IS_TENSOR_(number) _Generic((number), xt_tensor : 1, default : 0)
#define XT_TENSOR_AS_NUMBER_                                                                                \
    "a tensor stands where a number belongs: a dim, a count, an axis or a factor; a list of tensors comes " \
    "behind its count, as in xt_concat(2, XT_TENSORS(x, y), 0)"
#define XT_FIRST_IS_LIST_(number, ...) _Generic((number), xt_list : 1, default : 0)
#define XT_LIST_AS_NUMBER_ \
    "a list stands where plain numbers belong, one argument each: xt_expand(x, 2, 3), xt_softmax(x, 1)"
#define XT_NUMBER_(number)                                                                                           \
    (XT_CHECK_(sizeof(#number) > 1, "a number is missing: a dim, a count, an axis or a factor"),                     \
     XT_UNNAMED_(number, XT_NAME_IN_PLACE_), XT_CHECK_(!XT_IS_DTYPE_(number), XT_DTYPE_AS_NUMBER_),                  \
     XT_CHECK_BOTH_(!XT_IS_TENSOR_(number), XT_TENSOR_AS_NUMBER_, !XT_FIRST_IS_LIST_(number, ), XT_LIST_AS_NUMBER_), \
     (number))
#define XT_NUMBERS_(...)                                                                                \
    (XT_CHECK_BOTH_(!XT_ANY_NAME_(__VA_ARGS__), XT_NAME_IN_PLACE_,                                      \
                    !XT_ANY_IS_DTYPE_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), XT_DTYPE_AS_NUMBER_), \
     XT_CHECK_(!XT_FIRST_IS_LIST_(__VA_ARGS__, ), XT_LIST_AS_NUMBER_))
#define XT_ANY_IS_DTYPE_(a, b, c, d, e, f, g, h, i, j, ...)                                                      \
    (XT_IS_DTYPE_(a) | XT_IS_DTYPE_(b) | XT_IS_DTYPE_(c) | XT_IS_DTYPE_(d) | XT_IS_DTYPE_(e) | XT_IS_DTYPE_(f) | \
     XT_IS_DTYPE_(g) | XT_IS_DTYPE_(h) | XT_IS_DTYPE_(i) | XT_IS_DTYPE_(j))
#define XT_ANY_NAME_(...) XT_ANY_NAME_OF_TEN_(__VA_ARGS__, , , , , , , , , , , )
#define XT_ANY_NAME_OF_TEN_(a, b, c, d, e, f, g, h, i, j, ...)                                           \
    (XT_HAS_NAME_(#a) || XT_HAS_NAME_(#b) || XT_HAS_NAME_(#c) || XT_HAS_NAME_(#d) || XT_HAS_NAME_(#e) || \
     XT_HAS_NAME_(#f) || XT_HAS_NAME_(#g) || XT_HAS_NAME_(#h) || XT_HAS_NAME_(#i) || XT_HAS_NAME_(#j))
#define XT_ANY_DTYPE_(...) XT_ANY_DTYPE_OF_TEN_(__VA_ARGS__, , , , , , , , , , , )
#define XT_ANY_DTYPE_OF_TEN_(a, b, c, d, e, f, g, h, i, j, ...)                                          \
    (XT_IS_DTYPE_TEXT_(#a) || XT_IS_DTYPE_TEXT_(#b) || XT_IS_DTYPE_TEXT_(#c) || XT_IS_DTYPE_TEXT_(#d) || \
     XT_IS_DTYPE_TEXT_(#e) || XT_IS_DTYPE_TEXT_(#f) || XT_IS_DTYPE_TEXT_(#g) || XT_IS_DTYPE_TEXT_(#h) || \
     XT_IS_DTYPE_TEXT_(#i) || XT_IS_DTYPE_TEXT_(#j))
#endif
#define XT_NO_DTYPE_AMONG_(...) XT_CHECK_(!XT_ANY_DTYPE_(__VA_ARGS__), XT_DTYPE_AS_NUMBER_)
/* Both. (Where a list in place may be a struct's, whose fields have names, only XT_NO_DTYPE_AMONG_.) */
#define XT_NO_DTYPE_(...) \
    XT_CHECK_BOTH_(!XT_ANY_NAME_(__VA_ARGS__), XT_NAME_IN_PLACE_, !XT_ANY_DTYPE_(__VA_ARGS__), XT_DTYPE_AS_NUMBER_)

XT_API const char *xt_dtype_name(xt_dtype t); /* "f32", "i64", "bool", ...; "none" for what is not a dtype */
XT_API size_t xt_dtype_size(xt_dtype t); /* bytes of one element on the host; sub-byte types and bool take 1 */

/* A dtype and a shape; the rank is the number of dims before the first 0. {XT_F32, {1, 28, 28}}; a scalar is {XT_I64}
 * among options, elsewhere {XT_I64, {0}} where -Wextra is to be silent. */
typedef struct xt_spec {
    xt_dtype dtype; /* of the elements */
    int64_t dims[XT_MAX_RANK]; /* up to the first 0 */
} xt_spec;

/* --- Switches: in C true and false are as good. XT_DEFAULT is what is said of the option: for one that depends on
 * where it is asked for, what it is without being named. --- */
/* An option that is on or off. */
typedef enum xt_switch {
    XT_OFF = 0, /* no */
    XT_ON = 1, /* yes */
    XT_DEFAULT = 2 /* what the option is when nobody names it */
} xt_switch;

/* How several numbers become one: logged values (metrics.h: to XT_LAST) and losses (losses.h: mean, sum, none, batch
 * mean); collectives (collective.h: sum, mean, min, max, product, and, or). Zero: the mean, for collectives the sum. */
typedef enum xt_reduce {
    XT_REDUCE_DEFAULT = 0, /* as said above: the mean, or the sum */
    XT_MEAN, /* the mean of all */
    XT_SUM, /* the sum of all */
    XT_MIN, /* the smallest; of a `mode`: smaller is better */
    XT_MAX, /* the largest; of a `mode`: larger is better */
    XT_LAST, /* the newest alone */
    XT_NONE, /* none: each stays a value of its own */
    XT_BATCH_MEAN, /* the sum divided by dim 0 (xt_kl_div) */
    XT_PRODUCT, /* all multiplied */
    XT_AND, /* all true; integers: bit by bit */
    XT_OR /* one true; integers: bit by bit */
} xt_reduce;

/* --- Status ---
 * NULL is success. The codes are PJRT's. A status carries a message, the user's source line where one is known, and
 * context added on the way up. It belongs to whoever receives it, and reading or freeing it is what counts as having
 * looked at it: `if (xt_save(net, path)) ...` alone leaves an error that ends the program at its next step, so a
 * program that goes on without says xt_status_free(s). */
/* What kind of error a status is. */
typedef enum xt_code {
    XT_OK = 0, /* no error: a status that is NULL */
    XT_CANCELLED = 1, /* given up because somebody asked for it */
    XT_UNKNOWN = 2, /* of a plugin or a peer that does not say */
    XT_INVALID_ARGUMENT = 3, /* the call is wrong whatever the state: shapes, options, malformed files */
    XT_DEADLINE_EXCEEDED = 4, /* it took longer than it may: a rank, a compiler */
    XT_NOT_FOUND = 5, /* no such file, name, plugin or class */
    XT_ALREADY_EXISTS = 6, /* what was to be made is there */
    XT_PERMISSION_DENIED = 7, /* the system does not let this user */
    XT_RESOURCE_EXHAUSTED = 8, /* no memory (host or device), no disk space, no file handles */
    XT_FAILED_PRECONDITION = 9, /* right, but not in this state: something else has to come before, or is over */
    XT_ABORTED = 10, /* ended because something else failed: another rank, a pending error */
    XT_OUT_OF_RANGE = 11, /* behind the end: a step of a schedule that is over, an index */
    XT_UNIMPLEMENTED = 12, /* not there: an op of a device, a version of a format */
    XT_INTERNAL = 13, /* a mistake of the library or of a plugin: please report it */
    XT_UNAVAILABLE = 14, /* a device or a host does not answer now */
    XT_DATA_LOSS = 15, /* a file or a transfer is damaged or cut */
    XT_UNAUTHENTICATED = 16 /* of a plugin whose device asks who is there */
} xt_code;

/* An error, or NULL: success. An opaque handle; xt_status_free. */
typedef struct xt_status_s *xt_status;

XT_API xt_code xt_status_code(xt_status s); /* XT_OK for NULL */
XT_API const char *xt_code_name(xt_code c); /* "INVALID_ARGUMENT", ... */
#define xt_code_name(code) (xt_code_name)(XT_WORD_(xt_code, code))
/* whole text with "file:line: " in front when known; "" for NULL */
XT_API const char *xt_status_message(xt_status s);
XT_API void xt_status_free(xt_status s); /* NULL is allowed; ends the text that xt_status_message gave */
/* Errors name no line of files whose names begin so, as the compiler wrote them: for a program that runs other people's
 * models, as the xtrain command does, its own lines say nothing. Called at the start, before other threads; `prefix` is
 * kept as it is. More than 8 are not heeded. */
XT_API void xt_hide_source(const char *prefix);
/* For functions of one's own that return a status (a dataset's get): a status with this code and message, printf's way.
 * Never NULL for a code but XT_OK. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 2, 3)))
#endif
XT_API xt_status
xt_status_new(xt_code code, const char *fmt, ...);
/* A new status: a code and its message, as printf writes it. */
#define xt_status_new(code, ...) (xt_status_new)(XT_WORD_(xt_code, code), __VA_ARGS__)

/* A whole file, for functions of one's own (a tokenizer, a model's configuration). Reading: a regular file, or a pipe
 * without a name; a folder, a FIFO or a device is an error before it is opened. *out has a 0 behind its *n bytes and is
 * freed by xt_text_free (program.h). Writing: the file is there whole and on the disk, or what was there before stays;
 * no link that another user made is followed. */
XT_API XT_CHECK xt_status xt_read_file(const char *path, char **out, size_t *n);
/* As reading, for a file that is read where it lies: a regular file alone. *out_fd is the caller's to close, -1 after
 * an error. */
XT_API XT_CHECK xt_status xt_open_file(const char *path, int *out_fd);
/* n bytes as the whole of a file, in place of what was there: as said of writing above. */
XT_API XT_CHECK xt_status xt_write_file(const char *path, const void *data, size_t n);
/* A folder, with those above it; one that is there is fine. Nothing is made through a link that another user made.
 * *out_made, which may be NULL: it was not there before. */
XT_API XT_CHECK xt_status xt_make_folder(const char *path, bool *out_made);

/* Where a user frees on the way out: xt_try-like macro for functions that return xt_status themselves. */
#define XT_TRY(expr)                     \
    do {                                 \
        xt_status xt_try_s_ = (expr);    \
        if (xt_try_s_) return xt_try_s_; \
    } while (0)

/* --- Output ---
 * Summaries, progress, warnings and reports go through one sink, stderr by default. `text` is whole lines (progress
 * repaints start with '\r'). Called from any thread, one call at a time. NULL restores the default. */
/* How important a text of the sink is. */
typedef enum xt_severity {
    XT_SEV_DEBUG, /* details for the search of mistakes */
    XT_SEV_INFO, /* summaries and reports */
    XT_SEV_PROGRESS, /* the progress bar; each replaces the one before */
    XT_SEV_WARNING, /* the run goes on, but not as meant */
    XT_SEV_ERROR /* errors, when they arise */
} xt_severity;
/* Takes n bytes of text, which are valid during the call; `user` is xt_set_sink's. */
typedef void (*xt_sink_fn)(xt_severity sev, const char *text, size_t n, void *user);
/* All output from here on goes to fn; NULL: to stderr again. `user` stays the caller's. */
XT_API void xt_set_sink(xt_sink_fn fn, void *user);

/* Version of the library that runs, and the check the headers make when a program is linked against another one. */
XT_API const char *xt_version(void);

/* Objects alive by kind ("tensor", "buffer", "executable", "module", ...); 0 for an unknown kind. For leak tests. */
XT_API int64_t xt_live_objects(const char *kind);

#ifdef __cplusplus
}
#endif
#endif

/* --- Functions of the program's ---
 * A function that the library calls returns to it. One that is left by longjmp, or by a C++ exception that is caught
 * further up, takes the library's call with it: what that had under way is dropped (the next call says so where a step
 * or a function was being recorded), and what it held lives until xt_finish. On threads of the library (functions of
 * datasets, streams, samplers and loggers, and of xt_when_ready) nobody catches an exception: the process ends by
 * SIGABRT, with a line that names the function. xtrain.hpp makes errors of exceptions: xt::caught, xt::dataset. */
