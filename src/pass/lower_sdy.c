/* needs: calls inlined (what is still called gets whole values). keeps: meaning, on c->partitions devices. leaves no op
 * or attribute of sdy but the sharding groups of main, its loops and branches, which lower_spmd knows.
 *
 * Shardings over named axes become mhlo.sharding texts: attributes of main's arguments and results, and annotations
 * (custom_call @Sharding) in main itself, its loops and branches. A manual computation is put in place of its op:
 *   in main, its loops and branches, between custom_call @SPMDFullToShardShape for each operand and
 *   @SPMDShardToFullShape for each result, which lower_spmd knows; elsewhere (in other manual computations, in
 *   functions that are called), where lower_spmd keeps values whole, between a local slice of each operand and
 *   collectives that join each result.
 * Of axes that are not manual the body says where the compiler may divide it further; they are left whole there. */
#include "ir/sdy.h"
#include "pass/rewrite.h"
#include "pass/spmd.h"

typedef struct lowering {
    pass_ctx *c;
    ir_module *m;
    const ir_func *main;
    rewriter r;
} lowering;

static xt_status oom(void) {
    return status_oom(0, "lowering shardings");
}

/* Texts of one manual computation, operands first. */
typedef struct forms {
    const char **texts;
    const ir_type **whole, **local;
    size_t n_in, n;
} forms;

/* The text of a sharding in the module's arena; `out_open` (or NULL): its open dims. `out` NULL: it wants nothing, or
 * the mesh is of one device. */
static xt_status text_of(const lowering *l, const char *sharding, const ir_type *t, const sdy_wish *wish,
                         uint32_t *out_open, const char **out) {
    str s = STR_INIT;
    sdy_form form = {0};
    *out = NULL;
    xt_status st = ir_sdy_text(l->m, sharding, t, wish, &form, &s);
    if (!st && form.devices > 1 && form.devices != l->c->partitions)
        st =
            status_new(XT_INVALID_ARGUMENT, NULL, "'%s' is over a mesh of %lld devices, the program is compiled for %d",
                       sharding, (long long)form.devices, l->c->partitions > 1 ? l->c->partitions : 1);
    if (out_open) *out_open = form.open_dims;
    if (!st && !form.open && form.devices > 1 && !(*out = arena_printf(l->m->mem, "%s", str_cstr(&s)))) st = oom();
    str_free(&s);
    return st;
}

/* --- attributes of functions --- */
static const char name_of_attr[] = "sdy.sharding";

static const char *take_attr(ir_attr *list, size_t *n) {
    for (size_t i = 0; list && i < *n; i++)
        if (list[i].name && strcmp(list[i].name, name_of_attr) == 0 && list[i].kind == IR_AK_OPAQUE) {
            const char *text = list[i].v.s;
            memmove(&list[i], &list[i + 1], (*n - i - 1) * sizeof *list);
            --*n;
            return text;
        }
    return NULL;
}

static xt_status lower_signature(lowering *l, ir_func *f, bool is_main) {
    for (size_t i = 0; i < f->body->n_args + f->n_results; i++) {
        bool arg = i < f->body->n_args;
        size_t k = arg ? i : i - f->body->n_args;
        const char *sharding = NULL, *text;
        if (arg && f->arg_attrs) sharding = take_attr(f->arg_attrs[k], &f->n_arg_attrs[k]);
        if (!arg && f->result_attrs) sharding = take_attr(f->result_attrs[k], &f->n_result_attrs[k]);
        if (!sharding) continue;
        l->c->changed = true;
        if (!is_main || l->c->partitions < 2) continue;
        const ir_type *t = arg ? f->body->args[k]->type : f->result_types[k];
        XT_TRY(status_context(text_of(l, sharding, t, &(sdy_wish){0}, NULL, &text), "%s %zu",
                              arg ? "argument" : "result", k));
        ir_attr a = text ? ir_attr_named_string(l->m, IR_SHARDING_ATTR, text) : (ir_attr){0};
        if (text && !(arg ? ir_func_set_arg_attr(f, k, a) : ir_func_set_result_attr(f, k, a))) return oom();
    }
    return NULL;
}

