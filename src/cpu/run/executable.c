/* An executable: what it tells about itself, how long each phase of its compiling took, and its end. */
#include "cpu/run/plan.h"
#include "cpu/vector/dnnl_util.h"
#include "pass/entry_layout.h"
#include "pass/pass.h"

/* --- how long it takes, by phase --- */
void cpu_phase_begin(cpu_exec *e) {
    e->took.began = clock_ns();
    e->took.onednn_before = dnnl_util_spent();
}

/* Making oneDNN's primitives happens inside other phases and is told apart, being the one that is not
 * ours to shorten. */
void cpu_phase_end(cpu_exec *e, cpu_phase p) {
    int64_t began = e->took.began, onednn = dnnl_util_spent() - e->took.onednn_before;
    cpu_phase_begin(e);
    e->took.ns[p] += e->took.began - began - onednn;
    e->took.ns[CPU_PHASE_ONEDNN] += onednn;
}

const char *cpu_exec_phase(const cpu_exec *e, cpu_phase p, double *out_seconds) {
    static const char *const names[CPU_PHASES] = {
        [CPU_PHASE_READ] = "compile seconds read",       [CPU_PHASE_VERIFY] = "compile seconds verify",
        [CPU_PHASE_PASSES] = "compile seconds passes",   [CPU_PHASE_INLINE] = "compile seconds inline",
        [CPU_PHASE_LAYOUT] = "compile seconds layout",   [CPU_PHASE_KERNELS] = "compile seconds kernels",
        [CPU_PHASE_ONEDNN] = "compile seconds oneDNN",   [CPU_PHASE_SCHEDULE] = "compile seconds schedule",
        [CPU_PHASE_BUFFERS] = "compile seconds buffers",
    };
    *out_seconds = (double)e->took.ns[p] / 1e9;
    return names[p];
}

/* --- its end --- */
static void free_state(const cpu_kernel *k, void *state) {
    if (k->free_state)
        k->free_state(state);
    else
        base_free(state);
}

void cpu_thunk_free(cpu_thunk *t) {
    if (t->state) free_state(t->kernel, t->state);
    base_free(t->ops);
    base_free(t->in);
    base_free(t->reads);
    base_free(t->out);
    base_free(t->in_place);
}

void cpu_plan_free(cpu_plan *p) {
    for (size_t i = 0; i < p->n_thunks; i++) cpu_thunk_free(&p->thunks[i]);
    for (size_t i = 0; i < p->n_slots; i++) base_free(p->slots[i].owned);
    base_free(p->thunks);
    base_free(p->slots);
    base_free(p->out_slots);
    memset(p, 0, sizeof *p);
}

void cpu_exec_free(cpu_exec *e) {
    if (!e) return;
    if (e->profile) cpu_report_profile(e);
    base_free((void *)(uintptr_t)e->profile);
    cpu_plan_free(&e->plan);
    if (e->module) ir_module_free(e->module);
    str_free(&e->text);
    base_free(e->source);
    base_free(e->alias);
    base_free(e->name);
    pthread_mutex_destroy(&e->text_lock);
    base_free(e);
}

/* --- queries --- */
const char *cpu_exec_name(const cpu_exec *e) {
    return e->name;
}
size_t cpu_exec_inputs(const cpu_exec *e) {
    return e->main->body->n_args;
}
size_t cpu_exec_outputs(const cpu_exec *e) {
    return e->main->n_results;
}
const ir_type *cpu_exec_input_type(const cpu_exec *e, size_t i) {
    return e->main->body->args[i]->type;
}
const ir_type *cpu_exec_output_type(const cpu_exec *e, size_t i) {
    return e->main->result_types[i];
}
static const char *attr_text(size_t n, const ir_attr *attrs, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (attrs[i].name && attrs[i].kind == IR_AK_STRING && strcmp(attrs[i].name, name) == 0) return attrs[i].v.s;
    return NULL;
}
const char *cpu_exec_input_text(const cpu_exec *e, size_t i, const char *attr) {
    const ir_func *f = e->main;
    return f->arg_attrs && f->n_arg_attrs ? attr_text(f->n_arg_attrs[i], f->arg_attrs[i], attr) : NULL;
}
const char *cpu_exec_output_text(const cpu_exec *e, size_t i, const char *attr) {
    const ir_func *f = e->main;
    return f->result_attrs && f->n_result_attrs ? attr_text(f->n_result_attrs[i], f->result_attrs[i], attr) : NULL;
}
/* Only where the pass that gives memory's type was on. */
static const int64_t *order_of(const ir_attr *a, const ir_type *t) {
    return pass_is_on("lower_layout") ? entry_order(a, t) : NULL;
}
const int64_t *cpu_exec_input_order(const cpu_exec *e, size_t i) {
    return order_of(entry_arg_attr(e->main, i, ENTRY_LAYOUT), cpu_exec_input_type(e, i));
}
const int64_t *cpu_exec_output_order(const cpu_exec *e, size_t i) {
    return order_of(entry_result_attr(e->main, i, ENTRY_LAYOUT), cpu_exec_output_type(e, i));
}
int cpu_exec_alias(const cpu_exec *e, size_t input) {
    return e->alias[input];
}
const cpu_stats *cpu_exec_stats(const cpu_exec *e) {
    return &e->stats;
}

const char *cpu_exec_text(const cpu_exec *e, size_t *n) {
    cpu_exec *w = (cpu_exec *)(uintptr_t)e; /* the text is made when first asked for */
    pthread_mutex_lock(&w->text_lock);
    if (!w->text.data) xt_status_free(ir_print(w->module, 0, &w->text));
    pthread_mutex_unlock(&w->text_lock);
    *n = e->text.len;
    return str_cstr(&e->text);
}
