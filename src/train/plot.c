/* Line charts, bars and image grids drawn into an RGB canvas: thick lines, ticks at 1, 2, 5 times a power of ten,
 * letters of 5 x 7 dots. */
#include <math.h>
#include <stdlib.h>

#include <xtrain/plot.h>

#include "format/png.h"
#include "train/plot_font.h"

typedef struct canvas {
    int width, height;
    uint8_t *rgb;
} canvas;

static xt_status canvas_new(canvas *c, int width, int height, const char *path) {
    size_t n;
    *c = (canvas){width, height, NULL};
    if (width < 1 || height < 1 || !size_mul((size_t)width * 3, (size_t)height, &n))
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: a picture of %d x %d", path, width, height);
    c->rgb = base_malloc(n);
    if (!c->rgb) return status_oom(n, path);
    memset(c->rgb, 255, n);
    return NULL;
}

static void dot(canvas *c, int x, int y, uint32_t color) {
    if (x < 0 || y < 0 || x >= c->width || y >= c->height) return;
    uint8_t *p = c->rgb + ((size_t)y * (size_t)c->width + (size_t)x) * 3;
    p[0] = (uint8_t)(color >> 16);
    p[1] = (uint8_t)(color >> 8);
    p[2] = (uint8_t)color;
}

static void box(canvas *c, int x, int y, int w, int h, uint32_t color) {
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i++) dot(c, i, j, color);
}

/* Bresenham with a square pen. */
static void line(canvas *c, int x0, int y0, int x1, int y1, int pen, uint32_t color) {
    int dx = abs(x1 - x0), dy = -abs(y1 - y0), sx = x0 < x1 ? 1 : -1, sy = y0 < y1 ? 1 : -1, e = dx + dy;
    for (;;) {
        box(c, x0, y0, pen, pen, color);
        if (x0 == x1 && y0 == y1) return;
        int twice = 2 * e;
        if (twice >= dy) {
            e += dy;
            x0 += sx;
        }
        if (twice <= dx) {
            e += dx;
            y0 += sy;
        }
    }
}

/* Texts of others may be of any length, and pictures grow with them: of longer ones the beginning is drawn. */
enum { LONGEST_TEXT = 200 };
static int text_length(const char *text) {
    int n = 0;
    while (n < LONGEST_TEXT && text[n]) n++;
    return n;
}

static int text_width(const char *text, int scale) {
    return text_length(text) * (FONT_WIDTH + 1) * scale;
}

static void write_text(canvas *c, int x, int y, const char *text, int scale, uint32_t color) {
    int n = text_length(text);
    for (int i = 0; i < n; i++, x += (FONT_WIDTH + 1) * scale) {
        int letter = text[n] && i >= n - 3 ? '.' : (unsigned char)text[i];
        if (letter < FONT_FIRST || letter > FONT_LAST) letter = '?';
        for (int col = 0; col < FONT_WIDTH; col++)
            for (int row = 0; row < FONT_HEIGHT; row++)
                if (plot_font[letter - FONT_FIRST][col] >> row & 1)
                    box(c, x + col * scale, y + row * scale, scale, scale, color);
    }
}

/* --- line charts --- */
enum { CHART_WIDTH = 720, CHART_HEIGHT = 440, LEFT = 70, RIGHT = 20, TOP = 40, BOTTOM = 50, MAX_SERIES = 6 };
static const uint32_t INK = 0x303030, GRID = 0xe4e4e4;
static const uint32_t colors[MAX_SERIES] = {0x1f6fb4, 0xd9822b, 0x2e8b57, 0xb23a48, 0x7a5195, 0x6b6b6b};

typedef struct axis {
    double lo, hi, tick;
} axis;

/* Numbers near the ends of what a double holds have no ticks between them that add up: further out and nearer to 0 than
 * these nothing is told apart. */
#define FURTHEST 1e300
#define NEAREST 1e-300
static double bounded(double v) {
    return v > FURTHEST ? FURTHEST : v < -FURTHEST ? -FURTHEST : v;
}

