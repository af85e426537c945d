/* What the tests of logging share: everything that can be logged, as x and of the value 7, and where it is found again
 * in the files of a run. Each case has a time limit of its own: a value of a step that nobody ends must be computed or
 * refused, never waited for. Included once, by a test program. */
#ifndef TESTS_UNIT_TRAIN_LOG_TEST_H
#define TESTS_UNIT_TRAIN_LOG_TEST_H

#include "train_test.h"

#include <dirent.h>
#include <signal.h>

#include "base/proto.h"
#include "format/event.h"
#include "metrics/log.h"

/* --- what is logged --- */
typedef enum thing {
    HISTOGRAM,
    IMAGE,
    COMPUTED,
    TEXT,
    NUMBER,
    TENSOR,
    METRIC,
    THINGS
} thing; /* COMPUTED: a histogram of what the step would compute */
static __attribute__((unused))
const char *const thing_names[] = {"histogram", "image", "computed", "text", "number", "tensor", "metric"};
static __attribute__((unused)) bool is_row(thing k) {
    return k >= NUMBER;
}

static thing what;
static int log_line; /* of this header: LOG_FILE */
#define LOG_FILE "train_log_test.h"

static __attribute__((unused)) void log_it(void) {
    static const float w[4] = {1, 2, 3, 4};
    xt_tensor t = xt_from_array(w, XT_F32, 4);
    switch (what) {
#define LINE log_line = __LINE__ + 1
    case HISTOGRAM:
        LINE;
        xt_log_histogram("x", t);
        break;
    case IMAGE:
        LINE;
        xt_log_image("x", xt_reshape(t, 2, 2));
        break;
    case COMPUTED:
        LINE;
        xt_log_histogram("x", xt_add(t, xt_exp(t)));
        break;
    case TEXT:
        LINE;
        xt_log_text("x", "seven");
        break;
    case NUMBER:
        LINE;
        xt_log_value("x", 7);
        break;
    case TENSOR:
        LINE;
        xt_log("x", xt_sum(xt_slice(t, 0, 2, 4)));
        break;
    case METRIC:
        LINE;
        xt_log_metric("x", ((xt_metric){.numerator = xt_scalar(14, XT_F32), .denominator = xt_scalar(2, XT_F32)}));
        break;
    case THINGS: break;
    }
}

/* --- a network, and data of two samples a batch --- */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_mul(x, xt_param(m, "w", "ones", 0, XT_F32, 1));
}
static __attribute__((unused)) xt_loader *data(int64_t batches) {
    static float rows[64];
    return xt_loader_new(xt_array_dataset(rows, (xt_spec){XT_F32, {1}}, NULL, (xt_spec){0}, 2 * batches), .batch = 2);
}

/* --- what the files have --- */
typedef struct found {
    char rows[3][256],
        others[3][256]; /* of x, in csv, jsonl and events: "4=7 8=7"; pictures, distributions and texts: "4 8" */
    char levels[64]; /* of the rows in csv: "train/epoch" */
} found;

static void add(char *list, size_t size, const char *fmt, ...) {
    size_t n = strlen(list);
    va_list a;
    va_start(a, fmt);
    if (n) list[n++] = ' ';
    vsnprintf(list + n, size - n, fmt, a);
    va_end(a);
}

static char *read_file(const char *folder, const char *name, size_t *n) {
    char path[600], *text = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    xt_status_free(file_read_all(path, &text, n));
    return text;
}

static void read_csv(found *f, const char *run) {
    size_t n;
    char *save = NULL, *text = read_file(run, "metrics.csv", &n), name[64], stage[32], level[32];
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        double value;
        int step;
        if (sscanf(line, "%d,%*[^,],%*[^,],%*[^,],%*[^,],%31[^,],%31[^,],%63[^,],%lf", &step, stage, level, name,
                   &value) != 5)
            continue;
        if (strcmp(name, "x") != 0) continue;
        add(f->rows[0], sizeof f->rows[0], "%d=%g", step, value);
        snprintf(f->levels, sizeof f->levels, "%s/%s", stage, level);
    }
    base_free(text);
}

