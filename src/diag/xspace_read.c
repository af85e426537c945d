/* What a device tells of itself: the XSpace message of PJRT's profiler extension (base/xplane.h), read as spans on the
 * process's time line (clock_ns).
 *
 * Our own plugin writes one plane, whose ops are named by ordinal ("n17 (stablehlo.add)") and whose runs are numbered
 * from the begin of the trace. Others:
 *  - a TPU's plane has the lines "XLA Modules" and "XLA Ops" (and more); cost and origin of an op ("flops",
 *    "bytes_accessed", "tf_op") stand in the metadata of its event. Ops nest: a loop's event spans those of its body,
 *    so the time of an op is what its children leave of it.
 *  - a GPU's plane has a line for each stream, with kernels; the op's origin is a stat of the event ("name", "tf_op").
 * The origin is the location that was sent with the program: its last part is our ordinal, "n17". The program of an op
 * is the k-th that was started since the trace began, where the plane has as many modules as were started; without
 * modules it is known when all that was started was one program.
 *
 * Times of lines are nanoseconds since 1970 (XLA's profilers), since the begin of the session (what its files have, and
 * lines without a time), or clock_ns's own. The message comes from a foreign library: whatever it says, nothing is read
 * outside of it, and times are kept within REACH_NS of the begin. */
#include "diag/profile.h"

#include <stdlib.h>
#include <time.h>

#include "base/proto.h"

#define EPOCH_NS ((int64_t)1000000000 * 1000000000)
#define REACH_NS ((int64_t)1000000 * 1000000000)
#define SECOND_NS ((int64_t)1000000000)

typedef struct about { /* of an event or of its metadata */
    uint32_t name, origin, kernel;
    double flops, bytes;
    int64_t run;
} about;

typedef struct plane {
    diag_trace *t;
    const diag_runs *runs;
    map *events, *stats; /* metadata: id -> about *, id -> interned name */
    bool own, has_ops;
    size_t first; /* of its spans */
    uint32_t name;
} plane;

/* Text that goes into JSON: bytes that are no UTF-8 become question marks. */
static uint32_t clean(const proto_field *f) {
    const unsigned char *s = f->data;
    size_t i = 0;
    while (i < f->size) {
        size_t more = s[i] < 0x80                   ? 0
                      : s[i] >= 0xc2 && s[i] < 0xe0 ? 1
                      : s[i] >= 0xe0 && s[i] < 0xf0 ? 2
                      : s[i] >= 0xf0 && s[i] < 0xf5 ? 3
                                                    : f->size;
        if (s[i] == 0 || more >= f->size - i) break;
        for (size_t k = 1; k <= more && more < f->size; k++)
            if ((s[i + k] & 0xc0) != 0x80) more = f->size;
        if (more == f->size) break;
        i += more + 1;
    }
    if (i >= f->size) return intern_n((const char *)s, f->size);
    str t = STR_INIT;
    for (i = 0; i < f->size; i++) str_putc(&t, s[i] && s[i] < 0x80 ? (char)s[i] : '?');
    uint32_t id = intern_n(str_cstr(&t), t.len);
    str_free(&t);
    return id;
}

static uint32_t stat_name(const plane *p, int64_t id) {
    return (uint32_t)(uintptr_t)map_get(p->stats, &id, sizeof id);
}

