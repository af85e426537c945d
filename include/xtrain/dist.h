/* Ranks and launching. `xt_launch(fn, arg)` runs fn once per device, each in a process of its own; in an already started rank (xtrain
 * launch, mpirun, Ray, SLURM, a TPU pod) it calls fn and never starts more. */
#ifndef XTRAIN_DIST_H
#define XTRAIN_DIST_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int (*xt_rank_fn)(int rank, void *arg);
typedef struct xt_launch_opts {
    size_t struct_size;
    int nprocs;            /* 0 = device count; 1 = this process, for debugging; the count itself = a notice; other = an error */
    const char *device;    /* NULL = XT_DEVICE */
    const char *module, *symbol; /* run symbol of a shared library in fresh processes instead of fn (fn NULL) */
    double timeout;        /* seconds for the rendezvous; 0 = 300 */
} xt_launch_opts;
#define xt_launch(fn, ...) XT_LAUNCH_(fn, __VA_ARGS__, )
#define XT_LAUNCH_(fn, arg, ...) xt_launch_opt(XT_HERE, fn, arg, XT_OPTS(xt_launch_opts, __VA_ARGS__))
/* The exit code of the first rank that failed, 0 if none; 1 when the launch was refused (the message goes to the sink). */
XT_API int xt_launch_opt(const xt_src *src, xt_rank_fn fn, void *arg, xt_launch_opts o);

XT_API int xt_rank(void);
XT_API int xt_local_rank(void);
XT_API int xt_world_size(void);
XT_API int xt_device_count(void);                  /* as xt_launch counts: opens no device */
#define xt_barrier(seconds) xt_barrier_at(XT_HERE, seconds)
XT_API xt_status xt_barrier_at(const xt_src *src, double seconds); /* names the rank that did not come and the line each rank is at */

#ifdef __cplusplus
}
#endif
#endif
