/* oneDNN's OpenMP regions in threads of ours: every number is taken once whoever is there, barriers hold, and what is
 * not oneDNN's stays with libgomp. */
#include "cpu_differential.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>

#include "base/sanitizers.h"
#include "cpu/run/plan.h"
#include "cpu/thread/openmp.h"

extern void GOMP_parallel(void (*fn)(void *), void *ctx, unsigned threads, unsigned flags);
extern void GOMP_barrier(void);
extern int omp_get_max_threads(void);
extern int omp_get_num_threads(void);
extern int omp_get_thread_num(void);
extern int omp_in_parallel(void);

enum { MOST = 8 };
typedef struct seen {
    _Atomic int times[MOST]; /* by number */
    _Atomic int wrong;
    int size; /* expected */
    bool meet; /* each number waits for the others, some times */
    _Atomic int arrived;
} seen;

static void look(void *ctx) {
    seen *s = ctx;
    int number = omp_get_thread_num();
    if (omp_get_num_threads() != s->size || number < 0 || number >= s->size || omp_in_parallel() != (s->size > 1))
        atomic_fetch_add(&s->wrong, 1);
    if (number >= 0 && number < MOST) atomic_fetch_add(&s->times[number], 1);
    for (int round = 1; s->meet && round <= 3; round++) {
        atomic_fetch_add(&s->arrived, 1);
        GOMP_barrier();
        if (atomic_load(&s->arrived) < round * s->size) atomic_fetch_add(&s->wrong, 1);
        GOMP_barrier();
    }
}
static void expect_all(const seen *s) {
    assert_int_equal(s->wrong, 0);
    for (int i = 0; i < MOST; i++) assert_int_equal(s->times[i], i < s->size);
}

static void numbers_are_taken_once(void **state) {
    (void)state;
    cpu_team t = {.threads = 3};
    team_enter(&t, true);
    assert_int_equal(omp_get_max_threads(), 3);
    assert_int_equal(omp_in_parallel(), 0);
    for (int round = 0; round < 200; round++) {
        for (int size = 1; size <= 3; size++) {
            seen s = {.size = size, .meet = round % 2};
            GOMP_parallel(look, &s, (unsigned)size, 0);
            expect_all(&s);
        }
        seen all = {.size = 3};
        GOMP_parallel(look, &all, 0, 0); /* as many as there are */
        expect_all(&all);
        if (round % 50 == 49) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* asleep by now */
    }
    team_leave(&t);
    team_deinit(&t);
}

/* A region inside a region, or inside a loop of ours, is one thread's. */
static void inner(void *ctx) {
    seen *s = ctx;
    if (omp_get_num_threads() != 1 || omp_get_thread_num() != 0) atomic_fetch_add(&s->wrong, 1);
    atomic_fetch_add(&s->times[0], 1);
}
static void outer(void *ctx) {
    int before = omp_get_thread_num();
    GOMP_parallel(inner, ctx, 2, 0);
    if (omp_get_thread_num() != before) atomic_fetch_add(&((seen *)ctx)->wrong, 1);
}
static void outer_loop(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    seen *s = ctx;
    for (int64_t i = begin; i < end; i++) {
        if (omp_get_max_threads() != 1) atomic_fetch_add(&s->wrong, 1);
        GOMP_parallel(inner, ctx, 2, 0);
    }
}
static void inner_regions_stay(void **state) {
    (void)state;
    cpu_team t = {.threads = 2};
    team_enter(&t, true);
    seen s = {0};
    GOMP_parallel(outer, &s, 2, 0);
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.times[0], 2);
    seen l = {0};
    team_for(&t, 40, 1, outer_loop, &l);
    assert_int_equal(l.wrong, 0);
    assert_int_equal(l.times[0], 40);
    assert_int_equal(omp_get_max_threads(), 2); /* afterwards as before */
    team_leave(&t);
    team_deinit(&t);
}

#if !BUILT_WITH_TSAN
/* Outside of a team, in a team of libgomp's, and where a region is wider than the pool (its barriers need a thread for
 * each number). */
static void others_go_to_libgomp(void **state) {
    (void)state;
    /* with OMP_DYNAMIC it gives as many threads as the machine's load leaves */
    void (*set_dynamic)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "omp_set_dynamic");
    assert_non_null(set_dynamic);
    set_dynamic(0);
    seen s = {.size = 2, .meet = true};
    GOMP_parallel(look, &s, 2, 0);
    expect_all(&s);
    cpu_team t = {.threads = 2};
    team_enter(&t, false);
    assert_int_equal(omp_get_max_threads(), 2);
    seen libgomp = {.size = 2, .meet = true};
    GOMP_parallel(look, &libgomp, 2, 0);
    expect_all(&libgomp);
    team_leave(&t);
    team_enter(&t, true);
    seen wide = {.size = 5, .meet = true};
    GOMP_parallel(look, &wide, 5, 0);
    expect_all(&wide);
    team_leave(&t);
    team_deinit(&t);
}

#endif

/* A gradient of weights, whose threads meet inside oneDNN, and a bf16 product. */
static void primitives_agree(void **state) {
    (void)state;
    static const char weights[] =
        "func.func @main(%x: tensor<8x32x20x20xf32>, %d: tensor<8x32x9x9xf32>) -> tensor<32x32x3x3xf32> {\n"
        "%0 = stablehlo.convolution(%x, %d) dim_numbers = [f, b, 0, 1]x[i, o, 0, "
        "1]->[f, b, 0, 1], window = {rhs_dilate = [2, 2], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, "
        "feature_group_count = 1 : i64} : (tensor<8x32x20x20xf32>, "
        "tensor<8x32x9x9xf32>) -> tensor<32x32x4x4xf32>\n"
        "%1 = stablehlo.slice %0 [0:32, 0:32, 0:3, 0:3] : (tensor<32x32x4x4xf32>) -> tensor<32x32x3x3xf32>\n"
        "return %1 : "
        "tensor<32x32x3x3xf32>\n}\n";
    static const char product[] =
        "func.func @main(%a: tensor<256x200xbf16>, %b: tensor<200x192xbf16>) -> tensor<256x192xf32> {\n"
        "%0 = stablehlo.dot_general %a, %b, contracting_dims = "
        "[1] x [0] : (tensor<256x200xbf16>, tensor<200x192xbf16>) -> tensor<256x192xf32>\n"
        "return %0 : tensor<256x192xf32>\n"
        "}\n";
    for (int threads = 1; threads <= 4; threads++) {
        differ("a gradient of weights", weights, 1e-3, threads, false);
        differ("a bf16 product", product, 2e-2, threads, false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_taken_once),
        cmocka_unit_test(inner_regions_stay),
#if !BUILT_WITH_TSAN /* which does not know libgomp's barriers */
        cmocka_unit_test(others_go_to_libgomp),
#endif
        cmocka_unit_test(primitives_agree)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
