/* Batching: what a block computes from one example, recorded for all examples at once (xt_vmap).
 *
 * A body is recorded for one example, in a block of its own. Then its ops are recorded again around it, each with the
 * examples as a new first dim of those operands that differ from example to example; what is the same for all is
 * recorded as it was. Most ops have a rule (batch_rules.c, batch_index.c); one that has none, or none for these
 * operands, runs in a loop over the examples, which is slower and means the same. */
#ifndef XT_SRC_OPS_BATCH_H
#define XT_SRC_OPS_BATCH_H

#include "ops/ops.h"

/* A value of the body as it stands around it: batched has a first dim more, of the examples. v NULL: a failure that the
 * builder knows. */
typedef struct batch_value {
    ir_value *v;
    bool batched;
} batch_value;

typedef struct batch {
    const char *what; /* the function for messages */
    const xt_src *src;
    ir_builder *b;
    int64_t n; /* examples */
    lazy_loop loop;
    /* from values of the body to those around it: open addressing, by the value's address */
    const ir_value **keys;
    batch_value *at;
    size_t n_at, cap_at;
} batch;

/* Opens the body, for n examples. n 0: t->n is set before the first example, and random draws are the same for all
 * examples, not others for each. */
xt_status batch_begin(batch *t, const char *what, const xt_src *src, int64_t n);
/* One example of x, [n, ...]: an argument of the body. NULL without memory. */
ir_value *batch_example(batch *t, ir_value *x);
/* Closes the body, whose builder recorded `results`, and records it for all; out[i]: [n, ...] with the examples in
 * front, also where a result is the same for all. False with an error pending, or the builder's status. */
bool batch_end(batch *t, size_t n, ir_value *const *results, ir_value **out);
/* Closes it and drops what was recorded, after a failure. */
void batch_drop(batch *t);

/* --- for the rules --- */
bool batch_set(batch *t, const ir_value *of, batch_value v);
batch_value batch_get(const batch *t, const ir_value *v); /* one from outside is itself, not batched */
const ir_type *batch_type(const batch *t, const ir_type *one); /* [n, ...]; NULL: too many dims */
ir_value *batch_all(batch *t, batch_value v); /* [n, ...] in any case */
/* What the rule of an op is given: its operands as they stand around the body, of which one is batched. It fills
 * op->n_out results, all batched; false: it has none for these operands. */
typedef struct batch_call {
    batch *t;
    const ir_op *op;
    const batch_value *in;
    ir_value **out;
} batch_call;
bool batch_rule(batch_call *c); /* batch_rules.c */
bool batch_gather(batch_call *c); /* batch_index.c */
bool batch_scatter(batch_call *c);
/* The op's attributes but for `n` that are given anew; a copy of region r, NULL where there is none or it reads values
 * that are batched. */
bool batch_build(batch_call *c, size_t n_in, ir_value *const *in, size_t n, const ir_attr *anew);
ir_attr batch_ints(batch_call *c, ir_attr_key key, int64_t front, int64_t plus); /* {front, old + plus ...} */

#endif
