/* needs: calls inlined, chlo lowered. keeps: meaning, on c->partitions devices; leaves no sharding annotation. The
 * partitioner: main, written for all devices together, becomes what each of them runs on its parts (see spmd.h for
 * the steps). Arguments and results have the forms that their mhlo.sharding attributes say, whole without one;
 * their types become those of one part. A program that names no sharding at all is one device's program already and
 * stays as it is. */
#include "ir/infer.h"
#include "pass/entry_layout.h"
#include "pass/spmd.h"

spmd_value *spmd_value_of(const spmd *s, const ir_value *v) {
    return (v->mark & ~(uint64_t)UINT32_MAX) == s->epoch ? &s->values[(uint32_t)v->mark] : NULL;
}

static xt_status oom(void) {
    return status_oom(0, "partitioning");
}

/* --- what the program says --- */
typedef struct texts { /* every sharding of the program, read once */
    ir_tiles **at;
    const char **texts;
    size_t n, cap, n_texts, cap_texts;
} texts;

static xt_status add_text(spmd *s, texts *all, const char *text, const ir_tiles **out) {
    *out = NULL;
    if (!text) return NULL;
    ir_tiles *t = arena_alloc(s->mem, sizeof *t);
    if (!t || !VEC_PUSH(all->at, all->n, all->cap, t) || !VEC_PUSH(all->texts, all->n_texts, all->cap_texts, text))
        return status_oom(sizeof *t, "shardings");
    *out = t;
    return ir_tiles_parse(text, s->grid.devices, NULL, t);
}

static const char *attr_text(ir_attr *const *attrs, const size_t *counts, size_t i) {
    return attrs ? ir_sharding_text(counts[i], attrs[i]) : NULL;
}

/* --- regions partitioned by hand --- */
/* Between two custom calls (shard_map in JAX) the program is one device's own: what enters is this device's part, what
 * leaves is put together again. */
static bool is_call_to(const ir_op *op, const char *target) {
    const char *name =
        op->code == OP_custom_call && op->n_in == 1 && op->n_out == 1 ? ir_get_string(op, IR_A_call_target_name) : NULL;
    return name && strcmp(name, target) == 0;
}
static bool enters(const ir_op *op) {
    return is_call_to(op, "SPMDFullToShardShape");
}
static bool leaves(const ir_op *op) {
    return is_call_to(op, "SPMDShardToFullShape");
}

static bool block_names_sharding(const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        if (ir_is_sharding(op) || enters(op) || leaves(op)) return true;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (block_names_sharding(op->regions[r].block)) return true;
    }
    return false;
}

static bool names_sharding(const ir_func *f) {
    for (size_t i = 0; i < f->body->n_args; i++)
        if (attr_text(f->arg_attrs, f->n_arg_attrs, i)) return true;
    for (size_t i = 0; i < f->n_results; i++)
        if (attr_text(f->result_attrs, f->n_result_attrs, i)) return true;
    return block_names_sharding(f->body);
}

static bool reads_manual(const spmd *s, const ir_op *op) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (spmd_value_of(s, op->in[i]) && spmd_value_of(s, op->in[i])->manual) return true;
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            if (reads_manual(s, in)) return true;
    return false;
}

/* Annotations of the program itself; those inside manual regions say nothing. */
static bool annotates(const spmd *s, const ir_op *op) {
    return leaves(op) || (ir_is_sharding(op) && !spmd_value_of(s, &op->out[0])->manual);
}

static xt_status cross(spmd *s, const ir_op *op, const ir_value *from, ir_value *v) {
    spmd_value *out = spmd_value_of(s, &op->out[0]);
    const ir_type *want = ir_shard_type(&s->grid, &out->want, op->out[0].type);
    out->now = v;
    out->have = out->want;
    if (!v) return s->b.status ? s->b.status : oom();
    if (v->type == want) return NULL;
    str text = STR_INIT;
    ir_type_print(from->type, &text);
    str_append(&text, " and ");
    ir_type_print(op->out[0].type, &text);
    xt_status st = status_new(XT_INVALID_ARGUMENT, NULL,
                              "custom_call @%s: %s are not the whole and the part that the sharding says",
                              ir_get_string(op, IR_A_call_target_name), str_cstr(&text));
    str_free(&text);
    return st;
}

static xt_status form_of(const spmd *s, const ir_value *v, const ir_tiles *t, const char *what, size_t i,
                         ir_sharding *out) {
    XT_TRY(ir_sharding_map(&s->grid, t, out));
    if (v->type->kind == IR_TENSOR && !t->replicated && !t->manual && !t->any_rank && t->rank != v->type->rank)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the sharding of %s %zu speaks of %zu dims, it has %u", what, i,
                          t->rank, v->type->rank);
    return NULL;
}

