/* A mixture of experts (Shazeer et al. 2017): of four small networks a gate picks two for each point of the plane, and
 * a second loss keeps all of them busy. Learns which arm of a spiral a point is on. Ends in moe.png: the shares of the
 * experts over the plane, and the answer. */
#include "gallery.h"
#include <math.h>

enum { BATCH = 128, EXPERTS = 4, CHOSEN = 2, HIDDEN = 32, GRID = 48 };

static xt_tensor expert(xt_module *m, xt_tensor x) {
    return xt_linear(m, "fc2", xt_relu(xt_linear(m, "fc1", x, HIDDEN)), 2);
}

/* points [B,2] -> logits [B,2], share of each expert [B,EXPERTS], loss of an unequal load */
static void mixture(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
    (void)user;
    xt_tensor scores = xt_linear(m, "gate", in[0], EXPERTS), best, which, y[EXPERTS];
    xt_topk(scores, CHOSEN, 1, &best, &which);
    xt_tensor none = xt_full(-INFINITY, XT_F32, xt_dim(in[0], 0), EXPERTS);
    xt_tensor share = xt_softmax(xt_scatter(none, 1, which, best), 1); /* 0 for those that were not chosen */
    for (int e = 0; e < EXPERTS; e++) y[e] = expert(xt_sub(m, "experts", e), in[0]);
    out[0] = xt_einsum("be,beo->bo", 2, XT_TENSORS(share, xt_stack(EXPERTS, y, 1)));
    out[1] = share;
    xt_tensor used = xt_mean_axis(xt_cast(xt_gt(share, xt_zeros_like(share)), XT_F32), 0);
    xt_tensor load = xt_sum(xt_mul(used, xt_mean_axis(xt_softmax(scores, 1), 0)));
    out[2] = xt_mul(load, (double)EXPERTS / CHOSEN); /* 1 when all have the same */
}

/* Two arms of one and a half turns each, with some noise. */
static void points(float x[BATCH][2], int64_t label[BATCH]) {
    for (int i = 0; i < BATCH; i++) {
        double t = drand48(), angle = 9.4 * t + 3.14159265358979 * (label[i] = i % 2);
        x[i][0] = (float)(t * cos(angle) + 0.06 * (drand48() - 0.5));
        x[i][1] = (float)(t * sin(angle) + 0.06 * (drand48() - 0.5));
    }
}

static void picture(xt_module *m) {
    static float x[GRID][GRID][2], grey[EXPERTS + 1][GRID][GRID];
    const char *labels[] = {"expert 0", "expert 1", "expert 2", "expert 3", "answer"};
    for (int i = 0; i < GRID; i++)
        for (int j = 0; j < GRID; j++) {
            x[i][j][0] = 2.2f * ((float)j / GRID - 0.5f);
            x[i][j][1] = 2.2f * (0.5f - (float)i / GRID);
        }
    xt_tensor in = xt_from_array(x, XT_F32, GRID * GRID, 2), out[3];
    xt_forward_many(m, 1, &in, 3, out);
    xt_tensor answer = xt_slice(xt_softmax(out[0], 1), 1, 1, 2);
    xt_read(xt_t(xt_concat(2, XT_TENSORS(out[1], answer), 1)), grey, sizeof grey);
    gallery_try(xt_plot_images("moe.png", "who is asked, and the answer", EXPERTS + 1, GRID, GRID, grey[0][0], labels));
}

int main(int argc, char **argv) {
    float x[BATCH][2];
    int64_t label[BATCH];
    gallery_begin(argc, argv, 2000, NULL);
    srand48(1);
    xt_module *m = xt_module_new_many(mixture, 1, 3, NULL);
    gallery_try(xt_module_build(m, (xt_spec){XT_F32, {BATCH, 2}}));
    gallery_save(m);
    xt_optimizer *adam = xt_adam(m, .lr = 3e-3);
    for (int step = 0; step < gallery.steps; step++) {
        points(x, label);
        xt_tensor in = xt_from_array(x, XT_F32, BATCH, 2), out[3];
        xt_forward_many(m, 1, &in, 3, out);
        xt_tensor loss = xt_cross_entropy(out[0], xt_from_array(label, XT_I64, BATCH));
        xt_backward(xt_add(loss, xt_mul(out[2], 0.01)));
        xt_optimizer_step(adam);
        gallery_loss("loss", step, loss);
        gallery_loss("load", step, out[2]);
        xt_mark_step();
    }
    xt_no_grad_begin();
    if (!xt_error()) picture(m);
    xt_no_grad_end();
    return xt_finish();
}
