/* Groups and pairs of ranks, read from texts: "0,1;2,3" and "0>1;1>0". */
#include "dist/collective.h"

#include <ctype.h>
#include <stdlib.h>

void rank_groups_free(rank_groups *g) {
    base_free(g->ranks);
    base_free(g->pairs);
    *g = (rank_groups){0};
}

static xt_status bad(const char *field, const char *text, const char *why) {
    return status_new(XT_INVALID_ARGUMENT, NULL, ".%s = \"%s\": %s", field, text, why);
}

/* A number below `ranks` at *p, which moves behind it. */
static xt_status read_rank(const char *field, const char *text, const char **p, int ranks, int64_t *out) {
    char why[96], *end;
    while (isspace((unsigned char)**p)) (*p)++;
    if (!isdigit((unsigned char)**p)) {
        snprintf(why, sizeof why, "a rank's number is expected at \"%.20s\"", *p);
        return bad(field, text, why);
    }
    unsigned long long v = strtoull(*p, &end, 10);
    *p = end;
    while (isspace((unsigned char)**p)) (*p)++;
    if (v >= (unsigned long long)ranks) {
        snprintf(why, sizeof why, "there is no rank %llu; the run has %d", v, ranks);
        return bad(field, text, why);
    }
    *out = (int64_t)v;
    return NULL;
}

static xt_status read_groups(const char *text, int ranks, rank_groups *g) {
    bool *seen = base_calloc((size_t)ranks, sizeof *seen);
    xt_status s = seen ? NULL : status_oom((size_t)ranks, "groups of ranks");
    size_t n = 0, in_row = 0;
    for (const char *p = text; !s; p++) {
        int64_t r = 0;
        char why[96];
        if ((s = read_rank("groups", text, &p, ranks, &r))) break;
        if (seen[r]) {
            snprintf(why, sizeof why, "it names rank %lld twice", (long long)r);
            s = bad("groups", text, why);
            break;
        }
        seen[r] = true;
        g->ranks[n++] = r;
        in_row++;
        if (*p == ',') continue;
        if (g->n == 0) g->size = in_row;
        g->n++;
        if (in_row != g->size) s = bad("groups", text, "groups must be of one size");
        in_row = 0;
        if (*p == 0) break;
        if (*p != ';' && !s) s = bad("groups", text, "ranks of a group are parted by ',', groups by ';'");
    }
    if (!s && n != (size_t)ranks) {
        int64_t missing = 0;
        while (seen[missing]) missing++;
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       ".groups = \"%s\": rank %lld of %d is in no group; every rank must be in one", text,
                       (long long)missing, ranks);
    }
    base_free(seen);
    return s;
}

static xt_status read_pairs(const char *text, int ranks, rank_groups *g) {
    bool *sends = base_calloc(2 * (size_t)ranks, sizeof *sends), *gets = sends ? sends + ranks : NULL;
    xt_status s = sends ? NULL : status_oom(2 * (size_t)ranks, "pairs of ranks");
    for (const char *p = text; !s && *p; p++) {
        int64_t from = 0, to = 0;
        char why[96];
        s = read_rank("pairs", text, &p, ranks, &from);
        if (!s && *p != '>') s = bad("pairs", text, "a pair is written as \"0>1\"");
        if (s) break;
        p++;
        if ((s = read_rank("pairs", text, &p, ranks, &to))) break;
        if (sends[from] || gets[to]) {
            snprintf(why, sizeof why, "rank %lld %s twice", (long long)(sends[from] ? from : to),
                     sends[from] ? "sends" : "receives");
            s = bad("pairs", text, why);
            break;
        }
        sends[from] = gets[to] = true;
        g->pairs[2 * g->n_pairs] = from;
        g->pairs[2 * g->n_pairs++ + 1] = to;
        if (*p == 0) break;
        if (*p != ';') s = bad("pairs", text, "pairs are parted by ';'");
    }
    base_free(sends);
    return s;
}

static void shift_pairs(int shift, rank_groups *g) {
    int64_t size = (int64_t)g->size, by = shift % size;
    if (by < 0) by += size;
    for (size_t row = 0; row < g->n; row++)
        for (int64_t i = 0; i < size; i++) {
            g->pairs[2 * g->n_pairs] = g->ranks[row * g->size + (size_t)i];
            g->pairs[2 * g->n_pairs++ + 1] = g->ranks[row * g->size + (size_t)((i + by) % size)];
        }
}

