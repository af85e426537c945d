/* Numbers in text, nearest names, interned strings, option tables. */
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"

static void bytes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value; /* -1: refused */
    } rows[] = {
        {"0", 0},
        {"300", 300},
        {"300M", 300 << 20},
        {"2GiB", INT64_C(2) << 30},
        {"2g", INT64_C(2) << 30},
        {"1e9", 1000000000},
        {"1.5K", 1536},
        {"10KB", 10000},
        {" 64 MiB ", 64 << 20},
        {"7B", 7},
        {"9007199254740993", 9007199254740993},
        {"1P", INT64_C(1) << 50},
        {"1TB", INT64_C(1000000000000)},
        {"", -1},
        {"M", -1},
        {"-1", -1},
        {"5X", -1},
        {"5MM", -1},
        {"5MiBs", -1},
        {"1e30", -1},
        {"nan", -1},
        {"inf", -1},
        {"12 13", -1},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        int64_t v = -1;
        if (!parse_bytes(rows[i].text, &v)) v = -1;
        if (v != rows[i].value) print_error("row %zu: %s gives %lld\n", i, rows[i].text, (long long)v);
        assert_true(v == rows[i].value);
    }
}

static void numbers(void **state) {
    (void)state;
    int64_t i;
    double d;
    bool flag;
    assert_true(parse_i64("-42", &i) && i == -42);
    assert_true(parse_i64("0x10 ", &i) && i == 16);
    assert_true(parse_i64("010", &i) && i == 10);
    assert_true(parse_i64("9223372036854775807", &i) && i == INT64_MAX);
    assert_false(parse_i64("9223372036854775808", &i));
    assert_false(parse_i64("", &i) || parse_i64("1.5", &i) || parse_i64("12x", &i) || parse_i64("0x", &i));
    assert_true(parse_double("1e-3", &d) && d == 1e-3);
    assert_true(parse_double("inf", &d) && isinf(d));
    assert_false(parse_double("", &d) || parse_double("1,5", &d) || parse_double("1e999", &d));
    assert_true(parse_double("-0", &d) && d == 0 && signbit(d) && parse_double("5.", &d) && d == 5 &&
                parse_double(".5", &d) && d == 0.5);
    assert_false(parse_double(".", &d) || parse_double("-", &d) || parse_double("1.2.3", &d) ||
                 parse_double("--1", &d));
    for (uint64_t k = 0; k < 20000; k++) { /* the short way and strtod's agree to the bit */
        uint64_t bits = rng_bits(1, 2, k);
        char text[32];
        snprintf(text, sizeof text, "%s%llu.%0*llu", bits & 1 ? "-" : "",
                 (unsigned long long)(bits >> 1 & 0xfffffff) >> k % 28, (int)(k % 9) + 1,
                 (unsigned long long)(bits >> 40) % 10);
        assert_true(parse_double(text, &d) && d == strtod(text, NULL));
    }
    assert_true(parse_flag("YES", &flag) && flag);
    assert_true(parse_flag("off", &flag) && !flag);
    assert_false(parse_flag("maybe", &flag));
}

/* Under a decimal comma, if the machine has such a locale, numbers read and print as ever. */
static void numbers_ignore_the_locale(void **state) {
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C"};
    size_t l = 0;
    while (!setlocale(LC_ALL, locales[l])) l++;
    double d;
    str s = STR_INIT;
    assert_true(parse_double("0.25", &d) && d == 0.25);
    str_printf(&s, "%.2f", 0.25);
    assert_string_equal(str_cstr(&s), "0.25");
    str_free(&s);
    setlocale(LC_ALL, "C");
}

static void distances(void **state) {
    (void)state;
    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("abc", ""), 3);
    assert_int_equal(text_distance("kitten", "sitting"), 3);
    assert_int_equal(text_distance("lr", "rl"), 1);
    assert_int_equal(text_distance("XT_CACHE", "xt_cache"), 0);
    char a[200], b[200];
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    a[199] = b[199] = '\0';
    assert_int_equal(text_distance(a, b), 63); /* long words by their beginning */
    static const char *const names[] = {"momentum", "weight_decay", "lr"};
    assert_string_equal(text_nearest("momentun", names, 3), "momentum");
    assert_string_equal(text_nearest("weightdecay", names, 3), "weight_decay");
    assert_null(text_nearest("temperature", names, 3));
    assert_null(text_nearest("x", names, 0));
}

