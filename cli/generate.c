/* xtrain generate: text from a trained GPT-2, or a folder of Llama's family. */
#include "cli/cli.h"
#include "models/generate.h"
#include "models/gpt2_files.h"
#include "models/llama.h"
#include "models/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    const char *model, *ckpt, *tokenizer, *prompt, *device;
    int64_t tokens, top_k, seed;
    double temperature;
    bool json, ignore_stop;
    int64_t stop; /* the token that ends a text; -1 = none */
    model_options of_model;
} options;

typedef struct printer {
    const tokenizer *words;
    int32_t *ids; /* of what is made; room for all of it */
    size_t n;
    token_stream seen;
    bool quiet;
    xt_status failed;
} printer;

/* The text of the tokens that came since the last time: whole characters, as the terminal needs them. */
static bool print_next(printer *p, bool last) {
    char *text;
    size_t n;
    if (p->quiet || p->failed) return !p->failed;
    if ((p->failed = tokenizer_decode_next(p->words, p->ids, p->n, last, &p->seen, &text, &n))) return false;
    cli_text(stdout, text, n);
    fflush(stdout);
    free(text);
    return true;
}

static bool take(int64_t token, void *user) {
    printer *p = user;
    p->ids[p->n++] = (int32_t)token;
    return print_next(p, false);
}

/* The folder of a checkpoint: where config.json and the tokenizer's files are. */
static void folder_of(const char *weights, char *out, size_t n) {
    snprintf(out, n, "%s", weights);
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = 0;
    else
        snprintf(out, n, ".");
}

/* A folder of Llama's family: all sizes are its config.json's; --context is how much of a text is kept in sight. */
static xt_status prepare_llama(options *o, const char *weights, const char *dir, tokenizer **words, xt_module **net,
                               generator **g) {
    static llama_config c; /* the network's, which lives as long as the process */
    char path[4200];
    int64_t context = o->of_model.context ? o->of_model.context : 2048;
    snprintf(path, sizeof path, "%s/config.json", dir);
    XT_TRY(llama_read_config(path, &c));
    llama_generates(&c, context, &o->of_model);
    XT_TRY(tokenizer_open(o->tokenizer ? o->tokenizer : tokenizer_is_in(dir) ? dir : NULL, words));
    o->stop = o->ignore_stop ? -1 : c.stop;
    *net = xt_module_new(llama, &c);
    XT_TRY(llama_load(*net, weights));
    return generator_new(*net, &o->of_model, g);
}

static xt_status prepare(const model *m, options *o, const char *weights, const char *dir, tokenizer **words,
                         xt_module **net, generator **g) {
    char why[256];
    o->stop = -1;
    if (!m) return prepare_llama(o, weights, dir, words, net, g);
    XT_TRY(gpt2_read_config(dir, &o->of_model));
    XT_TRY(tokenizer_open(o->tokenizer ? o->tokenizer : tokenizer_is_in(dir) ? dir : NULL, words));
    if (!o->of_model.vocab) o->of_model.vocab = tokenizer_vocab(*words);
    if (!o->of_model.seq) o->of_model.seq = 1;
    if (!model_settle(m, &o->of_model, why, sizeof why)) return xt_status_new(XT_INVALID_ARGUMENT, "%s", why);
    if (tokenizer_vocab(*words) > o->of_model.vocab)
        return xt_status_new(XT_INVALID_ARGUMENT, "the tokenizer has %lld tokens, the model %lld",
                             (long long)tokenizer_vocab(*words), (long long)o->of_model.vocab);
    *net = xt_module_new(m->net, &o->of_model);
    XT_TRY(gpt2_load(*net, weights));
    return generator_new(*net, &o->of_model, g);
}

