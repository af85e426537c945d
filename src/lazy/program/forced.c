/* Programs of forced reads: known by the value that is read, whatever else the step holds. Two things of a trace would
 * otherwise enter such a program: the places of its arguments, which are numbered here in the order in which a walk
 * from the value meets them, and where the step's numbers (scalar.c) lie in their packs. The numbers that the value is
 * made of are packed anew for the read, in the order of the ops that take them: so the tenth draw of a step, read by
 * itself, runs the program of the first. The trace is as it was when the read has begun.
 *
 * What only reads needed must not enter the step's program either: in front of its boundary the step's own arguments
 * and numbers get the places that they have in a step without reads, and the others stand behind them. */
#include <stdlib.h>

#include "lazy/program/program.h"

typedef struct taking { /* an op that takes numbers out of a pack: as it was recorded, and for the read */
    ir_op *op;
    ir_attr *start, *limit;
    int64_t n, at, ends; /* elements; where they lie for the read */
    const int64_t *was_start, *was_limit;
    ir_value *was_of;
    int was_pack, pack;
} taking;

typedef struct repack {
    taking *list;
    size_t n, cap;
    lazy_pack *fresh; /* one for each pack of the context; n = 0: nothing of it is read */
    lazy_pack *recorded; /* the context's while the read is under way */
    size_t n_packs;
} repack;

static int pack_of(const lazy_ctx *c, const ir_value *v) {
    bool argument = !v->def && v->block == c->b.block;
    return argument ? c->leaves[v->index].pack : -1;
}

static ir_attr *attr_of(ir_op *op, ir_attr_key k) {
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].key == k) return &op->attrs[i];
    return NULL;
}

/* Ops in regions take numbers out of packs too: those of loops, which stay where they are. */
static bool region_reads_pack(const lazy_ctx *c, const ir_op *op) {
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next) {
            for (uint32_t i = 0; i < in->n_in; i++)
                if (pack_of(c, in->in[i]) >= 0) return true;
            if (region_reads_pack(c, in)) return true;
        }
    return false;
}

typedef enum takers { NEEDED = 1, OPTIONAL, OF_READS } takers;

/* Not of reads alone; roots are marked. */
static bool is_own(const ir_op *op) {
    return !op->n_out || op->out[0].mark || !(op->out[0].user & LAZY_V_READ);
}

/* The step's own, whether its roots need it or not; numbers of optional outputs stay behind all that were there before
 * (superset.c); and what only reads have needed. */
static takers kind_of(const lazy_ctx *c, const ir_op *op, int pack, const ir_attr *start) {
    const lazy_pack *p = &c->packs[pack];
    if (c->optionals_begun && start->v.ints[0] >= lazy_pack_elements(p->dtype, p->before_optionals)) return OPTIONAL;
    return is_own(op) ? NEEDED : OF_READS;
}

/* The ops that take numbers: of one kind, or (kind 0) those that are marked. *out_all false: others of them read packs
 * too. */
static bool list_takings(const lazy_ctx *c, repack *k, unsigned kind, bool *out_all) {
    for (ir_op *op = c->b.block->first; op; op = op->next) {
        if (!op->n_out || (!kind && !op->out[0].mark)) continue;
        if (op->n_regions && region_reads_pack(c, op)) *out_all = false;
        for (uint32_t i = 0; i < op->n_in; i++) {
            int pack = pack_of(c, op->in[i]);
            if (pack < 0) continue;
            ir_attr *start = attr_of(op, IR_A_start_indices), *limit = attr_of(op, IR_A_limit_indices);
            if (op->code != OP_slice || !start || !limit) {
                *out_all = false;
                continue;
            }
            if (kind && kind_of(c, op, pack, start) != kind) continue;
            taking t = {.op = op,
                        .start = start,
                        .limit = limit,
                        .n = limit->v.ints[0] - start->v.ints[0],
                        .was_start = start->v.ints,
                        .was_limit = limit->v.ints,
                        .was_of = op->in[i],
                        .was_pack = pack};
            if (!VEC_PUSH(k->list, k->n, k->cap, t)) return false;
        }
    }
    return true;
}

static int words_of(const lazy_ctx *c, const taking *t) {
    xt_dtype dtype = c->packs[t->was_pack].dtype;
    return (int)t->n * LAZY_PACK / lazy_pack_elements(dtype, LAZY_PACK);
}

