/* tokenizer.json: ids and texts of the tokenizers package for small tokenizers of each kind
 * (tests/parity/tokenizers.json, written by tests/conformance/tokenizer_json.py --fixed), files that are damaged, and
 * texts that are no UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <utf8proc.h>
#include <xtrain/xtrain.h>

#include "base/sanitizers.h"
#include "models/token_file.h"
#include "models/tokenizer.h"
#include "models/tokenizers/parts.h"

static char dir[64], path[128];
static cJSON *all;

static int begin(void **state) {
    char *text;
    size_t n;
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt_tokens_XXXXXX");
    if (!mkdtemp(dir) || xt_read_file("tests/parity/tokenizers.json", &text, &n)) return -1;
    snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    all = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    return all ? 0 : -1;
}
static int end(void **state) {
    char command[100];
    (void)state;
    cJSON_Delete(all);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) | xt_finish();
}

static void put(const char *text) {
    assert_null(xt_write_file(path, text, strlen(text)));
}

static tokenizer *opened(const cJSON *json) {
    char *text = cJSON_PrintUnformatted(json);
    tokenizer *t;
    put(text);
    cJSON_free(text);
    xt_status s = tokenizer_open(dir, &t);
    if (s) fail_msg("%s", xt_status_message(s));
    return t;
}

/* The decoder gives bytes that are no UTF-8 as they are, where the package puts U+FFFD. */
static bool same_text(const char *got, const char *want) {
    return strcmp(got, want) == 0 || strstr(want, "\xef\xbf\xbd");
}

static void check_line(const tokenizer *t, const char *name, const char *line, const cJSON *want, const char *text) {
    int32_t *ids;
    size_t n, n_text;
    char *got;
    assert_null(tokenizer_encode_whole(t, line, strlen(line), &ids, &n));
    bool same = (int)n == cJSON_GetArraySize(want);
    for (size_t i = 0; i < n && same; i++) same = ids[i] == cJSON_GetArrayItem(want, (int)i)->valueint;
    if (!same) fail_msg("%s: '%s' has other ids (%zu, expected %d)", name, line, n, cJSON_GetArraySize(want));
    assert_null(tokenizer_decode(t, ids, n, true, &got, &n_text));
    if (!same_text(got, text)) fail_msg("%s: '%s' came back as '%s', expected '%s'", name, line, got, text);
    free(got);
    free(ids);
}

static void ids_are_the_packages(void **state) {
    (void)state;
    const cJSON *kind, *lines = cJSON_GetObjectItem(all, "lines");
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(all, "kinds")) >= 12);
    cJSON_ArrayForEach(kind, cJSON_GetObjectItem(all, "kinds")) {
        tokenizer *t = opened(cJSON_GetObjectItem(kind, "tokenizer"));
        for (int i = 0; i < cJSON_GetArraySize(lines); i++)
            check_line(t, cJSON_GetObjectItem(kind, "name")->valuestring, cJSON_GetArrayItem(lines, i)->valuestring,
                       cJSON_GetArrayItem(cJSON_GetObjectItem(kind, "ids"), i),
                       cJSON_GetArrayItem(cJSON_GetObjectItem(kind, "texts"), i)->valuestring);
        tokenizer_free(t);
    }
}

/* As a slow tokenizer saves it: a token a line, and settings beside it. */
static void put_in(const char *name, const char *text) {
    char file[100];
    snprintf(file, sizeof file, "%s/%s", dir, name);
    assert_null(xt_write_file(file, text, strlen(text)));
}
static void put_vocab_txt(const cJSON *vocab) {
    char text[16384] = "";
    int n = cJSON_GetArraySize(vocab);
    for (int id = 0; id < n; id++) {
        const cJSON *e;
        cJSON_ArrayForEach(e, vocab) if (e->valueint == id) strcat(strcat(text, e->string), "\n");
    }
    put_in("vocab.txt", text);
}
static void remove_in(const char *name) {
    char file[100];
    snprintf(file, sizeof file, "%s/%s", dir, name);
    unlink(file);
}

