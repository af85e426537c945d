/* Shardy's shardings as tiles. All axes that a sharding names are cut where it cuts any of them, so that each reference
 * to an axis is a row of whole pieces; a dim's tiles are then the product of its pieces, and what is left over is
 * replication. */
#include "ir/sdy.h"

#include <ctype.h>
#include <stdlib.h>

#include "ir/sharding.h"

typedef struct name {
    const char *s;
    size_t n;
} name;
typedef struct mesh {
    name axes[IR_SHARD_AXES];
    int64_t sizes[IR_SHARD_AXES], devices;
    int n;
    int64_t *ids; /* by place in the mesh; NULL: 0, 1, 2, ... */
} mesh;
typedef struct ref { /* a part of an axis that divides a dim */
    int axis;
    int64_t before, size;
    uint32_t dim; /* UNREDUCED: none, devices along it hold summands */
} ref;
enum { UNREDUCED = IR_MAX_RANK };
typedef struct piece {
    int axis;
    int64_t before, size;
    bool used;
} piece;
typedef struct spread { /* one sharding over its mesh */
    mesh mesh;
    ref refs[IR_SHARD_AXES];
    int n_refs;
    size_t rank;
    bool open;
    uint32_t open_dims;
    piece pieces[IR_SHARD_AXES];
    int n_pieces;
} spread;

/* --- reading --- */
static bool at_text(const char **p, const char *w) {
    size_t n = strlen(w);
    while (isspace((unsigned char)**p)) ++*p;
    if (strncmp(*p, w, n) != 0) return false;
    *p += n;
    return true;
}
static bool number(const char **p, int64_t *out) {
    while (isspace((unsigned char)**p)) ++*p;
    if (!isdigit((unsigned char)**p)) return false;
    char *end;
    *out = strtoll(*p, &end, 10);
    *p = end;
    return *out <= IR_SHARD_DEVICES;
}
static bool quoted(const char **p, name *out) {
    if (!at_text(p, "\"")) return false;
    out->s = *p;
    while (**p && **p != '"') ++*p;
    out->n = (size_t)(*p - out->s);
    return at_text(p, "\"");
}
static bool same(name a, name b) {
    return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}

static xt_status bad(const char *text) {
    return status_new(XT_INVALID_ARGUMENT, NULL, "'%s' cannot be read as a sharding over a mesh", text);
}

static bool read_ids(const char **p, mesh *out) {
    int64_t n = 0;
    out->ids = base_calloc((size_t)out->devices + 1, sizeof *out->ids);
    if (!out->ids) return false;
    while (!at_text(p, "]")) {
        if (n == out->devices || !number(p, &out->ids[n++])) return false;
        at_text(p, ",");
    }
    return n == out->devices;
}

/* From behind `mesh<` or `#sdy.mesh<`. */
static bool read_mesh(const char **p, mesh *out) {
    out->devices = 1;
    if (!at_text(p, "[")) return false;
    while (!at_text(p, "]")) {
        int64_t size;
        if (out->n == IR_SHARD_AXES || !quoted(p, &out->axes[out->n]) || !at_text(p, "=") || !number(p, &size) ||
            size < 1)
            return false;
        out->sizes[out->n++] = size;
        out->devices *= size;
        if (out->devices > IR_SHARD_DEVICES) return false;
        at_text(p, ",");
    }
    if (at_text(p, ",") && !(at_text(p, "device_ids") && at_text(p, "=") && at_text(p, "[") && read_ids(p, out)))
        return false;
    return at_text(p, ">");
}

/* @name, @"name", or a mesh spelled out. */
static xt_status find_mesh(const ir_module *m, const char **p, mesh *out) {
    const char *start = *p;
    if (at_text(p, "#sdy.mesh<") || at_text(p, "mesh<")) return read_mesh(p, out) ? NULL : bad(start);
    name n = {0};
    if (!at_text(p, "@")) return bad(start);
    if (**p == '"') {
        if (!quoted(p, &n)) return bad(start);
    } else {
        n.s = *p;
        while (isalnum((unsigned char)**p) || strchr("_$.-", **p ? **p : ' ')) ++*p;
        n.n = (size_t)(*p - n.s);
    }
    for (size_t i = 0; i < m->n_meshes; i++) {
        if (!same(n, (name){m->meshes[i].name, strlen(m->meshes[i].name)})) continue;
        const char *text = m->meshes[i].v.s;
        return at_text(&text, "#sdy.mesh<") && read_mesh(&text, out) ? NULL : bad(m->meshes[i].v.s);
    }
    return status_new(XT_INVALID_ARGUMENT, NULL, "the mesh @%.*s is not in the program", (int)n.n, n.s);
}

