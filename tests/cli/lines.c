/* Mistakes in constructors and settings, which record nothing: each message must begin with the line of the call, also
 * without debug information (lines.sh). Prints what does not, and how many were tried. */
#include <stdio.h>
#include <string.h>
#include <xtrain/xtrain.h>

static int tried, wrong;
static void look(int line) {
    char want[64];
    const char *said = xt_error() ? xt_status_message(xt_error()) : "no error";
    snprintf(want, sizeof want, "lines.c:%d: ", line);
    tried++;
    if (!strstr(said, want)) printf("line %d: %s\n", line, said), wrong++;
    xt_clear_error();
}
#define MISTAKE(...) (__VA_ARGS__, look(__LINE__))

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    return user ? x : xt_linear(m, "fc", x, 3);
}

int main(void) {
    static float f[64];
    const xt_spec pair = {XT_F32, {2}};
    xt_module *m = xt_module_new(net, NULL);
    xt_status_free(xt_module_build(m, (xt_spec){XT_F32, {4, 2}}));
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    MISTAKE(xt_sgd(m, .lr = -1));
    MISTAKE(xt_adamw(m, .beta1 = 7));
    MISTAKE(xt_adam(m, .eps = -1));
    MISTAKE(xt_adagrad(m, .lr = -1));
    MISTAKE(xt_rmsprop(m, .lr = -1));
    MISTAKE(xt_lion(m, .lr = -1));
    MISTAKE(xt_adafactor(m, .lr = -1));
    MISTAKE(xt_step_schedule(o, .step_size = -4));
    MISTAKE(xt_cosine_schedule(o, .t_max = -4));
    MISTAKE(xt_plateau_schedule(o, .patience = -4));
    MISTAKE(xt_warmup_schedule(o, 0, NULL));
    MISTAKE(xt_warmup_schedule(o, 5, NULL, .start_factor = 9)); /* told by the schedule inside it */
    MISTAKE(xt_optimizer_set_lr(o, -1));
    MISTAKE(xt_optimizer_set_momentum(o, 9));
    MISTAKE(xt_optimizer_bucket(o, -9));
    MISTAKE(xt_autocast_begin(XT_I32));
    MISTAKE(xt_autocast_end());
    MISTAKE(xt_no_grad_end());
    MISTAKE(xt_log_every_n_steps(-1));
    MISTAKE(xt_loader_new(xt_array_dataset(f, pair, f, pair, 10), .batch = -5));
    MISTAKE(xt_loader_new(xt_array_dataset(f, pair, f, pair, 10), .batch = 100));
    MISTAKE(xt_npy_dataset("/nowhere/x.npy", NULL));
    MISTAKE(xt_mnist_dataset("/nowhere"));
    MISTAKE(xt_cifar10("/nowhere", "train"));
    MISTAKE(xt_csv_dataset("/nowhere/t.csv", .y = "label"));
    MISTAKE(xt_image_folder("/nowhere", 32));
    MISTAKE(xt_text_dataset("/nowhere", 32, 1));
    MISTAKE(xt_safetensors_dataset("/nowhere", "x", "y"));
    MISTAKE(xt_subset(xt_array_dataset(f, pair, f, pair, 10), (const int64_t[]){1, 99}, 2));
    MISTAKE(xt_mnist_loader("test", -3));
    MISTAKE(xt_early_stopping(.monitor = NULL));
    MISTAKE(xt_model_checkpoint(.every_n_epochs = -2));
    MISTAKE(xt_timer(.duration = "soon"));
    MISTAKE(xt_trainer_new(.max_epochs = -5));
    printf("%d tried, %d wrong\n", tried, wrong);
    return xt_finish() || wrong;
}
