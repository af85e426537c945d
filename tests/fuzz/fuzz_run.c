/* Fuzz target of the interpreter: what verifies must run, or fail with a status, whatever its attributes are. Programs
 * that may take long by right (loops, large tensors) are left out; inputs are zeros, then small numbers. */
#include "ir/interp.h"
#include "pass/pass.h"
#include "fuzz.h"
#include "small.h"

static void run_function(const ir_module *m, const ir_func *f, int fill) {
    array in[16] = {0}, out[16] = {0};
    if (f->body->n_args > 16 || f->n_results > 16) return;
    xt_status s = NULL;
    for (size_t i = 0; !s && i < f->body->n_args; i++) {
        s = array_new(f->body->args[i]->type, &in[i]);
        for (int64_t k = 0; !s && fill && k < in[i].type->count; k++)
            array_set(&in[i], k, (double)((k * 7 + (int64_t)i) % 5) - 1);
    }
    if (!s) s = interp_run(m, f->name, NULL, f->body->n_args, in, f->n_results, out);
    xt_status_free(s);
    for (int i = 0; i < 16; i++) array_free(&in[i]), array_free(&out[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    ir_module *m = NULL;
    xt_status s = ir_parse((const char *)data, n, "fuzz", &m);
    if (!s) s = ir_verify(m);
    if (!s && pass_is_dynamic(m) && ir_func_find(m, "main") && ir_func_find(m, "main")->body) {
        array in[16];
        const ir_block *b = ir_func_find(m, "main")->body;
        int64_t dims[IR_MAX_RANK];
        for (size_t i = 0; i < b->n_args && i < 16; i++) {
            const ir_type *t = b->args[i]->type;
            for (uint32_t d = 0; t->kind == IR_TENSOR && d < t->rank; d++)
                dims[d] = t->dims[d] == IR_DYNAMIC ? 3 : t->dims[d];
            in[i] = (array){t->kind == IR_TENSOR ? ir_tensor(t->dtype, t->rank, dims) : t, NULL};
            if (!in[i].type) in[i].type = t;
        }
        if (b->n_args <= 16) s = pass_refine(m, "main", b->n_args, in);
        if (!s && ir_verify(m)) abort();
    }
    if (!s) s = pass_expand_chlo(m);
    if (!s && small_module(m))
        for (const ir_func *f = m->funcs; f; f = f->next)
            for (int fill = 0; fill < 2; fill++) run_function(m, f, fill);
    xt_status_free(s);
    ir_module_free(m);
    return 0;
}
