/* Which elementwise ops run as one loop, and that loop's tape. */
#include "cpu/layout.h"

#define GROUP_MAX_OPS 160
#define GROUP_MAX_INPUTS 56

/* StableHLO op to tape instruction, where it is one. */
static const uint8_t tape_ops[OP_COUNT] = {
    [OP_add] = TAPE_ADD,
    [OP_subtract] = TAPE_SUB,
    [OP_multiply] = TAPE_MUL,
    [OP_divide] = TAPE_DIV,
    [OP_remainder] = TAPE_REM,
    [OP_maximum] = TAPE_MAX,
    [OP_minimum] = TAPE_MIN,
    [OP_power] = TAPE_POW,
    [OP_atan2] = TAPE_ATAN2,
    [OP_and] = TAPE_AND,
    [OP_or] = TAPE_OR,
    [OP_xor] = TAPE_XOR,
    [OP_shift_left] = TAPE_SHL,
    [OP_shift_right_arithmetic] = TAPE_SHRA,
    [OP_shift_right_logical] = TAPE_SHRL,
    [OP_negate] = TAPE_NEG,
    [OP_abs] = TAPE_ABS,
    [OP_sign] = TAPE_SIGN,
    [OP_sqrt] = TAPE_SQRT,
    [OP_rsqrt] = TAPE_RSQRT,
    [OP_cbrt] = TAPE_CBRT,
    [OP_exponential] = TAPE_EXP,
    [OP_exponential_minus_one] = TAPE_EXPM1,
    [OP_log] = TAPE_LOG,
    [OP_log_plus_one] = TAPE_LOG1P,
    [OP_tanh] = TAPE_TANH,
    [OP_logistic] = TAPE_LOGISTIC,
    [OP_sine] = TAPE_SIN,
    [OP_cosine] = TAPE_COS,
    [OP_tan] = TAPE_TAN,
    [OP_floor] = TAPE_FLOOR,
    [OP_ceil] = TAPE_CEIL,
    [OP_round_nearest_afz] = TAPE_ROUND_AFZ,
    [OP_round_nearest_even] = TAPE_ROUND_EVEN,
    [OP_is_finite] = TAPE_IS_FINITE,
    [OP_not] = TAPE_NOT,
    [OP_popcnt] = TAPE_POPCNT,
    [OP_count_leading_zeros] = TAPE_CLZ,
};

/* Instructions that act on bits, so a bf16 kept in an f32 register would give another answer. */
static bool is_half(xt_dtype d) {
    return d == XT_BF16 || d == XT_F16;
}

static tape_op op_of(const ir_op *op) {
    switch ((int)op->code) {
    case OP_compare: {
        int dir = (int)ir_get_int(op, IR_A_comparison_direction, IR_EQ);
        if (ir_get_int(op, IR_A_compare_type, IR_CMP_NOTYPE) == IR_CMP_TOTALORDER && ir_dtype_is_float(op->in[0]->type->dtype)) return TAPE_NONE;
        return (tape_op)(TAPE_EQ + dir);
    }
    case OP_select: return TAPE_SELECT;
    case OP_clamp: return TAPE_MAX;
    case OP_convert: return TAPE_COPY;
    default: return (tape_op)tape_ops[op->code];
    }
}

bool group_can_take(const ir_op *op) {
    tape_op code = op_of(op);
    tape_type t, r;
    if (code == TAPE_NONE || op->n_out != 1 || op->out[0].type->count < 0) return false;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->type->kind != IR_TENSOR || !tape_type_of(op->in[i]->type->dtype, &t)) return false;
    if (!tape_type_of(op->out[0].type->dtype, &r)) return false;
    tape_type_of(op->in[op->code == OP_select ? 1 : 0]->type->dtype, &t);
    if (op->code == OP_convert) return true;
    return simd_get()->tape[code][t] != NULL;
}

