/* --config FILE.json, --model.X, --data.X and --trainer.X of `xtrain fit`, turned into the command's plain options: what a file says comes first, so that the
 * command line wins. Options of the trainer that the command has no word for are handed to the trainer as they are. */
#include "cli/config.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The trainer's names for options of the command. */
static const char *const same[][2] = {
    {"max_epochs", "--epochs"},         {"max_steps", "--steps"},           {"accumulate_grad_batches", "--accumulate"}, {"log_every_n_steps", "--log-every"},
    {"precision", "--precision"},       {"gradient_clip_val", "--clip"},    {"val_every", "--val-every"},                {"resume", "--resume"},
    {"seed", "--seed"},
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

/* name=value for one of the sections; the option's name with dashes. */
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
    if (strcmp(section, "model") == 0 && strcmp(name, "name") == 0) return push(plain, value);
    bool flag = strcmp(value, "true") == 0 || strcmp(value, "on") == 0;
    if (strcmp(value, "false") == 0 || strcmp(value, "off") == 0) return true;
    snprintf(text, sizeof text, flag ? "--%s" : "--%s=%s", strcmp(name, "path") == 0 ? "data" : name, value);
    for (char *p = text + 2; *p && *p != '='; p++)
        if (*p == '_') *p = '-';
    return push(plain, text);
}

static bool value_text(const cJSON *v, char *out, size_t n) {
    if (cJSON_IsString(v)) snprintf(out, n, "%s", v->valuestring);
    else if (cJSON_IsBool(v)) snprintf(out, n, "%s", cJSON_IsTrue(v) ? "true" : "false");
    else if (cJSON_IsNumber(v) && v->valuedouble == (double)(long long)v->valuedouble) snprintf(out, n, "%lld", (long long)v->valuedouble);
    else if (cJSON_IsNumber(v)) snprintf(out, n, "%.17g", v->valuedouble);
    else return false;
    return true;
}

static char *read_all(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long n = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (n >= 0 && n < 1 << 24 && fseek(f, 0, SEEK_SET) == 0 && (text = malloc((size_t)n + 1))) {
        size_t got = fread(text, 1, (size_t)n, f);
        text[got] = 0;
    }
    if (f) fclose(f);
    return text;
}

static int take_file(cli_config *c, cli_args *plain, const char *path) {
    char *text = read_all(path);
    if (!text) return cli_fail("fit", "--config %s: it cannot be read", path);
    cJSON *all = cJSON_Parse(text);
    const char *at = cJSON_GetErrorPtr();
    int line = 1, code = 0;
    for (const char *p = text; at && p < at && *p; p++) line += *p == '\n';
    if (!cJSON_IsObject(all)) code = cli_fail("fit", "--config %s: line %d is no JSON; {\"model\": {\"name\": \"mnist\"}, \"trainer\": {\"max_epochs\": 3}} is expected", path, line);
    const cJSON *section, *v;
    cJSON_ArrayForEach(section, all) {
        bool known = strcmp(section->string, "trainer") == 0 || strcmp(section->string, "model") == 0 || strcmp(section->string, "data") == 0;
        if (!known && strcmp(section->string, "xtrain") != 0 && !code) code = cli_fail("fit", "--config %s: there is no section \"%s\"; trainer, model and data are known", path, section->string);
        if (known) cJSON_ArrayForEach(v, section) {
            char value[4000];
            if (code || cJSON_IsNull(v) || (cJSON_IsNumber(v) && v->valuedouble == 0)) continue; /* zero is "not given" */
            if (!value_text(v, value, sizeof value)) code = cli_fail("fit", "--config %s: %s.%s is neither a number nor a text nor true or false", path, section->string, v->string);
            else if (!add(c, plain, section->string, v->string, value)) code = cli_fail("fit", "out of memory");
        }
    }
    cJSON_Delete(all);
    free(text);
    return code;
}

/* --section.name VALUE or --section.name=VALUE at argv[*i]; false: it is something else. */
static bool sectioned(cli_config *c, cli_args *plain, int argc, char **argv, int *i, int *code) {
    static const char *const sections[] = {"model", "data", "trainer"};
    const char *arg = argv[*i];
    for (size_t s = 0; s < 3; s++) {
        size_t n = strlen(sections[s]);
        if (strncmp(arg, "--", 2) != 0 || strncmp(arg + 2, sections[s], n) != 0 || arg[2 + n] != '.') continue;
        char name[256];
        const char *equals = strchr(arg, '='), *value = equals ? equals + 1 : *i + 1 < argc ? argv[++*i] : NULL;
        snprintf(name, sizeof name, "%.*s", (int)((equals ? (size_t)(equals - arg) : strlen(arg)) - 3 - n), arg + 3 + n);
        for (char *p = name; s == 2 && *p; p++)
            if (*p == '-') *p = '_';
        if (!value) *code = cli_fail("fit", "%s needs a value", arg) + 1;
        else if (!add(c, plain, sections[s], name, value)) *code = cli_fail("fit", "out of memory");
        return true;
    }
    return false;
}

int cli_config_expand(int argc, char **argv, cli_config *out) {
    int code = 0;
    *out = (cli_config){.plain = {NULL, 0}};
    cli_args files = {NULL, 0}, rest = {NULL, 0};
    bool room = push(&out->trainer, "xtrain fit");
    for (int i = 1; i < argc && room && !code; i++) {
        bool last = strcmp(argv[i], "--config") == 0;
        if (last || strncmp(argv[i], "--config=", 9) == 0) {
            const char *path = last ? (i + 1 < argc ? argv[++i] : NULL) : argv[i] + 9;
            code = path ? take_file(out, &files, path) : cli_fail("fit", "--config needs a file") + 1;
        } else if (strcmp(argv[i], "--print-config") == 0)
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
