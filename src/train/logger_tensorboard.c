/* events.out.tfevents.SECONDS.HOST.PID for TensorBoard: one record a row of scalars, and one for each histogram, image
 * and text; the run's settings for its table of runs. */
#include <time.h>
#include <unistd.h>

#include "format/event.h"
#include "format/png.h"
#include "train/logger.h"

typedef struct board {
    int fd;
    char *path;
    bool has_run; /* the table of runs waits for the run's end */
} board;

static void close_board(void *state) {
    board *b = state;
    if (b->fd >= 0 && b->has_run) {
        str end = STR_INIT;
        event_append_run_end(&end, (double)time(NULL), true);
        xt_status_free(logger_append(b->fd, &end, b->path)); /* the rows are there all the same */
        str_free(&end);
    }
    if (b->fd >= 0) close(b->fd);
    base_free(b->path);
}

static xt_status open_board(void *state, const char *dir) {
    board *b = state;
    char host[128] = "host", name[256];
    gethostname(host, sizeof host - 1);
    time_t now = time(NULL);
    snprintf(name, sizeof name, "events.out.tfevents.%lld.%s.%ld", (long long)now, host, (long)getpid());
    b->fd = -1;
    b->path = path_join(dir, name);
    if (!b->path) return status_oom(sizeof name, "an event file");
    str head = STR_INIT;
    xt_status s = logger_open_append(b->path, &b->fd);
    if (!s && lseek(b->fd, 0, SEEK_END) == 0) {
        event_append_version(&head, (double)now);
        s = logger_append(b->fd, &head, b->path);
    }
    str_free(&head);
    if (s) close_board(b);
    return s;
}

static xt_status row_board(void *state, const log_row *row) {
    board *b = state;
    event_scalar *scalars = base_calloc(row->n + 1, sizeof *scalars);
    if (!scalars) return status_oom(row->n * sizeof *scalars, b->path);
    for (size_t i = 0; i < row->n; i++) scalars[i] = (event_scalar){row->values[i].name, row->values[i].value};
    str record = STR_INIT;
    event_append_scalars(&record, row->wall, row->step, row->n, scalars);
    xt_status s = logger_append(b->fd, &record, b->path);
    str_free(&record);
    base_free(scalars);
    return s;
}

static xt_status artifact_board(void *state, const log_artifact *a) {
    board *b = state;
    str record = STR_INIT, png = STR_INIT;
    xt_status s = NULL;
    switch (a->kind) {
    case LOG_HISTOGRAM:
        event_append_histogram(&record, a->wall, a->step, a->name,
                               &(event_histogram){a->min, a->max, a->count, a->sum, a->sum_squares, a->bins, LOG_BINS});
        break;
    case LOG_IMAGE:
        s = png_encode_rgb(a->width, a->height, a->rgb, &png);
        if (!s) event_append_image(&record, a->wall, a->step, a->name, a->width, a->height, png.data, png.len);
        break;
    case LOG_TEXT: event_append_text(&record, a->wall, a->step, a->name, a->text); break;
    }
    if (!s) s = logger_append(b->fd, &record, b->path);
    str_free(&record);
    str_free(&png);
    return s;
}

static xt_status settings_board(void *state, size_t n, const char *const *names, const char *const *texts) {
    board *b = state;
    static const char *const judged[] = {"val/loss", "val/acc", "train/loss"};
    event_setting *all = base_calloc(n, sizeof *all);
    if (!all) return status_oom(n * sizeof *all, b->path);
    for (size_t i = 0; i < n; i++) all[i] = (event_setting){names[i], texts[i]};
    str records = STR_INIT;
    event_append_run(&records, (double)time(NULL), n, all, BASE_COUNT(judged), judged);
    xt_status s = logger_append(b->fd, &records, b->path);
    b->has_run = !s;
    str_free(&records);
    base_free(all);
    return s;
}

const logger_kind logger_tensorboard = {"tensorboard",
                                        "an event file with scalars, histograms, images and texts",
                                        sizeof(board),
                                        open_board,
                                        row_board,
                                        close_board,
                                        artifact_board,
                                        settings_board,
                                        1u << LOG_HISTOGRAM | 1u << LOG_IMAGE | 1u << LOG_TEXT};
