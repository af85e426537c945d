/* dot_general on oneDNN's matmul. Batch, free and contracting dims are each folded into one dim with one stride per
 * operand; an operand whose dims do not fold that way is first brought into [batch, rows, columns] order in scratch
 * memory. oneDNN's product is cut into blocks by its shape (matmul.h), operands of large ones in oneDNN's own blocked
 * layout where that pays (pays_to_block). Large f32 products run on panels of our own instead (packed.h): 5 to 15
 * percent faster than oneDNN 2.6 row-major at the shapes of GPT-2 on Zen 5, and their operands need not be brought
 * anywhere first. f32 products with a vector have loops of their own (matvec.h), and so have small ones, for a call of
 * oneDNN costs more than they take. */
#include "cpu/kernel/kernel.h"
#include "cpu/vector/matmul.h"
#include "cpu/vector/matvec.h"
#include "cpu/vector/move.h"
#include "cpu/vector/packed.h"

typedef struct side { /* one operand as [batch, free, contracting] */
    int64_t stride[3];
    bool pack; /* moved to scratch first, then dense in that order */
    cpu_move move;
    size_t packed_at; /* in scratch */
} side;
typedef struct dot_state {
    side lhs, rhs;
    size_t zero_bytes; /* nothing to contract: the result is zeros */
    bool by_blocks;
    matmul product;
    packed_product packed; /* m 0: it is not packed */
    matvec vector; /* fns NULL: neither side is one */
    bool vector_left;
    small_product small; /* m 0: it is not small */
    size_t scratch_at; /* of either */
} dot_state;

/* too small for panels of our own, and run by whoever starts the program where that is tiny */
enum { SMALL_FLOPS = 8000000 };

static void dot_free(void *state) {
    dot_state *s = state;
    matmul_free(&s->product);
    base_free(s);
}

static xt_status dot_run(const cpu_call *c) {
    const dot_state *s = c->thunk->state;
    if (!s->by_blocks && !s->packed.m && !s->vector.fns && !s->small.m) {
        memset(c->out[0], 0, s->zero_bytes);
        return NULL;
    }
    const cpu_team *team = &c->device->team;
    char *scratch = (char *)c->scratch + s->scratch_at;
    const void *data[2] = {c->in[0], c->in[1]};
    const side *sides[2] = {&s->lhs, &s->rhs};
    for (int i = 0; i < 2; i++) {
        if (!sides[i]->pack) continue;
        data[i] = (char *)c->scratch + sides[i]->packed_at;
        cpu_move_run(team, &sides[i]->move, (char *)c->scratch + sides[i]->packed_at, c->in[i]);
    }
    if (s->by_blocks) return matmul_run(&s->product, team, &c->device->stream, data[0], data[1], c->out[0], scratch);
    if (s->vector.fns) {
        matvec_run(&s->vector, team, data[s->vector_left], data[!s->vector_left], c->out[0], scratch);
        return NULL;
    }
    if (s->small.m)
        small_product_run(&s->small, team, data[0], data[1], c->out[0]);
    else
        packed_run(&s->packed, team, data[0], data[1], c->out[0], scratch);
    return NULL;
}
static const cpu_kernel dot_kernel = {"onednn-matmul", dot_run, dot_free};
static const cpu_kernel small_dot_kernel = {"onednn-matmul", dot_run, dot_free, .anywhere = true};
static const cpu_kernel whole_dot_kernel = {"onednn-matmul", dot_run, dot_free, .onednn = true};
static const cpu_kernel vector_dot_kernel = {"matrix-vector", dot_run, dot_free, .anywhere = true};
static const cpu_kernel small_product_kernel = {"small-matmul", dot_run, dot_free, .anywhere = true};
static const cpu_kernel packed_dot_kernel = {"packed-matmul", dot_run, dot_free};

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

/* Fills sizes (batch, free, contracting) and strides of an operand; decides whether it must be packed. `run`: which of
 * the three have to be one run of memory; 0: none. */
