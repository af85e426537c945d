/* Rematerialisation: values of an open group computed once more, by a vector program of their own, for a kernel that
 * reads them block by block. */
#include "cpu/plan/group_int.h"

static bool is_slow(const ir_op *op) {
    return op->code == OP_divide || op->code == OP_sqrt || op->code == OP_rsqrt || op->code == OP_power ||
           op->code == OP_remainder || cpu_op_transcendentals(op) > 0;
}

/* Marks, from the end, the ops of the group that v needs (needed[i]); false: too many. */
static bool find_needed(const group *g, const ir_value *v, size_t ops, size_t slow, bool *needed) {
    uint64_t epoch = ir_new_epoch();
    ((ir_value *)(uintptr_t)v)->mark = epoch;
    for (size_t i = g->n; i-- > 0;) {
        const ir_op *op = g->ops[i];
        if (op->out[0].mark != epoch) continue;
        if (!ops-- || (is_slow(op) && !slow--)) return false;
        needed[i] = true;
        for (uint32_t k = 0; k < op->n_in; k++) op->in[k]->mark = epoch;
    }
    return true;
}

void group_remat_free(group_remat *c) {
    vprog_free(c->vprog);
    base_free(c->in);
    base_free(c->refs);
    *c = (group_remat){0};
}

xt_status group_rematerialise(cpu_builder *b, const ir_value *v, size_t ops, size_t slow, group_remat *out) {
    value_info *info = build_info(b, v);
    *out = (group_remat){0};
    if (!info || info->state != VALUE_MEMBER) return NULL;
    uint32_t gi = group_find(b, info->group);
    const group g = b->groups[gi];
    if (g.emitted || g.feature) return NULL;
    bool *needed = base_calloc(g.n + 1, sizeof *needed);
    emission e = {.b = b, .vprog = vprog_begin(g.count), .count = g.count};
    uint64_t in_place;
    int number = -1;
    size_t bytes = 0;
    xt_status s = !needed || !e.vprog ? status_oom(0, "a fused loop") : NULL;
    if (s || !find_needed(&g, v, ops, slow, needed)) goto done;
    for (size_t i = 0; i < g.n && !e.status; i++) {
        if (!needed[i]) continue;
        number = emission_op(&e, g.ops[i], gi);
        build_info(b, &g.ops[i]->out[0])->number = number;
        out->flops += cpu_op_flops(g.ops[i]);
        out->transcendentals += cpu_op_transcendentals(g.ops[i]);
        out->named = g.ops[i];
        if (number < 0) break;
    }
    if ((s = e.status) || number < 0) goto done;
    for (size_t i = 0; i < e.n_in; i++) bytes += build_bytes_read(b, e.in[i], &e.refs[i]);
    if (v->uses > 1 && bytes > ir_type_bytes(v->type) + ir_type_bytes(v->type) / 4) goto done;
    vprog_store(e.vprog, build_info(b, v)->number, 0, XT_F32);
    s = vprog_finish(e.vprog, 1, &out->vprog, &in_place);
    e.vprog = NULL;
    if (s) goto done;
    out->in = e.in;
    out->refs = e.refs;
    out->n_in = e.n_in;
    e.in = NULL;
    e.refs = NULL;
    build_info(b, v)->inside++;
done:
    vprog_abandon(e.vprog);
    emission_free(&e);
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
