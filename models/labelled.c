/* Texts for encoders; see labelled.h. */
#include "models/labelled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/program.h>

#include "models/data_files.h"

enum { NO_LOSS = -100 };
static const double ASKED = 0.15, MASKED = 0.8, OTHER = 0.9;

struct labelled {
    labelled_opts o;
    int32_t *tokens; /* [count,seq], -1 behind the last */
    signed char *segments;
    int64_t *labels;
    char **texts; /* labels that are names, while they are read */
    size_t count, cap, cut;
    int32_t mask, *front, *back; /* what stands around a text */
    size_t n_front, n_back;
    int refs;
};

static xt_status no_memory(void) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the texts");
}

void label_names_free(label_names *l) {
    for (size_t i = 0; i < l->n; i++) free(l->names[i]);
    free(l->names);
    *l = (label_names){0};
}

/* There is room for a power of two of them. */
bool label_names_add(label_names *l, const char *name, size_t n) {
    bool full = (l->n & (l->n - 1)) == 0;
    char **more = full ? realloc(l->names, (l->n ? 2 * l->n : 1) * sizeof *more) : l->names;
    if (more) l->names = more;
    if (!more || !(more[l->n] = strndup(name, n))) return false;
    l->n++;
    return true;
}

void labelled_release(labelled *l) {
    if (!l || --l->refs) return;
    for (size_t i = 0; l->texts && i < l->count; i++) free(l->texts[i]);
    free(l->texts);
    free(l->tokens);
    free(l->segments);
    free(l->labels);
    free(l->front);
    free(l->back);
    free(l);
}

size_t labelled_count(const labelled *l) {
    return l->count;
}
size_t labelled_cut(const labelled *l) {
    return l->cut;
}

bool labelled_are(const char *path) {
    char *text;
    size_t n;
    xt_status s = data_ends_in(path, ".jsonl") ? xt_read_file(path, &text, &n) : xt_status_new(XT_NOT_FOUND, "none");
    if (s) {
        xt_status_free(s);
        return false;
    }
    size_t at = strspn(text, " \t\r\n"), k = strcspn(text + at, "\n");
    cJSON *json = cJSON_ParseWithLength(text + at, k);
    bool are = cJSON_GetObjectItemCaseSensitive(json, "label") != NULL;
    cJSON_Delete(json);
    xt_text_free(text);
    return are;
}

static xt_status find_mask(labelled *l) {
    static const char *const names[] = {"[MASK]", "<mask>"};
    for (int64_t id = 0; id < tokenizer_vocab(l->o.words); id++) {
        size_t n = 0;
        const char *token = tokenizer_token(l->o.words, id, &n);
        for (size_t i = 0; token && i < sizeof names / sizeof *names; i++)
            if (n == strlen(names[i]) && memcmp(token, names[i], n) == 0) {
                l->mask = (int32_t)id;
                return NULL;
            }
    }
    return xt_status_new(
        XT_FAILED_PRECONDITION,
        "the tokenizer has no [MASK] (nor <mask>), so no tokens can be left out to be found; texts with "
        "a \"label\" need none");
}

/* --- samples --- */
static xt_status room(labelled *l) {
    if (l->count < l->cap) return NULL;
    size_t cap = l->cap ? 2 * l->cap : 256, row = (size_t)l->o.seq;
    int32_t *tokens = realloc(l->tokens, cap * row * sizeof *tokens);
    if (tokens) l->tokens = tokens;
    signed char *segments = realloc(l->segments, cap * row);
    if (segments) l->segments = segments;
    int64_t *labels = realloc(l->labels, cap * sizeof *labels);
    if (labels) l->labels = labels;
    char **texts = realloc(l->texts, cap * sizeof *texts);
    if (texts) l->texts = texts;
    if (!tokens || !segments || !labels || !texts) return no_memory();
    l->cap = cap;
    return NULL;
}

typedef struct part {
    const int32_t *ids;
    size_t n;
} part;

