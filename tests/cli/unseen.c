/* Plain loops that meet an error, one a mode: 20 steps, the error in step 3. What goes on after it prints
 * "alive STEP". */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtrain/xtrain.h>

static const char *mode;
static int called, after;
static bool is(const char *name) {
    return strcmp(mode, name) == 0;
}
static void count(xt_status error, void *user) {
    (void)error;
    ++*(int *)user;
    xt_clear_error(); /* does nothing here: the call that failed must find that it did */
}
static xt_tensor net_fn(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 1);
}
static xt_tensor wrong(void) {
    xt_tensor x = xt_ones(XT_F32, 2, 3);
    return xt_matmul(x, x); /* the wrong shape */
}
static xt_tensor compiled(const xt_tensor *in, int n, void *user) {
    (void)n;
    return *(int *)user == 3 ? wrong() : xt_sum(in[0]);
}
static void body(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *user) {
    (void)x;
    (void)y;
    carry[0] = *(int *)user == 3 ? wrong() : xt_mul_scalar(carry[0], 0.5);
}
/* An error of the reader thread, which no call of the program's own ends a step of. */
static void given(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)user, (void)data, (void)bytes, (void)dtype;
    wrong();
}
static xt_module *net;
static xt_optimizer *sgd;
static xt_tensor seen;

static void mistake(int s) {
    static const char *const wrong_shape[] = {"shape", "looked", "handled", "batch", "wait", "pthread", "item", "last"};
    if (s == 3 && is("oom"))
        xt_when_ready(xt_sum(xt_exp(xt_matmul(xt_ones(XT_F32, 8192, 1), xt_ones(XT_F32, 1, 8192)))), NULL, NULL);
    if (s == 3 && is("reader")) xt_when_ready(xt_ones(XT_F32, 2), given, NULL);
    if (s == 3 && is("refused")) xt_optimizer_step(sgd); /* the refused step */
    if (s == 3 && is("null") && !xt_sgd(net, .lr = -1)) return; /* the wrong rate */
    xt_tensor carry = is("scan") ? xt_ones(XT_F32, 2) : (xt_tensor){0};
    if (is("scan")) xt_scan(body, 1, &carry, 0, NULL, 0, NULL, .length = 4, .user = &s);
    if ((s == 3 || s == 5) && is("twice")) wrong();
    for (size_t i = 0; s == 3 && i < sizeof wrong_shape / sizeof *wrong_shape; i++)
        if (is(wrong_shape[i])) wrong();
}

static void look(int s) {
    static char path[64] = "unseen.ckpt";
    if (is("looked") && xt_error()) {
        printf("looked: %s\n", xt_status_message(xt_error()));
        xt_clear_error();
    }
    if (is("status") && s == 3) { /* a status that says the same */
        wrong();
        xt_status st = xt_save(net, path);
        printf("status: %s\n", xt_status_message(st));
        xt_status_free(st);
    }
    if (is("returned") && s == 3) { /* what a function returns is the caller's own */
        xt_status st = xt_load(net, "/nowhere/unseen.ckpt");
        xt_status_free(st);
    }
    if (is("saved") && s == 3 && xt_save(net, "/nowhere/unseen.ckpt")) return; /* the ignored status */
    if (is("both") && s == 3 && xt_save(net, "/nowhere/unseen.ckpt")) wrong(); /* ignored, and a second error */
    if (is("compared") && s == 3 && xt_load(net, "/nowhere/unseen.ckpt")) return; /* the compared status */
    if (is("statehandled") && s == 3 && xt_optimizer_save(sgd, "/nowhere/unseen.opt")) return;
    if (is("cleared") && s == 3 && xt_optimizer_load(sgd, "/nowhere/unseen.opt")) xt_clear_error();
    if (is("read") && s == 3) {
        xt_status st = xt_optimizer_load(sgd, "/nowhere/unseen.opt");
        printf("read: %s\n", xt_status_message(st)); /* and never freed */
    }
    if (is("lastsave") && s == 19 && xt_save(net, "/nowhere/unseen.ckpt")) return; /* the last status */
    if (is("item") && s == 3) {
        float v = 1;
        double now = xt_item(seen);
        printf("item %s, read %d\n", isnan(now) ? "nan" : "a number", xt_read(seen, &v, sizeof v));
        xt_master_printf("loss %t and %t\n", seen, xt_sum(seen));
    }
}

static bool boundary(xt_loader *l) {
    xt_batch b;
    if (is("batch")) return xt_next(l, &b);
    if (is("wait")) return xt_wait();
    return xt_mark_step();
}

/* Compiled functions that go wrong in call 3, and programs that end without xt_finish or in a thread. */
static int other_ways(void) {
    int s = 0, fine = 0;
    xt_step *step = is("nostep") ? NULL : xt_compile(compiled, .user = &s);
    for (s = 0; s < (is("lookcall") || is("nostep") ? 8 : 4); s++) {
        xt_tensor r = xt_call(step, xt_ones(XT_F32, 2 + s)); /* the call */
        bool failed = xt_is_error(r);
        if (is("lookcall") && failed && xt_error()) xt_clear_error();
        fine += !failed;
    }
    printf("fine %d\n", fine);
    return is("lookcall") ? xt_finish() : 0; /* the others end without it */
}

