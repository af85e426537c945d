/* Makes plans: numbers the values of a block and of the blocks inside its control flow, finds what is captured from
 * outside, and where each value is read last. Regions of other ops (reduce, sort, ...) are not part of a plan; the
 * values they capture count as read by their op. */
#include "ir/interp_plan.h"

static size_t slot_hash(const ir_value *v) {
    return (size_t)(((uintptr_t)v >> 4) * 0x9E3779B97F4A7C15u >> 20);
}

static slot_entry *slot_probe(const numbering *n, const ir_value *v) {
    for (size_t i = slot_hash(v) & n->mask;; i = (i + 1) & n->mask)
        if (!n->table[i].value || n->table[i].value == v) return &n->table[i];
}

static bool number_value(numbering *n, const ir_value *v, uint32_t *out) {
    if (!n->table || 2 * (n->used + 1) > n->mask) {
        numbering bigger = *n;
        size_t slots = n->table ? 2 * (n->mask + 1) : 64;
        bigger.table = base_calloc(slots, sizeof *bigger.table);
        if (!bigger.table) return false;
        bigger.mask = slots - 1;
        for (size_t i = 0; n->table && i <= n->mask; i++)
            if (n->table[i].value) *slot_probe(&bigger, n->table[i].value) = n->table[i];
        base_free(n->table);
        *n = bigger;
    }
    *out = n->n_slots++;
    *slot_probe(n, v) = (slot_entry){v, *out};
    n->used++;
    return true;
}

bool plan_slot_of(const numbering *n, const ir_value *v, uint32_t *out) {
    if (!n->table) return false;
    const slot_entry *e = slot_probe(n, v);
    *out = e->slot;
    return e->value != NULL;
}

xt_status plan_oom(void) {
    return status_oom(sizeof(step), "the plan of a function");
}

/* The slot an operand reads; a value that no block of the plan defines is captured from outside. */
static xt_status use_value(block_plan *root, const ir_value *v, uint32_t *out) {
    numbering *n = &root->num;
    if (plan_slot_of(n, v, out)) return NULL;
    if (!number_value(n, v, out)) return plan_oom();
    captured c = {v, *out};
    return VEC_PUSH(n->captured, n->n_captured, n->cap_captured, c) ? NULL : plan_oom();
}

static xt_status plan_block(block_plan *root, const ir_block *b, block_plan **out);

/* A value read anywhere inside the regions: its slot's flag. */
static void flag_reads(const block_plan *root, const ir_op *op, bool *flags) {
    uint32_t s;
    for (uint32_t k = 0; k < op->n_regions; k++)
        for (const ir_op *inner = op->regions[k].block ? op->regions[k].block->first : NULL; inner;
             inner = inner->next) {
            for (uint32_t j = 0; j < inner->n_in; j++)
                if (plan_slot_of(&root->num, inner->in[j], &s)) flags[s] = true;
            flag_reads(root, inner, flags);
        }
}

static xt_status note_captured(block_plan *root, const ir_op *op, step *st) {
    bool *flags = base_calloc(root->num.n_slots + 1, sizeof *flags);
    st->captured = arena_alloc(root->mem, op->n_in + 1);
    if (flags && st->captured) {
        flag_reads(root, op, flags);
        for (uint32_t j = 0; j < op->n_in; j++) st->captured[j] = flags[st->in[j]];
    }
    base_free(flags);
    return flags && st->captured ? NULL : plan_oom();
}

xt_status plan_step(block_plan *root, const ir_op *op, step *st) {
    arena *m = root->mem;
    st->op = op;
    st->in = arena_alloc(m, (op->n_in + 1) * sizeof *st->in);
    st->out = arena_alloc(m, (op->n_out + 1) * sizeof *st->out);
    if (!st->in || !st->out) return plan_oom();
    for (uint32_t j = 0; j < op->n_in; j++) XT_TRY(use_value(root, op->in[j], &st->in[j]));
    if (is_control(op->code)) {
        st->regions = arena_alloc(m, op->n_regions * sizeof *st->regions);
        if (!st->regions) return plan_oom();
        for (uint32_t k = 0; k < op->n_regions; k++) XT_TRY(plan_block(root, op->regions[k].block, &st->regions[k]));
    }
    if (op->code == OP_while) XT_TRY(note_captured(root, op, st));
    for (uint32_t j = 0; j < op->n_out; j++)
        if (!number_value(&root->num, &op->out[j], &st->out[j])) return plan_oom();
    return NULL;
}

