/* Weights as integers of 8 or 4 bits with a factor for each group of a row, after they were loaded: what layers get in
 * their place is the product, made in each pass. A device that knows the form (src/cpu/plan/narrow.c) reads the
 * integers themselves; any other computes what StableHLO says.
 *
 * 8 bits: round(w / f), f the largest |w| of the group / 127. 4 bits: round(w / f) from -8 to 7, f the w of the largest
 * size / -8, so that it is met exactly (as ggml's Q4_0); a byte holds one of the first half of its group, in the low
 * bits, and one of the second, each with 8 added. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#include <math.h>

#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "ops/ops.h"

typedef struct form {
    int bits;
    int64_t rows, groups, group;
} form;

/* --- numbers --- */
/* A model has a milliard of them when a command starts, so the loops over a group are ones that a compiler makes
 * vectors of: no exits, no calls, bits in the place of comparisons of floats. */
/* The first w of the largest size. */
static float largest(const float *w, int64_t n) {
    int32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t bits; /* sizes are in the order of their bits */
        memcpy(&bits, w + i, sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    float size;
    memcpy(&size, &most, sizeof size);
    for (int64_t i = 0; i < n; i++)
        if (fabsf(w[i]) == size) return w[i];
    return 0;
}

/* The nearest whole number, of two the even one; adding 1.5 * 2^23 leaves no room for digits behind the point. */
static int whole(float w, float inverse, float low, float high) {
    const float shift = 0x1.8p23f;
    float v = w * inverse;
    v = v < low ? low : v;
    v = v > high ? high : v;
    return (int)((v + shift) - shift);
}

static void quantize_group(const form *q, const float *w, float *factor, uint8_t *out) {
    float most = largest(w, q->group);
    *factor = q->bits == 8 ? fabsf(most) / 127 : most / -8;
    /* A group of zeros, or of numbers so small that their inverse is none, is zeros. */
    float inverse = 1 / *factor;
    if (!isfinite(inverse)) inverse = *factor = 0;
    int64_t half = q->group / 2;
    if (q->bits == 8)
        for (int64_t i = 0; i < q->group; i++) out[i] = (uint8_t)(int8_t)whole(w[i], inverse, -127, 127);
    else
        for (int64_t i = 0; i < half; i++)
            out[i] = (uint8_t)((whole(w[i], inverse, -8, 7) + 8) | (whole(w[half + i], inverse, -8, 7) + 8) << 4);
}

static bool all_finite(const float *w, int64_t n) {
    uint32_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, w + i, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return !bad;
}

static const ir_type *integers_type(const form *q) {
    int64_t bytes = q->bits == 8 ? q->group : q->group / 2;
    return ir_tensor(q->bits == 8 ? XT_I8 : XT_U8, 3, (int64_t[]){q->rows, q->groups, bytes});
}

/* --- states --- */
/* Memory that one weight leaves to the next: touched for the first time it costs more than the numbers. */
typedef struct room {
    void *data;
    size_t n;
} room;
static xt_status room_for(room *r, size_t n, const char *what) {
    if (n <= r->n) return NULL;
    base_free(r->data);
    *r = (room){base_malloc(n), n};
    if (r->data) return NULL;
    r->n = 0;
    return status_oom(n, what);
}
typedef struct rooms {
    room narrow, wide;
} rooms;

/* The state's value as f32, in r. */
static xt_status read_weight(const nn_entry *e, rooms *r, const float **out) {
    const ir_type *type = e->type;
    const size_t n = ir_type_bytes(type), wide = (size_t)type->count * sizeof(float);
    XT_TRY(room_for(&r->wide, wide, e->name));
    if (type->dtype == XT_F32) {
        XT_TRY(lazy_state_read_last(e->t, r->wide.data, n));
    } else if (nn_converts_some(type->dtype, XT_F32)) {
        XT_TRY(room_for(&r->narrow, n, e->name));
        XT_TRY(lazy_state_read_last(e->t, r->narrow.data, n));
        nn_convert_some(type->dtype, r->narrow.data, XT_F32, r->wide.data, type->count);
    } else {
        nn_loaded w = {type, base_malloc(n)};
        xt_status s = w.data ? lazy_state_read_last(e->t, w.data, n) : status_oom(n, e->name);
        if (!s) s = nn_convert(&w, ir_with_dtype(type, XT_F32));
        if (!s) memcpy(r->wide.data, w.data, wide);
        base_free(w.data);
        XT_TRY(s);
    }
    *out = r->wide.data;
    if (!all_finite(*out, type->count))
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_quantize: %s has numbers that are not finite", e->name);
    return NULL;
}

static xt_status quantize(const xt_src *src, nn_root *r, size_t i, const xt_quantize_opts *o, rooms *memory) {
    const nn_entry *e = &r->entries[i];
    form q = {o->bits, e->type->dims[0], e->type->dims[1] / o->block_size, o->block_size};
    const float *w = NULL;
    XT_TRY(read_weight(e, memory, &w));
    int64_t groups = q.rows * q.groups, bytes = q.bits == 8 ? q.group : q.group / 2;
    uint8_t *integers = base_malloc((size_t)(groups * bytes) + 1);
    float *factors = base_malloc(((size_t)groups + 1) * sizeof *factors);
    nn_loaded narrow = {.type = integers_type(&q), .data = integers},
              scales = {.type = ir_tensor(XT_F32, 2, (int64_t[]){q.rows, q.groups}), .data = factors};
    xt_status s = NULL;
    if (!integers || !factors || !narrow.type || !scales.type)
        s = status_oom((size_t)(groups * bytes), e->name);
    else {
        for (int64_t k = 0; k < groups; k++) quantize_group(&q, w + k * q.group, &factors[k], integers + k * bytes);
        if (!nn_become_integers(src, r, e->name, q.bits, &narrow, &scales)) s = status_clone(lazy_pending());
    }
    base_free(narrow.data);
    base_free(scales.data);
    return s;
}

static bool fits(const nn_entry *e, const char *pattern, const xt_quantize_opts *o) {
    return e->is_param && e->type->rank == 2 && ir_dtype_is_float(e->type->dtype) && e->type->count > 0 &&
           e->type->dims[1] % o->block_size == 0 && nn_matches(pattern, e->name);
}

static xt_status refuse(const xt_module *m, const char *pattern, const xt_quantize_opts *o) {
    if (!m || !pattern) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_quantize: a module and a pattern are needed");
    if ((o->bits != 8 && o->bits != 4) || o->block_size < 2 || o->block_size % 2)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_quantize: .bits = %d, .block_size = %d; 8 or 4 bits and an even size are expected (the "
                          "CPU is fast for multiples of 32)",
                          o->bits, o->block_size);
    if (m->root->n == 0)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "xt_quantize: the module has no tensors yet; call it behind xt_module_build and xt_load");
    if (lazy_spmd())
        return status_new(XT_UNIMPLEMENTED, NULL,
                          "xt_quantize: the module is divided over ranks; quantise on a process alone");
    return NULL;
}

int xt_quantize_at(const xt_src *src, xt_module *m, const char *pattern, xt_quantize_opts o) {
    xt_status s = refuse(m, pattern, &o);
    char *full = s ? NULL : nn_full_name(m, pattern, "");
    int n = 0;
    if (!s && !full) s = status_oom(strlen(pattern), pattern);
    if (!s && (!lazy_boundary(LAZY_CHECKPOINT, src) || !lazy_drain())) s = status_clone(lazy_pending());
    size_t there = s ? 0 : m->root->n;
    rooms memory = {{0}, {0}};
    for (size_t i = 0; i < there && !s; i++) {
        if (!fits(&m->root->entries[i], full, &o)) continue;
        s = quantize(src, m->root, i, &o, &memory);
        n += !s;
    }
    base_free(memory.narrow.data);
    base_free(memory.wide.data);
    base_free(full);
    if (!s) return n;
    lazy_fail(status_at(s, src));
    return -1;
}
