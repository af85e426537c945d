/* What an optimizer would take without using it: a state of another kind, a group's number that its updates never read.
 * And L-BFGS over batches: a closure may read its batch at each evaluation, and what is told of NaN names the call. */
#include "train_test.h"

#include "format/safetensors.h"
#include "optim/optim.h"

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}

enum { KINDS = OPTIM_COUNT + 1 };
static xt_optimizer *make(int kind, xt_module *m) {
    switch (kind) {
#define OPTIMIZER(name, title, options) \
    case OPTIM_##name:                  \
        return xt_##name(m);
#include "optim/optimizers.def"
#undef OPTIMIZER
    }
    return xt_lbfgs(m);
}
static const char *title(int kind) {
    return kind < OPTIM_COUNT ? optim_names[kind].title : "LBFGS";
}

static xt_tensor ones(void *m) {
    static const float x[6] = {1, 1, 1, 1, 1, 1};
    return xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, 2, 3))));
}

static void states_of_another_kind(void **state) {
    (void)state;
    for (int from = 0; from < KINDS; from++) {
        xt_module *m = xt_module_new(net, NULL);
        xt_optimizer *o = make(from, m);
        assert_null(xt_module_build(m, (xt_spec){XT_F32, {2, 3}}));
        assert_null(xt_optimizer_save(o, in_dir("state")));
        for (int to = 0; to < KINDS; to++) {
            xt_optimizer *other = make(to, m);
            double lr = xt_optimizer_lr(other);
            xt_status s = xt_optimizer_load(other, in_dir("state"));
            const char *text = xt_status_message(s);
            if (from == to ? s != NULL : !s || !strstr(text, title(from)) || !strstr(text, title(to)))
                fail_msg("%s into %s: \"%s\"", title(from), title(to), text);
            if (from != to && xt_optimizer_lr(other) != lr) fail_msg("%s got a rate of %s", title(to), title(from));
            xt_status_free(s);
            xt_optimizer_free(other);
        }
        xt_optimizer_free(o);
        xt_module_free(m);
    }
}

/* The file without its tensor number `out`, behind sums that are right. */
static void write_without(const char *from, const char *to, size_t out) {
    static const char *const keys[] = {"optimizer_state", "tensors"};
    char data[256];
    st_file *f;
    st_writer *w;
    assert_null(st_open(from, &f));
    assert_null(st_create(to, &w));
    for (int i = 0; i < 2; i++) assert_null(st_meta(w, keys[i], st_get_meta(f, keys[i])));
    assert_null(st_with_sums(w));
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < st_count(f); i++) {
            const st_entry *e = st_at(f, i);
            size_t n = (size_t)(e->end - e->begin);
            if (i == out) continue;
            assert_true(n <= sizeof data);
            assert_null(pass ? st_read(f, e, data, n) : st_declare(w, e->name, e->dtype, e->rank, e->dims));
            if (pass) assert_null(st_data(w, data, n));
        }
    assert_null(st_commit(w));
    st_close(f);
}

static void states_that_lack_tensors(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_adam(m, .lr = 0.1);
    xt_backward(ones(m));
    xt_optimizer_step(o);
    assert_true(xt_mark_step());
    size_t n = (size_t)xt_optimizer_tensors(o);
    assert_true(n >= 5);
    assert_null(xt_optimizer_save(o, in_dir("whole")));
    for (size_t i = 0; i <= n; i++) {
        char whole[256];
        snprintf(whole, sizeof whole, "%s", in_dir("whole"));
        write_without(whole, in_dir("part"), i);
        xt_status s = xt_optimizer_load(o, in_dir("part"));
        if (i == n ? s != NULL : !s || !strstr(xt_status_message(s), "the file is not whole"))
            fail_msg("without tensor %zu of %zu: %s", i, n, xt_status_message(s));
        xt_status_free(s);
    }
    xt_optimizer_free(o);
    xt_module_free(m);
}

/* The number is read by the kind's updates, or refused. */
static bool group_is_taken(int kind, int number, xt_module *m) {
    xt_optimizer *o = make(kind, m);
    int g = number == 0   ? xt_optimizer_group(o, "*.bias", .momentum = 0.5)
            : number == 1 ? xt_optimizer_group(o, "*.bias", .weight_decay = 0.5)
                          : xt_optimizer_group(o, "*.bias", .lr_scale = 0.5);
    bool named = g >= 0 || strstr(xt_status_message(xt_error()), title(kind));
    xt_clear_error();
    xt_optimizer_free(o);
    if (!named) fail_msg("the refusal does not name %s", title(kind));
    return g >= 0;
}

static void groups_of_numbers_it_has(void **state) {
    (void)state;
    xt_module *m = xt_module_new(net, NULL);
    for (int kind = 0; kind < KINDS; kind++) {
        xt_optimizer *o = make(kind, m);
        bool has[3] = {o->has_momentum, o->has_decay, !o->lbfgs};
        xt_optimizer_set_momentum(o, 0.5);
        assert_int_equal(xt_error() == NULL, has[0]);
        xt_clear_error();
        xt_optimizer_free(o);
        for (int k = 0; k < 3; k++) assert_int_equal(group_is_taken(kind, k, m), has[k]);
    }
    assert_false(group_is_taken(OPTIM_adagrad, 0, m));
    assert_false(group_is_taken(OPTIM_sparse_adam, 1, m));
    assert_true(group_is_taken(OPTIM_sgd, 0, m) && group_is_taken(OPTIM_adamw, 1, m));
}