static xt_status fix(spmd *s, const ir_value *v, const ir_tiles *t, const char *what, size_t i) {
    spmd_value *x = spmd_value_of(s, v);
    x->fixed = true;
    if (!t) return NULL;
    return form_of(s, v, t, what, i, &x->want);
}

/* --- numbering --- */
static void count_block(const ir_block *b, size_t *values, size_t *ops) {
    *values += b->n_args;
    for (const ir_op *op = b->first; op; op = op->next) {
        *values += op->n_out;
        ++*ops;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) count_block(op->regions[r].block, values, ops);
    }
}

static void number(spmd *s, ir_value *v, bool manual) {
    s->values[s->n_values] =
        (spmd_value){.want = ir_sharding_none(), .have = ir_sharding_none(), .manual = manual, .fixed = manual};
    v->mark = s->epoch | s->n_values++;
}

static void number_block(spmd *s, ir_block *b, size_t depth) {
    for (size_t i = 0; i < b->n_args; i++) number(s, b->args[i], false);
    for (ir_op *op = b->first; op; op = op->next) {
        spmd_op *o = &s->ops[s->n_ops++];
        bool reads = reads_manual(s, op), manual = enters(op) || (reads && !leaves(op));
        *o = (spmd_op){.op = op, .manual = reads, .control = !reads && depth < SPMD_DEPTH && spmd_is_control(op)};
        for (uint32_t i = 0; i < op->n_out; i++) number(s, &op->out[i], manual);
        for (uint32_t r = 0; o->control && r < op->n_regions; r++) number_block(s, op->regions[r].block, depth + 1);
    }
}

/* Values and ops in the order of the program; those in regions of their own that are not partitioned have no number. */
static xt_status number_values(spmd *s) {
    size_t values = 0, ops = 0;
    count_block(s->f->body, &values, &ops);
    s->values = arena_alloc(s->mem, (values + 1) * sizeof *s->values);
    s->ops = arena_alloc(s->mem, (ops + 1) * sizeof *s->ops);
    if (!s->values || !s->ops) return status_oom(values * sizeof *s->values, "partitioning");
    s->epoch = ir_new_epoch();
    number_block(s, s->f->body, 0);
    return NULL;
}

/* What an argument or a result looks like at the border of the program. */
typedef struct border_form {
    ir_sharding form;
    bool said; /* a result of which nothing is said may stay as it is */
    const char *order; /* the text, when its devices stand otherwise than the program's */
} border_form;

/* Where the devices of the program stand in an order of their own, all is read again in it. A program with texts of
 * several orders keeps the devices' numbers: arguments and results of another order are then moved. */
static xt_status find_order(spmd *s, texts *all) {
    size_t first = 0;
    int64_t n = s->grid.devices;
    while (first < all->n && !all->at[first]->reordered) first++;
    if (first == all->n) return NULL;
    int64_t *order = arena_alloc(s->mem, 2 * (size_t)n * sizeof *order), *place = order + n;
    if (!order) return oom();
    XT_TRY(ir_tiles_order(all->texts[first], n, order));
    for (int64_t k = 0; k < n; k++) place[order[k]] = k;
    bool fits = true;
    for (size_t i = 0; i < all->n && fits; i++) {
        ir_tiles t;
        XT_TRY(ir_tiles_parse(all->texts[i], n, place, &t));
        fits = !t.reordered;
    }
    for (size_t i = 0; i < all->n && fits; i++) XT_TRY(ir_tiles_parse(all->texts[i], n, place, all->at[i]));
    if (!fits) return NULL;
    s->order = order;
    s->place = place;
    return NULL;
}

