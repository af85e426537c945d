/* xtrain evaluate: the perplexity of a text to a language model, and how many questions with choices it gets right. */
#include "cli/generate.h"
#include "models/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct evaluate_options {
    generate_options model;
    score_opts score;
    const char *text, *choices, *samples;
    bool json;
} evaluate_options;

static const char usage[] =
    "usage: xtrain evaluate FOLDER --perplexity FILE [options]\n"
    "       xtrain evaluate FOLDER --choices FILE.jsonl [options]\n\n"
    "Judges a model's folder of Hugging Face's (llama, mistral, qwen2, qwen3), or a GPT-2 with --ckpt, on texts that "
    "are "
    "there. The perplexity is taken in windows of --seq\n"
    "tokens, --stride apart, in which those tokens count that no window had yet. Each line of FILE.jsonl is a "
    "question, "
    "{\"query\": \"...\", \"choices\": [\"...\", ...], \"gold\": 0}:\n"
    "the model takes the choice that is the likeliest continuation (acc), or the likeliest for its length (acc_norm), "
    "as lm-evaluation-harness does.\n\n"
    "  xtrain evaluate ~/llama --perplexity wiki.test.txt --stride 512\n"
    "  xtrain evaluate gpt2 --ckpt ~/gpt2 --choices arc_easy.jsonl --json\n";

/* --- what is printed --- */
static double per(double nll, double n) {
    return n > 0 ? nll / n : 0;
}

static void print_perplexity(const evaluate_options *o, const perplexity *p) {
    double loss = per(p->nll, (double)p->predicted), bits = per(p->nll, (double)p->bytes) / log(2);
    if (o->json)
        cli_printf("\"perplexity\": {\"file\": \"%s\", \"tokens\": %lld, \"predicted\": %lld, \"seq\": %lld, "
                   "\"stride\": %lld, \"loss\": %.9g, \"perplexity\": %.9g, \"word_perplexity\": %.9g, "
                   "\"byte_perplexity\": %.9g, \"bits_per_byte\": %.9g}, ",
                   o->text, (long long)p->tokens, (long long)p->predicted, (long long)o->score.seq,
                   (long long)o->score.stride, loss, exp(loss), exp(per(p->nll, (double)p->words)),
                   exp(per(p->nll, (double)p->bytes)), bits);
    else
        cli_printf("%s: %lld tokens, %lld of them predicted, in windows of %lld, %lld apart\n"
                   "loss %.6g  perplexity %.6g  word_perplexity %.6g  byte_perplexity %.6g  bits_per_byte %.6g\n",
                   o->text, (long long)p->tokens, (long long)p->predicted, (long long)o->score.seq,
                   (long long)o->score.stride, loss, exp(loss), exp(per(p->nll, (double)p->words)),
                   exp(per(p->nll, (double)p->bytes)), bits);
}

static void print_questions(const evaluate_options *o, const questions *q) {
    if (o->json)
        cli_printf("\"choices\": {\"file\": \"%s\", \"questions\": %zu, \"choices\": %zu, \"acc\": %.9g, "
                   "\"acc_stderr\": %.9g, \"acc_norm\": %.9g, \"acc_norm_stderr\": %.9g}, ",
                   o->choices, q->n, q->choices, q->acc, q->acc_stderr, q->acc_norm, q->acc_norm_stderr);
    else
        cli_printf("%s: %zu questions, %zu choices\nacc %.4f (stderr %.4f)  acc_norm %.4f (stderr %.4f)\n", o->choices,
                   q->n, q->choices, q->acc, q->acc_stderr, q->acc_norm, q->acc_norm_stderr);
}

/* A line of JSON for each question: what the figures above are made of. */
static xt_status write_samples(const char *path, const questions *q) {
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
    for (size_t i = 0; i < q->n; i++) {
        const question *one = &q->items[i];
        cli_fprintf(f, "{\"line\": %zu, \"gold\": %lld, \"acc\": %d, \"acc_norm\": %d, \"logprobs\": [", one->line,
                    (long long)one->gold, one->best == one->gold, one->best_norm == one->gold);
        for (size_t k = 0; k < one->n; k++) cli_fprintf(f, k ? ", %.9g" : "%.9g", one->logprobs[k]);
        cli_fprintf(f, "]}\n");
    }
    bool whole = fclose(f) == 0;
    xt_status s = whole ? xt_write_file(path, text, n) : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for %s", path);
    free(text);
    return s;
}

/* --- what is done --- */
static int refuse(const char *why) {
    cli_fprintf(stderr, "xtrain evaluate: %s; xtrain evaluate --help\n", why);
    return 2;
}

static int settle(const evaluate_options *o) {
    if (!o->text && !o->choices) return refuse("--perplexity FILE or --choices FILE.jsonl is needed");
    if (o->score.stride && !o->text) return refuse("--stride is for --perplexity");
    if (o->samples && !o->choices) return refuse("--log-samples is for --choices");
    return 0;
}

