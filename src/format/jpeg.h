/* JPEG pictures by libjpeg (libjpeg-turbo's), where it was there when xtrain was built. */
#ifndef XT_SRC_FORMAT_JPEG_H
#define XT_SRC_FORMAT_JPEG_H

#include "base/base.h"

bool jpeg_is_there(void); /* this build can read them */
/* Any kind of JPEG picture (grey, YCbCr, CMYK as Adobe writes it; baseline or progressive) as RGB, rows from the top;
 * base_free(*out_rgb). `name` is for messages. */
xt_status jpeg_decode_rgb(const char *name, const void *data, size_t n, int *out_width, int *out_height,
                          uint8_t **out_rgb);

#endif
