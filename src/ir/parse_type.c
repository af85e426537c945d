/* Types: tensors, tokens, tuples, function types, aliases. */
#include "ir/parse_int.h"

/* No program holds a tensor beyond this; it keeps every later product of sizes far from overflow. */
enum { MAX_TENSOR_BITS = 47 };

bool parse_dtype(parser *p, xt_dtype *out) {
    if (p->tok.kind != TOK_WORD) return parse_expected(p, "an element type such as f32");
    if (parse_at_word(p, "index")) {
        *out = XT_I64;
        p->saw_index = true;
        return lex_advance(p);
    }
    if (parse_at_word(p, "complex")) {
        xt_dtype part;
        token at = p->tok;
        if (!lex_advance(p) || !parse_expect(p, '<', "after complex") || !parse_dtype(p, &part) ||
            !parse_expect(p, '>', "after the part's type"))
            return false;
        if (part != XT_F32 && part != XT_F64) return parse_fail_at(p, at, "complex numbers have parts of f32 or f64");
        *out = part == XT_F32 ? XT_C64 : XT_C128;
        return true;
    }
    if (!ir_dtype_from_mlir(p->tok.text, p->tok.n, out))
        return parse_expected(p, "an element type such as f32, i64, ui8, i1, bf16 or complex<f32>");
    return lex_advance(p);
}

/* An encoding changes what the bytes mean, except bounds of dynamic dims, which only say more about them. */
static bool parse_encoding(parser *p, size_t rank) {
    if (p->tok.kind != TOK_HASH) return parse_expected(p, "an encoding attribute");
    static const char bounds[] = "#stablehlo.bounds", ext[] = "#stablehlo.type_extensions";
    bool known = (p->tok.n == sizeof bounds - 1 && !memcmp(p->tok.text, bounds, p->tok.n)) ||
                 (p->tok.n == sizeof ext - 1 && !memcmp(p->tok.text, ext, p->tok.n));
    if (!known)
        return parse_fail(p, "tensor encoding '%.*s' is not known here: only #stablehlo.bounds is",
                          (int)(p->tok.n < 60 ? p->tok.n : 60), p->tok.text);
    const char *text;
    size_t n;
    if (!lex_advance(p) || !parse_expect(p, '<', "after the encoding's name")) return false;
    token at = p->tok;
    if (!lex_skip_angle(p, &text, &n) || !parse_expect(p, '>', "after the bounds")) return false;
    size_t bound_count = n > 0;
    for (size_t i = 0; i < n; i++) bound_count += text[i] == ',';
    return bound_count == rank || parse_fail_at(p, at, "%zu bounds are given for %zu dims", bound_count, rank);
}

static bool word_is(const parser *p, const char *s) {
    return p->tok.n == strlen(s) && !memcmp(p->tok.text, s, p->tok.n);
}

static bool parse_quantized_element(parser *p, const ir_quant **out) {
    if (word_is(p, "!quant.uniform")) return parse_quant(p, out);
    *out = map_get(p->quant_aliases, p->tok.text, p->tok.n);
    return *out ? lex_advance(p) : parse_expected(p, "an element type such as f32 or !quant.uniform<i8:f32, 0.5>");
}

static bool parse_tensor(parser *p, const ir_type **out) {
    token at = p->tok;
    int64_t *dims;
    size_t rank;
    xt_dtype t;
    if (!lex_advance(p) || !parse_expect(p, '<', "after tensor")) return false;
    if (parse_at(p, '*'))
        return parse_fail(p, "tensors without a rank are not part of StableHLO programs; give the dimensions");
    if (!lex_dims(p, &dims, &rank)) return false;
    const ir_quant *q = NULL;
    token element = p->tok;
    if (p->tok.kind == TOK_BANG ? !parse_quantized_element(p, &q) : !parse_dtype(p, &t)) return false;
    if (q) t = q->storage;
    if (parse_accept(p, ',') && !parse_encoding(p, rank)) return false;
    if (p->status || !parse_expect(p, '>', "at the end of the tensor type")) return false;
    double bytes = (double)xt_dtype_size(t);
    for (size_t i = 0; i < rank; i++)
        if (dims[i] > 0) bytes *= (double)dims[i];
    if (bytes > (double)((int64_t)1 << MAX_TENSOR_BITS))
        return parse_fail_at(p, at, "a tensor of %.3g bytes is larger than any memory (the limit is 2^%d)", bytes,
                             MAX_TENSOR_BITS);
    if (q && !ir_quant_fits(q, rank, dims))
        return (size_t)q->axis >= rank
                   ? parse_fail_at(p, element,
                                   "scales go along dim %lld of a tensor of %zu dims (quantized_tensor_c12)",
                                   (long long)q->axis, rank)
                   : parse_fail_at(p, element,
                                   "%zu scales are given for dim %lld, which is %lld (quantized_tensor_c13)", q->n,
                                   (long long)q->axis, (long long)dims[q->axis]);
    *out = ir_with_quant(ir_tensor(t, rank, dims), q);
    return *out || parse_fail_at(p, at, "not a valid tensor type");
}

