/* Tensors: recorded lazily, executed at step boundaries.
 *
 * An xt_tensor is an 8-byte value handle. It lives until the end of the step that made it (xt_next and xt_mark_step end
 * steps, as do xt_wait, xt_call, xt_save, xt_load and what else says so); xt_keep makes it outlive the step. A dead
 * handle is a named error with both lines, never undefined behaviour. {0} is "none".
 *
 * In a loop without xt_next and xt_mark_step, forward, xt_backward, xt_optimizer_step, the step ends by itself: from
 * the third iteration on (the fourth, where each makes an optimizer) at its first call, so that what an iteration
 * computes, assigns and logs behind its last update is of its own step (XT_DEBUG=compile names the calls). More than an
 * xt_mark_step there leaves alive: what was made behind that update, the losses of the iteration, data from before the
 * loop and data that each iteration reads, what iterations hand on to the next, and of an inner loop's iterations what
 * the outer one has made in front of it (a batch, returns, an answer under no_grad), until the same line makes it anew;
 * xt_keep makes anything else outlive the iteration. An optimizer made where an earlier one was made goes on with its
 * loop; step.h says what ends loops of xt_call. An optimizer that is stepped twice between boundaries makes two steps
 * for that reason, and two inner loops of updates, one behind the other, are two loops, whatever stands around them.
 * Not so where gradients flow back from one iteration into the one before, in the Trainer, and in evaluation (no
 * gradients, or xt_eval behind the update): there xt_mark_step ends it, and a loop of 500 reads in one step is told.
 *
 * Errors travel: an op on wrong shapes gives an error tensor that remembers op, shapes and line; everything fed by it
 * does nothing; the first one is the pending error of the thread, and the step is dropped: states keep their values,
 * reads give NaN.
 *
 * A pending error is printed once, with its line, when it arises. If the program looks at it (xt_error, or
 * xt_status_message or xt_status_code of a status that says the same), it is the program's own business: xt_mark_step
 * and xt_next give false until xt_clear_error. If nobody has looked when a step ends (xt_mark_step, xt_wait, xt_next,
 * the next xt_call, xt_finish, the end of the program), the process exits with code 1, after what is in flight, logs
 * and files have been brought to their end. What xt_mark_step returns cannot be seen to be looked at. A status that a
 * function has given and that was neither read nor freed by then is a pending error there (base.h). A rank that died or
 * left ends the others at once.
 *
 * No function here waits for the device except xt_item, xt_read and xt_wait. Reading in the middle of a step runs a
 * program of its own for that value: it never changes, cuts or recompiles the training program. Broadcasting follows
 * NumPy; mixed dtypes promote as in PyTorch. A tensor belongs to the thread that made it.
 *
 * A thread that is cancelled (pthread_cancel) while it is in a call ends behind it, where the call returns no tensor:
 * at the beginning of its next call that is no op, and in xt_fit and other passes of the Trainer between two batches.
 * No lock stays held, and other threads go on.
 *
 *     xt_tensor x = xt_from_array(data, XT_F32, 2, 3), y = xt_mul(x, x);
 *     printf("%g\n", xt_item(xt_mean(y))); */
#ifndef XTRAIN_TENSOR_H
#define XTRAIN_TENSOR_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A handle of a value: passed and copied as a number is. */
typedef struct xt_tensor {
    uint32_t slot, generation; /* the library's: a place, and which of its owners is meant (0: none) */
} xt_tensor;

/* --- Life --- */
#define xt_keep(t) xt_keep_at(XT_HERE, t) /* t outlives its step until xt_drop; gives t back */
/* gives back what xt_keep or xt_state made to last; the handle is dead from here on */
#define xt_drop(t) xt_drop_at(XT_HERE, t)
XT_API xt_tensor xt_keep_at(const xt_src *src, xt_tensor t);
XT_API void xt_drop_at(const xt_src *src, xt_tensor t);
/* Whether t is {0}: no tensor, and no error. */
XT_API bool xt_is_none(xt_tensor t);
XT_API bool xt_is_error(xt_tensor t); /* an error tensor, or a dead handle */
/* Both end the step. xt_backward of a loss of the step before stays right, kept or not: what it needs of the forward is
 * recorded again, with the same batch, random numbers and statistics, and XT_DEBUG=exec reports how much, and which
 * line ended the step. So do gradients through a kept tensor. Kept for this: the steps in which nothing was
 * differentiated, until the next one ends (two more, for kept tensors and results of xt_call). An error with both
 * lines: parameters changed in between, or the step is too long ago. */
/* ends the step: compiles or finds its program, starts it; false after an error */
#define xt_mark_step() xt_mark_step_at(XT_HERE)
XT_API bool xt_mark_step_at(const xt_src *src);
/* ends the step as xt_mark_step does, then waits until all of it has finished (a sync) */
#define xt_wait() xt_wait_at(XT_HERE)
XT_API bool xt_wait_at(const xt_src *src);
/* the pending error of this thread, borrowed; NULL if none. The program has looked at it by this */
XT_API xt_status xt_error(void);
XT_API void xt_clear_error(void); /* forget it: the process stays usable */
/* For programs that embed the library: fn(error, user) is called once for each failure, on the thread that meets it,
 * instead of the message and the exit; `error` is borrowed. Nothing is printed then and the process is never ended:
 * returning means to go on, with the error pending until that thread calls xt_clear_error after the call that failed
 * (in fn it does nothing). fn may be called by several threads at a time, records nothing and ends no step. One for the
 * process; NULL restores the default. */
typedef void (*xt_error_fn)(xt_status error, void *user);
XT_API void xt_on_error(xt_error_fn fn, void *user); /* `user` stays the caller's */
/* Ends the program: last boundary, waits, closes loaders' and loggers' threads, prints the cost summary. 0, or 1 with a
 * pending error; one that nobody has looked at, and no handler was told of, exits with code 1 here. While another
 * thread is in xt_fit, or another pass of the Trainer, it is an error and ends nothing. Behind exit(), in destructors
 * of static objects and handlers that are older than the device, nothing is computed any more: an error too. */
#define xt_finish() xt_finish_at(XT_HERE)
XT_API int xt_finish_at(const xt_src *src);

/* --- Shape --- */
XT_API xt_dtype xt_dtype_of(xt_tensor t); /* XT_DTYPE_NONE for none, error or dead */
XT_API int xt_rank_of(xt_tensor t); /* number of dims; 0 too for an error */
XT_API int64_t xt_dim(xt_tensor t, int i); /* negative counts from the end; 0 for an error or out of range */
XT_API int64_t xt_numel(xt_tensor t); /* product of the dims; 1 of a scalar, 0 for an error */

