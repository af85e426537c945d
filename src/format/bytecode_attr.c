/* Attributes and types of a bytecode file by index, decoded when first asked for; the builtin dialect's own. */
#include "format/bytecode_int.h"
#include "ir/interp.h"
#include "ir/text.h"

/* --- By index --- */

static bool enter_entry(bc_reader *r, bc_entry *e, const void *at, const char *what) {
    if (e->busy) return bc_fail(r, e->bytes.at, "this %s contains itself", what);
    if (!bc_enter(r, at)) return false;
    e->busy = true;
    return true;
}

static bool leave_entry(bc_reader *r, bc_entry *e, const bc_cursor *c, bool ok, const char *what) {
    e->busy = false;
    bc_leave(r);
    if (ok && c->at != c->end)
        return bc_fail(r, c->at, "%zu bytes too many in this %s", (size_t)(c->end - c->at), what);
    return ok;
}

static bool builtin_attr(bc_reader *r, bc_cursor *c, bc_attr *out);

/* A dialect without an encoding of its own writes assembly text. */
static bool text_attr(bc_reader *r, bc_cursor *c, bc_attr *out) {
    if (c->at == c->end || c->end[-1] != 0) return bc_fail(r, c->at, "the text of an attribute does not end");
    size_t n = (size_t)(c->end - c->at) - 1;
    const char *s = bc_keep(r, c->at, n);
    if (!s) return false;
    out->a = (ir_attr){.kind = IR_AK_OPAQUE, .name = "", .n = n, .v.s = s};
    c->at = c->end;
    return true;
}

static bool decode_attr(bc_reader *r, const bc_entry *e, bc_cursor *c, bc_attr *out) {
    out->a.name = "";
    if (!e->custom) return text_attr(r, c, out);
    switch (e->dialect) {
    case BC_BUILTIN: return builtin_attr(r, c, out);
    case BC_VHLO: return bc_vhlo_attr(r, c, out);
    case BC_STABLEHLO: return bc_stablehlo_attr(r, c, out);
    case BC_CHLO: return bc_chlo_attr(r, c, out);
    case BC_SDY: return bc_sdy_attr(r, c, out);
    default: return bc_fail(r, c->at, "an attribute of a dialect that is not known here");
    }
}

bool bc_attr_get(bc_reader *r, size_t index, const void *at, const bc_attr **out) {
    if (index >= r->n_attrs) return bc_fail(r, at, "attribute %zu of %zu", index, r->n_attrs);
    bc_entry *e = &r->attrs[index];
    if (!e->value) {
        bc_attr *a = bc_alloc(r, 1, sizeof *a);
        bc_cursor c = e->bytes;
        size_t outer = r->weight;
        r->weight = 1;
        if (!a || !enter_entry(r, e, at, "attribute") || !leave_entry(r, e, &c, decode_attr(r, e, &c, a), "attribute"))
            return false;
        a->weight = r->weight;
        r->weight = outer;
        e->value = a;
    }
    *out = e->value;
    return true;
}

static bool decode_type(bc_reader *r, const bc_entry *e, bc_cursor *c, bc_type *out) {
    out->kind = BC_TYPE_UNKNOWN;
    out->name = "?";
    if (!e->custom) return bc_text_type(r, c, out);
    if (e->dialect == BC_BUILTIN) return bc_builtin_type(r, c, out);
    if (e->dialect == BC_VHLO) return bc_vhlo_type(r, c, out);
    if (e->dialect == BC_STABLEHLO) return bc_stablehlo_type(r, c, out);
    if (e->dialect == BC_QUANT) return bc_quant_type(r, c, out);
    c->at = c->end;
    return true;
}

bool bc_type_get(bc_reader *r, size_t index, const void *at, const bc_type **out) {
    if (index >= r->n_types) return bc_fail(r, at, "type %zu of %zu", index, r->n_types);
    bc_entry *e = &r->types[index];
    if (!e->value) {
        bc_type *t = bc_alloc(r, 1, sizeof *t);
        bc_cursor c = e->bytes;
        if (!t || !enter_entry(r, e, at, "type") || !leave_entry(r, e, &c, decode_type(r, e, &c, t), "type"))
            return false;
        e->value = t;
    }
    *out = e->value;
    return true;
}

