/* Sampling from a model that reads a window: tokens are padded to one length, and the place of the newest one is data,
 * so each token comes out of the same program. */
#include <string.h>

#include "check.h"

enum { WINDOW = 9, VOCAB = 17, WIDTH = 16, PROMPT = 3, NEW = 14 };

/* tokens [B,T] -> logits [B,T,VOCAB] */
static xt_tensor net(xt_module *m, xt_tensor tokens, void *user) {
    (void)user;
    xt_tensor at = xt_arange(xt_dim(tokens, 1), XT_I64);
    xt_tensor x = xt_add(xt_embedding(m, "wte", tokens, VOCAB, WIDTH), xt_embedding(m, "wpe", at, WINDOW, WIDTH));
    x = xt_add(x, xt_self_attention(m, "attn", xt_layer_norm(m, "ln", x), .heads = 4, .causal = XT_ON));
    return xt_linear(m, "head", x, VOCAB);
}

static int64_t likeliest(const float *logits) {
    int64_t best = 0;
    for (int64_t i = 1; i < VOCAB; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* in: tokens [1,WINDOW], the newest one's place [1] -> logits [VOCAB]. A causal model does not see the padding. */
static xt_tensor predict(const xt_tensor *in, int n, void *m) {
    (void)n;
    return xt_flatten(xt_index_select(xt_forward(m, in[0]), 1, in[1]), 0);
}

static void sample(xt_module *m, int64_t *text, float logits[][VOCAB]) {
    int64_t window[WINDOW] = {0}, n = PROMPT;
    memcpy(window, text, PROMPT * sizeof *text);
    xt_step *step = xt_compile(predict, .user = m);
    xt_eval(m);
    xt_no_grad_begin();
    for (int i = 0; i < NEW; i++) {
        int64_t newest = n - 1;
        xt_tensor y = xt_call(step, xt_from_array(window, XT_I64, 1, WINDOW), xt_from_array(&newest, XT_I64, 1));
        if (!xt_read(y, logits[i], sizeof logits[i])) break;
        if (n == WINDOW) memmove(window, window + 1, (size_t)--n * sizeof *window); /* the oldest one goes */
        text[PROMPT + i] = window[n++] = likeliest(logits[i]);
    }
    xt_no_grad_end();
    xt_step_free(step);
}

int main(void) {
    int64_t text[PROMPT + NEW] = {1, 5, 2};
    float logits[NEW][VOCAB], want[NEW][VOCAB];
    xt_module *m = xt_module_new(net, NULL);
    sample(m, text, logits);
    check_programs("sampling", programs(), 1);
    for (int i = 0; i < NEW; i++) { /* without padding: each length is a program of its own */
        int end = PROMPT + i, n = end < WINDOW ? end : WINDOW;
        xt_tensor y = xt_forward(m, xt_from_array(text + end - n, XT_I64, 1, n));
        xt_read(xt_select(y, 1, n - 1), want[i], sizeof want[i]);
        xt_mark_step();
    }
    check_close("logits with and without padding", logits[0], want[0], NEW * VOCAB, 1e-5);
    return xt_finish() || faults;
}
