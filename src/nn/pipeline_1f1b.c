/* 1F1B (Narayanan et al. 2019, PipeDream; 2021, its form without old weights) as one program: in tick t stage s works
 * on micro-batch t - s forward and on micro-batch t - 2(S-1) + s backward, so the last stage has both of the same one.
 * The first S-1 ticks have nothing that goes back, the last S-1 nothing that goes forward; three loops do it, of M + S
 * - 1 ticks forward and as many backward, as GPipe's:
 *
 *   S-1 ticks   forward
 *   M ticks     forward; the head and its gradient for what the last stage has; backward
 *   S-1 ticks   backward
 *
 * Forward, what comes into the stages in tick t is kept in slot t % R of a ring; backward takes stage s's from
 * 2(S-1-s) ticks ago and computes its blocks again from there, with the same draws: their keys go by micro-batch and
 * layer. R = 2S-1 slots do, and with fewer than S micro-batches there are M + S - 1 ticks forward at all. Gradients are
 * added up in the loops' states. What goes back from micro-batches that there are not is 0, as it is 0 at first, and
 * what a stage gives back is linear in what came to it.
 *
 * All of it is the forward function of one xt_custom_grad, which saves the gradients; backward multiplies them. */
#include "nn/pipeline.h"

#include <xtrain/loop.h>

enum { BUFFER, RING, LOSS, OF_HEAD }; /* states; behind those of the head what goes back, then those of the blocks */

typedef struct wanted { /* the parameters of a stack that have gradients */
    size_t n, *at;
    xt_tensor
        *now; /* all of the stack as it is used, in which [n] stand for themselves while they are differentiated */
} wanted;

typedef struct schedule {
    pipeline *p;
    xt_pipeline_head_fn fn;
    pipeline_stack head;
    wanted blocks, heads;
    bool wants_x;
    xt_tensor parts, buffer, y; /* y: of all micro-batches, then the one of a tick */
    xt_tensor key, ring; /* ring: what the last loop reads */
    int64_t slots;
} schedule;

static xt_tensor none_of(const pipeline *p) {
    return lazy_error(p->src, XT_RESOURCE_EXHAUSTED, "%s: no memory for its parameters", PIPELINE_WHAT);
}

static xt_tensor times(const pipeline *p, xt_tensor x, double by) {
    const ir_type *t = lazy_type(x);
    return t ? xt_mul_at(p->src, x, nn_number(p->src, by, t->dtype)) : x;
}

/* --- what is kept of micro-batches that are on their way --- */
/* (t - ago) % slots, as what a slice of the ring begins with */
static void slot_at(const schedule *s, ir_builder *b, ir_value *t, int64_t ago, uint32_t rank, ir_value **start) {
    const ir_type *number = ir_scalar(XT_I32);
    int64_t ahead = (ago + s->slots - 1) / s->slots * s->slots - ago;
    for (uint32_t i = 0; i < rank; i++) start[i] = ir_splat(b, number, 0);
    start[0] = ir_remainder(b, ir_add(b, t, ir_splat(b, number, (double)ahead)), ir_splat(b, number, (double)s->slots));
}

static xt_tensor put(const schedule *s, xt_tensor ring, xt_tensor tick, xt_tensor at) {
    xt_tensor row = xt_unsqueeze_at(s->p->src, at, 0);
    ir_builder *b = lazy_begin(s->p->src);
    ir_value *all = lazy_value(ring), *v = lazy_value(row), *t = lazy_value(tick), *start[XT_MAX_RANK + 1];
    if (!all || !v || !t) return lazy_failed_tensor(s->p->src);
    slot_at(s, b, t, 0, all->type->rank, start);
    return lazy_wrap(ir_dynamic_update_slice(b, all, v, all->type->rank, start), PIPELINE_WHAT);
}

