/* Rules of elementwise ops: what the element type may be, and that shapes are equal. */
#include "ir/infer.h"

enum { BOOLEAN = 1, INTEGER = 2, UNSIGNED_TOO = 4, FLOATING = 8, COMPLEX = 16 };

static bool dtype_in(xt_dtype t, unsigned set) {
    if (t == XT_BOOL) return set & BOOLEAN;
    if (ir_dtype_is_int(t)) return (set & INTEGER) && ((set & UNSIGNED_TOO) || ir_dtype_is_signed(t));
    if (ir_dtype_is_float(t)) return set & FLOATING;
    return ir_dtype_is_complex(t) && (set & COMPLEX);
}

/* The operand's element type belongs to the op's class; `i` counts from 0. */
static xt_status check_class(const ir_op *op, size_t i, unsigned set, const char *expected) {
    xt_dtype t = infer_in(op, i)->dtype;
    if (dtype_in(t, set)) return NULL;
    return infer_fail(op, -(int)(i + 1), "element type is %s, expected %s", ir_dtype_mlir(t), expected);
}

static xt_status unary(const ir_op *op, const ir_type **out, size_t *n_out, unsigned set, const char *expected) {
    XT_TRY(check_class(op, 0, set, expected));
    return infer_one(out, n_out, infer_in(op, 0));
}

RULE(unary_float) {
    return unary(op, out, n_out, FLOATING, "a float");
}
RULE(unary_float_complex) {
    return unary(op, out, n_out, FLOATING | COMPLEX, "a float or complex; convert integers first");
}
RULE(unary_int) {
    return unary(op, out, n_out, INTEGER | UNSIGNED_TOO, "an integer");
}
RULE(unary_bits) {
    return unary(op, out, n_out, BOOLEAN | INTEGER | UNSIGNED_TOO, "i1 or an integer");
}
RULE(unary_number) {
    return unary(op, out, n_out, INTEGER | UNSIGNED_TOO | FLOATING | COMPLEX, "an integer, float or complex");
}
RULE(unary_signed) {
    return unary(op, out, n_out, INTEGER | FLOATING | COMPLEX, "a signed integer, float or complex");
}

static xt_dtype real_of(xt_dtype t) {
    return t == XT_C64 ? XT_F32 : t == XT_C128 ? XT_F64 : t;
}

static xt_status with_dtype(const ir_op *op, xt_dtype t, const ir_type **out, size_t *n_out) {
    const ir_type *x = infer_in(op, 0);
    if (t == x->dtype) return infer_one(out, n_out, x);
    return infer_one_tensor(op, t, x->rank, x->dims, out, n_out);
}

RULE(abs) {
    XT_TRY(check_class(op, 0, INTEGER | FLOATING | COMPLEX, "a signed integer, float or complex"));
    return with_dtype(op, real_of(infer_in(op, 0)->dtype), out, n_out);
}

RULE(real_imag) {
    XT_TRY(check_class(op, 0, FLOATING | COMPLEX, "a float or complex"));
    return with_dtype(op, real_of(infer_in(op, 0)->dtype), out, n_out);
}

RULE(is_finite) {
    XT_TRY(check_class(op, 0, FLOATING, "a float"));
    return with_dtype(op, XT_BOOL, out, n_out);
}

RULE(convert) {
    XT_TRY(infer_need_stated(op, 1));
    const ir_type *t = infer_stated(op, 0), *x = infer_in(op, 0);
    if (t->kind != IR_TENSOR || !infer_same_shape(t, x))
        return infer_fail(op, 1, "the result must have the operand's shape");
    return infer_one(out, n_out, t);
}

RULE(reduce_precision) {
    int64_t exponent, mantissa;
    XT_TRY(check_class(op, 0, FLOATING, "a float"));
    XT_TRY(infer_int(op, IR_A_exponent_bits, &exponent));
    XT_TRY(infer_int(op, IR_A_mantissa_bits, &mantissa));
    if (exponent < 1) return infer_fail(op, 2, "exponent_bits is %lld, expected at least 1", (long long)exponent);
    if (mantissa < 0) return infer_fail(op, 3, "mantissa_bits is %lld, expected at least 0", (long long)mantissa);
    return infer_one(out, n_out, infer_in(op, 0));
}