/* Windows are as long as the model was trained to see, at most 2048 tokens, unless they are said. */
static xt_status settle_windows(evaluate_options *o, const generate_model *m) {
    const model_options *sizes = m->sizes;
    int64_t most = sizes->window && sizes->window < sizes->context ? sizes->window : sizes->context;
    score_opts *s = &o->score;
    if (!s->seq) s->seq = most;
    if (s->seq < 2 || s->seq > sizes->context)
        return xt_status_new(XT_INVALID_ARGUMENT, "--seq %lld; from 2 to %lld, as many tokens as the model sees",
                             (long long)s->seq, (long long)sizes->context);
    if (!s->stride) s->stride = (s->seq + 1) / 2;
    if (s->stride > s->seq)
        return xt_status_new(XT_INVALID_ARGUMENT,
                             "--stride %lld; at most --seq, %lld: between windows there would be tokens that none has",
                             (long long)s->stride, (long long)s->seq);
    s->vocab = sizes->vocab;
    s->stop = m->stop;
    return NULL;
}

static xt_status evaluate(evaluate_options *o, const generate_model *m) {
    perplexity p = {0};
    questions q = {0};
    if (m->sizes->encodes)
        return xt_status_new(XT_UNIMPLEMENTED,
                             "%s has an encoder: perplexity and choices are for models that go on with a text",
                             o->model.model);
    XT_TRY(settle_windows(o, m));
    xt_status s = o->choices ? questions_open(o->choices, o->score.limit, &q) : NULL;
    if (!s && o->text) s = score_file(m->net, m->words, o->text, &o->score, &p);
    if (!s && o->choices) s = score_questions(m->net, m->words, o->choices, &o->score, &q);
    if (!s && o->samples) s = write_samples(o->samples, &q);
    if (!s && o->json) cli_printf("{\"model\": \"%s\", ", o->model.model);
    if (!s && o->text) print_perplexity(o, &p);
    if (!s && o->choices) print_questions(o, &q);
    if (!s && o->json)
        cli_printf("\"compiles\": %lld, \"executions\": %lld}\n", (long long)xt_counter("compiles"),
                   (long long)xt_counter("executions"));
    questions_free(&q);
    return s;
}

static int run(int argc, char **argv) {
    evaluate_options o = {.model = {.command = "evaluate"}, .score = {.delimiter = " "}};
    const cli_option table[] = {
        {"MODEL", CLI_STRING, &o.model.model, NULL, "a model's folder, or gpt2, gpt2-mini or gpt2-tiny with --ckpt"},
        {"--ckpt", CLI_STRING, &o.model.ckpt, "PATH", "checkpoint, or folder with one (a folder's own)"},
        {"--perplexity", CLI_STRING, &o.text, "FILE", "a text"},
        {"--seq", CLI_COUNT, &o.score.seq, "N", "tokens of a window, and the most of a question (the model's, 2048)"},
        {"--stride", CLI_COUNT, &o.score.stride, "N", "tokens from window to window (half of --seq)"},
        {"--choices", CLI_STRING, &o.choices, "FILE",
         "questions, lines of JSON with \"query\", \"choices\" and \"gold\""},
        {"--delimiter", CLI_STRING, &o.score.delimiter, "TEXT", "between a question and its choices (a space)"},
        {"--limit", CLI_COUNT, &o.score.limit, "N", "questions (all)"},
        {"--log-samples", CLI_STRING, &o.samples, "FILE", "a line of JSON for each question: its log-probabilities"},
        {"--no-special-tokens", CLI_FLAG, &o.score.plain, NULL,
         "without what the tokenizer puts around a text (lm-evaluation-harness unless told add_bos_token)"},
        {"--batch", CLI_COUNT, &o.score.batch, "N", "windows or choices at a time (as many as come to --seq tokens)"},
        {"--weights", CLI_STRING, &o.model.weights, "W",
         "in memory as f32, bf16, f16, int8 or int4 (a folder's as its files have them, else f32)"},
        {"--tokenizer", CLI_STRING, &o.model.tokenizer, "DIR",
         "folder with tokenizer.json, or vocab.json and merges.txt (default: the model's; without: bytes)"},
        {"--device", CLI_STRING, &o.model.device, "D", "CPU, TPU, CUDA or the path of a PJRT plugin"},
        {"--json", CLI_FLAG, &o.json, NULL, "one JSON object on the last line"},
    };
    int code = cli_parse(argc, argv, usage, table, (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    generate_model m = {0};
    xt_status s = NULL;
    code = settle(&o);
    o.model.least_context = o.score.seq;
    if (!code) s = generate_open(&o.model, &m, &code);
    if (!s && !code) s = evaluate(&o, &m);
    if (s) code = cli_fail_status("evaluate", s);
    generate_close(&m);
    return cli_end(code);
}

const cli_command cli_evaluate = {"evaluate", "a language model's perplexity, and questions with choices", run};
