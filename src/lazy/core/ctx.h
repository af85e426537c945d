/* Inside the lazy core: one context a thread (its slots and the trace of its current step) and one runtime a process
 * (device, programs, live buffers, reader thread).
 *
 * Invariants
 *  1. slot.value, when not NULL, is a value of ctx->b.m, the module of this step; it is cleared at every boundary.
 *  2. slot.buf, when not NULL, is the value as of the last boundary; slot.leaf is the block argument that stands for it
 *     in this trace.
 *  3. A persistent slot (state or kept) is in ctx->persistent; an older result of a compiled step is in ctx->older
 *     (older.c); every other live slot is in ctx->step_slots and dies at the boundary.
 *  4. leaves[i] belongs to argument i of the trace's function. */
#ifndef XT_SRC_LAZY_CTX_H
#define XT_SRC_LAZY_CTX_H

#include <pthread.h>
#include <stdatomic.h>

#include "grad/grad.h"
#include "lazy/lazy.h"

/* --- live buffers (ledger.c): a device buffer with who asked for it. Counted. --- */
typedef struct lazy_buf {
    device_buffer *dev;
    atomic_int refs;
    /* references of detached steps (detached.c), which do not keep a state's buffer from being taken over */
    atomic_int detached;
    lazy_live info;
    uint32_t which; /* of what its line gave the program in its step, from 0: lazy_call_number */
    const struct lazy_layout *layout; /* how it lies over the ranks (layout.h); NULL: whole on each */
    bool older; /* of a slot that is one of ctx->older */
    struct lazy_buf *prev, *next;
} lazy_buf;
/* takes dev over */
lazy_buf *lazy_buf_new(device_buffer *dev, src_id src, uint32_t path, lazy_role role, const ir_type *type,
                       int64_t step);
/* for reports; does nothing without a buffer or a place */
void lazy_buf_kept(lazy_buf *b, src_id where, uint32_t which);
void lazy_buf_older(lazy_buf *b); /* no group of what may grow has it any more: these are so many at most */
void lazy_buf_retain(lazy_buf *b);
void lazy_buf_release(lazy_buf *b);

/* --- slots (slot.c) --- */
typedef struct lazy_slot {
    uint32_t generation; /* of the tensor that lives here, or lived here last */
    bool live, persistent, is_state, failed, requires_grad;
    bool grad_leaf; /* xt_requires_grad was asked for this very tensor: xt_backward leaves a gradient here */
    bool retain_grad; /* and here, though the tensor is the result of an op */
    /* a tensor with gradients whose step has ended: they flow into that step's ops, recorded again (detached.c) */
    bool detached;
    bool outlives_step; /* a step slot that the boundary under way leaves alive: it has a buffer by then */
    bool is_loss; /* xt_backward was called for it */
    bool of_update; /* an optimizer has made it in its step */
    bool of_loop; /* a loop of the library's goes on to use it in this step of its own (within.h) */
    bool before_loop; /* it was there when a loop without boundaries was met (iteration.c) */
    src_id given_at; /* the program's call of a module, of whose function it is a result; 0: of none */
    bool in_front; /* of an inner loop without boundaries, whose steps it outlives (iteration.c) */
    lazy_role role;
    const ir_type *type;
    ir_value *value, *leaf;
    lazy_buf *buf, *read_buf; /* read_buf: value of a node read before its step ended */
    void *host; /* first value of a state, until it is uploaded; NULL, and from too, = zeros */
    struct lazy_source *from; /* who makes that value when it is asked for, in place of host; NULL: nobody */
    /* the value waits for its upload: of a new state, or of what was taken off the device (host_state.c) */
    bool has_host;
    bool host_part; /* and `host` is this rank's part of it, not the whole */
    /* a step gave it a value: in plain data parallel training other ranks need not have the same */
    bool own;
    /* of a state that is divided over ranks: all of it as it was in whole_of (lazy_gather_states), a buffer or this
     * rank's part on the host */
    struct lazy_whole *whole;
    const void *whole_of;
    xt_tensor grad;
    struct lazy_extremes *extremes; /* labels.h: what the host saw of its integers; NULL: nothing */
    const ir_type *places_of; /* lazy_places_of */
    const struct lazy_layout *layout; /* how buf lies, and shall lie after the step */
    /* a parameter whose optimizer state is divided further than itself: how; else NULL */
    const struct lazy_layout *of_state;
    src_id src, changed, kept; /* changed: where it got its last new value; kept: where xt_keep was called for it */
    uint32_t which; /* the call of xt_keep was at that line: lazy_call_number */
    uint32_t path, name; /* interned */
    src_id swept_at, clipped_at; /* a gradient: xt_backward has added to it there last, and it was clipped there last */
    int64_t swept; /* and in that call of the thread's (lazy_swept) */
    int64_t step;
    call_path way; /* by which the program made it, looked at in loops of compiled steps alone; 0: not known */
    bool result; /* of xt_call */
    bool older; /* and one of ctx->older */
    int64_t used; /* the last step whose program, or call of a compiled step, has had it as an input */
    struct { /* the two tensors that died here last, for messages */
        uint32_t generation;
        src_id made, died;
        int64_t died_step; /* -1: given back by xt_drop; LAZY_DIED_IN_LOOP */
    } past[2];
    uint32_t next_free;
} lazy_slot;
/* nothing waits for its upload any more. */
void lazy_host_drop(lazy_slot *s);
/* How the program came to the call that is under way; 0: not known, or no compiled step was called yet. */
struct lazy_ctx;
call_path lazy_way_here(const struct lazy_ctx *c);
/* The latest call that an entry has told of (lazy_call_begins). */
typedef struct lazy_told_call {
    xt_src at;
    const void *returns_to;
    const char *what;
} lazy_told_call;
/* state.c: the slot of a state that may get a value from the host. */
xt_status lazy_writable(struct lazy_ctx *c, xt_tensor state, lazy_slot **out);

