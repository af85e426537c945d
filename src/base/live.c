/* Objects alive by kind: a leak test is a query of these numbers before and after. */
#include "base/base.h"
#include "base/tally.h"

static _Atomic int64_t owned[LIVE_COUNT], alive[LIVE_COUNT];

static const char *const names[LIVE_COUNT] = {
#define LIVE(name) [LIVE_##name] = #name,
#include "base/live.def"
#undef LIVE
};

void live_add(live_kind k, int64_t delta) {
    tally_add(&owned[k], &alive[k], delta);
}

int64_t live_get(live_kind k) {
    return tally_get(&owned[k], &alive[k]);
}

const char *live_name(live_kind k) {
    return names[k];
}

XT_API int64_t xt_live_objects(const char *kind) {
    for (int k = 0; kind && k < LIVE_COUNT; k++)
        if (strcmp(kind, names[k]) == 0) return live_get((live_kind)k);
    return 0;
}
