/* The optimizer step: gradients averaged over ranks by one all-reduce of all of them, clipped if asked, one update a parameter, gradients consumed. */
#include <math.h>

#include "lazy/mesh.h"
#include "optim/optim.h"

static void free_optimizer(void *o) { xt_optimizer_free(o); }

xt_optimizer *optim_new(const optim_kind *k, xt_module *net, const char *what) {
    if (!net) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "%s: the module is NULL", what));
        return NULL;
    }
    xt_optimizer *o = base_calloc(1, sizeof *o);
    if (!o) {
        lazy_fail(status_oom(sizeof *o, what));
        return NULL;
    }
    o->kind = k;
    o->net = net;
    live_add(LIVE_optimizer, 1);
    lazy_own(o, free_optimizer);
    return o;
}

/* --- values from checkpoints ------------------------------------------------------------------------------------------------------------------ */
typedef struct loaded {
    const ir_type *type;
    max_align_t data[];
} loaded;

xt_status optim_restore(xt_optimizer *o, const char *name, const ir_type *type, const void *data) {
    for (int i = 0; i < xt_optimizer_tensors(o); i++)
        if (strcmp(xt_optimizer_tensor_name(o, i), name) == 0) return lazy_state_write(xt_optimizer_tensor(o, i), data, ir_type_bytes(type));
    if (!o->loaded) o->loaded = map_new();
    loaded *l = base_malloc(sizeof *l + ir_type_bytes(type)), *old = NULL;
    if (!l) return status_oom(ir_type_bytes(type), name);
    l->type = type;
    memcpy(l->data, data, ir_type_bytes(type));
    if (o->loaded && map_put(o->loaded, name, strlen(name), l, (void **)&old)) {
        base_free(old);
        return NULL;
    }
    base_free(l);
    return status_oom(ir_type_bytes(type), name);
}

static xt_tensor new_state(const xt_src *src, xt_optimizer *o, const char *name, const ir_type *type) {
    loaded *l = o->loaded ? map_remove(o->loaded, name, strlen(name)) : NULL;
    if (l && l->type != type) lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "the checkpoint's optimizer state %s has another shape than the parameter now", name));
    xt_tensor t = lazy_state_new(src, LAZY_OPTIMIZER, name, type->dtype, (int)type->rank, type->dims, l && l->type == type ? l->data : NULL);
    base_free(l);
    return t;
}

void xt_optimizer_free(xt_optimizer *o) {
    if (!o) return;
    lazy_disown(o);
    lazy_replay_forget(o);
    for (size_t i = 0; i < o->n; i++) {
        for (int k = 0; k < o->kind->n_states; k++)
            if (lazy_type(o->params[i].state[k])) xt_drop_at(XT_HERE, o->params[i].state[k]);
        base_free(o->params[i].name);
    }
    if (lazy_type(o->step_count)) xt_drop_at(XT_HERE, o->step_count);
    base_free(o->params);
    map_free(o->loaded, base_free);
    base_free(o);
    live_add(LIVE_optimizer, -1);
}

void xt_optimizer_set_lr(xt_optimizer *o, double lr) {
    if (!o) return;
    if (lr < 0 || !isfinite(lr)) lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_optimizer_set_lr: %g; a finite rate of at least 0 is needed", lr));
    else o->lr = lr;
}
double xt_optimizer_lr(const xt_optimizer *o) { return o ? o->lr : 0; }
int64_t xt_optimizer_steps(const xt_optimizer *o) { return o ? o->steps : 0; }

ir_value *optim_scale(ir_builder *b, ir_value *x, ir_value *scalar) {
    if (!x || !scalar) return NULL;
    return ir_multiply(b, x, ir_broadcast_scalar(b, ir_convert(b, scalar, x->type->dtype), x->type));
}

ir_value *optim_times(ir_builder *b, ir_value *x, double c) { return x ? ir_multiply(b, x, ir_splat(b, x->type, c)) : NULL; }

/* --- gradients ------------------------------------------------------------------------------------------------------------------------------ */
static optim_param *param_of(xt_optimizer *o, const xt_src *src, int i) {
    const char *name = xt_module_tensor_name(o->net, i);
    for (size_t k = 0; k < o->n; k++)
        if (strcmp(o->params[k].name, name) == 0) return &o->params[k];
    optim_param p = {.param = xt_module_tensor(o->net, i), .name = base_strdup(name)};
    const ir_type *t = lazy_type(p.param);
    if (!p.name || !t) return NULL;
    for (int k = 0; k < o->kind->n_states; k++) {
        if (!o->kind->uses_state(o, k)) continue;
        char full[1024];
        snprintf(full, sizeof full, "%s.%s", name, o->kind->state_names[k]);
        p.state[k] = new_state(src, o, full, t);
        xt_status s = lazy_state_lay_out(p.state[k], lazy_layout_of(p.param));
        if (s) lazy_fail(status_at(s, src));
    }
    return VEC_PUSH(o->params, o->n, o->cap, p) ? &o->params[o->n - 1] : NULL;
}

