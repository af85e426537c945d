/* The IR section of the writer. Functions and the module are regions of their own, whose values count from zero; every
 * other region goes on counting where the one around it ends. Ops of other dialects than vhlo take and give values of
 * builtin types: casts stand before and after them, each with one value, which is what StableHLO's own conversion
 * makes. `value.mark` holds the number of a value in its vhlo type. */
#include "format/bytecode_out.h"

enum { HAS_ATTRS = 1, HAS_RESULTS = 2, HAS_OPERANDS = 4, HAS_REGIONS = 16, HAS_PROPERTIES = 64, SEC_IR = 4 };

typedef struct region {
    size_t next; /* the number of the value defined next */
    int64_t ordinal; /* of main's op; -1 elsewhere */
    bool is_main;
} region;

static bool is_foreign(const ir_op *op) {
    const char *d = ir_op_infos[op->code].dialect;
    return strcmp(d, "stablehlo") != 0 && strcmp(d, "func") != 0;
}

static void write_block(bw *w, str *s, const ir_block *b, bool builtin_args, bool is_main);

/* --- Heads --- */

static void put_indices(str *s, size_t n, const size_t *v) {
    bw_varint(s, n);
    for (size_t i = 0; i < n; i++) bw_varint(s, v[i]);
}

static void put_head(str *s, size_t name, unsigned mask, size_t loc, const bw_carried *c) {
    bw_varint(s, name);
    str_putc(s, (char)(mask | (c->has_dict ? HAS_ATTRS : 0) | (c->has_props ? HAS_PROPERTIES : 0)));
    bw_varint(s, loc);
    if (c->has_dict) bw_varint(s, c->dict);
    if (c->has_props) bw_varint(s, c->props);
}

/* One value in the types of the other side. */
static size_t put_cast(bw *w, str *s, region *r, size_t from, const ir_type *t, bw_form to, size_t loc) {
    size_t type = bw_type(w, t, to);
    put_head(s, bw_op(w, "builtin", "unrealized_conversion_cast"), HAS_RESULTS | HAS_OPERANDS, loc, &(bw_carried){0});
    put_indices(s, 1, &type);
    put_indices(s, 1, &from);
    return r->next++;
}

/* --- Ops --- */

/* The op's name there, and the names of its properties. */
static size_t op_name(bw *w, const ir_op *op, const char **props) {
    const ir_op_info *info = &ir_op_infos[op->code];
    *props = NULL;
    if (is_foreign(op)) {
        *props = plain_props(info->dialect, info->name);
        return bw_op(w, info->dialect, info->name);
    }
    const vhlo_row *row = vhlo_at(info->name, w->version);
    if (!row) {
        bw_fail(w, op, "StableHLO %d.%d does not have it", w->version / 100, w->version % 100);
        return 0;
    }
    str name = STR_INIT;
    str_printf(&name, "%s_v%d", row->name, row->version);
    size_t i = bw_op(w, "vhlo", str_cstr(&name));
    str_free(&name);
    *props = row->props;
    return i;
}

static void put_regions(bw *w, str *s, const ir_op *op) {
    bw_flagged(s, op->n_regions, false);
    for (uint32_t i = 0; i < op->n_regions; i++) {
        if (op->regions[i].block)
            write_block(w, s, op->regions[i].block, is_foreign(op), false);
        else
            bw_varint(s, 0);
    }
}

static void write_op(bw *w, str *s, region *r, const ir_op *op) {
    bool foreign = is_foreign(op);
    size_t loc = bw_loc(w, op, r->is_main ? r->ordinal : -1);
    size_t *in = arena_alloc(w->mem, (op->n_in + 1) * sizeof *in),
           *types = arena_alloc(w->mem, (op->n_out + 1) * sizeof *types);
    if (!in || !types) return bw_fail(w, op, "there is no memory");
    for (uint32_t i = 0; i < op->n_in; i++)
        in[i] = foreign ? put_cast(w, s, r, op->in[i]->mark, op->in[i]->type, BW_BUILTIN, loc) : op->in[i]->mark;
    for (uint32_t i = 0; i < op->n_out; i++) types[i] = bw_type(w, op->out[i].type, foreign ? BW_BUILTIN : BW_VHLO);
    const char *props;
    size_t name = op_name(w, op, &props);
    bw_carried carried;
    bw_op_attrs(w, op, props, &carried);
    put_head(s, name, (op->n_out ? HAS_RESULTS : 0) | (op->n_in ? HAS_OPERANDS : 0) | (op->n_regions ? HAS_REGIONS : 0),
             loc, &carried);
    if (op->n_out) put_indices(s, op->n_out, types);
    if (op->n_in) put_indices(s, op->n_in, in);
    for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = r->next++;
    if (op->n_regions) put_regions(w, s, op);
    for (uint32_t i = 0; foreign && i < op->n_out; i++)
        op->out[i].mark = put_cast(w, s, r, op->out[i].mark, op->out[i].type, BW_VHLO, loc);
}

/* --- Blocks --- */

static void count(const ir_block *b, bool builtin_args, size_t *out_values, size_t *out_ops) {
    *out_values = b->n_args * (builtin_args ? 2 : 1);
    *out_ops = builtin_args ? b->n_args : 0;
    for (const ir_op *op = b->first; op; op = op->next) {
        size_t casts = is_foreign(op) ? op->n_in + op->n_out : 0;
        *out_values += op->n_out + casts;
        *out_ops += 1 + casts;
    }
}

