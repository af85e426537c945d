/* Loops in which nothing ends the step: for (...) { forward; xt_backward; xt_optimizer_step; }. An optimizer that steps
 * a second time in one step shows that its loop has no boundary. The update that came last before it is the last of an
 * iteration, and from then on the next iteration's first call behind that update ends the step, as an xt_mark_step at
 * the head of the loop would: what an iteration computes, reads and logs behind its update is still a part of it.
 * iteration_start.c says which calls are an iteration's first. The step in which this is learned has two iterations,
 * all others one.
 *
 * The program says nowhere what it goes on to use, so more stays alive here than behind an xt_mark_step:
 *  1. what was recorded or made behind the update, for it may be the next iteration's;
 *  2. losses that xt_backward was called for, until the next iteration has ended;
 *  3. tensors that have a buffer, while each iteration reads them, and those that were there before the loop;
 *  4. what a line made that the second iteration took over from the first (a hidden state);
 *  5. of an inner loop's steps, what the outer one made in front of it, until the same line makes it anew.
 *
 * A loop may make its optimizers itself (tasks, cycles): one that is made where one was made that is gone, or has
 * stepped since, goes on as that one. Any other begins a loop, for which nothing that was learned of places holds.
 *
 * Not ended are: steps whose boundaries a trainer sets, compiled step functions (a second step of an optimizer is an
 * error there), and loops in which gradients flow from one iteration into the one before. */
#include "lazy/step/iteration.h"
#include "lazy/step/step.h"

enum {
    MARKED = 3, /* after so many steps a loop is known to have boundaries, and nothing is looked at any more */
    LOOKED_EARLY = 512, /* so many calls in front of the first update are */
    MET = 4096, /* so many calls of a step are remembered */
    FOLLOWED = 64, /* so often in a row an update was none of those that end a step, and another one has followed */
    MADE = 256, /* so many optimizers are remembered by where they were made */
    IN_LOOPS = 16, /* of so many steps, what a line made in loops without boundaries is there before another loop */
};

atomic_bool lazy_calls_watched;

/* Where the loop has no boundaries, or is not yet known to have them. */
static bool looks(const lazy_iteration *it) {
    return it->n_marked < MARKED || it->n_first;
}

/* By its latest update, or by each that may be its last one. */
static bool ends_by_itself(const lazy_iteration *it, const lazy_updater *u) {
    return u->ends_in == it->loop;
}

static void trace_cleared(lazy_ctx *c) {
    lazy_iteration *it = c->iteration;
    it->went_on &= !it->by;
    for (size_t i = it->by ? it->calls_then : 0; i < it->n_calls && !it->went_on; i++)
        it->went_on = !lazy_below_last_update(it, it->calls[i].at);
    bool marked = it->by && !ends_by_itself(it, it->by) && !it->goes_on && !it->ended_by_call;
    if (marked && it->n_marked < MARKED) it->n_marked++;
    it->by = NULL;
    it->learned = it->beside = NULL;
    it->n_roots = it->n_calls = it->n_aside = it->n_looked = it->n_met = 0;
    it->turned = SIZE_MAX;
    it->now = (iteration_place){0};
    it->n_flows = 0;
}

static void freed(lazy_ctx *c) {
    lazy_iteration *it = c->iteration;
    for (size_t i = 0; i < it->n_made; i++)
        if (it->made[i].is_freed) base_free(it->made[i].updater);
    base_free(it->made);
    base_free(it->in_front);
    base_free(it->early.at);
    base_free(it->carried.at);
    base_free(it->first);
    base_free(it->behind);
    base_free(it->ended.at);
    base_free(it->closed.at);
    base_free(it->stepped.at);
    base_free(it->followed.at);
    base_free(it->differentiated.at);
    base_free(it->roots);
    base_free(it->calls);
    base_free(it->aside);
    base_free(it->looked);
    base_free(it->met);
    base_free(it);
    c->iteration = NULL;
    c->told = NULL;
}

static const lazy_guest guest = {.trace_cleared = trace_cleared, .freed = freed};

/* --- what lives on --- */
static bool keep(lazy_ctx *c, uint32_t index, src_id at) {
    lazy_slot *s = &c->slots[index];
    lazy_request q = {
        .t = {index, s->generation}, .value = s->value, .to_slot = true, .asked = {"the next iteration", at}};
    s->outlives_step = true;
    return VEC_PUSH(c->requests, c->n_requests, c->cap_requests, q);
}

/* Without memory it dies with its step, as behind an xt_mark_step. */
static void note_in_front(lazy_ctx *c, lazy_iteration *it, size_t i) {
    lazy_slot *s = &c->slots[c->step_slots[i]];
    lazy_in_front made = {{c->step_slots[i], s->generation}, lazy_place_of_call(c, it, i)};
    s->in_front = s->in_front || VEC_PUSH(it->in_front, it->n_in_front, it->cap_in_front, made);
}

