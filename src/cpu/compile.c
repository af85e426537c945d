/* Text to executable: the stages of passes.def, in their order. */
#include "cpu/kernel/kernel.h"
#include "cpu/plan/build_int.h"
#include "cpu/plan/stages.h"
#include "cpu/vector/chwn.h"
#include "format/bytecode.h"
#include "pass/entry_layout.h"
#include "pass/pass.h"

static xt_status find_main(cpu_exec *e) {
    e->main = entry_func(e->module);
    if (!e->main)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the program has no function 'main' and no other public function with a body");
    for (size_t i = 0; i < e->main->body->n_args + e->main->n_results; i++) {
        bool arg = i < e->main->body->n_args;
        const ir_type *t = arg ? e->main->body->args[i]->type : e->main->result_types[i - e->main->body->n_args];
        if (t->kind == IR_TUPLE || (t->kind == IR_TENSOR && t->count < 0)) {
            str s = STR_INIT;
            ir_type_print(t, &s);
            xt_status st = status_new(
                XT_INVALID_ARGUMENT, NULL, "%s %zu of %s is %s: the CPU device takes and gives tensors of fixed shape",
                arg ? "argument" : "result", arg ? i : i - e->main->body->n_args, e->main->name, str_cstr(&s));
            str_free(&s);
            return st;
        }
    }
    return NULL;
}

/* Ranks may differ in what else they keep or read, but not in where they meet: kinds, types and groups of all
 * collectives, in order. */
static hash128 hash_collectives(const ir_block *b, hash128 h, double *bytes) {
    for (const ir_op *op = b->first; op; op = op->next) {
        if (ir_op_infos[op->code].cls == IR_CLASS_COLLECTIVE && op->n_in) {
            size_t n;
            const int64_t *groups = ir_get_ints(op, IR_A_replica_groups, &n);
            h = hash_mix(h, (hash128){op->code, op->n_in});
            h = hash_bytes(groups, n * sizeof *groups, h);
            for (uint32_t i = 0; i < op->n_in; i++) {
                const ir_type *t = op->in[i]->type;
                h = hash_mix(h, (hash128){t->dtype, t->rank});
                if (t->kind != IR_TENSOR) continue; /* a future: what it is of was told where it began */
                h = hash_bytes(t->dims, t->rank * sizeof *t->dims, h);
                *bytes += ir_type_bytes(t) ? (double)ir_type_bytes(t) : 1;
            }
        }
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) h = hash_collectives(op->regions[r].block, h, bytes);
    }
    return h;
}

static void report_partitioning(const pass_ctx *c) {
    const pass_spmd_stats *s = &c->spmd;
    if (c->partitions < 2 || !env_has_word("XT_DEBUG", "compile")) return;
    str text = STR_INIT;
    str_printf(&text,
               "partitioned over %d devices: %zu all_reduce, %zu reduce_scatter, %zu all_gather, %zu all_to_all, %zu "
               "collective_permute, %zu local slices",
               c->partitions, s->all_reduce, s->reduce_scatter, s->all_gather, s->all_to_all, s->collective_permute,
               s->slices);
    if (s->whole)
        str_printf(&text, "; %zu op%s (%s first) on whole operands, for want of a rule", s->whole,
                   s->whole == 1 ? "" : "s", s->whole_first);
    log_msg(XT_SEV_INFO, "%s", str_cstr(&text));
    str_free(&text);
}

/* --- the stages that are not planning's own --- */
xt_status cpu_stage_read(cpu_builder *b) {
    return program_read(b->exec->source, b->exec->source_size, "program", &b->exec->module);
}

xt_status cpu_stage_verify(cpu_builder *b) {
    XT_TRY(ir_verify(b->exec->module));
    return find_main(b->exec);
}

xt_status cpu_stage_passes(cpu_builder *b) {
    pass_ctx *c = b->exec->passes;
    c->partitions = b->exec->opts.num_partitions;
    c->keep_divided = b->exec->opts.keep_divided;
    c->as_xla = b->exec->opts.as_xla;
    c->lanes = chwn_get()->lanes;
    XT_TRY(pass_optimize(c, b->exec->module));
    if (pass_has_quantized(b->exec->module))
        return status_new(XT_UNIMPLEMENTED, NULL,
                          "the program has quantized tensors, of which the pass lower_quant makes plain ones; it is "
                          "switched off (XT_PASSES)");
    report_partitioning(c);
    return NULL;
}

xt_status cpu_stage_describe(cpu_builder *b) {
    cpu_exec *e = b->exec;
    e->name = base_strdup(e->module->name && *e->module->name ? e->module->name : e->main->name);
    e->alias = base_malloc((e->main->body->n_args + 1) * sizeof *e->alias);
    if (!e->name || !e->alias) return status_oom(0, "a program");
    for (size_t i = 0; i < e->main->body->n_args; i++) e->alias[i] = -1;
    uint64_t tag = hash_collectives(e->main->body, (hash128){0x636f6c6c, 1}, &e->collective_bytes).lo | 1;
    if (e->opts.num_partitions > 1 || e->opts.num_replicas > 1) e->coll_tag = tag;
    return NULL;
}

xt_status cpu_stage_settle(cpu_builder *b) {
    cpu_exec_settle(b->exec);
    return NULL;
}

/* --- all stages --- */
/* what is verified and dumped after a stage */
typedef enum stage_checks { NOTHING, PROGRAM, GROUPS, PLAN, OFFSETS } stage_checks;
typedef struct stage {
    const char *name;
    xt_status (*run)(cpu_builder *b);
    bool (*wanted)(const cpu_builder *b);
    cpu_phase phase;
    stage_checks checks;
    bool optional;
} stage;

