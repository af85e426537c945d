/* scatter by any region on scalars and of any number of operands: what kernel/index.c has no loop for. Updates are
 * folded in one after the other, in the order of the update array's slices; those that go to different places wait and
 * run as one row (region_rows.h). Threads divide the operand, each looks at all updates and takes those that are its
 * own, so every place sees its updates in order. */
#include "cpu/kernel/index.h"
#include "cpu/kernel/kernel.h"
#include "cpu/kernel/region_rows.h"

typedef struct scatter_state {
    region_rows region;
    slices s;
    size_t n, elem[FOLD_MOST];
    int64_t elements; /* of an operand */
} scatter_state;
typedef struct scatter_piece {
    const scatter_state *s;
    const cpu_call *call;
    rows_fold *fold;
    int64_t low, high;
} scatter_piece;

static void put(const scatter_piece *p, int64_t to, int64_t from) {
    const scatter_state *s = p->s;
    const char *src[FOLD_MOST];
    if (to < p->low || to >= p->high) return;
    for (size_t j = 0; j < s->n; j++) src[j] = (const char *)p->call->in[s->n + 1 + j] + (size_t)from * s->elem[j];
    rows_fold_put(p->fold, to, src);
}

static void put_slices(void *ctx, const run_of_slices *r) {
    const scatter_piece *p = ctx;
    const view *d = &p->s->s.window.dst, *u = &p->s->s.window.src;
    for (int64_t j = 0; j < r->n; j++) {
        int64_t at[VIEW_MAX] = {0}, i;
        if (r->operand[j] < 0) continue;
        do {
            int64_t to = r->operand[j] + d->offset, from = r->array + j * r->step + u->offset;
            for (int k = 0; k < d->n; k++) to += at[k] * d->strides[k], from += at[k] * u->strides[k];
            put(p, to, from);
            for (i = d->n - 1; i >= 0; i--) {
                if (++at[i] < d->dims[i]) break;
                at[i] = 0;
            }
        } while (i >= 0);
    }
}

static void piece_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    scatter_piece *pieces = ctx;
    for (int64_t k = begin; k < end; k++) {
        const scatter_state *s = pieces[k].s;
        slices_walk(&s->s, pieces[k].call->in[s->n], false, -1, 0, s->s.count, put_slices, &pieces[k]);
        rows_fold_flush(pieces[k].fold);
    }
}

static xt_status scatter_run(const cpu_call *c) {
    const scatter_state *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    char *dst[FOLD_MOST];
    for (size_t j = 0; j < s->n; j++) {
        dst[j] = c->out[j];
        if (c->out[j] != c->in[j]) cpu_copy_run(team, c->out[j], c->in[j], (size_t)s->elements * s->elem[j]);
    }
    if (!s->s.has_window || s->s.count == 0) return NULL;
    int64_t pieces = s->s.count * view_count(&s->s.window.dst) < 8192 ? 1 : team->threads;
    scatter_piece *p = base_calloc((size_t)pieces, sizeof *p);
    if (!p) return status_oom(sizeof *p, "a scatter");
    xt_status st = NULL;
    for (int64_t k = 0; k < pieces && !st; k++) {
        p[k] = (scatter_piece){s, c, NULL, s->elements / pieces * k,
                               k + 1 == pieces ? s->elements : s->elements / pieces * (k + 1)};
        st = rows_fold_new(&s->region, c, s->n, s->elem, dst, &p[k].fold);
    }
    if (!st) team_for(team, pieces, 1, piece_chunk, p);
    for (int64_t k = 0; k < pieces; k++) rows_fold_free(p[k].fold);
    base_free(p);
    return st;
}
static const cpu_kernel scatter_kernel = {"scatter-any", scatter_run, region_state_free, true};

CPU_LOWER(scatter_any) {
    size_t n = op->n_out;
    if (n == 0 || n > FOLD_MOST || op->n_in != 2 * n + 1) return NULL;
    for (size_t j = 0; j < n; j++)
        if (op->in[j]->type->dtype != op->out[j].type->dtype ||
            op->in[n + 1 + j]->type->dtype != op->out[j].type->dtype)
            return NULL;
    scatter_state *s = base_calloc(1, sizeof *s);
    captured outside = {0};
    bool ok = false;
    if (!s) return status_oom(sizeof *s, "a plan");
    xt_status st = captured_collect(op, &outside) ? NULL : status_oom(0, "a plan");
    if (!st) st = region_rows_make(cpu_build_module(b), op->regions[0].block, &outside, op->n_in, &s->region, &ok);
    base_free(outside.values);
    if (st || !ok || !slices_of_scatter(op, &s->s)) {
        region_state_free(s);
        return st;
    }
    uint64_t in_place[FOLD_MOST];
    s->n = n;
    s->elements = op->in[0]->type->count;
    for (size_t j = 0; j < n; j++) {
        s->elem[j] = xt_dtype_size(op->out[j].type->dtype);
        in_place[j] = UINT64_C(1) << j;
    }
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &scatter_kernel,
                        .op = op,
                        .n_out = op->n_out,
                        .in_place = in_place,
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return region_rows_thunk(b, &s->region, &d);
}
