/* See range.h. */
#include "lazy/program/range.h"

#include <math.h>

#include "lazy/core/ctx.h"

range range_of(const void *data, const ir_type *t) {
    range r = {INFINITY, -INFINITY, t->count, 0, 0};
    size_t size = xt_dtype_size(t->dtype);
    for (int64_t i = 0; i < t->count; i++) {
        double v = lazy_as_double((const char *)data + (size_t)i * size, t->dtype);
        if (isnan(v))
            r.nan++;
        else if (isinf(v))
            r.inf++;
        else {
            if (v < r.low) r.low = v;
            if (v > r.high) r.high = v;
        }
    }
    return r;
}

void range_print(str *t, const range *r) {
    if (r->low > r->high)
        str_append(t, "no finite number");
    else
        str_printf(t, "from %g to %g", r->low, r->high);
    if (r->nan) str_printf(t, ", %lld NaN", (long long)r->nan);
    if (r->inf) str_printf(t, ", %lld Inf", (long long)r->inf);
}

bool range_only_moves(const ir_op *op) {
    ir_class cls = ir_op_infos[op->code].cls;
    return cls == IR_CLASS_SHAPE || cls == IR_CLASS_CONSTANT || op->code == OP_select || op->code == OP_gather ||
           op->code == OP_dynamic_slice;
}
