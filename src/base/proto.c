/* The protocol buffer wire format: base-128 varints, little-endian fixed words, length-delimited bytes. */
#include "base/proto.h"
#include "base/shown.h"

void proto_varint(str *s, uint64_t v) {
    for (; v >= 0x80; v >>= 7) str_putc(s, (char)(v | 0x80));
    str_putc(s, (char)v);
}

static void tag(str *s, uint32_t field, proto_wire wire) {
    proto_varint(s, (uint64_t)field << 3 | wire);
}

void proto_int(str *s, uint32_t field, int64_t v) {
    tag(s, field, PROTO_VARINT);
    proto_varint(s, (uint64_t)v);
}

static void fixed(str *s, uint64_t bits, int bytes) {
    for (int i = 0; i < bytes; i++) str_putc(s, (char)(bits >> 8 * i));
}

void proto_float(str *s, uint32_t field, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    tag(s, field, PROTO_FIXED32);
    fixed(s, bits, 4);
}

void proto_double(str *s, uint32_t field, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    tag(s, field, PROTO_FIXED64);
    fixed(s, bits, 8);
}

void proto_bytes(str *s, uint32_t field, const void *p, size_t n) {
    tag(s, field, PROTO_BYTES);
    proto_varint(s, n);
    str_appendn(s, p, n);
}

void proto_text(str *s, uint32_t field, const char *text) {
    str shown = STR_INIT;
    str_append_shown(&shown, text, strlen(text), "\n\t");
    proto_bytes(s, field, str_cstr(&shown), shown.len);
    s->failed |= shown.failed;
    str_free(&shown);
}

void proto_message(str *s, uint32_t field, const str *inner) {
    if (inner->failed) s->failed = true;
    proto_bytes(s, field, str_cstr(inner), inner->len);
}

proto_reader proto_read(const void *p, size_t n) {
    const unsigned char *b = p;
    return (proto_reader){.at = b, .end = b ? b + n : b};
}

bool proto_next_varint(proto_reader *r, uint64_t *out) {
    uint64_t v = 0;
    for (int shift = 0; r->at < r->end && shift < 64; shift += 7) {
        unsigned char c = *r->at++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *out = v;
            return true;
        }
        if (r->at == r->end) r->bad = true;
    }
    if (r->at < r->end) r->bad = true;
    return false;
}

static bool read_fixed(proto_reader *r, int bytes, uint64_t *out) {
    if (r->end - r->at < bytes) return false;
    *out = 0;
    for (int i = 0; i < bytes; i++) *out |= (uint64_t)*r->at++ << 8 * i;
    return true;
}

bool proto_next(proto_reader *r, proto_field *out) {
    uint64_t key;
    if (r->bad || !proto_next_varint(r, &key)) return false;
    *out = (proto_field){.number = (uint32_t)(key >> 3), .wire = (proto_wire)(key & 7)};
    bool ok = key >> 3 > 0 && key >> 3 < 1u << 29;
    switch (out->wire) {
    case PROTO_VARINT: ok = ok && proto_next_varint(r, &out->value); break;
    case PROTO_FIXED64: ok = ok && read_fixed(r, 8, &out->value); break;
    case PROTO_FIXED32: ok = ok && read_fixed(r, 4, &out->value); break;
    case PROTO_BYTES: {
        uint64_t n = 0;
        ok = ok && proto_next_varint(r, &n) && n <= (uint64_t)(r->end - r->at);
        if (!ok) break;
        out->data = r->at;
        out->size = (size_t)n;
        r->at += n;
        break;
    }
    default: ok = false;
    }
    if (!ok) r->bad = true;
    return ok;
}
