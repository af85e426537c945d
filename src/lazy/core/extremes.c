/* The outermost values of a tensor's integers, found where they come from: see labels.h. */
#include "lazy/core/labels.h"

static void put(lazy_extremes *e, int which, int64_t v, int64_t at) {
    e->value[which] = v;
    e->at[which] = at;
}

/* beyond: further out than all so far, which then are the inner ones. */
static void meet(lazy_extremes *e, int outer, int inner, bool beyond, bool between, int64_t v, int64_t at) {
    if (beyond) {
        put(e, inner, e->value[outer], e->at[outer]);
        put(e, outer, v, at);
    } else if (between)
        put(e, inner, v, at);
}

static void take(lazy_extremes *e, int64_t v, int64_t at) {
    meet(e, LAZY_LOW, LAZY_LOW_2, v<e->value[LAZY_LOW], v> e->value[LAZY_LOW] && v < e->value[LAZY_LOW_2], v, at);
    meet(e, LAZY_HIGH, LAZY_HIGH_2, v > e->value[LAZY_HIGH], v < e->value[LAZY_HIGH] && v > e->value[LAZY_HIGH_2], v,
         at);
}

/* Nearly every element lies between the extremes met so far: two comparisons each, some microseconds for the
 * tokens of a batch. */
#define SCAN(T)                                                                   \
    for (int64_t i = 0; i < n; i++) {                                             \
        int64_t v = (int64_t)((const T *)data)[i];                                \
        if (v < e->value[LAZY_LOW_2] || v > e->value[LAZY_HIGH_2]) take(e, v, i); \
    }                                                                             \
    return true

static bool scan(lazy_extremes *e, xt_dtype dtype, const void *data, int64_t n) {
    switch (dtype) {
    case XT_I8: SCAN(int8_t);
    case XT_U8: SCAN(uint8_t);
    case XT_I16: SCAN(int16_t);
    case XT_U16: SCAN(uint16_t);
    case XT_I32: SCAN(int32_t);
    case XT_U32: SCAN(uint32_t);
    case XT_I64: SCAN(int64_t);
    default: return false; /* u64: no class number is beyond i64, and who has them has other troubles */
    }
}

lazy_extremes *lazy_extremes_of(xt_dtype dtype, const void *data, int64_t count) {
    lazy_extremes *e = data && count > 0 ? base_malloc(sizeof *e) : NULL;
    if (!e) return NULL;
    *e = (lazy_extremes){.value = {INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN}};
    atomic_init(&e->refs, 1);
    if (scan(e, dtype, data, count)) return e;
    base_free(e);
    return NULL;
}

lazy_extremes *lazy_extremes_retain(lazy_extremes *e) {
    if (e) atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void lazy_extremes_release(lazy_extremes *e) {
    if (e && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1) base_free(e);
}
