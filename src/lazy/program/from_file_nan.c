/* XT_DEBUG=nan for programs from files: when a result has NaN or Inf, the program is interpreted again, with a look at
 * every op: the first one that makes NaN or Inf from inputs that have none is named, be it in the body of a loop (with
 * the iteration), in a branch, or in a function that is called. */
#include "ir/interp.h"
#include "lazy/program/program.h"
#include "lazy/program/from_file.h"
#include "lazy/program/range.h"

static bool counts(const array *a) {
    return a->type->kind == IR_TENSOR && a->type->count > 0 && ir_dtype_is_float(a->type->dtype);
}

static bool bad(const array *a, range *out) {
    *out = counts(a) ? range_of(a->data, a->type) : (range){0};
    return out->nan || out->inf;
}

/* " in iteration 3 of the while at loop.mlir:4, in iteration 0 of the while at loop.mlir:2" */
static void print_loops(str *t, const interp_loop *l) {
    char at[256];
    for (const char *comma = ""; l; l = l->up, comma = ",")
        str_printf(t, "%s in iteration %lld of the while at %s", comma, (long long)l->iteration,
                   src_text(l->op->src, at, sizeof at));
}

static xt_status describe(const ir_op *op, const interp_loop *loops, const array *in, const array *made,
                          const range *r) {
    str t = STR_INIT;
    char at[256];
    str_printf(&t, "%s ", ir_op_infos[op->code].name);
    ir_type_print(made->type, &t);
    str_append(&t, " makes the first NaN or Inf");
    print_loops(&t, loops);
    str_printf(&t, ": %lld of %lld elements (", (long long)(r->nan + r->inf), (long long)r->count);
    range_print(&t, r);
    str_append(&t, "). Its inputs:");
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!counts(&in[i])) continue;
        range of = range_of(in[i].data, in[i].type);
        const ir_op *def = op->in[i]->def;
        str_printf(&t, "\n  %s ", def ? ir_op_infos[def->code].name : "argument");
        ir_type_print(in[i].type, &t);
        if (def) str_printf(&t, " at %s", src_text(def->src, at, sizeof at));
        str_append(&t, ": ");
        range_print(&t, &of);
    }
    str_append(&t, " [XT401]");
    xt_status s = status_new(XT_OUT_OF_RANGE, src_get(op->src), "%s", str_cstr(&t));
    str_free(&t);
    return s;
}

static xt_status look(void *user, const ir_op *op, const interp_loop *loops, const array *in, const array *out) {
    (void)user;
    if (range_only_moves(op)) return NULL;
    int64_t nan = 0, inf = 0;
    range r;
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_op *def = op->in[i]->def;
        if ((def && def->code == OP_constant) || !bad(&in[i], &r)) continue;
        nan += r.nan;
        inf += r.inf;
    }
    for (uint32_t j = 0; j < op->n_out; j++)
        if (bad(&out[j], &r) && (r.nan ? nan == 0 : nan + inf == 0)) return describe(op, loops, in, &out[j], &r);
    return NULL;
}

static xt_status bad_input(const ir_func *f, size_t i, const range *r) {
    str t = STR_INIT;
    range_print(&t, r);
    xt_status s = status_new(XT_OUT_OF_RANGE, NULL, "input %zu of @%s has NaN or Inf: %s", i, f->name, str_cstr(&t));
    str_free(&t);
    return s;
}

xt_status program_look_for_nan(const ir_module *m, const ir_func *f, size_t n_in, const array *in, const array *results,
                               size_t n_results) {
    range r;
    bool found = false;
    if (!lazy_debug_word("nan")) return NULL;
    for (size_t i = 0; i < n_results && !found; i++) found = bad(&results[i], &r);
    for (size_t i = 0; found && i < n_in; i++)
        if (bad(&in[i], &r)) return bad_input(f, i, &r);
    if (!found) return NULL;
    array *again = base_calloc(n_results + 1, sizeof *again);
    if (!again) return status_oom(n_results * sizeof *again, "results");
    xt_status s = interp_run(m, f->name, &(interp_hooks){.computed = look}, n_in, in, n_results, again);
    for (size_t i = 0; i < n_results; i++)
        if (again[i].type) array_free(&again[i]);
    base_free(again);
    return s;
}
