/* PJRT's shardings extension (type 19): how the parameters and outputs of a partitioned program lie, as serialised
 * OpSharding messages. They are made of the program's mhlo.sharding texts; what a text does not say is whole on
 * every device.
 *
 * OpSharding: 1 type (REPLICATED 0, MAXIMAL 1, OTHER 3, MANUAL 4, UNREDUCED 6), 3 tile dims, 4 devices, 6 replicate on
 * the last tile dim, 8 kinds of the last tile dims, 9 and 10 reshape and transpose of an iota of devices. */
#include <stdlib.h>

#include "base/proto.h"
#include "pjrt/face.h"

typedef struct reader {
    const char *at;
    bool bad;
} reader;

static bool accept(reader *r, const char *word) {
    size_t n = strlen(word);
    while (*r->at == ' ') r->at++;
    if (strncmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

/* Numbers between separators, packed as varints into field `field`. */
static void numbers(reader *r, uint32_t field, str *out) {
    str list = STR_INIT;
    do {
        char *end;
        while (*r->at == ' ') r->at++;
        long long v = strtoll(r->at, &end, 10);
        if (end == r->at || v < 0) {
            r->bad = true;
            break;
        }
        r->at = end;
        proto_varint(&list, (uint64_t)v);
    } while (accept(r, ","));
    proto_message(out, field, &list);
    str_free(&list);
}

static void bracketed(reader *r, const char *open, const char *close, uint32_t field, str *out) {
    if (!accept(r, open)) {
        r->bad = true;
        return;
    }
    numbers(r, field, out);
    r->bad = r->bad || !accept(r, close);
}

/* replicated, unreduced}: what the tiles behind those of the dims are. */
static void kinds(reader *r, str *out) {
    str list = STR_INIT;
    do {
        bool manual = accept(r, "manual"), unreduced = !manual && accept(r, "unreduced");
        r->bad = r->bad || (!manual && !unreduced && !accept(r, "replicated"));
        proto_varint(&list, manual ? 4 : unreduced ? 6 : 0);
    } while (!r->bad && accept(r, ","));
    r->bad = r->bad || !accept(r, "}");
    proto_message(out, 8, &list);
    str_free(&list);
}

static void tiled(reader *r, str *out) {
    proto_int(out, 1, 3);
    bracketed(r, "[", "]", 3, out);
    if (r->bad) return;
    if (accept(r, "<=")) {
        str order = STR_INIT; /* without a transpose: 0, 1, ... */
        const char *list = r->at;
        bracketed(r, "[", "]", 9, out);
        for (uint64_t k = 0; list < r->at; list++)
            if (*list == ',' || *list == ']') proto_varint(&order, k++);
        if (!r->bad && accept(r, "T"))
            bracketed(r, "(", ")", 10, out);
        else
            proto_message(out, 10, &order);
        str_free(&order);
    } else
        numbers(r, 4, out);
    if (!r->bad && accept(r, "last_tile_dim_replicate")) proto_int(out, 6, 1);
    if (!r->bad && accept(r, "last_tile_dims={")) kinds(r, out);
}

xt_status face_sharding_write(const char *text, str *out) {
    reader r = {text ? text : "{replicated}", false};
    if (!accept(&r, "{"))
        r.bad = true;
    else if (accept(&r, "manual"))
        proto_int(out, 1, 4);
    else if (accept(&r, "unreduced"))
        proto_int(out, 1, 6);
    else if (accept(&r, "maximal device=")) {
        proto_int(out, 1, 1);
        proto_bytes(out, 3, "\1", 1);
        numbers(&r, 4, out);
    } else if (accept(&r, "devices="))
        tiled(&r, out);
    else
        r.bad = !accept(&r, "replicated");
    if (r.bad || !accept(&r, "}"))
        return status_new(XT_INVALID_ARGUMENT, NULL, "the sharding '%s' cannot be read", text);
    return out->failed ? status_oom(64, "a sharding") : NULL;
}

static void tell_all(PJRT_Shardings_Args *a, bool outputs) {
    const face_program *p = a->executable->program;
    size_t skip = outputs ? p->n_in : 0;
    bool known = p->shardings != NULL && (outputs ? p->n_out : p->n_in) > 0;
    a->count = !known ? 0 : outputs ? p->n_out : p->n_in;
    a->shardings = known ? (const char **)p->shardings + skip : NULL;
    a->sizes = known ? p->sharding_sizes + skip : NULL;
}

static PJRT_Error *tell(PJRT_Shardings_Args *a, bool outputs) {
    face_call call = face_call_begin();
    xt_status s =
        face_check(a, outputs ? FACE_SLOT_Executable_OutputShardings : FACE_SLOT_Executable_ParameterShardings);
    if (!s) tell_all(a, outputs);
    face_call_end(call);
    return face_error(s);
}

static PJRT_Error *parameters(PJRT_Shardings_Args *a) {
    return tell(a, false);
}

static PJRT_Error *outputs(PJRT_Shardings_Args *a) {
    return tell(a, true);
}

PJRT_Shardings_Extension face_shardings = {
    .base = {.struct_size = sizeof(PJRT_Shardings_Extension), .type = PJRT_EXTENSION_SHARDINGS},
    .Executable_ParameterShardings = parameters,
    .Executable_OutputShardings = outputs};