/* Fixes what arguments and annotations say, and proposes what results say. */
static xt_status read_shardings(spmd *s, texts *all, border_form *args, border_form *results) {
    ir_func *f = s->f;
    size_t n_args = f->body->n_args, n = n_args + f->n_results + s->n_ops;
    const ir_tiles **said = arena_alloc(s->mem, (n + 1) * sizeof *said);
    if (!said) return status_oom(n * sizeof *said, "shardings");
    for (size_t i = 0; i < n_args; i++)
        XT_TRY(
            status_context(add_text(s, all, attr_text(f->arg_attrs, f->n_arg_attrs, i), &said[i]), "argument %zu", i));
    for (size_t i = 0; i < f->n_results; i++)
        XT_TRY(status_context(add_text(s, all, attr_text(f->result_attrs, f->n_result_attrs, i), &said[n_args + i]),
                              "result %zu", i));
    const ir_tiles **notes = said + n_args + f->n_results;
    for (size_t k = 0; k < s->n_ops; k++) {
        const ir_op *op = s->ops[k].op;
        notes[k] = NULL;
        if (annotates(s, op))
            XT_TRY(status_at(add_text(s, all, ir_sharding_text(op->n_attrs, op->attrs), &notes[k]), src_get(op->src)));
    }
    for (size_t i = 0; i < all->n; i++)
        s->by_name = s->by_name || (strstr(all->texts[i], "devices=[") && !strstr(all->texts[i], "<=["));
    XT_TRY(find_order(s, all));
    XT_TRY(ir_grid_make(s->grid.devices, all->n, (const ir_tiles *const *)all->at, &s->grid));
    for (size_t i = 0; i < n_args; i++) {
        XT_TRY(fix(s, f->body->args[i], said[i], "argument", i));
        args[i] = (border_form){ir_sharding_none(), true,
                                said[i] && said[i]->reordered ? attr_text(f->arg_attrs, f->n_arg_attrs, i) : NULL};
        if (said[i]) XT_TRY(ir_sharding_map(&s->grid, said[i], &args[i].form));
    }
    for (size_t k = 0; k < s->n_ops; k++) {
        const ir_op *op = s->ops[k].op;
        if (!notes[k]) continue;
        if (notes[k]->reordered && (leaves(op) || (op->next && enters(op->next))))
            return status_at(
                status_new(XT_UNIMPLEMENTED, NULL,
                           "a region partitioned by hand has its devices in another order than the program"),
                src_get(op->src));
        XT_TRY(status_at(fix(s, &op->out[0], notes[k], "annotation", k), src_get(op->src)));
        if (ir_is_sharding(op)) spmd_value_of(s, &op->out[0])->open_dims = ir_sharding_open_dims(op);
    }
    const ir_op *ret = ir_block_return(f->body);
    for (size_t i = 0; i < f->n_results; i++) {
        const ir_tiles *t = said[n_args + i];
        results[i] = (border_form){ir_sharding_none(), t != NULL,
                                   t && t->reordered ? attr_text(f->result_attrs, f->n_result_attrs, i) : NULL};
        if (!t) continue;
        XT_TRY(form_of(s, ret->in[i], t, "result", i, &results[i].form));
        spmd_value *v = spmd_value_of(s, ret->in[i]);
        if (!v->fixed && ir_sharding_is_none(&v->want)) v->want = results[i].form;
    }
    return NULL;
}

/* --- emission --- */
/* The text with its devices named one by one, in the order of the program. */
static xt_status name_devices(const spmd *s, str *text) {
    const char *list = strstr(str_cstr(text), "<=["), *tail = strstr(str_cstr(text), " last_");
    int64_t *ids = arena_alloc(s->mem, (size_t)s->grid.devices * sizeof *ids);
    if (!list) return NULL;
    if (!ids) return oom();
    XT_TRY(ir_tiles_order(str_cstr(text), s->grid.devices, ids));
    str out = STR_INIT;
    str_printf(&out, "%.*s", (int)(list - str_cstr(text)), str_cstr(text));
    for (int64_t k = 0; k < s->grid.devices; k++)
        str_printf(&out, k ? ",%lld" : "%lld", (long long)(s->order ? s->order[ids[k]] : ids[k]));
    str_append(&out, tail ? tail : "}");
    str_free(text);
    *text = out;
    return NULL;
}

static xt_status inspect(const spmd *s, const ir_op *op) {
    const spmd_value *v = spmd_value_of(s, op->in[0]);
    str text = STR_INIT;
    xt_status st = NULL;
    if (v->manual)
        str_append(&text, "{manual}");
    else
        ir_sharding_print(&s->grid, &v->have, op->in[0]->type->rank, &text);
    if (s->order || s->by_name) st = name_devices(s, &text);
    if (!st) st = text.failed ? oom() : spmd_inspect(op, str_cstr(&text));
    str_free(&text);
    return st;
}

