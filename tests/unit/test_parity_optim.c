/* Every optimizer against PyTorch: 20 steps with given gradients, parameters on the way and every state at the end, by
 * PyTorch's names. Also clipping, the loss scaler with planted infinities, and what all of it may not cost: a second
 * program, or a read. */
#include "optim/optim.h"
#include "parity.h"

enum { STEPS = 20 };

/* x: the gradients of w and b in one row; the loss's derivatives are they. */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor w = xt_param(m, "w", "zeros", 0, XT_F32, 3, 4), b = xt_param(m, "b", "zeros", 0, XT_F32, 3);
    xt_tensor for_w = xt_sum(xt_mul(w, xt_reshape(xt_slice(x, 0, 0, 12), 3, 4)));
    return xt_add(for_w, xt_sum(xt_mul(b, xt_slice(x, 0, 12, 15))));
}

static xt_module *module_of(const parity_file *f) {
    xt_module *m = xt_module_new(net, NULL);
    assert_non_null(m);
    for (int i = 0; i < 2; i++) {
        const parity_tensor *t = parity_get(f, i ? "b" : "w");
        assert_null(nn_preload(m->root, i ? "b" : "w", t->type, t->data));
    }
    return m;
}

static xt_tensor row(const parity_file *f, int step, int bad) {
    float x[15];
    memcpy(x, (const float *)parity_get(f, "grads")->data + step * 15, sizeof x);
    if (bad >= 0) x[bad] = step % 2 ? INFINITY : NAN;
    return xt_from_array(x, XT_F32, 15);
}

static void compare(const parity_file *f, const char *name, const xt_module *m, int step) {
    char what[128];
    for (int i = 0; i < 2; i++) {
        snprintf(what, sizeof what, "%s/%s%d", name, i ? "b" : "w", step);
        parity_close(f, what, xt_module_find(m, i ? "b" : "w"), 0, 0);
    }
}

static void compare_states(const parity_file *f, const char *name, const xt_optimizer *o) {
    int seen = 0;
    for (int i = 0; i < xt_optimizer_tensors(o); i++) {
        char what[256];
        if (strncmp(xt_optimizer_tensor_name(o, i), "optimizer.step", 14) == 0) continue;
        snprintf(what, sizeof what, "%s/state/%s", name, xt_optimizer_tensor_name(o, i));
        parity_close(f, what, xt_optimizer_tensor(o, i), 2e-5, 1e-9);
        seen++;
    }
    if (seen != parity_count(f, name, "state"))
        fail_msg("%s: %d states, PyTorch has %d", name, seen, parity_count(f, name, "state"));
}

#define OPTIMIZER(name, expr)                        \
    static xt_optimizer *make_##name(xt_module *m) { \
        return expr;                                 \
    }
