/* The IR section: blocks and their ops, built as they are read. Values are numbered: a region takes the next
 * numbers for what its blocks define, and gives them back when it ends; a region that captures nothing starts
 * anew from zero. */
#include "format/bytecode_ops.h"

enum {
    HAS_ATTRS = 1,
    HAS_RESULTS = 2,
    HAS_OPERANDS = 4,
    HAS_SUCCESSORS = 8,
    HAS_REGIONS = 16,
    HAS_USE_ORDERS = 32,
    HAS_PROPERTIES = 64
};

/* What region and block are being filled: the number of the next value, and of the first that is not theirs. */
typedef struct scope {
    size_t next, end;
    ir_block *block;
} scope;

/* --- Heads --- */

static bool read_indices(bc_reader *r, bc_cursor *c, const char *what, size_t *out_n, size_t **out) {
    if (!bc_count(r, c, what, out_n) || !(*out = bc_alloc(r, *out_n, sizeof **out))) return false;
    for (size_t i = 0; i < *out_n; i++) {
        uint64_t v;
        if (!bc_varint(r, c, &v)) return false;
        (*out)[i] = (size_t)v;
    }
    return true;
}

/* Orders of use lists matter only to tools that write the same bytes again. */
bool bc_skip_use_orders(bc_reader *r, bc_cursor *c, size_t n_values) {
    size_t n = 1;
    if (n_values > 1 && !bc_count(r, c, "use lists", &n)) return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t v, k;
        bool pairs;
        if (n_values > 1 && !bc_varint(r, c, &v)) return false;
        if (!bc_flagged(r, c, &k, &pairs)) return false;
        if (k > (size_t)(c->end - c->at)) return bc_fail(r, c->at, "a use list of %llu entries", (unsigned long long)k);
        for (uint64_t j = 0; j < k; j++)
            if (!bc_varint(r, c, &v)) return false;
    }
    return true;
}

bool bc_read_head(bc_reader *r, bc_cursor *c, bc_op_head *h) {
    unsigned mask;
    size_t name, loc, prop, dict;
    *h = (bc_op_head){.at = c->at};
    if (!bc_index(r, c, r->n_ops, "op name", &name) || !bc_byte(r, c, &mask)) return false;
    h->name = &r->ops[name];
    const unsigned char *at = c->at;
    if (!bc_index(r, c, r->n_attrs, "location", &loc) || !bc_loc_get(r, loc, at, &h->loc)) return false;
    if (mask & HAS_ATTRS) {
        at = c->at;
        if (!bc_index(r, c, r->n_attrs, "attribute", &dict) || !bc_attr_get(r, dict, at, &h->dict)) return false;
        if (h->dict->a.kind != IR_AK_DICT || !h->dict->members) /* others than the builtin one have no members */
            return bc_fail(r, at, "an op's attributes are no dictionary");
    }
    if (mask & HAS_PROPERTIES) {
        if (!bc_index(r, c, r->n_properties, "properties", &prop)) return false;
        h->props = &r->properties[prop];
    }
    h->types_at = c->at;
    if (mask & HAS_RESULTS && !read_indices(r, c, "results", &h->n_types, &h->types)) return false;
    h->operands_at = c->at;
    if (mask & HAS_OPERANDS && !read_indices(r, c, "operands", &h->n_operands, &h->operands)) return false;
    if (mask & HAS_SUCCESSORS) return bc_fail(r, c->at, "successor blocks are not part of StableHLO");
    if (mask & HAS_USE_ORDERS && !bc_skip_use_orders(r, c, h->n_types)) return false;
    if (mask & HAS_REGIONS) {
        uint64_t n;
        if (!bc_flagged(r, c, &n, &h->isolated)) return false;
        if (n > (size_t)(c->end - c->at)) return bc_fail(r, c->at, "%llu regions", (unsigned long long)n);
        h->n_regions = (size_t)n;
    }
    return true;
}

/* --- Values --- */