static bool read_ref(const char **p, const mesh *m, ref *out) {
    name n;
    if (!quoted(p, &n)) return false;
    out->axis = 0;
    while (out->axis < m->n && !same(m->axes[out->axis], n)) out->axis++;
    if (out->axis == m->n) return false;
    out->before = 1;
    out->size = m->sizes[out->axis];
    if (!at_text(p, ":")) return true;
    return at_text(p, "(") && number(p, &out->before) && at_text(p, ")") && number(p, &out->size) && out->before > 0 &&
           out->size > 0 && m->sizes[out->axis] % (out->before * out->size) == 0;
}

static bool counts(const char *only, name axis) {
    name n;
    if (!only) return true;
    for (const char *p = only; *p; p++)
        if (*p == '"') {
            if (!quoted(&p, &n)) return false;
            if (same(n, axis)) return true;
            p--;
        }
    return false;
}

/* {"x", "y":(1)2, ?}p1 */
static bool read_dim(const char **p, const char *only, spread *s) {
    int64_t priority;
    if (!at_text(p, "{")) return false;
    while (!at_text(p, "}")) {
        ref r = {.dim = (uint32_t)s->rank};
        if (at_text(p, "?"))
            s->open_dims |= 1u << s->rank;
        else {
            if (s->n_refs == IR_SHARD_AXES || !read_ref(p, &s->mesh, &r)) return false;
            if (counts(only, s->mesh.axes[r.axis])) s->refs[s->n_refs++] = r;
        }
        at_text(p, ",");
    }
    s->rank++;
    return !at_text(p, "p") || number(p, &priority);
}

static xt_status read_spread(const ir_module *m, const char *text, const char *only, spread *out) {
    const char *p = text;
    *out = (spread){.mesh.devices = 1};
    at_text(&p, "#sdy.sharding");
    if (!at_text(&p, "<")) return bad(text);
    XT_TRY(find_mesh(m, &p, &out->mesh));
    if (!at_text(&p, ",") || !at_text(&p, "[")) return bad(text);
    while (!at_text(&p, "]")) {
        if (out->rank == IR_MAX_RANK || !read_dim(&p, only, out)) return bad(text);
        at_text(&p, ",");
    }
    while (at_text(&p, ",")) {
        bool unreduced = at_text(&p, "unreduced");
        if ((!unreduced && !at_text(&p, "replicated")) || !at_text(&p, "=") || !at_text(&p, "{")) return bad(text);
        while (!at_text(&p, "}")) {
            ref r;
            if (out->n_refs == IR_SHARD_AXES || !read_ref(&p, &out->mesh, &r)) return bad(text);
            r.dim = UNREDUCED;
            if (unreduced && counts(only, out->mesh.axes[r.axis])) out->refs[out->n_refs++] = r;
            at_text(&p, ",");
        }
    }
    out->open = out->open_dims && out->n_refs == 0;
    return NULL;
}

/* --- pieces --- */
static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool cut_axis(spread *s, int axis) {
    int64_t cuts[2 * IR_SHARD_AXES + 2] = {1, s->mesh.sizes[axis]};
    size_t n = 2;
    for (int i = 0; i < s->n_refs; i++)
        if (s->refs[i].axis == axis) {
            cuts[n++] = s->refs[i].before;
            cuts[n++] = s->refs[i].before * s->refs[i].size;
        }
    qsort(cuts, n, sizeof *cuts, by_size);
    for (size_t i = 1; i < n; i++) {
        if (cuts[i] == cuts[i - 1]) continue;
        if (cuts[i] % cuts[i - 1] || s->n_pieces == IR_SHARD_AXES) return false;
        s->pieces[s->n_pieces++] = (piece){axis, cuts[i - 1], cuts[i] / cuts[i - 1], false};
    }
    return true;
}

/* The pieces of dim d in order; a piece that stands twice is refused. */
static int pieces_of(spread *s, uint32_t d, int out[IR_SHARD_AXES]) {
    int n = 0;
    for (int i = 0; i < s->n_refs; i++) {
        const ref *r = &s->refs[i];
        for (int k = 0; r->dim == d && k < s->n_pieces; k++) {
            const piece *q = &s->pieces[k];
            if (q->axis != r->axis || q->before < r->before || q->before >= r->before * r->size) continue;
            if (q->used || n == IR_SHARD_AXES) return -1;
            s->pieces[k].used = true;
            out[n++] = k;
        }
    }
    return n;
}

