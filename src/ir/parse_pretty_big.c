/* The pretty forms with regions or nested structure: reduce, while, convolution. */
#include "ir/parse_int.h"

/* --- reduce --- */

/* (%x init: %a), (%y init: %b): the op's operands are all inputs, then all initial values. */
static bool parse_reduce_inputs(parser *p, op_parts *o) {
    op_parts inits = {.at = o->at};
    bool ok = true;
    do {
        ok = parse_expect(p, '(', "before an input") && parse_operand(p, o) && parse_expect_word(p, "init") &&
             parse_expect(p, ':', "after init") && parse_operand(p, &inits) &&
             parse_expect(p, ')', "after an initial value");
    } while (ok && parse_accept(p, ','));
    ok = ok && !p->status;
    for (size_t i = 0; ok && i < inits.n_in; i++) ok = VEC_PUSH(o->in, o->n_in, o->cap_in, inits.in[i]) || parse_oom(p);
    parts_free(&inits);
    return ok;
}

/* `applies stablehlo.add`: a region of that one op on two scalars. */
static bool apply_op(parser *p, op_parts *o, token word, ir_opcode code) {
    ir_block *b = ir_block_new(p->m);
    if (!b) return parse_oom(p);
    if (!(ir_op_infos[code].flags & IR_COMMUTES))
        return parse_fail_at(p, word, "'applies' takes a commutative op; write the region of this one");
    if (o->n_in != 2) return parse_fail_at(p, word, "'applies' is for one input; %zu are given", o->n_in / 2);
    if (o->in[1]->type->kind != IR_TENSOR) return parse_fail_at(p, o->at, "reduce needs tensors");
    const ir_type *t = ir_element(o->in[1]->type);
    if (!t) return parse_fail_at(p, o->at, "reduce needs initial values with one scale");
    ir_value *args[2] = {ir_block_arg(p->m, b, t), ir_block_arg(p->m, b, t)};
    if (!args[0] || !args[1]) return parse_oom(p);
    op_parts inner = {.at = word, .code = code, .in = args, .n_in = 2};
    if (t->quant && !parse_set_results(p, &inner, 1, &t)) return false;
    ir_op *op = parse_build(p, &inner, b);
    if (!op) return false;
    if (op->n_out != 1) return parse_fail_at(p, word, "'applies' needs an op with one result");
    ir_value *result = &op->out[0];
    op_parts end = {.at = word, .code = OP_return, .in = &result, .n_in = 1};
    return parse_build(p, &end, b) && parse_push_region(p, o, b);
}

/* reducer(%a: T, %b: T) (%c: U, %d: U) { ... }: one pair an input; the block takes all firsts, then all seconds. */
static bool parse_reducer(parser *p, op_parts *o) {
    ir_block *b = ir_block_new(p->m);
    size_t mark = parse_scope_enter(p), n = o->n_in / 2;
    token *names = arena_alloc(p->scratch, (2 * n + 1) * sizeof *names);
    const ir_type **types = arena_alloc(p->scratch, (2 * n + 1) * sizeof *types);
    if (!b || !names || !types) return parse_oom(p);
    for (size_t i = 0; i < n; i++) {
        if (!parse_expect(p, '(', "before a reducer's pair of arguments")) return false;
        for (int side = 0; side < 2; side++) {
            size_t at = (size_t)side * n + i;
            names[at] = p->tok;
            if (p->tok.kind != TOK_VALUE) return parse_expected(p, "an argument such as %arg0");
            if (!lex_advance(p) || !parse_expect(p, ':', "before the argument's type") || !parse_type(p, &types[at]) ||
                !parse_op_loc(p, NULL))
                return false;
            if (!parse_expect(p, side ? ')' : ',', "in a reducer's pair of arguments")) return false;
        }
    }
    for (size_t i = 0; i < 2 * n; i++) {
        ir_value *v = ir_block_arg(p->m, b, types[i]), **slot = arena_alloc(p->scratch, sizeof *slot);
        if (!v || !slot) return parse_oom(p);
        *slot = v;
        if (!parse_define(p, names[i], 1, slot)) return false;
    }
    if (!parse_op_loc(p, NULL) || !parse_region_body(p, b)) return false;
    parse_scope_leave(p, mark);
    return parse_push_region(p, o, b);
}

bool parse_reduce(parser *p, op_parts *o) {
    if (!parse_reduce_inputs(p, o)) return false;
    bool applies = parse_accept_word(p, "applies");
    token word = p->tok;
    ir_opcode code = OP_COUNT;
    int64_t *dims;
    size_t n;
    if (applies && (word.kind != TOK_WORD || !parse_opcode(p, word, word.text, word.n, &code) || !lex_advance(p)))
        return p->status ? false : parse_expected(p, "an op such as stablehlo.add");
    if (p->status || !parse_expect_word(p, "across") || !parse_key(p, "dimensions") ||
        !parse_integer_list(p, "before the dimensions", &dims, &n) ||
        !attr_push_ints(p, &o->attrs, IR_A_dimensions, n, dims) || !parse_optional_dict(p, o) ||
        !parse_function_type_of(p, o))
        return false;
    if (applies) return apply_op(p, o, word, code);
    return parse_expect_word(p, "reducer") && parse_reducer(p, o);
}

