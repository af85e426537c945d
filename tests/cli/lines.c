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

/* What callbacks of the library keep on the device has the line that made the callback. */
static int averaging_line, spikes_line, averages, spikes, unknown;
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    return user ? x : xt_linear(m, "fc", x, 3);
}

static xt_tensor fit_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mse_loss(xt_forward(m, b.x), b.y);
}
static xt_optimizer *fit_optimizer(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.1);
}
static void look_at_buffers(xt_trainer *t, void *user) {
    xt_memory_row rows[64];
    int n = xt_memory_rows(rows, 64);
    (void)t, (void)user;
    for (int i = 0; i < n && i < 64; i++) {
        bool mine = strstr(rows[i].file, "lines.c") != NULL;
        averages += mine && rows[i].line == averaging_line;
        spikes += mine && rows[i].line == spikes_line;
        bool ours = strstr(rows[i].file, "src/") != NULL;
        if (ours) printf("%s:%d %s\n", rows[i].file, rows[i].line, rows[i].role), unknown++;
    }
}
static bool callbacks_are_told_by_their_lines(void) {
    static float x[16], y[24];
    xt_task task = {.net = net, .training_step = fit_step, .configure_optimizers = fit_optimizer};
    xt_callback_desc look = {.struct_size = sizeof look, .name = "look", .step_end = look_at_buffers};
    xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {2}}, y, (xt_spec){XT_F32, {3}}, 8), .batch = 4);
    xt_trainer *t = xt_trainer_new(.max_epochs = 2, .logger = XT_OFF, .progress_bar = XT_OFF);
    averaging_line = __LINE__ + 1;
    xt_trainer_add(t, xt_weight_averaging());
    spikes_line = __LINE__ + 1;
    xt_trainer_add(t, xt_spike_detection());
    xt_trainer_add(t, xt_callback_new(&look, NULL));
    return xt_fit(t, &task, l) == 0 && averages > 0 && spikes > 0 && unknown == 0;
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
    if (!callbacks_are_told_by_their_lines())
        printf("buffers: %d of averages, %d of spikes, %d of unknown lines\n", averages, spikes, unknown), wrong++;
    return xt_finish() || wrong;
}
