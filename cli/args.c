/* Options of a command from its table: --name VALUE, --name=VALUE, positional arguments in order, --help. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_fail(const char *command, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    cli_fprintf(stderr, "xtrain %s: ", command);
    cli_vfprintf(stderr, fmt, ap);
    cli_fprintf(stderr, "\n");
    va_end(ap);
    return 1;
}

int cli_fail_status(const char *command, xt_status s) {
    const char *text = xt_status_message(s);
    cli_fprintf(stderr, "xtrain %s: ", command);
    cli_text(stderr, text, strlen(text));
    cli_fprintf(stderr, "\n");
    xt_status_free(s);
    return 1;
}

int cli_end(int code) {
    if (code) xt_clear_error(); /* it has been looked at */
    int ended = xt_finish();
    return code ? code : ended;
}

bool cli_is_shared_object(const char *arg) {
    size_t n = arg ? strlen(arg) : 0;
    return n > 3 && arg[0] != '-' && strcmp(arg + n - 3, ".so") == 0;
}

/* The command as it was called: a path, where it stands in no folder of PATH. */
static const char *called = "xtrain";

void cli_called(const char *argv0) {
    if (argv0 && strchr(argv0, '/')) called = argv0;
}

void cli_print_usage(FILE *to, const char *usage) {
    const char *from = usage;
    for (const char *p; (p = strstr(from, "xtrain ")); from = p + strlen("xtrain")) {
        bool word = p == usage || strchr(" `\n", p[-1]);
        cli_raw(to, from, (size_t)(p - from));
        cli_fprintf(to, "%s", word ? called : "xtrain");
    }
    cli_raw(to, from, strlen(from));
}

static void print_help(const char *usage, const cli_option *o, int n) {
    cli_print_usage(stdout, usage);
    cli_printf("\n");
    for (int i = 0; i < n; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", o[i].name, o[i].arg ? o[i].arg : "");
        cli_printf("  %-26s %s\n", left, o[i].help);
    }
    cli_printf("  %-26s %s\n", "--help", "this text");
}

static int usage_error(const char *command, const char *fmt, const char *a, const char *b) {
    cli_fprintf(stderr, "xtrain %s: ", command);
    cli_fprintf(stderr, fmt, a, b);
    cli_fprintf(stderr, "; xtrain %s --help lists the options\n", command);
    return 3;
}

/* No option of any command means something below 0, nor NaN or infinity. */
static const char *expected(cli_kind kind) {
    switch (kind) {
    case CLI_INT: return ": a whole number from 0 on is expected";
    case CLI_COUNT: return ": a whole number from 1 on is expected";
    case CLI_DOUBLE: return ": a number from 0 on is expected";
    case CLI_LIST: return ": it is one too many";
    case CLI_FLAG:
    case CLI_STRING: break;
    }
    return "";
}

static int wrong_value(const char *command, const cli_option *o, const char *text) {
    char where[128];
    snprintf(where, sizeof where, "%s%s", o->name, expected(o->kind));
    return usage_error(command, "'%s' is no value for %s", text, where);
}

static bool set(const cli_option *o, const char *text) {
    char *end = NULL;
    errno = 0;
    switch (o->kind) {
    case CLI_FLAG: *(bool *)o->value = true; return true;
    case CLI_STRING: *(const char **)o->value = text; return true;
    case CLI_INT:
        *(int64_t *)o->value = strtoll(text, &end, 10);
        return *text && !*end && !errno && *(int64_t *)o->value >= 0;
    case CLI_DOUBLE:
        *(double *)o->value = strtod(text, &end);
        return *text && !*end && isfinite(*(double *)o->value) && !signbit(*(double *)o->value);
    case CLI_COUNT:
        *(int64_t *)o->value = strtoll(text, &end, 10);
        return *text && !*end && !errno && *(int64_t *)o->value > 0;
    case CLI_LIST: {
        cli_list *l = o->value;
        if (l->n == (int)(sizeof l->items / sizeof l->items[0])) return false;
        l->items[l->n++] = text;
        return true;
    }
    }
    return false;
}

