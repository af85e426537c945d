/* Evaluates the scalar regions of reduce, sort, scatter, ... over rows of elements.
 *
 * A region whose ops are all elementwise (calls to such functions included) is compiled once into a list of kernel
 * calls over rows: slots hold a row each; constants and captured scalars are rows filled at the start; nothing is
 * allocated per element. Any other region runs as a plan of the executor, once per element. */
#include "ir/interp_int.h"
#include "ir/quant.h"

typedef struct lift_step {
    ew e;
    uint32_t in[3], out;
} lift_step;
typedef struct lift_slot {
    void *row; /* owned; NULL for an argument */
    uint32_t arg; /* which, when row is NULL */
    xt_dtype dtype;
} lift_slot;
typedef struct binding {
    const ir_value *value;
    uint32_t slot;
} binding;

struct region_eval {
    interp *c;
    size_t n_args, n_results;
    const ir_block *block;
    /* Lifted. */
    lift_slot *slots;
    size_t n_slots, cap_slots;
    lift_step *steps;
    size_t n_steps, cap_steps;
    uint32_t *result_slots;
    bool lifted, one_step;
    /* While compiling. */
    binding *env;
    size_t n_env, cap_env;
    /* Not lifted. */
    block_plan *plan;
    array *scalars, *outs;
};

enum { LIFT_OK, LIFT_NO, LIFT_OOM };

static int add_slot(region_eval *r, xt_dtype t, uint32_t arg, bool row, uint32_t *out) {
    lift_slot s = {.arg = arg, .dtype = t};
    if (row) {
        s.row = base_aligned(64, INTERP_CHUNK * xt_dtype_size(t));
        if (!s.row) return LIFT_OOM;
    }
    *out = (uint32_t)r->n_slots;
    if (VEC_PUSH(r->slots, r->n_slots, r->cap_slots, s)) return LIFT_OK;
    base_free(s.row);
    return LIFT_OOM;
}

static int bind(region_eval *r, const ir_value *v, uint32_t slot) {
    binding b = {v, slot};
    return VEC_PUSH(r->env, r->n_env, r->cap_env, b) ? LIFT_OK : LIFT_OOM;
}

static bool is_scalar(const ir_type *t) {
    return t->kind == IR_TENSOR && t->rank == 0;
}

/* The slot of a value: the innermost binding, or a captured scalar as a filled row. */
static int find_slot(region_eval *r, const ir_value *v, uint32_t *out) {
    for (size_t i = r->n_env; i-- > 0;)
        if (r->env[i].value == v) {
            *out = r->env[i].slot;
            return LIFT_OK;
        }
    const array *a = r->c->outer ? r->c->outer(r->c->env, v) : NULL;
    if (!a || !is_scalar(a->type)) return LIFT_NO;
    int k = add_slot(r, a->type->dtype, 0, true, out);
    if (k != LIFT_OK) return k;
    fill_elems(r->slots[*out].row, INTERP_CHUNK, a->data, xt_dtype_size(a->type->dtype));
    return bind(r, v, *out);
}

static int lift_block(region_eval *r, const ir_block *b, const uint32_t *args, int depth, uint32_t *results);

static int lift_call(region_eval *r, const ir_op *op, int depth) {
    const char *name = ir_get_string(op, op->code == OP_composite ? IR_A_decomposition : IR_A_callee);
    const ir_func *f = name && r->c->m ? ir_func_find(r->c->m, name) : NULL;
    if (!f || !f->body || depth > 8 || op->n_in > 16 || op->n_out > 16 || f->body->n_args != op->n_in) return LIFT_NO;
    uint32_t args[16], results[16];
    for (uint32_t j = 0; j < op->n_in; j++) {
        int k = find_slot(r, op->in[j], &args[j]);
        if (k != LIFT_OK) return k;
    }
    size_t mark = r->n_env;
    int k = lift_block(r, f->body, args, depth + 1, results);
    r->n_env = mark; /* the callee may be called again with other arguments */
    for (uint32_t j = 0; j < op->n_out && k == LIFT_OK; j++) k = bind(r, &op->out[j], results[j]);
    return k;
}

