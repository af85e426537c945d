/* The runner: the passes of passes.def in their order, each verified and dumped. */
#include "pass/pass.h"

#include <stdatomic.h>

typedef enum pass_when { ONCE, SETTLE, ON_REQUEST } pass_when; /* passes.def says what they mean */
struct pass_row {
    const char *name; /* "opt_dce" */
    xt_status (*run)(pass_ctx *c, ir_module *m);
    bool (*wanted)(const pass_ctx *c);
    pass_when when;
};

#define PASS(name, when, condition, needs, keeps) \
    static bool wants_##name(const pass_ctx *c) { \
        (void)c;                                  \
        return condition;                         \
    }
#include "pass/passes.def"

static const pass_row rows[] = {
#define PASS(name, when, condition, needs, keeps) {#name, pass_##name, wants_##name, when},
#define AGAIN(name) {#name, pass_##name, wants_##name, ONCE},
#include "pass/passes.def"
};

const pass_row *pass_find(const char *name) {
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

/* --- switches --- */
const char *const pass_switch_names[] = {
#define PASS(name, when, condition, needs, keeps) #name,
#define STAGE(name, phase, checks, condition, needs, keeps) #name,
#define SWITCH(name, needs, keeps) #name,
#include "pass/passes.def"
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
        xt_status s =
            known ? status_new(XT_INVALID_ARGUMENT, NULL, "XT_PASSES: write -%.*s to leave that pass out", (int)n, word)
                  : status_new(XT_INVALID_ARGUMENT, NULL, "XT_PASSES: '%.*s' is no pass; there are %s, and all", (int)n,
                               word, str_cstr(&all));
        str_free(&all);
        return s;
    }
    return NULL;
}

/* --- dumps --- */
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
    if (!p->wanted(c) || !pass_is_on(p->name)) return NULL;
    int64_t begin = clock_ns();
    XT_TRY(status_context(p->run(c, m), "pass %s", p->name));
    if (env_has_word("XT_DEBUG", "passes"))
        log_msg(XT_SEV_INFO, "%s: pass %d %s: %s, %.3f ms", m->name ? m->name : "module", c->stage, p->name,
                c->changed ? "changed" : "no change", (double)(clock_ns() - begin) / 1e6);
    if (c->verify && c->changed) XT_TRY(status_context(ir_verify(m), "after pass %s", p->name));
    if (c->changed) dump(c, p->name, m);
    return NULL;
}

enum { ROUNDS = 6 }; /* each round but the last changed something; programs settle in two or three */

/* Passes [begin, end), until none of them changes anything. */
static xt_status settle(pass_ctx *c, ir_module *m, size_t begin, size_t end) {
    bool again = true;
    for (int round = 0; again && round < ROUNDS; round++) {
        again = false;
        for (size_t i = begin; i < end; i++) {
            XT_TRY(pass_run(c, &rows[i], m));
            again |= c->changed;
        }
    }
    return NULL;
}

xt_status pass_optimize(pass_ctx *c, ir_module *m) {
    XT_TRY(pass_check_switches());
    c->verify |= env_has_word("XT_DEBUG", "passes");
    for (size_t i = 0, next; i < BASE_COUNT(rows); i = next) {
        next = i + 1;
        if (rows[i].when == ONCE) XT_TRY(pass_run(c, &rows[i], m));
        if (rows[i].when != SETTLE) continue;
        while (next < BASE_COUNT(rows) && rows[next].when == SETTLE) next++;
        XT_TRY(settle(c, m, i, next));
    }
    return NULL;
}
