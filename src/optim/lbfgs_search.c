/* The line search of L-BFGS: strong Wolfe conditions by bracketing and cubic interpolation (Nocedal and Wright 2006,
 * algorithms 3.5 and 3.6), with the constants and the order of decisions of torch.optim.LBFGS, whose iterates it gives
 * to rounding. */
#include "optim/lbfgs.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

static const double SUFFICIENT = 1e-4, CURVATURE = 0.9;
enum { MOST_STEPS = 25 };

/* Eight sums side by side: an addition waits for the one before, and a step takes two of these for each change kept. */
double lbfgs_dot(size_t n, const double *a, const double *b) {
    typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
    pair s[4] = {{0}};
    double sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        s[0] += *(const pair *)(a + i) * *(const pair *)(b + i);
        s[1] += *(const pair *)(a + i + 2) * *(const pair *)(b + i + 2);
        s[2] += *(const pair *)(a + i + 4) * *(const pair *)(b + i + 4);
        s[3] += *(const pair *)(a + i + 6) * *(const pair *)(b + i + 6);
    }
    for (; i < n; i++) sum += a[i] * b[i];
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
    return sum + s[0][0] + s[0][1];
}

void lbfgs_add(size_t n, double *q, double w, const double *a) {
    typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        *(pair *)(q + i) += w * *(const pair *)(a + i);
        *(pair *)(q + i + 2) += w * *(const pair *)(a + i + 2);
    }
    for (; i < n; i++) q[i] += w * a[i];
}

double lbfgs_largest(size_t n, const double *a) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i]) <= most)) most = fabs(a[i]); /* NaN is larger */
    return most;
}

typedef struct point { /* on the line; the gradient is one of the buffers of `line` */
    double t, f, slope;
    double *g;
} point;

typedef struct line {
    const lbfgs_function *f;
    const double *d;
    double *buffers[4];
    point start;
    int steps, evaluations;
} line;

static double at_most(double a, double b) {
    return b < a ? b : a;
}
static double at_least(double a, double b) {
    return b > a ? b : a;
}

/* The minimum of the cubic through two points with their slopes, within bounds; their middle where it has none. */
static double cubic(const point *a, const point *b, double low, double high) {
    double d1 = a->slope + b->slope - 3 * (a->f - b->f) / (a->t - b->t), square = d1 * d1 - a->slope * b->slope;
    if (!(square >= 0)) return (low + high) / 2;
    double d2 = sqrt(square), best;
    if (a->t <= b->t)
        best = b->t - (b->t - a->t) * ((b->slope + d2 - d1) / (b->slope - a->slope + 2 * d2));
    else
        best = a->t - (a->t - b->t) * ((a->slope + d2 - d1) / (a->slope - b->slope + 2 * d2));
    return at_most(at_least(best, low), high);
}

/* A buffer that neither point holds, nor the start, to which a search may come back. */
static double *free_buffer(const line *l, const point *a, const point *b) {
    for (size_t i = 1; i < BASE_COUNT(l->buffers); i++)
        if (l->buffers[i] != a->g && l->buffers[i] != b->g) return l->buffers[i];
    return NULL;
}

static bool evaluate(line *l, double t, double *buffer, point *out) {
    *out = (point){.t = t, .g = buffer};
    l->evaluations++;
    if (!l->f->at(l->f->user, t, l->d, &out->f, buffer)) return false;
    out->slope = lbfgs_dot(l->f->n, buffer, l->d);
    return true;
}

static bool rises(const line *l, const point *p) {
    return p->f > l->start.f + SUFFICIENT * p->t * l->start.slope;
}
static bool flat(const line *l, const point *p) {
    return fabs(p->slope) <= -CURVATURE * l->start.slope;
}

typedef enum found { FAILED, BRACKET, POINT } found;

/* An interval that holds such a point, or one itself, in b[0]. */
static found bracket(line *l, double t, point b[2]) {
    point before = l->start, now;
    if (!evaluate(l, t, free_buffer(l, &before, &before), &now)) return FAILED;
    while (l->steps < MOST_STEPS) {
        if (rises(l, &now) || (l->steps > 1 && now.f >= before.f)) break;
        if (flat(l, &now)) {
            b[0] = b[1] = now;
            return POINT;
        }
        if (now.slope >= 0) break;
        double next = cubic(&before, &now, now.t + 0.01 * (now.t - before.t), now.t * 10);
        before = now;
        if (!evaluate(l, next, free_buffer(l, &before, &before), &now)) return FAILED;
        l->steps++;
    }
    b[0] = l->steps == MOST_STEPS ? l->start : before;
    b[1] = now;
    return BRACKET;
}

/* A trial too close to an end of the interval, twice or beyond it, is moved inside. */
static double moved_inside(double t, double low, double high, bool *close) {
    double margin = 0.1 * (high - low);
    bool near = at_most(high - t, t - low) < margin;
    bool move = near && (*close || t >= high || t <= low);
    *close = near && !move;
    if (!move) return t;
    return fabs(t - high) < fabs(t - low) ? high - margin : low + margin;
}

/* Narrows the interval; *out_low: which end is the best. */
static bool zoom(line *l, point b[2], double tolerance, int *out_low) {
    bool close = false;
    double reach = lbfgs_largest(l->f->n, l->d);
    int low = b[0].f <= b[1].f ? 0 : 1;
    while (l->steps < MOST_STEPS && !(fabs(b[1].t - b[0].t) * reach < tolerance)) {
        double least = at_most(b[0].t, b[1].t), most = at_least(b[0].t, b[1].t);
        double t = moved_inside(cubic(&b[0], &b[1], least, most), least, most, &close);
        point now;
        if (!evaluate(l, t, free_buffer(l, &b[0], &b[1]), &now)) return false;
        l->steps++;
        if (rises(l, &now) || now.f >= b[low].f) {
            b[1 - low] = now;
            low = b[0].f <= b[1].f ? 0 : 1;
            continue;
        }
        bool done = flat(l, &now);
        if (!done && now.slope * (b[1 - low].t - b[low].t) >= 0) b[1 - low] = b[low];
        b[low] = now;
        if (done) break;
    }
    *out_low = low;
    return true;
}

bool lbfgs_strong_wolfe(const lbfgs_function *f, const double *d, double slope, double tolerance_change,
                        lbfgs_search *s) {
    line l = {.f = f, .d = d};
    point b[2];
    int low = 0;
    double *room = base_malloc(4 * f->n * sizeof *room + 1);
    s->evaluations = 0;
    if (!room) return false;
    for (size_t i = 0; i < BASE_COUNT(l.buffers); i++) l.buffers[i] = room + i * f->n;
    memcpy(l.buffers[0], s->gradient, f->n * sizeof *room);
    l.start = (point){.t = 0, .f = s->loss, .slope = slope, .g = l.buffers[0]};
    found which = bracket(&l, s->t, b);
    bool ok = which == POINT || (which == BRACKET && zoom(&l, b, tolerance_change, &low));
    if (ok) {
        s->t = b[low].t;
        s->loss = b[low].f;
        memcpy(s->gradient, b[low].g, f->n * sizeof *room);
    }
    s->evaluations = l.evaluations;
    base_free(room);
    return ok;
}
