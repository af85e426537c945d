/* Recording thunks and writing them as an XSpace message (base/xplane.h). */
#include "cpu/run/trace.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/xplane.h"

enum { MOST_EVENTS = 1 << 20 };
enum { STAT_RUN = 1, STAT_FLOPS, STAT_BYTES, STAT_KERNEL, STATS };
static const char *const stat_names[STATS] = {
    [STAT_RUN] = "run_id", [STAT_FLOPS] = "flops", [STAT_BYTES] = "bytes_accessed", [STAT_KERNEL] = "kernel"};

typedef struct trace_event {
    int64_t begin_ns, end_ns;
    uint32_t run, name, kernel; /* interned; kernel 0: a whole program */
    double flops, bytes;
} trace_event;

static _Atomic bool on;
static _Atomic uint32_t runs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static trace_event *events;
static size_t n_events, cap_events;

bool cpu_trace_on(void) {
    return atomic_load_explicit(&on, memory_order_relaxed);
}

void cpu_trace_start(void) {
    pthread_mutex_lock(&lock);
    n_events = 0;
    atomic_store(&runs, 0);
    atomic_store(&on, true);
    pthread_mutex_unlock(&lock);
}

void cpu_trace_stop(void) {
    atomic_store(&on, false);
}

uint32_t cpu_trace_run(void) {
    return atomic_fetch_add(&runs, 1) + 1;
}

static void add(trace_event e) {
    pthread_mutex_lock(&lock);
    /* without memory the trace is shorter */
    if (n_events < MOST_EVENTS) VEC_PUSH(events, n_events, cap_events, e) ? (void)0 : (void)0;
    pthread_mutex_unlock(&lock);
}

void cpu_trace_thunk(uint32_t run, const cpu_thunk *t, int64_t begin_ns, int64_t end_ns) {
    char name[96];
    cpu_thunk_name(t, name, sizeof name);
    add((trace_event){begin_ns, end_ns, run, intern(name), intern(t->kernel->name), t->flops, t->bytes});
}

void cpu_trace_program(uint32_t run, const cpu_exec *e, int64_t begin_ns, int64_t end_ns) {
    add((trace_event){begin_ns, end_ns, run, intern(e->name), 0, 0, 0});
}

/* Programs on one line, their ops on another. */
static void write_line(str *plane, bool programs, int64_t from) {
    str line = STR_INIT;
    const char *name = programs ? "XLA Modules" : "XLA Ops"; /* the names that TensorBoard's tools look for */
    proto_int(&line, 1, programs ? 1 : 2);
    proto_bytes(&line, 2, name, strlen(name));
    proto_int(&line, 3, from);
    for (size_t i = 0; i < n_events; i++) {
        const trace_event *e = &events[i];
        if ((e->kernel == 0) != programs) continue;
        str event = STR_INIT;
        proto_int(&event, 1, e->name);
        proto_int(&event, 2, (e->begin_ns - from) * 1000);
        proto_int(&event, 3, (e->end_ns - e->begin_ns) * 1000);
        xplane_stat_int(&event, STAT_RUN, e->run);
        if (!programs) {
            xplane_stat_number(&event, STAT_FLOPS, e->flops);
            xplane_stat_number(&event, STAT_BYTES, e->bytes);
            xplane_stat_text(&event, STAT_KERNEL, intern_text(e->kernel));
        }
        proto_message(&line, 4, &event);
        str_free(&event);
    }
    proto_message(plane, 3, &line);
    str_free(&line);
}

void cpu_trace_write(str *out) {
    /* the one kind of plane besides TPUs and GPUs that TensorBoard shows as a device */
    static const char name[] = "/device:CUSTOM:xtrain CPU";
    str plane = STR_INIT;
    pthread_mutex_lock(&lock);
    int64_t from = n_events ? events[0].begin_ns : 0;
    for (size_t i = 1; i < n_events; i++)
        if (events[i].begin_ns < from) from = events[i].begin_ns;
    proto_int(&plane, 1, 1);
    proto_bytes(&plane, 2, name, sizeof name - 1);
    write_line(&plane, true, from);
    write_line(&plane, false, from);
    map *seen = map_new();
    for (size_t i = 0; i < n_events && seen; i++) {
        if (map_get(seen, &events[i].name, sizeof events[i].name)) continue;
        map_put(seen, &events[i].name, sizeof events[i].name, seen, NULL);
        xplane_name(&plane, XPLANE_EVENT_NAMES, events[i].name, intern_text(events[i].name));
    }
    map_free(seen, NULL);
    for (int k = 1; k < STATS; k++) xplane_name(&plane, XPLANE_STAT_NAMES, k, stat_names[k]);
    base_free(events);
    events = NULL;
    n_events = cap_events = 0;
    pthread_mutex_unlock(&lock);
    proto_message(out, 1, &plane);
    str_free(&plane);
}
