/* What the environment says: XT_* variables and their typos, the launchers' variables; and the way messages leave. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/fault.h"

static str caught = STR_INIT;
static int calls;

static void catch_message(xt_severity sev, const char *text, size_t n, void *user) {
    (void)user;
    calls++;
    str_printf(&caught, "%d:", sev);
    str_appendn(&caught, text, n);
}

static const char *const launcher_vars[] = {
    "XT_RANK",
    "XT_WORLD_SIZE",
    "XT_LOCAL_RANK",
    "XT_LOCAL_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "SLURM_STEP_ID",
    "SLURM_STEPID",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_NODEID",
    "SLURM_LOCALID",
    "SLURM_STEP_TASKS_PER_NODE",
    "CLOUD_TPU_TASK_ID",
    "TPU_PROCESS_ADDRESSES",
    "TPU_WORKER_ID",
    "TPU_WORKER_HOSTNAMES",
};

static int clean(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(launcher_vars); i++) unsetenv(launcher_vars[i]);
    unsetenv("XT_LOG_LEVEL");
    world_set(NULL);
    str_clear(&caught);
    calls = 0;
    xt_set_sink(catch_message, NULL);
    return 0;
}

static int restore(void **state) {
    clean(state);
    xt_set_sink(NULL, NULL);
    str_free(&caught);
    return 0;
}

/* "rank/size local_rank/local_size launched source" after setting "NAME=value NAME=value". */
static void assert_world(const char *settings, const char *expected) {
    clean(NULL);
    char copy[1024], got[256], *save = NULL;
    snprintf(copy, sizeof copy, "%s", settings);
    for (char *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(p, '=');
        *equals = '\0';
        setenv(p, equals + 1, 1);
    }
    const world *w = world_get();
    snprintf(got, sizeof got, "%d/%d %d/%d %d %s", w->rank, w->size, w->local_rank, w->local_size, w->launched,
             w->source);
    if (strcmp(got, expected)) print_error("%s\n", settings);
    assert_string_equal(got, expected);
    assert_ptr_equal(world_get(), w);
    assert_int_equal(w->problem != NULL, calls);
}

#define SINGLE "0/1 0/1 0 "

static void worlds(void **state) {
    (void)state;
    assert_world("", SINGLE);
    assert_world("XT_RANK=3 XT_WORLD_SIZE=4 XT_LOCAL_RANK=1 XT_LOCAL_SIZE=2", "3/4 1/2 1 XT_RANK");
    assert_world("XT_RANK=3 XT_WORLD_SIZE=4", "3/4 3/4 1 XT_RANK");
    assert_world("XT_RANK=0 XT_WORLD_SIZE=1", "0/1 0/1 1 XT_RANK");
    assert_world("XT_RANK=1 XT_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=8", "1/2 1/2 1 XT_RANK");
    assert_world(
        "OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=4",
        "5/8 1/4 1 OMPI_COMM_WORLD_RANK");
    assert_world("PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=2", "2/4 0/2 1 PMI_RANK");
    assert_world("CLOUD_TPU_TASK_ID=2 TPU_PROCESS_ADDRESSES=h0:8476,h0:8477,h1:8476,h1:8477",
                 "2/4 0/2 1 CLOUD_TPU_TASK_ID");
    assert_world("TPU_WORKER_ID=1 TPU_WORKER_HOSTNAMES=10.0.0.1,10.0.0.2", "1/2 0/1 1 TPU_WORKER_ID");
    assert_world("TPU_WORKER_ID=0 TPU_WORKER_HOSTNAMES=localhost", SINGLE);
}

