/* Arrays beside programs: read from literals, compared. */
#include <math.h>

#include "base/narrow.h"
#include "ir/interp.h"
#include "lazy/program/from_file.h"

/* --- Literals: a module of constants is made of them, and read back --- */

/* Where the literal that begins at s ends: a comma outside all brackets and strings. */
static const char *literal_end(const char *s) {
    int depth = 0;
    for (; *s; s++) {
        if (*s == '"') {
            for (s++; *s && *s != '"'; s++) { /* hexadecimal digits only */
            }
            if (!*s) break;
        } else if (strchr("<[(", *s)) {
            depth++;
        } else if (strchr(">])", *s)) {
            if (depth == 0) break;
            depth--;
        } else if (*s == ',' && depth == 0) {
            break;
        }
    }
    return s;
}

static xt_status read_constant(const ir_op *op, xt_array *out) {
    const ir_literal *l = ir_get_literal(op);
    const ir_type *t = l->type;
    size_t size = xt_dtype_size(t->dtype), n = ir_type_bytes(t);
    if (t->rank > BASE_COUNT(out->dims))
        return status_new(XT_INVALID_ARGUMENT, NULL, "arrays have at most %zu dims", BASE_COUNT(out->dims));
    *out = (xt_array){.dtype = t->dtype, .rank = (int)t->rank, .data = base_aligned(64, n ? n : 1), .bytes = n};
    if (!out->data) return status_oom(n, "an array");
    for (uint32_t d = 0; d < t->rank; d++) out->dims[d] = t->dims[d];
    for (int64_t i = 0; i < t->count; i++)
        memcpy((char *)out->data + (size_t)i * size, (const char *)l->data + (l->splat ? 0 : (size_t)i * size), size);
    return NULL;
}

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

xt_status xt_arrays_parse(const char *text, xt_array *out, int max, int *out_n) {
    str program = STR_INIT;
    ir_module *m = NULL;
    *out_n = 0;
    str_append(&program, "func.func @main() {\n");
    const char *s = text;
    while (blank(*s)) s++;
    bool brackets = *s == '[';
    if (brackets) s++;
    for (int i = 0; *s && *s != ']'; i++) {
        const char *e = literal_end(s);
        str_printf(&program, "%%%d = stablehlo.constant %.*s\n", i, (int)(e - s), s);
        s = *e == ',' ? e + 1 : e;
        while (blank(*s)) s++;
        if (*s == '>' || *s == ')') break; /* the parser says what is wrong */
    }
    str_append(&program, "func.return\n}\n");
    xt_status st = ir_parse(str_cstr(&program), program.len, "literals", &m);
    for (const ir_op *op = st ? NULL : m->funcs->body->first; !st && op && op->code == OP_constant; op = op->next) {
        if (*out_n == max)
            st = status_new(XT_INVALID_ARGUMENT, NULL, "more than %d literals are given", max);
        else
            st = read_constant(op, &out[(*out_n)++]);
    }
    for (int i = 0; st && i < *out_n; i++) xt_array_free(&out[i]);
    if (st) *out_n = 0;
    ir_module_free(m);
    str_free(&program);
    return st;
}

bool program_bits_fit(xt_dtype have, xt_dtype want) {
    if (have == want) return true;
    bool raw16 = have == XT_U16, raw8 = have == XT_U8 || have == XT_F8E4M3FN;
    if (want == XT_BF16) return raw16;
    if (want == XT_I4 || want == XT_I2) return have == XT_I8 || raw8;
    if (want == XT_U4 || want == XT_U2) return raw8;
    return ir_dtype_is_float(want) && xt_dtype_size(want) == 1 && raw8;
}

/* --- Comparison --- */

static bool near(double got, double want, double rtol, double atol) {
    if (got == want || (isnan(got) && isnan(want))) return true;
    return isfinite(got) && isfinite(want) && fabs(got - want) <= atol + rtol * fabs(want);
}

static bool element_near(const array *got, const array *want, int64_t i, double rtol, double atol) {
    xt_dtype t = got->type->dtype;
    size_t size = xt_dtype_size(t);
    const char *a = (const char *)got->data + (size_t)i * size, *b = (const char *)want->data + (size_t)i * size;
    /* a file may hold it in either form */
    if (narrow_bits(t) != 255) return (((unsigned)*a ^ (unsigned)*b) & narrow_bits(t)) == 0;
    if (!ir_dtype_is_float(t) && !ir_dtype_is_complex(t)) return memcmp(a, b, size) == 0;
    if (!ir_dtype_is_complex(t)) return near(array_get(got, i), array_get(want, i), rtol, atol);
    double x[2], y[2]; /* parts */
    for (int k = 0; k < 2; k++) {
        array p = {ir_scalar(t == XT_C64 ? XT_F32 : XT_F64), (void *)(a + (size_t)k * size / 2)},
              q = {p.type, (void *)(b + (size_t)k * size / 2)};
        x[k] = array_get(&p, 0), y[k] = array_get(&q, 0);
    }
    return near(x[0], y[0], rtol, atol) && near(x[1], y[1], rtol, atol);
}

xt_status xt_array_compare(const xt_array *got, const xt_array *want, double rtol, double atol) {
    bool same = program_bits_fit(want->dtype, got->dtype) && got->rank == want->rank && got->bytes == want->bytes;
    for (int d = 0; same && d < got->rank; d++) same = got->dims[d] == want->dims[d];
    if (!same)
        return status_new(
            XT_FAILED_PRECONDITION, NULL, "%s of rank %d and %zu bytes, expected %s of rank %d and %zu bytes",
            xt_dtype_name(got->dtype), got->rank, got->bytes, xt_dtype_name(want->dtype), want->rank, want->bytes);
    const ir_type *t = ir_tensor(got->dtype, (size_t)got->rank, got->dims);
    if (!t) return status_new(XT_INVALID_ARGUMENT, NULL, "an array's shape is not valid");
    array a = {t, got->data}, b = {t, want->data};
    int64_t first = -1, bad = 0;
    for (int64_t i = 0; i < t->count; i++) {
        if (element_near(&a, &b, i, rtol, atol)) continue;
        if (first < 0) first = i;
        bad++;
    }
    if (!bad) return NULL;
    str index = STR_INIT;
    int64_t stride = t->count, rest = first;
    for (uint32_t d = 0; d < t->rank; d++) {
        stride /= t->dims[d];
        str_printf(&index, d ? ", %lld" : "%lld", (long long)(rest / stride));
        rest %= stride;
    }
    xt_status s = status_new(XT_FAILED_PRECONDITION, NULL,
                             "%lld of %lld elements differ; the first, [%s], is %.9g, expected %.9g", (long long)bad,
                             (long long)t->count, str_cstr(&index), array_get(&a, first), array_get(&b, first));
    str_free(&index);
    return s;
}
