/* Texts to learn from; see records.h. */
#include "models/records.h"

#include <stdlib.h>
#include <string.h>

#include <xtrain/program.h>

#include "models/data_files.h"

enum { NO_LOSS = -100, MESSAGES = 1 << 16 };

static xt_status no_memory(void) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the records");
}

bool records_are(const char *path) {
    return data_ends_in(path, ".jsonl") || data_is_folder(path);
}

void records_release(records *r) {
    if (!r || --r->refs) return;
    free(r->ids);
    free(r->learnt);
    free(r->begins);
    free(r);
}

/* --- one record --- */
static xt_status room(records *r, size_t more) {
    if (r->n + more > r->cap) {
        size_t cap = 2 * r->cap > r->n + more ? 2 * r->cap : r->n + more + 1024;
        int32_t *ids = realloc(r->ids, cap * sizeof *ids);
        if (ids) r->ids = ids;
        unsigned char *learnt = realloc(r->learnt, cap);
        if (learnt) r->learnt = learnt;
        if (!ids || !learnt) return no_memory();
        r->cap = cap;
    }
    if (r->count + 2 > r->cap_begins) {
        size_t cap = r->cap_begins ? 2 * r->cap_begins : 256, *begins = realloc(r->begins, cap * sizeof *begins);
        if (!begins) return no_memory();
        r->begins = begins;
        r->cap_begins = cap;
    }
    return NULL;
}

static void end_record(records *r) {
    if (r->count == 0) r->begins[0] = 0;
    if (r->n > r->begins[r->count]) r->begins[++r->count] = r->n;
}

/* The places of a part's tokens: what comes before it has so many tokens by itself. A token that reaches from one part
 * into another belongs to the one that it begins in. */
static xt_status tokens_before(const records_opts *o, const char *text, size_t end, const int32_t *ids, size_t n,
                               size_t *out, bool *straddles) {
    int32_t *some;
    XT_TRY(tokenizer_encode(o->words, text, end, &some, out));
    if (*out > n) *out = n;
    *straddles = *straddles || (*out && memcmp(ids, some, *out * sizeof *ids) != 0);
    free(some);
    return NULL;
}

static xt_status mark(records *r, const records_opts *o, const char *text, size_t size, const chat_part *parts,
                      size_t n_parts, const int32_t *ids, size_t n) {
    bool straddles = false;
    unsigned char *learnt = r->learnt + r->n;
    memset(learnt, n_parts == 0, n);
    if (n_parts) r->all_learnt = false;
    for (size_t i = 0; i < n_parts; i++) {
        size_t from, to = n;
        if (!parts[i].said) continue;
        XT_TRY(tokens_before(o, text, parts[i].begin, ids, n, &from, &straddles));
        if (parts[i].end < size) XT_TRY(tokens_before(o, text, parts[i].end, ids, n, &to, &straddles));
        if (to > from) memset(learnt + from, 1, to - from);
    }
    r->straddling += straddles;
    return NULL;
}

/* Without parts all of it is learnt. What the tokenizer puts in front of a text comes first, the token that ends one
 * last, unless the text itself has both (a conversation). */
static xt_status add(records *r, const records_opts *o, const char *text, size_t size, const chat_part *parts,
                     size_t n_parts, bool whole) {
    int32_t *ids = NULL, *with = NULL;
    size_t n = 0, n_with = 0, front = 0;
    xt_status s = tokenizer_encode(o->words, text, size, &ids, &n);
    if (!s && !whole) s = tokenizer_encode_whole(o->words, text, size, &with, &n_with);
    while (!s && n_with > n && front + n < n_with && memcmp(with + front, ids, n * sizeof *ids) != 0) front++;
    if (!s && front + n > n_with) front = 0;
    if (!s) s = room(r, n + front + 1);
    if (!s && front) {
        memcpy(r->ids + r->n, with, front * sizeof *ids);
        memset(r->learnt + r->n, 0, front);
        r->n += front;
    }
    if (!s) s = mark(r, o, text, size, parts, n_parts, ids, n);
    if (!s) {
        memcpy(r->ids + r->n, ids, n * sizeof *ids);
        r->n += n;
        if (!whole && o->stop >= 0) {
            r->learnt[r->n] = 1;
            r->ids[r->n++] = (int32_t)o->stop;
        }
        end_record(r);
    }
    free(ids);
    free(with);
    return s;
}

