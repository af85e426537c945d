/* The sums of the training stage as a checkpoint keeps them: a run that resumes writes the rows and the epoch's values
 * that the unbroken run writes, also of names that are logged under an `if`. The text is a JSON object: the metrics as
 * [name, rows, on_step, on_epoch, reduce, sync_dist, prog_bar, function, arg], and how far the windows are. A metric
 * with a function of the program's own ("?") waits for its next log call, which brings the function. */
#include <cjson/cJSON.h>
#include <math.h>

#include "metrics/functions.h"
#include "metrics/log_int.h"

/* --- saved --- */
/* A switch in the file: 1 on, 2 off, 0 neither. */
static double switch_number(xt_switch s) {
    return s == XT_ON ? 1 : s == XT_OFF ? 2 : 0;
}

static cJSON *metric_text(const log_metric *m) {
    cJSON *one = cJSON_CreateArray();
    const char *function = metric_function_name(m->kind.finish);
    if ((m->kind.finish && !*function) || m->unknown) function = "?";
    double numbers[] = {(double)m->kind.count, switch_number(m->o.on_step),   switch_number(m->o.on_epoch),
                        m->o.reduce,           switch_number(m->o.sync_dist), switch_number(m->o.prog_bar)};
    cJSON_AddItemToArray(one, cJSON_CreateString(m->name));
    for (size_t i = 0; i < BASE_COUNT(numbers); i++) cJSON_AddItemToArray(one, cJSON_CreateNumber(numbers[i]));
    cJSON_AddItemToArray(one, cJSON_CreateString(function));
    cJSON_AddItemToArray(one, cJSON_CreateNumber(m->kind.arg));
    return one;
}

static char *text_of(const log_set *set) {
    cJSON *all = cJSON_CreateObject(), *metrics = cJSON_AddArrayToObject(all, "metrics");
    for (size_t i = 0; metrics && i < set->n; i++) cJSON_AddItemToArray(metrics, metric_text(&set->metrics[i]));
    bool whole = metrics && cJSON_AddNumberToObject(all, "window", (double)set->window) &&
                 cJSON_AddNumberToObject(all, "row_window", (double)set->row_window) &&
                 cJSON_AddBoolToObject(all, "window_begins", set->window_begins) &&
                 cJSON_AddBoolToObject(all, "opened", set->opened) && cJSON_AddBoolToObject(all, "fresh", set->fresh);
    /* [metric, how it weighs, whether it is a number] */
    cJSON *held = whole && set->n_pending ? cJSON_AddArrayToObject(all, "held") : NULL;
    for (size_t i = 0; held && i < set->n_pending; i++) {
        const log_pending *p = &set->pending[i];
        cJSON_AddItemToArray(held, cJSON_CreateIntArray((int[]){p->metric, (int)p->weigh, p->is_number}, 3));
    }
    whole = whole && (held || !set->n_pending) && cJSON_AddNumberToObject(all, "rows", (double)set->rows);
    char *text = whole ? cJSON_PrintUnformatted(all) : NULL, *copy = text ? base_strdup(text) : NULL;
    cJSON_free(text);
    cJSON_Delete(all);
    return copy;
}

xt_status log_state_save(char **out_text, float **out_sums, int64_t *out_rows) {
    *out_text = NULL;
    *out_sums = NULL;
    *out_rows = 0;
    log_engine *e = log_engine_peek();
    const log_set *set = e ? &e->sets[LOG_TRAIN] : NULL;
    if (!set || !set->rows || !lazy_type(set->state)) return NULL;
    size_t bytes = (size_t)set->rows * LOG_COLUMNS * sizeof(float);
    int64_t rows = set->rows + log_held_rows(set);
    float *sums = base_calloc((size_t)rows * LOG_COLUMNS, sizeof *sums);
    char *text = text_of(set);
    xt_status s =
        text && sums ? lazy_state_read(set->state, sums, bytes) : status_oom(bytes, "the sums of logged values");
    if (!s) s = log_held_save(set, sums + set->rows * LOG_COLUMNS);
    if (s) {
        base_free(text);
        base_free(sums);
        return s;
    }
    *out_text = text;
    *out_sums = sums;
    *out_rows = rows;
    return NULL;
}

