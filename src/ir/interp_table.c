/* Which function runs an op, from the table of ops, and the words for an op that nobody runs. */
#include "ir/interp_plan.h"
#include "ir/quant.h"

static const interp_fn functions[OP_COUNT] = {
#define OP(name, dialect, cls, nin, nout, nregions, rule, flags, meaning, ...) [OP_##name] = interp_##meaning,
#include "ir/ops.def"
#undef OP
};

bool interp_knows(ir_opcode code) {
    if (is_control(code) || code == OP_call || code == OP_composite) return true;
    if (ir_op_infos[code].flags & IR_TERMINATOR) return true;
    if (functions[code] != interp_elementwise) return functions[code] != interp_none;
    return code == OP_convert || code == OP_compare || code == OP_complex || ew_float(code, XT_F32, -1, false) ||
           ew_int(code, XT_I32, -1);
}

xt_status interp_dispatch(interp *c, const ir_op *op, const array *in, array *out) {
    return quant_computes(op) ? interp_quantized(c, op, in, out) : functions[op->code](c, op, in, out);
}

xt_status interp_none(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c, (void)in, (void)out;
    return interp_unsupported(op, "this op");
}

xt_status interp_temp(size_t count, size_t size, void *out_ptr) {
    size_t bytes;
    void *p = size_mul(count, size, &bytes) && bytes <= PTRDIFF_MAX ? base_aligned(64, bytes ? bytes : 64) : NULL;
    memcpy(out_ptr, &p, sizeof p);
    return p ? NULL : status_oom(count * size, "the interpreter's scratch memory");
}

xt_status interp_unsupported(const ir_op *op, const char *what) {
    str t = STR_INIT;
    for (uint32_t j = 0; j < op->n_in; j++) {
        if (j) str_append(&t, ", ");
        ir_type_print(op->in[j]->type, &t);
    }
    xt_status s = status_new(XT_UNIMPLEMENTED, NULL, "%s.%s(%s): the interpreter has no meaning for %s",
                             ir_op_infos[op->code].dialect, ir_op_infos[op->code].name, str_cstr(&t), what);
    str_free(&t);
    return s;
}
