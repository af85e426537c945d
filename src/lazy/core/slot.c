/* Slots: what handles name. Freed slots go to the end of a queue, so a slot is reused late and a dead handle can still
 * be explained. */
#include <stdarg.h>

#include "lazy/core/ctx.h"
#include "lazy/core/labels.h"
#include "lazy/core/layout.h"

enum { MIN_FREE = 512 }; /* slots that rest before one is used again */

static uint32_t take_slot(lazy_ctx *c) {
    if (c->n_free > MIN_FREE) {
        uint32_t i = c->free_head;
        c->free_head = c->slots[i].next_free;
        c->n_free--;
        return i;
    }
    lazy_slot empty = {0};
    if (c->n_slots >= UINT32_MAX || !VEC_PUSH(c->slots, c->n_slots, c->cap_slots, empty)) return 0;
    return (uint32_t)c->n_slots - 1;
}

xt_tensor lazy_slot_new(lazy_ctx *c, const ir_type *type, src_id src, lazy_slot **out) {
    *out = NULL;
    uint32_t i = take_slot(c);
    if (!i || !VEC_PUSH(c->step_slots, c->n_step_slots, c->cap_step_slots, i)) {
        lazy_fail(status_oom(sizeof(lazy_slot), "a tensor handle"));
        return (xt_tensor){0};
    }
    lazy_slot *s = &c->slots[i];
    uint32_t before = s->generation ? s->generation : c->first_generation;
    lazy_slot fresh = {
        .generation = before + 1, .live = true, .type = type, .src = src, .path = c->path, .step = c->step};
    memcpy(fresh.past, s->past, sizeof fresh.past);
    if (fresh.generation == 0) fresh.generation = 1;
    *s = fresh;
    live_add(LIVE_tensor, 1);
    *out = s;
    return (xt_tensor){i, s->generation};
}

void lazy_slot_persist(lazy_ctx *c, xt_tensor t) {
    lazy_slot *s = lazy_slot_of(c, t);
    if (!s || s->persistent) return;
    if (!VEC_PUSH(c->persistent, c->n_persistent, c->cap_persistent, t.slot)) {
        lazy_fail(status_oom(sizeof(uint32_t), "a kept tensor"));
        return;
    }
    s->persistent = true;
    s->older = false;
}

void lazy_host_drop(lazy_slot *s) {
    base_free(s->host);
    s->host = NULL;
    s->has_host = false;
    if (s->from) s->from->free(s->from->user);
    base_free(s->from);
    s->from = NULL;
}

call_path lazy_way_here(const lazy_ctx *c) {
    const lazy_told_call *t = c->told;
    return t && t->at.file ? call_path_now(t->returns_to, src_intern(&t->at), t->what) : 0;
}

void lazy_slot_free(lazy_ctx *c, uint32_t i, src_id died) {
    lazy_slot *s = &c->slots[i];
    if (!s->live) return;
    lazy_buf_release(s->buf);
    lazy_buf_release(s->read_buf);
    lazy_host_drop(s);
    lazy_whole_release(s->whole);
    lazy_extremes_release(s->extremes);
    s->extremes = NULL;
    s->buf = s->read_buf = NULL;
    s->whole = NULL;
    s->value = s->leaf = NULL;
    s->live = false;
    s->past[1] = s->past[0];
    s->past[0].generation = s->generation;
    s->past[0].made = s->src;
    s->past[0].died = died;
    s->past[0].died_step = c->step;
    live_add(LIVE_tensor, -1);
    xt_tensor grad = s->grad;
    s->grad = (xt_tensor){0};
    if (s->persistent) {
        for (size_t k = 0; k < c->n_persistent; k++)
            if (c->persistent[k] == i) {
                memmove(&c->persistent[k], &c->persistent[k + 1], (c->n_persistent - k - 1) * sizeof *c->persistent);
                c->n_persistent--;
                break;
            }
        s->persistent = false;
    }
    s->next_free = 0;
    if (c->n_free)
        c->slots[c->free_tail].next_free = i;
    else
        c->free_head = i;
    c->free_tail = i;
    c->n_free++;
    if (lazy_slot_of(c, grad) && c->slots[grad.slot].kept)
        c->slots[grad.slot].role = LAZY_ACTIVATION; /* the program's own from here on */
    else if (lazy_slot_of(c, grad))
        lazy_slot_free(c, grad.slot, died);
}

