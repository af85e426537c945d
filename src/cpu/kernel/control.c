/* while, if and case: each region is a program of its own, planned when the op is, and run inside its thunk.
 *
 * A loop's state lies in the thunk's results and, for values that the body cannot write over, in a second place in the
 * scratch memory: an iteration reads one and writes the other. Where the body's plan takes the argument's memory over
 * (it updates a slice, or passes the value on) nothing is copied. Operands that die here are the first state as they
 * are. Regions that call functions or handle tuples run on the interpreter's code. */
#include "cpu/kernel/kernel.h"
#include "cpu/plan/captured.h"
#include "cpu/vector/move.h"

#include <math.h>

typedef struct control_state {
    uint32_t n, n_captured; /* carried values */
    size_t n_subs;
    cpu_exec **subs; /* while: condition, body; if, case: the branches */
    size_t *second; /* per carried value: offset of its second place in the scratch memory, or SIZE_MAX */
    size_t arena_at;
} control_state;

static void control_free(void *state) {
    control_state *s = state;
    for (size_t i = 0; s && i < s->n_subs; i++) cpu_exec_free(s->subs[i]);
    if (s) base_free(s->subs), base_free(s->second);
    base_free(s);
}

static size_t most_slots(const control_state *s) {
    size_t most = 0;
    for (size_t i = 0; i < s->n_subs; i++)
        if (cpu_sub_slots(s->subs[i]) > most) most = cpu_sub_slots(s->subs[i]);
    return most;
}

static xt_status while_run(const cpu_call *c) {
    const control_state *s = c->thunk->state;
    const cpu_exec *cond = s->subs[0], *body = s->subs[1];
    char *scratch = c->scratch;
    size_t n = s->n, places = most_slots(s);
    void **mem = base_malloc((3 * (n + s->n_captured) + places + 1) * sizeof *mem);
    if (!mem) return status_oom(n * sizeof *mem, "a loop");
    void **now = mem, **next = mem + n + s->n_captured, **to = next + n, **at = to + n;
    uint8_t go[CPU_ALIGN] = {0};
    void *const flag[1] = {go};
    xt_status st = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = ir_type_bytes(c->thunk->op->in[i]->type);
        if (c->out[i] != c->in[i]) cpu_copy_run(&c->device->team, c->out[i], c->in[i], bytes);
        now[i] = c->out[i];
        next[i] = s->second[i] == SIZE_MAX ? c->out[i] : scratch + s->second[i];
    }
    for (size_t i = 0; i < s->n_captured; i++) now[n + i] = c->in[n + i];
    for (;;) {
        if ((st = cpu_run_sub(cond, c->device, now, flag, scratch + s->arena_at, at)) || !go[0]) break;
        for (size_t i = 0; i < n; i++) to[i] = s->second[i] == SIZE_MAX ? now[i] : next[i];
        if ((st = cpu_run_sub(body, c->device, now, to, scratch + s->arena_at, at))) break;
        for (size_t i = 0; i < n; i++) {
            next[i] = now[i];
            now[i] = to[i];
        }
    }
    for (size_t i = 0; i < n && !st; i++)
        if (now[i] != c->out[i])
            cpu_copy_run(&c->device->team, c->out[i], now[i], ir_type_bytes(c->thunk->op->in[i]->type));
    base_free(mem);
    return st;
}

static size_t control_programs(const void *state, cpu_exec *const **out) {
    const control_state *s = state;
    *out = s->subs;
    return s->n_subs;
}
static const cpu_kernel while_kernel = {"while", while_run, control_free, .programs = control_programs};

static xt_status branch_run(const cpu_call *c) {
    const control_state *s = c->thunk->state;
    size_t k;
    if (c->thunk->op->code == OP_if) {
        k = *(const uint8_t *)c->in[0] ? 0 : 1;
    } else {
        int32_t index = *(const int32_t *)c->in[0];
        k = index >= 0 && (size_t)index < s->n_subs ? (size_t)index : s->n_subs - 1;
    }
    void **at = base_malloc((most_slots(s) + 1) * sizeof *at);
    if (!at) return status_oom(0, "a branch");
    xt_status st = cpu_run_sub(s->subs[k], c->device, c->in + 1, c->out, (char *)c->scratch + s->arena_at, at);
    base_free(at);
    return st;
}
static const cpu_kernel branch_kernel = {"branch", branch_run, control_free, .programs = control_programs};

/* --- lowering --- */
static bool plain_type(const ir_type *t) {
    return t->kind == IR_TENSOR && t->count >= 0;
}

