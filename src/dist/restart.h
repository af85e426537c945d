/* The word that outlives a group of ranks: where the last whole checkpoint is, for the group that `xtrain launch
 * --max-restarts` starts next. */
#ifndef XT_SRC_DIST_RESTART_H
#define XT_SRC_DIST_RESTART_H

#include "base/base.h"

/* In a rank: called when a checkpoint is complete on disk. Does nothing unless a launcher that restarts is
 * there. Any thread. */
void restart_note(const char *checkpoint);
/* In a rank that was started again: the checkpoints that are noted where this rank can see it, base_free them; NULL
 * where there is none, or nothing was restarted. */
enum { RESTART_POINTS = 2 };
void restart_points(char *out[RESTART_POINTS]);
/* In a rank, at its start: warns once when it cannot reach what the launcher keeps for a restart, as on a host that
 * does not share the working folder. */
void restart_check(void);

/* In the launcher. On one host the word lives in a memory file, in no folder. */
typedef struct restart_file {
    int fd;
    bool shared; /* a file of a folder; where hosts do not share it, checkpoints may be noted on one of them */
    char name[4096]; /* how ranks reach it */
} restart_file;
xt_status restart_open(restart_file *out);
/* for ranks on other hosts: a file in this folder, to be unlinked by its name */
xt_status restart_open_shared(restart_file *out);
void restart_close(restart_file *f);
/* "xtrain launch: restart 1 of 3, from ..." */
void restart_say(const char *who, const restart_file *f, int restarts, int max_restarts);
bool restart_read(const restart_file *f, char *out, size_t n);

#endif
