/* Pretty forms of regular shape, by the rows of pretty.c, and the small ones that have a syntax of their own. */
#include <ctype.h>

#include "ir/parse_int.h"
#include "ir/text.h"

/* --- Clauses --- */

static bool push_int(parser *p, op_parts *o, ir_attr_key key, int64_t v) {
    return attr_push(p, &o->attrs,
                     (ir_attr){.key = key,
                               .kind = IR_AK_INT,
                               .name = ir_attr_key_name(key),
                               .dtype = text_key_is_i32(key) ? XT_I32 : XT_I64,
                               .v.i = v});
}

static bool parse_clause_ints(parser *p, op_parts *o, ir_attr_key key) {
    int64_t *v;
    size_t n;
    return parse_integer_list(p, "at the start of a list of integers", &v, &n) &&
           attr_push_ints(p, &o->attrs, key, n, v);
}

static bool parse_clause_enums(parser *p, op_parts *o, ir_attr_key key) {
    int64_t v[8];
    size_t n = 0;
    if (!parse_expect(p, '[', "at the start of a list")) return false;
    while (!parse_at(p, ']')) {
        if (n == BASE_COUNT(v)) return parse_fail(p, "at most %zu members are allowed here", BASE_COUNT(v));
        if (!parse_enum_word(p, key, &v[n++])) return false;
        if (!parse_at(p, ']') && !parse_expect(p, ',', "or ']' in a list")) return false;
    }
    int64_t *kept = arena_copy(p->m->mem, v, n * sizeof *v);
    return lex_advance(p) && (n == 0 || kept || parse_oom(p)) && attr_push_ints(p, &o->attrs, key, n, kept);
}

/* e5m10: one word */
static bool parse_clause_format(parser *p, op_parts *o, const clause *c) {
    int64_t part[2] = {0};
    const char *s = p->tok.text, *end = s + p->tok.n;
    if (p->tok.kind != TOK_WORD || p->tok.n > 12) return parse_expected(p, "a format such as e5m10");
    for (int i = 0; i < 2; i++) {
        if (s == end || *s != (i ? 'm' : 'e')) return parse_expected(p, "a format such as e5m10");
        for (s++; s < end && *s >= '0' && *s <= '9'; s++) part[i] = part[i] * 10 + (*s - '0');
    }
    if (s != end) return parse_expected(p, "a format such as e5m10");
    return lex_advance(p) && push_int(p, o, c->key, part[0]) && push_int(p, o, c->key2, part[1]);
}

static bool parse_clause_struct(parser *p, op_parts *o, const clause *c) {
    const char *text;
    size_t n;
    if (!parse_expect(p, '<', "at the start of a structure") || !lex_skip_angle(p, &text, &n) ||
        !parse_expect(p, '>', "after a structure"))
        return false;
    ir_attr a = {.key = c->key, .kind = IR_AK_OPAQUE, .name = ir_attr_key_name(c->key)};
    str one_line = STR_INIT; /* however it was laid out */
    for (size_t i = 0; i < n; i++) {
        bool space = isspace((unsigned char)text[i]);
        if (space && (one_line.len == 0 || i + 1 == n || isspace((unsigned char)text[i + 1]))) continue;
        str_appendn(&one_line, space ? " " : &text[i], 1);
    }
    a.v.s = one_line.failed ? NULL : arena_printf(p->m->mem, "#stablehlo.dot_algorithm<%s>", str_cstr(&one_line));
    str_free(&one_line);
    a.n = a.v.s ? strlen(a.v.s) : 0;
    return a.v.s ? attr_push(p, &o->attrs, a) : parse_oom(p);
}

