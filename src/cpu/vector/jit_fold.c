/* A fold in the registers of a loop: as many of them as hold simd.inc's 64 partial results (four with AVX-512, eight
 * with AVX2) take the loop's vectors in turns, which is the order of simd.inc's folds, then a binary tree. NaN are
 * collected beside extremes, whose instructions pass over them: bits of k3, with AVX2 lanes of the register before the
 * sums. */
#include "cpu/vector/jit_int.h"

#if defined(__x86_64__)

enum { T2 = JIT_T0 + 2, T3, UNORDERED = 3 };
static const jit_opcode vperm2f128 = {3, 1, 0x06}, vpor = {1, 1, 0xeb}, vpxor = {1, 1, 0xef}, vpcmpeqd = {1, 1, 0x76},
                        vpaddd = {1, 1, 0xfe}, vmovmskps = {1, 0, 0x50};
static const jit_opcode vaddps = {1, 0, 0x58}, vmulps = {1, 0, 0x59}, vmaxps = {1, 0, 0x5f}, vminps = {1, 0, 0x5d},
                        vcmpps = {1, 0, 0xc2}, vmovss_store = {1, 2, 0x11}, vshuff32x4 = {3, 1, 0x23},
                        vpermilps = {3, 1, 0x04}, vpternlogd = {3, 1, 0x25};

static const uint32_t neutral[FOLD_COUNT] = {
    [FOLD_SUM] = 0, [FOLD_PROD] = 0x3f800000u, [FOLD_MAX] = 0xff800000u, [FOLD_MIN] = 0x7f800000u};

static bool is_extreme(const jit_emitter *e) {
    return e->fold->op == FOLD_MAX || e->fold->op == FOLD_MIN;
}

int jit_fold_sums(const jit_emitter *e) {
    return e->wide ? 4 : 8;
}

int jit_fold_registers(const jit_emitter *e) {
    return jit_fold_sums(e) + (is_extreme(e) && !e->wide);
}

void jit_fold_begin(jit_emitter *e) {
    for (int j = 0; j < jit_fold_sums(e); j++) jit_splat(e, e->sums + j, neutral[e->fold->op]);
    if (!is_extreme(e)) return;
    if (e->wide) {
        JIT_PUT(e, "\xc5\xe4\x47\xdb"); /* kxorw k3, k3, k3 */
        return;
    }
    const int odd = e->sums - 1;
    jit_encode(e, vpxor, odd, odd, jit_reg(odd), 0, false, -1);
}

static void join(jit_emitter *e, int to, int value, int mask) {
    if (e->fold->type != VPROG_F32) { /* a sum */
        jit_encode(e, vpaddd, to, to, jit_reg(value), mask, false, -1);
        return;
    }
    switch (e->fold->op) {
    case FOLD_SUM: jit_encode(e, vaddps, to, to, jit_reg(value), mask, false, -1); break;
    case FOLD_PROD: jit_encode(e, vmulps, to, to, jit_reg(value), mask, false, -1); break;
    case FOLD_MAX: jit_encode(e, vmaxps, to, value, jit_reg(to), mask, false, -1); break; /* `to` beside a NaN */
    default: jit_encode(e, vminps, to, value, jit_reg(to), mask, false, -1);
    }
}

void jit_fold_step(jit_emitter *e, int sum, int value) {
    int mask = e->masked ? 1 : 0;
    join(e, sum, value, mask);
    if (!is_extreme(e)) return;
    if (!e->wide) {
        jit_encode(e, vcmpps, T2, value, jit_reg(value), 0, false, UNORDERED);
        jit_encode(e, vpor, e->sums - 1, e->sums - 1, jit_reg(T2), 0, false, -1);
        return;
    }
    jit_encode(e, vcmpps, 2, value, jit_reg(value), mask, false, UNORDERED);
    JIT_PUT(e, "\xc5\xe4\x45\xda"); /* korw k3, k3, k2 */
}

void jit_fold_end(jit_emitter *e) {
    const int sum = e->sums;
    for (int w = jit_fold_sums(e) / 2; w; w /= 2)
        for (int j = 0; j < w; j++) join(e, sum + j, sum + j + w, 0);
    /* halves of the register change places, then their halves, ... */
    if (e->wide) {
        jit_encode(e, vshuff32x4, T3, sum, jit_reg(sum), 0, false, 0x4e);
        join(e, sum, T3, 0);
        jit_encode(e, vshuff32x4, T3, sum, jit_reg(sum), 0, false, 0xb1);
    } else {
        jit_encode(e, vperm2f128, T3, sum, jit_reg(sum), 0, false, 1);
    }
    join(e, sum, T3, 0);
    jit_encode(e, vpermilps, T3, 0, jit_reg(sum), 0, false, 0x4e);
    join(e, sum, T3, 0);
    jit_encode(e, vpermilps, T3, 0, jit_reg(sum), 0, false, 0xb1);
    join(e, sum, T3, 0);
    if (is_extreme(e)) { /* ones in all bits are a NaN */
        if (e->wide) {
            JIT_PUT(e, "\xc5\xf8\x98\xdb"); /* kortestw k3, k3 */
        } else {
            jit_encode(e, vmovmskps, 0, 0, jit_reg(e->sums - 1), 0, false, -1); /* to eax */
            JIT_PUT(e, "\x85\xc0"); /* test eax, eax */
        }
        JIT_PUT(e, "\x0f\x84"); /* jz */
        size_t over = e->n;
        jit_put32(e, 0);
        if (e->wide)
            jit_encode(e, vpternlogd, sum, sum, jit_reg(sum), 0, false, 0xff);
        else
            jit_encode(e, vpcmpeqd, sum, sum, jit_reg(sum), 0, false, -1);
        jit_patch32(e, over, (uint32_t)(e->n - over - 4));
    }
    jit_operand at = {.kind = AT_POINTER, .ptr = e->fold->result, .scale = -1};
    if (e->wide)
        jit_encode(e, vmovss_store, sum, 0, at, 0, false, -1);
    else
        jit_vex(e, vmovss_store, sum, 0, at, true, false, -1);
}
#endif
