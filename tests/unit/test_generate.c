/* Generation: several texts of different lengths at a time have the tokens that each has alone, whenever they begin;
 * and the choice of a token is transformers' (sampling.def). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "models/generate.h"

enum { VOCAB = 29, CONTEXT = 192, TEXTS = 5, MADE = 40 };

static xt_module *make(model_options *o) {
    xt_seed(11);
    *o = (model_options){
        .seq = 8, .context = CONTEXT, .vocab = VOCAB, .layers = 2, .width = 16, .heads = 2, .window = 150};
    xt_module *net = xt_module_new(model_gpt2.net, o);
    assert_null(xt_module_build(net, (xt_spec){XT_I64, {1, 1}}));
    xt_mark_step();
    xt_init_normal(net, "*.weight", .std = 0.4);
    return net;
}

typedef struct story {
    int32_t prompt[200];
    int64_t tokens[MADE];
    double logprobs[MADE], logprob;
    int n;
    int done;
    generate_end why;
} story;

static bool take(int64_t token, void *user) {
    story *s = user;
    s->logprobs[s->n] = s->logprob;
    s->tokens[s->n++] = token;
    return true;
}
static void done(generate_end why, void *user) {
    story *s = user;
    s->why = why;
    s->done++;
}

/* Lengths that take each kind of pass over a prompt, and one that moves on within the text. */
static const int lengths[TEXTS] = {3, 21, 1, 100, 140};
static generate_opts opts_of(int i, story *s) {
    *s = (story){.n = 0};
    for (int k = 0; k < lengths[i]; k++) s->prompt[k] = (k * 5 + k * k * (i + 1)) % VOCAB;
    return (generate_opts){.prompt = s->prompt,
                           .n_prompt = (size_t)lengths[i],
                           .tokens = MADE - 3 * i,
                           .temperature = i % 2 ? 0.9 : 0,
                           .top_k = i == 3 ? 7 : 0,
                           .top_p = i == 1 ? 0.8 : 0,
                           .repetition_penalty = i == 2 ? 1.2 : 0,
                           .seed = (uint64_t)i + 1,
                           .stop = -1,
                           .take = take,
                           .user = s,
                           .logprob = &s->logprob,
                           .done = done};
}

static void expect_story(const story *got, const story *want, int i) {
    if (got->n != want->n || memcmp(got->tokens, want->tokens, sizeof want->tokens) != 0)
        fail_msg("text %d: not the tokens it has alone", i);
    for (int k = 0; k < want->n; k++) assert_true(fabs(got->logprobs[k] - want->logprobs[k]) < 1e-4);
}

static void check_texts(xt_dtype kept) {
    model_options o;
    xt_module *net = make(&o);
    o.kept = kept;
    story alone[TEXTS], together[TEXTS], late[TEXTS];
    generator *g, *h;
    int64_t place;
    assert_null(generator_new(net, &o, &g));
    for (int i = 0; i < TEXTS; i++) {
        generate_opts how = opts_of(i, &alone[i]);
        assert_null(generate(g, &how, NULL));
        assert_int_equal(alone[i].n, how.tokens);
        for (int k = 0; k < alone[i].n; k++) assert_true(alone[i].logprobs[k] <= 0);
    }
    generator_free(g);
    assert_null(generator_new_for(net, &o, TEXTS, 0, &h));
    for (int i = 0; i < TEXTS; i++) {
        generate_opts how = opts_of(i, &together[i]);
        assert_null(generator_begin(h, &how, &place));
    }
    generate_opts more = opts_of(0, &late[0]);
    xt_status full = generator_begin(h, &more, &place);
    assert_int_equal(xt_status_code(full), XT_RESOURCE_EXHAUSTED);
    xt_status_free(full);
    while (generator_busy(h)) assert_null(generator_advance(h));
    for (int i = 0; i < TEXTS; i++) {
        expect_story(&together[i], &alone[i], i);
        assert_int_equal(together[i].done, 1);
        assert_int_equal(together[i].why, GENERATE_LENGTH);
    }
    /* One after the other into places that others have left, while others go on; all programs are known by now. */
    int64_t compiles = xt_counter("compiles");
    for (int i = TEXTS; i-- > 0;) {
        generate_opts how = opts_of(i, &late[i]);
        assert_null(generator_begin(h, &how, &place));
        for (int k = 0; k < 7; k++) assert_null(generator_advance(h));
    }
    while (generator_busy(h)) assert_null(generator_advance(h));
    for (int i = 0; i < TEXTS; i++) expect_story(&late[i], &alone[i], i);
    assert_int_equal(xt_counter("compiles"), compiles);
    generator_free(h);
    xt_module_free(net);
}

