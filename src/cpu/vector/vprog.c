/* Building vector programs. Registers are given by a linear scan over the straight-line program; two registers never
 * share memory while both are alive, and a register only changes its element size when it is given anew. */
#include "cpu/vector/align.h"
#include "cpu/vector/move.h"
#include "cpu/vector/vprog_int.h"

bool vprog_type_of(xt_dtype d, vprog_type *out) {
    switch ((int)d) {
    case XT_BOOL: *out = VPROG_B1; return true;
    case XT_I8: *out = VPROG_I8; return true;
    case XT_I16: *out = VPROG_I16; return true;
    case XT_I32: *out = VPROG_I32; return true;
    case XT_I64: *out = VPROG_I64; return true;
    case XT_U8: *out = VPROG_U8; return true;
    case XT_U16: *out = VPROG_U16; return true;
    case XT_U32: *out = VPROG_U32; return true;
    case XT_U64: *out = VPROG_U64; return true;
    case XT_F64: *out = VPROG_F64; return true;
    case XT_F32:
    case XT_BF16:
    case XT_F16: *out = VPROG_F32; return true;
    default: return false;
    }
}

bool vprog_type_of_size(size_t bytes, vprog_type *out) {
    *out = bytes == 1 ? VPROG_U8 : bytes == 2 ? VPROG_U16 : bytes == 4 ? VPROG_U32 : VPROG_U64;
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

size_t vprog_type_size(vprog_type t) {
    static const uint8_t sizes[VPROG_TYPE_COUNT] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1};
    return sizes[t];
}

/* --- building --- */
vprog_builder *vprog_begin(int64_t count) {
    vprog_builder *b = base_calloc(1, sizeof *b);
    if (b) b->count = count;
    return b;
}

void vprog_abandon(vprog_builder *b) {
    if (!b) return;
    base_free(b->ins);
    base_free(b->sources);
    base_free(b->roots);
    base_free(b->turns);
    base_free(b->parts);
    base_free(b);
}

static int add_ins(vprog_builder *b, ssa_ins i) {
    if (b->failed || !VEC_PUSH(b->ins, b->n, b->cap, i)) {
        b->failed = true;
        return -1;
    }
    return (int)b->n - 1;
}

bool vprog_lacks(const vprog_builder *b) {
    return b->lacking;
}

int vprog_load(vprog_builder *b, const vprog_source *s, vprog_type t) {
    if (!VEC_PUSH(b->sources, b->n_sources, b->cap_sources, *s)) b->failed = true;
    return add_ins(b, (ssa_ins){.x = -1,
                                .y = -1,
                                .z = -1,
                                .source = (int)b->n_sources - 1,
                                .type = t,
                                .size = (uint32_t)vprog_type_size(t),
                                .store_out = -1});
}

static vprog_type result_type(vprog_op op, vprog_type t) {
    if (op >= VPROG_CONVERT) return (vprog_type)(op - VPROG_CONVERT);
    if ((op >= VPROG_EQ && op <= VPROG_LT) || op == VPROG_IS_FINITE) return VPROG_B1;
    return t;
}

int vprog_emit(vprog_builder *b, vprog_op op, vprog_type t, int x, int y, int z) {
    vprog_fn fn = simd_get()->ops[op][t];
    if (!fn || x < 0) b->failed = true;
    if (!fn) b->lacking = true;
    vprog_type r = result_type(op, t);
    return add_ins(b, (ssa_ins){.fn = fn,
                                .x = x,
                                .y = y,
                                .z = z,
                                .source = -1,
                                .type = r,
                                .size = (uint32_t)vprog_type_size(r),
                                .store_out = -1,
                                .op = op,
                                .of = t});
}

int vprog_find(const vprog_builder *b, vprog_op op, vprog_type t, int x, int y) {
    for (size_t i = 0; i < b->n; i++)
        if (b->ins[i].fn && b->ins[i].op == op && b->ins[i].of == t && b->ins[i].x == x && b->ins[i].y == y)
            return (int)i;
    return -1;
}

bool vprog_splat(const vprog_builder *b, int v, void *out) {
    const ssa_ins *i = v < 0 ? NULL : &b->ins[v];
    if (!i || i->fn || b->sources[i->source].kind != VPROG_SPLAT) return false;
    memcpy(out, b->sources[i->source].splat, i->size);
    return true;
}

