/* The pending error of a thread: the first one stays until it is cleared, and says the line, and for memory who holds it. Tensors of a failed op carry it along. */
#include "base/blackbox.h"
#include "lazy/ctx.h"

/* Memory that runs out outside of a program (an upload, a read) gets the same explanation as a failed step: who holds it, and what helps. */
static const char ADVICE[] = "what helps: ";
static void explain_memory(lazy_ctx *c) {
    str text = STR_INIT;
    str_append(&text, status_text(c->error));
    lazy_append_ledger(&text, 8);
    str_printf(&text, "\n%sa smaller batch, gradient accumulation, bf16, xt_drop of tensors kept too long, or a larger XT_MEMORY_LIMIT", ADVICE);
    xt_status more = text.failed ? NULL : status_new(XT_RESOURCE_EXHAUSTED, status_where(c->error), "%s", str_cstr(&text));
    str_free(&text);
    if (!more) return;
    xt_status_free(c->error);
    c->error = more;
}

/* Constructors say who called them; calls that take no line (switches, settings of an optimizer) get the one that made them, from debug information. */
static xt_status with_line(xt_status s) {
    const xt_src *caller = status_where(s) ? NULL : src_called_from ? src_called_from : src_get(src_from_caller());
    return caller && caller->line > 0 ? status_at(s, caller) : s;
}

/* The report is on disk whatever the program does with the error: once, and not for failures before anything ran. */
static void keep_memory_report(const lazy_ctx *c) {
    static bool kept;
    blackbox_report(status_text(c->error));
    if (kept || counter_get(COUNTER_executions) == 0) return;
    kept = true;
    const char *folder = blackbox_dump("out of memory");
    if (folder) log_msg(XT_SEV_WARNING, "out of memory: the report is in %s; `xtrain postmortem %s` shows it with the last events", folder, folder);
}

void lazy_fail(xt_status s) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || c->error) {
        xt_status_free(s);
        return;
    }
    c->error = s = with_line(s);
    if (xt_status_code(s) == XT_RESOURCE_EXHAUSTED && lazy_device_is_open(NULL) && !strstr(status_text(s), ADVICE)) explain_memory(c);
    if (xt_status_code(c->error) == XT_RESOURCE_EXHAUSTED && lazy_device_is_open(NULL)) keep_memory_report(c);
}

xt_status xt_error(void) {
    lazy_ctx *c = lazy_ctx_get();
    return c ? c->error : NULL;
}

void xt_clear_error(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    xt_status_free(c->error);
    c->error = NULL;
}

xt_tensor lazy_error_slot(lazy_ctx *c, src_id src) {
    lazy_slot *s;
    xt_tensor t = lazy_slot_new(c, NULL, src, &s);
    if (s) s->failed = true;
    return t;
}

xt_tensor lazy_error(const xt_src *src, xt_code code, const char *fmt, ...) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return (xt_tensor){0};
    va_list ap;
    va_start(ap, fmt);
    lazy_fail(status_newv(code, src, fmt, ap));
    va_end(ap);
    return lazy_error_slot(c, src_intern(src));
}

xt_tensor lazy_failed_tensor(const xt_src *src) {
    lazy_ctx *c = lazy_ctx_get();
    return c ? lazy_error_slot(c, src_intern(src)) : (xt_tensor){0};
}
