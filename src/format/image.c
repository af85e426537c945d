#include "format/image.h"

#include <math.h>
#include <strings.h>

#include "format/jpeg.h"
#include "format/png.h"

bool image_is_name(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && dot != name &&
           (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

xt_status image_decode_rgb(const char *name, const void *data, size_t n, int *out_width, int *out_height,
                           uint8_t **out_rgb) {
    *out_rgb = NULL;
    if (n >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0)
        return jpeg_decode_rgb(name, data, n, out_width, out_height, out_rgb);
    if (n >= 4 && memcmp(data, "\x89PNG", 4) == 0) return png_decode_rgb(name, data, n, out_width, out_height, out_rgb);
    return status_new(XT_DATA_LOSS, NULL, "%s is no picture: its first bytes are neither a PNG's nor a JPEG's", name);
}

xt_status image_read_rgb(const char *path, int *out_width, int *out_height, uint8_t **out_rgb) {
    char *data = NULL;
    size_t n = 0;
    *out_rgb = NULL;
    XT_TRY(file_read_all(path, &data, &n));
    xt_status s = image_decode_rgb(path, data, n, out_width, out_height, out_rgb);
    base_free(data);
    return s;
}

/* --- scaling: Pillow's resize with BILINEAR, whose bytes these are (libImaging/Resample.c) --- */
enum { WEIGHT_BITS = 22 }; /* of a weight's fraction */
/* How one axis is scaled: pixel i of those that are kept is a weighted sum of `count[i]` from `first[i]` on. */
typedef struct scaling {
    int64_t kept, most; /* most: weights a pixel has at most */
    int64_t *first, *count;
    int32_t *weight; /* [kept,most] */
} scaling;

static void scaling_free(scaling *s) {
    base_free(s->first);
    base_free(s->count);
    base_free(s->weight);
}

/* A triangle as wide as a new pixel's distance to the next, and no narrower than an old one's. */
static void weigh(scaling *s, int64_t i, double centre, double width, int64_t from) {
    double all = 0;
    int64_t low = (int64_t)(centre - width + 0.5), high = (int64_t)(centre + width + 0.5);
    if (low < 0) low = 0;
    if (high > from) high = from;
    int32_t *to = s->weight + i * s->most;
    for (int64_t k = low; k < high; k++) {
        double off = fabs(((double)k - centre + 0.5) / width);
        all += off < 1 ? 1 - off : 0;
    }
    for (int64_t k = low; k < high; k++) {
        double off = fabs(((double)k - centre + 0.5) / width), w = off < 1 ? 1 - off : 0;
        to[k - low] = (int32_t)(0.5 + (all != 0 ? w / all : w) * (1 << WEIGHT_BITS));
    }
    s->first[i] = low;
    s->count[i] = high - low;
}

/* `from` pixels become `to`, of which the middle `kept` are computed. */
static xt_status scaling_init(scaling *s, int64_t from, int64_t to, int64_t kept) {
    double step = (double)from / (double)to, width = step < 1 ? 1 : step;
    int64_t cut = (int64_t)rint((double)(to - kept) / 2); /* ties to even, as Python's round */
    *s = (scaling){.kept = kept, .most = (int64_t)ceil(width) * 2 + 1};
    s->first = base_calloc((size_t)kept, sizeof *s->first);
    s->count = base_calloc((size_t)kept, sizeof *s->count);
    s->weight = base_calloc((size_t)(kept * s->most), sizeof *s->weight);
    if (!s->first || !s->count || !s->weight) return status_oom((size_t)(kept * s->most) * 4, "a picture's scaling");
    for (int64_t i = 0; i < kept; i++) weigh(s, i, ((double)(i + cut) + 0.5) * step, width, from);
    return NULL;
}

/* Of bytes that lie `stride` apart, the first of those that count at `from`. */
static uint8_t pixel(const scaling *s, int64_t i, const uint8_t *from, int64_t stride) {
    const int32_t *w = s->weight + i * s->most;
    int64_t sum = 1 << (WEIGHT_BITS - 1);
    for (int64_t k = 0; k < s->count[i]; k++) sum += (int64_t)from[k * stride] * w[k];
    sum >>= WEIGHT_BITS;
    return (uint8_t)(sum > 255 ? 255 : sum);
}

/* Rows first, and of them those alone that the columns then read; both rounded to bytes. */
static xt_status scale(const scaling *rows, const scaling *columns, const uint8_t *rgb, int64_t width, float *out) {
    int64_t side = rows->kept, top = rows->first[0], end = rows->first[side - 1] + rows->count[side - 1];
    uint8_t *narrow = base_malloc((size_t)((end - top) * side * 3));
    if (!narrow) return status_oom((size_t)((end - top) * side * 3), "a picture's rows");
    for (int64_t r = top; r < end; r++)
        for (int64_t q = 0; q < side; q++)
            for (int64_t c = 0; c < 3; c++)
                narrow[((r - top) * side + q) * 3 + c] =
                    pixel(columns, q, rgb + (r * width + columns->first[q]) * 3 + c, 3);
    for (int64_t r = 0; r < side; r++)
        for (int64_t q = 0; q < side; q++)
            for (int64_t c = 0; c < 3; c++)
                out[(c * side + r) * side + q] =
                    (float)pixel(rows, r, narrow + ((rows->first[r] - top) * side + q) * 3 + c, side * 3) / 255;
    base_free(narrow);
    return NULL;
}

xt_status image_scale_and_cut(const uint8_t *rgb, int64_t width, int64_t height, int64_t side, float *out) {
    int64_t shorter = width < height ? width : height;
    scaling rows, columns = {0};
    xt_status s = scaling_init(&rows, height, side * height / shorter, side);
    if (!s) s = scaling_init(&columns, width, side * width / shorter, side);
    if (!s) s = scale(&rows, &columns, rgb, width, out);
    scaling_free(&rows);
    scaling_free(&columns);
    return s;
}
