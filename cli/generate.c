/* xtrain generate: text from a trained GPT-2, or a folder of Llama's family. */
#include "cli/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xtrain/program.h>

/* One prompt and its text. */
typedef struct story {
    const generate_options *o;
    const char *prompt;
    said text;
    double logprob, *logprobs; /* of each token, where they are asked for */
    size_t n_logprobs;
    bool prints; /* each piece as it comes */
    int64_t made;
    bool ended, timed; /* timed: its speed is known to the end */
    generate_stats speed; /* among several; its tokens are the steps so far */
} story;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_next(story *s, bool ended) {
    size_t n;
    const char *piece = said_next(&s->text, ended, &n);
    if (!s->prints || !piece) return;
    cli_text(stdout, piece, n);
    fflush(stdout);
}

static bool take(int64_t token, void *user) {
    story *s = user;
    if (s->logprobs) s->logprobs[s->n_logprobs++] = s->logprob;
    s->made++;
    bool more = said_add(&s->text, token);
    print_next(s, false);
    return more;
}

static void done(generate_end why, void *user) {
    story *s = user;
    (void)why;
    said_end(&s->text);
    print_next(s, true);
    s->ended = true;
}

static generate_opts opts_of(const generate_model *m, story *s) {
    const generate_options *o = s->o;
    return (generate_opts){.prompt = s->text.ids,
                           .n_prompt = s->text.n,
                           .tokens = o->tokens,
                           .temperature = o->temperature,
                           .top_k = o->top_k,
                           .top_p = o->top_p,
                           .min_p = o->min_p,
                           .repetition_penalty = o->repetition_penalty,
                           .seed = (uint64_t)o->seed,
                           .stop = m->stop,
                           .take = take,
                           .done = done,
                           .user = s,
                           .logprob = s->logprobs ? &s->logprob : NULL};
}

static xt_status story_begin(story *s, const generate_options *o, const generate_model *m, const char *prompt) {
    int32_t *ids = NULL;
    size_t n = 0;
    *s = (story){.o = o, .prompt = prompt};
    XT_TRY(tokenizer_encode_whole(m->words, prompt, strlen(prompt), &ids, &n));
    XT_TRY(said_begin(&s->text, m, &o->stop_words, ids, n));
    if (o->logprobs && !(s->logprobs = malloc((size_t)o->tokens * sizeof *s->logprobs)))
        return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %lld log-probabilities", (long long)o->tokens);
    return NULL;
}

static void story_free(story *s) {
    said_free(&s->text);
    free(s->logprobs);
}

/* --- what is printed --- */
static void print_json(const story *s, const generate_stats *st) {
    cli_printf("{\"model\": \"%s\", \"prompt\": ", s->o->model);
    cli_json(stdout, s->prompt, strlen(s->prompt));
    cli_printf(", \"text\": ");
    cli_json(stdout, s->text.text ? s->text.text : "", s->text.n_text);
    cli_printf(", \"tokens\": %lld, \"prompt_tokens\": %lld, ", (long long)s->made, (long long)s->text.n_prompt);
    for (size_t i = 0; s->logprobs && i < s->n_logprobs; i++)
        cli_printf("%s%.6g%s", i ? ", " : "\"logprobs\": [", s->logprobs[i], i + 1 < s->n_logprobs ? "" : "], ");
    if (st->tokens_per_s > 0)
        cli_printf("\"tokens_per_s\": %.6g, ", st->tokens_per_s);
    else
        cli_printf("\"tokens_per_s\": null, "); /* too few tokens for a rate */
    cli_printf("\"prompt_seconds\": %.6g, \"compiles\": %lld, \"executions\": %lld}\n", st->prompt_seconds,
               (long long)xt_counter("compiles"), (long long)xt_counter("executions"));
}

static void print_speed(const generate_stats *st) {
    cli_fprintf(stderr, "%lld tokens, %.1f tokens/s; the prompts' %lld in %.2f s; %lld programs compiled\n",
                (long long)st->tokens, st->tokens_per_s, (long long)st->prompt_tokens, st->prompt_seconds,
                (long long)xt_counter("compiles"));
}

/* --- one prompt, or many --- */
static xt_status say_one(const generate_options *o, const generate_model *m, const char *prompt) {
    story s;
    generator *g = NULL;
    generate_stats st;
    xt_status e = story_begin(&s, o, m, prompt);
    if (!e) e = generator_new_for(m->net, m->sizes, 1, (int64_t)s.text.n_prompt + o->tokens, &g);
    s.prints = !o->json;
    if (!e && s.prints && !m->sizes->encodes) cli_text(stdout, prompt, strlen(prompt));
    generate_opts how = opts_of(m, &s);
    if (!e) e = generate(g, &how, &st);
    if (!e && s.text.failed) {
        e = s.text.failed;
        s.text.failed = NULL;
    }
    if (!o->json) cli_printf("\n");
    if (!e && o->json) print_json(&s, &st);
    fflush(stdout);
    if (!e) print_speed(&st);
    generator_free(g);
    story_free(&s);
    return e;
}

