/* Cuts a chain that attn_find.c has found out of the program, group by group: all that can be computed between entering
 * the chain and leaving it. Groups are treated from the last to the first, because later ones say which numbers of rows
 * of earlier ones they read. */
#include "cpu/plan/attention/attn.h"
#include "cpu/plan/splice.h"

/* Rows of a tile: so many that its arrays stay in the second-level cache beside each other, and enough for the products
 * to run well. */
enum {
    TILE_BYTES = 512 << 10,
    LEAST_ROWS = 32,
    MOST_ROWS = 128
}; /* measured with 12 causal heads of 64, f32, 2 threads: 8 to 12 % faster than half of it at 1024 tokens, the same at
      512 */

static bool is_const(const ir_value *v) {
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    return l && (l->splat || l->type->count == 1);
}

/* What operand i of an op in the chain is for a tile. */
void attn_operand_tags(const attn_group *g, const ir_op *op, uint32_t i, attn_tags *out) {
    attn_chain_operand(g->c, op, i, out);
}

void attn_chain_operand(const attn_chain *c, const ir_op *op, uint32_t i, attn_tags *out) {
    const attn_value *made = attn_info(c, &op->out[0]);
    const attn_value *v = attn_info(c, op->in[i]);
    *out = (attn_tags){0};
    if (v && (v->kind == ATTN_FULL || v->kind == ATTN_GIVEN || v->kind == ATTN_ROWS))
        *out = v->tags;
    else if (made->exits)
        attn_tags_beside(op, 1 - i, &attn_info(c, op->in[1 - i])->tags, out);
    else if (op->code != OP_reduce)
        attn_tags_back(op, i, &made->tags, out);
}

/* The value is computed within the group. */
static bool is_inside(const attn_group *g, const ir_value *v) {
    const attn_value *i = attn_info(g->c, v);
    return i && (i->kind == ATTN_FULL || (i->kind == ATTN_ROWS && i->inner == g->level));
}

/* --- what the group holds --- */
static bool is_member(const attn_group *g, const ir_op *op) {
    const attn_value *v = op->n_out == 1 ? attn_info(g->c, &op->out[0]) : NULL;
    return v && v->need;
}

static struct attn_given *find_given(const attn_group *g, const ir_value *v, const attn_tags *tags) {
    for (size_t k = 0; k < g->n_given; k++)
        if (g->given[k].value == v && attn_tags_equal(v->type, &g->given[k].tags, tags)) return &g->given[k];
    return NULL;
}

struct attn_given *attn_given_of(const attn_group *g, const ir_op *op, uint32_t i) {
    attn_tags t;
    attn_operand_tags(g, op, i, &t);
    return find_given(g, op->in[i], &t);
}

static xt_status add_given(attn_group *g, ir_value *v, const attn_tags *tags, bool bounded) {
    struct attn_given *there = find_given(g, v, tags), one = {.value = v, .tags = *tags, .bounded = bounded};
    if (there) there->bounded |= bounded;
    if (there) return NULL;
    return VEC_PUSH(g->given, g->n_given, g->cap_given, one) ? NULL : status_oom(sizeof one, "attention");
}

static xt_status collect(attn_group *g) {
    attn_chain *c = g->c;
    for (size_t i = 0; i < c->n_values; i++) c->values[i].need = false;
    for (ir_op *op = c->body->last; op; op = op->prev) {
        attn_value *v = op->n_out == 1 ? attn_info(c, &op->out[0]) : NULL;
        if (!v) continue;
        bool root = (v->exits || (v->kind == ATTN_ROWS && v->wanted)) && v->inner == g->level;
        if (root && !VEC_PUSH(g->roots, g->n_roots, g->cap_roots, op)) return status_oom(sizeof op, "attention");
        if (!root && !v->need) continue;
        v->need = true;
        for (uint32_t i = 0; i < op->n_in; i++) {
            attn_value *x = attn_info(c, op->in[i]);
            if (!x) continue;
            if (is_inside(g, op->in[i]))
                x->need = true;
            else if (x->kind == ATTN_ROWS)
                x->wanted = true;
        }
    }
    for (ir_op *op = c->body->first; op; op = op->next)
        for (uint32_t i = 0; is_member(g, op) && i < op->n_in; i++) {
            attn_tags t;
            attn_operand_tags(g, op, i, &t);
            bool init = op->code == OP_reduce && i > 0;
            if (!is_inside(g, op->in[i]) && !is_const(op->in[i]) && !init)
                XT_TRY(add_given(g, op->in[i], &t, op->code == OP_dot_general));
        }
    return NULL;
}

