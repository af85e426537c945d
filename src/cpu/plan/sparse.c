/* Products of sparse matrices, and messages along the edges of a graph, in StableHLO's own words: rows of a matrix are
 * gathered, multiplied by a number each, and added where they belong. Each such chain becomes one call
 * (vector/sparse.h), so that what is gathered, a row for each edge, is never in memory:
 *
 *     scatter(0 or an array, to, gather(x, from) * broadcast(weight))             sums
 *     reduce(gather(a, from) * gather(b, to), over a row, or a row's groups)      dots, what the weights' derivative is
 *
 * with factors in any order, the weights left out, or one for each of a row's leading dims (heads), and what is
 * gathered perhaps selected by a mask of edges, else zero: so derivatives leave out what lay outside. */
#include "cpu/plan/build_int.h"
#include "cpu/plan/stages.h"
#include "pass/pass.h"

typedef struct chain { /* factors of a product [edges, ...] */
    ir_value *x[2], *from[2]; /* what is gathered, and where */
    size_t n;
    ir_value *weight, *mask; /* the mask is of x[0] */
    int64_t groups; /* of the weight: so many numbers an edge */
} chain;

static ir_value *operand_of(const ir_value *v, ir_opcode code, uint32_t i) {
    return v && v->def && v->def->code == code ? v->def->in[i] : NULL;
}
static bool is_zero(const ir_value *v) {
    double is;
    return ir_is_constant(v, &is) && is == 0;
}
static bool are(const ir_op *op, ir_attr_key id, size_t want, const int64_t *list) {
    size_t n;
    const int64_t *is = ir_get_ints(op, id, &n);
    if (n != want) return false;
    for (size_t i = 0; i < n; i++)
        if (is[i] != (list ? list[i] : (int64_t)i + 1)) return false; /* NULL: 1, 2, ... */
    return true;
}

/* One index a slice, [edges] or [edges,1]. */
static bool are_places(const ir_op *op, const ir_value *v) {
    const ir_type *t = v->type;
    int64_t at = ir_get_int(op, IR_A_index_vector_dim, 0);
    if (t->dtype != XT_I32 && t->dtype != XT_I64) return false;
    return at == 1 && t->count > 0 && t->count <= INT32_MAX && (t->rank == 1 || (t->rank == 2 && t->dims[1] == 1));
}

static bool is_gather_of_rows(const ir_op *op) {
    if (op->code != OP_gather) return false;
    const ir_type *x = op->in[0]->type, *out = op->out[0].type;
    size_t n;
    const int64_t zero = 0, *sizes = ir_get_ints(op, IR_A_slice_sizes, &n);
    if (x->rank < 1 || out->rank != x->rank || n != x->rank || sizes[0] != 1) return false;
    for (uint32_t i = 1; i < x->rank; i++)
        if (sizes[i] != x->dims[i]) return false;
    return are_places(op, op->in[1]) && are(op, IR_A_offset_dims, x->rank - 1, NULL) &&
           are(op, IR_A_collapsed_slice_dims, 1, &zero) && are(op, IR_A_start_index_map, 1, &zero) &&
           are(op, IR_A_operand_batching_dims, 0, NULL);
}

/* Sums of updates. */
static bool is_sum_of_rows(const ir_op *op) {
    if (op->code != OP_scatter || op->n_in != 3) return false;
    const ir_type *out = op->out[0].type, *update = op->in[2]->type;
    const ir_block *b = op->regions[0].block;
    const ir_op *add = b ? b->first : NULL;
    const int64_t zero = 0;
    if (out->rank < 1 || update->rank != out->rank || out->count < 1 || b->n_args != 2 || !add || add->code != OP_add ||
        !add->next || add->next->n_in != 1 || add->next->in[0] != &add->out[0])
        return false;
    if (!((add->in[0] == b->args[0] && add->in[1] == b->args[1]) ||
          (add->in[0] == b->args[1] && add->in[1] == b->args[0])))
        return false;
    for (uint32_t i = 1; i < out->rank; i++)
        if (update->dims[i] != out->dims[i]) return false;
    return are_places(op, op->in[1]) && are(op, IR_A_update_window_dims, out->rank - 1, NULL) &&
           are(op, IR_A_inserted_window_dims, 1, &zero) && are(op, IR_A_scatter_dims_to_operand_dims, 1, &zero) &&
           are(op, IR_A_input_batching_dims, 0, NULL);
}