static size_t put(labelled *l, size_t at, const int32_t *ids, size_t n, int segment) {
    int32_t *tokens = l->tokens + l->count * (size_t)l->o.seq;
    signed char *segments = l->segments + l->count * (size_t)l->o.seq;
    for (size_t i = 0; i < n; i++) {
        tokens[at + i] = ids[i];
        segments[at + i] = (signed char)segment;
    }
    return at + n;
}

/* Of two texts that are too long together the longer one loses its end; where that is not enough each keeps half, and
 * an odd token goes to the one that was longer (tokenizers' longest_first). */
static void cut(part *a, part *b, size_t left) {
    bool swap = a->n > b->n;
    part *less = swap ? b : a, *more = swap ? a : b;
    if (a->n + b->n <= left) return;
    if (less->n <= left / 2) {
        more->n = left - less->n;
        return;
    }
    less->n = left / 2;
    more->n = left - less->n;
}

/* One sample of one text or two, each followed by what ends a text. */
static xt_status add(labelled *l, part a, const part *b) {
    size_t seq = (size_t)l->o.seq, around = l->n_front + l->n_back * (b ? 2 : 1), left = seq - around;
    part second = b ? *b : (part){0};
    XT_TRY(room(l));
    l->cut += a.n + second.n > left;
    if (b)
        cut(&a, &second, left);
    else if (a.n > left)
        a.n = left;
    size_t at = put(l, 0, l->front, l->n_front, 0);
    at = put(l, at, a.ids, a.n, 0);
    at = put(l, at, l->back, l->n_back, 0);
    if (b) {
        at = put(l, at, second.ids, second.n, 1);
        at = put(l, at, l->back, l->n_back, 1);
    }
    for (; at < seq; at++) put(l, at, (int32_t[]){0}, 1, -1);
    l->labels[l->count] = 0;
    l->texts[l->count++] = NULL;
    return NULL;
}

static xt_status encode(const labelled *l, const char *text, int32_t **ids, part *out) {
    XT_TRY(tokenizer_encode(l->o.words, text, strlen(text), ids, &out->n));
    out->ids = *ids;
    for (size_t i = 0; i < out->n; i++)
        if (out->ids[i] < 0 || out->ids[i] >= l->o.vocab)
            return xt_status_new(XT_INVALID_ARGUMENT,
                                 "its tokenizer gives a token %d; the model's are 0 to %lld: are they of one model?",
                                 out->ids[i], (long long)l->o.vocab - 1);
    return NULL;
}

/* A text without a label: as many samples as it is long. */
static xt_status add_text(labelled *l, const char *text) {
    int32_t *ids = NULL;
    part all;
    size_t most = (size_t)l->o.seq - l->n_front - l->n_back;
    xt_status s = encode(l, text, &ids, &all);
    for (size_t at = 0; at < all.n && !s; at += most)
        s = add(l, (part){ids + at, all.n - at < most ? all.n - at : most}, NULL);
    free(ids);
    return s;
}

static xt_status take_label(labelled *l, const cJSON *e) {
    size_t i = l->count - 1;
    if (cJSON_IsNumber(e) && e->valuedouble >= 0 && e->valuedouble < 1 << 20 &&
        e->valuedouble == floor(e->valuedouble)) {
        l->labels[i] = (int64_t)e->valuedouble;
        return NULL;
    }
    if (!cJSON_IsString(e))
        return xt_status_new(XT_DATA_LOSS, "\"label\" is no number from 0 on, and no name of a class");
    return (l->texts[i] = strdup(e->valuestring)) ? NULL : no_memory();
}