/* 1, 2 or 5 times a power of ten, for about `parts` ticks. */
static double nice_tick(double range, int parts) {
    double raw = range / parts, power = pow(10, floor(log10(raw))), m = raw / power;
    return power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

static axis axis_of(const xt_plot_series *series, int n, bool vertical) {
    axis a = {INFINITY, -INFINITY, 1};
    for (int s = 0; s < n; s++)
        for (int64_t i = 0; i < series[s].n; i++) {
            double x = series[s].x[i], y = series[s].y[i], v = bounded(vertical ? y : x);
            if (!isfinite(x) || !isfinite(y)) continue;
            if (v < a.lo) a.lo = v;
            if (v > a.hi) a.hi = v;
        }
    if (!(a.lo <= a.hi)) return (axis){0, 1, 0.2};
    if (a.hi - a.lo < 1e-12 * (1 + fabs(a.lo))) {
        double half = fabs(a.lo) > 5e5 ? 1e-6 * fabs(a.lo) : 0.5;
        a.lo -= half;
        a.hi += half;
    }
    a.tick = nice_tick(a.hi - a.lo, vertical ? 5 : 8);
    if (vertical) { /* whole ticks above and below, so that no curve runs along the frame */
        a.lo = floor(a.lo / a.tick) * a.tick;
        a.hi = ceil(a.hi / a.tick) * a.tick;
    }
    return a;
}

static int place(const axis *a, double v, int from, int to) {
    double at = (bounded(v) - a->lo) / (a->hi - a->lo);
    return from + (int)lround((at < -1 ? -1 : at > 2 ? 2 : at) * (to - from));
}

/* Ticks from `first` to the end of an axis. */
static int tick_count(const axis *a, double first) {
    enum { MOST_TICKS = 32 };
    double n = floor((a->hi - first) / a->tick + 1e-9) + 1;
    return n < 0 ? 0 : n < MOST_TICKS ? (int)n : MOST_TICKS;
}

static void draw_axes(canvas *c, const axis *ax, const axis *ay) {
    char label[32];
    int right = CHART_WIDTH - RIGHT, bottom = CHART_HEIGHT - BOTTOM;
    double first = ceil(ax->lo / ax->tick) * ax->tick;
    for (int i = 0, n = tick_count(ax, first); i < n; i++) {
        double v = first + i * ax->tick;
        int x = place(ax, v, LEFT, right);
        line(c, x, TOP, x, bottom, 1, GRID);
        snprintf(label, sizeof label, "%g", fabs(v) < ax->tick * 1e-9 ? 0 : v);
        write_text(c, x - text_width(label, 1) / 2, bottom + 8, label, 1, INK);
    }
    for (int i = 0, n = tick_count(ay, ay->lo); i < n; i++) {
        double v = ay->lo + i * ay->tick;
        int y = place(ay, v, bottom, TOP);
        line(c, LEFT, y, right, y, 1, GRID);
        snprintf(label, sizeof label, "%g", fabs(v) < ay->tick * 1e-9 ? 0 : v);
        write_text(c, LEFT - 8 - text_width(label, 1), y - FONT_HEIGHT / 2, label, 1, INK);
    }
    line(c, LEFT, TOP, LEFT, bottom, 1, INK);
    line(c, LEFT, bottom, right, bottom, 1, INK);
}

static void draw_series(canvas *c, const axis *ax, const axis *ay, const xt_plot_series *s, uint32_t color) {
    bool have = false;
    int px = 0, py = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (!isfinite(s->x[i]) || !isfinite(s->y[i])) {
            have = false;
            continue;
        }
        int x = place(ax, s->x[i], LEFT, CHART_WIDTH - RIGHT), y = place(ay, s->y[i], CHART_HEIGHT - BOTTOM, TOP);
        if (have) line(c, px, py, x, y, 2, color);
        int half = s->n == 1 ? 4 : 2; /* one point: a mark on the other curves */
        if (s->n <= 40) box(c, x - half, y - half, 2 * half + 2, 2 * half + 2, color);
        px = x;
        py = y;
        have = true;
    }
}

