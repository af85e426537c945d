/* The dearest thunks of a training step against the roofline. The profile is the CPU plugin's own (XT_DEBUG=exec), of a
 * second process, so that measuring costs the timed steps nothing and the plugin needs no other way to tell. */
#include "cli/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* "505.1 us  13.4%  chwn-conv  n76 (stablehlo.convolution)  2.8 GB/s  162.2 GFLOP/s  tensor<..> of ...":
 * src/cpu/run/report.c writes it. */
static bool parse_thunk(const char *line, bench_thunk *t) {
    int at = 0;
    if (sscanf(line, " %lf us %lf%% %31s %n", &t->us, &t->share, t->kernel, &at) < 3 || !at) return false;
    const char *open = strchr(line + at, '('), *close = open ? strchr(open, ')') : NULL,
               *dot = open ? strchr(open, '.') : NULL;
    if (!close || !dot || dot > close) return false;
    snprintf(t->op, sizeof t->op, "%.*s", (int)(close - dot - 1), dot + 1);
    int end = 0;
    if (sscanf(close + 1, " %lf GB/s %lf GFLOP/s %n", &t->gbs, &t->gflops, &end) < 2) return false;
    snprintf(t->what, sizeof t->what, "%s", end ? close + 1 + end : "");
    t->what[strcspn(t->what, "\n")] = 0;
    return true;
}

/* Profiles come one for each program, when it is freed; the step's is the one that took longest. */
static void read_profile(FILE *f, bench_thunks *out) {
    char line[4096];
    bench_thunks now = {.n = 0};
    bool inside = false;
    while (fgets(line, sizeof line, f)) {
        const char *sum = strstr(line, "the fastest run of each thunk adds up to "), *runs = strstr(line, " runs of ");
        if (sum && runs) {
            if (now.total_ms > out->total_ms) *out = now;
            now = (bench_thunks){.total_ms = atof(sum + strlen("the fastest run of each thunk adds up to ")),
                                 .thunks = atoll(runs + strlen(" runs of "))};
            inside = true;
        } else if (inside && now.n < (int)(sizeof now.rows / sizeof now.rows[0]) && parse_thunk(line, &now.rows[now.n]))
            now.n++;
        else
            inside = false;
    }
    if (now.total_ms > out->total_ms) *out = now;
}

static int run_again(int argc, char **argv, FILE **out, pid_t *pid) {
    int ends[2];
    char **args = calloc((size_t)argc + 3, sizeof *args);
    if (!args || pipe(ends) != 0) {
        free(args);
        return cli_fail("bench", "cannot start another process");
    }
    int n = 0;
    args[n++] = (char *)"xtrain";
    for (int i = 0; i < argc; i++) { /* argv[0] is "bench" */
        bool own = strncmp(argv[i], "--hottest", 9) == 0;
        if (own && !strchr(argv[i], '=')) i++;
        if (!own && strcmp(argv[i], "--roofline") != 0) args[n++] = argv[i];
    }
    *pid = fork();
    if (*pid == 0) {
        setenv("XT_DEBUG", "exec", 1);
        dup2(ends[1], 2);
        if (!freopen("/dev/null", "w", stdout)) _exit(127);
        close(ends[0]);
        execv("/proc/self/exe", args);
        _exit(127);
    }
    close(ends[1]);
    free(args);
    *out = *pid > 0 ? fdopen(ends[0], "r") : NULL;
    if (*out) return 0;
    close(ends[0]);
    return cli_fail("bench", "cannot start another process");
}

int bench_hottest(int argc, char **argv, const roofline *roof, bool bf16, bench_thunks *out) {
    FILE *f;
    pid_t pid = -1;
    int status = 0;
    *out = (bench_thunks){.n = 0};
    fflush(stdout);
    if (run_again(argc, argv, &f, &pid)) return 1;
    read_profile(f, out);
    fclose(f);
    while (waitpid(pid, &status, 0) < 0) continue;
    if (status || !out->n)
        return cli_fail("bench",
                        status ? "the profiled run failed (wait status %d)"
                               : "the device gave no profile: only xtrain's own CPU plugin has one (%d)",
                        status);
    for (int i = 0; i < out->n; i++) {
        bench_thunk *t = &out->rows[i];
        double flops = t->gflops * t->us * 1e3, bytes = t->gbs * t->us * 1e3;
        bool narrow = bf16 && (strstr(t->what, "bf16") || strstr(t->kernel, "dot") || strstr(t->kernel, "conv"));
        t->percent = t->us > 0 ? 100 * roofline_us(roof, flops, bytes, narrow) / t->us : 0;
    }
    return 0;
}

void bench_hot_print(const bench_thunks *t, int64_t most) {
    cli_printf("%lld thunks, the fastest run of each adds up to %.3f ms; the dearest:\n"
               "%10s %7s %10s %10s %9s  %s\n",
               (long long)t->thunks, t->total_ms, "us", "share", "GFLOP/s", "GB/s", "roofline", "kernel: result");
    for (int i = 0; i < t->n && i < most; i++) {
        const bench_thunk *r = &t->rows[i];
        cli_printf("%10.1f %6.1f%% %10.1f %10.1f %8.0f%%  %s: %s %s\n", r->us, r->share, r->gflops, r->gbs, r->percent,
                   r->kernel, r->op, r->what);
    }
}

void bench_hot_print_json(const bench_thunks *t, int64_t most) {
    cli_printf("[");
    for (int i = 0; i < t->n && i < most; i++) {
        const bench_thunk *r = &t->rows[i];
        cli_printf("%s{\"us\": %.5g, \"share\": %.4g, \"gflops\": %.5g, \"gbs\": %.5g, \"roofline_percent\": %.4g, "
                   "\"kernel\": \"%s\", \"op\": \"%s\", \"result\": \"%s\"}",
                   i ? ", " : "", r->us, r->share, r->gflops, r->gbs, r->percent, r->kernel, r->op, r->what);
    }
    cli_printf("]");
}
