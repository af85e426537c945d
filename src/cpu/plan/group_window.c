/* A window on something dense, an iota or a constant of one value, written as a dense array. */
#include "cpu/plan/group_int.h"

/* Elements move as they are; only iota needs its type. A constant of one value is written when needed rather than
 * kept. */
static xt_status settle(cpu_builder *b, loop_reads *r, const ir_value *v, bool iota, vprog_source *out) {
    cpu_ref base;
    view w;
    vprog_type raw;
    bool can = true;
    if (iota) {
        XT_TRY(loop_read_value(b, r, v, out, &can));
        return can ? NULL
                   : status_new(XT_INTERNAL, NULL, "no vector instruction counts in %s", xt_dtype_name(v->type->dtype));
    }
    const void *splat = cpu_build_splat(b, v);
    *out = (vprog_source){.elem = (uint32_t)xt_dtype_size(v->type->dtype)};
    if (!vprog_type_of_size(out->elem, &raw) || (!splat && !build_window(b, v, &base, &w)))
        return status_new(XT_INTERNAL, NULL, "a value of type size %u has no window", out->elem);
    if (splat) {
        out->kind = VPROG_SPLAT;
        memcpy(out->splat, splat, out->elem);
        return NULL;
    }
    view_collapse(&w);
    bool one = w.n == 0 || (w.n == 1 && w.strides[0] == 0);
    out->kind = one ? VPROG_SCALAR : view_is_dense(&w) ? VPROG_DIRECT : VPROG_STRIDED;
    out->offset = out->kind == VPROG_DIRECT ? w.offset : 0;
    out->v = w;
    return loop_add_input(r, v, base, &out->in);
}

xt_status group_emit_window(cpu_builder *b, const ir_value *v) {
    static const xt_dtype by_size[9] = {[1] = XT_U8, [2] = XT_U16, [4] = XT_U32, [8] = XT_U64};
    const ir_value *root = loop_strip_aliases(v);
    const bool iota = root->def && root->def->code == OP_iota;
    const ir_op *op = v->def;
    loop_reads from = {.count = v->type->count};
    vprog_builder *p = vprog_begin(v->type->count);
    vprog_source source;
    vprog_type raw = VPROG_U8;
    vprog *t = NULL;
    uint64_t in_place;
    xt_status s = p ? settle(b, &from, v, iota, &source) : status_oom(0, "a copy");
    if (s) goto done;
    vprog_type_of_size(source.elem, &raw);
    vprog_store(p, iota ? loop_load(p, v, &source) : vprog_load(p, &source, raw), 0,
                iota ? v->type->dtype : by_size[xt_dtype_size(v->type->dtype)]);
    s = vprog_finish(p, 1, &t, &in_place); /* not in place: a window may read elements of other blocks */
    p = NULL;
    if (!s) s = loop_add_thunk(b, &loop_copy, &from, t, op, 1, &op, 1, &v);
done:
    vprog_abandon(p);
    loop_reads_free(&from);
    return s;
}
