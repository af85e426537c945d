/* Locations: most of a program's bytes. Each is read once, only for its innermost source line and its first name, which
 * becomes the module path. */
#include "format/bytecode_int.h"

static bool read_loc(bc_reader *r, bc_cursor *c, bc_loc *out);

static bool inner(bc_reader *r, bc_cursor *c, bc_loc *out) {
    const unsigned char *at = c->at;
    uint64_t i;
    return bc_varint(r, c, &i) && bc_loc_get(r, (size_t)i, at, out);
}

static bool file_line(bc_reader *r, bc_cursor *c, bool range, bc_loc *out) {
    const bc_attr *file;
    uint64_t line = 0;
    size_t n;
    if (!bc_attr_ref(r, c, &file) || (range && !bc_count(r, c, "numbers of a location", &n))) return false;
    if ((!range || n > 0) && !bc_varint(r, c, &line)) return false;
    c->at = c->end;
    if (file->a.kind != IR_AK_STRING) return true;
    out->src = src_intern(&(xt_src){file->a.v.s, line <= INT32_MAX ? (int)line : 0, ""});
    return true;
}

static bool named(bc_reader *r, bc_cursor *c, bc_loc *out) {
    const bc_attr *name;
    if (!bc_attr_ref(r, c, &name) || !inner(r, c, out)) return false;
    if (name->a.kind == IR_AK_STRING) out->path = intern_n(name->a.v.s, name->a.n);
    return true;
}

static bool fused(bc_reader *r, bc_cursor *c, bc_loc *out) {
    size_t n;
    if (!bc_count(r, c, "locations", &n)) return false;
    for (size_t i = 0; i < n; i++) {
        bc_loc one = {0};
        if (!inner(r, c, &one)) return false;
        if (!out->src) out->src = one.src;
        if (!out->path) out->path = one.path;
    }
    c->at = c->end;
    return true;
}

static bool read_loc(bc_reader *r, bc_cursor *c, bc_loc *out) {
    uint64_t code;
    if (!bc_varint(r, c, &code)) return false;
    switch (code) {
    case 10: return inner(r, c, out); /* callee first; the caller is not asked */
    case 11: return file_line(r, c, false, out);
    case 12:
    case 13: return fused(r, c, out);
    case 14: return named(r, c, out);
    case 22: return file_line(r, c, true, out);
    default: return true;
    }
}

bool bc_loc_get(bc_reader *r, size_t index, const void *at, bc_loc *out) {
    if (index >= r->n_attrs) return bc_fail(r, at, "attribute %zu of %zu", index, r->n_attrs);
    bc_entry *e = &r->attrs[index];
    if (!e->loc_known && e->custom && e->dialect == BC_BUILTIN) {
        bc_cursor c = e->bytes;
        if (e->busy) return bc_fail(r, e->bytes.at, "this location contains itself");
        if (!bc_enter(r, at)) return false;
        e->busy = true;
        bool ok = read_loc(r, &c, &e->loc);
        e->busy = false;
        bc_leave(r);
        if (!ok) return false;
    }
    e->loc_known = true;
    *out = e->loc;
    return true;
}