static bool define(bc_reader *r, scope *s, const void *at, ir_value *v) {
    if (s->next >= s->end) return bc_fail(r, at, "a region defines more values than it announced");
    r->values[s->next++] = v;
    return true;
}

static bool grow_values(bc_reader *r, const void *at, size_t n) {
    if (n > (size_t)1 << 28 || !vec_grow((void **)&r->values, &r->cap_values, r->n_values + n, sizeof *r->values))
        return n > (size_t)1 << 28 ? bc_fail(r, at, "%zu values", n) : bc_oom(r);
    if (n) memset(r->values + r->n_values, 0, n * sizeof *r->values);
    r->n_values += n;
    return true;
}

static bool use(bc_reader *r, const void *at, size_t id, ir_value **out) {
    if (id >= r->n_values - r->base || !r->values[r->base + id])
        return bc_fail(r, at, "value %zu is used before it is defined", id);
    *out = r->values[r->base + id];
    return true;
}

/* --- Regions --- */

static bool read_op(bc_reader *r, bc_cursor *c, scope *s);

static bool read_args(bc_reader *r, bc_cursor *c, scope *s) {
    size_t n, type;
    uint64_t v;
    unsigned orders;
    if (!bc_count(r, c, "arguments", &n)) return false;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *at = c->at;
        const ir_type *t;
        bool has_loc = true;
        if (r->version < 4 ? !bc_varint(r, c, &v) : !bc_flagged(r, c, &v, &has_loc)) return false;
        type = (size_t)v;
        if (has_loc && !bc_varint(r, c, &v)) return false;
        if (!bc_value_type(r, type, at, &t)) return false;
        ir_value *arg = ir_block_arg(r->m, s->block, t);
        if (!arg) return bc_oom(r);
        if (!define(r, s, at, arg)) return false;
    }
    return r->version < 3 || (bc_byte(r, c, &orders) && (!orders || bc_skip_use_orders(r, c, n)));
}

static bool read_block(bc_reader *r, bc_cursor *c, scope *s) {
    uint64_t n;
    bool has_args;
    if (!bc_flagged(r, c, &n, &has_args) || (has_args && !read_args(r, c, s))) return false;
    for (uint64_t i = 0; i < n; i++)
        if (!read_op(r, c, s)) return false;
    return true;
}

/* One region into `block`; *out_empty when it has no block at all. */
bool bc_read_region(bc_reader *r, bc_cursor *c, ir_block *block, bool *out_empty) {
    const unsigned char *at = c->at;
    uint64_t n_blocks;
    size_t n_values;
    if (!bc_varint(r, c, &n_blocks)) return false;
    *out_empty = n_blocks == 0;
    if (n_blocks == 0) return true;
    if (n_blocks > 1)
        return bc_fail(r, at, "%llu blocks: StableHLO regions have exactly one", (unsigned long long)n_blocks);
    if (!bc_count(r, c, "values", &n_values) || !bc_enter(r, at)) return false;
    scope s = {.next = r->n_values, .end = r->n_values + n_values, .block = block};
    bool ok = grow_values(r, at, n_values) && read_block(r, c, &s);
    r->n_values -= ok ? n_values : 0;
    bc_leave(r);
    return ok;
}

bool bc_enter_nest(bc_reader *r, bc_cursor *c, const bc_op_head *h, bc_nest *n) {
    *n = (bc_nest){.c = c, .base = r->base};
    if (!h->isolated) return true;
    r->base = r->n_values;
    if (r->version < 2) return true;
    const unsigned char *at = c->at;
    unsigned id;
    if (!bc_section(r, c, &id, &n->own)) return false;
    if (id != 4) return bc_fail(r, at, "a section of regions has the kind %u", id);
    n->c = &n->own;
    return true;
}

bool bc_leave_nest(bc_reader *r, const bc_nest *n) {
    r->base = n->base;
    return n->c != &n->own || n->c->at == n->c->end ||
           bc_fail(r, n->c->at, "%zu bytes too many after an op's regions", (size_t)(n->c->end - n->c->at));
}

