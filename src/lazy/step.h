/* Inside compiled step functions: the tape of a recording, the plan made from it, and what finds and runs plans.
 *
 * While fn is recorded (ctx.tape is set), the tape notes in order what the host does besides recording ops: numbers
 * that enter the step's packs, actions that subsystems registered, values asked for. The boundary that ends the
 * recording turns tape, roots and leaves into a plan: where each input of the program comes from, where each output
 * goes, and what to do on the host in between. A plan is run as long as what it depends on is as it was.
 *
 * Invariants
 *  1. A plan names slots by index and generation, gradients by the slot that owns them, inputs by their place:
 *     never by address.
 *  2. A recording whose host numbers cannot be made again has no plan (tape.volatile_what says why): it is
 *     recorded again.
 *  3. Checking a plan changes nothing; once items are performed the call ends in a boundary, whatever fails. */
#ifndef XT_SRC_LAZY_STEP_H
#define XT_SRC_LAZY_STEP_H

#include <xtrain/step.h>

#include "lazy/ctx.h"
#include "lazy/labels.h"

typedef enum lazy_item_kind { LAZY_ITEM_ACTION, LAZY_ITEM_SCALAR, LAZY_ITEM_RNG, LAZY_ITEM_DONE } lazy_item_kind;
typedef struct lazy_item { /* one thing the host does again at a replay, in the order of the recording */
    lazy_item_kind kind;
    lazy_replay action;
    int pack, at; /* SCALAR, RNG: where the words go */
    bool is_float;
    double (*value)(void *user);
    uint32_t draw; /* RNG: which draw of the step */
    lazy_done_fn done;
    void *user; /* of value and done */
} lazy_item;

typedef enum lazy_from { LAZY_FROM_SLOT, LAZY_FROM_GRAD, LAZY_FROM_INPUT, LAZY_FROM_PACK, LAZY_FROM_HELD } lazy_from;
typedef struct lazy_origin { /* where a buffer comes from at a replay */
    lazy_from from;
    uint32_t slot, generation; /* SLOT: itself; GRAD: its owner */
    int index; /* INPUT, PACK */
    lazy_buf *held; /* HELD: retained */
} lazy_origin;

typedef enum lazy_to {
    LAZY_TO_SLOT,
    LAZY_TO_GRAD,
    LAZY_TO_NEW_GRAD,
    LAZY_TO_REQUEST,
    LAZY_TO_RESULT,
    LAZY_TO_NOWHERE
} lazy_to;
typedef struct lazy_target { /* where an output goes */
    lazy_to to;
    uint32_t slot, generation; /* SLOT: itself; GRAD, NEW_GRAD: the owner */
    size_t request;
    const ir_type *type;
    src_id src;
    uint32_t path;
} lazy_target;

typedef struct lazy_guard { /* a slot the recording depended on, as it was when the call began */
    uint32_t slot, generation;
    bool requires_grad, grad_leaf, has_grad;
    const struct lazy_layout *layout;
} lazy_guard;

typedef struct lazy_label_check { /* a loss over classes whose labels are an input */
    lazy_classes classes;
    size_t input;
} lazy_label_check;

typedef struct lazy_signature { /* of a call: what is compared first */
    size_t n;
    struct {
        const ir_type *type;
        const struct lazy_layout *layout;
        uint32_t slot, generation; /* of inputs that are taken as themselves (states, tensors with gradients); else 0 */
    } * in;
    bool no_grad;
    xt_dtype autocast;
    uint64_t mode;
    int64_t batch_size;
} lazy_signature;

typedef struct lazy_plan {
    lazy_signature sig;
    hash128 key;
    lazy_guard *guards;
    size_t n_guards, cap_guards;
    lazy_item *items;
    size_t n_items;
    lazy_label_check *labels;
    size_t n_labels;
    lazy_origin *inputs;
    size_t n_inputs;
    lazy_target *outputs;
    size_t n_outputs;
    struct lazy_plan_request {
        lazy_request q; /* what was asked for; buf and value unused */
        bool has_origin; /* the value is a buffer already: `origin`; else an output brings it */
        lazy_origin origin;
    } * requests;
    size_t n_requests;
    lazy_guard *consumed; /* owners whose gradient is gone after the call */
    size_t n_consumed, cap_consumed;
    int *pack_words; /* words used of each pack; 0 = pack not used */
    size_t n_packs;
    bool has_result, result_is_origin;
    lazy_origin result;
    src_id result_src;
    lazy_graph *graph; /* the recording, where its result can be differentiated after a call; else NULL */
    ir_value *graph_result;
    uint32_t *graph_args; /* input k of the program is argument graph_args[k] of the recording */
    size_t n_graph_args;
    xt_tensor *graph_stops; /* states whose new values the recording goes on from */
    device_buffer **in, **out; /* room for a call */
    bool *keep;
} lazy_plan;