/* --- joining -------------------------------------------------------------------------------------------------------------------- */
static uint32_t find(const cpu_builder *b, uint32_t g) {
    while (b->groups[g].merged_into != CPU_NONE) g = b->groups[g].merged_into;
    return g;
}

/* The open group that makes v and that an op like `want` may join, or CPU_NONE. */
static uint32_t open_group(cpu_builder *b, const ir_value *v, const group *want) {
    value_info *i = build_info(b, v);
    if (!i || i->state != VALUE_MEMBER) return CPU_NONE;
    const group *h = &b->groups[find(b, i->group)];
    if (h->emitted || h->count != want->count || h->feature != want->feature) return CPU_NONE;
    if (h->feature && memcmp(h->like->dims, want->like->dims, 4 * sizeof *h->like->dims) != 0) return CPU_NONE;
    return find(b, i->group);
}

/* Makes what such a group reads from outside. */
static xt_status prepare(cpu_builder *b, const ir_value *v, const group *want) {
    cpu_ref ignored;
    return want->feature && layout_is_image(v, want->like) ? layout_blocked(b, v, &ignored) : build_prepare(b, v);
}

static xt_status merge(cpu_builder *b, uint32_t into, uint32_t from) {
    group *g = &b->groups[into], *h = &b->groups[from];
    for (size_t i = 0; i < h->n; i++)
        if (!VEC_PUSH(g->ops, g->n, g->cap, h->ops[i])) return status_oom(0, "fusing ops");
    g->inputs += h->inputs;
    h->merged_into = into;
    base_free(h->ops);
    h->ops = NULL;
    h->n = h->cap = 0;
    return NULL;
}

xt_status group_join(cpu_builder *b, const ir_op *op) {
    const ir_type *made = op->out[0].type;
    const group want = {.count = made->count, .merged_into = CPU_NONE, .feature = layout_of_loop(b, op), .like = made};
    /* First what comes from outside: making it may close groups, also ones this op might have joined. */
    for (uint32_t i = 0; i < op->n_in; i++)
        if (open_group(b, op->in[i], &want) == CPU_NONE) XT_TRY(prepare(b, op->in[i], &want));
    uint32_t target = CPU_NONE;
    size_t outside = 0;
    for (uint32_t i = 0; i < op->n_in; i++) {
        uint32_t g = open_group(b, op->in[i], &want);
        if (g == CPU_NONE) {
            XT_TRY(prepare(b, op->in[i], &want));
            outside++;
            continue;
        }
        if (g == target) continue;
        group *h = &b->groups[g];
        if (target == CPU_NONE) {
            if (!b->fuse_on || h->n >= GROUP_MAX_OPS || h->inputs + op->n_in > GROUP_MAX_INPUTS) {
                XT_TRY(group_emit(b, g));
                outside++;
            } else {
                target = g;
            }
        } else if (h->n + b->groups[target].n >= GROUP_MAX_OPS || h->inputs + b->groups[target].inputs + op->n_in > GROUP_MAX_INPUTS) {
            XT_TRY(group_emit(b, g));
            outside++;
        } else {
            XT_TRY(merge(b, target, g));
        }
    }
    if (target == CPU_NONE) {
        group g = want;
        if (!VEC_PUSH(b->groups, b->n_groups, b->cap_groups, g)) return status_oom(sizeof g, "fusing ops");
        target = (uint32_t)b->n_groups - 1;
    }
    group *g = &b->groups[target];
    value_info *out = build_info(b, &op->out[0]);
    if (!out || !VEC_PUSH(g->ops, g->n, g->cap, op)) return status_oom(0, "fusing ops");
    g->inputs += outside;
    out->state = VALUE_MEMBER;
    out->group = target;
    for (uint32_t i = 0; i < op->n_in; i++) {
        value_info *in = build_info(b, op->in[i]);
        if (in && in->state == VALUE_MEMBER) in->inside++;
    }
    return NULL;
}

