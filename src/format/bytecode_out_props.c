/* What an op carries: its properties, one reference for each name of its row, and the dictionary of what is left. vhlo
 * says every default. */
#include "format/bytecode_out.h"
#include "ir/text.h"

static bool is_name(const char *s, size_t n, const char *name) {
    return strlen(name) == n && memcmp(s, name, n) == 0;
}

/* Whether a row's list of names has this one. */
static bool has_name(const char *props, const char *name) {
    while (props && *props) {
        size_t n = strcspn(props, " ");
        if (is_name(props, n - (props[n - 1] == '?'), name)) return true;
        props += n + (props[n] == ' ');
    }
    return false;
}

static const ir_attr *named(const ir_op *op, const char *name, size_t n) {
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (is_name(name, n, op->attrs[i].name)) return &op->attrs[i];
    return NULL;
}

/* --- Defaults --- */

/* How many members a list has that is left out. */
static size_t default_length(const ir_op *op, ir_attr_key key) {
    size_t n;
    if (key == IR_A_precision_config) return 2;
    if (!ir_get_ints(op,
                     op->code == OP_convolution || op->code == OP_dynamic_conv ? IR_A_input_spatial_dimensions
                                                                               : IR_A_window_dimensions,
                     &n))
        return 0;
    return key == IR_A_padding ? 2 * n : n;
}

static size_t filled(bw *w, const ir_op *op, ir_attr a, int64_t v) {
    a.n = default_length(op, a.key);
    a.rank2 = a.key == IR_A_padding ? 2 : 0;
    int64_t *ints = arena_alloc(w->mem, (a.n + 1) * sizeof *ints);
    for (size_t i = 0; ints && i < a.n; i++) ints[i] = v;
    a.v.ints = ints;
    return bw_attr(w, op, &a, BW_VHLO);
}

static size_t default_value(bw *w, const ir_op *op, ir_attr_key key) {
    const bc_default *d = bc_default_of(op->code, key);
    ir_attr a = {.key = key, .kind = ir_attr_key_kind(key), .name = ir_attr_key_name(key), .dtype = XT_I64};
    if (!d && a.kind == IR_AK_INTS) return bw_attr(w, op, &a, BW_VHLO); /* lists of dims that are empty are left out */
    if (key == IR_A_operand_layouts || key == IR_A_result_layouts)
        a.kind = IR_AK_ARRAY;
    else if (key == IR_A_channel_id)
        a.v.i = 0;
    else if (!d)
        return bw_fail(w, op, "the attribute %s is missing", ir_attr_key_name(key)), 0;
    if (d && d->when == BC_IF_ALL) return filled(w, op, a, d->value);
    if (d && d->when == BC_IF_ZERO) a.v.i = d->value;
    if (d && d->when == BC_IF_EMPTY && a.kind == IR_AK_OPAQUE) {
        bool typed_ffi = key == IR_A_backend_config && ir_get_int(op, IR_A_api_version, 1) == 4;
        a.kind = typed_ffi ? IR_AK_DICT : key == IR_A_backend_config ? IR_AK_STRING : IR_AK_ARRAY;
    }
    if (a.kind == IR_AK_STRING) a.v.s = "";
    return bw_attr(w, op, &a, BW_VHLO);
}

/* --- vhlo --- */

static const char *const algorithm[] = {
    "lhs_precision_type",  "rhs_precision_type",       "accumulation_type",           "lhs_component_count",
    "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"};

static size_t vhlo_value(bw *w, const ir_op *op, const char *name, size_t n) {
    ir_attr_key key = ir_attr_key_from_name(name, n);
    const ir_attr *a = key ? ir_attr_find(op, key) : named(op, name, n);
    for (size_t i = 0; op->code == OP_dot_general && i < BASE_COUNT(algorithm); i++)
        if (is_name(name, n, algorithm[i]))
            return bw_algorithm_member(w, ir_attr_find(op, IR_A_algorithm), algorithm[i]);
    if (key == IR_A_result_accuracy) return bw_accuracy(w, a);
    if (key == IR_A_use_global_device_ids || (a && a->kind == IR_AK_UNIT))
        return bw_attr(w, op, &(ir_attr){.kind = IR_AK_BOOL, .v.b = a != NULL}, BW_VHLO);
    if (key == IR_A_api_version) return bw_enum(w, key, a ? a->v.i : 1, BC_VHLO);
    if (!key && !a) return bw_array(w, 0, NULL, BW_VHLO); /* result_tilings */
    return a ? bw_attr(w, op, a, BW_VHLO) : default_value(w, op, key);
}

