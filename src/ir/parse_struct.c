/* StableHLO's structured attributes, read into flat members: dimension numbers of dot_general, convolution, gather and
 * scatter, channel handles. Members that the text leaves out are left out here too, except those that make no sense
 * without a value. */
#include "ir/parse_int.h"

bool parse_enum_word(parser *p, ir_attr_key k, int64_t *out) {
    if (p->tok.kind == TOK_WORD && ir_enum_from_name(k, p->tok.text, p->tok.n, out)) return lex_advance(p);
    char what[160];
    int n = snprintf(what, sizeof what, "one of");
    for (int64_t i = 0; i < 8 && n < (int)sizeof what - 24; i++) {
        const char *name = ir_enum_name(k, i);
        if (name) n += snprintf(what + n, sizeof what - (size_t)n, " %s", name);
    }
    return parse_expected(p, what);
}

/* --- <key = value, ...> --- */

typedef struct member {
    const char *name; /* as spelled inside the structure */
    ir_attr_key key;
} member;

static bool parse_member(parser *p, const member *m, size_t n, attr_list *out) {
    for (size_t i = 0; i < n; i++) {
        if (!parse_at_word(p, m[i].name)) continue;
        if (!lex_advance(p) || !parse_expect(p, '=', "after the member's name")) return false;
        if (ir_attr_key_kind(m[i].key) == IR_AK_INT) {
            ir_attr a = {.key = m[i].key, .kind = IR_AK_INT, .name = ir_attr_key_name(m[i].key), .dtype = XT_I64};
            return parse_integer(p, &a.v.i) && attr_push(p, out, a);
        }
        int64_t *v;
        size_t count;
        return parse_integer_list(p, "at the start of a list of dimensions", &v, &count) &&
               attr_push_ints(p, out, m[i].key, count, v);
    }
    char what[256];
    int k = snprintf(what, sizeof what, "one of");
    for (size_t i = 0; i < n && k < (int)sizeof what - 40; i++)
        k += snprintf(what + k, sizeof what - (size_t)k, " %s", m[i].name);
    return parse_expected(p, what);
}

static bool has_key(const attr_list *l, ir_attr_key k) {
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].key == k) return true;
    return false;
}

/* Members up to '>', which is consumed; what is left out becomes an empty list or zero, as MLIR leaves those out. */
static bool parse_member_list(parser *p, const member *m, size_t n, attr_list *out) {
    while (!parse_at(p, '>')) {
        if (!parse_member(p, m, n, out)) return false;
        if (!parse_at(p, '>') && !parse_expect(p, ',', "or '>' in a structure")) return false;
    }
    if (!lex_advance(p)) return false;
    for (size_t i = 0; i < n; i++) {
        if (has_key(out, m[i].key)) continue;
        ir_attr zero = {
            .key = m[i].key, .kind = ir_attr_key_kind(m[i].key), .name = ir_attr_key_name(m[i].key), .dtype = XT_I64};
        if (!attr_push(p, out, zero)) return false;
    }
    return true;
}

static bool parse_members(parser *p, const char *dialect_name, const member *m, size_t n, attr_list *out) {
    if (p->tok.kind != TOK_HASH || p->tok.n != strlen(dialect_name) || memcmp(p->tok.text, dialect_name, p->tok.n)) {
        char what[80];
        snprintf(what, sizeof what, "%s<...>", dialect_name);
        return parse_expected(p, what);
    }
    return lex_advance(p) && parse_expect(p, '<', "after the structure's name") && parse_member_list(p, m, n, out);
}

/* --- [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] --- */

static bool parse_conv_side(parser *p, char first, char second, ir_attr_key first_key, ir_attr_key second_key,
                            ir_attr_key spatial, attr_list *out) {
    int64_t *where = NULL;
    size_t n = 0, cap = 0, n_spatial = 0;
    int64_t at_first = -1, at_second = -1, x;
    bool ok = parse_expect(p, '[', "before dimension labels");
    token start = p->tok;
    while (ok && !parse_at(p, ']')) {
        if (p->tok.kind == TOK_WORD && p->tok.n == 1 && (p->tok.text[0] == first || p->tok.text[0] == second)) {
            bool is_first = p->tok.text[0] == first;
            int64_t *slot = is_first ? &at_first : &at_second;
            if (*slot >= 0) {
                ok = parse_fail(p, "the label '%c' is given twice", p->tok.text[0]);
                break;
            }
            *slot = (int64_t)n;
            x = -1 - (int64_t)is_first;
            ok = lex_advance(p);
        } else if (p->tok.kind == TOK_INT) {
            ok = parse_integer(p, &x);
            n_spatial++;
        } else {
            char what[64];
            snprintf(what, sizeof what, "'%c', '%c' or the number of a spatial dimension", first, second);
            ok = parse_expected(p, what);
        }
        ok = ok && (VEC_PUSH(where, n, cap, x) || parse_oom(p));
        if (ok && !parse_at(p, ']')) ok = parse_expect(p, ',', "or ']' among dimension labels");
    }
    ok = ok && lex_advance(p);
    if (ok && (at_first < 0 || at_second < 0))
        ok = parse_fail_at(p, start, "the labels '%c' and '%c' must both be there", first, second);
    int64_t *dims = ok ? arena_alloc(p->m->mem, (n_spatial + 1) * sizeof *dims) : NULL;
    if (ok && !dims) ok = parse_oom(p);
    for (size_t i = 0; ok && i < n_spatial; i++) dims[i] = -1;
    for (size_t i = 0; ok && i < n; i++) {
        if (where[i] < 0) continue;
        if (where[i] >= (int64_t)n_spatial || dims[where[i]] >= 0)
            ok = parse_fail_at(p, start, "spatial dimensions are numbered 0 to %zu, each once", n_spatial - 1);
        else
            dims[where[i]] = (int64_t)i;
    }
    base_free(where);
    if (!ok) return false;
    ir_attr a = {
        .key = first_key, .kind = IR_AK_INT, .name = ir_attr_key_name(first_key), .dtype = XT_I64, .v.i = at_first};
    ir_attr b = {
        .key = second_key, .kind = IR_AK_INT, .name = ir_attr_key_name(second_key), .dtype = XT_I64, .v.i = at_second};
    return attr_push(p, out, a) && attr_push(p, out, b) && attr_push_ints(p, out, spatial, n_spatial, dims);
}

