/* Which known program a new one is compared with: the one from which it differs in the fewest things. A thing is what a
 * line of the user's did otherwise (a switch, a micro-batch's place in its window, a state, what is asked for, the
 * shape of what comes in), and at last the ops themselves. What follows from it counts with it: an update that a
 * micro-batch has not is no other op, nor is a mean that is only logged. So where one thing alone makes the program
 * new, that one is found, and no report blames a print for a batch that is short.
 *
 * Among programs that differ in as many things those come first that have the same place in an accumulation: that a
 * window has several programs is no fault of any line, and the other thing is. Then come those whose forward pass is
 * the same. */
#include <limits.h>

#include "lazy/program/explain.h"

/* The same step on another shape differs early but has the same size. */
static double likeness(const lazy_node *nodes, size_t n, const lazy_program *p) {
    explain_list a = explain_list_of(nodes, n), b = explain_list_of(p->nodes, p->n_nodes);
    size_t same = explain_common_prefix(nodes, n, p->nodes, p->n_nodes), seen = explain_first_other(a, b),
           longest = n > p->n_nodes ? n : p->n_nodes;
    double gap = (double)(n > p->n_nodes ? n - p->n_nodes : p->n_nodes - n);
    return ((double)(same > seen ? same : seen) - gap) / (double)(longest ? longest : 1);
}

/* Which ops they change is not known here. */
static int other_modes(const lazy_flags *now, const lazy_flags *was) {
    return explain_switched(now, was) + (now->backward != was->backward) +
           (now->no_grad != was->no_grad && (now->backward || was->backward)) +
           (now->updates && now->updates == was->updates &&
            (now->momenta != was->momenta || now->optimizers != was->optimizers));
}

static bool other_freezes(const lazy_flags *now, const lazy_flags *was) {
    return now->freezes != was->freezes && !now->no_grad && !was->no_grad;
}

/* The new program, as far as it is the same beside each known one. */
typedef struct step {
    const lazy_flags *flags;
    const lazy_node *nodes;
    size_t n;
    const lazy_roots *roots;
    explain_counts ops, own; /* all of them; without what is only asked for or assigned */
    int64_t number_changed; /* the newest step in which one of its numbers did; -1: none */
} step;

typedef struct distance {
    int things; /* that differ */
    bool accumulates; /* one of them is a micro-batch's place in its window */
    int turns; /* 2: the user's lines go another way, and not only what follows from them; 1: through other layers */
    double likeness;
} distance;

static int turns_from(const step *s, const lazy_program *p, explain_which which) {
    explain_list a = explain_list_of(s->nodes, s->n), b = explain_list_of(p->nodes, p->n_nodes);
    const lazy_node *was;
    return !explain_same_forward(a, b, which) ? 2 : explain_other_layer(a, b, which, &was) != NULL;
}

/* Do the ops differ, by themselves? Not those that are only asked for or assigned where other things are (`own`). With
 * other gradients those behind the forward pass come another number of times, and an update may be there or not; beside
 * other inputs, their dtypes say nothing of their own. */
static bool other_ops(const step *s, const lazy_program *p, bool own, bool gradients, bool inputs) {
    const src_id calls[] = {s->flags->backward_at, s->flags->updated_at, p->flags.backward_at, p->flags.updated_at};
    explain_counts known = explain_count_ops(explain_list_of(p->nodes, p->n_nodes), own ? EXPLAIN_OWN : EXPLAIN_ALL);
    const explain_counts *here = own ? &s->own : &s->ops;
    bool same = gradients
                    ? turns_from(s, p, EXPLAIN_OWN) < 2 && explain_has_places(here, &known, calls, BASE_COUNT(calls)) &&
                          explain_has_places(&known, here, calls, BASE_COUNT(calls))
                    : explain_same_counts(here, &known, !inputs);
    base_free(known.at);
    return !same;
}

/* No line of p's is one of the step's: whatever they do alike, another step is nearer. */
static bool is_another(const step *s, const lazy_program *p) {
    explain_counts known = explain_count_ops(explain_list_of(p->nodes, p->n_nodes), EXPLAIN_ALL);
    bool share = explain_share_places(&s->ops, &known);
    base_free(known.at);
    return !share;
}

