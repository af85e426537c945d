/* dot_general on oneDNN's matmul. Batch, free and contracting dims are each folded into one dim with one stride per operand; an operand whose
 * dims do not fold that way is first brought into [batch, rows, columns] order in scratch memory. Large products first bring operands into
 * oneDNN's own blocked layout where that pays (pays_to_block). Large f32 products run on panels of our own instead (packed.h): 5 to 15 percent faster
 * than oneDNN 2.6 row-major at the shapes of GPT-2 on Zen 5, and their operands need not be brought anywhere first. */
#include "cpu/kernel/kernel.h"
#include "cpu/vector/dnnl_util.h"
#include "cpu/vector/move.h"
#include "cpu/vector/packed.h"

typedef struct side { /* one operand as [batch, free, contracting] */
    int64_t stride[3];
    bool pack; /* moved to scratch first, then dense in that order */
    cpu_move move;
    size_t packed_at; /* in scratch */
    dnnl_prim block; /* then brought into the primitive's layout, if there is one */
    size_t blocked_at, block_scratch_at;
} side;
typedef struct dot_state {
    dnnl_prim prim;
    side lhs, rhs;
    size_t prim_scratch_at;
    size_t zero_bytes; /* nothing to contract: the result is zeros */
    int pieces; /* small products: equal parts of the result, each made by one thread with `prim` */
    packed_product packed; /* m 0: it is not packed */
    size_t piece_step[3], piece_scratch; /* bytes from one piece to the next in each array */
} dot_state;
enum { PIECES_MAX = 8, SMALL_FLOPS = 8000000 };

static void dot_free(void *state) {
    dot_state *s = state;
    dnnl_prim_free(&s->prim);
    dnnl_prim_free(&s->lhs.block);
    dnnl_prim_free(&s->rhs.block);
    base_free(s);
}

typedef struct pieces_run {
    const cpu_call *call;
    const dot_state *s;
    void *const *data;
    xt_status status[PIECES_MAX];
} pieces_run;
static void run_pieces(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    pieces_run *r = ctx;
    for (int64_t p = begin; p < end; p++) {
        void *data[3];
        for (int i = 0; i < 3; i++) data[i] = (char *)r->data[i] + (size_t)p * r->s->piece_step[i];
        char *scratch = (char *)r->call->scratch + r->s->prim_scratch_at + (size_t)p * r->s->piece_scratch;
        r->status[p] = dnnl_prim_run(&r->s->prim, &r->call->device->stream, data, scratch);
    }
}

static xt_status dot_run(const cpu_call *c) {
    const dot_state *s = c->thunk->state;
    if (!s->prim.primitive && !s->packed.m) {
        memset(c->out[0], 0, s->zero_bytes);
        return NULL;
    }
    void *data[3] = {c->in[0], c->in[1], c->out[0]};
    const side *sides[2] = {&s->lhs, &s->rhs};
    for (int i = 0; i < 2; i++) {
        if (sides[i]->pack) {
            data[i] = (char *)c->scratch + sides[i]->packed_at;
            cpu_move_run(&c->device->team, &sides[i]->move, data[i], c->in[i]);
        }
        if (!sides[i]->block.primitive) continue;
        void *both[2] = {data[i], (char *)c->scratch + sides[i]->blocked_at};
        XT_TRY(dnnl_prim_run(&sides[i]->block, &c->device->stream, both, (char *)c->scratch + sides[i]->block_scratch_at));
        data[i] = both[1];
    }
    if (s->packed.m) {
        packed_run(&s->packed, &c->device->team, data[0], data[1], data[2], (char *)c->scratch + s->prim_scratch_at);
        return NULL;
    }
    if (s->pieces == 1) return dnnl_prim_run(&s->prim, &c->device->stream, data, (char *)c->scratch + s->prim_scratch_at);
    pieces_run r = {.call = c, .s = s, .data = data};
    XT_TRY(dnnl_stream_open(&c->device->stream));
    team_for(&c->device->team, s->pieces, 1, run_pieces, &r);
    for (int p = 1; p < s->pieces; p++) {
        if (!r.status[0])
            r.status[0] = r.status[p];
        else
            xt_status_free(r.status[p]);
    }
    return r.status[0];
}
static const cpu_kernel dot_kernel = {"onednn-matmul", dot_run, dot_free, .onednn = true};
static const cpu_kernel small_dot_kernel = {"onednn-matmul", dot_run, dot_free, true};
static const cpu_kernel packed_dot_kernel = {"packed-matmul", dot_run, dot_free};

/* A product of a few million flops is over before oneDNN's threads have met: it is cut by rows or columns of the result into parts that one thread
 * each makes, as many as shapes say. */