static int lift_op(region_eval *r, const ir_op *op, int depth) {
    uint32_t slot;
    int k;
    for (uint32_t j = 0; j < op->n_in; j++)
        if (!is_scalar(op->in[j]->type)) return LIFT_NO;
    for (uint32_t j = 0; j < op->n_out; j++)
        if (!is_scalar(op->out[j].type)) return LIFT_NO;
    switch (op->code) {
    case OP_constant: {
        const ir_literal *lit = ir_get_literal(op);
        if (!lit) return LIFT_NO;
        if ((k = add_slot(r, op->out[0].type->dtype, 0, true, &slot)) != LIFT_OK) return k;
        fill_elems(r->slots[slot].row, INTERP_CHUNK, lit->data, xt_dtype_size(op->out[0].type->dtype));
        return bind(r, &op->out[0], slot);
    }
    case OP_reshape:
    case OP_broadcast_in_dim:
    case OP_optimization_barrier:
    case OP_transpose:
        for (uint32_t j = 0; j < op->n_out; j++)
            if ((k = find_slot(r, op->in[j], &slot)) != LIFT_OK || (k = bind(r, &op->out[j], slot)) != LIFT_OK)
                return k;
        return LIFT_OK;
    case OP_call:
    case OP_composite: return lift_call(r, op, depth);
    default: break;
    }
    lift_step st = {.out = 0};
    if (!ew_init(&st.e, op)) return LIFT_NO;
    for (uint32_t j = 0; j < op->n_in; j++)
        if ((k = find_slot(r, op->in[j], &st.in[j])) != LIFT_OK) return k;
    if ((k = add_slot(r, op->out[0].type->dtype, 0, true, &st.out)) != LIFT_OK) return k;
    if (!VEC_PUSH(r->steps, r->n_steps, r->cap_steps, st)) return LIFT_OOM;
    return bind(r, &op->out[0], st.out);
}

static int lift_block(region_eval *r, const ir_block *b, const uint32_t *args, int depth, uint32_t *results) {
    int k = LIFT_OK;
    for (size_t j = 0; j < b->n_args && k == LIFT_OK; j++)
        k = is_scalar(b->args[j]->type) ? bind(r, b->args[j], args[j]) : LIFT_NO;
    for (const ir_op *op = b->first; op && k == LIFT_OK; op = op->next) {
        if (!(ir_op_infos[op->code].flags & IR_TERMINATOR))
            k = lift_op(r, op, depth);
        else
            for (uint32_t j = 0; results && j < op->n_in && k == LIFT_OK; j++) k = find_slot(r, op->in[j], &results[j]);
    }
    return k;
}

/* A result that is an argument gets a row of its own, so that results may be written over argument rows
 * in any order. */
static int own_result(region_eval *r, uint32_t *slot) {
    if (r->slots[*slot].row) return LIFT_OK;
    xt_dtype t = r->slots[*slot].dtype;
    lift_step st = {.e = {.n_in = 1, .in = {t}, .out = t, .code = OP_convert}, .in = {*slot}};
    int k = add_slot(r, t, 0, true, &st.out);
    if (k != LIFT_OK) return k;
    *slot = st.out;
    return VEC_PUSH(r->steps, r->n_steps, r->cap_steps, st) ? LIFT_OK : LIFT_OOM;
}

