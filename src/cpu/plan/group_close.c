/* A group that somebody reads is closed: where it reads what comes from outside, which of its values get memory, and
 * its thunk's place among the others. The loop itself is made when all groups are known (group_emit.c). */
#include "cpu/plan/group_int.h"

/* --- what a loop reads --- */
xt_status loop_add_input(loop_reads *r, const ir_value *v, cpu_ref ref, uint32_t *out) {
    size_t n = r->n_in;
    if (!VEC_PUSH(r->refs, n, r->cap_refs, ref) || !VEC_PUSH(r->in, r->n_in, r->cap_in, v))
        return status_oom(0, "a fused loop");
    *out = (uint32_t)r->n_in - 1;
    return NULL;
}

/* Longer chains have been made dense on their way, or are no chain within one group. */
const ir_value *loop_strip_aliases(const ir_value *v) {
    for (int n = 0; n < MOST_LAZY_DEPTH + GROUP_MAX_OPS && v->def && build_is_alias(v->def); n++) v = build_alias_of(v);
    return v;
}

static vprog_source iota_source(const ir_value *root, xt_dtype d) {
    int64_t dim = ir_get_int(root->def, IR_A_iota_dimension, 0), inner = 1;
    for (uint32_t i = (uint32_t)dim + 1; i < root->type->rank; i++) inner *= root->type->dims[i];
    int64_t size = root->type->dims[dim] > 0 ? root->type->dims[dim] : 1;
    return (vprog_source){.kind = VPROG_IOTA,
                          .elem = size <= INT32_MAX && xt_dtype_size(d) <= 4 ? 4 : 8, /* other types come from it */
                          .inner = inner > 0 ? inner : 1,
                          .size = size};
}

static void window_source(const loop_reads *r, view *w, vprog_source *s) {
    view_collapse(w);
    bool dense = view_is_dense(w) && view_count(w) == r->count;
    bool one = w->n == 0 || (w->n == 1 && w->strides[0] == 0);
    s->kind = dense && w->n <= 1 && !one ? VPROG_DIRECT
              : one && r->count != 1     ? VPROG_SCALAR
              : dense                    ? VPROG_DIRECT
                                         : VPROG_STRIDED;
    s->offset = s->kind == VPROG_DIRECT ? w->offset : 0;
    s->v = *w;
}

xt_status loop_read_value(cpu_builder *b, loop_reads *r, const ir_value *v, vprog_source *out, bool *out_can) {
    size_t elem = xt_dtype_size(v->type->dtype);
    vprog_type ignored;
    const void *splat = cpu_build_splat(b, v);
    const ir_value *root = loop_strip_aliases(v), *seen = r->blocked ? v : build_in_order(b, v);
    cpu_ref ref;
    view w;
    *out = (vprog_source){.elem = (uint32_t)elem};
    *out_can = vprog_type_of_size(elem, &ignored);
    if (!*out_can) return NULL;
    if (splat) {
        out->kind = VPROG_SPLAT;
        memcpy(out->splat, splat, elem);
        return NULL;
    }
    if (!r->blocked && root->def && root->def->code == OP_iota) { /* counts in the order of dense arrays */
        *out = iota_source(root, v->type->dtype);
        *out_can = vprog_type_of(v->type->dtype, &ignored);
        return NULL;
    }
    if (r->blocked && layout_is_image(v, r->blocked->type)) {
        XT_TRY(layout_blocked(b, v, &ref));
        out->kind = VPROG_DIRECT;
    } else if (build_window(b, seen, &ref, &w)) {
        if (r->blocked) w = layout_blocked_view(&w, layout_feature(b, r->blocked));
        window_source(r, &w, out);
        v = seen;
    } else {
        XT_TRY(cpu_build_dense(b, v, &ref));
        out->kind = v->type->count == 1 && r->count != 1 ? VPROG_SCALAR : VPROG_DIRECT;
    }
    return loop_add_input(r, v, ref, &out->in);
}

xt_status loop_read_operands(cpu_builder *b, loop_reads *r, const ir_op *op, uint32_t g, bool *out_can) {
    *out_can = true;
    for (uint32_t i = 0; i < op->n_in && *out_can; i++) {
        loop_read one = {.value = op->in[i], .number = -1};
        bool known = group_has(b, g, op->in[i]);
        for (size_t k = 0; k < r->n && !known; k++) known = r->reads[k].value == op->in[i];
        if (known) continue;
        XT_TRY(loop_read_value(b, r, op->in[i], &one.source, out_can));
        if (*out_can && !VEC_PUSH(r->reads, r->n, r->cap, one)) return status_oom(sizeof one, "a fused loop");
    }
    return NULL;
}