static bool weigh(bc_reader *r, const void *at, const bc_attr *a) {
    r->weight += a->weight;
    return r->weight <= BC_MAX_WEIGHT || bc_fail(r, at, "an attribute unfolds to more than %d others", BC_MAX_WEIGHT);
}

bool bc_attr_ref(bc_reader *r, bc_cursor *c, const bc_attr **out) {
    const unsigned char *at = c->at;
    uint64_t i;
    return bc_varint(r, c, &i) && bc_attr_get(r, (size_t)i, at, out) && weigh(r, at, *out);
}

bool bc_attr_ref_optional(bc_reader *r, bc_cursor *c, const bc_attr **out) {
    const unsigned char *at = c->at;
    uint64_t i;
    bool there;
    *out = NULL;
    return bc_flagged(r, c, &i, &there) && (!there || (bc_attr_get(r, (size_t)i, at, out) && weigh(r, at, *out)));
}

bool bc_type_ref(bc_reader *r, bc_cursor *c, const bc_type **out) {
    const unsigned char *at = c->at;
    uint64_t i;
    return bc_varint(r, c, &i) && bc_type_get(r, (size_t)i, at, out);
}

bool bc_value_type(bc_reader *r, size_t index, const void *at, const ir_type **out) {
    const bc_type *t;
    if (!bc_type_get(r, index, at, &t)) return false;
    if (t->kind != BC_TYPE_IR)
        return bc_refuse(r, at, "a value of a type that this program cannot have here: %s", t->name);
    *out = t->ir;
    return true;
}

/* --- Literals --- */

static bool packed_bits(bc_reader *r, const ir_type *t, bc_cursor raw, void **out) {
    size_t n = (size_t)t->count;
    unsigned char *bytes = arena_alloc(r->m->mem, n + 1);
    if (!bytes) return bc_oom(r);
    for (size_t i = 0; i < n; i++) bytes[i] = raw.at[i / 8] >> (i % 8) & 1;
    *out = bytes;
    return true;
}

/* The host keeps a sub-byte integer as its value in a byte. */
static void widen_sub_byte(xt_dtype t, unsigned char *p, size_t n) {
    int bits = ir_dtype_bits(t);
    if (!ir_dtype_is_int(t) || bits >= 8) return;
    for (size_t i = 0; i < n; i++) {
        unsigned v = p[i] & ((1u << bits) - 1);
        if (ir_dtype_is_signed(t) && v >> (bits - 1)) v |= ~((1u << bits) - 1);
        p[i] = (unsigned char)v;
    }
}

static bool splat_bool(bc_reader *r, bc_cursor raw, void **out) {
    unsigned char *b = arena_alloc(r->m->mem, 1);
    if (!b) return bc_oom(r);
    *b = raw.at[0] != 0;
    *out = b;
    return true;
}

/* `dense<[1, 0]> : tensor<2xindex>` stays text. */
static bool index_text(bc_reader *r, const ir_literal *l, bc_attr *out) {
    str s = STR_INIT;
    const int64_t *v = l->data;
    if (l->type->rank != 1) return bc_fail(r, r->begin, "a literal of index that is no list");
    if (l->splat && l->type->count > BC_MAX_DEPTH)
        return bc_fail(r, r->begin, "a list of %lld equal indices", (long long)l->type->count);
    str_append(&s, "dense<");
    bool same = l->splat;
    for (int64_t i = 1; !l->splat && (same = i == 1 || same) && i < l->type->count; i++) same = v[i] == v[0];
    if (l->type->count == 0) { /* no element */
    } else if (same || l->type->count == 1) {
        str_printf(&s, "%lld", (long long)v[0]);
    } else {
        for (int64_t i = 0; i < l->type->count; i++) str_printf(&s, "%s%lld", i ? ", " : "[", (long long)v[i]);
        str_putc(&s, ']');
    }
    str_printf(&s, "> : tensor<%lldxindex>", (long long)l->type->count);
    return bc_text(r, &s, &out->a);
}

