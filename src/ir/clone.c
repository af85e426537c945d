/* Copying: a whole module, or just what some values need.
 *
 * A copied value is found through value.mark = epoch | index into `values`; marks of another epoch mean "not copied
 * yet". ir_extract walks the graph depth first with a stack of its own, because a recorded graph may be a chain of a
 * hundred thousand ops; only regions, whose nesting the program's text bounds, are copied by recursion. The order of
 * the copy depends on the graph's shape alone, not on the order of recording, so equal graphs give equal programs. */
#include "ir/build.h"

typedef struct copier {
    ir_module *to;
    ir_op *before; /* copies go before this op of `to`; NULL: at the end of their block */
    uint64_t epoch;
    ir_value **values;
    size_t n_values, cap_values;
    bool outside_stays; /* an operand that was not copied is read as it is */
    bool (*is_leaf)(const ir_value *, void *);
    void *user;
    ir_func *main;
    ir_value **leaves;
    size_t n_leaves, cap_leaves;
    struct frame *stack;
    size_t n_stack, cap_stack;
} copier;

typedef struct frame {
    ir_value *value;
    bool expanded;
} frame;

static xt_status out_of_memory(void) {
    return status_oom(sizeof(ir_op), "a copy of a graph");
}

static ir_value *copied(const copier *c, const ir_value *v) {
    return v->mark >> 32 == c->epoch >> 32 ? c->values[(uint32_t)v->mark] : NULL;
}

static bool remember(copier *c, ir_value *from, ir_value *to) {
    if (!to || c->n_values >= UINT32_MAX || !VEC_PUSH(c->values, c->n_values, c->cap_values, to)) return false;
    from->mark = c->epoch | (c->n_values - 1);
    return true;
}

/* --- Attributes: payloads move to the new arena --- */
static bool own_attr(arena *mem, ir_attr *a);

static bool own_list(arena *mem, ir_attr *a) {
    ir_attr *list = arena_copy(mem, a->v.list, a->n * sizeof *list);
    if (!list) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!own_attr(mem, &list[i])) return false;
    a->v.list = list;
    return true;
}

static bool own_attr(arena *mem, ir_attr *a) {
    if (a->key == IR_A_none && a->name && !(a->name = arena_strdup(mem, a->name))) return false;
    switch (a->kind) {
    case IR_AK_STRING:
    case IR_AK_SYMBOL:
    case IR_AK_OPAQUE: {
        char *text = arena_alloc(mem, a->n + 1);
        if (text) memcpy(text, a->v.s, a->n);
        a->v.s = text;
        return text;
    }
    case IR_AK_INTS:
    case IR_AK_BOOLS:
    case IR_AK_ENUMS: return (a->v.ints = arena_copy(mem, a->v.ints, a->n * sizeof *a->v.ints));
    case IR_AK_DENSE: {
        const ir_literal *lit = &a->v.dense;
        size_t bytes = lit->splat ? xt_dtype_size(lit->type->dtype) : ir_type_bytes(lit->type);
        return (a->v.dense.data = arena_copy(mem, lit->data, bytes));
    }
    case IR_AK_ARRAY:
    case IR_AK_DICT: return own_list(mem, a);
    default: return true;
    }
}

/* --- Ops and blocks --- */
static bool copy_op(copier *c, ir_block *into, const ir_op *op);

static bool copy_block(copier *c, const ir_block *from, ir_block *into) {
    for (size_t i = 0; i < from->n_args; i++)
        if (!remember(c, from->args[i], ir_block_arg(c->to, into, from->args[i]->type))) return false;
    for (const ir_op *op = from->first; op; op = op->next)
        if (!copy_op(c, into, op)) return false;
    return true;
}

static bool copy_regions(copier *c, ir_op *op) {
    for (uint32_t r = 0; r < op->n_regions; r++) {
        const ir_block *from = op->regions[r].block;
        if (!from) continue;
        ir_block *to = op->regions[r].block = ir_block_new(c->to);
        if (!to) return false;
        to->owner = op;
        if (!copy_block(c, from, to)) return false;
    }
    return true;
}

