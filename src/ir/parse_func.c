/* func.func, pretty and generic. */
#include "ir/parse_int.h"

static ir_func *new_func(parser *p, token at, const char *name, bool is_public) {
    if (ir_func_find(p->m, name)) {
        parse_fail_at(p, at, "the function @%s is defined twice", name);
        return NULL;
    }
    ir_func *f = ir_func_new(p->m, name, is_public);
    if (!f) parse_oom(p);
    return f;
}

static bool set_results(parser *p, ir_func *f, const type_list *types) {
    f->n_results = types->n;
    /* not NULL even for none: the header has spoken */
    f->result_types = arena_alloc(p->m->mem, (types->n + 1) * sizeof *types->types);
    if (!f->result_types) return parse_oom(p);
    if (types->n) memcpy(f->result_types, types->types, types->n * sizeof *types->types);
    return true;
}

static bool set_result_attrs(parser *p, ir_func *f, const attr_list *lists, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < lists[i].n; k++)
            if (!ir_func_set_result_attr(f, i, lists[i].items[k])) return parse_oom(p);
    return true;
}

/* `-> T`, `-> (T {a}, U)` */
static bool parse_results(parser *p, ir_func *f) {
    const ir_type **types = NULL, *t;
    attr_list *attrs = NULL;
    size_t n = 0, cap = 0, n_attrs = 0, cap_attrs = 0;
    bool ok = true;
    if (p->tok.kind != TOK_ARROW) return set_results(p, f, &(type_list){NULL, 0});
    if (!lex_advance(p)) return false;
    if (!parse_accept(p, '(')) {
        if (p->status || !parse_type(p, &t)) return false;
        return set_results(p, f, &(type_list){&t, 1});
    }
    while (ok && !parse_at(p, ')')) {
        attr_list l = {0};
        ok = parse_type(p, &t) && (!parse_at(p, '{') || parse_attr_dict(p, &l));
        ok = ok && ((VEC_PUSH(types, n, cap, t) && VEC_PUSH(attrs, n_attrs, cap_attrs, l)) || parse_oom(p));
        if (ok && !parse_at(p, ')')) ok = parse_expect(p, ',', "or ')' among the results");
    }
    ok = ok && lex_advance(p) && set_results(p, f, &(type_list){types, n}) && set_result_attrs(p, f, attrs, n);
    base_free(types);
    base_free(attrs);
    return ok;
}

/* The end of the body must return what the header says; the types have been checked when the return was built. */
static bool check_return(parser *p, token at, const ir_func *f) {
    const ir_op *ret = ir_block_return(f->body);
    if (!ret) return parse_fail_at(p, at, "the function @%s does not end with a return", f->name);
    if (ret->n_in != f->n_results)
        return parse_fail_at(p, at, "the function @%s has %zu results, but returns %u", f->name, f->n_results,
                             ret->n_in);
    return true;
}

bool parse_func(parser *p) {
    const char *name;
    size_t n, mark = parse_scope_enter(p);
    attr_list dropped = {0};
    if (!lex_advance(p)) return false;
    bool is_public = !parse_at_word(p, "private") && !parse_at_word(p, "nested");
    if (!is_public || parse_at_word(p, "public"))
        if (!lex_advance(p)) return false;
    token at = p->tok;
    if (!parse_symbol(p, &name, &n)) return false;
    ir_func *f = new_func(p, at, name, is_public);
    if (!f || !parse_expect(p, '(', "before the arguments") || !parse_block_args(p, f->body, ')', f) ||
        !parse_results(p, f))
        return false;
    if (parse_accept_word(p, "attributes") && !parse_attr_dict(p, &dropped)) return false;
    if (p->status) return false;
    if (!parse_at(p, '{'))
        return parse_fail(p, "the function @%s has no body; every function of a program needs one", name);
    if (!parse_region_body(p, f->body) || !parse_op_loc(p, NULL)) return false;
    parse_scope_leave(p, mark);
    return check_return(p, at, f);
}

/* --- "func.func"() <{function_type = ..., sym_name = "main"}> ({ ^bb0(...): ... }) : () -> () --- */

typedef struct func_props {
    const char *name;
    bool is_private;
    bool typed;
    type_list in, out;
    ir_attr arg_attrs, result_attrs; /* lists of dictionaries */
} func_props;