bool bc_dense(bc_reader *r, const bc_type *type, bc_cursor raw, bc_attr *out) {
    if (type->kind != BC_TYPE_IR || type->ir->kind != IR_TENSOR || type->ir->count < 0)
        return bc_refuse(r, raw.at, "a literal needs a tensor type of known dims, found %s", type->name);
    const ir_type *t = type->ir;
    size_t size = xt_dtype_size(t->dtype), n = (size_t)(raw.end - raw.at), count = (size_t)t->count;
    ir_literal lit = {.type = t};
    void *data = NULL;
    if (t->dtype == XT_BOOL && n == 1 && (count == 1 || raw.at[0] == 0 || raw.at[0] == 0xff)) {
        lit.splat = count != 1;
        if (!splat_bool(r, raw, &data)) return false;
    } else if (t->dtype == XT_BOOL && n == (count + 7) / 8 && n != count) {
        if (!packed_bits(r, t, raw, &data)) return false;
    } else if (n == count * size || n == size) {
        lit.splat = n != count * size;
        if (!(data = bc_keep(r, raw.at, n))) return false;
        widen_sub_byte(t->dtype, data, n);
        for (size_t i = 0; t->dtype == XT_BOOL && i < n; i++)
            ((unsigned char *)data)[i] = ((unsigned char *)data)[i] != 0;
    } else {
        return bc_fail(r, raw.at, "a literal of %zu bytes for %zu elements of %s", n, count, ir_dtype_mlir(t->dtype));
    }
    lit.data = data;
    if (type->index) return index_text(r, &lit, out);
    out->a = (ir_attr){.kind = IR_AK_DENSE, .name = "", .v.dense = lit};
    return true;
}

static bool dense_array(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const bc_type *type;
    bc_cursor raw;
    uint64_t n;
    const unsigned char *at = c->at;
    if (!bc_type_ref(r, c, &type) || !bc_varint(r, c, &n) || !bc_blob(r, c, &raw)) return false;
    size_t size = type->kind == BC_TYPE_ELEMENT ? xt_dtype_size(type->dtype) : 0, bytes;
    if (!size || size > 8 || !size_mul((size_t)n, size, &bytes) || bytes != (size_t)(raw.end - raw.at))
        return bc_fail(r, at, "an array of %llu elements of %s in %zu bytes", (unsigned long long)n, type->name,
                       (size_t)(raw.end - raw.at));
    if (ir_dtype_is_float(type->dtype)) { /* no op of the IR has one; kept as text */
        str s = STR_INIT;
        str_printf(&s, "array<%s", type->name);
        for (size_t i = 0; i < n; i++) {
            str_append(&s, i ? ", " : ": ");
            number_print(type->dtype, raw.at + i * size, &s);
        }
        str_putc(&s, '>');
        return bc_text(r, &s, &out->a);
    }
    int64_t *v = arena_alloc(r->m->mem, (size_t)n * sizeof *v + 1);
    if (!v) return bc_oom(r);
    for (size_t i = 0; i < n; i++) {
        memcpy(&v[i], raw.at + i * size, size);
        if (type->dtype == XT_BOOL)
            v[i] = v[i] != 0;
        else if (size < 8 && ir_dtype_is_signed(type->dtype))
            v[i] = (int64_t)((uint64_t)v[i] << (64 - 8 * size)) >> (64 - 8 * size);
    }
    out->a = (ir_attr){.kind = type->dtype == XT_BOOL ? IR_AK_BOOLS : IR_AK_INTS,
                       .name = "",
                       .dtype = type->dtype,
                       .n = (size_t)n,
                       .v.ints = v};
    return true;
}

static bool dense_resource(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const bc_type *type;
    size_t i;
    const unsigned char *at = c->at;
    if (!bc_type_ref(r, c, &type) || !bc_index(r, c, r->n_resources, "resource", &i)) return false;
    if (!r->resources[i].data.at) return bc_fail(r, at, "the resource %s holds no data", r->resources[i].key.s);
    return bc_dense(r, type, r->resources[i].data, out);
}

/* --- Attributes --- */

