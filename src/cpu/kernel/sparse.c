/* The calls that the stage sparse makes: sums of gathered rows, and products of two of them (vector/sparse.h). */
#include "cpu/vector/sparse.h"
#include "cpu/kernel/kernel.h"

typedef struct sparse_state {
    sparse_plan plan;
    int begin, weight, mask; /* operands; -1: none */
} sparse_state;

static const char *const targets[] = {"xtrain_sparse_sums", "xtrain_sparse_adds", "xtrain_sparse_dots"};
enum { SUMS, ADDS, DOTS, TARGETS };

static const void *operand(const cpu_call *c, int i) {
    return i < 0 ? NULL : c->in[i];
}
static sparse_arrays arrays_of(const cpu_call *c) {
    const sparse_state *s = c->thunk->state;
    return (sparse_arrays){.x = c->in[0],
                           .from = c->in[1],
                           .to = c->in[2],
                           .weight = operand(c, s->weight),
                           .mask = operand(c, s->mask),
                           .begin = operand(c, s->begin),
                           .out = c->out[0],
                           .scratch = c->scratch};
}
static xt_status sums_run(const cpu_call *c) {
    const sparse_state *s = c->thunk->state;
    sparse_arrays a = arrays_of(c);
    sparse_sums(&s->plan, &c->device->team, &a);
    return NULL;
}
static xt_status dots_run(const cpu_call *c) {
    const sparse_state *s = c->thunk->state;
    sparse_arrays a = arrays_of(c);
    a.other = c->in[3];
    sparse_dots(&s->plan, &c->device->team, &a);
    return NULL;
}
static const cpu_kernel sums_kernel = {"sparse-sums", sums_run, .anywhere = true},
                        dots_kernel = {"sparse-dots", dots_run, .anywhere = true};

static bool rows_of(const ir_type *places, int64_t rows, sparse_rows *out) {
    *out = (sparse_rows){places->dtype == XT_I64, rows};
    return (places->dtype == XT_I64 || places->dtype == XT_I32) && rows > 0;
}

/* What the stage makes, and nothing else under its names: sums of (x, from, to, weights?, mask?), adds of
 * (x, from, to, begin, weights?, mask?), dots of (a, from, to, b, mask?). */
static bool plan_of(const ir_op *op, int target, sparse_state *s) {
    bool dots = target == DOTS;
    const ir_type *x = op->in[0]->type, *out = op->out[0].type;
    sparse_plan *p = &s->plan;
    s->weight = s->mask = -1;
    s->begin = target == ADDS ? 3 : -1;
    if (s->begin >= 0 && op->in[3]->type != op->out[0].type) return false;
    if (x->rank < 1 || out->rank < 1 || x->count < 1 || op->in[1]->type->count < 1) return false;
    int64_t row = x->count / x->dims[0], groups = 1;
    p->kind = x->dtype == XT_F32 ? SPARSE_F32 : x->dtype == XT_F64 ? SPARSE_F64 : SPARSE_BF16;
    p->edges = op->in[1]->type->count;
    if ((p->kind == SPARSE_BF16 && x->dtype != XT_BF16) || p->edges > INT32_MAX || out->dtype != x->dtype) return false;
    for (uint32_t i = target == SUMS ? 3 : 4; i < op->n_in; i++) {
        bool mask = op->in[i]->type->dtype == XT_BOOL;
        *(mask ? &s->mask : &s->weight) = (int)i;
        if (!mask) groups = op->in[i]->type->count / p->edges;
    }
    if (dots) groups = out->count / p->edges;
    p->groups = groups;
    p->width = row / (groups ? groups : 1);
    if (groups < 1 || p->width * groups != row || op->in[2]->type->count != p->edges) return false;
    return rows_of(op->in[1]->type, x->dims[0], &p->from) &&
           rows_of(op->in[2]->type, dots ? op->in[3]->type->dims[0] : out->dims[0], &p->to);
}

CPU_LOWER(sparse) {
    const char *name = ir_get_string(op, IR_A_call_target_name);
    int target = SUMS;
    sparse_state p;
    while (name && target < TARGETS && strcmp(name, targets[target]) != 0) target++;
    if (!name || target == TARGETS || op->n_in < (target == SUMS ? 3 : 4) || op->n_in > 6 || op->n_out != 1 ||
        !plan_of(op, target, &p))
        return NULL;
    const bool dots = target == DOTS;
    const uint64_t in_place = UINT64_C(1) << 3;
    sparse_begin(&p.plan, NULL, cpu_build_threads(b));
    sparse_state *s = base_malloc(sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = p;
    double rows = (double)p.plan.edges * (double)(p.plan.groups * p.plan.width);
    cpu_thunk_desc d = {.kernel = dots ? &dots_kernel : &sums_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = 1,
                        .in_place = target == ADDS ? &in_place : NULL,
                        .state = s,
                        .scratch_bytes = p.plan.scratch_bytes,
                        .flops = 2 * rows,
                        .bytes = (dots ? 2 : 1) * rows * (double)xt_dtype_size(op->out[0].type->dtype) +
                                 (double)ir_type_bytes(op->out[0].type)};
    *out_done = true;
    return cpu_build_thunk(b, &d);
}
