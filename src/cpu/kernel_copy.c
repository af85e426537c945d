/* Moving elements: transpose, pad, concatenate, dynamic slices. All are copies between two strided windows of the same dims. */
#include "cpu/kernel_copy.h"
#include "cpu/cpu_int.h"
#include "ir/interp_int.h"

/* --- one strided copy ------------------------------------------------------------------------------------------------------------ */
/* Where the source is contiguous along another dim than the destination, squares of one cache line by as many are moved, through a square of its own memory: each
 * line of the source is read once and each of the destination written once. Read in place, the lines of a matrix whose rows are a power of two apart (768, 3072)
 * share one set of the first-level cache and push each other out before their second element is wanted. */
enum { LINE = 64, ABREAST = 4 /* squares side by side in the destination, before the next below */ };

/* dst[r][c] = square[c][r]; the columns of four rows at a time, so that few lines are written at once. */
typedef uint32_t lane4 __attribute__((vector_size(16)));
static void turn_four(uint32_t *dst, int64_t dst_row, const uint32_t *square) {
    lane4 v[4], w[4];
    for (int i = 0; i < 4; i++) memcpy(&v[i], square + i * (LINE / 4), sizeof v[i]);
    w[0] = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
    w[1] = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
    w[2] = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
    w[3] = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(w[0], w[2], 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(w[0], w[2], 2, 3, 6, 7);
    v[2] = __builtin_shufflevector(w[1], w[3], 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(w[1], w[3], 2, 3, 6, 7);
    for (int i = 0; i < 4; i++) memcpy(dst + i * dst_row, &v[i], sizeof v[i]);
}
static void turn_uint32_t(uint32_t *dst, int64_t dst_row, const uint32_t *square) {
    for (int r = 0; r < LINE / 4; r += 4)
        for (int c = 0; c < LINE / 4; c += 4) turn_four(dst + r * dst_row + c, dst_row, square + c * (LINE / 4) + r);
}
#define TURN(T)                                                                                                                                      \
    static void turn_##T(T *dst, int64_t dst_row, const T *square) {                                                                                 \
        enum { SIDE = LINE / sizeof(T) };                                                                                                            \
        for (int r = 0; r < SIDE; r++)                                                                                                               \
            for (int c = 0; c < SIDE; c++) dst[r * dst_row + c] = square[c * SIDE + r];                                                              \
    }
TURN(uint8_t)
TURN(uint16_t)
TURN(uint64_t)

#define TRANSPOSE(T)                                                                                                                                 \
    static void transpose_##T(T *dst, int64_t dst_row, const T *src, int64_t src_col, int64_t rows, int64_t cols) {                                  \
        enum { SIDE = LINE / sizeof(T) };                                                                                                            \
        T square[SIDE * SIDE];                                                                                                                       \
        int64_t r1 = rows - rows % SIDE, c1 = cols - cols % SIDE;                                                                                    \
        for (int64_t block = 0; block < c1; block += SIDE * ABREAST)                                                                                 \
            for (int64_t r0 = 0; r0 < r1; r0 += SIDE)                                                                                                \
                for (int64_t c0 = block; c0 < c1 && c0 < block + SIDE * ABREAST; c0 += SIDE) {                                                       \
                    for (int c = 0; c < SIDE; c++) memcpy(square + c * SIDE, src + (c0 + c) * src_col + r0, LINE);                                   \
                    turn_##T(dst + r0 * dst_row + c0, dst_row, square);                                                                              \
                }                                                                                                                                    \
        for (int64_t r = 0; r < rows; r++) /* what is left at the right and below */                                                                 \
            for (int64_t c = r < r1 ? c1 : 0; c < cols; c++) dst[r * dst_row + c] = src[c * src_col + r];                                            \
    }
TRANSPOSE(uint8_t)
TRANSPOSE(uint16_t)
TRANSPOSE(uint32_t)
TRANSPOSE(uint64_t)

