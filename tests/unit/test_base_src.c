/* Source ids: through the macro, and for calls that come through function pointers. The second half builds small
 * programs against a shared library made of the real code, as users have it, with each compiler and level, and looks
 * whether the right line is named. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/sanitizers.h"

static void hides_lines(void **state) {
    (void)state;
    const xt_src ours = {"../hidden/a.c", 3, "f"}, theirs = {"../shown/a.c", 4, "g"};
    xt_hide_source("../hidden/");
    xt_status s = status_new(XT_UNKNOWN, &ours, "no");
    assert_string_equal(xt_status_message(s), "no");
    s = status_at(s, &theirs); /* the next line that is known is the user's */
    assert_string_equal(xt_status_message(s), "../shown/a.c:4: no");
    xt_status_free(s);
}

static void assert_text(src_id id, const char *expected) {
    char buf[256];
    assert_string_equal(src_text(id, buf, sizeof buf), expected);
}

static void positions_have_ids(void **state) {
    (void)state;
    xt_src a = {"train.c", 41, "main"}, b = {"train.c", 42, "main"}, c = {"train.c", 41, "other"};
    src_id ia = src_intern(&a);
    assert_true(ia != 0 && src_intern(&a) == ia);
    assert_true(src_intern(&b) != ia && src_intern(&c) != ia);
    assert_text(ia, "train.c:41");
    assert_string_equal(src_get(ia)->func, "main");
    assert_int_equal(src_get(ia)->line, 41);
    assert_int_equal(src_intern(NULL), 0);
    assert_text(0, "?");
    assert_text(4000000000u, "?");
    char other_file[] = "train.c"; /* the same text at another address is the same place */
    assert_int_equal(src_intern(&(xt_src){other_file, 41, "main"}), ia);
    other_file[0] = 'd'; /* and other text at the same address is another */
    assert_text(src_intern(&(xt_src){other_file, 41, "main"}), "drain.c:41");
    assert_text(src_intern(&(xt_src){NULL, 3, NULL}), "?:3");
    assert_int_equal(src_get(src_intern(XT_HERE))->line, __LINE__);
    assert_string_equal(src_get(src_intern(XT_HERE))->func, "positions_have_ids");
    char tiny[6];
    assert_string_equal(src_text(ia, tiny, sizeof tiny), "train");
}

static void *intern_lines(void *out) {
    src_id *ids = out;
    for (int i = 0; i < 5000; i++) ids[i] = src_intern(&(xt_src){"many.c", i + 1, i % 2 ? "odd" : "even"});
    return NULL;
}

static void threads_agree(void **state) {
    (void)state;
    static src_id ids[4][5000];
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, intern_lines, ids[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 5000; i++) {
        for (int k = 1; k < 4; k++) assert_int_equal(ids[k][i], ids[0][i]);
        assert_int_equal(src_get(ids[0][i])->line, i + 1);
    }
}

static void without_memory_it_is_unknown(void **state) {
    (void)state;
    int failures = 0;
    for (int n = 1; n < 10; n++) {
        char file[32];
        snprintf(file, sizeof file, "scarce%d.c", n);
        base_fail_alloc_after(n);
        src_id id = src_intern(&(xt_src){file, 1, file});
        base_fail_alloc_after(-1);
        failures += id == 0;
        src_id again = src_intern(&(xt_src){file, 1, file});
        assert_true(again != 0 && (id == 0 || id == again));
    }
    assert_true(failures > 0);
}

/* A known place costs no memory. What a hit takes by the clock is bench/dispatch_bench's to say: no limit in
 * nanoseconds holds on every machine and beside other work. */
static void a_hit_allocates_nothing(void **state) {
    (void)state;
    enum { N = 1000 };
    src_id id = 0, wrong = 0;
    for (int i = 0; i < N; i++) {
        src_id now = src_intern(XT_HERE);
        if (i == 0) base_fail_alloc_after(0);
        wrong |= i && now != id;
        id = now;
    }
    src_id elsewhere = src_intern(&(xt_src){"nowhere.c", 1, "a_hit"}); /* a new place does need some */
    base_fail_alloc_after(-1);
    assert_true(id != 0 && !wrong && elsewhere == 0);
}

static src_id (*volatile probe)(void) = src_from_caller;

