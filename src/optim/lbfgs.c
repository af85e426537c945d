/* L-BFGS as torch.optim.LBFGS: the two-loop recursion over the last changes of parameters and gradient, and a fixed
 * rate or a line search (lbfgs_search.c). Vectors are of all parameters in the module's order, doubles on the host: a
 * step reads loss and gradient at each evaluation in any case, and the decisions are the host's. Parameters are written
 * as states between steps, so every evaluation runs the one program of the closure.
 *
 * The state is host memory. Who lists it (a checkpoint) gets tensors with its values, which are dropped at the next
 * step. */
#include "optim/lbfgs.h"

#include <math.h>

#include "lazy/mesh/mesh.h"
#include "lazy/step/within.h"
#include "optim/optim.h"

enum { SCALARS = 6, MOST_LISTED = 6 };

typedef struct optim_lbfgs {
    lbfgs_listing listing; /* must stand first */
    const xt_lbfgs_opts *opts;
    size_t n, n_tensors; /* numbers in all; parameters. 0: not known yet */
    int *tensors; /* of the module */
    double iterations, evaluations, t, scale, last_loss; /* over all steps; scale: of the first Hessian */
    double *d, *last_gradient;
    double **changes, **steps, *ro; /* [history_size], the oldest first */
    size_t count;
    double *weights; /* [history_size], of the recursion */
    xt_tensor listed[MOST_LISTED];
    size_t n_listed;
} optim_lbfgs;

static const char *const listed_names[MOST_LISTED] = {"lbfgs.scalars", "lbfgs.d",        "lbfgs.prev_flat_grad",
                                                      "lbfgs.ro",      "lbfgs.old_dirs", "lbfgs.old_stps"};

typedef struct step { /* one call of xt_optimizer_step_closure */
    const xt_src *src;
    xt_optimizer *o;
    optim_lbfgs *l;
    xt_closure_fn closure;
    void *user;
    double *x, *trial; /* the parameters; those of an evaluation */
    lazy_within *within; /* the program's tensors, which live on from one evaluation to the next */
} step;

/* --- memory --- */
static void drop_listed(optim_lbfgs *l) {
    for (size_t i = 0; i < l->n_listed; i++)
        if (lazy_type(l->listed[i])) xt_drop_at(XT_HERE, l->listed[i]);
    l->n_listed = 0;
}

static void clear(optim_lbfgs *l) {
    drop_listed(l);
    for (size_t i = 0; i < l->count; i++) {
        base_free(l->changes[i]);
        base_free(l->steps[i]);
        l->changes[i] = l->steps[i] = NULL;
    }
    base_free(l->d);
    base_free(l->last_gradient);
    base_free(l->tensors);
    l->d = l->last_gradient = NULL;
    l->tensors = NULL;
    l->n = l->n_tensors = l->count = 0;
    l->iterations = l->evaluations = 0;
}

static void forget_state(xt_optimizer *o) {
    if (o->lbfgs) clear(o->lbfgs);
}

static void free_state(xt_optimizer *o) {
    optim_lbfgs *l = o->lbfgs;
    if (!l) return;
    clear(l);
    base_free(l->changes);
    base_free(l->steps);
    base_free(l->ro);
    base_free(l->weights);
    base_free(l);
    o->lbfgs = NULL;
}

static bool no_memory(const step *s, size_t n) {
    lazy_fail(status_oom(n, "LBFGS"));
    (void)s;
    return false;
}

/* --- the state as tensors --- */
static xt_tensor listed(const char *name, const double *v, int rank, const int64_t *dims) {
    return lazy_state_new(NULL, LAZY_OPTIMIZER, name, XT_F64, rank, dims, v);
}

static xt_tensor listed_rows(const char *name, double *const *rows, size_t count, size_t n) {
    double *all = base_malloc(count * n * sizeof *all + 1);
    xt_tensor t = {0};
    for (size_t i = 0; all && i < count; i++) memcpy(all + i * n, rows[i], n * sizeof *all);
    if (all) t = listed(name, all, 2, (int64_t[]){(int64_t)count, (int64_t)n});
    base_free(all);
    return t;
}

