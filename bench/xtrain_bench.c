/* All benchmarks in one run: steps of the built-in models, what starting and compiling cost, dispatch, the dearest
 * kernels against the roofline, what switches cost, and other frameworks beside it.
 *
 *     build/xtrain_bench [--only PART,...] [--rows NAME,...] [--peers DIR [--beside PEER,...]] [--rounds N]
 *                        [--limit SECONDS] [--quick] [--json FILE] [--png FILE]
 *
 * Each figure comes from a process of its own (`xtrain bench`, `dispatch_bench`, bench/peers/ *.py), one after the
 * other, so nothing warms anything else up. With peers a round runs xtrain and then each peer, and the next round
 * begins again, so that a machine that changes its pace changes it for all; the best round of each counts. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include <xtrain/plot.h>

#include "bench/peers.h"

static char here[PATH_MAX], source[PATH_MAX]; /* of this program; of bench/ */
static const char *parts = "steps,start,dispatch,kernels,switches", *only_rows, *peers,
                  *beside = "eager,compile,xla,jax";
static bool quick;
static int64_t rounds = 2, limit = 300;
static cJSON *all;

/* --- running things --- */
/* The last line of what a command prints, as JSON; NULL when it fails or prints none. */
static cJSON *run_json(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static cJSON *run_json(const char *fmt, ...) {
    char command[8192], line[1 << 16], last[1 << 16] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    fflush(stdout);
    FILE *f = popen(command, "r");
    if (!f) return NULL;
    while (fgets(line, sizeof line, f))
        if (line[0] == '{') strcpy(last, line);
    return pclose(f) == 0 && *last ? cJSON_Parse(last) : NULL;
}

static double number(const cJSON *o, const char *key) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(e) ? e->valuedouble : NAN;
}

static bool listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n])) return true;
    return false;
}

static void cell(double v) {
    if (isnan(v))
        printf(" %9s", "-");
    else
        printf(v < 10 ? " %9.3f" : v < 100 ? " %9.2f" : " %9.1f", v);
    fflush(stdout);
}

/* NaN counts for nothing. */
static double least(double a, double b) {
    return isnan(a) ? b : isnan(b) || a < b ? a : b;
}

/* A peer takes half a minute and more until it has compiled: on a terminal the line says what runs, and goes
 * when it is over. */
static void tell_running(const char *row, const char *what) {
    if (!isatty(STDERR_FILENO)) return;
    if (row)
        fprintf(stderr, "\r%s: %s ...\033[K", row, what);
    else
        fprintf(stderr, "\r\033[K");
    fflush(stderr);
}