/* --- annotations --- */
static xt_status lower_annotation(lowering *l, ir_op *op, bool top) {
    const ir_attr *a = ir_attr_find(op, IR_A_sharding);
    const char *text = NULL;
    uint32_t open = 0;
    ir_value *v = op->in[0];
    if (top && l->c->partitions > 1 && a && a->kind == IR_AK_OPAQUE)
        XT_TRY(text_of(l, a->v.s, v->type, &(sdy_wish){.even = true}, &open, &text));
    if (text) {
        ir_builder b = ir_before(l->m, op);
        b.src = op->src;
        b.path = op->path;
        v = ir_annotate_sharding_open(&b, v, text, open);
        if (!v) return b.status ? b.status : oom();
    }
    return rewrite_value(&l->r, &op->out[0], v) ? NULL : oom();
}

/* A group is kept for lower_spmd, which divides its values alike. Of an argument that the program says nothing about,
 * what its readers get may be divided; the argument itself comes whole. */
static xt_status keep_group(lowering *l, ir_op *op) {
    const ir_func *f = l->main;
    size_t i = 0;
    while (i < f->body->n_args && f->body->args[i] != op->in[0]) i++;
    if (i == f->body->n_args || op->in[0]->type->kind != IR_TENSOR ||
        (f->arg_attrs && ir_sharding_text(f->n_arg_attrs[i], f->arg_attrs[i])))
        return NULL;
    ir_builder b = ir_before(l->m, f->body->first);
    b.src = op->src;
    b.path = op->path;
    ir_value *arg = op->in[0],
             *v = ir_annotate_sharding_open(&b, arg, "{replicated}", (uint32_t)((1ull << arg->type->rank) - 1));
    if (!v) return b.status ? b.status : oom();
    ir_replace_uses(l->m, arg, v);
    ir_set_operand(v->def, 0, arg);
    return NULL;
}

/* --- manual computations --- */
static xt_status read_forms(const lowering *l, const ir_op *op, forms *out) {
    const ir_block *body = op->regions[0].block;
    const ir_op *ret = ir_block_return(body);
    const ir_attr *lists[] = {ir_attr_find(op, IR_A_in_shardings), ir_attr_find(op, IR_A_out_shardings)},
                  *manual = ir_attr_find(op, IR_A_manual_axes);
    *out = (forms){.n_in = op->n_in, .n = (size_t)op->n_in + op->n_out};
    out->texts = arena_alloc(l->m->mem, (out->n + 1) * sizeof *out->texts);
    out->whole = arena_alloc(l->m->mem, (out->n + 1) * sizeof *out->whole);
    out->local = arena_alloc(l->m->mem, (out->n + 1) * sizeof *out->local);
    if (!out->texts || !out->whole || !out->local) return oom();
    for (size_t i = 0; i < out->n; i++) {
        size_t k = i < op->n_in ? i : i - op->n_in;
        const ir_attr *list = lists[i >= op->n_in];
        const char *sharding = list && list->kind == IR_AK_OPAQUE ? ir_sdy_of_value(list->v.s, k) : NULL;
        if (!sharding)
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s %zu of a manual computation has no sharding",
                              i < op->n_in ? "operand" : "result", k);
        out->whole[i] = i < op->n_in ? op->in[k]->type : op->out[k].type;
        out->local[i] = i < op->n_in ? body->args[k]->type : ret->in[k]->type;
        XT_TRY(text_of(l, sharding, out->whole[i],
                       &(sdy_wish){.only = manual && manual->kind == IR_AK_OPAQUE ? manual->v.s : NULL}, NULL,
                       &out->texts[i]));
    }
    return NULL;
}

