/* What a value is to its readers while a plan is made: a constant, another value's bytes, a window on them, or an array
 * in a slot, which is made when the first reader wants it so. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/layout.h"
#include "cpu/vector/move.h"

#define SPLAT_KEPT_BYTES 4096 /* larger constants of one value are filled in by a thunk */

/* A transpose is read where its operand lies, if what is next to each other there stays so by whole lines, or can be
 * turned on its way to the loop that reads it. */
static bool is_turned_near(const ir_op *op) {
    enum { LINE = 64 };
    const size_t elem = xt_dtype_size(op->out[0].type->dtype);
    view dense, w;
    vprog_type ignored;
    if (!vprog_type_of_size(elem, &ignored) || !view_dense(op->in[0]->type, &dense) || !view_through(op, &dense, &w))
        return false;
    view_collapse(&w);
    return w.n == 0 || (w.strides[w.n - 1] == 1 && w.dims[w.n - 1] * (int64_t)elem >= LINE) ||
           cpu_turned_block(&w, elem) > 0;
}

static bool is_window(const ir_op *op) {
    return op->code == OP_broadcast_in_dim || op->code == OP_broadcast || op->code == OP_slice ||
           op->code == OP_reverse || (op->code == OP_transpose && is_turned_near(op));
}

static bool is_movable(const ir_type *t) {
    vprog_type ignored;
    return t->kind == IR_TENSOR && t->count >= 0 && t->rank <= VIEW_MAX &&
           vprog_type_of_size(xt_dtype_size(t->dtype), &ignored);
}

bool build_is_lazy(const ir_op *op) {
    if (build_is_alias(op) || op->code == OP_constant || op->code == OP_tuple || op->code == OP_transpose) return true;
    vprog_type ignored;
    if (op->code == OP_iota) return vprog_type_of(op->out[0].type->dtype, &ignored);
    return is_window(op) && is_movable(op->out[0].type) && op->in[0]->type->rank <= VIEW_MAX;
}

const void *cpu_build_splat(cpu_builder *b, const ir_value *v) {
    while (v->def && (build_is_alias(v->def) || is_window(v->def))) {
        value_info *i = build_info(b, v);
        const ir_value *of = build_is_alias(v->def) ? build_alias_of(v) : v->def->in[0];
        if (!i || i->state != VALUE_LAZY || xt_dtype_size(of->type->dtype) != xt_dtype_size(v->type->dtype))
            return NULL;
        v = of;
    }
    if (!v->def || v->def->code != OP_constant) return NULL;
    const ir_literal *l = ir_get_literal(v->def);
    return l && (l->splat || l->type->count == 1) ? l->data : NULL;
}

bool build_window(cpu_builder *b, const ir_value *v, cpu_ref *out_base, view *out_view) {
    value_info *i = build_info(b, v);
    if (!i || !is_movable(v->type)) return false;
    const bool moved = i->has_ref && v->def && v->def->code == OP_transpose; /* for another reader */
    if (i->state == VALUE_LAZY && !moved && v->def && is_window(v->def)) {
        view inner;
        if (build_window(b, v->def->in[0], out_base, &inner) && view_through(v->def, &inner, out_view)) return true;
    }
    if (!i->has_ref) return false;
    *out_base = i->ref;
    return view_dense(v->type, out_view);
}

const ir_value *build_in_order(cpu_builder *b, const ir_value *v) {
    const ir_value *of = v;
    for (const value_info *i = build_info(b, of); i && i->state == VALUE_LAZY && !i->has_ref; i = build_info(b, of)) {
        if (is_window(of->def)) return of;
        if (!build_is_alias(of->def)) break;
        const ir_value *next = build_alias_of(of);
        if (next->type->kind != IR_TENSOR || next->type->count != v->type->count ||
            xt_dtype_size(next->type->dtype) != xt_dtype_size(v->type->dtype))
            break;
        of = next;
    }
    return v;
}

