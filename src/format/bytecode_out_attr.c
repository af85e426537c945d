/* Types and attributes as bytecode, in vhlo's codes or in the builtin dialect's. */
#include "format/bytecode_out.h"
#include "ir/interp.h"
#include "ir/text.h"

/* Codes of the builtin dialect. */
enum {
    BT_INTEGER = 0,
    BT_FUNCTION = 2,
    BT_BF16 = 3,
    BT_F16 = 4,
    BT_F32 = 5,
    BT_F64 = 6,
    BT_COMPLEX = 9,
    BT_TENSOR = 13,
    BT_TUPLE = 15
};
enum {
    BA_ARRAY = 0,
    BA_DICTIONARY = 1,
    BA_STRING = 2,
    BA_SYMBOL = 4,
    BA_TYPE = 6,
    BA_UNIT = 7,
    BA_INTEGER = 8,
    BA_FLOAT = 9,
    BA_FILE_LINE = 11,
    BA_NAME_LOC = 14,
    BA_NO_LOC = 15,
    BA_INTS = 17,
    BA_DENSE = 18
};
/* Codes of vhlo's attributes. */
enum {
    VA_ARRAY = 1,
    VA_BOOL = 2,
    VA_DICTIONARY = 6,
    VA_FLOAT = 8,
    VA_INTEGER = 9,
    VA_STRING = 14,
    VA_TENSOR = 15,
    VA_TYPE = 17
};

static const char *dialect_of(bw_form f) {
    return f == BW_VHLO ? "vhlo" : "builtin";
}
static size_t finish_attr(bw *w, bw_form f, str *s) {
    return bw_attr_entry(w, dialect_of(f), true, s);
}
static size_t finish_type(bw *w, bw_form f, str *s) {
    return bw_type_entry(w, dialect_of(f), true, s);
}

/* --- Types --- */

static size_t vhlo_element_entry(bw *w, xt_dtype t) {
    str s = STR_INIT;
    uint64_t code;
    int since;
    if (ir_dtype_is_complex(t)) {
        size_t part = bw_element(w, t == XT_C64 ? XT_F32 : XT_F64, BW_VHLO);
        bw_varint(&s, VT_COMPLEX);
        bw_varint(&s, part);
    } else if (vhlo_element_code(t, &code, &since)) {
        if (since > w->version)
            bw_fail(w, NULL, "elements of %s need StableHLO %d.%d, and %d.%d was asked for", ir_dtype_mlir(t),
                    since / 100, since % 100, w->version / 100, w->version % 100);
        bw_varint(&s, code);
    } else {
        bw_fail(w, NULL, "vhlo has no elements of %s", ir_dtype_mlir(t));
    }
    return finish_type(w, BW_VHLO, &s);
}

/* Types that the builtin encoding has no code for stand as text. */
static size_t builtin_element(bw *w, xt_dtype t) {
    str s = STR_INIT;
    if (ir_dtype_is_complex(t)) {
        size_t part = bw_element(w, t == XT_C64 ? XT_F32 : XT_F64, BW_BUILTIN);
        bw_varint(&s, BT_COMPLEX);
        bw_varint(&s, part);
    } else if (t == XT_BOOL || ir_dtype_is_int(t)) {
        bw_varint(&s, BT_INTEGER);
        bw_varint(&s, (uint64_t)ir_dtype_bits(t) << 2 | (t == XT_BOOL || ir_dtype_is_signed(t) ? 0 : 2));
    } else if (t == XT_BF16 || t == XT_F16 || t == XT_F32 || t == XT_F64) {
        bw_varint(&s, t == XT_BF16 ? BT_BF16 : t == XT_F16 ? BT_F16 : t == XT_F32 ? BT_F32 : BT_F64);
    } else {
        str_append(&s, ir_dtype_mlir(t));
        str_putc(&s, 0);
        return bw_type_entry(w, "builtin", false, &s);
    }
    return finish_type(w, BW_BUILTIN, &s);
}

size_t bw_element(bw *w, xt_dtype t, bw_form f) {
    return f == BW_VHLO ? vhlo_element_entry(w, t) : builtin_element(w, t);
}