/* The first pack with room for these numbers, of those that the trace has. Numbers of a dtype are 1, or 2 and 4 words,
 * so they never need more packs than they were recorded in. */
static int pack_with_room(const lazy_ctx *c, const repack *k, const taking *t) {
    xt_dtype dtype = c->packs[t->was_pack].dtype;
    for (size_t i = 0; i < k->n_packs; i++)
        if (c->packs[i].leaf && c->packs[i].dtype == dtype && k->fresh[i].n + words_of(c, t) <= LAZY_PACK)
            return (int)i;
    return -1;
}

/* Gives each number its new place. True: one of them moves, and there is room for all. */
static bool places_differ(const lazy_ctx *c, repack *k) {
    bool moves = false;
    for (size_t i = 0; i < k->n; i++) {
        taking *t = &k->list[i];
        t->pack = pack_with_room(c, k, t);
        if (t->pack < 0) return false;
        const lazy_pack *from = &c->packs[t->was_pack];
        lazy_pack *to = &k->fresh[t->pack];
        size_t size = xt_dtype_size(from->dtype);
        t->at = lazy_pack_elements(from->dtype, to->n);
        t->ends = t->at + t->n;
        memcpy((char *)&to->now + (size_t)t->at * size, (const char *)&from->now + (size_t)t->was_start[0] * size,
               (size_t)t->n * size);
        to->n += words_of(c, t);
        moves |= t->pack != t->was_pack || t->at != t->was_start[0];
    }
    return moves;
}

static void move(lazy_ctx *c, repack *k) {
    for (size_t i = 0; i < k->n; i++) {
        taking *t = &k->list[i];
        t->start->v.ints = &t->at;
        t->limit->v.ints = &t->ends;
        ir_set_operand(t->op, 0, c->packs[t->pack].leaf);
    }
    for (size_t i = 0; i < k->n_packs; i++) {
        k->fresh[i].dtype = c->packs[i].dtype;
        k->fresh[i].leaf = k->fresh[i].n ? c->packs[i].leaf : NULL; /* no leaf: not uploaded */
    }
    k->recorded = c->packs;
    c->packs = k->fresh;
}

static void move_back(lazy_ctx *c, repack *k) {
    if (!k->recorded) return;
    c->packs = k->recorded;
    for (size_t i = 0; i < k->n; i++) {
        taking *t = &k->list[i];
        t->start->v.ints = t->was_start;
        t->limit->v.ints = t->was_limit;
        ir_set_operand(t->op, 0, t->was_of);
    }
    for (size_t i = 0; i < k->n_packs; i++) lazy_buf_release(k->fresh[i].buf);
}

/* What it reaches is marked. */
static xt_status pack_anew(lazy_ctx *c, repack *k) {
    bool any = false, all = true;
    for (size_t i = 0; i < c->n_packs; i++) any |= c->packs[i].leaf != NULL;
    if (!any) return NULL;
    k->n_packs = c->n_packs;
    if (!list_takings(c, k, 0, &all)) return status_oom(sizeof *k->list, "the numbers of a read");
    if (!k->n || !all) return NULL;
    k->fresh = base_calloc(c->n_packs, sizeof *k->fresh);
    if (!k->fresh) return status_oom(c->n_packs * sizeof *k->fresh, "the numbers of a read");
    if (places_differ(c, k)) move(c, k);
    return NULL;
}

/* Marks last as long as one walk. */
static xt_status note_read(lazy_ctx *c, const lazy_roots *r) {
    XT_TRY(lazy_mark_reachable(c, r, NULL));
    for (ir_op *op = c->b.block->first; op; op = op->next)
        if (op->n_out && op->out[0].mark) op->out[0].user |= LAZY_V_READ;
    c->was_read = true;
    return NULL;
}

xt_status lazy_run_forced(lazy_ctx *c, lazy_roots *r, lazy_cause cause, const xt_src *src, device_buffer **out) {
    repack k = {0};
    lazy_numbered numbered = {.places = base_malloc((c->b.block->n_args + 1) * sizeof *numbered.places)};
    xt_status s = numbered.places ? NULL : status_oom(c->b.block->n_args * sizeof(uint32_t), "a read");
    if (!s) s = note_read(c, r);
    if (!s) s = pack_anew(c, &k);
    r->numbered = &numbered;
    c->numbered = numbered.places;
    if (!s) s = lazy_run(c, r, cause, true, src, out);
    c->numbered = NULL;
    r->numbered = NULL;
    c->counts_since++;
    move_back(c, &k);
    base_free(k.list);
    base_free(k.fresh);
    base_free(numbered.places);
    return s;
}

