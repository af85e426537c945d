/* Who owns a dataset: several loaders and wrappers over one, with and without xt_dataset_retain, and one
 * that is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "data/loader_int.h"

enum { SAMPLES = 50 };
static float xs[SAMPLES][2];
static int64_t ys[SAMPLES];

static int end(void **state) {
    (void)state;
    xt_clear_error();
    xt_finish();
    if (live_get(LIVE_loader) || live_get(LIVE_dataset))
        print_error("%lld loaders and %lld datasets are left\n", (long long)live_get(LIVE_loader),
                    (long long)live_get(LIVE_dataset));
    return live_get(LIVE_loader) != 0 || live_get(LIVE_dataset) != 0;
}

static xt_dataset *arrays(void) {
    return xt_array_dataset(xs, (xt_spec){XT_F32, {2}}, ys, (xt_spec){XT_I64, {0}}, SAMPLES);
}

static int samples_of(xt_loader *l) {
    int n = 0;
    for (xt_batch b; xt_next(l, &b);) n += (int)b.size;
    assert_null(xt_error());
    return n;
}

static void loaders_share_a_dataset(void **state) {
    (void)state;
    for (int retained = 0; retained < 3; retained++) { /* not at all, as often as there are takers, once more */
        xt_dataset *d = arrays();
        for (int k = 0; k < retained; k++) xt_dataset_retain(d);
        xt_loader *a = xt_loader_new(d, .batch = 10), *b = xt_loader_new(d, .batch = 5);
        assert_int_equal(samples_of(a), SAMPLES);
        xt_loader_free(a);
        assert_int_equal(live_get(LIVE_dataset), 1);
        assert_int_equal(samples_of(b), SAMPLES);
        xt_loader_free(b);
        assert_int_equal(live_get(LIVE_dataset), retained == 2);
        if (retained == 2) xt_dataset_free(d);
    }
    xt_dataset *d = arrays(); /* wrappers take it too; and what fails gives back only what it took */
    xt_loader *whole = xt_loader_new(d, .batch = 10);
    int64_t lengths[] = {20, 30};
    xt_dataset *part[2];
    assert_null(xt_random_split(d, 2, lengths, 1, part));
    xt_loader *some = xt_loader_new(xt_concat_datasets(2, (xt_dataset *[]){part[1], d}), .batch = 10);
    assert_null(xt_loader_new(d, .batch = 10, .drop_last = XT_ON, .pad_last = XT_ON));
    xt_clear_error();
    assert_null(xt_subset(d, (int64_t[]){SAMPLES}, 1));
    xt_clear_error();
    xt_loader_free(whole);
    xt_dataset_free(part[0]);
    assert_int_equal(samples_of(some), 80);
    xt_loader_free(some);
    assert_int_equal(live_get(LIVE_dataset), 0);
}

static void gone(const char *who, const void *made, int line) {
    char words[160], here[64];
    snprintf(words, sizeof words, "%s: the dataset ", who);
    snprintf(here, sizeof here, "test_data_owners.c:%d: ", line);
    const char *text = xt_status_message(xt_error());
    if (made || !strstr(text, words) || !strstr(text, here) || !strstr(text, "xt_dataset_retain(ds) keeps it"))
        fail_msg("expected \"%s%s\" in: %s", here, words, text);
    xt_clear_error();
}

static void a_dataset_that_is_gone_is_named(void **state) {
    (void)state;
    xt_dataset *kept = arrays(), *d = arrays();
    xt_loader_free(xt_loader_new(d, .batch = 10));
    gone("xt_loader_new", xt_loader_new(d, .batch = 5), __LINE__);
    gone("xt_dataset_retain", xt_loader_new(xt_dataset_retain(d), .batch = 5), __LINE__);
    gone("xt_subset", xt_subset(d, (int64_t[]){0}, 1), __LINE__);
    gone("xt_map_dataset", xt_map_dataset(d, (xt_spec){XT_F32, {2}}, (xt_spec){0}, NULL, NULL), __LINE__);
    gone("xt_augment", xt_augment(d, .crop_padding = 1), __LINE__);
    gone("xt_concat_datasets", xt_concat_datasets(2, (xt_dataset *[]){kept, d}), __LINE__);
    assert_int_equal(live_get(LIVE_dataset), 0);
}

/* --- the trials of xt_batch_find over one dataset --- */
static xt_tensor line(xt_module *m, xt_tensor in, void *user) {
    (void)user;
    return xt_linear(m, "fc", in, 1);
}
static xt_tensor loss_of(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_mean(xt_square(xt_forward(m, b.x)));
}
static xt_optimizer *sgd(xt_module *m, void *user) {
    (void)user;
    return xt_sgd(m, .lr = 0.01);
}

static xt_dataset *shared;
static xt_loader *over_one(int64_t batch, void *retained) {
    return xt_loader_new(retained ? xt_dataset_retain(shared) : shared, .batch = batch);
}

static void trials_share_a_dataset_that_is_kept(void **state) {
    (void)state;
    xt_task task = {.net = line, .training_step = loss_of, .configure_optimizers = sgd};
    shared = arrays();
    assert_int_equal(xt_batch_find(&task, over_one, &shared, .power_only = XT_ON), 32);
    assert_null(xt_error());
    assert_int_equal(live_get(LIVE_dataset), 1);
    /* freed with the first trial's loader; it gave 2 */
    assert_int_equal(xt_batch_find(&task, over_one, NULL, .power_only = XT_ON), 0);
    const char *text = xt_status_message(xt_error());
    if (!strstr(text, "xt_loader_new: the dataset (`ds`) was freed before")) fail_msg("%s", text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(loaders_share_a_dataset, end),
        cmocka_unit_test_teardown(a_dataset_that_is_gone_is_named, end),
        cmocka_unit_test_teardown(trials_share_a_dataset_that_is_kept, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
