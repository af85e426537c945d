/* Inside src/dist: how many ranks (plan.c), with what environment (rank_env.c, tpu_env.c), whether a fork is
 * possible (guard.c), whether a symbol can be reached (symbol.c), and starting, watching and ending them (spawn.c,
 * output.c, killed.c). Several hosts: supervise.h, hosts.h. */
#ifndef XT_SRC_DIST_INT_H
#define XT_SRC_DIST_INT_H

#include <sys/types.h>

#include <xtrain/dist.h>

#include "base/base.h"

/* --- plan.c --- */
typedef enum device_kind { KIND_CPU, KIND_TPU, KIND_CUDA, KIND_OTHER } device_kind;
typedef struct launch_plan {
    int n;
    device_kind kind;
    int found; /* devices of this host */
    const char *source; /* where `found` came from */
    const char *device; /* the caller's own spec; NULL = from the environment */
} launch_plan;
device_kind plan_kind(const char *spec); /* of XT_DEVICE's form; NULL = the environment's */
/* The table of ranks: 0 = all devices, 1 = one, the count itself = a notice, other = an error. */
xt_status plan_ranks(const xt_src *src, int nprocs, const char *device, launch_plan *out);
/* For `xtrain launch -n`: any number of CPU ranks, at most the devices of other kinds; 0 = all devices. */
xt_status plan_program(int n, launch_plan *out);

/* --- rank_env.c, tpu_env.c --- */
typedef struct env_list { /* "NAME=value" strings; a failed allocation sets `failed` */
    char **items;
    size_t n, cap;
    bool failed;
} env_list;
void env_add(env_list *e, const char *name, const char *fmt, ...) BASE_PRINTF(3, 4);
/* only if unset in this process */
void env_add_default(env_list *e, const char *name, const char *fmt, ...) BASE_PRINTF(3, 4);
void env_free(env_list *e);
xt_status rank_env(const launch_plan *p, const char *rendezvous, double timeout, int rank, env_list *out);
xt_status tpu_env(int rank, int n, env_list *out);
/* In a rank that another launcher started (mpirun, srun), before it opens its device: on one host each takes the
 * accelerator of its local rank, as ranks of our launcher do. What the user or a pod has set already stays. */
xt_status rank_env_adopt(void);
/* environ with the list's entries in place of its own; a NULL-terminated array of borrowed strings, base_free it. */
char **env_merge(const env_list *e);

/* --- guard.c, symbol.c --- */
xt_status guard_fork(const xt_src *src, int n, xt_rank_fn fn);
/* OK when `symbol` is an exported function of the shared library `module`; else says how to make it reachable. */
xt_status symbol_check(const char *module, const char *symbol);
/* Where the module lies: a path as given, a bare name in this folder or on the dynamic linker's search path. */
xt_status symbol_module_path(const char *module, str *out);
/* What tells two builds of a module apart: the linker's build id in hex, or a hash of the file. */
xt_status symbol_build(const char *module, str *out);
/* How the function at this address may be named for fresh processes; base_free. */
char *symbol_advice(xt_rank_fn fn);

/* --- launch.c --- */
/* execvp's search, done before the fork so that a misspelt name is one error and not one per rank. base_free *out. */
xt_status launch_find_program(const char *name, char **out);

/* --- spawn.c --- */
typedef struct spawn_job {
    const launch_plan *plan;
    const char *who; /* "xt_launch", "xtrain launch": in messages */
    double timeout;
    xt_rank_fn fn; /* forked ranks call it, or */
    void *arg;
    char *const *argv; /* fresh processes run this */
    int max_restarts; /* so often the group is started again after a rank failed */
} spawn_job;
/* Starts the ranks, passes their output on, and waits. *out_code: the exit code of the first that failed, 0 if none. */
xt_status spawn_ranks(const spawn_job *job, int *out_code);
/* Calls fn as this process's rank; a pending error turns 0 into 1. */
int run_here(xt_rank_fn fn, void *arg);

/* --- output.c --- */
/* One stream of one rank on its way to the launcher's own: whole lines, each behind the prefix. */
typedef struct output_stream {
    int from, to; /* from < 0 = at its end */
    int log; /* where its lines go besides, without prefix; -1: nowhere. Borrowed */
    int rank;
    int64_t report; /* number of the report whose second line comes next; 0 = none */
    int failures; /* of reads, one after the other */
    char prefix[24];
    str line; /* what is not a whole line yet */
} output_stream;
void output_open(output_stream *o, int from, int to, int rank, bool named, int log); /* named: with the prefix */
/* False: it did not go all out. That nobody reads any more is no failure, another reason is told, once, and is one of
 * the run. */
bool output_write(int fd, const char *p, size_t n);
bool output_lost(void); /* something was, for such a reason */
/* The rank's file in the folder XT_LOG_DIR, which is made; *out is -1 where none is asked for. What an earlier run left
 * stays above what is added. */
xt_status output_log_open(int rank, int *out);
bool output_pump(output_stream *o); /* takes what is there, without waiting; false when there was nothing */
/* What read() gave is the end of a stream; so are many failures in a row, which are told. One alone is not: the writer
 * would die of SIGPIPE when the pipe is closed for it. rank < 0: mpirun's. */
bool output_ended(ssize_t got, int *failures, int rank);
void output_finish(output_stream *o); /* the rest, with a newline if it lacks one; closes */

/* --- fold.c: what ranks say alike is shown once, as "[ranks 0-3] ...". --- */
void output_fold_ranks(int n); /* how many ranks the run has; 0: none, nothing is folded */
/* True when the line (without its prefix) was taken: it is part of a report, or the library's (ours). What must come
 * out before it is appended to `out`. */
bool output_fold(output_stream *o, const char *p, size_t n, bool ours, str *out);
bool output_fold_waits(void); /* there are lines that wait for other ranks */
void output_fold_flush(int fd, int64_t older_than_ms); /* writes those that have waited so long */
/* At the end of a run: all that wait, and which ranks said later what had been shown. */
void output_fold_end(int fd);

/* --- killed.c --- */
/* The black box a rank left behind when it was killed: moved to its crash folder, whose name is given, or (keep =
 * false) removed. */
bool salvage_rank(pid_t pid, bool keep, char *out, size_t n);
/* " was killed by ..." or " ended with exit code ...", with what is known and what to read. */
void describe_end(int status, int64_t oom_before, str *out);

#endif
