/* Questions with choices, judged as lm-evaluation-harness does (its output type multiple_choice): of each choice the
 * log-probability as a continuation of the question; acc takes the likeliest, acc_norm the likeliest when each is
 * divided by the number of its characters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/program.h>

#include "models/data_files.h"
#include "models/score.h"

static xt_status no_memory(void) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the questions");
}

void questions_free(questions *q) {
    for (size_t i = 0; i < q->n; i++) {
        for (size_t k = 0; k < q->items[i].n; k++) free(q->items[i].choices[k]);
        free(q->items[i].choices);
        free(q->items[i].context);
        free(q->items[i].logprobs);
    }
    free(q->items);
    *q = (questions){0};
}

/* --- reading --- */
/* The entry of the first of some names, up to a NULL, that is there. */
static const cJSON *entry(const cJSON *json, const char *const *names) {
    const cJSON *e = NULL;
    for (; *names && !e; names++) e = cJSON_GetObjectItemCaseSensitive(json, *names);
    return e;
}

/* The right choice: its number, from 0, or its text. -1: none of them. */
static int64_t gold_of(const cJSON *e, const question *q) {
    if (cJSON_IsNumber(e))
        return e->valuedouble >= 0 && e->valuedouble < (double)q->n && e->valuedouble == floor(e->valuedouble)
                   ? (int64_t)e->valuedouble
                   : -1;
    for (size_t i = 0; cJSON_IsString(e) && i < q->n; i++)
        if (strcmp(e->valuestring, q->choices[i]) == 0) return (int64_t)i;
    return -1;
}

static xt_status read_question(const cJSON *json, question *q) {
    static const char *const contexts[] = {"query", "context", "prompt", "question", NULL}, *const golds[] = {
                                                                                                "gold", "answer",
                                                                                                "label", NULL};
    const char *context = cJSON_GetStringValue(entry(json, contexts));
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "choices"), *e;
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (!context || n < 2)
        return xt_status_new(XT_DATA_LOSS, "it is no object with a text \"query\" (or \"context\", \"prompt\", "
                                           "\"question\") and a list \"choices\" of two texts or more");
    q->context = strdup(context);
    q->choices = calloc((size_t)n, sizeof *q->choices);
    q->logprobs = calloc((size_t)n, sizeof *q->logprobs);
    if (!q->context || !q->choices || !q->logprobs) return no_memory();
    cJSON_ArrayForEach(e, list) {
        if (!cJSON_IsString(e) || !*e->valuestring)
            return xt_status_new(XT_DATA_LOSS, "choice %zu is no text, or an empty one", q->n);
        if (!(q->choices[q->n] = strdup(e->valuestring))) return no_memory();
        q->n++;
    }
    q->gold = gold_of(entry(json, golds), q);
    return q->gold >= 0 ? NULL
                        : xt_status_new(XT_DATA_LOSS,
                                        "\"gold\" (or \"answer\", \"label\") is none of the %d choices; the "
                                        "number of one, from 0, or its text is expected",
                                        n);
}

static xt_status add_line(void *user, size_t line, const cJSON *json) {
    questions *q = user;
    if (q->n == q->cap) {
        size_t cap = q->cap ? 2 * q->cap : 64;
        question *more = realloc(q->items, cap * sizeof *more);
        if (!more) return no_memory();
        q->items = more;
        q->cap = cap;
    }
    question *one = &q->items[q->n++];
    *one = (question){.line = line};
    xt_status s = read_question(json, one);
    q->choices += one->n;
    return s;
}

xt_status questions_open(const char *path, int64_t limit, questions *out) {
    char *text;
    size_t n;
    *out = (questions){0};
    XT_TRY(xt_read_file(path, &text, &n));
    xt_status s = data_lines(path, text, n, (size_t)limit, add_line, out);
    xt_text_free(text);
    return s || out->n ? s : xt_status_new(XT_NOT_FOUND, "%s has no question", path);
}

/* --- tokens --- */
typedef struct asking {
    const tokenizer *words;
    const score_opts *o;
    int32_t *front;
    size_t n_front;
} asking;

/* The tokens of question and choice; those of the choice are the ones that the question by itself does not have. White
 * space at the question's end is the choice's. A text that is too long loses its beginning. */
