/* Convolutions that oneDNN has no primitive for: f64, f16, complex and integer ones, and whatever shapes it refuses;
 * every dimension number, dilation, group and reversal.
 *
 * Both sides are brought into the type of the sums, the left as [batch, channel, space], the kernel as [out, in,
 * space]. For each image, group and block of output places the places under the kernel are laid out as a matrix
 * [channel x kernel place, output place], a block of rows at a time, and multiplied by the kernel (OpenBLAS, else a
 * typed loop). Threads take such blocks. Padding and the holes of the left side's dilation are zeros. */
#include "cpu/kernel/kernel.h"
#include "cpu/vector/blas.h"
#include "cpu/vector/move.h"
#include "ir/interp_gemm.h"

enum { BLOCK_ROWS = 256, BLOCK_COLS = 512 };

typedef struct conv_state {
    int rank; /* spatial dims */
    int64_t in[VIEW_MAX], kernel[VIEW_MAX], out[VIEW_MAX], stride[VIEW_MAX], low[VIEW_MAX], in_dilation[VIEW_MAX],
        kernel_dilation[VIEW_MAX];
    bool reversed[VIEW_MAX];
    int64_t batch, in_channels, group_channels, out_channels, feature_groups, batch_groups;
    int64_t n_in, n_kernel, n_out; /* places in each space */
    int64_t columns; /* output places of one block */
    xt_dtype type, compute, result;
    size_t elem; /* of compute */
    bool move[3]; /* whether sides and result have to be brought into order */
    cpu_move moves[3];
    size_t moved_at[2], wide_at[2], sums_at, narrow_at, block_at, block_bytes;
    const blas_api *blas;
    blas_type kind;
} conv_state;
typedef struct conv_run {
    const conv_state *s;
    const char *lhs, *rhs;
    char *sums, *blocks;
} conv_run;

/* Input index in dim d under kernel place k of output place o; false in padding and holes. */
static bool place_in(const conv_state *s, int d, int64_t o, int64_t k, int64_t *out) {
    int64_t at = s->reversed[d] ? s->kernel[d] - 1 - k : k,
            p = o * s->stride[d] + at * s->kernel_dilation[d] - s->low[d];
    if (p < 0 || (s->in_dilation[d] != 1 && p % s->in_dilation[d])) return false;
    *out = p / s->in_dilation[d];
    return *out < s->in[d];
}

#define LINE(T)                                                             \
    for (int64_t i = 0, p = first; i < n; i++, p += step) {                 \
        int64_t q = dil == 1 ? p : p / dil;                                 \
        bool inside = p >= 0 && q < s->in[d] && (dil == 1 || p % dil == 0); \
        ((T *)dst)[i] = inside ? ((const T *)x)[q] : zero_##T;              \
    }                                                                       \
    return
typedef struct pair {
    uint64_t part[2];
} pair;
/* n places of the last spatial dim from `o` on, under kernel place k, of the row `x`. */
static void line(const conv_state *s, const char *x, int64_t o, int64_t n, int64_t k, char *dst) {
    static const uint32_t zero_uint32_t = 0;
    static const uint64_t zero_uint64_t = 0;
    static const pair zero_pair = {{0}};
    int d = s->rank - 1;
    int64_t step = s->stride[d], dil = s->in_dilation[d],
            first = o * step + (s->reversed[d] ? s->kernel[d] - 1 - k : k) * s->kernel_dilation[d] - s->low[d];
    if (step == 1 && dil == 1 && first >= 0 && first + n <= s->in[d]) {
        memcpy(dst, x + (size_t)first * s->elem, (size_t)n * s->elem);
        return;
    }
    switch (s->elem) {
    case 4: LINE(uint32_t);
    case 8: LINE(uint64_t);
    default: LINE(pair);
    }
}

/* One row of the matrix: what kernel place `place` sees of channel `x` at output places [at, at + n). */
static void row_of(const conv_state *s, const char *x, const int64_t *place, int64_t at, int64_t n, char *dst) {
    if (s->rank == 0) {
        memcpy(dst, x, s->elem);
        return;
    }
    int last = s->rank - 1;
    int64_t width = s->out[last];
    while (n > 0) {
        int64_t col = at % width, rest = at / width, run = width - col < n ? width - col : n, base = 0,
                step = s->in[last], p = 0;
        bool inside = true;
        for (int d = last - 1; d >= 0 && inside; d--) {
            inside = place_in(s, d, rest % s->out[d], place[d], &p);
            rest /= s->out[d];
            base += p * step;
            step *= s->in[d];
        }
        if (inside)
            line(s, x + (size_t)base * s->elem, col, run, place[last], dst);
        else
            memset(dst, 0, (size_t)run * s->elem);
        dst += (size_t)run * s->elem;
        at += run;
        n -= run;
    }
}

