/* Where the next iteration of a loop without boundaries begins (iteration.c), learned when its optimizer steps for the
 * second time in a step. What the step has made by then is, line by line,
 *
 *     ... A B C update D E | A B C           and now the optimizer steps again
 *
 * What leads to the two updates ends alike: the longest such end, A B C, is of the iteration, and D E between the first
 * update and it is of what that iteration computes behind its update (an accuracy, a norm of the new weights). Whatever
 * the second backward pass went through is of the iteration that it is of, also where the lines differ (a network that
 * is built in the first iteration alone). A start that is found too late does no harm: what lies before it is kept
 * alive. One that is found too early would cut gradients or let tensors die, so a line that D E has too is none, and
 * where more is made on lines that are of both (a function that both call, a loop on one line) than D E had, the step
 * goes on. Calls that only some iterations make (a value logged every tenth time) are in neither part: one that stands
 * above the update is of the next iteration, for the program came there by the loop.
 *
 * A function that learns or measures, as it is told, makes A B C and D E on the same lines; there the way that the
 * program came tells them apart (call_path.h), and of two ways what stands above is said by the lines of the function
 * that they part in. */
#include "lazy/step/iteration.h"

/* --- sets of places --- */
static bool same_place(iteration_place a, iteration_place b) {
    return a.line == b.line && (a.path == b.path || !a.path || !b.path);
}

bool iteration_places_have(const iteration_places *l, iteration_place p) {
    for (size_t i = 0; i < l->n; i++)
        if (same_place(l->at[i], p)) return true;
    return false;
}

static bool have_line(const iteration_places *l, src_id line) {
    return iteration_places_have(l, (iteration_place){line, 0});
}

static bool add_place(iteration_places *l, iteration_place p) {
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].line == p.line && l->at[i].path == p.path) return true;
    return !p.line || VEC_PUSH(l->at, l->n, l->cap, p);
}

static bool add_line(iteration_places *l, src_id line) {
    return add_place(l, (iteration_place){line, 0});
}

bool lazy_note_early(lazy_iteration *it, iteration_place p) {
    return add_place(&it->early, p);
}

static bool add_first(lazy_iteration *it, iteration_place p, const lazy_updater *of) {
    for (size_t i = 0; i < it->n_first; i++) {
        struct iteration_first *known = &it->first[i];
        if (known->at.line != p.line || known->at.path != p.path) continue;
        if (known->of != of) known->of = NULL;
        return true;
    }
    struct iteration_first fresh = {p, of};
    return !p.line || VEC_PUSH(it->first, it->n_first, it->cap_first, fresh);
}

static void remove_first(lazy_iteration *it, iteration_place p) {
    for (size_t i = 0; i < it->n_first; i++)
        if (same_place(it->first[i].at, p)) it->first[i--] = it->first[--it->n_first];
}

bool lazy_note_first(lazy_iteration *it, iteration_place p) {
    return add_first(it, p, NULL);
}

bool lazy_may_be_first(const lazy_iteration *it, iteration_place p) {
    for (size_t i = 0; i < it->n_first; i++)
        if (same_place(it->first[i].at, p)) return true;
    return false;
}

bool lazy_is_first(const lazy_ctx *c, const lazy_iteration *it, iteration_place p, bool within) {
    for (size_t i = 0; i < it->n_first; i++) {
        const struct iteration_first *f = &it->first[i];
        if (same_place(f->at, p) && (f->of ? f->of->loop_step == c->loop_steps.of_thread : !within)) return true;
    }
    return false;
}

bool lazy_note_stepped(lazy_iteration *it, iteration_place p) {
    return add_place(&it->stepped, p);
}

bool lazy_note_followed(lazy_iteration *it, iteration_place p) {
    return add_place(&it->followed, p);
}

static bool was_early(const lazy_iteration *it, iteration_place p) {
    for (size_t i = 0; p.path && i < it->early.n; i++)
        if (it->early.at[i].path == p.path) return true;
    return false;
}

/* > 0: the call stands below the other one; < 0 above it; 0: not known. */
static int below(iteration_place p, iteration_place other) {
    if (p.path && other.path) return call_path_order(p.path, other.path, NULL);
    if (!p.line || !other.line) return 0;
    const xt_src *a = src_get(p.line), *b = src_get(other.line);
    return a->file == b->file && a->func == b->func ? a->line - b->line : 0; /* interned */
}

