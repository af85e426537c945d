/* Counters for users: by name, and as a table. */
#include "diag/diag.h"

#include <math.h>

int64_t xt_counter(const char *name) {
    for (int c = 0; c < COUNTER_COUNT; c++)
        if (name && strcmp(name, counter_name((counter)c)) == 0) return counter_get((counter)c);
    return -1;
}

void xt_metrics_report(void) {
    str t = STR_INIT;
    str_append(&t, "counters\n");
    for (int c = 0; c < COUNTER_COUNT; c++) {
        int64_t v = counter_get((counter)c);
        const char *unit = counter_unit((counter)c);
        if (strcmp(unit, "ns") == 0)
            str_printf(&t, "  %-20s %14.3f ms  %s\n", counter_name((counter)c), (double)v / 1e6,
                       counter_help((counter)c));
        else if (strcmp(unit, "B") == 0)
            str_printf(&t, "  %-20s %14.3f MiB %s\n", counter_name((counter)c), (double)v / 1048576,
                       counter_help((counter)c));
        else
            str_printf(&t, "  %-20s %14lld     %s\n", counter_name((counter)c), (long long)v, counter_help((counter)c));
    }
    diag_append_phase_table(&t);
    diag_append_times(&t);
    log_raw(XT_SEV_INFO, t.data ? t.data : "", t.len);
    str_free(&t);
}

double xt_percentile(const char *phase, double share) {
    for (int p = 0; phase && p < DIAG_PHASES; p++)
        if (strcmp(phase, diag_phase_name((diag_phase)p)) == 0) return diag_time_percentile((diag_phase)p, share) / 1e9;
    return NAN;
}
