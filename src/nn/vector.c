/* A module's parameters as one vector, and back, for optimizers and analyses that think in vectors. */
#include <xtrain/ops.h>

#include "nn/nn.h"

/* How many elements the parameters have; -1 after an error: there are none yet. */
static int64_t parameters_of(const xt_src *src, const char *what, const xt_module *m, int *out_n) {
    int64_t elements = 0;
    *out_n = 0;
    for (int i = 0; i < xt_module_tensors(m); i++) {
        if (!xt_module_tensor_is_param(m, i)) continue;
        elements += xt_numel(xt_module_tensor(m, i));
        (*out_n)++;
    }
    if (*out_n) return elements;
    lazy_error(src, XT_INVALID_ARGUMENT,
               "%s: the module has no parameters yet: they are made by the first xt_forward, or by xt_module_build",
               what);
    return -1;
}

xt_tensor xt_parameters_to_vector_at(const xt_src *src, const xt_module *m) {
    int n, k = 0;
    if (parameters_of(src, "xt_parameters_to_vector", m, &n) < 0) return lazy_failed_tensor(src);
    xt_tensor *parts = base_calloc((size_t)n, sizeof *parts);
    if (!parts)
        return lazy_error(src, XT_RESOURCE_EXHAUSTED, "xt_parameters_to_vector: no memory for %d parameters", n);
    for (int i = 0; i < xt_module_tensors(m); i++)
        if (xt_module_tensor_is_param(m, i))
            parts[k++] = xt_reshape_at(src, xt_module_tensor(m, i), (const int64_t[]){-1, 0});
    xt_tensor v = xt_concat_at(src, n, parts, 0);
    base_free(parts);
    return v;
}

/* `at` elements of v as a tensor of t's shape and dtype. */
static xt_tensor part_of(const xt_src *src, xt_tensor v, int64_t at, const ir_type *t) {
    int64_t dims[XT_MAX_RANK + 1] = {0};
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    return xt_cast_at(src, xt_reshape_at(src, xt_slice_at(src, v, 0, at, at + t->count), dims), t->dtype);
}

bool xt_vector_to_parameters_at(const xt_src *src, xt_tensor v, const xt_module *m) {
    const char *what = "xt_vector_to_parameters";
    const ir_type *t = lazy_type(v);
    int n;
    int64_t elements = parameters_of(src, what, m, &n), at = 0;
    if (elements < 0) return false;
    if (t && (t->rank != 1 || t->count != elements || !ir_dtype_is_float(t->dtype))) {
        lazy_error(src, XT_INVALID_ARGUMENT,
                   "%s: the vector is %s with %d dims and %lld elements; %lld floats in one dim are needed, as "
                   "xt_parameters_to_vector gives",
                   what, xt_dtype_name(t->dtype), (int)t->rank, (long long)t->count, (long long)elements);
        return false;
    }
    for (int i = 0; i < xt_module_tensors(m) && !lazy_pending(); i++) {
        if (!xt_module_tensor_is_param(m, i)) continue;
        xt_tensor p = xt_module_tensor(m, i);
        const ir_type *of = lazy_type(p);
        if (!of) return false;
        xt_assign_at(src, p, part_of(src, v, at, of));
        at += of->count;
    }
    return !lazy_pending();
}
