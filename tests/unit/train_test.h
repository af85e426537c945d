/* What the trainer's tests share: a folder of their own, what the library said, and that nothing is left alive.
 * Included once, by a test program. */
#ifndef TESTS_UNIT_TRAIN_TEST_H
#define TESTS_UNIT_TRAIN_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"

static char dir[64];
static str said = STR_INIT;

static void listen(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev;
    (void)user;
    str_appendn(&said, text, n);
}

static int begin(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt_train_XXXXXX");
    str_clear(&said);
    xt_set_sink(listen, NULL);
    xt_seed(7);
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    static const live_kind kinds[] = {LIVE_trainer, LIVE_callback,  LIVE_logger, LIVE_module,
                                      LIVE_loader,  LIVE_optimizer, LIVE_tensor};
    char command[128];
    bool clean = true;
    xt_finish();
    xt_set_sink(NULL, NULL);
    str_free(&said);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    for (size_t i = 0; i < BASE_COUNT(kinds); i++) clean = clean && live_get(kinds[i]) == 0;
    return system(command) || !clean;
}

static __attribute__((unused)) void says(const char *part) {
    if (!strstr(str_cstr(&said), part)) fail_msg("\"%s\" was not said in:\n%s", part, str_cstr(&said));
}

/* A path in the test's folder, valid until the next call. */
static __attribute__((unused)) const char *in_dir(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* xt_trainer_new that writes under `dir` and keeps quiet. */
#define TEST_TRAINER(...) xt_trainer_new(.runs_dir = dir, .progress_bar = XT_OFF, .model_summary = XT_OFF, __VA_ARGS__)

#endif
