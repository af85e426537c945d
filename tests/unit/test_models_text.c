/* Tokenizers and text windows: GPT-2's cut into pieces, merges by rank, files that are wrong, and that every
 * byte comes back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "models/text.h"

static char dir[64];

static int begin(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt_text_XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    xt_finish();
    return system(command) || live_get(LIVE_status) != 0;
}

static void write_file(const char *name, const char *text, size_t n) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

/* --- pieces --- */
/* Texts with '|' where GPT-2's pattern cuts (made with its regular expression); '|' itself stands in none. */
static const char *const cut[] = {
    "Hello| world",
    "Hello|,| world|!",
    "I|'ve| we|'ll| don|'t| it|'s| I|'m| he|'d| you|'re",
    "it|'|S",
    "a|  | b",
    "a| |\n|b",
    "a|\n|\n|b",
    "x|   ",
    " \n",
    "tabs|\t|\t|here",
    "2024| 2|nd",
    "abc|123|def",
    " leading",
    "  | two",
    "...?!",
    " ...| a",
    "na\xc3\xafve| caf\xc3\xa9",
    "\xe4\xbd\xa0\xe5\xa5\xbd|\xef\xbc\x8c|\xe4\xb8\x96\xe7\x95\x8c",
    "\xd9\xa3\xd9\xa4| \xc2\xbd|x",
    "\xf0\x9f\x98\x80|hi",
    "a|\xc2\xa0|b",
    "a|\xe3\x80\x80|\xe3\x80\x80|b",
    "\xff\xfe|a",
    "a|\xc3",
    "'|x",
    "don|''|t",
};

static void pieces(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(cut); i++) {
        char text[128], got[256] = "";
        size_t n = 0, k = 0;
        for (const char *p = cut[i]; *p; p++)
            if (*p != '|') text[n++] = *p;
        for (size_t at = 0, to; at < n; at = to) {
            to = pretokenize(text, n, at);
            assert_true(to > at && to <= n);
            if (at) got[k++] = '|';
            memcpy(got + k, text + at, to - at);
            k += to - at;
        }
        got[k] = 0;
        assert_string_equal(got, n ? cut[i] : "");
    }
}

/* --- merges --- */
static const char *const learnt[] = {"l l", "h e",          "he ll", "hell o", "\xc4\xa0 w",
                                     "o r", "\xc4\xa0w or", "l d",   "o ll",   "\xc3\x83 \xc2\xa9"};

/* The file's spelling of a byte, as UTF-8. */
static const char *spelled(int byte) {
    static char text[4];
    bool prints = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    int code = byte;
    if (!prints) {
        code = 256;
        for (int b = 0; b < byte; b++) code += !((b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae);
    }
    if (code < 128)
        snprintf(text, sizeof text, code == '"' || code == '\\' ? "\\%c" : "%c", code);
    else
        snprintf(text, sizeof text, "%c%c", 0xc0 | code >> 6, 0x80 | (code & 63));
    return text;
}

/* Bytes are 0 to 255 in order of value, merges follow; `without` leaves a byte out. */
static void write_vocabulary(int without, const char *extra_merge) {
    str v = STR_INIT, m = STR_INIT;
    str_append(&v, "{");
    for (int b = 0; b < 256; b++)
        if (b != without) str_printf(&v, "\"%s\": %d, ", spelled(b), b);
    str_append(&m, "#version: 0.2\n");
    for (size_t i = 0; i < BASE_COUNT(learnt); i++) {
        const char *space = strchr(learnt[i], ' ');
        str_printf(&v, "\"%.*s%s\": %d, ", (int)(space - learnt[i]), learnt[i], space + 1, 256 + (int)i);
        str_printf(&m, "%s\n", learnt[i]);
    }
    if (extra_merge) str_printf(&m, "%s\n", extra_merge);
    str_printf(&v, "\"<|endoftext|>\": %d}", 256 + (int)BASE_COUNT(learnt));
    write_file("vocab.json", str_cstr(&v), v.len);
    write_file("merges.txt", str_cstr(&m), m.len);
    str_free(&v);
    str_free(&m);
}

static void encodes(const tokenizer *t, const char *text, size_t n_want, const int32_t *want) {
    int32_t *ids;
    size_t n;
    assert_null(tokenizer_encode(t, text, strlen(text), &ids, &n));
    assert_int_equal(n, n_want);
    assert_memory_equal(ids, want, n * sizeof *ids);
    free(ids);
}
#define ENCODES(t, text, ...) \
    encodes(t, text, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), (int32_t[]){__VA_ARGS__})

static void merges_by_rank(void **state) {
    (void)state;
    write_vocabulary(-1, NULL);
    tokenizer *t;
    assert_null(tokenizer_open(dir, &t));
    assert_int_equal(tokenizer_vocab(t), 267);
    ENCODES(t, "hello", 259);
    ENCODES(t, "hell", 258);
    ENCODES(t, "hello world", 259, 262, 263); /* the space belongs to the word; "ld" */
    ENCODES(t, "oll", 264); /* "l l" is merged first, and then "o ll" */
    ENCODES(t, "w", 'w');
    ENCODES(t, "lllll", 256, 256, 'l'); /* all places of a pair, from the left */
    ENCODES(t, "\xc3\xa9", 265); /* the two bytes of one letter */
    /* in a text it is text */
    ENCODES(t, "<|endoftext|>", '<', '|', 'e', 'n', 'd', 'o', 'f', 't', 'e', 'x', 't', '|', '>');
    size_t n;
    const char *s = tokenizer_token(t, 262, &n);
    assert_int_equal(n, 4);
    assert_memory_equal(s, " wor", 4);
    tokenizer_token(t, 999, &n);
    assert_int_equal(n, 0);
    s = tokenizer_token(t, 266, &n);
    assert_int_equal(n, 13);
    assert_memory_equal(s, "<|endoftext|>", 13);
    tokenizer_free(t);
}

