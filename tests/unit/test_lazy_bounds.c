/* Indices outside an axis: those that the host has seen are an error where the op is recorded, those that the device
 * computes one at the step under XT_DEBUG=bounds, with the line, the op, the index and the size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

static int line; /* of the op that is wrong */
#define HERE(x) (line = __LINE__, (x))

static xt_tensor index_of(int64_t a, int64_t b) {
    return xt_from_array(((int64_t[2]){a, b}), XT_I64, 2);
}

/* The same numbers as no host has seen them. */
static xt_tensor computed(int64_t a, int64_t b) {
    return xt_cast(xt_add_scalar(xt_cast(index_of(a, b), XT_F32), 0), XT_I64);
}

static xt_tensor wide(xt_tensor index) { /* [2] as [2,3] */
    return xt_add(xt_reshape(index, 2, 1), xt_zeros(XT_I64, 2, 3));
}

typedef struct use {
    const char *name;
    xt_tensor (*make)(xt_tensor x, xt_tensor index); /* x [4,3] */
    bool from_end, computes; /* negative ones count from the end; what it is given is none of the host's */
} use;

static xt_tensor u_take(xt_tensor x, xt_tensor i) {
    return HERE(xt_take(x, i));
}
static xt_tensor u_gather(xt_tensor x, xt_tensor i) {
    return HERE(xt_gather(x, 0, wide(i)));
}
static xt_tensor u_along(xt_tensor x, xt_tensor i) {
    return HERE(xt_take_along_axis(x, xt_reshape(i, 2, 1), 0));
}
static xt_tensor u_select(xt_tensor x, xt_tensor i) {
    return HERE(xt_index_select(x, 0, i));
}
static xt_tensor u_index(xt_tensor x, xt_tensor i) {
    return HERE(xt_index(x, 1, XT_TENSORS(i)));
}
static xt_tensor u_scatter(xt_tensor x, xt_tensor i) {
    return HERE(xt_scatter(x, 0, wide(i), xt_ones(XT_F32, 2, 3)));
}
static xt_tensor u_scatter_add(xt_tensor x, xt_tensor i) {
    return HERE(xt_scatter_add(x, 0, wide(i), xt_ones(XT_F32, 2, 3)));
}
static xt_tensor u_scatter_reduce(xt_tensor x, xt_tensor i) {
    return HERE(xt_scatter_reduce(x, 0, wide(i), xt_ones(XT_F32, 2, 3), XT_REDUCE_AMAX));
}
static xt_tensor u_add(xt_tensor x, xt_tensor i) {
    return HERE(xt_index_add(x, 0, i, xt_ones(XT_F32, 2, 3), 1));
}
static xt_tensor u_copy(xt_tensor x, xt_tensor i) {
    return HERE(xt_index_copy(x, 0, i, xt_ones(XT_F32, 2, 3)));
}
static xt_tensor u_fill(xt_tensor x, xt_tensor i) {
    return HERE(xt_index_fill(x, 0, i, 1));
}
static xt_tensor u_put(xt_tensor x, xt_tensor i) {
    return HERE(xt_index_put(x, 1, XT_TENSORS(i), xt_ones(XT_F32, 2, 3)));
}
static xt_tensor u_one_hot(xt_tensor x, xt_tensor i) {
    (void)x;
    return HERE(xt_one_hot(i, 4, XT_F32));
}

static const use uses[] = {{"xt_take", u_take, false, false},
                           {"xt_gather", u_gather, false, true},
                           {"xt_take_along_axis", u_along, false, false},
                           {"xt_index_select", u_select, false, false},
                           {"xt_index", u_index, true, false},
                           {"xt_scatter", u_scatter, false, true},
                           {"xt_scatter_add", u_scatter_add, false, true},
                           {"xt_scatter_reduce", u_scatter_reduce, false, true},
                           {"xt_index_add", u_add, false, false},
                           {"xt_index_copy", u_copy, false, false},
                           {"xt_index_fill", u_fill, false, false},
                           {"xt_index_put", u_put, true, false},
                           {"xt_one_hot", u_one_hot, false, false}};