static void a_vocab_txt_is_berts(void **state) {
    (void)state;
    const cJSON *kind, *lines = cJSON_GetObjectItem(all, "lines");
    int seen = 0;
    remove_in("tokenizer.json");
    cJSON_ArrayForEach(kind, cJSON_GetObjectItem(all, "kinds")) {
        const cJSON *json = cJSON_GetObjectItem(kind, "tokenizer"), *model = cJSON_GetObjectItem(json, "model");
        const cJSON *rules = cJSON_GetObjectItem(json, "normalizer");
        if (strcmp(cJSON_GetObjectItem(model, "type")->valuestring, "WordPiece") != 0) continue;
        bool lower = cJSON_IsTrue(cJSON_GetObjectItem(rules, "lowercase"));
        tokenizer *t;
        put_vocab_txt(cJSON_GetObjectItem(model, "vocab"));
        if (lower) /* as settings say nothing */
            remove_in("tokenizer_config.json");
        else
            put_in("tokenizer_config.json", "{\"do_lower_case\":false,\"unk_token\":{\"content\":\"[UNK]\"},"
                                            "\"tokenizer_class\":\"BertTokenizer\"}");
        assert_true(tokenizer_is_in(dir));
        xt_status s = tokenizer_open(dir, &t);
        if (s) fail_msg("%s", xt_status_message(s));
        assert_int_equal(tokenizer_vocab(t), cJSON_GetArraySize(cJSON_GetObjectItem(model, "vocab")));
        for (int i = 0; i < cJSON_GetArraySize(lines); i++)
            check_line(t, cJSON_GetObjectItem(kind, "name")->valuestring, cJSON_GetArrayItem(lines, i)->valuestring,
                       cJSON_GetArrayItem(cJSON_GetObjectItem(kind, "ids"), i),
                       cJSON_GetArrayItem(cJSON_GetObjectItem(kind, "texts"), i)->valuestring);
        tokenizer_free(t);
        seen += 1 + lower;
    }
    assert_int_equal(seen, 3); /* one that lowers, one that does not */
    tokenizer *t;
    put_in("tokenizer_config.json", "{\"tokenizer_class\":\"EsmTokenizer\"}");
    xt_status s = tokenizer_open(dir, &t);
    assert_non_null(s);
    assert_non_null(strstr(xt_status_message(s), "\"EsmTokenizer\" with a vocab.txt is not known"));
    xt_status_free(s);
    remove_in("tokenizer_config.json");
    put_in("vocab.txt", "a\nb\n");
    s = tokenizer_open(dir, &t);
    assert_non_null(s);
    assert_non_null(strstr(xt_status_message(s), "the unknown token \"[UNK]\" is not in the vocabulary"));
    xt_status_free(s);
    remove_in("vocab.txt");
}

/* Tokens one by one give the text that they have together, and never a part of a character. */
static void streams_are_whole_characters(void **state) {
    (void)state;
    const cJSON *kind, *lines = cJSON_GetObjectItem(all, "lines"), *line;
    cJSON_ArrayForEach(kind, cJSON_GetObjectItem(all, "kinds")) {
        tokenizer *t = opened(cJSON_GetObjectItem(kind, "tokenizer"));
        cJSON_ArrayForEach(line, lines) {
            int32_t *ids;
            size_t n, k;
            char *whole, *part, sum[4096] = "";
            token_stream seen = {0};
            assert_null(tokenizer_encode(t, line->valuestring, strlen(line->valuestring), &ids, &n));
            assert_null(tokenizer_decode(t, ids, n, true, &whole, &k));
            for (size_t i = 1; i <= n; i++) {
                assert_null(tokenizer_decode_next(t, ids, i, i == n, &seen, &part, &k));
                if (k && i < n && ((unsigned char)part[k - 1] & 0xc0) == 0xc0) fail_msg("half a character: '%s'", part);
                strcat(sum, part);
                free(part);
            }
            if (strcmp(sum, whole) != 0)
                fail_msg("%s: '%s' instead of '%s'", cJSON_GetObjectItem(kind, "name")->valuestring, sum, whole);
            free(whole);
            free(ids);
        }
        tokenizer_free(t);
    }
}

