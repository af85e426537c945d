/* Quantized element types: !quant.uniform<i8<-127:127>:f32:1, {0.1:3, 0.2:-4}>. */
#include "ir/interp.h"
#include "ir/parse_int.h"
#include "ir/text.h"

/* i8, ui8, and u8 as MLIR prints it. */
static bool parse_storage(parser *p, xt_dtype *out) {
    char name[8];
    if (p->tok.kind == TOK_WORD && p->tok.n > 1 && p->tok.n < 5 && p->tok.text[0] == 'u' && p->tok.text[1] != 'i') {
        snprintf(name, sizeof name, "ui%.*s", (int)p->tok.n - 1, p->tok.text + 1);
        if (ir_dtype_from_mlir(name, strlen(name), out)) return lex_advance(p);
    }
    return parse_dtype(p, out);
}

/* A scale: a number, or the bits of one of the expressed type; and a zero point. */
static bool parse_pair(parser *p, xt_dtype expressed, double *scale, int64_t *zero) {
    bool negative = parse_accept(p, '-');
    if (p->status) return false;
    bool bits = p->tok.kind == TOK_INT && p->tok.n > 2 && p->tok.text[1] == 'x';
    if (p->tok.kind != TOK_FLOAT && p->tok.kind != TOK_INT) return parse_expected(p, "a scale such as 0.5");
    if (bits) {
        uint64_t cell[2];
        if (!parse_element(p, expressed, cell)) return false;
        *scale = array_get(&(array){ir_scalar(expressed), cell}, 0);
    } else {
        *scale = number_parse(p->tok.text, p->tok.n);
        if (!lex_advance(p)) return false;
    }
    if (negative) *scale = -*scale;
    *zero = 0;
    return !parse_accept(p, ':') || parse_integer(p, zero);
}

typedef struct pairs {
    double *scales;
    int64_t *zeros;
    size_t n, cap_scales, cap_zeros;
} pairs;
static bool parse_pairs(parser *p, xt_dtype expressed, pairs *l) {
    double scale = 0;
    int64_t zero = 0;
    do {
        size_t n = l->n;
        if (!parse_pair(p, expressed, &scale, &zero) || p->status) return false;
        if (!VEC_PUSH(l->scales, n, l->cap_scales, scale)) return parse_oom(p);
        if (!VEC_PUSH(l->zeros, l->n, l->cap_zeros, zero)) return parse_oom(p);
    } while (parse_accept(p, ','));
    return !p->status;
}

static bool parse_range(parser *p, ir_quant *q) {
    int bits = ir_dtype_bits(q->storage);
    bool is_signed = ir_dtype_is_signed(q->storage);
    if (bits > 32 || !ir_dtype_is_int(q->storage))
        return parse_fail(p, "quantized numbers are stored as integers of at most 32 bits, not as %s (%s)",
                          ir_dtype_mlir(q->storage), "quantized_element_c1");
    q->min = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    q->max = ((int64_t)1 << (bits - is_signed)) - 1;
    if (!parse_accept(p, '<')) return !p->status;
    return parse_integer(p, &q->min) && parse_expect(p, ':', "between the least and the largest number") &&
           parse_integer(p, &q->max) && parse_expect(p, '>', "after the storage range");
}

static bool parse_parameters(parser *p, ir_quant *q, pairs *l) {
    bool by_axis = parse_accept(p, ':');
    q->axis = -1;
    if (p->status) return false;
    if (by_axis) {
        token at = p->tok;
        if (!parse_integer(p, &q->axis)) return false;
        if (q->axis < 0)
            return parse_fail_at(p, at,
                                 "the quantization dimension is %lld, expected 0 or more (quantized_element_c11)",
                                 (long long)q->axis);
    }
    if (!parse_expect(p, ',', "before the scales")) return false;
    bool braces = parse_accept(p, '{');
    if (p->status) return false;
    if (by_axis && !braces) return parse_expected(p, "'{' before the scales of each slice");
    if (braces && parse_at(p, '}')) return parse_expected(p, "a scale such as 0.5");
    return parse_pairs(p, q->expressed, l) && (!braces || parse_expect(p, '}', "after the scales"));
}

bool parse_quant(parser *p, const ir_quant **out) {
    ir_quant q = {0};
    pairs l = {0};
    token at = p->tok;
    bool ok = lex_advance(p) && parse_expect(p, '<', "after !quant.uniform") && parse_storage(p, &q.storage) &&
              parse_range(p, &q) && parse_expect(p, ':', "before the expressed type") && parse_dtype(p, &q.expressed);
    if (ok && !ir_dtype_is_float(q.expressed))
        ok = parse_fail_at(p, at, "the expressed type is %s, expected a float (quantized_element_c4)",
                           ir_dtype_mlir(q.expressed));
    ok = ok && parse_parameters(p, &q, &l) && parse_expect(p, '>', "at the end of the quantized type");
    if (ok) {
        q.scales = l.scales;
        q.zeros = l.zeros;
        q.n = l.n;
        xt_status s = ir_quant_of(&q, out);
        if (s) {
            ok = parse_fail_at(p, at, "%s", status_message(s));
            xt_status_free(s);
        }
    }
    base_free(l.scales);
    base_free(l.zeros);
    return ok;
}
