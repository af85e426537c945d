/* The linear layer, with what LoRA adds to it: it stands above both. PyTorch's initialisation: uniform in
 * +-1/sqrt(fan_in). */
#include <math.h>

#include "nn/nn.h"
#include "ops/ops.h"

xt_tensor xt_linear_at(const xt_src *src, xt_module *m, const char *name, xt_tensor x, int64_t out, xt_linear_opts o) {
    const ir_type *t = lazy_type(x);
    if (!t || t->rank < 1 || !ir_dtype_is_float(t->dtype) || out < 1)
        return nn_bad_input(src, "xt_linear", name, x,
                            "a float tensor [...,I] and at least one output feature are needed");
    if (!nn_layer_begin(src, m, name)) return nn_bad_input(src, "xt_linear", name, (xt_tensor){0}, "");
    int64_t in = t->dims[t->rank - 1];
    double bound = in > 0 ? 1.0 / sqrt((double)in) : 0;
    xt_tensor w =
        nn_tensor(src, m, name, "weight", true, NN_UNIFORM, bound, nn_param_dtype(t), 2, (int64_t[]){out, in});
    xt_tensor y = xt_matmul_at(src, x, xt_transpose_at(src, w, 0, 1));
    if (o.bias != XT_OFF || nn_has(m, name, "bias"))
        y = xt_add_at(src, y, nn_tensor(src, m, name, "bias", true, NN_UNIFORM, bound, nn_param_dtype(t), 1, &out));
    y = nn_lora_added(src, m, name, x, y, in, out);
    nn_layer_end();
    return y;
}
