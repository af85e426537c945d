/* metrics.jsonl: one JSON object a row, values under their names; NaN and infinities, which JSON lacks, are null. */
#include <cjson/cJSON.h>
#include <math.h>
#include <unistd.h>

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

static cJSON *object_of(const log_row *row) {
    cJSON *o = cJSON_CreateObject(), *values = o ? cJSON_AddObjectToObject(o, "values") : NULL;
    bool ok = values && cJSON_AddNumberToObject(o, "step", (double)row->step) &&
              cJSON_AddNumberToObject(o, "epoch", (double)row->epoch) &&
              cJSON_AddNumberToObject(o, "batch", (double)row->batch) &&
              cJSON_AddNumberToObject(o, "samples", (double)row->samples) &&
              cJSON_AddNumberToObject(o, "wall", row->wall) &&
              cJSON_AddStringToObject(o, "stage", logger_stage_name(row->stage)) &&
              cJSON_AddStringToObject(o, "level", row->epoch_level ? "epoch" : "step");
    for (size_t i = 0; ok && i < row->n; i++)
        ok = isfinite(row->values[i].value)
                 ? cJSON_AddNumberToObject(values, row->values[i].name, row->values[i].value) != NULL
                 : cJSON_AddNullToObject(values, row->values[i].name) != NULL;
    if (ok) return o;
    cJSON_Delete(o);
    return NULL;
}

/* Takes the object over; NULL: there was no memory for it. */
static xt_status append_object(jsonl *j, cJSON *o) {
    char *text = o ? cJSON_PrintUnformatted(o) : NULL;
    cJSON_Delete(o);
    if (!text) return status_oom(64, j->path);
    str line = STR_INIT;
    str_append(&line, text);
    str_putc(&line, '\n');
    cJSON_free(text);
    xt_status s = logger_append(j->fd, &line, j->path);
    str_free(&line);
    return s;
}

static xt_status row_jsonl(void *state, const log_row *row) {
    return append_object(state, object_of(row));
}

/* Texts are lines here too; pictures and distributions are TensorBoard's. */
static xt_status artifact_jsonl(void *state, const log_artifact *a) {
    cJSON *o = cJSON_CreateObject();
    bool ok = cJSON_AddNumberToObject(o, "step", (double)a->step) && cJSON_AddNumberToObject(o, "wall", a->wall) &&
              cJSON_AddStringToObject(o, "stage", logger_stage_name(a->stage)) &&
              cJSON_AddStringToObject(o, "name", a->name) && cJSON_AddStringToObject(o, "text", a->text);
    if (ok) return append_object(state, o);
    cJSON_Delete(o);
    return append_object(state, NULL);
}

const logger_kind logger_jsonl = {"jsonl",        "metrics.jsonl, one JSON object a row",
                                  sizeof(jsonl),  open_jsonl,
                                  row_jsonl,      close_jsonl,
                                  artifact_jsonl, NULL,
                                  1u << LOG_TEXT};
