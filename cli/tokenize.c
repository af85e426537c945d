/* xtrain tokenize: a text file as a file of token numbers, which fits read where it lies. */
#include "cli/cli.h"
#include "models/token_file.h"
#include "models/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xtrain/program.h>

static const char usage[] =
    "usage: xtrain tokenize TEXT --tokenizer DIR --output FILE.bin\n\n"
    "Writes the tokens of a text as numbers of 16 bits, or 32 where the vocabulary needs them (the form of nanoGPT's\n"
    "train.bin), with FILE.bin.json beside it, which says which. DIR has a tokenizer.json, or vocab.json and "
    "merges.txt.\n\n"
    "  xtrain tokenize wiki.txt --tokenizer ~/gpt2 --output wiki.bin\n"
    "  xtrain tokenize lines.txt --tokenizer ~/llama --lines          the numbers of each line, to look at\n";

static int print_lines(const tokenizer *t, const char *text, size_t n, bool specials) {
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t k = end ? (size_t)(end - (text + at)) : n - at, n_ids;
        int32_t *ids;
        xt_status s = specials ? tokenizer_encode_whole(t, text + at, k, &ids, &n_ids)
                               : tokenizer_encode(t, text + at, k, &ids, &n_ids);
        if (s) return cli_fail_status("tokenize", s);
        for (size_t i = 0; i < n_ids; i++) cli_printf(i ? " %d" : "%d", ids[i]);
        cli_printf("\n");
        free(ids);
        at += k + 1;
    }
    return 0;
}

static int write_tokens(const tokenizer *t, const char *text, size_t n, const char *output) {
    int32_t *ids;
    size_t n_ids;
    xt_status s = tokenizer_encode(t, text, n, &ids, &n_ids);
    if (!s) {
        s = token_file_write(output, ids, n_ids, tokenizer_vocab(t));
        free(ids);
    }
    if (s) return cli_fail_status("tokenize", s);
    cli_printf("%s: %zu bytes are %zu tokens of %lld\n", output, n, n_ids, (long long)tokenizer_vocab(t));
    return 0;
}

static int run(int argc, char **argv) {
    const char *path = NULL, *dir = NULL, *output = NULL;
    bool lines = false, specials = false;
    const cli_option table[] = {
        {"TEXT", CLI_STRING, &path, NULL, "the file"},
        {"--tokenizer", CLI_STRING, &dir, "DIR", "folder with tokenizer.json, or vocab.json and merges.txt (bytes)"},
        {"--output", CLI_STRING, &output, "FILE", "where the tokens go"},
        {"--lines", CLI_FLAG, &lines, NULL, "print the numbers of each line instead"},
        {"--specials", CLI_FLAG, &specials, NULL, "with --lines: and what the tokenizer puts around a text"},
    };
    int code = cli_parse(argc, argv, usage, table, (int)(sizeof table / sizeof table[0]), NULL);
    if (code) return code - 1;
    if (!path || (!output && !lines)) {
        cli_fprintf(stderr, "xtrain tokenize: %s; xtrain tokenize --help\n",
                    path ? "--output is needed: where do the tokens go?" : "which text?");
        return 2;
    }
    tokenizer *t = NULL;
    char *text = NULL;
    size_t n = 0;
    xt_status s = tokenizer_open(dir, &t);
    if (!s) s = xt_read_file(path, &text, &n);
    code = s       ? cli_fail_status("tokenize", s)
           : lines ? print_lines(t, text, n, specials)
                   : write_tokens(t, text, n, output);
    xt_text_free(text);
    tokenizer_free(t);
    return code;
}

const cli_command cli_tokenize = {"tokenize", "a text as a file of tokens, for fits", run};
