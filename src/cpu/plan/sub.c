/* A region as a program of its own, which runs inside a thunk. */
#include "cpu/plan/build_int.h"
#include "pass/pass.h"

xt_status cpu_sub_make(cpu_builder *b, const ir_block *block, size_t n_captured, const ir_value *const *read,
                       uint32_t carried, bool is_tile, cpu_exec **out) {
    const cpu_exec *outer = cpu_build_exec(b);
    cpu_exec *e = *out = base_calloc(1, sizeof *e);
    if (!e) return status_oom(sizeof *e, "a region's program");
    pthread_mutex_init(&e->text_lock, NULL);
    e->opts = outer->opts;
    e->threads = is_tile ? 1 : outer->threads;
    e->is_tile = is_tile || outer->is_tile;
    e->passes = outer->passes;
    XT_TRY(cpu_region_program(block, n_captured, read, &e->module));
    e->main = ir_func_find(e->module, "main");
    for (uint32_t i = 0; i < carried; i++)
        if (!ir_func_set_arg_attr(e->main, i, ir_attr_named_int("tf.aliasing_output", XT_I32, i)))
            return status_oom(0, "a region's program");
    e->name = base_strdup(outer->name);
    e->alias = base_malloc((e->main->body->n_args + 1) * sizeof *e->alias);
    if (!e->name || !e->alias) return status_oom(0, "a region's program");
    for (size_t i = 0; i < e->main->body->n_args; i++) e->alias[i] = -1;
    if (e->passes && e->passes->verify) XT_TRY(status_context(ir_verify(e->module), "a region's program"));
    return b->plan_inside(e);
}