/* Levenshtein's distance, of words that are short. */
static int distance(const char *a, size_t na, const char *b) {
    int row[65];
    size_t nb = strlen(b);
    if (na > 64 || nb > 64) return 99;
    for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int before = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int cost = before + (a[i - 1] != b[j - 1]), up = row[j] + 1, left = row[j - 1] + 1;
            before = row[j];
            row[j] = cost < up ? (cost < left ? cost : left) : up < left ? up : left;
        }
    }
    return row[nb];
}

const char *cli_nearest(const char *word, size_t len, const char *const *names, int n) {
    const char *best = NULL;
    size_t letters = len - (len > 2 && word[0] == '-' && word[1] == '-' ? 2 : 0);
    int least = letters < 3 ? 2 : letters < 5 ? 3 : 4; /* what is further off is another word */
    for (int i = 0; i < n; i++) {
        int d = names[i] ? distance(word, len, names[i]) : 99;
        if (d >= least) continue;
        least = d;
        best = names[i];
    }
    return best;
}

static const cli_option *find(const cli_option *o, int n, const char *arg, size_t len) {
    for (int i = 0; i < n; i++)
        if (strlen(o[i].name) == len && strncmp(o[i].name, arg, len) == 0) return &o[i];
    return NULL;
}

static const cli_option *next_positional(const cli_option *o, int n, int *at) {
    while (*at < n && o[*at].name[0] == '-') ++*at;
    if (*at >= n) return NULL;
    return o[*at].kind == CLI_LIST ? &o[*at] : &o[(*at)++];
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
int cli_parse(int argc, char **argv, const char *usage, const cli_option *options, int n, int *out_rest) {
    int positional = 0;
    if (out_rest) *out_rest = argc;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            print_help(usage, options, n);
            return 1;
        }
        if (strcmp(arg, "--") == 0 && out_rest) {
            *out_rest = i + 1;
            return 0;
        }
        if (arg[0] != '-' || !arg[1]) {
            const cli_option *o = next_positional(options, n, &positional);
            if (!o && out_rest) { /* a program and its arguments, "--" forgotten: its own options are the program's */
                *out_rest = i;
                return 0;
            }
            if (!o) return usage_error(argv[0], "'%s' is one argument too many%s", arg, "");
            if (!set(o, arg)) return wrong_value(argv[0], o, arg);
            continue;
        }
        const char *eq = strchr(arg, '=');
        const cli_option *o = find(options, n, arg, eq ? (size_t)(eq - arg) : strlen(arg));
        if (!o && arg[1] != '-' && arg[2] && (o = find(options, n, arg, 2))) { /* -n4 */
            if (o->kind == CLI_FLAG)
                o = NULL;
            else
                eq = arg + 1;
        }
        if (!o) {
            const char *names[64], *near;
            int known = 0;
            for (int k = 0; k < n && known < 64; k++)
                if (options[k].name[0] == '-') names[known++] = options[k].name;
            near = cli_nearest(arg, eq ? (size_t)(eq - arg) : strlen(arg), names, known);
            char name[96];
            snprintf(name, sizeof name, "%.*s", (int)(eq ? (size_t)(eq - arg) : strlen(arg)), arg);
            return near ? usage_error(argv[0], "there is no option %s; did you mean %s?", name, near)
                        : usage_error(argv[0], "there is no option %s%s", name, "");
        }
        const char *value = eq ? eq + 1 : NULL;
        if (o->kind != CLI_FLAG && !value) {
            if (i + 1 >= argc) return usage_error(argv[0], "%s needs %s", o->name, o->arg ? o->arg : "a value");
            value = argv[++i];
        }
        if (!set(o, value ? value : "")) return wrong_value(argv[0], o, value ? value : "");
    }
    return 0;
}
