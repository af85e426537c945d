/* Inside src/dist: who works together in a collective (collective_groups.c), for those on tensors (collective.c) and on
 * host memory (collective_host.c). */
#ifndef XT_SRC_DIST_COLLECTIVE_H
#define XT_SRC_DIST_COLLECTIVE_H

#include <xtrain/collective.h>

#include "base/base.h"

typedef struct rank_groups {
    size_t n, size;
    int64_t *ranks; /* [n, size]; every rank of the run once */
    int64_t *pairs; /* [n_pairs, 2]: sender, receiver; permutations only */
    size_t n_pairs;
} rank_groups;
/* Reads the options for a run of `ranks`; `permutes`: pairs too. Free it in any case. */
xt_status rank_groups_read(const xt_collective_opts *o, int ranks, bool permutes, rank_groups *out);
void rank_groups_free(rank_groups *g);
/* The row of `rank`, and its place there. */
const int64_t *rank_groups_row(const rank_groups *g, int64_t rank, size_t *out_place);
int64_t rank_groups_sender(const rank_groups *g, int64_t rank); /* who sends to rank; -1: nobody */
int64_t rank_groups_receiver(const rank_groups *g, int64_t rank); /* to whom rank sends; -1: nobody */
/* OK when `op` is defined for elements of t; the error says which are. */
xt_status rank_reduce_check(xt_reduce op, xt_dtype t);

#endif
