/* What the layers above (nn, optim, data, metrics, train, diag) use of the lazy core besides the public tensor API.
 *
 * A slot is what a handle names. Its value is one of: a node of this step's trace (ir_value), a device buffer (a leaf),
 * or an error.
 *  - step tensors die at the boundary; kept ones become buffers there.
 *  - state (parameters, batch-norm statistics, optimizer state, log accumulators) is kept from birth; lazy_assign gives
 *    it a new value in this step: reads later in the step see the new value, the boundary turns it into the buffer, in
 *    place by aliasing where the type allows.
 * A boundary collects the roots (assigned state, kept tensors, requested values), hashes what they reach, finds or
 * compiles the program, executes it, and ends the step. One thread's trace is one context; the device is shared by
 * the process. */
#ifndef XT_SRC_LAZY_H
#define XT_SRC_LAZY_H

#include <stdatomic.h>

#include <xtrain/diag.h>
#include <xtrain/tensor.h>

#include "base/call_path.h"
#include "device/device.h"
#include "ir/ir.h"

typedef enum lazy_role {
    LAZY_ACTIVATION,
    LAZY_PARAMETER,
    LAZY_BUFFER,
    LAZY_OPTIMIZER,
    LAZY_GRADIENT,
    LAZY_BATCH,
    LAZY_VALUE,
    LAZY_LOG,
    LAZY_ROLE_COUNT
} lazy_role;
const char *lazy_role_name(lazy_role r);

/* --- core/inside.c: functions of the user's that the library is calling, of this thread. What ends a step, or frees
 * what such a function was handed, is refused while it runs. Each of them is called between these two (the sink of
 * xt_set_sink alone lies below them: log_in_sink), but hooks of the Trainer and what only one entry calls, which
 * lazy_uses marks (src/api): tests/cli/inside.sh has all that the headers declare.
 *
 *     lazy_inside_fn call;
 *     lazy_enter(&call, "the function of xt_forward", m);     the last, a handle or NULL, is pinned
 *     y = m->fn(m, x, m->user);
 *     lazy_leave(&call);
 */
typedef struct lazy_inside_fn {
    int depth;
    const char *before; /* what this thread of the library's was in; NULL: a thread of the program's */
} lazy_inside_fn;
void lazy_enter(lazy_inside_fn *call, const char *what, const void *held);
/* What a call of the program's uses until it returns, or is left by longjmp: functions of the user's that it calls may
 * not free it. The entries of such calls begin with lazy_uses and end with lazy_used; lazy_use adds to the innermost.
 */
int lazy_uses(const char *call, const char *frame); /* frame: of the entry */
/* Where a public function begins. Calls of the library's whose frames lie below its own have been left, by longjmp or
 * an exception out of a function of the program's: what they had switched is put back as it was before (gradients,
 * autocast, whose line errors have, the step of random draws), and the sink is nobody's. */
void lazy_forget_left_calls(const char *frame);
#define LAZY_FORGET_LEFT() \
    if (__builtin_expect(frames_noted != 0, false)) lazy_forget_left_calls(__builtin_frame_address(0))
void lazy_use(const void *handle); /* NULL is allowed */
void lazy_used(int mark); /* what lazy_uses gave */
/* So many such calls are within each other that the stack of this thread may be nearly full, and it is. */
bool lazy_too_deep(void);
const char *lazy_in_use(void); /* the innermost such call of this thread, "xt_fit"; NULL: none */
/* The same for a function whose ops are taken up when it has returned: no step ends in it. */
void lazy_enter_whole(lazy_inside_fn *call, const char *what);
void lazy_leave(const lazy_inside_fn *call);
bool lazy_in_whole(const xt_src *src, const char *what); /* refuses `what`, which ends a step, within one */
/* fn() before the device is closed: what is of it is given back, and what waits for it ends. Once per process */
void lazy_at_device_close(void (*fn)(void));
/* NULL: this process may compute; it may not where it was forked from one whose device was open, or in which a thread
 * of the library's was at work. `what` was asked for. */
xt_status lazy_forked(const char *what, const xt_src *src);
bool lazy_is_forked(void); /* it may not */
const char *lazy_inside(void); /* what the innermost is; NULL: none */
bool lazy_holds(const void *p); /* one of those that this thread is in was handed p */
/* The functions of the program's that the library's own threads call (a dataset's, a logger's): nothing there catches
 * what such a function throws, so the process ends in it, and its last line names the function. A thread of the
 * library says once that it is one, and lazy_enter what it calls. */
void lazy_thread_is_ours(void);
const char *lazy_thread_in(void); /* NULL: none; for signal handlers too */

/* --- recording --- */
/* The builder of this thread's trace, set to `src` and the current module path. Its status is checked and taken by
 * lazy_wrap. Never NULL. */
ir_builder *lazy_begin(const xt_src *src);
/* The value of t in the current trace: a node, or the leaf that stands for its buffer. NULL when t is none, dead or an
 * error: the error is remembered for the lazy_wrap that follows, so composite ops need no checks of their own: builders
 * pass NULL through. */
ir_value *lazy_value(xt_tensor t);
/* A handle for v (dead at the end of the step). v NULL: an error tensor carrying the remembered error or the builder's
 * status; `what` names the op in its message ("xt_conv2d"). requires-grad follows from the operands. */
xt_tensor lazy_wrap(ir_value *v, const char *what);
/* An error tensor: the user's mistake found before anything is recorded. Becomes the thread's pending error if it
 * is the first. */
