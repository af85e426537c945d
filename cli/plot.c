/* xtrain plot: the curves of a run, from the metrics.csv its loggers wrote, as a PNG or in the terminal. Several runs
 * are drawn over each other. */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_CURVES = 6 };
typedef struct curve {
    char name[160];
    double *x, *y;
    int64_t n, cap;
} curve;
typedef struct chart {
    curve curves[MAX_CURVES];
    int n;
    char names[64][128]; /* all that were seen, for messages */
    int n_names;
} chart;

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A row below the names: a run that was refused before its first step has none. */
static bool has_values(const char *path) {
    char line[4096];
    FILE *f = is_file(path) ? fopen(path, "r") : NULL; /* opening a FIFO would wait */
    bool has = f && fgets(line, sizeof line, f) && fgets(line, sizeof line, f);
    if (f) fclose(f);
    return has || (!f && is_file(path)); /* one that cannot be opened is not passed over: it is read, and says why */
}

/* A folder with metrics.csv, a run's folder, whose newest version with values counts, or a file: last, for a program
 * may have the name of its runs. */
enum { FOUND, NONE, TOLD /* it could not be looked for */ };
static int find_csv(const char *run, char *out, size_t n) {
    const char *runs = getenv("XT_RUNS_DIR");
    char folder[2048];
    long newest = -1, full = -1;
    snprintf(out, n, "%s/metrics.csv", run);
    if (is_file(out)) return FOUND;
    for (int pass = 0; pass < 2; pass++) {
        snprintf(folder, sizeof folder, "%s%s%s", pass ? (runs && *runs ? runs : "runs") : "", pass ? "/" : "", run);
        DIR *d = opendir(folder);
        if (!d && errno != ENOENT && errno != ENOTDIR) {
            cli_fail("plot", "the folder %s cannot be read: %s", folder, strerror(errno));
            return TOLD;
        }
        for (struct dirent *e; d && (e = readdir(d));)
            if (strncmp(e->d_name, "version_", 8) == 0) {
                long version = atol(e->d_name + 8);
                snprintf(out, n, "%s/%s/metrics.csv", folder, e->d_name);
                if (version > newest && is_file(out)) newest = version;
                if (version > full && has_values(out)) full = version;
            }
        if (d) closedir(d);
        if (newest < 0) continue;
        if (full >= 0 && full < newest)
            cli_fprintf(stderr, "xtrain plot: %s/version_%ld has no values; this is version_%ld\n", folder, newest,
                        full);
        snprintf(out, n, "%s/version_%ld/metrics.csv", folder, full >= 0 ? full : newest);
        return FOUND;
    }
    snprintf(out, n, "%s", run);
    return is_file(out) ? FOUND : NONE;
}

static bool add_point(curve *c, double x, double y) {
    if (c->n == c->cap) {
        int64_t cap = c->cap ? 2 * c->cap : 256;
        double *xs = realloc(c->x, (size_t)cap * sizeof *xs), *ys = xs ? realloc(c->y, (size_t)cap * sizeof *ys) : NULL;
        if (xs) c->x = xs;
        if (ys) c->y = ys;
        if (!xs || !ys) return false;
        c->cap = cap;
    }
    c->x[c->n] = x;
    c->y[c->n++] = y;
    return true;
}

static bool wanted(const char *name, const cli_list *names) {
    size_t n = strlen(name);
    for (int i = 0; i < names->n; i++)
        if (strcmp(names->items[i], name) == 0) return true;
    if (names->n) return false;
    return strcmp(name, "loss") == 0 ||
           (n > 5 && (strcmp(name + n - 5, "/loss") == 0 || strcmp(name + n - 5, "_loss") == 0));
}

static curve *curve_of(chart *c, const char *run, const char *name) {
    char full[160];
    snprintf(full, sizeof full, "%.60s%s%.90s", run, *run ? ": " : "", name);
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->curves[i].name, full) == 0) return &c->curves[i];
    if (c->n == MAX_CURVES) return NULL;
    snprintf(c->curves[c->n].name, sizeof full, "%s", full);
    return &c->curves[c->n++];
}

static void note_name(chart *c, const char *name) {
    for (int i = 0; i < c->n_names; i++)
        if (strcmp(c->names[i], name) == 0) return;
    if (c->n_names < 64) snprintf(c->names[c->n_names++], sizeof c->names[0], "%.127s", name);
}