enum { USES = sizeof uses / sizeof *uses };

static void debug(const char *words) {
    if (words)
        setenv("XT_DEBUG", words, 1);
    else
        unsetenv("XT_DEBUG");
    assert_true(xt_mark_step()); /* a step reads the switch when it begins */
}

static int nothing_left(void **state) {
    (void)state;
    unsetenv("XT_DEBUG");
    xt_clear_error();
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor"), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
    return 0;
}

static void expect(const char *name, const char *word) {
    const char *text = xt_error() ? xt_status_message(xt_error()) : "no error";
    if (!strstr(text, word)) fail_msg("%s: no \"%s\" in: %s", name, word, text);
}

static void expect_place(const char *name, const char *what, int64_t index, const char *range) {
    char here[64], wrong[64];
    snprintf(here, sizeof here, "test_lazy_bounds.c:%d", line);
    snprintf(wrong, sizeof wrong, "%s %lld", strstr(name, "entropy") ? "label" : "index", (long long)index);
    expect(name, here);
    expect(name, what);
    expect(name, wrong);
    expect(name, range);
}

static const char *range_of(const use *u) {
    return u->from_end ? "is outside -4..3" : "is outside 0..3";
}

/* One step of u with these; whether it went well. */
static bool step_of(const use *u, xt_tensor index) {
    xt_tensor x = xt_reshape(xt_arange(12, XT_F32), 4, 3);
    xt_when_ready(xt_sum(u->make(x, index)), NULL, NULL);
    return xt_mark_step();
}

static void found_on_the_device(void **state) {
    (void)state;
    debug("bounds");
    for (int k = 0; k < USES; k++) {
        const use *u = &uses[k];
        for (int64_t wrong = -5; wrong <= 4; wrong += 9) {
            if (step_of(u, computed(1, wrong))) fail_msg("%s: no error for %lld", u->name, (long long)wrong);
            expect_place(u->name, u->name, wrong, range_of(u));
            expect(u->name, "states keep");
            assert_string_equal(xt_status_id(xt_error()), "XT402");
            xt_clear_error();
            xt_mark_step();
        }
        if (!step_of(u, computed(u->from_end ? -4 : 0, 3))) fail_msg("%s: %s", u->name, xt_status_message(xt_error()));
    }
}

/* Without the switch nobody can know, and the program is the same as ever: the nearest is read, nothing is written. */
static void silent_without_the_switch(void **state) {
    (void)state;
    debug(NULL);
    for (int k = 0; k < USES; k++)
        if (!step_of(&uses[k], computed(1, 4))) fail_msg("%s: %s", uses[k].name, xt_status_message(xt_error()));
    xt_tensor x = xt_from_array(((float[3]){1, 2, 3}), XT_F32, 3);
    xt_tensor y = xt_keep(xt_index_select(x, 0, computed(9, -9)));
    float out[2];
    assert_true(xt_read(y, out, sizeof out));
    assert_float_equal(out[0], 3, 0);
    assert_float_equal(out[1], 1, 0);
    xt_drop(y);
}

static void seen_by_the_host(void **state) {
    (void)state;
    debug(NULL);
    for (int k = 0; k < USES; k++) {
        const use *u = &uses[k];
        for (int64_t wrong = -5; wrong <= 4 && !u->computes; wrong += 9) {
            u->make(xt_reshape(xt_arange(12, XT_F32), 4, 3), index_of(1, wrong));
            expect_place(u->name, u->name, wrong, range_of(u));
            expect(u->name, "(element 1)");
            assert_string_equal(xt_status_id(xt_error()), "XT402");
            xt_clear_error();
            xt_mark_step();
            xt_clear_error();
        }
    }
}

