/* Ops: result names, the generic form, and the step from what was read to an op of the module. */
#include "ir/parse_int.h"

static int shown(size_t n) {
    return (int)(n < 60 ? n : 60);
}

/* "stablehlo.add", or the function dialect's short words. */
bool parse_opcode(parser *p, token at, const char *text, size_t n, ir_opcode *out) {
    char dialect[24], name[48];
    const char *dot = memchr(text, '.', n);
    size_t d = dot ? (size_t)(dot - text) : 0, k = dot ? n - d - 1 : n;
    if (d >= sizeof dialect || k >= sizeof name)
        return parse_fail_at(p, at, "'%.*s' is not an op that is known here", shown(n), text);
    memcpy(dialect, text, d);
    dialect[d] = 0;
    memcpy(name, dot ? dot + 1 : text, k);
    name[k] = 0;
    if (ir_opcode_from_name(dot ? dialect : "func", name, out)) return true;
    return parse_fail_at(p, at,
                         "'%.*s' is not an op that is known here; ops are written dialect.name, as in stablehlo.add",
                         shown(n), text);
}

ir_op *parse_build(parser *p, op_parts *o, ir_block *block) {
    ir_builder b = ir_at_end(p->m, block);
    b.src = src_intern(&(xt_src){p->file, (int)o->at.line, ""});
    ir_op *op = ir_build(&b, o->code, o->n_in, o->in, o->attrs.n, o->attrs.items, o->n_regions, o->regions, o->out.n,
                         o->out.n ? o->out.types : NULL);
    if (b.status) {
        xt_code code = status_code(b.status);
        if (!p->status && code == XT_RESOURCE_EXHAUSTED) {
            p->status = b.status;
        } else {
            parse_fail_at(p, o->at, "%s", status_text(b.status));
            xt_status_free(b.status);
        }
        return NULL;
    }
    if (!op) {
        parse_oom(p);
        return NULL;
    }
    if (o->out_given && op->n_out != o->out.n) {
        parse_fail_at(p, o->at, "%s has %u results, but types for %zu are written", ir_op_infos[op->code].name,
                      op->n_out, o->out.n);
        return NULL;
    }
    return op;
}

bool parse_properties(parser *p, attr_list *out) {
    if (!parse_at(p, '<')) return true;
    return lex_advance(p) && parse_op_attr_dict(p, out) && parse_expect(p, '>', "after properties");
}

/* "dialect.op"(%0, %1) <{...}> ({...}, {...}) {...} : (A, B) -> C */
static bool parse_generic(parser *p, op_parts *o) {
    if (!parse_operands_in_parens(p, o)) return false;
    if (parse_at(p, '[')) return parse_fail(p, "successor blocks are not part of StableHLO");
    if (!parse_properties(p, &o->attrs)) return false;
    if (parse_accept(p, '(')) {
        do {
            if (!parse_region(p, o)) return false;
        } while (parse_accept(p, ','));
        if (p->status || !parse_expect(p, ')', "after the regions")) return false;
    }
    if (parse_at(p, '{') && !parse_op_attr_dict(p, &o->attrs)) return false;
    return !p->status && parse_function_type_of(p, o);
}

typedef struct result_name {
    token name;
    size_t n;
} result_name;

/* `%a, %b:2 =` */
static bool parse_result_names(parser *p, result_name **out, size_t *out_n) {
    size_t cap = 0;
    *out = NULL;
    *out_n = 0;
    while (p->tok.kind == TOK_VALUE) {
        result_name r = {p->tok, 1};
        if (!lex_advance(p)) return false;
        if (parse_accept(p, ':')) {
            int64_t n;
            if (!parse_integer(p, &n)) return false;
            if (n < 1) return parse_fail_at(p, r.name, "an op that is named has at least one result");
            r.n = (size_t)n;
        }
        if (p->status) return false;
        if (!VEC_PUSH(*out, *out_n, cap, r)) return parse_oom(p);
        if (!parse_accept(p, ',')) return !p->status && parse_expect(p, '=', "after the results' names");
        if (p->tok.kind != TOK_VALUE) return parse_expected(p, "the name of another result");
    }
    return true;
}

static bool define_results(parser *p, const result_name *names, size_t n, ir_op *op, token at) {
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        if (names[i].n > op->n_out - next)
            return parse_fail_at(p, names[i].name, "%s has %u results, fewer than are named here",
                                 ir_op_infos[op->code].name, op->n_out);
        ir_value **values = arena_alloc(p->scratch, names[i].n * sizeof *values);
        if (!values) return parse_oom(p);
        for (size_t k = 0; k < names[i].n; k++) values[k] = &op->out[next + k];
        if (!parse_define(p, names[i].name, names[i].n, values)) return false;
        next += names[i].n;
    }
    if (n && next != op->n_out)
        return parse_fail_at(p, at, "%s has %u results, but %zu are named", ir_op_infos[op->code].name, op->n_out,
                             next);
    return true;
}

static bool parse_op_named(parser *p, ir_block *block, const result_name *names, size_t n_names) {
    op_parts o = {.at = p->tok};
    bool generic = p->tok.kind == TOK_STRING, ok;
    if (!generic && p->tok.kind != TOK_WORD) return parse_expected(p, "an op");
    ok = generic ? parse_opcode(p, o.at, o.at.text + 1, o.at.n - 2, &o.code)
                 : parse_opcode(p, o.at, o.at.text, o.at.n, &o.code);
    ok = ok && lex_advance(p) && (generic ? parse_generic(p, &o) : parse_pretty(p, &o));
    if (ok && o.code == OP_return && block->func) o.code = OP_func_return; /* MLIR lets either end a function */
    ir_op *op = ok ? parse_build(p, &o, block) : NULL;
    parts_free(&o);
    return op && define_results(p, names, n_names, op, o.at) && parse_op_loc(p, op);
}

static bool parse_op(parser *p, ir_block *block) {
    result_name *names;
    size_t n;
    bool ok = parse_result_names(p, &names, &n) && parse_op_named(p, block, names, n);
    base_free(names);
    return ok;
}

bool parse_block_ops(parser *p, ir_block *block) {
    while (!parse_at(p, '}')) {
        if (p->tok.kind == TOK_CARET) return parse_fail(p, "a second block: StableHLO regions have exactly one");
        if (p->tok.kind == TOK_END) return parse_expected(p, "an op or '}'");
        if (!parse_op(p, block)) return false;
    }
    return lex_advance(p);
}
