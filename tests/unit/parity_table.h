/* A test program that is a table of parity cases: define CASES as a file of rows
 *     CASE(name, statement)
 * where the statement sets y[0], y[1], ... from x[0], x[1], ..., and PARITY as the name of the file of tensors; then
 * include this. Run one case by its name as the argument. */
#include "parity.h"

#define CASE(name, ...)                                                                \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)m, (void)user, (void)x;                                                  \
        __VA_ARGS__;                                                                   \
    }
#include CASES
#undef CASE

typedef struct table_row {
    const char *name, *text;
    parity_fn fn;
} table_row;
static const table_row table[] = {
#define CASE(name, ...) {#name, #__VA_ARGS__, c_##name},
#include CASES
#undef CASE
};

static parity_file *table_file;

static void table_case(void **state) {
    const table_row *r = *state;
    parity_case(table_file, r->name, r->fn, NULL, PARITY_TOLERANCE, PARITY_ABSOLUTE);
    lazy_reset_thread();
    if (!strstr(r->text, "XT_F32")) parity_stays_f64(table_file, r->name, r->fn, NULL);
    lazy_reset_thread();
}

static int table_open(void **state) {
    (void)state;
    table_file = parity_open(PARITY);
    return 0;
}
static int table_close(void **state) {
    (void)state;
    parity_close_file(table_file);
    return xt_finish();
}

/* Every case of the file has a row: a case that is only in the script would never be looked at. */
static void table_is_complete(void **state) {
    (void)state;
    for (size_t i = 0; i < table_file->n; i++) {
        const char *name = table_file->tensors[i].name;
        size_t n = strcspn(name, "/");
        bool found = false;
        for (size_t k = 0; k < BASE_COUNT(table); k++)
            found |= strlen(table[k].name) == n && !strncmp(table[k].name, name, n);
        if (!found) fail_msg("%s has no row", name);
    }
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[BASE_COUNT(table) + 1];
    size_t n = 0;
    for (size_t i = 0; i < BASE_COUNT(table); i++)
        if (argc < 2 || strcmp(argv[1], table[i].name) == 0)
            tests[n++] =
                (struct CMUnitTest){.name = table[i].name, .test_func = table_case, .initial_state = (void *)&table[i]};
    if (argc < 2) tests[n++] = (struct CMUnitTest){.name = "table_is_complete", .test_func = table_is_complete};
    return n ? _cmocka_run_group_tests(PARITY, tests, n, table_open, table_close) : 1;
}
