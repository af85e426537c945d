/* The small way, without the Trainer: real or drawn digits, training, evaluation, weights saved and loaded. DIR
 * (optional) holds IDX files. */
#include <stdio.h>

#include <xtrain/xtrain.h>

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 64));
    return xt_linear(m, "fc2", xt_dropout(m, x, 0.1), 10);
}

/* Share of right answers; waits once, at the end. */
static double evaluate(xt_module *m, xt_loader *test) {
    xt_tensor hits = xt_keep(xt_zeros(XT_F32));
    double n = 0;
    xt_eval(m);
    xt_no_grad_begin();
    for (xt_batch b; xt_next(test, &b); n += (double)b.size) {
        xt_tensor sum = xt_keep(xt_add(hits, xt_accuracy(xt_forward(m, b.x), b.y).numerator));
        xt_drop(hits);
        hits = sum;
    }
    xt_no_grad_end();
    xt_train(m);
    double right = xt_item(hits);
    xt_drop(hits);
    return right / n;
}

int main(int argc, char **argv) {
    const char *dir = argc > 1 ? argv[1] : NULL;
    xt_dataset *test;
    xt_seed(1);
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *adam = xt_adamw(m, .lr = 1e-3);
    xt_loader *train = xt_loader_new(xt_mnist_dataset(dir), .batch = 128, .shuffle = XT_ON, .workers = 2);
    if (xt_mnist_open(dir, "test", &test)) return xt_finish();
    xt_loader *check = xt_loader_new(test, .batch = 250);
    for (int epoch = 0; epoch < 2; epoch++)
        for (xt_batch b; xt_next(train, &b);) {
            xt_backward(xt_cross_entropy(xt_forward(m, b.x), b.y));
            xt_optimizer_step(adam);
        }
    printf("accuracy %.3f\n", evaluate(m, check));
    if (xt_save(m, "digits.safetensors")) return xt_finish();
    xt_module *again = xt_module_new(net, NULL);
    if (xt_load(again, "digits.safetensors")) return xt_finish();
    printf("accuracy after loading %.3f\n", evaluate(again, check));
    return xt_finish();
}
