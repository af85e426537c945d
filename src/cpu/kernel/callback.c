/* custom_call @xtrain_host_callback: a function of the process that compiled the program, as Python's callbacks in JAX
 * (python/xtrain_pjrt/jax.py).
 *
 * The op's backend_config has two numbers: `function`, the address of an xt_host_function that the process has named
 * (host_function.h), and `id`, which it gets back. The addresses mean something in one process only, so such programs
 * are not serialised (cpu_serialize refuses them). `once` = 1: of several devices only the first calls it;
 * `partitioned` = 1: the partitioner gives each device its parts of the operands. */
#include "cpu/kernel/coll.h"
#include "cpu/kernel/kernel.h"
#include "ir/config.h"
#include "ir/host_function.h"

typedef struct xt_host_array { /* what the function sees of an operand or result: dense, row-major */
    void *data;
    const int64_t *dims;
    int32_t rank, dtype; /* xt_dtype, PJRT's numbers */
} xt_host_array;
typedef int (*xt_host_function)(int64_t id, int n_in, const xt_host_array *in, int n_out, const xt_host_array *out,
                                char *error, size_t error_size);

static int describe(const array *from, uint32_t n, xt_host_array *to) {
    int k = 0;
    for (uint32_t i = 0; i < n; i++)
        if (from[i].type->kind == IR_TENSOR)
            to[k++] = (xt_host_array){from[i].data, from[i].type->dims, (int32_t)from[i].type->rank,
                                      (int32_t)from[i].type->dtype};
    return k; /* tokens order calls; the function does not see them */
}

xt_status cpu_custom_call_hook(void *device, const ir_op *op, const array *in, array *out) {
    const cpu_device *d = device;
    if (!host_function_is_callback(op)) return interp_unknown_call(op);
    void *function;
    XT_TRY(host_function_of(op, &function));
    if (ir_config_int(op, "once", 0) && d && d->group && coll_rank(d->group) != 0) return NULL;
    xt_host_array *arrays = base_calloc(op->n_in + op->n_out + 1, sizeof *arrays);
    if (!arrays) return status_oom(op->n_in * sizeof *arrays, "a host callback");
    char error[4096] = "";
    int n_in = describe(in, op->n_in, arrays), n_out = describe(out, op->n_out, arrays + n_in);
    int rc = ((xt_host_function)(uintptr_t)function)(ir_config_int(op, "id", 0), n_in, arrays, n_out, arrays + n_in,
                                                     error, sizeof error);
    base_free(arrays);
    error[sizeof error - 1] = 0;
    return rc == 0 ? NULL : status_new(XT_INTERNAL, NULL, "%s", *error ? error : "a host callback failed");
}