static int count_pieces(double flops, int64_t batch, int64_t m, int64_t n, bool *out_rows) {
    enum { FLOPS = 1000000, LEAST = 16 };
    if (batch > 1) return 1;
    for (int p = PIECES_MAX; p > 1; p /= 2) {
        if (flops < (double)p * FLOPS) continue;
        *out_rows = m % p == 0 && m / p >= LEAST;
        if (*out_rows || (n % p == 0 && n / p >= LEAST)) return p;
    }
    return 1;
}

static bool contains(const int64_t *list, size_t n, int64_t v) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == v) return true;
    return false;
}

/* One stride for the dims of a group, in order; false when they do not fold. */
static bool fold(const view *v, const int64_t *dims, size_t n, int64_t *out_size, int64_t *out_stride) {
    *out_size = 1;
    *out_stride = 0;
    bool first = true;
    for (size_t i = n; i-- > 0;) {
        int64_t d = v->dims[dims[i]], s = v->strides[dims[i]];
        if (d == 1) continue;
        if (!first && s != *out_stride * *out_size) return false;
        if (first) *out_stride = s;
        first = false;
        *out_size *= d;
    }
    return true;
}

/* Fills sizes (batch, free, contracting) and strides of an operand; decides whether it must be packed. */
static void make_side(const ir_type *t, const view *given, const int64_t *batch, size_t nb, const int64_t *contract, size_t nc, bool contract_first,
                      int64_t size[3], side *out) {
    view v = *given, src = {0}, dst = {0};
    int64_t free_dims[VIEW_MAX];
    size_t nf = 0;
    for (int i = 0; i < v.n; i++)
        if (!contains(batch, nb, i) && !contains(contract, nc, i)) free_dims[nf++] = i;
    bool folds = fold(&v, batch, nb, &size[0], &out->stride[0]);
    folds = fold(&v, free_dims, nf, &size[1], &out->stride[1]) && folds;
    folds = fold(&v, contract, nc, &size[2], &out->stride[2]) && folds;
    size[0] = size[1] = size[2] = 1;
    for (size_t i = 0; i < nb; i++) size[0] *= v.dims[batch[i]];
    for (size_t i = 0; i < nf; i++) size[1] *= v.dims[free_dims[i]];
    for (size_t i = 0; i < nc; i++) size[2] *= v.dims[contract[i]];
    bool unit = size[1] == 1 || size[2] == 1 || out->stride[1] == 1 || out->stride[2] == 1;
    out->pack = !folds || !unit;
    if (!out->pack) return;
    /* packed: batch, then free x contracting (or the other way round, as the primitive likes it) */
    int64_t order[VIEW_MAX];
    size_t k = 0;
    for (size_t i = 0; i < nb; i++) order[k++] = batch[i];
    for (size_t i = 0; contract_first && i < nc; i++) order[k++] = contract[i];
    for (size_t i = 0; i < nf; i++) order[k++] = free_dims[i];
    for (size_t i = 0; !contract_first && i < nc; i++) order[k++] = contract[i];
    src.n = dst.n = v.n;
    int64_t s = 1;
    for (int i = v.n - 1; i >= 0; i--) {
        src.dims[i] = dst.dims[i] = v.dims[order[i]];
        src.strides[i] = v.strides[order[i]];
        dst.strides[i] = s;
        s *= v.dims[order[i]];
    }
    cpu_move_make(&dst, &src, t->dtype, &out->move);
    out->stride[0] = size[1] * size[2];
    out->stride[1] = contract_first ? 1 : size[2];
    out->stride[2] = contract_first ? size[1] : 1;
}

/* oneDNN looks at strides of dims of size 1 too: give them the ones of a dense matrix. */
static void matrix_desc(dnnl_memory_desc_t *md, dnnl_data_type_t t, int64_t b, int64_t rows, int64_t cols, int64_t sb, int64_t sr, int64_t sc) {
    if (cols == 1 && rows > 1) sc = sr == 1 ? rows : 1;
    if (rows == 1) sr = cols == 1 ? 1 : sc == 1 ? cols : 1;
    if (rows == 1 && cols == 1) sc = 1;
    if (b == 1) {
        dnnl_dims_t d = {rows, cols}, s = {sr, sc};
        dnnl_memory_desc_init_by_strides(md, 2, d, t, s);
    } else {
        dnnl_dims_t d = {b, rows, cols}, s = {sb, sr, sc};
        dnnl_memory_desc_init_by_strides(md, 3, d, t, s);
    }
}