/* --- rows: one training step each --- */
typedef struct row {
    const char *name, *model, *precision;
    int batch, side, seq, steps, peer_steps;
    bool quick, has[PEERS];
} row;
static const row rows[] = {
    {"mnist-128", "mnist", "fp32", 128, 0, 0, 300, 200, true, {true, true, true, false}},
    {"mnist-96", "mnist", "fp32", 96, 0, 0, 300, 200, false, {true, true, false, false}},
    {"mnist-32", "mnist", "fp32", 32, 0, 0, 300, 200, false, {true, true, true, false}},
    {"resnet18-16", "resnet18", "fp32", 16, 224, 0, 8, 5, true, {true, true, true, false}},
    {"resnet18-16-bf16", "resnet18", "bf16", 16, 224, 0, 12, 8, false, {true, true, false, false}},
    {"resnet18-64x32", "resnet18", "fp32", 64, 32, 0, 30, 20, false, {true, true, false, false}},
    {"resnet18-64x32-bf16", "resnet18", "bf16", 64, 32, 0, 30, 20, false, {true, true, false, false}},
    {"gpt2-4x64", "gpt2", "fp32", 4, 0, 64, 8, 4, true, {true, true, true, true}},
    {"gpt2-4x64-bf16", "gpt2", "bf16", 4, 0, 64, 8, 4, false, {true, true, false, true}},
    {"gpt2-4x128", "gpt2", "fp32", 4, 0, 128, 6, 3, false, {true, false, true, true}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* The first word of a list that no row (or peer) is called; NULL: all are known. */
static const char *unknown(const char *list, bool peer, char *word, size_t n) {
    for (const char *p = list; p && *p; p += strspn(p, ",")) {
        size_t len = strcspn(p, ",");
        bool found = false;
        snprintf(word, n, "%.*s", (int)len, p);
        for (int i = 0; i < (peer ? PEERS : ROWS); i++)
            found = found || strcmp(word, peer ? peer_names[i] : rows[i].name) == 0;
        if (!found) return word;
        p += len;
    }
    return NULL;
}

static int64_t clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static bool wanted(const row *r) {
    return only_rows ? listed(only_rows, r->name) : !quick || r->quick;
}

static const char *sizes(const row *r, char *buf, size_t n) {
    size_t k = (size_t)snprintf(buf, n, "--batch %d --precision %s", r->batch, r->precision);
    if (r->side && strcmp(r->model, "resnet18") == 0) k += (size_t)snprintf(buf + k, n - k, " --side %d", r->side);
    if (r->seq) snprintf(buf + k, n - k, " --seq %d", r->seq);
    return buf;
}

/* What people call the row: the label of tables and pictures that bench/steps_chart.c makes. */
static const char *label(const row *r, char *buf, size_t n) {
    char size[32] = "";
    if (strcmp(r->model, "resnet18") == 0) snprintf(size, sizeof size, " x %dx%d", r->side, r->side);
    if (r->seq) snprintf(size, sizeof size, " x %d", r->seq);
    const char *model = strcmp(r->model, "mnist") == 0 ? "MNIST net" : r->seq ? "GPT-2 124M" : "ResNet-18";
    snprintf(buf, n, "%s, %d%s, %s", model, r->batch, size, strcmp(r->precision, "fp32") == 0 ? "f32" : r->precision);
    return buf;
}

static cJSON *run_own(const row *r, int steps, const char *environment, const char *more) {
    char size[128];
    return run_json("%s '%s/xtrain' bench %s %s --steps %d %s --json 2>/dev/null", environment, here, r->model,
                    sizes(r, size, sizeof size), steps, more);
}

/* A peer that fails is told with the last line it said, once a row; one that takes longer than the limit is ended. */
static cJSON *run_peer(const row *r, int peer, bool tell) {
    char size[128], log[] = "/tmp/xtrain_bench_XXXXXX", line[1024], last[1024] = "it said nothing";
    int fd = mkstemp(log);
    if (fd >= 0) close(fd);
    tell_running(r->name, full_names[peer]);
    int64_t began = clock_seconds();
    cJSON *o =
        run_json("timeout -k 5 %lld '%s/%s/bin/python' '%s/peers/%s' %s %s %s --steps %d 2>'%s'", (long long)limit,
                 peers, peer == JAX ? "jax" : "torch", source, peer == JAX ? "jax_step.py" : "torch_step.py",
                 peer == JAX ? "jit" : peer_names[peer], r->model, sizes(r, size, sizeof size), r->peer_steps, log);
    FILE *f = o || !tell ? NULL : fopen(log, "r");
    while (f && fgets(line, sizeof line, f))
        if (line[strspn(line, " \n")]) strcpy(last, line);
    if (f) fclose(f);
    tell_running(NULL, NULL);
    if (!o && tell && clock_seconds() - began >= limit)
        fprintf(stderr, "xtrain_bench: %s on %s had not finished after %lld s (--limit)\n", full_names[peer], r->name,
                (long long)limit);
    else if (!o && tell)
        fprintf(stderr, "xtrain_bench: %s on %s failed: %s\n", full_names[peer], r->name, last);
    unlink(log);
    return o;
}

static void print_peers(double first[ROWS][PEERS], double rss[ROWS][PEERS]) {
    printf("\nThe peers from process start to the first finished step, milliseconds; peak memory, MiB\n%-18s", "");
    for (int p = 0; p < 2 * PEERS; p++) printf(" %9s", peer_names[p % PEERS]);
    printf("\n");
    for (int i = 0; i < ROWS; i++) {
        if (!wanted(&rows[i])) continue;
        printf("%-18s", rows[i].name);
        for (int p = 0; p < PEERS; p++) cell(first[i][p]);
        for (int p = 0; p < PEERS; p++) cell(rss[i][p]);
        printf("\n");
    }
}

static void time_steps(void) {
    cJSON *out = cJSON_AddArrayToObject(all, "steps");
    printf("\n"
           "Training steps, milliseconds. The first columns are of xtrain: median, the slowest of a hundred, and both "
           "with a loader that makes the batches;\n"
           "ratio: xtrain's median over that of the best peer.\n"
           "%-18s %9s %9s %9s %9s %9s",
           "", "p50", "p99", "p50 load", "p99 load", "MiB");
    for (int p = 0; p < PEERS && peers; p++) printf(" %9s", peer_names[p]);
    printf(peers ? " %9s\n" : "\n", "ratio");
    double peer_first[ROWS][PEERS], peer_rss[ROWS][PEERS];
    for (int i = 0; i < ROWS * PEERS; i++) peer_first[i / PEERS][i % PEERS] = peer_rss[i / PEERS][i % PEERS] = NAN;
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        if (!wanted(r)) continue;
        double p50 = NAN, p99 = NAN, load50 = NAN, load99 = NAN, rss = NAN, peer_ms[PEERS] = {NAN, NAN, NAN, NAN},
               best = NAN;
        for (int64_t k = 0; k < rounds; k++) {
            tell_running(r->name, "xtrain");
            cJSON *own = run_own(r, r->steps, "", ""), *loader = run_own(r, r->steps, "", "--loader");
            p50 = least(p50, number(own, "ms_median"));
            p99 = least(p99, number(own, "ms_p99"));
            load50 = least(load50, number(loader, "ms_median"));
            load99 = least(load99, number(loader, "ms_p99"));
            rss = least(rss, number(own, "peak_rss_mib"));
            cJSON_Delete(own);
            cJSON_Delete(loader);
            for (int p = 0; p < PEERS; p++) {
                cJSON *peer = peers && r->has[p] && listed(beside, peer_names[p]) ? run_peer(r, p, k == 0) : NULL;
                peer_ms[p] = least(peer_ms[p], number(peer, "ms_median"));
                peer_first[i][p] = least(peer_first[i][p], number(peer, "start_to_first_step_ms"));
                peer_rss[i][p] = least(peer_rss[i][p], number(peer, "peak_rss_mib"));
                cJSON_Delete(peer);
            }
        }
        tell_running(NULL, NULL);
        printf("%-18s", r->name);
        cell(p50), cell(p99), cell(load50), cell(load99), cell(rss);
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(out, o);
        char text[64];
        cJSON_AddStringToObject(o, "row", r->name);
        cJSON_AddStringToObject(o, "label", label(r, text, sizeof text));
        cJSON_AddNumberToObject(o, "ms_median", p50);
        cJSON_AddNumberToObject(o, "ms_p99", p99);
        cJSON_AddNumberToObject(o, "ms_median_loader", load50);
        cJSON_AddNumberToObject(o, "ms_p99_loader", load99);
        cJSON_AddNumberToObject(o, "peak_rss_mib", rss);
        for (int p = 0; p < PEERS && peers; p++) {
            cell(peer_ms[p]);
            best = least(best, peer_ms[p]);
            cJSON_AddNumberToObject(o, peer_names[p], peer_ms[p]);
            char key[64];
            snprintf(key, sizeof key, "%s_start_ms", peer_names[p]);
            cJSON_AddNumberToObject(o, key, peer_first[i][p]);
            snprintf(key, sizeof key, "%s_rss_mib", peer_names[p]);
            cJSON_AddNumberToObject(o, key, peer_rss[i][p]);
        }
        if (peers) {
            cell(p50 / best);
            cJSON_AddNumberToObject(o, "ratio", p50 / best);
        }
        printf("\n");
    }
    if (peers) print_peers(peer_first, peer_rss);
}

/* --- start: an empty cache, then the one the first run filled --- */
static void time_starts(void) {
    char cache[] = "/tmp/xtrain_bench_XXXXXX", environment[128];
    cJSON *out = cJSON_AddArrayToObject(all, "start");
    if (!mkdtemp(cache)) return;
    printf("\n"
           "From process start to the first finished step, milliseconds\n"
           "%-18s %9s %9s %9s %9s\n",
           "", "empty", "compile", "second", "compile");
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        if (!wanted(r)) continue;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(out, o);
        cJSON_AddStringToObject(o, "row", r->name);
        printf("%-18s", r->name);
        for (int second = 0; second < 2; second++) {
            snprintf(environment, sizeof environment, "XT_CACHE=on XT_CACHE_DIR='%s/%s'", cache, r->name);
            cJSON *run = run_own(r, 1, environment, "");
            cell(number(run, "start_to_first_step_ms"));
            cell(number(run, "compile_ms"));
            cJSON_AddNumberToObject(o, second ? "second_ms" : "empty_ms", number(run, "start_to_first_step_ms"));
            cJSON_AddNumberToObject(o, second ? "second_compile_ms" : "empty_compile_ms", number(run, "compile_ms"));
            cJSON_Delete(run);
        }
        printf("\n");
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", cache);
    if (system(command) != 0) fprintf(stderr, "xtrain_bench: %s was left behind\n", cache);
}

/* --- dispatch --- */
static void time_dispatch(void) {
    char command[PATH_MAX + 64], line[512];
    cJSON *out = cJSON_AddArrayToObject(all, "dispatch");
    printf("\nWhat a step of ten small operations costs the host\n");
    snprintf(command, sizeof command, "'%s/dispatch_bench' %d 2>/dev/null", here, quick ? 1000 : 10000);
    fflush(stdout);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) {
        double median, best, p99;
        fputs(line, stdout);
        if (strlen(line) < 59 || sscanf(line + 58, "%lf %lf %lf", &median, &best, &p99) != 3) continue;
        line[58] = 0;
        for (size_t n = 58; n && line[n - 1] == ' '; n--) line[n - 1] = 0;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(out, o);
        cJSON_AddStringToObject(o, "what", line);
        cJSON_AddNumberToObject(o, "median_us", median);
        cJSON_AddNumberToObject(o, "best_us", best);
        cJSON_AddNumberToObject(o, "p99_us", p99);
    }
    if (f) pclose(f);
}