static void print_json(const options *o, const char *text, size_t n, const generate_stats *st) {
    cli_printf("{\"model\": \"%s\", \"prompt\": ", o->model);
    cli_json(stdout, o->prompt, strlen(o->prompt));
    cli_printf(", \"text\": ");
    cli_json(stdout, text, n);
    cli_printf(", \"tokens\": %lld, \"prompt_tokens\": %lld, \"tokens_per_s\": %.6g, \"prompt_seconds\": %.6g, "
               "\"compiles\": %lld, \"executions\": %lld}\n",
               (long long)st->tokens, (long long)st->prompt_tokens, st->tokens_per_s, st->prompt_seconds,
               (long long)xt_counter("compiles"), (long long)xt_counter("executions"));
}

/* The text goes on where the prompt ends, so it is what prompt and answer have together, less the prompt. */
static xt_status answer(const options *o, printer *p, generator *g, size_t n, generate_stats *st) {
    generate_opts how = {.prompt = p->ids,
                         .n_prompt = n,
                         .tokens = o->tokens,
                         .temperature = o->temperature,
                         .top_k = o->top_k,
                         .seed = (uint64_t)o->seed,
                         .stop = o->stop,
                         .take = take,
                         .user = p};
    char *text = NULL, *prompt = NULL;
    size_t n_text = 0, n_prompt = 0;
    p->n = n;
    p->seen = (token_stream){n ? n - 1 : 0, n};
    if (!p->quiet) cli_text(stdout, o->prompt, strlen(o->prompt));
    xt_status s = generate(g, &how, st);
    if (!s) print_next(p, true);
    if (!p->quiet) cli_printf("\n");
    if (!s) s = p->failed;
    if (!s) s = tokenizer_decode(p->words, p->ids, n, true, &prompt, &n_prompt);
    if (!s) s = tokenizer_decode(p->words, p->ids, p->n, true, &text, &n_text);
    if (n_prompt > n_text) n_prompt = n_text;
    if (!s && p->quiet) print_json(o, text + n_prompt, n_text - n_prompt, st);
    free(text);
    free(prompt);
    return s;
}

static int say(const options *o, const tokenizer *words, generator *g) {
    int32_t *ids = NULL;
    size_t n = 0;
    xt_status s = tokenizer_encode_whole(words, o->prompt, strlen(o->prompt), &ids, &n);
    if (s) return cli_fail_status("generate", s);
    printer p = {.words = words, .quiet = o->json, .ids = realloc(ids, (n + (size_t)o->tokens) * sizeof *ids)};
    generate_stats st = {0};
    s = p.ids ? answer(o, &p, g, n, &st) : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for the tokens");
    free(p.ids ? p.ids : ids);
    if (s) return cli_fail_status("generate", s);
    fflush(stdout);
    if (!o->json)
        cli_fprintf(stderr, "%lld tokens, %.1f tokens/s; the prompt's %lld in %.2f s; %lld programs compiled\n",
                    (long long)st.tokens, st.tokens_per_s, (long long)st.prompt_tokens, st.prompt_seconds,
                    (long long)xt_counter("compiles"));
    return 0;
}

static const char usage[] =
    "usage: xtrain generate MODEL --ckpt PATH --prompt TEXT [options]\n"
    "       xtrain generate FOLDER --prompt TEXT [options]\n\n"
    "Continues a text with a trained GPT-2, or with a model folder of Hugging Face's (llama, mistral, qwen2, qwen3: "
    "sizes "
    "from its config.json). PATH is a folder that `xtrain fit --ckpt` wrote, a checkpoint in it, or a "
    "model folder of Hugging Face's\n"
    "(config.json, model.safetensors or shards, tokenizer.json or vocab.json and merges.txt). The text goes to stdout, "
    "the speed to stderr.\n\n"
    "  xtrain generate gpt2-mini --ckpt out --prompt 'ROMEO:' --tokens 300 --temperature 0.8 --top-k 40\n"
    "  xtrain generate gpt2 --ckpt ~/gpt2 --prompt 'The meaning of life is'\n"
    "  xtrain generate ~/llama --prompt 'The meaning of life is' --temperature 0\n";

