/* ir_print: a module as StableHLO text, pretty or generic. Values are numbered anew in each function (%0, %arg0),
 * regions go on counting, so every name is unique in its function. Locations are printed on request only; without them
 * the text says nothing about where a program came from, so that it can stand in cache keys. `value.mark` holds a
 * value's number while printing. */
#include "ir/print_int.h"

void print_newline(printer *p) {
    str_putc(p->out, '\n');
    for (int i = 0; i < p->indent; i++) str_append(p->out, "  ");
}

void print_value(printer *p, const ir_value *v) {
    if (!v->def)
        str_printf(p->out, "%%arg%llu", (unsigned long long)v->mark);
    else if (v->def->n_out == 1)
        str_printf(p->out, "%%%llu", (unsigned long long)v->mark);
    else
        str_printf(p->out, "%%%llu#%u", (unsigned long long)v->mark, v->index);
}

void print_args(printer *p, const ir_block *b, const ir_func *f) {
    for (size_t i = 0; i < b->n_args; i++) {
        b->args[i]->mark = p->next_arg++;
        if (i) str_append(p->out, ", ");
        print_value(p, b->args[i]);
        str_append(p->out, ": ");
        ir_type_print(b->args[i]->type, p->out);
        if (f && f->arg_attrs) print_attr_dict(p->out, f->arg_attrs[i], f->n_arg_attrs[i], " ");
    }
}

/* --- Locations --- */

static void print_loc(printer *p, const ir_op *op) {
    bool both = (p->flags & IR_PRINT_LOC_SOURCE) && (p->flags & IR_PRINT_LOC_ORDINAL) && p->ordinal >= 0;
    if ((p->flags & IR_PRINT_LOC_ORDINAL) && !(p->flags & IR_PRINT_LOC_SOURCE)) {
        if (p->ordinal >= 0) str_printf(p->out, " loc(\"n%lld\")", (long long)p->ordinal);
        return;
    }
    if (!(p->flags & IR_PRINT_LOC_SOURCE)) return;
    const xt_src *src = src_get(op->src);
    const char *path = op->path ? intern_text(op->path) : NULL;
    str_append(p->out, " loc(");
    if (both) {
        str name = STR_INIT;
        str_printf(&name, "%s%sn%lld", path ? path : "", path ? "/" : "", (long long)p->ordinal);
        print_quoted(p->out, str_cstr(&name), name.len);
        p->out->failed |= name.failed;
        str_free(&name);
        path = "";
    } else if (path)
        print_quoted(p->out, path, strlen(path));
    if (path && op->src) str_putc(p->out, '(');
    if (op->src) {
        print_quoted(p->out, src->file, strlen(src->file));
        str_printf(p->out, ":%d:1", src->line);
    }
    if (path && op->src) str_putc(p->out, ')');
    if (!path && !op->src) str_append(p->out, "unknown");
    str_putc(p->out, ')');
}

/* --- Ops --- */

static void print_region(printer *p, const ir_block *b) {
    if (!b) {
        str_append(p->out, "{\n");
        for (int i = 0; i < p->indent; i++) str_append(p->out, "  ");
        str_putc(p->out, '}');
        return;
    }
    if (b->n_args) {
        str_putc(p->out, '{');
        print_newline(p);
        str_append(p->out, "^bb0(");
        print_args(p, b, NULL);
        str_append(p->out, "):");
        p->indent++;
        for (const ir_op *op = b->first; op; op = op->next) print_op_line(p, op);
        p->indent--;
        print_newline(p);
        str_putc(p->out, '}');
        return;
    }
    print_block_ops(p, b);
}

