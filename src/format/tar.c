/* Format: POSIX.1-1988 (ustar) and POSIX.1-2001 (pax), and what GNU tar adds ('L', numbers in base 256). */
#include "format/tar.h"

#include "base/look.h"
#include "base/shown.h"

#include <errno.h>
#include <unistd.h>

enum { BLOCK = 512, MOST_NAME = 1 << 20 }; /* MOST_NAME: of a long name or a pax header; more is an attack */

typedef struct header { /* one block; every field is text, not ended where it is full */
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[6], version[2];
    char user[32], group[32], major[8], minor[8], prefix[155], rest[12];
} header;
_Static_assert(sizeof(header) == BLOCK, "a header is a block");

typedef struct reader {
    const char *path;
    int fd;
    int64_t bytes, at; /* at: of the next header */
    str name; /* given by a long name or pax header for the next member */
    bool has_name;
    int64_t size; /* by pax; -1: the header's */
} reader;

xt_status tar_read(const char *path, int fd, int64_t at, void *to, size_t n) {
    size_t got;
    XT_TRY(file_read_at(fd, path, to, n, at, &got));
    return got == n ? NULL
                    : status_new(XT_DATA_LOSS, NULL, "cannot read %s at byte %lld: the file has become shorter", path,
                                 (long long)at + (long long)got);
}

static xt_status damaged(const reader *r, const char *what) {
    str shown = STR_INIT;
    if (r->name.len) {
        str_append(&shown, " (");
        str_append_name(&shown, str_cstr(&r->name));
        str_append(&shown, ")");
    }
    xt_status s = status_new(XT_DATA_LOSS, NULL, "%s, the header at byte %lld%s: %s", r->path, (long long)r->at,
                             str_cstr(&shown), what);
    str_free(&shown);
    return s;
}

/* Octal text with blanks or zeros around, or GNU's big number; false: neither. */
static bool number(const char *field, size_t n, int64_t *out) {
    const uint8_t *b = (const uint8_t *)field;
    uint64_t v = 0;
    if (b[0] & 0x80) { /* base 256, not negative */
        if (b[0] != 0x80) return false;
        for (size_t i = 1; i < n; i++) {
            if (v >> 55) return false;
            v = v << 8 | b[i];
        }
        *out = (int64_t)v;
        return true;
    }
    size_t i = 0;
    while (i < n && field[i] == ' ') i++;
    size_t digits = 0;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++, digits++) v = v << 3 | (uint64_t)(field[i] - '0');
    for (; i < n; i++)
        if (field[i] != ' ' && field[i] != 0) return false;
    *out = (int64_t)v;
    return digits > 0;
}

static bool sum_fits(const header *h) {
    const uint8_t *b = (const uint8_t *)h;
    int64_t told, is = 0, is_signed = 0; /* old writers summed signed characters */
    size_t from = offsetof(header, sum);
    for (size_t i = 0; i < BLOCK; i++) {
        bool blank = i >= from && i < from + sizeof h->sum;
        is += blank ? ' ' : b[i];
        is_signed += blank ? ' ' : (int8_t)b[i];
    }
    return number(h->sum, sizeof h->sum, &told) && (told == is || told == is_signed);
}

static bool is_zero(const header *h) {
    const char *b = (const char *)h;
    for (size_t i = 0; i < BLOCK; i++)
        if (b[i]) return false;
    return true;
}

/* A name that leads out of the folder it is unpacked in is an attack on whoever would: not taken for a key either. */
static bool leads_out(const char *name) {
    if (name[0] == '/') return true;
    for (const char *p = name; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == 0)) return true;
    }
    return false;
}

/* The bytes of a long name or a pax header, with a 0 behind; base_free. */
static xt_status read_text(const reader *r, int64_t size, char **out) {
    *out = NULL;
    if (size < 1 || size > MOST_NAME) return damaged(r, "a name or its extension of that length is none");
    char *text = base_malloc((size_t)size + 1);
    if (!text) return status_oom((size_t)size, r->path);
    xt_status s = tar_read(r->path, r->fd, r->at + BLOCK, text, (size_t)size);
    if (s) {
        base_free(text);
        return s;
    }
    text[size] = 0;
    *out = text;
    return NULL;
}

/* "LENGTH KEY=VALUE\n", one after the other; LENGTH counts all of it. */
static xt_status take_pax(reader *r, const char *text, size_t n) {
    for (size_t at = 0; at < n;) {
        size_t length = 0, digits = 0;
        for (; at + digits < n && digits < 7 && text[at + digits] >= '0' && text[at + digits] <= '9'; digits++)
            length = length * 10 + (size_t)(text[at + digits] - '0');
        bool whole = digits && at + digits < n && text[at + digits] == ' ' && length > digits + 2 && length <= n - at;
        const char *key = whole ? text + at + digits + 1 : NULL, *end = whole ? text + at + length - 1 : NULL;
        const char *is = whole && *end == '\n' ? memchr(key, '=', (size_t)(end - key)) : NULL;
        if (!is) return damaged(r, "its pax records are damaged");
        size_t key_n = (size_t)(is - key), value_n = (size_t)(end - is - 1);
        if (key_n == 4 && memcmp(key, "path", 4) == 0) {
            str_clear(&r->name);
            str_appendn(&r->name, is + 1, value_n);
            r->has_name = true;
        } else if (key_n == 4 && memcmp(key, "size", 4) == 0) {
            int64_t v = 0;
            for (size_t i = 0; i < value_n; i++) {
                if (is[1 + i] < '0' || is[1 + i] > '9' || v > INT64_MAX / 16)
                    return damaged(r, "its pax size is no number");
                v = v * 10 + (is[1 + i] - '0');
            }
            r->size = v;
        } else if (key_n > 11 && memcmp(key, "GNU.sparse.", 11) == 0)
            return damaged(r,
                           "it is a sparse file, of which only parts are stored; write it with tar without --sparse");
        at += length;
    }
    return r->name.failed ? status_oom(n, r->path) : NULL;
}