/* Whether MODEL is a folder with a config.json. */
static bool is_model_folder(const char *path) {
    char config[4200];
    return (size_t)snprintf(config, sizeof config, "%s/config.json", path) < sizeof config && access(config, F_OK) == 0;
}

static int run(int argc, char **argv) {
    options o = {.prompt = "\n", .tokens = 200, .temperature = 0.8};
    const cli_option table[] = {
        {"MODEL", CLI_STRING, &o.model, NULL,
         "gpt2, gpt2-mini or gpt2-tiny (sizes that config.json gives win over the model's), or a model's folder"},
        {"--ckpt", CLI_STRING, &o.ckpt, "PATH", "checkpoint, or folder with one (needed)"},
        {"--prompt", CLI_STRING, &o.prompt, "TEXT", "what the text begins with (a new line)"},
        {"--tokens", CLI_COUNT, &o.tokens, "N", "how many to make (200)"},
        {"--temperature", CLI_DOUBLE, &o.temperature, "T",
         "below 1: likelier ones more often; 0: always the likeliest (0.8)"},
        {"--top-k", CLI_INT, &o.top_k, "K", "choose among the K likeliest only (all)"},
        {"--seed", CLI_INT, &o.seed, "S", "the same seed, the same text (0)"},
        {"--tokenizer", CLI_STRING, &o.tokenizer, "DIR",
         "folder with tokenizer.json, or vocab.json and merges.txt (default: the checkpoint's; without: bytes)"},
        {"--device", CLI_STRING, &o.device, "D", "CPU, TPU, CUDA or the path of a PJRT plugin"},
        {"--context", CLI_INT, &o.of_model.context, "N",
         "sizes, where there is no config.json: positions (of a folder: most tokens in sight, 2048),"},
        {"--layers", CLI_INT, &o.of_model.layers, "N", "blocks,"},
        {"--width", CLI_INT, &o.of_model.width, "N", "numbers a position,"},
        {"--heads", CLI_INT, &o.of_model.heads, "N", "and heads"},
        {"--ignore-eos", CLI_FLAG, &o.ignore_stop, NULL, "go on behind the token that ends a text"},
        {"--json", CLI_FLAG, &o.json, NULL, "one JSON object on the last line, with the text in it"},
    };
    int code = cli_parse(argc, argv, usage, table, (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    const model *m = o.model ? model_find(o.model) : NULL;
    bool folder = o.model && !m && is_model_folder(o.model);
    if (folder && !o.ckpt) o.ckpt = o.model;
    if ((!folder && (!m || !m->tokens)) || !o.ckpt || !*o.prompt) {
        cli_fprintf(stderr, "xtrain generate: %s; xtrain generate --help\n",
                    !folder && (!m || !m->tokens)
                        ? "a text model is needed: gpt2, gpt2-mini or gpt2-tiny, or a model's folder"
                    : !o.ckpt ? "--ckpt is needed: which weights?"
                              : "--prompt is empty; at least one character is needed");
        return 2;
    }
    char weights[4096], dir[4096];
    if (!gpt2_find_weights(o.ckpt, weights, sizeof weights))
        return cli_fail("generate",
                        "%s is no checkpoint and no folder with one (last.ckpt, model.safetensors or *.ckpt)", o.ckpt);
    folder_of(weights, dir, sizeof dir);
    if (o.device) setenv("XT_DEVICE", o.device, 1);
    setenv("XT_SUMMARY", "off", 0);
    tokenizer *words = NULL;
    xt_module *net = NULL;
    generator *g = NULL;
    xt_status s = prepare(m, &o, weights, dir, &words, &net, &g);
    code = s ? cli_fail_status("generate", s) : say(&o, words, g);
    generator_free(g);
    xt_module_free(net);
    tokenizer_free(words);
    return cli_end(code);
}

const cli_command cli_generate = {"generate", "continue a text with a trained GPT-2 or a model's folder", run};
