/* ir_parse: a module, pretty or generic, or bare functions; aliases before and after. */
#include "base/fault.h"
#include "ir/parse_int.h"

static bool set_module_attrs(parser *p, const attr_list *l) {
    if (!p->m->n_attrs) { /* all at once: they have been looked at for doubles */
        p->m->attrs = l->items;
        p->m->n_attrs = l->n;
        return true;
    }
    for (size_t i = 0; i < l->n; i++)
        if (!ir_module_set_attr(p->m, l->items[i])) return parse_oom(p);
    return true;
}

static bool set_mesh(parser *p, const char *name, const char *text) {
    return (name && text && ir_module_set_mesh(p->m, name, text)) || parse_oom(p);
}

/* sdy.mesh @mesh = <["x"=2]> {attributes} */
static bool parse_mesh(parser *p) {
    const char *name, *text;
    size_t n;
    attr_list unused = {0};
    if (!lex_advance(p) || !parse_symbol(p, &name, &n) || !parse_expect(p, '=', "after the mesh's name") ||
        !parse_expect(p, '<', "before the mesh") || !lex_skip_angle(p, &text, &n) ||
        !parse_expect(p, '>', "after the mesh"))
        return false;
    if (parse_at(p, '{') && !parse_attr_dict(p, &unused)) return false;
    return set_mesh(p, name, arena_printf(p->m->mem, "#sdy.mesh<%.*s>", (int)n, text)) && parse_op_loc(p, NULL);
}

/* "sdy.mesh"() <{mesh = #sdy.mesh<...>, sym_name = "mesh"}> : () -> () */
static bool parse_generic_mesh(parser *p) {
    attr_list props = {0};
    const char *name = NULL, *text = NULL;
    type_list none;
    token at = p->tok;
    if (!lex_advance(p) || !parse_expect(p, '(', "after \"sdy.mesh\"") || !parse_expect(p, ')', "after '('") ||
        !parse_expect(p, '<', "before the mesh's properties") || !parse_attr_dict(p, &props) ||
        !parse_expect(p, '>', "after properties"))
        return false;
    for (size_t i = 0; i < props.n; i++) {
        const ir_attr *a = &props.items[i];
        if (strcmp(a->name, "sym_name") == 0 && a->kind == IR_AK_STRING) name = a->v.s;
        if (strcmp(a->name, "mesh") == 0 && a->kind == IR_AK_OPAQUE) text = a->v.s;
    }
    if (!name || !text) return parse_fail_at(p, at, "a mesh without its name or axes");
    if (parse_at(p, '{') && !parse_attr_dict(p, &props)) return false;
    return set_mesh(p, name, text) && parse_expect(p, ':', "before the op's type") &&
           parse_function_type(p, &none, &none) && parse_op_loc(p, NULL);
}

static bool bang_is(const parser *p, const char *s) {
    return p->tok.kind == TOK_BANG && p->tok.n == strlen(s) && !memcmp(p->tok.text, s, p->tok.n);
}

/* `#name = attribute`, `!name = type` */
static bool parse_alias(parser *p) {
    token name = p->tok;
    if (!lex_advance(p) || !parse_expect(p, '=', "after an alias's name")) return false;
    if (name.kind == TOK_BANG) {
        const ir_type *t;
        const ir_quant *q;
        if (bang_is(p, "!quant.uniform"))
            return parse_quant(p, &q) &&
                   (map_put(p->quant_aliases, name.text, name.n, (void *)(uintptr_t)q, NULL) || parse_oom(p));
        return parse_type(p, &t) && (map_put(p->type_aliases, name.text, name.n, (void *)t, NULL) || parse_oom(p));
    }
    if (parse_at_word(p, "loc")) return parse_loc_alias(p, name);
    lex_state *value = arena_alloc(p->scratch, sizeof *value);
    ir_attr any;
    if (!value) return parse_oom(p);
    *value = lex_save(p);
    /* Read once here, so that a mistake is reported where it is, and to know where the alias ends. */
    return parse_attr(p, &any) && (map_put(p->attr_aliases, name.text, name.n, value, NULL) || parse_oom(p));
}

static bool word_is(const parser *p, const char *s) {
    return p->tok.kind == TOK_STRING && p->tok.n == strlen(s) + 2 && !memcmp(p->tok.text + 1, s, p->tok.n - 2);
}

static bool parse_member(parser *p) {
    if (parse_at_word(p, "func.func") || parse_at_word(p, "func")) return parse_func(p);
    if (word_is(p, "func.func")) return parse_generic_func(p);
    if (parse_at_word(p, "sdy.mesh")) return parse_mesh(p);
    if (word_is(p, "sdy.mesh")) return parse_generic_mesh(p);
    return parse_expected(p, "func.func");
}