xt_tensor lazy_error(const xt_src *src, xt_code code, const char *fmt, ...) BASE_PRINTF(3, 4);
/* A shape as the public macros give it; false, with the failure, when one of its dims is 0. */
bool lazy_dims_fit(const xt_src *src, const char *what, int rank, const int64_t *dims);
xt_tensor lazy_failed_tensor(const xt_src *src); /* the same after an error that is pending already */
void lazy_fail(xt_status s); /* makes s the pending error of this thread if there is none; takes s over */
/* as xt_error, but the library's own look: the program has not looked at it by that */
xt_status lazy_pending(void);
/* The public function that this thread is in, by the name that programs call it by, and the call's line. It is made of
 * others, and what one of those refuses is told in its name: entries set it and put back what was there. By value,
 * since a program may leave a call by longjmp. name NULL: it has several names, and tells of itself which it is. */
typedef struct lazy_calling {
    const char *name, *file;
    int line;
} lazy_calling;
extern _Thread_local lazy_calling lazy_called_now;
static inline lazy_calling lazy_calling_begin(const char *name, const xt_src *src) {
    lazy_calling outer = lazy_called_now;
    lazy_called_now = (lazy_calling){src ? name : NULL, src ? src->file : NULL, src ? src->line : 0};
    return outer;
}
static inline void lazy_calling_end(lazy_calling outer) {
    lazy_called_now = outer;
}
/* The called function's name, where the text begins with another one's that it is made of and that is at its line: the
 * program has not written that name. Else NULL. */
const char *lazy_made_for(const xt_src *at, const char *text);
void lazy_tell(xt_status s); /* prints a failure, or gives it to the program's handler; borrows s */
void lazy_tell_pending(void); /* the same for the pending error, if that was not done */
bool lazy_error_told(void); /* of the pending error */
bool lazy_error_handled(void); /* the program has a handler (xt_on_error) */
/* Between the two the errors of this thread are the caller's: nobody is told of them and they do not end the process.
 * What is pending at the end is told then. Where the program has not looked at an error when its step ends, end(user),
 * if there is one, may jump out. They nest. */
typedef struct lazy_hold {
    void (*end)(void *user);
    void *user;
    bool tells; /* an error is told when it arises all the same, and is still the caller's */
    bool trial; /* memory may run out here: no report of that is kept on disk */
    bool of_function; /* around a function of the program's on a thread of the library's: not a pass */
    struct lazy_hold *outer;
} lazy_hold;
void lazy_hold_errors(lazy_hold *h);
void lazy_release_errors(lazy_hold *h);
bool lazy_passes_elsewhere(void); /* another thread is in such a call: a pass of the Trainer */
/* lazy_enter and lazy_leave around a function that gives a status: what it has left pending on a thread of the
 * library's, where no step would end with it, is its error. lazy_call_end gives that, or s. The first is inline because
 * of what a hold knows of the stack. */
typedef struct lazy_called {
    lazy_hold hold;
    lazy_inside_fn inside;
    const char *what;
} lazy_called;
static inline void lazy_call_begin(lazy_called *c, const char *what, const void *held) {
    c->hold = (lazy_hold){.of_function = true};
    c->what = what;
    lazy_enter(&c->inside, what, held);
    if (c->inside.before) lazy_hold_errors(&c->hold);
}
xt_status lazy_call_end(lazy_called *c, xt_status s);
/* The status s that a function of the program's has given, `what` it is: an error, where s is none that it may give
 * away. Whoever calls such a function takes its status by this, or by lazy_call_end. */
xt_status lazy_returned(xt_status s, const char *what);
bool lazy_tell_at_once(bool on); /* of the innermost hold, if there is one; gives what was set */
/* The pending error is out of the way while something runs whose own errors are to be found and told, and is pending
 * again behind it. Without one, put_back leaves what has arisen. */
typedef struct lazy_aside {
    xt_status error;
    int64_t step;
    bool seen, told, lost;
} lazy_aside;
void lazy_set_aside(lazy_aside *a);
void lazy_put_back(lazy_aside *a);
/* At the begin of a boundary of the program's own, `what` at src: an error that nobody has looked at ends the process,
 * or the call of whoever holds it. */
void lazy_end_if_unseen(const char *what, const xt_src *src);
/* the same for a lost rank: at the end of whatever waits for the device */
void lazy_end_if_lost(const char *what, const xt_src *src);
/* steps of the process that had ended when the pending error arose; without one: so far */
int64_t lazy_error_step(void);
/* A public function gives the program a status (status_give). */
void lazy_give_status(xt_status s, const char *name, const xt_src *src, const void *returns_to);
/* One that the program was given, in this thread or in any, and has not looked at: the pending error, if there is
 * none. */
void lazy_fail_by_unseen(bool any_thread);
bool lazy_error_ends(void); /* there is a pending error, and it would */
bool lazy_error_died(void); /* a thread has ended with an error that nobody looked at */
/* A pass of the Trainer has ended, having told its errors and forgotten them. */
typedef enum lazy_call { LAZY_CALL_FIT, LAZY_CALL_VALIDATE, LAZY_CALL_TEST, LAZY_CALL_PREDICT, LAZY_CALLS } lazy_call;
void lazy_call_ended(lazy_call call, const xt_src *src, bool failed);
/* True, with its line: one has failed since the program looked at errors last (xt_error, xt_clear_error), and the same
 * call has not succeeded since. */
bool lazy_failed_call(src_id *out_src);
void lazy_forget_error(void); /* as xt_clear_error, but the library's own: the program has not looked by that */
int lazy_ctx_count(void); /* threads that have used tensors and are there */
void lazy_end_by(void (*fn)(const char *what, const xt_src *src)); /* brings everything to rest before the exit */
void lazy_exit_by(void (*fn)(int code)); /* how this process exits; exit */
void lazy_exit(int code);
const ir_type *lazy_type(xt_tensor t); /* NULL for none, dead or error; records nothing */
/* For each op that reads or writes at the user's indices, of an axis of `count`; from_end: negative ones count from its
 * end. False, with the error pending, when the host has seen one that is outside; under XT_DEBUG=bounds the boundary
 * compares those that the device computes (core/labels.h). */
