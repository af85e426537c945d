/* NaN where it is hard to find: on one rank of a step whose ranks work together (nan ddp|mesh|input), and in a compiled
 * step function (nan call). The lines that must be named carry a mark (nan.sh). */
#include <math.h>
#include <string.h>
#include <xtrain/xtrain.h>

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    x = xt_linear(m, "in", x, 8);
    if (user) x = xt_log_e(x); /* @log */
    return xt_linear(m, "out", x, 1);
}

static int train(int rank, void *arg) {
    const char *mode = arg;
    static float data[8 * 4];
    bool mesh = strcmp(mode, "mesh") == 0, input = strcmp(mode, "input") == 0;
    xt_mesh *axes = mesh ? xt_mesh_new({"data", 2}) : NULL;
    xt_module *m = xt_module_new(net, input ? NULL : (void *)mode);
    if (xt_module_build(m, (xt_spec){XT_F32, {8, 4}})) return 9;
    if (!xt_mark_step()) return 8;
    xt_init_constant(m, "in.*", 1);
    if (mesh) xt_mesh_data_parallel(axes, m, "data");
    xt_optimizer *sgd = xt_sgd(m, .lr = 1e-6);
    for (int i = 0; i < 5; i++) {
        bool bad = i == 3 && (mesh || rank == 1);
        for (int k = 0; k < 32; k++) data[k] = bad && k == 5 ? (input ? NAN : -99) : 1;
        xt_tensor x = xt_from_array(data, XT_F32, 8, 4); /* @input */
        xt_backward(xt_mean(xt_forward(m, x)));
        xt_optimizer_step(sgd);
        if (!xt_mark_step()) break;
    }
    return xt_finish();
}

static xt_tensor compiled(const xt_tensor *in, int n, void *user) {
    xt_tensor root = xt_sqrt(in[0]); /* @sqrt */
    return n > 1 || user ? root : xt_sum(xt_mul(root, root));
}

static int call(void) {
    xt_step *step = xt_compile(compiled);
    for (int i = 0; i < 6; i++) {
        xt_tensor x = xt_from_array(((float[3]){1, 2, i == 4 ? -3 : 3}), XT_F32, 3);
        xt_when_ready(xt_call(step, x), NULL, NULL);
        if (xt_error()) break;
    }
    return xt_finish();
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "ddp";
    return strcmp(mode, "call") == 0 ? call() : xt_launch(train, (void *)mode);
}
