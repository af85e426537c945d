/* Loss scaling in the wrong order: gradients with the scale and without it never meet in silence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}

static xt_module *m;
static xt_optimizer *opt;
static xt_loss_scaler *scaler;

static void backward(double factor) {
    float x[6] = {1, 2, 3, 4, 5, 6};
    xt_tensor loss = xt_mul_scalar(xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, 2, 3)))), factor);
    xt_backward(xt_scale_loss(scaler, loss));
}

/* A step as a row of letters: b backward, u unscale, c clip by the norm, v by values, n the module's norm, m its
 * values, s step, o the optimizer's own step, + update. */
static void act(const char *letters) {
    for (; *letters; letters++) switch (*letters) {
        case 'b': backward(1); break;
        case 'u': xt_scaler_unscale(scaler, opt); break;
        case 'c': xt_clip_grad_norm(opt, 1); break;
        case 'v': xt_clip_grad_value(opt, 1); break;
        case 'n': xt_module_clip_grad_norm(m, 1); break;
        case 'm': xt_module_clip_grad_value(m, 1); break;
        case 's': xt_scaler_step(scaler, opt); break;
        case 'o': xt_optimizer_step(opt); break;
        case '+': xt_scaler_update(scaler); break;
        case '|': xt_mark_step(); break;
        default: fail_msg("letter %c", *letters);
        }
}

static void orders_are_told(void **state) {
    (void)state;
    static const struct {
        const char *letters, *said[2]; /* NULL: it is right */
    } rows[] = {{"bs+", {NULL}},
                {"bus+", {NULL}},
                {"bucs+|bucs+", {NULL}},
                {"bbuvs+|bs+", {NULL}},
                {"b|bucs+|b|bus+", {NULL}},
                {"bunms+", {NULL}},
                {"bubs+", {"has divided the gradients by the scale, and xt_backward at ", "test_loss_scaler.c:23"}},
                {"bu|bs+", {"has divided the gradients by the scale, and xt_backward at ", "xt_scaler_step: "}},
                {"bubo", {"has divided the gradients", "xt_optimizer_step: "}},
                {"bubu", {"has divided the gradients", "xt_scaler_unscale: "}},
                {"bubc", {"has divided the gradients", "xt_clip_grad_norm: "}},
                {"bubv", {"has divided the gradients", "xt_clip_grad_value: "}},
                {"buu", {"are unscaled already, at ", "test_loss_scaler.c:31"}},
                {"bcu", {"were clipped at ", "test_loss_scaler.c:32 while the scale was in them"}},
                {"bcs", {"were clipped at ", "test_loss_scaler.c:32 while the scale was in them"}},
                {"bvs", {"were clipped at ", "test_loss_scaler.c:33"}},
                {"bns", {"were clipped at ", "test_loss_scaler.c:34"}},
                {"bmu", {"were clipped at ", "test_loss_scaler.c:35"}},
                {"u", {"no parameter has a gradient", "between xt_backward and xt_scaler_step"}},
                {"bs|bs", {"stepped this optimizer at ", "test_loss_scaler.c:36 already"}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        m = xt_module_new(net, NULL);
        opt = xt_sgd(m, .lr = 0.01);
        scaler = xt_loss_scaler_new(.init_scale = 1024);
        xt_status e;
        act(rows[i].letters);
        e = xt_error();
        for (int k = 0; k < 2 && rows[i].said[k]; k++)
            if (!e || !strstr(xt_status_message(e), rows[i].said[k]))
                fail_msg("%s: '%s' was not said: %s", rows[i].letters, rows[i].said[k],
                         e ? xt_status_message(e) : "no error");
        if (!rows[i].said[0] && e) fail_msg("%s: %s", rows[i].letters, xt_status_message(e));
        xt_clear_error();
        xt_mark_step();
        xt_clear_error();
        xt_optimizer_free(opt);
        xt_loss_scaler_free(scaler);
        xt_module_free(m);
    }
}

/* A scaler that is off, and other networks' losses between unscaling and the step, change nothing. */
static void others_may_come_between(void **state) {
    (void)state;
    m = xt_module_new(net, NULL);
    opt = xt_sgd(m, .lr = 0.01);
    scaler = xt_loss_scaler_new(.enabled = XT_OFF);
    act("bubcus+s");
    assert_non_null(xt_error()); /* the last: no gradient */
    assert_non_null(strstr(xt_status_message(xt_error()), "no parameter has a gradient"));
    xt_clear_error();
    xt_loss_scaler_free(scaler);
    scaler = xt_loss_scaler_new();
    xt_module *mine = m, *other = xt_module_new(net, NULL);
    xt_optimizer *others = xt_sgd(other, .lr = 0.01);
    act("bu");
    m = other;
    backward(1);
    m = mine;
    act("s");
    xt_scaler_step(scaler, others);
    act("+|");
    assert_null(xt_error());
    xt_optimizer_free(others);
    xt_module_free(other);
    xt_optimizer_free(opt);
    xt_loss_scaler_free(scaler);
    xt_module_free(m);
}

/* --- in a fit --- */
static double seen;
static void look(xt_module *of, void *user) {
    float g[6];
    (void)user;
    assert_true(xt_read(xt_grad(xt_module_find(of, "fc.weight")), g, sizeof g));
    seen = fabs(g[0]);
    xt_module_clip_grad_norm(of, 1e-3);
}
static xt_tensor step(xt_module *of, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_square(xt_forward(of, b.x)));
}
static xt_optimizer *sgd(xt_module *of, void *user) {
    (void)user;
    return xt_sgd(of, .lr = 0.01);
}

/* As in Lightning, on_before_optimizer_step sees gradients without the scale. */
static void hooks_see_gradients_themselves(void **state) {
    (void)state;
    static float x[8][3];
    for (int i = 0; i < 24; i++) x[i / 3][i % 3] = (float)i / 24;
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = sgd, .on_before_optimizer_step = look};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .precision = "16-mixed", .progress_bar = XT_OFF,
                                   .model_summary = XT_OFF, .checkpointing = XT_OFF, .loggers = "");
    xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {3}}, NULL, (xt_spec){0}, 8), .batch = 4);
    assert_int_equal(xt_fit(t, &task, l), 0);
    assert_true(seen > 0 && seen < 10);
    xt_trainer_free(t);
}

static int end(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_told), cmocka_unit_test(others_may_come_between),
                                       cmocka_unit_test(hooks_see_gradients_themselves)};
    return cmocka_run_group_tests(tests, NULL, end);
}