static bool is_made_anew(lazy_ctx *c, const lazy_iteration *it, const lazy_in_front *made) {
    for (size_t i = 0; i < it->n_in_front; i++) {
        const lazy_slot *s = lazy_slot_of(c, it->in_front[i].t);
        if (s && s->step == c->step && lazy_is_same_call(it->in_front[i].at, made->at)) return true;
    }
    return false;
}

/* What the same call has made anew in this step. */
static void forget_in_front(lazy_ctx *c, lazy_iteration *it) {
    size_t n = 0;
    for (size_t i = 0; i < it->n_in_front; i++) {
        lazy_slot *s = lazy_slot_of(c, it->in_front[i].t);
        if (s && s->step != c->step && is_made_anew(c, it, &it->in_front[i])) s->in_front = false;
    }
    for (size_t i = 0; i < it->n_in_front; i++) {
        const lazy_slot *s = lazy_slot_of(c, it->in_front[i].t);
        if (s && s->in_front) it->in_front[n++] = it->in_front[i];
    }
    it->n_in_front = n;
}

/* Of step slots [begin, end) all but what modules computed on the way to their results. */
static void mark(lazy_ctx *c, lazy_iteration *it, size_t begin, size_t end) {
    for (size_t i = begin, k = 0; i < end && i < c->n_step_slots; i++) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        while (k < it->n_calls && it->calls[k].end <= i) k++;
        bool within = k < it->n_calls && it->calls[k].begin <= i;
        if (s->live && !s->of_update && s->step == c->step && (!within || s->given_at)) note_in_front(c, it, i);
    }
}

/* What this step had made when the call that is under way, with which the next iteration begins, first came: an outer
 * loop has made it in front of this one, and may read it behind. Where the step holds what is now known to be several
 * iterations, so has it what came since an update and in front of the last of them. A call that has not come in it, and
 * stands below the update, goes on with the iteration: with another update of its optimizer, or to an inner loop. */
static void mark_front(lazy_ctx *c, lazy_iteration *it) {
    size_t n = it->n_met - (it->n_met && !it->met_again), first = 0;
    while (first < n && !lazy_is_same_call(it->met[first].at, it->now)) first++;
    if (first == n && !lazy_below_last_update(it, it->now)) return;
    mark(c, it, 0, first == n ? it->n_slots : it->met[first].slots);
    size_t last = n;
    while (last > first && !lazy_is_same_call(it->met[last - 1].at, it->now)) last--;
    if (it->learned && last > first) {
        size_t begin = --last;
        while (begin > first && it->met[begin - 1].updates == it->met[last].updates) begin--;
        mark(c, it, it->met[begin].slots, it->met[last].slots);
    }
    forget_in_front(c, it);
}

/* `ours`: the step ends here because the next iteration begins. */
static void keep_tensors(lazy_ctx *c, lazy_iteration *it, bool ours) {
    bool ok = true;
    if (ours) mark_front(c, it);
    for (size_t i = 0; i < c->n_step_slots && ok; i++) {
        lazy_slot *s = &c->slots[c->step_slots[i]];
        if (!s->live || s->persistent || s->failed || s->outlives_step) continue;
        bool behind = i >= it->n_slots;
        if (s->value && (s->is_loss || (ours && (behind || s->in_front ||
                                                 iteration_places_have(&it->carried, (iteration_place){s->src, 0})))))
            ok = keep(c, c->step_slots[i], it->by->at);
        else if (s->buf && !s->value)
            s->outlives_step =
                ours && (behind || s->before_loop || s->in_front || s->leaf || s->buf->info.role == LAZY_BATCH ||
                         (s->is_loss && s->buf->info.step + LAZY_FILES >= c->step));
    }
    if (!ok) lazy_fail(status_oom(sizeof(lazy_request), "the tensors of an iteration"));
}

/* Losses live on behind other boundaries too, so that the last iteration runs the program of all. */
static void before_boundary(void *user, lazy_cause cause) {
    (void)user;
    lazy_ctx *c = lazy_ctx_get();
    lazy_iteration *it = c ? c->iteration : NULL;
    if (it) it->goes_on = lazy_within_iteration(cause), it->ended_by_call = cause == LAZY_CALL;
    if (it && it->by && ends_by_itself(it, it->by) && cause != LAZY_ITERATION && !c->replay_log)
        keep_tensors(c, it, false);
}