static bool tuple_of(parser *p, token at, ir_kind kind, const type_list *l, const ir_type **out) {
    if (!ir_tuple_fits(l->n, l->types))
        return parse_fail_at(p, at, "a tuple of more than %d types, or nested deeper than %d", IR_MAX_PARTS,
                             IR_MAX_TUPLE_DEPTH);
    *out = kind == IR_TUPLE ? ir_tuple(l->n, l->types) : ir_future(l->n, l->types);
    return *out || parse_oom(p);
}

static bool parse_bang(parser *p, const ir_type **out) {
    if (word_is(p, "!stablehlo.token") || word_is(p, "!mhlo.token")) {
        *out = ir_token();
        return *out ? lex_advance(p) : parse_oom(p);
    }
    if (word_is(p, "!stablehlo.future")) {
        type_list l;
        token at = p->tok;
        if (!parse_enter(p) || !lex_advance(p) || !parse_expect(p, '<', "after !stablehlo.future") ||
            !parse_type_list(p, '>', &l))
            return false;
        parse_leave(p);
        return tuple_of(p, at, IR_FUTURE, &l, out);
    }
    *out = map_get(p->type_aliases, p->tok.text, p->tok.n);
    return *out ? lex_advance(p) : parse_expected(p, "a type");
}

bool parse_type(parser *p, const ir_type **out) {
    if (p->tok.kind == TOK_BANG) return parse_bang(p, out);
    if (parse_at_word(p, "tensor")) return parse_tensor(p, out);
    if (!parse_at_word(p, "tuple")) return parse_expected(p, "a type such as tensor<2x3xf32>");
    type_list l;
    token at = p->tok;
    if (!parse_enter(p) || !lex_advance(p) || !parse_expect(p, '<', "after tuple") || !parse_type_list(p, '>', &l))
        return false;
    parse_leave(p);
    return tuple_of(p, at, IR_TUPLE, &l, out);
}

static bool collect(parser *p, char close, bool plain, type_list *out) {
    size_t n = 0, cap = 0;
    const ir_type **v = NULL, *t;
    bool ok = true;
    while (ok && (plain || !parse_at(p, close))) {
        ok = parse_type(p, &t) && (VEC_PUSH(v, n, cap, t) || parse_oom(p));
        if (!ok) break;
        if (plain) {
            if (!parse_accept(p, ',')) break;
        } else if (!parse_at(p, close)) {
            char what[48];
            snprintf(what, sizeof what, "or '%c' in a list of types", close);
            ok = parse_expect(p, ',', what);
        }
    }
    ok = ok && !p->status && (plain || lex_advance(p));
    out->n = n;
    out->types = arena_copy(p->scratch, v, n * sizeof *v);
    base_free(v);
    return ok && (n == 0 || out->types || parse_oom(p));
}

bool parse_type_list(parser *p, char close, type_list *out) {
    return collect(p, close, false, out);
}
bool parse_types_plain(parser *p, type_list *out) {
    return collect(p, 0, true, out);
}

bool parse_function_type(parser *p, type_list *in, type_list *out) {
    if (!parse_expect(p, '(', "at the start of a function type") || !parse_type_list(p, ')', in) || !parse_arrow(p))
        return false;
    if (parse_accept(p, '(')) return parse_type_list(p, ')', out);
    const ir_type *t;
    if (p->status || !parse_type(p, &t)) return false;
    out->n = 1;
    out->types = arena_copy(p->scratch, &t, sizeof t);
    return out->types || parse_oom(p);
}
