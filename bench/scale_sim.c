/* How the ranks' rendezvous and collectives grow with the number of ranks, and what that says of a thousand hosts:
 * `scale_sim --help`.
 *
 * Ranks beyond the cores share them, so what n ranks do takes as long as their work together: with a fixed amount of
 * work a rank it grows as n, with trees as n log n, and where every rank does something for every other one as n^2,
 * which is what the table is to show. Two series: one host, where ranks meet in shared memory, and hosts that are
 * network namespaces on one bridge (as root, with iproute2 and mpirun), where MPI is between them. The model of a
 * large run (scale_sim/model.h) takes its constants from what two ranks measure in both. */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xtrain/plot.h>
#include <xtrain/xtrain.h>

#include "bench/scale_sim/hosts.h"
#include "bench/scale_sim/model.h"
#include "coll/coll.h"

enum { MOST_COUNTS = 16, MOST_RANKS = 1024, MESSAGE = 1 << 20, VALUE = 64 };
enum { START, STORE, BARRIER, REDUCE, QUANTITIES };
static const char *const quantity_names[QUANTITIES] = {"start", "store", "barrier", "all-reduce 1 MB"};

typedef struct figures { /* of one run, ms; NaN where it was not measured */
    int ranks, hosts;
    double ms[QUANTITIES]; /* elapsed */
    double cpu[QUANTITIES]; /* processor time of all ranks together */
    scale_costs costs; /* of runs of two ranks */
} figures;

typedef struct settings {
    int counts[MOST_COUNTS], n_counts, hosts;
    double seconds;
    bool one_host, many_hosts, model_only;
    const char *png;
    scale_costs given; /* --alpha, --beta and the like; NaN: measured */
    scale_case model;
} settings;

static void fail(xt_status st) {
    if (!st) return;
    if (xt_status_code(st) == XT_ABORTED) _exit(1); /* another rank has said why */
    fprintf(stderr, "scale_sim: %s\n", xt_status_message(st));
    exit(1);
}

/* --- what a rank measures --- */

static double ms_since(int64_t t) {
    return (double)(clock_ns() - t) * 1e-6;
}

/* Puts a value and reads the next rank's. */
static void exchange(coll_group *g, int round) {
    int rank = coll_rank(g), next = (rank + 1) % coll_size(g);
    char key[40], value[VALUE] = {0}, *got = NULL;
    size_t n = 0;
    int len = snprintf(key, sizeof key, "scale/%d/%d", round, rank);
    fail(coll_put(g, key, (size_t)len, value, sizeof value));
    len = snprintf(key, sizeof key, "scale/%d/%d", round, next);
    fail(coll_get(g, key, (size_t)len, 120000, &got, &n));
    if (n != sizeof value)
        fail(status_new(XT_INTERNAL, NULL, "a value of %zu bytes came back as %zu", sizeof value, n));
    base_free(got);
}

typedef enum measured { A_BARRIER, AN_EXCHANGE, A_SUM, A_PING } measured;

static void do_once(coll_group *g, measured what, float *data, size_t bytes, int round) {
    int other = coll_rank(g) ^ 1;
    if (what == A_BARRIER) fail(coll_barrier(g, 300, NULL));
    if (what == AN_EXCHANGE) exchange(g, round);
    if (what == A_SUM) fail(coll_all_reduce(g, COLL_SUM, XT_F32, data, bytes / 4));
    if (what == A_PING) fail(coll_permute(g, other, other, data, bytes, (char *)data + bytes));
}

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double of_all(coll_group *g, double mine) {
    fail(coll_all_reduce(g, COLL_SUM, XT_F64, &mine, 1));
    return mine;
}

/* What one of many takes: of the fastest of some batches (whatever else runs here makes it longer), and the mean of all
 * ranks' processor time. In a batch, as one rank may leave early what others are still at. Rank 0's clock decides how
 * often. */
