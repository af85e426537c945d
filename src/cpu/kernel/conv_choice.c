/* See conv_choice.h. */
#include "cpu/kernel/conv_choice.h"
#include "cpu/kernel/kernel.h"

static dnnl_status_t form_desc(const conv_desc *d, conv_form form, dnnl_alg_kind_t algorithm,
                               const dnnl_memory_desc_t md[3], dnnl_convolution_desc_t *out) {
    switch (form) {
    case CONV_FORWARD:
        return dnnl_dilated_convolution_forward_desc_init(out, dnnl_forward_training, algorithm, &md[SRC], &md[WEI],
                                                          NULL, &md[DST], d->strides, d->dilates, d->pad_l, d->pad_r);
    case CONV_DATA:
        return dnnl_dilated_convolution_backward_data_desc_init(out, algorithm, &md[SRC], &md[WEI], &md[DST],
                                                                d->strides, d->dilates, d->pad_l, d->pad_r);
    default:
        return dnnl_dilated_convolution_backward_weights_desc_init(out, algorithm, &md[SRC], &md[WEI], NULL, &md[DST],
                                                                   d->strides, d->dilates, d->pad_l, d->pad_r);
    }
}

/* What a primitive costs, roughly, in flops a second of one core: oneDNN's kernels for wide vectors run at more than
 * twice the speed of its im2col + matrix product and of its narrow kernels, and a reorder moves memory. Only the order
 * of the candidates matters, and it is the same for any number of threads: kernels sum in orders of their own. */
static double estimate(const conv_desc *d, const conv_choice *c, const char *impl, double flops) {
    bool wide = strstr(impl, "avx512") || strstr(impl, "brg") || strstr(impl, "sve");
    double s = flops / (strstr(impl, "amx") ? 1500e9 : strstr(impl, "wino") ? 200e9 : wide ? 110e9 : 45e9);
    for (int i = 0; i < 3; i++)
        if (!dnnl_memory_desc_equal(&d->md[i], &c->used[i]))
            s += 2e-6 + (double)(dnnl_memory_desc_get_size(&d->md[i]) + dnnl_memory_desc_get_size(&c->used[i])) / 20e9;
    return s;
}

static void lay_out(dnnl_memory_desc_t *md, int tensor, conv_layout layout) {
    static const dnnl_format_tag_t last[6] = {[3] = dnnl_nwc, [4] = dnnl_nhwc, [5] = dnnl_ndhwc};
    dnnl_format_tag_t tag = tensor == WEI || layout == LAYOUT_ANY || layout == LAYOUT_WINOGRAD ? dnnl_format_tag_any
                            : layout == LAYOUT_CHANNELS_LAST                                   ? last[md->ndims]
                                                                                               : dnnl_format_tag_undef;
    if (tag == dnnl_format_tag_undef) return;
    dnnl_memory_desc_t given = *md;
    dnnl_memory_desc_init_by_tag(md, given.ndims, given.dims, given.data_type, tag);
}

xt_status conv_try(const conv_desc *d, conv_layout layout, double flops, int threads, conv_choice *out) {
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
    *out = (conv_choice){0};
    if (layout == LAYOUT_WINOGRAD &&
        (d->form != CONV_WEIGHTS || d->md[SRC].data_type != dnnl_f32 || !conv_winograd_is_meant(d)))
        return NULL;
    for (int i = 0; i < 3; i++) {
        md[i] = d->md[i];
        lay_out(&md[i], i, layout);
    }
    if (form_desc(d, d->form, algorithm, md, &desc) != dnnl_success) return NULL;
    if (d->form != CONV_FORWARD) { /* the backward primitives want to see the forward one, whose types are all one */
        md[WEI].data_type = md[SRC].data_type;
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
        out->layout = layout;
        out->by_threads = d->form == CONV_WEIGHTS || strstr(impl, "gemm") || strstr(impl, "brg");
        out->seconds = estimate(d, out, impl, flops);
        dnnl_primitive_desc_destroy(pd);
    }
    if (hint) dnnl_primitive_desc_destroy(hint);
    return s;
}

xt_status conv_choose(const conv_desc *d, conv_layout last, double flops, int threads, conv_choice *out) {
    *out = (conv_choice){0};
    for (int layout = LAYOUT_GIVEN; layout <= (int)last; layout++) {
        conv_choice c;
        xt_status s = conv_try(d, (conv_layout)layout, flops, threads, &c);
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