static ir_value *cross(ir_builder *b, ir_value *v, const char *target, const char *text, const ir_type *to) {
    ir_attr attrs[] = {ir_attr_string(b, IR_A_call_target_name, target),
                       ir_attr_named_string(b->m, IR_SHARDING_ATTR, text)};
    ir_op *op = v ? ir_build(b, OP_custom_call, 1, &v, BASE_COUNT(attrs), attrs, 0, NULL, 1, &to) : NULL;
    return op ? &op->out[0] : NULL;
}

/* What crosses a border of the region: lower_spmd is told (in main), or it is done here. */
typedef struct border {
    ir_builder b;
    const forms *f;
    bool told;
    spmd s; /* not told: the grid of these shardings */
    ir_sharding *parts;
} border;

static xt_status border_open(lowering *l, ir_op *op, const forms *f, bool told, border *out) {
    *out = (border){.b = ir_before(l->m, op), .f = f, .told = told};
    out->b.src = op->src;
    out->b.path = op->path;
    if (told) return NULL;
    const ir_tiles **tiles = arena_alloc(l->m->mem, (f->n + 1) * sizeof *tiles);
    out->parts = arena_alloc(l->m->mem, (f->n + 1) * sizeof *out->parts);
    out->s = (spmd){.m = l->m, .mem = l->m->mem, .stats = &l->c->spmd};
    if (!tiles || !out->parts) return oom();
    for (size_t i = 0; i < f->n; i++) {
        ir_tiles *t = arena_alloc(l->m->mem, sizeof *t);
        if (!t) return oom();
        XT_TRY(ir_tiles_parse(f->texts[i] ? f->texts[i] : "{replicated}", l->c->partitions > 1 ? l->c->partitions : 1,
                              NULL, t));
        if (t->reordered)
            return status_at(
                status_new(XT_UNIMPLEMENTED, NULL,
                           "a manual computation in another one has its devices in an order of its own: '%s'",
                           f->texts[i]),
                src_get(op->src));
        tiles[i] = t;
    }
    XT_TRY(ir_grid_make(l->c->partitions > 1 ? l->c->partitions : 1, f->n, tiles, &out->s.grid));
    for (size_t i = 0; i < f->n; i++) XT_TRY(ir_sharding_map(&out->s.grid, tiles[i], &out->parts[i]));
    return NULL;
}

static ir_value *moved(border *d, size_t i, ir_value *v, bool in) {
    ir_sharding none = ir_sharding_none();
    d->s.b = d->b;
    ir_value *made = spmd_reshard(&d->s, v, d->f->whole[i], in ? none : d->parts[i], in ? &d->parts[i] : &none);
    d->b.status = d->s.b.status;
    return made;
}

static ir_value *enter(border *d, size_t i, ir_value *v) {
    if (v->type->kind != IR_TENSOR) return v;
    if (!d->told) return moved(d, i, v, true);
    const char *text = d->f->texts[i] ? d->f->texts[i] : "{replicated}";
    return cross(&d->b, ir_annotate_sharding(&d->b, v, text), "SPMDFullToShardShape", "{manual}", d->f->local[i]);
}

static ir_value *leave(border *d, size_t i, ir_value *v) {
    if (v->type->kind != IR_TENSOR) return v;
    if (!d->told) return moved(d, i, v, false);
    return cross(&d->b, v, "SPMDShardToFullShape", d->f->texts[i] ? d->f->texts[i] : "{replicated}", d->f->whole[i]);
}

static xt_status misfit(const ir_op *op, const forms *f, size_t i) {
    str text = STR_INIT;
    ir_type_print(f->local[i], &text);
    str_append(&text, " is not the part of ");
    ir_type_print(f->whole[i], &text);
    xt_status st = status_new(XT_INVALID_ARGUMENT, NULL, "%s %zu of a manual computation: %s that '%s' says",
                              i < f->n_in ? "operand" : "result", i < f->n_in ? i : i - f->n_in, str_cstr(&text),
                              f->texts[i] ? f->texts[i] : "{replicated}");
    str_free(&text);
    return status_at(st, src_get(op->src));
}

