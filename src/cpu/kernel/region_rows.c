/* Regions over rows: the choice between vector programs and typed loops, and folds in order. */
#include "cpu/kernel/region_rows.h"

typedef struct lookup {
    const region_rows *of;
    const array *values;
} lookup;
static const array *look_up(void *env, const ir_value *v) {
    const lookup *l = env;
    for (size_t i = 0; i < l->of->outside.n; i++)
        if (l->of->outside.values[i] == v) return &l->values[i];
    return NULL;
}

/* An evaluator whose captured scalars are zeros: whether there can be one at all. */
static xt_status lifts(const region_rows *r, bool *out) {
    static char zeros[ROWS_ELEM];
    array *values = base_calloc(r->outside.n + 1, sizeof *values);
    region_eval *e = NULL;
    if (!values) return status_oom(sizeof *values, "a region");
    for (size_t i = 0; i < r->outside.n; i++) values[i] = (array){r->outside.values[i]->type, zeros};
    lookup l = {r, values};
    interp c = {.m = r->module, .outer = look_up, .env = &l};
    xt_status s = region_eval_new(&c, r->block, 0, NULL, &e);
    *out = !s && region_eval_is_lifted(e);
    region_eval_free(e);
    base_free(values);
    return s;
}

/* A result that is another place's argument: a vector program would write results over arguments it still has to hand
 * out. */
static bool hands_arguments_on(const ir_op *ret) {
    for (uint32_t j = 0; j < ret->n_in; j++)
        if (!ret->in[j]->def && ret->in[j]->index != j) return true;
    return false;
}

static bool scalars_only(const ir_block *b) {
    for (size_t i = 0; i < b->n_args; i++)
        if (b->args[i]->type->kind != IR_TENSOR || b->args[i]->type->rank != 0) return false;
    return true;
}

static vprog_fn one_loop(const ir_block *b, const ir_op *ret) {
    const ir_op *o = b->first;
    if (b->n_args != 2 || ret->n_in != 1 || !o || o->next != ret || ret->in[0] != &o->out[0] || o->n_in != 2)
        return NULL;
    return o->in[0] == b->args[0] && o->in[1] == b->args[1] ? vprog_one_loop(o) : NULL;
}

xt_status region_rows_make(const ir_module *m, const ir_block *block, const captured *outside, uint32_t first_outside,
                           region_rows *out, bool *out_ok) {
    const ir_op *ret = block ? ir_block_return(block) : NULL;
    *out = (region_rows){.module = m, .block = block, .first_outside = first_outside};
    *out_ok = false;
    if (!ret || !scalars_only(block)) return NULL;
    out->n_args = block->n_args;
    out->n_results = ret->n_in;
    for (size_t i = 0; outside && i < outside->n; i++)
        if (!VEC_PUSH(out->outside.values, out->outside.n, out->outside.cap, outside->values[i]))
            return status_oom(0, "a region");
    if (!hands_arguments_on(ret)) XT_TRY(region_vprog_make(block, &out->t));
    if (out->t) out->one = one_loop(block, ret);
    *out_ok = out->t != NULL;
    return out->t ? NULL : lifts(out, out_ok);
}

xt_status region_rows_binary(ir_opcode code, xt_dtype t, region_rows *out) {
    *out = (region_rows){.code = code, .type = t, .n_args = 2, .n_results = 1};
    return region_vprog_binary(code, t, &out->t);
}

void region_rows_deinit(region_rows *r) {
    vprog_free(r->t);
    base_free(r->outside.values);
    r->t = NULL;
    r->outside = (captured){0};
}

void region_state_free(void *state) {
    if (state) region_rows_deinit(state);
    base_free(state);
}

xt_status rows_eval_init(rows_eval *e, const region_rows *of, const cpu_call *call) {
    *e = (rows_eval){.of = of, .call = call, .context = {.m = of->module}};
    if (of->t) {
        e->scratch = base_aligned(CPU_ALIGN, vprog_scratch_bytes(of->t, 1) + CPU_ALIGN);
        return e->scratch ? NULL : status_oom(vprog_scratch_bytes(of->t, 1), "a region");
    }
    if (!of->block) return region_eval_new_binary(&e->context, of->code, of->type, &e->eval);
    e->values = base_calloc(of->outside.n + 1, sizeof *e->values);
    if (!e->values) return status_oom(sizeof *e->values, "a region");
    for (size_t i = 0; i < of->outside.n; i++)
        e->values[i] = (array){of->outside.values[i]->type, call->in[of->first_outside + i]};
    lookup l = {of, e->values};
    e->context.outer = look_up;
    e->context.env = &l; /* only while the evaluator is made: captured scalars become rows then */
    xt_status s = region_eval_new(&e->context, of->block, 0, NULL, &e->eval);
    e->context.outer = NULL;
    e->context.env = NULL;
    return s;
}

