/* Between group*.c: a vector program under construction, and what it reads. */
#ifndef XT_SRC_CPU_PLAN_GROUP_INT_H
#define XT_SRC_CPU_PLAN_GROUP_INT_H

#include "cpu/plan/layout.h"

typedef struct emission {
    cpu_builder *b;
    vprog_builder *vprog;
    int64_t count;
    const ir_value *blocked; /* a member of a blocked group; NULL: the loop goes over dense arrays */
    const ir_value **in; /* thunk inputs: values whose dense form (or base) is read */
    cpu_ref *refs;
    size_t n_in, cap_in, cap_refs;
    struct loaded { /* what is in the vector program already */
        const ir_value *value;
        int number;
    } * loaded;
    size_t n_loaded, cap_loaded;
    xt_status status;
} emission;

void emission_free(emission *e);
uint32_t emission_add_input(emission *e, const ir_value *v, cpu_ref ref); /* its number; e->status without memory */
int emission_load(emission *e,
                  /* puts v, which comes from outside, in the vector program as memory of its own type; -1: it cannot,
                   * or e->status */
                  const ir_value *v);
int emission_op(emission *e, const ir_op *op, uint32_t g); /* an op of group g in the vector program */
/* The thunk of the finished vector program t, which is taken over, and of the inputs. */
xt_status emission_add_thunk(emission *e, const cpu_kernel *k, vprog *t, const ir_op *named, size_t n_ops,
                             const ir_op *const *ops, size_t n_out, const ir_value *const *outs,
                             const uint64_t *in_place);
const ir_value *emission_strip_aliases(const ir_value *v); /* follows names of the same elements in the same order */
extern const cpu_kernel emission_copy;

uint32_t group_find(const cpu_builder *b, uint32_t g); /* what it was merged into */

#endif