#define STRIDED(T)                                                                                                                                   \
    static void strided_##T(T *dst, int64_t ds, const T *src, int64_t ss, int64_t n) {                                                               \
        if (ds == 1 && ss == 0)                                                                                                                      \
            for (int64_t i = 0; i < n; i++) dst[i] = *src;                                                                                           \
        else                                                                                                                                         \
            for (int64_t i = 0; i < n; i++) dst[i * ds] = src[i * ss];                                                                               \
    }
STRIDED(uint8_t)
STRIDED(uint16_t)
STRIDED(uint32_t)
STRIDED(uint64_t)

static void copy_row(size_t elem, char *dst, int64_t ds, const char *src, int64_t ss, int64_t n) {
    if (ds == 1 && ss == 1) {
        memcpy(dst, src, (size_t)n * elem);
        return;
    }
    switch (elem) {
    case 1: strided_uint8_t((uint8_t *)dst, ds, (const uint8_t *)src, ss, n); break;
    case 2: strided_uint16_t((uint16_t *)dst, ds, (const uint16_t *)src, ss, n); break;
    case 4: strided_uint32_t((uint32_t *)dst, ds, (const uint32_t *)src, ss, n); break;
    case 8: strided_uint64_t((uint64_t *)dst, ds, (const uint64_t *)src, ss, n); break;
    default:
        for (int64_t i = 0; i < n; i++) memcpy(dst + i * ds * (int64_t)elem, src + i * ss * (int64_t)elem, elem);
    }
}

typedef struct move_run {
    const cpu_move *m;
    char *dst;
    const char *src;
    int row; /* dim that is contiguous in the source, transposed against the last; -1 = plain rows */
    int outer; /* dims walked by the odometer: all but the last (and `row`) */
    int walk[VIEW_MAX];
    int64_t total;
} move_run;

static void move_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const move_run *r = ctx;
    const cpu_move *m = r->m;
    int last = m->dst.n - 1;
    int64_t e = (int64_t)m->elem;
    for (int64_t k = begin; k < end; k++) {
        int64_t rest = k, d = m->dst.offset, s = m->src.offset;
        for (int i = r->outer - 1; i >= 0; i--) {
            int dim = r->walk[i];
            int64_t at = rest % m->dst.dims[dim];
            rest /= m->dst.dims[dim];
            d += at * m->dst.strides[dim];
            s += at * m->src.strides[dim];
        }
        char *dst = r->dst + d * e;
        const char *src = r->src + s * e;
        if (r->row < 0) {
            copy_row(m->elem, dst, m->dst.strides[last], src, m->src.strides[last], m->dst.dims[last]);
            continue;
        }
        int64_t rows = m->dst.dims[r->row], cols = m->dst.dims[last], dr = m->dst.strides[r->row], sc = m->src.strides[last];
        switch (m->elem) {
        case 1: transpose_uint8_t((uint8_t *)dst, dr, (const uint8_t *)src, sc, rows, cols); break;
        case 2: transpose_uint16_t((uint16_t *)dst, dr, (const uint16_t *)src, sc, rows, cols); break;
        case 4: transpose_uint32_t((uint32_t *)dst, dr, (const uint32_t *)src, sc, rows, cols); break;
        default: transpose_uint64_t((uint64_t *)dst, dr, (const uint64_t *)src, sc, rows, cols); break;
        }
    }
}