typedef struct tiling { /* pieces in the order of the tiles, and the tiles of each dim; what is left over comes last */
    int order[IR_SHARD_AXES], n;
    int64_t tiles[IR_MAX_RANK], rest, unreduced;
} tiling;

static bool tile(spread *s, const ir_type *t, bool even, tiling *out) {
    *out = (tiling){.rest = 1, .unreduced = 1};
    for (int a = 0; a < s->mesh.n; a++)
        if (!cut_axis(s, a)) return false;
    for (size_t d = 0; d < s->rank; d++) {
        int mine[IR_SHARD_AXES], n = pieces_of(s, (uint32_t)d, mine);
        if (n < 0) return false;
        int64_t tiles = 1;
        for (int i = 0; i < n; i++) tiles *= s->pieces[mine[i]].size;
        for (; even && n > 0 && t->kind == IR_TENSOR && t->dims[d] % tiles; n--) {
            tiles /= s->pieces[mine[n - 1]].size;
            s->pieces[mine[n - 1]].used = false;
        }
        out->tiles[d] = tiles;
        for (int i = 0; i < n; i++) out->order[out->n++] = mine[i];
    }
    int summed[IR_SHARD_AXES], n = pieces_of(s, UNREDUCED, summed);
    if (n < 0) return false;
    for (int k = 0; k < s->n_pieces; k++)
        if (!s->pieces[k].used) {
            out->order[out->n++] = k;
            out->rest *= s->pieces[k].size;
        }
    for (int i = 0; i < n; i++) {
        out->order[out->n++] = summed[i];
        out->unreduced *= s->pieces[summed[i]].size;
    }
    return out->n == s->n_pieces;
}

/* The device at place k of the tiles, counted in their order. */
static int64_t device_at(const spread *s, const int *order, int n, int64_t k) {
    int64_t at[IR_SHARD_AXES] = {0}, place = 0;
    for (int i = n; i-- > 0;) {
        at[order[i]] = k % s->pieces[order[i]].size;
        k /= s->pieces[order[i]].size;
    }
    for (int i = 0; i < s->n_pieces; i++) place = place * s->pieces[i].size + at[i];
    return s->mesh.ids ? s->mesh.ids[place] : place;
}

static void spell(const spread *s, const tiling *t, str *out) {
    bool straight = true;
    str_append(out, "{devices=[");
    for (size_t d = 0; d < s->rank; d++) str_printf(out, d ? ",%lld" : "%lld", (long long)t->tiles[d]);
    if (t->rest > 1) str_printf(out, s->rank ? ",%lld" : "%lld", (long long)t->rest);
    if (t->unreduced > 1) str_printf(out, s->rank || t->rest > 1 ? ",%lld" : "%lld", (long long)t->unreduced);
    str_putc(out, ']');
    for (int i = 0; i < t->n; i++) straight = straight && t->order[i] == i;
    if (s->mesh.ids) {
        for (int64_t k = 0; k < s->mesh.devices; k++)
            str_printf(out, k ? ",%lld" : "%lld", (long long)device_at(s, t->order, t->n, k));
    } else if (straight) {
        str_printf(out, "<=[%lld]", (long long)s->mesh.devices);
    } else {
        for (int i = 0; i < s->n_pieces; i++) str_printf(out, i ? ",%lld" : "<=[%lld", (long long)s->pieces[i].size);
        for (int i = 0; i < t->n; i++) str_printf(out, i ? ",%d" : "]T(%d", t->order[i]);
        str_putc(out, ')');
    }
    if (t->unreduced > 1)
        str_append(out, t->rest > 1 ? " last_tile_dims={replicated, unreduced}}" : " last_tile_dims={unreduced}}");
    else
        str_append(out, t->rest > 1 ? " last_tile_dim_replicate}" : "}");
}

/* --- what others call --- */
xt_status ir_sdy_text(const ir_module *m, const char *sharding, const ir_type *t, const sdy_wish *wish,
                      sdy_form *out_form, str *out) {
    spread s;
    tiling tiles;
    xt_status st = read_spread(m, sharding, wish->only, &s);
    if (!st && t->kind == IR_TENSOR && s.rank != t->rank && s.rank)
        st = status_new(XT_INVALID_ARGUMENT, NULL, "'%s' speaks of %zu dims, the value has %u", sharding, s.rank,
                        t->rank);
    if (!st && !tile(&s, t, wish->even, &tiles)) st = bad(sharding);
    if (!st) {
        *out_form = (sdy_form){.open = s.open, .open_dims = s.open_dims, .devices = s.mesh.devices};
        if (tiles.rest == s.mesh.devices)
            str_append(out, "{replicated}");
        else
            spell(&s, &tiles, out);
        if (out->failed) st = status_oom(out->cap, "a sharding");
    }
    base_free(s.mesh.ids);
    return st;
}