int vprog_constant(vprog_builder *b, vprog_type t, const void *bits) {
    vprog_source s = {.kind = VPROG_SPLAT, .elem = (uint32_t)vprog_type_size(t)};
    memcpy(s.splat, bits, s.elem);
    for (size_t i = 0; i < b->n; i++) {
        const ssa_ins *in = &b->ins[i];
        if (in->fn || in->type != t || b->sources[in->source].kind != VPROG_SPLAT) continue;
        if (memcmp(b->sources[in->source].splat, s.splat, s.elem) == 0) return (int)i;
    }
    return vprog_load(b, &s, t);
}

static bool copied(void *out, const void *from, size_t n, size_t size) {
    void *p = base_malloc(n * size + 1);
    if (p && n) memcpy(p, from, n * size);
    memcpy(out, &p, sizeof p);
    return p != NULL;
}
vprog_builder *vprog_fork(const vprog_builder *b) {
    vprog_builder *f = vprog_begin(b->count);
    if (!f) return NULL;
    f->failed = b->failed, f->lacking = b->lacking;
    f->n = f->cap = b->n;
    f->n_sources = f->cap_sources = b->n_sources;
    if (copied(&f->ins, b->ins, b->n, sizeof *b->ins) &&
        copied(&f->sources, b->sources, b->n_sources, sizeof *b->sources))
        return f;
    vprog_abandon(f);
    return NULL;
}

void vprog_fold(vprog_builder *b, int value, fold_op f, int64_t run) {
    if (value >= 0 && !b->ins[value].fn) value = vprog_emit(b, VPROG_COPY, b->ins[value].type, value, -1, -1);
    if (value < 0) b->failed = true;
    b->folded = value, b->fold = f, b->run = run;
}

void vprog_store(vprog_builder *b, int value, uint32_t out, xt_dtype memory) {
    struct root r = {value, out, memory};
    if (value < 0 || !VEC_PUSH(b->roots, b->n_roots, b->cap_roots, r)) b->failed = true;
}

void vprog_interleave(vprog_builder *b, size_t n, const vprog_part *parts, int64_t width, uint32_t out) {
    const vprog_turns t = {out, (uint32_t)xt_dtype_size(parts[0].memory), width, b->n_parts, n};
    for (size_t i = 0; i < n; i++)
        if (parts[i].value < 0 || !VEC_PUSH(b->parts, b->n_parts, b->cap_parts, parts[i])) b->failed = true;
    if (!VEC_PUSH(b->turns, b->n_turns, b->cap_turns, t)) b->failed = true;
}

static bool is_direct(const vprog_builder *b, int v) {
    return v >= 0 && b->ins[v].source >= 0 && b->sources[b->ins[v].source].kind == VPROG_DIRECT;
}

/* The last instruction that reads thunk input `in` in place, or -1. */
static int last_direct_read(const vprog_builder *b, uint32_t in, size_t n) {
    int last = -1;
    for (size_t i = 0; i < n; i++) {
        const int args[3] = {b->ins[i].x, b->ins[i].y, b->ins[i].z};
        for (int k = 0; k < 3; k++)
            if (is_direct(b, args[k]) && b->sources[b->ins[args[k]].source].in == in) last = (int)i;
    }
    return last;
}

static bool is_read(const vprog_builder *b, int v, size_t besides) {
    for (size_t i = 0; i < b->n; i++)
        if (b->ins[i].x == v || b->ins[i].y == v || b->ins[i].z == v) return true;
    for (size_t r = 0; r < b->n_roots; r++)
        if (r != besides && b->roots[r].value == v) return true;
    return false;
}

/* Storing a narrow float rounds it, so what has just been rounded to its type need not be: gives the number that is
 * stored instead. Where nobody else reads the rounded one and `here` is right for the store, the instruction that
 * rounds becomes it. */
static int store_rounded(vprog_builder *b, size_t r, bool here) {
    struct root root = b->roots[r];
    ssa_ins *def = &b->ins[root.value];
    bool bf16 = root.memory == XT_BF16;
    if (!def->fn || def->op != (bf16 ? VPROG_ROUND_BF16 : VPROG_ROUND_F16)) return root.value;
    if (!here || def->store_out >= 0 || is_read(b, root.value, r)) return def->x;
    def->op = bf16 ? VPROG_STORE_BF16 : VPROG_STORE_F16;
    def->fn = simd_get()->ops[def->op][VPROG_F32];
    def->store_out = (int)root.out;
    def->size = (uint32_t)xt_dtype_size(root.memory);
    return -1;
}

