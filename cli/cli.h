/* The command line: one file a command, one row each in xtrain.c, options as tables. Contract (doc/architecture.md):
 * --help on all; --json prints one JSON object on the last line of stdout; an error is one sentence on stderr and exit
 * 1; a usage error exits 2. */
#ifndef XTRAIN_CLI_H
#define XTRAIN_CLI_H

#include <stdarg.h>
#include <stdio.h>

#include <xtrain/xtrain.h>

typedef struct cli_command {
    const char *name, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} cli_command;
extern const cli_command cli_fit, cli_validate, cli_test, cli_predict, cli_plot, cli_bench, cli_generate, cli_evaluate,
    cli_version, cli_doctor, cli_convert, cli_tokenize, cli_run, cli_launch, cli_rank, cli_agent, cli_cache, cli_new,
    cli_plan, cli_top, cli_postmortem, cli_explain;

/* COUNT: an int of at least 1 */
typedef enum cli_kind { CLI_FLAG, CLI_STRING, CLI_INT, CLI_DOUBLE, CLI_LIST, CLI_COUNT } cli_kind;
typedef struct cli_list {
    const char *items[64];
    int n;
} cli_list;
typedef struct cli_option {
    const char *name; /* "--data"; without dashes: a positional argument */
    cli_kind kind;
    void *value; /* bool, const char *, int64_t, double, cli_list */
    const char *arg, *help;
} cli_option;
/* Fills the options. 0 = go on; otherwise the exit code + 1 (help was printed, or a usage error explained). `usage` is
 * the text above the options. Arguments after "--" are left: *out_rest is the index of the first. */
int cli_parse(int argc, char **argv, const char *usage, const cli_option *options, int n, int *out_rest);
/* The name that a misspelt word of `len` bytes most likely means; NULL: none is near. */
const char *cli_nearest(const char *word, size_t len, const char *const *names, int n);
/* "xtrain COMMAND: message" on stderr; gives 1. */
int cli_fail(const char *command, const char *fmt, ...) __attribute__((format(__printf__, 2, 3)));
int cli_fail_status(const char *command, xt_status s); /* takes s over */
/* Ends the library; the command's exit code: its own, which may be 128 + a signal's number, else the library's. */
int cli_end(int code);
void cli_called(const char *argv0);
void cli_print_usage(FILE *to, const char *usage); /* "xtrain COMMAND" under the name that the command was called by */
/* Whether an argument is the path of a shared object: a model of the user's own. */
bool cli_is_shared_object(const char *arg);

/* Rows for the options of a model (models/models.h), settled with model_settle. */
#define CLI_MODEL_OPTIONS(o)                                                                                           \
    {"--seq", CLI_INT, &(o).seq, "N", "text: tokens a sample (64; gpt2-mini 128)"},                                    \
        {"--context", CLI_INT, &(o).context, "N",                                                                      \
         "text: the most positions the model can see (gpt2 1024, gpt2-mini 128, gpt2-tiny 128)"},                      \
        {"--layers", CLI_INT, &(o).layers, "N", "text: blocks (12, 6, 4)"},                                            \
        {"--width", CLI_INT, &(o).width, "N", "text: numbers a position (768, 384, 128)"},                             \
        {"--heads", CLI_INT, &(o).heads, "N", "text: attention heads, which divide the width (12, 6, 4)"},             \
        {"--experts", CLI_INT, &(o).experts, "N", "text: feed-forward networks a block, of which a router picks (1)"}, \
        {"--experts-per-token", CLI_INT, &(o).experts_per_token, "K", "and how many it picks for a token (1)"},        \
        {"--microbatches", CLI_INT, &(o).microbatches, "N", "text: of a batch, with an axis stage of --mesh (4)"},     \
        {"--pipeline", CLI_STRING, &(o).pipeline, "NAME",                                                              \
         "text: schedule of micro-batches, gpipe or 1f1b: less memory (gpipe in stages)"},                             \
        {"--dropout", CLI_DOUBLE, &(o).dropout, "P", "text: share of activations left out in training (0)"},           \
        {"--checkpoint", CLI_FLAG, &(o).checkpoint, NULL,                                                              \
         "text: compute activations again in the backward pass: less memory, more time"},                              \
        {"--attention-tile", CLI_INT, &(o).attention_tile, "N",                                                        \
         "text: positions whose attention scores are in memory at a time, which divide --seq (all)"},                  \
        {"--side", CLI_INT, &(o).side, "N", "resnet18: pixels a side (224; CIFAR 32)"},                                \
        {"--classes", CLI_INT, &(o).classes, "N", "resnet18: classes (1000; the data's)"}, {                           \
        "--small-stem", CLI_FLAG, &(o).small_stem, NULL,                                                               \
            "resnet18: a 3x3 convolution and no pooling in front, for pictures of 32 to 64 pixels"                     \
    }