static void read_stat(const plane *p, const proto_field *stat, about *a) {
    proto_reader r = proto_read(stat->data, stat->size);
    proto_field f;
    const char *name = "";
    double number = 0;
    int64_t whole = 0;
    uint32_t text = 0;
    while (proto_next(&r, &f)) {
        if (f.wire == PROTO_VARINT && f.number == 1) name = intern_text(stat_name(p, (int64_t)f.value));
        if (f.wire == PROTO_FIXED64 && f.number == 2) memcpy(&number, &f.value, sizeof number);
        if (f.wire == PROTO_VARINT && (f.number == 3 || f.number == 4))
            whole = (int64_t)f.value, number = (double)whole;
        if (f.wire == PROTO_BYTES && f.number == 5) text = clean(&f);
        if (f.wire == PROTO_VARINT && f.number == 7) text = stat_name(p, (int64_t)f.value);
    }
    if (!(number >= 0 && number < 1e30)) number = 0;
    if (strcmp(name, "flops") == 0)
        a->flops = number;
    else if (strcmp(name, "bytes_accessed") == 0)
        a->bytes = number;
    else if (strcmp(name, "run_id") == 0)
        a->run = whole;
    else if (strcmp(name, "tf_op") == 0 || (strcmp(name, "name") == 0 && !a->origin))
        a->origin = text;
    else if (strcmp(name, "kernel") == 0 || strcmp(name, "hlo_category") == 0)
        a->kernel = text;
}

/* An entry {1 key, 2 metadata} of one of the plane's two maps. */
static void read_metadata(plane *p, const proto_field *entry, bool of_events) {
    proto_reader r = proto_read(entry->data, entry->size);
    proto_field f, g;
    int64_t id = 0;
    about a = {0};
    while (proto_next(&r, &f)) {
        if (f.number == 1 && f.wire == PROTO_VARINT) id = (int64_t)f.value;
        if (f.number != 2 || f.wire != PROTO_BYTES) continue;
        proto_reader inner = proto_read(f.data, f.size);
        uint32_t display = 0;
        while (proto_next(&inner, &g)) {
            if (g.wire != PROTO_BYTES) continue;
            if (g.number == 2) a.name = clean(&g);
            if (g.number == 4) display = clean(&g); /* "fusion.3", where the name is the whole instruction */
            if (g.number == 5 && of_events) read_stat(p, &g, &a);
        }
        if (of_events && display) a.name = display;
    }
    if (!of_events) {
        map_put(p->stats, &id, sizeof id, (void *)(uintptr_t)a.name, NULL);
        return;
    }
    about *kept = base_malloc(sizeof *kept);
    void *old = NULL;
    if (kept) *kept = a;
    if (kept && !map_put(p->events, &id, sizeof id, kept, &old)) old = kept;
    base_free(old);
}

/* The ordinal at the end of "jit(f)/n17:" or "n17 (stablehlo.add)"; false when there is none. */
static bool ordinal_of(const char *text, size_t *out) {
    const char *slash = strrchr(text, '/');
    if (slash) text = slash + 1;
    int end = 0;
    return sscanf(text, "n%9zu%n", out, &end) == 1 && (text[end] == '\0' || text[end] == ':' || text[end] == ' ');
}

static void read_event(plane *p, const proto_field *event, int64_t line_ns, int thread, span_kind kind) {
    proto_reader r = proto_read(event->data, event->size);
    proto_field f;
    span s = {.thread = thread, .kind = kind, .step = -1, .program = -1};
    about a = {0};
    int64_t offset = 0, ns = 0;
    while (proto_next(&r, &f)) { /* the metadata first: the event's own stats are more exact */
        const about *known = f.number == 1 && f.wire == PROTO_VARINT
                                 ? map_get(p->events, &(int64_t){(int64_t)f.value}, sizeof(int64_t))
                                 : NULL;
        if (known) a = *known;
    }
    r = proto_read(event->data, event->size);
    while (proto_next(&r, &f)) {
        if (f.number == 2 && f.wire == PROTO_VARINT) offset = (int64_t)f.value / 1000;
        if (f.number == 3 && f.wire == PROTO_VARINT) ns = (int64_t)f.value / 1000;
        if (f.number == 4 && f.wire == PROTO_BYTES) read_stat(p, &f, &a);
    }
    int64_t past = line_ns + offset - p->runs->began_ns;
    s.begin_ns = p->runs->began_ns + (past < -REACH_NS ? -REACH_NS : past > REACH_NS ? REACH_NS : past);
    s.ns = s.self_ns = ns < 0 ? 0 : ns > REACH_NS ? REACH_NS : ns;
    s.name = a.name;
    s.origin = a.origin ? a.origin : a.name;
    s.kernel = a.kernel;
    s.flops = a.flops;
    s.bytes = a.bytes;
    if (p->own && a.run >= 1 && (size_t)a.run <= p->runs->n) {
        s.step = p->runs->steps[a.run - 1];
        s.program = p->runs->programs[a.run - 1];
    }
    if (!VEC_PUSH(p->t->spans, p->t->n, p->t->cap, s)) p->t->full = true;
}