/* What follows is of the same iteration: another optimizer that steps there begins no step of the loop's. */
static void after_boundary(void *user, lazy_cause cause, int64_t step, bool ok) {
    (void)user, (void)ok;
    lazy_ctx *c = lazy_ctx_there();
    if (!c || !lazy_within_iteration(cause) || c->loop_steps.step_plus_1 != step + 1) return;
    c->loop_steps.step_plus_1 = c->step + 1;
    c->loop_steps.recorded = c->loop_steps.before = 0;
}

static void observe(void) {
    xt_status s = lazy_observe(&(lazy_observer){.before = before_boundary, .after = after_boundary});
    if (s) lazy_fail(s);
}

/* For what is known of optimizers before the first of them steps. */
static lazy_iteration *unwatched(lazy_ctx *c) {
    if (c->iteration) return c->iteration;
    c->iteration = base_calloc(1, sizeof *c->iteration);
    if (!c->iteration) return NULL;
    c->iteration->loop = 1;
    c->iteration->turned = SIZE_MAX;
    lazy_attend(c, &guest);
    return c->iteration;
}

static lazy_iteration *iteration_of(lazy_ctx *c) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    lazy_iteration *it = unwatched(c);
    if (!it || it->is_watching) return it;
    pthread_once(&once, observe);
    it->is_watching = true;
    atomic_store_explicit(&lazy_calls_watched, true, memory_order_relaxed);
    return it;
}

void lazy_watch_ways(lazy_ctx *c) {
    lazy_iteration *it = iteration_of(c);
    if (it) c->told = &it->told;
}

/* --- learning --- */
static void tell(const lazy_iteration *it, src_id again) {
    char last[256], at[256], first[256];
    if (!env_has_word("XT_DEBUG", "compile")) return;
    log_msg(XT_SEV_INFO,
            "xt_optimizer_step at %s came again and nothing had ended the step: from the next iteration on, its first "
            "call behind the update at %s (that at %s) ends it, as an xt_mark_step at the head of the loop would",
            src_text(again, at, sizeof at), src_text(it->by->at, last, sizeof last),
            src_text(it->first[0].at.line, first, sizeof first));
}

/* The step cannot end, and each iteration takes longer than the one before. */
static void tell_flows(src_id update) {
    enum { CERTAIN = 20 };
    static atomic_bool told;
    lazy_iteration *it = lazy_ctx_get()->iteration;
    char at[256];
    if (++it->n_flows < CERTAIN || world_get()->rank != 0 || lazy_rehearsing() || atomic_exchange(&told, true)) return;
    log_msg(XT_SEV_WARNING,
            "xt_optimizer_step at %s: gradients flow from each iteration of the loop into the one before, %d of them "
            "so far, so that nothing can end the step and each takes longer than the one before. xt_detach(tensor) "
            "where an iteration hands a tensor to the next (a hidden state, a sum of losses) ends that",
            src_text(update, at, sizeof at), it->n_flows + 1);
}

/* How the program comes to the call at `at`, which is under way. Looked at each time: a function of the program's own
 * that updates may be called by another one of its loops or ways. */
static iteration_place place_of_update(const lazy_iteration *it, src_id at) {
    bool told = looks(it) && it->now.line == at;
    call_path path = told ? it->now.path : 0;
    return (iteration_place){at, told && !path ? call_path_now(it->told.returns_to, at, it->told.what) : path};
}

/* Of the iteration that another one's second update has shown to be the next one. */
static bool is_others(const lazy_iteration *it, const lazy_updater *u) {
    return it->learned && it->learned != u && it->learned->nth > u->nth;
}

/* Steps that a line has made tensors in, from a tensor on that loops without boundaries have left. */
typedef struct made_in {
    src_id line;
    int64_t step;
    int n;
} made_in;

/* All that is there when a loop is met. A program may meet loops without end, one in each round of another: of what
 * these have left, a line's newest is. */
static void mark_before_loop(lazy_ctx *c, lazy_iteration *it) {
    made_in *lines = NULL;
    size_t n_lines = 0, cap_lines = 0;
    for (size_t i = c->n_step_slots; i-- > 0;) {
        lazy_slot *s = &c->slots[c->step_slots[i]];
        s->before_loop = true;
        if (!it->first_ended || s->step < it->first_ended) continue;
        size_t k = 0;
        while (k < n_lines && lines[k].line != s->src) k++;
        if (k == n_lines && !VEC_PUSH(lines, n_lines, cap_lines, ((made_in){s->src, -1, 0}))) continue;
        if (lines[k].step != s->step) lines[k].n++;
        lines[k].step = s->step;
        s->before_loop = lines[k].n <= IN_LOOPS;
    }
    base_free(lines);
}

