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

/* --- switches --------------------------------------------------------------------------------------------------------------------- */
const char *const pass_switch_names[] = {
    "lower_chlo",
#define PASS(name, needs, keeps) #name,
#define STAGE(name, needs, keeps) #name,
#include "pass/passes.def"
#undef PASS
#undef STAGE
};
const size_t pass_switch_count = BASE_COUNT(pass_switch_names);

/* The next word of XT_PASSES: its sign and name. False at the end. */
static bool next_switch(const char **p, char *out_sign, const char **out_name, size_t *out_n) {
    *p += strspn(*p, ", \t");
    if (!**p) return false;
    *out_sign = **p;
    *out_name = *p + (**p == '-' || **p == '+');
    *out_n = strcspn(*out_name, ", \t");
    *p = *out_name + *out_n;
    return true;
}

static bool names(const char *word, size_t n, const char *name) {
    return strlen(name) == n && memcmp(word, name, n) == 0;
}

bool pass_is_on(const char *name) {
    const char *p = env_get("XT_PASSES"), *word;
    bool on = true;
    char sign;
    size_t n;
    while (p && next_switch(&p, &sign, &word, &n))
        if (names(word, n, name) || names(word, n, "all")) on = sign == '+';
    return on;
}

xt_status pass_check_switches(void) {
    const char *p = env_get("XT_PASSES"), *word;
    char sign;
    size_t n;
    while (p && next_switch(&p, &sign, &word, &n)) {
        bool known = names(word, n, "all");
        for (size_t i = 0; i < pass_switch_count && !known; i++) known = names(word, n, pass_switch_names[i]);
        if (known && (sign == '-' || sign == '+')) continue;
        str all = STR_INIT;
        for (size_t i = 0; i < pass_switch_count; i++) str_printf(&all, "%s%s", i ? ", " : "", pass_switch_names[i]);
        xt_status s = known ? status_new(XT_INVALID_ARGUMENT, NULL, "XT_PASSES: write -%.*s to leave that pass out", (int)n, word)
                            : status_new(XT_INVALID_ARGUMENT, NULL, "XT_PASSES: '%.*s' is no pass; there are %s, and all", (int)n, word, str_cstr(&all));
        str_free(&all);
        return s;
    }
    return NULL;
}

/* --- dumps --------------------------------------------------------------------------------------------------------------------------- */
bool pass_dump_wanted(void) {
    return env_get("XT_DUMP") != NULL;
}

/* A dump that cannot be written is a warning: it must not stop a training run. */
void pass_dump(pass_ctx *c, const char *name, const char *stage, const char *extension, const str *text) {
    static _Atomic(int) programs;
    const char *folder = env_get("XT_DUMP");
    str file = STR_INIT;
    if (!folder) return;
    if (!c->program) c->program = 1 + atomic_fetch_add(&programs, 1);
    str_printf(&file, "%s.%04d.%02d.%s.%s", name ? name : "module", c->program, c->stage, stage, extension);
    xt_status s = file_dump(folder, str_cstr(&file), str_cstr(text), text->len);
    if (s) log_once("XT_DUMP", XT_SEV_WARNING, "XT_DUMP: %s", status_message(s));
    xt_status_free(s);
    str_free(&file);
}

static void dump(pass_ctx *c, const char *stage, const ir_module *m) {
    str text = STR_INIT;
    if (!pass_dump_wanted()) return;
    xt_status_free(ir_print(m, IR_PRINT_LOC_SOURCE, &text));
    pass_dump(c, m->name, stage, "mlir", &text);
    str_free(&text);
}

xt_status pass_run(pass_ctx *c, const pass_row *p, ir_module *m) {
    if (!c->stage) dump(c, "input", m);
    c->changed = false;
    c->stage++;
    if (!pass_is_on(p->name)) return NULL;
    int64_t begin = clock_ns();
    XT_TRY(status_context(p->run(c, m), "pass %s", p->name));
    if (env_has_word("XT_DEBUG", "passes"))
        log_msg(XT_SEV_INFO, "%s: pass %d %s: %s, %.3f ms", m->name ? m->name : "module", c->stage, p->name, c->changed ? "changed" : "no change",
                (double)(clock_ns() - begin) / 1e6);
    if (c->verify && c->changed) XT_TRY(status_context(ir_verify(m), "after pass %s", p->name));
    if (c->changed) dump(c, p->name, m);
    return NULL;
}

enum { ROUNDS = 6 }; /* each round but the last changed something; programs settle in two or three */

xt_status pass_optimize(pass_ctx *c, ir_module *m) {
    static const char *const once[] = {"lower_chlo", "lower_call", "opt_dce", "lower_sdy", "lower_auto", "lower_spmd", "lower_layout", "opt_loops"};
    static const char *const until_settled[] = {"opt_simplify", "opt_fold", "opt_cse", "opt_dce"};
    XT_TRY(pass_check_switches());
    c->verify |= env_has_word("XT_DEBUG", "passes");
    for (size_t i = 0; i < BASE_COUNT(once); i++) XT_TRY(pass_run(c, pass_find(once[i]), m));
    bool again = true;
    for (int round = 0; again && round < ROUNDS; round++) {
        again = false;
        for (size_t i = 0; i < BASE_COUNT(until_settled); i++) {
            XT_TRY(pass_run(c, pass_find(until_settled[i]), m));
            again |= c->changed;
        }
    }
    static const char *const last[] = {"opt_scan", "opt_index", "opt_gather", "opt_onehot", "opt_pads", "opt_layout", "opt_products", "opt_batch_last", "opt_cse", "opt_sink", "opt_recompute", "opt_dce"};
    for (size_t i = 0; i < BASE_COUNT(last); i++) XT_TRY(pass_run(c, pass_find(last[i]), m));
    return NULL;
}
