/* Products with matrices that are narrower in memory than in the sum: a dot_general of f32 rows with what a program
 * makes of bf16, f16, or of integers of 8 or 4 bits with a factor for each group, becomes one call that reads the
 * narrow matrix (vector/narrow.h). The wide matrix is then never in memory. What is recognised is what such programs
 * say in StableHLO's own words, whoever wrote them:
 *
 *     convert(W)                                              W [rows,depth] bf16 or f16
 *     reshape(convert(Q) * broadcast(F))                      Q [rows,groups,group] i8, F [rows,groups] f32
 *     reshape((convert(concatenate(Q & 15, Q >> 4)) - 8) * broadcast(F))      Q [rows,groups,group/2] u8
 *
 * each through transposes on its way to the product. Of bf16 and f16 there are batches too: rows of each batch element
 * with a matrix of its own, as queries meet keys and values.
 *
 * Many rows of x stay with the kernels of large products, for which a wide copy of the matrix costs little beside the
 * sums. Of integers each product makes copies of its own, of some rows of the matrix at a time (a tile), so that at no
 * time more than a tile is wide: a backward pass multiplies by the matrices of the forward one, and would keep all of
 * them. Where XT_CPU_ROUNDED_PRODUCTS says so, as xtrain generate does, many rows of x meet integers as integers
 * (vector/grouped.h), in the same call as few, and bf16 as bf16. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/stages.h"
#include "cpu/vector/grouped.h"
#include "cpu/vector/simd.h"
#include "pass/pass.h"

enum { MOST_ROWS = 32, LEAST_DEPTH = 16, GROUP_UNIT = 32 };
enum { TILE = 1 << 22, TILE_UNIT = 16 }; /* numbers of a wide tile at most; its rows are so many times so many */

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

/* A product of rows with a matrix: no batch, one dim summed, the last of the rows. */
static bool is_product(const ir_op *op, int64_t *out_depth) {
    size_t nb, nl, nr;
    if (op->code != OP_dot_general) return false;
    const ir_type *x = op->in[0]->type, *w = op->in[1]->type;
    ir_get_ints(op, IR_A_lhs_batching_dimensions, &nb);
    const int64_t *l = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &nl),
                  *r = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nr);
    if (nb || nl != 1 || nr != 1 || w->rank != 2 || x->rank < 1 || l[0] != (int64_t)x->rank - 1) return false;
    *out_depth = r[0];
    return x->dtype == w->dtype && x->dims[l[0]] >= LEAST_DEPTH && x->count > 0 && w->count > 0;
}
static bool is_f32(const ir_op *op) {
    return op->in[0]->type->dtype == XT_F32 && op->out[0].type->dtype == XT_F32;
}
static bool has_few_rows(const ir_op *op) {
    const ir_type *x = op->in[0]->type;
    return is_f32(op) && x->count / x->dims[x->rank - 1] <= MOST_ROWS;
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

/* --- batches --- */
typedef struct narrow_batch {
    ir_value *matrix; /* [batch...,rows,depth], across [batch...,depth,rows] */
    bool across;
    int64_t n, m, rows, depth;
} narrow_batch;

/* Through transposes in front of v, whose dims dims[0..n) are then those of what is returned. */
static ir_value *dims_through_transposes(ir_value *v, int64_t *dims, int n) {
    size_t rank;
    for (ir_value *of; (of = operand_of(v, OP_transpose, 0)); v = of) {
        const int64_t *permutation = ir_get_ints(v->def, IR_A_permutation, &rank);
        for (int i = 0; i < n; i++) dims[i] = permutation[dims[i]];
    }
    return v;
}

/* A product of x [batch...,m...,depth] with convert(W), through transposes, which has the batch's dims in front too. */
static bool find_batch(const ir_op *op, narrow_batch *out) {
    size_t nb, nl, nr;
    if (op->code != OP_dot_general || !is_f32(op)) return false;
    const ir_type *x = op->in[0]->type, *w = op->in[1]->type;
    const int64_t *lb = ir_get_ints(op, IR_A_lhs_batching_dimensions, &nb),
                  *rb = ir_get_ints(op, IR_A_rhs_batching_dimensions, &nb),
                  *l = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &nl),
                  *r = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nr);
    if (!nb || nl != 1 || nr != 1 || w->rank != nb + 2 || l[0] != (int64_t)x->rank - 1 || !x->count || !w->count)
        return false;
    int64_t dims[XT_MAX_RANK]; /* the batch's and the sum's, in W */
    for (size_t i = 0; i < nb; i++) {
        if (lb[i] != (int64_t)i) return false;
        dims[i] = rb[i];
    }
    dims[nb] = r[0];
    ir_value *half = dims_through_transposes(op->in[1], dims, (int)nb + 1);
    if (!(half = operand_of(half, OP_convert, 0)) || (half->type->dtype != XT_BF16 && half->type->dtype != XT_F16))
        return false;
    half = dims_through_transposes(half, dims, (int)nb + 1);
    *out = (narrow_batch){.matrix = half, .n = 1, .depth = x->dims[l[0]], .across = dims[nb] == (int64_t)nb};
    for (size_t i = 0; i < nb; i++) {
        if (dims[i] != (int64_t)i) return false;
        out->n *= x->dims[i];
    }
    out->m = x->count / out->n / out->depth;
    out->rows = w->count / out->n / out->depth;
    return out->m <= MOST_ROWS && (out->across ? out->rows : out->depth) >= LEAST_DEPTH;
}