/* --- kernels --- */
enum { HOT = 10, MOST_SERIES = 6 };
typedef struct series {
    char name[32];
    double x[HOT], y[HOT]; /* log10 of flop/byte and of GFLOP/s */
    int n;
} series;

static int by_x(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void note_thunk(series *s, double gflops, double gbs) {
    if (!(gflops > 0) || !(gbs > 0) || s->n == HOT) return;
    double points[HOT][2];
    for (int i = 0; i < s->n; i++) points[i][0] = s->x[i], points[i][1] = s->y[i];
    points[s->n][0] = log10(gflops / gbs);
    points[s->n++][1] = log10(gflops);
    qsort(points, (size_t)s->n, sizeof points[0], by_x);
    for (int i = 0; i < s->n; i++) s->x[i] = points[i][0], s->y[i] = points[i][1];
}

/* The roof over flop/byte: memory beyond the caches on the left, f32 arithmetic on the right. */
static void draw(const char *png, const cJSON *roof, const series *of, int n) {
    double peak = log10(number(roof, "f32_gflops")), gbs = NAN, x[3], y[3];
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(roof, "triad")) gbs = log10(number(e, "gbs"));
    x[0] = -1.5, y[0] = gbs + x[0], x[1] = peak - gbs, y[1] = peak, x[2] = 3, y[2] = peak;
    xt_plot_series lines[MOST_SERIES] = {{"roof (memory, f32)", x, y, 3}};
    for (int i = 0; i < n && i + 1 < MOST_SERIES; i++)
        lines[i + 1] = (xt_plot_series){of[i].name, of[i].x, of[i].y, of[i].n};
    xt_status s = xt_plot_lines(png, "the ten dearest thunks under the roofline", "log10 flop/byte", lines,
                                n + 1 < MOST_SERIES ? n + 1 : MOST_SERIES);
    if (s)
        fprintf(stderr, "xtrain_bench: %s\n", xt_status_message(s));
    else
        printf("\n%s: up is log10 GFLOP/s\n", png);
    xt_status_free(s);
}

