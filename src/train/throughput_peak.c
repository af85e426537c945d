/* Peaks of accelerators are the vendors' dense bf16 figures (no sparsity), matched by words of the device kind, most
 * particular row first. A CPU's peak depends on clock and cores, so it is measured through the device boundary, outside
 * the training's own counters. */
#include "train/throughput_peak.h"

#include <pthread.h>

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

static xt_status time_once(device_exec *e, device_buffer *in, double *best_s) {
    device_buffer *out = NULL;
    int64_t from = clock_ns();
    XT_TRY(device_execute(e, 1, &in, NULL, &out, NULL, NULL));
    xt_status s = device_buffer_wait(out);
    double took = (double)(clock_ns() - from) / 1e9;
    device_buffer_release(out);
    if (!s && took > 0 && (*best_s == 0 || took < *best_s)) *best_s = took;
    return s;
}

static xt_status measure(device_client *c, double *out) {
    device_exec *e = NULL;
    device_buffer *in = NULL;
    int64_t dims[2] = {SIDE, SIDE};
    double best = 0;
    float *data = base_calloc(SIDE * SIDE, sizeof *data);
    if (!data) return status_oom(SIDE * SIDE * 4, "measuring the device");
    for (int i = 0; i < SIDE * SIDE; i++) data[i] = (float)(i % 7) * 0.01f;
    xt_status s = device_compile(c, program, sizeof program - 1, &(device_compile_opts){0}, &e);
    if (!s) s = device_upload(c, XT_F32, 2, dims, data, &in);
    for (int i = 0; i < TRIES && !s; i++) s = time_once(e, in, &best);
    base_free(data);
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
