/* See fold.h. */
#include "cpu/vector/fold.h"

bool cpu_fold_of(const ir_region *r, fold_op *out) {
    const ir_block *b = r->block;
    const ir_op *o = b ? b->first : NULL;
    if (!o || b->n_args != 2 || o->n_in != 2 || o->n_out != 1 || !o->next || o->next->n_in != 1 ||
        o->next->in[0] != &o->out[0])
        return false;
    if (!((o->in[0] == b->args[0] && o->in[1] == b->args[1]) || (o->in[0] == b->args[1] && o->in[1] == b->args[0])))
        return false;
    switch ((int)o->code) {
    case OP_add: *out = FOLD_SUM; return true;
    case OP_multiply: *out = FOLD_PROD; return true;
    case OP_maximum: *out = FOLD_MAX; return true;
    case OP_minimum: *out = FOLD_MIN; return true;
    default: return false;
    }
}

float cpu_fold_two(fold_op f, float a, float b) {
    if (f == FOLD_SUM) return a + b;
    if (f == FOLD_PROD) return a * b;
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return (f == FOLD_MAX) == !__builtin_signbit(a) ? a : b; /* -0 lies below +0 */
    return f == FOLD_MAX ? (a > b ? a : b) : (a < b ? a : b);
}
float cpu_fold_neutral(fold_op f) {
    static const float neutral[FOLD_COUNT] = {
        [FOLD_SUM] = 0.0f, [FOLD_PROD] = 1.0f, [FOLD_MAX] = -__builtin_inff(), [FOLD_MIN] = __builtin_inff()};
    return neutral[f];
}

static bool selects_by_ge(const ir_region *r) {
    const ir_block *b = r->block;
    const ir_op *o = b ? b->first : NULL;
    return o && o->code == OP_compare && b->n_args == 2 && o->in[0] == b->args[0] && o->in[1] == b->args[1] &&
           o->next && o->next->n_in == 1 && o->next->in[0] == &o->out[0] &&
           ir_get_int(o, IR_A_comparison_direction, IR_EQ) == IR_GE &&
           ir_get_int(o, IR_A_compare_type, IR_CMP_FLOAT) != IR_CMP_TOTALORDER;
}

bool cpu_selects_largest(const ir_op *op) {
    fold_op f;
    return selects_by_ge(&op->regions[0]) && cpu_fold_of(&op->regions[1], &f) && f == FOLD_SUM;
}
