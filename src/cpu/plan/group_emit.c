/* The loops of closed groups: their ops as vector programs in the thunks that stand there for them. */
#include "cpu/plan/group_int.h"
#include "cpu/plan/stages.h"

/* --- a vector program --- */
int loop_load(vprog_builder *p, const ir_value *v, const vprog_source *s) {
    xt_dtype d = v->type->dtype;
    vprog_type reg;
    if (!vprog_type_of(d, &reg) && !vprog_type_of_size(xt_dtype_size(d), &reg)) return -1;
    bool half = vprog_is_half(d);
    if (s->kind == VPROG_IOTA) {
        vprog_type counted = s->elem == 4 ? VPROG_I32 : VPROG_I64;
        int n = vprog_load(p, s, counted);
        if (reg == counted) return n;
        n = vprog_emit(p, (vprog_op)(VPROG_CONVERT + reg), counted, n, -1, -1);
        return half ? vprog_emit(p, d == XT_BF16 ? VPROG_ROUND_BF16 : VPROG_ROUND_F16, VPROG_F32, n, -1, -1) : n;
    }
    if (!half) return vprog_load(p, s, reg);
    /* An input of a narrow type lies in memory as u16; the register holds its f32 value. */
    int n = vprog_load(p, s, VPROG_U16);
    return vprog_emit(p, d == XT_BF16 ? VPROG_LOAD_BF16 : VPROG_LOAD_F16, VPROG_F32, n, -1, -1);
}

static int operand(cpu_builder *b, vprog_builder *p, loop_reads *r, const ir_value *v, uint32_t g) {
    if (group_has(b, g, v)) return build_info(b, v)->number;
    for (size_t k = 0; k < r->n; k++) {
        loop_read *one = &r->reads[k];
        if (one->value != v) continue;
        if (one->number < 0) one->number = loop_load(p, v, &one->source);
        return one->number;
    }
    return -1;
}

int loop_op(cpu_builder *b, vprog_builder *p, loop_reads *r, const ir_op *op, uint32_t g) {
    int x = operand(b, p, r, op->in[0], g);
    if (group_is_name(op)) return x; /* a reshape inside the group: the same elements in the same order */
    int y = op->n_in > 1 ? operand(b, p, r, op->in[1], g) : -1;
    int z = op->n_in > 2 ? operand(b, p, r, op->in[2], g) : -1;
    return vprog_emit_op(p, op, x, y, z);
}

/* The end of a loop that is `op`: elements move as they are where nobody has computed them. */
static void write_turns(cpu_builder *b, vprog_builder *p, loop_reads *r, const ir_op *op, uint32_t g, uint32_t out) {
    const xt_dtype d = op->out[0].type->dtype;
    vprog_part parts[VPROG_MOST_PARTS];
    int64_t width = 1;
    for (uint32_t i = (uint32_t)ir_get_int(op, IR_A_dimension, 0); i < op->in[0]->type->rank; i++)
        width *= op->in[0]->type->dims[i];
    for (uint32_t i = 0; i < op->n_in; i++) {
        const loop_read *raw = NULL;
        for (size_t k = 0; k < r->n && vprog_is_half(d) && !group_has(b, g, op->in[i]); k++)
            if (r->reads[k].value == op->in[i] && r->reads[k].source.kind != VPROG_IOTA) raw = &r->reads[k];
        parts[i] = raw ? (vprog_part){vprog_load(p, &raw->source, VPROG_U16), XT_U16}
                       : (vprog_part){operand(b, p, r, op->in[i], g), d};
    }
    vprog_interleave(p, op->n_in, parts, width, out);
}

/* --- its kernel --- */
static xt_status loop_run(const cpu_call *c) {
    return vprog_run(c->thunk->state, &c->device->team, c->in, c->out, c->scratch);
}
static void loop_free(void *state) {
    vprog_free(state);
}
static bool loop_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    return vprog_access(t->state, t->reads, k, out);
}
static size_t loop_bound_bytes(const void *state) {
    return vprog_bound_bytes(state);
}
static void loop_bind(const cpu_call *c, void *room) {
    vprog_bind(c->thunk->state, c->in, c->out, c->scratch, room);
}
static void loop_run_bound(const cpu_call *c, void *room) {
    vprog_run_bound(c->thunk->state, c->in, room);
}
#define LOOP(text)                                                                                                 \
    {                                                                                                              \
        text, loop_run, loop_free, .anywhere = true, .is_fused = true, .access = loop_access,                      \
                                   .bound_bytes = loop_bound_bytes, .bind = loop_bind, .run_bound = loop_run_bound \
    }