#define OPTIMIZERS(R)                                                                                                  \
    R(sgd, xt_sgd(m))                                                                                                  \
    R(sgd_all, xt_sgd(m, .lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.05))                          \
    R(sgd_nesterov, xt_sgd(m, .lr = 0.1, .momentum = 0.8, .nesterov = XT_ON, .maximize = XT_ON))                       \
    R(adam, xt_adam(m))                                                                                                \
    R(adam_all, xt_adam(m, .lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-4, .weight_decay = 0.1,                  \
                        .amsgrad = XT_ON, .maximize = XT_ON))                                                          \
    R(adamw, xt_adamw(m))                                                                                              \
    R(adamw_all, xt_adamw(m, .lr = 0.05, .beta1 = 0.7, .beta2 = 0.9, .weight_decay = 0.2, .amsgrad = XT_ON))           \
    R(adagrad, xt_adagrad(m))                                                                                          \
    R(adagrad_all, xt_adagrad(m, .lr = 0.1, .lr_decay = 0.1, .weight_decay = 0.1, .initial_accumulator_value = 0.5,    \
                              .maximize = XT_ON))                                                                      \
    R(rmsprop, xt_rmsprop(m))                                                                                          \
    R(rmsprop_all, xt_rmsprop(m, .lr = 0.02, .alpha = 0.9, .weight_decay = 0.1, .momentum = 0.5, .centered = XT_ON))   \
    R(adadelta, xt_adadelta(m))                                                                                        \
    R(adadelta_all, xt_adadelta(m, .lr = 0.5, .rho = 0.8, .eps = 1e-3, .weight_decay = 0.1, .maximize = XT_ON))        \
    R(adamax, xt_adamax(m))                                                                                            \
    R(adamax_all, xt_adamax(m, .lr = 0.05, .beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1))                           \
    R(nadam, xt_nadam(m))                                                                                              \
    R(nadam_all, xt_nadam(m, .lr = 0.05, .weight_decay = 0.1, .momentum_decay = 0.1, .decoupled_weight_decay = XT_ON)) \
    R(radam, xt_radam(m))                                                                                              \
    R(radam_all,                                                                                                       \
      xt_radam(m, .lr = 0.05, .beta1 = 0.8, .beta2 = 0.99, .weight_decay = 0.1, .decoupled_weight_decay = XT_ON))      \
    R(lion, xt_lion(m))                                                                                                \
    R(lion_all, xt_lion(m, .lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1))                              \
    R(lamb, xt_lamb(m))                                                                                                \
    R(lamb_all, xt_lamb(m, .lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0))                   \
    R(adafactor, xt_adafactor(m))                                                                                      \
    R(adafactor_all, xt_adafactor(m, .lr = 0.1, .beta2_decay = -0.5, .eps1 = 1e-5, .eps2 = 1e-2, .d = 2,               \
                                  .weight_decay = 0.1, .maximize = XT_ON))                                             \
    R(rprop, xt_rprop(m))                                                                                              \
    R(rprop_all, xt_rprop(m, .lr = 0.05, .eta_minus = 0.4, .eta_plus = 1.5, .step_min = 0.01, .step_max = 0.2,         \
                          .maximize = XT_ON))                                                                          \
    R(asgd, xt_asgd(m))                                                                                                \
    R(asgd_all, xt_asgd(m, .lr = 0.1, .lambd = 0.2, .alpha = 0.6, .t0 = 4, .weight_decay = 0.1))                       \
    R(sparse_adam, xt_sparse_adam(m))                                                                                  \
    R(sparse_adam_all, xt_sparse_adam(m, .lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-4, .maximize = XT_ON))     \
    R(muon, xt_muon(m))                                                                                                \
    R(muon_all, xt_muon(m, .lr = 0.02, .momentum = 0.8, .weight_decay = 0.2, .nesterov = XT_OFF, .ns_steps = 3,        \
                        .match_rms_adamw = XT_ON))                                                                     \
    R(clip_2, xt_sgd(m, .lr = 0.1, .clip_norm = 0.5))                                                                  \
    R(clip_1, xt_sgd(m, .lr = 0.1, .clip_norm = 0.5, .clip_norm_type = 1))                                             \
    R(clip_3, xt_sgd(m, .lr = 0.1, .clip_norm = 0.5, .clip_norm_type = 3))                                             \
    R(clip_inf, xt_sgd(m, .lr = 0.1, .clip_norm = 0.5, .clip_norm_type = HUGE_VAL))                                    \
    R(clip_value, xt_sgd(m, .lr = 0.1, .clip_value = 0.2))
OPTIMIZERS(OPTIMIZER)
static xt_optimizer *make_groups(xt_module *m) {
    xt_optimizer *o = xt_adamw(m, .lr = 0.05);
    assert_int_equal(xt_optimizer_group(o, "b*", .lr = 0.005, .weight_decay = 0), 1);
    return o;
}

typedef struct optimizer_row {
    const char *name;
    xt_optimizer *(*make)(xt_module *m);
} optimizer_row;
#define ROW(name, expr) {#name, make_##name},
static const optimizer_row rows[] = {OPTIMIZERS(ROW){"groups", make_groups}};

static void optimizers(void **state) {
    (void)state;
    parity_file *f = parity_open("optim");
    const char *only = getenv("ONLY");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (only && strcmp(only, rows[i].name) != 0) continue;
        xt_module *m = module_of(f);
        xt_optimizer *o = rows[i].make(m);
        int64_t compiles = xt_counter("compiles"), reads = xt_counter("host_reads");
        for (int t = 0; t < STEPS; t++) {
            xt_backward(xt_forward(m, row(f, t, -1)));
            xt_optimizer_step(o);
            xt_mark_step();
            parity_no_error(rows[i].name);
            if (t + 1 == 1 || t + 1 == 5)
                compare(f, rows[i].name, m, t + 1);
            else
                assert_int_equal(xt_counter("host_reads"), reads);
            reads = xt_counter("host_reads");
        }
        assert_int_equal(xt_counter("compiles") - compiles, 1);
        compare(f, rows[i].name, m, STEPS);
        compare_states(f, rows[i].name, o);
        xt_optimizer_free(o);
        xt_module_free(m);
    }
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

