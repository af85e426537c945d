/* The client side of PJRT's profiler extension, on our plugin and on those that XT_TEST_PROFILER names (paths separated
 * by ':'; tests/slow/profile.sh gives the CUDA plugin, which traces without a GPU too). A plugin may refuse; it may not
 * leave anything behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/proto.h"
#include "device/device_int.h"

/* An XSpace has planes (field 1), each with lines (3): gives the number of planes, -1 for what is no such message. */
static int planes_of(const char *data, size_t size) {
    proto_reader r = proto_read(data, size);
    proto_field f;
    int n = 0;
    while (proto_next(&r, &f))
        if (f.number == 1 && f.wire == PROTO_BYTES) n++;
    return n;
}

static int profile(const char *path, char **out_problem) {
    const device_plugin *plugin;
    xt_status s = device_plugin_load(path, &plugin);
    device_client c = {.api = s ? NULL : plugin->api};
    device_profile *p = NULL;
    char *data = NULL;
    size_t size = 0;
    int n = 0;
    if (!s) s = device_profile_start(&c, &p);
    if (!s && !p) n = -1; /* no such extension */
    if (!s) s = device_profile_stop(p, &data, &size);
    if (!s && p) n = planes_of(data, size);
    base_free(data);
    *out_problem = s ? base_strdup(xt_status_message(s)) : NULL;
    xt_status_free(s);
    return n;
}

static void our_plugin(void **state) {
    (void)state;
    char *path, *problem;
    assert_null(device_find_plugin("CPU", &path));
    assert_true(profile(path, &problem) >= 0);
    assert_null(problem);
    assert_true(profile(path, &problem) >= 0); /* again: the first one has ended */
    assert_null(problem);
    base_free(path);
}

static void others(void **state) {
    (void)state;
    const char *list = getenv("XT_TEST_PROFILER");
    if (!list || !*list) skip();
    while (*list) {
        size_t n = strcspn(list, ":");
        char *path = base_strndup(list, n), *problem;
        for (int again = 0; again < 2; again++) {
            int planes = profile(path, &problem);
            print_message("%s: %s%d planes\n", path, problem ? problem : "", planes);
            assert_true(problem || planes >= 0);
            base_free(problem);
        }
        base_free(path);
        list += n + (list[n] == ':');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(our_plugin), cmocka_unit_test(others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
