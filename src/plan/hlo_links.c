/* The collectives of XLA's program text: what they move, between which devices, and for which of our ops. */
#include <ctype.h>
#include <stdlib.h>

#include "plan/hlo.h"

enum { MOST_AXES = 8 };

static int read_numbers(const char *p, char stop, int64_t *out, int max) {
    int n = 0;
    while (*p && *p != stop && n < max) {
        char *end;
        int64_t v = strtoll(p, &end, 10);
        if (end == p) break;
        out[n++] = v;
        p = end + (*end == ',');
    }
    return n;
}

/* The devices of a row-major grid that a group of its axes spans, those of a subset in this order, from device 0. */
static int span(const int64_t *size, const int64_t *stride, int n_axes, int64_t *group, int max) {
    int64_t count = 1;
    for (int i = 0; i < n_axes; i++) {
        if (size[i] <= 0 || count > max) return 0;
        count *= size[i];
    }
    int n = 0;
    for (int64_t k = 0; k < count && n < max; k++) {
        int64_t left = k, at = 0;
        for (int i = n_axes; i-- > 0; left /= size[i]) at += left % size[i] * stride[i];
        group[n++] = at;
    }
    return n;
}

static void strides(const int64_t *size, int n, int64_t *out) {
    int64_t s = 1;
    for (int i = n; i-- > 0; s *= size[i] > 0 && size[i] < 1 << 20 ? size[i] : 1) out[i] = s;
}

/* "[4,8]<=[8,4]T(1,0)": the devices 0.. of a grid [8,4], transposed, cut into 4 groups of 8. */
static int iota_group(const char *p, int64_t *group, int max) {
    int64_t shape[MOST_AXES], grid[MOST_AXES], perm[MOST_AXES], stride[MOST_AXES];
    int64_t size[MOST_AXES], step[MOST_AXES];
    int ns = read_numbers(p + 1, ']', shape, MOST_AXES);
    const char *from = strstr(p, "<=[");
    if (!from || ns < 2) return 0;
    int ng = read_numbers(from + 3, ']', grid, MOST_AXES), np = 0;
    const char *close = strchr(from, ']');
    if (close && close[1] == 'T' && close[2]) np = read_numbers(close + 3, ')', perm, MOST_AXES);
    for (int i = np; i < ng; i++) perm[i] = i;
    strides(grid, ng, stride);
    for (int i = 0; i < ng; i++) {
        if (perm[i] < 0 || perm[i] >= ng) return 0;
        size[i] = grid[perm[i]];
        step[i] = stride[perm[i]];
    }
    int64_t all[64];
    int n = span(size, step, ng, all, (int)(shape[ns - 1] < 64 ? shape[ns - 1] : 64));
    if (n > max) n = max;
    if (n > 0) memcpy(group, all, (size_t)n * sizeof *group);
    return n;
}

/* "mesh['x'=2,'y'=4] {'y'}": a row-major mesh, grouped along the axes named. */
static int mesh_group(const char *p, int64_t *group, int max) {
    char name[MOST_AXES][32];
    int64_t size[MOST_AXES], stride[MOST_AXES], of[MOST_AXES], step[MOST_AXES];
    int n = 0, k = 0;
    for (p += 5; *p == '\'' && n < MOST_AXES; n++) {
        const char *end = strchr(++p, '\'');
        char *stop;
        if (!end || end[1] != '=') return 0;
        snprintf(name[n], sizeof name[n], "%.*s", (int)(end - p), p);
        size[n] = strtoll(end + 2, &stop, 10);
        p = stop + (*stop == ',');
    }
    strides(size, n, stride);
    p = strchr(p, '{');
    for (p = p ? p + 1 : ""; *p == '\'' && k < MOST_AXES; k++) {
        const char *end = strchr(++p, '\'');
        int i = 0;
        while (end && i < n && (strlen(name[i]) != (size_t)(end - p) || strncmp(name[i], p, (size_t)(end - p)) != 0))
            i++;
        if (!end || i == n) return 0;
        of[k] = size[i];
        step[k] = stride[i];
        int64_t before, part;
        int length = 0;
        /* 'x':(2)4 is a part of an axis: 4 of it, behind 2 that come before */
        if (sscanf(end + 1, ":(%lld)%lld%n", (long long *)&before, (long long *)&part, &length) == 2 && part > 0 &&
            before > 0 && size[i] % part == 0 && size[i] / part % before == 0) {
            of[k] = part;
            step[k] = stride[i] * (size[i] / part / before);
        }
        p = end + 1 + length;
        p += *p == ',';
    }
    return k ? span(of, step, k, group, max) : 0;
}

