/* Inside the log engine. */
#ifndef XT_SRC_METRICS_LOG_INT_H
#define XT_SRC_METRICS_LOG_INT_H

#include "metrics/log.h"
#include "metrics/log_kind.h"

typedef struct log_metric {
    char *name;
    xt_log_opts o; /* settled */
    xt_log_opts given; /* as the call had them */
    const char *call; /* that logs it, as the program has it: "xt_log_value"; NULL: of a checkpoint */
    src_id src;
    int64_t at; /* its first row in the state, of kind.count */
    log_kind kind; /* without `finish` one row, a mean or what o.reduce says; kind.reduce: log_kind_of */
    bool unknown; /* of a checkpoint: it has a function, which its next log call brings */
    /* from a checkpoint or an earlier fit: its sums wait for the first log call of this name, which
     * brings its options */
    bool restored;
    bool own; /* the trainer's, which gives the name to the task when it logs it */
    bool within_call; /* a compiled function logs it */
    int loaders; /* it was logged of validation loaders before this number; 0: there is one */
    uint64_t listed; /* log_names.c: where this is the set's `listing`, its first pending value is that one */
    size_t first_pending;
} log_metric;
static inline log_kind log_kind_of(const log_metric *m) {
    log_kind k = m->kind;
    k.reduce = m->o.reduce;
    return k;
}
/* the last two are data of the host */
typedef enum log_weigh { LOG_WEIGH_CONSTANT, LOG_WEIGH_TENSOR, LOG_WEIGH_NUMBER, LOG_WEIGH_SAMPLES } log_weigh;
typedef struct log_pending { /* a value logged in the step being recorded */
    int metric;
    src_id line; /* of the call */
    int64_t updates; /* lazy_loop_steps by then */
    size_t call; /* lazy_call_noted */
    xt_tensor value, weight; /* value: [count], or one element; weight one element, none: weight_value */
    double number, weight_value;
    /* `number` is the value; both enter the step at its end, so that the numbers of other ops do not move with an `if`
     * around a log call */
    bool is_number;
    log_weigh weigh;
    xt_tensor on; /* 0: not logged in this step; none: logged */
    bool strayed; /* of the training by its line alone, though the modes say that this is an evaluation */
    bool held; /* the tensors are the engine's own, kept over steps */
} log_pending;
enum { LOG_BEHIND_STEPS = 16 };
typedef struct log_set { /* one stage */
    log_metric *metrics;
    size_t n, cap;
    map *names; /* of the metrics: their places, from 1 on */
    uint64_t listing; /* of `pending`, by log_names.c */
    log_pending *pending;
    size_t n_pending, cap_pending;
    size_t n_before_step; /* a trainer's: of `pending`, when the step under way began */
    size_t n_recorded; /* of `pending`: what the step being ended has */
    log_pending *behind; /* log_behind.c: the values of some steps, `behind_each` of each */
    size_t n_behind, cap_behind, behind_each;
    double behind_window; /* the stamp of the newest step's */
    bool behind_due, behind_recorded; /* the step being ended is to add them; has them */
    bool behind_pass; /* what the step being ended adds was logged behind the pass over the loader, before an update */
    ir_value *before; /* the state's value before them */
    bool within; /* the step being recorded has changed the state already */
    double began; /* see epoch_of */
    xt_tensor state; /* [rows, LOG_COLUMNS] */
    int64_t rows, used; /* there are; taken by the metrics */
    bool epoch_begins, window_begins;
    int64_t window, row_window; /* windows begun; of them, those that the last row of step values has seen */
    bool opened; /* a trainer's: the next step's window has begun, with what was noted behind an epoch's last step */
    bool fresh; /* something was recorded since the last row of epoch values */
    bool holds; /* what is pending waits for the stage's next step */
    /* whose batches the newest and the epoch's first values were of; NULL: of none */
    const void *loader, *first_loader;
    log_moment noted; /* a plain loop's, at the newest value */
    bool pass_over; /* of a plain loop: its epoch's row is due at the next boundary */
    size_t first_call; /* of a pass of it: lazy_call_noted of its first value, */
    int64_t first_step; /* in this step */
} log_set;
typedef struct log_given { /* a value logged between steps; metric.at: its row in what is sent */
    log_metric metric;
    xt_tensor value, weight; /* none: number, weight_value */
    double number, weight_value;
} log_given;
typedef struct log_seen { /* a name that was logged between steps */
    char *name;
    log_stage stage;
    src_id src;
} log_seen;
typedef struct log_engine { /* of a thread, or of a trainer, while it is the thread's */
    log_set sets[LOG_STAGE_COUNT];
    log_stage stage;
    log_place place;
    log_given *given; /* between steps, for the stage `given_stage` */
    size_t n_given, cap_given;
    log_stage given_stage;
    log_seen *seen; /* log_columns.c */
    size_t n_seen, cap_seen;
    bool manual, row_next; /* row_next, next_step: see log_row_next */
    int64_t next_step, done_step; /* done_step: see log_at_step */
    int64_t samples_rest; /* see log_samples_rest */
    src_id asked; /* the first line that asked for a histogram or an image of the step being recorded; 0: none */
    const char *asked_call, *asked_name; /* "xt_log_image", and of what; both kept */
    bool mute, mute_said, sanity;
    int loader_plus_1; /* 0: there is one */
    int64_t seen_steps; /* of plain loops, as are these: */
    int64_t open_steps; /* not 0: a compiled call has made the steps so many, and what is logged behind it is of it */
    bool updated; /* the step being ended has an update of the program's own, not of a compiled call */
    bool plain; /* one has logged values */
    /* the batch in whose iteration a boundary that the program does not call one (xt_save, a read) ended the newest
     * optimizer step; what is pending was logged behind that, in the same iteration */
    lazy_position ended;
    bool late;
    bool goes_on; /* such a boundary has ended it, and the loop may be in its iteration still: its calls show it */
    int64_t number; /* of a trainer's: from 1, and never another's */
    bool own_sinks; /* see log_enter */
    /* a trainer's pass whose rows go to the files of a loop of the program's own, and where that is */
    bool joins;
    log_moment loop;
    struct log_unread *unread; /* log_unread.c */
    size_t n_unread, cap_unread;
} log_engine;