/* Operands have been copied before; a missing one means a graph that is not in SSA form. */
static bool copy_op(copier *c, ir_block *into, const ir_op *op) {
    ir_builder b = ir_at_end(c->to, into);
    b.before = c->before && c->before->block == into ? c->before : NULL;
    ir_op *copy = build_raw(&b, op, op->n_out, NULL);
    if (!copy) return false;
    for (uint32_t i = 0; i < op->n_in; i++) {
        ir_value *v = copied(c, op->in[i]);
        if (!v && c->outside_stays) v = op->in[i];
        if (!v) return false;
        copy->in[i] = v;
        v->uses++;
    }
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (!own_attr(c->to->mem, &copy->attrs[i])) return false;
    if (!copy_regions(c, copy)) return false;
    for (uint32_t i = 0; i < op->n_out; i++) {
        ir_value *out = &op->out[i];
        /* a leaf stays an argument, should it be needed */
        if (copied(c, out) || (c->is_leaf && c->is_leaf(out, c->user))) continue;
        if (!remember(c, out, &copy->out[i])) return false;
    }
    return true;
}

/* --- Extraction --- */
/* Leaves become arguments here; what else is not copied yet goes on the stack. */
static xt_status need(copier *c, ir_value *v) {
    if (copied(c, v)) return NULL;
    if (c->is_leaf(v, c->user)) {
        if (!remember(c, v, ir_func_arg(c->main, v->type)) || !VEC_PUSH(c->leaves, c->n_leaves, c->cap_leaves, v))
            return out_of_memory();
        return NULL;
    }
    if (!v->def)
        return status_new(XT_INTERNAL, NULL,
                          "a graph to be compiled reads argument %u of a block, which is not one of its inputs",
                          v->index);
    frame f = {v, false};
    return VEC_PUSH(c->stack, c->n_stack, c->cap_stack, f) ? NULL : out_of_memory();
}

static bool inside(const ir_value *v, const ir_op *op) {
    for (const ir_block *b = v->block; b; b = b->owner ? b->owner->block : NULL)
        if (b->owner == op) return true;
    return false;
}

/* Values that regions read from outside the op. */
static xt_status need_captured(copier *c, const ir_op *outer, const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++)
            if (!inside(op->in[i], outer)) XT_TRY(need(c, op->in[i]));
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(need_captured(c, outer, op->regions[r].block));
    }
    return NULL;
}

static xt_status expand(copier *c, const ir_op *op) {
    size_t before = c->n_stack;
    for (uint32_t i = 0; i < op->n_in; i++) XT_TRY(need(c, op->in[i]));
    for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(need_captured(c, op, op->regions[r].block));
    for (size_t i = before, j = c->n_stack; i + 1 < j; i++) { /* the first operand is computed first */
        frame f = c->stack[i];
        c->stack[i] = c->stack[--j];
        c->stack[j] = f;
    }
    return NULL;
}

static xt_status copy_needed(copier *c, ir_value *root) {
    XT_TRY(need(c, root));
    while (c->n_stack) {
        frame *top = &c->stack[c->n_stack - 1];
        ir_value *v = top->value;
        if (copied(c, v)) {
            c->n_stack--;
        } else if (!top->expanded) {
            top->expanded = true;
            XT_TRY(expand(c, v->def));
        } else if (c->n_stack--, !copy_op(c, c->main->body, v->def)) {
            return out_of_memory();
        }
    }
    return NULL;
}

static xt_status extract(copier *c, size_t n, ir_value *const *roots, const char *name) {
    ir_value *small[32], **results = n <= 32 ? small : arena_alloc(c->to->mem, n * sizeof *results);
    c->to->name = name ? arena_strdup(c->to->mem, name) : NULL;
    c->main = ir_func_new(c->to, "main", true);
    if (!c->main || !results || (name && !c->to->name)) return out_of_memory();
    for (size_t i = 0; i < n; i++) {
        XT_TRY(copy_needed(c, roots[i]));
        results[i] = copied(c, roots[i]);
    }
    ir_builder b = ir_at_end(c->to, c->main->body);
    ir_return(&b, n, results);
    return b.status;
}

