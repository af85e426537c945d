/* Sequences of any length, so each step asks for blocks of other sizes than the one before: what the allocator keeps is
 * free but fits nobody, peaks jump, and each length is a program of its own. With "1" lengths are rounded up to a few.
 *
 *     ./fragments 0|1 [STEPS] */
#include <stdlib.h>
#include <xtrain/xtrain.h>

enum { LONGEST = 4096, WIDE = 256 };

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_gelu(xt_linear(m, "in", x, WIDE)), 8);
}

/* 64 to 4096, as a corpus might have them. */
static int next_length(void) {
    static unsigned state = 1;
    state = state * 1103515245u + 12345u;
    return 64 * (1 + (int)((state >> 16) % 64));
}

static int rounded(int n) {
    int size = 1024;
    while (size < n) size *= 2;
    return size;
}

int main(int argc, char **argv) {
    static float data[LONGEST][16]; /* what a short sequence leaves is padding */
    int few = argc > 1 && atoi(argv[1]), steps = argc > 2 ? atoi(argv[2]) : 80;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.01);
    for (int i = 0; i < steps; i++) {
        int n = next_length();
        xt_tensor x = xt_from_array(data, XT_F32, few ? rounded(n) : n, 16);
        xt_tensor loss = xt_mean(xt_square(xt_forward(m, x)));
        xt_backward(loss);
        xt_optimizer_step(sgd);
        if (!xt_mark_step()) break;
    }
    xt_wait();
    xt_memory_report();
    return xt_finish();
}
