/* xt_vmap: the user's function for one example, recorded for all of them (batch.h). */
#include "ops/batch.h"
#include "ops/functions.h"

static const char *const WHAT = "xt_vmap";

typedef struct vmap {
    const xt_src *src;
    int n_in, n_out;
    const xt_vmap_opts *o;
    xt_tensor *in, *out; /* inside: of one example */
    ir_value **whole; /* [n_in]: the examples in front; NULL: shared */
    ir_value **results, **all; /* [n_out] */
    int64_t n;
} vmap;

/* The examples in front of input k. */
static bool take_input(vmap *m, int k, xt_tensor x) {
    int axis = m->o->in_axes ? m->o->in_axes[k] : 0;
    if (axis == XT_SHARED) return true;
    ir_builder *b = lazy_begin(m->src);
    ir_value *v = lazy_value(x);
    int64_t at, perm[XT_MAX_RANK];
    xt_tensor failed;
    ops_text text;
    size_t n = 1;
    if (!v || !ops_axis(m->src, WHAT, v->type, axis, &at, &failed)) return false;
    if (m->n && v->type->dims[at] != m->n) {
        lazy_error(m->src, XT_INVALID_ARGUMENT,
                   "xt_vmap: input %d is %s, with %lld examples along axis %d, but an input before it has %lld", k,
                   ops_shape(v->type, &text), (long long)v->type->dims[at], axis, (long long)m->n);
        return false;
    }
    m->n = v->type->dims[at];
    perm[0] = at;
    for (int64_t i = 0; i < v->type->rank; i++)
        if (i != at) perm[n++] = i;
    m->whole[k] = at ? ir_transpose(b, v, n, perm) : v;
    return m->whole[k] != NULL;
}

static bool take_inputs(vmap *m, const xt_tensor *in) {
    for (int k = 0; k < m->n_in; k++)
        if (!take_input(m, k, in[k])) return false;
    if (m->n) return true;
    lazy_error(m->src, XT_INVALID_ARGUMENT, "xt_vmap: %d inputs, and none has examples: one at least must have an axis",
               m->n_in);
    return false;
}

static bool record(vmap *m, batch *t, xt_fn fn, const xt_tensor *in) {
    for (int k = 0; k < m->n_in; k++) {
        lazy_begin(m->src);
        m->in[k] = m->whole[k] ? lazy_wrap(batch_example(t, m->whole[k]), WHAT) : in[k];
    }
    if (lazy_pending() || !function_call(m->src, WHAT, fn, m->o->user, m->in, m->n_out, m->out)) return false;
    lazy_begin(m->src);
    for (int k = 0; k < m->n_out; k++)
        if (!(m->results[k] = lazy_value(m->out[k]))) return false;
    return true;
}

/* The examples of result k where they were asked for. */
static xt_tensor given(const vmap *m, int k) {
    ir_builder *b = lazy_begin(m->src);
    int axis = m->o->out_axes ? m->o->out_axes[k] : 0;
    ir_value *v = m->all[k];
    int64_t at, perm[XT_MAX_RANK];
    xt_tensor failed;
    size_t n = 0;
    if (!v || axis == XT_SHARED) {
        if (v)
            lazy_error(m->src, XT_INVALID_ARGUMENT, "xt_vmap: out_axes[%d] is XT_SHARED: every output has examples", k);
        return lazy_failed_tensor(m->src);
    }
    if (!ops_axis(m->src, WHAT, v->type, axis, &at, &failed)) return failed;
    for (int64_t i = 1; i <= v->type->rank; i++) {
        if ((int64_t)n == at) perm[n++] = 0;
        if (i < v->type->rank) perm[n++] = i;
    }
    return lazy_wrap(at ? ir_transpose(b, v, n, perm) : v, WHAT);
}

static bool vmapped(vmap *m, xt_fn fn, const xt_tensor *in, xt_tensor *out) {
    batch t;
    if (!take_inputs(m, in)) return false;
    xt_status st = batch_begin(&t, WHAT, m->src, m->n);
    if (st) {
        lazy_fail(status_at(st, m->src));
        return false;
    }
    if (!record(m, &t, fn, in)) {
        batch_drop(&t);
        return false;
    }
    bool ok = batch_end(&t, (size_t)m->n_out, m->results, m->all);
    for (int k = 0; ok && k < m->n_out; k++) out[k] = given(m, k);
    if (!ok) lazy_wrap(NULL, WHAT); /* takes the builder's status */
    return ok && !lazy_pending();
}

bool xt_vmap_at(const xt_src *src, xt_fn fn, int n_in, const xt_tensor *in, int n_out, xt_tensor *out, xt_vmap_opts o) {
    function_arg args[] = {{"inputs", n_in, 1, in, NULL}, {"outputs", n_out, 1, out, out}};
    lazy_begin(src);
    if (!function_args_fit(src, WHAT, fn ? NULL : "fn", BASE_COUNT(args), args)) return false;
    size_t n = (size_t)n_in, k = (size_t)n_out;
    xt_tensor *handles = base_calloc(n + k, sizeof *handles);
    ir_value **values = base_calloc(n + 2 * k, sizeof *values);
    vmap m = {.src = src, .n_in = n_in, .n_out = n_out, .o = &o};
    bool ok = handles && values;
    if (!ok) lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_vmap: no memory for %d tensors", n_in + n_out);
    if (ok) {
        m.in = handles, m.out = handles + n;
        m.whole = values, m.results = values + n, m.all = m.results + k;
        ok = vmapped(&m, fn, in, out);
    }
    if (!ok) function_failed(src, WHAT, n_out, out);
    base_free(handles);
    base_free(values);
    return ok;
}