static int lift(region_eval *r, ir_value *const *results) {
    uint32_t *args = base_calloc(r->n_args + 1, sizeof *args);
    int k = args ? LIFT_OK : LIFT_OOM;
    for (size_t j = 0; j < r->n_args && k == LIFT_OK; j++)
        k = add_slot(r, r->block->args[j]->type->dtype, (uint32_t)j, false, &args[j]);
    if (k == LIFT_OK) k = lift_block(r, r->block, args, 0, results ? NULL : r->result_slots);
    for (size_t j = 0; results && j < r->n_results && k == LIFT_OK; j++)
        k = find_slot(r, results[j], &r->result_slots[j]);
    for (size_t j = 0; j < r->n_results && k == LIFT_OK; j++) k = own_result(r, &r->result_slots[j]);
    base_free(args);
    return k;
}

xt_status region_eval_new(interp *c, const ir_block *block, size_t n_results, ir_value *const *results,
                          region_eval **out) {
    *out = NULL;
    const ir_op *ret = ir_block_return(block);
    region_eval *r = base_calloc(1, sizeof *r);
    if (!r) return status_oom(sizeof *r, "a region's evaluator");
    r->c = c;
    r->block = block;
    r->n_args = block->n_args;
    r->n_results = results ? n_results : ret->n_in;
    r->result_slots = base_calloc(r->n_results + 1, sizeof *r->result_slots);
    int k = r->result_slots ? lift(r, results) : LIFT_OOM;
    base_free(r->env);
    r->env = NULL;
    xt_status s = k == LIFT_OOM ? status_oom(sizeof(lift_slot), "a region's rows") : NULL;
    r->lifted = k == LIFT_OK;
    r->one_step =
        r->lifted && r->n_steps == 1 && r->n_results == 1 && r->steps[0].e.fn && r->steps[0].out == r->result_slots[0];
    if (k == LIFT_NO && !results) {
        s = interp_block_plan(c, block, &r->plan);
        r->scalars = base_calloc(r->n_args + 1, sizeof *r->scalars);
        r->outs = base_calloc(r->n_results + 1, sizeof *r->outs);
        if (!s && (!r->scalars || !r->outs)) s = status_oom(r->n_args * sizeof *r->scalars, "a region's arguments");
    }
    if (!s && (k == LIFT_OK || !results)) {
        *out = r;
        return NULL;
    }
    region_eval_free(r);
    return s;
}

xt_status region_eval_new_binary(interp *c, ir_opcode code, xt_dtype t, region_eval **out) {
    region_eval *r = *out = base_calloc(1, sizeof *r);
    if (!r) return status_oom(sizeof *r, "a region's evaluator");
    r->c = c;
    r->n_args = 2;
    r->n_results = 1;
    r->lifted = r->one_step = true;
    lift_step st = {.in = {0, 1}, .out = 2};
    uint32_t slot;
    bool ok = ew_init_binary(&st.e, code, t) && (r->result_slots = base_calloc(1, sizeof *r->result_slots)) != NULL;
    for (uint32_t j = 0; j < 3 && ok; j++) ok = add_slot(r, t, j, j == 2, &slot) == LIFT_OK;
    if (ok) r->result_slots[0] = 2;
    if (ok && VEC_PUSH(r->steps, r->n_steps, r->cap_steps, st)) return NULL;
    region_eval_free(r);
    *out = NULL;
    return status_oom(sizeof *r, "a region's evaluator");
}

void region_eval_free(region_eval *r) {
    if (!r) return;
    for (size_t i = 0; i < r->n_slots; i++) base_free(r->slots[i].row);
    base_free(r->slots);
    base_free(r->steps);
    base_free(r->result_slots);
    interp_block_plan_free(r->plan);
    base_free(r->scalars);
    base_free(r->outs);
    base_free(r);
}

bool region_eval_is_lifted(const region_eval *r) {
    return r->lifted;
}

static const void *slot_row(const region_eval *r, uint32_t slot, const void *const *args) {
    const lift_slot *s = &r->slots[slot];
    return s->row ? s->row : args[s->arg];
}

