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
    for (int i = 1; i < argc && room && !code; i++) {
        const char *path;
        if (names_file(argc, argv, &i, &path)) continue;
        if (strcmp(argv[i], "--print-config") == 0)
            room = push(&out->trainer, argv[i]);
        else if (!sectioned(out, &rest, argc, argv, &i, &code))
            room = push(&rest, argv[i]);
    }
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
