/* What tests of folders of checkpoints share: a folder of their own with a folder `kept` in it, what the library said
 * during the newest fit, and a fit of two steps an epoch. Included once, by a test program. */
#ifndef TESTS_UNIT_TRAIN_KEPT_TEST_H
#define TESTS_UNIT_TRAIN_KEPT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include <xtrain/xtrain.h>

static char dir[32], kept[64], told[1 << 14];

static void sink(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)user;
    size_t at = strlen(told);
    snprintf(told + at, sizeof told - at, "%.*s\n", (int)n, text);
}

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

static xt_trainer *kept_trainer(int64_t epochs, const char *resume) {
    told[0] = 0;
    return xt_trainer_new(.max_epochs = epochs, .runs_dir = dir, .resume = resume, .progress_bar = XT_OFF,
                          .model_summary = XT_OFF, .logger = XT_OFF);
}
static __attribute__((unused)) int kept_fit(xt_trainer *t) {
    static float x[8][2];
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = configure};
    xt_dataset *samples = xt_array_dataset(x, (xt_spec){XT_F32, {2}}, NULL, (xt_spec){0}, 8);
    return xt_fit(t, &task, xt_loader_new(samples, .batch = 4), NULL);
}

static int kept_setup(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt-kept-XXXXXX");
    if (!mkdtemp(dir)) return -1;
    snprintf(kept, sizeof kept, "%s/kept", dir);
    setenv("XT_SUMMARY", "off", 1);
    xt_set_sink(sink, NULL);
    return 0;
}
static int kept_teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

#endif
