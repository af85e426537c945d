/* What programs need that are carried over whole, against PyTorch: packed sequences, positions, unpooling, adaptive
 * softmax, spectral norm, results whose size depends on values, derivatives of functions, and the iterates of L-BFGS,
 * whose state goes through files. */
#include "parity.h"

/* --- packed sequences --- */
#define RNN(name, call)                                                                \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)user;                                                                    \
        xt_rnn_out r = call;                                                           \
        y[0] = r.output;                                                               \
        y[1] = r.h;                                                                    \
        y[2] = r.c;                                                                    \
    }
#define WAYS .layers = 2, .bidirectional = XT_ON, .lengths = x[1], .h0 = x[2]
RNN(rnn, xt_rnn(m, "", *x, 4, WAYS))
RNN(gru, xt_gru(m, "", *x, 4, WAYS))
RNN(lstm, xt_lstm(m, "", *x, 4, WAYS, .c0 = x[3]))
RNN(lstm_first, xt_lstm(m, "", *x, 4, WAYS, .c0 = x[3], .batch_first = XT_ON))
RNN(rnn_off, xt_rnn(m, "", *x, 4, WAYS, .loop = XT_OFF))
RNN(gru_off, xt_gru(m, "", *x, 4, WAYS, .loop = XT_OFF))
RNN(lstm_off, xt_lstm(m, "", *x, 4, WAYS, .c0 = x[3], .loop = XT_OFF))
RNN(lstm_on, xt_lstm(m, "", *x, 4, WAYS, .c0 = x[3], .loop = XT_ON))

#define FN(name, ...)                                                                  \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)m, (void)user;                                                           \
        __VA_ARGS__;                                                                   \
    }
FN(pad_sequence, y[0] = xt_pad_sequence(3, x, .padding_value = -1.5))
FN(pad_sequence_first, y[0] = xt_pad_sequence(3, x, .batch_first = true))

/* --- positions --- */
FN(rotary_offset, y[0] = xt_rotary(x[0], 0, .offset = 7))
FN(rotary_positions, y[0] = xt_rotary(x[0], 10000, .positions = x[1]))
FN(rotary_interleaved, y[0] = xt_rotary(x[0], 0, .interleaved = XT_ON))
FN(timesteps, y[0] = xt_sinusoidal_embedding(x[0], 8))
FN(timesteps_flip, y[0] = xt_sinusoidal_embedding(x[0], 7, .flip_sin_to_cos = XT_ON, .downscale_freq_shift = 0,
                                                  .scale = 0.5, .max_period = 100))

/* --- pooling --- */
FN(max_pool_1d, y[0] = xt_max_pool1d_with_indices(x[0], 2, &y[1]))
FN(max_pool_2d,
   y[0] = xt_max_pool2d_with_indices(x[0], 2, &y[1], .kernels = {2, 3}, .strides = {2, 1}, .paddings = {1, 0}))
FN(max_pool_2d_dilated, y[0] = xt_max_pool2d_with_indices(x[0], 2, &y[1], .dilation = 2, .ceil_mode = XT_ON))
FN(max_pool_3d, y[0] = xt_max_pool3d_with_indices(x[0], 2, &y[1]))
FN(max_unpool_1d, y[0] = xt_max_unpool1d(x[0], x[1], 2))
FN(max_unpool_2d, y[0] = xt_max_unpool2d(x[0], x[1], 2))
FN(max_unpool_3d, y[0] = xt_max_unpool3d(x[0], x[1], 2))
FN(max_unpool_sizes, y[0] = xt_max_unpool2d(x[0], x[1], 2, .sizes = {5, 7}))

/* --- adaptive softmax, spectral norm --- */
FN(adaptive, {
    xt_adaptive_softmax_out r = xt_adaptive_log_softmax(m, "", x[0], x[1], 20, XT_LIST(4, 9, 15), .div_value = 2);
    y[0] = r.output;
    y[1] = r.loss;
})
FN(adaptive_log_prob, y[0] = xt_adaptive_log_prob(m, "", x[0], 9, XT_LIST(3), .head_bias = XT_ON))
FN(spectral_linear, xt_spectral_norm(m, "weight"); y[0] = xt_linear(m, "", x[0], 3))
FN(spectral_conv, xt_spectral_norm(m, "weight", .n_power_iterations = 3); y[0] = xt_conv1d(m, "", x[0], 4, 3))
FN(spectral_transposed, xt_spectral_norm(m, "weight", .dim = 1); y[0] = xt_conv_transpose1d(m, "", x[0], 4, 3))