static xt_status tokens_of(const asking *a, const question *q, const char *choice, int32_t **out_ids, score *out) {
    const char *between = a->o->delimiter;
    size_t n = strlen(q->context), k = strlen(between) + strlen(choice), before = n, n_ids, n_before;
    char *text = malloc(n + k + 1);
    int32_t *ids = NULL, *own = NULL;
    if (!text) return no_memory();
    memcpy(text, q->context, n);
    memcpy(text + n, between, strlen(between));
    memcpy(text + n + strlen(between), choice, strlen(choice) + 1);
    while (before && strchr(" \t\n\r\v\f", text[before - 1])) before--;
    xt_status s = tokenizer_encode(a->words, text, n + k, &own, &n_ids);
    if (!s) s = tokenizer_encode(a->words, text, before, &ids, &n_before);
    free(ids);
    free(text);
    bool stop_first = !a->n_front && before == 0 && a->o->stop >= 0; /* something must stand in front */
    size_t front = stop_first ? 1 : a->n_front, first = s ? 0 : front + n_before;
    if (!s && !(ids = malloc((front + n_ids + 1) * sizeof *ids))) s = no_memory();
    if (!s && stop_first) ids[0] = (int32_t)a->o->stop;
    if (!s && a->n_front) memcpy(ids, a->front, front * sizeof *ids);
    if (!s) memcpy(ids + front, own, n_ids * sizeof *ids);
    free(own);
    if (s) return s;
    *out_ids = ids;
    int64_t total = (int64_t)(front + n_ids), cut = total > a->o->seq + 1 ? total - a->o->seq - 1 : 0;
    *out = (score){.ids = ids + cut, .n = total - cut, .from = (int64_t)first - cut};
    if (out->from > 0 && out->from < out->n) return NULL;
    return xt_status_new(XT_INVALID_ARGUMENT,
                         "the choice \"%.40s\" has %lld tokens behind %zu of its question; at least "
                         "one of each is needed, and no more than %lld of the first",
                         choice, (long long)(total - (int64_t)first), first, (long long)a->o->seq);
}

/* Characters of UTF-8, as Python counts them. */
static int64_t characters(const char *text) {
    int64_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void judge(question *q) {
    for (size_t k = 1; k < q->n; k++) {
        if (q->logprobs[k] > q->logprobs[q->best]) q->best = (int64_t)k;
        if (q->logprobs[k] / (double)characters(q->choices[k]) >
            q->logprobs[q->best_norm] / (double)characters(q->choices[q->best_norm]))
            q->best_norm = (int64_t)k;
    }
}

/* Of a mean of n numbers that are 0 or 1, from their sample deviation. */
static double standard_error(double mean, size_t n) {
    return n > 1 ? sqrt(mean * (1 - mean) / (double)(n - 1)) : 0;
}

static void sum_up(questions *q) {
    double right = 0, right_norm = 0;
    for (size_t i = 0; i < q->n; i++) {
        judge(&q->items[i]);
        right += q->items[i].best == q->items[i].gold;
        right_norm += q->items[i].best_norm == q->items[i].gold;
    }
    q->acc = right / (double)q->n;
    q->acc_norm = right_norm / (double)q->n;
    q->acc_stderr = standard_error(q->acc, q->n);
    q->acc_norm_stderr = standard_error(q->acc_norm, q->n);
}

static xt_status all_tokens(const asking *a, const char *path, const questions *q, int32_t **ids, score *all) {
    size_t at = 0;
    for (size_t i = 0; i < q->n; i++)
        for (size_t k = 0; k < q->items[i].n; k++, at++) {
            xt_status s = tokens_of(a, &q->items[i], q->items[i].choices[k], &ids[at], &all[at]);
            if (s) return data_at_line(path, q->items[i].line, s);
        }
    return NULL;
}

xt_status score_questions(xt_module *net, const tokenizer *words, const char *path, const score_opts *o, questions *q) {
    asking a = {.words = words, .o = o};
    size_t n = q->choices, at = 0, n_back = 0;
    int32_t *back = NULL;
    score *all = calloc(n, sizeof *all);
    int32_t **ids = calloc(n, sizeof *ids);
    xt_status s = all && ids ? NULL : no_memory();
    if (!s && !o->plain) s = tokenizer_around(words, &a.front, &a.n_front, &back, &n_back);
    if (!s) s = all_tokens(&a, path, q, ids, all);
    if (!s) s = score_texts(net, o->vocab, all, n, o->seq, o->batch);
    for (size_t i = 0; i < q->n && !s; i++)
        for (size_t k = 0; k < q->items[i].n; k++, at++) q->items[i].logprobs[k] = all[at].logprob;
    if (!s) sum_up(q);
    for (size_t i = 0; ids && i < n; i++) free(ids[i]);
    free(ids);
    free(all);
    free(a.front);
    free(back);
    return s;
}
