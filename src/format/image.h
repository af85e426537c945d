/* Pictures of any kind that is known, by what their first bytes say and not by their name. */
#ifndef XT_SRC_FORMAT_IMAGE_H
#define XT_SRC_FORMAT_IMAGE_H

#include "base/base.h"

bool image_is_name(const char *name); /* ends in .png, .jpg or .jpeg, of either case */
/* As RGB, rows from the top; base_free(*out_rgb). `name` is for messages. */
xt_status image_decode_rgb(const char *name, const void *data, size_t n, int *out_width, int *out_height,
                           uint8_t **out_rgb);
xt_status image_read_rgb(const char *path, int *out_width, int *out_height, uint8_t **out_rgb);
/* f32 [3,side,side] in 0..1: the shorter side scaled to `side`, the middle kept; the numbers of torchvision's Resize,
 * CenterCrop and ToTensor of a Pillow picture. */
xt_status image_scale_and_cut(const uint8_t *rgb, int64_t width, int64_t height, int64_t side, float *out);

#endif