static void run_lifted(region_eval *r, int64_t n, const void *const *args, void *const *results) {
    for (size_t i = 0; i < r->n_steps; i++) {
        const lift_step *st = &r->steps[i];
        const void *in[3];
        for (int j = 0; j < st->e.n_in; j++) in[j] = slot_row(r, st->in[j], args);
        void *out = r->one_step ? results[0] : r->slots[st->out].row;
        if (st->e.fn)
            ew_run(&st->e, n, in, out);
        else
            memcpy(out, in[0], (size_t)n * xt_dtype_size(st->e.out));
    }
    if (r->one_step) return;
    for (size_t j = 0; j < r->n_results; j++) {
        const lift_slot *s = &r->slots[r->result_slots[j]];
        memcpy(results[j], s->row, (size_t)n * xt_dtype_size(s->dtype));
    }
}

static xt_status run_each(region_eval *r, int64_t n, const void *const *args, void *const *results) {
    for (int64_t i = 0; i < n; i++) {
        for (size_t j = 0; j < r->n_args; j++) {
            const ir_type *t = r->block->args[j]->type;
            r->scalars[j] = (array){t, (char *)(uintptr_t)args[j] + (size_t)i * xt_dtype_size(t->dtype)};
        }
        XT_TRY(interp_block_run(r->c, r->plan, r->n_args, r->scalars, r->n_results, r->outs));
        for (size_t j = 0; j < r->n_results; j++) {
            size_t size = ir_type_bytes(r->outs[j].type);
            memcpy((char *)results[j] + (size_t)i * size, r->outs[j].data, size);
            array_free(&r->outs[j]);
        }
    }
    return NULL;
}

xt_status region_eval_run(region_eval *r, int64_t n, const void *const *args, void *const *results) {
    if (!r->lifted) return run_each(r, n, args, results);
    run_lifted(r, n, args, results);
    return NULL;
}

/* --- Regions known by their form --- */
/* The one op of a block (arg0, arg1) -> op(arg0, arg1), or NULL. */
static const ir_op *only_op(const ir_region *r) {
    const ir_block *b = r->block;
    if (!b || b->n_args != 2) return NULL;
    const ir_op *op = b->first;
    if (!op || !op->next || op->next->next || op->n_in != 2 || op->n_out != 1 || op->n_regions) return NULL;
    const ir_op *ret = op->next;
    if (ret->n_in != 1 || ret->in[0] != &op->out[0]) return NULL;
    bool straight = op->in[0] == b->args[0] && op->in[1] == b->args[1],
         swapped = op->in[0] == b->args[1] && op->in[1] == b->args[0];
    return straight || swapped ? op : NULL;
}

bool region_is_binary(const ir_region *r, ir_opcode *out_code) {
    const ir_op *op = only_op(r);
    if (!op) return false;
    bool symmetric = ir_op_infos[op->code].flags & IR_COMMUTES;
    if (ir_op_infos[op->code].cls != IR_CLASS_BINARY || op->code == OP_compare ||
        (!symmetric && op->in[0] != r->block->args[0]))
        return false;
    if (quant_computes(op) || op->out[0].type != r->block->args[0]->type || op->in[0]->type != op->in[1]->type)
        return false;
    *out_code = op->code;
    return true;
}

bool region_is_compare(const ir_region *r, ir_cmp_dir *out_dir) {
    static const ir_cmp_dir mirrored[] = {
        [IR_EQ] = IR_EQ, [IR_NE] = IR_NE, [IR_GE] = IR_LE, [IR_GT] = IR_LT, [IR_LE] = IR_GE, [IR_LT] = IR_GT};
    const ir_op *op = only_op(r);
    if (!op || op->code != OP_compare || quant_computes(op) ||
        ir_get_int(op, IR_A_compare_type, IR_CMP_NOTYPE) == IR_CMP_TOTALORDER)
        return false;
    ir_cmp_dir dir = (ir_cmp_dir)ir_get_int(op, IR_A_comparison_direction, IR_EQ);
    *out_dir = op->in[0] == r->block->args[0] ? dir : mirrored[dir];
    return true;
}