static void list(const xt_optimizer *o) {
    optim_lbfgs *l = o->lbfgs;
    if (l->n_listed || !l->n || !l->iterations) return;
    double scalars[SCALARS] = {l->iterations, l->evaluations, (double)l->count, l->t, l->scale, l->last_loss};
    int64_t n_scalars = SCALARS, n = (int64_t)l->n, count = (int64_t)l->count;
    l->listed[l->n_listed++] = listed(listed_names[0], scalars, 1, &n_scalars);
    l->listed[l->n_listed++] = listed(listed_names[1], l->d, 1, &n);
    l->listed[l->n_listed++] = listed(listed_names[2], l->last_gradient, 1, &n);
    if (!count) return;
    l->listed[l->n_listed++] = listed(listed_names[3], l->ro, 1, &count);
    l->listed[l->n_listed++] = listed_rows(listed_names[4], l->changes, l->count, l->n);
    l->listed[l->n_listed++] = listed_rows(listed_names[5], l->steps, l->count, l->n);
}

static int count_listed(const xt_optimizer *o) {
    list(o);
    return (int)o->lbfgs->n_listed;
}

static xt_tensor nth_listed(const xt_optimizer *o, int i, char *name, size_t n) {
    list(o);
    if (i < 0 || (size_t)i >= o->lbfgs->n_listed) return (xt_tensor){0};
    snprintf(name, n, "%s", listed_names[i]);
    return o->lbfgs->listed[i];
}

/* What waits for a name, as doubles; NULL after an error: it is not there, or is of another size. */
static double *taken(const step *s, int which, size_t expected) {
    const char *name = listed_names[which];
    const ir_type *t = optim_waiting(s->o, name, NULL);
    if (!t || t->dtype != XT_F64 || (size_t)t->count != expected) {
        lazy_fail(
            status_new(XT_INVALID_ARGUMENT, s->src,
                       "the loaded LBFGS state %s has %lld numbers, and %zu are needed: was it saved with another "
                       "module or history_size?",
                       name, t ? (long long)t->count : 0LL, expected));
        return NULL;
    }
    xt_tensor state = optim_new_state(s->src, s->o, name, t, 0);
    double *v = base_malloc(expected * sizeof *v + 1);
    xt_status st = v ? lazy_state_read(state, v, expected * sizeof *v) : status_oom(expected * sizeof *v, name);
    if (lazy_type(state)) xt_drop_at(XT_HERE, state);
    if (!st) return v;
    lazy_fail(status_at(st, s->src));
    base_free(v);
    return NULL;
}

static bool take_rows(const step *s, int which, double **rows) {
    optim_lbfgs *l = s->l;
    double *all = taken(s, which, l->count * l->n);
    bool ok = all != NULL;
    for (size_t i = 0; ok && i < l->count; i++) {
        rows[i] = base_malloc(l->n * sizeof **rows + 1);
        if (!rows[i]) ok = no_memory(s, l->n);
        if (ok) memcpy(rows[i], all + i * l->n, l->n * sizeof *all);
    }
    base_free(all);
    return ok;
}

/* A loaded state, once the number of parameters is known. */
static bool restore(const step *s) {
    optim_lbfgs *l = s->l;
    if (!optim_waiting(s->o, listed_names[0], NULL)) return true;
    double *scalars = taken(s, 0, SCALARS);
    if (!scalars) return false;
    l->iterations = scalars[0], l->evaluations = scalars[1];
    size_t count = scalars[2] >= 0 && scalars[2] <= l->opts->history_size ? (size_t)scalars[2] : SIZE_MAX;
    l->t = scalars[3], l->scale = scalars[4], l->last_loss = scalars[5];
    base_free(scalars);
    if (count == SIZE_MAX) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, s->src,
                             "the loaded LBFGS state keeps more than .history_size = %d changes: load it with the "
                             "history_size it was saved with",
                             l->opts->history_size));
        return false;
    }
    base_free(l->d);
    base_free(l->last_gradient);
    l->last_gradient = NULL;
    l->count = count;
    if (!(l->d = taken(s, 1, l->n)) || !(l->last_gradient = taken(s, 2, l->n))) return false;
    double *ro = count ? taken(s, 3, count) : NULL;
    if (!count) return true;
    if (ro) memcpy(l->ro, ro, count * sizeof *ro);
    base_free(ro);
    return ro && take_rows(s, 4, l->changes) && take_rows(s, 5, l->steps);
}

