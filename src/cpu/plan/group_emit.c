/* A group becomes a thunk: its ops in a vector program, what they read from outside as the thunk's inputs. */
#include "cpu/plan/group_int.h"

uint32_t group_find(const cpu_builder *b, uint32_t g) {
    while (b->groups[g].merged_into != CPU_NONE) g = b->groups[g].merged_into;
    return g;
}

uint32_t emission_add_input(emission *e, const ir_value *v, cpu_ref ref) {
    if (!VEC_PUSH(e->in, e->n_in, e->cap_in, v)) e->status = status_oom(0, "a fused loop");
    size_t n = e->n_in - 1;
    if (!e->status && !VEC_PUSH(e->refs, n, e->cap_refs, ref)) e->status = status_oom(0, "a fused loop");
    return (uint32_t)e->n_in - 1;
}

/* Follows names of the same elements in the same order. */
const ir_value *emission_strip_aliases(const ir_value *v) {
    while (v->def && build_is_alias(v->def)) v = build_alias_of(v);
    return v;
}

/* Puts v, which comes from outside, in the vector program as memory of its own type. */
int emission_load(emission *e, const ir_value *v) {
    cpu_builder *b = e->b;
    xt_dtype d = v->type->dtype;
    size_t elem = xt_dtype_size(d);
    vprog_type reg, raw;
    bool known = vprog_type_of(d, &reg);
    if (!vprog_type_of_size(elem, &raw)) return -1;
    if (!known) reg = raw;
    vprog_source s = {.elem = (uint32_t)elem};
    const void *splat = cpu_build_splat(b, v);
    const ir_value *root = emission_strip_aliases(v);
    cpu_ref base;
    view w;
    bool half = vprog_is_half(d);
    if (splat) {
        s.kind = VPROG_SPLAT;
        memcpy(s.splat, splat, elem);
    } else if (!e->blocked && root->def && root->def->code == OP_iota) { /* counts in the order of dense arrays */
        int64_t dim = ir_get_int(root->def, IR_A_iota_dimension, 0), inner = 1;
        for (uint32_t i = (uint32_t)dim + 1; i < root->type->rank; i++) inner *= root->type->dims[i];
        s.kind = VPROG_IOTA;
        s.elem = d == XT_I32 ? 4 : 8; /* what others need comes from 64 bits */
        s.inner = inner > 0 ? inner : 1;
        s.size = root->type->dims[dim] > 0 ? root->type->dims[dim] : 1;
        if (d == XT_I32) return vprog_load(e->vprog, &s, VPROG_I32);
        int n = vprog_load(e->vprog, &s, VPROG_I64);
        if (known)
            n = vprog_emit(e->vprog, (vprog_op)(VPROG_CONVERT + reg), VPROG_I64, n, -1, -1);
        else
            return -1;
        if (half) n = vprog_emit(e->vprog, d == XT_BF16 ? VPROG_ROUND_BF16 : VPROG_ROUND_F16, VPROG_F32, n, -1, -1);
        return n;
    } else if (e->blocked && layout_is_image(v, e->blocked->type)) {
        cpu_ref ref;
        e->status = layout_blocked(b, v, &ref);
        if (e->status) return -1;
        s.kind = VPROG_DIRECT;
        s.in = emission_add_input(e, v, ref);
    } else if (build_window(b, v, &base, &w)) {
        if (e->blocked) w = layout_blocked_view(&w, layout_feature(b, e->blocked));
        view_collapse(&w);
        bool dense = view_is_dense(&w) && view_count(&w) == e->count;
        bool one = w.n == 0 || (w.n == 1 && w.strides[0] == 0);
        s.kind = dense && w.n <= 1 && !one ? VPROG_DIRECT
                 : one && e->count != 1    ? VPROG_SCALAR
                 : dense                   ? VPROG_DIRECT
                                           : VPROG_STRIDED;
        s.offset = s.kind == VPROG_DIRECT ? w.offset : 0;
        s.v = w;
        s.in = emission_add_input(e, v, base);
    } else {
        cpu_ref ref;
        e->status = cpu_build_dense(b, v, &ref);
        if (e->status) return -1;
        s.kind = v->type->count == 1 && e->count != 1 ? VPROG_SCALAR : VPROG_DIRECT;
        s.in = emission_add_input(e, v, ref);
    }
    if (e->status) return -1;
    if (half) {
        /* An input of a narrow type lies in memory as u16; the register holds its f32 value. */
        int n = vprog_load(e->vprog, &s, VPROG_U16);
        return vprog_emit(e->vprog, d == XT_BF16 ? VPROG_LOAD_BF16 : VPROG_LOAD_F16, VPROG_F32, n, -1, -1);
    }
    return vprog_load(e->vprog, &s, reg);
}

static int operand(emission *e, const ir_value *v, uint32_t g) {
    value_info *i = build_info(e->b, v);
    if (i && i->state == VALUE_MEMBER && group_find(e->b, i->group) == g) return i->number;
    for (size_t k = 0; k < e->n_loaded; k++)
        if (e->loaded[k].value == v) return e->loaded[k].number;
    int n = emission_load(e, v);
    struct loaded l = {v, n};
    if (!VEC_PUSH(e->loaded, e->n_loaded, e->cap_loaded, l) && !e->status) e->status = status_oom(0, "a fused loop");
    return n;
}

