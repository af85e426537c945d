/* The sums of the training stage as a checkpoint keeps them: a run that resumes in the middle of an epoch writes the epoch's values as the unbroken run
 * does. The text is a JSON array of [name, rows]; options are not kept, for the program that resumes logs each name again and brings them. */
#include <cjson/cJSON.h>
#include <math.h>

#include "metrics/log_int.h"

xt_status log_state_save(char **out_text, float **out_sums, int64_t *out_rows) {
    *out_text = NULL;
    *out_sums = NULL;
    *out_rows = 0;
    log_engine *e = log_engine_peek();
    const log_set *set = e ? &e->sets[LOG_TRAIN] : NULL;
    if (!set || !set->rows || !lazy_type(set->state)) return NULL;
    cJSON *all = cJSON_CreateArray();
    for (size_t i = 0; all && i < set->n; i++) {
        cJSON *one = cJSON_CreateArray();
        cJSON_AddItemToArray(one, cJSON_CreateString(set->metrics[i].name));
        cJSON_AddItemToArray(one, cJSON_CreateNumber((double)set->metrics[i].count));
        cJSON_AddItemToArray(all, one);
    }
    char *text = all ? cJSON_PrintUnformatted(all) : NULL;
    size_t bytes = (size_t)set->rows * LOG_COLUMNS * sizeof(float);
    float *sums = base_malloc(bytes);
    char *copy = text ? base_strdup(text) : NULL;
    xt_status s = copy && sums ? lazy_state_read(set->state, sums, bytes) : status_oom(bytes, "the sums of logged values");
    cJSON_free(text);
    cJSON_Delete(all);
    if (s) {
        base_free(copy);
        base_free(sums);
        return s;
    }
    *out_text = copy;
    *out_sums = sums;
    *out_rows = set->rows;
    return NULL;
}

static xt_status add_metric(log_set *set, const cJSON *one) {
    const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(one, 0));
    double count = cJSON_GetNumberValue(cJSON_GetArrayItem(one, 1));
    if (!name || !(count >= 1 && count <= 1 << 20)) return status_new(XT_DATA_LOSS, NULL, "the checkpoint's list of logged values has an entry that is no [name, rows]");
    log_metric m = {.name = base_strdup(name), .at = set->used, .count = (int64_t)count, .restored = true};
    if (!m.name || !VEC_PUSH(set->metrics, set->n, set->cap, m)) {
        base_free(m.name);
        return status_oom(sizeof m, "a metric");
    }
    set->used += m.count;
    return NULL;
}

xt_status log_state_restore(const char *text, const float *sums, int64_t rows) {
    log_engine *e = log_engine_get();
    if (!e) return status_oom(sizeof *e, "the log engine");
    log_set *set = &e->sets[LOG_TRAIN];
    if (set->n) return NULL; /* this process has logged already: its own order of rows stays, and the epoch's values begin here */
    cJSON *all = cJSON_Parse(text);
    xt_status s = cJSON_IsArray(all) ? NULL : status_new(XT_DATA_LOSS, NULL, "the checkpoint's list of logged values is no JSON array");
    const cJSON *one;
    cJSON_ArrayForEach(one, all) if (!s) s = add_metric(set, one);
    cJSON_Delete(all);
    if (!s && set->used > rows) s = status_new(XT_DATA_LOSS, NULL, "the checkpoint's logged values have %lld rows, but %lld sums", (long long)set->used, (long long)rows);
    if (s) return s;
    float *none = sums ? NULL : log_empty_rows(rows); /* a state all the same: every rank records the same program */
    if (!sums && !none) return status_oom((size_t)rows * LOG_COLUMNS * sizeof *none, "the sums of logged values");
    int64_t dims[2] = {rows, LOG_COLUMNS};
    set->state = lazy_state_new(NULL, LAZY_LOG, "log accumulators", XT_F32, 2, dims, sums ? sums : none);
    base_free(none);
    set->rows = rows;
    set->epoch_begins = false;
    return lazy_is_error(set->state) ? status_clone(xt_error()) : NULL;
}

void log_state_add(float *into, const float *sums, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        float *a = into + r * LOG_COLUMNS;
        const float *b = sums + r * LOG_COLUMNS;
        for (int c = 0; c < LOG_COLUMNS; c++) a[c] = c == 2 ? fminf(a[c], b[c]) : c == 3 ? fmaxf(a[c], b[c]) : a[c] + b[c];
    }
}
