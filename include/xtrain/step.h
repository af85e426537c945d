/* Compiled step functions: a function of tensors that is recorded once and from then on only its program runs.
 *
 * What torch_xla.compile and jax.jit are there. The first call of xt_call runs `fn` and records what it asks for:
 * forward, backward, optimizer step, logging, dropout, whatever a training step does. Later calls do not run `fn`:
 * after a cheap check of the inputs' shapes and of what else the recording depended on, the known program starts, and
 * everything the recorded call did happens again: parameters, optimizer and batch-norm states are updated, steps
 * counted, learning rates read anew, random numbers drawn anew, log rows written, values of xt_when_ready and
 * xt_master_printf delivered.
 *
 * A call is a step of its own: it ends the step being recorded, as xt_mark_step does, and its own work is started when
 * it returns. It does not wait. Tensors that have their value (batches, xt_from_array, results of calls) stay alive
 * over it, and so does the result, until the loop's next boundary. A loop that has none needs none: from the 65th call
 * in a row at one place on, the arrays that the loop made in front of the last call there die, and results of over 4
 * KiB but the 64 newest, once the same line (come to by the same calls) has made another; not what the loop has used
 * since or hands to this call, nor what was there before the loop or was made in front of an inner one. Of smaller
 * results 16,384 more live on, for an epoch to list and read behind its loop; longer lists take xt_keep. The loop's
 * boundary (xt_next) is the same one: it counts the same steps, and draws the same random numbers, as without xt_call.
 *
 * `fn` is recorded again when something it depends on is different: an input's shape or dtype, train/eval mode,
 * xt_no_grad, autocast, which gradients exist, a kept tensor it used that was dropped. If that gives a new program it
 * is compiled; XT_DEBUG=compile reports why.
 *  - Host numbers that `fn` computes (an `int i` in a condition, the 0.9 of xt_mul_scalar) are those of the recording.
 *    What changes from call to call comes in as a tensor, or as xt_scalar_ref. With xt_scalar or xt_log_value in it the
 *    function is recorded again at every call: right, slower, and said once.
 *  - xt_item, xt_read, xt_next and xt_mark_step inside `fn` are errors: it has no values yet. Return the tensor, or use
 *    xt_when_ready.
 *  - A tensor kept inside `fn` has the newest call's value after each call. Arrays made with xt_from_array inside
 *    are constants.
 *  - Gradients flow to parameters and to inputs that require them, not through an input into what was recorded before
 *    the call. The result of a function that has no xt_backward in it can be differentiated after the call: its forward
 *    is recorded again for that (xt_mark_step).
 * Thread rule: a step function belongs to the thread that made it.
 *
 *     static xt_tensor train(const xt_tensor *in, int n, void *user) {
 *         xt_tensor loss = xt_cross_entropy(xt_forward(net, in[0]), in[1]);
 *         xt_backward(loss);
 *         xt_optimizer_step(opt);
 *         return loss;
 *     }
 *     xt_step *step = xt_compile(train);
 *     for (xt_batch b; xt_next(loader, &b);) xt_log("loss", xt_call(step, b.x, b.y)); */
#ifndef XTRAIN_STEP_H
#define XTRAIN_STEP_H

#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function with the programs that its recordings have given. */
typedef struct xt_step xt_step;
/* Gives the result, or {0} for none. `in` is borrowed; its handles are valid during the call. */
typedef xt_tensor (*xt_step_fn)(const xt_tensor *in, int n, void *user);

#define XT_DEFAULTS_xt_compile_opts(is)
typedef struct XT_OPTIONS_ xt_compile_opts {
    size_t struct_size XT_SIZE(xt_compile_opts);
    void *user XT_ZERO; /* passed to fn */
    const char *name XT_ZERO; /* for messages; default: where xt_compile was called */
    int64_t max_programs XT_ZERO; /* one program more is an error that says why it was needed; 0 = no limit */
} xt_compile_opts;

/* xt_compile(fn, .user = &model, .name = "train", .max_programs = 2). Records nothing yet. Yours; xt_finish frees what
 * is left. NULL after an error. */
#define xt_compile(...) XT_COMPILE_(__VA_ARGS__, )
#define XT_COMPILE_(fn, ...) xt_compile_at(XT_HERE, fn, XT_OPTS(xt_compile_opts, __VA_ARGS__))
XT_API xt_step *xt_compile_at(const xt_src *src, xt_step_fn fn, xt_compile_opts o);
XT_API void xt_step_free(xt_step *step); /* NULL is allowed; its programs stay in the cache */

/* xt_call(step, x, y): at most 15 tensors; xt_call_at takes any number. Gives fn's result, alive until the next
 * boundary; an error tensor after a failure. Does not wait. Inside another step function it is a plain call of fn, part
 * of the outer recording. */
#define xt_call(...)                                                                                           \
    XT_CALL_(XT_CALL_COUNT_(__VA_ARGS__, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ), __VA_ARGS__, \
             XT_CALL_NONE_)
#define XT_CALL_COUNT_(step, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, n, ...) n
#define XT_CALL_NONE_ \
    { 0, 0 }
#define XT_CALL_(n, step, ...) xt_call_at(XT_HERE, step, n, XT_TENSORS_(__VA_ARGS__))
#ifdef __cplusplus
} /* a braced list makes the array in both languages */
struct xt_tensors_ {
    xt_tensor t[16];
};
#define XT_TENSORS_(...) (xt_tensors_{{__VA_ARGS__}}.t)
extern "C" {
#else
#define XT_TENSORS_(...) ((const xt_tensor[16]){__VA_ARGS__})
#endif
XT_API xt_tensor xt_call_at(const xt_src *src, xt_step *step, int n, const xt_tensor *in);

XT_API int64_t xt_step_traces(const xt_step *step); /* times fn was run to record it */
XT_API int64_t xt_step_replays(const xt_step *step); /* calls that ran a known program without fn */
XT_API int64_t xt_step_programs(const xt_step *step); /* different programs its recordings gave */
/* why the last recording was made: "first call", "input 0 is f32[8,4] instead of ..." */
XT_API const char *xt_step_reason(const xt_step *step);

/* A scalar whose number is read from *value at every step that uses it, replayed ones too; never a new program. `value`
 * must stay valid. */
#define xt_scalar_ref(value, dtype) xt_scalar_ref_at(XT_HERE, value, XT_DTYPE_(dtype))
XT_API xt_tensor xt_scalar_ref_at(const xt_src *src, const double *value, xt_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
