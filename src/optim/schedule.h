/* Inside the schedules: one object for all kinds, a descriptor a kind with its formula, composites with children. */
#ifndef XT_SRC_OPTIM_SCHEDULE_H
#define XT_SRC_OPTIM_SCHEDULE_H

#include <pthread.h>

#include "optim/optim.h"

typedef struct schedule_numbers { /* a kind uses those it knows */
    double gamma, start, end, power, eta_min, max_lr, low_lr, pct, div, final_div, low_m, high_m;
    int64_t length, mult, up, down; /* length: step_size, total_iters, t_max, t_0, total_steps */
    int64_t milestones[XT_SCHEDULE_MOST];
    size_t n_milestones;
    bool linear, three_phase, cycles_momentum, multiplicative;
    xt_cyclic_mode mode;
    xt_schedule_fn fn;
    void *user;
} schedule_numbers;

typedef struct schedule_plateau {
    xt_plateau_schedule_opts o; /* settled; monitor interned */
    double best;
    int64_t bad, cooling;
    pthread_mutex_t lock; /* over arrived */
    double arrived[64]; /* values of tensors, in order, not yet used */
    size_t n_arrived;
} schedule_plateau;

typedef struct schedule_kind {
    const char *name;
    /* the rate at s->at, from the group's rate now */
    double (*rate)(const struct xt_scheduler *s, size_t group, double now);
    double (*closed)(const struct xt_scheduler *s, size_t group); /* the same from s->at alone; NULL: rate does */
    void (*advance)(struct xt_scheduler *s); /* s->at goes on by one; NULL: just that */
    double (*momentum)(const struct xt_scheduler *s); /* NULL: not moved */
} schedule_kind;
extern const schedule_kind schedule_sequential, schedule_chained, schedule_on_plateau;

struct xt_scheduler {
    const schedule_kind *kind;
    xt_optimizer *opt;
    xt_interval interval;
    double *base; /* a group: its first rate */
    size_t n_base;
    int64_t at; /* PyTorch's last_epoch */
    bool initial; /* during the step that making it takes */
    schedule_numbers n;
    int64_t t_cur, t_i; /* warm restarts */
    schedule_plateau *plateau;
    struct xt_scheduler *children[XT_SCHEDULE_MOST];
    size_t n_children;
    bool refused; /* its last step was an error */
    src_id made;
    struct { /* schedule_watch.c */
        int64_t by_program, by_trainer; /* steps */
        double first_lr; /* of group 0 before the first */
        bool told;
    } watch;
};

/* A schedule of opt, attached to it, with its first rates set unless `begin` is false. NULL with a pending error:
 * status `s` (taken over), or no memory. */
xt_scheduler *schedule_new(const schedule_kind *k, xt_optimizer *opt, const char *what, xt_status s,
                           const schedule_numbers *n, xt_interval interval, bool begin);
void schedule_value(xt_scheduler *s, double value); /* plateau */
/* xt_schedule_step, and xt_schedule_step_value of what the Trainer watches, by the Trainer itself */
void schedule_step_of_fit(xt_scheduler *s);
void schedule_value_of_fit(xt_scheduler *s, double value);
void schedule_watch_step(xt_scheduler *s, bool by_trainer); /* it is about to step */
/* An error of a step: calls that step have no line of their own without debug information, so it has the line that made
 * the schedule. */
void schedule_fail(const xt_scheduler *s, xt_status e);

#endif