int emission_op(emission *e, const ir_op *op, uint32_t g) {
    int x = operand(e, op->in[0], g);
    if (build_is_alias(op)) return x; /* a reshape inside the group: the same elements in the same order */
    int y = op->n_in > 1 ? operand(e, op->in[1], g) : -1;
    int z = op->n_in > 2 ? operand(e, op->in[2], g) : -1;
    return vprog_emit_op(e->vprog, op, x, y, z);
}

static xt_status vprog_kernel_run(const cpu_call *c) {
    return vprog_run(c->thunk->state, &c->device->team, c->in, c->out, c->scratch);
}
static void vprog_kernel_free(void *state) {
    vprog_free(state);
}
static bool vprog_kernel_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    return vprog_access(t->state, t->reads, k, out);
}
static const cpu_kernel fused_kernel = {"fused",          vprog_kernel_run, vprog_kernel_free,
                                        .anywhere = true, .is_fused = true, .access = vprog_kernel_access};
const cpu_kernel emission_copy = {"copy",           vprog_kernel_run, vprog_kernel_free,
                                  .anywhere = true, .is_fused = true, .access = vprog_kernel_access};

xt_status emission_add_thunk(emission *e, const cpu_kernel *k, vprog *t, const ir_op *named, size_t n_ops,
                             const ir_op *const *ops, size_t n_out, const ir_value *const *outs,
                             const uint64_t *in_place) {
    cpu_thunk_desc d = {.kernel = k,
                        .op = named,
                        .in = e->in,
                        .refs = e->refs,
                        .n_in = e->n_in,
                        .n_out = n_out,
                        .out = outs,
                        .in_place = in_place,
                        .out_blocked = e->blocked ? UINT64_MAX : 0,
                        .n_ops = n_ops,
                        .ops = ops,
                        .scratch_bytes = vprog_scratch_bytes(t, cpu_build_threads(e->b)),
                        .state = t};
    for (size_t i = 0; i < n_ops; i++) {
        d.flops += cpu_op_flops(ops[i]);
        d.transcendentals += cpu_op_transcendentals(ops[i]);
    }
    return cpu_build_thunk(e->b, &d);
}

void emission_free(emission *e) {
    base_free(e->in);
    base_free(e->refs);
    base_free(e->loaded);
}

static bool is_needed_outside(cpu_builder *b, const ir_value *v) {
    const value_info *i = build_info(b, v);
    return i && (i->kept || v->uses > i->inside);
}

xt_status group_emit(cpu_builder *b, uint32_t gi) {
    gi = group_find(b, gi);
    group g = b->groups[gi]; /* by value: emission may grow the array, but never touches this group */
    if (g.emitted) return NULL;
    b->groups[gi].emitted = true;
    emission e = {
        .b = b, .vprog = vprog_begin(g.count), .count = g.count, .blocked = g.feature ? &g.ops[0]->out[0] : NULL};
    const ir_value **outs = base_calloc(g.n + 1, sizeof *outs);
    uint64_t *in_place = base_calloc(g.n + 1, sizeof *in_place);
    vprog *t = NULL;
    size_t n_out = 0;
    xt_status s = NULL;
    if (!e.vprog || !outs || !in_place) {
        s = status_oom(0, "a fused loop");
        goto done;
    }
    for (size_t i = 0; i < g.n && !e.status; i++) {
        value_info *info = build_info(b, &g.ops[i]->out[0]);
        int number = emission_op(&e, g.ops[i], gi);
        info = build_info(b, &g.ops[i]->out[0]);
        info->number = number;
        if (number < 0 && !e.status)
            e.status = vprog_lacks(e.vprog) ? status_new(XT_INTERNAL, NULL, "no vector instruction for stablehlo.%s",
                                                         ir_op_infos[g.ops[i]->code].name)
                                            : status_oom(0, "a fused loop");
    }
    if ((s = e.status)) goto done;
    /* A value read outside gets memory; a reshape of it is the same memory. */
    for (size_t i = g.n; i-- > 0;)
        if (build_is_alias(g.ops[i]) && is_needed_outside(b, &g.ops[i]->out[0])) {
            value_info *of = build_info(b, build_alias_of(&g.ops[i]->out[0]));
            /* counts as a reader from outside */
            if (of->state == VALUE_MEMBER && group_find(b, of->group) == gi && of->inside) of->inside--;
        }
    for (size_t i = 0; i < g.n; i++) {
        const ir_value *v = &g.ops[i]->out[0];
        const value_info *info = build_info(b, v);
        if (build_is_alias(g.ops[i]) || !is_needed_outside(b, v)) continue;
        vprog_store(e.vprog, info->number, (uint32_t)n_out, v->type->dtype);
        outs[n_out++] = v;
    }
    s = vprog_finish(e.vprog, n_out, &t, in_place);
    e.vprog = NULL;
    if (s) goto done;
    s = emission_add_thunk(&e, &fused_kernel, t, g.ops[g.n - 1], g.n, g.ops, n_out, outs, in_place);
    if (s) goto done;
    for (size_t i = 0; i < g.n; i++) {
        value_info *info = build_info(b, &g.ops[i]->out[0]);
        if (info->state != VALUE_MEMBER) continue;
        info->state = VALUE_GONE;
        if (!build_is_alias(g.ops[i])) continue;
        const value_info *of = build_info(b, build_alias_of(&g.ops[i]->out[0]));
        if (of->has_ref) {
            info->state = VALUE_DENSE;
            info->has_ref = true;
            info->ref = of->ref;
        }
    }
done:
    vprog_abandon(e.vprog);
    base_free(outs);
    base_free(in_place);
    emission_free(&e);
    return s;
}