/* The name that the message begins with was the call's own, which is over by then. */
static void of_an_unpooling(void **state) {
    (void)state;
    debug("bounds");
    xt_tensor x = xt_reshape(xt_arange(2, XT_F32), 1, 1, 2);
    xt_when_ready(xt_sum(HERE(xt_max_unpool1d(x, xt_reshape(computed(1, 4), 1, 1, 2), 2))), NULL, NULL);
    assert_false(xt_mark_step());
    expect_place("xt_max_unpool1d", ": xt_max_unpool1d: index 4 is outside", 4, "0..3");
    xt_clear_error();
    xt_mark_step();
}

/* Indices that pooling has given know the picture: an odd one has other rows than the size that the kernel gives. */
static void of_an_odd_picture(void **state) {
    (void)state;
    debug(NULL);
    xt_tensor x = xt_reshape(xt_cos(xt_arange(63, XT_F32)), 1, 1, 7, 9), at, y = xt_max_pool2d_with_indices(x, 2, &at);
    HERE(xt_max_unpool2d(y, at, 2));
    expect("odd", "places in [7,9]");
    expect("odd", "the result is [6,8]");
    expect("odd", ".sizes");
    xt_clear_error();
    xt_mark_step();
    xt_clear_error();
    x = xt_reshape(xt_cos(xt_arange(63, XT_F32)), 1, 1, 7, 9), y = xt_max_pool2d_with_indices(x, 2, &at);
    xt_tensor sum = xt_sum(xt_max_unpool2d(y, at, 2, .sizes = {7, 9}));
    assert_float_equal(xt_item(sum), xt_item(xt_sum(y)), 1e-5);
    x = xt_reshape(xt_arange(7, XT_F32), 1, 1, 7), y = xt_max_pool1d_with_indices(x, 2, &at);
    assert_float_equal(xt_item(xt_sum(xt_max_unpool1d(y, at, 2))), 9, 0); /* 6 of 7 places: they are the same */
    assert_true(xt_mark_step());
}

/* --- embeddings and losses --- */
enum { VOCAB = 5 };
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return HERE(xt_embedding(m, "words", x, VOCAB, 3));
}

static void states_keep_their_values(void **state) {
    (void)state;
    debug("bounds");
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *opt = NULL;
    float before[VOCAB * 3], after[VOCAB * 3];
    for (int k = 0; k < 3; k++) {
        xt_tensor loss = xt_sum(xt_forward(m, computed(0, k == 1 ? VOCAB : 4)));
        if (!opt) opt = xt_sgd(m, .lr = 1);
        xt_backward(loss);
        xt_optimizer_step(opt);
        if (xt_mark_step() != (k != 1)) fail_msg("step %d", k);
        if (k == 1) {
            expect_place("xt_embedding", "xt_embedding", VOCAB, "is outside 0..4");
            xt_clear_error();
            xt_mark_step();
        }
        assert_true(xt_read(xt_module_find(m, "words.weight"), k ? after : before, sizeof before));
        if (k == 1) assert_memory_equal(before, after, sizeof before);
        if (k == 2) assert_memory_not_equal(before, after, sizeof before);
    }
    xt_optimizer_free(opt);
    xt_module_free(m);
}

static void tokens_of_a_loader(void **state) {
    (void)state;
    debug(NULL);
    static int32_t tokens[6][2] = {{0, 1}, {2, 3}, {4, 0}, {1, 2}, {3, VOCAB}, {0, 0}};
    xt_module *m = xt_module_new(net, NULL);
    xt_loader *l = xt_loader_new(xt_array_dataset(tokens, (xt_spec){XT_I32, {2}}, NULL, (xt_spec){0}, 6), .batch = 2);
    xt_batch b;
    int steps = 0;
    while (xt_next(l, &b)) {
        xt_when_ready(xt_sum(xt_forward(m, b.x)), NULL, NULL);
        steps++;
    }
    assert_int_equal(steps, 3);
    expect_place("xt_embedding", "xt_embedding", VOCAB, "is outside 0..4");
    expect("xt_embedding", "(sample 4 of ");
    xt_clear_error();
    xt_loader_free(l);
    xt_module_free(m);
}

