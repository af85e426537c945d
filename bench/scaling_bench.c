/* Weak scaling of the MNIST step: one single-threaded rank, then two (or RANKS), batch 128 each, in turns.    scaling_bench [ROUNDS [RANKS [STEPS]]]
 * Prints for a plain loop and for a compiled step function the fastest fifth and the median over windows of ten steps, and how many times the images of one
 * rank the ranks do. Runs in which somebody else had a core show in the median. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xtrain/xtrain.h>

#include "models/models.h"

enum { WARM = 60, WINDOW = 10, MOST = 4096 };
static struct {
    double fast, median;
} *result; /* of rank 0, in memory that all processes share */
static int64_t steps = 500;
static xt_module *net;
static xt_optimizer *opt;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static xt_tensor step(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    xt_tensor loss = model_mnist.loss(xt_forward(net, in[0]), in[1]);
    xt_backward(loss);
    xt_optimizer_step(opt);
    return loss;
}

static int train(int rank, void *arg) {
    static double window[MOST];
    int n = 0;
    double began = 0;
    model_options o = {0};
    net = xt_module_new(model_mnist.net, &o);
    opt = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_step *compiled = *(const char *)arg ? xt_compile(step) : NULL;
    xt_loader *l = xt_sample_loader(.batch = 128, .count = steps, .x = {XT_F32, {1, 28, 28}}, .y = {XT_I64});
    for (xt_batch b; xt_next(l, &b);) {
        if (b.index >= WARM && b.index % WINDOW == 0 && n < MOST) {
            double t = now_ms();
            if (began > 0) window[n++] = (t - began) / WINDOW;
            began = t;
        }
        if (compiled) xt_call(compiled, b.x, b.y);
        else step((xt_tensor[]){b.x, b.y}, 2, NULL);
    }
    qsort(window, (size_t)n, sizeof *window, by_value);
    if (rank == 0 && n) {
        result->fast = window[n / 5];
        result->median = window[n / 2];
    }
    return xt_finish();
}

static int run(int ranks, bool compiled, double *fast, double *median) {
    char count[12];
    snprintf(count, sizeof count, "%d", ranks);
    setenv("CPU_NUM_DEVICES", count, 1);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) exit(xt_launch(train, compiled ? "c" : ""));
    int status = 1;
    waitpid(pid, &status, 0);
    if (status) return 1;
    if (result->fast < *fast || *fast == 0) *fast = result->fast;
    if (result->median < *median || *median == 0) *median = result->median;
    return 0;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 3, ranks = argc > 2 ? atoi(argv[2]) : 2;
    if (argc > 3) steps = atoll(argv[3]);
    result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setenv("XT_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("XT_SUMMARY", "off", 1);
    double fast[2][2] = {{0}}, median[2][2] = {{0}};
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < 4; k++)
            if (run(k % 2 ? ranks : 1, k > 1, &fast[k / 2][k % 2], &median[k / 2][k % 2])) return 1;
    for (int c = 0; c < 2; c++)
        printf("%s: one rank %.3f ms a step (median %.3f), %d ranks %.3f ms (median %.3f): %.2f times the images of one (medians %.2f)\n", c ? "compiled step" : "plain loop   ", fast[c][0],
               median[c][0], ranks, fast[c][1], median[c][1], ranks * fast[c][0] / fast[c][1], ranks * median[c][0] / median[c][1]);
    return 0;
}
