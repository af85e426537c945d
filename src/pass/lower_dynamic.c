/* pass_refine: a function whose shapes depend on its inputs becomes one of static shapes, for given inputs. needs:
 * nothing; keeps: meaning for inputs of these shapes, and of these values where a shape is made of them; source ids.
 *
 * One walk in order of execution, after calls are inlined. Values that shapes can be made of (small integer and boolean
 * tensors) are worked out as far as they follow from the inputs, from dims, and from constants; with them each op that
 * takes a shape as an operand becomes its static sibling, and every other op is inferred again from operands that are
 * static now. A loop's arguments take the types of its operands, and one that the body hands on unchanged keeps its
 * known value. What still has a dynamic dim at the end depends on data, and is an error. */
#include "pass/rewrite.h"

#include "ir/infer.h"
#include "ir/interp.h"

enum { MOST_KNOWN = 256, MOST_OPERANDS = 8 };

typedef struct refiner {
    ir_module *m;
    uint64_t epoch; /* a value's mark is epoch | index of its known array */
    array *known;
    size_t n, cap;
} refiner;

static xt_status refine_block(refiner *r, ir_block *b);

/* --- Known values --- */
static bool may_know(const ir_type *t) {
    return t->kind == IR_TENSOR && t->count >= 0 && t->count <= MOST_KNOWN &&
           (ir_dtype_is_int(t->dtype) || t->dtype == XT_BOOL);
}

static const array *known(const refiner *r, const ir_value *v) {
    return v->mark >> 32 == r->epoch >> 32 ? &r->known[(uint32_t)v->mark] : NULL;
}

/* Takes over `a`. */
static xt_status learn(refiner *r, ir_value *v, array a) {
    if (r->n >= UINT32_MAX || !VEC_PUSH(r->known, r->n, r->cap, a)) {
        array_free(&a);
        return status_oom(sizeof a, "shape refinement");
    }
    v->mark = r->epoch | (r->n - 1);
    return NULL;
}

static xt_status learn_copy(refiner *r, ir_value *v, const array *a) {
    array copy;
    if (!may_know(v->type) || v->type != a->type) return NULL;
    XT_TRY(array_new(v->type, &copy));
    memcpy(copy.data, a->data, ir_type_bytes(v->type));
    return learn(r, v, copy);
}

static bool known_ints(const refiner *r, const ir_value *v, int64_t *out, size_t n) {
    const array *a = known(r, v);
    if (!a || a->type->count != (int64_t)n) return false;
    for (size_t i = 0; i < n; i++) {
        double x = array_get(a, (int64_t)i);
        if (!(x >= -9007199254740992.0 && x <= 9007199254740992.0)) return false;
        out[i] = (int64_t)x;
    }
    return true;
}

/* What a pure op without regions makes of known operands. */
static xt_status compute(refiner *r, ir_op *op) {
    array in[MOST_OPERANDS], out = {0};
    if (op->code == OP_constant) {
        const ir_literal *l = ir_get_literal(op);
        if (!may_know(op->out[0].type)) return NULL;
        XT_TRY(array_new(l->type, &out));
        size_t size = xt_dtype_size(l->type->dtype);
        for (int64_t i = 0; i < l->type->count; i++)
            memcpy((char *)out.data + (size_t)i * size, (const char *)l->data + (l->splat ? 0 : (size_t)i * size),
                   size);
        return learn(r, &op->out[0], out);
    }
    if (op->n_out != 1 || op->n_regions || op->n_in > MOST_OPERANDS || !ir_op_is_pure(op) || !may_know(op->out[0].type))
        return NULL;
    if (op->code == OP_optimization_barrier || strcmp(ir_op_infos[op->code].dialect, "stablehlo") != 0) return NULL;
    if (op->code == OP_get_dimension_size) {
        const ir_type *x = op->in[0]->type;
        int64_t d = ir_get_int(op, IR_A_dimension, -1);
        if (d < 0 || d >= x->rank || x->dims[d] == IR_DYNAMIC) return NULL;
        XT_TRY(array_new(op->out[0].type, &out));
        array_set(&out, 0, (double)x->dims[d]);
        return learn(r, &op->out[0], out);
    }
    for (uint32_t i = 0; i < op->n_in; i++) {
        const array *a = known(r, op->in[i]);
        if (!a) return NULL;
        in[i] = *a;
    }
    XT_TRY(array_new(op->out[0].type, &out));
    xt_status refused = interp_op(r->m, op, NULL, in, &out, NULL, NULL);
    if (!refused) return learn(r, &op->out[0], out);
    xt_status_free(refused); /* what cannot be computed says so when it runs */
    array_free(&out);
    return NULL;
}