static xt_status add_object(labelled *l, const cJSON *json) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "text")),
               *pair = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "text_pair"));
    const cJSON *label = cJSON_GetObjectItemCaseSensitive(json, "label");
    if (!text || (l->o.labels && !label))
        return xt_status_new(XT_DATA_LOSS, "it is no object with a \"text\"%s", l->o.labels ? " and a \"label\"" : "");
    if (!l->o.labels) return add_text(l, text);
    int32_t *ids = NULL, *more = NULL;
    part a, b;
    xt_status s = encode(l, text, &ids, &a);
    if (!s && pair) s = encode(l, pair, &more, &b);
    if (!s) s = add(l, a, pair ? &b : NULL);
    if (!s) s = take_label(l, label);
    free(ids);
    free(more);
    return s;
}

/* --- files --- */
static xt_status add_line(void *l, size_t line, const cJSON *json) {
    (void)line;
    return add_object(l, json);
}

static xt_status without_labels(const char *path) {
    return xt_status_new(XT_INVALID_ARGUMENT,
                         "%s has no labels; a classifier learns from lines of JSON with \"text\" and \"label\"", path);
}

static xt_status add_file(void *user, const char *path) {
    labelled *l = user;
    char *text;
    size_t n;
    XT_TRY(xt_read_file(path, &text, &n));
    xt_status s = data_ends_in(path, ".jsonl") ? data_lines(path, text, n, 0, add_line, l)
                  : l->o.labels                ? without_labels(path)
                                               : add_text(l, text);
    xt_text_free(text);
    return s;
}

/* --- labels --- */
typedef struct named {
    const char *name;
    size_t number;
} named;

static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* names[0, n) in their order, of equal ones the first in front; NULL without memory. */
static named *in_order(char *const *names, size_t n) {
    named *out = malloc((n ? n : 1) * sizeof *out);
    for (size_t i = 0; out && i < n; i++) out[i] = (named){names[i], i};
    if (out) qsort(out, n, sizeof *out, by_name);
    return out;
}

