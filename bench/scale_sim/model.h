/* The times of collectives and training steps on many hosts, by the alpha-beta model (Hockney 1994; Thakur,
 * Rabenseifner and Gropp 2005): a message of n bytes between two hosts takes alpha + n beta, and hosts send and receive
 * at once. Inside a host, k ranks meet in log2(k) steps of shared memory and add up S bytes each at the measured pace.
 */
#ifndef XT_BENCH_SCALE_MODEL_H
#define XT_BENCH_SCALE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct scale_costs { /* seconds */
    double latency, per_byte; /* alpha, beta */
    double local_step; /* a step of two ranks of a host */
    double reduced_byte; /* all-reduce of two ranks of a host, of each byte */
} scale_costs;

typedef struct scale_case {
    int hosts, local_ranks;
} scale_case;

void scale_print(const scale_costs *c, const scale_case *at);
/* A line of what the model says of an all_reduce on this machine, where all ranks share `cores`, beside what was
 * measured; `first`: with the head of the table. */
void scale_compare(const scale_costs *c, const scale_case *at, int cores, double measured, size_t bytes, bool first);

#endif
