/* The schedules' formulas, each as in torch.optim.lr_scheduler: `rate` is get_lr (from the rate before, so that
 * schedules chain), `closed` its _get_closed_form_lr, which a sequence uses where the next part takes over. s->at is
 * PyTorch's last_epoch; 0 during the first call. */
#include <math.h>

#include "optim/schedule.h"

typedef const xt_scheduler *S;

/* --- step, multistep, exponential --- */
static double step_rate(S s, size_t g, double now) {
    (void)g;
    return s->at == 0 || s->at % s->n.length != 0 ? now : now * s->n.gamma;
}
static double step_closed(S s, size_t g) {
    return s->base[g] * pow(s->n.gamma, (double)(s->at / s->n.length));
}

static double multistep_rate(S s, size_t g, double now) {
    int hits = 0;
    (void)g;
    for (size_t i = 0; i < s->n.n_milestones; i++) hits += s->n.milestones[i] == s->at;
    return hits ? now * pow(s->n.gamma, hits) : now;
}
static double multistep_closed(S s, size_t g) {
    int passed = 0;
    for (size_t i = 0; i < s->n.n_milestones; i++) passed += s->n.milestones[i] <= s->at;
    return s->base[g] * pow(s->n.gamma, passed);
}

static double exponential_rate(S s, size_t g, double now) {
    (void)g;
    return s->initial ? now : now * s->n.gamma;
}
static double exponential_closed(S s, size_t g) {
    return s->base[g] * pow(s->n.gamma, (double)s->at);
}

/* --- constant, linear, polynomial --- */
static double constant_rate(S s, size_t g, double now) {
    if (s->at == 0) return now * s->n.start;
    if (s->at != s->n.length) return now;
    return s->n.start == 0 ? s->base[g] : now * (1 / s->n.start); /* of a rate of 0 nothing is left to go back from */
}
static double constant_closed(S s, size_t g) {
    return s->base[g] * (s->at >= s->n.length ? 1 : s->n.start);
}

static double linear_closed(S s, size_t g) {
    double t = (double)(s->at < s->n.length ? s->at : s->n.length);
    return s->base[g] * (s->n.start + (s->n.end - s->n.start) * t / (double)s->n.length);
}
static double linear_rate(S s, size_t g, double now) {
    double slope = s->n.end - s->n.start;
    if (s->at == 0) return now * s->n.start;
    if (s->initial || s->at > s->n.length) return now;
    if (s->at == 1 && s->n.start == 0) return linear_closed(s, g); /* from 0 no factor leads on */
    return now * (1 + slope / ((double)s->n.length * s->n.start + (double)(s->at - 1) * slope));
}

static double polynomial_rate(S s, size_t g, double now) {
    double n = (double)s->n.length;
    (void)g;
    if (s->initial || s->at > s->n.length) return now;
    return now * pow((1 - (double)s->at / n) / (1 - (double)(s->at - 1) / n), s->n.power);
}
static double polynomial_closed(S s, size_t g) {
    double t = (double)(s->at < s->n.length ? s->at : s->n.length);
    return s->base[g] * pow(1 - t / (double)s->n.length, s->n.power);
}

/* --- cosines --- */
static double cosine_rate(S s, size_t g, double now) {
    double t = (double)s->n.length, low = s->n.eta_min, at = (double)s->at;
    if (s->initial) return now;
    if ((s->at - 1 - s->n.length) % (2 * s->n.length) == 0) return now + (s->base[g] - low) * (1 - cos(M_PI / t)) / 2;
    return (1 + cos(M_PI * at / t)) / (1 + cos(M_PI * (at - 1) / t)) * (now - low) + low;
}
static double cosine_closed(S s, size_t g) {
    return s->n.eta_min + (s->base[g] - s->n.eta_min) * (1 + cos(M_PI * (double)s->at / (double)s->n.length)) / 2;
}

static void restarts_advance(xt_scheduler *s) {
    if (s->at++ < 0) return; /* the first call: t_cur is 0 */
    s->t_cur++;
    if (s->t_cur < s->t_i) return;
    s->t_cur %= s->t_i;
    s->t_i *= s->n.mult;
}
static double restarts_rate(S s, size_t g, double now) {
    (void)now;
    return s->n.eta_min + (s->base[g] - s->n.eta_min) * (1 + cos(M_PI * (double)s->t_cur / (double)s->t_i)) / 2;
}

