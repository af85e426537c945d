/* xtrain top: a live view of running xtrain programs, from the status files they keep (no device is asked, nothing is
 * attached to), and of the GPUs, from NVIDIA's driver. */
#include "cli/cli.h"
#include "cli/gpus.h"

#include <ctype.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256, SPARK = 24, STALE_S = 30 };

static volatile sig_atomic_t stopped;
static void on_stop(int sig) {
    (void)sig;
    stopped = 1;
}

/* --- one program as text --- */
static void sparkline(const xt_process *p, bool utf8, char *out, size_t room) {
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char ascii[] = "_.-:=+*#";
    int n = p->n_history < SPARK ? p->n_history : SPARK;
    int64_t most = 1;
    *out = '\0';
    for (int i = 0; i < p->n_history; i++)
        if (p->history[i] > most) most = p->history[i];
    for (int i = 0; i < n; i++) {
        int64_t v = p->history[p->n_history * i / n];
        int k = (int)(v * 7 / most);
        size_t at = strlen(out);
        if (utf8)
            snprintf(out + at, room - at, "%s", bars[k]);
        else
            snprintf(out + at, room - at, "%c", ascii[k]);
    }
    for (int i = n; i < SPARK; i++) strncat(out, " ", room - strlen(out) - 1);
}

static void mebibytes(int64_t bytes, char *out, size_t n) {
    if (bytes <= 0)
        snprintf(out, n, "-");
    else if (bytes >= (int64_t)10 << 30)
        snprintf(out, n, "%.1fG", (double)bytes / 1073741824);
    else
        snprintf(out, n, "%.1fM", (double)bytes / 1048576);
}

