/* Rows that are gathered, multiplied and summed in one, so that what is gathered is never in memory. Of n edges, each
 * from a row of a matrix to another row, with a weight for each of the row's groups of `width` numbers:
 *
 *     sums:  out[to[e], g, :] += weight[e, g] * x[from[e], g, :]      (sparse x dense, messages of a graph),
 *            out being zeros, or an array, before
 *     dots:  out[e, g] = the sum over j of a[from[e], g, j] * b[to[e], g, j]    (their derivative by the weights)
 *
 * Rows that are read at places outside the matrix are the nearest ones, as stablehlo.gather says; sums to such places
 * are left out, as stablehlo.scatter says. An edge whose mask is false reads zeros.
 *
 * A row's edges are summed one after the other, in the order they come in, by one thread, in f32 (of f64 in f64): the
 * results are the same for any number of threads. Where edges come in the order of the rows they go to, threads divide
 * the edges and a row is written once; else they divide the rows.
 *
 * The loops are compiled once per instruction set (sparse_*.c include sparse.inc), picked with the vector loops. */
#ifndef XT_SRC_CPU_VECTOR_SPARSE_H
#define XT_SRC_CPU_VECTOR_SPARSE_H

#include "cpu/thread/team.h"

typedef enum sparse_kind { SPARSE_F32, SPARSE_F64, SPARSE_BF16, SPARSE_KINDS } sparse_kind;

enum { SPARSE_AHEAD = 16 }; /* edges whose rows are asked for before they are read */
/* Edges that go to one row, a group of it: row[i] + at for i < n + SPARSE_AHEAD may be asked for. */
typedef struct sparse_run {
    const char *const *row;
    size_t at; /* bytes */
    const int32_t *edge; /* [n]: which of the weights; steps of `groups` */
    const void *weight; /* of the group; NULL: 1 */
    int64_t groups, n, width;
} sparse_run;
typedef struct sparse_set {
    /* sum[0, width) of f32 or f64: set to the run's sum where it is the first, else it grows by it. */
    void (*sum[SPARSE_KINDS])(const sparse_run *r, void *sum, bool first);
    /* out[i * groups] = the product of row[i] and other[i], i < n. */
    void (*dot[SPARSE_KINDS])(const sparse_run *r, const char *const *other, void *out);
} sparse_set;
extern const sparse_set sparse_base;
#if defined(__x86_64__)
extern const sparse_set sparse_avx2, sparse_avx512;
#endif

typedef struct sparse_rows { /* which row of a matrix each edge means */
    bool wide; /* i64, else i32 */
    int64_t rows;
} sparse_rows;
typedef struct sparse_plan {
    /* Set by the caller: */
    sparse_kind kind;
    int64_t edges, groups, width; /* edges < 2^31 */
    sparse_rows from, to;
    /* Set by sparse_begin: */
    const sparse_set *set;
    int threads;
    size_t scratch_bytes; /* of sums, of dots */
} sparse_plan;
typedef struct sparse_arrays {
    const void *x, *other; /* [from.rows, groups, width]; of dots: [to.rows, groups, width] */
    const void *from, *to; /* [edges] */
    const void *weight; /* [edges, groups]; NULL: 1. Of sums */
    const bool *mask; /* [edges]; NULL: all true */
    const void *begin; /* what sums are added to: as out, which it may be; NULL: zeros. Of sums */
    void *out, *scratch;
} sparse_arrays;
void sparse_begin(sparse_plan *p, const sparse_set *set, int threads); /* set NULL: the machine's */
void sparse_sums(const sparse_plan *p, const cpu_team *team, const sparse_arrays *a);
void sparse_dots(const sparse_plan *p, const cpu_team *team, const sparse_arrays *a);

#endif
