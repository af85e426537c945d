/* Derivatives of functions: vjp by the reverse walk, jvp as the transpose of it, Jacobians by rows that are computed
 * together (batch.h). */
#include "ops/batch.h"
#include "ops/functions.h"

static bool real_or_complex(const ir_type *t) {
    return ir_dtype_is_float(t->dtype) || ir_dtype_is_complex(t->dtype);
}

static xt_tensor zeros_like(const xt_src *src, const char *what, xt_tensor x) {
    const ir_value *v = lazy_value(x);
    ir_builder *b = lazy_begin(src);
    return lazy_wrap(v ? ir_splat(b, v->type, 0) : NULL, what);
}

/* d[i] = the sum over k of what flows from out[k] with d_out[k] to in[i]; zeros where nothing does. Outputs of whole
 * numbers give nothing. */
static bool pull(const xt_src *src, const char *what, int n_out, const xt_tensor *out, const xt_tensor *d_out, int n_in,
                 const xt_tensor *in, xt_tensor *d) {
    xt_tensor *part = base_calloc((size_t)n_in + 1, sizeof *part);
    bool ok = part != NULL;
    if (!ok) lazy_error(src, XT_RESOURCE_EXHAUSTED, "%s: no memory for %d tensors", what, n_in);
    for (int i = 0; i < n_in; i++) d[i] = (xt_tensor){0};
    for (int k = 0; ok && k < n_out; k++) {
        const ir_type *t = lazy_type(out[k]);
        if (t && !real_or_complex(t)) continue;
        ok = xt_grad_of_at(src, out[k], n_in, in, part,
                           (xt_grad_of_opts){.grad_output = d_out[k], .create_graph = XT_ON, .allow_unused = XT_ON});
        for (int i = 0; ok && i < n_in; i++)
            if (!xt_is_none(part[i])) d[i] = xt_is_none(d[i]) ? part[i] : xt_add_at(src, d[i], part[i]);
    }
    for (int i = 0; ok && i < n_in; i++)
        if (xt_is_none(d[i])) d[i] = zeros_like(src, what, in[i]);
    base_free(part);
    return ok && !lazy_pending();
}

/* --- vjp --- */
static bool seeds_fit(const xt_src *src, const char *what, int n, const xt_tensor *of, const xt_tensor *seeds,
                      const char *which) {
    ops_text a, b;
    for (int k = 0; k < n; k++) {
        lazy_begin(src);
        const ir_value *x = lazy_value(of[k]), *d = lazy_value(seeds[k]);
        if (!x || !d) return false;
        if (ops_same_dims(x->type, d->type)) continue;
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: %s %d is %s, but what it belongs to is %s: the shapes must be equal",
                   what, which, k, ops_shape(d->type, &a), ops_shape(x->type, &b));
        return false;
    }
    return true;
}

typedef struct call { /* of a function that is differentiated */
    const xt_src *src;
    const char *what;
    xt_fn fn;
    void *user;
    int n_in, n_out;
    xt_tensor *args; /* copies of the inputs */
    int was; /* gradients were off */
} call;

static bool inputs_differentiable(const call *c, const xt_tensor *in) {
    for (int k = 0; k < c->n_in; k++) {
        const ir_type *t = lazy_type(in[k]);
        if (!t || real_or_complex(t)) continue; /* none, dead or an error: the copy says so */
        lazy_error(c->src, XT_INVALID_ARGUMENT,
                   "%s: input %d is %s; only floating-point and complex tensors have derivatives: what else the "
                   "function reads goes through `user`",
                   c->what, k, xt_dtype_name(t->dtype));
        return false;
    }
    return true;
}

/* The copies are made while gradients are as they were: where they are off, nothing flows beyond them. */
static bool begin(call *c, const xt_tensor *in) {
    bool ok = inputs_differentiable(c, in);
    c->args = base_calloc((size_t)c->n_in + 1, sizeof *c->args);
    if (!c->args) lazy_error(c->src, XT_RESOURCE_EXHAUSTED, "%s: no memory for %d tensors", c->what, c->n_in);
    ok = ok && c->args && function_copies(c->src, c->what, c->n_in, in, c->args);
    c->was = lazy_grad_allow();
    return ok;
}

