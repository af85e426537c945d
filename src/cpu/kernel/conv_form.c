/* See conv_form.h. */
#include "cpu/kernel/conv_form.h"
#include "cpu/vector/wino.h"

/* [a, b, spatial...] of an array, by dim numbers. */
static bool tensor_desc(dnnl_memory_desc_t *md, const ir_type *t, const view *v, int64_t a, int64_t b,
                        const int64_t *spatial, int n) {
    dnnl_data_type_t type;
    dnnl_dims_t d = {t->dims[a], t->dims[b]}, s = {v->strides[a], v->strides[b]};
    for (int i = 0; i < n; i++) d[2 + i] = t->dims[spatial[i]], s[2 + i] = v->strides[spatial[i]];
    return dnnl_type_of(t->dtype, &type) && dnnl_memory_desc_init_by_strides(md, 2 + n, d, type, s) == dnnl_success;
}
/* [groups, o/groups, i, spatial...]: the output features are in group order. `o_first`: which of the two kernel
 * dims is split. */
static bool kernel_desc(dnnl_memory_desc_t *md, const ir_type *t, const view *v, int64_t o, int64_t i_dim,
                        const int64_t *spatial, int n, int64_t groups, bool split_o) {
    if (groups == 1) return tensor_desc(md, t, v, o, i_dim, spatial, n);
    dnnl_data_type_t type;
    int64_t split = split_o ? o : i_dim, per = t->dims[split] / groups;
    dnnl_dims_t d = {groups, split_o ? per : t->dims[o], split_o ? t->dims[i_dim] : per};
    dnnl_dims_t s = {v->strides[split] * per, v->strides[o], v->strides[i_dim]};
    for (int i = 0; i < n; i++) d[3 + i] = t->dims[spatial[i]], s[3 + i] = v->strides[spatial[i]];
    return dnnl_type_of(t->dtype, &type) && dnnl_memory_desc_init_by_strides(md, 3 + n, d, type, s) == dnnl_success;
}

/* The right padding with which `in` positions give exactly `out` windows; what a window never reaches is not padded. */
static bool right_padding(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dil, int64_t left,
                          int64_t *right) {
    int64_t reach = (kernel - 1) * dil + 1, need = (out - 1) * stride + reach - in - left;
    *right = need > 0 ? need : 0;
    return in + left + *right >= reach && (in + left + *right - reach) / stride + 1 == out;
}

static bool all_ones(const int64_t *v, int n) {
    for (int i = 0; i < n; i++)
        if (v[i] != 1) return false;
    return true;
}

bool conv_as_forward(const conv *c, conv_desc *d) {
    if (!all_ones(c->lhs_dil, c->n) || c->batch_groups != 1) return false;
    for (int i = 0; i < c->n; i++) {
        d->strides[i] = c->stride[i];
        d->dilates[i] = c->rhs_dil[i] - 1;
        d->pad_l[i] = c->low[i];
        if (c->low[i] < 0 || c->high[i] < 0) return false;
        if (!right_padding(c->lhs->dims[c->lhs_s[i]], c->out->dims[c->out_s[i]], c->rhs->dims[c->rhs_s[i]],
                           c->stride[i], c->rhs_dil[i], c->low[i], &d->pad_r[i]))
            return false;
    }
    d->form = CONV_FORWARD;
    d->input[0] = SRC, d->input[1] = WEI, d->output = DST;
    return tensor_desc(&d->md[SRC], c->lhs, &c->lv, c->lhs_b, c->lhs_f, c->lhs_s, c->n) &&
           kernel_desc(&d->md[WEI], c->rhs, &c->rv, c->rhs_o, c->rhs_i, c->rhs_s, c->n, c->groups, true) &&
           tensor_desc(&d->md[DST], c->out, &c->ov, c->out_b, c->out_f, c->out_s, c->n);
}

bool conv_as_data(const conv *c, conv_desc *d) {
    if (!all_ones(c->stride, c->n) || c->batch_groups != 1) return false;
    for (int i = 0; i < c->n; i++) {
        int64_t k = c->rhs->dims[c->rhs_s[i]];
        d->strides[i] = c->lhs_dil[i];
        d->dilates[i] = c->rhs_dil[i] - 1;
        d->pad_l[i] = (k - 1) * c->rhs_dil[i] - c->low[i];
        if (d->pad_l[i] < 0) return false;
        if (!right_padding(c->out->dims[c->out_s[i]], c->lhs->dims[c->lhs_s[i]], k, c->lhs_dil[i], c->rhs_dil[i],
                           d->pad_l[i], &d->pad_r[i]))
            return false;
    }
    d->form = CONV_DATA;
    d->input[0] = DST, d->input[1] = WEI, d->output = SRC;
    return tensor_desc(&d->md[DST], c->lhs, &c->lv, c->lhs_b, c->lhs_f, c->lhs_s, c->n) &&
           kernel_desc(&d->md[WEI], c->rhs, &c->rv, c->rhs_i, c->rhs_o, c->rhs_s, c->n, c->groups, false) &&
           tensor_desc(&d->md[SRC], c->out, &c->ov, c->out_b, c->out_f, c->out_s, c->n);
}

