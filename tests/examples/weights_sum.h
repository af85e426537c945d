/* A number that stands for a module's tensors, to the bit: runs that print the same one have the same weights. */
#include <string.h>
#include <xtrain/xtrain.h>

/* 0: a tensor could not be read. Those whose names have `but` in them (NULL: none) are left out. */
static unsigned long long weights_sum(const xt_module *m, const char *but) {
    unsigned long long sum = 14695981039346656037ull;
    for (int i = 0; m && i < xt_module_tensors(m); i++) {
        unsigned char bytes[1024];
        xt_tensor t = xt_module_tensor(m, i);
        size_t n = (size_t)xt_numel(t) * xt_dtype_size(xt_dtype_of(t));
        if (but && strstr(xt_module_tensor_name(m, i), but)) continue;
        if (n > sizeof bytes || !xt_read(t, bytes, n)) return 0;
        for (size_t k = 0; k < n; k++) sum = (sum ^ bytes[k]) * 1099511628211ull;
    }
    return sum;
}
