/* Memory and characters for tokenizers; see text.h. Properties are utf8proc's. */
#include "models/tokenizers/text.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

/* --- memory --- */
typedef struct tok_block {
    struct tok_block *next;
    size_t used, size;
    char data[];
} tok_block;

enum { BLOCK = 1 << 16 };

void *tok_alloc(tok_arena *a, size_t n) {
    tok_block *b = a->blocks;
    n = (n + 15) / 16 * 16;
    if (!b || b->size - b->used < n) {
        size_t size = n > BLOCK ? n : BLOCK;
        a->too_much = a->too_much || (a->most && size > a->most - a->size);
        b = a->too_much ? NULL : malloc(sizeof *b + size);
        if (!b) {
            a->failed = true;
            return NULL;
        }
        a->size += size;
        b->used = 0;
        b->size = size;
        b->next = a->blocks;
        a->blocks = b;
    }
    void *p = b->data + b->used;
    b->used += n;
    return p;
}

void tok_arena_free(tok_arena *a) {
    for (tok_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    a->blocks = NULL;
    a->size = 0;
}

void tok_arena_reset(tok_arena *a) {
    tok_block *kept = NULL;
    for (tok_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        if (kept || b->size != BLOCK)
            free(b);
        else
            kept = b;
    }
    if (kept) {
        kept->used = 0;
        kept->next = NULL;
    }
    a->blocks = kept;
    a->size = kept ? kept->size : 0;
}

void tok_add(tok_buf *b, const char *data, size_t n) {
    if (b->room - b->n < n) {
        size_t room = b->room * 2 > b->n + n ? b->room * 2 : b->n + n + 32;
        char *more = tok_alloc(b->arena, room);
        if (!more) return;
        if (b->n) memcpy(more, b->data, b->n);
        b->data = more;
        b->room = room;
    }
    if (n) memcpy(b->data + b->n, data, n);
    b->n += n;
}

void tok_add_char(tok_buf *b, uint32_t code) {
    char bytes[4];
    tok_add(b, bytes, tok_put_char(code, bytes));
}

tok_text tok_whole(const tok_buf *b) {
    return (tok_text){b->n ? b->data : "", b->n};
}

/* --- characters --- */
uint32_t tok_char(const char *p, size_t n, size_t *out_bytes) {
    unsigned char first = (unsigned char)*p;
    utf8proc_int32_t code = first;
    *out_bytes = 1;
    if (first < 0x80) return first;
    utf8proc_ssize_t k = utf8proc_iterate((const utf8proc_uint8_t *)p, n > 4 ? 4 : (utf8proc_ssize_t)n, &code);
    if (k <= 0) return TOK_INVALID;
    *out_bytes = (size_t)k;
    return (uint32_t)code;
}

size_t tok_put_char(uint32_t code, char out[4]) {
    utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)code, (utf8proc_uint8_t *)out);
    return n > 0 ? (size_t)n : 0;
}

bool tok_valid(const char *p, size_t n) {
    for (size_t i = 0, k; i < n; i += k)
        if (tok_char(p + i, n - i, &k) == TOK_INVALID) return false;
    return true;
}

static utf8proc_category_t category(uint32_t c) {
    return c > 0x10ffff ? UTF8PROC_CATEGORY_CN : utf8proc_category((utf8proc_int32_t)c);
}

bool tok_is_space(uint32_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool tok_is_number(uint32_t c) {
    utf8proc_category_t k = category(c);
    return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO;
}

bool tok_is_mark(uint32_t c) {
    utf8proc_category_t k = category(c);
    return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_ME;
}

bool tok_is_nonspacing_mark(uint32_t c) {
    return category(c) == UTF8PROC_CATEGORY_MN;
}

bool tok_is_control(uint32_t c) {
    utf8proc_category_t k = category(c);
    if (c == '\t' || c == '\n' || c == '\r' || c == TOK_INVALID) return false;
    return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO ||
           k == UTF8PROC_CATEGORY_CS;
}

bool tok_is_punctuation(uint32_t c) {
    if (c < 0x80)
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
    utf8proc_category_t k = category(c);
    return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

bool tok_is_word(uint32_t c) {
    utf8proc_category_t k = category(c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_ND) || k == UTF8PROC_CATEGORY_NL ||
           k == UTF8PROC_CATEGORY_PC || c == 0x200c || c == 0x200d;
}

bool tok_is_chinese(uint32_t c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
           (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

/* --- bytes as characters: those that print in Latin-1 are themselves, the others U+0100 on, in order --- */
static bool prints(int byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

uint32_t tok_byte_char(unsigned char byte) {
    if (prints(byte)) return byte;
    if (byte <= ' ') return 256u + byte;
    return byte <= 0xa0 ? 256u + 33 + (byte - 0x7fu) : 256u + 67;
}

int tok_char_byte(uint32_t c) {
    if (c < 256) return prints((int)c) ? (int)c : -1;
    c -= 256;
    return c <= ' ' ? (int)c : c < 67 ? (int)(c - 33 + 0x7f) : c == 67 ? 0xad : -1;
}