xt_status build_prepare(cpu_builder *b, const ir_value *v) {
    value_info *i = build_info(b, v);
    if (!i) return status_oom(sizeof *i, "a buffer plan");
    if (i->has_ref || cpu_build_splat(b, v)) return NULL;
    if (i->state == VALUE_LAZY && v->def->code == OP_iota) return NULL;
    cpu_ref ignored;
    if (i->state == VALUE_LAZY && is_window(v->def)) {
        const ir_value *of = v->def->in[0];
        /* counted on the fly when read as it is, but a window needs memory to look at */
        bool iota = of->def && of->def->code == OP_iota;
        return iota ? cpu_build_dense(b, of, &ignored) : build_prepare(b, of);
    }
    return cpu_build_dense(b, v, &ignored);
}

static xt_status constant_slot(cpu_builder *b, const ir_value *v, cpu_ref *out) {
    const ir_literal *l = ir_get_literal(v->def);
    if (!l) return status_new(XT_INTERNAL, NULL, "a constant without a value");
    cpu_slot s = {.kind = CPU_SLOT_CONST,
                  .bytes = ir_type_bytes(v->type),
                  .data = l->data,
                  .type = v->type,
                  .op = v->def,
                  .value = v};
    bool expand = l->splat && v->type->count > 1;
    if (expand || (uintptr_t)l->data % CPU_ALIGN) {
        char *p = base_aligned(CPU_ALIGN, s.bytes ? s.bytes : 1);
        if (!p) return status_oom(s.bytes, "a constant");
        size_t elem = xt_dtype_size(v->type->dtype);
        if (expand)
            for (size_t i = 0; i < s.bytes; i += elem) memcpy(p + i, l->data, elem);
        else
            memcpy(p, l->data, s.bytes);
        s.data = s.owned = p;
        b->plan->const_bytes += s.bytes;
    }
    xt_status st = build_slot(b, s, &out->slot);
    if (st) base_free(s.owned);
    out->offset = 0;
    return st;
}

/* One copy for a chain of transposes; none when the chain leads back to the same order. */
static xt_status dense_transpose(cpu_builder *b, const ir_value *v, cpu_ref *out) {
    const ir_value *base;
    view w;
    bool done = false;
    if (cpu_build_permuted(v, &base, &w) && view_is_dense(&w)) return cpu_build_dense(b, base, out);
    XT_TRY(build_by_table(b, v->def, &done));
    if (!done) XT_TRY(b->lowering->interpreter(b, v->def, &done));
    *out = build_info(b, v)->ref;
    return NULL;
}

bool cpu_build_permuted(const ir_value *v, const ir_value **out_base, view *out) {
    if (!v->def || v->def->code != OP_transpose) {
        *out_base = v;
        return view_dense(v->type, out);
    }
    view inner;
    return cpu_build_permuted(v->def->in[0], out_base, &inner) && view_through(v->def, &inner, out);
}

xt_status cpu_build_dense(cpu_builder *b, const ir_value *v, cpu_ref *out) {
    value_info *i = build_info(b, v);
    if (!i) return status_oom(sizeof *i, "a buffer plan");
    if (i->has_ref) {
        *out = i->ref;
        return NULL;
    }
    cpu_ref ref = {0, 0};
    switch (i->state) {
    case VALUE_MEMBER: XT_TRY(group_close(b, i->group, GROUP_READ)); break;
    case VALUE_LAZY:
        if (cpu_build_splat(b, v) && ir_type_bytes(v->type) > SPLAT_KEPT_BYTES && is_movable(v->type)) {
            XT_TRY(group_emit_window(b, v)); /* not kept with the program: the place may even become a result's */
            break;
        }
        if (v->def->code == OP_constant) {
            XT_TRY(constant_slot(b, v, &ref));
        } else if (build_is_alias(v->def)) {
            XT_TRY(cpu_build_dense(b, build_alias_of(v), &ref));
        } else if (v->def->code == OP_iota) {
            XT_TRY(group_emit_window(b, v));
            break;
        } else if (v->def->code == OP_transpose) {
            XT_TRY(dense_transpose(b, v, &ref));
        } else {
            XT_TRY(build_prepare(b, v));
            view w;
            cpu_ref base;
            const void *splat = cpu_build_splat(b, v);
            if (splat && !build_window(b, v, &base, &w)) { /* a broadcast constant that somebody wants as an array */
                XT_TRY(cpu_build_dense(b, v->def->in[0], &ref));
            }
            if (build_window(b, v, &base, &w) && view_is_dense(&w) && v->type->count > 0) {
                ref = (cpu_ref){base.slot, base.offset + (size_t)w.offset * xt_dtype_size(v->type->dtype)};
            } else {
                XT_TRY(group_emit_window(b, v));
                break;
            }
        }
        i = build_info(b, v);
        i->ref = ref;
        i->has_ref = true;
        break;
    default: break;
    }
    i = build_info(b, v);
    if (!i->has_ref && i->has_blk) {
        XT_TRY(layout_make_dense(b, v));
        i = build_info(b, v);
    }
    if (!i->has_ref)
        return status_new(XT_INTERNAL, NULL, "value %u of stablehlo.%s is read before it is made", v->index,
                          v->def ? ir_op_infos[v->def->code].name : "argument");
    *out = i->ref;
    return NULL;
}

