/* .npy: magic, version, a Python dictionary literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), },
 * padding, elements. Source: the format's description in numpy.lib.format. */
#include "format/npy.h"

enum { NPY_MAX_RANK = 32, NPY_ALIGN = 64 };
static const char magic[] = "\x93NUMPY";

static const struct npy_type {
    const char *descr; /* without the byte order */
    xt_dtype dtype;
} types[] = {
    {"b1", XT_BOOL}, {"i1", XT_I8},    {"i2", XT_I16},  {"i4", XT_I32},      {"i8", XT_I64},    {"u1", XT_U8},
    {"u2", XT_U16},  {"u4", XT_U32},   {"u8", XT_U64},  {"f2", XT_F16},      {"f4", XT_F32},    {"f8", XT_F64},
    {"c8", XT_C64},  {"c16", XT_C128}, {"V2", XT_BF16}, {"V1", XT_F8E4M3FN}, {"f1", XT_F8E5M2}, /* as ml_dtypes names
                                                                                                   it; read only, since
                                                                                                   plain NumPy does not
                                                                                                   know it */
};

/* --- The header --- */

typedef struct reader {
    const char *s, *end, *name;
    size_t offset; /* of the header in the file */
    const char *begin;
} reader;

typedef struct header {
    xt_dtype dtype;
    bool swap, fortran, have_descr, have_order, have_shape;
    int rank;
    int64_t dims[NPY_MAX_RANK];
} header;

static xt_status bad(const reader *r, const char *expected) {
    size_t at = (size_t)(r->s - r->begin) + r->offset;
    if (r->s >= r->end)
        return status_new(XT_DATA_LOSS, NULL, "%s: the npy header ends at byte %zu, expected %s", r->name, at,
                          expected);
    unsigned char c = (unsigned char)*r->s;
    if (c < 0x20 || c > 0x7e)
        return status_new(XT_DATA_LOSS, NULL, "%s: byte %zu of the npy header is 0x%02x, expected %s", r->name, at, c,
                          expected);
    return status_new(XT_DATA_LOSS, NULL, "%s: byte %zu of the npy header is '%c', expected %s", r->name, at, c,
                      expected);
}

static void skip(reader *r) {
    while (r->s < r->end && strchr(" \t\r\n", *r->s) && *r->s) r->s++;
}

static bool accept(reader *r, char c) {
    skip(r);
    if (r->s == r->end || *r->s != c) return false;
    r->s++;
    return true;
}

static bool accept_word(reader *r, const char *word) {
    size_t n = strlen(word);
    skip(r);
    if ((size_t)(r->end - r->s) < n || memcmp(r->s, word, n)) return false;
    r->s += n;
    return true;
}

static xt_status read_string(reader *r, char *buf, size_t size) {
    skip(r);
    char quote = r->s < r->end ? *r->s : 0;
    size_t n = 0;
    if (quote != '\'' && quote != '"') return bad(r, "a string");
    for (r->s++; r->s < r->end && *r->s != quote; r->s++) {
        if (n + 1 == size) return bad(r, "a shorter string");
        buf[n++] = *r->s;
    }
    buf[n] = 0;
    return r->s++ < r->end ? NULL : bad(r, "the end of a string");
}

static xt_status read_descr(reader *r, header *h) {
    char text[24];
    skip(r);
    if (r->s < r->end && *r->s == '[')
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: a structured array; save its fields as arrays of their own",
                          r->name);
    XT_TRY(read_string(r, text, sizeof text));
    const char *t = text;
    if (*t && strchr("<>|=", *t)) h->swap = *t++ == '>';
    if (!strcmp(t, "?")) t = "b1";
    for (size_t i = 0; i < BASE_COUNT(types); i++) {
        if (strcmp(t, types[i].descr)) continue;
        h->dtype = types[i].dtype;
        return NULL;
    }
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "%s: element type '%s' is none of b1, i1..i8, u1..u8, f2..f8, c8, c16, V2 (bf16), V1 (8 bits or "
                      "fewer), f1 (f8E5M2)",
                      r->name, text);
}

static xt_status read_shape(reader *r, header *h) {
    if (!accept(r, '(')) return bad(r, "'(' before the shape");
    while (!accept(r, ')')) {
        int64_t v = 0;
        const char *first = r->s;
        if (h->rank == NPY_MAX_RANK) return bad(r, "at most 32 dimensions");
        for (; r->s < r->end && *r->s >= '0' && *r->s <= '9'; r->s++) {
            if (v > (INT64_MAX - 9) / 10) return bad(r, "a dimension that fits in 64 bits");
            v = v * 10 + (*r->s - '0');
        }
        if (r->s == first) return bad(r, "a dimension");
        if (r->s < r->end && *r->s == 'L') r->s++; /* Python 2 */
        h->dims[h->rank++] = v;
        if (accept(r, ',')) continue;
        skip(r);
        if (r->s == r->end || *r->s != ')') return bad(r, "',' or ')' in the shape");
    }
    return NULL;
}

