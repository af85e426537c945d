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
    const tokenizer *words;
    char text[2048];
    size_t n;
} line;

static bool take(int64_t token, void *user) {
    line *l = user;
    size_t n;
    const char *bytes = tokenizer_token(l->words, token, &n);
    if (l->n + n >= sizeof l->text) return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool odd = iscntrl(c) || (c >= 0x80 && tokenizer_is_bytes(l->words)); /* a byte need not be a whole character */
        l->text[l->n++] = c == '\n' ? '/' : odd ? '?' : bytes[i];
    }
    return true;
}

xt_status fit_sample(generator **g, xt_module *net, model_options *o, const tokenizer *words, int64_t tokens,
                     FILE *to) {
    int32_t *ids = NULL;
    size_t n = 0;
    line l = {.words = words};
    if (!*g) XT_TRY(generator_new(net, o, g));
    XT_TRY(tokenizer_encode(words, "\n", 1, &ids, &n));
    xt_status s = generate(
        *g,
        &(generate_opts){
            .prompt = ids, .n_prompt = n, .tokens = tokens, .temperature = 0.8, .stop = -1, .take = take, .user = &l},
        NULL);
    free(ids);
    if (!s) fprintf(to, "sample: %.*s\n", (int)l.n, l.text);
    fflush(to);
    return s;
}

xt_status fit_save_text(const char *dir, const model_options *o, const tokenizer *words) {
    char path[4096];
    snprintf(path, sizeof path, "%s", dir);
    for (char *p = path + 1; *p; p++) /* with the folders above it */
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0777);
            *p = '/';
        }
    mkdir(path, 0777);
    XT_TRY(gpt2_write_config(dir, o));
    return tokenizer_save(words, dir);
}
