/* Rows of plain loops (no Trainer): the first row that is due opens the usual loggers in runs/default/version_N, and
 * xt_finish closes them. */
#include "train/logger.h"
#include "train/train_int.h"

static void open_loggers(void) {
    const char *runs = env_get("XT_RUNS_DIR");
    char *dir = NULL;
    log_sink sinks[8];
    size_t n = 0;
    if (world_get()->rank != 0 || rehearsal_skips()) return;
    xt_status s = run_dir_make(runs ? runs : "runs", "default", &dir);
    if (!s) s = loggers_open("csv,tensorboard", dir, (logger_settings){0}, sinks, BASE_COUNT(sinks), &n);
    if (s)
        log_msg(XT_SEV_WARNING, "xt_log: the rows are not written: %s", status_message(s));
    else
        log_msg(XT_SEV_INFO, "xt_log writes to %s", dir);
    xt_status_free(s);
    base_free(dir);
}

/* The log engine lies below the loggers, so they are made known to it when the library is loaded. */
__attribute__((constructor)) static void start(void) {
    log_set_default_sinks(open_loggers);
}
