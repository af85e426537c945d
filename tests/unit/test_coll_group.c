/* Rendezvous, key-value store, barriers with time limits, dead and departed ranks, agreed words, and that nothing is
 * left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <time.h>

#include "coll/open.h"
#include "coll/shm/segment.h"
#include "patience.h"
#include "ranks.h"

static int shm_files(const char *part) {
    DIR *d = opendir("/dev/shm");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += strstr(e->d_name, part) != NULL;
    if (d) closedir(d);
    return n;
}

static void kv_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    char key[32], *value;
    size_t n;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    if (rank == 0) {
        char *large = malloc(65536);
        memset(large, 'x', 65536);
        RANK_OK(coll_put(g, "large", 5, large, 65536));
        RANK_OK(coll_put(g, "empty", 5, NULL, 0));
        RANK_OK(coll_put(g, "key\0with zero", 13, "v", 1));
        RANK_OK(coll_put(g, "again", 5, "1", 1));
        RANK_OK(coll_put(g, "again", 5, "22", 2));
        RANK_OK(coll_put(g, "again", 5, "33", 2));
        usleep(20000); /* the others wait for the last one */
        RANK_OK(coll_put(g, "last", 4, "z", 1));
        free(large);
    }
    RANK_OK(coll_get(g, "last", 4, 100000, &value, &n));
    RANK_CHECK(n == 1 && value[0] == 'z');
    base_free(value);
    RANK_OK(coll_get(g, "large", 5, 0, &value, &n));
    RANK_CHECK(n == 65536 && value[65535] == 'x' && value[65536] == 0);
    base_free(value);
    RANK_OK(coll_get(g, "empty", 5, 0, &value, &n));
    RANK_CHECK(n == 0);
    base_free(value);
    RANK_OK(coll_get(g, "key\0with zero", 13, 0, &value, &n));
    RANK_CHECK(n == 1 && value[0] == 'v');
    base_free(value);
    RANK_OK(coll_get(g, "again", 5, 0, &value, &n));
    RANK_CHECK(n == 2 && value[0] == '3');
    base_free(value);
    for (int i = 0; i < 200; i++) { /* all write at once; all read each other's */
        int len = snprintf(key, sizeof key, "%d/%d", rank, i);
        RANK_OK(coll_put(g, key, (size_t)len, key, (size_t)len));
    }
    for (int i = 0; i < 200; i += 17) {
        int len = snprintf(key, sizeof key, "%d/%d", (rank + 1) % size, i);
        RANK_OK(coll_get(g, key, (size_t)len, 100000, &value, &n));
        RANK_CHECK((int)n == len && memcmp(value, key, n) == 0);
        base_free(value);
    }
    RANK_OK(coll_barrier(g, 100, "the end"));
    xt_status st = coll_get(g, "never", 5, 50, &value, &n);
    RANK_CHECK(xt_status_code(st) == XT_DEADLINE_EXCEEDED && strstr(xt_status_message(st), "'never'"));
    xt_status_free(st);
    st = coll_put(g, "k", 1, NULL, 65537);
    RANK_CHECK(xt_status_code(st) == XT_INVALID_ARGUMENT);
    xt_status_free(st);
    RANK_OK(coll_barrier(g, 100, "the end"));
    coll_close(g);
}

