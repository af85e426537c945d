#include "format/image.h"

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

void image_scale_and_cut(const uint8_t *rgb, int64_t width, int64_t height, int64_t side, float *out) {
    double scale = (double)(width < height ? width : height) / (double)side;
    double left = ((double)width / scale - (double)side) / 2, top = ((double)height / scale - (double)side) / 2;
    for (int64_t r = 0; r < side; r++)
        for (int64_t q = 0; q < side; q++) {
            double v = (top + (double)r + 0.5) * scale - 0.5, u = (left + (double)q + 0.5) * scale - 0.5;
            v = v < 0 ? 0 : v > (double)height - 1 ? (double)height - 1 : v;
            u = u < 0 ? 0 : u > (double)width - 1 ? (double)width - 1 : u;
            int64_t v0 = (int64_t)v, u0 = (int64_t)u, v1 = v0 + (v0 + 1 < height), u1 = u0 + (u0 + 1 < width);
            double dv = v - (double)v0, du = u - (double)u0;
            for (int64_t c = 0; c < 3; c++) {
#define AT(y, x) (double)rgb[((y)*width + (x)) * 3 + c]
                double upper = AT(v0, u0) * (1 - du) + AT(v0, u1) * du, lower = AT(v1, u0) * (1 - du) + AT(v1, u1) * du;
#undef AT
                out[(c * side + r) * side + q] = (float)((upper * (1 - dv) + lower * dv) / 255);
            }
        }
}