/* What an older version of the op has no place for must say nothing. */
static bool says_nothing(const ir_op *op, const ir_attr *a) {
    const bc_default *d = a->key ? bc_default_of(op->code, a->key) : NULL;
    bool list = a->kind == IR_AK_INTS || a->kind == IR_AK_ARRAY || a->kind == IR_AK_DICT || a->kind == IR_AK_STRING;
    return (list && a->n == 0) || (d && bc_is_default(d, a));
}

/* The name that a row gives an attribute: the algorithm's members stand for it, a channel's type is not written but for
 * send and recv. */
static bool has_place(const char *props, const ir_attr *a) {
    if (a->key == IR_A_algorithm) return has_name(props, algorithm[0]);
    if (a->key == IR_A_channel_type) return true;
    return has_name(props, a->name);
}

static bool is_in_newest(const ir_op *op, const ir_attr *a) {
    const vhlo_row *row = vhlo_at(ir_op_infos[op->code].name, BYTECODE_NEWEST);
    return row && has_place(row->props, a);
}

/* --- Both --- */

static void rest(bw *w, const ir_op *op, const char *props, bw_form f, bw_carried *out) {
    ir_attr *left = arena_alloc(w->mem, (op->n_attrs + 1) * sizeof *left);
    size_t n = 0;
    for (uint32_t i = 0; left && i < op->n_attrs; i++) {
        const ir_attr *a = &op->attrs[i];
        if (props && has_place(props, a)) continue;
        if (f == BW_VHLO && a->key && is_in_newest(op, a)) {
            if (!says_nothing(op, a))
                bw_fail(w, op, "the attribute %s is newer than StableHLO %d.%d", a->name, w->version / 100,
                        w->version % 100);
            continue;
        }
        left[n++] = *a;
    }
    out->has_dict = n > 0;
    if (n) out->dict = bw_dictionary(w, op, left, n, f);
}

static size_t count_names(const char *props) {
    size_t n = 0;
    for (const char *p = props; *p; p++) n += *p == ' ' || p == props;
    return n;
}

static void vhlo_props(bw *w, const ir_op *op, const char *props, str *s) {
    for (const char *p = props; *p;) {
        size_t n = strcspn(p, " ");
        bw_varint(s, vhlo_value(w, op, p, n - (p[n - 1] == '?')));
        p += n + (p[n] == ' ');
    }
}

/* Of other dialects: what may be missing has a flag. False: the op lacks one that must be there, because the IR keeps
 * it in another form. */
static bool plain_values(bw *w, const ir_op *op, const char *props, str *s) {
    for (const char *p = props; *p;) {
        size_t n = strcspn(p, " ");
        bool optional = p[n - 1] == '?';
        const ir_attr *a = named(op, p, n - optional);
        if (!a && !optional) return false;
        size_t at = a ? bw_attr(w, op, a, BW_BUILTIN) : 0;
        if (optional && a)
            bw_flagged(s, at, true);
        else
            bw_varint(s, at);
        p += n + (p[n] == ' ');
    }
    return true;
}

void bw_op_attrs(bw *w, const ir_op *op, const char *props, bw_carried *out) {
    const char *dialect = ir_op_infos[op->code].dialect;
    bool plain = strcmp(dialect, "stablehlo") != 0 && strcmp(dialect, "func") != 0;
    str s = STR_INIT;
    *out = (bw_carried){.has_props = props && count_names(props) > 0};
    if (out->has_props && plain)
        out->has_props = plain_values(w, op, props, &s);
    else if (out->has_props)
        vhlo_props(w, op, props, &s);
    rest(w, op, out->has_props ? props : NULL, plain ? BW_BUILTIN : BW_VHLO, out);
    if (out->has_props)
        out->props = bw_properties(w, &s);
    else
        str_free(&s);
}
