/* Takes a chain of rowwise.h out of the program: the functions of its blocks, and the call. */
#include "cpu/plan/rowwise.h"
#include "cpu/plan/splice.h"

typedef struct rows_func { /* being made */
    rowwise_chain *c;
    ir_builder b;
    ir_func *f;
    int64_t rows;
} rows_func;

static const ir_type *block_type(const rows_func *m, xt_dtype t, rowwise_kind kind) {
    int64_t dims[] = {m->rows, kind == ROWWISE_FULL ? m->c->cols : 1};
    return kind == ROWWISE_ONE    ? ir_scalar(t)
           : kind == ROWWISE_COLS ? ir_tensor(t, 1, &m->c->cols)
                                  : ir_tensor(t, 2, dims);
}

/* An operand of the call, as an argument of the function. */
static ir_value *given(rows_func *m, ir_value *v, rowwise_kind kind) {
    rowwise_chain *c = m->c;
    size_t k = 0;
    while (k < c->n_given && (c->given[k].value != v || c->given[k].kind != kind)) k++;
    if (k == c->n_given) {
        rowwise_given one = {.value = v, .kind = kind};
        if (!VEC_PUSH(c->given, c->n_given, c->cap_given, one)) return NULL;
    }
    if (!c->given[k].arg) c->given[k].arg = ir_func_arg(m->f, block_type(m, v->type->dtype, kind));
    return c->given[k].arg;
}

static ir_value *splat(rows_func *m, const ir_value *v, const ir_type *t) {
    ir_attr a = ir_attr_dense(&m->b, IR_A_value, t, ir_get_literal(v->def)->data, true);
    ir_op *op = ir_build(&m->b, OP_constant, 0, NULL, 1, &a, 0, NULL, 1, &t);
    return op ? &op->out[0] : NULL;
}

static ir_value *block_of(rows_func *m, ir_value *v);

static ir_value *broadcast(rows_func *m, const ir_op *op, const ir_type *t) {
    rowwise_kind kind = rowwise_broadcast_of(m->c, op);
    ir_value *from = op->in[0];
    switch (kind) {
    case ROWWISE_ONE:
        if (rowwise_is_splat(from)) return splat(m, from, t);
        return ir_broadcast_in_dim(&m->b, given(m, from, ROWWISE_ONE), t, 0, NULL);
    case ROWWISE_COLS: return ir_broadcast_in_dim(&m->b, given(m, from, ROWWISE_COLS), t, 1, (int64_t[]){1});
    case ROWWISE_ROWS: {
        ir_value *rows = block_of(m, from);
        return t->dims[1] == 1 ? rows : ir_broadcast_in_dim(&m->b, rows, t, 2, (int64_t[]){0, 1});
    }
    default: return block_of(m, from);
    }
}

/* The block of a value that the chain reads or makes. */
static ir_value *block_of(rows_func *m, ir_value *v) {
    const rowwise_value *known = rowwise_info(m->c, v);
    rowwise_kind kind = rowwise_kind_of(m->c, v->type);
    if (rowwise_is_inside(m->c, v)) return known->copy;
    if (v->type->rank == 0) return rowwise_is_splat(v) ? splat(m, v, v->type) : given(m, v, ROWWISE_ONE);
    const ir_type *t = block_type(m, v->type->dtype, kind);
    if (rowwise_is_splat(v)) return splat(m, v, t);
    bool of_one = v->def && v->def->code == OP_broadcast_in_dim && v->def->in[0]->type->count == 1;
    if (!v->def || (kind == ROWWISE_ROWS && !of_one)) return given(m, v, kind);
    if (v->def->code == OP_iota) return ir_iota(&m->b, t, 1);
    if (v->def->code == OP_broadcast_in_dim) return broadcast(m, v->def, t);
    if (v->def->code == OP_reshape) return block_of(m, v->def->in[0]);
    return given(m, v, kind);
}

static ir_value *rebuild(rows_func *m, const ir_op *op) {
    rowwise_kind kind = rowwise_kind_of(m->c, op->out[0].type);
    const ir_type *t = block_type(m, op->out[0].type->dtype, kind);
    ir_value *in[4];
    m->b.src = op->src;
    m->b.path = op->path;
    switch ((int)op->code) {
    case OP_reduce: {
        ir_value *x = block_of(m, op->in[0]),
                 *sums = ir_reduce(&m->b, op->regions[0].block->first->code, x, 1, (int64_t[]){1});
        return ir_reshape(&m->b, sums, 2, t->dims);
    }
    case OP_reshape: return block_of(m, op->in[0]);
    case OP_broadcast_in_dim: return broadcast(m, op, t);
    default: break;
    }
    for (uint32_t i = 0; i < op->n_in; i++) in[i] = block_of(m, op->in[i]);
    ir_op *made = ir_build(&m->b, op->code, op->n_in, in, op->n_attrs, op->attrs, 0, NULL, 1, &t);
    return made ? &made->out[0] : NULL;
}

