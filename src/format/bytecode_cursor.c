/* Bytes of MLIR bytecode: integers, lists, blobs, sections, each checked against the end. */
#include "format/bytecode_int.h"

bool bc_fail(bc_reader *r, const void *at, const char *fmt, ...) {
    if (r->status) return false;
    str text = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    r->status = status_new(XT_INVALID_ARGUMENT, NULL, "%s: byte %zu: %s", r->file,
                           (size_t)((const unsigned char *)at - r->begin), str_cstr(&text));
    str_free(&text);
    return false;
}

bool bc_oom(bc_reader *r) {
    if (!r->status) r->status = status_oom(0, "a program read from bytecode");
    return false;
}

void *bc_alloc(bc_reader *r, size_t n, size_t size) {
    size_t bytes;
    void *p = size_mul(n, size, &bytes) ? arena_alloc(r->scratch, bytes + 1) : NULL;
    if (!p) bc_oom(r);
    return p;
}

void *bc_keep(bc_reader *r, const void *p, size_t n) {
    char *copy = arena_alloc(r->m->mem, n + 1);
    if (!copy) return bc_oom(r), NULL;
    if (n) memcpy(copy, p, n);
    return copy;
}

static bool cut(bc_reader *r, const bc_cursor *c) {
    return bc_fail(r, c->at, "the bytecode ends in the middle of something");
}

bool bc_byte(bc_reader *r, bc_cursor *c, unsigned *out) {
    if (c->at >= c->end) return cut(r, c);
    *out = *c->at++;
    return true;
}

/* The trailing zeros of the first byte count the bytes that follow; none at all means eight whole bytes. */
bool bc_varint(bc_reader *r, bc_cursor *c, uint64_t *out) {
    if (c->at >= c->end) return cut(r, c);
    unsigned first = *c->at;
    if (first & 1) {
        c->at++;
        *out = first >> 1;
        return true;
    }
    size_t more = first ? (size_t)__builtin_ctz(first) : 8, skip = first ? 0 : 1;
    if ((size_t)(c->end - c->at) < more + 1) return cut(r, c);
    uint64_t v = 0;
    for (size_t i = skip; i <= more; i++) v |= (uint64_t)c->at[i] << (8 * (i - skip));
    c->at += more + 1;
    *out = first ? v >> (more + 1) : v;
    return true;
}

bool bc_svarint(bc_reader *r, bc_cursor *c, int64_t *out) {
    uint64_t v = 0;
    if (!bc_varint(r, c, &v)) return false;
    *out = (int64_t)((v >> 1) ^ (0 - (v & 1)));
    return true;
}

bool bc_flagged(bc_reader *r, bc_cursor *c, uint64_t *out, bool *flag) {
    uint64_t v = 0;
    if (!bc_varint(r, c, &v)) return false;
    *out = v >> 1;
    *flag = v & 1;
    return true;
}

bool bc_count(bc_reader *r, bc_cursor *c, const char *what, size_t *out) {
    const unsigned char *at = c->at;
    uint64_t n = 0;
    if (!bc_varint(r, c, &n)) return false;
    if (n > (size_t)(c->end - c->at))
        return bc_fail(r, at, "%llu %s are announced, but only %zu bytes follow", (unsigned long long)n, what,
                       (size_t)(c->end - c->at));
    *out = (size_t)n;
    return true;
}

bool bc_index(bc_reader *r, bc_cursor *c, size_t n, const char *what, size_t *out) {
    const unsigned char *at = c->at;
    uint64_t i = 0;
    if (!bc_varint(r, c, &i)) return false;
    if (i >= n) return bc_fail(r, at, "%s %llu of %zu", what, (unsigned long long)i, n);
    *out = (size_t)i;
    return true;
}

bool bc_bytes(bc_reader *r, bc_cursor *c, size_t n, bc_cursor *out) {
    if (n > (size_t)(c->end - c->at))
        return bc_fail(r, c->at, "%zu bytes are announced, but only %zu follow", n, (size_t)(c->end - c->at));
    *out = (bc_cursor){c->at, c->at + n};
    c->at += n;
    return true;
}

bool bc_blob(bc_reader *r, bc_cursor *c, bc_cursor *out) {
    size_t n = 0;
    return bc_count(r, c, "bytes", &n) && bc_bytes(r, c, n, out);
}

bool bc_section(bc_reader *r, bc_cursor *c, unsigned *out_id, bc_cursor *out) {
    const unsigned char *at = c->at;
    unsigned id = 0;
    size_t n = 0;
    if (!bc_byte(r, c, &id) || !bc_count(r, c, "bytes of a section", &n)) return false;
    *out_id = id & 0x7f;
    if (!(id & 0x80)) return bc_bytes(r, c, n, out);
    uint64_t align;
    if (!bc_varint(r, c, &align)) return false;
    if (align == 0 || (align & (align - 1)) || align > 1 << 16)
        return bc_fail(r, at, "a section is aligned to %llu", (unsigned long long)align);
    while ((size_t)(c->at - r->begin) & (align - 1)) {
        unsigned pad;
        if (!bc_byte(r, c, &pad)) return false;
    }
    return bc_bytes(r, c, n, out);
}

bool bc_svarints(bc_reader *r, bc_cursor *c, int64_t **out, size_t *out_n) {
    size_t n = 0;
    if (!bc_count(r, c, "integers", &n)) return false;
    int64_t *v = arena_alloc(r->m->mem, n * sizeof *v + 1);
    if (!v) return bc_oom(r);
    for (size_t i = 0; i < n; i++)
        if (!bc_svarint(r, c, &v[i])) return false;
    *out = v;
    *out_n = n;
    return true;
}

bool bc_string_at(bc_reader *r, bc_cursor *c, bc_string *out) {
    size_t i = 0;
    if (!bc_index(r, c, r->n_strings, "string", &i)) return false;
    *out = r->strings[i];
    return true;
}

bool bc_bits(bc_reader *r, bc_cursor *c, int width, uint64_t *out) {
    unsigned byte = 0;
    int64_t v;
    if (width <= 8) {
        if (!bc_byte(r, c, &byte)) return false;
        *out = byte;
        return true;
    }
    if (width > 64) return bc_fail(r, c->at, "a number of %d bits", width);
    if (!bc_svarint(r, c, &v)) return false;
    *out = width == 64 ? (uint64_t)v : (uint64_t)v & ((UINT64_C(1) << width) - 1);
    return true;
}

bool bc_enter(bc_reader *r, const void *at) {
    if (r->depth >= BC_MAX_DEPTH) return bc_fail(r, at, "more than %d levels of nesting", BC_MAX_DEPTH);
    r->depth++;
    return true;
}

void bc_leave(bc_reader *r) {
    r->depth--;
}