/* --- Making ---
 * Shapes are trailing int64 arguments: xt_zeros(XT_F32, 2, 3). A scalar has none. A dim that is 0 is an error, and not
 * the end of the shape: xt_from_data makes tensors without elements. */
#define XT_DIMS_END_ INT64_MIN /* stands behind the 0 that ends a shape, and in place of a dim that is 0 */
/* Dims as the functions behind the macros take them: up to the first 0. */
static inline const int64_t *xt_shape_(int64_t *d) {
    int end = 0;
    while (end < XT_MAX_RANK + 1 && d[end] != XT_DIMS_END_) end++;
    for (int i = 0; i + 1 < end; i++)
        if (d[i] == 0) d[i] = XT_DIMS_END_;
    return d;
}
#ifdef __cplusplus
} /* braced lists: each number becomes an xt_number_ where the caller wrote it */
struct xt_dims_ {
    xt_number_ given[XT_MAX_RANK + 2];
    int64_t d[XT_MAX_RANK + 2] = {};
    const int64_t *shape() {
        for (int i = 0; i < XT_MAX_RANK + 2; i++) d[i] = given[i];
        return xt_shape_(d);
    }
};
#define XT_DIMS_(...) (XT_NO_NAMES_(__VA_ARGS__), xt_dims_{{__VA_ARGS__, XT_DIMS_END_}}.shape())
struct xt_ints_ {
    xt_number_ given[XT_MAX_RANK + 1];
    int v[XT_MAX_RANK + 1] = {};
    const int *ints() {
        for (int i = 0; i < XT_MAX_RANK + 1; i++) v[i] = static_cast<int>(given[i].n);
        return v;
    }
};
template <class... T> constexpr int xt_count_(T...) {
    return static_cast<int>(sizeof...(T));
}
#define XT_INTS_(...)                                                                                                \
    (XT_NO_NAMES_(__VA_ARGS__), xt_count_(__VA_ARGS__)), (xt_ints_{{__VA_ARGS__}}.ints()) /* how many, and the array \
                                                                                           */
extern "C" {
#else
#define XT_DIMS_(...) (XT_NUMBERS_(__VA_ARGS__), xt_shape_((int64_t[XT_MAX_RANK + 2]){__VA_ARGS__, XT_DIMS_END_}))
#define XT_INTS_(...)                                                                              \
    (XT_NUMBERS_(__VA_ARGS__), (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int))), (const int[]) { \
        __VA_ARGS__                                                                                \
    }
#endif
/* xt_from_array(data, dtype, dims...): copies; uploads at once. The data may be a list in place, whose commas are none
 * of the macro's: xt_from_array((float[]){1, 2, 3}, XT_F32, 3). `dims` of the functions end at the first 0. */
#define xt_from_array(...)                                                                                      \
    (XT_CHECK_(!XT_DIM_AS_DTYPE_(__VA_ARGS__, XT_TWO_, XT_TWO_, ),                                              \
               "xt_from_array(data, dtype, dims...): the dtype is missing, as in xt_from_array(v, XT_F32, 8)"), \
     XT_ARRAY_DTYPE_(__VA_ARGS__, 0), XT_ARRAY_DIMS_(__VA_ARGS__, , , , , , , , , ),                            \
     xt_from_array_(XT_HERE, XT_ARRAY_(__VA_ARGS__, 0, XT_DIMS_END_)))
