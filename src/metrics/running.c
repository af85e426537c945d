/* A running mean on the device: a ring of the last values and, behind them, how many there have been. One state,
 * written by the step's own program. */
#include <xtrain/metrics.h>

#include "base/handle.h"
#include "metrics/running.h"

struct xt_running {
    xt_tensor ring; /* [window + 1] of f32 */
    int64_t window;
};

/* --- for checkpoints --- */
static xt_running **alive; /* in the order they were made */
static size_t n_alive, cap_alive;
typedef struct waiting {
    size_t index;
    int64_t n;
    float *ring;
} waiting;
static waiting *waits; /* of a checkpoint, for those that are not made yet */
static size_t n_waits, cap_waits;

size_t running_count(void) {
    return n_alive;
}
xt_tensor running_ring(size_t i) {
    return alive[i]->ring;
}

void running_forget_waiting(void) {
    for (size_t i = 0; i < n_waits; i++) base_free(waits[i].ring);
    base_free(waits);
    waits = NULL;
    n_waits = cap_waits = 0;
}

xt_status running_restore(size_t i, const float *ring, int64_t n) {
    size_t bytes = (size_t)n * sizeof *ring;
    if (i < n_alive) return alive[i]->window + 1 == n ? lazy_state_write(alive[i]->ring, ring, bytes) : NULL;
    waiting w = {i, n, base_malloc(bytes)};
    if (!w.ring || !VEC_PUSH(waits, n_waits, cap_waits, w)) {
        base_free(w.ring);
        return status_oom(bytes, "a running mean");
    }
    memcpy(w.ring, ring, bytes);
    return NULL;
}

static bool enlist(xt_running *r) {
    if (!VEC_PUSH(alive, n_alive, cap_alive, r)) return false;
    for (size_t i = 0; i < n_waits; i++)
        if (waits[i].index == n_alive - 1 && waits[i].n == r->window + 1)
            xt_status_free(lazy_state_write(r->ring, waits[i].ring, (size_t)waits[i].n * sizeof(float)));
    return true;
}

static void strike(const xt_running *r) {
    for (size_t i = 0; i < n_alive; i++) {
        if (alive[i] != r) continue;
        memmove(&alive[i], &alive[i + 1], (--n_alive - i) * sizeof *alive);
        break;
    }
    if (n_alive) return;
    base_free(alive);
    alive = NULL;
    cap_alive = 0;
}

/* --- the mean --- */

static void free_running(void *r) {
    xt_running_free(r);
}

xt_running *xt_running_new_at(const xt_src *src, int64_t window) {
    if (window < 1 || window > 1 << 20) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "xt_running_new: a window of %lld values; 1 to 1048576 are possible", (long long)window));
        return NULL;
    }
    xt_running *r = handle_new(HANDLE_running, sizeof *r);
    if (!r || !lazy_own(r, free_running)) {
        handle_free(r);
        lazy_fail(status_oom(sizeof *r, "a running mean"));
        return NULL;
    }
    live_add(LIVE_metric, 1);
    int64_t n = window + 1;
    r->window = window;
    r->ring = lazy_state_new(src, LAZY_LOG, "running mean", XT_F32, 1, &n, NULL);
    if (enlist(r)) return r;
    xt_running_free(r);
    lazy_fail(status_oom(sizeof r, "a running mean"));
    return NULL;
}

void xt_running_free(xt_running *r) {
    if (!r) return;
    lazy_disown(r);
    strike(r);
    if (lazy_type(r->ring)) xt_drop_at(XT_HERE, r->ring);
    handle_free(r);
    live_add(LIVE_metric, -1);
}

xt_tensor xt_running_mean_at(const xt_src *src, xt_running *r, xt_tensor t) {
    const ir_type *type = lazy_type(t);
    lazy_begin(src);
    if (!r) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_running_mean: the running mean is NULL");
    if (!type) return t;
    if (type->count != 1)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_running_mean: the tensor has %lld elements; one is needed",
                          (long long)type->count);
    xt_no_grad_begin();
    xt_tensor v = xt_reshape_at(src, xt_cast_at(src, t, XT_F32), XT_DIMS_(1, 0));
    xt_tensor n = xt_slice_at(src, r->ring, 0, r->window, r->window + 1); /* [1] */
    xt_tensor w = xt_full_at(src, (double)r->window, XT_F32, XT_DIMS_(0)),
              one = xt_full_at(src, 1, XT_F32, XT_DIMS_(0));
    xt_tensor here = xt_eq_at(src, xt_arange_at(src, r->window, XT_F32), xt_remainder_at(src, n, w));
    xt_tensor values = xt_where_at(src, here, v, xt_slice_at(src, r->ring, 0, 0, r->window)),
              count = xt_add_at(src, n, one);
    xt_tensor next = xt_concat_at(src, 2, (xt_tensor[]){values, count}, 0);
    xt_tensor mean = xt_div_at(src, xt_sum_at(src, values), xt_sum_at(src, xt_minimum_at(src, count, w)));
    if (!lazy_is_error(next)) lazy_assign(r->ring, next);
    xt_no_grad_end_at(NULL);
    return mean;
}
