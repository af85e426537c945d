/* Loggers: where rows go. One file each, ending in one const descriptor; loggers.c lists them. Rows arrive on the
 * logger thread of rank 0, in order. */
#ifndef XT_SRC_TRAIN_LOGGER_H
#define XT_SRC_TRAIN_LOGGER_H

#include "metrics/log.h"

typedef struct logger_kind {
    const char *name, *help;
    size_t state_size;
    xt_status (*open)(void *state, const char *dir); /* the run's folder exists */
    xt_status (*row)(void *state, const log_row *row); /* an error is reported once and ends this logger */
    void (*close)(void *state);
    xt_status (*artifact)(void *state, const log_artifact *a); /* of the kinds in `artifacts` */
    /* of the run, once, before the first row; may be NULL */
    xt_status (*settings)(void *state, size_t n, const char *const *names, const char *const *texts);
    unsigned artifacts; /* 1 << kind of those it shows */
} logger_kind;
extern const logger_kind logger_csv, logger_tensorboard, logger_jsonl;
extern const logger_kind *const logger_kinds[];
extern const size_t logger_kind_count;

/* Opens the loggers of a comma list and gives each to the log engine; log_close, or removing the sink, closes it.
 * `out_sinks` takes up to `max`. */
typedef struct logger_settings {
    size_t n;
    const char *const *names, *const *texts;
} logger_settings;
xt_status loggers_check(const char *list); /* whether there are loggers of these names */
xt_status loggers_open(const char *list, const char *dir, logger_settings settings, log_sink *out_sinks, size_t max,
                       size_t *out_n);

const char *logger_stage_name(log_stage s); /* "train", "validate", "test" */

#define LOGGER_CSV_HEAD "step,epoch,batch,samples,wall,stage,level,name,value\n"

/* A file that only grows: every append is one write() of whole records, so a killed process leaves whole records, at
 * worst one cut off at the end. */
xt_status logger_open_append(const char *path, int *out_fd);
xt_status logger_append(int fd, const str *text, const char *path);

#endif
