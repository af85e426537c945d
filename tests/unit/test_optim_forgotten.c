/* What loops leave out is told once and with its lines; loops that leave out nothing hear nothing. */
#include "train_test.h"

enum { STEPS = 130 };
static float rows[64];

static xt_tensor x(void) {
    for (int i = 0; i < 64; i++) rows[i] = (float)(i % 7) - 3;
    return xt_from_array(rows, XT_F32, 16, 4);
}
static xt_tensor two_layers(xt_module *m, xt_tensor in, void *user) {
    (void)user;
    return xt_linear(m, "b", xt_relu(xt_linear(m, "a", in, 4)), 1);
}
static xt_module *net(void) {
    return xt_module_new(two_layers, NULL);
}
static xt_tensor loss_of(xt_module *m, xt_tensor in) {
    return xt_mean(xt_square(xt_forward(m, in)));
}

static int warnings(void) {
    static const char *const begins[] = {"has not stepped",
                                         "that no optimizer has",
                                         "never had a gradient",
                                         "gradients of two losses",
                                         "nothing has ended the step",
                                         "into evaluation mode",
                                         "has never stepped",
                                         "before the first update here",
                                         "the rate goes twice as fast",
                                         "of a pass over the loader that was left early",
                                         "gradients flow from each iteration",
                                         "so nothing is clipped"};
    int n = 0;
    for (size_t i = 0; i < BASE_COUNT(begins); i++)
        for (const char *p = str_cstr(&said); (p = strstr(p, begins[i])); p++) n++;
    return n;
}
static void told(const char *what) {
    says(what);
    if (warnings() != 1) fail_msg("%d warnings:\n%s", warnings(), str_cstr(&said));
}
static void silent(void) {
    if (warnings()) fail_msg("was said:\n%s", str_cstr(&said));
}

/* --- the step --- */
static void a_step_that_is_forgotten(void **state) {
    (void)state;
    xt_module *m = net();
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 5; i++) {
        xt_backward(loss_of(m, x()));
        assert_true(xt_mark_step());
    }
    silent(); /* it may come still */
    xt_optimizer_free(o);
    told("has not stepped, though xt_backward at");
    says("gradients for it 5 times");
    xt_module_free(m);
}
static xt_loader *loader(void) {
    static float all[256];
    return xt_loader_new(xt_array_dataset(all, (xt_spec){XT_F32, {4}}, NULL, (xt_spec){0}, 64), .batch = 1);
}
/* Over passes of a loader: in the next pass at the latest. */
static void a_pass_without_steps(void **state) {
    (void)state;
    xt_module *m = net();
    xt_optimizer *o = xt_adam(m);
    xt_loader *l = loader();
    int n = 0;
    for (int epoch = 0; epoch < 3; epoch++)
        for (xt_batch b; xt_next(l, &b); n++) {
            xt_backward(loss_of(m, b.x));
            if (n < 64) silent();
        }
    told("the optimizer xt_adam made at");
    xt_loader_free(l);
    xt_optimizer_free(o);
    xt_module_free(m);
    told("has not stepped");
}
/* Gathered over a pass, or many small batches, and then used; a loss without training beside it. */
static void gathering_is_none(void **state) {
    (void)state;
    xt_module *m = net();
    xt_optimizer *o = xt_sgd(m, .lr = 0.01), *unused = xt_sgd(m, .lr = 1);
    xt_loader *l = loader();
    for (int epoch = 0; epoch < 4; epoch++) {
        for (xt_batch b; xt_next(l, &b);) xt_backward(loss_of(m, b.x));
        xt_optimizer_step(o);
    }
    for (int i = 0; i < 512; i++) {
        xt_backward(loss_of(m, x()));
        assert_true(xt_mark_step());
        if (i % 256 == 255) xt_optimizer_step(o);
    }
    assert_true(xt_mark_step());
    (void)unused;
    xt_loader_free(l);
    silent();
}

