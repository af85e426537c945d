/* Order of thunks. Programs list the optimizer after the whole backward pass, which would keep every gradient alive
 * until the end: a fused loop that only makes results is moved up to the place right after its last operand exists. It
 * stays behind every other reader of an argument that one of its results may take over, so moving it never costs a copy
 * of a donated array. Each slot has one writer at this stage, so operands and those readers are all there is to wait
 * for. What is small and computed from arguments alone (step sizes, bias corrections) goes to the front, so that no
 * such loop has to wait for it. Before all that, gradients that only the optimizer reads are moved up to where their
 * operands are complete: what they read is in cache then, and needs no memory until the end. And a large value that
 * waits long for its only reader (the gradient of an embedding that is the output layer, too) is made right before it,
 * where its operands are smaller. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/stages.h"
#include "cpu/run/pending.h"

#include <stdlib.h>

typedef struct place {
    uint32_t after, was; /* runs after thunk `after` (by old number); CPU_NONE = first */
    bool moved;
} place;

static int by_place(const void *a, const void *b) {
    const place *x = a, *y = b;
    /* CPU_NONE + 1 is 0 */
    uint32_t kx = x->moved ? x->after + 1 : x->was + 1, ky = y->moved ? y->after + 1 : y->was + 1;
    if (kx != ky) return kx < ky ? -1 : 1;
    if (x->moved != y->moved) return x->moved ? 1 : -1;
    return x->was < y->was ? -1 : x->was > y->was;
}

static bool only_makes_results(const cpu_plan *p, const cpu_thunk *t) {
    for (uint32_t i = 0; i < t->n_out; i++)
        if (p->slots[t->out[i].slot].kind != CPU_SLOT_OUT) return false;
    return t->n_out > 0 && t->kernel->is_fused;
}

typedef struct readers { /* the last two thunks that read a slot */
    uint32_t last, before;
} readers;

/* The last reader of a slot other than t, or CPU_NONE. */
static uint32_t last_other(const readers *r, uint32_t t) {
    return r->last == t ? r->before : r->last;
}

enum { SMALL_BYTES = 1024 };

/* True when t's operands are there from the start or made by thunks of this kind, its results are small, and no other
 * reader is waiting for an argument that one of them may take over. */
static bool comes_first(const cpu_plan *p, uint32_t t, const uint32_t *writer, const readers *read,
                        const uint32_t *donor, const place *order) {
    const cpu_thunk *th = &p->thunks[t];
    size_t bytes = 0;
    if (!th->kernel->is_fused) return false;
    for (uint32_t i = 0; i < th->n_out; i++) {
        const cpu_slot *s = &p->slots[th->out[i].slot];
        uint32_t d = s->kind == CPU_SLOT_OUT ? donor[s->index] : CPU_NONE; /* arguments are the first slots */
        if (d != CPU_NONE && last_other(&read[d], t) != CPU_NONE) return false;
        bytes += s->bytes;
    }
    for (uint32_t i = 0; i < th->n_in; i++) {
        uint32_t w = writer[th->in[i].slot];
        if (w != CPU_NONE && !(order[w].moved && order[w].after == CPU_NONE)) return false;
    }
    return bytes <= SMALL_BYTES;
}

static void sort_thunks(cpu_plan *p, place *order, cpu_thunk *sorted) {
    if (p->n_thunks == 0) return;
    qsort(order, p->n_thunks, sizeof *order, by_place);
    for (size_t t = 0; t < p->n_thunks; t++) sorted[t] = p->thunks[order[t].was];
    memcpy(p->thunks, sorted, p->n_thunks * sizeof *sorted);
}

static bool is_product(const cpu_thunk *t) {
    return t->op->code == OP_convolution || t->op->code == OP_dot_general;
}

