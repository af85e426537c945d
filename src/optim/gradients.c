/* All gradients of a step together: averaged over ranks in buckets that are reduced while the backward pass still runs,
 * their norm, clipping, and whether all are finite. Nothing is read. */
#include <math.h>

#include "lazy/mesh/mesh.h"
#include "lazy/step/swept.h"
#include "nn/nn.h"
#include "ops/ops.h"
#include "optim/optim.h"

void gradients_free(gradients *g) {
    base_free(g->params);
    base_free(g->grads);
    base_free(g->values);
    base_free(g->index);
    *g = (gradients){0};
}

bool gradients_of_module(const xt_module *m, gradients *g) {
    size_t room = (size_t)xt_module_tensors(m) + 1;
    *g = (gradients){base_calloc(room, sizeof *g->params), base_calloc(room, sizeof *g->grads),
                     base_calloc(room, sizeof *g->values), base_calloc(room, sizeof *g->index), 0};
    if (!g->params || !g->grads || !g->values || !g->index) {
        gradients_free(g);
        lazy_fail(status_oom(room * sizeof *g->params, "the gradients of a step"));
        return false;
    }
    for (int i = 0; i < xt_module_tensors(m); i++) {
        if (!xt_module_tensor_is_param(m, i) || !nn_below(m, xt_module_tensor_name(m, i))) continue;
        xt_tensor p = xt_module_tensor(m, i), grad = lazy_grad(p);
        if (!grad.slot) continue;
        g->params[g->n] = p;
        g->grads[g->n] = grad;
        g->values[g->n] = lazy_value(grad);
        g->index[g->n++] = i;
    }
    return true;
}

/* A module may be freed before its optimizer; what is left then is good for xt_optimizer_free only. */
static bool has_module(const xt_optimizer *o) {
    if (lazy_owns(o->root)) return true;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL,
                         "%s: the module of this optimizer was freed, or belongs to another thread; free the optimizer "
                         "first, or after its last step",
                         o->name->name));
    return false;
}

bool gradients_get(xt_optimizer *o, gradients *g) {
    if (!has_module(o)) return false;
    if (!gradients_of_module(o->net, g)) return false;
    bool frozen = false;
    for (size_t i = 0; i < o->n_groups; i++) frozen = frozen || o->groups[i].frozen;
    size_t kept = 0;
    for (size_t i = 0; frozen && i < g->n; i++) {
        if (o->groups[optim_group_of(o, xt_module_tensor_name(o->net, g->index[i]))].frozen) {
            /* never computed then: nothing asks for it any more */
            if (!optim_is_anothers(o, g->index[i])) lazy_set_grad(g->params[i], (xt_tensor){0});
            continue;
        }
        g->params[kept] = g->params[i];
        g->grads[kept] = g->grads[i];
        g->values[kept] = g->values[i];
        g->index[kept++] = g->index[i];
    }
    if (frozen) g->n = kept;
    return true;
}

/* Numbers of the gradients in the order in which the backward pass has them ready; those that were there before the
 * step come first. Values have their number as mark meanwhile, which is scratch (ir.h). */
static void by_readiness(const ir_builder *b, const gradients *g, size_t *order) {
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) g->values[i]->mark = 0;
    for (const ir_op *op = b->block->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++) ((ir_op *)(uintptr_t)op)->out[i].mark = 0;
    /* tied parameters have one value: the first of them stands for it */
    for (size_t i = g->n; i-- > 0;) g->values[i]->mark = i + 1;
    for (size_t i = 0; i < g->n; i++)
        if (!g->values[i]->def || g->values[i]->mark != i + 1) order[n++] = i;
    for (const ir_op *op = b->block->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++)
            if (op->out[i].mark) order[n++] = op->out[i].mark - 1;
}

static bool same_bucket(const gradients *g, size_t a, size_t b, size_t bytes, size_t most) {
    return g->values[a]->type->dtype == g->values[b]->type->dtype && bytes + ir_type_bytes(g->values[b]->type) <= most;
}

