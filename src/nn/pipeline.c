/* Blocks of one shape, one after the other, whose parameters are stacked [layers,...] and divided over the stages of a
 * pipeline (GPipe, Huang et al. 2019). It is one program for all stages, as everything on a mesh (Xu et al. 2021,
 * GSPMD, section 3.3): a buffer [S, micro-batch, ...] has what each of the S stages works on, and in a tick
 *
 *   the buffer is turned by one place (a collective_permute), the next micro-batch comes in at place 0,
 *   each stage runs its layers / S blocks: the block's ops recorded once, for all stages together (xt_vmap), in a loop
 *   over the blocks of a stage (xt_scan),
 *
 * and what place S-1 has after ticks S-1, S, ... are the results. A loop of micro-batches + S - 1 ticks does it, and
 * the backward pass is that loop the other way round: all micro-batches forward, then all backward. It keeps the buffer
 * of each tick, and computes the blocks of a stage again from there, as xt_scan does of a loop in a loop.
 *
 * That is GPipe's schedule; 1F1B's, which has the same ticks and needs the loss, is pipeline_1f1b.c's.
 *
 * Before a stage's first micro-batch, and behind its last one, it works on micro-batches that nobody reads: real ones,
 * as numbers that a block is never given otherwise could make gradients NaN. Without stages (S 1) this is a loop over
 * micro-batches and blocks. */
#include "nn/pipeline.h"
#include "lazy/mesh/mesh.h"
#include "ops/batch.h"

#include <xtrain/loop.h>

enum { END = XT_MAX_RANK + 1 };
#define WHAT PIPELINE_WHAT

static bool add(pipeline_stack *s, const char *name, xt_tensor t) {
    size_t n = s->n;
    char *copy = base_strdup(name);
    if (copy && VEC_PUSH(s->names, n, s->cap_names, copy)) {
        n = s->n;
        if (VEC_PUSH(s->all, n, s->cap_all, t)) {
            s->n = n;
            return true;
        }
        s->names[s->n] = NULL;
    }
    base_free(copy);
    lazy_fail(status_oom(sizeof t, WHAT));
    return false;
}

xt_tensor pipeline_give(nn_stack *of, const xt_src *src, xt_module *m, const char *name, const nn_stacked_ask *ask) {
    pipeline_stack *s = (pipeline_stack *)of;
    const char *who = s->layers ? "block" : "head";
    size_t i = 0;
    if (!ask->is_param || nn_parametrized(m->root, name))
        return lazy_error(src, XT_UNIMPLEMENTED,
                          "%s: the %s has the %s %s; it has plain parameters alone (a layer norm instead of a batch "
                          "norm, no parametrizations)",
                          WHAT, who, ask->is_param ? "parametrized weight" : "buffer", name);
    while (i < s->n && strcmp(s->names[i], name) != 0) i++;
    if (!s->finding)
        return i < s->n ? s->one[i]
                        : lazy_error(src, XT_INVALID_ARGUMENT,
                                     "%s: the %s asks for %s, which it did not when it was called before; it must do "
                                     "the same in each call",
                                     WHAT, who, name);
    if (!s->layers) {
        m->root->stack = NULL;
        xt_tensor t =
            nn_tensor(src, m, ask->layer, ask->leaf, true, ask->init, ask->a, ask->dtype, ask->rank, ask->dims);
        m->root->stack = of;
        return lazy_is_error(t) || i < s->n || add(s, name, t) ? t : lazy_failed_tensor(src);
    }
    int64_t dims[END] = {s->layers};
    if (ask->rank >= XT_MAX_RANK)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s: %s has %d dims, and stacked one more than there may be", WHAT,
                          name, ask->rank);
    memcpy(dims + 1, ask->dims, (size_t)ask->rank * sizeof *dims);
    m->root->stack = NULL;
    m->root->stacking = strlen(of->name);
    xt_tensor t = nn_tensor(src, m, ask->layer, ask->leaf, true, ask->init, ask->a, ask->dtype, ask->rank + 1, dims);
    m->root->stacking = 0;
    m->root->stack = of;
    if (lazy_is_error(t) || (i == s->n && !add(s, name, t))) return lazy_failed_tensor(src);
    lazy_begin(src);
    ir_value *v = lazy_value(t);
    return lazy_wrap(v ? batch_example(s->finding, v) : NULL, name);
}

