/* Types of a bytecode file: what dialects share, and the builtin dialect's own. */
#include "format/bytecode_int.h"

bool bc_tensor_type(bc_reader *r, const void *at, const int64_t *dims, size_t rank, const bc_type *element,
                    bc_type *out) {
    if (element->kind != BC_TYPE_ELEMENT) {
        out->name = arena_printf(r->scratch, "a tensor of %s", element->name);
        return out->name || bc_oom(r);
    }
    const ir_type *t = ir_tensor(element->dtype, rank, dims);
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
