/* Attributes that the IR keeps as the text they were read from. Those that vhlo has a code for are taken apart; the
 * others, sdy's above all, stand in the file as assembly text, which MLIR's format allows for every attribute and the
 * reader takes as it is. */
#include <ctype.h>
#include <stdlib.h>

#include "format/bytecode_out.h"
#include "ir/text.h"

/* Behind `name = ` in the text; NULL when it is not there. */
static const char *member(const char *text, const char *name) {
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n) {
        if (p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_')) continue;
        const char *q = p + n;
        while (*q == ' ') q++;
        if (*q == '=') return q + 1 + strspn(q + 1, " ");
    }
    return NULL;
}

static int64_t int_member(const char *text, const char *name) {
    const char *p = member(text, name);
    return p ? strtoll(p, NULL, 10) : 0;
}

/* [1, 2] from p on, as a list of svarints. */
static void int_list(str *s, const char *p) {
    str body = STR_INIT;
    uint64_t n = 0;
    for (p = p && *p == '[' ? p + 1 : ""; *p && *p != ']';) {
        char *end;
        int64_t v = strtoll(p, &end, 10);
        if (end == p)
            p++;
        else
            p = end, n++, bw_svarint(&body, v);
    }
    bw_varint(s, n);
    if (body.len) str_appendn(s, body.data, body.len);
    s->failed |= body.failed;
    str_free(&body);
}

static void double_member(str *s, const char *text, const char *name) {
    const char *p = member(text, name);
    double v = p ? number_parse(p, strcspn(p, ",> ")) : 0;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bw_bits(s, 64, bits);
}

size_t bw_accuracy(bw *w, const ir_attr *a) {
    static const char *const modes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};
    const char *text = a && a->kind == IR_AK_OPAQUE ? a->v.s : "";
    str mode = STR_INIT, s = STR_INIT;
    uint64_t m = 0;
    for (uint64_t i = 0; i < BASE_COUNT(modes); i++)
        if (strstr(text, modes[i])) m = i;
    bw_varint(&mode, 19);
    bw_varint(&mode, m);
    size_t at = bw_attr_entry(w, "vhlo", true, &mode);
    bw_varint(&s, 20);
    double_member(&s, text, "atol");
    double_member(&s, text, "rtol");
    bw_svarint(&s, int_member(text, "ulps"));
    bw_varint(&s, at);
    return bw_attr_entry(w, "vhlo", true, &s);
}

static size_t output_alias(bw *w, const char *text) {
    str s = STR_INIT;
    bw_varint(&s, 10);
    int_list(&s, member(text, "output_tuple_indices"));
    bw_svarint(&s, int_member(text, "operand_index"));
    int_list(&s, member(text, "operand_tuple_indices"));
    return bw_attr_entry(w, "vhlo", true, &s);
}

/* --- dot_general's algorithm --- */

static size_t named_type(bw *w, const char *name, size_t n) {
    str type = STR_INIT, s = STR_INIT;
    xt_dtype t;
    size_t at = 0;
    if (ir_dtype_from_mlir(name, n, &t)) {
        at = bw_element(w, t, BW_VHLO);
    } else {
        bool none = n == 4 && memcmp(name, "none", 4) == 0;
        if (!none && !(n == 4 && memcmp(name, "tf32", 4) == 0))
            bw_fail(w, NULL, "the type '%.*s' of an algorithm is not known", (int)n, name);
        bw_varint(&type, none ? VT_NONE : VT_TF32);
        at = bw_type_entry(w, "vhlo", true, &type);
    }
    bw_varint(&s, 17);
    bw_varint(&s, at);
    return bw_attr_entry(w, "vhlo", true, &s);
}

size_t bw_algorithm_member(bw *w, const ir_attr *a, const char *name) {
    if (!a || a->kind != IR_AK_OPAQUE) return named_type(w, "none", 4);
    const char *p = member(a->v.s, name);
    if (!p) return bw_fail(w, NULL, "the algorithm '%.60s' lacks %s", a->v.s, name), 0;
    size_t n = strcspn(p, ",> \t\r\n");
    if (n == 4 && memcmp(p, "true", 4) == 0)
        return bw_attr(w, NULL, &(ir_attr){.kind = IR_AK_BOOL, .v.b = true}, BW_VHLO);
    if (n == 5 && memcmp(p, "false", 5) == 0) return bw_attr(w, NULL, &(ir_attr){.kind = IR_AK_BOOL}, BW_VHLO);
    if (isdigit((unsigned char)*p)) return bw_int(w, strtoll(p, NULL, 10), XT_I64, BW_VHLO);
    return named_type(w, p, n);
}

/* --- Of index type --- */

static size_t index_type(bw *w, int64_t count, bw_form f) {
    str s = STR_INIT, t = STR_INIT;
    const char *dialect = f == BW_VHLO ? "vhlo" : "builtin";
    bw_varint(&s, f == BW_VHLO ? VT_INDEX : 1);
    size_t element = bw_type_entry(w, dialect, true, &s);
    if (count < 0) return element;
    bw_varint(&t, f == BW_VHLO ? VT_TENSOR : 13);
    bw_varint(&t, 1);
    bw_svarint(&t, count);
    bw_varint(&t, element);
    return bw_type_entry(w, dialect, true, &t);
}

/* dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<2xindex>, dense<> : tensor<0xindex> */
static size_t index_list(bw *w, const char *text, bw_form f) {
    const char *dims = strstr(text, "tensor<") + strlen("tensor<");
    int64_t count = isdigit((unsigned char)*dims) ? strtoll(dims, NULL, 10) : 0;
    str raw = STR_INIT, s = STR_INIT;
    for (const char *p = text + strlen("dense<"); *p && *p != '>';) {
        char *end;
        int64_t v = strtoll(p, &end, 10);
        if (end != p) str_appendn(&raw, (const char *)&v, sizeof v);
        p = end == p ? p + 1 : end;
    }
    size_t type = index_type(w, count, f);
    bw_varint(&s, f == BW_VHLO ? 15 : 18);
    bw_varint(&s, type);
    bw_blob(&s, raw.data, raw.len);
    s.failed |= raw.failed;
    str_free(&raw);
    return bw_attr_entry(w, f == BW_VHLO ? "vhlo" : "builtin", true, &s);
}

static size_t index_number(bw *w, const char *text, bw_form f) {
    str s = STR_INIT;
    size_t type = index_type(w, -1, f);
    bw_varint(&s, f == BW_VHLO ? 9 : 8);
    bw_varint(&s, type);
    bw_bits(&s, 64, (uint64_t)strtoll(text, NULL, 10));
    return bw_attr_entry(w, f == BW_VHLO ? "vhlo" : "builtin", true, &s);
}

size_t bw_text_attr(bw *w, const ir_op *op, const ir_attr *a, bw_form f) {
    const char *t = a->v.s;
    (void)op;
    if (strncmp(t, "dense<", 6) == 0 && strstr(t, "tensor<") && strstr(t, "xindex>")) return index_list(w, t, f);
    if ((isdigit((unsigned char)*t) || *t == '-') && strstr(t, ": index")) return index_number(w, t, f);
    if (f == BW_VHLO && strncmp(t, "#stablehlo.output_operand_alias<", 32) == 0) return output_alias(w, t);
    str s = STR_INIT;
    str_appendn(&s, t, a->n);
    str_putc(&s, 0);
    return bw_attr_entry(w, strncmp(t, "#sdy", 4) == 0 ? "sdy" : "builtin", false, &s);
}