static void learn(lazy_ctx *c, lazy_iteration *it, const lazy_updater *u, bool moved, src_id again) {
    size_t calls;
    if (is_others(it, u) || lazy_draw_step_given()) return;
    bool fresh = !lazy_has_ended(it);
    it->n_marked = 0;
    if (!lazy_iteration_learn(c, it, u, place_of_update(it, again), moved, &calls)) {
        if (it->flows) tell_flows(again);
        return;
    }
    it->learned = u;
    /* of a loop that follows one with boundaries, in which nothing was looked at */
    if (it->now.line != again)
        it->now = (iteration_place){again, call_path_now(it->told.returns_to, again, it->told.what)};
    if (u->loop_step == c->loop_steps.of_thread) lazy_came_round(calls); /* else the step is another already */
    bool known = ends_by_itself(it, it->by);
    it->by->ends_in = it->loop;
    /* of an update that is known already, what is here is of its iterations: a loop may learn in each of them */
    if (fresh) mark_before_loop(c, it);
    if (!known) tell(it, again);
}

/* The newest update is of this step, or of one that a save or a read has ended. */
static bool loop_step_goes_on(const lazy_ctx *c) {
    return c->loop_steps.step_plus_1 == c->step + 1 && !c->loop_steps.over;
}

/* Since its last one. */
static bool has_moved(const lazy_iteration *it, const lazy_updater *u, src_id at) {
    return !lazy_is_same_call((iteration_place){u->at, u->path}, place_of_update(it, at));
}

/* It has stepped before in this step, in the same loop. */
static bool is_again(const lazy_ctx *c, const lazy_iteration *it, const lazy_updater *u) {
    return it->by && u->step == c->step && u->nth >= it->parted;
}

/* That one began another loop: what this step has learned of the old one says nothing of it. */
static void part(lazy_ctx *c, lazy_iteration *it) {
    lazy_came_round(it->beside_calls);
    c->loop_steps.before = lazy_loop_steps_recorded();
    lazy_count_loop_step(c, it->beside);
    it->parted = it->beside->nth;
    it->learned = NULL;
}

/* Loops one behind the other, of optimizers that were made beforehand. The first update behind one that iterations are
 * known to end with is of the same iteration, or of another loop. Which, is told by the next update of an optimizer
 * that has stepped meanwhile: the loop is the same where one of before comes back to where it was, and so it is from
 * then on; or where the same one steps again further down in the same block. Of the same iteration is what stands below
 * in the block of the loop. */
static void part_loops(lazy_ctx *c, lazy_iteration *it, lazy_updater *u, src_id at) {
    bool came = (it->by && u->step == c->step) || (u->nth && u->loop_step == c->loop_steps.of_thread);
    if (it->beside && came) {
        iteration_place now = place_of_update(it, at);
        bool came_back = lazy_has_ended_with(it, now) && lazy_above_last_update(it, now);
        bool since = u->nth >= it->beside->nth;
        const lazy_updater *latest = since ? u : it->beside;
        bool one = lazy_stands_above(now, it->beside_last) || /* a loop that has both has come round */
                   lazy_in_one_body(it->beside_last, (iteration_place){latest->at, latest->path}, now);
        if (!one && (since || (has_moved(it, u, at) && !came_back)))
            part(c, it);
        else if (!lazy_note_followed(it, (iteration_place){it->beside->at, it->beside->path}))
            lazy_fail(status_oom(sizeof(iteration_place), "where an optimizer steps"));
        it->beside = NULL;
    }
    bool behind = it->last_by && it->last_by != u && loop_step_goes_on(c);
    bool may_part = !it->beside && behind && (!is_again(c, it, u) || is_others(it, u));
    iteration_place now = may_part ? place_of_update(it, at) : (iteration_place){0};
    bool is_other = (lazy_comes_round(it) && !lazy_in_last_loop(it, now)) ||
                    lazy_is_nearer(it->called, it->last_update, now); /* of calls that the last one's loop has */
    if (may_part && is_other && !lazy_has_followed(it, now)) {
        it->beside = u;
        it->beside_last = it->last_update;
        it->beside_calls = it->by ? lazy_calls_behind(it, now) : 0;
    }
    /* it may be the first one of another loop, in the middle of whose iterations it stands */
    if ((it->beside || u->nth < it->parted) && !lazy_has_ended_with(it, place_of_update(it, at))) u->ends_in = 0;
}

/* A compiled call may end the step before another update tells, and tells itself: it is of the loop with which it
 * shares a block. */
void lazy_call_parts_loops(lazy_ctx *c, const xt_src *src) {
    lazy_iteration *it = c->iteration;
    if (!it || !it->by || c->replay_log) return;
    it->called = place_of_update(it, src_intern(src));
    bool parts =
        it->beside && lazy_is_nearer(it->called, (iteration_place){it->beside->at, it->beside->path}, it->beside_last);
    if (!parts) return;
    part(c, it);
    it->beside = NULL;
}

