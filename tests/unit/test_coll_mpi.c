/* The MPI transport, with all ranks on this host: the program starts itself under mpirun, once per case, and looks at
 * exit code and text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ranks.h"

static const char *self;

/* --- in the ranks --- */

static void values(coll_group *g, int rank, int size) {
    static const size_t counts[] = {0, 1, 7, 1000, 1048576 + 13}; /* the last is more than one chunk of 4 MiB */
    for (size_t c = 0; c < BASE_COUNT(counts); c++) {
        size_t n = counts[c];
        float *x = malloc(n * 4 + 4);
        for (size_t i = 0; i < n; i++) x[i] = (float)((i * 31 + (size_t)rank * 17) % 1001) * 0.1f;
        RANK_OK(coll_all_reduce(g, COLL_SUM, XT_F32, x, n));
        for (size_t i = 0; i < n; i++) {
            float want = (float)((i * 31) % 1001) * 0.1f; /* in rank order, as f32 */
            for (int r = 1; r < size; r++) want += (float)((i * 31 + (size_t)r * 17) % 1001) * 0.1f;
            RANK_CHECK(x[i] == want);
        }
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
    RANK_OK(coll_barrier(g, 60, "the start"));
    if (strcmp(what, "skip") == 0) { /* rank 1 does not call the all_reduce */
        float x = 1;
        if (rank == 1) return sleep(60), 0;
        setenv("XT_TIMEOUT", "2", 1); /* not earlier: on a loaded machine joining takes longer */
        xt_status st = coll_all_reduce(g, COLL_SUM, XT_F32, &x, 1);
        fprintf(stderr, "rank %d: %s\n", rank, xt_status_message(st));
        return 5; /* which ends rank 1 */
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

static int run_mpi(const char *env, const char *what, char *text, size_t n) {
    char command[1024];
    /* Open MPI's components leave memory behind and are unloaded, so that no suppression can name them. */
    snprintf(command, sizeof command,
             "ASAN_OPTIONS=detect_leaks=0 %s timeout 120 mpirun --allow-run-as-root --oversubscribe -np 3 %s %s 2>&1",
             env, self, what);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    text[fread(text, 1, n - 1, p)] = 0;
    int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
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
    if (!strstr(text, "rank 0: xt_barrier: did not come: rank 1, last seen at slow.c:12")) fail_msg("%s", text);
    /* or it hears of it from whoever gave up first, which may be the late rank itself */
    bool alone = strstr(text, "rank 2: xt_barrier: did not come: rank 1"), told = false;
    for (int r = 0; r < 2; r++) {
        char line[80];
        snprintf(line, sizeof line, "rank 2: rank %d has given up: xt_barrier: did not come: rank 1", r);
        told |= strstr(text, line) != NULL;
    }
    if (!alone && !told) fail_msg("%s", text);
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
        cmocka_unit_test(failing_ranks_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
