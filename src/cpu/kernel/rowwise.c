/* Runs the calls that the stage rowwise makes (plan/rowwise.h): threads take blocks of rows, each computed by the
 * block's program in memory of the thread's own. Operands and results are read and written where they lie. */
#include "cpu/kernel/kernel.h"
#include "cpu/plan/rowwise.h"

enum { WHOLE, REST, FORMS };
typedef struct rowwise_state {
    cpu_exec *subs[FORMS]; /* of a block, and of the last rows; NULL: the blocks divide the rows */
    int64_t rows, block;
    size_t *steps; /* bytes from a row to the next, of operands, then of results; 0: the same for all */
    size_t arena_bytes, thread_bytes; /* of a thread: the block's arrays, then places */
    uint64_t *in_place; /* per result: operands whose memory it may take over, the block's program allowing it */
    uint32_t n_in, n_out;
} rowwise_state;

static void rowwise_free(void *state) {
    rowwise_state *s = state;
    for (int i = 0; i < FORMS; i++) cpu_exec_free(s->subs[i]);
    base_free(s->steps);
    base_free(s->in_place);
    base_free(s);
}
static size_t rowwise_programs(const void *state, cpu_exec *const **out) {
    const rowwise_state *s = state;
    *out = s->subs;
    return s->subs[REST] ? FORMS : 1;
}

typedef struct rowwise_run {
    const cpu_call *call;
    const rowwise_state *s;
    pthread_mutex_t lock;
    xt_status status;
} rowwise_run;

static const cpu_team alone = {.threads = 1};

static void run_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    rowwise_run *r = ctx;
    const rowwise_state *s = r->s;
    cpu_device d = *r->call->device;
    d.team = alone;
    char *mem = (char *)r->call->scratch + (size_t)thread * s->thread_bytes;
    void **in = (void **)(void *)(mem + s->arena_bytes), **out = in + s->n_in, **at = out + s->n_out;
    for (int64_t k = begin; k < end; k++) {
        size_t row = (size_t)(k * s->block);
        bool rest = s->rows - k * s->block < s->block;
        for (uint32_t i = 0; i < s->n_in; i++) in[i] = (char *)r->call->in[i] + row * s->steps[i];
        for (uint32_t i = 0; i < s->n_out; i++) out[i] = (char *)r->call->out[i] + row * s->steps[s->n_in + i];
        xt_status st = cpu_run_sub(s->subs[rest ? REST : WHOLE], &d, in, out, mem, at);
        if (!st) continue;
        pthread_mutex_lock(&r->lock);
        if (r->status)
            xt_status_free(st);
        else
            r->status = st;
        pthread_mutex_unlock(&r->lock);
    }
}

static xt_status rowwise_run_op(const cpu_call *c) {
    const rowwise_state *s = c->thunk->state;
    rowwise_run r = {.call = c, .s = s};
    pthread_mutex_init(&r.lock, NULL);
    team_for(&c->device->team, (s->rows + s->block - 1) / s->block, 1, run_blocks, &r);
    pthread_mutex_destroy(&r.lock);
    return r.status;
}
static const cpu_kernel rowwise_kernel = {"row-blocks", rowwise_run_op, rowwise_free, .anywhere = true,
                                          .programs = rowwise_programs};

/* What the call says: the functions; false: it is none of the stage's. */
static bool functions_of(const cpu_builder *b, const ir_op *op, const ir_func *out[FORMS]) {
    const char *target = ir_get_string(op, IR_A_call_target_name);
    const ir_attr *called = ir_attr_find(op, IR_A_called_computations);
    if (!target || strcmp(target, ROWWISE_TARGET) != 0 || !called || called->kind != IR_AK_ARRAY || called->n < 1 ||
        called->n > FORMS)
        return false;
    for (size_t i = 0; i < called->n; i++) {
        const ir_attr *name = &called->v.list[i];
        out[i] = name->kind == IR_AK_SYMBOL ? ir_func_find(cpu_build_module(b), name->v.s) : NULL;
        if (!out[i] || !out[i]->body || out[i]->body->n_args != op->n_in || out[i]->n_results != op->n_out)
            return false;
    }
    return op->n_out > 0 && out[WHOLE]->result_types[0]->rank == 2;
}

/* Rows in all, by an operand or result of the block's type `part`; 0: it is no such thing. */
static int64_t rows_of(const ir_type *part, const ir_type *whole) {
    int64_t row = part->rank == 2 ? part->dims[1] : 0;
    return row > 0 && whole->count % row == 0 && whole->dtype == part->dtype ? whole->count / row : 0;
}

