/* A graph attention network (Velickovic et al. 2018) over a list of edges: each node looks at its neighbours, and
 * learns at whom to look. Of three communities four nodes each have a label. Ends in gat.png: how many of the others
 * are right, over the steps. */
#include "gallery.h"

enum { NODES = 120, CLASSES = 3, LABELLED = 4, FEATURES = 16, HEADS = 4, HIDDEN = 8, MOST = NODES * NODES };

static float features[NODES][FEATURES], known[NODES]; /* known: 1 for nodes with a label */
static int64_t label[NODES], from[MOST], to[MOST]; /* an edge and its way back; from each node to itself */
static int64_t edges;

/* Two nodes are joined with probability 0.12 within a community, else 0.01; features say little. */
static void make_graph(void) {
    srand48(1);
    for (int i = 0; i < NODES; i++) {
        label[i] = i % CLASSES;
        known[i] = i < CLASSES * LABELLED;
        from[edges] = to[edges] = i, edges++;
        for (int k = 0; k < FEATURES; k++) features[i][k] = (float)(drand48() + 0.2 * (k % CLASSES == label[i]));
        for (int j = 0; j < i; j++)
            if (drand48() < (label[i] == label[j] ? 0.12 : 0.01)) {
                from[edges] = i, to[edges] = j, edges++;
                from[edges] = j, to[edges] = i, edges++;
            }
    }
}

/* x [N,in] -> [N,heads,out] */
static xt_tensor attend(xt_module *parent, const char *name, xt_tensor x, int heads, int out) {
    xt_module *m = xt_sub(parent, name, -1);
    xt_tensor source = xt_from_array(from, XT_I64, edges), target = xt_from_array(to, XT_I64, edges);
    xt_tensor h = xt_view(xt_linear(m, "lin", x, heads * out, .bias = XT_OFF), NODES, heads, out);
    xt_tensor tells = xt_sum_axes(xt_mul(h, xt_param(m, "att_src", "uniform", 0.3, XT_F32, heads, out)), XT_AXES(2));
    xt_tensor asks = xt_sum_axes(xt_mul(h, xt_param(m, "att_dst", "uniform", 0.3, XT_F32, heads, out)), XT_AXES(2));
    xt_tensor score = xt_add(xt_index_select(tells, 0, source), xt_index_select(asks, 0, target)); /* [E,heads] */
    score = xt_exp(xt_leaky_relu(score, 0.2));
    xt_tensor all = xt_index_add(xt_zeros(XT_F32, NODES, heads), 0, target, score, 1);
    xt_tensor share = xt_div(score, xt_index_select(all, 0, target));
    xt_tensor message = xt_mul(xt_index_select(h, 0, source), xt_unsqueeze(share, 2));
    return xt_index_add(xt_zeros(XT_F32, NODES, heads, out), 0, target, message, 1);
}

static xt_tensor gat(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_elu(xt_view(attend(m, "conv1", x, HEADS, HIDDEN), NODES, HEADS * HIDDEN));
    return xt_mean_axes(attend(m, "conv2", x, 1, CLASSES), XT_AXES(1));
}

/* Called when the value arrives; the loop does not wait for it. */
static void keep(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)bytes, (void)dtype;
    *(double *)user = *(const float *)data;
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 200, NULL);
    make_graph();
    xt_module *m = xt_module_new(gat, NULL);
    gallery_try(xt_module_build(m, (xt_spec){XT_F32, {NODES, FEATURES}}));
    gallery_save(m);
    xt_optimizer *adam = xt_adam(m, .lr = 0.01, .weight_decay = 5e-4);
    double *step_of = calloc((size_t)gallery.steps + 1, sizeof(double));
    double *right = calloc((size_t)gallery.steps + 1, sizeof(double));
    for (int step = 0; step < gallery.steps && step_of && right; step++) {
        xt_tensor logits = xt_forward(m, xt_from_array(features, XT_F32, NODES, FEATURES));
        xt_tensor want = xt_from_array(label, XT_I64, NODES), mask = xt_from_array(known, XT_F32, NODES);
        xt_tensor loss = xt_masked_mean(xt_cross_entropy(logits, want, .reduction = XT_NONE), mask);
        xt_backward(loss);
        xt_optimizer_step(adam);
        gallery_loss("loss", step, loss);
        step_of[step] = step;
        xt_tensor hit = xt_cast(xt_eq(xt_argmax(logits, 1), want), XT_F32);
        xt_when_ready(xt_masked_mean(hit, xt_minus(1, mask)), keep, &right[step]);
        xt_mark_step();
    }
    xt_wait();
    if (!xt_error() && gallery.steps > 0) {
        printf("right among nodes without a label: %.3g\n", right[gallery.steps - 1]);
        const xt_plot_series share = {"right", step_of, right, gallery.steps};
        gallery_try(xt_plot_lines("gat.png", "nodes without a label", "step", &share, 1));
    }
    free(step_of);
    free(right);
    return xt_finish();
}
