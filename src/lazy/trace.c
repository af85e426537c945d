/* The trace of the current step: ops are appended to the main function of a module; buffers enter as its arguments at their first use. */
#include <stdlib.h>

#include "base/blackbox.h"
#include "lazy/mesh.h"
#include "lazy/step.h"

static __thread bool check_nan;

void lazy_check_nan(bool on) {
    check_nan = on;
}

xt_status lazy_new_trace(lazy_ctx *c) {
    ir_module *m = c->b.m ? ir_module_reset(c->b.m) : ir_module_new(); /* a thread that has a trace will have one, memory or not */
    c->b.m = NULL;
    ir_func *f = m ? ir_func_new(m, "main", true) : NULL;
    if (!f) {
        ir_module_free(m);
        return status_oom(sizeof(ir_module), "the trace of a step");
    }
    m->name = "step";
    c->func = f;
    c->b = ir_at_end(m, ir_func_block(f));
    c->n_recorded = 0;
    bool debug = getenv("XT_DEBUG") != NULL;
    c->nan = check_nan || (debug && lazy_debug_word("nan"));
    c->eager = debug && lazy_debug_word("eager");
    c->used = (lazy_flags){c->no_grad > 0, false, c->autocast, c->mode, c->freezes, c->turned};
    c->step_began_ns = lazy_take_now(c);
    return NULL;
}

int64_t lazy_take_now(lazy_ctx *c) {
    int64_t now = c->now_ns;
    c->now_ns = 0;
    return now ? now : clock_ns();
}

int64_t lazy_step_began(void) {
    lazy_ctx *c = lazy_ctx_get();
    return c ? c->step_began_ns : clock_ns();
}

void lazy_clear_trace(lazy_ctx *c) {
    for (size_t i = 0; i < c->n_leaves; i++) lazy_buf_release(c->leaves[i].buf);
    c->n_leaves = 0;
    for (size_t i = 0; i < c->n_packs; i++) {
        c->packs[i].leaf = NULL;
        c->packs[i].n = 0;
    }
    xt_status_free(c->b.status);
    c->b.status = NULL;
    c->func = NULL;
    c->settled = NULL;
    c->n_regions = c->n_pasts = 0;
    c->grads_recorded = c->swept = false;
    if (c->ended[0]) lazy_ended_trace_gone(c);
    if (c->computed) lazy_eager_forget(c);
    if (c->book) lazy_options_step_ended(c);
    c->draws = 0;
    c->n_askers = 0;
    c->operand_failed = false;
}

void lazy_drop_trace(lazy_ctx *c) {
    lazy_clear_trace(c);
    ir_module_free(c->b.m);
    memset(&c->b, 0, sizeof c->b);
}

/* --- errors ------------------------------------------------------------------------------------------------------------------------------ */
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

static xt_tensor error_slot(lazy_ctx *c, src_id src) {
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
    return error_slot(c, src_intern(src));
}

xt_tensor lazy_failed_tensor(const xt_src *src) {
    lazy_ctx *c = lazy_ctx_get();
    return c ? error_slot(c, src_intern(src)) : (xt_tensor){0};
}

/* --- recording ----------------------------------------------------------------------------------------------------------------------------- */
static _Atomic src_id recorded_last;
src_id lazy_recording_at(void) { return atomic_load_explicit(&recorded_last, memory_order_relaxed); }

ir_builder *lazy_begin(const xt_src *src) {
    static __thread ir_builder nowhere; /* only without memory for a context: every builder call on it fails */
    lazy_ctx *c = lazy_ctx_get();
    if (!c) {
        memset(&nowhere, 0, sizeof nowhere);
        nowhere.status = status_oom(sizeof(lazy_ctx), "the front end's context");
        return &nowhere;
    }
    c->b.src = src_intern(src);
    atomic_store_explicit(&recorded_last, c->b.src, memory_order_relaxed);
    c->b.path = c->path;
    c->operand_failed = false;
    return &c->b;
}

bool lazy_v_needs_grad(const ir_value *v) { return (v->user & LAZY_V_GRAD) != 0; }

static const uint64_t NO_GRAD_MARK = (uint64_t)1 << 32;

void lazy_no_grad_value(ir_value *v) {
    if (v) v->user = NO_GRAD_MARK;
}