static bool parse_members(parser *p) {
    while (!parse_at(p, '}'))
        if (!parse_member(p)) return false;
    return lex_advance(p);
}

static bool parse_module(parser *p) {
    attr_list attrs = {0};
    size_t n;
    if (!lex_advance(p)) return false;
    if (p->tok.kind == TOK_SYMBOL && !parse_symbol(p, &p->m->name, &n)) return false;
    if (parse_accept_word(p, "attributes") && !parse_attr_dict(p, &attrs)) return false;
    return !p->status && set_module_attrs(p, &attrs) && parse_expect(p, '{', "at the start of the module") &&
           parse_members(p) && parse_op_loc(p, NULL);
}

/* "builtin.module"() <{sym_name = "x"}> ({ ... }) {attrs} : () -> () */
static bool parse_generic_module(parser *p) {
    attr_list props = {0}, attrs = {0};
    type_list none;
    if (!lex_advance(p) || !parse_expect(p, '(', "after \"builtin.module\"") || !parse_expect(p, ')', "after '('"))
        return false;
    if (parse_accept(p, '<') && !(parse_attr_dict(p, &props) && parse_expect(p, '>', "after properties"))) return false;
    for (size_t i = 0; i < props.n; i++)
        if (!strcmp(props.items[i].name, "sym_name") && props.items[i].kind == IR_AK_STRING)
            p->m->name = props.items[i].v.s;
    if (p->status || !parse_expect(p, '(', "before the body") || !parse_expect(p, '{', "at the start of the module"))
        return false;
    if (p->tok.kind == TOK_CARET && !(lex_advance(p) && parse_expect(p, ':', "after a block's label"))) return false;
    if (!parse_members(p) || !parse_expect(p, ')', "after the body")) return false;
    if (parse_at(p, '{') && !parse_attr_dict(p, &attrs)) return false;
    return set_module_attrs(p, &attrs) && parse_expect(p, ':', "before the op's type") &&
           parse_function_type(p, &none, &none) && parse_op_loc(p, NULL);
}

static bool parse_top(parser *p) {
    bool have_module = false;
    while (p->tok.kind != TOK_END) {
        bool generic = word_is(p, "builtin.module"),
             pretty = parse_at_word(p, "module") || parse_at_word(p, "builtin.module");
        if (generic || pretty) {
            if (have_module) return parse_fail(p, "a second module; split the file at its '// -----' lines first");
            have_module = true;
            if (!(generic ? parse_generic_module(p) : parse_module(p))) return false;
        } else if (p->tok.kind == TOK_HASH || p->tok.kind == TOK_BANG) {
            if (!parse_alias(p)) return false;
        } else if (parse_at(p, '{') && p->next + 1 < p->end && p->next[0] == '-' && p->next[1] == '#') {
            return parse_fail(
                p, "resources outside the program ({-# ... #-}) are not supported; write literals with their elements");
        } else if (!parse_member(p)) {
            return false;
        }
    }
    if (!have_module && !p->m->funcs) return parse_expected(p, "a module or a function");
    return parse_resolve_locs(p);
}

/* An embedded NUL would end strings early: it is no part of the language. */
static bool check_text(parser *p) {
    const char *nul = memchr(p->begin, 0, (size_t)(p->end - p->begin));
    return !nul || parse_fail(p, "the text holds a NUL byte at offset %zu; is this bytecode or another binary file?",
                              (size_t)(nul - p->begin));
}

static void parser_free(parser *p) {
    map_free(p->names, NULL);
    map_free(p->attr_aliases, NULL);
    map_free(p->type_aliases, NULL);
    map_free(p->quant_aliases, NULL);
    map_free(p->loc_aliases, NULL);
    base_free(p->scope);
    base_free(p->loc_uses);
    arena_free(p->scratch);
}

xt_status ir_parse(const char *text, size_t n, const char *name, ir_module **out) {
    *out = NULL;
    parser p = {.begin = text, .end = text + n, .file = name ? name : "program", .next = text, .line = 1};
    p.allocations_failed = base_failed_here().count;
    p.tok = (token){.kind = TOK_END, .line = 1, .text = text};
    p.m = ir_module_new();
    p.scratch = arena_new();
    p.names = map_new();
    p.attr_aliases = map_new();
    p.type_aliases = map_new();
    p.quant_aliases = map_new();
    p.loc_aliases = map_new();
    bool ok = p.m && p.scratch && p.names && p.attr_aliases && p.type_aliases && p.quant_aliases && p.loc_aliases;
    if (!ok) parse_oom(&p);
    ok = ok && check_text(&p) && lex_advance(&p) && parse_top(&p);
    parser_free(&p);
    if (ok && !p.status) {
        *out = p.m;
        return NULL;
    }
    ir_module_free(p.m);
    return p.status ? p.status : status_new(XT_INTERNAL, NULL, "%s: the parser failed without a reason", p.file);
}
