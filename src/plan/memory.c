/* What both readers of dumps share: the peak of an arena from its buffers' lives and places. */
#include <stdlib.h>

#include "plan/plan.h"

void plan_memory_free(plan_memory *m) {
    base_free(m->buffers);
    base_free(m->links);
    *m = (plan_memory){0};
}

typedef struct span {
    int64_t from, to;
} span;

static int by_from(const void *a, const void *b) {
    const span *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Bytes of the arena that are taken at a point: the union of the places of what lives then. */
static int64_t taken_at(const plan_memory *m, int32_t point, span *room) {
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        const plan_buffer *b = &m->buffers[i];
        if (b->place == PLAN_TEMP && b->first <= point && b->last >= point)
            room[n++] = (span){b->offset, b->offset + b->bytes};
    }
    qsort(room, n, sizeof *room, by_from);
    int64_t sum = 0, end = 0;
    for (size_t i = 0; i < n; i++) {
        if (room[i].to <= end) continue;
        sum += room[i].to - (room[i].from > end ? room[i].from : end);
        end = room[i].to;
    }
    return sum;
}

/* Memory can only be at its most where something begins. A first pass adds sizes, which overlap at most makes too
 * large, so points are tried from the largest sum down until no sum can beat the best union. */
typedef struct point {
    int64_t sum;
    int32_t at;
} point;

static int larger_first(const void *a, const void *b) {
    const point *x = a, *y = b;
    return x->sum != y->sum ? (x->sum < y->sum ? 1 : -1) : x->at < y->at ? -1 : x->at > y->at;
}

void plan_find_peak(plan_memory *m, int64_t *out_live) {
    int64_t best = -1;
    int32_t where = 0;
    int64_t *delta = base_calloc((size_t)m->n_points + 2, sizeof *delta);
    point *points = base_malloc(((size_t)m->n_points + 1) * sizeof *points);
    span *room = base_malloc((m->n + 1) * sizeof *room);
    if (delta && points && room) {
        for (size_t i = 0; i < m->n; i++) {
            const plan_buffer *b = &m->buffers[i];
            if (b->place != PLAN_TEMP || b->first < 0 || b->first > b->last || b->last > m->n_points) continue;
            delta[b->first] += b->bytes;
            delta[b->last + 1] -= b->bytes;
        }
        int64_t now = 0;
        for (int32_t t = 0; t <= m->n_points; t++) points[t] = (point){now += delta[t], t};
        qsort(points, (size_t)m->n_points + 1, sizeof *points, larger_first);
        for (int k = 0; k <= m->n_points && points[k].sum > best && k < 400; k++) {
            int64_t taken = taken_at(m, points[k].at, room);
            if (taken > best) best = taken, where = points[k].at;
        }
    }
    m->peak_point = where;
    *out_live = best > 0 ? best : 0;
    base_free(delta);
    base_free(points);
    base_free(room);
}
