/* Truncated back-propagation through time: a long sequence in windows. The hidden state is a state tensor, which hands
 * its value, and no gradient, from one step to the next. */
#include "check.h"

enum { STREAMS = 3, LENGTH = 60, WINDOW = 12, HIDDEN = 8 };

/* x [WINDOW,STREAMS,1] -> what comes next, of the same shape */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    xt_tensor *h = user; /* in: the state before the window; out: the one after it */
    xt_rnn_out r = xt_gru(m, "gru", x, HIDDEN, .h0 = *h);
    *h = r.h;
    return xt_linear(m, "out", r.output, 1);
}

static float stream[LENGTH + 1][STREAMS];

static xt_tensor part(int from, int n) {
    return xt_from_array(stream[from], XT_F32, n, STREAMS, 1);
}

static xt_tensor h;

static void train(xt_module *m, xt_optimizer *opt, xt_tensor state) {
    for (int t = 0; t < LENGTH; t += WINDOW) {
        h = xt_mul(state, xt_scalar(t > 0, XT_F32)); /* data, so that a sequence's first window is no other program */
        xt_backward(xt_mse_loss(xt_forward(m, part(t, WINDOW)), part(t + 1, WINDOW)));
        xt_optimizer_step(opt);
        xt_assign(state, h); /* for the next window */
        xt_mark_step();
    }
}

/* The gradient of the first window's loss, begun with the state h. */
static void gradient(xt_module *m, xt_optimizer *opt, float *out) {
    xt_backward(xt_mse_loss(xt_forward(m, part(0, WINDOW)), part(1, WINDOW)));
    xt_read(xt_grad(xt_module_find(m, "gru.weight_ih_l0")), out, 3 * HIDDEN * sizeof *out);
    xt_zero_grad(opt);
}

int main(void) {
    float got[STREAMS * HIDDEN], want[STREAMS * HIDDEN], truncated[3 * HIDDEN], plain[3 * HIDDEN];
    for (int t = 0; t <= LENGTH; t++)
        for (int s = 0; s < STREAMS; s++) stream[t][s] = sinf(0.3f * (float)(t + 5 * s));
    xt_module *m = xt_module_new(net, &h);
    xt_tensor state = xt_state("hidden", XT_F32, 1, STREAMS, HIDDEN);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0); /* nothing is learnt, so that the state is the whole sequence's */
    train(m, sgd, state);
    train(m, sgd, state);
    xt_wait();
    check_programs("two sequences of five windows", programs(), 1);
    xt_read(state, got, sizeof got);
    h = xt_zeros(XT_F32, 1, STREAMS, HIDDEN);
    xt_forward(m, part(0, LENGTH));
    xt_read(h, want, sizeof want);
    check_close("the state after all windows and after the whole sequence", got, want, STREAMS * HIDDEN, 1e-5);
    h = state;
    gradient(m, sgd, truncated);
    h = xt_from_array(got, XT_F32, 1, STREAMS, HIDDEN); /* the same numbers, with no past */
    gradient(m, sgd, plain);
    check_close("the gradient behind a window and behind constants", truncated, plain, 3 * HIDDEN, 1e-6);
    return xt_finish() || faults;
}