/* log_queue.c: work for the logger thread. log_work_begin before it is asked for; then one of the other two, from any
 * thread. */
void log_work_begin(void);
void log_work_queue(void (*fn)(void *user), void *user);
void log_work_lost(void);
bool log_give_artifact(const log_artifact *a); /* to all sinks; on the logger thread. False: none of them shows it */
/* A value that work for the logger thread is made of, asked for in the step being recorded; the first member of what
 * waits for it. One of the two functions is called, from any thread. The queue knows no kind of work: whoever waits for
 * the logger thread has all of these values computed. At replays a request may be NULL, which is given to neither. */
typedef struct log_request {
    void (*arrived)(struct log_request *r, const void *data, size_t bytes, xt_dtype dtype);
    void (*lost)(struct log_request *r); /* the value never comes */
} log_request;
void log_step_ended(void); /* what this thread has asked for is on its way */
void log_request_value(const xt_src *src, const char *what, xt_tensor t, log_request *r);
/* For a thread that will wait: what it asked for in the step being recorded is on its way, or failed, when this
 * returns. */
void log_requests_now(void);
void log_open_default_sinks(void); /* once, where there are none */

/* log_rows.c, for log_plain.c: log_emit, of that moment */
void log_emit_at(log_stage s, bool epoch_level, const log_moment *at);
void log_emit_opened(log_stage s, int64_t step); /* the newest window alone; the row after it has it too */
/* For log_between.c: a row of values that do not come from a stage's state. NULL without memory.
 * Filled, it is sent or lost. */
struct log_job;
struct log_job *log_given_row(const log_engine *e, bool epoch_level, int64_t step, const log_given *given, size_t n);
void log_given_fill(struct log_job *j, size_t i, const float *values, float weight);
void log_given_send(struct log_job *j);
void log_given_lost(struct log_job *j);
void log_nothing_row(log_stage s, int64_t step); /* this rank has no epoch values; the others may */