const char *ir_sdy_of_value(const char *list, size_t i) {
    const char *p = list && strchr(list, '[') ? strchr(list, '[') + 1 : "";
    int depth = 0;
    bool text = false;
    for (; *p; p++) {
        if (*p == '"') text = !text;
        if (text) continue;
        if (*p == '<' && depth++ == 0 && i-- == 0) return p;
        if (*p == '>') depth--;
        if (*p == ']' && depth == 0) return NULL;
    }
    return NULL;
}

xt_status ir_sdy_groups(const ir_module *m, const char *mesh_text, const char *axes, int64_t *out_groups,
                        int64_t *out_members, int64_t **out_ids) {
    spread s = {.mesh.devices = 1};
    tiling tiles;
    const char *p = axes;
    xt_status st = find_mesh(m, &mesh_text, &s.mesh);
    bool ok = !st && at_text(&p, "[");
    while (ok && !at_text(&p, "]")) {
        ok = s.n_refs < IR_SHARD_AXES && read_ref(&p, &s.mesh, &s.refs[s.n_refs]);
        s.n_refs++;
        at_text(&p, ",");
    }
    s.rank = 1;
    ok = ok && tile(&s, ir_token(), false, &tiles);
    int64_t *ids = ok ? base_calloc((size_t)s.mesh.devices, sizeof *ids) : NULL;
    if (ids) { /* the axes named count fastest, within what is left over */
        int order[IR_SHARD_AXES], n = 0, named = 0;
        for (int64_t t = 1; t < tiles.tiles[0]; named++) t *= s.pieces[tiles.order[named]].size;
        for (int i = named; i < tiles.n; i++) order[n++] = tiles.order[i];
        for (int i = 0; i < named; i++) order[n++] = tiles.order[i];
        for (int64_t k = 0; k < s.mesh.devices; k++) ids[k] = device_at(&s, order, n, k);
        *out_members = tiles.tiles[0];
        *out_groups = s.mesh.devices / tiles.tiles[0];
        *out_ids = ids;
    } else if (!st) {
        st = ok ? status_oom((size_t)s.mesh.devices * sizeof *ids, "replica groups") : bad(axes);
    }
    base_free(s.mesh.ids);
    return st;
}

static const char groups_name[] = "#stablehlo.replica_group_mesh_axes<";

bool ir_sdy_is_groups(const char *text) {
    return strncmp(text, groups_name, sizeof groups_name - 1) == 0;
}

/* One axis_ref<name = "x", sub_axis_info = (1)2> as "x":(1)2. */
static bool respell_axis(const char **p, str *out) {
    name axis;
    int64_t before, size;
    if (!at_text(p, "#stablehlo.axis_ref<") || !at_text(p, "name") || !at_text(p, "=") || !quoted(p, &axis))
        return false;
    str_printf(out, "\"%.*s\"", (int)axis.n, axis.s);
    if (at_text(p, ",")) {
        if (!at_text(p, "sub_axis_info") || !at_text(p, "=") || !at_text(p, "(") || !number(p, &before) ||
            !at_text(p, ")") || !number(p, &size))
            return false;
        str_printf(out, ":(%lld)%lld", (long long)before, (long long)size);
    }
    return at_text(p, ">");
}

xt_status ir_sdy_groups_of(const ir_module *m, const char *text, int64_t *out_groups, int64_t *out_members,
                           int64_t **out_ids) {
    const char *p = text + sizeof groups_name - 1, *mesh_text = strchr(p, '=') ? strchr(p, '=') + 1 : "";
    str axes = STR_INIT;
    mesh skipped = {.devices = 1};
    p = mesh_text;
    xt_status st = find_mesh(m, &p, &skipped);
    base_free(skipped.ids);
    bool ok = !st && at_text(&p, ",") && at_text(&p, "axes") && at_text(&p, "=") && at_text(&p, "[");
    str_putc(&axes, '[');
    while (ok && !at_text(&p, "]")) {
        ok = respell_axis(&p, &axes);
        at_text(&p, ",");
        str_putc(&axes, ',');
    }
    str_putc(&axes, ']');
    if (!st && axes.failed) st = status_oom(axes.len, "replica groups");
    if (!st) st = ok ? ir_sdy_groups(m, mesh_text, str_cstr(&axes), out_groups, out_members, out_ids) : bad(text);
    str_free(&axes);
    return st;
}
