/* What a tokenizer.json is made of: normalizers, pre-tokenizers and decoders, all of one form. Each kind is a row of a
 * table: its name in the file, how its fields are read, what it does. */
#ifndef XTRAIN_MODELS_TOKENIZERS_PARTS_H
#define XTRAIN_MODELS_TOKENIZERS_PARTS_H

#include <cjson/cJSON.h>

#include "models/tokenizers/regex.h"

typedef enum tok_behavior { TOK_REMOVED, TOK_ISOLATED, TOK_WITH_PREVIOUS, TOK_WITH_NEXT, TOK_CONTIGUOUS } tok_behavior;
typedef struct tok_part tok_part;

/* A stretch of the text on its way to the model. */
typedef struct tok_piece {
    tok_text text;
    bool at_start; /* of the whole text */
    int32_t id; /* of an added token, which nothing cuts any more; -1 = text */
} tok_piece;
typedef struct tok_pieces {
    tok_arena *arena;
    tok_piece *items;
    size_t n, room;
} tok_pieces;
void tok_push(tok_pieces *p, tok_piece piece); /* an empty text is left out */

typedef struct tok_kind {
    const char *name;
    xt_status (*read)(tok_part *p, const cJSON *json); /* NULL: no fields */
    union {
        tok_text (*normalize)(const tok_part *p, tok_text text, tok_arena *a);
        xt_status (*split)(const tok_part *p, const tok_pieces *in, tok_pieces *out);
        xt_status (*decode)(const tok_part *p, tok_pieces *tokens); /* in place */
    };
} tok_kind;
struct tok_part {
    const tok_kind *kind; /* NULL: none, which leaves all as it is */
    tok_part *parts; /* of a sequence */
    size_t n_parts;
    tok_regex *regex;
    char *text, *with; /* what is looked for, or put in front; what it becomes */
    uint32_t c; /* a character */
    int64_t from_start, from_end;
    tok_behavior behavior;
    bool on[4]; /* switches, in the order in which the kind's reader says */
    bool first_only; /* Metaspace: only where the text begins */
    struct tok_charsmap *map;
};
/* JSON null or absent: no part. `what` is for messages: "normalizer". */
xt_status tok_part_read(tok_part *p, const cJSON *json, const tok_kind *kinds, size_t n_kinds, const char *what);
void tok_part_free(tok_part *p);
xt_status tok_read_parts(tok_part *p, const cJSON *list, const tok_kind *kinds, size_t n_kinds, const char *what);
/* {"String": "x"} or {"Regex": "x"}: into p->regex */
xt_status tok_read_pattern(tok_part *p, const cJSON *pattern);
xt_status tok_read_text(char **out, const cJSON *json, const char *name); /* must be there */
bool tok_read_flag(const cJSON *json, const char *name, bool otherwise);
xt_status tok_read_char(uint32_t *out, const cJSON *json, const char *name);
xt_status tok_read_behavior(tok_part *p, const cJSON *json);

xt_status tok_normalizer_read(tok_part *p, const cJSON *json);
tok_text tok_normalize(const tok_part *p, tok_text text, tok_arena *a);
xt_status tok_splitter_read(tok_part *p, const cJSON *json);
xt_status tok_split(const tok_part *p, const tok_pieces *in, tok_pieces *out);
xt_status tok_decoder_read(tok_part *p, const cJSON *json);
xt_status tok_decode(const tok_part *p, tok_pieces *tokens);

tok_text tok_replace(const tok_regex *r, tok_text text, const char *with, tok_arena *a); /* every match */
tok_text tok_bytes_as_chars(tok_text text, tok_arena *a); /* GPT-2's characters for bytes */

/* charsmap.c: SentencePiece's compiled normalization. */
typedef struct tok_charsmap tok_charsmap;
xt_status tok_charsmap_new(const char *base64, tok_charsmap **out);
void tok_charsmap_free(tok_charsmap *m);
tok_text tok_charsmap_apply(const tok_charsmap *m, tok_text text, tok_arena *a);

#endif