/* Marks every value an op reads, those read inside its regions included, as last read by step `index`. */
static void note_reads(const block_plan *root, const ir_op *op, uint32_t *last, uint32_t index) {
    uint32_t s;
    for (uint32_t j = 0; j < op->n_in; j++)
        if (plan_slot_of(&root->num, op->in[j], &s)) last[s] = index;
    for (uint32_t k = 0; k < op->n_regions; k++)
        for (const ir_op *inner = op->regions[k].block ? op->regions[k].block->first : NULL; inner; inner = inner->next)
            note_reads(root, inner, last, index);
}

/* Who dies where: only values this block defines, the returned ones excepted. */
static xt_status plan_deaths(block_plan *root, block_plan *p) {
    const uint32_t never = UINT32_MAX;
    uint32_t n = root->num.n_slots;
    uint32_t *last = base_malloc((n + 1) * sizeof *last), *count = base_calloc(p->n_steps + 1, sizeof *count);
    xt_status s = last && count ? NULL : plan_oom();
    if (s) goto done;
    for (uint32_t i = 0; i < n; i++) last[i] = never;
    for (size_t i = 0; i < p->n_steps; i++) {
        /* dies at once unless read */
        for (uint32_t j = 0; j < p->steps[i].op->n_out; j++) last[p->steps[i].out[j]] = (uint32_t)i;
        note_reads(root, p->steps[i].op, last, (uint32_t)i);
    }
    for (size_t j = 0; j < p->n_results; j++) last[p->results[j]] = never;
    /* Slots of this block only: its arguments and its steps' results. */
    for (int fill = 0; fill < 2; fill++) {
        for (size_t i = 0; i < p->n_steps && fill; i++) {
            step *st = &p->steps[i];
            st->dead = arena_alloc(root->mem, (count[i] + 1) * sizeof *st->dead);
            if (!st->dead) {
                s = plan_oom();
                goto done;
            }
        }
        for (size_t k = 0; k < p->n_args + p->n_steps; k++) {
            const uint32_t *slots = k < p->n_args ? &p->args[k] : p->steps[k - p->n_args].out;
            uint32_t n_here = k < p->n_args ? 1 : p->steps[k - p->n_args].op->n_out;
            for (uint32_t j = 0; j < n_here; j++) {
                uint32_t at = last[slots[j]];
                if (at == never) continue;
                if (!fill)
                    count[at]++;
                else
                    p->steps[at].dead[p->steps[at].n_dead++] = slots[j];
            }
        }
    }
done:
    base_free(last);
    base_free(count);
    return s;
}

static xt_status plan_into(block_plan *root, block_plan *p, const ir_block *b) {
    p->block = b;
    p->root = root;
    p->slot_lo = root->num.n_slots;
    p->n_args = b->n_args;
    p->args = arena_alloc(root->mem, (b->n_args + 1) * sizeof *p->args);
    size_t n = 0;
    for (const ir_op *op = b->first; op; op = op->next) n++;
    p->steps = arena_alloc(root->mem, (n + 1) * sizeof *p->steps);
    if (!p->args || !p->steps) return plan_oom();
    for (size_t j = 0; j < b->n_args; j++)
        if (!number_value(&root->num, b->args[j], &p->args[j])) return plan_oom();
    const ir_op *ret = NULL;
    for (const ir_op *op = b->first; op; op = op->next) {
        if (ir_op_infos[op->code].flags & IR_TERMINATOR)
            ret = op;
        else
            XT_TRY(plan_step(root, op, &p->steps[p->n_steps++]));
    }
    p->n_results = ret ? ret->n_in : 0;
    p->results = arena_alloc(root->mem, (p->n_results + 1) * sizeof *p->results);
    if (!p->results) return plan_oom();
    for (size_t j = 0; j < p->n_results; j++) XT_TRY(use_value(root, ret->in[j], &p->results[j]));
    p->slot_hi = root->num.n_slots;
    return plan_deaths(root, p);
}

static xt_status plan_block(block_plan *root, const ir_block *b, block_plan **out) {
    block_plan *p = *out = arena_alloc(root->mem, sizeof *p);
    return p ? plan_into(root, p, b) : plan_oom();
}

xt_status interp_block_plan(interp *c, const ir_block *b, block_plan **out) {
    (void)c;
    block_plan *root = *out = base_calloc(1, sizeof *root);
    if (!root || !(root->mem = arena_new())) return plan_oom();
    XT_TRY(plan_into(root, root, b));
    root->frame = base_calloc(root->num.n_slots + 1, sizeof *root->frame);
    return root->frame ? NULL : plan_oom();
}

void interp_block_plan_free(block_plan *p) {
    if (!p) return;
    if (p->mem) arena_free(p->mem);
    base_free(p->num.table);
    base_free(p->num.captured);
    base_free(p->frame);
    base_free(p);
}
