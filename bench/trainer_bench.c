/* What the Trainer costs over a loop of one's own.
 *
 *     trainer_bench [STEPS [ROUNDS [plain|logged|trainer]]]
 *
 * The MNIST step (batch 128, f32) three times, in turns: same network, same batches, same optimizer. `plain` is the
 * loop that knows nothing of its loss; `logged` the same with xt_log of the loss, which is what the Trainer's steps do
 * too; `trainer` the Trainer with its logs (CSV, TensorBoard, a row every 50 steps) and its lines of progress. After
 * the first 20 batches, which compile, time is taken in blocks of 50 steps, each with one row of logs: wall time, the
 * processor time of the whole process, and that of the thread that records the steps. Each round runs them in another
 * order. Of all blocks the fastest, the fastest quarter and the median are printed, the recording thread's time in
 * percent of the loop's wall time: other work on the machine makes blocks longer, never shorter, so on a loaded machine
 * believe the first two. With a name only that one runs, for a profiler: what 2 runs of different STEPS differ by is
 * what the steps cost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lazy/lazy.h"
#include "models/models.h"
#include <xtrain/xtrain.h>

enum { BATCH = 128, FIRST = 20, BLOCK = 50, MOST_ROUNDS = 64, MOST_BLOCKS = 4096 };
static const model *mnist;
static model_options options;

typedef enum way { PLAIN, LOGGED, TRAINER, WAYS } way;
static const char *const way_names[WAYS] = {"plain", "logged", "trainer"};

enum { WALL, PROCESS, THREAD, CLOCKS };
static const char *const clock_names[CLOCKS] = {"wall time of a step", "processor time", "recording thread"};

/* Milliseconds a step of each block. */
typedef struct blocks {
    double ms[CLOCKS][MOST_BLOCKS];
    int n;
    int64_t began[CLOCKS]; /* nanoseconds, where the block began */
} blocks;
static blocks all[WAYS];

static int64_t of_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* At the begin of each step. */
static void tick(way w, int64_t index) {
    if (index < FIRST || (index - FIRST) % BLOCK) return;
    blocks *b = &all[w];
    int64_t now[CLOCKS] = {clock_ns(), of_clock(CLOCK_PROCESS_CPUTIME_ID), of_clock(CLOCK_THREAD_CPUTIME_ID)};
    if (index > FIRST && b->n < MOST_BLOCKS) {
        for (int c = 0; c < CLOCKS; c++) b->ms[c][b->n] = (double)(now[c] - b->began[c]) / 1e6 / BLOCK;
        b->n++;
    }
    memcpy(b->began, now, sizeof now);
}

static void mute(xt_severity sev, const char *text, size_t n, void *user) {
    (void)user;
    if (sev == XT_SEV_ERROR) fwrite(text, 1, n, stderr);
}

static xt_loader *data(int64_t steps) {
    return xt_sample_loader(.batch = BATCH, .count = steps, .x = {XT_F32, {1, 28, 28}}, .y = {XT_I64});
}

static void loop(way w, int64_t steps) {
    xt_module *net = xt_module_new(mnist->net, &options);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_loader *loader = data(steps);
    for (xt_batch b; xt_next(loader, &b);) {
        tick(w, b.index);
        xt_tensor loss = mnist->loss(xt_forward(net, b.x), b.y);
        if (w == LOGGED) xt_log("train/loss", loss);
        xt_backward(loss);
        xt_optimizer_step(sgd);
    }
    lazy_drain();
    xt_loader_free(loader);
    xt_optimizer_free(sgd);
    xt_module_free(net);
}

static xt_tensor training_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    tick(TRAINER, b.index);
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

static void compare(int clock) {
    static const struct {
        const char *name;
        double at;
    } points[] = {{"fastest", 0}, {"fastest quarter", 0.125}, {"median", 0.5}}; /* of the fastest quarter its middle */
    for (int w = 0; w < WAYS; w++)
        if (all[w].n) qsort(all[w].ms[clock], (size_t)all[w].n, sizeof(double), by_value);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        double ms[WAYS] = {0};
        printf("%-19s %-15s", clock_names[clock], points[i].name);
        for (int w = 0; w < WAYS; w++) {
            if (all[w].n == 0) continue;
            ms[w] = all[w].ms[clock][(int)(points[i].at * all[w].n)];
            printf("  %s %.4f ms", way_names[w], ms[w]);
        }
        for (int w = PLAIN; w < TRAINER; w++)
            if (all[w].n && all[TRAINER].n)
                printf("  over %s %+.2f %%", way_names[w],
                       100 * (ms[TRAINER] - ms[w]) /
                           (clock == THREAD ? all[w].ms[WALL][(int)(points[i].at * all[w].n)] : ms[w]));
        printf("\n");
    }
}

int main(int argc, char **argv) {
    static const way orders[][WAYS] = {{PLAIN, LOGGED, TRAINER}, {TRAINER, PLAIN, LOGGED}, {LOGGED, TRAINER, PLAIN}};
    int64_t steps = argc > 1 ? atoll(argv[1]) : 400;
    int rounds = argc > 2 ? atoi(argv[2]) : 10, only = argc > 3 ? 0 : -1;
    char dir[] = "/tmp/xt_trainer_bench_XXXXXX", command[128], why[256];
    while (only >= 0 && only < WAYS && strcmp(argv[3], way_names[only]) != 0) only++;
    mnist = model_find("mnist");
    if (only == WAYS || steps < 2 * FIRST || rounds < 1 || rounds > MOST_ROUNDS || !mkdtemp(dir) ||
        !model_settle(mnist, &options, why, sizeof why)) {
        fprintf(stderr, "trainer_bench [STEPS [ROUNDS [plain|logged|trainer]]]: at least %d steps, 1 to %d rounds\n",
                2 * FIRST, MOST_ROUNDS);
        return 2;
    }
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_RUNS_DIR", dir, 1);
    xt_set_sink(mute, NULL);
    for (int i = 0; i < rounds * WAYS; i++) {
        way w = orders[i / WAYS % WAYS][i % WAYS];
        if (only >= 0 && (int)w != only) continue;
        if (w != TRAINER)
            loop(w, steps);
        else if (trainer(steps, dir))
            return 1;
    }
    for (int c = 0; c < CLOCKS; c++) compare(c);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    int code = xt_finish();
    return system(command) ? 1 : code;
}