/* --- the function of a tile --- */
static ir_value *splat(attn_group *g, const ir_literal *l, const ir_type *t) {
    ir_attr a = ir_attr_dense(&g->b, IR_A_value, t, l->data, true);
    ir_op *op = ir_build(&g->b, OP_constant, 0, NULL, 1, &a, 0, NULL, 1, &t);
    return op ? &op->out[0] : NULL;
}

ir_value *attn_operand(attn_group *g, const ir_op *op, uint32_t i) {
    ir_value *v = op->in[i];
    attn_tags t;
    if (is_inside(g, v)) return attn_info(g->c, v)->copy;
    attn_operand_tags(g, op, i, &t);
    if (is_const(v)) return splat(g, ir_get_literal(v->def), attn_tile_type(v->type, &t, g->rows, g->cols));
    const struct attn_given *given = attn_given_of(g, op, i);
    return given ? given->arg : NULL;
}

/* Counted in integers from where the tile begins, then converted: the numbers are those of the whole. */
static ir_value *iota(attn_group *g, const ir_op *op, const attn_value *v) {
    ir_builder *b = &g->b;
    int64_t dim = ir_get_int(op, IR_A_iota_dimension, 0), tag = v->tags.at[dim];
    xt_dtype count = attn_flat(tag) ? XT_I64 : XT_I32;
    const ir_type *t = attn_tile_type(v->value->type, &v->tags, g->rows, g->cols), *index = ir_with_dtype(t, count),
                  *one = ir_scalar(count);
    if (tag == ATTN_ALL || tag == ATTN_COL) return ir_iota(b, t, dim);
    ir_value *i = ir_iota(b, index, dim), *first = g->row;
    if (attn_flat(tag)) {
        first = ir_binary(b, OP_multiply, ir_convert(b, g->batch, count), ir_splat(b, one, (double)g->c->rows));
        first = ir_binary(b, OP_multiply, ir_binary(b, OP_add, first, ir_convert(b, g->row, count)),
                          ir_splat(b, one, (double)attn_flat(tag)));
    }
    if (tag > 0)
        first = ir_binary(b, OP_remainder, ir_binary(b, OP_divide, g->batch, ir_splat(b, one, (double)tag)),
                          ir_splat(b, one, (double)v->value->type->dims[dim]));
    i = ir_binary(b, OP_add, i, ir_broadcast_scalar(b, first, index));
    return i ? ir_convert(b, i, t->dtype) : NULL;
}

static bool is_summed(const ir_type *t, const attn_tags *g) {
    return !attn_tags_have(t, g, ATTN_ROW);
}

/* Of numbers that are drawn for whole rows. */
static ir_value *first_columns(attn_group *g, const ir_op *op, const attn_value *v, ir_value *const *in) {
    const ir_type *whole = attn_tile_type(v->value->type, &v->tags, g->rows, 0),
                  *t = attn_tile_type(v->value->type, &v->tags, g->rows, g->cols);
    ir_op *made = ir_build(&g->b, op->code, op->n_in, in, op->n_attrs, op->attrs, 0, NULL, 1, &whole);
    return made && t ? ir_slice(&g->b, &made->out[0], (int64_t[IR_MAX_RANK]){0}, t->dims, NULL) : NULL;
}

static ir_value *rebuild(attn_group *g, const ir_op *op) {
    attn_value *v = attn_info(g->c, &op->out[0]);
    const ir_type *t = attn_tile_type(v->value->type, &v->tags, g->rows, g->cols);
    ir_value *in[4];
    size_t n;
    g->b.src = op->src;
    g->b.path = op->path;
    if (!t || op->n_in > BASE_COUNT(in)) return NULL;
    if (op->code == OP_iota) return iota(g, op, v);
    if (op->code == OP_constant) return splat(g, ir_get_literal(op), t);
    if (op->code == OP_reduce) {
        const int64_t *dims = ir_get_ints(op, IR_A_dimensions, &n);
        return ir_reduce(&g->b, op->regions[0].block->first->code, attn_operand(g, op, 0), n, dims);
    }
    bool flat = false;
    for (uint32_t i = 0; i < op->n_in; i++) {
        attn_tags given;
        in[i] = attn_operand(g, op, i);
        attn_operand_tags(g, op, i, &given);
        flat |= attn_has_flat(op->in[i]->type, &given);
    }
    if (flat && g->cols && attn_tags_have(v->value->type, &v->tags, ATTN_COL)) return first_columns(g, op, v, in);
    if (v->exits && is_summed(t, &v->tags)) t = ir_with_dtype(t, XT_F32);
    ir_op *made = ir_build(&g->b, op->code, op->n_in, in, op->n_attrs, op->attrs, 0, NULL, 1, &t);
    return made ? &made->out[0] : NULL;
}

