/* Templates of conversations. ChatML is Qwen's and many others', llama3 and llama2 are Meta's. */
#include "models/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <xtrain/program.h>

typedef struct around {
    const char *before, *after;
} around;
struct chat_template {
    const char *name;
    const char *sign; /* stands in templates of this kind and in no others */
    const char *begin; /* of each conversation */
    around system, user, assistant; /* `after` of the assistant ends its turn */
    const char *turn, *stop; /* what a prompt ends with, for the assistant to go on; what ends its turn */
    const char *behind; /* what follows the end of the assistant's turn, which it need not say */
    bool trims, system_in_user; /* contents without white space around them; the system's stands in the first user's */
};

static const chat_template all[] = {{.name = "chatml",
                                     .sign = "<|im_start|>",
                                     .begin = "",
                                     .system = {"<|im_start|>system\n", "<|im_end|>\n"},
                                     .user = {"<|im_start|>user\n", "<|im_end|>\n"},
                                     .assistant = {"<|im_start|>assistant\n", "<|im_end|>"},
                                     .turn = "<|im_start|>assistant\n",
                                     .stop = "<|im_end|>",
                                     .behind = "\n"},
                                    {.name = "llama3",
                                     .sign = "<|start_header_id|>",
                                     .begin = "<|begin_of_text|>",
                                     .system = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
                                     .user = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
                                     .assistant = {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},
                                     .turn = "<|start_header_id|>assistant<|end_header_id|>\n\n",
                                     .stop = "<|eot_id|>",
                                     .behind = "",
                                     .trims = true},
                                    {.name = "llama2",
                                     .sign = "<<SYS>>",
                                     .begin = "",
                                     .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
                                     .user = {"<s>[INST] ", " [/INST]"},
                                     .assistant = {" ", " </s>"},
                                     .turn = "",
                                     .stop = "</s>",
                                     .behind = "",
                                     .trims = true,
                                     .system_in_user = true}};
enum { TEMPLATES = sizeof all / sizeof *all };

const chat_template *chat_template_named(const char *name) {
    for (int i = 0; i < TEMPLATES; i++)
        if (strcmp(name, all[i].name) == 0) return &all[i];
    return NULL;
}
const char *chat_template_name(const chat_template *t) {
    return t->name;
}

/* --- of a folder --- */
/* A file's text, or one of its JSON's entries; NULL where there is none. free() */
static xt_status text_in(const char *dir, const char *name, const char *entry, char **out) {
    char path[4300], *text;
    size_t n;
    xt_status s = NULL;
    *out = NULL;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path || access(path, F_OK) != 0) return NULL;
    XT_TRY(xt_read_file(path, &text, &n));
    if (!entry)
        *out = strndup(text, n);
    else {
        cJSON *json = cJSON_ParseWithLength(text, n);
        const char *said = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, entry));
        if (said) *out = strdup(said);
        if (!cJSON_IsObject(json)) s = xt_status_new(XT_DATA_LOSS, "%s is no JSON object", path);
        cJSON_Delete(json);
    }
    xt_text_free(text);
    return s;
}

/* Words of templates that add to a conversation what no message has, or take something away. */
static const char *odd_word(const char *text) {
    static const char *const words[] = {"Cutting Knowledge Date", "strftime_now", "<think>", "[TOOL_CALLS]"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i])) return words[i];
    return NULL;
}

xt_status chat_template_of(const char *dir, const chat_template **out) {
    char *text;
    *out = NULL;
    XT_TRY(text_in(dir, "chat_template.jinja", NULL, &text));
    if (!text) XT_TRY(text_in(dir, "tokenizer_config.json", "chat_template", &text));
    if (!text) return NULL;
    const char *odd = odd_word(text);
    for (int i = 0; i < TEMPLATES && !*out; i++)
        if (strstr(text, all[i].sign)) *out = &all[i];
    free(text);
    if (*out && !odd) return NULL;
    const char *near = *out ? (*out)->name : NULL;
    *out = NULL;
    if (near)
        return xt_status_new(XT_UNIMPLEMENTED,
                             "the chat template in %s is %s's with \"%s\", which is not computed here; --chat-template "
                             "%s takes the plain one",
                             dir, near, odd, near);
    return xt_status_new(XT_UNIMPLEMENTED,
                         "the chat template in %s is none of those that are known (chatml, llama3, llama2); "
                         "--chat-template NAME takes one of them, records of \"prompt\" and \"completion\" need none",
                         dir);
}