/* The iteration is over, in the middle of a step: what noted calls before number `calls` have logged is of that one,
 * and any optimizer's next update is a step of the loop's, or of another loop's. */
static void end_loop_step(lazy_ctx *c, lazy_iteration *it, size_t calls) {
    if (!loop_step_goes_on(c)) return;
    lazy_came_round(calls);
    it->beside = NULL;
    c->loop_steps.over = true;
    c->loop_steps.before = lazy_loop_steps_recorded();
}

/* The program has come back to above the latest update, and steps now where the loop's newest step has not: the next
 * iteration's first update is of another optimizer than the first one's (one under an `if`, two in turns). One place
 * that steps several optimizers is a loop over networks within an iteration. */
static void turn(lazy_ctx *c, lazy_iteration *it, const lazy_updater *u, iteration_place at) {
    bool same = u->loop_step == c->loop_steps.of_thread || lazy_has_stepped(it, at);
    if (it->by && it->turned != SIZE_MAX && !same) end_loop_step(c, it, it->turned);
    bool begins = !loop_step_goes_on(c) || u->loop_step == c->loop_steps.of_thread;
    if (begins) it->stepped.n = 0;
    if (!lazy_note_stepped(it, at)) lazy_fail(status_oom(sizeof at, "where an optimizer steps"));
}

bool lazy_update_begin(const xt_src *src, const char *what, lazy_updater *u) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_iteration *it = c ? iteration_of(c) : NULL;
    if (!it) return true;
    if (!c->replay_log && !lazy_draw_step_given()) part_loops(c, it, u, src_intern(src));
    bool again = is_again(c, it, u), is_next = c->loop_steps.step_plus_1 == c->step + 1 && c->loop_steps.over;
    bool moved = again && has_moved(it, u, src_intern(src));
    if (again) u->path = it->now.path; /* another loop may have begun, which comes here another way */
    /* what follows it may be an optimizer that steps in some iterations only, so that it is the last one of others */
    if (again)
        it->n_followed = 0;
    else if (it->by && !ends_by_itself(it, it->by) && it->n_followed < FOLLOWED)
        it->n_followed++;
    /* else the loop's newest step began with another optimizer, between its last update and this one */
    bool shows = u->loop_step == c->loop_steps.of_thread || it->turned != SIZE_MAX;
    if (again && shows && !c->replay_log) learn(c, it, u, moved, src_intern(src));
    if (is_next) it->parted = it->n_updates + 1;
    if (!c->replay_log && !lazy_draw_step_given()) turn(c, it, u, place_of_update(it, src_intern(src)));
    u->n_slots = c->n_step_slots;
    u->n_calls = it->n_calls;
    if (!again || !c->replay_log) return true;
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
    it->last_by = it->by = u;
    it->last_update = place_of_update(it, src_intern(src));
    u->at = it->last_update.line;
    u->path = it->last_update.path;
    u->nth = ++it->n_updates;
    it->updated = true;
    it->turned = SIZE_MAX;
    c->used.updates++;
    c->used.updated_at = src_intern(src);
    it->op = c->b.block->last;
    for (size_t i = u->n_slots; i < c->n_step_slots; i++) c->slots[c->step_slots[i]].of_update = true;
    it->n_slots = c->n_step_slots;
    it->calls_then = it->n_calls;
    it->n_roots = it->n_aside = 0;
    it->evaluates = lazy_evaluates();
}

/* The iteration's last update is done, and a boundary may come before the call that asks. */
static bool may_end(const lazy_ctx *c) {
    return !c->replay_log && !c->loop && !c->in_boundary && !lazy_draw_step_given() && !lazy_inside();
}

/* That was its last. */
static void end_loop(lazy_ctx *c, lazy_iteration *it) {
    if (!may_end(c)) return;
    size_t n = it->n_calls;
    while (it->by && n > it->calls_then && lazy_above_update(it, it->calls[n - 1].at)) n--;
    end_loop_step(c, it, n);
}

/* The optimizer that is made now is none of the iteration's whose update came last: that is known to end iterations,
 * the program has come back to above it, or the loop has several behind it and no boundaries. */
static bool is_over(const lazy_ctx *c, const lazy_iteration *it) {
    bool several = c->loop_steps.of_thread > it->steps_before + 1;
    return lazy_has_ended(it) || lazy_above_last_update(it, it->now) || (several && !it->n_marked);
}

/* Another loop may stand on the same lines, in a function that is called again, and end its steps in another way. The
 * update that came last is the old loop's: nothing is looked for behind it. Nor has a backward pass been through what
 * the new loop makes, where the old one's last is of the same step. */