/* Texts are printed in the order of their prompts, each when it and those before it have ended. */
static size_t print_ended(story *s, size_t printed, size_t begun) {
    for (; printed < begun && s[printed].ended; printed++) {
        story *one = &s[printed];
        if (one->o->json) {
            print_json(one, &one->speed);
        } else {
            cli_text(stdout, one->prompt, strlen(one->prompt));
            cli_text(stdout, one->text.text ? one->text.text : "", one->text.n_text);
            cli_printf("\n");
        }
        fflush(stdout);
    }
    return printed;
}

/* The tokens of all prompts, and the most positions that one of the texts may take. */
static xt_status begin_all(const generate_options *o, const generate_model *m, char *const *prompts, size_t n, story *s,
                           int64_t *out_positions) {
    for (size_t i = 0; i < n; i++) {
        XT_TRY(story_begin(&s[i], o, m, prompts[i]));
        int64_t positions = (int64_t)s[i].text.n_prompt + o->tokens;
        if (positions > *out_positions) *out_positions = positions;
    }
    return NULL;
}

static double rate(double tokens, double seconds) {
    return tokens > 0 && seconds > 0 ? tokens / seconds : 0;
}

/* A step of all texts under way has ended that began at `from`: a text's own rate is as of one alone (generate), from
 * its first step on, and the time of all prompts is none of it. all: NULL in the first step, which may have compiled.
 */
static void note_speed(story *s, size_t printed, size_t begun, double from, generate_stats *all, int64_t busy) {
    double took = now() - from;
    for (size_t i = printed; i < begun; i++) {
        generate_stats *one = &s[i].speed;
        if (s[i].timed) continue;
        if (one->tokens++ > 0) one->seconds += took;
        s[i].timed = s[i].ended;
        one->tokens_per_s = rate((double)(s[i].made - 2), one->seconds);
    }
    if (!all) return;
    all->seconds += took;
    all->tokens += busy;
    all->tokens_per_s = rate((double)all->tokens, all->seconds);
}

static xt_status advance_all(generator *g, const generate_options *o, const generate_model *m, size_t n, story *s,
                             generate_stats *st) {
    size_t begun = 0, printed = 0;
    int64_t steps = 0;
    while (printed < n) {
        int64_t place;
        while (begun < n && generator_busy(g) < o->batch) {
            generate_opts how = opts_of(m, &s[begun]);
            double from = now();
            XT_TRY(generator_begin(g, &how, &place));
            s[begun].speed.prompt_seconds = now() - from;
            st->prompt_seconds += s[begun].speed.prompt_seconds;
            st->prompt_tokens += (int64_t)s[begun++].text.n_prompt;
        }
        double from = now();
        int64_t busy = generator_busy(g);
        XT_TRY(generator_advance(g));
        note_speed(s, printed, begun, from, steps++ > 0 ? st : NULL, busy);
        for (size_t i = printed; i < begun; i++)
            if (s[i].text.failed) {
                xt_status e = s[i].text.failed;
                s[i].text.failed = NULL;
                return e;
            }
        printed = print_ended(s, printed, begun);
    }
    return NULL;
}

static xt_status say_all(const generate_options *o, const generate_model *m, char *const *prompts, size_t n) {
    generate_options sized = *o;
    sized.batch = o->batch < (int64_t)n ? o->batch : (int64_t)n;
    generator *g = NULL;
    generate_stats st = {0};
    story *s = calloc(n, sizeof *s);
    xt_status e = s ? NULL : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %zu texts", n);
    int64_t positions = 0;
    if (!e) e = begin_all(&sized, m, prompts, n, s, &positions);
    if (!e) e = generator_new_for(m->net, m->sizes, sized.batch, positions, &g);
    if (!e) e = advance_all(g, &sized, m, n, s, &st);
    st.tokens = 0;
    for (size_t i = 0; s && i < n; i++) {
        st.tokens += s[i].made;
        story_free(&s[i]);
    }
    if (!e) cli_fprintf(stderr, "%zu texts, %lld at a time: ", n, (long long)sized.batch);
    if (!e) print_speed(&st);
    generator_free(g);
    free(s);
    return e;
}

/* --- the prompts --- */
typedef struct prompts {
    char *file, **items;
    size_t n;
} prompts;