/* A line's time on our clock. */
static int64_t on_our_clock(int64_t at, const diag_runs *runs) {
    if (at < 0) at = 0;
    switch (diag_clock_of(at, runs->began_ns)) {
    case DIAG_CLOCK_OURS: return at;
    case DIAG_CLOCK_SESSION: return runs->began_ns + at;
    default: return at - diag_epoch_ns();
    }
}

int64_t diag_epoch_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - clock_ns();
}

diag_clock diag_clock_of(int64_t at, int64_t began_ns) {
    return at > EPOCH_NS ? DIAG_CLOCK_EPOCH : at >= began_ns - SECOND_NS ? DIAG_CLOCK_OURS : DIAG_CLOCK_SESSION;
}

typedef struct line {
    int64_t at, id;
    uint32_t name;
} line;

static line line_header(const proto_field *field) {
    proto_reader r = proto_read(field->data, field->size);
    proto_field f;
    line l = {0};
    while (proto_next(&r, &f)) { /* it may come after the events */
        if (f.number == 3 && f.wire == PROTO_VARINT) l.at = (int64_t)f.value;
        if (f.number == 2 && f.wire == PROTO_BYTES) l.name = clean(&f);
    }
    return l;
}

static span_kind kind_of(const plane *p, const char *line_name) {
    if (strcmp(line_name, "XLA Modules") == 0) return SPAN_PROGRAM;
    if (strcmp(line_name, "XLA Ops") == 0) return SPAN_OP;
    return !p->has_ops && strncmp(intern_text(p->name), "/device:", 8) == 0 && strncmp(line_name, "Stream", 6) == 0
               ? SPAN_OP
               : SPAN_OTHER;
}