static bool may_rise(const cpu_plan *p, const cpu_thunk *t) {
    bool known = is_product(t) || t->kernel->is_fused || t->op->code == OP_reduce || t->op->code == OP_transpose;
    for (uint32_t i = 0; i < t->n_out; i++) known = known && p->slots[t->out[i].slot].kind == CPU_SLOT_TEMP;
    return known && t->n_out > 0;
}

/* Moves what only the optimizer reads up to the place where its operands are complete: gradients of weights and biases,
 * and loops on the way from one to the optimizer. What a product reads is on no such way, or the backward pass, which
 * in the end only the optimizer reads, would be one. */
static void raise_gradients(cpu_plan *p, uint32_t *writer, place *order, cpu_thunk *sorted) {
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        order[t] = (place){.was = t, .moved = may_rise(p, &p->thunks[t])};
        for (uint32_t i = 0; i < p->thunks[t].n_out; i++) writer[p->thunks[t].out[i].slot] = t;
    }
    for (uint32_t t = (uint32_t)p->n_thunks; t-- > 0;) {
        /* from the end: whether a reader is moved is settled before what it reads */
        bool last = only_makes_results(p, &p->thunks[t]) || (order[t].moved && !is_product(&p->thunks[t]));
        for (uint32_t i = 0; i < p->thunks[t].n_in; i++) {
            uint32_t w = writer[p->thunks[t].in[i].slot];
            if (w != CPU_NONE && !last) order[w].moved = false;
        }
    }
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        if (!order[t].moved) continue;
        uint32_t after = CPU_NONE;
        for (uint32_t i = 0; i < p->thunks[t].n_in; i++) {
            uint32_t w = writer[p->thunks[t].in[i].slot];
            if (w == CPU_NONE) continue;
            if (order[w].moved) w = order[w].after;
            if (after == CPU_NONE || w > after) after = w;
        }
        order[t].moved = after != CPU_NONE;
        order[t].after = after;
    }
    sort_thunks(p, order, sorted);
}

/* Moves makers of large values down to their only reader. The optimizer's loops are no such readers: they come up to
 * their operands instead. */
static void lower_large_values(cpu_plan *p, const uint32_t *writer, const readers *read, place *order,
                               cpu_thunk *sorted) {
    enum { LARGE = 8 << 20 };
    bool any = false;
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        order[t] = (place){.was = t};
        if (th->n_out != 1 || p->slots[th->out[0].slot].kind != CPU_SLOT_TEMP ||
            p->slots[th->out[0].slot].bytes < LARGE)
            continue;
        readers r = read[th->out[0].slot];
        if (r.last == CPU_NONE || r.before != CPU_NONE || r.last <= t + 1 || only_makes_results(p, &p->thunks[r.last]))
            continue;
        size_t longer = 0; /* what has to wait in its place */
        bool can = true;
        for (uint32_t i = 0; i < th->n_in; i++) {
            uint32_t in = th->in[i].slot;
            can = can && p->slots[in].kind == CPU_SLOT_TEMP && writer[in] != CPU_NONE;
            if (read[in].last < r.last) longer += p->slots[in].bytes;
        }
        if (!can || longer > p->slots[th->out[0].slot].bytes / 4 * 3) continue;
        order[t] = (place){.after = r.last - 1, .was = t, .moved = true};
        any = true;
    }
    if (any) sort_thunks(p, order, sorted);
}

/* Who writes and who reads each slot, by the thunks' present order. */
static void find_users(const cpu_plan *p, uint32_t *writer, readers *read) {
    for (size_t i = 0; i < p->n_slots; i++) writer[i] = read[i].last = read[i].before = CPU_NONE;
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        for (uint32_t i = 0; i < th->n_out; i++) writer[th->out[i].slot] = t;
        for (uint32_t i = 0; i < th->n_in; i++) {
            readers *r = &read[th->in[i].slot];
            if (r->last != t) r->before = r->last;
            r->last = t;
        }
    }
}

/* Collectives that can be started early go up to where their operands are complete, in their order and never past one
 * that cannot: all ranks then meet in the same order, whatever else their programs do. True when there is any. */