const cpu_kernel loop_fused = LOOP("fused");
const cpu_kernel loop_copy = LOOP("copy");

/* --- all groups --- */
static xt_status write_program(cpu_builder *b, uint32_t gi, vprog_builder *p) {
    const group *g = &b->groups[gi];
    group_loop *l = g->loop;
    for (size_t i = 0; i < g->n; i++) {
        if (group_is_turns(g->ops[i])) continue; /* no value of the loop's, but how results are written */
        int number = build_info(b, &g->ops[i]->out[0])->number = loop_op(b, p, &l->from, g->ops[i], gi);
        if (number >= 0) continue;
        return vprog_lacks(p) ? status_new(XT_INTERNAL, NULL, "no vector instruction for stablehlo.%s",
                                           ir_op_infos[g->ops[i]->code].name)
                              : status_oom(0, "a fused loop");
    }
    for (size_t i = 0; i < l->n_results; i++)
        if (group_is_turns(l->results[i]->def))
            write_turns(b, p, &l->from, l->results[i]->def, gi, (uint32_t)i);
        else
            vprog_store(p, build_info(b, l->results[i])->number, (uint32_t)i, l->results[i]->type->dtype);
    return NULL;
}

static xt_status emit(cpu_builder *b, uint32_t gi) {
    const group_loop *l = b->groups[gi].loop;
    cpu_thunk *t = &b->plan->thunks[l->thunk];
    vprog_builder *p = vprog_begin(b->groups[gi].count);
    vprog *program = NULL;
    if (!p) return status_oom(0, "a fused loop");
    xt_status s = write_program(b, gi, p);
    if (s) {
        vprog_abandon(p);
        return s;
    }
    XT_TRY(vprog_finish(p, l->n_results, &program, t->in_place));
    t->state = program;
    b->plan->slots[t->scratch].bytes = vprog_scratch_bytes(program, cpu_build_threads(b));
    return NULL;
}

/* Loops that need no scratch memory have no slot for it: those behind move up. */
static xt_status drop_empty_scratch(cpu_builder *b) {
    cpu_plan *p = b->plan;
    uint32_t *to = base_malloc((p->n_slots + 1) * sizeof *to), n = 0;
    if (!to) return status_oom(p->n_slots * sizeof *to, "a buffer plan");
    for (size_t i = 0; i < p->n_slots; i++) to[i] = 0;
    for (size_t i = 0; i < b->n_groups; i++) {
        cpu_thunk *t = b->groups[i].loop ? &p->thunks[b->groups[i].loop->thunk] : NULL;
        if (!t || p->slots[t->scratch].bytes) continue;
        to[t->scratch] = CPU_NONE;
        t->scratch = CPU_NONE;
    }
    for (size_t i = 0; i < p->n_slots; i++) {
        if (to[i] == CPU_NONE) continue;
        p->slots[n] = p->slots[i];
        to[i] = n++;
    }
    p->n_slots = n;
    for (size_t i = 0; i < p->n_thunks; i++) {
        cpu_thunk *t = &p->thunks[i];
        for (uint32_t k = 0; k < t->n_in; k++) t->in[k].slot = to[t->in[k].slot];
        for (uint32_t k = 0; k < t->n_out; k++) t->out[k].slot = to[t->out[k].slot];
        if (t->scratch != CPU_NONE) t->scratch = to[t->scratch];
    }
    for (size_t i = 0; i < b->n_values; i++) {
        value_info *v = &b->values[i];
        if (v->has_ref) v->ref.slot = to[v->ref.slot];
        if (v->has_blk) v->blk.slot = to[v->blk.slot];
    }
    for (size_t i = 0; i < b->exec->main->n_results; i++) p->out_slots[i] = to[p->out_slots[i]];
    base_free(to);
    return NULL;
}

xt_status cpu_stage_emit(cpu_builder *b) {
    for (uint32_t g = 0; g < b->n_groups; g++)
        if (b->groups[g].loop) XT_TRY(emit(b, g));
    return b->n_groups ? drop_empty_scratch(b) : NULL;
}
