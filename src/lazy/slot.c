/* Slots: what handles name. Freed slots go to the end of a queue, so a slot is reused late and a dead handle can still
 * be explained. */
#include "base/tally.h"
#include "lazy/labels.h"
#include "lazy/layout.h"
#include "lazy/step.h"

#include <assert.h>
#include <stdlib.h>

static pthread_key_t ctx_key;
static pthread_once_t ctx_once = PTHREAD_ONCE_INIT;
static __thread lazy_ctx *this_ctx;
static atomic_int n_ctx;

lazy_ctx *lazy_ctx_there(void) {
    return this_ctx;
}
int lazy_ctx_count(void) {
    return atomic_load(&n_ctx);
}

enum { MIN_FREE = 512 }; /* slots that rest before one is used again */

static atomic_bool error_died;
bool lazy_error_died(void) {
    return atomic_load(&error_died);
}

/* A thread's end is the end of its last step: nobody can look at its error any more. */
static void note_unseen(const lazy_ctx *c) {
    if (this_ctx == c && lazy_error_ends()) atomic_store(&error_died, true);
}

static void ctx_free(void *p) {
    lazy_ctx *c = p;
    if (!c) return;
    note_unseen(c);
    for (uint32_t i = 1; i < c->n_slots; i++)
        if (c->slots[i].live) lazy_slot_free(c, i, 0);
    lazy_drop_trace(c);
    for (size_t i = c->n_guests; i-- > 0;)
        if (c->guests[i]->freed) c->guests[i]->freed(c);
    for (size_t i = 0; i < c->n_packs; i++) lazy_buf_release(c->packs[i].buf);
    for (size_t i = 0; i < c->n_requests; i++)
        if (c->requests[i].failed) c->requests[i].failed(c->requests[i].user);
    for (xt_step *f = c->steps; f; f = f->next) f->ctx = NULL;
    xt_status_free(c->error);
    base_free(c->slots);
    base_free(c->step_slots);
    base_free(c->persistent);
    base_free(c->leaves);
    base_free(c->packs);
    base_free(c->requests);
    base_free(c->askers);
    base_free(c->path_stack);
    base_free(c->autocasts);
    base_free(c->regions);
    base_free(c->pasts);
    base_free(c->done_fns);
    base_free(c->done_users);
    for (size_t i = 0; i < c->n_phases; i++) c->phases[i].done(c->phases[i].user);
    base_free(c->phases);
    base_free(c);
    atomic_fetch_sub(&n_ctx, 1);
    if (this_ctx == c) this_ctx = NULL;
}

void lazy_attend(lazy_ctx *c, const lazy_guest *g) {
    for (size_t i = 0; i < c->n_guests; i++)
        if (c->guests[i] == g) return;
    assert(c->n_guests < LAZY_GUESTS);
    c->guests[c->n_guests++] = g;
}

static void make_key(void) {
    pthread_key_create(&ctx_key, ctx_free);
}

static xt_status (*refuses)(void);
void lazy_refuse_when(xt_status (*check)(void)) {
    refuses = check;
}

lazy_ctx *lazy_ctx_get(void) {
    if (this_ctx) return this_ctx;
    pthread_once(&ctx_once, make_key);
    lazy_ctx *c = base_calloc(1, sizeof *c);
    if (!c) return NULL;
    lazy_slot none = {0};
    if (!VEC_PUSH(c->slots, c->n_slots, c->cap_slots, none)) { /* slot 0 is "none" */
        base_free(c);
        return NULL;
    }
    xt_status s = lazy_new_trace(c);
    if (s) {
        xt_status_free(s);
        base_free(c->slots);
        base_free(c);
        return NULL;
    }
    this_ctx = c;
    atomic_fetch_add(&n_ctx, 1);
    tally_own();
    lazy_watch_exit();
    pthread_setspecific(ctx_key, c);
    xt_status refused = refuses ? refuses() : NULL;
    if (refused) lazy_fail(refused);
    return c;
}

void lazy_reset_thread(void) {
    if (!this_ctx) return;
    pthread_setspecific(ctx_key, NULL);
    ctx_free(this_ctx);
}