void rows_eval_deinit(rows_eval *e) {
    region_eval_free(e->eval);
    base_free(e->values);
    base_free(e->scratch);
    *e = (rows_eval){0};
}

void rows_eval_run(rows_eval *e, int64_t n, void *const *args, void *const *results) {
    if (e->of->one)
        e->of->one(results[0], args[0], args[1], NULL, n);
    else if (e->of->t)
        vprog_run_rows(e->of->t, n, args, results, e->scratch);
    else
        /* lifted: there is nothing to fail */
        xt_status_free(region_eval_run(e->eval, n, (const void *const *)args, results));
}

void rows_evals_free(rows_eval *evals, const cpu_call *call) {
    for (int i = 0; evals && i < call->device->team.threads; i++) rows_eval_deinit(&evals[i]);
    base_free(evals);
}

xt_status rows_evals_new(const region_rows *of, const cpu_call *call, rows_eval **out) {
    int threads = call->device->team.threads;
    rows_eval *e = *out = base_calloc((size_t)threads + 1, sizeof *e);
    xt_status s = e ? NULL : status_oom(sizeof *e, "a region");
    for (int i = 0; i < threads && !s; i++) s = rows_eval_init(&e[i], of, call);
    if (!s) return NULL;
    rows_evals_free(e, call);
    *out = NULL;
    return s;
}

xt_status region_rows_thunk(cpu_builder *b, const region_rows *r, cpu_thunk_desc *d) {
    const ir_op *op = d->op;
    size_t n = r->outside.n;
    const ir_value **in = base_malloc((op->n_in + n + 1) * sizeof *in);
    if (!in) {
        if (d->kernel->free_state) d->kernel->free_state(d->state);
        return status_oom(0, "a plan");
    }
    for (uint32_t i = 0; i < op->n_in; i++) in[i] = op->in[i];
    for (size_t i = 0; i < n; i++) in[op->n_in + i] = r->outside.values[i];
    d->in = in;
    d->n_in = op->n_in + n;
    xt_status s = cpu_build_thunk(b, d);
    base_free(in);
    return s;
}

/* --- folds in order --- */
xt_status rows_fold_new(const region_rows *of, const cpu_call *call, size_t n, const size_t *elem, char *const *dst,
                        rows_fold **out) {
    rows_fold *f = *out = base_calloc(1, sizeof *f);
    if (!f) return status_oom(sizeof *f, "a fold");
    f->n = n;
    f->stamp = 1;
    for (size_t j = 0; j < n; j++) f->elem[j] = elem[j], f->dst[j] = dst[j];
    f->rows = base_aligned(CPU_ALIGN, 2 * n * ROWS_MOST * ROWS_ELEM);
    return f->rows ? rows_eval_init(&f->eval, of, call) : status_oom(2 * n * ROWS_MOST * ROWS_ELEM, "a fold");
}

void rows_fold_free(rows_fold *f) {
    if (!f) return;
    rows_eval_deinit(&f->eval);
    base_free(f->rows);
    base_free(f);
}

static char *row(const rows_fold *f, size_t k) {
    return f->rows + k * ROWS_MOST * ROWS_ELEM;
}

void rows_fold_flush(rows_fold *f) {
    void *args[2 * FOLD_MOST];
    if (f->waiting == 0) return;
    for (size_t j = 0; j < f->n; j++) {
        args[j] = row(f, j);
        args[f->n + j] = row(f, f->n + j);
        for (int64_t i = 0; i < f->waiting; i++)
            memcpy((char *)args[j] + (size_t)i * f->elem[j], f->dst[j] + (size_t)f->at[i] * f->elem[j], f->elem[j]);
    }
    rows_eval_run(&f->eval, f->waiting, args, args);
    for (size_t j = 0; j < f->n; j++)
        for (int64_t i = 0; i < f->waiting; i++)
            memcpy(f->dst[j] + (size_t)f->at[i] * f->elem[j], (char *)args[j] + (size_t)i * f->elem[j], f->elem[j]);
    f->waiting = 0;
    f->stamp++;
}

/* Whether `at` waits; notes it when not. */
static bool is_waiting(rows_fold *f, int64_t at) {
    uint64_t h = (uint64_t)at * UINT64_C(0x9e3779b97f4a7c15) >> 53;
    for (;; h = (h + 1) % FOLD_SLOTS) {
        if (f->stamps[h] != f->stamp) {
            f->stamps[h] = f->stamp;
            f->slots[h] = at;
            return false;
        }
        if (f->slots[h] == at) return true;
    }
}

void rows_fold_put(rows_fold *f, int64_t at, const char *const *src) {
    if (f->waiting == ROWS_MOST) rows_fold_flush(f);
    if (is_waiting(f, at)) {
        rows_fold_flush(f);
        is_waiting(f, at);
    }
    for (size_t j = 0; j < f->n; j++) memcpy(row(f, f->n + j) + (size_t)f->waiting * f->elem[j], src[j], f->elem[j]);
    f->at[f->waiting++] = at;
}
