/* Inside compiled step functions: the replay log of a recording, the plan made from it, and what finds and runs plans.
 *
 * While fn is recorded, the replay log notes what the host does (replay_log.h). The boundary that ends the recording
 * turns replay log, roots and leaves into a plan: where each input of the program comes from, where each output goes,
 * and what to do on the host in between. A plan is run as long as what it depends on is as it was.
 *
 * Invariants
 *  1. A plan names slots by index and generation, gradients by the slot that owns them, inputs by their place:
 *     never by address.
 *  2. A recording whose host numbers cannot be made again has no plan (replay_log.volatile_what says why): it is
 *     recorded again.
 *  3. Checking a plan changes nothing; once items are performed the call ends in a boundary, whatever fails. */
#ifndef XT_SRC_LAZY_STEP_H
#define XT_SRC_LAZY_STEP_H

#include <xtrain/step.h>

#include "lazy/program/program.h"
#include "lazy/core/replay_log.h"

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

typedef struct lazy_plan {
    lazy_signature sig;
    hash128 key;
    lazy_guard *guards;
    size_t n_guards, cap_guards;
    lazy_replay_item *items;
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

void lazy_watch_ways(lazy_ctx *c); /* lazy_way_here tells from now on */
/* Where a compiled step is called, and since the program's last boundary: how often, and the step of its first call and
 * of its last ones there. */
enum { LAZY_LISTED = 64 }; /* so many results of one call a loop may list, of any size (older.c: small ones) */
typedef struct lazy_called_at {
    src_id line;
    call_path way; /* 0: not known, which is like any */
    int64_t own_ends; /* there were so many of those */
    int64_t calls, first, last;
    int64_t newest[LAZY_LISTED]; /* of call k at k % LAZY_LISTED */
} lazy_called_at;
/* What the loops that call a compiled step are told by. One that is compiled where one was that is gone, or has been
 * called, goes on with that one's loops. */
typedef struct lazy_step_calls {
    int64_t own_ends; /* at the newest call, how many steps the program had ended itself */
    lazy_called_at *at;
    size_t n, cap;
} lazy_step_calls;
enum { LAZY_STEPS_GONE = 64 }; /* so many of them are kept for others */
typedef struct lazy_step_gone {
    xt_step_fn fn;
    src_id where;
    lazy_step_calls calls;
} lazy_step_gone;

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
    lazy_step_calls calls;
    bool told_volatile;
    char reason[512];
};

/* Before the results are handed over: makes replay_log->plan, unless the recording cannot be replayed. */
void lazy_replay_plan_make(lazy_ctx *c, const lazy_roots *r, const uint32_t *slots, const size_t *requests);
void lazy_plan_free(lazy_plan *p);
/* --- detached.c: compiled functions whose result is differentiated outside --- */
void lazy_graph_release(lazy_graph *g);
/* After a replay: bufs[k] is what input k of the program was. */
void lazy_detached_replayed(lazy_ctx *c, const lazy_plan *p, lazy_buf *const *bufs, const xt_src *src,
                            xt_tensor result);
/* --- replay.c --- */
/* True when the plan may run now; else, with `why`, what is different. *out_stale: it never will again. */
bool lazy_plan_fits(lazy_ctx *c, const lazy_plan *p, const lazy_signature *sig, str *why, bool *out_stale);
bool lazy_replay_run(lazy_ctx *c, xt_step *step, lazy_plan *p, lazy_program *g, const xt_src *src, const xt_tensor *in,
                     xt_tensor *out);
/* --- boundary.c: what a call shares with other steps --- */
enum { LAZY_KEEP_ALL = UINT32_MAX };
/* step slots up to `n_kept` that have a buffer stay */
bool lazy_end_step(lazy_ctx *c, lazy_cause cause, const xt_src *src, size_t n_kept);
/* A file that is written or read within a step (LAZY_CHECKPOINT) ends it, but is no end of a step to who writes the
 * program: what that goes on to use without asking lives on. So it does where functions of the program's are called
 * within a step of a loop of the library's. Does nothing elsewhere. */