/* --- passes of the Trainer: the third step of a fit fails --- */
static bool fit_fails = true;
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    if (fit_fails && b.index == 2) return wrong();
    return xt_mean(xt_forward(m, b.x));
}
static void validation_step(xt_module *m, xt_batch b, void *user) {
    (void)m, (void)b, (void)user;
    if (fit_fails) wrong();
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}
static xt_loader *samples(void) {
    return xt_sample_loader(.batch = 2, .count = 8, .x = {XT_F32, {2}}, .y = {XT_I64});
}
/* "fit WORD ...": what the program does behind a fit that has failed. */
static int fits(int argc, char **argv) {
    xt_task task = {.net = net_fn,
                    .training_step = training_step,
                    .validation_step = validation_step,
                    .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF, .checkpointing = XT_OFF);
    bool only_test = argc > 2 && strcmp(argv[2], "test") == 0;
    int code = only_test ? xt_test(t, &task, samples()) : xt_fit(t, &task, samples()), end = 0;
    printf("result %d\n", code);
    for (int i = 2; i < argc; i++) {
        fit_fails = fit_fails && strcmp(argv[i], "again") != 0;
        if (strcmp(argv[i], "looks") == 0) xt_error();
        if (strcmp(argv[i], "clears") == 0) xt_clear_error();
        if (strcmp(argv[i], "again") == 0)
            printf("again %d\n", xt_fit(xt_trainer_new(.max_epochs = 1), &task, samples()));
        if (strcmp(argv[i], "finish") == 0) printf("finish %d\n", end = xt_finish());
        if (strcmp(argv[i], "returns") == 0) return end ? end : code;
    }
    return 0;
}

static void *thread_of_other_ways(void *unused) {
    other_ways();
    return unused;
}

static void *loop(void *unused) {
    net = xt_module_new(net_fn, NULL);
    sgd = xt_sgd(net, .lr = 0.01);
    xt_log_every_n_steps(1);
    xt_loader *l = xt_sample_loader(.batch = 2, .count = 64, .x = {XT_F32, {2}}, .y = {XT_I64});
    int s = 0;
    xt_step *step = is("step") ? xt_compile(compiled, .user = &s) : NULL;
    seen = xt_keep(xt_full(2.5, XT_F32));
    for (s = 0; s < 20; s++) {
        if (step)
            xt_call(step, xt_ones(XT_F32, 2 + s));
        else if (!is("refused") || s != 3) {
            xt_tensor loss = xt_mean(xt_forward(net, xt_ones(XT_F32, 4, 3)));
            xt_log("loss", loss);
            xt_backward(loss);
            xt_optimizer_step(sgd);
        }
        if (!is("last") || s == 19) mistake(is("last") ? 3 : s);
        look(s);
        if (!step && !boundary(l) && is("twice")) xt_clear_error();
        after += s > (is("last") ? 19 : 3);
    }
    return unused;
}

/* A loop in which nothing ends a step, and whose every iteration fails, or goes on with an error pending. */
static int no_boundary(void) {
    net = xt_module_new(net_fn, NULL);
    sgd = xt_sgd(net, .lr = 0.01);
    bool stays = is("keepslooking"); /* one error, which is left pending */
    for (int i = 0; i < (stays ? 220 : 20); i++) {
        if (stays && i == 3) xt_item(xt_module_find(net, "nope"));
        xt_tensor x = stays ? xt_ones(XT_F32, 4, 3) : xt_ones(XT_I64, 4, 3); /* the wrong dtype */
        xt_tensor loss = xt_mean(xt_forward(net, x));
        if (is("lookends") && xt_error()) xt_clear_error();
        xt_backward(loss);
        if (is("lookends") && xt_error()) xt_clear_error();
        xt_optimizer_step(sgd);
        if (is("lookends") && xt_error()) xt_clear_error();
        if (stays && i > 3 && !xt_error()) return 9;
        after += i > 3;
    }
    printf("alive for %d steps\n", after);
    return xt_finish();
}

static xt_tensor two_classes(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}
/* Behind a label that is no class a call says only some of its numbers. */
static int wrong_label(void) {
    static const float x[12];
    int64_t y[4] = {0, 1, 0, 1};
    net = xt_module_new(two_classes, NULL);
    sgd = xt_sgd(net, .lr = 0.01);
    for (int i = 0; i < 8; i++) {
        y[3] = i == 3 ? 9 : 1;
        xt_tensor classes = xt_from_array(y, XT_I64, 4);
        xt_tensor loss = xt_cross_entropy(xt_forward(net, xt_from_array(x, XT_F32, 4, 3)), classes); /* the label */
        xt_backward(loss);
        xt_optimizer_step(sgd);
        if (i >= 3) xt_item(loss);
    }
    return xt_finish();
}

static void at_exit(void) {
    puts("the program's own exit handler ran");
}

int main(int argc, char **argv) {
    mode = argc > 1 ? argv[1] : "shape";
    atexit(at_exit);
    printf("begin ");
    if (is("fit")) return fits(argc, argv);
    if (is("label")) return wrong_label();
    if (is("noends") || is("lookends") || is("keepslooking")) return no_boundary();
    if (is("lookcall") || is("nostep") || is("nofinish")) return other_ways();
    if (is("nothingelse")) return xt_write_file("/nowhere/file", "", 0) ? 0 : 1; /* the only call */
    if (is("deadthread")) {
        pthread_t t;
        if (pthread_create(&t, NULL, thread_of_other_ways, NULL) != 0) return 77;
        pthread_join(t, NULL);
        return xt_finish();
    }
    if (is("twice") || is("handled") || is("item") || is("statehandled")) xt_on_error(count, &called);
    if (is("pthread")) {
        pthread_t t;
        if (pthread_create(&t, NULL, loop, NULL) != 0) return 77;
        pthread_join(t, NULL);
    } else
        loop(NULL);
    printf("alive for %d steps, handler %d\n", after, called);
    int code = xt_finish();
    printf("finish %d\n", code);
    return 0;
}
