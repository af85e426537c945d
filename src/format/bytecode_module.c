/* The IR section's outer part: a module of functions and meshes. A function that the IR has no form for is left out, if
 * the program can do without. */
#include "format/bytecode_ops.h"

/* --- Functions --- */

static bool set_func_attrs(bc_reader *r, const bc_op_head *h, ir_func *f, const ir_attr *list, bool results) {
    if (!list || list->kind != IR_AK_ARRAY || list->n == 0) return true;
    size_t n = results ? f->n_results : f->body->n_args;
    if (list->n != n)
        return bc_fail(r, h->at, "%zu dictionaries of attributes for %zu %s", list->n, n,
                       results ? "results" : "arguments");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; list->v.list[i].kind == IR_AK_DICT && k < list->v.list[i].n; k++) {
            const ir_attr a = list->v.list[i].v.list[k];
            if (!(results ? ir_func_set_result_attr(f, i, a) : ir_func_set_arg_attr(f, i, a))) return bc_oom(r);
        }
    return true;
}

static bool set_result_types(bc_reader *r, const bc_op_head *h, ir_func *f, const bc_type *type) {
    f->n_results = type->n_out;
    f->result_types = arena_alloc(r->m->mem, (type->n_out + 1) * sizeof *f->result_types);
    if (!f->result_types) return bc_oom(r);
    for (size_t i = 0; i < type->n_out; i++) {
        if (type->out[i]->kind != BC_TYPE_IR)
            return bc_refuse(r, h->at, "the function @%s returns a type that is not supported: %s", f->name,
                             type->out[i]->name);
        f->result_types[i] = type->out[i]->ir;
    }
    return true;
}

static bool check_func(bc_reader *r, const bc_op_head *h, const ir_func *f, const bc_type *type) {
    const ir_op *ret = ir_block_return(f->body);
    if (!ret || ret->n_in != f->n_results)
        return bc_fail(r, h->at, "the function @%s does not return its %zu results", f->name, f->n_results);
    bool same = type->n_in == f->body->n_args;
    for (size_t i = 0; same && i < type->n_in; i++)
        same = type->in[i]->kind == BC_TYPE_IR && type->in[i]->ir == f->body->args[i]->type;
    return same || bc_fail(r, h->at, "the arguments of @%s are not those of its type", f->name);
}

typedef struct func_parts {
    const char *name;
    bool is_public;
    const bc_type *type;
    const ir_attr *arg_attrs, *result_attrs; /* NULL: none */
} func_parts;

static bool read_func_parts(bc_reader *r, const bc_op_head *h, func_parts *out) {
    bc_props p;
    *out = (func_parts){.is_public = true};
    if (!bc_read_props(r, h, &p)) return false;
    for (size_t i = 0; i < p.n; i++) {
        const bc_attr *a = p.items[i].a;
        const char *name = p.items[i].name;
        if (strcmp(name, "sym_name") == 0 && a->a.kind == IR_AK_STRING)
            out->name = a->a.v.s;
        else if (strcmp(name, "sym_visibility") == 0 && a->a.kind == IR_AK_STRING)
            out->is_public = !*a->a.v.s || strcmp(a->a.v.s, "public") == 0;
        else if (strcmp(name, "function_type") == 0)
            out->type = a->type;
        else if (strcmp(name, "arg_attrs") == 0)
            out->arg_attrs = &a->a;
        else if (strcmp(name, "res_attrs") == 0)
            out->result_attrs = &a->a;
    }
    if (!out->name || !out->type || out->type->kind != BC_TYPE_FUNCTION)
        return bc_fail(r, h->at, "a function without its name or type");
    return true;
}

/* Past a region without building anything of it. */
static bool skim_region(bc_reader *r, bc_cursor *c);

static bool skim_op(bc_reader *r, bc_cursor *c) {
    bc_op_head h;
    bc_nest n;
    if (!bc_read_head(r, c, &h)) return false;
    if (h.n_regions == 0) return true;
    if (!bc_enter_nest(r, c, &h, &n)) return false;
    for (size_t i = 0; i < h.n_regions; i++)
        if (!skim_region(r, n.c)) return false;
    return bc_leave_nest(r, &n);
}

static bool skim_args(bc_reader *r, bc_cursor *c) {
    size_t n;
    uint64_t v;
    unsigned orders;
    if (!bc_count(r, c, "arguments", &n)) return false;
    for (size_t i = 0; i < n; i++) {
        bool has_loc = true;
        if (r->version < 4 ? !bc_varint(r, c, &v) : !bc_flagged(r, c, &v, &has_loc)) return false;
        if (has_loc && !bc_varint(r, c, &v)) return false;
    }
    return r->version < 3 || (bc_byte(r, c, &orders) && (!orders || bc_skip_use_orders(r, c, n)));
}