bool lazy_v_no_grad(const ir_value *v) { return (v->user & NO_GRAD_MARK) != 0; }

bool lazy_op_reads(const ir_op *op, uint64_t bit) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->user & bit) return true;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            if (lazy_op_reads(in, bit)) return true;
    return false;
}

/* Needs-gradient flows from operands to results. Composite ops record several ops between lazy_begin and lazy_wrap, so the flags of what was
 * recorded since the last call are settled here, in order. Copies that a backward pass made come with theirs. */
void lazy_settle(lazy_ctx *c) {
    for (ir_op *op = c->settled ? c->settled->next : c->b.block->first; op; op = op->next) {
        c->settled = op;
        if (op->user) continue;
        op->user = c->no_grad ? LAZY_OP_NO_GRAD : LAZY_OP_SETTLED;
        if (c->no_grad || !lazy_op_reads(op, LAZY_V_GRAD)) continue;
        c->grads_recorded = true;
        for (uint32_t i = 0; i < op->n_out; i++)
            if (!lazy_v_no_grad(&op->out[i]) && grad_differentiable(op->out[i].type)) op->out[i].user |= LAZY_V_GRAD;
    }
}

ir_value *lazy_new_leaf(lazy_ctx *c, const ir_type *type, lazy_leaf leaf) {
    ir_value *v = ir_func_arg(c->func, type);
    if (!v || !VEC_PUSH(c->leaves, c->n_leaves, c->cap_leaves, leaf)) {
        lazy_fail(status_oom(sizeof(lazy_leaf), "an argument of the step"));
        lazy_buf_release(leaf.buf);
        return NULL;
    }
    return v;
}

static xt_status upload_host(lazy_ctx *c, lazy_slot *s) {
    device_client *client;
    XT_TRY(lazy_device(&client));
    size_t n = ir_type_bytes(s->type);
    void *own = NULL; /* this rank's part */
    const void *data = s->host;
    const ir_type *local = lazy_layout_local(s->layout, s->type);
    if (s->layout && local) n = ir_type_bytes(local);
    if (data && s->layout && !s->host_part) {
        own = base_malloc(n ? n : 1);
        if (own) lazy_layout_slice(s->layout, s->type, data, own);
        data = own;
    } else if (!data)
        data = base_zeros(n ? n : 1);
    if (!data) return status_oom(n, "the first value of a state");
    device_buffer *dev;
    xt_status st = local ? device_upload(client, s->type->dtype, local->rank, local->dims, data, &dev) : status_oom(n, "a type");
    base_free(own);
    if (st) return status_at(status_context(st, "uploading %s", intern_text(s->name)), src_get(s->src));
    s->buf = lazy_buf_new(dev, s->src, s->path, s->role, s->type, c->step);
    if (s->buf) s->buf->layout = s->layout;
    if (!s->buf) return status_oom(sizeof(lazy_buf), "a buffer");
    s->has_host = false;
    return NULL;
}

xt_status lazy_upload_state(lazy_ctx *c, lazy_slot *s) {
    XT_TRY(upload_host(c, s));
    base_free(s->host);
    s->host = NULL;
    return NULL;
}

xt_status lazy_state_upload(xt_tensor state, void **out_memory) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    *out_memory = NULL;
    if (!s || s->buf || !s->has_host) return NULL;
    XT_TRY(upload_host(c, s));
    *out_memory = s->host;
    s->host = NULL;
    return NULL;
}

ir_value *lazy_leaf_of(lazy_ctx *c, uint32_t index) {
    lazy_slot *s = &c->slots[index];
    if (s->leaf) return s->leaf;
    if (!s->buf && (s->is_state || s->has_host)) {
        xt_status st = lazy_upload_state(c, s);
        if (st) {
            lazy_fail(st);
            return NULL;
        }
    }
    if (!s->buf) return NULL;
    lazy_buf_retain(s->buf);
    s->leaf = lazy_new_leaf(c, s->type, (lazy_leaf){.buf = s->buf, .pack = -1, .slot = index, .generation = s->generation, .layout = s->layout});
    if (s->leaf && s->requires_grad) s->leaf->user |= LAZY_V_GRAD;
    return s->leaf;
}

