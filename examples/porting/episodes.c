/* Episodes of any length (policy gradients): arrays are as long as the longest one may be, and a weight of 0 takes out
 * what was not played. The program depends on the shape, so there is one. */
#include <string.h>

#include "check.h"

enum { EPISODES = 4, LONGEST = 10, SEEN = 3, ACTIONS = 2, UPDATES = 5 };

/* observations [...,SEEN] -> logits [...,ACTIONS] */
static xt_tensor policy(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_tanh(xt_linear(m, "in", x, 8)), ACTIONS);
}

typedef struct rollout {
    float seen[EPISODES][LONGEST][SEEN], weight[EPISODES][LONGEST]; /* the return from there on; 0 behind the end */
    int64_t action[EPISODES][LONGEST]; /* anything behind the end */
    int length[EPISODES];
} rollout;

/* A stand-in for an environment; update k's episodes are of other lengths than those of the one before. */
static void play(rollout *r, int k) {
    memset(r, 0, sizeof *r);
    for (int e = 0; e < EPISODES; e++) {
        r->length[e] = 1 + (e * 3 + k * 7) % LONGEST;
        for (int t = 0; t < r->length[e]; t++) {
            for (int i = 0; i < SEEN; i++) r->seen[e][t][i] = sinf((float)(e + 3 * t + 5 * i + k));
            r->action[e][t] = (e + t + k) % ACTIONS;
            r->weight[e][t] = (float)(r->length[e] - t) / LONGEST;
        }
    }
}

static xt_tensor policy_loss(xt_module *m, const rollout *r) {
    xt_tensor logits = xt_forward(m, xt_from_array(r->seen, XT_F32, EPISODES, LONGEST, SEEN));
    xt_tensor action = xt_from_array(r->action, XT_I64, EPISODES, LONGEST);
    xt_tensor weight = xt_from_array(r->weight, XT_F32, EPISODES, LONGEST);
    xt_tensor surprise = xt_cross_entropy(logits, action, .reduction = XT_NONE, .axis = -1); /* -log pi(action) */
    return xt_div(xt_sum(xt_mul(surprise, weight)), EPISODES);
}

/* The same for one episode as long as it is. */
static xt_tensor unpadded_loss(xt_module *m, const rollout *r, int e) {
    int n = r->length[e];
    xt_tensor logits = xt_forward(m, xt_from_array(r->seen[e], XT_F32, n, SEEN));
    xt_tensor surprise = xt_cross_entropy(logits, xt_from_array(r->action[e], XT_I64, n), .reduction = XT_NONE);
    return xt_div(xt_sum(xt_mul(surprise, xt_from_array(r->weight[e], XT_F32, n))), EPISODES);
}

int main(void) {
    static rollout r;
    float got[8 * SEEN], want[8 * SEEN];
    xt_module *m = xt_module_new(policy, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    for (int k = 0; k < UPDATES; k++) {
        play(&r, k);
        xt_backward(policy_loss(m, &r));
        xt_optimizer_step(sgd);
        xt_mark_step();
    }
    xt_wait();
    check_programs("training", programs(), 1);
    xt_backward(policy_loss(m, &r));
    xt_read(xt_grad(xt_module_find(m, "in.weight")), got, sizeof got);
    xt_zero_grad(sgd);
    for (int e = 0; e < EPISODES; e++) xt_backward(unpadded_loss(m, &r, e));
    xt_read(xt_grad(xt_module_find(m, "in.weight")), want, sizeof want);
    check_close("gradients with and without padding", got, want, 8 * SEEN, 1e-6);
    return xt_finish() || faults;
}