/* --- Ops with a shape for an operand become static --- */
static ir_attr keep(const ir_op *op, ir_attr_key k, size_t *n) {
    const ir_attr *a = ir_attr_find(op, k);
    if (!a) return (ir_attr){0};
    ++*n;
    return *a;
}

static const ir_type *shaped(const ir_op *op, const int64_t *dims, size_t n) {
    const ir_type *t = op->out[0].type;
    return ir_with_quant(ir_tensor(t->dtype, n, dims), t->quant);
}

/* The static sibling of `op`, built before it; *out stays NULL when the shape is not known. */
static xt_status make_static(refiner *r, ir_op *op, ir_op **out) {
    *out = NULL;
    if (op->n_out != 1 || op->out[0].type->kind != IR_TENSOR) return NULL;
    ir_builder b = ir_before(r->m, op);
    b.src = op->src;
    b.path = op->path;
    size_t rank = op->out[0].type->rank,
           x_rank = op->n_in && op->in[0]->type->kind == IR_TENSOR ? op->in[0]->type->rank : 0, n = 0;
    int64_t v[3][IR_MAX_RANK];
    ir_attr attrs[16];
    const ir_type *t;
    switch (op->code) {
    case OP_dynamic_broadcast_in_dim:
    case OP_dynamic_reshape:
    case OP_dynamic_iota: {
        bool iota = op->code == OP_dynamic_iota, reshape = op->code == OP_dynamic_reshape;
        if (!known_ints(r, op->in[iota ? 0 : 1], v[0], rank)) return NULL;
        if (!(t = shaped(op, v[0], rank)))
            return status_new(XT_INVALID_ARGUMENT, src_get(op->src),
                              "a shape worked out here is not valid or too large");
        if (!reshape) attrs[0] = keep(op, iota ? IR_A_iota_dimension : IR_A_broadcast_dimensions, &n);
        *out = ir_build(&b,
                        iota      ? OP_iota
                        : reshape ? OP_reshape
                                  : OP_broadcast_in_dim,
                        iota ? 0 : 1, op->in, n, attrs, 0, NULL, 1, &t);
        return b.status;
    }
    case OP_real_dynamic_slice:
    case OP_dynamic_pad: {
        bool slice = op->code == OP_real_dynamic_slice;
        static const ir_attr_key keys[2][3] = {{IR_A_edge_padding_low, IR_A_edge_padding_high, IR_A_interior_padding},
                                               {IR_A_start_indices, IR_A_limit_indices, IR_A_strides}};
        for (size_t i = 0; i < 3; i++) {
            if (!known_ints(r, op->in[i + (slice ? 1 : 2)], v[i], x_rank)) return NULL;
            attrs[i] = ir_attr_ints(&b, keys[slice][i], x_rank, v[i]);
        }
        *out = ir_build(&b, slice ? OP_slice : OP_pad, slice ? 1 : 2, op->in, 3, attrs, 0, NULL, 0, NULL);
        return b.status;
    }
    case OP_dynamic_gather:
        if (!known_ints(r, op->in[2], v[0], x_rank)) return NULL;
        for (uint32_t i = 0; i < op->n_attrs && n < 14; i++) attrs[n++] = op->attrs[i];
        attrs[n++] = ir_attr_ints(&b, IR_A_slice_sizes, x_rank, v[0]);
        *out = ir_build(&b, OP_gather, 2, op->in, n, attrs, 0, NULL, 0, NULL);
        return b.status;
    case OP_dynamic_conv: {
        int64_t pad[2 * IR_MAX_RANK];
        ir_attr *all = arena_alloc(r->m->mem, (op->n_attrs + 1) * sizeof *all);
        if (!all) return status_oom(op->n_attrs * sizeof *all, "shape refinement");
        if (x_rank < 2 || !known_ints(r, op->in[2], pad, 2 * (x_rank - 2))) return NULL;
        for (uint32_t i = 0; i < op->n_attrs; i++)
            if (op->attrs[i].key != IR_A_padding) all[n++] = op->attrs[i];
        all[n++] = ir_attr_ints2(&b, IR_A_padding, x_rank - 2, 2, pad);
        int64_t any[IR_MAX_RANK];
        for (size_t i = 0; i < rank; i++) any[i] = IR_DYNAMIC;
        t = shaped(op, any, rank); /* the element type is the caller's choice */
        *out = ir_build(&b, OP_convolution, 2, op->in, n, all, 0, NULL, 1, &t);
        return b.status;
    }
    default: return NULL;
    }
}