bool bc_text(bc_reader *r, str *s, ir_attr *out) {
    bool ok = !s->failed || bc_oom(r);
    r->text_made += s->len;
    if (ok && r->text_made > BC_MAX_TEXT)
        ok = bc_fail(r, r->begin, "the program's attributes unfold to more than %d bytes of text", BC_MAX_TEXT);
    char *copy = ok ? bc_keep(r, str_cstr(s), s->len) : NULL;
    *out = (ir_attr){.kind = IR_AK_OPAQUE, .name = "", .n = s->len, .v.s = copy};
    str_free(s);
    return copy != NULL;
}

bool bc_attr_list(bc_reader *r, bc_cursor *c, ir_attr *out) {
    size_t n;
    if (!bc_count(r, c, "attributes", &n)) return false;
    ir_attr *list = arena_alloc(r->m->mem, n * sizeof *list + 1);
    if (!list) return bc_oom(r);
    for (size_t i = 0; i < n; i++) {
        const bc_attr *a;
        if (!bc_attr_ref(r, c, &a)) return false;
        list[i] = a->a;
    }
    *out = (ir_attr){.kind = IR_AK_ARRAY, .name = "", .n = n, .v.list = list};
    return true;
}

bool bc_int_list(bc_reader *r, bc_cursor *c, ir_attr *out) {
    int64_t *v;
    size_t n;
    if (!bc_svarints(r, c, &v, &n)) return false;
    *out = (ir_attr){.kind = IR_AK_INTS, .name = "", .dtype = XT_I64, .n = n, .v.ints = v};
    return true;
}

bool bc_number(bc_reader *r, bc_cursor *c, const bc_type *type, bc_attr *out, bool is_float) {
    const unsigned char *at = c->at;
    uint64_t bits[2] = {0, 0};
    if (type->kind != BC_TYPE_ELEMENT || ir_dtype_is_complex(type->dtype) || ir_dtype_is_float(type->dtype) != is_float)
        return bc_refuse(r, at, "a number of type %s", type->name);
    int width = ir_dtype_bits(type->dtype);
    if (!bc_bits(r, c, width, bits)) return false;
    if (is_float) {
        out->a = (ir_attr){.kind = IR_AK_FLOAT,
                           .name = "",
                           .dtype = type->dtype,
                           .v.f = array_get(&(array){ir_scalar(type->dtype), bits}, 0)};
        return true;
    }
    int64_t v = (int64_t)bits[0];
    if (ir_dtype_is_signed(type->dtype) && width < 64) v = (int64_t)(bits[0] << (64 - width)) >> (64 - width);
    if (type->index) {
        str s = STR_INIT;
        str_printf(&s, "%lld : index", (long long)v);
        return bc_text(r, &s, &out->a);
    }
    if (type->dtype == XT_BOOL)
        out->a = (ir_attr){.kind = IR_AK_BOOL, .name = "", .v.b = v != 0};
    else
        out->a = (ir_attr){.kind = IR_AK_INT, .name = "", .dtype = type->dtype, .v.i = v};
    return true;
}

bool bc_dictionary(bc_reader *r, bc_cursor *c, bc_attr *out) {
    size_t n;
    if (!bc_count(r, c, "attributes", &n)) return false;
    ir_attr *list = arena_alloc(r->m->mem, n * sizeof *list + 1);
    const bc_attr **members = bc_alloc(r, n, sizeof *members);
    if (!list || !members) return bc_oom(r);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *at = c->at;
        const bc_attr *name, *value;
        if (!bc_attr_ref(r, c, &name) || !bc_attr_ref(r, c, &value)) return false;
        if (name->a.kind != IR_AK_STRING) return bc_fail(r, at, "the name of a dictionary's member is no string");
        list[i] = value->a;
        list[i].name = name->a.v.s;
        members[i] = value;
    }
    out->a = (ir_attr){.kind = IR_AK_DICT, .name = "", .n = n, .v.list = list};
    out->members = members;
    return true;
}

