/* Transformer layers with PyTorch's names and order of operations (Vaswani et al. 2017; norm_first is the pre-norm
 * form). */
#include "ops/ops.h"
#include "nn/nn.h"

typedef struct block {
    const xt_src *src;
    xt_module *m; /* the layer's own */
    xt_transformer_opts o;
} block;

static xt_tensor dropped(const block *b, xt_tensor x) {
    return xt_dropout_at(b->src, b->m, x, b->o.dropout);
}

static xt_tensor attend(const block *b, const char *name, xt_tensor q, xt_tensor kv, bool self) {
    xt_mha_opts a = XT_OPTS(xt_mha_opts, .heads = b->o.heads, .dropout = b->o.dropout, .batch_first = b->o.batch_first,
                            .causal = self ? b->o.causal : XT_OFF, .attn_mask = self ? b->o.mask : b->o.memory_mask,
                            .key_padding_mask = self ? b->o.key_padding_mask : b->o.memory_key_padding_mask);
    return dropped(b, xt_multihead_attention_at(b->src, b->m, name, q, kv, kv, a));
}

static xt_tensor feed_forward(const block *b, xt_tensor x) {
    int64_t width = xt_dim(x, -1);
    xt_tensor h = xt_linear_at(b->src, b->m, "linear1", x, b->o.feedforward, XT_OPTS(xt_linear_opts, ));
    h = dropped(b, b->o.gelu == XT_ON ? xt_gelu_erf_at(b->src, h) : xt_relu_at(b->src, h));
    return dropped(b, xt_linear_at(b->src, b->m, "linear2", h, width, XT_OPTS(xt_linear_opts, )));
}

static xt_tensor norm(const block *b, const char *name, xt_tensor x) {
    return xt_layer_norm_at(b->src, b->m, name, x, XT_OPTS(xt_norm_opts, .eps = b->o.eps));
}

static bool begin(const xt_src *src, const char *what, xt_module *m, const char *name, xt_tensor x,
                  const xt_transformer_opts *o, block *b, xt_tensor *out) {
    const ir_type *t = lazy_type(x);
    *out = (xt_tensor){0};
    if (!m)
        *out = lazy_error(src, XT_INVALID_ARGUMENT, "%s %s: the module is NULL", what, name);
    else if (!t || t->rank < 2 || t->rank > 3 || !ir_dtype_is_float(t->dtype))
        *out = nn_bad_input(src, what, name, x, "floats [T,B,E], [B,T,E] with batch_first, or [T,E] are needed");
    else if (!(o->dropout >= 0 && o->dropout <= 1) || o->feedforward < 1)
        *out = lazy_error(src, XT_INVALID_ARGUMENT,
                          "%s %s: .dropout is %g and .feedforward %lld; in [0,1] (0 = none), and at least 1", what,
                          name, o->dropout, (long long)o->feedforward);
    *b = (block){src, xt_sub(m, name, -1), *o};
    return !out->slot;
}

xt_tensor xt_transformer_encoder_layer_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x,
                                          xt_transformer_opts o) {
    block b;
    xt_tensor failed;
    if (!begin(src, "xt_transformer_encoder_layer", m, name, x, &o, &b, &failed)) return failed;
    if (o.norm_first == XT_ON) {
        xt_tensor h = norm(&b, "norm1", x);
        x = xt_add_at(src, x, attend(&b, "self_attn", h, h, true));
        return xt_add_at(src, x, feed_forward(&b, norm(&b, "norm2", x)));
    }
    x = norm(&b, "norm1", xt_add_at(src, x, attend(&b, "self_attn", x, x, true)));
    return norm(&b, "norm2", xt_add_at(src, x, feed_forward(&b, x)));
}

xt_tensor xt_transformer_decoder_layer_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x,
                                          xt_tensor memory, xt_transformer_opts o) {
    block b;
    xt_tensor failed;
    if (!begin(src, "xt_transformer_decoder_layer", m, name, x, &o, &b, &failed)) return failed;
    if (o.norm_first == XT_ON) {
        xt_tensor h = norm(&b, "norm1", x);
        x = xt_add_at(src, x, attend(&b, "self_attn", h, h, true));
        x = xt_add_at(src, x, attend(&b, "multihead_attn", norm(&b, "norm2", x), memory, false));
        return xt_add_at(src, x, feed_forward(&b, norm(&b, "norm3", x)));
    }
    x = norm(&b, "norm1", xt_add_at(src, x, attend(&b, "self_attn", x, x, true)));
    x = norm(&b, "norm2", xt_add_at(src, x, attend(&b, "multihead_attn", x, memory, false)));
    return norm(&b, "norm3", xt_add_at(src, x, feed_forward(&b, x)));
}