/* --- emitting ------------------------------------------------------------------------------------------------------------------- */
typedef struct emission {
    cpu_builder *b;
    tape_builder *tape;
    int64_t count;
    const ir_value *blocked; /* a member of a blocked group; NULL: the loop goes over dense arrays */
    const ir_value **in; /* thunk inputs: values whose dense form (or base) is read */
    cpu_ref *refs;
    size_t n_in, cap_in, cap_refs;
    struct loaded { /* what is on the tape already */
        const ir_value *value;
        int number;
    } * loaded;
    size_t n_loaded, cap_loaded;
    xt_status status;
} emission;

static uint32_t add_input(emission *e, const ir_value *v, cpu_ref ref) {
    if (!VEC_PUSH(e->in, e->n_in, e->cap_in, v)) e->status = status_oom(0, "a fused loop");
    size_t n = e->n_in - 1;
    if (!e->status && !VEC_PUSH(e->refs, n, e->cap_refs, ref)) e->status = status_oom(0, "a fused loop");
    return (uint32_t)e->n_in - 1;
}

/* Follows names of the same elements in the same order. */
static const ir_value *strip_aliases(const ir_value *v) {
    while (v->def && build_is_alias(v->def)) v = build_alias_of(v);
    return v;
}

/* Puts v, which comes from outside, on the tape as memory of its own type. */
static int load_outside(emission *e, const ir_value *v) {
    cpu_builder *b = e->b;
    xt_dtype d = v->type->dtype;
    size_t elem = xt_dtype_size(d);
    tape_type reg, raw;
    bool known = tape_type_of(d, &reg);
    if (!tape_type_of_size(elem, &raw)) return -1;
    if (!known) reg = raw;
    tape_source s = {.elem = (uint32_t)elem};
    const void *splat = cpu_build_splat(b, v);
    const ir_value *root = strip_aliases(v);
    cpu_ref base;
    view w;
    bool half = is_half(d);
    if (splat) {
        s.kind = TAPE_SPLAT;
        memcpy(s.splat, splat, elem);
    } else if (root->def && root->def->code == OP_iota) {
        int64_t dim = ir_get_int(root->def, IR_A_iota_dimension, 0), inner = 1;
        for (uint32_t i = (uint32_t)dim + 1; i < root->type->rank; i++) inner *= root->type->dims[i];
        s.kind = TAPE_IOTA;
        s.elem = d == XT_I32 ? 4 : 8; /* what others need comes from 64 bits */
        s.inner = inner > 0 ? inner : 1;
        s.size = root->type->dims[dim] > 0 ? root->type->dims[dim] : 1;
        if (d == XT_I32) return tape_load(e->tape, &s, TAPE_I32);
        int n = tape_load(e->tape, &s, TAPE_I64);
        if (known)
            n = tape_emit(e->tape, (tape_op)(TAPE_CONVERT + reg), TAPE_I64, n, -1, -1);
        else
            return -1;
        if (half) n = tape_emit(e->tape, d == XT_BF16 ? TAPE_ROUND_BF16 : TAPE_ROUND_F16, TAPE_F32, n, -1, -1);
        return n;
    } else if (e->blocked && layout_is_image(v, e->blocked->type)) {
        cpu_ref ref;
        e->status = layout_blocked(b, v, &ref);
        if (e->status) return -1;
        s.kind = TAPE_DIRECT;
        s.in = add_input(e, v, ref);
    } else if (build_window(b, v, &base, &w)) {
        if (e->blocked) w = layout_blocked_view(&w, layout_feature(b, e->blocked));
        view_collapse(&w);
        bool dense = view_is_dense(&w) && view_count(&w) == e->count;
        bool one = w.n == 0 || (w.n == 1 && w.strides[0] == 0);
        s.kind = dense && w.n <= 1 && !one ? TAPE_DIRECT : one && e->count != 1 ? TAPE_SCALAR : dense ? TAPE_DIRECT : TAPE_STRIDED;
        s.offset = s.kind == TAPE_DIRECT ? w.offset : 0;
        s.v = w;
        s.in = add_input(e, v, base);
    } else {
        cpu_ref ref;
        e->status = cpu_build_dense(b, v, &ref);
        if (e->status) return -1;
        s.kind = v->type->count == 1 && e->count != 1 ? TAPE_SCALAR : TAPE_DIRECT;
        s.in = add_input(e, v, ref);
    }
    if (e->status) return -1;
    if (half) {
        /* An input of a narrow type lies in memory as u16; the register holds its f32 value. */
        int n = tape_load(e->tape, &s, TAPE_U16);
        return tape_emit(e->tape, d == XT_BF16 ? TAPE_LOAD_BF16 : TAPE_LOAD_F16, TAPE_F32, n, -1, -1);
    }
    return tape_load(e->tape, &s, reg);
}