/* Of the update. Where updates come every few iterations alone, the calls before the first update stand on both sides
 * of it: that they were early decides last. */
static int below_update(const lazy_iteration *it, iteration_place p) {
    int order = below(p, it->by ? (iteration_place){it->by->at, it->by->path} : it->last_update);
    return order ? order : was_early(it, p) ? -1 : 0;
}

bool lazy_stands_above(iteration_place p, iteration_place other) {
    return below(p, other) < 0;
}

bool lazy_below_last_update(const lazy_iteration *it, iteration_place p) {
    return below(p, it->last_update) > 0;
}

bool lazy_above_last_update(const lazy_iteration *it, iteration_place p) {
    return lazy_stands_above(p, it->last_update);
}

bool lazy_is_nearer(iteration_place p, iteration_place a, iteration_place b) {
    if (!p.path || !a.path || !b.path || a.path == b.path) return false;
    size_t to_a = call_path_common(p.path, a.path, NULL), to_b = call_path_common(p.path, b.path, NULL);
    return to_b && to_a > to_b;
}

bool lazy_in_last_loop(const lazy_iteration *it, iteration_place p) {
    bool block = false, known = false;
    size_t here = p.path && lazy_below_last_update(it, p) ? call_path_common(p.path, it->last_update.path, &block) : 0;
    for (size_t i = 0; i < it->n_first && block; i++) {
        if (!it->first[i].at.path) continue;
        if (call_path_common(it->first[i].at.path, it->last_update.path, NULL) > here) return false;
        known = true;
    }
    return known;
}

bool lazy_in_one_body(iteration_place first, iteration_place second, iteration_place again) {
    bool block = false;
    if (below(again, second) <= 0 || !first.path || !second.path || !again.path) return false;
    size_t around = call_path_common(first.path, second.path, &block);
    return block && call_path_common(second.path, again.path, NULL) <= around;
}

bool lazy_is_same_call(iteration_place a, iteration_place b) {
    bool copies = false;
    if (a.line != b.line || same_place(a, b)) return a.line == b.line;
    call_path_order(a.path, b.path, &copies);
    return copies;
}

static bool have_call(const iteration_places *l, iteration_place p) {
    for (size_t i = 0; i < l->n; i++)
        if (lazy_is_same_call(l->at[i], p)) return true;
    return false;
}

bool lazy_has_stepped(const lazy_iteration *it, iteration_place p) {
    return have_call(&it->stepped, p);
}

bool lazy_has_followed(const lazy_iteration *it, iteration_place p) {
    return have_call(&it->followed, p);
}

/* Of the last update, too: what is behind one may be in front of another (loops one after the other). */
bool iteration_is_behind(const lazy_iteration *it, iteration_place p) {
    for (size_t i = 0; i < it->n_behind; i++)
        if (lazy_is_same_call(it->behind[i].at, p) && lazy_is_same_call(it->behind[i].update, it->last_update))
            return true;
    return false;
}

static bool add_behind(lazy_iteration *it, iteration_place p) {
    struct iteration_behind b = {p, it->last_update};
    for (size_t i = 0; i < it->n_behind; i++)
        if (it->behind[i].at.line == p.line && it->behind[i].at.path == p.path &&
            it->behind[i].update.line == b.update.line && it->behind[i].update.path == b.update.path)
            return true;
    return !p.line || VEC_PUSH(it->behind, it->n_behind, it->cap_behind, b);
}

static bool add_ended(lazy_iteration *it, bool goes_on) {
    return add_place(&it->ended, it->last_update) && (goes_on || add_place(&it->closed, it->last_update));
}

/* The calls behind it are the iteration's, too, as far as it is known how the program came there. */
bool lazy_note_ended(lazy_iteration *it, bool goes_on) {
    bool ok = add_ended(it, goes_on);
    for (size_t i = it->calls_then; i < it->n_calls && ok; i++)
        if (it->calls[i].at.path) ok = add_behind(it, it->calls[i].at);
    return ok;
}

bool lazy_comes_round(const lazy_iteration *it) {
    return have_call(&it->closed, it->last_update);
}

bool lazy_has_ended_with(const lazy_iteration *it, iteration_place update) {
    return have_call(&it->ended, update);
}

bool lazy_has_ended(const lazy_iteration *it) {
    return lazy_has_ended_with(it, it->last_update);
}

