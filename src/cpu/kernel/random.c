/* rng_bit_generator, bit for bit as XLA generates (layouts of states and words: ir/interp_random.c), and rng: counters
 * are independent, so blocks of them run as vector code over all threads. Philox 4x32-10 and ThreeFry 2x32-20: Salmon
 * et al., "Parallel random numbers: as easy as 1, 2, 3", 2011. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#include "cpu/kernel/kernel.h"
#include "ir/interp_int.h"

#include <stdatomic.h>

enum { BLOCKS = 64 };
typedef struct bits_run {
    uint64_t state[3];
    size_t n_state, size;
    int64_t count; /* elements */
    char *out;
    xt_dtype type;
    int64_t n, half, inner; /* ThreeFry of short words: the dim whose elements alternate */
} bits_run;

static void narrow(const bits_run *r, int64_t i) {
    int8_t *p = (int8_t *)r->out + i;
    *p = r->type == XT_BOOL ? *p & 1 : wrap_subbyte(r->type, *p);
}

static void store(const bits_run *r, int64_t i, uint64_t word) {
    switch (r->size) {
    case 1: ((uint8_t *)r->out)[i] = (uint8_t)word; break;
    case 2: ((uint16_t *)(void *)r->out)[i] = (uint16_t)word; break;
    case 4: ((uint32_t *)(void *)r->out)[i] = (uint32_t)word; break;
    default: ((uint64_t *)(void *)r->out)[i] = word; break;
    }
    if (r->type == XT_BOOL || dtype_is_subbyte(r->type)) narrow(r, i);
}

