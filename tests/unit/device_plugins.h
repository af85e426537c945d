/* Which plugins the device tests run on: our own, and those in XT_TEST_PLUGIN (paths separated by ':'), each in its own
 * round of all tests. The process opens one client per round; tests find it in `client`. */
#ifndef XT_TESTS_DEVICE_PLUGINS_H
#define XT_TESTS_DEVICE_PLUGINS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "device/device.h"

static device_client *client;

#define assert_ok(expr) check_ok((expr), #expr, __FILE__, __LINE__)
static inline void check_ok(xt_status s, const char *what, const char *file, int line) {
    if (!s) return;
    print_error("%s: %s\n", what, xt_status_message(s));
    _fail(file, line);
}

/* The status must have `code` and mention `word` (NULL = any text). Frees it. */
#define assert_fails(expr, code, word) check_fails((expr), code, word, #expr, __FILE__, __LINE__)
static inline void check_fails(xt_status s, xt_code code, const char *word, const char *what, const char *file,
                               int line) {
    if (xt_status_code(s) != code || (word && !strstr(xt_status_message(s), word))) {
        print_error("%s: got %s '%s', expected %s with '%s'\n", what, xt_code_name(xt_status_code(s)),
                    xt_status_message(s), xt_code_name(code), word ? word : "");
        _fail(file, line);
    }
    xt_status_free(s);
}

static inline int run_round(const char *spec, int (*run)(void)) {
    xt_status s = device_open(&(device_open_opts){.spec = spec}, &client);
    if (s) {
        print_error("%s: %s\n", spec, xt_status_message(s));
        xt_status_free(s);
        return 1;
    }
    const device_info *i = device_get_info(client);
    print_message("=== %s: %s, API %d.%d\n", i->plugin_path, i->platform, i->api_major, i->api_minor);
    int failed = run();
    device_close(client);
    static const char *const kinds[] = {"buffer", "executable", "client", "event"};
    for (size_t k = 0; k < BASE_COUNT(kinds); k++)
        if (xt_live_objects(kinds[k]) != 0) {
            print_error("%s: %lld objects of kind %s are left\n", spec, (long long)xt_live_objects(kinds[k]), kinds[k]);
            failed++;
        }
    return failed;
}

static inline int run_on_plugins(int (*run)(void)) {
    int failed = run_round("CPU", run);
    const char *list = getenv("XT_TEST_PLUGIN");
    if (!list || !*list) print_message("XT_TEST_PLUGIN is not set: foreign plugins are not tested\n");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        char *path = base_strndup(list, n);
        failed += run_round(path, run);
        base_free(path);
        list += n + (list[n] == ':');
    }
    return failed;
}

#endif
