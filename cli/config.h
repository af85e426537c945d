/* Configuration files of `xtrain fit`. */
#ifndef XTRAIN_CLI_CONFIG_H
#define XTRAIN_CLI_CONFIG_H

#include "cli/cli.h"

typedef struct cli_args {
    char **argv; /* ends with NULL */
    int argc;
} cli_args;
typedef struct cli_config {
    cli_args plain;   /* the command's arguments without --config and sections; [0] is the command */
    cli_args trainer; /* for xt_trainer_args, --print-config among them; [0] is the program's name */
} cli_config;
/* 0, or the exit code after a message; free either way. */
int cli_config_expand(int argc, char **argv, cli_config *out);
void cli_config_free(cli_config *c);
void cli_args_free(cli_args *a);

/* fit_so.c: `xtrain fit ./model.so`: argv after the path. */
int fit_shared_object(const char *path, int argc, char **argv);
/* fit_report.c's neighbour: the contract's JSON line. */
void fit_print_json(const char *model, const xt_fit_result *r, double accuracy);

#endif
