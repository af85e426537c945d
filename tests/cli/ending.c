/* One thread's error, which nobody looks at, ends the program while others are in the middle of whatever the library
 * does: steps with logs, values read and arrays uploaded, programs compiled, batches from a loader, a fit.
 * ending SEED [both|stuck]: which thread fails in which step; both: two do; stuck: a function of xt_when_ready sleeps.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>

enum { THREADS = 5, STEPS = 4000 };
static unsigned failing, also, fails_in;
static bool stuck;

static xt_tensor net_fn(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1);
}
static xt_tensor loss_of(xt_module *net, xt_tensor x) {
    return xt_mean(xt_square(xt_forward(net, x)));
}
static void update(xt_optimizer *o, xt_tensor loss) {
    xt_backward(loss);
    xt_optimizer_step(o);
}
static xt_loader *samples(void) {
    return xt_sample_loader(.batch = 2, .count = 2 * STEPS, .x = {XT_F32, {3}}, .y = {XT_I64});
}

static void steps_with_logs(xt_module *net, xt_optimizer *o, unsigned s) {
    (void)s;
    xt_tensor loss = loss_of(net, xt_ones(XT_F32, 4, 3));
    xt_log("loss", loss);
    update(o, loss);
}
static void values(xt_module *net, xt_optimizer *o, unsigned s) {
    float x[6] = {(float)s};
    xt_tensor loss = loss_of(net, xt_from_array(x, XT_F32, 2, 3));
    update(o, loss);
    if (xt_item(loss) < 0) abort();
}
static void compilations(xt_module *net, xt_optimizer *o, unsigned s) {
    update(o, loss_of(net, xt_ones(XT_F32, 1 + s, 3)));
}
static void nothing(xt_module *net, xt_optimizer *o, unsigned s) {
    (void)net, (void)o, (void)s;
}
static void given(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)user, (void)data, (void)bytes, (void)dtype;
    if (stuck) sleep(1000);
}
static void requests(xt_module *net, xt_optimizer *o, unsigned s) {
    xt_tensor loss = loss_of(net, xt_full(0.001 * s, XT_F32, 2, 3));
    xt_when_ready(loss, given, NULL);
    update(o, loss);
}

static void *run(void *which) {
    static void (*const kinds[THREADS])(xt_module *, xt_optimizer *, unsigned) = {steps_with_logs, values, compilations,
                                                                                  nothing, requests};
    unsigned k = (unsigned)(size_t)which;
    xt_module *net = xt_module_new(net_fn, NULL);
    xt_optimizer *o = xt_sgd(net, .lr = 0.01);
    xt_loader *l = k == 3 ? samples() : NULL;
    xt_batch b;
    for (unsigned s = 0; s < STEPS; s++) {
        if (l && !xt_next(l, &b)) return NULL;
        if (l) update(o, loss_of(net, b.x));
        kinds[k](net, o, s);
        if (s >= fails_in && (k == failing || k == also)) xt_matmul(xt_ones(XT_F32, 2, 3), xt_ones(XT_F32, 2, 3));
        if (!l) xt_mark_step();
    }
    return NULL;
}

static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return loss_of(m, b.x);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static void ran(void) {
    write(1, "the exit handler ran\n", 21);
}

int main(int argc, char **argv) {
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    failing = seed % THREADS;
    fails_in = 3 + seed * 7 % 40;
    also = argc > 2 && strcmp(argv[2], "both") == 0 ? (failing + 1) % THREADS : THREADS;
    stuck = argc > 2 && strcmp(argv[2], "stuck") == 0;
    if (stuck && failing == 4) failing = 0;
    atexit(ran);
    pthread_t t[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, run, (void *)i)) return 3;
    xt_task task = {.net = net_fn, .training_step = training_step, .configure_optimizers = configure};
    if (seed % 2) /* a fit, too */
        xt_fit(xt_trainer_new(.max_epochs = 1000, .progress_bar = XT_OFF), &task, samples());
    for (size_t i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    return xt_finish();
}
