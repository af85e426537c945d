/* xtrain launch: starts the ranks of a program. xtrain __rank: the process of one rank that runs a function of a shared
 * library; the library itself starts it (xt_launch's .module and .symbol), so it is not listed in the help. */
#include "cli/cli.h"
#include "cli/nodes/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: xtrain launch [-n N] [--host LIST | --hostfile F] [--hosts MIN:MAX] [--max-restarts K] [--log-dir DIR]\n"
    "                     -- PROGRAM ARGS\n"
    "       xtrain launch --nnodes N --node-rank K --rendezvous HOST:PORT --secret-file F [options] -- PROGRAM ARGS\n\n"
    "Starts N ranks of PROGRAM on this host, each with one device and its share of the cores, "
    "and shows their output behind\n"
    "\"[rank 3] \". When one fails, the others are ended and its exit code is returned. "
    "Inside, xt_launch calls its function once.\n"
    "On several hosts (--host, --hostfile) Open MPI starts the ranks; with --hosts 2:4 on the first two to four hosts "
    "of\n"
    "the list that answer, again after a failure (--max-restarts), when others may answer.\n"
    "Without ssh: the same command with --nnodes on each host, where only --node-rank differs. Node 0 listens at "
    "HOST:PORT,\n"
    "an address of its own; the hosts know each other by the secret.\n";

enum { NOT_GIVEN = INT32_MIN };

/* "2:4", or "3" for 3:3. */
static bool parse_range(const char *text, xt_launch_on_hosts_opts *out) {
    int least = 0, most = 0, end = 0;
    bool one = sscanf(text, "%4d%n", &least, &end) == 1 && !text[end];
    bool two = !one && sscanf(text, "%4d:%4d%n", &least, &most, &end) == 2 && !text[end];
    if (one) most = least;
    out->min_hosts = least;
    out->max_hosts = most;
    if ((one || two) && least >= 1 && most >= least) return true;
    cli_fprintf(
        stderr,
        "xtrain launch: --hosts %s: MIN:MAX is expected, 2:4 for two to four hosts, or one number; names of hosts "
        "go with --host\n",
        text);
    return false;
}

static int run(int argc, char **argv) {
    int64_t n = NOT_GIVEN, restarts = 0;
    xt_launch_on_hosts_opts far = XT_OPTS(xt_launch_on_hosts_opts, );
    const char *range = NULL, *log_dir = NULL;
    nodes_opts near = {0};
    cli_diag diag = {0};
    int rest = argc;
    const cli_option options[] = {
        {"-n", CLI_INT, &n, "N", "ranks (default: one per device found; on hosts, what they have slots for)"},
        {"--host", CLI_STRING, &far.hosts, "LIST", "hosts by Open MPI's mpirun: \"a,b\" (needs -n) or \"a:4,b:4\""},
        {"--hostfile", CLI_STRING, &far.hostfile, "F",
         "the same from a file, a host a line: \"a slots=4\" (Open MPI), \"a:4\", or \"a\" (needs -n)"},
        {"--hosts", CLI_STRING, &range, "MIN:MAX",
         "of the hosts of the list that answer take so many; others are spare"},
        {"--nnodes", CLI_STRING, &near.nnodes, "N", "hosts, each of which runs this command; MIN:MAX (NNODES)"},
        {"--node-rank", CLI_STRING, &near.node_rank, "K", "which of them this is, from 0 on (NODE_RANK, SLURM_NODEID)"},
        {"--rendezvous", CLI_STRING, &near.rendezvous, "HOST:PORT",
         "where node 0 listens and the others come (MASTER_ADDR, MASTER_PORT; 29500)"},
        {"--nproc-per-node", CLI_STRING, &near.per_node, "N", "ranks of this host (one per device found)"},
        {"--secret-file", CLI_STRING, &near.secret_file, "F",
         "a file of 16 random letters or more, the same on all hosts; or XT_SECRET has them"},
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
    if (range && !parse_range(range, &far)) return 2;
    if (log_dir) setenv("XT_LOG_DIR", log_dir, 1);
    far.n = n == NOT_GIVEN ? 0 : (int)n;
    far.max_restarts = (int)restarts;
    bool here = near.nnodes || near.node_rank || near.rendezvous, list = far.hosts || far.hostfile || range;
    if (here && list) {
        cli_fprintf(stderr,
                    "xtrain launch: --nnodes, --node-rank and --rendezvous say who comes; no list of hosts goes "
                    "with them\n");
        return 2;
    }
    if (!here && (near.per_node || near.secret_file)) {
        cli_fprintf(stderr, "xtrain launch: %s goes with --nnodes, where each host runs this command\n",
                    near.per_node ? "--nproc-per-node" : "--secret-file");
        return 2;
    }
    near.n = far.n;
    near.max_restarts = far.max_restarts;
    if (here) return nodes_launch(&near, argv + rest);
    if (list) return xt_launch_on_hosts_opt(argv + rest, far);
    return xt_launch_program(far.n, argv + rest, NULL, far.max_restarts);
}

const cli_command cli_launch = {"launch", "start the ranks of a program", run};

static int run_rank(int argc, char **argv) {
    if (argc == 2 || argc == 3) return xt_run_symbol(argv[1], argc == 3 ? argv[2] : NULL);
    cli_fprintf(stderr, "usage: xtrain __rank MODULE:SYMBOL [TEXT]\n");
    return 2;
}

const cli_command cli_rank = {"__rank", NULL, run_rank};
