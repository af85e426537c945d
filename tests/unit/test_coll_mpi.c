/* The MPI transport, with all ranks on this host: the program starts itself under mpirun, once per case, and looks at
 * exit code and text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "coll/core/group.h"
#include "ranks.h"

static const char *self;

/* --- in the ranks --- */

/* Sums are in an order that the layout of the ranks decides: near the sum by rank, the same bits on every rank and
 * whenever they are taken again. */
static void check_sum(coll_group *g, float *x, size_t n, int rank, int size) {
    float *again = malloc(n * 4 + 4);
    for (size_t i = 0; i < n; i++) {
        again[i] = (float)((i * 31 + (size_t)rank * 17) % 1001) * 0.1f;
        float want = 0;
        for (int r = 0; r < size; r++) want += (float)((i * 31 + (size_t)r * 17) % 1001) * 0.1f;
        RANK_CHECK(x[i] > want - 1e-3f && x[i] < want + 1e-3f);
    }
    RANK_OK(coll_all_reduce(g, COLL_SUM, XT_F32, again, n));
    RANK_CHECK(memcmp(x, again, n * 4) == 0);
    RANK_OK(coll_broadcast(g, size - 1, again, n * 4));
    RANK_CHECK(memcmp(x, again, n * 4) == 0);
    free(again);
}

static void values(coll_group *g, int rank, int size) {
    static const size_t counts[] = {0, 1, 7, 1000, 1048576 + 13}; /* the last goes in pieces */
    for (size_t c = 0; c < BASE_COUNT(counts); c++) {
        size_t n = counts[c];
        float *x = malloc(n * 4 + 4);
        for (size_t i = 0; i < n; i++) x[i] = (float)((i * 31 + (size_t)rank * 17) % 1001) * 0.1f;
        RANK_OK(coll_all_reduce(g, COLL_SUM, XT_F32, x, n));
        check_sum(g, x, n, rank, size);
        free(x);
    }
    int top = rank;
    RANK_OK(coll_all_reduce(g, COLL_MAX, XT_I32, &top, 1));
    RANK_CHECK(top == size - 1);
}

static void moves(coll_group *g, int rank, int size) {
    static const size_t sizes[] = {0, 3, 5000000}; /* the last goes in pieces */
    for (size_t c = 0; c < BASE_COUNT(sizes); c++) {
        size_t n = sizes[c];
        char *src = malloc(n * (size_t)size + 1), *dst = malloc(n * (size_t)size + 1);
        for (int r = 0; r < size; r++) memset(src + (size_t)r * n, rank * 10 + r, n);
        RANK_OK(coll_all_to_all(g, src, n, dst));
        for (int r = 0; r < size && n; r++)
            RANK_CHECK(dst[(size_t)r * n] == r * 10 + rank && dst[(size_t)(r + 1) * n - 1] == r * 10 + rank);
        RANK_OK(coll_all_gather(g, src, n, dst));
        for (int r = 0; r < size && n; r++)
            RANK_CHECK(dst[(size_t)r * n] == r * 10 && dst[(size_t)(r + 1) * n - 1] == r * 10);
        RANK_OK(coll_broadcast(g, 1, src, n));
        RANK_CHECK(!n || (src[0] == 10 && src[n - 1] == 10));
        free(src);
        free(dst);
    }
}

/* Every reduction of every dtype against the fold that shared memory uses, on numbers whose sums and products are exact
 * in any order, with NaN among the floats. Sizes on both sides of what is gathered rather than reduced, and in pieces.
 */
enum { VALUES = 40009 };

