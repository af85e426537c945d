/* Convolution on oneDNN. Training records three forms of it, all as stablehlo.convolution; each maps to the primitive made for it:
 *   forward    plain windows;
 *   data       the gradient of the input: a dilated left side or a kernel turned around, strides 1; the kernel's dims swapped;
 *   weights    the gradient of the kernel: batch and feature exchange roles, the right side is the larger window.
 * Dimension numbers become strides, so no operand is transposed; oneDNN is asked for its own layouts when it has no fast code for the given
 * ones, and reorders run inside the thunk. */
#include "cpu/conv.h"
#include "cpu/conv_finite.h"
#include "cpu/conv_plain.h"
#include "cpu/dnnl_util.h"
#include "cpu/kernel_copy.h"
#include "cpu/kernel_taps.h"
#include "cpu/kernel_wino.h"
#include "cpu/layout.h"

typedef enum conv_form { CONV_FORWARD, CONV_DATA, CONV_WEIGHTS } conv_form;
enum { SRC, WEI, DST };
typedef struct conv_state {
    dnnl_prim prim;
    dnnl_prim reorder[3]; /* of SRC, WEI, DST: from or to the given layout */
    size_t at[3]; /* its buffer in scratch */
    size_t reorder_scratch_at, prim_scratch_at;
    int input[2]; /* which tensors the thunk's inputs are */
    int output;
    bool flip; /* the kernel is turned around into scratch first */
    cpu_move flip_move;
    size_t flip_at;
    bool winograd;
    conv_plain *plain; /* what to do when Winograd's result is not finite; NULL: it is not Winograd's */
    size_t zeros; /* bytes of a result that is only partly written */
} conv_state;

static void conv_free(void *state) {
    conv_state *s = state;
    dnnl_prim_free(&s->prim);
    for (int i = 0; i < 3; i++) dnnl_prim_free(&s->reorder[i]);
    conv_plain_free(s->plain);
    base_free(s);
}

/* Of a result by Winograd's algorithm, before it is brought into another layout; images lie as nChw16c. */
static bool is_finite(const conv_state *s, const cpu_team *team, const void *result) {
    const dnnl_memory_desc_t *md = &s->prim.md[s->output];
    const dnnl_dim_t *d = md->dims;
    return conv_image_is_finite(team, result, d[0], d[1] / 16, d[2], d[3]);
}

static xt_status conv_run(const cpu_call *c) {
    const conv_state *s = c->thunk->state;
    char *scratch = c->scratch;
    void *user[3], *used[3];
    for (int i = 0; i < 2; i++) user[s->input[i]] = c->in[i];
    user[s->output] = c->out[0];
    cpu_clear_run(&c->device->team, c->out[0], s->zeros);
    if (s->flip) {
        cpu_move_run(&c->device->team, &s->flip_move, scratch + s->flip_at, c->in[1]);
        user[s->input[1]] = scratch + s->flip_at;
    }
    for (int i = 0; i < 3; i++) {
        used[i] = s->reorder[i].primitive ? scratch + s->at[i] : user[i];
        if (s->reorder[i].primitive && i != s->output)
            XT_TRY(dnnl_prim_run(&s->reorder[i], c->device, (void *[]){user[i], used[i]}, scratch + s->reorder_scratch_at));
    }
    XT_TRY(dnnl_prim_run(&s->prim, c->device, used, scratch + s->prim_scratch_at));
    int o = s->output;
    if (s->plain && o != WEI && !is_finite(s, &c->device->team, used[o])) return conv_plain_run(s->plain, c);
    if (s->reorder[o].primitive) XT_TRY(dnnl_prim_run(&s->reorder[o], c->device, (void *[]){used[o], user[o]}, scratch + s->reorder_scratch_at));
    return s->plain && o == WEI ? conv_plain_unless_finite(s->plain, c) : NULL;
}
static const cpu_kernel conv_forward_kernel = {"onednn-conv", conv_run, conv_free, .onednn = true};
static const cpu_kernel conv_data_kernel = {"onednn-conv-data", conv_run, conv_free, .onednn = true};
static const cpu_kernel conv_weights_kernel = {"onednn-conv-weights", conv_run, conv_free, .onednn = true};
static const cpu_kernel wino_forward_kernel = {"winograd-conv", conv_run, conv_free, .onednn = true};
static const cpu_kernel wino_data_kernel = {"winograd-conv-data", conv_run, conv_free, .onednn = true};
static const cpu_kernel wino_weights_kernel = {"winograd-conv-weights", conv_run, conv_free, .onednn = true};

