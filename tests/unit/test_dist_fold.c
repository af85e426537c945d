/* What several ranks say alike is shown once, with the ranks that it came from. */
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cmocka.h>

#include "dist/dist_int.h"

enum { RANKS = 4 };

/* What output_fold_flush writes, into out. */
static void push(str *out) {
    int pipe_[2], err = dup(STDERR_FILENO);
    char got[4096];
    assert_int_equal(pipe(pipe_), 0);
    dup2(pipe_[1], STDERR_FILENO);
    output_fold_flush(STDERR_FILENO, 0);
    dup2(err, STDERR_FILENO);
    close(pipe_[1]);
    close(err);
    for (ssize_t n; (n = read(pipe_[0], got, sizeof got)) > 0;) str_appendn(out, got, (size_t)n);
    close(pipe_[0]);
}

/* Each line "N text" is what rank N's process writes, a letter for N the program's own. */
static void shown(const char *const *lines, const char *want) {
    str out = STR_INIT;
    output_stream s[RANKS];
    int pipe_[2], err = dup(STDERR_FILENO);
    char got[4096];
    output_fold_ranks(RANKS);
    for (int r = 0; r < RANKS; r++) output_open(&s[r], -1, STDERR_FILENO, r, true, -1);
    for (; *lines; lines++) {
        const char *text = *lines + 2;
        if (**lines == '-') { /* a moment passes: what waits is shown */
            push(&out);
            continue;
        }
        int rank = **lines >= 'A' ? **lines - 'A' : **lines - '0';
        if (!output_fold(&s[rank], text, strlen(text), **lines < 'A', &out))
            str_printf(&out, "[rank %d] %s\n", rank, text);
    }
    assert_int_equal(pipe(pipe_), 0);
    dup2(pipe_[1], STDERR_FILENO);
    output_fold_end(STDERR_FILENO);
    dup2(err, STDERR_FILENO);
    close(pipe_[1]);
    close(err);
    assert_false(output_fold_waits());
    for (ssize_t n; (n = read(pipe_[0], got, sizeof got)) > 0;) str_appendn(&out, got, (size_t)n);
    close(pipe_[0]);
    assert_string_equal(str_cstr(&out), want);
    str_free(&out);
    output_fold_ranks(0);
}
#define SHOWN(want, ...) shown((const char *const[]){__VA_ARGS__, NULL}, want)

static void said_by_all(void **state) {
    (void)state;
    SHOWN("[ranks 0-3] a warning\n", "0 a warning", "2 a warning", "1 a warning", "3 a warning");
    SHOWN("[ranks 0,2-3] a warning\n", "3 a warning", "2 a warning", "0 a warning");
    SHOWN("[rank 2] a warning\n", "2 a warning");
    SHOWN("[ranks 0-1] one\n[rank 0] two\n[rank 1] three\n", "0 one", "0 two", "1 one", "1 three");
    SHOWN("[ranks 0-1] again\n[ranks 0-1] again\n", "0 again", "0 again", "1 again", "1 again");
}

static void numbers_may_differ(void **state) {
    (void)state;
    SHOWN("[ranks 0-1] a.c:12: rank 0 waits 1.5 s (the first's numbers)\n", "0 a.c:12: rank 0 waits 1.5 s",
          "1 a.c:12: rank 1 waits 20 s");
    SHOWN("[rank 0] a.c:12: slow\n[rank 1] a.c:40: slow\n", "0 a.c:12: slow", "1 a.c:40: slow");
    SHOWN("[rank 0] 3 of\n[rank 1] many of\n", "0 3 of", "1 many of");
    SHOWN("[rank 0] n is 3\n[rank 1] n is 3.\n[rank 2] n is\n", "0 n is 3", "1 n is 3.", "2 n is");
}

/* A rank's lines stay in their order, the program's own among them. */
static void order_stays(void **state) {
    (void)state;
    SHOWN("[ranks 0-1] one\n[rank 0] mine\n[rank 0] two\n", "0 one", "1 one", "A mine", "0 two");
    SHOWN("[rank 0] first\n[ranks 0-3] all\n[rank 3] last\n", "0 first", "0 all", "1 all", "2 all", "3 all", "3 last");
}

/* What a rank says after the others' line was shown is told at the end. */
static void said_later(void **state) {
    (void)state;
    SHOWN("[ranks 0,2-3] a warning\n[rank 1] said so too, later: a warning\n", "0 a warning", "2 a warning",
          "3 a warning", "-", "1 a warning");
    SHOWN("[rank 0] w\n[rank 0] mine\n[ranks 1-3] said so too, later: w\n", "0 w", "A mine", "1 w", "3 w", "2 w");
    SHOWN("[rank 0] w\n[rank 0] w\n[rank 1] said so too, later: w\n[rank 1] said so too, later: w\n", "0 w", "-", "0 w",
          "-", "1 w", "1 w");
    SHOWN("[rank 0] took 3 s\n[rank 1] said so too, later: took 3 s\n", "0 took 3 s", "-", "1 took 4 s");
    SHOWN("[rank 0] one\n[rank 1] two\n", "0 one", "-", "1 two");
    SHOWN("[rank 0] compile 1: p (not on rank 1-3)\n[rank 1] compile 1: p (not on rank 0,2-3)\n", "0 compile 1: p", "-",
          "1 compile 1: p");
}

/* Reports of compiles say too who did not make them, and one rank's figures. */
static void reports(void **state) {
    (void)state;
    SHOWN("[ranks 0-1] compile 1: p (not on rank 2-3)\n[ranks 0-1]   3 ms\n", "0 compile 1: p", "0   3 ms",
          "1 compile 1: p", "1   4 ms");
    SHOWN("[rank 0] compile 1: p (not on rank 1-3)\n[rank 1] compile 2: p (not on rank 0,2-3)\n", "0 compile 1: p",
          "1 compile 2: p");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(said_by_all), cmocka_unit_test(numbers_may_differ),
        cmocka_unit_test(order_stays), cmocka_unit_test(said_later),
        cmocka_unit_test(reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