typedef struct lazy_leaf {
    lazy_buf *buf; /* retained; NULL for a scalar pack, and for a value that a build has not asked for */
    int pack; /* index of the scalar pack, or -1 */
    uint32_t slot; /* slot that made the leaf and its generation, to see whether it still lives */
    uint32_t generation;
    const struct lazy_layout *layout; /* of buf */
} lazy_leaf;

/* --- per-step scalars (scalar.c): packs of LAZY_PACK words, floats, doubles and ui32 words apart --- */
enum { LAZY_PACK = 64 };
typedef struct lazy_pack {
    xt_dtype dtype; /* XT_F32, XT_F64 or XT_U32 */
    union {
        float f[LAZY_PACK];
        double d[LAZY_PACK / 2];
        uint32_t u[LAZY_PACK];
    } now, sent;
    int n, before_optionals; /* words taken; and by then */
    ir_value *leaf;
    lazy_buf *buf; /* holds `sent` */
} lazy_pack;

/* elements of a pack that so many words are */
static inline int lazy_pack_elements(xt_dtype dtype, int words) {
    return dtype == XT_F64 ? words / 2 : words;
}

typedef struct lazy_requester { /* who wants a value out of a step's program, for reports */
    const char *what; /* "xt_master_printf"; NULL: a state or gradient gets a new value */
    src_id src;
    src_id made; /* the line that made the value, where another one asks for it */
    bool off; /* in other steps of the same program, but not in this one (superset.c) */
} lazy_requester;

typedef struct lazy_assigned { /* xt_assign gave a state a new value, for reports */
    uint32_t slot, name;
    src_id at;
} lazy_assigned;

typedef struct lazy_request { /* xt_when_ready */
    lazy_requester asked;
    xt_tensor t; /* kept while the request waits */
    ir_value *value;
    lazy_buf *buf;
    xt_ready_fn fn;
    void (*failed)(void *user); /* instead of fn when the value never comes; may be NULL */
    void *user;
    void *(*again)(void *user); /* at a replay, `user` of the new request is again(again_user); NULL: the same user */
    void *again_user;
    bool to_slot; /* the value becomes t's buffer, and t survives the boundary; fn is not used */
    xt_tensor also; /* a tensor that gets the value, too, and survives the boundary */
} lazy_request;

typedef struct lazy_slot_value {
    /* a value that a state with a gradient had earlier in this trace: what was computed from it counts for the state */
    uint32_t slot, generation;
    ir_value *value;
} lazy_slot_value;

typedef struct lazy_autocast_scope { /* between xt_autocast_begin and its end */
    xt_dtype around; /* what holds behind it */
    src_id at;
    int64_t step; /* that began there */
} lazy_autocast_scope;

typedef struct lazy_detached lazy_detached; /* of a part above, as lazy_graph and lazy_iteration are */
typedef struct lazy_iteration lazy_iteration;
typedef struct lazy_graph lazy_graph; /* a trace that was kept: counted */
enum { LAZY_DETACHED = 2 };