static void fill(xt_dtype t, coll_op op, int rank, char *to, size_t n) {
    static const uint16_t half[2][4] = {{0x0000, 0x3c00, 0xbc00, 0x4000}, {0x0000, 0x3f80, 0xbf80, 0x4000}};
    size_t parts = t == XT_C64 || t == XT_C128 ? 2 : 1, elem = xt_dtype_size(t) / parts;
    bool nan = op == COLL_MIN || op == COLL_MAX;
    for (size_t i = 0; i < n * parts; i++) {
        int k = (int)((i * 7 + (size_t)rank * 5) % 4), v = k == 3 ? 2 : k == 2 ? -1 : k; /* 0, 1, -1, 2 */
        float f = nan && i % 97 == (size_t)rank ? NAN : (float)v;
        double d = (double)f;
        uint16_t h = nan && i % 97 == (size_t)rank ? 0x7fff : half[t == XT_BF16][k];
        uint64_t u = t == XT_BOOL ? (uint64_t)(k & 1) : (uint64_t)(int64_t)v * (elem > 1 ? 0x0101u : 1u);
        const void *from = t == XT_F32 || t == XT_C64    ? (void *)&f
                           : t == XT_F64 || t == XT_C128 ? (void *)&d
                           : t == XT_F16 || t == XT_BF16 ? (void *)&h
                                                         : (void *)&u;
        memcpy(to + i * elem, from, elem);
    }
}

static bool is_nan(xt_dtype t, const char *at) {
    float f;
    double d;
    uint16_t h;
    memcpy(&f, at, t == XT_F32 ? 4 : 0);
    memcpy(&d, at, t == XT_F64 ? 8 : 0);
    memcpy(&h, at, 2 * (t == XT_F16 || t == XT_BF16));
    return t == XT_F32   ? isnan(f)
           : t == XT_F64 ? isnan(d)
                         : (t == XT_F16 && (h & 0x7fff) > 0x7c00) || (t == XT_BF16 && (h & 0x7fff) > 0x7f80);
}

static void check_same(xt_dtype t, const char *x, const char *want, size_t n) {
    size_t elem = xt_dtype_size(t);
    for (size_t i = 0; i < n * elem; i += elem)
        RANK_CHECK(memcmp(x + i, want + i, elem) == 0 || (is_nan(t, x + i) && is_nan(t, want + i)));
}

static void reductions(coll_group *g, int rank, int size) {
    static const size_t counts[] = {1, 333, VALUES};
    size_t most = (size_t)VALUES * 16;
    const void **src = malloc((size_t)size * sizeof *src);
    char *x = malloc(most * (size_t)size), *all = malloc(most * (size_t)size), *want = malloc(most);
    for (int t = 0; t < XT_DTYPE_COUNT; t++)
        for (coll_op op = COLL_SUM; op <= COLL_OR; op++) {
            xt_status st = reduce_check(op, (xt_dtype)t);
            bool defined = !st;
            xt_status_free(st);
            size_t elem = xt_dtype_size((xt_dtype)t);
            for (size_t c = 0; c < BASE_COUNT(counts) && defined; c++) {
                size_t n = counts[c], part = n / (size_t)size * elem;
                for (int r = 0; r < size; r++) {
                    fill((xt_dtype)t, op, r, all + (size_t)r * most, n);
                    src[r] = all + (size_t)r * most;
                }
                reduce_fold(op, (xt_dtype)t, want, src, size, n);
                memcpy(x, src[rank], n * elem);
                RANK_OK(coll_all_reduce(g, op, (xt_dtype)t, x, n));
                check_same((xt_dtype)t, x, want, n);
                RANK_OK(coll_reduce_scatter(g, op, (xt_dtype)t, src[rank], n / (size_t)size, x));
                check_same((xt_dtype)t, x, want + (size_t)rank * part, n / (size_t)size);
            }
        }
    free(src);
    free(x);
    free(all);
    free(want);
}