static vprog_op storing(xt_dtype memory) {
    return memory == XT_BF16 ? VPROG_STORE_BF16 : memory == XT_F16 ? VPROG_STORE_F16 : VPROG_COPY;
}

/* A value as it will lie in memory: of an instruction, and with `alone` one that stores nothing yet. -1 without memory.
 */
static int kept_value(vprog_builder *b, const vprog_part *p, bool alone) {
    const ssa_ins def = b->ins[p->value];
    const uint32_t elem = (uint32_t)xt_dtype_size(p->memory);
    const vprog_op op = storing(p->memory);
    if (op == VPROG_COPY && def.fn && def.size == elem && !(alone && def.store_out >= 0)) return p->value;
    int kept = vprog_emit(b, op, def.type, p->value, -1, -1);
    if (kept >= 0) b->ins[kept].size = elem;
    return kept;
}

/* What is written in turns is in a register until all of a block is there, but where each value has its turn once: then
 * the values lie one behind the other, and each is written where it goes. Before place_roots: what this reads of an
 * input no result has been written over. */
static void place_turns(vprog_builder *b, uint64_t *in_place) {
    size_t n_turns = 0, n_parts = 0;
    for (size_t i = 0; i < b->n_turns && !b->failed; i++) {
        vprog_turns t = b->turns[i];
        const bool once = t.width >= b->count;
        const size_t first = n_parts;
        in_place[t.out] = 0;
        for (size_t k = 0; k < t.n; k++) {
            vprog_part p = b->parts[t.first + k];
            p.value = kept_value(b, &p, once);
            if (p.value < 0) return;
            if (once)
                b->ins[p.value].store_out = (int)t.out, b->ins[p.value].store_at = (int64_t)k * t.width;
            else
                b->parts[n_parts++] = p;
        }
        t.first = first;
        if (!once) b->turns[n_turns++] = t;
    }
    b->n_turns = n_turns;
    b->n_parts = n_parts;
}

/* Makes results be written where they go: by the instruction that defines them where that is safe for every input they
 * might overwrite, else by a copy at the end. Fills the masks of what they may overwrite. */
static void place_roots(vprog_builder *b, uint64_t *in_place) {
    size_t n = b->n;
    for (size_t r = 0; r < b->n_roots && !b->failed; r++) {
        struct root root = b->roots[r];
        ssa_ins def = b->ins[root.value];
        uint32_t elem = (uint32_t)xt_dtype_size(root.memory);
        bool narrow = root.memory == XT_BF16 || root.memory == XT_F16;
        int latest = -1;
        in_place[root.out] = 0;
        for (size_t s = 0; s < b->n_sources; s++) {
            const vprog_source *src = &b->sources[s];
            if (src->kind != VPROG_DIRECT || src->elem != elem || src->offset != 0 || src->in >= 64) continue;
            in_place[root.out] |= UINT64_C(1) << src->in;
            int last = last_direct_read(b, src->in, n);
            if (last > latest) latest = last;
        }
        if (!narrow && def.fn && def.store_out < 0 && latest <= root.value && def.size == elem) {
            b->ins[root.value].store_out = (int)root.out;
            continue;
        }
        if (narrow && (root.value = store_rounded(b, r, latest <= root.value)) < 0) continue;
        int copy = vprog_emit(b, storing(root.memory), def.type, root.value, -1, -1);
        if (copy < 0) return;
        b->ins[copy].store_out = (int)root.out;
        b->ins[copy].size = elem;
    }
}

typedef struct reg_pool { /* free registers by element size 1, 2, 4, 8 */
    int64_t *free[4];
    size_t n[4], cap[4];
    int64_t units; /* bytes an element position takes in all registers made so far */
} reg_pool;
int vprog_size_class(uint32_t size) {
    return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}
static int64_t reg_get(reg_pool *p, uint32_t size) {
    int c = vprog_size_class(size);
    if (p->n[c]) return p->free[c][--p->n[c]];
    int64_t at = p->units;
    p->units += size;
    return at;
}
static bool reg_put(reg_pool *p, uint32_t size, int64_t reg) {
    int c = vprog_size_class(size);
    return VEC_PUSH(p->free[c], p->n[c], p->cap[c], reg);
}

static void last_uses(const vprog_builder *b, int *last) {
    for (size_t i = 0; i < b->n; i++) last[i] = -1;
    for (size_t i = 0; i < b->n; i++) {
        const int args[3] = {b->ins[i].x, b->ins[i].y, b->ins[i].z};
        for (int k = 0; k < 3; k++)
            if (args[k] >= 0) last[args[k]] = (int)i;
    }
    for (size_t k = 0; k < b->n_parts; k++) last[b->parts[k].value] = (int)b->n; /* read when all have run */
}

