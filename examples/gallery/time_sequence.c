/* Two LSTM cells that learn to go on with sine waves, by L-BFGS in double precision (pytorch/examples,
 * time_sequence_prediction). Ends in time_sequence.png: a wave that the network has never seen, and how it goes on. */
#include "gallery.h"
#include <math.h>

enum { WAVES = 6, SEEN = 20, FUTURE = 40, HIDDEN = 51 };

static double waves[WAVES][SEEN + 1], fresh[1][SEEN + FUTURE];

/* x [B,SEEN] -> [B,SEEN + *future]: behind what is given, each number is the network's own answer */
static xt_tensor sequence(xt_module *m, xt_tensor x, void *future) {
    xt_tensor given[SEEN], out[SEEN + FUTURE];
    xt_rnn_out first = {0}, second = {0};
    int n = SEEN + *(int *)future;
    xt_share(m, "lstm1");
    xt_share(m, "lstm2");
    xt_share(m, "linear");
    xt_split(x, 1, 1, SEEN, given);
    for (int t = 0; t < n; t++) {
        first = xt_lstm_cell(m, "lstm1", t < SEEN ? given[t] : out[t - 1], HIDDEN, .h0 = first.h, .c0 = first.c);
        second = xt_lstm_cell(m, "lstm2", first.h, HIDDEN, .h0 = second.h, .c0 = second.c);
        out[t] = xt_linear(m, "linear", second.h, 1);
    }
    return xt_cat(n, out, 1);
}

static xt_tensor closure(void *m) {
    xt_tensor all = xt_from_array(waves, XT_F64, WAVES, SEEN + 1);
    return xt_mse_loss(xt_forward(m, xt_narrow(all, 1, 0, SEEN)), xt_narrow(all, 1, 1, SEEN));
}

static void picture(xt_module *m, int *future) {
    double t[SEEN + FUTURE], next[SEEN + FUTURE]; /* an answer is of the next time */
    *future = FUTURE;
    for (int i = 0; i < SEEN + FUTURE; i++) t[i] = i;
    xt_no_grad_begin();
    xt_tensor begin = xt_narrow(xt_from_array(fresh, XT_F64, 1, SEEN + FUTURE), 1, 0, SEEN);
    xt_read(xt_forward(m, begin), next, sizeof next);
    xt_no_grad_end();
    const xt_plot_series two[] = {{"the wave", t, fresh[0], SEEN + FUTURE},
                                  {"the network", t + 1, next, SEEN + FUTURE - 1}};
    if (!xt_error()) gallery_try(xt_plot_lines("time_sequence.png", "from 20 on by itself", "time", two, 2));
}

int main(int argc, char **argv) {
    int future = 0;
    gallery_begin(argc, argv, 15, NULL);
    for (int i = 0; i < WAVES; i++)
        for (int t = 0; t <= SEEN; t++) waves[i][t] = sin((t + 3 * i) / 4.0);
    for (int t = 0; t < SEEN + FUTURE; t++) fresh[0][t] = sin((t + 7.5) / 4.0);
    xt_module *m = xt_module_new(sequence, &future);
    gallery_try(xt_module_build(m, (xt_spec){XT_F64, {WAVES, SEEN}}));
    gallery_save(m);
    xt_optimizer *lbfgs = xt_lbfgs(m, .lr = 0.8);
    for (int step = 0; step < gallery.steps; step++) {
        double loss = xt_optimizer_step_closure(lbfgs, closure, m); /* up to 20 times, on the same batch */
        if (xt_error()) break;
        printf("loss %d %.9g\n", step, loss);
    }
    picture(m, &future);
    return xt_finish();
}
