/* Attributes and literals as StableHLO text. Flat members of structured attributes are put together again; dictionaries
 * are sorted by name, so that equal programs print equally. */
#include <stdlib.h>

#include "ir/interp.h"
#include "ir/print_int.h"

/* Longer literals print as one hexadecimal string. Booleans never do: MLIR has changed how it packs them. */
enum { LITERAL_LIST_MAX = 64 };

void print_quoted(str *out, const char *s, size_t n) {
    str_putc(out, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\\')
            str_append(out, "\\\\");
        else if (c < 0x20 || c >= 0x7f || c == '"')
            str_printf(out, "\\%02X", c);
        else
            str_putc(out, (char)c);
    }
    str_putc(out, '"');
}

static bool is_bare(const char *s) {
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_')) return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_' ||
              *s == '$' || *s == '.'))
            return false;
    return true;
}

void print_symbol(str *out, const char *s) {
    str_putc(out, '@');
    if (is_bare(s))
        str_append(out, s);
    else
        print_quoted(out, s, strlen(s));
}

void print_ints(str *out, size_t n, const int64_t *v) {
    str_putc(out, '[');
    for (size_t i = 0; i < n; i++) str_printf(out, "%s%lld", i ? ", " : "", (long long)v[i]);
    str_putc(out, ']');
}

/* --- Literals --- */

static void print_element(str *out, xt_dtype t, const char *e) {
    int64_t v = 0;
    size_t size = xt_dtype_size(t);
    if (t == XT_BOOL) {
        str_append(out, *e ? "true" : "false");
    } else if (ir_dtype_is_complex(t)) {
        xt_dtype part = t == XT_C64 ? XT_F32 : XT_F64;
        str_putc(out, '(');
        number_print(part, e, out);
        str_putc(out, ',');
        number_print(part, e + size / 2, out);
        str_putc(out, ')');
    } else if (ir_dtype_is_float(t)) {
        number_print(t, e, out);
    } else {
        memcpy(&v, e, size);
        if (size == 8) {
            if (ir_dtype_is_signed(t))
                str_printf(out, "%lld", (long long)v);
            else
                str_printf(out, "%llu", (unsigned long long)v);
            return;
        }
        if (ir_dtype_is_signed(t)) v = (int64_t)((uint64_t)v << (64 - 8 * size)) >> (64 - 8 * size);
        str_printf(out, "%lld", (long long)v);
    }
}

static const char *print_nested(str *out, const ir_type *t, size_t depth, const char *e) {
    if (depth == t->rank) {
        print_element(out, t->dtype, e);
        return e + xt_dtype_size(t->dtype);
    }
    str_putc(out, '[');
    for (int64_t i = 0; i < t->dims[depth]; i++) {
        if (i) str_append(out, ", ");
        e = print_nested(out, t, depth + 1, e);
    }
    str_putc(out, ']');
    return e;
}

static unsigned sub_byte_mask(xt_dtype t) {
    switch (t) {
    case XT_I4:
    case XT_U4: return 0x0F;
    case XT_I2:
    case XT_U2: return 0x03;
    default: return 0xFF;
    }
}

static void print_hex(str *out, const ir_literal *l) {
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *b = l->data;
    size_t n = (size_t)l->type->count * xt_dtype_size(l->type->dtype);
    unsigned mask = sub_byte_mask(l->type->dtype);
    str_append(out, "\"0x");
    for (size_t i = 0; i < n; i++) {
        char two[2] = {digits[(b[i] & mask) >> 4], digits[b[i] & mask & 15]};
        str_appendn(out, two, 2);
    }
    str_putc(out, '"');
}

void print_literal(str *out, const ir_literal *l) {
    const char *data = l->data;
    size_t size = xt_dtype_size(l->type->dtype), count = (size_t)l->type->count;
    bool same = l->splat || count <= 1 || memcmp(data, data + size, (count - 1) * size) == 0;
    str_append(out, "dense<");
    if (count == 0) { /* no element */
    } else if (same)
        print_element(out, l->type->dtype, data);
    else if (count > LITERAL_LIST_MAX && l->type->dtype != XT_BOOL)
        print_hex(out, l);
    else
        print_nested(out, l->type, 0, data);
    str_append(out, "> : ");
    ir_type_print(l->type, out);
}

/* --- Values --- */

