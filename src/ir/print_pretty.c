/* Pretty forms: by the rows of pretty.c, and one function for each op with a syntax of its own. What a form cannot show
 * (a missing attribute, an unusual region) makes the op print in generic form instead. */
#include "ir/print_int.h"

static const attr_filter everything_else = {true, true, NULL, NULL, 0};

static void print_operands(printer *p, const ir_op *op, uint32_t from) {
    for (uint32_t i = from; i < op->n_in; i++) {
        if (i > from) str_append(p->out, ", ");
        print_value(p, op->in[i]);
    }
}

static void print_name(printer *p, const ir_op *op) {
    str_printf(p->out, "%s.%s", ir_op_infos[op->code].dialect, ir_op_infos[op->code].name);
}

void print_function_type(str *out, size_t n_in, ir_value *const *in, size_t n_out, const ir_value *out_values) {
    str_putc(out, '(');
    for (size_t i = 0; i < n_in; i++) {
        if (i) str_append(out, ", ");
        ir_type_print(in[i]->type, out);
    }
    str_append(out, ") -> ");
    if (n_out != 1) str_putc(out, '(');
    for (size_t i = 0; i < n_out; i++) {
        if (i) str_append(out, ", ");
        ir_type_print(out_values[i].type, out);
    }
    if (n_out != 1) str_putc(out, ')');
}

static void print_function_type_of(printer *p, const ir_op *op) {
    str_append(p->out, " : ");
    print_function_type(p->out, op->n_in, op->in, op->n_out, op->out);
}

/* --- Clauses --- */

static bool is_ints(const ir_attr *a) {
    return a && a->kind == IR_AK_INTS;
}

static bool can_print_clause(const ir_op *op, const clause *c) {
    const ir_attr *a = ir_attr_find(op, c->key), *b = c->key2 ? ir_attr_find(op, c->key2) : NULL;
    if (!a && !b) return c->optional;
    if (!a || (c->key2 && !b)) return false;
    switch (c->kind) {
    case CLAUSE_INTS: return is_ints(a);
    case CLAUSE_INT: return a->kind == IR_AK_INT;
    case CLAUSE_BOOL: return a->kind == IR_AK_BOOL;
    case CLAUSE_ENUM: return a->kind == IR_AK_ENUM;
    case CLAUSE_ENUMS: return a->kind == IR_AK_ENUMS;
    case CLAUSE_STRING: return a->kind == IR_AK_STRING;
    case CLAUSE_PAIR: return is_ints(a) && is_ints(b);
    case CLAUSE_FORMAT: return a->kind == IR_AK_INT && b->kind == IR_AK_INT && a->v.i >= 0 && b->v.i >= 0;
    case CLAUSE_STRUCT: return a->kind == IR_AK_OPAQUE && !strncmp(a->v.s, "#stablehlo.dot_algorithm<", 25);
    }
    return false;
}

static void print_enum_list(str *out, const ir_attr *a) {
    str_putc(out, '[');
    for (size_t i = 0; i < a->n; i++) {
        const char *name = ir_enum_name(a->key, a->v.ints[i]);
        str_printf(out, "%s%s", i ? ", " : "", name ? name : "?");
    }
    str_putc(out, ']');
}

/* `, word = value`, or without the comma when it is the first thing after the op's name */
static void print_clause(printer *p, const ir_op *op, const clause *c, const char *before) {
    const ir_attr *a = ir_attr_find(op, c->key), *b = c->key2 ? ir_attr_find(op, c->key2) : NULL;
    if (!a || (c->kind == CLAUSE_PAIR && c->optional && a->n == 0 && b->n == 0)) return;
    const char *name;
    str_printf(p->out, "%s%s = ", before, c->word);
    switch (c->kind) {
    case CLAUSE_INTS: print_ints(p->out, a->n, a->v.ints); break;
    case CLAUSE_INT: str_printf(p->out, "%lld", (long long)a->v.i); break;
    case CLAUSE_BOOL: str_append(p->out, a->v.b ? "true" : "false"); break;
    case CLAUSE_ENUM:
        name = ir_enum_name(a->key, a->v.i);
        str_append(p->out, name ? name : "?");
        break;
    case CLAUSE_ENUMS: print_enum_list(p->out, a); break;
    case CLAUSE_STRING: print_quoted(p->out, a->v.s, a->n); break;
    case CLAUSE_PAIR:
        print_ints(p->out, a->n, a->v.ints);
        str_append(p->out, " x ");
        print_ints(p->out, b->n, b->v.ints);
        break;
    case CLAUSE_FORMAT: str_printf(p->out, "e%lldm%lld", (long long)a->v.i, (long long)b->v.i); break;
    case CLAUSE_STRUCT: str_append(p->out, a->v.s + strlen("#stablehlo.dot_algorithm")); break;
    }
}

