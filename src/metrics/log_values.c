/* From a row's sums to its values, on the logger thread, and the newest value of each name. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "crash/crash.h"
#include "metrics/log_job.h"

typedef struct kept_sums {
    size_t n;
    double v[];
} kept_sums;
static struct {
    pthread_mutex_t lock;
    map *latest, *sums; /* by value_key: values; by name: sums of metrics that have some */
    atomic_bool warned[LOG_STAGE_COUNT]; /* of a value that is not finite */
} lv = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the newest --- */
/* Takes v over. */
static void remember_sums(const char *name, double *v, size_t n) {
    kept_sums *s = base_malloc(sizeof *s + n * sizeof *v), *old = NULL;
    if (s) {
        s->n = n;
        memcpy(s->v, v, n * sizeof *v);
    }
    base_free(v);
    pthread_mutex_lock(&lv.lock);
    if (!lv.sums) lv.sums = map_new();
    if (s && lv.sums && map_put(lv.sums, name, strlen(name), s, (void **)&old)) s = old;
    pthread_mutex_unlock(&lv.lock);
    base_free(s);
}

size_t log_sums(const char *name, double *out, size_t n) {
    pthread_mutex_lock(&lv.lock);
    const kept_sums *s = lv.sums && name ? map_get(lv.sums, name, strlen(name)) : NULL;
    size_t all = s ? s->n : 0;
    if (s) memcpy(out, s->v, (all < n ? all : n) * sizeof *out);
    pthread_mutex_unlock(&lv.lock);
    return all;
}

int64_t xt_logged_sums(const char *name, double *out, int64_t n) {
    size_t most = n > 0 ? (size_t)n : 0, all;
    if (log_between_sums(name, out, most, &all)) return (int64_t)all;
    log_drain();
    return (int64_t)log_sums(name, out, most);
}

typedef struct value_key {
    int64_t of;
    char name[LOG_COLUMN_BYTES];
} value_key;
/* the bytes of it that count; 0: no row has such a name */
static size_t key_of(int64_t of, const char *name, value_key *out) {
    size_t n = name ? strlen(name) : sizeof out->name;
    if (n >= sizeof out->name) return 0;
    out->of = of;
    memcpy(out->name, name, n);
    return offsetof(value_key, name) + n;
}

/* Under the lock. */
static void put(int64_t of, const char *name, double value) {
    value_key key;
    if (!lv.latest) lv.latest = map_new();
    size_t n = lv.latest ? key_of(of, name, &key) : 0;
    double *v = n ? map_get(lv.latest, &key, n) : NULL;
    if (n && !v && (v = base_malloc(sizeof *v)) && !map_put(lv.latest, &key, n, v, NULL)) {
        base_free(v);
        v = NULL;
    }
    if (v) *v = value;
}

void log_values_remember(const log_row *row) {
    pthread_mutex_lock(&lv.lock);
    for (size_t i = 0; i < row->n; i++) {
        put(row->of, row->values[i].name, row->values[i].value);
        blackbox_value(row->values[i].name, row->values[i].value);
    }
    pthread_mutex_unlock(&lv.lock);
}

/* --- for checkpoints --- */
typedef struct named {
    char name[LOG_COLUMN_BYTES];
    double value;
} named;
typedef struct named_list {
    named *all;
    size_t n, cap;
} named_list;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static bool list_values(int64_t of, named_list *l) {
    const void *key;
    size_t iter = 0, n;
    void *value;
    while (lv.latest && map_next(lv.latest, &iter, &key, &n, &value)) {
        value_key k = {0};
        memcpy(&k, key, n);
        named one = {.value = *(double *)value};
        memcpy(one.name, k.name, n - offsetof(value_key, name));
        if (k.of == of && !VEC_PUSH(l->all, l->n, l->cap, one)) return false;
    }
    if (l->n) qsort(l->all, l->n, sizeof *l->all, by_name);
    return true;
}

xt_status log_values_save(const log_engine *of, char **out_names, double **out, size_t *out_n) {
    named_list l = {0};
    pthread_mutex_lock(&lv.lock);
    bool listed = list_values(log_engine_number(of), &l);
    pthread_mutex_unlock(&lv.lock);
    cJSON *names = cJSON_CreateArray();
    *out = base_malloc((l.n + 1) * sizeof **out);
    for (size_t i = 0; i < l.n && *out; i++) {
        cJSON_AddItemToArray(names, cJSON_CreateString(l.all[i].name));
        (*out)[i] = l.all[i].value;
    }
    char *text = cJSON_PrintUnformatted(names);
    bool whole = listed && *out && text && cJSON_GetArraySize(names) == (int)l.n;
    *out_names = whole ? base_strdup(text) : NULL;
    *out_n = l.n;
    cJSON_free(text);
    cJSON_Delete(names);
    base_free(l.all);
    if (*out_names) return NULL;
    base_free(*out);
    *out = NULL;
    return status_oom(64, "the newest logged values");
}

void log_values_restore(const log_engine *of, const char *name, double value) {
    pthread_mutex_lock(&lv.lock);
    put(log_engine_number(of), name, value);
    pthread_mutex_unlock(&lv.lock);
}

bool log_find(const log_engine *of, const char *name, double *out) {
    value_key key;
    size_t n = key_of(log_engine_number(of), name, &key);
    pthread_mutex_lock(&lv.lock);
    const double *v = lv.latest && n ? map_get(lv.latest, &key, n) : NULL;
    if (v) *out = *v;
    pthread_mutex_unlock(&lv.lock);
    if (v || !lazy_rehearsing()) return v != NULL;
    *out = NAN; /* a rehearsal's values are zeros, of which some metrics have no value: no reason to stop it */
    return true;
}

