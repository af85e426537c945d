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
static xt_status check_size(const char *path, const png_image *image, size_t file_bytes) {
    enum { MOST_FOR_ONE = 1032 };
    uint64_t pixels = (uint64_t)image->width * image->height;
    if (pixels / 8 / MOST_FOR_ONE > file_bytes || image->width > INT_MAX || image->height > INT_MAX)
        return status_new(XT_DATA_LOSS, NULL, "%s is said to be %u x %u pixels, more than a file of %zu bytes holds",
                          path, image->width, image->height, file_bytes);
    return pixels > SIZE_MAX / 3 ? status_oom(SIZE_MAX, path) : room_for(3 * pixels, "the picture", path);
}

xt_status png_decode_rgb(const char *path, const void *data, size_t n, int *out_width, int *out_height,
                         uint8_t **out_rgb) {
    *out_rgb = NULL;
    png_image image = {.version = PNG_IMAGE_VERSION};
    static const png_color black = {0, 0, 0}; /* what shows through transparent pixels */
    xt_status s = NULL;
    if (!png_image_begin_read_from_memory(&image, data, n))
        s = status_new(XT_DATA_LOSS, NULL, "%s is no PNG picture: %s", path, image.message);
    else
        s = check_size(path, &image, n);
    if (!s) {
        image.format = PNG_FORMAT_RGB;
        *out_width = (int)image.width;
        *out_height = (int)image.height;
        size_t bytes = 3 * (size_t)image.width * image.height;
        *out_rgb = base_malloc(bytes);
        if (!*out_rgb)
            s = status_oom(bytes, path);
        else if (!png_image_finish_read(&image, &black, *out_rgb, 0, NULL))
            s = status_new(XT_DATA_LOSS, NULL, "%s is damaged: %s", path, image.message);
    }
    png_image_free(&image);
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
