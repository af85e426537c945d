/* fit_signals HOW [N]: a fit of some steps, in which SIGTERM comes at the N-th file that is brought to the disk or to
 * its name, and says what became of it. Without N it says how many there are. The library's calls of fsync and rename
 * come here, as the program stands before it.
 *   plain     the trainer's own checkpoint
 *   pending   one behind each epoch, by the thread that writes them
 *   threads   another thread's fit has begun before this one and ends in it: the signal comes behind that
 *   saving    another thread is writing a file when the fit begins */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>

enum { SAMPLES = 32, EPOCHS = 2 };
static float x[SAMPLES][4];
static int64_t y[SAMPLES];
static atomic_bool watches;
static atomic_int files;
static int at = -1;
static pthread_barrier_t first, second;
static _Thread_local bool waits; /* this thread's fit, or file, at its first step */

static void meet(void) {
    if (!waits) return;
    waits = false;
    pthread_barrier_wait(&first);
    pthread_barrier_wait(&second);
}
static void brought(void) {
    meet();
    if (watches && atomic_fetch_add(&files, 1) == at) kill(getpid(), SIGTERM);
}
int fsync(int fd) {
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    brought();
    return next(fd);
}
int rename(const char *from, const char *to) {
    int (*next)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    brought();
    return next(from, to);
}

static xt_tensor net(xt_module *m, xt_tensor in, void *user) {
    (void)user;
    return xt_linear(m, "fc", in, 3);
}
static pthread_t other;
static bool fits, saves; /* the other thread: the signal comes in the first step of this one's fit */
static void first_step(void) {
    if (fits) pthread_barrier_wait(&second), pthread_join(other, NULL);
    if (fits || saves) kill(getpid(), SIGTERM);
}
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    static bool began;
    meet();
    if (user && !began) began = true, first_step();
    xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
    xt_log("train/loss", loss);
    return loss;
}
static xt_optimizer *optimizer(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}
static int fit(xt_trainer *t, void *user) {
    xt_dataset *ds = xt_array_dataset(x, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_I64}, SAMPLES);
    xt_task task = {.net = net, .training_step = training_step, .configure_optimizers = optimizer, .user = user};
    return xt_fit(t, &task, xt_loader_new(ds, .batch = 16));
}

static void *fit_in_thread(void *user) {
    (void)user;
    waits = true;
    fit(xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF, .progress_bar = XT_OFF), NULL);
    return NULL;
}
static void *save_in_thread(void *user) {
    xt_module *m = xt_module_new(net, NULL);
    (void)user;
    (void)xt_forward(m, xt_ones(XT_F32, 2, 4));
    (void)xt_mark_step();
    waits = true;
    xt_status s = xt_save(m, "saved.safetensors");
    printf("saved: %s\n", s ? xt_status_message(s) : "fine");
    xt_status_free(s);
    return NULL;
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    fits = strcmp(how, "threads") == 0, saves = strcmp(how, "saving") == 0;
    if (argc > 2) at = atoi(argv[2]);
    for (int i = 0; i < SAMPLES; i++) y[i] = i % 3, x[i][i % 4] = 1;
    xt_trainer *t = xt_trainer_new(.max_epochs = EPOCHS, .runs_dir = "runs", .loggers = "csv,jsonl,tensorboard",
                                   .log_every_n_steps = 1, .progress_bar = XT_OFF, .model_summary = XT_OFF);
    if (strcmp(how, "pending") == 0) xt_trainer_add(t, xt_model_checkpoint());
    pthread_barrier_init(&first, NULL, 2);
    pthread_barrier_init(&second, NULL, 2);
    if (fits || saves) {
        pthread_create(&other, NULL, fits ? fit_in_thread : save_in_thread, NULL);
        pthread_barrier_wait(&first);
    }
    watches = !fits && !saves;
    int code = fit(t, t);
    watches = false;
    if (saves) pthread_barrier_wait(&second), pthread_join(other, NULL);
    printf("fit %d, step %lld, %d files\n", code, (long long)xt_trainer_global_step(t), files);
    return xt_finish();
}