static void profile_kernels(const char *png) {
    cJSON *out = cJSON_AddArrayToObject(all, "kernels"), *roof = NULL;
    series of[MOST_SERIES - 1] = {{.n = 0}};
    int n = 0;
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        if (!wanted(r) || (!only_rows && !r->quick)) continue;
        cJSON *run = run_own(r, r->steps < 10 ? 3 : 30, "", "--hottest 10"),
              *now = cJSON_DetachItemFromObjectCaseSensitive(run, "roofline"),
              *thunks = cJSON_DetachItemFromObjectCaseSensitive(run, "thunks");
        const cJSON *t;
        printf("\n"
               "%s: the dearest thunks; all take %.2f ms. The roofline in the same run: %.0f GFLOP/s f32, %.0f bf16;",
               r->name, number(run, "thunks_ms"), number(now, "f32_gflops"), number(now, "bf16_gflops"));
        cJSON_ArrayForEach(t, cJSON_GetObjectItemCaseSensitive(now, "triad"))
            printf(" %.0f GB/s (%.3g MiB)", number(t, "gbs"), number(t, "bytes") / 1048576);
        printf("\n%10s %7s %9s %9s %9s  %s\n", "us", "share", "GFLOP/s", "GB/s", "roofline", "kernel: op, result");
        snprintf(of[n].name, sizeof of[n].name, "%s", r->name);
        cJSON_ArrayForEach(t, thunks) {
            printf("%10.1f %6.1f%% %9.1f %9.1f %8.0f%%  %s: %s, %s\n", number(t, "us"), number(t, "share"),
                   number(t, "gflops"), number(t, "gbs"), number(t, "roofline_percent"),
                   cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(t, "kernel")),
                   cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(t, "op")),
                   cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(t, "result")));
            note_thunk(&of[n], number(t, "gflops"), number(t, "gbs"));
        }
        if (n + 1 < MOST_SERIES - 1) n++;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(out, o);
        cJSON_AddStringToObject(o, "row", r->name);
        if (now) {
            cJSON_Delete(roof);
            roof = cJSON_Duplicate(now, true);
            cJSON_AddItemToObject(o, "roofline", now);
        }
        if (thunks) cJSON_AddItemToObject(o, "thunks", thunks);
        cJSON_Delete(run);
    }
    if (png && roof) draw(png, roof, of, n);
    if (roof) cJSON_AddItemToObject(all, "roofline", roof);
}

