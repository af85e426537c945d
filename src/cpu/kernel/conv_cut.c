/* See conv_cut.h. */
#include "cpu/kernel/conv_cut.h"
#include "cpu/kernel/kernel.h"

#include <stdatomic.h>

/* What a convolution is cut along; a kernel in groups is cut between groups, as if those were its features out. */
enum { BATCH, OUT, IN, AXES };
enum { KINDS = 2 }; /* pieces of whole blocks of the batch, and those of its last, shorter one */

struct conv_cut {
    conv_form form;
    int output; /* SRC, WEI or DST */
    int64_t size[AXES], block[AXES], count[AXES];
    bool has[3][AXES]; /* whether a tensor is cut along an axis */
    int64_t first[3], step[3][AXES]; /* bytes: where a tensor's first piece lies, and how far apart the next is */
    dnnl_prim prim[KINDS], move[KINDS][3]; /* move: from or to how the tensor lies; none where the primitive takes it */
    bool winograd, sums; /* sums: results of several parts of the batch are added */
    size_t at[3], bytes[3]; /* pieces in the primitive's layout: where in scratch, and of each */
    size_t own_at, own_bytes; /* a thread's scratch */
};

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}
static size_t align_up(size_t n) {
    return (n + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}
static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* --- pieces --- */
typedef struct part { /* of a tensor's dims: `each` elements of `dim` are one of an axis */
    int dim;
    int64_t each; /* 0: the tensor has no such axis */
} part;
/* How the axes lie in a tensor. Of a kernel in groups [groups, out, in, ...] both kinds of features are one axis. */
static part part_of(const conv_desc *d, int tensor, int axis) {
    bool grouped = d->md[WEI].ndims > d->md[SRC].ndims;
    int64_t groups = grouped ? d->md[WEI].dims[0] : 1;
    if (axis == BATCH) return tensor == WEI ? (part){0} : (part){0, 1};
    if (tensor == WEI) return grouped && axis == IN ? (part){0} : (part){axis == IN, 1};
    bool meant = grouped ? axis == OUT : axis == (tensor == DST ? OUT : IN);
    return meant ? (part){1, grouped ? d->md[tensor].dims[1] / groups : 1} : (part){0};
}

/* Whether the parts along an axis are halves of whole vectors. */
static bool can_halve(const conv_cut *c, int axis, int64_t unit) {
    enum { LEAST = 32 }; /* features of a piece: fewer leave most of a kernel's work to loading operands */
    int64_t half = c->size[axis] / c->count[axis] / 2;
    return c->size[axis] % (2 * c->count[axis]) == 0 && half * unit % 16 == 0 && half * unit >= LEAST;
}

/* Parts of the batch cost a gradient of the kernel each, which is written and added: not more of them than images are
 * read anyway. Parts of the features read images again that other parts read too. */
static void divide(conv_cut *c, const conv_desc *d, double flops) {
    enum { MOST = 16, MOST_BATCH = 8, SMALL = 1 << 18 };
    const double worth = 4e6; /* of a piece: below that a call's own cost shows */
    int64_t want = flops > MOST * worth ? MOST : (int64_t)(flops / worth) + 1;
    int64_t batch = want < c->size[BATCH] ? want : c->size[BATCH];
    if (c->form == CONV_WEIGHTS) {
        if (batch > MOST_BATCH) batch = MOST_BATCH;
        size_t images = dnnl_memory_desc_get_size(&d->md[SRC]) + dnnl_memory_desc_get_size(&d->md[DST]) + SMALL;
        int64_t most = (int64_t)(images / larger(1, dnnl_memory_desc_get_size(&d->md[WEI])));
        batch = batch < most ? batch : most < 1 ? 1 : most;
    }
    for (int i = 0; i < AXES; i++) c->block[i] = c->size[i], c->count[i] = 1;
    c->block[BATCH] = divide_up(c->size[BATCH], batch);
    c->count[BATCH] = divide_up(c->size[BATCH], c->block[BATCH]);
    bool grouped = d->md[WEI].ndims > d->md[SRC].ndims;
    int64_t unit = grouped ? d->md[WEI].dims[1] < d->md[WEI].dims[2] ? d->md[WEI].dims[1] : d->md[WEI].dims[2] : 1;
    while (c->count[BATCH] * c->count[OUT] * c->count[IN] < want) {
        bool out = (grouped || c->form != CONV_DATA) && can_halve(c, OUT, unit),
             in = !grouped && c->form != CONV_FORWARD && can_halve(c, IN, 1);
        if (!out && !in) break;
        int axis = out && (!in || c->size[OUT] / c->count[OUT] >= c->size[IN] / c->count[IN]) ? OUT : IN;
        c->count[axis] *= 2;
        c->block[axis] /= 2;
    }
}

static int64_t extent(const conv_cut *c, int kind, int axis) {
    int64_t rest = c->size[axis] % c->block[axis];
    return kind && axis == BATCH && rest ? rest : c->block[axis];
}

/* How a piece of a tensor lies; `at` in pieces. */
static bool piece_desc(const conv_cut *c, const conv_desc *d, int kind, int tensor, const int64_t at[AXES],
                       dnnl_memory_desc_t *out) {
    dnnl_dims_t dims, from = {0};
    memcpy(dims, d->md[tensor].dims, sizeof dims);
    for (int i = 0; i < AXES; i++) {
        part p = part_of(d, tensor, i);
        if (!p.each) continue;
        dims[p.dim] = extent(c, kind, i) * p.each;
        from[p.dim] = at[i] * c->block[i] * p.each;
    }
    return dnnl_memory_desc_init_submemory(out, &d->md[tensor], dims, from) == dnnl_success;
}

/* Where pieces lie, and the problem of one of each kind, as it lies in memory. */
static bool describe(conv_cut *c, const conv_desc *d, conv_desc pieces[KINDS]) {
    static const int64_t first[AXES] = {0};
    for (int kind = 0; kind < KINDS; kind++) pieces[kind] = *d;
    for (int t = 0; t < 3; t++) {
        const int64_t elem = (int64_t)dnnl_data_type_size(d->md[t].data_type);
        for (int kind = 0; kind < KINDS; kind++)
            if (!piece_desc(c, d, kind, t, first, &pieces[kind].md[t])) return false;
        c->first[t] = pieces[0].md[t].offset0 * elem;
        for (int i = 0; i < AXES; i++) {
            dnnl_memory_desc_t next;
            int64_t at[AXES] = {0};
            at[i] = 1;
            c->has[t][i] = part_of(d, t, i).each != 0;
            if (!c->has[t][i] || c->count[i] == 1) continue;
            if (!piece_desc(c, d, i == BATCH && c->count[i] == 2, t, at, &next)) return false;
            c->step[t][i] = next.offset0 * elem - c->first[t];
        }
        for (int kind = 0; kind < KINDS; kind++) pieces[kind].md[t].offset0 = 0;
    }
    return true;
}

static int64_t pieces_of(const conv_cut *c, int tensor) {
    int64_t n = 1;
    for (int i = 0; i < AXES; i++) n *= c->has[tensor][i] ? c->count[i] : 1;
    return n;
}

/* --- primitives --- */
static void dense(dnnl_memory_desc_t *md, dnnl_data_type_t type) {
    dnnl_dims_t dims, strides;
    int n = md->ndims;
    memcpy(dims, md->dims, sizeof dims);
    for (int64_t i = n - 1, s = 1; i >= 0; s *= dims[i--]) strides[i] = s;
    dnnl_memory_desc_init_by_strides(md, n, dims, type, strides);
}

static xt_status make_moves(conv_cut *c, int kind, const conv_desc *lies, const conv_choice *made, bool *out_ok) {
    for (int t = 0; t < 3 && *out_ok; t++) {
        bool out = t == c->output, equal = dnnl_memory_desc_equal(&lies->md[t], &made->used[t]);
        if (kind > 0 && !equal && !c->move[0][t].primitive) *out_ok = false;
        if (kind > 0 ? !c->move[0][t].primitive : equal) continue;
        XT_TRY(dnnl_reorder_make(out ? &made->used[t] : &lies->md[t], out ? &lies->md[t] : &made->used[t], 1,
                                 &c->move[kind][t], out_ok));
        c->own_bytes = larger(c->own_bytes, align_up(c->move[kind][t].scratch_bytes));
    }
    return NULL;
}

/* The last, shorter part of the batch goes as the others do: its gradient is added to theirs. */
static xt_status make_kinds(conv_cut *c, const conv_desc *d, conv_layout last, double flops, bool *out_ok) {
    conv_desc lies[KINDS];
    dnnl_memory_desc_t result = {0};
    conv_layout layout = last;
    *out_ok = describe(c, d, lies);
    bool even = c->size[BATCH] % c->block[BATCH] == 0;
    for (int kind = 0; kind < (even ? 1 : KINDS) && *out_ok; kind++) {
        conv_choice made = {0};
        conv_desc wanted = lies[kind];
        if (c->sums) dense(&wanted.md[WEI], dnnl_f32);
        xt_status s =
            kind == 0 ? conv_choose(&wanted, last, flops, 1, &made) : conv_try(&wanted, layout, flops, 1, &made);
        c->prim[kind] = made.prim;
        XT_TRY(s);
        *out_ok = made.ok && (kind == 0 || !c->sums || dnnl_memory_desc_equal(&result, &made.used[WEI]));
        if (!*out_ok) break;
        layout = made.layout;
        result = made.used[WEI];
        if (kind == 0) c->winograd = made.layout == LAYOUT_WINOGRAD;
        c->own_bytes = larger(c->own_bytes, align_up(made.prim.scratch_bytes));
        for (int t = 0; t < 3; t++)
            c->bytes[t] = larger(c->bytes[t], align_up(dnnl_memory_desc_get_size(&made.used[t])));
        XT_TRY(make_moves(c, kind, &lies[kind], &made, out_ok));
    }
    return NULL;
}

static void free_primitives(conv_cut *c) {
    for (int kind = 0; kind < KINDS; kind++) {
        dnnl_prim_free(&c->prim[kind]);
        for (int t = 0; t < 3; t++) dnnl_prim_free(&c->move[kind][t]);
    }
}
void conv_cut_free(conv_cut *c) {
    if (c) free_primitives(c);
    base_free(c);
}
bool conv_cut_is_winograd(const conv_cut *c) {
    return c->winograd;
}

static bool is_moved(const conv_cut *c, int tensor) {
    return c->move[0][tensor].primitive != NULL;
}

xt_status conv_cut_make(const conv_desc *d, conv_layout last, double flops, int threads, size_t *scratch,
                        conv_cut **out) {
    conv_cut *c = base_calloc(1, sizeof *c);
    bool ok = false;
    *out = NULL;
    if (!c) return status_oom(sizeof *c, "a plan");
    c->form = d->form;
    c->output = d->output;
    c->size[BATCH] = d->md[SRC].dims[0];
    c->size[OUT] = d->md[WEI].dims[0];
    c->size[IN] = d->md[WEI].ndims > d->md[SRC].ndims ? 1 : d->md[WEI].dims[1];
    divide(c, d, flops);
    xt_status s = NULL;
    /* Where oneDNN has no primitive, the batch stays whole, and then all of it. */
    for (int axes = 0; axes < 3 && !s && !ok; axes++) {
        for (int i = 0; i < (axes < 2 ? axes : AXES); i++) c->block[i] = c->size[i], c->count[i] = 1;
        free_primitives(c);
        memset(c->bytes, 0, sizeof c->bytes);
        c->sums = c->form == CONV_WEIGHTS && c->count[BATCH] > 1;
        s = make_kinds(c, d, last, flops / (double)(c->count[BATCH] * c->count[OUT] * c->count[IN]), &ok);
    }
    if (s || !ok) {
        conv_cut_free(c);
        return s;
    }
    for (int t = 0; t < 3; t++) {
        bool kept = is_moved(c, t) || (t == c->output && c->sums);
        int64_t n = pieces_of(c, t) * (t == c->output && c->sums ? c->count[BATCH] : 1);
        c->at[t] = *scratch;
        if (kept) *scratch += c->bytes[t] * (size_t)n;
    }
    c->own_at = *scratch;
    *scratch += c->own_bytes * (size_t)threads;
    *out = c;
    return NULL;
}

/* --- running --- */
typedef struct run {
    const conv_cut *c;
    void **stream;
    char *tensors[3];
    char *scratch;
    _Atomic(xt_status) failed; /* the first */
} run;

static void keep_first(run *r, xt_status s) {
    xt_status none = NULL;
    if (s && !atomic_compare_exchange_strong(&r->failed, &none, s)) xt_status_free(s);
}
static char *own_scratch(const run *r, int thread) {
    return r->scratch + r->c->own_at + r->c->own_bytes * (size_t)thread;
}
static int kind_of(const conv_cut *c, const int64_t at[AXES]) {
    return (at[BATCH] + 1) * c->block[BATCH] > c->size[BATCH];
}

/* The place of the piece with number `i` of a tensor. */
static void place_of(const conv_cut *c, int tensor, int64_t i, int64_t at[AXES]) {
    for (int a = AXES; a-- > 0;) {
        at[a] = c->has[tensor][a] ? i % c->count[a] : 0;
        if (c->has[tensor][a]) i /= c->count[a];
    }
}
static int64_t number_of(const conv_cut *c, int tensor, const int64_t at[AXES]) {
    int64_t n = 0;
    for (int a = 0; a < AXES; a++)
        if (c->has[tensor][a]) n = n * c->count[a] + at[a];
    return n;
}
static char *in_program(const run *r, int tensor, const int64_t at[AXES]) {
    int64_t offset = r->c->first[tensor];
    for (int a = 0; a < AXES; a++) offset += at[a] * r->c->step[tensor][a];
    return r->tensors[tensor] + offset;
}
/* Behind one another by their number; of gradients that are added, those of the first part of the batch come first. */
static char *in_scratch(const run *r, int tensor, const int64_t at[AXES]) {
    const conv_cut *c = r->c;
    int64_t n = number_of(c, tensor, at);
    if (tensor == c->output && c->sums) n += at[BATCH] * pieces_of(c, tensor);
    return r->scratch + c->at[tensor] + c->bytes[tensor] * (size_t)n;
}

/* Task: an operand's piece, SRC's first. */
static void move_in(void *ctx, int64_t begin, int64_t end, int thread) {
    run *r = ctx;
    const conv_cut *c = r->c;
    for (int64_t i = begin; i < end; i++) {
        int64_t n = i, at[AXES];
        int t = SRC;
        for (; t == c->output || !is_moved(c, t) || n >= pieces_of(c, t); t++)
            if (t != c->output && is_moved(c, t)) n -= pieces_of(c, t);
        place_of(c, t, n, at);
        void *both[2] = {in_program(r, t, at), in_scratch(r, t, at)};
        keep_first(r, dnnl_prim_run(&c->move[kind_of(c, at)][t], r->stream, both, own_scratch(r, thread)));
    }
}

static void convolve(void *ctx, int64_t begin, int64_t end, int thread) {
    run *r = ctx;
    const conv_cut *c = r->c;
    for (int64_t i = begin; i < end; i++) {
        int64_t at[AXES], n = i;
        void *data[3];
        for (int a = AXES; a-- > 0; n /= c->count[a]) at[a] = n % c->count[a];
        for (int t = 0; t < 3; t++)
            data[t] = is_moved(c, t) || (t == c->output && c->sums) ? in_scratch(r, t, at) : in_program(r, t, at);
        keep_first(r, dnnl_prim_run(&c->prim[kind_of(c, at)], r->stream, data, own_scratch(r, thread)));
    }
}

/* Task: a run of elements of one piece of the kernel, over the parts of the batch in their order. */
enum { RUN = 4096 };
static int64_t runs_of(const conv_cut *c) {
    return divide_up((int64_t)(c->bytes[WEI] / sizeof(float)), RUN);
}
static void add(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    run *r = ctx;
    const conv_cut *c = r->c;
    const int64_t elements = (int64_t)(dnnl_memory_desc_get_size(&c->prim[0].md[WEI]) / sizeof(float)),
                  apart = pieces_of(c, WEI) * (int64_t)(c->bytes[WEI] / sizeof(float));
    for (int64_t i = begin; i < end; i++) {
        int64_t at[AXES], from = i % runs_of(c) * RUN
        , to = from + RUN
        < elements ? from + RUN : elements;
        place_of(c, WEI, i / runs_of(c), at);
        const float *parts = (const float *)(const void *)in_scratch(r, WEI, at);
        float *sum = (float *)(void *)(is_moved(c, WEI) ? in_scratch(r, WEI, at) : in_program(r, WEI, at));
        for (int64_t e = from; e < to; e++) {
            float s = parts[e];
            for (int64_t p = 1; p < c->count[BATCH]; p++) s += parts[p * apart + e];
            sum[e] = s;
        }
    }
}

static void move_out(void *ctx, int64_t begin, int64_t end, int thread) {
    run *r = ctx;
    const conv_cut *c = r->c;
    for (int64_t i = begin; i < end; i++) {
        int64_t at[AXES];
        place_of(c, c->output, i, at);
        void *both[2] = {in_scratch(r, c->output, at), in_program(r, c->output, at)};
        keep_first(r, dnnl_prim_run(&c->move[kind_of(c, at)][c->output], r->stream, both, own_scratch(r, thread)));
    }
}

xt_status conv_cut_run(const conv_cut *c, const cpu_team *team, void **stream, void *const tensors[3], char *scratch) {
    run r = {.c = c, .stream = stream, .scratch = scratch};
    int64_t moves = 0;
    XT_TRY(dnnl_stream_open(stream));
    for (int t = 0; t < 3; t++) {
        r.tensors[t] = tensors[t];
        if (t != c->output && is_moved(c, t)) moves += pieces_of(c, t);
    }
    team_for_alone(team, &dnnl_library, moves, 1, move_in, &r);
    team_for_alone(team, &dnnl_library, c->count[BATCH] * c->count[OUT] * c->count[IN], 1, convolve, &r);
    if (c->sums) team_for(team, pieces_of(c, WEI) * runs_of(c), 1, add, &r);
    if (is_moved(c, c->output)) team_for_alone(team, &dnnl_library, pieces_of(c, c->output), 1, move_out, &r);
    return r.failed;
}
