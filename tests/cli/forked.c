/* forked CASE: what would wait for a thread that is not there. Each case ends by itself, and says why.
 *   steps, reads, fits, loads, nothing: what a child does that was forked after the parent's first step
 *   next: xt_next inside a dataset's get        exits: pthread_exit inside it */
#include <pthread.h>
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

int main(int argc, char **v) {
    what = argc > 1 ? v[1] : "";
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
