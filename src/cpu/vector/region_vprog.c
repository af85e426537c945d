/* Regions of scalars to vector programs. */
#include "cpu/vector/region_vprog.h"

enum { MOST_VALUES = 128, MOST_RESULTS = 16 };
typedef struct number_of {
    const ir_value *value;
    int number;
} number_of;
typedef struct maker {
    vprog_builder *vprog;
    number_of known[MOST_VALUES];
    size_t n;
} maker;

static bool know(maker *m, const ir_value *v, int number) {
    if (m->n == MOST_VALUES || number < 0) return false;
    m->known[m->n++] = (number_of){v, number};
    return true;
}

static int number_for(const maker *m, const ir_value *v) {
    for (size_t i = 0; i < m->n; i++)
        if (m->known[i].value == v) return m->known[i].number;
    return -1;
}

/* A row (or one constant for all) of a type's memory, as a register. */
static int load(maker *m, xt_dtype d, vprog_source s) {
    vprog_type t;
    if (!vprog_type_of(d, &t)) return -1;
    s.elem = (uint32_t)xt_dtype_size(d);
    if (d != XT_BF16 && d != XT_F16) return vprog_load(m->vprog, &s, t);
    return vprog_emit(m->vprog, d == XT_BF16 ? VPROG_LOAD_BF16 : VPROG_LOAD_F16, VPROG_F32,
                      vprog_load(m->vprog, &s, VPROG_U16), -1, -1);
}

static bool is_scalar(const ir_type *t) {
    return t->kind == IR_TENSOR && t->rank == 0;
}

static bool add_op(maker *m, const ir_op *op) {
    int in[3] = {-1, -1, -1};
    if (op->n_out != 1 || op->n_in > 3 || !is_scalar(op->out[0].type)) return false;
    if (op->code == OP_constant) {
        const ir_literal *l = ir_get_literal(op);
        vprog_source s = {.kind = VPROG_SPLAT};
        if (!l || xt_dtype_size(op->out[0].type->dtype) > sizeof s.splat) return false;
        memcpy(s.splat, l->data, xt_dtype_size(op->out[0].type->dtype));
        return know(m, &op->out[0], load(m, op->out[0].type->dtype, s));
    }
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!is_scalar(op->in[i]->type) || (in[i] = number_for(m, op->in[i])) < 0) return false;
    if (op->code == OP_reshape && op->n_in == 1) return know(m, &op->out[0], in[0]);
    return vprog_takes(op) && know(m, &op->out[0], vprog_emit_op(m->vprog, op, in[0], in[1], in[2]));
}

static bool fill(maker *m, const ir_block *b, size_t *n_out) {
    for (size_t i = 0; i < b->n_args; i++) {
        if (!is_scalar(b->args[i]->type)) return false;
        if (!know(m, b->args[i],
                  load(m, b->args[i]->type->dtype, (vprog_source){.kind = VPROG_DIRECT, .in = (uint32_t)i})))
            return false;
    }
    for (const ir_op *op = b->first; op; op = op->next) {
        if (!(ir_op_infos[op->code].flags & IR_TERMINATOR)) {
            if (!add_op(m, op)) return false;
            continue;
        }
        *n_out = op->n_in;
        for (uint32_t j = 0; j < op->n_in; j++) {
            int n = number_for(m, op->in[j]);
            if (n < 0 || j == MOST_RESULTS) return false;
            vprog_store(m->vprog, n, j, op->in[j]->type->dtype);
        }
    }
    return true;
}

xt_status region_vprog_make(const ir_block *b, vprog **out) {
    maker m = {.vprog = vprog_begin(REGION_ROW)};
    uint64_t in_place[MOST_RESULTS];
    size_t n_out = 0;
    *out = NULL;
    if (!m.vprog) return status_oom(sizeof m, "a region");
    if (b && fill(&m, b, &n_out)) return vprog_finish(m.vprog, n_out, out, in_place);
    vprog_abandon(m.vprog);
    return NULL;
}

xt_status region_vprog_binary(ir_opcode code, xt_dtype t, vprog **out) {
    maker m = {.vprog = vprog_begin(REGION_ROW)};
    uint64_t in_place[1];
    vprog_type reg;
    *out = NULL;
    if (!m.vprog) return status_oom(sizeof m, "a region");
    int x = load(&m, t, (vprog_source){.kind = VPROG_DIRECT, .in = 0}),
        y = load(&m, t, (vprog_source){.kind = VPROG_DIRECT, .in = 1});
    vprog_op op = code == OP_add        ? VPROG_ADD
                  : code == OP_multiply ? VPROG_MUL
                  : code == OP_maximum  ? VPROG_MAX
                  : code == OP_minimum  ? VPROG_MIN
                                        : VPROG_NONE;
    if (!vprog_type_of(t, &reg) || op == VPROG_NONE || x < 0 || y < 0) {
        vprog_abandon(m.vprog);
        return NULL;
    }
    vprog_store(m.vprog, vprog_emit(m.vprog, op, reg, x, y, -1), 0, t);
    return vprog_finish(m.vprog, 1, out, in_place);
}
