/* Records to learn from: labels of prompts and conversations, samples of one record and of several, which the network
 * keeps apart, and templates. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <xtrain/program.h>
#include <xtrain/xtrain.h>

#include "models/llama.h"
#include "models/records.h"

static char path[64];
static tokenizer *bytes;

static int begin(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/xt_records_%d.jsonl", (int)getpid());
    return tokenizer_open(NULL, &bytes) != NULL;
}
static int end(void **state) {
    (void)state;
    remove(path);
    tokenizer_free(bytes);
    return xt_finish();
}

static records *of(const char *text, const char *chat) {
    records *r = NULL;
    records_opts o = {.words = bytes, .chat = chat ? chat_template_named(chat) : NULL, .stop = 0, .vocab = 256};
    xt_status s = xt_write_file(path, text, strlen(text));
    if (!s) s = records_open(path, &o, &r);
    if (s) fail_msg("%s", xt_status_message(s));
    return r;
}

/* What is to be learnt of a record, as text; the token that ends it as '.'. */
static const char *learnt(const records *r, size_t i) {
    static char text[512];
    size_t n = 0;
    for (size_t k = r->begins[i]; k < r->begins[i + 1]; k++)
        if (r->learnt[k]) text[n++] = r->ids[k] ? (char)r->ids[k] : '.';
    text[n] = 0;
    return text;
}

static void what_is_learnt(void **state) {
    (void)state;
    records *r = of("{\"text\": \"ab c\"}\n\n{\"prompt\": \"say: \", \"completion\": \"yes\"}\n", NULL);
    assert_int_equal(r->count, 2);
    assert_string_equal(learnt(r, 0), "ab c.");
    assert_string_equal(learnt(r, 1), "yes.");
    assert_int_equal(r->begins[2] - r->begins[1], 9);
    records_release(r);
    static const char chat[] =
        "{\"messages\": [{\"role\": \"system\", \"content\": \"be\"}, {\"role\": \"user\", \"content\": \" a \"}, "
        "{\"role\": \"assistant\", \"content\": \"b\"}, {\"role\": \"user\", \"content\": \"c\"}, "
        "{\"role\": \"assistant\", \"content\": \"d\"}]}";
    static const struct {
        const char *name, *learnt, *text;
    } rows[] = {
        {"chatml", "b<|im_end|>d<|im_end|>",
         "<|im_start|>system\nbe<|im_end|>\n<|im_start|>user\n a <|im_end|>\n<|im_start|>assistant\n"
         "b<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\nd<|im_end|>\n"},
        {"llama3", "b<|eot_id|>d<|eot_id|>",
         "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nbe<|eot_id|>"
         "<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"
         "<|start_header_id|>assistant<|end_header_id|>\n\nb<|eot_id|>"
         "<|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|>"
         "<|start_header_id|>assistant<|end_header_id|>\n\nd<|eot_id|>"},
        {"llama2", "b </s>d </s>", "<s>[INST] <<SYS>>\nbe\n<</SYS>>\n\na [/INST] b </s><s>[INST] c [/INST] d </s>"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512] = {0};
        r = of(chat, rows[i].name);
        assert_string_equal(learnt(r, 0), rows[i].learnt);
        for (size_t k = 0; k < r->n; k++) text[k] = (char)r->ids[k];
        assert_string_equal(text, rows[i].text);
        records_release(r);
    }
}

enum { SEQ = 8 };
static void sample(xt_dataset *d, int64_t i, int64_t *x, int64_t *y) {
    xt_status s = xt_dataset_get(d, i, x, y);
    if (s) fail_msg("%s", xt_status_message(s));
}

