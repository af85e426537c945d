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

/* A condition that compares whole numbers, each a value of the loop or a constant: asked without a program. */
typedef struct loop_test {
    bool known;
    xt_dtype type;
    ir_cmp_dir dir;
    int64_t arg[2]; /* -1: the constant */
    int64_t constant[2];
} loop_test;
typedef struct control_state {
    uint32_t n, n_captured; /* carried values */
    size_t n_subs;
    cpu_exec **subs; /* while: condition, body; if, case: the branches */
    size_t *second; /* per carried value: offset of its second place in the scratch memory, or SIZE_MAX */
    size_t arena_at;
    loop_test test;
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

/* --- loops --- */
/* A loop on its way: an iteration reads one place of each value and writes the other, so there are two ways to run each
 * program, bound when they are first come to. */
typedef struct loop_run {
    const cpu_call *call;
    const control_state *s;
    void **now, **next; /* carried values, and behind those of `now` the captured ones */
    char *room[2][2]; /* for condition and body, by the iteration's last bit */
    cpu_bound bound[2][2];
    bool is_bound[2][2];
    uint8_t go[CPU_ALIGN];
} loop_run;

static xt_status run_part(loop_run *r, int part, int way, void *const *out) {
    if (!r->is_bound[part][way]) {
        cpu_bind(r->s->subs[part], r->call->device, r->now, out, (char *)r->call->scratch + r->s->arena_at,
                 r->room[part][way], &r->bound[part][way]);
        r->is_bound[part][way] = true;
    }
    return cpu_run_bound(&r->bound[part][way]);
}

static int64_t whole_number(xt_dtype t, const void *p) {
    switch ((int)t) {
    case XT_I8: return *(const int8_t *)p;
    case XT_I16: return *(const int16_t *)p;
    case XT_I32: return *(const int32_t *)p;
    case XT_U8: return *(const uint8_t *)p;
    case XT_U16: return *(const uint16_t *)p;
    case XT_U32: return *(const uint32_t *)p;
    default: return *(const int64_t *)p;
    }
}

static bool goes_on(const loop_run *r) {
    const loop_test *t = &r->s->test;
    int64_t v[2];
    for (int k = 0; k < 2; k++) v[k] = t->arg[k] < 0 ? t->constant[k] : whole_number(t->type, r->now[t->arg[k]]);
    switch (t->dir) {
    case IR_EQ: return v[0] == v[1];
    case IR_NE: return v[0] != v[1];
    case IR_GE: return v[0] >= v[1];
    case IR_GT: return v[0] > v[1];
    case IR_LE: return v[0] <= v[1];
    default: return v[0] < v[1];
    }
}

static xt_status run_loop(loop_run *r) {
    const control_state *s = r->s;
    void *const flag[1] = {r->go};
    for (int way = 0;; way ^= 1) {
        if (s->test.known)
            r->go[0] = goes_on(r);
        else
            XT_TRY(run_part(r, 0, way, flag));
        if (!r->go[0]) return NULL;
        XT_TRY(run_part(r, 1, way, r->next));
        for (size_t i = 0; i < s->n; i++) {
            void *was = r->now[i];
            r->now[i] = r->next[i];
            r->next[i] = was;
        }
    }
}

static xt_status while_run(const cpu_call *c) {
    const control_state *s = c->thunk->state;
    size_t n = s->n, bytes = 2 * (n + s->n_captured) * sizeof(void *), part[2];
    for (int k = 0; k < 2; k++) bytes += 2 * (part[k] = (cpu_bound_bytes(s->subs[k]) + 15) / 16 * 16);
    char *mem = base_malloc(bytes + 16);
    if (!mem) return status_oom(bytes, "a loop");
    char *rest = mem;
    loop_run r = {.call = c, .s = s};
    for (int k = 0; k < 2; k++)
        for (int way = 0; way < 2; way++, rest += part[k]) r.room[k][way] = rest;
    r.now = (void **)rest;
    r.next = r.now + n + s->n_captured;
    for (size_t i = 0; i < n; i++) {
        if (c->out[i] != c->in[i])
            cpu_copy_run(&c->device->team, c->out[i], c->in[i], ir_type_bytes(c->thunk->op->in[i]->type));
        r.now[i] = c->out[i];
        r.next[i] = s->second[i] == SIZE_MAX ? c->out[i] : (char *)c->scratch + s->second[i];
    }
    for (size_t i = 0; i < s->n_captured; i++) r.now[n + i] = c->in[n + i];
    xt_status st = run_loop(&r);
    for (size_t i = 0; i < n && !st; i++)
        if (r.now[i] != c->out[i])
            cpu_copy_run(&c->device->team, c->out[i], r.now[i], ir_type_bytes(c->thunk->op->in[i]->type));
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

static bool test_operand(const ir_block *cond, const captured *c, const ir_value *v, int64_t *arg, int64_t *constant) {
    *arg = -1;
    if (!v->def && v->block == cond) {
        *arg = v->index;
        return true;
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->values[i] == v) {
            *arg = (int64_t)(cond->n_args + i);
            return true;
        }
    const ir_literal *l = v->def && v->def->code == OP_constant ? ir_get_literal(v->def) : NULL;
    if (l) *constant = whole_number(v->type->dtype, l->data);
    return l != NULL;
}

static loop_test read_test(const ir_block *cond, const captured *c) {
    const ir_op *ret = ir_block_return(cond), *o = ret && ret->n_in == 1 ? ret->in[0]->def : NULL;
    loop_test t = {.known = false};
    if (!o || o->code != OP_compare || o->block != cond || o->in[0]->type->rank != 0) return t;
    t.type = o->in[0]->type->dtype;
    t.dir = (ir_cmp_dir)ir_get_int(o, IR_A_comparison_direction, -1);
    static const xt_dtype whole[] = {XT_I8, XT_I16, XT_I32, XT_I64, XT_U8, XT_U16, XT_U32};
    size_t k = 0;
    while (k < BASE_COUNT(whole) && whole[k] != t.type) k++;
    if (k == BASE_COUNT(whole) || t.dir < IR_EQ || t.dir > IR_LT) return t;
    for (const ir_op *x = cond->first; x; x = x->next)
        if (x != o && x != ret && x->code != OP_constant) return t;
    t.known = true;
    for (int j = 0; j < 2; j++) t.known = t.known && test_operand(cond, c, o->in[j], &t.arg[j], &t.constant[j]);
    return t;
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
    if (loop) s->test = read_test(op->regions[0].block, &c);
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
