/* What the tests of loops without a trainer share: a loop in a process of its own, whose steps count from 1, and what
 * its files have. Included once, by a test program. */
#ifndef TESTS_UNIT_TRAIN_PLAIN_TEST_H
#define TESTS_UNIT_TRAIN_PLAIN_TEST_H

#include "train_log_test.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "train/logger.h"

/* What plain_log.c does in the library, which the linker leaves out of a program that does not name it. */
static char opens[300];
static void open_loggers(void) {
    log_sink sinks[4];
    size_t n;
    xt_status s = mkdir(opens, 0777) ? status_errno("mkdir", opens) : NULL;
    if (!s) s = loggers_open("csv,tensorboard", opens, (logger_settings){0}, sinks, BASE_COUNT(sinks), &n);
    same("opening the loggers", s ? xt_status_message(s) : "", "");
}

/* Forked while this one has no thread of the library yet. */
static __attribute__((unused)) void in_a_child(void (*body)(const char *run, int when, int every), int when,
                                               int every) {
    snprintf(opens, sizeof opens, "%s/%d-%d-%d", dir, when, (int)what, every);
    fflush(NULL);
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        limit("a plain loop, %d, %s, a row every %d", when, thing_names[what], every);
        log_set_default_sinks(open_loggers);
        body(opens, when, every);
        fflush(NULL);
        _exit(wrong != 0);
    }
    waitpid(pid, &status, 0);
    wrong += status != 0;
}

/* Rows of a name in metrics.csv: "STAGE/LEVEL@STEP=VALUE" each. */
static __attribute__((unused)) const char *rows_of(const char *run, const char *name) {
    static char list[1024];
    size_t n;
    char *save = NULL, *text = read_file(run, "metrics.csv", &n), found_name[64], stage[32], level[32];
    list[0] = 0;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        double value;
        int step;
        if (sscanf(line, "%d,%*[^,],%*[^,],%*[^,],%*[^,],%31[^,],%31[^,],%63[^,],%lf", &step, stage, level, found_name,
                   &value) == 5 &&
            strcmp(found_name, name) == 0)
            add(list, sizeof list, "%s/%s@%d=%g", stage, level, step, value);
    }
    base_free(text);
    return list;
}

typedef struct plain {
    xt_module *m;
    xt_optimizer *o;
} plain;

static __attribute__((unused)) void train_step(plain *p, xt_tensor x) {
    xt_tensor loss = xt_mean(xt_forward(p->m, x));
    if (!p->o) p->o = xt_sgd(p->m, .lr = 0.1);
    xt_backward(loss);
    xt_optimizer_step(p->o);
}

/* Where rows say that the loop was: "STAGE/LEVEL@STEP:EPOCH.BATCH.SAMPLES" each, of the rows that have this name. */
static __attribute__((unused)) const char *places_of(const char *run, const char *name) {
    static char list[1024];
    size_t n;
    char *save = NULL, *text = read_file(run, "metrics.csv", &n), found_name[64], stage[32], level[32];
    list[0] = 0;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        int step, epoch, batch, samples;
        if (sscanf(line, "%d,%d,%d,%d,%*[^,],%31[^,],%31[^,],%63[^,]", &step, &epoch, &batch, &samples, stage, level,
                   found_name) == 7 &&
            strcmp(found_name, name) == 0)
            add(list, sizeof list, "%s/%s@%d:%d.%d.%d", stage, level, step, epoch, batch, samples);
    }
    base_free(text);
    return list;
}

#endif