static void samples_have_labels(void **state) {
    (void)state;
    records *r =
        of("{\"prompt\": \"ab\", \"completion\": \"cd\"}\n{\"text\": \"ef\"}\n{\"text\": \"0123456789\"}\n", NULL);
    assert_int_equal(records_cut(r, SEQ), 1);
    int64_t x[2 * SEQ], y[SEQ];
    xt_dataset *d = records_dataset(r, 0, 3, SEQ, false, 7);
    assert_int_equal(xt_dataset_count(d), 3);
    sample(d, 0, x, y);
    static const int64_t x0[SEQ] = {'a', 'b', 'c', 'd', 7, 7, 7, 7},
                         y0[SEQ] = {-100, 'c', 'd', 0, -100, -100, -100, -100};
    assert_memory_equal(x, x0, sizeof x0);
    assert_memory_equal(y, y0, sizeof y0);
    sample(d, 2, x, y);
    static const int64_t y2[SEQ] = {'1', '2', '3', '4', '5', '6', '7', '8'};
    assert_memory_equal(y, y2, sizeof y2);
    xt_dataset_free(d);
    d = records_dataset(r, 0, 3, SEQ, true, 7);
    assert_int_equal(xt_dataset_count(d), 2);
    sample(d, 0, x, y);
    static const int64_t both[2 * SEQ] = {'a', 'b', 'c', 'd', 'e', 'f', 7, 7, 0, 1, 2, 3, 0, 1, 0, 1},
                                  y1[SEQ] = {-100, 'c', 'd', 0, 'f', 0, -100, -100};
    assert_memory_equal(x, both, sizeof both);
    assert_memory_equal(y, y1, sizeof y1);
    xt_dataset_free(d);
    records_release(r);
}

/* Two texts in one row give what each gives alone, with a window too. */
static void packed_texts_are_kept_apart(void **state) {
    (void)state;
    for (int window = 0; window < 3; window += 2) {
        llama_config c = {.vocab = 11,
                          .width = 8,
                          .hidden = 12,
                          .layers = 2,
                          .heads = 2,
                          .kv_heads = 1,
                          .head_dim = 4,
                          .context = 16,
                          .eps = 1e-6,
                          .theta = 100,
                          .rope_factor = 1,
                          .window = window,
                          .tied = true};
        xt_module *net = xt_module_new(llama, &c);
        static const int64_t one[5] = {1, 2, 3, 4, 5}, two[3] = {6, 7, 8},
                             both[16] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 0, 1, 2};
        float apart[8 * 11], packed[8 * 11];
        xt_init_normal(net, "*.weight", .std = 0.5);
        assert_true(xt_read(xt_forward(net, xt_from_array(one, XT_I64, 1, 5)), apart, sizeof *apart * 5 * 11));
        assert_true(xt_read(xt_forward(net, xt_from_array(two, XT_I64, 1, 3)), apart + 5 * 11, sizeof *apart * 3 * 11));
        assert_true(xt_read(xt_forward(net, xt_from_array(both, XT_I64, 1, 2, 8)), packed, sizeof packed));
        for (int i = 0; i < 8 * 11; i++)
            if (!(fabsf(apart[i] - packed[i]) <= 1e-5f * (1 + fabsf(apart[i]))))
                fail_msg("window %d, %d: %g alone, %g packed", window, i, apart[i], packed[i]);
        xt_module_free(net);
    }
}

static void wrong_records_are_told(void **state) {
    (void)state;
    static const struct {
        const char *text, *chat, *said;
    } rows[] = {{"{\"text\": \"a\"}\n{\"text\": 3}\n", NULL, ".jsonl:2: it is no object"},
                {"\n\n[1]", NULL, ".jsonl:3: it is no object"},
                {"{\"messages\": []}", "chatml", "\"messages\" has 0 entries"},
                {"{\"messages\": [{\"role\": \"user\"}]}", "chatml", "message 1 has no text"},
                {"{\"messages\": [{\"role\": \"tool\", \"content\": \"\"}]}", "chatml", "where user is expected"},
                {"{\"messages\": [{\"role\": \"user\", \"content\": \"\"}, {\"role\": \"user\", \"content\": \"\"}]}",
                 "chatml", "message 2 is of the role \"user\", where assistant is expected"},
                {"{\"messages\": [{\"role\": \"user\", \"content\": \"\"}]}", NULL, "need a chat template"},
                {"", NULL, "has no record"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        records *r = NULL;
        records_opts o = {
            .words = bytes, .chat = rows[i].chat ? chat_template_named(rows[i].chat) : NULL, .stop = -1, .vocab = 256};
        assert_null(xt_write_file(path, rows[i].text, strlen(rows[i].text)));
        xt_status s = records_open(path, &o, &r);
        if (!s || !strstr(xt_status_message(s), rows[i].said))
            fail_msg("'%s' was not said: %s", rows[i].said, xt_status_message(s));
        xt_status_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_learnt), cmocka_unit_test(samples_have_labels),
                                       cmocka_unit_test(packed_texts_are_kept_apart),
                                       cmocka_unit_test(wrong_records_are_told)};
    return cmocka_run_group_tests(tests, begin, end);
}
