/* What holds for the ops between a begin and an end: gradients off, a narrower type, a module path. */
#include "lazy/core/ctx.h"

void xt_no_grad_begin(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->no_grad++;
    c->used.no_grad = true;
}

void xt_no_grad_end_at(const xt_src *src) {
    SRC_CALLED_FROM(src);
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    if (c->no_grad == 0)
        lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL, "xt_no_grad_end without xt_no_grad_begin"));
    else
        c->no_grad--;
    lazy_flags_anew(c);
}

bool lazy_grad_enabled(void) {
    lazy_ctx *c = lazy_ctx_get();
    return c && c->no_grad == 0;
}

void xt_autocast_begin_at(const xt_src *src, xt_dtype dtype) {
    SRC_CALLED_FROM(src);
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    if (dtype != XT_BF16 && dtype != XT_F16 && dtype != XT_F32)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_autocast_begin: %s; XT_BF16, XT_F16 or XT_F32 is needed",
                             xt_dtype_name(dtype)));
    else if (!VEC_PUSH(c->autocasts, c->n_autocasts, c->cap_autocasts, c->autocast))
        lazy_fail(status_oom(sizeof c->autocast, "xt_autocast_begin"));
    else
        c->autocast = dtype == XT_F32 ? XT_DTYPE_NONE : dtype;
    c->switched_at.autocast = src_intern(src);
    if (!c->autocast) return;
    c->used.autocast = c->autocast;
    c->used.switched_at.autocast = c->switched_at.autocast;
}

void xt_autocast_end_at(const xt_src *src) {
    SRC_CALLED_FROM(src);
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->switched_at.autocast = src_intern(src);
    if (c->n_autocasts)
        c->autocast = c->autocasts[--c->n_autocasts];
    else
        lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL, "xt_autocast_end without xt_autocast_begin"));
    lazy_flags_anew(c);
}

xt_dtype lazy_autocast(void) {
    lazy_ctx *c = lazy_ctx_get();
    return c ? c->autocast : XT_DTYPE_NONE;
}

void lazy_path_push(const char *name) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    uint32_t old = c->path;
    if (!VEC_PUSH(c->path_stack, c->n_path, c->cap_path, old)) return;
    if (!old) {
        c->path = intern(name);
        return;
    }
    char joined[512];
    int n = snprintf(joined, sizeof joined, "%s.%s", intern_text(old), name);
    c->path = intern_n(joined, n < 0 ? 0 : n >= (int)sizeof joined ? sizeof joined - 1 : (size_t)n);
}

void lazy_path_pop(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (c && c->n_path) c->path = c->path_stack[--c->n_path];
}

static void (*scope_fn)(const char *name, bool begins);
void lazy_on_scope(void (*fn)(const char *name, bool begins)) {
    scope_fn = fn;
}

void xt_scope_begin(const char *name) {
    lazy_path_push(name);
    if (scope_fn) scope_fn(name, true);
}

void xt_scope_end(void) {
    if (scope_fn) scope_fn("", false);
    lazy_path_pop();
}
