/* backend_config as JAX's FFI writes it: mhlo.backend_config in older programs, backend_config in newer ones. */
#include "ir/config.h"

int64_t ir_config_int(const ir_op *op, const char *name, int64_t fallback) {
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        const ir_attr *d = &op->attrs[i];
        if (!d->name || (strcmp(d->name, "mhlo.backend_config") != 0 && strcmp(d->name, "backend_config") != 0) ||
            d->kind != IR_AK_DICT)
            continue;
        for (size_t k = 0; k < d->n; k++)
            if (d->v.list[k].name && !strcmp(d->v.list[k].name, name) && d->v.list[k].kind == IR_AK_INT)
                return d->v.list[k].v.i;
    }
    return fallback;
}
