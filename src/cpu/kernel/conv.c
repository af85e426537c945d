/* Convolution on oneDNN. Training records three forms of it, all as stablehlo.convolution; each maps to the primitive
 * made for it:
 *   forward    plain windows;
 *   data       the gradient of the input: a dilated left side or a kernel turned around, strides 1; the kernel's
 *              dims swapped;
 *   weights    the gradient of the kernel: batch and feature exchange roles, the right side is the larger window.
 * Dimension numbers become strides, so no operand is transposed; oneDNN is asked for its own layouts when it has no
 * fast code for the given ones, and reorders run inside the thunk. */
#include "cpu/kernel/conv_choice.h"
#include "cpu/kernel/conv_cut.h"
#include "cpu/kernel/conv_direct.h"
#include "cpu/kernel/kernel.h"
#include "cpu/plan/layout.h"
#include "cpu/vector/access.h"
#include "cpu/vector/conv_finite.h"
#include "cpu/vector/move.h"

typedef struct conv_state {
    conv_cut *cut; /* not NULL: what computes it, instead of one primitive */
    dnnl_prim prim;
    dnnl_prim reorder[3]; /* of SRC, WEI, DST: from or to the given layout */
    size_t at[3]; /* its buffer in scratch */
    size_t reorder_scratch_at, prim_scratch_at;
    size_t bytes[3]; /* of the memory that oneDNN was told of */
    int input[2]; /* which tensors the thunk's inputs are */
    int output;
    bool flip; /* the kernel is turned around into scratch first */
    cpu_move flip_move;
    size_t flip_at;
    bool winograd;
    conv_direct *direct; /* what to do when Winograd's result is not finite; NULL: it is not Winograd's */
    size_t zeros; /* bytes of a result that is only partly written */
} conv_state;

static void conv_free(void *state) {
    conv_state *s = state;
    dnnl_prim_free(&s->prim);
    for (int i = 0; i < 3; i++) dnnl_prim_free(&s->reorder[i]);
    conv_cut_free(s->cut);
    conv_direct_free(s->direct);
    base_free(s);
}

/* By one primitive and all threads. */
static xt_status whole_run(const conv_state *s, const cpu_call *c, void *const user[3]) {
    char *scratch = c->scratch;
    void *used[3];
    for (int i = 0; i < 3; i++) {
        used[i] = s->reorder[i].primitive ? scratch + s->at[i] : user[i];
        if (s->reorder[i].primitive && i != s->output)
            XT_TRY(dnnl_prim_run(&s->reorder[i], &c->device->stream, (void *[]){user[i], used[i]},
                                 scratch + s->reorder_scratch_at));
    }
    XT_TRY(dnnl_prim_run(&s->prim, &c->device->stream, used, scratch + s->prim_scratch_at));
    int o = s->output;
    if (s->reorder[o].primitive)
        XT_TRY(dnnl_prim_run(&s->reorder[o], &c->device->stream, (void *[]){used[o], user[o]},
                             scratch + s->reorder_scratch_at));
    return NULL;
}

static xt_status conv_run(const cpu_call *c) {
    const conv_state *s = c->thunk->state;
    char *scratch = c->scratch;
    void *user[3];
    for (int i = 0; i < 2; i++) user[s->input[i]] = c->in[i];
    user[s->output] = c->out[0];
    cpu_clear_run(&c->device->team, c->out[0], s->zeros);
    if (s->flip) {
        cpu_move_run(&c->device->team, &s->flip_move, scratch + s->flip_at, c->in[1]);
        user[s->input[1]] = scratch + s->flip_at;
    }
    if (!s->cut) return whole_run(s, c, user);
    XT_TRY(conv_cut_run(s->cut, &c->device->team, &c->device->stream, user, scratch));
    return s->direct ? conv_direct_unless_finite(s->direct, c) : NULL;
}

/* As far as oneDNN may reach from where an operand starts. */
static bool conv_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    const conv_state *s = t->state;
    if (k > 2) return false;
    int tensor = k < 2 ? s->input[k] : s->output;
    size_t bytes = k == 2 && s->zeros ? s->zeros : s->bytes[tensor]; /* what is not written is cleared */
    size_t elem = xt_dtype_size((k < 2 ? t->reads[k] : &t->op->out[0])->type->dtype);
    *out = (cpu_access){.arg = k, .elem = elem, .at = {.n = 1, .dims = {(int64_t)(bytes / elem)}, .strides = {1}}};
    return true;
}
static const cpu_kernel conv_forward_kernel = {"onednn-conv", conv_run, conv_free, .onednn = true,
                                               .access = conv_access};
