/* Reductions of f32 and bf16, and sums of i32 and u32, fused with what makes their operand: where an array is made by a
 * short loop and read by a fold over its last dims, the fold runs the loop itself, a block at a time, and the array is
 * not written for it. Who else reads a large array rematerialises it: reading a row of logits and taking exponentials
 * costs less than writing them all and reading them back, and a softmax's gradient then needs no copy of its
 * numerators. The loop stays open for later readers. A smaller array stays in the caches, so it is fused only where
 * nobody else reads it.
 *
 * A block holds as many whole rows as it has room for, or a part of one. Which part of a row a thread folds depends on
 * shapes only, and blocks are folded in order. */
#include "cpu/kernel/kernel.h"
#include "cpu/plan/build_int.h"
#include "cpu/vector/fold.h"
#include "cpu/vector/fold_axes.h"
#include "cpu/vector/jit.h"

enum { BLOCK = 4096, SHORTEST_ROW = 16, MOST_OPS = 8, MOST_SLOW = 1 };
/* Elements: to be worth a thunk of its own; to be made twice rather than read back from memory. */
static const int64_t least_count = 8192, least_shared = 2 << 20;

typedef union number { /* of the type that is folded: f32, or i32 and u32 alike */
    float f;
    uint32_t i;
} number;

typedef struct reduce_fused_state {
    vprog *vprog; /* its one result is what is folded */
    vprog *folding; /* the same, folded in registers; or NULL */
    fold_op fold;
    bool half; /* the result's type */
    bool whole; /* integers, to their sum */
    number init;
    int64_t keep, run, parts;
    size_t partial_at; /* behind the threads' memory */
} reduce_fused_state;

static void reduce_fused_free(void *state) {
    reduce_fused_state *s = state;
    if (s) vprog_free(s->vprog);
    if (s) vprog_free(s->folding);
    base_free(s);
}

typedef struct reduce_fused_run {
    const reduce_fused_state *s;
    const cpu_call *call;
    number *partial; /* [keep][parts] */
} reduce_fused_run;

/* Of one thread: memory of either vector program, then a block. */
static size_t program_bytes(const reduce_fused_state *s) {
    size_t a = vprog_scratch_bytes(s->vprog, 1), b = s->folding ? vprog_scratch_bytes(s->folding, 1) : 0;
    return a > b ? a : b;
}
static size_t thread_bytes(const reduce_fused_state *s) {
    return program_bytes(s) + BLOCK * sizeof(number);
}

static int64_t rows_of_block(const reduce_fused_state *s) {
    return s->parts == 1 && s->run < BLOCK ? BLOCK / s->run : 1;
}

static number fold_two(const reduce_fused_state *s, number a, number b) {
    if (s->whole) return (number){.i = a.i + b.i};
    return (number){.f = cpu_fold_two(s->fold, a.f, b.f)};
}

/* Elements [at, at + n) of a row, or of n / run rows where n is more than one: answers to out. */
static void fold_block(const reduce_fused_run *r, int64_t at, int64_t n, number *out, char *mem) {
    const reduce_fused_state *s = r->s;
    const simd_ops *simd = simd_get();
    void *block = mem + program_bytes(s);
    int64_t rows = n > s->run ? n / s->run : 1, each = n / rows;
    if (s->folding && jit_folds_length(each)) {
        vprog_run_part(s->folding, at, at + n, r->call->in, (void *[1]){out}, mem);
        for (int64_t k = 0; k < rows && s->fold != FOLD_SUM && s->fold != FOLD_PROD; k++) {
            if (out[k].f < 0 || out[k].f > 0) continue; /* else which NaN, or which zero? */
            vprog_run_part(s->vprog, at + k * each, at + (k + 1) * each, r->call->in, (void *[1]){block}, mem);
            out[k].f = simd->fold[s->fold](block, each);
        }
        return;
    }
    vprog_run_part(s->vprog, at, at + n, r->call->in, (void *[1]){block}, mem);
    if (s->whole)
        for (int64_t k = 0; k < rows; k++)
            simd->run[FOLD_SUM][VPROG_U32](&out[k].i, (const uint32_t *)block + k * each, each);
    else if (s->run < SHORTEST_FOLDED)
        simd->fold_short[s->fold](&out->f, block, rows, s->run);
    else
        for (int64_t k = 0; k < rows; k++) out[k].f = simd->fold[s->fold]((const float *)block + k * each, each);
}

/* Tasks are rows, which lie one behind the other. */
static void fold_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const reduce_fused_run *r = ctx;
    const reduce_fused_state *s = r->s;
    char *mem = (char *)r->call->scratch + (size_t)thread * thread_bytes(s);
    for (int64_t row = begin, step = rows_of_block(s); row < end; row += step) {
        int64_t n = end - row < step ? end - row : step;
        fold_block(r, row * s->run, n * s->run, r->partial + row, mem);
    }
}

/* Tasks are parts of rows. */
static void fold_parts(void *ctx, int64_t begin, int64_t end, int thread) {
    const reduce_fused_run *r = ctx;
    const reduce_fused_state *s = r->s;
    char *mem = (char *)r->call->scratch + (size_t)thread * thread_bytes(s);
    for (int64_t t = begin; t < end; t++) {
        int64_t row = t / s->parts * s->run, p = t % s->parts, from = s->run * p / s->parts,
                to = s->run * (p + 1) / s->parts;
        number acc = {.f = cpu_fold_neutral(s->fold)}, some; /* of a sum: no bits */
        for (int64_t i = from; i < to; i += BLOCK) {
            fold_block(r, row + i, to - i < BLOCK ? to - i : BLOCK, &some, mem);
            acc = fold_two(s, acc, some);
        }
        r->partial[t] = acc;
    }
}