/* The region of a reduction whose computation is a function: one call of it. */
static ir_block *call_region(ir_builder *b, const char *callee, size_t n, ir_value *const *init) {
    ir_block *block = ir_block_new(b->m);
    ir_value *args[2 * MOST_OPERANDS];
    const ir_type *types[MOST_OPERANDS];
    for (size_t i = 0; block && i < 2 * n; i++) {
        types[i % n] = ir_scalar(init[i % n]->type->dtype);
        if (!(args[i] = ir_block_arg(b->m, block, types[i % n]))) block = NULL;
    }
    if (!block) return NULL;
    ir_builder inner = ir_at_end(b->m, block);
    ir_attr attr = ir_attr_string(&inner, IR_A_callee, callee);
    ir_op *call = ir_build(&inner, OP_call, 2 * n, args, 1, &attr, 0, NULL, n, types);
    ir_value *results[MOST_OPERANDS];
    for (size_t i = 0; call && i < n; i++) results[i] = &call->out[i];
    if (call) ir_return(&inner, n, results);
    b->status = inner.status;
    return b->status ? NULL : block;
}

/* JAX's spelling of a window reduction whose window is made of operands: inputs, initial values, and five lists. */
static xt_status make_reduce_window(refiner *r, ir_op *op, ir_op **out) {
    static const ir_attr_key keys[] = {IR_A_window_dimensions, IR_A_window_strides, IR_A_base_dilations,
                                       IR_A_window_dilations, IR_A_padding};
    const char *target = op->code == OP_custom_call ? ir_get_string(op, IR_A_call_target_name) : NULL;
    const ir_attr *called = ir_attr_find(op, IR_A_called_computations);
    *out = NULL;
    if (!target || strcmp(target, "stablehlo.dynamic_reduce_window") != 0 || !called || called->kind != IR_AK_ARRAY ||
        called->n != 1)
        return NULL;
    if (called->v.list[0].kind != IR_AK_SYMBOL || op->n_in < 7 || op->n_in % 2 == 0 ||
        (op->n_in - 5) / 2 > MOST_OPERANDS)
        return NULL;
    const ir_func *f = ir_func_find(r->m, called->v.list[0].v.s);
    if (!f || !f->body)
        return status_new(XT_INVALID_ARGUMENT, op->src ? src_get(op->src) : NULL,
                          "it calls @%s, which is no function with a body in this module", called->v.list[0].v.s);
    size_t n = (op->n_in - 5) / 2, rank = op->in[0]->type->kind == IR_TENSOR ? op->in[0]->type->rank : 0;
    ir_builder b = ir_before(r->m, op);
    b.src = op->src;
    b.path = op->path;
    ir_attr attrs[5];
    int64_t v[2 * IR_MAX_RANK];
    for (size_t i = 0; i < 5; i++) {
        if (!known_ints(r, op->in[2 * n + i], v, i == 4 ? 2 * rank : rank)) return NULL;
        attrs[i] = i == 4 ? ir_attr_ints2(&b, keys[i], rank, 2, v) : ir_attr_ints(&b, keys[i], rank, v);
    }
    ir_block *region = call_region(&b, called->v.list[0].v.s, n, op->in + n);
    if (region) *out = ir_build(&b, OP_reduce_window, 2 * n, op->in, 5, attrs, 1, &region, 0, NULL);
    return b.status;
}

static xt_status replace(refiner *r, ir_op *op, ir_op **out) {
    ir_op *made;
    *out = op;
    XT_TRY(status_context(make_static(r, op, &made), "refining the shape of %s", ir_op_infos[op->code].name));
    if (!made) XT_TRY(status_context(make_reduce_window(r, op, &made), "refining a window reduction"));
    if (!made || made->n_out != op->n_out) return NULL;
    const array *a = known(r, &op->out[0]);
    if (a) made->out[0].mark = op->out[0].mark;
    for (uint32_t i = 0; i < op->n_out; i++) ir_replace_uses(r->m, &op->out[i], &made->out[i]);
    ir_erase(op);
    *out = made;
    return NULL;
}