struct xt_step {
    struct xt_step *next; /* of this thread's */
    lazy_ctx *ctx;
    xt_step_fn fn;
    void *user;
    char *name;
    src_id where;
    int64_t max_programs;
    lazy_plan **plans; /* the one used last comes first */
    size_t n_plans, cap_plans;
    hash128 *keys; /* of all programs its recordings gave */
    size_t n_keys, cap_keys;
    int64_t traces, replays;
    bool told_volatile;
    char reason[512];
};

struct lazy_tape {
    xt_step *step;
    const xt_src *src;
    bool in_fn; /* fn runs; else its boundary does */
    lazy_signature sig;
    xt_tensor *in; /* the handles fn gets */
    struct lazy_entry { /* every slot as it was when the call began */
        uint32_t generation;
        bool live, requires_grad, grad_leaf;
        xt_tensor grad;
    } * entry;
    size_t n_entry;
    lazy_item *items;
    size_t n_items, cap_items;
    uint32_t *asked; /* slots whose gradient was looked at */
    size_t n_asked, cap_asked;
    lazy_label_check *labels;
    size_t n_labels, cap_labels;
    const char *volatile_what;
    src_id volatile_src;
    bool failed; /* without memory: no plan */
    lazy_program *program; /* the boundary's; retained */
    xt_tensor result;
    lazy_plan *plan; /* made by the boundary */
};

/* --- tape.c: recording --- */
void lazy_tape_item(lazy_ctx *c, lazy_item item);
void lazy_tape_volatile(lazy_ctx *c, src_id src, const char *what); /* `what` is kept */
void lazy_tape_asked(lazy_ctx *c, uint32_t slot);
/* of an input: looked at again at each call */
void lazy_tape_labels(lazy_ctx *c, const lazy_classes *classes, xt_tensor labels);
/* labels.c */
xt_status lazy_labels_check(const lazy_classes *c, const lazy_extremes *e);
/* Before the results are handed over: makes tape->plan, unless the recording cannot be replayed. */
void lazy_tape_finish(lazy_ctx *c, const lazy_roots *r, const uint32_t *slots, const size_t *requests);
void lazy_plan_free(lazy_plan *p);
/* --- ended.c: compiled functions whose result is differentiated outside --- */
void lazy_graph_release(lazy_graph *g);
/* After a replay: bufs[k] is what input k of the program was. */
void lazy_ended_replayed(lazy_ctx *c, const lazy_plan *p, lazy_buf *const *bufs, const xt_src *src, xt_tensor result);
/* --- replay.c --- */
/* True when the plan may run now; else, with `why`, what is different. *out_stale: it never will again. */
bool lazy_plan_fits(lazy_ctx *c, const lazy_plan *p, const lazy_signature *sig, str *why, bool *out_stale);
bool lazy_replay_run(lazy_ctx *c, xt_step *step, lazy_plan *p, lazy_program *g, const xt_src *src, const xt_tensor *in,
                     xt_tensor *out);
/* --- boundary.c, run.c, cache.c, scalar.c: what a call shares with other steps --- */
enum { LAZY_ALL_SURVIVE = UINT32_MAX };
/* step slots up to `survivors` that have a buffer stay */
bool lazy_end_step(lazy_ctx *c, lazy_cause cause, const xt_src *src, size_t survivors);
void lazy_observe_before(lazy_cause cause);
void lazy_step_passed(lazy_ctx *c, lazy_cause cause, bool counts, bool ok); /* counts the step, tells the observers */
bool lazy_ran_together(void); /* the last program that lazy_run started in this thread has collectives */
xt_status lazy_execute(lazy_ctx *c, lazy_program *p, lazy_cause cause, bool forced, const xt_src *src,
                       device_buffer **in, bool *keep, device_buffer **out);
/* meet.c: before p runs; an error when other ranks run something else in its place. Programs without
 * collectives pass. */
xt_status lazy_meet(const lazy_ctx *c, const lazy_program *p, const xt_src *src);
/* "meeting 5, program 1a2b3c4d" of the last programs with collectives; "" before the first */
const char *lazy_met_last(void);
void lazy_forget_limit(void); /* the device is closed: the next one may have another */
xt_status lazy_upload_pack(lazy_ctx *c, lazy_pack *p);
xt_status lazy_upload_state(lazy_ctx *c, lazy_slot *s);
void lazy_pack_scalar(lazy_pack *p, int at, bool is_float, double v);
void lazy_pack_rng(const lazy_ctx *c, lazy_pack *p, int at, uint32_t draw);
lazy_program *lazy_program_find(hash128 key); /* retained; NULL when it was evicted */
lazy_program *lazy_program_met(const char *digits); /* whose meeting begins with these 8 digits; retained, or NULL */

#endif