/* Several under way at once, waited for out of order, with other collectives among them. */
static void started(coll_group *g, int rank, int size) {
    enum { JOBS = 9, N = 300007 };
    static float x[JOBS][N];
    coll_job jobs[JOBS];
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < JOBS; k++) {
            size_t n = k % 3 == 0 ? 5 : k % 3 == 1 ? N : 20000;
            for (size_t i = 0; i < n; i++) x[k][i] = (float)(rank + k);
            RANK_OK(coll_start(g, COLL_SUM, XT_F32, x[k], n, &jobs[k]));
            if (k == rank) usleep(20000); /* the others' go on */
        }
        int64_t one = 1;
        if (round == 1) RANK_OK(coll_all_reduce(g, COLL_SUM, XT_I64, &one, 1));
        RANK_CHECK(round != 1 || one == size);
        if (round == 2) RANK_OK(coll_barrier(g, 60, "among them"));
        for (int k = JOBS - 1; k >= 0; k -= 2) RANK_OK(coll_finish(g, &jobs[k]));
        for (int k = 0; k < JOBS; k++) {
            size_t n = k % 3 == 0 ? 5 : k % 3 == 1 ? N : 20000;
            RANK_OK(coll_finish(g, &jobs[k]));
            for (size_t i = 0; i < n; i++) RANK_CHECK(x[k][i] == (float)(size * k + size * (size - 1) / 2));
        }
    }
}

/* What was started is done although its ranks then call nothing: they only look. */
static void unattended(coll_group *g, int rank, int size) {
    enum { N = 600000 };
    static float x[N];
    coll_job job;
    for (int i = 0; i < N; i++) x[i] = (float)rank;
    RANK_OK(coll_start(g, COLL_SUM, XT_F32, x, N, &job));
    for (int k = 0; k < 60000 && ((volatile float *)x)[N - 1] != (float)(size * (size - 1) / 2); k++) usleep(1000);
    RANK_CHECK(((volatile float *)x)[N - 1] == (float)(size * (size - 1) / 2));
    RANK_OK(coll_barrier(g, 60, "until all have seen it"));
    RANK_OK(coll_finish(g, &job));
}

static void roots(coll_group *g, int rank, int size) {
    enum { BYTES = 1500001 };
    static char x[BYTES], y[BYTES];
    for (int root = 0; root < size; root++) {
        memset(x, rank == root ? 'a' + root : 0, BYTES);
        memset(y, 'a' + root, BYTES);
        RANK_OK(coll_broadcast(g, root, x, BYTES));
        RANK_CHECK(memcmp(x, y, BYTES) == 0);
    }
}

static void store(coll_group *g, int rank, int size) {
    char key[16], *value;
    size_t n;
    char *large = malloc(65536);
    memset(large, 'a' + rank, 65536);
    snprintf(key, sizeof key, "k%d", rank);
    RANK_OK(coll_put(g, key, 2, large, 65536));
    for (int r = 0; r < size; r++) {
        snprintf(key, sizeof key, "k%d", r);
        RANK_OK(coll_get(g, key, 2, 60000, &value, &n));
        RANK_CHECK(n == 65536 && value[0] == 'a' + r && value[65535] == 'a' + r);
        base_free(value);
    }
    xt_status st = coll_get(g, "none", 4, 30, &value, &n);
    RANK_CHECK(xt_status_code(st) == XT_DEADLINE_EXCEEDED);
    xt_status_free(st);
    free(large);
}

/* More than the memory that a host's ranks share has room for. */
static void more_than_fits(coll_group *g, int rank, int size) {
    enum { EACH = 40 };
    char key[16], *value;
    size_t n;
    char *large = malloc(65536);
    for (int i = 0; i < EACH; i++) {
        memset(large, 'a' + (rank + i) % 20, 65536);
        int len = snprintf(key, sizeof key, "m%d/%d", rank, i);
        RANK_OK(coll_put(g, key, (size_t)len, large, 65536));
    }
    for (int i = 0; i < EACH * size; i++) {
        int r = i % size, k = i / size, len = snprintf(key, sizeof key, "m%d/%d", r, k);
        RANK_OK(coll_get(g, key, (size_t)len, 60000, &value, &n));
        RANK_CHECK(n == 65536 && value[0] == 'a' + (r + k) % 20 && value[65535] == value[0]);
        base_free(value);
    }
    free(large);
}