/* What v repeats along its last dims: the dims before them, of which there are *groups but the first. NULL: nothing. */
static ir_value *repeated(ir_value *v, int64_t *groups) {
    ir_value *of = operand_of(v, OP_broadcast_in_dim, 0), *inner;
    size_t n;
    uint32_t next = 0;
    if (!of) return NULL;
    const int64_t *dims = ir_get_ints(v->def, IR_A_broadcast_dimensions, &n);
    *groups = 1;
    for (size_t i = 0; i < n; i++) {
        if (of->type->dims[i] == 1 && v->type->dims[dims[i]] != 1) continue;
        while (next < (uint32_t)dims[i] && v->type->dims[next] == 1) next++; /* of one element: in any place */
        if (dims[i] != next) return NULL;
        if (next++ > 0) *groups *= of->type->dims[i];
    }
    if (of->type->count != v->type->dims[0] * *groups) return NULL;
    while ((inner = operand_of(of, OP_reshape, 0))) of = inner;
    return of;
}

static bool factor(ir_value *v, chain *c, ir_value *mask) {
    int64_t groups;
    ir_value *w, *m = operand_of(v, OP_select, 0);
    if (operand_of(v, OP_multiply, 0) && !mask) return factor(v->def->in[0], c, NULL) && factor(v->def->in[1], c, NULL);
    if (m) {
        if (mask || c->mask || !is_zero(v->def->in[2]) || !(m = repeated(m, &groups)) || groups != 1) return false;
        return factor(v->def->in[1], c, m);
    }
    if (v->def && is_gather_of_rows(v->def)) {
        size_t at = c->n++;
        if (at == 2) return false;
        if (mask && at == 1) c->x[1] = c->x[0], c->from[1] = c->from[0], at = 0;
        c->x[at] = v->def->in[0];
        c->from[at] = v->def->in[1];
        if (mask) c->mask = mask;
        return true;
    }
    if (mask || c->weight || !(w = repeated(v, &groups))) return false;
    c->weight = w;
    c->groups = groups;
    return true;
}

static bool is_float(const ir_type *t) {
    return t->dtype == XT_F32 || t->dtype == XT_F64 || t->dtype == XT_BF16;
}

static xt_status call(ir_module *m, ir_op *op, const char *target, size_t n, ir_value *const *in) {
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *all[6];
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (in[i]) all[count++] = in[i];
    ir_attr name = ir_attr_string(&b, IR_A_call_target_name, target);
    ir_op *made = ir_build(&b, OP_custom_call, (uint32_t)count, all, 1, &name, 0, NULL, 1, &op->out[0].type);
    if (!made) return b.status ? b.status : status_oom(0, "a sparse product");
    ir_replace_uses(m, &op->out[0], &made->out[0]);
    return NULL;
}

/* The product is made for the sum alone: else it is in memory anyhow. */
static xt_status sum(ir_module *m, ir_op *op, bool *out_done) {
    chain c = {.groups = 1};
    if (!is_sum_of_rows(op)) return NULL;
    ir_value *update = op->in[2];
    if (!is_float(op->out[0].type) || update->uses != 1 || !factor(update, &c, NULL) || c.n != 1) return NULL;
    *out_done = true;
    ir_value *begin = is_zero(op->in[0]) ? NULL : op->in[0];
    ir_value *in[] = {c.x[0], c.from[0], op->in[1], begin, c.weight, c.mask};
    return call(m, op, begin ? "xtrain_sparse_adds" : "xtrain_sparse_sums", BASE_COUNT(in), in);
}

/* A sum over the last dims, of all but [edges] or [edges, groups...]. */
static bool is_row_sum(const ir_op *op) {
    const ir_op *add =
        op->code == OP_reduce && op->n_in == 2 && op->regions[0].block ? op->regions[0].block->first : NULL;
    size_t n;
    const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
    if (!add || add->code != OP_add || add->next != op->regions[0].block->last || !is_zero(op->in[1])) return false;
    if (add->in[0] == add->in[1] || add->next->in[0] != &add->out[0] || add->in[0]->def || add->in[1]->def)
        return false;
    uint32_t kept = op->out[0].type->rank;
    for (size_t i = 0; i < n; i++)
        if (dims[i] < kept) return false;
    return kept > 0 && n > 0 && op->in[0]->type->count > 0;
}

static xt_status dot(ir_module *m, ir_op *op, bool *out_done) {
    chain c = {.groups = 1};
    if (op->code != OP_reduce || !is_row_sum(op)) return NULL;
    ir_value *product = op->in[0];
    if (!is_float(product->type) || product->uses != 1 || !factor(product, &c, NULL) || c.n != 2 || c.weight)
        return NULL;
    *out_done = true;
    return call(m, op, "xtrain_sparse_dots", 5, (ir_value *[]){c.x[0], c.from[0], c.from[1], c.x[1], c.mask});
}

xt_status cpu_stage_sparse(cpu_builder *b) {
    ir_module *m = b->exec->module;
    ir_block *body = b->exec->main->body;
    for (ir_op *op = body->first; op; op = op->next) {
        bool done = false;
        XT_TRY(sum(m, op, &done));
        if (!done) XT_TRY(dot(m, op, &done));
        if (done) b->exec->passes->changed = true;
    }
    if (b->exec->passes->changed) cpu_drop_dead(body);
    return NULL;
}
