/* tokenizer.json: added tokens, then the normalizer, the pre-tokenizer, the model and the post-processor, in the order
 * and with the words of Hugging Face's library. */
#include "models/tokenizers/json.h"

#include <stdlib.h>
#include <string.h>

#include <xtrain/program.h>

#include "models/tokenizers/added.h"
#include "models/tokenizers/model.h"

typedef struct around { /* ids that the post-processor puts before and behind a text */
    int32_t before[64], behind[64];
    size_t n_before, n_behind;
} around;
struct tok_json {
    tok_part normalizer, splitter, decoder;
    tok_added_list added;
    tok_model model;
    around specials;
    int64_t vocab;
};

static xt_status no_memory(const tok_arena *a) {
    return xt_status_new(XT_RESOURCE_EXHAUSTED,
                         a && a->gave_up ? "a regular expression of the tokenizer takes too long"
                         : a && a->too_much
                             ? "the tokenizer's rules make over a thousand times as much of a text as it is"
                             : "no memory for a tokenizer");
}

/* --- the post-processor --- */
static xt_status add_around(around *a, bool behind, double id) {
    int32_t *to = behind ? a->behind : a->before;
    size_t *n = behind ? &a->n_behind : &a->n_before, most = sizeof a->before / sizeof a->before[0];
    if (*n == most || !(id >= 0 && id < TOK_MOST_IDS))
        return xt_status_new(XT_DATA_LOSS, "the post-processor has a special token without a number, or more than %zu",
                             most);
    if (!behind) /* what this processor puts in front stands before what an earlier one did, in its own order */
        memmove(to + 1, to, *n * sizeof *to);
    to[behind ? *n : 0] = (int32_t)id;
    ++*n;
    return NULL;
}

static xt_status read_template(around *a, const cJSON *json) {
    const cJSON *single = cJSON_GetObjectItemCaseSensitive(json, "single"),
                *known = cJSON_GetObjectItemCaseSensitive(json, "special_tokens");
    const cJSON *e;
    int n = 0, text = -1;
    cJSON_ArrayForEach(e, single) {
        if (cJSON_GetObjectItemCaseSensitive(e, "Sequence")) {
            if (text >= 0) return xt_status_new(XT_UNIMPLEMENTED, "a template has its text twice; once is known");
            text = n;
        }
        n++;
    }
    if (text < 0) return xt_status_new(XT_DATA_LOSS, "a template has no \"Sequence\"");
    for (int k = 0; k < n; k++) { /* those before the text from behind, since each goes to the front */
        int i = k < text ? text - 1 - k : k;
        if (i == text) continue;
        const cJSON *token = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(single, i), "SpecialToken");
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(token, "id"));
        const cJSON *ids =
            cJSON_GetObjectItemCaseSensitive(name ? cJSON_GetObjectItemCaseSensitive(known, name) : NULL, "ids");
        int n_ids = cJSON_GetArraySize(ids);
        if (!n_ids)
            return xt_status_new(XT_DATA_LOSS, "a template's special token \"%.60s\" has no ids", name ? name : "");
        for (int q = 0; q < n_ids; q++) {
            const cJSON *id = cJSON_GetArrayItem(ids, i < text ? n_ids - 1 - q : q);
            XT_TRY(add_around(a, i > text, cJSON_IsNumber(id) ? id->valuedouble : -1));
        }
    }
    return NULL;
}

static double pair_id(const cJSON *json, const char *name) { /* ["[SEP]", 102] */
    const cJSON *id = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, name), 1);
    return cJSON_IsNumber(id) ? id->valuedouble : -1;
}

static xt_status read_processor(around *a, const cJSON *json) {
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "type"));
    if (!json || cJSON_IsNull(json)) return NULL;
    if (!type) return xt_status_new(XT_DATA_LOSS, "the post-processor has no \"type\"");
    if (strcmp(type, "ByteLevel") == 0) return NULL; /* about offsets alone */
    if (strcmp(type, "TemplateProcessing") == 0) return read_template(a, json);
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
        XT_TRY(add_around(a, false, pair_id(json, "cls")));
        return add_around(a, true, pair_id(json, "sep"));
    }
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "processors"), *e;
    if (strcmp(type, "Sequence") != 0 || !cJSON_IsArray(list))
        return xt_status_new(XT_UNIMPLEMENTED,
                             "the post-processor \"%.60s\" is not known; TemplateProcessing, BertProcessing, "
                             "RobertaProcessing, ByteLevel and Sequence are",
                             type);
    cJSON_ArrayForEach(e, list) XT_TRY(read_processor(a, e));
    return NULL;
}

/* --- opening --- */
static xt_status read_all(tok_json *t, const cJSON *json) {
    if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(json, "model")))
        return xt_status_new(XT_DATA_LOSS, "there is no object \"model\"");
    XT_TRY(tok_model_read(&t->model, cJSON_GetObjectItemCaseSensitive(json, "model")));
    XT_TRY(tok_normalizer_read(&t->normalizer, cJSON_GetObjectItemCaseSensitive(json, "normalizer")));
    XT_TRY(tok_splitter_read(&t->splitter, cJSON_GetObjectItemCaseSensitive(json, "pre_tokenizer")));
    XT_TRY(tok_decoder_read(&t->decoder, cJSON_GetObjectItemCaseSensitive(json, "decoder")));
    XT_TRY(tok_added_read(&t->added, cJSON_GetObjectItemCaseSensitive(json, "added_tokens"), &t->normalizer));
    t->vocab = t->model.vocab.n;
    for (size_t i = 0; i < t->added.n; i++)
        if (t->added.items[i].id >= t->vocab) t->vocab = t->added.items[i].id + 1;
    return read_processor(&t->specials, cJSON_GetObjectItemCaseSensitive(json, "post_processor"));
}