static void any_bytes_have_ids(void **state) {
    (void)state;
    const cJSON *kind;
    cJSON_ArrayForEach(kind, cJSON_GetObjectItem(all, "kinds")) {
        const char *name = cJSON_GetObjectItem(kind, "name")->valuestring;
        tokenizer *t = opened(cJSON_GetObjectItem(kind, "tokenizer"));
        bool bytes = !strcmp(name, "gpt2") || !strcmp(name, "llama3"); /* without a normalizer */
        uint64_t at = 7;
        for (int round = 0; round < 40; round++) {
            char text[64], *back;
            int32_t *ids;
            size_t n, k;
            for (size_t i = 0; i < sizeof text; i++) {
                at = at * 6364136223846793005u + 1442695040888963407u;
                text[i] = (char)(at >> 33);
            }
            assert_null(tokenizer_encode(t, text, sizeof text, &ids, &n));
            for (size_t i = 0; i < n; i++) assert_in_range(ids[i], 0, tokenizer_vocab(t) - 1);
            assert_null(tokenizer_decode(t, ids, n, false, &back, &k));
            if (bytes && (k != sizeof text || memcmp(back, text, k) != 0)) fail_msg("%s: other bytes", name);
            free(back);
            free(ids);
        }
        tokenizer_free(t);
    }
}

/* --- what a text costs --- */
static tokenizer *of_normalizer(const char *normalizer) {
    char file[8192];
    tokenizer *t;
    snprintf(file, sizeof file,
             "{\"normalizer\":%s,\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\" \":3},"
             "\"merges\":[\"a b\"]}}",
             normalizer);
    put(file);
    assert_null(tokenizer_open(dir, &t));
    return t;
}

