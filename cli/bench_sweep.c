/* xtrain bench MODEL --sweep batch=...: the step at several batch sizes, each in a process of its own (memory and
 * caches of one do not help the next), as a table with the fastest. Without a list the batch doubles until it no longer
 * pays, or no longer fits. */
#include "cli/bench.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_TRIALS = 24, MOST_ARGS = 128 };
typedef struct trial {
    int64_t batch;
    double ms, samples_per_s, first_ms, rss_mib;
    bool ran;
} trial;

/* The numbers stand in the JSON object on the last line of what the child wrote. */
static bool read_result(char *text, trial *out) {
    size_t n = strlen(text);
    while (n && text[n - 1] == '\n') text[--n] = 0;
    char *line = strrchr(text, '\n');
    cJSON *o = cJSON_Parse(line ? line + 1 : text);
    const struct {
        const char *name;
        double *to;
    } numbers[] = {{"ms_median", &out->ms},
                   {"samples_per_s", &out->samples_per_s},
                   {"start_to_first_step_ms", &out->first_ms},
                   {"peak_rss_mib", &out->rss_mib}};
    bool ok = cJSON_IsObject(o);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && ok; i++) {
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, numbers[i].name);
        ok = cJSON_IsNumber(v);
        if (ok) *numbers[i].to = v->valuedouble;
    }
    cJSON_Delete(o);
    return ok && out->ms > 0;
}

/* The command again, with this batch; what it says on stderr is shown. */
static bool try_batch(int argc, char **argv, trial *out) {
    char *args[MOST_ARGS], batch[32], text[16384];
    int n = 0, fds[2], status = -1;
    size_t got = 0;
    snprintf(batch, sizeof batch, "%lld", (long long)out->batch);
    args[n++] = "xtrain";
    for (int i = 0; i < argc && n < MOST_ARGS - 4; i++) {
        if (strncmp(argv[i], "--sweep=", 8) == 0 || strncmp(argv[i], "--batch=", 8) == 0 ||
            strcmp(argv[i], "--json") == 0)
            continue;
        if (strcmp(argv[i], "--sweep") == 0 || strcmp(argv[i], "--batch") == 0)
            i++;
        else
            args[n++] = argv[i];
    }
    args[n++] = "--batch";
    args[n++] = batch;
    args[n++] = "--json";
    args[n] = NULL;
    if (pipe(fds)) return false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        setenv("XT_POSTMORTEM", "off", 1); /* a batch that does not fit is a row of the table, no crash */
        execv("/proc/self/exe", args);
        _exit(127);
    }
    close(fds[1]);
    for (ssize_t k; child > 0 && got < sizeof text - 1 && (k = read(fds[0], text + got, sizeof text - 1 - got)) > 0;)
        got += (size_t)k;
    text[got] = 0;
    close(fds[0]);
    if (child > 0) waitpid(child, &status, 0);
    out->ran = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && read_result(text, out);
    return out->ran;
}

/* "batch=8,16,32", or "batch=" alone: n is 0. */
static bool parse(const char *spec, int64_t *sizes, int *n) {
    *n = 0;
    if (strncmp(spec, "batch", 5) != 0 || (spec[5] && spec[5] != '=')) return false;
    for (const char *p = spec[5] ? spec + 6 : spec + 5; *p;) {
        char *end;
        long long v = strtoll(p, &end, 10);
        if (end == p || v < 1 || (*end && *end != ',') || *n == MOST_TRIALS) return false;
        sizes[(*n)++] = v;
        p = *end ? end + 1 : end;
    }
    return true;
}

static const trial *fastest(const trial *t, int n) {
    const trial *best = NULL;
    for (int i = 0; i < n; i++)
        if (t[i].ran && (!best || t[i].samples_per_s > best->samples_per_s)) best = &t[i];
    return best;
}

/* The smallest batch that is within a twentieth of the fastest: more memory buys nothing there. */
static const trial *enough(const trial *t, int n, const trial *best) {
    const trial *least = best;
    for (int i = 0; i < n; i++)
        if (t[i].ran && t[i].samples_per_s >= 0.95 * best->samples_per_s && t[i].batch < least->batch) least = &t[i];
    return least;
}

static void print_json(const char *name, const trial *t, int n, const trial *best, const trial *least) {
    cli_printf(
        "{\"model\": \"%s\", \"sweep\": \"batch\", \"fastest_batch\": %lld, \"enough_batch\": %lld, \"trials\": [",
        name, (long long)best->batch, (long long)least->batch);
    for (int i = 0; i < n; i++) {
        cli_printf("%s{\"batch\": %lld, \"ran\": %s", i ? ", " : "", (long long)t[i].batch,
                   t[i].ran ? "true" : "false");
        if (t[i].ran)
            cli_printf(", \"ms_median\": %.5g, \"samples_per_s\": %.6g, \"start_to_first_step_ms\": %.5g, "
                       "\"peak_rss_mib\": %.5g",
                       t[i].ms, t[i].samples_per_s, t[i].first_ms, t[i].rss_mib);
        cli_printf("}");
    }
    cli_printf("]}\n");
}

/* Why the doubling ended; one slower size may be noise, two in a row are not. */
static void print_why(const trial *last, const trial *best, int falling) {
    if (!last->ran)
        cli_printf(
            "stopped: batch %lld did not run, its message is above (out of memory, or a model that cannot have it)\n",
            (long long)last->batch);
    else if (falling > 1)
        cli_printf("stopped: two sizes in a row are slower than batch %lld\n", (long long)best->batch);
    else
        cli_printf("stopped: batch %lld is the largest that --sweep tries\n", (long long)last->batch);
}

int bench_sweep(int argc, char **argv, const bench_options *o) {
    int64_t sizes[MOST_TRIALS];
    trial t[MOST_TRIALS] = {{0}};
    int listed, n = 0, falling = 0;
    if (!parse(o->sweep, sizes, &listed)) {
        cli_fprintf(stderr,
                    "xtrain bench: --sweep is batch=8,16,32 (up to %d sizes), or batch= to double from 1; not %s\n",
                    MOST_TRIALS, o->sweep);
        return 2;
    }
    cli_printf("   batch     ms a step   samples/s   first step ms   peak MiB\n");
    for (int i = 0; i < (listed ? listed : MOST_TRIALS) && falling < 2; i++) {
        const trial *before = fastest(t, n);
        double rate = before ? before->samples_per_s : 0;
        t[n].batch = listed ? sizes[i] : (int64_t)1 << i;
        bool ran = try_batch(argc, argv, &t[n]);
        if (ran)
            cli_printf("%8lld  %12.3f  %10.0f  %14.0f  %9.0f\n", (long long)t[n].batch, t[n].ms, t[n].samples_per_s,
                       t[n].first_ms, t[n].rss_mib);
        else
            cli_printf("%8lld  did not run\n", (long long)t[n].batch);
        n++;
        if (!listed && !ran) break;
        if (!listed) falling = t[n - 1].samples_per_s < rate ? falling + 1 : 0;
    }
    const trial *best = fastest(t, n);
    if (!best) return cli_fail("bench", "no batch ran");
    const trial *least = enough(t, n, best);
    if (!listed) print_why(&t[n - 1], best, falling);
    cli_printf("fastest: batch %lld, %.0f samples/s", (long long)best->batch, best->samples_per_s);
    if (least != best)
        cli_printf("; batch %lld has %.0f %% of that", (long long)least->batch,
                   100 * least->samples_per_s / best->samples_per_s);
    cli_printf("\n");
    if (o->json) print_json(o->model, t, n, best, least);
    return 0;
}