bool lazy_index_fits(const xt_src *src, const char *what, int64_t count, bool from_end, ir_value *index);
/* The same of lengths of sequences in an axis of so many entries. */
bool lazy_lengths_fit(const xt_src *src, const char *what, int64_t entries, ir_value *lengths);
/* What a tensor's integers are places in, which whoever made it knows (pooling) and its user asks for (unpooling); of
 * what is computed from it nothing is known. NULL: nothing. */
void lazy_note_places(xt_tensor t, const ir_type *of);
const ir_type *lazy_places_of(xt_tensor t);
/* Of the body of a loop: how many such comparisons it holds, and the k-th one's outermost indices, i64 [2]. What makes
 * the loop gives them out of it and puts the outermost of all iterations there, which then is none of the body's. */
size_t lazy_bounds_count(const ir_block *body);
ir_value **lazy_bounds_in(const ir_block *body, size_t k);
void lazy_bounds_forget(const ir_block *body); /* the body is dropped */
/* While on, who called this code (a trainer, its task's training_step) calls xt_backward and the optimizers itself: a
 * second call would double every gradient without a word, and is refused. Gives what was set before. */
bool lazy_steps_for_caller(bool on);
bool lazy_refuse_second_step(const xt_src *src, const char *what); /* true, with the error, while that is on */
bool lazy_is_error(xt_tensor t);
bool lazy_has_failed(xt_tensor t); /* it is there, of an op that failed */
void lazy_tell_dead(const xt_src *src, const char *what, xt_tensor t); /* that is not there: the error of `what` */
src_id lazy_src(xt_tensor t); /* where it was made */

/* --- the body of a loop (loop.c): recorded once, in a block of its own, and run many times; and a branch, which runs
 * once or not at all --- */
typedef struct lazy_loop {
    const char *what; /* for messages: "xt_scan" */
    const xt_src *src;
    ir_block *body; /* args[0] is the iteration, i64 (a branch has none); NULL: the loop could not begin */
    int64_t length; /* 0: not known */
    bool branch;
    const struct lazy_loop *outer;
    ir_builder around; /* where the builder stood */
    ir_op *settled;
    size_t first_slot; /* tensors of the step there were */
} lazy_loop;
/* From here on ops are recorded in l->body; l is the caller's and must stay where it is until lazy_loop_end, which
 * must follow unless this fails. */
xt_status lazy_loop_begin(lazy_loop *l, const char *what, const xt_src *src, int64_t length);
xt_status lazy_branch_begin(lazy_loop *l, const char *what, const xt_src *src); /* the same, without arguments */
/* The builder stands again where it stood, and handles of the body are dead. What the builder met in the body is the
 * status. */
xt_status lazy_loop_end(lazy_loop *l);
/* True, with an error that `what` cannot be done there, while the body of a loop is recorded. */
bool lazy_refuse_in_loop(const xt_src *src, const char *what);

/* --- states --- */
/* A state slot with host bytes as its first value (copied; NULL = zeros). `name` is the full path for ledgers and
 * checkpoints. */
xt_tensor lazy_state_new(const xt_src *src, lazy_role role, const char *name, xt_dtype dtype, int rank,
                         const int64_t *dims, const void *data);
xt_tensor lazy_state_take(const xt_src *src, lazy_role role, const char *name, xt_dtype dtype, int rank,
                          const int64_t *dims,
                          void *data); /* the same; base_malloc'ed data is taken over, also on failure */
/* A value of a state that is made when it is first used, and never where another one takes its place before: what a
 * file has or a generator of random numbers draws. `fill` writes all of it, into memory of the device where that can be
 * (upload.c). `free` is called once, in any case. */
typedef struct lazy_source {
    xt_status (*fill)(void *user, const ir_type *type, void *memory);
    void (*free)(void *user);
    void *user;
} lazy_source;
/* A state that was made before it was known what for is that, made at src. */
void lazy_state_becomes(const xt_src *src, xt_tensor state, lazy_role role);
/* Both take the source over, also on failure. */
xt_tensor lazy_state_from(const xt_src *src, lazy_role role, const char *name, const ir_type *type, lazy_source from);
xt_status lazy_state_refill(xt_tensor state, lazy_source from); /* as lazy_state_write */
void lazy_assign(xt_tensor state, xt_tensor value); /* types must match */
/* Two states of one type change their values, without a program: after a boundary, before either is used in the next
 * step. False when they cannot. */
bool lazy_state_swap(xt_tensor a, xt_tensor b);
/* A new state begins as another one was before this step, whose program is none the wiser. False: the step has given
 * that one another value already, or the device has none of it. */
bool lazy_state_begins_as(xt_tensor fresh, xt_tensor other);
xt_status lazy_state_read(xt_tensor state, void *dst, size_t n); /* waits; the value as of the last boundary */
/* Of a state that is dropped next: a value that is still to be made is made in dst alone, and not on the device. */
xt_status lazy_state_read_last(xt_tensor state, void *dst, size_t n);
xt_status lazy_state_write(xt_tensor state, const void *data, size_t n);
/* --- states in host memory (host_state.c): between steps they can wait there, as a new state waits for its
 * first use --- */
/* Starts bringing states to the host; memory[i], where not NULL, is room for the i-th and is taken over.
 * lazy_to_host_finish waits, takes them off the device and frees m. A state must not be used in the step being recorded
 * when its move is finished. */