static void make_side(const ir_type *t, const view *given, const int64_t *batch, size_t nb, const int64_t *contract,
                      size_t nc, bool contract_first, int run, int64_t size[3], side *out) {
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
    out->pack = !folds || !unit || (run && out->stride[run] != 1 && size[run] > 1);
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

/* Nothing but batch and contracting dims: scalar products, one for each of the batch. */
static bool is_scalar_products(const view *v, const int64_t *batch, size_t nb, const int64_t *contract, size_t nc) {
    for (int i = 0; i < v->n; i++)
        if (v->dims[i] != 1 && !contains(batch, nb, i) && !contains(contract, nc, i)) return false;
    return true;
}

static size_t align_up(size_t n) {
    return (n + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

/* Blocking an operand costs one pass over it and saves a part of the product's time; measured with oneDNN 2.6 on Zen 5
 * (2 cores) at the shapes of GPT-2. bf16 runs at 720-850 GFLOP/s row-major and at 920-960 with blocked right operands;
 * a left operand is only worth it where its rows lie so far apart that each element is another page's (the vocabulary's
 * weight gradient: 27 to 23 ms). f32 gains 2 to 9 percent, which pays for many rows only. A right operand that no cache
 * holds is not blocked: writing it anew takes more than is saved (512 x 50257 x 768: 78 ms blocked, 59 as it lies; 512
 * x 768 x 50257: 57, 49). */
static void pays_to_block(xt_dtype t, int64_t m, int64_t n, int64_t k, const side *lhs, bool *out_lhs, bool *out_rhs) {
    enum { CACHED = 16 << 20 }; /* elements */
    bool large = (double)m * (double)n * (double)k > 3e7;
    *out_rhs = large && m >= (t == XT_BF16 ? 512 : 1024) && n <= CACHED / k;
    *out_lhs = *out_rhs && t == XT_BF16 && lhs->stride[2] > 8192 && n >= 512;
}

/* The product by oneDNN; blocked operands where that pays and is to be had. */
static xt_status make_blocks(dot_state *s, xt_dtype in, xt_dtype out, const int64_t size[MATMUL_AXES], int threads,
                             bool *out_ok) {
    const int64_t *l = s->lhs.stride, *r = s->rhs.stride;
    const int64_t lhs[MATMUL_AXES] = {l[0], l[1], 0, l[2]}, rhs[MATMUL_AXES] = {r[0], 0, r[1], r[2]};
    bool block_lhs = false, block_rhs = false;
    if (size[MATMUL_BATCH] == 1)
        pays_to_block(in, size[MATMUL_ROWS], size[MATMUL_COLUMNS], size[MATMUL_DEPTH], &s->lhs, &block_lhs, &block_rhs);
    *out_ok = false;
    for (int blocked = block_rhs; blocked >= 0 && !*out_ok; blocked--) {
        matmul *p = &s->product;
        memset(p, 0, sizeof *p);
        p->in = in, p->out = out;
        memcpy(p->size, size, sizeof p->size);
        memcpy(p->lhs, lhs, sizeof p->lhs);
        memcpy(p->rhs, rhs, sizeof p->rhs);
        p->block_lhs = block_lhs && blocked;
        p->block_rhs = block_rhs && blocked;
        matmul_plan(p);
        XT_TRY(matmul_make(p, threads, out_ok));
    }
    s->by_blocks = *out_ok;
    return NULL;
}

static bool make_packed(dot_state *s, int64_t m, int64_t n, int64_t k, int threads) {
    packed_product p = {.m = m,
                        .n = n,
                        .k = k,
                        .a_row = s->lhs.stride[1],
                        .a_col = s->lhs.stride[2],
                        .b_row = s->rhs.stride[2],
                        .b_col = s->rhs.stride[1]};
    if (!packed_plan(&p, threads)) return false;
    s->packed = p;
    return true;
}

/* One row or one column: the other side is the matrix. */
static bool make_vector(dot_state *s, int64_t batch, int64_t m, int64_t n, int64_t k) {
    const int64_t *l = s->lhs.stride, *r = s->rhs.stride;
    if (m != 1 && n != 1) return false;
    bool left = m == 1;
    const int64_t *a = left ? r : l, *x = left ? l : r;
    matvec p = {.batch = batch,
                .rows = left ? n : m,
                .depth = k,
                .matrix_batch = a[0],
                .matrix_row = a[1],
                .matrix_depth = a[2],
                .vector_batch = x[0],
                .vector_depth = x[2]};
    if (!matvec_plan(&p)) return false;
    s->vector = p;
    s->vector_left = left;
    return true;
}

static void make_small(dot_state *s, int64_t batch, int64_t m, int64_t n, int64_t k) {
    const int64_t *l = s->lhs.stride, *r = s->rhs.stride;
    s->small = (small_product){.batch = batch,
                               .m = m,
                               .n = n,
                               .k = k,
                               .lhs_batch = l[0],
                               .lhs_row = l[1],
                               .lhs_column = l[2],
                               .rhs_batch = r[0],
                               .rhs_row = r[2]};
}

static size_t side_scratch(side *s, const ir_type *t, size_t scratch) {
    s->packed_at = scratch;
    return s->pack ? scratch + align_up(ir_type_bytes(t)) : scratch;
}

CPU_LOWER(dot_general) {
    size_t nlb, nrb, nlc, nrc;
    const int64_t *lb = ir_get_ints(op, IR_A_lhs_batching_dimensions, &nlb),
                  *rb = ir_get_ints(op, IR_A_rhs_batching_dimensions, &nrb);
    int64_t dot_lc[1], dot_rc[1];
    const int64_t *lc = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &nlc),
                  *rc = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nrc);
    const ir_type *lt = op->in[0]->type, *rt = op->in[1]->type, *ot = op->out[0].type;
    if (op->code == OP_dot) { /* the last dim with the first */
        dot_lc[0] = (int64_t)lt->rank - 1;
        dot_rc[0] = 0;
        lc = dot_lc, rc = dot_rc, nlc = nrc = 1, nlb = nrb = 0;
        if (lt->rank == 0 || rt->rank == 0) return NULL;
    }
    dnnl_data_type_t types[2];
    if (lt->dtype != rt->dtype || !dnnl_product_types(lt->dtype, ot->dtype, types)) return NULL;
    if (lt->dtype == XT_I8 && cpu_op_flops(op) < SMALL_FLOPS) return NULL; /* a call costs more than the product */
    dot_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    int64_t l[3], r[3];
    const ir_value *in[2];
    view lv, rv; /* transposes in front of the product are strides of its operands */
    if (!cpu_build_permuted(op->in[0], &in[0], &lv) || !cpu_build_permuted(op->in[1], &in[1], &rv)) {
        base_free(s);
        return NULL;
    }
    /* A call of oneDNN for each of many short sums costs more than turning the operands. */
    bool sums =
        lt->dtype == XT_F32 && is_scalar_products(&lv, lb, nlb, lc, nlc) && is_scalar_products(&rv, rb, nrb, rc, nrc);
    make_side(lt, &lv, lb, nlb, lc, nlc, false, sums ? 2 : 0, l, &s->lhs);
    make_side(rt, &rv, rb, nrb, rc, nrc, true, sums ? 2 : 0, r, &s->rhs);
    int64_t batch = l[0], m = l[1], n = r[1], k = l[2];
    s->zero_bytes = ir_type_bytes(ot);
    size_t scratch = 0;
    if (batch && m && n && k) {
        int threads = cpu_build_threads(b);
        bool vector = lt->dtype == XT_F32 && make_vector(s, batch, m, n, k);
        bool packed = !vector && batch == 1 && lt->dtype == XT_F32 && make_packed(s, m, n, k, threads);
        bool small = !vector && !packed && lt->dtype == XT_F32 && ot->dtype == XT_F32 &&
                     small_product_pays(m, n, k, s->rhs.stride[1] == 1);
        if (small) {
            make_side(rt, &rv, rb, nrb, rc, nrc, true, 1, r, &s->rhs);
            make_small(s, batch, m, n, k);
        }
        bool ok = packed || vector || small;
        xt_status st = NULL;
        if (!ok) st = make_blocks(s, lt->dtype, ot->dtype, (const int64_t[]){batch, m, n, k}, threads, &ok);
        if (st || !ok) {
            dot_free(s);
            return st;
        }
        scratch = s->scratch_at = side_scratch(&s->rhs, rt, side_scratch(&s->lhs, lt, 0));
        scratch += vector   ? s->vector.scratch_bytes
                   : small  ? 0
                   : packed ? packed_scratch(&s->packed, threads)
                            : s->product.scratch_bytes;
    }
    cpu_thunk_desc d = {.kernel = s->packed.m                      ? &packed_dot_kernel
                                  : s->vector.fns                  ? &vector_dot_kernel
                                  : s->small.m                     ? &small_product_kernel
                                  : s->product.whole               ? &whole_dot_kernel
                                  : cpu_op_flops(op) < SMALL_FLOPS ? &small_dot_kernel
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
