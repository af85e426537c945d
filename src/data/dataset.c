/* Datasets: a description with functions, and the one over C arrays. */
#include "data/data.h"

static const ir_type *spec_type(const xt_spec *s) {
    size_t rank = 0;
    while (rank < XT_MAX_RANK && s->dims[rank]) rank++;
    return s->dtype ? ir_tensor(s->dtype, rank, s->dims) : NULL;
}

xt_dataset *xt_dataset_new(const xt_dataset_desc *d) {
    const char *why = !d || !d->get ? "a get function is needed" : d->count < 0 ? "the count is negative" : !spec_type(&d->x) ? "the spec of x is no tensor" : NULL;
    if (!why && d->y.dtype && !spec_type(&d->y)) why = "the spec of y is no tensor";
    if (why) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_dataset_new: %s", why));
        return NULL;
    }
    xt_dataset *ds = base_calloc(1, sizeof *ds);
    if (!ds || !(ds->name = base_strdup(d->name ? d->name : "dataset"))) {
        base_free(ds);
        lazy_fail(status_oom(sizeof *ds, "a dataset"));
        return NULL;
    }
    ds->d = *d;
    ds->x_type = spec_type(&d->x);
    ds->y_type = d->y.dtype ? spec_type(&d->y) : NULL;
    live_add(LIVE_dataset, 1);
    return ds;
}

void xt_dataset_free(xt_dataset *d) {
    if (!d) return;
    if (d->d.free_user) d->d.free_user(d->d.user);
    base_free(d->name);
    base_free(d);
    live_add(LIVE_dataset, -1);
}

int64_t xt_dataset_count(const xt_dataset *d) { return d ? d->d.count : 0; }
xt_spec xt_dataset_x(const xt_dataset *d) { return d ? d->d.x : (xt_spec){0}; }
xt_spec xt_dataset_y(const xt_dataset *d) { return d ? d->d.y : (xt_spec){0}; }

xt_status xt_dataset_get(xt_dataset *d, int64_t i, void *x, void *y) {
    if (!d) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_dataset_get: the dataset is NULL");
    if (i < 0 || i >= d->d.count) return status_new(XT_OUT_OF_RANGE, NULL, "%s: sample %lld of %lld", d->name, (long long)i, (long long)d->d.count);
    return status_context(d->d.get(d->d.user, i, x, y), "%s: sample %lld", d->name, (long long)i);
}

/* --- C arrays --------------------------------------------------------------------------------------------------------------------------- */
typedef struct arrays {
    const char *x, *y;
    size_t x_bytes, y_bytes;
} arrays;

static xt_status get_row(void *user, int64_t i, void *x, void *y) {
    const arrays *a = user;
    memcpy(x, a->x + (size_t)i * a->x_bytes, a->x_bytes);
    if (y && a->y) memcpy(y, a->y + (size_t)i * a->y_bytes, a->y_bytes);
    return NULL;
}

xt_dataset *xt_array_dataset(const void *x, xt_spec x_spec, const void *y, xt_spec y_spec, int64_t count) {
    const ir_type *tx = spec_type(&x_spec), *ty = y_spec.dtype ? spec_type(&y_spec) : NULL;
    arrays *a = base_calloc(1, sizeof *a);
    if (!a || !x || !tx || (y_spec.dtype && (!y || !ty))) {
        base_free(a);
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_array_dataset: x (and y, if its dtype is given) must be arrays with a known spec"));
        return NULL;
    }
    *a = (arrays){x, y, ir_type_bytes(tx), ty ? ir_type_bytes(ty) : 0};
    xt_dataset *d = xt_dataset_new(&(xt_dataset_desc){.struct_size = sizeof(xt_dataset_desc), .count = count, .x = x_spec, .y = y_spec, .get = get_row, .free_user = base_free, .user = a, .name = "array"});
    if (!d) base_free(a);
    return d;
}
