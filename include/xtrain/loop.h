/* Loops with gradients: a function is recorded once and runs for each slice of its inputs, so a program does not grow
 * with the number of steps.
 *
 * xt_scan is JAX's lax.scan, and what a Python loop over time steps is in PyTorch. `fn` gets the carry and the t-th
 * slice of each input, and gives the carry after step t and what step t puts out; the outputs of all steps are stacked.
 * It is called once, while xt_scan is recorded:
 *
 *     static void cell(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
 *         carry[0] = xt_tanh(xt_add(x[0], xt_matmul(carry[0], *(xt_tensor *)user)));
 *         y[0] = carry[0];
 *     }
 *     xt_tensor h = h0, out;
 *     xt_scan(cell, 1, &h, 1, &x, 1, &out, .user = &w); // h [B,H]: the last state now; x [T,B,H], w [H,H], out [T,B,H]
 *
 * Inside fn any op may be used, tensors and parameters from outside too, layers, dropout (every step draws anew) and
 * another xt_scan. What fn records is one iteration: its tensors have no value of their own and die when fn returns.
 * Errors there: reading a value (xt_item, xt_read), logging or keeping a tensor, giving a state a new value (batch
 * norm's running statistics, an optimizer step), xt_backward and step boundaries.
 *
 * Gradients flow to carries, inputs and everything read from outside, whose gradients are summed over the steps;
 * gradients of gradients too. The forward loop keeps the carries before each step and the results of matrix products
 * and convolutions (what xt_backward does not ask for is left out of the program), and the backward pass is a loop from
 * the last step to the first which computes the rest again. */
#ifndef XTRAIN_LOOP_H
#define XTRAIN_LOOP_H

#include <xtrain/base.h>
#include <xtrain/tensor.h>
#include <xtrain/transforms.h>

#ifdef __cplusplus
extern "C" {
#endif

/* carry: in, the states before the step; out, those after it, each of the shape and dtype it had. x: slice t of each
 * input, without the leading dim. y: to be filled, one tensor an output. */
typedef void (*xt_scan_fn)(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user);
#define XT_DEFAULTS_xt_scan_opts(is) is(length, -1)
XT_DEFAULTS_OF(xt_scan_opts)
typedef struct XT_OPTIONS_ xt_scan_opts {
    size_t struct_size XT_SIZE(xt_scan_opts);
    /* default off; on: from the last slice to the first; y of slice t still is row t of its stack */
    xt_switch reverse XT_ZERO;
    /* number of steps; -1 = the first dim of the inputs, which must agree with it. Needed where there are no inputs */
    int64_t length XT_IS(xt_scan_opts, length);
    /* default off; on: the backward pass computes products and convolutions again too: less memory, more time */
    xt_switch recompute XT_ZERO;
    void *user XT_ZERO; /* passed to fn */
} xt_scan_opts;
/* carry[n_carry]: the first states; replaced by the last ones. xs[n_x]: [T,...], any dtypes. ys[n_y]: filled with
 * stacks [T,...]. Any of the counts may be 0 (its array is not read). With 0 steps the carry stays and stacks have no
 * rows. False, with error tensors in carry and ys, after a mistake: no common length, a carry that changes its type, an
 * output that was not filled. Nothing waits for the device. */
#define xt_scan(fn, n_carry, carry, n_x, xs, n_y, ...)                                             \
    (XT_GIVEN_(#__VA_ARGS__, "xt_scan(fn, n_carry, carry, n_x, xs, n_y, ys, ...): ys is missing"), \
     XT_SCAN_(fn, n_carry, carry, n_x, xs, n_y, __VA_ARGS__, ))
#define XT_SCAN_(fn, n_carry, carry, n_x, xs, n_y, ys, ...)                                       \
    xt_scan_at(XT_HERE, fn, XT_NUMBER_(n_carry), carry, XT_NUMBER_(n_x), xs, XT_NUMBER_(n_y), ys, \
               XT_OPTS(xt_scan_opts, __VA_ARGS__))
XT_API bool xt_scan_at(const xt_src *src, xt_scan_fn fn, int n_carry, xt_tensor *carry, int n_x, const xt_tensor *xs,
                       int n_y, xt_tensor *ys, xt_scan_opts o);

/* torch.cond, lax.cond: out = on_true(in) where pred (one element) is not 0, else on_false(in): one of them runs. Both
 * give outputs of the same shapes and dtypes, and may read what they like from outside. Gradients flow through the
 * branch that ran. What cannot be done inside is as in xt_scan. */
#define xt_cond(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_cond_at(XT_HERE, __VA_ARGS__))
XT_API bool xt_cond_at(const xt_src *src, xt_tensor pred, xt_fn on_true, xt_fn on_false, int n_in, const xt_tensor *in,
                       int n_out, xt_tensor *out, void *user);

/* lax.while_loop: while cond(state) holds (one element, not 0), fn gives the next states, each of the shape and dtype
 * it had; state is replaced by the last ones. Gradients flow to the first states and whatever fn reads from outside.
 * Without max_steps nothing is kept for them: the backward pass runs the loop anew up to each step, which takes the
 * square of the number of steps in time (a loop that counts from a constant to a constant is seen, and its states are
 * kept). With max_steps the loop ends there at the latest, and states of so many steps are kept, as xt_scan does. */
typedef xt_tensor (*xt_while_cond_fn)(const xt_tensor *state, void *user);
/* Puts the next states in the place of those before. */
typedef void (*xt_while_fn)(xt_tensor *state, void *user);
#define XT_DEFAULTS_xt_while_opts(is) is(max_steps, -1)
XT_DEFAULTS_OF(xt_while_opts)
typedef struct XT_OPTIONS_ xt_while_opts {
    size_t struct_size XT_SIZE(xt_while_opts);
    int64_t max_steps XT_IS(xt_while_opts, max_steps); /* -1: as many as it takes */
    void *user XT_ZERO; /* passed to both */
} xt_while_opts;
/* fn again and again while cond of the state holds, as described above: what the state is then.
 * xt_while(cond, fn, n, state, out, .max_steps = 100) */
#define xt_while(cond, fn, n, ...)                                                   \
    (XT_GIVEN_(#__VA_ARGS__, "xt_while(cond, fn, n, state, ...): state is missing"), \
     XT_WHILE_(cond, fn, n, __VA_ARGS__, ))
#define XT_WHILE_(cond, fn, n, state, ...) \
    xt_while_at(XT_HERE, cond, fn, XT_NUMBER_(n), state, XT_OPTS(xt_while_opts, __VA_ARGS__))
XT_API bool xt_while_at(const xt_src *src, xt_while_cond_fn cond, xt_while_fn fn, int n, xt_tensor *state,
                        xt_while_opts o);

#ifdef __cplusplus
}
#endif
#endif
