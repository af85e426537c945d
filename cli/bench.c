/* xtrain bench: one training step of a built-in model, timed by completion on the device. */
#include "cli/bench.h"

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

enum { WARM = 3, MOST_TOGETHER = 8 }; /* steps before the first that is timed; steps a timing covers at most */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static xt_tensor step(const model *m, const model_options *of, xt_module *net, xt_optimizer *opt, xt_batch b,
                      bool bf16) {
    xt_tensor loss = model_train_loss(m, of, net, b.x, b.y, bf16);
    xt_backward(loss);
    xt_optimizer_step(opt);
    return loss;
}

/* Data for --loader: random values made anew for each sample, as a loader of files would. */
static xt_status make_sample(void *user, int64_t i, void *x, void *y) {
    const xt_spec *spec = user;
    uint64_t state = (uint64_t)i * 0x9e3779b97f4a7c15u + 1;
    for (int part = 0; part < 2; part++) {
        void *to = part ? y : x;
        int64_t n = 1;
        for (int d = 0; d < XT_MAX_RANK && spec[part].dims[d]; d++) n *= spec[part].dims[d];
        for (int64_t k = 0; k < n; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            if (spec[part].dtype == XT_F32)
                ((float *)to)[k] = (float)(state >> 40) * 0x1p-24f;
            else
                ((int64_t *)to)[k] = (int64_t)(state >> 33) % 10;
        }
    }
    return NULL;
}

static xt_loader *make_loader(const bench_options *o, xt_spec *spec, int64_t batch, int64_t count) {
    if (!o->loader) return xt_sample_loader(.batch = batch, .count = count, .x = spec[0], .y = spec[1]);
    xt_dataset_desc d = {.struct_size = sizeof d,
                         .count = batch * count,
                         .x = spec[0],
                         .y = spec[1],
                         .get = make_sample,
                         .user = spec,
                         .name = "random samples"};
    return xt_loader_new(xt_dataset_new(&d), .batch = batch);
}

/* When step k's loss arrived on the host: steps are timed from completion to completion, and recorded ahead as
 * in training. */
typedef struct clock_marks {
    double *at, first_ms, before_ms; /* before: spent on something else since the process began */
    float *loss;
} clock_marks;
typedef struct mark {
    clock_marks *to;
    int64_t k;
} mark;

static void arrived(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    mark *m = user;
    (void)bytes;
    (void)dtype;
    m->to->at[m->k] = now();
    m->to->loss[m->k] = *(const float *)data;
    if (m->k == 0) m->to->first_ms = since_start() * 1e3 - m->to->before_ms;
}

/* Median and fastest are of a few steps together, because the thread that sees a value arrive may be late and then sees
 * two at once. */
static void settle(const clock_marks *c, int64_t n, bench_result *r) {
    double *ms = calloc((size_t)n, sizeof *ms);
    int64_t k = 0;
    int64_t together = (n - WARM) / 4 > MOST_TOGETHER ? MOST_TOGETHER : (n - WARM) / 4 > 1 ? (n - WARM) / 4 : 1;
    for (int64_t i = WARM; ms && i < n; i++) ms[k++] = (c->at[i] - c->at[i - 1]) * 1e3;
    if (k) {
        qsort(ms, (size_t)k, sizeof *ms, by_value);
        r->p99_ms = ms[(k * 99 - 1) / 100];
        r->steps = k;
        k = 0;
        for (int64_t i = WARM - 1 + together; i < n; i++)
            ms[k++] = (c->at[i] - c->at[i - together]) * 1e3 / (double)together;
        qsort(ms, (size_t)k, sizeof *ms, by_value);
        r->median_ms = ms[k / 2];
        r->min_ms = ms[0];
    }
    free(ms);
    r->first_ms = c->first_ms;
    r->loss_first = (double)c->loss[0];
    r->loss_last = (double)c->loss[n - 1];
    r->compiles = xt_counter("compiles");
    r->compile_ms = (double)xt_counter("compile_ns") / 1e6;
}

