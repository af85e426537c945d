/* Fields of protocol buffer messages by number, with bounds checked and offsets in errors. A message is walked for each
 * field asked for: those of an instruction are about fifteen. */
#include "format/hlo_int.h"

bool hlomod_fail(hlomod_reader *r, const unsigned char *at, const char *fmt, ...) {
    if (r->status) return false;
    str text = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    r->status = status_new(XT_INVALID_ARGUMENT, NULL, "%s: byte %zu: %s", r->file, at ? (size_t)(at - r->begin) : 0,
                           str_cstr(&text));
    str_free(&text);
    return false;
}

bool hlomod_oom(hlomod_reader *r, size_t bytes) {
    if (!r->status) r->status = status_oom(bytes, "an HLO program");
    return false;
}

static bool damaged(hlomod_reader *r, const proto_reader *p) {
    return hlomod_fail(r, p->at, "the HLO message is damaged or cut off here");
}

bool hlomod_check(hlomod_reader *r, hlomod_msg m) {
    proto_reader p = proto_read(m.data, m.n);
    for (proto_field f; proto_next(&p, &f);) {
    }
    return !p.bad || damaged(r, &p);
}

bool hlomod_find(hlomod_reader *r, hlomod_msg m, uint32_t field, proto_field *out) {
    proto_reader p = proto_read(m.data, m.n);
    bool found = false;
    for (proto_field f; proto_next(&p, &f);) {
        if (f.number != field) continue;
        *out = f;
        found = true;
    }
    return p.bad ? damaged(r, &p) : found;
}

int64_t hlomod_int(hlomod_reader *r, hlomod_msg m, uint32_t field, int64_t fallback) {
    proto_field f;
    if (!hlomod_find(r, m, field, &f)) return fallback;
    if (f.wire == PROTO_BYTES) {
        hlomod_fail(r, f.data, "field %u holds bytes where a number is expected", field);
        return fallback;
    }
    return (int64_t)f.value;
}

hlomod_msg hlomod_sub(hlomod_reader *r, hlomod_msg m, uint32_t field) {
    proto_field f;
    if (!hlomod_find(r, m, field, &f)) return (hlomod_msg){0};
    if (f.wire != PROTO_BYTES) {
        hlomod_fail(r, m.data, "field %u holds a number where a message is expected", field);
        return (hlomod_msg){0};
    }
    return (hlomod_msg){f.data, f.size};
}

const char *hlomod_text(hlomod_reader *r, hlomod_msg m, uint32_t field) {
    hlomod_msg sub = hlomod_sub(r, m, field);
    char *s = sub.n ? arena_alloc(r->scratch, sub.n + 1) : NULL;
    if (!s) {
        if (sub.n) hlomod_oom(r, sub.n);
        return "";
    }
    memcpy(s, sub.data, sub.n);
    return s;
}

/* How many elements field f adds to a repeated number: every byte without a continuation bit ends one. */
static size_t count_varints(const proto_field *f) {
    size_t n = 0;
    if (f->wire != PROTO_BYTES) return 1;
    for (size_t i = 0; i < f->size; i++) n += f->data[i] < 0x80;
    return n;
}

bool hlomod_ints(hlomod_reader *r, hlomod_msg m, uint32_t field, size_t *n, int64_t **out) {
    size_t count = 0, k = 0;
    proto_reader p = proto_read(m.data, m.n);
    *n = 0;
    *out = NULL;
    for (proto_field f; proto_next(&p, &f);)
        if (f.number == field) count += count_varints(&f);
    if (p.bad) return damaged(r, &p);
    int64_t *v = count ? arena_alloc(r->scratch, count * sizeof *v) : NULL;
    if (count && !v) return hlomod_oom(r, count * sizeof *v);
    p = proto_read(m.data, m.n);
    for (proto_field f; proto_next(&p, &f);) {
        if (f.number != field) continue;
        if (f.wire != PROTO_BYTES) {
            v[k++] = (int64_t)f.value;
            continue;
        }
        proto_reader list = proto_read(f.data, f.size);
        for (uint64_t x; proto_next_varint(&list, &x);) v[k++] = (int64_t)x;
        if (list.bad) return damaged(r, &list);
    }
    *n = k;
    *out = v;
    return true;
}

bool hlomod_subs(hlomod_reader *r, hlomod_msg m, uint32_t field, size_t *n, hlomod_msg **out) {
    size_t k = 0, cap = 0;
    proto_reader p = proto_read(m.data, m.n);
    *n = 0;
    *out = NULL;
    for (proto_field f; proto_next(&p, &f);) cap += f.number == field;
    if (p.bad) return damaged(r, &p);
    hlomod_msg *v = cap ? arena_alloc(r->scratch, cap * sizeof *v) : NULL;
    if (cap && !v) return hlomod_oom(r, cap * sizeof *v);
    p = proto_read(m.data, m.n);
    for (proto_field f; proto_next(&p, &f);) {
        if (f.number != field) continue;
        if (f.wire != PROTO_BYTES)
            return hlomod_fail(r, p.at, "field %u holds a number where a message is expected", field);
        v[k++] = (hlomod_msg){f.data, f.size};
    }
    *n = k;
    *out = v;
    return true;
}
