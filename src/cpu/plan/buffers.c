/* Where every slot lives: lifetimes, results written over dying operands, outputs that take over donated arguments, and
 * offsets of temporaries in one arena (largest first, each at the lowest place free during its whole life: the greedy
 * order of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). */
#include "cpu/plan/build_int.h"
#include "cpu/plan/stages.h"
#include "pass/pass.h"

#include <stdlib.h>

static uint32_t root_of(const cpu_plan *p, uint32_t s) {
    while (p->slots[s].same_as != CPU_NONE) s = p->slots[s].same_as;
    return s;
}

static void touch(cpu_slot *s, uint32_t t) {
    if (t < s->first) s->first = t;
    if (s->last == CPU_NONE || t > s->last) s->last = t;
}

/* first = CPU_NONE and last = CPU_NONE mean never. Outputs are read by the caller after the last thunk. */
static void lifetimes(cpu_plan *p) {
    for (size_t i = 0; i < p->n_slots; i++) p->slots[i].first = p->slots[i].last = CPU_NONE;
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        for (uint32_t i = 0; i < th->n_in; i++) touch(&p->slots[th->in[i].slot], t);
        for (uint32_t i = 0; i < th->n_out; i++) touch(&p->slots[th->out[i].slot], t);
        if (th->scratch != CPU_NONE) touch(&p->slots[th->scratch], t);
    }
    for (size_t i = 0; i < p->n_slots; i++)
        if (p->slots[i].kind == CPU_SLOT_OUT) p->slots[i].last = (uint32_t)p->n_thunks;
}

/* Output o of thunk t may be written over slot r: allowed by the kernel, which reads r through exactly one
 * input, whole. */
static bool may_overwrite(const cpu_plan *p, uint32_t t, uint32_t o, uint32_t r) {
    const cpu_thunk *th = &p->thunks[t];
    bool allowed = false;
    size_t readers = 0;
    for (uint32_t i = 0; i < th->n_in; i++) {
        if (root_of(p, th->in[i].slot) != root_of(p, r)) continue;
        readers++;
        allowed = i < 64 && (th->in_place[o] >> i & 1) && th->in[i].offset == 0 && th->in[i].slot == r;
    }
    for (uint32_t k = 0; k < th->n_out; k++)
        if (k != o && root_of(p, th->out[k].slot) == root_of(p, r)) return false; /* another result took it */
    return readers == 1 && allowed && p->slots[r].bytes == p->slots[th->out[o].slot].bytes;
}

static const ir_attr *arg_attr(const ir_func *f, size_t arg, const char *name) {
    if (!f->arg_attrs || !f->n_arg_attrs) return NULL;
    for (size_t i = 0; i < f->n_arg_attrs[arg]; i++)
        if (!strcmp(f->arg_attrs[arg][i].name, name)) return &f->arg_attrs[arg][i];
    return NULL;
}

/* The output that argument i is donated to: named by tf.aliasing_output, or with jax.buffer_donor the first free one
 * of its type. */
static int donated_to(const cpu_exec *e, size_t i) {
    const ir_func *f = e->main;
    const ir_type *type = f->body->args[i]->type;
    const ir_attr *a = arg_attr(f, i, "tf.aliasing_output");
    if (a && a->kind == IR_AK_INT) {
        bool ok = a->v.i >= 0 && (uint64_t)a->v.i < f->n_results &&
                  ir_type_bytes(f->result_types[a->v.i]) == ir_type_bytes(type);
        return ok ? (int)a->v.i : -1;
    }
    a = arg_attr(f, i, "jax.buffer_donor");
    if (!a || a->kind != IR_AK_BOOL || !a->v.b) return -1;
    for (size_t j = 0; j < f->n_results; j++) {
        bool taken = f->result_types[j] != type;
        for (size_t k = 0; k < f->body->n_args && !taken; k++) {
            const ir_attr *other = arg_attr(f, k, "tf.aliasing_output");
            taken = e->alias[k] == (int)j || (other && other->kind == IR_AK_INT && other->v.i == (int64_t)j);
        }
        if (!taken) return (int)j;
    }
    return -1;
}