/* --- what switches cost --- */
static void time_switches(void) {
    static const char *const switches[] = {
        "", "XT_DEBUG=compile", "XT_DEBUG=exec", "XT_DEBUG=read", "XT_CACHE=off", "XT_THREADS=1"};
    cJSON *out = cJSON_AddArrayToObject(all, "switches");
    double plain = NAN;
    printf("\nA step of mnist-128 with a switch, milliseconds, and how much longer than without\n");
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        double ms = NAN;
        for (int64_t k = 0; k < rounds; k++) {
            cJSON *run = run_own(&rows[0], rows[0].steps, switches[i], "");
            ms = least(ms, number(run, "ms_median"));
            cJSON_Delete(run);
        }
        if (i == 0) plain = ms;
        printf("%-26s %9.3f %+8.1f %%\n", i ? switches[i] : "none", ms, 100 * (ms / plain - 1));
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(out, o);
        cJSON_AddStringToObject(o, "switch", switches[i]);
        cJSON_AddNumberToObject(o, "ms_median", ms);
    }
}

/* --- main --- */
/* The figures say which sources they are of, so that a table made from them can. */
static void source_commit(void) {
    char command[PATH_MAX + 64], commit[64] = "";
    snprintf(command, sizeof command, "git -C '%s' rev-parse --short HEAD 2>/dev/null", source);
    FILE *f = popen(command, "r");
    if (f && fgets(commit, sizeof commit, f)) commit[strcspn(commit, "\n")] = 0;
    if (f) pclose(f);
    if (*commit)
        cJSON_AddStringToObject(all, "commit", commit);
    else
        cJSON_AddNullToObject(all, "commit");
}

