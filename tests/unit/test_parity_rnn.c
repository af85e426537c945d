/* Recurrent layers and cells against PyTorch: outputs, last states, gradients of inputs, first states
 * and parameters. */
#include "parity.h"

#define CASE(name, call)                                                               \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)user;                                                                    \
        xt_rnn_out r = call;                                                           \
        y[0] = r.output;                                                               \
        y[1] = r.h;                                                                    \
        y[2] = r.c;                                                                    \
    }
CASE(rnn, xt_rnn(m, "", *x, 4))
CASE(rnn_relu, xt_rnn(m, "", *x, 4, .layers = 2, .bias = XT_OFF, .relu = XT_ON))
CASE(lstm, xt_lstm(m, "", *x, 4))
CASE(lstm_all, xt_lstm(m, "", *x, 4, .layers = 2, .bidirectional = XT_ON, .batch_first = XT_ON, .h0 = x[1], .c0 = x[2]))
CASE(lstm_eval, xt_lstm(m, "", *x, 4, .layers = 2, .dropout = 0.5))
CASE(lstm_proj, xt_lstm(m, "", *x, 4, .proj_size = 2))
CASE(lstm_proj_all, xt_lstm(m, "", *x, 4, .layers = 2, .bidirectional = XT_ON, .proj_size = 3, .h0 = x[1], .c0 = x[2]))
CASE(gru, xt_gru(m, "", *x, 4))
CASE(gru_all, xt_gru(m, "", *x, 4, .layers = 2, .bidirectional = XT_ON, .h0 = x[1]))
CASE(gru_nobias, xt_gru(m, "", *x, 4, .bias = XT_OFF))

/* The same as loops (xt_scan). */
CASE(rnn_relu_loop, xt_rnn(m, "", *x, 4, .layers = 2, .bias = XT_OFF, .relu = XT_ON, .loop = XT_ON))
CASE(lstm_loop, xt_lstm(m, "", *x, 4, .loop = XT_ON))
CASE(lstm_all_loop, xt_lstm(m, "", *x, 4, .layers = 2, .bidirectional = XT_ON, .batch_first = XT_ON, .h0 = x[1],
                            .c0 = x[2], .loop = XT_ON))
CASE(lstm_proj_all_loop,
     xt_lstm(m, "", *x, 4, .layers = 2, .bidirectional = XT_ON, .proj_size = 3, .h0 = x[1], .c0 = x[2], .loop = XT_ON))
CASE(gru_all_loop, xt_gru(m, "", *x, 4, .layers = 2, .bidirectional = XT_ON, .h0 = x[1], .loop = XT_ON))
CASE(gru_nobias_loop, xt_gru(m, "", *x, 4, .bias = XT_OFF, .loop = XT_ON))
/* Of lengths that are loops by themselves. */
CASE(rnn_long, xt_rnn(m, "", *x, 6))
CASE(lstm_long, xt_lstm(m, "", *x, 6, .bidirectional = XT_ON))
CASE(gru_long, xt_gru(m, "", *x, 6, .layers = 2))

static void c_rnn_cell(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)user;
    y[0] = xt_rnn_cell(m, "", x[0], 4, .h0 = x[1]).h;
}

static void c_lstm_cell(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)user;
    xt_rnn_out r = xt_lstm_cell(m, "", x[0], 4, .h0 = x[1], .c0 = x[2]);
    y[0] = r.h;
    y[1] = r.c;
}

/* The same weights twice in a pass. */
static void c_gru_cell(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)user;
    xt_share(m, "");
    y[0] = x[1];
    for (int t = 0; t < 2; t++) y[0] = xt_gru_cell(m, "", xt_squeeze(xt_slice(x[0], 0, t, t + 1), 0), 4, .h0 = y[0]).h;
}

static const parity_row rows[] = {
    {"rnn", c_rnn},
    {"rnn_relu", c_rnn_relu},
    {"lstm", c_lstm},
    {"lstm_all", c_lstm_all},
    {"lstm_lone", c_lstm},
    {"lstm_eval", c_lstm_eval},
    {"gru", c_gru},
    {"gru_all", c_gru_all},
    {"gru_nobias", c_gru_nobias},
    {"rnn_cell", c_rnn_cell},
    {"lstm_cell", c_lstm_cell},
    {"gru_cell", c_gru_cell},
    {"lstm_cell_lone", c_lstm_cell},
    {"lstm_proj", c_lstm_proj},
    {"lstm_proj_all", c_lstm_proj_all},
    {"rnn_relu", c_rnn_relu_loop},
    {"lstm", c_lstm_loop},
    {"lstm_lone", c_lstm_loop},
    {"lstm_all", c_lstm_all_loop},
    {"lstm_proj_all", c_lstm_proj_all_loop},
    {"gru_all", c_gru_all_loop},
    {"gru_nobias", c_gru_nobias_loop},
    {"rnn_long", c_rnn_long},
    {"lstm_long", c_lstm_long},
    {"gru_long", c_gru_long},
};

PARITY_MAIN("rnn", rows)
