/* Characters that are several in another case: a sharp s and "ss", the ligature of f and i and "fi" (the full foldings
 * of Unicode's CaseFolding.txt, as utf8proc has them). */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "models/tokenizers/regex.h"

#include <pthread.h>
#include <string.h>

#include <utf8proc.h>

enum { MOST = 256, LAST = 0xffff };
static struct {
    uint32_t code, fold[TOK_FOLD];
    size_t n;
} table[MOST];
static size_t n_table;

size_t tok_fold(uint32_t c, uint32_t out[TOK_FOLD]) {
    utf8proc_int32_t buf[TOK_FOLD + 1];
    int boundary = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, buf, TOK_FOLD + 1, UTF8PROC_CASEFOLD, &boundary);
    out[0] = c;
    if (n < 1 || n > TOK_FOLD) return 1;
    for (utf8proc_ssize_t i = 0; i < n; i++) out[i] = (uint32_t)buf[i];
    return (size_t)n;
}

static void make_table(void) {
    for (uint32_t c = 0x80; c <= LAST && n_table < MOST; c++) {
        table[n_table].code = c;
        table[n_table].n = tok_fold(c, table[n_table].fold);
        n_table += table[n_table].n > 1;
    }
}

size_t tok_folded_to(const uint32_t *fold, size_t n, uint32_t *out, size_t room) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t found = 0;
    pthread_once(&once, make_table);
    for (size_t i = 0; i < n_table && found < room; i++)
        if (table[i].n == n && memcmp(table[i].fold, fold, n * sizeof *fold) == 0) out[found++] = table[i].code;
    return found;
}