static int operand(emission *e, const ir_value *v, uint32_t g) {
    value_info *i = build_info(e->b, v);
    if (i && i->state == VALUE_MEMBER && find(e->b, i->group) == g) return i->number;
    for (size_t k = 0; k < e->n_loaded; k++)
        if (e->loaded[k].value == v) return e->loaded[k].number;
    int n = load_outside(e, v);
    struct loaded l = {v, n};
    if (!VEC_PUSH(e->loaded, e->n_loaded, e->cap_loaded, l) && !e->status) e->status = status_oom(0, "a fused loop");
    return n;
}

static int emit_convert(tape_builder *into, const ir_op *op, int x) {
    xt_dtype from = op->in[0]->type->dtype, to = op->out[0].type->dtype;
    tape_type t, r;
    tape_type_of(from, &t);
    tape_type_of(to, &r);
    if (t != r)
        x = tape_emit(into, (tape_op)(TAPE_CONVERT + r), t, x, -1, -1);
    else if (from == to || !is_half(to))
        x = tape_emit(into, TAPE_COPY, t, x, -1, -1);
    return x;
}

int group_emit_op(tape_builder *into, const ir_op *op, int x, int y, int z) {
    xt_dtype d = op->out[0].type->dtype;
    tape_type t;
    tape_type_of(op->in[0]->type->dtype, &t);
    int r;
    switch ((int)op->code) {
    case OP_select: tape_type_of(d, &t); return tape_emit(into, TAPE_SELECT, t, x, y, z);
    case OP_clamp: /* least, operand, largest */ r = tape_emit(into, TAPE_MAX, t, y, x, -1); return tape_emit(into, TAPE_MIN, t, r, z, -1);
    case OP_convert:
        r = emit_convert(into, op, x);
        if (is_half(d) && op->in[0]->type->dtype != d) r = tape_emit(into, d == XT_BF16 ? TAPE_ROUND_BF16 : TAPE_ROUND_F16, TAPE_F32, r, -1, -1);
        return r;
    default:
        if (build_is_alias(op)) return x; /* a reshape inside the group: the same elements in the same order */
        r = tape_emit(into, op_of(op), t, x, y, z);
        if (is_half(d)) r = tape_emit(into, d == XT_BF16 ? TAPE_ROUND_BF16 : TAPE_ROUND_F16, TAPE_F32, r, -1, -1);
        return r;
    }
}

static int emit_op(emission *e, const ir_op *op, uint32_t g) {
    int x = operand(e, op->in[0], g);
    int y = op->n_in > 1 ? operand(e, op->in[1], g) : -1;
    int z = op->n_in > 2 ? operand(e, op->in[2], g) : -1;
    return group_emit_op(e->tape, op, x, y, z);
}

