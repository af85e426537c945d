/* metrics.csv in long format: one line a value, so that a metric first seen in epoch 3 needs no new column, nothing is
 * ever rewritten, and the file can be read at any time: step,epoch,batch,samples,wall,stage,level,name,value.
 * `pandas.read_csv(f).pivot_table("value", "step", "name")` makes it wide. */
#include <math.h>
#include <unistd.h>

#include "base/shown.h"
#include "train/logger.h"

typedef struct csv {
    int fd;
    char *path;
} csv;

static void close_csv(void *state) {
    csv *c = state;
    if (c->fd >= 0) close(c->fd);
    base_free(c->path);
}

static xt_status open_csv(void *state, const char *dir) {
    csv *c = state;
    c->fd = -1;
    c->path = path_join(dir, "metrics.csv");
    if (!c->path) return status_oom(strlen(dir), "metrics.csv");
    xt_status s = logger_open_append(c->path, &c->fd);
    if (!s && lseek(c->fd, 0, SEEK_END) == 0) {
        str head = STR_INIT;
        str_append(&head, LOGGER_CSV_HEAD);
        s = logger_append(c->fd, &head, c->path);
        str_free(&head);
    }
    if (s) close_csv(c);
    return s;
}

/* RFC 4180: a field with a comma or a quote stands in quotes, quotes doubled. Line ends and whatever else a terminal
 * acts on are text before that. */
static void append_field(str *out, const char *name) {
    str shown = STR_INIT;
    str_append_shown(&shown, name, strlen(name), "");
    const char *text = str_cstr(&shown);
    bool quoted = strpbrk(text, ",\"");
    if (quoted) str_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"') str_putc(out, '"');
        str_putc(out, *text);
    }
    if (quoted) str_putc(out, '"');
    out->failed |= shown.failed;
    str_free(&shown);
}

static xt_status row_csv(void *state, const log_row *row) {
    csv *c = state;
    str t = STR_INIT;
    for (size_t i = 0; i < row->n; i++) {
        str_printf(&t, "%lld,%lld,%lld,%lld,%.3f,%s,%s,", (long long)row->step, (long long)row->epoch,
                   (long long)row->batch, (long long)row->samples, row->wall, logger_stage_name(row->stage),
                   row->epoch_level ? "epoch" : "step");
        append_field(&t, row->values[i].name);
        str_printf(&t, ",%.9g\n", row->values[i].value);
    }
    xt_status s = logger_append(c->fd, &t, c->path);
    str_free(&t);
    return s;
}

const logger_kind logger_csv = {
    "csv", "metrics.csv, one line a value", sizeof(csv), open_csv, row_csv, close_csv, NULL, NULL, 0};