static int rank_main(const char *what) {
    coll_group *g;
    RANK_OK(coll_run_group(&g));
    int rank = coll_rank(g), size = coll_size(g);
    coll_note(g, rank == 1 ? "slow.c:12" : "fast.c:3");
    if (strcmp(what, "all") == 0) {
        values(g, rank, size);
        moves(g, rank, size);
        store(g, rank, size);
        RANK_OK(coll_barrier(g, 60, "the end"));
        return 0;
    }
    if (strcmp(what, "hosts") == 0) {
        values(g, rank, size);
        store(g, rank, size);
        more_than_fits(g, rank, size);
        moves(g, rank, size);
        reductions(g, rank, size);
        started(g, rank, size);
        unattended(g, rank, size);
        roots(g, rank, size);
        RANK_OK(coll_barrier(g, 60, "the end"));
        return 0;
    }
    RANK_OK(coll_barrier(g, 60, "the start"));
    if (strcmp(what, "skip") == 0) { /* rank 1 does not call the all_reduce */
        float x = 1;
        if (rank == 1) return sleep(60), 0;
        setenv("XT_TIMEOUT", "2", 1); /* not earlier: on a loaded machine joining takes longer */
        xt_status st = coll_all_reduce(g, COLL_SUM, XT_F32, &x, 1);
        fprintf(stderr, "rank %d: %s\n", rank, xt_status_message(st));
        return 5; /* which ends rank 1 */
    }
    if (strcmp(what, "differ") == 0) { /* the last rank, which is on another host */
        float x[4] = {0};
        xt_status st =
            rank == size - 1 ? coll_all_reduce(g, COLL_MAX, XT_F32, x, 4) : coll_all_reduce(g, COLL_SUM, XT_F32, x, 3);
        fprintf(stderr, "rank %d: %s\n", rank, xt_status_message(st));
        usleep(500000);
        return 5;
    }
    if (rank == 1) { /* comes when the others have given up, which ends any wait */
        char *value;
        size_t n;
        xt_status_free(coll_get(g, "never", 5, 60000, &value, &n));
    }
    xt_status st = coll_barrier(g, 0.3, "xt_barrier");
    fprintf(stderr, "rank %d: %s\n", rank, xt_status_message(st));
    RANK_CHECK(st);
    if (rank != 1) usleep(900000); /* mpirun ends the others at the first exit; rank 1 is to speak too */
    return strcmp(what, "late") == 0 ? 0 : 6;
}

/* --- under cmocka --- */

