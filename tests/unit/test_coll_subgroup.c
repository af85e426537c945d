/* Groups of some ranks: every collective against a reference, rows and columns of a grid at once, groups that
 * others do not wait for, and what is said when a member does not come, dies, or gives up elsewhere. The same under
 * mpirun over MPI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "patience.h"
#include "ranks.h"

static const char *self;

static float value_of(int rank, size_t i) {
    return (float)((i * 31 + (size_t)rank * 17) % 1001) * 0.1f;
}

/* Sums are in the order of the members; over MPI in one that their hosts decide. */
static bool is_sum(float x, float want) {
    const char *name = getenv("XT_RENDEZVOUS");
    bool near = name && strncmp(name, "mpi:", 4) == 0;
    return near ? x > want - 1e-3f && x < want + 1e-3f : x == want;
}

/* One of each kind among `members`, of whom this rank is number `place`. */
static void each_kind(coll_group *g, const int *members, int n, int place, size_t count) {
    coll_group *sub;
    size_t all = count * (size_t)n;
    float *x = malloc((all + 1) * sizeof *x), *y = malloc((all + 1) * sizeof *y);
    int rank = members[place];
    RANK_OK(coll_subgroup(g, members, n, &sub));
    RANK_CHECK(coll_rank(sub) == place && coll_size(sub) == n);
    for (size_t i = 0; i < count; i++) x[i] = value_of(rank, i);
    RANK_OK(coll_all_reduce(sub, COLL_SUM, XT_F32, x, count));
    for (size_t i = 0; i < count; i++) {
        float want = value_of(members[0], i);
        for (int k = 1; k < n; k++) want += value_of(members[k], i);
        RANK_CHECK(is_sum(x[i], want));
    }
    for (size_t i = 0; i < all; i++) x[i] = value_of(rank, i);
    RANK_OK(coll_reduce_scatter(sub, COLL_SUM, XT_F32, x, count, y));
    for (size_t i = 0; i < count; i++) {
        float want = value_of(members[0], (size_t)place * count + i);
        for (int k = 1; k < n; k++) want += value_of(members[k], (size_t)place * count + i);
        RANK_CHECK(is_sum(y[i], want));
    }
    RANK_OK(coll_all_to_all(sub, x, count * sizeof *x, y));
    for (size_t i = 0; i < all; i++)
        RANK_CHECK(y[i] == value_of(members[i / count], (size_t)place * count + i % count));
    RANK_OK(coll_all_gather(sub, x, count * sizeof *x, y));
    for (size_t i = 0; i < all; i++) RANK_CHECK(y[i] == value_of(members[i / count], i % count));
    RANK_OK(coll_permute(sub, (place + 1) % n, (place + n - 1) % n, x, count * sizeof *x, y));
    for (size_t i = 0; i < count; i++) RANK_CHECK(y[i] == value_of(members[(place + n - 1) % n], i));
    y[0] = -1;
    RANK_OK(coll_permute(sub, place == 0 ? n - 1 : -1, place == n - 1 ? 0 : -1, x, count * sizeof *x, y));
    RANK_CHECK(!count || y[0] == (place == n - 1 ? value_of(members[0], 0) : -1));
    RANK_OK(coll_broadcast(sub, n - 1, x, count * sizeof *x));
    for (size_t i = 0; i < count; i++) RANK_CHECK(x[i] == value_of(members[n - 1], i));
    RANK_OK(coll_barrier(sub, 60, "the end of a group"));
    free(x);
    free(y);
}

/* The ranks as a grid of `rows` rows: its rows, its columns, both again backwards, and all. */
static void grid(coll_group *g, int rank, int size, int rows) {
    static const size_t counts[] = {0, 1, 1000, 300007}; /* the last is more than one chunk */
    int cols = size / rows, row[16], col[16], back[16], all[16], me_row = rank / cols, me_col = rank % cols;
    for (int i = 0; i < cols; i++) row[i] = me_row * cols + i, back[cols - 1 - i] = row[i];
    for (int i = 0; i < rows; i++) col[i] = i * cols + me_col;
    for (int i = 0; i < size; i++) all[i] = i;
    for (size_t c = 0; c < BASE_COUNT(counts); c++) {
        for (int again = 0; again < 2; again++) {
            each_kind(g, row, cols, me_col, counts[c]);
            each_kind(g, col, rows, me_row, counts[c]);
        }
        each_kind(g, back, cols, cols - 1 - me_col, counts[c]);
        each_kind(g, all, size, rank, counts[c]);
        int one = 1;
        RANK_OK(coll_all_reduce(g, COLL_SUM, XT_I32, &one, 1)); /* the whole group between */
        RANK_CHECK(one == size);
    }
}

static void grid_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    grid(g, rank, size, size / 2);
    RANK_OK(coll_barrier(g, 100, "the end"));
    coll_close(g);
}

static void rows_and_columns(void **state) {
    (void)state;
    for (int size = 4; size <= 6; size += 2) {
        int codes[6];
        run_ranks(size, grid_body, NULL, codes);
        for (int r = 0; r < size; r++) assert_int_equal(codes[r], 0);
    }
}

