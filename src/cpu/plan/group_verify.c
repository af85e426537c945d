/* Groups after the stage lower: which ops are one loop, as a text and checked, before any loop is made. */
#include "cpu/plan/group_int.h"
#include "cpu/plan/stages.h"

/* --- as a text --- */
static void print_op(const cpu_builder *b, const ir_op *op, str *out) {
    char name[96];
    const cpu_thunk t = {.op = op, .ordinal = op->user ? b->ordinals[op->user - 1] : CPU_NONE};
    cpu_thunk_name(&t, name, sizeof name);
    str_append(out, name);
}

static void print_value(const cpu_builder *b, const ir_value *v, str *out) {
    if (v->def)
        print_op(b, v->def, out);
    else
        str_printf(out, "argument %u", v->index);
    str_append(out, " ");
    ir_type_print(v->type, out);
}

static void print_end(const cpu_builder *b, const group *g, str *out) {
    const bool result = g->end == GROUP_READ && ir_op_infos[g->closed_by->code].flags & IR_TERMINATOR;
    static const char *const why[] = {[GROUP_OPEN] = "nobody reads it as an array",
                                      [GROUP_READ] = "read by ",
                                      [GROUP_FULL] = "no room for ",
                                      [GROUP_ALONE] = "nothing is fused, not even "};
    str_append(out, result ? "a result of the program" : why[g->end]);
    if (g->end != GROUP_OPEN && !result) print_op(b, g->closed_by, out);
}

static bool is_result(const group *g, const ir_value *v) {
    for (size_t i = 0; g->loop && i < g->loop->n_results; i++)
        if (g->loop->results[i] == v) return true;
    return false;
}

static void print_group(const cpu_builder *b, uint32_t number, str *out) {
    static const char *const kinds[] = {[VPROG_DIRECT] = "in order",
                                        [VPROG_STRIDED] = "a window",
                                        [VPROG_SCALAR] = "one element",
                                        [VPROG_SPLAT] = "a constant",
                                        [VPROG_IOTA] = "counted"};
    const group *g = &b->groups[number];
    str_printf(out, "group %u: ", number);
    if (g->loop)
        str_printf(out, "thunk %u", g->loop->thunk);
    else
        str_append(out, "no thunk");
    str_printf(out, ", %zu op%s over %lld elements%s; ", g->n, g->n == 1 ? "" : "s", (long long)g->count,
               g->feature ? ", blocked" : "");
    print_end(b, g, out);
    for (size_t i = 0; g->loop && i < g->loop->from.n; i++) {
        str_append(out, "\n  reads ");
        print_value(b, g->loop->from.reads[i].value, out);
        str_printf(out, ", %s", kinds[g->loop->from.reads[i].source.kind]);
    }
    for (size_t i = 0; i < g->n; i++) {
        str_append(out, is_result(g, &g->ops[i]->out[0]) ? "\n  gives " : "\n  op    ");
        print_value(b, &g->ops[i]->out[0], out);
    }
    str_append(out, "\n");
}

void cpu_groups_print(const cpu_builder *b, str *out) {
    size_t loops = 0, ops = 0;
    for (size_t i = 0; i < b->n_groups; i++) loops += b->groups[i].loop != NULL, ops += b->groups[i].n;
    str_printf(out, "groups of %s: %zu ops in %zu loops\n", b->exec->name, ops, loops);
    for (uint32_t i = 0; i < b->n_groups; i++)
        if (b->groups[i].merged_into == CPU_NONE) print_group(b, i, out);
}

/* --- checked --- */
static xt_status broken(const cpu_builder *b, uint32_t number, const ir_op *op, const char *what) {
    str text = STR_INIT;
    print_op(b, op, &text);
    xt_status s = status_new(XT_INTERNAL, NULL, "group %u, %s: %s", number, str_cstr(&text), what);
    str_free(&text);
    return s;
}

/* What the loop reads of v is settled: another member made it before, or it is read from outside. */
static bool is_there(const group *g, size_t before, const ir_value *v) {
    for (size_t i = 0; i < before; i++)
        if (&g->ops[i]->out[0] == v) return true;
    for (size_t i = 0; i < g->loop->from.n; i++)
        if (g->loop->from.reads[i].value == v) return true;
    return false;
}

