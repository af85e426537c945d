/* Attributes and types of the stablehlo and chlo dialects, as plain (unversioned) bytecode has them. Structures become
 * a DICT of the flat members that attrs.def names. */
#include "format/bytecode_int.h"
#include "ir/text.h"

/* --- Structures --- */

enum { MAX_MEMBERS = 9 };

/* Members in the file's order; attrs.def says which are lists. */
static bool structure(bc_reader *r, bc_cursor *c, const ir_attr_key *keys, size_t n, bc_attr *out) {
    ir_attr *list = arena_alloc(r->m->mem, n * sizeof *list);
    if (!list) return bc_oom(r);
    for (size_t i = 0; i < n; i++) {
        if (ir_attr_key_kind(keys[i]) == IR_AK_INT) {
            list[i] = (ir_attr){.kind = IR_AK_INT, .dtype = XT_I64};
            if (!bc_svarint(r, c, &list[i].v.i)) return false;
        } else if (!bc_int_list(r, c, &list[i])) {
            return false;
        }
        list[i].name = ir_attr_key_name(keys[i]);
    }
    out->a = (ir_attr){.kind = IR_AK_DICT, .name = "", .n = n, .v.list = list};
    out->structure = true;
    return true;
}

static const ir_attr_key channel[] = {IR_A_channel_id, IR_A_channel_type};
static const ir_attr_key conv[] = {
    IR_A_input_batch_dimension,          IR_A_input_feature_dimension,         IR_A_input_spatial_dimensions,
    IR_A_kernel_input_feature_dimension, IR_A_kernel_output_feature_dimension, IR_A_kernel_spatial_dimensions,
    IR_A_output_batch_dimension,         IR_A_output_feature_dimension,        IR_A_output_spatial_dimensions};
static const ir_attr_key dot[] = {IR_A_lhs_batching_dimensions, IR_A_rhs_batching_dimensions,
                                  IR_A_lhs_contracting_dimensions, IR_A_rhs_contracting_dimensions};
static const ir_attr_key gather[] = {IR_A_offset_dims,           IR_A_collapsed_slice_dims,
                                     IR_A_operand_batching_dims, IR_A_start_indices_batching_dims,
                                     IR_A_start_index_map,       IR_A_index_vector_dim};
static const ir_attr_key scatter[] = {IR_A_update_window_dims,           IR_A_inserted_window_dims,
                                      IR_A_input_batching_dims,          IR_A_scatter_indices_batching_dims,
                                      IR_A_scatter_dims_to_operand_dims, IR_A_index_vector_dim};

/* --- Texts --- */

static void spell_ints(str *s, const ir_attr *a) {
    str_putc(s, '[');
    for (size_t i = 0; i < a->n; i++) str_printf(s, "%s%lld", i ? ", " : "", (long long)a->v.ints[i]);
    str_putc(s, ']');
}

bool bc_output_alias(bc_reader *r, bc_cursor *c, bc_attr *out) {
    ir_attr of_output, of_operand;
    int64_t operand;
    if (!bc_int_list(r, c, &of_output) || !bc_svarint(r, c, &operand) || !bc_int_list(r, c, &of_operand)) return false;
    str s = STR_INIT;
    str_append(&s, "#stablehlo.output_operand_alias<output_tuple_indices = ");
    spell_ints(&s, &of_output);
    str_printf(&s, ", operand_index = %lld, operand_tuple_indices = ", (long long)operand);
    spell_ints(&s, &of_operand);
    str_putc(&s, '>');
    return bc_text(r, &s, &out->a);
}

/* Two doubles, a number of units in the last place, a mode. A default one becomes UNIT, which says nothing
 * and is dropped. */
bool bc_result_accuracy(bc_reader *r, bc_cursor *c, bc_attr *out) {
    static const char *const modes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};
    uint64_t bits[2];
    int64_t ulps;
    const bc_attr *mode;
    if (!bc_bits(r, c, 64, &bits[0]) || !bc_bits(r, c, 64, &bits[1]) || !bc_svarint(r, c, &ulps)) return false;
    const unsigned char *at = c->at;
    if (!bc_attr_ref(r, c, &mode)) return false;
    if (mode->a.kind != IR_AK_ENUM || mode->a.v.i < 0 || mode->a.v.i >= (int64_t)BASE_COUNT(modes))
        return bc_fail(r, at, "no mode of result accuracy");
    out->a = (ir_attr){.kind = IR_AK_UNIT, .name = ""};
    if (!bits[0] && !bits[1] && !ulps && !mode->a.v.i) return true;
    double tolerance[2];
    memcpy(tolerance, bits, sizeof tolerance);
    str s = STR_INIT;
    str_append(&s, "#stablehlo.result_accuracy<");
    if (bits[0]) str_printf(&s, "atol = "), number_print_double(tolerance[0], &s), str_append(&s, ", ");
    if (bits[1]) str_printf(&s, "rtol = "), number_print_double(tolerance[1], &s), str_append(&s, ", ");
    if (ulps) str_printf(&s, "ulps = %lld, ", (long long)ulps);
    str_printf(&s, "mode = #stablehlo.result_accuracy_mode<%s>>", modes[mode->a.v.i]);
    return bc_text(r, &s, &out->a);
}

