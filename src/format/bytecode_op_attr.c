/* An op's attributes as the IR has them, from those of the file: vhlo says every default and has flat members,
 * stablehlo leaves defaults out and has structures; both end in the form that the text parser gives. */
#include "format/bytecode_int.h"
#include "ir/sdy.h"
#include "ir/text.h"

enum { MAX_ATTRS = 4096 }; /* of one op: each is compared with all others */

/* Hints for sdy's propagation that have no form here (how a LAPACK call may be divided): left out, for jaxlib reads no
 * text that has the stand-in. */
static bool is_unknown_hint(const ir_attr *a) {
    return !a->key && a->kind == IR_AK_OPAQUE && a->n == strlen(BC_SDY_UNKNOWN) &&
           memcmp(a->v.s, BC_SDY_UNKNOWN, a->n) == 0;
}

bool bc_push(bc_reader *r, const void *at, bc_attrs *l, ir_attr a) {
    if (is_unknown_hint(&a)) return true;
    for (size_t i = 0; i < l->n; i++)
        if (a.key ? l->items[i].key == a.key : !l->items[i].key && strcmp(l->items[i].name, a.name) == 0)
            return bc_fail(r, at, "attribute '%s' is given twice", a.name);
    if (l->n >= MAX_ATTRS) return bc_fail(r, at, "an op of more than %d attributes", MAX_ATTRS);
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        ir_attr *grown = arena_alloc(r->scratch, cap * sizeof *grown);
        if (!grown) return bc_oom(r);
        if (l->n) memcpy(grown, l->items, l->n * sizeof *grown);
        l->items = grown;
        l->cap = cap;
    }
    l->items[l->n++] = a;
    return true;
}

static ir_attr *find(const bc_attrs *l, ir_attr_key k) {
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].key == k) return &l->items[i];
    return NULL;
}

static ir_attr *find_named(const bc_attrs *l, const char *name) {
    for (size_t i = 0; i < l->n; i++)
        if (!l->items[i].key && strcmp(l->items[i].name, name) == 0) return &l->items[i];
    return NULL;
}

static void drop(bc_attrs *l, ir_attr *a) {
    *a = l->items[--l->n];
}

/* --- Kinds --- */

static bool literal_ints(bc_reader *r, const void *at, const ir_literal *l, ir_attr *out) {
    enum { MOST = 1 << 16 }; /* a splat of dims is unfolded; no op has more numbers */
    const ir_type *t = l->type;
    size_t size = xt_dtype_size(t->dtype);
    if (t->count > MOST || t->rank > 2) return bc_fail(r, at, "%lld numbers in an attribute", (long long)t->count);
    if (!ir_dtype_is_int(t->dtype) && t->dtype != XT_BOOL)
        return bc_fail(r, at, "an attribute of integers holds %s", ir_dtype_mlir(t->dtype));
    int64_t *v = arena_alloc(r->m->mem, (size_t)t->count * sizeof *v + 1);
    if (!v) return bc_oom(r);
    for (int64_t i = 0; i < t->count; i++) {
        memcpy(&v[i], (const char *)l->data + (l->splat ? 0 : (size_t)i * size), size);
        if (size < 8 && ir_dtype_is_signed(t->dtype))
            v[i] = (int64_t)((uint64_t)v[i] << (64 - 8 * size)) >> (64 - 8 * size);
    }
    out->n = (size_t)t->count;
    out->v.ints = v;
    out->rank2 = t->rank == 2 ? (uint32_t)t->dims[1] : 0;
    return true;
}

static bool array_enums(bc_reader *r, const void *at, const ir_attr *list, ir_attr *out) {
    int64_t *v = arena_alloc(r->m->mem, list->n * sizeof *v + 1);
    if (!v) return bc_oom(r);
    for (size_t i = 0; i < list->n; i++) {
        if (list->v.list[i].kind != IR_AK_ENUM || !ir_enum_name(out->key, list->v.list[i].v.i))
            return bc_fail(r, at, "attribute '%s' holds something else than members of its enumeration", out->name);
        v[i] = list->v.list[i].v.i;
    }
    out->n = list->n;
    out->v.ints = v;
    return true;
}

static bool wrong_kind(bc_reader *r, const void *at, const char *name) {
    return bc_fail(r, at, "attribute '%s' has another kind of value than its op wants", name);
}

