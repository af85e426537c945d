/* Custom calls that other front ends write for ops of chlo: @mhlo.erf, @chlo.top_k and the like (PyTorch/XLA's and
 * older JAX's exports), and JAX's @ApproxTopK, whose answer here is exact; and our own @xtrain.qr (ops/factor.c). */
#include "pass/lower_chlo_int.h"

static const ir_attr *member(const ir_attr *dict, const char *name) {
    for (size_t i = 0; dict && dict->kind == IR_AK_DICT && i < dict->n; i++)
        if (!strcmp(dict->v.list[i].name, name)) return &dict->v.list[i];
    return NULL;
}

static const ir_attr *named(const ir_op *op, const char *name) {
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].name && !strcmp(op->attrs[i].name, name)) return &op->attrs[i];
    return NULL;
}

static bool is_greater(const ir_module *m, const char *comparator) {
    const ir_func *f = ir_func_find(m, comparator);
    for (const ir_op *op = f && f->body ? f->body->first : NULL; op; op = op->next)
        if (op->code == OP_compare) return ir_get_int(op, IR_A_comparison_direction, IR_EQ) == IR_GT;
    return false;
}

/* Operands: values, positions, and the two initial values; the first along reduction_dim in the comparator's order: k
 * of them, or with aggregate_to_topk false as many as the result holds. */
static bool approx_top_k(ir_builder *b, const ir_op *op, value out[2]) {
    const ir_attr *config = named(op, "mhlo.backend_config"), *called = ir_attr_find(op, IR_A_called_computations);
    const ir_attr *k = member(config, "top_k"), *dim = member(config, "reduction_dim");
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];
    value sorted[2];
    if (!k || !dim || k->kind != IR_AK_INT || dim->kind != IR_AK_INT || op->n_in != 4 || op->n_out != 2) return false;
    if (!called || called->kind != IR_AK_ARRAY || called->n != 1 || called->v.list[0].kind != IR_AK_SYMBOL)
        return false;
    const ir_type *t = op->in[0]->type;
    if (t->kind != IR_TENSOR || op->in[1]->type->kind != IR_TENSOR || op->in[1]->type->rank != t->rank ||
        dim->v.i < 0 || dim->v.i >= t->rank)
        return false;
    const ir_type *r = op->out[0].type;
    if (r->kind != IR_TENSOR || r->rank != t->rank) return false;
    int64_t n = r->dims[dim->v.i];
    if (k->v.i < 0 || n < k->v.i || n > t->dims[dim->v.i]) return false;
    out[0] = out[1] = NULL;
    if (!ir_sort(b, 2, op->in, dim->v.i, is_greater(b->m, called->v.list[0].v.s), true, sorted)) return true;
    for (uint32_t i = 0; i < t->rank; i++) limit[i] = i == dim->v.i ? n : t->dims[i];
    for (int i = 0; i < 2; i++) out[i] = ir_slice(b, sorted[i], start, limit, NULL);
    return true;
}

static ir_op *call(ir_builder *b, const char *target, size_t n_in, ir_value *const *in, size_t n_out,
                   const ir_type *const *types) {
    ir_attr name = ir_attr_string(b, IR_A_call_target_name, target);
    return ir_build(b, OP_custom_call, n_in, in, 1, &name, 0, NULL, n_out, types);
}

/* x = q r as the two calls that devices know: reflectors below r, and their product, of which q has the
 * first columns. */
static bool lower_qr(ir_builder *b, const ir_op *op, value out[2]) {
    const ir_type *t = op->in[0]->type, *q = op->out[0].type, *r = op->n_out == 2 ? op->out[1].type : NULL;
    int64_t none[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0}, dims[IR_MAX_RANK];
    if (op->n_in != 1 || !r || t->rank < 2 || t->count <= 0) return false;
    uint32_t rank = t->rank;
    int64_t m = t->dims[rank - 2], n = t->dims[rank - 1], columns = q->dims[rank - 1];
    out[0] = out[1] = NULL;
    memcpy(dims, t->dims, rank * sizeof *dims);
    dims[rank - 2] = m < n ? m : n;
    const ir_type *types[2] = {t, ir_tensor(t->dtype, rank - 1, dims)};
    ir_op *made = call(b, "Qr", 1, op->in, 2, types);
    if (!made) return true;
    value top = ir_slice(b, &made->out[0], none, r->dims, NULL);
    const ir_type *index = ir_with_dtype(r, XT_I32);
    value upper = ir_compare(b, IR_LE, ir_iota(b, index, rank - 2), ir_iota(b, index, rank - 1));
    out[1] = top && upper ? ir_select(b, upper, top, ir_splat(b, r, 0)) : NULL;
    value reflectors = &made->out[0];
    if (columns < n) reflectors = ir_slice(b, reflectors, none, q->dims, NULL);
    high[rank - 1] = columns - n;
    if (columns > n) reflectors = ir_pad(b, reflectors, ir_splat(b, ir_scalar(t->dtype), 0), none, high, none);
    ir_op *product =
        reflectors ? call(b, "ProductOfElementaryHouseholderReflectors", 2, (value[]){reflectors, &made->out[1]}, 1, &q)
                   : NULL;
    out[0] = product ? &product->out[0] : NULL;
    return true;
}

bool chlo_named_call(ir_builder *b, const ir_op *op, value out[2]) {
    const char *target = ir_get_string(op, IR_A_call_target_name);
    ir_opcode code;
    ir_attr attrs[1];
    const ir_type *types[2];
    size_t n = 0;
    if (!target || op->n_out < 1 || op->n_out > 2) return false;
    if (!strcmp(target, "xtrain.qr")) return lower_qr(b, op, out);
    if (!strcmp(target, "ApproxTopK")) return approx_top_k(b, op, out);
    if (strncmp(target, "mhlo.", 5) != 0 && strncmp(target, "chlo.", 5) != 0) return false;
    const char *name = !strcmp(target + 5, "topk") ? "top_k" : target + 5;
    if (!ir_opcode_from_name("chlo", name, &code) || (ir_op_infos[code].n_in != (int)op->n_in)) return false;
    if (code == OP_chlo_top_k) {
        const ir_attr *dict = named(op, "mhlo.attributes"), *k = member(dict, "k"), *largest = member(dict, "largest");
        if (!k || k->kind != IR_AK_INT || (largest && largest->kind == IR_AK_BOOL && !largest->v.b)) return false;
        attrs[n++] = ir_attr_int(IR_A_k, k->v.i);
    } else if (op->n_out != 1) {
        return false;
    }
    for (uint32_t i = 0; i < op->n_out; i++) types[i] = op->out[i].type;
    ir_op *made = ir_build(b, code, op->n_in, op->in, n, attrs, 0, NULL, op->n_out, types);
    for (uint32_t i = 0; i < op->n_out; i++) out[i] = made ? &made->out[i] : NULL;
    return true;
}