/* m is collapsed. A long transposed row dim is cut so that threads share it. */
void cpu_move_run(const cpu_team *team, const cpu_move *m, void *dst, const void *src) {
    cpu_move local = *m;
    if (local.dst.n == 0) {
        memcpy((char *)dst + local.dst.offset * (int64_t)m->elem, (const char *)src + local.src.offset * (int64_t)m->elem, m->elem);
        return;
    }
    int last = local.dst.n - 1;
    move_run r = {.m = &local, .dst = dst, .src = src, .row = -1, .total = 1};
    if (local.dst.strides[last] == 1 && local.src.strides[last] != 1 && local.elem <= 8)
        for (int i = 0; i < last; i++)
            if (local.src.strides[i] == 1) r.row = i;
    if (r.row >= 0 && local.dst.n < VIEW_MAX && local.dst.dims[r.row] > 64 && local.dst.dims[r.row] % 64 == 0) {
        /* rows = (rows / 64) x 64: the outer part becomes a dim of its own in front */
        view *v[2] = {&local.dst, &local.src};
        for (int k = 0; k < 2; k++) {
            memmove(v[k]->dims + 1, v[k]->dims, (size_t)v[k]->n * sizeof *v[k]->dims);
            memmove(v[k]->strides + 1, v[k]->strides, (size_t)v[k]->n * sizeof *v[k]->strides);
            v[k]->n++;
            v[k]->dims[0] = v[k]->dims[r.row + 1] / 64;
            v[k]->strides[0] = v[k]->strides[r.row + 1] * 64;
            v[k]->dims[r.row + 1] = 64;
        }
        r.row++;
        last++;
    }
    int64_t each = local.dst.dims[last];
    for (int i = 0; i < last; i++) {
        if (i == r.row) {
            each *= local.dst.dims[i];
            continue;
        }
        r.walk[r.outer++] = i;
        r.total *= local.dst.dims[i];
    }
    if (each == 0) return;
    int64_t grain = 65536 / each;
    team_for(team, r.total, grain < 1 ? 1 : grain, move_chunk, &r);
}

typedef struct copy_run {
    char *dst;
    const char *src;
} copy_run;
static void copy_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const copy_run *r = ctx;
    memcpy(r->dst + begin, r->src + begin, (size_t)(end - begin));
}
void cpu_copy_run(const cpu_team *team, void *dst, const void *src, size_t bytes) {
    copy_run r = {dst, src};
    team_for(team, (int64_t)bytes, 1 << 18, copy_chunk, &r);
}

static void clear_chunk(void *dst, int64_t begin, int64_t end, int thread) {
    (void)thread;
    memset((char *)dst + begin, 0, (size_t)(end - begin));
}
void cpu_clear_run(const cpu_team *team, void *dst, size_t bytes) {
    team_for(team, (int64_t)bytes, 1 << 18, clear_chunk, dst);
}

typedef struct convert_run {
    xt_dtype from, to;
    const char *src;
    char *dst;
} convert_run;
static void convert_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const convert_run *r = ctx;
    convert_elems(end - begin, r->from, r->src + begin * (int64_t)xt_dtype_size(r->from), r->to, r->dst + begin * (int64_t)xt_dtype_size(r->to));
}
const char *cpu_converted(const cpu_team *team, xt_dtype from, const char *src, xt_dtype to, char *dst, int64_t n) {
    if (from == to) return src;
    convert_run r = {from, to, src, dst};
    team_for(team, n, 8192, convert_chunk, &r);
    return dst;
}

bool cpu_move_make(const view *dst, const view *src, xt_dtype t, cpu_move *out) {
    *out = (cpu_move){*dst, *src, xt_dtype_size(t)};
    view_collapse2(&out->dst, &out->src);
    return view_count(&out->dst) > 0;
}

bool cpu_move_access(const cpu_move *m, const ir_value *value, uint32_t k, cpu_access *out) {
    if (k > 1) return false;
    *out = k == 0 ? (cpu_access){.arg = 0, .elem = m->elem, .at = m->src, .order = m->dst, .value = value}
                  : (cpu_access){.arg = 1, .elem = m->elem, .at = m->dst, .order = m->dst};
    return true;
}

/* --- fills ------------------------------------------------------------------------------------------------------------------------- */
typedef struct fill_run {
    char *dst;
    const void *value;
    size_t elem;
} fill_run;
static void fill_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const fill_run *f = ctx;
    copy_row(f->elem, f->dst + begin * (int64_t)f->elem, 1, f->value, 0, end - begin);
}