/* --- Regular forms --- */

static bool all_same(const ir_op *op) {
    if (op->n_out != 1) return false;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->type != op->out[0].type) return false;
    return true;
}

static void print_types(printer *p, const ir_op *op, types_form form) {
    if (form == TYPES_FUNCTION || (form == TYPES_SAME && !all_same(op))) {
        print_function_type_of(p, op);
        return;
    }
    if (form == TYPES_OPERANDS && op->n_in == 0) return;
    str_append(p->out, " : ");
    if (form == TYPES_SELECT) {
        ir_type_print(op->in[0]->type, p->out);
        str_append(p->out, ", ");
    }
    if (form != TYPES_OPERANDS) {
        ir_type_print(op->out[0].type, p->out);
        return;
    }
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (i) str_append(p->out, ", ");
        ir_type_print(op->in[i]->type, p->out);
    }
}

/* Whether the result type alone says the operands' types. */
static bool form_fits(const ir_op *op, types_form form) {
    if (form == TYPES_NONE) return false;
    if (form == TYPES_SELECT) return op->in[1]->type == op->out[0].type && op->in[2]->type == op->out[0].type;
    if (form != TYPES_OPERANDS || op->n_out == 0) return true;
    if (op->n_out != op->n_in) return false;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->type != op->out[i].type) return false;
    return true;
}

static bool print_regular(printer *p, const ir_op *op) {
    const pretty_row *row = &pretty_rows[op->code];
    if (!form_fits(op, row->types)) return false;
    for (size_t i = 0; i < PRETTY_CLAUSES && row->clauses[i].word; i++)
        if (!can_print_clause(op, &row->clauses[i])) return false;
    attr_filter filter = everything_else;
    filter.skip_row = row;
    if (op->code == OP_func_return)
        str_append(p->out, "return");
    else
        print_name(p, op);
    if (op->n_in) str_putc(p->out, ' ');
    print_operands(p, op, 0);
    for (size_t i = 0; i < PRETTY_CLAUSES && row->clauses[i].word; i++)
        print_clause(p, op, &row->clauses[i], op->n_in || i ? ", " : " ");
    print_op_attrs(p->out, op, &filter, " ", "");
    print_types(p, op, row->types);
    return true;
}

/* --- Small forms of their own --- */

static void print_rest(printer *p, const ir_op *op, const ir_attr_key *skip, size_t n) {
    attr_filter filter = everything_else;
    filter.skip = skip;
    filter.n_skip = n;
    print_op_attrs(p->out, op, &filter, " ", "");
}

static bool print_constant(printer *p, const ir_op *op) {
    const ir_literal *l = ir_get_literal(op);
    if (!l) return false;
    print_name(p, op);
    print_rest(p, op, (ir_attr_key[]){IR_A_value}, 1);
    str_putc(p->out, ' ');
    print_literal(p->out, l);
    return true;
}

static bool print_compare(printer *p, const ir_op *op) {
    const ir_attr *type = ir_attr_find(op, IR_A_compare_type);
    const char *dir = ir_enum_name(IR_A_comparison_direction, ir_get_int(op, IR_A_comparison_direction, -1));
    const char *kind = type && type->kind == IR_AK_ENUM ? ir_enum_name(IR_A_compare_type, type->v.i) : NULL;
    if (!dir || (type && !kind)) return false;
    str_printf(p->out, "stablehlo.compare %s, ", dir);
    print_operands(p, op, 0);
    if (kind) str_printf(p->out, ", %s", kind);
    print_rest(p, op, (ir_attr_key[]){IR_A_comparison_direction, IR_A_compare_type}, 2);
    print_function_type_of(p, op);
    return true;
}

static bool print_slice(printer *p, const ir_op *op) {
    size_t n[3];
    static const ir_attr_key keys[] = {IR_A_start_indices, IR_A_limit_indices, IR_A_strides};
    const int64_t *v[3];
    for (int i = 0; i < 3; i++) v[i] = ir_get_ints(op, keys[i], &n[i]);
    if (n[0] != n[1] || n[0] != n[2]) return false;
    str_append(p->out, "stablehlo.slice ");
    print_operands(p, op, 0);
    str_append(p->out, " [");
    for (size_t i = 0; i < n[0]; i++) {
        str_printf(p->out, "%s%lld:%lld", i ? ", " : "", (long long)v[0][i], (long long)v[1][i]);
        if (v[2][i] != 1) str_printf(p->out, ":%lld", (long long)v[2][i]);
    }
    str_putc(p->out, ']');
    print_rest(p, op, keys, 3);
    print_function_type_of(p, op);
    return true;
}