static void texts_are_what_they_are_alone(void **state) {
    (void)state;
    check_texts(XT_DTYPE_NONE);
}

/* Keys and values of 16 bits likewise; they are near those of 32. */
static void narrow_keys(void **state) {
    (void)state;
    check_texts(XT_F16);
    check_texts(XT_BF16);
    model_options o;
    xt_module *net = make(&o);
    story wide, narrow;
    generator *g;
    for (int k = 0; k < 2; k++) {
        generate_opts how = opts_of(1, k ? &narrow : &wide);
        how.tokens = 1;
        o.kept = k ? XT_F16 : XT_F32;
        assert_null(generator_new(net, &o, &g));
        assert_null(generate(g, &how, NULL));
        generator_free(g);
    }
    assert_int_equal(narrow.tokens[0], wide.tokens[0]);
    assert_true(fabs(narrow.logprobs[0] - wide.logprobs[0]) < 1e-2);
    assert_true(narrow.logprobs[0] != wide.logprobs[0]); /* other numbers all the same */
    xt_module_free(net);
}

/* A cache that is just long enough changes nothing. */
static void short_texts(void **state) {
    (void)state;
    model_options o;
    xt_module *net = make(&o);
    story whole, cut;
    generator *g;
    for (int k = 0; k < 2; k++) {
        generate_opts how = opts_of(1, k ? &cut : &whole);
        assert_null(generator_new_for(net, &o, 1, k ? (int64_t)how.n_prompt + how.tokens : 0, &g));
        assert_int_equal(generator_context(g), k ? 128 : 150);
        assert_null(generate(g, &how, NULL));
        generator_free(g);
    }
    expect_story(&cut, &whole, 1);
    xt_module_free(net);
}

/* Tokens leave nothing on the device behind: the values of the last step alone are there. */
static void nothing_stays(void **state) {
    (void)state;
    model_options o;
    xt_module *net = make(&o);
    story s;
    generator *g;
    assert_null(generator_new(net, &o, &g));
    int64_t there[2];
    for (int k = 0; k < 2; k++) {
        generate_opts how = opts_of(0, &s);
        assert_null(generate(g, &how, NULL));
        there[k] = live_get(LIVE_buffer);
    }
    assert_int_equal(there[0], there[1]);
    generator_free(g);
    xt_module_free(net);
}

static bool take_two(int64_t token, void *user) {
    return take(token, user) && ((story *)user)->n < 2;
}

/* What ends a text, and that one which nobody wants any more leaves the others alone. */
static void ends(void **state) {
    (void)state;
    model_options o;
    xt_module *net = make(&o);
    story s[3];
    generator *g;
    int64_t place[3];
    assert_null(generator_new_for(net, &o, 3, 0, &g));
    generate_opts how = opts_of(0, &s[0]), other = opts_of(0, &s[1]), third = opts_of(0, &s[2]);
    assert_null(generate(g, &how, NULL));
    how = opts_of(0, &s[0]);
    how.take = take_two;
    other.temperature = 0;
    assert_null(generator_begin(g, &how, &place[0]));
    assert_null(generator_begin(g, &other, &place[1]));
    assert_null(generator_begin(g, &third, &place[2]));
    assert_null(generator_advance(g));
    generator_end(g, place[2]);
    while (generator_busy(g)) assert_null(generator_advance(g));
    assert_int_equal(s[0].n, 2);
    assert_int_equal(s[0].why, GENERATE_TAKEN);
    assert_int_equal(s[1].n, MADE);
    assert_int_equal(s[2].n, 1);
    assert_int_equal(s[2].done, 0);
    int64_t first = s[1].tokens[3];
    int at = 0;
    while (s[1].tokens[at] != first) at++;
    other = opts_of(0, &s[0]);
    other.stop = first;
    assert_null(generate(g, &other, NULL));
    assert_int_equal(s[0].n, at);
    assert_int_equal(s[0].why, GENERATE_STOP);
    generator_free(g);
    xt_module_free(net);
}

