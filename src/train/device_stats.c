/* Five values with each row: what the device holds, what the process and the machine use. They come from counters and
 * /proc: no read from the device. */
#include <time.h>
#include <unistd.h>

#include "train/train_int.h"

typedef struct stats {
    int64_t cpu_ns, wall_ns; /* at the row before */
} stats;

static int64_t cpu_now(void) {
    struct timespec c;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &c);
    return (int64_t)c.tv_sec * 1000000000 + c.tv_nsec;
}

static double resident_mib(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*s %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static double machine_percent(void) {
    char line[128];
    double total = 0, available = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemTotal: %lf", &total) == 1) continue;
        if (sscanf(line, "MemAvailable: %lf", &available) == 1) break;
    }
    if (f) fclose(f);
    return total > 0 ? 100 * (1 - available / total) : 0;
}

static xt_status fit_start(xt_trainer *t, void *user) {
    stats *m = user;
    *m = (stats){cpu_now(), clock_ns()};
    return callback_needs_logger(t, "xt_device_stats");
}

static const xt_callback_desc desc;
static void row(xt_trainer *t, void *user) {
    static const char *const names[] = {"device/memory_mib", "device/memory_peak_mib", "host/rss_mib",
                                        "host/cpu_percent", "host/memory_percent"};
    stats *m = user;
    int64_t cpu = cpu_now(), wall = clock_ns();
    double values[] = {(double)counter_get(COUNTER_device_bytes) / 1048576,
                       (double)counter_get(COUNTER_device_peak_bytes) / 1048576, resident_mib(),
                       wall > m->wall_ns ? 100.0 * (double)(cpu - m->cpu_ns) / (double)(wall - m->wall_ns) : 0,
                       machine_percent()};
    *m = (stats){cpu, wall};
    if (world_get()->rank == 0 && callback_leads(t, &desc, user))
        xt_trainer_log_host(t, (int)BASE_COUNT(names), names, values);
}

static const xt_callback_desc desc = {.struct_size = sizeof(xt_callback_desc),
                                      .name = "device_stats",
                                      .fit_start = fit_start,
                                      .row = row,
                                      .free_user = base_free};

xt_callback *xt_device_stats(void) {
    stats *m = base_calloc(1, sizeof *m);
    if (m) return callback_make(&desc, m);
    lazy_fail(status_oom(sizeof *m, "a callback"));
    return NULL;
}