static void forget_function(attn_group *g) {
    for (size_t i = 0; i < g->c->n_values; i++) g->c->values[i].bounds_known = false;
    g->ok = NULL;
    g->unknown = false;
}

/* The group for `rows` rows, whose results depend on the first `cols` columns only (0: on all). */
static xt_status make_function(attn_group *g, int64_t rows, int64_t cols, const ir_func **out) {
    attn_chain *c = g->c;
    ir_module *m = c->e->module;
    char name[48];
    snprintf(name, sizeof name, "xtrain_tile_%u", c->e->n_tiles++);
    ir_func *f = ir_func_new(m, arena_strdup(m->mem, name), false);
    if (!f) return status_oom(0, "attention");
    g->rows = rows;
    g->cols = cols;
    g->b = ir_at_end(m, ir_func_block(f));
    forget_function(g);
    for (size_t k = 0; k < g->n_given; k++)
        g->given[k].arg = ir_func_arg(f, attn_tile_type(g->given[k].value->type, &g->given[k].tags, rows, cols));
    g->row = ir_func_arg(f, ir_scalar(XT_I32));
    g->batch = ir_func_arg(f, ir_scalar(XT_I32));
    for (size_t k = 0; k < g->n_given; k++)
        g->given[k].bound = cols && g->given[k].bounded ? ir_func_arg(f, ir_scalar(XT_F32)) : NULL;
    ir_value **results = arena_alloc(m->mem, (g->n_roots + 2) * sizeof *results);
    for (ir_op *op = c->body->first; op; op = op->next) {
        if (!is_member(g, op)) continue;
        ir_value *copy = attn_info(c, &op->out[0])->copy = rebuild(g, op);
        if (!copy)
            return g->b.status ? status_context(g->b.status, "a tile's function") : status_oom(0, "a tile's function");
        if (cols) attn_demand(g, op);
    }
    for (size_t i = 0; results && i < g->n_roots; i++) results[i] = attn_info(c, &g->roots[i]->out[0])->copy;
    if (results && cols) results[g->n_roots] = g->ok ? g->ok : ir_splat(&g->b, ir_scalar(XT_F32), 0);
    if (results) ir_return(&g->b, g->n_roots + (cols ? 1 : 0), results);
    *out = f;
    if (g->b.status) return status_context(g->b.status, "a tile's function");
    return results && ir_block_return(f->body) ? NULL : status_oom(0, "a tile's function");
}

/* Numbers that are drawn for whole rows cannot be made of some columns of others. */
static bool can_cut(const attn_group *g) {
    for (const ir_op *op = g->c->body->first; op; op = op->next) {
        if (!is_member(g, op) || !attn_has_flat(op->out[0].type, &attn_info(g->c, &op->out[0])->tags)) continue;
        for (uint32_t i = 0; i < op->n_in; i++) {
            attn_tags t;
            attn_operand_tags(g, op, i, &t);
            if (attn_tags_have(op->in[i]->type, &t, ATTN_COL)) return false;
        }
    }
    return true;
}

static xt_status make_cuts(attn_group *g, attn_call *t) {
    const attn_chain *c = g->c;
    const struct attn_given *mask = c->mask.value ? find_given(g, c->mask.value, &c->mask.tags) : NULL;
    if (c->mask.value && !mask) return NULL;
    if (mask) t->mask = c->mask, t->mask_in = (uint32_t)(mask - g->given);
    for (uint32_t k = 0; k < c->n_skips && can_cut(g); k++) {
        attn_skip skip = c->skips[k];
        g->hidden =
            (attn_block){skip.first * t->rows, mask ? c->rows : skip.last * t->rows, skip.cols, c->cols, c->mask};
        XT_TRY(make_function(g, t->rows, skip.cols, &skip.body));
        if (g->unknown) return NULL;
        t->skips[t->n_skips++] = skip;
    }
    return NULL;
}