typedef struct lazy_move lazy_move;
xt_status lazy_to_host(size_t n, const xt_tensor *states, void *const *memory, lazy_move **out);
xt_status lazy_to_host_finish(lazy_move *m); /* NULL: nothing to do */
/* Puts a state that waits in host memory onto the device; *out_memory (base_free) is the room it leaves, or NULL. */
xt_status lazy_state_upload(xt_tensor state, void **out_memory);
/* A value that outlives its step by itself, with a role in the ledger and the name of `of`: xt_drop it. */
xt_tensor lazy_carry(const xt_src *src, lazy_role role, ir_value *v, xt_tensor of);
/* A handle of its own, kept, for a value that is a buffer already: xt_drop it. None: it is still to be computed, or it
 * is a state, whose buffer the next step may update in place. Nothing is recorded. */
xt_tensor lazy_share(const xt_src *src, xt_tensor t);
bool lazy_is_kept(xt_tensor t); /* by xt_keep, and no state */
/* Handles that a part of the library has made for itself are given back behind its work: those made since. */
size_t lazy_tensors_made(void);
void lazy_tensors_drop(size_t made);
/* Steps of the program's loops that hold an update, be it of several optimizers, which rows and periods of loops
 * without a trainer count: a boundary ends one, and an optimizer that steps again begins another. Of all threads, since
 * the start; of the step being recorded. */
int64_t lazy_loop_steps(void);
int lazy_loop_steps_recorded(void);
void lazy_loop_steps_pause(
    bool on); /* of this thread: a trainer's fit or pass is under way, and has steps of its own */
/* A tensor over a buffer that is on the device already (loader batches); takes the reference over. Dies at the
 * next boundary. */
xt_tensor lazy_from_buffer(const xt_src *src, lazy_role role, device_buffer *b);
/* One element of data that changes from step to step: all of a step travel in one packed upload. */
xt_tensor lazy_scalar(const xt_src *src, xt_dtype dtype, double v);
/* A number at this line was a constant of the program and is data from now on: the report of the next program names
 * it. */
void lazy_number_became_data(src_id at, double was, double now);

/* --- compiled step functions ---
 * A function given to xt_compile is recorded once; later calls only run its program. What a subsystem does on the host
 * while an op is recorded (counting a step, turning a page of a schedule) must happen at those calls too, so it
 * registers it where it does it; numbers that the host makes anew at each step come from a function. Both are done at
 * each replay in the order of the recording. A plain lazy_scalar in a compiled function makes it be recorded again at
 * every call: right, but slow, and reported with its line. */
typedef struct lazy_replay {
    bool (*valid)(void *user); /* may the recording be replayed now? NULL: yes */
    void (*before)(void *user); /* at its place in the recording's order, before the program starts */
    void (*after)(void *user); /* once it was started */
    /* when the recording is forgotten; NULL: user is borrowed, and lazy_replay_forget comes before it dies */
    void (*release)(void *user);
    void *user;
} lazy_replay;
bool lazy_tracing(void); /* a compiled step function is being recorded */
void lazy_on_replay(const lazy_replay *r); /* outside of a recording: only calls release */
void lazy_replay_forget(const void *user); /* `user` dies: recordings that would call it are dropped */
/* A scalar that is value(user) now and at each replay. */
xt_tensor lazy_scalar_from(const xt_src *src, xt_dtype dtype, double (*value)(void *user), void *user);
/* Notes that a module (any number that never means another) went to or came from evaluation mode: recordings are kept
 * apart by it. */
/* t wants gradients from now on, or none: xt_requires_grad. True: it is a parameter that steps have used, and this is
 * news, which makes the next program another one; whoever calls says so once, with what the user called (kept) and for
 * which parameters (NULL: all that there are). */
bool lazy_train(const xt_src *src, xt_tensor t, bool on);
bool lazy_trains(xt_tensor t); /* it wants gradients */
void lazy_note_freeze(const xt_src *src, const char *call, const char *of);
void lazy_note_momentum(const xt_src *src); /* an optimizer that had stepped got a momentum here: another such cause */
void lazy_mode_toggle(const xt_src *src, uint64_t module); /* src: where it was turned; NULL = inside the library */
/* modes.c: what this thread's modules are for, by the same numbers. A program evaluates while what its optimizers train
 * is in evaluation mode (a teacher that always is says nothing, nor does a module whose optimizer has not stepped since
 * one was last put back into training mode); without an optimizer, while any module is. */
typedef enum lazy_module_is {
    LAZY_MODULE_TRAINING,
    LAZY_MODULE_EVALUATING,
    LAZY_MODULE_OPTIMIZED,
    LAZY_MODULE_STEPPED, /* by an optimizer: if it is in evaluation mode it trains in it, until a mode is said again */
    LAZY_MODULE_GONE
} lazy_module_is;
void lazy_module_now(uint64_t module, lazy_module_is what);
bool lazy_evaluates(void);
/* Since it was asked last, the first such step was recorded: what came before it was none of an evaluation. */
bool lazy_stepped_evaluating(void);

