/* What a value is to its readers while a plan is made: a constant, another value's bytes, a window on them, or an array in a slot, which is made when the first reader
 * wants it so. */
#include "cpu/build_int.h"
#include "cpu/layout.h"

#define SPLAT_KEPT_BYTES 4096 /* larger constants of one value are filled in by a thunk */

value_info *build_info(cpu_builder *b, const ir_value *v) {
    ir_value *w = (ir_value *)(uintptr_t)v; /* `user` belongs to us, the module's owner */
    if (!w->user) {
        value_info i = {.value = v, .number = -1};
        if (!VEC_PUSH(b->values, b->n_values, b->cap_values, i)) return NULL;
        w->user = b->n_values;
    }
    return &b->values[w->user - 1];
}

xt_status build_slot(cpu_builder *b, cpu_slot s, uint32_t *out) {
    s.takes = s.same_as = CPU_NONE;
    if (b->plan->n_slots >= CPU_NONE || !VEC_PUSH(b->plan->slots, b->plan->n_slots, b->plan->cap_slots, s))
        return status_oom(sizeof s, "a buffer plan");
    *out = (uint32_t)b->plan->n_slots - 1;
    return NULL;
}

/* --- names and windows ------------------------------------------------------------------------------------------------------ */
static bool all_zero(const ir_op *op, ir_attr_key k) {
    size_t n;
    const int64_t *v = ir_get_ints(op, k, &n);
    for (size_t i = 0; i < n; i++)
        if (v[i] != 0) return false;
    return true;
}

bool build_is_alias(const ir_op *op) {
    switch ((int)op->code) {
    case OP_reshape:
    case OP_sdy_sharding_constraint:
    case OP_sdy_reshard:
    case OP_sdy_propagation_barrier: return op->out[0].type->count >= 0;
    case OP_optimization_barrier: return true;
    case OP_bitcast_convert: /* the bytes of elements lie side by side whatever they are read as; i4 and the like take a byte each */
        return op->out[0].type->count >= 0 && ir_type_bytes(op->in[0]->type) == ir_type_bytes(op->out[0].type) &&
               ir_dtype_bits(op->in[0]->type->dtype) >= 8 && ir_dtype_bits(op->out[0].type->dtype) >= 8;
    case OP_pad: return all_zero(op, IR_A_edge_padding_low) && all_zero(op, IR_A_edge_padding_high) && all_zero(op, IR_A_interior_padding);
    case OP_get_tuple_element: return op->in[0]->def && op->in[0]->def->code == OP_tuple;
    default: return false;
    }
}

const ir_value *build_alias_of(const ir_value *v) {
    const ir_op *op = v->def;
    if (op->code == OP_optimization_barrier) return op->in[v->index];
    if (op->code == OP_get_tuple_element) return op->in[0]->def->in[ir_get_int(op, IR_A_index, 0)];
    return op->in[0];
}

static bool is_window(const ir_op *op) {
    return op->code == OP_broadcast_in_dim || op->code == OP_broadcast || op->code == OP_slice || op->code == OP_reverse;
}

static bool is_movable(const ir_type *t) {
    tape_type ignored;
    return t->kind == IR_TENSOR && t->count >= 0 && t->rank <= VIEW_MAX && tape_type_of_size(xt_dtype_size(t->dtype), &ignored);
}

bool build_is_lazy(const ir_op *op) {
    if (build_is_alias(op) || op->code == OP_constant || op->code == OP_tuple || op->code == OP_transpose) return true;
    tape_type ignored;
    if (op->code == OP_iota) return tape_type_of(op->out[0].type->dtype, &ignored);
    return is_window(op) && is_movable(op->out[0].type) && op->in[0]->type->rank <= VIEW_MAX;
}

const void *cpu_build_splat(cpu_builder *b, const ir_value *v) {
    while (v->def && (build_is_alias(v->def) || is_window(v->def))) {
        value_info *i = build_info(b, v);
        const ir_value *of = build_is_alias(v->def) ? build_alias_of(v) : v->def->in[0];
        if (!i || i->state != VALUE_LAZY || xt_dtype_size(of->type->dtype) != xt_dtype_size(v->type->dtype)) return NULL;
        v = of;
    }
    if (!v->def || v->def->code != OP_constant) return NULL;
    const ir_literal *l = ir_get_literal(v->def);
    return l && (l->splat || l->type->count == 1) ? l->data : NULL;
}

bool build_window(cpu_builder *b, const ir_value *v, cpu_ref *out_base, view *out_view) {
    value_info *i = build_info(b, v);
    if (!i || !is_movable(v->type)) return false;
    if (i->state == VALUE_LAZY && v->def && is_window(v->def)) {
        view inner;
        if (build_window(b, v->def->in[0], out_base, &inner) && view_through(v->def, &inner, out_view)) return true;
    }
    if (!i->has_ref) return false;
    *out_base = i->ref;
    return view_dense(v->type, out_view);
}

xt_status build_prepare(cpu_builder *b, const ir_value *v) {
    value_info *i = build_info(b, v);
    if (!i) return status_oom(sizeof *i, "a buffer plan");
    if (i->has_ref || cpu_build_splat(b, v)) return NULL;
    if (i->state == VALUE_LAZY && v->def->code == OP_iota) return NULL;
    cpu_ref ignored;
    if (i->state == VALUE_LAZY && is_window(v->def)) {
        const ir_value *of = v->def->in[0];
        bool iota = of->def && of->def->code == OP_iota; /* counted on the fly when read as it is, but a window needs memory to look at */
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
    XT_TRY(cpu_lower_transpose(b, v->def, &done));
    if (!done) XT_TRY(cpu_lower_interp(b, v->def, &done));
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
    case VALUE_MEMBER: XT_TRY(group_emit(b, i->group)); break;
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
