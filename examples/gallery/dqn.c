/* Deep Q-learning (Mnih et al. 2013) on CartPole: a replay memory, and a target network that follows slowly (PyTorch's
 * tutorial). Ends in dqn.png: how long the pole stayed up in each episode. */
#include "gallery.h"
#include <math.h>

enum { MEMORY = 10000, BATCH = 128, SEEN = 4, LONGEST = 200 };

static struct {
    float seen[MEMORY][SEEN], next[MEMORY][SEEN], goes_on[MEMORY];
    int64_t action[MEMORY];
    int n;
} memory;

/* The equations of Barto, Sutton and Anderson (1983), as Gymnasium has them. False when the pole has fallen. */
static bool push(double s[SEEN], bool right) {
    double force = right ? 10 : -10, sine = sin(s[2]), cosine = cos(s[2]);
    double push = (force + 0.05 * s[3] * s[3] * sine) / 1.1;
    double turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1));
    double run = push - 0.05 * turn * cosine / 1.1, change[SEEN] = {s[1], run, s[3], turn};
    for (int k = 0; k < SEEN; k++) s[k] += 0.02 * change[k];
    return fabs(s[0]) < 2.4 && fabs(s[2]) < 0.2095;
}

/* what is seen [...,SEEN] -> what left and right are worth [...,2] */
static xt_tensor worth(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_linear(m, "layer1", x, 128));
    x = xt_relu(xt_linear(m, "layer2", x, 128));
    return xt_linear(m, "layer3", x, 2);
}

static xt_tensor act(const xt_tensor *in, int n, void *m) {
    (void)n;
    return xt_argmax(xt_forward(m, in[0]), 1);
}

/* One step of the environment, remembered; a new episode where it has ended. Its length then, else 0. */
static int play(double s[SEEN], int *length, double at_random, xt_step *step) {
    float seen[1][SEEN];
    int64_t best[1] = {0};
    for (int k = 0; k < SEEN; k++) seen[0][k] = (float)s[k];
    bool guess = drand48() < at_random;
    if (guess)
        best[0] = drand48() < 0.5;
    else if (!xt_read(xt_call(step, xt_from_array(seen, XT_F32, 1, SEEN)), best, sizeof best))
        return -1;
    bool up = push(s, best[0]);
    int k = memory.n++ % MEMORY, ended = !up || ++*length == LONGEST ? *length + !up : 0;
    for (int i = 0; i < SEEN; i++) memory.seen[k][i] = seen[0][i], memory.next[k][i] = (float)s[i];
    memory.action[k] = best[0], memory.goes_on[k] = up;
    for (int i = 0; ended && i < SEEN; i++) s[i] = 0.1 * drand48() - 0.05;
    if (ended) *length = 0;
    return ended;
}

static xt_tensor loss_of(xt_module *policy, xt_module *target) {
    float seen[BATCH][SEEN], next[BATCH][SEEN], goes_on[BATCH];
    int64_t action[BATCH][1];
    for (int i = 0; i < BATCH; i++) {
        int k = (int)(drand48() * (memory.n < MEMORY ? memory.n : MEMORY));
        memcpy(seen[i], memory.seen[k], sizeof seen[i]);
        memcpy(next[i], memory.next[k], sizeof next[i]);
        action[i][0] = memory.action[k], goes_on[i] = memory.goes_on[k];
    }
    xt_tensor is = xt_gather(xt_forward(policy, xt_from_array(seen, XT_F32, BATCH, SEEN)), 1,
                             xt_from_array(action, XT_I64, BATCH, 1));
    xt_no_grad_begin();
    xt_tensor best = xt_amax(xt_forward(target, xt_from_array(next, XT_F32, BATCH, SEEN)), XT_AXES(1));
    best = xt_add(xt_mul(xt_mul(best, xt_from_array(goes_on, XT_F32, BATCH)), 0.99), 1);
    xt_no_grad_end();
    return xt_smooth_l1_loss(is, xt_unsqueeze(best, 1));
}

int main(int argc, char **argv) {
    double state[SEEN] = {0}, *episode, *length;
    int under_way = 0, episodes = 0;
    gallery_begin(argc, argv, 6000, NULL);
    srand48(1);
    xt_module *policy = xt_module_new(worth, NULL), *target = xt_module_new(worth, NULL);
    gallery_try(xt_module_build(policy, (xt_spec){XT_F32, {BATCH, SEEN}}));
    gallery_try(xt_module_build(target, (xt_spec){XT_F32, {BATCH, SEEN}}));
    gallery_save(policy);
    for (int i = 0; i < xt_module_tensors(policy); i++)
        xt_assign(xt_module_tensor(target, i), xt_module_tensor(policy, i));
    xt_optimizer *adam = xt_adamw(policy, .lr = 1e-3, .amsgrad = XT_ON);
    xt_step *step = xt_compile(act, .user = policy);
    episode = calloc((size_t)gallery.steps + BATCH, sizeof *episode);
    length = calloc((size_t)gallery.steps + BATCH, sizeof *length);
    while (memory.n < BATCH) play(state, &under_way, 1, step);
    for (int k = 0; k < gallery.steps && episode && length; k++) {
        int ended = play(state, &under_way, 0.05 + 0.85 * exp(-k / 1000.0), step);
        if (ended < 0) break;
        if (ended > 0) episode[episodes] = episodes, length[episodes++] = ended;
        xt_tensor loss = loss_of(policy, target);
        xt_backward(loss);
        xt_clip_grad_value_(adam, 100);
        xt_optimizer_step(adam);
        for (int i = 0; i < xt_module_tensors(policy); i++) { /* the target follows */
            xt_tensor t = xt_module_tensor(target, i);
            xt_assign(t, xt_lerp_scalar(t, xt_module_tensor(policy, i), 0.005));
        }
        gallery_loss("loss", k, loss);
        xt_mark_step();
    }
    const xt_plot_series series = {"steps", episode, length, episodes};
    if (!xt_error()) gallery_try(xt_plot_lines("dqn.png", "how long the pole stays up", "episode", &series, 1));
    return free(episode), free(length), xt_finish();
}