size_t lazy_calls_behind(const lazy_iteration *it, iteration_place next) {
    size_t n = it->n_calls;
    for (; n > it->calls_then; n--) {
        iteration_place at = it->calls[n - 1].at;
        if (iteration_is_behind(it, at) || lazy_is_nearer(at, it->last_update, next)) break;
    }
    return n;
}

bool lazy_beside_update(const lazy_iteration *it, iteration_place p) {
    const xt_src *a = src_get(p.line), *b = src_get(it->by->at);
    return a->file == b->file && a->func == b->func; /* interned */
}

bool lazy_above_update(const lazy_iteration *it, iteration_place p) {
    return below_update(it, p) < 0 && !iteration_is_behind(it, p);
}

/* --- gradients --- */
static bool flows(const ir_op *op, const ir_value *result) {
    return op->user != LAZY_OP_NO_GRAD && !lazy_v_no_grad(result) && lazy_v_needs_grad(result);
}

static void mark_operands(const ir_op *op, uint64_t mark) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (lazy_v_needs_grad(op->in[i])) op->in[i]->mark = mark;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            mark_operands(in, mark);
}

static bool is_walked(const ir_op *op, uint64_t mark) {
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i].mark == mark && flows(op, &op->out[i])) return true;
    return false;
}

/* Marks what the backward passes behind the last update went through. False: that is more than this iteration. */
static bool mark_walk(lazy_ctx *c, const lazy_iteration *it, uint64_t mark) {
    lazy_settle(c);
    for (size_t i = 0; i < it->n_roots; i++) it->roots[i]->mark = mark;
    const ir_op *op = c->b.block->last;
    for (; op && op != it->op; op = op->prev)
        if (is_walked(op, mark)) mark_operands(op, mark);
    for (; op; op = op->prev)
        if (is_walked(op, mark)) return false;
    return true;
}

/* --- the two ends --- */
static const lazy_slot *made(const lazy_ctx *c, size_t i) {
    return &c->slots[c->step_slots[i]];
}

/* States and gradients are made where the loop has none yet, not in each iteration. */
static bool counts(const lazy_slot *s) {
    return !s->is_state && s->role != LAZY_GRADIENT;
}

static bool is_aside(const lazy_iteration *it, size_t slot) {
    for (size_t i = 0; i < it->n_aside; i++)
        if (it->aside[i].begin <= slot && slot < it->aside[i].end) return true;
    return false;
}

/* A place between two events: so many step slots, and so many calls that were noted, lie before it. An event is a slot
 * that was made, or a call that makes none. */
typedef struct place {
    size_t slots, calls;
} place;

/* By which way a slot's line was come to, where that was looked at. */
static iteration_place place_made(const lazy_ctx *c, const lazy_iteration *it, size_t slot) {
    iteration_place p = {made(c, slot)->src, 0};
    for (size_t i = it->n_looked; i-- > 0;) {
        if (it->looked[i].slots > slot) continue;
        if (it->looked[i].at.line == p.line) p = it->looked[i].at;
        break;
    }
    return p;
}

typedef struct event {
    iteration_place at; /* of line 0: none */
    bool makes; /* a slot, that before which the step is then */
} event;

/* What lives on from earlier steps was no event of this one. */
static bool is_event(const lazy_ctx *c, const lazy_slot *s) {
    return counts(s) && s->step >= c->step;
}

/* Steps over the event before `at`, but not beyond `least`. */
static event step_back(const lazy_ctx *c, const lazy_iteration *it, place *at, place least) {
    while (at->slots > least.slots || at->calls > least.calls) {
        const lazy_iteration_call *call = at->calls > least.calls ? &it->calls[at->calls - 1] : NULL;
        if (call && (call->begin >= at->slots || call->end > call->begin)) {
            at->calls--;
            if (call->begin == call->end) return (event){call->at, false};
        } else if (at->slots == least.slots)
            at->calls--;
        else if (is_event(c, made(c, --at->slots)))
            return (event){place_made(c, it, at->slots), true};
    }
    return (event){{0}, false};
}

/* Where the longest common end of two parts of the step begins, in the second. What stands below the update is not of
 * it: a function that learns or measures, as it is told, logs on one line behind the update and in front of it. */
static place common_end(const lazy_ctx *c, const lazy_iteration *it, place first, place second, place least) {
    const place none = {0, 0};
    place start = second;
    for (;;) {
        event a = step_back(c, it, &first, none), b = step_back(c, it, &second, least);
        if (!a.at.line || !lazy_is_same_call(a.at, b.at) || below_update(it, b.at) > 0) return start;
        start = second;
    }
}