/* A line's text without its end, as Windows writes it too; NULL: there is no line more. */
static char *next_line(char **rest) {
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;
    if (!line || !*line) return NULL;
    *rest = end ? end + 1 : NULL;
    if (!end) end = line + strlen(line);
    if (end > line && end[-1] == '\r') end--;
    *end = 0;
    return line;
}

/* Those of --prompt, then the lines of --prompts that are not empty; the others are counted. */
static xt_status read_prompts(const generate_options *o, prompts *out) {
    size_t bytes = 0, most = (size_t)o->prompt.n + 1;
    if (o->prompts) XT_TRY(xt_read_file(o->prompts, &out->file, &bytes));
    for (size_t i = 0; i < bytes; i++) most += out->file[i] == '\n';
    out->items = calloc(most + 1, sizeof *out->items);
    if (!out->items) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the prompts");
    for (int i = 0; i < o->prompt.n; i++) out->items[out->n++] = (char *)(uintptr_t)o->prompt.items[i];
    size_t empty = 0;
    char *rest = out->file;
    for (char *line; (line = next_line(&rest));) {
        if (*line)
            out->items[out->n++] = line;
        else
            empty++;
    }
    if (empty)
        cli_fprintf(stderr, "xtrain generate: %zu empty line%s of %s %s no prompt\n", empty, empty == 1 ? "" : "s",
                    o->prompts, empty == 1 ? "is" : "are");
    if (!out->n && o->prompts) return xt_status_new(XT_INVALID_ARGUMENT, "%s has no line that is a prompt", o->prompts);
    if (!out->n) out->items[out->n++] = (char *)(uintptr_t) "\n";
    return NULL;
}

static xt_status say(const generate_options *o, const generate_model *m) {
    prompts p = {0};
    xt_status s = read_prompts(o, &p);
    if (!s) s = p.n == 1 ? say_one(o, m, p.items[0]) : say_all(o, m, p.items, p.n);
    free(p.items);
    xt_text_free(p.file);
    return s;
}

#if XT_HAVE_MICROHTTPD
#define SERVE_HELP                                                                                                     \
    "answer OpenAI's /v1/completions and /v1/chat/completions on 127.0.0.1, --batch texts at a time, until SIGINT or " \
    "SIGTERM; 0 = any free port"
#else
#define SERVE_HELP "not in this build of xtrain, which was made without libmicrohttpd"
#endif

static const char usage[] =
    "usage: xtrain generate MODEL --ckpt PATH --prompt TEXT [options]\n"
    "       xtrain generate FOLDER --prompt TEXT [options]\n\n"
    "Continues a text with a trained GPT-2, or with a model folder of Hugging Face's (llama, mistral, qwen2, qwen3, "
    "gpt2: "
    "sizes from its config.json; t5 reads the prompt and says another text). PATH is a folder that `xtrain fit --ckpt` "
    "wrote, a checkpoint in it, or a "
    "model folder of Hugging Face's\n"
    "(config.json, model.safetensors or shards, tokenizer.json or vocab.json and merges.txt). The text goes to stdout, "
    "the speed to stderr.\n\n"
    "  xtrain generate gpt2-mini --ckpt out --prompt 'ROMEO:' --tokens 300 --temperature 0.8 --top-k 40\n"
    "  xtrain generate gpt2 --ckpt ~/gpt2 --prompt 'The meaning of life is'\n"
    "  xtrain generate ~/llama --prompt 'The meaning of life is' --temperature 0\n"
#if XT_HAVE_MICROHTTPD
    "  xtrain generate ~/llama --serve 8000 --batch 16 --weights int8\n"
#endif
    "  xtrain generate ~/llama --prompts lines.txt --batch 16 --stop '\\n' --json\n";

static int settle(generate_options *o) {
    sampling s = {o->temperature, o->top_k, o->top_p, o->min_p, o->repetition_penalty};
    const char *wrong = sampling_wrong(&s);
    if (!wrong && !(o->repetition_penalty > 0)) wrong = "--repetition-penalty is above 0 (1: none)";
    if (o->top_p == 0) o->top_k = 1; /* the fewest are one */
    for (int i = 0; i < o->prompt.n && !wrong; i++)
        if (!*o->prompt.items[i]) wrong = "--prompt is empty; at least one character is needed";
    if (!wrong && o->serve > 65535) wrong = "--serve is a port, from 0 to 65535";
    for (int i = 0; i < o->stop_words.n && !wrong; i++)
        if (!*o->stop_words.items[i]) wrong = "--stop is empty; at least one character is needed";
    if (wrong) cli_fprintf(stderr, "xtrain generate: %s; xtrain generate --help\n", wrong);
    return wrong ? 2 : 0;
}