xt_status cpu_build_seen(cpu_builder *b, const ir_value *v, cpu_ref *out, view *out_view) {
    const value_info *i = build_info(b, v);
    if (i && !i->has_ref && i->state == VALUE_LAZY && is_window(v->def) && !cpu_build_splat(b, v)) {
        XT_TRY(build_prepare(b, v));
        if (build_window(b, v, out, out_view)) return NULL;
    }
    XT_TRY(cpu_build_dense(b, v, out));
    return view_dense(v->type, out_view) ? NULL
                                         : status_new(XT_INTERNAL, NULL, "an array of too many dims has no view");
}

/* --- the blocked place --- */
view layout_blocked_view(const view *v, int feature) {
    int s[2] = {feature == 1 ? 2 : 1, feature == 1 ? 3 : 2};
    int64_t block = layout_block();
    return (view){.n = 5,
                  .offset = v->offset,
                  .dims = {v->dims[0], v->dims[feature] / block, v->dims[s[0]], v->dims[s[1]], block},
                  .strides = {v->strides[0], v->strides[feature] * block, v->strides[s[0]], v->strides[s[1]],
                              v->strides[feature]}};
}

static xt_status reorder_run(const cpu_call *c) {
    cpu_move_run(&c->device->team, c->thunk->state, c->out[0], c->in[0]);
    return NULL;
}
static bool reorder_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    return cpu_move_access(t->state, t->reads[0], k, out);
}
static const cpu_kernel reorder_kernel = {"reorder", reorder_run, NULL, true, .access = reorder_access};

static xt_status add_reorder(cpu_builder *b, const ir_value *v, bool to_blocked) {
    static const uint64_t one = 1;
    view plain;
    XT_TRY(layout_check(b, v));
    cpu_move *m = base_malloc(sizeof *m);
    if (!m) return status_oom(sizeof *m, "a plan");
    view_dense(v->type, &plain);
    int feature = layout_feature(b, v);
    view seen = layout_blocked_view(&plain, feature), rows = seen;
    view_rows(&rows);
    if (!to_blocked && feature == 1) { /* the dense side is written in order: features before space */
        view *two[2] = {&seen, &rows};
        for (int k = 0; k < 2; k++) {
            view w = *two[k];
            two[k]->dims[2] = w.dims[4], two[k]->strides[2] = w.strides[4];
            for (int i = 0; i < 2; i++) two[k]->dims[3 + i] = w.dims[2 + i], two[k]->strides[3 + i] = w.strides[2 + i];
        }
    }
    cpu_move_make(to_blocked ? &rows : &seen, to_blocked ? &seen : &rows, v->type->dtype, m);
    const ir_op *named = v->def ? v->def : b->exec->main->body->last;
    cpu_thunk_desc d = {.kernel = &reorder_kernel, .op = named, .n_in = 1, .in = &v, .n_out = 1, .out = &v, .state = m};
    *(to_blocked ? &d.out_blocked : &d.in_blocked) = one;
    return cpu_build_thunk(b, &d);
}

xt_status layout_make_dense(cpu_builder *b, const ir_value *v) {
    return add_reorder(b, v, false);
}

xt_status layout_blocked(cpu_builder *b, const ir_value *v, cpu_ref *out) {
    value_info *i = build_info(b, v);
    if (!i) return status_oom(sizeof *i, "a plan");
    if (!i->has_blk && i->state == VALUE_MEMBER) XT_TRY(group_close(b, i->group, GROUP_READ));
    if (!build_info(b, v)->has_blk) XT_TRY(add_reorder(b, v, true));
    *out = build_info(b, v)->blk;
    return NULL;
}
