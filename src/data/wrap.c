/* Datasets made of datasets: mapped, subsets, random splits, concatenations. Each holds one reference to what
 * it is made of. */
#include "data/data.h"

#include <stdlib.h>

/* --- map --- */
typedef struct mapped {
    xt_dataset *of;
    xt_map_fn fn;
    void *user;
    size_t x_bytes, y_bytes; /* of a sample of `of`, x rounded up so that y after it is aligned */
} mapped;

static void mapped_free(void *user) {
    mapped *m = user;
    data_drop(m->of);
    base_free(m);
}

static xt_status mapped_get(void *user, int64_t i, void *x, void *y) {
    const mapped *m = user;
    char *in = base_malloc(m->x_bytes + m->y_bytes), *labels = in && m->y_bytes ? in + m->x_bytes : NULL;
    if (!in) return status_oom(m->x_bytes, "a sample");
    xt_status s = xt_dataset_get(m->of, i, in, labels);
    if (!s) s = lazy_returned(m->fn(m->user, i, in, labels, x, y), "the function of xt_map_dataset");
    base_free(in);
    return s;
}

xt_dataset *xt_map_dataset_at(const xt_src *src, xt_dataset *d, xt_spec x, xt_spec y, xt_map_fn fn, void *user) {
    SRC_CALLED_FROM(src);
    if (!d) return NULL;
    xt_status gone = data_take(d, "xt_map_dataset");
    if (gone) return data_fail(gone, NULL);
    mapped *m = fn && d->d.count >= 0 ? base_calloc(1, sizeof *m) : NULL;
    if (!m)
        return data_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                                    "xt_map_dataset: a function and a dataset that is no stream are needed"),
                         d);
    *m = (mapped){d, fn, user, (data_spec_bytes(&d->d.x) + 63) & ~(size_t)63, data_spec_bytes(&d->d.y)};
    return data_make((xt_dataset_desc){
        .count = d->d.count, .x = x, .y = y, .get = mapped_get, .free_user = mapped_free, .user = m, .name = d->name});
}

/* --- some of one, or several after each other: sample i is a sample of a part --- */
typedef struct chosen {
    int64_t *indices; /* NULL: parts one after the other */
    xt_dataset **parts;
    int n;
} chosen;

static void chosen_free(void *user) {
    chosen *c = user;
    for (int k = 0; k < c->n; k++) data_drop(c->parts[k]);
    base_free(c->parts);
    base_free(c->indices);
    base_free(c);
}

static xt_dataset *find_part(const chosen *c, int64_t *i) {
    int k = 0;
    if (c->indices)
        *i = c->indices[*i];
    else
        for (; *i >= c->parts[k]->d.count; k++) *i -= c->parts[k]->d.count;
    return c->parts[k];
}

static xt_status chosen_get(void *user, int64_t i, void *x, void *y) {
    xt_dataset *part = find_part(user, &i);
    return xt_dataset_get(part, i, x, y);
}

static xt_status chosen_more(void *user, int64_t i, void *const *more) {
    xt_dataset *part = find_part(user, &i);
    return part->d.get_more(part->d.user, i, more);
}

static chosen *chosen_new(int n, xt_dataset *const *parts) {
    chosen *c = base_calloc(1, sizeof *c);
    if (c) c->parts = base_calloc((size_t)n, sizeof *c->parts);
    if (!c || !c->parts) {
        base_free(c);
        return NULL;
    }
    c->n = n;
    memcpy(c->parts, parts, (size_t)n * sizeof *parts);
    return c;
}

/* Takes c over. */
static xt_dataset *chosen_make(chosen *c, int64_t count) {
    const xt_dataset_desc *like = &c->parts[0]->d;
    xt_dataset_desc d = {.count = count,
                         .x = like->x,
                         .y = like->y,
                         .get = chosen_get,
                         .free_user = chosen_free,
                         .user = c,
                         .name = c->parts[0]->name};
    memcpy(d.more, like->more, sizeof d.more);
    d.get_more = like->more[0].dtype ? chosen_more : NULL;
    int64_t tokens = c->parts[0]->tokens;
    xt_dataset *out = data_make(d);
    if (out) out->tokens = tokens;
    return out;
}

