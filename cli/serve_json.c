/* Requests and answers in OpenAI's form of completions; see serve.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/serve.h"

/* --- requests --- */
typedef struct reader {
    const cJSON *json;
    char *wrong; /* the first that is */
} reader;

static void refuse(reader *r, const char *name, const char *expected) {
    size_t n = 0;
    FILE *f = r->wrong ? NULL : open_memstream(&r->wrong, &n);
    if (!f) return;
    cli_fprintf(f, "\"%s\": %s is expected", name, expected);
    fclose(f);
}

/* What stands under a name; NULL: nothing, or null. */
static const cJSON *found(const reader *r, const char *name) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(r->json, name);
    return cJSON_IsNull(e) ? NULL : e;
}

static double number(reader *r, const char *name, double low, double high, bool whole, double otherwise) {
    const cJSON *e = found(r, name);
    char expected[80];
    if (!e) return otherwise;
    double v = cJSON_IsNumber(e) ? e->valuedouble : NAN;
    if (v >= low && v <= high && (!whole || v == floor(v))) return v;
    snprintf(expected, sizeof expected, "a %snumber from %.15g to %.15g", whole ? "whole " : "", low, high);
    refuse(r, name, expected);
    return otherwise;
}

static bool flag(reader *r, const char *name) {
    const cJSON *e = found(r, name);
    if (e && !cJSON_IsBool(e)) refuse(r, name, "true or false");
    return cJSON_IsTrue(e);
}

/* A copy of what is taken up: the rest of a body is gone before the request waits for its turn, as a list of zeros is
 * thirty times as large in memory as in the body. */
static char *kept(reader *r, const char *name, const char *text) {
    char *copy = strdup(text);
    if (!copy) refuse(r, name, "a text for which there is memory");
    return copy;
}

/* A text, or a list of one. */
static char *prompt_of(reader *r) {
    const cJSON *e = found(r, "prompt");
    if (cJSON_IsArray(e) && cJSON_GetArraySize(e) == 1) e = e->child;
    if (cJSON_IsString(e) && *e->valuestring) return kept(r, "prompt", e->valuestring);
    refuse(r, "prompt", "a text of at least one character");
    return NULL;
}

/* The conversation in "messages" as a prompt. */
static void conversation_of(reader *r, serve_request *q) {
    const cJSON *list = found(r, "messages"), *e;
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    size_t size, k = 0;
    chat_message *m = n ? calloc((size_t)n, sizeof *m) : NULL;
    for (e = m ? list->child : NULL; e; e = e->next) {
        m[k].role = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "role"));
        m[k].content = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "content"));
        if (!m[k].role || !m[k].content) break;
        k++;
    }
    if (!n || k < (size_t)n)
        refuse(r, "messages", "a list of objects with a text \"role\" and a text \"content\"");
    else if (!q->server->chat) {
        char needed[1200];
        snprintf(needed, sizeof needed, "a chat template that is known (--chat-template names one; %s)",
                 q->server->no_chat);
        refuse(r, "messages", needed);
    } else {
        xt_status s = chat_prompt(q->server->chat, m, k, &q->prompt, &size, &q->turn_end);
        if (s) {
            char needed[300];
            snprintf(needed, sizeof needed, "a conversation that goes from user to assistant in turn (%s)",
                     xt_status_message(s));
            refuse(r, "messages", needed);
            q->prompt = NULL;
        }
        xt_status_free(s);
    }
    free(m);
}

static void stops_of(reader *r, cli_list *out) {
    const cJSON *e = found(r, "stop"), *one;
    if (cJSON_IsString(e) && *e->valuestring) out->items[out->n++] = kept(r, "stop", e->valuestring);
    if (!e || cJSON_IsString(e)) return;
    bool ok = cJSON_IsArray(e) && cJSON_GetArraySize(e) <= SERVE_STOPS;
    for (one = ok ? e->child : NULL; one && ok; one = one->next) {
        ok = cJSON_IsString(one) && *one->valuestring;
        if (ok) out->items[out->n++] = kept(r, "stop", one->valuestring);
    }
    if (!ok) refuse(r, "stop", "a text, or a list of at most 4,");
}

/* True, or how many likely tokens are asked for, of which the one that was taken is given. */
static bool logprobs_of(reader *r) {
    const cJSON *e = found(r, "logprobs");
    if (!e || cJSON_IsBool(e)) return cJSON_IsTrue(e);
    return number(r, "logprobs", 0, 5, true, 0) >= 0;
}

static void read_fields(reader *r, serve_request *q) {
    if (q->chat)
        conversation_of(r, q);
    else
        q->prompt = prompt_of(r);
    const char *tokens = q->chat && found(r, "max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
    q->tokens = (int64_t)number(r, tokens, 1, 1 << 20, true, q->chat ? 512 : 16);
    q->how = (sampling){.temperature = number(r, "temperature", 0, 1000, false, 1),
                        .top_k = (int64_t)number(r, "top_k", 0, 1 << 30, true, 0),
                        .top_p = number(r, "top_p", 0, 1, false, 1),
                        .min_p = number(r, "min_p", 0, 1, false, 0),
                        .repetition_penalty = number(r, "repetition_penalty", 1e-3, 1000, false, 1)};
    if (q->how.top_p == 0) q->how.top_k = 1; /* the fewest are one */
    q->seed = (uint64_t)number(r, "seed", 0, 9007199254740992.0, true, (double)q->number);
    q->stream = flag(r, "stream");
    q->echo = flag(r, "echo");
    q->logprobs = logprobs_of(r);
    if (q->chat && (q->echo || q->logprobs)) refuse(r, q->echo ? "echo" : "logprobs", "/v1/completions");
    stops_of(r, &q->stops);
    number(r, "n", 1, 1, true, 1); /* one text a request */
    number(r, "best_of", 1, 1, true, 1);
}

/* A text with a character 0 in it would be read as far as that, silently. A backslash stands in texts alone. */
static bool has_zero(const char *body, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!body[i] || (n - i >= 6 && memcmp(body + i, "\\u0000", 6) == 0)) return true;
        if (body[i] == '\\') i++;
    }
    return false;
}