static void slurm_worlds(void **state) {
    (void)state;
    assert_world("SLURM_STEP_ID=0 SLURM_PROCID=5 SLURM_NTASKS=7 SLURM_LOCALID=1 SLURM_NODEID=2 "
                 "SLURM_STEP_TASKS_PER_NODE=2(x3),1",
                 "5/7 1/2 1 SLURM_PROCID");
    assert_world("SLURM_STEP_ID=0 SLURM_PROCID=6 SLURM_NTASKS=7 SLURM_LOCALID=0 SLURM_NODEID=3 "
                 "SLURM_STEP_TASKS_PER_NODE=2(x3),1",
                 "6/7 0/1 1 SLURM_PROCID");
    assert_world("SLURM_STEPID=3 SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=2", "1/2 1/2 1 SLURM_PROCID");
    assert_world("SLURM_PROCID=0 SLURM_NTASKS=8", SINGLE); /* a batch script: no step */
    /* the batch step's reserved number */
    assert_world("SLURM_STEP_ID=4294967291 SLURM_PROCID=0 SLURM_NTASKS=8", SINGLE);
    assert_world("SLURM_STEP_ID=4294967290 SLURM_PROCID=0 SLURM_NTASKS=8", SINGLE); /* salloc's shell */
    assert_world("SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=1", SINGLE); /* srun -n 1: free to start ranks */
}

static void contradictions_are_single_and_said(void **state) {
    (void)state;
    assert_world("XT_RANK=1", SINGLE);
    assert_non_null(strstr(world_get()->problem, "XT_RANK is set but XT_WORLD_SIZE is not"));
    assert_non_null(strstr(str_cstr(&caught), "XT_WORLD_SIZE is not"));
    assert_world("XT_RANK=4 XT_WORLD_SIZE=4", SINGLE);
    assert_non_null(strstr(world_get()->problem, "XT_RANK=4 with XT_WORLD_SIZE=4"));
    assert_world("XT_RANK=one XT_WORLD_SIZE=4", SINGLE);
    assert_non_null(world_get()->problem);
    assert_world("XT_RANK=1 XT_WORLD_SIZE=4 XT_LOCAL_RANK=3 XT_LOCAL_SIZE=2", SINGLE);
    assert_non_null(strstr(world_get()->problem, "XT_LOCAL_RANK=3"));
    assert_world("CLOUD_TPU_TASK_ID=9 TPU_PROCESS_ADDRESSES=a:1,b:1", SINGLE);
    assert_non_null(strstr(world_get()->problem, "CLOUD_TPU_TASK_ID=9"));
    world_set(&(world){.rank = 2, .size = 3, .local_rank = 2, .local_size = 3, .source = "test"});
    assert_int_equal(world_get()->rank, 2);
    assert_string_equal(world_get()->source, "test");
}

static void variables(void **state) {
    (void)state;
    int64_t v = 7;
    unsetenv("XT_SEED");
    assert_false(env_int("XT_SEED", INT64_MIN, &v));
    setenv("XT_SEED", "", 1);
    assert_null(env_get("XT_SEED"));
    setenv("XT_SEED", "123", 1);
    assert_true(env_int("XT_SEED", INT64_MIN, &v) && v == 123);
    setenv("XT_SEED", "12x", 1);
    v = 7;
    assert_false(env_int("XT_SEED", INT64_MIN, &v));
    assert_false(env_int("XT_SEED", INT64_MIN, &v));
    assert_int_equal(calls, 1); /* reported once */
    assert_string_equal(str_cstr(&caught), "3:XT_SEED=12x is ignored: expected a whole number\n");
    unsetenv("XT_SEED");
    setenv("XT_SUMMARY", "Off", 1);
    assert_false(env_flag("XT_SUMMARY", true));
    setenv("XT_SUMMARY", "sometimes", 1);
    assert_true(env_flag("XT_SUMMARY", true));
    unsetenv("XT_SUMMARY");
    assert_false(env_flag("XT_SUMMARY", false));
    setenv("XT_DEBUG", "compile, exec", 1);
    assert_true(env_has_word("XT_DEBUG", "compile") && env_has_word("XT_DEBUG", "exec"));
    assert_false(env_has_word("XT_DEBUG", "comp") || env_has_word("XT_DEBUG", "read") || env_has_word("XT_DEBUG", ""));
    unsetenv("XT_DEBUG");
    assert_false(env_has_word("XT_DEBUG", "compile"));
    setenv("XT_THREADS", "0", 1); /* no count of threads */
    str_clear(&caught);
    assert_false(env_int("XT_THREADS", 1, &v));
    assert_string_equal(str_cstr(&caught), "3:XT_THREADS=0 is ignored: expected a whole number, 1 or more\n");
    assert_true(env_int("XT_THREADS", 0, &v) && v == 0);
    unsetenv("XT_THREADS");
}