/* --- descriptors ------------------------------------------------------------------------------------------------------------------ */
typedef struct conv_desc {
    conv_form form;
    dnnl_memory_desc_t md[3];
    dnnl_dims_t strides, dilates, pad_l, pad_r;
    int input[2], output;
} conv_desc;

/* [a, b, spatial...] of an array, by dim numbers. */
static bool tensor_desc(dnnl_memory_desc_t *md, const ir_type *t, const view *v, int64_t a, int64_t b, const int64_t *spatial, int n) {
    dnnl_data_type_t type;
    dnnl_dims_t d = {t->dims[a], t->dims[b]}, s = {v->strides[a], v->strides[b]};
    for (int i = 0; i < n; i++) d[2 + i] = t->dims[spatial[i]], s[2 + i] = v->strides[spatial[i]];
    return dnnl_type_of(t->dtype, &type) && dnnl_memory_desc_init_by_strides(md, 2 + n, d, type, s) == dnnl_success;
}
/* [groups, o/groups, i, spatial...]: the output features are in group order. `o_first`: which of the two kernel dims is split. */
static bool kernel_desc(dnnl_memory_desc_t *md, const ir_type *t, const view *v, int64_t o, int64_t i_dim, const int64_t *spatial, int n,
                        int64_t groups, bool split_o) {
    if (groups == 1) return tensor_desc(md, t, v, o, i_dim, spatial, n);
    dnnl_data_type_t type;
    int64_t split = split_o ? o : i_dim, per = t->dims[split] / groups;
    dnnl_dims_t d = {groups, split_o ? per : t->dims[o], split_o ? t->dims[i_dim] : per};
    dnnl_dims_t s = {v->strides[split] * per, v->strides[o], v->strides[i_dim]};
    for (int i = 0; i < n; i++) d[3 + i] = t->dims[spatial[i]], s[3 + i] = v->strides[spatial[i]];
    return dnnl_type_of(t->dtype, &type) && dnnl_memory_desc_init_by_strides(md, 3 + n, d, type, s) == dnnl_success;
}

/* The right padding with which `in` positions give exactly `out` windows; what a window never reaches is not padded. */
static bool right_padding(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dil, int64_t left, int64_t *right) {
    int64_t reach = (kernel - 1) * dil + 1, need = (out - 1) * stride + reach - in - left;
    *right = need > 0 ? need : 0;
    return in + left + *right >= reach && (in + left + *right - reach) / stride + 1 == out;
}

static bool all_ones(const int64_t *v, int n) {
    for (int i = 0; i < n; i++)
        if (v[i] != 1) return false;
    return true;
}

static bool as_forward(const conv *c, conv_desc *d) {
    if (!all_ones(c->lhs_dil, c->n) || c->batch_groups != 1) return false;
    for (int i = 0; i < c->n; i++) {
        d->strides[i] = c->stride[i];
        d->dilates[i] = c->rhs_dil[i] - 1;
        d->pad_l[i] = c->low[i];
        if (c->low[i] < 0 || c->high[i] < 0) return false;
        if (!right_padding(c->lhs->dims[c->lhs_s[i]], c->out->dims[c->out_s[i]], c->rhs->dims[c->rhs_s[i]], c->stride[i], c->rhs_dil[i], c->low[i],
                           &d->pad_r[i]))
            return false;
    }
    d->form = CONV_FORWARD;
    d->input[0] = SRC, d->input[1] = WEI, d->output = DST;
    return tensor_desc(&d->md[SRC], c->lhs, &c->lv, c->lhs_b, c->lhs_f, c->lhs_s, c->n) &&
           kernel_desc(&d->md[WEI], c->rhs, &c->rv, c->rhs_o, c->rhs_i, c->rhs_s, c->n, c->groups, true) &&
           tensor_desc(&d->md[DST], c->out, &c->ov, c->out_b, c->out_f, c->out_s, c->n);
}

