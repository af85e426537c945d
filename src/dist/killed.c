/* Why a rank ended. A SIGKILL nobody admits to is most often the kernel's: the memory cgroup counts those. What the
 * rank was doing stands in its black box. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/crash.h"
#include "dist/dist_int.h"

static void describe_sigkill(int64_t before, str *out) {
    int64_t after = crash_oom_kills();
    if (before >= 0 && after > before)
        str_printf(out,
                   " was killed by the kernel because memory ran out (the cgroup's oom_kill went from %lld to %lld); "
                   "XT_MEMORY_LIMIT makes that an error "
                   "that names the largest buffers instead",
                   (long long)before, (long long)after);
    else
        str_append(out, " was killed by SIGKILL: by somebody, or by the kernel because memory ran out; `dmesg -T | "
                        "grep -i 'killed process'` says which");
}

void describe_end(int status, int64_t oom_before, str *out) {
    if (WIFEXITED(status))
        str_printf(out, " ended with exit code %d", WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGKILL)
        describe_sigkill(oom_before, out);
    else
        str_printf(out, " was ended by signal %d (%s)%s", WTERMSIG(status), strsignal(WTERMSIG(status)),
                   WCOREDUMP(status) ? "; a core was dumped" : "");
}

typedef struct rank_box {
    pid_t pid;
    bool keep;
    char folder[600];
} rank_box;

static bool take_box(void *user, const box_file *f) {
    rank_box *r = user;
    if (f->box.pid != r->pid) return true;
    if (r->keep)
        blackbox_salvage(f, r->folder, sizeof r->folder);
    else
        unlink(f->path);
    return false;
}

bool salvage_rank(pid_t pid, bool keep, char *out, size_t n) {
    rank_box r = {.pid = pid, .keep = keep};
    const char *folder = blackbox_folder();
    if (folder) blackbox_each(folder, take_box, &r);
    if (out) snprintf(out, n, "%s", r.folder);
    return r.folder[0] != 0;
}