iteration_place lazy_place_of_call(const lazy_ctx *c, const lazy_iteration *it, size_t slot) {
    for (size_t i = 0; i < it->n_calls; i++)
        if (it->calls[i].begin <= slot && slot < it->calls[i].end) return it->calls[i].at;
    return place_made(c, it, slot);
}

/* --- what is learned --- */
static void mark_read(const ir_op *op, uint64_t mark) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->mark == mark) op->in[i]->mark = mark + 1;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            mark_read(in, mark);
}

/* The first op of what was made from slot `start` on. */
static const ir_op *first_op(const lazy_ctx *c, const lazy_iteration *it, size_t start) {
    for (size_t i = start; i < c->n_step_slots; i++) {
        const lazy_slot *s = made(c, i);
        if (s->live && !s->persistent && s->value && s->value->def) return s->value->def;
    }
    return it->op ? it->op->next : NULL;
}

/* The lines of tensors from before the last update that the next iteration has read. */
static bool list_carried(const lazy_ctx *c, lazy_iteration *it, size_t start) {
    uint64_t mark = ir_new_epoch();
    for (size_t i = 0; i < it->n_slots; i++)
        if (made(c, i)->live && !made(c, i)->persistent && made(c, i)->value) made(c, i)->value->mark = mark;
    for (size_t k = 0; k < c->n_persistent; k++) /* states and what was kept live on anyway, by whatever handle */
        if (c->slots[c->persistent[k]].value) c->slots[c->persistent[k]].value->mark = 0;
    for (const ir_op *op = first_op(c, it, start); op; op = op->next) mark_read(op, mark);
    for (size_t i = 0; i < it->n_slots; i++) {
        const lazy_slot *s = made(c, i);
        if (s->live && !s->persistent && s->value && s->value->mark == mark + 1 && !add_line(&it->carried, s->src))
            return false;
    }
    return true;
}

/* The lines of what the backward passes of the step went through, those before the last update too. */
static bool list_differentiated(const lazy_ctx *c, lazy_iteration *it, uint64_t mark) {
    bool ok = true;
    for (size_t i = 0; i < it->n_slots; i++)
        if (made(c, i)->live && made(c, i)->is_loss && made(c, i)->value) made(c, i)->value->mark = mark;
    for (const ir_op *op = it->op; op; op = op->prev)
        if (is_walked(op, mark)) mark_operands(op, mark);
    for (size_t i = 0; i < c->n_step_slots && ok; i++) {
        const ir_value *v = made(c, i)->value;
        if (v && v->mark == mark && v->def && flows(v->def, v)) ok = add_line(&it->differentiated, made(c, i)->src);
    }
    return ok;
}

/* The first step slot behind the update that a backward pass went through; all of them: none. A leaf (the value that a
 * parameter was given there) is where such a pass ends. */
static size_t first_walked(const lazy_ctx *c, const lazy_iteration *it, uint64_t mark) {
    size_t i = it->n_slots;
    for (; i < c->n_step_slots; i++) {
        const ir_value *v = made(c, i)->value;
        if (v && v->mark == mark && v->def && flows(v->def, v)) break;
    }
    return i;
}

/* The iteration begins at `start` at the latest, and no later than with slot `walked`. `of`: it is the same one, in
 * which that optimizer steps again. */
static bool list_first(const lazy_ctx *c, lazy_iteration *it, place start, size_t walked, const lazy_updater *of) {
    bool ok = true;
    for (size_t i = start.slots; i <= walked && ok; i++) ok = add_first(it, lazy_place_of_call(c, it, i), of);
    for (size_t i = start.calls; i < it->n_calls && it->calls[i].begin <= walked && ok; i++)
        ok = add_first(it, it->calls[i].at, of);
    return ok;
}

/* What is made there, and no call there is an iteration's first. */
static bool list_behind(const lazy_ctx *c, lazy_iteration *it, place start) {
    bool ok = true;
    for (size_t i = it->n_slots; i < start.slots && ok; i++) {
        if (!counts(made(c, i)) || is_aside(it, i)) continue;
        ok = add_behind(it, place_made(c, it, i));
        remove_first(it, lazy_place_of_call(c, it, i));
    }
    for (size_t i = it->calls_then; i < start.calls && ok; i++) {
        ok = add_behind(it, it->calls[i].at);
        remove_first(it, it->calls[i].at);
    }
    return ok;
}