/* sums[outs, cols] += kernel[outs, rows] x block[rows, cols]. */
static void multiply(const conv_state *s, int64_t outs, int64_t cols, int64_t rows, const char *kernel, int64_t depth,
                     const char *block, char *sums) {
    if (!s->blas) {
        gemm(s->compute, outs, cols, rows, kernel, depth, block, cols, sums, s->n_out);
        return;
    }
    blas_int m = (blas_int)cols, n = (blas_int)outs, k = (blas_int)rows, ldk = (blas_int)depth,
             ldc = (blas_int)s->n_out;
    const void *one = blas_number(s->kind, true);
    s->blas->gemm[s->kind]("N", "N", &m, &n, &k, one, block, &m, kernel, &ldk, one, sums, &ldc);
}

static void conv_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const conv_run *r = ctx;
    const conv_state *s = r->s;
    char *block = r->blocks + (size_t)thread * s->block_bytes;
    int64_t groups = s->feature_groups * s->batch_groups, images = s->batch / s->batch_groups,
            outs = s->out_channels / groups;
    int64_t depth = s->group_channels * s->n_kernel, tiles = (s->n_out + s->columns - 1) / s->columns;
    for (int64_t t = begin; t < end; t++) {
        int64_t b = t / (tiles * groups), g = t / tiles % groups, col = t % tiles * s->columns,
                cols = s->n_out - col < s->columns ? s->n_out - col : s->columns;
        int64_t image = s->batch_groups > 1 ? g * images + b : b,
                channel = s->feature_groups > 1 ? g * s->group_channels : 0, place[VIEW_MAX] = {0};
        const char *x = r->lhs + (size_t)((image * s->in_channels + channel) * s->n_in) * s->elem;
        const char *kernel = r->rhs + (size_t)(g * outs * depth) * s->elem;
        char *sums = r->sums + (size_t)((b * s->out_channels + g * outs) * s->n_out + col) * s->elem;
        for (int64_t o = 0; o < outs; o++) memset(sums + (size_t)(o * s->n_out) * s->elem, 0, (size_t)cols * s->elem);
        for (int64_t row = 0; row < depth; row += BLOCK_ROWS) {
            int64_t rows = depth - row < BLOCK_ROWS ? depth - row : BLOCK_ROWS;
            for (int64_t i = 0; i < rows; i++) {
                row_of(s, x, place, col, cols, block + (size_t)(i * cols) * s->elem);
                int d = s->rank - 1;
                for (; d >= 0; d--) {
                    if (++place[d] < s->kernel[d]) break;
                    place[d] = 0;
                }
                if (d < 0) x += (size_t)s->n_in * s->elem;
            }
            multiply(s, outs, cols, rows, kernel + (size_t)row * s->elem, depth, block, sums);
        }
    }
}

static xt_status conv_run_op(const cpu_call *c) {
    const conv_state *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    char *scratch = c->scratch;
    const char *side[2];
    for (int i = 0; i < 2; i++) {
        side[i] = c->in[i];
        if (s->move[i]) {
            cpu_move_run(team, &s->moves[i], scratch + s->moved_at[i], side[i]);
            side[i] = scratch + s->moved_at[i];
        }
        side[i] = cpu_converted(team, s->type, side[i], s->compute, scratch + s->wide_at[i],
                                c->thunk->op->in[i]->type->count);
    }
    bool direct = !s->move[2] && s->result == s->compute;
    conv_run r = {s, side[0], side[1], direct ? c->out[0] : scratch + s->sums_at, scratch + s->block_at};
    int64_t tiles = (s->n_out + s->columns - 1) / s->columns;
    team_for_alone(team, &blas_library, s->batch / s->batch_groups * s->feature_groups * s->batch_groups * tiles, 1,
                   conv_chunk, &r);
    if (direct) return NULL;
    int64_t count = c->thunk->op->out[0].type->count;
    const char *narrow =
        cpu_converted(team, s->compute, r.sums, s->result, s->move[2] ? scratch + s->narrow_at : c->out[0], count);
    if (s->move[2]) cpu_move_run(team, &s->moves[2], c->out[0], narrow);
    return NULL;
}
static const cpu_kernel conv_kernel = {"convolution-any", conv_run_op, NULL, false};

/* --- lowering --- */
/* dims in the order first, second, spatial; false when they lie so already. */
static bool order(const ir_op *op, const ir_type *t, ir_attr_key first, ir_attr_key second, ir_attr_key spatial,
                  bool back, cpu_move *out, int64_t *dims) {
    size_t n;
    const int64_t *s = ir_get_ints(op, spatial, &n);
    view given, moved = {0}, dense = {0};
    int64_t perm[VIEW_MAX], step = 1;
    view_dense(t, &given);
    perm[0] = ir_get_int(op, first, 0);
    perm[1] = ir_get_int(op, second, 1);
    for (size_t d = 0; d < n; d++) perm[2 + d] = s[d];
    bool same = true;
    moved.n = dense.n = given.n;
    for (int d = given.n - 1; d >= 0; d--) {
        dims[d] = moved.dims[d] = dense.dims[d] = given.dims[perm[d]];
        moved.strides[d] = given.strides[perm[d]];
        dense.strides[d] = step;
        same = same && (dims[d] == 1 || moved.strides[d] == step);
        step *= dims[d];
    }
    return !same &&
           (back ? cpu_move_make(&moved, &dense, t->dtype, out) : cpu_move_make(&dense, &moved, t->dtype, out));
}