/* --- Types again --- */
static const ir_type *merged(const ir_type *a, const ir_type *b) {
    int64_t dims[IR_MAX_RANK];
    if (a == b || a->kind != IR_TENSOR || b->kind != IR_TENSOR || a->rank != b->rank || a->dtype != b->dtype ||
        a->quant != b->quant)
        return b;
    for (uint32_t i = 0; i < a->rank; i++) dims[i] = a->dims[i] == IR_DYNAMIC ? b->dims[i] : a->dims[i];
    const ir_type *t = ir_with_quant(ir_tensor(a->dtype, a->rank, dims), a->quant);
    return t ? t : b;
}

/* A reshape to a shape with one unknown dim: the elements tell it. */
static const ir_type *completed(const ir_type *x, const ir_type *t) {
    int64_t dims[IR_MAX_RANK], rest = 1;
    int unknown = -1;
    for (uint32_t i = 0; i < t->rank; i++) {
        dims[i] = t->dims[i];
        if (dims[i] != IR_DYNAMIC)
            rest *= dims[i];
        else if (unknown >= 0)
            return t;
        else
            unknown = (int)i;
    }
    if (unknown < 0 || x->count < 0 || rest <= 0 || x->count % rest) return t;
    dims[unknown] = x->count / rest;
    return ir_with_quant(ir_tensor(t->dtype, t->rank, dims), t->quant);
}

static xt_status infer_again(ir_op *op) {
    const ir_type *small[64];
    size_t n = 0, room = 16 + (size_t)op->n_in + op->n_out;
    for (uint32_t i = 0; i < op->n_regions; i++) {
        const ir_op *ret = ir_block_return(op->regions[i].block);
        if (ret) room += ret->n_in;
    }
    const ir_type **types = room <= 64 ? small : base_calloc(room, sizeof *types);
    if (!types) return status_oom(room * sizeof *types, "shape refinement");
    xt_status s = infer_rule(op, types, &n);
    for (uint32_t i = 0; !s && i < op->n_out && i < n; i++) {
        op->out[i].type = merged(op->out[i].type, types[i]);
        if (op->code == OP_convert)
            op->out[i].type = merged(op->out[i].type, ir_with_dtype(op->in[0]->type, op->out[i].type->dtype));
        if (op->code == OP_reshape && op->out[i].type->count < 0)
            op->out[i].type = completed(op->in[0]->type, op->out[i].type);
    }
    if (types != small) base_free(types);
    return s;
}

/* Loops: their blocks' arguments take the operands' types, and what the body only hands on keeps its value. */
static xt_status enter_regions(refiner *r, ir_op *op) {
    for (uint32_t k = 0; k < op->n_regions; k++) {
        ir_block *b = op->regions[k].block;
        if (!b) continue;
        if (op->code == OP_while) {
            const ir_op *ret = ir_block_return(op->regions[1].block);
            for (uint32_t i = 0; i < op->n_in; i++) {
                const array *a = known(r, op->in[i]);
                b->args[i]->type = merged(b->args[i]->type, op->in[i]->type);
                if (a && ret && ret->in[i] == op->regions[1].block->args[i])
                    XT_TRY(learn_copy(r, b->args[i], &(array){a->type, a->data}));
            }
        }
        if (op->code == OP_while || op->code == OP_if || op->code == OP_case) XT_TRY(refine_block(r, b));
    }
    return NULL;
}

static xt_status leave_loop(refiner *r, ir_op *op) {
    const ir_op *ret = op->code == OP_while ? ir_block_return(op->regions[1].block) : NULL;
    for (uint32_t i = 0; ret && i < op->n_out; i++) {
        const array *a = known(r, op->in[i]);
        if (a && ret->in[i] == op->regions[1].block->args[i])
            XT_TRY(learn_copy(r, &op->out[i], &(array){a->type, a->data}));
    }
    return NULL;
}

