/* Shapes and literals of HLO. A layout in a shape says how a buffer lies, not what it holds: the buffers of this plugin
 * are row-major and its clients are told so, so layouts of parameters and results change nothing. In a literal the
 * layout is the order of its elements. */
#include "base/narrow.h"
#include "format/hlo_int.h"

typedef enum layout_of_literal { INTS, RAW, NIBBLES } layout_of_literal;
typedef struct type_row {
    int64_t number;
    xt_dtype dtype;
    uint32_t field;
    layout_of_literal how;
} type_row;
static const type_row rows[] = {
#define HLO_TYPE(number, dtype, field, how) {number, dtype, field, how},
#include "format/hlo_types.def"
#undef HLO_TYPE
};
enum { TYPE_TUPLE = 13, TYPE_TOKEN = 17, MAX_NESTING = 32 };

static bool read_tensor(hlomod_reader *r, hlomod_msg m, int64_t number, hlomod_shape *out) {
    size_t rank, n_dynamic;
    int64_t *dims, *dynamic;
    const type_row *row = NULL;
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (rows[i].number == number) row = &rows[i];
    if (!row) return hlomod_fail(r, m.data, "element type %lld of XLA is not known here", (long long)number);
    if (!hlomod_ints(r, m, 3, &rank, &dims) || !hlomod_ints(r, m, 6, &n_dynamic, &dynamic)) return false;
    for (size_t i = 0; i < n_dynamic; i++)
        if (dynamic[i]) return hlomod_fail(r, m.data, "dimension %zu is dynamic; only static shapes are compiled", i);
    for (size_t i = 0; i < rank; i++)
        if (dims[i] < 0) return hlomod_fail(r, m.data, "dimension %zu is %lld", i, (long long)dims[i]);
    out->type = ir_tensor(row->dtype, rank, dims);
    out->leaves = 1;
    if (!out->type) return hlomod_fail(r, m.data, "a shape of rank %zu is too large", rank);
    return true;
}

static bool read_shape(hlomod_reader *r, hlomod_msg m, int nesting, hlomod_shape *out) {
    int64_t number = hlomod_int(r, m, 2, 0);
    *out = (hlomod_shape){0};
    if (r->status) return false;
    if (number == TYPE_TOKEN) {
        *out = (hlomod_shape){.type = ir_token(), .leaves = 1};
        return true;
    }
    if (number != TYPE_TUPLE) return read_tensor(r, m, number, out);
    hlomod_msg *subs;
    if (nesting == MAX_NESTING) return hlomod_fail(r, m.data, "tuples are nested more than %d deep", MAX_NESTING);
    if (!hlomod_subs(r, m, 4, &out->n_elems, &subs)) return false;
    out->elems = arena_alloc(r->scratch, out->n_elems * sizeof *out->elems);
    if (!out->elems) return hlomod_oom(r, out->n_elems * sizeof *out->elems);
    for (size_t i = 0; i < out->n_elems; i++) {
        if (!read_shape(r, subs[i], nesting + 1, &out->elems[i])) return false;
        out->leaves += out->elems[i].leaves;
    }
    return true;
}

bool hlomod_read_shape(hlomod_reader *r, hlomod_msg m, hlomod_shape *out) {
    return read_shape(r, m, 0, out);
}

size_t hlomod_leaf_types(const hlomod_shape *s, const ir_type **out) {
    if (s->type) {
        *out = s->type;
        return 1;
    }
    size_t n = 0;
    for (size_t i = 0; i < s->n_elems; i++) n += hlomod_leaf_types(&s->elems[i], out + n);
    return n;
}