/* --- one cycle (Smith and Topin 2018) --- */
static double anneal(S s, double from, double to, double pct) {
    return s->n.linear ? (to - from) * pct + from : to + (from - to) / 2 * (cos(M_PI * pct) + 1);
}

typedef struct phase {
    double end; /* its last step */
    int from, to, m_from, m_to; /* rates: 0 first, 1 max, 2 min; momenta: 0 low, 1 high */
} phase;

static phase phase_now(S s, double *out_pct) {
    double total = (double)s->n.length, start = 0;
    const phase three[] = {
        {s->n.pct * total - 1, 0, 1, 1, 0}, {2 * s->n.pct * total - 2, 1, 0, 0, 1}, {total - 1, 0, 2, 1, 1}};
    const phase two[] = {{s->n.pct * total - 1, 0, 1, 1, 0}, {total - 1, 1, 2, 0, 1}};
    const phase *p = s->n.three_phase ? three : two, *last = s->n.three_phase ? three + 2 : two + 1;
    while (p < last && (double)s->at > p->end) start = (p++)->end;
    *out_pct = ((double)s->at - start) / (p->end - start);
    return *p;
}
static double one_cycle_rate(S s, size_t g, double now) {
    double pct, first = s->base[g], rates[] = {first, first * s->n.div, first / s->n.final_div};
    phase p = phase_now(s, &pct);
    (void)now;
    return anneal(s, rates[p.from], rates[p.to], pct);
}
static double one_cycle_momentum(S s) {
    double pct, momenta[] = {s->n.low_m, s->n.high_m};
    phase p = phase_now(s, &pct);
    return anneal(s, momenta[p.m_from], momenta[p.m_to], pct);
}
static void one_cycle_advance(xt_scheduler *s) {
    if (++s->at <= s->n.length) return;
    s->refused = true;
    schedule_fail(s, status_new(XT_OUT_OF_RANGE, NULL,
                                "xt_one_cycle_schedule: step %lld of a schedule of .total_steps = %lld",
                                (long long)s->at, (long long)s->n.length));
}

/* --- cyclic (Smith 2017) --- */
/* The height over the base, 0 to 1, with the mode's decay. */
static double height(S s) {
    double total = (double)s->n.up + (double)s->n.down, ratio = (double)s->n.up / total, at = (double)s->at;
    double cycle = floor(1 + at / total), x = 1 + at / total - cycle;
    double up = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
    return up * (s->n.mode == XT_TRIANGULAR2 ? 1 / pow(2, cycle - 1)
                 : s->n.mode == XT_EXP_RANGE ? pow(s->n.gamma, at)
                                             : 1);
}
static double cyclic_rate(S s, size_t g, double now) {
    double ratio = s->n.low_lr == 0 ? s->opt->groups[g].lr_ratio : s->base[g] / s->n.low_lr;
    (void)now;
    return s->base[g] + (ratio * s->n.max_lr - s->base[g]) * height(s);
}
static double cyclic_momentum(S s) {
    return s->n.high_m - (s->n.high_m - s->n.low_m) * height(s);
}

/* --- a function of the caller's --- */
static double lambda_rate(S s, size_t g, double now) {
    if (!s->n.multiplicative) return s->base[g] * s->n.fn(s->at, s->n.user);
    return s->initial ? now : now * s->n.fn(s->at, s->n.user);
}

static const schedule_kind step = {"step", step_rate, step_closed, NULL, NULL},
                           multistep = {"multistep", multistep_rate, multistep_closed, NULL, NULL},
                           exponential = {"exponential", exponential_rate, exponential_closed, NULL, NULL},
                           constant = {"constant", constant_rate, constant_closed, NULL, NULL},
                           linear = {"linear", linear_rate, linear_closed, NULL, NULL},
                           polynomial = {"polynomial", polynomial_rate, polynomial_closed, NULL, NULL},
                           cosine = {"cosine", cosine_rate, cosine_closed, NULL, NULL},
                           restarts = {"warm_restarts", restarts_rate, NULL, restarts_advance, NULL},
                           one_cycle = {"one_cycle", one_cycle_rate, NULL, one_cycle_advance, one_cycle_momentum},
                           cyclic = {"cyclic", cyclic_rate, NULL, NULL, cyclic_momentum},
                           lambda = {"lambda", lambda_rate, NULL, NULL, NULL};

