/* Moving elements: transpose, pad, dynamic slices: copies between two strided windows of the same dims; concatenate:
 * rows of pieces. */
#include "cpu/kernel/kernel.h"
#include "cpu/vector/move.h"
#include "cpu/vector/simd.h"

typedef struct moves {
    size_t n; /* copies: one or none */
    bool fill; /* pad: input 1 goes where no element does */
    int64_t fill_count;
    bool dynamic; /* dynamic_slice: the source offset is computed from start inputs; update: the destination's */
    int rank;
    int64_t limit[VIEW_MAX], stride[VIEW_MAX];
    xt_dtype start_type;
    cpu_move m[];
} moves;

static moves *moves_new(size_t n) {
    moves *m = base_calloc(1, sizeof *m + n * sizeof m->m[0]);
    return m;
}

static xt_status moves_run(const cpu_call *c) {
    const moves *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    if (s->fill) {
        cpu_pad_run(team, &s->m[0], c->out[0], c->in[0], c->in[1], s->fill_count);
        return NULL;
    }
    if (s->n) cpu_move_run(team, &s->m[0], c->out[0], c->in[0]);
    return NULL;
}
/* One copy, of what the result is a window on or a transpose of. */
static bool whole_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    const moves *s = t->state;
    return cpu_move_access(&s->m[0], &t->op->out[0], k, out);
}
/* Where from and where to, and what is filled besides. */
static bool pad_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    const moves *s = t->state;
    if (k == 2 * s->n) {
        *out = (cpu_access){.arg = t->n_in, .elem = xt_dtype_size(t->op->out[0].type->dtype)};
        out->at = (view){.n = 1, .dims = {s->fill_count}, .strides = {1}};
        return true;
    }
    if (k > 2 * s->n) return false;
    const cpu_move *m = &s->m[0];
    *out = (cpu_access){.arg = k % 2 ? t->n_in : 0, .elem = m->elem, .at = k % 2 ? m->dst : m->src};
    return true;
}
static const cpu_kernel transpose_kernel = {"transpose", moves_run, NULL, true, .access = whole_access};
static const cpu_kernel window_kernel = {"window", moves_run, NULL, true, .access = whole_access};
static const cpu_kernel pad_kernel = {"pad", moves_run, NULL, true, .access = pad_access};

static xt_status take(cpu_builder *b, const ir_op *op, const cpu_kernel *k, moves *m, uint64_t in_place,
                      bool *out_done) {
    *out_done = true;
    cpu_thunk_desc d = {.kernel = k, .op = op, .n_in = op->n_in, .n_out = 1, .in_place = &in_place, .state = m};
    return cpu_build_thunk(b, &d);
}

CPU_LOWER(transpose) {
    view dst, src;
    const ir_value *base;
    if (!view_dense(op->out[0].type, &dst) || !cpu_build_permuted(&op->out[0], &base, &src)) return NULL;
    moves *m = moves_new(1);
    if (!m) return status_oom(sizeof *m, "a plan");
    m->n = cpu_move_make(&dst, &src, op->out[0].type->dtype, &m->m[0]);
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &transpose_kernel, .op = op, .n_in = 1, .in = &base, .n_out = 1, .state = m};
    return cpu_build_thunk(b, &d);
}

/* Broadcasts, slices and reversals of elements that no loop reads as they are (16 bytes). */
CPU_LOWER(window) {
    view dst, dense, src;
    if (!view_dense(op->out[0].type, &dst) || !view_dense(op->in[0]->type, &dense) || !view_through(op, &dense, &src))
        return NULL;
    moves *m = moves_new(1);
    if (!m) return status_oom(sizeof *m, "a plan");
    m->n = cpu_move_make(&dst, &src, op->out[0].type->dtype, &m->m[0]);
    return take(b, op, &window_kernel, m, 0, out_done);
}

CPU_LOWER(pad) {
    size_t n;
    const int64_t *low = ir_get_ints(op, IR_A_edge_padding_low, &n),
                  *interior = ir_get_ints(op, IR_A_interior_padding, &n);
    const ir_type *in = op->in[0]->type, *to = op->out[0].type;
    view dst, src;
    if (!view_dense(to, &dst) || !view_dense(in, &src)) return NULL;
    for (int i = 0; i < src.n; i++) {
        int64_t step = 1 + interior[i], first = 0, last = in->dims[i] - 1;
        /* elements [first, last] of the operand land inside the result; negative edges cut the others */
        if (low[i] < 0) first = (-low[i] + step - 1) / step;
        if (last >= 0 && low[i] + last * step >= to->dims[i])
            last = to->dims[i] - 1 - low[i] < 0 ? -1 : (to->dims[i] - 1 - low[i]) / step;
        int64_t count = last - first + 1 > 0 ? last - first + 1 : 0;
        src.offset += first * src.strides[i];
        dst.offset += (low[i] + first * step) * dst.strides[i];
        dst.strides[i] *= step;
        dst.dims[i] = src.dims[i] = count;
    }
    moves *m = moves_new(1);
    if (!m) return status_oom(sizeof *m, "a plan");
    m->n = cpu_move_make(&dst, &src, to->dtype, &m->m[0]);
    m->fill = true;
    m->fill_count = to->count;
    return take(b, op, &pad_kernel, m, 0, out_done);
}

