/* Shardings of HLO (OpSharding) as the texts that mhlo.sharding has: what PyTorch/XLA's SPMD says of parameters, of
 * values it marks and of the root.
 *
 * OpSharding: 1 type (REPLICATED 0, MAXIMAL 1, TUPLE 2, OTHER 3, MANUAL 4, UNKNOWN 5), 3 tile dims, 4 devices, 5 parts
 * of a tuple, 6 replicate on the last tile dim, 8 kinds of the last tile dims, 9 and 10 reshape and transpose of an
 * iota of devices. */
#include "format/hlo_int.h"
#include "ir/sharding.h"

enum { REPLICATED = 0, MAXIMAL = 1, TUPLE = 2, OTHER = 3, MANUAL = 4, UNKNOWN = 5 };

static bool list(hlomod_reader *r, hlomod_msg m, uint32_t field, const char *before, const char *after, str *out,
                 size_t *out_n) {
    int64_t *v;
    if (!hlomod_ints(r, m, field, out_n, &v)) return false;
    if (*out_n) str_append(out, before);
    for (size_t i = 0; i < *out_n; i++) str_printf(out, i ? ",%lld" : "%lld", (long long)v[i]);
    if (*out_n) str_append(out, after);
    return true;
}

/* An iota that is not transposed has the order 0, 1, ...; it is not spelled then. */
static bool transpose(hlomod_reader *r, hlomod_msg m, str *out) {
    size_t n;
    int64_t *order;
    bool straight = true;
    if (!hlomod_ints(r, m, 10, &n, &order)) return false;
    for (size_t i = 0; i < n; i++) straight = straight && order[i] == (int64_t)i;
    return straight || list(r, m, 10, "T(", ")", out, &n);
}

static bool tiled(hlomod_reader *r, hlomod_msg m, str *out) {
    size_t n, n_kinds;
    int64_t *kinds;
    str_append(out, "{devices=");
    if (!list(r, m, 3, "[", "]", out, &n) || !n)
        return !r->status && hlomod_fail(r, m.data, "a sharding without its tiles");
    if (!list(r, m, 9, "<=[", "]", out, &n)) return false;
    if (n ? !transpose(r, m, out) : !list(r, m, 4, "", "", out, &n)) return false;
    if (hlomod_int(r, m, 6, 0)) str_append(out, " last_tile_dim_replicate");
    if (!hlomod_ints(r, m, 8, &n_kinds, &kinds)) return false;
    for (size_t i = 0; i < n_kinds; i++)
        str_printf(out, "%s%s", i ? ", " : " last_tile_dims={", kinds[i] == MANUAL ? "manual" : "replicated");
    str_append(out, n_kinds ? "}}" : "}");
    return true;
}

/* One value's; *out_text NULL: it says nothing. */
static bool spell(hlomod_reader *r, hlomod_msg m, const char **out_text) {
    str s = STR_INIT;
    bool ok = true;
    size_t n;
    switch (hlomod_int(r, m, 1, 0)) {
    case REPLICATED: str_append(&s, "{replicated}"); break;
    case MANUAL: str_append(&s, "{manual}"); break;
    case MAXIMAL: ok = list(r, m, 4, "{maximal device=", "}", &s, &n); break;
    case OTHER: ok = tiled(r, m, &s); break;
    case UNKNOWN: break;
    default: ok = hlomod_fail(r, m.data, "a sharding of the unknown type %lld", (long long)hlomod_int(r, m, 1, 0));
    }
    *out_text = ok && s.len ? arena_strdup(r->m->mem, str_cstr(&s)) : NULL;
    if (ok && (s.failed || (s.len && !*out_text))) ok = hlomod_oom(r, s.len);
    str_free(&s);
    return ok && !r->status;
}

const char *hlomod_sharding_text(hlomod_reader *r, hlomod_msg m) {
    const char *text;
    return spell(r, m, &text) ? text : NULL;
}

static bool shardings(hlomod_reader *r, hlomod_msg m, size_t leaves, const char ***out) {
    const char **texts = *out = arena_alloc(r->scratch, (leaves + 1) * sizeof *texts);
    size_t n;
    hlomod_msg *parts;
    if (!texts) return hlomod_oom(r, leaves * sizeof *texts);
    if (hlomod_int(r, m, 1, 0) != TUPLE) { /* of each part of a tuple alike */
        if (leaves && !spell(r, m, &texts[0])) return false;
        for (size_t i = 1; i < leaves; i++) texts[i] = texts[0];
        return !r->status;
    }
    if (!hlomod_subs(r, m, 5, &n, &parts)) return false;
    if (n != leaves && !(n == 1 && leaves == 0))
        return hlomod_fail(r, m.data, "a sharding of %zu parts for a value of %zu", n, leaves);
    for (size_t i = 0; i < leaves; i++)
        if (!spell(r, parts[i], &texts[i])) return false;
    return true;
}

bool hlomod_has_sharding(hlomod_reader *r, hlomod_msg m, uint32_t field, hlomod_msg *out) {
    proto_field f;
    if (!hlomod_find(r, m, field, &f) || f.wire != PROTO_BYTES) return false;
    *out = (hlomod_msg){f.data, f.size};
    return true;
}

/* What stands on an instruction holds for its value: the partitioner reads annotations. Tokens have no layout. */
bool hlomod_annotate(hlomod_scope *s, hlomod_msg inst, hlomod_value *v) {
    hlomod_msg m;
    const char **texts;
    if (!hlomod_has_sharding(s->r, inst, 40, &m)) return !s->r->status;
    if (!shardings(s->r, m, v->shape.leaves, &texts)) return false;
    ir_value **leaf = arena_alloc(s->r->scratch, (v->shape.leaves + 1) * sizeof *leaf);
    if (!leaf) return hlomod_oom(s->r, v->shape.leaves * sizeof *leaf);
    for (size_t i = 0; i < v->shape.leaves; i++) {
        leaf[i] = v->leaf[i];
        if (texts[i] && leaf[i]->type->kind == IR_TENSOR && !(leaf[i] = ir_annotate_sharding(&s->b, leaf[i], texts[i])))
            return false;
    }
    v->leaf = leaf;
    return true;
}

static bool set_attr(hlomod_reader *r, ir_func *f, bool result, size_t i, const char *text) {
    ir_attr a = ir_attr_named_string(r->m, IR_SHARDING_ATTR, text);
    return (result ? ir_func_set_result_attr(f, i, a) : ir_func_set_arg_attr(f, i, a)) || hlomod_oom(r, sizeof a);
}

bool hlomod_func_shardings(hlomod_reader *r, hlomod_msg m, ir_func *f, bool result, size_t first, size_t leaves) {
    const char **texts;
    if (!shardings(r, m, leaves, &texts)) return false;
    for (size_t i = 0; i < leaves; i++)
        if (texts[i] && !set_attr(r, f, result, first + i, texts[i])) return false;
    return true;
}
