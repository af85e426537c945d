/* The wire format of protocol buffers, as far as small messages need it: TensorBoard events, PJRT compile options and
 * device assignments.
 *
 *     str inner = STR_INIT, msg = STR_INIT;
 *     proto_int(&inner, 4, 1);
 *     proto_bytes(&msg, 3, inner.data, inner.len);
 *
 * Reading walks the fields in order; a field that runs past the end makes the walk stop with `bad` set. */
#ifndef XT_SRC_BASE_PROTO_H
#define XT_SRC_BASE_PROTO_H

#include "base/base.h"

/* --- writing --- */
void proto_varint(str *s, uint64_t v); /* a bare varint, as in packed lists */
void proto_int(str *s, uint32_t field, int64_t v); /* int32, int64, enum, bool */
void proto_float(str *s, uint32_t field, float v);
void proto_double(str *s, uint32_t field, double v);
void proto_bytes(str *s, uint32_t field, const void *p, size_t n); /* strings, bytes, messages */
void proto_text(str *s, uint32_t field, const char *text); /* a string: readers refuse what is no UTF-8, and show it */
void proto_message(str *s, uint32_t field, const str *inner);

/* --- reading --- */
typedef enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 } proto_wire;
typedef struct proto_reader {
    const unsigned char *at, *end;
    bool bad;
} proto_reader;
typedef struct proto_field {
    uint32_t number;
    proto_wire wire;
    uint64_t value; /* VARINT, FIXED32, FIXED64: the bits */
    const unsigned char *data; /* BYTES */
    size_t size;
} proto_field;
proto_reader proto_read(const void *p, size_t n);
/* false at the end, or when the bytes are no message (then `bad`) */
bool proto_next(proto_reader *r, proto_field *out);
bool proto_next_varint(proto_reader *r, uint64_t *out); /* elements of a packed list */

#endif