/* --- choosing --- */
#define LOGITS(...) static const float logits[] = {__VA_ARGS__};
#define SEEN(...) static const int32_t seen[] = {__VA_ARGS__};
#define ROW(...)
#include "sampling.def"
#undef LOGITS
#undef SEEN
#undef ROW
enum { N = sizeof logits / sizeof logits[0] };

typedef struct row {
    sampling s;
    float scores[N];
} row;
static const row rows[] = {
#define LOGITS(...)
#define SEEN(...)
#define ROW(temperature, k, p, min, penalty, ...) {{temperature, k, p, min, penalty}, {__VA_ARGS__}},
#include "sampling.def"
};

static void scores_are_transformers(void **state) {
    (void)state;
    float own[N], room[2 * N];
    for (size_t r = 0; r < BASE_COUNT(rows); r++) {
        memcpy(own, logits, sizeof own);
        assert_null(sampling_wrong(&rows[r].s));
        sampling_scores(&rows[r].s, own, N, seen, BASE_COUNT(seen), room);
        for (int i = 0; i < N; i++)
            if (!(own[i] == rows[r].scores[i] || fabsf(own[i] - rows[r].scores[i]) <= 1e-5f))
                fail_msg("row %zu, token %d: %g, expected %g", r, i, (double)own[i], (double)rows[r].scores[i]);
    }
}

/* Draws come as often as their probabilities say, and a token's logarithm is that of the model's probability. */
static void draws_follow_the_scores(void **state) {
    (void)state;
    enum { DRAWS = 20000 };
    static const sampling s = {.temperature = 2, .top_k = 6};
    float own[N], room[2 * N], scores[N];
    double sum = 0, all = 0, logprob;
    int count[N] = {0};
    uint64_t random = 9;
    memcpy(scores, logits, sizeof scores);
    sampling_scores(&s, scores, N, NULL, 0, room);
    for (int i = 0; i < N; i++) sum += exp((double)scores[i]), all += exp((double)logits[i]);
    for (int k = 0; k < DRAWS; k++) {
        memcpy(own, logits, sizeof own);
        int64_t token = sampling_next(&s, own, N, NULL, 0, &random, room, &logprob);
        count[token]++;
        assert_true(fabs(logprob - ((double)logits[token] - log(all))) < 1e-5);
    }
    for (int i = 0; i < N; i++) {
        double want = DRAWS * exp((double)scores[i]) / sum;
        assert_true(fabs(count[i] - want) <= 5 * sqrt(want + 1) && (want > 0 || count[i] == 0));
    }
}

static void numbers_that_are_none(void **state) {
    (void)state;
    static const sampling wrong[] = {{.temperature = -1},
                                     {.temperature = NAN},
                                     {.temperature = INFINITY},
                                     {.top_k = -1},
                                     {.top_p = 1.5},
                                     {.top_p = NAN},
                                     {.min_p = -0.1},
                                     {.min_p = 2},
                                     {.repetition_penalty = -1},
                                     {.repetition_penalty = NAN}};
    float own[4] = {NAN, 1, NAN, 0.5f}, room[8];
    uint64_t random = 1;
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) assert_non_null(sampling_wrong(&wrong[i]));
    for (int k = 0; k < 50; k++) { /* of logits that are no numbers none is drawn */
        float again[4];
        memcpy(again, own, sizeof own);
        assert_int_equal(sampling_next(&(sampling){0}, again, 4, NULL, 0, &random, room, NULL), 1);
        memcpy(again, own, sizeof own);
        int64_t token = sampling_next(&(sampling){.temperature = 3, .top_k = 3, .top_p = 0.99}, again, 4, NULL, 0,
                                      &random, room, NULL);
        assert_true(token == 1 || token == 3);
    }
}

static int end(void **state) {
    (void)state;
    return xt_finish() || live_get(LIVE_status) != 0 || live_get(LIVE_module) != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_what_they_are_alone),
                                       cmocka_unit_test(narrow_keys),
                                       cmocka_unit_test(short_texts),
                                       cmocka_unit_test(nothing_stays),
                                       cmocka_unit_test(ends),
                                       cmocka_unit_test(scores_are_transformers),
                                       cmocka_unit_test(draws_follow_the_scores),
                                       cmocka_unit_test(numbers_that_are_none)};
    return cmocka_run_group_tests(tests, NULL, end);
}