/* What came into stage s 2(S-1-s) ticks ago, for all s. */
static xt_tensor taken(const schedule *s, xt_tensor ring, xt_tensor tick) {
    xt_tensor all = {0};
    for (int64_t i = s->p->stages - 1; i >= 0; i--) {
        ir_builder *b = lazy_begin(s->p->src);
        ir_value *r = lazy_value(ring), *t = lazy_value(tick), *start[XT_MAX_RANK + 1];
        int64_t dims[XT_MAX_RANK + 1];
        if (!r || !t) return lazy_failed_tensor(s->p->src);
        memcpy(dims, r->type->dims, r->type->rank * sizeof *dims);
        dims[0] = 1;
        slot_at(s, b, t, 2 * (s->p->stages - 1 - i), r->type->rank, start);
        xt_tensor row = lazy_wrap(ir_dynamic_slice(b, r, r->type->rank, start, dims), PIPELINE_WHAT);
        row = xt_squeeze_at(s->p->src, row, 0);
        all = xt_is_none(all) ? row : pipeline_at_place(s->p, i, row, all);
    }
    return all;
}

/* --- one tick --- */
/* The keys of each stage's draws for micro-batch tick - s (forward) or tick - 2(S-1) + s. Of micro-batches that there
 * are not they are others' keys, and nobody reads what they make. */
static void set_keys(schedule *s, xt_tensor tick, bool forward) {
    pipeline *p = s->p;
    const xt_src *src = p->src;
    if (xt_is_none(s->key)) return;
    xt_tensor stage = xt_arange_at(src, p->stages, XT_I32), micro = xt_sub__at(src, tick, stage);
    if (!forward) {
        xt_tensor first = nn_number(src, 2.0 * (double)(p->stages - 1), XT_I32); /* that comes back to stage 0 */
        micro = xt_add_at(src, xt_sub__at(src, tick, first), stage);
    }
    double layers = (double)p->stack.layers;
    xt_tensor n = xt_add_at(src, times(p, micro, layers), times(p, stage, layers / (double)p->stages));
    n = xt_unsqueeze_at(src, xt_cast_at(src, times(p, n, p->stack.draws), XT_U32), 1);
    p->keys = pipeline_keys(p, s->key, n);
}

static void go_forward(schedule *s, xt_tensor *carry, xt_tensor tick, xt_tensor row) {
    pipeline *p = s->p;
    xt_tensor next = p->stages > 1 ? pipeline_turned(p, carry[BUFFER], 1) : carry[BUFFER];
    xt_tensor at = pipeline_in_places(p, pipeline_at_place(p, 0, xt_unsqueeze_at(p->src, row, 0), next));
    set_keys(s, tick, true);
    carry[RING] = put(s, carry[RING], tick, at);
    carry[BUFFER] = pipeline_stage(p, at);
}

static void put_in(const wanted *w, const xt_tensor *in) {
    for (size_t i = 0; i < w->n; i++) w->now[w->at[i]] = in[i];
}

static void the_head(const xt_tensor *in, xt_tensor *out, void *user) {
    schedule *s = user;
    nn_root *r = s->p->m->root;
    nn_stack *was = r->stack;
    lazy_inside_fn call;
    put_in(&s->heads, in + 1);
    s->head.one = s->heads.now;
    r->stack = &s->head.base;
    lazy_enter(&call, "the head of xt_pipeline_loss", s->p->outer);
    out[0] = s->fn(s->p->outer, in[0], s->y, s->p->o->user);
    lazy_leave(&call);
    r->stack = was;
    out[0] = xt_cast_at(s->p->src, out[0], XT_F32);
}

static void the_stage(const xt_tensor *in, xt_tensor *out, void *user) {
    schedule *s = user;
    put_in(&s->blocks, in + 1);
    out[0] = pipeline_stage(s->p, in[0]);
}

