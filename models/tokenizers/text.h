/* Texts inside a tokenizer: memory that goes as a whole when an encoding ends, slices of it, buffers that grow in it,
 * and characters with the properties that tokenizers ask of them. */
#ifndef XTRAIN_MODELS_TOKENIZERS_TEXT_H
#define XTRAIN_MODELS_TOKENIZERS_TEXT_H

#include <xtrain/base.h>

typedef struct tok_arena {
    struct tok_block *blocks;
    size_t size, most; /* bytes; most: that it may have, 0 for any number */
    bool failed; /* memory was short, or: what was made since is not whole */
    bool gave_up, too_much; /* a regular expression did not come to an end; it wanted more than may be */
} tok_arena;
/* What a file's rules may make of a text of n bytes: some make twice as much of it, and the next twice of that. */
#define TOK_MOST(n) (((size_t)(n) << 10) + (64 << 20))
void *tok_alloc(tok_arena *a, size_t n); /* NULL, and failed, without memory */
void tok_arena_free(tok_arena *a);
void tok_arena_reset(tok_arena *a); /* all of it is given up, and a block kept for what comes */

typedef struct tok_text {
    const char *data;
    size_t n;
} tok_text;
typedef struct tok_buf { /* {.arena = a} to begin with */
    tok_arena *arena;
    char *data;
    size_t n, room;
} tok_buf;
void tok_add(tok_buf *b, const char *data, size_t n);
void tok_add_char(tok_buf *b, uint32_t code);
tok_text tok_whole(const tok_buf *b);

/* What is no UTF-8 is a character a byte, with this code. */
#define TOK_INVALID UINT32_MAX
uint32_t tok_char(const char *p, size_t n, size_t *out_bytes);
size_t tok_put_char(uint32_t code, char out[4]);
bool tok_valid(const char *p, size_t n); /* UTF-8 throughout */

bool tok_is_space(uint32_t c); /* the property White_Space */
bool tok_is_number(uint32_t c); /* N */
bool tok_is_mark(uint32_t c); /* M */
bool tok_is_nonspacing_mark(uint32_t c); /* Mn */
bool tok_is_control(uint32_t c); /* C, but for tab, line ends and what is not assigned */
bool tok_is_punctuation(uint32_t c); /* P, and ASCII's symbols, as BERT has it */
bool tok_is_word(uint32_t c); /* letters, marks, digits, connectors */
bool tok_is_chinese(uint32_t c); /* ideographs of the blocks that BERT sets apart */

/* GPT-2's bytes as printable characters, and back (-1: none). */
uint32_t tok_byte_char(unsigned char byte);
int tok_char_byte(uint32_t c);

#endif
