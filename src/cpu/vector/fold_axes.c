#include "cpu/vector/fold_axes.h"

int64_t cpu_fold_at(int64_t index, int n, const int64_t *dims, const int64_t *strides) {
    int64_t at = 0;
    for (int i = n - 1; i >= 0; i--) {
        at += index % dims[i] * strides[i];
        index /= dims[i];
    }
    return at;
}

void cpu_fold_axes(const ir_type *t, const int64_t *dims, size_t n_dims, fold_axes *out) {
    int64_t size[VIEW_MAX], stride[VIEW_MAX], step = 1;
    bool red[VIEW_MAX];
    int n = 0; /* merged dims, innermost first */
    *out = (fold_axes){.run = 1, .keep = 1, .red = 1};
    for (int i = (int)t->rank - 1; i >= 0; i--) {
        bool is_red = false;
        for (size_t k = 0; k < n_dims; k++) is_red = is_red || dims[k] == i;
        if (t->dims[i] == 1) continue;
        if (n > 0 && red[n - 1] == is_red) {
            size[n - 1] *= t->dims[i];
        } else {
            size[n] = t->dims[i];
            stride[n] = step;
            red[n++] = is_red;
        }
        step *= t->dims[i];
    }
    if (n > 0) out->run = size[0];
    out->inner_reduced = n == 0 || red[0];
    for (int i = n - 1; i > 0; i--) {
        if (red[i]) {
            out->red_dims[out->n_red] = size[i], out->red_strides[out->n_red++] = stride[i], out->red *= size[i];
        } else {
            out->keep_dims[out->n_keep] = size[i], out->keep_strides[out->n_keep++] = stride[i], out->keep *= size[i];
        }
    }
}
