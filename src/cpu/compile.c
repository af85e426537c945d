/* Text to executable. */
#include "cpu/kernel/kernel.h"
#include "cpu/plan/stages.h"
#include "cpu/vector/dnnl_util.h"
#include "cpu/vector/lanes.h"
#include "format/bytecode.h"
#include "pass/entry_layout.h"

/* --- compiling ---------------------------------------------------------------------------------------------------------------------- */
static xt_status find_main(cpu_exec *e) {
    e->main = entry_func(e->module);
    if (!e->main) return status_new(XT_INVALID_ARGUMENT, NULL, "the program has no function 'main' and no other public function with a body");
    for (size_t i = 0; i < e->main->body->n_args + e->main->n_results; i++) {
        bool arg = i < e->main->body->n_args;
        const ir_type *t = arg ? e->main->body->args[i]->type : e->main->result_types[i - e->main->body->n_args];
        if (t->kind == IR_TUPLE || (t->kind == IR_TENSOR && t->count < 0)) {
            str s = STR_INIT;
            ir_type_print(t, &s);
            xt_status st = status_new(XT_INVALID_ARGUMENT, NULL, "%s %zu of %s is %s: the CPU device takes and gives tensors of fixed shape",
                                      arg ? "argument" : "result", arg ? i : i - e->main->body->n_args, e->main->name, str_cstr(&s));
            str_free(&s);
            return st;
        }
    }
    return NULL;
}

/* Ranks may differ in what else they keep or read, but not in where they meet: kinds, types and groups of all collectives, in order. */
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
    str_printf(&text, "partitioned over %d devices: %zu all_reduce, %zu reduce_scatter, %zu all_gather, %zu all_to_all, %zu local slices",
               c->partitions, s->all_reduce, s->reduce_scatter, s->all_gather, s->all_to_all, s->slices);
    if (s->whole)
        str_printf(&text, "; %zu op%s (%s first) on whole operands, for want of a rule", s->whole, s->whole == 1 ? "" : "s", s->whole_first);
    log_msg(XT_SEV_INFO, "%s", str_cstr(&text));
    str_free(&text);
}

static xt_status inline_stage(cpu_exec *e) {
    e->passes->stage++;
    if (!pass_is_on("inline")) return NULL;
    XT_TRY(status_context(cpu_inline(e->module, e->main), "stage inline"));
    if (e->passes->verify) XT_TRY(status_context(ir_verify(e->module), "after stage inline"));
    str text = STR_INIT;
    if (pass_dump_wanted() && !ir_print(e->module, IR_PRINT_LOC_SOURCE, &text)) pass_dump(e->passes, e->module->name, "inline", "mlir", &text);
    str_free(&text);
    return NULL;
}

static xt_status make(cpu_exec *e, const char *text, size_t n) {
    cpu_phase_begin(e);
    XT_TRY(program_read(text, n, "program", &e->module));
    cpu_phase_end(e, CPU_PHASE_READ);
    XT_TRY(ir_verify(e->module));
    XT_TRY(find_main(e));
    cpu_phase_end(e, CPU_PHASE_VERIFY);
    pass_ctx passes = PASS_CTX_INIT;
    passes.partitions = e->opts.num_partitions;
    passes.keep_divided = e->opts.keep_divided;
    passes.lanes = lanes_get()->lanes;
    XT_TRY(pass_optimize(&passes, e->module));
    report_partitioning(&passes);
    cpu_phase_end(e, CPU_PHASE_PASSES);
    e->passes = &passes;
    XT_TRY(inline_stage(e));
    cpu_phase_end(e, CPU_PHASE_INLINE);
    e->name = base_strdup(e->module->name && *e->module->name ? e->module->name : e->main->name);
    e->alias = base_malloc((e->main->body->n_args + 1) * sizeof *e->alias);
    if (!e->name || !e->alias) return status_oom(0, "a program");
    for (size_t i = 0; i < e->main->body->n_args; i++) e->alias[i] = -1;
    uint64_t tag = hash_collectives(e->main->body, (hash128){0x636f6c6c, 1}, &e->collective_bytes).lo | 1;
    if (e->opts.num_partitions > 1 || e->opts.num_replicas > 1) e->coll_tag = tag;
    xt_status s = cpu_plan_make(e, &cpu_kernels);
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
    xt_status s = e->source ? make(e, text, n) : status_oom(n, "a program");
    if (s) {
        cpu_exec_free(e);
        return s;
    }
    dump(e);
    if (env_has_word("XT_DEBUG", "exec")) e->profile = base_calloc(2 * e->plan.n_thunks + 1, sizeof *e->profile);
    *out = e;
    return NULL;
}
