/* Products of many f32 rows with a matrix of integers of 8 or 4 bits that have a factor for each group of a row (the
 * forms of narrow.h), in whole numbers: each group of a row of x becomes integers of 16 bits with a factor of its own,
 * pairs of 16 bits are multiplied and added as 32-bit integers, which is exact, and a group's sum meets both factors
 * in f32. That is twice as fast as to widen the matrix and multiply f32.
 *
 * What differs from f32 is the rounding of x: half a step of 1/32767 of its group's largest size (1.5e-5), where the
 * integers that llama.cpp makes of x have 8 bits (4e-3). A group of x with an infinity or NaN gives NaN.
 *
 * Every number of the result is one sum in an order that depth and group alone decide: a row of x gives the same bits
 * among any others, on any number of threads. Compiled once per instruction set (grouped_*.c include grouped.inc);
 * without AVX2 there is none, and such products are made in f32. */
#ifndef XT_SRC_CPU_VECTOR_GROUPED_H
#define XT_SRC_CPU_VECTOR_GROUPED_H

#include "cpu/vector/narrow.h"

/* Both sides lie in panels, `rows` rows of x and `columns` rows of the matrix: of each group the factors of the panel's
 * rows, and of each pair of numbers along the sum a word of 32 bits for each row. A pair of 8-bit integers are
 * neighbours, of 4-bit integers those that share a byte. */
typedef struct grouped_side {
    const void *from; /* the panel's first row; x: f32 */
    const float *factors; /* of the matrix, [have, groups] */
    int64_t have; /* rows; those that are missing become zeros */
    int64_t depth, group;
    bool nibbles;
    int16_t *to;
    float *to_factors;
} grouped_side;
typedef struct grouped_tile {
    const int16_t *x, *matrix;
    const float *x_factors, *factors;
    float *out;
    int64_t groups, pairs, rows, columns, stride;
} grouped_tile;
typedef struct grouped_set { /* of an instruction set */
    int rows, columns; /* of a panel */
    void (*pack_x)(const grouped_side *s);
    void (*pack_matrix)(const grouped_side *s);
    void (*multiply)(const grouped_tile *t); /* into rows x columns of out */
} grouped_set;
#if defined(__x86_64__)
extern const grouped_set grouped_avx2, grouped_avx512, grouped_vnni;
#endif

typedef struct grouped_product {
    narrow_kind kind; /* of integers; m, rows, depth and group as in narrow_product */
    int64_t m, rows, depth, group;
    /* Set by grouped_plan_for: */
    const grouped_set *set;
    size_t matrix_at, matrix_bytes, scratch_bytes; /* x in panels, then a panel of the matrix for each thread */
} grouped_product;
const grouped_set *grouped_set_here(void); /* NULL: this processor has none */
/* Whether sums of such groups fit their integers. */
bool grouped_fits(narrow_kind kind, int64_t group);
void grouped_plan_for(grouped_product *p, const grouped_set *set, int threads);
void grouped_run(const grouped_product *p, const cpu_team *team, const float *x, const void *matrix,
                 const float *factors, float *out, void *scratch);

#endif