static xt_status read_header(reader *r, header *h) {
    char key[32];
    if (!accept(r, '{')) return bad(r, "'{'");
    while (!accept(r, '}')) {
        XT_TRY(read_string(r, key, sizeof key));
        if (!accept(r, ':')) return bad(r, "':' after a key");
        if (!strcmp(key, "descr") && !h->have_descr) {
            h->have_descr = true;
            XT_TRY(read_descr(r, h));
        } else if (!strcmp(key, "fortran_order") && !h->have_order) {
            h->have_order = true;
            h->fortran = accept_word(r, "True");
            if (!h->fortran && !accept_word(r, "False")) return bad(r, "True or False");
        } else if (!strcmp(key, "shape") && !h->have_shape) {
            h->have_shape = true;
            XT_TRY(read_shape(r, h));
        } else {
            return bad(r, "the keys descr, fortran_order and shape, once each");
        }
        if (accept(r, ',')) continue;
        skip(r);
        if (r->s == r->end || *r->s != '}') return bad(r, "',' or '}' after a value");
    }
    return h->have_descr && h->have_order && h->have_shape ? NULL : bad(r, "the keys descr, fortran_order and shape");
}

/* --- Elements --- */

static void swap_bytes(char *p, size_t count, size_t size) {
    for (size_t i = 0; i < count; i++, p += size)
        for (size_t k = 0; k < size / 2; k++) {
            char c = p[k];
            p[k] = p[size - 1 - k];
            p[size - 1 - k] = c;
        }
}

/* Element i of the row-major result lies at the offset that its index has with the first dim fastest. */
static void from_fortran(const char *src, char *dst, const header *h, int64_t count, size_t size) {
    int64_t index[NPY_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++, dst += size) {
        int64_t at = 0;
        for (int d = h->rank - 1; d >= 0; d--) at = at * h->dims[d] + index[d];
        memcpy(dst, src + (size_t)at * size, size);
        for (int d = h->rank - 1; d >= 0 && ++index[d] == h->dims[d]; d--) index[d] = 0;
    }
}

static xt_status read_elements(const reader *r, const header *h, const char *data, size_t n, xt_array *out) {
    int64_t count;
    size_t size = xt_dtype_size(h->dtype), bytes;
    if (!dims_count(h->dims, (size_t)h->rank, &count) || !size_mul((size_t)count, size, &bytes))
        return status_new(XT_DATA_LOSS, NULL, "%s: the shape in the npy header has more elements than any memory holds",
                          r->name);
    if (bytes != n)
        return status_new(XT_DATA_LOSS, NULL,
                          "%s: the header promises %lld elements of %zu bytes = %zu bytes, but %zu follow", r->name,
                          (long long)count, size, bytes, n);
    *out = (xt_array){
        .dtype = h->dtype, .rank = h->rank, .data = base_aligned(NPY_ALIGN, bytes ? bytes : 1), .bytes = bytes};
    if (!out->data) return status_oom(bytes, "an array");
    memcpy(out->dims, h->dims, (size_t)h->rank * sizeof h->dims[0]);
    if (h->fortran && h->rank > 1)
        from_fortran(data, out->data, h, count, size);
    else
        memcpy(out->data, data, bytes);
    size_t parts = h->dtype == XT_C64 || h->dtype == XT_C128 ? 2 : 1;
    if (h->swap) swap_bytes(out->data, (size_t)count * parts, size / parts);
    for (size_t i = 0; h->dtype == XT_BOOL && i < bytes; i++)
        ((uint8_t *)out->data)[i] = ((uint8_t *)out->data)[i] != 0;
    return NULL;
}

xt_status npy_decode(const char *data, size_t n, const char *name, xt_array *out) {
    *out = (xt_array){0};
    if (n < 10 || memcmp(data, magic, 6))
        return status_new(XT_DATA_LOSS, NULL, "%s: not an npy file: it does not begin with \\x93NUMPY", name);
    unsigned major = (unsigned char)data[6];
    if (major < 1 || major > 3)
        return status_new(XT_DATA_LOSS, NULL, "%s: npy version %u.%u; 1.0, 2.0 and 3.0 are known", name, major,
                          (unsigned char)data[7]);
    size_t start = major == 1 ? 10 : 12, size = 0;
    if (n < start) return status_new(XT_DATA_LOSS, NULL, "%s: the npy header ends at byte %zu", name, n);
    for (size_t i = start; i-- > 8;) size = size << 8 | (unsigned char)data[i];
    if (size > n - start)
        return status_new(XT_DATA_LOSS, NULL, "%s: the npy header claims %zu bytes, but %zu are left in the file", name,
                          size, n - start);
    reader r = {data + start, data + start + size, name, start, data + start};
    header h = {0};
    XT_TRY(read_header(&r, &h));
    return read_elements(&r, &h, data + start + size, n - start - size, out);
}