/* --- concatenate --- */
/* The result is rows one after the other, each of which has a stretch of every operand: what lies behind the
 * concatenated dim is contiguous in both. An operand that is a window on something else is copied from there, after the
 * others. */
enum { MOST_EVEN = 16 };
typedef struct pieces {
    size_t n, elem, n_seen;
    bool even; /* stretches of elements that registers have, all of one length */
    int64_t rows, row; /* bytes */
    struct piece {
        int64_t at, bytes; /* of a row of the result; operands are rows of `bytes` */
        bool seen; /* through a window: by this move */
        cpu_move m;
        view from, order; /* of what is seen: where its elements are, and which they are */
    } p[];
} pieces;
typedef struct pieces_run {
    const pieces *s;
    char *dst;
    void *const *src;
    int64_t unit; /* bytes that a chunk is counted in: whole rows of short ones */
} pieces_run;

/* Short stretches by moves of fixed size, the last of which may overlap the one before. */
static void copy_stretches(char *dst, int64_t dst_row, const char *src, int64_t bytes, int64_t rows) {
    enum { WORD = 16, LONG = 256 };
    switch (bytes) {
#define FIXED(N)                                                                                 \
    case N:                                                                                      \
        for (int64_t r = 0; r < rows; r++) memcpy(dst + r * dst_row, src + r * (int64_t)(N), N); \
        return
        FIXED(1);
        FIXED(2);
        FIXED(4);
        FIXED(8);
        FIXED(16);
#undef FIXED
    default: break;
    }
    for (int64_t r = 0; r < rows; r++, dst += dst_row, src += bytes) {
        if (bytes < WORD || bytes > LONG) {
            memcpy(dst, src, (size_t)bytes);
            continue;
        }
        for (int64_t k = 0; k + WORD <= bytes; k += WORD) memcpy(dst + k, src + k, WORD);
        memcpy(dst + bytes - WORD, src + bytes - WORD, WORD);
    }
}

/* Some short rows at a time, by one operand after the other: their lines stay in the first-level cache meanwhile. */
static void pieces_rows(const pieces_run *r, int64_t begin, int64_t end) {
    enum { NEAR = 8192 };
    const pieces *s = r->s;
    const int64_t some = s->row < NEAR ? NEAR / s->row : 1, width = s->p[0].bytes / (int64_t)s->elem;
    for (int64_t k = begin; k < end; k += some) {
        int64_t n = end - k < some ? end - k : some;
        if (s->even) {
            const void *src[MOST_EVEN];
            for (size_t i = 0; i < s->n; i++) src[i] = (char *)r->src[i] + k * s->p[0].bytes;
            simd_get()->interleave[s->elem == 8 ? 3 : s->elem / 2](r->dst, src, (int64_t)s->n, width, k * width,
                                                                   n * width);
            continue;
        }
        for (size_t i = 0; i < s->n; i++) {
            const struct piece *p = &s->p[i];
            if (p->bytes && !p->seen)
                copy_stretches(r->dst + k * s->row + p->at, s->row, (char *)r->src[i] + k * p->bytes, p->bytes, n);
        }
    }
}
static void pieces_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const pieces_run *r = ctx;
    const pieces *s = r->s;
    if (r->unit > 1) {
        pieces_rows(r, begin, end);
        return;
    }
    int64_t k = begin / s->row, at = begin % s->row, left = end - begin;
    for (size_t i = 0; left > 0; i++) {
        if (i == s->n) i = 0, k++, at = 0;
        const struct piece *p = &s->p[i];
        if (at >= p->at + p->bytes) continue;
        int64_t n = p->at + p->bytes - at;
        if (n > left) n = left;
        if (!p->seen) memcpy(r->dst + k * s->row + at, (char *)r->src[i] + k * p->bytes + at - p->at, (size_t)n);
        at += n;
        left -= n;
    }
}
static xt_status pieces_run_op(const cpu_call *c) {
    enum { CHUNK = 1 << 17 /* bytes */ };
    const pieces *s = c->thunk->state;
    if (s->rows == 0 || s->row == 0) return NULL;
    pieces_run r = {s, c->out[0], c->in, s->row <= CHUNK ? s->row : 1};
    if (s->n_seen < s->n) team_for(&c->device->team, s->rows * (s->row / r.unit), CHUNK / r.unit, pieces_chunk, &r);
    for (size_t i = 0; i < s->n; i++)
        if (s->p[i].seen && s->p[i].bytes) cpu_move_run(&c->device->team, &s->p[i].m, c->out[0], c->in[i]);
    return NULL;
}
static bool concatenate_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    const pieces *s = t->state;
    if (k >= 2 * s->n) return false;
    const struct piece *p = &s->p[k / 2];
    const int64_t e = (int64_t)s->elem;
    *out = (cpu_access){.arg = k % 2 ? t->n_in : k / 2, .elem = s->elem};
    if (p->seen && k % 2 == 0) {
        out->at = p->from, out->order = p->order, out->value = t->op->in[k / 2];
        return true;
    }
    out->at = (view){.n = 2, .dims = {s->rows, p->bytes / e}, .strides = {p->bytes / e, 1}};
    if (k % 2) out->at.offset = p->at / e, out->at.strides[0] = s->row / e;
    return true;
}
static const cpu_kernel concatenate_kernel = {"concatenate", pieces_run_op, NULL, true, .access = concatenate_access};

