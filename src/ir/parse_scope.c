/* Names of values, operands and regions. */
#include "ir/parse_int.h"

static int shown(size_t n) {
    return (int)(n < 60 ? n : 60);
}

/* --- Names --- */

size_t parse_scope_enter(const parser *p) {
    return p->n_scope;
}

void parse_scope_leave(parser *p, size_t mark) {
    while (p->n_scope > mark) {
        parse_name *name = p->scope[--p->n_scope];
        map_remove(p->names, name->text, name->n);
    }
}

/* `values` must live as long as the parse. */
bool parse_define(parser *p, token name, size_t n, ir_value **values) {
    if (map_get(p->names, name.text, name.n))
        return parse_fail_at(p, name, "the name %.*s is already in use here", shown(name.n), name.text);
    parse_name *d = arena_alloc(p->scratch, sizeof *d);
    if (!d) return parse_oom(p);
    *d = (parse_name){name.text, name.n, values, n};
    if (!VEC_PUSH(p->scope, p->n_scope, p->cap_scope, d)) return parse_oom(p);
    return map_put(p->names, d->text, d->n, d, NULL) || parse_oom(p);
}

bool parse_use(parser *p, ir_value **out) {
    token name = p->tok;
    if (name.kind != TOK_VALUE) return parse_expected(p, "an operand such as %0");
    const parse_name *d = map_get(p->names, name.text, name.n);
    if (!d)
        return parse_fail(p, "%.*s is used but no value of this name is defined before it", shown(name.n), name.text);
    if (!lex_advance(p)) return false;
    size_t i = 0;
    if (p->tok.kind == TOK_HASH && p->tok.text == name.text + name.n) { /* %3#1: no blank between */
        for (size_t k = 1; k < p->tok.n; k++) {
            char c = p->tok.text[k];
            if (c < '0' || c > '9' || i > d->n_values) return parse_expected(p, "'#' and the number of a result");
            i = i * 10 + (size_t)(c - '0');
        }
        if (i >= d->n_values)
            return parse_fail(p, "%.*s has %zu results, so #%zu does not exist", shown(name.n), name.text, d->n_values,
                              i);
        if (!lex_advance(p)) return false;
    } else if (d->n_values != 1) {
        return parse_fail_at(p, name, "%.*s has %zu results; say which one, as in %.*s#0", shown(name.n), name.text,
                             d->n_values, shown(name.n), name.text);
    }
    *out = d->values[i];
    return true;
}

/* --- Operands and types of an op --- */

void parts_free(op_parts *o) {
    base_free(o->in);
    base_free(o->regions);
    o->in = NULL;
    o->regions = NULL;
}

bool parse_operand(parser *p, op_parts *o) {
    ir_value *v;
    return parse_use(p, &v) && (VEC_PUSH(o->in, o->n_in, o->cap_in, v) || parse_oom(p));
}

bool parse_operands_in_parens(parser *p, op_parts *o) {
    if (!parse_expect(p, '(', "before the operands")) return false;
    while (!parse_at(p, ')')) {
        if (!parse_operand(p, o)) return false;
        if (!parse_at(p, ')') && !parse_expect(p, ',', "or ')' among the operands")) return false;
    }
    return lex_advance(p);
}

bool parse_check_operands(parser *p, const op_parts *o, token at, size_t n, const ir_type *const *types) {
    if (n != o->n_in) return parse_fail_at(p, at, "%zu operand types are written for %zu operands", n, o->n_in);
    for (size_t i = 0; i < n; i++) {
        if (types[i] == o->in[i]->type) continue;
        str is = STR_INIT, says = STR_INIT;
        ir_type_print(o->in[i]->type, &is);
        ir_type_print(types[i], &says);
        parse_fail_at(p, at, "operand %zu is a %s, but %s is written here", i, str_cstr(&is), str_cstr(&says));
        str_free(&is);
        str_free(&says);
        return false;
    }
    return true;
}

bool parse_set_results(parser *p, op_parts *o, size_t n, const ir_type *const *types) {
    o->out.types = arena_copy(p->scratch, types, n * sizeof *types);
    o->out.n = n;
    o->out_given = true;
    return n == 0 || o->out.types || parse_oom(p);
}

bool parse_function_type_of(parser *p, op_parts *o) {
    type_list in;
    if (!parse_expect(p, ':', "before the op's type")) return false;
    token at = p->tok;
    o->out_given = true;
    return parse_function_type(p, &in, &o->out) && parse_check_operands(p, o, at, in.n, in.types);
}

/* --- Regions --- */

bool parse_push_region(parser *p, op_parts *o, ir_block *b) {
    return VEC_PUSH(o->regions, o->n_regions, o->cap_regions, b) || parse_oom(p);
}

static bool parse_arg_attrs(parser *p, ir_func *f, size_t arg) {
    attr_list l = {0};
    if (!parse_at(p, '{')) return true;
    if (!parse_attr_dict(p, &l)) return false;
    for (size_t i = 0; f && i < l.n; i++)
        if (!ir_func_set_arg_attr(f, arg, l.items[i])) return parse_oom(p);
    return true;
}

bool parse_block_args(parser *p, ir_block *block, char close, ir_func *f) {
    while (!parse_at(p, close)) {
        token name = p->tok;
        const ir_type *t;
        if (name.kind != TOK_VALUE) return parse_expected(p, "an argument such as %arg0");
        if (!lex_advance(p) || !parse_expect(p, ':', "before the argument's type") || !parse_type(p, &t)) return false;
        ir_value *v = ir_block_arg(p->m, block, t), **slot = arena_alloc(p->scratch, sizeof *slot);
        if (!v || !slot) return parse_oom(p);
        *slot = v;
        if (!parse_define(p, name, 1, slot) || !parse_arg_attrs(p, f, v->index) || !parse_op_loc(p, NULL)) return false;
        if (!parse_at(p, close) && !parse_expect(p, ',', "or the end of the arguments")) return false;
    }
    return lex_advance(p);
}

bool parse_region_body(parser *p, ir_block *b) {
    if (!parse_enter(p) || !parse_expect(p, '{', "at the start of a region") || !parse_block_ops(p, b)) return false;
    parse_leave(p);
    return true;
}

bool parse_region(parser *p, op_parts *o) {
    if (!parse_enter(p) || !parse_expect(p, '{', "at the start of a region")) return false;
    if (parse_accept(p, '}')) {
        parse_leave(p);
        return parse_push_region(p, o, NULL);
    }
    size_t mark = parse_scope_enter(p);
    ir_block *b = ir_block_new(p->m);
    if (p->status || !b) return parse_oom(p);
    if (p->tok.kind == TOK_CARET) {
        if (!lex_advance(p)) return false;
        if (parse_accept(p, '(') && !parse_block_args(p, b, ')', NULL)) return false;
        if (p->status || !parse_expect(p, ':', "after a block's label")) return false;
    }
    if (!parse_block_ops(p, b)) return false;
    parse_scope_leave(p, mark);
    parse_leave(p);
    return parse_push_region(p, o, b);
}
