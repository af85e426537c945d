/* xt_print and %t of whole tensors, where a value arrives late, in a compiled function, at some steps, or never. */
#include <xtrain/xtrain.h>

static xt_tensor doubled(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    xt_tensor y = xt_mul(in[0], 2);
    xt_print(y);
    return y;
}

int main(void) {
    xt_tensor x = xt_from_array((float[]){1, 2.5F, -3, 4}, XT_F32, 2, 2);
    xt_print(x);
    xt_print(xt_sum(x));
    xt_print(xt_cast(xt_scalar(1234567, XT_F32), XT_I64));
    xt_master_printf("%s of %d: %t and %t, 100%%\n", "parts", 2, xt_sum_axis(x, 0), xt_gt(x, 0));
    xt_mark_step();
    for (int i = 0; i < 4; i++) {
        xt_tensor y = xt_add(xt_from_array((float[]){(float)i, 0.5F}, XT_F32, 2), 1);
        if (i % 2) xt_print(y);
        xt_mark_step();
    }
    xt_step *twice = xt_compile(doubled);
    for (int i = 0; i < 3; i++) {
        xt_call(twice, xt_from_array((float[]){(float)i, 7}, XT_F32, 2));
        xt_mark_step();
    }
    xt_step_free(twice);
    xt_print(xt_zeros(XT_F32, 2, 2, 2));
    return xt_finish();
}