bool gradients_average(ir_builder *b, gradients *g, int64_t bucket_bytes) {
    int ranks = lazy_spmd() ? 1 : world_get()->size; /* with a mesh, gradients are those of the whole batch */
    if (ranks <= 1 || g->n == 0) return true;
    for (size_t i = 0; i < g->n; i++)
        if (!g->values[i]) return false;
    size_t *order = base_calloc(g->n, sizeof *order),
           most = bucket_bytes > 0 ? (size_t)bucket_bytes : OPTIM_BUCKET_BYTES;
    ir_value **in = base_calloc(2 * g->n, sizeof *in), **sum = in + g->n;
    bool ok = order && in;
    if (ok) by_readiness(b, g, order);
    for (size_t i = 0, n; i < g->n && ok; i += n) {
        size_t bytes = 0;
        for (n = 0; i + n < g->n && (n == 0 || same_bucket(g, order[i], order[i + n], bytes, most)); n++) {
            in[n] = g->values[order[i + n]];
            bytes += ir_type_bytes(in[n]->type);
        }
        ok = ir_all_reduce(b, OP_add, n, in, ranks, 1, sum);
        for (size_t k = 0; k < n && ok; k++) g->values[order[i + k]] = optim_times(b, sum[k], 1.0 / ranks);
    }
    base_free(order);
    base_free(in);
    return ok;
}

void gradients_assign(const gradients *g, const char *what) {
    for (size_t i = 0; i < g->n; i++)
        if (g->values[i]) lazy_assign(g->grads[i], lazy_wrap(g->values[i], what));
}

/* --- norms --- */
static ir_value *reduced(ir_builder *b, ir_opcode op, ir_value *x) {
    int64_t dims[32];
    if (!x) return NULL;
    size_t rank = x->type->rank < 32 ? x->type->rank : 32;
    for (size_t i = 0; i < rank; i++) dims[i] = (int64_t)i;
    return rank ? ir_reduce(b, op, x, rank, dims) : x;
}

/* Which norm: a number of the program, or, once it has changed from step to step, data. */
typedef struct norm_kind {
    double p;
    ir_value *power, *root; /* scalars p and 1 / p; NULL: constants */
} norm_kind;

static ir_value *raised(ir_builder *b, ir_value *x, ir_value *data, double v) {
    if (!x) return NULL;
    if (!data) return ir_power(b, x, ir_splat(b, x->type, v));
    return ir_power(b, x, ops_broadcast(b, ir_convert(b, data, x->type->dtype), x->type->rank, x->type->dims));
}

/* What is added (or, for p = infinity, compared) over all gradients; its p-th root is the norm. */
static ir_value *norm_part(ir_builder *b, ir_value *x, const norm_kind *k) {
    if (!x) return NULL;
    if (!k->power && k->p == 2) return reduced(b, OP_add, ir_multiply(b, x, x));
    ir_value *a = ir_abs(b, x);
    if (isinf(k->p)) return reduced(b, OP_maximum, a);
    return reduced(b, OP_add, !k->power && k->p == 1 ? a : raised(b, a, k->power, k->p));
}

static xt_dtype widest(ir_value *const *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (values[i] && values[i]->type->dtype == XT_F64) return XT_F64;
    return XT_F32;
}

static ir_value *norm_of(ir_builder *b, ir_value *const *values, size_t n, const norm_kind *k) {
    ir_value *total = NULL;
    xt_dtype dtype = widest(values, n);
    for (size_t i = 0; i < n; i++) {
        ir_value *s = norm_part(
            b, values[i] && xt_dtype_size(values[i]->type->dtype) < 4 ? ir_convert(b, values[i], XT_F32) : values[i],
            k);
        if (!s) return NULL;
        s = ir_convert(b, s, dtype);
        total = !total ? s : isinf(k->p) ? ir_maximum(b, total, s) : ir_add(b, total, s);
    }
    if (!total) return ir_splat(b, ir_scalar(dtype), 0);
    if (isinf(k->p) || (!k->power && k->p == 1)) return total;
    return !k->power && k->p == 2 ? ir_sqrt(b, total) : raised(b, total, k->root, 1 / k->p);
}

ir_value *gradients_norm(ir_builder *b, ir_value *const *values, size_t n, double p) {
    return norm_of(b, values, n, &(norm_kind){.p = p});
}

/* Infinity is another op, and stays one. */
static norm_kind kind_of(const xt_src *src, const char *what, const gradients *g, double p) {
    xt_dtype t = widest(g->values, g->n);
    if (isinf(p) || !ops_number_moves(src, what, p)) return (norm_kind){.p = p};
    xt_tensor power = lazy_scalar(src, t, p), root = lazy_scalar(src, t, 1 / p);
    lazy_begin(src);
    return (norm_kind){p, lazy_value(power), lazy_value(root)};
}

ir_value *gradients_limit(const xt_src *src, const char *what, const gradients *g, double max) {
    return ops_number(src, what, widest(g->values, g->n), max, NULL);
}

