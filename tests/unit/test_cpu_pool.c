/* The team's own threads: each piece of work is done once whoever is there to do it, sleepers wake up, and settings of
 * the user's hold. */
#include "cpu_check.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/sanitizers.h"
#include "cpu/run/plan.h"
#include "cpu/thread/openmp.h"
#include "cpu/thread/pool.h"

enum { MOST = 4096 };
typedef struct work {
    _Atomic int done[MOST];
    _Atomic int inside[8]; /* per thread number */
    _Atomic bool overlap;
    int most_thread;
} work;

static void count(void *ctx, int64_t begin, int64_t end, int thread) {
    work *w = ctx;
    if (thread < 0 || thread > w->most_thread || atomic_fetch_add(&w->inside[thread], 1) != 0)
        atomic_store(&w->overlap, true);
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&w->done[i], 1);
    atomic_fetch_sub(&w->inside[thread], 1);
}

/* Regions of all sizes, right after one another and after pauses in which helpers fall asleep. */
static void each_piece_once(void **state) {
    (void)state;
    static work w;
    for (int threads = 1; threads <= 5; threads += 2) {
        cpu_team t = {.threads = threads};
        team_enter(&t, true);
        for (int round = 0; round < 400; round++) {
            int64_t n = round * 37 % MOST + 1, grain = round % 7 == 0 ? n : round % 61 + 1;
            memset(&w, 0, sizeof w);
            w.most_thread = threads - 1;
            team_for(&t, n, grain, count, &w);
            for (int64_t i = 0; i < MOST; i++) assert_int_equal(w.done[i], i < n);
            assert_false(w.overlap);
            if (round % 100 == 99) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        team_leave(&t);
        team_deinit(&t);
    }
}

/* What a helper that is inside writes is there when the region is over: the last one to leave is waited for, asleep if
 * it takes long. */
static void slow(void *ctx, int64_t begin, int64_t end, int thread) {
    int *v = ctx;
    if (thread) nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    for (int64_t i = begin; i < end; i++) {
        v[i] = (int)i + 1;
        if (!thread) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); /* leaves something for the helpers */
    }
}
static void helpers_finish_first(void **state) {
    (void)state;
    cpu_team t = {.threads = 3};
    team_enter(&t, true);
    for (int round = 0; round < 5; round++) {
        int v[40] = {0};
        team_for(&t, 40, 1, slow, v);
        for (int i = 0; i < 40; i++) assert_int_equal(v[i], i + 1);
    }
    team_leave(&t);
    team_deinit(&t);
}

static void unused_pools_end(void **state) {
    (void)state;
    pool *p = pool_new(4);
    assert_non_null(p);
    pool_free(p);
    p = pool_new(2);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* asleep by now */
    pool_free(p);
    assert_null(pool_new(1));
    pool_free(NULL);
}

static void settings_are_honoured(void **state) {
    (void)state;
    char *threads = getenv("XT_THREADS");
    unsetenv("XT_THREADS");
    setenv("OMP_NUM_THREADS", "3", 1);
    assert_int_equal(team_default_threads(), 3);
    setenv("OMP_NUM_THREADS", "5,2", 1);
    assert_int_equal(team_default_threads(), 5);
    setenv("OMP_NUM_THREADS", "99999999999999", 1); /* as many scratch memories would be 46 GiB */
    assert_true(team_default_threads() <= (sysconf(_SC_NPROCESSORS_ONLN) > 64 ? sysconf(_SC_NPROCESSORS_ONLN) : 64));
    setenv("XT_THREADS", "7", 1);
    assert_int_equal(team_default_threads(), 7);
    unsetenv("OMP_NUM_THREADS");
    if (threads)
        setenv("XT_THREADS", threads, 1);
    else
        unsetenv("XT_THREADS");
}

/* Products small enough to be cut into parts of one thread each: by rows, by columns, operands
 * transposed, not at all. */
static void small_products_agree(void **state) {
    (void)state;
    static const int shapes[][3] = {{128, 50, 320}, {50, 320, 128}, {128, 320, 50},
                                    {64, 48, 700},  {33, 65, 500},  {17, 13, 11}};
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (int form = 0; form < 4; form++) {
            int m = shapes[i][0], n = shapes[i][1], k = shapes[i][2], ld = form & 1, rd = form >> 1;
            char text[1024], l[64], r[64];
            snprintf(l, sizeof l, "tensor<%dx%dxf32>", ld ? k : m, ld ? m : k);
            snprintf(r, sizeof r, "tensor<%dx%dxf32>", rd ? n : k, rd ? k : n);
            snprintf(text, sizeof text,
                     "func.func @main(%%a: %s, %%b: %s) -> tensor<%dx%dxf32> {\n"
                     "%%0 = stablehlo.dot_general %%a, %%b, contracting_dims = [%d] x [%d] "
                     ": (%s, %s) -> "
                     "tensor<%dx%dxf32>\nreturn %%0 : tensor<%dx%dxf32>\n}\n",
                     l, r, m, n, !ld, rd, l, r, m, n, m, n);
            for (int threads = 1; threads <= 3; threads++) differ("a small product", text, 1e-4, threads, false);
        }
}