/* The kernel must come turned around already (or be turned back by the caller). */
static bool as_data(const conv *c, conv_desc *d) {
    if (!all_ones(c->stride, c->n) || c->batch_groups != 1) return false;
    for (int i = 0; i < c->n; i++) {
        int64_t k = c->rhs->dims[c->rhs_s[i]];
        d->strides[i] = c->lhs_dil[i];
        d->dilates[i] = c->rhs_dil[i] - 1;
        d->pad_l[i] = (k - 1) * c->rhs_dil[i] - c->low[i];
        if (d->pad_l[i] < 0) return false;
        if (!right_padding(c->out->dims[c->out_s[i]], c->lhs->dims[c->lhs_s[i]], k, c->lhs_dil[i], c->rhs_dil[i], d->pad_l[i], &d->pad_r[i]))
            return false;
    }
    d->form = CONV_DATA;
    d->input[0] = DST, d->input[1] = WEI, d->output = SRC;
    return tensor_desc(&d->md[DST], c->lhs, &c->lv, c->lhs_b, c->lhs_f, c->lhs_s, c->n) &&
           kernel_desc(&d->md[WEI], c->rhs, &c->rv, c->rhs_i, c->rhs_o, c->rhs_s, c->n, c->groups, false) &&
           tensor_desc(&d->md[SRC], c->out, &c->ov, c->out_b, c->out_f, c->out_s, c->n);
}

static bool as_weights(const conv *c, conv_desc *d) {
    int64_t window = 1, result = 1, image = 1;
    if (!all_ones(c->lhs_dil, c->n) || c->groups != 1) return false;
    for (int i = 0; i < c->n; i++) {
        window *= c->rhs->dims[c->rhs_s[i]];
        result *= c->out->dims[c->out_s[i]];
        image *= c->lhs->dims[c->lhs_s[i]];
        d->strides[i] = c->rhs_dil[i];
        d->dilates[i] = c->stride[i] - 1;
        d->pad_l[i] = c->low[i];
        if (c->low[i] < 0) return false;
        if (!right_padding(c->lhs->dims[c->lhs_s[i]], c->rhs->dims[c->rhs_s[i]], c->out->dims[c->out_s[i]], c->rhs_dil[i], c->stride[i], c->low[i],
                           &d->pad_r[i]))
            return false;
    }
    /* Any such convolution is a forward one as well. Programs that mean the gradient read the batch of an image tensor as features, so the
     * feature dim comes first; otherwise only a window far larger than the result, and not larger than the image, speaks for it. */
    bool meant = c->lhs_f == 0 || c->batch_groups > 1 || (window > 8 * result && window <= image);
    if (!meant) return false;
    d->form = CONV_WEIGHTS;
    d->input[0] = SRC, d->input[1] = DST, d->output = WEI;
    return tensor_desc(&d->md[SRC], c->lhs, &c->lv, c->lhs_f, c->lhs_b, c->lhs_s, c->n) &&
           tensor_desc(&d->md[DST], c->rhs, &c->rv, c->rhs_i, c->rhs_o, c->rhs_s, c->n) &&
           kernel_desc(&d->md[WEI], c->out, &c->ov, c->out_f, c->out_b, c->out_s, c->n, c->batch_groups, true);
}

/* Leaves out what of the kernel only ever meets padding: on small images that is most of it. False: nothing to leave out. */
static bool crop_kernel(conv_desc *d) {
    dnnl_memory_desc_t *w = &d->md[WEI], part;
    int n = d->md[SRC].ndims - 2, first = w->ndims - n;
    dnnl_dims_t dims, at = {0};
    conv_desc cropped = *d;
    memcpy(dims, w->dims, sizeof dims);
    for (int i = 0; i < n; i++) {
        int64_t in = d->md[SRC].dims[2 + i], out = d->md[DST].dims[2 + i], begin = d->pad_l[i] - (out - 1) * d->strides[i], end = in + d->pad_l[i];
        if (d->dilates[i] != 0) continue;
        at[first + i] = begin > 0 ? begin : 0;
        dims[first + i] = (end < dims[first + i] ? end : dims[first + i]) - at[first + i];
        cropped.pad_l[i] -= at[first + i];
        if (dims[first + i] < 1 || !right_padding(in, out, dims[first + i], d->strides[i], 1, cropped.pad_l[i], &cropped.pad_r[i])) return false;
    }
    if (memcmp(dims, w->dims, sizeof dims) == 0 || dnnl_memory_desc_init_submemory(&part, w, dims, at) != dnnl_success) return false;
    *d = cropped;
    *w = part;
    return true;
}

