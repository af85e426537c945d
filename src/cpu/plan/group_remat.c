/* Rematerialisation: values of an open group computed once more, by a vector program of their own, for a kernel that
 * reads them block by block. */
#include "cpu/plan/group_int.h"
#include "cpu/vector/move.h"

static bool is_slow(const ir_op *op) {
    return op->code == OP_divide || op->code == OP_sqrt || op->code == OP_rsqrt || op->code == OP_power ||
           op->code == OP_remainder || cpu_op_transcendentals(op) > 0;
}

/* Marks, from the end, the ops of the group that v needs (needed[i]); false: too many. In a tile or a block of rows
 * arrays are in the nearest caches: there no function is computed twice. */
static bool find_needed(const cpu_builder *b, const group *g, const ir_value *v, size_t ops, size_t slow,
                        bool *needed) {
    uint64_t epoch = ir_new_epoch();
    bool shared = false, function = false;
    ((ir_value *)(uintptr_t)v)->mark = epoch;
    for (size_t i = g->n; i-- > 0;) {
        const ir_op *op = g->ops[i];
        if (op->out[0].mark != epoch) continue;
        if (!ops-- || (is_slow(op) && !slow--)) return false;
        shared |= op->out[0].uses > 1;
        function |= cpu_op_transcendentals(op) > 0;
        needed[i] = true;
        for (uint32_t k = 0; k < op->n_in; k++) op->in[k]->mark = epoch;
    }
    return !(b->exec->is_tile && shared && function);
}

void group_remat_free(group_remat *c) {
    vprog_free(c->vprog);
    vprog_free(c->folding);
    base_free(c->in);
    base_free(c->refs);
    *c = (group_remat){0};
}

/* The needed ops as a vector program; *out_program stays NULL where it cannot be. */
static xt_status write_program(cpu_builder *b, uint32_t gi, const bool *needed, loop_reads *from, group_remat *out,
                               vprog_builder **out_program) {
    const group g = b->groups[gi]; /* by value: reading may close others, which moves the array, but not this one */
    bool can = true;
    for (size_t i = 0; i < g.n && can; i++)
        if (needed[i]) XT_TRY(loop_read_operands(b, from, g.ops[i], gi, &can));
    if (!can) return NULL;
    vprog_builder *p = vprog_begin(g.count);
    if (!p) return status_oom(0, "a fused loop");
    for (size_t i = 0; i < g.n && can; i++) {
        if (!needed[i]) continue;
        int number = build_info(b, &g.ops[i]->out[0])->number = loop_op(b, p, from, g.ops[i], gi);
        can = number >= 0;
        out->flops += cpu_op_flops(g.ops[i]);
        out->transcendentals += cpu_op_transcendentals(g.ops[i]);
        out->named = g.ops[i];
    }
    if (can)
        *out_program = p;
    else
        vprog_abandon(p);
    return NULL;
}

/* Some of what is read lies across memory: gathered whole rows at a time, of which a kernel's blocks know nothing. */
static bool reads_turned(const loop_reads *from) {
    for (size_t i = 0; i < from->n; i++) {
        const vprog_source *s = &from->reads[i].source;
        if (s->kind == VPROG_STRIDED && cpu_is_turned(&s->v, s->elem)) return true;
    }
    return false;
}

xt_status group_rematerialise(cpu_builder *b, const ir_value *v, size_t ops, size_t slow, group_remat *out) {
    value_info *info = build_info(b, v);
    if (!info || info->state != VALUE_MEMBER) return NULL;
    uint32_t gi = group_find(b, info->group);
    const group *g = &b->groups[gi];
    if (g->end != GROUP_OPEN || g->feature || group_is_turns(v->def)) return NULL;
    bool *needed = base_calloc(g->n + 1, sizeof *needed);
    loop_reads from = {.count = g->count};
    vprog_builder *p = NULL;
    uint64_t in_place;
    size_t bytes = 0;
    xt_status s = needed ? NULL : status_oom(0, "a fused loop");
    if (s || !find_needed(b, g, v, ops, slow, needed)) goto done;
    if ((s = write_program(b, gi, needed, &from, out, &p)) || !p || reads_turned(&from)) goto done;
    for (size_t i = 0; i < from.n_in; i++) bytes += build_bytes_read(b, from.in[i], &from.refs[i]);
    if (v->uses > 1 && bytes > ir_type_bytes(v->type) + ir_type_bytes(v->type) / 4) goto done;
    vprog_builder *f = vprog_fork(p);
    if (f) {
        vprog_fold(f, build_info(b, v)->number, out->fold, out->run);
        s = vprog_finish(f, 1, &out->folding, &in_place);
    } else {
        s = status_oom(0, "a fused loop");
    }
    if (s) goto done;
    vprog_store(p, build_info(b, v)->number, 0, out->memory);
    s = vprog_finish(p, 1, &out->vprog, &in_place);
    p = NULL;
    if (s) goto done;
    out->in = from.in;
    out->refs = from.refs;
    out->n_in = from.n_in;
    from.in = NULL;
    from.refs = NULL;
    build_info(b, v)->inside++;
done:
    vprog_abandon(p);
    loop_reads_free(&from);
    base_free(needed);
    return s;
}

xt_status group_remat_thunk(cpu_builder *b, const group_remat *c, const cpu_thunk_desc *d) {
    const ir_op *ops[2] = {d->op, c->named};
    cpu_thunk_desc with = *d;
    with.in = c->in;
    with.refs = c->refs;
    with.n_in = c->n_in;
    with.ops = ops;
    with.n_ops = 2;
    return cpu_build_thunk(b, &with);
}
