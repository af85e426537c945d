/* Compile and execution reports (XT_DEBUG=compile,exec,read): each with its number, cause, line and, for a compile, why the program was not known.
 * Without XT_DEBUG two things are still said, once each: a value read in the middle of a step, and compiles that go on after the run has warmed up. */
#include "diag/diag.h"

enum { WARM_UP_STEPS = 200, LATE_COMPILES_TOLD = 3 };

static void report_compile(const lazy_event *e) {
    char at[256];
    const char *how = e->source == LAZY_COMPILED ? "compiled" : "from the disk cache";
    log_msg(XT_SEV_INFO, "program: %s in %.1f ms (%.1f ms lowering), %zu ops, %zu inputs, %zu outputs | cause: %s at %s%s%s | why: %s", how, (double)e->compile_ns / 1e6,
            (double)e->lower_ns / 1e6, e->ops, e->inputs, e->outputs, lazy_cause_name(e->cause), src_text(e->src, at, sizeof at), e->path ? " in " : "",
            e->path ? intern_text(e->path) : "", e->reason);
}

static void report_exec(const lazy_event *e) {
    char at[256], key[33];
    hash_hex(e->key, key);
    log_msg(XT_SEV_INFO, "execution %lld: %s%s at %s, program %.8s (%zu ops)%s", (long long)e->number, lazy_cause_name(e->cause), e->forced ? ", forced before its step ended" : "",
            src_text(e->src, at, sizeof at), key, e->ops, e->source == LAZY_FROM_MEMORY ? "" : e->source == LAZY_FROM_DISK ? ", loaded" : ", compiled");
}

static void warn_forced(const lazy_event *e) {
    char at[256], key[300];
    src_text(e->src, at, sizeof at);
    snprintf(key, sizeof key, "forced %s", at);
    log_once(key, XT_SEV_WARNING,
             "%s reads a value before its step has ended: an extra program runs for it and the host waits. xt_when_ready or xt_master_printf(\"... %%t\", t) "
             "give the value when it arrives and cost nothing",
             at);
}

static void warn_late(const lazy_event *e) {
    static int told;
    int64_t steps = counter_get(COUNTER_steps);
    if (steps < WARM_UP_STEPS || told >= LATE_COMPILES_TOLD) return;
    if (!lazy_grad_enabled()) return; /* evaluation after training is a program of its own, and expected */
    told++;
    char at[256];
    log_msg(XT_SEV_WARNING, "a new program was compiled after %lld steps (%.0f ms), at %s: %s", (long long)steps, (double)e->compile_ns / 1e6, src_text(e->src, at, sizeof at),
            e->reason);
}

static void on_event(void *user, const lazy_event *e) {
    (void)user;
    bool made = e->source != LAZY_FROM_MEMORY;
    if (made && env_has_word("XT_DEBUG", "compile")) report_compile(e);
    else if (e->source == LAZY_COMPILED && !e->forced) warn_late(e);
    if (env_has_word("XT_DEBUG", "exec")) report_exec(e);
    if (e->forced && (env_has_word("XT_DEBUG", "read") || env_has_word("XT_DEBUG", "compile") || env_has_word("XT_DEBUG", "exec"))) warn_forced(e);
}

/* Registered when the library is loaded: events need nothing but the lists they go to. */
__attribute__((constructor)) static void start(void) { lazy_on_event(on_event, NULL); }