static void print_generic(printer *p, const ir_op *op) {
    static const attr_filter inherent = {.inherent = true}, discardable = {.discardable = true};
    str_printf(p->out, "\"%s.%s\"(", ir_op_infos[op->code].dialect, ir_op_infos[op->code].name);
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (i) str_append(p->out, ", ");
        print_value(p, op->in[i]);
    }
    str_putc(p->out, ')');
    print_op_attrs(p->out, op, &inherent, " <", ">");
    for (uint32_t i = 0; i < op->n_regions; i++) {
        str_append(p->out, i ? ", " : " (");
        print_region(p, op->regions[i].block);
    }
    if (op->n_regions) str_putc(p->out, ')');
    print_op_attrs(p->out, op, &discardable, " ", "");
    str_append(p->out, " : ");
    print_function_type(p->out, op->n_in, op->in, op->n_out, op->out);
}

void print_op_line(printer *p, const ir_op *op) {
    print_newline(p);
    uint64_t number = p->next_value;
    if (op->n_out) {
        p->next_value++;
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = number;
        str_printf(p->out, "%%%llu", (unsigned long long)number);
        if (op->n_out > 1) str_printf(p->out, ":%u", op->n_out);
        str_append(p->out, " = ");
    }
    if ((p->flags & IR_PRINT_GENERIC) || !print_pretty(p, op)) print_generic(p, op);
    print_loc(p, op);
}

void print_block_ops(printer *p, const ir_block *b) {
    str_putc(p->out, '{');
    p->indent++;
    for (const ir_op *op = b->first; op; op = op->next) print_op_line(p, op);
    p->indent--;
    print_newline(p);
    str_putc(p->out, '}');
}

/* --- Functions and modules --- */

/* Only the ops of main's own block have ordinals; ops in their regions carry the ordinal of the op around them. */
static void print_body(printer *p, const ir_func *f) {
    bool is_main = !strcmp(f->name, "main");
    p->indent++;
    p->ordinal = -1;
    for (const ir_op *op = f->body->first; op; op = op->next) {
        if (is_main) p->ordinal++;
        print_op_line(p, op);
    }
    p->ordinal = -1;
    p->indent--;
}

static void print_result_types(printer *p, const ir_func *f) {
    bool attrs = false;
    for (size_t i = 0; f->result_attrs && i < f->n_results; i++) attrs = attrs || f->n_result_attrs[i];
    if (f->n_results == 0) return;
    str_append(p->out, " -> ");
    if (f->n_results > 1 || attrs) str_putc(p->out, '(');
    for (size_t i = 0; i < f->n_results; i++) {
        if (i) str_append(p->out, ", ");
        ir_type_print(f->result_types[i], p->out);
        if (f->result_attrs) print_attr_dict(p->out, f->result_attrs[i], f->n_result_attrs[i], " ");
    }
    if (f->n_results > 1 || attrs) str_putc(p->out, ')');
}

static void print_func(printer *p, const ir_func *f) {
    p->next_value = p->next_arg = 0;
    print_newline(p);
    str_printf(p->out, "func.func %s ", f->is_public ? "public" : "private");
    print_symbol(p->out, f->name);
    str_putc(p->out, '(');
    print_args(p, f->body, f);
    str_putc(p->out, ')');
    print_result_types(p, f);
    str_append(p->out, " {");
    print_body(p, f);
    print_newline(p);
    str_putc(p->out, '}');
}

static void print_attr_dicts(printer *p, const char *name, size_t n, ir_attr *const *lists, const size_t *counts) {
    bool any = false;
    for (size_t i = 0; lists && i < n; i++) any = any || counts[i];
    if (!any) return;
    str_printf(p->out, "%s = [", name);
    for (size_t i = 0; i < n; i++) {
        if (i) str_append(p->out, ", ");
        if (counts[i])
            print_attr_dict(p->out, lists[i], counts[i], "");
        else
            str_append(p->out, "{}");
    }
    str_append(p->out, "], ");
}