void pipeline_stack_free(pipeline_stack *s) {
    for (size_t i = 0; i < s->n; i++) base_free(s->names[i]);
    base_free(s->names);
    base_free(s->all);
}

/* --- the pipeline --- */
static xt_tensor call_block(pipeline *p, xt_tensor x) {
    lazy_inside_fn call;
    lazy_enter(&call, "the block of xt_pipeline", p->m->root->module);
    xt_tensor y = p->fn(p->m, x, p->o->user);
    lazy_leave(&call);
    const ir_type *a = lazy_type(x), *b = lazy_type(y);
    if (!a || !b || a == b) return y;
    str s = STR_INIT;
    ir_type_print(a, &s);
    str_append(&s, " to ");
    ir_type_print(b, &s);
    y = lazy_error(p->src, XT_INVALID_ARGUMENT,
                   "%s %s: a block changes %s; what comes out of one goes into the next, so the types must be equal",
                   WHAT, p->name, str_cstr(&s));
    str_free(&s);
    return y;
}

bool pipeline_find(pipeline *p, pipeline_stack *s, xt_tensor x, pipeline_call_fn call, void *user) {
    batch t;
    lazy_given_key key;
    xt_status st = batch_begin(&t, WHAT, p->src, s->layers ? s->layers : 1);
    if (st) {
        lazy_fail(status_at(st, p->src));
        return false;
    }
    nn_stack *was = p->m->root->stack;
    s->finding = &t;
    p->m->root->stack = &s->base;
    xt_tensor y = {0};
    ir_builder *b = lazy_begin(p->src);
    ir_value *v = lazy_value(x);
    lazy_draws_of(&key, lazy_wrap(ir_splat(b, ir_tensor(XT_U32, 1, &(int64_t){4}), 0), WHAT));
    if (v) y = call(p, x, user);
    s->draws = lazy_draws_of_end(&key);
    s->finding = NULL;
    p->m->root->stack = was;
    bool ok = !lazy_pending() && !xt_is_none(y);
    batch_drop(&t);
    return ok;
}

static xt_tensor find_block(pipeline *p, xt_tensor x, void *user) {
    (void)user;
    return call_block(p, x);
}

static bool find_parameters(pipeline *p, xt_tensor x) {
    bool ok = pipeline_find(p, &p->stack, x, find_block, NULL);
    if (ok && p->stack.n) return true;
    if (ok)
        lazy_error(p->src, XT_INVALID_ARGUMENT, "%s %s: the block has no parameters under its module", WHAT, p->name);
    return false;
}

/* One block, of one stage: in[0] its input, in[1...] its parameters, behind them what its draws are made of. */
static void one_block(const xt_tensor *in, xt_tensor *out, void *user) {
    pipeline *p = user;
    lazy_given_key key;
    bool given = !xt_is_none(p->keys);
    p->stack.one = in + 1;
    if (given) lazy_draws_of(&key, in[1 + p->stack.n]);
    out[0] = call_block(p, in[0]);
    if (given) lazy_draws_of_end(&key);
}

/* by [..., 1] added to word 2 of keys [..., 4] */
xt_tensor pipeline_keys(const pipeline *p, xt_tensor keys, xt_tensor by) {
    xt_tensor third = xt_eq_at(p->src, xt_arange_at(p->src, 4, XT_I32), nn_number(p->src, 2, XT_I32));
    return xt_add_at(p->src, keys, xt_mul_at(p->src, xt_cast_at(p->src, third, XT_U32), by));
}

/* Stage i's j-th block for all i. */
static void one_layer(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    pipeline *p = user;
    int n = (int)p->stack.n + 1;
    (void)y;
    xt_tensor *in = base_calloc((size_t)n + 1, sizeof *in);
    if (!in) {
        lazy_fail(status_oom((size_t)n * sizeof *in, WHAT));
        return;
    }
    in[0] = carry[0];
    memcpy(in + 1, x, p->stack.n * sizeof *in);
    if (!xt_is_none(p->keys)) in[n++] = pipeline_keys(p, p->keys, x[p->stack.n]);
    xt_vmap_at(p->src, one_block, n, in, 1, carry, XT_OPTS(xt_vmap_opts, .user = p));
    base_free(in);
}