xt_status xt_plot_lines(const char *path, const char *title, const char *x_label, const xt_plot_series *series, int n) {
    if (!path || n < 1 || n > MAX_SERIES)
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_plot_lines: a path and 1 to %d series are needed, %d given",
                          MAX_SERIES, n);
    canvas c;
    XT_TRY(canvas_new(&c, CHART_WIDTH, CHART_HEIGHT, path));
    axis ax = axis_of(series, n, false), ay = axis_of(series, n, true);
    draw_axes(&c, &ax, &ay);
    if (title) write_text(&c, LEFT, 12, title, LEFT + text_width(title, 2) > CHART_WIDTH ? 1 : 2, INK);
    if (x_label)
        write_text(&c, (CHART_WIDTH + LEFT - RIGHT - text_width(x_label, 1)) / 2, CHART_HEIGHT - 20, x_label, 1, INK);
    for (int s = 0; s < n; s++) {
        draw_series(&c, &ax, &ay, &series[s], colors[s]);
        const char *name = series[s].name ? series[s].name : "";
        int x = CHART_WIDTH - RIGHT - 10 - text_width(name, 1), y = TOP + 8 + 14 * s;
        box(&c, x - 18, y + 2, 12, 3, colors[s]);
        write_text(&c, x, y, name, 1, INK);
    }
    xt_status st = png_write_rgb(path, c.width, c.height, c.rgb);
    base_free(c.rgb);
    return st;
}

/* --- bars --- */
enum { MAX_BARS = 64, BAR = 20, BAR_PITCH = 34, BAR_PLOT = 440, MARGIN = 24, BARS_TOP = 60, BARS_BOTTOM = 78 };
static const uint32_t BEHIND = 0xdfe3e8;

typedef struct bar_chart {
    canvas c;
    axis x;
    int left, right, bottom; /* of the plot */
} bar_chart;

/* From 0 to the largest value or mark. */
static axis bar_axis(const xt_plot_bar *bars, int n, double mark) {
    axis a = {0, isfinite(mark) && mark > 0 ? mark : 0, 1};
    for (int i = 0; i < n; i++)
        if (isfinite(bars[i].value) && bars[i].value > a.hi) a.hi = bars[i].value;
    a.hi = a.hi < NEAREST ? 1 : bounded(a.hi);
    a.tick = nice_tick(a.hi, 5);
    a.hi = ceil(a.hi / a.tick - 1e-9) * a.tick;
    return a;
}

static void draw_bar_axis(bar_chart *b) {
    char label[32];
    for (int i = 0, n = tick_count(&b->x, 0); i < n; i++) {
        double v = i * b->x.tick;
        int x = place(&b->x, v, b->left, b->right);
        line(&b->c, x, BARS_TOP - 6, x, b->bottom, 1, GRID);
        snprintf(label, sizeof label, "%g", v);
        write_text(&b->c, x - text_width(label, 2) / 2, b->bottom + 8, label, 2, INK);
    }
}

static void draw_bar(bar_chart *b, const xt_plot_bar *bar, int y, double mark) {
    int middle = y + (BAR - 2 * FONT_HEIGHT) / 2;
    if (bar->label) write_text(&b->c, b->left - 12 - text_width(bar->label, 2), middle, bar->label, 2, INK);
    if (bar->note) write_text(&b->c, b->right + 16, middle, bar->note, 2, INK);
    if (isfinite(mark) && mark > 0) box(&b->c, b->left, y, place(&b->x, mark, 0, b->right - b->left), BAR, BEHIND);
    if (!isfinite(bar->value) || bar->value < 0) return;
    box(&b->c, b->left, y, place(&b->x, bar->value, 0, b->right - b->left), BAR, colors[bar->value > mark]);
}

