/* Averages of parameters of which not all are there: of layers that a loop or a fit calls in some steps alone, that
 * only a validation calls, or that are yet to be called behind a load. Whatever has been loaded is as good as there. */
#include "train_test.h"

#include <string.h>

#include "format/safetensors.h"

static void ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

static void not_said(const char *part) {
    const char *at = strstr(str_cstr(&said), part);
    if (at) fail_msg("\"%s\" was said: ...%.*s", part, 300, at - str_cstr(&said) > 150 ? at - 150 : str_cstr(&said));
}

/* Every tensor of a whose name begins with `with` is in b with the same bits, and there are as many. */
static void same_files(const char *a, const char *b, const char *with) {
    st_file *f[2];
    size_t n[2] = {0};
    ok(st_open(a, &f[0]));
    ok(st_open(b, &f[1]));
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < st_count(f[k]); i++) n[k] += strncmp(st_at(f[k], i)->name, with, strlen(with)) == 0;
    for (size_t i = 0; i < st_count(f[0]); i++) {
        const st_entry *e = st_at(f[0], i), *other = st_find(f[1], e->name);
        char mine[1024], theirs[1024];
        size_t size = (size_t)(e->end - e->begin);
        if (strncmp(e->name, with, strlen(with)) != 0) continue;
        if (!other) fail_msg("%s is not in %s", e->name, b);
        assert_true(size <= sizeof mine && size == (size_t)(other->end - other->begin));
        ok(st_read(f[0], e, mine, size));
        ok(st_read(f[1], other, theirs, size));
        if (memcmp(mine, theirs, size) != 0) fail_msg("%s differs in %s and %s", e->name, a, b);
    }
    if (!n[0] || n[0] != n[1]) fail_msg("%zu tensors %s* in %s, %zu in %s", n[0], with, a, n[1], b);
    st_close(f[0]);
    st_close(f[1]);
}

static char *path(int of, const char *name, int64_t k) {
    static char paths[4][256];
    snprintf(paths[of], sizeof paths[of], "%s/%s%lld", dir, name, (long long)k);
    return paths[of];
}

/* --- a loop of one's own --- */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_relu(xt_linear(m, "a", x, 4));
}
static xt_tensor input(void) {
    float x[20];
    for (int i = 0; i < 20; i++) x[i] = (float)(i * 7 % 11) / 11 - 0.25f;
    return xt_from_array(x, XT_F32, 5, 4);
}
/* Layers beside the module's function, with a buffer of floats and one of integers, in two of five steps. */
static xt_tensor some(xt_module *m, xt_tensor h) {
    xt_module *c = xt_sub(m, "some", -1);
    h = xt_batch_norm(c, "bn", xt_linear(c, "fc", h, 3));
    xt_tensor endless = xt_buffer(c, "endless", "zeros", 0, XT_F32, 2); /* of which no mean is a number */
    if (xt_is_training(c)) xt_assign(endless, xt_full(-INFINITY, XT_F32, 2));
    return xt_mean(xt_square(xt_add(h, 1.)));
}
typedef enum loaded { NOTHING_LOADED, AVERAGE_BEHIND, AVERAGE_BEFORE, AVERAGE_ALONE, LOADED_COUNT } loaded;

/* Steps [from, to), saved under what they lead to; the average begins behind the parameters' file, or before it. */
static void steps(int64_t from, int64_t to, loaded how, const char *save) {
    xt_seed(3);
    xt_module *m = xt_module_new(net, NULL), *ema = NULL;
    xt_optimizer *o = xt_adam(m, .lr = 0.05);
    if (how == AVERAGE_BEFORE || how == AVERAGE_ALONE) ema = xt_ema(m);
    if (how) ok(xt_load(m, path(0, "net", from)));
    if (!ema) ema = xt_ema(m);
    if (how) ok(xt_load(ema, path(0, "ema", from)));
    if (how) ok(xt_optimizer_load(o, path(0, "opt", from)));
    for (int64_t i = from; i < to; i++) {
        xt_tensor h = xt_forward(m, input()), loss = xt_mean(xt_square(xt_minus(h, 0.5)));
        if (i % 5 == 1 || i % 5 == 2) loss = xt_add(loss, some(m, h));
        xt_backward(loss);
        xt_optimizer_step(o);
        if (!xt_ema_update(ema, m, i == 4 ? 0 : 0.75)) fail_msg("%s", xt_status_message(xt_error()));
        assert_true(xt_mark_step());
        if (how) continue;
        ok(xt_save(m, path(0, "net", i + 1)));
        ok(xt_save(ema, path(0, "ema", i + 1)));
        ok(xt_optimizer_save(o, path(0, "opt", i + 1)));
    }
    char name[32];
    snprintf(name, sizeof name, "net%s", save);
    ok(xt_save(m, path(1, name, to)));
    snprintf(name, sizeof name, "ema%s", save);
    ok(xt_save(ema, path(1, name, to)));
    xt_optimizer_free(o);
    xt_module_free(ema);
    xt_module_free(m);
}