/* Ranks 0 and 2 work among themselves; 1 and 3 do nothing but read what 0 says at its end. Were they needed, nobody
 * would get there. */
static void others_body(const char *name, int rank, int size, void *arg) {
    coll_group *g, *sub;
    char *value;
    size_t n;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    if (rank % 2 == 0) {
        RANK_OK(coll_subgroup(g, (int[]){0, 2}, 2, &sub));
        for (int i = 0; i < 200; i++) {
            int64_t x = rank + i;
            RANK_OK(coll_all_reduce(sub, COLL_SUM, XT_I64, &x, 1));
            RANK_CHECK(x == 2 + 2 * i);
        }
        if (rank == 0) RANK_OK(coll_put(g, "done", 4, "", 0));
    }
    RANK_OK(coll_get(g, "done", 4, 100000, &value, &n));
    base_free(value);
    RANK_OK(coll_barrier(g, 100, "the end"));
    coll_close(g);
}

static void others_are_not_waited_for(void **state) {
    (void)state;
    int codes[4];
    run_ranks(4, others_body, NULL, codes);
    for (int r = 0; r < 4; r++) assert_int_equal(codes[r], 0);
}

/* What was started on the whole group is finished first: nobody waits in a group for a rank that waits
 * for the start. */
static void started_body(const char *name, int rank, int size, void *arg) {
    coll_group *g, *sub;
    enum { N = 200000 };
    static float x[N];
    coll_job job;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    RANK_OK(coll_subgroup(g, rank < 2 ? (int[]){0, 1} : (int[]){2, 3}, 2, &sub));
    for (int i = 0; i < N; i++) x[i] = (float)rank;
    RANK_OK(coll_start(g, COLL_SUM, XT_F32, x, N, &job));
    int y = 1;
    if (rank == 3) RANK_OK(coll_finish(g, &job));
    RANK_OK(coll_all_reduce(sub, COLL_SUM, XT_I32, &y, 1));
    RANK_OK(coll_finish(g, &job));
    RANK_CHECK(y == 2 && x[0] == 6 && x[N - 1] == 6);
    RANK_OK(coll_barrier(g, 100, "the end"));
    coll_close(g);
}

static void started_before_groups(void **state) {
    (void)state;
    int codes[4];
    run_ranks(4, started_body, NULL, codes);
    for (int r = 0; r < 4; r++) assert_int_equal(codes[r], 0);
}

typedef enum trouble { SKIPS, DIES, DIES_FIRST, OTHER_CALL, GIVES_UP, NEVER_COMES } trouble;

/* The others' group is open: whoever is still at the start of the run when a rank gives up is told of that, as
 * he should be. */
static void others_are_in(coll_group *g) {
    for (int r = 0; r < 4; r += 2) {
        char key[2] = {'i', (char)('0' + r)}, *value = NULL;
        size_t n;
        RANK_OK(coll_get(g, key, sizeof key, 60000, &value, &n));
        base_free(value);
    }
}

/* Rank 3 of the group {1, 3} is the trouble; ranks 0 and 2 have a group of their own and must be left alone. */
static void trouble_body(const char *name, int rank, int size, void *arg) {
    coll_group *g, *sub;
    trouble what = *(trouble *)arg;
    float x[4] = {1};
    RANK_OK(coll_open(name, rank, size, 100, &g));
    if (what != NEVER_COMES) coll_note(g, rank == 3 ? "late.c:33" : "early.c:11");
    RANK_OK(coll_barrier(g, 100, "the start"));
    if (rank % 2 == 0) { /* their group works on */
        RANK_OK(coll_subgroup(g, (int[]){0, 2}, 2, &sub));
        RANK_OK(coll_put(g, (char[]){'i', (char)('0' + rank)}, 2, "", 0));
        for (int i = 0; i < 20; i++) RANK_OK(coll_all_reduce(sub, COLL_SUM, XT_F32, x, 4));
        _exit(0);
    }
    others_are_in(g);
    if (rank == 3 && what == DIES_FIRST) raise(SIGKILL);
    if (rank == 3 && what == GIVES_UP) {
        xt_status st = coll_barrier(g, 0.2, "xt_barrier at late.c:40");
        RANK_CHECK(st);
        _exit(0);
    }
    if (what == SKIPS || what == DIES || what == OTHER_CALL) RANK_OK(coll_subgroup(g, (int[]){1, 3}, 2, &sub));
    if (what == SKIPS || what == NEVER_COMES) setenv("XT_TIMEOUT", "2", 1);
    if (rank == 3 && what == NEVER_COMES) sleep(4), _exit(0);
    if (rank == 3 && what == DIES) raise(SIGKILL);
    if (rank == 3 && what == SKIPS) sleep(4), _exit(0);
    xt_status st =
        what == DIES_FIRST || what == GIVES_UP || what == NEVER_COMES ? coll_subgroup(g, (int[]){1, 3}, 2, &sub) : NULL;
    if (!st) st = rank == 3 ? coll_all_gather(sub, x, 4, (char[32]){0}) : coll_all_reduce(sub, COLL_SUM, XT_F32, x, 4);
    const char *text = xt_status_message(st);
    RANK_CHECK(st);
    static const char *const want[] = {[SKIPS] = "did not come: rank 3 (pid ",
                                       [DIES] = "has ended while rank 1 waits",
                                       [DIES_FIRST] = "has ended while rank 1 waits",
                                       [OTHER_CALL] = " calls all_gather",
                                       [GIVES_UP] = "has given up while",
                                       [NEVER_COMES] = "did not come: rank 3 (pid "};
    /* it has joined the run, whatever it says of itself */
    if (!strstr(text, want[what]) || !strstr(text, what == NEVER_COMES ? "not come to their group" : "late.c:33") ||
        strstr(text, "not joined the run") || strstr(text, "the start of the run")) {
        fprintf(stderr, "rank %d: %s\n", rank, text);
        _exit(97);
    }
    xt_status_free(st);
    st = coll_barrier(g, 1, "xt_barrier"); /* a failure in a group is one of the run */
    RANK_CHECK(st && strstr(xt_status_message(st), "failed before"));
    xt_status_free(st);
    coll_close(g);
}