static void every_byte_comes_back(void **state) {
    (void)state;
    write_vocabulary(-1, NULL);
    for (int bytes = 0; bytes < 2; bytes++) {
        tokenizer *t;
        assert_null(tokenizer_open(bytes ? NULL : dir, &t));
        char text[4096], back[4096];
        uint32_t x = 7;
        for (size_t i = 0; i < sizeof text; i++) text[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
        memcpy(text + 100, "hello hello  hello world\r\n\thello", 32);
        int32_t *ids;
        size_t n, at = 0;
        assert_null(tokenizer_encode(t, text, sizeof text, &ids, &n));
        for (size_t i = 0; i < n; i++) {
            size_t k;
            const char *s = tokenizer_token(t, ids[i], &k);
            assert_true(at + k <= sizeof back);
            memcpy(back + at, s, k);
            at += k;
        }
        assert_int_equal(at, sizeof text);
        assert_memory_equal(back, text, sizeof text);
        free(ids);
        tokenizer_free(t);
    }
}

/* A blob without a space is one piece; its cost must not be the square of its length. */
static void long_pieces(void **state) {
    (void)state;
    enum { LONG = 400000 };
    write_vocabulary(-1, NULL);
    tokenizer *t;
    int32_t *ids;
    size_t n;
    char *text = malloc(LONG);
    assert_non_null(text);
    for (int i = 0; i < LONG; i++) text[i] = "hel"[i % 3 == 2 ? 2 : i % 3];
    assert_null(tokenizer_open(dir, &t));
    assert_null(tokenizer_encode(t, text, LONG, &ids, &n));
    assert_int_equal(n, LONG / 3 * 2 + 1); /* he l he l ... h */
    assert_int_equal(ids[0], 257);
    assert_int_equal(ids[1], 'l');
    free(ids);
    free(text);
    tokenizer_free(t);
}

static void refuses(const char *part) {
    tokenizer *t;
    xt_status s = tokenizer_open(dir, &t);
    assert_non_null(s);
    if (!strstr(xt_status_message(s), part)) fail_msg("\"%s\" is not in: %s", part, xt_status_message(s));
    xt_status_free(s);
}

static void wrong_files(void **state) {
    (void)state;
    refuses("vocab.json: No such file");
    write_vocabulary(0x41, NULL);
    refuses("no token for the single byte 0x41");
    write_vocabulary(-1, "q zz");
    refuses("merges.txt:12: the right part is no token");
    write_vocabulary(-1, "q");
    refuses("merges.txt:12: two tokens and a space");
    write_vocabulary(-1, "q q");
    refuses("what they make is no token");
    write_file("vocab.json", "[1, 2]", 6);
    refuses("no JSON object");
    write_file("vocab.json", "{\"a\": 1, \"b\": 1}", 16);
    refuses("and so has another token");
    write_file("vocab.json", "{\"a\": -1}", 9);
    refuses("has no number");
}

/* --- windows --- */
static void text_in_windows(void **state) {
    (void)state;
    char text[101], path[128];
    for (int i = 0; i < 101; i++) text[i] = (char)i;
    write_file("t.txt", text, sizeof text);
    snprintf(path, sizeof path, "%s/t.txt", dir);
    tokenizer *t;
    text_corpus *c;
    assert_null(tokenizer_open(NULL, &t));
    assert_null(text_open(path, t, &c));
    assert_int_equal(c->n, 101);
    xt_dataset *still = text_windows(c, 50, 101, 10, false), *moving = text_windows(c, 0, 50, 10, true);
    text_release(c);
    assert_int_equal(xt_dataset_count(still), 5);
    assert_int_equal(xt_dataset_count(moving), 4); /* the last window's label would be outside */
    int64_t x[10], y[10];
    assert_null(xt_dataset_get(still, 4, x, y));
    assert_int_equal(x[0], 90);
    assert_int_equal(y[9], 100);
    for (int i = 0; i < 4; i++) {
        assert_null(xt_dataset_get(moving, i, x, y));
        assert_true(x[0] >= 10 * i && x[0] < 10 * i + 10 && y[9] < 50);
        for (int k = 0; k < 10; k++) assert_int_equal(y[k], x[0] + k + 1);
    }
    xt_dataset_free(still);
    xt_dataset_free(moving);
    xt_status s = text_open("/nowhere/at/all", t, &c);
    assert_int_equal(xt_status_code(s), XT_NOT_FOUND);
    xt_status_free(s);
    tokenizer_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces),
        cmocka_unit_test_setup_teardown(merges_by_rank, begin, end),
        cmocka_unit_test_setup_teardown(every_byte_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(long_pieces, begin, end),
        cmocka_unit_test_setup_teardown(wrong_files, begin, end),
        cmocka_unit_test_setup_teardown(text_in_windows, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