static xt_status add_pair(records *r, const records_opts *o, const char *prompt, const char *completion) {
    size_t n = strlen(prompt), k = strlen(completion);
    char *text = malloc(n + k + 1);
    if (!text) return no_memory();
    memcpy(text, prompt, n);
    memcpy(text + n, completion, k + 1);
    const chat_part parts[2] = {{0, n, false}, {n, n + k, true}};
    xt_status s = add(r, o, text, n + k, parts, 2, false);
    free(text);
    return s;
}

static xt_status add_messages(records *r, const records_opts *o, const cJSON *list) {
    int n = cJSON_GetArraySize(list);
    const cJSON *e;
    size_t k = 0;
    if (!o->chat)
        return xt_status_new(XT_FAILED_PRECONDITION, "%s",
                             o->no_chat ? o->no_chat
                                        : "\"messages\" need a chat template, and the model's folder has "
                                          "none; --chat-template chatml, llama3 or llama2 says which");
    chat_message *m = n > 0 && n < MESSAGES ? calloc((size_t)n, sizeof *m) : NULL;
    if (!m) return n > 0 && n < MESSAGES ? no_memory() : xt_status_new(XT_DATA_LOSS, "\"messages\" has %d entries", n);
    cJSON_ArrayForEach(e, list) {
        m[k].role = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "role"));
        m[k].content = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "content"));
        if (!m[k].role || !m[k].content) break;
        k++;
    }
    xt_status s = k == (size_t)n
                      ? NULL
                      : xt_status_new(XT_DATA_LOSS, "message %zu has no text \"role\" or no text \"content\"", k + 1);
    char *text = NULL;
    chat_part *parts = NULL;
    size_t size = 0, n_parts = 0;
    if (!s) s = chat_render(o->chat, m, k, &text, &size, &parts, &n_parts);
    if (!s) s = add(r, o, text, size, parts, n_parts, true);
    free(text);
    free(parts);
    free(m);
    return s;
}

static xt_status add_object(records *r, const records_opts *o, const cJSON *json) {
    const cJSON *messages = cJSON_GetObjectItemCaseSensitive(json, "messages");
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "text")),
               *prompt = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "prompt")),
               *completion = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "completion"));
    if (cJSON_IsArray(messages)) return add_messages(r, o, messages);
    if (prompt && completion) return add_pair(r, o, prompt, completion);
    if (text) return add(r, o, text, strlen(text), NULL, 0, false);
    return xt_status_new(XT_DATA_LOSS, "it is no object with a \"text\", with \"prompt\" and \"completion\", or with "
                                       "\"messages\"");
}

/* --- files --- */
typedef struct reading {
    records *r;
    const records_opts *o;
} reading;

static xt_status add_line(void *user, size_t line, const cJSON *json) {
    const reading *to = user;
    (void)line;
    return add_object(to->r, to->o, json);
}

static xt_status add_file(void *user, const char *path) {
    const reading *to = user;
    char *text;
    size_t n;
    XT_TRY(xt_read_file(path, &text, &n));
    to->r->bytes += n;
    xt_status s = data_ends_in(path, ".jsonl") ? data_lines(path, text, n, 0, add_line, user)
                                               : add(to->r, to->o, text, n, NULL, 0, false);
    xt_text_free(text);
    return s;
}

static xt_status check_tokens(const records *r, const char *path, int64_t vocab) {
    for (size_t i = 0; i < r->n; i++)
        if (r->ids[i] < 0 || r->ids[i] >= vocab)
            return xt_status_new(
                XT_INVALID_ARGUMENT,
                "%s: its tokenizer gives a token %d; the model's are 0 to %lld: are they of one model?", path,
                r->ids[i], (long long)vocab - 1);
    return r->count ? NULL : xt_status_new(XT_NOT_FOUND, "%s has no record", path);
}

xt_status records_open(const char *path, const records_opts *o, records **out) {
    records *r = calloc(1, sizeof *r);
    if (!r) return no_memory();
    r->refs = 1;
    r->all_learnt = true;
    xt_status s = data_files(path, add_file, &(reading){r, o});
    if (!s) s = check_tokens(r, path, o->vocab);
    if (s)
        records_release(r);
    else
        *out = r;
    return s;
}

size_t records_cut(const records *r, int64_t seq) {
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) n += r->begins[i + 1] - r->begins[i] > (size_t)seq + 1;
    return n;
}