static void key_value_store(void **state) {
    (void)state;
    int codes[3];
    run_ranks(3, kv_body, NULL, codes);
    for (int r = 0; r < 3; r++) assert_int_equal(codes[r], 0);
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Puts keys first to last, then reads them all. */
static double put_and_get(coll_group *g, int first, int last) {
    char key[32], *value;
    size_t n;
    double began = cpu_seconds();
    for (int pass = 0; pass < 2; pass++)
        for (int i = first; i < last; i++) {
            int len = snprintf(key, sizeof key, "key %d", i);
            if (pass == 0) {
                assert_null(coll_put(g, key, (size_t)len, (char *)&i, sizeof i));
                continue;
            }
            assert_null(coll_get(g, key, (size_t)len, 0, &value, &n));
            assert_true(n == sizeof i && memcmp(value, &i, n) == 0);
            base_free(value);
        }
    return cpu_seconds() - began;
}

/* A key is found among many as among few: keys whose hashes share a chain too. A list of all keys would take some 25
 * times as long for the second half as for the first tenth. */
static void many_keys(void **state) {
    coll_group *g;
    (void)state;
    assert_null(coll_open(NULL, 0, 1, 10, &g));
    double few = put_and_get(g, 0, 2000), more = put_and_get(g, 2000, 38000), many = put_and_get(g, 38000, 40000);
    print_message("2000 keys: the first %.1f ms, the last %.1f ms\n", few * 1e3, many * 1e3);
    assert_true(more > 0 && many < 8 * few);
    coll_close(g);
}

/* Whoever waits for a value hears at once when another rank has given up: no sleep is long enough on a
 * loaded machine. */
static void until_others_give_up(coll_group *g) {
    char *value;
    size_t n;
    xt_status st = coll_get(g, "never", 5, 100000, &value, &n);
    RANK_CHECK(st && strstr(xt_status_message(st), "given up"));
    xt_status_free(st);
}

static void late_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    coll_note(g, rank == 1 ? "slow.c:12 reading" : "fast.c:9 xt_barrier");
    RANK_OK(coll_barrier(g, 100, "the start"));
    if (rank == 1) until_others_give_up(g);
    double began = monotonic_now();
    xt_status st = coll_barrier(g, 0.3, "xt_barrier");
    double took = monotonic_now() - began;
    const char *text = xt_status_message(st);
    if (rank == 1) { /* comes to a group that has given up, and hears why at once */
        RANK_CHECK(st && strstr(text, "given up") && strstr(text, "did not come"));
    } else {
        RANK_CHECK(xt_status_code(st) == XT_DEADLINE_EXCEEDED && strstr(text, "rank 1 (pid ") &&
                   strstr(text, "slow.c:12 reading"));
        RANK_CHECK(strstr(text, "fast.c:9") && took > 0.25);
    }
    RANK_CHECK(took < patience(1.5));
    xt_status_free(st);
    coll_close(g);
}

static void barrier_names_the_missing(void **state) {
    (void)state;
    int codes[2];
    run_ranks(2, late_body, NULL, codes);
    assert_int_equal(codes[0], 0);
    assert_int_equal(codes[1], 0);
}

static void dying_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    coll_note(g, rank == 2 ? "dying.c:5 step" : "x.c:1");
    if (rank == 2) {
        usleep(50000); /* the others are asleep in the barrier by then */
        if (arg) coll_close(g), _exit(0);
        raise(SIGKILL);
    }
    double began = monotonic_now();
    xt_status st = coll_barrier(g, 30, "xt_barrier");
    double took = monotonic_now() - began;
    const char *text = xt_status_message(st);
    RANK_CHECK(st && strstr(text, "rank 2 (pid ") && strstr(text, "dying.c:5 step") &&
               strstr(text, arg ? "has left" : "has ended"));
    RANK_CHECK(took < patience(1.2));
    _exit(0);
}

static void a_dead_rank_is_noticed(void **state) {
    (void)state;
    int codes[3];
    run_ranks(3, dying_body, NULL, codes);
    assert_int_equal(codes[0], 0);
    assert_int_equal(codes[1], 0);
    assert_int_equal(codes[2], 1000 + SIGKILL);
}

static void a_departed_rank_is_noticed(void **state) {
    (void)state;
    int codes[3];
    run_ranks(3, dying_body, "closes", codes);
    for (int r = 0; r < 3; r++) assert_int_equal(codes[r], 0);
}

static void word_body(const char *word, int rank, int size, void *arg) {
    coll_group *g;
    int sum = rank + 1;
    (void)arg;
    if (rank) usleep(20000);
    RANK_OK(coll_open(word, rank, size, 100, &g));
    RANK_CHECK(shm_files(word) == 0); /* gone as soon as all are in */
    RANK_OK(coll_all_reduce(g, COLL_SUM, XT_I32, &sum, 1));
    RANK_CHECK(sum == size * (size + 1) / 2);
    char *sub;
    coll_group *other;
    RANK_OK(coll_derive_name(word, "plugin", &sub));
    RANK_OK(coll_open(sub, rank, size, 100, &other));
    RANK_OK(coll_barrier(other, 100, NULL));
    coll_close(other);
    base_free(sub);
    coll_close(g);
}

