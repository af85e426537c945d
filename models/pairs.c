/* Texts with what is to be said of them; see pairs.h. */
#include "models/pairs.h"

#include <stdlib.h>
#include <string.h>

#include <xtrain/program.h>

#include "models/data_files.h"

enum { NO_LOSS = -100, NO_TOKEN = -1 };

typedef struct text { /* tokens [at,at+n) of all */
    size_t at, n;
} text;
struct pairs {
    pairs_opts o;
    int32_t *ids;
    size_t n, cap;
    text *texts; /* pair i: 2 i is read, 2 i + 1 said */
    size_t n_texts, cap_texts, cut;
    size_t longest[2];
    int refs;
};

static xt_status no_memory(void) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the pairs of texts");
}

void pairs_release(pairs *p) {
    if (!p || --p->refs) return;
    free(p->ids);
    free(p->texts);
    free(p);
}

static bool room(pairs *p, size_t more) {
    if (p->n + more > p->cap) {
        size_t cap = 2 * (p->n + more) + 1024;
        int32_t *ids = realloc(p->ids, cap * sizeof *ids);
        if (!ids) return false;
        p->ids = ids;
        p->cap = cap;
    }
    if (p->n_texts == p->cap_texts) {
        size_t cap = p->cap_texts ? 2 * p->cap_texts : 256;
        text *texts = realloc(p->texts, cap * sizeof *texts);
        if (!texts) return false;
        p->texts = texts;
        p->cap_texts = cap;
    }
    return true;
}

/* What the tokenizer puts around a text stays around it, also where it loses its end. */
static xt_status add_text(pairs *p, const char *said, int which) {
    int32_t *ids = NULL;
    size_t n = 0, most = (size_t)p->o.seq;
    XT_TRY(tokenizer_encode_whole(p->o.words, said, strlen(said), &ids, &n));
    bool ends = p->o.stop >= 0 && n && ids[n - 1] == (int32_t)p->o.stop;
    if (ends) n--; /* a tokenizer without that leaves it to us */
    size_t kept = n + (p->o.stop >= 0) > most ? most - (p->o.stop >= 0) : n;
    bool ok = room(p, kept + 1);
    if (ok) {
        text *t = &p->texts[p->n_texts++];
        *t = (text){p->n, kept};
        memcpy(p->ids + p->n, ids, kept * sizeof *ids);
        if (p->o.stop >= 0) p->ids[p->n + t->n++] = (int32_t)p->o.stop;
        p->n += t->n;
        p->cut += kept < n;
        if (t->n > p->longest[which]) p->longest[which] = t->n;
    }
    free(ids);
    return ok ? NULL : no_memory();
}

static xt_status add_pair(void *user, size_t line, const cJSON *json) {
    static const char *const names[2][2] = {{"input", "prompt"}, {"target", "completion"}};
    const char *said[2] = {NULL, NULL};
    (void)line;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2 && !said[i]; k++)
            said[i] = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, names[i][k]));
    if (!said[0] || !said[1])
        return xt_status_new(XT_DATA_LOSS, "it is no object with texts \"input\" and \"target\" (or \"prompt\" and "
                                           "\"completion\")");
    for (int i = 0; i < 2; i++) XT_TRY(add_text(user, said[i], i));
    return NULL;
}

static xt_status add_file(void *user, const char *path) {
    char *file;
    size_t n;
    if (!data_ends_in(path, ".jsonl"))
        return xt_status_new(
            XT_INVALID_ARGUMENT,
            "%s: a model with an encoder learns from pairs; lines of JSON (*.jsonl) with \"input\" and "
            "\"target\" are expected",
            path);
    XT_TRY(xt_read_file(path, &file, &n));
    xt_status s = data_lines(path, file, n, 0, add_pair, user);
    xt_text_free(file);
    return s;
}

static xt_status check(const pairs *p, const char *path) {
    for (size_t i = 0; i < p->n; i++)
        if (p->ids[i] < 0 || p->ids[i] >= p->o.vocab)
            return xt_status_new(
                XT_INVALID_ARGUMENT,
                "%s: its tokenizer gives a token %d; the model's are 0 to %lld: are they of one model?", path,
                p->ids[i], (long long)p->o.vocab - 1);
    if (!p->n_texts) return xt_status_new(XT_NOT_FOUND, "%s has no pair", path);
    if (!p->longest[0] || !p->longest[1])
        return xt_status_new(XT_INVALID_ARGUMENT, "%s: all of its %s are empty", path,
                             p->longest[0] ? "targets" : "inputs");
    return NULL;
}

xt_status pairs_open(const char *path, const pairs_opts *o, pairs **out) {
    pairs *p = calloc(1, sizeof *p);
    if (!p) return no_memory();
    p->o = *o;
    p->refs = 1;
    xt_status s = data_files(path, add_file, p);
    if (!s) s = check(p, path);
    if (s)
        pairs_release(p);
    else
        *out = p;
    return s;
}

size_t pairs_count(const pairs *p) {
    return p->n_texts / 2;
}
size_t pairs_cut(const pairs *p) {
    return p->cut;
}
int64_t pairs_source(const pairs *p) {
    return (int64_t)p->longest[0];
}
int64_t pairs_target(const pairs *p) {
    return (int64_t)p->longest[1];
}

/* --- samples --- */
typedef struct samples {
    pairs *p;
    size_t first;
} samples;

static void samples_free(void *user) {
    samples *s = user;
    pairs_release(s->p);
    free(s);
}

/* The decoder gets each token in front of the one that it is to say. */
static xt_status get(void *user, int64_t index, void *x, void *y) {
    const samples *s = user;
    const pairs *p = s->p;
    const text *t = &p->texts[2 * (s->first + (size_t)index)];
    const int32_t *read = p->ids + t[0].at, *said = p->ids + t[1].at;
    int64_t *in = x, *labels = y, source = pairs_source(p), target = pairs_target(p);
    for (int64_t k = 0; k < source; k++) in[k] = k < (int64_t)t[0].n ? read[k] : NO_TOKEN;
    for (int64_t k = 0; k < target; k++) {
        bool there = k < (int64_t)t[1].n;
        in[source + k] = k && there ? said[k - 1] : p->o.start;
        if (labels) labels[k] = there ? said[k] : NO_LOSS;
    }
    return NULL;
}

xt_dataset *pairs_dataset(pairs *p, size_t first, size_t end) {
    samples *s = calloc(1, sizeof *s);
    if (!s || end <= first) {
        free(s);
        return NULL;
    }
    *s = (samples){p, first};
    p->refs++;
    xt_dataset_desc d = {.struct_size = sizeof d,
                         .count = (int64_t)(end - first),
                         .x = (xt_spec){XT_I64, {pairs_source(p) + pairs_target(p)}},
                         .y = {XT_I64, {pairs_target(p)}},
                         .get = get,
                         .free_user = samples_free,
                         .user = s,
                         .name = "pairs"};
    xt_dataset *out = xt_dataset_new(&d);
    if (!out) samples_free(s);
    return out;
}