/* --- Winograd ------------------------------------------------------------------------------------------------------------------------ */
typedef enum wino_wish { WINO_ON, WINO_OFF, WINO_ALWAYS } wino_wish;
static wino_wish winograd_wish(void) {
    static const char *const wishes[] = {"on", "off", "always"};
    return (wino_wish)env_choice("XT_CPU_WINOGRAD", BASE_COUNT(wishes), wishes);
}

/* The same problem for kernel_wino.c. */
static bool wino_of(const conv_desc *d, wino_problem *p) {
    const dnnl_memory_desc_t *in = &d->md[d->form == CONV_DATA ? DST : SRC], *out = &d->md[d->form == CONV_DATA ? SRC : DST], *w = &d->md[WEI];
    const int64_t *step = w->format_desc.blocking.strides;
    bool data = d->form == CONV_DATA;
    *p = (wino_problem){.form = data ? WINO_DATA : d->form == CONV_FORWARD ? WINO_FORWARD : WINO_WEIGHTS,
                        .n = in->dims[0],
                        .in = {in->dims[1], in->dims[2], in->dims[3]},
                        .out = {out->dims[1], out->dims[2], out->dims[3]},
                        .y0 = data ? d->pad_l[0] - 2 : -d->pad_l[0],
                        .x0 = data ? d->pad_l[1] - 2 : -d->pad_l[1],
                        .out_step = step[data],
                        .in_step = step[!data],
                        .tap_step = {step[2], step[3]}};
    return w->ndims == 4 && w->format_kind == dnnl_blocked;
}

/* The same problem for kernel_taps.c; where oneDNN is not faster: windows that move by more than one pixel, or have one tap, and few pixels. */
static bool taps_of(const conv_desc *d, taps_problem *p) {
    const dnnl_memory_desc_t *src = &d->md[SRC], *dst = &d->md[DST], *w = &d->md[WEI];
    const int64_t *step = w->format_desc.blocking.strides;
    if (d->form != CONV_WEIGHTS || src->ndims != 4 || w->ndims != 4 || src->data_type != dnnl_bf16 || w->format_kind != dnnl_blocked) return false;
    bool moves = d->strides[0] > 1 && d->strides[1] > 1, one = w->dims[2] == 1 && w->dims[3] == 1;
    bool little = dst->dims[0] * dst->dims[2] * dst->dims[3] <= 512;
    if (d->dilates[0] || d->dilates[1] || src->dims[1] < 64 || !(moves || one || little)) return false;
    *p = (taps_problem){.n = src->dims[0],
                        .in = {src->dims[1], src->dims[2], src->dims[3]},
                        .out = {dst->dims[1], dst->dims[2], dst->dims[3]},
                        .size = {w->dims[2], w->dims[3]},
                        .stride = {d->strides[0], d->strides[1]},
                        .low = {d->pad_l[0], d->pad_l[1]},
                        .w_at = w->offset0,
                        .w_step = {step[0], step[1], step[2], step[3]}};
    return cpu_taps_fits(p);
}

/* Where F(4x4,3x3) of f32 (oneDNN's) and F(2x2,3x3) of bf16 (kernel_wino.c) are taken: a rule on shapes, from measurements (bench/conv_bench), never from a clock, so a program computes the same bits on
 * every run. It wants enough features for its matrix products and images that tiles cover well. */
