/* Makes machine code of a run of vector instructions: which register each value has, the loop around them, and the
 * constants behind it. */
#include "cpu/vector/jit_int.h"

#include "pass/pass.h"

#if defined(__x86_64__)

static void release(jit_emitter *e, int *reg) {
    if (*reg >= 0) e->used &= ~(1u << *reg);
    *reg = -1;
}

static void body(jit_emitter *e) {
    e->used = 0;
    for (size_t s = 0; s < e->n_sources; s++) e->source_reg[s] = -1;
    for (size_t k = 0; k < e->n_ins && !e->failed; k++) {
        const jit_ins *i = &e->ins[k];
        int d = e->reg[k] = jit_take_reg(e);
        jit_emit(e, i, d);
        for (int a = 0; a < jit_arity(i->op); a++) {
            int v = jit_operand_of(i, a);
            if (v >= 0 && e->last[v] == (int)k) release(e, &e->reg[v]);
            if (v < 0 && e->source_last[~v] == (int)k) release(e, &e->source_reg[~v]);
        }
        if (e->last[k] < 0) release(e, &e->reg[k]);
    }
}

static void count_uses(jit_emitter *e) {
    for (size_t s = 0; s < e->n_sources; s++) e->source_last[s] = -1, e->source_uses[s] = 0;
    for (size_t k = 0; k < e->n_ins; k++) e->last[k] = -1;
    for (size_t k = 0; k < e->n_ins; k++)
        for (int a = 0; a < jit_arity(e->ins[k].op); a++) {
            int v = jit_operand_of(&e->ins[k], a);
            if (v >= 0)
                e->last[v] = (int)k;
            else
                e->source_last[~v] = (int)k, e->source_uses[~v]++;
        }
    for (size_t s = 0; s < e->n_sources; s++)
        if (e->sources[s].kind != JIT_CONST && e->sources[s].ptr >= e->n_ptr) e->n_ptr = e->sources[s].ptr + 1;
    for (size_t k = 0; k < e->n_ins; k++)
        if (e->ins[k].store >= 0 && (uint32_t)e->ins[k].store >= e->n_ptr) e->n_ptr = (uint32_t)e->ins[k].store + 1;
    if (!e->fold) return;
    e->last[e->fold->value] = (int)e->n_ins; /* behind them all */
    if (e->fold->result >= e->n_ptr) e->n_ptr = e->fold->result + 1;
}

static void loop_wide(jit_emitter *e) {
    JIT_PUT(e, "\x31\xc9\x48\x83\xfe\x10\x0f\x8c"); /* xor ecx, ecx; cmp rsi, 16; jl rest */
    size_t skip = e->n, top;
    jit_put32(e, 0);
    top = e->n;
    e->masked = false;
    body(e);
    JIT_PUT(e, "\x48\x83\xc1\x10\x48\x8d\x51\x10\x48\x39\xf2"); /* add rcx, 16; lea rdx, [rcx + 16]; cmp rdx, rsi */
    jit_jump_back(e, 0x8e, top); /* jle */
    jit_patch32(e, skip, (uint32_t)(e->n - skip - 4));
    JIT_PUT(e, "\x48\x29\xce\x0f\x84"); /* rest: sub rsi, rcx; jz done */
    size_t done = e->n;
    jit_put32(e, 0);
    /* mov eax, -1; bzhi eax, eax, esi; kmovw k1, eax */
    JIT_PUT(e, "\xb8\xff\xff\xff\xff\xc4\xe2\x48\xf5\xc0\xc5\xf8\x92\xc8");
    e->masked = true;
    body(e);
    jit_patch32(e, done, (uint32_t)(e->n - done - 4));
}

static void loop_narrow(jit_emitter *e) {
    JIT_PUT(e, "\x31\xc9\x48\x83\xfe\x08\x0f\x8c"); /* xor ecx, ecx; cmp rsi, 8; jl rest */
    size_t skip = e->n, top;
    jit_put32(e, 0);
    top = e->n;
    e->masked = false;
    body(e);
    JIT_PUT(e, "\x48\x83\xc1\x08\x48\x8d\x51\x08\x48\x39\xf2"); /* add rcx, 8; lea rdx, [rcx + 8]; cmp rdx, rsi */
    jit_jump_back(e, 0x8e, top); /* jle */
    jit_patch32(e, skip, (uint32_t)(e->n - skip - 4));
    JIT_PUT(e, "\x48\x39\xf1\x0f\x8d"); /* rest: cmp rcx, rsi; jge done */
    size_t done = e->n;
    jit_put32(e, 0);
    top = e->n;
    e->masked = true;
    body(e);
    JIT_PUT(e, "\x48\xff\xc1\x48\x39\xf1"); /* inc rcx; cmp rcx, rsi */
    jit_jump_back(e, 0x8c, top); /* jl */
    jit_patch32(e, done, (uint32_t)(e->n - done - 4));
}