/* A result whose form nobody names stays divided where the client takes it so, and says how. */
static xt_status choose_result(spmd *s, size_t i, const ir_value *v, border_form *r) {
    str text = STR_INIT;
    if (r->said || !s->keep_divided || v->type->kind != IR_TENSOR) return NULL;
    r->form = spmd_value_of(s, v)->have;
    for (int a = 0; a < s->grid.n_axes; a++)
        if (r->form.dim[a] == IR_SHARD_SUMMANDS) r->form.dim[a] = -1; /* nobody expects summands */
    for (uint32_t d = 0; d < v->type->rank; d++) /* nor parts that are filled up */
        if (ir_sharding_uneven(&s->grid, &r->form, v->type, (int)d)) ir_sharding_drop(&r->form, (int)d);
    ir_sharding_print(&s->grid, &r->form, v->type->rank, &text);
    if (s->order || s->by_name) {
        xt_status st = name_devices(s, &text);
        if (st) {
            str_free(&text);
            return st;
        }
    }
    ir_attr a = ir_attr_named_string(s->m, IR_SHARDING_ATTR, str_cstr(&text));
    bool ok = !text.failed && a.name && ir_func_set_result_attr(s->f, i, a);
    str_free(&text);
    return ok ? NULL : oom();
}

/* What reads a value behind the op that names its group gets it in the group's form, also where the op that made it
 * could not give it so. */
static xt_status to_group_form(spmd *s, const ir_op *op) {
    spmd_value *v = spmd_value_of(s, op->in[0]);
    if (v->fixed || op->in[0]->block != op->block) return NULL; /* what is made in a region is not seen behind it */
    v->now = spmd_in_form(s, op->in[0], &v->want);
    v->have = v->want;
    return v->now ? NULL : s->b.status ? s->b.status : oom();
}

static bool passes_on(const spmd_op *o) {
    return o->op->code == OP_optimization_barrier && !o->manual && o->op->n_in == o->op->n_out;
}

xt_status spmd_emit_op(spmd *s, spmd_op *o) {
    ir_op *op = o->op;
    s->b.src = op->src;
    s->b.path = op->path;
    if (enters(op) || leaves(op)) {
        const spmd_value *in = spmd_value_of(s, op->in[0]);
        return status_at(cross(s, op, op->in[0], spmd_in_form(s, op->in[0], enters(op) ? &in->want : &in->have)),
                         src_get(op->src));
    }
    if (o->skipped) return NULL;
    if (o->turns) return status_at(spmd_emit_turn(s, o), src_get(op->src));
    if (spmd_is_inspect(op)) return status_at(inspect(s, op), src_get(op->src));
    if (op->code == OP_sdy_sharding_group) return to_group_form(s, op);
    if (ir_is_sharding(op)) {
        spmd_value *v = spmd_value_of(s, &op->out[0]);
        v->now = spmd_in_form(s, op->in[0], &v->want);
        v->have = v->want;
        return v->now ? NULL : s->b.status ? s->b.status : oom();
    }
    if (passes_on(o)) return status_at(spmd_emit_barrier(s, op), src_get(op->src));
    return status_at(o->control ? spmd_emit_control(s, o) : spmd_emit(s, op, o->rule), src_get(op->src));
}

static xt_status emit_return(spmd *s, const ir_op *op, const border_form *results) {
    ir_value **out = arena_alloc(s->mem, (op->n_in + 1) * sizeof *out);
    for (uint32_t i = 0; out && i < op->n_in; i++) {
        out[i] = spmd_in_form(s, op->in[i], &results[i].form);
        if (results[i].order) out[i] = spmd_reorder(s, out[i], results[i].order, true);
        if (!out[i]) return s->b.status ? s->b.status : oom();
    }
    if (out) ir_return(&s->b, op->n_in, out);
    return s->b.status ? s->b.status : s->b.block->last ? NULL : oom();
}

static xt_status emit_all(spmd *s, const border_form *args, border_form *results) {
    ir_func *f = s->f;
    ir_block *old = f->body, *body = ir_block_new(s->m);
    if (!body) return oom();
    body->func = f;
    s->b = ir_at_end(s->m, body);
    for (size_t i = 0; i < old->n_args; i++) {
        spmd_value *v = spmd_value_of(s, old->args[i]);
        v->have = v->want;
        v->now = ir_block_arg(s->m, body, ir_shard_type(&s->grid, &args[i].form, old->args[i]->type));
        if (!v->now) return oom();
    }
    for (size_t i = 0; i < old->n_args; i++) {
        spmd_value *v = spmd_value_of(s, old->args[i]);
        if (args[i].order) v->now = spmd_reorder(s, v->now, args[i].order, false);
        if (!v->now) return s->b.status ? s->b.status : oom();
    }
    for (const ir_op *op = old->first; op; op = op->next) {
        spmd_op *o = &s->ops[s->at++];
        if (op->code != OP_func_return && op->code != OP_return) {
            XT_TRY(spmd_emit_op(s, o));
            continue;
        }
        s->b.src = op->src;
        s->b.path = op->path;
        for (uint32_t i = 0; i < op->n_in; i++) XT_TRY(choose_result(s, i, op->in[i], &results[i]));
        f->body = body;
        f->result_types = NULL;
        return emit_return(s, op, results);
    }
    return status_new(XT_INTERNAL, NULL, "a function without a return was to be partitioned");
}