static bool raise_starts(const cpu_exec *e, cpu_plan *p, uint32_t *writer, place *order, cpu_thunk *sorted) {
    bool any = false;
    uint32_t before = CPU_NONE; /* where the collective before is */
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        order[t] = (place){.was = t};
        for (uint32_t i = 0; i < th->n_out; i++) writer[th->out[i].slot] = t;
        if (ir_op_infos[th->op->code].cls != IR_CLASS_COLLECTIVE) continue;
        if (!cpu_can_start(e, th)) {
            before = t;
            continue;
        }
        uint32_t after = before;
        for (uint32_t i = 0; i < th->n_in; i++) {
            uint32_t w = writer[th->in[i].slot];
            if (w != CPU_NONE && (after == CPU_NONE || w > after)) after = w;
        }
        order[t].after = before = after;
        order[t].moved = any = true;
    }
    if (any) sort_thunks(p, order, sorted);
    for (uint32_t t = 0; t < p->n_thunks; t++) order[t] = (place){0};
    for (size_t i = 0; i < p->n_slots; i++) writer[i] = CPU_NONE;
    return any;
}

/* Whether the ranks are on several hosts: values then travel much longer than it takes to add them up. */
static bool ranks_are_far(void) {
    const world *w = world_get();
    return w->size > 1 && w->local_size < w->size;
}

static size_t bytes_started(const cpu_plan *p, const cpu_thunk *t) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < t->n_in; i++) bytes += p->slots[t->in[i].slot].bytes;
    return bytes;
}

/* A loop that reads what a collective brings waits for it: it comes after the second collective started from there, or
 * at the end, so that the ranks compute while the values travel and yet gradients do not all stay until the end.
 * Between hosts it comes after so many bytes as keep a network busy: who waited for the first of two buckets would
 * compute nothing meanwhile. `at` is the thunk of the collective. */
static uint32_t after_later_starts(const cpu_exec *e, const cpu_plan *p, uint32_t at) {
    enum { FAR_BYTES = 64 << 20 };
    bool far = ranks_are_far();
    int later = 0;
    size_t bytes = 0;
    for (uint32_t t = at + 1; t < p->n_thunks; t++) {
        if (!cpu_can_start(e, &p->thunks[t])) continue;
        bytes += bytes_started(p, &p->thunks[t]);
        if (++later >= 2 && (!far || bytes >= FAR_BYTES)) return t;
    }
    return (uint32_t)p->n_thunks + at;
}

static bool may_sink(const cpu_thunk *t) {
    return t->kernel->is_fused || t->op->code == OP_reduce || t->op->code == OP_transpose;
}

/* What reads a started collective goes down to where the collective may be waited for, and so does what reads that: the
 * norm of the gradients reads each of them as soon as it is there, and the backward pass would wait for the network at
 * every bucket. Nothing passes a reader that has to stay. `last` is of each thunk, as `order`. */
static void sink_readers(const cpu_exec *e, cpu_plan *p, const uint32_t *writer, uint32_t *last, place *order,
                         cpu_thunk *sorted) {
    uint32_t end = 2 * (uint32_t)p->n_thunks;
    for (uint32_t t = 0; t < p->n_thunks; t++) last[t] = end;
    for (uint32_t t = (uint32_t)p->n_thunks; t-- > 0;) { /* what is made before t has to be there then */
        uint32_t until = may_sink(&p->thunks[t]) ? last[t] : t - 1;
        for (uint32_t i = 0; i < p->thunks[t].n_in; i++) {
            uint32_t w = writer[p->thunks[t].in[i].slot];
            if (w != CPU_NONE && until < last[w]) last[w] = until;
        }
    }
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        order[t] = (place){.was = t};
        if (!may_sink(th)) continue;
        uint32_t after = t;
        for (uint32_t i = 0; i < th->n_in; i++) {
            uint32_t w = writer[th->in[i].slot];
            bool starts = w != CPU_NONE && cpu_can_start(e, &p->thunks[w]);
            if (!starts && (w == CPU_NONE || !order[w].moved)) continue;
            uint32_t there = starts ? after_later_starts(e, p, w) : order[w].after;
            if (there < after) continue;
            after = there < last[t] ? there : last[t];
            order[t].moved = true; /* also where it stays: what it reads may have come right behind its place */
        }
        order[t].after = after;
    }
    sort_thunks(p, order, sorted);
}