static size_t aggregate(bw *w, const ir_type *t, bw_form f) {
    size_t *elems = arena_alloc(w->mem, (t->rank + 1) * sizeof *elems);
    str s = STR_INIT;
    for (uint32_t i = 0; elems && i < t->rank; i++) elems[i] = bw_type(w, t->elems[i], f);
    bool future = t->kind == IR_FUTURE;
    if (future && f == BW_BUILTIN) { /* of the stablehlo dialect */
        bw_varint(&s, 1);
    } else {
        if (future && w->version < 115) bw_fail(w, NULL, "a future needs StableHLO 1.15");
        bw_varint(&s, f == BW_VHLO ? future ? VT_FUTURE : VT_TUPLE : BT_TUPLE);
    }
    bw_varint(&s, t->rank);
    for (uint32_t i = 0; elems && i < t->rank; i++) bw_varint(&s, elems[i]);
    return bw_type_entry(w, future && f == BW_BUILTIN ? "stablehlo" : dialect_of(f), true, &s);
}

/* Quantized element types, as bytecode_type.c reads them. */
static void write_double(str *s, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bw_bits(s, 64, bits);
}

/* MLIR names the storage type without its sign, which stands in the flags. */
static xt_dtype signed_of(xt_dtype t) {
    switch (t) {
    case XT_U2: return XT_I2;
    case XT_U4: return XT_I4;
    case XT_U8: return XT_I8;
    case XT_U16: return XT_I16;
    case XT_U32: return XT_I32;
    default: return t;
    }
}

static size_t quantized(bw *w, const ir_quant *q, bw_form f) {
    str s = STR_INIT;
    bool by_axis = q->axis >= 0;
    size_t storage = bw_element(w, signed_of(q->storage), f), expressed = bw_element(w, q->expressed, f);
    uint64_t code = f == BW_VHLO ? by_axis ? VT_QUANTIZED_AXIS : VT_QUANTIZED : by_axis ? QT_UNIFORM_AXIS : QT_UNIFORM;
    bw_varint(&s, code);
    bw_varint(&s, ir_dtype_is_signed(q->storage) ? QUANT_SIGNED : 0);
    bw_varint(&s, storage);
    bw_varint(&s, expressed);
    if (by_axis) {
        bw_varint(&s, (uint64_t)q->axis);
        bw_svarint(&s, q->min);
        bw_svarint(&s, q->max);
        bw_varint(&s, q->n);
        for (size_t i = 0; i < q->n; i++) write_double(&s, q->scales[i]);
        bw_varint(&s, q->n);
        for (size_t i = 0; i < q->n; i++) bw_svarint(&s, q->zeros[i]);
    } else {
        write_double(&s, q->scales[0]);
        bw_svarint(&s, q->zeros[0]);
        bw_svarint(&s, q->min);
        bw_svarint(&s, q->max);
    }
    return bw_type_entry(w, f == BW_VHLO ? "vhlo" : "quant", true, &s);
}

size_t bw_type(bw *w, const ir_type *t, bw_form f) {
    str s = STR_INIT;
    if (t->kind == IR_TUPLE || t->kind == IR_FUTURE) return aggregate(w, t, f);
    if (t->kind == IR_TOKEN) {
        bw_varint(&s, f == BW_VHLO ? VT_TOKEN : 0);
        return bw_type_entry(w, f == BW_VHLO ? "vhlo" : "stablehlo", true, &s);
    }
    size_t element = t->quant ? quantized(w, t->quant, f) : bw_element(w, t->dtype, f);
    bw_varint(&s, f == BW_VHLO ? VT_TENSOR : BT_TENSOR);
    bw_varint(&s, t->rank);
    for (uint32_t d = 0; d < t->rank; d++) bw_svarint(&s, t->dims[d]);
    bw_varint(&s, element);
    return finish_type(w, f, &s);
}