static bool winograd_is_meant(const conv_desc *d) {
    const dnnl_memory_desc_t *src = &d->md[SRC], *wei = &d->md[WEI], *dst = &d->md[DST];
    if (src->ndims != 4 || wei->ndims != 4 || winograd_wish() == WINO_OFF) return false;
    for (int i = 0; i < 2; i++)
        if (wei->dims[2 + i] != 3 || d->strides[i] != 1 || d->dilates[i] != 0 || d->pad_l[i] > 1 || d->pad_r[i] > 1) return false;
    if (src->dims[1] % 16 || dst->dims[1] % 16) return false;
    wino_problem p;
    bool half = src->data_type == dnnl_bf16, even = true;
    for (int i = 0; i < 2; i++) even = even && d->pad_l[i] == d->pad_l[0] && d->pad_r[i] == d->pad_l[0];
    if (!half && !even) return false; /* oneDNN 2.6.3 takes gradients of uneven padding, and gets them wrong */
    if (half && (!wino_of(d, &p) || !cpu_wino_fits(&p))) return false;
    if (winograd_wish() == WINO_ALWAYS) return true;
    int64_t side = half ? 2 : 4, rows = (dst->dims[2] + side - 1) / side, cols = (dst->dims[3] + side - 1) / side;
    double filled = (double)(dst->dims[2] * dst->dims[3]) / (double)(side * side * rows * cols);
    return src->dims[1] >= 32 && dst->dims[1] >= 32 && rows * cols * src->dims[0] >= 64 && filled >= 0.75;
}

/* --- primitives ---------------------------------------------------------------------------------------------------------------------- */
static dnnl_status_t form_desc(const conv_desc *d, conv_form form, dnnl_alg_kind_t algorithm, const dnnl_memory_desc_t md[3],
                               dnnl_convolution_desc_t *out) {
    switch (form) {
    case CONV_FORWARD:
        return dnnl_dilated_convolution_forward_desc_init(out, dnnl_forward_training, algorithm, &md[SRC], &md[WEI], NULL, &md[DST],
                                                          d->strides, d->dilates, d->pad_l, d->pad_r);
    case CONV_DATA:
        return dnnl_dilated_convolution_backward_data_desc_init(out, algorithm, &md[SRC], &md[WEI], &md[DST], d->strides, d->dilates,
                                                                d->pad_l, d->pad_r);
    default:
        return dnnl_dilated_convolution_backward_weights_desc_init(out, algorithm, &md[SRC], &md[WEI], NULL, &md[DST], d->strides,
                                                                   d->dilates, d->pad_l, d->pad_r);
    }
}

typedef struct candidate {
    dnnl_prim prim;
    dnnl_memory_desc_t used[3];
    double seconds; /* estimate */
    bool ok, winograd;
} candidate;

/* What a primitive costs, roughly, in flops a second of one core: oneDNN's kernels for wide vectors run at more than twice the speed of its
 * im2col + matrix product and of its narrow kernels, and a reorder moves memory. Only the order of the candidates matters. */
static double estimate(const conv_desc *d, const candidate *c, const char *impl, double flops, int threads) {
    bool wide = strstr(impl, "avx512") || strstr(impl, "brg") || strstr(impl, "amx") || strstr(impl, "sve");
    double s = flops / ((strstr(impl, "wino") ? 200e9 : wide ? 110e9 : 45e9) * threads);
    for (int i = 0; i < 3; i++)
        if (!dnnl_memory_desc_equal(&d->md[i], &c->used[i]))
            s += 2e-6 + (double)(dnnl_memory_desc_get_size(&d->md[i]) + dnnl_memory_desc_get_size(&c->used[i])) / (20e9 * threads);
    return s;
}

/* Ways of laying the operands out; oneDNN always chooses the kernel's. */
typedef enum conv_layout { LAYOUT_GIVEN, LAYOUT_ANY, LAYOUT_CHANNELS_LAST, LAYOUT_WINOGRAD } conv_layout;
static void lay_out(dnnl_memory_desc_t *md, int tensor, conv_layout layout) {
    static const dnnl_format_tag_t last[6] = {[3] = dnnl_nwc, [4] = dnnl_nhwc, [5] = dnnl_ndhwc};
    dnnl_format_tag_t tag = tensor == WEI || layout == LAYOUT_ANY || layout == LAYOUT_WINOGRAD ? dnnl_format_tag_any
                            : layout == LAYOUT_CHANNELS_LAST      ? last[md->ndims]
                                                                  : dnnl_format_tag_undef;
    if (tag == dnnl_format_tag_undef) return;
    dnnl_memory_desc_t given = *md;
    dnnl_memory_desc_init_by_tag(md, given.ndims, given.dims, given.data_type, tag);
}