/* Gives `out`, whose key and kind are set, the value of a. */
static bool convert(bc_reader *r, const void *at, const ir_attr *a, ir_attr *out) {
    ir_attr_key key = out->key;
    const char *name = out->name;
    switch (out->kind) {
    case IR_AK_INTS:
    case IR_AK_BOOLS:
        if (a->kind == IR_AK_DENSE) return literal_ints(r, at, &a->v.dense, out);
        if (a->kind != IR_AK_INTS && a->kind != IR_AK_BOOLS) return wrong_kind(r, at, name);
        out->n = a->n;
        out->v.ints = a->v.ints;
        return true;
    case IR_AK_ENUMS: return a->kind == IR_AK_ARRAY ? array_enums(r, at, a, out) : wrong_kind(r, at, name);
    case IR_AK_ENUM:
        if (a->kind != IR_AK_ENUM || !ir_enum_name(key, a->v.i)) return wrong_kind(r, at, name);
        out->v.i = a->v.i;
        return true;
    case IR_AK_INT:
        if (a->kind != IR_AK_INT && a->kind != IR_AK_ENUM) return wrong_kind(r, at, name);
        out->v.i = a->v.i;
        if (text_key_is_i32(key)) out->dtype = XT_I32;
        return true;
    case IR_AK_SYMBOL:
        if (a->kind != IR_AK_STRING && a->kind != IR_AK_SYMBOL) return wrong_kind(r, at, name);
        out->n = a->n;
        out->v.s = a->v.s;
        return true;
    default: break;
    }
    if (out->kind != IR_AK_OPAQUE && out->kind != a->kind) return wrong_kind(r, at, name);
    *out = *a;
    out->key = key;
    out->name = name;
    return true;
}

/* Names in called_computations are symbols, which vhlo writes as strings. */
static bool symbols(bc_reader *r, const ir_attr *a, ir_attr *out) {
    ir_attr *list = arena_copy(r->m->mem, a->v.list, a->n * sizeof *list + (a->n == 0));
    if (!list) return bc_oom(r);
    for (size_t i = 0; i < a->n; i++)
        if (list[i].kind == IR_AK_STRING) list[i].kind = IR_AK_SYMBOL;
    out->v.list = list;
    return true;
}

/* Replica groups by the axes of a mesh, which stands before the function that names it. */
static bool mesh_groups(bc_reader *r, const void *at, const char *text, ir_attr *out) {
    int64_t n, width, *ids;
    xt_status s = ir_sdy_groups_of(r->m, text, &n, &width, &ids);
    if (s) {
        bc_refuse(r, at, "%s", status_text(s));
        xt_status_free(s);
        return false;
    }
    out->n = (size_t)(n * width);
    out->rank2 = (uint32_t)width;
    out->v.ints = arena_copy(r->m->mem, ids, out->n * sizeof *ids);
    base_free(ids);
    return out->v.ints || bc_oom(r);
}

bool bc_push_op_attr(bc_reader *r, const void *at, const bc_op_name *op, const char *name, const bc_attr *a,
                     bc_attrs *out) {
    if (a->structure) {
        for (size_t i = 0; i < a->a.n; i++) {
            const ir_attr *m = &a->a.v.list[i];
            if (!bc_push_op_attr(r, at, op, m->name, &(bc_attr){.a = *m}, out)) return false;
        }
        return true;
    }
    ir_attr one = {.key = ir_attr_key_from_name(name, strlen(name)), .name = name, .dtype = XT_I64};
    if (!one.key) {
        one = a->a;
        if (!(one.name = bc_keep(r, name, strlen(name)))) return false;
        return bc_push(r, at, out, one);
    }
    /* which StableHLO has as a unit; its key takes a value too */
    one.kind = one.key == IR_A_has_dynamic_root ? IR_AK_UNIT : ir_attr_key_kind(one.key);
    one.name = ir_attr_key_name(one.key);
    if (one.kind == IR_AK_UNIT) { /* a boolean in vhlo */
        if (a->a.kind == IR_AK_BOOL && !a->a.v.b) return true;
        if (a->a.kind != IR_AK_BOOL && a->a.kind != IR_AK_UNIT) return wrong_kind(r, at, name);
        return bc_push(r, at, out, one);
    }
    if (one.kind == IR_AK_INTS && a->a.kind == IR_AK_OPAQUE && ir_sdy_is_groups(a->a.v.s))
        return mesh_groups(r, at, a->a.v.s, &one) && bc_push(r, at, out, one);
    if (one.kind == IR_AK_INTS && a->a.kind == IR_AK_OPAQUE)
        return bc_refuse(r, at, "attribute '%s' is not a list of numbers: %.60s", name, a->a.v.s);
    if (!convert(r, at, &a->a, &one)) return false;
    if (one.key == IR_A_called_computations && one.kind == IR_AK_ARRAY && !symbols(r, &a->a, &one)) return false;
    return bc_push(r, at, out, one);
}

