/* Every name of the API's description, used as it is described there: a program written from the description and the
 * headers alone. It must compile as C11 and as C++20 by both compilers, run, and say nothing but "api: ok". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/xtrain.h>

static int faults;
#define CHECK(cond)                                                      \
    do {                                                                 \
        if (!(cond)) faults++, printf("line %d: %s\n", __LINE__, #cond); \
    } while (0)

enum { BATCH = 16, SEQ = 6, WIDTH = 8, CLASSES = 10 };

/* x: [N,1,28,28] -> log-probabilities [N,10] */
static xt_tensor mnist_net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_max_pool2d(xt_conv2d(m, "conv1", x, 10, 5), 2));
    x = xt_batch_norm(m, "bn1", x);
    x = xt_relu_at(XT_HERE, xt_max_pool2d(xt_conv2d(m, "conv2", x, 20, 5, .stride = 1), 2));
    x = xt_batch_norm(m, "bn2", x);
    x = xt_relu(xt_linear(m, "fc1", xt_flatten(x, 1), 50));
    return xt_log_softmax(xt_linear(m, "fc2", x, CLASSES), 1);
}

static xt_tensor block(xt_module *m, xt_tensor x, void *heads) {
    x = xt_add(x, xt_self_attention(m, "attn", xt_layer_norm(m, "ln_1", x), .heads = *(int *)heads, .causal = XT_ON));
    xt_tensor h = xt_gelu(xt_linear(m, "mlp.c_fc", xt_layer_norm(m, "ln_2", x), 4 * xt_dim(x, -1)));
    return xt_add(x, xt_linear(m, "mlp.c_proj", h, xt_dim(x, -1)));
}

static xt_tensor blocks(xt_module *m, xt_tensor x, void *heads) {
    xt_share(m, "twice");
    x = xt_linear(m, "twice", xt_linear(m, "twice", x, WIDTH), WIDTH);
    for (int i = 0; i < 2; i++) x = xt_checkpoint_block(block, xt_sub(m, "h", i), x, heads);
    return x;
}

/* --- tensors, gradients, modules, values --- */
static int arrived;
static void when(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    if (dtype == XT_F32 && bytes == sizeof(float)) *(float *)user = *(const float *)data;
    arrived++;
}

static void tensors(void) {
    const float data[] = {1, 2, 3, 4, 5, 6};
    float back[6], late = 0;
    xt_tensor x = xt_from_array(data, XT_F32, 2, 3), kept = xt_keep(xt_add(x, x));
    CHECK(xt_dim(x, -1) == 3);
    xt_scope_begin("a region");
    xt_when_ready(xt_sum(kept), when, &late);
    xt_scope_end();
    CHECK(xt_mark_step());
    CHECK(xt_read(kept, back, sizeof back) && back[5] == 12);
    CHECK(xt_item(xt_sum(kept)) == 42);
    xt_drop(kept);
    xt_mark_step();
    (void)xt_add(kept, kept); /* a dead handle: an error with its lines, never undefined behaviour */
    CHECK(strstr(xt_status_message(xt_error()), "xt_keep")); /* looked at: the step's end does not end the program */
    CHECK(!xt_mark_step());
    xt_clear_error();
    xt_wait();
    CHECK(arrived == 1 && late == 42);
    const xt_tensor none = {0, 0};
    CHECK(xt_is_none(none));
}

static void modules(void) {
    int heads = 2;
    xt_module *m = xt_module_new(blocks, &heads), *other = xt_module_new(blocks, &heads);
    const xt_spec spec = {XT_F32, {2, SEQ, WIDTH}};
    CHECK(!xt_module_build(m, spec) && !xt_module_build(other, spec));
    const xt_sgd_opts by_hand = XT_OPTS(xt_sgd_opts, .lr = 0.1);
    xt_optimizer *opt = xt_adamw(m, .lr = 1e-2), *plain = xt_sgd_opt(XT_HERE, other, by_hand);
    float x[2 * SEQ * WIDTH];
    for (int i = 0; i < 2 * SEQ * WIDTH; i++) x[i] = sinf((float)i);
    CHECK(!xt_save(m, "api_names.safetensors") && !xt_load(other, "api_names.safetensors"));
    remove("api_names.safetensors");
    double first = 0;
    for (int step = 0; step < 3; step++) {
        xt_autocast_begin(XT_BF16);
        xt_tensor loss = xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, 2, SEQ, WIDTH))));
        xt_autocast_end();
        xt_backward(loss);
        CHECK(!xt_is_none(xt_grad(xt_module_find(m, "h.1.mlp.c_fc.weight"))));
        xt_reduce_gradients(opt);
        xt_optimizer_step(opt);
        double v = xt_item(loss);
        CHECK(step == 0 || v < first);
        first = v;
        CHECK(xt_mark_step());
    }
    xt_zero_grad(plain);
    xt_no_grad_begin();
    xt_eval(other);
    CHECK(!isnan(xt_item(xt_mean(xt_forward(other, xt_from_array(x, XT_F32, 2, SEQ, WIDTH))))));
    xt_train(other);
    xt_no_grad_end();
    xt_mark_step();
    xt_optimizer_free(opt), xt_optimizer_free(plain);
    xt_module_free(m), xt_module_free(other);
}

