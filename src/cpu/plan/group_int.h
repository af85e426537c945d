/* Between group*.c: what a loop reads and gives, and its vector program under construction. */
#ifndef XT_SRC_CPU_PLAN_GROUP_INT_H
#define XT_SRC_CPU_PLAN_GROUP_INT_H

#include "cpu/plan/layout.h"

typedef struct loop_read { /* a value from outside, as the loop reads it */
    const ir_value *value;
    vprog_source source;
    int number; /* in the vector program under construction; -1: not loaded yet */
} loop_read;
typedef struct loop_reads {
    int64_t count; /* elements of the loop */
    const ir_value *blocked; /* a member of a blocked group; NULL: the loop goes over dense arrays */
    const ir_value **in; /* thunk inputs: values whose dense form (or base) is read */
    cpu_ref *refs;
    size_t n_in, cap_in, cap_refs;
    loop_read *reads;
    size_t n, cap;
} loop_reads;
typedef struct group_loop { /* of a closed group */
    uint32_t thunk;
    loop_reads from;
    const ir_value **results; /* outputs of the thunk: members in their order */
    size_t n_results;
} group_loop;

static inline void loop_reads_free(loop_reads *r) {
    base_free(r->in);
    base_free(r->refs);
    base_free(r->reads);
}
xt_status loop_add_input(loop_reads *r, const ir_value *v, cpu_ref ref, uint32_t *out);
/* Settles where a loop reads v, which comes from outside; false: it cannot. */
xt_status loop_read_value(cpu_builder *b, loop_reads *r, const ir_value *v, vprog_source *out, bool *out_can);
/* The same for the operands of an op of group g that are no members of it, each value once. */
xt_status loop_read_operands(cpu_builder *b, loop_reads *r, const ir_op *op, uint32_t g, bool *out_can);

/* v as a value of the program, read as settled; -1 without memory or such an instruction */
int loop_load(vprog_builder *p, const ir_value *v, const vprog_source *s);
/* An op of group g, whose operands were settled, as a value of the program. */
int loop_op(cpu_builder *b, vprog_builder *p, loop_reads *r, const ir_op *op, uint32_t g);
/* Concatenations of as many elements from each operand end a loop: it writes their operands in turns. */
bool group_is_turns(const ir_op *op);
/* The thunk of ops whose loop is t, which is taken over, or is emitted later where t is NULL. */
xt_status loop_add_thunk(cpu_builder *b, const cpu_kernel *k, const loop_reads *r, vprog *t, const ir_op *named,
                         size_t n_ops, const ir_op *const *ops, size_t n_out, const ir_value *const *outs);
const ir_value *loop_strip_aliases(const ir_value *v); /* follows names of the same elements in the same order */
extern const cpu_kernel loop_copy, loop_fused;

uint32_t group_find(const cpu_builder *b, uint32_t g); /* what it was merged into */
bool group_has(const cpu_builder *b, uint32_t g, const ir_value *v); /* v is a member's result */
bool group_needed_outside(const cpu_builder *b, const ir_value *v); /* who reads it is not only in its own group */

#endif
