/* From a function to thunks: walks the ops in order, keeps values lazy where a reader can take them as they are, groups elementwise ops
 * (group.c), asks the lowering table for the rest and lets the interpreter's code run what nobody takes. */
#include "cpu/build_int.h"
#include "cpu/kernel_coll.h"
#include "cpu/layout.h"
#include "cpu/tile.h"
#include "pass/pass.h"

#define SPLAT_KEPT_BYTES 4096 /* larger constants of one value are filled in by a thunk */

int cpu_build_threads(const cpu_builder *b) {
    return b->exec->threads;
}
const cpu_exec *cpu_build_exec(const cpu_builder *b) {
    return b->exec;
}
const ir_module *cpu_build_module(const cpu_builder *b) {
    return b->exec->module;
}

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

/* Ops whose results stay lazy: nothing runs until a reader needs them dense. */
static bool is_lazy(const ir_op *op) {
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
    cpu_slot s = {.kind = CPU_SLOT_CONST, .bytes = ir_type_bytes(v->type), .data = l->data, .type = v->type, .op = v->def};
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

/* --- thunks ------------------------------------------------------------------------------------------------------------------- */
static void free_state(const cpu_kernel *k, void *state) {
    if (k->free_state)
        k->free_state(state);
    else
        base_free(state);
}

static void thunk_free(cpu_thunk *t) {
    if (t->state) free_state(t->kernel, t->state);
    base_free(t->ops);
    base_free(t->in);
    base_free(t->out);
    base_free(t->over);
}

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
    thunk_free(&t);
    return s;
}

/* --- the walk ------------------------------------------------------------------------------------------------------------------- */
static bool is_dead(const ir_op *op) {
    if (!(ir_op_infos[op->code].flags & IR_PURE) || op->n_regions) return false;
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i].uses) return false;
    return true;
}

static xt_status lower_op(cpu_builder *b, const ir_op *op) {
    const norm_fusion *fusion;
    if (layout_fusion_at(b, op, &fusion)) return fusion ? blocked_norm(b, fusion) : NULL;
    if (is_lazy(op)) {
        value_info *in = op->n_in == 1 ? build_info(b, op->in[0]) : NULL;
        bool half = op->n_in == 1 && (op->in[0]->type->dtype == XT_BF16 || op->in[0]->type->dtype == XT_F16 || op->out[0].type->dtype == XT_BF16 ||
                                      op->out[0].type->dtype == XT_F16);
        tape_type ignored;
        /* A reshape of something a loop computes is that loop's own business. */
        if ((op->code == OP_reshape || (op->code == OP_bitcast_convert && !half)) && in && in->state == VALUE_MEMBER && !in->feature &&
            op->in[0]->type->count == op->out[0].type->count && tape_type_of(op->out[0].type->dtype, &ignored))
            return group_join(b, op);
        for (uint32_t i = 0; i < op->n_out; i++) {
            value_info *out = build_info(b, &op->out[i]);
            if (!out) return status_oom(sizeof *out, "a buffer plan");
            out->state = VALUE_LAZY;
        }
        return NULL;
    }
    if (group_can_take(op)) return group_join(b, op);
    if (layout_is_window(b, op)) return blocked_window(b, op);
    bool done = false;
    for (int i = 0; i < CPU_LOWER_WAYS && cpu_lower[op->code][i] && b->kernels_on && !done; i++) XT_TRY(cpu_lower[op->code][i](b, op, &done));
    if (!done && b->kernels_on) XT_TRY(cpu_lower_rows(b, op, &done)); /* elementwise ops of other types */
    return done ? NULL : cpu_lower_interp(b, op, &done);
}

static xt_status add_arguments(cpu_builder *b, const ir_block *body) {
    for (size_t i = 0; i < body->n_args; i++) {
        const ir_value *v = body->args[i];
        cpu_ref ref = {0, 0};
        XT_TRY(build_slot(b, (cpu_slot){.kind = CPU_SLOT_ARG, .index = (uint32_t)i, .bytes = ir_type_bytes(v->type), .type = v->type}, &ref.slot));
        value_info *info = build_info(b, v);
        if (!info) return status_oom(sizeof *info, "a buffer plan");
        info->state = VALUE_DENSE;
        info->has_ref = true;
        info->ref = ref;
    }
    return NULL;
}

