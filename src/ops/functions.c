/* Calls of the user's functions of tensors: what is looked at before and behind them (functions.h). */
#include "ops/functions.h"

bool function_args_fit(const xt_src *src, const char *what, bool fn, size_t n, const function_arg *args) {
    if (!fn) {
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: a function is NULL", what);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (args[i].n >= args[i].least && (args[i].n == 0 || args[i].array)) continue;
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: %d %s%s: expected at least %d, and an array of them", what, args[i].n,
                   args[i].name, args[i].array ? "" : " in no array", args[i].least);
        return false;
    }
    return true;
}

void function_failed(const xt_src *src, const char *what, int n, xt_tensor *out) {
    (void)what;
    for (int k = 0; k < n && out; k++) out[k] = lazy_failed_tensor(src);
}

bool function_call(const xt_src *src, const char *what, xt_fn fn, void *user, const xt_tensor *in, int n_out,
                   xt_tensor *out) {
    char name[64];
    lazy_inside_fn call;
    snprintf(name, sizeof name, "the function of %s", what);
    for (int k = 0; k < n_out; k++) out[k] = (xt_tensor){0};
    if (lazy_pending()) return false;
    lazy_enter_whole(&call, intern_text(intern(name)));
    fn(in, out, user);
    lazy_leave(&call);
    lazy_begin(src);
    for (int k = 0; k < n_out && !lazy_pending(); k++)
        if (xt_is_none(out[k]))
            lazy_error(src, XT_INVALID_ARGUMENT, "%s: the function did not fill out[%d] of %d", what, k, n_out);
    return !lazy_pending();
}

bool function_copies(const xt_src *src, const char *what, int n, const xt_tensor *in, xt_tensor *out) {
    for (int k = 0; k < n; k++) {
        ir_builder *b = lazy_begin(src);
        out[k] = lazy_wrap(ops_copy(b, lazy_value(in[k])), what);
        if (lazy_is_error(out[k])) return false;
    }
    return true;
}
