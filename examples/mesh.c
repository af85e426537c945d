/* Trains a small GPT on a mesh of devices: batches divided over "data", parameters and optimizer state too with "fsdp",
 * the layers of each block over "tensor". The losses are those of one device, whatever the mesh.
 *     CPU_NUM_DEVICES=1 ./mesh 1 1          one device
 *     CPU_NUM_DEVICES=4 ./mesh 4 1 fsdp     fully sharded over four
 *     CPU_NUM_DEVICES=4 ./mesh 2 2 fsdp     both */
#include <stdlib.h>
#include <string.h>

#include <xtrain/xtrain.h>

enum { VOCAB = 64, SEQ = 32, WIDTH = 64, HEADS = 4, LAYERS = 2, GLOBAL_BATCH = 16, STEPS = 20 };

static xt_tensor block(xt_module *m, xt_tensor x) {
    x = xt_add(x, xt_self_attention(m, "attn", xt_layer_norm(m, "ln_1", x), .heads = HEADS, .causal = XT_ON));
    xt_tensor h = xt_gelu(xt_linear(m, "mlp.c_fc", xt_layer_norm(m, "ln_2", x), 4 * WIDTH));
    return xt_add(x, xt_linear(m, "mlp.c_proj", h, WIDTH));
}

/* tokens: [B,T] -> logits [B,T,VOCAB] */
static xt_tensor gpt(xt_module *m, xt_tensor tokens, void *user) {
    (void)user;
    xt_tensor x = xt_embedding(m, "wte", tokens, VOCAB, WIDTH);
    x = xt_add(x, xt_embedding(m, "wpe", xt_arange(SEQ, XT_I64), SEQ, WIDTH));
    for (int i = 0; i < LAYERS; i++) x = block(xt_sub(m, "h", i), x);
    return xt_linear(m, "head", xt_layer_norm(m, "ln_f", x), VOCAB);
}

/* Sequences that count up by a step of their own: the next token can be learned. */
static xt_dataset *counting(void) {
    static int64_t x[512][SEQ], y[512][SEQ];
    for (int i = 0; i < 512; i++)
        for (int k = 0; k < SEQ; k++) {
            x[i][k] = (i + k * (1 + i % 3)) % VOCAB;
            y[i][k] = (i + (k + 1) * (1 + i % 3)) % VOCAB;
        }
    return xt_array_dataset(x, (xt_spec){XT_I64, {SEQ}}, y, (xt_spec){XT_I64, {SEQ}}, 512);
}

static int64_t bytes_of(const char *role) {
    static xt_memory_row rows[512];
    int n = xt_memory_rows(rows, 512);
    int64_t sum = 0;
    for (int i = 0; i < n && i < 512; i++)
        if (strcmp(rows[i].role, role) == 0) sum += rows[i].bytes;
    return sum;
}

static int train(int rank, void *arg) {
    char **argv = arg;
    bool fsdp = argv[1] && argv[2] && argv[3];
    (void)rank;
    xt_mesh *mesh =
        xt_mesh_new({"data", argv[1] ? atoll(argv[1]) : 0}, {"tensor", argv[1] && argv[2] ? atoll(argv[2]) : 1});
    xt_module *net = xt_module_new(gpt, NULL);
    xt_mesh_data_parallel(mesh, net, "data");
    if (fsdp) xt_mesh_fsdp(mesh, net, "data");
    xt_mesh_tensor_parallel(mesh, net, "tensor");
    xt_shard_params(net, mesh, "head.weight", "tensor");
    xt_optimizer *adam = xt_adamw(net, .lr = 3e-3, .clip_norm = 1);
    xt_loader *loader = xt_loader_new(counting(), .batch = mesh ? GLOBAL_BATCH / xt_mesh_size(mesh, "data") : 1,
                                      .shuffle = XT_ON, .seed = 1);
    int64_t step = 0;
    for (xt_batch b; step < STEPS && xt_next(loader, &b); step++) {
        if (step == 0)
            xt_master_printf("a batch of %lld sequences on %d devices\n", (long long)xt_dim(b.x, 0), xt_world_size());
        xt_tensor loss = xt_cross_entropy(xt_forward(net, b.x), b.y);
        xt_backward(loss);
        xt_optimizer_step(adam);
        xt_master_printf("step %lld loss %t\n", (long long)step, loss);
        if (step == STEPS / 2)
            xt_master_printf("on this device: %lld of %lld bytes of parameters, %lld of optimizer state\n",
                             (long long)bytes_of("parameter"), (long long)xt_module_param_count(net) * 4,
                             (long long)bytes_of("optimizer"));
    }
    return xt_finish();
}

int main(int argc, char **argv) {
    (void)argc;
    return xt_launch(train, argv);
}
