/* metrics.jsonl: one JSON object a row, values under their names; NaN and infinities, which JSON lacks, are null. */
#include <math.h>
#include <unistd.h>

#include "base/shown.h"
#include "train/logger.h"

typedef struct jsonl {
    int fd;
    char *path;
} jsonl;

static void close_jsonl(void *state) {
    jsonl *j = state;
    if (j->fd >= 0) close(j->fd);
    base_free(j->path);
}

static xt_status open_jsonl(void *state, const char *dir) {
    jsonl *j = state;
    j->fd = -1;
    j->path = path_join(dir, "metrics.jsonl");
    if (!j->path) return status_oom(strlen(dir), "metrics.jsonl");
    xt_status s = logger_open_append(j->path, &j->fd);
    if (s) close_jsonl(j);
    return s;
}

/* In 15 digits where these read back as `v`, else in 17. */
static void append_number(str *line, double v) {
    size_t at = line->len;
    double again;
    if (!isfinite(v)) {
        str_append(line, "null");
        return;
    }
    str_printf(line, "%.15g", v);
    if (line->failed || (parse_double(line->data + at, &again) && again == v)) return;
    line->len = at;
    str_printf(line, "%.17g", v);
}

static xt_status append_line(jsonl *j, str *line) {
    str_putc(line, '\n');
    xt_status s = logger_append(j->fd, line, j->path);
    str_free(line);
    return s;
}

static xt_status row_jsonl(void *state, const log_row *row) {
    str line = STR_INIT;
    str_append(&line, "{\"values\":{");
    for (size_t i = 0; i < row->n; i++) {
        if (i) str_putc(&line, ',');
        str_append_json(&line, row->values[i].name);
        str_putc(&line, ':');
        append_number(&line, row->values[i].value);
    }
    str_printf(&line, "},\"step\":%lld,\"epoch\":%lld,\"batch\":%lld,\"samples\":%lld,\"wall\":", (long long)row->step,
               (long long)row->epoch, (long long)row->batch, (long long)row->samples);
    append_number(&line, row->wall);
    str_printf(&line, ",\"stage\":\"%s\",\"level\":\"%s\"}", logger_stage_name(row->stage),
               row->epoch_level ? "epoch" : "step");
    return append_line(state, &line);
}

/* Texts are lines here too; pictures and distributions are TensorBoard's. */
static xt_status artifact_jsonl(void *state, const log_artifact *a) {
    str line = STR_INIT;
    str_printf(&line, "{\"step\":%lld,\"wall\":", (long long)a->step);
    append_number(&line, a->wall);
    str_printf(&line, ",\"stage\":\"%s\",\"name\":", logger_stage_name(a->stage));
    str_append_json(&line, a->name);
    str_append(&line, ",\"text\":");
    str_append_json(&line, a->text);
    str_putc(&line, '}');
    return append_line(state, &line);
}

const logger_kind logger_jsonl = {"jsonl",        "metrics.jsonl, one JSON object a row",
                                  sizeof(jsonl),  open_jsonl,
                                  row_jsonl,      close_jsonl,
                                  artifact_jsonl, NULL,
                                  1u << LOG_TEXT};