static xt_status tape_kernel_run(const cpu_call *c) {
    return tape_run(c->thunk->state, &c->device->team, c->in, c->out, c->scratch);
}
static void tape_kernel_free(void *state) {
    tape_free(state);
}
static const cpu_kernel fused_kernel = {"fused", tape_kernel_run, tape_kernel_free, true};
static const cpu_kernel copy_kernel = {"copy", tape_kernel_run, tape_kernel_free, true};
bool cpu_is_fused(const cpu_kernel *k) {
    return k->run == tape_kernel_run;
}

/* What is read of an input: a broadcast one is smaller than what it looks like. */
static size_t bytes_read(const cpu_builder *b, const ir_value *v, const cpu_ref *ref) {
    size_t whole = b->plan->slots[ref->slot].bytes, used = ir_type_bytes(v->type);
    return used < whole ? used : whole;
}

/* The last thunk's inputs are places, so they go around cpu_build_dense. */
static void set_inputs(cpu_builder *b, const ir_value *const *in, cpu_ref *refs, size_t n) {
    cpu_thunk *th = &b->plan->thunks[b->plan->n_thunks - 1];
    base_free(th->in);
    th->n_in = (uint32_t)n;
    th->in = refs;
    for (size_t i = 0; i < n; i++) th->bytes += (double)bytes_read(b, in[i], &th->in[i]);
}

static xt_status add_thunk(emission *e, const cpu_kernel *k, tape *t, const ir_op *named, size_t n_ops, const ir_op *const *ops, size_t n_out,
                           const ir_value *const *outs, const uint64_t *over) {
    cpu_thunk_desc d = {.kernel = k,
                        .op = named,
                        .in = NULL,
                        .n_in = 0,
                        .n_out = n_out,
                        .out = outs,
                        .over = over,
                        .out_blocked = e->blocked ? UINT64_MAX : 0,
                        .n_ops = n_ops,
                        .ops = ops,
                        .scratch_bytes = tape_scratch_bytes(t, cpu_build_threads(e->b)),
                        .state = t};
    static const ir_value *const none[1];
    d.in = none;
    for (size_t i = 0; i < n_ops; i++) {
        d.flops += cpu_op_flops(ops[i]);
        d.transcendentals += cpu_op_transcendentals(ops[i]);
    }
    XT_TRY(cpu_build_thunk(e->b, &d));
    set_inputs(e->b, e->in, e->refs, e->n_in);
    e->refs = NULL;
    return NULL;
}

static void emission_free(emission *e) {
    base_free(e->in);
    base_free(e->refs);
    base_free(e->loaded);
}

static bool is_needed_outside(cpu_builder *b, const ir_value *v) {
    const value_info *i = build_info(b, v);
    return i && v->uses > i->inside;
}

