/* Digits drawn by the program itself, so that a first training run needs no download.
 *
 * Each digit is one of a few stroke skeletons in the unit square. A sample bends it: control points jitter, the whole
 * is sheared, scaled, rotated and shifted, and a smooth displacement field (the elastic distortion of Simard et al.
 * 2003, here two sines an axis) warps it. Pixels shade by their distance to the nearest stroke; a little noise follows.
 * Sample i of a seed is always the same picture, whatever is drawn before it. */
#include <math.h>
#include <stdatomic.h>

#include "data/data.h"

enum { SIDE = 28, MAX_POINTS = 64, MAX_STROKES = 4, ARC_STEPS = 14 };

/* Skeletons as text: "M x y" begins a stroke, "L x y" goes on straight, "A cx cy rx ry from to" follows an ellipse,
 * angles in degrees clockwise from the right, y downwards. Units are hundredths. */
static const char *const glyphs[10][3] = {
    {"A 50 50 28 42 -90 270", "A 50 50 22 40 -70 290", "A 50 50 34 38 -120 250"},
    {"M 50 8 L 50 92", "M 34 26 L 52 8 L 52 92", "M 34 24 L 52 8 L 52 92 M 32 92 L 70 92"},
    {"A 50 30 26 22 -170 40 L 22 92 L 80 92", "M 26 20 A 50 30 24 22 -150 50 L 24 90 L 78 88",
     "A 48 30 26 22 -180 60 L 26 80 A 36 84 10 8 -120 120 L 80 92"},
    {"A 46 29 26 21 -150 80 M 46 50 A 46 71 30 22 -85 150", "M 22 10 L 74 10 L 46 44 A 48 68 28 24 -80 150",
     "A 46 28 24 20 -140 90 L 40 48 A 46 70 28 22 -90 140"},
    {"M 62 92 L 62 8 L 18 64 L 84 64", "M 28 8 L 24 54 L 76 54 M 66 10 L 64 92",
     "M 58 8 L 20 60 L 82 60 M 64 36 L 64 92"},
    {"M 76 8 L 30 8 L 26 46 A 48 68 30 26 -130 140", "M 72 10 L 34 10 L 30 44 L 44 40 A 46 66 28 26 -90 150",
     "M 34 10 L 28 46 A 48 68 28 24 -120 150 M 34 10 L 76 8"},
    {"M 66 8 A 66 56 40 50 -115 -180 A 50 68 26 24 -180 180", "M 60 8 L 28 60 A 50 68 24 24 -160 200",
     "M 70 12 A 60 52 34 44 -100 -200 A 50 70 22 20 160 520"},
    {"M 20 10 L 80 10 L 42 92", "M 20 12 L 78 10 L 46 92 M 34 50 L 70 50",
     "M 22 22 L 24 10 L 78 10 A 90 80 50 60 -120 -170"},
    {"A 50 29 24 21 90 450 A 50 71 28 22 -90 270", "A 50 30 20 20 90 450 A 50 70 24 22 -90 270",
     "M 70 16 A 50 28 22 20 -30 -250 L 64 58 A 50 72 24 20 -40 240 L 34 52 L 70 18"},
    {"A 48 32 26 24 0 360 M 74 32 L 66 92", "A 50 32 24 24 0 360 A 20 40 54 54 -10 70",
     "A 48 30 24 22 20 380 M 72 30 L 70 60 A 46 64 24 28 0 130"},
};

typedef struct segment {
    float x0, y0, x1, y1;
} segment;
typedef struct pen {
    segment s[MAX_POINTS * 2];
    int n;
    float x, y;
    bool down;
} pen;

/* A stream of random numbers for one sample. */
typedef struct dice {
    uint64_t seed, stream, at;
} dice;
static float uniform(dice *d, float lo, float hi) {
    return lo + (hi - lo) * rng_uniform(d->seed, d->stream, d->at++);
}
static float normal(dice *d, float sd) {
    return sd * rng_normal(d->seed, d->stream, d->at++);
}

