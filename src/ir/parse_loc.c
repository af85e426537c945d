/* Locations: loc("file":line:col), loc("name"(loc)), loc(fused[...]), loc(callsite(a at b)), loc(unknown),
 * loc(#alias). An op keeps one source line (the innermost file found, else the line of the text itself) and one name,
 * which becomes its module path. Aliases may be defined after their uses, so ops that use one are patched when the
 * text has been read. */
#include "ir/parse_int.h"

static bool parse_loc_body(parser *p, parse_loc *out, token *out_alias);

static bool file_src(parser *p, token file, int64_t line, src_id *out) {
    char *name = base_strndup(file.text + 1, file.n - 2);
    if (!name) return parse_oom(p);
    *out = src_intern(&(xt_src){name, line > 0 && line <= INT32_MAX ? (int)line : 0, ""});
    base_free(name);
    return true;
}

/* :line:col [to [:line]:col], as newer MLIR writes ranges */
static bool parse_file_loc(parser *p, token file, parse_loc *out) {
    int64_t line, col;
    if (!parse_integer(p, &line) || !parse_expect(p, ':', "before the column") || !parse_integer(p, &col)) return false;
    if (parse_accept_word(p, "to")) {
        int64_t skip;
        if (p->tok.kind == TOK_INT && !parse_integer(p, &skip)) return false;
        if (!parse_expect(p, ':', "before the last column") || !parse_integer(p, &skip)) return false;
    }
    return !p->status && file_src(p, file, line, &out->src);
}

static bool parse_string_loc(parser *p, parse_loc *out) {
    token name = p->tok;
    if (!lex_advance(p)) return false;
    if (parse_accept(p, ':')) return parse_file_loc(p, name, out);
    if (p->status) return false;
    parse_loc inner = {0};
    if (parse_accept(p, '(')) {
        token alias = {0};
        if (!parse_loc_body(p, &inner, &alias) || !parse_expect(p, ')', "after the location inside a name"))
            return false;
        const parse_loc *known = alias.n ? map_get(p->loc_aliases, alias.text, alias.n) : NULL;
        if (known) inner = *known;
    }
    out->src = inner.src;
    out->path = intern_n(name.text + 1, name.n - 2);
    return !p->status;
}

static bool parse_fused(parser *p, parse_loc *out) {
    if (parse_accept(p, '<')) {
        const char *text;
        size_t n;
        if (!lex_skip_angle(p, &text, &n) || !parse_expect(p, '>', "after the location's metadata")) return false;
    }
    if (p->status || !parse_expect(p, '[', "in a fused location")) return false;
    while (!parse_at(p, ']')) {
        parse_loc one = {0};
        token alias = {0};
        if (!parse_loc_body(p, &one, &alias)) return false;
        const parse_loc *known = alias.n ? map_get(p->loc_aliases, alias.text, alias.n) : NULL;
        if (known) one = *known;
        if (!out->src) out->src = one.src;
        if (!out->path) out->path = one.path;
        if (!parse_at(p, ']') && !parse_expect(p, ',', "or ']' in a fused location")) return false;
    }
    return lex_advance(p);
}

static bool parse_callsite(parser *p, parse_loc *out) {
    parse_loc caller = {0};
    token alias = {0}, caller_alias = {0};
    if (!parse_expect(p, '(', "after callsite") || !parse_loc_body(p, out, &alias) || !parse_expect_word(p, "at") ||
        !parse_loc_body(p, &caller, &caller_alias))
        return false;
    const parse_loc *known = alias.n ? map_get(p->loc_aliases, alias.text, alias.n) : NULL;
    if (known) *out = *known;
    return parse_expect(p, ')', "after a callsite location");
}

static bool loc_inner(parser *p, parse_loc *out, token *out_alias) {
    if (p->tok.kind == TOK_STRING) return parse_string_loc(p, out);
    if (p->tok.kind == TOK_HASH) {
        *out_alias = p->tok;
        return lex_advance(p);
    }
    if (parse_accept_word(p, "unknown")) return true;
    if (parse_accept_word(p, "fused")) return parse_fused(p, out);
    if (parse_accept_word(p, "callsite")) return parse_callsite(p, out);
    return !p->status &&
           parse_expected(p, "a location: \"file\":line:col, \"name\", unknown, fused, callsite or #alias");
}

static bool parse_loc_body(parser *p, parse_loc *out, token *out_alias) {
    if (!parse_enter(p)) return false;
    bool ok = loc_inner(p, out, out_alias);
    parse_leave(p);
    return ok;
}

static void set_loc(ir_op *op, const parse_loc *loc) {
    if (loc->src) op->src = loc->src;
    if (loc->path) op->path = loc->path;
}

bool parse_op_loc(parser *p, ir_op *op) {
    if (!parse_at_word(p, "loc")) return true;
    parse_loc loc = {0};
    token alias = {0};
    if (!lex_advance(p) || !parse_expect(p, '(', "after loc") || !parse_loc_body(p, &loc, &alias) ||
        !parse_expect(p, ')', "after a location"))
        return false;
    if (!op) return true;
    set_loc(op, &loc);
    parse_loc_use use = {op, alias};
    return !alias.n || VEC_PUSH(p->loc_uses, p->n_loc_uses, p->cap_loc_uses, use) || parse_oom(p);
}

/* An alias keeps what it says itself; one that only names another takes that one's answer if it is known already. */
bool parse_loc_alias(parser *p, token name) {
    parse_loc *loc = arena_alloc(p->scratch, sizeof *loc);
    token alias = {0};
    if (!loc) return parse_oom(p);
    if (!lex_advance(p) || !parse_expect(p, '(', "after loc") || !parse_loc_body(p, loc, &alias) ||
        !parse_expect(p, ')', "after a location"))
        return false;
    const parse_loc *known = alias.n ? map_get(p->loc_aliases, alias.text, alias.n) : NULL;
    if (known) *loc = *known;
    return map_put(p->loc_aliases, name.text, name.n, loc, NULL) || parse_oom(p);
}

bool parse_resolve_locs(parser *p) {
    for (size_t i = 0; i < p->n_loc_uses; i++) {
        parse_loc_use u = p->loc_uses[i];
        const parse_loc *loc = map_get(p->loc_aliases, u.alias.text, u.alias.n);
        if (!loc)
            return parse_fail_at(p, u.alias, "location '%.*s' is not defined anywhere in the text",
                                 (int)(u.alias.n < 60 ? u.alias.n : 60), u.alias.text);
        set_loc(u.op, loc);
    }
    return true;
}