xt_status tok_json_of(const struct cJSON *json, const char *path, tok_json **out) {
    tok_json *t = calloc(1, sizeof *t);
    xt_status s = t ? read_all(t, json) : no_memory(NULL), told;
    *out = NULL;
    if (!s) {
        *out = t;
        return NULL;
    }
    told = xt_status_new(xt_status_code(s), "%s: %s", path, xt_status_message(s));
    xt_status_free(s);
    tok_json_free(t);
    return told;
}

xt_status tok_json_open(const char *path, tok_json **out) {
    char *text;
    size_t n;
    *out = NULL;
    XT_TRY(xt_read_file(path, &text, &n));
    cJSON *json = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    xt_status s = tok_json_of(json, path, out);
    cJSON_Delete(json);
    return s;
}

void tok_json_free(tok_json *t) {
    if (!t) return;
    tok_part_free(&t->normalizer);
    tok_part_free(&t->splitter);
    tok_part_free(&t->decoder);
    tok_added_free(&t->added);
    tok_model_free(&t->model);
    free(t);
}

int64_t tok_json_vocab(const tok_json *t) {
    return t->vocab;
}

const char *tok_json_token(const tok_json *t, int64_t id, size_t *out_n) {
    const tok_added *a = tok_added_find(&t->added, id);
    tok_text text = a                                  ? (tok_text){a->content, strlen(a->content)}
                    : id >= 0 && id < t->model.vocab.n ? t->model.vocab.tokens[id]
                                                       : (tok_text){NULL, 0};
    *out_n = text.n;
    return text.data ? text.data : "";
}

int64_t tok_json_id(const tok_json *t, const char *token) {
    for (size_t i = 0; i < t->added.n; i++)
        if (strcmp(t->added.items[i].content, token) == 0) return t->added.items[i].id;
    return tok_vocab_find(&t->model.vocab, token, strlen(token));
}

/* --- encoding --- */
static xt_status encode(const tok_json *t, tok_text text, tok_ids *ids) {
    tok_arena *a = ids->arena;
    tok_pieces raw = {.arena = a}, normal = {.arena = a}, cut = {.arena = a};
    tok_added_cut(&t->added, false, &(tok_piece){text, true, -1}, &raw);
    for (size_t i = 0; i < raw.n; i++) {
        tok_piece p = raw.items[i];
        if (p.id >= 0) {
            tok_push(&normal, p);
            continue;
        }
        p.text = tok_normalize(&t->normalizer, p.text, a);
        tok_added_cut(&t->added, true, &p, &normal);
    }
    XT_TRY(tok_split(&t->splitter, &normal, &cut));
    for (size_t i = 0; i < cut.n; i++) {
        if (cut.items[i].id >= 0)
            tok_push_id(ids, cut.items[i].id);
        else
            XT_TRY(t->model.encode(&t->model, cut.items[i].text, ids));
        if (a->failed || ids->scratch->failed) return no_memory(a);
        tok_arena_reset(ids->scratch);
    }
    return NULL;
}

xt_status tok_json_encode(const tok_json *t, const char *text, size_t n, bool specials, int32_t **out_ids,
                          size_t *out_n) {
    tok_arena a = {.most = TOK_MOST(n)}, scratch = {0};
    tok_ids ids = {.arena = &a, .scratch = &scratch};
    *out_ids = NULL;
    *out_n = 0;
    for (size_t i = 0; specials && i < t->specials.n_before; i++) tok_push_id(&ids, t->specials.before[i]);
    xt_status s = encode(t, (tok_text){text, n}, &ids);
    for (size_t i = 0; specials && i < t->specials.n_behind; i++) tok_push_id(&ids, t->specials.behind[i]);
    if (!s && !a.failed) *out_ids = malloc((ids.n ? ids.n : 1) * sizeof **out_ids);
    if (!s && !*out_ids) s = no_memory(&a);
    if (!s && ids.n) memcpy(*out_ids, ids.items, ids.n * sizeof **out_ids);
    if (!s) *out_n = ids.n;
    tok_arena_free(&a);
    tok_arena_free(&scratch);
    return s;
}

/* --- decoding --- */
/* Without a decoder words have a space between them. */
static tok_text joined(const tok_json *t, const tok_pieces *tokens) {
    tok_buf b = {.arena = tokens->arena};
    for (size_t i = 0; i < tokens->n; i++) {
        if (i && !t->decoder.kind) tok_add(&b, " ", 1);
        tok_add(&b, tokens->items[i].text.data, tokens->items[i].text.n);
    }
    return tok_whole(&b);
}

xt_status tok_json_decode(const tok_json *t, const int32_t *ids, size_t n, bool skip, char **out, size_t *out_n) {
    tok_arena a = {.most = TOK_MOST(n)};
    tok_pieces tokens = {.arena = &a};
    *out = NULL;
    *out_n = 0;
    for (size_t i = 0; i < n; i++) {
        const tok_added *added = tok_added_find(&t->added, ids[i]);
        tok_text text;
        text.data = tok_json_token(t, ids[i], &text.n);
        if (text.n && !(skip && added && added->special)) tok_push(&tokens, (tok_piece){text, false, 0});
    }
    xt_status s = tok_decode(&t->decoder, &tokens);
    tok_text whole = s ? (tok_text){"", 0} : joined(t, &tokens);
    if (!s && !a.failed) *out = malloc(whole.n + 1);
    if (!s && !*out) s = no_memory(&a);
    if (!s) {
        memcpy(*out, whole.data, whole.n);
        (*out)[ *out_n = whole.n] = 0;
    }
    tok_arena_free(&a);
    return s;
}
