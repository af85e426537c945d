/* A graph convolutional network (Kipf and Welling 2016): of a graph with three communities only four nodes each have a
 * label, and edges tell the rest. Ends in gcn.png: how many of the others are right, over the steps. */
#include "gallery.h"
#include <math.h>

enum { NODES = 120, CLASSES = 3, LABELLED = 4, FEATURES = 16, HIDDEN = 16 };

static float adjacency[NODES][NODES], features[NODES][FEATURES], known[NODES]; /* known: 1 for nodes with a label */
static int64_t label[NODES];

/* Two nodes are joined with probability 0.12 within a community, else 0.01; features say little. */
static void make_graph(void) {
    float degree[NODES] = {0};
    srand48(1);
    for (int i = 0; i < NODES; i++) {
        label[i] = i % CLASSES;
        known[i] = i < CLASSES * LABELLED;
        adjacency[i][i] = 1;
        for (int k = 0; k < FEATURES; k++) features[i][k] = (float)(drand48() + 0.2 * (k % CLASSES == label[i]));
        for (int j = 0; j < i; j++)
            if (drand48() < (label[i] == label[j] ? 0.12 : 0.01)) adjacency[i][j] = adjacency[j][i] = 1;
    }
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++) degree[i] += adjacency[i][j];
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++) adjacency[i][j] /= sqrtf(degree[i] * degree[j]);
}

/* features [N,F], normalised adjacency [N,N] -> logits [N,CLASSES] */
static void gcn(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor h = xt_relu(xt_matmul(in[1], xt_linear(m, "conv1", in[0], HIDDEN)));
    out[0] = xt_matmul(in[1], xt_linear(m, "conv2", h, CLASSES));
}

/* Called when the value arrives; the loop does not wait for it. */
static void keep(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)bytes, (void)dtype;
    *(double *)user = *(const float *)data;
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 200, NULL);
    make_graph();
    xt_module *m = xt_module_new_many(gcn, 2, 1, NULL);
    gallery_try(xt_module_build_many(m, 2, (xt_spec[]){{XT_F32, {NODES, FEATURES}}, {XT_F32, {NODES, NODES}}}));
    gallery_save(m);
    xt_optimizer *adam = xt_adam(m, .lr = 0.01, .weight_decay = 5e-4);
    double *step_of = calloc((size_t)gallery.steps + 1, sizeof(double));
    double *right = calloc((size_t)gallery.steps + 1, sizeof(double));
    for (int step = 0; step < gallery.steps && step_of && right; step++) {
        xt_tensor x = xt_from_array(features, XT_F32, NODES, FEATURES), logits;
        xt_tensor edges = xt_from_array(adjacency, XT_F32, NODES, NODES), mask = xt_from_array(known, XT_F32, NODES);
        xt_forward_many(m, 2, XT_TENSORS(x, edges), 1, &logits);
        xt_tensor each = xt_cross_entropy(logits, xt_from_array(label, XT_I64, NODES), .reduction = XT_NONE);
        xt_tensor loss = xt_masked_mean(each, mask);
        xt_backward(loss);
        xt_optimizer_step(adam);
        gallery_loss("loss", step, loss);
        step_of[step] = step;
        xt_tensor hit = xt_cast(xt_eq(xt_argmax(logits, 1), xt_from_array(label, XT_I64, NODES)), XT_F32);
        xt_when_ready(xt_masked_mean(hit, xt_minus(1, mask)), keep, &right[step]);
        xt_mark_step();
    }
    xt_wait();
    if (!xt_error() && gallery.steps > 0) {
        printf("right among nodes without a label: %.3g\n", right[gallery.steps - 1]);
        const xt_plot_series share = {"right", step_of, right, gallery.steps};
        gallery_try(xt_plot_lines("gcn.png", "nodes without a label", "step", &share, 1));
    }
    free(step_of);
    free(right);
    return xt_finish();
}