/* The parameters that have a gradient now, in the module's order. */
static size_t with_gradients(const xt_optimizer *o, xt_tensor *params, xt_tensor *grads, int *index) {
    size_t n = 0;
    for (int i = 0; i < xt_module_tensors(o->net); i++) {
        if (!xt_module_tensor_is_param(o->net, i)) continue;
        xt_tensor p = xt_module_tensor(o->net, i), g = lazy_grad(p);
        if (!g.slot) continue;
        params[n] = p;
        grads[n] = g;
        index[n++] = i;
    }
    return n;
}

typedef struct gradients {
    xt_tensor *params, *grads;
    ir_value **values;
    int *index;
    size_t n;
} gradients;

static void gradients_free(gradients *g) {
    base_free(g->params);
    base_free(g->grads);
    base_free(g->values);
    base_free(g->index);
}

static bool gradients_get(const xt_optimizer *o, gradients *g) {
    size_t room = (size_t)xt_module_tensors(o->net) + 1;
    *g = (gradients){base_calloc(room, sizeof *g->params), base_calloc(room, sizeof *g->grads), base_calloc(room, sizeof *g->values), base_calloc(room, sizeof *g->index), 0};
    if (!g->params || !g->grads || !g->values || !g->index) {
        gradients_free(g);
        lazy_fail(status_oom(room * sizeof *g->params, "the gradients of a step"));
        return false;
    }
    g->n = with_gradients(o, g->params, g->grads, g->index);
    for (size_t i = 0; i < g->n; i++) g->values[i] = lazy_value(g->grads[i]);
    return true;
}

/* One all-reduce for all gradients; the sum is divided by the number of ranks. */
static bool average(ir_builder *b, gradients *g) {
    int ranks = lazy_spmd() ? 1 : world_get()->size; /* with a mesh, gradients are those of the whole batch */
    if (ranks <= 1 || g->n == 0) return true;
    ir_value **sum = base_calloc(g->n, sizeof *sum);
    bool ok = sum && ir_all_reduce(b, OP_add, g->n, g->values, ranks, 1, sum);
    for (size_t i = 0; ok && i < g->n; i++) g->values[i] = optim_times(b, sum[i], 1.0 / ranks);
    base_free(sum);
    return ok;
}

static ir_value *square_sum(ir_builder *b, ir_value *x) {
    int64_t dims[32];
    size_t rank = x->type->rank < 32 ? x->type->rank : 32;
    for (size_t i = 0; i < rank; i++) dims[i] = (int64_t)i;
    return ir_convert(b, ir_reduce(b, OP_add, ir_multiply(b, x, x), rank, dims), XT_F32);
}

/* PyTorch's clip_grad_norm_: all gradients times min(1, max / (norm + 1e-6)). */
static void clip_by_norm(ir_builder *b, gradients *g, double max) {
    ir_value *total = NULL;
    for (size_t i = 0; i < g->n; i++) {
        if (!g->values[i]) return;
        ir_value *s = square_sum(b, g->values[i]);
        total = total ? ir_add(b, total, s) : s;
    }
    if (!total) return;
    const ir_type *f = ir_scalar(XT_F32);
    ir_value *norm = ir_add(b, ir_sqrt(b, total), ir_splat(b, f, 1e-6));
    ir_value *factor = ir_minimum(b, ir_divide(b, ir_splat(b, f, max), norm), ir_splat(b, f, 1));
    for (size_t i = 0; i < g->n; i++) g->values[i] = optim_scale(b, g->values[i], factor);
}

static void clip_by_value(ir_builder *b, gradients *g, double max) {
    for (size_t i = 0; i < g->n; i++)
        if (g->values[i]) {
            const ir_type *s = ir_scalar(g->values[i]->type->dtype);
            g->values[i] = ir_clamp(b, ir_splat(b, s, -max), g->values[i], ir_splat(b, s, max));
        }
}

void xt_reduce_gradients_at(const xt_src *src, xt_optimizer *o) {
    gradients g;
    if (!o) return;
    ir_builder *b = lazy_begin(src);
    if (!gradients_get(o, &g)) return;
    xt_no_grad_begin();
    if (world_get()->size > 1 && !lazy_spmd() && average(b, &g))
        for (size_t i = 0; i < g.n; i++) lazy_assign(g.grads[i], lazy_wrap(g.values[i], "xt_reduce_gradients"));
    xt_no_grad_end();
    o->reduced = true;
    gradients_free(&g);
}

void xt_zero_grad_at(const xt_src *src, xt_optimizer *o) {
    if (!o) return;
    lazy_begin(src);
    for (int i = 0; i < xt_module_tensors(o->net); i++) lazy_set_grad(xt_module_tensor(o->net, i), (xt_tensor){0});
}

