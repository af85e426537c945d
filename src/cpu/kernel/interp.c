/* Ops without a fast kernel run on the reference interpreter's code, and a program the planner cannot lay out (tuples,
 * sizes known only when running) runs on it as a whole: correct first, and the plan's print says so. */
#include "cpu/kernel/coll.h"
#include "cpu/kernel/kernel.h"
#include "cpu/plan/captured.h"
#include "ir/host_function.h"

typedef struct lookup_env {
    const cpu_call *call;
    const captured *c;
    array *arrays;
} lookup_env;
static const array *look_up(void *env, const ir_value *v) {
    const lookup_env *l = env;
    for (size_t i = 0; i < l->c->n; i++)
        if (l->c->values[i] == v) return &l->arrays[i];
    return NULL;
}

static void captured_free(void *state) {
    captured *c = state;
    base_free(c->values);
    base_free(c);
}

static xt_status interp_run_op(const cpu_call *call) {
    const cpu_thunk *t = call->thunk;
    const captured *c = t->state;
    array *a = base_calloc(t->n_in + t->n_out + 1, sizeof *a);
    if (!a) return status_oom(0, "running an op");
    array *in = a, *out = a + t->n_in;
    for (uint32_t i = 0; i < t->n_in; i++)
        in[i] = (array){i < t->op->n_in ? t->op->in[i]->type : c->values[i - t->op->n_in]->type, call->in[i]};
    for (uint32_t i = 0; i < t->n_out; i++) out[i] = (array){t->op->out[i].type, call->out[i]};
    lookup_env env = {call, c, in + t->op->n_in};
    interp_hooks hooks = {.user = call->device, .collective = cpu_coll_hook, .custom_call = cpu_custom_call_hook};
    xt_status s = interp_op(call->exec->module, t->op, &hooks, in, out, look_up, &env);
    base_free(a);
    return s;
}
static const cpu_kernel interp_kernel = {"interpreter", interp_run_op, captured_free};

CPU_LOWER(interp) {
    if (op->code == OP_custom_call && !host_function_is_callback(op) && !interp_knows_call(op))
        return interp_unknown_call(op);
    captured *c = base_calloc(1, sizeof *c);
    const ir_value **in = NULL;
    if (!c) return status_oom(sizeof *c, "a plan");
    if (!captured_collect(op, c)) goto oom;
    in = base_malloc((op->n_in + c->n + 1) * sizeof *in);
    if (!in) goto oom;
    for (uint32_t i = 0; i < op->n_in; i++) in[i] = op->in[i];
    for (size_t i = 0; i < c->n; i++) in[op->n_in + i] = c->values[i];
    cpu_thunk_desc d = {.kernel = &interp_kernel,
                        .op = op,
                        .n_in = op->n_in + c->n,
                        .in = in,
                        .n_out = op->n_out,
                        .state = c,
                        .flops = cpu_op_flops(op),
                        .transcendentals = cpu_op_transcendentals(op)};
    xt_status s = cpu_build_thunk(b, &d);
    base_free(in);
    *out_done = true;
    return s;
oom:
    base_free(in);
    captured_free(c);
    return status_oom(0, "a plan");
}

/* --- a whole program --- */
static xt_status program_run(const cpu_call *call) {
    const cpu_thunk *t = call->thunk;
    const cpu_exec *e = call->exec;
    size_t n_in = cpu_exec_inputs(e);
    array *a = base_calloc(n_in + t->n_out + 1, sizeof *a);
    if (!a) return status_oom(0, "running a program");
    array *in = a, *out = a + n_in;
    for (size_t i = 0; i < n_in; i++) in[i] = (array){cpu_exec_input_type(e, i), call->in[i]};
    interp_hooks hooks = {.user = call->device, .collective = cpu_coll_hook, .custom_call = cpu_custom_call_hook};
    xt_status s = interp_run(e->module, e->main->name, &hooks, n_in, in, t->n_out, out);
    for (uint32_t j = 0; j < t->n_out; j++) {
        if (!s && ir_type_bytes(out[j].type) == ir_type_bytes(cpu_exec_output_type(e, j)))
            memcpy(call->out[j], out[j].data, ir_type_bytes(out[j].type));
        array_free(&out[j]);
    }
    base_free(a);
    return s;
}
const cpu_kernel cpu_program_kernel = {"interpret-program", program_run, NULL};