/* Of two arguments, whether the second begins with a digit. */
#define XT_DIM_AS_DTYPE_(data, dtype, third, ...)                                         \
    (__builtin_strcmp(#third, "XT_TWO_") == 0 && __builtin_memcmp(#dtype, "0", 1) >= 0 && \
     __builtin_memcmp(#dtype, "9", 1) <= 0)
/* C takes a count for the dtype, and a list of data in place is no one argument of a macro's that _Generic could look
 * behind. A function's parameter can: gcc gives a transparent union its members' types alone, clang chooses among
 * functions of one name, which is what the compiler says. */
#if defined(__clang__) && !defined(__cplusplus)
int xt_from_array_needs_a_dtype_behind_the_data(const void *data, xt_dtype dtype, ...) __attribute__((overloadable));
/* of `n ? XT_F32 : XT_F64` */
int xt_from_array_needs_a_dtype_behind_the_data(const void *data, unsigned dtype, ...) __attribute__((overloadable));
#define XT_NO_ARRAY_DTYPE_(type)                                                        \
    int xt_from_array_needs_a_dtype_behind_the_data(const void *data, type number, ...) \
        __attribute__((overloadable, unavailable("as in xt_from_array(v, XT_F32, 8)")))
XT_NO_ARRAY_DTYPE_(int);
XT_NO_ARRAY_DTYPE_(long);
XT_NO_ARRAY_DTYPE_(unsigned long);
XT_NO_ARRAY_DTYPE_(long long);
XT_NO_ARRAY_DTYPE_(unsigned long long);
#define XT_ARRAY_DTYPE_(...) ((void)sizeof(xt_from_array_needs_a_dtype_behind_the_data(__VA_ARGS__)))
#elif defined(__GNUC__) && !defined(__cplusplus)
typedef union xt_dtype_alone_ {
    xt_dtype dtype;
} __attribute__((transparent_union)) xt_dtype_alone_;
int xt_from_array_needs_a_dtype_behind_the_data(const void *data, xt_dtype_alone_ dtype, ...);
#define XT_ARRAY_DTYPE_(...) ((void)__extension__ sizeof(xt_from_array_needs_a_dtype_behind_the_data(__VA_ARGS__)))
#else
#define XT_ARRAY_DTYPE_(...) ((void)0)
#endif
/* In C a list of data in place may stand where a dim would: a dim's text is a dtype's name, the text before it does not
 * end a list. */
#ifdef __cplusplus
#define XT_ARRAY_DIMS_(...) ((void)0)
#else
#define XT_ARRAY_DIMS_(data, a, b, c, d, e, f, g, h, i, ...)                                  \
    XT_CHECK_(!(XT_IS_DTYPE_DIM_(a, b) || XT_IS_DTYPE_DIM_(b, c) || XT_IS_DTYPE_DIM_(c, d) || \
                XT_IS_DTYPE_DIM_(d, e) || XT_IS_DTYPE_DIM_(e, f) || XT_IS_DTYPE_DIM_(f, g) || \
                XT_IS_DTYPE_DIM_(g, h) || XT_IS_DTYPE_DIM_(h, i)),                            \
              XT_DTYPE_AS_NUMBER_)
#define XT_IS_DTYPE_DIM_(before, dim) \
    (XT_IS_DTYPE_TEXT_(#dim) && __builtin_memcmp(&(" " #before)[sizeof(#before) - 1], "}", 1) != 0)
#endif
#ifdef __cplusplus
}
/* An array written in braces at the call is a temporary, whose address g++ does not give; it lives until the call has
 * ended. */
struct xt_data_ {
    const void *at;
    xt_data_(const void *p) : at(p) {}
    template <class T, size_t N> xt_data_(T (&&array)[N]) : at(array) {}
    operator const void *() const { return at; }
};
extern "C" {
#define XT_ABSENT_ = 0
#define XT_ARRAY_OF_(...) (xt_array_{__VA_ARGS__})
#else
typedef const void *xt_data_;
#define XT_ABSENT_
#define XT_ARRAY_OF_(...) ((xt_array_){__VA_ARGS__})
#endif
/* The arguments as a list; dims by name, for braces around some of them would be missed. */
typedef struct xt_array_ {
    xt_data_ data;
    xt_dtype dtype;
    xt_number_ a XT_ABSENT_, b XT_ABSENT_, c XT_ABSENT_, d XT_ABSENT_, e XT_ABSENT_, f XT_ABSENT_, g XT_ABSENT_,
        h XT_ABSENT_, i XT_ABSENT_, j XT_ABSENT_; /* XT_MAX_RANK and two */
} xt_array_;
#if defined(__clang__)
#define XT_ARRAY_(...)                                                                                    \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"") \
        XT_ARRAY_OF_(__VA_ARGS__) _Pragma("clang diagnostic pop")
#elif defined(__GNUC__) && !defined(__cplusplus)
#define XT_ARRAY_(...)                                                                                            \
    __builtin_choose_expr(sizeof(XT_QUIET_BEGIN_("GCC diagnostic ignored \"-Wmissing-field-initializers\"")) > 0, \
                          XT_ARRAY_OF_(__VA_ARGS__), XT_QUIET_END_)
#else
#define XT_ARRAY_(...) XT_ARRAY_OF_(__VA_ARGS__)
#endif
XT_API xt_tensor xt_from_array_at(const xt_src *src, const void *data, xt_dtype dtype, const int64_t *dims);
static inline xt_tensor xt_from_array_(const xt_src *src, xt_array_ x) {
    int64_t dims[XT_MAX_RANK + 2] = {x.a, x.b, x.c, x.d, x.e, x.f, x.g, x.h, x.i, x.j};
    return xt_from_array_at(src, x.data, x.dtype, xt_shape_(dims));
}
XT_API xt_tensor xt_from_data_at(const xt_src *src, const void *data, xt_dtype dtype, int rank, const int64_t *dims);
/* as xt_from_array, with the dims as an array [rank], of which some may be 0 */
#define xt_from_data(data, dtype, rank, dims) xt_from_data_at(XT_HERE, data, XT_DTYPE_(dtype), XT_NUMBER_(rank), dims)
/* all `value` */
#define xt_full(value, ...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_full(value, dtype, ...): dtype is missing"), XT_FULL_(value, __VA_ARGS__, 0))
#define XT_FULL_(value, dtype, ...) xt_full_at(XT_HERE, XT_NUMBER_(value), XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
#define XT_FILLED_(at, dtype, ...) at(XT_HERE, XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
#define xt_zeros(...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_zeros(dtype, dims...): dtype is missing"), XT_FILLED_(xt_zeros_at, __VA_ARGS__, 0))
/* all 1 */
#define xt_ones(...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_ones(dtype, dims...): dtype is missing"), XT_FILLED_(xt_ones_at, __VA_ARGS__, 0))
XT_API xt_tensor xt_full_at(const xt_src *src, double value, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_zeros_at(const xt_src *src, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_ones_at(const xt_src *src, xt_dtype dtype, const int64_t *dims);
/* xt_arange(n, dtype = XT_I64): 0 .. n-1; xt_arange(start, stop, step, dtype): as xt_range, the dtype may be left out
 * (i64, f32 where a number is a floating one) */
#define xt_arange(...) \
    XT_FILL_BY_(__VA_ARGS__, , XT_ARANGE_OF_, XT_ARANGE_STEPS_, XT_ARANGE_DTYPE_, XT_ARANGE_I64_, )(__VA_ARGS__)
#define XT_ARANGE_I64_(n) xt_arange_at(XT_HERE, XT_NUMBER_(n), XT_I64)
#define XT_ARANGE_DTYPE_(n, dtype) xt_arange_at(XT_HERE, XT_NUMBER_(n), XT_DTYPE_(dtype))
#define XT_ARANGE_STEPS_(start, stop, step)                                     \
    xt_range_at(XT_HERE, XT_NUMBER_(start), XT_NUMBER_(stop), XT_NUMBER_(step), \
                (__typeof__((start) + (stop) + (step)))1 / 2 > 0 ? (XT_F32) : (XT_I64))
#define XT_ARANGE_OF_(start, stop, step, dtype) xt_range(start, stop, step, dtype)
XT_API xt_tensor xt_arange_at(const xt_src *src, int64_t n, xt_dtype dtype);
/* data, not a constant: changing it never recompiles */
/* xt_scalar(value, dtype = XT_F32) */
#define xt_scalar(...) XT_SCALAR_(__VA_ARGS__, XT_F32, )
#define XT_SCALAR_(value, dtype, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_scalar_at(XT_HERE, XT_NUMBER_(value), XT_DTYPE_(dtype)))
XT_API xt_tensor xt_scalar_at(const xt_src *src, double value, xt_dtype dtype);

/* State of one's own (a cache, a running mean): zeros at first, lives until xt_drop. What xt_assign gives it is its
 * value for what is recorded after, and for the steps that follow; the memory is updated in place. Same dtype and
 * shape; an assignment of anything else, or to what is no state, is an error. No gradient flows through the assignment
 * of what is a leaf, a parameter above all (torch asks for no_grad there). */
/* xt_state("cache", XT_F32, 12, 64) */
#define xt_state(name, ...) XT_STATE_(name, __VA_ARGS__, 0)
#define XT_STATE_(name, dtype, ...) xt_state_at(XT_HERE, name, XT_DTYPE_(dtype), XT_DIMS_(__VA_ARGS__))
#define xt_assign(state, value) xt_assign_at(XT_HERE, state, value)
XT_API xt_tensor xt_state_at(const xt_src *src, const char *name, xt_dtype dtype, const int64_t *dims);
XT_API void xt_assign_at(const xt_src *src, xt_tensor state, xt_tensor value);

/* How a function of two tensors takes a number for one of them: its form is chosen by what stands there, each argument
 * is evaluated once, and the call is made from the caller's own function. */
#define XT_TWO_NUMBERS_                                                                                          \
    "two numbers stand where one of the two is a tensor: C's own operators make one of them, xt_scalar(v) is a " \
    "tensor of one"
#ifdef __cplusplus
}
template <class Two, class Behind, class Before> constexpr Two xt_form_(xt_tensor, xt_tensor, Two two, Behind, Before) {
    return two;
}
template <class Two, class Behind, class Before>
constexpr Behind xt_form_(xt_tensor, double, Two, Behind behind, Before) {
    return behind;
}
template <class Two, class Behind, class Before>
constexpr Before xt_form_(double, xt_tensor, Two, Behind, Before before) {
    return before;
}
template <class Two, class Behind, class Before> constexpr Behind xt_form_(double, double, Two, Behind behind, Before) {
    static_assert(sizeof(Two) == 0, XT_TWO_NUMBERS_);
    return behind;
}
template <class Two, class Behind, class Before>
void xt_form_(xt_tensor, xt_dtype, Two, Behind, Before) = delete; /* a dtype stands where a number belongs */
template <class Two, class Behind, class Before>
void xt_form_(xt_dtype, xt_tensor, Two, Behind, Before) = delete; /* a dtype stands where a number belongs */
extern "C" {
#define XT_FORM_(fn, a, b) xt_form_(a, b, fn##_at, fn##_scalar_at, fn##_of_scalar_at)
#define XT_ONCE_(name, argument) auto name = (argument)
#define XT_ONE_TENSOR_(a, b) (void)0 /* xt_form_ says it */
#else
#define XT_ONE_TENSOR_(a, b) _Static_assert(XT_IS_TENSOR_(a) || XT_IS_TENSOR_(b), XT_TWO_NUMBERS_)
#define XT_FORM_(fn, a, b) \
    _Generic(a, xt_tensor : _Generic(b, xt_tensor : fn##_at, default : fn##_scalar_at), default : fn##_of_scalar_at)
#define XT_ONCE_(name, argument)   \
    __auto_type name = (argument); \
    _Static_assert(!XT_IS_DTYPE_(name), XT_DTYPE_AS_NUMBER_)
#endif
#define XT_TWO_(fn, x, y) XT_TWO_OF_(fn, x, y, __COUNTER__)
#define XT_TWO_OF_(fn, x, y, n) XT_TWO_AS_(fn, x, y, n)
#define XT_TWO_AS_(fn, x, y, n)                                                \
    (__extension__({                                                           \
        XT_ONCE_(xt_x##n##_, x);                                               \
        XT_ONCE_(xt_y##n##_, y);                                               \
        XT_ONE_TENSOR_(xt_x##n##_, xt_y##n##_);                                \
        XT_FORM_(fn, xt_x##n##_, xt_y##n##_)(XT_HERE, xt_x##n##_, xt_y##n##_); \
    }))
#define XT_WHERE_(cond, x, y, n) XT_WHERE_AS_(cond, x, y, n)
#define XT_WHERE_AS_(cond, x, y, n)                                                    \
    (__extension__({                                                                   \
        XT_ONCE_(xt_x##n##_, x);                                                       \
        XT_ONCE_(xt_y##n##_, y);                                                       \
        XT_WHERE_FORM_(xt_x##n##_, xt_y##n##_)(XT_HERE, cond, xt_x##n##_, xt_y##n##_); \
    }))

/* --- Elementwise. Unary ops on integers promote to f32 where the result is no integer. --- */
#define xt_abs(x) xt_abs_at(XT_HERE, x)
#define xt_ceil(x) xt_ceil_at(XT_HERE, x) /* up to a whole number */
#define xt_cos(x) xt_cos_at(XT_HERE, x) /* x in radians */
#define xt_exp(x) xt_exp_at(XT_HERE, x) /* e^x */
#define xt_expm1(x) xt_expm1_at(XT_HERE, x) /* e^x - 1, exact near 0 */
#define xt_floor(x) xt_floor_at(XT_HERE, x) /* down to a whole number */
#define xt_log_e(x) xt_log_e_at(XT_HERE, x) /* natural logarithm (xt_log logs a metric) */
#define xt_log1p(x) xt_log1p_at(XT_HERE, x) /* ln(1 + x), exact near 0 */
#define xt_sigmoid(x) xt_sigmoid_at(XT_HERE, x) /* 1 / (1 + e^-x) */
#define xt_neg(x) xt_neg_at(XT_HERE, x) /* -x */
#define xt_relu(x) xt_relu_at(XT_HERE, x) /* the larger of x and 0 */
#define xt_gelu(x) xt_gelu_at(XT_HERE, x) /* tanh form, as GPT-2 */
#define xt_silu(x) xt_silu_at(XT_HERE, x) /* x / (1 + e^-x) */
#define xt_round(x) xt_round_at(XT_HERE, x) /* half to even */
#define xt_rsqrt(x) xt_rsqrt_at(XT_HERE, x) /* 1 / sqrt(x) */
#define xt_sign(x) xt_sign_at(XT_HERE, x) /* -1, 0 or 1; 0 of a NaN */
#define xt_sin(x) xt_sin_at(XT_HERE, x) /* x in radians */
#define xt_sqrt(x) xt_sqrt_at(XT_HERE, x) /* NaN below 0 */
#define xt_tanh(x) xt_tanh_at(XT_HERE, x) /* (e^x - e^-x) / (e^x + e^-x) */
#define xt_square(x) xt_square_at(XT_HERE, x) /* x x */
#define xt_logical_not(x) xt_logical_not_at(XT_HERE, x) /* bool: x is 0 */
#define xt_isfinite(x) xt_isfinite_at(XT_HERE, x) /* bool: neither Inf nor NaN */
#define xt_detach(x) xt_detach_at(XT_HERE, x) /* the same value, no gradient through it */
/* Of two: either may be a number. */
#define xt_add(x, y) XT_TWO_(xt_add, x, y)
/* xt_sub names a child module; xt_minus is the plain spelling */
#define xt_sub_(x, y) XT_TWO_(xt_sub_, x, y)
#define xt_minus(x, y) XT_TWO_(xt_sub_, x, y)
#define xt_mul(x, y) XT_TWO_(xt_mul, x, y) /* x y, element by element */
#define xt_div(x, y) XT_TWO_(xt_div, x, y) /* x / y; of integers a float, as in PyTorch */
#define xt_pow(x, y) XT_TWO_(xt_pow, x, y) /* x^y */
#define xt_maximum(x, y) XT_TWO_(xt_maximum, x, y) /* the larger; a NaN of either stays */
#define xt_minimum(x, y) XT_TWO_(xt_minimum, x, y) /* the smaller; a NaN of either stays */
#define xt_remainder(x, y) XT_TWO_(xt_remainder, x, y) /* x - y floor(x / y): the sign is y's */
#define xt_eq(x, y) XT_TWO_(xt_eq, x, y) /* bool: x is y */
#define xt_ne(x, y) XT_TWO_(xt_ne, x, y) /* bool: x is not y */
#define xt_lt(x, y) XT_TWO_(xt_lt, x, y) /* bool: x < y */
#define xt_le(x, y) XT_TWO_(xt_le, x, y) /* bool: x <= y */
#define xt_gt(x, y) XT_TWO_(xt_gt, x, y) /* bool: x > y */
#define xt_ge(x, y) XT_TWO_(xt_ge, x, y) /* bool: x >= y */
#define xt_logical_and(x, y) xt_logical_and_at(XT_HERE, x, y) /* bool: both are not 0 */
#define xt_logical_or(x, y) xt_logical_or_at(XT_HERE, x, y) /* bool: one of them is not 0 */
/* Each is a function too, for function pointers and other languages: its line is found from the return address. */
XT_API xt_tensor xt_abs_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_abs)(xt_tensor x);
XT_API xt_tensor xt_ceil_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_ceil)(xt_tensor x);
XT_API xt_tensor xt_cos_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_cos)(xt_tensor x);
XT_API xt_tensor xt_exp_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_exp)(xt_tensor x);
XT_API xt_tensor xt_expm1_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_expm1)(xt_tensor x);
XT_API xt_tensor xt_floor_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_floor)(xt_tensor x);
XT_API xt_tensor xt_log_e_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_log_e)(xt_tensor x);
XT_API xt_tensor xt_log1p_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_log1p)(xt_tensor x);
XT_API xt_tensor xt_sigmoid_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_sigmoid)(xt_tensor x);
XT_API xt_tensor xt_neg_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_neg)(xt_tensor x);
XT_API xt_tensor xt_relu_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_relu)(xt_tensor x);
XT_API xt_tensor xt_gelu_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_gelu)(xt_tensor x);
XT_API xt_tensor xt_silu_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_silu)(xt_tensor x);
XT_API xt_tensor xt_round_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_round)(xt_tensor x);
XT_API xt_tensor xt_rsqrt_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_rsqrt)(xt_tensor x);
XT_API xt_tensor xt_sign_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_sign)(xt_tensor x);
XT_API xt_tensor xt_sin_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_sin)(xt_tensor x);
XT_API xt_tensor xt_sqrt_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_sqrt)(xt_tensor x);
XT_API xt_tensor xt_tanh_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_tanh)(xt_tensor x);
XT_API xt_tensor xt_square_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_square)(xt_tensor x);
XT_API xt_tensor xt_logical_not_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_logical_not)(xt_tensor x);
XT_API xt_tensor xt_isfinite_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_isfinite)(xt_tensor x);
XT_API xt_tensor xt_detach_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor(xt_detach)(xt_tensor x);
XT_API xt_tensor xt_add_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_add)(xt_tensor x, xt_tensor y);
/* what xt_minus calls: x - y */
XT_API xt_tensor xt_sub__at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_sub_)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_mul_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_mul)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_div_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_div)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_pow_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_pow)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_maximum_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_maximum)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_minimum_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_minimum)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_remainder_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_remainder)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_eq_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_eq)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_ne_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_ne)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_lt_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_lt)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_le_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_le)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_gt_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_gt)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_ge_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_ge)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_logical_and_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_logical_and)(xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_logical_or_at(const xt_src *src, xt_tensor x, xt_tensor y);
XT_API xt_tensor(xt_logical_or)(xt_tensor x, xt_tensor y);
/* A number beside a tensor, as in PyTorch: xt_mul(x, 2), xt_div(1, x), xt_gt(x, 0). It takes the tensor's dtype (beside
 * integers a fraction makes f32, beside bool a whole number i64), and is a constant of the graph unless it changes
 * between steps: then it becomes data. fn_scalar_at: the number stands behind the tensor; fn_of_scalar_at: before it.
 */
XT_API xt_tensor xt_add_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_add_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_sub__scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_sub__of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_mul_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_mul_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_div_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_div_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_pow_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_pow_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_maximum_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_maximum_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_minimum_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_minimum_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_remainder_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_remainder_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_eq_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_eq_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_ne_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_ne_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_lt_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_lt_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_le_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_le_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_gt_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_gt_of_scalar_at(const xt_src *src, double v, xt_tensor y);
XT_API xt_tensor xt_ge_scalar_at(const xt_src *src, xt_tensor x, double v);
XT_API xt_tensor xt_ge_of_scalar_at(const xt_src *src, double v, xt_tensor y);
#define xt_add_scalar(x, v) xt_add_scalar_at(XT_HERE, x, XT_NUMBER_(v))
#define xt_mul_scalar(x, v) xt_mul_scalar_at(XT_HERE, x, XT_NUMBER_(v))
#define xt_pow_scalar(x, v) xt_pow_scalar_at(XT_HERE, x, XT_NUMBER_(v))
/* x, but no less than lo and no more than hi */
#define xt_clamp(x, lo, hi) xt_clamp_at(XT_HERE, x, XT_NUMBER_(lo), XT_NUMBER_(hi))
XT_API xt_tensor xt_clamp_at(const xt_src *src, xt_tensor x, double lo, double hi);
/* x where cond, else y; either or both may be numbers. Of two numbers: bool, else i64 of whole ones, else f32. */
#define xt_where(cond, x, y) XT_WHERE_(cond, x, y, __COUNTER__)
XT_API xt_tensor xt_where_at(const xt_src *src, xt_tensor cond, xt_tensor x, xt_tensor y);
XT_API xt_tensor xt_where_scalar_at(const xt_src *src, xt_tensor cond, xt_tensor x, double v);
XT_API xt_tensor xt_where_of_scalar_at(const xt_src *src, xt_tensor cond, double v, xt_tensor y);
XT_API xt_tensor xt_where_numbers_at(const xt_src *src, xt_tensor cond, double x, double y, xt_dtype dtype);
static inline xt_tensor xt_where_bool_(const xt_src *src, xt_tensor cond, double x, double y) {
    return xt_where_numbers_at(src, cond, x, y, XT_BOOL);
}
static inline xt_tensor xt_where_i64_(const xt_src *src, xt_tensor cond, double x, double y) {
    return xt_where_numbers_at(src, cond, x, y, XT_I64);
}
static inline xt_tensor xt_where_f32_(const xt_src *src, xt_tensor cond, double x, double y) {
    return xt_where_numbers_at(src, cond, x, y, XT_F32);
}
#ifdef __cplusplus
}
inline xt_tensor (*xt_where_form_(xt_tensor, xt_tensor))(const xt_src *, xt_tensor, xt_tensor, xt_tensor) {
    return xt_where_at;
}
inline xt_tensor (*xt_where_form_(xt_tensor, double))(const xt_src *, xt_tensor, xt_tensor, double) {
    return xt_where_scalar_at;
}
inline xt_tensor (*xt_where_form_(double, xt_tensor))(const xt_src *, xt_tensor, double, xt_tensor) {
    return xt_where_of_scalar_at;
}
template <class X, class Y>
auto xt_where_form_(X x, Y y)
    -> decltype(x + y, static_cast<xt_tensor (*)(const xt_src *, xt_tensor, double, double)>(nullptr)) {
    return static_cast<X>(1) == static_cast<X>(2) && static_cast<Y>(1) == static_cast<Y>(2) ? xt_where_bool_
           : static_cast<decltype(x + y)>(1) / 2 > 0                                        ? xt_where_f32_
                                                                                            : xt_where_i64_;
}
void xt_where_form_(xt_tensor, xt_dtype) = delete; /* a dtype stands where a number belongs */
void xt_where_form_(xt_dtype, xt_tensor) = delete; /* a dtype stands where a number belongs */
extern "C" {
#define XT_WHERE_FORM_(a, b) xt_where_form_(a, b)
#else
#define XT_WHERE_FORM_(a, b)                                                \
    _Generic(a, xt_tensor                                                   \
             : _Generic(b, xt_tensor                                        \
                        : xt_where_at, default                              \
                        : xt_where_scalar_at),                              \
               float                                                        \
             : XT_WHERE_NUMBERS_(b, xt_where_f32_, xt_where_f32_), double   \
             : XT_WHERE_NUMBERS_(b, xt_where_f32_, xt_where_f32_), _Bool    \
             : XT_WHERE_NUMBERS_(b, xt_where_i64_, xt_where_bool_), default \
             : XT_WHERE_NUMBERS_(b, xt_where_i64_, xt_where_i64_))
#define XT_WHERE_NUMBERS_(b, whole, truth) \
    _Generic(b, float                      \
             : xt_where_f32_, double       \
             : xt_where_f32_, _Bool        \
             : truth, default              \
             : whole, xt_tensor            \
             : xt_where_of_scalar_at)
#endif
#define xt_cast(x, dtype) xt_cast_at(XT_HERE, x, XT_DTYPE_(dtype)) /* to another dtype; x itself where it has it */
XT_API xt_tensor xt_cast_at(const xt_src *src, xt_tensor x, xt_dtype dtype);

/* --- Shape ops. Axes may be negative. --- */
/* one dim may be -1 */
#define xt_reshape(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_reshape(x, dims, ...): dims is missing"), \
     xt_reshape_at(XT_HERE, x, XT_DIMS_(__VA_ARGS__, 0)))
