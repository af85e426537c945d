/* From an instruction of HLO to an op: the table hlo.def says which; what is no plain op has its own function here. */
#include "format/hlo_ops.h"

typedef struct op_in { /* an instruction with its operands looked up */
    hlomod_scope *s;
    hlomod_msg inst;
    ir_opcode code;
    size_t n; /* operands */
    const hlomod_value **in;
    size_t n_called;
    int64_t *called; /* ids of computations */
    const ir_type **types; /* of out's leaves */
    hlomod_attrs attrs;
} op_in;
typedef struct op_row {
    const char *text;
    ir_opcode code;
    ir_attr_key dims;
    void (*attrs)(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a);
    bool (*build)(op_in *o, hlomod_value *out);
} op_row;

/* What `op` gave, as `out`'s leaves. */
static bool take_results(op_in *o, ir_op *op, hlomod_value *out) {
    if (!op) return false;
    if (op->n_out != out->shape.leaves)
        return hlomod_fail(o->s->r, o->inst.data, "the op has %u results, the instruction's shape %zu parts", op->n_out,
                           out->shape.leaves);
    for (uint32_t i = 0; i < op->n_out; i++) out->leaf[i] = &op->out[i];
    return true;
}

/* The leaves of the operands from `first` on, in a row. */
static bool flat_operands(op_in *o, size_t first, size_t *out_n, ir_value ***out) {
    size_t n = 0, k = 0;
    for (size_t i = first; i < o->n; i++) n += o->in[i]->shape.leaves;
    ir_value **v = arena_alloc(o->s->r->scratch, n * sizeof(ir_value *) + 1);
    if (!v) return hlomod_oom(o->s->r, n * sizeof(ir_value *));
    for (size_t i = first; i < o->n; i++)
        for (size_t j = 0; j < o->in[i]->shape.leaves; j++) v[k++] = o->in[i]->leaf[j];
    *out_n = n;
    *out = v;
    return true;
}

static bool build_plain(op_in *o, hlomod_value *out) {
    size_t n, n_regions = ir_op_infos[o->code].n_regions ? o->n_called : 0;
    ir_value **in;
    ir_block *regions[8];
    int takes = ir_op_infos[o->code].n_in;
    if (!flat_operands(o, 0, &n, &in)) return false;
    if (takes >= 0 && n != (size_t)takes)
        return hlomod_fail(o->s->r, o->inst.data, "%zu operands, expected %d", n, takes);
    int wants = ir_op_infos[o->code].n_regions;
    if (n_regions > BASE_COUNT(regions) || (wants >= 0 && n_regions != (size_t)wants))
        return hlomod_fail(o->s->r, o->inst.data, "%zu computations are called, expected %d", o->n_called, wants);
    for (size_t i = 0; i < n_regions; i++)
        if (!(regions[i] = hlomod_build_region(o->s, o->inst, o->called[i]))) return false;
    return take_results(
        o, ir_build(&o->s->b, o->code, n, in, o->attrs.n, o->attrs.v, n_regions, regions, out->shape.leaves, o->types),
        out);
}

static bool need_operands(const op_in *o, size_t n) {
    return o->n == n || hlomod_fail(o->s->r, o->inst.data, "%zu operands, expected %zu", o->n, n);
}

/* The shapes must agree leaf for leaf, as an instruction's own shape is what its users are checked against. */
static bool same_leaves(op_in *o, const hlomod_value *v, const hlomod_value *out) {
    bool same = v->shape.leaves == out->shape.leaves;
    for (size_t i = 0; same && i < v->shape.leaves; i++) same = v->leaf[i]->type == o->types[i];
    return same || hlomod_fail(o->s->r, o->inst.data, "the instruction's shape is not that of its value");
}

static bool give(op_in *o, const hlomod_value *v, hlomod_value *out) {
    if (!same_leaves(o, v, out)) return false;
    out->leaf = v->leaf;
    return true;
}

