/* forked CASE: what would wait for a thread that is not there. Each case ends by itself, and says why.
 *   steps, reads, fits, loads, nothing: what a child does that was forked after the parent's first step
 *   frees SEED: every kind of handle, made before the fork, freed by the child in a drawn order, some left to exit()
 *   from STATE USE: what a child does (USE) of a parent that has not begun (before), is at work (within), or has ended
 *       all it did by xt_finish (after)
 *   next: xt_next inside a dataset's get        exits: pthread_exit inside it */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xtrain/xtrain.h>

static float data[64];
static const char *what;
static xt_loader *loader;

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1);
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_square(xt_forward(m, b.x)));
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static xt_loader *make_loader(void) {
    return xt_loader_new(xt_array_dataset(data, (xt_spec){XT_F32, {2}}, NULL, (xt_spec){0}, 8), .batch = 4);
}
static int fit(void) {
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = configure};
    return xt_fit(xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF), &task, make_loader(),
                  NULL);
}

static xt_status get(void *user, int64_t i, void *x, void *y) {
    xt_batch b;
    (void)user, (void)y;
    memset(x, 0, 2 * sizeof(float));
    if (i == 5 && !strcmp(what, "next")) xt_next(loader, &b);
    if (i == 5 && !strcmp(what, "exits")) pthread_exit(NULL);
    return NULL;
}

static int child(xt_tensor kept) {
    xt_batch b;
    if (!strcmp(what, "steps")) {
        xt_sum(xt_exp(xt_from_array(data, XT_F32, 8)));
        xt_mark_step();
    } else if (!strcmp(what, "reads"))
        printf("%g\n", xt_item(kept));
    else if (!strcmp(what, "fits"))
        return fit();
    else if (!strcmp(what, "loads"))
        printf("%d\n", xt_next(make_loader(), &b));
    else if (!strcmp(what, "nothing"))
        _exit(0);
    return xt_finish();
}

/* --- frees --- */
/* A row for each kind of handle.def that a program frees by itself; of the others the owner's frees them. */
static xt_tensor double_of(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return xt_add(in[0], in[0]);
}
static const char mlir[] = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }";
static xt_program *program(void) {
    xt_program *p = NULL;
    xt_status s = xt_program_parse(mlir, sizeof mlir - 1, "p", &p);
    xt_status_free(s);
    return p;
}
static xt_recording *recording(void) {
    xt_recording *r = NULL;
    FILE *f = fopen("one.mlir", "w");
    if (f) fputs(mlir, f), fclose(f);
    xt_status s = xt_recording_load("one.mlir", &r);
    xt_status_free(s);
    return r;
}
static xt_plan *plan(void) {
    xt_plan *p = NULL;
    xt_recording *r = recording();
    xt_status s = xt_plan_make(r, (xt_plan_opts){0}, &p);
    xt_status_free(s);
    return p;
}
static xt_status as_they_lie(void *user, const xt_epoch *e, int64_t *out) {
    (void)user;
    for (int64_t i = 0; i < e->count; i++) out[i] = i;
    return NULL;
}
static xt_sampler *sampler(void) {
    return xt_sampler_new(&(xt_sampler_desc){.count = 8, .order = as_they_lie});
}
static xt_loader *running_loader(void) { /* its threads are at work */
    xt_loader *l =
        xt_loader_new(xt_array_dataset(data, (xt_spec){XT_F32, {2}}, NULL, (xt_spec){0}, 8), .batch = 1, .workers = 3);
    xt_batch b;
    xt_next(l, &b);
    return l;
}
static xt_trainer *trainer_that_has_fitted(void) {
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .run_name = "forked");
    xt_fit(t, &task, make_loader(), NULL);
    return t;
}
#define KINDS(row)                                                                                                \
    row(module, xt_module_new(net, NULL)) row(optimizer, xt_sgd(xt_module_new(net, NULL), .lr = 0.1))             \
        row(loss_scaler, xt_loss_scaler_new()) row(dataset, xt_drawn_digits(4, 0)) row(sampler, sampler())        \
            row(loader, running_loader()) row(trainer, trainer_that_has_fitted()) row(running, xt_running_new(4)) \
                row(step, xt_compile(double_of)) row(mesh, xt_mesh_new({"data", 0})) row(program, program())      \
                    row(recording, recording()) row(plan, plan()) row(status, xt_status_new(XT_ABORTED, "one"))
enum {
#define NUMBER(kind, make) KIND_##kind,
    KINDS(NUMBER) KIND_COUNT,
    KIND_scheduler = KIND_optimizer,
    KIND_callback = KIND_trainer
};
/* A new kind of handle has no number here, and is to get a row. */
#define HANDLE(kind, word, advice, places) _Static_assert(KIND_##kind < KIND_COUNT, word);
#include "base/handle.def"
#define FREES(kind, make)                   \
    static void free_##kind(void *handle) { \
        xt_##kind##_free(handle);           \
    }
