/* LoRA (Hu et al. 2021): a trained network's weights stay as they are, and beside each matrix W two thin ones learn,
 * y = W x + SCALE B A x. The adapters are a child of their own, saved alone; merged, they cost nothing. */
#include "check.h"

#define SCALE 2.0
enum { RANK = 2, IN = 12, HIDDEN = 16, OUT = 3, BATCH = 8, STEPS = 20 };

/* In place of xt_linear. B begins as zeros, so the network begins as it was. */
static xt_tensor adapted(xt_module *m, const char *name, xt_tensor x, int64_t out) {
    xt_module *own = xt_sub(xt_sub(m, "lora", -1), name, -1);
    xt_tensor low = xt_linear(own, "A", x, RANK, .bias = XT_OFF);
    xt_tensor change = xt_linear(own, "B", low, out, .bias = XT_OFF);
    return xt_add(xt_linear(m, name, x, out), xt_mul(change, SCALE));
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return adapted(m, "fc2", xt_tanh(adapted(m, "fc1", x, HIDDEN)), OUT);
}

/* W + SCALE B A, and B = 0 again. */
static void merge(xt_module *m, const char *name) {
    xt_module *own = xt_sub(xt_sub(m, "lora", -1), name, -1);
    xt_tensor w = xt_module_find(xt_sub(m, name, -1), "weight"), b = xt_module_find(own, "B.weight");
    xt_assign(w, xt_add(w, xt_mul(xt_matmul(b, xt_module_find(own, "A.weight")), SCALE)));
    xt_assign(b, xt_zeros_like(b));
}

/* The base's weights from its file; trained is what stands under "lora." alone. */
static xt_optimizer *adapt(xt_module *m, const char *base) {
    if (xt_module_build(m, (xt_spec){XT_F32, {BATCH, IN}})) return NULL;
    if (xt_load_with(m, base, .strict = XT_OFF)) return NULL;
    xt_init_zeros(m, "lora.*.B.weight");
    xt_freeze(m, "*");
    xt_unfreeze(m, "lora.*");
    return xt_adamw(m, .lr = 1e-2);
}

static xt_tensor plain(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc2", xt_tanh(xt_linear(m, "fc1", x, HIDDEN)), OUT);
}

static xt_tensor inputs(void) {
    float x[BATCH * IN];
    for (int i = 0; i < BATCH * IN; i++) x[i] = sinf((float)(i * i));
    return xt_from_array(x, XT_F32, BATCH, IN);
}
static xt_tensor labels(void) {
    return xt_from_array(((int64_t[BATCH]){0, 1, 2, 0, 1, 2, 0, 1}), XT_I64, BATCH);
}
static void outputs(xt_module *m, float *out) {
    xt_read(xt_forward(m, inputs()), out, BATCH * OUT * sizeof *out);
    xt_mark_step();
}

int main(void) {
    float was[BATCH * OUT], begun[BATCH * OUT], trained[BATCH * OUT], merged[BATCH * OUT];
    float before[HIDDEN * IN], after[HIDDEN * IN];
    xt_module *base = xt_module_new(plain, NULL), *m = xt_module_new(net, NULL);
    outputs(base, was);
    if (xt_save(base, "base.safetensors")) return xt_finish();
    xt_optimizer *adam = adapt(m, "base.safetensors");
    if (!adam) return xt_finish();
    outputs(m, begun);
    check_close("the base and the network with new adapters", begun, was, BATCH * OUT, 0);
    xt_read(xt_module_find(m, "fc1.weight"), before, sizeof before);
    xt_wait();
    int64_t compiled = programs();
    double first = 0, last = 0;
    for (int k = 0; k < STEPS; k++) {
        xt_tensor loss = xt_cross_entropy(xt_forward(m, inputs()), labels());
        xt_backward(loss);
        xt_optimizer_step(adam);
        xt_keep(loss);
        xt_mark_step();
        if (k == 0) first = xt_item(loss);
        if (k == STEPS - 1) last = xt_item(loss);
        xt_drop(loss);
    }
    check_programs("training", programs() - compiled, 1);
    check("the loss has fallen", last < 0.9 * first);
    xt_read(xt_module_find(m, "fc1.weight"), after, sizeof after);
    check_close("the base's weights, before and after", after, before, HIDDEN * IN, 0);
    if (xt_save(xt_sub(m, "lora", -1), "adapters.safetensors")) return xt_finish();
    outputs(m, trained);
    merge(m, "fc1");
    merge(m, "fc2");
    outputs(m, merged);
    check_close("adapters beside the weights and merged", merged, trained, BATCH * OUT, 1e-5);
    if (xt_load_with(m, "base.safetensors", .strict = XT_OFF)) return xt_finish();
    if (xt_load(xt_sub(m, "lora", -1), "adapters.safetensors")) return xt_finish();
    outputs(m, merged);
    check_close("trained, and loaded from both files", merged, trained, BATCH * OUT, 0);
    remove("base.safetensors"), remove("adapters.safetensors");
    return xt_finish() || faults;
}