bool vprog_is_constant(const vprog_builder *b, int v) {
    if (b->ins[v].fn) return false;
    vprog_source_kind k = b->sources[b->ins[v].source].kind;
    return k == VPROG_SCALAR || k == VPROG_SPLAT;
}

/* --- registers --- */
typedef struct scheduling {
    const vprog_builder *b;
    vprog *t;
    reg_pool *pool;
    const int *last;
    bool *loaded;
} scheduling;

/* Makes a loaded value ready for its first reader; one that lies in memory as it is needs nothing. */
static void ready(scheduling *c, int v, bool in_code) {
    if (v < 0 || c->b->ins[v].fn || c->loaded[v]) return;
    const vprog_source *s = &c->b->sources[c->b->ins[v].source];
    vprog *t = c->t;
    if (in_code && s->kind == VPROG_SPLAT) return; /* part of the code */
    c->loaded[v] = true;
    if (s->kind == VPROG_DIRECT) {
        t->locs[v] = (vprog_loc){LOC_IN, s->in, s->elem, s->offset};
    } else if (s->kind == VPROG_ROWS) {
        uint32_t k = 0;
        while (t->row_sources[k] != (uint32_t)c->b->ins[v].source) k++;
        t->locs[v] = (vprog_loc){LOC_ROW, k, s->elem, 0};
    } else if (in_code && s->kind == VPROG_SCALAR) {
        t->locs[v] = (vprog_loc){LOC_ONE, s->in, s->elem, s->v.offset};
    } else {
        t->locs[v] = (vprog_loc){LOC_REG, 0, c->b->ins[v].size, reg_get(c->pool, c->b->ins[v].size)};
        t->ins[t->n++] = (vprog_ins){NULL, NULL, (uint32_t)v, (uint32_t)c->b->ins[v].source, 0, 0};
    }
}

/* Operands of i that are read for the last time before `end` give their registers back. */
static bool give_back(scheduling *c, const ssa_ins *i, size_t end) {
    const int args[3] = {i->x, i->y, i->z};
    bool ok = true;
    for (int k = 0; k < 3; k++) {
        int v = args[k];
        if (v < 0 || c->last[v] < 0 || c->last[v] >= (int)end || c->t->locs[v].kind != LOC_REG ||
            (k > 0 && v == args[0]) || (k > 1 && v == args[1]))
            continue;
        if (vprog_is_constant(c->b, v)) continue;
        ok = ok && reg_put(c->pool, c->b->ins[v].size, c->t->locs[v].offset);
    }
    return ok;
}

static void place_result(scheduling *c, size_t i) {
    const ssa_ins *in = &c->b->ins[i];
    if (in->store_out >= 0)
        c->t->locs[i] = (vprog_loc){LOC_OUT, (uint32_t)in->store_out, in->size, in->store_at};
    else
        c->t->locs[i] = (vprog_loc){LOC_REG, 0, in->size, reg_get(c->pool, in->size)};
}

/* A value of a segment lives in registers of the machine unless somebody else reads it. */
static bool schedule_segment(scheduling *c, const segment *s) {
    const vprog_builder *b = c->b;
    vprog *t = c->t;
    bool ok = true;
    for (size_t i = s->begin; i < s->end; i++) {
        if (!b->ins[i].fn) continue;
        ready(c, b->ins[i].x, true);
        ready(c, b->ins[i].y, true);
        ready(c, b->ins[i].z, true);
    }
    for (size_t i = s->begin; i < s->end; i++)
        if (b->ins[i].fn && (b->ins[i].store_out >= 0 || c->last[i] >= (int)s->end)) place_result(c, i);
    t->ins[t->n++] = (vprog_ins){NULL, s, 0, 0, 0, 0};
    /* Only now: the code may still read an operand when it has written a result. */
    for (uint32_t k = 0; k < s->n_ptr; k++) {
        uint32_t v = s->ptr[k];
        bool inside = v >= s->begin && v < s->end && b->ins[v].fn;
        if (inside || t->locs[v].kind != LOC_REG || vprog_is_constant(b, (int)v) || c->last[v] >= (int)s->end) continue;
        ok = ok && reg_put(c->pool, b->ins[v].size, t->locs[v].offset);
    }
    return ok;
}

