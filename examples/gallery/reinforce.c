/* REINFORCE (Williams 1992) on CartPole: a pole on a cart is kept upright by pushing left or right, and what was done
 * in episodes that went well becomes more likely. Ends in reinforce.png: how long the pole stayed up. */
#include "gallery.h"
#include <math.h>

enum { EPISODES = 16, LONGEST = 200, SEEN = 4 };

typedef struct rollout { /* one row an episode; behind its end the weight is 0 */
    float seen[EPISODES][LONGEST][SEEN], weight[EPISODES][LONGEST];
    int64_t action[EPISODES][LONGEST];
    int length[EPISODES];
} rollout;

/* The equations of Barto, Sutton and Anderson (1983), as Gymnasium has them. False when the pole has fallen. */
static bool push(double s[SEEN], bool right) {
    double force = right ? 10 : -10, sine = sin(s[2]), cosine = cos(s[2]);
    double push = (force + 0.05 * s[3] * s[3] * sine) / 1.1;
    double turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1));
    double run = push - 0.05 * turn * cosine / 1.1, change[SEEN] = {s[1], run, s[3], turn};
    for (int k = 0; k < SEEN; k++) s[k] += 0.02 * change[k];
    return fabs(s[0]) < 2.4 && fabs(s[2]) < 0.2095;
}

/* what is seen [...,SEEN] -> logits of left and right [...,2] */
static xt_tensor policy(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc2", xt_tanh(xt_linear(m, "fc1", x, 32)), 2);
}

static xt_tensor act(const xt_tensor *in, int n, void *m) { /* the probability of a push to the right */
    (void)n;
    return xt_select(xt_softmax(xt_forward(m, in[0]), 1), 1, 1);
}

/* All episodes at once, a step of each in turn. */
static bool play(rollout *r, xt_step *step) {
    double state[EPISODES][SEEN];
    bool up[EPISODES];
    memset(r, 0, sizeof *r);
    for (int e = 0; e < EPISODES; e++) {
        up[e] = true;
        for (int k = 0; k < SEEN; k++) state[e][k] = 0.1 * drand48() - 0.05;
    }
    xt_no_grad_begin();
    for (int t = 0; t < LONGEST; t++) {
        float seen[EPISODES][SEEN], right[EPISODES];
        int playing = 0;
        for (int e = 0; e < EPISODES; e++)
            for (int k = 0; k < SEEN; k++) seen[e][k] = (float)state[e][k];
        if (!xt_read(xt_call(step, xt_from_array(seen, XT_F32, EPISODES, SEEN)), right, sizeof right)) return false;
        for (int e = 0; e < EPISODES; e++) {
            bool push_right = drand48() < right[e];
            if (!up[e]) continue;
            memcpy(r->seen[e][t], seen[e], sizeof seen[e]);
            r->action[e][t] = push_right;
            up[e] = push(state[e], push_right);
            r->length[e]++;
            playing += up[e];
        }
        if (!playing) break;
    }
    xt_no_grad_end();
    return true;
}

/* Each action counts by the reward from there on, less the mean and in standard deviations. Gives the mean length. */
static double weigh(rollout *r) {
    double n = 0, sum = 0, squares = 0, mean, std;
    for (int e = 0; e < EPISODES; e++)
        for (int t = r->length[e] - 1, left = 0; t >= 0; t--) {
            double reward = left == 0 ? 1 : 1 + 0.98 * r->weight[e][t + 1];
            r->weight[e][t] = (float)reward;
            left++, n++, sum += reward, squares += reward * reward;
        }
    mean = sum / n, std = sqrt(squares / n - mean * mean) + 1e-6;
    for (int e = 0; e < EPISODES; e++)
        for (int t = 0; t < r->length[e]; t++) r->weight[e][t] = (float)((r->weight[e][t] - mean) / std / n);
    return n / EPISODES;
}

int main(int argc, char **argv) {
    static rollout r;
    gallery_begin(argc, argv, 80, NULL);
    srand48(1);
    xt_module *m = xt_module_new(policy, NULL);
    gallery_try(xt_module_build(m, (xt_spec){XT_F32, {EPISODES, SEEN}}));
    gallery_save(m);
    xt_optimizer *adam = xt_adam(m, .lr = 0.01);
    xt_step *step = xt_compile(act, .user = m);
    double *update = calloc((size_t)gallery.steps + 1, sizeof(double));
    double *length = calloc((size_t)gallery.steps + 1, sizeof(double));
    for (int k = 0; k < gallery.steps && update && length && play(&r, step); k++) {
        update[k] = k;
        length[k] = weigh(&r);
        xt_tensor logits = xt_forward(m, xt_from_array(r.seen, XT_F32, EPISODES, LONGEST, SEEN));
        xt_tensor action = xt_from_array(r.action, XT_I64, EPISODES, LONGEST);
        xt_tensor surprise = xt_cross_entropy(logits, action, .reduction = XT_NONE, .axis = -1); /* -log pi */
        xt_tensor loss = xt_sum(xt_mul(surprise, xt_from_array(r.weight, XT_F32, EPISODES, LONGEST)));
        xt_backward(loss);
        xt_optimizer_step(adam);
        gallery_loss("loss", k, loss);
        if (k < 10 || k % 10 == 9) printf("length %d %g\n", k, length[k]);
        xt_mark_step();
    }
    const xt_plot_series series = {"mean of 16 episodes", update, length, gallery.steps};
    if (!xt_error()) gallery_try(xt_plot_lines("reinforce.png", "how long the pole stays up", "update", &series, 1));
    free(update);
    free(length);
    return xt_finish();
}