bool conv_as_weights(const conv *c, conv_desc *d) {
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
        if (!right_padding(c->lhs->dims[c->lhs_s[i]], c->rhs->dims[c->rhs_s[i]], c->out->dims[c->out_s[i]],
                           c->rhs_dil[i], c->stride[i], c->low[i], &d->pad_r[i]))
            return false;
    }
    /* Any such convolution is a forward one as well. Programs that mean the gradient read the batch of an image tensor
     * as features, so the feature dim comes first; otherwise only a window far larger than the result, and not larger
     * than the image, speaks for it. */
    bool meant = c->lhs_f == 0 || c->batch_groups > 1 || (window > 8 * result && window <= image);
    if (!meant) return false;
    d->form = CONV_WEIGHTS;
    d->input[0] = SRC, d->input[1] = DST, d->output = WEI;
    return tensor_desc(&d->md[SRC], c->lhs, &c->lv, c->lhs_f, c->lhs_b, c->lhs_s, c->n) &&
           tensor_desc(&d->md[DST], c->rhs, &c->rv, c->rhs_i, c->rhs_o, c->rhs_s, c->n) &&
           kernel_desc(&d->md[WEI], c->out, &c->ov, c->out_f, c->out_b, c->out_s, c->n, c->batch_groups, true);
}

bool conv_crop_kernel(conv_desc *d) {
    dnnl_memory_desc_t *w = &d->md[WEI], part;
    int n = d->md[SRC].ndims - 2, first = w->ndims - n;
    dnnl_dims_t dims, at = {0};
    conv_desc cropped = *d;
    memcpy(dims, w->dims, sizeof dims);
    for (int i = 0; i < n; i++) {
        int64_t in = d->md[SRC].dims[2 + i], out = d->md[DST].dims[2 + i],
                begin = d->pad_l[i] - (out - 1) * d->strides[i], end = in + d->pad_l[i];
        if (d->dilates[i] != 0) continue;
        at[first + i] = begin > 0 ? begin : 0;
        dims[first + i] = (end < dims[first + i] ? end : dims[first + i]) - at[first + i];
        cropped.pad_l[i] -= at[first + i];
        if (dims[first + i] < 1 ||
            !right_padding(in, out, dims[first + i], d->strides[i], 1, cropped.pad_l[i], &cropped.pad_r[i]))
            return false;
    }
    if (memcmp(dims, w->dims, sizeof dims) == 0 || dnnl_memory_desc_init_submemory(&part, w, dims, at) != dnnl_success)
        return false;
    *d = cropped;
    *w = part;
    return true;
}

/* --- Winograd --- */
typedef enum wino_wish { WINO_ON, WINO_OFF, WINO_ALWAYS } wino_wish;
static wino_wish winograd_wish(void) {
    static const char *const wishes[] = {"on", "off", "always"};
    return (wino_wish)env_choice("XT_CPU_WINOGRAD", BASE_COUNT(wishes), wishes);
}

/* On this processor, with these features. */
static bool conv_wgrad_fits(const conv_wgrad_problem *p) {
    return wino_get() && p->in[0] % 16 == 0 && p->out[0] % WINO_COLUMNS == 0;
}

/* On this processor, with these features; of f32 as far as gathers reach. */
static bool wino_fits(const wino_problem *p) {
    if (p->half)
        return wino_get() && p->in.c % WINO_COLUMNS == 0 && p->out.c % WINO_COLUMNS == 0 && p->tap_step[0] == 3 &&
               p->tap_step[1] == 1;
    return wino_get_f32() && p->in.c % 16 == 0 && p->out.c % 16 == 0 && p->out_step * 16 <= INT32_MAX;
}