static const char *descr_of(xt_dtype t) {
    for (size_t i = 0; i < BASE_COUNT(types); i++)
        if (types[i].dtype == t && t != XT_F8E5M2) return types[i].descr;
    switch (t) {
    case XT_I4:
    case XT_I2: return "i1";
    case XT_U4:
    case XT_U2: return "u1";
    default: return xt_dtype_size(t) == 1 ? "V1" : NULL;
    }
}

/* In words; NULL: nothing. */
static const char *fault_of(const xt_array *a, size_t *out_bytes) {
    size_t bytes = a->dtype > XT_DTYPE_NONE && a->dtype < XT_DTYPE_COUNT ? xt_dtype_size(a->dtype) : 0;
    *out_bytes = 0;
    if (!bytes) return "there is no such dtype";
    if (a->rank < 0 || (size_t)a->rank > BASE_COUNT(a->dims)) return "there is no such rank";
    for (int d = 0; d < a->rank; d++)
        if (a->dims[d] < 0 || !size_mul(bytes, (size_t)a->dims[d], &bytes)) return "there are no such dims";
    *out_bytes = bytes;
    if (a->bytes != bytes) return "it has other bytes than its dims need";
    return bytes && !a->data ? "its data is NULL" : NULL;
}

xt_status npy_whole(const xt_array *a, const char *what) {
    size_t bytes;
    const char *fault = fault_of(a, &bytes);
    if (!fault) return NULL;
    str dims = STR_INIT;
    for (int d = 0; d < a->rank && d < (int)BASE_COUNT(a->dims); d++)
        str_printf(&dims, d ? ", %lld" : "%lld", (long long)a->dims[d]);
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL,
                             "%s: the array is not whole: %s (dtype %d, rank %d, dims {%s}, .bytes = %zu); .bytes is "
                             "the product of the first .rank dims times the size of an element, here %zu",
                             what, fault, (int)a->dtype, a->rank, str_cstr(&dims), a->bytes, bytes);
    str_free(&dims);
    return s;
}

xt_status npy_header(const xt_array *a, str *out) {
    const char *descr = descr_of(a->dtype);
    if (!descr)
        return status_new(XT_INVALID_ARGUMENT, NULL, "arrays of %s cannot be written as npy", xt_dtype_name(a->dtype));
    str dict = STR_INIT;
    str_printf(&dict, "{'descr': '%s%s', 'fortran_order': False, 'shape': (", xt_dtype_size(a->dtype) == 1 ? "|" : "<",
               descr);
    for (int i = 0; i < a->rank; i++) str_printf(&dict, "%s%lld", i ? ", " : "", (long long)a->dims[i]);
    str_append(&dict, a->rank == 1 ? ",), }" : "), }");
    size_t blanks = (NPY_ALIGN - (dict.len + 11) % NPY_ALIGN) % NPY_ALIGN; /* elements begin at a multiple of 64 */
    str_printf(&dict, "%*s\n", (int)blanks, "");
    str_appendn(out, magic, 6);
    char rest[4] = {1, 0, (char)(dict.len & 255), (char)(dict.len >> 8)};
    str_appendn(out, rest, sizeof rest);
    str_appendn(out, str_cstr(&dict), dict.len);
    bool failed = dict.failed || out->failed;
    str_free(&dict);
    return failed ? status_oom(64, "an npy header") : NULL;
}

/* --- Files --- */

xt_status xt_npy_read(const char *path, xt_array *out) {
    char *data;
    size_t n;
    *out = (xt_array){0};
    XT_TRY(file_read_all(path, &data, &n));
    xt_status s = npy_decode(data, n, path, out);
    base_free(data);
    return s;
}

xt_status xt_npy_write(const char *path, const xt_array *a) {
    str head = STR_INIT;
    file_writer *w = NULL;
    xt_status s = npy_header(a, &head);
    if (!s) s = file_writer_open(path, &w);
    if (!s) s = file_writer_write(w, str_cstr(&head), head.len);
    if (!s) s = file_writer_write(w, a->data, a->bytes);
    if (s && w)
        file_writer_abandon(w);
    else if (w)
        s = file_writer_commit(w);
    str_free(&head);
    return s;
}

void xt_array_free(xt_array *a) {
    if (!a) return;
    base_free(a->data);
    *a = (xt_array){0};
}