static bool build_first(op_in *o, hlomod_value *out) {
    return o->n ? give(o, o->in[0], out) : need_operands(o, 1);
}

static bool build_parameter(op_in *o, hlomod_value *out) {
    int64_t number = hlomod_int(o->s->r, o->inst, 9, 0);
    if (number < 0 || (size_t)number >= o->s->n_params)
        return hlomod_fail(o->s->r, o->inst.data, "parameter %lld of %zu", (long long)number, o->s->n_params);
    return give(o, &o->s->params[number], out);
}

/* Nesting is bounded by that of the shape. */
static bool read_literal(hlomod_scope *s, hlomod_msg m, const hlomod_shape *shape, ir_value **leaf) {
    hlomod_msg *parts;
    size_t n;
    if (shape->type) return hlomod_read_literal(s, m, shape->type, leaf);
    if (!hlomod_subs(s->r, m, 10, &n, &parts)) return false;
    if (n != shape->n_elems)
        return hlomod_fail(s->r, m.data, "a literal of %zu parts for a tuple of %zu", n, shape->n_elems);
    for (size_t i = 0; i < n; leaf += shape->elems[i++].leaves)
        if (!read_literal(s, parts[i], &shape->elems[i], leaf)) return false;
    return true;
}

static bool build_constant(op_in *o, hlomod_value *out) {
    return read_literal(o->s, hlomod_sub(o->s->r, o->inst, 8), &out->shape, out->leaf);
}

static bool build_tuple(op_in *o, hlomod_value *out) {
    hlomod_value all = {.shape.leaves = 0};
    return flat_operands(o, 0, &all.shape.leaves, &all.leaf) && give(o, &all, out);
}

static bool build_element(op_in *o, hlomod_value *out) {
    int64_t index = hlomod_int(o->s->r, o->inst, 13, 0);
    if (!need_operands(o, 1)) return false;
    const hlomod_shape *t = &o->in[0]->shape;
    if (t->type || index < 0 || (size_t)index >= t->n_elems)
        return hlomod_fail(o->s->r, o->inst.data, "element %lld of what has %zu", (long long)index, t->n_elems);
    hlomod_value part = {.shape = t->elems[index], .leaf = o->in[0]->leaf};
    for (int64_t i = 0; i < index; i++) part.leaf += t->elems[i].leaves;
    return give(o, &part, out);
}

static bool build_fusion(op_in *o, hlomod_value *out) {
    hlomod_value root, *args = arena_alloc(o->s->r->scratch, o->n * sizeof *args + 1);
    size_t comp;
    if (!args) return hlomod_oom(o->s->r, o->n * sizeof *args);
    for (size_t i = 0; i < o->n; i++) args[i] = *o->in[i];
    if (o->n_called != 1)
        return hlomod_fail(o->s->r, o->inst.data, "%zu computations are called, expected 1", o->n_called);
    return hlomod_find_comp(o->s, o->inst, o->called[0], &comp) &&
           hlomod_build_body(o->s->r, comp, &o->s->b, o->n, args, &root) && give(o, &root, out);
}

static bool build_call(op_in *o, hlomod_value *out) {
    size_t n;
    ir_value **in;
    if (o->n_called != 1)
        return hlomod_fail(o->s->r, o->inst.data, "%zu computations are called, expected 1", o->n_called);
    const ir_func *f = hlomod_build_callee(o->s, o->inst, o->called[0]);
    if (!f || !flat_operands(o, 0, &n, &in)) return false;
    ir_attr callee = ir_attr_string(&o->s->b, IR_A_callee, f->name);
    return take_results(o, ir_build(&o->s->b, OP_call, n, in, 1, &callee, 0, NULL, out->shape.leaves, o->types), out);
}