static void read_jsonl(found *f, const char *run) {
    size_t n;
    char *save = NULL, *text = read_file(run, "metrics.jsonl", &n);
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        const char *x = strstr(line, "\"x\":");
        int step = -1;
        const char *at = strstr(line, "\"step\":");
        if (at) step = atoi(at + 7);
        if (x) add(f->rows[1], sizeof f->rows[1], "%d=%g", step, atof(x + 4));
        if (strstr(line, "\"name\":\"x\",\"text\":\"seven\"")) add(f->others[1], sizeof f->others[1], "%d", step);
    }
    base_free(text);
}

/* A value of a summary: its tag, and which field it is in. */
static void read_value(found *f, int64_t step, const proto_field *summary) {
    proto_reader r = proto_read(summary->data, summary->size);
    proto_field v;
    bool ours = false, number = false;
    float value = 0;
    while (proto_next(&r, &v)) {
        if (v.number == 1)
            ours = (v.size == 1 && *(const char *)v.data == 'x') || (v.size > 1 && memcmp(v.data, "x/", 2) == 0);
        if (v.number != 2) continue;
        uint32_t bits = (uint32_t)v.value;
        memcpy(&value, &bits, sizeof value);
        number = true;
    }
    if (ours && number)
        add(f->rows[2], sizeof f->rows[2], "%d=%g", (int)step, (double)value);
    else if (ours)
        add(f->others[2], sizeof f->others[2], "%d", (int)step);
}

static void read_events(found *f, const char *run) {
    DIR *d = opendir(run);
    size_t n = 0;
    char *text = NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "events.out", 10) == 0) text = read_file(run, e->d_name, &n);
    if (d) closedir(d);
    event_reader r = {(const unsigned char *)text, (const unsigned char *)text + n};
    const void *record;
    size_t size;
    for (bool more = text != NULL; more && !event_next(&r, &more, &record, &size) && more;) {
        proto_reader event = proto_read(record, size);
        proto_field field, value;
        int64_t step = 0;
        while (proto_next(&event, &field)) {
            if (field.number == 2) step = (int64_t)field.value;
            if (field.number != 5) continue;
            proto_reader summary = proto_read(field.data, field.size);
            while (proto_next(&summary, &value))
                if (value.number == 1) read_value(f, step, &value);
        }
    }
    base_free(text);
}

static __attribute__((unused)) found look(const char *run) {
    found f = {0};
    if (!run) return f;
    read_csv(&f, run);
    read_jsonl(&f, run);
    read_events(&f, run);
    return f;
}

/* --- a case --- */
static char now_at[160]; /* the case under way */
static void hangs(int sig) {
    (void)sig;
    static const char text[] = ": it waits for ever\n";
    if (write(2, now_at, strlen(now_at)) < 0 || write(2, text, sizeof text - 1) < 0) _exit(2);
    _exit(1);
}
static __attribute__((unused)) void limit(const char *fmt, ...) {
    va_list a;
    va_start(a, fmt);
    vsnprintf(now_at, sizeof now_at, fmt, a);
    va_end(a);
    signal(SIGALRM, hangs);
    alarm(20);
}

/* "4 8" as rows have it: "4=7 8=7". */
static __attribute__((unused)) const char *sevens(const char *steps) {
    static char list[256];
    list[0] = 0;
    for (const char *p = steps; *p; p += strspn(p, " ")) {
        add(list, sizeof list, "%d=7", atoi(p));
        p += strcspn(p, " ");
    }
    return list;
}

static int wrong; /* cases; all are shown */
static __attribute__((unused)) void same(const char *file, const char *got, const char *want) {
    if (strcmp(got, want) == 0) return;
    wrong++;
    print_error("%s: %s has \"%s\", not \"%s\"; said:\n%s\n", now_at, file, got, want, str_cstr(&said));
}

#endif
