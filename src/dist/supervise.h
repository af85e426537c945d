/* Ranks on several hosts by Open MPI's mpirun: one run of it (mpirun.c), and the group's life above it, on the hosts
 * that answer, from the first start to the last restart (supervise.c). */
#ifndef XT_SRC_DIST_SUPERVISE_H
#define XT_SRC_DIST_SUPERVISE_H

#include "dist/hosts.h"

/* --- mpirun.c --- */
typedef struct mpirun_group {
    int n; /* ranks */
    char *const *argv;
    const char *hosts; /* "a:4,b:4" */
    const char *const (*env)[2]; /* variables of mpirun, and so of its ranks, besides the launcher's */
    size_t n_env;
} mpirun_group;
/* Until it has ended. *out_told: the signal from outside that ended it, 0 = none. */
xt_status mpirun_run(const mpirun_group *group, int *out_code, int *out_told);
xt_status mpirun_find(char **out); /* base_free */
void mpirun_signals_take(void); /* from here on signals are noted, for mpirun_run to pass on */
void mpirun_signals_give_back(void);
int mpirun_signal_seen(void); /* one that ends the run and that nobody has passed on yet; 0 = none */

/* --- supervise.c --- */
typedef struct supervise_job {
    char *const *argv;
    host_list *hosts;
    host_choice choice;
    bool elastic; /* goes on with fewer hosts than the list has, and tells which it takes */
    int max_restarts;
} supervise_job;
xt_status supervise(const supervise_job *job, int *out_code);

#endif