static void machine(void) {
    char line[256], cpu[256] = "unknown processor", date[16];
    time_t now = time(NULL);
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
            snprintf(cpu, sizeof cpu, "%s", strchr(line, ':') + 2);
    if (f) fclose(f);
    cpu[strcspn(cpu, "\n")] = 0;
    printf("%s, %ld processors, xtrain %s\n", cpu, sysconf(_SC_NPROCESSORS_ONLN), xt_version());
    cJSON_AddStringToObject(all, "processor", cpu);
    cJSON_AddNumberToObject(all, "processors", (double)sysconf(_SC_NPROCESSORS_ONLN));
    cJSON_AddStringToObject(all, "xtrain", xt_version());
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    cJSON_AddStringToObject(all, "date", date);
    source_commit();
}

static int usage(int code) {
    fprintf(code ? stderr : stdout, "usage: xtrain_bench [options]\n\n"
                                    "  --only PARTS      of steps,start,dispatch,kernels,switches (all)\n"
                                    "  --rows NAMES      of "
                                    "mnist-128,mnist-96,mnist-32,resnet18-16,resnet18-16-bf16,resnet18-64x32,resnet18-"
                                    "64x32-bf16,gpt2-4x64,gpt2-4x64-bf16,gpt2-4x128\n"
                                    "                    (all; kernels: mnist-128,resnet18-16,gpt2-4x64)\n"
                                    "  --peers DIR       runs PyTorch (eager, compile, XLA) and JAX beside it, from "
                                    "the environments that bench/peers/setup.sh DIR has made\n"
                                    "  --beside PEERS    of eager,compile,xla,jax (all)\n"
                                    "  --rounds N        how often each is run; the best counts (2)\n"
                                    "  --limit SECONDS   ends a peer's run that takes longer (300)\n"
                                    "  --quick           three rows, one round\n"
                                    "  --json FILE       all figures as one JSON object; '-' is stdout's last line\n"
                                    "  --png FILE        the dearest thunks under the roofline\n\n"
                                    "Nothing else should run meanwhile. On a machine that is shared, believe ratios of "
                                    "one run and the sums of fastest thunks.\n");
    return code;
}

int main(int argc, char **argv) {
    const char *json = NULL, *png = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--help") == 0) return usage(0);
        if (strcmp(argv[i], "--quick") == 0)
            quick = true, rounds = 1;
        else if (!value)
            return usage(2);
        else if (strcmp(argv[i], "--only") == 0)
            parts = argv[++i];
        else if (strcmp(argv[i], "--rows") == 0)
            only_rows = argv[++i];
        else if (strcmp(argv[i], "--peers") == 0)
            peers = argv[++i];
        else if (strcmp(argv[i], "--beside") == 0)
            beside = argv[++i];
        else if (strcmp(argv[i], "--rounds") == 0)
            rounds = atoll(argv[++i]);
        else if (strcmp(argv[i], "--limit") == 0)
            limit = atoll(argv[++i]);
        else if (strcmp(argv[i], "--json") == 0)
            json = argv[++i];
        else if (strcmp(argv[i], "--png") == 0)
            png = argv[++i];
        else
            return usage(2);
    }
    ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
    if (rounds < 1 || limit < 1 || n < 1) return usage(2);
    char word[64];
    for (int peer = 0; peer < 2; peer++)
        if (unknown(peer ? beside : only_rows, peer, word, sizeof word)) {
            fprintf(stderr, "xtrain_bench: there is no %s '%s'; --help lists them\n", peer ? "peer" : "row", word);
            return 2;
        }
    *strrchr(here, '/') = 0;
    snprintf(source, sizeof source, "%s", BENCH_SOURCE);
    setenv("XT_PLUGIN_DIR", here, 0);
    all = cJSON_CreateObject();
    machine();
    if (listed(parts, "steps")) time_steps();
    if (listed(parts, "start")) time_starts();
    if (listed(parts, "dispatch")) time_dispatch();
    if (listed(parts, "kernels")) profile_kernels(png);
    if (listed(parts, "switches")) time_switches();
    char *text = json ? cJSON_PrintUnformatted(all) : NULL;
    FILE *f = text ? (strcmp(json, "-") == 0 ? stdout : fopen(json, "w")) : NULL;
    bool ok = !json || (f && fprintf(f, "%s\n", text) > 0);
    if (f && f != stdout) ok = fclose(f) == 0 && ok;
    if (!ok) fprintf(stderr, "xtrain_bench: cannot write %s: %s\n", json, strerror(errno));
    free(text);
    cJSON_Delete(all);
    return !ok;
}