static int64_t number_of(const named *all, size_t n, const char *name) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (strcmp(all[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && strcmp(all[low].name, name) == 0 ? (int64_t)all[low].number : -1;
}

static xt_status name_by_texts(const labelled *l) {
    named *all = in_order(l->texts, l->count);
    bool ok = all != NULL;
    for (size_t i = 0; i < l->count && ok; i++)
        if (i == 0 || strcmp(all[i].name, all[i - 1].name) != 0)
            ok = label_names_add(l->o.names, all[i].name, strlen(all[i].name));
    free(all);
    return ok ? NULL : no_memory();
}

/* Classes that nobody has named are those of the data: names in their order, or numbers up to the greatest. */
static xt_status name_classes(const labelled *l, const char *path) {
    label_names *known = l->o.names;
    size_t by_names = 0;
    int64_t most = 0;
    for (size_t i = 0; i < l->count; i++) {
        by_names += l->texts[i] != NULL;
        if (l->labels[i] > most) most = l->labels[i];
    }
    if (by_names && by_names < l->count)
        return xt_status_new(XT_DATA_LOSS, "%s: %zu labels are names and %zu are numbers; of one kind they must be",
                             path, by_names, l->count - by_names);
    if (by_names) return name_by_texts(l);
    for (int64_t k = 0; k <= most; k++) {
        char name[32];
        snprintf(name, sizeof name, "LABEL_%lld", (long long)k);
        if (!label_names_add(known, name, strlen(name))) return no_memory();
    }
    return NULL;
}

static xt_status number_labels(labelled *l, const char *path) {
    if (l->o.names->n == 0) XT_TRY(name_classes(l, path));
    named *all = in_order(l->o.names->names, l->o.names->n);
    xt_status s = all ? NULL : no_memory();
    for (size_t i = 0; i < l->count && !s; i++) {
        if (l->texts[i]) l->labels[i] = number_of(all, l->o.names->n, l->texts[i]);
        if (l->labels[i] < 0 || l->labels[i] >= (int64_t)l->o.names->n)
            s = xt_status_new(XT_INVALID_ARGUMENT,
                              "%s: text %zu has the label %s, which the model's config.json does not have; its %zu "
                              "classes are %s to %s",
                              path, i + 1, l->texts[i] ? l->texts[i] : "that is too large", l->o.names->n,
                              l->o.names->names[0], l->o.names->names[l->o.names->n - 1]);
    }
    free(all);
    return s;
}

static xt_status check_around(const labelled *l) {
    if ((size_t)l->o.seq > l->n_front + 2 * l->n_back) return NULL;
    return xt_status_new(XT_INVALID_ARGUMENT,
                         "--seq %lld has no room for a text: the tokenizer puts %zu tokens around it",
                         (long long)l->o.seq, l->n_front + 2 * l->n_back);
}

xt_status labelled_open(const char *path, const labelled_opts *o, labelled **out) {
    labelled *l = calloc(1, sizeof *l);
    if (!l) return no_memory();
    l->o = *o;
    l->refs = 1;
    xt_status s = tokenizer_around(o->words, &l->front, &l->n_front, &l->back, &l->n_back);
    if (!s) s = check_around(l);
    if (!s && !o->labels) s = find_mask(l);
    if (!s) s = data_files(path, add_file, l);
    if (!s && !l->count) s = xt_status_new(XT_NOT_FOUND, "%s has no text", path);
    if (!s && o->labels) s = number_labels(l, path);
    if (s)
        labelled_release(l);
    else
        *out = l;
    return s;
}

/* --- datasets --- */
typedef struct samples {
    labelled *l;
    size_t first;
    bool training;
} samples;

static void samples_free(void *user) {
    samples *p = user;
    labelled_release(p->l);
    free(p);
}

/* In [0,1): drawn for the sample, or, where samples stand still, of its place. */
static double draw(const samples *p, uint64_t *state) {
    if (p->training) return xt_sample_uniform();
    *state += 0x9E3779B97F4A7C15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* What stands around a text is never asked for. */
static void ask(const samples *p, size_t i, int64_t *tokens, int64_t *labels) {
    const labelled *l = p->l;
    const signed char *segments = l->segments + i * (size_t)l->o.seq;
    uint64_t state = i * 0xD1342543DE82EF95u;
    int64_t end = 0;
    while (end < l->o.seq && segments[end] >= 0) end++;
    for (int64_t k = 0; k < l->o.seq; k++) {
        bool text = k >= (int64_t)l->n_front && k < end - (int64_t)l->n_back;
        labels[k] = NO_LOSS;
        if (!text || draw(p, &state) >= ASKED) continue;
        labels[k] = tokens[k];
        double what = draw(p, &state);
        if (what < MASKED)
            tokens[k] = l->mask;
        else if (what < OTHER)
            tokens[k] = (int64_t)(draw(p, &state) * (double)l->o.vocab);
    }
}

static xt_status get(void *user, int64_t index, void *x, void *y) {
    const samples *p = user;
    const labelled *l = p->l;
    size_t i = p->first + (size_t)index, seq = (size_t)l->o.seq;
    int64_t *tokens = x, *segments = tokens + seq, unused;
    for (size_t k = 0; k < seq; k++) {
        tokens[k] = l->tokens[i * seq + k];
        segments[k] = l->segments[i * seq + k];
    }
    if (l->o.labels)
        *(y ? (int64_t *)y : &unused) = l->labels[i];
    else if (y)
        ask(p, i, tokens, y);
    return NULL;
}

xt_dataset *labelled_dataset(labelled *l, size_t first, size_t end, bool training) {
    samples *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    *p = (samples){l, first, training};
    l->refs++;
    xt_dataset_desc d = {.struct_size = sizeof d,
                         .count = (int64_t)(end - first),
                         .x = {XT_I64, {2, l->o.seq}},
                         .y = l->o.labels ? (xt_spec){XT_I64, {0}} : (xt_spec){XT_I64, {l->o.seq}},
                         .get = get,
                         .free_user = samples_free,
                         .user = p,
                         .name = l->o.labels ? "labelled texts" : "masked texts"};
    xt_dataset *out = xt_dataset_new(&d);
    if (!out) samples_free(p);
    return out;
}
