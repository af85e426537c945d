/* Between iteration.c (when a loop without boundaries ends its steps) and iteration_start.c (where its iterations
 * begin). Both know a program by the places of its calls alone. */
#ifndef XT_SRC_LAZY_ITERATION_H
#define XT_SRC_LAZY_ITERATION_H

#include "lazy/step/step.h"

typedef struct iteration_place {
    src_id line;
    call_path path; /* 0: not known, which is like any */
} iteration_place;
typedef struct iteration_places { /* a set; a loop's body has some dozen at most */
    iteration_place *at;
    size_t n, cap;
} iteration_places;
bool iteration_places_have(const iteration_places *l, iteration_place p);
/* An iteration may begin with a call there; and does, behind the latest update. `within`: only one that goes on behind
 * an optimizer's first update to its next one. */
bool lazy_may_be_first(const lazy_iteration *it, iteration_place p);
bool lazy_is_first(const lazy_ctx *c, const lazy_iteration *it, iteration_place p, bool within);
bool iteration_is_behind(const lazy_iteration *it, iteration_place p); /* known to be, of the last update */
bool lazy_above_update(const lazy_iteration *it, iteration_place p); /* a call there is of the next iteration */

bool lazy_beside_update(const lazy_iteration *it, iteration_place p); /* in the function that has the update */
bool lazy_below_last_update(const lazy_iteration *it, iteration_place p);
bool lazy_above_last_update(const lazy_iteration *it, iteration_place p);

bool lazy_note_early(lazy_iteration *it, iteration_place p); /* false without memory */
bool lazy_note_first(lazy_iteration *it, iteration_place p); /* an iteration has begun there */
bool lazy_note_stepped(lazy_iteration *it, iteration_place p); /* an update of the loop's newest step */
bool lazy_has_stepped(const lazy_iteration *it, iteration_place p);
bool lazy_note_followed(lazy_iteration *it, iteration_place p); /* behind an update that ends other iterations */
bool lazy_has_followed(const lazy_iteration *it, iteration_place p);
bool lazy_stands_above(iteration_place p, iteration_place other); /* known to */
/* p stands in a block of the program with `a` that `b` is not in: of two loops one behind the other it is in the one's.
 */
bool lazy_is_nearer(iteration_place p, iteration_place a, iteration_place b);
/* Below the last update, in the body of the innermost loop that this one is in. */
bool lazy_in_last_loop(const lazy_iteration *it, iteration_place p);
/* `again` stands in no block with `second` that `first` is not in: no loop has come round there. */
bool lazy_in_one_body(iteration_place first, iteration_place second, iteration_place again);
bool lazy_is_same_call(iteration_place a, iteration_place b); /* or one that the compiler has copied it to */
bool lazy_has_ended_with(const lazy_iteration *it, iteration_place update);
bool lazy_has_ended(const lazy_iteration *it); /* the last update is known to be the last of iterations */
/* Noted calls up to the last one that is known to be behind it, and not in front of another loop's update at `next`. */
size_t lazy_calls_behind(const lazy_iteration *it, iteration_place next);
bool lazy_comes_round(const lazy_iteration *it); /* a loop is known to come back behind the last update */
/* Its last update was the last of an iteration, or, where it `goes_on`, the one in front of a second one of its
 * optimizer, which is taken for that. False without memory. */
bool lazy_note_ended(lazy_iteration *it, bool goes_on);

/* By the program itself, of a module, which made the step slots [begin, end), or of what makes none (logging): there
 * begin is end. */
typedef struct lazy_iteration_call {
    iteration_place at;
    size_t begin, end; /* end SIZE_MAX: under way, or left by longjmp */
    bool trains; /* of a module, with gradients and in training mode */
} lazy_iteration_call;

/* A call whose path was looked at: when there were so many step slots, and by which line. */
typedef struct lazy_looked {
    iteration_place at;
    size_t slots;
} lazy_looked;

/* A call, and how many step slots and updates there were in front of it. */
typedef struct lazy_met {
    iteration_place at;
    size_t slots;
    int64_t updates;
} lazy_met;

/* A tensor that an outer loop has made in front of this one. */
typedef struct lazy_in_front {
    xt_tensor t;
    iteration_place at; /* by this call */
} lazy_in_front;

/* An optimizer that was made at a place of the program, and what iterations are told by of it. */
typedef struct lazy_made {
    const char *file;
    int line;
    call_path path; /* 0: not known, which is like any */
    lazy_updater *updater; /* the optimizer's, or once that is freed, our own copy of it */
    int64_t nth; /* update of the thread's that came last when it was made */
    bool is_freed, comes_again; /* the program has made several there, one for the other */
} lazy_made;

