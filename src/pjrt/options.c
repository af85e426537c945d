/* Compile options, of which these fields matter here: CompileOptionsProto 7 (overrides by name) with xla_dump_to, and
 * CompileOptionsProto 3 (build options) with 4 (replicas), 5 (partitions), 12 (outputs may stay divided) and 9 (device
 * assignment: 1 replicas, 2 partitions, 3 per partition {1: device id of each replica}). */
#include "base/proto.h"
#include "pjrt/face.h"

enum { MAX_LOGICAL = 4096 };

static bool add_id(face_options *o, uint64_t id) {
    if (o->n_ids >= MAX_LOGICAL) return false;
    o->ids[o->n_ids++] = (int32_t)(int64_t)id;
    return true;
}

/* One partition's list: packed or one field per id. */
static bool read_ids(const proto_field *list, face_options *o) {
    proto_reader r = proto_read(list->data, list->size);
    for (proto_field f; proto_next(&r, &f);) {
        if (f.number != 1) continue;
        if (f.wire == PROTO_VARINT && !add_id(o, f.value)) return false;
        if (f.wire != PROTO_BYTES) continue;
        proto_reader ids = proto_read(f.data, f.size);
        for (uint64_t id; proto_next_varint(&ids, &id);)
            if (!add_id(o, id)) return false;
        if (ids.bad) return false;
    }
    return !r.bad;
}

static bool read_assignment(const proto_field *message, face_options *o) {
    if (!o->ids && !(o->ids = base_malloc(MAX_LOGICAL * sizeof *o->ids))) return false;
    o->n_ids = 0;
    proto_reader r = proto_read(message->data, message->size);
    for (proto_field f; proto_next(&r, &f);)
        if (f.number == 3 && f.wire == PROTO_BYTES && !read_ids(&f, o)) return false;
    return !r.bad;
}

/* One flag for all outputs or one each: only those that nobody named a sharding for matter, and clients
 * set them alike. */
static bool any_true(const proto_field *f) {
    if (f->wire == PROTO_VARINT) return f->value != 0;
    proto_reader r = proto_read(f->data, f->wire == PROTO_BYTES ? f->size : 0);
    for (uint64_t v; proto_next_varint(&r, &v);)
        if (v) return true;
    return false;
}

static bool read_build(const proto_field *message, face_options *o) {
    proto_reader r = proto_read(message->data, message->size);
    for (proto_field f; proto_next(&r, &f);) {
        if (f.number == 4 && f.wire == PROTO_VARINT) o->replicas = f.value <= MAX_LOGICAL ? (int)f.value : -1;
        if (f.number == 5 && f.wire == PROTO_VARINT) o->partitions = f.value <= MAX_LOGICAL ? (int)f.value : -1;
        if (f.number == 12) o->keep_divided |= any_true(&f);
        if (f.number == 9 && f.wire == PROTO_BYTES && !read_assignment(&f, o)) return false;
    }
    return !r.bad;
}

#define OURS "xtrain_as_written"

static bool is_named(const proto_field *f, const char *name) {
    return f->size == strlen(name) && memcmp(f->data, name, f->size) == 0;
}

/* XLA's flags are taken and change nothing but xla_dump_to; xtrain_as_written is our own client's; other names are
 * mistakes, and so is a text for a flag that is a yes or no. */
static xt_status check_override(const proto_field *name, const proto_field *text) {
    static const char *const flags[] = {"xla_embed_ir_in_executable", "xla_cpu_enable_fast_math",
                                        "xla_cpu_enable_fast_min_max", "xla_allow_excess_precision"};
    if (is_named(name, OURS)) return NULL;
    if (name->size < 4 || memcmp(name->data, "xla_", 4) != 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "No such compile option: '%.*s'",
                          name->size < 200 ? (int)name->size : 200, name->data ? (const char *)name->data : "");
    for (size_t i = 0; i < BASE_COUNT(flags) && text->data; i++)
        if (is_named(name, flags[i]) && !is_named(text, "true") && !is_named(text, "false") &&
            !is_named(text, "True") && !is_named(text, "False"))
            return status_new(XT_INVALID_ARGUMENT, NULL, "compile option %s: '%.*s' is not a valid bool value.",
                              flags[i], text->size < 200 ? (int)text->size : 200, (const char *)text->data);
    return NULL;
}

/* An entry of the override map: 1 name, 2 value {1 text, 2 bool}. */
static bool read_override(const proto_field *message, face_options *o, xt_status *refused) {
    proto_field name = {0}, value = {0}, text = {0};
    proto_reader r = proto_read(message->data, message->size);
    for (proto_field f; proto_next(&r, &f);)
        if (f.wire == PROTO_BYTES && f.number == 1)
            name = f;
        else if (f.wire == PROTO_BYTES && f.number == 2)
            value = f;
    if (r.bad) return false;
    r = proto_read(value.data, value.size);
    for (proto_field f; proto_next(&r, &f);)
        if (f.wire == PROTO_BYTES && f.number == 1)
            text = f;
        else if (f.wire == PROTO_VARINT && f.number == 2 && is_named(&name, OURS))
            o->as_written = f.value != 0;
    if (!*refused) *refused = check_override(&name, &text);
    if (!is_named(&name, "xla_dump_to") || !value.data) return !r.bad;
    base_free(o->dump_to);
    o->dump_to = text.size ? base_strndup((const char *)text.data, text.size) : NULL;
    return !r.bad;
}

xt_status face_options_read(const char *bytes, size_t n, face_options *out) {
    *out = (face_options){.replicas = 1, .partitions = 1};
    bool ok = true;
    xt_status refused = NULL;
    proto_reader r = proto_read(bytes, n);
    for (proto_field f; ok && proto_next(&r, &f);)
        if (f.number == 3 && f.wire == PROTO_BYTES)
            ok = read_build(&f, out);
        else if (f.number == 7 && f.wire == PROTO_BYTES)
            ok = read_override(&f, out, &refused);
    ok = ok && !r.bad;
    if (refused) {
        face_options_deinit(out);
        return refused;
    }
    if (out->replicas == 0) out->replicas = 1; /* zero is what an absent field says */
    if (out->partitions == 0) out->partitions = 1;
    size_t want = ok && out->replicas > 0 && out->partitions > 0 ? (size_t)out->replicas * (size_t)out->partitions : 0;
    if (out->n_ids == 0) {
        base_free(out->ids);
        out->ids = NULL;
    }
    if (want && want <= MAX_LOGICAL && (!out->ids || out->n_ids == want)) return NULL;
    xt_status s =
        ok ? status_new(XT_INVALID_ARGUMENT, NULL,
                        "the compile options name %d replicas of %d partitions and assign %zu devices", out->replicas,
                        out->partitions, out->n_ids)
           : status_new(XT_INVALID_ARGUMENT, NULL, "the compile options (%zu bytes) are no CompileOptionsProto", n);
    face_options_deinit(out);
    return s;
}

void face_options_deinit(face_options *o) {
    base_free(o->ids);
    base_free(o->dump_to);
    *o = (face_options){0};
}

void face_assignment_write(const face_options *o, const int32_t *ids, str *out) {
    proto_int(out, 1, o->replicas);
    proto_int(out, 2, o->partitions);
    for (int p = 0; p < o->partitions; p++) {
        str list = STR_INIT, message = STR_INIT;
        for (int r = 0; r < o->replicas; r++) proto_varint(&list, (uint64_t)(int64_t)ids[p * o->replicas + r]);
        proto_message(&message, 1, &list);
        proto_message(out, 3, &message);
        str_free(&list);
        str_free(&message);
    }
}
