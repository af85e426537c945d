/* The models of tokenizer.json: byte-pair encoding, WordPiece, Unigram, WordLevel. A model turns a piece of text into
 * ids of its vocabulary. */
#ifndef XTRAIN_MODELS_TOKENIZERS_MODEL_H
#define XTRAIN_MODELS_TOKENIZERS_MODEL_H

#include <cjson/cJSON.h>

#include "models/tokenizers/text.h"

/* --- vocab.c: texts and their numbers --- */
typedef struct tok_vocab {
    tok_text *tokens; /* by id; .data NULL: the id has none; malloc'ed */
    int64_t n; /* ids are below */
    int32_t *slots; /* ids by hash, -1 empty */
    size_t n_slots, longest; /* longest: bytes of a token */
} tok_vocab;
enum { TOK_MOST_IDS = 1 << 24 };
/* Room for ids below n. */
xt_status tok_vocab_begin(tok_vocab *v, int64_t n);
/* An id that has a text already is an error; of two ids with one text the later one is found. */
xt_status tok_vocab_put(tok_vocab *v, int64_t id, const char *text);
int32_t tok_vocab_find(const tok_vocab *v, const char *text, size_t n); /* -1: none */
/* The same, of a prefix that grows: *hash begins as TOK_HASH_BEGIN and takes the next byte. */
#define TOK_HASH_BEGIN 0xcbf29ce484222325u
int32_t tok_vocab_find_next(const tok_vocab *v, const char *text, size_t n, uint64_t *hash);
uint64_t tok_mix(uint64_t h);
void tok_vocab_free(tok_vocab *v);

/* --- prefixes.c: all tokens that end at a byte of a text, in a walk over the text --- */
typedef struct tok_prefix { /* of some token; the first is the empty one */
    int32_t before, id; /* without its last byte; the token that it is, -1: none */
    int32_t rest, shorter; /* the longest shorter end of it that is a prefix; that is a whole token; 0: none */
    char last;
} tok_prefix;
typedef struct tok_prefixes {
    tok_prefix *at;
    int32_t *slots; /* numbers by the prefix before and the last byte, 0 empty */
    size_t n, room, n_slots;
} tok_prefixes;
xt_status tok_prefixes_make(tok_prefixes *p, const tok_vocab *v); /* in time and memory of the tokens' bytes */
/* The longest prefix that the text ends with, one byte on; a whole text of n bytes takes some 2 n steps. */
int32_t tok_prefix_next(const tok_prefixes *p, int32_t at, char byte);
void tok_prefixes_free(tok_prefixes *p);

typedef struct tok_ids { /* in an arena */
    tok_arena *arena, *scratch; /* scratch: of what one piece needs while it is encoded */
    int32_t *items;
    size_t n, room;
} tok_ids;
void tok_push_id(tok_ids *ids, int32_t id);

/* --- model.c --- */
typedef struct tok_merge {
    uint64_t pair; /* left id << 32 | right id */
    int32_t rank, id; /* id < 0: an empty place of the table */
} tok_merge;
typedef struct tok_model {
    xt_status (*encode)(const struct tok_model *m, tok_text piece, tok_ids *out);
    tok_vocab vocab;
    int32_t unknown; /* -1: none */
    char *prefix, *suffix; /* what continues a word, what ends one; "" for none */
    bool byte_fallback, fuse_unknown, ignore_merges;
    int32_t byte_ids[256]; /* of <0x00> ...; -1 */
    tok_merge *merges;
    size_t merge_slots; /* a power of two, at most half full */
    int64_t longest_word; /* WordPiece: characters */
    double *scores, least_score; /* Unigram, by id */
    tok_prefixes prefixes; /* Unigram */
} tok_model;
xt_status tok_model_read(tok_model *m, const cJSON *json);
void tok_model_free(tok_model *m);
/* bpe.c, unigram.c, word_piece.c: what a kind reads beside the vocabulary, and its encoding */
xt_status tok_bpe_read(tok_model *m, const cJSON *json);
xt_status tok_unigram_read(tok_model *m, const cJSON *json);
xt_status tok_word_piece_read(tok_model *m, const cJSON *json);
xt_status tok_word_level_read(tok_model *m, const cJSON *json);
/* A piece that the vocabulary does not have, as its bytes; false: not all of them have an id. */
bool tok_push_bytes(const tok_model *m, tok_text text, tok_ids *out);

#endif