static const char *enum_type(ir_attr_key k) {
    switch (k) {
    case IR_A_compare_type: return "comparison_type";
    case IR_A_precision_config: return "precision";
    case IR_A_transpose_a: return "transpose";
    default: return ir_attr_key_name(k);
    }
}

static void print_enum(str *out, ir_attr_key k, int64_t v, const ir_op *op) {
    const char *dialect = op ? ir_op_infos[op->code].dialect : "stablehlo", *name = ir_enum_name(k, v);
    str_printf(out, "#%s<%s %s>", strcmp(dialect, "chlo") ? "stablehlo" : "chlo", enum_type(k), name ? name : "?");
}

/* dense<[[0, 0], [1, 1]]> : tensor<2x2xi64> */
static void print_matrix(str *out, const ir_attr *a) {
    size_t cols = a->rank2 ? a->rank2 : a->n, rows = cols ? a->n / cols : 0;
    if (a->n && !a->rank2) {
        str_append(out, "dense<");
        print_ints(out, a->n, a->v.ints);
        str_printf(out, "> : tensor<%zuxi64>", a->n);
        return;
    }
    str_append(out, "dense<");
    for (size_t i = 0; i < rows; i++) {
        str_append(out, i ? ", " : "[");
        print_ints(out, cols, a->v.ints + i * cols);
    }
    str_printf(out, "%s> : tensor<%zux%zuxi64>", rows ? "]" : "", rows, cols);
}

static void print_array(str *out, const ir_attr *a, const char *type) {
    str_printf(out, "array<%s", type);
    for (size_t i = 0; i < a->n; i++) {
        str_append(out, i ? ", " : ": ");
        if (a->kind == IR_AK_BOOLS)
            str_append(out, a->v.ints[i] ? "true" : "false");
        else
            str_printf(out, "%lld", (long long)a->v.ints[i]);
    }
    str_putc(out, '>');
}

static void print_float(str *out, xt_dtype t, double v) {
    uint64_t cell[2] = {0};
    array_set(&(array){ir_scalar(t), cell}, 0, v);
    number_print(t, cell, out);
    str_printf(out, " : %s", ir_dtype_mlir(t));
}

void print_attr_value(str *out, const ir_attr *a, const ir_op *op) {
    switch (a->kind) {
    case IR_AK_INT:
        str_printf(out, "%lld : %s", (long long)a->v.i,
                   a->key ? text_key_is_i32(a->key) ? "i32" : "i64" : ir_dtype_mlir(a->dtype));
        break;
    case IR_AK_FLOAT: print_float(out, a->dtype ? a->dtype : XT_F32, a->v.f); break;
    case IR_AK_BOOL: str_append(out, a->v.b ? "true" : "false"); break;
    case IR_AK_STRING: print_quoted(out, a->v.s, a->n); break;
    case IR_AK_SYMBOL: print_symbol(out, a->v.s); break;
    case IR_AK_INTS: text_key_is_matrix(a->key) ? print_matrix(out, a) : print_array(out, a, "i64"); break;
    case IR_AK_BOOLS: print_array(out, a, "i1"); break;
    case IR_AK_DENSE: print_literal(out, &a->v.dense); break;
    case IR_AK_TYPE: ir_type_print(a->v.type, out); break;
    case IR_AK_ENUM: print_enum(out, a->key, a->v.i, op); break;
    case IR_AK_ENUMS:
        str_putc(out, '[');
        for (size_t i = 0; i < a->n; i++) {
            if (i) str_append(out, ", ");
            print_enum(out, a->key, a->v.ints[i], op);
        }
        str_putc(out, ']');
        break;
    case IR_AK_ARRAY:
        str_putc(out, '[');
        for (size_t i = 0; i < a->n; i++) {
            if (i) str_append(out, ", ");
            print_attr_value(out, &a->v.list[i], op);
        }
        str_putc(out, ']');
        break;
    case IR_AK_DICT:
        if (a->n)
            print_attr_dict(out, a->v.list, a->n, "");
        else
            str_append(out, "{}");
        break;
    case IR_AK_UNIT: str_append(out, "unit"); break;
    case IR_AK_OPAQUE: str_appendn(out, a->v.s, a->n); break;
    }
}

static void print_attr_name(str *out, const char *name) {
    if (is_bare(name))
        str_append(out, name);
    else
        print_quoted(out, name, strlen(name));
}