xt_status cpu_stage_donate(cpu_builder *b) {
    cpu_exec *e = b->exec;
    for (size_t i = 0; i < e->main->body->n_args; i++) e->alias[i] = donated_to(e, i);
    return NULL;
}

/* An output may live in a donated argument's memory if it is first written after the argument's last reader, or by that
 * reader in place. */
static void take_over(cpu_exec *e) {
    cpu_plan *p = &e->plan;
    for (size_t i = 0; i < e->main->body->n_args; i++) {
        int j = e->alias[i];
        if (j < 0) continue;
        cpu_slot *out = &p->slots[p->out_slots[j]];
        const cpu_slot *arg = &p->slots[i]; /* arguments are the first slots, in order */
        if (out->takes != CPU_NONE || out->bytes != arg->bytes) continue;
        bool safe = arg->last == CPU_NONE || out->first > arg->last;
        if (!safe && out->first == arg->last && out->first < p->n_thunks) {
            const cpu_thunk *th = &p->thunks[out->first];
            for (uint32_t o = 0; o < th->n_out; o++)
                if (th->out[o].slot == p->out_slots[j]) safe = may_overwrite(p, out->first, o, (uint32_t)i);
        }
        if (safe) out->takes = (uint32_t)i;
    }
}

/* Results go on using the memory of an operand that dies with this thunk. */
static void share(cpu_plan *p) {
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        for (uint32_t o = 0; o < th->n_out; o++) {
            uint32_t si = th->out[o].slot;
            cpu_slot *s = &p->slots[si];
            if (!th->in_place[o] || s->first != t || s->same_as != CPU_NONE || s->bytes == 0) continue;
            if (s->kind != CPU_SLOT_TEMP && (s->kind != CPU_SLOT_OUT || s->takes != CPU_NONE)) continue;
            for (uint32_t i = 0; i < th->n_in && i < 64; i++) {
                uint32_t r = th->in[i].slot;
                if (p->slots[r].kind != CPU_SLOT_TEMP || !may_overwrite(p, t, o, r)) continue;
                uint32_t root = root_of(p, r);
                if (p->slots[root].kind != CPU_SLOT_TEMP || p->slots[root].last != t ||
                    p->slots[root].bytes != s->bytes)
                    continue;
                if (s->kind == CPU_SLOT_OUT) {
                    p->slots[root].same_as = si;
                    s->first = p->slots[root].first;
                } else {
                    s->same_as = root;
                    p->slots[root].last = s->last;
                }
                break;
            }
        }
    }
}

typedef struct placed {
    uint32_t slot;
    size_t bytes, offset;
    uint32_t first, last;
} placed;

