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
bool lazy_is_same_call(iteration_place a, iteration_place b); /* or one that the compiler has copied it to */
bool lazy_has_ended_with(const lazy_iteration *it, iteration_place update);
bool lazy_has_ended(const lazy_iteration *it); /* the last update is known to be the last of iterations */
size_t lazy_calls_behind(const lazy_iteration *it); /* noted calls up to the last one that is known to be behind it */
bool lazy_note_ended(lazy_iteration *it); /* its last update was the last of an iteration; false without memory */

/* By the program itself, of a module, which made the step slots [begin, end), or of what makes none (logging): there
 * begin is end. */
typedef struct lazy_iteration_call {
    iteration_place at;
    size_t begin, end; /* end SIZE_MAX: under way, or left by longjmp */
} lazy_iteration_call;

/* A call whose path was looked at: when there were so many step slots, and by which line. */
typedef struct lazy_looked {
    iteration_place at;
    size_t slots;
} lazy_looked;

/* A call, and how many step slots and updates there were in front of it. */
typedef struct lazy_met {
    src_id line;
    size_t slots;
    int64_t updates;
} lazy_met;

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
    lazy_met *met; /* the calls of the step, those on one line behind each other as one */
    size_t n_met, cap_met;
    bool met_again; /* the call that is under way is of the last of them */
    size_t turned; /* noted calls before the first call above the latest update, of those since; SIZE_MAX: none came */
    iteration_place now; /* the latest call that entries told of */
    const void *returns_to;
    const char *what;
    int64_t loop; /* of those that optimizers were made for, from 1 */
    /* of the loop */
    int64_t n_updates; /* of all loops */
    int64_t parted; /* number of the first update of the newest iteration, or loop, that was told from those before */
    bool updated;
    iteration_places early; /* calls before that: in a loop they stand above the update */
    size_t n_early;
    bool goes_on; /* the step ends in the middle of it */
    int n_followed; /* updates that end no step and were followed by one of another optimizer, since one learned */
    int n_marked; /* steps that something else ended behind an update, one after the other */
    const lazy_updater *last_by; /* the latest update, be it of an earlier step; NULL: none of this loop */
    iteration_place last_update; /* where that was */
    int64_t steps_before; /* of the thread's loop steps those that were before this loop */
    bool went_on; /* earlier steps have noted calls behind it that do not stand below it */
    iteration_places first; /* of the calls that an iteration may begin with */
    struct iteration_behind { /* what is made between an update and those: a program may have several loops, or ways */
        iteration_place at, update;
    } * behind;
    size_t n_behind, cap_behind;
    iteration_places stepped; /* the updates of the loop's newest step */
    iteration_places followed; /* updates of an iteration that come behind one that ends others */
    iteration_places ended; /* the updates that an iteration is known to have ended with */
    iteration_places differentiated; /* of what backward passes went through, lines alone */
    size_t n_both; /* tensors of lines that are both, between an update and the next iteration, at most */
    iteration_places carried; /* of what an iteration takes over from the one before, lines alone */
};

/* At the second update of `u` in this step: adds what it shows of the lines. False where gradients flow back from this
 * iteration into the one before, or no call was found that it begins with. `moved`: it stands elsewhere than the first.
 * *out_calls: noted calls before it. */
bool lazy_iteration_learn(lazy_ctx *c, lazy_iteration *it, const lazy_updater *u, bool moved, size_t *out_calls);
/* Something was recorded behind the update that gradients may flow through, on a line that is not known to be of the
 * iteration that ends: the step cannot end here. */
bool lazy_iteration_has_begun(const lazy_ctx *c, const lazy_iteration *it);

#endif