/* chlo.scan(%x) inits(%c) dimension = 0 attributes {...} { region } : (types) -> (types) */
bool parse_scan(parser *p, op_parts *o) {
    int64_t *segments = arena_alloc(p->m->mem, 2 * sizeof *segments);
    ir_attr dim = {.key = IR_A_dimension, .kind = IR_AK_INT, .name = ir_attr_key_name(IR_A_dimension), .dtype = XT_I64};
    if (!segments) return parse_oom(p);
    if (!parse_operands_in_parens(p, o)) return false;
    segments[0] = (int64_t)o->n_in;
    if (!parse_expect_word(p, "inits") || !parse_operands_in_parens(p, o)) return false;
    segments[1] = (int64_t)o->n_in - segments[0];
    if (!attr_push_ints(p, &o->attrs, IR_A_operandSegmentSizes, 2, segments)) return false;
    if (!parse_key(p, "dimension") || !parse_integer(p, &dim.v.i) || !attr_push(p, &o->attrs, dim)) return false;
    if (parse_accept_word(p, "attributes") && !parse_op_attr_dict(p, &o->attrs)) return false;
    return !p->status && parse_region(p, o) && parse_function_type_of(p, o);
}

/* --- while --- */

static bool parse_while_region(parser *p, op_parts *o, const token *names) {
    ir_block *b = ir_block_new(p->m);
    size_t mark = parse_scope_enter(p);
    if (!b) return parse_oom(p);
    for (size_t i = 0; i < o->n_in; i++) {
        ir_value *v = ir_block_arg(p->m, b, o->in[i]->type), **slot = arena_alloc(p->scratch, sizeof *slot);
        if (!v || !slot) return parse_oom(p);
        *slot = v;
        if (!parse_define(p, names[i], 1, slot)) return false;
    }
    if (!parse_region_body(p, b)) return false;
    parse_scope_leave(p, mark);
    return parse_push_region(p, o, b);
}

static bool parse_while_types(parser *p, op_parts *o) {
    type_list types = {0};
    token at = p->tok;
    if (parse_accept(p, ':')) {
        at = p->tok;
        if (!parse_types_plain(p, &types)) return false;
    }
    return !p->status && parse_check_operands(p, o, at, types.n, types.types) &&
           parse_set_results(p, o, types.n, types.types);
}

/* while(%i = %c, %x = %0) : T, U [attributes {...}] cond {...} do {...} */
bool parse_while(parser *p, op_parts *o) {
    token *names = NULL;
    size_t n = 0, cap = 0;
    bool ok = parse_expect(p, '(', "before the loop's values");
    while (ok && !parse_at(p, ')')) {
        ok = p->tok.kind == TOK_VALUE ? VEC_PUSH(names, n, cap, p->tok) || parse_oom(p)
                                      : parse_expected(p, "the name of a loop value");
        ok = ok && lex_advance(p) && parse_expect(p, '=', "before its initial value") && parse_operand(p, o);
        if (ok && !parse_at(p, ')')) ok = parse_expect(p, ',', "or ')' among the loop's values");
    }
    ok = ok && lex_advance(p) && parse_while_types(p, o);
    if (ok && parse_accept_word(p, "attributes")) ok = parse_op_attr_dict(p, &o->attrs);
    ok = ok && !p->status && parse_expect_word(p, "cond") && parse_while_region(p, o, names) &&
         parse_expect_word(p, "do") && parse_while_region(p, o, names);
    base_free(names);
    return ok;
}

/* --- sdy.manual_computation --- */

/* word=[...] or word={...}: kept as the text before + what stands between + after. */
static bool parse_kept_list(parser *p, op_parts *o, ir_attr_key key, char open, char close, const char *before,
                            const char *after) {
    if (!parse_key(p, ir_attr_key_name(key)) || !parse_at(p, open))
        return p->status ? false : parse_expected(p, "a list");
    const char *from = p->tok.text + 1, *text;
    size_t n;
    if (!lex_advance(p)) return false;
    while (!parse_at(p, close)) {
        if (p->tok.kind == TOK_END) return parse_expected(p, "the end of the list");
        if (parse_at(p, '<') && !(lex_advance(p) && lex_skip_angle(p, &text, &n))) return false;
        if (!lex_advance(p)) return false;
    }
    ir_attr a = {.key = key, .kind = IR_AK_OPAQUE, .name = ir_attr_key_name(key)};
    a.v.s = arena_printf(p->m->mem, "%s%.*s%s", before, (int)(p->tok.text - from), from, after);
    a.n = a.v.s ? strlen(a.v.s) : 0;
    return (a.v.s || parse_oom(p)) && attr_push(p, &o->attrs, a) && lex_advance(p);
}

