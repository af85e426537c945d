/* What the files of `xtrain generate` share: the model that is opened, and the text of a model as it comes. */
#ifndef XTRAIN_CLI_GENERATE_H
#define XTRAIN_CLI_GENERATE_H

#include "cli/cli.h"
#include "models/generate.h"
#include "models/tokenizer.h"

typedef struct generate_options {
    const char *command; /* for messages */
    const char *model, *ckpt, *tokenizer, *device, *prompts, *weights, *kv_cache, *chat_template;
    cli_list prompt, stop_words;
    int64_t tokens, top_k, seed, batch, serve; /* serve: a port; -1: none */
    double temperature, top_p, min_p, repetition_penalty;
    int64_t least_context; /* tokens that are to be in sight, of a model that sees so many */
    bool json, ignore_stop, logprobs;
    model_options of_model;
} generate_options;

/* generate_model.c */
typedef struct generate_model {
    tokenizer *words;
    xt_module *net;
    model_options *sizes; /* what a generator takes beside net */
    int64_t stop; /* the token that ends a text; -1 = none */
} generate_model;
/* The model and its tokenizer; out is to be closed also on failure. *out_code is not 0: a usage error was explained. */
xt_status generate_open(generate_options *o, generate_model *out, int *out_code);
void generate_close(generate_model *m);

/* generate_text.c: a text as its tokens come, in whole characters, up to the first of some words. What may be the
 * beginning of such a word is held back until it is none. */
typedef struct said {
    const tokenizer *words;
    const cli_list *stops;
    int32_t *ids; /* prompt and what is made, malloc'ed */
    size_t n, n_prompt, room;
    token_stream seen;
    char *text; /* of what is made, malloc'ed */
    size_t n_text, text_room, given; /* given: bytes that were handed on */
    bool stopped; /* by a word, which is not in the text */
    xt_status failed;
} said;
/* Takes the ids of the prompt over. What an encoder has read is no part of the text. */
xt_status said_begin(said *s, const generate_model *m, const cli_list *stops, int32_t *ids, size_t n);
bool said_add(said *s, int64_t token); /* false: the text is at its end, or failed */
void said_end(said *s); /* there come no more tokens */
/* What can be handed on and was not yet; NULL: nothing. */
const char *said_next(said *s, bool ended, size_t *n);
void said_free(said *s);

#endif
