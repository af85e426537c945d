/* How long things take, always on: a histogram for each kind of duration with eight buckets to an octave (within 9 %
 * of the true percentile), one increment a duration. Counters (base/counters.def) hold the sums; here are their
 * spreads, by step. */
#include "base/tally.h"
#include "diag/diag.h"

#include <math.h>

enum { PER_OCTAVE = 8, OCTAVES = 40, BUCKETS = PER_OCTAVE * OCTAVES };

typedef struct histogram { /* by the thread that steps, and by others (tally.h) */
    _Atomic int64_t owned[BUCKETS], n[BUCKETS];
    _Atomic int64_t most;
} histogram;

/* Each phase of a step is the difference of a counter between two boundaries; the step itself is the time
 * between them. */
static const struct {
    const char *name, *what;
    counter c;
} phases[DIAG_PHASES] = {
    [DIAG_STEP] = {"step", "from boundary to boundary", COUNTER_COUNT},
    [DIAG_TRACE] = {"trace", "recording ops", COUNTER_trace_ns},
    [DIAG_HASH] = {"hash", "computing the key", COUNTER_hash_ns},
    [DIAG_COMPILE] = {"compile", "the device's compiler", COUNTER_compile_ns},
    [DIAG_UPLOAD] = {"upload", "copying to the device", COUNTER_upload_ns},
    [DIAG_QUEUE] = {"queue wait", "two steps were in flight", COUNTER_queue_wait_ns},
    [DIAG_EXECUTE] = {"execute", "device time", COUNTER_execute_ns},
    [DIAG_READ_WAIT] = {"host read", "waiting for a value", COUNTER_read_wait_ns},
    [DIAG_LOADER] = {"loader wait", "waiting for a batch", COUNTER_loader_wait_ns},
};

const char *diag_phase_name(diag_phase p) {
    return phases[p].name;
}

static histogram spread[DIAG_PHASES];
static int64_t before[DIAG_PHASES];

static int bucket_of(int64_t ns) {
    if (ns < 1) return 0;
    int octave = 63 - __builtin_clzll((unsigned long long)ns);
    int part = octave >= 3 ? (int)(ns >> (octave - 3)) & 7 : (int)(ns << (3 - octave)) & 7;
    int k = octave * PER_OCTAVE + part;
    return k < BUCKETS ? k : BUCKETS - 1;
}

static double middle_of(int k) {
    return ldexp(1 + ((double)(k % PER_OCTAVE) + 0.5) / PER_OCTAVE, k / PER_OCTAVE);
}

static void add(histogram *h, int64_t ns) {
    int k = bucket_of(ns);
    tally_add(&h->owned[k], &h->n[k], 1);
    if (ns > atomic_load_explicit(&h->most, memory_order_relaxed))
        atomic_store_explicit(&h->most, ns, memory_order_relaxed);
}

void diag_time_step(int64_t ns) {
    add(&spread[DIAG_STEP], ns);
    for (int p = DIAG_STEP + 1; p < DIAG_PHASES; p++) {
        int64_t now = counter_get(phases[p].c);
        if (now > before[p]) add(&spread[p], now - before[p]); /* steps in which it did not happen do not count */
        before[p] = now;
    }
}

int64_t diag_time_count(diag_phase p) {
    int64_t sum = 0;
    for (int k = 0; k < BUCKETS; k++) sum += tally_get(&spread[p].owned[k], &spread[p].n[k]);
    return sum;
}

double diag_time_percentile(diag_phase p, double share) {
    int64_t total = diag_time_count(p), wanted = (int64_t)ceil(share * (double)total), seen = 0;
    if (total == 0) return NAN;
    for (int k = 0; k < BUCKETS; k++) {
        seen += tally_get(&spread[p].owned[k], &spread[p].n[k]);
        if (seen >= wanted) return middle_of(k);
    }
    return (double)atomic_load_explicit(&spread[p].most, memory_order_relaxed);
}

void diag_append_times(str *t) {
    str_append(t, "durations                 steps        p50        p95        p99        max  (ms)\n");
    for (int p = 0; p < DIAG_PHASES; p++) {
        int64_t n = diag_time_count((diag_phase)p);
        if (n == 0) continue;
        str_printf(t, "  %-20s %8lld %10.3f %10.3f %10.3f %10.3f  %s\n", phases[p].name, (long long)n,
                   diag_time_percentile((diag_phase)p, 0.5) / 1e6, diag_time_percentile((diag_phase)p, 0.95) / 1e6,
                   diag_time_percentile((diag_phase)p, 0.99) / 1e6,
                   (double)atomic_load_explicit(&spread[p].most, memory_order_relaxed) / 1e6, phases[p].what);
    }
}

