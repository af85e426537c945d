/* How often the kernel has killed in this process's memory cgroup: cgroup v2 memory.events, v1 memory.oom_control, both
 * with a line "oom_kill N". */
#include <stdlib.h>

#include "crash/crash.h"

int64_t crash_oom_kills_in(const char *path) {
    char *text = NULL;
    size_t n;
    int64_t kills = -1;
    if (!*path) return -1;
    xt_status st = file_read_all(path, &text, &n);
    if (st) {
        xt_status_free(st);
        return -1;
    }
    char *at = strstr(text, "oom_kill ");
    if (at) kills = strtoll(at + strlen("oom_kill "), NULL, 10);
    base_free(text);
    return kills;
}

/* Lines of /proc/self/cgroup: "0::/path" for v2, "7:memory:/path" for v1. */
static void cgroup_file(str *out) {
    char *text = NULL, *save = NULL;
    size_t n;
    xt_status st = file_read_all("/proc/self/cgroup", &text, &n);
    if (st) {
        xt_status_free(st);
        return;
    }
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second) continue;
        bool v2 = second == first + 1, v1 = strstr(first, ":memory") != NULL;
        if (!v1 && !v2) continue;
        str_clear(out);
        str_printf(out, v2 ? "/sys/fs/cgroup%s/memory.events" : "/sys/fs/cgroup/memory%s/memory.oom_control",
                   second + 1);
        if (file_exists(str_cstr(out))) break;
        str_clear(out);
    }
    /* In a container the path is the host's, but its own cgroup is mounted at the top. */
    if (!out->len && file_exists("/sys/fs/cgroup/memory.events")) str_append(out, "/sys/fs/cgroup/memory.events");
    base_free(text);
}

void crash_oom_file(char *out, size_t n) {
    str path = STR_INIT;
    cgroup_file(&path);
    snprintf(out, n, "%s", path.len < n ? str_cstr(&path) : "");
    str_free(&path);
}

int64_t crash_oom_kills(void) {
    char path[256];
    crash_oom_file(path, sizeof path);
    return crash_oom_kills_in(path);
}
