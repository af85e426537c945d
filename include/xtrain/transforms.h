/* Functions of functions: derivatives of a function (torch.func's vjp, jvp, jacrev, hessian, vmap) and derivatives of
 * one's own (torch.autograd.Function).
 *
 * A function here is C: it gets tensors and gives tensors.
 *
 *     static void loss(const xt_tensor *in, xt_tensor *out, void *user) {
 *         out[0] = xt_mse_loss(xt_matmul(in[1], in[0]), *(xt_tensor *)user);
 *     }
 *     xt_tensor in[2] = {w, x}, d[2], hv[2];
 *     xt_grad_fn(loss, &y, 2, in, NULL, d);             // the gradients by w and x
 *     xt_hvp(loss, &y, 2, in, v, NULL, hv);             // the Hessian times v
 *
 * It is called while the call is recorded, once (xt_vmap, xt_jacobian and xt_hessian call it for one example, and its
 * ops are recorded for all of them together), and whatever it reads through `user` or from modules is constant to these
 * derivatives. By integer inputs (labels, indices) there are none: such go through `user`, inside xt_vmap's function
 * too. All of them may be nested: a Jacobian of a vjp, a vmap of a gradient (gradients of each example), and
 * inside the functions of xt_scan, xt_while and xt_cond. What they give can be differentiated again, by xt_backward
 * too.
 *
 * Each call gives false, with error tensors in what it should have filled, after a mistake; the message names this
 * line. None waits for the device. Complex derivatives are PyTorch's (conjugated). */
#ifndef XTRAIN_TRANSFORMS_H
#define XTRAIN_TRANSFORMS_H

#include <xtrain/base.h>
#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out: to be filled, as many as the call says. The handles are valid during the call. */
typedef void (*xt_fn)(const xt_tensor *in, xt_tensor *out, void *user);

/* The gradients of a function with one output of one element: d_in[i] of in[i]'s shape; zeros where it does not depend
 * on it. out may be NULL; else the output. */
#define xt_grad_fn(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_grad_fn_at(XT_HERE, __VA_ARGS__))
XT_API bool xt_grad_fn_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, xt_tensor *out,
                          xt_tensor *d_in);
/* out = fn(in), and d_in = the transposed Jacobian times d_out (of the outputs' shapes). */
#define xt_vjp(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_vjp_at(XT_HERE, __VA_ARGS__))
XT_API bool xt_vjp_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, int n_out,
                      const xt_tensor *d_out, xt_tensor *out, xt_tensor *d_in);
/* out = fn(in), and d_out = the Jacobian times d_in (tangents, of the inputs' shapes; none: zeros), as the transpose of
 * the transposed product: what has a gradient of its gradient has this, at about the cost of one backward pass. */
#define xt_jvp(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_jvp_at(XT_HERE, __VA_ARGS__))
XT_API bool xt_jvp_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, const xt_tensor *d_in,
                      int n_out, xt_tensor *out, xt_tensor *d_out);
/* Of a function with one output: jacobian[i] is [output's dims..., in[i]'s dims...], all rows computed at once. */
#define xt_jacobian(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_jacobian_at(XT_HERE, __VA_ARGS__))
XT_API bool xt_jacobian_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, xt_tensor *jacobian);
/* Of a function with one output of one element and one input: [x's dims..., x's dims...]. */
#define xt_hessian(fn, user, x, out) xt_hessian_at(XT_HERE, fn, user, x, out)
XT_API bool xt_hessian_at(const xt_src *src, xt_fn fn, void *user, xt_tensor x, xt_tensor *out);
/* The Hessian of such a function times v (of the inputs' shapes), without the Hessian. out may be NULL. */
#define xt_hvp(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_hvp_at(XT_HERE, __VA_ARGS__))
XT_API bool xt_hvp_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, const xt_tensor *v,
                      xt_tensor *out, xt_tensor *hv);