static void run_word(const char *word, int size, rank_body body, int *codes) {
    pid_t pids[8];
    for (int r = 0; r < size; r++) pids[r] = start_rank(word, r, size, body, NULL);
    for (int r = 0; r < size; r++) {
        int status;
        waitpid(pids[r], &status, 0);
        codes[r] = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
}

static void stuck_body(const char *word, int rank, int size, void *arg) {
    coll_group *g;
    (void)arg;
    RANK_OK(coll_open(word, rank, size, 100, &g));
}

/* A killed run leaves its file when not all had joined; the next run with that word takes over. */
static void agreed_words(void **state) {
    (void)state;
    char word[48];
    int codes[3], status;
    snprintf(word, sizeof word, "test-word-%d", (int)getpid());
    run_word(word, 3, word_body, codes);
    for (int r = 0; r < 3; r++) assert_int_equal(codes[r], 0);
    assert_int_equal(shm_files(word), 0);

    pid_t alone = start_rank(word, 0, 3, stuck_body, NULL);
    for (int i = 0; i < 6000 && !shm_files(word); i++) usleep(10000);
    kill(alone, SIGKILL);
    waitpid(alone, &status, 0);
    assert_int_equal(shm_files(word), 1);
    run_word(word, 3, word_body, codes);
    for (int r = 0; r < 3; r++) assert_int_equal(codes[r], 0);
    assert_int_equal(shm_files(word), 0);

    char path[80]; /* killed while it made the file: there is its size, and nothing in it */
    snprintf(path, sizeof path, "/dev/shm/xtrain-%u-%s", (unsigned)geteuid(), word);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, 65536) == 0);
    close(fd);
    run_word(word, 3, word_body, codes);
    for (int r = 0; r < 3; r++) assert_int_equal(codes[r], 0);
    assert_int_equal(shm_files(word), 0);
}

static void derived_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    char *sub;
    (void)arg;
    RANK_OK(coll_derive_name(name, "plugin", &sub));
    RANK_OK(coll_open(sub, rank, size, 100, &g));
    RANK_OK(coll_barrier(g, 100, NULL));
    coll_close(g);
}

static void derived_names(void **state) {
    (void)state;
    int codes[2];
    run_ranks(2, derived_body, NULL, codes);
    assert_int_equal(codes[0] | codes[1], 0);
    assert_int_equal(shm_files("plugin"), 0);
}

/* Files of words that nobody uses again go with whoever starts next, by a word or as a launcher; those of ranks that
 * live stay. */
static void words_of_the_dead_go(void **state) {
    (void)state;
    for (int by_word = 0; by_word < 2; by_word++) {
        char dead[48], living[48], next[48], *made = NULL;
        int codes[2];
        snprintf(dead, sizeof dead, "test-dead-%d-%d", by_word, (int)getpid());
        snprintf(living, sizeof living, "test-living-%d-%d", by_word, (int)getpid());
        snprintf(next, sizeof next, "test-next-%d-%d", by_word, (int)getpid());
        pid_t zombie = start_rank(dead, 0, 3, stuck_body, NULL), alone = start_rank(living, 0, 3, stuck_body, NULL);
        for (int i = 0; i < 6000 && (shm_files(dead) + shm_files(living) < 2); i++) usleep(10000);
        assert_int_equal(shm_files(dead) + shm_files(living), 2);
        usleep(300000); /* behind its slot */
        siginfo_t how;
        kill(zombie, SIGKILL);
        assert_int_equal(waitid(P_PID, (id_t)zombie, &how, WEXITED | WNOWAIT), 0);
        if (by_word)
            run_word(next, 2, word_body, codes);
        else
            assert_null(coll_create(2, &made));
        assert_int_equal(shm_files(dead), 0);
        assert_int_equal(shm_files(living), 1);
        if (made) coll_destroy(made);
        base_free(made);
        kill(alone, SIGKILL);
        waitpid(zombie, NULL, 0);
        waitpid(alone, NULL, 0);
        assert_null(coll_create(2, &made));
        assert_int_equal(shm_files(living), 0);
        coll_destroy(made);
        base_free(made);
    }
}

static void check_refusal(const char *name, int rank, int size, xt_code code, const char *part) {
    coll_group *g = NULL;
    xt_status st = coll_open(name, rank, size, 0.2, &g);
    assert_int_equal(xt_status_code(st), code);
    assert_non_null(strstr(xt_status_message(st), part));
    assert_null(g);
    xt_status_free(st);
}