static bool print_get_tuple_element(printer *p, const ir_op *op) {
    str_append(p->out, "stablehlo.get_tuple_element ");
    print_operands(p, op, 0);
    str_printf(p->out, "[%lld]", (long long)ir_get_int(op, IR_A_index, 0));
    print_rest(p, op, (ir_attr_key[]){IR_A_index}, 1);
    print_function_type_of(p, op);
    return true;
}

static bool print_call(printer *p, const ir_op *op) {
    ir_attr_key key = op->code == OP_call ? IR_A_callee : IR_A_call_target_name;
    const char *target = ir_get_string(op, key);
    if (!target) return false;
    str_append(p->out, op->code == OP_call ? "func.call " : "stablehlo.custom_call ");
    print_symbol(p->out, target);
    str_putc(p->out, '(');
    print_operands(p, op, 0);
    str_putc(p->out, ')');
    print_rest(p, op, &key, 1);
    print_function_type_of(p, op);
    return true;
}

static bool print_composite(printer *p, const ir_op *op) {
    const ir_attr *name = ir_attr_find(op, IR_A_name);
    if (!name || name->kind != IR_AK_STRING) return false;
    str_append(p->out, "stablehlo.composite ");
    print_quoted(p->out, name->v.s, name->n);
    if (op->n_in) str_putc(p->out, ' ');
    print_operands(p, op, 0);
    print_rest(p, op, (ir_attr_key[]){IR_A_name}, 1);
    print_function_type_of(p, op);
    return true;
}

/* --- reduce --- */

/* The op of a region that is just `op(first, second)` with a commutative op without attributes. */
static const ir_op *applied(const ir_op *reduce) {
    const ir_block *b = reduce->regions[0].block;
    const ir_op *op = b->first, *ret = b->last;
    if (reduce->n_in != 2 || b->n_args != 2 || !op || op->next != ret || !ret || ret->code != OP_return ||
        ret->n_in != 1 || ret->n_attrs)
        return NULL;
    bool plain = op->n_in == 2 && op->n_out == 1 && !op->n_attrs && !op->n_regions &&
                 (ir_op_infos[op->code].flags & IR_COMMUTES) && !strcmp(ir_op_infos[op->code].dialect, "stablehlo") &&
                 op->in[0] == b->args[0] && op->in[1] == b->args[1] && ret->in[0] == &op->out[0];
    const ir_type *t = reduce->in[1]->type;
    return plain && t->rank == 0 && b->args[0]->type == t && b->args[1]->type == t && op->out[0].type == t ? op : NULL;
}

static void print_reducer(printer *p, const ir_block *b) {
    size_t n = b->n_args / 2;
    for (size_t i = 0; i < n; i++)
        b->args[i]->mark = p->next_arg + 2 * i, b->args[n + i]->mark = p->next_arg + 2 * i + 1;
    p->next_arg += 2 * n;
    print_newline(p);
    str_append(p->out, " reducer");
    for (size_t i = 0; i < n; i++) {
        str_append(p->out, i ? " (" : "(");
        for (size_t side = 0; side < 2; side++) {
            if (side) str_append(p->out, ", ");
            print_value(p, b->args[side * n + i]);
            str_append(p->out, ": ");
            ir_type_print(b->args[side * n + i]->type, p->out);
        }
        str_putc(p->out, ')');
    }
    str_append(p->out, "  ");
    print_block_ops(p, b);
}

static bool print_reduce(printer *p, const ir_op *op) {
    size_t n_dims;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n_dims);
    const ir_block *b = op->n_regions == 1 ? op->regions[0].block : NULL;
    if (!b || b->n_args != op->n_in || op->n_in % 2 || op->n_in == 0 || !ir_attr_find(op, IR_A_dimensions))
        return false;
    const ir_op *inner = applied(op);
    str_append(p->out, "stablehlo.reduce");
    for (uint32_t i = 0; i < op->n_in / 2; i++) {
        str_append(p->out, i ? ", (" : "(");
        print_value(p, op->in[i]);
        str_append(p->out, " init: ");
        print_value(p, op->in[op->n_in / 2 + i]);
        str_putc(p->out, ')');
    }
    if (inner) str_printf(p->out, " applies stablehlo.%s", ir_op_infos[inner->code].name);
    str_append(p->out, " across dimensions = ");
    print_ints(p->out, n_dims, dims);
    print_rest(p, op, (ir_attr_key[]){IR_A_dimensions}, 1);
    print_function_type_of(p, op);
    if (!inner) print_reducer(p, b);
    return true;
}

