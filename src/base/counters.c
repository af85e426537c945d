/* Counters that are always on. Each number is exact (tally.h), no order between two of them is promised. */
#include "base/base.h"
#include "base/tally.h"

_Atomic uintptr_t tally_owner;
void tally_own(void) {
    uintptr_t none = 0;
    atomic_compare_exchange_strong(&tally_owner, &none, tally_thread());
}

static _Atomic int64_t owned[COUNTER_COUNT], values[COUNTER_COUNT];

typedef struct counter_info {
    const char *name, *unit, *help;
} counter_info;

static const counter_info infos[COUNTER_COUNT] = {
#define COUNTER(name, unit, help) [COUNTER_##name] = {#name, unit, help},
#include "base/counters.def"
#undef COUNTER
};

void counter_add(counter c, int64_t delta) {
    tally_add(&owned[c], &values[c], delta);
}

/* Only of counters that nobody adds to: their owned half stays 0. */
void counter_max(counter c, int64_t value) {
    int64_t seen = atomic_load_explicit(&values[c], memory_order_relaxed);
    while (seen < value && !atomic_compare_exchange_weak_explicit(&values[c], &seen, value, memory_order_relaxed,
                                                                  memory_order_relaxed)) {
    }
}

int64_t counter_get(counter c) {
    return tally_get(&owned[c], &values[c]);
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
