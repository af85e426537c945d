#include "train/limits.h"

#include <math.h>
#include <stdlib.h>

xt_status limit_batches(const char *name, double limit, int64_t batches, int64_t *out) {
    *out = batches;
    if (limit < 0) return NULL; /* -1, which is all that the option's range has there */
    if (limit == 0) {
        *out = 0;
        return NULL;
    }
    if (limit < 1) {
        if (batches < 0)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s = %g is a share, but the loader reads a stream, whose length nobody knows; give a "
                              "number of batches",
                              name, limit);
        *out = (int64_t)floor(limit * (double)batches);
        if (*out == 0)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s = %g of %lld batches is no whole batch; at least %.3g is needed, or 1 for one batch",
                              name, limit, (long long)batches, batches ? ceil(1000.0 / (double)batches) / 1000 : 1.0);
        return NULL;
    }
    if (limit != floor(limit))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s = %g: a whole number of batches, or a share below 1, is expected", name, limit);
    if (batches < 0 || limit < (double)batches) *out = (int64_t)limit;
    return NULL;
}

/* --- durations --- */
static const struct {
    const char *name;
    double seconds;
} time_units[] = {{"s", 1}, {"sec", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};

static bool time_unit(const char *unit, double *seconds) {
    for (size_t i = 0; i < BASE_COUNT(time_units); i++)
        if (strcmp(unit, time_units[i].name) == 0) {
            *seconds = time_units[i].seconds;
            return true;
        }
    return false;
}

/* Four fields, days first; they need not stay below 60. */
static bool clock_form(const char *text, double *seconds) {
    static const double worth[] = {86400, 3600, 60, 1};
    *seconds = 0;
    for (int i = 0; i < 4; i++) {
        char *end;
        if (*text < '0' || *text > '9') return false;
        *seconds += worth[i] * (double)strtoll(text, &end, 10);
        if (*end != (i < 3 ? ':' : 0)) return false;
        text = end + 1;
    }
    return true;
}

xt_status duration_parse(const char *name, const char *text, int64_t *out_ns) {
    char *end;
    double v = strtod(text, &end), seconds, unit;
    bool good = strchr(text, ':') ? clock_form(text, &seconds)
                                  : end != text && time_unit(end, &unit) && isfinite(seconds = v * unit);
    if (!good || seconds < 0 || seconds > 9e9)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%s = %s: a duration such as 45s, 90min, 2h, 1d or DD:HH:MM:SS (01:12:00:00) is expected",
                          name, text);
    *out_ns = (int64_t)(seconds * 1e9);
    return NULL;
}

/* --- intervals --- */
static const struct {
    const char *name;
    interval_unit unit;
} count_units[] = {{"e", INTERVAL_EPOCHS},   {"epoch", INTERVAL_EPOCHS},  {"epochs", INTERVAL_EPOCHS},
                   {"b", INTERVAL_BATCHES},  {"batch", INTERVAL_BATCHES}, {"batches", INTERVAL_BATCHES},
                   {"step", INTERVAL_STEPS}, {"steps", INTERVAL_STEPS}};

xt_status interval_parse(const char *name, const char *text, train_interval *out) {
    char *end;
    double v = strtod(text, &end), seconds;
    if (end != text && v > 0 && isfinite(v) && time_unit(end, &seconds)) {
        *out = (train_interval){.unit = INTERVAL_TIME};
        return duration_parse(name, text, &out->n);
    }
    for (size_t i = 0; end != text && v > 0 && v < 1e15 && i < BASE_COUNT(count_units); i++) {
        if (strcmp(end, count_units[i].name) != 0) continue;
        *out = (train_interval){.unit = count_units[i].unit, .n = (int64_t)v};
        if (v == floor(v)) return NULL;
        if (out->unit != INTERVAL_EPOCHS || v > 1) break;
        *out = (train_interval){.unit = INTERVAL_SHARE, .share = v};
        return NULL;
    }
    if (end != text && !*end && v > 0 && v == floor(v) && v < 1e15)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "%s = %s has no unit: %lldsteps (optimizer steps), %lldbatches or %lldepochs, or a time such as 10min",
            name, text, (long long)v, (long long)v, (long long)v);
    return status_new(
        XT_INVALID_ARGUMENT, NULL,
        "%s = %s: a number with its unit is expected: 2epochs, 0.25epochs, 100steps, 200batches, 10min, 2h", name,
        text);
}