static xt_status check_op(const cpu_builder *b, uint32_t number, size_t i, uint64_t epoch) {
    const group *g = &b->groups[number];
    const ir_op *op = g->ops[i];
    const ir_value *v = &op->out[0];
    if (v->mark == epoch) return broken(b, number, op, "is in two groups, or in one twice");
    ((ir_value *)(uintptr_t)v)->mark = epoch;
    if (!group_has(b, number, v))
        return broken(b, number, op, "its result is said to be in no group or in another one");
    if (v->type->count != g->count * (group_is_turns(op) ? op->n_in : 1))
        return broken(b, number, op, "has another number of elements than its group");
    if (g->feature && memcmp(v->type->dims, g->like->dims, 4 * sizeof *g->like->dims) != 0)
        return broken(b, number, op, "has other dims than its blocked group");
    if (!g->loop) return NULL;
    for (uint32_t k = 0; k < op->n_in; k++)
        if (!is_there(g, i, op->in[k])) return broken(b, number, op, "reads what is neither read nor made before");
    if (group_needed_outside(b, v) && !group_is_name(op) && !is_result(g, v))
        return broken(b, number, op, "is read outside, but is no result");
    return NULL;
}

/* The thunk that stands for the loop reads what earlier thunks made, and gives the loop's results. */
static xt_status check_thunk(const cpu_builder *b, uint32_t number, const uint32_t *writer) {
    const group *g = &b->groups[number];
    const group_loop *l = g->loop;
    const cpu_thunk *t = &b->plan->thunks[l->thunk];
    const ir_op *last = g->ops[g->n - 1];
    if (l->thunk >= b->plan->n_thunks || t->kernel != &loop_fused || t->state)
        return broken(b, number, last, "its thunk is no loop that is still to be made");
    if (t->n_ops != g->n || memcmp(t->ops, g->ops, g->n * sizeof(const ir_op *)) != 0)
        return broken(b, number, last, "its thunk covers other ops");
    if (t->n_out != l->n_results || !l->n_results) return broken(b, number, last, "its thunk has other results");
    for (uint32_t i = 0; i < t->n_in; i++)
        if (writer[t->in[i].slot] != CPU_NONE && writer[t->in[i].slot] >= l->thunk)
            return broken(b, number, last, "its thunk reads what is made later");
    for (uint32_t i = 0; i < t->n_out; i++) {
        const value_info *v = &b->values[l->results[i]->user - 1];
        const cpu_ref *at = g->feature ? &v->blk : &v->ref;
        if (writer[t->out[i].slot] != l->thunk) return broken(b, number, last, "another thunk writes its results, too");
        if (!(g->feature ? v->has_blk : v->has_ref) || at->slot != t->out[i].slot)
            return broken(b, number, last, "its results are read elsewhere");
    }
    return NULL;
}

static xt_status check_group(const cpu_builder *b, uint32_t number, const uint32_t *writer, uint64_t epoch) {
    const group *g = &b->groups[number];
    if (g->merged_into != CPU_NONE) return NULL;
    if (!g->n) return status_new(XT_INTERNAL, NULL, "group %u has no ops", number);
    for (size_t i = 0; i < g->n; i++) XT_TRY(check_op(b, number, i, epoch));
    return g->loop ? check_thunk(b, number, writer) : NULL;
}

/* What a thunk or the end of the program reads is no member of a group that is still open. */
static xt_status check_read(const cpu_builder *b, const ir_value *v) {
    const ir_value *of = v ? loop_strip_aliases(v) : NULL;
    const value_info *info = of && of->user ? &b->values[of->user - 1] : NULL;
    if (!info || !info->grouped || b->groups[group_find(b, info->group)].loop) return NULL;
    return broken(b, group_find(b, info->group), info->value->def, "is read, but its group was never closed");
}

static xt_status check_reads(const cpu_builder *b) {
    const cpu_plan *p = b->plan;
    const ir_op *last = b->exec->main->body->last;
    for (size_t t = 0; t < p->n_thunks; t++)
        for (uint32_t i = 0; i < p->thunks[t].n_in; i++) XT_TRY(check_read(b, p->thunks[t].reads[i]));
    for (uint32_t i = 0; i < last->n_in && !b->whole; i++) XT_TRY(check_read(b, last->in[i]));
    return NULL;
}

xt_status cpu_groups_verify(const cpu_builder *b) {
    const cpu_plan *p = b->plan;
    uint32_t *writer = base_malloc((p->n_slots + 1) * sizeof *writer);
    if (!writer) return status_oom(p->n_slots * sizeof *writer, "checking groups");
    for (size_t i = 0; i < p->n_slots; i++) writer[i] = CPU_NONE;
    for (uint32_t t = 0; t < p->n_thunks; t++)
        for (uint32_t i = 0; i < p->thunks[t].n_out; i++) writer[p->thunks[t].out[i].slot] = t;
    const uint64_t epoch = ir_new_epoch();
    xt_status s = check_reads(b);
    for (uint32_t i = 0; i < b->n_groups && !s; i++) s = check_group(b, i, writer, epoch);
    base_free(writer);
    return s;
}