static void typos_are_reported_once(void **state) {
    (void)state;
    setenv("XT_CHACHE", "off", 1);
    setenv("XT_FAVOURITE_COLOUR", "blue", 1);
    setenv("PT_XLA_DEBUG", "1", 1);
    env_report_unknown();
    int said = calls;
    assert_true(said >= 3);
    assert_non_null(
        strstr(str_cstr(&caught), "XT_CHACHE is not one xtrain reads and does nothing; did you mean XT_CACHE?"));
    assert_non_null(strstr(str_cstr(&caught), "XT_FAVOURITE_COLOUR is not one"));
    assert_non_null(strstr(str_cstr(&caught), "set XT_DEBUG=compile,exec"));
    assert_null(strstr(str_cstr(&caught), "XT_PLUGIN_DIR")); /* a known one, set by the test runner */
    env_report_unknown();
    assert_int_equal(calls, said);
    unsetenv("XT_CHACHE");
    unsetenv("XT_FAVOURITE_COLOUR");
    unsetenv("PT_XLA_DEBUG");
}

static void messages_are_whole_lines(void **state) {
    (void)state;
    log_msg(XT_SEV_INFO, "loss %.1f", 0.5);
    log_msg(XT_SEV_ERROR, "ends itself\n");
    for (int i = 0; i < 3; i++) log_once("key", XT_SEV_WARNING, "once %d", i);
    log_once("other key", XT_SEV_WARNING, "twice");
    log_raw(XT_SEV_PROGRESS, "\r50%", 4);
    assert_string_equal(str_cstr(&caught), "1:loss 0.5\n4:ends itself\n3:once 0\n3:twice\n2:\r50%");
}

static void nested_sink(xt_severity sev, const char *text, size_t n, void *user) {
    (void)text, (void)n, (void)sev;
    /* below the level: not printed, and no deadlock */
    if (++*(int *)user == 1) log_msg(XT_SEV_DEBUG, "from inside the sink");
}

static void a_sink_may_log(void **state) {
    (void)state;
    int n = 0;
    xt_set_sink(nested_sink, &n);
    log_msg(XT_SEV_INFO, "outer");
    assert_int_equal(n, 1);
}

static char fixed[2048];
static void note_message(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev, (void)user;
    snprintf(fixed, sizeof fixed, "%.*s", (int)n, text);
}
/* Where memory ran out for good a message is its first part, and never its format. */
static void messages_without_memory(void **state) {
    (void)state;
    static char many[4000];
    memset(many, 'a', sizeof many - 1);
    xt_set_sink(note_message, NULL);
    base_fail_alloc_from(1);
    log_msg(XT_SEV_WARNING, "logger %s: %s", "csv", "disk\033full");
    char first[64];
    snprintf(first, sizeof first, "%.63s", fixed);
    log_msg(XT_SEV_WARNING, "logger %s: %s", "csv", many);
    base_fail_alloc_from(-1);
    assert_string_equal(first, "logger csv: disk?full\n");
    assert_int_equal(strncmp(fixed, "logger csv: aaaa", 16), 0);
    assert_true(strlen(fixed) > 1000 && fixed[strlen(fixed) - 1] == '\n');
}

/* What the default sink writes to stderr for messages of each severity. */
static void assert_stderr(const char *expected) {
    int pipes[2], saved = dup(STDERR_FILENO);
    assert_int_equal(pipe(pipes), 0);
    dup2(pipes[1], STDERR_FILENO);
    xt_set_sink(NULL, NULL);
    log_msg(XT_SEV_DEBUG, "d");
    log_msg(XT_SEV_INFO, "i\nsecond line");
    log_raw(XT_SEV_PROGRESS, "\rp", 2);
    log_msg(XT_SEV_WARNING, "w");
    log_msg(XT_SEV_ERROR, "e");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipes[1]);
    char got[256];
    ssize_t n = 0, more;
    while ((more = read(pipes[0], got + n, sizeof got - 1 - (size_t)n)) > 0) n += more;
    got[n] = '\0';
    close(pipes[0]);
    assert_string_equal(got, expected);
}

