/* What calls of the user's functions of tensors (xt_vjp, xt_vmap, xt_cond, ...) share. */
#ifndef XT_SRC_OPS_FUNCTIONS_H
#define XT_SRC_OPS_FUNCTIONS_H

#include <xtrain/transforms.h>

#include "ops/ops.h"

/* Counts from 0 on (from 1 where `least` says so), and arrays behind them. False, with an error, and error tensors in
 * each `out`, the array as a place for results (NULL: it is none, or need not be there). no_fn: the name of an argument
 * that is no function; NULL: all are. */
typedef struct function_arg {
    const char *name;
    int n, least;
    const void *array;
    xt_tensor *out;
} function_arg;
bool function_args_fit(const xt_src *src, const char *what, const char *no_fn, size_t n, const function_arg *args);
/* Error tensors with the pending error. */
void function_failed(const xt_src *src, const char *what, int n, xt_tensor *out);
/* Calls fn, and looks whether it filled all of out. */
bool function_call(const xt_src *src, const char *what, xt_fn fn, void *user, const xt_tensor *in, int n_out,
                   xt_tensor *out);
/* Nodes of their own with the same values: what is differentiated by them is not what else reads the originals. */
bool function_copies(const xt_src *src, const char *what, int n, const xt_tensor *in, xt_tensor *out);

#endif