static void *intern_many(void *out) {
    uint32_t *ids = out;
    char text[32];
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "shared %d", i);
        ids[i] = intern(text);
    }
    return NULL;
}

static void interned_strings(void **state) {
    (void)state;
    assert_int_equal(intern(""), 0);
    assert_int_equal(intern(NULL), 0);
    assert_string_equal(intern_text(0), "");
    assert_string_equal(intern_text(4000000000u), "");
    uint32_t a = intern("conv1"), b = intern("conv2");
    assert_true(a && b && a != b);
    assert_int_equal(intern_n("conv1.weight", 5), a);
    assert_string_equal(intern_text(a), "conv1");
    char buffer[8] = "conv1"; /* the same address with other text must not hit the cache */
    assert_int_equal(intern(buffer), a);
    buffer[4] = '2';
    assert_int_equal(intern(buffer), b);
    static uint32_t ids[4][3000];
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, intern_many, ids[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 3000; i++) {
        char text[32];
        snprintf(text, sizeof text, "shared %d", i);
        for (int k = 0; k < 4; k++) assert_int_equal(ids[k][i], ids[0][i]);
        assert_string_equal(intern_text(ids[0][i]), text);
    }
}

static void interning_without_memory(void **state) {
    (void)state;
    int failures = 0;
    for (int n = 1; n < 8; n++) {
        char text[32];
        snprintf(text, sizeof text, "scarce %d", n);
        base_fail_alloc_after(n);
        uint32_t id = intern(text);
        base_fail_alloc_after(-1);
        failures += id == 0;
        uint32_t again = intern(text);
        assert_true(again && (id == 0 || id == again));
        assert_string_equal(intern_text(again), text);
    }
    assert_true(failures > 0);
}

typedef struct fit_opts {
    size_t struct_size;
    double lr;
    int max_epochs, mode;
    int64_t limit;
    xt_switch shuffle;
    const char *name;
} fit_opts;

static const char *const modes[] = {"min", "max", NULL};
#define AT(f) offsetof(fit_opts, f)
static const option_row rows[] = {
    {"lr", "Learning rate.", OPTION_DOUBLE, AT(lr), .min = 0, .max = INFINITY},
    {"max_epochs", "Epochs to train.", OPTION_INT, AT(max_epochs), .min = 1, .max = 1000},
    {"mode", "What is best", OPTION_ENUM, AT(mode), .enum_names = modes},
    {"limit", "Batches per epoch.", OPTION_I64, AT(limit)},
    {"shuffle", "New order each epoch.", OPTION_SWITCH, AT(shuffle)},
    {"name", "Name of the run.", OPTION_STRING, AT(name)},
};
enum { ROWS = BASE_COUNT(rows) };
static const fit_opts own = {.lr = 1e-3, .max_epochs = 10, .shuffle = XT_ON}; /* the defaults */

static void options_defaults_and_ranges(void **state) {
    (void)state;
    fit_opts o = own;
    assert_null(options_check(rows, ROWS, &o, &own, "fit"));
    assert_memory_equal(&o, &own, sizeof o);
    o.lr = 0; /* is 0 */
    assert_null(options_check(rows, ROWS, &o, &own, "fit"));
    assert_true(o.lr == 0);
    o.lr = XT_AUTO; /* what the function has */
    assert_null(options_check(rows, ROWS, &o, &own, "fit"));
    assert_true(o.lr == 1e-3);
    o.max_epochs = 0; /* out of range, so it is refused */
    xt_status s = options_check(rows, ROWS, &o, &own, "fit");
    assert_string_equal(xt_status_message(s), "fit.max_epochs = 0 is out of range: expected 1 to 1000 (default 10)");
    xt_status_free(s);
    o = (fit_opts){.max_epochs = -3};
    s = options_check(rows, ROWS, &o, &own, "fit");
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    assert_string_equal(xt_status_message(s), "fit.max_epochs = -3 is out of range: expected 1 to 1000 (default 10)");
    xt_status_free(s);
    static const fit_opts bad[] = {{.max_epochs = 1, .lr = -1},   {.max_epochs = 1, .lr = NAN},
                                   {.max_epochs = 1001},          {.max_epochs = 1, .mode = 2},
                                   {.max_epochs = 1, .mode = -1}, {.max_epochs = 1, .shuffle = (xt_switch)3}};
    for (size_t i = 0; i < BASE_COUNT(bad); i++) {
        o = bad[i];
        s = options_check(rows, ROWS, &o, &own, "fit");
        assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
        xt_status_free(s);
    }
}