/* The ops of the region move to before `op`, all but its return. */
static void move_ops(ir_op *op) {
    ir_block *from = op->regions[0].block, *to = op->block;
    for (ir_op *in = from->first, *next; in && in != from->last; in = next) {
        next = in->next;
        in->block = to;
        for (uint32_t i = 0; i < in->n_out; i++) in->out[i].block = to;
        in->prev = op->prev;
        in->next = op;
        *(op->prev ? &op->prev->next : &to->first) = in;
        op->prev = in;
    }
    from->first = from->last;
    from->last->prev = NULL;
}

static xt_status lower_block(lowering *l, ir_block *b, bool top);

static xt_status lower_manual(lowering *l, ir_op *op, bool top) {
    ir_block *body = op->regions[0].block;
    forms f;
    border d;
    bool told = top && l->c->partitions > 1;
    XT_TRY(read_forms(l, op, &f));
    XT_TRY(border_open(l, op, &f, told, &d));
    for (size_t i = 0; i < op->n_in; i++) {
        ir_value *v = enter(&d, i, op->in[i]);
        if (!v) return d.b.status ? d.b.status : oom();
        if (v->type != f.local[i]) return misfit(op, &f, i);
        if (!rewrite_value(&l->r, body->args[i], v)) return oom();
    }
    XT_TRY(lower_block(l, body, false));
    ir_op *ret = ir_block_return(body);
    move_ops(op);
    for (size_t k = 0; k < op->n_out; k++) {
        ir_value *v = leave(&d, op->n_in + k, ret->in[k]);
        if (!v) return d.b.status ? d.b.status : oom();
        if (v->type != op->out[k].type) return misfit(op, &f, op->n_in + k);
        if (!rewrite_value(&l->r, &op->out[k], v)) return oom();
    }
    return NULL;
}

/* --- the walk --- */
static xt_status lower_block(lowering *l, ir_block *b, bool top) {
    ir_op *dead = NULL; /* chained by `user` until nothing reads them */
    xt_status st = NULL;
    for (ir_op *op = b ? b->first : NULL; op && !st; op = op->next) {
        rewrite_operands(&l->r, op);
        bool gone = true;
        switch (op->code) {
        case OP_sdy_sharding_constraint:
        case OP_sdy_reshard: st = lower_annotation(l, op, top); break;
        case OP_sdy_propagation_barrier: st = rewrite_value(&l->r, &op->out[0], op->in[0]) ? NULL : oom(); break;
        case OP_sdy_manual_computation: st = lower_manual(l, op, top); break;
        case OP_sdy_sharding_group:
            gone = !top || l->c->partitions < 2;
            if (!gone) st = keep_group(l, op);
            break;
        default:
            gone = false;
            for (uint32_t r = 0; r < op->n_regions && !st; r++)
                st = lower_block(l, op->regions[r].block, top && spmd_is_control(op));
        }
        if (st) return status_at(st, src_get(op->src));
        if (!gone) continue;
        op->user = (uint64_t)(uintptr_t)dead;
        dead = op;
        l->c->changed = true;
    }
    while (dead) {
        ir_op *next = (ir_op *)(uintptr_t)dead->user;
        dead->user = 0;
        ir_erase(dead);
        dead = next;
    }
    return st;
}

xt_status pass_lower_sdy(pass_ctx *c, ir_module *m) {
    lowering l = {.c = c, .m = m, .r = REWRITER_INIT};
    const ir_func *main = ir_func_find(m, "main");
    for (const ir_func *g = m->funcs; g && !main; g = g->next)
        if (g->is_public && g->body) main = g;
    l.main = main;
    xt_status st = NULL;
    for (ir_func *f = m->funcs; f && !st; f = f->next) {
        if (!f->body) continue;
        st = lower_signature(&l, f, f == main);
        if (!st) st = lower_block(&l, f->body, f == main);
    }
    rewriter_deinit(&l.r);
    return st;
}