/* --- the step behind its reads --- */
/* A pack of this dtype that the step has not used. What only reads have needed lies in such ones, which are full
 * then: numbers that are recorded from here on (superset.c) come where they would without it. */
static int unused_pack(lazy_ctx *c, xt_dtype dtype) {
    size_t i = 0;
    while (i < c->n_packs && (c->packs[i].leaf || c->packs[i].dtype != dtype)) i++;
    if (i == c->n_packs && !VEC_PUSH(c->packs, c->n_packs, c->cap_packs, (lazy_pack){.dtype = dtype})) return -1;
    c->packs[i].before_optionals = LAZY_PACK;
    c->packs[i].n = LAZY_PACK;
    return lazy_pack_arrives(c, &c->packs[i]) ? (int)i : -1;
}

/* Their places, in packs of their own. */
static bool place_those_of_reads(lazy_ctx *c, taking *list, size_t n) {
    int pack_of_dtype[3] = {-1, -1, -1}, words[3] = {0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        taking *t = &list[i];
        xt_dtype dtype = c->packs[t->was_pack].dtype;
        int kind = dtype == XT_F32 ? 0 : dtype == XT_F64 ? 1 : 2, w = words_of(c, t);
        if (pack_of_dtype[kind] < 0 || words[kind] + w > LAZY_PACK) {
            pack_of_dtype[kind] = unused_pack(c, dtype);
            words[kind] = 0;
        }
        if (pack_of_dtype[kind] < 0) return false;
        t->pack = pack_of_dtype[kind];
        t->at = lazy_pack_elements(dtype, words[kind]);
        t->ends = t->at + t->n;
        words[kind] += w;
        size_t size = xt_dtype_size(dtype);
        memcpy((char *)&c->packs[t->pack].now + (size_t)t->at * size,
               (const char *)&c->packs[t->was_pack].now + (size_t)t->was_start[0] * size, (size_t)t->n * size);
    }
    return true;
}

/* For good, where move() is for a while: each op gets its places as its own. */
static bool settle_places(lazy_ctx *c, const repack *k) {
    for (size_t i = 0; i < k->n; i++) {
        taking *t = &k->list[i];
        ir_attr start = ir_attr_ints(&c->b, IR_A_start_indices, 1, &t->at);
        ir_attr limit = ir_attr_ints(&c->b, IR_A_limit_indices, 1, &t->ends);
        if (!start.v.ints || !limit.v.ints) return false;
        t->was_start = start.v.ints;
        t->was_limit = limit.v.ints;
    }
    for (size_t i = 0; i < k->n; i++) {
        taking *t = &k->list[i];
        t->start->v.ints = t->was_start;
        t->limit->v.ints = t->was_limit;
        ir_set_operand(t->op, 0, c->packs[t->pack].leaf);
    }
    return true;
}

static bool settle_all(lazy_ctx *c, const repack *k, size_t n_before, const repack *of_reads) {
    if (!place_those_of_reads(c, of_reads->list, of_reads->n) || !settle_places(c, of_reads) || !settle_places(c, k))
        return false;
    for (size_t i = 0; i < k->n_packs; i++) {
        lazy_pack *p = &c->packs[i];
        if (!k->fresh[i].leaf) continue; /* not used, or by reads now */
        p->now = k->fresh[i].now;
        p->n = k->fresh[i].n;
        p->before_optionals = 0;
    }
    for (size_t i = 0; i < n_before; i++) c->packs[k->list[i].pack].before_optionals += words_of(c, &k->list[i]);
    return true;
}

