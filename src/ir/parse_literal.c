/* dense<...>: element lists, splats and hexadecimal strings. The type stands after the elements, so the brackets are
 * skipped first and read again when it is known; memory is asked for only after the text is long enough to hold what
 * the type claims. */
#include "ir/interp.h"
#include "ir/parse_int.h"
#include "ir/text.h"

/* Width in bits of an integer type as MLIR writes it; 0 for others. */
static unsigned int_bits(xt_dtype t) {
    switch (t) {
    case XT_I2:
    case XT_U2: return 2;
    case XT_I4:
    case XT_U4: return 4;
    case XT_I8:
    case XT_U8: return 8;
    case XT_I16:
    case XT_U16: return 16;
    case XT_I32:
    case XT_U32: return 32;
    case XT_I64:
    case XT_U64: return 64;
    default: return 0;
    }
}

static bool magnitude(parser *p, uint64_t *out) {
    const char *s = p->tok.text, *e = s + p->tok.n;
    uint64_t v = 0, base = 10;
    if (p->tok.n > 2 && s[1] == 'x') base = 16, s += 2;
    for (; s < e; s++) {
        uint64_t digit = (uint64_t)(*s <= '9' ? *s - '0' : (*s | 32) - 'a' + 10);
        if (v > (UINT64_MAX - digit) / base) return parse_fail(p, "an integer does not fit in 64 bits");
        v = v * base + digit;
    }
    *out = v;
    return true;
}

static void store_bits(void *dst, uint64_t v, size_t size) {
    memcpy(dst, &v, size);
} /* little-endian hosts only, as all of PJRT's */

static bool parse_int_element(parser *p, xt_dtype t, bool negative, void *dst) {
    uint64_t v;
    unsigned bits = int_bits(t);
    if (p->tok.kind != TOK_INT) return parse_expected(p, "an integer");
    if (!magnitude(p, &v)) return false;
    /* MLIR's integers are bits: 255 and -1 are both an i8. */
    uint64_t top = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1, low = (uint64_t)1 << (bits - 1);
    bool fits = negative ? ir_dtype_is_signed(t) && v <= low : v <= top;
    if (!fits)
        return parse_fail(p, "%s%.*s does not fit in %s", negative ? "-" : "", (int)(p->tok.n < 40 ? p->tok.n : 40),
                          p->tok.text, ir_dtype_mlir(t));
    if (negative) v = 0 - v;
    if (bits < 8) {
        v &= top;
        if (ir_dtype_is_signed(t) && (v & low)) v |= ~top; /* one sign-extended byte each */
    }
    store_bits(dst, v, xt_dtype_size(t));
    return lex_advance(p);
}

static bool parse_float_element(parser *p, xt_dtype t, bool negative, void *dst) {
    size_t size = xt_dtype_size(t);
    if (p->tok.kind == TOK_INT && p->tok.n > 2 && p->tok.text[1] == 'x') { /* the bits themselves */
        uint64_t v;
        if (negative) return parse_fail(p, "a hexadecimal float carries its own sign; drop the '-'");
        if (!magnitude(p, &v)) return false;
        if (size < 8 && v >> (8 * size))
            return parse_fail(p, "%.*s has more bits than %s", (int)(p->tok.n < 40 ? p->tok.n : 40), p->tok.text,
                              ir_dtype_mlir(t));
        store_bits(dst, v, size);
        return lex_advance(p);
    }
    if (p->tok.kind != TOK_FLOAT && p->tok.kind != TOK_INT) return parse_expected(p, "a number");
    double v = number_parse(p->tok.text, p->tok.n);
    array_set(&(array){ir_scalar(t), dst}, 0, negative ? -v : v);
    return lex_advance(p);
}

static bool parse_complex_element(parser *p, xt_dtype t, void *dst) {
    xt_dtype part = t == XT_C64 ? XT_F32 : XT_F64;
    if (!parse_expect(p, '(', "before a complex number's real part")) return false;
    return parse_element(p, part, dst) && parse_expect(p, ',', "between the parts of a complex number") &&
           parse_element(p, part, (char *)dst + xt_dtype_size(part)) &&
           parse_expect(p, ')', "after a complex number's imaginary part");
}

bool parse_element(parser *p, xt_dtype t, void *dst) {
    if (ir_dtype_is_complex(t)) return parse_complex_element(p, t, dst);
    if (t == XT_BOOL && p->tok.kind != TOK_INT) {
        bool b;
        if (!parse_bool_word(p, &b)) return false;
        *(uint8_t *)dst = b;
        return true;
    }
    if (t == XT_BOOL) {
        int64_t v;
        if (!parse_integer(p, &v)) return false;
        *(uint8_t *)dst = v != 0;
        return v == 0 || v == 1 || parse_fail(p, "%lld is not an i1", (long long)v);
    }
    bool negative = parse_accept(p, '-');
    if (p->status) return false;
    return ir_dtype_is_float(t) ? parse_float_element(p, t, negative, dst) : parse_int_element(p, t, negative, dst);
}

typedef struct list_reader {
    const ir_type *type;
    size_t size;
    char *dst; /* the next element's place */
} list_reader;

