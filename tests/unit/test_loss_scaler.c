/* Loss scaling in the wrong order: gradients with the scale and without it never meet in silence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
                {"bubs+", {"has divided the gradients by the scale, and xt_backward at ", "test_loss_scaler.c:24"}},
                {"bu|bs+", {"has divided the gradients by the scale, and xt_backward at ", "xt_scaler_step: "}},
                {"bubo", {"has divided the gradients", "xt_optimizer_step: "}},
                {"bubu", {"has divided the gradients", "xt_scaler_unscale: "}},
                {"bubc", {"has divided the gradients", "xt_clip_grad_norm: "}},
                {"bubv", {"has divided the gradients", "xt_clip_grad_value: "}},
                {"buu", {"are unscaled already, at ", "test_loss_scaler.c:32"}},
                {"bcu", {"were clipped at ", "test_loss_scaler.c:33 while the scale was in them"}},
                {"bcs", {"were clipped at ", "test_loss_scaler.c:33 while the scale was in them"}},
                {"bvs", {"were clipped at ", "test_loss_scaler.c:34"}},
                {"bns", {"were clipped at ", "test_loss_scaler.c:35"}},
                {"bmu", {"were clipped at ", "test_loss_scaler.c:36"}},
                {"u", {"no parameter has a gradient", "between xt_backward and xt_scaler_step"}},
                {"bs|bs", {"stepped this optimizer at ", "test_loss_scaler.c:37 already"}}};
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

/* --- saved and loaded --- */
static char dir[64];
static const char *file(const char *name) {
    static char path[2][128];
    static int turn;
    snprintf(path[turn ^= 1], sizeof path[0], "%s/%s", dir, name);
    return path[turn];
}
static void ok(xt_status e) {
    if (e) fail_msg("%s", xt_status_message(e));
}
static double trained(const char *letters) {
    act(letters);
    if (xt_error()) fail_msg("%s: %s", letters, xt_status_message(xt_error()));
    double sum = xt_item(xt_sum(xt_square(xt_module_find(m, "fc.weight"))));
    xt_mark_step();
    return sum;
}
static void start(void) {
    xt_seed(3);
    m = xt_module_new(net, NULL);
    opt = xt_adam(m, .lr = 0.01);
    scaler = xt_loss_scaler_new(.init_scale = 1024, .growth_interval = 3);
}
static void stop(void) {
    xt_optimizer_free(opt);
    xt_loss_scaler_free(scaler);
    xt_module_free(m);
}
/* Four steps, of which the third doubles the scale, and four more. */
#define FOUR "bs+|bs+|bs+|bs+|"
static double whole, scale;
static void train_whole(void) {
    strcpy(dir, "/tmp/xt_scaler_XXXXXX");
    assert_non_null(mkdtemp(dir));
    start();
    trained(FOUR);
    ok(xt_save(m, file("net")));
    ok(xt_optimizer_save(opt, file("state")));
    assert_true(xt_item(xt_loss_scale(scaler)) == 2048);
    whole = trained(FOUR);
    scale = xt_item(xt_loss_scale(scaler));
    assert_true(xt_mark_step() && scale == 4096);
    stop();
}
static void cleaned(void) {
    remove(file("net"));
    remove(file("state"));
    remove(dir);
}

/* The state may be loaded before anything has been scaled, behind the first steps and between two, before the scaler is
 * made or when it has been looked at, and saved again before it is used: the loss has the scale that was saved. */
static void loaded_states_go_on(void **state) {
    (void)state;
    static const char *const before[] = {"", "bs+|bs+|", "bs+|b|"};
    train_whole();
    for (size_t i = 0; i < 3; i++)
        for (int again = 0; again < 2; again++) {
            start();
            act(before[i]);
            if (again && !i) { /* the scaler behind the state, which is saved at once */
                xt_loss_scaler_free(scaler);
                ok(xt_optimizer_load(opt, file("state")));
                ok(xt_optimizer_save(opt, file("state")));
                scaler = xt_loss_scaler_new(.growth_interval = 3);
            } else if (again)
                assert_true(xt_item(xt_loss_scale(scaler)) == 1024);
            if (i == 2) xt_zero_grad(opt);
            ok(xt_load(m, file("net")));
            ok(xt_optimizer_load(opt, file("state")));
            assert_true(xt_item(xt_loss_scale(scaler)) == 2048);
            double sum = trained(FOUR), now = xt_item(xt_loss_scale(scaler));
            xt_mark_step();
            if (sum != whole || now != scale)
                fail_msg("%s%d: %.9g %g, not %.9g %g", before[i], again, sum, now, whole, scale);
            stop();
        }
    /* a scale that the file does not have would overflow: nothing is skipped */
    start();
    xt_loss_scaler_free(scaler);
    scaler = xt_loss_scaler_new(.init_scale = 1e30, .growth_interval = 3);
    ok(xt_load(m, file("net")));
    ok(xt_optimizer_load(opt, file("state")));
    backward(1e12);
    act("s+|");
    assert_true(xt_item(xt_loss_scale(scaler)) == 2048);
    xt_mark_step();
    stop();
    cleaned();
}

/* Two optimizers whose states differ, each with a scaler of its own: which is whose shows at the first step, behind the
 * first loss, and the steps are those of the run that was saved all the same. */
static void each_has_its_own(void **state) {
    (void)state;
    train_whole();
    start();
    act("bs+|");
    ok(xt_optimizer_save(opt, file("other")));
    stop();
    start();
    xt_module *n = m;
    xt_optimizer *o = opt;
    xt_loss_scaler *s = scaler;
    ok(xt_load(n, file("net")));
    ok(xt_optimizer_load(o, file("state")));
    start();
    ok(xt_load(m, file("net")));
    ok(xt_optimizer_load(opt, file("other")));
    xt_module *m2 = m;
    xt_optimizer *opt2 = opt;
    xt_loss_scaler *s2 = scaler;
    for (int i = 0; i < 4; i++) {
        m = n, opt = o, scaler = s;
        act("bs+");
        m = m2, opt = opt2, scaler = s2;
        act("bs+|");
    }
    assert_null(xt_error());
    assert_true(xt_item(xt_sum(xt_square(xt_module_find(n, "fc.weight")))) == whole);
    assert_true(xt_item(xt_loss_scale(s)) == scale);
    assert_true(xt_item(xt_loss_scale(s2)) == 2048); /* three of its steps since */
    xt_mark_step();
    stop();
    m = n, opt = o, scaler = s;
    stop();
    remove(file("other"));
    cleaned();
}

static int end(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_told), cmocka_unit_test(others_may_come_between),
                                       cmocka_unit_test(hooks_see_gradients_themselves),
                                       cmocka_unit_test(loaded_states_go_on), cmocka_unit_test(each_has_its_own)};
    return cmocka_run_group_tests(tests, NULL, end);
}