/* The loss of what the last stage has; gives what goes back from it, and adds the head's gradients. */
static xt_tensor go_round(schedule *s, xt_tensor *carry) {
    const pipeline *p = s->p;
    size_t n = s->heads.n + 1;
    xt_tensor *in = base_calloc(2 * n, sizeof *in), *d = in + n, loss, back;
    if (!in) return none_of(p);
    in[0] = pipeline_of_place(p, p->stages - 1, carry[BUFFER], 0);
    for (size_t i = 0; i + 1 < n; i++) in[i + 1] = s->heads.now[s->heads.at[i]];
    if (xt_grad_fn_at(p->src, the_head, s, (int)n, in, &loss, d)) {
        carry[LOSS] = xt_add_at(p->src, carry[LOSS], xt_reshape_at(p->src, loss, (int64_t[]){0}));
        for (size_t i = 0; i + 1 < n; i++) carry[OF_HEAD + i] = xt_add_at(p->src, carry[OF_HEAD + i], d[i + 1]);
    }
    put_in(&s->heads, in + 1);
    back = d[0];
    base_free(in);
    return back;
}

/* carry: what goes back, [S, ...], and the blocks' gradients. from: what comes to the last stage; none: nothing. */
static xt_tensor go_back(schedule *s, xt_tensor *carry, xt_tensor ring, xt_tensor tick, xt_tensor from) {
    pipeline *p = s->p;
    size_t n = s->blocks.n + 1;
    xt_tensor *in = base_calloc(2 * n, sizeof *in), *d = in + n, out, back = carry[0];
    if (!in) return none_of(p);
    from = xt_is_none(from) ? nn_number(p->src, 0, p->whole->dtype) : xt_unsqueeze_at(p->src, from, 0);
    if (p->stages > 1) back = pipeline_turned(p, back, -1);
    back = pipeline_in_places(p, pipeline_at_place(p, p->stages - 1, from, back));
    in[0] = pipeline_in_places(p, taken(s, ring, tick));
    for (size_t i = 0; i + 1 < n; i++) in[i + 1] = p->slices[s->blocks.at[i]];
    set_keys(s, tick, false);
    if (xt_vjp_at(p->src, the_stage, s, (int)n, in, 1, &back, &out, d)) {
        carry[0] = pipeline_in_places(p, d[0]);
        for (size_t i = 0; i + 1 < n; i++) carry[i + 1] = xt_add_at(p->src, carry[i + 1], d[i + 1]);
    }
    put_in(&s->blocks, in + 1);
    base_free(in);
    return carry[0];
}

static void coming(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)y;
    go_forward(user, carry, x[0], x[1]);
}
static void both(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    schedule *s = user;
    go_forward(s, carry, x[0], x[1]);
    s->y = x[2];
    xt_tensor from = go_round(s, carry);
    xt_tensor back = go_back(s, carry + OF_HEAD + s->heads.n, carry[RING], x[0], from);
    if (s->wants_x) y[0] = back;
}
static void going(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    schedule *s = user;
    xt_tensor back = go_back(s, carry, s->ring, x[0], (xt_tensor){0});
    if (s->wants_x) y[0] = back;
}

/* --- all of them --- */
static xt_tensor zeros_of(const pipeline *p, xt_tensor like) {
    return xt_full_like_at(p->src, like, 0);
}

static xt_tensor part(const pipeline *p, xt_tensor x, int64_t from, int64_t to) {
    return xt_slice_at(p->src, x, 0, from, to);
}

static bool loops(schedule *s, xt_tensor *carry, xt_tensor ys[2]) {
    const pipeline *p = s->p;
    int64_t S = p->stages, M = p->micro, ticks = M + 2 * (S - 1);
    xt_tensor number = xt_arange_at(p->src, ticks, XT_I32), rows = pipeline_rows(p, s->parts);
    xt_tensor first[2] = {part(p, number, 0, S - 1), part(p, rows, 0, S - 1)};
    xt_tensor middle[3] = {part(p, number, S - 1, M + S - 1), part(p, rows, S - 1, M + S - 1), s->y};
    xt_tensor last = part(p, number, M + S - 1, ticks);
    size_t back = OF_HEAD + s->heads.n, n = back + 1 + s->blocks.n;
    xt_scan_opts o = XT_OPTS(xt_scan_opts, .user = s);
    if (S > 1 && !xt_scan_at(p->src, coming, 2, carry, 2, first, 0, NULL, o)) return false;
    if (!xt_scan_at(p->src, both, (int)n, carry, 3, middle, s->wants_x, ys, o)) return false;
    s->ring = carry[RING];
    return S == 1 || xt_scan_at(p->src, going, (int)(n - back), carry + back, 1, &last, s->wants_x, ys + 1, o);
}