static xt_status settle_numbers(lazy_ctx *c) {
    repack k = {.n_packs = c->n_packs, .fresh = base_calloc(c->n_packs + 1, sizeof *k.fresh)}, of_reads = {0};
    bool all = true, ok = k.fresh && list_takings(c, &of_reads, OF_READS, &all);
    ok = ok && list_takings(c, &k, NEEDED, &all);
    size_t n_before = k.n;
    ok = ok && list_takings(c, &k, OPTIONAL, &all);
    if (ok && all && of_reads.n) {
        for (size_t i = 0; i < k.n_packs; i++) k.fresh[i].leaf = c->packs[i].leaf;
        bool fit = true;
        places_differ(c, &k);
        for (size_t i = 0; i < k.n; i++) fit = fit && k.list[i].pack >= 0;
        if (fit) ok = settle_all(c, &k, n_before, &of_reads);
    }
    base_free(k.list);
    base_free(of_reads.list);
    base_free(k.fresh);
    return ok ? NULL : status_oom(c->n_packs * sizeof *k.fresh, "the numbers of a step");
}

/* An argument, and where it is used first: by any op, and by one of the step's own. Uses are numbered from 1. */
typedef struct arg_use {
    uint64_t any, own, key;
    uint32_t place;
} arg_use;

static void note_uses(const lazy_ctx *c, const ir_op *op, bool own, uint64_t *at, arg_use *uses) {
    for (uint32_t i = 0; i < op->n_in; i++) {
        const ir_value *v = op->in[i];
        if (v->def || v->block != c->b.block) continue;
        arg_use *u = &uses[v->index];
        ++*at;
        if (!u->any) u->any = *at;
        if (own && !u->own) u->own = *at;
    }
    for (uint32_t r = 0; r < op->n_regions; r++)
        for (const ir_op *in = op->regions[r].block ? op->regions[r].block->first : NULL; in; in = in->next)
            note_uses(c, in, own, at, uses);
}

static int by_key(const void *a, const void *b) {
    const arg_use *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->place < y->place ? -1 : x->place > y->place;
}

/* Arguments that entered the trace for an op of the step's own stand as they came; one that a read needed first stands
 * where that op would have brought it; those of reads alone are last. */
static void order(const lazy_ctx *c, arg_use *uses) {
    uint64_t at = 0, least;
    const ir_block *b = c->b.block;
    for (const ir_op *op = b->first; op; op = op->next) note_uses(c, op, is_own(op), &at, uses);
    least = at + 1;
    for (size_t i = b->n_args; i-- > 0;) {
        arg_use *u = &uses[i];
        u->place = (uint32_t)i;
        /* packs come with the op that takes a number; others may be fetched before their use, so what is known is that
         * they came before those behind them were used */
        bool came = u->own && u->own == u->any && c->leaves[i].pack < 0;
        if (came && u->own < least) least = u->own;
        /* a root may be an argument itself */
        u->key = came ? least : u->own ? u->own : b->args[i]->mark ? at + 1 : at + 2;
    }
    qsort(uses, b->n_args, sizeof *uses, by_key);
}

static xt_status settle_arguments(lazy_ctx *c) {
    ir_block *b = c->b.block;
    if (!b->n_args) return NULL;
    arg_use *uses = base_calloc(b->n_args, sizeof *uses);
    ir_value **args = base_malloc(b->n_args * sizeof *args);
    lazy_leaf *leaves = base_malloc(b->n_args * sizeof *leaves);
    bool ok = uses && args && leaves;
    if (ok) {
        order(c, uses);
        memcpy(args, b->args, b->n_args * sizeof *args);
        memcpy(leaves, c->leaves, b->n_args * sizeof *leaves);
        for (size_t i = 0; i < b->n_args; i++) {
            b->args[i] = args[uses[i].place];
            b->args[i]->index = (uint32_t)i;
            c->leaves[i] = leaves[uses[i].place];
        }
    }
    base_free(uses);
    base_free(args);
    base_free(leaves);
    return ok ? NULL : status_oom(b->n_args * sizeof *uses, "the arguments of a step");
}

/* Marks are of the roots. In most steps with reads (a loss that is printed) the step needs what they did. */
static bool reads_have_own(const lazy_ctx *c) {
    for (const ir_op *op = c->b.block->first; op; op = op->next)
        if (!is_own(op)) return true;
    return false;
}

xt_status lazy_settle_reads(lazy_ctx *c, const lazy_roots *r, bool *out_moved) {
    c->was_read = *out_moved = false;
    XT_TRY(lazy_mark_reachable(c, r, NULL));
    if (!reads_have_own(c)) return NULL;
    *out_moved = true;
    XT_TRY(settle_numbers(c));
    XT_TRY(lazy_mark_reachable(c, r, NULL));
    return settle_arguments(c);
}
