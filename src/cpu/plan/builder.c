/* The tables of a plan in the making: values, slots, kernels, and which values are other names. */
#include "cpu/plan/group_int.h"
#include "cpu/plan/stages.h"
#include "pass/pass.h"

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

xt_status cpu_stage_begin(cpu_builder *b) {
    b->plan = &b->exec->plan;
    b->whole = needs_interpreter(b->exec->main->body);
    b->kernels_on = pass_is_on("kernels");
    b->fuse_on = pass_is_on("fuse");
    b->layout_on = !b->whole && b->kernels_on && pass_is_on("layout");
    return NULL;
}

/* Clears `user` fields and numbers main's ops. */
xt_status cpu_stage_number(cpu_builder *b) {
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

static void group_free(group *g) {
    base_free(g->ops);
    if (g->loop) {
        loop_reads_free(&g->loop->from);
        base_free(g->loop->results);
    }
    base_free(g->loop);
}

void cpu_builder_deinit(cpu_builder *b) {
    for (size_t i = 0; i < b->n_groups; i++) group_free(&b->groups[i]);
    base_free(b->groups);
    base_free(b->fusions);
    base_free(b->fusion_of);
    base_free(b->values);
    base_free(b->ordinals);
}

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

xt_status build_by_table(cpu_builder *b, const ir_op *op, bool *out_done) {
    const cpu_lower_fn *ways = b->lowering->ways[op->code];
    for (int i = 0; i < CPU_LOWER_WAYS && ways[i] && !*out_done; i++) XT_TRY(ways[i](b, op, out_done));
    return NULL;
}

/* --- groups --- */
uint32_t group_find(const cpu_builder *b, uint32_t g) {
    while (b->groups[g].merged_into != CPU_NONE) g = b->groups[g].merged_into;
    return g;
}

bool group_has(const cpu_builder *b, uint32_t g, const ir_value *v) {
    const value_info *i = v->user ? &b->values[v->user - 1] : NULL;
    return i && i->grouped && group_find(b, i->group) == g;
}

bool group_needed_outside(const cpu_builder *b, const ir_value *v) {
    const value_info *i = v->user ? &b->values[v->user - 1] : NULL;
    return i && (i->kept || v->uses > i->inside);
}

bool group_is_turns(const ir_op *op) {
    return op->code == OP_concatenate;
}

/* --- names --- */
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
    case OP_bitcast_convert: /* the bytes of elements lie side by side whatever they are read as; i4 and the like take a
                                byte each */
        return op->out[0].type->count >= 0 && ir_type_bytes(op->in[0]->type) == ir_type_bytes(op->out[0].type) &&
               ir_dtype_bits(op->in[0]->type->dtype) >= 8 && ir_dtype_bits(op->out[0].type->dtype) >= 8;
    case OP_pad:
        return all_zero(op, IR_A_edge_padding_low) && all_zero(op, IR_A_edge_padding_high) &&
               all_zero(op, IR_A_interior_padding);
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

bool group_is_name(const ir_op *op) {
    if (op->code != OP_broadcast_in_dim) return build_is_alias(op);
    size_t n;
    const int64_t *to = ir_get_ints(op, IR_A_broadcast_dimensions, &n);
    bool same = op->in[0]->type->count == op->out[0].type->count && op->in[0]->type->count > 0;
    for (size_t i = 1; i < n && same; i++) same = to[i - 1] < to[i];
    return same;
}