/* torch.func.vmap: fn for one example, computed for all: xt_vmap(fn, 2, in, 1, out, .in_axes = (int[]){0, XT_SHARED}).
 * Random draws inside are others for each example. An op that has no form for many examples at once (a factorisation, a
 * loop, a slice at a place of its own for each) runs in a loop over the examples; exchanges between devices are
 * errors. */
#define XT_SHARED INT32_MIN /* not an axis: the tensor is the same for all examples */
#define XT_DEFAULTS_xt_vmap_opts(is)
typedef struct XT_OPTIONS_ xt_vmap_opts {
    size_t struct_size XT_SIZE(xt_vmap_opts);
    const int *in_axes XT_ZERO; /* [n_in]: along which the examples lie, or XT_SHARED; default 0 of each */
    const int *out_axes XT_ZERO; /* [n_out]: where they are to lie; default 0 of each */
    void *user XT_ZERO; /* passed to fn */
} xt_vmap_opts;
#define xt_vmap(fn, n_in, in, n_out, ...)                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_vmap(fn, n_in, in, n_out, out, ...): out is missing"), \
     XT_VMAP_(fn, n_in, in, n_out, __VA_ARGS__, ))
#define XT_VMAP_(fn, n_in, in, n_out, out, ...) \
    xt_vmap_at(XT_HERE, fn, XT_NUMBER_(n_in), in, XT_NUMBER_(n_out), out, XT_OPTS(xt_vmap_opts, __VA_ARGS__))
XT_API bool xt_vmap_at(const xt_src *src, xt_fn fn, int n_in, const xt_tensor *in, int n_out, xt_tensor *out,
                       xt_vmap_opts o);

/* torch.autograd.Function. forward fills out and, for backward, saved; nothing in it is differentiated. backward gets
 * what was saved and what flows to the outputs (zeros where nothing does), and gives what flows to the inputs, each of
 * its input's shape and dtype, or none; it is called when xt_backward or another derivative comes there, and its ops
 * are differentiated in second derivatives: through inputs and outputs that were saved as they are, not through other
 * saved tensors. Parameters that layers within forward read get no gradient from it: give them as inputs, or run such
 * layers by xt_checkpoint_block. `user` must live until then.
 *
 *     static void sign_forward(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
 *         out[0] = xt_sign(in[0]);
 *     }
 *     static void straight_through(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
 *         d_in[0] = d_out[0];
 *     }
 *     xt_custom_grad(sign_forward, straight_through, 1, &x, 1, &y); */
/* Gives out, and what the backward function wants of it in saved. */
typedef void (*xt_custom_forward_fn)(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user);
/* Gives d_in from d_out, the gradient of each output, and what was saved. */
typedef void (*xt_custom_backward_fn)(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user);
#define XT_DEFAULTS_xt_custom_grad_opts(is)
typedef struct XT_OPTIONS_ xt_custom_grad_opts {
    size_t struct_size XT_SIZE(xt_custom_grad_opts);
    int saved XT_ZERO; /* how many tensors forward saves */
    void *user XT_ZERO; /* passed to both */
} xt_custom_grad_opts;
#define xt_custom_grad(forward, backward, n_in, in, n_out, ...)                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_custom_grad(forward, backward, n_in, in, n_out, out, ...): out is missing"), \
     XT_CUSTOM_GRAD_(forward, backward, n_in, in, n_out, __VA_ARGS__, ))
#define XT_CUSTOM_GRAD_(forward, backward, n_in, in, n_out, out, ...)                           \
    xt_custom_grad_at(XT_HERE, forward, backward, XT_NUMBER_(n_in), in, XT_NUMBER_(n_out), out, \
                      XT_OPTS(xt_custom_grad_opts, __VA_ARGS__))
XT_API bool xt_custom_grad_at(const xt_src *src, xt_custom_forward_fn forward, xt_custom_backward_fn backward, int n_in,
                              const xt_tensor *in, int n_out, xt_tensor *out, xt_custom_grad_opts o);

#ifdef __cplusplus
}
#endif
#endif