char *serve_parse(serve_request *q, const char *body, size_t n) {
    bool zero = has_zero(body, n);
    cJSON *json = zero ? NULL : cJSON_ParseWithLength(body, n);
    reader r = {json, NULL};
    if (cJSON_IsObject(json))
        read_fields(&r, q);
    else
        refuse(&r, "body", zero ? "JSON without the character 0" : "a JSON object");
    cJSON_Delete(json);
    return r.wrong;
}

void serve_asked_free(serve_request *r) {
    free(r->prompt);
    for (int i = 0; i < r->stops.n; i++) free((char *)r->stops.items[i]);
}

/* --- answers --- */
char *serve_error(const char *kind, const char *message, size_t *n) {
    char *out = NULL;
    FILE *f = open_memstream(&out, n);
    if (!f) return NULL;
    cli_fprintf(f, "{\"error\": {\"message\": ");
    cli_json(f, message, strlen(message));
    cli_fprintf(f, ", \"type\": \"%s\", \"param\": null, \"code\": null}}\n", kind);
    fclose(f);
    return out;
}

static void write_model(FILE *f, const server *s) {
    cli_fprintf(f, ", \"model\": ");
    cli_json(f, s->o->model, strlen(s->o->model));
}

char *serve_models(const server *s, size_t *n) {
    char *out = NULL;
    FILE *f = open_memstream(&out, n);
    if (!f) return NULL;
    cli_fprintf(f, "{\"object\": \"list\", \"data\": [{\"id\": ");
    cli_json(f, s->o->model, strlen(s->o->model));
    cli_fprintf(f, ", \"object\": \"model\", \"created\": %lld, \"owned_by\": \"xtrain\"}]}\n", s->began);
    fclose(f);
    return out;
}

static void write_logprobs(FILE *f, const serve_request *r) {
    cli_fprintf(f, ", \"logprobs\": {\"token_logprobs\": [");
    for (int64_t i = 0; i < r->made; i++) cli_fprintf(f, "%s%.6g", i ? ", " : "", r->token_logprobs[i]);
    cli_fprintf(f, "], \"tokens\": [");
    for (int64_t i = 0; i < r->made; i++) {
        char *text = NULL;
        size_t n = 0;
        xt_status_free(
            tokenizer_decode(r->server->model->words, r->text.ids + r->text.n_prompt + i, 1, false, &text, &n));
        if (i) cli_fprintf(f, ", ");
        cli_json(f, text ? text : "", text ? n : 0);
        free(text);
    }
    cli_fprintf(f, "]}");
}

static void write_head(FILE *f, const serve_request *r) {
    const char *object = !r->chat ? "text_completion" : r->stream ? "chat.completion.chunk" : "chat.completion";
    cli_fprintf(f, "{\"id\": \"%s-%llu\", \"object\": \"%s\", \"created\": %lld", r->chat ? "chatcmpl" : "cmpl",
                (unsigned long long)r->number, object, r->created);
    write_model(f, r->server);
    cli_fprintf(f, ", \"choices\": [{\"index\": 0, ");
}

/* role: of a stream in its first event only */
static void write_text(FILE *f, const serve_request *r, bool role, const char *text, size_t n) {
    if (r->chat)
        cli_fprintf(f, "\"%s\": {%s\"content\": ", r->stream ? "delta" : "message",
                    role ? "\"role\": \"assistant\", " : "");
    else
        cli_fprintf(f, "\"text\": ");
    cli_json(f, text, n);
    if (r->chat) cli_fprintf(f, "}");
}

static void write_reason(FILE *f, const char *reason) {
    if (reason)
        cli_fprintf(f, ", \"finish_reason\": \"%s\"}]", reason);
    else
        cli_fprintf(f, ", \"finish_reason\": null}]");
}

char *serve_answer(const serve_request *r, size_t *n) {
    char *out = NULL;
    FILE *f = open_memstream(&out, n);
    if (!f) return NULL;
    size_t n_prompt = r->echo ? strlen(r->prompt) : 0, n_text = n_prompt + r->text.n_text;
    char *text = malloc(n_text + 1);
    if (text) {
        memcpy(text, r->prompt, n_prompt);
        memcpy(text + n_prompt, r->text.text ? r->text.text : "", r->text.n_text);
    }
    write_head(f, r);
    write_text(f, r, true, text ? text : "", text ? n_text : 0);
    free(text);
    if (r->logprobs)
        write_logprobs(f, r);
    else
        cli_fprintf(f, ", \"logprobs\": null");
    write_reason(f, r->reason);
    cli_fprintf(f, ", \"usage\": {\"prompt_tokens\": %zu, \"completion_tokens\": %lld, \"total_tokens\": %lld}}\n",
                r->text.n_prompt, (long long)r->made, (long long)r->text.n_prompt + (long long)r->made);
    fclose(f);
    return out;
}

char *serve_event(serve_request *r, const char *piece, size_t n_piece, const char *reason, size_t *n) {
    char *out = NULL;
    FILE *f = open_memstream(&out, n);
    if (!f) return NULL;
    cli_fprintf(f, "data: ");
    write_head(f, r);
    write_text(f, r, !r->begun, piece, n_piece);
    r->begun = true;
    cli_fprintf(f, ", \"logprobs\": null");
    write_reason(f, reason);
    cli_fprintf(f, "}\n\n");
    fclose(f);
    return out;
}