static xt_status replace_batch(ir_module *m, ir_op *op, const narrow_batch *w) {
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    const int64_t first = w->across ? w->depth : w->rows, second = w->across ? w->rows : w->depth;
    ir_value *in[2] = {ir_reshape(&b, op->in[0], 3, (int64_t[]){w->n, w->m, w->depth}),
                       ir_reshape(&b, w->matrix, 3, (int64_t[]){w->n, first, second})};
    ir_attr name =
        ir_attr_string(&b, IR_A_call_target_name, w->across ? "xtrain_narrow_across" : "xtrain_narrow_batch");
    const ir_type *type = ir_tensor(XT_F32, 3, (int64_t[]){w->n, w->m, w->rows});
    ir_op *call = in[0] && in[1] && type ? ir_build(&b, OP_custom_call, 2, in, 1, &name, 0, NULL, 1, &type) : NULL;
    ir_value *all = call ? ir_reshape(&b, &call->out[0], op->out[0].type->rank, op->out[0].type->dims) : NULL;
    if (!all) return b.status ? b.status : status_oom(0, "a product");
    ir_replace_uses(m, &op->out[0], all);
    return NULL;
}

/* --- many rows: tiles --- */
/* The integers behind an operand, which may be rounded to its own dtype; *depth as in through_transposes. */
static bool find_tiled(ir_value *v, int64_t *depth, narrow *out) {
    *out = (narrow){0};
    v = through_transposes(v, depth);
    if (v->type->dtype == XT_BF16 || v->type->dtype == XT_F16) {
        ir_value *wide = operand_of(v, OP_convert, 0);
        if (!wide) return false;
        v = through_transposes(wide, depth);
    }
    return v->type->dtype == XT_F32 && find_integers(v, out);
}

static ir_value *rows_of(ir_builder *b, ir_value *v, int64_t dim, int64_t begin, int64_t end) {
    int64_t start[XT_MAX_RANK] = {0}, limit[XT_MAX_RANK], stride[XT_MAX_RANK];
    for (uint32_t i = 0; i < v->type->rank; i++) {
        limit[i] = v->type->dims[i];
        stride[i] = 1;
    }
    start[dim] = begin;
    limit[dim] = end;
    return ir_slice(b, v, start, limit, stride);
}

/* Rows [begin,end) of the matrix [rows,depth], as `dtype`. */
static ir_value *wide_rows(ir_builder *b, const narrow *w, int64_t depth, int64_t begin, int64_t end, xt_dtype dtype) {
    bool nibbles = w->matrix->type->dtype == XT_U8;
    const int64_t *dims = w->matrix->type->dims;
    ir_value *q = rows_of(b, w->matrix, 0, begin, end), *f = ir_reshape(b, w->factors, 2, dims);
    if (nibbles && q) {
        ir_value *parts[2] = {ir_and(b, q, ir_splat(b, q->type, 15)),
                              ir_shift_right_logical(b, q, ir_splat(b, q->type, 4))};
        q = ir_concatenate(b, 2, parts, 2);
    }
    ir_value *numbers = q ? ir_convert(b, q, XT_F32) : NULL;
    if (!numbers || !f) return NULL;
    if (nibbles) numbers = ir_subtract(b, numbers, ir_splat(b, numbers->type, 8));
    f = rows_of(b, f, 0, begin, end);
    f = f ? ir_broadcast_in_dim(b, f, numbers->type, 2, (int64_t[]){0, 1}) : NULL;
    ir_value *wide = f ? ir_reshape(b, ir_multiply(b, numbers, f), 2, (int64_t[]){end - begin, depth}) : NULL;
    return wide && dtype != XT_F32 ? ir_convert(b, wide, dtype) : wide;
}

/* x [...,depth] or, where the matrix lies the other way, [...,rows]: the tiles' results are parts of the result, or add
 * up to it. */
