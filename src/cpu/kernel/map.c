/* map: its computation on rows of the operands. */
#include "cpu/kernel/kernel.h"
#include "cpu/kernel/region_rows.h"

enum { MAP_MOST = 16 };
typedef struct map_state {
    region_rows region;
    uint32_t n;
    size_t elem[MAP_MOST], out_elem;
    int64_t count;
} map_state;
typedef struct map_run {
    const map_state *s;
    const cpu_call *call;
    rows_eval *evals; /* per thread */
} map_run;

static void map_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const map_run *r = ctx;
    const map_state *s = r->s;
    for (int64_t at = begin; at < end; at += ROWS_MOST) {
        int64_t n = end - at < ROWS_MOST ? end - at : ROWS_MOST;
        void *args[MAP_MOST], *result = (char *)r->call->out[0] + (size_t)at * s->out_elem;
        for (uint32_t j = 0; j < s->n; j++) args[j] = (char *)r->call->in[j] + (size_t)at * s->elem[j];
        rows_eval_run(&r->evals[thread], n, args, &result);
    }
}

static xt_status map_run_op(const cpu_call *c) {
    const map_state *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    rows_eval *evals;
    XT_TRY(rows_evals_new(&s->region, c, &evals));
    map_run r = {s, c, evals};
    team_for(team, s->count, 8 * ROWS_MOST, map_chunk, &r);
    rows_evals_free(evals, c);
    return NULL;
}
static const cpu_kernel map_kernel = {"map", map_run_op, region_state_free, true};

CPU_LOWER(map) {
    if (op->n_in > MAP_MOST || op->n_out != 1 || op->out[0].type->count <= 0) return NULL;
    map_state *s = base_calloc(1, sizeof *s);
    captured outside = {0};
    bool ok = false;
    if (!s) return status_oom(sizeof *s, "a plan");
    xt_status st = captured_collect(op, &outside) ? region_rows_make(cpu_build_module(b), op->regions[0].block,
                                                                     &outside, op->n_in, &s->region, &ok)
                                                  : status_oom(0, "a plan");
    base_free(outside.values);
    s->n = op->n_in;
    s->count = op->out[0].type->count;
    s->out_elem = xt_dtype_size(op->out[0].type->dtype);
    for (uint32_t j = 0; j < op->n_in; j++) s->elem[j] = xt_dtype_size(op->in[j]->type->dtype);
    if (st || !ok) {
        region_state_free(s);
        return st;
    }
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &map_kernel, .op = op, .n_out = 1, .state = s, .flops = cpu_op_flops(op)};
    return region_rows_thunk(b, &s->region, &d);
}