static void labels_the_device_makes(void **state) {
    (void)state;
    debug("bounds");
    for (int64_t label = -100; label <= 3; label = label < 0 ? 2 : label + 1) {
        xt_tensor loss = HERE(xt_cross_entropy(xt_zeros(XT_F32, 2, 3), computed(label, 1)));
        xt_when_ready(loss, NULL, NULL);
        if (xt_mark_step() != (label < 3)) fail_msg("label %lld", (long long)label);
    }
    expect_place("xt_cross_entropy", "xt_cross_entropy", 3, "is outside 0..2");
    xt_clear_error();
}

/* --- metrics over classes: of labels that are none, as the losses --- */
typedef struct metric {
    const char *name;
    xt_metric (*make)(xt_tensor out, xt_tensor labels); /* out [2,3] */
    int64_t ignored;
} metric;
#define METRIC(name, call)                                       \
    static xt_metric m_##name(xt_tensor out, xt_tensor labels) { \
        return HERE(call);                                       \
    }
METRIC(accuracy, xt_accuracy(out, labels))
METRIC(topk, xt_topk_accuracy(out, labels, 2))
METRIC(precision, xt_precision(out, labels, 1))
METRIC(recall, xt_recall(out, labels, 0))
METRIC(f1, xt_f1(out, labels, 2, .ignore_index = 7))
METRIC(score, xt_class_score_at(XT_HERE, out, labels, XT_SCORE_F1, XT_MACRO, XT_OPTS(xt_metric_opts, )))
METRIC(matrix, xt_confusion_matrix(out, labels))
METRIC(auroc, xt_auroc(out, labels))
METRIC(perplexity, xt_perplexity(out, labels))
static const metric metrics[] = {{"xt_accuracy", m_accuracy, -100},
                                 {"xt_topk_accuracy", m_topk, -100},
                                 {"xt_precision", m_precision, -100},
                                 {"xt_recall", m_recall, -100},
                                 {"xt_f1", m_f1, 7},
                                 {"xt_f1_avg", m_score, -100},
                                 {"xt_confusion_matrix", m_matrix, -100},
                                 {"xt_auroc", m_auroc, -100},
                                 {"xt_cross_entropy", m_perplexity, -100}};

static void expect_label(const metric *m, int64_t label) {
    char here[64], wrong[64];
    snprintf(here, sizeof here, "test_lazy_bounds.c:%d", line);
    snprintf(wrong, sizeof wrong, "%s: label %lld", m->name, (long long)label);
    expect(m->name, here);
    expect(m->name, wrong);
    expect(m->name, "is outside 0..2");
    xt_clear_error();
}

static bool logged(const metric *m, xt_tensor labels) {
    xt_log_metric(m->name, m->make(xt_softmax(xt_reshape(xt_arange(6, XT_F32), 2, 3), 1), labels));
    return xt_mark_step();
}

static void labels_of_metrics(void **state) {
    (void)state;
    xt_log_every_n_steps(1000);
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++) {
        const metric *m = &metrics[k];
        for (int64_t label = -1; label <= 3; label += 4) {
            debug(NULL);
            m->make(xt_zeros(XT_F32, 2, 3), index_of(label, 1)); /* where the host sees it, without the switch */
            expect_label(m, label);
            xt_mark_step();
            xt_clear_error();
            debug("bounds");
            if (logged(m, computed(label, 1))) fail_msg("%s: %lld was taken", m->name, (long long)label);
            expect_label(m, label);
            xt_mark_step();
            xt_clear_error();
        }
        if (!logged(m, computed(m->ignored, 2)) || !logged(m, index_of(0, m->ignored)))
            fail_msg("%s: %s", m->name, xt_status_message(xt_error()));
    }
}

