/* Moving elements: transpose, pad, concatenate, dynamic slices. All are copies between two strided windows of
 * the same dims. */
#include "cpu/kernel/kernel.h"
#include "cpu/vector/move.h"

typedef struct moves {
    size_t n;
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