xt_status ir_extract(size_t n, ir_value *const *roots, const char *name, bool (*is_leaf)(const ir_value *, void *),
                     void *user, ir_module **out, ir_value ***out_leaves, size_t *out_n_leaves) {
    copier c = {.to = ir_module_new(), .epoch = ir_new_epoch(), .is_leaf = is_leaf, .user = user};
    *out = NULL;
    *out_leaves = NULL;
    *out_n_leaves = 0;
    if (!c.to) return out_of_memory();
    xt_status s = extract(&c, n, roots, name);
    ir_value **leaves = s ? NULL : arena_copy(c.to->mem, c.leaves, c.n_leaves * sizeof *leaves);
    if (!s && !leaves) s = out_of_memory();
    if (s) {
        ir_module_free(c.to);
    } else {
        *out = c.to;
        *out_leaves = leaves;
        *out_n_leaves = c.n_leaves;
    }
    base_free(c.values);
    base_free(c.leaves);
    base_free(c.stack);
    return s;
}

/* --- Whole modules --- */
static bool copy_attr_lists(arena *mem, size_t n, ir_attr *const *from, const size_t *counts, ir_attr ***out,
                            size_t **out_counts) {
    ir_attr **lists = arena_alloc(mem, n * sizeof *lists);
    size_t *ns = arena_alloc(mem, n * sizeof *ns);
    if (!lists || !ns) return false;
    for (size_t i = 0; i < n; i++) {
        ir_attr list = {.kind = IR_AK_ARRAY, .n = counts[i], .v.list = from[i]};
        if (!own_list(mem, &list)) return false;
        lists[i] = (ir_attr *)list.v.list;
        ns[i] = counts[i];
    }
    *out = lists;
    *out_counts = ns;
    return true;
}

static bool copy_func(copier *c, const ir_func *from) {
    arena *mem = c->to->mem;
    ir_func *f = ir_func_new(c->to, from->name, from->is_public);
    if (!f) return false;
    f->n_results = from->n_results;
    if (from->result_types &&
        !(f->result_types = arena_copy(mem, from->result_types, from->n_results * sizeof *f->result_types)))
        return false;
    if (!from->body)
        f->body = NULL;
    else if (!copy_block(c, from->body, f->body))
        return false;
    f->cap_arg_attrs = from->arg_attrs ? from->cap_arg_attrs : 0;
    if (from->arg_attrs &&
        !copy_attr_lists(mem, from->cap_arg_attrs, from->arg_attrs, from->n_arg_attrs, &f->arg_attrs, &f->n_arg_attrs))
        return false;
    return !from->result_attrs || copy_attr_lists(mem, from->n_results, from->result_attrs, from->n_result_attrs,
                                                  &f->result_attrs, &f->n_result_attrs);
}

xt_status ir_module_clone(const ir_module *m, ir_module **out) {
    copier c = {.to = ir_module_new(), .epoch = ir_new_epoch()};
    *out = NULL;
    if (!c.to) return out_of_memory();
    ir_attr attrs = {.kind = IR_AK_ARRAY, .n = m->n_attrs, .v.list = m->attrs};
    ir_attr meshes = {.kind = IR_AK_ARRAY, .n = m->n_meshes, .v.list = m->meshes};
    bool good = own_list(c.to->mem, &attrs) && own_list(c.to->mem, &meshes) &&
                (!m->name || (c.to->name = arena_strdup(c.to->mem, m->name)));
    c.to->attrs = (ir_attr *)attrs.v.list;
    c.to->n_attrs = m->n_attrs;
    c.to->meshes = (ir_attr *)meshes.v.list;
    c.to->n_meshes = m->n_meshes;
    for (const ir_func *f = m->funcs; good && f; f = f->next) good = copy_func(&c, f);
    base_free(c.values);
    if (good)
        *out = c.to;
    else
        ir_module_free(c.to);
    return good ? NULL : out_of_memory();
}