/* log_ranks.c */
bool log_ranks_meet(const log_engine *e); /* at each row of a trainer, whatever they have logged */

/* log_unread.c: histograms and images of a fit's training steps, which only those with a row read. `call` (kept) names
 * the function that was called: "xt_log_histogram". */
void log_unread_note(log_engine *e, const xt_src *src, const char *call, const char *name, bool read);
void log_unread_free(log_engine *e);

/* log_columns.c: the names that values have in rows. Each gives false with an error that names both lines. */
/* `which` of the set has names of its own: it is new, or logged again for the first time in this fit */
bool log_columns_free(const log_engine *e, log_set *set, size_t which, const xt_src *src);
bool log_columns_shared(const log_metric *a, const log_metric *b); /* rows of one stage would have both by one name */
/* Each name that rows of the stage have, with that of its log call, until one gives false. */
typedef bool log_each_column(const char *name, const char *column, void *user);
bool log_columns_each(const log_engine *e, log_stage s, log_each_column *each, void *user);
bool log_columns_known(const log_engine *e, log_stage s, const char *column); /* of the task's values, by rows' names */
bool log_columns_between(log_engine *e, const xt_src *src, const char *name);
void log_columns_forget(log_engine *e, log_stage s); /* a fit or a pass begins */
void log_columns_end(log_engine *e);
enum { LOG_COLUMN_BYTES = 512 };
/* what the metric is called in rows of a level */
void log_column_name(const log_metric *m, int loader_plus_1, bool epoch_level, char out[static LOG_COLUMN_BYTES]);

/* log_names.c */
enum { LOG_BESIDE = 7 };
#define LOG_NONE SIZE_MAX
size_t log_metric_named(const log_set *set, const char *name); /* its place; LOG_NONE */
bool log_metric_push(log_set *set, log_metric m); /* false without memory: the name stays the caller's */
void log_metric_pop(log_set *set); /* the newest, with its name */
void log_metric_unname(log_set *set, size_t which); /* it stays, and nobody finds it */
/* Those that may have the metric's name or one of its columns; LOG_NONE where there is none. */
void log_metrics_beside(const log_set *set, const log_metric *m, size_t out[static LOG_BESIDE]);
bool log_pending_push(log_set *set, log_pending p); /* false without memory */
void log_pending_index(log_set *set); /* behind any other change of the list */
size_t log_pending_first(const log_set *set, size_t metric); /* of its values the first; LOG_NONE */

/* log_between.c */
void log_between_note(log_engine *e, log_given given); /* takes the name over */
void log_between_free(log_engine *e);
bool log_between_sums(const char *name, double *out, size_t n, size_t *out_all); /* as log_between_find */

/* log_engine.c */
log_engine *log_engine_peek(void); /* NULL when nothing was logged on this thread */
int64_t log_engine_number(const log_engine *e); /* 0: NULL, or of no trainer */
void log_engine_set(log_engine *e); /* for log_thread.c */
void log_calls(const char *name); /* kept: the program calls "xt_log_value" */
const char *log_call(void); /* under way, or the latest, for messages */
const void *log_owner(void); /* of rows and sinks that this thread makes now; NULL: all */
bool log_muted(log_engine *e, const char *what, const char *name); /* says so once */

/* log_thread.c */
log_engine *log_engine_get(void); /* opens the thread's engine; NULL without memory */

/* log_plain.c: rows of loops without a trainer */
void log_plain_every(int64_t steps); /* from one row to the next, of all threads, also behind xt_finish; 50 at first */
void log_plain_stage(log_engine *e); /* the stage is the one that the modules' modes say */
void log_plain_before(log_engine *e, lazy_cause cause); /* a boundary, and log_record_step after it */
void log_plain_after(log_engine *e, lazy_cause cause);
void log_plain_pass_ended(log_engine *e, const void *loader, const lazy_pass *outer);
void log_plain_pass_left(log_engine *e, const void *loader, const void *outer, int kind);
void log_plain_last_rows(log_engine *e, bool may_run); /* may_run: a boundary, be it one that opens the device */
void log_plain_tell_lost(const log_engine *e); /* the program ends, and nobody will write them */
/* `metric` is logged again, and what is pending of it is of an iteration, or of a micro-batch, that is over, though its
 * step is not. `updates`: of what is pending, see log_pending. `ahead`: the call is the first of the next iteration's
 * that logs it. */