ir_value *lazy_value(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return NULL;
    lazy_slot *s = lazy_slot_of(c, t);
    ir_value *v = NULL;
    if (!s) lazy_dead_error(c, t, src_get(c->b.src), "use of a tensor");
    else if (s->failed) {
        char at[256];
        if (!c->error) /* the first error was cleared, but its tensors live on */
            lazy_fail(status_new(XT_FAILED_PRECONDITION, src_get(c->b.src), "this tensor is the result of an op that failed at %s", src_text(s->src, at, sizeof at)));
    } else
        v = s->value ? s->value : lazy_leaf_of(c, t.slot);
    if (!v) c->operand_failed = true;
    return v;
}

enum { MANY_OPS = 200000 };

/* A loop without a step boundary records for ever and runs nothing. */
static void tell_many(src_id src) {
    char at[256];
    log_msg(XT_SEV_WARNING, "%d ops are recorded since the last step boundary, the last at %s, and nothing has run: the graph grows until xt_mark_step (or xt_next, xt_wait) ends the step [XT209]", (int)MANY_OPS,
            src_text(src, at, sizeof at));
}

xt_tensor lazy_wrap(ir_value *v, const char *what) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return (xt_tensor){0};
    src_id src = c->b.src;
    lazy_settle(c);
    if (c->b.status) {
        xt_status s = c->b.status;
        c->b.status = NULL;
        if (c->operand_failed) xt_status_free(s); /* a consequence: the operand's own error is already pending */
        else lazy_fail(status_at(status_context(s, "%s", what), src_get(src)));
        v = NULL;
    }
    if (!v) {
        if (!c->operand_failed && !c->error) lazy_fail(status_new(XT_INTERNAL, src_get(src), "%s recorded nothing", what));
        return error_slot(c, src);
    }
    if (++c->n_recorded == MANY_OPS) tell_many(src);
    lazy_slot *s;
    xt_tensor t = lazy_slot_new(c, v->type, src, &s);
    if (s) {
        s->value = v;
        s->requires_grad = lazy_v_needs_grad(v);
    }
    if (c->eager && !c->loop) lazy_run_eagerly(c, t, src_get(src));
    return t;
}

/* --- making -------------------------------------------------------------------------------------------------------------------------------- */
static const ir_type *checked_type(const xt_src *src, const char *what, xt_dtype dtype, int rank, const int64_t *dims) {
    const ir_type *type = NULL;
    if (rank >= 0 && rank <= XT_MAX_RANK && xt_dtype_size(dtype) && dtype != XT_TOKEN) type = ir_tensor(dtype, (size_t)rank, dims);
    if (!type || type->count < 0)
        lazy_error(src, XT_INVALID_ARGUMENT, "%s: dtype %s with rank %d is no tensor: a known dtype, at most %d dims, none negative, and a size that fits memory are needed",
                   what, xt_dtype_name(dtype), rank, XT_MAX_RANK);
    return type && type->count >= 0 ? type : NULL;
}

xt_tensor xt_from_data_at(const xt_src *src, const void *data, xt_dtype dtype, int rank, const int64_t *dims) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return (xt_tensor){0};
    const ir_type *type = checked_type(src, "xt_from_data", dtype, rank, dims);
    if (!type) return error_slot(c, src_intern(src));
    if (!data && type->count > 0) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_from_data: data is NULL");
    device_client *client;
    device_buffer *dev = NULL;
    c->b.src = src_intern(src); /* the device may be opened here, and is then said to be open since this line */
    xt_status s = lazy_device(&client);
    if (!s) s = device_upload(client, dtype, (size_t)rank, dims, data, &dev);
    if (s) {
        lazy_fail(status_at(s, src));
        return error_slot(c, src_intern(src));
    }
    return lazy_from_buffer(src, LAZY_VALUE, dev);
}

xt_tensor xt_from_array_at(const xt_src *src, const void *data, xt_dtype dtype, const int64_t *dims) {
    int rank = 0;
    while (rank < XT_MAX_RANK && dims[rank] != 0) rank++;
    return xt_from_data_at(src, data, dtype, rank, dims);
}