/* --- parameters --- */
/* The parameters that have a gradient at the first evaluation are those of the optimizer. */
static bool same_parameters(const step *s, const gradients *g) {
    optim_lbfgs *l = s->l;
    if (!l->n_tensors) {
        l->tensors = base_malloc((g->n + 1) * sizeof *l->tensors);
        if (!l->tensors) return no_memory(s, g->n);
        memcpy(l->tensors, g->index, g->n * sizeof *l->tensors);
        l->n_tensors = g->n;
        for (size_t i = 0; i < g->n; i++) l->n += (size_t)lazy_type(g->params[i])->count;
        l->d = base_calloc(l->n + 1, sizeof *l->d);
        l->last_gradient = base_calloc(l->n + 1, sizeof *l->d);
        return l->d && l->last_gradient ? restore(s) : no_memory(s, l->n);
    }
    if (g->n == l->n_tensors && memcmp(l->tensors, g->index, g->n * sizeof *l->tensors) == 0) return true;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, s->src,
                         "xt_optimizer_step_closure: %zu parameters have a gradient, and at the first evaluation %zu "
                         "others had: LBFGS needs a loss of the same parameters each time",
                         g->n, l->n_tensors));
    return false;
}

static bool dtypes_fit(const step *s, const gradients *g) {
    for (size_t i = 0; i < g->n; i++) {
        const ir_type *t = lazy_type(g->params[i]);
        if (t && (t->dtype == XT_F32 || t->dtype == XT_F64)) continue;
        lazy_fail(status_new(XT_UNIMPLEMENTED, s->src, "xt_optimizer_step_closure: %s is %s: LBFGS takes f32 and f64",
                             xt_module_tensor_name(s->o->net, g->index[i]), t ? xt_dtype_name(t->dtype) : "gone"));
        return false;
    }
    return true;
}

/* Each parameter in turn, as it lies in memory and as doubles. write: what the state can hold of them comes back. */
static bool move_parameters(const step *s, double *x, bool write) {
    for (size_t i = 0; i < s->l->n_tensors; i++) {
        xt_tensor p = xt_module_tensor(s->o->net, s->l->tensors[i]);
        const ir_type *t = lazy_type(p);
        if (!t) return false;
        size_t n = (size_t)t->count, bytes = ir_type_bytes(t);
        float *narrow = t->dtype == XT_F32 ? base_malloc(bytes + 1) : NULL;
        if (t->dtype == XT_F32 && !narrow) return no_memory(s, n);
        for (size_t k = 0; narrow && write && k < n; k++) x[k] = narrow[k] = (float)x[k];
        void *data = narrow ? (void *)narrow : x;
        xt_status st = write ? lazy_state_write(p, data, bytes) : lazy_state_read(p, data, bytes);
        for (size_t k = 0; narrow && !write && k < n; k++) x[k] = narrow[k];
        base_free(narrow);
        if (st) lazy_fail(status_at(st, s->src));
        if (st) return false;
        x += n;
    }
    return true;
}

/* --- one evaluation --- */
/* Gradients of all parameters, then the loss, as one vector of f64. */
static xt_tensor flat(const step *s, gradients *g, xt_tensor loss) {
    ir_builder *b = lazy_begin(s->src);
    g->values[g->n++] = lazy_value(loss); /* there is room for one more: it is averaged over ranks with them */
    bool ok = g->values[g->n - 1] && (optim_is_reduced(s->o) || gradients_average(b, g, s->o->bucket_bytes));
    b = lazy_begin(s->src);
    for (size_t i = 0; ok && i < g->n; i++) {
        int64_t n = g->values[i] ? g->values[i]->type->count : 0;
        g->values[i] = g->values[i] ? ir_reshape(b, ir_convert(b, g->values[i], XT_F64), 1, &n) : NULL;
        ok = g->values[i] != NULL;
    }
    ir_value *all = ok ? ir_concatenate(b, g->n, g->values, 0) : NULL;
    g->n--;
    return lazy_wrap(all, "xt_optimizer_step_closure");
}

static xt_tensor call_closure(const step *s) {
    lazy_inside_fn call;
    xt_zero_grad_at(s->src, s->o);
    lazy_enter(&call, "the closure of xt_optimizer_step_closure", NULL);
    xt_tensor loss = s->closure(s->user);
    lazy_leave(&call);
    return loss;
}