/* --- the optimizer --- */
static xt_tensor encode(xt_module *m, xt_tensor in, void *user) {
    (void)user;
    return xt_linear(m, "code", in, 4);
}
static void a_module_without_optimizer(void **state) {
    (void)state;
    for (int frozen = 1; frozen >= 0; frozen--) {
        xt_module *encoder = xt_module_new(encode, NULL), *m = net();
        if (frozen) xt_freeze(encoder, "*");
        xt_optimizer *o = xt_sgd(m, .lr = 0.01);
        for (int i = 0; i < STEPS; i++) {
            xt_backward(loss_of(m, xt_forward(encoder, x())));
            xt_optimizer_step(o);
            assert_true(xt_mark_step());
        }
        if (frozen)
            silent();
        else
            told("gradients of 2 parameters (code.weight, code.bias, made at");
        xt_optimizer_free(o);
        xt_module_free(m);
        xt_module_free(encoder);
    }
}

/* --- gradients --- */
typedef enum way { TO_NOTHING, BY_SIGN, DETACHED, WITHOUT_GRADIENTS, FROZEN, IN_A_FROZEN_GROUP, NOW_AND_THEN } way;
static int calls;
static xt_tensor with_a_side(xt_module *m, xt_tensor in, void *user) {
    way w = *(way *)user;
    bool off = w == WITHOUT_GRADIENTS;
    xt_tensor main = xt_linear(m, "main", in, 1);
    if (w == NOW_AND_THEN && calls++ % 50 != 49) return main;
    if (off) xt_no_grad_begin();
    xt_tensor side = xt_linear(m, "side", in, 1);
    if (off) xt_no_grad_end();
    if (w == TO_NOTHING) return main;
    if (w == BY_SIGN) return xt_add(main, xt_cast(xt_gt(side, xt_zeros(XT_F32, 1)), XT_F32));
    return xt_add(main, w == DETACHED ? xt_detach(side) : side);
}
static void what_no_gradient_reaches(void **state) {
    (void)state;
    for (way w = TO_NOTHING; w <= NOW_AND_THEN; w++) {
        str_clear(&said);
        xt_module *m = xt_module_new(with_a_side, &w);
        xt_optimizer *o = xt_sgd(m, .lr = 0.001);
        if (w == FROZEN) xt_freeze(m, "side.*");
        if (w == IN_A_FROZEN_GROUP) xt_optimizer_group(o, "side.*", .frozen = XT_ON);
        for (int i = 0; i < STEPS; i++) {
            xt_backward(loss_of(m, x()));
            xt_optimizer_step(o);
            assert_true(xt_mark_step());
        }
        if (w == TO_NOTHING) told("is no part of the loss");
        if (w == BY_SIGN) told("has no derivative");
        if (w <= BY_SIGN)
            says("side.weight and others never had a gradient");
        else
            silent();
        xt_optimizer_free(o);
        xt_module_free(m);
    }
}

/* --- zeroing --- */
typedef enum zeroing { FORGOTTEN, BY_OPTIMIZER, DETACHES } zeroing;
static void adversaries(void **state) {
    (void)state;
    for (zeroing z = FORGOTTEN; z <= DETACHES; z++) {
        str_clear(&said);
        xt_module *g = xt_module_new(encode, NULL), *d = net();
        xt_optimizer *og = xt_adam(g), *od = xt_adam(d);
        for (int i = 0; i < 20; i++) {
            if (z == BY_OPTIMIZER) xt_zero_grad(od);
            xt_tensor fake = xt_forward(g, x());
            xt_backward(loss_of(d, x()));
            xt_backward(xt_neg(loss_of(d, xt_detach(fake))));
            xt_optimizer_step(od);
            xt_backward(loss_of(d, xt_forward(g, x())));
            xt_optimizer_step(og);
            if (z == DETACHES) xt_zero_grad(od);
            assert_true(xt_mark_step());
        }
        if (z == FORGOTTEN)
            told("the optimizer steps with gradients of two losses");
        else
            silent();
        xt_optimizer_free(og);
        xt_optimizer_free(od);
        xt_module_free(g);
        xt_module_free(d);
    }
}
/* The one optimizer steps each time, the other gathers over two steps and two losses. */
static void gathering_beside_another(void **state) {
    (void)state;
    xt_module *g = xt_module_new(encode, NULL), *d = net();
    xt_optimizer *og = xt_adam(g), *od = xt_adam(d);
    for (int i = 0; i < 40; i++) {
        xt_backward(loss_of(d, x()));
        xt_backward(xt_neg(loss_of(d, xt_neg(x()))));
        if (i % 2) xt_optimizer_step(od);
        xt_backward(loss_of(g, x()));
        xt_optimizer_step(og);
        assert_true(xt_mark_step());
    }
    silent();
}

