/* XT_DEBUG=bounds: what ops read and write at, and labels of losses, is compared with the axis when the step's program
 * has run. Each such op has recorded the least and the most of its integers (core/labels.c); they leave the program as
 * results of the step, so that any device finds them, in the program that made the mistake. A boundary waits for its
 * program then: the step with a wrong index is dropped, and states keep the values they had. */
#include "lazy/core/labels.h"
#include "lazy/step/step.h"

bool lazy_bounds_roots(lazy_ctx *c, bool (*add)(void *user, ir_value *v, src_id at), void *user) {
    for (size_t i = 0; i < c->n_bounds_sites; i++)
        if (!add(user, c->bounds_sites[i].extremes, c->bounds_sites[i].of.src)) return false;
    return true;
}

static xt_status told(const lazy_ctx *c, src_id at, xt_status wrong) {
    char when[128];
    xt_status s = status_new(XT_OUT_OF_RANGE, src_get(at),
                             "%s. Found in what the device computed of %s; the step is dropped, states keep the values "
                             "they had [XT402]",
                             status_text(wrong), lazy_under_way(c, when, sizeof when));
    xt_status_free(wrong);
    return s;
}

xt_status lazy_bounds_check(lazy_ctx *c, device_buffer **out) {
    xt_status wrong = NULL, s = NULL;
    size_t n = c->n_bounds_sites, found = n;
    for (size_t i = 0; i < n; i++) {
        int64_t ends[2] = {0};
        if (!s && !wrong) s = device_read(out[i], ends, sizeof ends);
        if (!s && !wrong && (wrong = lazy_bounds_wrong(&c->bounds_sites[i], ends[0], ends[1]))) found = i;
        device_buffer_release(out[i]);
    }
    int64_t anywhere;
    int rank;
    if (!s) s = lazy_least_of_ranks(found < n ? 0 : 1, &anywhere, &rank);
    if (s) {
        xt_status_free(wrong);
        return s;
    }
    if (wrong) return told(c, c->bounds_sites[found].of.src, wrong);
    return anywhere
               ? NULL
               : status_new(XT_OUT_OF_RANGE, NULL,
                            "rank %d has an index outside its axis, its message says where; the step is dropped on "
                            "all ranks, states keep the values they had [XT402]",
                            rank);
}