static xt_status tile(ir_module *m, ir_op *op, const narrow *w, bool adds) {
    const ir_type *x = op->in[0]->type, *out = op->out[0].type;
    int64_t last = (int64_t)x->rank - 1, rows = w->matrix->type->dims[0];
    int64_t depth = adds ? out->dims[out->rank - 1] : x->dims[last];
    int64_t each = TILE / depth / TILE_UNIT * TILE_UNIT, of_matrix = adds ? 0 : 1;
    if (each < TILE_UNIT) each = TILE_UNIT;
    size_t n = 0, most = (size_t)((rows - 1) / each + 1);
    ir_builder b = ir_before(m, op);
    ir_value **parts = base_malloc(most * sizeof *parts), *sum = NULL;
    if (!parts) return status_oom(most * sizeof *parts, "a product in tiles");
    b.src = op->src;
    b.path = op->path;
    for (int64_t begin = 0; begin < rows && n < most; begin += each) {
        int64_t end = begin + each < rows ? begin + each : rows;
        ir_value *wide = wide_rows(&b, w, depth, begin, end, x->dtype);
        ir_value *in = adds ? rows_of(&b, op->in[0], last, begin, end) : op->in[0];
        ir_value *y =
            wide && in ? ir_dot_general(&b, in, wide, 0, NULL, NULL, 1, &last, &of_matrix, IR_PREC_DEFAULT) : NULL;
        if (!y) break;
        if (adds && y->type->dtype != XT_F32) y = ir_convert(&b, y, XT_F32);
        parts[n++] = y;
        sum = adds && sum ? ir_add(&b, sum, y) : y;
    }
    ir_value *all = n < most ? NULL
                    : adds   ? sum
                    : n == 1 ? parts[0]
                             : ir_concatenate(&b, n, parts, (int64_t)out->rank - 1);
    base_free(parts);
    if (all && all->type->dtype != out->dtype) all = ir_convert(&b, all, out->dtype);
    if (!all) return b.status ? b.status : status_oom(0, "a product in tiles");
    ir_replace_uses(m, &op->out[0], all);
    return NULL;
}

/* --- many rows: whole numbers --- */
static bool is_whole(const narrow *w) {
    if (!w->factors || !grouped_set_here()) return false;
    bool nibbles = w->matrix->type->dtype == XT_U8;
    return grouped_fits(nibbles ? NARROW_U4 : NARROW_I8, w->matrix->type->dims[2] * (nibbles ? 2 : 1));
}

/* x rounded to bf16, where the matrix is bf16 and the processor multiplies such numbers. */
static bool is_half_product(const ir_op *op, const narrow *w) {
    return !w->factors && w->matrix->type->dtype == XT_BF16 && !has_few_rows(op) && simd_has_bf16();
}
static xt_status round_rows(ir_module *m, ir_op *op, const narrow *w) {
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    const int64_t last = (int64_t)op->in[0]->type->rank - 1, along = 1;
    ir_value *in[2] = {ir_convert(&b, op->in[0], XT_BF16), w->matrix};
    ir_attr attrs[] = {ir_attr_ints(&b, IR_A_lhs_contracting_dimensions, 1, &last),
                       ir_attr_ints(&b, IR_A_rhs_contracting_dimensions, 1, &along)};
    ir_op *dot =
        in[0] ? ir_build(&b, OP_dot_general, 2, in, BASE_COUNT(attrs), attrs, 0, NULL, 1, &op->out[0].type) : NULL;
    if (!dot) return b.status ? b.status : status_oom(0, "a product");
    ir_replace_uses(m, &op->out[0], &dot->out[0]);
    return NULL;
}

static bool may_round(void) {
    static const char *const wishes[] = {"off", "on"};
    return env_choice("XT_CPU_ROUNDED_PRODUCTS", BASE_COUNT(wishes), wishes) == 1;
}

xt_status cpu_stage_narrow(cpu_builder *b) {
    ir_module *m = b->exec->module;
    ir_block *body = b->exec->main->body;
    const bool rounds = may_round();
    int64_t depth;
    narrow w;
    narrow_batch batch;
    for (ir_op *op = body->first; op; op = op->next) {
        if (find_batch(op, &batch)) {
            XT_TRY(replace_batch(m, op, &batch));
            b->exec->passes->changed = true;
            continue;
        }
        if (!is_product(op, &depth)) continue;
        if (is_f32(op) && find_matrix(op->in[1], depth, &w) && (has_few_rows(op) || (rounds && is_whole(&w))))
            XT_TRY(replace(m, op, &w));
        else if (rounds && is_f32(op) && find_matrix(op->in[1], depth, &w) && is_half_product(op, &w))
            XT_TRY(round_rows(m, op, &w));
        else if (find_tiled(op->in[1], &depth, &w))
            XT_TRY(tile(m, op, &w, depth == 0));
        else
            continue;
        b->exec->passes->changed = true;
    }
    if (b->exec->passes->changed) cpu_drop_dead(body);
    return NULL;
}
