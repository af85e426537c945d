/* Threads that record at once: each has a context of its own, and they share the device, the programs, the places
 * in flight and those who are told what happens. Run by slow/tsan.sh as well. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lazy/lazy.h"
#include <xtrain/xtrain.h>

enum { STEPS = 40, SIDE = 64, CHAIN = 4 };

static void nothing_left(void) {
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("tensor"), 0);
    assert_int_equal(xt_live_objects("buffer"), 0);
}

/* Asserts belong to the thread that runs the test: the others count what went wrong. */
static atomic_int wrong;
static void expect(bool ok) {
    if (!ok) atomic_fetch_add(&wrong, 1);
}

enum { MOST_THREADS = 8 };
static void together(int n, void *(*fn)(void *)) {
    static int number[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    atomic_store(&wrong, 0);
    for (int i = 0; i < n; i++) number[i] = i + 1;
    for (int i = 0; i < n; i++) assert_int_equal(pthread_create(&threads[i], NULL, fn, &number[i]), 0);
    for (int i = 0; i < n; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&wrong), 0);
}

static xt_tensor twice_and_one(const xt_tensor *in, int n, void *user) {
    (void)n;
    (void)user;
    return xt_add_scalar(xt_mul_scalar(in[0], 2), 1);
}

/* Steps with known programs, new shapes, values that are read early and on their way, compiled functions. */
static void *record(void *user) {
    double mine = *(const int *)user;
    xt_step *f = xt_compile(twice_and_one);
    xt_tensor sum = xt_keep(xt_full(0, XT_F32, 1));
    for (int i = 0; i < STEPS; i++) {
        float data[8];
        for (int k = 0; k < 8; k++) data[k] = (float)(mine + i);
        xt_tensor x = xt_from_data(data, XT_F32, 1, (const int64_t[]){1 + i % 8});
        expect(xt_item(xt_max(x)) == mine + i);
        xt_tensor next = xt_keep(xt_add(sum, xt_reshape(xt_max(xt_add(x, x)), 1)));
        xt_drop(sum);
        sum = next;
        expect(xt_mark_step());
        float y = 0;
        xt_tensor out = xt_call(f, sum);
        expect(xt_read(out, &y, sizeof y));
        expect(xt_read(sum, data, sizeof *data) && y == 2 * *data + 1);
        expect(xt_mark_step());
    }
    expect(xt_item(xt_sum(sum)) == 2 * STEPS * mine + STEPS * (STEPS - 1));
    xt_drop(sum);
    expect(xt_wait());
    xt_step_free(f);
    return NULL;
}

static void both_are_right(void **state) {
    (void)state;
    together(2, record);
    nothing_left();
}

/* --- places in flight --- */
static void *keep_it_busy(void *user) {
    (void)user;
    xt_tensor x = xt_keep(xt_full(0.5, XT_F32, SIDE, SIDE));
    expect(xt_wait());
    for (int i = 0; i < STEPS; i++) {
        xt_tensor y = x;
        for (int k = 0; k < CHAIN; k++) y = xt_mul_scalar(xt_matmul(y, y), 1.0 / SIDE);
        xt_when_ready(y, NULL, NULL);
        expect(xt_mark_step());
    }
    expect(xt_wait());
    xt_drop(x);
    return NULL;
}

/* All wait for the one place; when a program ends one of them gets it. */
static void one_place_is_one(void **state) {
    (void)state;
    setenv("XT_IN_FLIGHT", "1", 1);
    together(MOST_THREADS, keep_it_busy);
    assert_int_equal(xt_counter("in_flight_peak"), 1);
    unsetenv("XT_IN_FLIGHT");
    nothing_left();
}

/* --- those who are told --- */
enum { MANY = 100 };
static struct listener { atomic_int before, after, events, finished; } told[MANY];
static atomic_bool all_are_there;

static void on_before(void *user, lazy_cause cause) {
    (void)cause;
    atomic_fetch_add(&((struct listener *)user)->before, 1);
}
static void on_after(void *user, lazy_cause cause, int64_t step, bool ok) {
    (void)cause;
    (void)step;
    (void)ok;
    atomic_fetch_add(&((struct listener *)user)->after, 1);
}
static void on_event(void *user, const lazy_event *e) {
    (void)e;
    atomic_fetch_add(&((struct listener *)user)->events, 1);
}
static void on_finish(void *user) {
    atomic_fetch_add(&((struct listener *)user)->finished, 1);
}

static void *listen_or_step(void *user) {
    if (*(const int *)user == 1) {
        for (int i = 0; i < MANY; i++) {
            assert_null(lazy_observe(&(lazy_observer){on_before, on_after, &told[i]}));
            lazy_on_event(on_event, &told[i]);
            lazy_at_finish(on_finish, &told[i]);
        }
        atomic_store(&all_are_there, true);
        return NULL;
    }
    for (int i = 0; i < STEPS || !atomic_load(&all_are_there); i++) {
        expect(xt_item(xt_sum(xt_full(i, XT_F32, 2))) == 2.0 * i);
        expect(xt_mark_step());
    }
    return NULL;
}

static void everybody_is_told(void **state) {
    (void)state;
    together(2, listen_or_step);
    struct listener before[MANY];
    for (int i = 0; i < MANY; i++) {
        before[i].before = atomic_load(&told[i].before);
        before[i].after = atomic_load(&told[i].after);
        before[i].events = atomic_load(&told[i].events);
    }
    xt_keep(xt_full(1, XT_F32, 3));
    assert_true(xt_mark_step());
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(atomic_load(&told[i].before), before[i].before + 1);
        assert_int_equal(atomic_load(&told[i].after), before[i].after + 1);
        assert_int_equal(atomic_load(&told[i].events), before[i].events + 1);
        assert_int_equal(atomic_load(&told[i].finished), 0);
    }
    nothing_left();
    for (int i = 0; i < MANY; i++) assert_int_equal(atomic_load(&told[i].finished), 1);
}