/* step,epoch,batch,samples,wall,stage,level,name,value; a name may stand in quotes. */
static int read_csv(chart *c, const char *run, const char *path, const cli_list *names) {
    FILE *f = fopen(path, "r");
    char line[4096], name[1024];
    if (!f) return cli_fail("plot", "%s cannot be read: %s", path, strerror(errno));
    if (!fgets(line, sizeof line, f) || strncmp(line, "step,", 5) != 0) {
        fclose(f);
        return cli_fail(
            "plot",
            "%s is no metrics.csv: its first line is not 'step,epoch,...'; give a run, its folder or its metrics.csv",
            path);
    }
    while (fgets(line, sizeof line, f)) {
        const char *p = line;
        double step = strtod(p, NULL);
        bool tested = strstr(line, ",test,") != NULL; /* a last measurement, no curve */
        for (int field = 0; p && field < 7; field++) p = (p = strchr(p, ',')) ? p + 1 : NULL;
        const char *value = p ? strrchr(p, ',') : NULL;
        if (!value || tested || line[0] < '0' || line[0] > '9') continue;
        size_t n = (size_t)(value - p);
        if (n > 1 && p[0] == '"') p++, n -= 2;
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        note_name(c, name);
        curve *to = wanted(name, names) ? curve_of(c, run, name) : NULL;
        if (to && !add_point(to, step, strtod(value + 1, NULL))) {
            fclose(f);
            return cli_fail("plot", "out of memory for the values of %s", path);
        }
    }
    int failed = ferror(f) ? errno : 0;
    fclose(f);
    return failed ? cli_fail("plot", "%s cannot be read: %s", path, strerror(failed)) : 0;
}

/* --- in the terminal: braille cells of 2 x 4 dots --- */
typedef struct frame {
    double x0, x1, y0, y1;
} frame;

static frame frame_of(const chart *c) {
    frame f = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int i = 0; i < c->n; i++)
        for (int64_t k = 0; k < c->curves[i].n; k++) {
            double x = c->curves[i].x[k], y = c->curves[i].y[k];
            if (!isfinite(y)) continue;
            f = (frame){fmin(f.x0, x), fmax(f.x1, x), fmin(f.y0, y), fmax(f.y1, y)};
        }
    if (f.x1 <= f.x0) f.x1 = f.x0 + 1;
    if (f.y1 <= f.y0) f.y1 = f.y0 + fmax(fabs(f.y0) * 0.01, 1e-9);
    return f;
}

static void put_dot(unsigned char *dots, int columns, int rows, int x, int y) {
    static const unsigned char bits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    if (x >= 0 && y >= 0 && x < 2 * columns && y < 4 * rows) dots[(y / 4) * columns + x / 2] |= bits[y % 4][x % 2];
}

static void draw_line(unsigned char *dots, int columns, int rows, double xa, double ya, double xb, double yb) {
    int steps = (int)fmax(fabs(xb - xa), fabs(yb - ya)) + 1;
    for (int i = 0; i <= steps; i++)
        put_dot(dots, columns, rows, (int)lround(xa + (xb - xa) * i / steps), (int)lround(ya + (yb - ya) * i / steps));
}

static bool to_terminal(const chart *c) {
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    int columns = size.ws_col > 40 ? (size.ws_col > 140 ? 120 : size.ws_col - 16) : 64, rows = 16;
    frame f = frame_of(c);
    for (int i = 0; i < c->n; i++) {
        const curve *v = &c->curves[i];
        unsigned char *dots = calloc((size_t)columns * (size_t)rows, 1);
        if (!dots) return false;
        double px = NAN, py = NAN;
        for (int64_t k = 0; k < v->n; k++) {
            if (!isfinite(v->y[k])) continue;
            double x = (v->x[k] - f.x0) / (f.x1 - f.x0) * (2 * columns - 1),
                   y = (f.y1 - v->y[k]) / (f.y1 - f.y0) * (4 * rows - 1);
            draw_line(dots, columns, rows, isnan(px) ? x : px, isnan(py) ? y : py, x, y);
            px = x, py = y;
        }
        cli_printf("%s: %lld points, first %.6g, last %.6g\n", v->name, (long long)v->n, v->n ? v->y[0] : NAN,
                   v->n ? v->y[v->n - 1] : NAN);
        for (int r = 0; r < rows; r++) {
            if (r == 0 || r == rows - 1)
                cli_printf("%11.5g ", r ? f.y0 : f.y1);
            else
                cli_printf("%12s", "");
            for (int k = 0; k < columns; k++) {
                unsigned code = 0x2800u + dots[r * columns + k];
                cli_printf("%c%c%c", (int)(0xE0 | code >> 12), (int)(0x80 | (code >> 6 & 63)),
                           (int)(0x80 | (code & 63)));
            }
            cli_printf("\n");
        }
        cli_printf("%12s%-*.6g%.6g\n\n", "step ", columns - 6, f.x0, f.x1);
        free(dots);
    }
    return true;
}

