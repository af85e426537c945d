/* Attributes and types of the vhlo dialect: StableHLO's, frozen by version. */
#include "format/bytecode_int.h"
#include "ir/text.h"

/* --- Types --- */

/* A type without a counterpart in the IR: named, so that a value that has it can be refused with its name. */
static bool foreign(bc_cursor *c, const char *name, bc_type *out) {
    out->name = name;
    c->at = c->end;
    return true;
}

bool bc_vhlo_type(bc_reader *r, bc_cursor *c, bc_type *out) {
    const unsigned char *at = c->at;
    uint64_t code;
    if (!bc_varint(r, c, &code)) return false;
    xt_dtype t;
    if (vhlo_element(code, &t)) {
        *out = (bc_type){.kind = BC_TYPE_ELEMENT, .dtype = t, .name = ir_dtype_mlir(t)};
        return true;
    }
    switch (code) {
    case VT_COMPLEX: return bc_complex_type(r, c, out);
    case VT_FUNCTION: return bc_function_type(r, c, out);
    case VT_INDEX:
        *out = (bc_type){.kind = BC_TYPE_ELEMENT, .dtype = XT_I64, .index = true, .name = "index"};
        return true;
    case VT_TENSOR: return bc_ranked_type(r, c, false, out);
    case VT_TENSOR_ENCODED: return bc_ranked_type(r, c, true, out);
    case VT_TOKEN: *out = (bc_type){.kind = BC_TYPE_IR, .ir = ir_token(), .name = "token"}; return out->ir || bc_oom(r);
    case VT_TUPLE: return bc_aggregate_type(r, c, IR_TUPLE, out);
    case VT_FUTURE: return bc_aggregate_type(r, c, IR_FUTURE, out);
    case VT_NONE: *out = (bc_type){.kind = BC_TYPE_NONE, .name = "none"}; return true;
    case VT_QUANTIZED: return bc_quantized(r, c, false, out);
    case VT_QUANTIZED_AXIS: return bc_quantized(r, c, true, out);
    case VT_UNRANKED: return foreign(c, "an unranked tensor", out);
    case VT_WITNESS: return foreign(c, "a shape witness", out);
    case VT_TF32: return foreign(c, "tf32", out);
    case VT_BUFFER: return foreign(c, "a memref", out);
    default: return bc_fail(r, at, "vhlo type of the unknown code %llu", (unsigned long long)code);
    }
}

/* --- Attributes --- */

static bool boolean(bc_reader *r, bc_cursor *c, bc_attr *out) {
    uint64_t v;
    if (!bc_varint(r, c, &v)) return false;
    out->a = (ir_attr){.kind = IR_AK_BOOL, .name = "", .v.b = v != 0};
    return true;
}

/* Groups of devices by the axes of a mesh, in the spelling of StableHLO's text. */
static bool mesh_part(bc_reader *r, bc_cursor *c, uint64_t code, bc_attr *out) {
    const bc_attr *a = NULL, *b = NULL;
    int64_t x = 0, y = 0;
    uint64_t has = 0;
    str s = STR_INIT;
    bool ok = false;
    switch (code) {
    case 21: ok = bc_svarint(r, c, &x) && bc_svarint(r, c, &y); break;
    case 22: ok = bc_attr_ref(r, c, &a) && bc_varint(r, c, &has) && (!has || bc_attr_ref(r, c, &b)); break;
    case 23: ok = bc_attr_ref(r, c, &a) && bc_attr_ref(r, c, &b); break;
    case 24: ok = bc_attr_ref(r, c, &a) && bc_svarint(r, c, &y); break;
    case 25: ok = bc_attr_ref(r, c, &a) && bc_attr_ref_optional(r, c, &b); break;
    default: break;
    }
    if (!ok) return false;
    const bool named = a && a->a.kind == IR_AK_STRING;
    if (code == 21)
        str_printf(&s, "(%lld)%lld", (long long)x, (long long)y);
    else if (code == 22)
        bc_spell_axis_ref(&s, named ? a->a.v.s : "", b ? &b->a : NULL);
    else if (code == 23)
        bc_spell_groups(&s, &a->a, &b->a);
    else if (code == 24)
        bc_spell_axis(&s, named ? a->a.v.s : "", y);
    else
        bc_spell_mesh(&s, &a->a, b ? &b->a : NULL);
    return bc_text(r, &s, &out->a);
}

bool bc_vhlo_attr(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const unsigned char *at = c->at;
    uint64_t code;
    if (!bc_varint(r, c, &code)) return false;
    switch (code) {
    case 1: return bc_attr_list(r, c, &out->a);
    case 2: return boolean(r, c, out);
    case 3:
    case 4:
    case 5:
    case 7:
    case 11:
    case 12:
    case 13:
    case 16:
    case 19: return bc_enumeration(r, c, out);
    case 6: return bc_dictionary(r, c, out);
    case 8: return bc_number_attr(r, c, true, out);
    case 9: return bc_number_attr(r, c, false, out);
    case 10: return bc_output_alias(r, c, out);
    case 14: return bc_string_attr(r, c, out);
    case 15: return bc_dense_attr(r, c, out);
    case 17: return bc_type_attr(r, c, out);
    case 18: return bc_bounds(r, c, out);
    case 20: return bc_result_accuracy(r, c, out);
    case 21:
    case 22:
    case 23:
    case 24:
    case 25: return mesh_part(r, c, code, out);
    default: return bc_fail(r, at, "vhlo attribute of the unknown code %llu", (unsigned long long)code);
    }
}