static bool read_by_nobody(const cpu_thunk *t, const readers *read) {
    for (uint32_t i = 0; i < t->n_out; i++)
        if (read[t->out[i].slot].last != CPU_NONE) return false;
    return true;
}

xt_status cpu_stage_schedule(cpu_builder *b) {
    cpu_exec *e = b->exec;
    cpu_plan *p = &e->plan;
    uint32_t *writer = base_malloc((p->n_slots + 1) * sizeof *writer),
             *donor = base_malloc((e->main->n_results + 1) * sizeof *donor),
             *until = base_malloc((p->n_thunks + 1) * sizeof *until);
    readers *read = base_malloc((p->n_slots + 1) * sizeof *read);
    place *order = base_calloc(p->n_thunks + 1, sizeof *order);
    cpu_thunk *sorted = base_malloc((p->n_thunks + 1) * sizeof *sorted);
    xt_status s = writer && read && donor && until && order && sorted
                      ? NULL
                      : status_oom(p->n_thunks * sizeof *sorted, "a buffer plan");
    if (s) goto done;
    for (size_t i = 0; i < p->n_slots; i++) writer[i] = CPU_NONE;
    raise_gradients(p, writer, order, sorted);
    bool starts = raise_starts(e, p, writer, order, sorted);
    if (starts) {
        find_users(p, writer, read);
        sink_readers(e, p, writer, until, order, sorted);
    }
    for (size_t j = 0; j < e->main->n_results; j++) donor[j] = CPU_NONE;
    for (size_t i = 0; i < e->main->body->n_args; i++)
        if (e->alias[i] >= 0) donor[e->alias[i]] = (uint32_t)i;
    find_users(p, writer, read);
    lower_large_values(p, writer, read, order, sorted);
    find_users(p, writer, read);
    for (uint32_t t = 0; t < p->n_thunks; t++) order[t] = (place){.was = t};
    for (uint32_t t = 0; t < p->n_thunks; t++)
        if (comes_first(p, t, writer, read, donor, order))
            order[t] = (place){.after = CPU_NONE, .was = t, .moved = true};
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        if (!only_makes_results(p, th)) continue;
        uint32_t after = CPU_NONE;
        bool free_to_move = true, waits = false;
        for (uint32_t i = 0; i < th->n_in; i++) {
            uint32_t w = writer[th->in[i].slot];
            if (w == CPU_NONE || (order[w].moved && order[w].after == CPU_NONE)) continue;
            if (only_makes_results(p, &p->thunks[w])) free_to_move = false; /* it may move itself */
            if (starts && cpu_can_start(e, &p->thunks[w])) {
                w = after_later_starts(e, p, w);
                waits = true;
            }
            if (after == CPU_NONE || w > after) after = w;
        }
        for (uint32_t i = 0; i < th->n_out; i++) {
            uint32_t d = donor[p->slots[th->out[i].slot].index]; /* arguments are the first slots */
            uint32_t last = d == CPU_NONE ? CPU_NONE : last_other(&read[d], t);
            if (last != CPU_NONE && (after == CPU_NONE || last > after)) after = last;
        }
        order[t].moved = free_to_move && (after == CPU_NONE || after < t || (waits && read_by_nobody(th, read)));
        order[t].after = after;
    }
    sort_thunks(p, order, sorted);
done:
    base_free(writer);
    base_free(read);
    base_free(donor);
    base_free(until);
    base_free(order);
    base_free(sorted);
    return s;
}
