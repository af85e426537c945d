/* The memory of a compiled program as a table for xtrain plan: written where the compile option xla_dump_to points, as
 * XLA's compilers do. First a line of totals, then a line a slot of memory (kind, number, bytes, offset, first and last
 * thunk, the output's donated argument, op, type, name), then a line a thunk (kernel, flops, bytes, name), and for
 * collectives, those in its loops too, a line with the devices of the first group and how often it runs.
 * Names are the
 * program's own locations. */
#include "cpu/run/plan.h"

static const char *name_of(const ir_op *op) {
    return op && op->path ? intern_text(op->path) : "-";
}

static void slot_line(const cpu_slot *s, str *out) {
    static const char *const kinds[] = {"arg", "out", "temp", "const"};
    str type = STR_INIT;
    if (s->type) ir_type_print(s->type, &type);
    str_printf(out, "slot\t%s\t%lld\t%zu\t%zu\t%lld\t%lld\t%lld\t%s\t%s\t%s\n", kinds[s->kind],
               s->kind == CPU_SLOT_ARG || s->kind == CPU_SLOT_OUT ? (long long)s->index : -1, s->bytes, s->offset,
               s->first == CPU_NONE ? -1LL : (long long)s->first, s->last == CPU_NONE ? -1LL : (long long)s->last,
               s->takes == CPU_NONE ? -1LL : (long long)s->takes,
               !s->type ? "scratch"
               : s->op  ? ir_op_infos[s->op->code].name
                        : "-",
               s->type ? str_cstr(&type) : "-", name_of(s->op));
    str_free(&type);
}

static void collective_line(const ir_op *op, int64_t times, str *out) {
    bool sends = op->code == OP_collective_permute; /* the first pair is who sends, and to whom */
    const ir_attr *groups = ir_attr_find(op, sends ? IR_A_source_target_pairs : IR_A_replica_groups);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < op->n_out; i++) bytes += (int64_t)ir_type_bytes(op->out[i].type);
    str_printf(out, "coll\t%s\t%lld\t%s\t", ir_op_infos[op->code].name, (long long)bytes, name_of(op));
    size_t width = groups ? groups->rank2 ? groups->rank2 : groups->n : 0;
    for (size_t k = 0; k < width && k < groups->n; k++)
        str_printf(out, "%s%lld", k ? "," : "", (long long)groups->v.ints[k]);
    str_printf(out, "%s\t%lld\n", width ? "" : "-", (long long)times);
}

/* Of what moves something (a device's own number does not), each as often as it runs where that is known. */
static void collective_lines(const ir_op *op, int64_t times, str *out) {
    int64_t trips = op->code == OP_while ? ir_trip_count(op) : 1;
    if (ir_op_infos[op->code].cls == IR_CLASS_COLLECTIVE && op->n_in) collective_line(op, times, out);
    if (trips > 0) times *= trips;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            collective_lines(in, times, out);
}

xt_status cpu_dump_memory(const cpu_exec *e, const char *dir) {
    const cpu_plan *p = &e->plan;
    str out = STR_INIT;
    str_printf(&out, "xtrain_cpu 1\t%zu thunks\t%zu arena\t%zu constants\t%u peak\n", p->n_thunks, p->arena_bytes,
               p->const_bytes, p->peak_thunk);
    for (size_t i = 0; i < p->n_slots; i++)
        if (p->slots[i].same_as == CPU_NONE && p->slots[i].bytes) slot_line(&p->slots[i], &out);
    for (size_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        str_printf(&out, "thunk\t%s\t%.0f\t%.0f\t%s\n", th->kernel->name, th->flops, th->bytes, name_of(th->op));
        collective_lines(th->op, 1, &out);
    }
    char *path = path_join(dir, "xtrain_cpu.memory.txt");
    xt_status s = out.failed || !path ? status_oom(out.len, "a dump") : file_make_dirs(dir, 0755);
    if (!s) s = file_write_all(path, str_cstr(&out), out.len);
    base_free(path);
    str_free(&out);
    return s;
}
