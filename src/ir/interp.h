/* The reference interpreter: the meaning of every op, and the oracle of every test. Plain loops over host arrays.
 * Also the fallback of the CPU device for ops that have no fast kernel. */
#ifndef XT_SRC_IR_INTERP_H
#define XT_SRC_IR_INTERP_H

#include "ir/ir.h"

/* A dense row-major host array. `data` has ir_type_bytes(type) bytes, 64-byte aligned when made by array_new. */
typedef struct array {
    const ir_type *type;
    void *data;
} array;
xt_status array_new(const ir_type *type, array *out); /* zeroed; array_free */
void array_free(array *a);
double array_get(const array *a, int64_t i); /* element as double (complex: real part); exact for ints up to 2^53 */
void array_set(array *a, int64_t i, double v);

typedef struct interp_loop { /* a while that is running, and the ones around it */
    const ir_op *op;
    int64_t iteration; /* from 0 */
    const struct interp_loop *up;
} interp_loop;

/* What crosses processes or prints: NULL members mean a single process, and nobody who looks on. */
typedef struct interp_hooks {
    void *user;
    xt_status (*collective)(void *user, const ir_op *op, const array *in, array *out); /* all_reduce, all_gather, ... */
    xt_status (*custom_call)(void *user, const ir_op *op, const array *in, array *out);
    /* After each op that computes something, in whatever function, branch or loop (innermost first); a status ends the
     * run with it. */
    xt_status (*computed)(void *user, const ir_op *op, const interp_loop *loops, const array *in, const array *out);
} interp_hooks;

/* Runs `entry` of a verified module. Fills out[0..n_out), yours to free. */
xt_status interp_run(const ir_module *m, const char *entry, const interp_hooks *hooks, size_t n_in, const array *in,
                     size_t n_out, array *out);
/* For tests: whether the interpreter gives an op a meaning (for some element type). */
bool interp_knows(ir_opcode code);
bool interp_knows_call(const ir_op *op); /* of custom calls, without a hook's help */
xt_status interp_unknown_call(const ir_op *op); /* the error for those */
/* Runs one op (regions included) on arrays; `out` arrays are allocated by the caller with the op's result types.
 * `outer` answers values captured from enclosing blocks (while bodies); NULL when there can be none. */
typedef const array *(*interp_lookup)(void *env, const ir_value *v);
xt_status interp_op(const ir_module *m, const ir_op *op, const interp_hooks *hooks, const array *in, array *out,
                    interp_lookup outer, void *env);

#endif
