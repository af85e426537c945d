/* What XLA's compilers say of a program in their dump folder (xla_dump_to):
 *   *-buffer-assignment.txt       allocations (arguments, one arena of temporaries, constants) and the values in them
 *                                 with size and offset
 *   *-live-range.txt              at which instructions of the schedule each value is alive
 *   *after_optimizations*.txt     the scheduled program; its metadata carries our ordinals ("h.3.attn/n17")
 *   *-memory-usage-report.txt     the total for memory space 0, device memory
 * Found by experiment with libtpu 0.0.51 and jax-cuda13-pjrt 0.12: the live-range file also counts on-chip memory and
 * aliases, so it says only who is alive; sizes and places come from the assignment, memory space 0 ("color" absent or
 * 0), and buffers that share a place count once. */
#include <ctype.h>
#include <glob.h>
#include <stdlib.h>

#include "plan/hlo.h"

/* The largest file of the folder whose name ends so: a module's helpers are dumped too. */
static xt_status read_largest(const char *dir, const char *ending, char **out, size_t *out_n) {
    glob_t g;
    str pattern = STR_INIT;
    xt_status s = NULL;
    *out = NULL;
    *out_n = 0;
    str_printf(&pattern, "%s/*%s", dir, ending);
    if (glob(str_cstr(&pattern), 0, NULL, &g) == 0) {
        for (size_t i = 0; i < g.gl_pathc && !s; i++) {
            char *data;
            size_t n;
            s = file_read_all(g.gl_pathv[i], &data, &n);
            if (s) break;
            if (*out && n <= *out_n) {
                base_free(data);
                continue;
            }
            base_free(*out);
            *out = data;
            *out_n = n;
        }
        globfree(&g);
    }
    str_free(&pattern);
    return s;
}

static char *next_line(char **at) {
    char *line = *at;
    if (!line || !*line) return NULL;
    char *end = strchr(line, '\n');
    if (end) *end = 0;
    *at = end ? end + 1 : line + strlen(line);
    return line;
}

static int64_t number_after(const char *line, const char *word, int64_t otherwise) {
    const char *p = strstr(line, word);
    return p ? strtoll(p + strlen(word), NULL, 10) : otherwise;
}

/* --- lives --- */
typedef struct life {
    int32_t first, last;
} life;

/* "    name{0}:12-340" lines after "BufferLiveRange:"; keys are "name{0}". */
static xt_status read_lives(char *text, map **out, life **out_lives, int *out_points) {
    size_t n = 0, cap = 0;
    bool in = false;
    life *lives = NULL;
    map *by_name = map_new();
    *out_points = 0;
    if (!by_name) return status_oom(64, "a map");
    for (char *line; (line = next_line(&text));) {
        while (*line == ' ') line++;
        if (strncmp(line, "BufferLiveRange:", 16) == 0)
            in = true;
        else if (in && strncmp(line, "Live ranges at", 14) == 0)
            break;
        char *colon = strrchr(line, ':'), *dash = colon ? strchr(colon, '-') : NULL;
        if (!in || !dash || !isdigit((unsigned char)colon[1])) continue;
        life l = {(int32_t)strtol(colon + 1, NULL, 10), (int32_t)strtol(dash + 1, NULL, 10)};
        if (l.last > *out_points) *out_points = l.last;
        /* the map keeps index + 1: the array moves */
        if (!VEC_PUSH(lives, n, cap, l) ||
            !map_put(by_name, line, (size_t)(colon - line), (void *)(uintptr_t)n, NULL)) {
            base_free(lives);
            map_free(by_name, NULL);
            return status_oom(n * sizeof l, "the lives of buffers");
        }
    }
    *out = by_name;
    *out_lives = lives;
    return NULL;
}

static bool life_of(const map *m, const life *lives, const char *name, life *out) {
    uintptr_t k = (uintptr_t)map_get(m, name, strlen(name));
    if (k) *out = lives[k - 1];
    return k != 0;
}

/* --- allocations --- */
typedef struct allocation {
    plan_place place;
    int64_t size;
    int32_t parameter;
    bool counts; /* in device memory, and the main program's */
} allocation;

static allocation read_allocation(const char *line) {
    allocation a = {.place = PLAN_OTHER, .size = number_after(line, ": size ", 0), .parameter = -1};
    a.counts = number_after(line, ", color ", 0) == 0;
    if (strstr(line, ", parameter "))
        a.place = PLAN_INPUT, a.parameter = (int32_t)number_after(line, ", parameter ", -1);
    else if (strstr(line, "preallocated-temp"))
        a.place = PLAN_TEMP;
    else if (strstr(line, ", constant"))
        a.place = PLAN_CONSTANT;
    else if (strstr(line, "maybe-live-out") || strstr(line, ", output"))
        a.place = PLAN_OUTPUT;
    return a;
}

typedef struct reader {
    plan_memory *m;
    const hlo *program;
    const map *lives;
    const life *life_list;
    allocation now;
    bool first_value; /* of an allocation that is no arena: later ones are other names for it */
    bool failed;
} reader;