static void time_of(coll_group *g, measured what, float *data, size_t bytes, double seconds, double *out_ms,
                    double *out_cpu) {
    enum { STORED = 2 << 20 /* bytes of values and keys that the store is to take */ };
    const int batch = what == A_SUM ? 4 : 16;
    int n = 0, most = what == AN_EXCHANGE ? STORED / (128 * coll_size(g)) : 4000;
    double fastest = INFINITY;
    do_once(g, what, data, bytes, n++); /* maps the memory that the ranks share */
    fail(coll_barrier(g, 300, NULL));
    int64_t began = clock_ns();
    double cpu = cpu_ms();
    const int before = n;
    for (int go = 1; go;) {
        int64_t t = clock_ns();
        for (int i = 0; i < batch; i++) do_once(g, what, data, bytes, n++);
        if (what == AN_EXCHANGE) fail(coll_barrier(g, 300, NULL));
        double ms = ms_since(t) / batch;
        if (ms < fastest) fastest = ms;
        go = n + batch <= most && (double)(clock_ns() - began) < seconds * 1e9;
        fail(coll_broadcast(g, 0, &go, sizeof go));
    }
    *out_cpu = of_all(g, (cpu_ms() - cpu) / (n - before));
    *out_ms = fastest;
}

/* Writes its figures as a line, which its parent reads. */
static void measure(coll_group *g, double start_ms, double seconds, FILE *to) {
    float *data = calloc(MESSAGE, 1);
    double ms[QUANTITIES] = {[START] = start_ms}, cpu[QUANTITIES] = {[START] = of_all(g, cpu_ms())};
    double small = NAN, unused;
    int n = coll_size(g);
    if (!data) fail(status_oom((size_t)MESSAGE, "a message"));
    time_of(g, A_BARRIER, data, 0, seconds, &ms[BARRIER], &cpu[BARRIER]);
    time_of(g, AN_EXCHANGE, data, 0, seconds, &ms[STORE], &cpu[STORE]);
    time_of(g, A_SUM, data, MESSAGE, seconds, &ms[REDUCE], &cpu[REDUCE]);
    if (n == 2) time_of(g, A_PING, data, 8, seconds, &small, &unused);
    if (coll_rank(g) == 0) {
        fprintf(to, "scale %d", n);
        for (int q = 0; q < QUANTITIES; q++) fprintf(to, " %.6f %.6f", ms[q], cpu[q]);
        fprintf(to, " %.6f\n", small);
        fflush(to);
    }
    free(data);
}

/* *said: what else the ranks wrote before it. */
static bool read_line(FILE *from, figures *f, str *said) {
    char line[512];
    double small;
    while (fgets(line, sizeof line, from)) {
        const char *at = strstr(line, "scale ");
        if (at && sscanf(at, "scale %d %lf %lf %lf %lf %lf %lf %lf %lf %lf", &f->ranks, &f->ms[0], &f->cpu[0],
                         &f->ms[1], &f->cpu[1], &f->ms[2], &f->cpu[2], &f->ms[3], &f->cpu[3], &small) == 10) {
            f->costs.local_step = f->hosts > 1 ? NAN : f->ms[BARRIER] * 1e-3;
            f->costs.latency = small * 1e-3;
            /* with what adding up takes: an all_reduce of two hosts is two messages of half of it each */
            f->costs.per_byte = (f->ms[REDUCE] - 2 * small) * 1e-3 / MESSAGE;
            f->costs.reduced_byte = f->ms[REDUCE] * 1e-3 / MESSAGE;
            return true;
        }
        str_append(said, line);
    }
    return false;
}

/* --- the ranks of one host: forked, meeting in shared memory --- */

static bool run_here(int ranks, double seconds, figures *f) {
    char *name = NULL;
    int fds[2], status, bad = 0;
    if (pipe(fds) != 0) return perror("scale_sim: pipe"), false;
    fflush(NULL);
    int64_t began = clock_ns();
    fail(coll_create(ranks, &name));
    for (int r = 0; r < ranks; r++) {
        pid_t pid = fork();
        if (pid < 0) return perror("scale_sim: fork"), false;
        if (pid) continue;
        coll_group *g;
        close(fds[0]);
        fail(coll_open(name, r, ranks, 300, &g));
        fail(coll_barrier(g, 300, NULL));
        measure(g, ms_since(began), seconds, fdopen(fds[1], "w"));
        coll_close(g);
        _exit(0);
    }
    close(fds[1]);
    FILE *in = fdopen(fds[0], "r");
    str said = STR_INIT; /* nothing: ranks that were forked speak for themselves */
    bool ok = in && read_line(in, f, &said);
    str_free(&said);
    while (wait(&status) > 0) bad |= status;
    if (in) fclose(in);
    coll_destroy(name);
    base_free(name);
    return ok && !bad;
}