/* The trainer's own "loss" is the task's "train/loss" again, where it logs one: drawn once. */
static void drop_twins(chart *c, const cli_list *names) {
    for (int i = 0; !names->n && i < c->n; i++) {
        const char *mine = strrchr(c->curves[i].name, ' ') ? strrchr(c->curves[i].name, ' ') + 1 : c->curves[i].name;
        bool twin = false;
        for (int k = 0; k < c->n && strcmp(mine, "loss") == 0; k++)
            twin = twin || (k != i && c->curves[k].n == c->curves[i].n &&
                            memcmp(c->curves[k].y, c->curves[i].y, (size_t)c->curves[i].n * sizeof(double)) == 0);
        if (!twin) continue;
        free(c->curves[i].x);
        free(c->curves[i].y);
        memmove(&c->curves[i], &c->curves[i + 1], (size_t)(c->n - i - 1) * sizeof c->curves[0]);
        c->n--;
        i--;
    }
}

/* The runs there are, and the nearest of them. */
static int no_such_run(const char *run) {
    const char *env = getenv("XT_RUNS_DIR"), *runs = env && *env ? env : "runs";
    static char names[64][128];
    const char *list[64];
    int n = 0;
    DIR *d = opendir(runs);
    for (struct dirent *e; d && n < 64 && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(names[n], sizeof names[n], "%.127s", e->d_name);
            list[n] = names[n];
            n++;
        }
    if (d) closedir(d);
    const char *near = cli_nearest(run, strlen(run), list, n);
    cli_fprintf(stderr, "xtrain plot: there is no metrics.csv of a run %s", run);
    if (near) cli_fprintf(stderr, "; did you mean %s?", near);
    if (n)
        cli_fprintf(stderr, "%s %s there %s:", near ? " In" : "; in", runs, n == 1 ? "is" : "are");
    else
        cli_fprintf(stderr, "; there are no runs in %s", runs);
    for (int i = 0; i < n; i++) cli_fprintf(stderr, "%s %s", i ? "," : "", list[i]);
    cli_fprintf(stderr, "\n");
    return 1;
}

static int draw(chart *c, const char *output, const cli_list *runs, const cli_list *names) {
    if (c->n == 0) {
        if (c->n_names == 0) {
            cli_fprintf(
                stderr,
                "xtrain plot: %s has no values yet: the first row comes after log_every_n_steps optimizer steps, "
                "or at the end of an epoch\n",
                runs->items[0]);
            return 1;
        }
        cli_fprintf(stderr, "xtrain plot: %s has none of these values; it has:", runs->items[0]);
        for (int i = 0; i < c->n_names; i++) cli_fprintf(stderr, "%s %s", i ? "," : "", c->names[i]);
        const char *all[64], *near = NULL;
        for (int i = 0; i < c->n_names; i++) all[i] = c->names[i];
        for (int i = 0; i < names->n && !near; i++)
            near = cli_nearest(names->items[i], strlen(names->items[i]), all, c->n_names);
        cli_fprintf(stderr, "%s%s%s\n", near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        return 1;
    }
    if (!output) return to_terminal(c) ? 0 : cli_fail("plot", "out of memory");
    xt_plot_series series[MAX_CURVES];
    for (int i = 0; i < c->n; i++)
        series[i] = (xt_plot_series){c->curves[i].name, c->curves[i].x, c->curves[i].y, c->curves[i].n};
    xt_status s = xt_plot_lines(output, runs->items[0], "optimizer step", series, c->n);
    if (s) return cli_fail_status("plot", s);
    cli_printf("%s: %d curve%s\n", output, c->n, c->n == 1 ? "" : "s");
    return 0;
}

static int run(int argc, char **argv) {
    cli_list runs = {.n = 0}, names = {.n = 0};
    const char *output = NULL;
    const cli_option table[] = {
        {"RUN...", CLI_LIST, &runs, NULL, "runs/mnist, runs/mnist/version_3, mnist (under runs/), or a metrics.csv"},
        {"--name", CLI_LIST, &names, "NAME", "a logged value; may be given again (default: the losses)"},
        {"--output", CLI_STRING, &output, "FILE.png", "draw there (default: in the terminal)"},
    };
    int code = cli_parse(argc, argv,
                         "usage: xtrain plot RUN [RUN...] [--name val/acc] [--output curves.png]\n\n"
                         "Draws the curves of a run, or of several over each other.\n",
                         table, (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    if (!runs.n) {
        cli_fprintf(stderr, "xtrain plot: which run? xtrain plot runs/mnist\n");
        return 2;
    }
    static chart c;
    for (int i = 0; i < runs.n && !code; i++) {
        char path[4096];
        int found = find_csv(runs.items[i], path, sizeof path);
        code = found == TOLD   ? 1
               : found == NONE ? no_such_run(runs.items[i])
                               : read_csv(&c, runs.n > 1 ? runs.items[i] : "", path, &names);
    }
    if (!code) drop_twins(&c, &names);
    if (!code) code = draw(&c, output, &runs, &names);
    for (int i = 0; i < c.n; i++) {
        free(c.curves[i].x);
        free(c.curves[i].y);
    }
    return code;
}

const cli_command cli_plot = {"plot", "draw the curves of a run", run};