static int by_begin(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* What an op's children take is not its own, and the cost its metadata states is theirs. */
static void own_times(span *s, size_t n) {
    size_t open[32], depth = 0;
    qsort(s, n, sizeof *s, by_begin);
    for (size_t i = 0; i < n; i++) {
        while (depth && s[open[depth - 1]].begin_ns + s[open[depth - 1]].ns <= s[i].begin_ns) depth--;
        if (depth) {
            span *outer = &s[open[depth - 1]];
            outer->self_ns = outer->self_ns > s[i].ns ? outer->self_ns - s[i].ns : 0;
            outer->flops = outer->bytes = 0;
        }
        if (depth < BASE_COUNT(open)) open[depth++] = i;
    }
}

static void read_line(plane *p, const proto_field *field) {
    line l = line_header(field);
    span_kind kind = kind_of(p, intern_text(l.name));
    int thread = FOREIGN_THREADS + (int)p->t->n_lines;
    if (p->own && kind == SPAN_PROGRAM)
        thread = DEVICE_PROGRAMS;
    else if (p->own && kind == SPAN_OP)
        thread = DEVICE_OPS;
    else {
        char name[400];
        snprintf(name, sizeof name, "%s %s", intern_text(p->name), intern_text(l.name));
        uint32_t id = intern(name);
        if (!VEC_PUSH(p->t->lines, p->t->n_lines, p->t->cap_lines, id)) return;
    }
    size_t first = p->t->n;
    int64_t at = on_our_clock(l.at, p->runs);
    proto_reader r = proto_read(field->data, field->size);
    for (proto_field f; proto_next(&r, &f) && !p->t->full;)
        if (f.number == 4 && f.wire == PROTO_BYTES) read_event(p, &f, at, thread, kind);
    if (kind == SPAN_OP && !p->own && p->t->n > first) own_times(p->t->spans + first, p->t->n - first);
}

/* --- which program an op belongs to --- */
static const span *module_at(const span *modules, size_t n, int64_t ns) {
    size_t low = 0, high = n; /* the last that begins at or before it */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (modules[middle].begin_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && ns <= modules[low - 1].begin_ns + modules[low - 1].ns ? &modules[low - 1] : NULL;
}

static bool one_program(const diag_runs *runs) {
    for (size_t i = 1; i < runs->n; i++)
        if (runs->programs[i] != runs->programs[0]) return false;
    return runs->n > 0;
}

static void find_programs(plane *p) {
    if (p->t->n == p->first) return;
    span *spans = p->t->spans + p->first, *modules = NULL;
    size_t n = p->t->n - p->first, n_modules = 0, cap = 0;
    for (size_t i = 0; i < n; i++)
        if (spans[i].kind == SPAN_PROGRAM && !VEC_PUSH(modules, n_modules, cap, spans[i])) return base_free(modules);
    if (n_modules) qsort(modules, n_modules, sizeof *modules, by_begin);
    bool counted = n_modules == p->runs->n, one = one_program(p->runs);
    for (size_t k = 0; k < n_modules && counted; k++) {
        modules[k].step = p->runs->steps[k];
        modules[k].program = p->runs->programs[k];
    }
    for (size_t i = 0; i < n; i++) {
        const span *m = spans[i].kind == SPAN_OTHER ? NULL : module_at(modules, n_modules, spans[i].begin_ns);
        if (m && counted)
            spans[i].step = m->step, spans[i].program = m->program;
        else if (one && spans[i].kind == SPAN_OP)
            spans[i].program = p->runs->programs[0];
    }
    base_free(modules);
}

static void find_lines(plane *p) {
    for (size_t i = p->first; i < p->t->n; i++) {
        span *s = &p->t->spans[i];
        size_t k;
        if (s->program >= 0 && s->kind == SPAN_OP && ordinal_of(intern_text(s->origin), &k))
            lazy_program_origin(s->program, k, &s->src, &s->path);
    }
}

static void read_plane(diag_trace *t, const proto_field *field, const diag_runs *runs) {
    plane p = {.t = t, .runs = runs, .events = map_new(), .stats = map_new(), .first = t->n};
    proto_field f;
    if (!p.events || !p.stats) goto done;
    static const uint32_t order[] = {2, 5, 4}; /* the names of stats before what has stats */
    for (size_t k = 0; k < BASE_COUNT(order); k++) {
        proto_reader r = proto_read(field->data, field->size);
        while (proto_next(&r, &f)) {
            if (f.wire != PROTO_BYTES) continue;
            if (k == 0 && f.number == 3) p.has_ops |= strcmp(intern_text(line_header(&f).name), "XLA Ops") == 0;
            if (f.number != order[k]) continue;
            if (k == 0)
                p.name = clean(&f);
            else
                read_metadata(&p, &f, f.number == 4);
        }
    }
    p.own = strncmp(intern_text(p.name), OWN_PLANE, strlen(OWN_PLANE)) == 0;
    proto_reader r = proto_read(field->data, field->size);
    while (proto_next(&r, &f) && !t->full)
        if (f.wire == PROTO_BYTES && f.number == 3) read_line(&p, &f);
    if (!p.own) find_programs(&p);
    find_lines(&p);
done:
    map_free(p.events, base_free);
    map_free(p.stats, NULL);
}

void diag_read_xspace(diag_trace *t, const char *data, size_t size, const diag_runs *runs) {
    proto_reader r = proto_read(data, size);
    for (proto_field f; proto_next(&r, &f) && !t->full;)
        if (f.number == 1 && f.wire == PROTO_BYTES) read_plane(t, &f, runs);
}