/* A copy of what nobody else reads from memory is loaded where it goes. */
static bool load_in_place(scheduling *c, size_t i) {
    const ssa_ins *in = &c->b->ins[i];
    if (in->op != VPROG_COPY || in->store_out < 0 || c->b->ins[in->x].fn || c->loaded[in->x]) return false;
    vprog_source_kind k = c->b->sources[c->b->ins[in->x].source].kind;
    if ((k != VPROG_STRIDED && k != VPROG_IOTA) || c->last[in->x] != (int)i) return false;
    place_result(c, i);
    c->t->ins[c->t->n++] = (vprog_ins){NULL, NULL, (uint32_t)i, (uint32_t)c->b->ins[in->x].source, 0, 0};
    return true;
}

/* Loads happen at their first reader, so their registers live shortly; `loc` of a value is its own number. */
static bool schedule(const vprog_builder *b, vprog *t, reg_pool *pool, const int *last) {
    bool *loaded = base_calloc(b->n + 1, sizeof *loaded);
    scheduling c = {b, t, pool, last, loaded};
    size_t next = 0;
    bool ok = loaded != NULL;
    /* What is loaded once must not meet anybody in its register: it gets one before registers are ever given back. */
    for (size_t v = 0; ok && v < b->n; v++) {
        if (!vprog_is_constant(b, (int)v) || last[v] < 0 || (t->n_segments && !vprog_read_slowly(b, t, (int)v)))
            continue;
        loaded[v] = true;
        t->locs[v] = (vprog_loc){LOC_REG, 0, b->ins[v].size, reg_get(pool, b->ins[v].size)};
        t->once[t->n_once++] = (vprog_ins){NULL, NULL, (uint32_t)v, (uint32_t)b->ins[v].source, 0, 0};
    }
    for (size_t i = 0; i < b->n && ok; i++) {
        const ssa_ins *in = &b->ins[i];
        if (next < t->n_segments && i == t->segments[next].begin) {
            ok = schedule_segment(&c, &t->segments[next]);
            i = t->segments[next++].end - 1;
            continue;
        }
        if (!in->fn || load_in_place(&c, i)) continue; /* a load: done when read */
        ready(&c, in->x, false);
        ready(&c, in->y, false);
        ready(&c, in->z, false);
        ok = give_back(&c, in, i + 1);
        place_result(&c, i);
        t->ins[t->n++] = (vprog_ins){in->fn,
                                     NULL,
                                     (uint32_t)i,
                                     (uint32_t)(in->x < 0 ? (int)i : in->x),
                                     (uint32_t)(in->y < 0 ? (int)i : in->y),
                                     (uint32_t)(in->z < 0 ? (int)i : in->z)};
        if (last[i] < 0 && in->store_out < 0) ok = ok && reg_put(pool, in->size, t->locs[i].offset);
    }
    base_free(loaded);
    return ok;
}

static int64_t clamp_block(int64_t units) {
    int64_t block = units ? 32768 / units / 64 * 64 : 4096;
    return block < 256 ? 256 : block > 4096 ? 4096 : block;
}

/* The same where rows are gathered across memory: whole ones, and as many as a line of memory has elements. Sources of
 * other rows than the first's are gathered as well as that goes. */
static int64_t block_of(const vprog *t, int64_t units) {
    enum { MOST_BYTES = 1 << 18 };
    for (size_t i = 0; i < t->n_sources; i++) {
        const vprog_source *s = &t->sources[i];
        const int64_t block = s->kind == VPROG_STRIDED ? cpu_turned_block(&s->v, s->elem) : 0;
        const bool fits = block * units <= MOST_BYTES && (t->row == 0 || block / t->row <= MOST_ROWS - 2);
        if (block && fits) return block;
    }
    return clamp_block(units);
}

/* Are the rows of b folded by t's code, whole or in parts that a block holds? */
static bool folds(const vprog_builder *b, const vprog *t) {
    bool any = false;
    for (size_t s = 0; s < t->n_segments; s++) any = any || t->segments[s].folds;
    return any && b->run >= SHORTEST_FOLDED && t->row == b->run && (t->row <= t->block || t->block == MOST_FOLDED);
}

/* What a chunk's time goes by: instructions of the vector program, places in memory of machine code. */
static int64_t cost_of(const vprog *t) {
    int64_t cost = 1 + (int64_t)t->n_parts;
    for (size_t i = 0; i < t->n; i++) cost += t->ins[i].code ? (int64_t)t->ins[i].code->n_ptr : 1;
    return cost;
}