/* A rank under mpirun: `scale_sim rank BEGAN SECONDS`. All hosts are this machine, and have one clock. */
static int be_rank(char **argv) {
    coll_group *g;
    fail(coll_run_group(&g));
    fail(coll_barrier(g, 300, NULL));
    measure(g, ms_since(atoll(argv[2])), atof(argv[3]), stdout);
    return 0;
}

static bool run_hosts(const scale_hosts *net, int ranks, double seconds, figures *f) {
    char began[32], each[32];
    FILE *in = NULL;
    f->hosts = ranks < net->n ? ranks : net->n;
    snprintf(began, sizeof began, "%lld", (long long)clock_ns());
    snprintf(each, sizeof each, "%g", seconds);
    pid_t pid = scale_hosts_start(net, f->hosts, ranks, (const char *[]){"rank", began, each, NULL}, &in);
    if (pid < 0) return false;
    str said = STR_INIT;
    bool ok = read_line(in, f, &said);
    int status = 0;
    char rest[512];
    while (fgets(rest, sizeof rest, in)) continue;
    fclose(in);
    waitpid(pid, &status, 0);
    ok = ok && status == 0;
    if (!ok) fputs(str_cstr(&said), stderr);
    str_free(&said);
    return ok;
}

/* --- growth --- */

static double n_log_n(int n) {
    return n * log2(n);
}

/* The exponent e of the best fit t = c (n log n)^e over the runs with more ranks than cores; NaN of fewer than three.
 */
static double growth(const figures *f, int n, int quantity, int cores) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (f[i].ranks <= cores || !(f[i].cpu[quantity] > 0)) continue;
        double x = log(n_log_n(f[i].ranks)), y = log(f[i].cpu[quantity]);
        sx += x, sy += y, sxx += x * x, sxy += x * y, k++;
    }
    return k < 3 ? NAN : (k * sxy - sx * sy) / (k * sxx - sx * sx);
}

static int cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* The first run with more ranks than cores is what the others are compared with. */
static const figures *first_shared(const figures *f, int n) {
    for (int i = 0; i < n; i++)
        if (f[i].ranks > cores()) return &f[i];
    return NULL;
}

static void rows(const char *what, const figures *f, int n, bool cpu) {
    const figures *base = first_shared(f, n);
    printf("\n%s\n hosts  ranks", what);
    for (int q = 0; q < QUANTITIES; q++) printf("  %21s", quantity_names[q]);
    printf("\n");
    for (int i = 0; i < n; i++) {
        printf("%6d %6d", f[i].hosts, f[i].ranks);
        for (int q = 0; q < QUANTITIES; q++) {
            char of[24] = "";
            double v = cpu ? f[i].cpu[q] : f[i].ms[q], v0 = !base ? NAN : cpu ? base->cpu[q] : base->ms[q];
            if (base && &f[i] > base)
                snprintf(of, sizeof of, "(%.2f)", v / v0 / (n_log_n(f[i].ranks) / n_log_n(base->ranks)));
            printf("  %13.3f %7s", v, of);
        }
        printf("\n");
    }
}

/* Elapsed times are also those of whatever else runs here, so growth is that of processor time. */
static bool table(const char *title, const figures *f, int n) {
    char text[160];
    bool ok = true;
    const figures *base = first_shared(f, n);
    snprintf(text, sizeof text, "%s: ms elapsed (in brackets: of what n log n gives from %d ranks on)", title,
             base ? base->ranks : 0);
    rows(text, f, n, false);
    snprintf(text, sizeof text, "%s: ms of processor time, of all ranks together", title);
    rows(text, f, n, true);
    printf("as (n log n)^");
    for (int q = 0; q < QUANTITIES; q++) {
        double e = growth(f, n, q, cores());
        printf("  %13.2f %7s", e, isnan(e) ? "" : e <= 1.05 ? "ok" : "FASTER");
        ok = ok && !(e > 1.05);
    }
    printf("\n");
    return ok;
}