/* Where operand i is read, and how. */
static xt_status piece_read(cpu_builder *b, const ir_op *op, uint32_t i, pieces *s, cpu_ref *out) {
    const ir_type *t = op->in[i]->type;
    struct piece *p = &s->p[i];
    view src, dst, order;
    XT_TRY(cpu_build_seen(b, op->in[i], out, &src));
    view_dense(t, &order);
    if (t->count == 0 || (view_is_dense(&src) && src.offset == 0)) return NULL;
    if (view_is_dense(&src)) { /* a stretch of memory */
        out->offset += (size_t)src.offset * s->elem;
        return NULL;
    }
    view_dense(op->out[0].type, &dst);
    memcpy(dst.dims, t->dims, t->rank * sizeof *dst.dims);
    dst.offset = p->at / (int64_t)s->elem;
    p->seen = cpu_move_make(&dst, &src, t->dtype, &p->m);
    s->n_seen += p->seen;
    view at = src;
    view_collapse2(&order, &at);
    p->order = order, p->from = at;
    return NULL;
}

CPU_LOWER(concatenate) {
    const ir_type *to = op->out[0].type;
    const int64_t dim = ir_get_int(op, IR_A_dimension, 0);
    view whole;
    if (!view_dense(to, &whole)) return NULL;
    pieces *s = base_calloc(1, sizeof *s + op->n_in * sizeof s->p[0]);
    cpu_ref *refs = base_calloc(op->n_in, sizeof *refs);
    if (!s || !refs) {
        base_free(s);
        base_free(refs);
        return status_oom(0, "a plan");
    }
    s->n = op->n_in;
    s->elem = xt_dtype_size(to->dtype);
    s->rows = 1;
    for (int64_t i = 0; i < dim; i++) s->rows *= to->dims[i];
    for (uint32_t i = 0; i < op->n_in; i++) {
        s->p[i] =
            (struct piece){.at = s->row, .bytes = op->in[i]->type->dims[dim] * whole.strides[dim] * (int64_t)s->elem};
        s->row += s->p[i].bytes;
    }
    xt_status failed = NULL;
    for (uint32_t i = 0; i < op->n_in && !failed; i++) failed = piece_read(b, op, i, s, &refs[i]);
    if (failed) {
        base_free(s);
        base_free(refs);
        return failed;
    }
    s->even = s->n <= MOST_EVEN && s->n_seen == 0 && s->elem <= 8 && s->p[0].bytes > 0;
    for (size_t i = 0; i < s->n; i++) s->even = s->even && s->p[i].bytes == s->p[0].bytes;
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &concatenate_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .in = (const ir_value *const *)op->in,
                        .refs = refs,
                        .n_out = 1,
                        .state = s};
    failed = cpu_build_thunk(b, &d);
    base_free(refs);
    return failed;
}