static bool skim_region(bc_reader *r, bc_cursor *c) {
    const unsigned char *at = c->at;
    uint64_t n_blocks, n_ops;
    size_t n_values;
    bool has_args;
    if (!bc_varint(r, c, &n_blocks)) return false;
    if (n_blocks == 0) return true;
    if (n_blocks > 1)
        return bc_fail(r, at, "%llu blocks: StableHLO regions have exactly one", (unsigned long long)n_blocks);
    if (!bc_count(r, c, "values", &n_values) || !bc_flagged(r, c, &n_ops, &has_args) || !bc_enter(r, at)) return false;
    bool ok = !has_args || skim_args(r, c);
    for (uint64_t i = 0; ok && i < n_ops; i++) ok = skim_op(r, c);
    bc_leave(r);
    return ok;
}

static bool build_func(bc_reader *r, bc_cursor *c, const bc_op_head *h, const func_parts *p) {
    bc_nest n;
    bool empty;
    if (!bc_enter_nest(r, c, h, &n)) return false;
    bc_cursor peek = *n.c;
    uint64_t n_blocks;
    if (!bc_varint(r, &peek, &n_blocks)) return false;
    if (n_blocks == 0) { /* a declaration: nothing can be run of it, and a call to it will say that it is missing */
        *n.c = peek;
        return bc_leave_nest(r, &n);
    }
    ir_func *f = ir_func_new(r->m, p->name, p->is_public);
    if (!f) return bc_oom(r);
    return set_result_types(r, h, f, p->type) && bc_read_region(r, n.c, f->body, &empty) && bc_leave_nest(r, &n) &&
           set_func_attrs(r, h, f, p->arg_attrs, false) && set_func_attrs(r, h, f, p->result_attrs, true) &&
           check_func(r, h, f, p->type);
}

static bool is_it(const ir_func *f, void *func) {
    return f == func;
}

/* The function could not be built because of what the IR has no form for: it is left out, with the reason kept for
 * who needs it. */
static bool leave_out(bc_reader *r, bc_cursor *c, const bc_op_head *h, const char *name) {
    bc_nest n;
    bc_left_out *l = bc_alloc(r, 1, sizeof *l);
    if (!l) return false;
    *l = (bc_left_out){name, arena_printf(r->scratch, "%s", status_text(r->status)), r->left_out};
    if (!l->why) return false;
    r->left_out = l;
    xt_status_free(r->status);
    r->status = NULL;
    r->refused = false;
    ir_funcs_drop(r->m, is_it, ir_func_find(r->m, name));
    return bc_enter_nest(r, c, h, &n) && skim_region(r, n.c) && bc_leave_nest(r, &n);
}

static bool read_func(bc_reader *r, bc_cursor *c, const bc_op_head *h) {
    func_parts p;
    if (!read_func_parts(r, h, &p)) return false;
    if (h->n_regions != 1) return bc_fail(r, h->at, "a function of %zu regions", h->n_regions);
    if (ir_func_find(r->m, p.name)) return bc_fail(r, h->at, "the function @%s is defined twice", p.name);
    bc_cursor start = *c;
    size_t n_values = r->n_values, base = r->base;
    int depth = r->depth;
    if (build_func(r, c, h, &p)) return true;
    if (!r->refused || strcmp(p.name, "main") == 0) return false;
    *c = start;
    r->n_values = n_values;
    r->base = base;
    r->depth = depth;
    return leave_out(r, c, h, p.name);
}

/* A program that names a function that was left out cannot do without it. */
static bool names_left_out(bc_reader *r, const ir_attr *a) {
    for (const bc_left_out *l = r->left_out; l && a->kind == IR_AK_SYMBOL; l = l->next)
        if (strcmp(l->name, a->v.s) == 0) {
            r->status = status_new(XT_INVALID_ARGUMENT, NULL, "%s", l->why);
            return true;
        }
    for (size_t i = 0; a->kind == IR_AK_ARRAY && i < a->n; i++)
        if (names_left_out(r, &a->v.list[i])) return true;
    return false;
}

static bool check_block(bc_reader *r, const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_attrs; i++)
            if (names_left_out(r, &op->attrs[i])) return false;
        for (uint32_t i = 0; i < op->n_regions; i++)
            if (!check_block(r, op->regions[i].block)) return false;
    }
    return true;
}