static void draw(const char *png, const figures *f, int n, const char *title) {
    double x[MOST_COUNTS], y[QUANTITIES + 1][MOST_COUNTS];
    xt_plot_series series[QUANTITIES + 1];
    const figures *base = first_shared(f, n);
    for (int q = 0; q < QUANTITIES; q++) {
        for (int i = 0; i < n; i++) {
            x[i] = log2(f[i].ranks);
            y[q][i] = log10(f[i].ms[q] > 0 ? f[i].ms[q] : NAN);
        }
        series[q] = (xt_plot_series){quantity_names[q], x, y[q], n};
    }
    for (int i = 0; i < n && base; i++)
        y[QUANTITIES][i] = log10(base->ms[BARRIER] * n_log_n(f[i].ranks) / n_log_n(base->ranks));
    series[QUANTITIES] = (xt_plot_series){"n log n", x, y[QUANTITIES], n};
    fail(xt_plot_lines(png, title, "log2 of the ranks; log10 of ms", series, base ? QUANTITIES + 1 : QUANTITIES));
}

/* --- the command --- */

static int run_series(const settings *s, const scale_hosts *net, figures *f) {
    int n = 0;
    for (int i = 0; i < s->n_counts; i++) {
        f[n] = (figures){.ranks = s->counts[i], .hosts = 1};
        bool ok = net ? run_hosts(net, s->counts[i], s->seconds, &f[n]) : run_here(s->counts[i], s->seconds, &f[n]);
        if (!ok) {
            fprintf(stderr, "scale_sim: %d ranks %s did not measure anything\n", s->counts[i],
                    net ? "on hosts" : "on one host");
            exit(1);
        }
        n++;
    }
    return n;
}

static const char usage[] =
    "usage: scale_sim [--ranks LIST] [--hosts N] [--seconds S] [--one-host | --only-hosts] [--png FILE]\n"
    "       scale_sim --model [--alpha S] [--beta S] [--local-alpha S] [--local-beta S] [--model-hosts N]\n"
    "                 [--local-ranks N]\n\n"
    "Starts 2, 4, ... ranks on this machine, more than it has cores, and prints what starting them (until all have\n"
    "joined), the key-value store (each puts 64 bytes, reads the next rank's), a barrier and an all-reduce of 1 MB\n"
    "take, beside n log n: first on one host through shared memory, then on hosts of MPI's, which are network\n"
    "namespaces (root, iproute2 and mpirun). Exits with 1 where the processor time of anything grows faster.\n"
    "Then the times of a run on many hosts, by the latency and the time a byte that two ranks measured.\n\n"
    "  --ranks LIST        numbers of ranks (2,4,8,16,32,64,128,256)\n"
    "  --hosts N           hosts at most (16); ranks are spread over them\n"
    "  --seconds S         for each measurement (0.5)\n"
    "  --one-host          shared memory alone; --only-hosts: the hosts alone\n"
    "  --png FILE          a picture of the last series, both axes logarithmic\n"
    "  --model             measures two ranks only, or nothing where all constants are given\n"
    "  --alpha S           seconds of a message between two hosts; --beta S: of each of its bytes\n"
    "  --local-alpha S     seconds of a step of two ranks of a host; --local-beta S: of each byte they add up\n"
    "  --model-hosts N     hosts of the large run (1000); --local-ranks N: ranks on each (8)\n";

static bool parse_counts(const char *list, settings *s) {
    s->n_counts = 0;
    for (const char *at = list; *at;) {
        char *end;
        long n = strtol(at, &end, 10);
        if (end == at || n < 2 || n > MOST_RANKS || s->n_counts == MOST_COUNTS || (*end && *end != ',')) return false;
        s->counts[s->n_counts++] = (int)n;
        at = *end ? end + 1 : end;
    }
    return s->n_counts > 0;
}