#define STEP(name, phase, checks, condition, what)   \
    static bool wants_##name(const cpu_builder *b) { \
        (void)b;                                     \
        return condition;                            \
    }
#define STAGE(name, phase, checks, condition, needs, keeps) STEP(name, phase, checks, condition, needs)
#include "pass/passes.def"

static const stage stages[] = {
#define STEP(name, phase, checks, condition, what) \
    {#name, cpu_stage_##name, wants_##name, CPU_PHASE_##phase, checks, false},
#define STAGE(name, phase, checks, condition, needs, keeps) \
    {#name, cpu_stage_##name, wants_##name, CPU_PHASE_##phase, checks, true},
#include "pass/passes.def"
};
enum {
#define STEP(name, phase, checks, condition, what) AT_##name,
#define STAGE(name, phase, checks, condition, needs, keeps) AT_##name,
#include "pass/passes.def"
};

static xt_status verify(const cpu_builder *b, stage_checks checks) {
    switch (checks) {
    case PROGRAM: return ir_verify(b->exec->module);
    case GROUPS: return cpu_groups_verify(b);
    default: return cpu_plan_verify(b->exec, checks == OFFSETS);
    }
}

static void print(const cpu_builder *b, stage_checks checks, str *out) {
    if (checks == PROGRAM)
        xt_status_free(ir_print(b->exec->module, IR_PRINT_LOC_SOURCE, out));
    else if (checks == GROUPS)
        cpu_groups_print(b, out);
    else
        cpu_plan_print(b->exec, out);
}

/* What a stage made is checked and written where dumps go; a program that it left alone is neither. */
static xt_status stage_done(const cpu_builder *b, const stage *s) {
    pass_ctx *c = b->exec->passes;
    if (s->checks == PROGRAM && !c->changed) return NULL;
    if (c->verify || s->checks == OFFSETS) {
        xt_status wrong = verify(b, s->checks);
        if (wrong) return status_context(wrong, "after stage %s", s->name);
    }
    if (!pass_dump_wanted()) return NULL;
    static const char *const endings[] = {[PROGRAM] = "mlir", [GROUPS] = "groups", [PLAN] = "plan", [OFFSETS] = "plan"};
    str text = STR_INIT;
    print(b, s->checks, &text);
    pass_dump(c, b->exec->module->name, s->name, endings[s->checks], &text);
    str_free(&text);
    return NULL;
}

static xt_status run_stages(cpu_builder *b, size_t first) {
    cpu_exec *e = b->exec;
    cpu_phase_begin(e);
    for (const stage *s = stages + first; s < stages + BASE_COUNT(stages); s++) {
        if (!s->wanted(b)) continue;
        if (s->checks != NOTHING) e->passes->stage++;
        if (s->optional && !pass_is_on(s->name)) continue;
        e->passes->changed = false;
        xt_status failed = s->run(b);
        if (failed) return s->checks == PROGRAM ? status_context(failed, "stage %s", s->name) : failed;
        if (s->checks != NOTHING) XT_TRY(stage_done(b, s));
        cpu_phase_end(e, s->phase);
    }
    return NULL;
}

/* A region's program, which is there already, is planned only. */
static xt_status plan_inside(cpu_exec *e) {
    cpu_builder b = {.exec = e, .lowering = &cpu_kernels, .plan_inside = plan_inside};
    xt_status s = run_stages(&b, AT_begin);
    cpu_builder_deinit(&b);
    return s;
}

static xt_status make(cpu_exec *e) {
    pass_ctx passes = PASS_CTX_INIT;
    cpu_builder b = {.exec = e, .lowering = &cpu_kernels, .plan_inside = plan_inside};
    e->passes = &passes;
    xt_status s = run_stages(&b, AT_read);
    cpu_builder_deinit(&b);
    e->passes = NULL;
    return s;
}

/* XT_DUMP: the plan beside the other stages' texts; a dump that cannot be written is no reason to fail. */
static void dump(const cpu_exec *e) {
    const char *dir = env_get("XT_DUMP");
    if (!dir) return;
    str plan = STR_INIT;
    char file[64];
    hash128 h = hash_bytes(e->source, e->source_size, (hash128){0, 0});
    snprintf(file, sizeof file, "cpu-%016llx.plan", (unsigned long long)h.lo);
    char *path = path_join(dir, file);
    cpu_plan_print(e, &plan);
    if (path) {
        xt_status_free(file_make_dirs(dir, 0777));
        xt_status_free(file_write_all(path, str_cstr(&plan), plan.len));
    }
    base_free(path);
    str_free(&plan);
}

xt_status cpu_compile(const char *text, size_t n, const cpu_compile_opts *o, cpu_exec **out) {
    cpu_exec *e = base_calloc(1, sizeof *e);
    if (!e) return status_oom(sizeof *e, "a program");
    pthread_mutex_init(&e->text_lock, NULL);
    if (o) e->opts = *o;
    e->threads = e->opts.threads > 0 ? (e->opts.threads < 1024 ? e->opts.threads : 1024) : team_default_threads();
    e->source = base_malloc(n + 1); /* bytecode and HLO have zero bytes within */
    e->source_size = n;
    if (e->source) memcpy(e->source, text, n);
    xt_status s = e->source ? make(e) : status_oom(n, "a program");
    if (s) {
        cpu_exec_free(e);
        return s;
    }
    dump(e);
    if (env_has_word("XT_DEBUG", "exec")) e->profile = base_calloc(2 * e->plan.n_thunks + 1, sizeof *e->profile);
    *out = e;
    return NULL;
}