/* Nothing but tensors of fixed shape, and no calls. */
static bool compilable(const ir_block *b) {
    if (!b) return false;
    for (size_t i = 0; i < b->n_args; i++)
        if (!plain_type(b->args[i]->type)) return false;
    for (const ir_op *op = b->first; op; op = op->next) {
        if (op->code == OP_call || op->code == OP_composite) return false;
        for (uint32_t i = 0; i < op->n_out; i++)
            if (!plain_type(op->out[i].type)) return false;
        bool control = op->code == OP_while || op->code == OP_if || op->code == OP_case;
        for (uint32_t k = 0; k < op->n_regions && control; k++)
            if (!compilable(op->regions[k].block)) return false;
    }
    return true;
}

static size_t take_scratch(size_t *all, size_t bytes) {
    size_t at = *all;
    *all += (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    return at;
}

/* Second places for what the body cannot write over, and the programs' own memory behind them. */
static size_t lay_out(control_state *s, const ir_op *op) {
    size_t scratch = 0, temps = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const cpu_plan *p = &s->subs[1]->plan;
        bool same = p->slots[p->out_slots[i]].takes == i;
        s->second[i] = same ? SIZE_MAX : take_scratch(&scratch, ir_type_bytes(op->in[i]->type));
    }
    for (size_t i = 0; i < s->n_subs; i++)
        if (s->subs[i]->plan.arena_bytes > temps) temps = s->subs[i]->plan.arena_bytes;
    s->arena_at = scratch;
    return scratch + temps + CPU_ALIGN;
}

/* What a run takes: a loop's programs as often as they run where that can be read from it, else once; of branches
 * the largest. */
static void count_work(const control_state *s, const ir_op *op, cpu_thunk_desc *d) {
    int64_t trips = op->code == OP_while ? ir_trip_count(op) : -1;
    for (size_t i = 0; i < s->n_subs; i++) {
        const cpu_stats *sub = &s->subs[i]->stats;
        if (op->code == OP_while) {
            double runs = trips < 0 ? 1 : (double)trips + (i == 0);
            d->flops += runs * sub->flops;
            d->bytes += runs * sub->bytes_accessed;
            d->transcendentals += runs * sub->transcendentals;
        } else {
            d->flops = fmax(d->flops, sub->flops);
            d->bytes = fmax(d->bytes, sub->bytes_accessed);
            d->transcendentals = fmax(d->transcendentals, sub->transcendentals);
        }
    }
}

CPU_LOWER(control) {
    bool loop = op->code == OP_while;
    captured c = {0};
    const ir_value **in = NULL;
    control_state *s = NULL;
    uint64_t *in_place = NULL;
    xt_status st = NULL;
    for (uint32_t k = 0; k < op->n_regions; k++)
        if (!compilable(op->regions[k].block)) return NULL;
    for (uint32_t i = 0; i < op->n_out; i++)
        if (!plain_type(op->out[i].type)) return NULL;
    s = base_calloc(1, sizeof *s);
    if (!s || !captured_collect(op, &c)) goto oom;
    s->n = loop ? op->n_in : 0;
    s->n_captured = (uint32_t)c.n;
    s->subs = base_calloc(op->n_regions + 1, sizeof(cpu_exec *));
    s->second = base_calloc(s->n + 1, sizeof *s->second);
    in = base_malloc((op->n_in + c.n + 1) * sizeof *in);
    in_place = base_calloc(op->n_out + 1, sizeof *in_place);
    if (!s->subs || !s->second || !in || !in_place) goto oom;
    for (uint32_t k = 0; k < op->n_regions && !st; k++) {
        s->n_subs = k + 1;
        st = cpu_sub_make(b, op->regions[k].block, c.n, c.values, loop && k == 1 ? s->n : 0, false, &s->subs[k]);
    }
    if (st) goto done;
    for (uint32_t i = 0; i < op->n_in; i++) in[i] = op->in[i];
    for (size_t i = 0; i < c.n; i++) in[op->n_in + i] = c.values[i];
    for (uint32_t i = 0; i < op->n_out && i < 64 && loop; i++) in_place[i] = UINT64_C(1) << i;
    cpu_thunk_desc d = {.kernel = loop ? &while_kernel : &branch_kernel,
                        .op = op,
                        .n_in = op->n_in + c.n,
                        .in = in,
                        .n_out = op->n_out,
                        .in_place = in_place,
                        .scratch_bytes = lay_out(s, op),
                        .state = s};
    count_work(s, op, &d);
    s = NULL; /* the thunk's now */
    *out_done = true;
    st = cpu_build_thunk(b, &d);
    goto done;
oom:
    st = status_oom(0, "a plan");
done:
    if (s) control_free(s);
    base_free(in);
    base_free(in_place);
    base_free(c.values);
    return st;
}
