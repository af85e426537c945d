/* A window on something dense, an iota or a constant of one value, written as a dense array. */
#include "cpu/plan/group_int.h"

xt_status group_emit_window(cpu_builder *b, const ir_value *v) {
    emission e = {.b = b, .vprog = vprog_begin(v->type->count), .count = v->type->count};
    vprog *t = NULL;
    uint64_t in_place = 0;
    xt_status s = NULL;
    if (!e.vprog) return status_oom(0, "a copy");
    /* Elements move as they are; only iota needs its type. A constant of one value is written when needed
     * rather than kept. */
    bool iota = emission_strip_aliases(v)->def && emission_strip_aliases(v)->def->code == OP_iota;
    int n;
    if (iota) {
        n = emission_load(&e, v);
    } else {
        cpu_ref base;
        view w;
        vprog_source src = {.elem = (uint32_t)xt_dtype_size(v->type->dtype)};
        const void *splat = cpu_build_splat(b, v);
        vprog_type raw;
        if (!vprog_type_of_size(src.elem, &raw) || (!splat && !build_window(b, v, &base, &w))) {
            s = status_new(XT_INTERNAL, NULL, "a value of type size %u has no window", src.elem);
            goto done;
        }
        if (splat) {
            src.kind = VPROG_SPLAT;
            memcpy(src.splat, splat, src.elem);
        } else {
            view_collapse(&w);
            bool one = w.n == 0 || (w.n == 1 && w.strides[0] == 0);
            src.kind = one ? VPROG_SCALAR : view_is_dense(&w) ? VPROG_DIRECT : VPROG_STRIDED;
            src.offset = src.kind == VPROG_DIRECT ? w.offset : 0;
            src.v = w;
            src.in = emission_add_input(&e, v, base);
        }
        n = vprog_load(e.vprog, &src, raw);
    }
    if ((s = e.status)) goto done;
    static const xt_dtype by_size[9] = {[1] = XT_U8, [2] = XT_U16, [4] = XT_U32, [8] = XT_U64};
    vprog_store(e.vprog, n, 0, iota ? v->type->dtype : by_size[xt_dtype_size(v->type->dtype)]);
    s = vprog_finish(e.vprog, 1, &t, &in_place);
    e.vprog = NULL;
    if (s) goto done;
    const ir_op *op = v->def;
    in_place = 0; /* a window may read elements of other blocks */
    s = emission_add_thunk(&e, &emission_copy, t, op, 1, &op, 1, &v, &in_place);
done:
    vprog_abandon(e.vprog);
    emission_free(&e);
    return s;
}