/* [S, ...] as it is, place by place on the devices of the stages, its micro-batch as batches lie. */
xt_tensor pipeline_in_places(const pipeline *p, xt_tensor x) {
    const lazy_layout *layout = NULL;
    ir_builder *b = lazy_begin(p->src);
    ir_value *v = lazy_value(x);
    if (!v || !p->axes) return x;
    xt_status s =
        lazy_layout_make(lazy_mesh_of_run(), v->type, 2, (const char *[]){p->axes, p->samples}, WHAT, &layout);
    if (s) {
        lazy_fail(status_at(s, p->src));
        return lazy_failed_tensor(p->src);
    }
    uint32_t open = ((1u << v->type->rank) - 1) & ~3u;
    return layout ? lazy_wrap(ir_annotate_sharding_open(b, v, intern_text(layout->text), open), WHAT) : x;
}

/* What stage i has goes to stage i + by. Its derivative is said, as the turn the other way round: each is one send. */
xt_tensor pipeline_turned(const pipeline *p, xt_tensor x, int64_t by) {
    int64_t cut = by > 0 ? p->stages - 1 : 1;
    xt_tensor both[] = {xt_slice_at(p->src, x, 0, cut, p->stages), xt_slice_at(p->src, x, 0, 0, cut)};
    return xt_concat_at(p->src, 2, both, 0);
}
static void send(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    (void)saved;
    out[0] = pipeline_turned(user, in[0], 1);
}
static void send_back(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    (void)saved;
    const xt_src *src = NULL;
    int64_t n = xt_dim(d_out[0], 0);
    (void)user;
    xt_tensor both[] = {xt_slice_at(src, d_out[0], 0, 1, n), xt_slice_at(src, d_out[0], 0, 0, 1)};
    d_in[0] = xt_concat_at(src, 2, both, 0);
}

xt_tensor pipeline_at_place(const pipeline *p, int64_t i, xt_tensor there, xt_tensor elsewhere) {
    if (p->stages == 1) return there;
    return xt_where_at(p->src, xt_eq_at(p->src, p->place, nn_number(p->src, (double)i, XT_I32)), there, elsewhere);
}

xt_tensor pipeline_stage(pipeline *p, xt_tensor at) {
    int n = (int)p->stack.n + !xt_is_none(p->keys);
    xt_scan_at(p->src, one_layer, 1, &at, n, p->slices, 0, NULL, XT_OPTS(xt_scan_opts, .user = p));
    return pipeline_in_places(p, at);
}

static void one_tick(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    pipeline *p = user;
    xt_tensor next = carry[0];
    if (p->stages > 1 &&
        !xt_custom_grad_at(p->src, send, send_back, 1, carry, 1, &next, XT_OPTS(xt_custom_grad_opts, .user = p)))
        return;
    xt_tensor at = pipeline_at_place(p, 0, xt_unsqueeze_at(p->src, x[0], 0), next);
    carry[0] = y[0] = pipeline_stage(p, pipeline_in_places(p, at));
}

/* [layers,...] as [layers of a stage, stages,...] */
xt_tensor pipeline_by_stage(const pipeline *p, xt_tensor w) {
    int64_t dims[END] = {p->stages, p->stack.layers / p->stages};
    const ir_type *t = lazy_type(w);
    if (!t) return w;
    memcpy(dims + 2, t->dims + 1, (t->rank - 1) * sizeof *dims);
    return xt_transpose_at(p->src, xt_reshape_at(p->src, w, dims), 0, 1);
}

xt_tensor pipeline_cut(const pipeline *p, xt_tensor x) {
    const ir_type *t = lazy_type(x);
    if (!t) return x;
    int64_t dims[END] = {t->dims[0] / p->micro, p->micro};
    memcpy(dims + 2, t->dims + 1, (t->rank - 1) * sizeof *dims);
    return xt_transpose_at(p->src, xt_reshape_at(p->src, x, dims), 0, 1);
}
xt_tensor pipeline_join(const pipeline *p, xt_tensor x) {
    int64_t dims[END] = {0};
    memcpy(dims, p->whole->dims, p->whole->rank * sizeof *dims);
    return xt_reshape_at(p->src, xt_transpose_at(p->src, x, 0, 1), dims);
}