static bool parse_clause(parser *p, op_parts *o, const clause *c) {
    ir_attr a = {.key = c->key, .kind = ir_attr_key_kind(c->key), .name = ir_attr_key_name(c->key)};
    int64_t v;
    if (!lex_advance(p) || !parse_expect(p, '=', "after the name")) return false;
    switch (c->kind) {
    case CLAUSE_INTS: return parse_clause_ints(p, o, c->key);
    case CLAUSE_INT: return parse_integer(p, &v) && push_int(p, o, c->key, v);
    case CLAUSE_BOOL: return parse_bool_word(p, &a.v.b) && attr_push(p, &o->attrs, a);
    case CLAUSE_ENUM: return parse_enum_word(p, c->key, &a.v.i) && attr_push(p, &o->attrs, a);
    case CLAUSE_ENUMS: return parse_clause_enums(p, o, c->key);
    case CLAUSE_STRING: return parse_string(p, &a.v.s, &a.n) && attr_push(p, &o->attrs, a);
    case CLAUSE_PAIR:
        return parse_clause_ints(p, o, c->key) && parse_expect_word(p, "x") && parse_clause_ints(p, o, c->key2);
    case CLAUSE_FORMAT: return parse_clause_format(p, o, c);
    case CLAUSE_STRUCT: return parse_clause_struct(p, o, c);
    }
    return false;
}

/* --- Types after the colon --- */

static bool parse_plain_types(parser *p, op_parts *o, types_form form) {
    type_list l;
    token at = p->tok;
    if (!parse_types_plain(p, &l)) return false;
    if (p->tok.kind == TOK_ARROW) { /* A, B -> C, as chlo writes it */
        type_list res;
        if (!lex_advance(p) || !parse_check_operands(p, o, at, l.n, l.types)) return false;
        bool parens = parse_accept(p, '(');
        if (p->status || !(parens ? parse_type_list(p, ')', &res) : parse_types_plain(p, &res))) return false;
        return parse_set_results(p, o, res.n, res.types);
    }
    switch (form) {
    case TYPES_OPERANDS:
        if (!parse_check_operands(p, o, at, l.n, l.types)) return false;
        return ir_op_infos[o->code].n_out == 0 || parse_set_results(p, o, l.n, l.types);
    case TYPES_SELECT:
        if (l.n != 2) return parse_fail_at(p, at, "expected the predicate's type and the result's type");
        if (o->n_in != 3) return parse_fail_at(p, o->at, "select takes 3 operands, found %zu", o->n_in);
        return parse_check_operands(p, o, at, 3, (const ir_type *[]){l.types[0], l.types[1], l.types[1]}) &&
               parse_set_results(p, o, 1, &l.types[1]);
    case TYPES_RESULT: break;
    default:
        for (size_t i = 0; l.n == 1 && i < o->n_in; i++) {
            if (o->in[i]->type == l.types[0]) continue;
            const ir_type *all[16];
            for (size_t k = 0; k < 16; k++) all[k] = l.types[0];
            return parse_check_operands(p, o, at, o->n_in < 16 ? o->n_in : 0, all);
        }
    }
    /* one type: seen to fit all above */
    if (ir_op_infos[o->code].n_out == 0) return l.n == 1 || parse_check_operands(p, o, at, l.n, l.types);
    if (l.n != 1) return parse_fail_at(p, at, "expected one type, or a function type such as (A, B) -> C");
    return parse_set_results(p, o, 1, l.types);
}