/* --- sizes that depend on values: exact, and with room to spare --- */
FN(masked_select, y[0] = xt_masked_select(x[0], xt_gt(x[0], xt_zeros_like(x[0])), -1, NULL))
FN(masked_select_row, xt_tensor n; y[0] = xt_masked_select(x[0], x[1], 12, &n))
FN(nonzero, y[0] = xt_nonzero(x[0], -1, NULL))
FN(unique, y[0] = xt_unique(x[0], -1, .inverse = &y[1], .counts = &y[2]))
FN(unique_consecutive, y[0] = xt_unique(x[0], -1, .inverse = &y[1], .counts = &y[2], .consecutive = true))
FN(unique_floats, y[0] = xt_unique(x[0], 6))

/* --- derivatives of functions --- */
static void net(const xt_tensor *in, xt_tensor *out, void *user) { /* x, w, v */
    (void)user;
    out[0] = xt_matmul(xt_tanh(xt_matmul(in[0], in[1])), in[2]);
}
static void loss_of_net(const xt_tensor *in, xt_tensor *out, void *user) {
    net(in, out, user);
    out[0] = xt_add(xt_sum(xt_square(out[0])), xt_sum(xt_slice(xt_softmax(in[0], 0), 0, 0, 1)));
}
typedef struct rest {
    xt_tensor w, v;
} rest;
static void net_of_two(const xt_tensor *in, xt_tensor *out, void *user) {
    net((xt_tensor[3]){in[0], in[1], *(xt_tensor *)user}, out, NULL);
}
static void net_of_x(const xt_tensor *in, xt_tensor *out, void *user) {
    const rest *r = user;
    net((xt_tensor[3]){in[0], r->w, r->v}, out, NULL);
}
static void loss_of_x(const xt_tensor *in, xt_tensor *out, void *user) {
    const rest *r = user;
    loss_of_net((xt_tensor[3]){in[0], r->w, r->v}, out, NULL);
}
static void gradients(const xt_tensor *in, xt_tensor *out, void *user) {
    xt_tensor d[3];
    (void)user;
    xt_grad_fn(loss_of_net, NULL, 3, in, NULL, d);
    out[0] = d[1];
    out[1] = d[2];
}
FN(jacobian, xt_tensor v = x[2]; xt_jacobian(net_of_two, &v, 2, x, y))
FN(hessian, rest r = {x[1], x[2]}; xt_hessian(loss_of_x, &r, x[0], y))
FN(hvp, rest r = {x[1], x[2]}; xt_hvp(loss_of_x, &r, 1, x, &x[3], NULL, y))
FN(jvp, rest r = {x[1], x[2]}; xt_tensor value; xt_jvp(net_of_x, &r, 1, x, &x[3], 1, &value, y))
FN(per_example, xt_vmap(gradients, 3, x, 2, y, .in_axes = (int[]){0, XT_SHARED, XT_SHARED}))