/* One body of the loop for each register that folds, so that none waits for the last addition. */
static void bodies_to_fold(jit_emitter *e) {
    for (int j = 0; j < jit_fold_sums(e); j++) {
        body(e);
        jit_fold_step(e, e->sums + j, e->reg[e->fold->value]);
        JIT_PUT(e, "\x48\x83\xc1"); /* add rcx, lanes */
        jit_put(e, e->wide ? 16 : 8);
    }
}

/* Of a multiple of eight numbers. */
static void fold_loop_narrow(jit_emitter *e) {
    JIT_PUT(e, "\x31\xc9\x48\x83\xfe\x40\x0f\x8c"); /* xor ecx, ecx; cmp rsi, 64; jl rest */
    size_t skip = e->n, top, done[8];
    jit_put32(e, 0);
    top = e->n;
    e->masked = false;
    bodies_to_fold(e);
    JIT_PUT(e, "\x48\x8d\x51\x40\x48\x39\xf2"); /* lea rdx, [rcx + 64]; cmp rdx, rsi */
    jit_jump_back(e, 0x8e, top); /* jle */
    jit_patch32(e, skip, (uint32_t)(e->n - skip - 4));
    for (int j = 0; j < jit_fold_sums(e); j++) {
        JIT_PUT(e, "\x48\x39\xf1\x0f\x8d"); /* rest: cmp rcx, rsi; jge done */
        done[j] = e->n;
        jit_put32(e, 0);
        body(e);
        jit_fold_step(e, e->sums + j, e->reg[e->fold->value]);
        JIT_PUT(e, "\x48\x83\xc1\x08"); /* add rcx, 8 */
    }
    for (int j = 0; j < jit_fold_sums(e); j++) jit_patch32(e, done[j], (uint32_t)(e->n - done[j] - 4));
}

static void fold_loop_wide(jit_emitter *e) {
    JIT_PUT(e, "\x31\xc9\x48\x83\xfe\x40\x0f\x8c"); /* xor ecx, ecx; cmp rsi, 64; jl rest */
    size_t skip = e->n, top, done[4];
    jit_put32(e, 0);
    top = e->n;
    e->masked = false;
    bodies_to_fold(e);
    JIT_PUT(e, "\x48\x8d\x51\x40\x48\x39\xf2"); /* lea rdx, [rcx + 64]; cmp rdx, rsi */
    jit_jump_back(e, 0x8e, top); /* jle */
    jit_patch32(e, skip, (uint32_t)(e->n - skip - 4));
    JIT_PUT(e, "\x48\x29\xce"); /* rest: sub rsi, rcx */
    e->masked = true;
    for (int j = 0; j < jit_fold_sums(e); j++) {
        JIT_PUT(e, "\x0f\x8e"); /* jle done */
        done[j] = e->n;
        jit_put32(e, 0);
        /* mov eax, -1; bzhi eax, eax, esi; kmovw k1, eax */
        JIT_PUT(e, "\xb8\xff\xff\xff\xff\xc4\xe2\x48\xf5\xc0\xc5\xf8\x92\xc8");
        body(e);
        jit_fold_step(e, e->sums + j, e->reg[e->fold->value]);
        JIT_PUT(e, "\x48\x83\xc1\x10\x48\x83\xee\x10"); /* add rcx, 16; sub rsi, 16 */
    }
    for (int j = 0; j < jit_fold_sums(e); j++) jit_patch32(e, done[j], (uint32_t)(e->n - done[j] - 4));
    e->masked = false;
}

/* Of the registers for pointers that belong to the caller, those that are used; `opcode`: push's or pop's. */
static void keep_base(jit_emitter *e, uint32_t p, unsigned opcode) {
    enum { OURS = 4 };
    if (p < OURS || p >= e->n_ptr) return;
    if (jit_bases[p] & 8) jit_put(e, 0x41);
    jit_put(e, opcode | (unsigned)(jit_bases[p] & 7));
}

