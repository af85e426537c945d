/* Threads that record at once: each has a context of its own, and they share the device, the programs, the places
 * in flight and those who are told what happens. Run by slow/tsan.sh as well. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

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
            lazy_observe(&(lazy_observer){on_before, on_after, &told[i]});
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

int main(void) {
    setenv("XT_CACHE", "off", 1);
    setenv("XT_SUMMARY", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_place_is_one), /* first: the peak is the process's */
        cmocka_unit_test(both_are_right),
        cmocka_unit_test(everybody_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