/* --- Inlining --- */
static bool inline_body(copier *c, const ir_block *body, ir_op *call, ir_value **out_results) {
    const ir_op *ret = ir_block_return(body);
    for (size_t i = 0; i < body->n_args; i++)
        if (!remember(c, body->args[i], call->in[i])) return false;
    for (const ir_op *op = body->first; op != ret; op = op->next)
        if (!copy_op(c, call->block, op)) return false;
    for (uint32_t i = 0; i < ret->n_in; i++)
        if (!(out_results[i] = copied(c, ret->in[i]))) return false;
    return true;
}

xt_status ir_inline_body(ir_module *m, const ir_block *body, ir_op *call, ir_value **out_results) {
    if (!ir_block_return(body) || body->n_args != call->n_in)
        return status_new(XT_INVALID_ARGUMENT, call->src ? src_get(call->src) : NULL,
                          "a function of %zu arguments is called with %u", body->n_args, call->n_in);
    copier c = {.to = m, .before = call, .epoch = ir_new_epoch()};
    bool good = inline_body(&c, body, call, out_results);
    base_free(c.values);
    return good ? NULL : out_of_memory();
}

xt_status ir_copy_range(const ir_builder *b, const ir_op *first, const ir_op *last, size_t n, ir_value *const *from,
                        ir_value *const *to) {
    copier c = {.to = b->m, .before = b->before, .epoch = ir_new_epoch(), .outside_stays = true};
    bool good = true;
    for (size_t i = 0; good && i < n; i++) good = remember(&c, from[i], to[i]);
    for (const ir_op *op = first; good && op; op = op->next) {
        good = copy_op(&c, b->block, op);
        if (op == last) break;
    }
    base_free(c.values);
    return good ? NULL : out_of_memory();
}

/* --- What one value needs of a block --- */
/* Marks while it is found out: `needed`; `stop` and its index, with WANTED when it is needed. */
static const uint64_t WANTED = 1u << 31;

typedef struct needs_of {
    uint64_t needed, stop;
} needs_of;

static void mark_read(const ir_op *op, const needs_of *n) {
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (op->in[i]->mark >> 32 == n->stop >> 32)
            op->in[i]->mark |= WANTED;
        else
            op->in[i]->mark = n->needed;
    }
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *inner = op->regions[r].block ? op->regions[r].block->first : NULL; inner; inner = inner->next)
            mark_read(inner, n);
}

static bool is_needed(const ir_op *op, const needs_of *n) {
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i].mark == n->needed) return true;
    return false;
}

static xt_status take_leaf(copier *c, size_t k, ir_value *from, const ir_copy_hooks *h) {
    ir_value *v = NULL;
    XT_TRY(h->leaf(h->user, k, from, &v));
    return remember(c, from, v) ? NULL : out_of_memory();
}

static xt_status copy_into(copier *c, const ir_builder *b, const ir_value *root, const needs_of *n,
                           const ir_copy_hooks *h) {
    const ir_block *from = root->block;
    for (size_t i = 0; i < from->n_args; i++)
        if (from->args[i]->mark == n->needed) XT_TRY(take_leaf(c, i, from->args[i], h));
    for (size_t i = 0; i < h->n_stops; i++)
        if (h->stops[i]->mark == (n->stop | WANTED | i)) XT_TRY(take_leaf(c, from->n_args + i, h->stops[i], h));
    for (const ir_op *op = root->def ? from->first : NULL; op; op = op->next) {
        if (is_needed(op, n)) {
            if (!copy_op(c, b->block, op)) return out_of_memory();
            h->made(h->user, op, b->before ? b->before->prev : b->block->last);
        }
        if (op == root->def) break;
    }
    return NULL;
}

xt_status ir_copy_needed(const ir_builder *b, ir_value *root, const ir_copy_hooks *h, ir_value **out) {
    needs_of n = {ir_new_epoch(), ir_new_epoch()};
    for (size_t i = 0; i < h->n_stops; i++) h->stops[i]->mark = n.stop | i;
    root->mark = n.needed;
    for (const ir_op *op = root->def; op; op = op->prev)
        if (is_needed(op, &n)) mark_read(op, &n);
    copier c = {.to = b->m, .before = b->before, .epoch = ir_new_epoch()};
    xt_status s = copy_into(&c, b, root, &n, h);
    *out = s ? NULL : copied(&c, root);
    base_free(c.values);
    return s;
}