/* xt_flatten(x, from = 0, to = -1): dims from..to become one */
#define xt_flatten(...) XT_FILL2_(XT_FLATTEN_, 0, -1, __VA_ARGS__)
#define XT_FLATTEN_(x, from, to, ...) \
    (XT_LAST_(0, __VA_ARGS__), xt_flatten_at(XT_HERE, x, XT_NUMBER_(from), XT_NUMBER_(to)))
#define xt_transpose(x, a, b) xt_transpose_at(XT_HERE, x, XT_NUMBER_(a), XT_NUMBER_(b)) /* swaps two axes */
/* xt_permute(x, 1, 0, 2) */
/* axes in another order: dim i of the result is dim axes[i] */
#define xt_permute(x, ...)                                                                  \
    (XT_CHECK_(sizeof(#__VA_ARGS__) > 1, "xt_permute(x, axes...): the axes are missing"),   \
     XT_CHECK_(!XT_IS_LIST_TEXT_(#__VA_ARGS__),                                             \
               "xt_permute(x, 1, 0, 2): the axes are plain numbers here, without XT_AXES"), \
     xt_permute_at(XT_HERE, x, XT_INTS_(__VA_ARGS__)))
#define XT_IS_LIST_TEXT_(text) \
    (__builtin_strncmp(text, "XT_AXES", 7) == 0 || __builtin_strncmp(text, "XT_LIST", 7) == 0)
#define xt_slice(x, axis, start, stop) \
    xt_slice_at(XT_HERE, x, XT_NUMBER_(axis), XT_NUMBER_(start), XT_NUMBER_(stop)) /* negative counts from the end */
/* (n, tensors, axis); XT_TENSORS(x, y) of lists.h is an array */
#define xt_concat(n, ...)                                                                                        \
    (XT_GIVEN_(#__VA_ARGS__, "xt_concat(n, tensors, axis, ...): tensors is missing"), XT_NO_DTYPE_(__VA_ARGS__), \
     xt_concat_at(XT_HERE, XT_NUMBER_(n), __VA_ARGS__))
/* repeated along dims of 1, and along new ones in front */
#define xt_broadcast_to(x, ...)                                                 \
    (XT_GIVEN_(#__VA_ARGS__, "xt_broadcast_to(x, dims, ...): dims is missing"), \
     xt_broadcast_to_at(XT_HERE, x, XT_DIMS_(__VA_ARGS__, 0)))
#define xt_unsqueeze(x, axis) xt_unsqueeze_at(XT_HERE, x, XT_NUMBER_(axis)) /* with a dim of 1 there */
/* xt_squeeze(x, axis): a dim of 1 goes, another stays; xt_squeeze(x): all of 1 go */
#define xt_squeeze(...) XT_FILL_BY_(__VA_ARGS__, , , , XT_SQUEEZE_AXIS_, XT_SQUEEZE_ALL_, )(__VA_ARGS__)
#define XT_SQUEEZE_AXIS_(x, axis) xt_squeeze_at(XT_HERE, x, XT_NUMBER_(axis))
#define XT_SQUEEZE_ALL_(x) xt_squeeze_all_at(XT_HERE, x)
XT_API xt_tensor xt_reshape_at(const xt_src *src, xt_tensor x, const int64_t *dims);
XT_API xt_tensor xt_flatten_at(const xt_src *src, xt_tensor x, int from, int to);
XT_API xt_tensor xt_transpose_at(const xt_src *src, xt_tensor x, int a, int b);
XT_API xt_tensor xt_permute_at(const xt_src *src, xt_tensor x, int n, const int *perm);
XT_API xt_tensor xt_slice_at(const xt_src *src, xt_tensor x, int axis, int64_t start, int64_t stop);
XT_API xt_tensor xt_concat_at(const xt_src *src, int n, const xt_tensor *tensors, int axis);
XT_API xt_tensor xt_broadcast_to_at(const xt_src *src, xt_tensor x, const int64_t *dims);
XT_API xt_tensor xt_unsqueeze_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_squeeze_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_squeeze_all_at(const xt_src *src, xt_tensor x);

/* --- Reductions: over everything, xt_sum(x); over an axis or several, xt_sum(x, -1), xt_sum(x, XT_AXES(0, 2),
 * .keepdim = true), with the options of reductions.h. Integer sums are i64, means f32. --- */
#define XT_REDUCE_(all, axes, opts, ...)                                                                           \
    XT_FILL_BY_(__VA_ARGS__, XT_REDUCE_AXES_, XT_REDUCE_AXES_, XT_REDUCE_AXES_, XT_REDUCE_AXES_, XT_REDUCE_ALL_, ) \
    (all, axes, opts, __VA_ARGS__)
#define XT_REDUCE_ALL_(all, axes, opts, x) all(XT_HERE, x)
#define XT_REDUCE_AXES_(all, axes, opts, x, ...) XT_REDUCE_OVER_(axes, opts, x, __VA_ARGS__, )
#define XT_REDUCE_OVER_(fn, opts, x, axes, ...) fn(XT_HERE, x, XT_AXES_OF_(axes), XT_OPTS(opts, __VA_ARGS__))
#define xt_sum(...) XT_REDUCE_(xt_sum_at, xt_sum_axes_at, xt_reduce_opts, __VA_ARGS__) /* of all elements, a scalar */
/* of all elements, a scalar */
#define xt_mean(...) XT_REDUCE_(xt_mean_at, xt_mean_axes_at, xt_reduce_opts, __VA_ARGS__)
/* the values; where they stand: xt_max_with_index */
#define xt_max(...) XT_REDUCE_(xt_max_at, xt_amax_axes_at, xt_reduce_opts, __VA_ARGS__)
#define xt_min(...) XT_REDUCE_(xt_min_at, xt_amin_axes_at, xt_reduce_opts, __VA_ARGS__)
/* xt_sum_axis, xt_mean_axis and xt_max_axis: over one axis, which goes; negative counts from the end */
#define xt_sum_axis(x, axis) xt_sum_axis_at(XT_HERE, x, XT_NUMBER_(axis))
#define xt_mean_axis(x, axis) xt_mean_axis_at(XT_HERE, x, XT_NUMBER_(axis))
#define xt_max_axis(x, axis) xt_max_axis_at(XT_HERE, x, XT_NUMBER_(axis))
/* xt_argmax(x, axis): i64, first of equals; without an axis of x as it lies, row by row */
#define xt_argmax(...) XT_ARG_(xt_argmax_at, __VA_ARGS__)
#define XT_ARG_(fn, ...) XT_FILL_BY_(__VA_ARGS__, , , , XT_ARG_AXIS_, XT_ARG_ALL_, )(fn, __VA_ARGS__)
#define XT_ARG_AXIS_(fn, x, axis) fn(XT_HERE, x, XT_NUMBER_(axis))
#define XT_ARG_ALL_(fn, x) fn(XT_HERE, xt_flatten_at(XT_HERE, x, 0, -1), 0)
XT_API xt_tensor xt_sum_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_mean_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_max_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_min_at(const xt_src *src, xt_tensor x);
XT_API xt_tensor xt_sum_axis_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_mean_axis_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_max_axis_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_argmax_at(const xt_src *src, xt_tensor x, int axis);

/* --- Contractions (convolution and pooling: xtrain/functional.h, included below) --- */
/* PyTorch's rules: 1-D, 2-D, batched with broadcasting */
#define xt_matmul(x, y) xt_matmul_at(XT_HERE, x, y)
XT_API xt_tensor xt_matmul_at(const xt_src *src, xt_tensor x, xt_tensor y);

/* --- Softmax, lookups (losses.h has the losses) --- */
#define xt_softmax(x, axis) xt_softmax_at(XT_HERE, x, XT_NUMBER_(axis)) /* e^x / the sum of e^x along the axis */
/* x - ln of the sum of e^x along the axis */
#define xt_log_softmax(x, axis) xt_log_softmax_at(XT_HERE, x, XT_NUMBER_(axis))
/* xt_one_hot(labels, classes, dtype = XT_I64) */
/* [...] of integers: [...,classes] with a 1 at each */
#define xt_one_hot(labels, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_one_hot(labels, classes, ...): classes is missing"), \
     XT_ONE_HOT_(labels, __VA_ARGS__, XT_I64, ))
#define XT_ONE_HOT_(labels, classes, dtype, ...) \
    (XT_LAST_(1, __VA_ARGS__), xt_one_hot_at(XT_HERE, labels, XT_NUMBER_(classes), XT_DTYPE_(dtype)))
/* rows: [V,D], int [...] -> [...,D] */
#define xt_take(table, indices) xt_take_at(XT_HERE, table, indices)
XT_API xt_tensor xt_softmax_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_log_softmax_at(const xt_src *src, xt_tensor x, int axis);
XT_API xt_tensor xt_one_hot_at(const xt_src *src, xt_tensor labels, int64_t classes, xt_dtype dtype);
XT_API xt_tensor xt_take_at(const xt_src *src, xt_tensor table, xt_tensor indices);

/* --- Random: Philox, the element's global index as counter: the same bits on every device. ---
 * A draw depends on the seed, on how many optimizer steps this thread has taken since, and on which draw since the last
 * of them it is: not on boundaries, reads, evaluations (draws under xt_no_grad_begin count apart) or xt_reinitialize.
 * A Trainer's fit counts micro-batches instead, so with accumulation its draws are not a loop's of one's own.
 * xt_seed: the same seed, the same numbers again: in this thread from the next draw on. A loop of one's own that
 * saves the state beside its weights and optimizers draws after a restart what the unbroken run draws; the Trainer's
 * checkpoints need nothing. */
XT_API void xt_seed(uint64_t seed);
typedef struct xt_rng_state { /* to be written and read as it is: seed, optimizer steps, draws, draws without gradients
                               */
    uint64_t words[4]; /* in that order */
} xt_rng_state;
XT_API xt_rng_state xt_rng_state_save(void); /* of this thread */
XT_API void xt_rng_state_load(xt_rng_state state); /* this thread's next draw is the one behind the saved state */
/* xt_rand(XT_F32, 2, 3): uniform in [0,1) */
#define xt_rand(...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_rand(dtype, dims...): dtype is missing"), XT_FILLED_(xt_rand_at, __VA_ARGS__, 0))
#define xt_randn(...) \
    (XT_GIVEN_(#__VA_ARGS__, "xt_randn(dtype, dims...): dtype is missing"), XT_FILLED_(xt_randn_at, __VA_ARGS__, 0))
XT_API xt_tensor xt_rand_at(const xt_src *src, xt_dtype dtype, const int64_t *dims);
XT_API xt_tensor xt_randn_at(const xt_src *src, xt_dtype dtype, const int64_t *dims);

/* --- Gradients --- */
/* Gradients add up until they are consumed (xt_optimizer_step, xt_zero_grad). What is recorded in this step can be
 * differentiated, as often as one likes: nothing is freed by a backward pass. So can a step that ended before any
 * backward pass (xt_mark_step, above), at the price of computing it again. A state that was updated between its use and
 * xt_backward gets the gradient of the value that was used. Complex gradients are PyTorch's (conjugated: minus the
 * gradient is the direction of descent). */
/* loss has one element; adds to the gradients of what requires them */
#define xt_backward(loss) xt_backward_at(XT_HERE, loss)
XT_API void xt_backward_at(const xt_src *src, xt_tensor loss);
/* Floating-point and complex tensors only; gives t back. Turning it on for the result of an op that has gradients
 * already changes nothing; turning it off there is an error (xt_detach). */
#define xt_requires_grad(t, on) xt_requires_grad_at(XT_HERE, t, on)
XT_API xt_tensor xt_requires_grad_at(const xt_src *src, xt_tensor t, bool on);
/* xt_backward leaves a gradient on t too, though it is the result of an op. Gives t back. An error when t
 * requires none. */
#define xt_retain_grad(t) xt_retain_grad_at(XT_HERE, t)
XT_API xt_tensor xt_retain_grad_at(const xt_src *src, xt_tensor t);
/* gradient so far; none if there is none, as for results of ops unless retained */
#define xt_grad(t) xt_grad_at(XT_HERE, t)
XT_API xt_tensor xt_grad_at(const xt_src *src, xt_tensor t);
/* torch.autograd.grad: out_grads[i] becomes the gradient of `root` with respect to tensors[i], any tensor of this step
 * (a parameter, an input, a result in between) whether it requires gradients or not; xt_grad of nothing is touched.
 * False after an error, which the out_grads then carry. */
#define XT_DEFAULTS_xt_grad_of_opts(is)
typedef struct XT_OPTIONS_ xt_grad_of_opts {
    size_t struct_size XT_SIZE(xt_grad_of_opts);
    /* what to multiply the derivatives of root with, of its shape; none = 1, and root must have one element */
    xt_tensor grad_output XT_ZERO;
    xt_switch create_graph
        XT_ZERO; /* default off: the gradients are values only. On: they can be differentiated again */
    /* default off: a tensor that root does not depend on is an error. On: its gradient is none */
    xt_switch allow_unused XT_ZERO;
} xt_grad_of_opts;
/* xt_grad_of(loss, 2, tensors, out_grads, .create_graph = XT_ON) */
#define xt_grad_of(root, n, ...)                                                                  \
    (XT_GIVEN_(#__VA_ARGS__, "xt_grad_of(root, n, tensors, out_grads, ...): tensors is missing"), \
     XT_GRAD_OF_(root, n, __VA_ARGS__, ))
#define XT_GRAD_OF_(root, n, tensors, out_grads, ...) \
    xt_grad_of_at(XT_HERE, root, XT_NUMBER_(n), tensors, out_grads, XT_OPTS(xt_grad_of_opts, __VA_ARGS__))
XT_API bool xt_grad_of_at(const xt_src *src, xt_tensor root, int n, const xt_tensor *tensors, xt_tensor *out_grads,
                          xt_grad_of_opts o);
XT_API void xt_no_grad_begin(void); /* what is recorded up to its end has no gradient; these nest */
#define xt_no_grad_end() xt_no_grad_end_at(XT_HERE)
XT_API void xt_no_grad_end_at(const xt_src *src);
/* XT_BF16: matmul and convolution inputs are cast; sums stay f32; XT_F32: off. Begins and ends nest */
#define xt_autocast_begin(...) xt_autocast_begin_at(XT_HERE, __VA_ARGS__)
XT_API void xt_autocast_begin_at(const xt_src *src, xt_dtype dtype);
#define xt_autocast_end() xt_autocast_end_at(XT_HERE)
XT_API void xt_autocast_end_at(const xt_src *src);

/* --- Values on the host --- */
#define xt_item(t) xt_item_at(XT_HERE, t) /* waits; counted and reported; NaN after an error */
XT_API double xt_item_at(const xt_src *src, xt_tensor t);
/* waits; dense row-major; `bytes` must be the tensor's; false after an error */
#define xt_read(t, buf, bytes) xt_read_at(XT_HERE, t, buf, XT_NUMBER_(bytes))
XT_API bool xt_read_at(const xt_src *src, xt_tensor t, void *buf, size_t bytes);
/* xt_when_ready: fn(user, data, bytes, dtype) runs on a reader thread when the value arrives; `data` is valid during
 * the call. Never waits. A call of fn is a step of that thread, which its return ends: what it makes dies there unless
 * it is kept. */
typedef void (*xt_ready_fn)(void *user, const void *data, size_t bytes, xt_dtype dtype);
#define xt_when_ready(t, fn, user) xt_when_ready_at(XT_HERE, t, fn, user)
XT_API void xt_when_ready_at(const xt_src *src, xt_tensor t, xt_ready_fn fn, void *user);
/* Prints "x = 0.25", or the type and below it all elements as PyTorch writes them (of more than 1,000 the first and
 * last three along each dim), to stdout when the value arrives; rank 0 only; never waits. */
#define xt_print(x) xt_print_at(XT_HERE, #x, x)
XT_API void xt_print_at(const xt_src *src, const char *name, xt_tensor x);
/* printf with %t for a tensor: one element as %g (%d) would be, more of them as xt_print's; as that, when the values
 * arrive. */
#define xt_master_printf(...) xt_master_printf_at(XT_HERE, __VA_ARGS__)
XT_API void xt_master_printf_at(const xt_src *src, const char *fmt, ...);

/* Names a region of the program: module path in reports and profiles. */
XT_API void xt_scope_begin(const char *name);
XT_API void xt_scope_end(void);

#ifdef __cplusplus
}
#endif

#include <xtrain/functional.h>

#endif
