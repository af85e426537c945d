/* Attributes of the sdy dialect (shardings over named meshes), kept as the text that MLIR spells them with. Inside
 * another one an attribute is spelled without its #sdy.name: `body` finds where that starts. */
#include "format/bytecode_int.h"
#include "ir/text.h"

static const char *body(const ir_attr *a) {
    const char *s = a->kind == IR_AK_OPAQUE && a->v.s ? a->v.s : "";
    return strncmp(s, "#sdy", 4) == 0 ? s + strcspn(s, "<{") : s;
}

/* A list of references, spelled with commas between. */
static bool spell_list(bc_reader *r, bc_cursor *c, str *s) {
    ir_attr list;
    if (!bc_attr_list(r, c, &list)) return false;
    for (size_t i = 0; i < list.n; i++) {
        if (i) str_append(s, ", ");
        if (list.v.list[i].kind == IR_AK_STRING)
            print_attr_value(s, &list.v.list[i], NULL);
        else
            str_append(s, body(&list.v.list[i]));
    }
    return true;
}

static bool spell_ints(bc_reader *r, bc_cursor *c, str *s) {
    ir_attr list;
    if (!bc_int_list(r, c, &list)) return false;
    for (size_t i = 0; i < list.n; i++) str_printf(s, "%s%lld", i ? ", " : "", (long long)list.v.ints[i]);
    return true;
}

static void quoted(str *s, const bc_string *name) {
    print_attr_value(s, &(ir_attr){.kind = IR_AK_STRING, .name = "", .n = name->n, .v.s = name->s}, NULL);
}

static bool mesh(bc_reader *r, bc_cursor *c, str *s) {
    str ids = STR_INIT;
    str_append(s, "#sdy.mesh<[");
    bool ok = spell_list(r, c, s) && spell_ints(r, c, &ids);
    str_putc(s, ']');
    if (ok && ids.len) str_printf(s, ", device_ids=[%s]", str_cstr(&ids));
    str_putc(s, '>');
    str_free(&ids);
    return ok;
}

static bool axis(bc_reader *r, bc_cursor *c, bool sized, str *s) {
    bc_string name;
    int64_t size;
    const bc_attr *sub = NULL;
    if (!bc_string_at(r, c, &name) || (sized ? !bc_svarint(r, c, &size) : !bc_attr_ref_optional(r, c, &sub)))
        return false;
    quoted(s, &name);
    if (sized) str_printf(s, "=%lld", (long long)size);
    if (sub) str_printf(s, ":%s", body(&sub->a));
    return true;
}

/* {"x", "y":(1)2, ?}p1 */
static bool dimension(bc_reader *r, bc_cursor *c, str *s) {
    unsigned closed;
    uint64_t priority;
    bool has;
    str_putc(s, '{');
    size_t before = s->len;
    if (!spell_list(r, c, s) || !bc_byte(r, c, &closed) || !bc_flagged(r, c, &priority, &has)) return false;
    if (!closed) str_append(s, s->len > before ? ", ?" : "?");
    str_putc(s, '}');
    if (has) str_printf(s, "p%llu", (unsigned long long)priority);
    return true;
}

/* A list after `word=`, nothing when it is empty. */
static bool axes_clause(bc_reader *r, bc_cursor *c, const char *word, str *s) {
    str axes = STR_INIT;
    bool ok = spell_list(r, c, &axes);
    if (ok && axes.len) str_printf(s, ", %s={%s}", word, str_cstr(&axes));
    str_free(&axes);
    return ok;
}

static bool sharding(bc_reader *r, bc_cursor *c, uint64_t code, str *s) {
    const bc_attr *m;
    int64_t reduction;
    if (!bc_attr_ref(r, c, &m)) return false;
    str_append(s, "#sdy.sharding<");
    if (m->a.kind == IR_AK_SYMBOL)
        print_attr_value(s, &m->a, NULL);
    else
        str_printf(s, "mesh%s", body(&m->a));
    str_append(s, ", [");
    if (!spell_list(r, c, s)) return false;
    str_putc(s, ']');
    if (!axes_clause(r, c, "replicated", s) || (code >= 15 && !axes_clause(r, c, "unreduced", s)) ||
        (code == 17 && !bc_svarint(r, c, &reduction)))
        return false;
    str_putc(s, '>');
    return true;
}

static bool enclosed(bc_reader *r, bc_cursor *c, const char *before, const char *after, str *s) {
    str_append(s, before);
    bool ok = spell_list(r, c, s);
    str_append(s, after);
    return ok;
}

static bool spell(bc_reader *r, bc_cursor *c, uint64_t code, str *s) {
    int64_t pre, size;
    switch (code) {
    case 0: return enclosed(r, c, "#sdy<manual_axes{", "}>", s);
    case 1: return axis(r, c, true, s);
    case 2: return mesh(r, c, s);
    case 3:
        if (!bc_svarint(r, c, &pre) || !bc_svarint(r, c, &size)) return false;
        str_printf(s, "(%lld)%lld", (long long)pre, (long long)size);
        return true;
    case 4: return axis(r, c, false, s);
    case 5: return dimension(r, c, s);
    case 6:
    case 15:
    case 17: return sharding(r, c, code, s);
    case 7:
    case 16: return enclosed(r, c, "#sdy.sharding_per_value<[", "]>", s);
    case 11: return enclosed(r, c, "{", "}", s);
    case 12: return enclosed(r, c, "[", "]", s);
    default: /* hints for the propagation and for collectives of sdy's own: no program carries them to a device */
        str_append(s, BC_SDY_UNKNOWN);
        c->at = c->end;
        return true;
    }
}

bool bc_sdy_attr(bc_reader *r, bc_cursor *c, bc_attr *out) {
    uint64_t code;
    str s = STR_INIT;
    if (bc_varint(r, c, &code) && spell(r, c, code, &s)) return bc_text(r, &s, &out->a);
    str_free(&s);
    return false;
}