bool bc_string_attr(bc_reader *r, bc_cursor *c, bc_attr *out) {
    bc_string s;
    if (!bc_string_at(r, c, &s)) return false;
    const char *copy = bc_keep(r, s.s, s.n);
    out->a = (ir_attr){.kind = IR_AK_STRING, .name = "", .n = s.n, .v.s = copy};
    return copy != NULL;
}

static bool symbol_attr(bc_reader *r, bc_cursor *c, bool nested, bc_attr *out) {
    const unsigned char *at = c->at;
    const bc_attr *root;
    ir_attr parts;
    if (!bc_attr_ref(r, c, &root) || (nested && !bc_attr_list(r, c, &parts))) return false;
    if (root->a.kind != IR_AK_STRING) return bc_fail(r, at, "a symbol whose name is no string");
    out->a = root->a;
    out->a.kind = IR_AK_SYMBOL;
    if (!nested) return true;
    str s = STR_INIT;
    print_attr_value(&s, &out->a, NULL);
    for (size_t i = 0; i < parts.n; i++) {
        str_append(&s, "::");
        print_attr_value(&s, &parts.v.list[i], NULL);
    }
    return bc_text(r, &s, &out->a);
}

bool bc_type_attr(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const bc_type *t;
    if (!bc_type_ref(r, c, &t)) return false;
    out->type = t;
    if (t->kind == BC_TYPE_IR && !t->index)
        out->a = (ir_attr){.kind = IR_AK_TYPE, .name = "", .v.type = t->ir};
    else
        out->a = (ir_attr){.kind = IR_AK_OPAQUE, .name = "", .n = strlen(t->name), .v.s = t->name};
    return true;
}

bool bc_dense_attr(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const bc_type *type;
    bc_cursor raw;
    return bc_type_ref(r, c, &type) && bc_blob(r, c, &raw) && bc_dense(r, type, raw, out);
}

static bool dense_strings(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const bc_type *type;
    uint64_t splat;
    size_t n;
    if (!bc_type_ref(r, c, &type) || !bc_varint(r, c, &splat) || !bc_count(r, c, "strings", &n)) return false;
    ir_attr *list = arena_alloc(r->m->mem, n * sizeof *list + 1);
    if (!list) return bc_oom(r);
    for (size_t i = 0; i < n; i++) {
        bc_attr one = {0};
        if (!bc_string_attr(r, c, &one)) return false;
        list[i] = one.a;
    }
    out->a = (ir_attr){.kind = IR_AK_ARRAY, .name = "", .n = n, .v.list = list};
    return true;
}

bool bc_number_attr(bc_reader *r, bc_cursor *c, bool is_float, bc_attr *out) {
    const bc_type *type;
    return bc_type_ref(r, c, &type) && bc_number(r, c, type, out, is_float);
}

static bool builtin_attr(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const unsigned char *at = c->at;
    const bc_type *type;
    uint64_t code;
    if (!bc_varint(r, c, &code)) return false;
    switch (code) {
    case 0: return bc_attr_list(r, c, &out->a);
    case 1: return bc_dictionary(r, c, out);
    case 2: return bc_string_attr(r, c, out);
    case 3: return bc_string_attr(r, c, out) && bc_type_ref(r, c, &type);
    case 4: return symbol_attr(r, c, false, out);
    case 5: return symbol_attr(r, c, true, out);
    case 6: return bc_type_attr(r, c, out);
    case 7: out->a = (ir_attr){.kind = IR_AK_UNIT, .name = ""}; return true;
    case 8: return bc_number_attr(r, c, false, out);
    case 9: return bc_number_attr(r, c, true, out);
    case 16: return dense_resource(r, c, out);
    case 17: return dense_array(r, c, out);
    case 18: return bc_dense_attr(r, c, out);
    case 19: return dense_strings(r, c, out);
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 22: { /* a location as a value: nothing here asks what it says */
        out->a = (ir_attr){.kind = IR_AK_OPAQUE, .name = "", .n = 12, .v.s = "loc(unknown)"};
        c->at = c->end;
        return true;
    }
    default:
        return bc_fail(r, at, "builtin attribute of code %llu, which no program of StableHLO has",
                       (unsigned long long)code);
    }
}