static void members_in_trouble(void **state) {
    (void)state;
    for (trouble what = SKIPS; what <= NEVER_COMES; what++) {
        int codes[4];
        run_ranks(4, trouble_body, &what, codes);
        assert_int_equal(codes[0], 0);
        assert_int_equal(codes[2], 0);
        assert_int_equal(codes[1], 0);
        assert_true(codes[3] == 0 || what == DIES || what == DIES_FIRST);
    }
}

/* --- over MPI --- */
static int rank_main(const char *what) {
    coll_group *g, *sub;
    RANK_OK(coll_run_group(&g));
    int rank = coll_rank(g);
    if (strcmp(what, "grid") == 0) {
        grid(g, rank, coll_size(g), 2);
    } else if (rank % 2 == 0) { /* rank 2 does not come */
        float x = 1;
        coll_note(g, rank == 2 ? "late.c:33" : "early.c:11");
        RANK_OK(coll_subgroup(g, (int[]){0, 2}, 2, &sub));
        RANK_OK(coll_all_reduce(sub, COLL_SUM, XT_F32, &x, 1));
        if (rank == 2) return sleep(60), 0;
        setenv("XT_TIMEOUT", "2", 1); /* not earlier: on a loaded machine joining takes longer */
        xt_status st = coll_all_reduce(sub, COLL_SUM, XT_F32, &x, 1);
        fprintf(stderr, "rank %d: %s\n", rank, xt_status_message(st));
        return 5;
    } else {
        sleep(60); /* rank 0's exit code ends it */
        return 0;
    }
    RANK_OK(coll_barrier(g, 60, "the end"));
    return 0;
}

static int run_mpi(const char *env, const char *what, char *text, size_t n) {
    char command[1024];
    snprintf(command, sizeof command,
             "ASAN_OPTIONS=detect_leaks=0 %s timeout 120 mpirun --allow-run-as-root --oversubscribe -np 4 %s %s 2>&1",
             env, self, what);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    text[fread(text, 1, n - 1, p)] = 0;
    int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

static void grid_over_mpi(void **state) {
    (void)state;
    char text[16384];
    /* MPI alone; by hosts, whose ranks follow each other or do not; shared memory found by a word */
    static const char *const envs[] = {"XT_RENDEZVOUS=mpi:subgroup", "XT_RENDEZVOUS=mpi:subgroup XT_RANK_HOSTS=0,0,1,1",
                                       "XT_RENDEZVOUS=mpi:subgroup XT_RANK_HOSTS=0,1,1,1", ""};
    for (size_t i = 0; i < BASE_COUNT(envs); i++) {
        int code = run_mpi(envs[i], "grid", text, sizeof text);
        if (code) fail_msg("exit %d: %s", code, text);
    }
}

static void missing_over_mpi(void **state) {
    (void)state;
    char text[16384];
    run_mpi("XT_RENDEZVOUS=mpi:subgroup", "skip", text, sizeof text);
    if (!strstr(text, "rank 0: rank 0 waits in all_reduce (early.c:11): did not come: rank 2, last seen at late.c:33"))
        fail_msg("%s", text);
}

int main(int argc, char **argv) {
    self = argv[0];
    if (argc > 1) return rank_main(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_columns),
        cmocka_unit_test(others_are_not_waited_for),
        cmocka_unit_test(started_before_groups),
        cmocka_unit_test(members_in_trouble),
    };
    const struct CMUnitTest mpi_tests[] = {cmocka_unit_test(grid_over_mpi), cmocka_unit_test(missing_over_mpi)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (system("command -v mpirun >/dev/null") != 0) {
        printf("skip its tests over MPI: no mpirun here (openmpi-bin)\n");
        return failed;
    }
    return failed + cmocka_run_group_tests(mpi_tests, NULL, NULL);
}
