/* Regions that only compare an operand's two elements, combine what comes out and choose by it mean the same for all
 * numbers that compare alike. So they are tried on each way an operand's two elements may compare: three, and for
 * floats NaN on either side or both. */
#include "cpu/kernel/region_order.h"

enum { MOST = 3, DEPTH = 16 };
typedef enum relation { LESS, EQUAL, GREATER, LEFT_NAN, RIGHT_NAN, BOTH_NAN, RELATIONS } relation;

typedef struct trial {
    const ir_block *b;
    size_t n;
    relation r[MOST];
    bool failed; /* met something that is not understood */
} trial;

static int argument(const trial *t, const ir_value *v) {
    for (size_t i = 0; i < 2 * t->n; i++)
        if (t->b->args[i] == v) return (int)i;
    return -1;
}

static relation mirrored(relation r) {
    static const relation other[RELATIONS] = {GREATER, EQUAL, LESS, RIGHT_NAN, LEFT_NAN, BOTH_NAN};
    return other[r];
}

static bool compares(trial *t, const ir_op *op) {
    int x = argument(t, op->in[0]), y = argument(t, op->in[1]), n = (int)t->n;
    if (x < 0 || y < 0 || x % n != y % n || ir_get_int(op, IR_A_compare_type, IR_CMP_FLOAT) == IR_CMP_TOTALORDER)
        return t->failed = true;
    relation r = t->r[x % n];
    if (x == y)
        r = r == BOTH_NAN || r == (x < n ? LEFT_NAN : RIGHT_NAN) ? BOTH_NAN : EQUAL;
    else if (x > y)
        r = mirrored(r);
    switch ((int)ir_get_int(op, IR_A_comparison_direction, IR_EQ)) {
    case IR_EQ: return r == EQUAL;
    case IR_NE: return r != EQUAL;
    case IR_LT: return r == LESS;
    case IR_LE: return r == LESS || r == EQUAL;
    case IR_GT: return r == GREATER;
    case IR_GE: return r == GREATER || r == EQUAL;
    default: return t->failed = true;
    }
}

static bool is_true(trial *t, const ir_value *v, int depth) {
    const ir_op *op = v->def;
    if (!op || depth > DEPTH || v->type->dtype != XT_BOOL) return t->failed = true;
    if (op->code == OP_compare) return compares(t, op);
    if (op->code == OP_not) return !is_true(t, op->in[0], depth + 1);
    if (op->code != OP_and && op->code != OP_or && op->code != OP_xor) return t->failed = true;
    /* both: either may be of a kind that is not known */
    bool a = is_true(t, op->in[0], depth + 1), b = is_true(t, op->in[1], depth + 1);
    return op->code == OP_and ? a && b : op->code == OP_or ? a || b : a != b;
}

/* The argument that v is. */
static int chosen(trial *t, const ir_value *v, int depth) {
    int a = argument(t, v);
    const ir_op *op = v->def;
    if (a >= 0) return a;
    if (!op || depth > DEPTH || op->code != OP_select) return t->failed = true;
    return chosen(t, op->in[is_true(t, op->in[0], depth + 1) ? 1 : 2], depth + 1);
}

static bool symmetric(trial *t, const ir_op *last) {
    for (size_t j = 0; j < t->n; j++) {
        relation r = t->r[j];
        int a = chosen(t, last->in[j], 0);
        if (t->failed || a % (int)t->n != (int)j) return false;
        bool left = a < (int)t->n;
        if (r == LEFT_NAN || r == RIGHT_NAN) {
            if (left != (r == LEFT_NAN)) return false; /* a NaN is lost, and nobody would know */
            continue;
        }
        bool nan = false;
        for (size_t k = 0; k < t->n; k++) nan = nan || t->r[k] > GREATER;
        if (nan || r == EQUAL) continue;
        for (size_t k = 0; k < t->n; k++) t->r[k] = mirrored(t->r[k]);
        int b = chosen(t, last->in[j], 0);
        for (size_t k = 0; k < t->n; k++) t->r[k] = mirrored(t->r[k]);
        if (t->failed || a == b) return false;
    }
    return true;
}

static bool chooses(const ir_block *b, size_t n) {
    trial t = {.b = b, .n = n};
    if (n > MOST) return false;
    for (;;) {
        if (!symmetric(&t, b->last)) return false;
        size_t k = 0;
        for (; k < n; k++) {
            relation end = ir_dtype_is_float(b->args[k]->type->dtype) ? RELATIONS : LEFT_NAN;
            if (++t.r[k] < end) break;
            t.r[k] = LESS;
        }
        if (k == n) return true;
    }
}

region_order region_order_of(const ir_block *b, size_t n) {
    const ir_op *last = b ? b->last : NULL;
    if (!last || b->n_args != 2 * n || last->n_in != n) return ORDER_KEPT;
    bool commutes = true;
    for (size_t j = 0; j < n && commutes; j++) {
        const ir_op *o = last->in[j]->def;
        commutes = o && o->n_in == 2 && (ir_op_infos[o->code].flags & IR_COMMUTES) &&
                   ((o->in[0] == b->args[j] && o->in[1] == b->args[n + j]) ||
                    (o->in[1] == b->args[j] && o->in[0] == b->args[n + j]));
    }
    return commutes ? ORDER_ANY : chooses(b, n) ? ORDER_SPECIAL : ORDER_KEPT;
}