/* The gradients of what the closure gives; xt_backward is called where it has not. */
static bool differentiate(const step *s, xt_tensor loss, gradients *g) {
    if (lazy_pending() || !gradients_get(s->o, g)) return false;
    if (g->n) return true;
    gradients_free(g);
    xt_backward_at(s->src, loss);
    if (lazy_pending() || !gradients_get(s->o, g)) return false;
    if (g->n) return true;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, s->src,
                         "xt_optimizer_step_closure: no parameter of the optimizer's module leads to the loss"));
    gradients_free(g);
    return false;
}

/* At the parameters as they are. gradient NULL: of the first evaluation, whose size is not known before. */
static bool evaluate(const step *s, double *loss, double **gradient) {
    gradients g;
    xt_tensor t = call_closure(s);
    if (!differentiate(s, t, &g)) return false;
    bool ok = dtypes_fit(s, &g) && same_parameters(s, &g);
    xt_no_grad_begin();
    xt_tensor all = ok ? xt_keep_at(s->src, flat(s, &g, t)) : (xt_tensor){0};
    xt_no_grad_end_at(NULL);
    for (size_t i = 0; i < g.n; i++) lazy_set_grad(g.params[i], (xt_tensor){0});
    gradients_free(&g);
    size_t n = s->l->n;
    double *v = ok ? base_malloc((n + 1) * sizeof *v) : NULL;
    if (ok && !v) ok = no_memory(s, n);
    ok = ok && !lazy_pending() && lazy_boundary_within(LAZY_MARK_STEP, s->src, s->within) &&
         xt_read_at(s->src, all, v, (n + 1) * sizeof *v);
    if (!xt_is_none(all) && lazy_type(all)) xt_drop_at(s->src, all);
    if (ok) {
        *loss = v[n];
        if (*gradient) memcpy(*gradient, v, n * sizeof *v);
        if (!*gradient) {
            *gradient = v;
            return true;
        }
    }
    base_free(v);
    return ok;
}

static bool move_to(const step *s, double t, const double *d) {
    for (size_t i = 0; i < s->l->n; i++) s->trial[i] = s->x[i] + t * d[i];
    return move_parameters(s, s->trial, true);
}

static bool at(void *user, double t, const double *d, double *loss, double *gradient) {
    const step *s = user;
    return move_to(s, t, d) && evaluate(s, loss, &gradient);
}

/* --- directions --- */
/* Keeps what changed in the last iteration; the oldest of too many goes. */
static bool remember(const step *s, const double *g) {
    optim_lbfgs *l = s->l;
    size_t n = l->n;
    double *y = base_malloc(2 * n * sizeof *y + 1), *dx = base_malloc(n * sizeof *dx + 1);
    if (!y || !dx) {
        base_free(y);
        base_free(dx);
        return no_memory(s, n);
    }
    for (size_t i = 0; i < n; i++) {
        y[i] = g[i] - l->last_gradient[i];
        dx[i] = l->d[i] * l->t;
    }
    double ys = lbfgs_dot(n, y, dx);
    if (!(ys > 1e-10)) {
        base_free(y);
        base_free(dx);
        return true;
    }
    if (l->count == (size_t)l->opts->history_size) {
        base_free(l->changes[0]);
        base_free(l->steps[0]);
        l->count--;
        memmove(l->changes, l->changes + 1, l->count * sizeof *l->changes);
        memmove(l->steps, l->steps + 1, l->count * sizeof *l->steps);
        memmove(l->ro, l->ro + 1, l->count * sizeof *l->ro);
        l->changes[l->count] = l->steps[l->count] = NULL;
    }
    l->changes[l->count] = y;
    l->steps[l->count] = dx;
    l->ro[l->count++] = 1 / ys;
    l->scale = ys / lbfgs_dot(n, y, y);
    return true;
}