/* Products by loops of our own: tiles of every height and width, sums in parts, threads that divide rows or columns,
 * batches; the same bits on any number of threads. */
static void loops_of_our_own_agree(void **state) {
    (void)state;
    static const int shapes[][4] = {{1, 2, 3, 5},    {1, 9, 77, 300},    {3, 5, 64, 1},   {1, 40, 31, 260},
                                    {1, 3, 1000, 9}, {2, 300, 100, 130}, {50, 8, 8, 8},   {1, 5, 520, 500},
                                    {4, 17, 12, 7},  {1, 6, 4, 513},     {1, 1000, 6, 90}};
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (int turned = 0; turned < 2; turned++) {
            int batch = shapes[i][0], m = shapes[i][1], n = shapes[i][2], k = shapes[i][3];
            char text[1024], l[64], r[64], o[64];
            cpu_exec *e;
            snprintf(l, sizeof l, "tensor<%dx%dx%dxf32>", batch, turned ? k : m, turned ? m : k);
            snprintf(r, sizeof r, "tensor<%dx%dx%dxf32>", batch, k, n);
            snprintf(o, sizeof o, "tensor<%dx%dx%dxf32>", batch, m, n);
            snprintf(text, sizeof text,
                     "func.func @main(%%a: %s, %%b: %s) -> %s {\n"
                     "%%0 = stablehlo.dot_general %%a, %%b, batching_dims = [0] x [0], contracting_dims = [%d] x [1] "
                     ": (%s, %s) -> %s\nreturn %%0 : %s\n}\n",
                     l, r, o, turned ? 1 : 2, l, r, o, o);
            expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), o);
            assert_string_equal(e->plan.thunks[e->plan.n_thunks - 1].kernel->name, "small-matmul");
            cpu_exec_free(e);
            check(o, text, 1e-4);
        }
}

/* Programs run in the pool, those with large products of oneDNN's too where its regions come to us (not in a program
 * that the sanitizers' link leaves without those names), and those with OpenBLAS's. */
static void programs_choose_their_team(void **state) {
    (void)state;
    static const struct {
        const char *type;
        bool own, onednn;
    } rows[] = {{"tensor<64x64xf32>", true},
                {"tensor<256x256xf32>", true, true},
                {"tensor<256x256xbf16>", true, true},
                {"tensor<4x200x200xf32>", true, true},
                {"tensor<256x256xf64>", true}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const char *t = rows[i].type;
        bool batched = strncmp(t, "tensor<4x", 9) == 0;
        char text[1024];
        cpu_exec *e;
        snprintf(text, sizeof text,
                 "func.func @main(%%a: %s) -> %s {\n"
                 "%%0 = stablehlo.dot_general %%a, %%a, %s : (%s, %s) -> %s\n"
                 "return %%0 : %s\n"
                 "}\n",
                 t, t,
                 batched ? "batching_dims = [0] x [0], contracting_dims = [2] x [1]" : "contracting_dims = [1] x [0]",
                 t, t, t, t);
        expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), "compile");
        if (!rows[i].onednn || openmp_is_ours()) assert_int_equal(e->own_team, rows[i].own);
        cpu_exec_free(e);
    }
    if (!BUILT_WITH_ASAN && !BUILT_WITH_TSAN) assert_true(openmp_is_ours());
}

/* So little work is done by whoever starts the program: products of a few numbers too, on no device's threads. */
static void tiny_programs_run_anywhere(void **state) {
    (void)state;
    static const struct {
        const char *type;
        bool tiny;
    } rows[] = {{"tensor<4x4xf32>", true}, {"tensor<16x16xf32>", true}, {"tensor<256x256xf32>", false}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const char *t = rows[i].type;
        char text[512];
        cpu_exec *e;
        snprintf(text, sizeof text,
                 "func.func @main(%%a: %s) -> %s {\n%%0 = stablehlo.dot_general %%a, %%a, contracting_dims = [1] x [0] "
                 ": (%s, %s) -> %s\nreturn %%0 : %s\n}\n",
                 t, t, t, t, t, t);
        expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), t);
        assert_int_equal(cpu_exec_tiny(e), rows[i].tiny);
        cpu_exec_free(e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_piece_once),
                                       cmocka_unit_test(helpers_finish_first),
                                       cmocka_unit_test(unused_pools_end),
                                       cmocka_unit_test(settings_are_honoured),
                                       cmocka_unit_test(small_products_agree),
                                       cmocka_unit_test(loops_of_our_own_agree),
                                       cmocka_unit_test(programs_choose_their_team),
                                       cmocka_unit_test(tiny_programs_run_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