bool bc_dot_algorithm_text(bc_reader *r, const char *const types[3], const int64_t counts[3], bool imprecise,
                           ir_attr *out) {
    str s = STR_INIT;
    str_printf(&s,
               "#stablehlo.dot_algorithm<lhs_precision_type = %s, rhs_precision_type = %s, accumulation_type = %s, "
               "lhs_component_count = %lld, "
               "rhs_component_count = %lld, num_primitive_operations = %lld, allow_imprecise_accumulation = %s>",
               types[0], types[1], types[2], (long long)counts[0], (long long)counts[1], (long long)counts[2],
               imprecise ? "true" : "false");
    return bc_text(r, &s, out);
}

static bool dot_algorithm(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const bc_type *types[3];
    const char *names[3];
    int64_t counts[3];
    unsigned imprecise;
    for (int i = 0; i < 3; i++) {
        if (!bc_type_ref(r, c, &types[i])) return false;
        names[i] = types[i]->name;
    }
    for (int i = 0; i < 3; i++)
        if (!bc_svarint(r, c, &counts[i])) return false;
    return bc_byte(r, c, &imprecise) && bc_dot_algorithm_text(r, names, counts, imprecise != 0, &out->a);
}

/* --- Meshes in replica groups --- */

static void spell_texts(str *s, const ir_attr *list) {
    str_putc(s, '[');
    for (size_t i = 0; list->kind == IR_AK_ARRAY && i < list->n; i++) {
        if (i) str_append(s, ", ");
        if (list->v.list[i].kind == IR_AK_OPAQUE) str_append(s, list->v.list[i].v.s);
    }
    str_putc(s, ']');
}

void bc_spell_axis(str *s, const char *name, int64_t size) {
    print_attr_value(s, &(ir_attr){.kind = IR_AK_STRING, .n = strlen(name), .v.s = name}, NULL);
    str_printf(s, "=%lld", (long long)size);
}

void bc_spell_axis_ref(str *s, const char *name, const ir_attr *part) {
    str_append(s, "#stablehlo.axis_ref<name = ");
    print_attr_value(s, &(ir_attr){.kind = IR_AK_STRING, .n = strlen(name), .v.s = name}, NULL);
    if (part && part->kind == IR_AK_OPAQUE) str_printf(s, ", sub_axis_info = %s", part->v.s);
    str_putc(s, '>');
}

/* As Shardy spells one, which is what reads it. */
void bc_spell_mesh(str *s, const ir_attr *axes, const ir_attr *ids) {
    str_append(s, "mesh<");
    spell_texts(s, axes);
    const ir_literal *l = ids && ids->kind == IR_AK_DENSE && ids->v.dense.type->dtype == XT_I64 ? &ids->v.dense : NULL;
    for (int64_t i = 0; l && !l->splat && i < l->type->count; i++)
        str_printf(s, i ? ", %lld" : ", device_ids=[%lld", (long long)((const int64_t *)l->data)[i]);
    str_append(s, l && !l->splat && l->type->count ? "]>" : ">");
}

void bc_spell_groups(str *s, const ir_attr *mesh, const ir_attr *axes) {
    ir_attr symbol = *mesh;
    if (symbol.kind == IR_AK_STRING) symbol.kind = IR_AK_SYMBOL;
    str_append(s, "#stablehlo.replica_group_mesh_axes<mesh = ");
    print_attr_value(s, &symbol, NULL);
    str_append(s, ", axes = ");
    spell_texts(s, axes);
    str_putc(s, '>');
}

static bool named_size(bc_reader *r, bc_cursor *c, bc_attr *out) {
    bc_string name;
    int64_t size;
    str s = STR_INIT;
    if (!bc_string_at(r, c, &name) || !bc_svarint(r, c, &size)) return false;
    bc_spell_axis(&s, name.s, size);
    return bc_text(r, &s, &out->a);
}

static bool sub_axis(bc_reader *r, bc_cursor *c, bc_attr *out) {
    int64_t pre, size;
    str s = STR_INIT;
    if (!bc_svarint(r, c, &pre) || !bc_svarint(r, c, &size)) return false;
    str_printf(&s, "(%lld)%lld", (long long)pre, (long long)size);
    return bc_text(r, &s, &out->a);
}