/* A tensor behind the update that gradients may flow through. */
static bool may_flow(const lazy_ctx *c, const lazy_iteration *it, size_t i) {
    const lazy_slot *s = made(c, i);
    return s->live && !s->is_state && s->value && lazy_v_needs_grad(s->value) && !is_aside(it, i);
}

/* Stands above the update: a call without tensors which the iteration before (calls [0, then)) did not make, or
 * anything that came another way. Where nothing is known of the update before yet, it stands above that one too: the
 * two may be of two ways through the loop, the first of which ends behind its own. So they are where the update that
 * comes now has ended iterations before, and no iteration has begun with the call. What stands in a block with the last
 * update which the one that comes now is not in is of the last one's loop, or way. */
static bool is_above(const lazy_iteration *it, event e, size_t then, iteration_place now) {
    if (!e.at.line || (!e.at.path && e.makes) || lazy_is_nearer(e.at, it->last_update, now)) return false;
    bool known = lazy_may_be_first(it, e.at) || !lazy_has_ended_with(it, now);
    if (below(e.at, it->last_update) > 0 && !(lazy_has_ended(it) && known)) return false;
    for (size_t i = 0; i < then && !e.at.path; i++)
        if (it->calls[i].at.line == e.at.line) return false;
    return lazy_above_update(it, e.at);
}

/* Over what is above the update, from `start` on backwards. */
static place step_above(const lazy_ctx *c, const lazy_iteration *it, place start, place update, iteration_place now) {
    for (;;) {
        place before = start;
        event e = step_back(c, it, &before, update);
        if (e.makes) e.at = lazy_place_of_call(c, it, before.slots);
        if (!is_above(it, e, update.calls, now)) return start;
        start = before;
    }
}

/* A call that makes none and lies between two slots comes before the second one. */
static bool is_from(const lazy_iteration_call *call, size_t slot) {
    return call->begin >= slot && call->end > slot;
}

bool lazy_iteration_learn(lazy_ctx *c, lazy_iteration *it, const lazy_updater *u, iteration_place now, bool moved,
                          size_t *out_calls) {
    uint64_t mark = ir_new_epoch();
    place update = {it->n_slots, it->calls_then};
    it->flows = it->n_roots && !mark_walk(c, it, mark);
    if (!it->n_roots || it->flows) return false;
    place start = common_end(c, it, (place){u->n_slots, u->n_calls}, (place){c->n_step_slots, it->n_calls}, update);
    size_t walked = first_walked(c, it, mark);
    if (walked == c->n_step_slots) return false;
    if (walked < start.slots) {
        start.slots = walked;
        while (start.calls > update.calls && is_from(&it->calls[start.calls - 1], walked)) start.calls--;
    }
    start = step_above(c, it, start, update, now);
    /* of another loop: what the old one is known to have behind its update is all that it has there */
    if (moved && it->by != u && lazy_has_ended(it) && lazy_calls_behind(it, now) < start.calls)
        start.calls = lazy_calls_behind(it, now);
    *out_calls = start.calls;
    if (!list_differentiated(c, it, mark)) return false;
    bool goes_on = moved && lazy_below_last_update(it, now); /* the program has come back to nowhere */
    if (!list_first(c, it, start, walked, goes_on ? u : NULL) || !list_behind(c, it, start)) return false;
    for (size_t i = 0; i < it->n_behind; i++)
        if (lazy_is_same_call(it->behind[i].update, it->last_update)) remove_first(it, it->behind[i].at);
    size_t both = 0;
    for (size_t i = it->n_slots; i < start.slots; i++)
        both += may_flow(c, it, i) && have_line(&it->differentiated, made(c, i)->src);
    if (both > it->n_both) it->n_both = both;
    return it->n_first && add_ended(it, goes_on) && list_carried(c, it, start.slots);
}

bool lazy_iteration_has_begun(const lazy_ctx *c, const lazy_iteration *it) {
    size_t both = 0;
    for (size_t i = it->n_slots; i < c->n_step_slots; i++) {
        if (!may_flow(c, it, i)) continue;
        if (!iteration_is_behind(it, (iteration_place){made(c, i)->src, 0})) return true;
        both += have_line(&it->differentiated, made(c, i)->src);
    }
    return both > it->n_both;
}
