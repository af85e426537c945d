/* torch.nn.utils: orthogonal weights by each map, weights in place of what they were made of, and batch norms that are
 * a part of the layer before them. */
#include "parity.h"

/* --- orthogonal weights --- */
typedef struct orthogonal {
    int64_t out;
    xt_orthogonal_opts opts;
} orthogonal;
static void linear(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    const orthogonal *o = user;
    xt_orthogonal_at(XT_HERE, m, "weight", o->opts);
    y[0] = xt_linear(m, "", x[0], o->out);
}
static void kernels(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    const orthogonal *o = user;
    xt_orthogonal_at(XT_HERE, m, "weight", o->opts);
    y[0] = xt_conv2d(m, "", x[0], o->out, 0, .kernels = {2, 3});
}
static const struct {
    const char *name;
    int64_t in, out;
} shapes[] = {{"square", 4, 4}, {"tall", 3, 6}, {"wide", 6, 3}};

static void maps(void **state) {
    (void)state;
    static const char *const names[] = {"matrix_exp", "cayley", "householder"};
    parity_file *f = parity_open("nn_utils");
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (int k = 0; k < 6; k++) {
            char name[64];
            orthogonal o = {shapes[i].out, XT_OPTS(xt_orthogonal_opts, .orthogonal_map = (xt_orthogonal_map)(k / 2 + 1),
                                                   .use_trivialization = k % 2 ? XT_OFF : XT_ON)};
            snprintf(name, sizeof name, "%s_%s_%s", names[k / 2], shapes[i].name, k % 2 ? "plain" : "base");
            parity_case(f, name, linear, &o, 0, 0);
        }
    for (int k = 0; k < 3; k++) {
        char name[64];
        orthogonal o = {3, XT_OPTS(xt_orthogonal_opts, .orthogonal_map = (xt_orthogonal_map)(k + 1))};
        snprintf(name, sizeof name, "%s_kernels", names[k]);
        parity_case(f, name, kernels, &o, 0, 0);
    }
    orthogonal o = {4, XT_OPTS(xt_orthogonal_opts, )};
    parity_case(f, "default_square", linear, &o, 0, 0);
    o.out = 5;
    parity_case(f, "default_tall", linear, &o, 0, 0);
    parity_close_file(f);
}

/* The first weight is orthonormal to f32's last digits, with and without a base, and stays so as it is trained. */
static xt_tensor plain_linear(xt_module *m, xt_tensor x, void *user) {
    return xt_linear(m, "fc", x, *(const int64_t *)user, .bias = XT_OFF);
}
static double defect(xt_module *m, int64_t in) {
    xt_tensor w = xt_forward(m, xt_eye(in, 0, XT_F32)); /* [in,out]: the weight transposed */
    bool tall = xt_dim(w, 0) >= xt_dim(w, 1);
    xt_tensor gram = tall ? xt_matmul(xt_t(w), w) : xt_matmul(w, xt_t(w));
    return xt_item(xt_max(xt_abs(xt_minus(gram, xt_eye(xt_dim(gram, 0), 0, XT_F32)))));
}
static void stays_orthogonal(void **state) {
    (void)state;
    static float x[8][6];
    for (int i = 0; i < 48; i++) x[i / 6][i % 6] = sinf((float)(i * i));
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (int k = 0; k < 6; k++) {
            int64_t in = shapes[i].in, out = shapes[i].out;
            xt_module *m = xt_module_new(plain_linear, (void *)&out);
            assert_true(xt_orthogonal(m, "fc.weight", .orthogonal_map = (xt_orthogonal_map)(k / 2 + 1),
                                      .use_trivialization = k % 2 ? XT_OFF : XT_ON));
            assert_null(xt_module_build(m, (xt_spec){XT_F32, {8, in}}));
            assert_true(defect(m, in) < 1e-6);
            xt_optimizer *opt = xt_sgd(m, .lr = 0.1);
            double first = 0, last = 0;
            for (int step = 0; step < 5; step++) {
                xt_tensor in_ = xt_slice(xt_from_array(x, XT_F32, 8, 6), 1, 0, in);
                xt_tensor loss = xt_mean(xt_square(xt_add_scalar(xt_forward(m, in_), -1)));
                xt_backward(loss);
                xt_optimizer_step(opt);
                last = xt_item(loss);
                if (!step) first = last;
                assert_true(xt_mark_step());
            }
            assert_true(last < first);
            assert_true(defect(m, in) < 2e-6);
            assert_null(xt_error());
            xt_optimizer_free(opt);
            xt_module_free(m);
        }
}

/* A system larger than what is solved by elimination in the program. */
static void large_cayley(void **state) {
    (void)state;
    int64_t n = 80;
    xt_module *m = xt_module_new(plain_linear, &n);
    assert_true(xt_orthogonal(m, "fc.weight", .orthogonal_map = XT_CAYLEY, .use_trivialization = XT_OFF));
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {2, n}}));
    assert_true(defect(m, n) < 5e-6);
    xt_module_free(m);
}