/* HLO names the body first, StableHLO the condition. */
static bool build_while(op_in *o, hlomod_value *out) {
    size_t n;
    ir_value **in;
    if (o->n_called != 2)
        return hlomod_fail(o->s->r, o->inst.data, "%zu computations are called, expected 2", o->n_called);
    ir_block *regions[2] = {hlomod_build_region(o->s, o->inst, o->called[1]), NULL};
    if (regions[0]) regions[1] = hlomod_build_region(o->s, o->inst, o->called[0]);
    if (!regions[1] || !flat_operands(o, 0, &n, &in)) return false;
    return take_results(o, ir_build(&o->s->b, OP_while, n, in, 0, NULL, 2, regions, out->shape.leaves, o->types), out);
}

/* The first operand chooses, branch i gets operand i + 1. A predicate chooses the first branch when it holds, as
 * in StableHLO. */
static bool build_conditional(op_in *o, hlomod_value *out) {
    if (!o->n_called || o->n != o->n_called + 1 || o->in[0]->shape.leaves != 1)
        return hlomod_fail(o->s->r, o->inst.data, "%zu operands for %zu branches and what chooses", o->n, o->n_called);
    ir_block **regions = arena_alloc(o->s->r->scratch, o->n_called * sizeof *regions);
    if (!regions) return hlomod_oom(o->s->r, o->n_called * sizeof *regions);
    for (size_t i = 0; i < o->n_called; i++)
        if (!(regions[i] = hlomod_build_branch(o->s, o->inst, o->called[i], *o->in[i + 1]))) return false;
    bool predicate = o->in[0]->leaf[0]->type == ir_scalar(XT_BOOL);
    if (predicate && o->n_called != 2)
        return hlomod_fail(o->s->r, o->inst.data, "a predicate chooses between 2 branches, here are %zu", o->n_called);
    return take_results(o,
                        ir_build(&o->s->b, predicate ? OP_if : OP_case, 1, o->in[0]->leaf, 0, NULL, o->n_called,
                                 regions, out->shape.leaves, o->types),
                        out);
}

/* StableHLO's rng takes its shape as a third operand. */
static bool build_rng(op_in *o, hlomod_value *out) {
    if (!need_operands(o, 2) || !out->shape.type || o->in[0]->shape.leaves != 1 || o->in[1]->shape.leaves != 1)
        return hlomod_fail(o->s->r, o->inst.data, "rng takes two tensors and gives one");
    hlomod_attrs_rng(o->s, o->inst, &o->attrs);
    if (o->s->r->status) return false;
    const ir_type *t = out->shape.type;
    ir_value *shape =
        ir_constant(&o->s->b, ir_tensor(XT_I64, 1, (int64_t[]){t->rank}), t->rank ? t->dims : (const int64_t[]){0});
    ir_value *in[] = {o->in[0]->leaf[0], o->in[1]->leaf[0], shape};
    return take_results(o, ir_build(&o->s->b, OP_rng, 3, in, o->attrs.n, o->attrs.v, 0, NULL, 1, o->types), out);
}

/* StableHLO's has one operand; of several each is an op of its own. */
static bool build_reduce_scatter(op_in *o, hlomod_value *out) {
    size_t n;
    ir_value **in;
    if (!flat_operands(o, 0, &n, &in)) return false;
    if (n < 2) return build_plain(o, out);
    if (n != out->shape.leaves || o->n_called != 1)
        return hlomod_fail(
            o->s->r, o->inst.data,
            "%zu operands, %zu results and %zu computations: expected a result for each operand and one computation", n,
            out->shape.leaves, o->n_called);
    for (size_t i = 0; i < n; i++) {
        ir_block *region = hlomod_build_region(o->s, o->inst, o->called[0]);
        ir_op *op = region ? ir_build(&o->s->b, OP_reduce_scatter, 1, &in[i], o->attrs.n, o->attrs.v, 1, &region, 1,
                                      &o->types[i])
                           : NULL;
        if (!op) return false;
        out->leaf[i] = &op->out[0];
    }
    return true;
}