static int run(int argc, char **argv) {
    generate_options o = {.command = "generate",
                          .tokens = 200,
                          .temperature = 0.8,
                          .top_p = 1,
                          .repetition_penalty = 1,
                          .batch = 8,
                          .serve = -1};
    const cli_option table[] = {
        {"MODEL", CLI_STRING, &o.model, NULL,
         "gpt2, gpt2-mini or gpt2-tiny (sizes that config.json gives win over the model's), or a model's folder"},
        {"--ckpt", CLI_STRING, &o.ckpt, "PATH", "checkpoint, or folder with one (needed)"},
        {"--prompt", CLI_LIST, &o.prompt, "TEXT", "what the text begins with (a new line); may be given several times"},
        {"--prompts", CLI_STRING, &o.prompts, "FILE", "more prompts, one a line"},
        {"--batch", CLI_COUNT, &o.batch, "N", "texts at a time, where there are several prompts (8)"},
        {"--tokens", CLI_COUNT, &o.tokens, "N", "how many to make (200)"},
        {"--temperature", CLI_DOUBLE, &o.temperature, "T",
         "below 1: likelier ones more often; 0: always the likeliest (0.8)"},
        {"--top-k", CLI_INT, &o.top_k, "K", "choose among the K likeliest only (all)"},
        {"--top-p", CLI_DOUBLE, &o.top_p, "P",
         "among the fewest whose probabilities come to P; 0: the likeliest (1: all)"},
        {"--min-p", CLI_DOUBLE, &o.min_p, "P", "among those at least P times as probable as the likeliest (all)"},
        {"--repetition-penalty", CLI_DOUBLE, &o.repetition_penalty, "R",
         "above 1: tokens that were there come less often (1)"},
        {"--seed", CLI_INT, &o.seed, "S", "the same seed, the same text (0)"},
        {"--stop", CLI_LIST, &o.stop_words, "TEXT", "ends the text in front of it; may be given several times"},
        {"--weights", CLI_STRING, &o.weights, "W",
         "in memory as f32, bf16, f16, or those of linear layers as int8 or int4, in groups of 32 (default: a folder's "
         "as its files have them, else f32); sums are f32, those of prompts from numbers of 16 bits unless weights are "
         "f32 "
         "(XT_CPU_ROUNDED_PRODUCTS=off: from f32)"},
        {"--kv-cache", CLI_STRING, &o.kv_cache, "W",
         "keys and values in memory as f32, f16 or bf16 (f32 where the weights are, else f16)"},
        {"--tokenizer", CLI_STRING, &o.tokenizer, "DIR",
         "folder with tokenizer.json, or vocab.json and merges.txt (default: the checkpoint's; without: bytes)"},
        {"--device", CLI_STRING, &o.device, "D", "CPU, TPU, CUDA or the path of a PJRT plugin"},
        {"--context", CLI_INT, &o.of_model.context, "N",
         "sizes, where there is no config.json: positions (of a folder: most tokens in sight, 2048),"},
        {"--layers", CLI_INT, &o.of_model.layers, "N", "blocks,"},
        {"--width", CLI_INT, &o.of_model.width, "N", "numbers a position,"},
        {"--heads", CLI_INT, &o.of_model.heads, "N", "and heads"},
        {"--ignore-eos", CLI_FLAG, &o.ignore_stop, NULL, "go on behind the token that ends a text"},
        {"--logprobs", CLI_FLAG, &o.logprobs, NULL, "with --json: the logarithm of each token's probability"},
        {"--serve", CLI_INT, &o.serve, "PORT", SERVE_HELP},
        {"--chat-template", CLI_STRING, &o.chat_template, "NAME",
         "with --serve, of /v1/chat/completions: chatml, llama3 or llama2 (what the model's folder says)"},
        {"--json", CLI_FLAG, &o.json, NULL, "a JSON object for each text, with the text in it"},
    };
    int code = cli_parse(argc, argv, usage, table, (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    generate_model m = {0};
    xt_status s = NULL;
    code = settle(&o);
    setenv("XT_CPU_ROUNDED_PRODUCTS", "on", 0);
    if (o.serve >= 0) {
        setenv("XT_WATCHDOG", "off", 0); /* who waits for requests is not hung */
        setenv("XT_GROWTH", "off", 0); /* a step's memory is what the clients sent by then */
    }
    if (!code) s = generate_open(&o, &m, &code);
    if (!s && !code && o.serve >= 0)
        code = serve(&o, &m, o.serve);
    else if (!s && !code)
        s = say(&o, &m);
    if (s) code = cli_fail_status("generate", s);
    generate_close(&m);
    return cli_end(code);
}

const cli_command cli_generate = {"generate", "continue a text with a trained GPT-2 or a model's folder", run};
