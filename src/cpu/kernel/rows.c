/* Elementwise ops whose element types the fused loops have no registers for (complex numbers, 8-bit floats,
 * sub-byte integers, total order, reduce_precision): one typed row loop each, the reference interpreter's own, over
 * all threads. Sizes and products of complex numbers, for which C has no vectors, are loops of simd.inc. */
#include "cpu/kernel/kernel.h"
#include "ir/interp_int.h"

typedef struct rows_state {
    ew e;
    size_t size[3], out_size;
    bool one[3]; /* an operand of one element stands for all */
    int64_t count;
    /* NULL: the interpreter's loop */
    void (*abs)(float *d, const float *z, int64_t n);
    bool (*mul)(float *d, const float *a, const float *b, int64_t n);
} rows_state;
typedef struct rows_run {
    const rows_state *s;
    void *const *in;
    char *out;
} rows_run;

/* Through memory of its own: the result may lie where an operand does, which the interpreter's loop still needs. */
static bool multiply(const rows_state *s, void *out, const void *const *in, int64_t n) {
    float product[2 * INTERP_CHUNK];
    if (s->mul(product, in[0], in[1], n)) return false;
    memcpy(out, product, (size_t)n * 2 * sizeof *product);
    return true;
}

static void rows_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const rows_run *r = ctx;
    const rows_state *s = r->s;
    uint64_t repeated[3][2 * INTERP_CHUNK]; /* elements of up to 16 bytes */
    if (s->abs) {
        s->abs((float *)(void *)r->out + begin, (const float *)r->in[0] + 2 * begin, end - begin);
        return;
    }
    for (int k = 0; k < s->e.n_in; k++)
        if (s->one[k]) fill_elems(repeated[k], INTERP_CHUNK, r->in[k], s->size[k]);
    for (int64_t at = begin; at < end; at += INTERP_CHUNK) {
        int64_t n = end - at < INTERP_CHUNK ? end - at : INTERP_CHUNK;
        const void *in[3] = {0};
        for (int k = 0; k < s->e.n_in; k++)
            in[k] = s->one[k] ? (const void *)repeated[k] : (const char *)r->in[k] + (size_t)at * s->size[k];
        void *out = r->out + (size_t)at * s->out_size;
        if (!s->mul || !multiply(s, out, in, n)) ew_run(&s->e, n, in, out);
    }
}

static xt_status rows_run_op(const cpu_call *c) {
    const rows_state *s = c->thunk->state;
    rows_run r = {s, c->in, c->out[0]};
    team_for(&c->device->team, s->count, 8 * INTERP_CHUNK, rows_chunk, &r);
    return NULL;
}
static const cpu_kernel rows_kernel = {"rows", rows_run_op, NULL, true};

CPU_LOWER(rows) {
    rows_state s = {.count = op->n_out == 1 ? op->out[0].type->count : -1}; /* a custom call may have no result */
    if (!(ir_op_infos[op->code].flags & IR_ELEMENTWISE) || s.count < 0 || !ew_init(&s.e, op)) return NULL;
    uint64_t in_place = 0;
    s.out_size = xt_dtype_size(op->out[0].type->dtype);
    for (uint32_t k = 0; k < op->n_in; k++) {
        const ir_type *t = op->in[k]->type;
        s.size[k] = xt_dtype_size(t->dtype);
        s.one[k] = t->count == 1 && s.count != 1;
        if (!s.one[k] && t->count != s.count) return NULL;
        if (!s.one[k] && s.size[k] == s.out_size) in_place |= UINT64_C(1) << k;
    }
    if (op->code == OP_abs && op->in[0]->type->dtype == XT_C64) s.abs = simd_get()->abs_c64;
    if (op->code == OP_multiply && op->out[0].type->dtype == XT_C64) s.mul = simd_get()->mul_c64;
    rows_state *kept = base_malloc(sizeof *kept);
    if (!kept) return status_oom(sizeof *kept, "a plan");
    *kept = s;
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &rows_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = 1,
                        .in_place = &in_place,
                        .state = kept,
                        .flops = cpu_op_flops(op),
                        .transcendentals = cpu_op_transcendentals(op)};
    return cpu_build_thunk(b, &d);
}

/* --- iota of such types --- */
typedef struct iota_state {
    int64_t inner, size, count;
    xt_dtype type;
} iota_state;
typedef struct iota_run {
    const iota_state *s;
    char *out;
} iota_run;
static void iota_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const iota_run *r = ctx;
    int64_t row[INTERP_CHUNK];
    for (int64_t at = begin; at < end; at += INTERP_CHUNK) {
        int64_t n = end - at < INTERP_CHUNK ? end - at : INTERP_CHUNK;
        for (int64_t i = 0; i < n; i++) row[i] = (at + i) / r->s->inner % r->s->size;
        convert_elems(n, XT_I64, row, r->s->type, r->out + (size_t)at * xt_dtype_size(r->s->type));
    }
}
static xt_status iota_run_op(const cpu_call *c) {
    iota_run r = {c->thunk->state, c->out[0]};
    team_for(&c->device->team, r.s->count, 8 * INTERP_CHUNK, iota_chunk, &r);
    return NULL;
}
static const cpu_kernel iota_kernel = {"iota", iota_run_op, NULL, true};

CPU_LOWER(iota) {
    const ir_type *t = op->out[0].type;
    int64_t dim = ir_get_int(op, IR_A_iota_dimension, 0);
    if (t->count < 0) return NULL;
    iota_state *s = base_malloc(sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = (iota_state){.inner = 1, .size = t->dims[dim] > 0 ? t->dims[dim] : 1, .count = t->count, .type = t->dtype};
    for (uint32_t i = (uint32_t)dim + 1; i < t->rank; i++) s->inner *= t->dims[i];
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &iota_kernel, .op = op, .n_in = 0, .n_out = 1, .state = s};
    return cpu_build_thunk(b, &d);
}