static void assert_set_fails(fit_opts *o, const char *name, const char *value, xt_code code, const char *part) {
    xt_status s = options_set(rows, ROWS, o, &own, name, value);
    assert_int_equal(xt_status_code(s), code);
    if (!strstr(xt_status_message(s), part)) print_error("%s\n", xt_status_message(s));
    assert_non_null(strstr(xt_status_message(s), part));
    assert_null(strstr(xt_status_message(s), "option.")); /* the name as it was written */
    xt_status_free(s);
}

static void options_from_text(void **state) {
    (void)state;
    fit_opts o = {0};
    assert_null(options_set(rows, ROWS, &o, &own, "lr", "0.01"));
    assert_null(options_set(rows, ROWS, &o, &own, "max-epochs", "1e2"));
    assert_null(options_set(rows, ROWS, &o, &own, "mode", "MAX"));
    assert_null(options_set(rows, ROWS, &o, &own, "limit", "9007199254740993"));
    assert_null(options_set(rows, ROWS, &o, &own, "shuffle", "off"));
    assert_null(options_set(rows, ROWS, &o, &own, "name", "first"));
    assert_true(o.lr == 0.01 && o.max_epochs == 100 && o.mode == 1 && o.limit == 9007199254740993 &&
                o.shuffle == XT_OFF);
    assert_string_equal(o.name, "first");
    fit_opts before = o;
    assert_set_fails(&o, "max_epoch", "3", XT_NOT_FOUND, "did you mean max_epochs?");
    assert_set_fails(&o, "colour", "3", XT_NOT_FOUND, "no option colour");
    assert_set_fails(&o, "lr", "fast", XT_INVALID_ARGUMENT, "lr = fast: expected a number");
    assert_set_fails(&o, "max_epochs", "0", XT_INVALID_ARGUMENT, "expected 1 to 1000 (default 10)");
    assert_set_fails(&o, "max_epochs", "2.5", XT_INVALID_ARGUMENT, "whole number");
    assert_set_fails(&o, "max_epochs", "99999999999", XT_INVALID_ARGUMENT, "32 bits");
    assert_set_fails(&o, "max_epochs", "1001", XT_INVALID_ARGUMENT, "1 to 1000");
    assert_set_fails(&o, "limit", "nan", XT_INVALID_ARGUMENT, "whole number");
    assert_set_fails(&o, "mode", "mix", XT_INVALID_ARGUMENT, "expected one of min, max");
    assert_set_fails(&o, "shuffle", "perhaps", XT_INVALID_ARGUMENT, "on or off");
    assert_memory_equal(&o, &before, sizeof o);
}

/* What options_get writes, options_set reads back: a checkpoint's hyper-parameters. A zero stays one. */
static void options_round_trip(void **state) {
    (void)state;
    fit_opts o = {.lr = 0, .limit = INT64_MAX, .mode = 1, .max_epochs = 10, .shuffle = XT_ON, .name = "a b"},
             back = own;
    for (size_t i = 0; i < ROWS; i++) {
        str text = STR_INIT;
        assert_null(options_get(rows, ROWS, &o, rows[i].name, &text));
        assert_null(options_set(rows, ROWS, &back, &own, rows[i].name, str_cstr(&text)));
        str_free(&text);
    }
    assert_true(back.lr == 0 && back.limit == INT64_MAX && back.mode == 1 && back.max_epochs == 10 &&
                back.shuffle == XT_ON);
    assert_string_equal(back.name, "a b");
    str help = STR_INIT;
    options_help(rows, ROWS, &own, &help);
    assert_non_null(strstr(str_cstr(&help), "  --lr X                           Learning rate. (default 0.001)\n"));
    assert_non_null(strstr(str_cstr(&help), "What is best: min, max (default min)\n"));
    assert_non_null(strstr(str_cstr(&help), "(default on)\n"));
    str_free(&help);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes),
        cmocka_unit_test(numbers),
        cmocka_unit_test(numbers_ignore_the_locale),
        cmocka_unit_test(distances),
        cmocka_unit_test(interned_strings),
        cmocka_unit_test(interning_without_memory),
        cmocka_unit_test(options_defaults_and_ranges),
        cmocka_unit_test(options_from_text),
        cmocka_unit_test(options_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