static xt_status lay_out(cpu_builder *b, const ir_op *op, const ir_func *const f[FORMS], rowwise_state *s) {
    size_t slots = 0;
    s->steps = base_calloc(op->n_in + op->n_out, sizeof *s->steps);
    if (!s->steps) return status_oom(0, "a plan");
    s->block = f[WHOLE]->result_types[0]->dims[0];
    s->rows = rows_of(f[WHOLE]->result_types[0], op->out[0].type);
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const ir_type *part = i < op->n_in ? f[WHOLE]->body->args[i]->type : f[WHOLE]->result_types[i - op->n_in],
                      *whole = i < op->n_in ? op->in[i]->type : op->out[i - op->n_in].type;
        bool same = part->rank < 2 && part->count == whole->count;
        if (!same && (rows_of(part, whole) != s->rows || part->dims[0] != s->block))
            return status_new(XT_INTERNAL, NULL, "operand or result %u of @" ROWWISE_TARGET " has other rows", i);
        if (!same) s->steps[i] = (size_t)part->dims[1] * xt_dtype_size(part->dtype);
    }
    for (int k = 0; k < FORMS; k++) {
        if (!f[k]) continue;
        XT_TRY(cpu_sub_make(b, f[k]->body, 0, NULL, 0, true, &s->subs[k]));
        if (s->subs[k]->plan.arena_bytes > s->arena_bytes) s->arena_bytes = s->subs[k]->plan.arena_bytes;
        if (cpu_sub_slots(s->subs[k]) > slots) slots = cpu_sub_slots(s->subs[k]);
    }
    s->arena_bytes = (s->arena_bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    s->thread_bytes = s->arena_bytes + (s->n_in + s->n_out + slots) * sizeof(void *);
    s->thread_bytes = (s->thread_bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    return NULL;
}

static uint32_t memory_of(const cpu_plan *p, uint32_t slot) {
    while (p->slots[slot].same_as != CPU_NONE) slot = p->slots[slot].same_as;
    return slot;
}

/* Result `out` of a block may lie where argument `in` does: its memory, which temporaries may use before, is written
 * when that has been read, or by the thunk that reads it last, where this may write over it. */
static bool may_write_over(const cpu_plan *p, uint32_t in, uint32_t out) {
    const cpu_slot *arg = NULL;
    uint32_t memory = memory_of(p, p->out_slots[out]), first = CPU_NONE;
    for (size_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *s = &p->slots[i];
        if (s->kind == CPU_SLOT_ARG && s->index == in) arg = s;
        if (memory_of(p, (uint32_t)i) != memory) continue;
        if (s->kind == CPU_SLOT_ARG || s->kind == CPU_SLOT_CONST) return false;
        if (s->first < first) first = s->first;
    }
    if (!arg || arg->first > arg->last || first == CPU_NONE) return false;
    if (first != arg->last) return first > arg->last;
    const cpu_thunk *t = &p->thunks[first];
    uint64_t allowed = UINT64_MAX;
    for (uint32_t k = 0; k < t->n_out; k++)
        if (memory_of(p, t->out[k].slot) == memory) allowed &= t->in_place[k];
    for (uint32_t k = 0; k < t->n_in; k++)
        if (&p->slots[t->in[k].slot] == arg && (k >= 64 || !(allowed >> k & 1))) return false;
    return true;
}

static xt_status find_in_place(const cpu_exec *const *subs, rowwise_state *s) {
    s->in_place = base_calloc(s->n_out + 1, sizeof *s->in_place);
    if (!s->in_place) return status_oom(0, "a plan");
    for (uint32_t i = 0; i < s->n_in && i < 64; i++)
        for (uint32_t k = 0; k < s->n_out; k++) {
            bool may = s->steps[i] && s->steps[i] == s->steps[s->n_in + k];
            for (int f = 0; f < FORMS && may; f++) may = !subs[f] || may_write_over(&subs[f]->plan, i, k);
            if (may) s->in_place[k] |= (uint64_t)1 << i;
        }
    return NULL;
}

CPU_LOWER(rowwise) {
    const ir_func *f[FORMS] = {NULL};
    if (!functions_of(b, op, f)) return NULL;
    rowwise_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    s->n_in = op->n_in;
    s->n_out = op->n_out;
    xt_status st = lay_out(b, op, f, s);
    if (!st) st = find_in_place((const cpu_exec *const *)s->subs, s);
    if (st) {
        rowwise_free(s);
        return st;
    }
    cpu_thunk_desc d = {.kernel = &rowwise_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = op->n_out,
                        .in_place = s->in_place,
                        .scratch_bytes = s->thread_bytes * (size_t)cpu_build_threads(b),
                        .state = s};
    for (int k = 0; k < FORMS; k++) {
        double functions = 0, times = k == WHOLE
        ? (double)(s->rows / s->block) : 1;
        if (!f[k]) continue;
        d.flops += times * cpu_block_flops(f[k]->body, &functions);
        d.transcendentals += times * functions;
    }
    *out_done = true;
    return cpu_build_thunk(b, &d);
}
