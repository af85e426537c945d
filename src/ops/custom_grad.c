/* xt_custom_grad: a function with a derivative of its own (lazy's custom.c is what the walk meets). */
#include "ops/functions.h"

#include "lazy/places.h"

static const char *const WHAT = "xt_custom_grad";

static bool call_backward(void (*user_fn)(void), void *user, const xt_src *src, const xt_tensor *saved,
                          const xt_tensor *d_out, xt_tensor *d_in) {
    (void)src;
    xt_custom_backward_fn backward = (xt_custom_backward_fn)user_fn;
    backward(saved, d_out, d_in, user);
    return !lazy_pending();
}

static bool same_handle(xt_tensor a, xt_tensor b) {
    return a.slot == b.slot && a.generation == b.generation;
}

static bool filled(const xt_src *src, const char *which, const char *count, int n, const xt_tensor *t) {
    if (lazy_pending() || !lazy_places_kept(src, "the forward function of xt_custom_grad", which, count, n, t))
        return false;
    for (int k = 0; k < n; k++) {
        if (!xt_is_none(t[k])) continue;
        lazy_error(src, XT_INVALID_ARGUMENT, "xt_custom_grad: forward did not fill %s[%d] of %d", which, k, n);
        return false;
    }
    return !lazy_pending();
}

typedef struct parts {
    const xt_src *src;
    int n_in, n_saved, n_out;
    xt_tensor *copies, *saved, *out; /* copies of the inputs, through which nothing flows */
    ir_value **values; /* in, saved, out */
} parts;

static bool forward(parts *p, xt_custom_forward_fn fn, void *user, const xt_tensor *in) {
    lazy_inside_fn call;
    xt_no_grad_begin();
    bool ok = function_copies(p->src, WHAT, p->n_in, in, p->copies);
    if (ok) {
        lazy_enter_whole(&call, "the forward function of xt_custom_grad");
        fn(p->copies, p->out, p->saved, user);
        lazy_leave(&call);
        ok =
            filled(p->src, "out", "n_out", p->n_out, p->out) && filled(p->src, "saved", ".saved", p->n_saved, p->saved);
    }
    xt_no_grad_end_at(p->src);
    return ok;
}

/* An input that was saved is the one that was given, with what led to it. */
static bool values_of(const parts *p, const xt_tensor *in) {
    ir_value **v = p->values;
    lazy_begin(p->src);
    for (int k = 0; k < p->n_in; k++)
        if (!(*v++ = lazy_value(in[k]))) return false;
    for (int k = 0; k < p->n_saved; k++) {
        xt_tensor t = p->saved[k];
        for (int i = 0; i < p->n_in; i++)
            if (same_handle(p->saved[k], p->copies[i])) t = in[i];
        if (!(*v++ = lazy_value(t))) return false;
    }
    for (int k = 0; k < p->n_out; k++)
        if (!(*v++ = lazy_value(p->out[k]))) return false;
    return true;
}

bool xt_custom_grad_at(const xt_src *src, xt_custom_forward_fn fn, xt_custom_backward_fn backward, int n_in,
                       const xt_tensor *in, int n_out, xt_tensor *out, xt_custom_grad_opts o) {
    function_arg args[] = {
        {"inputs", n_in, 1, in, NULL}, {"outputs", n_out, 1, out, out}, {"saved tensors", o.saved, 0, &o, NULL}};
    lazy_begin(src);
    if (!function_args_fit(src, WHAT, !fn ? "forward" : !backward ? "backward" : NULL, BASE_COUNT(args), args))
        return false;
    size_t n = (size_t)n_in + (size_t)o.saved + (size_t)n_out;
    parts p = {.src = src, .n_in = n_in, .n_saved = o.saved, .n_out = n_out};
    p.copies = base_calloc(n + 2 * LAZY_SPARE, sizeof *p.copies); /* behind what is saved, and behind the outputs */
    p.values = base_calloc(n, sizeof *p.values);
    const ir_op *op = NULL;
    if (!p.copies || !p.values)
        lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_custom_grad: no memory for %zu tensors", n);
    else {
        p.saved = p.copies + n_in;
        p.out = p.saved + o.saved + LAZY_SPARE;
        lazy_custom g = {call_backward, (void (*)(void))backward, o.user, src_intern(src), n_in, o.saved, n_out};
        if (forward(&p, fn, o.user, in) && values_of(&p, in)) op = lazy_custom_op(&g, p.values);
    }
    lazy_begin(src);
    for (int k = 0; k < n_out; k++)
        out[k] = lazy_wrap(op ? &((ir_op *)(uintptr_t)op)->out[n_in + o.saved + k] : NULL, WHAT);
    base_free(p.copies);
    base_free(p.values);
    return op != NULL;
}