static xt_tensor from_buffer(const xt_src *src, lazy_role role, const ir_type *type, const lazy_layout *layout, device_buffer *dev) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) {
        device_buffer_release(dev);
        return (xt_tensor){0};
    }
    lazy_slot *s;
    xt_tensor t = lazy_slot_new(c, type, src_intern(src), &s);
    if (!s || !type) {
        device_buffer_release(dev);
        return t;
    }
    s->role = role;
    s->layout = layout;
    s->buf = lazy_buf_new(dev, s->src, s->path, role, type, c->step);
    if (s->buf) s->buf->layout = layout;
    if (!s->buf) {
        s->failed = true;
        lazy_fail(status_oom(sizeof(lazy_buf), "a buffer"));
    }
    return t;
}

xt_tensor lazy_from_buffer(const xt_src *src, lazy_role role, device_buffer *dev) {
    return from_buffer(src, role, ir_tensor(device_buffer_dtype(dev), device_buffer_rank(dev), device_buffer_dims(dev)), NULL, dev);
}

xt_tensor lazy_from_batch(const xt_src *src, device_buffer *dev) {
    int64_t dims[XT_MAX_RANK];
    size_t rank = device_buffer_rank(dev);
    if (!lazy_spmd() || rank == 0) return lazy_from_buffer(src, LAZY_BATCH, dev);
    memcpy(dims, device_buffer_dims(dev), rank * sizeof *dims);
    const lazy_layout *layout = NULL;
    int64_t index, count;
    lazy_batch_part(&index, &count);
    dims[0] *= count;
    const ir_type *type = ir_tensor(device_buffer_dtype(dev), rank, dims);
    xt_status s = type ? lazy_batch_layout(type, &layout) : status_oom(rank, "a batch");
    if (s) lazy_fail(status_at(s, src));
    return from_buffer(src, LAZY_BATCH, type, layout, dev);
}

/* --- states ---------------------------------------------------------------------------------------------------------------------------------- */
xt_tensor lazy_state_take(const xt_src *src, lazy_role role, const char *name, xt_dtype dtype, int rank, const int64_t *dims, void *data) {
    lazy_ctx *c = lazy_ctx_get();
    const ir_type *type = c ? checked_type(src, name, dtype, rank, dims) : NULL;
    lazy_slot *s = NULL;
    xt_tensor t = type ? lazy_slot_new(c, type, src_intern(src), &s) : c ? error_slot(c, src_intern(src)) : (xt_tensor){0};
    if (!s) {
        base_free(data);
        return t;
    }
    s->role = role;
    s->name = s->path = intern(name);
    s->is_state = s->has_host = true;
    s->host = data;
    lazy_slot_persist(c, t);
    return t;
}

void *lazy_state_room(const xt_src *src, const ir_type *type, device_buffer **out) {
    enum { LARGE = 1 << 20 }; /* smaller ones are not worth a call */
    lazy_ctx *c = lazy_ctx_get();
    device_client *client;
    void *memory = NULL;
    *out = NULL;
    if (!c || ir_type_bytes(type) < LARGE || lazy_spmd() || lazy_rehearsing() || rehearsal_on()) return NULL;
    c->b.src = src_intern(src); /* the device may be opened here */
    xt_status s = lazy_device(&client);
    if (!s) s = device_blank(client, type->dtype, type->rank, type->dims, out, &memory);
    xt_status_free(s); /* it is met again, and told, where the value is uploaded */
    return memory;
}

xt_tensor lazy_state_place(const xt_src *src, lazy_role role, const char *name, const ir_type *type, device_buffer *dev) {
    lazy_ctx *c = lazy_ctx_get();
    xt_tensor t = lazy_state_take(src, role, name, type->dtype, (int)type->rank, type->dims, NULL);
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    if (!s || s->failed) {
        device_buffer_release(dev);
        return t;
    }
    s->buf = lazy_buf_new(dev, s->src, s->path, role, type, c->step);
    s->has_host = !s->buf;
    if (!s->buf) lazy_fail(status_oom(sizeof *s->buf, name));
    return t;
}

bool lazy_state_swap(xt_tensor a, xt_tensor b) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *x = c ? lazy_slot_of(c, a) : NULL, *y = c ? lazy_slot_of(c, b) : NULL;
    if (!x || !y || !x->is_state || !y->is_state || x->type != y->type || x->layout != y->layout || x->value || y->value || x->leaf || y->leaf) return false;
    lazy_slot old = *x;
    x->buf = y->buf, y->buf = old.buf;
    x->host = y->host, y->host = old.host;
    x->has_host = y->has_host, y->has_host = old.has_host;
    x->host_part = y->host_part, y->host_part = old.host_part;
    return true;
}