/* This test has the library linked in statically: its own sources are told from ours by their folder. */
static void linked_statically(void **state) {
    (void)state;
    src_id id = probe();
    assert_int_equal(src_get(id)->line, __LINE__ - 1);
    assert_string_equal(src_get(id)->file, __FILE__); /* as every message of a macro has it, not as an absolute path */
    assert_string_equal(src_get(id)->func, "linked_statically");
    assert_int_equal(src_from_return_address(NULL), 0);
    assert_non_null(strstr(src_get(src_from_return_address((void *)0x10))->file, "code+0x")); /* in no module */
    src_id libc = src_from_return_address((char *)dlsym(RTLD_DEFAULT, "qsort") + 1);
    /* the file depends on whether libc's debug information is installed */
    assert_non_null(strstr(src_get(libc)->func, "qsort"));
}

/* --- Programs --- */
static const char library_text[] =
    "typedef struct { const char *file; int line; const char *func; } xt_src;\n"
    "unsigned src_from_caller(void);\n"
    "unsigned src_intern(const xt_src *where);\n"
    "const char *src_text(unsigned id, char *buf, unsigned long n);\n"
    "#define API __attribute__((visibility(\"default\")))\n"
    "API unsigned lib_call(void) { volatile unsigned id = src_from_caller(); return id; }\n"
    "API unsigned lib_here(const xt_src *where) { return src_intern(where); }\n"
    "API unsigned lib_back(unsigned (*fn)(void)) { volatile unsigned id = fn(); return id; }\n"
    "API const char *lib_text(unsigned id, char *buf, unsigned long n) { return src_text(id, buf, n); }\n";

static const char model_text[] = "unsigned lib_call(void);\n"
                                 "unsigned (*volatile model_call)(void) = lib_call;\n"
                                 "int model_line = __LINE__ + 1;\n"
                                 "unsigned model(void) { volatile unsigned id = model_call(); return id; }\n";

/* usage: prog WANT MODEL.so, where WANT is 1 when calls by pointer must give lines, 0 when they must give
 * binary+0xoffset. */
static const char program_text[] =
    "#include <dlfcn.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "typedef struct { const char *file; int line; const char *func; } xt_src;\n"
    "unsigned lib_call(void), lib_here(const xt_src *), lib_back(unsigned (*)(void));\n"
    "const char *lib_text(unsigned, char *, unsigned long);\n"
    "static int wrong, want;\n"
    "static unsigned (*volatile call)(void) = lib_call;\n"
    "static void check(const char *what, const char *file, int line, int other_line, int lines, unsigned id) {\n"
    "    char got[512], a[64], b[64];\n"
    "    lib_text(id, got, sizeof got);\n"
    "    const char *slash = strrchr(got, '/'), *name = slash ? slash + 1 : got;\n"
    "    snprintf(a, sizeof a, \"%s.c:%d\", file, line);\n"
    "    snprintf(b, sizeof b, \"%s.c:%d\", file, other_line);\n"
    "    int ok = lines ? !strcmp(name, a) || !strcmp(name, b) : strstr(name, \"+0x\") && !strncmp(name, file, "
    "strlen(file));\n"
    "    if (!ok) wrong++, printf(\"%s: %s, expected %s\\n\", what, got, lines ? a : \"an offset\");\n"
    "}\n"
    "static int tail_line = __LINE__ + 1;\n"
    "static __attribute__((noinline)) unsigned tail(void) { return call(); }\n"
    "static int back_line = __LINE__ + 1;\n"
    "static unsigned back(void) { volatile unsigned id = call(); return id; }\n"
    "static unsigned sorted_id;\n"
    "static int sort_line = __LINE__ + 1;\n"
    "static int compare(const void *a, const void *b) { sorted_id = call(); return *(const char *)a - *(const char "
    "*)b; }\n"
    "int main(int argc, char **argv) {\n"
    "    char letters[] = \"ba\";\n"
    "    want = argc > 1 && atoi(argv[1]);\n"
    "    check(\"macro\", \"prog\", __LINE__, 0, 1, lib_here(&(const xt_src){__FILE__, __LINE__, __func__}));\n"
    "    for (int again = 0; again < 2; again++) {\n"
    "        check(\"pointer\", \"prog\", __LINE__, 0, want, call());\n"
    "        check(\"tail call\", \"prog\", __LINE__, tail_line, want, tail());\n"
    "        check(\"call back\", \"prog\", back_line, 0, want, lib_back(back));\n"
    "    }\n"
    "    qsort(letters, 2, 1, compare);\n"
    "    check(\"call through libc\", \"prog\", sort_line, 0, want, sorted_id);\n"
    "    void *model = dlopen(argv[2], RTLD_NOW);\n"
    "    unsigned (*run)(void);\n"
    "    if (!model) return printf(\"%s\\n\", dlerror()), 100;\n"
    "    *(void **)&run = dlsym(model, \"model\");\n"
    "    check(\"dlopen\", \"model\", *(int *)dlsym(model, \"model_line\"), 0, want, run());\n"
    "    dlclose(model);\n"
    "    check(\"after dlclose\", \"prog\", __LINE__, 0, want, call());\n"
    "    return wrong;\n"
    "}\n";