/* --- the boundary --- */
/* 99 calls are no such loop, and the process is told once. */
static void a_loop_of_gradients_alone(void **state) {
    (void)state;
    xt_module *m = net();
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 99; i++) xt_backward(loss_of(m, x()));
        assert_true(xt_mark_step());
    }
    silent();
    for (int i = 0; i < 101; i++) xt_backward(loss_of(m, x()));
    told("xt_backward was called 100 times and nothing has ended the step");
    assert_true(xt_mark_step());
}

/* So are 499 values that are read, of a step each; an evaluation of one sample at a time whose step goes on is one. */
static void a_loop_of_reads_alone(void **state) {
    (void)state;
    xt_module *m = net();
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 499; i++) xt_item(loss_of(m, x()));
        assert_true(xt_mark_step());
    }
    silent();
    for (int i = 0; i < 500; i++) xt_item(loss_of(m, x()));
    told("values were read 500 times and nothing has ended the step");
}

/* Updates by hand: one state 200 times, not 300 states once. */
static void a_loop_of_assignments_alone(void **state) {
    (void)state;
    xt_tensor many[300];
    for (int i = 0; i < 300; i++) many[i] = xt_state("many", XT_F32, 2);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 300; i++) xt_assign(many[i], xt_add_scalar(many[i], 1));
        assert_true(xt_mark_step());
    }
    silent();
    for (int i = 0; i < 200; i++) xt_assign(many[7], xt_mul_scalar(many[7], 0.5));
    told("xt_assign has set the same state 200 times and nothing has ended the step");
    for (int i = 0; i < 300; i++) xt_drop(many[i]);
}

/* An evaluation that only logs: 200 values of one name in a step, not 400 in two. */
static void a_loop_of_logs_alone(void **state) {
    (void)state;
    xt_module *m = net();
    xt_eval(m);
    xt_no_grad_begin();
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 200; i++) xt_log("val", loss_of(m, x()));
        assert_true(xt_mark_step());
    }
    silent();
    for (int i = 0; i < 201; i++) xt_log("val", loss_of(m, x()));
    told("a name was logged again 200 times and nothing has ended the step");
    xt_no_grad_end();
}

/* A state that is handed on: with its gradients, or without. */
static xt_tensor cell(xt_module *m, xt_tensor in, void *user) {
    (void)user;
    return xt_tanh(xt_linear(m, "cell", in, 4));
}
static void a_state_that_is_not_detached(void **state) {
    (void)state;
    for (int detached = 1; detached >= 0; detached--) {
        xt_module *m = xt_module_new(cell, NULL);
        xt_optimizer *o = xt_sgd(m, .lr = 0.01);
        xt_tensor h = xt_zeros(XT_F32, 16, 4);
        for (int i = 0; i < 24; i++) {
            h = xt_forward(m, xt_add(detached ? xt_detach(h) : h, x()));
            xt_backward(xt_mean(xt_square(h)));
            xt_optimizer_step(o);
        }
        if (detached)
            silent();
        else
            told("gradients flow from each iteration of the loop into the one before, 21 of them so far");
        assert_true(xt_mark_step());
        xt_optimizer_free(o);
        xt_module_free(m);
    }
}

/* --- clipping --- */
static void clipping_in_front(void **state) {
    (void)state;
    xt_module *m = net();
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    for (int front = 0; front < 2; front++) {
        for (int i = 0; i < 3; i++) {
            if (front) xt_clip_grad_norm(o, 1);
            xt_backward(loss_of(m, x()));
            if (!front) xt_clip_grad_norm(o, 1);
            xt_optimizer_step(o);
            assert_true(xt_mark_step());
        }
        if (!front) silent();
    }
    told("xt_clip_grad_norm: no parameter has a gradient here, so nothing is clipped");
}