static void whole(jit_emitter *e) {
    enum { PUSH = 0x50, POP = 0x58 };
    for (uint32_t p = 0; p < JIT_BASES; p++) keep_base(e, p, PUSH);
    for (uint32_t p = 0; p < e->n_ptr && p < JIT_BASES; p++) { /* mov base, [rdi + 8 * p] */
        jit_put(e, jit_bases[p] & 8 ? 0x4c : 0x48);
        jit_put(e, 0x8b);
        jit_put(e, 0x47u | (unsigned)(jit_bases[p] & 7) << 3);
        jit_put(e, 8 * p);
    }
    for (size_t c = 0; c < e->n_resident; c++) {
        jit_operand at = {.kind = AT_CONST, .constant = (uint32_t)c};
        jit_encode(e, jit_broadcast, e->most_reg - 1 - (int)c, 0, at, 0, true, -1);
    }
    if (e->fold) {
        jit_fold_begin(e);
        e->wide ? fold_loop_wide(e) : fold_loop_narrow(e);
        jit_fold_end(e);
    } else {
        e->wide ? loop_wide(e) : loop_narrow(e);
    }
    for (uint32_t p = JIT_BASES; p-- > 0;) keep_base(e, p, POP);
    JIT_PUT(e, "\xc5\xf8\x77\xc3"); /* vzeroupper; ret */
    while (e->n % 4 && !e->failed) jit_put(e, 0xcc);
    size_t pool = e->n;
    const uint32_t times = e->wide ? 1 : 8; /* AVX2 reads a whole register of it */
    for (size_t c = 0; c < e->n_constants * times; c++) jit_put32(e, e->constants[c / times]);
    for (size_t f = 0; f < e->n_fixups; f++)
        jit_patch32(e, e->fixups[f].at,
                    (uint32_t)(pool + (size_t)4 * times * e->fixups[f].constant - e->fixups[f].end));
}

jit_code *jit_compile(const jit_source *sources, size_t n_sources, const jit_ins *ins, size_t n) {
    return jit_compile_fold(sources, n_sources, ins, n, NULL);
}

jit_code *jit_compile_fold(const jit_source *sources, size_t n_sources, const jit_ins *ins, size_t n,
                           const jit_fold *fold) {
    jit_emitter e = {
        .sources = sources, .n_sources = n_sources, .ins = ins, .n_ins = n, .wide = simd_level() == 2, .fold = fold};
    jit_code *code = NULL;
    if (fold && fold->type != VPROG_F32 && (e.wide || fold->op != FOLD_SUM)) return NULL;
    int *room = base_malloc((2 * n + 3 * n_sources + 1) * sizeof *room);
    if (room) {
        e.reg = room, e.last = room + n;
        e.source_reg = room + 2 * n, e.source_last = e.source_reg + n_sources,
        e.source_uses = e.source_last + n_sources;
        count_uses(&e);
        e.most_reg = e.wide ? 28 : 11;
        if (fold) {
            e.sums = e.most_reg - jit_fold_sums(&e);
            e.most_reg -= jit_fold_registers(&e);
        }
        whole(&e);
        size_t spare = (size_t)(e.most_reg - e.peak);
        if (!e.failed && spare && e.n_constants) { /* once more, now that it is known which registers are free */
            e.n_resident = spare < e.n_constants ? spare : e.n_constants;
            e.n = e.n_fixups = 0;
            whole(&e);
        }
        if (!e.failed) code = jit_code_get(e.code, e.n);
    }
    base_free(room);
    base_free(e.code);
    base_free(e.constants);
    base_free(e.fixups);
    return code;
}

bool jit_folds_length(int64_t n) {
    return simd_level() == 2 || n % 8 == 0;
}

bool jit_is_on(void) {
    return simd_level() >= 1 && pass_is_on("jit");
}
#else
bool jit_folds_length(int64_t n) {
    return n >= 0;
}
bool jit_is_on(void) {
    return false;
}
bool jit_takes(vprog_op op, vprog_type type) {
    (void)op, (void)type;
    return false;
}
jit_code *jit_compile(const jit_source *sources, size_t n_sources, const jit_ins *ins, size_t n) {
    (void)sources, (void)n_sources, (void)ins, (void)n;
    return NULL;
}
jit_code *jit_compile_fold(const jit_source *sources, size_t n_sources, const jit_ins *ins, size_t n,
                           const jit_fold *fold) {
    return fold ? NULL : jit_compile(sources, n_sources, ins, n);
}
#endif