/* --- restored --- */
/* A number that older versions did not write, or a damaged one: what it is then. */
static double number_or(const cJSON *n, double least, double most, double missing) {
    return cJSON_IsNumber(n) && n->valuedouble >= least && n->valuedouble <= most ? n->valuedouble : missing;
}

static xt_switch switch_or_default(const cJSON *n) {
    double saved = number_or(n, 0, 2, 0);
    return saved == 1 ? XT_ON : saved == 2 ? XT_OFF : XT_DEFAULT;
}

/* Without its function a metric has no value to show. */
static void read_function(log_metric *m, const char *name, const cJSON *arg) {
    if (!name || !*name) return; /* older versions had no value to show where there was one */
    m->kind.arg = cJSON_IsNumber(arg) ? arg->valuedouble : NAN;
    m->kind.finish = metric_function_named(name, m->kind.count, m->kind.arg);
    m->unknown = !m->kind.finish;
}

static xt_status add_metric(log_set *set, const cJSON *one) {
    const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(one, 0));
    double count = number_or(cJSON_GetArrayItem(one, 1), 1, 1 << 20, 0);
    if (!name || count < 1)
        return status_new(XT_DATA_LOSS, NULL,
                          "the checkpoint's list of logged values has an entry that is no [name, rows]");
    log_metric m = {.name = base_strdup(name), .at = set->used, .kind.count = (int64_t)count, .restored = true};
    m.o.on_step = switch_or_default(cJSON_GetArrayItem(one, 2));
    m.o.on_epoch = switch_or_default(cJSON_GetArrayItem(one, 3));
    m.o.reduce = (xt_reduce)number_or(cJSON_GetArrayItem(one, 4), 0, XT_LAST, XT_MEAN);
    m.o.sync_dist = switch_or_default(cJSON_GetArrayItem(one, 5));
    m.o.prog_bar = switch_or_default(cJSON_GetArrayItem(one, 6));
    read_function(&m, cJSON_GetStringValue(cJSON_GetArrayItem(one, 7)), cJSON_GetArrayItem(one, 8));
    if (!m.name || !log_metric_push(set, m)) {
        base_free(m.name);
        return status_oom(sizeof m, "a metric");
    }
    set->used += m.kind.count;
    return NULL;
}

/* Values that wait for the next step; `sums` behind the state's rows. */
static xt_status restore_held(log_set *set, const cJSON *held, const float *sums, int64_t rows) {
    const cJSON *one;
    xt_status s = NULL;
    cJSON_ArrayForEach(one, held) {
        int metric = (int)number_or(cJSON_GetArrayItem(one, 0), 0, (double)set->n - 1, -1);
        log_weigh weigh = (log_weigh)number_or(cJSON_GetArrayItem(one, 1), 0, LOG_WEIGH_SAMPLES, LOG_WEIGH_CONSTANT);
        int64_t count = metric >= 0 ? set->metrics[metric].kind.count : rows + 1;
        if (count > rows)
            return status_new(XT_DATA_LOSS, NULL,
                              "the checkpoint's list of logged values has one after the last step that is not there");
        if (!s)
            s = log_held_restore(set, metric, weigh, cJSON_GetArrayItem(one, 2) && cJSON_GetArrayItem(one, 2)->valueint,
                                 sums);
        sums += count * LOG_COLUMNS;
        rows -= count;
    }
    return s;
}