static bool end(call *c, bool ok, int n, xt_tensor *a, int m, xt_tensor *b) {
    lazy_grad_as_before(c->was);
    base_free(c->args);
    if (ok && c->was)
        ok = (!a || function_copies(c->src, c->what, n, a, a)) && function_copies(c->src, c->what, m, b, b);
    if (ok && !lazy_pending()) return true;
    function_failed(c->src, c->what, a ? n : 0, a);
    function_failed(c->src, c->what, m, b);
    return false;
}

static bool one_element(const call *c, xt_tensor out) {
    ops_text text;
    const ir_type *t = lazy_type(out);
    if (!t || (t->count == 1 && real_or_complex(t))) return t != NULL;
    lazy_error(c->src, XT_INVALID_ARGUMENT,
               "%s: the function gives %s %s: expected one float (xt_sum or xt_mean of it)", c->what,
               xt_dtype_name(t->dtype), ops_shape(t, &text));
    return false;
}

bool xt_vjp_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, int n_out,
               const xt_tensor *d_out, xt_tensor *out, xt_tensor *d_in) {
    call c = {.src = src, .what = "xt_vjp", .fn = fn, .user = user, .n_in = n_in, .n_out = n_out};
    function_arg args[] = {{"inputs", n_in, 1, in, NULL},
                           {"gradients", n_in, 1, d_in, d_in},
                           {"outputs", n_out, 1, out, out},
                           {"cotangents", n_out, 1, d_out, NULL}};
    lazy_begin(src);
    if (!function_args_fit(src, c.what, fn ? NULL : "fn", BASE_COUNT(args), args)) return false;
    bool ok = begin(&c, in) && function_call(src, c.what, fn, user, c.args, n_out, out) &&
              seeds_fit(src, c.what, n_out, out, d_out, "cotangent") &&
              pull(src, c.what, n_out, out, d_out, n_in, c.args, d_in);
    return end(&c, ok, n_out, out, n_in, d_in);
}

static bool gradient(call *c, xt_tensor *out, xt_tensor *d_in) {
    if (!function_call(c->src, c->what, c->fn, c->user, c->args, 1, out) || !one_element(c, *out)) return false;
    xt_tensor one = xt_full_like_at(c->src, *out, 1);
    return pull(c->src, c->what, 1, out, &one, c->n_in, c->args, d_in);
}

bool xt_grad_fn_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, xt_tensor *out,
                   xt_tensor *d_in) {
    call c = {.src = src, .what = "xt_grad_fn", .fn = fn, .user = user, .n_in = n_in, .n_out = 1};
    function_arg args[] = {
        {"inputs", n_in, 1, in, NULL}, {"gradients", n_in, 1, d_in, d_in}, {"outputs", 1, 1, out ? out : d_in, out}};
    xt_tensor own;
    lazy_begin(src);
    if (!function_args_fit(src, c.what, fn ? NULL : "fn", BASE_COUNT(args), args)) return false;
    bool ok = begin(&c, in) && gradient(&c, out ? out : &own, d_in);
    return end(&c, ok, 1, out, n_in, d_in);
}

/* --- jvp --- */
/* d_out = J d_in: g = J^T u is linear in u, and its transpose is J. */
static bool push(const call *c, int n_out, const xt_tensor *out, const xt_tensor *d_in, xt_tensor *d_out) {
    xt_tensor *u = base_calloc((size_t)(n_out + c->n_in) + 1, sizeof *u), *g = u + n_out;
    bool ok = u != NULL;
    if (!ok) lazy_error(c->src, XT_RESOURCE_EXHAUSTED, "%s: no memory for %d tensors", c->what, n_out);
    for (int k = 0; ok && k < n_out; k++) {
        xt_tensor zero = zeros_like(c->src, c->what, out[k]);
        ok = function_copies(c->src, c->what, 1, &zero, &u[k]);
    }
    int n = 0; /* outputs of floats stand in front of the others */
    xt_tensor *floats = base_calloc((size_t)(3 * n_out) + 1, sizeof *floats), *of = floats + n_out, *d = of + n_out;
    for (int k = 0; ok && floats && k < n_out; k++) {
        const ir_type *t = lazy_type(out[k]);
        if (t && real_or_complex(t)) floats[n] = u[k], of[n++] = out[k];
    }
    ok = ok && floats && pull(c->src, c->what, n, of, floats, c->n_in, c->args, g) &&
         pull(c->src, c->what, c->n_in, g, d_in, n, floats, d);
    for (int k = 0, at = 0; ok && k < n_out; k++) {
        const ir_type *t = lazy_type(out[k]);
        d_out[k] = t && real_or_complex(t) ? d[at++] : u[k];
    }
    base_free(u);
    base_free(floats);
    return ok;
}

