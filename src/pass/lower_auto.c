/* needs: calls inlined. keeps: meaning; what mhlo.layout_mode says of main's arguments and results becomes
 * ENTRY_LAYOUT.
 *
 * Where the choice is ours, an argument is row-major, a result lies so that its last transposition moves no byte.
 * Before partitioning, which puts collectives between a result and the transposition that made it. */
#include "pass/entry_layout.h"

#include <stdlib.h>

ir_func *entry_func(const ir_module *m) {
    ir_func *f = ir_func_find(m, "main");
    for (ir_func *g = m->funcs; g && !f; g = g->next)
        if (g->is_public && g->body) f = g;
    return f && f->body ? f : NULL;
}

static const ir_attr *find(ir_attr *const *lists, const size_t *counts, size_t at, const char *name) {
    for (size_t i = 0; lists && counts && i < counts[at]; i++)
        if (lists[at][i].name && strcmp(lists[at][i].name, name) == 0) return &lists[at][i];
    return NULL;
}

const ir_attr *entry_arg_attr(const ir_func *f, size_t arg, const char *name) {
    return find(f->arg_attrs, f->n_arg_attrs, arg, name);
}

const ir_attr *entry_result_attr(const ir_func *f, size_t result, const char *name) {
    return find(f->result_attrs, f->n_result_attrs, result, name);
}

const int64_t *entry_order(const ir_attr *a, const ir_type *t) {
    bool seen[IR_MAX_RANK] = {false}, is = a && a->kind == IR_AK_INTS && t->kind == IR_TENSOR && a->n == t->rank;
    for (uint32_t i = 0; is && i < t->rank; i++) {
        int64_t d = a->v.ints[i];
        is = d >= 0 && d < t->rank && !seen[d];
        if (is) seen[d] = true;
    }
    return is ? a->v.ints : NULL;
}

static void row_major(uint32_t rank, int64_t *order) {
    for (uint32_t i = 0; i < rank; i++) order[i] = i;
}

static bool is_row_major(uint32_t rank, const int64_t *order) {
    for (uint32_t i = 0; i < rank; i++)
        if (order[i] != i) return false;
    return true;
}

/* The numbers of "{0,1...}" or "dense<[0, 1]> ..." up to `end`, minor to major, as an order from major to minor. */
static bool read_order(const char *s, const char *end, uint32_t rank, int64_t *order) {
    bool seen[IR_MAX_RANK] = {false};
    uint32_t n = 0;
    while (s < end) {
        if (*s < '0' || *s > '9') {
            s++;
            continue;
        }
        char *after;
        long long d = strtoll(s, &after, 10);
        if (n == rank || d >= (long long)rank || seen[d]) return false;
        seen[d] = true;
        order[rank - 1 - n++] = d;
        s = after;
    }
    return n == rank;
}

/* --- what a result would like --- */
static bool is_constraint(const ir_op *op) {
    const char *target = op->code == OP_custom_call ? ir_get_string(op, IR_A_call_target_name) : NULL;
    return target && strcmp(target, "LayoutConstraint") == 0 && op->n_in == 1 && op->n_out == 1 &&
           op->in[0]->type == op->out[0].type;
}

static bool constrained(const ir_op *op, uint32_t rank, int64_t *order) {
    const ir_attr *layouts = is_constraint(op) ? ir_attr_find(op, IR_A_result_layouts) : NULL;
    const ir_attr *text = layouts && layouts->kind == IR_AK_ARRAY && layouts->n == 1 ? &layouts->v.list[0] : layouts;
    const char *end = text && text->kind == IR_AK_OPAQUE ? strchr(text->v.s, '>') : NULL;
    int64_t read[IR_MAX_RANK];
    bool good = end && read_order(text->v.s, end, rank, read);
    if (good) memcpy(order, read, rank * sizeof *read);
    return good;
}

/* The operand whose memory `v` would take over were there no arithmetic. */
static const ir_value *passed_on(const ir_value *v) {
    const ir_op *op = v->def;
    if (op->code == OP_optimization_barrier) return op->in[v->index];
    bool same = (ir_op_infos[op->code].flags & IR_ELEMENTWISE) || op->code == OP_convert ||
                (op->code == OP_custom_call && op->n_in == 1);
    for (uint32_t i = 0; i < op->n_in && same && op->n_out == 1 && v->type->kind == IR_TENSOR; i++) {
        const ir_type *t = op->in[i]->type;
        if (t->kind == IR_TENSOR && t->rank == v->type->rank &&
            memcmp(t->dims, v->type->dims, t->rank * sizeof *t->dims) == 0)
            return op->in[i];
    }
    return NULL;
}