static size_t align_up(size_t n) {
    return (n + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

/* Blocking an operand costs one pass over it and saves a part of the product's time; measured with oneDNN 2.6 on Zen 5 (2 cores) at the shapes of
 * GPT-2. bf16 runs at 720-850 GFLOP/s row-major and at 920-960 with blocked right operands; a left operand is only worth it where its rows lie so far
 * apart that each element is another page's (the vocabulary's weight gradient: 27 to 23 ms). f32 gains 2 to 9 percent, which pays for many rows only.
 * A right operand that no cache holds is not blocked: writing it anew takes more than is saved (512 x 50257 x 768: 78 ms blocked, 59 as it lies; 512 x 768 x 50257: 57, 49). */
static void pays_to_block(dnnl_data_type_t t, int64_t m, int64_t n, int64_t k, const side *lhs, bool *out_lhs, bool *out_rhs) {
    enum { CACHED = 16 << 20 }; /* elements */
    bool large = (double)m * (double)n * (double)k > 3e7;
    *out_rhs = large && m >= (t == dnnl_bf16 ? 512 : 1024) && n <= CACHED / k;
    *out_lhs = *out_rhs && t == dnnl_bf16 && lhs->stride[2] > 8192 && n >= 512;
}

/* The reorder of an operand from how it lies to how the primitive wants it; none where that is the same. */
static xt_status block_side(side *s, const dnnl_memory_desc_t *lies, const dnnl_memory_desc_t *wanted, int threads, bool *out_ok) {
    *out_ok = true;
    if (dnnl_memory_desc_equal(lies, wanted)) return NULL;
    return dnnl_reorder_make(lies, wanted, threads, &s->block, out_ok);
}

/* The product with the sides that pay in layouts of oneDNN's choice; *out_ok false: nothing is made, the plain one will do. */
static xt_status make_blocked(dot_state *s, const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *w, const dnnl_memory_desc_t *d, bool block_a,
                              bool block_w, int threads, bool *out_ok) {
    dnnl_memory_desc_t any_a = *a, any_w = *w;
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    if (block_a) dnnl_memory_desc_init_by_tag(&any_a, a->ndims, a->dims, a->data_type, dnnl_format_tag_any);
    if (block_w) dnnl_memory_desc_init_by_tag(&any_w, w->ndims, w->dims, w->data_type, dnnl_format_tag_any);
    *out_ok = dnnl_matmul_desc_init(&desc, &any_a, &any_w, NULL, d) == dnnl_success;
    xt_status st = *out_ok ? dnnl_prim_make(&desc, NULL, threads, &s->prim, &pd, out_ok) : NULL;
    if (st || !*out_ok) return st;
    any_a = *dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0);
    any_w = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dnnl_primitive_desc_destroy(pd);
    st = block_side(&s->lhs, a, &any_a, threads, out_ok);
    if (!st && *out_ok) st = block_side(&s->rhs, w, &any_w, threads, out_ok);
    if (!st && *out_ok) {
        dnnl_prim_add(&s->prim, DNNL_ARG_SRC, &any_a);
        dnnl_prim_add(&s->prim, DNNL_ARG_WEIGHTS, &any_w);
        dnnl_prim_add(&s->prim, DNNL_ARG_DST, d);
        return NULL;
    }
    dnnl_prim_free(&s->prim);
    dnnl_prim_free(&s->lhs.block);
    dnnl_prim_free(&s->rhs.block);
    return st;
}

static xt_status make_plain(dot_state *s, const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *w, const dnnl_memory_desc_t *d, int threads,
                            bool *out_ok) {
    dnnl_matmul_desc_t desc;
    *out_ok = dnnl_matmul_desc_init(&desc, a, w, NULL, d) == dnnl_success;
    if (*out_ok) XT_TRY(dnnl_prim_make(&desc, NULL, threads, &s->prim, NULL, out_ok));
    if (!*out_ok) return NULL;
    dnnl_prim_add(&s->prim, DNNL_ARG_SRC, a);
    dnnl_prim_add(&s->prim, DNNL_ARG_WEIGHTS, w);
    dnnl_prim_add(&s->prim, DNNL_ARG_DST, d);
    return NULL;
}

static bool make_packed(dot_state *s, int64_t m, int64_t n, int64_t k, int threads) {
    packed_product p = {
        .m = m, .n = n, .k = k, .a_row = s->lhs.stride[1], .a_col = s->lhs.stride[2], .b_row = s->rhs.stride[2], .b_col = s->rhs.stride[1]};
    if (!packed_plan(&p, threads)) return false;
    s->packed = p;
    return true;
}

static size_t side_scratch(side *s, const ir_type *t, size_t scratch) {
    s->packed_at = scratch;
    if (s->pack) scratch += align_up(ir_type_bytes(t));
    if (!s->block.primitive) return scratch;
    s->blocked_at = scratch;
    scratch += align_up(dnnl_memory_desc_get_size(&s->block.md[1]));
    s->block_scratch_at = scratch;
    return scratch + align_up(s->block.scratch_bytes);
}

CPU_LOWER(dot_general) {
    size_t nlb, nrb, nlc, nrc;
    const int64_t *lb = ir_get_ints(op, IR_A_lhs_batching_dimensions, &nlb), *rb = ir_get_ints(op, IR_A_rhs_batching_dimensions, &nrb);
    int64_t dot_lc[1], dot_rc[1];
    const int64_t *lc = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &nlc), *rc = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nrc);
    const ir_type *lt = op->in[0]->type, *rt = op->in[1]->type, *ot = op->out[0].type;
    if (op->code == OP_dot) { /* the last dim with the first */
        dot_lc[0] = (int64_t)lt->rank - 1;
        dot_rc[0] = 0;
        lc = dot_lc, rc = dot_rc, nlc = nrc = 1, nlb = nrb = 0;
        if (lt->rank == 0 || rt->rank == 0) return NULL;
    }
    dnnl_data_type_t tl, tr, to;
    if (!dnnl_type_of(lt->dtype, &tl) || !dnnl_type_of(rt->dtype, &tr) || !dnnl_type_of(ot->dtype, &to) || tl != tr) return NULL;
    if (tl == dnnl_f32 && to != dnnl_f32) return NULL;
    dot_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    int64_t l[3], r[3];
    const ir_value *in[2];
    view lv, rv; /* transposes in front of the product are strides of its operands */
    if (!cpu_build_permuted(op->in[0], &in[0], &lv) || !cpu_build_permuted(op->in[1], &in[1], &rv)) {
        base_free(s);
        return NULL;
    }
    make_side(lt, &lv, lb, nlb, lc, nlc, false, l, &s->lhs);
    make_side(rt, &rv, rb, nrb, rc, nrc, true, r, &s->rhs);
    int64_t batch = l[0], m = l[1], n = r[1], k = l[2];
    s->zero_bytes = ir_type_bytes(ot);
    s->pieces = 1;
    bool small = cpu_op_flops(op) < SMALL_FLOPS;
    size_t scratch = 0;
    if (batch && m && n && k) {
        dnnl_memory_desc_t a, w, d;
        bool by_rows = false, ok = false, block_a = false, block_w = false;
        if (small) s->pieces = count_pieces(cpu_op_flops(op), batch, m, n, &by_rows);
        int64_t rows = by_rows ? m / s->pieces : m, cols = by_rows ? n : n / s->pieces;
        size_t elem = xt_dtype_size(lt->dtype), out_elem = xt_dtype_size(ot->dtype);
        if (by_rows)
            s->piece_step[0] = (size_t)(rows * s->lhs.stride[1]) * elem, s->piece_step[2] = (size_t)(rows * n) * out_elem;
        else if (s->pieces > 1)
            s->piece_step[1] = (size_t)(cols * s->rhs.stride[1]) * elem, s->piece_step[2] = (size_t)cols * out_elem;
        matrix_desc(&a, tl, batch, rows, k, s->lhs.stride[0], s->lhs.stride[1], s->lhs.stride[2]);
        matrix_desc(&w, tr, batch, k, cols, s->rhs.stride[0], s->rhs.stride[2], s->rhs.stride[1]);
        matrix_desc(&d, to, batch, rows, cols, m * n, n, 1);
        int threads = small ? 1 : cpu_build_threads(b);
        xt_status st = NULL;
        bool packed = batch == 1 && !small && tl == dnnl_f32 && make_packed(s, m, n, k, threads);
        ok = packed;
        if (batch == 1 && !small && !packed) pays_to_block(tl, m, n, k, &s->lhs, &block_a, &block_w);
        if (block_w) st = make_blocked(s, &a, &w, &d, block_a, block_w, threads, &ok);
        if (!st && !ok) st = make_plain(s, &a, &w, &d, threads, &ok);
        if (st || !ok) {
            dot_free(s);
            return st;
        }
        scratch = side_scratch(&s->rhs, rt, side_scratch(&s->lhs, lt, 0));
        s->prim_scratch_at = scratch;
        s->piece_scratch = packed ? packed_scratch(&s->packed, threads) : align_up(s->prim.scratch_bytes);
        scratch += s->piece_scratch * (size_t)s->pieces;
    }
    cpu_thunk_desc d = {.kernel = s->packed.m ? &packed_dot_kernel
                                  : small     ? &small_dot_kernel
                                              : &dot_kernel,
                        .op = op,
                        .n_in = 2,
                        .in = in,
                        .n_out = 1,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = cpu_op_flops(op)};
    *out_done = true;
    return cpu_build_thunk(b, &d);
}
