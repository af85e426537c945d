/* The client with a plugin whose functions fail, one after the other and all at once: every failure is a status that
 * names what was being done, and nothing is left. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_plugins.h"

static char plugin[4200];

static const char program[] =
    "module @m {\n"
    " func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n }\n}\n";

static void ignore(void *user, xt_status error, int64_t ns) {
    (void)user;
    (void)ns;
    xt_status_free(error);
}

/* All that a run does: the first failure ends it. */
static xt_status use(void) {
    device_client *c = NULL;
    device_exec *e = NULL, *again = NULL;
    device_buffer *in = NULL, *out = NULL;
    char *bytes = NULL;
    size_t n = 0;
    float v[4] = {1, 2, 3, 4};
    device_memory m;
    device_exec_stats stats;
    xt_status s = device_open(&(device_open_opts){.spec = plugin, .local_devices = 1}, &c);
    if (!s) s = device_compile(c, program, sizeof program - 1, NULL, &e);
    if (!s) device_exec_get_stats(e, &stats);
    if (!s) s = device_serialize(e, &bytes, &n);
    if (!s) s = device_deserialize(c, bytes, n, &again);
    if (!s) s = device_upload(c, XT_F32, 1, (const int64_t[]){4}, v, &in);
    if (!s) s = device_execute(e, 1, &in, NULL, &out, ignore, NULL);
    if (!s) s = device_buffer_wait(out);
    if (!s) s = device_read(out, v, sizeof v);
    if (!s) s = device_memory_stats(c, &m);
    base_free(bytes);
    device_buffer_release(in);
    device_buffer_release(out);
    device_exec_release(e);
    device_exec_release(again);
    device_close(c);
    return s;
}

static void nothing_left(const char *after) {
    static const char *const kinds[] = {"buffer", "executable", "client", "event"};
    for (size_t k = 0; k < BASE_COUNT(kinds); k++)
        if (xt_live_objects(kinds[k]) != 0)
            fail_msg("%s fails: %lld of kind %s are left", after, (long long)xt_live_objects(kinds[k]), kinds[k]);
}

static void each_function_fails(void **state) {
    (void)state;
    static const char *const names[] = {
#define PJRT_FN(name, since, size, ...) #name,
#define PJRT_FN_VOID(name, since, size, ...)
#include "device/pjrt_slots.def"
#undef PJRT_FN
#undef PJRT_FN_VOID
    };
    int failed = 0;
    unsetenv("FAULT");
    assert_ok(use());
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        setenv("FAULT", names[i], 1);
        xt_status s = use();
        failed += s != NULL;
        if (s) assert_true(strlen(xt_status_message(s)) > 20);
        xt_status_free(s);
        nothing_left(names[i]);
    }
    assert_true(failed >= 15); /* what a run cannot do without */
    static const char *const needed[] = {
        "Client_Create",       "Client_Compile",           "LoadedExecutable_Execute", "Client_BufferFromHostBuffer",
        "Buffer_ToHostBuffer", "Client_AddressableDevices"};
    for (size_t i = 0; i < BASE_COUNT(needed); i++) {
        setenv("FAULT", needed[i], 1);
        xt_status s = use();
        if (!s) fail_msg("%s fails and nobody says so", needed[i]);
        xt_status_free(s);
    }
    unsetenv("FAULT");
    assert_ok(use()); /* the process is fit to go on */
}

/* Not each function always, but each call once: the second upload after a first that went well, the release
 * after a run. */
static void each_call_fails(void **state) {
    (void)state;
    void *lib = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    atomic_long *calls = lib ? dlsym(lib, "fault_calls") : NULL;
    long n = 0, failed = 0;
    assert_non_null(calls);
    for (bool reached = true; reached;) {
        char at[24];
        snprintf(at, sizeof at, "%ld", ++n);
        setenv("FAULT_AT", at, 1);
        *calls = 0;
        xt_status s = use();
        reached = *calls >= n;
        failed += s != NULL;
        if (s && strlen(xt_status_message(s)) < 20) fail_msg("call %ld: '%s'", n, xt_status_message(s));
        if (s && !reached) fail_msg("nothing failed, and yet: %s", xt_status_message(s));
        xt_status_free(s);
        nothing_left(at);
    }
    unsetenv("FAULT_AT");
    assert_true(n > 40 && failed > 20);
    assert_ok(use());
    dlclose(lib);
}

static void everything_fails(void **state) {
    (void)state;
    setenv("FAULT", "all", 1);
    assert_fails(use(), XT_INVALID_ARGUMENT, "opening the device");
    nothing_left("everything");
    unsetenv("FAULT");
}

/* A client that cannot be made, as without hardware: doctor's probe says so in a sentence. */
static void probes(void **state) {
    (void)state;
    device_probe_result r;
    setenv("FAULT", "Client_Create", 1);
    assert_ok(device_probe(plugin, &r));
    assert_true(r.loads);
    assert_false(r.opens);
    assert_non_null(strstr(r.problem, "opening the device"));
    unsetenv("FAULT");
    assert_ok(device_probe(plugin, &r));
    assert_true(r.opens);
    assert_string_equal(r.problem, "");
    assert_string_equal(r.platform, "xtrain_cpu");
    assert_fails(device_probe("/nowhere/plugin.so", &r), XT_NOT_FOUND, "/nowhere/plugin.so");
}

/* Versions are read when a file is loaded, so each in a process of its own: the probe's. */
static void versions(void **state) {
    (void)state;
    static const struct {
        const char *name, *value, *says;
    } rows[] = {{"FAULT_MINOR", "12", "0.12, which is older than 0.57"},
                {"FAULT_TABLE", "400", "its table of 400 bytes ends before PJRT_"},
                {"FAULT_OF", "/nowhere.so", "gave no function table"}};
    char copy[4300];
    for (size_t i = 0; i < BASE_COUNT(rows); i++) { /* under another name: this process knows the file already */
        snprintf(copy, sizeof copy, "/tmp/xtrain-fault-%d-%zu.so", (int)getpid(), i);
        char *data, *before = getenv(rows[i].name) ? base_strdup(getenv(rows[i].name)) : NULL;
        size_t n;
        device_probe_result r;
        assert_ok(file_read_all(plugin, &data, &n));
        assert_ok(file_write_all(copy, data, n));
        setenv(rows[i].name, rows[i].value, 1);
        assert_ok(device_probe(copy, &r));
        if (!strstr(r.problem, rows[i].says)) fail_msg("'%s' does not say '%s'", r.problem, rows[i].says);
        assert_false(r.loads);
        if (before)
            setenv(rows[i].name, before, 1);
        else
            unsetenv(rows[i].name);
        unlink(copy);
        base_free(data);
        base_free(before);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    const char *dir = getenv("XT_PLUGIN_DIR");
    char of[4200];
    char *slash = strrchr(argv[0], '/');
    snprintf(plugin, sizeof plugin, "%.*s/fault_plugin.so",
             dir     ? (int)strlen(dir)
             : slash ? (int)(slash - argv[0])
                     : 1,
             dir     ? dir
             : slash ? argv[0]
                     : ".");
    snprintf(of, sizeof of, "%.*s/pjrt_plugin_xtrain_cpu.so", (int)(strrchr(plugin, '/') - plugin), plugin);
    setenv("FAULT_OF", of, 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(probes), cmocka_unit_test(versions),
                                       cmocka_unit_test(each_function_fails), cmocka_unit_test(each_call_fails),
                                       cmocka_unit_test(everything_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