/* --- making --- */
#define COUNT(type, field, help) \
    { #field, help, OPTION_I64, offsetof(type, field), 1, 1e15, NULL }
#define CHECK(rows, type, what) options_check(rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(type), what)

static xt_status needed(xt_status e, const char *what, const char *field, bool given) {
    return e || given ? e : status_new(XT_INVALID_ARGUMENT, NULL, "%s.%s is needed", what, field);
}

xt_scheduler *xt_step_schedule_opt(const xt_src *src, xt_optimizer *o, xt_step_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {COUNT(xt_step_schedule_opts, step_size, "period"),
                                      OPTIM_ROW(xt_step_schedule_opts, gamma, 0, 1e30, "factor")};
    xt_status e = CHECK(rows, xt_step_schedule_opts, "xt_step_schedule");
    e = needed(e, "xt_step_schedule", "step_size", p.step_size != XT_UNSET);
    return schedule_new(&step, o, "xt_step_schedule", e, &(schedule_numbers){.length = p.step_size, .gamma = p.gamma},
                        p.interval, true);
}

xt_scheduler *xt_multistep_schedule_opt(const xt_src *src, xt_optimizer *o, xt_multistep_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {OPTIM_ROW(xt_multistep_schedule_opts, gamma, 0, 1e30, "factor")};
    schedule_numbers n = {0};
    xt_status e = CHECK(rows, xt_multistep_schedule_opts, "xt_multistep_schedule");
    for (; n.n_milestones < XT_SCHEDULE_MOST && p.milestones[n.n_milestones]; n.n_milestones++) {
        n.milestones[n.n_milestones] = p.milestones[n.n_milestones];
        if (!e && p.milestones[n.n_milestones] < 1)
            e = status_new(XT_INVALID_ARGUMENT, NULL, "xt_multistep_schedule.milestones: %lld; each is at least 1",
                           (long long)p.milestones[n.n_milestones]);
    }
    /* the first 0 ends the list */
    for (size_t i = n.n_milestones; i < XT_SCHEDULE_MOST && !e; i++)
        if (p.milestones[i])
            e = status_new(
                XT_INVALID_ARGUMENT, NULL,
                "xt_multistep_schedule.milestones: number %zu is 0, and %lld stands behind it; each is at least 1",
                n.n_milestones, (long long)p.milestones[i]);
    n.gamma = p.gamma;
    return schedule_new(&multistep, o, "xt_multistep_schedule",
                        needed(e, "xt_multistep_schedule", "milestones", n.n_milestones > 0), &n, p.interval, true);
}

xt_scheduler *xt_exponential_schedule_opt(const xt_src *src, xt_optimizer *o, xt_exponential_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {OPTIM_ROW(xt_exponential_schedule_opts, gamma, 0, 1e30, "factor")};
    xt_status e = CHECK(rows, xt_exponential_schedule_opts, "xt_exponential_schedule");
    e = needed(e, "xt_exponential_schedule", "gamma", p.gamma != XT_AUTO);
    return schedule_new(&exponential, o, "xt_exponential_schedule", e, &(schedule_numbers){.gamma = p.gamma},
                        p.interval, true);
}

xt_scheduler *xt_linear_schedule_opt(const xt_src *src, xt_optimizer *o, xt_linear_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_linear_schedule_opts, start_factor, 0, 1, "of the rate, at first"),
        OPTIM_ROW(xt_linear_schedule_opts, end_factor, 0, 1, "of the rate, at the end"),
        COUNT(xt_linear_schedule_opts, total_iters, "length"),
    };
    xt_status e = CHECK(rows, xt_linear_schedule_opts, "xt_linear_schedule");
    schedule_numbers n = {.start = p.start_factor, .end = p.end_factor, .length = p.total_iters};
    return schedule_new(&linear, o, "xt_linear_schedule", e, &n, p.interval, true);
}

