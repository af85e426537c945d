/* xtrain bench: one training step of a built-in model, timed by completion on the device. */
#include "cli/cli.h"
#include "models/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds since this process was started, from the kernel's own record, so that loading is counted too. */
static double since_start(void) {
    unsigned long long ticks = 0;
    FILE *f = fopen("/proc/self/stat", "r");
    char line[2048];
    if (f && fgets(line, sizeof line, f)) {
        char *p = strrchr(line, ')');
        for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
        if (p) ticks = strtoull(p + 1, NULL, 10);
    }
    if (f) fclose(f);
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9 - (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

typedef struct options {
    const char *model, *precision, *device;
    int64_t batch, steps;
    bool json;
    model_options of_model;
} options;

typedef struct result {
    double median_ms, min_ms, first_ms, compile_ms, loss_first, loss_last;
    int64_t compiles, batch, tokens;
} result;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static xt_tensor step(const model *m, xt_module *net, xt_optimizer *opt, xt_batch b, bool bf16) {
    if (bf16) xt_autocast_begin(XT_BF16);
    xt_tensor out = xt_forward(net, b.x);
    if (bf16) xt_autocast_end();
    xt_tensor loss = m->loss(out, b.y);
    xt_backward(loss);
    xt_optimizer_step(opt);
    return loss;
}

/* Steps run back to back as in training; each is timed from completion to completion. */
static int measure(const model *m, options *o, result *r) {
    xt_module *net = xt_module_new(m->net, &o->of_model);
    xt_optimizer *opt = net ? m->optimizer(net, 0) : NULL;
    r->batch = o->batch ? o->batch : m->batch;
    xt_spec y = m->y(o->of_model.side, o->of_model.seq);
    r->tokens = m->tokens ? r->batch * y.dims[0] : 0;
    xt_loader *loader = xt_sample_loader(.batch = r->batch, .count = o->steps + 3, .x = m->x(o->of_model.side, o->of_model.seq), .y = y);
    double *times = calloc((size_t)o->steps + 1, sizeof *times), last = 0;
    bool bf16 = strcmp(o->precision, "bf16") == 0;
    int64_t k = 0, n = 0;
    xt_tensor first = {0}, final = {0};
    for (xt_batch b; times && xt_next(loader, &b); k++) {
        xt_tensor loss = step(m, net, opt, b, bf16);
        xt_tensor before = final; /* every step keeps its loss, so that every step is the same program */
        final = xt_keep(loss);
        if (k == 0) first = final;
        else if (k > 1) xt_drop(before);
        if (!xt_mark_step() || !xt_wait()) break;
        double t = now();
        if (k == 0) r->first_ms = since_start() * 1e3;
        if (k >= 3) times[n++] = (t - last) * 1e3;
        last = t;
    }
    if (n) {
        qsort(times, (size_t)n, sizeof *times, by_value);
        r->median_ms = times[n / 2];
        r->min_ms = times[0];
        r->loss_first = xt_item(first);
        r->loss_last = xt_item(final);
    }
    free(times);
    r->compiles = xt_counter("compiles");
    r->compile_ms = (double)xt_counter("compile_ns") / 1e6;
    return n ? 0 : 1;
}

static void print_json(const options *o, const result *r, double rss) {
    printf("{\"model\": \"%s\", \"batch\": %lld, \"precision\": \"%s\", \"device\": \"%s\", \"ms_median\": %.4f, \"ms_min\": %.4f, \"samples_per_s\": %.1f, \"tokens_per_s\": %.1f, "
           "\"start_to_first_step_ms\": %.1f, \"compile_ms\": %.1f, \"compiles\": %lld, \"peak_rss_mib\": %.1f, \"device_peak_mib\": %.1f, \"temp_mib\": %.1f, \"loss_first\": %.7g, \"loss_last\": %.7g}\n",
           o->model, (long long)r->batch, o->precision, o->device ? o->device : "CPU", r->median_ms, r->min_ms, (double)r->batch / r->median_ms * 1e3, (double)r->tokens / r->median_ms * 1e3, r->first_ms,
           r->compile_ms, (long long)r->compiles, rss, (double)xt_counter("device_peak_bytes") / 1048576,
           (double)xt_counter("program_temp_bytes") / 1048576, r->loss_first, r->loss_last);
}

static int run(int argc, char **argv) {
    options o = {.precision = "fp32", .steps = 50};
    const cli_option table[] = {
        {"MODEL", CLI_STRING, &o.model, NULL, "mnist, resnet18, gpt2, gpt2-mini or gpt2-tiny"},
        {"--batch", CLI_INT, &o.batch, "N", "samples a step (default: the model's)"},
        {"--steps", CLI_INT, &o.steps, "N", "steps timed after 3 to warm up (50)"},
        {"--precision", CLI_STRING, &o.precision, "P", "fp32 or bf16"},
        {"--device", CLI_STRING, &o.device, "D", "CPU, TPU, CUDA or the path of a PJRT plugin"},
        CLI_MODEL_OPTIONS(o.of_model),
        {"--json", CLI_FLAG, &o.json, NULL, "one JSON object on the last line"},
    };
    int code = cli_parse(argc, argv, "usage: xtrain bench MODEL [options]\n\nTimes the training step of a built-in model on data of zeros.\n", table, (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    const model *m = o.model ? model_find(o.model) : NULL;
    if (!m || o.steps < 1 || o.batch < 0 || (strcmp(o.precision, "fp32") != 0 && strcmp(o.precision, "bf16") != 0)) {
        fprintf(stderr, "xtrain bench: a model (mnist, resnet18, gpt2, gpt2-mini, gpt2-tiny), positive numbers and precision fp32 or bf16 are needed; xtrain bench --help\n");
        return 2;
    }
    char why[256];
    if (!model_settle(m, &o.of_model, why, sizeof why)) {
        fprintf(stderr, "xtrain bench: %s\n", why);
        return 2;
    }
    if (o.device) setenv("XT_DEVICE", o.device, 1);
    setenv("XT_SUMMARY", "off", 0);
    result r = {0};
    code = measure(m, &o, &r);
    struct rusage ru;
    getrusage(RUSAGE_SELF, &ru);
    double rss = (double)ru.ru_maxrss / 1024;
    if (!code && o.json) print_json(&o, &r, rss);
    else if (!code)
        printf("%s, batch %lld, %s: %.3f ms a step (median of %lld; min %.3f), %.0f samples/s; first step after %.0f ms, compile %.0f ms, peak %.0f MiB\n", m->name, (long long)r.batch, o.precision,
               r.median_ms, (long long)o.steps, r.min_ms, (double)r.batch / r.median_ms * 1e3, r.first_ms, r.compile_ms, rss);
    return xt_finish() || code;
}

const cli_command cli_bench = {"bench", "time the training step of a model", run};