bool parse_conv_dims(parser *p, attr_list *out) {
    return parse_conv_side(p, 'b', 'f', IR_A_input_batch_dimension, IR_A_input_feature_dimension,
                           IR_A_input_spatial_dimensions, out) &&
           parse_expect_word(p, "x") &&
           parse_conv_side(p, 'i', 'o', IR_A_kernel_input_feature_dimension, IR_A_kernel_output_feature_dimension,
                           IR_A_kernel_spatial_dimensions, out) &&
           parse_arrow(p) &&
           parse_conv_side(p, 'b', 'f', IR_A_output_batch_dimension, IR_A_output_feature_dimension,
                           IR_A_output_spatial_dimensions, out);
}

/* --- By name --- */

static const member dot_members[] = {
    {"lhs_batching_dimensions", IR_A_lhs_batching_dimensions},
    {"rhs_batching_dimensions", IR_A_rhs_batching_dimensions},
    {"lhs_contracting_dimensions", IR_A_lhs_contracting_dimensions},
    {"rhs_contracting_dimensions", IR_A_rhs_contracting_dimensions},
};
static const member ragged_members[] = {
    {"lhs_batching_dimensions", IR_A_lhs_batching_dimensions},
    {"rhs_batching_dimensions", IR_A_rhs_batching_dimensions},
    {"lhs_contracting_dimensions", IR_A_lhs_contracting_dimensions},
    {"rhs_contracting_dimensions", IR_A_rhs_contracting_dimensions},
    {"lhs_ragged_dimensions", IR_A_lhs_ragged_dimensions},
    {"rhs_group_dimensions", IR_A_rhs_group_dimensions},
};
static const member gather_members[] = {
    {"offset_dims", IR_A_offset_dims},
    {"collapsed_slice_dims", IR_A_collapsed_slice_dims},
    {"operand_batching_dims", IR_A_operand_batching_dims},
    {"start_indices_batching_dims", IR_A_start_indices_batching_dims},
    {"start_index_map", IR_A_start_index_map},
    {"index_vector_dim", IR_A_index_vector_dim},
};
static const member scatter_members[] = {
    {"update_window_dims", IR_A_update_window_dims},
    {"inserted_window_dims", IR_A_inserted_window_dims},
    {"input_batching_dims", IR_A_input_batching_dims},
    {"scatter_indices_batching_dims", IR_A_scatter_indices_batching_dims},
    {"scatter_dims_to_operand_dims", IR_A_scatter_dims_to_operand_dims},
    {"index_vector_dim", IR_A_index_vector_dim},
};
static const member conv_members[] = {
    {"input_batch_dimension", IR_A_input_batch_dimension},
    {"input_feature_dimension", IR_A_input_feature_dimension},
    {"input_spatial_dimensions", IR_A_input_spatial_dimensions},
    {"kernel_input_feature_dimension", IR_A_kernel_input_feature_dimension},
    {"kernel_output_feature_dimension", IR_A_kernel_output_feature_dimension},
    {"kernel_spatial_dimensions", IR_A_kernel_spatial_dimensions},
    {"output_batch_dimension", IR_A_output_batch_dimension},
    {"output_feature_dimension", IR_A_output_feature_dimension},
    {"output_spatial_dimensions", IR_A_output_spatial_dimensions},
};
static const member channel_members[] = {{"handle", IR_A_channel_id}, {"type", IR_A_channel_type}};

static bool at_hash(const parser *p, const char *name) {
    return p->tok.kind == TOK_HASH && p->tok.n == strlen(name) && !memcmp(p->tok.text, name, p->tok.n);
}

bool parse_struct_attr(parser *p, const char *name, attr_list *out, bool *out_known) {
    *out_known = true;
    if (!strcmp(name, "dot_dimension_numbers"))
        return parse_members(p, "#stablehlo.dot", dot_members, BASE_COUNT(dot_members), out);
    if (!strcmp(name, "ragged_dot_dimension_numbers"))
        return parse_members(p, "#chlo.ragged_dot", ragged_members, BASE_COUNT(ragged_members), out);
    if (!strcmp(name, "scatter_dimension_numbers"))
        return parse_members(p, "#stablehlo.scatter", scatter_members, BASE_COUNT(scatter_members), out);
    if (!strcmp(name, "channel_handle"))
        return parse_members(p, "#stablehlo.channel_handle", channel_members, BASE_COUNT(channel_members), out);
    if (!strcmp(name, "dimension_numbers")) {
        if (at_hash(p, "#stablehlo.gather"))
            return parse_members(p, "#stablehlo.gather", gather_members, BASE_COUNT(gather_members), out);
        if (!at_hash(p, "#stablehlo.conv")) return parse_expected(p, "#stablehlo.gather<...> or #stablehlo.conv<...>");
        if (!lex_advance(p) || !parse_expect(p, '<', "after #stablehlo.conv")) return false;
        if (parse_accept_word(p, "raw")) return parse_member_list(p, conv_members, BASE_COUNT(conv_members), out);
        return !p->status && parse_conv_dims(p, out) && parse_expect(p, '>', "after the dimension numbers");
    }
    *out_known = false;
    return true;
}