xt_scheduler *xt_constant_schedule_opt(const xt_src *src, xt_optimizer *o, xt_constant_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {OPTIM_ROW(xt_constant_schedule_opts, factor, 0, 1, "of the rate"),
                                      COUNT(xt_constant_schedule_opts, total_iters, "length")};
    xt_status e = CHECK(rows, xt_constant_schedule_opts, "xt_constant_schedule");
    return schedule_new(&constant, o, "xt_constant_schedule", e,
                        &(schedule_numbers){.start = p.factor, .length = p.total_iters}, p.interval, true);
}

xt_scheduler *xt_polynomial_schedule_opt(const xt_src *src, xt_optimizer *o, xt_polynomial_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {OPTIM_ROW(xt_polynomial_schedule_opts, power, 0, 1e9, "exponent"),
                                      COUNT(xt_polynomial_schedule_opts, total_iters, "length")};
    xt_status e = CHECK(rows, xt_polynomial_schedule_opts, "xt_polynomial_schedule");
    return schedule_new(&polynomial, o, "xt_polynomial_schedule", e,
                        &(schedule_numbers){.power = p.power, .length = p.total_iters}, p.interval, true);
}

xt_scheduler *xt_cosine_schedule_opt(const xt_src *src, xt_optimizer *o, xt_cosine_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {COUNT(xt_cosine_schedule_opts, t_max, "half a period"),
                                      OPTIM_ROW(xt_cosine_schedule_opts, eta_min, 0, 1e6, "lowest rate")};
    xt_status e = CHECK(rows, xt_cosine_schedule_opts, "xt_cosine_schedule");
    e = needed(e, "xt_cosine_schedule", "t_max", p.t_max != XT_UNSET);
    return schedule_new(&cosine, o, "xt_cosine_schedule", e,
                        &(schedule_numbers){.length = p.t_max, .eta_min = p.eta_min}, p.interval, true);
}

xt_scheduler *xt_warm_restarts_schedule_opt(const xt_src *src, xt_optimizer *o, xt_warm_restarts_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        COUNT(xt_warm_restarts_schedule_opts, t_0, "length of the first cycle"),
        COUNT(xt_warm_restarts_schedule_opts, t_mult, "factor of the length"),
        OPTIM_ROW(xt_warm_restarts_schedule_opts, eta_min, 0, 1e6, "lowest rate"),
    };
    xt_status e = CHECK(rows, xt_warm_restarts_schedule_opts, "xt_warm_restarts_schedule");
    e = needed(e, "xt_warm_restarts_schedule", "t_0", p.t_0 != XT_UNSET);
    schedule_numbers n = {.length = p.t_0, .mult = p.t_mult, .eta_min = p.eta_min};
    return schedule_new(&restarts, o, "xt_warm_restarts_schedule", e, &n, p.interval, true);
}

/* The rate every group begins with, in its ratio to group 0. */
static void begin_at(xt_optimizer *o, double lr) {
    for (size_t g = 0; o && g < o->n_groups; g++)
        o->groups[g].initial_lr = o->groups[g].h.lr = lr * o->groups[g].lr_ratio;
}

