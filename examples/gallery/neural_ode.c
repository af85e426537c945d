/* A neural ordinary differential equation (Chen et al. 2018): a network learns the velocity field of a spiral from
 * points along it, by Runge-Kutta steps in a loop whose gradients are taken as a whole. Ends in neural_ode.png. */
#include "gallery.h"

enum { TIMES = 200, WINDOW = 10, BATCH = 32, HIDDEN = 50 };
#define DT 0.125

/* y [B,2] -> dy/dt [B,2]; the field is known to be cubic */
static xt_tensor field(xt_module *m, xt_tensor y, void *user) {
    (void)user;
    xt_share(m, "fc*"); /* four times a step */
    return xt_linear(m, "fc2", xt_tanh(xt_linear(m, "fc1", xt_pow(y, 3), HIDDEN)), 2);
}

static xt_tensor along(xt_tensor y, xt_tensor k, double dt) { /* y + dt k */
    return xt_add(y, xt_mul(k, dt));
}

/* A step of the classical Runge-Kutta method: carry is y; what it puts out is y too. */
static void step_of_rk4(xt_tensor *carry, const xt_tensor *x, xt_tensor *out, void *user) {
    xt_module *m = user;
    xt_tensor y = carry[0], k1 = field(m, y, NULL), k2 = field(m, along(y, k1, DT / 2), NULL);
    xt_tensor k3 = field(m, along(y, k2, DT / 2), NULL), k4 = field(m, along(y, k3, DT), NULL);
    (void)x;
    y = along(along(along(along(y, k1, DT / 6), k2, DT / 3), k3, DT / 3), k4, DT / 6);
    carry[0] = out[0] = y;
}

/* y0 [B,2] -> y at the following times [steps,B,2] */
static xt_tensor solve(xt_module *m, xt_tensor y0, int64_t steps) {
    xt_tensor path;
    xt_scan(step_of_rk4, 1, &y0, 0, NULL, 1, &path, .length = steps, .user = m);
    return path;
}

static float truth[TIMES + 1][2];

/* dy/dt = A y^3, by steps that are small enough to be exact */
static void make_truth(void) {
    double y[2] = {2, 0};
    for (int t = 0; t <= TIMES; t++) {
        truth[t][0] = (float)y[0], truth[t][1] = (float)y[1];
        for (int k = 0; k < 1000; k++) {
            double a = y[0] * y[0] * y[0], b = y[1] * y[1] * y[1];
            y[0] += DT / 1000 * (-0.1 * a + 2 * b);
            y[1] += DT / 1000 * (-2 * a - 0.1 * b);
        }
    }
}

static xt_tensor loss_of(xt_module *m) { /* on windows that begin anywhere */
    float y0[BATCH][2], target[WINDOW][BATCH][2];
    for (int b = 0; b < BATCH; b++) {
        int at = (int)(drand48() * (TIMES - WINDOW));
        memcpy(y0[b], truth[at], sizeof y0[b]);
        for (int t = 0; t < WINDOW; t++) memcpy(target[t][b], truth[at + 1 + t], sizeof y0[b]);
    }
    xt_tensor path = solve(m, xt_from_array(y0, XT_F32, BATCH, 2), WINDOW);
    return xt_l1_loss(path, xt_from_array(target, XT_F32, WINDOW, BATCH, 2));
}

static void picture(xt_module *m) {
    static float path[TIMES][2];
    static double x[2][TIMES], y[2][TIMES];
    xt_read(solve(m, xt_from_array(truth, XT_F32, 1, 2), TIMES), path, sizeof path);
    for (int t = 0; t < TIMES; t++) {
        x[0][t] = truth[t + 1][0], y[0][t] = truth[t + 1][1];
        x[1][t] = path[t][0], y[1][t] = path[t][1];
    }
    const xt_plot_series lines[] = {{"true", x[0], y[0], TIMES}, {"learned", x[1], y[1], TIMES}};
    gallery_try(xt_plot_lines("neural_ode.png", "from the same point on", "y0", lines, 2));
}

int main(int argc, char **argv) {
    gallery_begin(argc, argv, 1000, NULL);
    srand48(1);
    make_truth();
    xt_module *m = xt_module_new(field, NULL);
    xt_init_normal(m, "*.weight", .std = 0.1);
    xt_init_zeros(m, "*.bias");
    gallery_try(xt_module_build(m, (xt_spec){XT_F32, {BATCH, 2}}));
    gallery_save(m);
    xt_optimizer *rms = xt_rmsprop(m, .lr = 1e-3);
    for (int step = 0; step < gallery.steps; step++) {
        xt_tensor loss = loss_of(m);
        xt_backward(loss);
        xt_optimizer_step(rms);
        gallery_loss("loss", step, loss);
        xt_mark_step();
    }
    xt_no_grad_begin();
    if (!xt_error()) picture(m);
    xt_no_grad_end();
    return xt_finish();
}