enum { LAZY_DIED_IN_LOOP = -2 }; /* died_step of tensors of one iteration */

typedef struct lazy_update { /* an optimizer's step, as it was counted */
    lazy_updater *by; /* NULL: it is gone */
    int64_t loop_step; /* what `by` had before */
    bool is_loop_step;
} lazy_update;

typedef struct lazy_replay_log lazy_replay_log; /* replay_log.h */
struct xt_step;

typedef struct lazy_switch_lines { /* the lines where switches were changed last; 0 = unknown */
    src_id autocast, mode, frozen, momentum, parted;
    const char *froze; /* what was called at `frozen`, and for which parameters: a pattern or name, interned; 0: all */
    uint32_t froze_of;
    uint32_t parted_of; /* interned: the last parameter that the step at `parted` did not update */
} lazy_switch_lines;

typedef struct lazy_batch_of { /* the batch that came last */
    const void *loader; /* only its address means something */
    bool partial; /* it has fewer samples than the loader's others */
} lazy_batch_of;

typedef struct lazy_flags { /* switches that change what is recorded */
    bool no_grad; /* and no backward pass: optimizers turn gradients off for themselves */
    bool backward; /* of a trace: xt_backward was called */
    src_id backward_at, updated_at; /* of a trace: the last calls of xt_backward and of an optimizer's step */
    xt_dtype autocast;
    uint64_t mode; /* which modules are in evaluation mode, as one number */
    int64_t freezes; /* calls that froze or unfroze parameters which steps had used */
    uint64_t frozen; /* which of them are the other way than they were first used, as one number */
    int updates; /* of a trace: optimizer steps in it */
    lazy_switch_lines switched_at;
    int64_t momenta; /* how often an optimizer that had stepped got its first momentum */
    int64_t parted; /* how often an update left out parameters, whose updates are counted apart since */
    uint64_t optimizers; /* of a trace: those that step in it, as one number; and the last of them */
    const char *optimizer;
    src_id optimizer_at; /* where it was made */
    src_id needless; /* of a program: the first op recorded beside it that brought in an input; 0: none */
    lazy_batch_of batch;
} lazy_flags;

/* A part above the core that keeps something of its own in the context. It attends from when it first does; the core
 * knows it by this alone. */
struct lazy_ctx;
typedef struct lazy_guest {
    void (*trace_cleared)(struct lazy_ctx *c); /* what hangs on the trace's ops goes with them; NULL: nothing does */
    void (*freed)(struct lazy_ctx *c); /* the thread's context goes, after its trace; NULL: nothing is left then */
} lazy_guest;
enum { LAZY_GUESTS = 8 };

typedef struct lazy_calls { /* of one line */
    int64_t since; /* lazy_ctx.counts_since as they were counted */
    uint32_t n;
} lazy_calls;

/* Results of compiled steps that no boundary of the program's has ended and that are not of the newest ones of their
 * call: the program may have listed them. The oldest make room for others (older.c). */
typedef struct lazy_older {
    struct lazy_older_result {
        xt_tensor t;
        int64_t bytes;
    } * ring;
    size_t first, n;
    int64_t bytes;
    uint32_t *read; /* slots of theirs that stand for a value of this trace */
    size_t n_read, cap_read;
} lazy_older;