/* Older versions wrote the array of metrics alone. */
static xt_status read_text(log_set *set, const char *text, const float *sums, int64_t *rows) {
    cJSON *all = cJSON_Parse(text);
    const cJSON *metrics = cJSON_IsArray(all) ? all : cJSON_GetObjectItem(all, "metrics"), *one;
    xt_status s = cJSON_IsArray(metrics)
                      ? NULL
                      : status_new(XT_DATA_LOSS, NULL, "the checkpoint's list of logged values is no JSON array");
    cJSON_ArrayForEach(one, metrics) if (!s) s = add_metric(set, one);
    set->window = (int64_t)number_or(cJSON_GetObjectItem(all, "window"), 0, 1e15, 0);
    set->row_window =
        (int64_t)number_or(cJSON_GetObjectItem(all, "row_window"), 0, (double)set->window, (double)set->window);
    set->window_begins = !cJSON_IsFalse(cJSON_GetObjectItem(all, "window_begins"));
    set->opened = cJSON_IsTrue(cJSON_GetObjectItem(all, "opened"));
    set->fresh = cJSON_IsTrue(cJSON_GetObjectItem(all, "fresh"));
    int64_t state = (int64_t)number_or(cJSON_GetObjectItem(all, "rows"), 1, (double)*rows, (double)*rows);
    if (!s && sums) s = restore_held(set, cJSON_GetObjectItem(all, "held"), sums + state * LOG_COLUMNS, *rows - state);
    set->holds = true; /* until that step */
    *rows = state;
    cJSON_Delete(all);
    return s;
}

xt_status log_state_restore(const char *text, const float *sums, int64_t rows) {
    log_engine *e = log_engine_get();
    if (!e) return status_oom(sizeof *e, "the log engine");
    log_set *set = &e->sets[LOG_TRAIN];
    /* this process has logged already: its own order of rows stays, and the epoch's values begin here */
    if (set->n) return NULL;
    XT_TRY(read_text(set, text, sums, &rows));
    if (set->used > rows)
        return status_new(XT_DATA_LOSS, NULL, "the checkpoint's logged values have %lld rows, but %lld sums",
                          (long long)set->used, (long long)rows);
    float *none = sums ? NULL : log_empty_rows(rows); /* a state all the same: every rank records the same program */
    if (!sums && !none) return status_oom((size_t)rows * LOG_COLUMNS * sizeof *none, "the sums of logged values");
    int64_t dims[2] = {rows, LOG_COLUMNS};
    set->state = lazy_state_new(NULL, LAZY_LOG, "log accumulators", XT_F32, 2, dims, sums ? sums : none);
    base_free(none);
    set->rows = rows;
    set->epoch_begins = false; /* at an epoch's end the fit says so itself */
    return lazy_is_error(set->state) ? status_clone(lazy_pending()) : NULL;
}

void log_state_add(float *into, const float *sums, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        float *a = into + r * LOG_COLUMNS;
        const float *b = sums + r * LOG_COLUMNS;
        /* a row that has logged nothing in the epoch may still have an earlier one's least and most */
        bool take = !(a[LOG_EPOCH_WEIGHT] > 0), leave = !take && !(b[LOG_EPOCH_WEIGHT] > 0);
        float least = take    ? b[LOG_LEAST]
                      : leave ? a[LOG_LEAST]
                              : fminf(a[LOG_LEAST], b[LOG_LEAST]),
              most = take    ? b[LOG_MOST]
                     : leave ? a[LOG_MOST]
                             : fmaxf(a[LOG_MOST], b[LOG_MOST]);
        for (int c = 0; c < LOG_COLUMNS; c++) a[c] = c == LOG_STAMP ? fmaxf(a[c], b[c]) : a[c] + b[c];
        a[LOG_LEAST] = least, a[LOG_MOST] = most;
    }
}

float *log_state_widen(const float *sums, int64_t rows, int64_t columns) {
    float *wide = log_empty_rows(rows);
    for (int64_t r = 0; wide && r < rows; r++)
        memcpy(wide + r * LOG_COLUMNS, sums + r * columns, (size_t)columns * sizeof *sums);
    return wide;
}