static bool parse_prop(parser *p, func_props *f) {
    ir_attr a;
    token name = p->tok;
    if (name.kind != TOK_WORD && name.kind != TOK_STRING) return parse_expected(p, "the name of a property");
    if (!lex_advance(p)) return false;
    if (!parse_accept(p, '=')) return !p->status;
    const char *text = name.text + (name.kind == TOK_STRING);
    size_t n = name.n - (name.kind == TOK_STRING ? 2 : 0);
    if (n == 13 && !memcmp(text, "function_type", n)) {
        f->typed = true;
        return parse_function_type(p, &f->in, &f->out);
    }
    token at = p->tok;
    if (!parse_attr(p, &a)) return false;
    if (n == 8 && !memcmp(text, "sym_name", n)) {
        if (a.kind != IR_AK_STRING) return parse_fail_at(p, at, "expected a string for sym_name");
        f->name = a.v.s;
    } else if (n == 14 && !memcmp(text, "sym_visibility", n)) {
        f->is_private = a.kind == IR_AK_STRING && strcmp(a.v.s, "public") != 0;
    } else if (n == 9 && !memcmp(text, "arg_attrs", n)) {
        f->arg_attrs = a;
    } else if (n == 9 && !memcmp(text, "res_attrs", n)) {
        f->result_attrs = a;
    }
    return true;
}

static bool parse_props(parser *p, func_props *f) {
    if (!parse_expect(p, '{', "before properties")) return false;
    while (!parse_at(p, '}')) {
        if (!parse_prop(p, f)) return false;
        if (!parse_at(p, '}') && !parse_expect(p, ',', "or '}' among properties")) return false;
    }
    return lex_advance(p);
}

static bool apply_arg_attrs(parser *p, token at, ir_func *f, const ir_attr *list) {
    if (list->kind != IR_AK_ARRAY) return true;
    if (list->n != f->body->n_args)
        return parse_fail_at(p, at, "arg_attrs has %zu entries for %zu arguments", list->n, f->body->n_args);
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; list->v.list[i].kind == IR_AK_DICT && k < list->v.list[i].n; k++)
            if (!ir_func_set_arg_attr(f, i, list->v.list[i].v.list[k])) return parse_oom(p);
    return true;
}

static bool apply_result_attrs(parser *p, token at, ir_func *f, const ir_attr *list) {
    if (list->kind != IR_AK_ARRAY) return true;
    if (list->n != f->n_results)
        return parse_fail_at(p, at, "res_attrs has %zu entries for %zu results", list->n, f->n_results);
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; list->v.list[i].kind == IR_AK_DICT && k < list->v.list[i].n; k++)
            if (!ir_func_set_result_attr(f, i, list->v.list[i].v.list[k])) return parse_oom(p);
    return true;
}

static bool parse_generic_body(parser *p, token at, const func_props *props, ir_func *f) {
    size_t mark = parse_scope_enter(p);
    if (!parse_enter(p) || !parse_expect(p, '(', "before the body") ||
        !parse_expect(p, '{', "at the start of the body"))
        return false;
    if (p->tok.kind == TOK_CARET) {
        if (!lex_advance(p)) return false;
        if (parse_accept(p, '(') && !parse_block_args(p, f->body, ')', f)) return false;
        if (p->status || !parse_expect(p, ':', "after a block's label")) return false;
    }
    bool same = props->in.n == f->body->n_args;
    for (size_t i = 0; same && i < props->in.n; i++) same = props->in.types[i] == f->body->args[i]->type;
    if (!same)
        return parse_fail_at(p, at, "the arguments of the body of @%s are not those of its function_type", f->name);
    if (!parse_block_ops(p, f->body) || !parse_expect(p, ')', "after the body")) return false;
    parse_leave(p);
    parse_scope_leave(p, mark);
    return true;
}

bool parse_generic_func(parser *p) {
    func_props props = {0};
    type_list none;
    token at = p->tok;
    if (!lex_advance(p) || !parse_expect(p, '(', "after \"func.func\"") || !parse_expect(p, ')', "after '('") ||
        !parse_expect(p, '<', "before properties") || !parse_props(p, &props) ||
        !parse_expect(p, '>', "after properties"))
        return false;
    if (!props.name || !props.typed)
        return parse_fail_at(p, at, "a function needs the properties sym_name and function_type");
    ir_func *f = new_func(p, at, props.name, !props.is_private);
    if (!f || !set_results(p, f, &props.out) || !parse_generic_body(p, at, &props, f)) return false;
    attr_list dropped = {0};
    if (parse_at(p, '{') && !parse_attr_dict(p, &dropped)) return false;
    return parse_expect(p, ':', "before the op's type") && parse_function_type(p, &none, &none) &&
           parse_op_loc(p, NULL) && apply_arg_attrs(p, at, f, &props.arg_attrs) &&
           apply_result_attrs(p, at, f, &props.result_attrs) && check_return(p, at, f);
}