/* --- what is taken off --- */
static void normed(xt_module *m) {
    xt_weight_norm(m, "a.weight");
    xt_spectral_norm(m, "b.weight");
    xt_orthogonal(m, "c.weight");
}
static xt_tensor three(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_tanh(xt_linear(m, "a", x, 5));
    return xt_linear(m, "c", xt_tanh(xt_linear(m, "b", x, 4)), 4);
}
/* The file's values of a case, as a module has them that is built by its first pass. */
static xt_module *loaded(const parity_file *f, const char *name, xt_module_fn fn, void (*before)(xt_module *)) {
    xt_module *m = xt_module_new(fn, NULL);
    char x[64];
    if (before) before(m);
    parity_weights(f, name, m);
    snprintf(x, sizeof x, "%s/x0", name);
    xt_eval(m);
    assert_false(xt_is_error(xt_forward(m, parity_input(f, x))));
    assert_true(xt_mark_step());
    return m;
}
/* The module has these tensors and no others. */
static void has_state(const parity_file *f, const char *group, xt_module *m) {
    int n = 0;
    char prefix[64];
    size_t k = (size_t)snprintf(prefix, sizeof prefix, "%s/", group);
    for (size_t i = 0; i < f->n; i++) {
        if (strncmp(f->tensors[i].name, prefix, k) != 0) continue;
        xt_tensor t = xt_module_find(m, f->tensors[i].name + k);
        if (xt_is_none(t)) fail_msg("%s: the module has none", f->tensors[i].name);
        parity_close(f, f->tensors[i].name, t, 1e-6, 0);
        n++;
    }
    assert_int_equal(xt_module_tensors(m), n);
}
static void same_output(const parity_file *f, const char *name, xt_module *m) {
    char what[64];
    snprintf(what, sizeof what, "%s/x0", name);
    xt_tensor y = xt_forward(m, parity_input(f, what));
    snprintf(what, sizeof what, "%s/y0", name);
    parity_close(f, what, y, 1e-6, 1e-6);
}
static void removed(void **state) {
    (void)state;
    parity_file *f = parity_open("nn_utils");
    xt_module *m = loaded(f, "removed", three, normed);
    same_output(f, "removed", m);
    assert_int_equal(xt_remove_weight_norm(m, "a.weight"), 1);
    assert_int_equal(xt_remove_parametrizations(m, "*"), 2);
    has_state(f, "removed_state", m);
    same_output(f, "removed", m);
    assert_null(xt_save(m, "removed.safetensors"));
    xt_module *other = xt_module_new(three, NULL); /* a plain network reads it */
    assert_null(xt_load(other, "removed.safetensors"));
    xt_eval(other);
    same_output(f, "removed", other);
    /* plain weights are trained as any others */
    xt_train(m);
    xt_optimizer *opt = xt_sgd(m, .lr = 0.1);
    xt_backward(xt_mean(xt_square(xt_forward(m, parity_input(f, "removed/x0")))));
    xt_optimizer_step(opt);
    assert_true(xt_mark_step());
    assert_int_equal(xt_remove_parametrizations(m, "*"), -1);
    assert_non_null(strstr(xt_status_message(xt_error()), "no weight that fits \"*\" is made of others"));
    xt_clear_error();
    xt_optimizer_free(opt);
    xt_module_free(m);
    xt_module_free(other);
    remove("removed.safetensors");
    parity_close_file(f);
}

/* --- batch norms --- */
static xt_tensor with_norms(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_batch_norm(m, "bn1", xt_conv2d(m, "conv1", x, 4, 3, .bias = XT_OFF)));
    x = xt_conv_transpose2d(m, "conv2", x, 3, 3);
    x = xt_relu(xt_batch_norm(m, "bn2", x, .affine = XT_OFF, .eps = 1e-3));
    return xt_batch_norm(m, "bn3", xt_linear(m, "fc", xt_mean_axes(x, XT_AXES(2, 3)), 5));
}
static void fused(void **state) {
    (void)state;
    parity_file *f = parity_open("nn_utils");
    xt_module *m = loaded(f, "fused", with_norms, NULL);
    same_output(f, "fused", m);
    assert_false(xt_fuse_conv_bn(m, "conv1", "bn2"));
    assert_non_null(strstr(xt_status_message(xt_error()), "bn2 has 3 channels, and dim 0 of conv1's weight is 4"));
    xt_clear_error();
    assert_false(xt_fuse_conv_bn(m, "conv7", "bn2"));
    assert_non_null(strstr(xt_status_message(xt_error()), "there is no weight of conv7"));
    xt_clear_error();
    assert_true(xt_fuse_conv_bn(m, "conv1", "bn1"));
    same_output(f, "fused", m);
    assert_true(xt_fuse_conv_bn(m, "conv2", "bn2", .eps = 1e-3, .transposed = XT_ON));
    assert_true(xt_fuse_linear_bn(m, "fc", "bn3"));
    same_output(f, "fused", m);
    has_state(f, "fused_state", m);
    xt_module_free(m);
    parity_close_file(f);
}

static int finish(void **state) {
    (void)state;
    return xt_finish();
}
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(maps), cmocka_unit_test(stays_orthogonal),
                                       cmocka_unit_test(large_cayley), cmocka_unit_test(removed),
                                       cmocka_unit_test(fused)};
    return cmocka_run_group_tests(tests, NULL, finish);
}