static void print_generic_func(printer *p, const ir_func *f) {
    p->next_value = p->next_arg = 0;
    print_newline(p);
    str_append(p->out, "\"func.func\"() <{");
    print_attr_dicts(p, "arg_attrs", f->body->n_args, f->arg_attrs, f->n_arg_attrs);
    str_append(p->out, "function_type = (");
    for (size_t i = 0; i < f->body->n_args; i++) {
        if (i) str_append(p->out, ", ");
        ir_type_print(f->body->args[i]->type, p->out);
    }
    str_append(p->out, ") -> ");
    if (f->n_results != 1) str_putc(p->out, '(');
    for (size_t i = 0; i < f->n_results; i++) {
        if (i) str_append(p->out, ", ");
        ir_type_print(f->result_types[i], p->out);
    }
    str_append(p->out, f->n_results != 1 ? "), " : ", ");
    print_attr_dicts(p, "res_attrs", f->n_results, f->result_attrs, f->n_result_attrs);
    str_append(p->out, "sym_name = ");
    print_quoted(p->out, f->name, strlen(f->name));
    str_printf(p->out, ", sym_visibility = \"%s\"}> ({", f->is_public ? "public" : "private");
    if (f->body->n_args) {
        print_newline(p);
        str_append(p->out, "^bb0(");
        print_args(p, f->body, NULL);
        str_append(p->out, "):");
    }
    print_body(p, f);
    print_newline(p);
    str_append(p->out, "}) : () -> ()");
}

/* A mesh is spelled without its #sdy.mesh. */
static void print_mesh(printer *p, const ir_attr *mesh) {
    print_newline(p);
    str_append(p->out, p->flags & IR_PRINT_GENERIC ? "\"sdy.mesh\"() <{mesh = " : "sdy.mesh ");
    if (p->flags & IR_PRINT_GENERIC) {
        str_printf(p->out, "%s, sym_name = ", mesh->v.s);
        print_quoted(p->out, mesh->name, strlen(mesh->name));
        str_append(p->out, "}> : () -> ()");
        return;
    }
    print_symbol(p->out, mesh->name);
    str_printf(p->out, " = %s", mesh->v.s + strcspn(mesh->v.s, "<"));
}

xt_status ir_print(const ir_module *m, unsigned flags, str *out) {
    printer p = {.out = out, .flags = flags, .ordinal = -1};
    bool generic = flags & IR_PRINT_GENERIC;
    str_append(out, generic ? "\"builtin.module\"()" : "module");
    if (m->name && generic) {
        str_append(out, " <{sym_name = ");
        print_quoted(out, m->name, strlen(m->name));
        str_append(out, "}>");
    } else if (m->name) {
        str_putc(out, ' ');
        print_symbol(out, m->name);
    }
    if (!generic) print_attr_dict(out, m->attrs, m->n_attrs, " attributes ");
    str_append(out, generic ? " ({" : " {");
    p.indent = 1;
    for (size_t i = 0; i < m->n_meshes; i++) print_mesh(&p, &m->meshes[i]);
    for (const ir_func *f = m->funcs; f; f = f->next) generic ? print_generic_func(&p, f) : print_func(&p, f);
    str_append(out, generic ? "\n})" : "\n}");
    if (generic) {
        print_attr_dict(out, m->attrs, m->n_attrs, " ");
        str_append(out, " : () -> ()");
    }
    str_putc(out, '\n');
    return out->failed ? status_oom(out->cap, "printing a program") : NULL;
}

/* --- One op, for messages: types in place of operands, long literals cut --- */

void ir_op_attrs_print(const ir_op *op, str *out) {
    static const ir_attr_key value = IR_A_value;
    static const attr_filter all = {.inherent = true, .discardable = true}, no_value = {true, true, NULL, &value, 1};
    const ir_literal *l = ir_get_literal(op);
    print_op_attrs(out, op, l && !l->splat && l->type->count > 8 ? &no_value : &all, " ", "");
}

void ir_op_print(const ir_op *op, str *out) {
    str_printf(out, "%s.%s(", ir_op_infos[op->code].dialect, ir_op_infos[op->code].name);
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (i) str_append(out, ", ");
        ir_type_print(op->in[i]->type, out);
    }
    str_putc(out, ')');
    ir_op_attrs_print(op, out);
    if (op->n_out) str_append(out, " -> ");
    for (uint32_t i = 0; i < op->n_out; i++) {
        if (i) str_append(out, ", ");
        ir_type_print(op->out[i].type, out);
    }
}