static int first_group(const char *attributes, int64_t *group, int max) {
    const char *p = strstr(attributes, "replica_groups=");
    if (p) {
        p += strlen("replica_groups=");
        if (*p == '[') return iota_group(p, group, max);
        if (strncmp(p, "mesh[", 5) == 0) return mesh_group(p, group, max);
        while (*p == '{') p++;
        return read_numbers(p, '}', group, max);
    }
    if ((p = strstr(attributes, "source_target_pairs={{"))) return read_numbers(p + 22, '}', group, max);
    return 0;
}

static const char *const kinds[] = {"all-reduce",         "all-gather",           "reduce-scatter",   "all-to-all",
                                    "collective-permute", "collective-broadcast", "ragged-all-to-all"};

/* The kind of an op, and whether it only begins here. NULL: it is no collective, or its end. */
static const char *kind_of(const char *op, bool *out_start) {
    size_t n = strlen(op), start = strlen("-start");
    *out_start = n > start && strcmp(op + n - start, "-start") == 0;
    if (*out_start) n -= start;
    for (size_t i = 0; i < BASE_COUNT(kinds); i++)
        if (strlen(kinds[i]) == n && strncmp(kinds[i], op, n) == 0) return kinds[i];
    return NULL;
}

/* Bytes of each array of a type; their number, at most max. */
static int array_bytes(const char *type, int64_t *out, int max) {
    int n = 0;
    for (const char *p = type; *p && n < max;) {
        int space;
        bool begins = p == type || strchr("( ,/", p[-1]);
        if (begins && hlo_array_read(&p, &out[n], &space))
            n++;
        else
            p++;
    }
    return n;
}

/* A collective that runs beside others' work stands in the text of each piece of it, from its beginning to its end,
 * with the same channel. False: this one was met before. */
static bool is_new(const hlo_op *op, map *channels, bool *ok) {
    const char *p = strstr(op->attributes, "channel_id=");
    int64_t channel = p ? strtoll(p + strlen("channel_id="), NULL, 10) : 0;
    if (channel <= 0) return true;
    if (map_get(channels, &channel, sizeof channel)) return false;
    *ok = map_put(channels, &channel, sizeof channel, channels, NULL);
    return true;
}

bool hlo_links(const hlo *h, plan_memory *m) {
    enum { MOST_PARTS = 4096 };
    int64_t *bytes = base_malloc(MOST_PARTS * sizeof *bytes);
    map *channels = map_new();
    bool ok = bytes && channels;
    for (size_t i = 0; i < h->n && ok; i++) {
        const hlo_op *op = &h->ops[i];
        bool start;
        const char *kind = kind_of(intern_text(op->op), &start);
        if (!kind || !is_new(op, channels, &ok)) continue;
        plan_link l = {.op = intern(kind), .name = op->name};
        l.n_group = first_group(op->attributes, l.group, (int)BASE_COUNT(l.group));
        if (l.n_group == 1) continue; /* a device alone has nothing to send */
        int parts = array_bytes(op->type, bytes, MOST_PARTS), first = 0, part;
        if (start && *op->type == '(' && strcmp(kind, "all-reduce") != 0) { /* operands, results, flags of one word */
            const char *at = op->operands;
            while (hlo_next_operand(h, &at, &part)) first++;
            if (parts > 2 * first) parts = 2 * first;
        }
        const char *at = op->operands;
        for (int k = first; k < parts && ok; k++) {
            const hlo_op *operand = hlo_next_operand(h, &at, &part);
            hlo_origin of = op->ordinal >= 0 && parts - first == 1 ? (hlo_origin){op->ordinal, -1}
                            : operand                              ? hlo_origin_of(h, operand)
                                                                   : (hlo_origin){-1, -1};
            if (of.ordinal < 0 && of.input < 0) of = hlo_origin_of(h, op);
            l.ordinal = of.ordinal;
            l.input = of.input;
            l.bytes = bytes[k] > 0 ? bytes[k] : 0;
            ok = VEC_PUSH(m->links, m->n_links, m->cap_links, l);
        }
    }
    base_free(bytes);
    if (channels) map_free(channels, NULL);
    return ok;
}
