/* A language model of two LSTM layers that reads a text in windows, each of which goes on with the state that the one
 * before it ended with (truncated backpropagation through time). Ends in a text of its own, a byte a step. */
#include "gallery.h"

enum { STREAMS = 8, WINDOW = 32, VOCAB = 128, WIDTH = 32, HIDDEN = 96, LAYERS = 2, WRITTEN = 400 };

/* tokens [B,T], h and c [LAYERS,B,HIDDEN] -> logits [B,T,VOCAB], h and c behind the last token */
static void reader(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor x = xt_embedding(m, "embed", in[0], VOCAB, WIDTH);
    xt_rnn_out r = xt_lstm(m, "lstm", x, HIDDEN, .layers = LAYERS, .batch_first = XT_ON, .h0 = in[1], .c0 = in[2]);
    out[0] = xt_linear(m, "head", r.output, VOCAB);
    out[1] = r.h;
    out[2] = r.c;
}

/* The text as STREAMS parts that are read at once: the i-th window of each [STREAMS,WINDOW], and what follows. */
static int64_t *tokens;
static int64_t part;

static void read_file(const char *path) {
    char *text;
    size_t n;
    gallery_try(xt_read_file(path, &text, &n));
    tokens = malloc(n * sizeof *tokens);
    for (size_t i = 0; tokens && i < n; i++) tokens[i] = (unsigned char)text[i];
    part = (int64_t)n / STREAMS;
    xt_text_free(text);
}

static xt_tensor window(int64_t at) {
    int64_t w[STREAMS][WINDOW];
    for (int s = 0; s < STREAMS; s++) memcpy(w[s], tokens + s * part + at, sizeof w[s]);
    return xt_from_array(w, XT_I64, STREAMS, WINDOW);
}

static void train(xt_module *m, xt_optimizer *adam) {
    xt_tensor h = xt_state("h", XT_F32, LAYERS, STREAMS, HIDDEN), c = xt_state("c", XT_F32, LAYERS, STREAMS, HIDDEN);
    int64_t at = 0;
    for (int step = 0; step < gallery.steps; step++, at += WINDOW) {
        if (at + WINDOW >= part) at = 0; /* the text begins again, with the state of its end */
        xt_tensor out[3];
        xt_forward_many(m, 3, XT_TENSORS(window(at), h, c), 3, out);
        xt_tensor loss = xt_cross_entropy(out[0], window(at + 1));
        xt_backward(loss);
        xt_optimizer_step(adam);
        xt_assign(h, out[1]);
        xt_assign(c, out[2]);
        gallery_loss("loss", step, loss);
        xt_mark_step();
    }
}

typedef struct writer {
    xt_module *m;
    xt_tensor h, c, token;
} writer;

static xt_tensor write_token(const xt_tensor *in, int n, void *user) {
    writer *w = user;
    xt_tensor out[3];
    (void)in, (void)n;
    xt_forward_many(w->m, 3, XT_TENSORS(w->token, w->h, w->c), 3, out);
    xt_tensor next = xt_dist_sample(xt_categorical_logits_dist(xt_div(xt_flatten(out[0], 0), 0.7)));
    xt_assign(w->h, out[1]);
    xt_assign(w->c, out[2]);
    xt_assign(w->token, xt_reshape(next, 1, 1));
    return next;
}

static void write_text(xt_module *m) {
    writer w = {m, xt_state("h", XT_F32, LAYERS, 1, HIDDEN), xt_state("c", XT_F32, LAYERS, 1, HIDDEN),
                xt_state("token", XT_I64, 1, 1)};
    int64_t token;
    char text[WRITTEN + 1] = {0};
    xt_step *step = xt_compile(write_token, .user = &w);
    xt_no_grad_begin();
    for (int i = 0; i < WRITTEN && xt_read(xt_call(step, w.token), &token, sizeof token); i++) text[i] = (char)token;
    printf("%s\n", text);
    xt_no_grad_end();
    xt_step_free(step);
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 1500, "LICENSE");
    xt_module *m = xt_module_new_many(reader, 3, 3, NULL);
    const xt_spec state = {XT_F32, {LAYERS, STREAMS, HIDDEN}};
    gallery_try(xt_module_build_many(m, 3, (xt_spec[]){{XT_I64, {STREAMS, WINDOW}}, state, state}));
    gallery_save(m);
    read_file(gallery.data);
    train(m, xt_adam(m, .lr = 3e-3, .clip_norm = 1));
    if (!xt_error()) write_text(m);
    free(tokens);
    return xt_finish();
}
