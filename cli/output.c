/* What commands are asked to write, looked at before they begin: hours of training are not to end in "cannot make the
 * folder", nor a command with 0 and without its file. A place is tried by making something there, as permissions alone
 * do not tell (/proc, a file system that is read-only or full). */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is to be there in the end. */
static struct {
    const char *command, *option, *path;
    uint64_t before;
} due;

static bool is_dry(void) {
    const char *device = getenv("XT_DEVICE");
    if (!device) device = getenv("PJRT_DEVICE");
    return device && strncmp(device, "dry", 3) == 0; /* a rehearsal writes nothing */
}

/* The folder that holds a path, or its nearest one that is there. */
static bool folder_above(const char *path, bool nearest, char *out, size_t n) {
    struct stat st;
    if ((size_t)snprintf(out, n, "%s", path) >= n) return false;
    do {
        char *end = out + strlen(out);
        while (end > out + 1 && end[-1] == '/') *--end = 0;
        char *slash = strrchr(out, '/');
        if (!slash)
            snprintf(out, n, ".");
        else
            slash[slash == out] = 0;
    } while (nearest && stat(out, &st) != 0 && strcmp(out, ".") != 0 && strcmp(out, "/") != 0);
    return true;
}

static int refuse(const char *command, const char *option, const char *path, const char *where, const char *why) {
    return cli_fail(command, "%s %s: nothing can be written in %s: %s; name another place", option, path, where, why);
}

static int too_long(const char *command, const char *option, const char *path) {
    return cli_fail(command, "%s %.100s...: the path is too long", option, path);
}

/* Whether something can be made in a folder. */
static int takes_entries(const char *command, const char *option, const char *path, const char *folder) {
    char entry[4300];
    struct stat st;
    bool made = false;
    if (stat(folder, &st) != 0) return refuse(command, option, path, folder, strerror(errno));
    if ((size_t)snprintf(entry, sizeof entry, "%s/.xtrain-%ld", folder, (long)getpid()) >= sizeof entry)
        return too_long(command, option, path);
    xt_status s = xt_make_folder(entry, &made);
    if (made) rmdir(entry);
    int code = s ? refuse(command, option, path, folder, xt_status_message(s)) : 0;
    xt_status_free(s);
    return code;
}

int cli_output_folder(const char *command, const char *option, const char *path) {
    char above[4200];
    struct stat st;
    if (!path || is_dry() || xt_rank() != 0) return 0;
    bool there = stat(path, &st) == 0;
    if (there && !S_ISDIR(st.st_mode))
        return cli_fail(command, "%s %s is a file; a folder, which may be new, is expected", option, path);
    if (!*path) return cli_fail(command, "%s is empty; a folder is expected", option);
    if (!folder_above(path, true, above, sizeof above)) return too_long(command, option, path);
    return takes_entries(command, option, path, there ? path : above);
}

int cli_output_file(const char *command, const char *option, const char *path) {
    char above[4200];
    struct stat st;
    if (!path || is_dry() || xt_rank() != 0) return 0;
    if (!*path) return cli_fail(command, "%s is empty; a file is expected", option);
    bool there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        return cli_fail(command, "%s %s is a folder; a file, which may be new, is expected", option, path);
    if (there && access(path, W_OK) == 0) return 0;
    if (there) return refuse(command, option, path, "it", strerror(errno));
    if (!folder_above(path, false, above, sizeof above)) return too_long(command, option, path);
    return takes_entries(command, option, path, above);
}

int cli_output_apart(const char *command, const char *option, const char *path, const char *from_option,
                     const char *from) {
    struct stat a, b;
    if (!path || !from || stat(path, &a) != 0 || stat(from, &b) != 0) return 0;
    if (a.st_dev != b.st_dev || a.st_ino != b.st_ino) return 0;
    return cli_fail(command,
                    "%s and %s are the same folder, %s: what is trained would take the place of what it began with; "
                    "name another folder, or give --overwrite",
                    option, from_option, path);
}

static void mix(uint64_t *hash, const void *p, size_t n) { /* FNV-1a */
    for (size_t i = 0; i < n; i++) *hash = (*hash ^ ((const unsigned char *)p)[i]) * 0x100000001b3u;
}

static void mix_file(uint64_t *hash, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return;
    mix(hash, &st.st_ino, sizeof st.st_ino);
    mix(hash, &st.st_size, sizeof st.st_size);
    mix(hash, &st.st_mtim, sizeof st.st_mtim);
}

/* Of the files that a folder has, or of the file: another one when any was written. */
static uint64_t state_of(const char *path) {
    uint64_t hash = 0xcbf29ce484222325u;
    char each[4400];
    DIR *d = opendir(path);
    if (!d) mix_file(&hash, path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && (size_t)snprintf(each, sizeof each, "%s/%s", path, e->d_name) < sizeof each)
            mix_file(&hash, each);
    if (d) closedir(d);
    return hash;
}

void cli_output_due(const char *command, const char *option, const char *path) {
    if (!path || is_dry() || xt_rank() != 0) return;
    due.command = command;
    due.option = option;
    due.path = path;
    due.before = state_of(path);
}

int cli_output_end(int code) {
    if (code || !due.path || state_of(due.path) != due.before) return code;
    return cli_fail(due.command, "%s %s was not written: there was nothing to write (no step was made)", due.option,
                    due.path);
}