void gradients_clip_norm(ir_builder *b, gradients *g, ir_value *norm, ir_value *max) {
    if (!norm || !max) return;
    ir_value *factor = ir_minimum(b, ir_divide(b, ir_convert(b, max, norm->type->dtype), optim_plus(b, norm, 1e-6)),
                                  ir_splat(b, norm->type, 1));
    for (size_t i = 0; i < g->n; i++) g->values[i] = optim_scale(b, g->values[i], factor);
}

void gradients_clip_value(ir_builder *b, gradients *g, ir_value *max) {
    for (size_t i = 0; i < g->n && max; i++)
        if (g->values[i]) {
            ir_value *most = ir_convert(b, max, g->values[i]->type->dtype);
            g->values[i] = ir_clamp(b, ir_negate(b, most), g->values[i], most);
        }
}

ir_value *gradients_not_finite(ir_builder *b, const gradients *g) {
    ir_value *bad = NULL;
    for (size_t i = 0; i < g->n; i++) {
        ir_value *x = g->values[i];
        ir_value *finite = x ? reduced(b, OP_and, ir_is_finite(b, x)) : NULL;
        if (!finite) return NULL;
        bad = bad ? ir_and(b, bad, finite) : finite;
    }
    return bad ? ir_not(b, bad) : ir_splat(b, ir_scalar(XT_BOOL), 0);
}

/* --- calls of their own --- */
void xt_reduce_gradients_at(const xt_src *src, xt_optimizer *o) {
    gradients g;
    if (!o) return;
    ir_builder *b = lazy_begin(src);
    if (!gradients_get(o, &g)) return;
    if (!replicas_begin(src, "xt_reduce_gradients", o)) {
        gradients_free(&g);
        return;
    }
    xt_no_grad_begin();
    if (!optim_is_reduced(o) && world_get()->size > 1 && !lazy_spmd() && gradients_average(b, &g, o->bucket_bytes))
        gradients_assign(&g, "xt_reduce_gradients");
    xt_no_grad_end_at(NULL);
    o->reduced = g.n > 0; /* in front of xt_backward there is nothing that has been averaged */
    o->reduced_calls = lazy_swept_here()->calls;
    gradients_free(&g);
}

bool optim_is_reduced(const xt_optimizer *o) {
    return o->reduced && o->reduced_calls == lazy_swept_here()->calls;
}

void optim_taken(const xt_src *src, const char *by, xt_optimizer *o) {
    int64_t calls = lazy_swept_here()->calls;
    if (!calls || (o->taken.by && o->taken.calls == calls)) return; /* there was none to take */
    o->taken.by = by;
    o->taken.at = src_intern(src);
    o->taken.calls = calls;
}

static void forget_gradients(const xt_module *m) {
    for (int i = 0; i < xt_module_tensors(m); i++)
        if (nn_below(m, xt_module_tensor_name(m, i))) lazy_set_grad(xt_module_tensor(m, i), (xt_tensor){0});
}

void xt_zero_grad_at(const xt_src *src, xt_optimizer *o) {
    if (!o) return;
    lazy_begin(src);
    if (!has_module(o)) return;
    optim_taken(src, "xt_zero_grad", o);
    forget_gradients(o->net);
    o->reduced = o->unscaled = false;
    scaler_forget_found(&o->found);
}

void xt_module_zero_grad_at(const xt_src *src, xt_module *m) {
    lazy_begin(src);
    if (m) forget_gradients(m);
}

static bool clip_options(const xt_src *src, const char *what, double max, xt_clip_opts *p) {
    static const option_row rows[] = {OPTIM_ROW(xt_clip_opts, norm_type, 1e-3, HUGE_VAL, "which norm")};
    xt_status s = options_check(rows, BASE_COUNT(rows), p, OPTION_DEFAULTS(xt_clip_opts), what);
    if (!s && !(max > 0))
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "%s: the largest norm is %g; a number above 0 is needed (HUGE_VAL: the norm alone)", what, max);
    if (s) lazy_fail(status_at(s, src));
    return !s;
}

/* Clips what g holds and gives the norm before. */
/* In front of xt_backward there is nothing to clip, and what comes then is not clipped. */
static void tell_nothing(const xt_src *src, const char *what) {
    static atomic_bool told;
    if (lazy_pending() || world_get()->rank != 0 || lazy_rehearsing() || atomic_exchange(&told, true)) return;
    log_msg(XT_SEV_WARNING,
            "%s:%d: %s: no parameter has a gradient here, so nothing is clipped; its place is between xt_backward and "
            "xt_optimizer_step",
            src ? src->file : "?", src ? src->line : 0, what);
}

static void note_clipped(const xt_src *src, const gradients *g) {
    for (size_t i = 0; i < g->n; i++) lazy_note_clipped(g->params[i], src_intern(src));
}