/* An exporter's assertion about the inputs' shapes: its first operand is what must hold. */
static xt_status check_assertion(const refiner *r, ir_op *op, bool *out_gone) {
    const char *target = op->code == OP_custom_call ? ir_get_string(op, IR_A_call_target_name) : NULL;
    *out_gone = false;
    if (!target || strcmp(target, "shape_assertion") != 0 || !op->n_in || op->n_out) return NULL;
    const array *a = known(r, op->in[0]);
    const char *message = NULL;
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].kind == IR_AK_STRING && !strcmp(op->attrs[i].name, "error_message"))
            message = op->attrs[i].v.s;
    if (!a) return NULL;
    if (array_get(a, 0) == 0)
        return status_new(XT_INVALID_ARGUMENT, src_get(op->src), "the inputs' shapes do not fit the program: %s",
                          message ? message : "an assertion about them does not hold");
    *out_gone = true;
    return NULL;
}

static xt_status refine_op(refiner *r, ir_op *op) {
    bool gone;
    XT_TRY(check_assertion(r, op, &gone));
    if (gone) {
        ir_erase(op);
        return NULL;
    }
    XT_TRY(replace(r, op, &op));
    XT_TRY(enter_regions(r, op));
    if (!(ir_op_infos[op->code].flags & IR_TERMINATOR)) XT_TRY(status_context(infer_again(op), "refining shapes"));
    XT_TRY(leave_loop(r, op));
    return compute(r, op);
}

static xt_status refine_block(refiner *r, ir_block *b) {
    for (ir_op *op = b ? b->first : NULL, *next; op; op = next) {
        next = op->next;
        XT_TRY(refine_op(r, op));
    }
    return NULL;
}

/* --- The function --- */
static xt_status still_dynamic(const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_out; i++)
            if (op->out[i].type->kind == IR_TENSOR && op->out[i].type->count < 0)
                return status_new(XT_UNIMPLEMENTED, src_get(op->src),
                                  "the shape of %s.%s depends on more than the inputs' shapes and small integer inputs",
                                  ir_op_infos[op->code].dialect, ir_op_infos[op->code].name);
        for (uint32_t k = 0; k < op->n_regions; k++) XT_TRY(still_dynamic(op->regions[k].block));
    }
    return NULL;
}

static bool block_is_dynamic(const ir_block *b) {
    for (size_t i = 0; b && i < b->n_args; i++)
        if (b->args[i]->type->kind == IR_TENSOR && b->args[i]->type->count < 0) return true;
    xt_status s = still_dynamic(b);
    bool dynamic = s != NULL;
    xt_status_free(s);
    return dynamic;
}

bool pass_is_dynamic(const ir_module *m) {
    for (const ir_func *f = m->funcs; f; f = f->next)
        if (block_is_dynamic(f->body)) return true;
    return false;
}

static xt_status refine(refiner *r, ir_func *f, size_t n_in, const array *in) {
    for (size_t i = 0; i < n_in && i < f->body->n_args; i++) {
        f->body->args[i]->type = merged(f->body->args[i]->type, in[i].type);
        if (in[i].data) XT_TRY(learn_copy(r, f->body->args[i], &in[i]));
    }
    XT_TRY(refine_block(r, f->body));
    XT_TRY(still_dynamic(f->body));
    const ir_op *ret = ir_block_return(f->body);
    if (!ret) return NULL;
    const ir_type **types = arena_alloc(r->m->mem, (ret->n_in + 1) * sizeof *types);
    if (!types) return status_oom(ret->n_in * sizeof *types, "shape refinement");
    for (uint32_t i = 0; i < ret->n_in; i++) types[i] = ret->in[i]->type;
    f->n_results = ret->n_in;
    f->result_types = types;
    return NULL;
}

xt_status pass_refine(ir_module *m, const char *entry, size_t n_in, const array *in) {
    pass_ctx c = {0};
    XT_TRY(pass_lower_call(&c, m));
    ir_func *f = ir_func_find(m, entry);
    if (!f || !f->body) return status_new(XT_INVALID_ARGUMENT, NULL, "there is no function @%s", entry);
    refiner r = {.m = m, .epoch = ir_new_epoch()};
    xt_status s = refine(&r, f, n_in, in);
    for (size_t i = 0; i < r.n; i++) array_free(&r.known[i]);
    base_free(r.known);
    if (!s) s = pass_expand_chlo(m);
    if (!s) s = pass_lower_call(&c, m); /* computations of window reductions */
    return s ? s : pass_opt_dce(&c, m);
}
