/* Each number of each public function that numbers.def lists as data: steps that each give another one run at most one
 * program more than steps that all give the same, and compute what programs with that number as a constant do. */
#include "number_rows.h"

enum { STEPS = 4 };

/* --- running them --- */
/* One step; what it computes is read behind it. */
static size_t step(under_test *t, xt_module *m, float out[static MOST]) {
    xt_tensor x = xt_from_array(values, XT_F32, ROWS, COLUMNS);
    xt_tensor y = row_result(t, m, x);
    int64_t n = lazy_type(y) ? lazy_type(y)->count : MOST + 1;
    if (xt_error()) fail_msg("%s: %s", t->r->name, xt_status_message(xt_error()));
    if (n > MOST) fail_msg("%s: %lld elements", t->r->name, (long long)n);
    xt_tensor kept = xt_keep(xt_neg(xt_cast(y, XT_F32)));
    if (!xt_mark_step()) fail_msg("%s: %s", t->r->name, xt_status_message(xt_error()));
    assert_true(xt_read(kept, out, (size_t)n * sizeof *out));
    xt_drop(kept);
    return (size_t)n;
}

/* `apart`: each step's number is at a place of its own, where it is a constant. */
static int64_t run(const row *r, bool apart, float out[STEPS][MOST], size_t *n) {
    under_test t = {.r = r};
    xt_seed(5);
    xt_module *m = row_module(&t);
    int64_t before = xt_counter("compiles");
    for (int s = 0; s < STEPS; s++) {
        char path[32];
        snprintf(path, sizeof path, "number %d", s);
        t.in.v = 0.05 + 0.2 * s;
        t.in.whole = s;
        if (apart) lazy_path_push(path);
        *n = step(&t, m, out[s]);
        if (apart) lazy_path_pop();
    }
    row_end(m);
    return xt_counter("compiles") - before;
}

static void each_number(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        static float data[STEPS][MOST], constant[STEPS][MOST];
        size_t n = 0;
        int64_t programs = run(&rows[i], false, data, &n);
        if (programs > 2) {
            failed++;
            print_error("%s: %lld programs for %d numbers\n", rows[i].name, (long long)programs, STEPS);
        }
        if (rows[i].kind == RANDOM) continue;
        run(&rows[i], true, constant, &n);
        for (size_t k = 0; k < STEPS * n; k++) {
            double got = data[k / n][k % n], want = constant[k / n][k % n];
            if (fabs(got - want) <= 2e-5 * (1 + fabs(want)) || (isnan(got) && isnan(want)) || got == want) continue;
            failed++;
            print_error("%s: step %zu, element %zu is %g, with a constant %g\n", rows[i].name, k / n, k % n, got, want);
            break;
        }
    }
    assert_int_equal(failed, 0);
}

/* Ways through a layer that p = 0 and p = 1 have as constants are none when p moves. */
static char notices[1000];
static void note(xt_severity severity, const char *text, size_t n, void *user) {
    (void)severity, (void)user;
    size_t have = strlen(notices);
    if (n > sizeof notices - 1 - have) n = sizeof notices - 1 - have;
    memcpy(notices + have, text, n);
    notices[have + n] = 0;
}
static xt_tensor dropped(int kind, xt_module *m, xt_tensor x, double p) {
    return kind == 0   ? xt_dropout(m, x, p)
           : kind == 1 ? xt_dropout1d(m, x, p)
           : kind == 2 ? xt_alpha_dropout(m, x, p)
                       : xt_feature_alpha_dropout(m, x, p);
}
static xt_tensor nothing(xt_module *m, xt_tensor x, void *user) {
    (void)m, (void)user;
    return x;
}
static void dropout_from_none_to_all(void **state) {
    (void)state;
    static const char *const names[] = {"xt_dropout", "xt_dropout1d", "xt_alpha_dropout", "xt_feature_alpha_dropout"};
    static const double p[] = {0, 0.25, 0.5, 1, 0};
    for (int kind = 0; kind < 4; kind++) {
        xt_module *m = xt_module_new(nothing, NULL);
        int64_t before = xt_counter("compiles");
        char named[64];
        notices[0] = 0;
        xt_set_sink(note, NULL);
        for (int s = 0; s < 5; s++) {
            float out[ROWS * COLUMNS];
            xt_tensor x = xt_from_array(values, XT_F32, 1, ROWS, COLUMNS);
            xt_tensor y = xt_keep(xt_add(dropped(kind, m, x, p[s]), 1));
            assert_true(xt_mark_step());
            assert_true(xt_read(y, out, sizeof out));
            xt_drop(y);
            int zeros = 0, same = 0;
            for (int i = 0; i < ROWS * COLUMNS; i++)
                zeros += out[i] == 1, same += fabsf(out[i] - 1 - values[i]) < 1e-6f;
            if (p[s] == 0) assert_int_equal(same, ROWS * COLUMNS);
            if (p[s] == 1) assert_int_equal(zeros, ROWS * COLUMNS);
            if (p[s] > 0 && p[s] < 1) assert_true(same < ROWS * COLUMNS && zeros < ROWS * COLUMNS);
        }
        xt_set_sink(NULL, NULL);
        if (xt_counter("compiles") - before > 2)
            fail_msg("%s: %lld programs", names[kind], (long long)(xt_counter("compiles") - before));
        snprintf(named, sizeof named, "the number of %s changed from 0 to 0.25", names[kind]);
        if (!strstr(notices, named) || strstr(strstr(notices, named) + 1, "the number of"))
            fail_msg("%s: told \"%s\"", names[kind], notices);
        xt_module_free(m);
        assert_true(xt_mark_step());
    }
}