static void put_args(bw *w, str *s, region *r, const ir_block *b, bw_form f) {
    bw_varint(s, b->n_args);
    for (size_t i = 0; i < b->n_args; i++) {
        bw_flagged(s, bw_type(w, b->args[i]->type, f), false);
        b->args[i]->mark = r->next++;
    }
    str_putc(s, 0); /* no orders of use lists */
}

static void write_block(bw *w, str *s, const ir_block *b, bool builtin_args, bool is_main) {
    size_t values, ops;
    count(b, builtin_args, &values, &ops);
    region r = {.next = w->n_values, .ordinal = 0, .is_main = is_main};
    w->n_values += values;
    bw_varint(s, 1);
    bw_varint(s, values);
    bw_flagged(s, ops, b->n_args > 0);
    if (b->n_args) put_args(w, s, &r, b, builtin_args ? BW_BUILTIN : BW_VHLO);
    for (size_t i = 0; builtin_args && i < b->n_args; i++)
        b->args[i]->mark = put_cast(w, s, &r, b->args[i]->mark, b->args[i]->type, BW_VHLO, bw_loc(w, NULL, -1));
    for (const ir_op *op = b->first; op; op = op->next, r.ordinal++) write_op(w, s, &r, op);
    w->n_values -= values;
}

/* --- Functions and the module --- */

static size_t dictionaries(bw *w, size_t n, ir_attr *const *lists, const size_t *counts) {
    size_t *items = arena_alloc(w->mem, (n + 1) * sizeof *items);
    bool any = false;
    for (size_t i = 0; lists && i < n; i++) any = any || counts[i];
    for (size_t i = 0; any && items && i < n; i++)
        items[i] = bw_attr(w, NULL, &(ir_attr){.kind = IR_AK_DICT, .n = counts[i], .v.list = lists[i]}, BW_VHLO);
    return bw_array(w, any && items ? n : 0, items, BW_VHLO);
}

static size_t func_props(bw *w, const ir_func *f) {
    const char *visibility = f->is_public ? "public" : "private";
    str s = STR_INIT, type = STR_INIT;
    bw_varint(&type, 17);
    bw_varint(&type, bw_function_type(w, f));
    bw_varint(&s, dictionaries(w, f->body->n_args, f->arg_attrs, f->n_arg_attrs));
    bw_varint(&s, bw_attr_entry(w, "vhlo", true, &type));
    bw_varint(&s, dictionaries(w, f->n_results, f->result_attrs, f->n_result_attrs));
    bw_varint(&s, bw_string_attr(w, f->name, strlen(f->name), BW_VHLO));
    bw_varint(&s, bw_string_attr(w, visibility, strlen(visibility), BW_VHLO));
    return bw_properties(w, &s);
}

static void write_func(bw *w, str *s, const ir_func *f) {
    str body = STR_INIT;
    bw_carried carried = {.has_props = true, .props = func_props(w, f)};
    put_head(s, bw_op(w, "vhlo", "func_v1"), HAS_REGIONS, bw_loc(w, NULL, -1), &carried);
    bw_flagged(s, 1, true);
    write_block(w, &body, f->body, false, strcmp(f->name, "main") == 0);
    bw_section(s, SEC_IR, &body);
    str_free(&body);
}

static void write_mesh(bw *w, str *s, const ir_attr *mesh) {
    str p = STR_INIT;
    bw_varint(&p, bw_text_attr(w, NULL, mesh, BW_BUILTIN));
    bw_varint(&p, bw_string_attr(w, mesh->name, strlen(mesh->name), BW_BUILTIN));
    bw_carried carried = {.has_props = true, .props = bw_properties(w, &p)};
    put_head(s, bw_op(w, "sdy", "mesh"), 0, bw_loc(w, NULL, -1), &carried);
}

void bw_module(bw *w, str *out) {
    const ir_module *m = w->m;
    bw_carried carried = {.has_props = true, .has_dict = m->n_attrs > 0};
    str props = STR_INIT, body = STR_INIT;
    size_t n = m->n_meshes;
    for (const ir_func *f = m->funcs; f; f = f->next) n++;
    if (m->name)
        bw_flagged(&props, bw_string_attr(w, m->name, strlen(m->name), BW_BUILTIN), true);
    else
        bw_varint(&props, 0);
    bw_varint(&props, 0); /* sym_visibility */
    carried.props = bw_properties(w, &props);
    if (carried.has_dict) carried.dict = bw_dictionary(w, NULL, m->attrs, m->n_attrs, BW_BUILTIN);
    bw_flagged(out, 1, false);
    put_head(out, bw_op(w, "builtin", "module"), HAS_REGIONS, bw_loc(w, NULL, -1), &carried);
    bw_flagged(out, 1, true);
    bw_varint(&body, 1);
    bw_varint(&body, 0);
    bw_flagged(&body, n, false);
    for (size_t i = 0; i < m->n_meshes; i++) write_mesh(w, &body, &m->meshes[i]);
    for (const ir_func *f = m->funcs; f; f = f->next) write_func(w, &body, f);
    bw_section(out, SEC_IR, &body);
    str_free(&body);
}