/* Without groups all replicas are one, of as many members as there are operands. */
static bool group_of_all(op_in *o, size_t n) {
    int64_t *all = arena_alloc(o->s->r->scratch, n * sizeof *all + 1);
    if (!all) return hlomod_oom(o->s->r, n * sizeof *all);
    for (size_t i = 0; i < n; i++) all[i] = (int64_t)i;
    o->attrs.v[0] = ir_attr_ints2(&o->s->b, IR_A_replica_groups, 1, n, all);
    return true;
}

/* An operand for each member of the group: they are put together along a new dim, which is then what is
 * split and joined. */
static bool build_all_to_all_of_parts(op_in *o, hlomod_value *out) {
    ir_builder *b = &o->s->b;
    size_t n;
    ir_value **in;
    int64_t dims[IR_MAX_RANK], start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];
    if (!flat_operands(o, 0, &n, &in)) return false;
    const ir_type *t = n ? in[0]->type : NULL;
    if (n && !o->attrs.v[0].rank2 && !group_of_all(o, n)) return false;
    bool alike =
        n > 0 && n == out->shape.leaves && t->kind == IR_TENSOR && t->rank < IR_MAX_RANK && o->attrs.v[0].rank2 == n;
    for (size_t i = 0; alike && i < n; i++) alike = in[i]->type == t && o->types[i] == t;
    if (!alike)
        return hlomod_fail(o->s->r, o->inst.data,
                           "all-to-all wants an operand for each member of its groups, all of one shape");
    dims[0] = 1;
    for (uint32_t d = 0; d < t->rank; d++) limit[d + 1] = dims[d + 1] = t->dims[d];
    for (size_t i = 0; i < n; i++) in[i] = ir_reshape(b, in[i], t->rank + 1, dims);
    ir_value *all = ir_concatenate(b, n, in, 0);
    o->attrs.v[o->attrs.n++] = ir_attr_int(IR_A_split_dimension, 0);
    o->attrs.v[o->attrs.n++] = ir_attr_int(IR_A_concat_dimension, 0);
    o->attrs.v[o->attrs.n++] = ir_attr_int(IR_A_split_count, (int64_t)n);
    ir_op *op = all ? ir_build(b, OP_all_to_all, 1, &all, o->attrs.n, o->attrs.v, 0, NULL, 1, &all->type) : NULL;
    for (size_t i = 0; op && i < n; i++) {
        start[0] = (int64_t)i;
        limit[0] = (int64_t)i + 1;
        ir_value *part = ir_slice(b, &op->out[0], start, limit, NULL);
        if (!part || !(out->leaf[i] = ir_reshape(b, part, t->rank, t->dims))) return false;
    }
    return op != NULL;
}

/* The form with one operand has a dimension to split. */
static bool build_all_to_all(op_in *o, hlomod_value *out) {
    size_t n;
    int64_t *dims;
    if (!hlomod_ints(o->s->r, o->inst, 14, &n, &dims)) return false;
    const ir_attr *groups = &o->attrs.v[0];
    if (!n || !out->shape.type) return build_all_to_all_of_parts(o, out);
    if (!groups->rank2) return hlomod_fail(o->s->r, o->inst.data, "all-to-all needs replica groups");
    o->attrs.v[o->attrs.n++] = ir_attr_int(IR_A_split_dimension, dims[0]);
    o->attrs.v[o->attrs.n++] = ir_attr_int(IR_A_concat_dimension, dims[0]);
    o->attrs.v[o->attrs.n++] = ir_attr_int(IR_A_split_count, groups->rank2);
    return build_plain(o, out);
}

/* Start indices may come as one vector, which is how PyTorch/XLA's randperm sends them; StableHLO has a scalar
 * for each dim. */