static bool parse_types(parser *p, op_parts *o, types_form form) {
    if (form == TYPES_OPERANDS && o->n_in == 0 && !parse_at(p, ':')) return true;
    if (!parse_at(p, ':')) return parse_expected(p, "':' and the op's type");
    const char *s = p->next;
    while (s < p->end && (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r')) s++;
    if (s < p->end && *s == '(') return parse_function_type_of(p, o);
    return lex_advance(p) && parse_plain_types(p, o, form);
}

/* --- Regular forms --- */

bool parse_optional_dict(parser *p, op_parts *o) {
    return !parse_at(p, '{') || parse_op_attr_dict(p, &o->attrs);
}

/* `k = 3`: an attribute no row knows, its number without a type since the op's types follow a colon. */
static bool parse_plain_clause(parser *p, op_parts *o) {
    lex_state start = lex_save(p);
    ir_attr a = {.key = ir_attr_key_from_name(p->tok.text, p->tok.n)};
    if (p->tok.kind != TOK_WORD) return parse_expected(p, "an operand, or name = value");
    a.name = ir_attr_key_name(a.key);
    if (!lex_advance(p)) return false;
    bool value = parse_accept(p, '='), number = p->tok.kind == TOK_INT || p->tok.kind == TOK_FLOAT || parse_at(p, '-');
    if (p->status) return false;
    if (!a.key || !value || !number) {
        lex_restore(p, start);
        return parse_op_attr(p, &o->attrs);
    }
    if (p->tok.kind == TOK_FLOAT) {
        a.kind = IR_AK_FLOAT;
        a.dtype = XT_F64;
        a.v.f = number_parse(p->tok.text, p->tok.n);
        return lex_advance(p) && attr_push(p, &o->attrs, a);
    }
    int64_t v;
    return parse_integer_bits(p, &v) && push_int(p, o, a.key, v);
}

bool parse_clause_word(parser *p, op_parts *o) {
    const pretty_row *row = &pretty_rows[o->code];
    for (size_t i = 0; i < PRETTY_CLAUSES && row->clauses[i].word; i++)
        if (parse_at_word(p, row->clauses[i].word)) return parse_clause(p, o, &row->clauses[i]);
    return parse_plain_clause(p, o);
}

static bool missing_clause(parser *p, const op_parts *o, const clause *c) {
    for (size_t i = 0; i < o->attrs.n; i++)
        if (o->attrs.items[i].key == c->key) return true;
    char what[48];
    snprintf(what, sizeof what, "'%s = ...'", c->word);
    return c->optional || parse_expected(p, what);
}

/* operands and clauses in any mix, then attributes and types */
static bool parse_regular(parser *p, op_parts *o) {
    const pretty_row *row = &pretty_rows[o->code];
    bool parens = parse_accept(p, '(');
    bool more = p->tok.kind == TOK_VALUE || p->tok.kind == TOK_WORD;
    /* `create_token : T` has nothing here; a word that starts the next op cannot follow, since a type must. */
    while (more) {
        if (p->tok.kind == TOK_VALUE ? !parse_operand(p, o) : !parse_clause_word(p, o)) return false;
        more = parse_accept(p, ',');
    }
    if (p->status || (parens && !parse_expect(p, ')', "after the operands"))) return false;
    for (size_t i = 0; i < PRETTY_CLAUSES && row->clauses[i].word; i++)
        if (!missing_clause(p, o, &row->clauses[i])) return false;
    return parse_optional_dict(p, o) && parse_types(p, o, row->types);
}

/* --- Small forms of their own --- */

static bool parse_return(parser *p, op_parts *o) {
    while (p->tok.kind == TOK_VALUE) {
        if (!parse_operand(p, o)) return false;
        if (!parse_accept(p, ',')) break;
        if (p->tok.kind != TOK_VALUE) return parse_expected(p, "an operand such as %0");
    }
    return !p->status && parse_optional_dict(p, o) && parse_types(p, o, TYPES_OPERANDS);
}

static bool parse_constant(parser *p, op_parts *o) {
    if (parse_accept(p, '(')) { /* constant() {value = ...} : () -> T */
        return parse_expect(p, ')', "after '('") && parse_op_attr_dict(p, &o->attrs) && parse_function_type_of(p, o);
    }
    ir_attr a = {.key = IR_A_value, .kind = IR_AK_DENSE, .name = "value"};
    if (p->status || !parse_optional_dict(p, o)) return false;
    if (!parse_at_word(p, "dense")) return parse_expected(p, "dense<...>");
    return parse_dense(p, &a.v.dense) && attr_push(p, &o->attrs, a) && parse_set_results(p, o, 1, &a.v.dense.type);
}

/* LT, %a, %b, SIGNED */
static bool parse_compare(parser *p, op_parts *o) {
    ir_attr dir = {.key = IR_A_comparison_direction, .kind = IR_AK_ENUM, .name = "comparison_direction"};
    ir_attr type = {.key = IR_A_compare_type, .kind = IR_AK_ENUM, .name = "compare_type"};
    if (!parse_enum_word(p, dir.key, &dir.v.i) || !attr_push(p, &o->attrs, dir) ||
        !parse_expect(p, ',', "after the direction") || !parse_operand(p, o) ||
        !parse_expect(p, ',', "between the operands") || !parse_operand(p, o))
        return false;
    if (parse_accept(p, ',') && !(parse_enum_word(p, type.key, &type.v.i) && attr_push(p, &o->attrs, type)))
        return false;
    return !p->status && parse_optional_dict(p, o) && parse_types(p, o, TYPES_FUNCTION);
}

/* %x [0:2, 1:7:3] */
static bool parse_slice(parser *p, op_parts *o) {
    int64_t *v[3] = {NULL}, x;
    size_t n[3] = {0}, cap[3] = {0};
    static const ir_attr_key keys[] = {IR_A_start_indices, IR_A_limit_indices, IR_A_strides};
    bool ok = parse_operand(p, o) && parse_expect(p, '[', "before the bounds");
    while (ok && !parse_at(p, ']')) {
        ok = parse_integer(p, &x) && (VEC_PUSH(v[0], n[0], cap[0], x) || parse_oom(p)) &&
             parse_expect(p, ':', "between start and limit") && parse_integer(p, &x) &&
             (VEC_PUSH(v[1], n[1], cap[1], x) || parse_oom(p));
        x = 1;
        if (ok && parse_accept(p, ':')) ok = parse_integer(p, &x);
        ok = ok && !p->status && (VEC_PUSH(v[2], n[2], cap[2], x) || parse_oom(p));
        if (ok && !parse_at(p, ']')) ok = parse_expect(p, ',', "or ']' among the bounds");
    }
    ok = ok && lex_advance(p);
    for (int i = 0; i < 3; i++) {
        int64_t *kept = ok ? arena_copy(p->m->mem, v[i], n[i] * sizeof *kept) : NULL;
        if (ok && n[i] && !kept) ok = parse_oom(p);
        ok = ok && attr_push_ints(p, &o->attrs, keys[i], n[i], kept);
        base_free(v[i]);
    }
    return ok && parse_optional_dict(p, o) && parse_types(p, o, TYPES_FUNCTION);
}

static bool parse_get_tuple_element(parser *p, op_parts *o) {
    int64_t i;
    return parse_operand(p, o) && parse_expect(p, '[', "before the element's number") && parse_integer(p, &i) &&
           parse_expect(p, ']', "after the element's number") && push_int(p, o, IR_A_index, i) &&
           parse_optional_dict(p, o) && parse_types(p, o, TYPES_FUNCTION);
}

static bool parse_call(parser *p, op_parts *o) {
    ir_attr a = {.key = o->code == OP_call ? IR_A_callee : IR_A_call_target_name};
    a.kind = ir_attr_key_kind(a.key);
    a.name = ir_attr_key_name(a.key);
    return parse_symbol(p, &a.v.s, &a.n) && attr_push(p, &o->attrs, a) && parse_operands_in_parens(p, o) &&
           parse_optional_dict(p, o) && parse_function_type_of(p, o);
}

/* "name" %a, %b {...} */
static bool parse_composite(parser *p, op_parts *o) {
    ir_attr a = {.key = IR_A_name, .kind = IR_AK_STRING, .name = "name"};
    if (!parse_string(p, &a.v.s, &a.n) || !attr_push(p, &o->attrs, a)) return false;
    while (p->tok.kind == TOK_VALUE) {
        if (!parse_operand(p, o)) return false;
        if (!parse_accept(p, ',')) break;
        if (p->tok.kind != TOK_VALUE) return parse_expected(p, "an operand such as %0");
    }
    return !p->status && parse_optional_dict(p, o) && parse_function_type_of(p, o);
}

/* %x, dense<...> : T */
static bool parse_expect_const(parser *p, op_parts *o) {
    ir_attr a = {.key = IR_A_value, .kind = IR_AK_DENSE, .name = "value"};
    if (!parse_operand(p, o) || !parse_expect(p, ',', "before the literal")) return false;
    if (!parse_at_word(p, "dense")) return parse_expected(p, "dense<...>");
    if (!parse_dense(p, &a.v.dense) || !attr_push(p, &o->attrs, a)) return false;
    while (parse_accept(p, ','))
        if (!parse_clause_word(p, o)) return false;
    return !p->status && parse_optional_dict(p, o);
}

/* %x <@mesh, [{"a"}]> : T */
static bool parse_sharding_constraint(parser *p, op_parts *o) {
    const char *text;
    size_t n;
    if (!parse_operand(p, o) || !parse_expect(p, '<', "before the sharding") || !lex_skip_angle(p, &text, &n) ||
        !parse_expect(p, '>', "after the sharding"))
        return false;
    ir_attr a = {.key = IR_A_sharding, .kind = IR_AK_OPAQUE, .name = "sharding"};
    a.v.s = arena_printf(p->m->mem, "#sdy.sharding<%.*s>", (int)n, text);
    a.n = a.v.s ? strlen(a.v.s) : 0;
    return (a.v.s || parse_oom(p)) && attr_push(p, &o->attrs, a) && parse_optional_dict(p, o) &&
           parse_types(p, o, TYPES_SAME);
}

/* %x group_id=3 : T */
static bool parse_sharding_group(parser *p, op_parts *o) {
    ir_attr id = {.key = IR_A_group_id, .kind = IR_AK_INT, .name = "group_id", .dtype = XT_I64};
    type_list types = {0};
    return parse_operand(p, o) && parse_key(p, "group_id") && parse_integer(p, &id.v.i) &&
           attr_push(p, &o->attrs, id) && parse_optional_dict(p, o) && parse_expect(p, ':', "before the type") &&
           parse_types_plain(p, &types) && parse_set_results(p, o, 0, NULL);
}

/* %x allowed_direction=FORWARD : T */
static bool parse_propagation_barrier(parser *p, op_parts *o) {
    ir_attr a = {.key = IR_A_allowed_direction, .kind = IR_AK_OPAQUE, .name = "allowed_direction"};
    if (!parse_operand(p, o) || !parse_key(p, "allowed_direction") || p->tok.kind != TOK_WORD)
        return p->status ? false : parse_expected(p, "a direction");
    a.v.s = arena_printf(p->m->mem, "#sdy<propagation_direction %.*s>", (int)p->tok.n, p->tok.text);
    a.n = a.v.s ? strlen(a.v.s) : 0;
    return (a.v.s || parse_oom(p)) && lex_advance(p) && attr_push(p, &o->attrs, a) && parse_optional_dict(p, o) &&
           parse_types(p, o, TYPES_SAME);
}

bool parse_pretty(parser *p, op_parts *o) {
    switch (o->code) {
    case OP_return:
    case OP_func_return: return parse_return(p, o);
    case OP_constant:
    case OP_chlo_constant: return parse_constant(p, o);
    case OP_compare: return parse_compare(p, o);
    case OP_slice: return parse_slice(p, o);
    case OP_get_tuple_element: return parse_get_tuple_element(p, o);
    case OP_call:
    case OP_custom_call: return parse_call(p, o);
    case OP_composite: return parse_composite(p, o);
    case OP_reduce: return parse_reduce(p, o);
    case OP_while: return parse_while(p, o);
    case OP_chlo_scan: return parse_scan(p, o);
    case OP_convolution:
    case OP_dynamic_conv: return parse_convolution(p, o);
    case OP_check_expect_eq_const:
    case OP_check_expect_almost_eq_const: return parse_expect_const(p, o);
    case OP_sdy_return: return parse_return(p, o);
    case OP_sdy_sharding_group: return parse_sharding_group(p, o);
    case OP_sdy_propagation_barrier: return parse_propagation_barrier(p, o);
    case OP_sdy_manual_computation: return parse_manual_computation(p, o);
    case OP_sdy_reshard:
    case OP_sdy_sharding_constraint: return parse_sharding_constraint(p, o);
    default: return parse_regular(p, o);
    }
}
