/* Keeps four bytes a step that nobody gives back: too little for any report to show, until the run dies at step 48,000.
 * The alarm names the line after some 1,200 steps. With "kill" it ends as the kernel would end it, without a word, and
 * leaves its black box behind. */
#include <signal.h>
#include <string.h>
#include <xtrain/xtrain.h>

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1);
}

static xt_tensor losses[2000];

int main(int argc, char **argv) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.01);
    static float data[16][4];
    for (int i = 0; i < 2000; i++) {
        xt_tensor x = xt_from_array(data, XT_F32, 16, 4);
        xt_tensor loss = xt_mean(xt_square(xt_add(xt_forward(m, x), -1)));
        losses[i] = xt_keep(loss); /* to plot them later */
        xt_backward(loss);
        xt_optimizer_step(sgd);
        if (!xt_mark_step()) break;
        if (argc > 1 && strcmp(argv[1], "kill") == 0 && i == 1800) raise(SIGKILL);
    }
    return xt_finish();
}