static bool read_regions(bc_reader *r, bc_cursor *c, const bc_op_head *h, ir_block **blocks) {
    bc_nest n;
    if (h->n_regions == 0) return true;
    if (!bc_enter_nest(r, c, h, &n)) return false;
    for (size_t i = 0; i < h->n_regions; i++) {
        bool empty;
        if (!(blocks[i] = ir_block_new(r->m))) return bc_oom(r);
        if (!bc_read_region(r, n.c, blocks[i], &empty)) return false;
        if (empty) blocks[i] = NULL;
    }
    return bc_leave_nest(r, &n);
}

/* --- Attributes --- */

/* Properties as their row spells them, one reference each, "name?" one that may be missing (in vhlo none may); then the
 * dictionary. */
bool bc_read_props(bc_reader *r, const bc_op_head *h, bc_props *out) {
    size_t cap = 1 + (h->dict ? h->dict->a.n : 0);
    const char *names = h->props ? h->name->props : "";
    if (!names)
        return bc_refuse(r, h->at, "the properties of %s.%s are not known here", h->name->dialect_name, h->name->name);
    for (const char *s = names; *s; s++) cap += *s == ' ' || s == names;
    *out = (bc_props){.items = bc_alloc(r, cap, sizeof *out->items)};
    if (!out->items) return false;
    bc_cursor c = h->props ? *h->props : (bc_cursor){h->at, h->at};
    while (*names) {
        size_t n = strcspn(names, " ");
        bool mark = names[n - 1] == '?', optional = mark && h->name->dialect != BC_VHLO;
        char *copy = bc_alloc(r, n + 1, 1);
        bc_prop p = {copy, NULL};
        if (!copy) return false;
        memcpy(copy, names, n - mark);
        if (optional ? !bc_attr_ref_optional(r, &c, &p.a) : !bc_attr_ref(r, &c, &p.a)) return false;
        if (p.a) out->items[out->n++] = p;
        names += n + (names[n] == ' ');
    }
    if (c.at != c.end)
        return bc_fail(r, c.at, "%s.%s has more properties than are known of it", h->name->dialect_name, h->name->name);
    for (size_t i = 0; h->dict && i < h->dict->a.n; i++)
        out->items[out->n++] = (bc_prop){h->dict->a.v.list[i].name, h->dict->members[i]};
    return true;
}

static bool op_attrs(bc_reader *r, const bc_op_head *h, bc_attrs *out) {
    bc_props p;
    if (!h->props && !h->dict) return bc_finish_op_attrs(r, h->at, h->name, out);
    if (!bc_read_props(r, h, &p)) return false;
    for (size_t i = 0; i < p.n; i++)
        if (!bc_push_op_attr(r, h->at, h->name, p.items[i].name, p.items[i].a, out)) return false;
    return bc_finish_op_attrs(r, h->at, h->name, out);
}

/* --- Ops --- */

bool bc_not_known(bc_reader *r, const bc_op_head *h) {
    return bc_refuse(r, h->at, "the op %s.%s is not known here", h->name->dialect_name, h->name->name);
}

/* StableHLO's verifier lets a comparison state a type that its operands' elements do not have, and the elements' own
 * type is what counts; the IR holds to the specification, which wants them to agree. */
static void fit_compare(ir_value *const *in, bc_attrs *l) {
    for (size_t i = 0; i < l->n; i++) {
        const ir_attr *a = &l->items[i];
        if (a->key != IR_A_compare_type || (a->v.i != IR_CMP_SIGNED && a->v.i != IR_CMP_UNSIGNED)) continue;
        xt_dtype t = in[0]->type->dtype;
        bool is_signed = ir_dtype_is_int(t) && ir_dtype_is_signed(t);
        bool fits = a->v.i == IR_CMP_SIGNED ? is_signed : t == XT_BOOL || (ir_dtype_is_int(t) && !is_signed);
        if (!fits) l->items[i] = l->items[--l->n];
        return;
    }
}