static void begin_anew(lazy_ctx *c, lazy_iteration *it, bool over) {
    if (c->swept) c->n_swept = c->n_step_slots;
    c->swept = false;
    if (!it->updated) return;
    if (over || is_over(c, it)) end_loop(c, it);
    it->loop++;
    it->by = NULL;
    it->last_by = it->learned = it->beside = NULL;
    it->updated = it->goes_on = it->went_on = false;
    it->last_update = it->called = (iteration_place){0};
    it->steps_before = c->loop_steps.of_thread;
    it->n_early = it->n_both = 0;
    it->n_followed = it->n_marked = 0;
    it->n_first = it->early.n = it->ended.n = it->closed.n = it->followed.n = it->n_behind = it->differentiated.n =
        it->carried.n = 0;
}

/* --- optimizers that are made within the loop --- */
static lazy_made *made_as(lazy_iteration *it, const lazy_updater *u) {
    for (size_t i = 0; i < it->n_made; i++)
        if (it->made[i].updater == u) return &it->made[i];
    return NULL;
}

/* By the call that is under way. Of the first optimizer the way is not known. */
static lazy_made place_of_making(const lazy_iteration *it, lazy_updater *u) {
    lazy_made m = {.file = lazy_called_now.file, .line = lazy_called_now.line, .updater = u, .nth = it->n_updates};
    bool told = it->is_watching && m.file && it->told.at.file == m.file && it->told.at.line == m.line;
    if (told) m.path = call_path_now(it->told.returns_to, src_intern(&it->told.at), it->told.what);
    return m;
}

/* The one that was made there and is gone, or else one that has stepped since: those that a loop makes before any of
 * them steps are used beside each other. */
static lazy_made *forerunner(lazy_iteration *it, const lazy_made *now) {
    lazy_made *found = NULL;
    for (size_t i = 0; i < it->n_made && now->file; i++) {
        lazy_made *m = &it->made[i];
        bool there =
            m->line == now->line && (m->path == now->path || !m->path || !now->path) && strcmp(m->file, now->file) == 0;
        if (!there || !(m->is_freed || m->updater->nth > m->nth)) continue;
        bool nearer = found && m->path == now->path && found->path != now->path;
        if (!found || m->is_freed > found->is_freed || (m->is_freed == found->is_freed && nearer)) found = m;
    }
    return found;
}

static void put_for(lazy_iteration *it, const lazy_updater *old, lazy_updater *now) {
    if (it->by == old) it->by = now;
    if (it->last_by == old) it->last_by = now;
    if (it->beside == old) it->beside = now;
    if (it->learned == old) it->learned = now;
    for (size_t i = 0; i < it->n_first; i++)
        if (it->first[i].of == old) it->first[i].of = now;
}

/* Without memory it has no follower. */
static void note_made(lazy_iteration *it, const lazy_made *m) {
    if (m->file && it->n_made < MADE) (void)VEC_PUSH(it->made, it->n_made, it->cap_made, *m);
}

/* The loop is the old one's, which is told by what the new one goes on with. */
static void succeed(lazy_iteration *it, lazy_made *old, const lazy_made *now) {
    *now->updater = *old->updater;
    now->updater->steps = 0;
    put_for(it, old->updater, now->updater);
    lazy_made left = *old;
    *old = *now;
    old->comes_again = true;
    if (left.is_freed) {
        base_free(left.updater);
        return;
    }
    left.updater->step = -1;
    left.updater->nth = left.updater->ends_in = left.updater->loop_step = 0;
    left.comes_again = true; /* it may have been another one that this takes the place of: freed, it ends no loop */
    left.nth = now->nth;
    note_made(it, &left);
}

void lazy_updater_begin(lazy_updater *u) {
    lazy_ctx *c = lazy_ctx_there();
    *u = (lazy_updater){.step = -1};
    lazy_iteration *it = c ? unwatched(c) : NULL;
    if (!it) return;
    lazy_made now = place_of_making(it, u), *old = c->replay_log ? NULL : forerunner(it, &now);
    if (old) {
        succeed(it, old, &now);
        return;
    }
    begin_anew(c, it, false);
    note_made(it, &now);
}

/* Kept for one that is made at the same place. */
static bool leave(lazy_iteration *it, lazy_made *m) {
    lazy_updater *left = base_malloc(sizeof *left);
    if (!left) {
        *m = it->made[--it->n_made];
        return false;
    }
    *left = *m->updater;
    put_for(it, m->updater, left);
    m->updater = left;
    return m->is_freed = true;
}

void lazy_updater_forget(const lazy_updater *u) {
    lazy_ctx *c = lazy_ctx_there();
    if (!c) return;
    lazy_updates_forget(c, u);
    lazy_iteration *it = c->iteration;
    if (!it) return;
    bool over = u->step == c->step || u->loop_step == c->loop_steps.of_thread;
    lazy_made *m = made_as(it, u);
    if (!m || !leave(it, m) || !m->comes_again) begin_anew(c, it, over);
}