static void preferred(const ir_func *f, const ir_value *v, int64_t *order) {
    enum { FAR = 1000 }; /* ops, of one chain */
    int64_t place[IR_MAX_RANK], from[IR_MAX_RANK];
    uint32_t rank = v->type->rank;
    row_major(rank, place); /* dim k of the value that is looked at is dim place[k] of the result */
    row_major(rank, from);
    for (int i = 0; i < FAR && v; i++) {
        const ir_attr *said = v->def ? NULL : v->block == f->body ? entry_arg_attr(f, v->index, ENTRY_LAYOUT) : NULL;
        if (entry_order(said, v->type)) memcpy(from, said->v.ints, rank * sizeof *from);
        if (!v->def || constrained(v->def, rank, from)) break;
        if (v->def->code != OP_transpose) {
            const ir_value *next = passed_on(v);
            if (!next) break;
            v = next;
            continue;
        }
        size_t n;
        const int64_t *perm = ir_get_ints(v->def, IR_A_permutation, &n);
        int64_t was[IR_MAX_RANK];
        memcpy(was, place, rank * sizeof *was);
        for (uint32_t k = 0; k < rank && n == rank; k++) place[perm[k]] = was[k];
        v = v->def->in[0];
    }
    for (uint32_t k = 0; k < rank; k++) order[k] = place[from[k]];
}

/* --- what is said --- */
static xt_status told(const ir_attr *mode, const ir_type *t, bool *out_auto, int64_t *order) {
    *out_auto = false;
    row_major(t->rank, order);
    if (!mode || mode->kind != IR_AK_STRING || strcmp(mode->v.s, "default") == 0) return NULL;
    if ((*out_auto = strcmp(mode->v.s, "auto") == 0)) return NULL;
    size_t end = strcspn(mode->v.s, ":}");
    if (mode->v.s[0] != '{' || !mode->v.s[end] || !read_order(mode->v.s, mode->v.s + end, t->rank, order))
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "mhlo.layout_mode \"%s\" is no order of %u dims: expected \"default\", \"auto\" or as \"{1,0}\"", mode->v.s,
            t->rank);
    if (strchr(mode->v.s + end, 'T'))
        return status_new(XT_UNIMPLEMENTED, NULL, "mhlo.layout_mode \"%s\" has tiles: this device's arrays are dense",
                          mode->v.s);
    return NULL;
}

static bool make_attr(ir_module *m, uint32_t rank, const int64_t *order, ir_attr *out) {
    int64_t *kept = arena_alloc(m->mem, rank * sizeof *kept);
    if (kept) memcpy(kept, order, rank * sizeof *kept);
    *out = (ir_attr){.kind = IR_AK_INTS, .name = ENTRY_LAYOUT, .dtype = XT_I64, .n = rank, .v.ints = kept};
    return kept != NULL;
}

/* A result that takes an argument's memory over lies as the argument does. */
static const ir_attr *donor_layout(const ir_func *f, size_t result, bool *found) {
    *found = false;
    for (size_t i = 0; i < f->body->n_args; i++) {
        const ir_attr *to = entry_arg_attr(f, i, "tf.aliasing_output");
        if (!to || to->kind != IR_AK_INT || to->v.i != (int64_t)result) continue;
        *found = true;
        return entry_arg_attr(f, i, ENTRY_LAYOUT);
    }
    return NULL;
}

static bool can_lie(const ir_type *t) {
    return t->kind == IR_TENSOR && t->rank > 1;
}

/* Within a program an array lies as its reader likes best, so a constraint is its operand. */
static void drop_constraints(pass_ctx *c, ir_module *m, ir_block *b) {
    for (ir_op *op = b ? b->first : NULL, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->n_regions; r++) drop_constraints(c, m, op->regions[r].block);
        if (!is_constraint(op)) continue;
        ir_replace_uses(m, &op->out[0], op->in[0]);
        ir_erase(op);
        c->changed = true;
    }
}

xt_status pass_lower_auto(pass_ctx *c, ir_module *m) {
    ir_func *f = entry_func(m);
    const ir_op *ret = f ? ir_block_return(f->body) : NULL;
    int64_t order[IR_MAX_RANK];
    ir_attr attr;
    bool choose, donated, made = true;
    if (!ret) return NULL;
    for (size_t i = 0; i < f->body->n_args && made; i++) {
        const ir_type *t = f->body->args[i]->type;
        if (!can_lie(t)) continue;
        XT_TRY(status_context(told(entry_arg_attr(f, i, "mhlo.layout_mode"), t, &choose, order), "argument %zu", i));
        if (is_row_major(t->rank, order)) continue;
        made = make_attr(m, t->rank, order, &attr) && ir_func_set_arg_attr(f, i, attr);
        c->changed = true;
    }
    for (size_t j = 0; j < f->n_results && made; j++) {
        const ir_type *t = f->result_types[j];
        if (!can_lie(t)) continue;
        XT_TRY(status_context(told(entry_result_attr(f, j, "mhlo.layout_mode"), t, &choose, order), "result %zu", j));
        if (choose) {
            const ir_attr *same = donor_layout(f, j, &donated);
            if (entry_order(same, t))
                memcpy(order, same->v.ints, t->rank * sizeof *order);
            else if (!donated)
                preferred(f, ret->in[j], order);
        }
        if (is_row_major(t->rank, order)) continue;
        made = make_attr(m, t->rank, order, &attr) && ir_func_set_result_attr(f, j, attr);
        c->changed = true;
    }
    for (ir_func *g = m->funcs; g && made; g = g->next) drop_constraints(c, m, g->body);
    return made ? NULL : status_oom(sizeof attr, "a layout");
}