static void refusals(void **state) {
    (void)state;
    char *name = NULL, *wrong = NULL;
    int64_t before = xt_live_objects("status");
    check_refusal(NULL, 0, 2, XT_INVALID_ARGUMENT, "XT_RENDEZVOUS is empty");
    check_refusal("a/b", 0, 2, XT_INVALID_ARGUMENT, "a word of letters");
    check_refusal("w", 2, 2, XT_INVALID_ARGUMENT, "rank 2 of 2");
    check_refusal("/proc/1/fd/99999:0", 0, 2, XT_UNAVAILABLE, "has the launcher");
    assert_null(coll_create(2, &name));
    check_refusal(name, 0, 3, XT_INVALID_ARGUMENT, "made for 2 ranks");
    wrong = base_strdup(name);
    wrong[strlen(wrong) - 1] ^= 1;
    check_refusal(wrong, 0, 2, XT_UNAVAILABLE, "another program's memory");
    check_refusal(name, 0, 2, XT_DEADLINE_EXCEEDED, "rank 1, which has not joined");
    coll_destroy(name);
    coll_destroy(name);
    check_refusal(name, 1, 2, XT_UNAVAILABLE, "has the launcher");
    base_free(wrong);
    base_free(name);
    assert_int_equal(xt_live_objects("status"), before);
}

static void announced_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    (void)arg;
    if (rank == 1) _exit(3);
    double began = monotonic_now();
    xt_status st = coll_open(name, rank, size, 30, &g);
    double took = monotonic_now() - began;
    RANK_CHECK(st && strstr(xt_status_message(st), "rank 1") && took < patience(2));
    xt_status_free(st);
}

/* The launcher's announcement lets the others notice a rank that dies before it joins. */
static void dead_before_joining(void **state) {
    (void)state;
    char *name = NULL;
    int status;
    assert_null(coll_create(2, &name));
    pid_t a = start_rank(name, 1, 2, announced_body, NULL);
    coll_announce(name, 1, a);
    waitpid(a, &status, 0);
    coll_announce_end(name, 1, NULL);
    pid_t b = start_rank(name, 0, 2, announced_body, NULL);
    waitpid(b, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    coll_destroy(name);
    base_free(name);
}

/* A step wakes those who sleep once, however many come before it is complete: the bell counts. */
enum { ROUNDS = 20 };

static void wakes_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    const segment *s = g->state;
    RANK_OK(coll_barrier(g, 100, "the start"));
    uint32_t before = atomic_load(&s->head->bell);
    for (int i = 0; i < ROUNDS; i++) {
        usleep((unsigned)(rank * 500)); /* they come one after another, and sleep */
        RANK_OK(coll_barrier(g, 100, "a round"));
    }
    uint32_t rung = atomic_load(&s->head->bell) - before;
    if (rung > 2 * ROUNDS) fprintf(stderr, "the bell was rung %u times in %d steps of %d ranks\n", rung, ROUNDS, size);
    RANK_CHECK(rung <= 2 * ROUNDS);
    RANK_OK(coll_barrier(g, 100, "the end"));
    coll_close(g);
}

static void a_step_wakes_once(void **state) {
    (void)state;
    for (int size = 6; size <= 24; size += 18) {
        int codes[24];
        run_ranks(size, wakes_body, NULL, codes);
        for (int r = 0; r < size; r++) assert_int_equal(codes[r], 0);
    }
}

/* In a group so large that calls are compared by a sum. */
static void differs_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    int32_t x[2] = {1, 1};
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    for (int i = 0; i < 3; i++) RANK_OK(coll_all_reduce(g, COLL_SUM, XT_I32, x, 2));
    RANK_CHECK(x[0] == size * size * size);
    xt_status st = coll_all_reduce(g, COLL_SUM, XT_I32, x, rank == 11 ? 1 : 2);
    RANK_CHECK(st);
    const char *text = xt_status_message(st);
    bool named = strstr(text, "the ranks make different collective calls: rank") && strstr(text, "rank 11 calls");
    /* or who found it first has told this one, and given up */
    RANK_CHECK(named || strstr(text, "has given up"));
    if (!named) usleep(200000);
    coll_close(g);
    _exit(named ? 0 : 7);
}

