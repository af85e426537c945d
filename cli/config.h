/* Configuration files of `xtrain fit`. */
#ifndef XTRAIN_CLI_CONFIG_H
#define XTRAIN_CLI_CONFIG_H

#include "cli/cli.h"

typedef struct cli_args {
    char **argv; /* ends with NULL */
    int argc;
} cli_args;
typedef struct cli_config {
    cli_args plain; /* the command's arguments without --config and sections; [0] is the command */
    cli_args trainer; /* for xt_trainer_args, --print-config among them; [0] is the program's name */
} cli_config;
/* 0, or the exit code after a message; free either way. */
int cli_config_expand(int argc, char **argv, cli_config *out);
void cli_config_free(cli_config *c);
/* --lr and --optimizer.lr, both given: 0 where they say the same, else the exit code after a message. */
int cli_config_two_rates(const char *lr, const char *named);
void cli_args_free(cli_args *a);

/* What is done with a model: the commands fit, validate, test, predict. */
typedef enum fit_stage { STAGE_FIT, STAGE_VALIDATE, STAGE_TEST, STAGE_PREDICT } fit_stage;
extern const char *const fit_stage_names[];
extern const char fit_needs_weights[]; /* what a pass without --ckpt is told */
/* fit_so.c: `xtrain fit ./model.so` and the other stages: argv after the path. */
int fit_shared_object(fit_stage stage, const char *path, int argc, char **argv);
/* "--max_epochs", a name of the trainer's, is "--epochs" for a built-in model; false: no word of the command
 * stands for it. */
bool fit_command_word(const char *arg, char *out, size_t n);
/* A pass that does not train, over `loader`; predictions go to `output` (NULL: predictions.npy). */
int fit_pass(fit_stage stage, xt_trainer *t, const xt_task *task, xt_loader *loader, const char *output);
void fit_print_pass_json(fit_stage stage, const char *model, xt_trainer *t);
/* fit_report.c's neighbour: the contract's JSON line. */
void fit_print_json(const char *model, const xt_fit_result *r, double accuracy);

#endif