static xt_status copy_run(const cpu_call *c) {
    size_t n = *(size_t *)c->thunk->state;
    if (c->out[0] != c->in[0]) memcpy(c->out[0], c->in[0], n);
    return NULL;
}
static const cpu_kernel result_copy = {"result-copy", copy_run, NULL, true};
bool cpu_is_result_copy(const cpu_kernel *k) {
    return k == &result_copy;
}

/* Each result gets memory of its own: the slot that holds it becomes the output's, or it is copied there. */
static xt_status add_result(cpu_builder *b, const ir_op *ret, uint32_t j) {
    const ir_value *v = ret->in[j];
    cpu_ref ref;
    XT_TRY(cpu_build_dense(b, v, &ref));
    cpu_slot *s = &b->plan->slots[ref.slot];
    if (s->kind == CPU_SLOT_TEMP && ref.offset == 0 && s->bytes == ir_type_bytes(v->type)) {
        s->kind = CPU_SLOT_OUT;
        s->index = j;
        b->plan->out_slots[j] = ref.slot;
        return NULL;
    }
    size_t *n = base_malloc(sizeof *n);
    if (!n) return status_oom(sizeof *n, "a buffer plan");
    *n = ir_type_bytes(v->type);
    const ir_op *named = v->def ? v->def : ret;
    uint64_t over = 1;
    cpu_thunk_desc d = {.kernel = &result_copy, .op = named, .n_in = 1, .in = &v, .n_out = 0, .state = n, .over = &over};
    XT_TRY(cpu_build_thunk(b, &d));
    cpu_thunk *t = &b->plan->thunks[b->plan->n_thunks - 1];
    t->n_out = 1; /* not the value's own place: other results may be the same value */
    t->over[0] = 1;
    t->bytes *= 2;
    XT_TRY(build_slot(b, (cpu_slot){.kind = CPU_SLOT_OUT, .index = j, .bytes = *n, .type = v->type, .op = named}, &t->out[0].slot));
    b->plan->out_slots[j] = t->out[0].slot;
    return NULL;
}

static xt_status walk(cpu_builder *b) {
    const ir_block *body = b->exec->main->body;
    XT_TRY(add_arguments(b, body));
    for (const ir_op *op = body->first; op; op = op->next) {
        if (!(ir_op_infos[op->code].flags & IR_TERMINATOR)) {
            const norm_fusion *ignored; /* the end of a fusion may make something else than its op's result */
            if (!is_dead(op) || layout_fusion_at(b, op, &ignored)) XT_TRY(lower_op(b, op));
            continue;
        }
        b->plan->out_slots = base_malloc((op->n_in + 1) * sizeof *b->plan->out_slots);
        if (!b->plan->out_slots) return status_oom(0, "a buffer plan");
        for (uint32_t j = 0; j < op->n_in; j++) XT_TRY(add_result(b, op, j));
    }
    return NULL;
}

/* Tuples and sizes known only when running have no slots: such a program is one thunk. */
static bool needs_interpreter(const ir_block *body) {
    for (const ir_op *op = body->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++) {
            const ir_type *t = op->out[i].type;
            bool alias = op->code == OP_tuple || (op->code == OP_get_tuple_element && build_is_alias(op));
            if ((t->kind == IR_TUPLE && !alias) || (t->kind == IR_TENSOR && t->count < 0)) return true;
        }
    return false;
}

static xt_status whole_program(cpu_builder *b) {
    const ir_block *body = b->exec->main->body;
    const ir_op *ret = body->last;
    XT_TRY(add_arguments(b, body));
    cpu_thunk_desc d = {.kernel = &cpu_program_kernel, .op = ret, .n_in = body->n_args, .in = (const ir_value *const *)body->args};
    XT_TRY(cpu_build_thunk(b, &d));
    cpu_thunk *t = &b->plan->thunks[b->plan->n_thunks - 1];
    base_free(t->out);
    base_free(t->over);
    t->out = base_calloc(ret->n_in + 1, sizeof *t->out);
    t->over = base_calloc(ret->n_in + 1, sizeof *t->over);
    b->plan->out_slots = base_malloc((ret->n_in + 1) * sizeof *b->plan->out_slots);
    if (!t->out || !t->over || !b->plan->out_slots) return status_oom(0, "a buffer plan");
    for (uint32_t j = 0; j < ret->n_in; j++) {
        cpu_slot s = {.kind = CPU_SLOT_OUT, .index = j, .bytes = ir_type_bytes(ret->in[j]->type), .type = ret->in[j]->type, .op = ret};
        XT_TRY(build_slot(b, s, &t->out[j].slot));
        b->plan->out_slots[j] = t->out[j].slot;
        t->n_out = j + 1;
    }
    return NULL;
}