/* d = -H g, H the approximate inverse Hessian (Nocedal and Wright, algorithm 7.4). */
static void direction(optim_lbfgs *l, const double *g) {
    size_t n = l->n;
    double *q = l->d;
    for (size_t i = 0; i < n; i++) q[i] = -g[i];
    for (size_t k = l->count; k-- > 0;) {
        l->weights[k] = lbfgs_dot(n, l->steps[k], q) * l->ro[k];
        lbfgs_add(n, q, -l->weights[k], l->changes[k]);
    }
    for (size_t i = 0; i < n; i++) q[i] *= l->scale;
    for (size_t k = 0; k < l->count; k++) {
        double w = l->weights[k] - lbfgs_dot(n, l->changes[k], q) * l->ro[k];
        lbfgs_add(n, q, w, l->steps[k]);
    }
}

static bool next_direction(const step *s, const double *g) {
    optim_lbfgs *l = s->l;
    if (++l->iterations > 1) {
        if (!remember(s, g)) return false;
    } else
        l->scale = 1;
    direction(l, g);
    memcpy(l->last_gradient, g, l->n * sizeof *g);
    return true;
}

/* The first step goes no further than 1 in all. */
static double first_length(const step *s, const double *g) {
    double lr = s->o->groups[0].h.lr, sum = 0;
    if (s->l->iterations > 1) return lr;
    for (size_t i = 0; i < s->l->n; i++) sum += fabs(g[i]);
    return (1 / sum < 1 ? 1 / sum : 1) * lr;
}

/* --- the step --- */
typedef enum outcome { WENT_WRONG, GO_ON, DONE } outcome;

/* Moves along the direction; *evaluations: how many that took. */
static bool move_along(step *s, double slope, bool last, double *loss, double *g, int *evaluations) {
    optim_lbfgs *l = s->l;
    if (l->opts->line_search == XT_STRONG_WOLFE) {
        lbfgs_function f = {at, s, l->n};
        lbfgs_search search = {.t = l->t, .loss = *loss, .gradient = g};
        if (!lbfgs_strong_wolfe(&f, l->d, slope, l->opts->tolerance_change, &search)) {
            if (!lazy_pending()) no_memory(s, l->n);
            return false;
        }
        l->t = search.t;
        *loss = search.loss;
        *evaluations = search.evaluations;
        if (!move_to(s, l->t, l->d)) return false;
    } else {
        *evaluations = 1;
        if (!move_to(s, l->t, l->d) || (!last && !evaluate(s, loss, &g))) return false;
    }
    memcpy(s->x, s->trial, l->n * sizeof *s->x);
    return true;
}

static outcome iterate(step *s, int iteration, double *loss, double *g, int *evaluations) {
    optim_lbfgs *l = s->l;
    int more = 0, most = l->opts->max_eval >= 0 ? l->opts->max_eval : l->opts->max_iter * 5 / 4;
    bool last = iteration == l->opts->max_iter;
    if (!next_direction(s, g)) return WENT_WRONG;
    l->last_loss = *loss;
    l->t = first_length(s, g);
    double slope = lbfgs_dot(l->n, g, l->d);
    if (slope > -l->opts->tolerance_change) return DONE;
    if (!move_along(s, slope, last, loss, g, &more)) return WENT_WRONG;
    *evaluations += more;
    l->evaluations += more;
    if (last || *evaluations >= most || lbfgs_largest(l->n, g) <= l->opts->tolerance_grad) return DONE;
    if (lbfgs_largest(l->n, l->d) * fabs(l->t) <= l->opts->tolerance_change) return DONE;
    return fabs(*loss - l->last_loss) < l->opts->tolerance_change ? DONE : GO_ON;
}

static double lbfgs_step(step *s) {
    optim_lbfgs *l = s->l;
    double loss, first, *g = NULL;
    int evaluations = 1;
    outcome now = WENT_WRONG;
    drop_listed(l);
    if (lazy_spmd()) {
        lazy_fail(status_new(XT_UNIMPLEMENTED, s->src,
                             "xt_optimizer_step_closure: LBFGS on a mesh: its vectors are of whole parameters"));
        return NAN;
    }
    if (!replicas_begin(s->src, "xt_optimizer_step_closure", s->o) || !evaluate(s, &loss, &g)) return NAN;
    first = loss;
    l->evaluations++;
    s->x = base_malloc(2 * l->n * sizeof *s->x + 1);
    if (!s->x)
        no_memory(s, l->n);
    else {
        s->trial = s->x + l->n;
        now = !move_parameters(s, s->x, false)                    ? WENT_WRONG
              : lbfgs_largest(l->n, g) <= l->opts->tolerance_grad ? DONE
                                                                  : GO_ON;
        for (int k = 1; now == GO_ON && k <= l->opts->max_iter; k++) now = iterate(s, k, &loss, g, &evaluations);
    }
    base_free(s->x);
    base_free(g);
    if (now == WENT_WRONG) return NAN;
    s->o->updater.at = src_intern(s->src); /* what is told of its parameters names the call */
    optim_count_step(s->o, false); /* its steps have ended */
    return first;
}

