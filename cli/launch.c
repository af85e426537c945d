/* xtrain launch: starts the ranks of a program. xtrain __rank: the process of one rank that runs a function of a shared
 * library; the library itself starts it (xt_launch's .module and .symbol), so it is not listed in the help. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: xtrain launch [-n N] [--host LIST] [--max-restarts K] [--log-dir DIR] -- PROGRAM ARGS\n\n"
    "Starts N ranks of PROGRAM on this host, each with one device and its share of the cores, "
    "and shows their output behind\n"
    "\"[rank 3] \". When one fails, the others are ended and its exit code is returned. "
    "Inside, xt_launch calls its function once.\n";

enum { NOT_GIVEN = INT32_MIN };

static int run(int argc, char **argv) {
    int64_t n = NOT_GIVEN, restarts = 0;
    const char *hosts = NULL, *log_dir = NULL;
    cli_diag diag = {0};
    int rest = argc;
    const cli_option options[] = {
        {"-n", CLI_INT, &n, "N", "ranks (default: one per device found)"},
        {"--host", CLI_STRING, &hosts, "LIST", "hosts by Open MPI's mpirun: \"a,b\" or \"a:4,b:4\"; needs -n"},
        {"--max-restarts", CLI_INT, &restarts, "K",
         "after a rank has died, start all again from the last checkpoint, at most K times"},
        {"--log-dir", CLI_STRING, &log_dir, "DIR",
         "besides, a file of each rank's output: DIR/rank_3.log; with --host DIR/1/rank.3/stdout and stderr on its "
         "host"},
        CLI_DIAG_ROWS(diag),
    };
    int code = cli_parse(argc, argv, usage, options, (int)(sizeof options / sizeof options[0]), &rest);
    if (code) return code - 1;
    if ((code = cli_diag_apply("launch", &diag))) return code;
    if (rest >= argc) {
        cli_fprintf(stderr, "xtrain launch: no program; xtrain launch -n N -- PROGRAM ARGS\n");
        return 2;
    }
    if (n != NOT_GIVEN && (n < 1 || n > 4096)) {
        cli_fprintf(
            stderr,
            "xtrain launch: -n %lld: a number of ranks from 1 to 4096 is expected; leave -n out for one rank per "
            "device\n",
            (long long)n);
        return 2;
    }
    if (restarts < 0 || restarts > 100000) {
        cli_fprintf(stderr, "xtrain launch: --max-restarts %lld: a number from 0 on is expected\n",
                    (long long)restarts);
        return 2;
    }
    if (log_dir) setenv("XT_LOG_DIR", log_dir, 1);
    return xt_launch_program(n == NOT_GIVEN ? 0 : (int)n, argv + rest, hosts, (int)restarts);
}

const cli_command cli_launch = {"launch", "start the ranks of a program", run};

static int run_rank(int argc, char **argv) {
    if (argc == 2 || argc == 3) return xt_run_symbol(argv[1], argc == 3 ? argv[2] : NULL);
    cli_fprintf(stderr, "usage: xtrain __rank MODULE:SYMBOL [TEXT]\n");
    return 2;
}

const cli_command cli_rank = {"__rank", NULL, run_rank};