/* Clears `user` fields and numbers main's ops. */
static xt_status number(cpu_builder *b) {
    const ir_block *body = b->exec->main->body;
    size_t n = 0;
    for (size_t i = 0; i < body->n_args; i++) body->args[i]->user = 0;
    for (ir_op *op = body->first; op; op = op->next) n++;
    b->ordinals = base_malloc((n + 1) * sizeof *b->ordinals);
    if (!b->ordinals) return status_oom(n * sizeof *b->ordinals, "a buffer plan");
    n = 0;
    for (ir_op *op = body->first; op; op = op->next) {
        b->ordinals[n] = (uint32_t)n;
        op->user = ++n;
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].user = 0;
    }
    return NULL;
}

/* A stage of planning is done: checks the plan and writes it where dumps go. */
static xt_status stage_done(cpu_exec *e, const char *name, bool assigned) {
    pass_ctx *c = e->passes;
    if (!c) return NULL;
    c->stage++;
    if (c->verify) XT_TRY(status_context(cpu_plan_verify(e, assigned), "after stage %s", name));
    if (!pass_dump_wanted()) return NULL;
    str text = STR_INIT;
    cpu_plan_print(e, &text);
    pass_dump(c, e->module->name, name, "plan", &text);
    str_free(&text);
    return NULL;
}

/* A stage that still works on the program, and writes it where dumps go when it changed something. */
static xt_status tile_stage(cpu_exec *e) {
    str text = STR_INIT;
    if (e->passes) e->passes->stage++;
    if (!pass_is_on("tile")) return NULL;
    XT_TRY(status_context(cpu_tile(e), "stage tile"));
    if (!e->tiles || !e->passes) return NULL;
    if (e->passes->verify) XT_TRY(status_context(ir_verify(e->module), "after stage tile"));
    if (pass_dump_wanted() && !ir_print(e->module, IR_PRINT_LOC_SOURCE, &text)) pass_dump(e->passes, e->module->name, "tile", "mlir", &text);
    str_free(&text);
    return NULL;
}

xt_status cpu_plan_make(cpu_exec *e) {
    cpu_builder b = {.exec = e, .plan = &e->plan, .kernels_on = pass_is_on("kernels"), .fuse_on = pass_is_on("fuse")};
    bool whole = needs_interpreter(e->main->body), layout = !whole && b.kernels_on && pass_is_on("layout");
    cpu_phase_begin(e);
    xt_status s = whole || !b.kernels_on || e->is_tile ? NULL : tile_stage(e);
    if (!s && layout) layout_masks(e->main);
    if (!s) s = number(&b);
    if (!s && layout) s = layout_decide(&b);
    cpu_phase_end(e, CPU_PHASE_LAYOUT);
    if (!s) s = whole ? whole_program(&b) : walk(&b);
    if (!s) s = stage_done(e, "fuse", false);
    cpu_phase_end(e, CPU_PHASE_KERNELS);
    if (!s) cpu_plan_donations(e);
    if (!s && pass_is_on("schedule")) s = cpu_plan_schedule(e);
    if (!s) s = stage_done(e, "schedule", false);
    cpu_phase_end(e, CPU_PHASE_SCHEDULE);
    if (!s) s = cpu_plan_assign(e, pass_is_on("buffers"));
    if (!s) s = stage_done(e, "buffers", true);
    if (!s) cpu_exec_settle(e);
    cpu_phase_end(e, CPU_PHASE_BUFFERS);
    for (size_t i = 0; i < b.n_groups; i++) base_free(b.groups[i].ops);
    base_free(b.groups);
    base_free(b.fusions);
    base_free(b.fusion_of);
    base_free(b.values);
    base_free(b.ordinals);
    return s;
}

void cpu_plan_free(cpu_plan *p) {
    for (size_t i = 0; i < p->n_thunks; i++) thunk_free(&p->thunks[i]);
    for (size_t i = 0; i < p->n_slots; i++) base_free(p->slots[i].owned);
    base_free(p->thunks);
    base_free(p->slots);
    base_free(p->out_slots);
    memset(p, 0, sizeof *p);
}