size_t bw_function_type(bw *w, const ir_func *f) {
    str s = STR_INIT, in = STR_INIT;
    bw_varint(&in, f->body->n_args);
    for (size_t i = 0; i < f->body->n_args; i++) bw_varint(&in, bw_type(w, f->body->args[i]->type, BW_VHLO));
    bw_varint(&in, f->n_results);
    for (size_t i = 0; i < f->n_results; i++) bw_varint(&in, bw_type(w, f->result_types[i], BW_VHLO));
    bw_varint(&s, VT_FUNCTION);
    str_appendn(&s, in.data, in.len);
    s.failed |= in.failed;
    str_free(&in);
    return finish_type(w, BW_VHLO, &s);
}

/* --- Elements --- */

/* Booleans are packed, a lone byte of ones is a splat; sub-byte integers take a byte each, with nothing
 * above their bits. */
static void raw_elements(str *s, xt_dtype t, const unsigned char *p, size_t n, bool splat) {
    str raw = STR_INIT;
    int bits = ir_dtype_bits(t);
    if (t == XT_BOOL && (splat || n == 1)) {
        str_putc(&raw, p[0] ? (char)0xff : 0);
    } else if (t == XT_BOOL) {
        for (size_t i = 0; i < n; i += 8) {
            unsigned byte = 0;
            for (size_t k = i; k < n && k < i + 8; k++) byte |= (unsigned)(p[k] != 0) << (k - i);
            str_putc(&raw, (char)byte);
        }
    } else if (ir_dtype_is_int(t) && bits < 8) {
        for (size_t i = 0; i < (splat ? 1 : n); i++) str_putc(&raw, (char)(p[i] & ((1u << bits) - 1)));
    } else if (n || splat) {
        str_appendn(&raw, (const char *)p, (splat ? 1 : n) * xt_dtype_size(t));
    }
    bw_blob(s, raw.data, raw.len);
    s->failed |= raw.failed;
    str_free(&raw);
}

static size_t dense(bw *w, const ir_literal *l, bw_form f) {
    str s = STR_INIT;
    size_t type = bw_type(w, l->type, f);
    bw_varint(&s, f == BW_VHLO ? VA_TENSOR : BA_DENSE);
    bw_varint(&s, type);
    raw_elements(&s, l->type->dtype, l->data, (size_t)l->type->count, l->splat && l->type->count > 0);
    return finish_attr(w, f, &s);
}

/* Lists of an op: a tensor in vhlo; the builtin dialect has arrays for those of one dim. */
static size_t list(bw *w, const ir_attr *a, bw_form f) {
    xt_dtype t = a->kind == IR_AK_BOOLS ? XT_BOOL : a->dtype && a->dtype != XT_BOOL ? a->dtype : XT_I64;
    bool matrix = a->rank2 || (a->n == 0 && a->key && text_key_is_matrix(a->key));
    int64_t dims[2] = {matrix ? a->rank2 ? (int64_t)(a->n / a->rank2) : 0 : (int64_t)a->n, (int64_t)a->rank2};
    const ir_type *type = ir_tensor(t, matrix ? 2 : 1, dims);
    size_t size = xt_dtype_size(t);
    unsigned char *p = arena_alloc(w->mem, a->n * size + 1);
    if (!type || !p) return bw_fail(w, NULL, "a list of %zu numbers is too large", a->n), 0;
    for (size_t i = 0; i < a->n; i++) memcpy(p + i * size, &a->v.ints[i], size); /* little-endian */
    bool as_array = f == BW_BUILTIN && !(a->key && text_key_is_matrix(a->key));
    if (!as_array) return dense(w, &(ir_literal){type, p, false}, f);
    str s = STR_INIT;
    size_t element = bw_element(w, t, f);
    bw_varint(&s, BA_INTS);
    bw_varint(&s, element);
    bw_varint(&s, a->n);
    bw_blob(&s, p, a->n * size);
    return finish_attr(w, f, &s);
}

/* --- Attributes --- */

size_t bw_string_attr(bw *w, const char *text, size_t n, bw_form f) {
    str s = STR_INIT;
    bw_varint(&s, f == BW_VHLO ? VA_STRING : BA_STRING);
    bw_varint(&s, bw_string(w, text, n));
    return finish_attr(w, f, &s);
}