uint32_t lazy_call_number(lazy_ctx *c, src_id line) {
    if (line >= c->n_calls) {
        size_t n = line + 64;
        lazy_calls *more = base_realloc(c->calls, n * sizeof *more);
        if (!more) return 0; /* nothing but a report depends on it */
        memset(more + c->n_calls, 0, (n - c->n_calls) * sizeof *more);
        c->calls = more;
        c->n_calls = n;
    }
    lazy_calls *l = &c->calls[line];
    if (l->since != c->counts_since) *l = (lazy_calls){.since = c->counts_since};
    return l->n++;
}

size_t lazy_tensors_made(void) {
    const lazy_ctx *c = lazy_ctx_get();
    return c ? c->n_step_slots : 0;
}

void lazy_tensors_drop(size_t made) {
    lazy_ctx *c = lazy_ctx_get();
    size_t n = made;
    for (size_t i = made; c && i < c->n_step_slots; i++) {
        uint32_t index = c->step_slots[i];
        if (c->slots[index].persistent)
            c->step_slots[n++] = index;
        else
            lazy_slot_free(c, index, c->b.src);
    }
    if (c && n < c->n_step_slots) c->n_step_slots = n;
}

/* A tensor that is none bears no mark of where it comes from: of one of the newest questions that had no answer, each
 * told once, the newest first. */
enum { NONES = 4 };
static _Thread_local char nones[NONES][300];

xt_tensor lazy_none(const char *fmt, ...) {
    char text[sizeof nones[0]];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    int old = 0;
    while (old < NONES - 1 && strcmp(nones[old], text) != 0) old++;
    memmove(nones[1], nones[0], (size_t)old * sizeof nones[0]);
    memcpy(nones[0], text, sizeof text);
    return (xt_tensor){0};
}

static void none_error(const xt_src *src, const char *what) {
    str text = STR_INIT;
    for (int i = 0; i < NONES && nones[i][0]; i++)
        str_printf(&text, "%s%s",
                   i == 0   ? "; the newest that gave none: "
                   : i == 1 ? "; before that: "
                            : "; ",
                   nones[i]);
    lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                         "%s: the tensor is none ({0}): it was never made, or the call that should have made it "
                         "failed%s",
                         what, str_cstr(&text)));
    str_free(&text);
}

void lazy_dead_error(lazy_ctx *c, xt_tensor t, const xt_src *src, const char *what) {
    char made[256], died[256];
    if (t.slot == 0) {
        none_error(src, what);
        return;
    }
    if (lazy_was_finished(t)) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "%s: this tensor is dead: it was made before xt_finish, which gave back all that was "
                             "there, kept or not; make it again behind that",
                             what));
        return;
    }
    for (int k = 0; t.slot < c->n_slots && k < 2; k++) {
        if (c->slots[t.slot].past[k].generation != t.generation) continue;
        int64_t step = c->slots[t.slot].past[k].died_step;
        src_text(c->slots[t.slot].past[k].made, made, sizeof made);
        src_text(c->slots[t.slot].past[k].died, died, sizeof died);
        if (step == LAZY_DIED_IN_LOOP)
            lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                                 "%s: this tensor is dead: made at %s inside a function that was recorded once "
                                 "(xt_scan, xt_while, xt_cond, xt_vmap), it belonged to one step of the loop or branch "
                                 "at %s; give it out as carry or output",
                                 what, made, died));
        else if (step < 0)
            lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                                 "%s: this tensor is dead: made at %s, it died at %s, where xt_drop took back its "
                                 "xt_keep; drop it after its last "
                                 "use, or call xt_keep on it again before",
                                 what, made, died));
        else
            lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                                 "%s: this tensor is dead: made at %s, it died at %s when step %lld ended; call "
                                 "xt_keep on it to use it in later steps",
                                 what, made, died, (long long)step));
        return;
    }
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                         "%s: this tensor is dead (its step ended long ago), or belongs to another thread; call "
                         "xt_keep on it to use it in later steps",
                         what));
}