/* Marks of all classes, in any order: what Unicode's forms make of them is what utf8proc_map does. */
static void marks_are_put_in_order(void **state) {
    (void)state;
    static const uint32_t some[] = {'a',    0x301,  0x323,  0x327,  0xe9,  0x344, 0xf73,  0xf75, 0x5b0,   0x1e9b,
                                    0xac00, 0x11a8, 0x3099, 0x304b, 0x33f, 0x315, 0xfdfa, 0x345, 0x1d165, 0x20e1};
    static const struct {
        const char *type;
        int options;
    } forms[] = {{"NFC", UTF8PROC_COMPOSE},
                 {"NFD", UTF8PROC_DECOMPOSE},
                 {"NFKC", UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                 {"NFKD", UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
    uint64_t at = 3;
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "type", forms[f].type);
        tok_part p;
        assert_null(tok_normalizer_read(&p, json));
        for (int round = 0; round < 300; round++) {
            char text[400];
            size_t n = 0;
            utf8proc_uint8_t *want = NULL;
            tok_arena a = {0};
            for (int i = 0; i < 1 + round % 60; i++) {
                at = at * 6364136223846793005u + 1442695040888963407u;
                n += tok_put_char(some[(at >> 33) % (sizeof some / sizeof some[0])], text + n);
            }
            utf8proc_ssize_t k = utf8proc_map((utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &want,
                                              (utf8proc_option_t)(UTF8PROC_STABLE | forms[f].options));
            tok_text got = tok_normalize(&p, (tok_text){text, n}, &a);
            if (k < 0 || got.n != (size_t)k || memcmp(got.data, want, got.n) != 0)
                fail_msg("%s of '%.*s' is another", forms[f].type, (int)n, text);
            free(want);
            tok_arena_free(&a);
        }
        tok_part_free(&p);
        cJSON_Delete(json);
    }
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A text of marks alone, in the wrong order, takes no longer than another of its size. */
static void marks_cost_no_more_than_letters(void **state) {
    (void)state;
    enum { N = 20000 };
    tokenizer *t = of_normalizer("{\"type\":\"NFC\"}");
    char *text = malloc(4 * N + 1);
    int32_t *ids;
    size_t n = 0, k;
    text[n++] = 'a';
    for (int i = 0; i < 2 * N; i++) n += tok_put_char(i < N ? 0x301 : 0x323, text + n);
    double began = seconds();
    xt_status_free(tokenizer_encode(t, text, n, &ids, &k)); /* marks have no token here */
    double took = seconds() - began;
    if (took > 1) fail_msg("%d marks took %.1f s", 2 * N, took);
    free(ids);
    free(text);
    tokenizer_free(t);
}

/* A Unigram takes as long for a long word as for many short ones, however long its tokens are. */
static void long_tokens_cost_no_more_than_short_ones(void **state) {
    (void)state;
    enum { LONG = 1 << 16, N = 1 << 20, TAIL = 100 };
    char *token = malloc(LONG + 1), *text = malloc(N), *json = malloc(2 * LONG + 400);
    int32_t *ids;
    size_t n;
    tokenizer *t;
    memset(token, 'a', LONG);
    token[LONG] = 0;
    sprintf(json,
            "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"a\",-5],[\"b\",-5],"
            "[\"%s\",-9],[\"%sb\",-8],[\"ba\",-6]]}}",
            token, token + 1);
    put(json);
    assert_null(tokenizer_open(dir, &t));
    memset(text, 'a', N);
    text[N - TAIL - 1] = 'b';
    text[N - 1] = 'b';
    double began = seconds();
    assert_null(tokenizer_encode(t, text, N, &ids, &n));
    double took = seconds() - began;
    if (took > 3) fail_msg("1 MiB with tokens of 64 KiB took %.1f s", took);
    const int want[6] = {0, LONG - 3, 1, 15, 0, 1}; /* as the package, of which it takes minutes */
    int counts[6] = {0};
    for (size_t i = 0; i < n; i++) counts[ids[i]]++;
    assert_memory_equal(counts, want, sizeof want);
    free(ids);
    tokenizer_free(t);
    free(json);
    free(text);
    free(token);
}

/* Pieces are encoded one after the other in memory that each of them gives back. */
static void many_pieces_take_little_memory(void **state) {
    (void)state;
    enum { N = 1 << 20 };
    const cJSON *kind;
    char *text = malloc(N);
    for (int i = 0; i < N; i++) text[i] = " a1."[i % 4];
    cJSON_ArrayForEach(kind, cJSON_GetObjectItem(all, "kinds")) {
        if (strcmp(cJSON_GetObjectItem(kind, "name")->valuestring, "gpt2") != 0) continue;
        tokenizer *t = opened(cJSON_GetObjectItem(kind, "tokenizer"));
        int32_t *ids;
        size_t n;
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        assert_null(tokenizer_encode(t, text, N, &ids, &n));
        getrusage(RUSAGE_SELF, &after);
        long more = (after.ru_maxrss - before.ru_maxrss) >> 10;
        if (more > 250 && !BUILT_WITH_TSAN) fail_msg("%d bytes of text took %ld MiB", N, more);
        free(ids);
        tokenizer_free(t);
    }
    free(text);
}

/* Rules of which each makes 16 times as much end in an error, not in all memory. */
static void rules_that_multiply_are_an_error(void **state) {
    (void)state;
    static const char rule[] = "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaaaaaaaaaa\"}";
    char rules[4096] = "{\"type\":\"Sequence\",\"normalizers\":[";
    for (int i = 0; i < 20; i++) {
        if (i) strcat(rules, ",");
        strcat(rules, rule);
    }
    strcat(rules, "]}");
    tokenizer *t = of_normalizer(rules);
    int32_t *ids;
    size_t n;
    assert_null(tokenizer_encode(t, "b", 1, &ids, &n));
    free(ids);
    xt_status s = tokenizer_encode(t, "a", 1, &ids, &n);
    assert_non_null(s);
    assert_non_null(strstr(xt_status_message(s), "over a thousand times as much"));
    xt_status_free(s);
    tokenizer_free(t);
}

static void damaged_files_say_so(void **state) {
    (void)state;
    static const struct {
        const char *file, *said;
    } rows[] = {
        {"", "no object \"model\""},
        {"{}", "no object \"model\""},
        {"{\"model\":{\"type\":\"Magic\",\"vocab\":{}}}", "the model \"Magic\" is not known"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", "have the same number, 0"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", "has no number"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1e12},\"merges\":[]}}", "has no number"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}", "the right one of"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a a\"]}}", "what is made of"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[7]}}", "merge 0 is no pair"},
        {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}", "no \"unk_token\""},
        {"{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"vocab\":{\"a\":0}}}", "is not in the vocabulary"},
        {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":3,\"vocab\":[[\"a\",-1]]}}", "unk_id is 3"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", "no pair of a text and a score"},
        {"{\"normalizer\":{\"type\":\"Odd\"},\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}",
         "the normalizer \"Odd\" is not known"},
        {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"////////\"},"
         "\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}",
         "is cut off"},
        {"{\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":\"(\"}},"
         "\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}",
         "the regular expression '(' is none"},
        {"{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}},"
         "{\"Sequence\":{\"id\":\"A\"}}]},\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}",
         "has no ids"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tokenizer *t;
        put(rows[i].file);
        xt_status s = tokenizer_open(dir, &t);
        if (!s || !strstr(xt_status_message(s), rows[i].said))
            fail_msg("'%s' was not said: %s", rows[i].said, xt_status_message(s));
        assert_null(t);
        xt_status_free(s);
    }
}

/* Oniguruma's answers, from the tokenizers package (tests/conformance/tokenizer_regex.py asks it for many more). */
static void expressions_are_onigurumas(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *text, *marked;
    } rows[] = {{"\\p{Han}", "一々〇ー・ぁ", "###ー・ぁ"}, /* a script, without its extensions */
                {"[\\p{Han}a]", "一・a", "#・#"},
                {"[[:alpha:]]", "aⅠ²1́", "##²1́"},
                {"[[:alnum:]]", "a1Ⅰ²٠", "###²#"},
                {"[[:punct:]]", "!$+d€（", "###d##"},
                {"\\p{Punct}", "!$+", "#$+"},
                {"[[:^space:]]", "a\xc2\xa0\xe1\xa0\x8e", "#\xc2\xa0#"}, /* U+180E is no space */
                {"[[:upper:]]", "AⅠǅ", "##ǅ"},
                {"[[:word:]]", "a²Ⅰ́", "#²##"},
                {"\\w", "a²Ⅰ́", "####"},
                {"[\\W]", "a²Ⅰ ", "a#Ⅰ#"},
                {"[^\\W\\d]", "a1 ", "#1 "},
                {"[\\S\\n]", "a \n", "# #"},
                {"\\b", "aः x", "#aः# #x#"},
                {"[a[bc]]", "abc[", "###["},
                {"[^a[bc]]", "abcd[", "abc##"},
                {"[a-c&&b-d]", "abcd", "a##d"},
                {"[\\p{L}&&[^a-z]]", "aBé", "a##"},
                {"[]a]", "a]", "##"},
                {"^a", "a\na", "#\n#"},
                {"a$", "a\na\n", "#\n#\n"},
                {"(?m).", "a\nb", "###"},
                {".", "a\n\r", "#\n#"},
                {"\\v", "a\x0b\x0c", "a#\x0c"},
                {"\\u0041", "A", "#"},
                {"a{1,2}+", "aaaab", "#b"},
                {"(?:a{1,3}+)a", "aaaa", "#"}, /* not possessive */
                {"(?:a{2}+)a", "aaaaa", "#"},
                {"a{,2}b", "aab", "#"},
                {"x{", "x{", "#"},
                {" ?", "a b", "#a#b#"}, /* no empty match right behind another */
                {"a*", "baac", "#b#c#"},
                {"(?i)ß", "xssx xẞx ſS", "x#x x#x #"}, /* one character that is two without case */
                {"(?i)straße", "STRASSE straße", "# #"},
                {"(?i)sss", "xsßx xßsx", "xsßx x#x"},
                {"(?i)ss+", "ß sss", "ß #"}, /* an s, and more of them */
                {"(?i)ß+", "ssß", "#"},
                {"(?i)ffi", "oﬃce ﬀi", "o#ce ﬀi"},
                {"(?i)(?-i)ss", "ß ss", "ß #"},
                {"((?i)ss|x)s", "ßs xs", "# #"},
                {"a(?i)ss|ß", "ss aẞ", "ss #"}, /* for what is behind it up to the group's end */
                {"(?<=(?i)a)b", "Ab", "A#"},
                {"(?x)a b # c", "abc", "#c"},
                {"(?-x)a (?x) b # c", "a bc", "#c"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tok_regex *r;
        tok_arena a = {0};
        xt_status s = tok_regex_new(rows[i].pattern, &r);
        if (s) fail_msg("%s: %s", rows[i].pattern, xt_status_message(s));
        tok_text got = tok_replace(r, (tok_text){rows[i].text, strlen(rows[i].text)}, "#", &a);
        if (got.n != strlen(rows[i].marked) || memcmp(got.data, rows[i].marked, got.n) != 0)
            fail_msg("%s: '%.*s', expected '%s'", rows[i].pattern, (int)got.n, got.data, rows[i].marked);
        tok_arena_free(&a);
        tok_regex_free(r);
    }
}

/* --- token files --- */
static void token_files_come_back(void **state) {
    (void)state;
    char file[128], beside[140];
    snprintf(file, sizeof file, "%s/some.bin", dir);
    snprintf(beside, sizeof beside, "%s.json", file);
    for (int64_t vocab = 60000; vocab < 80000; vocab += 10000) {
        int32_t tokens[100];
        int64_t back[10];
        token_file *f;
        for (int i = 0; i < 100; i++) tokens[i] = (int32_t)((i * 997) % vocab);
        tokens[99] = (int32_t)vocab - 1;
        assert_null(token_file_write(file, tokens, 100, vocab));
        assert_null(token_file_open(file, &f));
        assert_int_equal(token_file_count(f), 100);
        assert_int_equal(token_file_vocab(f), vocab);
        assert_null(token_file_read(f, 90, 10, vocab, back));
        for (int i = 0; i < 10; i++) assert_int_equal(back[i], tokens[90 + i]);
        xt_status s = token_file_read(f, 95, 5, vocab - 1, back);
        assert_non_null(strstr(xt_status_message(s), "token 99 is"));
        xt_status_free(s);
        s = token_file_read(f, 95, 6, vocab, back);
        assert_non_null(strstr(xt_status_message(s), "has become shorter"));
        xt_status_free(s);
        token_file_close(f);
    }
    assert_int_equal(unlink(beside), 0);
    token_file *f;
    assert_null(token_file_open(file, &f)); /* nanoGPT's: 16 bits */
    assert_int_equal(token_file_count(f), 200);
    token_file_close(f);
    assert_null(xt_write_file(file, "abc", 3));
    xt_status s = token_file_open(file, &f);
    assert_non_null(strstr(xt_status_message(s), "no whole number of tokens"));
    xt_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ids_are_the_packages),
                                       cmocka_unit_test(a_vocab_txt_is_berts),
                                       cmocka_unit_test(streams_are_whole_characters),
                                       cmocka_unit_test(any_bytes_have_ids),
                                       cmocka_unit_test(marks_are_put_in_order),
                                       cmocka_unit_test(marks_cost_no_more_than_letters),
                                       cmocka_unit_test(long_tokens_cost_no_more_than_short_ones),
                                       cmocka_unit_test(many_pieces_take_little_memory),
                                       cmocka_unit_test(rules_that_multiply_are_an_error),
                                       cmocka_unit_test(damaged_files_say_so),
                                       cmocka_unit_test(expressions_are_onigurumas),
                                       cmocka_unit_test(token_files_come_back)};
    return cmocka_run_group_tests(tests, begin, end);
}
