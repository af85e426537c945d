/* Finding plugins and counting devices without opening them: names, places, environment, the system's
 * files, messages. */
#include "device_plugins.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/device_int.h"

static char root[] = "/tmp/xt_search_XXXXXX";

static void touch(const char *path) {
    str full = STR_INIT;
    str_printf(&full, "%s%s", root, path);
    char *slash = strrchr(full.data, '/');
    *slash = '\0';
    assert_ok(file_make_dirs(full.data, 0700));
    *slash = '/';
    assert_ok(file_write_all(full.data, "x", 1));
    str_free(&full);
}

static int set_up(void **state) {
    (void)state;
    static const char *const cleared[] = {
        "CPU_NUM_DEVICES", "TPU_NUM_DEVICES", "TPU_VISIBLE_CHIPS", "CUDA_VISIBLE_DEVICES", "XT_DEVICE",
        "PJRT_DEVICE",     "PYTHONPATH",      "VIRTUAL_ENV",       "CONDA_PREFIX",         "TPU_LIBRARY_PATH"};
    for (size_t i = 0; i < BASE_COUNT(cleared); i++) unsetenv(cleared[i]);
    return 0;
}

static void expect_count(const char *spec, int want, const char *want_source) {
    int n = -1;
    const char *source = NULL;
    assert_ok(device_count(spec, &n, &source));
    assert_int_equal(n, want);
    assert_string_equal(source, want_source);
}

static void test_count_environment(void **state) {
    (void)state;
    expect_count("CPU", 1, "default");
    expect_count(NULL, 1, "default");
    setenv("CPU_NUM_DEVICES", "4", 1);
    expect_count("cpu", 4, "CPU_NUM_DEVICES");
    expect_count("/some/where/pjrt_plugin_xtrain_cpu.so", 4, "CPU_NUM_DEVICES");
    int n;
    const char *source;
    static const char *const wrong[] = {"0", "-2", "four", "3x", "99999999999999999999"};
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) {
        setenv("CPU_NUM_DEVICES", wrong[i], 1);
        assert_fails(device_count("CPU", &n, &source), XT_INVALID_ARGUMENT, "CPU_NUM_DEVICES is '");
    }
    setenv("TPU_NUM_DEVICES", "8", 1);
    expect_count("TPU", 8, "TPU_NUM_DEVICES");
    unsetenv("TPU_NUM_DEVICES");
    setenv("TPU_VISIBLE_CHIPS", "0,2,3", 1);
    expect_count("TPU", 3, "TPU_VISIBLE_CHIPS");
    static const struct {
        const char *value;
        int count;
    } cuda[] = {{"0,1", 2}, {"", 0}, {"-1", 0}, {"0,-1,2", 1}, {"GPU-8f6a,GPU-11", 2}};
    for (size_t i = 0; i < BASE_COUNT(cuda); i++) {
        setenv("CUDA_VISIBLE_DEVICES", cuda[i].value, 1);
        expect_count("CUDA", cuda[i].count, "CUDA_VISIBLE_DEVICES");
        expect_count("gpu", cuda[i].count, "CUDA_VISIBLE_DEVICES");
    }
    setenv("PJRT_DEVICE", "TPU", 1);
    expect_count(NULL, 3, "TPU_VISIBLE_CHIPS");
    setenv("XT_DEVICE", "CUDA", 1); /* ours is read first */
    expect_count(NULL, 2, "CUDA_VISIBLE_DEVICES");
}

static void test_count_files(void **state) {
    (void)state;
    expect_count("TPU", 0, "/dev/accel* and /dev/vfio");
    expect_count("CUDA", 0, "/proc/driver/nvidia/gpus");
    touch("/dev/vfio/vfio"); /* the control file is no device */
    touch("/dev/vfio/0");
    touch("/dev/vfio/11");
    expect_count("TPU", 2, "/dev/vfio");
    touch("/dev/accel0");
    touch("/dev/accelerate");
    expect_count("TPU", 1, "/dev/accel*");
    touch("/proc/driver/nvidia/gpus/0000:01:00.0");
    touch("/proc/driver/nvidia/gpus/0000:02:00.0");
    expect_count("CUDA", 2, "/proc/driver/nvidia/gpus");
}

static void test_count_unknown_plugin(void **state) {
    (void)state;
    int n;
    const char *source;
    assert_fails(device_count("/nowhere/plugin.so", &n, &source), XT_NOT_FOUND, "/nowhere/plugin.so");
    assert_fails(device_count("ABACUS", &n, &source), XT_INVALID_ARGUMENT, "ABACUS");
    touch("/bad.so"); /* asked in a child process, which finds that it is no library */
    str path = STR_INIT;
    str_printf(&path, "%s/bad.so", root);
    assert_fails(device_count(str_cstr(&path), &n, &source), XT_FAILED_PRECONDITION, "could not be loaded");
    str_free(&path);
}