xt_tensor lazy_state_new(const xt_src *src, lazy_role role, const char *name, xt_dtype dtype, int rank, const int64_t *dims, const void *data) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return (xt_tensor){0};
    const ir_type *type = checked_type(src, name, dtype, rank, dims);
    if (!type) return error_slot(c, src_intern(src));
    size_t n = ir_type_bytes(type);
    void *host = NULL;
    if (data && !(host = base_malloc(n ? n : 1))) {
        lazy_fail(status_at(status_oom(n, name), src));
        return error_slot(c, src_intern(src));
    }
    if (host) memcpy(host, data, n);
    return lazy_state_take(src, role, name, dtype, rank, dims, host);
}

void lazy_assign(xt_tensor state, xt_tensor value) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    lazy_slot *s = lazy_slot_of(c, state);
    if (!s) {
        lazy_dead_error(c, state, src_get(c->b.src), "assigning a state");
        return;
    }
    if (c->loop) {
        char what[256];
        snprintf(what, sizeof what, "giving %s a new value", s->name ? intern_text(s->name) : "a state");
        if (lazy_in_loop(c, src_get(c->b.src), what)) return;
    }
    ir_value *v = lazy_value(value);
    s = lazy_slot_of(c, state); /* lazy_value may have moved the slots */
    if (!v || s->failed) return;
    if (v->type != s->type) {
        str text = STR_INIT;
        str_printf(&text, "assigning %s of type ", intern_text(s->name));
        ir_type_print(s->type, &text);
        str_append(&text, " a value of type ");
        ir_type_print(v->type, &text);
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src_get(c->b.src), "%s: the types must be the same", str_cstr(&text)));
        str_free(&text);
        return;
    }
    lazy_slot_value past = {state.slot, state.generation, s->value ? s->value : s->leaf};
    if (s->grad_leaf && past.value && !VEC_PUSH(c->pasts, c->n_pasts, c->cap_pasts, past)) lazy_fail(status_oom(sizeof past, "assigning a state"));
    s->value = v;
    s->changed = c->b.src;
    s->own = true;
    lazy_buf_release(s->read_buf); /* of the value before */
    s->read_buf = NULL;
    if (s->requires_grad) v->user |= LAZY_V_GRAD;
}

/* --- gradient switches, paths ------------------------------------------------------------------------------------------------------------------ */
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
    if (c->no_grad == 0) lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL, "xt_no_grad_end without xt_no_grad_begin"));
    else c->no_grad--;
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
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_autocast_begin: %s; XT_BF16, XT_F16 or XT_F32 is needed", xt_dtype_name(dtype)));
    else if (!VEC_PUSH(c->autocasts, c->n_autocasts, c->cap_autocasts, c->autocast))
        lazy_fail(status_oom(sizeof c->autocast, "xt_autocast_begin"));
    else
        c->autocast = dtype == XT_F32 ? XT_DTYPE_NONE : dtype;
    c->turned.autocast = src_intern(src);
    if (!c->autocast) return;
    c->used.autocast = c->autocast;
    c->used.turned.autocast = c->turned.autocast;
}

void xt_autocast_end_at(const xt_src *src) {
    SRC_CALLED_FROM(src);
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->turned.autocast = src_intern(src);
    if (c->n_autocasts) c->autocast = c->autocasts[--c->n_autocasts];
    else lazy_fail(status_new(XT_FAILED_PRECONDITION, NULL, "xt_autocast_end without xt_autocast_begin"));
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
void lazy_on_scope(void (*fn)(const char *name, bool begins)) { scope_fn = fn; }

void xt_scope_begin(const char *name) {
    lazy_path_push(name);
    if (scope_fn) scope_fn(name, true);
}

void xt_scope_end(void) {
    if (scope_fn) scope_fn("", false);
    lazy_path_pop();
}
int64_t lazy_step(void) {
    lazy_ctx *c = lazy_ctx_get();
    return c ? c->step : 0;
}
