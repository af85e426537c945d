/* Takes quantized tensors out of a program: what is left are their integers, and arithmetic that says what they stand
 * for. Needs static shapes where there is arithmetic; keeps meaning, but for the order in which products are summed.
 *
 * First every type becomes that of the integers, and the values' marks remember what they stood for; then each op whose
 * meaning is arithmetic is written out: dequantize, the op on floats, quantize, each by the specification's own steps.
 * Products of 8-bit numbers are summed as integers, which loses nothing:
 *     sum (x - zx) y = sum x y - zx sum y. */
#include "ir/interp.h"
#include "ir/quant.h"
#include "pass/pass.h"

typedef ir_value *value;

static const ir_quant *quant_of(const ir_value *v) {
    return (const ir_quant *)(uintptr_t)v->mark;
}

static void set_quant(ir_value *v, const ir_quant *q) {
    v->mark = (uint64_t)(uintptr_t)q;
}

/* --- Types --- */
static bool block_has(const ir_block *b) {
    for (size_t i = 0; b && i < b->n_args; i++)
        if (b->args[i]->type != ir_storage(b->args[i]->type)) return true;
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_out; i++)
            if (op->out[i].type != ir_storage(op->out[i].type)) return true;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (block_has(op->regions[r].block)) return true;
    }
    return false;
}

bool pass_has_quantized(const ir_module *m) {
    for (const ir_func *f = m->funcs; f; f = f->next)
        if (block_has(f->body)) return true;
    return false;
}

static xt_status store(const ir_type **t) {
    const ir_type *plain = ir_storage(*t);
    if (!plain) return status_oom(sizeof *plain, "the types of a program");
    *t = plain;
    return NULL;
}

static xt_status store_value(ir_value *v) {
    set_quant(v, v->type->quant);
    return store(&v->type);
}

static xt_status store_block(ir_block *b) {
    for (size_t i = 0; b && i < b->n_args; i++) XT_TRY(store_value(b->args[i]));
    for (ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_out; i++) XT_TRY(store_value(&op->out[i]));
        for (uint32_t i = 0; i < op->n_attrs; i++)
            if (op->attrs[i].kind == IR_AK_DENSE) XT_TRY(store(&op->attrs[i].v.dense.type));
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(store_block(op->regions[r].block));
    }
    return NULL;
}

/* --- Arithmetic --- */
/* A number for each slice of t, or one for all, as a tensor of t's shape. */
static value spread(ir_builder *b, const ir_quant *q, const ir_type *t, const double *each) {
    uint64_t cell = 0;
    if (!t || b->status) return NULL;
    if (q->axis < 0) return ir_splat(b, t, each[0]);
    size_t size = xt_dtype_size(t->dtype);
    const ir_type *list = ir_tensor(t->dtype, 1, (int64_t[]){(int64_t)q->n});
    char *data = arena_alloc(b->m->mem, q->n * size);
    if (!list || !data) {
        b->status = status_oom(q->n * size, "the scales of a quantized tensor");
        return NULL;
    }
    array one = {ir_scalar(t->dtype), &cell};
    for (size_t i = 0; i < q->n; i++) {
        array_set(&one, 0, each[i]);
        memcpy(data + i * size, &cell, size);
    }
    return ir_broadcast_in_dim(b, ir_constant(b, list, data), t, 1, (int64_t[]){q->axis});
}

static bool all_zero(const ir_quant *q) {
    for (size_t i = 0; i < q->n; i++)
        if (q->zeros[i]) return false;
    return true;
}

static value spread_zeros(ir_builder *b, const ir_quant *q, const ir_type *t) {
    double *each = arena_alloc(b->m->mem, q->n * sizeof *each);
    if (!each) {
        b->status = status_oom(q->n * sizeof *each, "the zero points of a quantized tensor");
        return NULL;
    }
    for (size_t i = 0; i < q->n; i++) each[i] = (double)q->zeros[i];
    return spread(b, q, t, each);
}

/* Integers are subtracted where that is exact: f32 and f64 are for 16 bits, others are not. */
static value dequantize(ir_builder *b, value x, const ir_quant *q) {
    bool exact = (q->expressed == XT_F32 || q->expressed == XT_F64) && ir_dtype_bits(q->storage) <= 16;
    xt_dtype t = exact ? q->expressed : ir_dtype_bits(q->storage) <= 16 ? XT_I32 : XT_I64;
    value v = ir_convert(b, x, t);
    if (v && !all_zero(q)) v = ir_subtract(b, v, spread_zeros(b, q, v->type));
    v = ir_convert(b, v, q->expressed);
    return v ? ir_multiply(b, v, spread(b, q, v->type, q->scales)) : NULL;
}

