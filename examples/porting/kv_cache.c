/* A cache of keys and values: states that live over steps, written at a position that is data. One token a step, and
 * one program for all of them. The layers have the names of the model that was trained, so its weights serve. */
#include "check.h"

enum { WINDOW = 12, VOCAB = 17, WIDTH = 16, HEADS = 4 };

typedef struct cache {
    xt_tensor keys, values; /* states [1,HEADS,WINDOW,WIDTH/HEADS] */
    xt_tensor at; /* [1]: the place of the token that is fed; none: the whole text at once, without the cache */
} cache;

static xt_tensor heads(xt_tensor qkv, int i) { /* [1,T,3*WIDTH] -> [1,HEADS,T,WIDTH/HEADS] */
    xt_tensor part = xt_slice(qkv, 2, i * WIDTH, (i + 1) * WIDTH);
    return xt_transpose(xt_reshape(part, 1, xt_dim(qkv, 1), HEADS, WIDTH / HEADS), 1, 2);
}

/* What xt_self_attention computes, for one token: x [1,1,WIDTH]. */
static xt_tensor cached_attention(xt_module *m, xt_tensor x, cache *c) {
    xt_tensor qkv = xt_linear(m, "c_attn", x, 3 * WIDTH);
    xt_assign(c->keys, xt_index_copy(c->keys, 2, c->at, heads(qkv, 1)));
    xt_assign(c->values, xt_index_copy(c->values, 2, c->at, heads(qkv, 2)));
    xt_tensor written = xt_le(xt_arange(WINDOW, XT_I64), c->at);
    xt_tensor y = xt_scaled_dot_product_attention(heads(qkv, 0), c->keys, c->values, .mask = written);
    return xt_linear(m, "c_proj", xt_reshape(xt_transpose(y, 1, 2), 1, 1, WIDTH), WIDTH);
}

/* tokens [1,T] -> logits [1,T,VOCAB] */
static xt_tensor net(xt_module *m, xt_tensor tokens, void *user) {
    cache *c = user;
    bool cached = !xt_is_none(c->at);
    xt_tensor at = cached ? c->at : xt_arange(xt_dim(tokens, 1), XT_I64);
    xt_tensor x = xt_add(xt_embedding(m, "wte", tokens, VOCAB, WIDTH), xt_embedding(m, "wpe", at, WINDOW, WIDTH));
    xt_tensor h = xt_layer_norm(m, "ln", x);
    x = xt_add(x, cached ? cached_attention(xt_sub(m, "attn", -1), h, c)
                         : xt_self_attention(m, "attn", h, .heads = HEADS, .causal = XT_ON));
    return xt_linear(m, "head", x, VOCAB);
}

static cache c;

static xt_tensor feed(const xt_tensor *in, int n, void *m) {
    (void)n;
    c.at = in[1];
    return xt_forward(m, in[0]);
}

int main(void) {
    int64_t text[WINDOW];
    float with[WINDOW][VOCAB], without[WINDOW][VOCAB];
    for (int i = 0; i < WINDOW; i++) text[i] = (i * 5 + 1) % VOCAB;
    xt_module *m = xt_module_new(net, &c);
    xt_no_grad_begin();
    xt_eval(m);
    xt_read(xt_forward(m, xt_from_array(text, XT_I64, 1, WINDOW)), without, sizeof without);
    xt_wait();
    int64_t before = programs();
    c.keys = xt_state("keys", XT_F32, 1, HEADS, WINDOW, WIDTH / HEADS);
    c.values = xt_state("values", XT_F32, 1, HEADS, WINDOW, WIDTH / HEADS);
    xt_step *step = xt_compile(feed, .user = m);
    for (int64_t i = 0; i < WINDOW; i++) {
        xt_tensor y = xt_call(step, xt_from_array(&text[i], XT_I64, 1, 1), xt_from_array(&i, XT_I64, 1));
        if (!xt_read(y, with[i], sizeof with[i])) break;
    }
    check_programs("feeding", programs() - before, 1);
    check_close("logits with and without the cache", with[0], without[0], WINDOW * VOCAB, 1e-5);
    xt_no_grad_end();
    return xt_finish() || faults;
}