/* --- why the device had nothing to do --- */
/* While the device idles, the host is in one of these phases; what is left over is the program's own work between the
 * library's calls. A phase that runs beside the device's work is cut down in proportion, since only the part that
 * nothing covered made it idle. */
void diag_append_idle(str *t, double wall_s) {
    static const struct {
        counter c;
        const char *what;
    } reasons[] = {{COUNTER_compile_ns, "compiling"}, {COUNTER_loader_wait_ns, "waiting for the loader"},
                   {COUNTER_trace_ns, "recording"},   {COUNTER_lower_ns, "lowering"},
                   {COUNTER_hash_ns, "keys"},         {COUNTER_upload_ns, "uploading"}};
    double busy = (double)counter_get(COUNTER_execute_ns) / 1e9, idle = wall_s - busy, sum = 0;
    if (idle <= 0 || wall_s <= 0) return;
    for (size_t i = 0; i < BASE_COUNT(reasons); i++) sum += (double)counter_get(reasons[i].c) / 1e9;
    double scale = sum > idle ? idle / sum : 1;
    str_printf(t, "  idle        the device had nothing to do for %.2f s = %.0f %%:", idle, 100 * idle / wall_s);
    const char *comma = "";
    for (size_t i = 0; i < BASE_COUNT(reasons); i++) {
        double part = scale * (double)counter_get(reasons[i].c) / 1e9;
        if (part < 0.01 * idle) continue;
        str_printf(t, "%s %s %.2f s", comma, reasons[i].what, part);
        comma = ",";
    }
    double rest = idle - scale * sum;
    if (rest > 0.01 * idle) str_printf(t, "%s the program's own work %.2f s", comma, rest);
    str_putc(t, '\n');
}

/* --- Prometheus --- */
void diag_append_prometheus(str *t) {
    for (int c = 0; c < COUNTER_COUNT; c++) {
        const char *unit = counter_unit((counter)c), *suffix = strcmp(unit, "ns") == 0 ? "_seconds" : "";
        char name[64];
        snprintf(name, sizeof name, "%s", counter_name((counter)c));
        if (*suffix) name[strlen(name) - 3] = '\0'; /* "trace_ns" is in seconds here, as Prometheus wants it */
        bool gauge = c == COUNTER_device_bytes || c == COUNTER_device_peak_bytes || c == COUNTER_program_temp_bytes ||
                     c == COUNTER_in_flight_peak || c == COUNTER_loader_workers;
        const char *total = gauge ? "" : "_total";
        str_printf(t, "# HELP xtrain_%s%s%s %s\n# TYPE xtrain_%s%s%s %s\n", name, suffix, total,
                   counter_help((counter)c), name, suffix, total, gauge ? "gauge" : "counter");
        if (*suffix)
            str_printf(t, "xtrain_%s%s%s{rank=\"%d\"} %.9g\n", name, suffix, total, world_get()->rank,
                       (double)counter_get((counter)c) / 1e9);
        else
            str_printf(t, "xtrain_%s%s%s{rank=\"%d\"} %lld\n", name, suffix, total, world_get()->rank,
                       (long long)counter_get((counter)c));
    }
    diag_append_phase_prometheus(t);
    for (int p = 0; p < DIAG_PHASES; p++) {
        if (diag_time_count((diag_phase)p) == 0) continue;
        char name[32];
        snprintf(name, sizeof name, "%s", phases[p].name);
        for (char *q = name; *q; q++)
            if (*q == ' ') *q = '_';
        str_printf(t,
                   "# HELP xtrain_phase_%s_seconds %s, by step\n"
                   "# TYPE xtrain_phase_%s_seconds summary\n",
                   name, phases[p].what, name);
        static const double shares[] = {0.5, 0.95, 0.99};
        for (size_t i = 0; i < BASE_COUNT(shares); i++)
            str_printf(t, "xtrain_phase_%s_seconds{rank=\"%d\",quantile=\"%g\"} %.9g\n", name, world_get()->rank,
                       shares[i], diag_time_percentile((diag_phase)p, shares[i]) / 1e9);
        str_printf(t, "xtrain_phase_%s_seconds_count{rank=\"%d\"} %lld\n", name, world_get()->rank,
                   (long long)diag_time_count((diag_phase)p));
    }
}