#define ROW(name) \
    { #name, c_##name }
static const parity_row rows[] = {
    {"rnn_4", c_rnn},
    {"lstm_4", c_lstm},
    {"lstm_4_first", c_lstm_first},
    {"gru_4", c_gru},
    {"lstm_4", c_lstm_on},
    {"rnn_11", c_rnn},
    {"lstm_11", c_lstm},
    {"lstm_11_first", c_lstm_first},
    {"gru_11", c_gru},
    {"rnn_11", c_rnn_off},
    {"lstm_11", c_lstm_off},
    {"gru_11", c_gru_off},
    ROW(pad_sequence),
    ROW(pad_sequence_first),
    ROW(rotary_offset),
    ROW(rotary_positions),
    ROW(rotary_interleaved),
    ROW(timesteps),
    ROW(timesteps_flip),
    ROW(max_pool_1d),
    ROW(max_pool_2d),
    ROW(max_pool_2d_dilated),
    ROW(max_pool_3d),
    ROW(max_unpool_1d),
    ROW(max_unpool_2d),
    ROW(max_unpool_3d),
    ROW(max_unpool_sizes),
    ROW(adaptive),
    ROW(adaptive_log_prob),
    ROW(spectral_linear),
    ROW(spectral_conv),
    ROW(spectral_transposed),
    {"spectral_eval", c_spectral_linear},
    ROW(masked_select),
    ROW(masked_select_row),
    ROW(nonzero),
    ROW(unique),
    ROW(unique_consecutive),
    ROW(unique_floats),
};
static const parity_row exact[] = {ROW(jacobian), ROW(hessian), ROW(hvp), ROW(jvp), ROW(per_example)}; /* f64 */

static void cases(void **state) {
    (void)state;
    parity_cases("porting", rows, BASE_COUNT(rows));
}

static void cases_in_f64(void **state) {
    (void)state;
    parity_file *f = parity_open("porting");
    for (size_t i = 0; i < BASE_COUNT(exact); i++) parity_case(f, exact[i].name, exact[i].fn, NULL, 1e-13, 0);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

/* --- L-BFGS --- */
typedef struct problem {
    xt_module *m;
    xt_tensor x, y; /* kept; of the network */
    int evaluations;
    bool backward; /* the closure calls xt_backward itself */
} problem;

static xt_tensor parameters(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor p = xt_param(m, "p0", "zeros", 0, XT_F64, 4), a = xt_slice(p, 0, 0, 3), b = xt_slice(p, 0, 1, 4);
    (void)x;
    return xt_sum(xt_add(xt_mul_scalar(xt_square(xt_minus(b, xt_square(a))), 100), xt_square(xt_rsub_scalar(a, 1))));
}
static xt_tensor network(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor w = xt_param(m, "p0", "zeros", 0, XT_F64, 3, 5), v = xt_param(m, "p1", "zeros", 0, XT_F64, 5, 2);
    return xt_matmul(xt_tanh(xt_matmul(x, w)), v);
}
static xt_tensor closure(void *user) {
    problem *p = user;
    p->evaluations++;
    xt_tensor loss =
        xt_is_none(p->y) ? xt_forward(p->m, xt_zeros(XT_F64, 1)) : xt_mse_loss(xt_forward(p->m, p->x), p->y);
    if (p->backward) xt_backward(loss);
    return loss;
}

static problem problem_of(const parity_file *f, const char *name) {
    problem p = {0};
    bool is_net = strcmp(name, "lbfgs_net") == 0;
    p.m = xt_module_new(is_net ? network : parameters, NULL);
    for (int i = 0; i <= is_net; i++) {
        char what[64], leaf[8];
        snprintf(what, sizeof what, "%s/p%d", name, i);
        snprintf(leaf, sizeof leaf, "p%d", i);
        const parity_tensor *t = parity_get(f, what);
        xt_status s = nn_preload(p.m->root, leaf, t->type, t->data);
        if (s) fail_msg("%s", xt_status_message(s));
    }
    if (is_net) p.x = xt_keep(parity_input(f, "lbfgs_net/x")), p.y = xt_keep(parity_input(f, "lbfgs_net/y"));
    return p;
}

static void problem_free(problem *p) {
    if (!xt_is_none(p->x)) xt_drop(p->x), xt_drop(p->y);
    xt_module_free(p->m);
}

/* One step, whose loss and parameters are row k of PyTorch's. */
static void check_step(const parity_file *f, const char *name, problem *p, xt_optimizer *o, int k) {
    char what[64];
    snprintf(what, sizeof what, "%s/losses", name);
    double loss = xt_optimizer_step_closure(o, closure, p), want = parity_element(parity_get(f, what), k);
    parity_no_error(name);
    if (!(fabs(loss - want) <= 1e-9 * fabs(want) + 1e-14))
        fail_msg("%s, step %d: loss %.17g, not %.17g", name, k, loss, want);
    snprintf(what, sizeof what, "%s/rows", name);
    const parity_tensor *rows_of = parity_get(f, what);
    for (int i = 0, at = 0; i < xt_module_tensors(p->m); i++) {
        double v[64];
        xt_tensor t = xt_module_tensor(p->m, i);
        assert_true(xt_read(t, v, (size_t)xt_numel(t) * 8));
        for (int j = 0; j < xt_numel(t); j++, at++) {
            want = parity_element(rows_of, k * rows_of->type->dims[1] + at);
            if (!(fabs(v[j] - want) <= 1e-8 * (1 + fabs(want))))
                fail_msg("%s, step %d: parameter %d is %.17g, not %.17g", name, k, at, v[j], want);
        }
    }
}

static xt_optimizer *lbfgs_of(const char *name, xt_module *m) {
    if (strcmp(name, "lbfgs_rate") == 0) return xt_lbfgs(m, .lr = 0.1, .max_iter = 3, .history_size = 2);
    if (strcmp(name, "lbfgs_wolfe") == 0) return xt_lbfgs(m, .line_search = XT_STRONG_WOLFE, .max_iter = 4);
    if (strcmp(name, "lbfgs_net") == 0)
        return xt_lbfgs(m, .line_search = XT_STRONG_WOLFE, .max_iter = 6, .tolerance_change = 0);
    return xt_lbfgs(m, .line_search = XT_STRONG_WOLFE, .max_iter = 10, .max_eval = 7, .history_size = 3);
}

/* Again with each step's state through files, into optimizers and a module that know nothing: one of them writes what
 * it has read before it makes a step. */
static void lbfgs(void **state) {
    static const char *const names[] = {"lbfgs_wolfe", "lbfgs_rate", "lbfgs_evals", "lbfgs_net"};
    (void)state;
    parity_file *f = parity_open("porting");
    const char *tmp = getenv("TEST_TMP");
    char paths[2][600];
    for (int i = 0; i < 2; i++) snprintf(paths[i], sizeof paths[i], "%s.lbfgs%d", tmp ? tmp : "/tmp/xtrain", i);
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        for (int files = 0; files < 2; files++) {
            problem p = problem_of(f, names[i]);
            p.backward = files;
            xt_optimizer *o = lbfgs_of(names[i], p.m);
            int64_t steps = parity_find(f, "%s/losses", names[i])->type->count;
            for (int k = 0; k < steps; k++) {
                check_step(f, names[i], &p, o, k);
                if (!files) continue;
                assert_null(xt_save(p.m, paths[0]));
                assert_null(xt_optimizer_save(o, paths[1]));
                xt_optimizer_free(o);
                problem_free(&p);
                p = problem_of(f, names[i]);
                p.backward = true;
                assert_null(xt_load(p.m, paths[0]));
                for (int passed_on = 0; passed_on < 2; passed_on++) {
                    o = lbfgs_of(names[i], p.m);
                    assert_null(xt_optimizer_load(o, paths[1]));
                    if (passed_on) break;
                    assert_null(xt_optimizer_save(o, paths[1]));
                    xt_optimizer_free(o);
                }
                assert_int_equal(xt_optimizer_steps(o), k + 1);
            }
            xt_optimizer_free(o);
            problem_free(&p);
        }
    for (int i = 0; i < 2; i++) remove(paths[i]);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

static void refused(const char *with) {
    assert_non_null(xt_error());
    if (!strstr(xt_status_message(xt_error()), with))
        fail_msg("the message does not say '%s': %s", with, xt_status_message(xt_error()));
    xt_clear_error();
    xt_mark_step();
}
static xt_tensor no_loss(void *user) {
    (void)user;
    return xt_zeros(XT_F64, 1);
}
static xt_tensor failing(void *user) {
    (void)user;
    return xt_matmul(xt_zeros(XT_F64, 2, 3), xt_zeros(XT_F64, 2, 3));
}

/* f32 descends, any optimizer takes a closure, and mistakes say what they are. */
static void closures(void **state) {
    (void)state;
    parity_file *f = parity_open("porting");
    problem p = problem_of(f, "lbfgs_wolfe");
    assert_null(xt_lbfgs(p.m, .max_iter = 0));
    refused("max_iter");
    xt_optimizer *o = xt_lbfgs(p.m, .line_search = XT_STRONG_WOLFE), *sgd = xt_sgd(p.m, .lr = 1e-4);
    double first = xt_optimizer_step_closure(sgd, closure, &p), second = xt_optimizer_step_closure(sgd, closure, &p);
    parity_no_error("sgd");
    assert_true(second < first);
    xt_optimizer_step(o);
    refused("xt_optimizer_step_closure");
    assert_true(isnan(xt_optimizer_step_closure(o, no_loss, NULL)));
    refused("nothing that requires a gradient leads to this loss");
    assert_true(isnan(xt_optimizer_step_closure(o, failing, NULL)));
    refused("xt_matmul");
    assert_true(xt_optimizer_step_closure(o, closure, &p) <= second);
    for (int k = 0; k < 4; k++) second = xt_optimizer_step_closure(o, closure, &p);
    assert_true(fabs(second - 3.7014286104380663) < 1e-9); /* of the local minimum near (-0.78, 0.61, 0.38, 0.15) */
    xt_optimizer_free(sgd);
    xt_optimizer_free(o);
    problem_free(&p);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

/* --- how many there are is asked for or not --- */
static void without_a_count(void **state) {
    (void)state;
    xt_tensor x = xt_from_array(((float[]){1, -2, 3, 0}), XT_F32, 4), zero = xt_zeros_like(x);
    assert_true(xt_item(xt_sum(xt_masked_select(x, xt_gt(x, zero), 4, NULL))) == 4);
    assert_true(xt_item(xt_sum(xt_nonzero(x, 4, NULL))) == 3);
    assert_true(xt_item(xt_sum(xt_argwhere(x, 3, NULL))) == 3);
    assert_null(xt_error());
}

/* --- mistakes of the others --- */
static void mistakes(void **state) {
    (void)state;
    xt_tensor x = xt_ones(XT_F32, 3, 4), n;
    xt_masked_select(x, x, 4, &n);
    refused("the mask is f32: expected bool");
    xt_nonzero(xt_ones(XT_F32, 3), 0, &n);
    refused("size 0: expected room for at least 1, or -1");
    xt_max_unpool2d(xt_ones(XT_F32, 1, 1, 2, 2), xt_ones(XT_I64, 1, 1, 2, 3), 2);
    refused("xt_max_unpool2d");
    int64_t far[4] = {0, 3, 99, 5};
    xt_max_unpool2d(xt_ones(XT_F32, 1, 1, 2, 2), xt_from_array(far, XT_I64, 1, 1, 2, 2), 2);
    refused("99");
    xt_rotary(xt_ones(XT_F32, 2, 5, 4), 0, .positions = xt_ones(XT_I64, 4));
    refused(".positions are i64 [4]");
    xt_pad_sequence(2, XT_TENSORS(xt_ones(XT_F32, 2, 3), xt_ones(XT_F32, 2, 4)));
    refused("sequence 1 is f32 [2,4]");
    xt_sinusoidal_embedding(xt_ones(XT_F32, 2), 1);
    refused("at least 2");
    xt_module *m = xt_module_new(NULL, NULL);
    assert_false(xt_spectral_norm(m, "weight", .n_power_iterations = 0));
    refused(".n_power_iterations = 0");
    xt_adaptive_log_prob(m, "s", xt_ones(XT_F32, 2, 8), 9, XT_LIST(5, 3));
    refused("rising between 0 and the number of classes");
    xt_lstm(m, "l", xt_ones(XT_F32, 5, 2, 3), 4, .lengths = xt_ones(XT_I64, 3));
    refused(".lengths must be integers, one for each sequence");
    int64_t long_ones[2] = {6, 2};
    xt_lstm(m, "l", xt_ones(XT_F32, 5, 2, 3), 4, .lengths = xt_from_array(long_ones, XT_I64, 2));
    refused("length 6 (element 0) is outside 0..5");
    xt_module_free(m);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),    cmocka_unit_test(cases_in_f64),    cmocka_unit_test(lbfgs),
        cmocka_unit_test(closures), cmocka_unit_test(without_a_count), cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