static __thread schedule *recorded; /* while forward is called */

/* in: x where it has a gradient, then the blocks' and the head's parameters that have. */
static void forward(const xt_tensor *in, xt_tensor *out, xt_tensor *saved, void *user) {
    schedule *s = recorded;
    pipeline *p = s->p;
    (void)user;
    const xt_src *src = p->src;
    const xt_tensor *w = in + s->wants_x;
    size_t nb = s->blocks.n, nh = s->heads.n, back = OF_HEAD + nh;
    xt_tensor *carry = base_calloc(back + 1 + nb, sizeof *carry), ys[2] = {{0}, {0}};
    int64_t dims[XT_MAX_RANK + 2] = {s->slots};
    if (!carry) {
        none_of(p);
        return;
    }
    if (s->wants_x) s->parts = pipeline_cut(p, in[0]);
    for (size_t i = 0; i < nb; i++) p->slices[s->blocks.at[i]] = pipeline_by_stage(p, w[i]);
    put_in(&s->heads, w + nb);
    const ir_type *t = lazy_type(s->buffer);
    if (t) memcpy(dims + 1, t->dims, t->rank * sizeof *dims);
    carry[BUFFER] = s->buffer;
    carry[RING] = xt_broadcast_to_at(src, xt_unsqueeze_at(src, s->buffer, 0), dims);
    carry[LOSS] = xt_full_at(src, 0, XT_F32, (int64_t[]){0});
    for (size_t i = 0; i < nh; i++) carry[OF_HEAD + i] = zeros_of(p, w[nb + i]);
    carry[back] = pipeline_in_places(p, zeros_of(p, s->buffer));
    for (size_t i = 0; i < nb; i++) carry[back + 1 + i] = zeros_of(p, p->slices[s->blocks.at[i]]);
    if (loops(s, carry, ys)) {
        double each = 1 / (double)p->micro;
        out[0] = times(p, carry[LOSS], each);
        if (s->wants_x) {
            xt_tensor all =
                p->stages > 1 ? part(p, xt_concat_at(src, 2, ys, 0), p->stages - 1, p->micro + p->stages - 1) : ys[0];
            *saved++ = times(p, pipeline_join(p, pipeline_of_place(p, 0, all, 1)), each);
        }
        for (size_t i = 0; i < nb; i++) {
            const ir_type *of = lazy_type(w[i]);
            xt_tensor g = xt_transpose_at(src, carry[back + 1 + i], 0, 1);
            int64_t whole[XT_MAX_RANK + 1] = {0};
            if (of) memcpy(whole, of->dims, of->rank * sizeof *whole);
            *saved++ = times(p, xt_reshape_at(src, g, whole), each);
        }
        for (size_t i = 0; i < nh; i++) *saved++ = times(p, carry[OF_HEAD + i], each);
    }
    base_free(carry);
}

/* What flows to the loss times what was saved. It may be called when the schedule is gone: user is how many there are.
 */
static void backward(const xt_tensor *saved, const xt_tensor *d_out, xt_tensor *d_in, void *user) {
    for (uintptr_t i = 0; i < (uintptr_t)user; i++)
        d_in[i] = xt_mul_at(NULL, saved[i], xt_cast_at(NULL, d_out[0], xt_dtype_of(saved[i])));
}

/* --- the call --- */
static bool wants(const pipeline *p, xt_tensor t) {
    lazy_begin(p->src);
    const ir_value *v = lazy_value(t);
    return v && lazy_needs_grad(v);
}

