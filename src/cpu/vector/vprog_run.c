/* Running a vector program: block by block, what stays the same for all blocks loaded once by each thread. */
#include "cpu/vector/move.h"
#include "cpu/vector/vprog_int.h"

/* 32-bit numbers that step with each element: runs from 0 to size - 1. */
static void load_runs(const vprog_source *s, int32_t *d, int64_t begin, int64_t n) {
    for (int64_t first = begin % s->size, run; n > 0; d += run, n -= run, first = 0) {
        run = s->size - first < n ? s->size - first : n;
        simd_get()->iota(d, (int32_t)first, run);
    }
}

/* Numbers that step with each `inner` elements. */
static void load_steps(const vprog_source *s, char *d, int64_t begin, int64_t n) {
    const vprog_type t = s->elem == 4 ? VPROG_I32 : VPROG_I64;
    int64_t value = begin / s->inner % s->size, run = s->inner - begin % s->inner;
    for (; n > 0; d += run * (int64_t)s->elem, n -= run, run = s->inner, value = value + 1 == s->size ? 0 : value + 1) {
        int32_t narrow = (int32_t)value;
        if (run > n) run = n;
        if (run >= 16)
            simd_get()->ops[VPROG_FILL][t](d, s->elem == 4 ? (const void *)&narrow : &value, NULL, NULL, run);
        else if (s->elem == 4)
            for (int64_t i = 0; i < run; i++) ((int32_t *)(void *)d)[i] = narrow;
        else
            for (int64_t i = 0; i < run; i++) ((int64_t *)(void *)d)[i] = value;
    }
}

static void load_block(const vprog_source *s, void *dst, void *const *in, int64_t begin, int64_t n) {
    if (s->kind == VPROG_IOTA && s->elem == 4 && s->inner == 1) {
        load_runs(s, dst, begin, n);
        return;
    }
    if (s->kind == VPROG_IOTA) {
        load_steps(s, dst, begin, n);
        return;
    }
    const void *src = s->kind == VPROG_SPLAT ? (const void *)s->splat : in[s->in];
    if (s->kind == VPROG_STRIDED) { /* never ROWS: those are read where they lie */
        if (cpu_is_turned(&s->v, s->elem))
            cpu_gather_turned(s->elem, dst, src, &s->v, begin, n);
        else
            simd_get()->gather[vprog_size_class(s->elem)](dst, src, &s->v, begin, n);
        return;
    }
    if (s->kind == VPROG_SCALAR) src = (const char *)src + s->v.offset * (int64_t)s->elem;
    vprog_type t;
    vprog_type_of_size(s->elem, &t);
    simd_get()->ops[VPROG_FILL][t](dst, src, NULL, NULL, n);
}

typedef struct run_ctx {
    const vprog *t;
    void *const *in, *const *out;
    char *scratch;
    int64_t out_from; /* the element that results begin with */
} run_ctx;

static void *loc_at(const run_ctx *c, const vprog_loc *l, char *scratch, int64_t i) {
    switch (l->kind) {
    case LOC_REG: return scratch + l->offset;
    case LOC_IN: return (char *)c->in[l->index] + (l->offset + i) * (int64_t)l->elem;
    case LOC_ONE: return (char *)c->in[l->index] + l->offset * (int64_t)l->elem;
    default: return (char *)c->out[l->index] + (l->offset + i - c->out_from) * (int64_t)l->elem;
    }
}

/* --- rows --- */
/* The rows that a block is made of: how many, how long, and where each begins in each source that is read by rows. */
typedef struct block_rows {
    int64_t n, first, others, last; /* lengths; of one row alone the last */
    int64_t at[MOST_ROW_SOURCES][MOST_ROWS];
} block_rows;
static int64_t row_length(const block_rows *b, int64_t r) {
    return r == b->n - 1 ? b->last : r == 0 ? b->first : b->others;
}

/* Where rows [first, first + n) of s begin; `within`: elements of the first that the block does not have. */
static void rows_of(const vprog_source *s, int64_t first, int64_t within, int64_t n, int64_t *at) {
    int64_t index[VIEW_MAX], pos = s->v.offset;
    int outer = s->v.n - 1;
    for (int i = outer - 1; i >= 0; i--) {
        index[i] = first % s->v.dims[i];
        first /= s->v.dims[i];
        pos += index[i] * s->v.strides[i];
    }
    const int64_t width = outer > 0 ? s->v.dims[outer - 1] : n, down = outer > 0 ? s->v.strides[outer - 1] : 0;
    for (int64_t r = 0, next = outer > 0 ? index[outer - 1] : 0; r < n;) {
        const int64_t end = width - next < n - r ? r + width - next : n;
        for (; r < end; r++, pos += down) at[r] = pos;
        pos -= width * down;
        next = 0;
        for (int i = outer - 2; i >= 0; i--) {
            pos += s->v.strides[i];
            if (++index[i] < s->v.dims[i]) break;
            pos -= index[i] * s->v.strides[i];
            index[i] = 0;
        }
    }
    at[0] += within * s->v.strides[outer];
}