/* --- ops ----------------------------------------------------------------------------------------------------------------------------- */
typedef struct moves {
    size_t n;
    bool fill; /* pad: first fill the result with input 1 */
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
        fill_run f = {c->out[0], c->in[1], xt_dtype_size(c->thunk->op->out[0].type->dtype)};
        team_for(team, s->fill_count, 32768, fill_chunk, &f);
    }
    for (size_t i = 0; i < s->n; i++)
        if (view_count(&s->m[i].dst) > 0) cpu_move_run(team, &s->m[i], c->out[0], c->in[i]);
    return NULL;
}
/* One copy, of what the result is a window on or a transpose of. */
static bool whole_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    const moves *s = t->state;
    return cpu_move_access(&s->m[0], &t->op->out[0], k, out);
}
/* Pieces: where from and where to, of each copy in turn, and what is filled before. */
static bool pieces_access(const cpu_thunk *t, uint32_t k, cpu_access *out) {
    const moves *s = t->state;
    if (k == 2 * s->n && s->fill) {
        *out = (cpu_access){.arg = t->n_in, .elem = xt_dtype_size(t->op->out[0].type->dtype)};
        out->at = (view){.n = 1, .dims = {s->fill_count}, .strides = {1}};
        return true;
    }
    if (k >= 2 * s->n) return false;
    const cpu_move *m = &s->m[k / 2];
    *out = (cpu_access){.arg = k % 2 ? t->n_in : k / 2, .elem = m->elem, .at = k % 2 ? m->dst : m->src};
    return true;
}
static const cpu_kernel transpose_kernel = {"transpose", moves_run, NULL, true, .access = whole_access};
static const cpu_kernel window_kernel = {"window", moves_run, NULL, true, .access = whole_access};
static const cpu_kernel pad_kernel = {"pad", moves_run, NULL, true, .access = pieces_access};
static const cpu_kernel concatenate_kernel = {"concatenate", moves_run, NULL, true, .access = pieces_access};

static xt_status take(cpu_builder *b, const ir_op *op, const cpu_kernel *k, moves *m, uint64_t over, bool *out_done) {
    *out_done = true;
    cpu_thunk_desc d = {.kernel = k, .op = op, .n_in = op->n_in, .n_out = 1, .over = &over, .state = m};
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
    if (!view_dense(op->out[0].type, &dst) || !view_dense(op->in[0]->type, &dense) || !view_through(op, &dense, &src)) return NULL;
    moves *m = moves_new(1);
    if (!m) return status_oom(sizeof *m, "a plan");
    m->n = cpu_move_make(&dst, &src, op->out[0].type->dtype, &m->m[0]);
    return take(b, op, &window_kernel, m, 0, out_done);
}

CPU_LOWER(pad) {
    size_t n;
    const int64_t *low = ir_get_ints(op, IR_A_edge_padding_low, &n), *interior = ir_get_ints(op, IR_A_interior_padding, &n);
    const ir_type *in = op->in[0]->type, *to = op->out[0].type;
    view dst, src;
    if (!view_dense(to, &dst) || !view_dense(in, &src)) return NULL;
    for (int i = 0; i < src.n; i++) {
        int64_t step = 1 + interior[i], first = 0, last = in->dims[i] - 1;
        /* elements [first, last] of the operand land inside the result; negative edges cut the others */
        if (low[i] < 0) first = (-low[i] + step - 1) / step;
        if (last >= 0 && low[i] + last * step >= to->dims[i]) last = to->dims[i] - 1 - low[i] < 0 ? -1 : (to->dims[i] - 1 - low[i]) / step;
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

CPU_LOWER(concatenate) {
    int64_t dim = ir_get_int(op, IR_A_dimension, 0), at = 0;
    view whole;
    if (!view_dense(op->out[0].type, &whole)) return NULL;
    moves *m = moves_new(op->n_in);
    if (!m) return status_oom(0, "a plan");
    m->n = op->n_in;
    for (uint32_t i = 0; i < op->n_in; i++) {
        view dst = whole, src;
        view_dense(op->in[i]->type, &src);
        dst.offset = at * whole.strides[dim];
        dst.dims[dim] = src.dims[dim];
        at += src.dims[dim];
        cpu_move_make(&dst, &src, op->out[0].type->dtype, &m->m[i]);
    }
    return take(b, op, &concatenate_kernel, m, 0, out_done);
}

/* --- dynamic slices -------------------------------------------------------------------------------------------------------------------- */
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
    cpu_thunk_desc d = {.kernel = &dynamic_slice_kernel, .op = op, .n_in = op->n_in, .n_out = 1, .state = m, .bytes = 2.0 * (double)ir_type_bytes(op->out[0].type)};
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