static bool want(const pipeline *p, const pipeline_stack *of, wanted *w) {
    w->at = base_calloc(of->n + 1, sizeof *w->at);
    if (!w->at) return !lazy_is_error(none_of(p));
    for (size_t i = 0; i < of->n; i++)
        if (wants(p, of->all[i])) w->at[w->n++] = i;
    return true;
}

static xt_tensor find_head(pipeline *p, xt_tensor x, void *user) {
    schedule *s = user;
    xt_tensor loss = s->fn(p->outer, x, s->y, p->o->user);
    const ir_type *t = lazy_type(loss);
    if (!t || (t->count == 1 && ir_dtype_is_float(t->dtype))) return loss;
    str text = STR_INIT;
    ir_type_print(t, &text);
    loss = lazy_error(p->src, XT_INVALID_ARGUMENT,
                      "xt_pipeline_loss %s: the head gives %s; it gives the mean loss of the samples it is given, one "
                      "float",
                      p->name, str_cstr(&text));
    str_free(&text);
    return loss;
}

static xt_tensor first_of(const pipeline *p, xt_tensor parts) {
    return xt_squeeze_at(p->src, part(p, parts, 0, 1), 0);
}

static bool begin(schedule *s, xt_tensor x) {
    pipeline *p = s->p;
    int64_t of_stage = p->stack.layers / p->stages;
    if (!pipeline_begin(p, x, &s->parts, &s->buffer)) return false;
    xt_tensor y = pipeline_cut(p, s->y);
    s->y = first_of(p, y);
    if (!pipeline_find(p, &s->head, first_of(p, s->parts), find_head, s)) return false;
    s->y = y;
    s->wants_x = wants(p, x);
    s->slots = p->micro + p->stages - 1 < 2 * p->stages - 1 ? p->micro + p->stages - 1 : 2 * p->stages - 1;
    s->blocks.now = p->slices;
    s->heads.now = s->head.all;
    if (!want(p, &p->stack, &s->blocks) || !want(p, &s->head, &s->heads)) return false;
    if (!p->stack.draws) return true;
    s->key = lazy_rng_keys(p->src, (uint32_t)(p->micro * p->stack.layers) * p->stack.draws);
    p->slices[p->stack.n] =
        xt_cast_at(p->src, times(p, xt_arange_at(p->src, of_stage, XT_I32), p->stack.draws), XT_U32);
    return true;
}

static xt_tensor loss_of(schedule *s, xt_tensor x) {
    const pipeline *p = s->p;
    size_t n = 0, most = 1 + s->blocks.n + s->heads.n;
    xt_tensor loss = {0}, *in = base_calloc(most, sizeof *in);
    if (!in) return none_of(p);
    if (s->wants_x) in[n++] = x;
    for (size_t i = 0; i < s->blocks.n; i++) in[n++] = p->stack.all[s->blocks.at[i]];
    for (size_t i = 0; i < s->heads.n; i++) in[n++] = s->head.all[s->heads.at[i]];
    if (n == 0)
        loss = lazy_error(p->src, XT_INVALID_ARGUMENT,
                          "xt_pipeline_loss %s: neither the input nor a parameter of the blocks or the head has a "
                          "gradient; under xt_no_grad_begin it is computed without",
                          p->name);
    else {
        xt_custom_grad_opts o = XT_OPTS(xt_custom_grad_opts, .saved = (int)n, .user = (void *)(uintptr_t)n);
        recorded = s;
        xt_custom_grad_at(p->src, forward, backward, (int)n, in, 1, &loss, o);
    }
    base_free(in);
    return loss;
}

xt_tensor pipeline_1f1b(pipeline *p, xt_tensor x, xt_tensor y, xt_pipeline_head_fn head) {
    schedule s = {.p = p, .fn = head, .y = y, .head = {.base = {"", pipeline_give}}};
    xt_tensor loss = begin(&s, x) ? loss_of(&s, x) : lazy_failed_tensor(p->src);
    pipeline_stack_free(&s.head);
    base_free(s.blocks.at);
    base_free(s.heads.at);
    return loss;
}