static void find_rows(const vprog *t, int64_t begin, int64_t n, block_rows *out) {
    int64_t within = begin % t->row;
    out->n = (within + n - 1) / t->row + 1;
    out->first = t->row - within;
    out->others = t->row;
    out->last = out->n == 1 ? n : (within + n - 1) % t->row + 1;
    for (size_t k = 0; k < t->n_row_sources; k++)
        rows_of(&t->sources[t->row_sources[k]], begin / t->row, within, out->n, out->at[k]);
}

typedef struct row_operand { /* of one instruction */
    char *base;
    int64_t step; /* bytes per element of the loop; of a row's place in `at` */
    const int64_t *at; /* NULL: dense, or one element */
} row_operand;

static row_operand row_operand_of(const run_ctx *c, const vprog_loc *l, char *scratch, int64_t begin,
                                  const block_rows *rows) {
    if (l->kind == LOC_ROW) {
        const vprog_source *s = &c->t->sources[c->t->row_sources[l->index]];
        return (row_operand){s->counted ? (void *)c->t->counts : c->in[s->in], l->elem, rows->at[l->index]};
    }
    return (row_operand){loc_at(c, l, scratch, begin), l->kind == LOC_ONE ? 0 : l->elem, NULL};
}
static void *row_place(const row_operand *o, int64_t r, int64_t done) {
    return o->base + (o->at ? o->at[r] : done) * o->step;
}

static bool reads_rows(const run_ctx *c, const vprog_ins *x) {
    const vprog_loc *locs = c->t->locs;
    if (x->code && x->code->folds) return true;
    if (!x->code) return locs[x->x].kind == LOC_ROW || locs[x->y].kind == LOC_ROW || locs[x->z].kind == LOC_ROW;
    for (uint32_t k = 0; k < x->code->n_ptr; k++)
        if (locs[x->code->ptr[k]].kind == LOC_ROW) return true;
    return false;
}

static void run_rows(const run_ctx *c, const vprog_ins *x, char *scratch, int64_t begin, const block_rows *rows) {
    row_operand o[SEGMENT_MAX_PTR];
    const uint32_t four[] = {x->d, x->x, x->y, x->z}, *which = x->code ? x->code->ptr : four,
                   n = x->code ? x->code->n_ptr : 4;
    for (uint32_t k = 0; k < n; k++) o[k] = row_operand_of(c, &c->t->locs[which[k]], scratch, begin, rows);
    float *result = x->code && x->code->folds ? (float *)c->out[0] + (begin - c->out_from) / c->t->row : NULL;
    for (int64_t r = 0, done = 0, length; r < rows->n; r++, done += length) {
        length = row_length(rows, r);
        void *ptr[SEGMENT_MAX_PTR + 1];
        for (uint32_t k = 0; k < n; k++) ptr[k] = row_place(&o[k], r, done);
        if (result) ptr[n] = result + r;
        if (x->code)
            x->code->fn(ptr, length);
        else
            x->fn(ptr[0], ptr[1], ptr[2], ptr[3], length);
    }
}

static void run_ins(const run_ctx *c, const vprog_ins *x, char *scratch, int64_t at, int64_t n) {
    const vprog_loc *locs = c->t->locs;
    if (x->code) {
        void *ptr[SEGMENT_MAX_PTR];
        for (uint32_t k = 0; k < x->code->n_ptr; k++) ptr[k] = loc_at(c, &locs[x->code->ptr[k]], scratch, at);
        x->code->fn(ptr, n);
        return;
    }
    void *d = loc_at(c, &locs[x->d], scratch, at);
    if (!x->fn)
        load_block(&c->t->sources[x->x], d, c->in, at, n);
    else
        x->fn(d, loc_at(c, &locs[x->x], scratch, at), loc_at(c, &locs[x->y], scratch, at),
              loc_at(c, &locs[x->z], scratch, at), n);
}

static void write_turns(const vprog_turns *w, void *dst, const void *const *parts, int64_t at, int64_t n) {
    simd_get()->interleave[vprog_size_class(w->elem)](dst, parts, (int64_t)w->n, w->width, at, n);
}
static void part_places(const run_ctx *c, const vprog_turns *w, char *scratch, int64_t at, const void **out) {
    for (size_t k = 0; k < w->n; k++) out[k] = loc_at(c, &c->t->locs[c->t->parts[w->first + k]], scratch, at);
}

