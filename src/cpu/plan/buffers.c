/* Where every slot lives: lifetimes, results written over dying operands, outputs that take over donated arguments.
 * Where temporaries lie in the arena is offsets.c's. */
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

/* The output that argument i is donated to by tf.aliasing_output, or -1. */
static int aliased_to(const cpu_exec *e, size_t i, bool *out_says) {
    const ir_func *f = e->main;
    const ir_attr *a = arg_attr(f, i, "tf.aliasing_output");
    *out_says = a && a->kind == IR_AK_INT;
    if (!*out_says || a->v.i < 0 || (uint64_t)a->v.i >= f->n_results) return -1;
    return ir_type_bytes(f->result_types[a->v.i]) == ir_type_bytes(f->body->args[i]->type) ? (int)a->v.i : -1;
}

/* The outputs of one type: what jax.buffer_donor gives to the first free one of them is looked for from the last found
 * one on, as those before it stay taken. */
typedef struct outputs {
    const ir_type *type;
    size_t next; /* no output before it is free */
} outputs;

static int first_free(const ir_func *f, const bool *taken, outputs *o) {
    for (; o->next < f->n_results; o->next++)
        if (f->result_types[o->next] == o->type && !taken[o->next]) return (int)o->next;
    return -1;
}

static xt_status donate_rest(cpu_exec *e, bool *taken, map *by_type) {
    const ir_func *f = e->main;
    for (size_t i = 0; i < f->body->n_args; i++) {
        const ir_type *type = f->body->args[i]->type;
        const ir_attr *a = arg_attr(f, i, "jax.buffer_donor");
        bool says;
        aliased_to(e, i, &says);
        if (says || !a || a->kind != IR_AK_BOOL || !a->v.b) continue;
        outputs *o = map_get(by_type, &type->id, sizeof type->id);
        if (!o) {
            o = base_calloc(1, sizeof *o);
            if (!o || !map_put(by_type, &type->id, sizeof type->id, o, NULL)) {
                base_free(o);
                return status_oom(sizeof *o, "a buffer plan");
            }
            o->type = type;
        }
        e->alias[i] = first_free(f, taken, o);
        if (e->alias[i] >= 0) taken[e->alias[i]] = true;
    }
    return NULL;
}

/* An output that tf.aliasing_output names is nobody else's, also where its argument's size is another. */
xt_status cpu_stage_donate(cpu_builder *b) {
    cpu_exec *e = b->exec;
    const ir_func *f = e->main;
    bool *taken = base_calloc(f->n_results + 1, sizeof *taken);
    map *by_type = map_new();
    xt_status s = taken && by_type ? NULL : status_oom(f->n_results, "a buffer plan");
    for (size_t i = 0; !s && i < f->body->n_args; i++) {
        const ir_attr *a = arg_attr(f, i, "tf.aliasing_output");
        bool says;
        e->alias[i] = aliased_to(e, i, &says);
        if (says && a->v.i >= 0 && (uint64_t)a->v.i < f->n_results) taken[a->v.i] = true;
    }
    if (!s) s = donate_rest(e, taken, by_type);
    map_free(by_type, base_free);
    base_free(taken);
    return s;
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
    p->zoned = env_has_word("XT_DEBUG", "redzones");
    XT_TRY(cpu_plan_offsets(&e->plan));
    XT_TRY(find_peak(&e->plan));
    fill_stats(e);
    return NULL;
}