static char folder[64];

static void write_source(const char *name, const char *text) {
    char *path = path_join(folder, name);
    assert_null(file_write_all(path, text, strlen(text)));
    base_free(path);
}

static int shell(const char *fmt, ...) BASE_PRINTF(1, 2);
static int shell(const char *fmt, ...) {
    str command = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_printf(&command, "cd %s && ", folder);
    str_vprintf(&command, fmt, ap);
    va_end(ap);
    int rc = system(str_cstr(&command));
    if (rc) print_error("failed: %s\n", str_cstr(&command));
    str_free(&command);
    return rc;
}

static int make_library(void **state) {
    (void)state;
    char cwd[1024];
    const char *build = getenv("XT_PLUGIN_DIR");
    if (!getcwd(cwd, sizeof cwd)) return -1;
    strcpy(folder, "/tmp/xt_src_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    write_source("lib.c", library_text);
    write_source("model.c", model_text);
    write_source("prog.c", program_text);
    if (!build) build = "build";
    return shell("cc -O2 -g -shared -fPIC lib.c %s%s%s/libxtrain_shared.a -ldw -lpthread -lm -ldl -o libprobe.so",
                 *build == '/' ? "" : cwd, *build == '/' ? "" : "/", build);
}

static int remove_folder(void **state) {
    (void)state;
    return shell("rm -rf %s", folder);
}

static void programs_by(const char *compiler, const char *const *flags, size_t n) {
    if (BUILT_WITH_ASAN || BUILT_WITH_TSAN) {
        print_message("the probe library is instrumented, the programs made here are not: skipped\n");
        skip();
    }
    char probe_command[64];
    snprintf(probe_command, sizeof probe_command, "command -v %s >/dev/null", compiler);
    if (system(probe_command) != 0) {
        print_message("%s is not installed: skipped\n", compiler);
        skip();
    }
    for (size_t i = 0; i < n; i++) {
        /* Lines need -g that is not stripped again. */
        int want = strstr(flags[i], "-g") && !strstr(flags[i], "-s");
        assert_int_equal(shell("%s %s -shared -fPIC model.c -L. -lprobe -o model.so", compiler, flags[i]), 0);
        assert_int_equal(shell("%s %s -std=c11 -D_DEFAULT_SOURCE prog.c -L. -lprobe -ldl -Wl,-rpath,%s -o prog",
                               compiler, flags[i], folder),
                         0);
        assert_int_equal(shell("./prog %d ./model.so", want), 0);
    }
}

static void gcc_programs(void **state) {
    (void)state;
    static const char *const flags[] = {"-O0 -g", "-O2 -g", "-O2 -g -s", "-O2 -no-pie -g"};
    programs_by("gcc", flags, BASE_COUNT(flags));
}

static void clang_programs(void **state) {
    (void)state;
    static const char *const flags[] = {"-O0 -g", "-O3 -g", "-O2"};
    programs_by(system("command -v clang >/dev/null") == 0 ? "clang" : "clang-14", flags, BASE_COUNT(flags));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hides_lines),
        cmocka_unit_test(positions_have_ids),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(without_memory_it_is_unknown),
        cmocka_unit_test(a_hit_allocates_nothing),
        cmocka_unit_test(linked_statically),
        cmocka_unit_test(gcc_programs),
        cmocka_unit_test(clang_programs),
    };
    return cmocka_run_group_tests(tests, make_library, remove_folder);
}