static size_t symbol(bw *w, const ir_attr *a, bw_form f) {
    size_t name = bw_string_attr(w, a->v.s, a->n ? a->n : strlen(a->v.s), f);
    if (f == BW_VHLO) return name;
    str s = STR_INIT;
    bw_varint(&s, BA_SYMBOL);
    bw_varint(&s, name);
    return finish_attr(w, f, &s);
}

size_t bw_int(bw *w, int64_t v, xt_dtype t, bw_form f) {
    str s = STR_INIT;
    size_t type = bw_element(w, t, f);
    bw_varint(&s, f == BW_VHLO ? VA_INTEGER : BA_INTEGER);
    bw_varint(&s, type);
    bw_bits(&s, ir_dtype_bits(t), (uint64_t)v);
    return finish_attr(w, f, &s);
}

static size_t boolean(bw *w, bool v, bw_form f) {
    if (f == BW_BUILTIN) return bw_int(w, v, XT_BOOL, f);
    str s = STR_INIT;
    bw_varint(&s, VA_BOOL);
    bw_varint(&s, v);
    return finish_attr(w, f, &s);
}

static size_t number(bw *w, xt_dtype t, double v, bw_form f) {
    uint64_t cell[2] = {0};
    str s = STR_INIT;
    size_t type = bw_element(w, t, f);
    array_set(&(array){ir_scalar(t), cell}, 0, v);
    bw_varint(&s, f == BW_VHLO ? VA_FLOAT : BA_FLOAT);
    bw_varint(&s, type);
    bw_bits(&s, ir_dtype_bits(t), cell[0]);
    return finish_attr(w, f, &s);
}

size_t bw_enum(bw *w, ir_attr_key key, int64_t v, bc_dialect d) {
    static const char *const names[] = {[BC_VHLO] = "vhlo", [BC_STABLEHLO] = "stablehlo", [BC_CHLO] = "chlo"};
    int code = vhlo_enum_code(key, d);
    str s = STR_INIT;
    if (code < 0) bw_fail(w, NULL, "the attribute %s is no enumeration there", ir_attr_key_name(key));
    bw_varint(&s, (uint64_t)(code < 0 ? 0 : code));
    bw_varint(&s, (uint64_t)v);
    return bw_attr_entry(w, d == BC_CHLO && key == IR_A_precision_config ? "stablehlo" : names[d], true, &s);
}

size_t bw_array(bw *w, size_t n, const size_t *attrs, bw_form f) {
    str s = STR_INIT;
    bw_varint(&s, f == BW_VHLO ? VA_ARRAY : BA_ARRAY);
    bw_varint(&s, n);
    for (size_t i = 0; i < n; i++) bw_varint(&s, attrs[i]);
    return finish_attr(w, f, &s);
}

/* Names are strings of the dictionary's own form. */
static size_t dictionary(bw *w, const ir_op *op, const ir_attr *items, size_t n, bw_form names, bw_form values) {
    str s = STR_INIT, body = STR_INIT;
    for (size_t i = 0; i < n; i++) {
        bw_varint(&body, bw_string_attr(w, items[i].name, strlen(items[i].name), names));
        bw_varint(&body, bw_attr(w, op, &items[i], values));
    }
    bw_varint(&s, names == BW_VHLO ? VA_DICTIONARY : BA_DICTIONARY);
    bw_varint(&s, n);
    if (body.len) str_appendn(&s, body.data, body.len);
    s.failed |= body.failed;
    str_free(&body);
    return finish_attr(w, names, &s);
}

size_t bw_dictionary(bw *w, const ir_op *op, const ir_attr *items, size_t n, bw_form f) {
    return dictionary(w, op, items, n, BW_BUILTIN, f);
}

