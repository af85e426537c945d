/* The frame of a bytecode file: header, sections, and the tables of strings, dialects, op names, attributes, types,
 * properties and resources. */
#include "format/bytecode_int.h"

enum {
    SEC_STRING,
    SEC_DIALECT,
    SEC_ATTR_TYPE,
    SEC_ATTR_TYPE_OFFSET,
    SEC_IR,
    SEC_RESOURCE,
    SEC_RESOURCE_OFFSET,
    SEC_DIALECT_VERSIONS,
    SEC_PROPERTIES
};
static const char *const section_names[] = {
    "strings",     "dialects",  "attributes and types", "offsets of attributes and types",
    "the program", "resources", "offsets of resources", "dialect versions",
    "properties"};

bool bytecode_is(const void *data, size_t n) {
    return n >= 4 && memcmp(data, "ML\xefR", 4) == 0;
}

static bool read_header(bc_reader *r, bc_cursor *c) {
    const unsigned char *at = c->at + 4;
    c->at = at;
    if (!bc_varint(r, c, &r->version)) return false;
    if (r->version > BC_MAX_VERSION)
        return bc_fail(r, at, "bytecode version %llu; versions up to %d are known", (unsigned long long)r->version,
                       BC_MAX_VERSION);
    const unsigned char *nul = memchr(c->at, 0, (size_t)(c->end - c->at));
    if (!nul) return bc_fail(r, c->at, "the producer's name does not end");
    c->at = nul + 1;
    return true;
}

static bool read_sections(bc_reader *r, bc_cursor *c) {
    while (c->at < c->end) {
        const unsigned char *at = c->at;
        unsigned id;
        bc_cursor data;
        if (!bc_section(r, c, &id, &data)) return false;
        if (id >= BASE_COUNT(r->section)) return bc_fail(r, at, "a section of the unknown kind %u", id);
        if (r->section[id].at) return bc_fail(r, at, "a second section of %s", section_names[id]);
        r->section[id] = data;
    }
    for (unsigned id = SEC_STRING; id <= SEC_IR; id++)
        if (!r->section[id].at) return bc_fail(r, c->end, "there is no section of %s", section_names[id]);
    return true;
}

/* Sizes in reverse order, then the bytes in order; each string ends with a NUL. */
static bool read_strings(bc_reader *r) {
    bc_cursor *c = &r->section[SEC_STRING];
    if (!bc_count(r, c, "strings", &r->n_strings) || !(r->strings = bc_alloc(r, r->n_strings, sizeof *r->strings)))
        return false;
    for (size_t i = r->n_strings; i-- > 0;) {
        size_t n;
        if (!bc_count(r, c, "bytes of a string", &n)) return false;
        if (n == 0) return bc_fail(r, c->at, "a string without its end");
        r->strings[i].n = n - 1;
    }
    for (size_t i = 0; i < r->n_strings; i++) {
        bc_cursor s;
        if (!bc_bytes(r, c, r->strings[i].n + 1, &s)) return false;
        if (s.end[-1] != 0) return bc_fail(r, s.end - 1, "a string without its end");
        r->strings[i].s = (const char *)s.at;
    }
    return true;
}

static bc_dialect dialect_id(const char *name) {
    static const char *const names[] = {
        [BC_BUILTIN] = "builtin", [BC_VHLO] = "vhlo", [BC_STABLEHLO] = "stablehlo", [BC_CHLO] = "chlo",
        [BC_SDY] = "sdy",         [BC_FUNC] = "func", [BC_QUANT] = "quant"};
    for (int i = BC_BUILTIN; i <= BC_QUANT; i++)
        if (strcmp(names[i], name) == 0) return (bc_dialect)i;
    return BC_OTHER;
}

/* What an op's name means here. A vhlo name is taken apart: dot_general_v2. */
static void resolve_op(bc_op_name *o) {
    o->code = OP_COUNT;
    if (o->dialect != BC_VHLO) {
        ir_opcode_from_name(o->dialect_name, o->name, &o->code);
        if (o->dialect == BC_FUNC && strcmp(o->name, "return") == 0) o->code = OP_return;
        o->props = plain_props(o->dialect_name, o->name);
        return;
    }
    const char *v = strrchr(o->name, '_');
    char base[64];
    size_t n = v ? (size_t)(v - o->name) : 0;
    if (!v || v[1] != 'v' || v[2] < '1' || v[2] > '9' || v[3] || n >= sizeof base) return;
    memcpy(base, o->name, n);
    base[n] = 0;
    const vhlo_row *row = vhlo_find(base, n, v[2] - '0');
    if (!row) return;
    o->props = row->props;
    if (!ir_opcode_from_name("stablehlo", base, &o->code)) ir_opcode_from_name("func", base, &o->code);
}

static bool read_op_name(bc_reader *r, bc_cursor *c, size_t dialect) {
    uint64_t index;
    bool registered;
    const unsigned char *at = c->at;
    if (r->version < 5 ? !bc_varint(r, c, &index) : !bc_flagged(r, c, &index, &registered)) return false;
    if (index >= r->n_strings) return bc_fail(r, at, "string %llu of %zu", (unsigned long long)index, r->n_strings);
    bc_op_name o = {
        .dialect = r->dialect_ids[dialect], .dialect_name = r->dialects[dialect].s, .name = r->strings[index].s};
    resolve_op(&o);
    return VEC_PUSH(r->ops, r->n_ops, r->cap_ops, o) || bc_oom(r);
}