/* --- the table of optimizers --- */
#undef OPTIMIZER
#define OPTIMIZER(name, title, type)                        \
    static xt_optimizer *new_##name(xt_module *net) {       \
        return xt_##name##_opt(NULL, net, XT_OPTS(type, )); \
    }
#include "optim/optimizers.def"
#undef OPTIMIZER
#define OPTIMIZER(name, title, type) {#name, new_##name},
static const optimizer_row table[] = {
#include "optim/optimizers.def"
};

/* Each constructor makes the kind of its row, whose states have names of their own. */
static void names(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    assert_int_equal(BASE_COUNT(table), OPTIM_COUNT);
    for (int i = 0; i < OPTIM_COUNT; i++) {
        xt_optimizer *o = table[i].make(m);
        assert_non_null(o);
        assert_string_equal(o->name->name, table[i].name);
        assert_true(o->name->title[0] != 0);
        for (int k = 0; k < o->kind->n_states; k++) {
            assert_non_null(o->kind->state_names[k]);
            for (int j = 0; j < k; j++) assert_string_not_equal(o->kind->state_names[j], o->kind->state_names[k]);
        }
        assert_true(o->kind->n_states == OPTIM_MAX_STATES || !o->kind->state_names[o->kind->n_states]);
        xt_optimizer_free(o);
    }
    xt_module_free(m);
    assert_int_equal(xt_finish(), 0);
}