static void number(double v, const char *fmt, char *out, size_t n) {
    if (!isfinite(v))
        snprintf(out, n, "-");
    else {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(out, n, fmt, v);
#pragma GCC diagnostic pop
    }
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_row(FILE *f, const xt_process *p, bool utf8, int columns) {
    char now[16], peak[16], limit[16], rate[16], loss[16], idle[16], rank[16] = "", spark[SPARK * 4 + 1], *line = NULL;
    size_t length = 0;
    FILE *row = open_memstream(&line, &length);
    if (!row) return;
    mebibytes(p->device_bytes, now, sizeof now);
    mebibytes(p->peak_bytes, peak, sizeof peak);
    mebibytes(p->limit_bytes, limit, sizeof limit);
    number(p->steps_per_s, "%.1f", rate, sizeof rate);
    number(p->loss, "%.4g", loss, sizeof loss);
    number(p->idle_share * 100, "%.0f%%", idle, sizeof idle);
    if (p->world > 1) snprintf(rank, sizeof rank, "%d/%d", p->rank, p->world);
    sparkline(p, utf8, spark, sizeof spark);
    cli_fprintf(row, "%7d %-16.16s %-5s %-10.10s %9s %9s %9s %9lld %8s %9s %5lld %5s  ", p->pid, base_name(p->program),
                rank, p->device, now, peak, limit, (long long)p->step, rate, loss, (long long)p->compiles, idle);
    if (fclose(row) != 0) {
        free(line);
        return;
    }
    int left = columns - (int)length;
    cli_fprintf(f, "%.*s", columns && left < 0 ? columns : (int)length, line);
    free(line);
    if (!columns || left >= SPARK) cli_fprintf(f, "%s", spark);
    if (!columns || left > SPARK + 24)
        cli_fprintf(f, "  %.60s%s", base_name(p->place), p->seconds > STALE_S ? "  (no step for a while)" : "");
    cli_fprintf(f, "\n");
}

static const char heading[] = "    PID PROGRAM          RANK  DEVICE        MEMORY      PEAK     LIMIT      STEP  "
                              "STEPS/S      LOSS COMPL  IDLE  MEMORY OVER THE RUN";

/* --- hosts --- */
static char this_host[64];
static int by_place(const void *a, const void *b) { /* this host first; of a host the ranks of a run together */
    const xt_process *x = a, *y = b;
    bool x_here = strcmp(x->host, this_host) == 0, y_here = strcmp(y->host, this_host) == 0;
    if (x_here != y_here) return x_here ? -1 : 1;
    int order = strcmp(x->host, y->host), x_run = x->world > 1 ? x->launcher : x->pid,
        y_run = y->world > 1 ? y->launcher : y->pid;
    if (order) return order;
    if (x_run != y_run) return x_run < y_run ? -1 : 1;
    return x->rank != y->rank ? x->rank - y->rank : x->pid - y->pid;
}

/* At most `max` of them, in the order they are shown in. */
static int look(xt_process *rows, int max) {
    int n = xt_processes(rows, max);
    if (n > max) n = max;
    if (gethostname(this_host, sizeof this_host - 1) != 0) this_host[0] = '\0';
    if (n > 1) qsort(rows, (size_t)n, sizeof *rows, by_place);
    return n;
}

/* One host's line above its rows. */
static void print_host(FILE *f, const xt_process *p, int n, int columns) {
    char text[200], now[16];
    int64_t bytes = 0;
    int k = 0;
    for (; k < n && strcmp(p[k].host, p->host) == 0; k++) bytes += p[k].device_bytes > 0 ? p[k].device_bytes : 0;
    mebibytes(bytes, now, sizeof now);
    int length = snprintf(text, sizeof text, "%s%s: %d program%s, %s of device memory", p->host,
                          strcmp(p->host, this_host) == 0 ? " (this host)" : "", k, k == 1 ? "" : "s", now);
    cli_fprintf(f, "%.*s\n", columns && columns < length ? columns : length, text);
}

static void print_table(FILE *f, const xt_process *p, int n, bool utf8, int columns) {
    bool several = n > 0 && strcmp(p[0].host, p[n - 1].host) != 0;
    cli_fprintf(f, "%.*s\n", columns && columns < (int)sizeof heading - 1 ? columns : (int)sizeof heading - 1, heading);
    for (int i = 0; i < n; i++) {
        if (several && (i == 0 || strcmp(p[i].host, p[i - 1].host) != 0)) print_host(f, p + i, n - i, columns);
        print_row(f, &p[i], utf8, columns);
    }
    if (n == 0) cli_fprintf(f, "no xtrain program of this user is running\n");
}

/* --- JSON --- */
static void json_number(const char *key, double v) {
    if (isfinite(v))
        cli_printf(", \"%s\": %.8g", key, v);
    else
        cli_printf(", \"%s\": null", key);
}

static void print_json(const xt_process *p, int n, const gpu *gpus, int n_gpus) {
    cli_printf("{\"processes\": [");
    for (int i = 0; i < n; i++, p++) {
        cli_printf("%s{\"pid\": %d, \"host\": \"%s\", \"launcher\": %d, \"rank\": %d, \"world\": %d", i ? ", " : "",
                   p->pid, p->host, p->launcher, p->rank, p->world);
        cli_printf(", \"program\": \"%s\"", p->program);
        cli_printf(", \"device\": \"%s\"", p->device);
        cli_printf(", \"place\": \"%s\"", p->place);
        cli_printf(
            ", \"step\": %lld, \"epoch\": %lld, \"compiles\": %lld, \"device_bytes\": %lld, \"peak_bytes\": %lld, "
            "\"limit_bytes\": %lld, \"rss_bytes\": %lld",
            (long long)p->step, (long long)p->epoch, (long long)p->compiles, (long long)p->device_bytes,
            (long long)p->peak_bytes, (long long)p->limit_bytes, (long long)p->rss_bytes);
        json_number("loss", p->loss);
        json_number("steps_per_s", p->steps_per_s);
        json_number("idle_share", p->idle_share);
        json_number("seconds_since_step", p->seconds);
        cli_printf(", \"history\": [");
        for (int k = 0; k < p->n_history; k++) cli_printf("%s%lld", k ? ", " : "", (long long)p->history[k]);
        cli_printf("]}");
    }
    cli_printf("], ");
    gpus_json(gpus, n_gpus);
    cli_printf("}\n");
}

/* --- live --- */
static int columns_now(void) {
    struct winsize w;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 120;
}

static int watch(xt_process *rows, gpu *gpus, double interval, bool utf8) {
    struct termios old, raw;
    bool keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &old) == 0;
    if (keys) {
        raw = old;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    struct sigaction act = {.sa_handler = on_stop};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    cli_fprintf(stdout, "\x1b[?1049h\x1b[?25l"); /* the other screen, no cursor */
    while (!stopped) {
        const char *why;
        int n = look(rows, MOST), columns = columns_now(), n_gpus = gpus_look(gpus, &why);
        char clock[32] = "";
        time_t t = time(NULL);
        struct tm tm;
        if (localtime_r(&t, &tm)) strftime(clock, sizeof clock, "%H:%M:%S", &tm);
        cli_fprintf(stdout, "\x1b[H\x1b[2J");
        cli_printf("xtrain top  %s  %d program%s  (q ends)\n\n", clock, n, n == 1 ? "" : "s");
        print_table(stdout, rows, n, utf8, columns);
        if (n_gpus) cli_printf("\n");
        gpus_print(stdout, gpus, n_gpus, columns);
        fflush(stdout);
        struct pollfd in = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
        char key;
        if (poll(&in, 1, (int)(interval * 1000)) > 0 && read(STDIN_FILENO, &key, 1) == 1 && tolower(key) == 'q') break;
    }
    cli_fprintf(stdout, "\x1b[?25h\x1b[?1049l");
    fflush(stdout);
    if (keys) tcsetattr(STDIN_FILENO, TCSANOW, &old);
    return 0;
}

static int run(int argc, char **argv) {
    bool once = false, json = false;
    double interval = 1;
    const cli_option options[] = {{"--once", CLI_FLAG, &once, NULL, "print the table once"},
                                  {"--json", CLI_FLAG, &json, NULL, "one JSON object"},
                                  {"--interval", CLI_DOUBLE, &interval, "S", "seconds between repaints (1)"}};
    int code =
        cli_parse(argc, argv,
                  "usage: xtrain top [--once] [--json] [--interval S]\n\n"
                  "Shows running xtrain programs of this user: device memory, steps, loss, compiles, idle share;\n"
                  "of several hosts, host by host, where their XT_STATUS_DIR is a folder that they share;\n"
                  "and NVIDIA's GPUs: use, memory, temperature, errors of the memory.\n",
                  options, 3, NULL);
    if (code) return code - 1;
    if (!(interval >= 0.05 && interval <= 3600)) {
        cli_fprintf(stderr, "xtrain top: --interval %g: from 0.05 to 3600 seconds\n", interval);
        return 2;
    }
    xt_process *rows = calloc(MOST, sizeof *rows);
    gpu *gpus = calloc(GPUS_MOST, sizeof *gpus);
    if (!rows || !gpus) {
        free(rows);
        free(gpus);
        return cli_fail("top", "no memory");
    }
    setlocale(LC_CTYPE, "");
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (json || once || !isatty(STDOUT_FILENO)) {
        const char *why;
        int n = look(rows, MOST), n_gpus = gpus_look(gpus, &why);
        if (json)
            print_json(rows, n, gpus, n_gpus);
        else {
            print_table(stdout, rows, n, utf8, 0);
            gpus_print(stdout, gpus, n_gpus, 0);
        }
        code = 0;
    } else
        code = watch(rows, gpus, interval, utf8);
    free(rows);
    free(gpus);
    return code;
}

const cli_command cli_top = {"top", "running xtrain programs: memory, steps, loss", run};