/* The tangents as they are, zeros for none. */
static xt_tensor *tangents(const call *c, const xt_tensor *d_in) {
    xt_tensor *d = base_calloc((size_t)c->n_in + 1, sizeof *d);
    if (!d) lazy_error(c->src, XT_RESOURCE_EXHAUSTED, "%s: no memory for %d tensors", c->what, c->n_in);
    for (int i = 0; d && i < c->n_in; i++)
        d[i] = xt_is_none(d_in[i]) ? zeros_like(c->src, c->what, c->args[i]) : d_in[i];
    return d;
}

bool xt_jvp_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, const xt_tensor *d_in, int n_out,
               xt_tensor *out, xt_tensor *d_out) {
    call c = {.src = src, .what = "xt_jvp", .fn = fn, .user = user, .n_in = n_in, .n_out = n_out};
    function_arg args[] = {{"inputs", n_in, 1, in, NULL},
                           {"tangents", n_in, 1, d_in, NULL},
                           {"outputs", n_out, 1, out, out},
                           {"results", n_out, 1, d_out, d_out}};
    lazy_begin(src);
    if (!function_args_fit(src, c.what, fn ? NULL : "fn", BASE_COUNT(args), args)) return false;
    xt_tensor *d = NULL;
    bool ok = begin(&c, in) && (d = tangents(&c, d_in)) && seeds_fit(src, c.what, n_in, c.args, d, "tangent") &&
              function_call(src, c.what, fn, user, c.args, n_out, out) && push(&c, n_out, out, d, d_out);
    base_free(d);
    return end(&c, ok, n_out, out, n_out, d_out);
}

bool xt_hvp_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, const xt_tensor *v,
               xt_tensor *out, xt_tensor *hv) {
    call c = {.src = src, .what = "xt_hvp", .fn = fn, .user = user, .n_in = n_in, .n_out = 1};
    function_arg args[] = {{"inputs", n_in, 1, in, NULL},
                           {"vectors", n_in, 1, v, NULL},
                           {"results", n_in, 1, hv, hv},
                           {"outputs", 1, 1, out ? out : hv, out}};
    xt_tensor own, *g = NULL;
    lazy_begin(src);
    if (!function_args_fit(src, c.what, fn ? NULL : "fn", BASE_COUNT(args), args)) return false;
    bool ok = begin(&c, in) && seeds_fit(src, c.what, n_in, c.args, v, "vector") &&
              (g = base_calloc((size_t)n_in + 1, sizeof *g)) && gradient(&c, out ? out : &own, g) &&
              pull(src, c.what, n_in, g, v, n_in, c.args, hv); /* the Hessian is its own transpose */
    base_free(g);
    return end(&c, ok, 1, out, n_in, hv);
}

/* --- Jacobians --- */
/* Row r of an identity of n rows, of t's dims: an argument of the body. */
static xt_tensor basis(batch *t, const ir_type *type) {
    int64_t dims[XT_MAX_RANK + 1], square[2] = {type->count, type->count};
    ir_builder *b = lazy_begin(t->src), out = *b;
    dims[0] = type->count;
    memcpy(dims + 1, type->dims, type->rank * sizeof *dims);
    /* recorded around the body, where the examples of an argument stand */
    out.block = t->loop.around.block;
    out.before = t->loop.around.before;
    const ir_type *whole = ir_tensor(XT_I64, 2, square);
    ir_value *eye = ir_compare(&out, IR_EQ, ir_iota(&out, whole, 0), ir_iota(&out, whole, 1));
    eye = ir_reshape(&out, ir_convert(&out, eye, type->dtype), type->rank + 1, dims);
    b->status = out.status;
    return lazy_wrap(eye ? batch_example(t, eye) : NULL, t->what);
}