/* Word k of block b in w[k][b]. */
static void philox_blocks(const bits_run *r, uint64_t first, uint32_t w[4][BLOCKS]) {
    uint64_t low = r->state[1], high = r->n_state >= 3 ? r->state[2] : r->state[0];
    for (int b = 0; b < BLOCKS; b++) {
        uint64_t lo = low + first + (uint64_t)b, hi = high + (lo < low);
        w[0][b] = (uint32_t)lo, w[1][b] = (uint32_t)(lo >> 32);
        w[2][b] = (uint32_t)hi, w[3][b] = (uint32_t)(hi >> 32);
    }
    uint32_t k0 = (uint32_t)r->state[0], k1 = (uint32_t)(r->state[0] >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
        for (int b = 0; b < BLOCKS; b++) {
            uint64_t p = (uint64_t)0xD2511F53u * w[0][b], q = (uint64_t)0xCD9E8D57u * w[2][b];
            w[0][b] = (uint32_t)(q >> 32) ^ w[1][b] ^ k0;
            w[2][b] = (uint32_t)(p >> 32) ^ w[3][b] ^ k1;
            w[1][b] = (uint32_t)q;
            w[3][b] = (uint32_t)p;
        }
}

static void philox_chunk(void *ctx, int64_t begin, int64_t end, int thread) { /* blocks of four words */
    (void)thread;
    const bits_run *r = ctx;
    uint32_t w[4][BLOCKS];
    int64_t each = r->size == 8 ? 2 : 4;
    for (int64_t at = begin; at < end; at += BLOCKS) {
        philox_blocks(r, (uint64_t)at, w);
        int64_t n = end - at < BLOCKS ? end - at : BLOCKS;
        if (r->size == 4 && (at + n) * 4 <= r->count) {
            uint32_t *o = (uint32_t *)(void *)r->out + at * 4;
            for (int64_t b = 0; b < n; b++)
                for (int k = 0; k < 4; k++) o[4 * b + k] = w[k][b];
            continue;
        }
        for (int64_t b = 0; b < n; b++)
            for (int64_t k = 0; k < each && (at + b) * each + k < r->count; k++)
                store(r, (at + b) * each + k, each == 2 ? w[2 * k][b] | (uint64_t)w[2 * k + 1][b] << 32 : w[k][b]);
    }
}

static void threefry_pairs(uint64_t key, uint64_t first, uint32_t x[BLOCKS], uint32_t y[BLOCKS]) {
    static const unsigned char turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t ks[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0};
    ks[2] = ks[0] ^ ks[1] ^ 0x1BD11BDA;
    for (int b = 0; b < BLOCKS; b++) {
        uint64_t count = first + (uint64_t)b;
        x[b] = (uint32_t)count + ks[0], y[b] = (uint32_t)(count >> 32) + ks[1];
    }
    for (uint32_t group = 0; group < 5; group++) {
        for (int i = 0; i < 4; i++) {
            unsigned t = turns[group & 1][i];
            for (int b = 0; b < BLOCKS; b++) {
                x[b] += y[b];
                y[b] = (y[b] << t | y[b] >> (32 - t)) ^ x[b];
            }
        }
        uint32_t add_x = ks[(group + 1) % 3], add_y = ks[(group + 2) % 3] + group + 1;
        for (int b = 0; b < BLOCKS; b++) x[b] += add_x, y[b] += add_y;
    }
}

static void threefry_chunk(void *ctx, int64_t begin, int64_t end, int thread) { /* counters */
    (void)thread;
    const bits_run *r = ctx;
    uint32_t x[BLOCKS], y[BLOCKS];
    for (int64_t at = begin; at < end; at += BLOCKS) {
        threefry_pairs(r->state[0], r->state[1] + (uint64_t)at, x, y);
        for (int64_t b = 0; b < BLOCKS && at + b < end; b++) {
            int64_t i = at + b;
            if (r->size == 8) {
                store(r, i, x[b] | (uint64_t)y[b] << 32);
                continue;
            }
            int64_t in = i % r->inner, h = i / r->inner % r->half, o = i / (r->inner * r->half),
                    to = (o * r->n + 2 * h) * r->inner + in;
            store(r, to, x[b]);
            if (2 * h + 1 < r->n) store(r, to + r->inner, y[b]);
        }
    }
}

/* The dim in whose pairs short words are laid down: the first even one, else the longest. */
static void split_dim(const ir_type *t, bits_run *r) {
    uint32_t split = 0;
    for (uint32_t d = 1; d < t->rank; d++)
        if (t->dims[d] > t->dims[split]) split = d;
    for (uint32_t d = t->rank; d-- > 0;)
        if (t->dims[d] % 2 == 0) split = d;
    r->n = t->rank ? t->dims[split] : 1;
    r->half = (r->n + 1) / 2;
    r->inner = 1;
    for (uint32_t d = split + 1; d < t->rank; d++) r->inner *= t->dims[d];
}

static xt_status bits_run_op(const cpu_call *c) {
    const ir_op *op = c->thunk->op;
    const ir_type *t = op->out[1].type;
    size_t bytes = ir_type_bytes(op->in[0]->type);
    bits_run r = {.n_state = bytes / sizeof(uint64_t),
                  .size = xt_dtype_size(t->dtype),
                  .count = t->count,
                  .out = c->out[1],
                  .type = t->dtype};
    memcpy(r.state, c->in[0], (r.n_state < 3 ? r.n_state : 3) * sizeof *r.state);
    if (c->out[0] != c->in[0]) memcpy(c->out[0], c->in[0], bytes);
    uint64_t *next = c->out[0];
    int64_t blocks;
    if (ir_get_int(op, IR_A_rng_algorithm, IR_RNG_DEFAULT) == IR_RNG_THREE_FRY) {
        split_dim(t, &r);
        blocks = r.size == 8 ? t->count : r.n ? t->count / r.n * r.half : 0;
        team_for(&c->device->team, blocks, 64 * BLOCKS, threefry_chunk, &r);
        next[1] = r.state[1] + (uint64_t)blocks;
        return NULL;
    }
    blocks = r.size == 8 ? (t->count + 1) / 2 : (t->count + 3) / 4;
    team_for(&c->device->team, blocks, 32 * BLOCKS, philox_chunk, &r);
    uint64_t low = r.state[1] + (uint64_t)blocks;
    next[1] = low;
    if (r.n_state >= 3) next[2] = r.state[2] + (low < r.state[1]);
    return NULL;
}
static const cpu_kernel bits_kernel = {"random-bits", bits_run_op, NULL, true};

CPU_LOWER(rng_bit_generator) {
    int64_t algorithm = ir_get_int(op, IR_A_rng_algorithm, IR_RNG_DEFAULT);
    size_t n_state = ir_type_bytes(op->in[0]->type) / sizeof(uint64_t);
    if (n_state < 2 || (algorithm == IR_RNG_THREE_FRY && n_state != 2)) return NULL;
    *out_done = true;
    cpu_thunk_desc d = {
        .kernel = &bits_kernel, .op = op, .n_in = 1, .n_out = 2, .flops = 10.0 * (double)op->out[1].type->count};
    return cpu_build_thunk(b, &d);
}

/* --- rng: every call of the process draws from a stream of its own --- */
typedef struct rng_run {
    uint64_t stream;
    float a, b;
    bool normal;
    float *out;
} rng_run;
static void rng_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rng_run *r = ctx;
    float *o = r->out + begin;
    size_t n = (size_t)(end - begin);
    float scale = r->normal ? r->b : r->b - r->a;
    (r->normal ? rng_fill_normal : rng_fill_uniform)(0, r->stream, (uint64_t)begin, n, o);
    for (size_t i = 0; i < n; i++) {
        o[i] = r->a + scale * o[i];
        /* rounding must not reach the end */
        if (!r->normal && o[i] >= r->b && r->b > r->a) o[i] = __builtin_nextafterf(r->b, r->a);
    }
}
static xt_status rng_run_op(const cpu_call *c) {
    static _Atomic uint64_t calls;
    rng_run r = {.stream = (UINT64_C(1) << 32) + atomic_fetch_add(&calls, 1),
                 .a = *(const float *)c->in[0],
                 .b = *(const float *)c->in[1],
                 .normal = ir_get_int(c->thunk->op, IR_A_rng_distribution, IR_RNG_UNIFORM) == IR_RNG_NORMAL,
                 .out = c->out[0]};
    team_for(&c->device->team, c->thunk->op->out[0].type->count, 16384, rng_chunk, &r);
    return NULL;
}
static const cpu_kernel rng_kernel = {"random", rng_run_op, NULL, true};

CPU_LOWER(rng) {
    if (op->out[0].type->dtype != XT_F32 || op->in[0]->type->dtype != XT_F32 || op->in[1]->type->dtype != XT_F32)
        return NULL;
    *out_done = true;
    cpu_thunk_desc d = {
        .kernel = &rng_kernel, .op = op, .n_in = 2, .n_out = 1, .flops = 10.0 * (double)op->out[0].type->count};
    return cpu_build_thunk(b, &d);
}
