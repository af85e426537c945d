/* The calls that the stage narrow makes: f32 rows times a matrix of bf16, f16 or grouped integers, or times a batch of
 * such matrices of floats. */
#include "cpu/kernel/kernel.h"
#include "cpu/vector/grouped.h"

enum { MOST_ROWS = 32 }; /* of x, that are summed in f32 with the narrow numbers as they come */

static xt_status run(const cpu_call *c) {
    const narrow_product *p = c->thunk->state;
    narrow_run(p, &c->device->team, c->in[0], c->in[1], c->thunk->op->n_in > 2 ? c->in[2] : NULL, c->out[0],
               c->scratch);
    return NULL;
}
static const cpu_kernel narrow_kernel = {"narrow-product", run, .anywhere = true};

static xt_status run_grouped(const cpu_call *c) {
    grouped_run(c->thunk->state, &c->device->team, c->in[0], c->in[1], c->in[2], c->out[0], c->scratch);
    return NULL;
}
static const cpu_kernel grouped_kernel = {"grouped-product", run_grouped, .anywhere = true};

static bool is_half(xt_dtype d) {
    return d == XT_BF16 || d == XT_F16;
}

/* x [batch,m,depth] and matrices [batch,rows,depth], or across [batch,depth,rows]. */
static bool sizes_of_batch(const ir_op *op, bool across, narrow_product *p) {
    const ir_type *x = op->in[0]->type, *w = op->in[1]->type, *out = op->out[0].type;
    if (x->rank != 3 || w->rank != 3 || out->rank != 3 || op->n_in != 2 || !is_half(w->dtype)) return false;
    *p = (narrow_product){.kind = w->dtype == XT_BF16 ? NARROW_BF16 : NARROW_F16,
                          .across = across,
                          .batch = x->dims[0],
                          .m = x->dims[1],
                          .depth = x->dims[2],
                          .rows = out->dims[2]};
    return p->batch == w->dims[0] && p->depth == w->dims[across ? 1 : 2] && p->rows == w->dims[across ? 2 : 1] &&
           out->dims[0] == p->batch && out->dims[1] == p->m && x->count > 0 && w->count > 0;
}

/* x [...,depth], the matrix, and of integers the factors [rows,groups]: what the stage makes, and nothing else under
 * its name. */
static bool sizes_of(const ir_op *op, narrow_product *p) {
    const ir_type *x = op->in[0]->type, *w = op->in[1]->type, *out = op->out[0].type;
    if (x->rank < 1 || out->rank != x->rank || w->rank < 2) return false;
    p->depth = x->dims[x->rank - 1], p->rows = out->dims[out->rank - 1];
    if (p->depth < 1 || p->rows < 1 || x->count < p->depth) return false;
    p->m = x->count / p->depth;
    p->batch = 1;
    if (op->n_in == 2) {
        p->kind = w->dtype == XT_BF16 ? NARROW_BF16 : NARROW_F16;
        return is_half(w->dtype) && w->count == p->rows * p->depth;
    }
    const ir_type *f = op->in[2]->type;
    p->kind = w->dtype == XT_I8 ? NARROW_I8 : NARROW_U4;
    if ((w->dtype != XT_I8 && w->dtype != XT_U8) || f->dtype != XT_F32 || f->count < p->rows) return false;
    if (w->count * (p->kind == NARROW_U4 ? 2 : 1) != p->rows * p->depth || f->count % p->rows) return false;
    int64_t groups = f->count / p->rows;
    p->group = p->depth / groups;
    return groups * p->group == p->depth && p->group % 32 == 0;
}

CPU_LOWER(narrow) {
    const char *target = ir_get_string(op, IR_A_call_target_name);
    narrow_product p = {0};
    if (!target || op->n_in < 2 || op->n_in > 3 || op->n_out != 1 || op->in[0]->type->dtype != XT_F32 ||
        op->out[0].type->dtype != XT_F32)
        return NULL;
    bool across = strcmp(target, "xtrain_narrow_across") == 0;
    if (across || strcmp(target, "xtrain_narrow_batch") == 0) {
        if (!sizes_of_batch(op, across, &p)) return NULL;
    } else if (strcmp(target, "xtrain_narrow_product") != 0 || !sizes_of(op, &p)) {
        return NULL;
    }
    union {
        narrow_product narrow;
        grouped_product grouped;
    } *s = base_malloc(sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    bool whole = p.m > MOST_ROWS && op->n_in == 3 && grouped_fits(p.kind, p.group) && grouped_set_here();
    if (whole) {
        s->grouped = (grouped_product){.kind = p.kind, .m = p.m, .rows = p.rows, .depth = p.depth, .group = p.group};
        grouped_plan_for(&s->grouped, grouped_set_here(), cpu_build_threads(b));
    } else {
        narrow_plan(&p);
        s->narrow = p;
    }
    double in = 0;
    for (uint32_t i = 0; i < op->n_in; i++) in += (double)ir_type_bytes(op->in[i]->type);
    cpu_thunk_desc d = {.kernel = whole ? &grouped_kernel : &narrow_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = 1,
                        .state = s,
                        .scratch_bytes = whole ? s->grouped.scratch_bytes : narrow_scratch(&p),
                        .flops = 2 * (double)p.batch * (double)p.m * (double)p.rows * (double)p.depth,
                        .bytes = in + (double)ir_type_bytes(op->out[0].type)};
    *out_done = true;
    return cpu_build_thunk(b, &d);
}