static value quantize(ir_builder *b, value x, const ir_quant *q) {
    if (!x) return NULL;
    const ir_type *one = ir_scalar(q->expressed);
    value v = ir_divide(b, x, spread(b, q, x->type, q->scales));
    if (!all_zero(q)) v = ir_add(b, v, spread_zeros(b, q, x->type));
    v = ir_clamp(b, ir_splat(b, one, (double)q->min), v, ir_splat(b, one, (double)q->max));
    v = ir_convert(b, ir_round_nearest_even(b, v), q->storage);
    if (v) set_quant(v, q);
    return v;
}

/* --- Products of integers --- */
enum { EXACT_TERMS = INT32_MAX / (255 * 255) }; /* of a sum in 32 bits */

static bool is_byte(const ir_quant *q) {
    return q && ir_dtype_bits(q->storage) <= 8;
}

static value as_byte(ir_builder *b, value x) {
    return ir_convert(b, x, ir_dtype_is_signed(x->type->dtype) ? XT_I8 : XT_U8);
}

static bool is_one_of(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

/* zx times the sums of y over what is contracted, in the place of each result: batch dims, then lhs's, then rhs's. */
static value zero_terms(ir_builder *b, const ir_op *op, value y, const ir_quant *qx, const ir_type *sums) {
    size_t nb, nc, n = 0;
    const int64_t *batch = ir_get_ints(op, IR_A_rhs_batching_dimensions, &nb),
                  *contracted = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nc);
    int64_t places[IR_MAX_RANK], next = (int64_t)(op->in[0]->type->rank - nc);
    for (uint32_t d = 0; d < y->type->rank; d++) {
        if (is_one_of(contracted, nc, d)) continue;
        size_t k = 0;
        while (k < nb && batch[k] != d) k++;
        places[n++] = k < nb ? (int64_t)k : next++;
    }
    value sum = ir_reduce(b, OP_add, ir_convert(b, y, XT_I32), nc, contracted);
    if (!sum) return NULL;
    sum = ir_multiply(b, sum, ir_splat(b, sum->type, (double)qx->zeros[0]));
    return ir_broadcast_in_dim(b, sum, sums, n, places);
}

/* The axis of the result that rhs's axis of scales becomes; -1: none. */
static int64_t result_axis(const ir_op *op, const ir_quant *qy) {
    size_t nb, nc;
    const int64_t *batch = ir_get_ints(op, IR_A_rhs_batching_dimensions, &nb),
                  *contracted = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nc);
    int64_t at = (int64_t)(op->in[0]->type->rank - nc);
    if (qy->axis < 0) return -1;
    for (size_t k = 0; k < nb; k++)
        if (batch[k] == qy->axis) return (int64_t)k;
    for (int64_t d = 0; d < qy->axis; d++)
        if (!is_one_of(contracted, nc, d) && !is_one_of(batch, nb, d)) at++;
    return at;
}

static int64_t terms_of(const ir_op *op) {
    size_t nc;
    const int64_t *contracted = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nc);
    int64_t n = 1;
    for (size_t i = 0; i < nc; i++) n *= op->in[1]->type->dims[contracted[i]];
    return n;
}

static bool sums_integers(const ir_op *op) {
    if (op->code != OP_dot_general) return false;
    const ir_quant *qx = quant_of(op->in[0]), *qy = quant_of(op->in[1]);
    return is_byte(qx) && is_byte(qy) && op->out[0].type->count >= 0 && op->in[1]->type->count >= 0 &&
           terms_of(op) <= EXACT_TERMS && !ir_attr_find(op, IR_A_algorithm);
}

/* The product as floats: the sum, times both scales. */
static value integer_product(ir_builder *b, const ir_op *op) {
    const ir_quant *qx = quant_of(op->in[0]), *qy = quant_of(op->in[1]);
    value x = as_byte(b, op->in[0]), y = as_byte(b, op->in[1]);
    const ir_type *sums = ir_with_dtype(op->out[0].type, XT_I32);
    if (!x || !y || !sums) return NULL;
    ir_op *dot = ir_build(b, op->code, 2, (value[]){x, y}, op->n_attrs, op->attrs, 0, NULL, 1, &sums);
    if (!dot) return NULL;
    value sum = &dot->out[0];
    if (qx->zeros[0]) sum = ir_subtract(b, sum, zero_terms(b, op, y, qx, sums));
    xt_dtype t = qx->expressed == XT_F64 ? XT_F64 : XT_F32;
    value v = ir_convert(b, sum, t);
    double *scales = arena_alloc(b->m->mem, qy->n * sizeof *scales);
    if (!v || !scales) return NULL;
    for (size_t i = 0; i < qy->n; i++) scales[i] = qx->scales[0] * qy->scales[i];
    ir_quant along = *qy;
    along.axis = result_axis(op, qy);
    v = ir_multiply(b, v, spread(b, &along, v->type, scales));
    return ir_convert(b, v, qx->expressed);
}