static int measure(const model *m, bench_options *o, bench_result *r) {
    xt_module *net = xt_module_new(m->net, &o->of_model);
    xt_optimizer *opt = net ? m->optimizer(net, -1) : NULL;
    xt_spec spec[2] = {m->x(o->of_model.side, o->of_model.seq), m->y(o->of_model.side, o->of_model.seq)};
    int64_t all = o->steps + WARM, n = 0;
    r->batch = o->batch ? o->batch : m->batch;
    r->tokens = m->tokens ? r->batch * spec[1].dims[0] : 0;
    clock_marks c = {.before_ms = r->before_ms,
                     .at = calloc((size_t)all, sizeof *c.at),
                     .loss = calloc((size_t)all, sizeof *c.loss)};
    mark *marks = calloc((size_t)all, sizeof *marks);
    xt_loader *loader = make_loader(o, spec, r->batch, all);
    bool bf16 = strcmp(o->precision, "bf16") == 0;
    for (xt_batch b; marks && c.at && c.loss && loader && n < all && xt_next(loader, &b); n++) {
        marks[n] = (mark){&c, n};
        xt_when_ready(step(m, &o->of_model, net, opt, b, bf16), arrived, &marks[n]);
        /* nothing is recorded ahead of the first: it would be counted in its time */
        if (!xt_mark_step() || (n == 0 && !xt_wait())) break;
    }
    bool ok = xt_wait() && n == all && !xt_error();
    struct rusage ru;
    getrusage(RUSAGE_SELF, &ru);
    r->rss_mib = (double)ru.ru_maxrss / 1024;
    if (ok) settle(&c, n, r);
    xt_loader_free(loader);
    free(marks);
    free(c.at);
    free(c.loss);
    return ok ? 0 : 1;
}

static void print_json(const bench_options *o, const bench_result *r, const roofline *roof, const bench_thunks *hot) {
    cli_printf(
        "{\"model\": \"%s\", \"batch\": %lld, \"precision\": \"%s\", \"device\": \"%s\", \"loader\": %s, "
        "\"ms_median\": %.4f, \"ms_p99\": %.4f, \"ms_min\": %.4f, \"samples_per_s\": %.1f, \"tokens_per_s\": %.1f, "
        "\"start_to_first_step_ms\": %.1f, \"compile_ms\": %.1f, \"compiles\": %lld, \"peak_rss_mib\": %.1f, "
        "\"device_peak_mib\": %.1f, \"temp_mib\": %.1f, \"loss_first\": %.7g, \"loss_last\": %.7g",
        o->model, (long long)r->batch, o->precision, o->device ? o->device : "CPU", o->loader ? "true" : "false",
        r->median_ms, r->p99_ms, r->min_ms, (double)r->batch / r->median_ms * 1e3,
        (double)r->tokens / r->median_ms * 1e3, r->first_ms, r->compile_ms, (long long)r->compiles, r->rss_mib,
        (double)xt_counter("device_peak_bytes") / 1048576, (double)xt_counter("program_temp_bytes") / 1048576,
        r->loss_first, r->loss_last);
    if (o->roofline) {
        cli_printf(", \"roofline\": ");
        roofline_print_json(roof);
    }
    if (o->hottest) {
        cli_printf(", \"thunks_ms\": %.5g, \"thunks\": ", hot->total_ms);
        bench_hot_print_json(hot, o->hottest);
    }
    cli_printf("}\n");
}

static const char usage[] =
    "usage: xtrain bench MODEL [options]\n\n"
    "Times the training step of a built-in model, from completion to completion on the device, as it runs in "
    "training.\n\n"
    "  xtrain bench resnet18 --batch 16 --precision bf16    ms a step (median, p99, min), samples/s, first step, peak "
    "memory\n"
    "  xtrain bench gpt2 --hottest 10                       the ten dearest parts of the compiled step, each in "
    "percent of what this machine can do now\n"
    "  xtrain bench mnist --loader                          with batches made and uploaded beside the steps\n"
    "  build/xtrain_bench --help                            all models, compiles, dispatch and other frameworks in one "
    "run\n";

