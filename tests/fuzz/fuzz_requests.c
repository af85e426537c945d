/* Fuzz target of what `xtrain generate --serve` reads of a body: the first byte says whether it is a conversation and
 * of which template, the rest is the body. What is taken up lies within the limits that requests have, and its answers
 * are JSON again. */
#include <math.h>

#include <cjson/cJSON.h>
#include <xtrain/xtrain.h>

#define CLI_WRITES
#include "cli/serve.h"
#include "fuzz.h"
#include "mutate_json.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
    if (n < 2 || seed % 3 == 0) return LLVMFuzzerMutate(data, n, most);
    return 1 + mutate_json(data + 1, n - 1, most - 1, seed / 3);
}

static void is_json(char *text, size_t n) {
    cJSON *json = text ? cJSON_ParseWithLength(text, n) : NULL;
    if (!json) abort();
    cJSON_Delete(json);
    free(text);
}

static void answer(serve_request *q) {
    size_t n = 0;
    q->text.text = q->prompt; /* any bytes */
    q->text.n_text = strlen(q->prompt);
    q->reason = "stop";
    bool logprobs = q->logprobs;
    q->logprobs = false; /* none were made */
    char *whole = serve_answer(q, &n);
    is_json(whole, n);
    q->logprobs = logprobs;
    char *event = serve_event(q, q->prompt, strlen(q->prompt), "length", &n);
    if (!event || n < 8 || memcmp(event, "data: ", 6) != 0 || memcmp(event + n - 2, "\n\n", 2) != 0) abort();
    if (memchr(event, '\n', n - 2)) abort(); /* one event, whatever the text */
    memmove(event, event + 6, n - 6);
    is_json(event, n - 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const char *const templates[] = {NULL, "chatml", "llama3", "llama2"};
    if (n == 0) return 0;
    generate_options o = {.model = "a \"model\"\n"};
    const char *name = templates[data[0] / 2 % 4];
    server s = {.o = &o, .chat = name ? chat_template_named(name) : NULL, .no_chat = "there is none"};
    serve_request q = {.server = &s, .number = 7, .chat = data[0] % 2};
    char *wrong = serve_parse(&q, (const char *)data + 1, n - 1);
    if (wrong) {
        size_t size;
        char *text = serve_error("invalid_request_error", wrong, &size);
        is_json(text, size);
    } else {
        bool sane = q.prompt && *q.prompt && q.tokens >= 1 && q.tokens <= 1 << 20 && q.stops.n <= SERVE_STOPS &&
                    q.how.temperature >= 0 && q.how.temperature <= 1000 && q.how.top_k >= 0 && q.how.top_p >= 0 &&
                    q.how.top_p <= 1 && q.how.repetition_penalty > 0 && isfinite(q.how.min_p) &&
                    (!q.chat || (q.turn_end && *q.turn_end));
        for (int i = 0; sane && i < q.stops.n; i++) sane = *q.stops.items[i];
        if (!sane) abort();
        answer(&q);
    }
    free(wrong);
    serve_asked_free(&q);
    return 0;
}
