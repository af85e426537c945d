/* One element a row of an elementwise expression over large arrays, computed as an expression over small ones: of x -
 * broadcast(m) at a row's index that is x[index] - m. So an expression of which somebody wants a few elements need not
 * be in memory whole. Used by the passes opt_onehot and opt_gather.
 *
 *     pick p = {.b = &b, .rows = type, .to = to, .leaf = gather_it, .user = me};
 *     ir_value *v = pick_value(&p, whole);
 *
 * NULL: it cannot be, and nothing is left in the module; or there is no memory (b.status).
 */
#ifndef XT_SRC_PASS_PICK_H
#define XT_SRC_PASS_PICK_H

#include "pass/pass.h"

enum { PICK_MOST_OPS = 64 };

typedef struct pick {
    ir_builder *b;
    const ir_type *rows; /* the shape of what is picked; each value has its own element type */
    const int64_t *to; /* for each dim of the whole: which dim of `rows` it is, or -1 */
    /* The elements of an array that is no expression, or has to be in memory anyway; NULL where that is not wanted. */
    ir_value *(*leaf)(struct pick *p, ir_value *x);
    void *user;
    const ir_value *mask; /* a comparison that is known at the elements picked, or NULL */
    bool mask_is;
    size_t n_made;
    ir_op *made[PICK_MOST_OPS];
} pick;

ir_value *pick_value(pick *p, ir_value *whole);
void pick_undo(pick *p, size_t n_made); /* erases what was made since */

/* The constant that all elements of v are, seen through broadcasts and reshapes; NULL when they differ or
 * are not known. */
const ir_literal *pick_splat(const ir_value *v);

#endif