/* --- Structured attributes: which flat members belong together --- */

typedef struct member {
    const char *name;
    ir_attr_key key;
} member;
typedef struct structure {
    const char *name, *type; /* the attribute and its type */
    member members[6];
} structure;

static const structure structures[] = {
    {"dot_dimension_numbers",
     "dot",
     {{"lhs_batching_dimensions", IR_A_lhs_batching_dimensions},
      {"rhs_batching_dimensions", IR_A_rhs_batching_dimensions},
      {"lhs_contracting_dimensions", IR_A_lhs_contracting_dimensions},
      {"rhs_contracting_dimensions", IR_A_rhs_contracting_dimensions}}},
    {"dimension_numbers",
     "gather",
     {{"offset_dims", IR_A_offset_dims},
      {"collapsed_slice_dims", IR_A_collapsed_slice_dims},
      {"operand_batching_dims", IR_A_operand_batching_dims},
      {"start_indices_batching_dims", IR_A_start_indices_batching_dims},
      {"start_index_map", IR_A_start_index_map},
      {"index_vector_dim", IR_A_index_vector_dim}}},
    {"scatter_dimension_numbers",
     "scatter",
     {{"update_window_dims", IR_A_update_window_dims},
      {"inserted_window_dims", IR_A_inserted_window_dims},
      {"input_batching_dims", IR_A_input_batching_dims},
      {"scatter_indices_batching_dims", IR_A_scatter_indices_batching_dims},
      {"scatter_dims_to_operand_dims", IR_A_scatter_dims_to_operand_dims},
      {"index_vector_dim", IR_A_index_vector_dim}}},
    {"channel_handle", "channel_handle", {{"handle", IR_A_channel_id}, {"type", IR_A_channel_type}}},
};
static const structure ragged_dot = {"ragged_dot_dimension_numbers",
                                     "ragged_dot",
                                     {{"lhs_batching_dimensions", IR_A_lhs_batching_dimensions},
                                      {"rhs_batching_dimensions", IR_A_rhs_batching_dimensions},
                                      {"lhs_contracting_dimensions", IR_A_lhs_contracting_dimensions},
                                      {"rhs_contracting_dimensions", IR_A_rhs_contracting_dimensions},
                                      {"lhs_ragged_dimensions", IR_A_lhs_ragged_dimensions},
                                      {"rhs_group_dimensions", IR_A_rhs_group_dimensions}}};
static const ir_attr_key conv_keys[] = {
    IR_A_input_batch_dimension,          IR_A_input_feature_dimension,         IR_A_input_spatial_dimensions,
    IR_A_kernel_input_feature_dimension, IR_A_kernel_output_feature_dimension, IR_A_kernel_spatial_dimensions,
    IR_A_output_batch_dimension,         IR_A_output_feature_dimension,        IR_A_output_spatial_dimensions,
};

static const structure *structure_of(const ir_op *op, ir_attr_key key) {
    for (size_t k = 0; op->code == OP_chlo_ragged_dot && k < 6; k++)
        if (ragged_dot.members[k].key == key) return &ragged_dot;
    for (size_t i = 0; i < BASE_COUNT(structures); i++) {
        bool scatter = op->code == OP_scatter, is_scatter = i == 2;
        if (key == IR_A_index_vector_dim && scatter != is_scatter) continue;
        for (size_t k = 0; k < 6 && structures[i].members[k].name; k++)
            if (structures[i].members[k].key == key) return &structures[i];
    }
    return NULL;
}

static bool is_conv_key(ir_attr_key key) {
    for (size_t i = 0; i < BASE_COUNT(conv_keys); i++)
        if (conv_keys[i] == key) return true;
    return false;
}

/* Empty lists are left out; integers are not. */
static void print_structure(str *out, const ir_op *op, const structure *s) {
    str_printf(out, "%s = #%s.%s<", s->name, s == &ragged_dot ? "chlo" : "stablehlo", s->type);
    const char *comma = "";
    for (size_t i = 0; i < 6 && s->members[i].name; i++) {
        const ir_attr *a = ir_attr_find(op, s->members[i].key);
        if (!a || (a->kind == IR_AK_INTS && a->n == 0)) continue;
        str_printf(out, "%s%s = ", comma, s->members[i].name);
        if (a->kind == IR_AK_INTS)
            print_ints(out, a->n, a->v.ints);
        else
            str_printf(out, "%lld", (long long)a->v.i);
        comma = ", ";
    }
    str_putc(out, '>');
}