/* A number that a function computes others from is told as the program gave it. */
static void a_number_is_the_programs(void **state) {
    (void)state;
    notices[0] = 0;
    xt_set_sink(note, NULL);
    for (int s = 0; s < 3; s++) {
        xt_tensor x = xt_from_array(values, XT_F32, ROWS, COLUMNS);
        xt_tensor loss = xt_keep(xt_cross_entropy(x, xt_argmax(x, -1), .label_smoothing = 0.1 * (s + 1)));
        assert_true(xt_mark_step());
        xt_drop(loss);
    }
    xt_set_sink(NULL, NULL);
    if (!strstr(notices, "the number of xt_cross_entropy changed from 0.1 to 0.2") ||
        strstr(strstr(notices, "the number of") + 1, "the number of"))
        fail_msg("told \"%s\"", notices);
}

/* What is told of a number of a function within another begins with the name that the program called. */
static void of_the_function_called(void **state) {
    (void)state;
    notices[0] = 0;
    xt_set_sink(note, NULL);
    for (int s = 0; s < 3; s++) {
        xt_tensor x = xt_from_array(values, XT_F32, ROWS, COLUMNS);
        xt_tensor d = xt_keep(xt_pairwise_distance(x, xt_add(x, 1), .p = 2 + s));
        assert_true(xt_mark_step());
        xt_drop(d);
    }
    xt_set_sink(NULL, NULL);
    if (!strstr(notices, "xt_pairwise_distance: the number of xt_norm_axes changed from 2 to 3"))
        fail_msg("told \"%s\"", notices);
}

/* Numbers for which a function has another form are numbers as others once they move: how many programs serve all. */
typedef xt_tensor (*moved_fn)(xt_module *m, xt_tensor x, double v);
static xt_tensor encoder(xt_module *m, xt_tensor x, double v) {
    return xt_transformer_encoder_layer(m, "t", xt_reshape(x, ROWS, 1, COLUMNS), .heads = 2, .feedforward = 4,
                                        .dropout = v);
}
static xt_tensor lstm(xt_module *m, xt_tensor x, double v) {
    return xt_lstm(m, "r", xt_reshape(x, ROWS, 1, COLUMNS), 3, .layers = 2, .dropout = v).output;
}
static xt_tensor smooth_l1(xt_module *m, xt_tensor x, double v) {
    (void)m;
    return xt_smooth_l1_loss(x, other(), .beta = v);
}
static xt_tensor norm(xt_module *m, xt_tensor x, double v) {
    (void)m;
    return xt_norm_axes(x, XT_AXES(1), .p = v);
}
static xt_tensor triplet(xt_module *m, xt_tensor x, double v) {
    (void)m;
    return xt_triplet_margin_loss(x, other(), xt_neg(x), .p = v);
}
static xt_tensor whole_or_not(xt_module *m, xt_tensor x, double v) {
    (void)m, (void)x;
    return xt_add(xt_from_array(labels, XT_I64, ROWS), v);
}
static void from_a_special_number(void **state) {
    (void)state;
    static const struct {
        const char *name;
        moved_fn make;
        double v[6];
        int programs;
    } cases[] = {{"xt_transformer_encoder_layer", encoder, {0, 0.5, 0.25, 0, 0.3, 1}, 2},
                 {"xt_lstm", lstm, {0, 0.5, 0.25, 0, 0.3, 1}, 2},
                 {"xt_smooth_l1_loss", smooth_l1, {0, 0.5, 1, 0, 0.25, 2}, 2},
                 {"xt_norm_axes", norm, {1, INFINITY, 2, 3, 0.5, -INFINITY}, 2},
                 {"xt_triplet_margin_loss", triplet, {2, INFINITY, 1, 3, 0.5, 2}, 2},
                 /* what integers and fractions give are results of two dtypes */
                 {"xt_add", whole_or_not, {1, 2, 0.5, 3, 0.75, 1}, 3}};
    for (size_t k = 0; k < BASE_COUNT(cases); k++) {
        xt_module *m = xt_module_new(nothing, NULL);
        int64_t before = xt_counter("compiles");
        for (int s = 0; s < 6; s++) {
            xt_tensor x = xt_requires_grad(xt_from_array(values, XT_F32, ROWS, COLUMNS), true);
            xt_tensor y = cases[k].make(m, x, cases[k].v[s]);
            if (cases[k].make != whole_or_not) {
                xt_backward(xt_sum(y));
                xt_when_ready(xt_grad(x), NULL, NULL);
                xt_module_zero_grad(m);
            }
            xt_when_ready(y, NULL, NULL);
            assert_true(xt_mark_step());
        }
        if (xt_counter("compiles") - before > cases[k].programs)
            fail_msg("%s: %lld programs", cases[k].name, (long long)(xt_counter("compiles") - before));
        xt_module_free(m);
        assert_true(xt_mark_step());
    }
}

static int end(void **state) {
    (void)state;
    return xt_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_number), cmocka_unit_test(dropout_from_none_to_all),
                                       cmocka_unit_test(a_number_is_the_programs),
                                       cmocka_unit_test(of_the_function_called),
                                       cmocka_unit_test(from_a_special_number)};
    return cmocka_run_group_tests(tests, NULL, end);
}