/* --- Ops --- */
static xt_status needs_shapes(const ir_op *op) {
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const ir_value *v = i < op->n_in ? op->in[i] : &op->out[i - op->n_in];
        if (quant_of(v) && v->type->count < 0)
            return status_new(XT_UNIMPLEMENTED, op->src ? src_get(op->src) : NULL,
                              "%s: quantized tensors of unknown shape are not lowered; give the program inputs",
                              ir_op_infos[op->code].name);
    }
    return NULL;
}

/* What takes the place of the op's result i: quantized again where it was. */
static bool replace(ir_builder *b, ir_op *op, uint32_t i, value with) {
    const ir_quant *q = quant_of(&op->out[i]);
    if (q) with = quantize(b, with, q);
    if (!with) return false;
    ir_replace_uses(b->m, &op->out[i], with);
    return true;
}

static xt_status failed(ir_builder *b) {
    return b->status ? b->status : status_oom(sizeof(ir_op), "a program without quantized tensors");
}

/* The op on floats, its results quantized where they were. */
static xt_status on_floats(ir_builder *b, ir_op *op) {
    value in[QUANT_VALUES];
    const ir_type *types[QUANT_VALUES];
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_quant *q = quant_of(op->in[i]);
        in[i] = q ? dequantize(b, op->in[i], q) : op->in[i];
    }
    for (uint32_t i = 0; i < op->n_out; i++) {
        const ir_quant *q = quant_of(&op->out[i]);
        types[i] = q ? ir_with_dtype(op->out[i].type, q->expressed) : op->out[i].type;
    }
    ir_op *made = ir_build(b, op->code, op->n_in, in, op->n_attrs, op->attrs, 0, NULL, op->n_out, types);
    for (uint32_t i = 0; i < op->n_out; i++)
        if (!made || !replace(b, op, i, &made->out[i])) return failed(b);
    return NULL;
}

static bool computes(const ir_op *op) {
    quant_kind k = quant_kind_of(op->code);
    if (k < QUANT_FLOAT || k > QUANT_CAST) return false;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (quant_of(op->in[i])) return true;
    for (uint32_t i = 0; i < op->n_out; i++)
        if (quant_of(&op->out[i])) return true;
    return false;
}

static xt_status lower_op(ir_module *m, ir_op *op) {
    ir_builder b = ir_before(m, op);
    b.src = op->src;
    b.path = op->path;
    XT_TRY(needs_shapes(op));
    const ir_quant *q = op->n_in ? quant_of(op->in[0]) : NULL;
    if (quant_kind_of(op->code) == QUANT_CAST || sums_integers(op)) {
        value v = op->code == OP_dot_general ? integer_product(&b, op) : q ? dequantize(&b, op->in[0], q) : op->in[0];
        if (!v || !replace(&b, op, 0, v)) return failed(&b);
    } else {
        XT_TRY(on_floats(&b, op));
    }
    ir_erase(op);
    return b.status;
}

static xt_status lower_block(ir_module *m, ir_block *b) {
    for (ir_op *op = b ? b->first : NULL, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(lower_block(m, op->regions[r].block));
        if (computes(op)) XT_TRY(lower_op(m, op));
    }
    return NULL;
}

xt_status pass_expand_quant(ir_module *m) {
    if (!pass_has_quantized(m)) return NULL;
    for (ir_func *f = m->funcs; f; f = f->next) {
        XT_TRY(store_block(f->body));
        for (size_t i = 0; f->result_types && i < f->n_results; i++) XT_TRY(store(&f->result_types[i]));
    }
    for (ir_func *f = m->funcs; f; f = f->next) XT_TRY(lower_block(m, f->body));
    return NULL;
}

xt_status pass_lower_quant(pass_ctx *c, ir_module *m) {
    c->changed = pass_has_quantized(m);
    return c->changed ? pass_expand_quant(m) : NULL;
}
