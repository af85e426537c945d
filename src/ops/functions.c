/* Calls of the user's functions of tensors: what is looked at before and behind them (functions.h). */
#include "ops/functions.h"

#include "lazy/places.h"

static bool args_fit(const xt_src *src, const char *what, const char *no_fn, size_t n, const function_arg *args) {
    if (no_fn) {
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: the function `%s` is NULL; expected the address of a function", what,
                   no_fn);
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

bool function_args_fit(const xt_src *src, const char *what, const char *no_fn, size_t n, const function_arg *args) {
    if (args_fit(src, what, no_fn, n, args)) return true;
    for (size_t i = 0; i < n; i++) function_failed(src, what, args[i].n, args[i].out);
    return false;
}

void function_failed(const xt_src *src, const char *what, int n, xt_tensor *out) {
    (void)what;
    for (int k = 0; k < n && out; k++) out[k] = lazy_failed_tensor(src);
}

bool function_call(const xt_src *src, const char *what, xt_fn fn, void *user, const xt_tensor *in, int n_out,
                   xt_tensor *out) {
    char name[64];
    lazy_inside_fn call;
    lazy_places places;
    snprintf(name, sizeof name, "the function of %s", what);
    for (int k = 0; k < n_out; k++) out[k] = (xt_tensor){0};
    if (lazy_pending() || !lazy_places_open(&places, src, what, n_out)) return false;
    lazy_enter_whole(&call, intern_text(intern(name)));
    fn(in, places.at, user);
    lazy_leave(&call);
    lazy_begin(src);
    bool kept = lazy_pending() || lazy_places_kept(src, name, "out", "n_out", n_out, places.at);
    if (kept) memcpy(out, places.at, (size_t)n_out * sizeof *out);
    lazy_places_close(&places);
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
