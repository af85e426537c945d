/* A loop being turned around: what rules_loop.c (the two loops) and loop_terms.c (gradients of what the body reads from
 * outside) share.
 *
 * A gradient of a captured value is a sum over the iterations, and an iteration's part is a sum of terms. Three kinds:
 *  - a row: the part is zero but for one row, of a slice that the iteration read. Only the row is touched; where each
 *    iteration has a row of its own, it is written;
 *  - a product (dot_general) smaller in its operands than in its result, as a weight's is: the operands are stacked,
 *    and one product behind the loop contracts over the iterations too. What is stacked already (states, products,
 *    inputs, rows) is not stacked again;
 *  - anything else is added up. */
#ifndef XT_SRC_GRAD_LOOP_H
#define XT_SRC_GRAD_LOOP_H

#include "grad/grad_int.h"

typedef struct loop_kept { /* a value of the body that the forward loop stacks: row j is that of iteration j */
    const ir_value *value;
    ir_value *stack;
    ir_value *again, *row; /* not an argument: in `back`, as it is computed again, and the argument that replaces it */
} loop_kept;

/* Whether each iteration has a row of its own in a stack, and where: the first iteration's first, or last. */
typedef enum loop_order { LOOP_NO_ROW, LOOP_ROW_UP, LOOP_ROW_DOWN } loop_order;

typedef enum loop_term_kind { LOOP_SUM, LOOP_ROW, LOOP_PRODUCT } loop_term_kind;
typedef struct loop_side { /* an operand of a product */
    ir_value *v; /* in `back` */
    ir_value *stack; /* [trips, ...], when it is there already; NULL */
    size_t row_term; /* it is the row of this term; SIZE_MAX */
    loop_order order; /* of the rows of those two; LOOP_NO_ROW: it is in neither */
    size_t state; /* it is stacked by this state, up; SIZE_MAX */
} loop_side;
typedef struct loop_term {
    loop_term_kind kind;
    size_t captured;
    ir_value *g; /* in `back` */
    const ir_op *op; /* the update of a row, the product */
    loop_order order; /* a row: LOOP_NO_ROW: iterations may meet in one */
    loop_side side[2];
    size_t result, state; /* the first of its results of `back`, of its states */
} loop_term;

typedef struct loop {
    grad_call *c;
    const ir_block *cond, *body;
    size_t n, n_active, n_captured; /* states; those that gradients flow through; captured values */
    size_t *active;
    ir_value **captured;
    int64_t trips; /* -1: not known */
    size_t counter; /* the state that is the number of the iteration; n: none */
    /* per state: the op that writes its row, where it is nothing but a stack whose first value wants no
     * gradient; NULL */
    ir_op **rows;
    loop_kept *kept;
    size_t n_kept;
    /* One iteration backwards: from the states before it and the cotangents of the active states after it to those
     * before it, and to the terms of the captured values. A block of its own that is copied where it is needed. */
    ir_block *back;
    loop_term *terms;
    size_t n_terms, n_results, n_states; /* of `back` and of the loop backwards, for terms */
    ir_value **stored; /* per state: [trips, ...], or NULL when `back` does not read it */
    ir_value *count; /* i64; when trips is not known */
} loop;

/* x as the box [1, ...] of a store [trips, ...] that begins at `at`. */
xt_status loop_box(loop *l, const ir_type *x, ir_builder *b, ir_value *at, int64_t **dims, ir_value ***start);
/* The box at `start`, in a block whose arguments begin with the states, as a row of `whole`. */
loop_order loop_row(const loop *l, const ir_type *whole, const ir_type *row, ir_value *const *start,
                    const ir_block *block);

/* [1, x's dims...]: what a reshape between the two makes of x is its row, not another arrangement of it. */
bool loop_is_row_type(const ir_type *row, const ir_type *x);

/* grads[i], in l->back: one iteration's part of the gradient of captured value i, or NULL. Fills l->terms. */
xt_status loop_terms_find(loop *l, ir_value *const *grads);
void loop_terms_results(const loop *l, ir_value **out); /* what `back` returns for them */
xt_status loop_terms_begin(loop *l, ir_value **init); /* their states before the loop */
xt_status loop_terms_step(loop *l, ir_builder *b, ir_value *j, ir_value *const *results, ir_value *const *states,
                          ir_value **next);
/* The gradients of the captured values from the states behind the loop; NULL where there is none. */
xt_status loop_terms_end(loop *l, ir_value *states, ir_value **out);

#endif