static int by_size(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static xt_status offsets(cpu_plan *p) {
    placed *all = base_malloc((p->n_slots + 1) * sizeof *all);
    uint32_t *order = base_malloc((p->n_slots + 1) * sizeof *order); /* those that have a place, by offset */
    xt_status s = NULL;
    size_t n = 0, done = 0;
    if (!all || !order) {
        s = status_oom(0, "a buffer plan");
        goto out;
    }
    for (uint32_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *x = &p->slots[i];
        if (x->kind != CPU_SLOT_TEMP || x->same_as != CPU_NONE || x->first == CPU_NONE || x->bytes == 0) continue;
        size_t bytes;
        if (!size_add(x->bytes, CPU_ALIGN - 1, &bytes)) {
            s = status_new(XT_RESOURCE_EXHAUSTED, NULL, "a temporary of %zu bytes is too large", x->bytes);
            goto out;
        }
        all[n++] = (placed){i, bytes / CPU_ALIGN * CPU_ALIGN, 0, x->first, x->last};
    }
    qsort(all, n, sizeof *all, by_size);
    for (size_t i = 0; i < n; i++) {
        size_t at = 0, k;
        for (k = 0; k < done; k++) {
            const placed *q = &all[order[k]];
            if (q->last < all[i].first || q->first > all[i].last) continue;
            if (q->offset >= at && q->offset - at >= all[i].bytes) break;
            if (q->offset + q->bytes > at) at = q->offset + q->bytes;
        }
        size_t end;
        if (!size_add(at, all[i].bytes, &end)) {
            s = status_new(XT_RESOURCE_EXHAUSTED, NULL,
                           "the temporaries of this program do not fit into the address space");
            goto out;
        }
        all[i].offset = at;
        p->slots[all[i].slot].offset = at;
        if (end > p->arena_bytes) p->arena_bytes = end;
        size_t where = done;
        while (where > 0 && all[order[where - 1]].offset > at) where--;
        memmove(order + where + 1, order + where, (done - where) * sizeof *order);
        order[where] = (uint32_t)i;
        done++;
    }
out:
    base_free(all);
    base_free(order);
    return s;
}

static xt_status find_peak(cpu_plan *p) {
    int64_t *delta = base_calloc(p->n_thunks + 2, sizeof *delta);
    if (!delta) return status_oom(p->n_thunks * sizeof *delta, "a buffer plan");
    for (size_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *s = &p->slots[i];
        if (s->kind != CPU_SLOT_TEMP || s->same_as != CPU_NONE || s->first == CPU_NONE) continue;
        delta[s->first] += (int64_t)s->bytes;
        delta[s->last + 1] -= (int64_t)s->bytes;
    }
    int64_t now = 0, best = -1;
    for (size_t t = 0; t < p->n_thunks; t++) {
        now += delta[t];
        if (now > best) best = now, p->peak_thunk = (uint32_t)t;
    }
    base_free(delta);
    return NULL;
}

/* The slot whose memory s is in the end: an argument's where that is taken over. */
static uint32_t place_of(const cpu_plan *p, uint32_t s) {
    uint32_t r = root_of(p, s);
    return p->slots[r].kind == CPU_SLOT_OUT && p->slots[r].takes != CPU_NONE ? p->slots[r].takes : r;
}

/* What a thunk moves, memory being assigned: an update in place only its slice, a result that lies there
 * already nothing. */
static double bytes_moved(const cpu_plan *p, const cpu_thunk *t) {
    bool in_place =
        t->n_in && t->n_out == 1 && t->in[0].offset == 0 && place_of(p, t->in[0].slot) == place_of(p, t->out[0].slot);
    if (in_place && t->kernel->is_copy) return 0;
    if (in_place && t->n_ops == 1 && t->op->code == OP_dynamic_update_slice)
        return 2.0 * (double)ir_type_bytes(t->op->in[1]->type);
    return t->bytes;
}

static void fill_stats(cpu_exec *e) {
    const cpu_plan *p = &e->plan;
    cpu_stats s = {0};
    for (size_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *x = &p->slots[i];
        if (x->kind == CPU_SLOT_ARG) s.argument_bytes += (int64_t)x->bytes;
        if (x->kind == CPU_SLOT_OUT) s.output_bytes += (int64_t)x->bytes;
        if (x->kind == CPU_SLOT_OUT && x->takes != CPU_NONE) s.alias_bytes += (int64_t)x->bytes;
    }
    for (size_t t = 0; t < p->n_thunks; t++) {
        s.flops += p->thunks[t].flops;
        s.bytes_accessed += bytes_moved(p, &p->thunks[t]);
        s.transcendentals += p->thunks[t].transcendentals;
    }
    s.collective_bytes = e->collective_bytes;
    s.temp_bytes = (int64_t)p->arena_bytes;
    s.code_bytes = (int64_t)p->const_bytes;
    s.peak_bytes = s.argument_bytes + s.output_bytes - s.alias_bytes + s.temp_bytes;
    e->stats = s;
}

xt_status cpu_stage_assign(cpu_builder *b) {
    cpu_exec *e = b->exec;
    cpu_plan *p = &e->plan;
    lifetimes(p);
    if (pass_is_on("buffers")) {
        take_over(e);
        share(p);
    } else {
        for (size_t i = 0; i < p->n_slots; i++)
            if (p->slots[i].kind == CPU_SLOT_TEMP && p->slots[i].first != CPU_NONE)
                p->slots[i].first = 0, p->slots[i].last = (uint32_t)p->n_thunks;
    }
    XT_TRY(offsets(&e->plan));
    XT_TRY(find_peak(&e->plan));
    fill_stats(e);
    return NULL;
}