/* --- what one thread made, and another has --- */
static xt_tensor theirs[4];
static void *make_four(void *user) {
    (void)user;
    for (int i = 0; i < 4; i++) theirs[i] = xt_keep(xt_full(7, XT_F32, 2));
    expect(xt_mark_step());
    expect(xt_item(xt_sum(theirs[3])) == 14);
    for (int i = 0; i < 4; i++) xt_drop(theirs[i]);
    return NULL;
}
/* The places of both are the same: only the handles tell them apart. */
static void tensors_of_others_are_dead(void **state) {
    (void)state;
    xt_tensor mine[4];
    for (int i = 0; i < 4; i++) mine[i] = xt_keep(xt_full(1, XT_F32, 2));
    together(1, make_four);
    for (int i = 0; i < 4; i++) {
        assert_true(xt_is_error(theirs[i]));
        assert_true(isnan(xt_item(xt_sum(theirs[i]))));
        assert_non_null(strstr(xt_status_message(xt_error()), "another thread"));
        xt_clear_error();
        xt_drop(theirs[i]);
        xt_clear_error();
        assert_int_equal(xt_item(xt_sum(mine[i])), 2);
    }
    xt_tensor before = mine[0];
    nothing_left();
    for (int i = 0; i < 4; i++) mine[i] = xt_full(1, XT_F32, 2);
    assert_true(xt_is_error(before)); /* of before xt_finish: not one that was made since */
    nothing_left();
}

static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 2);
}
static xt_module *their_module;
static xt_optimizer *their_optimizer;
static atomic_int at;
static void wait_for(int place) {
    while (atomic_load(&at) != place) sched_yield();
}
static void *make_module(void *user) {
    (void)user;
    their_module = xt_module_new(net, NULL);
    expect(!xt_module_build(their_module, (xt_spec){XT_F32, {2, 3}}));
    their_optimizer = xt_sgd(their_module, .lr = 0.1);
    atomic_store(&at, 1);
    wait_for(2);
    expect(xt_finish() == 0); /* frees what this thread made, but for what is freed */
    atomic_store(&at, 3);
    return NULL;
}
static void says_whose_it_is(void) {
    assert_non_null(xt_error());
    assert_non_null(strstr(xt_status_message(xt_error()), "belongs to another thread"));
    xt_clear_error();
}
static void who_frees_what_another_made(void **state) {
    (void)state;
    xt_tensor mine[4];
    for (int i = 0; i < 4; i++) mine[i] = xt_keep(xt_full(1, XT_F32, 2));
    pthread_t thread;
    atomic_store(&wrong, 0);
    atomic_store(&at, 0);
    assert_int_equal(pthread_create(&thread, NULL, make_module, NULL), 0);
    wait_for(1);
    char text[100];
    assert_int_equal(xt_module_summary(their_module, text, sizeof text), 0);
    says_whose_it_is();
    assert_true(xt_is_error(xt_forward(their_module, xt_ones(XT_F32, 2, 3))));
    says_whose_it_is();
    assert_true(xt_is_error(xt_linear(xt_sub(their_module, "fc", -1), "x", xt_ones(XT_F32, 2, 3), 2)));
    says_whose_it_is();
    xt_optimizer_step(their_optimizer);
    says_whose_it_is();
    xt_optimizer_free(their_optimizer);
    xt_module_free(their_module);
    assert_null(xt_error());
    for (int i = 0; i < 4; i++) assert_int_equal(xt_item(xt_sum(mine[i])), 2);
    atomic_store(&at, 2);
    wait_for(3);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&wrong), 0);
    nothing_left();
    assert_int_equal(xt_live_objects("module"), 0);
    assert_int_equal(xt_live_objects("optimizer"), 0);
}

/* --- what functions of xt_when_ready record, on the reader thread --- */
static void records(void *user, const void *data, size_t bytes, xt_dtype dtype) {
    (void)user, (void)bytes, (void)dtype;
    expect(xt_item(xt_sum(xt_full(*(const float *)data, XT_F32, 2, 3))) == 6);
}
static void what_a_function_records_ends_with_it(void **state) {
    (void)state;
    atomic_store(&wrong, 0);
    for (int i = 0; i < 3; i++) {
        xt_when_ready(xt_ones(XT_F32, 2), records, NULL);
        assert_true(xt_wait());
        assert_int_equal(xt_live_objects("tensor"), 0);
    }
    assert_int_equal(atomic_load(&wrong), 0);
    nothing_left();
}
static void *leaves_a_module(void *user) {
    (void)user;
    expect(!xt_module_build(xt_module_new(net, NULL), (xt_spec){XT_F32, {2, 3}}));
    return NULL;
}
static void what_ended_threads_left_goes_at_the_end(void **state) {
    (void)state;
    together(2, leaves_a_module);
    assert_int_equal(xt_live_objects("module"), 2);
    nothing_left();
    assert_int_equal(xt_live_objects("module"), 0);
}

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_place_is_one), /* first: the peak is the process's */
        cmocka_unit_test(both_are_right),
        cmocka_unit_test(everybody_is_told),
        cmocka_unit_test(tensors_of_others_are_dead),
        cmocka_unit_test(who_frees_what_another_made),
        cmocka_unit_test(what_ended_threads_left_goes_at_the_end), /* before the reader has a context, which stays */
        cmocka_unit_test(what_a_function_records_ends_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