static xt_status name_of(reader *r, const header *h) {
    if (!r->has_name) {
        str_clear(&r->name);
        bool ustar = memcmp(h->magic, "ustar\0", 6) == 0; /* GNU's "ustar " has other fields where the prefix is */
        if (ustar && h->prefix[0]) {
            str_appendn(&r->name, h->prefix, strnlen(h->prefix, sizeof h->prefix));
            str_putc(&r->name, '/');
        }
        str_appendn(&r->name, h->name, strnlen(h->name, sizeof h->name));
    }
    if (r->name.failed) return status_oom(BLOCK, r->path);
    if (strlen(str_cstr(&r->name)) != r->name.len) return damaged(r, "its name has a zero byte in it");
    if (r->name.len == 0) return damaged(r, "it has no name");
    return leads_out(str_cstr(&r->name)) ? damaged(r, "its name leads out of the archive (/ in front, or ..)") : NULL;
}

/* A header for the next member. */
static xt_status take_extension(reader *r, char type, int64_t size) {
    char *text = NULL;
    XT_TRY(read_text(r, size, &text));
    xt_status s = NULL;
    if (type == 'x')
        s = take_pax(r, text, (size_t)size);
    else if (type == 'L' && !r->has_name) {
        str_clear(&r->name);
        str_append(&r->name, text);
        r->has_name = true;
    }
    base_free(text);
    return s;
}

static xt_status take_member(reader *r, const header *h, xt_status (*fn)(void *, const tar_member *), void *user,
                             int64_t *left_out) {
    if (!r->has_name) str_clear(&r->name); /* what is said of this header is not about the one before */
    bool extends = h->type == 'x' || h->type == 'g' || h->type == 'L' || h->type == 'K';
    int64_t size;
    if (!sum_fits(h)) return damaged(r, "its checksum is wrong: the file is damaged, or no tar");
    if (!number(h->size, sizeof h->size, &size)) return damaged(r, "its size is no number");
    if (!extends && r->size >= 0) size = r->size;
    if (!extends) XT_TRY(name_of(r, h));
    bool link = h->type >= '1' && h->type <= '6' && h->type != '5';
    if (link || h->type == '5') size = 0; /* whatever they say, nothing follows */
    if (size > r->bytes - r->at - BLOCK) {
        char why[160];
        snprintf(why, sizeof why, "it has %lld bytes, and %lld are left in the file: the file is cut", (long long)size,
                 (long long)(r->bytes - r->at - BLOCK));
        return damaged(r, why);
    }
    if (h->type == 'S' || h->type == 'M') return damaged(r, "a sparse or divided file, of which only parts are stored");
    if (h->type == 'x' || h->type == 'L') XT_TRY(take_extension(r, h->type, size));
    if (h->type == '0' || h->type == 0 || h->type == '7') {
        /* an old archive's folder is a file whose name ends in a slash */
        bool folder = r->name.data[r->name.len - 1] == '/';
        tar_member m = {str_cstr(&r->name), r->at + BLOCK, size};
        if (!folder) XT_TRY(fn(user, &m));
        *left_out += folder;
    } else if (!extends)
        (*left_out)++;
    if (!extends) {
        r->has_name = false;
        r->size = -1;
    }
    r->at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    return NULL;
}

/* Streams of bytes: of no member can be said where it lies in them. A header is one whatever its name begins with. */
static xt_status refuse_compressed(const char *path, int fd, int64_t bytes) {
    static const struct {
        const char *begins, *by, *unpack;
    } known[] = {{"\x1f\x8b", "gzip", "gunzip"},
                 {"\x28\xb5\x2f\xfd", "zstd", "zstd -d"},
                 {"BZh", "bzip2", "bunzip2"},
                 {"\xfd\x37zXZ", "xz", "unxz"},
                 {"\x04\x22\x4d\x18", "lz4", "unlz4"}};
    header h = {0};
    XT_TRY(tar_read(path, fd, 0, &h, bytes < BLOCK ? (size_t)bytes : BLOCK));
    for (size_t i = 0; i < BASE_COUNT(known) && !sum_fits(&h); i++)
        if (memcmp(h.name, known[i].begins, strlen(known[i].begins)) == 0)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s is compressed by %s: a tar without compression is expected, as no member of a "
                              "compressed one is found without all before it; unpack the shards once (%s %s) and name "
                              "the .tar files (pictures are compressed themselves)",
                              path, known[i].by, known[i].unpack, path);
    return NULL;
}

xt_status tar_each(const char *path, int fd, int64_t bytes, xt_status (*fn)(void *user, const tar_member *m),
                   void *user, int64_t *out_left_out) {
    reader r = {.path = path, .fd = fd, .bytes = bytes, .name = STR_INIT, .size = -1};
    xt_status s = refuse_compressed(path, fd, bytes);
    bool ended = false;
    *out_left_out = 0;
    while (!s && !ended && r.at <= bytes - BLOCK) {
        header h;
        s = tar_read(path, fd, r.at, &h, sizeof h);
        if (!s && is_zero(&h))
            ended = true;
        else if (!s)
            s = take_member(&r, &h, fn, user, out_left_out);
    }
    if (!s && !ended)
        s = status_new(
            XT_DATA_LOSS, NULL,
            "%s: after byte %lld there is no block of zeros, which ends a tar: the file is cut, or its writer "
            "was not closed",
            path, (long long)r.at);
    if (!s && (r.has_name || r.size >= 0)) s = damaged(&r, "a name or size for a member that does not follow");
    str_free(&r.name);
    return s;
}
