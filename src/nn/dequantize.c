/* What layers get in the place of a weight that quantize.c has made integers of. */
#include "nn/nn.h"
#include "ops/ops.h"

char *nn_scale_name(const char *weight) {
    size_t n = strlen(weight) + sizeof "_scale";
    char *name = base_malloc(n);
    if (name) snprintf(name, n, "%s_scale", weight);
    return name;
}

static ir_value *nibbles(ir_builder *b, ir_value *bytes) {
    const ir_type *t = bytes->type;
    ir_value *parts[2] = {ir_and(b, bytes, ir_splat(b, t, 15)), ir_shift_right_logical(b, bytes, ir_splat(b, t, 4))},
             *all = ir_concatenate(b, 2, parts, 2);
    if (!all) return NULL;
    return ir_subtract(b, ir_convert(b, all, XT_F32), ir_splat(b, ir_with_dtype(all->type, XT_F32), 8));
}

xt_tensor nn_dequantized(const xt_src *src, const nn_root *r, const nn_entry *e, int rank, const int64_t *dims) {
    char *name = nn_scale_name(e->name);
    uintptr_t at = name ? (uintptr_t)map_get(r->by_name, name, strlen(name)) : 0;
    base_free(name);
    int64_t per_byte = e->bits == 4 ? 2 : 1;
    if (!at || rank != 2 || dims[0] != e->type->dims[0] || dims[0] * dims[1] != e->type->count * per_byte)
        return lazy_error(src, XT_INVALID_ARGUMENT, "%s is a weight of %lld rows as integers; this call needs another",
                          e->name, (long long)e->type->dims[0]);
    ir_builder *b = lazy_begin(src);
    ir_value *q = lazy_value(e->t), *f = lazy_value(r->entries[at - 1].t);
    ir_value *w = q && f ? e->bits == 4 ? nibbles(b, q) : ir_convert(b, q, XT_F32) : NULL;
    ir_value *wide = w ? ir_broadcast_in_dim(b, f, w->type, 2, (int64_t[]){0, 1}) : NULL;
    return lazy_wrap(wide ? ir_reshape(b, ir_multiply(b, w, wide), 2, dims) : NULL, e->name);
}