/* --- a compiled step, meshes --- */
static xt_tensor doubled(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    return xt_sum(xt_add(in[0], in[0]));
}

static void steps_and_meshes(void) {
    const float data[] = {1, 2, 3, 4};
    xt_step *step = xt_compile(doubled, .name = "doubled");
    for (int i = 0; i < 3; i++) CHECK(xt_item(xt_call(step, xt_from_array(data, XT_F32, 2, 2))) == 20);
    CHECK(xt_step_traces(step) == 1);
    xt_step_free(step);
    xt_mesh *mesh = xt_mesh_new({"data", 1});
    CHECK(mesh && xt_mesh_size(mesh, "data") == 1);
    CHECK(xt_item(xt_sum(xt_shard(xt_from_array(data, XT_F32, 2, 2), mesh, "data"))) == 10);
    xt_mark_step();
    xt_mesh_free(mesh);
}

/* --- loaders, logging, the plain loop --- */
static void plain_loops(void) {
    xt_seed(3);
    xt_module *net = xt_module_new(mnist_net, NULL);
    xt_optimizer *sgd = xt_sgd(net, .lr = 0.01, .momentum = 0.5);
    xt_loader *zeros =
        xt_sample_loader(.batch = BATCH, .count = 4 / xt_world_size(), .x = {XT_F32, {1, 28, 28}}, .y = {XT_I64});
    xt_log_every_n_steps(2);
    for (xt_batch b; xt_next(zeros, &b);) {
        xt_tensor loss = xt_nll_loss(xt_forward(net, b.x), b.y);
        xt_backward(loss);
        xt_log("loss", loss, .on_step = XT_ON, .on_epoch = XT_OFF, .reduce = XT_MEAN, .sync_dist = XT_ON,
               .prog_bar = XT_DEFAULT);
        xt_log_value("batch", (double)b.index);
        xt_master_printf("");
        xt_optimizer_step(sgd);
    }
    CHECK(!xt_error());
    xt_dataset *ds = xt_mnist_dataset(NULL);
    xt_loader *digits = xt_loader_new(ds, .batch = BATCH, .shuffle = XT_ON, .limit = 2);
    for (xt_batch b; xt_next(digits, &b);) CHECK(b.size == BATCH);
    CHECK(!xt_error());
}

/* --- the Trainer --- */
static xt_tensor training_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(net, b.x), loss = xt_nll_loss(out, b.y);
    xt_log("train/loss", loss);
    xt_log_metric("train/acc", xt_accuracy(out, b.y));
    return loss;
}
static void validation_step(xt_module *net, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(net, b.x);
    xt_log("val/loss", xt_nll_loss(out, b.y), .sync_dist = XT_ON, .prog_bar = XT_ON);
    xt_log_metric("val/acc", xt_accuracy(out, b.y));
}
static xt_optimizer *configure(xt_module *net, void *user) {
    (void)user;
    return xt_adamw(net, .lr = 1e-3);
}

static void trainer(void) {
    char name[] = "api_names", option[] = "--limit_train_batches", value[] = "4";
    char *argv[] = {name, option, value, NULL};
    xt_task task = {.net = mnist_net,
                    .training_step = training_step,
                    .validation_step = validation_step,
                    .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .accumulate_grad_batches = 2, .log_every_n_steps = 1,
                                   .limit_val_batches = 1, .progress_bar = XT_OFF);
    xt_trainer_args(t, 3, argv);
    xt_trainer_add(t, xt_model_checkpoint(.monitor = "val/acc", .mode = XT_MAX, .save_top_k = 2));
    xt_trainer_add(t, xt_throughput_monitor(.window = 100));
    CHECK(xt_fit(t, &task, xt_mnist_loader("train", BATCH), xt_mnist_loader("test", BATCH)) == 0);
    CHECK(xt_trainer_global_step(t) == 2);
    xt_trainer_free(t);
}

/* --- ranks, output, reports --- */
static size_t said;
static void quiet(xt_severity sev, const char *text, size_t n, void *user) {
    (void)text;
    (void)user;
    if (sev == XT_SEV_ERROR) fwrite(text, 1, n, stdout);
    said += n;
}

static int rank_main(int rank, void *arg) {
    CHECK(rank == xt_rank() && xt_local_rank() == 0 && xt_world_size() == 1 && *(int *)arg == 5);
    CHECK(xt_device_count() >= 1);
    CHECK(!xt_barrier(5));
    return xt_finish() + faults;
}

int main(void) {
    int five = 5;
    xt_set_sink(quiet, NULL);
    CHECK(strcmp(xt_version(), XT_VERSION) == 0);
    tensors();
    modules();
    steps_and_meshes();
    plain_loops();
    size_t before = said;
    xt_memory_report();
    xt_metrics_report();
    CHECK(said > before);
    CHECK(xt_finish() == 0);
    trainer();
    CHECK(xt_launch(rank_main, &five, .nprocs = 1) == 0);
    if (faults == 0) puts("api: ok");
    return faults;
}