static int parse(int argc, char **argv, settings *s) {
    double hosts = s->hosts, model_hosts = s->model.hosts, local = s->model.local_ranks;
    const struct {
        const char *name;
        double *to, least, most;
    } numbers[] = {
        {"--hosts", &hosts, 2, 64},
        {"--seconds", &s->seconds, 0.01, 60},
        {"--alpha", &s->given.latency, 0, 10},
        {"--beta", &s->given.per_byte, 0, 1},
        {"--local-alpha", &s->given.local_step, 0, 10},
        {"--local-beta", &s->given.reduced_byte, 0, 1},
        {"--model-hosts", &model_hosts, 2, 1e6},
        {"--local-ranks", &local, 1, 4096},
    };
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        size_t k = 0;
        if (strcmp(argv[i], "--help") == 0) return fputs(usage, stdout), -1;
        if (strcmp(argv[i], "--one-host") == 0 && (s->many_hosts = false, s->one_host)) continue;
        if (strcmp(argv[i], "--only-hosts") == 0 && (s->one_host = false, s->many_hosts)) continue;
        if (strcmp(argv[i], "--model") == 0 && (s->model_only = true)) continue;
        if (strcmp(argv[i], "--ranks") == 0 && value && parse_counts(value, s) && ++i) continue;
        if (strcmp(argv[i], "--png") == 0 && value && (s->png = argv[++i])) continue;
        while (k < BASE_COUNT(numbers) && strcmp(numbers[k].name, argv[i]) != 0) k++;
        char *end = NULL;
        double v = k < BASE_COUNT(numbers) && value ? strtod(value, &end) : NAN;
        if (!end || *end || end == value || !(v >= numbers[k].least && v <= numbers[k].most)) {
            fprintf(stderr, "scale_sim: %s %s: what is expected there, scale_sim --help says\n", argv[i],
                    value ? value : "(nothing)");
            return 2;
        }
        *numbers[k].to = v;
        i++;
    }
    s->hosts = (int)hosts;
    s->model.hosts = (int)model_hosts;
    s->model.local_ranks = (int)local;
    return 0;
}

static void take_given(double *to, double given) {
    if (!isnan(given)) *to = given;
}

static bool all_given(const scale_costs *c) {
    return !isnan(c->latency) && !isnan(c->per_byte) && !isnan(c->local_step) && !isnan(c->reduced_byte);
}

static const figures *of_two(const figures *f, int n) {
    for (int i = 0; i < n; i++)
        if (f[i].ranks == 2) return &f[i];
    return NULL;
}

int main(int argc, char **argv) {
    static figures here[MOST_COUNTS], there[MOST_COUNTS];
    settings s = {.counts = {2, 4, 8, 16, 32, 64, 128, 256},
                  .n_counts = 8,
                  .hosts = 16,
                  .seconds = 0.5,
                  .one_host = true,
                  .many_hosts = true,
                  .given = {NAN, NAN, NAN, NAN},
                  .model = {1000, 8}};
    if (argc == 4 && strcmp(argv[1], "rank") == 0) return be_rank(argv);
    if (argc > 2 && strcmp(argv[1], SCALE_AGENT) == 0) return scale_hosts_agent(argc, argv);
    int code = parse(argc, argv, &s), n_here = 0, n_there = 0;
    bool ok = true;
    if (code) return code < 0 ? 0 : code;
    if (s.model_only) s.n_counts = 1;
    bool measures = !(s.model_only && all_given(&s.given));
    if (measures && s.one_host) {
        n_here = run_series(&s, NULL, here);
        if (!s.model_only) ok = table("one host", here, n_here) && ok;
    }
    scale_hosts net;
    if (measures && s.many_hosts && scale_hosts_make(s.hosts, argv[0], &net)) {
        n_there = run_series(&s, &net, there);
        scale_hosts_free(&net);
        if (!s.model_only) ok = table("hosts", there, n_there) && ok;
    }
    if (s.png) draw(s.png, n_there ? there : here, n_there ? n_there : n_here, n_there ? "ranks on hosts" : "one host");
    const figures *local = of_two(here, n_here), *far = of_two(there, n_there);
    scale_costs c = {NAN, NAN, NAN, NAN};
    if (far) {
        c.latency = far->costs.latency;
        c.per_byte = far->costs.per_byte;
    }
    if (local) {
        c.local_step = local->costs.local_step;
        c.reduced_byte = local->costs.reduced_byte;
    }
    take_given(&c.latency, s.given.latency);
    take_given(&c.per_byte, s.given.per_byte);
    take_given(&c.local_step, s.given.local_step);
    take_given(&c.reduced_byte, s.given.reduced_byte);
    if (!all_given(&c)) {
        printf("\nno model: its constants need two ranks on one host and on two, or all four options\n");
        return !ok;
    }
    for (int i = 0; i < n_there; i++) {
        scale_case at = {there[i].hosts, there[i].ranks / there[i].hosts};
        scale_compare(&c, &at, cores(), there[i].ms[REDUCE] * 1e-3, MESSAGE, i == 0);
    }
    scale_print(&c, &s.model);
    return !ok;
}