KINDS(FREES)
#define FUNCTION(kind, make) free_##kind,
static void (*const frees[])(void *) = {KINDS(FUNCTION)};

static int frees_in_child(unsigned seed) {
#define MADE(kind, make) make,
    void *all[KIND_COUNT] = {KINDS(MADE)};
    for (int i = 0; i < KIND_COUNT; i++)
        if (!all[i]) return 7;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        int order[KIND_COUNT];
        for (int i = 0; i < KIND_COUNT; i++) {
            int k = (int)((unsigned)rand_r(&seed) % (unsigned)(i + 1));
            order[i] = order[k];
            order[k] = i;
        }
        double sums[4];
        if (seed % 2) xt_loader_set_epoch(all[KIND_loader], 0, 0); /* they wait for the same threads */
        if (seed % 2) xt_logged_sums("loss", sums, 4);
        for (int i = (int)(seed % 3); i < KIND_COUNT; i++) frees[order[i]](all[order[i]]);
        exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 200);
    for (int i = 0; i < KIND_COUNT; i++) frees[i](all[i]); /* the parent's are whole */
    return xt_finish();
}

/* --- from --- */
static atomic_int arrived;
static void ready(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)user, (void)data, (void)bytes, (void)dtype;
    arrived++;
}
static xt_tensor logged_step(xt_module *m, xt_batch b, void *user) {
    xt_tensor loss = step(m, b, user);
    xt_log("train/loss", loss);
    return loss;
}
static int fit_and_write(void) {
    xt_task task = {.net = net, .training_step = logged_step, .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .run_name = "from", .log_every_n_steps = 1);
    int code = xt_fit(t, &task, make_loader(), NULL);
    xt_trainer_free(t);
    return code;
}
static int loop_over(xt_loader *l) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = NULL;
    int n = 0;
    for (xt_batch b; xt_next(l, &b); n++) {
        xt_tensor loss = xt_mean(xt_square(xt_forward(m, b.x)));
        if (!o) o = xt_sgd(m, .lr = 0.1);
        xt_backward(loss);
        xt_optimizer_step(o);
        xt_log("loss", loss);
    }
    return n == 2 ? 0 : 1;
}
static int value_when_ready(void) {
    arrived = 0;
    xt_when_ready(xt_sum(xt_ones(XT_F32, 3)), ready, NULL);
    xt_mark_step();
    xt_wait();
    return arrived ? 0 : 1;
}
static int uses(const char *use, xt_loader *parents) {
    if (!strcmp(use, "wait")) xt_wait();
    if (!strcmp(use, "read")) return xt_item(xt_sum(xt_ones(XT_F32, 3))) == 3 ? 0 : 1;
    if (!strcmp(use, "loop")) return loop_over(make_loader());
    if (!strcmp(use, "fit")) return fit_and_write();
    if (!strcmp(use, "ready")) return value_when_ready();
    if (!strcmp(use, "parents")) return loop_over(parents);
    return 0;
}
static int child_from(const char *state, const char *use) {
    xt_loader *l = make_loader();
    if (strcmp(state, "before") && (fit_and_write() || loop_over(l) || value_when_ready())) return 3;
    if (!strcmp(state, "after") && xt_finish()) return 4;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60); /* of the process: a child that waits for good is ended, and its parent says so */
        int code = uses(use, l);
        exit(xt_finish() || code);
    }
    int status;
    waitpid(pid, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 200);
    return xt_finish();
}

int main(int argc, char **v) {
    what = argc > 1 ? v[1] : "";
    if (!strcmp(what, "from")) return child_from(v[2], v[3]);
    if (!strcmp(what, "frees")) return frees_in_child(argc > 2 ? (unsigned)atoi(v[2]) : 0);
    if (!strcmp(what, "next") || !strcmp(what, "exits")) {
        xt_batch b;
        xt_dataset *d =
            xt_dataset_new(&(xt_dataset_desc){.count = 64, .x = {XT_F32, {2}}, .get = get, .name = "samples"});
        loader = xt_loader_new(d, .batch = 4);
        while (xt_next(loader, &b)) xt_mean(b.x);
        return xt_finish();
    }
    xt_tensor kept = xt_keep(xt_sum(xt_from_array(data, XT_F32, 8)));
    fit();
    xt_mark_step();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) exit(child(kept));
    int status;
    waitpid(pid, &status, 0);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 200;
    printf("child %d\n", code);
    if (fit()) return 3; /* the parent goes on */
    printf("parent %g\n", xt_item(kept));
    return xt_finish();
}
