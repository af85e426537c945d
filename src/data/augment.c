/* Random changes of pictures, drawn anew in each epoch: a crop of the padded picture, a mirror image, and the
 * normalisation after them. */
#include "data/data.h"

enum { MOST_CHANNELS = 64 };
typedef struct augment {
    xt_dataset *of;
    int64_t channels, height, width;
    int padding;
    bool flip;
    float mean[MOST_CHANNELS], scale[MOST_CHANNELS]; /* scale: 1/std */
} augment;

static void augment_free(void *user) {
    augment *a = user;
    data_drop(a->of);
    base_free(a);
}

static int64_t draw_below(int64_t n) {
    int64_t k = (int64_t)(xt_sample_uniform() * (double)n);
    return k < n ? k : n - 1;
}

static xt_status augment_get(void *user, int64_t i, void *x, void *y) {
    const augment *a = user;
    int64_t h = a->height, w = a->width;
    float *in = base_malloc((size_t)(a->channels * h * w) * sizeof *in), *out = x;
    if (!in) return status_oom((size_t)(a->channels * h * w) * sizeof *in, "a picture");
    xt_status s = xt_dataset_get(a->of, i, in, y);
    int64_t down = a->padding ? draw_below(2 * a->padding + 1) - a->padding : 0,
            right = a->padding ? draw_below(2 * a->padding + 1) - a->padding : 0;
    bool mirrored = a->flip && xt_sample_uniform() < 0.5;
    for (int64_t c = 0; !s && c < a->channels; c++)
        for (int64_t r = 0; r < h; r++)
            for (int64_t q = 0; q < w; q++) {
                int64_t from_r = r + down, from_q = (mirrored ? w - 1 - q : q) + right;
                bool inside = from_r >= 0 && from_r < h && from_q >= 0 && from_q < w;
                float v = inside ? in[(c * h + from_r) * w + from_q] : 0;
                out[(c * h + r) * w + q] = (v - a->mean[c]) * a->scale[c];
            }
    base_free(in);
    return s;
}

static xt_status augment_more(void *user, int64_t i, void *const *more) {
    const augment *a = user;
    return a->of->d.get_more(a->of->d.user, i, more);
}

xt_dataset *xt_augment_opt(const xt_src *src, xt_dataset *d, xt_augment_opts o) {
    SRC_CALLED_FROM(src);
    if (!d) return NULL;
    xt_status gone = data_take(d, "xt_augment");
    if (gone) return data_fail(gone, NULL);
    const ir_type *t = d->types[0];
    if (t->dtype != XT_F32 || t->rank != 3 || t->dims[0] > MOST_CHANNELS || d->d.count < 0)
        return data_fail(
            status_new(XT_INVALID_ARGUMENT, NULL,
                       "xt_augment: %s gives no pictures: f32 [C,H,W] with at most %d channels are expected", d->name,
                       MOST_CHANNELS),
            d);
    if (o.crop_padding < 0 || o.crop_padding >= t->dims[1] || o.crop_padding >= t->dims[2])
        return data_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                                    "xt_augment: crop_padding = %d; from 0 to less than the picture's %lld x %lld",
                                    o.crop_padding, (long long)t->dims[1], (long long)t->dims[2]),
                         d);
    augment *a = base_calloc(1, sizeof *a);
    if (!a) return data_fail(status_oom(sizeof *a, "a dataset"), d);
    *a = (augment){.of = d,
                   .channels = t->dims[0],
                   .height = t->dims[1],
                   .width = t->dims[2],
                   .padding = o.crop_padding,
                   .flip = o.flip == XT_ON};
    for (int64_t c = 0; c < a->channels; c++) {
        if (o.std && !(o.std[c] > 0)) {
            xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "xt_augment: std[%lld] = %g; it must be positive",
                                     (long long)c, (double)o.std[c]);
            base_free(a);
            return data_fail(s, d);
        }
        a->mean[c] = o.mean ? o.mean[c] : 0;
        a->scale[c] = o.std ? 1 / o.std[c] : 1;
    }
    xt_dataset_desc desc = {.count = d->d.count,
                            .x = d->d.x,
                            .y = d->d.y,
                            .get = augment_get,
                            .free_user = augment_free,
                            .user = a,
                            .name = d->name};
    memcpy(desc.more, d->d.more, sizeof desc.more);
    desc.get_more = d->d.get_more ? augment_more : NULL;
    return data_make(desc);
}
