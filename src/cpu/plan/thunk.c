/* A descriptor becomes a thunk: its operands are made where they are to lie, its results get slots. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/layout.h"

/* What is read of an input at a given place: a broadcast one is smaller than what it looks like. */
size_t build_bytes_read(const cpu_builder *b, const ir_value *v, const cpu_ref *ref) {
    size_t whole = b->plan->slots[ref->slot].bytes, used = ir_type_bytes(v->type);
    return used < whole ? used : whole;
}

static xt_status read_inputs(cpu_builder *b, const cpu_thunk_desc *d, cpu_thunk *t) {
    for (size_t i = 0; i < d->n_in; i++) {
        const ir_value *v = d->in ? d->in[i] : d->op->in[i];
        bool blocked = i < 64 && d->in_blocked >> i & 1;
        if (d->refs)
            t->in[i] = d->refs[i];
        else
            XT_TRY(blocked ? layout_blocked(b, v, &t->in[i]) : cpu_build_dense(b, v, &t->in[i]));
        t->reads[i] = v;
        t->bytes += (double)(d->refs ? build_bytes_read(b, v, &t->in[i]) : ir_type_bytes(v->type));
    }
    return NULL;
}

/* The value lies here from now on. */
static xt_status note_place(cpu_builder *b, const ir_value *v, bool blocked, cpu_ref place) {
    value_info *info = build_info(b, v);
    if (!info) return status_oom(sizeof *info, "a buffer plan");
    info->state = info->state == VALUE_LAZY ? VALUE_LAZY : VALUE_DENSE;
    *(blocked ? &info->has_blk : &info->has_ref) = true;
    *(blocked ? &info->blk : &info->ref) = place;
    return NULL;
}

static xt_status make_outputs(cpu_builder *b, const cpu_thunk_desc *d, cpu_thunk *t) {
    for (size_t i = 0; i < d->n_out; i++) {
        const ir_value *v = d->out ? d->out[i] : &d->op->out[i];
        cpu_slot s = {.kind = CPU_SLOT_TEMP,
                      .bytes = ir_type_bytes(v->type),
                      .op = v->def ? v->def : d->op,
                      .type = v->type,
                      .value = v};
        bool blocked = i < 64 && d->out_blocked >> i & 1;
        if (blocked) XT_TRY(layout_check(b, v));
        if (blocked) s.feature = (uint8_t)(layout_feature(b, v) + 1);
        if (d->to_results) {
            s.kind = CPU_SLOT_OUT;
            s.index = d->result + (uint32_t)i;
            s.op = d->op;
        }
        XT_TRY(build_slot(b, s, &t->out[i].slot));
        t->bytes += (double)s.bytes;
        if (d->to_results)
            b->plan->out_slots[s.index] = t->out[i].slot;
        else
            XT_TRY(note_place(b, v, blocked, t->out[i]));
    }
    if (d->scratch_bytes || d->scratch_later)
        XT_TRY(build_slot(b, (cpu_slot){.kind = CPU_SLOT_TEMP, .bytes = d->scratch_bytes, .op = d->op}, &t->scratch));
    return NULL;
}

xt_status cpu_build_thunk(cpu_builder *b, const cpu_thunk_desc *d) {
    cpu_thunk t = {.kernel = d->kernel,
                   .op = d->op,
                   .state = d->state,
                   .scratch = CPU_NONE,
                   .flops = d->flops,
                   .transcendentals = d->transcendentals};
    xt_status s = NULL;
    t.n_ops = d->ops ? (uint32_t)d->n_ops : 1;
    t.n_in = (uint32_t)d->n_in;
    t.n_out = (uint32_t)d->n_out;
    t.ordinal = d->op->user ? b->ordinals[d->op->user - 1] : CPU_NONE;
    t.ops = base_malloc((t.n_ops + 1) * sizeof *t.ops);
    t.in = base_calloc(t.n_in + 1, sizeof *t.in);
    t.reads = base_calloc(t.n_in + 1, sizeof *t.reads);
    t.in_blocked = d->in_blocked;
    t.out = base_calloc(t.n_out + 1, sizeof *t.out);
    t.in_place = base_calloc(t.n_out + 1, sizeof *t.in_place);
    if (!t.ops || !t.in || !t.reads || !t.out || !t.in_place) {
        s = status_oom(0, "a buffer plan");
        goto fail;
    }
    for (uint32_t i = 0; i < t.n_ops; i++) t.ops[i] = d->ops ? d->ops[i] : d->op;
    if (d->in_place) memcpy(t.in_place, d->in_place, t.n_out * sizeof *t.in_place);
    if ((s = read_inputs(b, d, &t)) || (s = make_outputs(b, d, &t))) goto fail;
    if (d->bytes > 0) t.bytes = d->bytes;
    if (b->plan->n_thunks < CPU_NONE && VEC_PUSH(b->plan->thunks, b->plan->n_thunks, b->plan->cap_thunks, t))
        return NULL;
    s = status_oom(sizeof t, "a buffer plan");
fail:
    cpu_thunk_free(&t);
    return s;
}