/* Between types of two dialects that are one in the IR. */
static bool read_cast(bc_reader *r, const bc_op_head *h, scope *s) {
    if (h->n_types != h->n_operands) return bc_fail(r, h->at, "a cast of %zu values to %zu", h->n_operands, h->n_types);
    for (size_t i = 0; i < h->n_types; i++) {
        ir_value *v = NULL;
        const ir_type *t;
        if (!use(r, h->operands_at, h->operands[i], &v) || !bc_value_type(r, h->types[i], h->types_at, &t))
            return false;
        if (v->type != t) return bc_fail(r, h->at, "a cast changes the type of its operand");
        if (!define(r, s, h->at, v)) return false;
    }
    return true;
}

static bool build(bc_reader *r, const bc_op_head *h, ir_block *block, ir_opcode code, ir_value **in,
                  const bc_attrs *attrs, size_t n_regions, ir_block *const *regions, const ir_type *const *types,
                  ir_op **out) {
    ir_builder b = ir_at_end(r->m, block);
    b.src = h->loc.src;
    b.path = h->loc.path;
    ir_attr *kept = attrs->n ? arena_copy(r->m->mem, attrs->items, attrs->n * sizeof *kept) : NULL;
    if (attrs->n && !kept) return bc_oom(r);
    *out = ir_build(&b, code, h->n_operands, in, attrs->n, kept, n_regions, regions, h->n_types,
                    h->n_types ? types : NULL);
    if (b.status) {
        if (status_code(b.status) == XT_RESOURCE_EXHAUSTED)
            bc_oom(r);
        else
            bc_refuse(r, h->at, "%s", status_text(b.status));
        xt_status_free(b.status);
        return false;
    }
    if (!*out) return bc_oom(r);
    return (*out)->n_out == h->n_types || bc_refuse(r, h->at, "%s has %u results, but the file has %zu",
                                                    ir_op_infos[code].name, (*out)->n_out, h->n_types);
}

static ir_opcode opcode_of(const bc_op_head *h, const ir_block *block) {
    if (h->name->code == OP_return && block->func) return OP_func_return;
    return h->name->code;
}

static bool read_op(bc_reader *r, bc_cursor *c, scope *s) {
    bc_op_head h;
    bc_attrs attrs = {0};
    ir_op *op = NULL;
    if (!bc_read_head(r, c, &h)) return false;
    if (h.name->dialect == BC_BUILTIN && strcmp(h.name->name, "unrealized_conversion_cast") == 0)
        return read_cast(r, &h, s);
    if (h.name->code == OP_COUNT) return bc_not_known(r, &h);
    ir_value **in = bc_alloc(r, h.n_operands, sizeof *in);
    const ir_type **types = bc_alloc(r, h.n_types, sizeof *types);
    ir_block **regions = bc_alloc(r, h.n_regions, sizeof *regions);
    if (!in || !types || !regions || !op_attrs(r, &h, &attrs)) return false;
    for (size_t i = 0; i < h.n_operands; i++)
        if (!use(r, h.operands_at, h.operands[i], &in[i])) return false;
    for (size_t i = 0; i < h.n_types; i++)
        if (!bc_value_type(r, h.types[i], h.types_at, &types[i])) return false;
    if (h.name->code == OP_compare && h.n_operands && in[0]->type->kind == IR_TENSOR) fit_compare(in, &attrs);
    /* results have their numbers before the regions have theirs, but nothing can read them there */
    size_t first = s->next;
    if (h.n_types > s->end - s->next) return bc_fail(r, h.at, "a region defines more values than it announced");
    s->next += h.n_types;
    if (!read_regions(r, c, &h, regions) ||
        !build(r, &h, s->block, opcode_of(&h, s->block), in, &attrs, h.n_regions, regions, types, &op))
        return false;
    for (size_t i = 0; i < h.n_types; i++) r->values[first + i] = &op->out[i];
    return true;
}