/* A label a row: others were broadcast over each other's hits. */
static void shapes_of_metrics(void **state) {
    (void)state;
    debug(NULL);
    xt_tensor out = xt_zeros(XT_F32, 2, 3), labels = index_of(0, 1);
    for (int k = 0; k < 5; k++) { /* those of any rank */
        metrics[k].make(out, xt_reshape(labels, 2, 1));
        expect(metrics[k].name, "labels are i64[2,1]");
        expect(metrics[k].name, "xt_squeeze");
        xt_clear_error();
        metrics[k].make(out, xt_cast(labels, XT_F32));
        expect(metrics[k].name, "xt_cast the labels to XT_I64");
        xt_clear_error();
    }
    xt_precision(out, labels, 3);
    expect("xt_precision", "class 3 of out's 3 classes");
    xt_clear_error();
}

/* --- in loops and compiled functions --- */
static void in_body(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *table) {
    carry[0] = xt_add(carry[0], HERE(xt_take(*(xt_tensor *)table, x[0])));
    y[0] = carry[0];
}

static void around_body(xt_tensor *carry, const xt_tensor *x, xt_tensor *y, void *table) {
    xt_tensor inner = carry[0], out[1];
    xt_scan(in_body, 1, &inner, 1, x, 1, out, .user = table);
    carry[0] = inner;
    y[0] = inner;
}

static void in_loops(void **state) {
    (void)state;
    debug("bounds");
    for (int nested = 0; nested < 2; nested++)
        for (int wrong = 0; wrong < 2; wrong++) {
            int64_t at[4] = {0, 3, wrong ? 7 : 2, 1};
            xt_tensor table = xt_arange(4, XT_F32), carry = xt_zeros(XT_F32, 1), out[1];
            xt_tensor x = xt_cast(xt_add_scalar(xt_cast(xt_from_array(at, XT_I64, 4), XT_F32), 0), XT_I64);
            x = nested ? xt_reshape(x, 2, 2, 1) : xt_reshape(x, 4, 1);
            xt_scan(nested ? around_body : in_body, 1, &carry, 1, &x, 1, out, .user = &table);
            xt_when_ready(xt_sum(carry), NULL, NULL);
            if (xt_mark_step() == wrong) fail_msg("nested %d, wrong %d", nested, wrong);
            if (wrong) expect_place("xt_take", "xt_take", 7, "is outside 0..3");
            xt_clear_error();
        }
}

static xt_tensor step(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return xt_sum(HERE(xt_take(xt_arange(4, XT_F32), xt_cast(xt_add_scalar(in[0], 0), XT_I64))));
}

static void in_compiled_functions(void **state) {
    (void)state;
    debug("bounds");
    xt_step *f = xt_compile(step);
    for (int k = 0; k < 4; k++) {
        xt_tensor in = xt_from_array(((float[2]){0, k == 3 ? 4 : 3}), XT_F32, 2);
        xt_tensor out = xt_call(f, in);
        if (xt_is_error(out) != (k == 3)) fail_msg("call %d", k);
    }
    expect_place("xt_take", "xt_take", 4, "is outside 0..3");
    xt_clear_error();
    xt_step_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(found_on_the_device, nothing_left),
        cmocka_unit_test_teardown(silent_without_the_switch, nothing_left),
        cmocka_unit_test_teardown(seen_by_the_host, nothing_left),
        cmocka_unit_test_teardown(of_an_unpooling, nothing_left),
        cmocka_unit_test_teardown(of_an_odd_picture, nothing_left),
        cmocka_unit_test_teardown(states_keep_their_values, nothing_left),
        cmocka_unit_test_teardown(tokens_of_a_loader, nothing_left),
        cmocka_unit_test_teardown(labels_the_device_makes, nothing_left),
        cmocka_unit_test_teardown(labels_of_metrics, nothing_left),
        cmocka_unit_test_teardown(shapes_of_metrics, nothing_left),
        cmocka_unit_test_teardown(in_loops, nothing_left),
        cmocka_unit_test_teardown(in_compiled_functions, nothing_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
