/* Averages of the weights (EMA): kept beside the training, evaluated and saved, taken over as the weights at the end;
 * and the teacher of a student, which is the same. */
#include "check.h"

enum { BATCH = 16, WIDE = 6, STEPS = 12 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_tanh(xt_linear(m, "in", x, 8)), 1);
}

static float x[STEPS][BATCH][WIDE], y[STEPS][BATCH][1];

/* Small at first: the first weights are soon forgotten. */
static double decay_at(int step) {
    return fmin(0.9, (1.0 + step) / (10.0 + step));
}

static xt_tensor loss_of(xt_module *student, xt_module *teacher, int k) {
    xt_tensor input = xt_from_array(x[k], XT_F32, BATCH, WIDE), out = xt_forward(student, input);
    xt_tensor as_taught = xt_mse_loss(out, xt_forward(teacher, input)); /* no gradients: the teacher is frozen */
    return xt_add(xt_mse_loss(out, xt_from_array(y[k], XT_F32, BATCH, 1)), xt_mul(as_taught, 0.1));
}

static void train(xt_module *student, xt_module *teacher, xt_optimizer *opt, int k) {
    xt_backward(loss_of(student, teacher, k));
    xt_optimizer_step(opt);
    xt_ema_update(teacher, student, decay_at(k)); /* of this step's new weights */
    xt_mark_step();
}

static void weights_of(xt_module *m, float *to) {
    xt_read(xt_module_find(m, "in.weight"), to, sizeof(float) * 8 * WIDE);
}

int main(void) {
    enum { N = 8 * WIDE };
    float weight[N], average[N], want[N];
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < BATCH; i++) {
            for (int j = 0; j < WIDE; j++) x[k][i][j] = sinf((float)(k * 17 + i * 5 + j * 3));
            y[k][i][0] = x[k][i][0] - x[k][i][1];
        }
    const xt_spec batch = {XT_F32, {BATCH, WIDE}};
    xt_module *student = xt_module_new(net, NULL);
    if (xt_module_build(student, batch)) return xt_finish();
    xt_module *teacher = xt_ema(student);
    xt_optimizer *opt = xt_adamw(student, .lr = 1e-2);
    weights_of(student, want);
    int64_t before = programs();
    for (int k = 0; k < STEPS; k++) {
        train(student, teacher, opt, k);
        weights_of(student, weight);
        for (int i = 0; i < N; i++) want[i] += (float)(1 - decay_at(k)) * (weight[i] - want[i]);
    }
    check_programs("training", programs() - before, 2); /* the first step makes the average */
    weights_of(teacher, average);
    check_close("averages and the plain computation", average, want, N, 1e-6);
    xt_module *again = xt_module_new(net, NULL);
    if (xt_save(teacher, "averages.safetensors") || xt_module_build(again, batch)) return xt_finish();
    check("the file is one of such a network", !xt_load(again, "averages.safetensors"));
    weights_of(again, weight);
    check_close("averages saved and read", weight, average, N, 0);
    xt_ema_copy_to(teacher, student);
    weights_of(student, weight);
    check_close("averages taken over as the weights", weight, average, N, 0);
    return xt_finish() || faults;
}