static xt_tensor clip(const xt_src *src, gradients *g, const char *what, double max, double p) {
    if (!g->n) tell_nothing(src, what);
    xt_no_grad_begin();
    ir_value *limit = isfinite(max) ? gradients_limit(src, what, g, max) : NULL;
    norm_kind kind = kind_of(src, ".norm_type", g, p);
    ir_builder *b = lazy_begin(src);
    ir_value *norm = norm_of(b, g->values, g->n, &kind);
    if (isfinite(max)) {
        gradients_clip_norm(b, g, norm, limit);
        gradients_assign(g, what);
        note_clipped(src, g);
    }
    xt_tensor out = lazy_wrap(norm, what);
    xt_no_grad_end_at(NULL);
    gradients_free(g);
    return out;
}

xt_tensor xt_clip_grad_norm_at(const xt_src *src, xt_optimizer *o, double max, xt_clip_opts p) {
    gradients g;
    lazy_begin(src);
    if (!o || !clip_options(src, "xt_clip_grad_norm", max, &p) || !scaler_not_mixed(src, "xt_clip_grad_norm", o))
        return lazy_wrap(NULL, "xt_clip_grad_norm");
    xt_reduce_gradients_at(src, o);
    if (isfinite(max)) o->clipped.norm = max;
    lazy_begin(src);
    return gradients_get(o, &g) ? clip(src, &g, "xt_clip_grad_norm", max, p.norm_type)
                                : lazy_wrap(NULL, "xt_clip_grad_norm");
}

xt_tensor xt_module_clip_grad_norm_at(const xt_src *src, xt_module *m, double max, xt_clip_opts p) {
    gradients g;
    lazy_begin(src);
    if (!m || !clip_options(src, "xt_module_clip_grad_norm", max, &p) || !gradients_of_module(m, &g))
        return lazy_wrap(NULL, "xt_module_clip_grad_norm");
    return clip(src, &g, "xt_module_clip_grad_norm", max, p.norm_type);
}

static void clip_values(const xt_src *src, const char *what, gradients *g, double max) {
    if (!g->n) tell_nothing(src, what);
    if (max > 0) {
        xt_no_grad_begin();
        ir_value *limit = gradients_limit(src, what, g, max);
        gradients_clip_value(lazy_begin(src), g, limit);
        gradients_assign(g, what);
        note_clipped(src, g);
        xt_no_grad_end_at(NULL);
    } else
        lazy_fail(
            status_new(XT_INVALID_ARGUMENT, src, "%s: the largest value is %g; a number above 0 is needed", what, max));
    gradients_free(g);
}

void xt_clip_grad_value_at(const xt_src *src, xt_optimizer *o, double max) {
    gradients g;
    if (!o || !scaler_not_mixed(src, "xt_clip_grad_value", o)) return;
    xt_reduce_gradients_at(src, o);
    o->clipped.value = max;
    if (gradients_get(o, &g)) clip_values(src, "xt_clip_grad_value", &g, max);
}

void xt_module_clip_grad_value_at(const xt_src *src, xt_module *m, double max) {
    gradients g;
    if (m && gradients_of_module(m, &g)) clip_values(src, "xt_module_clip_grad_value", &g, max);
}

/* The gradients of the step just recorded are values of the trace still: the norm is made of them only when asked for.
 * Newer ones are there in a loop that has come round before its step has ended, or are of another loss. */
xt_tensor xt_grad_norm_at(const xt_src *src, xt_optimizer *o, xt_clip_opts p) {
    gradients g;
    lazy_begin(src);
    if (!o || !clip_options(src, "xt_grad_norm", 1, &p)) return lazy_wrap(NULL, "xt_grad_norm");
    xt_reduce_gradients_at(src, o);
    lazy_begin(src);
    if (!gradients_get(o, &g)) return lazy_wrap(NULL, "xt_grad_norm");
    if (g.n) return clip(src, &g, "xt_grad_norm", HUGE_VAL, p.norm_type);
    gradients_free(&g);
    if (!o->last || o->last_step != lazy_step())
        return lazy_error(src, XT_FAILED_PRECONDITION,
                          "xt_grad_norm: there are no gradients; call it after xt_backward, or after xt_optimizer_step "
                          "in the same step");
    xt_no_grad_begin();
    norm_kind kind = kind_of(src, ".norm_type", &(gradients){.values = o->last, .n = o->n_last}, p.norm_type);
    xt_tensor t = lazy_wrap(norm_of(lazy_begin(src), o->last, o->n_last, &kind), "xt_grad_norm");
    xt_no_grad_end_at(NULL);
    return t;
}