static void test_find(void **state) {
    (void)state;
    char *path;
    assert_fails(device_find_plugin("ABACUS", &path), XT_INVALID_ARGUMENT, "CPU, TPU, CUDA");
    assert_null(path);
    assert_fails(device_find_plugin("/nowhere/plugin.so", &path), XT_NOT_FOUND, "does not exist");
    setenv("HOME", root, 1);
    setenv("PATH", root, 1);
    setenv("VIRTUAL_ENV", root, 1);
    xt_status s = device_find_plugin("TPU", &path);
    if (!s) { /* the machine has one */
        base_free(path);
        skip();
    }
    assert_non_null(strstr(xt_status_message(s), "pip install libtpu"));
    assert_non_null(strstr(xt_status_message(s), root)); /* the places looked at */
    xt_status_free(s);
    touch("/lib/python3.11/site-packages/libtpu/libtpu.so");
    assert_ok(device_find_plugin("TPU", &path));
    assert_non_null(strstr(path, "/lib/python3.11/site-packages/libtpu/libtpu.so"));
    base_free(path);
    touch("/own/libtpu.so");
    str own = STR_INIT;
    str_printf(&own, "%s/own/libtpu.so", root);
    setenv("TPU_LIBRARY_PATH", str_cstr(&own), 1);
    assert_ok(device_find_plugin("TPU", &path));
    assert_string_equal(path, str_cstr(&own));
    base_free(path);
    str_free(&own);
    touch("/pp/jax_plugins/xla_cuda12/xla_cuda_plugin.so");
    str pp = STR_INIT;
    str_printf(&pp, "/not/there:%s/pp", root);
    setenv("PYTHONPATH", str_cstr(&pp), 1);
    assert_ok(device_find_plugin("CUDA", &path));
    assert_non_null(strstr(path, "xla_cuda12"));
    assert_int_equal(device_family_of(path), DEVICE_FAMILY_CUDA);
    base_free(path);
    str_free(&pp);
}

static void test_open_errors(void **state) {
    (void)state;
    device_client *c;
    touch("/text.so");
    str path = STR_INIT;
    str_printf(&path, "%s/text.so", root);
    assert_fails(device_open(&(device_open_opts){.spec = str_cstr(&path)}, &c), XT_FAILED_PRECONDITION,
                 "could not be loaded");
    assert_null(c);
    str_free(&path);
    /* a library that is no plugin */
    Dl_info libm;
    double (*in_it)(double) = cos;
    void *at;
    memcpy(&at, &in_it, sizeof at);
    assert_true(dladdr(at, &libm) && libm.dli_fname[0] == '/');
    assert_fails(device_open(&(device_open_opts){.spec = libm.dli_fname}, &c), XT_FAILED_PRECONDITION, "GetPjrtApi");
    /* a download that broke off */
    char *data;
    size_t n;
    str cut = STR_INIT;
    str_printf(&cut, "%s/cut.so", root);
    assert_ok(file_read_all("/proc/self/exe", &data, &n));
    assert_ok(file_write_all(str_cstr(&cut), data, 8192));
    assert_fails(device_open(&(device_open_opts){.spec = str_cstr(&cut)}, &c), XT_FAILED_PRECONDITION,
                 "is cut short: it has 8192 of the");
    base_free(data);
    str_free(&cut);
    assert_fails(device_open(&(device_open_opts){.spec = "CPU", .n_nodes = 2, .node_id = 2}, &c), XT_INVALID_ARGUMENT,
                 "node id");
}

static void test_build_id(void **state) {
    (void)state;
    char *self = device_build_id("/proc/self/exe"), *text;
    assert_non_null(self);
    touch("/plain");
    str path = STR_INIT;
    str_printf(&path, "%s/plain", root);
    text = device_build_id(str_cstr(&path));
    assert_true(strncmp(text, "1-", 2) == 0); /* one byte, no note */
    assert_string_not_equal(self, text);
    base_free(self), base_free(text);
    str_free(&path);
}

int main(void) {
    if (!mkdtemp(root)) return 1;
    device_fs_root = root;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_count_environment, set_up),    cmocka_unit_test_setup(test_count_files, set_up),
        cmocka_unit_test_setup(test_count_unknown_plugin, set_up), cmocka_unit_test_setup(test_find, set_up),
        cmocka_unit_test_setup(test_open_errors, set_up),          cmocka_unit_test_setup(test_build_id, set_up),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    str rm = STR_INIT;
    str_printf(&rm, "/bin/rm -rf %s", root);
    if (system(str_cstr(&rm)) != 0) failed++;
    str_free(&rm);
    return failed;
}
