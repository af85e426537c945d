/* events.out.tfevents.SECONDS.HOST.PID: scalars for TensorBoard, one record a row. */
#include <time.h>
#include <unistd.h>

#include "format/event.h"
#include "train/logger.h"

typedef struct board {
    int fd;
    char *path;
} board;

static void close_board(void *state) {
    board *b = state;
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

const logger_kind logger_tensorboard = {"tensorboard", "an event file with scalars", sizeof(board), open_board, row_board, close_board};
