/* Random draws: which numbers each is made of. A draw's key is the seed, which optimizer step of this thread is being
 * worked on, and which draw since the one before it this is. Boundaries do not count, so an evaluation, a read or
 * xt_reinitialize in between changes nothing; draws under xt_no_grad_begin, an evaluation's, count apart. A step that
 * is dropped has drawn nothing, and an update that is refused takes back what was drawn for it. A trainer gives the
 * number of its micro-batch in the place of the optimizer step, and draws count from there on: a run that it resumes
 * draws what the unbroken one drew, from files of any version. */
#include "lazy/core/replay_log.h"

/* A thread has a seed of its own from its first draw or xt_seed on. Until then it has the newest that a thread of this
 * process was given, so that a program that seeds its main thread has seeded the threads that it starts then. */
static _Atomic uint64_t newest_seed;
static pthread_once_t newest_once = PTHREAD_ONCE_INIT;
static __thread struct {
    uint64_t seed;
    bool known;
} own;

static void seed_of_environment(void) {
    int64_t v = 0;
    if (env_int("XT_SEED", INT64_MIN, &v)) atomic_store(&newest_seed, (uint64_t)v);
}

static uint64_t seed(void) {
    pthread_once(&newest_once, seed_of_environment);
    if (!own.known) own.seed = atomic_load(&newest_seed);
    own.known = true;
    return own.seed;
}

void xt_seed(uint64_t s) {
    lazy_ctx *c = lazy_ctx_get();
    pthread_once(&newest_once, seed_of_environment);
    atomic_store(&newest_seed, s);
    own.seed = s;
    own.known = true;
    if (!c) return;
    c->draws = 0; /* the same seed gives the same draws again, from the next one on */
    c->drawn = c->drawn_before = (lazy_drawn){0};
}

uint64_t lazy_seed(void) {
    return seed();
}

xt_rng_state xt_rng_state_save(void) {
    const lazy_ctx *c = lazy_ctx_get();
    lazy_drawn d = c ? c->drawn : (lazy_drawn){0};
    return (xt_rng_state){{seed(), d.updates, d.draws, d.apart}};
}

void xt_rng_state_load(xt_rng_state s) {
    xt_seed(s.words[0]);
    lazy_ctx *c = lazy_ctx_get();
    if (c) c->drawn = c->drawn_before = (lazy_drawn){s.words[1], s.words[2], s.words[3]};
}

void lazy_draws_updated(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (c) c->drawn = (lazy_drawn){.updates = c->drawn.updates + 1};
}

void lazy_draws_refused(void) {
    lazy_ctx *c = lazy_ctx_get();
    if (c) c->drawn.draws = c->drawn_before.draws = 0;
}

void lazy_draws_dropped(lazy_ctx *c, bool updated) {
    c->drawn = c->drawn_before;
    if (updated) c->drawn.draws = 0;
}

lazy_drawn lazy_draws_now(void) {
    const lazy_ctx *c = lazy_ctx_get();
    return c ? c->drawn : (lazy_drawn){0};
}

void lazy_draws_again(lazy_drawn d) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c) return;
    c->drawn = d;
    if (!c->building) c->drawn_before = d;
}

static __thread int64_t draw_step_plus_1; /* 0: none given */

void lazy_draws_return(lazy_draw_mark m) {
    lazy_ctx *c = lazy_ctx_there();
    draw_step_plus_1 = m.step < 0 ? 0 : m.step + 1;
    if (c) c->draws = m.draws;
}

lazy_draw_mark lazy_draws_mark(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return (lazy_draw_mark){draw_step_plus_1 - 1, c ? c->draws : 0};
}

void lazy_set_draw_step(int64_t step) {
    lazy_draws_return((lazy_draw_mark){step, 0});
}

/* A place has 2^24 draws, above those of a step. */
void lazy_set_draw_place(int64_t step, int place) {
    lazy_draws_return((lazy_draw_mark){step, (int64_t)place << 24});
}