void lazy_iteration_swept(lazy_ctx *c, ir_value *root) {
    lazy_iteration *it = c->iteration;
    if (!it || !it->by || c->replay_log || c->loop) return;
    if (!VEC_PUSH(it->roots, it->n_roots, it->cap_roots, root)) it->by = NULL; /* nothing is learned of this step */
}

/* --- ending --- */
/* What the call makes is an evaluation's: true. */
static bool is_aside(const lazy_ctx *c, lazy_iteration *it) {
    bool now = c->no_grad || lazy_evaluates() != it->evaluates;
    lazy_iteration_call *last = it->n_aside ? &it->aside[it->n_aside - 1] : NULL;
    bool open = last && last->end == SIZE_MAX;
    if (open && !now) last->end = c->n_step_slots;
    if (now && !open) {
        lazy_iteration_call fresh = {.begin = c->n_step_slots, .end = SIZE_MAX};
        if (!VEC_PUSH(it->aside, it->n_aside, it->cap_aside, fresh)) return now; /* a step may end later */
    }
    return now;
}

/* Where the program was in this step, in front of an update: without memory nothing is known to be in front of a loop.
 */
static void meet(const lazy_ctx *c, lazy_iteration *it) {
    it->met_again = it->n_met && lazy_is_same_call(it->met[it->n_met - 1].at, it->now);
    if (it->met_again) return;
    lazy_met m = {it->now, c->n_step_slots, it->n_updates};
    if (it->n_met == MET || !VEC_PUSH(it->met, it->n_met, it->cap_met, m)) it->n_met = 0;
}

static void note_looked(const lazy_ctx *c, lazy_iteration *it) {
    lazy_looked l = {it->now, c->n_step_slots};
    if (it->now.path && !VEC_PUSH(it->looked, it->n_looked, it->cap_looked, l)) it->now.path = 0;
}

/* How the program came there. */
static void look(const lazy_ctx *c, lazy_iteration *it) {
    it->now.path = call_path_now(it->told.returns_to, it->now.line, it->told.what);
    note_looked(c, it);
}

/* The next one begins with the call that is under way. */
static void end_iteration(lazy_ctx *c, lazy_iteration *it, const char *what, const xt_src *src) {
    iteration_place first = it->now;
    lazy_end_if_unseen(what, src);
    if (!lazy_note_ended(it, lazy_below_last_update(it, first)))
        lazy_fail(status_oom(sizeof it->last_update, "where an iteration ends"));
    if (!it->first_ended) it->first_ended = c->step;
    keep_tensors(c, it, true); /* before observers record */
    lazy_end_step(c, LAZY_ITERATION, src, 0);
    it->now = first;
    note_looked(c, it);
    meet(c, it);
    lazy_end_if_lost(what, src);
}

/* A save or a read has ended the step of the iteration's update, and here the next one begins. */
static void begin_next(lazy_ctx *c, lazy_iteration *it) {
    bool aside = c->no_grad || lazy_evaluates() != it->evaluates;
    bool is_first =
        ends_by_itself(it, it->last_by) && lazy_is_first(c, it, it->now, false) && !iteration_is_behind(it, it->now);
    if (aside || !(is_first || lazy_above_update(it, it->now))) return;
    end_loop_step(c, it, it->n_calls);
}

/* Whether it is looked at how the program came to the call: unwinding costs more than most calls do. One that an
 * iteration may begin with is, wherever it comes, for the lines of a function that makes batches come in front of an
 * inner loop and within it. */
static bool wants_path(const lazy_iteration *it, bool may_be_first) {
    if (may_be_first) return true;
    if (!it->by) return it->updated ? it->goes_on : it->n_early < LOOKED_EARLY;
    if (!ends_by_itself(it, it->by)) return !it->n_first || it->n_followed < FOLLOWED;
    /* what functions of the program's own do on one line may be on both sides of the update */
    return !lazy_beside_update(it, it->now) || !iteration_is_behind(it, it->now);
}

/* In front of the step's first update. */
static void call_above(lazy_ctx *c, lazy_iteration *it) {
    if (it->updated && it->goes_on) begin_next(c, it);
    if (it->updated || it->n_early == LOOKED_EARLY) return;
    it->n_early++;
    if (!lazy_note_early(it, it->now)) it->n_early = LOOKED_EARLY;
}

