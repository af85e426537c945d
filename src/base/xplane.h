/* Parts of profiles that their two writers (the CPU plugin's trace, xtrain's profile) share. Field numbers are those of
 * tsl/profiler/protobuf/xplane.proto: XSpace {1 planes}; XPlane {1 id, 2 name, 3 lines, 4 event_metadata map, 5
 * stat_metadata map}; XLine {1 id, 2 name, 3 timestamp_ns, 4 events}; XEvent {1 metadata_id, 2 offset_ps, 3
 * duration_ps, 4 stats}; XStat {1 metadata_id, 2 double, 4 int64, 5 string}; both metadata {1 id, 2 name}. */
#ifndef XT_SRC_BASE_XPLANE_H
#define XT_SRC_BASE_XPLANE_H

#include "base/proto.h"

/* One XStat of an event. */
void xplane_stat_int(str *event, int id, int64_t v);
void xplane_stat_number(str *event, int id, double v);
void xplane_stat_text(str *event, int id, const char *v);

typedef enum xplane_map { XPLANE_EVENT_NAMES = 4, XPLANE_STAT_NAMES = 5 } xplane_map;
void xplane_name(str *plane, xplane_map of, int64_t id, const char *name); /* what `id` is called */

#endif
