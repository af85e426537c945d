/* The list of loggers, and what they share. */
#include "base/private_file.h"
#include "train/logger.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

const logger_kind *const logger_kinds[] = {&logger_csv, &logger_tensorboard, &logger_jsonl};
const size_t logger_kind_count = BASE_COUNT(logger_kinds);

const char *logger_stage_name(log_stage s) {
    static const char *const names[LOG_STAGE_COUNT] = {"train", "validate", "test"};
    return s < LOG_STAGE_COUNT ? names[s] : "?";
}

xt_status logger_open_append(const char *path, int *out_fd) {
    char *target;
    XT_TRY(file_output_target(path, &target));
    *out_fd = file_open_output(target, O_CREAT | O_APPEND);
    xt_status s = *out_fd < 0 ? file_output_failed(path) : NULL;
    base_free(target);
    return s;
}

xt_status logger_append(int fd, const str *text, const char *path) {
    if (text->failed) return status_oom(text->len, path);
    for (size_t done = 0; done < text->len;) {
        ssize_t n = write(fd, text->data + done, text->len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return status_errno("cannot write", path);
        done += (size_t)n;
    }
    return NULL;
}

typedef struct logger {
    const logger_kind *kind;
    bool failed;
    max_align_t state[];
} logger;

/* A logger that failed is said once, and writes nothing from there on. */
static void settle(logger *l, xt_status s) {
    if (!s) return;
    l->failed = true;
    log_msg(XT_SEV_ERROR, "logger %s: %s; it writes nothing from here on", l->kind->name, status_message(s));
    xt_status_free(s);
}

static void give_row(void *user, const log_row *row) {
    logger *l = user;
    if (!l->failed && !row->aside) settle(l, l->kind->row(l->state, row));
}
static bool give_artifact(void *user, const log_artifact *a) {
    logger *l = user;
    if (!(l->kind->artifacts & 1u << a->kind)) return false;
    if (!l->failed) settle(l, l->kind->artifact(l->state, a));
    return true; /* a failure has been told */
}

static void close_logger(void *user) {
    logger *l = user;
    l->kind->close(l->state);
    base_free(l);
    live_add(LIVE_logger, -1);
}

static const logger_kind *find_kind(const char *name, size_t n) {
    for (size_t i = 0; i < logger_kind_count; i++)
        if (strlen(logger_kinds[i]->name) == n && strncmp(logger_kinds[i]->name, name, n) == 0) return logger_kinds[i];
    return NULL;
}

static xt_status open_one(const logger_kind *k, const char *dir, logger_settings settings, log_sink *out) {
    logger *l = base_calloc(1, sizeof *l + k->state_size);
    if (!l) return status_oom(k->state_size, k->name);
    l->kind = k;
    xt_status s = k->open(l->state, dir);
    if (!s && k->settings && settings.n && (s = k->settings(l->state, settings.n, settings.names, settings.texts)))
        k->close(l->state);
    if (s) {
        base_free(l);
        return status_context(s, "logger %s", k->name);
    }
    live_add(LIVE_logger, 1);
    *out = (log_sink){.row = give_row, .artifact = give_artifact, .close = close_logger, .user = l};
    log_add_sink(out);
    return NULL;
}

static xt_status unknown(const char *name, size_t n) {
    str known = STR_INIT;
    for (size_t i = 0; i < logger_kind_count; i++) str_printf(&known, "%s%s", i ? ", " : "", logger_kinds[i]->name);
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "loggers: there is no logger %.*s; there are %s", (int)n, name,
                             str_cstr(&known));
    str_free(&known);
    return s;
}

xt_status loggers_check(const char *list) {
    for (const char *p = list + strspn(list, ", "); *p; p += strspn(p, ", ")) {
        size_t n = strcspn(p, ", ");
        if (!find_kind(p, n)) return unknown(p, n);
        p += n;
    }
    return NULL;
}

xt_status loggers_open(const char *list, const char *dir, logger_settings settings, log_sink *out_sinks, size_t max,
                       size_t *out_n) {
    xt_status s = NULL;
    *out_n = 0;
    for (const char *p = list; *p && !s;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ", ");
        if (n == 0) break;
        const logger_kind *k = find_kind(p, n);
        if (!k)
            s = unknown(p, n);
        else if (*out_n == max)
            s = status_new(XT_INVALID_ARGUMENT, NULL, "loggers = %s: at most %zu fit", list, max);
        else if (!(s = open_one(k, dir, settings, &out_sinks[*out_n])))
            ++*out_n;
        p += n;
    }
    while (s && *out_n) log_remove_sink(&out_sinks[--*out_n]);
    return s;
}