/* Labels of record i in a sample: of the tokens behind its first one, as far as the sample reaches. */
static size_t labels(const records *r, size_t i, int64_t seq) {
    size_t n = 0, end = r->begins[i] + (size_t)seq + 1;
    if (end > r->begins[i + 1]) end = r->begins[i + 1];
    for (size_t k = r->begins[i] + 1; k < end; k++) n += r->learnt[k];
    return n;
}

size_t records_learnt(const records *r, int64_t seq) {
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) n += labels(r, i, seq);
    return n;
}

size_t records_leave_unlearnt(records *r, int64_t seq) {
    size_t kept = 0, to = 0, before = r->count;
    for (size_t i = 0; i < before; i++) {
        size_t from = r->begins[i], n = r->begins[i + 1] - from;
        if (!labels(r, i, seq)) continue;
        memmove(r->ids + to, r->ids + from, n * sizeof *r->ids);
        memmove(r->learnt + to, r->learnt + from, n);
        r->begins[kept++] = to; /* at most as far as the record that is read */
        to += n;
    }
    r->begins[kept] = r->n = to;
    r->count = kept;
    return before - kept;
}

xt_status records_as_text(records *r, int64_t vocab, text_corpus **out) {
    xt_status s = text_of_tokens(r->ids, r->n, r->bytes, vocab, out);
    if (!s) r->ids = NULL;
    records_release(r);
    return s;
}

/* --- samples --- */
typedef struct samples {
    records *r;
    int64_t seq, pad;
    bool packed;
    size_t *firsts; /* sample i has records firsts[i] to firsts[i + 1] - 1 */
    size_t count;
} samples;

static void samples_free(void *user) {
    samples *p = user;
    records_release(p->r);
    free(p->firsts);
    free(p);
}

/* Tokens that a record takes in a sample: the last of them is a label alone. */
static int64_t length(const records *r, size_t i, int64_t seq) {
    int64_t n = (int64_t)(r->begins[i + 1] - r->begins[i]) - 1;
    return n < 1 ? 1 : n > seq ? seq : n;
}

static xt_status get(void *user, int64_t index, void *x, void *y) {
    const samples *p = user;
    int64_t *tokens = x, *places = tokens + p->seq, *labels = y, at = 0;
    for (size_t i = p->firsts[index]; i < p->firsts[index + 1]; i++) {
        size_t from = p->r->begins[i], end = p->r->begins[i + 1];
        int64_t n = length(p->r, i, p->seq);
        for (int64_t k = 0; k < n; k++, at++) {
            size_t next = from + (size_t)k + 1;
            tokens[at] = p->r->ids[from + (size_t)k];
            if (p->packed) places[at] = k;
            if (labels) labels[at] = next < end && p->r->learnt[next] ? p->r->ids[next] : NO_LOSS;
        }
    }
    for (int64_t k = 0; at < p->seq; k++, at++) { /* what is filled up is a text of its own, and nobody's label */
        tokens[at] = p->pad;
        if (p->packed) places[at] = k;
        if (labels) labels[at] = NO_LOSS;
    }
    return NULL;
}

/* Records in their order, as many as fit. */
static void pack(samples *p, size_t first, size_t end) {
    int64_t used = 0;
    p->firsts[0] = first;
    for (size_t i = first; i < end; i++) {
        int64_t n = length(p->r, i, p->seq);
        if (i > first && (!p->packed || used + n > p->seq)) {
            p->firsts[++p->count] = i;
            used = 0;
        }
        used += n;
    }
    p->firsts[++p->count] = end;
}

xt_dataset *records_dataset(records *r, size_t first, size_t end, int64_t seq, bool packed, int64_t pad) {
    samples *p = calloc(1, sizeof *p);
    if (!p || end <= first || !(p->firsts = calloc(end - first + 2, sizeof *p->firsts))) {
        free(p);
        return NULL;
    }
    p->r = r;
    p->seq = seq;
    p->pad = pad;
    p->packed = packed;
    pack(p, first, end);
    r->refs++;
    xt_dataset_desc d = {.struct_size = sizeof d,
                         .count = (int64_t)p->count,
                         .x = packed ? (xt_spec){XT_I64, {2, seq}} : (xt_spec){XT_I64, {seq}},
                         .y = {XT_I64, {seq}},
                         .get = get,
                         .free_user = samples_free,
                         .user = p,
                         .name = packed ? "packed records" : "records"};
    xt_dataset *out = xt_dataset_new(&d);
    if (!out) samples_free(p);
    return out;
}
