/* A descriptor becomes a thunk: its operands are made where they are to lie, its results get slots. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/layout.h"

static xt_status thunk_values(cpu_builder *b, const cpu_thunk_desc *d, cpu_thunk *t) {
    for (size_t i = 0; i < d->n_in; i++) {
        const ir_value *v = d->in ? d->in[i] : d->op->in[i];
        XT_TRY(i < 64 && d->in_blocked >> i & 1 ? layout_blocked(b, v, &t->in[i]) : cpu_build_dense(b, v, &t->in[i]));
        t->bytes += (double)ir_type_bytes(v->type);
    }
    for (size_t i = 0; i < d->n_out; i++) {
        const ir_value *v = d->out ? d->out[i] : &d->op->out[i];
        cpu_slot s = {.kind = CPU_SLOT_TEMP, .bytes = ir_type_bytes(v->type), .op = v->def ? v->def : d->op, .type = v->type};
        XT_TRY(build_slot(b, s, &t->out[i].slot));
        t->out[i].offset = 0;
        t->bytes += (double)s.bytes;
        value_info *info = build_info(b, v);
        if (!info) return status_oom(sizeof *info, "a buffer plan");
        info->state = info->state == VALUE_LAZY ? VALUE_LAZY : VALUE_DENSE;
        bool blocked = i < 64 && d->out_blocked >> i & 1;
        *(blocked ? &info->has_blk : &info->has_ref) = true;
        *(blocked ? &info->blk : &info->ref) = t->out[i];
    }
    if (d->scratch_bytes) XT_TRY(build_slot(b, (cpu_slot){.kind = CPU_SLOT_TEMP, .bytes = d->scratch_bytes, .op = d->op}, &t->scratch));
    return NULL;
}

xt_status cpu_build_thunk(cpu_builder *b, const cpu_thunk_desc *d) {
    cpu_thunk t = {
        .kernel = d->kernel, .op = d->op, .state = d->state, .scratch = CPU_NONE, .flops = d->flops, .transcendentals = d->transcendentals};
    xt_status s = NULL;
    t.n_ops = d->ops ? (uint32_t)d->n_ops : 1;
    t.n_in = (uint32_t)d->n_in;
    t.n_out = (uint32_t)d->n_out;
    t.ordinal = d->op->user ? b->ordinals[d->op->user - 1] : CPU_NONE;
    t.ops = base_malloc((t.n_ops + 1) * sizeof *t.ops);
    t.in = base_calloc(t.n_in + 1, sizeof *t.in);
    t.out = base_calloc(t.n_out + 1, sizeof *t.out);
    t.over = base_calloc(t.n_out + 1, sizeof *t.over);
    if (!t.ops || !t.in || !t.out || !t.over) {
        s = status_oom(0, "a buffer plan");
        goto fail;
    }
    for (uint32_t i = 0; i < t.n_ops; i++) t.ops[i] = d->ops ? d->ops[i] : d->op;
    if (d->over) memcpy(t.over, d->over, t.n_out * sizeof *t.over);
    if ((s = thunk_values(b, d, &t))) goto fail;
    if (d->bytes > 0) t.bytes = d->bytes;
    if (b->plan->n_thunks < CPU_NONE && VEC_PUSH(b->plan->thunks, b->plan->n_thunks, b->plan->cap_thunks, t)) return NULL;
    s = status_oom(sizeof t, "a buffer plan");
fail:
    cpu_thunk_free(&t);
    return s;
}
