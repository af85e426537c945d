/* Event records. The checksum is CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), one table lookup a byte:
 * rows are small. */
#include "format/event.h"

#include <pthread.h>

#include "base/proto.h"

static uint32_t table[256];

static void make_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
        table[i] = c;
    }
}

uint32_t event_crc32c(const void *p, size_t n) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);
    const unsigned char *b = p;
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) c = table[(c ^ b[i]) & 255] ^ c >> 8;
    return ~c;
}

uint32_t event_mask(uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void little(unsigned char *out, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) out[i] = (unsigned char)(v >> (8 * i));
}

void event_append_record(str *out, const str *message) {
    unsigned char head[12], tail[4];
    little(head, message->len, 8);
    little(head + 8, event_mask(event_crc32c(head, 8)), 4);
    little(tail, event_mask(event_crc32c(str_cstr(message), message->len)), 4);
    str_appendn(out, (const char *)head, sizeof head);
    str_appendn(out, str_cstr(message), message->len);
    str_appendn(out, (const char *)tail, sizeof tail);
    out->failed = out->failed || message->failed;
}

void event_append_version(str *out, double wall) {
    str m = STR_INIT;
    static const char version[] = "brain.Event:2";
    proto_double(&m, 1, wall);
    proto_bytes(&m, 3, version, sizeof version - 1);
    event_append_record(out, &m);
    str_free(&m);
}

void event_append_scalars(str *out, double wall, int64_t step, size_t n, const event_scalar *scalars) {
    str summary = STR_INIT, m = STR_INIT;
    for (size_t i = 0; i < n; i++) {
        str value = STR_INIT;
        proto_text(&value, 1, scalars[i].tag);
        proto_float(&value, 2, (float)scalars[i].value);
        proto_message(&summary, 1, &value);
        str_free(&value);
    }
    proto_double(&m, 1, wall);
    proto_int(&m, 2, step);
    proto_message(&m, 5, &summary);
    event_append_record(out, &m);
    str_free(&summary);
    str_free(&m);
}

/* --- reading --- */
static uint64_t read_little(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | p[i];
    return v;
}

xt_status event_next(event_reader *r, bool *out_more, const void **out_data, size_t *out_size) {
    *out_more = false;
    size_t left = (size_t)(r->end - r->at);
    if (left < 12) return NULL;
    uint64_t n = read_little(r->at, 8);
    if (read_little(r->at + 8, 4) != event_mask(event_crc32c(r->at, 8)))
        return status_new(XT_DATA_LOSS, NULL,
                          "event record: the checksum of its length is wrong (%zu bytes before the end)", left);
    if (left - 12 < n || left - 12 - n < 4) return NULL;
    if (read_little(r->at + 12 + n, 4) != event_mask(event_crc32c(r->at + 12, n)))
        return status_new(XT_DATA_LOSS, NULL,
                          "event record: the checksum of its data is wrong (%zu bytes before the end)", left);
    *out_data = r->at + 12;
    *out_size = n;
    *out_more = true;
    r->at += 16 + n;
    return NULL;
}

static double as_double(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double as_float(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float v;
    memcpy(&v, &low, sizeof v);
    return v;
}

xt_status event_scalars(const void *data, size_t n, void (*fn)(void *, double, int64_t, const char *, double),
                        void *user) {
    double wall = 0;
    int64_t step = 0;
    proto_reader whole = proto_read(data, n), values = {0};
    proto_field f;
    while (proto_next(&whole, &f)) {
        if (f.number == 1 && f.wire == PROTO_FIXED64) wall = as_double(f.value);
        if (f.number == 2 && f.wire == PROTO_VARINT) step = (int64_t)f.value;
        if (f.number == 5 && f.wire == PROTO_BYTES) values = proto_read(f.data, f.size);
    }
    while (!whole.bad && proto_next(&values, &f)) {
        if (f.number != 1 || f.wire != PROTO_BYTES) continue;
        char tag[512] = "";
        double value = 0;
        proto_reader one = proto_read(f.data, f.size);
        proto_field g;
        while (proto_next(&one, &g)) {
            if (g.number == 1 && g.wire == PROTO_BYTES)
                snprintf(tag, sizeof tag, "%.*s", (int)g.size, (const char *)g.data);
            if (g.number == 2 && g.wire == PROTO_FIXED32) value = as_float(g.value);
        }
        if (one.bad)
            values.bad = true;
        else
            fn(user, wall, step, tag, value);
    }
    return whole.bad || values.bad ? status_new(XT_DATA_LOSS, NULL, "event record: the message is damaged") : NULL;
}