enum { LAZY_FILES = 3 }; /* so many ends of steps in a row: of a module, its optimizer, one more */
void lazy_hold_in_step(lazy_ctx *c, lazy_cause cause, const xt_src *src);
void lazy_observe_before(lazy_cause cause);
void lazy_step_passed(lazy_ctx *c, lazy_cause cause, bool counts, bool ok); /* counts the step, tells the observers */
/* --- detached steps (detached.c): the forward of a step that ended before xt_backward can be recorded again --- */
/* at a boundary, while the trace is there: keeps it if a backward pass may still want it */
void lazy_detach_step(lazy_ctx *c, lazy_cause cause, src_id at);
void lazy_detached_age(lazy_ctx *c); /* a step with ops has ended */
void lazy_detached_forget(lazy_ctx *c);
/* True when t can only be differentiated by recording again: its step has ended. Then *out is its value recorded again,
 * or NULL with an error pending. */
bool lazy_detached_value(lazy_ctx *c, const xt_src *src, const char *what, xt_tensor t, ir_value **out);
/* Tensors of detached steps that gradients of root would flow into are recorded again, and what read them reads that.
 * False with an error pending. */
bool lazy_detached_graft(lazy_ctx *c, const xt_src *src, const char *what, ir_value *root);

/* --- updates.c: a step has ended; not ok: it was dropped, and what it counted with it --- */
void lazy_updates_settle(lazy_ctx *c, bool ok);
void lazy_updates_forget(lazy_ctx *c, const lazy_updater *u);

/* --- loops without boundaries (iteration.c) --- */
void lazy_came_round(size_t calls); /* boundary.c: tells the observers */
/* updates.c: the newest update of `u`, which was taken for a part of another's step, was a step of the loop. */
void lazy_count_loop_step(lazy_ctx *c, lazy_updater *u);
void lazy_iteration_swept(lazy_ctx *c, ir_value *root); /* xt_backward was called for root */
/* Before a compiled call ends the step: whether two optimizers' updates in it are of two loops. */
void lazy_call_parts_loops(lazy_ctx *c, const xt_src *src);

/* --- values that only some steps give out or log (optional*.c, superset.c) --- */
bool lazy_request_is_optional(const lazy_request *q);
/* Of a step that runs a superset; false, and nothing, of any other: whether the slot is an owner's state, whose results
 * come behind the others; the owners' slots, 0 .. n - 1, where they have a new value; and which argument result k of
 * the others takes over (-1: none). */
bool lazy_superset_serves(const lazy_ctx *c);
bool lazy_superset_owns(const lazy_ctx *c, uint32_t slot);
size_t lazy_superset_owners(const lazy_ctx *c);
uint32_t lazy_superset_state(const lazy_ctx *c, size_t i); /* UINT32_MAX: no new value */
int32_t lazy_superset_alias(const lazy_ctx *c, size_t k);
/* The program of natural key `key` with these roots is not in memory. *out_other: the superset that the step has been
 * recorded again for, to be collected again; NULL: it needs a program of its own. */
xt_status lazy_superset_choose(lazy_ctx *c, hash128 key, const lazy_roots *r, const uint32_t *slots,
                               const size_t *requests, lazy_known_as **out_other);

/* --- XT_DEBUG=nan (nan_check.c), bounds (bounds_check.c) and eager (eager.c) --- */
/* After a program of this thread: ranks that ran it together give the smallest of all their numbers, and the first rank
 * that has it; a rank by itself has its own, and -1. */
xt_status lazy_least_of_ranks(int64_t mine, int64_t *out, int *out_rank);
/* "step 7", "batch index 3 of the validation after step 40" */
const char *lazy_under_way(const lazy_ctx *c, char *out, size_t n);
/* The integers that ops were recorded with, given out by the step's program: roots behind its others. */
bool lazy_bounds_roots(lazy_ctx *c, bool (*add)(void *user, ir_value *v, src_id at), void *user);
/* out: of those roots, in their order; all are released. An error that names the first op with one outside. */
xt_status lazy_bounds_check(lazy_ctx *c, device_buffer **out);
/* After the program of r has run, with its inputs still there: an error that names the op which made the first NaN or
 * Inf in out[]. */
xt_status lazy_look_for_nan(lazy_ctx *c, const lazy_roots *r, device_buffer **out, bool read, const xt_src *src);
void lazy_run_eagerly(lazy_ctx *c, xt_tensor t, const xt_src *src);
/* value.c: t's value is computed when this returns */
xt_status lazy_compute_now(lazy_ctx *c, xt_tensor t, const xt_src *src);

/* backward.c: PyTorch's complex gradients are conjugated, those of src/grad are not */
ir_value *lazy_conjugate(ir_builder *b, ir_value *x);
/* custom.c: for grad_walk.custom */
struct grad_call;
xt_status lazy_custom_rule(struct grad_call *call, bool *out_done);

#endif