static bool build_dynamic(op_in *o, hlomod_value *out) {
    size_t first = o->code == OP_dynamic_slice ? 1 : 2, n;
    ir_value **in;
    if (!flat_operands(o, 0, &n, &in)) return false;
    const ir_type *starts = n == first + 1 ? in[first]->type : NULL;
    if (!starts || starts->kind != IR_TENSOR || starts->rank != 1) return build_plain(o, out);
    if (starts->dims[0] != (int64_t)in[0]->type->rank)
        return hlomod_fail(o->s->r, o->inst.data, "%lld start indices for %u dims", (long long)starts->dims[0],
                           (unsigned)in[0]->type->rank);
    ir_value *all[2 + IR_MAX_RANK];
    memcpy(all, in, first * sizeof *all);
    for (int64_t i = 0; i < starts->dims[0]; i++)
        all[first + (size_t)i] =
            ir_reshape(&o->s->b, ir_slice(&o->s->b, in[first], &i, (int64_t[]){i + 1}, NULL), 0, NULL);
    return take_results(o,
                        ir_build(&o->s->b, o->code, first + (size_t)starts->dims[0], all, o->attrs.n, o->attrs.v, 0,
                                 NULL, out->shape.leaves, o->types),
                        out);
}

static const op_row rows[] = {
#define HLO(text, op, dims, attrs, build) {text, OP_##op, IR_A_##dims, attrs, build},
#include "format/hlo.def"
#undef HLO
};

/* An elementwise op without a row of its own is spelt as the IR has it, with hyphens. */
static bool find_row(const char *text, op_row *out) {
    char name[64];
    size_t n = strlen(text);
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (strcmp(rows[i].text, text) == 0) {
            *out = rows[i];
            return true;
        }
    if (n >= sizeof name || strchr(text, '_')) return false;
    for (size_t i = 0; i <= n; i++) name[i] = text[i] == '-' ? '_' : text[i];
    *out = (op_row){.text = text};
    return ir_opcode_from_name("stablehlo", name, &out->code) && ir_op_infos[out->code].flags & IR_ELEMENTWISE;
}

static bool find_operands(op_in *o) {
    int64_t *ids;
    hlomod_reader *r = o->s->r;
    if (!hlomod_ints(r, o->inst, 36, &o->n, &ids) || !hlomod_ints(r, o->inst, 38, &o->n_called, &o->called))
        return false;
    o->in = arena_alloc(r->scratch, o->n * sizeof(hlomod_value *) + 1);
    if (!o->in) return hlomod_oom(r, o->n * sizeof(hlomod_value *));
    for (size_t i = 0; i < o->n; i++)
        if (!(o->in[i] = map_get(o->s->values, &ids[i], sizeof ids[i])))
            return hlomod_fail(r, o->inst.data,
                               "operand %zu of '%s' is instruction %lld, which does not stand before it", i,
                               hlomod_text(r, o->inst, 1), (long long)ids[i]);
    return true;
}

bool hlomod_build_inst(hlomod_scope *s, hlomod_msg inst, hlomod_value *out) {
    hlomod_reader *r = s->r;
    op_in o = {.s = s, .inst = inst};
    const char *text = hlomod_text(r, inst, 2);
    op_row row;
    bool known = find_row(text, &row);
    if (r->status) return false;
    if (!known)
        return hlomod_fail(r, inst.data, "the HLO opcode '%s' is not known here (instruction '%s')", text,
                           hlomod_text(r, inst, 1));
    if (!hlomod_read_shape(r, hlomod_sub(r, inst, 3), &out->shape) || !find_operands(&o)) return false;
    o.code = row.code;
    o.types = arena_alloc(r->scratch, out->shape.leaves * sizeof *o.types + 1);
    out->leaf = arena_alloc(r->scratch, out->shape.leaves * sizeof(ir_value *) + 1);
    if (!o.types || !out->leaf) return hlomod_oom(r, out->shape.leaves * sizeof *o.types);
    hlomod_leaf_types(&out->shape, o.types);
    hlomod_dimensions_attr(s, inst, row.dims, &o.attrs);
    if (row.attrs) row.attrs(s, inst, &o.attrs);
    if (r->status || s->b.status) return false;
    return row.build ? row.build(&o, out) : build_plain(&o, out);
}