static xt_status reduce_fused_run_op(const cpu_call *c) {
    const reduce_fused_state *s = c->thunk->state;
    reduce_fused_run r = {s, c, (number *)(void *)((char *)c->scratch + s->partial_at)};
    int64_t rows = rows_of_block(s), least = 2 * BLOCK * s->parts / s->run; /* tasks that are worth a thread's while */
    if (rows > 1)
        team_for(&c->device->team, s->keep, (least / rows + 1) * rows, fold_rows, &r);
    else
        team_for(&c->device->team, s->keep * s->parts, least + 1, fold_parts, &r);
    if (s->parts == 1 && !s->half && !s->whole) {
        float *out = c->out[0];
        for (int64_t k = 0; k < s->keep; k++) out[k] = s->init.f;
        simd_get()->fold_rows[s->fold](out, &r.partial->f, s->keep);
        return NULL;
    }
    for (int64_t k = 0; k < s->keep; k++) {
        number acc = s->init;
        for (int64_t p = 0; p < s->parts; p++) acc = fold_two(s, acc, r.partial[k * s->parts + p]);
        if (s->half)
            simd_get()->ops[VPROG_STORE_BF16][VPROG_F32]((uint16_t *)c->out[0] + k, &acc, NULL, NULL, 1);
        else
            memcpy((number *)c->out[0] + k, &acc, sizeof acc);
    }
    return NULL;
}
static bool reduce_fused_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    return vprog_access(((const reduce_fused_state *)t->state)->vprog, t->reads, k, out);
}
static const cpu_kernel reduce_fused_kernel = {"loop-reduce", reduce_fused_run_op, reduce_fused_free, true,
                                               .access = reduce_fused_access};

static bool splat_value(cpu_builder *b, const ir_value *v, number *out) {
    const void *x = cpu_build_splat(b, v);
    if (!x) return false;
    if (v->type->dtype == XT_BF16)
        simd_get()->ops[VPROG_LOAD_BF16][VPROG_F32](out, x, NULL, NULL, 1);
    else
        memcpy(out, x, sizeof *out);
    return true;
}

/* May it be folded here? Floats by any fold, integers to their sum. */
static bool takes_type(xt_dtype d, fold_op f) {
    return d == XT_F32 || d == XT_BF16 || ((d == XT_I32 || d == XT_U32) && f == FOLD_SUM);
}

static int64_t parts_of(const fold_axes *a) {
    int64_t want = 64 / a->keep + 1, most = a->run / 1024 + 1;
    return a->keep >= 64 ? 1 : want < most ? want : most;
}

CPU_LOWER(reduce_fused) {
    const ir_type *t = op->in[0]->type;
    size_t n_dims;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n_dims);
    fold_op f;
    fold_axes axes;
    number init;
    if (!b->fuse_on || op->n_in != 2 || t->rank > VIEW_MAX ||
        t->count < (op->in[0]->uses > 1 ? least_shared : least_count))
        return NULL;
    if (op->in[1]->type->dtype != t->dtype || op->out[0].type->dtype != t->dtype || !cpu_fold_of(&op->regions[0], &f) ||
        !takes_type(t->dtype, f) || !splat_value(b, op->in[1], &init))
        return NULL;
    cpu_fold_axes(t, dims, n_dims, &axes);
    if (!axes.inner_reduced || axes.red != 1 || axes.run < SHORTEST_ROW) return NULL;
    bool whole = t->dtype == XT_I32 || t->dtype == XT_U32;
    group_remat remat = {.fold = f, .run = axes.run, .memory = whole ? t->dtype : XT_F32};
    XT_TRY(group_rematerialise(b, op->in[0], MOST_OPS, MOST_SLOW, &remat));
    if (!remat.vprog) return NULL;
    reduce_fused_state *s = base_calloc(1, sizeof *s);
    if (!s) {
        group_remat_free(&remat);
        return status_oom(sizeof *s, "a plan");
    }
    *s = (reduce_fused_state){.vprog = remat.vprog,
                              .folding = remat.folding,
                              .fold = f,
                              .half = t->dtype == XT_BF16,
                              .whole = whole,
                              .init = init,
                              .keep = axes.keep,
                              .run = axes.run,
                              .parts = cpu_build_exec(b)->is_tile ? 1 : parts_of(&axes)};
    remat.vprog = remat.folding = NULL; /* the thunk's */
    s->partial_at = (thread_bytes(s) * (size_t)cpu_build_threads(b) + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &reduce_fused_kernel,
                        .op = op,
                        .n_out = 1,
                        .scratch_bytes = s->partial_at + (size_t)(s->keep * s->parts) * sizeof(number),
                        .state = s,
                        .flops = cpu_op_flops(op) + remat.flops,
                        .transcendentals = remat.transcendentals};
    xt_status st = group_remat_thunk(b, &remat, &d);
    group_remat_free(&remat);
    return st;
}