/* --- while --- */

static bool print_while(printer *p, const ir_op *op) {
    const ir_block *cond = op->n_regions == 2 ? op->regions[0].block : NULL,
                   *body = op->n_regions == 2 ? op->regions[1].block : NULL;
    if (!cond || !body || cond->n_args != op->n_in || body->n_args != op->n_in || op->n_out != op->n_in) return false;
    str_append(p->out, "stablehlo.while(");
    for (uint32_t i = 0; i < op->n_in; i++) {
        cond->args[i]->mark = body->args[i]->mark = p->next_arg++;
        if (i) str_append(p->out, ", ");
        print_value(p, cond->args[i]);
        str_append(p->out, " = ");
        print_value(p, op->in[i]);
    }
    str_append(p->out, op->n_in ? ") : " : ")");
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (i) str_append(p->out, ", ");
        ir_type_print(op->in[i]->type, p->out);
    }
    print_op_attrs(p->out, op, &everything_else, " attributes ", "");
    print_newline(p);
    str_append(p->out, "cond ");
    print_block_ops(p, cond);
    str_append(p->out, " do ");
    print_block_ops(p, body);
    return true;
}

/* --- convolution --- */

static void print_window_part(str *out, const ir_op *op, const char *word, ir_attr_key key, const char **comma) {
    const ir_attr *a = ir_attr_find(op, key);
    if (!a || (a->kind != IR_AK_INTS && a->kind != IR_AK_BOOLS)) return;
    str_printf(out, "%s%s = ", *comma, word);
    *comma = ", ";
    if (a->kind == IR_AK_INTS && key != IR_A_padding) {
        print_ints(out, a->n, a->v.ints);
        return;
    }
    str_putc(out, '[');
    for (size_t i = 0; i < a->n; i++) {
        if (key == IR_A_padding) {
            if (i % 2 == 0)
                str_printf(out, "%s[%lld, ", i ? ", " : "", (long long)a->v.ints[i]);
            else
                str_printf(out, "%lld]", (long long)a->v.ints[i]);
        } else {
            str_printf(out, "%s%s", i ? ", " : "", a->v.ints[i] ? "true" : "false");
        }
    }
    str_putc(out, ']');
}

static bool print_convolution(printer *p, const ir_op *op) {
    static const ir_attr_key skip[] = {
        IR_A_input_batch_dimension,
        IR_A_input_feature_dimension,
        IR_A_input_spatial_dimensions,
        IR_A_kernel_input_feature_dimension,
        IR_A_kernel_output_feature_dimension,
        IR_A_kernel_spatial_dimensions,
        IR_A_output_batch_dimension,
        IR_A_output_feature_dimension,
        IR_A_output_spatial_dimensions,
        IR_A_window_strides,
        IR_A_padding,
        IR_A_lhs_dilation,
        IR_A_rhs_dilation,
        IR_A_window_reversal,
    };
    str dims = STR_INIT;
    const ir_attr *pad = ir_attr_find(op, IR_A_padding);
    if (!print_conv_dims(&dims, op) || (pad && pad->n % 2)) {
        str_free(&dims);
        return false;
    }
    print_name(p, op);
    str_putc(p->out, '(');
    print_operands(p, op, 0);
    str_printf(p->out, ") dim_numbers = %s, window = {", str_cstr(&dims));
    str_free(&dims);
    const char *comma = "";
    print_window_part(p->out, op, "stride", IR_A_window_strides, &comma);
    print_window_part(p->out, op, "pad", IR_A_padding, &comma);
    print_window_part(p->out, op, "lhs_dilate", IR_A_lhs_dilation, &comma);
    print_window_part(p->out, op, "rhs_dilate", IR_A_rhs_dilation, &comma);
    print_window_part(p->out, op, "reverse", IR_A_window_reversal, &comma);
    str_putc(p->out, '}');
    print_rest(p, op, skip, BASE_COUNT(skip));
    print_function_type_of(p, op);
    return true;
}

bool print_pretty(printer *p, const ir_op *op) {
    switch (op->code) {
    case OP_constant: return print_constant(p, op);
    case OP_compare: return print_compare(p, op);
    case OP_slice: return print_slice(p, op);
    case OP_get_tuple_element: return print_get_tuple_element(p, op);
    case OP_call:
    case OP_custom_call: return print_call(p, op);
    case OP_composite: return print_composite(p, op);
    case OP_reduce: return print_reduce(p, op);
    case OP_while: return print_while(p, op);
    case OP_convolution: return print_convolution(p, op);
    default: return print_regular(p, op);
    }
}
