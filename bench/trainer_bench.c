/* What the Trainer costs over the plain loop.    trainer_bench [STEPS [ROUNDS [plain|trainer]]]
 * The MNIST step (batch 128, f32) in both, in turns: same network, same batches, same optimizer; the Trainer with its logs (CSV, TensorBoard, a row every 50
 * steps) and its lines of progress. After the first 20 batches, which compile, time is taken in blocks of 50 steps, each with one row of logs: wall time and
 * the processor time of the whole process. Rounds begin with the loop and with the Trainer in turn. Of all blocks the fastest, the fastest quarter and the
 * median are printed: other work on the machine makes blocks longer, never shorter, so on a loaded machine believe the first two. With `plain` or `trainer`
 * only that one runs, for a profiler: what 2 runs of different STEPS differ by is what the steps cost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lazy/lazy.h"
#include "models/models.h"
#include <xtrain/xtrain.h>

enum { BATCH = 128, FIRST = 20, BLOCK = 50, MOST_ROUNDS = 64, MOST_BLOCKS = 4096 };
static const model *mnist;
static model_options options;

/* Milliseconds a step of each block. */
typedef struct blocks {
    double wall[MOST_BLOCKS], cpu[MOST_BLOCKS];
    int n;
    int64_t wall_ns, cpu_ns; /* where the block began */
} blocks;
static blocks loop_blocks, fit_blocks;

static int64_t cpu_ns(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 + ((int64_t)u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* At the begin of each step. */
static void tick(blocks *b, int64_t index) {
    if (index < FIRST || (index - FIRST) % BLOCK) return;
    int64_t wall = clock_ns(), cpu = cpu_ns();
    if (index > FIRST && b->n < MOST_BLOCKS) {
        b->wall[b->n] = (double)(wall - b->wall_ns) / 1e6 / BLOCK;
        b->cpu[b->n++] = (double)(cpu - b->cpu_ns) / 1e6 / BLOCK;
    }
    b->wall_ns = wall;
    b->cpu_ns = cpu;
}

static void mute(xt_severity sev, const char *text, size_t n, void *user) {
    (void)user;
    if (sev == XT_SEV_ERROR) fwrite(text, 1, n, stderr);
}

static xt_loader *data(int64_t steps) {
    return xt_sample_loader(.batch = BATCH, .count = steps, .x = {XT_F32, {1, 28, 28}}, .y = {XT_I64});
}

static void plain(int64_t steps) {
    xt_module *net = xt_module_new(mnist->net, &options);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_loader *loader = data(steps);
    for (xt_batch b; xt_next(loader, &b);) {
        tick(&loop_blocks, b.index);
        xt_backward(mnist->loss(xt_forward(net, b.x), b.y));
        xt_optimizer_step(sgd);
    }
    lazy_drain();
    xt_loader_free(loader);
    xt_optimizer_free(sgd);
    xt_module_free(net);
}

static xt_tensor training_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    tick(&fit_blocks, b.index);
    xt_tensor loss = mnist->loss(xt_forward(net, b.x), b.y);
    xt_log("train/loss", loss);
    return loss;
}
static xt_optimizer *configure(xt_module *net, void *user) {
    (void)user;
    return xt_sgd(net, .lr = 0.01, .momentum = 0.5);
}

static int trainer(int64_t steps, const char *dir) {
    xt_module *net = xt_module_new(mnist->net, &options);
    xt_task task = {.module = net, .training_step = training_step, .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .runs_dir = dir);
    int code = xt_fit(t, &task, data(steps));
    xt_trainer_free(t);
    xt_module_free(net);
    return code;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(const char *what, double *loop, int n_loop, double *fit, int n_fit) {
    static const struct {
        const char *name;
        double at;
    } points[] = {{"fastest", 0}, {"fastest quarter", 0.125}, {"median", 0.5}};
    if (n_loop) qsort(loop, (size_t)n_loop, sizeof *loop, by_value);
    if (n_fit) qsort(fit, (size_t)n_fit, sizeof *fit, by_value);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) { /* of the fastest quarter its middle */
        printf("%s, %-15s", what, points[i].name);
        double a = n_loop ? loop[(int)(points[i].at * n_loop)] : 0, b = n_fit ? fit[(int)(points[i].at * n_fit)] : 0;
        if (n_loop) printf("  plain loop %.4f ms", a);
        if (n_fit) printf("  Trainer %.4f ms", b);
        if (n_loop && n_fit) printf("  %+.2f %%", 100 * (b / a - 1));
        printf("\n");
    }
}

int main(int argc, char **argv) {
    int64_t steps = argc > 1 ? atoll(argv[1]) : 400;
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    const char *only = argc > 3 ? argv[3] : NULL;
    char dir[] = "/tmp/xt_trainer_bench_XXXXXX", command[128], why[256];
    mnist = model_find("mnist");
    bool known = !only || strcmp(only, "plain") == 0 || strcmp(only, "trainer") == 0;
    if (!known || steps < 2 * FIRST || rounds < 1 || rounds > MOST_ROUNDS || !mkdtemp(dir) || !model_settle(mnist, &options, why, sizeof why)) {
        fprintf(stderr, "trainer_bench [STEPS [ROUNDS [plain|trainer]]]: at least %d steps, 1 to %d rounds\n", 2 * FIRST, MOST_ROUNDS);
        return 2;
    }
    setenv("XT_SUMMARY", "off", 1);
    xt_set_sink(mute, NULL);
    for (int i = 0; i < 2 * rounds; i++) {
        bool fits = (i + 1) / 2 % 2; /* loop, Trainer, Trainer, loop, ... */
        if (only) fits = strcmp(only, "trainer") == 0;
        if (only && i >= rounds) break;
        if (!fits) plain(steps);
        else if (trainer(steps, dir)) return 1;
    }
    compare("wall time of a step", loop_blocks.wall, loop_blocks.n, fit_blocks.wall, fit_blocks.n);
    compare("processor time", loop_blocks.cpu, loop_blocks.n, fit_blocks.cpu, fit_blocks.n);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    int code = xt_finish();
    return system(command) ? 1 : code;
}