/* A parameter that has no gradient for four steps has its own step count from then on. */
static void late(void **state) {
    (void)state;
    parity_file *f = parity_open("optim");
    xt_module *m = module_of(f);
    xt_optimizer *o = xt_adam(m, .lr = 0.05);
    for (int t = 0; t < STEPS; t++) {
        xt_forward(m, row(f, t, -1)); /* makes b, which the loss of the first steps leaves out */
        xt_tensor x = row(f, t, -1), w = xt_module_find(m, "w"), b = xt_module_find(m, "b");
        xt_tensor loss = xt_sum(xt_mul(w, xt_reshape(xt_slice(x, 0, 0, 12), 3, 4)));
        if (t >= 4) loss = xt_add(loss, xt_sum(xt_mul(b, xt_slice(x, 0, 12, 15))));
        xt_backward(loss);
        xt_optimizer_step(o);
        xt_mark_step();
        parity_no_error("late");
        if (t + 1 == 1 || t + 1 == 5 || t + 1 == STEPS) compare(f, "late", m, t + 1);
    }
    compare_states(f, "late", o);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

static void moving(void **state) {
    (void)state;
    parity_file *f = parity_open("optim");
    xt_module *m = module_of(f);
    xt_optimizer *o = xt_adam(m, .lr = 0.01);
    int64_t compiles = xt_counter("compiles");
    for (int t = 0; t < STEPS; t++) {
        xt_optimizer_set_lr(o, 0.01 * (t + 1));
        xt_optimizer_set_momentum(o, 0.95 - 0.02 * t);
        xt_backward(xt_forward(m, row(f, t, -1)));
        xt_optimizer_step(o);
        xt_mark_step();
        parity_no_error("moving");
        if (t + 1 == 1 || t + 1 == 5) compare(f, "moving", m, t + 1);
    }
    assert_int_equal(xt_counter("compiles") - compiles, 1);
    compare(f, "moving", m, STEPS);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

/* Norms by themselves; clipping by hand does what the options do. */
static void norms(void **state) {
    (void)state;
    static const double types[] = {1, 2, 3, HUGE_VAL};
    parity_file *f = parity_open("optim");
    xt_module *m = module_of(f);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    const parity_tensor *want = parity_get(f, "norms");
    xt_tensor got[8], scaled;
    xt_backward(xt_forward(m, row(f, 0, -1)));
    for (int i = 0; i < 4; i++) got[i] = xt_keep(xt_grad_norm(o, .norm_type = types[i]));
    xt_tensor before = xt_keep(xt_clip_grad_norm(o, 0.5));
    scaled = xt_keep(xt_module_clip_grad_norm(m, HUGE_VAL));
    xt_optimizer_step(o);
    for (int i = 0; i < 4; i++) /* of the step: what was clipped by hand stays clipped */
        got[4 + i] = xt_keep(xt_grad_norm(o, .norm_type = types[i]));
    xt_mark_step();
    parity_no_error("norms");
    for (int i = 0; i < 4; i++)
        assert_float_equal(xt_item(got[i]), parity_element(want, i), 1e-5 * parity_element(want, i));
    assert_float_equal(xt_item(before), parity_element(want, 1), 1e-5 * parity_element(want, 1));
    assert_float_equal(xt_item(scaled), 0.5, 1e-5);
    assert_float_equal(xt_item(got[5]), 0.5, 1e-5);
    compare(f, "clip_2", m, 1);
    for (int i = 0; i < 8; i++) xt_drop(got[i]);
    xt_drop(before);
    xt_drop(scaled);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

static void scaler(void **state) {
    (void)state;
    parity_file *f = parity_open("optim");
    xt_module *m = module_of(f);
    xt_optimizer *o = xt_adam(m, .lr = 0.05);
    xt_loss_scaler *s = xt_loss_scaler_new(.init_scale = 1024, .growth_interval = 3);
    const parity_tensor *bad = parity_get(f, "scaler/bad"), *scales = parity_get(f, "scaler/scales");
    xt_tensor seen[STEPS];
    int64_t compiles = xt_counter("compiles"), reads = xt_counter("host_reads");
    for (int t = 0; t < STEPS; t++) {
        int where = -1;
        for (int64_t i = 0; i < bad->type->count; i++)
            if (parity_element(bad, i) == t) where = t % 15;
        xt_backward(xt_scale_loss(s, xt_forward(m, row(f, t, where))));
        xt_scaler_unscale(s, o);
        xt_clip_grad_norm(o, 1.5);
        xt_scaler_step(s, o);
        xt_scaler_update(s);
        seen[t] = xt_keep(xt_mul_scalar(xt_loss_scale(s), 1));
        xt_mark_step();
        parity_no_error("scaler");
    }
    assert_int_equal(xt_counter("compiles") - compiles, 1); /* skipping is data */
    assert_int_equal(xt_counter("host_reads"), reads);
    for (int t = 0; t < STEPS; t++) {
        if (xt_item(seen[t]) != parity_element(scales, t))
            fail_msg("scale %g after step %d, PyTorch has %g", xt_item(seen[t]), t, parity_element(scales, t));
        xt_drop(seen[t]);
    }
    compare(f, "scaler", m, STEPS);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

/* Interrupted after 10 steps, saved, loaded into new objects: the same bits as without. */
static void resume(void **state) {
    (void)state;
    static const char path[] = "/tmp/xtrain_optim_resume.safetensors";
    parity_file *f = parity_open("optim");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float whole[12], halves[12];
        for (int parts = 1; parts <= 2; parts++) {
            xt_module *m = module_of(f);
            xt_optimizer *o = rows[i].make(m);
            xt_cosine_schedule(o, .t_max = 15);
            for (int t = 0; t < STEPS; t++) {
                if (parts == 2 && t == 10) {
                    float w[12], b[3];
                    assert_null(xt_optimizer_save(o, path));
                    assert_true(xt_read(xt_module_find(m, "w"), w, sizeof w) &&
                                xt_read(xt_module_find(m, "b"), b, sizeof b));
                    xt_optimizer_free(o);
                    xt_module_free(m);
                    m = xt_module_new(net, NULL);
                    assert_null(nn_preload(m->root, "w", parity_get(f, "w")->type, w));
                    assert_null(nn_preload(m->root, "b", parity_get(f, "b")->type, b));
                    o = rows[i].make(m);
                    xt_cosine_schedule(o, .t_max = 15);
                    xt_status s = xt_optimizer_load(o, path);
                    if (s) fail_msg("%s: %s", rows[i].name, xt_status_message(s));
                    assert_int_equal(xt_optimizer_steps(o), 10);
                }
                xt_backward(xt_forward(m, row(f, t, -1)));
                xt_optimizer_step(o);
                xt_mark_step();
                xt_schedule_step(o->schedulers[0]);
            }
            parity_no_error(rows[i].name);
            assert_true(xt_read(xt_module_find(m, "w"), parts == 1 ? whole : halves, sizeof whole));
            xt_optimizer_free(o);
            xt_module_free(m);
        }
        if (memcmp(whole, halves, sizeof whole) != 0) fail_msg("%s: another result after resuming", rows[i].name);
    }
    remove(path);
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

/* A compiled step function does with rates, momenta, schedules and the scaler what the plain loop does,
 * recorded once. */
typedef struct whole_step {
    xt_module *m;
    xt_optimizer *o;
    xt_loss_scaler *s;
} whole_step;
static xt_tensor take_whole_step(const xt_tensor *in, int n, void *user) {
    whole_step *w = user;
    (void)n;
    xt_tensor loss = xt_forward(w->m, in[0]);
    xt_backward(xt_scale_loss(w->s, loss));
    xt_scaler_step(w->s, w->o);
    xt_scaler_update(w->s);
    xt_schedule_step(w->o->schedulers[0]);
    return loss;
}

static void compiled(void **state) {
    (void)state;
    parity_file *f = parity_open("optim");
    float plain[12], replayed[12];
    for (int way = 0; way < 2; way++) {
        whole_step w = {.m = module_of(f), .s = xt_loss_scaler_new(.init_scale = 1024, .growth_interval = 3)};
        w.o = xt_adam(w.m, .lr = 0.01, .clip_norm = 1);
        xt_one_cycle_schedule(w.o, .max_lr = 0.1, .total_steps = STEPS);
        xt_step *step = xt_compile(take_whole_step, .user = &w);
        for (int t = 0; t < STEPS; t++) {
            xt_tensor in = row(f, t, t == 9 ? 4 : -1);
            if (way)
                xt_call(step, in);
            else
                take_whole_step(&in, 1, &w);
            assert_true(xt_mark_step());
        }
        parity_no_error("compiled");
        if (way) assert_true(xt_step_traces(step) <= 2); /* the first call makes the parameters */
        assert_int_equal(xt_optimizer_steps(w.o), STEPS);
        assert_int_equal(xt_schedule_last_epoch(w.o->schedulers[0]), STEPS);
        assert_true(xt_read(xt_module_find(w.m, "w"), way ? replayed : plain, sizeof plain));
        xt_finish();
    }
    assert_memory_equal(plain, replayed, sizeof plain);
    parity_close_file(f);
}

static char said[4096];
static void listen(xt_severity sev, const char *text, size_t n, void *user) {
    (void)user;
    if (sev == XT_SEV_WARNING && strlen(said) + n + 1 < sizeof said) strncat(said, text, n);
}

/* A frozen group keeps its values, the others train as always; a pattern that names nothing is said. */
static void frozen(void **state) {
    (void)state;
    parity_file *f = parity_open("optim");
    xt_module *m = module_of(f);
    xt_optimizer *o = xt_adam(m);
    float b[3];
    said[0] = 0;
    xt_set_sink(listen, NULL);
    assert_int_equal(xt_optimizer_group(o, "b", .frozen = XT_ON), 1);
    assert_int_equal(xt_optimizer_group(o, "*.biass", .weight_decay = 0), 2);
    for (int t = 0; t < STEPS; t++) {
        xt_backward(xt_forward(m, row(f, t, -1)));
        xt_optimizer_step(o);
        xt_mark_step();
    }
    xt_set_sink(NULL, NULL);
    parity_no_error("frozen");
    parity_close(f, "adam/w20", xt_module_find(m, "w"), 0, 0);
    assert_true(xt_read(xt_module_find(m, "b"), b, sizeof b));
    assert_memory_equal(b, parity_get(f, "b")->data, sizeof b);
    assert_int_equal(xt_optimizer_tensors(o), 3); /* the step, and two moments of w */
    assert_non_null(strstr(said, "no parameter is in the group \"*.biass\""));
    assert_non_null(strstr(said, "test_parity_optim.c:"));
    assert_int_equal(xt_optimizer_group(o, "w", .lr = 1), -1);
    assert_non_null(strstr(xt_status_message(xt_error()), "before the first step"));
    xt_clear_error();
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}

static void nothing_left(void **state) {
    (void)state;
    static const char *const kinds[] = {"tensor", "buffer", "module", "optimizer"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (xt_live_objects(kinds[i]) != 0)
            fail_msg("%lld %s objects are alive", (long long)xt_live_objects(kinds[i]), kinds[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizers), cmocka_unit_test(names),       cmocka_unit_test(late),   cmocka_unit_test(moving),
        cmocka_unit_test(norms),      cmocka_unit_test(scaler),      cmocka_unit_test(resume), cmocka_unit_test(frozen),
        cmocka_unit_test(compiled),   cmocka_unit_test(nothing_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
