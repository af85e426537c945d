/* One client of two processes: they meet over the key-value callbacks, see each other's device, and their
 * replicas add up. */
#include "device_plugins.h"

#include <sys/wait.h>
#include <unistd.h>

#include "coll/coll.h"

enum { RANKS = 2 };

static const char sum[] =
    "module @sum {\n"
    "  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "    %0 = \"stablehlo.all_reduce\"(%x) ({\n"
    "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "      %1 = stablehlo.add %a, %b : tensor<f32>\n"
    "      stablehlo.return %1 : tensor<f32>\n"
    "    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>\n"
    "    return %0 : tensor<2xf32>\n"
    "  }\n"
    "}\n";

static xt_status kv_get(void *user, const char *key, size_t n, int timeout_ms, char **value, size_t *value_size) {
    return coll_get(user, key, n, timeout_ms, value, value_size);
}
static xt_status kv_put(void *user, const char *key, size_t n, const char *value, size_t value_size) {
    return coll_put(user, key, n, value, value_size);
}

static xt_status wrong(int line, const char *what) {
    return status_new(XT_INTERNAL, NULL, "line %d: %s", line, what);
}
#define EXPECT(condition) \
    if (!(condition)) return wrong(__LINE__, #condition)

/* Two rounds: a run may close its client and open another. */
static xt_status use_client(int rank, const device_kv *kv) {
    device_client *c;
    XT_TRY(device_open(
        &(device_open_opts){.spec = "CPU", .node_id = rank, .n_nodes = RANKS, .kv = kv, .local_devices = 1}, &c));
    const device_info *i = device_get_info(c);
    EXPECT(i->n_devices == RANKS && i->n_addressable == 1);
    device_exec *e, *alone;
    XT_TRY(device_compile(c, sum, strlen(sum), &(device_compile_opts){.num_replicas = RANKS}, &e));
    device_buffer *x, *y, *z;
    float data[] = {(float)rank + 1, 10}, got[2];
    XT_TRY(device_upload(c, XT_F32, 1, (int64_t[]){2}, data, &x));
    XT_TRY(device_execute(e, 1, &x, NULL, &y, NULL, NULL));
    XT_TRY(device_execute(e, 1, &y, NULL, &z, NULL, NULL));
    XT_TRY(device_read(z, got, sizeof got));
    EXPECT(got[0] == 6 && got[1] == 40);
    /* a program without the others runs on this process's own device */
    static const char twice[] = "func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                                "  %0 = stablehlo.add %x, %x : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n";
    XT_TRY(device_compile(c, twice, strlen(twice), NULL, &alone));
    device_buffer_release(y);
    XT_TRY(device_execute(alone, 1, &x, NULL, &y, NULL, NULL));
    XT_TRY(device_read(y, got, sizeof got));
    EXPECT(got[0] == 2 * data[0] && got[1] == 20);
    device_buffer_release(x), device_buffer_release(y), device_buffer_release(z);
    device_exec_release(e), device_exec_release(alone);
    device_close(c);
    return NULL;
}

static int run_rank(const char *name, int rank) {
    coll_group *g = NULL;
    xt_status s = coll_open(name, rank, RANKS, 20, &g);
    device_kv kv = {.user = g, .get = kv_get, .put = kv_put};
    for (int round = 0; !s && round < 2; round++) s = use_client(rank, &kv);
    coll_close(g);
    if (!s) return 0;
    fprintf(stderr, "rank %d: %s\n", rank, xt_status_message(s));
    xt_status_free(s);
    return 1;
}

static void test_two_processes(void **state) {
    (void)state;
    char *name;
    assert_ok(coll_create(RANKS, &name));
    pid_t pids[RANKS];
    for (int r = 0; r < RANKS; r++) {
        pids[r] = fork();
        if (pids[r] == 0) _exit(run_rank(name, r));
    }
    for (int r = 0; r < RANKS; r++) {
        int how;
        assert_int_equal(waitpid(pids[r], &how, 0), pids[r]);
        assert_int_equal(how, 0);
    }
    coll_destroy(name);
    base_free(name);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