static size_t items(bw *w, const ir_op *op, const ir_attr *a, bw_form f) {
    bc_dialect d = f == BW_VHLO                                               ? BC_VHLO
                   : op && strcmp(ir_op_infos[op->code].dialect, "chlo") == 0 ? BC_CHLO
                                                                              : BC_STABLEHLO;
    size_t *attrs = arena_alloc(w->mem, (a->n + 1) * sizeof *attrs);
    for (size_t i = 0; attrs && i < a->n; i++)
        attrs[i] = a->kind == IR_AK_ENUMS ? bw_enum(w, a->key, a->v.ints[i], d) : bw_attr(w, op, &a->v.list[i], f);
    return attrs ? bw_array(w, a->n, attrs, f) : (bw_fail(w, op, "out of memory"), 0);
}

static size_t type_attr(bw *w, const ir_type *t, bw_form f) {
    str s = STR_INIT;
    size_t type = bw_type(w, t, f);
    bw_varint(&s, f == BW_VHLO ? VA_TYPE : BA_TYPE);
    bw_varint(&s, type);
    return finish_attr(w, f, &s);
}

static size_t unit(bw *w) {
    str s = STR_INIT;
    bw_varint(&s, BA_UNIT);
    return finish_attr(w, BW_BUILTIN, &s);
}

size_t bw_attr(bw *w, const ir_op *op, const ir_attr *a, bw_form f) {
    switch (a->kind) {
    case IR_AK_INT: return bw_int(w, a->v.i, a->key ? text_key_is_i32(a->key) ? XT_I32 : XT_I64 : a->dtype, f);
    case IR_AK_FLOAT: return number(w, a->dtype ? a->dtype : XT_F32, a->v.f, f);
    case IR_AK_BOOL: return boolean(w, a->v.b, f);
    case IR_AK_STRING: return bw_string_attr(w, a->v.s, a->n, f);
    case IR_AK_SYMBOL: return symbol(w, a, f);
    case IR_AK_INTS:
    case IR_AK_BOOLS: return list(w, a, f);
    case IR_AK_DENSE: return dense(w, &a->v.dense, f);
    case IR_AK_TYPE: return type_attr(w, a->v.type, f);
    case IR_AK_ENUM:
        return bw_enum(w, a->key, a->v.i,
                       f == BW_VHLO ? BC_VHLO
                       : strcmp(op ? ir_op_infos[op->code].dialect : "", "chlo") == 0 ? BC_CHLO
                                                                                      : BC_STABLEHLO);
    case IR_AK_ENUMS:
    case IR_AK_ARRAY: return items(w, op, a, f);
    case IR_AK_DICT: return dictionary(w, op, a->v.list, a->n, f, f);
    case IR_AK_UNIT: return unit(w);
    case IR_AK_OPAQUE: return bw_text_attr(w, op, a, f);
    }
    return 0;
}

/* --- Locations --- */

static size_t file_line(bw *w, src_id id) {
    const xt_src *src = src_get(id);
    str s = STR_INIT;
    bw_varint(&s, id ? BA_FILE_LINE : BA_NO_LOC);
    if (id) {
        bw_varint(&s, bw_string_attr(w, src->file, strlen(src->file), BW_BUILTIN));
        bw_varint(&s, src->line > 0 ? (uint64_t)src->line : 0);
        bw_varint(&s, 1);
    }
    return finish_attr(w, BW_BUILTIN, &s);
}

/* As ir_print spells them: "h.3.attn/n17" at train.c:41, either part when the other was not asked for. */
size_t bw_loc(bw *w, const ir_op *op, int64_t ordinal) {
    bool source = op && w->locs & IR_PRINT_LOC_SOURCE, ordinals = op && w->locs & IR_PRINT_LOC_ORDINAL && ordinal >= 0;
    const char *path = source && op->path ? intern_text(op->path) : "";
    str name = STR_INIT, s = STR_INIT;
    str_append(&name, path);
    if (ordinals) str_printf(&name, "%sn%lld", *path ? "/" : "", (long long)ordinal);
    size_t where = file_line(w, source ? op->src : 0), loc = where;
    if (name.len) {
        bw_varint(&s, BA_NAME_LOC);
        bw_varint(&s, bw_string_attr(w, name.data, name.len, BW_BUILTIN));
        bw_varint(&s, where);
        loc = finish_attr(w, BW_BUILTIN, &s);
    }
    str_free(&name);
    return loc;
}