void log_plain_round(log_engine *e, log_set *set, int metric, int64_t updates, bool ahead);
/* A call is about to be noted for the training: what was logged behind such a boundary, in the iteration of the update
 * before it, is none of the iteration's that the call is of. */
void log_plain_goes_on(log_engine *e, size_t call);
/* The same of what was logged before the noted call number `calls`, just before an optimizer steps again. */
void log_plain_came_round(log_engine *e, size_t calls);

/* log_record.c: what was noted for the step in one stage is of another one, with that one's defaults. */
void log_pending_move(log_engine *e, log_stage from, log_stage to);
/* No update has come: if what was noted as of the training by its line alone is none, that is an error. */
void log_pending_refuse_strayed(log_engine *e);

/* log_again.c */
/* Both are of one metric and one step; *into is what they are together. Takes what *p holds. */
void log_again(const xt_src *src, const log_metric *m, log_pending *into, log_pending *p);

/* log_behind.c */
/* The first n of what is pending wait, as buffers and numbers, for a program that adds several steps. False: they
 * cannot. */
bool log_behind_take(log_set *set, size_t n);
bool log_behind_full(const log_set *set); /* no more steps may wait */
bool log_behind_meets(const log_set *set); /* what is pending must come behind what waits */
void log_behind_record(log_set *set); /* what waits is added in the step being recorded */
void log_behind_send(log_set *set); /* between steps: what waits is added now, by a step of its own */
void log_behind_drop(log_set *set);

/* log_held.c */
void log_pending_drop(log_pending *p); /* its tensors, if they are ours */
/* The next step's window has begun, and has all that was noted for it. */
bool log_held_opened(log_set *set);
int64_t log_held_rows(const log_set *set); /* that a checkpoint has behind those of the state, for what is pending */
xt_status log_held_save(const log_set *set, float *rows); /* they are 0; waits for the device */
xt_status log_held_restore(log_set *set, int metric, log_weigh weigh, bool is_number, const float *rows);

/* log_step.c */
void log_record_step(log_engine *e); /* before a boundary */
/* Of the first n of what is pending, those of one name become one value; how many are left of them. */
size_t log_pending_merge(log_set *set, size_t n);
void log_record_round(log_set *set,
                      size_t n); /* the first n of what is pending are added within the step, which goes on */

xt_tensor log_samples(const xt_src *src, const log_set *set); /* of the stage's batch: data */
/* Where the stage's pass is: values of a training weigh its batch, also behind a validation's. */
lazy_pass log_pass_of(const log_engine *e, const log_set *set);

/* The parts of that, for log_behind.c: */
struct log_step;
/* epoch, window: see log_beginning */
bool log_record_update(log_set *set, const xt_src *src, const struct log_step *l, xt_tensor epoch, xt_tensor window);
void log_step_noted(log_set *set); /* the stage has got a step's values */

/* log_update.c */
typedef struct log_step { /* what a step's update adds */
    const log_pending *list;
    size_t n;
    bool switched; /* each has its `on` */
    /* NULL, or, for the same metrics: what the columns of the epoch gain, where the list is the newest of several steps
     * (value: the sum of value * weight); their smallest and largest values, as value and weight */
    const log_pending *epoch, *range;
} log_step;
typedef struct log_beginning { /* data of the step, scalars: */
    ir_value *epoch; /* columns before it begin anew */
    ir_value *window; /* the stamp of the window that the step is in */
} log_beginning;
/* the next state; NULL without memory */
ir_value *log_updated(ir_builder *b, const log_set *set, const log_step *l, ir_value *state,
                      const log_beginning *begins);
double log_stamp(int64_t window); /* LOG_STAMP of a window, by its number from 0 on */
float *log_empty_rows(int64_t rows); /* [rows, LOG_COLUMNS] of nothing logged; base_free, NULL without memory */

#endif