/* --- its thunk --- */
xt_status loop_add_thunk(cpu_builder *b, const cpu_kernel *k, const loop_reads *r, vprog *t, const ir_op *named,
                         size_t n_ops, const ir_op *const *ops, size_t n_out, const ir_value *const *outs) {
    cpu_thunk_desc d = {.kernel = k,
                        .op = named,
                        .in = r->in,
                        .refs = r->refs,
                        .n_in = r->n_in,
                        .n_out = n_out,
                        .out = outs,
                        .out_blocked = r->blocked ? UINT64_MAX : 0,
                        .n_ops = n_ops,
                        .ops = ops,
                        .scratch_bytes = t ? vprog_scratch_bytes(t, cpu_build_threads(b)) : 0,
                        .scratch_later = !t,
                        .state = t};
    for (size_t i = 0; i < n_ops; i++) {
        d.flops += cpu_op_flops(ops[i]);
        d.transcendentals += cpu_op_transcendentals(ops[i]);
    }
    return cpu_build_thunk(b, &d);
}

/* --- closing --- */
static xt_status settle_reads(cpu_builder *b, uint32_t gi, group_loop *l) {
    for (size_t i = 0; i < b->groups[gi].n; i++) { /* others are closed on the way: the array of groups may move */
        const ir_op *op = b->groups[gi].ops[i];
        bool can;
        XT_TRY(loop_read_operands(b, &l->from, op, gi, &can));
        if (!can)
            return status_new(XT_INTERNAL, NULL, "a loop cannot read what stablehlo.%s reads",
                              ir_op_infos[op->code].name);
    }
    return NULL;
}

/* A value read outside gets memory; a reshape of it is the same memory. */
static xt_status settle_results(cpu_builder *b, uint32_t gi, group_loop *l) {
    const group *g = &b->groups[gi];
    l->results = base_calloc(g->n + 1, sizeof *l->results);
    if (!l->results) return status_oom(0, "a fused loop");
    for (size_t i = g->n; i-- > 0;)
        if (group_is_name(g->ops[i]) && group_needed_outside(b, &g->ops[i]->out[0])) {
            const ir_value *of = build_alias_of(&g->ops[i]->out[0]);
            value_info *info = build_info(b, of);
            /* counts as a reader from outside */
            if (group_has(b, gi, of) && info->inside) info->inside--;
        }
    for (size_t i = 0; i < g->n; i++) {
        const ir_value *v = &g->ops[i]->out[0];
        if (!group_is_name(g->ops[i]) && group_needed_outside(b, v)) l->results[l->n_results++] = v;
    }
    return NULL;
}

/* Members that got no place of their own have none, or that of what they are another name of. */
static void settle_members(cpu_builder *b, const group *g) {
    for (size_t i = 0; i < g->n; i++) {
        value_info *info = build_info(b, &g->ops[i]->out[0]);
        if (info->state != VALUE_MEMBER) continue;
        info->state = VALUE_GONE;
        if (!group_is_name(g->ops[i])) continue;
        const value_info *of = build_info(b, build_alias_of(&g->ops[i]->out[0]));
        if (of->has_ref) {
            info->state = VALUE_DENSE;
            info->has_ref = true;
            info->ref = of->ref;
        }
    }
}

xt_status group_close(cpu_builder *b, uint32_t gi, group_end end) {
    gi = group_find(b, gi);
    group *g = &b->groups[gi];
    if (g->end != GROUP_OPEN) return NULL;
    group_loop *l = g->loop = base_calloc(1, sizeof *l);
    if (!l) return status_oom(sizeof *l, "a fused loop");
    g->end = end;
    g->closed_by = b->at;
    l->from.count = g->count;
    l->from.blocked = g->feature ? &g->ops[0]->out[0] : NULL;
    XT_TRY(settle_reads(b, gi, l));
    XT_TRY(settle_results(b, gi, l));
    g = &b->groups[gi];
    l->thunk = (uint32_t)b->plan->n_thunks;
    XT_TRY(loop_add_thunk(b, &loop_fused, &l->from, NULL, g->ops[g->n - 1], g->n, g->ops, l->n_results, l->results));
    settle_members(b, g);
    return NULL;
}