bool lazy_draw_step_given(void) {
    return draw_step_plus_1 != 0;
}

enum { APART = 1u << 31 };

void lazy_pack_rng(lazy_ctx *c, lazy_pack *p, int at, lazy_draw d) {
    uint64_t s = seed(), *next = d.apart ? &c->drawn.apart : &c->drawn.draws;
    uint32_t draw = (uint32_t)c->draws, step = (uint32_t)(draw_step_plus_1 - 1);
    if (draw_step_plus_1) {
        c->draws += d.runs;
    } else {
        draw = ((uint32_t)*next & ~(uint32_t)APART) | (d.apart ? (uint32_t)APART : 0);
        step = (uint32_t)c->drawn.updates;
        *next += d.runs;
    }
    p->now.u[at] = (uint32_t)s;
    p->now.u[at + 1] = (uint32_t)(s >> 32);
    p->now.u[at + 2] = draw;
    p->now.u[at + 3] = step;
}

/* Word 2 of the key is the draw: `first`, and behind it one for each run of the body, of `draws` draws. */
static ir_value *counted(lazy_ctx *c, ir_builder *b, ir_value *key, const lazy_loop *until, uint32_t first,
                         uint32_t draws) {
    const ir_type *word = ir_scalar(XT_U32);
    ir_value *run = lazy_loop_draw(c, b, until);
    int64_t one = 1, low = 2, high = 1;
    if (run && draws != 1) run = ir_multiply(b, run, ir_splat(b, word, draws));
    if (first) run = run ? ir_add(b, run, ir_splat(b, word, first)) : ir_splat(b, word, first);
    if (!run) return key;
    return ir_add(b, key, ir_pad(b, ir_reshape(b, run, 1, &one), ir_splat(b, word, 0), &low, &high, NULL));
}

/* The first of `draws` draws a run of the body; unless they count, they are those of the next key as well. */
static xt_tensor key_of(const xt_src *src, uint32_t draws, bool counts) {
    lazy_ctx *c = lazy_ctx_get();
    ir_builder *b = lazy_begin(src);
    if (!c) return (xt_tensor){0};
    lazy_given_key *given = c->given_key;
    if (given) {
        uint32_t first = given->n;
        if (counts) given->n += draws * lazy_loop_runs(c, given->loop);
        return lazy_wrap(given->key ? counted(c, b, given->key, given->loop, first, draws) : NULL, "a random key");
    }
    lazy_pack *p;
    int at;
    ir_value *x = lazy_pack_take(c, b, XT_U32, 4, &p, &at);
    if (x) {
        lazy_draw d = {.runs = counts ? draws * lazy_loop_runs(c, NULL) : 0, .apart = c->no_grad > 0};
        lazy_pack_rng(c, p, at, d);
        if (c->replay_log)
            lazy_replay_log_add(
                c, (lazy_replay_item){.kind = LAZY_REPLAY_RNG, .pack = (int)(p - c->packs), .at = at, .draw = d});
    }
    return lazy_wrap(x ? counted(c, b, x, NULL, 0, draws) : NULL, "a random key");
}

xt_tensor lazy_rng_keys(const xt_src *src, uint32_t draws) {
    return key_of(src, draws, true);
}

xt_tensor lazy_rng_key(const xt_src *src) {
    return key_of(src, 1, true);
}

xt_tensor lazy_rng_key_idle(const xt_src *src) {
    return key_of(src, 1, false);
}

void lazy_draws_of(lazy_given_key *k, xt_tensor key) {
    lazy_ctx *c = lazy_ctx_get();
    *k = (lazy_given_key){.key = lazy_value(key)};
    if (!c) return;
    k->loop = c->loop;
    k->outer = c->given_key;
    c->given_key = k;
}

uint32_t lazy_draws_of_end(lazy_given_key *k) {
    lazy_ctx *c = lazy_ctx_get();
    if (c) c->given_key = k->outer;
    return k->n;
}