static void a_loop_goes_on(void **state) {
    (void)state;
    steps(0, 12, NOTHING_LOADED, "whole");
    for (loaded how = AVERAGE_BEHIND; how < AVERAGE_ALONE; how++)
        for (int64_t cut = 1; cut < 10; cut++) {
            steps(cut, cut + 2, how, "part");
            same_files(path(2, "net", cut + 2), path(3, "netpart", cut + 2), "");
            same_files(path(2, "ema", cut + 2), path(3, "emapart", cut + 2), "");
        }
    assert_int_equal(xt_finish(), 0);
}

/* The average of what a file has begins as that, be the module built or not. */
static void averages_of_what_is_loaded(void **state) {
    (void)state;
    steps(0, 3, NOTHING_LOADED, "whole");
    for (int first = 0; first < 2; first++) {
        xt_module *m = xt_module_new(net, NULL), *ema = first ? xt_ema(m) : NULL;
        ok(xt_load(m, path(0, "net", 3)));
        if (first) assert_true(xt_ema_update(ema, m, 0.5));
        if (!first) ema = xt_ema(m);
        assert_non_null(ema);
        ok(xt_save(ema, path(1, "began", first)));
        same_files(path(0, "net", 3), path(1, "began", first), "");
        xt_module_free(ema);
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
}

/* Averages that are loaded become the parameters of a module that has none yet, or some. */
static void averages_come_back(void **state) {
    (void)state;
    steps(0, 7, NOTHING_LOADED, "whole");
    for (int built = 0; built < 3; built++) {
        xt_module *m = xt_module_new(net, NULL), *ema = xt_ema(m);
        if (built) ok(xt_module_build(m, (xt_spec){XT_F32, {5, 4}}));
        ok(xt_load(ema, path(0, "ema", 7)));
        if (built == 2) xt_forward(ema, input());
        assert_true(xt_ema_copy_to(ema, m));
        if (built == 1) some(m, xt_forward(m, input())); /* in the step that copies */
        ok(xt_save(m, path(1, "copy", built)));
        if (built == 1) {
            same_files(path(0, "ema", 7), path(1, "copy", built), "a.");
            same_files(path(0, "ema", 7), path(1, "copy", built), "some.fc.");
        } else
            same_files(path(0, "ema", 7), path(1, "copy", built), "");
        xt_module_free(ema);
        xt_module_free(m);
    }
    assert_int_equal(xt_finish(), 0);
}

/* What waits in the one and has another shape in the other is told, as what is there. */
static xt_tensor wider(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_relu(xt_linear(m, "a", x, 6));
}
static void of_another_shape(void **state) {
    (void)state;
    steps(0, 1, NOTHING_LOADED, "whole");
    xt_module *m = xt_module_new(wider, NULL), *ema = xt_module_new(net, NULL);
    ok(xt_module_build(m, (xt_spec){XT_F32, {5, 4}}));
    ok(xt_load(ema, path(0, "net", 1)));
    assert_false(xt_ema_copy_to(ema, m));
    assert_non_null(strstr(xt_status_message(xt_error()), "in one module and"));
    xt_clear_error();
    xt_module_free(ema);
    xt_module_free(m);
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {T(a_loop_goes_on), T(averages_of_what_is_loaded), T(averages_come_back),
                                       T(of_another_shape)};
    return cmocka_run_group_tests_name("nn_averages", tests, NULL, NULL);
}