xt_scheduler *xt_one_cycle_schedule_opt(const xt_src *src, xt_optimizer *o, xt_one_cycle_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_one_cycle_schedule_opts, max_lr, 1e-30, 1e6, "highest rate"),
        COUNT(xt_one_cycle_schedule_opts, total_steps, "length"),
        OPTIM_ROW(xt_one_cycle_schedule_opts, pct_start, 1e-9, 1, "share of the rise"),
        OPTIM_ROW(xt_one_cycle_schedule_opts, base_momentum, 0, 1, "lowest momentum"),
        OPTIM_ROW(xt_one_cycle_schedule_opts, max_momentum, 0, 1, "highest momentum"),
        OPTIM_ROW(xt_one_cycle_schedule_opts, div_factor, 1e-30, 1e30, "max_lr / first rate"),
        OPTIM_ROW(xt_one_cycle_schedule_opts, final_div_factor, 1e-30, 1e30, "first rate / last rate"),
        OPTIM_SWITCH(xt_one_cycle_schedule_opts, linear, "straight lines"),
        OPTIM_SWITCH(xt_one_cycle_schedule_opts, cycle_momentum, "moves the momentum"),
        OPTIM_SWITCH(xt_one_cycle_schedule_opts, three_phase, "falls as long as it rises, then to the last rate"),
    };
    xt_status e = CHECK(rows, xt_one_cycle_schedule_opts, "xt_one_cycle_schedule");
    e = needed(e, "xt_one_cycle_schedule", "max_lr", p.max_lr != XT_AUTO);
    e = needed(e, "xt_one_cycle_schedule", "total_steps", p.total_steps != XT_UNSET);
    schedule_numbers n = {.length = p.total_steps,
                          .pct = p.pct_start,
                          .low_m = p.base_momentum,
                          .high_m = p.max_momentum,
                          .div = p.div_factor,
                          .final_div = p.final_div_factor,
                          .linear = p.linear == XT_ON,
                          .cycles_momentum = p.cycle_momentum != XT_OFF,
                          .three_phase = p.three_phase == XT_ON};
    if (!e) begin_at(o, p.max_lr / p.div_factor);
    return schedule_new(&one_cycle, o, "xt_one_cycle_schedule", e, &n, p.interval, true);
}

xt_scheduler *xt_cyclic_schedule_opt(const xt_src *src, xt_optimizer *o, xt_cyclic_schedule_opts p) {
    SRC_CALLED_FROM(src);
    static const option_row rows[] = {
        OPTIM_ROW(xt_cyclic_schedule_opts, base_lr, 0, 1e6, "lowest rate"),
        OPTIM_ROW(xt_cyclic_schedule_opts, max_lr, 1e-30, 1e6, "highest rate"),
        COUNT(xt_cyclic_schedule_opts, step_size_up, "length of the rise"),
        COUNT(xt_cyclic_schedule_opts, step_size_down, "length of the fall"),
        OPTIM_ROW(xt_cyclic_schedule_opts, gamma, 0, 1e30, "of XT_EXP_RANGE"),
        OPTIM_ROW(xt_cyclic_schedule_opts, base_momentum, 0, 1, "lowest momentum"),
        OPTIM_ROW(xt_cyclic_schedule_opts, max_momentum, 0, 1, "highest momentum"),
        OPTIM_SWITCH(xt_cyclic_schedule_opts, cycle_momentum, "moves the momentum"),
    };
    xt_status e = CHECK(rows, xt_cyclic_schedule_opts, "xt_cyclic_schedule");
    e = needed(e, "xt_cyclic_schedule", "base_lr", p.base_lr != XT_AUTO);
    e = needed(e, "xt_cyclic_schedule", "max_lr", p.max_lr != XT_AUTO);
    if (!e && (unsigned)p.mode > XT_EXP_RANGE)
        e = status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_cyclic_schedule.mode = %d: expected XT_TRIANGULAR, XT_TRIANGULAR2 or XT_EXP_RANGE",
                       (int)p.mode);
    schedule_numbers n = {.low_lr = p.base_lr,
                          .max_lr = p.max_lr,
                          .up = p.step_size_up,
                          .down = p.step_size_down == -1 ? p.step_size_up : p.step_size_down,
                          .mode = p.mode,
                          .gamma = p.gamma,
                          .low_m = p.base_momentum,
                          .high_m = p.max_momentum,
                          .cycles_momentum = p.cycle_momentum != XT_OFF};
    if (!e) begin_at(o, p.base_lr);
    return schedule_new(&cyclic, o, "xt_cyclic_schedule", e, &n, p.interval, true);
}

xt_scheduler *xt_lambda_schedule_opt(const xt_src *src, xt_optimizer *o, xt_schedule_fn fn, xt_lambda_schedule_opts p) {
    SRC_CALLED_FROM(src);
    xt_status e = fn ? NULL : status_new(XT_INVALID_ARGUMENT, NULL, "xt_lambda_schedule: the function is NULL");
    schedule_numbers n = {.fn = fn, .user = p.user, .multiplicative = p.multiplicative == XT_ON};
    return schedule_new(&lambda, o, "xt_lambda_schedule", e, &n, p.interval, true);
}
