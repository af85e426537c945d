/* The xtrain command: a table of commands. */
#include "cli/cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const cli_command *const commands[] = {
    &cli_fit,    &cli_validate, &cli_test,   &cli_predict, &cli_generate, &cli_evaluate,   &cli_bench,   &cli_plot,
    &cli_launch, &cli_rank,     &cli_agent,  &cli_run,     &cli_top,      &cli_postmortem, &cli_explain, &cli_plan,
    &cli_new,    &cli_cache,    &cli_doctor, &cli_convert, &cli_tokenize, &cli_version};

static int help(FILE *f) {
    cli_fprintf(f, "xtrain %s trains neural networks from C.\n\n", xt_version());
    cli_print_usage(f, "usage: xtrain COMMAND [options]     xtrain COMMAND --help says more\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (commands[i]->summary) cli_fprintf(f, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    cli_print_usage(f, "\nA first run: xtrain fit mnist\n");
    if (f == stdout) {
        cli_printf("\nDiagnostic switches, for any program, and what they cost:\n");
        cli_print_switches();
    }
    return f == stdout ? 0 : 2;
}

/* Neither the command's own lines nor those of the built-in models or of the C library, which calls main,
 * are the user's. */
static void hide_own_lines(void) {
    static char cli[sizeof __FILE__] = __FILE__, models[sizeof __FILE__ + 8];
    char *name = strstr(cli, "cli/xtrain.c");
    if (!name) return;
    snprintf(models, sizeof models, "%.*smodels/", (int)(name - cli), cli);
    name[strlen("cli/")] = 0;
    xt_hide_source(cli);
    xt_hide_source(models);
    xt_hide_source("../sysdeps/");
    xt_hide_source("../csu/");
}

static int run(int argc, char **argv) {
    if (argc < 2) return help(stderr);
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) return help(stdout);
    if (strcmp(name, "--version") == 0) name = "version";
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i]->run(argc - 1, argv + 1);
    const char *names[sizeof commands / sizeof commands[0]];
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        names[i] = commands[i]->summary ? commands[i]->name : NULL;
    const char *near = cli_nearest(name, strlen(name), names, (int)(sizeof commands / sizeof commands[0]));
    cli_fprintf(stderr, "xtrain: there is no command '%s'%s%s%s; xtrain --help lists them\n", name,
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return 2;
}

/* What a command prints is its result: a full disk or a closed pipe behind stdout is a failure, whatever it did. */
int main(int argc, char **argv) {
    hide_own_lines();
    cli_called(argv[0]);
    int rc = run(argc, argv);
    errno = 0;
    bool lost = ferror(stdout) != 0;
    if ((fflush(stdout) != 0 || lost) && errno != EBADF) {
        cli_fprintf(stderr, "xtrain: what was printed is lost: %s; give stdout to a file or a pipe that takes it\n",
                    errno ? strerror(errno) : "writing to stdout failed");
        return rc ? rc : 1;
    }
    return rc;
}