/* --- dynamic slices --- */
static int64_t read_start(const void *p, xt_dtype t) {
    switch ((int)t) {
    case XT_I8: return *(const int8_t *)p;
    case XT_I16: return *(const int16_t *)p;
    case XT_I32: return *(const int32_t *)p;
    case XT_U8: return *(const uint8_t *)p;
    case XT_U16: return *(const uint16_t *)p;
    case XT_U32: return *(const uint32_t *)p;
    case XT_U64: return *(const uint64_t *)p > INT64_MAX ? INT64_MAX : (int64_t) * (const uint64_t *)p;
    default: return *(const int64_t *)p;
    }
}

/* Where the box starts in the large array; starts are clamped so that the box stays inside. */
static int64_t start_offset(const moves *s, void *const *starts) {
    int64_t at = 0;
    for (int i = 0; i < s->rank; i++) {
        int64_t v = read_start(starts[i], s->start_type);
        v = v < 0 ? 0 : v > s->limit[i] ? s->limit[i] : v;
        at += v * s->stride[i];
    }
    return at;
}

static xt_status dynamic_slice_run(const cpu_call *c) {
    const moves *s = c->thunk->state;
    cpu_move m = s->m[0];
    m.src.offset += start_offset(s, c->in + 1);
    if (s->n) cpu_move_run(&c->device->team, &m, c->out[0], c->in[0]);
    return NULL;
}
static xt_status dynamic_update_run(const cpu_call *c) {
    const moves *s = c->thunk->state;
    cpu_move m = s->m[0];
    if (c->out[0] != c->in[0]) {
        size_t bytes = ir_type_bytes(c->thunk->op->out[0].type);
        cpu_copy_run(&c->device->team, c->out[0], c->in[0], bytes);
    }
    m.dst.offset += start_offset(s, c->in + 2);
    if (s->n) cpu_move_run(&c->device->team, &m, c->out[0], c->in[1]);
    return NULL;
}
/* The box where it starts at 0, and as far behind as it may lie, then the rest of what is written; `into`: the box is
 * written, after all of the result has been. */
static bool box_access(const cpu_thunk *t, uint32_t k, bool into, cpu_access *out) {
    const moves *s = t->state;
    const cpu_move *m = &s->m[0];
    if (!s->n || k > 2) return false;
    *out = (cpu_access){.arg = t->n_in, .elem = m->elem, .at = m->dst};
    if (into) out->at = (view){.n = 1, .dims = {t->op->out[0].type->count}, .strides = {1}};
    if (k == 2) return true;
    *out = (cpu_access){.arg = into ? t->n_in : 0, .elem = m->elem, .at = into ? m->dst : m->src};
    for (int i = 0; i < s->rank && k == 1; i++) out->at.offset += s->limit[i] * s->stride[i];
    return true;
}
static bool dynamic_slice_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    return box_access(t, k, false, out);
}
static bool dynamic_update_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    return box_access(t, k, true, out);
}
static const cpu_kernel dynamic_slice_kernel = {"dynamic-slice", dynamic_slice_run, NULL, true,
                                                .access = dynamic_slice_access};
static const cpu_kernel dynamic_update_kernel = {"dynamic-update-slice", dynamic_update_run, NULL, true,
                                                 .access = dynamic_update_access};

static bool box(const ir_type *large, const ir_type *small, xt_dtype start_type, bool into, moves *m) {
    view l, s;
    if (!view_dense(large, &l) || !view_dense(small, &s)) return false;
    m->rank = l.n;
    m->start_type = start_type;
    for (int i = 0; i < l.n; i++) {
        m->limit[i] = large->dims[i] - small->dims[i];
        m->stride[i] = l.strides[i];
        l.dims[i] = small->dims[i];
    }
    m->n = into ? cpu_move_make(&l, &s, large->dtype, &m->m[0]) : cpu_move_make(&s, &l, large->dtype, &m->m[0]);
    return true;
}

CPU_LOWER(dynamic_slice) {
    moves *m = moves_new(1);
    if (!m) return status_oom(sizeof *m, "a plan");
    if (!box(op->in[0]->type, op->out[0].type, op->n_in > 1 ? op->in[1]->type->dtype : XT_I64, false, m)) {
        base_free(m);
        return NULL;
    }
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &dynamic_slice_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = 1,
                        .state = m,
                        .bytes = 2.0 * (double)ir_type_bytes(op->out[0].type)};
    return cpu_build_thunk(b, &d);
}

CPU_LOWER(dynamic_update_slice) {
    moves *m = moves_new(1);
    if (!m) return status_oom(sizeof *m, "a plan");
    if (!box(op->out[0].type, op->in[1]->type, op->n_in > 2 ? op->in[2]->type->dtype : XT_I64, true, m)) {
        base_free(m);
        return NULL;
    }
    return take(b, op, &dynamic_update_kernel, m, 1, out_done);
}