static bool check_left_out(bc_reader *r) {
    if (r->left_out && !r->m->funcs) {
        r->status = status_new(XT_INVALID_ARGUMENT, NULL, "%s", r->left_out->why);
        return false;
    }
    for (const ir_func *f = r->left_out ? r->m->funcs : NULL; f; f = f->next)
        if (!check_block(r, f->body)) return false;
    return true;
}

/* --- Module --- */

static bool read_mesh(bc_reader *r, const bc_op_head *h) {
    bc_props p;
    const char *name = NULL, *text = NULL;
    if (!bc_read_props(r, h, &p)) return false;
    for (size_t i = 0; i < p.n; i++) {
        const ir_attr *a = &p.items[i].a->a;
        if (strcmp(p.items[i].name, "sym_name") == 0 && a->kind == IR_AK_STRING) name = a->v.s;
        if (strcmp(p.items[i].name, "mesh") == 0 && a->kind == IR_AK_OPAQUE) text = a->v.s;
    }
    if (!name || !text) return bc_fail(r, h->at, "a mesh without its name or axes");
    return ir_module_set_mesh(r->m, name, text) || bc_oom(r);
}

static bool read_member(bc_reader *r, bc_cursor *c) {
    bc_op_head h;
    if (!bc_read_head(r, c, &h)) return false;
    bool vhlo = h.name->dialect == BC_VHLO, func = h.name->dialect == BC_FUNC;
    if ((vhlo && strcmp(h.name->name, "func_v1") == 0) || (func && strcmp(h.name->name, "func") == 0))
        return read_func(r, c, &h);
    if (h.name->dialect == BC_SDY && strcmp(h.name->name, "mesh") == 0)
        return h.n_regions == 0 ? read_mesh(r, &h) : bc_not_known(r, &h);
    return bc_not_known(r, &h);
}

static bool read_members(bc_reader *r, bc_cursor *c, const bc_op_head *h) {
    bc_nest n;
    uint64_t n_blocks, n_ops;
    size_t n_values;
    bool has_args;
    if (h->n_regions != 1) return bc_fail(r, h->at, "a module of %zu regions", h->n_regions);
    if (!bc_enter_nest(r, c, h, &n)) return false;
    const unsigned char *at = n.c->at;
    if (!bc_varint(r, n.c, &n_blocks)) return false;
    if (n_blocks != 1) return bc_fail(r, at, "a module of %llu blocks", (unsigned long long)n_blocks);
    if (!bc_count(r, n.c, "values", &n_values) || !bc_flagged(r, n.c, &n_ops, &has_args)) return false;
    if (has_args) return bc_fail(r, at, "a module has no arguments");
    for (uint64_t i = 0; i < n_ops; i++)
        if (!read_member(r, n.c)) return false;
    return bc_leave_nest(r, &n);
}

static bool set_module_attrs(bc_reader *r, const bc_op_head *h) {
    const bc_attr *name = NULL;
    bc_cursor c = h->props ? *h->props : (bc_cursor){0};
    if (h->props && !bc_attr_ref_optional(r, &c, &name)) return false;
    if (name && name->a.kind == IR_AK_STRING) r->m->name = name->a.v.s;
    for (size_t i = 0; h->dict && i < h->dict->a.n; i++) {
        const ir_attr *a = &h->dict->a.v.list[i];
        if (strcmp(a->name, "sym_name") == 0 && a->kind == IR_AK_STRING)
            r->m->name = a->v.s;
        else if (!ir_module_set_attr(r->m, *a))
            return bc_oom(r);
    }
    return true;
}

bool bc_read_module(bc_reader *r) {
    bc_cursor *c = &r->section[4];
    bc_op_head h;
    uint64_t n;
    bool has_args;
    if (!bc_flagged(r, c, &n, &has_args)) return false;
    if (n != 1 || has_args)
        return bc_fail(r, c->at, "the file holds %llu top-level ops; a program is one module", (unsigned long long)n);
    if (!bc_read_head(r, c, &h)) return false;
    if (h.name->dialect != BC_BUILTIN || strcmp(h.name->name, "module") != 0)
        return bc_fail(r, h.at, "the top-level op is %s.%s; a program is one builtin.module", h.name->dialect_name,
                       h.name->name);
    return set_module_attrs(r, &h) && read_members(r, c, &h) && check_left_out(r) &&
           (c->at == c->end || bc_fail(r, c->at, "bytes after the module"));
}