static int run_mpi_of(int ranks, const char *env, const char *what, char *text, size_t n) {
    char command[1024];
    /* Open MPI's components leave memory behind and are unloaded, so that no suppression can name them. */
    snprintf(command, sizeof command,
             "ASAN_OPTIONS=detect_leaks=0 %s timeout 120 mpirun --allow-run-as-root --oversubscribe -np %d %s %s 2>&1",
             env, ranks, self, what);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    text[fread(text, 1, n - 1, p)] = 0;
    int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

static int run_mpi(const char *env, const char *what, char *text, size_t n) {
    return run_mpi_of(3, env, what, text, n);
}

static void collectives_over_mpi(void **state) {
    (void)state;
    char text[16384];
    int code = run_mpi("XT_RENDEZVOUS=mpi:test", "all", text, sizeof text);
    if (code) fail_msg("exit %d: %s", code, text);
}

/* Without a rendezvous the ranks of one host find each other's shared memory by the job's variables. */
static void shared_memory_under_mpirun(void **state) {
    (void)state;
    char text[16384];
    int code = run_mpi("", "all", text, sizeof text);
    if (code) fail_msg("exit %d: %s", code, text);
}

static void barrier_names_the_missing(void **state) {
    (void)state;
    char text[16384];
    /* mpirun has its own word about ranks that end without finalising */
    run_mpi("XT_RENDEZVOUS=mpi:test", "late", text, sizeof text);
    /* Each of those who wait says so, or hears of it from whoever gave up first, which may be the late rank itself. */
    bool one = false;
    for (int r = 0; r < 3; r += 2) {
        char line[80];
        snprintf(line, sizeof line, "rank %d: xt_barrier: did not come: rank 1, last seen at slow.c:12", r);
        bool alone = strstr(text, line), told = false;
        for (int from = 0; from < 3; from++) {
            snprintf(line, sizeof line, "rank %d: rank %d has given up: xt_barrier: did not come: rank 1", r, from);
            told |= strstr(text, line) != NULL;
        }
        if (!alone && !told) fail_msg("%s", text);
        one |= alone;
    }
    if (!one) fail_msg("%s", text);
    if (!strstr(text, "rank 1: ")) fail_msg("%s", text);
}

static void collectives_name_the_missing(void **state) {
    (void)state;
    char text[16384];
    run_mpi("XT_RENDEZVOUS=mpi:test", "skip", text, sizeof text);
    const char *found = strstr(
        text, "waits in all_reduce (fast.c:3): did not come: rank 1, last seen at slow.c:12; waiting too: rank ");
    if (!found || !strstr(found, " in fast.c:3; a larger limit is set by XT_TIMEOUT")) fail_msg("%s", text);
}

/* Ranks that share memory in several ways, as if they were on several hosts: hosts of one size, of different sizes, of
 * ranks that do not follow each other, and none that is shared. */
static void by_hosts(void **state) {
    (void)state;
    static const struct {
        int ranks;
        const char *hosts;
    } rows[] = {{4, "0,0,1,1"}, {5, "0,1,0,1,1"}, {4, "0,0,0,1"}, {5, "0,1,2,3,3"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[16384], env[80];
        snprintf(env, sizeof env, "XT_RENDEZVOUS=mpi:test XT_RANK_HOSTS=%s", rows[i].hosts);
        int code = run_mpi_of(rows[i].ranks, env, "hosts", text, sizeof text);
        if (code) fail_msg("hosts %s: exit %d: %s", rows[i].hosts, code, text);
    }
}

/* Nobody's bytes are taken for another's, between hosts as inside one. */
static void differing_calls_are_named(void **state) {
    (void)state;
    char text[16384];
    run_mpi_of(3, "XT_RENDEZVOUS=mpi:test XT_RANK_HOSTS=0,0,1", "differ", text, sizeof text);
    if (!strstr(text,
                "the ranks make different collective calls: rank 0 calls all_reduce(sum) of f32, 12 bytes, rank 2 "
                "calls all_reduce(max) of f32, 16 bytes"))
        fail_msg("%s", text);
}

/* On another host: by those who wait on this one. */
static void missing_on_another_host(void **state) {
    (void)state;
    char text[16384];
    run_mpi_of(4, "XT_RENDEZVOUS=mpi:test XT_RANK_HOSTS=1,0,1,0", "skip", text, sizeof text);
    const char *found = strstr(
        text, "waits in all_reduce (fast.c:3): did not come: rank 1, last seen at slow.c:12; waiting too: rank ");
    if (!found || !strstr(found, " in fast.c:3; a larger limit is set by XT_TIMEOUT")) fail_msg("%s", text);
    run_mpi_of(4, "XT_RENDEZVOUS=mpi:test XT_RANK_HOSTS=1,0,1,0", "late", text, sizeof text);
    if (!strstr(text,
                "xt_barrier: did not come: rank 1, last seen at slow.c:12; waiting: rank 0 in fast.c:3; rank 2 in "
                "fast.c:3; rank 3 in fast.c:3"))
        fail_msg("%s", text);
}

/* A failed rank must not wait in MPI_Finalize; mpirun then ends the others. */
static void failing_ranks_end(void **state) {
    (void)state;
    char text[16384];
    int code = run_mpi("XT_RENDEZVOUS=mpi:test", "fail", text, sizeof text); /* its time limit would give 124 */
    if (code != 6) fail_msg("exit %d: %s", code, text);
}

int main(int argc, char **argv) {
    if (argc > 1) return rank_main(argv[1]);
    self = argv[0];
    if (system("command -v mpirun >/dev/null") != 0) {
        printf("no mpirun here: openmpi-bin\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_over_mpi),      cmocka_unit_test(shared_memory_under_mpirun),
        cmocka_unit_test(barrier_names_the_missing), cmocka_unit_test(collectives_name_the_missing),
        cmocka_unit_test(failing_ranks_end),         cmocka_unit_test(by_hosts),
        cmocka_unit_test(differing_calls_are_named), cmocka_unit_test(missing_on_another_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