typedef struct lazy_ctx {
    const lazy_guest *guests[LAZY_GUESTS];
    size_t n_guests;
    bool steps_for_caller; /* lazy_steps_for_caller */
    lazy_slot *slots;
    size_t n_slots, cap_slots;
    uint32_t first_generation; /* of its slots: far from other contexts', so that their handles are dead in this one */
    uint32_t free_head, free_tail, n_free;
    uint32_t *step_slots;
    size_t n_step_slots, cap_step_slots;
    uint32_t *persistent;
    size_t n_persistent, cap_persistent;
    lazy_older older;

    ir_builder b;
    ir_func *func;
    lazy_leaf *leaves;
    size_t n_leaves, cap_leaves;
    lazy_pack *packs;
    size_t n_packs, cap_packs;
    lazy_request *requests;
    size_t n_requests, cap_requests;
    lazy_requester *requesters; /* noted for this step */
    size_t n_requesters, cap_requesters;
    lazy_assigned *assigned; /* in this trace */
    size_t n_assigned, cap_assigned;
    /* of the program's inputs among the arguments of this trace; NULL: as the program says */
    const uint32_t *places;
    bool optionals_begun; /* numbers behind the packs' before_optionals are those of optional outputs */
    bool was_read; /* a value of this step was, in the middle of it (forced.c) */
    lazy_calls *calls; /* of the line with that number: lazy_call_number */
    size_t n_calls;
    int64_t counts_since; /* steps that began, and values that were read */
    const uint32_t *numbered; /* places of arguments by their number, while a read runs (forced.c); else NULL */

    bool nan, eager, bounds; /* words of XT_DEBUG, as of the begin of the step */
    size_t n_recorded; /* tensors of this step */
    ir_op *settled; /* the last op of the trace whose needs-gradient flags are known */
    grad_region *regions; /* checkpointed blocks of this trace */
    size_t n_regions, cap_regions;
    lazy_slot_value *pasts;
    size_t n_pasts, cap_pasts;
    bool values_noted; /* a value of this trace has extremes (labels.h) */
    struct lazy_bounds_site *bounds_sites; /* of this trace, XT_DEBUG=bounds (labels.h) */
    size_t n_bounds_sites, cap_bounds_sites;

    bool grads_recorded; /* some op of this trace has a result that needs a gradient */
    ir_block *asked_in; /* the values marked for the innermost xt_grad_of under way are in that block; NULL: none is */
    bool swept; /* and a backward pass has been through this trace, one of the present loop's */
    size_t n_swept; /* the last one of any loop when there were so many step slots; 0: there was none */

    xt_status error; /* pending, first one wins */
    bool error_told; /* printed, or given to the handler */
    bool error_seen; /* xt_error gave it to the program */
    int64_t error_step; /* steps that had ended when it arose */
    bool error_lost; /* a rank that died or left: the process ends where that is met */
    bool operand_failed; /* lazy_value met an error or dead operand since lazy_begin */
    uint64_t failed_allocations; /* of this thread's, when the step began */
    uint32_t path;
    uint32_t *path_stack;
    size_t n_path, cap_path;
    int no_grad;
    xt_dtype autocast;
    lazy_autocast_scope *autocasts; /* that are open */
    size_t n_autocasts, cap_autocasts;
    lazy_flags used; /* switches that were on at some time in this trace */
    int64_t step, draws; /* draws: since a loop gave the step that they are filed under, or xt_seed */
    lazy_drawn drawn, drawn_before; /* before: as the step that is recorded began */
    lazy_given_key *given_key; /* lazy_draws_of */
    int64_t step_began_ns;
    struct { /* what ended the step before */
        lazy_cause cause;
        const char *name; /* of the cause */
        src_id at; /* 0: there was none */
    } begun;
    int64_t now_ns; /* the clock as read a moment ago, for what begins where the last thing ended; 0: to be read */
    bool in_boundary;
    bool building; /* the trace makes parameters and is thrown away: their values are not asked for */
    uint64_t mode; /* which modules are in evaluation mode, as one number */
    int64_t freezes; /* as in lazy_flags */
    uint64_t frozen;
    int64_t momenta; /* momentum begun in optimizers that had stepped */
    int64_t parted; /* as in lazy_flags */
    lazy_batch_of batch;
    lazy_switch_lines switched_at;
    lazy_replay_log *replay_log; /* a compiled step function is being recorded */
    const lazy_loop *loop; /* the innermost loop whose body is being recorded */
    const char *left_loop; /* the function that began one last: what is said when it is left by longjmp */
    lazy_custom *customs; /* custom.c: by number, of this thread's life */
    size_t n_customs, cap_customs;

    /* Kept here for parts above, which free it when they are told that the thread goes (lazy_guest). The core looks at
     * none of it. */
    struct lazy_optional_registry *optionals;
    const size_t *request_order; /* of requests that are optional outputs, in this step; NULL: as they were asked for */
    size_t n_request_order;
    bool in_debug_run; /* XT_DEBUG=nan or eager is at work: what it records and runs is not looked at */
    map *computed; /* of this trace, XT_DEBUG=eager: ir_value * -> its lazy_buf, retained */
    lazy_detached *detached[LAZY_DETACHED]; /* the last steps that nothing was differentiated in, newest first */
    ir_module *spare; /* memory of a detached step that is forgotten */
    bool in_step_of_loop, cut_in_it; /* within.h; and something has ended a step there */
    /* a compiled call has just ended a step: the loop's boundary, if nothing is recorded before it, is the same one */
    bool call_ended_step;
    int64_t own_ends; /* xt_next, xt_mark_step and the Trainer have ended so many steps */
    struct xt_step *steps;
    struct lazy_step_gone *steps_gone; /* that were freed, the newest last */
    size_t n_steps_gone, cap_steps_gone;
    const lazy_told_call *told; /* while ways are looked at */
    lazy_iteration *iteration; /* of a loop without boundaries; NULL: no optimizer has stepped */
    lazy_update *updates; /* that the step being recorded counts */
    size_t n_updates, cap_updates;
    struct { /* loop steps, see lazy_loop_steps */
        int64_t of_thread;
        int64_t step_plus_1; /* the step that holds the newest of them */
        int recorded; /* that it holds */
        int before; /* of those, that were before the newest one that was over in its middle */
        bool over; /* the newest one is, so that the next update begins another */
    } loop_steps;
    lazy_done_fn *done_fns;
    void **done_users;
    size_t n_done, cap_done, cap_done_users, n_done_users;
    lazy_phases *phases; /* lazy_then */
    size_t n_phases, cap_phases;
    struct lazy_mode *modes; /* modes.c */
    size_t n_modes, cap_modes;
    bool stepped_evaluating;
} lazy_ctx;

