/* needs: nothing. keeps: meaning bit for bit, but for the order in which a kernel sums a product.
 *
 * transpose(dot_general(a, b)) that asks for b's free dims before a's, or for the batch dims in another order, is the
 * product of the operands exchanged, or with its batch dims listed in that order: nothing is moved. So frameworks
 * record the gradient of a weight that lies as [out, in] (PyTorch's Linear, an embedding that is the output layer
 * too), also with a conversion between the two. What reads the product otherwise still needs it as it lies; then
 * nothing changes. */
#include "pass/pass.h"

typedef struct product { /* its attributes, a's at 0 and b's at 1 */
    const int64_t *batch[2], *contract[2];
    size_t n_batch, n_contract, n_free[2];
} product;

/* False where the op has something (an algorithm names its operands' types) that does not say which operand
 * it is about. */
static bool read_product(const ir_op *op, product *p) {
    size_t n;
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        switch ((int)op->attrs[i].key) {
        case IR_A_lhs_batching_dimensions:
        case IR_A_rhs_batching_dimensions:
        case IR_A_lhs_contracting_dimensions:
        case IR_A_rhs_contracting_dimensions: break;
        case IR_A_precision_config:
            if (op->attrs[i].n != 2) return false;
            break;
        default: return false;
        }
    }
    p->batch[0] = ir_get_ints(op, IR_A_lhs_batching_dimensions, &p->n_batch);
    p->batch[1] = ir_get_ints(op, IR_A_rhs_batching_dimensions, &n);
    p->contract[0] = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &p->n_contract);
    p->contract[1] = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &n);
    for (int s = 0; s < 2; s++) p->n_free[s] = op->in[s]->type->rank - p->n_batch - p->n_contract;
    return true;
}

/* Whether a product can be made in this order of its dims (batch, a's free dims, b's); *out_exchange: with b's
 * free dims first. */
static bool can_be_made(const product *p, const int64_t *perm, bool *out_exchange) {
    size_t nb = p->n_batch, na = p->n_free[0], nf = na + p->n_free[1];
    bool as_is = true, exchanged = true;
    for (size_t i = 0; i < nb; i++)
        if (perm[i] >= (int64_t)nb) return false;
    for (size_t i = 0; i < nf; i++) {
        as_is = as_is && perm[nb + i] == (int64_t)(nb + i);
        exchanged = exchanged && perm[nb + i] == (int64_t)(nb + (i + na) % nf);
    }
    *out_exchange = !as_is;
    return as_is || exchanged;
}

/* The product of `op` with its result's dims in the order perm. */
static ir_value *made_so(ir_builder *b, const ir_op *op, const product *p, const int64_t *perm, bool exchange) {
    int64_t batch[2][IR_MAX_RANK], dims[IR_MAX_RANK];
    const ir_type *was = op->out[0].type;
    const int a = exchange, c = !exchange;
    for (size_t i = 0; i < p->n_batch; i++)
        for (int s = 0; s < 2; s++) batch[s][i] = p->batch[s][perm[i]];
    for (size_t i = 0; i < was->rank; i++) dims[i] = was->dims[perm[i]];
    ir_attr attrs[5] = {ir_attr_ints(b, IR_A_lhs_batching_dimensions, p->n_batch, batch[a]),
                        ir_attr_ints(b, IR_A_rhs_batching_dimensions, p->n_batch, batch[c]),
                        ir_attr_ints(b, IR_A_lhs_contracting_dimensions, p->n_contract, p->contract[a]),
                        ir_attr_ints(b, IR_A_rhs_contracting_dimensions, p->n_contract, p->contract[c])};
    const ir_attr *precision = ir_attr_find(op, IR_A_precision_config);
    if (precision)
        attrs[4] =
            ir_attr_ints(b, IR_A_precision_config, 2, (const int64_t[]){precision->v.ints[a], precision->v.ints[c]});
    const ir_type *type = ir_tensor(was->dtype, was->rank, dims);
    ir_op *made = type ? ir_build(b, OP_dot_general, 2, (ir_value *[]){op->in[a], op->in[c]}, precision ? 5 : 4, attrs,
                                  0, NULL, 1, &type)
                       : NULL;
    return made ? &made->out[0] : NULL;
}

static xt_status fold(pass_ctx *c, ir_module *m, ir_op *t) {
    size_t n;
    const int64_t *perm = ir_get_ints(t, IR_A_permutation, &n);
    ir_op *convert = t->in[0]->def && t->in[0]->def->code == OP_convert ? t->in[0]->def : NULL;
    ir_op *op = convert ? convert->in[0]->def : t->in[0]->def;
    product p;
    bool exchange;
    if (!op || op->code != OP_dot_general || op->out[0].uses != 1 || t->in[0]->uses != 1 || op->block != t->block ||
        !read_product(op, &p) || !can_be_made(&p, perm, &exchange))
        return NULL;
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    ir_value *y = made_so(&b, op, &p, perm, exchange);
    if (y && convert) y = ir_convert(&b, y, t->out[0].type->dtype);
    if (!y) return b.status ? b.status : status_oom(sizeof *op, "an op");
    ir_replace_uses(m, &t->out[0], y);
    ir_erase(t);
    if (convert) ir_erase(convert);
    ir_erase(op);
    c->changed = true;
    return NULL;
}

static xt_status walk(pass_ctx *c, ir_module *m, ir_block *b) {
    for (ir_op *op = b->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) XT_TRY(walk(c, m, op->regions[r].block));
        if (op->code == OP_transpose) XT_TRY(fold(c, m, op));
    }
    return NULL;
}

xt_status pass_opt_products(pass_ctx *c, ir_module *m) {
    for (ir_func *f = m->funcs; f; f = f->next)
        if (f->body) XT_TRY(walk(c, m, f->body));
    return NULL;
}