/* --- the call --- */
/* The call stands behind the last of its operands; its readers move behind it. */
static ir_op *last_operand(const attn_group *g) {
    ir_op *last = NULL;
    uint64_t epoch = ir_new_epoch();
    for (size_t k = 0; k < g->n_given; k++)
        if (g->given[k].value->def) g->given[k].value->mark = epoch;
    for (ir_op *op = g->c->body->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++)
            if (op->out[i].mark == epoch) last = op;
    return last;
}

int64_t attn_tile_rows(const attn_chain *c) {
    int64_t rows = TILE_BYTES / (4 * c->cols) / 8 * 8;
    rows = rows < LEAST_ROWS ? LEAST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
    return rows < c->rows ? rows : c->rows;
}

static xt_status make_call(attn_group *g) {
    attn_chain *c = g->c;
    ir_module *m = c->e->module;
    attn_call *t = arena_alloc(m->mem, sizeof *t);
    attn_arg *args = arena_alloc(m->mem, (g->n_given + g->n_roots + 1) * sizeof *args);
    ir_value **in = arena_alloc(m->mem, (g->n_given + 1) * sizeof *in);
    const ir_type **types = arena_alloc(m->mem, (g->n_roots + 1) * sizeof *types);
    if (!t || !args || !in || !types) return status_oom(0, "attention");
    *t = (attn_call){.batch = c->batch,
                     .total_rows = c->rows,
                     .rows = c->tile_rows,
                     .in = args,
                     .out = args + g->n_given,
                     .next = c->e->tiles};
    XT_TRY(make_cuts(g, t));
    XT_TRY(make_function(g, t->rows, 0, &t->body));
    if (c->rows % t->rows) XT_TRY(make_function(g, c->rows % t->rows, 0, &t->rest));
    for (size_t k = 0; k < g->n_given; k++) {
        in[k] = g->given[k].value;
        args[k] = (attn_arg){.tags = g->given[k].tags, .bounded = g->given[k].bounded};
    }
    for (size_t k = 0; k < g->n_roots; k++) {
        const attn_value *v = attn_info(c, &g->roots[k]->out[0]);
        types[k] = v->value->type;
        t->out[k] = (attn_arg){.tags = v->tags, .summed = is_summed(types[k], &v->tags)};
    }
    ir_op *last = last_operand(g);
    ir_builder b = ir_before(m, last ? last->next : c->body->first);
    b.src = g->roots[0]->src;
    b.path = g->roots[0]->path;
    ir_attr name = ir_attr_string(&b, IR_A_call_target_name, "xtrain_attention");
    ir_op *call = ir_build(&b, OP_custom_call, g->n_given, in, 1, &name, 0, NULL, g->n_roots, types);
    if (!call) return b.status ? b.status : status_oom(0, "attention");
    for (size_t k = 0; k < g->n_roots; k++)
        ir_replace_uses(m, &attn_info(c, &g->roots[k]->out[0])->value[0], &call->out[k]);
    t->op = call;
    c->e->tiles = t;
    cpu_drop_dead(c->body);
    return cpu_move_readers(call);
}

/* Exits' tags, which nobody needed so far; and numbers of rows that are read outside. */
static void settle(attn_chain *c) {
    for (ir_op *op = c->body->first; op; op = op->next) {
        attn_value *v = op->n_out == 1 ? attn_info(c, &op->out[0]) : NULL;
        if (v && v->exits) {
            uint32_t i = attn_kind_of(c, op->in[0]) == ATTN_FULL ? 0 : 1;
            attn_tags_on(op, i, &attn_info(c, op->in[i])->tags, &v->tags);
        }
        if (!v || v->kind != ATTN_ROWS) continue;
        v->wanted = v->n_users != v->value->uses;
        for (size_t k = 0; k < v->n_users && !v->wanted; k++) {
            const ir_op *user = c->users[v->first_user + k];
            const attn_value *u = user->n_out == 1 ? attn_info(c, &user->out[0]) : NULL;
            v->wanted = !u || !(u->kind == ATTN_FULL || u->kind == ATTN_ROWS || u->exits);
        }
    }
}

xt_status attn_build(attn_chain *c) {
    xt_status s = NULL;
    settle(c);
    for (uint32_t level = c->most_level + 1; level-- > 0 && !s;) {
        attn_group g = {.c = c, .level = level};
        s = collect(&g);
        if (!s && g.n_roots) s = make_call(&g);
        base_free(g.roots);
        base_free(g.given);
    }
    return s;
}