static xt_status binary(const ir_op *op, const ir_type **out, size_t *n_out, unsigned set, const char *expected) {
    XT_TRY(check_class(op, 0, set, expected));
    *n_out = 1;
    return infer_merge(op, 1, infer_in(op, 0), infer_in(op, 1), out);
}

RULE(binary_any) {
    return binary(op, out, n_out, BOOLEAN | INTEGER | UNSIGNED_TOO | FLOATING | COMPLEX, "a number or i1");
}
RULE(binary_number) {
    return binary(op, out, n_out, INTEGER | UNSIGNED_TOO | FLOATING | COMPLEX, "an integer, float or complex");
}
RULE(binary_float_complex) {
    return binary(op, out, n_out, FLOATING | COMPLEX, "a float or complex");
}
RULE(binary_float) {
    return binary(op, out, n_out, FLOATING, "a float");
}
RULE(binary_int) {
    return binary(op, out, n_out, INTEGER | UNSIGNED_TOO, "an integer");
}
RULE(binary_bits) {
    return binary(op, out, n_out, BOOLEAN | INTEGER | UNSIGNED_TOO, "i1 or an integer");
}

RULE(complex) {
    const ir_type *t;
    XT_TRY(infer_merge(op, 1, infer_in(op, 0), infer_in(op, 1), &t));
    if (t->dtype != XT_F32 && t->dtype != XT_F64)
        return infer_fail(op, -1, "element type is %s, expected f32 or f64", ir_dtype_mlir(t->dtype));
    return infer_one_tensor(op, t->dtype == XT_F32 ? XT_C64 : XT_C128, t->rank, t->dims, out, n_out);
}

/* The comparison types that fit an element type; NOTYPE fits all. */
static bool compare_type_fits(ir_cmp_type c, xt_dtype t) {
    switch (c) {
    case IR_CMP_NOTYPE: return true;
    case IR_CMP_FLOAT: return ir_dtype_is_float(t) || ir_dtype_is_complex(t);
    case IR_CMP_TOTALORDER: return ir_dtype_is_float(t);
    case IR_CMP_SIGNED: return ir_dtype_is_int(t) && ir_dtype_is_signed(t);
    case IR_CMP_UNSIGNED: return t == XT_BOOL || (ir_dtype_is_int(t) && !ir_dtype_is_signed(t));
    }
    return false;
}

RULE(compare) {
    const ir_type *x = infer_in(op, 0), *y = infer_in(op, 1), *t;
    int64_t dir;
    XT_TRY(infer_int(op, IR_A_comparison_direction, &dir));
    if (x->dtype != y->dtype) XT_TRY(infer_merge(op, 1, x, y, &t));
    XT_TRY(infer_merge(op, 2, x, y, &t));
    int64_t type = ir_get_int(op, IR_A_compare_type, IR_CMP_NOTYPE);
    if (!compare_type_fits((ir_cmp_type)type, x->dtype))
        return infer_fail(op, 3, "compare_type %s does not fit element type %s", ir_enum_name(IR_A_compare_type, type),
                          ir_dtype_mlir(x->dtype));
    return infer_one_tensor(op, XT_BOOL, t->rank, t->dims, out, n_out);
}

RULE(clamp) {
    const ir_type *lo = infer_in(op, 0), *x = infer_in(op, 1), *hi = infer_in(op, 2);
    if (lo->rank && !infer_same_shape(lo, x))
        return infer_fail(op, 1, "min must be a scalar or have the operand's shape");
    if (hi->rank && !infer_same_shape(hi, x))
        return infer_fail(op, 2, "max must be a scalar or have the operand's shape");
    if (lo->dtype != x->dtype || hi->dtype != x->dtype)
        return infer_fail(op, 3, "min, operand and max must have the same element type");
    return infer_one(out, n_out, x);
}

RULE(select) {
    const ir_type *pred = infer_in(op, 0), *t;
    if (pred->dtype != XT_BOOL)
        return infer_fail(op, -1, "the predicate must be i1, it is %s", ir_dtype_mlir(pred->dtype));
    XT_TRY(infer_merge(op, 2, infer_in(op, 1), infer_in(op, 2), &t));
    if (pred->rank && !infer_same_shape(pred, t))
        return infer_fail(op, 1, "the predicate must be a scalar or have the shape of what it selects");
    return infer_one(out, n_out, t);
}

RULE(identity) {
    return infer_one(out, n_out, infer_in(op, 0));
}
