/* exits HOW: ways to end that other code has a part in.
 *   logger MISCHIEF, text MISCHIEF   a function of a logger: exit (pthread_exit), error
 *   elsewhere               xt_finish while another thread is in xt_fit
 *   after [term]            the same, when that thread has ended (by pthread_exit, in its fit); SIGTERM comes then
 *   jump term               a fit is left by longjmp, another one ends well, and SIGTERM comes
 *   cancel fit|loop MS      a thread is cancelled in its fit, or in a loop of its own; another goes on
 *   destroyed [finish]      a handler of exit() that is older than the device computes, as a static object's destructor
 *   value                   it reads a value that is there
 *   main                    the main thread leaves its fit by pthread_exit
 *   function                that of a module, outside of any fit, by pthread_exit in the main thread
 *   drop finish             such a handler drops a tensor that was kept
 *   midway                  exit() while programs run */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xtrain/xtrain.h>

static const char *how, *what;
static float x[64][8];
static int64_t y[64];
static xt_module *module;
static xt_tensor value;
static volatile int steps;
static int rows;
static jmp_buf back;

static void mischief(const char *here) {
    if (strcmp(how, here)) return;
    if (!strcmp(what, "exit")) pthread_exit(NULL);
    if (!strcmp(what, "error")) xt_add(xt_ones(XT_F32, 2), xt_ones(XT_F32, 3));
}
static xt_tensor net(xt_module *m, xt_tensor in, void *user) {
    static int calls;
    (void)user;
    if (++calls == 3 && !strcmp(how, "function")) pthread_exit(NULL);
    return xt_linear(m, "b", xt_relu(xt_linear(m, "a", in, 16)), 3);
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (++steps == 3 && (!strcmp(how, "after") || !strcmp(how, "main"))) pthread_exit(NULL);
    if (steps == 3 && !strcmp(how, "jump")) longjmp(back, 1);
    if (!strcmp(how, "elsewhere")) usleep(2000);
    if (!strcmp(how, "cancel")) usleep(500);
    if (!strcmp(how, "text")) xt_log_text("note", "a text");
    return xt_cross_entropy(xt_forward(m, b.x), b.y);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_adam(m, .lr = 0.01);
}
static xt_status row(const xt_log_row *r, void *user) {
    (void)user;
    rows += r->n > 0;
    if (rows == 3) mischief("logger");
    return NULL;
}
static xt_status text(const char *name, const char *t, int64_t at, void *user) {
    (void)name, (void)t, (void)at, (void)user;
    mischief("text");
    return NULL;
}
static int fit(void) {
    xt_trainer *t =
        xt_trainer_new(.max_epochs = strcmp(how, "cancel") ? 3 : 1000, .log_every_n_steps = 1, .loggers = "csv");
    xt_logger_desc own = {.struct_size = sizeof own, .name = "own", .row = row, .text = text};
    xt_trainer_add_logger(t, &own, NULL);
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = configure};
    xt_dataset *ds = xt_array_dataset(x, (xt_spec){XT_F32, {8}}, y, (xt_spec){XT_I64, {0}}, 64);
    return xt_fit(t, &task, xt_loader_new(ds, .batch = 8));
}
static void *fit_in_thread(void *result) {
    *(int *)result = fit();
    return NULL;
}
static void at_end(void) {
    if (!strcmp(how, "value")) printf("value %g\n", xt_item(value));
    if (!strcmp(how, "drop")) xt_drop(value), xt_drop(value); /* as destructors of static objects do */
    if (strcmp(how, "destroyed")) return;
    xt_tensor out = xt_forward(module, xt_from_array(x, XT_F32, 64, 8));
    printf("computed %g\n", xt_item(xt_mean(out)));
}
static void *loop_in_thread(void *unused) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = NULL;
    for (;; steps++) {
        xt_tensor loss = xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, 64, 8))));
        if (!o) o = xt_sgd(m, .lr = 0.01);
        xt_backward(loss);
        xt_optimizer_step(o);
        xt_log("loss", loss);
        if (steps % 5 == 0) xt_item(loss);
        xt_mark_step();
    }
    return unused;
}
static int steps_of_its_own(void) {
    module = xt_module_new(net, NULL);
    for (int i = 0; i < 3; i++) {
        value = xt_keep(xt_mean(xt_square(xt_forward(module, xt_from_array(x, XT_F32, 64, 8)))));
        xt_mark_step();
    }
    if (!strcmp(what, "finish")) return xt_finish();
    return xt_wait() ? 0 : 1;
}
/* Products in a row, which oneDNN works on when exit() begins to take it down. */
static void leaves_midway(void) {
    xt_tensor a = xt_keep(xt_rand(XT_F32, 96, 96));
    for (int i = 0; i < 6; i++) {
        xt_tensor b = a;
        for (int k = 0; k < 40; k++) b = xt_mul(xt_matmul(b, a), 0.02);
        xt_when_ready(xt_sum(b), NULL, NULL);
        xt_mark_step();
        if (i == 0) xt_wait();
    }
    exit(0);
}
/* No fit is under way that would take it: it ends the process. */
static void comes_term(void) {
    fflush(stdout);
    raise(SIGTERM);
    puts("SIGTERM is swallowed");
    exit(3);
}
int main(int argc, char **argv) {
    how = argc > 1 ? argv[1] : "", what = argc > 2 ? argv[2] : "";
    for (int i = 0; i < 64; i++) y[i] = i % 3, x[i][i % 8] = 1;
    atexit(at_end);
    if (!strcmp(how, "midway")) leaves_midway();
    if (!strcmp(how, "destroyed") || !strcmp(how, "value") || !strcmp(how, "drop") || !strcmp(how, "function"))
        return steps_of_its_own();
    if (!strcmp(how, "jump")) {
        if (setjmp(back) == 0) fit();
        xt_clear_error();
        printf("fit %d\n", fit());
        xt_clear_error();
        comes_term();
    }
    if (strcmp(how, "elsewhere") && strcmp(how, "after") && strcmp(how, "cancel")) return fit() || xt_finish();
    pthread_t t;
    int result = -1;
    if (!strcmp(how, "cancel")) {
        void *end = NULL;
        bool loop = !strcmp(what, "loop");
        pthread_create(&t, NULL, loop ? loop_in_thread : fit_in_thread, &result);
        usleep((useconds_t)(argc > 3 ? atoi(argv[3]) : 0) * 1000);
        pthread_cancel(t);
        pthread_join(t, &end);
        printf("cancelled %d, fit %d\n", end == PTHREAD_CANCELED, result);
        xt_clear_error();
        return steps_of_its_own() || xt_finish();
    }
    pthread_create(&t, NULL, fit_in_thread, &result);
    while (steps < 3) usleep(100);
    if (!strcmp(how, "after")) pthread_join(t, NULL);
    if (!strcmp(what, "term")) comes_term();
    printf("finish %d\n", xt_finish());
    if (!strcmp(how, "after")) return 0;
    xt_clear_error();
    pthread_join(t, NULL);
    printf("fit %d steps %d\n", result, steps);
    return xt_finish();
}