static void differing_calls_of_many(void **state) {
    (void)state;
    int codes[20], named = 0;
    run_ranks(20, differs_body, NULL, codes);
    for (int r = 0; r < 20; r++) {
        assert_true(codes[r] == 0 || codes[r] == 7);
        named += codes[r] == 0;
    }
    assert_true(named > 0);
}

static void a_group_of_one(void **state) {
    (void)state;
    coll_group *g;
    float x = 3;
    char *value, got[2];
    size_t n;
    assert_null(coll_open(NULL, 0, 1, 0, &g));
    assert_null(coll_all_reduce(g, COLL_SUM, XT_F32, &x, 1));
    assert_true(x == 3);
    assert_null(coll_put(g, "k", 1, "v", 1));
    assert_null(coll_get(g, "k", 1, 0, &value, &n));
    assert_int_equal(n, 1);
    base_free(value);
    assert_null(coll_all_gather(g, "ab", 2, got));
    assert_memory_equal(got, "ab", 2);
    assert_null(coll_barrier(g, 1, NULL));
    coll_close(g);
    coll_close(NULL);
}

static xt_status use_everything(void) {
    coll_group *g = NULL;
    char *name = NULL, *sub = NULL, *value = NULL;
    size_t n;
    float x = 1;
    xt_status st = coll_create(1, &name);
    if (!st) st = coll_derive_name(name, "tag", &sub);
    if (!st) st = coll_open(name, 0, 1, 1, &g);
    if (!st) st = coll_put(g, "k", 1, "v", 1);
    if (!st) st = coll_get(g, "k", 1, 0, &value, &n);
    if (!st) st = coll_all_gather(g, "abcd", 4, &x);
    coll_close(g);
    coll_destroy(name);
    base_free(name);
    base_free(sub);
    base_free(value);
    return st;
}

/* Whichever allocation fails, the answer is a status; the next try works. */
static void without_memory(void **state) {
    (void)state;
    int failures = 0;
    for (int n = 1; n < 40; n++) {
        base_fail_alloc_after(n);
        xt_status st = use_everything();
        base_fail_alloc_after(-1);
        failures += st != NULL;
        xt_status_free(st);
    }
    assert_in_range(failures, 4, 30);
    assert_null(use_everything());
}

/* The table of transports: the name and the number of ranks decide, and what a row makes or names it also serves. */
static void each_name_has_its_transport(void **state) {
    (void)state;
    const coll_transport *alone = transport_for("any-word", 1), *mpi = transport_for("mpi:run", 2),
                         *shm = transport_for("any-word", 2);
    assert_ptr_equal(transport_for(NULL, 1), alone);
    assert_ptr_equal(transport_for("mpi:run", 1), alone);
    assert_ptr_equal(transport_for("/proc/1/fd/3:77", 2), shm);
    assert_ptr_equal(transport_for("mpi-like-word", 0), shm);
    assert_ptr_not_equal(mpi, shm);
    assert_ptr_not_equal(alone, shm);
    assert_true(mpi->across_hosts);
    assert_false(shm->across_hosts);
    for (int far = 0; far < 2; far++) {
        char *name;
        assert_int_equal(setenv("SLURM_JOB_ID", "17", 1), 0);
        assert_null(transport_run_name(far, &name));
        assert_ptr_equal(transport_for(name, 2), far ? mpi : shm);
        base_free(name);
    }
    unsetenv("SLURM_JOB_ID");
    char *made;
    assert_null(coll_create(2, &made));
    assert_ptr_equal(transport_for(made, 2), shm);
    coll_destroy(made);
    base_free(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_value_store),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(barrier_names_the_missing),
        cmocka_unit_test(a_dead_rank_is_noticed),
        cmocka_unit_test(a_departed_rank_is_noticed),
        cmocka_unit_test(agreed_words),
        cmocka_unit_test(words_of_the_dead_go),
        cmocka_unit_test(derived_names),
        cmocka_unit_test(refusals),
        cmocka_unit_test(dead_before_joining),
        cmocka_unit_test(a_step_wakes_once),
        cmocka_unit_test(differing_calls_of_many),
        cmocka_unit_test(a_group_of_one),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(each_name_has_its_transport),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