lazy_slot *lazy_slot_of(lazy_ctx *c, xt_tensor t) {
    if (t.slot == 0 || t.slot >= c->n_slots) return NULL;
    lazy_slot *s = &c->slots[t.slot];
    return s->live && s->generation == t.generation ? s : NULL;
}

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
    lazy_slot fresh = {
        .generation = s->generation + 1, .live = true, .type = type, .src = src, .path = c->path, .step = c->step};
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
}

void lazy_slot_free(lazy_ctx *c, uint32_t i, src_id died) {
    lazy_slot *s = &c->slots[i];
    if (!s->live) return;
    lazy_buf_release(s->buf);
    lazy_buf_release(s->read_buf);
    base_free(s->host);
    lazy_whole_release(s->whole);
    lazy_extremes_release(s->extremes);
    s->extremes = NULL;
    s->buf = s->read_buf = NULL;
    s->host = NULL;
    s->whole = NULL;
    s->has_host = false;
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
    if (lazy_slot_of(c, grad)) lazy_slot_free(c, grad.slot, died);
}

void lazy_dead_error(lazy_ctx *c, xt_tensor t, const xt_src *src, const char *what) {
    char made[256], died[256];
    if (t.slot == 0) {
        lazy_fail(status_new(
            XT_INVALID_ARGUMENT, src,
            "%s: the tensor is none ({0}): it was never made, or the call that should have made it failed", what));
        return;
    }
    for (int k = 0; t.slot < c->n_slots && k < 2; k++) {
        if (c->slots[t.slot].past[k].generation != t.generation) continue;
        int64_t step = c->slots[t.slot].past[k].died_step;
        src_text(c->slots[t.slot].past[k].made, made, sizeof made);
        src_text(c->slots[t.slot].past[k].died, died, sizeof died);
        if (step == LAZY_DIED_IN_LOOP)
            lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                                 "%s: this tensor is dead: made at %s inside the function of xt_scan, it belonged to "
                                 "one step of the loop at %s; give it out as carry or output",
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

bool lazy_left_open(void) {
    return this_ctx && (this_ctx->error || this_ctx->n_step_slots || this_ctx->n_requests);
}

/* --- the public side --- */
bool xt_is_none(xt_tensor t) {
    return t.slot == 0;
}

bool xt_is_error(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (t.slot == 0 || !c) return false;
    lazy_slot *s = lazy_slot_of(c, t);
    return !s || s->failed;
}

bool lazy_is_error(xt_tensor t) {
    return xt_is_error(t);
}

xt_tensor xt_keep_at(const xt_src *src, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return t;
    if (!lazy_slot_of(c, t)) {
        lazy_dead_error(c, t, src, "xt_keep");
        return t;
    }
    if (c->loop && lazy_slot_of(c, t)->value && lazy_in_loop(c, src, "xt_keep")) return t;
    lazy_slot_persist(c, t);
    lazy_slot_of(c, t)->kept = src_intern(src);
    return t;
}

void xt_drop_at(const xt_src *src, xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || t.slot == 0) return;
    lazy_slot *s = lazy_slot_of(c, t);
    if (!s) {
        lazy_dead_error(c, t, src, "xt_drop");
        return;
    }
    if (c->tape && c->tape->in_fn && t.slot < c->tape->n_entry && c->tape->entry[t.slot].live &&
        c->tape->entry[t.slot].generation == t.generation)
        lazy_tape_volatile(c, src_intern(src), "the function drops a tensor that is not its own");
    lazy_slot_free(c, t.slot, src_intern(src));
    c->slots[t.slot].past[0].died_step = -1;
}

const ir_type *lazy_type(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s && !s->failed ? s->type : NULL;
}

src_id lazy_src(xt_tensor t) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL;
    return s ? s->src : 0;
}

xt_dtype xt_dtype_of(xt_tensor t) {
    const ir_type *y = lazy_type(t);
    return y ? y->dtype : XT_DTYPE_NONE;
}

int xt_rank_of(xt_tensor t) {
    const ir_type *y = lazy_type(t);
    return y ? (int)y->rank : 0;
}

int64_t xt_dim(xt_tensor t, int i) {
    const ir_type *y = lazy_type(t);
    if (!y) return 0;
    if (i < 0) i += (int)y->rank;
    return i >= 0 && i < (int)y->rank ? y->dims[i] : 0;
}

int64_t xt_numel(xt_tensor t) {
    const ir_type *y = lazy_type(t);
    return y ? y->count : 0;
}