static bool print_conv_side(str *out, const ir_op *op, const ir_attr_key keys[3], char first, char second) {
    int64_t at_first = ir_get_int(op, keys[0], -1), at_second = ir_get_int(op, keys[1], -1);
    size_t n;
    const int64_t *spatial = ir_get_ints(op, keys[2], &n);
    str_putc(out, '[');
    for (int64_t d = 0; d < (int64_t)n + 2; d++) {
        if (d) str_append(out, ", ");
        size_t i = 0;
        while (i < n && spatial[i] != d) i++;
        if (d == at_first)
            str_putc(out, first);
        else if (d == at_second)
            str_putc(out, second);
        else if (i < n)
            str_printf(out, "%zu", i);
        else
            return false;
    }
    str_putc(out, ']');
    return true;
}

bool print_conv_dims(str *out, const ir_op *op) {
    str text = STR_INIT;
    bool ok = print_conv_side(&text, op, conv_keys, 'b', 'f');
    str_putc(&text, 'x');
    ok = ok && print_conv_side(&text, op, conv_keys + 3, 'i', 'o');
    str_append(&text, "->");
    ok = ok && print_conv_side(&text, op, conv_keys + 6, 'b', 'f');
    if (ok) str_append(out, str_cstr(&text));
    str_free(&text);
    return ok;
}

/* --- Dictionaries --- */

typedef struct entry {
    const char *name;
    const ir_attr *attr; /* or */
    const structure *whole; /* or, when both are NULL, convolution's dimension numbers */
} entry;

static int by_name(const void *a, const void *b) {
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static void print_entries(str *out, const ir_op *op, entry *e, size_t n) {
    qsort(e, n, sizeof *e, by_name);
    str_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i) str_append(out, ", ");
        if (e[i].whole) {
            print_structure(out, op, e[i].whole);
        } else if (!e[i].attr) {
            str_append(out, "dimension_numbers = #stablehlo.conv<");
            print_conv_dims(out, op);
            str_putc(out, '>');
        } else {
            print_attr_name(out, e[i].name);
            if (e[i].attr->kind == IR_AK_UNIT) continue;
            str_append(out, " = ");
            print_attr_value(out, e[i].attr, op);
        }
    }
    str_putc(out, '}');
}

void print_attr_dict(str *out, const ir_attr *list, size_t n, const char *before) {
    entry *e = n ? base_calloc(n, sizeof *e) : NULL;
    if (n && !e) out->failed = true;
    if (!e) return;
    for (size_t i = 0; i < n; i++) e[i] = (entry){list[i].name, &list[i], NULL};
    str_append(out, before);
    print_entries(out, NULL, e, n);
    base_free(e);
}

static bool filtered(const ir_attr *a, const attr_filter *f) {
    if (a->key ? !f->inherent : !f->discardable) return true;
    if (a->key && f->skip_row && pretty_has_key(f->skip_row, a->key)) return true;
    for (size_t i = 0; a->key && i < f->n_skip; i++)
        if (f->skip[i] == a->key) return true;
    return false;
}

void print_op_attrs(str *out, const ir_op *op, const attr_filter *filter, const char *before, const char *after) {
    entry *e = op->n_attrs ? base_calloc(op->n_attrs, sizeof *e) : NULL;
    size_t n = 0;
    if (op->n_attrs && !e) out->failed = true;
    for (uint32_t i = 0; e && i < op->n_attrs; i++) {
        const ir_attr *a = &op->attrs[i];
        if (filtered(a, filter)) continue;
        const structure *s = a->key ? structure_of(op, a->key) : NULL;
        bool conv = a->key && is_conv_key(a->key), seen = false;
        entry one = {s ? s->name : conv ? "dimension_numbers" : a->name, s || conv ? NULL : a, s};
        for (size_t k = 0; k < n && (s || conv); k++) seen = seen || (e[k].whole == s && !e[k].attr);
        if (!seen) e[n++] = one;
    }
    if (n) {
        str_append(out, before);
        print_entries(out, op, e, n);
        str_append(out, after);
    }
    base_free(e);
}