/* diag.c. Options that all commands share which run a program. */
typedef struct cli_diag {
    const char *debug, *profile;
    int64_t max_compiles;
    bool explain;
} cli_diag;
/* switches.c. What each switch costs, as measured; the help of an option says it too. */
#define CLI_COST_ALWAYS \
    "0.13 us a step: 0.8 % of the smallest training step (two weights, 16 us), 0.01 % of an MNIST step"
#define CLI_COST_COMPILE "0.5 us a step and 0.1 ms a compile"
#define CLI_COST_EXEC "1.9 us an execution"
#define CLI_COST_READ "0.4 us a step"
#define CLI_COST_NAN "30 % of an MNIST step, half of a small one: all results are read back"
#define CLI_COST_BOUNDS \
    "memory: states twice (GPT-2 3.2 GB instead of 1.7); each step is waited for, at most 10 % of one"
#define CLI_COST_EAGER "2.5 us an op: an MNIST step takes 7 times as long"
#define CLI_COST_PROFILE "0.05 us an op while it is taken"
#define CLI_COST_EVENTS "5 us an execution"
#define CLI_COST_METRICS "0.1 us a step"
#define CLI_COST_WATCHDOG "nothing measurable"
void cli_print_switches(void);
#define CLI_DIAG_ROWS(d)                                                                                              \
    {"--explain", CLI_FLAG, &(d).explain, NULL,                                                                       \
     "say why each program is compiled, run or read, with your line (as XT_DEBUG=compile,exec,read); costs 2.8 us a " \
     "step"},                                                                                                         \
        {"--max-compiles", CLI_INT, &(d).max_compiles, "N",                                                           \
         "the compile after N is an error that says why it was needed; programs from the cache on disk are not "      \
         "compiled (XT_CACHE=off counts all)"},                                                                       \
        {"--debug", CLI_STRING, &(d).debug, "WORDS",                                                                  \
         "compile, exec, read, nan, bounds, eager: as XT_DEBUG; costs: compile " CLI_COST_COMPILE                     \
         ", read " CLI_COST_READ ", exec " CLI_COST_EXEC ", nan " CLI_COST_NAN ", bounds " CLI_COST_BOUNDS            \
         ", eager " CLI_COST_EAGER},                                                                                  \
    {                                                                                                                 \
        "--profile", CLI_STRING, &(d).profile, "FILE",                                                                \
            "trace of host phases and device ops of some steps (XT_PROFILE_STEPS), as Chrome/Perfetto JSON; "         \
            "costs " CLI_COST_PROFILE                                                                                 \
    }
int cli_diag_apply(const char *command, const cli_diag *d); /* 0, or the exit code after a message */

/* output.c. Outputs, before a command begins its work: 0, or the exit code after a message; NULL is no output. A folder
 * may be new with those above it, a file only in a folder that is there. */
int cli_output_folder(const char *command, const char *option, const char *path);
int cli_output_file(const char *command, const char *option, const char *path);
/* An output that is the folder of what the work begins with. */
int cli_output_apart(const char *command, const char *option, const char *path, const char *from_option,
                     const char *from);
/* What must have been written when the command ends with 0: cli_output_end gives 1, after a message, where it was not.
 */
void cli_output_due(const char *command, const char *option, const char *path);
int cli_output_end(int code);

/* mesh.c. "data=2,tensor=2" -> axes (room for XT_MESH_AXES + 1), their names in `names`; false when it is none. */
bool cli_mesh_parse(const char *spec, char *names, size_t room, xt_axis *axes);
xt_mesh *cli_mesh_make(const char *command, const char *spec); /* before loaders; NULL after a message */
/* What the axes are for: "data" divides batches (with fsdp, parameters too), "fsdp" both, "tensor" or "model" the
 * blocks of GPT-2. */
void cli_mesh_apply(xt_mesh *mesh, xt_module *net, bool fsdp);

/* text.c. All that a command prints goes through these, as names and texts come from files and other processes: what a
 * %s brings moves no cursor, turns no line around and ends none (\xNN instead), and where the format has it between
 * double quotes it is a string of JSON, which may stand in a page of HTML too. */
void cli_printf(const char *fmt, ...) __attribute__((format(__printf__, 1, 2)));
void cli_fprintf(FILE *to, const char *fmt, ...) __attribute__((format(__printf__, 2, 3)));
void cli_vfprintf(FILE *to, const char *fmt, va_list ap) __attribute__((format(__printf__, 2, 0)));
void cli_text(FILE *to, const char *text, size_t n); /* of several lines: their ends and tabs stay */
void cli_json(FILE *to, const char *text, size_t n); /* with its quotes; n bytes of any kind */
void cli_raw(FILE *to, const char *text, size_t n); /* as it is: texts of our own, files */
#ifndef CLI_WRITES
#pragma GCC poison printf fprintf vprintf vfprintf dprintf puts fputs putchar putc fputc fwrite perror
#endif

#endif
