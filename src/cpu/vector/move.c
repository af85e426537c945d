/* Moving elements by all threads: strided copies, fills, conversions. */
#include "cpu/vector/move.h"
#include "cpu/vector/simd.h"
#include "cpu/vector/vprog.h"
#include "ir/interp_int.h"

enum { LINE = 64 };
#define STRIDED(T)                                                                     \
    static void strided_##T(T *dst, int64_t ds, const T *src, int64_t ss, int64_t n) { \
        for (int64_t i = 0; i < n; i++) dst[i * ds] = src[i * ss];                     \
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
    vprog_type t;
    if (ds == 1 && ss == 0 && vprog_type_of_size(elem, &t)) {
        simd_get()->ops[VPROG_FILL][t](dst, src, NULL, NULL, n);
        return;
    }
    enum { LEAST = 16 };
    if (ds == 1 && n >= LEAST && vprog_type_of_size(elem, &t)) {
        const view from = {.n = 1, .dims = {n}, .strides = {ss}};
        simd_get()->gather[elem == 8 ? 3 : elem / 2](dst, src, &from, 0, n);
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

static void turn_rows(size_t elem, char *dst, int64_t dst_row, const char *src, int64_t src_col, int64_t rows,
                      int64_t cols) {
    simd_get()->turn[elem == 8 ? 3 : elem / 2](dst, dst_row, src, src_col, rows, cols);
}

bool cpu_is_turned(const view *v, size_t elem) {
    const int last = v->n - 1;
    const int64_t line = LINE / (int64_t)elem;
    return last > 0 && v->strides[last - 1] == 1 && v->strides[last] != 1 && v->strides[last] != 0 &&
           v->dims[last - 1] >= line && v->dims[last] >= line;
}

int64_t cpu_turned_block(const view *v, size_t elem) {
    enum { NEAR = 1 << 16, MOST = 1 << 17 /* bytes: of the second-level cache */, MOST_LINES = 4 };
    if (elem > 8 || !cpu_is_turned(v, elem)) return 0;
    const int64_t width = v->dims[v->n - 1], lines = NEAR / LINE / width;
    if (width > MOST / LINE) return 0;
    return (lines < 1 ? 1 : lines < MOST_LINES ? lines : MOST_LINES) * (LINE / (int64_t)elem) * width;
}

void cpu_gather_turned(size_t elem, void *dst, const void *src, const view *v, int64_t begin, int64_t n) {
    const int last = v->n - 1;
    const int64_t width = v->dims[last], step = v->strides[last], e = (int64_t)elem;
    int64_t row = begin / width, within = begin % width;
    for (char *d = dst; n > 0; within = 0) {
        int64_t rest = row / v->dims[last - 1], at = row % v->dims[last - 1];
        int64_t rows = v->dims[last - 1] - at, cols = width - within;
        int64_t pos = v->offset + at + within * step;
        for (int i = last - 2; i >= 0; rest /= v->dims[i--]) pos += rest % v->dims[i] * v->strides[i];
        if (cols > n) cols = n;
        if (cols < width) rows = 1;
        if (rows > n / cols) rows = n / cols;
        turn_rows(elem, d, width, (const char *)src + pos * e, step, rows, cols);
        d += rows * cols * e, n -= rows * cols, row += rows;
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
    /* The innermost of the walked dims goes by its strides: to find a place from scratch takes divisions. */
    const int next = r->outer > 0 ? r->walk[r->outer - 1] : -1;
    const int64_t width = next < 0 ? 1 : m->dst.dims[next], down = next < 0 ? 0 : m->dst.strides[next],
                  src_down = next < 0 ? 0 : m->src.strides[next];
    int64_t d = 0, s = 0, left = 0;
    for (int64_t k = begin; k < end; k++, d += down, s += src_down) {
        if (left-- == 0) {
            int64_t rest = k;
            left = width - 1 - k % width;
            d = m->dst.offset, s = m->src.offset;
            for (int i = r->outer - 1; i >= 0; i--) {
                int dim = r->walk[i];
                int64_t at = rest % m->dst.dims[dim];
                rest /= m->dst.dims[dim];
                d += at * m->dst.strides[dim];
                s += at * m->src.strides[dim];
            }
        }
        char *dst = r->dst + d * e;
        const char *src = r->src + s * e;
        if (r->row < 0) {
            copy_row(m->elem, dst, m->dst.strides[last], src, m->src.strides[last], m->dst.dims[last]);
            continue;
        }
        int64_t rows = m->dst.dims[r->row], cols = m->dst.dims[last], dr = m->dst.strides[r->row],
                sc = m->src.strides[last];
        turn_rows(m->elem, dst, dr, src, sc, rows, cols);
    }
}

/* Where the destination is one run of memory its elements are made in order, short rows of the source many at once. */
typedef struct gather_run {
    const view *from;
    const char *src;
    char *dst;
    size_t elem;
    int by_size;
} gather_run;
static void gather_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const gather_run *r = ctx;
    simd_get()->gather[r->by_size](r->dst + (size_t)begin * r->elem, r->src, r->from, begin, end - begin);
}
static bool gather_rows(const cpu_team *team, const cpu_move *m, void *dst, const void *src) {
    static const int by_size[9] = {[1] = 0, [2] = 1, [4] = 2, [8] = 3};
    view dense = m->dst;
    dense.offset = 0;
    if (m->elem > 8 || (by_size[m->elem] == 0 && m->elem != 1) || !view_is_dense(&dense)) return false;
    gather_run r = {&m->src, src, (char *)dst + m->dst.offset * (int64_t)m->elem, m->elem, by_size[m->elem]};
    team_for(team, view_count(&m->src), 65536, gather_chunk, &r);
    return true;
}

/* m is collapsed. A long transposed row dim is cut so that threads share it. */
void cpu_move_run(const cpu_team *team, const cpu_move *m, void *dst, const void *src) {
    cpu_move local = *m;
    if (local.dst.n == 0) {
        memcpy((char *)dst + local.dst.offset * (int64_t)m->elem,
               (const char *)src + local.src.offset * (int64_t)m->elem, m->elem);
        return;
    }
    int last = local.dst.n - 1;
    move_run r = {.m = &local, .dst = dst, .src = src, .row = -1, .total = 1};
    if (local.dst.strides[last] == 1 && local.src.strides[last] != 1 && local.elem <= 8)
        for (int i = 0; i < last; i++)
            if (local.src.strides[i] == 1) r.row = i;
    if (r.row < 0 && gather_rows(team, &local, dst, src)) return;
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
    convert_elems(end - begin, r->from, r->src + begin * (int64_t)xt_dtype_size(r->from), r->to,
                  r->dst + begin * (int64_t)xt_dtype_size(r->to));
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
static void fill(const cpu_team *team, void *dst, const void *value, size_t elem, int64_t n) {
    fill_run r = {dst, value, elem};
    team_for(team, n, 32768, fill_chunk, &r);
}

typedef struct pad_run {
    const cpu_move *m;
    char *dst;
    const char *src;
    const void *value;
    int64_t rows, count;
} pad_run;
/* Where row k of a view begins: all its dims but the last are walked. */
static int64_t row_begin(const view *v, int64_t k) {
    int64_t at = v->offset;
    for (int i = v->n - 2; i >= 0; i--) {
        at += k % v->dims[i] * v->strides[i];
        k /= v->dims[i];
    }
    return at;
}
/* Each row with what lies between it and the one before, and behind the last. */
static void pad_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const pad_run *r = ctx;
    const view *dst = &r->m->dst;
    const int64_t width = dst->dims[dst->n - 1], e = (int64_t)r->m->elem;
    int64_t done = begin == 0 ? 0 : row_begin(dst, begin - 1) + width;
    for (int64_t k = begin; k < end; k++) {
        int64_t to = row_begin(dst, k);
        copy_row(r->m->elem, r->dst + done * e, 1, r->value, 0, to - done);
        memcpy(r->dst + to * e, r->src + row_begin(&r->m->src, k) * e, (size_t)(width * e));
        done = to + width;
    }
    if (end == r->rows) copy_row(r->m->elem, r->dst + done * e, 1, r->value, 0, r->count - done);
}

void cpu_pad_run(const cpu_team *team, const cpu_move *m, void *dst, const void *src, const void *value,
                 int64_t count) {
    enum { LEAST = 64 }; /* bytes of a row that is worth being walked to */
    const int64_t elements = view_count(&m->dst);
    const int last = m->dst.n - 1;
    bool by_rows = elements > 0 && last >= 0 && m->dst.strides[last] == 1 && m->src.strides[last] == 1 &&
                   m->dst.dims[last] * (int64_t)m->elem >= LEAST;
    if (by_rows) {
        pad_run r = {m, dst, src, value, elements / m->dst.dims[last], count};
        team_for(team, r.rows, 65536 / (count / r.rows) + 1, pad_chunk, &r);
        return;
    }
    fill(team, dst, value, m->elem, count);
    if (elements > 0) cpu_move_run(team, m, dst, src);
}