void lazy_watch_exit(void);
/* In an exit handler that comes behind the check of exit: the check runs once more. */
void lazy_watch_late_error(void);
/* opens this device next, whatever the environment says; NULL: as it says. Kept, not copied */
void lazy_device_use(const char *spec);
int64_t lazy_memory_limit(void); /* bytes of the device; < 0: unknown */
void lazy_set_rehearsing(bool on);
void lazy_tear_down(void); /* hooks of xt_finish, owned objects, this thread's tensors, programs, the device */
void lazy_leave_owned(void); /* this thread ends: what it made is left to the last xt_finish */
bool lazy_left_open(void); /* this thread has recorded something that no boundary has run, or has a pending error */
lazy_ctx *lazy_ctx_get(void); /* of this thread, made at first use; NULL only without memory */
lazy_ctx *lazy_ctx_there(void); /* NULL also when this thread has used none */
void lazy_attend(lazy_ctx *c, const lazy_guest *g); /* g lives as long as the process; attending twice is once */

/* NULL: none or dead. Each op asks it of each operand, so it is no call. */
static inline lazy_slot *lazy_slot_of(lazy_ctx *c, xt_tensor t) {
    if (t.slot == 0 || t.slot >= c->n_slots) return NULL;
    lazy_slot *s = &c->slots[t.slot];
    return s->live && s->generation == t.generation ? s : NULL;
}
/* a step slot; pointers into slots move! */
xt_tensor lazy_slot_new(lazy_ctx *c, const ir_type *type, src_id src, lazy_slot **out);
/* Which of that line's calls one is that gives the program an input, from 0, counted since the step began or a value of
 * it was read: reports tell by it what is the same input in another step. */
uint32_t lazy_call_number(lazy_ctx *c, src_id line);
void lazy_slot_persist(lazy_ctx *c, xt_tensor t);
void lazy_slot_free(lazy_ctx *c, uint32_t index, src_id died);
/* --- older.c --- */
/* Of a result that is in step_slots no more: it dies now, or when there are too many of them. */
void lazy_older_add(lazy_ctx *c, uint32_t index, src_id died);
bool lazy_older_read(lazy_ctx *c, uint32_t index); /* the slot has a leaf, and may be one of theirs; false: no memory */
void lazy_older_end(lazy_ctx *c, src_id died); /* all of them die */
bool lazy_was_finished(xt_tensor t); /* made by this thread before its xt_finish */
void lazy_dead_error(lazy_ctx *c, xt_tensor t, const xt_src *src, const char *what); /* reports a dead handle */
/* a tensor of a failed op, without an error of its own */
xt_tensor lazy_error_slot(lazy_ctx *c, src_id src);
/* NULL with an error pending */
const ir_type *lazy_checked_type(const xt_src *src, const char *what, xt_dtype dtype, int rank, const int64_t *dims);
/* the argument that stands for the slot's buffer; uploads a new state */
ir_value *lazy_leaf_of(lazy_ctx *c, uint32_t slot_index);
/* A program is to run after all: the values that a build left out. *out_gone: how many no longer live (their module was
 * freed); a program may not read them, which lazy_key says. */
