/* See conv_finite.h. */
#include "cpu/vector/conv_finite.h"

enum { LANES = 16, SIDE = 4 };

typedef struct look {
    const float *image;
    int64_t blocks, h, w;
    _Atomic bool found;
} look;

static int64_t rows_of(const look *l) {
    return (l->h + SIDE - 1) / SIDE + 1;
}

/* All bits of the exponent are set in one of the 16. */
static bool is_spoilt(const float *pixel) {
    uint32_t bits[LANES], bad = 0;
    memcpy(bits, pixel, sizeof bits);
    for (int i = 0; i < LANES; i++) bad |= (bits[i] & 0x7f800000u) == 0x7f800000u;
    return bad;
}

/* Rows of tiles of all images, and after each image's its last row. */
static void look_at(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    look *l = ctx;
    bool found = false;
    int64_t rows = rows_of(l);
    for (int64_t t = begin; t < end; t++) {
        int64_t y = t % rows * SIDE < l->h ? t % rows * SIDE : l->h - 1;
        const float *row = l->image + (t / rows * l->blocks * l->h + y) * l->w * LANES;
        for (int64_t x = 0; x < l->w; x += SIDE) found |= is_spoilt(row + x * LANES);
        found |= is_spoilt(row + (l->w - 1) * LANES);
    }
    if (found) l->found = true;
}

bool conv_image_is_finite(const cpu_team *team, const float *image, int64_t n, int64_t blocks, int64_t h, int64_t w) {
    look l = {.image = image, .blocks = blocks, .h = h, .w = w};
    for (int64_t b = 0; b < blocks; b++)
        if (is_spoilt(image + b * h * w * LANES)) return false;
    team_for(team, n * rows_of(&l), 16, look_at, &l);
    return !l.found;
}

bool conv_kernel_is_finite(const void *kernel, bool half, const int64_t dims[4], const int64_t steps[4]) {
    bool found = false;
    for (int side = 0; side < 2; side++)
        for (int64_t f = 0; f < dims[side]; f++)
            for (int64_t tap = 0; tap < dims[2] * dims[3]; tap++) {
                int64_t at = f * steps[side] + tap / dims[3] * steps[2] + tap % dims[3] * steps[3];
                uint32_t bits = half ? (uint32_t)((const uint16_t *)kernel)[at] << 16 : ((const uint32_t *)kernel)[at];
                found |= (bits & 0x7f800000u) == 0x7f800000u;
            }
    return !found;
}
