/* Weight tying: the output layer is the embedding's matrix. A parameter is a tensor like any other: find it and use it
 * a second time. */
#include "check.h"

enum { VOCAB = 11, WIDTH = 8, BATCH = 4, SEQ = 6 };

static xt_tensor trunk(xt_module *m, xt_tensor tokens) {
    return xt_gelu(xt_linear(m, "fc", xt_embedding(m, "wte", tokens, VOCAB, WIDTH), WIDTH));
}

/* head.weight = wte.weight: tokens [B,T] -> logits [B,T,VOCAB] */
static xt_tensor tied(xt_module *m, xt_tensor tokens, void *user) {
    (void)user;
    xt_tensor x = trunk(m, tokens);
    return xt_matmul(x, xt_transpose(xt_module_find(m, "wte.weight"), 0, 1));
}

static xt_tensor untied(xt_module *m, xt_tensor tokens, void *user) {
    (void)user;
    return xt_linear(m, "head", trunk(m, tokens), VOCAB, .bias = XT_OFF);
}

static xt_tensor loss_of(xt_module *m) {
    int64_t text[BATCH * SEQ + 1];
    for (int i = 0; i <= BATCH * SEQ; i++) text[i] = (i * i + 3) % VOCAB;
    return xt_cross_entropy(xt_forward(m, xt_from_array(text, XT_I64, BATCH, SEQ)),
                            xt_from_array(text + 1, XT_I64, BATCH, SEQ), .axis = -1);
}

int main(void) {
    float got[VOCAB * WIDTH], want[VOCAB * WIDTH];
    xt_module *m = xt_module_new(tied, NULL), *other = xt_module_new(untied, NULL);
    const xt_spec tokens = {XT_I64, {BATCH, SEQ}};
    if (xt_module_build(m, tokens) || xt_module_build(other, tokens)) return xt_finish();
    xt_assign(xt_module_find(other, "head.weight"), xt_module_find(m, "wte.weight"));
    for (int i = 0; i < xt_module_tensors(m); i++)
        xt_assign(xt_module_find(other, xt_module_tensor_name(m, i)), xt_module_tensor(m, i));
    xt_wait();
    xt_tensor a = loss_of(m), b = loss_of(other);
    xt_backward(a), xt_backward(b);
    xt_tensor sum = xt_add(xt_grad(xt_module_find(other, "wte.weight")), xt_grad(xt_module_find(other, "head.weight")));
    xt_read(xt_grad(xt_module_find(m, "wte.weight")), got, sizeof got);
    xt_read(sum, want, sizeof want);
    check("the losses are equal", fabs(xt_item(a) - xt_item(b)) < 1e-6);
    check_close("the gradient and the sum of both uses", got, want, VOCAB * WIDTH, 1e-6);
    check("one matrix less", xt_module_param_count(other) - xt_module_param_count(m) == VOCAB * WIDTH);
    xt_optimizer *adam = xt_adamw(m, .lr = 1e-2);
    xt_zero_grad(adam);
    xt_module_free(other);
    xt_wait();
    int64_t before = programs();
    for (int k = 0; k < 5; k++) {
        xt_backward(loss_of(m));
        xt_optimizer_step(adam);
        xt_mark_step();
    }
    xt_wait();
    check_programs("training", programs() - before, 1);
    return xt_finish() || faults;
}
