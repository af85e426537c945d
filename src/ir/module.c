/* Modules, functions and blocks: the containers. Everything is carved from the module's arena and dies with it. */
#include "ir/ir.h"

ir_module *ir_module_new(void) {
    arena *mem = arena_new();
    ir_module *m = mem ? arena_alloc(mem, sizeof *m) : NULL;
    if (!m) {
        arena_free(mem);
        return NULL;
    }
    m->mem = mem;
    live_add(LIVE_graph, 1);
    return m;
}

void ir_module_free(ir_module *m) {
    if (!m) return;
    live_add(LIVE_graph, -1);
    arena_free(m->mem);
}

ir_module *ir_module_reset(ir_module *m) {
    arena *mem = m->mem;
    arena_reset(mem); /* keeps its blocks, the first of which held a module already */
    m = arena_alloc(mem, sizeof *m);
    m->mem = mem;
    return m;
}

ir_block *ir_block_new(ir_module *m) {
    ir_block *b = arena_alloc(m->mem, sizeof *b);
    if (b) b->module = m;
    return b;
}

/* Arrays in the arena grow by doubling; the old copy stays until the module dies. */
static void *arena_grown(arena *mem, const void *old, size_t n, size_t cap, size_t size) {
    size_t bytes;
    void *p = size_mul(cap, size, &bytes) ? arena_alloc(mem, bytes) : NULL;
    if (p && n) memcpy(p, old, n * size);
    return p;
}

static bool grow_arg_attrs(ir_func *f, size_t need) {
    if (need <= f->cap_arg_attrs) return true;
    size_t cap = need < 8 ? 8 : 2 * need;
    arena *mem = f->module->mem;
    ir_attr **attrs = arena_grown(mem, f->arg_attrs, f->cap_arg_attrs, cap, sizeof *attrs);
    size_t *counts = arena_grown(mem, f->n_arg_attrs, f->cap_arg_attrs, cap, sizeof *counts);
    if (!attrs || !counts) return false;
    f->arg_attrs = attrs;
    f->n_arg_attrs = counts;
    f->cap_arg_attrs = cap;
    return true;
}

ir_value *ir_block_arg(ir_module *m, ir_block *b, const ir_type *type) {
    if (!b || !type) return NULL;
    if (b->n_args == b->cap_args) {
        size_t cap = b->cap_args ? 2 * b->cap_args : 4;
        ir_value **args = arena_grown(m->mem, b->args, b->n_args, cap, sizeof *args);
        if (!args) return NULL;
        b->args = args;
        b->cap_args = cap;
    }
    ir_func *f = b->func;
    if (f && f->arg_attrs && !grow_arg_attrs(f, b->n_args + 1)) return NULL;
    ir_value *v = arena_alloc(m->mem, sizeof *v);
    if (!v) return NULL;
    v->type = type;
    v->block = b;
    v->index = (uint32_t)b->n_args;
    b->args[b->n_args++] = v;
    return v;
}

ir_op *ir_block_return(const ir_block *b) {
    ir_op *last = b ? b->last : NULL;
    return last && (ir_op_infos[last->code].flags & IR_TERMINATOR) ? last : NULL;
}

/* --- functions by name: open addressing, a power of two places, at most half of them taken. One that was dropped stays
 * in its place, without a module. --- */
static size_t place_of(const ir_module *m, const char *name) {
    return (size_t)hash_bytes(name, strlen(name), (hash128){0, 0}).lo & (m->cap_by_name - 1);
}

static void enter_func(ir_module *m, ir_func *f) {
    size_t i = place_of(m, f->name);
    while (m->by_name[i]) i = (i + 1) & (m->cap_by_name - 1);
    m->by_name[i] = f;
    m->n_by_name++;
}

static bool grow_names(ir_module *m) {
    if (2 * (m->n_by_name + 1) <= m->cap_by_name) return true;
    size_t cap = 8, bytes;
    while (cap < 4 * (m->n_by_name + 1)) cap *= 2;
    ir_func **fresh = size_mul(cap, sizeof *fresh, &bytes) ? arena_alloc(m->mem, bytes) : NULL;
    if (!fresh) return false;
    m->by_name = fresh;
    m->cap_by_name = cap;
    m->n_by_name = 0;
    for (ir_func *f = m->funcs; f; f = f->next) enter_func(m, f);
    return true;
}

