/* Weak scaling of the MNIST step: one single-threaded rank, then two (or RANKS), then as many programs of one rank that
 * know nothing of each other, batch 128 each, in turns.
 *
 *     scaling_bench [ROUNDS [RANKS [STEPS]]]
 *
 * Prints for a plain loop and for a compiled step function the fastest fifth and the median over windows of ten steps,
 * and how many times the images of one rank they do; what the programs apart do is what the machine's cores give side
 * by side. Runs in which somebody else had a core show in the median. */
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
static struct times {
    double fast, median;
} * result; /* of each program's rank 0, in memory that all processes share */
static int program; /* which of those that run at once */
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
        if (compiled)
            xt_call(compiled, b.x, b.y);
        else
            step((xt_tensor[]){b.x, b.y}, 2, NULL);
    }
    qsort(window, (size_t)n, sizeof *window, by_value);
    if (rank == 0 && n) {
        result[program].fast = window[n / 5];
        result[program].median = window[n / 2];
    }
    return xt_finish();
}

/* `programs` of `ranks` ranks each, at the same time; gives the mean over the programs where it is better than
 * what is there. */
static int run(int programs, int ranks, bool compiled, double *fast, double *median) {
    char count[12];
    double mean_fast = 0, mean_median = 0;
    int failed = 0, status;
    snprintf(count, sizeof count, "%d", ranks);
    setenv("CPU_NUM_DEVICES", count, 1);
    fflush(NULL);
    for (program = 0; program < programs; program++)
        if (fork() == 0) exit(xt_launch(train, compiled ? "c" : ""));
    while (wait(&status) > 0) failed |= status != 0;
    for (int p = 0; p < programs; p++) {
        mean_fast += result[p].fast / programs;
        mean_median += result[p].median / programs;
    }
    if (mean_fast < *fast || *fast == 0) *fast = mean_fast;
    if (mean_median < *median || *median == 0) *median = mean_median;
    return failed;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 3, ranks = argc > 2 ? atoi(argv[2]) : 2;
    if (argc > 3) steps = atoll(argv[3]);
    if (rounds < 1 || ranks < 1 || ranks > MOST || steps < 2 * WARM) {
        fprintf(stderr, "scaling_bench [ROUNDS [RANKS [STEPS]]]: at least one round and rank, and %d steps\n",
                2 * WARM);
        return 2;
    }
    result = mmap(NULL, (size_t)ranks * sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setenv("XT_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("XT_SUMMARY", "off", 1);
    enum { ONE, TOGETHER, APART, WAYS };
    double fast[2][WAYS] = {{0}}, median[2][WAYS] = {{0}};
    for (int r = 0; r < rounds; r++)
        for (int c = 0; c < 2; c++)
            for (int w = 0; w < WAYS; w++)
                if (run(w == APART ? ranks : 1, w == TOGETHER ? ranks : 1, c == 1, &fast[c][w], &median[c][w]))
                    return 1;
    for (int c = 0; c < 2; c++)
        printf("%s: one rank %.3f ms a step (median %.3f); %d ranks %.3f (%.3f): %.2f times the images of one (medians "
               "%.2f); %d apart %.3f (%.3f): %.2f times (%.2f)\n",
               c ? "compiled step" : "plain loop   ", fast[c][ONE], median[c][ONE], ranks, fast[c][TOGETHER],
               median[c][TOGETHER], ranks * fast[c][ONE] / fast[c][TOGETHER],
               ranks * median[c][ONE] / median[c][TOGETHER], ranks, fast[c][APART], median[c][APART],
               ranks * fast[c][ONE] / fast[c][APART], ranks * median[c][ONE] / median[c][APART]);
    return 0;
}
