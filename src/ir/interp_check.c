/* The assertions of the StableHLO project's tests: check.expect_eq and its relatives, as ops or as custom calls of the
 * same name, and interpreter.print. A failed one is an error that names the first element that differs. */
#include "ir/interp_int.h"

#include <inttypes.h>
#include <math.h>

static void print_element(const array *a, int64_t i, str *out) {
    xt_dtype t = a->type->dtype;
    const char *at = (const char *)a->data + (size_t)i * xt_dtype_size(t);
    double v[2];
    if (t == XT_U64) {
        str_printf(out, "%" PRIu64, *(const uint64_t *)at);
    } else if (ir_dtype_is_int(t)) {
        int64_t n;
        convert_elems(1, t, at, XT_I64, &n);
        str_printf(out, "%" PRId64, n);
    } else if (ir_dtype_is_complex(t)) {
        convert_elems(1, t, at, XT_C128, v);
        str_printf(out, "(%.17g, %.17g)", v[0], v[1]);
    } else if (t == XT_BOOL) {
        str_append(out, *at ? "true" : "false");
    } else {
        str_printf(out, "%.17g", array_get(a, i));
    }
}

static xt_status mismatch(const char *what, const array *got, const array *want, int64_t i, const char *rule) {
    str text = STR_INIT;
    int64_t index[INTERP_MAX_RANK], rest = i;
    for (uint32_t d = got->type->rank; d-- > 0;) {
        index[d] = rest % got->type->dims[d];
        rest /= got->type->dims[d];
    }
    for (uint32_t d = 0; d < got->type->rank; d++) str_printf(&text, d ? ", %lld" : "%lld", (long long)index[d]);
    str values = STR_INIT;
    print_element(got, i, &values);
    str_append(&values, ", expected ");
    print_element(want, i, &values);
    xt_status s = status_new(XT_FAILED_PRECONDITION, NULL, "%s: element [%s] is %s%s", what, str_cstr(&text),
                             str_cstr(&values), rule);
    str_free(&text);
    str_free(&values);
    return s;
}

/* Equal as numbers: -0 equals +0, and NaN equals NaN whatever its bits, since no op says which NaN it gives. */
static bool equal_at(const array *a, const array *b, int64_t i) {
    size_t size = xt_dtype_size(a->type->dtype);
    const char *x = (const char *)a->data + (size_t)i * size, *y = (const char *)b->data + (size_t)i * size;
    double u[2], v[2];
    if (!ir_dtype_is_float(a->type->dtype) && !ir_dtype_is_complex(a->type->dtype)) return memcmp(x, y, size) == 0;
    convert_elems(1, a->type->dtype, x, XT_C128, u);
    convert_elems(1, b->type->dtype, y, XT_C128, v);
    return (u[0] == v[0] || (isnan(u[0]) && isnan(v[0]))) && (u[1] == v[1] || (isnan(u[1]) && isnan(v[1])));
}

static bool near(double a, double b, double tolerance) {
    if (a == b || (isnan(a) && isnan(b))) return true;
    return isfinite(a) && isfinite(b) && fabs(a - b) <= tolerance;
}

static bool near_at(const array *a, const array *b, int64_t i, double tolerance) {
    double u[2], v[2];
    size_t size = xt_dtype_size(a->type->dtype);
    convert_elems(1, a->type->dtype, (const char *)a->data + (size_t)i * size, XT_C128, u);
    convert_elems(1, b->type->dtype, (const char *)b->data + (size_t)i * size, XT_C128, v);
    return near(u[0], v[0], tolerance) && near(u[1], v[1], tolerance);
}

/* Representable numbers between two floats of `size` bytes each; parts that are both NaN are 0 apart. */
static uint64_t ulps(const char *x, const char *y, size_t size, xt_dtype part) {
    double a, b;
    uint64_t u = 0, v = 0;
    convert_elems(1, part, x, XT_F64, &a);
    convert_elems(1, part, y, XT_F64, &b);
    memcpy(&u, x, size);
    memcpy(&v, y, size);
    if (u == v || (isnan(a) && isnan(b))) return 0;
    if (!isfinite(a) || !isfinite(b)) return UINT64_MAX;
    uint64_t sign = 1ull << (8 * size - 1), p = u & (sign - 1), q = v & (sign - 1);
    if ((u & sign) != (v & sign)) return p + q;
    return p > q ? p - q : q - p;
}