/* Of the other kinds: one evaluation and one step. */
static double plain_step(step *s) {
    gradients g;
    double first = NAN;
    xt_tensor loss = call_closure(s);
    if (!differentiate(s, loss, &g)) return NAN;
    gradients_free(&g);
    xt_tensor kept = xt_keep_at(s->src, loss);
    xt_optimizer_step_at(s->src, s->o);
    if (!lazy_pending() && lazy_boundary_within(LAZY_MARK_STEP, s->src, s->within)) first = xt_item_at(s->src, kept);
    if (lazy_type(kept)) xt_drop_at(s->src, kept);
    return lazy_pending() ? NAN : first;
}

double xt_optimizer_step_closure_at(const xt_src *src, xt_optimizer *o, xt_closure_fn closure, void *user) {
    if (!o || !closure) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_optimizer_step_closure: the %s is NULL",
                             o ? "closure" : "optimizer"));
        return NAN;
    }
    if (lazy_refuse_second_step(src, "xt_optimizer_step_closure") ||
        lazy_refuse_in_loop(src, "xt_optimizer_step_closure") || lazy_pending())
        return NAN;
    lazy_within within = lazy_within_begin();
    step s = {.src = src, .o = o, .l = o->lbfgs, .closure = closure, .user = user, .within = &within};
    schedule_poll(o);
    return o->lbfgs ? lbfgs_step(&s) : plain_step(&s);
}

static void never(optim_update *u) {
    (void)u; /* xt_optimizer_step refuses this kind */
}

static const optim_kind kind = {.id = OPTIM_lbfgs, .update = never};

xt_optimizer *xt_lbfgs_opt(const xt_src *src, xt_module *net, xt_lbfgs_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_lbfgs_opts, lr, 0, 1e6, "learning rate"),
        OPTIM_ROW(xt_lbfgs_opts, tolerance_grad, 0, 1e30, "largest gradient that ends it"),
        OPTIM_ROW(xt_lbfgs_opts, tolerance_change, 0, 1e30, "change that ends it"),
        {"max_iter", "iterations a step", OPTION_INT, offsetof(xt_lbfgs_opts, max_iter), 1, 1000000, NULL},
        {"max_eval", "evaluations a step; -1 = 5/4 of max_iter", OPTION_INT, offsetof(xt_lbfgs_opts, max_eval), -1,
         1000000, NULL},
        {"history_size", "changes kept", OPTION_INT, offsetof(xt_lbfgs_opts, history_size), 1, 10000, NULL},
    };
    if (p.line_search != XT_FIXED_RATE && p.line_search != XT_STRONG_WOLFE) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "xt_lbfgs: .line_search is %d: expected XT_FIXED_RATE or XT_STRONG_WOLFE",
                             (int)p.line_search));
        return NULL;
    }
    xt_optimizer *o = optim_new(&kind, net, rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_lbfgs_opts), sizeof p);
    optim_lbfgs *l = o ? base_calloc(1, sizeof *l) : NULL;
    size_t n = (size_t)p.history_size;
    if (!o) return NULL;
    o->lbfgs = l;
    if (l) {
        l->listing = (lbfgs_listing){count_listed, nth_listed, forget_state, free_state};
        l->opts = o->opts;
        l->changes = base_calloc(n, sizeof *l->changes);
        l->steps = base_calloc(n, sizeof *l->steps);
        l->ro = base_calloc(n, sizeof *l->ro);
        l->weights = base_calloc(n, sizeof *l->weights);
    }
    if (l && l->changes && l->steps && l->ro && l->weights) return o;
    xt_optimizer_free(o);
    lazy_fail(status_oom(n * sizeof(double), "xt_lbfgs"));
    return NULL;
}