/* Nothing is looked at closely that is farther than `limit` anyway. */
static distance distance_to(const step *s, const lazy_program *p, int limit) {
    enum { FAR = 1 << 16 };
    const lazy_flags *now = s->flags, *was = &p->flags;
    bool asks = explain_other_requesters(s->roots, p), assigns = explain_other_states(s->roots, p),
         freezes = other_freezes(now, was);
    int modes = other_modes(now, was);
    distance d = {.accumulates = explain_accumulates(now, s->nodes, s->n, p)};
    bool inputs = explain_other_inputs(s->nodes, s->n, p) || explain_other_lengths(s->nodes, s->n, p);
    d.things = modes + freezes + d.accumulates + asks + assigns + (p->step < s->number_changed) + inputs +
               is_another(s, p) * FAR;
    bool own = asks || assigns || p->serves || s->roots->known_as;
    if (!modes && d.things <= limit) d.things += other_ops(s, p, own, d.accumulates || freezes, inputs);
    if (!d.things && p->serves && !s->roots->known_as) d.things = 1; /* a program of its own for its combination */
    if (d.things <= limit) d.likeness = likeness(s->nodes, s->n, p), d.turns = turns_from(s, p, EXPLAIN_OWN);
    return d;
}

static bool is_nearer(distance a, distance b) {
    if (a.things != b.things) return a.things < b.things;
    if (a.accumulates != b.accumulates) return b.accumulates;
    if (a.turns != b.turns) return a.turns < b.turns;
    return a.likeness > b.likeness;
}

bool explain_same_own_ops(const lazy_node *nodes, size_t n, const lazy_program *p) {
    explain_list l = explain_list_of(nodes, n);
    explain_counts here = explain_count_ops(l, EXPLAIN_OWN),
                   there = explain_count_ops(explain_list_of(p->nodes, p->n_nodes), EXPLAIN_OWN);
    bool same = explain_same_counts(&here, &there, true) && p->step >= explain_number_changed(l) &&
                !explain_other_lengths(nodes, n, p);
    base_free(here.at);
    base_free(there.at);
    return same;
}

/* A read's program has a part of what its step has, and that it ends there is no cause: a step is compared with
 * steps. */
const lazy_program *explain_nearest_step(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_roots *r,
                                         lazy_program *const *known, size_t n_known) {
    const lazy_program *best = NULL;
    distance least = {.things = INT_MAX};
    explain_list l = explain_list_of(nodes, n);
    step s = {now,
              nodes,
              n,
              r,
              explain_count_ops(l, EXPLAIN_ALL),
              explain_count_ops(l, EXPLAIN_OWN),
              explain_number_changed(l)};
    for (size_t i = 0; i < n_known; i++) {
        if (known[i]->forced) continue;
        distance d = distance_to(&s, known[i], least.things);
        if (best && !is_nearer(d, least)) continue;
        best = known[i];
        least = d;
    }
    base_free(s.ops.at);
    base_free(s.own.at);
    return best;
}

/* As of steps, without what a value has no part in. */
const lazy_program *explain_nearest_read(const lazy_flags *now, const lazy_node *nodes, size_t n,
                                         lazy_program *const *known, size_t n_known) {
    const lazy_program *best = NULL;
    distance least = {.things = INT_MAX};
    explain_list l = explain_list_of(nodes, n);
    step s = {now, nodes, n, NULL, explain_count_ops(l, EXPLAIN_ALL), {0}, explain_number_changed(l)};
    for (size_t i = 0; i < n_known; i++) {
        const lazy_program *p = known[i];
        int acts = explain_count_acts_of_value(now, nodes, n, p);
        bool inputs = explain_other_inputs(nodes, n, p) || explain_other_lengths(nodes, n, p);
        distance d = {.things = acts + (p->step < s.number_changed) + inputs +
                                (!acts && other_ops(&s, p, false, false, inputs)),
                      .turns = turns_from(&s, p, EXPLAIN_ALL),
                      .likeness = likeness(nodes, n, p)};
        if (best && !is_nearer(d, least)) continue;
        best = p;
        least = d;
    }
    base_free(s.ops.at);
    return best;
}