xt_status lazy_fill_leaves(lazy_ctx *c, size_t *out_gone);
/* The error of a program that reads one of those. */
xt_status lazy_leaf_gone(void);
/* fn(c, t, src) for each tensor that is recorded, at the line src, while ctx.eager is on */
void lazy_on_recorded(void (*fn)(lazy_ctx *c, xt_tensor t, const xt_src *src));
/* takes the leaf's reference over, also when it gives NULL */
ir_value *lazy_new_leaf(lazy_ctx *c, const ir_type *type, lazy_leaf leaf);
int64_t lazy_take_now(lazy_ctx *c); /* now_ns, used up, or the clock */
bool lazy_debug_word(const char *word); /* XT_DEBUG has it */
/* what is switched before the first op of a trace is not of it */
void lazy_flags_anew(lazy_ctx *c);
/* Ends all but the first `keep`. *out_at: where the first of those began, 0 if there was none. */
void lazy_autocasts_end(lazy_ctx *c, size_t keep, src_id *out_at);
xt_status lazy_new_trace(lazy_ctx *c); /* an empty module for the next step */
/* what hangs on the ops; lazy_new_trace uses their memory again */
void lazy_clear_trace(lazy_ctx *c);
void lazy_drop_trace(lazy_ctx *c);
/* bits of ir_value.user: wants a gradient; xt_grad_of is after it; see lazy_key_tree; and of first results: a read has
 * needed the op, lazy_note_derived was called for it, it brings in a number (scalar.c) */
enum {
    LAZY_V_GRAD = 1,
    LAZY_V_ASKED = 2,
    LAZY_V_REACHED = 4,
    LAZY_V_BASE = 8,
    LAZY_V_READ = 16,
    LAZY_V_DERIVED = 32,
    LAZY_V_NUMBER = 64
};
/* ir_op.user: flags are known; recorded where no gradient was wanted */
enum { LAZY_OP_SETTLED = 1, LAZY_OP_NO_GRAD = 2, LAZY_OP_CUSTOM = 8 /* from this bit on: lazy_custom + 1 */ };
bool lazy_v_no_grad(const ir_value *v); /* lazy_no_grad_value was called for it */
void lazy_settle(lazy_ctx *c); /* the flags of everything recorded so far */
bool lazy_v_needs_grad(const ir_value *v);
/* an operand, or a value that its regions read, has the bit */
bool lazy_op_reads(const ir_op *op, uint64_t bit);

/* --- loops (loop.c) --- */
/* true, with an error that `what` cannot be done there, inside the body of a loop */
bool lazy_in_loop(lazy_ctx *c, const xt_src *src, const char *what);
/* u32: the number of this run of the innermost body in a run of the body of `until` (NULL: in the step); NULL where
 * there is no loop between them */
ir_value *lazy_loop_draw(lazy_ctx *c, ir_builder *b, const lazy_loop *until);
/* How often what is recorded now runs in that time. */
uint32_t lazy_loop_runs(const lazy_ctx *c, const lazy_loop *until);

/* A number at this line has become data, the last one in that step (scalar.c). */
bool lazy_number_changed(src_id at, int64_t *out_step, double *out_was, double *out_now);
/* The first that did behind `step`. */
bool lazy_number_changed_since(int64_t step, src_id *out_at, double *out_was, double *out_now);

/* --- uploads (scalar.c, state.c) --- */
xt_status lazy_upload_pack(lazy_ctx *c, lazy_pack *p);
xt_status lazy_upload_packs(lazy_ctx *c);
xt_status lazy_upload_state(lazy_ctx *c, lazy_slot *s);
/* --- states that are divided over ranks (layout.c) --- */
/* where this rank has its part, be it on the device (a lazy_buf) or, of one that was taken off it, on the host; NULL:
 * it has none yet */
const void *lazy_part_of(const lazy_slot *s);
struct lazy_whole *lazy_whole_of(const lazy_slot *s); /* what was brought together of that part; NULL: nothing */
void lazy_pack_scalar(lazy_pack *p, int at, double v);
/* p as an argument of the trace, unless it is one; NULL: no memory */
ir_value *lazy_pack_arrives(lazy_ctx *c, lazy_pack *p);
/* words [at, at + words) of a pack as a vector; of f64 a number is two words and one element */
ir_value *lazy_pack_take(lazy_ctx *c, ir_builder *b, xt_dtype dtype, int words, lazy_pack **out_pack, int *out_at);
typedef struct lazy_draw {
    uint32_t runs; /* how many draws it is: of a loop's body, one for each run */
    bool apart; /* under xt_no_grad_begin */
} lazy_draw;
void lazy_pack_rng(lazy_ctx *c, lazy_pack *p, int at, lazy_draw d); /* and counts it */

#endif