xt_tensor pipeline_rows(const pipeline *p, xt_tensor parts) {
    int64_t dims[END] = {p->stages - 1};
    const ir_type *t = lazy_type(parts);
    if (!t || p->stages == 1) return parts;
    memcpy(dims + 1, t->dims + 1, (t->rank - 1) * sizeof *dims);
    xt_tensor last = xt_slice_at(p->src, parts, 0, p->micro - 1, p->micro);
    return xt_concat_at(p->src, 2, (xt_tensor[]){parts, xt_broadcast_to_at(p->src, last, dims)}, 0);
}

xt_tensor pipeline_of_place(const pipeline *p, int64_t i, xt_tensor ys, int axis) {
    return xt_sum_axis_at(p->src, pipeline_at_place(p, i, ys, nn_number(p->src, 0, p->whole->dtype)), axis);
}

bool pipeline_begin(pipeline *p, xt_tensor x, xt_tensor *parts, xt_tensor *buffer) {
    const xt_src *src = p->src;
    int64_t S = p->stages, dims[END] = {S}, column[END] = {S};
    *parts = pipeline_cut(p, x);
    const ir_type *t = lazy_type(*parts);
    if (!t) return false;
    memcpy(dims + 1, t->dims + 1, (t->rank - 1) * sizeof *dims);
    xt_tensor first = xt_slice_at(src, *parts, 0, 0, 1);
    if (!find_parameters(p, xt_reshape_at(src, first, dims + 1))) return false;
    p->slices = base_calloc(p->stack.n + 1, sizeof *p->slices);
    if (!p->slices) {
        lazy_error(src, XT_RESOURCE_EXHAUSTED, "%s: no memory for its parameters", WHAT);
        return false;
    }
    for (size_t i = 0; i < p->stack.n; i++) p->slices[i] = pipeline_by_stage(p, p->stack.all[i]);
    *buffer = pipeline_in_places(p, xt_broadcast_to_at(src, first, dims));
    for (uint32_t d = 1; d <= p->whole->rank; d++) column[d] = 1;
    p->place = xt_reshape_at(src, xt_arange_at(src, S, XT_I32), column);
    return true;
}

/* All micro-batches forward. */
static xt_tensor run(pipeline *p, xt_tensor x) {
    int64_t ticks = p->micro + p->stages - 1;
    xt_tensor parts, buffer, ys = {0};
    if (!pipeline_begin(p, x, &parts, &buffer)) return lazy_failed_tensor(p->src);
    parts = pipeline_rows(p, parts);
    if (!xt_scan_at(p->src, one_tick, 1, &buffer, 1, &parts, 1, &ys, XT_OPTS(xt_scan_opts, .length = ticks, .user = p)))
        return lazy_failed_tensor(p->src);
    /* the last stage's, in the form of a sum that the partitioner can divide */
    if (p->stages > 1) ys = xt_slice_at(p->src, ys, 0, p->stages - 1, ticks);
    return pipeline_join(p, pipeline_of_place(p, p->stages - 1, ys, 1));
}

static xt_tensor mistake(const pipeline *p, const ir_type *t) {
    int64_t layers = p->o->layers, parts = p->samples ? xt_mesh_size(NULL, p->samples) : 1;
    if (layers < 1 || p->micro < 1)
        return lazy_error(p->src, XT_INVALID_ARGUMENT,
                          "%s %s: .layers is %lld and .microbatches %lld; both are at least 1", WHAT, p->name,
                          (long long)layers, (long long)p->micro);
    if (layers % p->stages)
        return lazy_error(p->src, XT_INVALID_ARGUMENT,
                          "%s %s: %lld layers over the %lld stages along \"%s\": each stage has as many, so the stages "
                          "must divide the layers; take a mesh of fewer stages, or other layers",
                          WHAT, p->name, (long long)layers, (long long)p->stages, p->axes);
    if (t->dims[0] % (p->micro * parts))
        return lazy_error(p->src, XT_INVALID_ARGUMENT,
                          "%s %s: a batch of %lld in %lld micro-batches%s%s%s; they are of one size, and each device "
                          "has a part of each: the batch must be a multiple of %lld",
                          WHAT, p->name, (long long)t->dims[0], (long long)p->micro,
                          p->samples ? " divided over \"" : "", p->samples ? p->samples : "", p->samples ? "\"" : "",
                          (long long)(p->micro * parts));
    if (t->rank + 2 > XT_MAX_RANK)
        return lazy_error(p->src, XT_INVALID_ARGUMENT, "%s %s: the input has %u dims; at most %d", WHAT, p->name,
                          t->rank, XT_MAX_RANK - 2);
    return (xt_tensor){0};
}

