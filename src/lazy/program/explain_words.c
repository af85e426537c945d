/* Words for nodes of programs, and where two node lists part. */
#include "lazy/program/explain.h"

size_t explain_common_prefix(const lazy_node *a, size_t na, const lazy_node *b, size_t nb) {
    size_t n = na < nb ? na : nb, i = 0;
    while (i < n && a[i].hash == b[i].hash && a[i].code == b[i].code && a[i].type == b[i].type) i++;
    return i;
}

explain_list explain_list_of(const lazy_node *nodes, size_t n) {
    size_t i = 0;
    while (i < n && explain_is_input(&nodes[i])) i++;
    return (explain_list){nodes + i, n - i};
}

size_t explain_first_other(explain_list a, explain_list b) {
    size_t n = a.n < b.n ? a.n : b.n, i = 0;
    while (i < n && a.at[i].code == b.at[i].code && a.at[i].type == b.at[i].type && a.at[i].src == b.at[i].src) i++;
    return i;
}

static const char *name_of(const lazy_node *n) {
    return explain_is_input(n) ? lazy_role_name(n->role) : ir_op_infos[n->code].name;
}

static void shape(str *out, const ir_type *t, bool with_dtype) {
    if (!t) return;
    if (with_dtype) str_append(out, xt_dtype_name(t->dtype));
    str_putc(out, '[');
    for (uint32_t i = 0; i < t->rank; i++) str_printf(out, i ? ",%lld" : "%lld", (long long)t->dims[i]);
    str_putc(out, ']');
}

static void place(str *out, const lazy_node *n) {
    char at[256];
    if (n->src) str_printf(out, " at %s", src_text(n->src, at, sizeof at));
}

void explain_describe(str *out, const lazy_node *n, bool with_text) {
    str_append(out, name_of(n));
    if (n->path) str_printf(out, " %s", intern_text(n->path));
    if (n->type) str_putc(out, ' ');
    shape(out, n->type, true);
    if (with_text && n->text) str_append(out, intern_text(n->text));
    place(out, n);
}

void explain_became(str *out, const lazy_node *now, const lazy_node *was, int64_t program) {
    bool same = now->code == was->code && now->role == was->role && now->path == was->path &&
                (explain_is_input(now) || now->src == was->src),
         dtype = now->type && was->type && now->type->dtype != was->type->dtype;
    bool texts = same && now->text != was->text, types = now->type != was->type;
    bool moved = same && !texts && !types; /* the same thing at another place of the program: nothing became anything */
    if (same && !moved && now->type && was->type) {
        str_append(out, name_of(now));
        if (now->path) str_printf(out, " %s", intern_text(now->path));
        if (types) str_putc(out, ' '), shape(out, was->type, dtype);
        if (texts) str_append(out, intern_text(was->text));
        if (was->src != now->src) place(out, was);
        str_append(out, " became");
        if (types) str_putc(out, ' '), shape(out, now->type, dtype);
        if (texts) str_append(out, intern_text(now->text));
        place(out, now);
    } else {
        explain_describe(out, now, true);
        str_append(out, " instead of ");
        explain_describe(out, was, true);
    }
    str_printf(out, " (program %lld)", (long long)program);
}

void explain_dims(str *out, const ir_type *now, const ir_type *was) {
    for (uint32_t i = 0; now->rank == was->rank && i < now->rank; i++)
        if (now->dims[i] != was->dims[i])
            str_printf(out, ", dim %u from %lld to %lld", i, (long long)was->dims[i], (long long)now->dims[i]);
}
