/* --config FILE.json, --model.X, --data.X, --optimizer.X, --scheduler.X, --callbacks.X and --trainer.X of `xtrain fit`,
 * turned into the command's plain options: what a file says comes first, so that the command line wins. Options of the
 * trainer that the command has no word for are handed to the trainer as they are. */
#include "cli/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The trainer's names for options of the command. */
static const char *const same[][2] = {
    {"max_epochs", "--epochs"},           {"max_steps", "--steps"},     {"accumulate_grad_batches", "--accumulate"},
    {"log_every_n_steps", "--log-every"}, {"precision", "--precision"}, {"gradient_clip_val", "--clip"},
    {"val_every", "--val-every"},         {"resume", "--resume"},       {"seed", "--seed"},
};

static bool push(cli_args *a, const char *text) {
    char **more = realloc(a->argv, sizeof *more * (size_t)(a->argc + 2));
    char *copy = strdup(text);
    if (!more || !copy) {
        free(copy);
        if (more) a->argv = more;
        return false;
    }
    a->argv = more;
    a->argv[a->argc++] = copy;
    a->argv[a->argc] = NULL;
    return true;
}

void cli_args_free(cli_args *a) {
    for (int i = 0; i < a->argc; i++) free(a->argv[i]);
    free(a->argv);
    *a = (cli_args){NULL, 0};
}

/* A value of one of the sections, as an argument; the option's name with dashes. */
static bool add(cli_config *c, cli_args *plain, const char *section, const char *name, const char *value) {
    char text[4096];
    if (strcmp(section, "trainer") == 0) {
        for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
            if (strcmp(name, same[i][0]) == 0) {
                snprintf(text, sizeof text, "%s=%s", same[i][1], value);
                return push(plain, text);
            }
        snprintf(text, sizeof text, "--%s=%s", name, value);
        return push(&c->trainer, text);
    }
    bool named =
        strcmp(section, "optimizer") == 0 || strcmp(section, "scheduler") == 0 || strcmp(section, "callbacks") == 0;
    if (named) { /* the trainer's business */
        snprintf(text, sizeof text, "--%s.%s=%s", section, name, value);
        return push(&c->trainer, text);
    }
    if (strcmp(section, "model") == 0 && strcmp(name, "name") == 0) return push(plain, value);
    if (strcmp(value, "false") == 0 || strcmp(value, "off") == 0) return true;
    bool flag = strcmp(value, "true") == 0 || strcmp(value, "on") == 0;
    snprintf(text, sizeof text, flag ? "--%s" : "--%s=%s", strcmp(name, "path") == 0 ? "data" : name, value);
    for (char *p = text + 2; *p && *p != '='; p++)
        if (*p == '_') *p = '-';
    return push(plain, text);
}

typedef struct target {
    cli_config *config;
    cli_args *plain;
} target;

static xt_status take_value(const char *name, const char *value, void *user) {
    target *t = user;
    char section[16];
    const char *dot = strchr(name, '.');
    snprintf(section, sizeof section, "%.*s", (int)(dot - name), name);
    bool counted = false, own = strcmp(section, "model") == 0 || strcmp(section, "data") == 0;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) counted = counted || strcmp(dot + 1, same[i][0]) == 0;
    /* what this command leaves out of its own settings, and "no limit" of the trainer's */
    if (strcmp(value, own ? "0" : counted ? "-1" : "") == 0) return NULL;
    return add(t->config, t->plain, section, dot + 1, value) ? NULL
                                                             : xt_status_new(XT_RESOURCE_EXHAUSTED, "out of memory");
}

static int take_file(cli_config *c, cli_args *plain, const char *path) {
    target t = {c, plain};
    xt_status s = xt_config_read(path, take_value, &t);
    return s ? cli_fail_status("fit --config", s) : 0;
}

/* --section.name VALUE or --section.name=VALUE at argv[*i], and --optimizer NAME; false: it is something else. */
static bool sectioned(cli_config *c, cli_args *plain, int argc, char **argv, int *i, int *code) {
    static const char *const sections[] = {"model", "data", "trainer", "optimizer", "scheduler", "callbacks"};
    const char *arg = argv[*i];
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        size_t n = strlen(sections[s]);
        if (strncmp(arg, "--", 2) != 0 || strncmp(arg + 2, sections[s], n) != 0) continue;
        bool dot = arg[2 + n] == '.', named = s >= 3 && (!arg[2 + n] || arg[2 + n] == '=');
        if (!dot && !named) continue;
        char name[256];
        if (strcmp(arg, "--trainer.help") == 0)
            return push(&c->trainer, "--help") || (*code = cli_fail("fit", "out of memory"));
        const char *equals = strchr(arg, '='), *value = equals ? equals + 1 : *i + 1 < argc ? argv[++*i] : NULL;
        if (dot)
            snprintf(name, sizeof name, "%.*s", (int)((equals ? (size_t)(equals - arg) : strlen(arg)) - 3 - n),
                     arg + 3 + n);
        else
            snprintf(name, sizeof name, "name");
        for (char *p = name; s >= 2 && *p; p++)
            if (*p == '-') *p = '_';
        if (!value)
            *code = cli_fail("fit", "%s needs a value", arg) + 1;
        else if (!add(c, plain, sections[s], name, value))
            *code = cli_fail("fit", "out of memory");
        return true;
    }
    return false;
}

