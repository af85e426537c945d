/* A profile as an XSpace message (base/xplane.h), which TensorBoard's profile plugin reads. The plugin shows the planes
 * /host:CPU, those of TPUs and GPUs, and custom devices'. What our own device told is written anew with the user's
 * lines; planes of other devices are passed on as they came, with all that their tools want. */
#include "diag/profile.h"

#include <math.h>

#include "base/xplane.h"

enum { STAT_STEP = 1, STAT_SOURCE, STAT_MODULE, STAT_KERNEL, STAT_FLOPS, STAT_BYTES, STAT_ROOF, STATS };
static const char *const stat_names[STATS] = {
    [STAT_STEP] = "step_num",           [STAT_SOURCE] = "source", [STAT_MODULE] = "module",
    [STAT_KERNEL] = "kernel",           [STAT_FLOPS] = "flops",   [STAT_BYTES] = "bytes_accessed",
    [STAT_ROOF] = "percent_of_roofline"};

typedef struct moment { /* the begin of the trace: by clock_ns, and by the clock of the device's own trace */
    int64_t ours, theirs;
} moment;

/* Equal ops of one line are one name, by which the viewer sums them up: "n17 (stablehlo.add) train.c:41". */
static uint32_t shown_name(const span *s) {
    char text[400], at[256];
    if (!s->src) return s->name;
    snprintf(text, sizeof text, "%s %s", intern_text(s->name), src_text(s->src, at, sizeof at));
    return intern(text);
}

static void stats_of(str *event, const span *s) {
    char at[256];
    if (s->step >= 0) xplane_stat_int(event, STAT_STEP, s->step);
    if (s->src) xplane_stat_text(event, STAT_SOURCE, src_text(s->src, at, sizeof at));
    if (s->path) xplane_stat_text(event, STAT_MODULE, intern_text(s->path));
    if (s->thread != DEVICE_OPS) return;
    double roof = diag_of_roof(s->flops, s->bytes, (double)s->ns);
    if (s->kernel) xplane_stat_text(event, STAT_KERNEL, intern_text(s->kernel));
    xplane_stat_number(event, STAT_FLOPS, s->flops);
    xplane_stat_number(event, STAT_BYTES, s->bytes);
    if (!isnan(roof)) xplane_stat_number(event, STAT_ROOF, roof);
}

/* A line of the plane: the spans of one thread. */
static void line_of(str *plane, const span *spans, size_t n, int thread, const char *name, const moment *began,
                    map *seen) {
    str line = STR_INIT;
    proto_int(&line, 1, thread);
    proto_bytes(&line, 2, name, strlen(name));
    proto_int(&line, 3, began->theirs);
    for (size_t i = 0; i < n; i++) {
        const span *s = &spans[i];
        if (s->thread != thread) continue;
        uint32_t shown = shown_name(s);
        str event = STR_INIT;
        proto_int(&event, 1, shown);
        proto_int(&event, 2, (s->begin_ns > began->ours ? s->begin_ns - began->ours : 0) * 1000);
        proto_int(&event, 3, s->ns * 1000);
        stats_of(&event, s);
        proto_message(&line, 4, &event);
        str_free(&event);
        if (!seen || map_get(seen, &shown, sizeof shown)) continue;
        map_put(seen, &shown, sizeof shown, seen, NULL);
        xplane_name(plane, XPLANE_EVENT_NAMES, shown, intern_text(shown));
    }
    proto_message(plane, 3, &line);
    str_free(&line);
}

static void plane_of(str *out, int id, const char *name, const span *spans, size_t n, const moment *began,
                     const int threads[2], const char *const names[2]) {
    str plane = STR_INIT;
    map *seen = map_new();
    proto_int(&plane, 1, id);
    proto_bytes(&plane, 2, name, strlen(name));
    for (int k = 0; k < 2; k++) line_of(&plane, spans, n, threads[k], names[k], began, seen);
    for (int k = 1; k < STATS; k++) xplane_name(&plane, XPLANE_STAT_NAMES, k, stat_names[k]);
    proto_message(out, 1, &plane);
    map_free(seen, NULL);
    str_free(&plane);
}

static bool is_own(const proto_field *plane) {
    proto_reader r = proto_read(plane->data, plane->size);
    for (proto_field f; proto_next(&r, &f);)
        if (f.number == 2 && f.wire == PROTO_BYTES)
            return f.size >= strlen(OWN_PLANE) && memcmp(f.data, OWN_PLANE, strlen(OWN_PLANE)) == 0;
    return false;
}

/* Gives true when there is a plane of ours, which is left out. */
static bool pass_on(str *out, const char *space, size_t size) {
    bool own = false;
    proto_reader r = proto_read(space, size);
    for (proto_field f; proto_next(&r, &f);) {
        if (f.wire != PROTO_BYTES) continue; /* an XSpace has messages and texts only */
        if (f.number == 1 && is_own(&f))
            own = true;
        else
            proto_bytes(out, f.number, f.data, f.size);
    }
    return own;
}

/* The planes that are passed on keep their times, so ours are put on their clock: that of the first line
 * that has events. */
static int64_t their_clock(const char *space, size_t size, int64_t began_ns) {
    proto_reader planes = proto_read(space, size);
    for (proto_field plane, line, f; space && proto_next(&planes, &plane);) {
        if (plane.number != 1 || plane.wire != PROTO_BYTES || is_own(&plane)) continue;
        proto_reader lines = proto_read(plane.data, plane.size);
        while (proto_next(&lines, &line)) {
            if (line.number != 3 || line.wire != PROTO_BYTES) continue;
            int64_t at = 0;
            bool events = false;
            proto_reader r = proto_read(line.data, line.size);
            while (proto_next(&r, &f)) {
                if (f.number == 3 && f.wire == PROTO_VARINT) at = (int64_t)f.value;
                events |= f.number == 4;
            }
            if (!events) continue;
            diag_clock c = diag_clock_of(at, began_ns);
            return c == DIAG_CLOCK_EPOCH ? began_ns + diag_epoch_ns() : c == DIAG_CLOCK_SESSION ? 0 : began_ns;
        }
    }
    return began_ns;
}

void diag_write_xspace(const span *spans, size_t n, int64_t began_ns, const char *space, size_t size, str *out) {
    static const int host[2] = {HOST_THREAD, SCOPE_THREAD}, device[2] = {DEVICE_PROGRAMS, DEVICE_OPS};
    static const char *const host_names[2] = {"steps and phases", "xt_scope"}, *const device_names[2] = {"XLA Modules",
                                                                                                         "XLA Ops"};
    bool own = space && pass_on(out, space, size);
    moment began = {began_ns, their_clock(space, size, began_ns)};
    if (own) plane_of(out, 1, OWN_PLANE, spans, n, &began, device, device_names);
    plane_of(out, 2, "/host:CPU", spans, n, &began, host, host_names);
}