static void run_block(const run_ctx *c, char *scratch, int64_t at, int64_t n) {
    const vprog *t = c->t;
    block_rows rows;
    if (t->row) find_rows(t, at, n, &rows);
    for (size_t i = 0; i < t->n; i++) {
        const vprog_ins *x = &t->ins[i];
        if (t->row && (x->fn || x->code) && reads_rows(c, x))
            run_rows(c, x, scratch, at, &rows);
        else
            run_ins(c, x, scratch, at, n);
    }
    for (size_t i = 0; i < t->n_turns; i++) {
        const void *parts[VPROG_MOST_PARTS];
        part_places(c, &t->turns[i], scratch, at, parts);
        write_turns(&t->turns[i], c->out[t->turns[i].out], parts, at, n);
    }
}

static void run_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const run_ctx *c = ctx;
    const vprog *t = c->t;
    char *scratch = c->scratch + (size_t)thread * t->scratch;
    int64_t most = end - begin < t->block ? end - begin : t->block;
    for (size_t i = 0; i < t->n_once; i++) {
        const vprog_ins *x = &t->once[i];
        load_block(&t->sources[x->x], loc_at(c, &t->locs[x->d], scratch, 0), c->in, 0, most);
    }
    for (int64_t at = begin; at < end; at += t->block)
        run_block(c, scratch, at, end - at < t->block ? end - at : t->block);
}

xt_status vprog_run(const vprog *t, const cpu_team *team, void *const *in, void *const *out, void *scratch) {
    run_ctx c = {t, in, out, scratch, 0};
    team_for(team, t->count, t->grain, run_chunk, &c);
    return NULL;
}

void vprog_run_part(const vprog *t, int64_t begin, int64_t end, void *const *in, void *const *out, void *scratch) {
    run_ctx c = {t, in, out, scratch, begin};
    run_chunk(&c, begin, end, 0);
}

void vprog_run_rows(const vprog *t, int64_t n, void *const *in, void *const *out, void *scratch) {
    run_ctx c = {t, in, out, scratch, 0};
    run_chunk(&c, 0, n, 0);
}

/* --- bound --- */
/* An instruction with the places of its operands: of machine code in a list, else these four. */
typedef struct bound_step {
    const vprog_ins *ins;
    void *d, *x, *y, *z, **code;
} bound_step;

size_t vprog_bound_bytes(const vprog *t) {
    size_t bytes = (t->n_once + t->n) * sizeof(bound_step) + (t->n_turns + t->n_parts) * sizeof(void *);
    if (t->count <= 0 || t->count > t->block) return 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->ins[i].code) bytes += t->ins[i].code->n_ptr * sizeof(void *);
    return bytes;
}

/* Behind the steps and their lists: where outputs in turns and their parts are. */
static void *const *bound_turns(const vprog *t, void *room) {
    return (void *const *)((char *)room + vprog_bound_bytes(t)) - (t->n_turns + t->n_parts);
}

void vprog_bind(const vprog *t, void *const *in, void *const *out, void *scratch, void *room) {
    run_ctx c = {t, in, out, scratch, 0};
    bound_step *step = room;
    void **code = (void **)(step + t->n_once + t->n);
    for (size_t i = 0; i < t->n_once + t->n; i++, step++) {
        const vprog_ins *x = i < t->n_once ? &t->once[i] : &t->ins[i - t->n_once];
        *step = (bound_step){.ins = x, .code = code};
        if (x->code) {
            for (uint32_t k = 0; k < x->code->n_ptr; k++) *code++ = loc_at(&c, &t->locs[x->code->ptr[k]], scratch, 0);
            continue;
        }
        step->d = loc_at(&c, &t->locs[x->d], scratch, 0);
        if (!x->fn) continue;
        step->x = loc_at(&c, &t->locs[x->x], scratch, 0);
        step->y = loc_at(&c, &t->locs[x->y], scratch, 0);
        step->z = loc_at(&c, &t->locs[x->z], scratch, 0);
    }
    /* Each output that is written in turns, then its parts. */
    for (size_t i = 0; i < t->n_turns; code += 1 + t->turns[i++].n) {
        *code = out[t->turns[i].out];
        part_places(&c, &t->turns[i], scratch, 0, (const void **)(code + 1));
    }
}

void vprog_run_bound(const vprog *t, void *const *in, void *room) {
    const bound_step *step = room;
    for (const bound_step *end = step + t->n_once + t->n; step < end; step++) {
        const vprog_ins *x = step->ins;
        if (x->code)
            x->code->fn(step->code, t->count);
        else if (x->fn)
            x->fn(step->d, step->x, step->y, step->z, t->count);
        else
            load_block(&t->sources[x->x], step->d, in, 0, t->count);
    }
    void *const *place = t->n_turns ? bound_turns(t, room) : NULL;
    for (size_t i = 0; i < t->n_turns; place += 1 + t->turns[i++].n)
        write_turns(&t->turns[i], place[0], (const void *const *)(place + 1), 0, t->count);
}
