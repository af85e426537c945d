/* PNG pictures by libpng as 8-bit RGB; written whole or not at all. */
#ifndef XT_SRC_FORMAT_PNG_H
#define XT_SRC_FORMAT_PNG_H

#include "base/base.h"

/* width * height * 3 bytes, rows from the top */
xt_status png_write_rgb(const char *path, int width, int height, const uint8_t *rgb);
xt_status png_encode_rgb(int width, int height, const uint8_t *rgb, str *out); /* the file's bytes */
/* Any kind of PNG picture as RGB, without its alpha; base_free(*out_rgb). */
xt_status png_decode_rgb(const char *name, const void *data, size_t n, int *out_width, int *out_height,
                         uint8_t **out_rgb); /* of the file's bytes; `name` is for messages */
xt_status png_read_rgb(const char *path, int *out_width, int *out_height, uint8_t **out_rgb);

#endif