/* Values of one sharding group have one form, as far as nothing else is said of them: the first op of the
 * group ties them. */
static xt_status tie_groups(spmd *s) {
    for (size_t k = 0; k < s->n_ops; k++) {
        const ir_op *first = s->ops[k].op;
        if (first->code != OP_sdy_sharding_group || s->ops[k].manual) continue;
        const ir_value **alike = arena_alloc(s->mem, s->n_ops * sizeof *alike);
        size_t n = 0;
        bool begun = false;
        for (size_t i = 0; alike && i < s->n_ops; i++) {
            const ir_op *op = s->ops[i].op;
            if (op->code != OP_sdy_sharding_group || s->ops[i].manual ||
                ir_get_int(op, IR_A_group_id, 0) != ir_get_int(first, IR_A_group_id, 0))
                continue;
            begun = begun || i < k;
            if (infer_same_shape(op->in[0]->type, first->in[0]->type)) alike[n++] = op->in[0];
        }
        s->ops[k].ties = alike && !begun ? arena_alloc(s->mem, sizeof *s->ops[k].ties) : NULL;
        if (begun) continue;
        if (!s->ops[k].ties) return oom();
        s->ops[k].n_ties = 1;
        XT_TRY(spmd_rule_tie(s->mem, n, alike, s->ops[k].ties));
    }
    return NULL;
}

static xt_status partition(spmd *s, texts *all) {
    XT_TRY(spmd_lower_norm(s->m, s->f->body));
    XT_TRY(number_values(s));
    border_form *args = arena_alloc(s->mem, (s->f->body->n_args + 1) * sizeof *args),
                *results = arena_alloc(s->mem, (s->f->n_results + 1) * sizeof *results);
    if (!args || !results) return oom();
    XT_TRY(read_shardings(s, all, args, results));
    for (size_t k = 0; k < s->n_ops; k++) {
        spmd_op *o = &s->ops[k];
        XT_TRY(spmd_rule_make(s->mem, o->op, &o->rule));
        if (o->manual) o->rule->known = false; /* stays as it is */
        if (o->control || passes_on(o)) XT_TRY(spmd_tie(s, o));
    }
    XT_TRY(tie_groups(s));
    XT_TRY(spmd_find_turns(s));
    XT_TRY(spmd_propagate(s));
    XT_TRY(emit_all(s, args, results));
    return spmd_merge(s);
}

/* On one device an annotation is its operand; so on each of several that all do the whole. A group says
 * nothing then. */
static xt_status drop_annotations(pass_ctx *c, ir_module *m, ir_block *b) {
    for (ir_op *op = b ? b->first : NULL, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++) XT_TRY(drop_annotations(c, m, op->regions[r].block));
        bool asks = spmd_is_inspect(op), group = op->code == OP_sdy_sharding_group;
        if (!asks && !group && !ir_is_sharding(op)) continue;
        if (asks)
            XT_TRY(spmd_inspect(op, "{replicated}"));
        else if (!group)
            ir_replace_uses(m, &op->out[0], op->in[0]);
        ir_erase(op);
        c->changed = true;
    }
    return NULL;
}

xt_status pass_lower_spmd(pass_ctx *c, ir_module *m) {
    ir_func *f = entry_func(m);
    if (c->partitions <= 1 || !f || !names_sharding(f)) {
        for (ir_func *g = m->funcs; g; g = g->next) XT_TRY(drop_annotations(c, m, g->body));
        return NULL;
    }
    spmd s = {.m = m,
              .f = f,
              .mem = arena_new(),
              .grid = {.devices = c->partitions},
              .stats = &c->spmd,
              .keep_divided = c->keep_divided};
    texts all = {0};
    xt_status st = s.mem ? partition(&s, &all) : status_oom(sizeof s, "partitioning");
    base_free(all.at);
    base_free(all.texts);
    arena_free(s.mem);
    if (st) return status_context(st, "partitioning over %d devices", c->partitions);
    for (ir_func *g = m->funcs; g; g = g->next) XT_TRY(drop_annotations(c, m, g->body));
    c->changed = true;
    return NULL;
}
