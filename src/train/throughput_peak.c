/* Peaks of accelerators are the vendors' dense bf16 figures (no sparsity), matched by words of the device kind, most
 * particular row first. A CPU's peak depends on clock and cores, so it is measured through the device boundary, outside
 * the training's own counters, and by the time that its threads have computed, which is the same whatever else the
 * machine does: by a clock on the wall a machine that is shared would have a fraction of its peak. */
#include "train/throughput_peak.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "device/device.h"
#include "lazy/lazy.h"

static const struct {
    const char *word;
    double flops;
} table[] = {
    {"B200", 2250e12},   {"GH200", 989e12},  {"H200", 989e12},        {"H100 PCIe", 756e12}, {"H100 NVL", 835e12},
    {"H100", 989e12},    {"A100", 312e12},   {"L40S", 362e12},        {"L40", 181e12},       {"L4", 121e12},
    {"A10", 125e12},     {"A6000", 155e12},  {"V100", 125e12},        {"T4", 65e12},         {"TPU v2", 22.5e12},
    {"TPU v3", 61.5e12}, {"TPU v4", 275e12}, {"TPU v5 lite", 197e12}, {"TPU v5e", 197e12},   {"TPU v5", 459e12},
    {"TPU v6", 918e12},
};

double throughput_peak_of(const char *device_kind, const char **out_row) {
    for (size_t i = 0; device_kind && i < BASE_COUNT(table); i++)
        if (strstr(device_kind, table[i].word)) {
            *out_row = table[i].word;
            return table[i].flops;
        }
    return 0;
}

enum { SIDE = 1024, TRIES = 4 };
static const char program[] =
    "module @peak {\n"
    "  func.func public @main(%arg0: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {\n"
    "    %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, "
    "tensor<1024x1024xf32>) -> tensor<1024x1024xf32>\n"
    "    return %0 : tensor<1024x1024xf32>\n"
    "  }\n"
    "}\n";

/* --- what the threads of this process have computed --- */
typedef struct thread_time {
    long tid;
    double s;
} thread_time;
typedef struct thread_times {
    thread_time *at;
    size_t n, cap;
} thread_times;

/* The kernel's name for the CPU clock of a thread by its id (pthread_getcpuclockid knows no thread but by handle). */
static double computed_by(long tid) {
    struct timespec t;
    clockid_t clock = (clockid_t)((~(unsigned)tid << 3) | 6);
    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec * 1e-9 : 0;
}

static void times_get(thread_times *out) {
    DIR *d = opendir("/proc/self/task");
    out->n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        long tid = strtol(e->d_name, NULL, 10);
        thread_time t = {tid, tid > 0 ? computed_by(tid) : 0};
        if (tid > 0 && !VEC_PUSH(out->at, out->n, out->cap, t)) break;
    }
    if (d) closedir(d);
}

static double time_before(const thread_times *before, long tid) {
    for (size_t i = 0; i < before->n; i++)
        if (before->at[i].tid == tid) return before->at[i].s;
    return 0; /* it began since */
}

/* In all, and by how many threads: those with a share that is worth the name. */
static double computed_since(const thread_times *before, const thread_times *now, int *out_threads) {
    double all = 0;
    for (size_t i = 0; i < now->n; i++) all += now->at[i].s - time_before(before, now->at[i].tid);
    *out_threads = 0;
    for (size_t i = 0; i < now->n; i++) *out_threads += now->at[i].s - time_before(before, now->at[i].tid) > 0.05 * all;
    return all;
}

/* --- a product --- */
typedef struct measurement {
    thread_times before, after;
    double wall_s, cpu_s; /* of the fastest; cpu_s: of all threads together */
    int threads; /* the most that computed one */
} measurement;

static xt_status time_once(device_exec *e, device_buffer *in, measurement *m) {
    device_buffer *out = NULL;
    times_get(&m->before);
    int64_t from = clock_ns();
    XT_TRY(device_execute(e, 1, &in, NULL, &out, NULL, NULL));
    xt_status s = device_buffer_wait(out);
    double took = (double)(clock_ns() - from) / 1e9;
    times_get(&m->after);
    device_buffer_release(out);
    int threads;
    double cpu = computed_since(&m->before, &m->after, &threads);
    if (!s && took > 0 && (m->wall_s == 0 || took < m->wall_s)) m->wall_s = took;
    if (!s && cpu > 0 && (m->cpu_s == 0 || cpu < m->cpu_s)) m->cpu_s = cpu;
    if (threads > m->threads) m->threads = threads;
    return s;
}

/* How long it takes the device when it has the processor for itself. Another kind of device than a CPU computes on no
 * thread of this process. */
static double alone(const device_client *c, const measurement *m) {
    bool cpu = strstr(device_get_info(c)->platform, "cpu") && m->threads > 0;
    double s = cpu ? m->cpu_s / m->threads : 0;
    return s > 0 && s < m->wall_s ? s : m->wall_s;
}

static xt_status measure(device_client *c, double *out) {
    device_exec *e = NULL;
    device_buffer *in = NULL;
    int64_t dims[2] = {SIDE, SIDE};
    measurement m = {0};
    float *data = base_calloc(SIDE * SIDE, sizeof *data);
    if (!data) return status_oom(SIDE * SIDE * 4, "measuring the device");
    for (int i = 0; i < SIDE * SIDE; i++) data[i] = (float)(i % 7) * 0.01f;
    xt_status s = device_compile(c, program, sizeof program - 1, &(device_compile_opts){0}, &e);
    if (!s) s = device_upload(c, XT_F32, 2, dims, data, &in);
    for (int i = 0; i < TRIES && !s; i++) s = time_once(e, in, &m);
    double best = alone(c, &m);
    base_free(data);
    base_free(m.before.at);
    base_free(m.after.at);
    device_buffer_release(in);
    device_exec_release(e);
    *out = best > 0 ? 2.0 * SIDE * SIDE * SIDE / best : 0;
    return s;
}

xt_status throughput_peak(double *out_peak, const char **out_source) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static double known;
    static const char *source;
    device_client *c;
    XT_TRY(lazy_device(&c));
    pthread_mutex_lock(&lock);
    if (!source) {
        const char *row = "";
        known = throughput_peak_of(device_get_info(c)->device_kind, &row);
        source = "dense bf16 peak from the table";
        xt_status s = known == 0 && !device_is_dry(c) ? measure(c, &known) : NULL;
        if (s) {
            known = 0;
            /* its first sentence: what filled the memory is told by the step that needs it */
            const char *why = status_message(s);
            log_msg(XT_SEV_WARNING, "the device's peak could not be measured: %.*s", (int)strcspn(why, "\n"),
                    strstr(why, "out of device memory") ? "out of device memory" : why);
            xt_status_free(s);
        } else if (!*row)
            source = "measured with a 1024 x 1024 f32 matrix product";
    }
    *out_peak = known;
    *out_source = source;
    pthread_mutex_unlock(&lock);
    return NULL;
}
