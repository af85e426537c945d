/* The plan of a block: its values numbered, its ops as steps that know which values die with them. Made by
 * interp_plan.c, run by interp.c. */
#ifndef XT_SRC_IR_INTERP_PLAN_H
#define XT_SRC_IR_INTERP_PLAN_H

#include "ir/interp_int.h"

typedef struct step {
    const ir_op *op;
    uint32_t *in, *out;
    uint32_t *dead; /* slots that nobody reads after this step */
    uint32_t n_dead;
    block_plan **regions; /* of control flow; NULL otherwise */
    /* per operand of a loop: its regions read the value too, so the loop's state may not take it over */
    bool *captured;
} step;
typedef struct slot_entry {
    const ir_value *value;
    uint32_t slot;
} slot_entry;
typedef struct captured {
    const ir_value *value;
    uint32_t slot;
} captured;
/* The numbering, shared by a function's plan and the plans of its regions. */
typedef struct numbering {
    slot_entry *table; /* open addressing; value NULL = empty */
    size_t mask, used;
    captured *captured; /* values of blocks outside the root plan */
    size_t n_captured, cap_captured;
    uint32_t n_slots;
} numbering;
typedef struct slot {
    array a;
    bool owned;
    bool pinned; /* captured from outside the plan: stays for the whole run, whichever block asked for it first */
} slot;
struct block_plan {
    const ir_block *block;
    block_plan *root; /* holds the numbering and the frame */
    step *steps;
    size_t n_steps;
    uint32_t *args, *results;
    size_t n_args, n_results;
    uint32_t slot_lo, slot_hi; /* slots defined by this block and the ones inside it */
    arena *mem; /* of the root: everything above but itself */
    numbering num; /* of the root */
    slot *frame; /* of the root: kept between runs */
    bool busy; /* the root's frame is in use (recursion takes another) */
};

static inline bool is_control(ir_opcode code) {
    return code == OP_while || code == OP_if || code == OP_case;
}

/* False when the plan does not know the value. */
bool plan_slot_of(const numbering *n, const ir_value *v, uint32_t *out);
/* One op as a step of `root`, regions planned too: what interp_op needs for control flow alone. */
xt_status plan_step(block_plan *root, const ir_op *op, step *st);
xt_status plan_oom(void);

#endif