static void go(pen *p, float x, float y) {
    if (p->down && p->n < (int)BASE_COUNT(p->s)) p->s[p->n++] = (segment){p->x, p->y, x, y};
    p->x = x;
    p->y = y;
    p->down = true;
}

static void arc(pen *p, const float v[6], dice *d) {
    float jitter = normal(d, 1.2f);
    for (int k = 0; k <= ARC_STEPS; k++) {
        float a = (v[4] + (v[5] - v[4]) * (float)k / ARC_STEPS) * (float)(M_PI / 180);
        go(p, v[0] + (v[2] + jitter) * cosf(a), v[1] + (v[3] - jitter) * sinf(a));
    }
}

static void draw(pen *p, const char *g, dice *d) {
    while (*g) {
        char op = *g++;
        float v[6];
        int n = op == 'A' ? 6 : 2, used = 0;
        for (int k = 0; k < n; k++) {
            sscanf(g, " %f%n", &v[k], &used);
            g += used;
        }
        while (*g == ' ') g++;
        v[0] += normal(d, 1.6f);
        v[1] += normal(d, 1.6f);
        if (op == 'M') p->down = false;
        if (op == 'A')
            arc(p, v, d);
        else
            go(p, v[0], v[1]);
    }
}

typedef struct warp {
    float m[4], dx, dy, amp[2][2], freq[2][2], phase[2][2];
} warp;

static warp random_warp(dice *d) {
    warp w;
    float angle = normal(d, 0.09f), shear = uniform(d, -0.35f, 0.25f), sx = uniform(d, 0.78f, 1.05f),
          sy = uniform(d, 0.86f, 1.06f), c = cosf(angle), s = sinf(angle);
    w.m[0] = sx * c;
    w.m[1] = sx * (shear * c - s);
    w.m[2] = sy * s;
    w.m[3] = sy * (shear * s + c);
    w.dx = normal(d, 1.1f);
    w.dy = normal(d, 1.1f);
    for (int axis = 0; axis < 2; axis++)
        for (int k = 0; k < 2; k++) {
            w.amp[axis][k] = normal(d, 0.018f);
            w.freq[axis][k] = uniform(d, 3, 9);
            w.phase[axis][k] = uniform(d, 0, 6.2832f);
        }
    return w;
}

/* Hundredths of the unit square to pixels: MNIST's digits fill the middle 20 of 28. */
static void place(const warp *w, float *x, float *y) {
    float u = *x / 100 - 0.5f, v = *y / 100 - 0.5f;
    float eu = u, ev = v;
    for (int k = 0; k < 2; k++) {
        eu += w->amp[0][k] * sinf(w->freq[0][k] * v + w->phase[0][k]);
        ev += w->amp[1][k] * sinf(w->freq[1][k] * u + w->phase[1][k]);
    }
    *x = 13.5f + w->dx + 21 * (w->m[0] * eu + w->m[1] * ev);
    *y = 13.5f + w->dy + 21 * (w->m[2] * eu + w->m[3] * ev);
}

/* Squared distance of a point to a segment. */
static float distance2(const segment *s, float x, float y) {
    float vx = s->x1 - s->x0, vy = s->y1 - s->y0, wx = x - s->x0, wy = y - s->y0, len = vx * vx + vy * vy;
    float t = len > 0 ? (wx * vx + wy * vy) / len : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    float dx = wx - t * vx, dy = wy - t * vy;
    return dx * dx + dy * dy;
}

/* pixels: SIDE*SIDE values in [0,1] */
static void paint(const pen *p, dice *d, float *pixels) {
    float radius = uniform(d, 0.75f, 1.7f), ink = uniform(d, 0.85f, 1);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float nearest = 1e9f;
            for (int k = 0; k < p->n; k++) {
                float r = distance2(&p->s[k], (float)x, (float)y);
                nearest = r < nearest ? r : nearest;
            }
            float v = ink * (radius + 0.5f - sqrtf(nearest));
            v = v < 0 ? 0 : v > ink ? ink : v;
            if (v > 0) v += 0.06f * (rng_uniform(d->seed, d->stream ^ 0x9e37u, (uint64_t)(y * SIDE + x)) - 0.5f);
            pixels[y * SIDE + x] = v < 0 ? 0 : v > 1 ? 1 : v;
        }
}

