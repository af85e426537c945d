/* From a function to thunks: walks the ops in order, keeps values lazy where a reader can take them as they are
 * (values.c), groups elementwise ops (group.c), asks the lowering table for the rest and lets the interpreter's code
 * run what nobody takes. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/layout.h"
#include "cpu/plan/stages.h"

/* --- the walk --- */
static bool is_dead(const ir_op *op) {
    if (!(ir_op_infos[op->code].flags & IR_PURE) || op->n_regions) return false;
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i].uses) return false;
    return true;
}

/* A value stays lazy, but not behind any number of others: who reads it walks through all of them. */
static xt_status keep_lazy(cpu_builder *b, const ir_value *v) {
    const ir_op *op = v->def;
    const ir_value *of = build_is_alias(op) ? build_alias_of(v) : op->n_in ? op->in[0] : NULL;
    const value_info *in = of ? build_info(b, of) : NULL;
    uint8_t depth = in && in->state == VALUE_LAZY ? in->lazy_depth + 1 : 0;
    value_info *out = build_info(b, v);
    cpu_ref ignored;
    if (!out) return status_oom(sizeof *out, "a buffer plan");
    out->state = VALUE_LAZY;
    out->lazy_depth = depth;
    if (depth < MOST_LAZY_DEPTH || v->type->kind != IR_TENSOR) return NULL;
    XT_TRY(cpu_build_dense(b, v, &ignored));
    build_info(b, v)->state = VALUE_DENSE;
    return NULL;
}

static xt_status lower_op(cpu_builder *b, const ir_op *op) {
    const norm_fusion *fusion;
    if (layout_fusion_at(b, op, &fusion)) return fusion ? b->lowering->blocked.norm(b, fusion) : NULL;
    if (build_is_lazy(op)) {
        value_info *in = op->n_in == 1 ? build_info(b, op->in[0]) : NULL;
        bool half = op->n_in == 1 && (op->in[0]->type->dtype == XT_BF16 || op->in[0]->type->dtype == XT_F16 ||
                                      op->out[0].type->dtype == XT_BF16 || op->out[0].type->dtype == XT_F16);
        vprog_type ignored;
        /* A reshape of something a loop computes is that loop's own business. */
        const bool name = op->code == OP_reshape || (op->code == OP_bitcast_convert && !half) ||
                          (op->code == OP_broadcast_in_dim && group_is_name(op));
        if (name && in && in->state == VALUE_MEMBER && !in->feature &&
            op->in[0]->type->count == op->out[0].type->count && vprog_type_of(op->out[0].type->dtype, &ignored) &&
            group_takes_name(b, op))
            return group_join(b, op);
        for (uint32_t i = 0; i < op->n_out; i++) XT_TRY(keep_lazy(b, &op->out[i]));
        return NULL;
    }
    if (vprog_takes(op) || (b->kernels_on && group_takes_turns(b, op))) return group_join(b, op);
    if (layout_is_window(b, op)) return b->lowering->blocked.window(b, op);
    bool done = false;
    if (b->kernels_on) XT_TRY(build_by_table(b, op, &done));
    if (!done && b->kernels_on) XT_TRY(b->lowering->elementwise(b, op, &done));
    return done ? NULL : b->lowering->interpreter(b, op, &done);
}

static xt_status add_arguments(cpu_builder *b, const ir_block *body) {
    for (size_t i = 0; i < body->n_args; i++) {
        const ir_value *v = body->args[i];
        cpu_ref ref = {0, 0};
        XT_TRY(build_slot(b,
                          (cpu_slot){.kind = CPU_SLOT_ARG,
                                     .index = (uint32_t)i,
                                     .bytes = ir_type_bytes(v->type),
                                     .type = v->type,
                                     .value = v},
                          &ref.slot));
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
static const cpu_kernel result_copy = {"result-copy", copy_run, .anywhere = true, .is_copy = true};

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
    static const uint64_t in_place = 1;
    cpu_thunk_desc d = {.kernel = &result_copy,
                        .op = named,
                        .n_in = 1,
                        .in = &v,
                        .n_out = 1,
                        .out = &v,
                        .to_results = true,
                        .result = j,
                        .state = n,
                        .in_place = &in_place};
    return cpu_build_thunk(b, &d);
}

static xt_status walk(cpu_builder *b) {
    const ir_block *body = b->exec->main->body;
    XT_TRY(add_arguments(b, body));
    for (const ir_op *op = body->first; op; op = op->next) {
        b->at = op;
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

static xt_status whole_program(cpu_builder *b) {
    const ir_block *body = b->exec->main->body;
    const ir_op *ret = body->last;
    XT_TRY(add_arguments(b, body));
    b->plan->out_slots = base_malloc((ret->n_in + 1) * sizeof *b->plan->out_slots);
    if (!b->plan->out_slots) return status_oom(0, "a buffer plan");
    cpu_thunk_desc d = {.kernel = b->lowering->whole_program,
                        .op = ret,
                        .n_in = body->n_args,
                        .in = (const ir_value *const *)body->args,
                        .n_out = ret->n_in,
                        .out = (const ir_value *const *)ret->in,
                        .to_results = true};
    return cpu_build_thunk(b, &d);
}

xt_status cpu_stage_lower(cpu_builder *b) {
    return b->whole ? whole_program(b) : walk(b);
}