static void push(reader *r, plan_buffer b) {
    r->failed |= !VEC_PUSH(r->m->buffers, r->m->n, r->m->cap, b);
}

/* " value: <20 copy-start.3{0} @0> (size=262144,offset=0): f32[128,512]{1,0:T(8,128)}" */
static void read_value(reader *r, char *line) {
    char *name = strchr(line, '<'), *end = name ? strstr(name, " @") : NULL, *type = strstr(line, "): ");
    if (!end || !type || !(name = strchr(name, ' ')) || name > end) return;
    name++;
    *end = 0;
    plan_buffer b = {.place = r->now.place,
                     .bytes = number_after(end + 1, "size=", 0),
                     .offset = number_after(end + 1, "offset=", 0),
                     .input = r->now.parameter,
                     .logical = -1,
                     .ordinal = -1,
                     .first = -1,
                     .last = -1};
    if (b.bytes <= 0) return;
    char key[512];
    bool part = *name && name[strlen(name) - 1] == '}';
    snprintf(key, sizeof key, "%s%s", name, part ? "" : "{}");
    b.name = intern(name);
    if (part) *strchr(name, '{') = 0;
    hlo_type_read(type + 3, &b.shape, &b.dtype, &b.logical);
    hlo_origin from;
    hlo_find(r->program, name, &from, &b.op);
    b.ordinal = from.ordinal;
    if (b.place == PLAN_TEMP) b.input = from.input;
    if (b.place != PLAN_TEMP) {
        b.bytes = r->now.size;
        push(r, b);
        return;
    }
    life l;
    /* a helper's value: it stands in the arena but has no place in main's schedule */
    if (!life_of(r->lives, r->life_list, key, &l)) return;
    b.first = l.first;
    b.last = l.last;
    push(r, b);
}

static void read_assignment(reader *r, char *text) {
    for (char *line; (line = next_line(&text)) && !r->failed;) {
        if (strncmp(line, "allocation ", 11) == 0) {
            r->now = read_allocation(line);
            r->first_value = true;
            if (r->now.counts && r->now.place == PLAN_TEMP) r->m->arena_bytes += r->now.size;
            if (r->now.counts && r->now.place == PLAN_OTHER && r->now.size > 0)
                push(r, (plan_buffer){.place = PLAN_OTHER,
                                      .bytes = r->now.size,
                                      .logical = -1,
                                      .ordinal = -1,
                                      .input = -1,
                                      .first = -1,
                                      .last = -1});
            continue;
        }
        if (strncmp(line, " value:", 7) != 0 || !r->now.counts || r->now.place == PLAN_OTHER) {
            if (line[0] != ' ') r->now.counts = false; /* the text after the list */
            continue;
        }
        if (r->now.place != PLAN_TEMP && !r->first_value) continue;
        size_t before = r->m->n;
        read_value(r, line);
        if (r->m->n > before) r->first_value = false;
    }
}

/* "Memory Space: default (color=0)\nTotal bytes: 17158656 (16.36MiB)" */
static int64_t read_total(const char *text) {
    const char *p = text ? strstr(text, "(color=0)") : NULL;
    return p ? number_after(p, "Total bytes: ", -1) : -1;
}

xt_status plan_read_xla(const char *dir, plan_memory *out) {
    char *assignment = NULL, *ranges = NULL, *text = NULL, *usage = NULL;
    size_t n[4];
    map *lives = NULL;
    life *life_list = NULL;
    hlo program = {0};
    *out = (plan_memory){.total_bytes = -1, .traffic = -1};
    xt_status s = read_largest(dir, "-buffer-assignment.txt", &assignment, &n[0]);
    if (!s) s = read_largest(dir, "-live-range.txt", &ranges, &n[1]);
    if (!s) s = read_largest(dir, "after_optimizations.txt", &text, &n[2]);
    if (!s) s = read_largest(dir, "-memory-usage-report.txt", &usage, &n[3]);
    if (!s && (!assignment || !ranges))
        s = status_new(XT_NOT_FOUND, NULL, "the compiler left nothing about buffers in %s", dir);
    if (!s) s = read_lives(ranges, &lives, &life_list, &out->n_points);
    if (!s && text) s = hlo_read(text, &program);
    if (!s && text) {
        out->traffic = hlo_traffic(&program);
        if (!hlo_links(&program, out)) s = status_oom(64, "a list of collectives");
    }
    if (!s) {
        reader r = {.m = out, .program = &program, .lives = lives, .life_list = life_list};
        read_assignment(&r, assignment);
        out->total_bytes = read_total(usage);
        if (r.failed) s = status_oom(out->n * sizeof *out->buffers, "a list of buffers");
    }
    hlo_deinit(&program);
    if (lives) map_free(lives, NULL);
    base_free(life_list);
    base_free(assignment), base_free(ranges), base_free(text), base_free(usage);
    if (s) plan_memory_free(out);
    return s;
}
