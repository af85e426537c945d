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

/* A call that comes again in a later step, and what it began then has not ended. */
static void look_at_open(const lazy_ctx *c, src_id at) {
    static atomic_bool told;
    char line[256];
    for (size_t i = c->n_autocasts; i-- > 0;) {
        const lazy_autocast_scope *s = &c->autocasts[i];
        if (s->at != at || s->step >= c->step) continue;
        if (world_get()->rank != 0 || atomic_exchange(&told, true)) return;
        log_msg(
            XT_SEV_WARNING,
            "%s: xt_autocast_begin came here in step %lld too, and no xt_autocast_end has followed: all that comes "
            "behind it, the optimizer's step too, is computed in %s where it should not be; each begin needs an end",
            src_text(at, line, sizeof line), (long long)s->step, xt_dtype_name(c->autocast));
        return;
    }
}

void xt_autocast_begin_at(const xt_src *src, xt_dtype dtype) {
    SRC_CALLED_FROM(src);
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    lazy_autocast_scope scope = {c->autocast, src_intern(src), c->step};
    if (src) look_at_open(c, scope.at);
    if (dtype != XT_BF16 && dtype != XT_F16 && dtype != XT_F32)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_autocast_begin: %s; XT_BF16, XT_F16 or XT_F32 is needed",
                             xt_dtype_name(dtype)));
    else if (!VEC_PUSH(c->autocasts, c->n_autocasts, c->cap_autocasts, scope))
        lazy_fail(status_oom(sizeof scope, "xt_autocast_begin"));
    else
        c->autocast = dtype == XT_F32 ? XT_DTYPE_NONE : dtype;
    c->switched_at.autocast = scope.at;
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
        c->autocast = c->autocasts[--c->n_autocasts].around;
    else
        lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL, "xt_autocast_end without xt_autocast_begin"));
    lazy_flags_anew(c);
}

void lazy_autocasts_end(lazy_ctx *c, size_t keep, src_id *out_at) {
    *out_at = c->n_autocasts > keep ? c->autocasts[keep].at : 0;
    if (!*out_at) return;
    c->autocast = c->autocasts[keep].around;
    c->n_autocasts = keep;
    lazy_flags_anew(c);
}

void lazy_tell_autocast(void) {
    const lazy_ctx *c = lazy_ctx_there();
    char line[256];
    if (!c || !c->n_autocasts || world_get()->rank != 0) return;
    log_msg(
        XT_SEV_WARNING,
        "%s: what xt_autocast_begin began here has not ended by xt_finish: all behind it was computed in that type; "
        "xt_autocast_end() ends it",
        src_text(c->autocasts[0].at, line, sizeof line));
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
