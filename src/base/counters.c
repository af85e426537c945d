/* Counters that are always on. Relaxed atomics: each number is exact, no order between two of them is promised. */
#include <stdatomic.h>

#include "base/base.h"

static _Atomic int64_t values[COUNTER_COUNT];

typedef struct counter_info {
    const char *name, *unit, *help;
} counter_info;

static const counter_info infos[COUNTER_COUNT] = {
#define COUNTER(name, unit, help) [COUNTER_##name] = {#name, unit, help},
#include "base/counters.def"
#undef COUNTER
};

void counter_add(counter c, int64_t delta) {
    atomic_fetch_add_explicit(&values[c], delta, memory_order_relaxed);
}

void counter_max(counter c, int64_t value) {
    int64_t seen = counter_get(c);
    while (seen < value && !atomic_compare_exchange_weak_explicit(&values[c], &seen, value, memory_order_relaxed, memory_order_relaxed)) {
    }
}

int64_t counter_get(counter c) {
    return atomic_load_explicit(&values[c], memory_order_relaxed);
}

const char *counter_name(counter c) {
    return infos[c].name;
}
const char *counter_unit(counter c) {
    return infos[c].unit;
}
const char *counter_help(counter c) {
    return infos[c].help;
}