struct lazy_iteration {
    /* of the trace */
    lazy_updater *by; /* the latest update; NULL: none */
    ir_op *op; /* the last one recorded then */
    size_t n_slots, calls_then; /* and how many step slots and calls there were */
    bool evaluates; /* and what lazy_evaluates said */
    bool flows; /* the last look found gradients that flow from an iteration into the one before */
    int n_flows; /* updates of an optimizer that had stepped before, in this step, for which they do */
    /* another optimizer has stepped behind an update that iterations are known to end with: as a part of this one, or
     * as the first of another loop, which the updates behind it show; noted calls before that one's then */
    lazy_updater *beside;
    size_t beside_calls;
    iteration_place beside_last; /* the update in front of it */
    const lazy_updater *learned; /* whose second update showed where this step should have ended; NULL: none's yet */
    ir_value **roots; /* what xt_backward was called for since */
    size_t n_roots, cap_roots;
    lazy_iteration_call *calls;
    size_t n_calls, cap_calls;
    /* step slots that were made since without gradients, or in another mode than the update's: an evaluation's */
    lazy_iteration_call *aside;
    size_t n_aside, cap_aside;
    lazy_looked *looked;
    size_t n_looked, cap_looked;
    lazy_met *met; /* the calls of the step, those of one place behind each other as one */
    size_t n_met, cap_met;
    bool met_again; /* the call that is under way is of the last of them */
    size_t turned; /* noted calls before the first call above the latest update, of those since; SIZE_MAX: none came */
    iteration_place now; /* the latest call that entries told of */
    lazy_told_call told; /* the same */
    bool is_watching; /* entries tell of their calls since an update, or a call that is noted, came */
    lazy_made *made;
    size_t n_made, cap_made;
    int64_t loop; /* of those that optimizers were made for, from 1 */
    /* of the loop */
    int64_t n_updates; /* of all loops */
    int64_t first_ended; /* the thread's first step that a loop's next iteration has ended; 0: none yet */
    int64_t parted; /* number of the first update of the newest iteration, or loop, that was told from those before */
    bool updated;
    lazy_in_front *in_front;
    size_t n_in_front, cap_in_front;
    iteration_places early; /* calls before that: in a loop they stand above the update */
    size_t n_early;
    bool goes_on; /* the step ends in the middle of it */
    int n_followed; /* updates that end no step and were followed by one of another optimizer, since one learned */
    int n_marked; /* steps that something else ended behind an update, one after the other */
    const lazy_updater *last_by; /* the latest update, be it of an earlier step; NULL: none of this loop */
    iteration_place last_update; /* where that was */
    int64_t steps_before; /* of the thread's loop steps those that were before this loop */
    iteration_place called; /* the compiled call that ended a step behind an update last */
    bool ended_by_call; /* one ends the step that ends now */
    bool went_on; /* earlier steps have noted calls behind it that do not stand below it */
    struct iteration_first { /* of the calls that an iteration may begin with */
        iteration_place at;
        const lazy_updater *of; /* only where this one has stepped: it does so again below, in the same iteration */
    } * first;
    size_t n_first, cap_first;
    struct iteration_behind { /* what is made between an update and those: a program may have several loops, or ways */
        iteration_place at, update;
    } * behind;
    size_t n_behind, cap_behind;
    iteration_places stepped; /* the updates of the loop's newest step */
    iteration_places followed; /* updates of an iteration that come behind one that ends others */
    iteration_places ended; /* the updates that an iteration is known to have ended with */
    iteration_places closed; /* those of them behind which the loop has come back, or another one has begun */
    iteration_places differentiated; /* of what backward passes went through, lines alone */
    size_t n_both; /* tensors of lines that are both, between an update and the next iteration, at most */
    iteration_places carried; /* of what an iteration takes over from the one before, lines alone */
};

/* The program's own call that made a step slot: within a module's function the call of the module. */
iteration_place lazy_place_of_call(const lazy_ctx *c, const lazy_iteration *it, size_t slot);
/* At the second update of `u` in this step, at `now`: adds what it shows of the lines. False where gradients flow back
 * from this iteration into the one before, or no call was found that it begins with. `moved`: it stands elsewhere than
 * the first. *out_calls: noted calls before it. */
bool lazy_iteration_learn(lazy_ctx *c, lazy_iteration *it, const lazy_updater *u, iteration_place now, bool moved,
                          size_t *out_calls);
/* Something was recorded behind the update that gradients may flow through, on a line that is not known to be of the
 * iteration that ends: the step cannot end here. */
bool lazy_iteration_has_begun(const lazy_ctx *c, const lazy_iteration *it);

#endif