xt_status group_emit(cpu_builder *b, uint32_t gi) {
    gi = find(b, gi);
    group g = b->groups[gi]; /* by value: emission may grow the array, but never touches this group */
    if (g.emitted) return NULL;
    b->groups[gi].emitted = true;
    emission e = {.b = b, .tape = tape_begin(g.count), .count = g.count, .blocked = g.feature ? &g.ops[0]->out[0] : NULL};
    const ir_value **outs = base_calloc(g.n + 1, sizeof *outs);
    uint64_t *over = base_calloc(g.n + 1, sizeof *over);
    tape *t = NULL;
    size_t n_out = 0;
    xt_status s = NULL;
    if (!e.tape || !outs || !over) {
        s = status_oom(0, "a fused loop");
        goto done;
    }
    for (size_t i = 0; i < g.n && !e.status; i++) {
        value_info *info = build_info(b, &g.ops[i]->out[0]);
        int number = emit_op(&e, g.ops[i], gi);
        info = build_info(b, &g.ops[i]->out[0]);
        info->number = number;
        if (number < 0 && !e.status)
            e.status = tape_lacks(e.tape) ? status_new(XT_INTERNAL, NULL, "no vector instruction for stablehlo.%s", ir_op_infos[g.ops[i]->code].name) : status_oom(0, "a fused loop");
    }
    if ((s = e.status)) goto done;
    /* A value read outside gets memory; a reshape of it is the same memory. */
    for (size_t i = g.n; i-- > 0;)
        if (build_is_alias(g.ops[i]) && is_needed_outside(b, &g.ops[i]->out[0])) {
            value_info *of = build_info(b, build_alias_of(&g.ops[i]->out[0]));
            if (of->state == VALUE_MEMBER && find(b, of->group) == gi && of->inside) of->inside--; /* counts as a reader from outside */
        }
    for (size_t i = 0; i < g.n; i++) {
        const ir_value *v = &g.ops[i]->out[0];
        const value_info *info = build_info(b, v);
        if (build_is_alias(g.ops[i]) || !is_needed_outside(b, v)) continue;
        tape_store(e.tape, info->number, (uint32_t)n_out, v->type->dtype);
        outs[n_out++] = v;
    }
    s = tape_finish(e.tape, n_out, &t, over);
    e.tape = NULL;
    if (s) goto done;
    s = add_thunk(&e, &fused_kernel, t, g.ops[g.n - 1], g.n, g.ops, n_out, outs, over);
    if (s) goto done;
    for (size_t i = 0; i < g.n; i++) {
        value_info *info = build_info(b, &g.ops[i]->out[0]);
        if (info->state != VALUE_MEMBER) continue;
        info->state = VALUE_GONE;
        if (!build_is_alias(g.ops[i])) continue;
        const value_info *of = build_info(b, build_alias_of(&g.ops[i]->out[0]));
        if (of->has_ref) {
            info->state = VALUE_DENSE;
            info->has_ref = true;
            info->ref = of->ref;
        }
    }
done:
    tape_abandon(e.tape);
    base_free(outs);
    base_free(over);
    emission_free(&e);
    return s;
}

/* --- the same values again --------------------------------------------------------------------------------------------------------- */
static bool is_slow(const ir_op *op) {
    return op->code == OP_divide || op->code == OP_sqrt || op->code == OP_rsqrt || op->code == OP_power || op->code == OP_remainder || cpu_op_transcendentals(op) > 0;
}

/* Marks, from the end, the ops of the group that v needs (needed[i]); false: too many. */
static bool find_needed(const group *g, const ir_value *v, size_t ops, size_t slow, bool *needed) {
    uint64_t epoch = ir_new_epoch();
    ((ir_value *)(uintptr_t)v)->mark = epoch;
    for (size_t i = g->n; i-- > 0;) {
        const ir_op *op = g->ops[i];
        if (op->out[0].mark != epoch) continue;
        if (!ops-- || (is_slow(op) && !slow--)) return false;
        needed[i] = true;
        for (uint32_t k = 0; k < op->n_in; k++) op->in[k]->mark = epoch;
    }
    return true;
}

void group_copy_free(group_copy *c) {
    tape_free(c->tape);
    base_free(c->in);
    base_free(c->refs);
    *c = (group_copy){0};
}

