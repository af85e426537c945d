/* Loops in which nothing ends the step: for (...) { forward; xt_backward; xt_optimizer_step; }. An optimizer that steps
 * a second time in one step shows that its loop has no boundary. The update that came last before it is the last of an
 * iteration, and from then on the first xt_forward behind that update ends the step, as an xt_mark_step at the head of
 * the loop would: what an iteration reads and logs behind its update is still a part of it. The step in which this
 * is learned has two iterations, all others one.
 *
 * The program says nowhere what it goes on to use, so more stays alive here than behind an xt_mark_step:
 *  1. what was recorded or made behind the update, for it may be the next iteration's;
 *  2. losses that xt_backward was called for, until the next iteration has ended;
 *  3. tensors that have a buffer, while each iteration reads them, and those that were there before the loop;
 *  4. what a line made that the second iteration took over from the first (a hidden state).
 *
 * Not ended are: steps whose boundaries a trainer sets, compiled step functions (a second step of an optimizer is an
 * error there), and loops in which gradients flow from one iteration into the one before. */
#include "lazy/step/step.h"

struct lazy_iteration {
    lazy_updater *by; /* the latest update of this trace; NULL: none */
    ir_op *op; /* the last one recorded then */
    size_t n_slots; /* and how many step slots there were */
    src_id *carried; /* lines of rule 4 */
    size_t n_carried, cap_carried;
};

static void trace_cleared(lazy_ctx *c) {
    c->iteration->by = NULL;
}

static void freed(lazy_ctx *c) {
    base_free(c->iteration->carried);
    base_free(c->iteration);
    c->iteration = NULL;
}

static const lazy_guest guest = {.trace_cleared = trace_cleared, .freed = freed};

/* --- what lives on --- */
static bool is_carried(const lazy_iteration *it, src_id line) {
    for (size_t i = 0; i < it->n_carried; i++)
        if (it->carried[i] == line) return true;
    return false;
}

static bool keep(lazy_ctx *c, uint32_t index, src_id at) {
    lazy_slot *s = &c->slots[index];
    lazy_request q = {.t = {index, s->generation}, .value = s->value, .to_slot = true, .asked = {"xt_forward", at}};
    s->outlives_step = true;
    return VEC_PUSH(c->requests, c->n_requests, c->cap_requests, q);
}

/* `ours`: the step ends here because the next iteration begins. */
static void keep_tensors(lazy_ctx *c, const lazy_iteration *it, bool ours) {
    bool ok = true;
    for (size_t i = 0; i < c->n_step_slots && ok; i++) {
        lazy_slot *s = &c->slots[c->step_slots[i]];
        if (!s->live || s->persistent || s->failed || s->outlives_step) continue;
        bool behind = i >= it->n_slots;
        if (s->value && (s->is_loss || (ours && (behind || is_carried(it, s->src)))))
            ok = keep(c, c->step_slots[i], it->by->at);
        else if (s->buf && !s->value)
            s->outlives_step = ours && (behind || s->before_loop || s->leaf);
    }
    if (!ok) lazy_fail(status_oom(sizeof(lazy_request), "the tensors of an iteration"));
}

/* Losses live on behind other boundaries too, so that the last iteration runs the program of all. */
static void before_boundary(void *user, lazy_cause cause) {
    (void)user;
    lazy_ctx *c = lazy_ctx_get();
    const lazy_iteration *it = c ? c->iteration : NULL;
    if (it && it->by && it->by->ends_iteration && cause != LAZY_ITERATION && !c->replay_log) keep_tensors(c, it, false);
}

static void observe(void) {
    lazy_observe(&(lazy_observer){.before = before_boundary});
}

static lazy_iteration *iteration_of(lazy_ctx *c) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (c->iteration) return c->iteration;
    pthread_once(&once, observe);
    c->iteration = base_calloc(1, sizeof *c->iteration);
    if (c->iteration) lazy_attend(c, &guest);
    return c->iteration;
}

/* --- learning --- */
/* Values of `mark` that the op reads get the mark + 1. */
static void mark_read(const ir_op *op, uint64_t mark) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->mark == mark) op->in[i]->mark = mark + 1;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            mark_read(in, mark);
}