/* (%x) in_shardings=[<...>] out_shardings=[<...>] manual_axes={"x"} (%arg: T) { ... } : (T) -> U */
bool parse_manual_computation(parser *p, op_parts *o) {
    static const char list[] = "#sdy.sharding_per_value<[";
    ir_block *b = ir_block_new(p->m);
    if (!b) return parse_oom(p);
    if (!parse_operands_in_parens(p, o) || !parse_kept_list(p, o, IR_A_in_shardings, '[', ']', list, "]>") ||
        !parse_kept_list(p, o, IR_A_out_shardings, '[', ']', list, "]>") ||
        !parse_kept_list(p, o, IR_A_manual_axes, '{', '}', "#sdy<manual_axes{", "}>"))
        return false;
    size_t mark = parse_scope_enter(p);
    if (!parse_expect(p, '(', "before the region's arguments") || !parse_block_args(p, b, ')', NULL) ||
        !parse_region_body(p, b))
        return false;
    parse_scope_leave(p, mark);
    return parse_push_region(p, o, b) && parse_optional_dict(p, o) && parse_function_type_of(p, o);
}

/* --- convolution --- */

/* [[1, 1], [0, 2]] */
static bool parse_pairs(parser *p, ir_attr *a) {
    int64_t *v = NULL, *pair;
    size_t n = 0, cap = 0, k;
    bool ok = parse_expect(p, '[', "before the padding");
    while (ok && !parse_at(p, ']')) {
        token at = p->tok;
        ok = parse_integer_list(p, "before a pair of paddings", &pair, &k);
        if (ok && k != 2) ok = parse_fail_at(p, at, "padding of a dimension is [low, high], found %zu numbers", k);
        ok = ok && ((VEC_PUSH(v, n, cap, pair[0]) && VEC_PUSH(v, n, cap, pair[1])) || parse_oom(p));
        if (ok && !parse_at(p, ']')) ok = parse_expect(p, ',', "or ']' in the padding");
    }
    ok = ok && lex_advance(p);
    a->n = n;
    a->rank2 = 2;
    a->v.ints = arena_copy(p->m->mem, v, n * sizeof *v);
    base_free(v);
    return ok && (n == 0 || a->v.ints || parse_oom(p));
}

static bool parse_bools(parser *p, ir_attr *a) {
    int64_t *v = NULL, x;
    size_t n = 0, cap = 0;
    bool ok = parse_expect(p, '[', "before a list of booleans"), b;
    while (ok && !parse_at(p, ']')) {
        if (p->tok.kind == TOK_INT) { /* 0 and 1 are read too */
            ok = parse_integer(p, &x);
        } else {
            ok = parse_bool_word(p, &b);
            x = ok && b;
        }
        ok = ok && (VEC_PUSH(v, n, cap, x != 0) || parse_oom(p));
        if (ok && !parse_at(p, ']')) ok = parse_expect(p, ',', "or ']' in a list of booleans");
    }
    ok = ok && lex_advance(p);
    a->n = n;
    a->v.ints = arena_copy(p->m->mem, v, n * sizeof *v);
    base_free(v);
    return ok && (n == 0 || a->v.ints || parse_oom(p));
}

static bool parse_window(parser *p, op_parts *o) {
    static const struct {
        const char *word;
        ir_attr_key key;
    } parts[] = {{"stride", IR_A_window_strides},
                 {"pad", IR_A_padding},
                 {"lhs_dilate", IR_A_lhs_dilation},
                 {"rhs_dilate", IR_A_rhs_dilation},
                 {"reverse", IR_A_window_reversal}};
    if (!parse_expect(p, '{', "before the window")) return false;
    while (!parse_at(p, '}')) {
        size_t i = 0;
        while (i < BASE_COUNT(parts) && !parse_at_word(p, parts[i].word)) i++;
        if (i == BASE_COUNT(parts)) return parse_expected(p, "stride, pad, lhs_dilate, rhs_dilate or reverse");
        ir_attr a = {.key = parts[i].key,
                     .kind = ir_attr_key_kind(parts[i].key),
                     .name = ir_attr_key_name(parts[i].key),
                     .dtype = XT_I64};
        int64_t *v;
        if (!parse_key(p, parts[i].word)) return false;
        if (a.key == IR_A_padding           ? !parse_pairs(p, &a)
            : a.key == IR_A_window_reversal ? !parse_bools(p, &a)
                                            : !parse_integer_list(p, "before a list of integers", &v, &a.n))
            return false;
        if (a.key != IR_A_padding && a.key != IR_A_window_reversal) a.v.ints = v;
        if (!attr_push(p, &o->attrs, a)) return false;
        if (!parse_at(p, '}') && !parse_expect(p, ',', "or '}' in the window")) return false;
    }
    return lex_advance(p);
}

/* convolution(%x, %w) dim_numbers = [...]x[...]->[...], window = {...} {...} : (A, B) -> C */
bool parse_convolution(parser *p, op_parts *o) {
    return parse_operands_in_parens(p, o) && parse_key(p, "dim_numbers") && parse_conv_dims(p, &o->attrs) &&
           parse_expect(p, ',', "before the window") && parse_key(p, "window") && parse_window(p, o) &&
           parse_optional_dict(p, o) && parse_function_type_of(p, o);
}
