/* The hosts of a run: which there are (hosts.c), which of them answer (hosts_ask.c), which are taken (hosts_choose.c).
 */
#ifndef XT_SRC_DIST_HOSTS_H
#define XT_SRC_DIST_HOSTS_H

#include "base/base.h"

typedef struct host {
    char *name;
    int slots; /* ranks it has room for; 0: nobody has said */
    int lines; /* how often the list names it */
    bool taken; /* by the run */
    bool answers;
    char *why; /* it does not; NULL: nothing is known */
} host;
typedef struct host_list {
    host *all;
    size_t n, cap;
} host_list;

/* "a,b" or "a:4,b:4", appended. */
xt_status hosts_parse(const char *text, host_list *out);
/* A file with a host a line: "a", "a:4" (MPICH), "a slots=4 max_slots=8" (Open MPI); '#' begins a comment. A host that
 * is named on several lines has a slot for each (PBS, LSF), or their sum. */
xt_status hosts_read(const char *path, host_list *out);
void hosts_free(host_list *l);

/* This machine goes by that name or address. */
bool host_is_here(const char *name);
/* Runs a shell command on all hosts of the list at once, or on those that are taken, and says in `answers` and `why`
 * how it went: here by sh, elsewhere by the agent that mpirun takes too (OMPI_MCA_plm_rsh_agent, else ssh). A host that
 * has not answered after limit_ms does not answer. */
xt_status hosts_ask(host_list *l, bool taken_only, const char *command, int limit_ms);

typedef struct host_choice {
    int n; /* ranks at most; 0: as many as there are slots */
    int least, most; /* hosts; 0: all */
} host_choice;
/* Takes the first hosts that answer, in the list's order. *out_enough: at least choice->least did. out_text gets
 * "a:4,b:4", *out_ranks how many ranks they take. An error where the list says too little. */
xt_status hosts_choose(host_list *l, const host_choice *choice, bool *out_enough, str *out_text, int *out_ranks);
/* "2 hosts, 8 ranks: a:4, b:4; spare: c; no answer: d (...)" */
void hosts_tell(const host_list *l, int ranks, str *out);
void hosts_tell_silent(const host_list *l, str *out); /* "d (...), e (...)"; nothing where all answer */

#endif