/* Somebody outside the chain reads it. */
static bool is_result(const rowwise_chain *c, const ir_op *op) {
    return op->out[0].uses > rowwise_info(c, &op->out[0])->inside;
}

static xt_status make_function(rowwise_chain *c, int64_t rows, ir_attr *out_name) {
    ir_module *mod = c->e->module;
    char name[48];
    snprintf(name, sizeof name, ROWWISE_TARGET "_%u", c->e->n_tiles++);
    const char *kept = arena_strdup(mod->mem, name);
    rows_func m = {.c = c, .rows = rows};
    ir_value **results = arena_alloc(mod->mem, (c->n_ops + 1) * sizeof *results);
    size_t n = 0;
    if (!kept || !results || !(m.f = ir_func_new(mod, kept, false))) return status_oom(0, "a block's function");
    m.b = ir_at_end(mod, ir_func_block(m.f));
    for (size_t k = 0; k < c->n_given; k++) {
        c->given[k].arg = ir_func_arg(m.f, block_type(&m, c->given[k].value->type->dtype, c->given[k].kind));
        if (!c->given[k].arg) return status_oom(0, "a block's function");
    }
    for (size_t i = 0; i < c->n_ops; i++) {
        ir_value *copy = rebuild(&m, c->ops[i]);
        if (!copy)
            return m.b.status ? status_context(m.b.status, "a block's function") : status_oom(0, "a block's function");
        rowwise_info(c, &c->ops[i]->out[0])->copy = copy;
        if (is_result(c, c->ops[i])) results[n++] = copy;
    }
    ir_return(&m.b, n, results);
    if (m.b.status) return status_context(m.b.status, "a block's function");
    *out_name = (ir_attr){.kind = IR_AK_SYMBOL, .name = "", .n = strlen(kept), .v.s = kept};
    return ir_block_return(m.f->body) ? NULL : status_oom(0, "a block's function");
}

/* The op behind which all operands of the call are there; NULL: at the beginning. */
static ir_op *last_operand(const rowwise_chain *c) {
    uint64_t epoch = ir_new_epoch();
    size_t left = 0;
    for (size_t k = 0; k < c->n_given; k++) {
        ir_value *v = c->given[k].value;
        if (v->def && v->mark != epoch) left++, v->mark = epoch;
    }
    ir_op *op = left ? c->e->main->body->last : NULL;
    for (; op; op = op->prev)
        for (uint32_t i = 0; i < op->n_out; i++)
            if (op->out[i].mark == epoch) return op;
    return NULL;
}

xt_status rowwise_build(rowwise_chain *c, ir_op **out) {
    ir_module *m = c->e->module;
    ir_value **in, **results = base_calloc(c->n_ops + 1, sizeof(ir_value *));
    const ir_type **types = base_calloc(c->n_ops + 1, sizeof *types);
    ir_attr *names = arena_alloc(m->mem, 2 * sizeof *names);
    size_t n = 0, n_names = 1;
    xt_status s = results && types && names ? NULL : status_oom(0, "chains over rows");
    for (size_t i = 0; i < c->n_ops && !s; i++)
        if (is_result(c, c->ops[i])) results[n] = &c->ops[i]->out[0], types[n++] = c->ops[i]->out[0].type;
    if (n == 0) goto done;
    if (!s) s = make_function(c, c->block, &names[0]);
    if (!s && c->rows % c->block) s = make_function(c, c->rows % c->block, &names[n_names++]);
    in = s ? NULL : arena_alloc(m->mem, (c->n_given + 1) * sizeof *in);
    if (!s && !in) s = status_oom(0, "chains over rows");
    if (s) goto done;
    for (size_t k = 0; k < c->n_given; k++) in[k] = c->given[k].value;
    ir_op *last = last_operand(c);
    ir_builder b = ir_before(m, last ? last->next : c->e->main->body->first);
    b.src = c->ops[c->n_ops - 1]->src;
    b.path = c->ops[c->n_ops - 1]->path;
    ir_attr attrs[2] = {ir_attr_string(&b, IR_A_call_target_name, ROWWISE_TARGET),
                        {.key = IR_A_called_computations,
                         .kind = IR_AK_ARRAY,
                         .name = ir_attr_key_name(IR_A_called_computations),
                         .n = n_names,
                         .v.list = names}};
    ir_op *call = ir_build(&b, OP_custom_call, c->n_given, in, 2, attrs, 0, NULL, n, types);
    if (!call) {
        s = b.status ? b.status : status_oom(0, "chains over rows");
        goto done;
    }
    for (size_t i = 0; i < n; i++) ir_replace_uses(m, results[i], &call->out[i]);
    for (size_t i = c->n_ops; i-- > 0;) ir_erase(c->ops[i]);
    *out = call;
    s = cpu_move_readers(call);
done:
    base_free(results);
    base_free(types);
    return s;
}
