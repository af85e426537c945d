/* Types of a bytecode file: what dialects share, and the builtin dialect's own. */
#include "format/bytecode_int.h"

bool bc_tensor_type(bc_reader *r, const void *at, const int64_t *dims, size_t rank, const bc_type *element,
                    bc_type *out) {
    const ir_quant *q = element->kind == BC_TYPE_QUANTIZED ? element->quant : NULL;
    if (element->kind != BC_TYPE_ELEMENT && !q) {
        out->name = arena_printf(r->scratch, "a tensor of %s", element->name);
        return out->name || bc_oom(r);
    }
    const ir_type *t = ir_tensor(element->dtype, rank, dims);
    if (t && q && !ir_quant_fits(q, rank, dims))
        return bc_fail(r, at, "%zu scales along dim %lld do not fit the tensor type", q->n, (long long)q->axis);
    t = ir_with_quant(t, q);
    if (!t) return bc_fail(r, at, "a tensor type of %zu dims that is too large or has a negative dim", rank);
    *out = (bc_type){.kind = BC_TYPE_IR, .ir = t, .index = element->index, .name = "tensor"};
    return true;
}

bool bc_type_list(bc_reader *r, bc_cursor *c, const bc_type *const **out, size_t *out_n) {
    size_t n;
    if (!bc_count(r, c, "types", &n)) return false;
    const bc_type **list = bc_alloc(r, n, sizeof *list);
    if (!list) return false;
    for (size_t i = 0; i < n; i++)
        if (!bc_type_ref(r, c, &list[i])) return false;
    *out = list;
    *out_n = n;
    return true;
}

bool bc_function_type(bc_reader *r, bc_cursor *c, bc_type *out) {
    *out = (bc_type){.kind = BC_TYPE_FUNCTION, .name = "a function"};
    return bc_type_list(r, c, &out->in, &out->n_in) && bc_type_list(r, c, &out->out, &out->n_out);
}

bool bc_aggregate_type(bc_reader *r, bc_cursor *c, ir_kind kind, bc_type *out) {
    const unsigned char *at = c->at;
    const bc_type *const *list;
    size_t n;
    if (!bc_type_list(r, c, &list, &n)) return false;
    const ir_type **elems = bc_alloc(r, n, sizeof *elems);
    if (!elems) return false;
    for (size_t i = 0; i < n; i++) {
        if (list[i]->kind != BC_TYPE_IR) {
            out->name = "a tuple of types that the IR does not have";
            return true;
        }
        elems[i] = list[i]->ir;
    }
    if (!ir_tuple_fits(n, elems))
        return bc_fail(r, at, "a tuple of more than %d types, or nested deeper than %d", IR_MAX_PARTS,
                       IR_MAX_TUPLE_DEPTH);
    const ir_type *t = kind == IR_TUPLE ? ir_tuple(n, elems) : ir_future(n, elems);
    if (!t) return bc_fail(r, at, "a tuple type of %zu elements that cannot be made", n);
    *out = (bc_type){.kind = BC_TYPE_IR, .ir = t, .name = "tuple"};
    return true;
}

static bc_type element(xt_dtype t) {
    return (bc_type){.kind = BC_TYPE_ELEMENT, .dtype = t, .name = ir_dtype_mlir(t)};
}

static bool integer_type(bc_reader *r, bc_cursor *c, bc_type *out) {
    static const struct {
        uint64_t width;
        xt_dtype is, iu;
    } widths[] = {{1, XT_BOOL, XT_U1},  {2, XT_I2, XT_U2},    {4, XT_I4, XT_U4},   {8, XT_I8, XT_U8},
                  {16, XT_I16, XT_U16}, {32, XT_I32, XT_U32}, {64, XT_I64, XT_U64}};
    uint64_t v;
    if (!bc_varint(r, c, &v)) return false;
    for (size_t i = 0; i < BASE_COUNT(widths); i++)
        if (widths[i].width == v >> 2) *out = element((v & 3) == 2 ? widths[i].iu : widths[i].is);
    if (out->kind == BC_TYPE_UNKNOWN) out->name = "an integer of unusual width";
    return true;
}

bool bc_complex_type(bc_reader *r, bc_cursor *c, bc_type *out) {
    const bc_type *part;
    if (!bc_type_ref(r, c, &part)) return false;
    if (part->kind == BC_TYPE_ELEMENT && part->dtype == XT_F32)
        *out = element(XT_C64);
    else if (part->kind == BC_TYPE_ELEMENT && part->dtype == XT_F64)
        *out = element(XT_C128);
    else
        out->name = "an unusual complex type";
    return true;
}

bool bc_ranked_type(bc_reader *r, bc_cursor *c, bool encoded, bc_type *out) {
    const unsigned char *at = c->at;
    const bc_attr *encoding;
    const bc_type *el;
    int64_t *dims;
    size_t rank;
    return (!encoded || bc_attr_ref(r, c, &encoding)) && bc_svarints(r, c, &dims, &rank) && bc_type_ref(r, c, &el) &&
           bc_tensor_type(r, at, dims, rank, el, out);
}