xt_status group_compute_again(cpu_builder *b, const ir_value *v, size_t ops, size_t slow, group_copy *out) {
    value_info *info = build_info(b, v);
    *out = (group_copy){0};
    if (!info || info->state != VALUE_MEMBER) return NULL;
    uint32_t gi = find(b, info->group);
    const group g = b->groups[gi];
    if (g.emitted || g.feature) return NULL;
    bool *needed = base_calloc(g.n + 1, sizeof *needed);
    emission e = {.b = b, .tape = tape_begin(g.count), .count = g.count};
    uint64_t over;
    int number = -1;
    size_t bytes = 0;
    xt_status s = !needed || !e.tape ? status_oom(0, "a fused loop") : NULL;
    if (s || !find_needed(&g, v, ops, slow, needed)) goto done;
    for (size_t i = 0; i < g.n && !e.status; i++) {
        if (!needed[i]) continue;
        number = emit_op(&e, g.ops[i], gi);
        build_info(b, &g.ops[i]->out[0])->number = number;
        out->flops += cpu_op_flops(g.ops[i]);
        out->transcendentals += cpu_op_transcendentals(g.ops[i]);
        out->named = g.ops[i];
        if (number < 0) break;
    }
    if ((s = e.status) || number < 0) goto done;
    for (size_t i = 0; i < e.n_in; i++) bytes += bytes_read(b, e.in[i], &e.refs[i]);
    if (v->uses > 1 && bytes > ir_type_bytes(v->type) + ir_type_bytes(v->type) / 4) goto done;
    tape_store(e.tape, build_info(b, v)->number, 0, XT_F32);
    s = tape_finish(e.tape, 1, &out->tape, &over);
    e.tape = NULL;
    if (s) goto done;
    out->in = e.in;
    out->refs = e.refs;
    out->n_in = e.n_in;
    e.in = NULL;
    e.refs = NULL;
    build_info(b, v)->inside++;
done:
    tape_abandon(e.tape);
    emission_free(&e);
    base_free(needed);
    return s;
}

xt_status group_copy_thunk(cpu_builder *b, group_copy *c, const cpu_thunk_desc *d) {
    static const ir_value *const none[1];
    const ir_op *ops[2] = {d->op, c->named};
    cpu_thunk_desc with = *d;
    with.in = none;
    with.n_in = 0;
    with.ops = ops;
    with.n_ops = 2;
    XT_TRY(cpu_build_thunk(b, &with));
    set_inputs(b, c->in, c->refs, c->n_in);
    c->refs = NULL;
    return NULL;
}

xt_status group_emit_window(cpu_builder *b, const ir_value *v) {
    emission e = {.b = b, .tape = tape_begin(v->type->count), .count = v->type->count};
    tape *t = NULL;
    uint64_t over = 0;
    xt_status s = NULL;
    if (!e.tape) return status_oom(0, "a copy");
    /* Elements move as they are; only iota needs its type. A constant of one value is written when needed rather than kept. */
    bool iota = strip_aliases(v)->def && strip_aliases(v)->def->code == OP_iota;
    int n;
    if (iota) {
        n = load_outside(&e, v);
    } else {
        cpu_ref base;
        view w;
        tape_source src = {.elem = (uint32_t)xt_dtype_size(v->type->dtype)};
        const void *splat = cpu_build_splat(b, v);
        tape_type raw;
        if (!tape_type_of_size(src.elem, &raw) || (!splat && !build_window(b, v, &base, &w))) {
            s = status_new(XT_INTERNAL, NULL, "a value of type size %u has no window", src.elem);
            goto done;
        }
        if (splat) {
            src.kind = TAPE_SPLAT;
            memcpy(src.splat, splat, src.elem);
        } else {
            view_collapse(&w);
            bool one = w.n == 0 || (w.n == 1 && w.strides[0] == 0);
            src.kind = one ? TAPE_SCALAR : view_is_dense(&w) ? TAPE_DIRECT : TAPE_STRIDED;
            src.offset = src.kind == TAPE_DIRECT ? w.offset : 0;
            src.v = w;
            src.in = add_input(&e, v, base);
        }
        n = tape_load(e.tape, &src, raw);
    }
    if ((s = e.status)) goto done;
    static const xt_dtype by_size[9] = {[1] = XT_U8, [2] = XT_U16, [4] = XT_U32, [8] = XT_U64};
    tape_store(e.tape, n, 0, iota ? v->type->dtype : by_size[xt_dtype_size(v->type->dtype)]);
    s = tape_finish(e.tape, 1, &t, &over);
    e.tape = NULL;
    if (s) goto done;
    const ir_op *op = v->def;
    over = 0; /* a window may read elements of other blocks */
    s = add_thunk(&e, &copy_kernel, t, op, 1, &op, 1, &v, &over);
done:
    tape_abandon(e.tape);
    emission_free(&e);
    return s;
}
