/* Conversations as text: what stands around each message, by name or by what a model's folder says. Templates there are
 * programs (Jinja); here is a table of the plain ones. */
#ifndef XTRAIN_MODELS_CHAT_H
#define XTRAIN_MODELS_CHAT_H

#include <xtrain/base.h>

typedef struct chat_template chat_template;
/* chatml, llama3 or llama2; NULL for another name */
const chat_template *chat_template_named(const char *name);
/* The one that the chat_template of a folder (tokenizer_config.json, chat_template.jinja) comes to. NULL where the
 * folder has none; an error where it does more than the table's do. */
xt_status chat_template_of(const char *dir, const chat_template **out);
const char *chat_template_name(const chat_template *t);

typedef struct chat_message {
    const char *role, *content; /* system (first only), user, assistant */
} chat_message;
/* A part of a text: what the model is to say, or is told. */
typedef struct chat_part {
    size_t begin, end; /* bytes of the text */
    bool said; /* by the assistant, what ends its turn included */
} chat_part;
/* *out_text and *out_parts: free(). A role that is not known, or out of turn, is an error. */
xt_status chat_render(const chat_template *t, const chat_message *messages, size_t n, char **out_text, size_t *out_size,
                      chat_part **out_parts, size_t *out_n);
/* The same as a prompt: up to where the assistant begins to say something. The last message is a user's. *out_stop:
 * what ends its turn; borrowed. */
xt_status chat_prompt(const chat_template *t, const chat_message *messages, size_t n, char **out_text, size_t *out_size,
                      const char **out_stop);

#endif