/* --- Groups of attributes --- */

static ir_attr int_attr(ir_attr_key k, int64_t v) {
    return (ir_attr){.key = k, .kind = IR_AK_INT, .name = ir_attr_key_name(k), .dtype = XT_I64, .v.i = v};
}

/* A channel of number 0 is none; a channel has a type. */
static bool join_channel(bc_reader *r, const void *at, const bc_op_name *op, bc_attrs *l) {
    ir_attr *id = find(l, IR_A_channel_id);
    if (!id || find(l, IR_A_channel_type)) return true;
    if (id->v.i == 0 && op->code != OP_send && op->code != OP_recv) {
        drop(l, id);
        return true;
    }
    return bc_push(r, at, l, int_attr(IR_A_channel_type, 0));
}

/* The members of dot_general's algorithm, which are types called none when there is no algorithm. */
static bool join_algorithm(bc_reader *r, const void *at, bc_attrs *l) {
    static const char *const names[] = {
        "lhs_precision_type",  "rhs_precision_type",       "accumulation_type",           "lhs_component_count",
        "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"};
    ir_attr part[7];
    for (size_t i = 0; i < 7; i++) {
        ir_attr *a = find_named(l, names[i]);
        if (!a) return i == 0 || bc_fail(r, at, "dot_general's algorithm lacks %s", names[i]);
        part[i] = *a;
        drop(l, a);
    }
    if (part[3].kind != IR_AK_INT) return true;
    const char *types[3];
    int64_t counts[3];
    for (int i = 0; i < 3; i++) {
        if (part[i].kind != IR_AK_OPAQUE || part[3 + i].kind != IR_AK_INT || part[6].kind != IR_AK_BOOL)
            return wrong_kind(r, at, "algorithm");
        types[i] = part[i].v.s;
        counts[i] = part[3 + i].v.i;
    }
    ir_attr one;
    if (!bc_dot_algorithm_text(r, types, counts, part[6].v.b, &one)) return false;
    one.key = IR_A_algorithm;
    one.name = ir_attr_key_name(one.key);
    return bc_push(r, at, l, one);
}

static bool add_empty(bc_reader *r, const void *at, bc_attrs *l, ir_attr_key k) {
    return find(l, k) ||
           bc_push(r, at, l, (ir_attr){.key = k, .kind = IR_AK_INTS, .name = ir_attr_key_name(k), .dtype = XT_I64});
}

/* Ops of before StableHLO 1.1 know no batching dimensions; dynamic_conv of before 0.20 had a padding that its
 * operand overrides. */
static bool upgrade(bc_reader *r, const void *at, const bc_op_name *op, bc_attrs *l) {
    if (op->code == OP_gather || op->code == OP_dynamic_gather)
        return add_empty(r, at, l, IR_A_operand_batching_dims) && add_empty(r, at, l, IR_A_start_indices_batching_dims);
    if (op->code == OP_scatter)
        return add_empty(r, at, l, IR_A_input_batching_dims) && add_empty(r, at, l, IR_A_scatter_indices_batching_dims);
    ir_attr *padding = op->code == OP_dynamic_conv ? find(l, IR_A_padding) : NULL;
    if (padding) drop(l, padding);
    return true;
}

bool bc_finish_op_attrs(bc_reader *r, const void *at, const bc_op_name *op, bc_attrs *l) {
    bc_drop_defaults(op->code, l->items, &l->n);
    if (op->dialect != BC_VHLO) return true;
    if (op->code == OP_dot_general && !join_algorithm(r, at, l)) return false;
    return join_channel(r, at, op, l) && upgrade(r, at, op, l);
}