/* --- the step --------------------------------------------------------------------------------------------------------------------------------- */
static void begin_shared(const xt_src *src, xt_optimizer *o, ir_value *shared[2]) {
    if (!o->kind->counts_steps) return;
    if (!o->step_count.slot) o->step_count = new_state(src, o, "optimizer.step", ir_scalar(XT_F32));
    ir_builder *b = lazy_begin(src);
    ir_value *old = lazy_value(o->step_count);
    if (!old) return;
    ir_value *now = ir_add(b, old, ir_splat(b, old->type, 1));
    lazy_assign(o->step_count, lazy_wrap(now, "xt_optimizer_step"));
    b = lazy_begin(src);
    o->kind->begin(b, o, now, shared);
}

static void update_one(const xt_src *src, xt_optimizer *o, optim_param *p, ir_value *grad, ir_value *lr, ir_value *const shared[2]) {
    lazy_path_push(p->name);
    optim_update u = {.b = lazy_begin(src), .opt = o, .lr = lr, .shared = {shared[0], shared[1]}};
    u.param = lazy_value(p->param);
    for (int k = 0; k < o->kind->n_states; k++)
        if (p->state[k].slot) u.state[k] = lazy_value(p->state[k]);
    if (u.param && grad) {
        u.grad = ir_convert(u.b, grad, u.param->type->dtype);
        o->kind->update(&u);
        lazy_assign(p->param, lazy_wrap(u.new_param, "xt_optimizer_step"));
        for (int k = 0; k < o->kind->n_states; k++)
            if (p->state[k].slot && u.new_state[k]) lazy_assign(p->state[k], lazy_wrap(u.new_state[k], "xt_optimizer_step"));
    }
    lazy_path_pop();
}

static double lr_now(void *o) { return ((const xt_optimizer *)o)->lr; }

/* What a step is to the host; compiled step functions do it again at each call. */
static void count_step(void *user) {
    xt_optimizer *o = user;
    o->reduced = false;
    o->steps++;
    counter_add(COUNTER_optimizer_steps, 1);
}

void xt_optimizer_step_at(const xt_src *src, xt_optimizer *o) {
    gradients g;
    if (!o) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_optimizer_step: the optimizer is NULL"));
        return;
    }
    ir_builder *b = lazy_begin(src);
    if (!gradients_get(o, &g)) return;
    if (g.n == 0 && !xt_error())
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src, "xt_optimizer_step: no parameter has a gradient; call xt_backward(loss) before it, on a loss made with this module"));
    if (g.n == 0) {
        gradients_free(&g);
        return;
    }
    xt_no_grad_begin();
    bool ok = o->reduced || average(b, &g);
    if (ok && o->clip_norm > 0) clip_by_norm(b, &g, o->clip_norm);
    if (ok && o->clip_value > 0) clip_by_value(b, &g, o->clip_value);
    ir_value *shared[2] = {NULL, NULL};
    begin_shared(src, o, shared);
    xt_tensor lr_data = lazy_scalar_from(src, XT_F32, lr_now, o);
    ir_value *lr = lazy_value(lr_data);
    for (size_t i = 0; i < g.n && ok; i++) {
        optim_param *p = param_of(o, src, g.index[i]);
        if (!p) {
            lazy_fail(status_oom(sizeof *p, "an optimizer's state"));
            break;
        }
        update_one(src, o, p, g.values[i], lr, shared);
    }
    for (size_t i = 0; i < g.n; i++) lazy_set_grad(g.params[i], (xt_tensor){0});
    lazy_begin(src);
    xt_no_grad_end();
    count_step(o);
    lazy_on_replay(&(lazy_replay){.before = count_step, .user = o});
    gradients_free(&g);
}

/* --- state for checkpoints ------------------------------------------------------------------------------------------------------------------------ */
static xt_tensor nth(const xt_optimizer *o, int i, const char **param, const char **state) {
    if (o->step_count.slot && i-- == 0) {
        *param = "optimizer";
        *state = "step";
        return o->step_count;
    }
    for (size_t p = 0; p < o->n; p++)
        for (int k = 0; k < o->kind->n_states; k++)
            if (o->params[p].state[k].slot && i-- == 0) {
                *param = o->params[p].name;
                *state = o->kind->state_names[k];
                return o->params[p].state[k];
            }
    return (xt_tensor){0};
}

int xt_optimizer_tensors(const xt_optimizer *o) {
    if (!o) return 0;
    int n = o->step_count.slot ? 1 : 0;
    for (size_t p = 0; p < o->n; p++)
        for (int k = 0; k < o->kind->n_states; k++) n += o->params[p].state[k].slot != 0;
    return n;
}

xt_tensor xt_optimizer_tensor(const xt_optimizer *o, int i) {
    const char *a, *b;
    return o && i >= 0 ? nth(o, i, &a, &b) : (xt_tensor){0};
}

const char *xt_optimizer_tensor_name(const xt_optimizer *o, int i) {
    const char *a, *b;
    if (!o || i < 0 || !nth(o, i, &a, &b).slot) return NULL;
    char full[1024];
    snprintf(full, sizeof full, "%s.%s", a, b);
    return intern_text(intern(full));
}