/* The body of all rows: the function, and one row of each Jacobian. */
static bool record_rows(batch *t, call *c, const xt_tensor *in, xt_tensor *out, ir_value **rows) {
    xt_tensor *d = base_calloc((size_t)c->n_in + 1, sizeof *d);
    bool ok = d && begin(c, in) && function_call(c->src, c->what, c->fn, c->user, c->args, 1, out);
    const ir_type *type = ok ? lazy_type(*out) : NULL;
    ops_text text;
    if (type && !real_or_complex(type)) {
        lazy_error(c->src, XT_INVALID_ARGUMENT,
                   "%s: the function gives %s %s, which has no derivative: expected floats", c->what,
                   xt_dtype_name(type->dtype), ops_shape(type, &text));
        type = NULL;
    }
    if (type) {
        t->n = type->count;
        xt_tensor seed = basis(t, type);
        ok = !lazy_is_error(seed) && pull(c->src, c->what, 1, out, &seed, c->n_in, c->args, d);
    }
    lazy_begin(c->src);
    for (int i = 0; ok && type && i < c->n_in; i++) ok = (rows[i] = lazy_value(d[i])) != NULL;
    base_free(d);
    return ok && type && !lazy_pending();
}

static bool jacobian(call *c, const xt_tensor *in, xt_tensor *jacobians) {
    batch t;
    xt_tensor out = {0};
    ir_value **rows = base_calloc(2 * (size_t)c->n_in + 1, sizeof *rows), **all = rows + c->n_in;
    xt_status st = rows ? batch_begin(&t, c->what, c->src, 0) : status_oom(sizeof *rows, c->what);
    if (st) lazy_fail(status_at(st, c->src));
    bool ok = !st && record_rows(&t, c, in, &out, rows);
    const ir_type *type = ok ? lazy_type(out) : NULL;
    if (!st && !ok) batch_drop(&t);
    if (ok) ok = batch_end(&t, (size_t)c->n_in, rows, all);
    for (int i = 0; ok && i < c->n_in; i++) {
        int64_t dims[2 * XT_MAX_RANK];
        uint32_t rank = type->rank, more = all[i]->type->rank - 1;
        if (rank + more > XT_MAX_RANK) {
            lazy_error(c->src, XT_INVALID_ARGUMENT, "%s: the Jacobian by input %d has %u dims: at most %d", c->what, i,
                       rank + more, XT_MAX_RANK);
            ok = false;
            break;
        }
        memcpy(dims, type->dims, rank * sizeof *dims);
        memcpy(dims + rank, all[i]->type->dims + 1, more * sizeof *dims);
        ir_builder *b = lazy_begin(c->src);
        jacobians[i] = lazy_wrap(ir_reshape(b, all[i], rank + more, dims), c->what);
    }
    base_free(rows);
    return ok;
}

static bool jacobian_by(call *c, const xt_tensor *in, xt_tensor *jacobians) {
    c->was = lazy_grad_allow();
    lazy_grad_as_before(c->was); /* until begin */
    bool ok = jacobian(c, in, jacobians);
    return end(c, ok, 0, NULL, c->n_in, jacobians);
}

bool xt_jacobian_at(const xt_src *src, xt_fn fn, void *user, int n_in, const xt_tensor *in, xt_tensor *jacobians) {
    call c = {.src = src, .what = "xt_jacobian", .fn = fn, .user = user, .n_in = n_in, .n_out = 1};
    function_arg args[] = {{"inputs", n_in, 1, in, NULL}, {"Jacobians", n_in, 1, jacobians, jacobians}};
    lazy_begin(src);
    if (!function_args_fit(src, c.what, fn ? NULL : "fn", BASE_COUNT(args), args)) return false;
    return jacobian_by(&c, in, jacobians);
}

typedef struct of_function {
    const xt_src *src;
    xt_fn fn;
    void *user;
} of_function;

static void gradient_of(const xt_tensor *in, xt_tensor *out, void *user) {
    const of_function *f = user;
    call c = {.src = f->src, .what = "xt_hessian", .fn = f->fn, .user = f->user, .n_in = 1, .n_out = 1};
    xt_tensor value;
    bool ok = begin(&c, in) && gradient(&c, &value, out);
    end(&c, ok, 0, NULL, 1, out);
}

bool xt_hessian_at(const xt_src *src, xt_fn fn, void *user, xt_tensor x, xt_tensor *out) {
    of_function f = {src, fn, user};
    call c = {.src = src, .what = "xt_hessian", .fn = gradient_of, .user = &f, .n_in = 1, .n_out = 1};
    function_arg args[] = {{"results", 1, 1, out, out}};
    lazy_begin(src);
    if (!function_args_fit(src, c.what, fn ? NULL : "fn", BASE_COUNT(args), args)) return false;
    return jacobian_by(&c, &x, out);
}
