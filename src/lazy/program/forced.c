/* Programs of forced reads: known by the value that is read, whatever else the step holds. Two things of a trace would
 * otherwise enter such a program: the places of its arguments, which are numbered here in the order in which a walk
 * from the value meets them, and where the step's numbers (scalar.c) lie in their packs. The numbers that the value is
 * made of are packed anew for the read, in the order of the ops that take them: so the tenth draw of a step, read by
 * itself, runs the program of the first. The trace is as it was when the read has begun. */
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

/* The ops that take numbers, of those that are marked. *out_all: nothing else reads a pack. */
static bool list_takings(const lazy_ctx *c, repack *k, bool *out_all) {
    *out_all = true;
    for (ir_op *op = c->b.block->first; op; op = op->next) {
        if (!op->n_out || !op->out[0].mark) continue;
        if (op->n_regions && region_reads_pack(c, op)) *out_all = false;
        for (uint32_t i = 0; i < op->n_in; i++) {
            int pack = pack_of(c, op->in[i]);
            if (pack < 0) continue;
            ir_attr *start = attr_of(op, IR_A_start_indices), *limit = attr_of(op, IR_A_limit_indices);
            if (op->code != OP_slice || !start || !limit) {
                *out_all = false;
                continue;
            }
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

static xt_status pack_anew(lazy_ctx *c, const lazy_roots *r, repack *k) {
    bool any = false, all = false;
    for (size_t i = 0; i < c->n_packs; i++) any |= c->packs[i].leaf != NULL;
    if (!any) return NULL;
    XT_TRY(lazy_mark_reachable(c, r, NULL));
    k->n_packs = c->n_packs;
    if (!list_takings(c, k, &all)) return status_oom(sizeof *k->list, "the numbers of a read");
    if (!k->n || !all) return NULL;
    k->fresh = base_calloc(c->n_packs, sizeof *k->fresh);
    if (!k->fresh) return status_oom(c->n_packs * sizeof *k->fresh, "the numbers of a read");
    if (places_differ(c, k)) move(c, k);
    return NULL;
}

xt_status lazy_run_forced(lazy_ctx *c, lazy_roots *r, lazy_cause cause, const xt_src *src, device_buffer **out) {
    repack k = {0};
    lazy_numbered numbered = {.places = base_malloc((c->b.block->n_args + 1) * sizeof *numbered.places)};
    xt_status s = numbered.places ? NULL : status_oom(c->b.block->n_args * sizeof(uint32_t), "a read");
    if (!s) s = pack_anew(c, r, &k);
    r->numbered = &numbered;
    c->numbered = numbered.places;
    if (!s) s = lazy_run(c, r, cause, true, src, out);
    c->numbered = NULL;
    r->numbered = NULL;
    move_back(c, &k);
    base_free(k.list);
    base_free(k.fresh);
    base_free(numbered.places);
    return s;
}
