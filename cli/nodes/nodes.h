/* Several hosts without ssh: one `xtrain launch --nnodes N --node-rank K --rendezvous HOST:PORT` on each, as torchrun.
 * Node 0 listens, the others come and show that they know the secret. Node 0 then starts the ranks as `xtrain launch
 * --host` does, by mpirun, with this command as its remote agent (`xtrain __agent`): what mpirun wants to run on a
 * node, its daemon orted, goes to node 0's launcher, over the node's connection, and is checked and run there. So
 * restarts, spare nodes, logs, signals and endings are those of --host.
 *
 *   mpirun -> xtrain __agent -> launcher of node 0 -> launcher of node K -> orted -> ranks of node K */
#ifndef XTRAIN_CLI_NODES_H
#define XTRAIN_CLI_NODES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct nodes_opts {
    const char *nnodes; /* "4", "2:4" */
    const char *node_rank, *rendezvous, *per_node; /* NULL: what the scheduler's variables say (surroundings.c) */
    const char *secret_file;
    int n, max_restarts; /* as xt_launch_on_hosts */
} nodes_opts;
/* The exit code of the run; argv is the program, NULL-terminated. */
int nodes_launch(const nodes_opts *o, char **argv);

#endif