/* --- closures --- */
static xt_module *closed;
static xt_batch now;
static xt_tensor feature; /* of the batch, computed before the call */
static xt_tensor of_batch(void *user) {
    (void)user;
    return xt_cross_entropy(xt_forward(closed, now.x), xt_add_scalar(now.y, 0));
}
static xt_tensor of_feature(void *user) {
    (void)user;
    return xt_mean(xt_square(xt_forward(closed, feature)));
}

static xt_loader *data(void) {
    static float x[8][3];
    static int32_t y[8];
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++) x[i][k] = sinf((float)(3 * i + k)), y[i] = i % 2;
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {3}}, y, (xt_spec){XT_I32}, 8), .batch = 4);
}

/* As in PyTorch: for input, target in loader: optimizer.step(closure); the batch is there behind the call, too. */
static void batches_live_through_evaluations(void **state) {
    (void)state;
    for (int kind = OPTIM_sgd; kind <= OPTIM_lbfgs; kind += OPTIM_lbfgs - OPTIM_sgd) {
        closed = xt_module_new(net, NULL);
        xt_optimizer *o =
            kind == OPTIM_lbfgs ? xt_lbfgs(closed, .line_search = XT_STRONG_WOLFE) : xt_sgd(closed, .lr = 0.1);
        xt_loader *l = data();
        int64_t alive[3];
        double first = 0, last = 0;
        for (int epoch = 0; epoch < 3; epoch++) {
            for (xt_batch b; xt_next(l, &b);) {
                now = b;
                double loss = xt_optimizer_step_closure(o, of_batch, NULL);
                last = xt_optimizer_step_closure(o, of_batch, NULL);
                if (epoch == 0 && b.index == 0) first = loss;
                if (!(xt_item(xt_sum(xt_square(b.x))) > 0)) fail_msg("the batch is gone behind the call");
                feature = xt_mul_scalar(b.x, 2);
                xt_optimizer_step_closure(o, of_feature, NULL);
            }
            assert_null(xt_error());
            alive[epoch] = live_get(LIVE_tensor);
        }
        assert_true(isfinite(first) && isfinite(last));
        assert_int_equal(alive[2], alive[1]); /* what a call keeps does not grow */
        xt_finish();
    }
}

/* A loop without a loader, which computes something behind each call: nothing piles up. */
static void what_is_kept_does_not_grow(void **state) {
    (void)state;
    closed = xt_module_new(net, NULL);
    xt_optimizer *o = xt_lbfgs(closed, .max_iter = 2);
    int64_t alive = 0;
    for (int i = 0; i < 12; i++) {
        xt_optimizer_step_closure(o, ones, closed);
        xt_item(xt_add_scalar(ones(closed), 1));
        if (i == 5) alive = live_get(LIVE_tensor);
    }
    assert_null(xt_error());
    assert_int_equal(live_get(LIVE_tensor), alive);
}

static xt_tensor nan_loss(void *m) {
    return xt_mul_scalar(ones(m), (double)NAN);
}

static void nan_is_told_with_the_call(void **state) {
    (void)state;
    char at[64];
    closed = xt_module_new(net, NULL);
    xt_optimizer *o = xt_lbfgs(closed, .line_search = XT_STRONG_WOLFE);
    snprintf(at, sizeof at, "the last at tests/unit/test_optim_refused.c:%d", __LINE__ + 1);
    for (int i = 0; i < 3; i++) xt_optimizer_step_closure(o, nan_loss, closed);
    xt_finish();
    says("is NaN or Inf after 3 optimizer steps");
    says(strrchr(at, '/') + 1);
}

/* --- steps that an error drops --- */
static void be_told(xt_status s, void *user) {
    (void)s, (void)user;
}

/* The program that goes on after errors: what they drop is no update, and leaves no gradient to the next. */
static void dropped_steps_are_no_updates(void **state) {
    (void)state;
    double with_errors = 0, without = 0;
    xt_on_error(be_told, NULL);
    for (int errs = 0; errs < 2; errs++) {
        xt_seed(1);
        xt_module *m = xt_module_new(net, NULL);
        xt_optimizer *o = xt_adam(m, .lr = 0.01);
        for (int i = 0; i < 12; i++) {
            bool wrong = i >= 4 && i < 9;
            if (wrong && !errs) continue;
            if (i == 9) xt_clear_error();
            xt_tensor loss = ones(m);
            if (wrong && i % 2) loss = xt_reshape(xt_forward(m, xt_ones(XT_F32, 2, 3)), 7); /* before the gradient */
            xt_backward(loss);
            if (wrong) xt_reshape(xt_ones(XT_F32, 3), 7); /* behind it */
            xt_optimizer_step(o);
            xt_mark_step();
        }
        assert_int_equal(xt_optimizer_steps(o), 7);
        *(errs ? &with_errors : &without) = xt_item(xt_sum(xt_square(xt_module_find(m, "fc.weight"))));
        xt_finish();
    }
    xt_on_error(NULL, NULL);
    assert_true(with_errors == without);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(states_of_another_kind, begin, end),
        cmocka_unit_test_setup_teardown(states_that_lack_tensors, begin, end),
        cmocka_unit_test_setup_teardown(groups_of_numbers_it_has, begin, end),
        cmocka_unit_test_setup_teardown(batches_live_through_evaluations, begin, end),
        cmocka_unit_test_setup_teardown(what_is_kept_does_not_grow, begin, end),
        cmocka_unit_test_setup_teardown(nan_is_told_with_the_call, begin, end),
        cmocka_unit_test_setup_teardown(dropped_steps_are_no_updates, begin, end),
    };
    return cmocka_run_group_tests_name("optim_refused", tests, NULL, NULL);
}
