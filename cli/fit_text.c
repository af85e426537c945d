/* What `xtrain fit` does for a text model beside training it: sample lines after each validation, and files beside the
 * checkpoints that `xtrain generate` needs. */
#include "cli/fit.h"
#include "models/generate.h"
#include "models/gpt2_files.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct line {
    int32_t *ids;
    size_t n;
} line;

static bool take(int64_t token, void *user) {
    line *l = user;
    l->ids[l->n++] = (int32_t)token;
    return true;
}

/* A sample is one line of a terminal, whatever its tokens are. */
static void print_sample(char *text, size_t n, bool bytes, FILE *to) {
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        bool odd = iscntrl(c) || (c >= 0x80 && bytes); /* a byte need not be a whole character */
        if (odd) text[i] = c == '\n' ? '/' : '?';
    }
    cli_fprintf(to, "sample: %.*s\n", (int)n, text);
    fflush(to);
}

xt_status fit_sample(generator **g, xt_module *net, model_options *o, const tokenizer *words, int64_t tokens,
                     FILE *to) {
    int32_t *ids = NULL;
    char *text = NULL;
    size_t n = 0, n_text;
    if (!*g) XT_TRY(generator_new(net, o, g));
    XT_TRY(tokenizer_encode(words, "\n", 1, &ids, &n));
    line l = {.ids = n ? malloc((size_t)tokens * sizeof *l.ids) : NULL};
    xt_status s =
        l.ids ? generate(*g,
                         &(generate_opts){.prompt = ids,
                                          .n_prompt = n,
                                          .tokens = tokens,
                                          .temperature = 0.8,
                                          .stop = -1,
                                          .take = take,
                                          .user = &l},
                         NULL)
        : n   ? xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a sample")
              : xt_status_new(XT_FAILED_PRECONDITION, "the tokenizer has no token for a line end to begin with");
    if (!s) s = tokenizer_decode(words, l.ids, l.n, true, &text, &n_text);
    if (!s) print_sample(text, n_text, tokenizer_is_bytes(words), to);
    free(text);
    free(l.ids);
    free(ids);
    return s;
}

xt_status fit_save_text(const char *dir, const model_options *o, const tokenizer *words) {
    XT_TRY(xt_make_folder(dir, NULL));
    XT_TRY(gpt2_write_config(dir, o));
    return words ? tokenizer_save(words, dir) : NULL;
}