/* What both calls begin and end with; `work` records the pipeline. */
static xt_tensor call(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_module_fn fn,
                      const xt_pipeline_opts *o, xt_tensor (*work)(pipeline *p, xt_tensor x, void *more), void *more) {
    const ir_type *t = lazy_type(x);
    if (!m || !fn) return lazy_error(src, XT_INVALID_ARGUMENT, "%s %s: the module or the block is NULL", WHAT, name);
    if (!t || t->rank < 1 || !ir_dtype_is_float(t->dtype) || t->count == 0)
        return nn_bad_input(src, WHAT, name, x, "floats [B,...] are needed");
    if (m->root->stack)
        return lazy_error(src, XT_UNIMPLEMENTED, "%s %s: it stands in a block of another xt_pipeline", WHAT, name);
    pipeline p = {.src = src,
                  .outer = m,
                  .m = xt_sub(m, name, -1),
                  .name = name,
                  .fn = fn,
                  .o = o,
                  .micro = o->microbatches,
                  .whole = t};
    if (!p.m || !nn_layer_begin(src, m, name)) return nn_bad_input(src, WHAT, name, (xt_tensor){0}, "");
    p.axes = nn_stage_axes(m);
    p.stages = p.axes ? xt_mesh_size(NULL, p.axes) : 1;
    p.samples = lazy_spmd() && *lazy_mesh_batch_axes() ? lazy_mesh_batch_axes() : NULL;
    p.stack = (pipeline_stack){.base = {p.m->path, pipeline_give}, .layers = o->layers};
    xt_tensor y = mistake(&p, t);
    if (xt_is_none(y)) {
        m->root->stack = &p.stack.base;
        y = work(&p, x, more);
        m->root->stack = NULL;
    }
    nn_layer_end();
    pipeline_stack_free(&p.stack);
    base_free(p.slices);
    return lazy_pending() ? lazy_failed_tensor(src) : y;
}

static xt_tensor forward(pipeline *p, xt_tensor x, void *more) {
    (void)more;
    return run(p, x);
}

xt_tensor xt_pipeline_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_module_fn fn,
                         xt_pipeline_opts o) {
    if (o.schedule != XT_GPIPE)
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s %s: a backward pass that begins while micro-batches are still on their way needs the "
                          "loss: xt_pipeline_loss takes the head and the targets",
                          WHAT, name);
    return call(src, m, name, x, fn, &o, forward, NULL);
}

typedef struct with_head {
    xt_tensor y;
    xt_pipeline_head_fn head;
} with_head;
static xt_tensor forward_and_back(pipeline *p, xt_tensor x, void *more) {
    const with_head *h = more;
    return pipeline_1f1b(p, x, h->y, h->head);
}

xt_tensor xt_pipeline_loss_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, xt_tensor y,
                              xt_module_fn fn, xt_pipeline_head_fn head, xt_pipeline_opts o) {
    const ir_type *tx = lazy_type(x), *ty = lazy_type(y);
    with_head h = {y, head};
    if (!head) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_pipeline_loss %s: the head is NULL", name);
    if (o.schedule != XT_GPIPE && o.schedule != XT_ONE_F_ONE_B)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_pipeline_loss %s: .schedule is %d; XT_GPIPE or XT_ONE_F_ONE_B",
                          name, (int)o.schedule);
    if (tx && ty && (!tx->rank || !ty->rank || tx->dims[0] != ty->dims[0]))
        return lazy_error(src, XT_INVALID_ARGUMENT,
                          "xt_pipeline_loss %s: targets for %lld samples, and inputs of %lld; both have the batch in "
                          "front",
                          name, (long long)(ty->rank ? ty->dims[0] : 0), (long long)(tx->rank ? tx->dims[0] : 0));
    if (o.schedule == XT_ONE_F_ONE_B && lazy_grad_on()) return call(src, m, name, x, fn, &o, forward_and_back, &h);
    x = call(src, m, name, x, fn, &o, forward, NULL);
    return lazy_is_error(x) ? x : head(m, x, y, o.user);
}