/* The widest of the labels, or of the notes. */
static int bar_room(const xt_plot_bar *bars, int n, bool notes) {
    int room = 0;
    for (int i = 0; i < n; i++) {
        const char *text = notes ? bars[i].note : bars[i].label;
        int w = text ? text_width(text, 2) : 0;
        if (w > room) room = w;
    }
    return room;
}

xt_status xt_plot_bars(const char *path, const char *title, const char *x_label, /* a line each, or NULL */
                       const xt_plot_bar *bars, int n, double mark) {
    if (!path || !bars || n < 1 || n > MAX_BARS)
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_plot_bars: %d bars; wanted: a path, 1 to %d bars", n,
                          MAX_BARS);
    int left = MARGIN + bar_room(bars, n, false) + 12, right = left + BAR_PLOT, bottom = BARS_TOP + n * BAR_PITCH;
    int width = right + 16 + bar_room(bars, n, true) + MARGIN;
    if (title && width < text_width(title, 2) + 2 * MARGIN) width = text_width(title, 2) + 2 * MARGIN;
    if (x_label && width < text_width(x_label, 2) + 2 * MARGIN) width = text_width(x_label, 2) + 2 * MARGIN;
    bar_chart b = {.x = bar_axis(bars, n, mark), .left = left, .right = right, .bottom = bottom};
    XT_TRY(canvas_new(&b.c, width, bottom + BARS_BOTTOM, path));
    draw_bar_axis(&b);
    if (title) write_text(&b.c, MARGIN, 20, title, 2, INK);
    if (x_label) write_text(&b.c, MARGIN, bottom + 44, x_label, 2, INK);
    for (int i = 0; i < n; i++) draw_bar(&b, &bars[i], BARS_TOP + i * BAR_PITCH + (BAR_PITCH - BAR) / 2, mark);
    line(&b.c, left - 1, BARS_TOP - 6, left - 1, bottom, 1, INK);
    xt_status s = png_write_rgb(path, b.c.width, b.c.height, b.c.rgb);
    base_free(b.c.rgb);
    return s;
}

/* --- grids of images --- */
xt_status xt_plot_images(const char *path, const char *title, int n, int height, int width, const float *grey,
                         const char *const *labels) {
    if (!path || n < 1 || height < 1 || width < 1 || height > 4096 || width > 4096 || !grey)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "xt_plot_images: %d images of %d x %d; at least one image of up to 4096 x 4096 is needed", n,
                          height, width);
    int scale = width < 64 ? 96 / width + 1 : 1, columns = (int)ceil(sqrt(n)), rows = (n + columns - 1) / columns;
    if (columns > 64) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_plot_images: %d images; at most 4096 fit", n);
    int cell_w = width * scale + 12, cell_h = height * scale + 12 + (labels ? 16 : 0), top = title ? 34 : 6;
    int room = title ? text_width(title, 2) + 20 : 0, total = columns * cell_w;
    canvas c;
    XT_TRY(canvas_new(&c, total > room ? total : room, top + rows * cell_h, path));
    if (title) write_text(&c, 8, 10, title, 2, INK);
    for (int i = 0; i < n; i++) {
        int x0 = i % columns * cell_w + 6, y0 = top + i / columns * cell_h;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                float v = grey[((size_t)i * (size_t)height + (size_t)y) * (size_t)width + (size_t)x];
                uint32_t g = (uint32_t)lrintf(255 * (v > 0 ? v < 1 ? v : 1 : 0)); /* NaN is black */
                box(&c, x0 + x * scale, y0 + y * scale, scale, scale, g << 16 | g << 8 | g);
            }
        if (labels && labels[i])
            write_text(&c, x0 + (width * scale - text_width(labels[i], 1)) / 2, y0 + height * scale + 4, labels[i], 1,
                       INK);
    }
    xt_status s = png_write_rgb(path, c.width, c.height, c.rgb);
    base_free(c.rgb);
    return s;
}