double log_latest(const char *name) {
    double v;
    return log_find(NULL, name, &v) ? v : NAN;
}

void log_values_forget(void) {
    log_loss_watch();
    pthread_mutex_lock(&lv.lock);
    map_free(lv.latest, base_free);
    map_free(lv.sums, base_free);
    lv.latest = lv.sums = NULL;
    pthread_mutex_unlock(&lv.lock);
}

/* The value is here anyway, and a run that trains on nothing but NaN must not end without a word: one for the losses of
 * training, one for what is validated. */
void log_loss_seen(log_stage stage, const char *name, double v, int64_t step) {
    bool train = stage == LOG_TRAIN;
    if (isfinite(v) || (train && !strstr(name, "loss")) || atomic_exchange(&lv.warned[stage], true)) return;
    const char *word = isnan(v) ? "NaN" : v > 0 ? "Inf" : "-Inf", *pass = stage == LOG_TEST ? "test" : "validation";
    if (train)
        log_msg(XT_SEV_WARNING,
                "%s is %s at step %lld, the first row that has it so, and the training goes on. Usual causes: a too "
                "large learning rate, no gradient_clip_val, input that is not finite. "
                "--detect_anomaly on (XT_DEBUG=nan) ends at the op that makes it, xt_early_stopping(.monitor = \"%s\") "
                "ends the run",
                name, word, (long long)step, name);
    else
        log_msg(XT_SEV_WARNING,
                "%s is %s in the %s at step %lld; the next ones are not told. Usual cause: input of the %s that is not "
                "finite, if the training's loss is finite; --detect_anomaly on (XT_DEBUG=nan) names the line",
                name, word, pass, (long long)step, pass);
}

void log_loss_watch(void) {
    for (int s = 0; s < LOG_STAGE_COUNT; s++) atomic_store(&lv.warned[s], false);
}

/* --- a row --- */
/* A row of step values has what was logged since the row before: the newest window of each name. What is older, that
 * row has shown. */
void log_values_drop_seen(log_job *j) {
    for (size_t i = 0; i < j->n; i++)
        for (int64_t r = j->metrics[i].at; r < j->metrics[i].at + j->metrics[i].kind.count; r++) {
            float *c = j->data + r * LOG_COLUMNS;
            double age = log_stamp(j->window) - (double)c[LOG_STAMP];
            if (age < 0) age += LOG_STAMPS;
            if (c[LOG_STAMP] > 0 && age < (double)(j->window - j->seen)) continue;
            c[LOG_WINDOW_SUM] = c[LOG_WINDOW_WEIGHT] = 0;
        }
}

/* --- the logger thread --- */
static double value_of(const row_metric *m, const float *c, bool epoch_level) {
    double sum = c[epoch_level ? LOG_EPOCH_SUM : LOG_WINDOW_SUM],
           weight = c[epoch_level ? LOG_EPOCH_WEIGHT : LOG_WINDOW_WEIGHT];
    switch (m->kind.reduce) {
    case XT_SUM: return weight > 0 ? sum : NAN;
    case XT_MIN: return c[epoch_level ? LOG_LEAST : LOG_MOST];
    case XT_MAX: return c[epoch_level ? LOG_MOST : LOG_LEAST];
    case XT_LAST: return c[LOG_WINDOW_SUM] / c[LOG_WINDOW_WEIGHT];
    default: return sum / weight;
    }
}

/* A metric that is a function of its sums; the sums are remembered under its name. */
static double finished(const row_metric *m, const float *c, bool epoch_level) {
    double *sums = base_malloc((size_t)m->kind.count * sizeof *sums);
    if (!sums) return NAN;
    for (int64_t r = 0; r < m->kind.count; r++)
        sums[r] = c[r * LOG_COLUMNS + (epoch_level ? LOG_EPOCH_SUM : LOG_WINDOW_SUM)];
    double v = log_kind_finish(&m->kind, sums);
    remember_sums(m->name, sums, (size_t)m->kind.count);
    return v;
}

static void tell_unknown(const log_row *row, const char *name) {
    if (world_get()->rank == 0)
        log_msg(XT_SEV_WARNING,
                "\"%s\" has no value in the row of step %lld: its sums are those of before the run was resumed, and "
                "the function that makes a value of them comes with its next log call; log it in every step",
                name, (long long)row->step);
}

void log_values_fill(log_job *j) {
    size_t k = 0;
    for (size_t i = 0; i < j->n; i++) {
        const float *c = j->data + j->metrics[i].at * LOG_COLUMNS;
        /* not logged since the epoch, or in this window */
        if (!j->metrics[i].on_level || !(c[j->row.epoch_level ? LOG_EPOCH_WEIGHT : LOG_WINDOW_WEIGHT] > 0)) continue;
        if (j->metrics[i].unknown) {
            tell_unknown(&j->row, j->metrics[i].name);
            continue;
        }
        j->values[k++] = (log_value){j->metrics[i].name, NAN, j->metrics[i].prog_bar};
        j->values[k - 1].value =
            (j->metrics[i].kind.finish ? finished : value_of)(&j->metrics[i], c, j->row.epoch_level);
    }
    j->row.n = k;
    j->row.values = j->values;
}
