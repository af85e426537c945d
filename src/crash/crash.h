/* The black box of a process: one mapped file with where the program is, its counters, its memory by line, and a ring
 * of the last events. The kernel keeps a mapped file whatever happens to the process, so what was written before a
 * SIGKILL can be read after it; `xtrain top` reads the same files of programs that live.
 *
 * Invariants
 *  1. A file is complete from the moment it has its name: it is filled under another one and renamed.
 *  2. state is BOX_RUNNING until the process says otherwise (BOX_ENDED: at rest after xt_finish, or gone); a file in
 *     the running state whose process is gone belongs to a program that was killed: every other end by a signal is seen
 *     by a handler.
 *  3. Text is always terminated; numbers are written whole (aligned 8 bytes). A reader may see a step's numbers half
 *     new, half old, never torn ones.
 *  4. Writers: the training thread, except the ring and the report, which any thread may write.
 *  5. Whether a process of another host lives nobody here can see: its file is read, and never moved or removed but for
 *     its age. Hosts meet in one folder where XT_STATUS_DIR is on a file system that they share.
 * The files lie in XT_STATUS_DIR, else $XDG_RUNTIME_DIR/xtrain, else /tmp/xtrain-UID: a folder of this user, 0700, or
 * nothing is written. */
#ifndef XT_SRC_CRASH_H
#define XT_SRC_CRASH_H

#include <stdatomic.h>

#include "base/base.h"

enum {
    BOX_EVENTS = 1000,
    BOX_PLACES = 512,
    BOX_PLACE = 96,
    BOX_ROWS = 32,
    BOX_HISTORY = 120,
    BOX_REPORT = 16384,
    BOX_COUNTERS = 64,
    BOX_UNDER_WAY = 20, /* steps after which a run has something to lose */
    BOX_SILENT_S = 3600 /* a process of another host without a sign of life for so long counts as gone */
};

/* BOX_REPORTED is the state of a copy in a crash folder that a run wrote while it went on: a failure that the program
 * may handle */
typedef enum box_state { BOX_RUNNING = 1, BOX_ENDED = 2, BOX_CRASHED = 3, BOX_REPORTED = 4 } box_state;
typedef enum box_kind {
    BOX_NOTHING,
    BOX_STEP,
    BOX_COMPILE,
    BOX_DISK_HIT,
    BOX_EXECUTION,
    BOX_READ,
    BOX_ERROR,
    BOX_GROWTH,
    BOX_JUMP,
    BOX_WATCHDOG,
    BOX_SIGNAL,
    BOX_KIND_COUNT
} box_kind;
const char *box_kind_name(box_kind k);

typedef struct box_event {
    /* a and b: program and bytes of the device for compiles and executions; bytes for reads; the code for errors */
    int64_t ns, a, b;
    uint32_t step;
    uint16_t kind, place;
} box_event;

typedef struct box_row { /* live buffers of one line */
    int64_t bytes, count;
    char role[16], where[BOX_PLACE], path[64];
} box_row;

typedef struct blackbox {
    char magic[8]; /* "xtbox003" */
    uint32_t size;
    int32_t pid, parent, rank, world, state, signal, launched;
    uint64_t start_ticks; /* of the process, from /proc: a pid may be used again */
    int64_t began_unix_s, began_ns; /* the same moment on both clocks */
    /* of the memory cgroup when the program began, and when its death was found; -1 unknown */
    int64_t oom_kills, oom_kills_end;
    char oom_file[256]; /* where the count stands, for readers in another cgroup */
    /* the host's name, and within which processes' numbers say who lives (process_domain); "" unknown */
    char host[64], domain[64];
    char program[256], folder[512], device[128], versions[256], batch[128];

    int64_t beat_ns, step, epoch, device_bytes, device_peak, device_limit, rss, in_flight;
    double loss, step_rate, idle_share;
    /* recording: the last op before a signal */
    char loss_name[32], place[128], recording[128], note[256], last_error[512];
    int64_t counters[BOX_COUNTERS];

    int64_t rows_step, n_rows;
    box_row rows[BOX_ROWS];
    int64_t n_history, history_step, history[BOX_HISTORY]; /* device bytes, oldest first, equally far apart */
    int64_t n_places;
    char places[BOX_PLACES][BOX_PLACE];
    _Atomic int64_t n_events; /* so many were written; event k is events[k % BOX_EVENTS] */
    box_event events[BOX_EVENTS];
    int64_t report_bytes;
    char report[BOX_REPORT]; /* the last long report: out of memory, growth, watchdog */
} blackbox;