xt_dataset *xt_subset_at(const xt_src *src, xt_dataset *d, const int64_t *indices, int64_t n) {
    SRC_CALLED_FROM(src);
    if (!d) return NULL;
    xt_status gone = data_take(d, "xt_subset");
    if (gone) return data_fail(gone, NULL);
    xt_status s =
        n < 0 || (n > 0 && !indices) || d->d.count < 0
            ? status_new(XT_INVALID_ARGUMENT, NULL, "xt_subset: indices of a dataset that is no stream are needed")
            : NULL;
    for (int64_t k = 0; !s && k < n; k++)
        if (indices[k] < 0 || indices[k] >= d->d.count)
            s = status_new(XT_OUT_OF_RANGE, NULL, "xt_subset: index %lld is %lld; %s has %lld samples", (long long)k,
                           (long long)indices[k], d->name, (long long)d->d.count);
    if (s) return data_fail(s, d);
    chosen *c = chosen_new(1, &d);
    if (!c) return data_fail(status_oom(sizeof *c, "a dataset"), d);
    c->indices = base_malloc(((size_t)n + 1) * sizeof *indices);
    if (!c->indices) {
        chosen_free(c);
        return data_fail(status_oom((size_t)n * sizeof *indices, "a subset"), NULL);
    }
    if (n) memcpy(c->indices, indices, (size_t)n * sizeof *indices);
    return chosen_make(c, n);
}

static xt_status split(xt_dataset *d, int n, const int64_t *lengths, uint64_t seed, xt_dataset **out) {
    int64_t total = 0;
    for (int k = 0; k < n; k++) {
        if (lengths[k] < 0)
            return status_new(XT_INVALID_ARGUMENT, NULL, "xt_random_split: length %d is %lld", k,
                              (long long)lengths[k]);
        total += lengths[k];
    }
    if (total != d->d.count)
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_random_split: the lengths add up to %lld, %s has %lld samples",
                          (long long)total, d->name, (long long)d->d.count);
    int64_t *order = base_malloc(((size_t)total + 1) * sizeof *order);
    if (!order) return status_oom((size_t)total * sizeof *order, "a split");
    for (int64_t i = 0; i < total; i++) order[i] = i;
    data_permute(order, total, seed, 0x73706c74u);
    bool ok = true;
    for (int64_t k = 0, at = 0; k < n && ok; at += lengths[k++])
        ok = (out[k] = xt_subset_at(NULL, xt_dataset_retain(d), order + at, lengths[k])) != NULL;
    base_free(order);
    return ok ? NULL : status_clone(lazy_pending());
}

xt_status xt_random_split(xt_dataset *d, int n, const int64_t *lengths, uint64_t seed, xt_dataset **out) {
    if (d) XT_TRY(data_take(d, "xt_random_split"));
    if (!d || n < 1 || !lengths || !out) {
        data_drop(d);
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_random_split: a dataset, lengths and a place for the parts are needed");
    }
    memset(out, 0, (size_t)n * sizeof(xt_dataset *));
    xt_status s = split(d, n, lengths, seed, out);
    for (int k = 0; s && k < n; k++) {
        xt_dataset_free(out[k]);
        out[k] = NULL;
    }
    data_drop(d);
    return s;
}

xt_dataset *xt_concat_datasets_at(const xt_src *src, int n, xt_dataset *const *parts) {
    SRC_CALLED_FROM(src);
    xt_status s = n < 1 || !parts
                      ? status_new(XT_INVALID_ARGUMENT, NULL, "xt_concat_datasets: at least one dataset is needed")
                      : NULL;
    int64_t count = 0;
    int taken = 0;
    while (!s && taken < n && !(parts[taken] && (s = data_take(parts[taken], "xt_concat_datasets")))) taken++;
    for (int k = 0; !s && k < n; k++) {
        if (!parts[k]) { /* the error that is pending, of what should have made it, is the first and stays */
            s = status_new(XT_INVALID_ARGUMENT, NULL,
                           "xt_concat_datasets: part %d is NULL; making it failed, or it was never made", k);
            break;
        }
        count += parts[k]->d.count;
        bool same = memcmp(parts[k]->types, parts[0]->types, sizeof parts[0]->types) == 0;
        if (parts[k]->d.count < 0 || !same)
            s = status_new(XT_INVALID_ARGUMENT, NULL, "xt_concat_datasets: part %d (%s) %s", k, parts[k]->name,
                           same ? "is a stream" : "has other specs than the first");
    }
    chosen *c = s ? NULL : chosen_new(n, parts);
    if (c) return chosen_make(c, count);
    for (int k = 0; k < taken; k++) data_drop(parts[k]);
    return data_fail(s ? s : status_oom((size_t)n * sizeof *parts, "a dataset"), NULL);
}
