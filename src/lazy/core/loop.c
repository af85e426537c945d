/* The loop whose body is being recorded: the builder stands in the body's block until its end. What records it (ops:
 * xt_scan) knows what the loop carries; here is what the rest of the core has to know: that nothing in it has one
 * value, and how often it runs. */
#include "lazy/core/left.h"
#include "lazy/core/replay_log.h"

static void said_left(lazy_ctx *c, const char *what) {
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src_get(c->b.src),
                         "%s was left without returning (by longjmp or an exception): what this step had recorded is "
                         "dropped; let it return, "
                         "and tell what went wrong by a variable",
                         what));
}

/* The builder stands at the step's end again. What the loop's own frame knew is gone: nothing of it is read. */
static void loop_left(lazy_ctx *c) {
    const ir_block *step = ir_func_block(c->func);
    for (size_t i = 0; i < c->n_step_slots; i++) {
        const lazy_slot *s = &c->slots[c->step_slots[i]];
        if (s->live && s->value && s->value->block != step) lazy_slot_free(c, c->step_slots[i], c->b.src);
    }
    c->loop = NULL;
    c->settled = NULL;
    c->n_bounds_sites = 0;
    c->b.block = ir_func_block(c->func);
    c->b.before = NULL;
    xt_status_free(c->b.status);
    c->b.status = NULL;
    char what[64];
    snprintf(what, sizeof what, "the function of %s", c->left_loop);
    said_left(c, what);
}

__attribute__((noinline)) void lazy_forget_left_now(lazy_ctx *c) {
    const char *here = __builtin_frame_address(0);
    if (c->loop && here > (const char *)c->loop) loop_left(c);
    lazy_replay_log *t = c->replay_log;
    if (!t || here <= t->frame) return;
    t->left(c, t);
    said_left(c, "the function of xt_call");
}

bool lazy_in_loop(lazy_ctx *c, const xt_src *src, const char *what) {
    lazy_forget_left(c);
    if (!c->loop) return false;
    lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                         "%s inside the function of %s, called at %s:%d: it is recorded once, for every step, example "
                         "or branch that will run, so nothing in it has one value; give it out as carry or output and "
                         "do this after it",
                         what, c->loop->what, c->loop->src->file, c->loop->src->line));
    return true;
}

bool lazy_refuse_in_loop(const xt_src *src, const char *what) {
    lazy_ctx *c = lazy_ctx_get();
    return c && lazy_in_loop(c, src, what);
}

/* A loop that runs until something holds has draws of its own for so many iterations; later ones draw what comes
 * behind the loop. */
enum { UNKNOWN_RUNS = 1 << 16 };

static uint32_t runs_of(const lazy_loop *l) {
    return l->branch ? 1 : l->length ? (uint32_t)l->length : UNKNOWN_RUNS;
}

ir_value *lazy_loop_draw(lazy_ctx *c, ir_builder *b, const lazy_loop *until) {
    ir_value *n = NULL;
    for (const lazy_loop *l = c->loop; l != until; l = l->outer) {
        if (l->branch) continue;
        ir_value *i = ir_convert(b, l->body->args[0], XT_U32);
        for (const lazy_loop *k = c->loop; k != l; k = k->outer)
            if (!k->branch) i = ir_multiply(b, i, ir_splat(b, ir_scalar(XT_U32), (double)runs_of(k)));
        n = n ? ir_add(b, n, i) : i;
    }
    return n;
}

uint32_t lazy_loop_runs(const lazy_ctx *c, const lazy_loop *until) {
    uint32_t n = 1;
    for (const lazy_loop *l = c->loop; l != until; l = l->outer) n *= runs_of(l);
    return n;
}

static xt_status begin(lazy_loop *l) {
    lazy_ctx *c = lazy_ctx_get();
    ir_block *body = c ? ir_block_new(c->b.m) : NULL;
    if (!body || (!l->branch && !ir_block_arg(c->b.m, body, ir_scalar(XT_I64))))
        return status_oom(sizeof *body, "the body of a loop");
    lazy_settle(c);
    l->body = body;
    l->outer = c->loop;
    l->around = c->b;
    l->settled = c->settled;
    l->first_slot = c->n_step_slots;
    c->b.block = body;
    c->b.before = NULL;
    c->settled = NULL;
    c->loop = l;
    c->left_loop = l->what;
    return NULL;
}

xt_status lazy_loop_begin(lazy_loop *l, const char *what, const xt_src *src, int64_t length) {
    *l = (lazy_loop){.what = what, .src = src, .length = length};
    return begin(l);
}

xt_status lazy_branch_begin(lazy_loop *l, const char *what, const xt_src *src) {
    *l = (lazy_loop){.what = what, .src = src, .branch = true};
    return begin(l);
}

/* Handles of one iteration mean nothing behind it. */
static void end_handles(lazy_ctx *c, const lazy_loop *l) {
    src_id died = src_intern(l->src);
    for (size_t i = l->first_slot; i < c->n_step_slots; i++) {
        uint32_t index = c->step_slots[i];
        const lazy_slot *slot = &c->slots[index];
        if (!slot->live || !slot->value || slot->value->block != l->body) continue;
        lazy_slot_free(c, index, died);
        c->slots[index].past[0].died_step = LAZY_DIED_IN_LOOP;
    }
}

xt_status lazy_loop_end(lazy_loop *l) {
    lazy_ctx *c = lazy_ctx_get();
    end_handles(c, l);
    xt_status s = c->b.status;
    c->b.status = NULL;
    c->loop = l->outer;
    if (l->outer) c->left_loop = l->outer->what;
    c->settled = l->settled;
    c->b.block = l->around.block;
    c->b.before = l->around.before;
    return s;
}