static int64_t int_or(const ir_op *op, ir_attr_key k, int i, int64_t fallback) {
    size_t n;
    const int64_t *v = ir_get_ints(op, k, &n);
    return v && (size_t)i < n ? v[i] : fallback;
}

static void read_shapes(const ir_op *op, conv_state *s) {
    int64_t lhs[VIEW_MAX], rhs[VIEW_MAX], out[VIEW_MAX];
    s->move[0] = order(op, op->in[0]->type, IR_A_input_batch_dimension, IR_A_input_feature_dimension,
                       IR_A_input_spatial_dimensions, false, &s->moves[0], lhs);
    s->move[1] = order(op, op->in[1]->type, IR_A_kernel_output_feature_dimension, IR_A_kernel_input_feature_dimension,
                       IR_A_kernel_spatial_dimensions, false, &s->moves[1], rhs);
    s->move[2] = order(op, op->out[0].type, IR_A_output_batch_dimension, IR_A_output_feature_dimension,
                       IR_A_output_spatial_dimensions, true, &s->moves[2], out);
    s->rank = (int)op->in[0]->type->rank - 2;
    s->n_in = s->n_kernel = s->n_out = 1;
    for (int d = 0; d < s->rank; d++) {
        s->n_in *= s->in[d] = lhs[2 + d];
        s->n_kernel *= s->kernel[d] = rhs[2 + d];
        s->n_out *= s->out[d] = out[2 + d];
        s->stride[d] = int_or(op, IR_A_window_strides, d, 1);
        s->low[d] = int_or(op, IR_A_padding, 2 * d, 0);
        s->in_dilation[d] = int_or(op, IR_A_lhs_dilation, d, 1);
        s->kernel_dilation[d] = int_or(op, IR_A_rhs_dilation, d, 1);
        s->reversed[d] = int_or(op, IR_A_window_reversal, d, 0) != 0;
    }
    s->batch = lhs[0], s->in_channels = lhs[1];
    s->out_channels = rhs[0], s->group_channels = rhs[1];
    s->feature_groups = ir_get_int(op, IR_A_feature_group_count, 1);
    s->batch_groups = ir_get_int(op, IR_A_batch_group_count, 1);
}

static size_t take(size_t *all, size_t bytes) {
    size_t at = *all;
    *all += (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    return at;
}

/* Blocks that leave each of some threads something to do, of a size that the second-level cache holds. Shapes alone say
 * how wide they are: OpenBLAS has other kernels at the edges of a block, with other bits. */
static int64_t columns_of(const conv_state *s) {
    enum { BLOCKS = 16 };
    int64_t tasks = s->batch * s->feature_groups, want = (BLOCKS + tasks - 1) / tasks,
            columns = (s->n_out + want - 1) / want;
    if (columns < 32) columns = 32;
    if (columns > BLOCK_COLS) columns = BLOCK_COLS;
    return columns < s->n_out ? columns : s->n_out;
}

CPU_LOWER(conv_any) {
    const ir_type *l = op->in[0]->type, *r = op->in[1]->type, *out = op->out[0].type;
    size_t scratch = 0;
    if (l->rank > VIEW_MAX || l->count <= 0 || r->count <= 0 || out->count <= 0 || l->dtype != r->dtype) return NULL;
    conv_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    read_shapes(op, s);
    s->type = l->dtype;
    s->result = out->dtype;
    s->compute = gemm_dtype(l->dtype, r->dtype, out->dtype);
    s->elem = xt_dtype_size(s->compute);
    bool small = s->n_out < INT32_MAX && s->group_channels * s->n_kernel < INT32_MAX;
    if (small && blas_type_of(s->compute, &s->kind)) s->blas = blas_get();
    s->columns = columns_of(s);
    for (int i = 0; i < 2; i++) {
        const ir_type *t = op->in[i]->type;
        if (s->move[i]) s->moved_at[i] = take(&scratch, ir_type_bytes(t));
        if (s->type != s->compute) s->wide_at[i] = take(&scratch, (size_t)t->count * s->elem);
    }
    if (s->move[2] || s->result != s->compute) s->sums_at = take(&scratch, (size_t)out->count * s->elem);
    if (s->move[2] && s->result != s->compute) s->narrow_at = take(&scratch, ir_type_bytes(out));
    s->block_bytes = (size_t)BLOCK_ROWS * (size_t)s->columns * s->elem;
    s->block_bytes = (s->block_bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    s->block_at = take(&scratch, s->block_bytes * (size_t)cpu_build_threads(b));
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &conv_kernel,
                        .op = op,
                        .n_in = 2,
                        .n_out = 1,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