/* --- one rate --- */
/* The value of the last `--name V` or `--name=V`, which is taken out; NULL: it was not given. */
static char *take_last(cli_args *a, const char *name) {
    char *found = NULL;
    size_t n = strlen(name);
    int kept = 0;
    for (int i = 0; i < a->argc; i++) {
        bool here = strncmp(a->argv[i], name, n) == 0 && (a->argv[i][n] == '=' || (!a->argv[i][n] && i + 1 < a->argc));
        if (!here) {
            a->argv[kept++] = a->argv[i];
            continue;
        }
        free(found);
        found = strdup(a->argv[i][n] ? a->argv[i] + n + 1 : a->argv[i + 1]);
        if (!a->argv[i][n]) free(a->argv[i++]);
        free(a->argv[i]);
    }
    a->argc = kept;
    if (a->argv) a->argv[kept] = NULL;
    return found;
}

/* The value of the last `start`VALUE in a->argv[from ...]; borrowed. */
static const char *last_from(const cli_args *a, int from, const char *start) {
    const char *found = NULL;
    for (int i = from; i < a->argc; i++)
        if (strncmp(a->argv[i], start, strlen(start)) == 0) found = a->argv[i] + strlen(start);
    return found;
}

static bool is_number_of(const char *a, const char *b) {
    return strtod(a, NULL) == strtod(b, NULL);
}

int cli_config_two_rates(const char *lr, const char *named) {
    return is_number_of(lr, named)
               ? 0
               : cli_fail("fit", "--lr is %s and --optimizer.lr is %s: which is the rate? Leave one of them out", lr,
                          named) +
                     1;
}

/* --lr is the rate of the optimizer that trains: where one is named it takes the place of the model's, and the rate is
 * its own. A file's gives way to the command line's; of two from one place only one could count. `from`: the trainer's
 * arguments of the command line begin there. */
static int settle_rate(cli_config *c, cli_args *files, cli_args *rest, int from) {
    static const char own[] = "--optimizer.lr=";
    if (!last_from(&c->trainer, 1, "--optimizer.name=")) return 0;
    char *of_files = take_last(files, "--lr"), *of_line = take_last(rest, "--lr");
    const char *named = last_from(&c->trainer, of_line ? from : 1, own), *here = last_from(&c->trainer, from, own);
    const char *lr = of_line ? of_line : here ? NULL : of_files;
    int code = lr && named ? cli_config_two_rates(lr, named) : 0;
    char text[128];
    snprintf(text, sizeof text, "%s%s", own, lr ? lr : "");
    if (lr && !code && !push(&c->trainer, text)) code = cli_fail("fit", "out of memory");
    free(of_files);
    free(of_line);
    return code;
}

/* The model's own schedule, where another takes its place, is asked for in vain. */
static int look_at_schedule(const cli_config *c, const cli_args *rest) {
    static const char *const own[] = {"--schedule", "--warmup"};
    const char *optimizer = last_from(&c->trainer, 1, "--optimizer.name="),
               *scheduler = last_from(&c->trainer, 1, "--scheduler.name=");
    for (int i = 0; i < rest->argc && (optimizer || scheduler); i++)
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) {
            size_t n = strlen(own[k]);
            if (strncmp(rest->argv[i], own[k], n) != 0 || (rest->argv[i][n] && rest->argv[i][n] != '=')) continue;
            return cli_fail("fit",
                            "%s is of the model's own schedule, whose place --%s %s takes; --scheduler NAME, with "
                            "--scheduler.OPTION, gives another",
                            own[k], scheduler ? "scheduler" : "optimizer", scheduler ? scheduler : optimizer) +
                   1;
        }
    return 0;
}

/* --config FILE or --config=FILE at argv[*i]. */
static bool names_file(int argc, char **argv, int *i, const char **out_path) {
    bool next = strcmp(argv[*i], "--config") == 0;
    if (!next && strncmp(argv[*i], "--config=", 9) != 0) return false;
    *out_path = !next ? argv[*i] + 9 : *i + 1 < argc ? argv[++*i] : NULL;
    return true;
}

int cli_config_expand(int argc, char **argv, cli_config *out) {
    int code = 0;
    *out = (cli_config){.plain = {NULL, 0}};
    cli_args files = {NULL, 0}, rest = {NULL, 0};
    bool room = push(&out->trainer, "xtrain fit");
    for (int i = 1; i < argc && room && !code; i++) {
        const char *path;
        if (names_file(argc, argv, &i, &path))
            code = path ? take_file(out, &files, path) : cli_fail("fit", "--config needs a file") + 1;
    }
    int of_files = out->trainer.argc;
    for (int i = 1; i < argc && room && !code; i++) {
        const char *path;
        if (names_file(argc, argv, &i, &path)) continue;
        if (strcmp(argv[i], "--print-config") == 0)
            room = push(&out->trainer, argv[i]);
        else if (!sectioned(out, &rest, argc, argv, &i, &code))
            room = push(&rest, argv[i]);
    }
    if (!code) code = settle_rate(out, &files, &rest, of_files);
    if (!code) code = look_at_schedule(out, &rest);
    /* A model named in a file gives way to one on the command line. */
    bool named = rest.argc > 0 && rest.argv[0][0] != '-';
    room = room && push(&out->plain, argc > 0 ? argv[0] : "fit");
    for (int i = 0; i < files.argc && room; i++)
        if (files.argv[i][0] == '-' || !named) room = push(&out->plain, files.argv[i]);
    for (int i = 0; i < rest.argc && room; i++) room = push(&out->plain, rest.argv[i]);
    cli_args_free(&files);
    cli_args_free(&rest);
    return !room && !code ? cli_fail("fit", "out of memory") : code;
}

void cli_config_free(cli_config *c) {
    cli_args_free(&c->plain);
    cli_args_free(&c->trainer);
}