static bool parse_nested(parser *p, list_reader *r, size_t depth) {
    if (depth == r->type->rank) {
        if (!parse_element(p, r->type->dtype, r->dst)) return false;
        r->dst += r->size;
        return true;
    }
    int64_t want = r->type->dims[depth], have = 0;
    if (!parse_expect(p, '[', "at the start of a list of elements")) return false;
    while (!parse_at(p, ']')) {
        if (have == want)
            return parse_fail(p, "a list has more elements than dimension %zu, which is %lld", depth, (long long)want);
        if (!parse_nested(p, r, depth + 1)) return false;
        have++;
        if (!parse_at(p, ']') && !parse_expect(p, ',', "or ']' in a list of elements")) return false;
    }
    if (have != want)
        return parse_fail(p, "a list has %lld elements, but dimension %zu is %lld", (long long)have, depth,
                          (long long)want);
    return lex_advance(p);
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Sub-byte integers and booleans come one byte each; older MLIR packed booleans eight to a byte. */
static bool parse_hex(parser *p, const ir_type *t, ir_literal *out) {
    size_t digits = p->tok.n < 4 ? 0 : p->tok.n - 4, n = digits / 2, size = xt_dtype_size(t->dtype),
           count = (size_t)t->count, whole = count * size;
    if (p->tok.n < 4 || memcmp(p->tok.text, "\"0x", 3) || digits % 2)
        return parse_expected(p, "a string \"0x...\" of whole bytes");
    bool packed = t->dtype == XT_BOOL && n == (count + 7) / 8 && n != count;
    bool splat = !packed && n == size && count != 1;
    if (!packed && !splat && n != whole)
        return parse_fail(p, "the string holds %zu bytes, but the type needs %zu", n, whole);
    uint8_t *raw = arena_alloc(p->m->mem, n + 1), *data = raw;
    if (!raw) return parse_oom(p);
    for (size_t i = 0; i < n; i++) {
        int hi = hex_digit(p->tok.text[3 + 2 * i]), lo = hex_digit(p->tok.text[4 + 2 * i]);
        if (hi < 0 || lo < 0)
            return parse_fail(p, "'%.2s' in the string is not a byte in hexadecimal", p->tok.text + 3 + 2 * i);
        raw[i] = (uint8_t)(hi * 16 + lo);
    }
    if (packed) {
        data = arena_alloc(p->m->mem, count); /* at most 8 times the text */
        if (!data) return parse_oom(p);
        for (size_t i = 0; i < count; i++) data[i] = raw[i / 8] >> (i % 8) & 1;
    } else if (t->dtype == XT_BOOL) {
        for (size_t i = 0; i < n; i++) data[i] = data[i] != 0;
    } else if (int_bits(t->dtype) && int_bits(t->dtype) < 8) {
        unsigned bits = int_bits(t->dtype);
        for (size_t i = 0; i < n; i++) {
            data[i] &= (uint8_t)((1u << bits) - 1);
            if (ir_dtype_is_signed(t->dtype) && data[i] >> (bits - 1)) data[i] |= (uint8_t)(0xFFu << bits);
        }
    }
    *out = (ir_literal){t, data, splat};
    return lex_advance(p);
}

/* The current token is the first after '<'; `text_n` bytes are between the brackets. */
static bool parse_body(parser *p, const ir_type *t, size_t text_n, ir_literal *out) {
    size_t size = xt_dtype_size(t->dtype);
    if (parse_at(p, '>')) {
        if (t->count != 0)
            return parse_fail(p, "dense<> is for tensors without elements, but the type has %lld", (long long)t->count);
        *out = (ir_literal){t, arena_alloc(p->m->mem, 1), false};
        return out->data || parse_oom(p);
    }
    if (p->tok.kind == TOK_STRING) return parse_hex(p, t, out);
    bool list = parse_at(p, '[') && t->rank > 0;
    if (list && (uint64_t)t->count > text_n)
        return parse_fail(p, "the type has %lld elements, more than this list can hold", (long long)t->count);
    size_t n = list && t->count ? (size_t)t->count : 1;
    char *data = arena_alloc(p->m->mem, n * size);
    if (!data) return parse_oom(p);
    *out = (ir_literal){t, data, !list && t->count != 1};
    if (!list) return parse_element(p, t->dtype, data);
    list_reader r = {t, size, data};
    return parse_nested(p, &r, 0);
}

bool parse_dense(parser *p, ir_literal *out) {
    const char *text;
    size_t n;
    if (!lex_advance(p)) return false;
    if (!parse_expect(p, '<', "after dense")) return false;
    lex_state body = lex_save(p);
    const ir_type *t;
    if (!lex_skip_angle(p, &text, &n) || !parse_expect(p, '>', "after the elements") ||
        !parse_expect(p, ':', "and the type after dense<...>"))
        return false;
    token type_at = p->tok;
    if (!parse_type(p, &t)) return false;
    if (t->kind != IR_TENSOR || t->count < 0)
        return parse_fail_at(p, type_at, "a literal needs a tensor type with known dimensions");
    if (!xt_dtype_size(t->dtype)) return parse_fail_at(p, type_at, "a literal cannot have this element type");
    lex_state after = lex_save(p);
    lex_restore(p, body);
    if (!parse_body(p, t, n, out)) return false;
    if (!parse_at(p, '>')) return parse_expected(p, "'>' after the elements of dense<...>");
    lex_restore(p, after);
    return true;
}
