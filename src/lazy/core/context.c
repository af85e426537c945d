/* The context of a thread, made at its first use: the step it is recording, empty or not, and what it keeps. What it
 * has goes when the thread does. */
#include "lazy/core/ctx.h"
#include "lazy/core/left.h"
#include "lazy/core/listeners.h"

#include "base/fault.h"
#include "base/tally.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

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
    xt_status_free(c->error);
    base_free(c->slots);
    base_free(c->step_slots);
    base_free(c->persistent);
    base_free(c->older.ring);
    base_free(c->older.read);
    base_free(c->leaves);
    base_free(c->packs);
    base_free(c->requests);
    base_free(c->requesters);
    base_free(c->assigned);
    base_free(c->path_stack);
    base_free(c->autocasts);
    base_free(c->regions);
    base_free(c->pasts);
    base_free(c->bounds_sites);
    base_free(c->modes);
    base_free(c->customs);
    base_free(c->calls);
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

/* --- a thread ends by itself --- */
static lazy_listeners at_end = LAZY_LISTENERS_INIT;

void lazy_at_thread_end(void (*fn)(void)) {
    if (!lazy_listen(&at_end, &fn, sizeof fn)) lazy_fail(status_oom(sizeof fn, "what is done when a thread ends"));
}

/* Keys are told of a thread that ends, not of a process that does: the main thread has left by pthread_exit, and the
 * threads of the library and its device do not end by themselves. */
static void tell_main_left(void) {
    src_id opened = 0;
    if (gettid() != getpid() || !lazy_device_is_open(&opened)) return;
    log_msg(XT_SEV_WARNING,
            "the main thread has left by pthread_exit: the process goes on until some thread calls exit "
            "(the device's own threads wait for work); end main with `return xt_finish();`");
}

static void thread_ends(void *p) {
    lazy_pass_ends_with_thread();
    for (const lazy_listener *i = lazy_listener_first(&at_end); i; i = lazy_listener_next(i))
        (*(void (*const *)(void))(const void *)i->data)();
    tell_main_left();
    lazy_leave_owned();
    ctx_free(p);
}

static void make_key(void) {
    pthread_key_create(&ctx_key, thread_ends);
}

static xt_status (*refuses)(void);
bool lazy_refuses;
void lazy_refuse_when(xt_status (*check)(void)) {
    refuses = check;
}

xt_status lazy_refusal(void) {
    return refuses ? refuses() : NULL;
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
    /* Steps of the golden ratio: of any number of contexts in a row, no two begin near each other. */
    static _Atomic uint32_t contexts;
    c->first_generation = atomic_fetch_add(&contexts, 1) * 0x9e3779b9u;
    this_ctx = c;
    atomic_fetch_add(&n_ctx, 1);
    tally_own();
    lazy_watch_exit();
    pthread_setspecific(ctx_key, c);
    xt_status refused = lazy_refusal();
    if (refused) lazy_fail(refused);
    return c;
}

static __thread uint32_t finished_generation; /* the first of the context before this one; 0: there was none */
bool lazy_was_finished(xt_tensor t) {
    return finished_generation && t.generation - finished_generation < 1u << 24;
}

void lazy_reset_thread(void) {
    if (!this_ctx) return;
    finished_generation = this_ctx->first_generation | 1;
    pthread_setspecific(ctx_key, NULL);
    ctx_free(this_ctx);
}

bool lazy_left_open(void) {
    return this_ctx && (this_ctx->error || this_ctx->n_step_slots || this_ctx->n_requests);
}

/* --- the trace of its step --- */
static __thread bool check_nan;

void lazy_check_nan(bool on) {
    check_nan = on;
}

bool lazy_debug_word(const char *word) {
    const char *v = getenv("XT_DEBUG");
    return v && strstr(v, word) && env_has_word("XT_DEBUG", word);
}

void lazy_flags_anew(lazy_ctx *c) {
    if (!c->b.block || !c->b.block->first)
        c->used = (lazy_flags){.no_grad = c->no_grad > 0,
                               .autocast = c->autocast,
                               .mode = c->mode,
                               .freezes = c->freezes,
                               .frozen = c->frozen,
                               .switched_at = c->switched_at,
                               .momenta = c->momenta,
                               .parted = c->parted,
                               .batch = c->batch};
}

xt_status lazy_new_trace(lazy_ctx *c) {
    /* a thread that has a trace will have one, memory or not */
    ir_module *m = c->b.m ? ir_module_reset(c->b.m) : ir_module_new();
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
    c->bounds = debug && lazy_debug_word("bounds");
    lazy_flags_anew(c);
    c->step_began_ns = lazy_take_now(c);
    return NULL;
}

int64_t lazy_take_now(lazy_ctx *c) {
    int64_t now = c->now_ns;
    c->now_ns = 0;
    return now ? now : clock_ns();
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
    c->asked_in = NULL;
    c->n_regions = c->n_pasts = c->n_bounds_sites = c->n_swept = 0;
    c->grads_recorded = c->swept = c->values_noted = c->optionals_begun = c->was_read = false;
    for (size_t i = 0; i < c->n_guests; i++)
        if (c->guests[i]->trace_cleared) c->guests[i]->trace_cleared(c);
    c->n_requesters = c->n_assigned = 0;
    c->operand_failed = false;
    c->failed_allocations = base_failed_here().count;
}

void lazy_drop_trace(lazy_ctx *c) {
    lazy_clear_trace(c);
    ir_module_free(c->b.m);
    memset(&c->b, 0, sizeof c->b);
}