xt_status vprog_finish(vprog_builder *b, size_t n_out, vprog **out, uint64_t *out_in_place) {
    (void)n_out;
    xt_status s = NULL;
    reg_pool pool = {0};
    int *last = NULL;
    vprog *t = NULL;
    bool code = jit_is_on();
    *out = NULL;
    if (code && !b->failed && !vprog_gather_kinds(b)) b->failed = true;
    place_turns(b, out_in_place);
    place_roots(b, out_in_place);
    if (b->failed) {
        s = status_oom(0, "a fused loop");
        goto done;
    }
    last = base_malloc((b->n + 1) * sizeof *last);
    t = base_calloc(1, sizeof *t);
    if (!t || !last) goto oom;
    t->locs = base_calloc(b->n + 1, sizeof *t->locs);
    t->ins = base_calloc(b->n + 1, sizeof *t->ins);
    t->once = base_calloc(b->n + 1, sizeof *t->once);
    if (!t->locs || !t->ins || !t->once) goto oom;
    t->parts = base_malloc((b->n_parts + 1) * sizeof *t->parts);
    if (!t->parts) goto oom;
    for (size_t k = 0; k < b->n_parts; k++) t->parts[t->n_parts++] = (uint32_t)b->parts[k].value;
    t->turns = b->turns;
    t->n_turns = b->n_turns;
    b->turns = NULL;
    t->count = b->count;
    t->n_locs = b->n;
    t->sources = b->sources;
    t->n_sources = b->n_sources;
    b->sources = NULL;
    vprog_builder view_of = *b;
    view_of.sources = t->sources;
    last_uses(b, last);
    if (!vprog_choose_rows(&view_of, t, code)) goto oom;
    if (code && !vprog_find_segments(&view_of, t, last)) goto oom;
    if (!schedule(&view_of, t, &pool, last)) goto oom;
    t->block = block_of(t, pool.units);
    const int64_t lanes = (t->block + 63) / 64 * 64; /* of a register; a block is whole rows where they fit */
    if (t->row && t->row < t->block) t->block -= t->block % t->row;
    if (view_of.run) {
        t->fold = view_of.fold;
        t->folds = folds(&view_of, t);
        if (!t->folds) goto done;
    }
    for (size_t i = 0; i < t->n_locs; i++)
        if (t->locs[i].kind == LOC_REG) t->locs[i].offset *= lanes;
    t->scratch = ((size_t)(pool.units * lanes) + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    /* A chunk is worth some ten microseconds: about 128 Ki element-instructions. */
    int64_t blocks = 131072 / cost_of(t) / t->block;
    t->grain = (blocks < 1 ? 1 : blocks) * t->block;
    *out = t;
    t = NULL;
    goto done;
oom:
    s = status_oom(0, "a fused loop");
done:
    vprog_free(t);
    base_free(last);
    for (int c = 0; c < 4; c++) base_free(pool.free[c]);
    vprog_abandon(b);
    return s;
}

bool vprog_access(const vprog *t, const ir_value *const *reads, uint32_t k, cpu_access *out) {
    for (size_t i = 0; i < t->n_sources; i++) {
        const vprog_source *s = &t->sources[i];
        if (s->kind == VPROG_SPLAT || k-- > 0) continue;
        *out = (cpu_access){.counts = true};
        if (s->kind == VPROG_IOTA || s->counted) return true;
        view line = {.n = 1, .dims = {t->count}, .strides = {s->kind == VPROG_SCALAR ? 0 : 1}};
        line.offset = s->kind == VPROG_SCALAR ? s->v.offset : s->offset;
        *out = (cpu_access){.arg = s->in,
                            .elem = s->elem,
                            .at = s->kind == VPROG_STRIDED || s->kind == VPROG_ROWS ? s->v : line,
                            .value = reads[s->in]};
        out->order = out->at;
        view_rows(&out->order);
        return true;
    }
    return false;
}

void vprog_free(vprog *t) {
    if (!t) return;
    base_free(t->locs);
    base_free(t->ins);
    base_free(t->once);
    base_free(t->counts);
    base_free(t->turns);
    base_free(t->parts);
    base_free(t->sources);
    vprog_free_segments(t);
    base_free(t->segments);
    base_free(t);
}

size_t vprog_scratch_bytes(const vprog *t, int threads) {
    return t->scratch * (size_t)threads;
}
