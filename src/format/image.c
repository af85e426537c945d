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

/* A picture's bytes, or a part's: pixel (0, 0) of it is the one that scalings count as (left, top). */
typedef struct part {
    uint8_t *rgb;
    int64_t width, left, top;
} part;

static uint8_t *part_at(const part *p, int64_t row, int64_t column) {
    return p->rgb + ((row - p->top) * p->width + column - p->left) * 3;
}

static void scale_columns(const scaling *s, const part *from, int64_t top, int64_t end, const part *to) {
    for (int64_t r = top; r < end; r++)
        for (int64_t q = 0; q < s->kept; q++)
            for (int64_t c = 0; c < 3; c++) part_at(to, r, q)[c] = pixel(s, q, part_at(from, r, s->first[q]) + c, 3);
}
static void scale_rows(const scaling *s, const part *from, int64_t left, int64_t end, const part *to) {
    for (int64_t r = 0; r < s->kept; r++)
        for (int64_t q = left; q < end; q++)
            for (int64_t c = 0; c < 3; c++)
                part_at(to, r, q)[c] = pixel(s, r, part_at(from, s->first[r], q) + c, from->width * 3);
}

/* The pixels that those kept are made of. */
static int64_t read_from(const scaling *s) {
    return s->first[0];
}
static int64_t read_to(const scaling *s) {
    return s->first[s->kept - 1] + s->count[s->kept - 1];
}

/* One axis after the other, of that one what the other then reads; both rounded to bytes. */
static xt_status scale(const scaling *rows, const scaling *columns, bool rows_first, const part *from, float *out) {
    int64_t side = rows->kept, low = read_from(rows_first ? columns : rows), end = read_to(rows_first ? columns : rows);
    size_t bytes = (size_t)((end - low) * side * 3), all = (size_t)(side * side * 3);
    part between = {base_malloc(bytes), side, 0, low}, to = {base_malloc(all), side, 0, 0};
    if (rows_first) between = (part){between.rgb, end - low, low, 0};
    bool ok = between.rgb && to.rgb;
    if (ok && rows_first) {
        scale_rows(rows, from, low, end, &between);
        scale_columns(columns, &between, 0, side, &to);
    } else if (ok) {
        scale_columns(columns, from, low, end, &between);
        scale_rows(rows, &between, 0, side, &to);
    }
    for (int64_t i = 0; ok && i < side * side; i++)
        for (int64_t c = 0; c < 3; c++) out[c * side * side + i] = (float)to.rgb[i * 3 + c] / 255;
    base_free(between.rgb);
    base_free(to.rgb);
    return ok ? NULL : status_oom(bytes + all, "a picture's rows");
}

/* Pillow 13 begins with the rows where more than twice as many of them go as columns. */
static bool rows_go_first(int64_t width, int64_t height, int64_t new_width, int64_t new_height) {
    return new_height < height && height - new_height > 2 * (width - new_width);
}

xt_status image_scale_and_cut(const uint8_t *rgb, int64_t width, int64_t height, int64_t side, float *out) {
    int64_t shorter = width < height ? width : height;
    int64_t new_width = side * width / shorter, new_height = side * height / shorter;
    part whole = {(uint8_t *)(uintptr_t)rgb, width, 0, 0};
    scaling rows, columns = {0};
    xt_status s = scaling_init(&rows, height, new_height, side);
    if (!s) s = scaling_init(&columns, width, new_width, side);
    if (!s) s = scale(&rows, &columns, rows_go_first(width, height, new_width, new_height), &whole, out);
    scaling_free(&rows);
    scaling_free(&columns);
    return s;
}