xt_status rank_groups_read(const xt_collective_opts *o, int ranks, bool permutes, rank_groups *out) {
    *out = (rank_groups){.ranks = base_calloc((size_t)ranks, sizeof *out->ranks),
                         .pairs = base_calloc((size_t)ranks, 2 * sizeof *out->pairs)};
    if (!out->ranks || !out->pairs) return status_oom((size_t)ranks * 16, "groups of ranks");
    if (o->groups && o->group_size)
        return status_new(XT_INVALID_ARGUMENT, NULL, ".groups and .group_size are both given; one says it");
    if (o->group_size < 0 || (o->group_size && ranks % o->group_size))
        return status_new(XT_INVALID_ARGUMENT, NULL, ".group_size = %d: %d rank%s cannot be divided so", o->group_size,
                          ranks, ranks == 1 ? "" : "s");
    if (o->groups) {
        XT_TRY(read_groups(o->groups, ranks, out));
    } else {
        out->size = (size_t)(o->group_size ? o->group_size : ranks);
        out->n = (size_t)ranks / out->size;
        for (int i = 0; i < ranks; i++) out->ranks[i] = i;
    }
    if (o->root < 0 || (size_t)o->root >= out->size)
        return status_new(XT_INVALID_ARGUMENT, NULL, ".root = %d: a place in a group of %zu is needed, 0 to %zu",
                          o->root, out->size, out->size - 1);
    if (!permutes) return NULL;
    if (o->pairs && o->shift)
        return status_new(XT_INVALID_ARGUMENT, NULL, ".pairs and .shift are both given; one says it");
    if (!o->pairs && !o->shift)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "who sends to whom is not said; give .pairs = \"0>1;1>0\" or .shift = 1");
    if (o->pairs) return read_pairs(o->pairs, ranks, out);
    shift_pairs(o->shift, out);
    return NULL;
}

const int64_t *rank_groups_row(const rank_groups *g, int64_t rank, size_t *out_place) {
    for (size_t i = 0; i < g->n * g->size; i++)
        if (g->ranks[i] == rank) {
            *out_place = i % g->size;
            return g->ranks + i / g->size * g->size;
        }
    *out_place = 0;
    return g->ranks; /* not reached: every rank is in a group */
}

int64_t rank_groups_receiver(const rank_groups *g, int64_t rank) {
    for (size_t i = 0; i < g->n_pairs; i++)
        if (g->pairs[2 * i] == rank) return g->pairs[2 * i + 1];
    return -1;
}

int64_t rank_groups_sender(const rank_groups *g, int64_t rank) {
    for (size_t i = 0; i < g->n_pairs; i++)
        if (g->pairs[2 * i + 1] == rank) return g->pairs[2 * i];
    return -1;
}

static bool is_whole(xt_dtype t) {
    switch (t) {
    case XT_BOOL:
    case XT_I8:
    case XT_I16:
    case XT_I32:
    case XT_I64:
    case XT_U8:
    case XT_U16:
    case XT_U32:
    case XT_U64: return true;
    default: return false;
    }
}

xt_status rank_reduce_check(xt_reduce op, xt_dtype t) {
    bool whole = is_whole(t), real = t == XT_F16 || t == XT_BF16 || t == XT_F32 || t == XT_F64,
         complex = t == XT_C64 || t == XT_C128;
    switch (op) {
    case XT_REDUCE_DEFAULT:
    case XT_SUM:
        if (whole || real || complex) return NULL;
        break;
    case XT_MEAN:
        if (real || complex) return NULL;
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          ".op = XT_MEAN of %s: a mean needs floats; xt_cast first, or take XT_SUM", xt_dtype_name(t));
    case XT_PRODUCT:
    case XT_MIN:
    case XT_MAX:
        if (whole || real) return NULL;
        break;
    case XT_AND:
    case XT_OR:
        if (whole) return NULL;
        break;
    default:
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            ".op = %d is no reduction over ranks; XT_SUM, XT_MEAN, XT_MIN, XT_MAX, XT_PRODUCT, XT_AND and XT_OR are",
            (int)op);
    }
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "this reduction of %s is not defined: sums take any integer, bool, f16, bf16, f32, f64 and "
                      "complex; products, minima and maxima the real ones of these; and, or integers and bool",
                      xt_dtype_name(t));
}