/* Lists the lines of tensors from before the last update that were read since. False where gradients flow through one:
 * its iteration cannot end without it. */
static bool list_carried(lazy_ctx *c, lazy_iteration *it) {
    uint64_t mark = ir_new_epoch();
    for (size_t i = 0; i < it->n_slots; i++) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        if (s->live && !s->persistent && s->value) s->value->mark = mark;
    }
    for (size_t k = 0; k < c->n_persistent; k++) /* states and what was kept live on anyway, by whatever handle */
        if (c->slots[c->persistent[k]].value) c->slots[c->persistent[k]].value->mark = 0;
    for (const ir_op *op = it->op ? it->op->next : NULL; op; op = op->next) mark_read(op, mark);
    for (size_t i = 0; i < it->n_slots; i++) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        if (!s->live || s->persistent || !s->value || s->value->mark != mark + 1) continue;
        if (lazy_v_needs_grad(s->value)) return false;
        if (!is_carried(it, s->src) && !VEC_PUSH(it->carried, it->n_carried, it->cap_carried, s->src)) return false;
    }
    return true;
}

static void tell(const lazy_updater *u, src_id again) {
    char last[256], at[256];
    if (!env_has_word("XT_DEBUG", "compile")) return;
    log_msg(XT_SEV_INFO,
            "xt_optimizer_step at %s came again and nothing had ended the step: from the next iteration on, the first "
            "xt_forward behind the update at %s ends it, as an xt_mark_step at the head of the loop would",
            src_text(again, at, sizeof at), src_text(u->at, last, sizeof last));
}

static void learn(lazy_ctx *c, lazy_iteration *it, src_id again) {
    if (it->by->ends_iteration || lazy_draw_step_given() || !list_carried(c, it)) return;
    it->by->ends_iteration = true;
    for (size_t i = 0; i < c->n_step_slots; i++) c->slots[c->step_slots[i]].before_loop = true;
    tell(it->by, again);
}

bool lazy_update_begin(const xt_src *src, const char *what, lazy_updater *u) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_iteration *it = c ? iteration_of(c) : NULL;
    if (!it || !it->by || u->step != c->step) return true;
    if (!c->replay_log) {
        learn(c, it, src_intern(src));
        return true;
    }
    char before[256];
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                         "%s in the compiled step function %s, called at %s:%d, is the second of this optimizer; the "
                         "first was at %s. A call is one step, and a step has one update of each optimizer: call the "
                         "function once for each update",
                         what, c->replay_log->step->name, c->replay_log->src->file, c->replay_log->src->line,
                         src_text(u->at, before, sizeof before)));
    return false;
}

void lazy_update_end(const xt_src *src, lazy_updater *u) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_iteration *it = c ? c->iteration : NULL;
    if (!it) return;
    u->step = c->step;
    u->at = src_intern(src);
    it->by = u;
    c->used.updates++;
    it->op = c->b.block->last;
    it->n_slots = c->n_step_slots;
}

void lazy_updater_forget(const lazy_updater *u) {
    lazy_ctx *c = lazy_ctx_there();
    if (c && c->iteration && c->iteration->by == u) c->iteration->by = NULL;
}

/* --- ending --- */
/* Gradients flow into something recorded behind the update: the next iteration has begun without an xt_forward. */
static bool has_begun(const lazy_ctx *c, const lazy_iteration *it) {
    for (size_t i = it->n_slots; i < c->n_step_slots; i++) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        if (s->live && !s->is_state && s->value && lazy_v_needs_grad(s->value)) return true;
    }
    return false;
}

void lazy_forward_begins(const xt_src *src) {
    lazy_ctx *c = lazy_ctx_get();
    const lazy_iteration *it = c ? c->iteration : NULL;
    if (!it || !it->by || !it->by->ends_iteration || c->no_grad || c->replay_log || c->loop || c->in_boundary) return;
    if (lazy_draw_step_given() || has_begun(c, it)) return;
    lazy_end_if_unseen("xt_forward", src);
    keep_tensors(c, it, true); /* before observers record */
    lazy_end_step(c, LAZY_ITERATION, src, 0);
    lazy_end_if_lost("xt_forward", src);
}