/* --- gradients --- */
/* {0}, with the question that has no answer ("xt_module_find: ..."): what uses it names the newest one. */
xt_tensor lazy_none(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
xt_tensor lazy_grad(xt_tensor t); /* none when there is none */
void lazy_set_grad(xt_tensor t, xt_tensor g); /* none = consumed */
bool lazy_grad_enabled(void);
xt_dtype lazy_autocast(void); /* XT_DTYPE_NONE when off */
void lazy_tell_autocast(void); /* at the end of a program: one has not ended */

/* What is recorded between the two is computed again by the backward pass instead of being kept for it. Blocks nest;
 * without gradients (xt_no_grad) the calls do nothing. */
typedef struct lazy_block {
    bool on;
    int64_t step;
    const ir_op *before;
    size_t inside;
} lazy_block;
lazy_block lazy_block_begin(void);
void lazy_block_end(lazy_block k);

/* Between the two gradients are recorded, also under xt_no_grad_begin: of what somebody asked for by a function. */
int lazy_grad_allow(void);
void lazy_grad_as_before(int was);
/* A derivative of the user's own (custom.c). The op gives its operands (inputs, saved values, outputs) as results; what
 * flows to the outputs goes through `fn` on its way to the inputs, where and how often the op comes to be
 * differentiated: in loops, blocks that are computed again and copies of any kind. `fn` is borrowed until then. */
typedef struct lazy_custom {
    /* fills d_in from handles of this trace, none where nothing flows; false: it failed, with an error pending */
    bool (*fn)(void (*user_fn)(void), void *user, const xt_src *src, const xt_tensor *saved, const xt_tensor *d_out,
               xt_tensor *d_in);
    void (*user_fn)(void);
    void *user;
    src_id src;
    int n_in, n_saved, n_out;
} lazy_custom;
ir_op *lazy_custom_op(const lazy_custom *g, ir_value *const *values);
bool lazy_is_custom(const ir_op *op);
/* What was recorded behind `before` (NULL: in this block) does what `from` did under another form: what from's owner
 * noted (no gradient was wanted) holds for it, and for `to` what was noted of `v`. */
void lazy_note_replayed(const ir_op *from, ir_op *before);
/* `copy` is `from` with other operands: all that was noted holds. in_region: it stands in a region that was made by
 * hand, else behind what was recorded last. */
void lazy_note_copy(const ir_op *from, ir_op *copy, bool in_region);
void lazy_note_value(const ir_value *v, ir_value *to);
void lazy_no_grad_value(ir_value *v); /* nothing flows back through v (detach, the max of a softmax) */
bool lazy_needs_grad(const ir_value *v); /* a gradient flows to what v was computed from */
void lazy_want_grad(ir_value *v); /* and to v itself, an argument of a block, if its type has derivatives */
/* [4] ui32 of data: seed low, seed high, which draw of the optimizer step, optimizer step (draw.c). The same draw never
 * repeats over a run. */
xt_tensor lazy_rng_key(const xt_src *src);
/* The first of `draws` draws that nobody else has: word 2 counts them. */
xt_tensor lazy_rng_keys(const xt_src *src, uint32_t draws);
/* The key of the next draw, which stays the next: for numbers that decide nothing in this step, so that what is drawn
 * behind them is what a step that makes none of them draws there. */
xt_tensor lazy_rng_key_idle(const xt_src *src);
/* From here on this thread's draws are made of `key`, [4] ui32, which counts on from there; a call that is made again
 * with the same key draws the same. k is the caller's until lazy_draws_of_end, which gives how many draws it were. */
typedef struct lazy_given_key {
    ir_value *key;
    uint32_t n;
    const lazy_loop *loop; /* that it was given in */
    struct lazy_given_key *outer;
} lazy_given_key;
void lazy_draws_of(lazy_given_key *k, xt_tensor key);
uint32_t lazy_draws_of_end(lazy_given_key *k);
bool lazy_grad_on(void); /* not under xt_no_grad_begin */
typedef struct lazy_drawn { /* by this thread since xt_seed */
    uint64_t updates; /* optimizer steps */
    uint64_t draws, apart; /* since the last of them; apart: under xt_no_grad_begin */
} lazy_drawn;
void lazy_draws_updated(void); /* an optimizer has stepped */
/* It has not, and the gradients of what was drawn since the update before are gone: that is drawn again. */
void lazy_draws_refused(void);
struct lazy_ctx;
void lazy_draws_dropped(struct lazy_ctx *c, bool updated); /* the step under way, with an update or without */
/* What is recorded and thrown away between the two draws nothing. */
lazy_drawn lazy_draws_now(void);
void lazy_draws_again(lazy_drawn d);
/* The step that random draws of this thread are filed under from here on; < 0: optimizer steps. A trainer counts
 * micro-batches, so that a resumed run draws what the unbroken one drew. */
void lazy_set_draw_step(int64_t step);
/* The same of what comes between two steps, where a loop has several places (from 1 on, at most 127): each has draws of
 * its own, whatever was drawn at the others and in the step before, which a resumed run has not done. */
void lazy_set_draw_place(int64_t step, int place);
typedef struct lazy_draw_mark { /* where a loop's draws are, for one within it that comes and goes */
    int64_t step; /* -1: optimizer steps are counted */
    int64_t draws;
} lazy_draw_mark;
lazy_draw_mark lazy_draws_mark(void);
void lazy_draws_return(lazy_draw_mark m);
bool lazy_draw_step_given(void);

void lazy_check_nan(bool on); /* from the next step of this thread on, as XT_DEBUG=nan */

/* --- module path --- */
void lazy_path_push(const char *name); /* "h.3", "attn": joined with dots */
void lazy_path_pop(void);

/* --- boundaries --- */
typedef enum lazy_cause {
    LAZY_STEP_END,
    LAZY_LOADER,
    LAZY_MARK_STEP,
    LAZY_ITEM,
    LAZY_READ,
    LAZY_FINISH,
    LAZY_CHECKPOINT,
    LAZY_EVAL,
    LAZY_WAIT,
    LAZY_CALL,
    LAZY_ITERATION, /* of a loop without a boundary */
    LAZY_BUILD,
    LAZY_CAUSE_COUNT
} lazy_cause;
const char *lazy_cause_name(lazy_cause c);
bool lazy_within_iteration(lazy_cause c); /* no boundary that the program means as a step's end */
/* false with a pending error: the step's work is dropped, state keeps its old values */
bool lazy_boundary(lazy_cause cause, const xt_src *src);
/* Loops without a boundary (iteration.c): an optimizer says when it steps. False, with an error pending: it may not. */
typedef struct lazy_updater { /* of an optimizer */
    int64_t step; /* in which it stepped last; -1: never */
    src_id at; /* and where */
    call_path path; /* how the program came there; 0: not looked at */
    size_t n_slots, n_calls; /* step slots and calls that were noted by then */
    int64_t nth; /* update of its thread it was then, from 1 */
    int64_t ends_in; /* the loop in which the next iteration's first call ends the step; 0: none */
    int64_t loop_step; /* of its thread, in which it was counted last */
    int64_t steps; /* taken so far, those of a loaded state included */
} lazy_updater;
bool lazy_update_begin(const xt_src *src, const char *what, lazy_updater *u);
void lazy_update_end(const xt_src *src, lazy_updater *u);
/* It has stepped; compiled step functions count at each call. `recorded`: in the step being recorded, which takes it
 * back where it is dropped. */
void lazy_count_update(lazy_updater *u, bool recorded);
/* An optimizer is made, and one dies: a loop begins, or is over. What an earlier one taught of places holds no more. */
void lazy_updater_begin(lazy_updater *u);
void lazy_updater_forget(const lazy_updater *u);
/* A call of a module by the program itself: true, and then lazy_forward_ends follows it. */
bool lazy_forward_begins(const xt_src *src);
void lazy_forward_ends(int n_out, const xt_tensor *out);
/* Some loop may end its steps so: entries tell of each call before it begins, and of the address that it returns to. */
extern atomic_bool lazy_calls_watched;
void lazy_call_begins(const char *what, const xt_src *src, const void *returns_to);
/* Of a function that makes no tensor, but may be an iteration's first: its number among the step's noted calls. */
size_t lazy_call_noted(const xt_src *src);
bool lazy_call_is_ahead(size_t call); /* it is of the iteration behind the latest update, by where it stands */
/* It is of an iteration whose update an earlier step has had: what this one has noted up to it stands below that. */
bool lazy_call_is_late(size_t call);
bool lazy_call_trains(size_t call); /* a module was called for training before it, in the same step */
/* It is of the iteration whose update has come: of the step's only one, or of the newest one where an earlier one has
 * come round and is over. */
bool lazy_call_is_behind(size_t call);
/* Two optimizers have stepped in this step, and it is not known yet whether they are of one iteration or of two loops:
 * what is logged must not be put together before that. */
bool lazy_loops_may_part(void);
bool lazy_trace_is_empty(void); /* nothing is recorded or asked for, and a boundary may come */
/* What a build behind the first so many leaves of a step under way recorded is no use of its parameters. */
size_t lazy_leaves(void);
void lazy_forget_build(size_t n_leaves);
void lazy_end_build(const xt_src *src); /* ends a step that only parameters were made in, which does not count as one */
void lazy_building(bool on); /* in between: values of sources are not asked for unless a program reads them */
/* More programs of the step being recorded, each run after the one before: at the boundary record(user) records the
 * next one, or gives false when there is none. done(user) comes at the end, also when the step failed and none were
 * run. The step counts as one. */
typedef struct lazy_phases {
    bool (*record)(void *user);
    void (*done)(void *user);
    void *user;
} lazy_phases;
/* a compiled step function with it in is recorded at each call: `what` (kept) says why */
void lazy_then(const lazy_phases *p, const char *what);
/* `user` dies before the step ends: its programs are not run */
void lazy_then_not(const void *user);
/* xt_reinitialize: fn(user) lets go of device buffers that no handle names (a loader's next batches). Any number;
 * forget before user dies. */
void lazy_on_reset(void (*fn)(void *user), void *user);
void lazy_reset_forget(const void *user);
/* --- what a step is asked for only sometimes (optional.c) ---
 * A value that is logged or printed under an `if` needs a program that gives it. So that several of them do not need
 * one for each combination that occurs, a step that is asked for some may run a program that has more, where the
 * others are off. */
typedef struct lazy_optional {
    uint64_t id; /* of what is asked for: the same in every step, not 0 */
    uint64_t kind; /* what else its ops depend on */
    double number; /* and a constant of theirs */
    const char *what;
    src_id src;
    ir_value *values[2]; /* NULL: none */
    bool on;
} lazy_optional;
typedef struct lazy_optional_owner { /* a subsystem's that makes one new value of `state` of them all */
    size_t (*count)(void *user);
    void (*list)(void *user, lazy_optional *out); /* those of the step being ended */
    /* the state's new value anew, from all; those that are off must not change it */
    bool (*record)(void *user, const lazy_optional *all, size_t n);
    xt_tensor (*state)(void *user);
    void (*ended)(void *user); /* the step has */
    void *user;
} lazy_optional_owner;
/* In `before` of an observer, ahead of the numbers (lazy_scalar) that its ops take: what it records then can be
 * recorded anew. */
xt_status lazy_optional_begin(const lazy_optional_owner *o);
/* The step being ended gives an owner's state a value of more than its list tells of: it has a program of its own. */
void lazy_optional_apart(void);
void lazy_optional_forget(const void *user); /* it dies */
/* Where a pass over a loader is: at its newest batch. */
typedef struct lazy_pass {
    const void *loader; /* NULL: there was no batch yet; only its address means something */
    int64_t batch_size, batch, epoch;
    bool padded; /* as below */
    int64_t over; /* the pass has ended, when there were so many lazy_loop_steps, and 1; 0: it goes on */
} lazy_pass;
/* Observers of boundaries (log engine, trainer, diag): `before` may still record (accumulate logs, ask for values);
 * `after` gets the number of the step. Called in order of registration; per process. */
typedef struct lazy_observer {
    void (*before)(void *user, lazy_cause cause);
    void (*after)(void *user, lazy_cause cause, int64_t step, bool ok);
    void *user;
    /* The noted calls before number `calls` (lazy_call_noted) are of an iteration that is over, though its step goes
     * on. */
    void (*came_round)(void *user, size_t calls);
    /* it has no more batches; the last one's boundary has been. outer[kind]: what of either kind it came within; loader
     * NULL: nothing */
    void (*pass_ended)(void *user, const void *loader, const lazy_pass *outer);
    /* it came within one of its kind over `outer`, which goes on */
    void (*pass_left)(void *user, const void *loader, const void *outer, int kind);
} lazy_observer;
xt_status lazy_observe(const lazy_observer *o);
void lazy_pass_ended(const void *loader, const lazy_pass outer[static 2]); /* tells them */
void lazy_pass_left(const void *loader, const void *outer, int kind);
/* fn() on a thread that ends by itself, while it still has all that it made. Once per process. */
void lazy_at_thread_end(void (*fn)(void));
/* fn(user, ...) when the device has finished the program of the step that ends at the next boundary; finished_ns is
 * clock_ns time. */
typedef void (*lazy_done_fn)(void *user, int64_t step, int64_t finished_ns);
void lazy_when_step_done(lazy_done_fn fn, void *user);
/* when the last boundary was over, clock_ns time: for observers, that need not read the clock again */
int64_t lazy_step_began(void);
int64_t lazy_step(void); /* boundaries passed by this thread */
/* drops this thread's trace, slots and states (tests, end of program) */
void lazy_reset_thread(void);
bool lazy_drain(void); /* waits for everything started by this process */
/* Objects a program need not free: xt_finish does, newest first. Freeing one by hand disowns it. False
 * without memory. */
bool lazy_own(void *object, void (*free_fn)(void *));
void lazy_disown(const void *object);
bool lazy_owns(const void *object); /* not freed yet: for those that hold what another may free */
void lazy_free_owned(void);
void lazy_run_finish_hooks(void);
uint64_t lazy_seed(void); /* xt_seed's, else XT_SEED, else 0 */
/* As xt_when_ready, with an answer also when the value never comes. fn NULL: the value is given out by the program
 * but not read. */
/* Notes that `what` (kept) wants something of this step's program which is no output of its own (a logged value): if
 * that makes the program new, the report names it. */
void lazy_note_requester(const xt_src *src, const char *what);
/* `what` (kept) names the function that asks, for reports. */
void lazy_request_value(const xt_src *src, const char *what, xt_tensor t, xt_ready_fn fn, void (*failed)(void *),
                        void *user);
/* For a thread that is about to wait for what it asked for in the step it is recording, which only this thread can
 * end: the requests for `fn` are on their way when this returns, computed by one program of their own as xt_item
 * does, and the step stays as it is; or they have failed, with the line that asked. */
void lazy_requests_now(xt_ready_fn fn);
/* This thread hands out values (it is the reader): what comes behind in its queue never comes while it waits, so
 * it waits for none. */
bool lazy_on_reader(void);
/* The last request was made in a compiled function: replays ask with again(again_user) as user. */
void lazy_request_again(void *(*again)(void *), void *again_user);
double lazy_as_double(const void *element, xt_dtype t);
void lazy_at_finish(void (*fn)(void *), void *user); /* run by xt_finish after the device is idle, newest first */
/* The process-wide client, opened at the first call. */
xt_status lazy_device(device_client **out);
bool lazy_device_is_open(src_id *out_where); /* for xt_launch's refusal to fork */
/* warns when xt_finish was not called; at exit, and at the end of a forked rank */
void lazy_check_finished(void);
/* the process exits while other threads still use the device: nothing is freed at the exit */
void lazy_leave_open(void);
/* nothing is left to do: a program that ends now has missed nothing (xt_fit's end) */
void lazy_at_rest(void);
void lazy_at_work(void); /* and now there is again: a loop of the program's own follows it */
int64_t lazy_peak_step(void); /* the step in which device memory was at its peak */
int lazy_in_flight(void); /* programs that were started and have not finished */
/* asked once, when the first context is made: its error is the thread's pending one */
void lazy_refuse_when(xt_status (*check)(void));
extern bool lazy_refuses; /* the check has found something: entries ask lazy_refusal before they begin */
xt_status lazy_refusal(void); /* NULL: nothing is wrong */
bool lazy_compiling(void); /* the device's compiler is at work, for any thread */
src_id lazy_recording_at(void); /* the line whose op was recorded last, by any thread */
void lazy_wait_idle(void); /* until nothing that was started runs; failures stay pending */
/* The line and module path of op `ordinal` ("n17") of a program in memory, by its number; false when it
 * is not there. */
bool lazy_program_origin(int64_t program, size_t ordinal, src_id *out_src, uint32_t *out_path);
void lazy_on_scope(void (*fn)(const char *name, bool begins)); /* told of xt_scope_begin and xt_scope_end */
/* different programs since the device was opened: what XT_CACHE_ENTRIES would have to be */
int64_t lazy_programs_seen(void);
/* of compiled programs, base_free; NULL when off. why: what keeps it from being used, or "" */
char *lazy_cache_folder(char *why, size_t n);
void lazy_device_close(void); /* after xt_finish: drops the programs and the client */

/* What the loop is at: set by xt_next, read by logs and reports. */
/* How a loader divides its samples over the ranks: what all of them must have alike. */
typedef struct lazy_shard {
    int64_t parts; /* 1: it does not, or who opens its stream does */
    int64_t samples, batch, batches; /* of the dataset; of one rank; of an epoch */
    uint64_t seed;
    bool shuffle;
    src_id made; /* the line of xt_loader_new */
} lazy_shard;
enum { LAZY_TRAINED, LAZY_EVALUATED };
enum { LAZY_OPEN_PASSES = 6 }; /* passes within passes; what lies deeper comes within none */
typedef struct lazy_open_pass {
    lazy_pass at;
    int kind;
    lazy_pass around; /* the newest batch of all as it began */
} lazy_open_pass;
typedef struct lazy_position {
    int64_t batch_size, batch, epoch, samples; /* samples: of this rank, since the start of the run */
    /* the loader fills up its last batch: batch_size is no constant of the program */
    bool padded;
    /* of a trainer's fit: the optimizer step under way, or the last one, as its rows count them; else 0 */
    int64_t step;
    /* a trainer's "validation", "test" or "sanity check", while it is under way; else NULL */
    const char *pass;
    const void *loader; /* that gave the batch; only its address means something */
    lazy_shard shard; /* that loader's */
    int64_t uncounted; /* of the batch, which are not in `samples`: an evaluation's */
    /* Of the training, and of an evaluation, whichever has given the newest batch. Behind a pass that came within
     * another one of its kind, that one goes on. */
    lazy_pass passes[2];
    lazy_open_pass open[LAZY_OPEN_PASSES]; /* that are not over; each comes within those before it */
    int n_open;
} lazy_position;
lazy_position *lazy_position_of_thread(void);
/* The loader is asked for a batch: passes that came within its own were left. */
void lazy_pass_goes_on(const void *loader);
/* The position is at a new batch; `around`: where it was. */
void lazy_batch_given(lazy_pass around);
/* The loader's pass has ended (observers are told first), or was left: the next one begins anew. */
void lazy_pass_ends(const void *loader);
void lazy_pass_over(const void *loader);
/* What reports call the step: a trainer's optimizer step, which validations do not count in; in a loop of one's own
 * `step`, which counts boundaries. */
int64_t lazy_shown_step(int64_t step);
/* time since the last boundary that was spent on something else (waiting for a batch) */
void lazy_not_recording(int64_t ns);
/* fn gets the value a state has now (as of the last boundary) when it arrives, on the reader thread. The program of the
 * step is not touched. */
void lazy_state_when_ready(xt_tensor state, xt_ready_fn fn, void (*failed)(void *), void *user);

/* --- what happened: events for reports (see diag) --- */
typedef enum lazy_program_source { LAZY_FROM_MEMORY, LAZY_FROM_DISK, LAZY_COMPILED } lazy_program_source;
/* Why a program was not in memory, by kind; lazy_why_name gives the words reports use, lazy_why_advice what to
 * do about it. */
typedef enum lazy_why {
    LAZY_WHY_KNOWN,
    LAZY_WHY_FIRST,
    LAZY_WHY_EVICTED,
    LAZY_WHY_READ,
    LAZY_WHY_SHAPE,
    LAZY_WHY_DTYPE,
    LAZY_WHY_CONSTANT,
    LAZY_WHY_PRINT,
    LAZY_WHY_NEW_VALUE,
    LAZY_WHY_LOST_VALUE,
    LAZY_WHY_FLAG,
    LAZY_WHY_OPS,
    LAZY_WHY_STATES,
    LAZY_WHY_ACCUMULATION,
    LAZY_WHY_OTHER_STEP,
    LAZY_WHY_DEBUG,
    LAZY_WHY_COUNT
} lazy_why;
const char *lazy_why_name(lazy_why w);
const char *lazy_source_name(lazy_program_source s); /* "memory", "disk", "compiled" */
typedef struct lazy_event {
    lazy_cause cause;
    lazy_program_source source;
    bool forced; /* a read in the middle of a step */
    bool debugs; /* XT_DEBUG=eager or nan looks at it: no read of the program's */
    bool evaluation; /* recorded without gradients or in evaluation mode */
    src_id src; /* the user's line that caused it */
    uint32_t path;
    int64_t step;
    int64_t at_ns; /* when it was started; 0: not noted */
    int64_t number; /* of executions so far, from 1 */
    int64_t compile_number; /* when compiled: from 1 */
    int64_t program; /* number of the program, from 1 */
    size_t ops, inputs, outputs;
    int64_t hash_ns, lower_ns, disk_ns, compile_ns, store_ns; /* the phases of a miss */
    int64_t device_before, rss_before; /* bytes before a miss; rss is 0 when unknown */
    hash128 key;
    lazy_why why;
    /* why the program was not known: "first program", "batch [128,1,28,28] became [96,1,28,28] at
     * train.c:41 ...", ... */
    const char *reason;
    const char *advice; /* what to do about it; "" when nothing need be done */
    /* a program that every run of this kind needs: "first program", "first evaluation"; NULL otherwise */
    const char *expected;
    device_exec_stats stats;
    size_t n_phases; /* of a miss: what the plugin says of compiling (or loading) it */
    const device_compile_phase *phases;
} lazy_event;
typedef void (*lazy_event_fn)(void *user, const lazy_event *e);
void lazy_on_event(lazy_event_fn fn, void *user);

/* --- ledger --- */
typedef struct lazy_live { /* one live device buffer */
    src_id src, kept; /* where it was made, and where xt_keep was called for it; 0: nowhere */
    uint32_t path; /* interned */
    lazy_role role;
    int64_t bytes, step; /* step of birth */
    const ir_type *type;
} lazy_live;
size_t lazy_live_buffers(lazy_live *out, size_t max); /* gives the number there are; any thread */
/* grouped by line, path and role, largest first; gives the number of groups */
int lazy_ledger_rows(xt_memory_row *rows, int max);
/* the same as text, for messages; with what grew since the step remembered */
void lazy_append_ledger(str *out, int rows);
void lazy_ledger_remember(int64_t step); /* what is alive now is what later growth is measured from */
void lazy_ledger_forget(void);
typedef struct lazy_group {
    src_id src, kept; /* kept: of one of them */
    uint32_t path;
    lazy_role role;
    int64_t bytes, count;
} lazy_group;
size_t lazy_ledger_groups(lazy_group *out, size_t max); /* largest first, no older results; gives their number */

bool lazy_rehearsing(void); /* first values of states need not be made: nobody reads them */

#endif
