/* From a function to thunks: walks the ops in order, keeps values lazy where a reader can take them as they are (values.c), groups elementwise ops
 * (group.c), asks the lowering table for the rest and lets the interpreter's code run what nobody takes. */
#include "cpu/plan/attention/tile.h"
#include "cpu/plan/build_int.h"
#include "cpu/plan/layout.h"
#include "cpu/plan/stages.h"
#include "pass/pass.h"

/* --- the walk ------------------------------------------------------------------------------------------------------------------- */
static bool is_dead(const ir_op *op) {
    if (!(ir_op_infos[op->code].flags & IR_PURE) || op->n_regions) return false;
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i].uses) return false;
    return true;
}

static xt_status lower_op(cpu_builder *b, const ir_op *op) {
    const norm_fusion *fusion;
    if (layout_fusion_at(b, op, &fusion)) return fusion ? b->lowering->blocked.norm(b, fusion) : NULL;
    if (build_is_lazy(op)) {
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
    if (tape_takes(op)) return group_join(b, op);
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
    static const uint64_t over = 1;
    cpu_thunk_desc d = {
        .kernel = &result_copy, .op = named, .n_in = 1, .in = &v, .n_out = 1, .out = &v, .to_results = true, .result = j, .state = n, .over = &over};
    return cpu_build_thunk(b, &d);
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

xt_status cpu_plan_make(cpu_exec *e, const cpu_lowering *with) {
    cpu_builder b = {.exec = e, .plan = &e->plan, .lowering = with, .kernels_on = pass_is_on("kernels"), .fuse_on = pass_is_on("fuse")};
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