ir_func *ir_func_new(ir_module *m, const char *name, bool is_public) {
    ir_func *f = arena_alloc(m->mem, sizeof *f);
    char *copy = arena_strdup(m->mem, name);
    ir_block *body = ir_block_new(m);
    if (!f || !copy || !body || !grow_names(m)) return NULL;
    f->name = copy;
    f->is_public = is_public;
    f->body = body;
    f->module = m;
    body->func = f;
    if (m->last_func)
        m->last_func->next = f;
    else
        m->funcs = f;
    m->last_func = f;
    enter_func(m, f);
    return f;
}

ir_func *ir_func_find(const ir_module *m, const char *name) {
    for (ir_func *f = m->cap_by_name ? NULL : m->funcs; f; f = f->next)
        if (strcmp(f->name, name) == 0) return f;
    if (!m->cap_by_name) return NULL;
    for (size_t i = place_of(m, name); m->by_name[i]; i = (i + 1) & (m->cap_by_name - 1))
        if (m->by_name[i]->module && strcmp(m->by_name[i]->name, name) == 0) return m->by_name[i];
    return NULL;
}

/* Without a table functions are looked for one by one, until the next one that is made. */
void ir_func_rename(ir_func *f, const char *name) {
    f->name = name;
    f->module->cap_by_name = 0;
}

void ir_funcs_drop(ir_module *m, bool (*drop)(const ir_func *f, void *user), void *user) {
    ir_func **link = &m->funcs;
    m->last_func = NULL;
    while (*link) {
        ir_func *f = *link;
        if (drop(f, user)) {
            *link = f->next;
            f->module = NULL;
        } else {
            m->last_func = f;
            link = &f->next;
        }
    }
}

ir_block *ir_func_block(ir_func *f) {
    return f->body;
}

ir_value *ir_func_arg(ir_func *f, const ir_type *type) {
    return ir_block_arg(f->module, f->body, type);
}

/* Appends to a small list, or replaces the attribute of the same name. */
static bool list_set(arena *mem, ir_attr **list, size_t *n, ir_attr attr) {
    for (size_t i = 0; i < *n; i++) {
        if (strcmp((*list)[i].name, attr.name) != 0) continue;
        (*list)[i] = attr;
        return true;
    }
    ir_attr *grown = arena_grown(mem, *list, *n, *n + 1, sizeof *grown);
    if (!grown) return false;
    grown[(*n)++] = attr;
    *list = grown;
    return true;
}

bool ir_func_set_arg_attr(ir_func *f, size_t arg, ir_attr attr) {
    if (!f->body || arg >= f->body->n_args || !grow_arg_attrs(f, f->body->n_args)) return false;
    return list_set(f->module->mem, &f->arg_attrs[arg], &f->n_arg_attrs[arg], attr);
}

bool ir_func_set_result_attr(ir_func *f, size_t result, ir_attr attr) {
    arena *mem = f->module->mem;
    if (result >= f->n_results) return false;
    if (!f->result_attrs) {
        ir_attr **attrs = arena_alloc(mem, f->n_results * sizeof *attrs);
        size_t *counts = arena_alloc(mem, f->n_results * sizeof *counts);
        if (!attrs || !counts) return false;
        f->result_attrs = attrs;
        f->n_result_attrs = counts;
    }
    return list_set(mem, &f->result_attrs[result], &f->n_result_attrs[result], attr);
}

bool ir_module_set_attr(ir_module *m, ir_attr attr) {
    return list_set(m->mem, &m->attrs, &m->n_attrs, attr);
}

bool ir_module_set_mesh(ir_module *m, const char *name, const char *text) {
    return list_set(m->mem, &m->meshes, &m->n_meshes,
                    (ir_attr){.kind = IR_AK_OPAQUE, .name = name, .n = strlen(text), .v.s = text});
}