/* --- a conversation --- */
typedef struct rendering {
    char *text;
    size_t n;
    FILE *f;
    chat_part *parts;
    size_t n_parts, cap;
    bool failed;
} rendering;

static void put(rendering *r, const char *text, size_t n, bool said) {
    if (!n || r->failed) return;
    chat_part *last = r->n_parts ? &r->parts[r->n_parts - 1] : NULL;
    size_t at = last ? last->end : 0;
    r->failed = fwrite(text, 1, n, r->f) != n;
    if (last && last->said == said) {
        last->end += n;
        return;
    }
    if (r->n_parts == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 8;
        chat_part *more = realloc(r->parts, cap * sizeof *more);
        if (!more) {
            r->failed = true;
            return;
        }
        r->parts = more;
        r->cap = cap;
    }
    r->parts[r->n_parts++] = (chat_part){at, at + n, said};
}

static void put_text(rendering *r, const char *text, bool said) {
    put(r, text, strlen(text), said);
}

static void put_content(rendering *r, const chat_template *t, const char *content, bool said) {
    static const char white[] = " \t\n\r\v\f";
    size_t n = strlen(content);
    if (t->trims) {
        size_t k = strspn(content, white);
        content += k;
        n -= k;
        while (n && strchr(white, content[n - 1])) n--;
    }
    put(r, content, n, said);
}

static void put_message(rendering *r, const chat_template *t, const chat_message *m, const chat_message *system) {
    bool said = strcmp(m->role, "assistant") == 0;
    const around *a = said ? &t->assistant : strcmp(m->role, "user") == 0 ? &t->user : &t->system;
    put_text(r, a->before, false);
    if (system && !said) {
        put_text(r, t->system.before, false);
        put_content(r, t, system->content, false);
        put_text(r, t->system.after, false);
    }
    put_content(r, t, m->content, said);
    put_text(r, a->after, said);
    if (said) put_text(r, t->behind, false);
}

static xt_status check_roles(const chat_message *m, size_t n) {
    size_t first = n && strcmp(m[0].role, "system") == 0;
    for (size_t i = first; i < n; i++) {
        const char *want = (i - first) % 2 ? "assistant" : "user";
        if (strcmp(m[i].role, want) != 0)
            return xt_status_new(
                XT_INVALID_ARGUMENT,
                "message %zu is of the role \"%.40s\", where %s is expected (a system message first if "
                "there is one, then user and assistant in turn)",
                i + 1, m[i].role, want);
    }
    return n > first ? NULL : xt_status_new(XT_INVALID_ARGUMENT, "a conversation without a user's message");
}

xt_status chat_render(const chat_template *t, const chat_message *m, size_t n, char **out_text, size_t *out_size,
                      chat_part **out_parts, size_t *out_n) {
    rendering r = {0};
    XT_TRY(check_roles(m, n));
    r.f = open_memstream(&r.text, &r.n);
    if (!r.f) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a conversation");
    bool system = strcmp(m[0].role, "system") == 0, inside = system && t->system_in_user;
    put_text(&r, t->begin, false);
    for (size_t i = inside; i < n; i++) put_message(&r, t, &m[i], inside && i == 1 ? &m[0] : NULL);
    bool failed = fclose(r.f) != 0 || r.failed;
    if (failed) {
        free(r.text);
        free(r.parts);
        return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a conversation");
    }
    *out_text = r.text;
    *out_size = r.n;
    *out_parts = r.parts;
    *out_n = r.n_parts;
    return NULL;
}

xt_status chat_prompt(const chat_template *t, const chat_message *m, size_t n, char **out_text, size_t *out_size,
                      const char **out_stop) {
    chat_part *parts;
    size_t n_parts, turn = strlen(t->turn);
    if (n && strcmp(m[n - 1].role, "user") != 0)
        return xt_status_new(XT_INVALID_ARGUMENT, "the last message is of the role \"%.40s\"; a user's is expected",
                             m[n - 1].role);
    XT_TRY(chat_render(t, m, n, out_text, out_size, &parts, &n_parts));
    free(parts);
    char *longer = realloc(*out_text, *out_size + turn + 1);
    if (!longer) {
        free(*out_text);
        return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a conversation");
    }
    memcpy(longer + *out_size, t->turn, turn + 1);
    *out_text = longer;
    *out_size += turn;
    *out_stop = t->stop;
    return NULL;
}
