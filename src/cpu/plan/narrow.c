/* Products with matrices that are narrower in memory than in the sum: a dot_general of f32 rows with what a program
 * makes of bf16, f16, or of integers of 8 or 4 bits with a factor for each group, becomes one call that reads the
 * narrow matrix (vector/narrow.h). The wide matrix is then never in memory. What is recognised is what such programs
 * say in StableHLO's own words, whoever wrote them:
 *
 *     convert(W)                                              W [rows,depth] bf16 or f16
 *     reshape(convert(Q) * broadcast(F))                      Q [rows,groups,group] i8, F [rows,groups] f32
 *     reshape((convert(concatenate(Q & 15, Q >> 4)) - 8) * broadcast(F))      Q [rows,groups,group/2] u8
 *
 * each through transposes on its way to the product. Many rows of x stay with the kernels of large products, for which
 * one wide copy of the matrix costs little beside the sums. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/stages.h"
#include "pass/pass.h"

enum { MOST_ROWS = 32, LEAST_DEPTH = 16, GROUP_UNIT = 32 };

typedef struct narrow {
    ir_value *matrix, *factors; /* factors: NULL for floats */
} narrow;

static ir_value *operand_of(const ir_value *v, ir_opcode code, uint32_t i) {
    return v && v->def && v->def->code == code ? v->def->in[i] : NULL;
}

static bool is_splat(const ir_value *v, double want) {
    double is;
    return ir_is_constant(v, &is) && is == want;
}

/* Through transposes of a matrix; *depth is the dim of the sum. */
static ir_value *through_transposes(ir_value *v, int64_t *depth) {
    size_t n;
    for (ir_value *of; v->type->rank == 2 && (of = operand_of(v, OP_transpose, 0)); v = of)
        *depth = ir_get_ints(v->def, IR_A_permutation, &n)[*depth];
    return v;
}

/* F [rows,groups], as [rows,groups,group]. */
static ir_value *factors_of(ir_value *v, const ir_type *groups) {
    size_t n;
    ir_value *f = operand_of(v, OP_broadcast_in_dim, 0), *inner;
    if (!f || f->type->dtype != XT_F32) return NULL;
    const int64_t *dims = ir_get_ints(v->def, IR_A_broadcast_dimensions, &n);
    for (size_t i = 0; i < n; i++)
        if (dims[i] != (int64_t)i) return NULL;
    if (f->type->count != groups->dims[0] * groups->dims[1]) return NULL;
    while ((inner = operand_of(f, OP_reshape, 0))) f = inner;
    return f;
}

/* What makes bytes of 4-bit integers of [rows,groups,group] ones. */
static ir_value *nibbles_of(ir_value *v) {
    if (!v->def || v->def->code != OP_concatenate || v->def->n_in != 2 || v->type->dtype != XT_U8 ||
        ir_get_int(v->def, IR_A_dimension, 0) != 2)
        return NULL;
    ir_value *low = v->def->in[0], *high = v->def->in[1], *q = operand_of(low, OP_and, 0);
    if (!q || operand_of(high, OP_shift_right_logical, 0) != q) return NULL;
    return is_splat(low->def->in[1], 15) && is_splat(high->def->in[1], 4) ? q : NULL;
}

static bool find_integers(ir_value *wide, narrow *out) {
    ir_value *product = operand_of(wide, OP_reshape, 0);
    if (!product || !product->def || product->def->code != OP_multiply || product->type->rank != 3) return false;
    const int64_t *dims = product->type->dims;
    if (wide->type->dims[0] != dims[0] || dims[2] % GROUP_UNIT) return false;
    for (uint32_t i = 0; i < 2; i++) {
        ir_value *numbers = product->def->in[i], *less = operand_of(numbers, OP_subtract, 0);
        if (!(out->factors = factors_of(product->def->in[1 - i], product->type))) continue;
        ir_value *q = operand_of(less ? less : numbers, OP_convert, 0);
        if (less && (!is_splat(numbers->def->in[1], 8) || !q)) continue;
        if (q && (out->matrix = less ? nibbles_of(q) : q->type->dtype == XT_I8 ? q : NULL)) return true;
    }
    return false;
}

/* The narrow matrix [rows,depth] that v is made of. */
static bool find_matrix(ir_value *v, int64_t depth, narrow *out) {
    *out = (narrow){0};
    v = through_transposes(v, &depth);
    ir_value *half = operand_of(v, OP_convert, 0);
    if (half && (half->type->dtype == XT_BF16 || half->type->dtype == XT_F16)) {
        out->matrix = through_transposes(half, &depth);
        return depth == 1;
    }
    return depth == 1 && find_integers(v, out);
}

/* A product of f32 rows with a matrix: no batch, one dim summed, the last of the rows. */
static bool is_candidate(const ir_op *op, int64_t *out_depth) {
    size_t nb, nl, nr;
    if (op->code != OP_dot_general) return false;
    const ir_type *x = op->in[0]->type, *w = op->in[1]->type;
    ir_get_ints(op, IR_A_lhs_batching_dimensions, &nb);
    const int64_t *l = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &nl),
                  *r = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nr);
    if (nb || nl != 1 || nr != 1 || w->rank != 2 || x->rank < 1 || l[0] != (int64_t)x->rank - 1) return false;
    int64_t depth = x->dims[l[0]];
    *out_depth = r[0];
    return x->dtype == XT_F32 && w->dtype == XT_F32 && op->out[0].type->dtype == XT_F32 && depth >= LEAST_DEPTH &&
           x->count > 0 && x->count / depth <= MOST_ROWS && w->count > 0;
}

static xt_status replace(ir_module *m, ir_op *op, const narrow *w) {
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *in[3] = {op->in[0], w->matrix, w->factors};
    ir_attr name = ir_attr_string(&b, IR_A_call_target_name, "xtrain_narrow_product");
    ir_op *call = ir_build(&b, OP_custom_call, w->factors ? 3 : 2, in, 1, &name, 0, NULL, 1, &op->out[0].type);
    if (!call) return b.status ? b.status : status_oom(0, "a product");
    ir_replace_uses(m, &op->out[0], &call->out[0]);
    return NULL;
}

xt_status cpu_stage_narrow(cpu_builder *b) {
    ir_module *m = b->exec->module;
    ir_block *body = b->exec->main->body;
    int64_t depth;
    narrow w;
    for (ir_op *op = body->first; op; op = op->next) {
        if (!is_candidate(op, &depth) || !find_matrix(op->in[1], depth, &w)) continue;
        XT_TRY(replace(m, op, &w));
        b->exec->passes->changed = true;
    }
    if (b->exec->passes->changed) cpu_drop_dead(body);
    return NULL;
}