static uint64_t ulps_at(const array *a, const array *b, int64_t i) {
    xt_dtype t = a->type->dtype, part = t == XT_C64 ? XT_F32 : t == XT_C128 ? XT_F64 : t;
    size_t size = xt_dtype_size(t), half = xt_dtype_size(part);
    const char *x = (const char *)a->data + (size_t)i * size, *y = (const char *)b->data + (size_t)i * size;
    uint64_t most = 0;
    for (size_t k = 0; k < size; k += half) {
        uint64_t u = ulps(x + k, y + k, half, part);
        if (u > most) most = u;
    }
    return most;
}

enum { EXACT, NEAR, CLOSE };

static xt_status compare_arrays(const char *what, const ir_op *op, int mode, const array *got, const array *want) {
    if (got->type != want->type)
        return status_new(XT_FAILED_PRECONDITION, NULL, "%s: the two sides have different types", what);
    const ir_attr *tol = ir_attr_find(op, IR_A_tolerance);
    double tolerance = tol && tol->kind == IR_AK_FLOAT ? tol->v.f : 1e-3;
    uint64_t least = (uint64_t)ir_get_int(op, IR_A_min_ulp_difference, 0),
             most = (uint64_t)ir_get_int(op, IR_A_max_ulp_difference, 3);
    bool floats = ir_dtype_is_float(got->type->dtype) || ir_dtype_is_complex(got->type->dtype);
    for (int64_t i = 0; i < got->type->count; i++) {
        char rule[64] = "";
        bool ok;
        if (mode == EXACT || !floats) {
            ok = equal_at(got, want, i);
        } else if (mode == NEAR) {
            ok = near_at(got, want, i, tolerance);
            snprintf(rule, sizeof rule, " within %g", tolerance);
        } else {
            uint64_t u = ulps_at(got, want, i);
            ok = u >= least && u <= most;
            snprintf(rule, sizeof rule, ": %" PRIu64 " ulp apart, allowed %" PRIu64 " to %" PRIu64, u, least, most);
        }
        if (!ok) return mismatch(what, got, want, i, rule);
    }
    return NULL;
}

static xt_status print_value(const array *a) {
    str text = STR_INIT;
    ir_type_print(a->type, &text);
    str_append(&text, " {");
    for (int64_t i = 0; i < a->type->count; i++) {
        str_append(&text, i ? ", " : "");
        print_element(a, i, &text);
    }
    str_append(&text, "}");
    log_msg(XT_SEV_INFO, "%s", str_cstr(&text));
    str_free(&text);
    return NULL;
}

/* The older check.eq does not fail: it answers. */
static xt_status answer(const ir_op *op, xt_status difference, array *out) {
    if (!op->n_out) return difference;
    for (int64_t i = 0; i < out[0].type->count; i++) array_set(&out[0], i, difference ? 0 : 1);
    xt_status_free(difference);
    return NULL;
}

xt_status interp_check(interp *c, const ir_op *op, const array *in, array *out) {
    const char *what =
        op->code == OP_custom_call ? ir_get_string(op, IR_A_call_target_name) : ir_op_infos[op->code].name;
    if (op->code == OP_interpreter_print) return print_value(&in[0]);
    if (strncmp(what, "check.", 6) == 0) what += 6;
    int mode = strstr(what, "almost") ? NEAR : strstr(what, "close") ? CLOSE : EXACT;
    const ir_literal *lit = ir_get_literal(op);
    if (op->n_in == 2) return answer(op, compare_arrays(what, op, mode, &in[0], &in[1]), out);
    if (op->n_in != 1 || !lit) return interp_unsupported(op, "a check of one value without a literal");
    array want;
    XT_TRY(array_new_raw(lit->type, &want));
    if (lit->splat)
        fill_elems(want.data, lit->type->count, lit->data, xt_dtype_size(lit->type->dtype));
    else
        memcpy(want.data, lit->data, ir_type_bytes(lit->type));
    xt_status s = compare_arrays(what, op, mode, &in[0], &want);
    array_free(&want);
    (void)c;
    return answer(op, s, out);
}