static void default_sink(void **state) {
    (void)state;
    assert_stderr("i\nsecond line\n\rpw\ne\n");
    setenv("XT_LOG_LEVEL", "debug", 1);
    assert_stderr("d\ni\nsecond line\n\rpw\ne\n");
    setenv("XT_LOG_LEVEL", "warning", 1);
    assert_stderr("w\ne\n");
    setenv("XT_LOG_LEVEL", "error", 1);
    assert_stderr("e\n");
    unsetenv("XT_LOG_LEVEL");
    world_set(&(world){.rank = 1, .size = 2, .local_rank = 1, .local_size = 2, .source = "test"});
    assert_stderr("[rank 1] i\n[rank 1] second line\n\r[rank 1] p[rank 1] w\n[rank 1] e\n");
}

static void changes(void **state) {
    (void)state;
    assert_true(env_default("XT_LOG_LEVEL", "error") && env_default("XT_LOG_LEVEL", "debug"));
    assert_string_equal(getenv("XT_LOG_LEVEL"), "error");
    const char *was = getenv("XT_LOG_LEVEL");
    assert_true(env_set("XT_LOG_LEVEL", "debug") && env_put("XT_LOG_LEVEL_OF_NOBODY=a=b"));
    assert_string_equal(getenv("XT_LOG_LEVEL"), "debug");
    assert_string_equal(getenv("XT_LOG_LEVEL_OF_NOBODY"), "a=b");
    assert_string_equal(was, "error"); /* what was given stays */
    setenv("XT_LOG_LEVEL", "info", 1); /* the C library's own changes and ours follow each other */
    assert_true(env_unset("XT_LOG_LEVEL_OF_NOBODY") && env_unset("XT_LOG_LEVEL_OF_NOBODY"));
    assert_null(getenv("XT_LOG_LEVEL_OF_NOBODY"));
    assert_string_equal(getenv("XT_LOG_LEVEL"), "info");
    assert_true(env_unset("XT_LOG_LEVEL"));
    assert_null(getenv("XT_LOG_LEVEL"));
}

static atomic_bool stop;
static void *reader(void *missed) {
    while (!atomic_load(&stop)) {
        const char *home = getenv("XT_THERE_ALL_THE_TIME");
        if (getenv("XT_NEVER_THERE") || !home || strcmp(home, "1") != 0) atomic_store((atomic_bool *)missed, true);
    }
    return NULL;
}

/* With setenv() readers died in getenv(). */
static void readers_may_be_there(void **state) {
    (void)state;
    enum { READERS = 3, ROUNDS = 200 };
    pthread_t threads[READERS];
    atomic_bool missed = false;
    atomic_store(&stop, false);
    assert_true(env_set("XT_THERE_ALL_THE_TIME", "1"));
    for (size_t i = 0; i < READERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, reader, &missed), 0);
    for (int i = 0; i < ROUNDS; i++) {
        char name[64];
        snprintf(name, sizeof name, "XT_CHANGED_%d", i);
        assert_true(env_set(name, "1"));
        sched_yield();
    }
    for (int i = 0; i < ROUNDS; i++) {
        char name[64];
        snprintf(name, sizeof name, "XT_CHANGED_%d", i);
        assert_true(env_unset(name));
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
    assert_false(atomic_load(&missed));
    assert_true(env_unset("XT_THERE_ALL_THE_TIME"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(worlds, clean),
        cmocka_unit_test_setup(slurm_worlds, clean),
        cmocka_unit_test_setup(contradictions_are_single_and_said, clean),
        cmocka_unit_test_setup(variables, clean),
        cmocka_unit_test_setup(typos_are_reported_once, clean),
        cmocka_unit_test_setup(messages_are_whole_lines, clean),
        cmocka_unit_test_setup(a_sink_may_log, clean),
        cmocka_unit_test_setup(messages_without_memory, clean),
        cmocka_unit_test_setup(default_sink, clean),
        cmocka_unit_test_setup(changes, clean),
        cmocka_unit_test_setup(readers_may_be_there, clean),
    };
    return cmocka_run_group_tests(tests, clean, restore);
}
