/* A recurrence of one's own over 400 steps: learns how fast a leaky sum forgets. xt_scan records the cell once, so the
 * program is as small for 400 steps as for 4. */
#include <stdio.h>
#include <xtrain/xtrain.h>

enum { STEPS = 400, BATCH = 8 };

/* sum = keep * sum + x, where keep is a parameter. */
static void leaky(xt_tensor *sum, const xt_tensor *x, xt_tensor *y, void *user) {
    xt_tensor keep = *(xt_tensor *)user;
    sum[0] = xt_add(xt_mul(keep, sum[0]), x[0]);
    y[0] = sum[0];
}
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    xt_tensor keep = xt_sigmoid(xt_param(m, "keep", "zeros", 0, XT_F32, 1)), sum = xt_zeros(XT_F32, BATCH), y;
    (void)user;
    xt_scan(leaky, 1, &sum, 1, &x, 1, &y, .user = &keep); /* x and y: [400,8] */
    return y;
}

int main(void) {
    static float x[STEPS][BATCH], want[STEPS][BATCH];
    for (int t = 0; t < STEPS; t++)
        for (int b = 0; b < BATCH; b++) {
            x[t][b] = (float)((t * 7 + b * 13) % 17) / 17 - 0.5f;
            want[t][b] = x[t][b] + (t ? 0.9f * want[t - 1][b] : 0);
        }
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *adam = xt_adam(m, .lr = 0.05);
    for (int k = 0; k < 120; k++) {
        xt_tensor y = xt_forward(m, xt_from_array(x, XT_F32, STEPS, BATCH));
        xt_tensor loss = xt_mse_loss(y, xt_from_array(want, XT_F32, STEPS, BATCH));
        xt_backward(loss);
        xt_optimizer_step(adam);
        if (k % 40 == 39) xt_master_printf("loss %t\n", loss);
        xt_mark_step();
    }
    return xt_finish();
}