/* Codes of builtin types that hold nothing else. */
bool bc_builtin_type(bc_reader *r, bc_cursor *c, bc_type *out) {
    const unsigned char *at = c->at;
    const bc_type *inner;
    uint64_t code;
    if (!bc_varint(r, c, &code)) return false;
    switch (code) {
    case 0: return integer_type(r, c, out);
    case 1: *out = (bc_type){.kind = BC_TYPE_ELEMENT, .dtype = XT_I64, .index = true, .name = "index"}; return true;
    case 2: return bc_function_type(r, c, out);
    case 3: *out = element(XT_BF16); return true;
    case 4: *out = element(XT_F16); return true;
    case 5: *out = element(XT_F32); return true;
    case 6: *out = element(XT_F64); return true;
    case 7: out->name = "f80"; return true;
    case 8: out->name = "f128"; return true;
    case 9: return bc_complex_type(r, c, out);
    case 12: *out = (bc_type){.kind = BC_TYPE_NONE, .name = "none"}; return true;
    case 13: return bc_ranked_type(r, c, false, out);
    case 14: return bc_ranked_type(r, c, true, out);
    case 15: return bc_aggregate_type(r, c, IR_TUPLE, out);
    case 18: out->name = "an unranked tensor"; return bc_type_ref(r, c, &inner);
    case 10:
    case 11:
    case 16:
    case 17:
    case 19:
    case 20:
        out->name = "a memref or vector";
        c->at = c->end;
        return true;
    default: return bc_fail(r, at, "builtin type of the unknown code %llu", (unsigned long long)code);
    }
}

/* A type without an encoding stands as text; only small floats are expected so. */
bool bc_text_type(bc_reader *r, bc_cursor *c, bc_type *out) {
    xt_dtype t;
    size_t n = strnlen((const char *)c->at, (size_t)(c->end - c->at));
    if (ir_dtype_from_mlir((const char *)c->at, n, &t)) {
        *out = element(t);
    } else {
        out->name = arena_printf(r->scratch, "%.*s", (int)(n < 80 ? n : 80), (const char *)c->at);
        if (!out->name) return bc_oom(r);
    }
    c->at = c->end;
    return true;
}

/* --- Quantized element types: vhlo's and those of MLIR's own dialect have the same fields, by other codes --- */
static bool read_double(bc_reader *r, bc_cursor *c, double *out) {
    uint64_t bits;
    if (!bc_bits(r, c, 64, &bits)) return false;
    memcpy(out, &bits, sizeof bits);
    return true;
}

/* The integer of that width as the flags have it: files name it without a sign, or with one. */
static bool storage_of(const bc_type *t, bool is_signed, xt_dtype *out) {
    static const xt_dtype pairs[][2] = {
        {XT_I2, XT_U2}, {XT_I4, XT_U4}, {XT_I8, XT_U8}, {XT_I16, XT_U16}, {XT_I32, XT_U32}};
    for (size_t i = 0; t->kind == BC_TYPE_ELEMENT && i < BASE_COUNT(pairs); i++) {
        if (t->dtype != pairs[i][0] && t->dtype != pairs[i][1]) continue;
        *out = pairs[i][is_signed ? 0 : 1];
        return true;
    }
    return false;
}

/* `per axis`: dimension, range, scales, zero points; else scale, zero point, range. */
static bool read_one(bc_reader *r, bc_cursor *c, ir_quant *q) {
    double *scale = bc_alloc(r, 1, sizeof *scale);
    int64_t *zero = bc_alloc(r, 1, sizeof *zero);
    q->axis = -1;
    q->n = 1;
    q->scales = scale;
    q->zeros = zero;
    return scale && zero && read_double(r, c, scale) && bc_svarint(r, c, zero) && bc_svarint(r, c, &q->min) &&
           bc_svarint(r, c, &q->max);
}

static bool read_each(bc_reader *r, bc_cursor *c, ir_quant *q) {
    const unsigned char *at = c->at;
    uint64_t axis;
    size_t n_zeros;
    int64_t *zeros;
    if (!bc_varint(r, c, &axis) || !bc_svarint(r, c, &q->min) || !bc_svarint(r, c, &q->max) ||
        !bc_count(r, c, "scales", &q->n))
        return false;
    if (axis > IR_MAX_RANK) return bc_fail(r, at, "scales along dim %llu", (unsigned long long)axis);
    double *scales = bc_alloc(r, q->n, sizeof *scales);
    for (size_t i = 0; scales && i < q->n; i++)
        if (!read_double(r, c, &scales[i])) return false;
    if (!scales || !bc_svarints(r, c, &zeros, &n_zeros)) return false;
    if (n_zeros != q->n) return bc_fail(r, at, "%zu scales and %zu zero points", q->n, n_zeros);
    q->axis = (int64_t)axis;
    q->scales = scales;
    q->zeros = zeros;
    return true;
}

bool bc_quantized(bc_reader *r, bc_cursor *c, bool by_axis, bc_type *out) {
    const unsigned char *at = c->at;
    const bc_type *storage, *expressed;
    uint64_t flags;
    ir_quant q = {0};
    if (!bc_varint(r, c, &flags) || !bc_type_ref(r, c, &storage) || !bc_type_ref(r, c, &expressed)) return false;
    if (!(by_axis ? read_each(r, c, &q) : read_one(r, c, &q))) return false;
    if (!storage_of(storage, flags & QUANT_SIGNED, &q.storage) || expressed->kind != BC_TYPE_ELEMENT)
        return bc_fail(r, at, "a quantized type of %s that stands for %s", storage->name, expressed->name);
    q.expressed = expressed->dtype;
    *out = (bc_type){.kind = BC_TYPE_QUANTIZED, .dtype = q.storage, .name = "a quantized type"};
    xt_status s = ir_quant_of(&q, &out->quant);
    if (!s) return true;
    bc_fail(r, at, "%s", status_message(s));
    xt_status_free(s);
    return false;
}

bool bc_quant_type(bc_reader *r, bc_cursor *c, bc_type *out) {
    uint64_t code;
    if (!bc_varint(r, c, &code)) return false;
    if (code == QT_UNIFORM || code == QT_UNIFORM_AXIS) return bc_quantized(r, c, code == QT_UNIFORM_AXIS, out);
    out->name = "a quantized type that is not uniform, or of blocks";
    c->at = c->end;
    return true;
}