/* The n elements as host bytes. */
static bool literal_ints(hlomod_reader *r, hlomod_msg m, const type_row *row, size_t n, void **out) {
    size_t count, size = xt_dtype_size(row->dtype);
    int64_t *v;
    if (!hlomod_ints(r, m, row->field, &count, &v)) return false;
    if (count != n) return hlomod_fail(r, m.data, "the literal has %zu elements, its shape %zu", count, n);
    char *bytes = arena_alloc(r->scratch, n * size);
    if (!bytes) return hlomod_oom(r, n * size);
    /* little endian */
    for (size_t i = 0; i < n; i++) memcpy(bytes + i * size, &(int64_t){row->dtype == XT_BOOL ? v[i] != 0 : v[i]}, size);
    *out = bytes;
    return true;
}

/* Elements lie in the order of the literal's layout: the dims from the fastest to the slowest. */
static bool to_row_major(hlomod_reader *r, hlomod_msg shape, const ir_type *t, void **data) {
    size_t n, size = xt_dtype_size(t->dtype);
    int64_t *order, stride[IR_MAX_RANK], at[IR_MAX_RANK] = {0}, step = 1;
    bool straight = true, seen[IR_MAX_RANK] = {false};
    if (!hlomod_ints(r, hlomod_sub(r, shape, 5), 1, &n, &order)) return false;
    if (n && n != t->rank) return hlomod_fail(r, shape.data, "a layout of %zu dims for a literal of %u", n, t->rank);
    for (size_t i = 0; i < n; i++) {
        if (order[i] < 0 || (size_t)order[i] >= n || seen[order[i]])
            return hlomod_fail(r, shape.data, "a layout that is no order of the dims");
        straight = straight && order[i] == (int64_t)(n - 1 - i);
        seen[order[i]] = true;
        stride[order[i]] = step;
        step *= t->dims[order[i]];
    }
    if (straight || t->count == 0) return true;
    char *to = arena_alloc(r->scratch, (size_t)t->count * size);
    if (!to) return hlomod_oom(r, (size_t)t->count * size);
    for (int64_t k = 0; k < t->count; k++) {
        int64_t from = 0;
        for (size_t d = 0; d < n; d++) from += at[d] * stride[d];
        memcpy(to + (size_t)k * size, (char *)*data + (size_t)from * size, size);
        for (size_t d = n; d-- > 0 && ++at[d] == t->dims[d];) at[d] = 0;
    }
    *data = to;
    return true;
}

bool hlomod_read_literal(hlomod_scope *s, hlomod_msg m, const ir_type *t, ir_value **out) {
    hlomod_reader *r = s->r;
    hlomod_shape shape;
    const type_row *row = NULL;
    void *data = NULL;
    if (!hlomod_read_shape(r, hlomod_sub(r, m, 1), &shape)) return false;
    if (shape.type != t || t->kind != IR_TENSOR)
        return hlomod_fail(r, m.data, "the literal has another shape than its constant");
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (rows[i].dtype == t->dtype) row = &rows[i];
    size_t n = (size_t)t->count, bytes = ir_type_bytes(t);
    if (!row) return hlomod_fail(r, m.data, "literals of %s are not read", ir_dtype_mlir(t->dtype));
    if (n > m.n) return hlomod_fail(r, m.data, "the literal has %zu bytes, its shape %zu elements", m.n, n);
    if (bytes > r->budget)
        return hlomod_fail(r, m.data, "computations called from many places make the program many times its size");
    r->budget -= bytes;
    if (row->how == INTS) {
        if (!literal_ints(r, m, row, n, &data)) return false;
    } else {
        hlomod_msg raw = hlomod_sub(r, m, row->field);
        if (r->status) return false;
        if (raw.n != bytes)
            return hlomod_fail(r, raw.data ? raw.data : m.data, "the literal has %zu bytes, its shape %zu", raw.n,
                               bytes);
        data = arena_copy(r->scratch, raw.n ? raw.data : (const unsigned char *)"", raw.n); /* aligned */
        if (!data) return hlomod_oom(r, raw.n);
        if (row->how == NIBBLES) narrow_extend(t->dtype, data, n);
    }
    if (!to_row_major(r, hlomod_sub(r, m, 1), t, &data)) return false;
    *out = ir_constant(&s->b, t, data);
    return *out != NULL;
}