/* The box of this process, made at the first call; a forked child makes its own. NULL when switched off
 * (XT_POSTMORTEM=off) or without a safe folder. */
blackbox *blackbox_get(void);
void blackbox_note(box_kind kind, src_id place, int64_t step, int64_t a, int64_t b); /* into the ring; any thread */
/* by one who has just read the clock */
void blackbox_note_at(int64_t now_ns, box_kind kind, src_id place, int64_t step, int64_t a, int64_t b);
void blackbox_report(const char *text); /* keeps the last one */
void blackbox_value(const char *name, double value); /* a logged value: the loss is shown */
/* gives the line of the last op recorded; called in signal handlers */
void blackbox_recording(src_id (*last)(void));
/* gives the function of the program's that this thread of the library is calling; called in signal handlers */
void blackbox_calling(const char *(*what)(void));
/* added to what Ctrl-C ends a run with: what was saved; "" for nothing */
void blackbox_on_interrupt(const char *words);
bool blackbox_is_handler(void (*handler)(int)); /* of signals that end a process: ours, in the default's place */
/* the file goes; ended = false keeps it as that of a crash */
void blackbox_close(bool ended);
/* xt_finish is through: an _exit or a kill from now on lost nothing */
void blackbox_at_rest(bool rest);
/* Writes the box and a short text into the crash folder; gives its name (lives for good), NULL when that failed.
 * `why` goes first. Of a run that is not ending it says so, and is written again when that run has ended well. */
const char *blackbox_dump(const char *why);

/* --- folders.c: those of this user beyond the newest XT_POSTMORTEM_KEEP are removed by the next start --- */
typedef struct crash_place {
    int folder; /* the folder that crash folders are made in; -1 = there is none */
    int64_t device, inode; /* its own: the descriptor may have been closed behind our back */
    char name[40]; /* xt-crash-PID, or xt-crash-PID-RANDOM when something that is not ours alone has that name */
    char random[12];
    size_t parent; /* length of the folder's path in `path` */
    char path[600]; /* the whole path, for messages and the list */
} crash_place;
void crash_place_open(crash_place *p, const char *folder, int pid);
void crash_place_close(crash_place *p);
/* Makes the crash folder, 0700, or opens it when it is there and this user's alone; its descriptor. -1: *out_why. Both
 * are safe in signal handlers. */
int crash_folder_make(crash_place *p, const char **out_why);
void crash_folder_unmake(const crash_place *p); /* if it is empty */
void crash_folders_ready(void); /* before a signal handler calls the next */
void crash_folder_note(const char *folder); /* it has been written */
void crash_folders_prune(void);

/* --- reading (read.c) --- */
typedef struct box_file {
    char path[512];
    bool alive; /* the process that wrote it still runs; of another host: it says so, and has moved of late */
    bool elsewhere; /* it is a process of another host, or of a container that this one does not see into */
    double silent_s; /* since its last sign of life; of another host by both clocks of the day */
    blackbox box;
} box_file;
/* Of the file's clock, whose numbers may be anybody's. */
static inline double box_seconds(int64_t from_ns, int64_t to_ns) {
    return ((double)to_ns - (double)from_ns) / 1e9;
}
const char *blackbox_folder(void); /* of the status files; NULL when there is no safe one */
const char *blackbox_folder_problem(char *out_folder, size_t n); /* of the one that is not used, and why */
/* Each status file of this user, or each box in a crash folder; `visit` gives false to stop. */
void blackbox_each(const char *folder, bool (*visit)(void *user, const box_file *f), void *user);
bool blackbox_load(const char *path, box_file *out);
/* A box whose process is gone and that did not end: moved into its crash folder, with report.txt; gives the folder's
 * name in `out`. */
bool blackbox_salvage(const box_file *f, char *out, size_t n);
/* What happened to the program of a box, at length. */
void blackbox_explain(const box_file *f, str *out);

void box_sparkline(const blackbox *b, str *out); /* of the device's memory, one block character a sample */

/* oom.c: kills by the kernel so far in this process's memory cgroup, or in the one whose count stands in `file`;
 * -1 = unknown. */
int64_t crash_oom_kills(void);
int64_t crash_oom_kills_in(const char *file);
void crash_oom_file(char *out, size_t n); /* "" = none */
int64_t blackbox_kernel_kills(const blackbox *b); /* how many since the program began; 0 also when that is unknown */

#endif
