/* What makes an optional output's values and is no part of the base: kept from the step that was first asked for it,
 * recorded again in steps that switch it off. Where a subgraph reads a value of the base, that value is found in the
 * other step by the hash of how it is made. What a switched off optional output computes is never looked at, so it need
 * not have the same numbers, only the same ops. */
#include "lazy/core/layout.h"
#include "lazy/step/optional.h"

#include <stdlib.h>

/* Which of the base's arguments are the step's own numbers: of a forward that is recorded again they are a tensor, and
 * a program that finds its random keys among the numbers would draw what the next iteration draws. */
static uint64_t packs_of_base(const lazy_ctx *c, const optional_step *st) {
    uint64_t sum = 0; /* in whatever order the step met them */
    for (uint32_t i = 0; i < st->n_numbers; i++)
        if (c->leaves[i].pack >= 0 && st->numbers[i] && st->numbers[i] <= st->in_base)
            sum += optional_mix(st->numbers[i], (uint64_t)c->leaves[i].pack);
    return sum;
}

xt_status optional_marks(lazy_ctx *c, optional_step *st) {
    XT_TRY(lazy_key_tree(c, st->n_base, st->n_roots, st->roots, optional_leaf_id, st->numbers, &st->in_base));
    hash128 h = {0x6f7074 + packs_of_base(c, st), st->n_base};
    for (size_t i = 0; i < st->n_base; i++) {
        uint32_t number = st->aliases[i] < 0 ? 0 : st->numbers[st->aliases[i]];
        if (!number || number > st->in_base) st->aliases[i] = -1, number = 0; /* other steps may not have it */
        h = hash_mix(h, (hash128){st->roots[i]->mark, st->layouts[i] ? st->layouts[i]->text : 0});
        h = hash_mix(h, (hash128){number, 0x616c}); /* a step that keeps an input runs no program that takes it */
    }
    st->base = h;
    for (size_t i = 0; i < st->n_now; i++)
        for (int k = 0; k < 2; k++) st->now[i].marks[k] = st->now[i].o.values[k] ? st->now[i].o.values[k]->mark : 0;
    return NULL;
}

/* --- keeping --- */
static bool is_leaf(const ir_value *v, void *user) {
    (void)user;
    return (v->user & LAZY_V_BASE) || (!v->def && v->block && !v->block->owner);
}

static xt_status save_one(const optional_now *now, optional_item *it) {
    ir_value *values[2], **leaves;
    size_t n = 0;
    for (int k = 0; k < 2; k++)
        if (now->o.values[k]) values[n++] = now->o.values[k];
    if (!n) return NULL;
    XT_TRY(ir_extract(n, values, "optional", is_leaf, NULL, &it->subgraph, &leaves, &it->n_leaves));
    it->leaf_values = leaves;
    it->leaves = base_calloc(it->n_leaves + 1, sizeof *it->leaves);
    if (!it->leaves) return status_oom(it->n_leaves * sizeof *it->leaves, "an optional output of a step");
    const ir_func *f = ir_func_find(it->subgraph, "main");
    const ir_op *ret = ir_block_return(f->body);
    for (int k = 0, j = 0; k < 2; k++)
        if (now->o.values[k]) it->roots[k] = ret->in[j++];
    for (const ir_op *op = f->body->first; op; op = op->next)
        it->foreign |= ir_op_infos[op->code].cls == IR_CLASS_COLLECTIVE;
    return NULL;
}

xt_status optional_save(lazy_ctx *c, optional_step *st, optional_item *items, size_t from, size_t n) {
    for (size_t i = 0; i < st->n_now; i++)
        if (st->now[i].item >= from) XT_TRY(save_one(&st->now[i], &items[st->now[i].item]));
    XT_TRY(optional_marks(c, st)); /* what was kept has lost its marks */
    for (size_t i = from; i < n; i++)
        for (size_t k = 0; k < items[i].n_leaves; k++) {
            const ir_value *v = items[i].leaf_values[k];
            bool of_base = v->user & LAZY_V_BASE;
            items[i].leaves[k] = (struct optional_leaf){v->mark, of_base ? 0 : optional_leaf_id(c, v->index), v->type};
            items[i].foreign |= !of_base && !items[i].leaves[k].id;
        }
    return NULL;
}

/* --- recording again --- */
typedef struct wanted {
    uint64_t mark;
    ir_value **out;
    const struct optional_leaf *leaf;
} wanted;

static int by_mark(const void *a, const void *b) {
    uint64_t x = ((const wanted *)a)->mark, y = ((const wanted *)b)->mark;
    return (x > y) - (x < y);
}

/* w is sorted; all that ask for this value's mark get it. */
static void offer(wanted *w, size_t n, ir_value *v) {
    if (!(v->user & LAZY_V_BASE)) return;
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (w[mid].mark < v->mark)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < n && w[lo].mark == v->mark; lo++) *w[lo].out = v;
}

static bool find(lazy_ctx *c, wanted *w, size_t n) {
    qsort(w, n, sizeof *w, by_mark);
    for (size_t i = 0; i < c->b.block->n_args; i++) offer(w, n, c->b.block->args[i]);
    for (ir_op *op = c->b.block->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++) offer(w, n, &op->out[i]);
    for (size_t i = 0; i < n; i++)
        if (!*w[i].out && !(*w[i].out = optional_leaf_again(c, w[i].leaf))) return false;
    return true;
}

static xt_status give_leaf(void *user, size_t k, const ir_value *from, ir_value **out) {
    (void)from;
    *out = ((ir_value **)user)[k];
    return NULL;
}

static void made(void *user, const ir_op *from, ir_op *copy) {
    (void)user;
    (void)from;
    (void)copy;
}

static xt_status record_again(lazy_ctx *c, const optional_item *it, ir_value **leaves, ir_value **out) {
    ir_builder b = ir_at_end(c->b.m, c->b.block);
    for (int k = 0; k < 2; k++) {
        ir_value *root = it->roots[k];
        out[k] = root && !root->def ? leaves[root->index] : NULL;
        if (root && root->def)
            XT_TRY(
                ir_copy_needed(&b, root, &(ir_copy_hooks){.leaf = give_leaf, .made = made, .user = leaves}, &out[k]));
    }
    return NULL;
}

xt_status optional_graft(lazy_ctx *c, const optional_item *items, size_t n, const bool *has, const bool *on,
                         ir_value **out, bool *out_ok) {
    size_t total = 0, at = 0;
    for (size_t i = 0; i < n; i++) total += has[i] && !on[i] ? items[i].n_leaves : 0;
    ir_value **leaves = base_calloc(total + 1, sizeof *leaves);
    wanted *w = base_calloc(total + 1, sizeof *w);
    xt_status s = leaves && w ? NULL : status_oom(total * sizeof *w, "the optional outputs of a step");
    for (size_t i = 0; i < n && !s; i++)
        for (size_t k = 0; has[i] && !on[i] && k < items[i].n_leaves; k++, at++)
            w[at] = (wanted){items[i].leaves[k].mark, &leaves[at], &items[i].leaves[k]};
    *out_ok = !s && find(c, w, total);
    at = 0;
    for (size_t i = 0; i < n && !s && *out_ok; i++) {
        if (!has[i] || on[i]) continue;
        s = record_again(c, &items[i], leaves + at, out + 2 * i);
        at += items[i].n_leaves;
    }
    base_free(leaves);
    base_free(w);
    return s;
}