/* --- the mode --- */
static xt_tensor with_dropout(xt_module *m, xt_tensor in, void *user) {
    return two_layers(m, user ? in : xt_dropout(xt_sub(m, "drop", -1), in, 0.1), NULL);
}
typedef enum mode { LEFT, PLAIN, ENDED, BEGUN, CHILD, ALWAYS } mode;
static void train_with(mode how) {
    static int none;
    xt_module *m = xt_module_new(with_dropout, how == PLAIN ? &none : NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    if (how == ALWAYS) xt_eval(m);
    if (how == CHILD) xt_eval(xt_sub(m, "drop", -1));
    for (int epoch = 0; epoch < 3; epoch++) {
        for (int i = 0; i < 4; i++) {
            xt_backward(loss_of(m, x()));
            xt_optimizer_step(o);
            assert_true(xt_mark_step());
        }
        if (how == LEFT || how == PLAIN || how == ENDED) xt_eval(m);
        if (how == BEGUN) xt_eval_begin(m);
        xt_no_grad_begin();
        loss_of(m, x());
        xt_no_grad_end();
        if (how == ENDED) xt_train(m);
        if (how == BEGUN) xt_eval_end(m);
        assert_true(xt_mark_step());
    }
    xt_optimizer_free(o);
    xt_module_free(m);
}
static void training_in_evaluation_mode(void **state) {
    (void)state;
    for (mode how = PLAIN; how <= ALWAYS; how++) train_with(how);
    silent(); /* without a layer that depends on it, too */
    train_with(LEFT);
    told("the optimizer trains a network that xt_eval has put into evaluation mode");
}

/* --- schedules --- */
typedef enum stepping { NEVER, BEHIND, IN_FRONT, TO_A_PLACE, BY_VALUE, WITHIN_ANOTHER } stepping;
static void step_schedule(stepping how, int steps) {
    xt_module *m = net();
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    xt_scheduler *s = how == BY_VALUE ? xt_plateau_schedule(o, .patience = 2) : xt_cosine_schedule(o, .t_max = 500);
    if (how == WITHIN_ANOTHER) s = xt_chained_schedule(o, .schedules = {s});
    for (int i = 0; i < 3 && how == TO_A_PLACE; i++) xt_schedule_step(s);
    for (int i = 0; i < steps; i++) {
        if (how == IN_FRONT) xt_schedule_step(s);
        xt_backward(loss_of(m, x()));
        xt_optimizer_step(o);
        if (how == BEHIND || how == TO_A_PLACE || how == WITHIN_ANOTHER) xt_schedule_step(s);
        if (how == BY_VALUE) xt_schedule_step_value(s, 1);
        assert_true(xt_mark_step());
    }
    xt_optimizer_free(o);
    xt_module_free(m);
}
static void schedules_that_do_not_follow(void **state) {
    (void)state;
    for (stepping how = BEHIND; how <= WITHIN_ANOTHER; how++)
        if (how != IN_FRONT) step_schedule(how, STEPS);
    step_schedule(NEVER, 10); /* it may be for the next epoch */
    silent();
    step_schedule(IN_FRONT, 3);
    told("has stepped (xt_schedule_step) before the first update here: its first rate, 0.01, is never used");
    str_clear(&said);
    step_schedule(NEVER, STEPS);
    told("has never stepped, in 130 steps of its optimizer: the rate is 0.01");
}

static xt_scheduler *scheduler;
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return loss_of(m, b.x);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    scheduler = xt_step_schedule(o, .step_size = 1);
    return o;
}
static void step_it(xt_module *m, int64_t epoch, void *user) {
    (void)m, (void)epoch, (void)user;
    xt_schedule_step(scheduler);
}
static void a_schedule_of_two(void **state) {
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        xt_task task = {.net = two_layers, .training_step = training_step, .configure_optimizers = configure};
        if (twice) task.on_train_epoch_end = step_it;
        xt_trainer *t = xt_trainer_new(.max_epochs = 3, .barebones = XT_ON);
        assert_int_equal(xt_fit(t, &task, loader(), NULL), 0);
        xt_trainer_free(t);
        if (!twice) silent();
    }
    told("is stepped by the program (xt_schedule_step) and by the Trainer");
}