static int run(int argc, char **argv) {
    bench_options o = {.precision = "fp32", .steps = 50};
    const cli_option table[] = {
        {"MODEL", CLI_STRING, &o.model, NULL, "mnist, resnet18, resnet50, gpt2, gpt2-mini or gpt2-tiny"},
        {"--batch", CLI_COUNT, &o.batch, "N", "samples a step (default: the model's)"},
        {"--sweep", CLI_STRING, &o.sweep, "batch=LIST",
         "one run for each size (batch=8,16,32; batch= doubles from 1): table, the fastest, and the smallest that is "
         "as good"},
        {"--steps", CLI_COUNT, &o.steps, "N", "steps timed after 3 to warm up (50)"},
        {"--precision", CLI_STRING, &o.precision, "P", "fp32 or bf16"},
        {"--device", CLI_STRING, &o.device, "D", "CPU, TPU, CUDA or the path of a PJRT plugin"},
        {"--loader", CLI_FLAG, &o.loader, NULL,
         "make each sample anew in a loader's thread (default: one batch of zeros, on the device already)"},
        {"--roofline", CLI_FLAG, &o.roofline, NULL,
         "measure the machine first: GFLOP/s of multiply-adds, GB/s of each level of memory"},
        {"--hottest", CLI_COUNT, &o.hottest, "N",
         "the N dearest thunks of the step (at most 24), with GFLOP/s, GB/s and percent of that roofline"},
        CLI_MODEL_OPTIONS(o.of_model),
        CLI_DIAG_ROWS(o.diag),
        {"--json", CLI_FLAG, &o.json, NULL, "one JSON object on the last line"},
    };
    int code = cli_parse(argc, argv, usage, table, (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    if ((code = cli_diag_apply("bench", &o.diag))) return code;
    const model *m = o.model ? model_find(o.model) : NULL;
    if (!m || o.steps < 1 || o.batch < 0 || o.hottest < 0 ||
        (strcmp(o.precision, "fp32") != 0 && strcmp(o.precision, "bf16") != 0)) {
        if (!o.model)
            cli_fprintf(
                stderr,
                "xtrain bench: which model? mnist, resnet18, resnet50, gpt2, gpt2-mini and gpt2-tiny are known: "
                "xtrain bench mnist; --help lists the options\n");
        else
            cli_fprintf(
                stderr,
                "xtrain bench: a model (mnist, resnet18, resnet50, gpt2, gpt2-mini, gpt2-tiny), positive numbers and "
                "precision fp32 or bf16 are needed; xtrain bench --help\n");
        return 2;
    }
    char why[256];
    if (!model_settle(m, &o.of_model, why, sizeof why)) {
        cli_fprintf(stderr, "xtrain bench: %s\n", why);
        return 2;
    }
    if (o.sweep) return bench_sweep(argc, argv, &o);
    if (o.device) setenv("XT_DEVICE", o.device, 1);
    setenv("XT_SUMMARY", "off", 0);
    bench_result r = {0};
    roofline roof = {0};
    bench_thunks hot = {.n = 0};
    o.roofline = o.roofline || o.hottest;
    double began = now();
    if (o.roofline && !roofline_measure(0, &roof))
        code = cli_fail("bench", "the roofline could not be measured: no memory or no threads");
    r.before_ms = (now() - began) * 1e3;
    if (!code) code = measure(m, &o, &r);
    bool narrow = strcmp(o.precision, "bf16") == 0;
    if (!code && o.hottest) code = bench_hottest(argc, argv, &roof, narrow, &hot);
    if (!code && o.json)
        print_json(&o, &r, &roof, &hot);
    else if (!code)
        cli_printf(
            "%s, batch %lld, %s: %.3f ms a step (median of %lld; p99 %.3f, min %.3f), %.0f samples/s; first step "
            "after %.0f ms, compile %.0f ms, peak %.0f MiB\n",
            m->name, (long long)r.batch, o.precision, r.median_ms, (long long)r.steps, r.p99_ms, r.min_ms,
            (double)r.batch / r.median_ms * 1e3, r.first_ms, r.compile_ms, r.rss_mib);
    if (!code && !o.json && o.roofline) roofline_print(&roof);
    if (!code && !o.json && o.hottest) bench_hot_print(&hot, o.hottest);
    return cli_end(code);
}

const cli_command cli_bench = {"bench", "time the training step of a model", run};