static int digit_of(uint64_t seed, int64_t i) {
    return (int)(rng_bits(seed, 0xd1610000u + (uint64_t)i, 1u << 20) % 10);
}

static void render(uint64_t seed, int64_t i, float *pixels) {
    dice d = {seed, 0xd1610000u + (uint64_t)i, 0};
    pen p = {.down = false};
    draw(&p, glyphs[digit_of(seed, i)][(int)uniform(&d, 0, 2.999f)], &d);
    warp w = random_warp(&d);
    for (int k = 0; k < p.n; k++) {
        place(&w, &p.s[k].x0, &p.s[k].y0);
        place(&w, &p.s[k].x1, &p.s[k].y1);
    }
    paint(&p, &d, pixels);
}

/* Pictures are drawn once and kept as bytes: drawing costs more than a training step on them. */
enum { EMPTY, WRITING, DONE };
typedef struct book {
    uint64_t seed;
    uint8_t *pixels;
    atomic_uchar *drawn; /* per sample: EMPTY, one thread is WRITING its page, or DONE */
} book;

static void book_free(void *user) {
    book *b = user;
    if (!b) return;
    base_free(b->pixels);
    base_free(b->drawn);
    base_free(b);
}

static xt_status get(void *user, int64_t i, void *x, void *y) {
    book *b = user;
    uint8_t *page = b->pixels + (size_t)i * SIDE * SIDE;
    float *dst = x;
    uint8_t mine[SIDE * SIDE];
    const uint8_t *from = page;
    if (atomic_load_explicit(&b->drawn[i], memory_order_acquire) != DONE) {
        unsigned char empty = EMPTY;
        bool first = atomic_compare_exchange_strong(&b->drawn[i], &empty, WRITING);
        /* another thread draws the same picture: it is the same, so draw it for ourselves */
        uint8_t *to = first ? page : mine;
        render(b->seed, i, dst);
        for (int k = 0; k < SIDE * SIDE; k++) to[k] = (uint8_t)(dst[k] * 255 + 0.5f);
        if (first) atomic_store_explicit(&b->drawn[i], DONE, memory_order_release);
        from = to;
    }
    /* as MNIST is normalised */
    for (int k = 0; k < SIDE * SIDE; k++) dst[k] = ((float)from[k] / 255.0f - 0.1307f) / 0.3081f;
    if (y) *(int64_t *)y = digit_of(b->seed, i);
    return NULL;
}

xt_dataset *xt_drawn_digits_at(const xt_src *src, int64_t count, uint64_t seed) {
    SRC_CALLED_FROM(src);
    size_t bytes;
    book *b = count > 0 && size_mul((size_t)count, SIDE * SIDE, &bytes) ? base_calloc(1, sizeof *b) : NULL;
    if (b) {
        b->seed = seed;
        b->pixels = base_malloc(bytes);
        b->drawn = base_calloc((size_t)count, sizeof *b->drawn);
    }
    if (!b || !b->pixels || !b->drawn) {
        book_free(b);
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_drawn_digits: %lld pictures do not fit memory, or are none",
                             (long long)count));
        return NULL;
    }
    xt_dataset_desc d = {.struct_size = sizeof d,
                         .count = count,
                         .x = {XT_F32, {1, SIDE, SIDE}},
                         .y = {XT_I64, {0}},
                         .get = get,
                         .free_user = book_free,
                         .user = b,
                         .name = "drawn digits"};
    xt_dataset *out = xt_dataset_new_at(NULL, &d);
    if (!out) book_free(b);
    return out;
}
