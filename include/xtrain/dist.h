/* Ranks and launching. `xt_launch(fn, arg)` runs fn once per device, each in a process of its own; in an already
 * started rank (xtrain launch, mpirun, Ray, SLURM, a TPU pod) it calls fn and never starts more.
 *
 *     static int train(int rank, void *arg) { ...; return xt_finish(); }
 *     int main(void) { return xt_launch(train, NULL); }
 *
 * Ranks are forked, so xt_launch belongs before the first tensor, loader or thread: later it refuses and names what is
 * in the way. Each rank's output appears line by line behind "[rank 3] ". When a rank fails, the others get SIGTERM and
 * one second later SIGKILL; the exit code is that of the first that failed (128 + signal for a killed one). Ctrl-C and
 * SIGTERM reach all ranks; when the launcher itself is killed, its ranks are killed too. Inside the run, stdin is empty
 * on a terminal, else rank 0 has it. Each rank opens one device and gets its share of the cores (XT_THREADS). */
#ifndef XTRAIN_DIST_H
#define XTRAIN_DIST_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif
/* xt_launch(fn, arg, .nprocs = 2) runs fn(rank, arg) once on each rank: here in a process that is a rank already
 * or when one is wanted, else in processes forked from this one, so it belongs at the top of main; it returns when
 * all have ended. */
typedef int (*xt_rank_fn)(int rank, void *arg);
#define XT_DEFAULTS_xt_launch_opts(is) is(timeout, -1)
XT_DEFAULTS_OF(xt_launch_opts)
typedef struct XT_OPTIONS_ xt_launch_opts {
    size_t struct_size XT_SIZE(xt_launch_opts);
    /* 0 = device count; 1 = this process, for debugging; the count itself = a notice; other = an error */
    int nprocs XT_ZERO;
    const char *device XT_ZERO; /* NULL = XT_DEVICE */
    /* run symbol of a shared library in fresh processes instead of fn (fn NULL): works in a process with
     * threads or an open device. symbol is an xt_rank_fn with external linkage; its arg is arg_text */
    const char *module XT_ZERO, *symbol XT_ZERO;
    /* for module and symbol: a string each rank gets as arg; NULL = NULL (memory cannot travel, so xt_launch's arg
     * must be NULL) */
    const char *arg_text XT_ZERO;
    /* after a rank has failed, the group is started again so often; xt_fit then goes on from the last checkpoint. Not
     * for one rank */
    int max_restarts XT_ZERO;
    /* seconds a rank may wait for the others to join; -1 = XT_TIMEOUT or 300 */
    double timeout XT_IS(xt_launch_opts, timeout);
} xt_launch_opts;
#define xt_launch(fn, ...) XT_LAUNCH_(fn, __VA_ARGS__, )
#define XT_LAUNCH_(fn, arg, ...) xt_launch_opt(XT_HERE, fn, arg, XT_OPTS(xt_launch_opts, __VA_ARGS__))
/* The exit code of the first rank that failed, 0 if none; 1 when the launch was refused (the message goes
 * to the sink). */
XT_API int xt_launch_opt(const xt_src *src, xt_rank_fn fn, void *arg, xt_launch_opts o);

/* What `xtrain launch -n N [--host LIST] -- PROGRAM ARGS` does: starts n ranks of a program (0 = device count), argv
 * NULL-terminated. hosts "a,b:4" starts them by mpirun on these hosts; NULL = here. In a started rank it runs the
 * program once, in its place. max_restarts as xt_launch's. The exit code as of xt_launch. */
XT_API int xt_launch_program(int n, char *const *argv, const char *hosts, int max_restarts);
/* Ranks on several hosts, supervised (doc/launch.md): xt_launch_on_hosts(argv, .hostfile = "f", .min_hosts = 2,
 * .max_hosts = 4, .max_restarts = 3) starts the program argv (NULL-terminated) by mpirun on the first hosts of the list
 * that answer. After a failure they are asked again, and the next ranks go on from the last checkpoint; hosts need not
 * share it. */
#define XT_DEFAULTS_xt_launch_on_hosts_opts(is)
typedef struct XT_OPTIONS_ xt_launch_on_hosts_opts {
    size_t struct_size XT_SIZE(xt_launch_on_hosts_opts);
    int n XT_ZERO; /* ranks at most; 0 = as many as the hosts have slots for */
    const char *hosts XT_ZERO; /* "a,b" or "a:4,b:4" */
    const char *hostfile XT_ZERO; /* instead: a host a line, "a slots=4" (Open MPI), "a:4" or "a" */
    int min_hosts XT_ZERO, max_hosts XT_ZERO; /* 0 = all of the list */
    int max_restarts XT_ZERO; /* as xt_launch's */
} xt_launch_on_hosts_opts;
#define xt_launch_on_hosts(...) XT_LAUNCH_ON_HOSTS_(__VA_ARGS__, )
#define XT_LAUNCH_ON_HOSTS_(argv, ...) xt_launch_on_hosts_opt(argv, XT_OPTS(xt_launch_on_hosts_opts, __VA_ARGS__))
/* The exit code as of xt_launch; in a started rank it runs the program once, in its place. */
XT_API int xt_launch_on_hosts_opt(char *const *argv, xt_launch_on_hosts_opts o);
/* What `xtrain __rank MODULE:SYMBOL [TEXT]` does, the process behind .module and .symbol: loads MODULE and calls
 * SYMBOL(rank, TEXT). */
XT_API int xt_run_symbol(const char *module_symbol, const char *arg_text);
/* Of this process, as its launcher's variables say; 0, 0 and 1 in a process that nobody launched. They open no device
 * and wait for nobody. */
XT_API int xt_rank(void);
XT_API int xt_local_rank(void);
XT_API int xt_world_size(void);
/* how often this group of ranks was started again (max_restarts); for programs without xt_fit */
XT_API int xt_restarts(void);
XT_API int xt_device_count(void); /* as xt_launch counts: opens no device */
/* Waits until every rank is here, at most `seconds` (<= 0: XT_TIMEOUT, else 300), also for ranks that have not joined
 * the run yet. The error names the rank that did not come and the line each rank is at; after one the ranks cannot
 * meet any more. */
#define xt_barrier(seconds) xt_barrier_at(XT_HERE, XT_NUMBER_(seconds))
XT_API XT_CHECK xt_status xt_barrier_at(const xt_src *src, double seconds);

#ifdef __cplusplus
}
#endif
#endif
