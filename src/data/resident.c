/* .on_device: all samples live on the device, and a step takes its rows there. What travels is a list of row numbers a
 * step, and where nothing is shuffled not more than that. The samples are read once, through the loader's own order of
 * threads: a plain pass over the dataset. */
#include "data/loader_int.h"

/* Field k of all samples as one tensor [count, elements of a sample]. */
static xt_status upload(const xt_src *src, xt_loader *l, int k, const char *all) {
    const ir_type *t = l->ds->types[k];
    int64_t dims[2] = {l->ds->d.count, t->count};
    l->resident[k] = xt_keep_at(src, xt_from_data_at(src, all, t->dtype, 2, dims));
    l->resident_extremes[k] = loader_extremes(l, k, all, dims[0]);
    return xt_is_error(l->resident[k]) ? status_clone(lazy_pending()) : NULL;
}

static xt_status make_resident(const xt_src *src, xt_loader *l) {
    xt_dataset *ds = l->ds;
    char *all[DATA_FIELDS] = {NULL};
    xt_status s = NULL;
    base_free(l->resident_tokens);
    l->resident_tokens = base_calloc((size_t)ds->d.count + 1, sizeof *l->resident_tokens);
    if (!l->resident_tokens) s = status_oom((size_t)ds->d.count * 8, "counts of tokens");
    for (int k = 0; k < DATA_FIELDS && !s; k++) {
        size_t n = 0;
        if (!ds->types[k]) continue;
        if (!size_mul((size_t)ds->d.count, ir_type_bytes(ds->types[k]), &n) || !(all[k] = base_malloc(n + 1)))
            s = status_oom(n, "all samples");
    }
    for (int64_t i = 0; i < ds->d.count && !s; i++) {
        void *fields[DATA_FIELDS] = {NULL};
        for (int k = 0; k < DATA_FIELDS; k++)
            if (all[k]) fields[k] = all[k] + (size_t)i * ir_type_bytes(ds->types[k]);
        data_draw_begin(l->o.seed, 0, i);
        s = data_get(ds, i, fields);
        data_draw_end();
        if (!s) s = loader_count_tokens(l, i, fields, &l->resident_tokens[i]);
    }
    for (int k = 0; k < DATA_FIELDS && !s; k++)
        if (all[k]) s = upload(src, l, k, all[k]);
    for (int k = 0; k < DATA_FIELDS; k++) base_free(all[k]);
    return s;
}

static xt_status epoch_order(xt_loader *l) {
    if (l->order && l->order->epoch == l->epoch) return NULL;
    if (!l->order) XT_TRY(loader_order_new(l, -1, &l->order));
    l->order->epoch = -1; /* until it is whole */
    XT_TRY(loader_order(l, l->epoch, l->order->at));
    l->order->epoch = l->epoch;
    return NULL;
}

static xt_tensor rows_of(const xt_src *src, const xt_loader *l, int k, xt_tensor index, int64_t n) {
    int64_t dims[XT_MAX_RANK + 1] = {n};
    const ir_type *t = l->ds->types[k];
    for (uint32_t i = 0; i < t->rank; i++) dims[i + 1] = t->dims[i];
    xt_tensor out = xt_reshape_at(src, xt_take_at(src, l->resident[k], index), dims);
    /* of the set: any sample of it comes at some time */
    lazy_note_extremes(out, lazy_extremes_retain(l->resident_extremes[k]));
    return out;
}

xt_status resident_next(const xt_src *src, xt_loader *l, xt_batch *out) {
    if (xt_is_none(l->resident[0])) XT_TRY(make_resident(src, l));
    XT_TRY(epoch_order(l));
    int64_t first, n;
    loader_share(l, l->next, &first, &out->size);
    out->longest = loader_longest(l, l->order->at, l->next);
    n = l->o.pad_last == XT_ON ? l->o.batch : out->size;
    int64_t *rows = base_malloc((size_t)n * sizeof *rows);
    float *mask = base_malloc((size_t)n * sizeof *mask);
    if (!rows || !mask) {
        base_free(rows);
        base_free(mask);
        return status_oom((size_t)n * sizeof *rows, "a batch's rows");
    }
    for (int64_t i = 0; i < n; i++) {
        rows[i] = l->order->at[first + i % out->size];
        mask[i] = i < out->size ? 1.0f : 0.0f;
        if (i < out->size) out->tokens += l->resident_tokens[rows[i]];
    }
    xt_tensor index = xt_from_data_at(src, rows, XT_I64, 1, &n);
    out->x = rows_of(src, l, 0, index, n);
    if (l->types[1]) out->y = rows_of(src, l, 1, index, n);
    for (int k = 2; k < DATA_FIELDS; k++)
        if (l->types[k]) out->more[k - 2] = rows_of(src, l, k, index, n);
    if (l->o.pad_last == XT_ON) out->mask = xt_from_data_at(src, mask, XT_F32, 1, &n);
    base_free(rows);
    base_free(mask);
    return NULL;
}
