/* libpng reports errors by longjmp; everything it must not skip over is set up before setjmp and released after. */
#include "format/png.h"

#include "format/room.h"

#include <limits.h>
#include <png.h>

static void append(png_structp p, png_bytep data, png_size_t n) {
    str_appendn(png_get_io_ptr(p), (const char *)data, n);
}
static void flush(png_structp p) {
    (void)p;
}

static void fail(png_structp p, png_const_charp why) {
    char *message = png_get_error_ptr(p);
    snprintf(message, 128, "%s", why);
    png_longjmp(p, 1);
}

static void ignore(png_structp p, png_const_charp why) {
    (void)p;
    (void)why;
}

static bool encode(png_structp p, png_infop info, int width, int height, const uint8_t *rgb, str *out) {
    if (setjmp(png_jmpbuf(p))) return false;
    png_set_write_fn(p, out, append, flush);
    png_set_IHDR(p, info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(p, info);
    for (int y = 0; y < height; y++) png_write_row(p, (png_const_bytep)rgb + (size_t)y * (size_t)width * 3);
    png_write_end(p, NULL);
    return true;
}

xt_status png_encode_rgb(int width, int height, const uint8_t *rgb, str *out) {
    char why[128] = "";
    if (width < 1 || height < 1) return status_new(XT_INVALID_ARGUMENT, NULL, "a picture of %d x %d", width, height);
    png_structp p = png_create_write_struct(PNG_LIBPNG_VER_STRING, why, fail, ignore);
    png_infop info = p ? png_create_info_struct(p) : NULL;
    if (!info) {
        png_destroy_write_struct(&p, NULL);
        return status_oom(1 << 16, "a picture");
    }
    bool ok = encode(p, info, width, height, rgb, out);
    png_destroy_write_struct(&p, &info);
    return !ok ? status_new(XT_INTERNAL, NULL, "%s", why) : out->failed ? status_oom(out->len, "a picture") : NULL;
}

xt_status png_write_rgb(const char *path, int width, int height, const uint8_t *rgb) {
    str out = STR_INIT;
    xt_status s = status_context(png_encode_rgb(width, height, rgb, &out), "%s", path);
    if (!s) s = file_write_all(path, out.data, out.len);
    str_free(&out);
    return s;
}

/* A pixel is a bit or more, of which deflate packs at most 1032 into one: a file that speaks of more is damaged. What
 * remains is a picture that may be read if there is memory for it (libpng holds rows besides). */
static xt_status check_size(const char *path, size_t width, size_t height, size_t file_bytes) {
    enum { MOST_FOR_ONE = 1032 };
    uint64_t pixels = (uint64_t)width * height;
    if (pixels / 8 / MOST_FOR_ONE > file_bytes || width > INT_MAX || height > INT_MAX)
        return status_new(XT_DATA_LOSS, NULL, "%s is said to be %zu x %zu pixels, more than a file of %zu bytes holds",
                          path, width, height, file_bytes);
    return pixels > SIZE_MAX / 3 ? status_oom(SIZE_MAX, path) : room_for(3 * pixels, "the picture", path);
}

/* --- reading: the bytes of Pillow's convert("RGB") ---
 * Nothing but the numbers that stand in the file counts: what is transparent has its colour, and no gamma bends it. */
typedef struct reading {
    const uint8_t *data;
    size_t n, at;
} reading;

static void take(png_structp p, png_bytep to, png_size_t n) {
    reading *r = png_get_io_ptr(p);
    if (n > r->n - r->at) png_error(p, "it ends too early");
    memcpy(to, r->data + r->at, n);
    r->at += n;
}

static bool read_head(png_structp p, png_infop info) {
    if (setjmp(png_jmpbuf(p))) return false;
    png_read_info(p, info);
    return true;
}

static bool is_wide_grey(png_structp p, png_infop info) {
    return png_get_color_type(p, info) == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(p, info) == 16;
}

static bool read_rows(png_structp p, png_infop info, uint8_t *rgb) {
    if (setjmp(png_jmpbuf(p))) return false;
    size_t width = png_get_image_width(p, info), height = png_get_image_height(p, info);
    if (!is_wide_grey(p, info)) {
        png_set_strip_16(p);
        if (png_get_color_type(p, info) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(p);
        if (png_get_color_type(p, info) == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(p);
        png_set_gray_to_rgb(p);
        png_set_strip_alpha(p);
    }
    int passes = png_set_interlace_handling(p);
    png_read_update_info(p, info);
    while (passes--)
        for (size_t y = 0; y < height; y++) png_read_row(p, rgb + y * width * 3, NULL);
    return true;
}

/* Grey numbers of 16 bits, in the first two thirds of each row. Pillow keeps those of a byte and makes 255 of more. */
static void narrow_grey(uint8_t *rgb, size_t width, size_t height) {
    for (uint8_t *row = rgb; row < rgb + width * height * 3; row += width * 3)
        for (size_t x = width; x-- > 0;) memset(row + 3 * x, row[2 * x] ? 255 : row[2 * x + 1], 3);
}

static xt_status decode(png_structp p, png_infop info, const char *path, size_t n, const char *why, int *out_width,
                        int *out_height, uint8_t **out_rgb) {
    if (!read_head(p, info)) return status_new(XT_DATA_LOSS, NULL, "%s is no PNG picture: %s", path, why);
    size_t width = png_get_image_width(p, info), height = png_get_image_height(p, info);
    XT_TRY(check_size(path, width, height, n));
    if (!(*out_rgb = base_malloc(3 * width * height))) return status_oom(3 * width * height, path);
    bool wide = is_wide_grey(p, info);
    if (!read_rows(p, info, *out_rgb)) return status_new(XT_DATA_LOSS, NULL, "%s is damaged: %s", path, why);
    if (wide) narrow_grey(*out_rgb, width, height);
    *out_width = (int)width;
    *out_height = (int)height;
    return NULL;
}

xt_status png_decode_rgb(const char *path, const void *data, size_t n, int *out_width, int *out_height,
                         uint8_t **out_rgb) {
    char why[128] = "";
    reading r = {data, n, 0};
    *out_rgb = NULL;
    png_structp p = png_create_read_struct(PNG_LIBPNG_VER_STRING, why, fail, ignore);
    png_infop info = p ? png_create_info_struct(p) : NULL;
    xt_status s = info ? NULL : status_oom(1 << 16, path);
    if (!s) {
        png_set_read_fn(p, &r, take);
        png_set_benign_errors(p, true);
        s = decode(p, info, path, n, why, out_width, out_height, out_rgb);
    }
    png_destroy_read_struct(&p, &info, NULL);
    if (s) {
        base_free(*out_rgb);
        *out_rgb = NULL;
    }
    return s;
}

xt_status png_read_rgb(const char *path, int *out_width, int *out_height, uint8_t **out_rgb) {
    char *data = NULL;
    size_t n = 0;
    *out_rgb = NULL;
    XT_TRY(file_read_all(path, &data, &n));
    xt_status s = png_decode_rgb(path, data, n, out_width, out_height, out_rgb);
    base_free(data);
    return s;
}