static bool axis_ref(bc_reader *r, bc_cursor *c, bc_attr *out) {
    bc_string name;
    unsigned has;
    const bc_attr *part = NULL;
    str s = STR_INIT;
    if (!bc_string_at(r, c, &name) || !bc_byte(r, c, &has) || (has && !bc_attr_ref(r, c, &part))) return false;
    bc_spell_axis_ref(&s, name.s, part ? &part->a : NULL);
    return bc_text(r, &s, &out->a);
}

static bool mesh_groups(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const bc_attr *mesh;
    ir_attr axes;
    str s = STR_INIT;
    if (!bc_attr_ref(r, c, &mesh) || !bc_attr_list(r, c, &axes)) return false;
    bc_spell_groups(&s, &mesh->a, &axes);
    return bc_text(r, &s, &out->a);
}

static bool whole_mesh(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const bc_attr *ids = NULL;
    ir_attr axes;
    unsigned has;
    str s = STR_INIT;
    if (!bc_attr_list(r, c, &axes) || !bc_byte(r, c, &has) || (has && !bc_attr_ref(r, c, &ids))) return false;
    bc_spell_mesh(&s, &axes, ids ? &ids->a : NULL);
    return bc_text(r, &s, &out->a);
}

/* --- By code --- */

bool bc_enumeration(bc_reader *r, bc_cursor *c, bc_attr *out) {
    uint64_t v;
    if (!bc_varint(r, c, &v)) return false;
    out->a = (ir_attr){.kind = IR_AK_ENUM, .name = "", .v.i = v <= INT32_MAX ? (int64_t)v : -1};
    return true;
}

bool bc_bounds(bc_reader *r, bc_cursor *c, bc_attr *out) {
    ir_attr list;
    str s = STR_INIT;
    if (!bc_int_list(r, c, &list)) return false;
    str_append(&s, "#stablehlo.bounds<");
    for (size_t i = 0; i < list.n; i++) {
        if (i) str_append(&s, ", ");
        if (list.v.ints[i] == IR_DYNAMIC)
            str_putc(&s, '?');
        else
            str_printf(&s, "%lld", (long long)list.v.ints[i]);
    }
    str_putc(&s, '>');
    return bc_text(r, &s, &out->a);
}

bool bc_stablehlo_attr(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const unsigned char *at = c->at;
    uint64_t code;
    if (!bc_varint(r, c, &code)) return false;
    switch (code) {
    case 1: return structure(r, c, channel, BASE_COUNT(channel), out);
    case 2:
    case 3:
    case 6:
    case 8:
    case 9:
    case 10:
    case 12:
    case 16: return bc_enumeration(r, c, out);
    case 4: return structure(r, c, conv, BASE_COUNT(conv), out);
    case 5: return structure(r, c, dot, BASE_COUNT(dot), out);
    case 7: return structure(r, c, gather, BASE_COUNT(gather), out);
    case 11: return structure(r, c, scatter, BASE_COUNT(scatter), out);
    case 13: return bc_bounds(r, c, out);
    case 14: return bc_output_alias(r, c, out);
    case 15: return dot_algorithm(r, c, out);
    case 17: return bc_result_accuracy(r, c, out);
    case 18: return mesh_groups(r, c, out);
    case 19: return sub_axis(r, c, out);
    case 20: return axis_ref(r, c, out);
    case 21: return named_size(r, c, out);
    case 22: return whole_mesh(r, c, out);
    default: return bc_fail(r, at, "stablehlo attribute of the unknown code %llu", (unsigned long long)code);
    }
}

bool bc_stablehlo_type(bc_reader *r, bc_cursor *c, bc_type *out) {
    const unsigned char *at = c->at;
    uint64_t code;
    if (!bc_varint(r, c, &code)) return false;
    if (code == 1) return bc_aggregate_type(r, c, IR_FUTURE, out);
    if (code != 0) return bc_fail(r, at, "stablehlo type of the unknown code %llu", (unsigned long long)code);
    *out = (bc_type){.kind = BC_TYPE_IR, .ir = ir_token(), .name = "token"};
    return out->ir || bc_oom(r);
}

bool bc_chlo_attr(bc_reader *r, bc_cursor *c, bc_attr *out) {
    const unsigned char *at = c->at;
    uint64_t code;
    if (!bc_varint(r, c, &code)) return false;
    if (code <= 1) return bc_enumeration(r, c, out); /* comparison_direction, comparison_type */
    return bc_fail(r, at, "chlo attribute of the unknown code %llu", (unsigned long long)code);
}