static const cpu_kernel conv_data_kernel = {"onednn-conv-data", conv_run, conv_free, .onednn = true,
                                            .access = conv_access};
static const cpu_kernel conv_weights_kernel = {"onednn-conv-weights", conv_run, conv_free, .access = conv_access};
static const cpu_kernel wino_weights_kernel = {"winograd-conv-weights", conv_run, conv_free, .access = conv_access};

static size_t align_up(size_t n) {
    return (n + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

/* The primitive, whole or in pieces, what lies around it and its scratch. Whole are those whose sums do not
 * follow oneDNN's threads. */
static xt_status finish(conv_state *s, const conv_desc *d, conv_layout last, double flops, int threads, size_t *scratch,
                        bool *out_ok) {
    conv_choice best = {0};
    size_t reorder_scratch = 0;
    memcpy(s->input, d->input, sizeof s->input);
    s->output = d->output;
    for (int i = 0; i < 3; i++) s->bytes[i] = dnnl_memory_desc_get_size(&d->md[i]);
    if (d->form != CONV_WEIGHTS) XT_TRY(conv_choose(d, last, flops, threads, &best));
    if (d->form == CONV_WEIGHTS || (best.ok && best.by_threads)) {
        dnnl_prim_free(&best.prim);
        XT_TRY(conv_cut_make(d, last, flops, threads, scratch, &s->cut));
        *out_ok = s->cut != NULL;
        s->winograd = s->cut && conv_cut_is_winograd(s->cut);
        return NULL;
    }
    s->prim = best.prim;
    *out_ok = best.ok;
    for (int i = 0; i < 3 && *out_ok; i++) {
        const dnnl_memory_desc_t *used = &best.used[i];
        if (dnnl_memory_desc_equal(&d->md[i], used)) continue;
        bool out = i == d->output;
        XT_TRY(dnnl_reorder_make(out ? used : &d->md[i], out ? &d->md[i] : used, threads, &s->reorder[i], out_ok));
        s->at[i] = *scratch;
        *scratch += align_up(dnnl_memory_desc_get_size(used));
        if (s->reorder[i].scratch_bytes > reorder_scratch) reorder_scratch = s->reorder[i].scratch_bytes;
    }
    s->reorder_scratch_at = *scratch;
    *scratch += align_up(reorder_scratch);
    s->prim_scratch_at = *scratch;
    *scratch += s->prim.scratch_bytes;
    return NULL;
}

/* --- without Winograd --- */
struct conv_direct {
    conv_desc desc;
    conv_state begun; /* what comes before the primitive, as in the state that it stands in for */
    size_t scratch; /* of that */
    double flops;
    int threads;
    pthread_mutex_t lock;
    conv_state *state; /* NULL: not wanted so far */
    size_t all_scratch;
};

static xt_status plain_new(const conv_desc *d, const conv_state *begun, size_t scratch, double flops, int threads,
                           conv_direct **out) {
    conv_direct *p = *out = base_calloc(1, sizeof *p);
    if (!p) return status_oom(sizeof *p, "a plan");
    p->desc = *d;
    p->begun = *begun;
    p->scratch = scratch;
    p->flops = flops;
    p->threads = threads;
    pthread_mutex_init(&p->lock, NULL);
    return NULL;
}

static xt_status direct_make(conv_direct *p) {
    conv_state *s = base_malloc(sizeof *s);
    bool ok = false;
    if (!s) return status_oom(sizeof *s, "a direct convolution");
    *s = p->begun;
    p->all_scratch = p->scratch;
    xt_status st = finish(s, &p->desc, LAYOUT_CHANNELS_LAST, p->flops, p->threads, &p->all_scratch, &ok);
    if (!st && !ok)
        st = status_new(XT_INTERNAL, NULL,
                        "oneDNN has no direct convolution for what it computes by Winograd's algorithm");
    if (st)
        conv_free(s);
    else
        p->state = s;
    return st;
}

xt_status conv_direct_run(conv_direct *p, const cpu_call *c) {
    cpu_thunk thunk = *c->thunk;
    cpu_call again = *c;
    pthread_mutex_lock(&p->lock);
    xt_status s = p->state ? NULL : direct_make(p);
    pthread_mutex_unlock(&p->lock);
    if (s) return s;
    again.scratch = base_aligned(CPU_ALIGN, p->all_scratch + 1);
    if (!again.scratch) return status_oom(p->all_scratch, "a direct convolution");
    thunk.state = p->state;
    again.thunk = &thunk;
    s = conv_run(&again);
    base_free(again.scratch);
    return s;
}

xt_status conv_direct_unless_finite(conv_direct *p, const cpu_call *c) {
    const dnnl_memory_desc_t *w = &p->desc.md[WEI];
    /* of a kernel that was cropped */
    const char *taps = (const char *)c->out[0] + w->offset0 * (int64_t)dnnl_data_type_size(w->data_type);
    bool finite = conv_kernel_is_finite(taps, w->data_type == dnnl_bf16, w->dims, w->format_desc.blocking.strides);
    return finite ? NULL : conv_direct_run(p, c);
}

void conv_direct_free(conv_direct *p) {
    if (!p) return;
    if (p->state) conv_free(p->state);
    pthread_mutex_destroy(&p->lock);
    base_free(p);
}

/* Turns the kernel around into a dense copy: rhs then has the copy's strides. */
static void flip_kernel(conv *c, conv_state *s, size_t *scratch) {
    view src = c->rv;
    for (int i = 0; i < c->n; i++) {
        int64_t dim = c->rhs_s[i];
        src.offset += (src.dims[dim] - 1) * src.strides[dim];
        src.strides[dim] = -src.strides[dim];
    }
    s->flip = cpu_move_make(&c->rv, &src, c->rhs->dtype, &s->flip_move);
    s->flip_at = *scratch;
    *scratch += align_up(ir_type_bytes(c->rhs));
}

/* Finds a form; *kernel becomes the value to read as the kernel. */
static bool find_form(conv *c, const ir_value **kernel, conv_state *s, size_t *scratch, conv_desc *d) {
    bool reversed = conv_is_reversed(c), straight = conv_is_straight(c);
    if (!reversed && !straight) return false;
    const ir_value *plain = straight ? conv_unreversed(c, *kernel) : NULL;
    if (plain && conv_as_data(c, d)) { /* the program turns the kernel around just for us */
        *kernel = plain;
        return true;
    }
    if (straight && conv_as_weights(c, d)) return true;
    if (straight && conv_as_forward(c, d)) return true;
    if (reversed && conv_as_data(c, d)) return true;
    bool usable = straight ? conv_as_data(c, d) : conv_as_forward(c, d);
    if (usable) flip_kernel(c, s, scratch);
    return usable;
}

/* An image's dims by role: batch first, then features, and space in order. */
static bool is_image(const conv *c, const ir_type *t, int64_t batch, int64_t feature, const int64_t *space) {
    return c->n == 2 && t->rank == 4 && batch == 0 && (feature == 1 || feature == 3) &&
           space[0] == (feature == 1 ? 2 : 1) && space[1] == space[0] + 1;
}

/* Of both operands and the result: 1 + the feature dim, 0: no image of this form of convolution. */
static void image_features(const conv *c, conv_form form, int out[3]) {
    memset(out, 0, 3 * sizeof *out);
    if (form == CONV_WEIGHTS) { /* batch and features have changed roles */
        out[0] = is_image(c, c->lhs, c->lhs_f, c->lhs_b, c->lhs_s) ? (int)c->lhs_b + 1 : 0;
        out[1] = is_image(c, c->rhs, c->rhs_i, c->rhs_o, c->rhs_s) ? (int)c->rhs_o + 1 : 0;
    } else {
        out[0] = is_image(c, c->lhs, c->lhs_b, c->lhs_f, c->lhs_s) ? (int)c->lhs_f + 1 : 0;
        out[2] = is_image(c, c->out, c->out_b, c->out_f, c->out_s) ? (int)c->out_f + 1 : 0;
    }
}

bool conv_images(const ir_op *op, int out_feature[3], double *out_winograd_flops) {
    conv c = {0};
    conv_desc d = {0};
    conv_state unused = {0};
    size_t scratch = 0;
    const ir_value *kernel = op->in[1];
    if (!conv_read(op, &c) || c.lhs->dtype != c.rhs->dtype || c.groups != 1 || c.batch_groups != 1 ||
        !find_form(&c, &kernel, &unused, &scratch, &d))
        return false;
    image_features(&c, d.form, out_feature);
    *out_winograd_flops = conv_winograd_is_meant(&d) ? cpu_op_flops(op) : 0;
    return true;
}

/* The descriptor of an image that the layout pass has chosen to block, by the dim that is its feature here. */
static bool lie_blocked(cpu_builder *b, const ir_value *v, int feature, dnnl_memory_desc_t *md) {
    if (!feature || layout_feature(b, v) != feature - 1) return false;
    dnnl_memory_desc_t given = *md;
    if (given.dims[0] != v->type->dims[0] || given.dims[1] != v->type->dims[feature - 1]) return false;
    dnnl_format_tag_t tag = layout_block() == 8 ? dnnl_nChw8c : dnnl_nChw16c;
    return dnnl_memory_desc_init_by_tag(md, 4, given.dims, given.data_type, tag) == dnnl_success;
}

CPU_LOWER(convolution) {
    static const cpu_kernel *const kernels[] = {&conv_forward_kernel, &conv_data_kernel, &conv_weights_kernel};
    conv c = {0};
    conv_desc d = {0};
    size_t scratch = 0;
    if (!conv_read(op, &c) || c.lhs->dtype != c.rhs->dtype) return NULL;
    XT_TRY(cpu_lower_conv_chwn(b, op, &c, out_done));
    if (*out_done) return NULL;
    conv_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    const ir_value *in[2] = {op->in[0], op->in[1]};
    int threads = cpu_build_threads(b);
    bool ok = find_form(&c, &in[1], s, &scratch, &d);
    bool cropped = ok && conv_crop_kernel(&d);
    if (cropped && d.output == WEI) s->zeros = ir_type_bytes(c.out);
    uint64_t in_blocked = 0;
    int features[3] = {0};
    if (ok) image_features(&c, d.form, features);
    for (int i = 0; i < 2 && ok; i++)
        if (lie_blocked(b, in[i], features[i], &d.md[d.input[i]])) in_blocked |= 1u << i;
    bool out_blocked = ok && lie_blocked(b, &op->out[0], features[2], &d.md[d.output]);
    wino_problem problem;
    bool both = ok && (d.form == CONV_WEIGHTS ? in_blocked == 3 : in_blocked == 1 && out_blocked);
    double flops = cpu_op_flops(op);
    bool ours = d.md[SRC].data_type == dnnl_bf16 || (d.md[SRC].data_type == dnnl_f32 && d.form != CONV_WEIGHTS);
    if (both && !s->flip && !cropped && ours && conv_winograd_is_meant(&d) && conv_wino_of(&d, &problem)) {
        xt_status made = plain_new(&d, s, scratch, flops, threads, &problem.direct);
        conv_free(s);
        *out_done = !made;
        return made ? made : cpu_build_wino(b, &problem, op, in);
    }
    conv_wgrad_problem wgrad;
    if (both && !s->flip && conv_wgrad_of(&d, &wgrad)) {
        wgrad.zeros = s->zeros;
        conv_free(s);
        *out_done = true;
        return cpu_build_conv_wgrad(b, &wgrad, op, in);
    }
    const conv_state begun = *s;
    size_t before = scratch;
    xt_status st = ok ? finish(s, &d, LAYOUT_WINOGRAD, flops, threads, &scratch, &ok) : NULL;
    if (ok && !st && s->winograd) st = plain_new(&d, &begun, before, flops, threads, &s->direct);
    if (st || !ok) {
        conv_free(s);
        return st;
    }
    *out_done = true;
    cpu_thunk_desc t = {.kernel = s->winograd ? &wino_weights_kernel : kernels[d.form],
                        .op = op,
                        .n_in = 2,
                        .in = in,
                        .n_out = 1,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = flops};
    t.in_blocked = in_blocked;
    t.out_blocked = out_blocked;
    return cpu_build_thunk(b, &t);
}