static bool read_dialects(bc_reader *r) {
    bc_cursor *c = &r->section[SEC_DIALECT];
    if (!bc_count(r, c, "dialects", &r->n_dialects) ||
        !(r->dialects = bc_alloc(r, r->n_dialects, sizeof *r->dialects)) ||
        !(r->dialect_ids = bc_alloc(r, r->n_dialects, sizeof *r->dialect_ids)))
        return false;
    for (size_t i = 0; i < r->n_dialects; i++) {
        const unsigned char *at = c->at;
        uint64_t index;
        bool versioned = false;
        if (r->version < 1 ? !bc_varint(r, c, &index) : !bc_flagged(r, c, &index, &versioned)) return false;
        if (index >= r->n_strings) return bc_fail(r, at, "string %llu of %zu", (unsigned long long)index, r->n_strings);
        r->dialects[i] = r->strings[index];
        r->dialect_ids[i] = dialect_id(r->dialects[i].s);
        unsigned id;
        bc_cursor versions;
        if (versioned && !bc_section(r, c, &id, &versions)) return false;
    }
    size_t total;
    if (r->version >= 4 && !bc_count(r, c, "op names", &total)) return false;
    while (c->at < c->end) {
        size_t dialect, n;
        if (!bc_index(r, c, r->n_dialects, "dialect", &dialect) || !bc_count(r, c, "op names", &n)) return false;
        for (size_t i = 0; i < n; i++)
            if (!read_op_name(r, c, dialect)) return false;
    }
    return true;
}

/* Sizes of n entries in groups of one dialect; the bytes follow each other in `data`. */
static bool read_entries(bc_reader *r, bc_cursor *c, bc_cursor *data, bc_entry *out, size_t n) {
    for (size_t i = 0; i < n;) {
        const unsigned char *at = c->at;
        size_t dialect, group;
        if (!bc_index(r, c, r->n_dialects, "dialect", &dialect) || !bc_count(r, c, "entries", &group)) return false;
        if (group > n - i) return bc_fail(r, at, "%zu entries where %zu are left", group, n - i);
        for (size_t k = 0; k < group; k++, i++) {
            uint64_t size;
            if (!bc_flagged(r, c, &size, &out[i].custom) || !bc_bytes(r, data, (size_t)size, &out[i].bytes))
                return false;
            out[i].dialect = r->dialect_ids[dialect];
        }
    }
    return true;
}

static bool read_attrs_and_types(bc_reader *r) {
    bc_cursor *c = &r->section[SEC_ATTR_TYPE_OFFSET], *data = &r->section[SEC_ATTR_TYPE];
    return bc_count(r, c, "attributes", &r->n_attrs) && bc_count(r, c, "types", &r->n_types) &&
           (r->attrs = bc_alloc(r, r->n_attrs, sizeof *r->attrs)) &&
           (r->types = bc_alloc(r, r->n_types, sizeof *r->types)) && read_entries(r, c, data, r->attrs, r->n_attrs) &&
           read_entries(r, c, data, r->types, r->n_types);
}

static bool read_properties(bc_reader *r) {
    bc_cursor *c = &r->section[SEC_PROPERTIES];
    if (!c->at) return true;
    if (!bc_count(r, c, "properties", &r->n_properties) ||
        !(r->properties = bc_alloc(r, r->n_properties, sizeof *r->properties)))
        return false;
    for (size_t i = 0; i < r->n_properties; i++)
        if (!bc_blob(r, c, &r->properties[i])) return false;
    return true;
}

/* One resource: where its bytes lie in the resource section. */
static bool read_resource(bc_reader *r, bc_cursor *c, bc_cursor *data, bc_resource *out) {
    size_t size;
    unsigned kind;
    bc_cursor bytes;
    if (!bc_string_at(r, c, &out->key)) return false;
    uint64_t n;
    if (!bc_varint(r, c, &n) || !bc_byte(r, c, &kind) || !bc_bytes(r, data, (size_t)n, &bytes)) return false;
    if (kind != 0) return true;
    uint64_t align;
    if (!bc_varint(r, &bytes, &align) || !bc_count(r, &bytes, "bytes of a resource", &size)) return false;
    if (align == 0 || align & (align - 1) || align > 1 << 20)
        return bc_fail(r, bytes.at, "a resource is aligned to %llu", (unsigned long long)align);
    while ((size_t)(bytes.at - r->begin) & (align - 1)) {
        unsigned pad;
        if (!bc_byte(r, &bytes, &pad)) return false;
    }
    return bc_bytes(r, &bytes, size, &out->data);
}

static bool read_resources(bc_reader *r) {
    bc_cursor *c = &r->section[SEC_RESOURCE_OFFSET], *data = &r->section[SEC_RESOURCE];
    size_t n_external, cap = 0;
    if (!c->at || !data->at) return true;
    if (!bc_count(r, c, "groups of resources", &n_external)) return false;
    for (size_t group = 0; c->at < c->end; group++) {
        size_t key, n;
        if (!bc_index(r, c, group < n_external ? r->n_strings : r->n_dialects, "owner of resources", &key) ||
            !bc_count(r, c, "resources", &n))
            return false;
        for (size_t i = 0; i < n; i++) {
            bc_resource one = {0};
            if (!read_resource(r, c, data, &one)) return false;
            if (group >= n_external && !VEC_PUSH(r->resources, r->n_resources, cap, one)) return bc_oom(r);
        }
    }
    return true;
}

bool bc_read_tables(bc_reader *r, const void *data, size_t n) {
    bc_cursor c = {data, (const unsigned char *)data + n};
    return read_header(r, &c) && read_sections(r, &c) && read_strings(r) && read_dialects(r) &&
           read_attrs_and_types(r) && read_properties(r) && read_resources(r);
}