static xt_status try_layout(const conv_desc *d, conv_layout layout, double flops, int threads, candidate *out) {
    static const int args[3][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                   {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                   {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    static const dnnl_query_t queries[3][3] = {{dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
                                               {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
                                               {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md}};
    dnnl_memory_desc_t md[3];
    dnnl_convolution_desc_t forward, desc;
    dnnl_primitive_desc_t hint = NULL, pd = NULL;
    xt_status s = NULL;
    dnnl_alg_kind_t algorithm = layout == LAYOUT_WINOGRAD ? dnnl_convolution_winograd : dnnl_convolution_direct;
    *out = (candidate){0};
    if (layout == LAYOUT_WINOGRAD && (d->md[SRC].data_type != dnnl_f32 || !winograd_is_meant(d))) return NULL;
    for (int i = 0; i < 3; i++) {
        md[i] = d->md[i];
        lay_out(&md[i], i, layout);
    }
    if (form_desc(d, d->form, algorithm, md, &desc) != dnnl_success) return NULL;
    if (d->form != CONV_FORWARD) { /* the backward primitives want to see the forward one */
        if (form_desc(d, CONV_FORWARD, algorithm, md, &forward) != dnnl_success) return NULL;
        if (dnnl_primitive_desc_create(&hint, &forward, NULL, dnnl_util_engine(), NULL) != dnnl_success) return NULL;
    }
    s = dnnl_prim_make(&desc, hint, threads, &out->prim, &pd, &out->ok);
    if (out->ok) {
        const char *impl = "";
        dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl);
        for (int i = 0; i < 3; i++) {
            out->used[i] = *dnnl_primitive_desc_query_md(pd, queries[d->form][i], 0);
            dnnl_prim_add(&out->prim, args[d->form][i], &out->used[i]);
        }
        out->winograd = layout == LAYOUT_WINOGRAD;
        out->seconds = estimate(d, out, impl, flops, threads);
        dnnl_primitive_desc_destroy(pd);
    }
    if (hint) dnnl_primitive_desc_destroy(hint);
    return s;
}

static xt_status choose(const conv_desc *d, conv_layout last, double flops, int threads, candidate *out) {
    *out = (candidate){0};
    for (int layout = LAYOUT_GIVEN; layout <= (int)last; layout++) {
        candidate c;
        xt_status s = try_layout(d, (conv_layout)layout, flops, threads, &c);
        if (s || !c.ok || (out->ok && out->seconds <= c.seconds)) {
            dnnl_prim_free(&c.prim);
            if (s) dnnl_prim_free(&out->prim);
            XT_TRY(s);
            continue;
        }
        dnnl_prim_free(&out->prim);
        *out = c;
    }
    return NULL;
}

static size_t align_up(size_t n) {
    return (n + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

/* Reorders and scratch of the chosen candidate; takes its primitive over. */
static xt_status finish(conv_state *s, const conv_desc *d, candidate *c, int threads, size_t *scratch, bool *out_ok) {
    size_t reorder_scratch = 0;
    s->prim = c->prim;
    s->winograd = c->winograd;
    c->prim.primitive = NULL;
    memcpy(s->input, d->input, sizeof s->input);
    s->output = d->output;
    *out_ok = true;
    for (int i = 0; i < 3 && *out_ok; i++) {
        if (dnnl_memory_desc_equal(&d->md[i], &c->used[i])) continue;
        bool out = i == d->output;
        XT_TRY(dnnl_reorder_make(out ? &c->used[i] : &d->md[i], out ? &d->md[i] : &c->used[i], threads, &s->reorder[i], out_ok));
        s->at[i] = *scratch;
        *scratch += align_up(dnnl_memory_desc_get_size(&c->used[i]));
        if (s->reorder[i].scratch_bytes > reorder_scratch) reorder_scratch = s->reorder[i].scratch_bytes;
    }
    s->reorder_scratch_at = *scratch;
    *scratch += align_up(reorder_scratch);
    s->prim_scratch_at = *scratch;
    *scratch += s->prim.scratch_bytes;
    return NULL;
}

/* --- without Winograd ---------------------------------------------------------------------------------------------------------------- */
struct conv_plain {
    conv_desc desc;
    conv_state begun; /* what comes before the primitive, as in the state that it stands in for */
    size_t scratch; /* of that */
    double flops;
    int threads;
    pthread_mutex_t lock;
    conv_state *state; /* NULL: not wanted so far */
    size_t all_scratch;
};

static xt_status plain_new(const conv_desc *d, const conv_state *begun, size_t scratch, double flops, int threads, conv_plain **out) {
    conv_plain *p = *out = base_calloc(1, sizeof *p);
    if (!p) return status_oom(sizeof *p, "a plan");
    p->desc = *d;
    p->begun = *begun;
    p->scratch = scratch;
    p->flops = flops;
    p->threads = threads;
    pthread_mutex_init(&p->lock, NULL);
    return NULL;
}

static xt_status plain_make(conv_plain *p) {
    candidate best;
    conv_state *s = base_malloc(sizeof *s);
    bool ok = false;
    if (!s) return status_oom(sizeof *s, "a direct convolution");
    *s = p->begun;
    p->all_scratch = p->scratch;
    xt_status st = choose(&p->desc, LAYOUT_CHANNELS_LAST, p->flops, p->threads, &best);
    if (!st && best.ok) st = finish(s, &p->desc, &best, p->threads, &p->all_scratch, &ok);
    if (!st && !ok) st = status_new(XT_INTERNAL, NULL, "oneDNN has no direct convolution for what it computes by Winograd's algorithm");
    if (st)
        conv_free(s);
    else
        p->state = s;
    return st;
}

xt_status conv_plain_run(conv_plain *p, const cpu_call *c) {
    cpu_thunk thunk = *c->thunk;
    cpu_call again = *c;
    pthread_mutex_lock(&p->lock);
    xt_status s = p->state ? NULL : plain_make(p);
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

xt_status conv_plain_unless_finite(conv_plain *p, const cpu_call *c) {
    const dnnl_memory_desc_t *w = &p->desc.md[WEI];
    const char *taps = (const char *)c->out[0] + w->offset0 * (int64_t)dnnl_data_type_size(w->data_type); /* of a kernel that was cropped */
    bool finite = conv_kernel_is_finite(taps, w->data_type == dnnl_bf16, w->dims, w->format_desc.blocking.strides);
    return finite ? NULL : conv_plain_run(p, c);
}

void conv_plain_free(conv_plain *p) {
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
    if (plain && as_data(c, d)) { /* the program turns the kernel around just for us */
        *kernel = plain;
        return true;
    }
    if (straight && as_weights(c, d)) return true;
    if (straight && as_forward(c, d)) return true;
    if (reversed && as_data(c, d)) return true;
    bool usable = straight ? as_data(c, d) : as_forward(c, d);
    if (usable) flip_kernel(c, s, scratch);
    return usable;
}

/* An image's dims by role: batch first, then features, and space in order. */
static bool is_image(const conv *c, const ir_type *t, int64_t batch, int64_t feature, const int64_t *space) {
    return c->n == 2 && t->rank == 4 && batch == 0 && (feature == 1 || feature == 3) && space[0] == (feature == 1 ? 2 : 1) && space[1] == space[0] + 1;
}

bool conv_images(const ir_op *op, int out_feature[3], double *out_winograd_flops) {
    conv c = {0};
    conv_desc d = {0};
    conv_state unused = {0};
    size_t scratch = 0;
    const ir_value *kernel = op->in[1];
    if (!conv_read(op, &c) || c.lhs->dtype != c.rhs->dtype || c.groups != 1 || c.batch_groups != 1 || !find_form(&c, &kernel, &unused, &scratch, &d))
        return false;
    memset(out_feature, 0, 3 * sizeof *out_feature);
    if (d.form == CONV_WEIGHTS) { /* batch and features have changed roles */
        out_feature[0] = is_image(&c, c.lhs, c.lhs_f, c.lhs_b, c.lhs_s) ? (int)c.lhs_b + 1 : 0;
        out_feature[1] = is_image(&c, c.rhs, c.rhs_i, c.rhs_o, c.rhs_s) ? (int)c.rhs_o + 1 : 0;
    } else {
        out_feature[0] = is_image(&c, c.lhs, c.lhs_b, c.lhs_f, c.lhs_s) ? (int)c.lhs_f + 1 : 0;
        out_feature[2] = is_image(&c, c.out, c.out_b, c.out_f, c.out_s) ? (int)c.out_f + 1 : 0;
    }
    *out_winograd_flops = winograd_is_meant(&d) ? cpu_op_flops(op) : 0;
    return true;
}

/* The descriptor of an image that the layout pass has chosen to block. */
static bool lie_blocked(dnnl_memory_desc_t *md, int tensor, int feature) {
    if (tensor == WEI || feature < 0) return false;
    dnnl_memory_desc_t given = *md;
    return dnnl_memory_desc_init_by_tag(md, 4, given.dims, given.data_type, dnnl_nChw16c) == dnnl_success;
}

CPU_LOWER(convolution) {
    static const cpu_kernel *const kernels[] = {&conv_forward_kernel,  &conv_data_kernel,     &conv_weights_kernel,
                                               &wino_forward_kernel, &wino_data_kernel, &wino_weights_kernel};
    conv c = {0};
    conv_desc d = {0};
    candidate best;
    size_t scratch = 0;
    if (!conv_read(op, &c) || c.lhs->dtype != c.rhs->dtype) return NULL;
    XT_TRY(cpu_lower_lanes(b, op, &c, out_done));
    if (*out_done) return NULL;
    conv_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    const ir_value *in[2] = {op->in[0], op->in[1]};
    int threads = cpu_build_threads(b);
    bool ok = find_form(&c, &in[1], s, &scratch, &d);
    bool cropped = ok && crop_kernel(&d);
    if (cropped && d.output == WEI) s->zeros = ir_type_bytes(c.out);
    uint64_t in_blocked = 0;
    for (int i = 0; i < 2 && ok; i++)
        if (lie_blocked(&d.md[d.input[i]], d.input[i], layout_feature(b, in[i]))) in_blocked |= 1u << i;
    bool out_blocked = ok && lie_blocked(&d.md[d.output], d.output, layout_feature(b, &op->out[0]));
    wino_problem problem;
    bool both = ok && (d.form == CONV_WEIGHTS ? in_blocked == 3 : in_blocked == 1 && out_blocked);
    double flops = cpu_op_flops(op);
    if (both && !s->flip && !cropped && d.md[SRC].data_type == dnnl_bf16 && winograd_is_meant(&d) && wino_of(&d, &problem)) {
        xt_status made = plain_new(&d, s, scratch, flops, threads, &problem.plain);
        conv_free(s);
        *out_done = !made;
        return made ? made : cpu_build_wino(b, &problem, op, in);
    }
    taps_problem taps;
    if (both && !s->flip && taps_of(&d, &taps)) {
        taps.zeros = s->zeros;
        conv_free(s);
        *out_done = true;
        return cpu_build_taps(b, &taps, op, in);
    }
    xt_status st = ok ? choose(&d, LAYOUT_WINOGRAD, flops, threads, &best) : NULL;
    ok = ok && !st && best.ok;
    const conv_state begun = *s;
    size_t before = scratch;
    if (ok) st = finish(s, &d, &best, threads, &scratch, &ok);
    if (ok && !st && s->winograd) st = plain_new(&d, &begun, before, flops, threads, &s->plain);
    if (st || !ok) {
        conv_free(s);
        return st;
    }
    *out_done = true;
    cpu_thunk_desc t = {
        .kernel = kernels[s->winograd ? 3 + d.form : d.form], .op = op, .n_in = 2, .in = in, .n_out = 1, .scratch_bytes = scratch, .state = s, .flops = flops};
    t.in_blocked = in_blocked;
    t.out_blocked = out_blocked;
    return cpu_build_thunk(b, &t);
}
