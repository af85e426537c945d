/* The runner: one pass at a time, verified and dumped; and the standard order. */
#include "pass/pass.h"

#include <stdatomic.h>

/* chlo ops, custom calls, some of which mean one, and products of two element types. */
static bool block_has_chlo(const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        if (op->code == OP_dot_general && op->in[0]->type->dtype != op->in[1]->type->dtype) return true;
        if (op->code == OP_custom_call || strcmp(ir_op_infos[op->code].dialect, "chlo") == 0) return true;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (block_has_chlo(op->regions[r].block)) return true;
    }
    return false;
}

static xt_status lower_chlo(pass_ctx *c, ir_module *m) {
    for (const ir_func *f = m->funcs; f && !c->changed; f = f->next) c->changed = block_has_chlo(f->body);
    return c->changed ? pass_lower_chlo(m) : NULL;
}

const pass_row pass_rows[] = {
    {"lower_chlo", lower_chlo, "nothing; ops of dynamic shapes stay", "types, source ids, module paths"},
#define PASS(name, needs, keeps) {#name, pass_##name, needs, keeps},
#include "pass/passes.def"
#undef PASS
};
const size_t pass_row_count = BASE_COUNT(pass_rows);

const pass_row *pass_find(const char *name) {
    for (size_t i = 0; i < pass_row_count; i++)
        if (strcmp(pass_rows[i].name, name) == 0) return &pass_rows[i];
    return NULL;
}

/* A dump that cannot be written is a warning: it must not stop a training run. */
static void dump(pass_ctx *c, const char *stage, const ir_module *m) {
    static _Atomic(int) programs;
    const char *folder = env_get("XT_DUMP");
    str text = STR_INIT, path = STR_INIT;
    if (!folder) return;
    if (!c->program) c->program = 1 + atomic_fetch_add(&programs, 1);
    str_printf(&path, "%s/%s.%04d.%02d.%s.mlir", folder, m->name ? m->name : "module", c->program, c->stage, stage);
    xt_status s = file_make_dirs(folder, 0777);
    if (!s) s = ir_print(m, IR_PRINT_LOC_SOURCE, &text);
    if (!s) s = file_write_all(str_cstr(&path), str_cstr(&text), text.len);
    if (s) log_once("XT_DUMP", XT_SEV_WARNING, "XT_DUMP: %s", xt_status_message(s));
    xt_status_free(s);
    str_free(&text);
    str_free(&path);
}

xt_status pass_run(pass_ctx *c, const pass_row *p, ir_module *m) {
    if (!c->stage) dump(c, "input", m);
    c->changed = false;
    c->stage++;
    XT_TRY(status_context(p->run(c, m), "pass %s", p->name));
    if (c->verify && c->changed) XT_TRY(status_context(ir_verify(m), "after pass %s", p->name));
    if (c->changed) dump(c, p->name, m);
    return NULL;
}

enum { ROUNDS = 6 }; /* each round but the last changed something; programs settle in two or three */

xt_status pass_optimize(pass_ctx *c, ir_module *m) {
    static const char *const once[] = {"lower_chlo", "lower_call", "opt_dce", "lower_spmd"};
    static const char *const until_settled[] = {"opt_simplify", "opt_fold", "opt_cse", "opt_dce"};
    for (size_t i = 0; i < BASE_COUNT(once); i++) XT_TRY(pass_run(c, pass_find(once[i]), m));
    bool again = true;
    for (int round = 0; again && round < ROUNDS; round++) {
        again = false;
        for (size_t i = 0; i < BASE_COUNT(until_settled); i++) {
            XT_TRY(pass_run(c, pass_find(until_settled[i]), m));
            again |= c->changed;
        }
    }
    return NULL;
}
