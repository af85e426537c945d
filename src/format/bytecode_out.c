/* Entry to the bytecode writer: primitives, tables, and the frame of the file. The program is written first, which
 * fills the tables; sections follow in the order MLIR has them. */
#include "format/bytecode_out.h"

/* --- Bytes --- */

static void put_le(str *s, uint64_t v, int n) {
    for (int i = 0; i < n; i++) str_putc(s, (char)(v >> (8 * i)));
}

void bw_varint(str *s, uint64_t v) {
    int n = 1;
    while (n < 9 && v >> (7 * n)) n++;
    if (n < 9) {
        put_le(s, v << n | UINT64_C(1) << (n - 1), n);
        return;
    }
    str_putc(s, 0);
    put_le(s, v, 8);
}

void bw_svarint(str *s, int64_t v) {
    bw_varint(s, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

/* A value of 2^63 or more would not fit; counts and indices are never that large. */
void bw_flagged(str *s, uint64_t v, bool flag) {
    bw_varint(s, v << 1 | flag);
}

void bw_bits(str *s, int width, uint64_t v) {
    if (width < 64) v &= (UINT64_C(1) << width) - 1;
    if (width <= 8)
        str_putc(s, (char)v);
    else
        bw_svarint(s, (int64_t)v);
}

void bw_blob(str *s, const void *p, size_t n) {
    bw_varint(s, n);
    if (n) str_appendn(s, p, n);
}

void bw_section(str *s, unsigned id, const str *data) {
    str_putc(s, (char)id);
    bw_blob(s, data->data, data->len);
    s->failed |= data->failed;
}

void bw_fail(bw *w, const ir_op *op, const char *fmt, ...) {
    if (w->status) return;
    va_list ap;
    va_start(ap, fmt);
    w->status = status_newv(XT_INVALID_ARGUMENT, op ? src_get(op->src) : NULL, fmt, ap);
    va_end(ap);
    if (op)
        w->status = status_context(w->status, "writing %s.%s as bytecode", ir_op_infos[op->code].dialect,
                                   ir_op_infos[op->code].name);
}

static void oom(bw *w) {
    if (!w->status) w->status = status_oom(0, "a program written as bytecode");
}

/* --- Tables --- */

static size_t entry(bw *w, bw_table *t, size_t dialect, bool custom, const char *bytes, size_t n) {
    str key = STR_INIT;
    bw_varint(&key, dialect);
    bw_flagged(&key, n, custom);
    if (n) str_appendn(&key, bytes, n);
    if (!t->found) t->found = map_new();
    size_t index = t->found && !key.failed ? (size_t)(uintptr_t)map_get(t->found, key.data, key.len) : 0;
    if (!index) {
        char *copy = arena_alloc(w->mem, n + 1);
        if (copy && n) memcpy(copy, bytes, n);
        bool ok = copy && t->found && !key.failed &&
                  VEC_PUSH(t->items, t->n, t->cap, ((bw_entry){dialect, custom, copy, n})) &&
                  map_put(t->found, key.data, key.len, (void *)(uintptr_t)t->n, NULL);
        if (!ok) oom(w);
        index = ok ? t->n : 1;
    }
    str_free(&key);
    return index - 1;
}

static size_t entry_of(bw *w, bw_table *t, size_t dialect, bool custom, str *bytes) {
    if (bytes->failed) oom(w);
    size_t i = entry(w, t, dialect, custom, bytes->data, bytes->len);
    str_free(bytes);
    return i;
}

size_t bw_string(bw *w, const char *s, size_t n) {
    return entry(w, &w->strings, 0, false, s, n);
}

size_t bw_dialect(bw *w, const char *name) {
    bw_string(w, name, strlen(name));
    return entry(w, &w->dialects, 0, false, name, strlen(name));
}

size_t bw_op(bw *w, const char *dialect, const char *name) {
    bw_string(w, name, strlen(name));
    return entry(w, &w->ops, bw_dialect(w, dialect), true, name, strlen(name));
}

size_t bw_attr_entry(bw *w, const char *dialect, bool custom, str *bytes) {
    return entry_of(w, &w->attrs, bw_dialect(w, dialect), custom, bytes);
}
size_t bw_type_entry(bw *w, const char *dialect, bool custom, str *bytes) {
    return entry_of(w, &w->types, bw_dialect(w, dialect), custom, bytes);
}
size_t bw_properties(bw *w, str *bytes) {
    return entry_of(w, &w->properties, 0, false, bytes);
}

static void free_table(bw_table *t) {
    map_free(t->found, NULL);
    base_free(t->items);
}

/* --- Sections --- */

/* Entries that follow each other in one dialect are one group. */
static size_t group_end(const bw_table *t, size_t from) {
    size_t i = from;
    while (i < t->n && t->items[i].dialect == t->items[from].dialect) i++;
    return i;
}

static void dialect_section(bw *w, str *s) {
    bw_varint(s, w->dialects.n);
    for (size_t i = 0; i < w->dialects.n; i++)
        bw_flagged(s, bw_string(w, w->dialects.items[i].bytes, w->dialects.items[i].n), false);
    bw_varint(s, w->ops.n);
    for (size_t i = 0, end; i < w->ops.n; i = end) {
        end = group_end(&w->ops, i);
        bw_varint(s, w->ops.items[i].dialect);
        bw_varint(s, end - i);
        for (size_t k = i; k < end; k++) bw_flagged(s, bw_string(w, w->ops.items[k].bytes, w->ops.items[k].n), true);
    }
}

static void entry_offsets(const bw_table *t, str *s, str *data) {
    for (size_t i = 0, end; i < t->n; i = end) {
        end = group_end(t, i);
        bw_varint(s, t->items[i].dialect);
        bw_varint(s, end - i);
        for (size_t k = i; k < end; k++) {
            bw_flagged(s, t->items[k].n, t->items[k].custom);
            str_appendn(data, t->items[k].bytes, t->items[k].n);
        }
    }
}

static void string_section(const bw *w, str *s) {
    bw_varint(s, w->strings.n);
    for (size_t i = w->strings.n; i-- > 0;) bw_varint(s, w->strings.items[i].n + 1);
    for (size_t i = 0; i < w->strings.n; i++) {
        str_appendn(s, w->strings.items[i].bytes, w->strings.items[i].n);
        str_putc(s, 0);
    }
}

static void property_section(const bw *w, str *s) {
    bw_varint(s, w->properties.n);
    for (size_t i = 0; i < w->properties.n; i++) bw_blob(s, w->properties.items[i].bytes, w->properties.items[i].n);
}

static void write_file(bw *w, const str *program, str *out) {
    enum { SEC_STRING, SEC_DIALECT, SEC_ATTR_TYPE, SEC_ATTR_TYPE_OFFSET, SEC_IR, SEC_PROPERTIES = 8 };
    str dialects = STR_INIT, offsets = STR_INIT, data = STR_INIT, strings = STR_INIT, properties = STR_INIT;
    dialect_section(w, &dialects);
    bw_varint(&offsets, w->attrs.n);
    bw_varint(&offsets, w->types.n);
    entry_offsets(&w->attrs, &offsets, &data);
    entry_offsets(&w->types, &offsets, &data);
    string_section(w, &strings);
    property_section(w, &properties);
    str_append(out, "ML\xefR");
    bw_varint(out, BC_MAX_VERSION);
    str_printf(out, "StableHLO_v%d.%d.0", w->version / 100, w->version % 100);
    str_putc(out, 0);
    bw_section(out, SEC_DIALECT, &dialects);
    bw_section(out, SEC_ATTR_TYPE_OFFSET, &offsets);
    bw_section(out, SEC_ATTR_TYPE, &data);
    bw_section(out, SEC_IR, program);
    bw_section(out, SEC_STRING, &strings);
    bw_section(out, SEC_PROPERTIES, &properties);
    str_free(&dialects);
    str_free(&offsets);
    str_free(&data);
    str_free(&strings);
    str_free(&properties);
}

xt_status bytecode_write(const ir_module *m, const bytecode_opts *o, str *out) {
    bw w = {.m = m, .version = o && o->version ? o->version : BYTECODE_VERSION, .locs = o ? o->locs : 0};
    if (w.version < BYTECODE_OLDEST || w.version > BYTECODE_NEWEST)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "StableHLO %d.%d: bytecode can be written for versions from 1.0 to 1.20", w.version / 100,
                          w.version % 100);
    str program = STR_INIT;
    size_t before = out->len;
    w.mem = arena_new();
    if (!w.mem) return status_oom(0, "a program written as bytecode");
    bw_dialect(&w, "builtin"); /* MLIR's own files begin with it */
    bw_module(&w, &program);
    if (!w.status) write_file(&w, &program, out);
    if (program.failed || out->failed) oom(&w);
    if (w.status && out->data) out->data[out->len = before] = 0;
    str_free(&program);
    free_table(&w.strings);
    free_table(&w.dialects);
    free_table(&w.ops);
    free_table(&w.attrs);
    free_table(&w.types);
    free_table(&w.properties);
    arena_free(w.mem);
    return w.status;
}

xt_status program_print(const ir_module *m, const int64_t version[3], unsigned locs, str *out) {
    int64_t v = version[0] < 10 && version[1] < 100 ? 100 * version[0] + version[1] : 0;
    if (v >= BYTECODE_OLDEST && v < BYTECODE_NEWEST) {
        xt_status s = bytecode_write(m, &(bytecode_opts){.version = (int)v, .locs = locs}, out);
        if (!s || status_code(s) != XT_INVALID_ARGUMENT) return s;
        xt_status_free(s); /* the compiler's own words about what it does not know are better than ours */
    }
    return ir_print(m, locs, out);
}