void lazy_call_begins(const char *what, const xt_src *src, const void *returns_to) {
    lazy_ctx *c = lazy_ctx_there();
    lazy_iteration *it = c ? c->iteration : NULL;
    if (!it || !it->is_watching || c->in_boundary) return;
    it->told = (lazy_told_call){src ? *src : (xt_src){0}, returns_to, what};
    if (!looks(it) || !may_end(c)) return;
    it->now = (iteration_place){src_intern(src), 0};
    if (wants_path(it, lazy_may_be_first(it, it->now))) look(c, it);
    meet(c, it);
    if (!it->by) {
        call_above(c, it);
        return;
    }
    bool aside = is_aside(c, it);
    if (!ends_by_itself(it, it->by)) { /* an update in the middle, or nothing is learned yet */
        if (it->turned == SIZE_MAX && lazy_above_update(it, it->now)) it->turned = it->n_calls;
        return;
    }
    /* below an update that no iteration is known to have ended with: one under an `if` may be in the middle of it */
    bool within = !lazy_comes_round(it) && lazy_below_last_update(it, it->now);
    bool is_first = !aside && lazy_is_first(c, it, it->now, within) && !iteration_is_behind(it, it->now);
    if (!is_first && !lazy_above_update(it, it->now)) return;
    /* in another loop's round it may stand below the update before */
    if (!is_first && !aside && it->now.path) lazy_note_first(it, it->now);
    if (!lazy_iteration_has_begun(c, it))
        end_iteration(c, it, what, src);
    else
        end_loop_step(c, it, it->n_calls); /* though the program's step goes on */
}

/* --- calls that are noted --- */
/* Its number; SIZE_MAX: it is none of the loop's own. */
static size_t note_call(const xt_src *src, bool makes) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_iteration *it = c && !c->replay_log && !c->loop && !lazy_inside() ? iteration_of(c) : NULL;
    if (!it) return SIZE_MAX;
    iteration_place at = {src_intern(src), 0};
    if (it->now.line == at.line) at = it->now;
    lazy_iteration_call call = {at, c->n_step_slots, makes ? SIZE_MAX : c->n_step_slots,
                                makes && !c->no_grad && !lazy_evaluates()};
    return VEC_PUSH(it->calls, it->n_calls, it->cap_calls, call) ? it->n_calls - 1 : SIZE_MAX;
}

size_t lazy_call_noted(const xt_src *src) {
    return note_call(src, false);
}

bool lazy_call_trains(size_t call) {
    const lazy_ctx *c = lazy_ctx_there();
    const lazy_iteration *it = c ? c->iteration : NULL;
    bool trains = false;
    for (size_t i = 0; it && call < it->n_calls && i < call && !trains; i++) trains = it->calls[i].trains;
    return trains;
}

/* What stands below the update may be of a later iteration all the same, one that has none: calls above it, by the way
 * that the program came, lie between. */
bool lazy_call_is_ahead(size_t call) {
    const lazy_ctx *c = lazy_ctx_there();
    const lazy_iteration *it = c ? c->iteration : NULL;
    if (!it || !it->by || call < it->calls_then || call >= it->n_calls) return false;
    bool ahead = lazy_above_update(it, it->calls[call].at);
    for (size_t i = it->calls_then; i < call && !ahead && it->by->path; i++)
        ahead = it->calls[i].at.path && lazy_above_update(it, it->calls[i].at);
    return ahead;
}

bool lazy_call_is_behind(size_t call) {
    const lazy_ctx *c = lazy_ctx_there();
    const lazy_iteration *it = c ? c->iteration : NULL;
    if (!c) return false;
    bool one = lazy_loop_steps_recorded() == c->loop_steps.before + 1 || (it && it->by && it->learned);
    return one && !lazy_call_is_ahead(call);
}

bool lazy_loops_may_part(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return c && c->iteration && c->iteration->beside;
}

bool lazy_call_is_late(size_t call) {
    const lazy_ctx *c = lazy_ctx_there();
    const lazy_iteration *it = c ? c->iteration : NULL;
    if (!it || it->went_on || call >= it->n_calls || (it->by && call >= it->calls_then)) return false;
    for (size_t i = 0; i <= call; i++)
        if (!lazy_below_last_update(it, it->calls[i].at)) return false;
    return true;
}

bool lazy_forward_begins(const xt_src *src) {
    return note_call(src, true) != SIZE_MAX;
}

void lazy_forward_ends(int n_out, const xt_tensor *out) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_iteration *it = c ? c->iteration : NULL;
    for (size_t i = it ? it->n_calls : 0; i-- > 0;) {
        if (it->calls[i].end != SIZE_MAX) continue;
        it->calls[i].end = c->n_step_slots;
        for (int k = 0; k < n_out; k++) {
            lazy_slot *s = lazy_slot_of(c, out[k]);
            if (s) s->given_at = it->calls[i].at.line;
        }
        return;
    }
}