/* --- what was taken --- */
static void fails(const char *part) {
    const char *text = xt_error() ? xt_status_message(xt_error()) : "";
    if (!strstr(text, part)) fail_msg("\"%s\" is not said in: %s", part, text);
    xt_clear_error();
}
static void gradients_that_were_taken(void **state) {
    (void)state;
    xt_module *m = net(), *empty = xt_module_new(NULL, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    xt_optimizer_step(o);
    fails("no parameter has a gradient; call xt_backward(loss) before it");
    for (int taken_by_zero = 0; taken_by_zero < 2; taken_by_zero++) {
        xt_backward(loss_of(m, x()));
        if (taken_by_zero)
            xt_zero_grad(o);
        else
            xt_optimizer_step(o);
        xt_zero_grad(o); /* which finds none any more */
        xt_optimizer_step(o);
        fails(taken_by_zero ? "no parameter has a gradient: xt_zero_grad at " : ": xt_optimizer_step at ");
        assert_true(xt_mark_step());
    }
    xt_item(xt_grad(xt_module_find(m, "a.weight")));
    fails("since its gradient was last taken (xt_optimizer_step, xt_zero_grad)");
    xt_forward(empty, x());
    fails("xt_forward: the network has no function: xt_module_new was given NULL");
}

/* --- a pass that is left --- */
static void evaluate(xt_module *m, xt_loader *l, int batches, bool anew) {
    if (anew) xt_loader_set_epoch(l, xt_loader_epoch(l), 0);
    xt_eval_begin(m);
    xt_no_grad_begin();
    for (xt_batch b; xt_next(l, &b);) {
        loss_of(m, b.x);
        if (b.index + 1 == batches) break;
    }
    xt_no_grad_end();
    xt_eval_end(m);
}
static void an_evaluation_that_is_left(void **state) {
    (void)state;
    xt_module *m = net();
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    enum { WHOLE, ANEW, LEFT_EARLY, WAYS };
    for (int how = WHOLE; how < WAYS; how++) {
        xt_loader *l = loader(), *training = loader();
        for (int i = 0; i < 4; i++) {
            xt_batch b;
            assert_true(xt_next(training, &b)); /* and is left, too: training goes on */
            xt_backward(loss_of(m, b.x));
            xt_optimizer_step(o);
            evaluate(m, l, how == WHOLE ? -1 : 3, how == ANEW);
            if (how != LEFT_EARLY) evaluate(m, l, 5, true); /* in two parts, without training in between */
            if (how != LEFT_EARLY) evaluate(m, l, -1, false);
        }
        if (how == LEFT_EARLY)
            told("this evaluation goes on with batch 3 of a pass");
        else
            silent();
        xt_loader_free(l);
        xt_loader_free(training);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_step_that_is_forgotten, begin, end),
        cmocka_unit_test_setup_teardown(a_pass_without_steps, begin, end),
        cmocka_unit_test_setup_teardown(gathering_is_none, begin, end),
        cmocka_unit_test_setup_teardown(a_module_without_optimizer, begin, end),
        cmocka_unit_test_setup_teardown(what_no_gradient_reaches, begin, end),
        cmocka_unit_test_setup_teardown(adversaries, begin, end),
        cmocka_unit_test_setup_teardown(gathering_beside_another, begin, end),
        cmocka_unit_test_setup_teardown(a_loop_of_gradients_alone, begin, end),
        cmocka_unit_test_setup_teardown(a_loop_of_reads_alone, begin, end),
        cmocka_unit_test_setup_teardown(a_loop_of_assignments_alone, begin, end),
        cmocka_unit_test_setup_teardown(a_loop_of_logs_alone, begin, end),
        cmocka_unit_test_setup_teardown(a_state_that_is_not_detached, begin, end),
        cmocka_unit_test_setup_teardown(clipping_in_front, begin, end),
        cmocka_unit_test_setup_teardown(training_in_evaluation_mode, begin, end),
        cmocka_unit_test_setup_teardown(schedules_that_do_not_follow, begin, end),
        cmocka_unit_test_setup_teardown(a_schedule_of_two, begin, end),
        cmocka_unit_test_setup_teardown(gradients_that_were_taken, begin, end),
        cmocka_unit_test_setup_teardown(an_evaluation_that_is_left, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
