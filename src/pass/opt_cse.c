/* needs: nothing. keeps: meaning. Of equal ops without effect, later ones are replaced by the first in scope. Ops are
 * compared by a key: opcode, attributes, result types, operands by identity, regions by content with their own values
 * numbered in order. optimization_barrier stays, since keeping two computations apart is what it is for. */
#include "pass/rewrite.h"

enum { LARGEST_LITERAL = 1 << 16 }; /* bytes; larger ones are equal only when they are the same memory */

typedef struct table {
    map *ops; /* key -> ir_op of the first of its kind in scope */
    str *keys; /* of the ops entered, to leave a scope again */
    size_t n, cap;
} table;

typedef struct keyer {
    str *out;
    uint64_t epoch; /* of values inside the op */
    uint32_t next;
} keyer;

static void put(keyer *k, const void *p, size_t n) {
    str_appendn(k->out, p, n);
}
static void put_int(keyer *k, uint64_t v) {
    put(k, &v, sizeof v);
}

static void put_attr(keyer *k, const ir_attr *a) {
    put_int(k, (uint64_t)a->key << 32 | (uint64_t)a->kind << 16 | a->dtype);
    if (a->key == IR_A_none) put(k, a->name, strlen(a->name) + 1);
    switch (a->kind) {
    case IR_AK_BOOL: put_int(k, a->v.b); return;
    case IR_AK_UNIT: return;
    case IR_AK_INT:
    case IR_AK_ENUM:
    case IR_AK_FLOAT: put(k, &a->v.i, sizeof a->v.i); return;
    case IR_AK_TYPE: put_int(k, a->v.type->id); return;
    case IR_AK_STRING:
    case IR_AK_SYMBOL:
    case IR_AK_OPAQUE: put_int(k, a->n), put(k, a->v.s, a->n); return;
    case IR_AK_INTS:
    case IR_AK_BOOLS:
    case IR_AK_ENUMS: put_int(k, a->n), put_int(k, a->rank2), put(k, a->v.ints, a->n * sizeof *a->v.ints); return;
    case IR_AK_ARRAY:
    case IR_AK_DICT:
        put_int(k, a->n);
        for (size_t i = 0; i < a->n; i++) put_attr(k, &a->v.list[i]);
        return;
    case IR_AK_DENSE: {
        const ir_literal *lit = &a->v.dense;
        bool splat = lit->splat || lit->type->count == 1;
        size_t bytes = splat ? xt_dtype_size(lit->type->dtype) : ir_type_bytes(lit->type);
        put_int(k, (uint64_t)lit->type->id << 1 | splat);
        if (bytes <= LARGEST_LITERAL)
            put(k, lit->data, bytes);
        else
            put(k, &lit->data, sizeof lit->data);
    }
    }
}

static void put_value(keyer *k, const ir_value *v) {
    bool local = v->mark >> 32 == k->epoch >> 32;
    put_int(k, local ? v->mark & UINT32_MAX : (uint64_t)(uintptr_t)v);
}

static void put_local(keyer *k, ir_value *v) {
    v->mark = k->epoch | k->next++;
    put_int(k, v->type->id);
}

static void put_op(keyer *k, const ir_op *op, bool inner) {
    put_int(k, (uint64_t)op->code << 32 | op->n_in);
    bool swap = (ir_op_infos[op->code].flags & IR_COMMUTES) && op->n_in == 2 && !inner &&
                (uintptr_t)op->in[0] > (uintptr_t)op->in[1];
    for (uint32_t i = 0; i < op->n_in; i++) put_value(k, op->in[swap ? 1 - i : i]);
    put_int(k, op->n_attrs);
    for (uint32_t i = 0; i < op->n_attrs; i++) put_attr(k, &op->attrs[i]);
    put_int(k, (uint64_t)op->n_out << 32 | op->n_regions);
    for (uint32_t i = 0; i < op->n_out; i++) {
        if (inner)
            put_local(k, &op->out[i]);
        else
            put_int(k, op->out[i].type->id);
    }
    for (uint32_t r = 0; r < op->n_regions; r++) {
        const ir_block *b = op->regions[r].block;
        put_int(k, b ? b->n_args : UINT64_MAX);
        for (size_t i = 0; b && i < b->n_args; i++) put_local(k, b->args[i]);
        for (const ir_op *o = b ? b->first : NULL; o; o = o->next) put_op(k, o, true);
    }
}

/* Enters the op, or replaces its results by those of an equal one. */
static xt_status visit_op(table *t, rewriter *r, pass_ctx *c, ir_op *op) {
    if (!op->n_out || op->code == OP_optimization_barrier || !ir_op_is_pure(op)) return NULL;
    str key = STR_INIT;
    put_op(&(keyer){.out = &key, .epoch = ir_new_epoch()}, op, false);
    ir_op *first = key.failed ? NULL : map_get(t->ops, key.data, key.len);
    bool good = !key.failed;
    if (first) {
        for (uint32_t i = 0; good && i < op->n_out; i++) good = rewrite_value(r, &op->out[i], &first->out[i]);
        c->changed |= good && op->n_out;
    } else if (good && (good = map_put(t->ops, key.data, key.len, op, NULL))) {
        good = VEC_PUSH(t->keys, t->n, t->cap, key);
        if (good) return NULL; /* the table owns the key now */
    }
    str_free(&key);
    return good ? NULL : status_oom(sizeof *op, "common subexpressions");
}

static void leave_scope(table *t, size_t n) {
    while (t->n > n) {
        str *key = &t->keys[--t->n];
        map_remove(t->ops, key->data, key->len);
        str_free(key);
    }
}

static xt_status walk(table *t, rewriter *r, pass_ctx *c, ir_block *b);

/* Branches and loops may read values from outside. Computations of reduce, sort and the like are kept closed, as other
 * compilers want them: they look in a table of their own. */
static xt_status walk_regions(table *t, rewriter *r, pass_ctx *c, ir_op *op) {
    bool open = op->code == OP_if || op->code == OP_case || op->code == OP_while;
    table own = {0};
    xt_status s = NULL;
    if (!open && op->n_regions && !(own.ops = map_new())) return status_oom(sizeof own, "common subexpressions");
    for (uint32_t i = 0; !s && i < op->n_regions; i++) s = walk(open ? t : &own, r, c, op->regions[i].block);
    base_free(own.keys);
    map_free(own.ops, NULL);
    return s;
}

/* A duplicate stays without readers, for opt_dce to remove. */
static xt_status walk(table *t, rewriter *r, pass_ctx *c, ir_block *b) {
    size_t scope = t->n;
    xt_status s = NULL;
    for (ir_op *op = b ? b->first : NULL; !s && op; op = op->next) {
        rewrite_operands(r, op);
        s = walk_regions(t, r, c, op);
        if (!s) s = visit_op(t, r, c, op);
    }
    leave_scope(t, scope);
    return s;
}

xt_status pass_opt_cse(pass_ctx *c, ir_module *m) {
    table t = {.ops = map_new()};
    rewriter r = REWRITER_INIT;
    xt_status s = t.ops ? NULL : status_oom(sizeof t, "common subexpressions");
    for (ir_func *f = m->funcs; !s && f; f = f->next) s = walk(&t, &r, c, f->body);
    base_free(t.keys);
    map_free(t.ops, NULL);
    rewriter_deinit(&r);
    return s;
}