bool conv_wino_of(const conv_desc *d, wino_problem *p) {
    const dnnl_memory_desc_t *in = &d->md[d->form == CONV_DATA ? DST : SRC],
                             *out = &d->md[d->form == CONV_DATA ? SRC : DST], *w = &d->md[WEI];
    const int64_t *step = w->format_desc.blocking.strides;
    bool data = d->form == CONV_DATA;
    *p = (wino_problem){.form = data                      ? WINO_DATA
                                : d->form == CONV_FORWARD ? WINO_FORWARD
                                                          : WINO_WEIGHTS,
                        .half = in->data_type == dnnl_bf16,
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

/* bf16 on a processor with AMX: direct convolutions by tiles take a third of the time of our own products by vectors.
 */
static bool tiles_are_better(void) {
    return dnnl_util_has_tiles() && winograd_wish() != WINO_ALWAYS;
}

/* Where oneDNN is not faster: windows that move by more than one pixel, or have one tap, and few pixels. */
bool conv_wgrad_of(const conv_desc *d, conv_wgrad_problem *p) {
    const dnnl_memory_desc_t *src = &d->md[SRC], *dst = &d->md[DST], *w = &d->md[WEI];
    const int64_t *step = w->format_desc.blocking.strides;
    if (d->form != CONV_WEIGHTS || src->ndims != 4 || w->ndims != 4 || src->data_type != dnnl_bf16 ||
        w->format_kind != dnnl_blocked || tiles_are_better())
        return false;
    bool moves = d->strides[0] > 1 && d->strides[1] > 1, one = w->dims[2] == 1 && w->dims[3] == 1;
    bool little = dst->dims[0] * dst->dims[2] * dst->dims[3] <= 512;
    if (d->dilates[0] || d->dilates[1] || src->dims[1] < 64 || !(moves || one || little)) return false;
    *p = (conv_wgrad_problem){.n = src->dims[0],
                              .in = {src->dims[1], src->dims[2], src->dims[3]},
                              .out = {dst->dims[1], dst->dims[2], dst->dims[3]},
                              .size = {w->dims[2], w->dims[3]},
                              .stride = {d->strides[0], d->strides[1]},
                              .low = {d->pad_l[0], d->pad_l[1]},
                              .w_at = w->offset0,
                              .w_step = {step[0], step[1], step[2], step[3]}};
    return conv_wgrad_fits(p);
}

/* Where F(2x2,3x3) (kernel/wino.c) and, for gradients of kernels of f32, F(4x4,3x3) (oneDNN's) are taken: a rule on
 * shapes, from measurements (bench/conv_bench), never from a clock, so a program computes the same bits on every run.
 * It wants enough features for its matrix products, images that tiles cover well and so many tiles that they pay for
 * the transforms of kernels.
 *
 * F(4x4,3x3)'s transforms multiply rounding: images come out with four to seven times the error of direct sums, and as
 * many more relus and pools behind them fall the other way, which gradients show. Of kernels' gradients, whose sums are
 * long, the sums' own rounding is the larger. */
bool conv_winograd_is_meant(const conv_desc *d) {
    const dnnl_memory_desc_t *src = &d->md[SRC], *wei = &d->md[WEI], *dst = &d->md[DST];
    if (src->ndims != 4 || wei->ndims != 4 || winograd_wish() == WINO_OFF) return false;
    for (int i = 0; i < 2; i++)
        if (wei->dims[2 + i] != 3 || d->strides[i] != 1 || d->dilates[i] != 0 || d->pad_l[i] > 1 || d->pad_r[i] > 1)
            return false;
    if (src->dims[1] % 16 || dst->dims[1] % 16) return false;
    wino_problem p;
    bool half = src->data_type == dnnl_bf16, large = !half && d->form == CONV_WEIGHTS, even = true;
    for (int i = 0; i < 2; i++) even = even && d->pad_l[i] == d->pad_l[0] && d->pad_r[i] == d->pad_l[0];
    if (large && !even) return false; /* oneDNN 2.6.3 takes gradients of uneven padding, and gets them wrong */
    if (!large && (!conv_wino_of(d, &p) || !wino_fits(&p))) return false;
    if (winograd_wish() == WINO_ALWAYS) return true;
    if (half && tiles_are_better()) return false;
    int64_t side = large ? 4 : 2, rows = (dst->dims[2] + side - 1) / side, cols = (dst->dims[3] + side - 1) / side;
    double filled = (double)(dst->dims[2] * dst->dims[3]) / (double)(side * side * rows * cols);
    int64_t pixels = rows * cols * side * side * src->dims[0];
    return src->dims[1] >= 32 && dst->dims[1] >= 32 && pixels >= (half ? 256 : 1024) && filled >= 0.75;
}
